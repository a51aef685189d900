/* data.c - the mover: finds what of a file is data, and has it moved by the way that is fastest.
 *
 *     copy -> parts that are data (SEEK_DATA, SEEK_HOLE) -> stretches (choice.c) -> a way (move.c)
 *
 * One lseek(SEEK_HOLE) tells whether a range has holes at all; it costs as much as an fstat() and,
 * unlike a comparison of blocks with size, is not fooled by blocks that belong to attributes or
 * were reserved beyond the end. It walks over all extents up to the hole, so the answer is kept:
 * the parts of a large file that is one run of data ask once for each mover.
 *
 * On ext4 the space of a stretch is reserved before it is written. Measured there, warm, in ns a
 * byte: plain 0.28 without and 0.22 with it, copy_file_range 0.24 and 0.18, io_uring 0.23 and 0.16,
 * because the writes then need not reserve a block at a time; with an fsync() at the end it gains
 * as well (0.48 and 0.42). On xfs and tmpfs it brings nothing, on btrfs it costs.
 */
#include "data.h"

#include <string.h>

#include <weir/clock.h>

#include "alloc.h"
#include "choice.h"
#include "hash.h"
#include "move.h"
#include "ring.h"
#include "sys.h"

#include "banned.h"

#define PAGE          4096u
#define EXT4_MAGIC    0xef53
#define RESERVE_MIN   (512u << 10) /* below, the extra call costs what it saves */
#define ZERO_UNIT     4096u        /* where the file system's own is odd */
#define ZERO_UNIT_MAX (64u << 10)
#define WAY_BIT(way)  (1u << (way))

_Static_assert(WEIR__DIGEST_SIZE == WEIR__HASH_SIZE, "a digest is a hash");
_Static_assert(WEIR__MOVE_PLAIN_BYTES <= WEIR__DATA_BUFFER, "a block does not fit the buffer");

/* One call of weir__mover_copy() on something larger than small. */
struct job {
    struct weir__move move;
    struct stat in;
    unsigned pair;
    unsigned allowed; /* ways, as WAY_BIT */
    bool is_small;    /* nothing to choose */
    bool is_reserved; /* space is, before it is written */
};

int weir__mover_init(struct weir__mover *mover, struct weir__data_choice *choice,
                     enum weir__reflink reflink, enum weir__sparse sparse, struct weir_rate *rate)
{
    *mover = (struct weir__mover){
        ._choice = choice, ._rate = rate, ._reflink = reflink, ._sparse = sparse};
    mover->_memory = weir__base_alloc(1, WEIR__DATA_BUFFER + PAGE);
    if (!mover->_memory)
        return -WEIR_E_NO_MEMORY;
    mover->_buffer = mover->_memory;
    mover->_buffer += PAGE - (uintptr_t)mover->_memory % PAGE;
    return 0;
}

void weir__mover_watch(struct weir__mover *mover, void (*tick)(void *arg, uint64_t bytes),
                       void *arg)
{
    mover->_tick = tick;
    mover->_tick_arg = arg;
}

void weir__mover_fini(struct weir__mover *mover)
{
    if (!mover)
        return;
    weir__ring_free(mover->_ring);
    weir__base_free(mover->_memory);
    *mover = (struct weir__mover){0};
}

char *weir__mover_buffer(struct weir__mover *mover)
{
    return mover->_buffer;
}

static void ask_burst(struct weir__mover *mover)
{
    struct weir_rate_stats stats;
    weir_rate_read(mover->_rate, &stats);
    mover->_burst = stats.burst;
}

int weir__mover_pace(struct weir__mover *mover, uint64_t bytes,
                     const struct weir_deadline *deadline)
{
    if (!mover->_rate)
        return 0;
    while (bytes > 0) {
        if (mover->_burst == 0)
            ask_burst(mover);
        uint64_t count = bytes < mover->_burst ? bytes : mover->_burst;
        int error = weir_rate_acquire(mover->_rate, count, WEIR_RATE_HIGH, deadline);
        if (error == -WEIR_E_TOO_LARGE) {
            mover->_burst = 0; /* the rate was changed: ask again */
            continue;
        }
        if (error)
            return error;
        bytes -= count;
    }
    return 0;
}

bool weir__mover_can_reflink(struct weir__mover *mover, dev_t in_device, dev_t out_device)
{
    if (mover->_reflink != WEIR__REFLINK_AUTO)
        return mover->_reflink == WEIR__REFLINK_ALWAYS;
    if (mover->_unshared.is_known && mover->_unshared.in == in_device &&
        mover->_unshared.out == out_device)
        return false;
    unsigned pair = weir__choice_pair(mover->_choice, in_device, out_device);
    if (!weir__choice_is_unshared(mover->_choice, pair))
        return true;
    mover->_unshared.in = in_device;
    mover->_unshared.out = out_device;
    mover->_unshared.is_known = true;
    return false;
}

