/* ring.c - liburing behind a handful of calls that cannot leave a request behind.
 *
 * A request that outlives its caller writes into memory or a file that is no longer meant, so the
 * one thing that this file must get right is the count of what is in flight: a request counts from
 * the moment that it is asked for, and until its answer has been taken.
 *
 * No flags are set at the start: those for single issuers and deferred work were measured with four
 * buffers of 256 KiB and made no difference, and they would tie the ring to a thread and a kernel.
 */
#include "ring.h"

#include <liburing.h>

#include <weir/error.h>

#include "alloc.h"
#include "require.h"
#include "sys.h"

#include "banned.h"

/* A buffered write that cannot be done at once is handed to a kernel thread; writes to one file go
 * one after the other there, so that more threads would only wait for each other. */
#define KERNEL_THREADS 2u
/* A wait that fails as often as this in a row will not succeed any more. */
#define DRAIN_TRIES 1000u

struct weir__ring {
    struct io_uring uring;
    char *memory;
    size_t size;
    unsigned slots;
    unsigned in_flight;
    bool is_busy[WEIR__RING_SLOTS_MAX];
};

/* 0 or a negative errno value. */
static int set_up(struct weir__ring *ring)
{
    struct iovec parts[WEIR__RING_SLOTS_MAX];
    for (unsigned i = 0; i < ring->slots; i++)
        parts[i] = (struct iovec){ring->memory + i * ring->size, ring->size};
    int error = weir__sys_fault() ? -errno : io_uring_queue_init(ring->slots, &ring->uring, 0);
    if (error)
        return error;
    error =
        weir__sys_fault() ? -errno : io_uring_register_buffers(&ring->uring, parts, ring->slots);
    if (error) {
        io_uring_queue_exit(&ring->uring);
        return error;
    }
    /* Kernels before 5.15 do not know this, and then use more threads than are useful. */
    unsigned threads[2] = {KERNEL_THREADS, KERNEL_THREADS};
    io_uring_register_iowq_max_workers(&ring->uring, threads);
    return 0;
}

int weir__ring_new(struct weir__ring **ret_ring, char *memory, size_t size, unsigned slots)
{
    if (slots == 0 || slots > WEIR__RING_SLOTS_MAX || size == 0 || size > INT32_MAX)
        return -WEIR_E_INVALID;
    struct weir__ring *ring = weir__base_alloc(1, sizeof(*ring));
    if (!ring)
        return -WEIR_E_NO_MEMORY;
    ring->memory = memory;
    ring->size = size;
    ring->slots = slots;
    if (set_up(ring)) {
        weir__base_free(ring);
        return -WEIR_E_UNSUPPORTED;
    }
    *ret_ring = ring;
    return 0;
}

void weir__ring_free(struct weir__ring *ring)
{
    if (!ring)
        return;
    weir__ring_drain(ring);
    io_uring_queue_exit(&ring->uring);
    weir__base_free(ring);
}

char *weir__ring_buffer(struct weir__ring *ring, unsigned slot)
{
    return ring->memory + slot * ring->size;
}

/* The place for the next request. There is one: as many places as slots, one request each. */
static struct io_uring_sqe *take_place(struct weir__ring *ring, unsigned slot, size_t offset,
                                       size_t count)
{
    WEIR__REQUIRE(slot < ring->slots && offset <= ring->size && count <= ring->size - offset,
                  "ring", "", "a request outside of the buffer");
    WEIR__REQUIRE(!ring->is_busy[slot], "ring", "", "two requests for one slot");
    struct io_uring_sqe *place = io_uring_get_sqe(&ring->uring);
    WEIR__REQUIRE(place, "ring", "", "more requests than slots");
    ring->is_busy[slot] = true;
    ring->in_flight++;
    return place;
}

void weir__ring_read(struct weir__ring *ring, unsigned slot, int fd, size_t offset, size_t count,
                     uint64_t at)
{
    struct io_uring_sqe *place = take_place(ring, slot, offset, count);
    io_uring_prep_read_fixed(place, fd, weir__ring_buffer(ring, slot) + offset, (unsigned)count, at,
                             (int)slot);
    io_uring_sqe_set_data64(place, slot);
}

void weir__ring_write(struct weir__ring *ring, unsigned slot, int fd, size_t offset, size_t count,
                      uint64_t at)
{
    struct io_uring_sqe *place = take_place(ring, slot, offset, count);
    io_uring_prep_write_fixed(place, fd, weir__ring_buffer(ring, slot) + offset, (unsigned)count,
                              at, (int)slot);
    io_uring_sqe_set_data64(place, slot);
}

void weir__ring_send(struct weir__ring *ring)
{
    if (!weir__sys_fault())
        io_uring_submit(&ring->uring);
}

/* Sends what was asked for and waits until there is an answer. 0 or a negative errno value. */
static int send_and_wait(struct weir__ring *ring)
{
    weir_lock_assert_none("io_uring_enter");
    int sent;
    do
        sent = weir__sys_fault() ? -errno : io_uring_submit_and_wait(&ring->uring, 1);
    while (sent == -EINTR);
    return sent < 0 ? sent : 0;
}

/* 0 with an answer, or a negative errno value. */
static int take_answer(struct weir__ring *ring, unsigned *ret_slot, int *ret_result)
{
    struct io_uring_cqe *answer;
    while (io_uring_peek_cqe(&ring->uring, &answer) != 0) {
        int error = send_and_wait(ring);
        if (error)
            return error;
    }
    *ret_slot = (unsigned)io_uring_cqe_get_data64(answer);
    *ret_result = weir__sys_fault() ? -errno : answer->res;
    io_uring_cqe_seen(&ring->uring, answer);
    ring->is_busy[*ret_slot] = false;
    ring->in_flight--;
    return 0;
}

int weir__ring_next(struct weir__ring *ring, unsigned *ret_slot, int *ret_result)
{
    int error = ring->in_flight ? take_answer(ring, ret_slot, ret_result) : -EINVAL;
    if (error) {
        errno = -error;
        return -1;
    }
    return 0;
}

void weir__ring_drain(struct weir__ring *ring)
{
    unsigned tries = 0;
    while (ring->in_flight) {
        unsigned slot;
        int result;
        if (take_answer(ring, &slot, &result) == 0)
            tries = 0;
        else
            tries++;
        /* To go on would let the kernel write into a file that the caller believes is finished. */
        WEIR__REQUIRE(tries < DRAIN_TRIES, "ring", "", "its requests cannot be waited for");
    }
}

unsigned weir__ring_in_flight(const struct weir__ring *ring)
{
    return ring->in_flight;
}
