/* queue.h - a bounded queue of small items between any number of threads.
 *
 * Items have a fixed size, stated when the queue is made, and are copied in and out; larger things
 * are queued by pointer. When the queue is full, new items are refused (try) or wait in line
 * (send); nothing that was accepted is ever dropped.
 *
 * Promises
 * - Never more than the capacity is inside: items and reserved slots together.
 * - First in, first out: items come out in the order in which they were accepted, senders (and
 *   those who reserve) are served in the order in which they came, and so are receivers. No
 *   barging: while a sender waits, newcomers queue behind it and try_send is Busy; an item that is
 *   accepted while a receiver waits is that receiver's. A batch is not mixed with other senders'
 *   items, but for commits, whose slots were taken before.
 * - One item wakes at most one receiver, one free slot at most one sender, and nobody is woken who
 *   does not sleep.
 * - A deadline bounds the waiting, not the call: what can be done at once is done even if the time
 *   has passed or the token has fired. If success and the end of a wait meet, success wins. So
 *   nothing is lost: send returning 0 means that the queue has the item, anything else that the
 *   caller still has it; recv returning 0 means that the caller has the item, anything else that
 *   it was not taken out.
 * - A reservation is an admission: its slot is kept until commit or abandon, and commit cannot
 *   fail, not even after close.
 * - close refuses new items and new reservations, and fails the senders that wait. Receivers get
 *   what is left, with what the reservations out still bring, and then Closed.
 * - Waiting costs no allocation; waiters live on their threads' stacks, and their number is bounded
 *   by that of the threads.
 *
 * Memory order: what a thread did before sending an item happens before what its receiver does
 * after receiving it.
 *
 * Cost: one short lock and one copy for each call, or for each batch; a futex call only when
 * somebody sleeps.
 *
 * Ownership: the queue lives in the caller's memory and owns its ring, the items are the queue's
 * between send and receive, and a slot belongs to whoever holds the struct that reserve filled in.
 */
#ifndef WEIR_QUEUE_H
#define WEIR_QUEUE_H

#include <weir/deadline.h>
#include <weir/error.h>
#include <weir/lock.h>

WEIR_BEGIN_DECLS

#define WEIR_QUEUE_CAPACITY_MAX  (UINT32_C(1) << 20)
#define WEIR_QUEUE_ITEM_SIZE_MAX 1024u

/* At most so many items are moved by one call of the _many functions, since they are copied under
 * the lock. A larger count is not an error: fewer are moved. */
#define WEIR_QUEUE_BATCH_MAX 256u

struct weir__waiter;

struct weir_queue {
    struct weir_lock _lock; /* guards all that follows */
    uint32_t _first;        /* slot of the oldest item */
    uint32_t _count;        /* items in the ring */
    uint32_t _reserved;     /* slots kept for reservations */
    uint32_t _capacity;
    uint32_t _item_size;
    uint32_t _is_closed;
    unsigned char *_ring;
    struct weir__waiter *_senders; /* in line, and those who want to reserve */
    struct weir__waiter *_receivers;
    uint64_t _sent;
    uint64_t _received;
    uint32_t _high_water;
    uint32_t _senders_waiting;
    uint32_t _receivers_waiting;
    uint64_t _busy;
    uint64_t _reservations;
    uint64_t _committed;
    uint64_t _abandoned;
    uint64_t _waited;
    uint64_t _timed_out;
    uint64_t _canceled;
    uint64_t _refused_closed;
    char _name[WEIR_NAME_MAX];
};

struct weir_queue_options {
    size_t item_size;  /* bytes: 1 to WEIR_QUEUE_ITEM_SIZE_MAX */
    uint64_t capacity; /* items: 1 to WEIR_QUEUE_CAPACITY_MAX */
};

/* Invalid: a size, a capacity or a name that is out of bounds. NoMemory. */
WEIR_API WEIR_MUST_USE int weir_queue_init(struct weir_queue *queue, const char *name,
                                           const struct weir_queue_options *options);

/* Asserts that nobody waits, that no slot is reserved, and that no item is left: what is left is
 * lost silently otherwise, so drain it. */
WEIR_API void weir_queue_fini(struct weir_queue *queue);

/* Puts the item in if there is room and nobody is before us; Busy otherwise, naming the queue, its
 * capacity and the number that wait. Closed after close. Never waits. */
WEIR_API WEIR_MUST_USE int weir_queue_try_send(struct weir_queue *queue, const void *item);

/* Puts the item in, waiting in line for room: Timeout, Canceled or Closed if that does not come. */
WEIR_API WEIR_MUST_USE int weir_queue_send(struct weir_queue *queue, const void *item,
                                           const struct weir_deadline *deadline);

