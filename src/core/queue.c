/* queue.c - the bounded queue: a ring under a lock, and two lines of waiters.
 *
 * State, all of it under the lock: the ring (first, count), the slots kept for reservations, the
 * line of senders (those who want to reserve stand in it too), the line of receivers, closed. What
 * holds whenever the lock is free:
 * - count + reserved <= capacity;
 * - a receiver waits only while count is 0, and not once the queue is closed and nothing is
 *   reserved;
 * - the first sender in line waits only while it cannot be served: no slot is free and, if it
 *   brings an item, no receiver waits; none waits once the queue is closed.
 *
 * Happy path: lock, copy one item, unlock. No wake is sent unless somebody sleeps, because only a
 * waiter that was settled is woken. A ring that publishes in order without a lock is faster on idle
 * cores, but when threads outnumber cores everybody waits for the one that was preempted between
 * taking its place and publishing it; a lock holder here sleeps no more often than that and the
 * others sleep meanwhile.
 *
 * Handing over: an item that is accepted while a receiver waits is copied into that receiver's
 * memory, and the item of a waiting sender is moved in by whoever makes room, under the lock. So
 * nobody can barge in between wake and run, a wake is never for nothing, and a waiter that times
 * out just then finds under the lock that it has been served.
 *
 * Failure modes: a waiter that leaves may have been the one that held up the line, so those behind
 * it are looked at again. Wakes are sent after the lock is released, to addresses that may be gone
 * by then (futex.h); more than fit into one batch of wakes make the lock be released in between,
 * with all of the above holding.
 *
 * Metrics: queue_depth is sent - received, queue_dropped_total is busy.
 */
#include <weir/queue.h>

#include <string.h>

#include "assert.h"
#include "atomic.h"
#include "error.h"
#include "line.h"
#include "lock.h"
#include "memory.h"
#include "mutants.h"
#include "permit.h"

static const struct weir_lock_class queue_class = {"queue", WEIR__RANK_QUEUE};

/* A sender, one who wants to reserve (items is NULL), or a receiver. */
struct waiter {
    struct weir__waiter base; /* first, so that a pointer to it is one to the waiter */
    const unsigned char *items;
    unsigned char *room;
    size_t wanted;
    size_t done;
};

int weir_queue_init(struct weir_queue *queue, const char *name,
                    const struct weir_queue_options *options)
{
    static const struct weir_queue_options nothing;
    options = options ? options : &nothing;
    struct weir_queue fresh = {0};
    int error = weir__name_set(fresh._name, name);
    if (error)
        return error;
    if (options->item_size == 0 || options->item_size > WEIR_QUEUE_ITEM_SIZE_MAX)
        return weir__fail(WEIR_E_INVALID, name,
                          "queue '$n': items of $1 bytes were asked for, they may have 1 to $2; "
                          "queue larger ones by pointer",
                          options->item_size, WEIR_QUEUE_ITEM_SIZE_MAX, 0);
    if (options->capacity == 0 || options->capacity > WEIR_QUEUE_CAPACITY_MAX)
        return weir__fail(WEIR_E_INVALID, name,
                          "queue '$n': a capacity of $1 was asked for, it may be 1 to $2",
                          options->capacity, WEIR_QUEUE_CAPACITY_MAX, 0);
    fresh._ring = weir__alloc((size_t)options->capacity, options->item_size);
    if (!fresh._ring)
        return weir__fail(WEIR_E_NO_MEMORY, name, "queue '$n': no memory for $1 items of $2 bytes",
                          options->capacity, options->item_size, 0);
    weir_lock_init(&fresh._lock, &queue_class);
    fresh._capacity = (uint32_t)options->capacity;
    fresh._item_size = (uint32_t)options->item_size;
    *queue = fresh;
    return 0;
}

void weir_queue_fini(struct weir_queue *queue)
{
    if (!queue || !queue->_ring)
        return;
    weir_lock_acquire(&queue->_lock);
    WEIR__ASSERT(!queue->_senders && !queue->_receivers, "queue", queue->_name,
                 "destroyed while somebody waits");
    WEIR__ASSERT(queue->_reserved == 0, "queue", queue->_name, "destroyed with slots reserved");
    WEIR__ASSERT(queue->_count == 0, "queue", queue->_name, "destroyed with items left in it");
    weir_lock_release(&queue->_lock);
    weir_lock_fini(&queue->_lock);
    weir__free(queue->_ring);
    queue->_ring = NULL;
}

