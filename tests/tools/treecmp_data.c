/* treecmp_data.c - compares the bytes of two files and where they have holes.
 *
 * Only what is data in one of the two is read, so a file of 1 TiB with a few pages costs a few
 * pages. Holes are compared in blocks: a block belongs to the data of a file if any byte of it
 * does.
 */
#include "treecmp.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "banned.h"

#define BUFFER_SIZE (256u << 10)
#define BLOCK_MIN   4096u
#define BLOCK_MAX   65536u

/* Data, in order, without gaps of nothing: [from, to) each. */
struct extents {
    struct extent {
        uint64_t from, to;
    } * list;
    size_t count, room;
};

static void extents_add(struct extents *extents, uint64_t from, uint64_t to)
{
    if (extents->count && from <= extents->list[extents->count - 1].to) {
        if (to > extents->list[extents->count - 1].to)
            extents->list[extents->count - 1].to = to;
        return;
    }
    if (extents->count == extents->room) {
        extents->room = extents->room ? 2 * extents->room : 16;
        extents->list = grow(extents->list, extents->room, sizeof(*extents->list));
    }
    extents->list[extents->count++] = (struct extent){from, to};
}

/* Where the file has data, in whole blocks. False: the file system cannot tell. */
static bool extents_read(struct extents *extents, int fd, uint64_t size, uint64_t block)
{
    for (uint64_t at = 0; at < size;) {
        off_t from = lseek(fd, (off_t)at, SEEK_DATA);
        if (from < 0)
            return errno == ENXIO;
        off_t to = lseek(fd, from, SEEK_HOLE);
        if (to < 0)
            return false;
        extents_add(extents, (uint64_t)from / block * block,
                    ((uint64_t)to + block - 1) / block * block);
        at = (uint64_t)to;
    }
    return true;
}

static void extents_unite(struct extents *all, const struct extents *a, const struct extents *b)
{
    for (size_t i = 0, j = 0; i < a->count || j < b->count;) {
        bool is_left = j == b->count || (i < a->count && a->list[i].from <= b->list[j].from);
        const struct extent *next = is_left ? &a->list[i++] : &b->list[j++];
        extents_add(all, next->from, next->to);
    }
}

/* The first range that is data in `inner` and a hole in `outer`, or NULL. */
static const struct extent *find_excess(const struct extents *outer, const struct extents *inner)
{
    size_t i = 0;
    for (size_t j = 0; j < inner->count; j++) {
        while (i < outer->count && outer->list[i].to <= inner->list[j].from)
            i++;
        /* Extents that touch are one, so an inner one lies in a single outer one or not at all. */
        if (i == outer->count || outer->list[i].from > inner->list[j].from ||
            outer->list[i].to < inner->list[j].to)
            return &inner->list[j];
    }
    return NULL;
}

static void compare_holes(enum aspect aspect, const char *path, const struct extents *outer,
                          const struct extents *inner)
{
    const struct extent *excess = find_excess(outer, inner);
    if (excess)
        differ(aspect, path, "data at %" PRIu64 " to %" PRIu64 " in the %s alone", excess->from,
               excess->to, aspect == ASPECT_HOLES ? "second" : "first");
}

/* Reads as much as there is, up to the size. */
static ssize_t read_all(int fd, char *bytes, size_t size, uint64_t at)
{
    size_t done = 0;
    while (done < size) {
        ssize_t got = pread(fd, bytes + done, size - done, (off_t)(at + done));
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return -1;
        if (got == 0)
            break;
        done += (size_t)got;
    }
    return (ssize_t)done;
}

/* True when the range is the same in both. */
static bool compare_range(const char *path, int a, int b, uint64_t from, uint64_t to)
{
    static char left[BUFFER_SIZE], right[BUFFER_SIZE];
    for (uint64_t at = from; at < to; at += BUFFER_SIZE) {
        size_t size = to - at < BUFFER_SIZE ? (size_t)(to - at) : BUFFER_SIZE;
        ssize_t left_size = read_all(a, left, size, at);
        ssize_t right_size = read_all(b, right, size, at);
        if (left_size < 0 || right_size < 0) {
            differ(ASPECT_UNREADABLE, path, "cannot read at %" PRIu64 ": %s", at, strerror(errno));
            return false;
        }
        if (left_size == right_size && memcmp(left, right, (size_t)left_size) == 0)
            continue;
        size_t i = 0;
        while (i < (size_t)left_size && i < (size_t)right_size && left[i] == right[i])
            i++;
        differ(ASPECT_CONTENT, path, "differs from byte %" PRIu64 " on", at + i);
        return false;
    }
    return true;
}

/* xfs takes reserved space for data while it has pages in memory, be it that they were read or are
 * yet to be written. So the pages go, and what is on disk is asked for. */
static void settle(int fd)
{
    fsync(fd);
    posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
}

static bool read_maps(struct extents *left, struct extents *right, int a, int b, uint64_t size,
                      uint64_t block)
{
    left->count = right->count = 0;
    return extents_read(left, a, size, block) && extents_read(right, b, size, block);
}

static void compare_open(const char *path, int a, int b, uint64_t size, uint64_t block)
{
    struct extents left = {0}, right = {0}, all = {0};
    bool is_known = read_maps(&left, &right, a, b, size, block);
    if (is_known && (find_excess(&left, &right) || find_excess(&right, &left))) {
        settle(a);
        settle(b);
        is_known = read_maps(&left, &right, a, b, size, block);
    }
    if (is_known) {
        compare_holes(ASPECT_HOLES, path, &left, &right);
        compare_holes(ASPECT_EXACT_HOLES, path, &right, &left);
        extents_unite(&all, &left, &right);
    } else {
        extents_add(&all, 0, size);
    }
    for (size_t i = 0; i < all.count && is_wanted(ASPECT_CONTENT); i++)
        if (!compare_range(path, a, b, all.list[i].from, all.list[i].to))
            break;
    free(left.list);
    free(right.list);
    free(all.list);
}

static uint64_t block_of(const struct side *a, const struct side *b)
{
    uint64_t block = BLOCK_MIN;
    while (block < BLOCK_MAX && (block < a->st.stx_blksize || block < b->st.stx_blksize))
        block *= 2;
    return block;
}

void compare_files(const char *path, const struct side *a, const struct side *b)
{
    if (a->st.stx_size != b->st.stx_size) {
        differ(ASPECT_SIZE, path, "%" PRIu64 " bytes, then %" PRIu64, (uint64_t)a->st.stx_size,
               (uint64_t)b->st.stx_size);
        return;
    }
    if (!is_wanted(ASPECT_CONTENT) && !is_wanted(ASPECT_HOLES) && !is_wanted(ASPECT_EXACT_HOLES))
        return;
    if (a->st.stx_size == 0)
        return;
    int left = open_quietly(a->dir, a->name, O_RDONLY);
    int right = left < 0 ? -1 : open_quietly(b->dir, b->name, O_RDONLY);
    if (right < 0)
        differ(ASPECT_UNREADABLE, path, "cannot open the %s: %s", left < 0 ? "first" : "second",
               strerror(errno));
    else
        compare_open(path, left, right, a->st.stx_size, block_of(a, b));
    if (left >= 0)
        close(left);
    if (right >= 0)
        close(right);
}