/* The same for count items that lie one after the other. 0: the first *ret_sent of them, at least
 * one, are in; fewer than count where the room, the time or the queue ended, or where count is over
 * WEIR_QUEUE_BATCH_MAX. An error: none is. Invalid for a count of 0. */
WEIR_API WEIR_MUST_USE int weir_queue_try_send_many(struct weir_queue *queue, const void *items,
                                                    size_t count, size_t *ret_sent);
WEIR_API WEIR_MUST_USE int weir_queue_send_many(struct weir_queue *queue, const void *items,
                                                size_t count, size_t *ret_sent,
                                                const struct weir_deadline *deadline);

/* A slot that is kept for an item to come. All zero is an empty one. */
struct weir_queue_slot {
    struct weir_queue *_queue;
    uint64_t _tag; /* finds doubled releases in builds with checks */
};

#define WEIR_QUEUE_SLOT_NONE                                                                       \
    {                                                                                              \
        NULL, 0                                                                                    \
    }

/* Takes a slot now and the item later: first make sure that the result has a place, then do the
 * work. Errors as in try_send and send. */
WEIR_API WEIR_MUST_USE int weir_queue_try_reserve(struct weir_queue *queue,
                                                  struct weir_queue_slot *ret_slot);
WEIR_API WEIR_MUST_USE int weir_queue_reserve(struct weir_queue *queue,
                                              struct weir_queue_slot *ret_slot,
                                              const struct weir_deadline *deadline);

/* Puts the item into the slot and empties the struct; the item takes its turn from now. Cannot
 * fail. Asserts that the slot is held. */
WEIR_API void weir_queue_commit(struct weir_queue_slot *slot, const void *item);

/* Gives the slot back. An empty one is left alone, so this may be the WEIR_CLEANUP of a variable
 * whose slot has been committed. */
WEIR_API void weir_queue_abandon(struct weir_queue_slot *slot);

static inline bool weir_queue_slot_is_held(const struct weir_queue_slot *slot)
{
    return slot->_queue != NULL;
}

/* Takes the oldest item; NotFound when there is none just now, Closed when none will come. Never
 * waits. */
WEIR_API WEIR_MUST_USE int weir_queue_try_recv(struct weir_queue *queue, void *ret_item);

/* Takes the oldest item, waiting in line for one: Timeout, Canceled, or Closed when the queue is
 * closed, empty, and no slot of it is reserved. */
WEIR_API WEIR_MUST_USE int weir_queue_recv(struct weir_queue *queue, void *ret_item,
                                           const struct weir_deadline *deadline);

/* The same for what is there, up to count items. 0: *ret_received, at least one, were taken. Waits
 * for the first one only. Invalid for a count of 0. */
WEIR_API WEIR_MUST_USE int weir_queue_try_recv_many(struct weir_queue *queue, void *ret_items,
                                                    size_t count, size_t *ret_received);
WEIR_API WEIR_MUST_USE int weir_queue_recv_many(struct weir_queue *queue, void *ret_items,
                                                size_t count, size_t *ret_received,
                                                const struct weir_deadline *deadline);

/* No new items and no new reservations from here on. Closing twice is harmless. */
WEIR_API void weir_queue_close(struct weir_queue *queue);
WEIR_API bool weir_queue_is_closed(struct weir_queue *queue);

/* Closes the queue and hands every item that is left to fn, oldest first, with no lock held; fn may
 * be NULL when the items need no care. Returns how many there were. Does not wait for slots that
 * are still reserved: what they bring is for another receiver, or another drain. */
WEIR_API uint64_t weir_queue_drain(struct weir_queue *queue, void (*fn)(void *arg, void *item),
                                   void *arg);

/* A consistent picture. The counts only grow; sent - received is the depth, and reservations -
 * committed - abandoned is what is reserved. */
struct weir_queue_stats {
    uint64_t capacity;
    uint64_t depth;
    uint64_t reserved;
    uint64_t high_water; /* most slots ever in use at once, reserved ones included */
    uint64_t senders_waiting;
    uint64_t receivers_waiting;
    uint64_t sent; /* items accepted, committed ones included */
    uint64_t received;
    uint64_t busy; /* calls refused because the queue was full, and so dropped here */
    uint64_t reservations;
    uint64_t committed;
    uint64_t abandoned;
    uint64_t waited; /* calls that had to wait, of senders and receivers */
    uint64_t timed_out;
    uint64_t canceled;
    uint64_t refused_closed; /* sends and reservations refused because of close */
    bool is_closed;
};

WEIR_API void weir_queue_read(struct weir_queue *queue, struct weir_queue_stats *ret_stats);
WEIR_API const char *weir_queue_name(const struct weir_queue *queue);
WEIR_API uint64_t weir_queue_capacity(const struct weir_queue *queue);
WEIR_API uint64_t weir_queue_depth(struct weir_queue *queue);

WEIR_END_DECLS

#endif
