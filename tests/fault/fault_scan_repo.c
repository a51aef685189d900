/* fault_scan_repo.c - the history of a repository, when the n-th allocation, system call or thread
 * start fails.
 *
 * Whatever fails: the run ends, leaks nothing, and answers 0 only if it found everything; and the
 * next one, which believes what the first has remembered, finds everything.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "scan.h"
#include "scan_sweep.h"
#include "sweep.h"
#include "sys.h"
#include "tap.h"
#include "token_help.h"

#define WANTED       5u

#define WANTED_LARGE 3u

static bool has_state;
static bool is_large; /* what is scanned is larger than memory, and lies in temporary files */

static void run(const char *command)
{
    /* NOLINTNEXTLINE: the commands are those below */
    CHECK_EQ(system(command), 0);
}

/* A token in a file that was changed later, in a message, in a tag, in a note, in a loose blob. */
static void make_repo(void)
{
    if (!help_enter("fault"))
        return;
    setenv("XDG_STATE_HOME", base, 1);
    setenv("GIT_CONFIG_GLOBAL", "/dev/null", 1);
    run("export GIT_AUTHOR_NAME=A GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=A "
        "GIT_COMMITTER_EMAIL=a@b;"
        "git init -q r && cd r && git config gc.auto 0 && mkdir d && echo ' " TOKEN "' >d/f && "
        "git add . && git commit -qm 1 && for i in 2 3 4; do seq $i 200 >d/f; git commit -qam $i; "
        "done && git commit -q --allow-empty -m 'x " TOKEN " y' && git tag -a -m 'x " TOKEN
        " y' v1 && git notes add -m 'n " TOKEN " ' && git repack -adq && "
        "echo '  " TOKEN "' | git hash-object -w --stdin >/dev/null && git update-index --refresh");
}

/* A token at the end of a text of 200 KiB, of one that is built from it, and of a loose one. */
static void make_large(void)
{
    make_repo();
    run("export GIT_AUTHOR_NAME=A GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=A "
        "GIT_COMMITTER_EMAIL=a@b;"
        "git init -q l && cd l && git config gc.auto 0 && seq 36000 >f && echo ' " TOKEN
        "' >>f && git add . && git commit -qm 1 && echo more >>f && git commit -qam 2 && "
        "git repack -adq && (seq 30000; echo ' " TOKEN "') >g && git add g && git commit -qm 3");
}

static void scan(void)
{
    const char *paths[] = {is_large ? "l" : "r"};
    struct weir__scan_options options;
    weir__scan_options_init(&options);
    options.engine = engine;
    options.paths = paths;
    options.paths_count = 1;
    options.history = WEIR__SCAN_HISTORY_ONLY;
    options.has_state = has_state;
    if (is_large)
        options.delta_bytes = 128 << 10;
    sweep_scan(&options, is_large ? WANTED_LARGE : WANTED, true);
}

/* Each time from nothing; and then once more without a fault. */
static void check(enum weir_fault kind, long least)
{
    int before = count_descriptors();
    bool was_hit = true;
    long n = 0;
    bool is_clean = true;
    while (was_hit && is_clean && n < SWEEP_MAX) {
        run("rm -rf weir");
        weir_fault_arm(kind, (uint64_t)++n);
        scan();
        was_hit = weir_fault_was_hit(kind);
        weir_fault_arm(kind, 0);
        scan();
        CHECK_EQ(told, 0);
        if (found != (is_large ? WANTED_LARGE : WANTED))
            tap_fail(__FILE__, __LINE__, "after fault %ld %u are found", n, found);
        is_clean = count_descriptors() == before;
    }
    if (is_clean && n <= least)
        tap_fail(__FILE__, __LINE__, "only %ld calls could fail", n - 1);
    check_descriptors(before, n);
}

TEST(allocations)
{
    make_repo();
    has_state = false;
    check(WEIR_FAULT_ALLOC, 40);
    has_state = true;
    check(WEIR_FAULT_ALLOC, 40);
}

/* ENOENT is no fault but the news that something is gone. */
TEST(system_calls)
{
    static const int errors[] = {EIO, EMFILE};
    make_repo();
    has_state = true;
    for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
        weir__sys_fault_errno(errors[i]);
        check(WEIR_FAULT_IO, 40);
    }
    weir__sys_fault_errno(EIO);
}

TEST(large_objects)
{
    static const int errors[] = {EIO, ENOSPC};
    make_large();
    is_large = has_state = true;
    check(WEIR_FAULT_ALLOC, 40);
    for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
        weir__sys_fault_errno(errors[i]);
        check(WEIR_FAULT_IO, 40);
    }
    weir__sys_fault_errno(EIO);
    is_large = false;
}

/* After a complete scan a tree is gone that commits name, whatever fails when the next one finds
 * out: it is never complete, and the one after it is not either. */
static void check_gone(enum weir_fault kind, long least)
{
    int before = count_descriptors();
    bool was_hit = true;
    long n = 0;
    while (was_hit && n < SWEEP_MAX) {
        run("rm -rf weir && cp -r remembered weir");
        weir_fault_arm(kind, (uint64_t)++n);
        scan();
        was_hit = weir_fault_was_hit(kind);
        weir_fault_arm(kind, 0);
        if (told == 0 && is_started)
            tap_fail(__FILE__, __LINE__, "with fault %ld nothing is missed", n);
        scan();
        if (told == 0)
            tap_fail(__FILE__, __LINE__, "after fault %ld nothing is missed", n);
    }
    if (n <= least)
        tap_fail(__FILE__, __LINE__, "only %ld calls could fail", n - 1);
    CHECK_EQ(count_descriptors(), before);
}

TEST(something_is_gone)
{
    make_repo();
    has_state = true;
    run("cd r && echo loose >d/g && git add . && "
        "git -c user.name=A -c user.email=a@b commit -qm loose");
    run("rm -rf weir");
    scan();
    CHECK_EQ(told, 0);
    run("mv weir remembered && cd r/.git && "
        "git rev-parse HEAD:d | sed 's|^..|objects/&/|' >place && mv \"$(cat place)\" lost");
    check_gone(WEIR_FAULT_ALLOC, 40);
    check_gone(WEIR_FAULT_IO, 40);
    run("cd r/.git && mv lost \"$(cat place)\"");
}

TEST(threads)
{
    make_repo();
    has_state = true;
    check(WEIR_FAULT_THREAD, 2);
}

TAP_MAIN()
