/* move.h - the three ways to move a stretch of bytes, and how holes are made; for data.c alone.
 *
 * A way moves [*at, end) and leaves *at where it came to. copy_file_range and io_uring that meet
 * anything unusual do not judge it: they answer NOT, and plain reads and writes go on from there,
 * which find out whether it was the source, the destination or the way that failed.
 *
 * Ownership: a move borrows everything that it points to.
 */
#ifndef WEIR_COPY_MOVE_H
#define WEIR_COPY_MOVE_H

#include "data.h"

/* A plain block. Measured on ext4, warm, with space reserved, best and median of a busy machine in
 * ns a byte: 64 KiB 0.25 and 0.53, 128 KiB 0.21 and 0.41, 256 KiB 0.17 and 0.41, 512 KiB 0.17
 * and 1.5: the page cache takes pages as large as the writes, and those that large may be ones that
 * a virtual machine has given back to its host. */
#define WEIR__MOVE_PLAIN_BYTES (256u << 10)
#define WEIR__MOVE_SLOTS       4u /* 2: 0.22 ns a byte, 4: 0.16, 8 and 16: the same */
#define WEIR__MOVE_SLOT_BYTES  (WEIR__DATA_BUFFER / WEIR__MOVE_SLOTS)
/* Of one copy_file_range: how long a cancellation may have to wait. */
#define WEIR__MOVE_RANGE_BYTES (8u << 20)
/* Paced moves go in blocks of at most this. */
#define WEIR__MOVE_PACED_BYTES (256u << 10)

enum weir__moved {
    WEIR__MOVED_ALL,
    WEIR__MOVED_SHORT, /* the source ends at *at */
    WEIR__MOVED_NOT,   /* another way must go on from *at */
    WEIR__MOVED_FAILED /* errno, and is_read_side of the result */
};

struct weir__move {
    struct weir__mover *mover;
    int in, out;
    bool is_blank;
    bool is_refused;  /* set with NOT: this way will never work between these file systems */
    size_t zero_unit; /* aligned zeros of this many bytes become holes; 0: none do */
    struct weir__data_result *result;
    const struct weir_deadline *deadline;
    uint64_t ticked; /* bytes of the result that the mover's watcher knows of */
    uint64_t unused; /* bytes that the rate was asked for and that were not moved: for the next */
};

enum weir__moved weir__move_plain(struct weir__move *move, uint64_t *at, uint64_t end);
enum weir__moved weir__move_range(struct weir__move *move, uint64_t *at, uint64_t end);
/* The mover has its ring. */
enum weir__moved weir__move_ring(struct weir__move *move, uint64_t *at, uint64_t end);

/* How large the next block may be. */
size_t weir__move_block(const struct weir__move *move, size_t most, uint64_t left);
/* Before a block: asks the deadline, and the rate. 0, or -1 with errno. */
int weir__move_begin(struct weir__move *move, size_t bytes);

/* Sees to it that [at, end) of out reads as zeros without data, or at least as zeros. 0, or -1 with
 * errno. */
int weir__move_hole(struct weir__move *move, uint64_t at, uint64_t end);

/* The next run of bytes that must be written, from *from on, in a block that belongs at `at`: 1 and
 * [*from, *to); 0 when there is none; -1 with errno. Makes the holes before it. */
int weir__move_next_run(struct weir__move *move, const char *bytes, size_t count, uint64_t at,
                        size_t *from, size_t *to);

#endif
