/* bus.c - the bounded broadcast: one ring, and a cursor for each subscriber.
 *
 * State, all of it under the lock: `published` counts messages and so numbers them; message s lies
 * in slot s mod capacity, and those from `oldest` on, at most capacity of them, are still there. A
 * subscriber is the number of the message that it reads next. Nothing is kept for each pair of
 * message and subscriber, so publishing costs the same whatever the subscribers do.
 *
 * Happy path: publish copies into the slot and counts; a subscriber copies out and counts.
 *
 * Losing: a subscriber whose next number is below `oldest` has lost the difference. It is told when
 * it asks next, and its cursor is set to the oldest message. What it has not been told yet is part
 * of the sums that are shown, and is added to them for good when it leaves.
 *
 * Waiting: subscribers that found nothing stand in one line; each publication settles the whole
 * line, since it is for all of them, and they read for themselves. Between wake and read they may
 * fall behind as at any other time.
 *
 * Failure modes: when more sleep than fit into one batch of wakes, the lock is released in between.
 * Who joins the line then has found nothing new and is not woken by this publication.
 *
 * Metrics: bus_lagged_total is lagged_total.
 */
#include <weir/bus.h>

#include <string.h>

#include "assert.h"
#include "error.h"
#include "line.h"
#include "lock.h"
#include "memory.h"
#include "mutants.h"

static const struct weir_lock_class bus_class = {"bus", WEIR__RANK_BUS};

struct waiter {
    struct weir__waiter base; /* first, so that a pointer to it is one to the waiter */
    uint64_t at;              /* the message that it waits for */
};

int weir_bus_init(struct weir_bus *bus, const char *name, const struct weir_bus_options *options)
{
    static const struct weir_bus_options nothing;
    options = options ? options : &nothing;
    struct weir_bus fresh = {0};
    int error = weir__name_set(fresh._name, name);
    if (error)
        return error;
    uint64_t capacity = options->capacity ? options->capacity : WEIR_BUS_CAPACITY_DEFAULT;
    if (options->message_size == 0 || options->message_size > WEIR_BUS_MESSAGE_SIZE_MAX)
        return weir__fail(WEIR_E_INVALID, name,
                          "bus '$n': messages of $1 bytes were asked for, they may have 1 to $2",
                          options->message_size, WEIR_BUS_MESSAGE_SIZE_MAX, 0);
    if (capacity > WEIR_BUS_CAPACITY_MAX)
        return weir__fail(WEIR_E_INVALID, name,
                          "bus '$n': a capacity of $1 was asked for, it may be 1 to $2", capacity,
                          WEIR_BUS_CAPACITY_MAX, 0);
    fresh._ring = weir__alloc((size_t)capacity, options->message_size);
    if (!fresh._ring)
        return weir__fail(WEIR_E_NO_MEMORY, name, "bus '$n': no memory for $1 messages of $2 bytes",
                          capacity, options->message_size, 0);
    weir_lock_init(&fresh._lock, &bus_class);
    fresh._capacity = (uint32_t)capacity;
    fresh._message_size = (uint32_t)options->message_size;
    fresh._subscribers_max =
        options->subscribers_max ? options->subscribers_max : WEIR_BUS_SUBSCRIBERS_DEFAULT;
    *bus = fresh;
    return 0;
}

void weir_bus_fini(struct weir_bus *bus)
{
    if (!bus || !bus->_ring)
        return;
    weir_lock_acquire(&bus->_lock);
    WEIR__ASSERT(!bus->_subscribers, "bus", bus->_name, "destroyed with subscribers left");
    weir_lock_release(&bus->_lock);
    weir_lock_fini(&bus->_lock);
    weir__free(bus->_ring);
    bus->_ring = NULL;
}

/* ---- under the lock ---- */

static unsigned char *slot_of(const struct weir_bus *bus, uint64_t number)
{
    return bus->_ring + (size_t)(number % bus->_capacity) * bus->_message_size;
}

static uint64_t oldest(const struct weir_bus *bus)
{
    return bus->_published > bus->_capacity ? bus->_published - bus->_capacity : 0;
}

/* What it has lost and was not told of yet. */
static uint64_t untold(const struct weir_bus_subscriber *subscriber)
{
    uint64_t first = oldest(subscriber->_bus);
    return first > subscriber->_at ? first - subscriber->_at : 0;
}

/* Settles those who wait for a message that is there by now, or all of them once the bus is closed.
 * They joined in the order of those numbers. True when wakes must be sent first. */
static bool settle_waiters(struct weir_bus *bus, struct weir__wakes *wakes)
{
    while (bus->_waiters) {
        struct waiter *first = (struct waiter *)bus->_waiters;
        if (first->at >= bus->_published && !bus->_is_closed)
            return false;
        if (weir__wakes_is_full(wakes))
            return true;
        weir__line_settle(&bus->_waiters, &first->base, 0, wakes);
        if (WEIR__MUTANT(BUS_WAKES_ONE))
            return false;
    }
    return false;
}

