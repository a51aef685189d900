/* budget.h - a weighted, first-in-first-out semaphore: the limit on everything.
 *
 * A budget has a capacity in units (files, slots, requests, bytes). Work acquires a permit for n
 * units before it starts and releases it when it is done, whatever happens.
 *
 * Promises
 * - Never more than the capacity is out (after a resize downwards: never more than was out then).
 * - First in, first out, for requests of any weight: while somebody waits, newcomers queue behind,
 *   try included. A request for the whole budget is served in its turn.
 * - A request for 0 units is Invalid; one for more than the capacity is TooLarge at once, naming
 *   the capacity. It would wait for ever.
 * - A deadline bounds the waiting, not the acquiring: if the units are free, they are granted even
 *   if the time has passed or the token has fired. If a grant and the end of the wait meet, the
 *   grant wins and the call returns 0. So a permit is never lost: 0 means that the caller has it,
 *   anything else that it has nothing.
 * - When a waiter leaves (timeout, cancel), those behind it are looked at again at once.
 * - Waiting costs no allocation: waiters live on the waiting thread's stack, or for callbacks in
 * the caller's memory. One grant is one wake.
 *
 * Memory order: what a thread did before releasing happens before what the one that is granted
 * those units does next.
 *
 * Cost: acquire and release are one compare-and-swap each while nobody waits. With waiters, a short
 * lock each. It is a limiter for work, not a mutex: with critical sections below a microsecond the
 * strict order makes convoys.
 *
 * Ownership: the budget lives in the caller's memory and must outlive its permits and its waiters;
 * a permit belongs to whoever holds the struct that acquire filled in, and is released there once.
 */
#ifndef WEIR_BUDGET_H
#define WEIR_BUDGET_H

#include <weir/deadline.h>
#include <weir/error.h>
#include <weir/lock.h>
#include <weir/turn.h>

WEIR_BEGIN_DECLS

/* The largest capacity: 2 Ti units, so a budget of bytes reaches two tebibytes. */
#define WEIR_BUDGET_MAX ((UINT64_C(1) << 41) - 1)

/* How many may wait at once unless the options say otherwise; more are answered Busy. */
#define WEIR_BUDGET_WAITERS_DEFAULT 65536u

struct weir_budget {
    uint64_t _state;        /* see budget.c */
    uint64_t _limit;        /* the capacity, in the same form */
    struct weir_lock _lock; /* guards all that follows */
    struct weir__turns _line;
    uint64_t _debt;
    uint64_t _acquired_before;
    uint64_t _released_before;
    uint64_t _busy;
    char _name[WEIR_NAME_MAX];
};

/* What acquire fills in. All zero is an empty permit. */
struct weir_permit {
    struct weir_budget *_budget;
    uint64_t _change; /* what the state word lost for it */
    uint64_t _tag;    /* finds doubled releases in builds with checks */
};

#define WEIR_PERMIT_NONE                                                                           \
    {                                                                                              \
        NULL, 0, 0                                                                                 \
    }

struct weir_budget_options {
    uint64_t capacity;    /* 1 to WEIR_BUDGET_MAX */
    uint32_t waiters_max; /* 0: WEIR_BUDGET_WAITERS_DEFAULT */
};

/* Life cycle. Invalid: a capacity of 0 or above WEIR_BUDGET_MAX, or a bad name. */
WEIR_API WEIR_MUST_USE int weir_budget_init(struct weir_budget *budget, const char *name,
                                            uint64_t capacity);
WEIR_API WEIR_MUST_USE int weir_budget_init_with(struct weir_budget *budget, const char *name,
                                                 const struct weir_budget_options *options);

/* Asserts that every permit is home and nobody waits. Whoever has just acquired the whole capacity
 * and released it again knows that all others have let go, and may call this. Not while a resize
 * runs. */
WEIR_API void weir_budget_fini(struct weir_budget *budget);

/* Takes n units if they are free and nobody waits; Busy otherwise. Never waits. */
WEIR_API WEIR_MUST_USE int weir_budget_try(struct weir_budget *budget, uint64_t n,
                                           struct weir_permit *ret_permit);

