/* breaker.h - leaves a failing target alone for a while, then asks it carefully.
 *
 *     struct weir_breaker_ticket ticket = WEIR_BREAKER_TICKET_NONE;
 *     int error = weir_breaker_allow(&breaker, &ticket);
 *     if (error)
 *         return error;
 *     error = call_the_target();
 *     weir_breaker_report(&ticket, error ? WEIR_BREAKER_FAILURE : WEIR_BREAKER_SUCCESS);
 *
 * Closed: calls pass, results are counted over a sliding window. Open, when more than the trip
 * ratio of at least calls_min results failed: calls are refused with BreakerOpen. HalfOpen, after
 * the cooldown: a few probes pass; when all have reported it closes if their failures are not above
 * the trip ratio, and it opens again as soon as they are.
 *
 * Promises
 * - In HalfOpen never more than half_open_probes probes are out, and no more are started than are
 *   needed for a decision.
 * - Half-open cannot stick: a probe is a permit with a deadline. When one that is overdue stands in
 *   the way of a new call, its permit goes to that call, and what it reports after that is ignored.
 *   Overdue is not failed: nothing is known about the call but that it is slow to report.
 * - A result counts for the generation that it started in (each move begins a new one): late news
 *   from before a move changes nothing.
 * - Canceled is neither success nor failure; of a probe, it gives the permit back.
 * - Only the moves Closed to Open, Open to HalfOpen, HalfOpen to Closed and HalfOpen to Open
 * happen. There is no timer: the move to HalfOpen is made by the first call after the cooldown.
 *
 * Memory order: what a thread did before its report happens before a call that is allowed because
 * of that report.
 *
 * Cost: a short lock and a look at the clock for each call and each report. Never waits.
 *
 * Ownership: the breaker lives in the caller's memory and must outlive its tickets; a ticket
 * belongs to whoever made the call, and is reported once or dropped (which counts for nothing, but
 * keeps a probe's permit until it is overdue).
 */
#ifndef WEIR_BREAKER_H
#define WEIR_BREAKER_H

#include <weir/clock.h>
#include <weir/error.h>
#include <weir/lock.h>

WEIR_BEGIN_DECLS

#define WEIR_BREAKER_WINDOW_DEFAULT_NS         (30 * WEIR_NS_PER_S)
#define WEIR_BREAKER_TRIP_PERMILLE_DEFAULT     500u
#define WEIR_BREAKER_CALLS_MIN_DEFAULT         10u
#define WEIR_BREAKER_COOLDOWN_DEFAULT_NS       (10 * WEIR_NS_PER_S)
#define WEIR_BREAKER_PROBES_DEFAULT            3u
#define WEIR_BREAKER_PROBE_DEADLINE_DEFAULT_NS (5 * WEIR_NS_PER_S)
#define WEIR_BREAKER_BUCKETS_DEFAULT           10u
#define WEIR_BREAKER_BUCKETS_MAX               32u
#define WEIR_BREAKER_PROBES_MAX                16u

enum weir_breaker_state {
    WEIR_BREAKER_CLOSED = 0,
    WEIR_BREAKER_OPEN = 1,
    WEIR_BREAKER_HALF_OPEN = 2
};
#define WEIR_BREAKER_STATES 3

enum weir_breaker_outcome {
    WEIR_BREAKER_SUCCESS = 0,
    WEIR_BREAKER_FAILURE = 1,
    WEIR_BREAKER_CANCELED = 2
};

/* A zero stands for the default. */
struct weir_breaker_options {
    uint64_t window_ns;
    uint32_t buckets;          /* the window moves by window_ns / buckets; at most BUCKETS_MAX */
    uint32_t trip_permille;    /* opens above this share of failures; 1 to 999 */
    uint32_t calls_min;        /* with fewer results in the window it does not open */
    uint32_t half_open_probes; /* at most PROBES_MAX */
    uint64_t cooldown_ns;
    uint64_t probe_deadline_ns;
};

struct weir_breaker_bucket {
    uint64_t _calls;
    uint64_t _failures;
};

