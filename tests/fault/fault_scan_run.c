/* fault_scan_run.c - a whole scan in which the n-th allocation, system call or thread start fails.
 *
 * Whatever fails: the run ends, leaks nothing, and answers 0 only if it found everything. What it
 * did not find, it has told.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <weir/error.h>

#include "alloc.h"
#include "cache.h"
#include "scan.h"
#include "scan_sweep.h"
#include "sweep.h"
#include "sys.h"
#include "tap.h"
#include "token_help.h"

#define FILES 12u

static void write_at(const char *path, off_t at, const char *text)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    CHECK(fd >= 0 && pwrite(fd, text, strlen(text), at) == (ssize_t)strlen(text));
    close(fd);
}

/* Files at several depths, two of them sparse, and a list of some of them. */
static void make_tree(void)
{
    static const char *const dirs[] = {"t", "t/a", "t/a/b", "t/a/b/c", "t/d", "t/e"};
    if (!help_enter("fault"))
        return;
    char name[64];
    for (unsigned i = 0; i < FILES; i++) {
        if (i < 6)
            CHECK_EQ(mkdir(dirs[i], 0700), 0);
        snprintf(name, sizeof(name), "%s/%u", dirs[i % 6], i);
        write_at(name, i < 2 ? 5 << 20 : 0, " " TOKEN "\n");
    }
    CHECK_EQ(symlink("a", "t/link"), 0);
    write_at("list", 0, "t/a/1\nt/d\n");
}

static void scan_once(const char *path, const char *list, unsigned wanted)
{
    const char *const paths[] = {path};
    struct weir__scan_options options;
    weir__scan_options_init(&options);
    options.engine = engine;
    options.paths = paths;
    options.paths_count = path ? 1 : 0;
    options.files_from = list;
    sweep_scan(&options, wanted, true);
}

static void scan_tree(void)
{
    scan_once("t", NULL, FILES);
}

static void scan_list(void)
{
    scan_once(NULL, "list", 3);
}

/* Standard input, of more than one read. */
static void scan_stream(void)
{
    CHECK_EQ(lseek(STDIN_FILENO, 0, SEEK_SET), 0);
    scan_once("-", NULL, 2);
}

static void make_input(void)
{
    write_at("input", 0, TOKEN "\n");
    write_at("input", 600000, "\n" TOKEN "\n");
    int fd = open("input", O_RDONLY | O_CLOEXEC);
    CHECK(fd >= 0 && dup2(fd, STDIN_FILENO) == STDIN_FILENO);
    close(fd);
}

static void check(enum weir_fault kind, void (*scenario)(void), long least)
{
    make_tree();
    sweep_cleanly(kind, scenario, least);
}

TEST(allocations)
{
    check(WEIR_FAULT_ALLOC, scan_tree, 10);
    check(WEIR_FAULT_ALLOC, scan_list, 10);
}

TEST(system_calls)
{
    static const int errors[] = {EIO, EMFILE, ENOENT, EACCES, EINTR};
    for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
        weir__sys_fault_errno(errors[i]);
        check(WEIR_FAULT_IO, scan_tree, 40);
        check(WEIR_FAULT_IO, scan_list, 10);
    }
    weir__sys_fault_errno(EIO);
}

TEST(streams)
{
    make_tree();
    make_input();
    check(WEIR_FAULT_ALLOC, scan_stream, 10);
    check(WEIR_FAULT_IO, scan_stream, 4);
}

static unsigned parts;

/* What was read before the error is scanned. */
static void scan_parts(void)
{
    scan_once("input", NULL, 2);
    if (in_part > 0)
        CHECK_EQ(found, 1);
    parts += in_part;
}

static void scan_stream_parts(void)
{
    scan_stream();
    if (in_part > 0)
        CHECK(found >= 1); /* both when the end itself could not be read */
    parts += in_part;
}

TEST(errors_in_the_middle)
{
    make_tree();
    make_input();
    parts = 0;
    check(WEIR_FAULT_IO, scan_parts, 4);
    CHECK_EQ(parts, 2); /* at the second read, and at the third */
    parts = 0;
    check(WEIR_FAULT_IO, scan_stream_parts, 4);
    CHECK_EQ(parts, 3);
}

TEST(threads)
{
    check(WEIR_FAULT_THREAD, scan_tree, 2);
}

/* The cache gives what was put, or nothing. */
static void use_cache(void)
{
    struct weir__cache cache;
    weir__cache_init(&cache, base, NULL);
    const struct weir__engine_cache *hooks = weir__cache_hooks(&cache);
    char *bytes = NULL;
    size_t length = 0;
    if (hooks) {
        hooks->put(hooks->arg, "key", "text", 4);
        if (hooks->get(hooks->arg, "key", &bytes, &length) == 0) {
            CHECK_EQ(length, 4);
            CHECK(memcmp(bytes, "text", 4) == 0);
            weir__base_free(bytes);
        }
    }
    weir__cache_fini(&cache);
}

TEST(the_cache)
{
    check(WEIR_FAULT_ALLOC, use_cache, 1);
    check(WEIR_FAULT_IO, use_cache, 8);
}

TAP_MAIN()