/* Remembers what will be refused for every other file, too. */
static void note_unshared(struct weir__mover *mover, int in, int out)
{
    bool is_lasting = errno == EOPNOTSUPP || errno == EXDEV || errno == ENOTTY || errno == ENOSYS;
    int saved = errno;
    struct stat in_stat, out_stat;
    if (is_lasting && weir__sys_fstat(in, &in_stat) == 0 && weir__sys_fstat(out, &out_stat) == 0) {
        unsigned pair = weir__choice_pair(mover->_choice, in_stat.st_dev, out_stat.st_dev);
        weir__choice_unshare(mover->_choice, pair);
    }
    errno = saved;
}

int weir__mover_reflink(struct weir__mover *mover, int in, int out)
{
    if (mover->_reflink == WEIR__REFLINK_NEVER) {
        errno = EOPNOTSUPP;
        return -1;
    }
    int result = weir__sys_clone(in, out);
    if (result)
        note_unshared(mover, in, out);
    return result;
}

/* Where the data that begin at `at` end: at the next hole, or beyond all when that cannot be known
 * (or is past the end of the file). `at` itself when there is a hole. */
static uint64_t data_until(int in, uint64_t at)
{
    off_t hole = weir__sys_lseek(in, (off_t)at, SEEK_HOLE);
    return hole < 0 ? UINT64_MAX : (uint64_t)hole;
}

/* The same, from what is known where that is enough. A file that changes meanwhile may get zeros
 * where a hole is by now, and never anything else than it has. */
static uint64_t solid_until(struct job *job, uint64_t at)
{
    struct weir__mover *mover = job->move.mover;
    bool is_same = mover->_solid.device == job->in.st_dev && mover->_solid.inode == job->in.st_ino;
    if (is_same && mover->_solid.from <= at && at < mover->_solid.until)
        return mover->_solid.until;
    uint64_t until = data_until(job->move.in, at);
    mover->_solid.device = job->in.st_dev;
    mover->_solid.inode = job->in.st_ino;
    mover->_solid.from = at;
    mover->_solid.until = until == UINT64_MAX ? at : until;
    return until;
}

/* Where the hole at `at` ends: 0, at the next data or the end of the source, which *ret_is_last
 * tells; or -1 when there is no way to know. */
static int hole_until(struct job *job, uint64_t at, uint64_t *ret_until, bool *ret_is_last)
{
    *ret_is_last = false;
    off_t data = weir__sys_lseek(job->move.in, (off_t)at, SEEK_DATA);
    if (data < 0 && errno == ENXIO) {
        /* Asked again after the size: data that come between the two are not taken for a hole. */
        if (weir__sys_fstat(job->move.in, &job->in))
            return -1;
        data = weir__sys_lseek(job->move.in, (off_t)at, SEEK_DATA);
        if (data < 0 && errno == ENXIO) {
            uint64_t size = (uint64_t)job->in.st_size;
            *ret_is_last = true;
            *ret_until = size > at ? size : at;
            return 0;
        }
    }
    if (data < 0)
        return -1;
    *ret_until = (uint64_t)data;
    return 0;
}

static bool has_ring(struct weir__mover *mover)
{
    if (!mover->_ring && !mover->_ring_failed)
        mover->_ring_failed = weir__ring_new(&mover->_ring, mover->_buffer, WEIR__MOVE_SLOT_BYTES,
                                             WEIR__MOVE_SLOTS) != 0;
    return mover->_ring != NULL;
}

static void choose(struct job *job, uint64_t bytes, struct weir__choice_stretch *stretch)
{
    struct weir__mover *mover = job->move.mover;
    weir__choice_take(mover->_choice, job->pair, job->allowed, bytes, stretch);
    if (stretch->way == WEIR__WAY_RING && !has_ring(mover)) {
        job->allowed &= ~WAY_BIT(WEIR__WAY_RING);
        weir__choice_take(mover->_choice, job->pair, job->allowed, bytes, stretch);
    }
}

/* Best effort: if there is no room, the writes will say so. */
static void reserve(struct job *job, uint64_t at, uint64_t bytes)
{
    if (!job->is_reserved || bytes < RESERVE_MIN)
        return;
    int result = weir__sys_fallocate(job->move.out, FALLOC_FL_KEEP_SIZE, (off_t)at, (off_t)bytes);
    job->is_reserved = result == 0;
}

