/* reserve.c - room on the disk that is kept for what makes room.
 *
 * A disk that is full refuses what makes it fuller. Deletions are records as well, and what counts
 * of a segment is written elsewhere before the segment goes: so the file `reserve` takes some of
 * the disk, holds nothing, and is cut when one of these finds no room.
 *
 *     | for what compaction moves       | for deletions           |
 *     0                               _moves                    _held
 *
 * For deletions: a thousandth of what the store has, 1 MiB at least and 256 at most; each takes 64
 * bytes, and 56 in a footer. For moves: half of what the store has and somewhat more, at most a
 * segment and an eighth (its footer), so that any segment can be moved. Who may write:
 *
 *     puts, touches   while all of it is kept
 *     deletions       while the part for moves is; the other is given to them
 *     moves           always; all of it is given to them
 *
 * Where deletions have used up theirs, and what counts of each segment is more than all that is
 * kept, neither could go on: a MiB of the part for moves is the deletions' then, each time, but for
 * the last one. They need a tenth of what they make free of chunks of 1 KiB, so that some segment
 * fits in the end; chunks that are smaller than a deletion may be too many for that.
 *
 * What is made free goes to the reserve first. When a move is over and there is less than there
 * was, what can be had is kept, and of that the deletions have their part first: without them there
 * would be nothing to move.
 *
 * What the file holds does not matter, nor whether its name lasts: it is made anew, if it must be,
 * when the store is opened. A file system that cannot keep room (Unsupported and the like) has none
 * kept, and nothing is refused for that.
 *
 * Somebody may remove the file, or cut it, while the store runs: each batch of writes looks at it
 * first, since what is not kept any more has to be had once more before anything is put. What is
 * left of it, and what can be had, is shared out as when the store is opened: deletions first.
 *
 * Ownership: of the thread that writes.
 */
#include <errno.h>
#include <linux/magic.h>
#include <sys/statfs.h>

#include <weir/error.h>

#include "store_part.h"
#include "sys.h"

#include "banned.h"

static const char name[] = "reserve";

#define MIB           (UINT64_C(1) << 20)
#define DELETIONS_MAX (256 * MIB)
#define PIECE         (16u << 10)
/* Of a disk: a segment has so much of it at most, or the reserve would have too much. */
#define DISK_PART 16u

static bool is_concerned(const struct weir__store *store)
{
    return store->folder >= 0 && !store->is_read_only;
}

/* Where room cannot be kept by a call, something is written. */
static int write_zeros(int fd, uint64_t from, uint64_t to)
{
    static const unsigned char zeros[PIECE];
    while (from < to) {
        size_t some = to - from < PIECE ? (size_t)(to - from) : PIECE;
        ssize_t written = weir__sys_pwrite(fd, zeros, some, (off_t)from);
        if (written <= 0)
            return weir_error_from_errno(written == 0 ? EIO : errno);
        from += (uint64_t)written;
    }
    return 0;
}

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* Blocks that ext4 counts as free and gives to nobody, root neither: a fiftieth, up to so many. */
#define EXT4_KEEPS_PART 50u
#define EXT4_KEEPS_MAX  4096u

/* Bytes that this user could write. UINT64_MAX: nobody knows. */
static uint64_t free_bytes(struct weir__store *store)
{
    struct statfs fs;
    if (weir__sys_fstatfs(store->folder, &fs) < 0 || fs.f_blocks == 0)
        return UINT64_MAX;
    uint64_t blocks = geteuid() == 0 ? fs.f_bfree : fs.f_bavail, kept = 0;
    if (fs.f_type == EXT4_SUPER_MAGIC && geteuid() == 0)
        kept = least((uint64_t)fs.f_blocks / EXT4_KEEPS_PART, EXT4_KEEPS_MAX);
    return (blocks > kept ? blocks - kept : 0) * (uint64_t)fs.f_bsize;
}