/* The lock is held on entry and released on return. */
static void settle_and_release(struct weir_bus *bus)
{
    struct weir__wakes wakes;
    wakes.count = 0;
    while (settle_waiters(bus, &wakes)) {
        weir_lock_release(&bus->_lock);
        weir__wakes_send(&wakes);
        weir_lock_acquire(&bus->_lock);
    }
    weir_lock_release(&bus->_lock);
    weir__wakes_send(&wakes);
}

/* ---- publishing ---- */

int weir_bus_publish(struct weir_bus *bus, const void *message)
{
    weir_lock_acquire(&bus->_lock);
    if (bus->_is_closed) {
        bus->_refused++;
        weir_lock_release(&bus->_lock);
        return weir__fail(WEIR_E_CLOSED, bus->_name, "bus '$n': closed to new messages", 0, 0, 0);
    }
    memcpy(slot_of(bus, bus->_published), message, bus->_message_size);
    bus->_published++;
    settle_and_release(bus);
    return 0;
}

void weir_bus_close(struct weir_bus *bus)
{
    weir_lock_acquire(&bus->_lock);
    bus->_is_closed = true;
    settle_and_release(bus);
}

/* ---- subscribing ---- */

static void list_add(struct weir_bus *bus, struct weir_bus_subscriber *subscriber)
{
    subscriber->_next = bus->_subscribers;
    if (bus->_subscribers)
        bus->_subscribers->_prev = subscriber;
    bus->_subscribers = subscriber;
    bus->_subscriber_count++;
}

static void list_remove(struct weir_bus *bus, struct weir_bus_subscriber *subscriber)
{
    if (subscriber->_prev)
        subscriber->_prev->_next = subscriber->_next;
    else
        bus->_subscribers = subscriber->_next;
    if (subscriber->_next)
        subscriber->_next->_prev = subscriber->_prev;
    bus->_subscriber_count--;
}

int weir_bus_subscribe(struct weir_bus *bus, struct weir_bus_subscriber *subscriber,
                       const char *name)
{
    struct weir_bus_subscriber fresh = {._bus = bus};
    int error = weir__name_set(fresh._name, name);
    if (error)
        return error;
    weir_lock_acquire(&bus->_lock);
    uint64_t count = bus->_subscriber_count;
    bool is_closed = bus->_is_closed, is_full = count >= bus->_subscribers_max;
    if (!is_closed && !is_full) {
        fresh._at = bus->_published;
        *subscriber = fresh;
        list_add(bus, subscriber);
    }
    weir_lock_release(&bus->_lock);
    if (is_closed)
        return weir__fail(WEIR_E_CLOSED, bus->_name, "bus '$n': closed to new subscribers", 0, 0,
                          0);
    if (is_full)
        return weir__fail(WEIR_E_BUSY, bus->_name,
                          "bus '$n': $1 subscribers of at most $2 are there; try again later",
                          count, bus->_subscribers_max, 0);
    return 0;
}

void weir_bus_unsubscribe(struct weir_bus_subscriber *subscriber)
{
    struct weir_bus *bus = subscriber ? subscriber->_bus : NULL;
    if (!bus)
        return;
    weir_lock_acquire(&bus->_lock);
    WEIR__ASSERT(!subscriber->_is_waiting, "bus subscriber", subscriber->_name,
                 "left while a thread waits with it");
    bus->_lagged += untold(subscriber);
    list_remove(bus, subscriber);
    weir_lock_release(&bus->_lock);
    subscriber->_bus = NULL;
}

/* ---- receiving ---- */

/* Under the lock: the next message, or what stands in its way; NotFound when there is none. */
static int take(struct weir_bus_subscriber *subscriber, void *ret_message)
{
    struct weir_bus *bus = subscriber->_bus;
    uint64_t lost = untold(subscriber);
    if (lost > 0 && !WEIR__MUTANT(BUS_READS_OVERWRITTEN)) {
        subscriber->_at += lost;
        if (WEIR__MUTANT(BUS_LAG_NOT_COUNTED))
            lost = 1;
        subscriber->_lost += lost;
        subscriber->_lost_last = lost;
        subscriber->_lost_muted += lost;
        bus->_lagged += lost;
        return -WEIR_E_LAGGING;
    }
    if (subscriber->_at == bus->_published)
        return bus->_is_closed ? -WEIR_E_CLOSED : -WEIR_E_NOT_FOUND;
    memcpy(ret_message, slot_of(bus, subscriber->_at), bus->_message_size);
    subscriber->_at++;
    subscriber->_received++;
    bus->_received++;
    return 0;
}

