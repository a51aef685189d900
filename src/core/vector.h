/* vector.h - an all-or-nothing, first-in-first-out budget over up to four components.
 *
 * weir_pool and weir_frontier are thin layers on this. The rules are those of weir_budget, over the
 * whole vector instead of one number:
 *
 * - A request is granted when every component of it fits, all of them at once, or not at all. There
 *   is no moment at which it holds one component and waits for another, so no rollback and no
 *   deadlock between components.
 * - One line over the whole vector: while somebody waits, newcomers queue behind, whatever they
 *   ask for, try included. So a request for everything is served in its turn.
 * - A component of 0 in a request is skipped. A request with no component above 0 succeeds at once,
 *   even when others wait: it takes nothing from them.
 * - A component with capacity 0 is unlimited. Its use is counted and nothing is refused for it.
 * - A component above its capacity is TooLarge at once.
 * - Grant, timeout and cancel: the grant wins; 0 means that the caller has the units, anything else
 *   that it has nothing. When a waiter leaves, those behind it are looked at again at once.
 * - A deadline bounds the waiting, not the acquiring.
 *
 * Cost: one short lock each for acquire, try and release; no allocation.
 *
 * Ownership: the vector, its waiters and its requests live in the caller's memory; `what` and the
 * names of the components are borrowed and must be string literals; the name is copied.
 */
#ifndef WEIR_CORE_VECTOR_H
#define WEIR_CORE_VECTOR_H

#include <weir/budget.h>
#include <weir/vector.h>

/* `what` is the kind of the object in messages, as in "pool 'NAME'". Components: 1 to
 * WEIR__VECTOR_MAX. waiters_max 0 means WEIR_BUDGET_WAITERS_DEFAULT. Invalid for a bad name. */
WEIR_MUST_USE int weir__vector_init(struct weir__vector *vector, const char *what, const char *name,
                                    unsigned components, const uint64_t *capacities,
                                    const char *const *component_names, uint32_t waiters_max);

/* Asserts that everything is home and nobody waits. Accepts NULL and a vector that is all zero. */
void weir__vector_fini(struct weir__vector *vector);

/* Takes the request if it fits and nobody waits; Busy otherwise; TooLarge. Never waits. */
WEIR_MUST_USE int weir__vector_try(struct weir__vector *vector,
                                   const struct weir__vector_request *request);

/* Takes the request, waiting in line. Timeout, Canceled, TooLarge, Busy when too many wait. */
WEIR_MUST_USE int weir__vector_acquire(struct weir__vector *vector,
                                       const struct weir__vector_request *request,
                                       const struct weir_deadline *deadline);

/* 0: taken, fn will not be called. WEIR_BUDGET_QUEUED: the waiter belongs to the vector until fn is
 * called with 0 or an error, or weir__vector_cancel_async() returns true; one of the two happens.
 * fn is called with no lock held and may free the waiter; it must not wait. Negative: refused. */
WEIR_MUST_USE int
weir__vector_acquire_async(struct weir__vector *vector, const struct weir__vector_request *request,
                           struct weir__vector_waiter *waiter,
                           void (*fn)(struct weir__vector_waiter *waiter, int result));

/* True: the waiter left the line and is the caller's again. False: fn was, is or will be called. */
bool weir__vector_cancel_async(struct weir__vector *vector, struct weir__vector_waiter *waiter);

/* Gives back exactly what a request took. Asserts that no more comes home than was out. */
void weir__vector_release(struct weir__vector *vector, const struct weir__vector_request *request);

/* Changes one capacity; 0 makes the component unlimited. Upwards, waiters are served at once.
 * Downwards, what is out stays out and nothing more is granted of that component until the new
 * capacity holds; waiters for more than it are failed with TooLarge. Invalid: no such component. */
WEIR_MUST_USE int weir__vector_resize(struct weir__vector *vector, unsigned component,
                                      uint64_t capacity);

/* A consistent picture. The counts only grow; acquired - released is the number of grants out, and
 * enqueued = granted + canceled + timed_out + refused + waiting. */
struct weir__vector_stats {
    uint64_t capacity[WEIR__VECTOR_MAX];  /* 0: unlimited */
    uint64_t in_use[WEIR__VECTOR_MAX];    /* above capacity only after a resize downwards */
    uint64_t available[WEIR__VECTOR_MAX]; /* UINT64_MAX when unlimited */
    uint64_t waiting;
    uint64_t acquired;
    uint64_t released;
    uint64_t enqueued;
    uint64_t granted; /* after waiting */
    uint64_t canceled;
    uint64_t timed_out;
    uint64_t refused; /* waiting requests that a resize made impossible */
    uint64_t busy;    /* refusals of try, and of acquire when too many waited or it had no end */
    struct weir_histogram_snapshot wait_ns;
};
void weir__vector_read(struct weir__vector *vector, struct weir__vector_stats *ret_stats);

/* One number alone, for less: 0 is "not counted" and UINT64_MAX then what is available. */
uint64_t weir__vector_capacity(struct weir__vector *vector, unsigned component);
uint64_t weir__vector_available(struct weir__vector *vector, unsigned component);

#endif
