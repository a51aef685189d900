/* move_ring.c - a pipeline of reads and writes through io_uring.
 *
 * The stretch is cut into blocks, in order; each slot of the ring takes the next block, reads it,
 * writes it, and takes the next. So while one block is written (which ext4 leaves to a thread of
 * the kernel) others are read. Blocks are begun in rising order, so everything below the lowest
 * block that is in work is done, and that is where another way goes on if this one gives up.
 *
 *     idle --take--> reading --all there, or the end--> writing --all written--> idle
 *                    (again while short)                (again while short; with zeros to leave
 *                                                        out, run by run)
 *
 * Whatever happens, nothing is in flight when this returns: the buffers and the files are then the
 * caller's again.
 */
#include "move.h"

#include <string.h>

#include "ring.h"
#include "sys.h"

#include "banned.h"

/* Answers of -EINTR and -EAGAIN in one stretch, before another way is taken. */
#define AGAIN_MAX 1000u

struct slot {
    bool is_busy, is_writing;
    uint64_t at;     /* of its block */
    size_t size;     /* of its block */
    size_t filled;   /* bytes read */
    size_t from, to; /* the run that is being written */
};

struct pipeline {
    struct weir__move *move;
    struct weir__ring *ring;
    uint64_t next, end; /* the blocks not yet taken */
    uint64_t source_end;
    unsigned again;
    struct slot slots[WEIR__MOVE_SLOTS];
};

static void ask_read(struct pipeline *line, unsigned index)
{
    struct slot *slot = &line->slots[index];
    weir__ring_read(line->ring, index, line->move->in, slot->filled, slot->size - slot->filled,
                    slot->at + slot->filled);
}

static void ask_write(struct pipeline *line, unsigned index)
{
    struct slot *slot = &line->slots[index];
    weir__ring_write(line->ring, index, line->move->out, slot->from, slot->to - slot->from,
                     slot->at + slot->from);
}

/* The slot takes the next block, or stays idle when there is none. */
static enum weir__moved take_block(struct pipeline *line, unsigned index)
{
    struct slot *slot = &line->slots[index];
    slot->is_busy = false;
    if (line->next >= line->end || line->next >= line->source_end)
        return WEIR__MOVED_ALL;
    size_t size = weir__move_block(line->move, WEIR__MOVE_SLOT_BYTES, line->end - line->next);
    if (weir__move_begin(line->move, size))
        return WEIR__MOVED_FAILED;
    *slot = (struct slot){.is_busy = true, .at = line->next, .size = size};
    line->next += size;
    ask_read(line, index);
    return WEIR__MOVED_ALL;
}

/* Writes the next run of the block; when there is none left, the slot takes another block. */
static enum weir__moved write_run(struct pipeline *line, unsigned index)
{
    struct slot *slot = &line->slots[index];
    int run = weir__move_next_run(line->move, weir__ring_buffer(line->ring, index), slot->filled,
                                  slot->at, &slot->from, &slot->to);
    if (run < 0)
        return WEIR__MOVED_FAILED;
    if (run == 0)
        return take_block(line, index);
    slot->is_writing = true;
    ask_write(line, index);
    return WEIR__MOVED_ALL;
}

static enum weir__moved on_read(struct pipeline *line, unsigned index, size_t count)
{
    struct slot *slot = &line->slots[index];
    slot->filled += count;
    if (count > 0 && slot->filled < slot->size) {
        ask_read(line, index);
        return WEIR__MOVED_ALL;
    }
    if (count == 0 && slot->at + slot->filled < line->source_end)
        line->source_end = slot->at + slot->filled;
    if (slot->at >= line->source_end)
        return take_block(line, index);
    return write_run(line, index);
}

static enum weir__moved on_written(struct pipeline *line, unsigned index, size_t count)
{
    struct slot *slot = &line->slots[index];
    if (count == 0)
        return WEIR__MOVED_NOT;
    line->move->result->ring += count;
    slot->from += count; /* less than was asked for: the rest is the next run */
    return write_run(line, index);
}

/* Once more what was interrupted; anything else is for another way to find out about. */
static enum weir__moved on_error(struct pipeline *line, unsigned index, int errno_value)
{
    if ((errno_value == EINTR || errno_value == EAGAIN) && line->again++ < AGAIN_MAX) {
        if (line->slots[index].is_writing)
            ask_write(line, index);
        else
            ask_read(line, index);
        return WEIR__MOVED_ALL;
    }
    line->move->is_refused =
        errno_value == EINVAL || errno_value == ENOSYS || errno_value == EOPNOTSUPP;
    return WEIR__MOVED_NOT;
}

static enum weir__moved step(struct pipeline *line)
{
    unsigned index;
    int answer;
    if (weir__ring_next(line->ring, &index, &answer))
        return WEIR__MOVED_NOT;
    if (answer < 0)
        return on_error(line, index, -answer);
    if (line->slots[index].is_writing)
        return on_written(line, index, (size_t)answer);
    return on_read(line, index, (size_t)answer);
}

static uint64_t done_until(const struct pipeline *line)
{
    uint64_t at = line->next < line->source_end ? line->next : line->source_end;
    for (unsigned i = 0; i < WEIR__MOVE_SLOTS; i++) {
        const struct slot *slot = &line->slots[i];
        if (slot->is_busy && slot->at < at)
            at = slot->at;
    }
    return at;
}

enum weir__moved weir__move_ring(struct weir__move *move, uint64_t *at, uint64_t end)
{
    struct pipeline line = {
        .move = move,
        .ring = move->mover->_ring,
        .next = *at,
        .end = end,
        .source_end = UINT64_MAX,
    };
    enum weir__moved moved = WEIR__MOVED_ALL;
    for (unsigned i = 0; i < WEIR__MOVE_SLOTS && moved == WEIR__MOVED_ALL; i++)
        moved = take_block(&line, i);
    while (moved == WEIR__MOVED_ALL && weir__ring_in_flight(line.ring) > 0)
        moved = step(&line);
    *at = done_until(&line);
    if (moved != WEIR__MOVED_ALL) {
        int saved = errno;
        weir__ring_drain(line.ring);
        errno = saved;
        return moved;
    }
    return *at < end ? WEIR__MOVED_SHORT : WEIR__MOVED_ALL;
}
