/* deadline.h - how long a call may wait: an absolute time, a cancel token, or both.
 *
 * Every function that can wait for work takes a `const struct weir_deadline *` as its last
 * parameter. These wait without one, and say for what: the drains of crew and scheduler, for the
 * times in their options; weir_cancel_off() and weir_metrics_remove(), for a callback or a reader
 * that has begun and must not wait itself; starting, freeing and draining a crew, for a thread that
 * has left its function to be gone. No other function waits. A deadline bounds the waiting, not the
 * call: what can be had at once is given even if the time has passed already or the token has
 * fired.
 *
 * Rule: a wait has an end. A call that would have to wait with neither a time nor a token (NULL
 * counts as that) is refused with Invalid instead of waiting for ever.
 *
 * Ownership: a deadline is a value; it borrows the token, which must outlive the calls made with
 * it.
 */
#ifndef WEIR_DEADLINE_H
#define WEIR_DEADLINE_H

#include <weir/cancel.h>
#include <weir/clock.h>

WEIR_BEGIN_DECLS

struct weir_deadline {
    uint64_t at_ns;             /* of weir_now_ns(); WEIR_NEVER for no limit in time */
    struct weir_cancel *cancel; /* may be NULL */
};

/* A deadline so many nanoseconds from now. */
static inline struct weir_deadline weir_deadline_in(uint64_t ns, struct weir_cancel *cancel)
{
    struct weir_deadline deadline = {weir_time_add(weir_now_ns(), ns), cancel};
    return deadline;
}

/* No limit in time: the token alone ends the wait. */
static inline struct weir_deadline weir_deadline_until(struct weir_cancel *cancel)
{
    struct weir_deadline deadline = {WEIR_NEVER, cancel};
    return deadline;
}

/* The same token, and the earlier of the two times. */
static inline struct weir_deadline weir_deadline_min(const struct weir_deadline *deadline,
                                                     uint64_t at_ns)
{
    struct weir_deadline sooner = *deadline;
    if (at_ns < sooner.at_ns)
        sooner.at_ns = at_ns;
    return sooner;
}

/* 0, or -WEIR_E_CANCELED, or -WEIR_E_TIMEOUT; what a loop asks between its steps. */
WEIR_API WEIR_MUST_USE int weir_deadline_check(const struct weir_deadline *deadline);

/* Waits until the deadline: returns -WEIR_E_TIMEOUT when its time has come, -WEIR_E_CANCELED when
 * the token fired first. */
WEIR_API int weir_deadline_sleep(const struct weir_deadline *deadline);

WEIR_END_DECLS

#endif
