/* fault_scan_tree.c - .gitignore files, paths that lie in each other and what is staged, when the
 * n-th allocation or system call fails.
 *
 * Whatever fails: the run ends, leaks neither memory nor descriptors nor children, and what it did
 * not find it has told. A rule that could not be looked for may leave more to be scanned.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <weir/error.h>

#include "scan.h"
#include "scan_sweep.h"
#include "sweep.h"
#include "sys.h"
#include "tap.h"
#include "token_help.h"

static bool has_all_rules = true; /* they are used, or told */

static void put(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    CHECK(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
    close(fd);
}

/* A repository with two files that are ignored, by a rule at its top and by one below. */
static void make_tree(void)
{
    if (!help_enter("fault"))
        return;
    CHECK(mkdir("t", 0700) == 0 && mkdir("t/.git", 0700) == 0 && mkdir("t/a", 0700) == 0);
    CHECK(mkdir("t/a/b", 0700) == 0 && mkdir("t/c", 0700) == 0);
    put("t/.gitignore", "*.o\n");
    put("t/a/.gitignore", "/x\n");
    static const char *const files[] = {"t/1.o", "t/2", "t/a/x", "t/a/b/3", "t/c/4", "t/.git/x"};
    for (size_t i = 0; i < 6; i++)
        put(files[i], " " TOKEN "\n");
}

static void scan(struct weir__scan_options *options, unsigned wanted, bool is_exact)
{
    options->engine = engine;
    sweep_scan(options, wanted, is_exact);
}

static void scan_ignoring(void)
{
    static const char *const paths[] = {"t"};
    struct weir__scan_options options;
    weir__scan_options_init(&options);
    options.paths = paths;
    options.paths_count = 1;
    options.respect_gitignore = true;
    scan(&options, 3, has_all_rules);
}

static void scan_ignoring_below(void)
{
    static const char *const paths[] = {"t/a/b", "t/c"};
    struct weir__scan_options options;
    weir__scan_options_init(&options);
    options.paths = paths;
    options.paths_count = 2;
    options.respect_gitignore = true;
    scan(&options, 2, true);
}

static void scan_overlapping(void)
{
    static const char *const paths[] = {"t", "t/a", "t/a/x", "t", "t/a/../c/4"};
    struct weir__scan_options options;
    weir__scan_options_init(&options);
    options.paths = paths;
    options.paths_count = 5;
    scan(&options, 6, false);
}

static void scan_staged(void)
{
    struct weir__scan_options options;
    weir__scan_options_init(&options);
    options.staged = true;
    scan(&options, 3, true);
}

static void check(enum weir_fault kind, void (*scenario)(void), long least)
{
    sweep_cleanly(kind, scenario, least);
    CHECK(waitpid(-1, NULL, WNOHANG) == -1 && errno == ECHILD); /* no child is left */
}

TEST(nothing_fails)
{
    make_tree();
    scan_ignoring();
    CHECK_EQ(found, 3);
    scan_ignoring_below();
    CHECK_EQ(found, 2);
    scan_overlapping();
    CHECK_EQ(found, 6);
}

TEST(rules_of_git)
{
    make_tree();
    check(WEIR_FAULT_ALLOC, scan_ignoring, 10);
    check(WEIR_FAULT_ALLOC, scan_ignoring_below, 10);
    static const int errors[] = {EIO, EMFILE, ENOENT, EACCES, EINTR};
    for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
        weir__sys_fault_errno(errors[i]);
        has_all_rules = errors[i] != ENOENT; /* there are none, then */
        check(WEIR_FAULT_IO, scan_ignoring, 30);
        check(WEIR_FAULT_IO, scan_ignoring_below, 30);
    }
    weir__sys_fault_errno(EIO);
}

TEST(paths_in_each_other)
{
    make_tree();
    check(WEIR_FAULT_ALLOC, scan_overlapping, 10);
    check(WEIR_FAULT_IO, scan_overlapping, 30);
}

/* Two small blobs, and one that is too large to be taken as a whole. */
TEST(what_is_staged)
{
    make_tree();
    if (system("git --version >/dev/null 2>&1") != 0)
        return;
    CHECK_EQ(system("mkdir g && cd g && git init -q . && "
                    "printf ' " TOKEN "\\n' | tee one two >large && "
                    "head -c 5000000 /dev/zero >>large && git add one two large"),
             0);
    CHECK_EQ(chdir("g"), 0);
    scan_staged();
    CHECK_EQ(found, 3);
    CHECK_EQ(told, 0);
    check(WEIR_FAULT_ALLOC, scan_staged, 10);
    static const int errors[] = {EIO, EMFILE, EINTR};
    for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
        weir__sys_fault_errno(errors[i]);
        check(WEIR_FAULT_IO, scan_staged, 20);
    }
    weir__sys_fault_errno(EIO);
    CHECK_EQ(chdir(".."), 0);
}

TAP_MAIN()
