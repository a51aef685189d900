/* test_copy_report.c - many threads tell, one prints: nothing is lost, mixed or unbounded. */
#include "copy_report.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <weir/crew.h>
#include <weir/fault.h>

#include "log.h"

#include "tap.h"

#define THREADS 6
#define EVENTS  1500

static int out_fd = -1, err_fd = -1, old_err = -1;
static struct weir__out out;
static struct weir__report *report;
static struct weir__copy_hooks hooks;
static struct weir__copy_stats stats;
static char said[1u << 20], logged[1u << 20];

static void begin(struct weir__report_options options)
{
    stats = (struct weir__copy_stats){0};
    out_fd = memfd_create("out", 0);
    err_fd = memfd_create("err", 0);
    old_err = dup(STDERR_FILENO);
    fflush(stderr);
    dup2(err_fd, STDERR_FILENO);
    weir__log_subject("weir", "copy");
    weir__out_init(&out, out_fd);
    options.out = &out;
    int error = weir__report_start(&report, &options, &hooks);
    if (error)
        report = NULL;
}

static void take(int fd, char *text, size_t size)
{
    ssize_t length = pread(fd, text, size - 1, 0);
    text[length > 0 ? length : 0] = '\0';
    close(fd);
}

static uint64_t errors_told;

static int end_with(const struct weir__copy_stats *with, int result)
{
    if (report)
        result = weir__report_finish(report, with, result, &errors_told);
    int errno_value;
    if (weir__out_finish(&out, &errno_value) != 0)
        result = -WEIR_E_IO;
    dup2(old_err, STDERR_FILENO);
    close(old_err);
    take(out_fd, said, sizeof(said));
    take(err_fd, logged, sizeof(logged));
    return result;
}

static int end(int result)
{
    return end_with(&stats, result);
}

static void tell(struct weir__copy_event event)
{
    hooks.event(hooks.arg, &event);
}

#define TELL(...) tell((struct weir__copy_event){__VA_ARGS__})

TEST(silent_when_all_went_well)
{
    begin((struct weir__report_options){0});
    CHECK(report);
    CHECK_EQ(hooks.wanted, 0);
    CHECK_EQ(end(0), 0);
    CHECK_STR(said, "");
    CHECK_STR(logged, "");
}

TEST(what_is_wanted_for_what)
{
    begin((struct weir__report_options){.items = true});
    CHECK_EQ(hooks.wanted, 1u << WEIR__EVENT_ITEM | 1u << WEIR__EVENT_DELETED);
    CHECK_EQ(end(0), 0);
    begin((struct weir__report_options){.items = true, .same = true});
    CHECK_EQ(hooks.wanted,
             1u << WEIR__EVENT_ITEM | 1u << WEIR__EVENT_SAME | 1u << WEIR__EVENT_DELETED);
    CHECK_EQ(end(0), 0);
    begin((struct weir__report_options){.names = true, .methods = true, .all = true});
    CHECK_EQ(hooks.wanted, (1u << WEIR__EVENT_NOTE) - 1);
    CHECK_EQ(end(0), 0);
    begin((struct weir__report_options){.json = true, .methods = true, .all = true});
    CHECK_EQ(hooks.wanted, (1u << WEIR__EVENT_NOTE) - 1);
    CHECK_EQ(end(0), 0);
    begin((struct weir__report_options){.quiet = true});
    CHECK_EQ(hooks.wanted, 0);
    CHECK_EQ(end(0), 0);
}

TEST(errors_and_notes_go_to_standard_error)
{
    begin((struct weir__report_options){.names = true});
    TELL(.update = '>', .type = 'f', .path = "a");
    TELL(.kind = WEIR__EVENT_ERROR, .path = "b", .what = "cannot open", .errno_value = EACCES);
    TELL(.kind = WEIR__EVENT_NOTE, .path = "", .detail = "worth knowing");
    stats.errors = 1;
    CHECK_EQ(end(-WEIR_E_INCOMPLETE), -WEIR_E_INCOMPLETE);
    CHECK_STR(said, "a\n");
    CHECK_HAS(logged, "weir copy: cannot open 'b': permission denied\nweir copy: worth knowing\n"
                      "weir copy: nothing done; 0 B moved in ");
    CHECK_HAS(logged, "; 1 error\n");
    CHECK_EQ(errors_told, 1);
}