/* ---- the ring, under the lock ---- */

/* Pointers and pairs of words are what is queued most, and known sizes are copied in line. */
static inline void copy_item(void *to, const void *from, size_t size)
{
    if (size == 8)
        memcpy(to, from, 8);
    else if (size == 16)
        memcpy(to, from, 16);
    else
        memcpy(to, from, size);
}

static inline unsigned char *slot_at(const struct weir_queue *queue, uint32_t index)
{
    return queue->_ring + (size_t)index * queue->_item_size;
}

static inline bool has_room(const struct weir_queue *queue)
{
    return queue->_count + queue->_reserved < queue->_capacity;
}

static inline void note_high_water(struct weir_queue *queue)
{
    if (queue->_count + queue->_reserved > queue->_high_water)
        queue->_high_water = queue->_count + queue->_reserved;
}

static inline void ring_push(struct weir_queue *queue, const void *item)
{
    uint32_t index = queue->_first + queue->_count;
    if (index >= queue->_capacity)
        index -= queue->_capacity;
    copy_item(slot_at(queue, index), item, queue->_item_size);
    queue->_count++;
    note_high_water(queue);
}

static inline void ring_pop(struct weir_queue *queue, void *ret_item)
{
    copy_item(ret_item, slot_at(queue, queue->_first), queue->_item_size);
    if (++queue->_first == queue->_capacity)
        queue->_first = 0;
    queue->_count--;
    queue->_received++;
}

/* ---- the lines, under the lock ---- */

static void settle_sender(struct weir_queue *queue, struct waiter *sender, int result,
                          struct weir__wakes *wakes)
{
    queue->_senders_waiting--;
    weir__line_settle(&queue->_senders, &sender->base, result, wakes);
}

static void settle_receiver(struct weir_queue *queue, struct waiter *receiver, int result,
                            struct weir__wakes *wakes)
{
    queue->_receivers_waiting--;
    weir__line_settle(&queue->_receivers, &receiver->base, result, wakes);
}

/* Accepts one item: the first receiver in line has it, or the ring. Adds at most one wake. */
static inline void put(struct weir_queue *queue, const void *item, struct weir__wakes *wakes)
{
    queue->_sent++;
    if (!queue->_receivers) {
        ring_push(queue, item);
        return;
    }
    struct waiter *receiver = (struct waiter *)queue->_receivers;
    copy_item(receiver->room, item, queue->_item_size);
    receiver->done = 1;
    queue->_received++;
    settle_receiver(queue, receiver, 0, wakes);
}

/* Serves the first sender in line by one step, and says whether it could. Adds at most two wakes.
 */
static bool serve_sender(struct weir_queue *queue, struct waiter *sender, struct weir__wakes *wakes)
{
    if (!sender->items) {
        if (!has_room(queue))
            return false;
        queue->_reserved++;
        queue->_reservations++;
        note_high_water(queue);
        settle_sender(queue, sender, 0, wakes);
        return true;
    }
    if (!queue->_receivers && !has_room(queue))
        return false;
    put(queue, sender->items + sender->done * queue->_item_size, wakes);
    if (++sender->done == sender->wanted)
        settle_sender(queue, sender, 0, wakes);
    return true;
}

static inline bool is_exhausted(const struct weir_queue *queue)
{
    return queue->_is_closed && queue->_count == 0 && queue->_reserved == 0;
}

/* Serves both lines as far as possible. True when it stopped only because too many wakes are
 * pending: send them and call again. */
static bool serve(struct weir_queue *queue, struct weir__wakes *wakes)
{
    for (;;) {
        if (wakes->count > WEIR__WAKES_MAX - 2)
            return true;
        struct waiter *sender = (struct waiter *)queue->_senders;
        if (sender && queue->_is_closed)
            settle_sender(queue, sender, -WEIR_E_CLOSED, wakes);
        else if (!sender || !serve_sender(queue, sender, wakes))
            break;
    }
    while (queue->_receivers && is_exhausted(queue)) {
        if (weir__wakes_is_full(wakes))
            return true;
        settle_receiver(queue, (struct waiter *)queue->_receivers, -WEIR_E_CLOSED, wakes);
    }
    return false;
}