static enum weir__moved move_stretch(struct job *job, uint64_t *at, uint64_t end)
{
    static enum weir__moved (*const ways[WEIR__WAYS])(struct weir__move *, uint64_t *, uint64_t) = {
        [WEIR__WAY_RANGE] = weir__move_range,
        [WEIR__WAY_RING] = weir__move_ring,
        [WEIR__WAY_PLAIN] = weir__move_plain,
    };
    struct weir__data_choice *choice = job->move.mover->_choice;
    struct weir__choice_stretch stretch;
    choose(job, end - *at, &stretch);
    uint64_t from = *at, stretch_end = from + stretch.bytes, begun_ns = weir_now_ns();
    reserve(job, from, stretch.bytes);
    enum weir__moved moved = ways[stretch.way](&job->move, at, stretch_end);
    if (moved != WEIR__MOVED_NOT) {
        /* With a rate, the time that it took says nothing about the way. */
        if (stretch.is_measured && moved != WEIR__MOVED_FAILED && !job->move.mover->_rate)
            weir__choice_note(choice, job->pair, stretch.way, *at - from, weir_now_ns() - begun_ns);
        return moved;
    }
    bool is_refused = job->move.is_refused;
    uint64_t given_up_at = *at;
    moved = weir__move_plain(&job->move, at, stretch_end);
    /* It moved nothing where reads and writes do: it does not work here, whatever it said. A
     * copy_file_range() that takes a file for empty is found out like this, too. */
    bool is_useless = given_up_at == from && *at > from;
    if (is_refused || is_useless)
        weir__choice_refuse(choice, job->pair, stretch.way);
    job->move.is_refused = false;
    return moved;
}

static enum weir__moved move_data(struct job *job, uint64_t *at, uint64_t end)
{
    enum weir__moved moved = WEIR__MOVED_ALL;
    while (*at < end && moved == WEIR__MOVED_ALL)
        moved = job->is_small ? weir__move_plain(&job->move, at, end) : move_stretch(job, at, end);
    return moved;
}

/* From data to hole to data. */
static enum weir__moved move_around_holes(struct job *job, uint64_t *at, uint64_t end)
{
    while (*at < end) {
        uint64_t until = solid_until(job, *at);
        bool is_last = false;
        if (until <= *at) {
            if (hole_until(job, *at, &until, &is_last))
                until = *at;
            until = until < end ? until : end;
            if (until > *at || is_last) {
                if (until > *at && weir__move_hole(&job->move, *at, until))
                    return WEIR__MOVED_FAILED;
                *at = until;
                if (is_last && until < end)
                    return WEIR__MOVED_SHORT;
                continue;
            }
            /* Neither hole nor data: the file changes under us. A block goes as it is. */
            until = *at + WEIR__DATA_SMALL;
        }
        enum weir__moved moved = move_data(job, at, until < end ? until : end);
        if (moved != WEIR__MOVED_ALL)
            return moved;
    }
    return WEIR__MOVED_ALL;
}

/* Zeros are looked for by the block of the file system that is written to. */
static size_t zero_unit_of(const struct stat *out)
{
    size_t unit = out->st_blksize > 0 ? (size_t)out->st_blksize : 0;
    bool is_usable = unit >= 512 && (unit & (unit - 1)) == 0;
    if (!is_usable)
        return ZERO_UNIT;
    return unit < ZERO_UNIT_MAX ? unit : ZERO_UNIT_MAX;
}

/* Asks once for each mover and device what file system it is. */
static bool is_reserving(struct weir__mover *mover, int out, dev_t device)
{
    if (!mover->_reserve.is_known || mover->_reserve.device != device) {
        struct statfs fs;
        bool is_known = weir__sys_fstatfs(out, &fs) == 0;
        mover->_reserve.device = device;
        mover->_reserve.is_known = is_known;
        mover->_reserve.is_wanted = is_known && fs.f_type == EXT4_MAGIC;
    }
    return mover->_reserve.is_wanted;
}

/* Which ways can do what is asked for, whatever they cost. */
static unsigned allowed_ways(const struct weir__mover *mover, bool has_holes)
{
    bool is_auto = weir__choice_path(mover->_choice) == WEIR__DATA_AUTO;
    unsigned allowed = WAY_BIT(WEIR__WAY_PLAIN);
    bool sees_bytes = mover->_sparse == WEIR__SPARSE_MAKE ||
                      (mover->_sparse == WEIR__SPARSE_NEVER && has_holes) ||
                      (mover->_reflink == WEIR__REFLINK_NEVER && is_auto);
    if (!sees_bytes)
        allowed |= WAY_BIT(WEIR__WAY_RANGE);
    /* A paced copy waits for its tokens anyway, and need not keep two processors busy. */
    if (!mover->_ring_failed && !(mover->_rate && is_auto))
        allowed |= WAY_BIT(WEIR__WAY_RING);
    return allowed;
}

