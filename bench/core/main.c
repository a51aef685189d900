/* main.c - the benchmark of the core primitives: which parts, and how they are told. */
#include "bench.h"

#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>

static const struct {
    const char *name;
    void (*run)(const struct bench_options *options);
} parts[] = {
    {"uncontended", bench_uncontended},
    {"shared", bench_shared},
    {"flood", bench_flood},
    {"queue", bench_queue},
};

#define PART_COUNT (sizeof(parts) / sizeof(parts[0]))

static int parse(int argc, char **argv, struct bench_options *ret_options, bool *ret_wanted)
{
    bool is_any_wanted = false;
    for (int i = 1; i < argc; i++) {
        bool is_known = true;
        if (strcmp(argv[i], "--quick") == 0)
            ret_options->is_quick = true;
        else if (strcmp(argv[i], "--json") == 0)
            ret_options->is_json = true;
        else
            is_known = false;
        for (size_t part = 0; part < PART_COUNT; part++)
            if (strcmp(argv[i], parts[part].name) == 0)
                is_known = is_any_wanted = ret_wanted[part] = true;
        if (!is_known) {
            fprintf(stderr, "bench-core: '%s' is neither --quick nor --json nor a part (", argv[i]);
            for (size_t part = 0; part < PART_COUNT; part++)
                fprintf(stderr, "%s%s", part ? ", " : "", parts[part].name);
            fprintf(stderr, ")\n");
            return 2;
        }
    }
    for (size_t part = 0; part < PART_COUNT && !is_any_wanted; part++)
        ret_wanted[part] = true;
    return 0;
}

int main(int argc, char **argv)
{
    struct bench_options options = {0};
    bool wanted[PART_COUNT] = {0};
    int error = parse(argc, argv, &options, wanted);
    if (error)
        return error;
    /* Sleeps stand for I/O here and are to last as long as they say. Threads inherit it. */
    prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0);
    bench_report_begin(&options);
    for (size_t part = 0; part < PART_COUNT; part++)
        if (wanted[part])
            parts[part].run(&options);
    bench_report_end(&options);
    return 0;
}