/* Serves until both lines stand, keeping the lock at the end; the last wakes are still to be sent.
 */
static void serve_all(struct weir_queue *queue, struct weir__wakes *wakes)
{
    while (serve(queue, wakes)) {
        weir_lock_release(&queue->_lock);
        weir__wakes_send(wakes);
        weir_lock_acquire(&queue->_lock);
    }
}

static inline void release_and_wake(struct weir_queue *queue, struct weir__wakes *wakes)
{
    weir_lock_release(&queue->_lock);
    if (wakes->count > 0)
        weir__wakes_send(wakes);
}

static void line_leave(struct weir_queue *queue, struct waiter *waiter)
{
    if (waiter->room) {
        queue->_receivers_waiting--;
        weir__line_remove(&queue->_receivers, &waiter->base);
    } else {
        queue->_senders_waiting--;
        weir__line_remove(&queue->_senders, &waiter->base);
    }
}

/* Joins its line and is served as far as possible. With the lock held on entry and released on
 * return. True: it is in line and has to wait. False: it is not in line; what it got is in it. */
static bool join(struct weir_queue *queue, struct waiter *waiter, bool may_wait,
                 struct weir__wakes *wakes)
{
    waiter->base.is_awake = true;
    waiter->base.result = -WEIR_E_BUSY;
    if (waiter->room) {
        queue->_receivers_waiting++;
        weir__line_append(&queue->_receivers, &waiter->base);
    } else {
        queue->_senders_waiting++;
        weir__line_append(&queue->_senders, &waiter->base);
    }
    serve_all(queue, wakes);
    bool must_wait = waiter->base.is_in_line && may_wait;
    if (must_wait) {
        waiter->base.is_awake = false;
        queue->_waited++;
    } else if (waiter->base.is_in_line) {
        line_leave(queue, waiter);
        serve_all(queue, wakes);
    }
    release_and_wake(queue, wakes);
    return must_wait;
}

/* Parks until settled, or leaves the line. What was granted meanwhile wins over the end. */
static int wait_in_line(struct weir_queue *queue, struct waiter *waiter,
                        const struct weir_deadline *deadline)
{
    int error = weir__park_wait(&waiter->base.place, deadline);
    if (!error)
        return waiter->base.result;
    struct weir__wakes wakes;
    wakes.count = 0;
    weir_lock_acquire(&queue->_lock);
    if (waiter->base.is_in_line) {
        line_leave(queue, waiter);
        if (error == -WEIR_E_TIMEOUT)
            queue->_timed_out++;
        else if (error == -WEIR_E_CANCELED)
            queue->_canceled++;
        if (!WEIR__MUTANT(QUEUE_LEAVER_SERVES_NOBODY))
            serve_all(queue, &wakes);
    } else if (!WEIR__MUTANT(QUEUE_ITEM_LOST_ON_TIMEOUT)) {
        error = waiter->base.result;
    }
    release_and_wake(queue, &wakes);
    return error;
}

/* ---- refusing ---- */

static int refuse_closed(struct weir_queue *queue)
{
    weir__count(&queue->_refused_closed, 1);
    return weir__fail(WEIR_E_CLOSED, queue->_name, "queue '$n': closed to new items", 0, 0, 0);
}

static int refuse_busy(struct weir_queue *queue, uint64_t used, uint64_t waiting)
{
    weir__count(&queue->_busy, 1);
    return weir__fail(WEIR_E_BUSY, queue->_name,
                      "queue '$n': $1 of $2 slots in use, $3 senders waiting; try again later",
                      used, queue->_capacity, waiting);
}

static int refuse_endless(const struct weir_queue *queue)
{
    return weir__fail(WEIR_E_INVALID, queue->_name,
                      "queue '$n': would have to wait for ever; give a deadline or a cancel token",
                      0, 0, 0);
}

