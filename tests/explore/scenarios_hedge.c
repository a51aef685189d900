/* Hedging: answers, failures, the end of the call and the budget at once. */
#include <weir/hedge.h>

#include "xp.h"

#define TARGETS 3

static struct {
    struct weir_hedge hedge;
    struct weir_cancel never;
    struct weir_hedge_attempt *attempts[TARGETS];
    unsigned reported[TARGETS]; /* by its target, well or not */
    unsigned discarded[TARGETS];
    unsigned good;
    unsigned started;
    bool is_over;
    int result;
    struct weir_hedge_answer answer;
    unsigned asked;
    unsigned wins;
} s;

static char answers[TARGETS];

static void make(uint32_t alpha, uint32_t beta)
{
    struct weir_hedge_options options = {
        .alpha = alpha, .beta = beta, .delay_ns = 10, .per_mille = 500, .burst = 1};
    XP_ASSERT_EQ(weir_hedge_init(&s.hedge, "lookup", &options), 0);
    weir_cancel_init(&s.never, NULL);
}

static int start(void *arg, struct weir_hedge_attempt *attempt)
{
    (void)arg;
    XP_ASSERT(!s.is_over, "started after the call was over");
    XP_ASSERT(!s.attempts[attempt->target], "a target is asked once");
    s.attempts[attempt->target] = attempt;
    s.started++;
    return 0;
}

static void discard(void *answer)
{
    XP_ASSERT(s.discarded[(char *)answer - answers]++ == 0, "discarded twice");
}

static const struct weir_hedge_ops ops = {start, discard};

/* The call, until somebody answers: it has no other end. */
static void call(unsigned targets)
{
    struct weir_deadline deadline = weir_deadline_until(&s.never);
    s.result = weir_hedge_run(&s.hedge, &ops, NULL, targets, &s.answer, &deadline);
    s.is_over = true;
}
static void asks_one(void)
{
    call(1);
}
static void asks_two(void)
{
    call(2);
}

/* ---- targets ---- */

static bool is_asked_or_over(void *arg)
{
    return s.attempts[(uintptr_t)arg] || s.is_over;
}
/* NULL when the call ended without asking it. */
static struct weir_hedge_attempt *wait_for(uintptr_t target)
{
    xp_await(is_asked_or_over, (void *)target);
    return s.attempts[target];
}
static void answer(unsigned target)
{
    struct weir_hedge_attempt *attempt = wait_for(target);
    if (!attempt)
        return;
    s.reported[target]++;
    s.good++;
    weir_hedge_report(attempt, 0, &answers[target]);
}
static void first_answers(void)
{
    answer(0);
}
static void second_answers(void)
{
    answer(1);
}
static void first_fails(void)
{
    struct weir_hedge_attempt *attempt = wait_for(0);
    s.reported[0]++;
    weir_hedge_report(attempt, -WEIR_E_TRANSIENT, NULL);
}
/* Goes on until its token tells it that it has lost. */
static void second_hangs(void)
{
    struct weir_hedge_attempt *attempt = wait_for(1);
    if (!attempt)
        return;
    struct weir_deadline deadline = weir_deadline_until(attempt->deadline.cancel);
    XP_ASSERT_EQ(weir_deadline_sleep(&deadline), -WEIR_E_CANCELED);
    s.reported[1]++;
    weir_hedge_report(attempt, -WEIR_E_CANCELED, NULL);
}

/* ---- checks ---- */

/* Each good answer is in one place: with the caller, or discarded. */
static void check(void)
{
    unsigned places = s.result == 0;
    for (unsigned i = 0; i < TARGETS; i++) {
        XP_ASSERT(!s.discarded[i] || s.reported[i], "discarded what was never reported");
        places += s.discarded[i];
    }
    XP_ASSERT_EQ(places, s.good);
    if (s.result == 0)
        XP_ASSERT(s.answer.answer == &answers[s.answer.target] && !s.discarded[s.answer.target],
                  "the winner's answer was discarded, or is somebody else's");
    struct weir_hedge_stats stats;
    weir_hedge_read(&s.hedge, &stats);
    XP_ASSERT_EQ(stats.attempts, s.started);
    XP_ASSERT_EQ(stats.reported, s.started);
    XP_ASSERT_EQ(stats.late, s.good - (s.result == 0));
    weir_hedge_fini(&s.hedge);
    weir_cancel_fini(&s.never);
}

static void won_check(void)
{
    XP_ASSERT_EQ(s.result, 0);
    check();
}

/* ---- scenarios ---- */

static void two_at_once(void)
{
    make(2, WEIR_HEDGE_NO_BETA);
}
XP_SCENARIO(hedge_losers_are_canceled,
            .about = "the first answer ends the call, and the other attempt is told so",
            XP_STATE(s), .setup = two_at_once, .threads = {asks_two, first_answers, second_hangs},
            .check = won_check)

