/* Tests of trees and lists from inside: how much there is to do, the bounds on rules of git,
 * stopping while something is counted. What people see of it is tested by
 * tests/e2e/test_scan_tree.sh. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <weir/error.h>

#include "scan.h"
#include "tap.h"
#include "token_help.h"

static struct weir_lock lock;
static const struct weir_lock_class lock_class = {"test", 5};
static struct weir__scan *the_run;
static bool waits_for_totals;
static unsigned found, gaps;
static char gap_text[256];
static struct weir__scan_stats seen;

static void put(const char *path, const char *text, size_t length)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    CHECK(fd >= 0 && write(fd, text, length) == (ssize_t)length);
    close(fd);
}

static struct weir__scan *run_of(void)
{
    weir_lock_acquire(&lock);
    struct weir__scan *run = the_run;
    weir_lock_release(&lock);
    return run;
}

/* Holds the thread that scans until it is known how much there is to do. */
static void on_finding(void *arg, const char *path, const struct weir__finding *finding)
{
    (void)arg, (void)path, (void)finding;
    struct weir_deadline limit = weir_deadline_in(60 * WEIR_NS_PER_S, NULL);
    struct weir__scan_stats stats = {0};
    while (waits_for_totals && stats.files_total == 0 && weir_deadline_check(&limit) == 0) {
        struct weir_deadline nap = weir_deadline_in(5 * WEIR_NS_PER_MS, NULL);
        if (run_of())
            weir__scan_read(run_of(), &stats);
        weir_deadline_sleep(&nap);
    }
    weir_lock_acquire(&lock);
    found++;
    seen = stats;
    weir_lock_release(&lock);
}

static void on_gap(void *arg, const struct weir__scan_gap *gap)
{
    (void)arg;
    weir_lock_acquire(&lock);
    gaps++;
    snprintf(gap_text, sizeof(gap_text), "%s %s: %s", gap->what, gap->path, gap->why);
    weir_lock_release(&lock);
}

static void start(void)
{
    if (!help_enter("tree"))
        return;
    weir_lock_init(&lock, &lock_class);
    CHECK(mkdir("t", 0700) == 0 && mkdir("t/a", 0700) == 0 && mkdir("t/a/b", 0700) == 0);
    put("t/1", TOKEN, 20);
    put("t/a/2", "ab", 2);
    put("t/a/b/3", "abc", 3);
    put("t/a/b/x.o", "ignored", 7);
    put("t/.gitignore", "*.o\n", 4);
    put("list", "t/1\nt/a/2\n\nt/a/b/3\n", 19);
}

static int scan(struct weir__scan_options *options, const char *const *paths, size_t count,
                struct weir__scan_stats *stats)
{
    struct weir__scan_hooks hooks = {.finding = on_finding, .gap = on_gap};
    struct weir_deadline deadline = weir_deadline_in(60 * WEIR_NS_PER_S, NULL);
    struct weir__scan *run;
    options->engine = engine;
    options->paths = paths;
    options->paths_count = count;
    found = gaps = 0;
    the_run = NULL;
    CHECK_EQ(weir__scan_start(&run, options, &hooks), 0);
    weir_lock_acquire(&lock);
    the_run = run;
    weir_lock_release(&lock);
    CHECK_EQ(weir__scan_wait(run, &deadline), 0);
    return weir__scan_finish(run, stats);
}

TEST(how_much_there_is_to_do)
{
    static const char *const tree[] = {"t"};
    static const char *const both[] = {"t", "t/a", "t/1"};
    static const char *const files[] = {"t/1", "t/a/2"};
    struct weir__scan_options options;
    struct weir__scan_stats stats;
    start();
    waits_for_totals = true;
    weir__scan_options_init(&options);
    options.has_totals = true;
    CHECK_EQ(scan(&options, tree, 1, &stats), 0);
    CHECK_EQ(found, 1);
    CHECK_EQ(seen.files_total, 5);
    CHECK_EQ(seen.bytes_total, 20 + 2 + 3 + 7 + 4);
    CHECK_EQ(stats.files, 5); /* what was counted beside it is not counted here */
    CHECK_EQ(stats.dirs, 3);
    CHECK_EQ(scan(&options, both, 3, &stats), 0);
    CHECK_EQ(seen.files_total, 5);
    options.respect_gitignore = true;
    CHECK_EQ(scan(&options, tree, 1, &stats), 0);
    CHECK_EQ(seen.files_total, 4);
    CHECK_EQ(stats.ignored, 1);
    CHECK_EQ(scan(&options, files, 2, &stats), 0);
    CHECK_EQ(seen.files_total, 2);
    CHECK_EQ(seen.bytes_total, 22);
    options.files_from = "list";
    CHECK_EQ(scan(&options, NULL, 0, &stats), 0);
    CHECK_EQ(seen.files_total, 3);
    CHECK_EQ(seen.bytes_total, 0);
    waits_for_totals = false;
}

