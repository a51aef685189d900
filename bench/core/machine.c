/* machine.c - where and when a report was made, and the clocks. No host name: results are public.
 */
#include "bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

static void read_cpu(char *ret_text, size_t size)
{
    snprintf(ret_text, size, "unknown processor");
    FILE *file = fopen("/proc/cpuinfo", "re");
    if (!file)
        return;
    char line[256];
    while (fgets(line, sizeof(line), file)) {
        char *value = strstr(line, ": ");
        if (strncmp(line, "model name", 10) == 0 && value) {
            value[strcspn(value, "\n")] = '\0';
            snprintf(ret_text, size, "%s", value + 2);
            break;
        }
    }
    fclose(file);
}

static void read_load(char *ret_text, size_t size)
{
    double load[1] = {0};
    if (getloadavg(load, 1) == 1)
        snprintf(ret_text, size, "%.1f", load[0]);
    else
        snprintf(ret_text, size, "unknown");
}

static const char *environment(const char *name)
{
    const char *value = getenv(name);
    return value && value[0] ? value : "unknown";
}

void bench_machine_read(struct bench_machine *ret_machine)
{
    read_cpu(ret_machine->cpu, sizeof(ret_machine->cpu));
    ret_machine->cores = sysconf(_SC_NPROCESSORS_ONLN);
    struct utsname name;
    if (uname(&name) == 0)
        snprintf(ret_machine->kernel, sizeof(ret_machine->kernel), "%s %s %s", name.sysname,
                 name.release, name.machine);
    else
        snprintf(ret_machine->kernel, sizeof(ret_machine->kernel), "unknown kernel");
    read_load(ret_machine->load, sizeof(ret_machine->load));
    time_t now = time(NULL);
    struct tm day;
    if (!gmtime_r(&now, &day) ||
        strftime(ret_machine->date, sizeof(ret_machine->date), "%Y-%m-%d", &day) == 0)
        snprintf(ret_machine->date, sizeof(ret_machine->date), "unknown");
    ret_machine->commit = environment("BENCH_COMMIT");
    ret_machine->command = environment("BENCH_COMMAND");
}

static uint64_t read_clock(clockid_t clock)
{
    struct timespec now;
    if (clock_gettime(clock, &now) != 0)
        bench_die("clock_gettime");
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

uint64_t bench_now_ns(void)
{
    return read_clock(CLOCK_MONOTONIC);
}

uint64_t bench_cpu_ns(void)
{
    return read_clock(CLOCK_THREAD_CPUTIME_ID);
}

void bench_io(uint64_t ns)
{
    struct timespec span = {.tv_sec = (time_t)(ns / 1000000000u),
                            .tv_nsec = (long)(ns % 1000000000u)};
    while (clock_nanosleep(CLOCK_MONOTONIC, 0, &span, &span) != 0) {}
}

void bench_die(const char *what)
{
    fprintf(stderr, "bench-core: '%s' failed\n", what);
    exit(1);
}
