/* hedge.h - ask several, take the first good answer, and stop the others.
 *
 * A call has a list of targets. It starts alpha attempts at once. If they are not enough when the
 * hedge delay has passed, it starts up to beta more, at targets not yet asked; if attempts fail, it
 * starts others in their place. The first good answer (or the first `needed` good ones) ends the
 * call, and what is still under way is canceled.
 *
 * Promises
 * - One absolute deadline over everything: the call returns when it has come, whatever the attempts
 *   do, and starts none after that.
 * - Losers are canceled through their own tokens before the call returns, and their late answers
 *   are handed to discard() once; an attempt is never waited for.
 * - Extra attempts that the delay causes are paid from a budget, which every call fills a little:
 *   with per_mille 50 at most 5 of 100 calls on average, however slow the targets are. So hedging
 *   cannot double the load. Replacing a failed attempt costs nothing there, since that load is
 *   gone; each target is asked at most once in a call.
 * - An attempt that has failed and will try its target once more says so (falter): another target
 * is asked in its place, at no cost either, and whichever answers first wins.
 * - All targets have failed: the call returns the last error at once, without waiting any longer.
 *
 * Limits: WEIR_HEDGE_TARGETS_MAX targets in a call (Invalid beyond).
 * Memory order: what an attempt did before it reported happens before the call's return with it.
 * Cost: one allocation for a call.
 *
 * Ownership: the hedge lives in the caller's memory and outlives its calls and all of their
 * attempts, which fini asserts; an attempt belongs to the call, and may be touched by the target's
 * code until it has reported, which it must do exactly once (a second report is an assertion as
 * long as the call lives). An answer belongs to the attempt until
 * reported, then to the hedge, which gives it to the caller or to discard().
 */
#ifndef WEIR_HEDGE_H
#define WEIR_HEDGE_H

#include <weir/deadline.h>
#include <weir/error.h>
#include <weir/histogram.h>

WEIR_BEGIN_DECLS

#define WEIR_HEDGE_TARGETS_MAX       16u
#define WEIR_HEDGE_ALPHA_DEFAULT     3u
#define WEIR_HEDGE_BETA_DEFAULT      2u
#define WEIR_HEDGE_DELAY_DEFAULT_NS  (150 * WEIR_NS_PER_MS)
#define WEIR_HEDGE_PER_MILLE_DEFAULT 50u
#define WEIR_HEDGE_BURST_DEFAULT     10u

struct weir_hedge_options {
    uint32_t alpha;     /* attempts at once; 0: 3 */
    uint32_t beta;      /* extra attempts after the delay; 0: 2; WEIR_HEDGE_NO_BETA: none */
    uint64_t delay_ns;  /* 0: 150 ms */
    uint32_t needed;    /* good answers that end the call; 0: 1 */
    uint32_t per_mille; /* extra attempts per 1000 calls, on average; 0: 50 */
    uint32_t burst;     /* extra attempts that may be saved up; 0: 10 */
};
#define WEIR_HEDGE_NO_BETA UINT32_MAX

struct weir_hedge {
    struct weir_lock _lock;
    struct weir_hedge_options _options;
    uint64_t _credit; /* thousandths of an extra attempt */
    uint64_t _calls, _attempts, _reported, _hedges, _denied, _wins_by_hedge, _canceled, _late,
        _failed;
    struct weir_histogram _latency_ns;
    char _name[WEIR_NAME_MAX];
};

/* One question to one target. Lives until it has reported. */
struct weir_hedge_attempt {
    unsigned target;               /* index into the call's targets */
    bool is_hedge;                 /* the delay caused it */
    bool _has_faltered;            /* guarded by the call's lock */
    struct weir_deadline deadline; /* the call's time, and a token that fires when it has lost */
    struct weir_hedge_call *_call;
    uint32_t _is_reported;
    struct weir_cancel _cancel;
};

struct weir_hedge_ops {
    /* Begins the attempt and returns without waiting for it: 0, or an error, which counts as its
     * report. Called by the thread that called weir_hedge_run(), with no lock held. What it needs
     * of arg afterwards it must copy: the call may be over before the attempt is. */
    int (*start)(void *arg, struct weir_hedge_attempt *attempt);
    /* Takes back an answer that came too late. NULL when answers need no taking back. */
    void (*discard)(void *answer);
};

struct weir_hedge_answer {
    unsigned target;
    void *answer;
};

/* options may be NULL. Invalid: alpha or needed above the limit, per_mille above 1000, bad name. */
WEIR_API WEIR_MUST_USE int weir_hedge_init(struct weir_hedge *hedge, const char *name,
                                           const struct weir_hedge_options *options);
WEIR_API void weir_hedge_fini(struct weir_hedge *hedge);

/* Asks targets 0 to target_count - 1, best first. ret_answers has room for `needed` answers.
 * Returns 0; Timeout; Canceled; or, when too few of the targets gave a good answer, the error of
 * the last that failed. NoMemory; Invalid for no targets, too many, or fewer than needed. start()
 * may shorten the deadline, which is looked at anew after each call of it. */
WEIR_API WEIR_MUST_USE int weir_hedge_run(struct weir_hedge *hedge,
                                          const struct weir_hedge_ops *ops, void *arg,
                                          unsigned target_count,
                                          struct weir_hedge_answer *ret_answers,
                                          const struct weir_deadline *deadline);

/* The attempt is over: result 0 with its answer, or an error (answer ignored). From any thread,
 * also from within start. The attempt is gone afterwards. */
WEIR_API void weir_hedge_report(struct weir_hedge_attempt *attempt, int result, void *answer);

/* The attempt has failed, and goes on to try its target again: until it reports it does not count
 * as one of the alpha. From any thread, before the report; a second time changes nothing. Never
 * waits. */
WEIR_API void weir_hedge_falter(struct weir_hedge_attempt *attempt);

struct weir_hedge_stats {
    uint64_t calls;
    uint64_t attempts;      /* started, hedges included */
    uint64_t reported;      /* attempts that are over */
    uint64_t hedges;        /* extra attempts because of the delay */
    uint64_t denied;        /* extra attempts that the budget forbade */
    uint64_t wins_by_hedge; /* calls in which an extra attempt gave a winning answer */
    uint64_t canceled;      /* attempts that were still under way when their call ended */
    uint64_t late;          /* good answers that were of no use any more and were discarded */
    uint64_t failed;        /* calls that ended without an answer */
    struct weir_histogram_snapshot latency_ns; /* of calls with an answer */
};
WEIR_API void weir_hedge_read(struct weir_hedge *hedge, struct weir_hedge_stats *ret_stats);
WEIR_API const char *weir_hedge_name(const struct weir_hedge *hedge);

WEIR_END_DECLS

#endif