static int explain(const struct weir_bus_subscriber *subscriber, int error)
{
    switch (-error) {
    case WEIR_E_LAGGING:
        return weir__fail(WEIR_E_LAGGING, subscriber->_name,
                          "bus subscriber '$n': fell behind and lost $1 messages",
                          subscriber->_lost_last, 0, 0);
    case WEIR_E_CLOSED:
        return weir__fail(WEIR_E_CLOSED, subscriber->_name,
                          "bus subscriber '$n': the bus is closed, and nothing is left", 0, 0, 0);
    case WEIR_E_NOT_FOUND:
        return weir__fail(WEIR_E_NOT_FOUND, subscriber->_name,
                          "bus subscriber '$n': nothing new just now", 0, 0, 0);
    case WEIR_E_TIMEOUT:
        return weir__fail(WEIR_E_TIMEOUT, subscriber->_name,
                          "bus subscriber '$n': nothing came before the deadline", 0, 0, 0);
    case WEIR_E_CANCELED:
        return weir__fail(WEIR_E_CANCELED, subscriber->_name,
                          "bus subscriber '$n': canceled while waiting for a message", 0, 0, 0);
    default:
        return error; /* 0, or explained where it was found */
    }
}

int weir_bus_try_recv(struct weir_bus_subscriber *subscriber, void *ret_message)
{
    struct weir_bus *bus = subscriber->_bus;
    weir_lock_acquire(&bus->_lock);
    int error = take(subscriber, ret_message);
    weir_lock_release(&bus->_lock);
    return explain(subscriber, error);
}

int weir_bus_recv(struct weir_bus_subscriber *subscriber, void *ret_message,
                  const struct weir_deadline *deadline)
{
    struct weir_bus *bus = subscriber->_bus;
    weir_lock_acquire(&bus->_lock);
    int error = take(subscriber, ret_message);
    if (error != -WEIR_E_NOT_FOUND) {
        weir_lock_release(&bus->_lock);
        return explain(subscriber, error);
    }
    WEIR__ASSERT(!subscriber->_is_waiting, "bus subscriber", subscriber->_name,
                 "used by two threads at once");
    struct waiter waiter = {.at = subscriber->_at};
    weir__line_append(&bus->_waiters, &waiter.base);
    subscriber->_is_waiting = true;
    weir_lock_release(&bus->_lock);

    int ended = weir__park_wait(&waiter.base.place, deadline);

    weir_lock_acquire(&bus->_lock);
    if (waiter.base.is_in_line)
        weir__line_remove(&bus->_waiters, &waiter.base);
    subscriber->_is_waiting = false;
    /* What came together with the end of the wait is delivered. */
    error = take(subscriber, ret_message);
    weir_lock_release(&bus->_lock);
    return explain(subscriber, error == -WEIR_E_NOT_FOUND ? ended : error);
}

uint64_t weir_bus_lost(struct weir_bus_subscriber *subscriber)
{
    weir_lock_acquire(&subscriber->_bus->_lock);
    uint64_t lost = subscriber->_lost_last;
    weir_lock_release(&subscriber->_bus->_lock);
    return lost;
}

bool weir_bus_lag_warning(struct weir_bus_subscriber *subscriber, uint64_t interval_ns,
                          uint64_t *ret_lost)
{
    uint64_t now_ns = weir_now_ns();
    weir_lock_acquire(&subscriber->_bus->_lock);
    uint64_t lost = subscriber->_lost_muted;
    bool is_due = lost > 0 && (!subscriber->_has_warned ||
                               now_ns >= weir_time_add(subscriber->_warned_at_ns, interval_ns));
    if (is_due) {
        subscriber->_has_warned = true;
        subscriber->_warned_at_ns = now_ns;
        subscriber->_lost_muted = 0;
    }
    weir_lock_release(&subscriber->_bus->_lock);
    if (is_due)
        *ret_lost = lost;
    return is_due;
}

/* ---- looking ---- */

void weir_bus_read(struct weir_bus *bus, struct weir_bus_stats *ret_stats)
{
    weir_lock_acquire(&bus->_lock);
    *ret_stats = (struct weir_bus_stats){
        .capacity = bus->_capacity,
        .subscribers = bus->_subscriber_count,
        .subscribers_max = bus->_subscribers_max,
        .published = bus->_published,
        .received = bus->_received,
        .lagged_total = bus->_lagged,
        .refused = bus->_refused,
        .is_closed = bus->_is_closed,
    };
    for (struct weir_bus_subscriber *s = bus->_subscribers; s; s = s->_next) {
        ret_stats->lagged_total += untold(s);
        ret_stats->waiting += s->_is_waiting;
    }
    weir_lock_release(&bus->_lock);
}

void weir_bus_subscriber_read(struct weir_bus_subscriber *subscriber,
                              struct weir_bus_subscriber_stats *ret_stats)
{
    struct weir_bus *bus = subscriber->_bus;
    weir_lock_acquire(&bus->_lock);
    uint64_t missing = untold(subscriber);
    *ret_stats = (struct weir_bus_subscriber_stats){
        .received = subscriber->_received,
        .lost = subscriber->_lost + missing,
        .lag = bus->_published - subscriber->_at - missing,
    };
    weir_lock_release(&bus->_lock);
}

const char *weir_bus_name(const struct weir_bus *bus)
{
    return bus->_name;
}

const char *weir_bus_subscriber_name(const struct weir_bus_subscriber *subscriber)
{
    return subscriber->_name;
}

uint64_t weir_bus_capacity(const struct weir_bus *bus)
{
    return bus->_capacity;
}