TEST(quiet_says_errors_alone)
{
    begin((struct weir__report_options){.quiet = true, .summary = true});
    TELL(.kind = WEIR__EVENT_NOTE, .path = "", .detail = "worth knowing");
    CHECK_EQ(end(0), 0);
    CHECK_STR(logged, "");
    begin((struct weir__report_options){.quiet = true});
    TELL(.kind = WEIR__EVENT_ERROR, .path = "b", .what = "cannot open", .errno_value = EACCES);
    CHECK_EQ(end(-WEIR_E_INCOMPLETE), -WEIR_E_INCOMPLETE);
    CHECK_HAS(logged, "cannot open 'b'");
}

TEST(a_run_that_never_began)
{
    begin((struct weir__report_options){.json = true, .stats = true, .summary = true});
    CHECK_EQ(end_with(NULL, -WEIR_E_NOT_FOUND), -WEIR_E_NOT_FOUND);
    CHECK_EQ(errors_told, 0);
    CHECK_HAS(said, "{\"event\":\"summary\",\"result\":\"NotFound\",");
    CHECK_STR(logged, "");
    begin((struct weir__report_options){0});
    TELL(.kind = WEIR__EVENT_ERROR, .path = "b", .what = "cannot find", .errno_value = ENOENT);
    CHECK_EQ(end_with(NULL, -WEIR_E_NOT_FOUND), -WEIR_E_NOT_FOUND);
    CHECK_EQ(errors_told, 1);
    CHECK_STR(logged, "weir copy: cannot find 'b': no such file or directory\n");
}

TEST(endings)
{
    begin((struct weir__report_options){.stats = true, .summary = true, .is_dry_run = true});
    CHECK_EQ(end(0), 0);
    CHECK_HAS(said, "Entries in the source: 0 (files: 0, ");
    CHECK_HAS(said, " (dry run)\n");
    CHECK_HAS(logged, "nothing done; 0 B moved in ");
    CHECK_HAS(logged, " (dry run)\n");
    begin((struct weir__report_options){.json = true});
    weir__report_say(report, "stopping");
    CHECK_EQ(end(-WEIR_E_INTERRUPTED), -WEIR_E_INTERRUPTED);
    CHECK_HAS(said, "{\"event\":\"summary\",\"result\":\"Interrupted\",");
    CHECK_HAS(logged, "weir copy: stopping\nweir copy: interrupted: nothing done; ");
    begin((struct weir__report_options){0});
    stats.delete_limited = true;
    CHECK_EQ(end(0), 0);
    CHECK_HAS(logged, "--max-delete");
    begin((struct weir__report_options){.methods = true, .summary = true});
    stats.bytes_plain = 1;
    CHECK_EQ(end(0), 0);
    CHECK_HAS(logged, "weir copy: data: 1 B by read+write\n");
}

TEST(progress_comes_from_ticks)
{
    begin((struct weir__report_options){.progress = WEIR__PROGRESS_LINE});
    struct weir_deadline later = weir_deadline_in(120 * WEIR_NS_PER_MS, NULL);
    weir_deadline_sleep(&later);
    stats = (struct weir__copy_stats){.created = 3,
                                      .files = 4,
                                      .bytes_done = 1024,
                                      .bytes_total = 2048,
                                      .in_flight = 2,
                                      .items_total = 4,
                                      .is_discovered = true};
    weir__report_tick(report, &stats);
    CHECK_EQ(end(0), 0);
    CHECK_HAS(logged, "\r3 of 4 files  1.00 KiB of 2.00 KiB  50%  2 in flight\033[K");
    /* Shown once: there is a summary, and the line is wiped before it. */
    CHECK_HAS(logged, "\r\033[Kweir copy: 3 created; 0 B moved in ");
    begin((struct weir__report_options){.progress = WEIR__PROGRESS_QUIET});
    weir__report_tick(report, &stats);
    CHECK_EQ(end(0), 0);
    CHECK_STR(logged, "");
}