/* Nobody waits for those who count. */
TEST(counting_ends_with_the_run)
{
    static const char *const tree[] = {"t"};
    struct weir__scan_options options;
    struct weir__scan_hooks hooks = {.finding = on_finding, .gap = on_gap};
    struct weir__scan_stats stats;
    struct weir__scan *run;
    start();
    weir__scan_options_init(&options);
    options.has_totals = true;
    CHECK_EQ(scan(&options, tree, 1, &stats), 0);
    CHECK_EQ(stats.files_total, 0);
    CHECK_EQ(weir__scan_start(&run, &options, &hooks), 0);
    weir__scan_stop(run);
    CHECK_EQ(weir__scan_finish(run, &stats), -WEIR_E_CANCELED);
}

/* Rules that together take too much memory are told, and are gone when their directories are. */
TEST(rules_are_bounded)
{
    enum { RULES = 65536, LEVELS = 8 };
    static char text[2 * RULES];
    static const char *const tree[] = {"deep"}, *const wide[] = {"wide"};
    char path[256] = "deep";
    struct weir__scan_options options;
    struct weir__scan_stats stats;
    start();
    for (size_t i = 0; i < RULES; i++)
        memcpy(text + 2 * i, "q\n", 2);
    CHECK_EQ(mkdir("deep", 0700), 0);
    for (size_t i = 0; i < LEVELS; i++) {
        size_t length = strlen(path);
        snprintf(path + length, sizeof(path) - length, "/.gitignore");
        put(path, text, sizeof(text));
        snprintf(path + length, sizeof(path) - length, "/d");
        CHECK_EQ(mkdir(path, 0700), 0);
    }
    weir__scan_options_init(&options);
    options.threads = 1;
    options.respect_gitignore = true;
    CHECK_EQ(scan(&options, tree, 1, &stats), -WEIR_E_INCOMPLETE);
    CHECK(gaps > 0 && gaps < LEVELS);
    CHECK(strstr(gap_text, "cannot use the rules in deep/d/") &&
          strstr(gap_text, "too many rules"));
    CHECK_EQ(mkdir("wide", 0700), 0);
    for (size_t i = 0; i < LEVELS; i++) {
        snprintf(path, sizeof(path), "wide/%zu", i);
        CHECK_EQ(mkdir(path, 0700), 0);
        snprintf(path, sizeof(path), "wide/%zu/.gitignore", i);
        put(path, text, sizeof(text));
    }
    CHECK_EQ(scan(&options, wide, 1, &stats), 0);
    CHECK_EQ(stats.files, LEVELS);
}

/* Deep down with many directories still to be entered above, one is read in parts: nothing of it is
 * left out, and nothing entered twice. */
TEST(more_directories_than_names_are_kept)
{
    enum { LEVELS = 100, DIRS = 120, NAME = 240 };
    static const char *const tree[] = {"crowded"};
    struct weir__scan_options options;
    struct weir__scan_stats stats;
    char name[NAME + 8];
    start();
    waits_for_totals = false;
    _Static_assert((uint64_t)LEVELS * DIRS * NAME > 2 * WEIR__SCAN_NAMES_BYTES, "there are more");
    CHECK_EQ(mkdir("crowded", 0700), 0);
    int fd = open("crowded", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    for (unsigned level = 0; level < LEVELS; level++) {
        for (unsigned i = 0; i < DIRS; i++) {
            snprintf(name, sizeof(name), "%0*u", NAME, i);
            CHECK_EQ(mkdirat(fd, name, 0700), 0);
        }
        CHECK_EQ(mkdirat(fd, "next", 0700), 0);
        int next = openat(fd, "next", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        CHECK(next >= 0);
        close(fd);
        fd = next;
    }
    close(fd);
    weir__scan_options_init(&options);
    options.threads = 1;
    CHECK_EQ(scan(&options, tree, 1, &stats), 0);
    CHECK_EQ(stats.dirs, LEVELS * (DIRS + 1) + 1);
    CHECK_EQ(gaps, 0);
}

TAP_MAIN()