/* Takes n units, waiting in line for them. Timeout, Canceled, or Busy when too many wait. */
WEIR_API WEIR_MUST_USE int weir_budget_acquire(struct weir_budget *budget, uint64_t n,
                                               struct weir_permit *ret_permit,
                                               const struct weir_deadline *deadline);

/* Gives the units back and empties the permit. An empty permit is left alone, so this may be the
 * WEIR_CLEANUP of a variable whose permit was moved on. */
WEIR_API void weir_permit_release(struct weir_permit *permit);

/* Hands the permit over: *to must be empty, *from becomes empty. */
WEIR_API void weir_permit_move(struct weir_permit *to, struct weir_permit *from);

static inline bool weir_permit_is_held(const struct weir_permit *permit)
{
    return permit->_budget != NULL;
}

/* How many units it holds; 0 when it is empty. */
WEIR_API uint64_t weir_permit_units(const struct weir_permit *permit);

/* Waiters with a callback, for event loops: they stand in the same line as blocked threads.
 *
 * Lifetime: from the moment that weir_budget_acquire_async() answers WEIR_BUDGET_QUEUED the waiter
 * belongs to the budget, until either fn is called or weir_budget_cancel_async() returns true; one
 * of the two happens, never both. From then on the budget does not touch it again, so fn itself may
 * free it. fn is called with no lock held, by the thread whose release, resize or cancel made room;
 * it must not wait. */
struct weir_budget_waiter {
    struct weir__turn _turn; /* first, so that its line finds the rest */
    uint64_t _units;
    struct weir_budget *_budget;
    void (*_fn)(struct weir_budget_waiter *waiter, int result, struct weir_permit permit);
};

#define WEIR_BUDGET_QUEUED 1

/* 0: *ret_permit is filled in and fn will not be called. WEIR_BUDGET_QUEUED: fn will be called with
 * result 0 and the permit, or with an error and an empty permit (TooLarge when a resize made the
 * request impossible). Negative: refused, fn will not be called. */
WEIR_API WEIR_MUST_USE int weir_budget_acquire_async(
    struct weir_budget *budget, uint64_t n, struct weir_permit *ret_permit,
    struct weir_budget_waiter *waiter,
    void (*fn)(struct weir_budget_waiter *waiter, int result, struct weir_permit permit));

/* True: the waiter left the line and is the caller's again. False: it has been granted (or failed),
 * and fn was called, is running, or is about to be. Calling it after fn has been called is allowed
 * only while the waiter's memory still exists. */
WEIR_API bool weir_budget_cancel_async(struct weir_budget *budget,
                                       struct weir_budget_waiter *waiter);

/* Changes the capacity. Upwards, waiters are served at once. Downwards, what is out stays out and
 * returning units are kept until the new capacity holds; waiters for more than it are failed with
 * TooLarge. */
WEIR_API WEIR_MUST_USE int weir_budget_resize(struct weir_budget *budget, uint64_t capacity);

/* A consistent picture. The counts only grow, and acquired - released is the number of permits out.
 */
struct weir_budget_stats {
    uint64_t capacity;
    uint64_t available;
    uint64_t in_use; /* units out; above capacity only after a resize downwards */
    uint64_t waiting;
    uint64_t acquired; /* permits handed out */
    uint64_t released;
    uint64_t
        enqueued; /* requests that had to wait = granted + canceled + timed_out + refused there */
    uint64_t granted;
    uint64_t canceled;
    uint64_t timed_out;
    uint64_t refused; /* waiting requests that a resize made impossible */
    uint64_t busy;    /* refusals of try, and of acquire when too many waited or it had no end */
    struct weir_histogram_snapshot wait_ns; /* time from joining the line to the grant */
};

WEIR_API void weir_budget_read(struct weir_budget *budget, struct weir_budget_stats *ret_stats);
WEIR_API const char *weir_budget_name(const struct weir_budget *budget);
WEIR_API uint64_t weir_budget_capacity(const struct weir_budget *budget);
WEIR_API uint64_t weir_budget_available(const struct weir_budget *budget);

WEIR_END_DECLS

#endif