static int tell_many(struct weir_crew_self *self, void *arg)
{
    (void)self;
    char path[64];
    for (unsigned i = 0; i < EVENTS; i++) {
        snprintf(path, sizeof(path), "thread%u/%u", *(unsigned *)arg, i);
        TELL(.update = '>', .type = 'f', .path = path);
        if (i % 500 == 0)
            TELL(.kind = WEIR__EVENT_ERROR, .path = path, .what = "cannot open");
    }
    return 0;
}

static void start_tellers(struct weir_crew **crew, unsigned numbers[THREADS])
{
    CHECK_EQ(weir_crew_new(crew, "tellers", NULL), 0);
    for (unsigned i = 0; i < THREADS; i++) {
        numbers[i] = i;
        CHECK_EQ(weir_crew_start(*crew, "tell", tell_many, &numbers[i]), 0);
    }
}

static void wait_for(struct weir_crew *crew)
{
    struct weir_deadline deadline = weir_deadline_in(60 * WEIR_NS_PER_S, NULL);
    CHECK_EQ(weir_crew_wait(crew, &deadline), 0);
    weir_crew_drain(crew, NULL);
    weir_crew_free(crew);
}

/* Every line of every thread, once, in the thread's order. */
static void check_lines(char *lines)
{
    unsigned next[THREADS] = {0};
    unsigned count = 0;
    for (char *save, *at = strtok_r(lines, "\n", &save); at; at = strtok_r(NULL, "\n", &save)) {
        unsigned thread, number;
        char rest;
        CHECK_EQ(sscanf(at, "thread%u/%u%c", &thread, &number, &rest), 2);
        CHECK(thread < THREADS && number == next[thread]);
        next[thread]++;
        count++;
    }
    CHECK_EQ(count, THREADS * EVENTS);
}

TEST(many_threads_lose_and_mix_nothing)
{
    begin((struct weir__report_options){.names = true});
    struct weir_crew *crew;
    unsigned numbers[THREADS];
    start_tellers(&crew, numbers);
    wait_for(crew);
    CHECK_EQ(end(0), 0);
    CHECK_EQ(errors_told, THREADS * EVENTS / 500);
    check_lines(said);
}

TEST(a_slow_reader_holds_them_up_and_gets_all)
{
    int ends[2];
    CHECK_EQ(pipe(ends), 0);
    begin((struct weir__report_options){.names = true});
    CHECK_EQ(dup2(ends[1], out_fd), out_fd);
    close(ends[1]);
    struct weir_crew *crew;
    unsigned numbers[THREADS];
    start_tellers(&crew, numbers);
    /* The pipe and the queue are full after a while, and nobody has gone on. */
    struct weir_deadline deadline = weir_deadline_in(300 * WEIR_NS_PER_MS, NULL);
    CHECK_EQ(weir_crew_wait(crew, &deadline), -WEIR_E_TIMEOUT);
    static char lines[1u << 20];
    size_t length = 0;
    unsigned newlines = 0;
    while (newlines < THREADS * EVENTS) {
        ssize_t got = read(ends[0], lines + length, sizeof(lines) - 1 - length);
        CHECK(got > 0);
        for (ssize_t i = 0; i < got; i++)
            newlines += lines[length + (size_t)i] == '\n';
        length += (size_t)got;
    }
    lines[length] = '\0';
    wait_for(crew);
    CHECK_EQ(end(0), 0);
    close(ends[0]);
    check_lines(lines);
}

