/* rate.h - a token bucket with two priorities: how fast work may go.
 *
 * A rate has a pace in tokens per second (bytes, operations) and a burst, which is how many it can
 * save up. Work takes its tokens before it starts; they are used up and not given back.
 *
 * Promises
 * - Over any time t, at most burst + pace * t tokens are taken, exactly: the arithmetic is in
 *   integers, keeps its remainders, and does not overflow for any pace of 64 bits.
 * - High goes before low: a low request is served only when no high one waits. Within a priority
 *   first in, first out: while somebody waits, newcomers of the same priority queue behind, try
 *   included. So a constant flood of high requests starves low ones, which is what it is for.
 * - A request for 0 tokens is Invalid; one for more than the burst is TooLarge at once, naming the
 *   burst, since the bucket never holds that many. Callers split.
 * - A wait that cannot end in time is not begun: when the deadline comes before the tokens could,
 *   with those in line before it counted, the answer is Paced at once.
 * - A deadline bounds the waiting, not the taking: tokens that are there are given even if the time
 *   has passed or the token has fired, and a grant that meets the end of a wait wins. 0 means that
 *   the tokens were taken, anything else that none were.
 * - Nobody polls: the first in line sleeps until its tokens are due, the others until it is their
 *   turn. Waiting costs no allocation.
 *
 * Memory order: none is promised between takers; pacing orders time, not memory.
 *
 * Cost: a short lock and a look at the clock; a division of 128 bits when time has passed.
 *
 * Ownership: the rate lives in the caller's memory and must outlive its waiters; taken tokens
 * belong to nobody.
 */
#ifndef WEIR_RATE_H
#define WEIR_RATE_H

#include <weir/deadline.h>
#include <weir/error.h>
#include <weir/histogram.h>
#include <weir/lock.h>

WEIR_BEGIN_DECLS

/* The largest burst, 128 Ti tokens, and the most that may wait: their product fits 64 bits. */
#define WEIR_RATE_BURST_MAX       ((UINT64_C(1) << 47) - 1)
#define WEIR_RATE_WAITERS_MAX     65536u
#define WEIR_RATE_WAITERS_DEFAULT 4096u

enum weir_rate_priority { WEIR_RATE_HIGH = 0, WEIR_RATE_LOW = 1 };
#define WEIR_RATE_PRIORITIES 2

struct weir_rate_waiter;

struct weir_rate_bucket {
    uint64_t _tokens;
    uint64_t _fraction; /* billionths of a token */
    uint64_t _at_ns;    /* when it was filled last */
};

struct weir_rate_line {
    struct weir_rate_waiter *_head;
    struct weir_rate_waiter *_tail;
    uint64_t _tokens; /* that are waited for */
};

struct weir_rate {
    struct weir_lock _lock; /* guards all that follows */
    struct weir_rate_bucket _bucket;
    uint64_t _per_s;
    uint64_t _burst;
    struct weir_rate_line _line[WEIR_RATE_PRIORITIES];
    struct weir_rate_waiter *_keeper; /* who sleeps until the next tokens are due */
    uint32_t _waiting;
    uint32_t _waiters_max;
    uint64_t _taken;
    uint64_t _taken_tokens;
    uint64_t _enqueued;
    uint64_t _granted;
    uint64_t _canceled;
    uint64_t _timed_out;
    uint64_t _refused;
    uint64_t _paced;
    uint64_t _busy;
    struct weir_histogram _wait_ns;
    char _name[WEIR_NAME_MAX];
};

struct weir_rate_options {
    uint64_t per_s;       /* tokens per second, at least 1 */
    uint64_t burst;       /* 1 to WEIR_RATE_BURST_MAX; 0: one second's worth, within those */
    uint32_t waiters_max; /* 0: WEIR_RATE_WAITERS_DEFAULT; at most WEIR_RATE_WAITERS_MAX */
};

/* Life cycle. The bucket starts full. Invalid: a pace of 0, a burst or number of waiters out of
 * bounds, a bad name. */
WEIR_API WEIR_MUST_USE int weir_rate_init(struct weir_rate *rate, const char *name,
                                          const struct weir_rate_options *options);

/* Asserts that nobody waits. */
WEIR_API void weir_rate_fini(struct weir_rate *rate);

/* Takes n tokens if they are there and nobody of this priority or above waits; Paced otherwise,
 * with the time until they would be. Never waits. */
WEIR_API WEIR_MUST_USE int weir_rate_try(struct weir_rate *rate, uint64_t n,
                                         enum weir_rate_priority priority);

/* Takes n tokens, waiting in line for them. Paced when the deadline is too near, Timeout when those
 * of high priority took what was due, Canceled, Busy when too many wait, TooLarge when a change of
 * the burst made it impossible. */
WEIR_API WEIR_MUST_USE int weir_rate_acquire(struct weir_rate *rate, uint64_t n,
                                             enum weir_rate_priority priority,
                                             const struct weir_deadline *deadline);

/* Changes pace and burst (0: one second's worth). What has accrued until now accrued at the old
 * pace; tokens above the new burst are lost; those in line are timed anew, and failed with TooLarge
 * when they want more than the new burst. */
WEIR_API WEIR_MUST_USE int weir_rate_set(struct weir_rate *rate, uint64_t per_s, uint64_t burst);

/* How long until a request for n tokens would be granted, if nobody else came: 0 for now,
 * WEIR_NEVER for never. What a refusal puts into Retry-After. */
WEIR_API uint64_t weir_rate_delay_ns(struct weir_rate *rate, uint64_t n,
                                     enum weir_rate_priority priority);

/* A consistent picture. The counts only grow. */
struct weir_rate_stats {
    uint64_t per_s;
    uint64_t burst;
    uint64_t tokens; /* that could be taken now */
    uint64_t waiting;
    uint64_t waiting_tokens[WEIR_RATE_PRIORITIES];
    uint64_t taken;        /* requests served, at once or after a wait */
    uint64_t taken_tokens; /* what they took */
    uint64_t enqueued;     /* had to wait = granted + canceled + timed_out + refused + waiting */
    uint64_t granted;
    uint64_t canceled;
    uint64_t timed_out;
    uint64_t refused; /* waiting requests that a change of the burst made impossible */
    uint64_t paced;   /* refusals because the tokens are not there, or not in time */
    uint64_t busy;    /* refusals because too many wait */
    struct weir_histogram_snapshot wait_ns; /* time from joining the line to the grant */
};

WEIR_API void weir_rate_read(struct weir_rate *rate, struct weir_rate_stats *ret_stats);
WEIR_API const char *weir_rate_name(const struct weir_rate *rate);

WEIR_END_DECLS

#endif
