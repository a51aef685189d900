/* scan_ahead.c - small files that are not in memory, asked for many at a time.
 *
 * A thread that reads one cold file after the other waits once for each of them: nearly all of the
 * time that a cold tree takes. So before it scans the next files of a directory it has the kernel
 * begin to read them, in order of their inodes, which is mostly that of the disk. What comes lies
 * in the page cache when its turn comes, and no memory of ours is used.
 *
 * One file of each batch is looked at by a read that does not wait: where it is in memory so are,
 * most likely, the others, and a tree that is in memory pays one look for WEIR__SCAN_AHEAD files.
 * What is asked for at once is at most that many files, and no more than may be in flight, times
 * ASK_BYTES_MAX.
 */
#include "scan_part.h"

#include <errno.h>
#include <stdlib.h>

#include "sys.h"

#include "banned.h"

#define ASK_BYTES_MAX 131072

static int open_it(int dir, const char *name)
{
    return weir__sys_openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, 0);
}

static bool is_cold(int dir, const char *name)
{
    char byte;
    int fd = open_it(dir, name);
    bool would_wait = fd >= 0 && weir__sys_pread_now(fd, &byte, 1, 0) < 0 && errno == EAGAIN;
    weir__sys_close(fd);
    return would_wait;
}

static int compare(const void *a, const void *b)
{
    const struct weir__scan_next *left = a, *right = b;
    return (left->inode > right->inode) - (left->inode < right->inode);
}

void weir__scan_ahead(const struct weir__scan_worker *w, int dir, struct weir__scan_next *next,
                      size_t count)
{
    uint64_t limit = w->run->options->reads_max;
    if (limit > 0 && count > limit)
        count = (size_t)limit;
    /* One or two are read as quickly as they are asked for. */
    if (count < 3 || !is_cold(dir, next[0].name))
        return;
    qsort(next, count, sizeof(*next), compare);
    for (size_t i = 0; i < count && !weir__scan_is_stopped(w); i++) {
        int fd = open_it(dir, next[i].name);
        /* A courtesy: what goes wrong here is told when the file is read. */
        if (fd >= 0)
            (void)posix_fadvise(fd, 0, ASK_BYTES_MAX, POSIX_FADV_WILLNEED);
        weir__sys_close(fd);
    }
}