TEST(a_reader_that_left_is_no_error)
{
    int ends[2];
    signal(SIGPIPE, SIG_IGN); /* as the program does */
    CHECK_EQ(pipe(ends), 0);
    begin((struct weir__report_options){.names = true});
    CHECK_EQ(dup2(ends[1], out_fd), out_fd);
    close(ends[1]);
    close(ends[0]);
    struct weir_crew *crew;
    unsigned numbers[THREADS];
    start_tellers(&crew, numbers);
    wait_for(crew);
    CHECK_EQ(end(0), 0);
}

static int tell_deep(struct weir_crew_self *self, void *arg)
{
    (void)self;
    for (unsigned i = 0; i < 20; i++)
        TELL(.update = '>', .type = 'f', .is_new = true, .path = arg, .target = arg, .detail = arg);
    return 0;
}

TEST(long_names_are_bounded_and_the_cut_is_marked)
{
    static char deep[WEIR__REPORT_TEXT_MAX + 100];
    memset(deep, 'd', sizeof(deep) - 1);
    begin((struct weir__report_options){.json = true});
    struct weir_crew *crew;
    CHECK_EQ(weir_crew_new(&crew, "deep", NULL), 0);
    for (unsigned i = 0; i < THREADS; i++)
        CHECK_EQ(weir_crew_start(crew, "tell", tell_deep, deep), 0);
    wait_for(crew);
    CHECK_EQ(end(0), 0);
    CHECK_HAS(said, "ddd...\",\"target\":\"");
    begin((struct weir__report_options){.json = true});
    deep[WEIR__REPORT_TEXT_MAX - 1] = '\0';
    TELL(.update = '>', .type = 'f', .is_new = true, .path = deep, .bytes = 4);
    CHECK_EQ(end(0), 0);
    CHECK_HAS(said, "ddd\",\"itemized\"");
    CHECK_HAS(said, "\"bytes\":4}\n");
    begin((struct weir__report_options){.json = true});
    deep[WEIR__REPORT_TEXT_MAX - 1] = 'd';
    deep[WEIR__REPORT_TEXT_MAX] = '\0';
    TELL(.update = '>', .type = 'f', .is_new = true, .path = deep, .bytes = 4);
    CHECK_EQ(end(0), 0);
    CHECK_HAS(said, "ddd...\",\"itemized\"");
    CHECK_HAS(said, "\"cut\":true}\n");
}

#ifdef WEIR_FAULTS
/* Whatever fails, an error is said, and a line that could not be shown is owned up to. */
static bool survives(enum weir_fault kind, uint64_t n, bool is_json)
{
    weir_fault_arm(kind, n);
    begin((struct weir__report_options){.json = is_json, .items = !is_json});
    bool has_started = report != NULL;
    if (has_started) {
        TELL(.update = '>', .type = 'f', .is_new = true, .path = "made\xff", .bytes = 1);
        TELL(.kind = WEIR__EVENT_ERROR, .path = "bad", .what = "cannot open");
        TELL(.kind = WEIR__EVENT_DELETED, .type = 'f', .path = "gone");
    }
    int result = end(has_started ? 0 : -WEIR_E_NO_MEMORY);
    bool was_hit = weir_fault_was_hit(kind);
    weir_fault_arm(kind, 0);
    if (!has_started) {
        CHECK_EQ(result, -WEIR_E_NO_MEMORY);
        return was_hit;
    }
    CHECK_HAS(logged, "weir copy: cannot open 'bad'\n");
    CHECK_EQ(errors_told, 1);
    bool is_whole = strstr(said, "made") && strstr(said, "gone") &&
                    (!is_json || (strstr(said, "\"error\"") && strstr(said, "\"summary\"")));
    CHECK_EQ(result == 0, is_whole);
    return was_hit;
}

TEST(every_allocation_may_fail)
{
    for (int json = 0; json < 2; json++) {
        uint64_t n = 1;
        while (survives(WEIR_FAULT_ALLOC, n, json))
            n++;
        CHECK(n > 4);
    }
}

TEST(every_write_may_fail)
{
    uint64_t n = 1;
    while (survives(WEIR_FAULT_IO, n, true))
        n++;
    CHECK(n > 1);
}
#endif

TAP_MAIN()
