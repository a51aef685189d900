/* hedge.c - a call that asks several targets.
 *
 * State of a call, under its lock: for each target whether it was not asked, is under way, or has
 * reported; how many good answers there are; whether the call is over. The calling thread alone
 * starts attempts and ends the call; reports come from anywhere.
 *
 * Happy path: start alpha, park until the hedge delay; a good answer comes, the reporter stores it
 * and signals; the caller marks the call as over, fires one token for all that is under way, and
 * returns with the answer.
 *
 * Failure modes: reports after the call is over discard their answer. The call's memory has one
 * reference for the caller and one for each attempt, so the last to go frees it. A failure signals
 * too, since another target may have to be asked in its place; so does an attempt that falters.
 */
#include <weir/hedge.h>

#include <string.h>

#include "assert.h"
#include "atomic.h"
#include "error.h"
#include "lock.h"
#include "memory.h"
#include "mutants.h"
#include "park.h"

#define CREDIT_OF_ONE UINT64_C(1000)

struct weir_hedge_call {
    struct weir_lock lock; /* guards all down to "fixed" */
    struct weir__park *parked;
    unsigned asked;
    unsigned under_way;
    unsigned faltering; /* of these: have failed and try again, so that others stand in for them */
    unsigned news;      /* reports, and attempts that faltered */
    unsigned good;
    unsigned references;
    int last_error;
    bool is_over;
    struct weir_hedge_answer answers[WEIR_HEDGE_TARGETS_MAX];

    /* fixed before the first attempt starts */
    struct weir_hedge *hedge;
    void (*discard)(void *answer);
    unsigned target_count;
    uint64_t at_ns;
    struct weir_cancel cancel; /* fires when the call is over */
    struct weir_hedge_attempt attempts[WEIR_HEDGE_TARGETS_MAX];
};

static const struct weir_lock_class hedge_class = {"hedge", WEIR__RANK_HEDGE};
static const struct weir_lock_class call_class = {"hedge_call", WEIR__RANK_HEDGE + 1};

static void set_default(uint32_t *field, uint32_t value)
{
    if (*field == 0)
        *field = value;
}

int weir_hedge_init(struct weir_hedge *hedge, const char *name,
                    const struct weir_hedge_options *options)
{
    struct weir_hedge fresh = {0};
    int error = weir__name_set(fresh._name, name);
    if (error)
        return error;
    struct weir_hedge_options *own = &fresh._options;
    if (options)
        *own = *options;
    set_default(&own->alpha, WEIR_HEDGE_ALPHA_DEFAULT);
    set_default(&own->beta, WEIR_HEDGE_BETA_DEFAULT);
    set_default(&own->needed, 1);
    set_default(&own->per_mille, WEIR_HEDGE_PER_MILLE_DEFAULT);
    set_default(&own->burst, WEIR_HEDGE_BURST_DEFAULT);
    if (own->beta == WEIR_HEDGE_NO_BETA)
        own->beta = 0;
    if (own->delay_ns == 0)
        own->delay_ns = WEIR_HEDGE_DELAY_DEFAULT_NS;
    if (own->alpha > WEIR_HEDGE_TARGETS_MAX || own->beta > WEIR_HEDGE_TARGETS_MAX ||
        own->needed > WEIR_HEDGE_TARGETS_MAX)
        return weir__fail(WEIR_E_INVALID, name,
                          "hedge '$n': alpha, beta and needed may be at most $1",
                          WEIR_HEDGE_TARGETS_MAX, 0, 0);
    if (own->per_mille > 1000)
        return weir__fail(WEIR_E_INVALID, name,
                          "hedge '$n': $1 extra attempts per 1000 calls, at most 1000",
                          own->per_mille, 0, 0);
    error = weir_histogram_init(&fresh._latency_ns, weir_histogram_time_bounds_ns,
                                WEIR_HISTOGRAM_TIME_COUNT);
    if (error)
        return error;
    weir_lock_init(&fresh._lock, &hedge_class);
    *hedge = fresh;
    return 0;
}