/* Makes the file so large, and after that as large as kept; or leaves it as it was. */
static int resize(struct weir__store *store, uint64_t size, uint64_t kept)
{
    uint64_t held = store->writer.reserve_held;
    /* What cannot be is not tried: trying takes all there is for a moment, also from the index. */
    uint64_t room = size > held ? free_bytes(store) : UINT64_MAX;
    if (size > held && room < size - held)
        return -WEIR_E_NO_SPACE;
    int fd = weir__sys_openat(store->folder, name, O_RDWR | O_CREAT | O_NOFOLLOW, 0600);
    if (fd < 0)
        return weir_error_from_errno(errno);
    int error = 0;
    if (size > held && weir__sys_fallocate(fd, 0, 0, (off_t)size) < 0)
        error = errno == EOPNOTSUPP ? write_zeros(fd, held, size) : weir_error_from_errno(errno);
    if (weir__sys_ftruncate(fd, (off_t)(error ? held : kept)) < 0 && !error)
        error = weir_error_from_errno(errno);
    weir__sys_close(fd);
    if (!error)
        store->writer.reserve_held = kept;
    return error;
}

/* --- how much --- */

/* In whole MiB, so that it seldom grows. */
static uint64_t wanted(const struct weir__store *store, uint64_t *ret_moves)
{
    uint64_t bytes = store->writer.stored + store->writer.end;
    uint64_t deletions = least(bytes / 1024, DELETIONS_MAX) / MIB * MIB;
    uint64_t segment = store->options.segment_bytes;
    /* Half of it, with footers and what is left free before large content (compact.c). */
    uint64_t half = bytes / 2 + bytes / 32 + least(bytes / 8, MIB / 4);
    uint64_t most = (segment + segment / 8) / MIB * MIB;
    *ret_moves = bytes < MIB / 2 ? 0 : least((half + MIB - 1) / MIB * MIB, most);
    return *ret_moves + (deletions > MIB ? deletions : MIB);
}

void weir__store_reserve_measure(struct weir__store *store)
{
    struct weir__segments_stats stats;
    weir__segments_read(&store->segments, &stats);
    uint64_t bytes = stats.bytes;
    weir_lock_acquire(&store->lock);
    for (size_t i = 0; i < store->waiting_count; i++)
        bytes += store->waiting[i]->end;
    weir_lock_release(&store->lock);
    store->writer.stored = bytes;
}

void weir__store_fit_segments(struct weir__store *store)
{
    struct statfs fs;
    if (!is_concerned(store) || weir__sys_fstatfs(store->folder, &fs) < 0 || fs.f_blocks == 0)
        return;
    uint64_t part = (uint64_t)fs.f_blocks * (uint64_t)fs.f_bsize / DISK_PART;
    if (part < WEIR__STORE_SEGMENT_LEAST)
        part = WEIR__STORE_SEGMENT_LEAST;
    if (part < store->options.segment_bytes)
        store->options.segment_bytes = (uint32_t)part;
}

/* --- keeping and giving --- */

static int keep(struct weir__store *store, uint64_t size)
{
    return store->writer.reserve_held >= size ? 0 : resize(store, size, size);
}

int weir__store_reserve_take(struct weir__store *store)
{
    struct weir__writer *writer = &store->writer;
    uint64_t moves, all = wanted(store, &moves);
    if (!is_concerned(store) || (writer->reserve_held >= all && writer->reserve_moves >= moves))
        return 0;
    int error = keep(store, all);
    if (!error) {
        writer->reserve_moves = moves;
        writer->reserve_is_lost = false;
    }
    return error;
}

int weir__store_reserve_settle(struct weir__store *store)
{
    struct weir__writer *writer = &store->writer;
    uint64_t moves, all = wanted(store, &moves), deletions = all - moves;
    if (!is_concerned(store))
        return 0;
    int error = weir__store_reserve_take(store);
    if (error != -WEIR_E_NO_SPACE) {
        writer->reserve_moves = error ? 0 : moves;
        return error;
    }
    /* All that moves may use is there: what deletions have used is not given to them again. But
     * what somebody else has taken they have not used. */
    if (writer->reserve_held >= writer->reserve_moves && !writer->reserve_is_lost)
        return error;
    for (uint64_t size = all / 2; size > writer->reserve_held && size >= MIB / 4; size /= 2)
        if (keep(store, size) != -WEIR_E_NO_SPACE)
            break;
    uint64_t rest = writer->reserve_held > deletions ? writer->reserve_held - deletions : 0;
    writer->reserve_moves = least(rest, moves);
    writer->reserve_is_lost = writer->reserve_is_lost && writer->reserve_held < deletions;
    return error;
}

