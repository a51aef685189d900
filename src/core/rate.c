/* rate.c - the token bucket with two lines of waiters.
 *
 * State: everything is under one lock. The bucket (bucket.h) is filled from the clock, which is
 * read under the lock: a time read before it could be older than the last fill, and setting the
 * bucket back to it would mint the same tokens twice.
 *
 * Happy path: lock, fill, nobody in line, tokens there: take them, unlock.
 *
 * Waiting: the first in line (the oldest high request, or else the oldest low one) is the keeper of
 * the time: it sleeps until its tokens are due or its own deadline. The others sleep until they are
 * signaled, or their deadlines. Whoever holds the lock, for whatever reason, first serves the line
 * as far as the tokens go, and before it releases the lock sees to it that the first in line is the
 * keeper: if not, it is signaled, comes back, and sleeps again with the right time.
 *
 * Failure modes
 * - A keeper that leaves (deadline, cancel) appoints the next; no due time is left unwatched.
 * - A high request arrives while a low one keeps the time: the newcomer becomes keeper, the old one
 *   wakes once at its old time, finds that it is not the first, and sleeps on.
 * - A change of the pace makes the keeper's time wrong: it is signaled.
 * - More to wake than fit the list of wakes: the rest of the line is left to the next keeper, who
 *   is woken with them and goes on.
 * - Grant and leave are decided under the lock: a grant that is there when the waiter comes back is
 *   taken.
 */
#include <weir/rate.h>

#include "assert.h"
#include "bucket.h"
#include "error.h"
#include "lock.h"
#include "memory.h"
#include "mutants.h"
#include "park.h"

struct weir_rate_waiter {
    struct weir_rate_waiter *prev;
    struct weir_rate_waiter *next;
    struct weir__park place;
    enum weir_rate_priority priority;
    bool is_settled; /* out of the line, with its result */
    int result;
    uint64_t n;
    uint64_t since_ns;
};

static const struct weir_lock_class rate_class = {"rate", WEIR__RANK_RATE};

/* ---- life cycle ---- */

static uint64_t burst_or_default(uint64_t per_s, uint64_t burst)
{
    if (burst)
        return burst;
    return per_s < WEIR_RATE_BURST_MAX ? per_s : WEIR_RATE_BURST_MAX;
}

static int refuse_pace(const char *name, uint64_t per_s, uint64_t burst)
{
    if (per_s == 0)
        return weir__fail(WEIR_E_INVALID, name,
                          "rate '$n': a pace of 0 was asked for, at least 1 per second is needed",
                          0, 0, 0);
    if (burst > WEIR_RATE_BURST_MAX)
        return weir__fail(WEIR_E_INVALID, name,
                          "rate '$n': a burst of $1 was asked for, it may be 1 to $2", burst,
                          WEIR_RATE_BURST_MAX, 0);
    return 0;
}

int weir_rate_init(struct weir_rate *rate, const char *name,
                   const struct weir_rate_options *options)
{
    static const struct weir_rate_options nothing;
    options = options ? options : &nothing;
    struct weir_rate fresh = {0};
    int error = weir__name_set(fresh._name, name);
    if (!error)
        error = refuse_pace(name, options->per_s, options->burst);
    if (!error && options->waiters_max > WEIR_RATE_WAITERS_MAX)
        error = weir__fail(WEIR_E_INVALID, name,
                           "rate '$n': $1 waiters were asked for, it may be 1 to $2",
                           options->waiters_max, WEIR_RATE_WAITERS_MAX, 0);
    if (!error)
        error = weir_histogram_init(&fresh._wait_ns, weir_histogram_time_bounds_ns,
                                    WEIR_HISTOGRAM_TIME_COUNT);
    if (error)
        return error;
    weir_lock_init(&fresh._lock, &rate_class);
    fresh._per_s = options->per_s;
    fresh._burst = burst_or_default(options->per_s, options->burst);
    fresh._waiters_max = options->waiters_max ? options->waiters_max : WEIR_RATE_WAITERS_DEFAULT;
    fresh._bucket = weir__bucket_full(fresh._burst, weir_now_ns());
    *rate = fresh;
    return 0;
}

void weir_rate_fini(struct weir_rate *rate)
{
    if (!rate || !rate->_per_s)
        return;
    weir_lock_acquire(&rate->_lock);
    WEIR__ASSERT(rate->_waiting == 0, "rate", rate->_name, "destroyed while somebody waits");
    weir_lock_release(&rate->_lock);
    weir_lock_fini(&rate->_lock);
    rate->_per_s = 0;
}

