/* reserve.c - room on the disk that is kept for deletions.
 *
 * A disk that is full refuses what makes it fuller. Deletions are records as well, and are what
 * makes room: so a file of 1 MiB lies in the folder, which is removed when a deletion finds no
 * room. Until it can be made again, nothing but deletions is written: 1 MiB is 16,000 of them, and
 * of the segments that they free the room is taken back first.
 *
 *     kept --a deletion finds no room--> given --there is room again--> kept
 *
 * What the file holds does not matter, nor whether its name lasts: it is made anew, if it must be,
 * when the store is opened. A file system that cannot keep room (Unsupported and the like) has none
 * kept, and nothing is refused for that.
 *
 * Ownership: of the thread that writes.
 */
#include <errno.h>

#include <weir/error.h>

#include "store_part.h"
#include "sys.h"

#include "banned.h"

static const char name[] = "reserve";

#define RESERVE (1u << 20)
#define PIECE   (16u << 10)

static bool is_concerned(const struct weir__store *store)
{
    return store->folder >= 0 && !store->is_read_only;
}

/* Where room cannot be kept by a call, something is written. */
static int write_zeros(int fd, uint64_t size)
{
    static const unsigned char zeros[PIECE];
    for (uint64_t at = 0; at < size;) {
        ssize_t written = weir__sys_pwrite(fd, zeros, sizeof(zeros), (off_t)at);
        if (written <= 0)
            return weir_error_from_errno(written == 0 ? EIO : errno);
        at += (uint64_t)written;
    }
    return 0;
}

/* So many bytes for a moment, and RESERVE of them for longer, if there are. */
static int take(struct weir__store *store, uint64_t size)
{
    int fd = weir__sys_openat(store->folder, name, O_RDWR | O_CREAT | O_NOFOLLOW, 0600);
    if (fd < 0)
        return weir_error_from_errno(errno);
    int error = 0;
    if (weir__sys_fallocate(fd, 0, 0, (off_t)size) < 0)
        error = errno == EOPNOTSUPP ? write_zeros(fd, size) : weir_error_from_errno(errno);
    if (weir__sys_ftruncate(fd, RESERVE) < 0 && !error)
        error = weir_error_from_errno(errno);
    weir__sys_close(fd);
    return error;
}

int weir__store_reserve_take(struct weir__store *store)
{
    if (!is_concerned(store) || store->writer.has_reserve)
        return 0;
    int error = take(store, RESERVE);
    if (error)
        (void)!weir__sys_unlinkat(store->folder, name, 0);
    store->writer.has_reserve = error == 0;
    return error;
}

bool weir__store_reserve_give(struct weir__store *store)
{
    if (!is_concerned(store) || !store->writer.has_reserve)
        return false;
    store->writer.has_reserve = false;
    return weir__sys_unlinkat(store->folder, name, 0) == 0;
}

bool weir__store_has_room(struct weir__store *store)
{
    if (!is_concerned(store))
        return false;
    if (!store->writer.has_reserve)
        return weir__store_reserve_take(store) == 0;
    return take(store, 2 * (uint64_t)RESERVE) == 0;
}
