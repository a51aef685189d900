/* test_pause.c - a pipe whose writer pauses: what is certain is told while the pipe is open, once.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <weir/error.h>

#include "scan.h"
#include "tap.h"

#define TOKEN      "tok_abcdef0123456789"
#define OTHER      "tok_0123456789abcdef"
#define RULE_TEXT  "[[rules]]\nid = 'token'\nregex = '\\btok_[a-z0-9]{16}\\b'\n"
#define LONG_NS    (30 * WEIR_NS_PER_S)
#define A_PAUSE_NS (600 * WEIR_NS_PER_MS) /* in which what is to be told would be */

static char base[] = "/tmp/weir-pause-XXXXXX", name[64];
static struct weir__rules *rules;
static struct weir__engine *engine;
static struct weir__scan_options options;
static const char *const paths[] = {name};
static struct weir_lock lock;
static const struct weir_lock_class lock_class = {"test", 650};
static unsigned found;
static struct weir_cancel told; /* fired by what is found */
static struct weir__place last;

static void on_finding(void *arg, const char *path, const struct weir__finding *finding)
{
    (void)arg, (void)path;
    weir_lock_acquire(&lock);
    found++;
    last = finding->place;
    weir_lock_release(&lock);
    weir_cancel_fire(&told);
}

static unsigned found_by_now(void)
{
    weir_lock_acquire(&lock);
    unsigned count = found;
    weir_lock_release(&lock);
    return count;
}

/* The run, and our end of its pipe. */
static struct weir__scan *start(int *ret_fd)
{
    struct weir__rules_error error;
    struct weir__engine_options none = {0};
    struct weir__scan_hooks hooks = {.finding = on_finding};
    struct weir__scan *run = NULL;
    CHECK(mkdtemp(base));
    snprintf(name, sizeof(name), "%s/pipe", base);
    CHECK_EQ(mkfifo(name, 0600), 0);
    CHECK_EQ(weir__rules_load(&rules, "rules", RULE_TEXT, strlen(RULE_TEXT), NULL, &error), 0);
    CHECK_EQ(weir__engine_new(&engine, rules, &none, &error), 0);
    weir_lock_init(&lock, &lock_class);
    weir_cancel_init(&told, NULL);
    weir__scan_options_init(&options);
    options.engine = engine;
    options.paths = paths;
    options.paths_count = 1;
    options.threads = 2;
    found = 0;
    CHECK_EQ(weir__scan_start(&run, &options, &hooks), 0);
    *ret_fd = open(name, O_WRONLY | O_CLOEXEC);
    CHECK(*ret_fd >= 0);
    return run;
}

static int finish(struct weir__scan *run, int fd, struct weir__scan_stats *ret_stats)
{
    struct weir_deadline deadline = weir_deadline_in(LONG_NS, NULL);
    close(fd);
    CHECK_EQ(weir__scan_wait(run, &deadline), 0);
    int result = weir__scan_finish(run, ret_stats);
    weir_cancel_fini(&told);
    weir_lock_fini(&lock);
    weir__engine_free(engine);
    weir__rules_free(rules);
    CHECK(unlink(name) == 0 && rmdir(base) == 0);
    memcpy(base + strlen(base) - 6, "XXXXXX", 6);
    return result;
}

static void put(int fd, const void *text, size_t length)
{
    CHECK_EQ(write(fd, text, length), length);
}

/* Until so many were told, but not for ever. */
static unsigned wait_for(struct weir__scan *run, unsigned count, uint64_t most_ns)
{
    uint64_t until_ns = weir_time_add(weir_now_ns(), most_ns);
    while (found_by_now() < count && weir_now_ns() < until_ns) {
        struct weir_deadline soon = weir_deadline_in(20 * WEIR_NS_PER_MS, NULL);
        CHECK_EQ(weir__scan_wait(run, &soon), -WEIR_E_TIMEOUT);
    }
    return found_by_now();
}

TEST(a_pipe_that_pauses_is_not_silent)
{
    struct weir__scan_stats stats;
    int fd;
    struct weir__scan *run = start(&fd);
    put(fd, "one\n" TOKEN "\n", 4 + 20 + 1);
    CHECK_EQ(wait_for(run, 1, LONG_NS), 1);
    CHECK_EQ(last.line, 2);
    put(fd, "and " OTHER, 4 + 20); /* whose line may go on */
    CHECK_EQ(wait_for(run, 2, A_PAUSE_NS), 1);
    put(fd, "\n", 1);
    CHECK_EQ(wait_for(run, 2, LONG_NS), 2);
    CHECK_EQ(last.line, 3);
    CHECK_EQ(last.column, 5);
    CHECK_EQ(finish(run, fd, &stats), 0);
    CHECK_EQ(found, 2);
    CHECK_EQ(stats.findings, 2);
    CHECK_EQ(stats.files, 1);
}

/* Who waits for long is called for the same. */
TEST(one_wait_is_enough)
{
    struct weir__scan_stats stats;
    int fd;
    struct weir__scan *run = start(&fd);
    put(fd, TOKEN "\n", 21);
    struct weir_deadline deadline = weir_deadline_in(LONG_NS, &told);
    CHECK_EQ(weir__scan_wait(run, &deadline), -WEIR_E_CANCELED); /* by what was told meanwhile */
    CHECK_EQ(found_by_now(), 1);
    CHECK_EQ(finish(run, fd, &stats), 0);
    CHECK_EQ(found, 1);
}

/* What has a NUL in it does not wait until it is known to be no archive. */
TEST(what_may_become_an_archive_is_told_once)
{
    char head[512] = "x\n" TOKEN "\n";
    struct weir__scan_stats stats;
    int fd;
    struct weir__scan *run = start(&fd);
    put(fd, head, 200);
    CHECK_EQ(wait_for(run, 1, LONG_NS), 1);
    put(fd, head + 200, sizeof(head) - 200);
    CHECK_EQ(finish(run, fd, &stats), 0);
    CHECK_EQ(found, 1);
}

/* Stopped in the middle of a pause, what was told stays told. */
TEST(a_run_that_pauses_can_be_stopped)
{
    struct weir__scan_stats stats;
    int fd;
    struct weir__scan *run = start(&fd);
    put(fd, TOKEN "\n", 21);
    CHECK_EQ(wait_for(run, 1, LONG_NS), 1);
    weir__scan_stop(run);
    CHECK_EQ(finish(run, fd, &stats), -WEIR_E_CANCELED);
    CHECK_EQ(found, 1);
}

TAP_MAIN()
