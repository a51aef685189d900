/* fault_scan_archive.c - a scan of archives in which the n-th allocation or system call of the
 * scanning process fails, including those that start, feed and hear the decoders' process.
 *
 * Whatever fails: the run ends, no process and no descriptor is left, and it answers 0 only if it
 * found everything where it is: in members. An archive that was not opened, and whose bytes were
 * looked at instead, was not scanned in silence. What it did not find, it has told.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <weir/error.h>

#include "alloc.h"
#include "scan.h"
#include "scan_sweep.h"
#include "sweep.h"
#include "sys.h"
#include "tap.h"
#include "token_help.h"

#define MEMBERS 3u

/* A header and a block: numbers are octal, and the checksum counts itself as spaces. */
static void write_member(int fd, unsigned number)
{
    static char block[1024];
    unsigned sum = 0;
    memset(block, 0, sizeof(block));
    /* Each name is longer than the last, so that there is memory to be had for every one. */
    snprintf(block, 100, "member-%u", number);
    memcpy(block + 257,
           "ustar\0"
           "00",
           8);
    memset(block + 345, 'd', (size_t)number * 75);
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

static bool is_in_member(const char *path)
{
    return strchr(path, '!') != NULL;
}

static void make_archive(void)
{
    static const char end[1024];
    if (!help_enter("fault"))
        return;
    CHECK(setenv("WEIR_LIBEXEC", UNPACK_FOLDER, 0) == 0);
    CHECK_EQ(mkdir("t", 0700), 0);
    sweep_is_wanted = is_in_member;
    CHECK(setenv("TMPDIR", base, 1) == 0);
    int fd = open("t/a.tar", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    CHECK(fd >= 0);
    for (unsigned i = 0; i < MEMBERS; i++)
        write_member(fd, i);
    CHECK_EQ(write(fd, end, sizeof(end)), (ssize_t)sizeof(end));
    close(fd);
}

static void scan_path(const char *path)
{
    struct weir__scan_options options;
    weir__scan_options_init(&options);
    options.engine = engine;
    options.paths = &path;
    options.paths_count = 1;
    sweep_scan(&options, MEMBERS, true);
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
