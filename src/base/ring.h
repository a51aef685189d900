/* ring.h - an io_uring over the caller's memory, cut into registered buffers.
 *
 * Each buffer is a slot, and a slot has at most one request in flight: the depth is the number of
 * slots and can never be exceeded. Reads and writes go to a place in a file and to a part of the
 * slot's buffer.
 *
 *     weir__ring_read(ring, 0, fd, 0, size, at)   asks; nothing happens yet
 *     weir__ring_send(ring)                       sends what was asked for, all at once
 *     weir__ring_next(ring, &slot, &result)       sends what was asked for, waits for one answer
 *     weir__ring_drain(ring)                      waits until nothing is in flight
 *
 * Where io_uring is not to be had, because the kernel lacks it, an administrator or a sandbox has
 * switched it off, or the user may not lock as much memory, weir__ring_new() says Unsupported and
 * the caller goes another way.
 *
 * Promises: nothing is in flight after weir__ring_drain() or weir__ring_free(), which wait for it;
 * requests on files end by themselves, so these waits have no deadline. A request that was
 * interrupted is answered with -EINTR and may be made again. With faults, making the ring, each
 * wait and each answer are fault points.
 *
 * Limits: at most WEIR__RING_SLOTS_MAX slots; at most two kernel threads work for one ring.
 *
 * A ring is used by one thread at a time.
 *
 * Ownership: the ring borrows the memory until weir__ring_free(), and a descriptor while a request
 * on it is in flight. Between requests a buffer is the caller's.
 */
#ifndef WEIR_BASE_RING_H
#define WEIR_BASE_RING_H

#include <weir/defs.h>

#define WEIR__RING_SLOTS_MAX 64u

struct weir__ring;

/* Slots of size bytes each, memory having room for all of them; best aligned to a page. Invalid for
 * numbers out of bounds, NoMemory, Unsupported. */
WEIR_MUST_USE int weir__ring_new(struct weir__ring **ret_ring, char *memory, size_t size,
                                 unsigned slots);
/* Drains. Accepts NULL. */
void weir__ring_free(struct weir__ring *ring);

char *weir__ring_buffer(struct weir__ring *ring, unsigned slot);

/* Ask for count bytes at `at` of a file, into or out of the slot's buffer from offset on. The slot
 * must have nothing in flight. */
void weir__ring_read(struct weir__ring *ring, unsigned slot, int fd, size_t offset, size_t count,
                     uint64_t at);
void weir__ring_write(struct weir__ring *ring, unsigned slot, int fd, size_t offset, size_t count,
                      uint64_t at);

/* Sends what was asked for without waiting for an answer; what goes to the disk goes there in one
 * batch. A kernel that does not take all of it is asked again by the next call of any kind. */
void weir__ring_send(struct weir__ring *ring);

/* Waits for the next answer: the slot, and the bytes or the negative errno value. -1 and errno when
 * nothing is in flight (EINVAL) or the kernel did not take the requests: they are still asked for
 * and the caller drains. */
int weir__ring_next(struct weir__ring *ring, unsigned *ret_slot, int *ret_result);

/* Waits for all that is in flight and drops the answers. */
void weir__ring_drain(struct weir__ring *ring);

unsigned weir__ring_in_flight(const struct weir__ring *ring);

#endif