XP_SCENARIO(hedge_late_answer, .about = "of two good answers one wins, the other is discarded once",
            XP_STATE(s), .setup = two_at_once, .threads = {asks_two, first_answers, second_answers},
            .check = won_check)

static void one_at_once(void)
{
    make(1, WEIR_HEDGE_NO_BETA);
}
XP_SCENARIO(hedge_failure_is_replaced,
            .about = "a failure at any moment gets another target asked in its place", XP_STATE(s),
            .setup = one_at_once, .threads = {asks_two, first_fails, second_answers},
            .check = won_check)

/* The first target has failed once and tries again, which lasts until it has lost. */
static void first_falters(void)
{
    struct weir_hedge_attempt *attempt = wait_for(0);
    struct weir_deadline deadline = weir_deadline_until(attempt->deadline.cancel);
    weir_hedge_falter(attempt);
    weir_hedge_falter(attempt);
    XP_ASSERT_EQ(weir_deadline_sleep(&deadline), -WEIR_E_CANCELED);
    s.reported[0]++;
    weir_hedge_report(attempt, -WEIR_E_TRANSIENT, NULL);
}
static void falters_check(void)
{
    XP_ASSERT_EQ(s.answer.target, 1);
    won_check();
}
XP_SCENARIO(hedge_falters,
            .about = "while one target is tried again, another is asked in its place", XP_STATE(s),
            .setup = one_at_once, .threads = {asks_two, first_falters, second_answers},
            .check = falters_check)

static void hopeless_check(void)
{
    XP_ASSERT_EQ(s.result, -WEIR_E_TRANSIENT);
    check();
}
XP_SCENARIO(hedge_all_fail, .about = "when all have failed the call ends at once", XP_STATE(s),
            .setup = one_at_once, .threads = {asks_one, first_fails}, .check = hopeless_check)

/* The deadline comes, an answer comes: the caller has it or it is discarded; the last one to go
 * frees the call. */
static void asks_in_time(void)
{
    struct weir_deadline deadline = weir_deadline_in(WEIR_NS_PER_S, NULL);
    s.result = weir_hedge_run(&s.hedge, &ops, NULL, 1, &s.answer, &deadline);
    XP_ASSERT(s.result == 0 || s.result == -WEIR_E_TIMEOUT, "neither answered nor timed out");
    s.is_over = true;
}
XP_SCENARIO(hedge_deadline_vs_answer, .about = "an answer that meets the deadline is in one place",
            XP_STATE(s), .setup = one_at_once, .threads = {asks_in_time, first_answers},
            .check = check, .bound = 3)

/* Two calls have earned half an extra attempt each, and both want one. The first target of each
 * hangs; an extra attempt answers at once. */
static int start_hanging(void *arg, struct weir_hedge_attempt *attempt)
{
    struct weir_hedge_attempt **first = arg;
    if (attempt->target == 0)
        *first = attempt;
    else
        weir_hedge_report(attempt, 0, &answers[1]);
    return 0;
}
static void calls(void)
{
    static const struct weir_hedge_ops hanging = {start_hanging, NULL};
    struct weir_hedge_attempt *first = NULL;
    struct weir_hedge_answer got;
    struct weir_deadline deadline = weir_deadline_in(WEIR_NS_PER_S, NULL);
    int error = weir_hedge_run(&s.hedge, &hanging, &first, 2, &got, &deadline);
    XP_ASSERT(error == 0 || error == -WEIR_E_TIMEOUT, "neither answered nor timed out");
    if (!first)
        return; /* the other call's wait took all of its time, so it asked nobody */
    XP_ASSERT(weir_cancel_is_fired(first->deadline.cancel), "the loser was not told");
    s.asked++;
    s.wins += error == 0;
    weir_hedge_report(first, -WEIR_E_CANCELED, NULL);
}
static void hedged_setup(void)
{
    make(1, 1);
}
static void budget_check(void)
{
    struct weir_hedge_stats stats;
    weir_hedge_read(&s.hedge, &stats);
    XP_ASSERT(stats.hedges <= 1, "more extra attempts than were earned");
    XP_ASSERT_EQ(stats.hedges, s.wins);
    XP_ASSERT_EQ(stats.wins_by_hedge, s.wins);
    XP_ASSERT(stats.hedges + stats.denied <= 2, "a call asks for one extra attempt");
    XP_ASSERT_EQ(stats.attempts, s.asked + stats.hedges);
    weir_hedge_fini(&s.hedge);
    weir_cancel_fini(&s.never);
}
XP_SCENARIO(hedge_budget, .about = "two calls share one extra attempt, and no more", XP_STATE(s),
            .setup = hedged_setup, .threads = {calls, calls}, .check = budget_check)