/* ---- the line, under the lock ---- */

static struct weir_rate_waiter *first_in_line(const struct weir_rate *rate)
{
    struct weir_rate_waiter *high = rate->_line[WEIR_RATE_HIGH]._head;
    return high ? high : rate->_line[WEIR_RATE_LOW]._head;
}

static void line_append(struct weir_rate *rate, struct weir_rate_waiter *waiter, uint64_t now_ns)
{
    struct weir_rate_line *line = &rate->_line[waiter->priority];
    waiter->prev = line->_tail;
    if (line->_tail)
        line->_tail->next = waiter;
    else
        line->_head = waiter;
    line->_tail = waiter;
    line->_tokens += waiter->n;
    waiter->since_ns = now_ns;
    rate->_waiting++;
    rate->_enqueued++;
}

static void line_remove(struct weir_rate *rate, struct weir_rate_waiter *waiter)
{
    struct weir_rate_line *line = &rate->_line[waiter->priority];
    if (waiter->prev)
        waiter->prev->next = waiter->next;
    else
        line->_head = waiter->next;
    if (waiter->next)
        waiter->next->prev = waiter->prev;
    else
        line->_tail = waiter->prev;
    line->_tokens -= waiter->n;
    rate->_waiting--;
    if (rate->_keeper == waiter)
        rate->_keeper = NULL;
}

static void take(struct weir_rate *rate, uint64_t n)
{
    rate->_bucket._tokens -= n;
    rate->_taken++;
    rate->_taken_tokens += n;
}

static void settle(struct weir_rate *rate, struct weir_rate_waiter *waiter, int result,
                   struct weir__wakes *wakes)
{
    line_remove(rate, waiter);
    waiter->is_settled = true;
    waiter->result = result;
    weir__park_signal(&waiter->place, wakes);
}

/* One place in the list is left free for the next keeper. */
static bool is_nearly_full(const struct weir__wakes *wakes)
{
    return wakes->count + 1 >= WEIR__WAKES_MAX;
}

/* Takes the lock, fills the bucket, serves the line as far as the tokens go. Returns the time. */
static uint64_t enter(struct weir_rate *rate, struct weir__wakes *wakes)
{
    uint64_t before_ns = WEIR__MUTANT(RATE_CLOCK_BEFORE_LOCK) ? weir_now_ns() : 0;
    weir_lock_acquire(&rate->_lock);
    uint64_t now_ns = weir_now_ns();
    if (WEIR__MUTANT(RATE_CLOCK_BEFORE_LOCK)) {
        now_ns = before_ns;
        if (before_ns < rate->_bucket._at_ns)
            rate->_bucket._at_ns = before_ns;
    }
    weir__bucket_fill(&rate->_bucket, rate->_per_s, rate->_burst, now_ns);
    struct weir_rate_waiter *first;
    while ((first = first_in_line(rate)) && first->n <= rate->_bucket._tokens &&
           !is_nearly_full(wakes)) {
        take(rate, first->n);
        rate->_granted++;
        weir_histogram_observe(&rate->_wait_ns, now_ns - first->since_ns);
        settle(rate, first, 0, wakes);
    }
    return now_ns;
}

/* Makes the first in line the keeper of the time and releases the lock. me, if not NULL, is about
 * to look at the time anyway and needs no signal. */
static void leave(struct weir_rate *rate, struct weir_rate_waiter *me, struct weir__wakes *wakes)
{
    struct weir_rate_waiter *first = first_in_line(rate);
    if (first && first != rate->_keeper && !WEIR__MUTANT(RATE_NEXT_NOT_APPOINTED)) {
        rate->_keeper = first;
        if (first != me)
            weir__park_signal(&first->place, wakes);
    }
    weir_lock_release(&rate->_lock);
    weir__wakes_send(wakes);
}

/* ---- taking ---- */

static int refuse_request(const struct weir_rate *rate, uint64_t n,
                          enum weir_rate_priority priority)
{
    if ((unsigned)priority >= WEIR_RATE_PRIORITIES)
        return weir__fail(WEIR_E_INVALID, rate->_name,
                          "rate '$n': there is no priority $1, only 0 (high) and 1 (low)",
                          (unsigned)priority, 0, 0);
    if (n == 0)
        return weir__fail(WEIR_E_INVALID, rate->_name,
                          "rate '$n': 0 tokens asked for, at least 1 is needed", 0, 0, 0);
    if (n > rate->_burst)
        return weir__fail(WEIR_E_TOO_LARGE, rate->_name,
                          "rate '$n': $1 asked for, at most $2 can be taken at once", n,
                          rate->_burst, 0);
    return 0;
}

