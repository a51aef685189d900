/* bus.h - a bounded broadcast: every subscriber sees every message, or learns how many it missed.
 *
 * The bus keeps the last `capacity` messages. Publishing never waits for a subscriber: the oldest
 * message gives way, and a subscriber that had not read it yet is told so. For telemetry and
 * events; for work that must not be lost use a queue.
 *
 * Promises
 * - Publish never waits and never fails for want of room (drop the oldest).
 * - A subscriber sees the messages published after it joined, in the order of publishing, each once
 *   and whole. Where it fell behind, recv returns Lagging once; weir_bus_lost() is then the exact
 *   number that it missed, and the next recv goes on with the oldest message that is still there.
 * - No subscriber holds up another one, or the publisher.
 * - A deadline bounds the waiting, not the call; a message that arrives together with the end of
 *   the wait is delivered, and one that is not delivered is still there for the next call.
 * - close refuses new messages and new subscribers; subscribers read what is left for them and then
 *   get Closed.
 *
 * Memory order: what a thread did before publishing happens before what a subscriber does after
 * receiving that message. All subscribers see one order.
 *
 * Cost: one short lock and one copy for each call, one futex call for each subscriber that sleeps.
 * No allocation after init.
 *
 * Ownership: bus and subscribers live in the caller's memory, the bus owns its ring; a subscriber
 * is used by one thread at a time and leaves before it or its bus goes.
 */
#ifndef WEIR_BUS_H
#define WEIR_BUS_H

#include <weir/deadline.h>
#include <weir/error.h>
#include <weir/lock.h>

WEIR_BEGIN_DECLS

#define WEIR_BUS_CAPACITY_MAX     (UINT32_C(1) << 20)
#define WEIR_BUS_CAPACITY_DEFAULT 1024u
#define WEIR_BUS_MESSAGE_SIZE_MAX 1024u

/* How many may be subscribed at once unless the options say otherwise; more are answered Busy. */
#define WEIR_BUS_SUBSCRIBERS_DEFAULT 64u

/* How often the services warn of a subscriber that lags, at most. */
#define WEIR_BUS_WARNING_INTERVAL_NS (5 * WEIR_NS_PER_S)

struct weir__waiter;
struct weir_bus_subscriber;

struct weir_bus {
    struct weir_lock _lock; /* guards all that follows, and the subscribers */
    uint32_t _capacity;
    uint32_t _message_size;
    uint32_t _is_closed;
    uint32_t _subscribers_max;
    uint32_t _subscriber_count;
    unsigned char *_ring;
    uint64_t _published; /* also the number of the next message; number s lies in slot s mod n */
    uint64_t _received;
    uint64_t _lagged;  /* losses that subscribers have been told of, or left with */
    uint64_t _refused; /* publications after close */
    struct weir__waiter *_waiters;
    struct weir_bus_subscriber *_subscribers;
    char _name[WEIR_NAME_MAX];
};

struct weir_bus_subscriber {
    struct weir_bus *_bus;
    struct weir_bus_subscriber *_prev;
    struct weir_bus_subscriber *_next;
    uint64_t _at; /* number of the next message that it will see */
    uint64_t _received;
    uint64_t _lost;       /* all that it was told of */
    uint64_t _lost_last;  /* what the last Lagging spoke of */
    uint64_t _lost_muted; /* since the last warning */
    uint64_t _warned_at_ns;
    uint32_t _has_warned;
    uint32_t _is_waiting;
    char _name[WEIR_NAME_MAX];
};

struct weir_bus_options {
    size_t message_size;      /* bytes: 1 to WEIR_BUS_MESSAGE_SIZE_MAX */
    uint64_t capacity;        /* messages; 0: WEIR_BUS_CAPACITY_DEFAULT */
    uint32_t subscribers_max; /* 0: WEIR_BUS_SUBSCRIBERS_DEFAULT */
};

/* Invalid: a size, a capacity or a name that is out of bounds. NoMemory. */
WEIR_API WEIR_MUST_USE int weir_bus_init(struct weir_bus *bus, const char *name,
                                         const struct weir_bus_options *options);

/* Asserts that every subscriber has left. */
WEIR_API void weir_bus_fini(struct weir_bus *bus);

/* Copies the message in and wakes who waits. Closed after close; no other failure. */
WEIR_API WEIR_MUST_USE int weir_bus_publish(struct weir_bus *bus, const void *message);

/* Joins: the first message that it will see is the next one published. Busy when there are as many
 * subscribers as allowed, Closed after close, Invalid for a bad name. */
WEIR_API WEIR_MUST_USE int
weir_bus_subscribe(struct weir_bus *bus, struct weir_bus_subscriber *subscriber, const char *name);

/* Leaves. Accepts a subscriber that never joined (all zero) or has left. Asserts that no thread
 * waits with it. */
WEIR_API void weir_bus_unsubscribe(struct weir_bus_subscriber *subscriber);

/* The next message; Lagging when some were missed, once, see weir_bus_lost(); NotFound when there
 * is none just now; Closed when none will come. Never waits. */
WEIR_API WEIR_MUST_USE int weir_bus_try_recv(struct weir_bus_subscriber *subscriber,
                                             void *ret_message);

/* The same, waiting for a message: Timeout or Canceled when none came. */
WEIR_API WEIR_MUST_USE int weir_bus_recv(struct weir_bus_subscriber *subscriber, void *ret_message,
                                         const struct weir_deadline *deadline);

/* How many messages the last Lagging of this subscriber spoke of. */
WEIR_API uint64_t weir_bus_lost(struct weir_bus_subscriber *subscriber);

/* Whether it is time to warn people: true at most once in interval_ns, and only if messages were
 * lost since the last time; *ret_lost is then how many. The first loss is told of at once. */
WEIR_API bool weir_bus_lag_warning(struct weir_bus_subscriber *subscriber, uint64_t interval_ns,
                                   uint64_t *ret_lost);

/* No new messages from here on. Closing twice is harmless. */
WEIR_API void weir_bus_close(struct weir_bus *bus);

/* Consistent pictures; the counts only grow. */
struct weir_bus_stats {
    uint64_t capacity;
    uint64_t subscribers;
    uint64_t subscribers_max;
    uint64_t waiting;
    uint64_t published;
    uint64_t received;     /* by all subscribers together */
    uint64_t lagged_total; /* lost by all of them together, told or not yet told */
    uint64_t refused;      /* published after close */
    bool is_closed;
};

struct weir_bus_subscriber_stats {
    uint64_t received;
    uint64_t lost; /* told or not yet told */
    uint64_t lag;  /* messages published that it has neither received nor lost */
};

WEIR_API void weir_bus_read(struct weir_bus *bus, struct weir_bus_stats *ret_stats);
WEIR_API void weir_bus_subscriber_read(struct weir_bus_subscriber *subscriber,
                                       struct weir_bus_subscriber_stats *ret_stats);
WEIR_API const char *weir_bus_name(const struct weir_bus *bus);
WEIR_API const char *weir_bus_subscriber_name(const struct weir_bus_subscriber *subscriber);
WEIR_API uint64_t weir_bus_capacity(const struct weir_bus *bus);

WEIR_END_DECLS

#endif
