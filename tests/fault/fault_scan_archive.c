/* fault_scan_archive.c - a scan of archives in which the n-th allocation or system call of the
 * scanning process fails, including those that start, feed and hear the decoders' process.
 *
 * Whatever fails: the run ends, no process and no descriptor is left, and it answers 0 only if it
 * found everything. What it did not find, it has told.
 */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <weir/error.h>

#include "alloc.h"
#include "scan.h"
#include "sweep.h"
#include "sys.h"
#include "tap.h"

#define TOKEN     "tok_abcdef0123456789"
#define RULE_TEXT "[[rules]]\nid = 'token'\nregex = '\\btok_[a-z0-9]{16}\\b'\n"
#define MEMBERS   3u

static char base[] = "/tmp/weir-fault-XXXXXX";
static struct weir__rules *rules;
static struct weir__engine *engine;
static unsigned found, told;

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st, (void)type, (void)ftw;
    return remove(path);
}

static void clean_up(void)
{
    nftw(base, remove_one, 8, FTW_DEPTH | FTW_PHYS);
    weir__engine_free(engine);
    weir__rules_free(rules);
}

/* A header and a block: numbers are octal, and the checksum counts itself as spaces. */
static void write_member(int fd, unsigned number)
{
    static char block[1024];
    unsigned sum = 0;
    memset(block, 0, sizeof(block));
    snprintf(block, 100, "member-%u", number);
    snprintf(block + 100, 8, "0000644");
    snprintf(block + 124, 12, "%011o", (unsigned)sizeof(TOKEN) - 1);
    block[156] = '0';
    memset(block + 148, ' ', 8);
    for (size_t i = 0; i < 512; i++)
        sum += (unsigned char)block[i];
    snprintf(block + 148, 8, "%06o", sum);
    memcpy(block + 512, TOKEN, sizeof(TOKEN) - 1);
    CHECK_EQ(write(fd, block, sizeof(block)), (ssize_t)sizeof(block));
}

static void make_archive(void)
{
    static const char end[1024];
    struct weir__rules_error error;
    struct weir__engine_options none = {0};
    static bool is_made; /* the name says nothing: what mkdtemp() chooses may end like that, too */
    if (is_made)
        return;
    is_made = true;
    CHECK(setenv("WEIR_LIBEXEC", UNPACK_FOLDER, 0) == 0);
    CHECK(mkdtemp(base) && chdir(base) == 0 && mkdir("t", 0700) == 0);
    CHECK(setenv("TMPDIR", base, 1) == 0);
    int fd = open("t/a.tar", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    CHECK(fd >= 0);
    for (unsigned i = 0; i < MEMBERS; i++)
        write_member(fd, i);
    CHECK_EQ(write(fd, end, sizeof(end)), (ssize_t)sizeof(end));
    close(fd);
    CHECK_EQ(weir__rules_load(&rules, "rules", RULE_TEXT, strlen(RULE_TEXT), NULL, &error), 0);
    CHECK_EQ(weir__engine_new(&engine, rules, &none, &error), 0);
    CHECK_EQ(atexit(clean_up), 0);
}

static void on_finding(void *arg, const char *path, const struct weir__finding *finding)
{
    (void)arg, (void)path, (void)finding;
    found++;
}

static void on_gap(void *arg, const struct weir__scan_gap *gap)
{
    (void)arg, (void)gap;
    told++;
}

static void scan_path(const char *path)
{
    struct weir__scan_options options;
    struct weir__scan_hooks hooks = {.finding = on_finding, .gap = on_gap};
    struct weir__scan_stats stats;
    struct weir__scan *run = NULL;
    weir__scan_options_init(&options);
    options.engine = engine;
    options.paths = &path;
    options.paths_count = 1;
    options.threads = 1;
    found = told = 0;
    int result = weir__scan_start(&run, &options, &hooks);
    if (result < 0) {
        CHECK(!run);
        return;
    }
    struct weir_deadline deadline = weir_deadline_in(60 * WEIR_NS_PER_S, NULL);
    CHECK_EQ(weir__scan_wait(run, &deadline), 0);
    result = weir__scan_finish(run, &stats);
    CHECK(result == 0 || result == -WEIR_E_INCOMPLETE);
    CHECK_EQ(told, stats.failed + stats.partial);
    if (result == 0)
        CHECK_EQ(found, MEMBERS);
    else
        CHECK(told > 0);
    CHECK(waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD);
}

static void scan_tree(void)
{
    scan_path("t");
}

/* The same bytes, but as a stream. */
static void scan_stream(void)
{
    int saved = dup(STDIN_FILENO), fds[2];
    static char bytes[16384];
    int fd = open("t/a.tar", O_RDONLY | O_CLOEXEC);
    ssize_t length = read(fd, bytes, sizeof(bytes));
    CHECK(saved >= 0 && fd >= 0 && length > 0 && pipe(fds) == 0);
    CHECK_EQ(write(fds[1], bytes, (size_t)length), length);
    close(fd);
    close(fds[1]);
    CHECK(dup2(fds[0], STDIN_FILENO) == STDIN_FILENO);
    close(fds[0]);
    scan_path("-");
    CHECK(dup2(saved, STDIN_FILENO) == STDIN_FILENO);
    close(saved);
}

static void check(enum weir_fault kind, void (*scenario)(void), long least)
{
    make_archive();
    sweep_cleanly(kind, scenario, least);
}

TEST(allocations)
{
    check(WEIR_FAULT_ALLOC, scan_tree, 10);
    check(WEIR_FAULT_ALLOC, scan_stream, 10);
}

TEST(system_calls)
{
    static const int errors[] = {EIO, EMFILE, ENOENT, ENOSPC, EINTR};
    for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
        weir__sys_fault_errno(errors[i]);
        check(WEIR_FAULT_IO, scan_tree, 15);
        check(WEIR_FAULT_IO, scan_stream, 15);
    }
    weir__sys_fault_errno(EIO);
}

TAP_MAIN()