static int refuse_send(struct weir_queue *queue, int error)
{
    switch (-error) {
    case WEIR_E_CLOSED:
        return refuse_closed(queue);
    case WEIR_E_TIMEOUT:
        return weir__fail(WEIR_E_TIMEOUT, queue->_name,
                          "queue '$n': no slot of $1 became free before the deadline",
                          queue->_capacity, 0, 0);
    case WEIR_E_CANCELED:
        return weir__fail(WEIR_E_CANCELED, queue->_name,
                          "queue '$n': canceled while waiting for a slot of $1", queue->_capacity,
                          0, 0);
    case WEIR_E_INVALID:
        return refuse_endless(queue);
    default:
        return error; /* explained where it was found */
    }
}

static int refuse_recv(const struct weir_queue *queue, int error)
{
    switch (-error) {
    case WEIR_E_CLOSED:
        return weir__fail(WEIR_E_CLOSED, queue->_name, "queue '$n': closed, and nothing is left", 0,
                          0, 0);
    case WEIR_E_TIMEOUT:
        return weir__fail(WEIR_E_TIMEOUT, queue->_name,
                          "queue '$n': nothing came before the deadline", 0, 0, 0);
    case WEIR_E_CANCELED:
        return weir__fail(WEIR_E_CANCELED, queue->_name,
                          "queue '$n': canceled while waiting for an item", 0, 0, 0);
    case WEIR_E_BUSY:
        return weir__fail(WEIR_E_NOT_FOUND, queue->_name, "queue '$n': empty just now", 0, 0, 0);
    case WEIR_E_INVALID:
        return refuse_endless(queue);
    default:
        return error;
    }
}

static int refuse_count(const struct weir_queue *queue)
{
    return weir__fail(WEIR_E_INVALID, queue->_name,
                      "queue '$n': a batch of 0 items was asked for, at least 1 is needed", 0, 0,
                      0);
}

/* ---- sending ---- */

static inline bool can_send_now(const struct weir_queue *queue)
{
    bool is_first = !queue->_senders || WEIR__MUTANT(QUEUE_BARGING);
    return !queue->_is_closed && is_first && (queue->_receivers || has_room(queue));
}

int weir_queue_try_send(struct weir_queue *queue, const void *item)
{
    struct weir__wakes wakes;
    wakes.count = 0;
    weir_lock_acquire(&queue->_lock);
    if (__builtin_expect(can_send_now(queue), 1)) {
        put(queue, item, &wakes);
        release_and_wake(queue, &wakes);
        return 0;
    }
    bool is_closed = queue->_is_closed;
    uint64_t used = queue->_count + queue->_reserved, waiting = queue->_senders_waiting;
    weir_lock_release(&queue->_lock);
    return is_closed ? refuse_closed(queue) : refuse_busy(queue, used, waiting);
}

/* The lock is held on entry. Sends what the waiter brings, or reserves for it. */
static int send_waiter(struct weir_queue *queue, struct waiter *waiter, bool may_wait,
                       const struct weir_deadline *deadline)
{
    struct weir__wakes wakes;
    wakes.count = 0;
    uint64_t used = queue->_count + queue->_reserved, waiting = queue->_senders_waiting;
    int error;
    if (join(queue, waiter, may_wait, &wakes))
        error = wait_in_line(queue, waiter, deadline);
    else
        error = waiter->base.result;
    if (!error || waiter->done > 0)
        return 0; /* a part of a batch is a success: the caller sees how much */
    return error == -WEIR_E_BUSY ? refuse_busy(queue, used, waiting) : refuse_send(queue, error);
}

int weir_queue_send(struct weir_queue *queue, const void *item,
                    const struct weir_deadline *deadline)
{
    weir_lock_acquire(&queue->_lock);
    if (__builtin_expect(can_send_now(queue), 1)) {
        struct weir__wakes wakes;
        wakes.count = 0;
        put(queue, item, &wakes);
        release_and_wake(queue, &wakes);
        return 0;
    }
    struct waiter waiter = {.items = item, .wanted = 1};
    return send_waiter(queue, &waiter, true, deadline);
}