static enum weir__moved copy_large(struct job *job, uint64_t *at, uint64_t end)
{
    struct weir__mover *mover = job->move.mover;
    struct stat out;
    if (weir__sys_fstat(job->move.in, &job->in)) {
        job->move.result->is_read_side = true;
        return WEIR__MOVED_FAILED;
    }
    if (weir__sys_fstat(job->move.out, &out))
        return WEIR__MOVED_FAILED;
    bool has_holes = solid_until(job, *at) < end;
    if (mover->_sparse == WEIR__SPARSE_MAKE)
        job->move.zero_unit = zero_unit_of(&out);
    job->is_small = end - *at <= WEIR__DATA_SMALL;
    if (!job->is_small) {
        job->allowed = allowed_ways(mover, has_holes);
        job->pair = weir__choice_pair(mover->_choice, job->in.st_dev, out.st_dev);
        job->is_reserved = job->move.is_blank && mover->_sparse != WEIR__SPARSE_MAKE &&
                           is_reserving(mover, job->move.out, out.st_dev);
    }
    if (has_holes && mover->_sparse != WEIR__SPARSE_NEVER)
        return move_around_holes(job, at, end);
    return move_data(job, at, end);
}

/* A small file without holes: one read, one write. */
static bool is_simple(const struct job *job, uint64_t at, uint64_t end)
{
    enum weir__sparse sparse = job->move.mover->_sparse;
    if (end - at > WEIR__DATA_SMALL || sparse == WEIR__SPARSE_MAKE)
        return false;
    return sparse == WEIR__SPARSE_NEVER || data_until(job->move.in, at) >= end;
}

int weir__mover_copy(struct weir__mover *mover, int in, int out, uint64_t at, uint64_t length,
                     bool is_blank, uint64_t *ret_copied, struct weir__data_result *result,
                     const struct weir_deadline *deadline)
{
    if (at > INT64_MAX || length > INT64_MAX - at) {
        errno = EFBIG;
        return -1;
    }
    if (mover->_rate)
        ask_burst(mover);
    result->is_read_side = false;
    struct job job = {
        .move = {.mover = mover,
                 .in = in,
                 .out = out,
                 .is_blank = is_blank,
                 .result = result,
                 .deadline = deadline,
                 .ticked = result->range + result->ring + result->plain + result->holes}};
    uint64_t place = at, end = at + length;
    enum weir__moved moved = is_simple(&job, at, end) ? weir__move_plain(&job.move, &place, end)
                                                      : copy_large(&job, &place, end);
    if (moved == WEIR__MOVED_FAILED)
        return -1;
    *ret_copied = place - at;
    return 0;
}

const char *weir__data_way_name(const struct weir__data_result *result)
{
    const struct {
        uint64_t bytes;
        const char *name;
    } ways[] = {
        {result->reflinked, "reflink"},
        {result->range, "copy_file_range"},
        {result->ring, "io_uring"},
        {result->plain, "read+write"},
    };
    const char *name = "holes";
    uint64_t most = 0;
    for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
        if (ways[i].bytes > most) {
            most = ways[i].bytes;
            name = ways[i].name;
        }
    }
    return name;
}

int weir__mover_digest(struct weir__mover *mover, int fd, uint64_t *ret_size,
                       unsigned char digest[WEIR__DIGEST_SIZE],
                       const struct weir_deadline *deadline)
{
    /* The deadline is asked as for any block; a move without a rate is one that is not paced. */
    struct weir__mover unpaced = {0};
    struct weir__move move = {.mover = &unpaced, .deadline = deadline};
    struct weir__hash hash;
    weir__hash_init(&hash);
    for (uint64_t size = 0;;) {
        if (weir__move_begin(&move, WEIR__DATA_SMALL))
            return -1;
        ssize_t got = weir__sys_pread(fd, mover->_buffer, WEIR__DATA_SMALL, (off_t)size);
        if (got < 0)
            return -1;
        if (got == 0) {
            weir__hash_final(&hash, digest);
            *ret_size = size;
            return 0;
        }
        weir__hash_update(&hash, mover->_buffer, (size_t)got);
        size += (uint64_t)got;
    }
}