void weir__store_reserve_look(struct weir__store *store)
{
    struct weir__writer *writer = &store->writer;
    uint64_t held = writer->reserve_held;
    struct stat st;
    if (!is_concerned(store) || held == 0)
        return;
    /* What cannot be looked at says nothing; so this is not among the calls that tests let fail. */
    bool is_there = fstatat(store->folder, name, &st, AT_SYMLINK_NOFOLLOW) == 0;
    if (is_there ? !S_ISREG(st.st_mode) : errno == ENOENT)
        writer->reserve_held = 0;
    else if (is_there)
        writer->reserve_held = least(held, (uint64_t)st.st_size);
    if (writer->reserve_held == held)
        return;
    /* What is left, and can be had, is shared out anew: deletions are not refused for what moves do
     * not have any more. */
    writer->reserve_is_lost = true;
    (void)!weir__store_reserve_settle(store);
}

/* What somebody would have to free before all of it is kept: a MiB at least. */
static uint64_t missing(struct weir__store *store)
{
    uint64_t moves, lacks = wanted(store, &moves), held = store->writer.reserve_held;
    uint64_t room = free_bytes(store);
    lacks = lacks > held ? lacks - held : 0;
    lacks = room != UINT64_MAX && lacks > room ? lacks - room : 0;
    return lacks > MIB ? lacks : MIB;
}

int weir__store_reserve_open(struct weir__store *store, struct weir__store_report *report)
{
    struct stat st;
    weir__store_reserve_measure(store);
    store->writer.reserve_is_lost = true; /* nobody knows whose part is missing */
    bool is_there = is_concerned(store) &&
                    weir__sys_fstatat(store->folder, name, &st, AT_SYMLINK_NOFOLLOW) == 0;
    bool is_foreign = is_there && !S_ISREG(st.st_mode);
    if (is_there && !is_foreign)
        store->writer.reserve_held = least((uint64_t)st.st_size, (uint64_t)st.st_blocks * 512);
    int error = weir__store_reserve_settle(store);
    if (error == -WEIR_E_NO_SPACE)
        report->reserve_missing = missing(store);
    else if (error)
        report->reserve_why = is_foreign ? "it is no file: remove it" : weir_error_text(error);
    return error;
}

int weir__store_reserve_take_for_moves(struct weir__store *store)
{
    return is_concerned(store) ? keep(store, store->writer.reserve_moves) : 0;
}

static bool give(struct weir__store *store, uint64_t kept)
{
    return is_concerned(store) && store->writer.reserve_held > kept &&
           resize(store, kept, kept) == 0;
}

bool weir__store_reserve_give(struct weir__store *store, bool to_move)
{
    return give(store, to_move ? 0 : store->writer.reserve_moves);
}

bool weir__store_has_room(struct weir__store *store)
{
    uint64_t moves, all = wanted(store, &moves);
    return is_concerned(store) && weir__store_reserve_settle(store) == 0 &&
           resize(store, all + MIB, all) == 0;
}

void weir__store_reserve_yield(struct weir__store *store)
{
    struct weir__writer *writer = &store->writer;
    if (is_concerned(store) && writer->reserve_moves > MIB)
        writer->reserve_moves -= MIB;
}

uint64_t weir__store_room_for_moves(struct weir__store *store)
{
    struct stat st;
    uint64_t room = free_bytes(store);
    if (room == UINT64_MAX || weir__sys_fstatat(store->folder, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return room;
    return room + (uint64_t)st.st_blocks * 512;
}