static int send_batch(struct weir_queue *queue, const void *items, size_t count, size_t *ret_sent,
                      bool may_wait, const struct weir_deadline *deadline)
{
    if (count == 0)
        return refuse_count(queue);
    struct waiter waiter = {.items = items,
                            .wanted = count < WEIR_QUEUE_BATCH_MAX ? count : WEIR_QUEUE_BATCH_MAX};
    weir_lock_acquire(&queue->_lock);
    int error = send_waiter(queue, &waiter, may_wait, deadline);
    if (!error)
        *ret_sent = waiter.done;
    return error;
}

int weir_queue_try_send_many(struct weir_queue *queue, const void *items, size_t count,
                             size_t *ret_sent)
{
    return send_batch(queue, items, count, ret_sent, false, NULL);
}

int weir_queue_send_many(struct weir_queue *queue, const void *items, size_t count,
                         size_t *ret_sent, const struct weir_deadline *deadline)
{
    return send_batch(queue, items, count, ret_sent, true, deadline);
}

/* ---- reserving ---- */

static int reserve(struct weir_queue *queue, struct weir_queue_slot *ret_slot, bool may_wait,
                   const struct weir_deadline *deadline)
{
    struct waiter waiter = {.wanted = 1};
    weir_lock_acquire(&queue->_lock);
    int error = send_waiter(queue, &waiter, may_wait, deadline);
    if (!error) {
        ret_slot->_queue = queue;
        ret_slot->_tag = weir__tag_take(queue);
    }
    return error;
}

int weir_queue_try_reserve(struct weir_queue *queue, struct weir_queue_slot *ret_slot)
{
    return reserve(queue, ret_slot, false, NULL);
}

int weir_queue_reserve(struct weir_queue *queue, struct weir_queue_slot *ret_slot,
                       const struct weir_deadline *deadline)
{
    return reserve(queue, ret_slot, true, deadline);
}

/* Takes the reservation back from the slot, with the lock held on return. */
static struct weir_queue *take_slot(struct weir_queue_slot *slot)
{
    struct weir_queue *queue = slot->_queue;
    WEIR__ASSERT(queue, "queue", "", "committed to a slot that is not held");
    weir__tag_return(slot->_tag, queue, "queue", queue->_name);
    slot->_queue = NULL;
    weir_lock_acquire(&queue->_lock);
    WEIR__ASSERT(queue->_reserved > 0, "queue", queue->_name,
                 "more slots committed or abandoned than were reserved");
    queue->_reserved--;
    return queue;
}

void weir_queue_commit(struct weir_queue_slot *slot, const void *item)
{
    struct weir__wakes wakes;
    wakes.count = 0;
    struct weir_queue *queue = take_slot(slot);
    queue->_committed++;
    put(queue, item, &wakes);
    /* Handed over to a receiver, the item has left its slot free, or was the last one to come. */
    serve_all(queue, &wakes);
    release_and_wake(queue, &wakes);
}

void weir_queue_abandon(struct weir_queue_slot *slot)
{
    if (!slot->_queue)
        return;
    struct weir__wakes wakes;
    wakes.count = 0;
    struct weir_queue *queue = take_slot(slot);
    queue->_abandoned++;
    if (!WEIR__MUTANT(QUEUE_ABANDON_SERVES_NOBODY))
        serve_all(queue, &wakes);
    release_and_wake(queue, &wakes);
}

/* ---- receiving ---- */

/* The one way out: takes what is there, or joins the line of receivers. */
static int receive(struct weir_queue *queue, struct waiter *waiter, bool may_wait,
                   const struct weir_deadline *deadline)
{
    struct weir__wakes wakes;
    wakes.count = 0;
    weir_lock_acquire(&queue->_lock);
    if (__builtin_expect(queue->_count > 0, 1)) {
        while (queue->_count > 0 && waiter->done < waiter->wanted)
            ring_pop(queue, waiter->room + waiter->done++ * queue->_item_size);
        if (queue->_senders)
            serve_all(queue, &wakes);
        release_and_wake(queue, &wakes);
        return 0;
    }
    int error;
    if (join(queue, waiter, may_wait, &wakes))
        error = wait_in_line(queue, waiter, deadline);
    else
        error = waiter->base.result;
    return error ? refuse_recv(queue, error) : 0;
}