void weir_hedge_fini(struct weir_hedge *hedge)
{
    if (!hedge || !hedge->_lock._class)
        return;
    WEIR__ASSERT(weir__load64(&hedge->_attempts) == weir__load64(&hedge->_reported), "hedge",
                 hedge->_name, "destroyed while attempts are under way");
    weir_lock_fini(&hedge->_lock);
}

/* ---- the budget of extra attempts ---- */

static void earn(struct weir_hedge *hedge)
{
    uint64_t most = hedge->_options.burst * CREDIT_OF_ONE;
    weir_lock_acquire(&hedge->_lock);
    hedge->_calls++;
    hedge->_credit += hedge->_options.per_mille;
    if (hedge->_credit > most)
        hedge->_credit = most;
    weir_lock_release(&hedge->_lock);
}

static bool spend(struct weir_hedge *hedge)
{
    weir_lock_acquire(&hedge->_lock);
    bool enough = hedge->_credit >= CREDIT_OF_ONE;
    if (enough) {
        hedge->_credit -= CREDIT_OF_ONE;
        hedge->_hedges++;
    } else {
        hedge->_denied++;
    }
    weir_lock_release(&hedge->_lock);
    return enough;
}

/* ---- attempts ---- */

static void unref(struct weir_hedge_call *call)
{
    weir_lock_acquire(&call->lock);
    bool last = --call->references == 0;
    weir_lock_release(&call->lock);
    if (!last)
        return;
    weir_cancel_fini(&call->cancel);
    weir_lock_fini(&call->lock);
    weir__free(call);
}

void weir_hedge_report(struct weir_hedge_attempt *attempt, int result, void *answer)
{
    struct weir_hedge_call *call = attempt->_call;
    struct weir__wakes wakes = {0};
    WEIR__ASSERT(weir__xchg32(&attempt->_is_reported, 1) == 0, "hedge", call->hedge->_name,
                 "an attempt was reported twice");
    weir_cancel_fini(&attempt->_cancel);

    weir_lock_acquire(&call->lock);
    call->under_way--;
    call->faltering -= attempt->_has_faltered;
    call->news++;
    bool late = result == 0 && call->is_over && !WEIR__MUTANT(HEDGE_LATE_ANSWER_KEPT);
    if (result == 0 && !late) {
        call->answers[call->good++] = (struct weir_hedge_answer){attempt->target, answer};
    } else if (result != 0) {
        call->last_error = result;
    }
    if (call->parked && !weir__park_is_signaled(call->parked))
        weir__park_signal(call->parked, &wakes);
    weir_lock_release(&call->lock);
    weir__wakes_send(&wakes);

    if (late) {
        weir__count(&call->hedge->_late, 1);
        if (call->discard)
            call->discard(answer);
    }
    weir__add64(&call->hedge->_reported, 1); /* the last time that the hedge is touched */
    unref(call);
}

void weir_hedge_falter(struct weir_hedge_attempt *attempt)
{
    struct weir_hedge_call *call = attempt->_call;
    struct weir__wakes wakes = {0};
    weir_lock_acquire(&call->lock);
    if (!attempt->_has_faltered) {
        attempt->_has_faltered = true;
        call->faltering++;
        call->news++;
        if (call->parked && !weir__park_is_signaled(call->parked) &&
            !WEIR__MUTANT(HEDGE_FALTERS_UNHEARD))
            weir__park_signal(call->parked, &wakes);
    }
    weir_lock_release(&call->lock);
    weir__wakes_send(&wakes);
}

/* Asks the next target. The caller's thread alone does this. */
static void start_next(struct weir_hedge_call *call, const struct weir_hedge_ops *ops, void *arg,
                       bool is_hedge)
{
    weir_lock_acquire(&call->lock);
    unsigned target = call->asked++;
    call->under_way++;
    call->references++;
    weir_lock_release(&call->lock);

    struct weir_hedge_attempt *attempt = &call->attempts[target];
    attempt->target = target;
    attempt->_call = call;
    weir_cancel_init(&attempt->_cancel, &call->cancel);
    attempt->deadline = (struct weir_deadline){call->at_ns, &attempt->_cancel};
    attempt->is_hedge = is_hedge;
    weir__count(&call->hedge->_attempts, 1);
    int error = ops->start(arg, attempt);
    if (error)
        weir_hedge_report(attempt, error, NULL);
}

