/* data.h - moves the bytes of one file, the cheapest way that works.
 *
 * Ways: reflink (the whole file shares its blocks), copy_file_range, io_uring with registered
 * buffers, plain reads and writes. Which of the last three is fastest depends on the file systems
 * and on the kernel, so it is measured: large files try each way on a piece, and the fastest is
 * used for that pair of file systems from then on (and tried again now and then). A way that the
 * kernel refuses is not tried again for that pair. Small files (up to WEIR__DATA_SMALL) are read
 * and written in one go.
 *
 * A mover belongs to one thread; the choice is shared by all movers of a run.
 *
 * Who does what: the mover writes bytes at their places and leaves holes out; it never sets the
 * size of the file. The caller does, by ftruncate() to the final size, after the last part: only
 * that makes a hole at the end as long as it should be, cuts off what a source that changed has
 * left beyond, and gives back space that was reserved and not used. Where there will be holes
 * (MAKE, or a source with fewer blocks than bytes) it sets the size of a new file before the first
 * part as well: xfs reserves space behind a file that grows, and would do so in the holes.
 *
 * Limits: a mover has one buffer of WEIR__DATA_BUFFER bytes, of which small files touch
 * WEIR__DATA_SMALL; the ring is a ring over the same memory and is made when it is first used.
 *
 * Ownership: the mover borrows choice, rate and descriptors and owns its buffers and its ring.
 */
#ifndef WEIR_COPY_DATA_H
#define WEIR_COPY_DATA_H

#include <sys/types.h>

#include <weir/deadline.h>
#include <weir/lock.h>
#include <weir/rate.h>

#include "copy.h"

#define WEIR__DATA_SMALL     (256u << 10) /* up to here in one go */
#define WEIR__DATA_BUFFER    (1u << 20)
#define WEIR__DATA_PIECE     (UINT64_C(32) << 20)
#define WEIR__DATA_PAIRS_MAX 64u /* pairs of file systems remembered; more share the last */

struct weir__data_choice; /* what has been measured so far, by pair of devices */
WEIR_MUST_USE int weir__data_choice_new(struct weir__data_choice **ret_choice,
                                        enum weir__data_path path);
void weir__data_choice_free(struct weir__data_choice *choice);

/* What was done; the mover adds to it, so that one result can gather the parts of a file. The bytes
 * of a shared file are the caller's to enter. */
struct weir__data_result {
    uint64_t reflinked, range, ring, plain; /* bytes by each way */
    uint64_t holes;                         /* bytes not moved since they are holes */
    bool is_read_side;                      /* of a failure: reading failed, not writing */
};

struct weir__mover {
    struct weir__data_choice *_choice;
    struct weir_rate *_rate; /* or NULL */
    enum weir__reflink _reflink;
    enum weir__sparse _sparse;
    void *_memory;
    char *_buffer;            /* in _memory, at a page */
    struct weir__ring *_ring; /* made when first needed; NULL where io_uring is not to be had */
    bool _ring_failed;
    uint64_t _burst; /* of the rate, when it was last asked */
    void (*_tick)(void *arg, uint64_t bytes);
    void *_tick_arg;
    /* What is known of the last file that was looked at for holes: data from here to there. */
    struct {
        dev_t device;
        ino_t inode;
        uint64_t from, until;
    } _solid;
    /* Whether space is reserved before it is written on the file system written to last. */
    struct {
        dev_t device;
        bool is_known, is_wanted;
    } _reserve;
    /* The last pair that is known not to share blocks. */
    struct {
        dev_t in, out;
        bool is_known;
    } _unshared;
};

/* rate may be NULL. */
WEIR_MUST_USE int weir__mover_init(struct weir__mover *mover, struct weir__data_choice *choice,
                                   enum weir__reflink reflink, enum weir__sparse sparse,
                                   struct weir_rate *rate);
void weir__mover_fini(struct weir__mover *mover);
/* Before each block of weir__mover_copy(), tick is told what has been moved since it was last. */
void weir__mover_watch(struct weir__mover *mover, void (*tick)(void *arg, uint64_t bytes),
                       void *arg);
/* WEIR__DATA_SMALL bytes, the thread's to use between calls. */
char *weir__mover_buffer(struct weir__mover *mover);

/* Waits for tokens of the rate, if there is one: before bytes that the caller moves itself. Any
 * number of bytes: what is more than the burst is taken in parts. 0 or a negative code, as
 * weir_rate_acquire(). */
WEIR_MUST_USE int weir__mover_pace(struct weir__mover *mover, uint64_t bytes,
                                   const struct weir_deadline *deadline);

/* Whether it is worth trying to share blocks between these two file systems: false with
 * WEIR__REFLINK_NEVER, and once they have refused, except with WEIR__REFLINK_ALWAYS. */
bool weir__mover_can_reflink(struct weir__mover *mover, dev_t in_device, dev_t out_device);

/* Tries to share the whole file: 0, or -1 with errno when it cannot be done (or must not be). With
 * WEIR__REFLINK_ALWAYS the caller treats that as an error. */
int weir__mover_reflink(struct weir__mover *mover, int in, int out);

/* Copies [at, at + length) of in to the same place in out, which is at least as long as at, or
 * sparse there. Holes of the source are left out (KEEP), zeros made holes as well (MAKE), or all is
 * written (NEVER); is_blank says that out has no data in that range yet; otherwise holes are
 * punched or zeros written. A source that ends early is not an error: *ret_copied tells how many
 * bytes of the range, holes included, were there. Something may have been written beyond that if
 * the source grew or shrank meanwhile, never beyond at + length.
 *
 * Parts of one file may be copied by several movers at once, through the same descriptors: no
 * file offset is used, though that of in is moved.
 *
 * copy_file_range may share blocks where the file system can, and cannot see zeros: so it is not
 * used with MAKE, nor with NEVER where the source has holes, nor with WEIR__REFLINK_NEVER unless it
 * is the forced path. A forced path that does not work falls back to reads and writes.
 *
 * 0, or -1 with errno (ECANCELED when the deadline's token fired, ETIMEDOUT when its time came). */
int weir__mover_copy(struct weir__mover *mover, int in, int out, uint64_t at, uint64_t length,
                     bool is_blank, uint64_t *ret_copied, struct weir__data_result *result,
                     const struct weir_deadline *deadline);

/* The way that most bytes went, for -v: "copy_file_range", "io_uring", "read+write", "reflink"; or
 * "holes" when no byte had to be moved. */
const char *weir__data_way_name(const struct weir__data_result *result);

/* The BLAKE3 of a whole file, as long as it turns out to be, read with the mover's buffer and
 * without pacing. 0, or -1 with errno as weir__mover_copy(). */
#define WEIR__DIGEST_SIZE 32
int weir__mover_digest(struct weir__mover *mover, int fd, uint64_t *ret_size,
                       unsigned char digest[WEIR__DIGEST_SIZE],
                       const struct weir_deadline *deadline);

#endif