int weir_queue_try_recv(struct weir_queue *queue, void *ret_item)
{
    struct waiter waiter = {.room = ret_item, .wanted = 1};
    return receive(queue, &waiter, false, NULL);
}

int weir_queue_recv(struct weir_queue *queue, void *ret_item, const struct weir_deadline *deadline)
{
    struct waiter waiter = {.room = ret_item, .wanted = 1};
    return receive(queue, &waiter, true, deadline);
}

static int receive_batch(struct weir_queue *queue, void *ret_items, size_t count,
                         size_t *ret_received, bool may_wait, const struct weir_deadline *deadline)
{
    if (count == 0)
        return refuse_count(queue);
    struct waiter waiter = {.room = ret_items,
                            .wanted = count < WEIR_QUEUE_BATCH_MAX ? count : WEIR_QUEUE_BATCH_MAX};
    int error = receive(queue, &waiter, may_wait, deadline);
    if (!error)
        *ret_received = waiter.done;
    return error;
}

int weir_queue_try_recv_many(struct weir_queue *queue, void *ret_items, size_t count,
                             size_t *ret_received)
{
    return receive_batch(queue, ret_items, count, ret_received, false, NULL);
}

int weir_queue_recv_many(struct weir_queue *queue, void *ret_items, size_t count,
                         size_t *ret_received, const struct weir_deadline *deadline)
{
    return receive_batch(queue, ret_items, count, ret_received, true, deadline);
}

/* ---- closing and looking ---- */

void weir_queue_close(struct weir_queue *queue)
{
    struct weir__wakes wakes;
    wakes.count = 0;
    weir_lock_acquire(&queue->_lock);
    queue->_is_closed = true;
    if (!WEIR__MUTANT(QUEUE_CLOSE_WAKES_NOBODY))
        serve_all(queue, &wakes);
    release_and_wake(queue, &wakes);
}

bool weir_queue_is_closed(struct weir_queue *queue)
{
    weir_lock_acquire(&queue->_lock);
    bool is_closed = queue->_is_closed;
    weir_lock_release(&queue->_lock);
    return is_closed;
}

uint64_t weir_queue_drain(struct weir_queue *queue, void (*fn)(void *arg, void *item), void *arg)
{
    _Alignas(max_align_t) unsigned char item[WEIR_QUEUE_ITEM_SIZE_MAX];
    uint64_t count = 0;
    weir_queue_close(queue);
    for (;;) {
        weir_lock_acquire(&queue->_lock);
        bool has_item = queue->_count > 0;
        if (has_item)
            ring_pop(queue, item);
        weir_lock_release(&queue->_lock);
        if (!has_item)
            return count;
        count++;
        if (fn)
            fn(arg, item);
    }
}

void weir_queue_read(struct weir_queue *queue, struct weir_queue_stats *ret_stats)
{
    weir_lock_acquire(&queue->_lock);
    *ret_stats = (struct weir_queue_stats){
        .capacity = queue->_capacity,
        .depth = queue->_count,
        .reserved = queue->_reserved,
        .high_water = queue->_high_water,
        .senders_waiting = queue->_senders_waiting,
        .receivers_waiting = queue->_receivers_waiting,
        .sent = queue->_sent,
        .received = queue->_received,
        .busy = weir__load64_relaxed(&queue->_busy),
        .reservations = queue->_reservations,
        .committed = queue->_committed,
        .abandoned = queue->_abandoned,
        .waited = queue->_waited,
        .timed_out = queue->_timed_out,
        .canceled = queue->_canceled,
        .refused_closed = weir__load64_relaxed(&queue->_refused_closed),
        .is_closed = queue->_is_closed,
    };
    weir_lock_release(&queue->_lock);
}

const char *weir_queue_name(const struct weir_queue *queue)
{
    return queue->_name;
}

uint64_t weir_queue_capacity(const struct weir_queue *queue)
{
    return queue->_capacity;
}

uint64_t weir_queue_depth(struct weir_queue *queue)
{
    weir_lock_acquire(&queue->_lock);
    uint64_t depth = queue->_count;
    weir_lock_release(&queue->_lock);
    return depth;
}