/* Parks until there is news or the time comes. Returns at once if news came meanwhile. */
static int park(struct weir_hedge_call *call, unsigned seen_news, const struct weir_deadline *until)
{
    struct weir__park place = {0};
    weir_lock_acquire(&call->lock);
    bool news = call->news != seen_news;
    if (!news)
        call->parked = &place;
    weir_lock_release(&call->lock);
    if (news)
        return 0;
    int error = weir__park_wait(&place, until);
    weir_lock_acquire(&call->lock);
    call->parked = NULL;
    if (weir__park_is_signaled(&place))
        error = 0;
    weir_lock_release(&call->lock);
    return error;
}

/* What the caller is to do next, seen in one piece: a report that comes between two looks would be
 * taken into account by one and missed by the other. */
struct outlook {
    bool is_enough;
    bool is_hopeless;
    bool wants_more; /* fewer than width are under way or have answered, and somebody is left */
    bool has_targets;
    unsigned news;
    int last_error;
};

static struct outlook look(struct weir_hedge_call *call, unsigned width)
{
    unsigned needed = call->hedge->_options.needed;
    weir_lock_acquire(&call->lock);
    bool has_targets = call->asked < call->target_count;
    struct outlook outlook = {
        .is_enough = call->good >= needed,
        .is_hopeless = !has_targets && call->good + call->under_way < needed,
        .wants_more = has_targets && call->under_way - call->faltering + call->good < width,
        .has_targets = has_targets,
        .news = call->news,
        .last_error = call->last_error,
    };
    weir_lock_release(&call->lock);
    return outlook;
}

/* Runs the call until there are enough answers (0) or there is a reason to give up. */
static int ask(struct weir_hedge_call *call, const struct weir_hedge_ops *ops, void *arg,
               const struct weir_deadline *deadline)
{
    const struct weir_hedge_options *options = &call->hedge->_options;
    uint64_t hedge_at_ns = weir_time_add(weir_now_ns(), options->delay_ns);
    unsigned width = options->alpha < options->needed ? options->needed : options->alpha;
    bool hedged = options->beta == 0;
    for (;;) {
        struct outlook outlook = look(call, width);
        if (outlook.is_enough)
            return 0;
        if (outlook.is_hopeless)
            return outlook.last_error;
        if (outlook.wants_more) {
            int ended = weir_deadline_check(deadline);
            if (ended)
                return ended;
            start_next(call, ops, arg, false);
            continue;
        }
        bool may_hedge = !hedged && outlook.has_targets && hedge_at_ns < deadline->at_ns;
        struct weir_deadline until =
            may_hedge ? weir_deadline_min(deadline, hedge_at_ns) : *deadline;
        int error = park(call, outlook.news, &until);
        if (error == -WEIR_E_TIMEOUT && may_hedge) {
            hedged = true;
            unsigned most = width + options->beta;
            for (; width < most && !weir_deadline_check(deadline) &&
                   look(call, width + 1).wants_more && spend(call->hedge);
                 width++)
                start_next(call, ops, arg, true);
        } else if (error) {
            return error;
        }
    }
}

