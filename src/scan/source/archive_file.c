/* archive_file.c - the bytes of the file that is walked.
 *
 * A large file is mapped, a window at a time: the pages that the kernel has are looked at where
 * they are, and the windows take a bounded room whatever the file's size is. A page that is not
 * there any more kills this process, which is what it is there for; its parent has the next one
 * read plainly.
 */
#include <sys/mman.h>

#include "archive_read.h"
#include "sys.h"

#include "banned.h"

#define WINDOW (UINT64_C(8) << 20)
#define MAPPED (WINDOW + WEIR__ARCHIVE_BLOCK) /* so that a block is whole wherever it begins */

static void unmap(struct weir__archive_trip *trip)
{
    if (trip->window)
        munmap((void *)(uintptr_t)trip->window, trip->window_length);
    trip->window = NULL;
    trip->window_length = 0;
}

/* The window that the place lies in. False: there is none, or the file ends before its end does.
 */
static bool map(struct weir__archive_trip *trip, uint64_t at)
{
    char last;
    uint64_t from = at - at % WINDOW, left = trip->command->size - from;
    size_t length = left < MAPPED ? (size_t)left : (size_t)MAPPED;
    unmap(trip);
    if (weir__sys_pread(trip->fd, &last, 1, (off_t)(from + length - 1)) != 1)
        return false;
    void *window = mmap(NULL, length, PROT_READ, MAP_PRIVATE, trip->fd, (off_t)from);
    if (window == MAP_FAILED)
        return false;
    trip->window = window;
    trip->window_at = from;
    trip->window_length = length;
    return true;
}

ssize_t weir__archive_file_read(struct weir__archive_trip *trip, uint64_t at,
                                const char **ret_bytes)
{
    uint64_t size = trip->command->size;
    uint64_t left = at < size ? size - at : 0;
    size_t length = left < WEIR__ARCHIVE_BLOCK ? (size_t)left : WEIR__ARCHIVE_BLOCK;
    if (length == 0)
        return 0;
    bool is_mapped = !trip->is_unmapped && size >= trip->command->options.map_from;
    if (is_mapped && (!trip->window || at < trip->window_at || at - trip->window_at >= WINDOW))
        is_mapped = map(trip, at);
    if (!is_mapped) {
        *ret_bytes = trip->block;
        return weir__sys_pread(trip->fd, trip->block, length, (off_t)at);
    }
    *ret_bytes = trip->window + (at - trip->window_at);
    return (ssize_t)length;
}

void weir__archive_file_done(struct weir__archive_trip *trip)
{
    unmap(trip);
}