struct weir_breaker_probe {
    uint64_t _serial; /* 0: free */
    uint64_t _at_ns;  /* overdue from then on */
};

struct weir_breaker {
    struct weir_lock _lock; /* guards all that follows */
    enum weir_breaker_state _state;
    uint64_t _generation; /* number of moves */
    uint64_t _opened_ns;
    struct weir_breaker_options _options; /* with the defaults filled in; 0 buckets: no breaker */
    struct weir_breaker_bucket _bucket[WEIR_BREAKER_BUCKETS_MAX];
    struct weir_breaker_bucket _window; /* the sum of the buckets */
    uint64_t _bucket_number;            /* of the newest: its time divided by its length */
    struct weir_breaker_probe _probe[WEIR_BREAKER_PROBES_MAX];
    uint32_t _probes_out;
    uint32_t _probes_good;
    uint32_t _probes_bad;
    uint64_t _serial;
    uint64_t _allowed;
    uint64_t _rejected;
    uint64_t _successes;
    uint64_t _failures;
    uint64_t _canceled;
    uint64_t _stale;
    uint64_t _probes_started;
    uint64_t _probes_overdue;
    uint64_t _entered[WEIR_BREAKER_STATES];
    char _name[WEIR_NAME_MAX];
};

/* What allow fills in. All zero is an empty ticket. */
struct weir_breaker_ticket {
    struct weir_breaker *_breaker;
    uint64_t _generation;
    uint64_t _serial; /* of a probe; 0 otherwise */
    uint32_t _slot;
};

#define WEIR_BREAKER_TICKET_NONE                                                                   \
    {                                                                                              \
        NULL, 0, 0, 0                                                                              \
    }

/* Life cycle. options may be NULL. Invalid: a number out of its bounds, a window shorter than a
 * nanosecond for each bucket, a bad name. */
WEIR_API WEIR_MUST_USE int weir_breaker_init(struct weir_breaker *breaker, const char *name,
                                             const struct weir_breaker_options *options);
WEIR_API void weir_breaker_fini(struct weir_breaker *breaker);

/* 0 and a ticket when the call may be made; BreakerOpen otherwise, with the time until the next
 * probe may be. Never waits. */
WEIR_API WEIR_MUST_USE int weir_breaker_allow(struct weir_breaker *breaker,
                                              struct weir_breaker_ticket *ret_ticket);

/* Tells how the call went and empties the ticket. An empty ticket is left alone. */
WEIR_API void weir_breaker_report(struct weir_breaker_ticket *ticket,
                                  enum weir_breaker_outcome outcome);

/* The same with Canceled: the WEIR_CLEANUP of a ticket, for paths that forget to report. */
WEIR_API void weir_breaker_cancel(struct weir_breaker_ticket *ticket);

/* How long until a call may be allowed: 0 for now. What a refusal puts into Retry-After. */
WEIR_API uint64_t weir_breaker_delay_ns(struct weir_breaker *breaker);

/* A consistent picture. The counts only grow. */
struct weir_breaker_stats {
    enum weir_breaker_state state; /* as of the last call; Open until a call comes after cooldown */
    uint64_t generation;
    uint64_t window_calls; /* what the window holds; in Closed alone */
    uint64_t window_failures;
    uint64_t probes_out;
    uint64_t allowed;
    uint64_t rejected;
    uint64_t successes; /* reports that counted */
    uint64_t failures;
    uint64_t canceled; /* reports of calls that were canceled */
    uint64_t stale;    /* reports that came too late to count */
    uint64_t probes_started;
    uint64_t probes_overdue;               /* probes whose permit went to another call */
    uint64_t entered[WEIR_BREAKER_STATES]; /* moves into each state; [OPEN]: times it opened */
};

WEIR_API void weir_breaker_read(struct weir_breaker *breaker, struct weir_breaker_stats *ret_stats);
WEIR_API const char *weir_breaker_name(const struct weir_breaker *breaker);

/* "closed", "open" or "half_open", as in the label of a metric. */
WEIR_API const char *weir_breaker_state_name(enum weir_breaker_state state);

WEIR_END_DECLS

#endif