/* Nothing more counts: stops what is under way and hands over the answers, or discards them. */
static void finish(struct weir_hedge_call *call, int error, struct weir_hedge_answer *ret_answers,
                   uint64_t started_ns)
{
    struct weir_hedge *hedge = call->hedge;
    weir_lock_acquire(&call->lock);
    call->is_over = true;
    unsigned under_way = call->under_way;
    unsigned good = call->good;
    weir_lock_release(&call->lock);

    if (!WEIR__MUTANT(HEDGE_LOSER_GOES_ON))
        weir_cancel_fire(&call->cancel);
    unsigned taken = error ? 0 : hedge->_options.needed;
    bool hedge_won = false;
    for (unsigned i = 0; i < taken; i++) {
        ret_answers[i] = call->answers[i];
        hedge_won |= call->attempts[call->answers[i].target].is_hedge;
    }
    for (unsigned i = taken; i < good && call->discard; i++)
        call->discard(call->answers[i].answer);

    weir_lock_acquire(&hedge->_lock);
    hedge->_canceled += under_way;
    hedge->_failed += error != 0;
    hedge->_wins_by_hedge += hedge_won;
    weir_lock_release(&hedge->_lock);
    if (good > taken)
        weir__count(&hedge->_late, good - taken);
    if (!error)
        weir_histogram_observe(&hedge->_latency_ns, weir_now_ns() - started_ns);
}

static int explain(struct weir_hedge *hedge, int error, unsigned target_count)
{
    if (error == -WEIR_E_TIMEOUT)
        return weir__fail(WEIR_E_TIMEOUT, hedge->_name,
                          "hedge '$n': none of $1 targets answered in time", target_count, 0, 0);
    if (error == -WEIR_E_CANCELED)
        return weir__fail(WEIR_E_CANCELED, hedge->_name, "hedge '$n': canceled", 0, 0, 0);
    if (error)
        return weir__fail(-error, hedge->_name,
                          "hedge '$n': too few of $1 targets gave a good answer, $2 needed",
                          target_count, hedge->_options.needed, 0);
    return 0;
}

int weir_hedge_run(struct weir_hedge *hedge, const struct weir_hedge_ops *ops, void *arg,
                   unsigned target_count, struct weir_hedge_answer *ret_answers,
                   const struct weir_deadline *deadline)
{
    if (target_count < hedge->_options.needed || target_count > WEIR_HEDGE_TARGETS_MAX)
        return weir__fail(WEIR_E_INVALID, hedge->_name,
                          "hedge '$n': $1 targets given, $2 to $3 are needed", target_count,
                          hedge->_options.needed, WEIR_HEDGE_TARGETS_MAX);
    if (!deadline || (deadline->at_ns == WEIR_NEVER && !deadline->cancel))
        return weir__fail(WEIR_E_INVALID, hedge->_name,
                          "hedge '$n': give a deadline or a cancel token", 0, 0, 0);
    struct weir_hedge_call *call = weir__alloc(1, sizeof(*call));
    if (!call)
        return weir__fail(WEIR_E_NO_MEMORY, hedge->_name, "hedge '$n': out of memory", 0, 0, 0);
    weir_lock_init(&call->lock, &call_class);
    weir_cancel_init(&call->cancel, NULL);
    call->references = 1;
    call->last_error = -WEIR_E_NO_ROUTE;
    call->hedge = hedge;
    call->discard = ops->discard;
    call->target_count = target_count;
    call->at_ns = deadline->at_ns;

    uint64_t started_ns = weir_now_ns();
    earn(hedge);
    int error = ask(call, ops, arg, deadline);
    finish(call, error, ret_answers, started_ns);
    unref(call);
    return explain(hedge, error, target_count);
}

void weir_hedge_read(struct weir_hedge *hedge, struct weir_hedge_stats *ret_stats)
{
    weir_lock_acquire(&hedge->_lock);
    *ret_stats = (struct weir_hedge_stats){
        .calls = hedge->_calls,
        .attempts = weir__load64_relaxed(&hedge->_attempts),
        .reported = weir__load64_relaxed(&hedge->_reported),
        .hedges = hedge->_hedges,
        .denied = hedge->_denied,
        .wins_by_hedge = hedge->_wins_by_hedge,
        .canceled = hedge->_canceled,
        .late = weir__load64_relaxed(&hedge->_late),
        .failed = hedge->_failed,
    };
    weir_lock_release(&hedge->_lock);
    weir_histogram_read(&hedge->_latency_ns, &ret_stats->latency_ns);
}

const char *weir_hedge_name(const struct weir_hedge *hedge)
{
    return hedge->_name;
}