/* When n tokens are there for a newcomer. Under the lock, after enter(). */
static uint64_t due_ns(const struct weir_rate *rate, uint64_t n, enum weir_rate_priority priority)
{
    uint64_t before = rate->_line[WEIR_RATE_HIGH]._tokens;
    if (priority == WEIR_RATE_LOW)
        before += rate->_line[WEIR_RATE_LOW]._tokens;
    return weir__bucket_due_ns(&rate->_bucket, rate->_per_s, before + n);
}

static bool has_nobody_before(const struct weir_rate *rate, enum weir_rate_priority priority)
{
    return !rate->_line[WEIR_RATE_HIGH]._head &&
           (priority == WEIR_RATE_HIGH || !rate->_line[WEIR_RATE_LOW]._head);
}

static bool take_if_there(struct weir_rate *rate, uint64_t n, enum weir_rate_priority priority)
{
    if (n > rate->_bucket._tokens || !has_nobody_before(rate, priority))
        return false;
    take(rate, n);
    return true;
}

static int refuse_paced(struct weir_rate *rate, uint64_t n, uint64_t delay_ns)
{
    rate->_paced++;
    return weir__fail(WEIR_E_PACED, rate->_name,
                      "rate '$n': $1 asked for, due in $t2, $3 waiting; try again then", n,
                      delay_ns, rate->_waiting);
}

int weir_rate_try(struct weir_rate *rate, uint64_t n, enum weir_rate_priority priority)
{
    struct weir__wakes wakes = {0};
    uint64_t now_ns = enter(rate, &wakes);
    int error = refuse_request(rate, n, priority);
    if (!error && !take_if_there(rate, n, priority))
        error = refuse_paced(rate, n, due_ns(rate, n, priority) - now_ns);
    leave(rate, NULL, &wakes);
    return error;
}

/* Why a newcomer may not join the line; 0 if it may. Under the lock. */
static int refuse_to_wait(struct weir_rate *rate, const struct weir_rate_waiter *waiter,
                          const struct weir_deadline *deadline, uint64_t now_ns)
{
    if (!deadline || (deadline->at_ns == WEIR_NEVER && !deadline->cancel))
        return weir__fail(WEIR_E_INVALID, rate->_name,
                          "rate '$n': would have to wait: give a deadline or a cancel token", 0, 0,
                          0);
    uint64_t at_ns = due_ns(rate, waiter->n, waiter->priority);
    if (deadline->at_ns < at_ns)
        return refuse_paced(rate, waiter->n, at_ns - now_ns);
    if (rate->_waiting < rate->_waiters_max)
        return 0;
    rate->_busy++;
    return weir__fail(WEIR_E_BUSY, rate->_name,
                      "rate '$n': $1 asked for, $2 waiting of at most $3; try again later",
                      waiter->n, rate->_waiting, rate->_waiters_max);
}

static int explain(const struct weir_rate *rate, uint64_t n, int error)
{
    switch (-error) {
    case WEIR_E_TIMEOUT:
        return weir__fail(WEIR_E_TIMEOUT, rate->_name,
                          "rate '$n': $1 asked for, not granted before the deadline", n, 0, 0);
    case WEIR_E_CANCELED:
        return weir__fail(WEIR_E_CANCELED, rate->_name,
                          "rate '$n': $1 asked for, canceled while waiting", n, 0, 0);
    case WEIR_E_TOO_LARGE:
        return weir__fail(WEIR_E_TOO_LARGE, rate->_name,
                          "rate '$n': $1 asked for, the burst was lowered while it waited", n, 0,
                          0);
    default:
        return error;
    }
}

/* Sleeps until there is a reason to look: the tokens are due, a signal, the end of the wait. Called
 * with the lock held by way of enter(), comes back the same way. */
static int sleep_once(struct weir_rate *rate, struct weir_rate_waiter *me,
                      const struct weir_deadline *deadline, struct weir__wakes *wakes)
{
    struct weir_deadline until = *deadline;
    if (first_in_line(rate) == me)
        until =
            weir_deadline_min(deadline, weir__bucket_due_ns(&rate->_bucket, rate->_per_s, me->n));
    /* The hook of a cancel token is off between two sleeps, and signals come under the lock. */
    weir__store32(&me->place.word, 0);
    leave(rate, me, wakes);
    int error = weir__park_wait(&me->place, &until);
    uint64_t now_ns = enter(rate, wakes);
    if (error == -WEIR_E_TIMEOUT && now_ns < deadline->at_ns)
        error = 0;
    return error;
}

