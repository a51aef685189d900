/* backoff.h - when to try again: jittered exponential delays, capped in length and number.
 *
 *     struct weir_backoff backoff;
 *     error = weir_backoff_init(&backoff, NULL);
 *     while (!error && (error = call(...)) && weir_error_is_retryable(error)) {
 *         int stop = weir_backoff_wait(&backoff, &deadline);
 *         if (stop)
 *             break;
 *         error = 0;
 *     }
 *
 * Promises
 * - The k-th delay is drawn evenly from [base_min, base_max] * 2^(k-1). Where the upper end would
 *   pass the cap, the range is scaled down to end there: long delays keep their jitter, so that
 *   those who failed together do not come back together.
 * - After tries_max tries (the first one, before any delay, included) the answer is Exhausted.
 * - The same options with the same seed give the same delays, on every machine.
 * - A wait that would pass the deadline is not begun: Timeout at once, and the try is not used up.
 *
 * Whether an error is worth another try is for the caller to know: weir_error_is_retryable() says
 * whether it can help, not whether the call may be repeated.
 *
 * Cost: a few multiplications. No lock, no allocation.
 *
 * Ownership: a backoff belongs to the one thread that retries and is never shared; it needs no
 * fini.
 */
#ifndef WEIR_BACKOFF_H
#define WEIR_BACKOFF_H

#include <weir/deadline.h>
#include <weir/error.h>

WEIR_BEGIN_DECLS

#define WEIR_BACKOFF_BASE_MIN_DEFAULT_NS (50 * WEIR_NS_PER_MS)
#define WEIR_BACKOFF_BASE_MAX_DEFAULT_NS (100 * WEIR_NS_PER_MS)
#define WEIR_BACKOFF_CAP_DEFAULT_NS      (2 * WEIR_NS_PER_S)
#define WEIR_BACKOFF_TRIES_DEFAULT       3u

/* Longer delays than a day are a mistake in units. */
#define WEIR_BACKOFF_CAP_MAX_NS (86400 * WEIR_NS_PER_S)

struct weir_backoff {
    uint64_t _base_min_ns;
    uint64_t _base_max_ns;
    uint64_t _cap_ns;
    uint64_t _random;
    uint64_t _drawn_ns; /* the delay that a refused wait did not use; 0 for none */
    uint32_t _tries_max;
    uint32_t _tries;
    uint64_t _delays;
    uint64_t _delay_ns_sum;
    uint64_t _exhausted;
};

/* A zero stands for the default. */
struct weir_backoff_options {
    uint64_t base_min_ns;
    uint64_t base_max_ns;
    uint64_t cap_ns;
    uint32_t tries_max; /* in all, the first one included */
    uint64_t seed;      /* 0: another one each time */
};

/* options may be NULL. Invalid unless base_min_ns <= base_max_ns <= cap_ns <= the largest cap. */
WEIR_API WEIR_MUST_USE int weir_backoff_init(struct weir_backoff *backoff,
                                             const struct weir_backoff_options *options);

/* After a failed try: the delay before the next one, or Exhausted. */
WEIR_API WEIR_MUST_USE int weir_backoff_next(struct weir_backoff *backoff, uint64_t *ret_delay_ns);

/* After a failed try: waits out the delay. Exhausted; Timeout at once when the delay would pass the
 * deadline; Canceled when the token fires; Invalid for a deadline with no end. */
WEIR_API WEIR_MUST_USE int weir_backoff_wait(struct weir_backoff *backoff,
                                             const struct weir_deadline *deadline);

/* After a success: the next failure is a first one again. The random sequence goes on. */
WEIR_API void weir_backoff_reset(struct weir_backoff *backoff);

/* The sums only grow, also over resets. */
struct weir_backoff_stats {
    uint32_t tries; /* failed since the last reset */
    uint32_t tries_max;
    uint64_t delays;
    uint64_t delay_ns_sum;
    uint64_t exhausted;
};

WEIR_API void weir_backoff_read(const struct weir_backoff *backoff,
                                struct weir_backoff_stats *ret_stats);

WEIR_END_DECLS

#endif
