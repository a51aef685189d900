/* data_help.h - files with data and holes, and what they look like afterwards; for tests of data.h.
 *
 * Ownership: descriptors belong to the test; the files have no names.
 */
#ifndef WEIR_TESTS_DATA_HELP_H
#define WEIR_TESTS_DATA_HELP_H

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define KIB 1024u
#define MIB (UINT64_C(1) << 20)

/* A file without a name in $TMPDIR or /tmp, or wherever said. -1 when there is no such folder. */
static inline int help_open_in(const char *folder)
{
    char path[512];
    snprintf(path, sizeof(path), "%s/weir-data-XXXXXX", folder);
    int fd = mkostemp(path, O_CLOEXEC);
    if (fd >= 0)
        unlink(path);
    return fd;
}

static inline int help_open(void)
{
    const char *folder = getenv("TMPDIR");
    int fd = help_open_in(folder ? folder : "/tmp");
    if (fd < 0)
        abort();
    return fd;
}

/* Bytes that tell their places, none of them zero. */
static inline void help_fill(int fd, uint64_t at, uint64_t count)
{
    static char block[64 * KIB];
    while (count > 0) {
        size_t step = count < sizeof(block) ? (size_t)count : sizeof(block);
        for (size_t i = 0; i < step; i++) {
            uint64_t place = at + i;
            block[i] = (char)(1 + (place * 31 + place / 4096 + place / 1048576) % 255);
        }
        if (pwrite(fd, block, step, (off_t)at) != (ssize_t)step)
            abort();
        at += step;
        count -= step;
    }
}

static inline void help_zero(int fd, uint64_t at, uint64_t count)
{
    static const char block[64 * KIB];
    for (uint64_t done = 0; done < count;) {
        size_t step = count - done < sizeof(block) ? (size_t)(count - done) : sizeof(block);
        if (pwrite(fd, block, step, (off_t)(at + done)) != (ssize_t)step)
            abort();
        done += step;
    }
}

static inline uint64_t help_size(int fd)
{
    struct stat st;
    return fstat(fd, &st) ? 0 : (uint64_t)st.st_size;
}

static inline uint64_t help_blocks(int fd)
{
    struct stat st;
    return fstat(fd, &st) ? 0 : (uint64_t)st.st_blocks * 512;
}

/* [at, at + count) is the same in both. */
static inline bool help_is_same(int a, int b, uint64_t at, uint64_t count)
{
    static char left[64 * KIB], right[64 * KIB];
    while (count > 0) {
        size_t step = count < sizeof(left) ? (size_t)count : sizeof(left);
        if (pread(a, left, step, (off_t)at) != (ssize_t)step ||
            pread(b, right, step, (off_t)at) != (ssize_t)step || memcmp(left, right, step) != 0)
            return false;
        at += step;
        count -= step;
    }
    return true;
}

static inline bool help_is_equal(int a, int b)
{
    uint64_t size = help_size(a);
    return help_size(b) == size && help_is_same(a, b, 0, size);
}

/* Data and holes are at the same places. */
static inline bool help_is_mapped_alike(int a, int b)
{
    off_t at = 0, end = (off_t)help_size(a);
    for (int whence = SEEK_DATA; at >= 0 && at < end;
         whence = whence == SEEK_DATA ? SEEK_HOLE : SEEK_DATA) {
        off_t left = lseek(a, at, whence), right = lseek(b, at, whence);
        if (left != right)
            return false;
        at = left;
    }
    return true;
}

/* Whether the file system leaves holes out; some tests have nothing to show where it does not. */
static inline bool help_has_holes(void)
{
    int fd = help_open();
    bool has = ftruncate(fd, MIB) == 0 && pwrite(fd, "x", 1, MIB - 1) == 1 &&
               lseek(fd, 0, SEEK_DATA) > 0 && help_blocks(fd) < MIB;
    close(fd);
    if (!has)
        printf("# no holes in files here: skipped\n");
    return has;
}

#endif