int weir_rate_acquire(struct weir_rate *rate, uint64_t n, enum weir_rate_priority priority,
                      const struct weir_deadline *deadline)
{
    struct weir__wakes wakes = {0};
    struct weir_rate_waiter me = {.priority = priority, .n = n};
    uint64_t now_ns = enter(rate, &wakes);
    int error = refuse_request(rate, n, priority);
    if (error || take_if_there(rate, n, priority)) {
        leave(rate, NULL, &wakes);
        return error;
    }
    error = refuse_to_wait(rate, &me, deadline, now_ns);
    if (error) {
        leave(rate, NULL, &wakes);
        return error;
    }
    line_append(rate, &me, now_ns);
    while (!me.is_settled && !error)
        error = sleep_once(rate, &me, deadline, &wakes);
    if (!me.is_settled) {
        line_remove(rate, &me);
        if (error == -WEIR_E_TIMEOUT)
            rate->_timed_out++;
        else
            rate->_canceled++;
    } else {
        error = me.result;
    }
    leave(rate, NULL, &wakes);
    return explain(rate, n, error);
}

/* ---- changing and looking ---- */

/* Fails those who want more than the burst. True when wakes must be sent first. Under the lock. */
static bool fail_impossible(struct weir_rate *rate, struct weir__wakes *wakes)
{
    for (int i = 0; i < WEIR_RATE_PRIORITIES; i++) {
        struct weir_rate_waiter *next;
        for (struct weir_rate_waiter *waiter = rate->_line[i]._head; waiter; waiter = next) {
            next = waiter->next;
            if (waiter->n <= rate->_burst)
                continue;
            if (is_nearly_full(wakes))
                return true;
            rate->_refused++;
            settle(rate, waiter, -WEIR_E_TOO_LARGE, wakes);
        }
    }
    return false;
}

int weir_rate_set(struct weir_rate *rate, uint64_t per_s, uint64_t burst)
{
    int error = refuse_pace(rate->_name, per_s, burst);
    if (error)
        return error;
    struct weir__wakes wakes = {0};
    enter(rate, &wakes);
    rate->_per_s = per_s;
    rate->_burst = burst_or_default(per_s, burst);
    if (rate->_bucket._tokens >= rate->_burst) {
        rate->_bucket._tokens = rate->_burst;
        rate->_bucket._fraction = 0;
    }
    while (fail_impossible(rate, &wakes)) {
        weir_lock_release(&rate->_lock);
        weir__wakes_send(&wakes);
        weir_lock_acquire(&rate->_lock);
    }
    /* Whoever keeps the time has the wrong one. */
    rate->_keeper = NULL;
    leave(rate, NULL, &wakes);
    return 0;
}

uint64_t weir_rate_delay_ns(struct weir_rate *rate, uint64_t n, enum weir_rate_priority priority)
{
    struct weir__wakes wakes = {0};
    uint64_t now_ns = enter(rate, &wakes);
    bool is_possible = n <= rate->_burst && (unsigned)priority < WEIR_RATE_PRIORITIES;
    uint64_t at_ns = is_possible ? due_ns(rate, n, priority) : WEIR_NEVER;
    leave(rate, NULL, &wakes);
    return at_ns == WEIR_NEVER ? WEIR_NEVER : at_ns - now_ns;
}

void weir_rate_read(struct weir_rate *rate, struct weir_rate_stats *ret_stats)
{
    struct weir__wakes wakes = {0};
    enter(rate, &wakes);
    *ret_stats = (struct weir_rate_stats){
        .per_s = rate->_per_s,
        .burst = rate->_burst,
        .tokens = rate->_bucket._tokens,
        .waiting = rate->_waiting,
        .waiting_tokens = {rate->_line[WEIR_RATE_HIGH]._tokens, rate->_line[WEIR_RATE_LOW]._tokens},
        .taken = rate->_taken,
        .taken_tokens = rate->_taken_tokens,
        .enqueued = rate->_enqueued,
        .granted = rate->_granted,
        .canceled = rate->_canceled,
        .timed_out = rate->_timed_out,
        .refused = rate->_refused,
        .paced = rate->_paced,
        .busy = rate->_busy,
    };
    weir_histogram_read(&rate->_wait_ns, &ret_stats->wait_ns);
    leave(rate, NULL, &wakes);
}

const char *weir_rate_name(const struct weir_rate *rate)
{
    return rate->_name;
}
