/* Hedging: who is asked when, who wins, what becomes of the losers, what it may cost. */
#include "tap.h"

#include <weir/hedge.h>

#include "clock.h"
#include "thread.h"

#define TARGETS 6

/* A world in which a test decides what each target does, and when. */
static struct {
    struct weir_hedge_attempt *attempts[TARGETS];
    int at_start[TARGETS]; /* 0: stays under way; 1: answers at once; negative: fails at once */
    unsigned started;
    unsigned order[TARGETS];
    unsigned discarded;
    uint64_t advance_ns;         /* moves the clock at the last start, so that the delay passes */
    unsigned answer_on_start_of; /* when this target starts, target 0 answers */
    bool falters;                /* target 0, when it starts, twice */
    struct weir_cancel *fired_by_third; /* when three have been started */
} world;

static int values[TARGETS];

static int start(void *arg, struct weir_hedge_attempt *attempt)
{
    (void)arg;
    unsigned target = attempt->target;
    world.order[world.started++] = target;
    world.attempts[target] = attempt;
    if (world.falters && target == 0) {
        weir_hedge_falter(attempt);
        weir_hedge_falter(attempt);
    }
    if (world.answer_on_start_of && target == world.answer_on_start_of)
        weir_hedge_report(world.attempts[0], 0, &values[0]);
    if (world.at_start[target] < 0)
        return world.at_start[target];
    if (world.at_start[target] == 1)
        weir_hedge_report(attempt, 0, &values[target]);
    if (world.advance_ns)
        weir__clock_advance(world.advance_ns);
    if (world.fired_by_third && world.started == 3)
        weir_cancel_fire(world.fired_by_third);
    return 0;
}

static void discard(void *answer)
{
    (void)answer;
    world.discarded++;
}

static const struct weir_hedge_ops ops = {start, discard};

static void reset(void)
{
    memset(&world, 0, sizeof(world));
    weir__clock_fake(WEIR_NS_PER_S);
}

TEST(the_first_good_answer_wins)
{
    reset();
    struct weir_hedge hedge;
    struct weir_hedge_answer answer;
    CHECK_EQ(weir_hedge_init(&hedge, "lookup", NULL), 0);
    world.at_start[2] = 1;
    struct weir_deadline deadline = weir_deadline_in(WEIR_NS_PER_S, NULL);
    CHECK_EQ(weir_hedge_run(&hedge, &ops, NULL, TARGETS, &answer, &deadline), 0);
    CHECK_EQ(answer.target, 2);
    CHECK(answer.answer == &values[2]);
    CHECK_EQ(world.started, 3); /* alpha, and no more */
    /* The losers' tokens have fired, and their late answers are discarded. */
    CHECK(weir_cancel_is_fired(world.attempts[0]->deadline.cancel));
    CHECK(weir_cancel_is_fired(world.attempts[1]->deadline.cancel));
    weir_hedge_report(world.attempts[0], 0, &values[0]);
    weir_hedge_report(world.attempts[1], -WEIR_E_CANCELED, NULL);
    CHECK_EQ(world.discarded, 1);
    struct weir_hedge_stats stats;
    weir_hedge_read(&hedge, &stats);
    CHECK_EQ(stats.calls, 1);
    CHECK_EQ(stats.attempts, 3);
    CHECK_EQ(stats.canceled, 2);
    CHECK_EQ(stats.late, 1);
    CHECK_EQ(stats.latency_ns.count, 1);
    CHECK_EQ(stats.wins_by_hedge, 0);
    weir_hedge_fini(&hedge);
    weir__clock_unfake();
}

/* Enough is enough: once there is an answer nobody else is asked. */
TEST(an_answer_at_once_saves_the_other_attempts)
{
    reset();
    struct weir_hedge hedge;
    struct weir_hedge_answer answer;
    CHECK_EQ(weir_hedge_init(&hedge, "lookup", NULL), 0);
    world.at_start[0] = 1;
    struct weir_deadline deadline = weir_deadline_in(WEIR_NS_PER_S, NULL);
    CHECK_EQ(weir_hedge_run(&hedge, &ops, NULL, TARGETS, &answer, &deadline), 0);
    CHECK_EQ(answer.target, 0);
    CHECK_EQ(world.started, 1);
    weir_hedge_fini(&hedge);
    weir__clock_unfake();
}

TEST(failed_attempts_are_replaced)
{
    reset();
    struct weir_hedge hedge;
    struct weir_hedge_answer answer;
    struct weir_hedge_options options = {.alpha = 1};
    CHECK_EQ(weir_hedge_init(&hedge, "lookup", &options), 0);
    world.at_start[0] = -WEIR_E_TRANSIENT;
    world.at_start[1] = -WEIR_E_NO_ROUTE;
    world.at_start[2] = 1;
    struct weir_deadline deadline = weir_deadline_in(WEIR_NS_PER_S, NULL);
    CHECK_EQ(weir_hedge_run(&hedge, &ops, NULL, TARGETS, &answer, &deadline), 0);
    CHECK_EQ(answer.target, 2);
    CHECK_EQ(world.started, 3);
    struct weir_hedge_stats stats;
    weir_hedge_read(&hedge, &stats);
    CHECK_EQ(stats.hedges, 0); /* a replacement is no extra load */
    weir_hedge_fini(&hedge);
    weir__clock_unfake();
}

/* Who tries again is stood in for, once, and may still win. */
TEST(who_falters_is_stood_in_for_and_may_win)
{
    reset();
    struct weir_hedge hedge;
    struct weir_hedge_answer answer;
    struct weir_hedge_options options = {.alpha = 1, .beta = WEIR_HEDGE_NO_BETA};
    CHECK_EQ(weir_hedge_init(&hedge, "lookup", &options), 0);
    world.falters = true;
    world.answer_on_start_of = 1;
    struct weir_deadline deadline = weir_deadline_in(WEIR_NS_PER_S, NULL);
    CHECK_EQ(weir_hedge_run(&hedge, &ops, NULL, TARGETS, &answer, &deadline), 0);
    CHECK_EQ(answer.target, 0);
    CHECK_EQ(world.started, 2);
    CHECK(!world.attempts[1]->is_hedge);
    weir_hedge_report(world.attempts[1], -WEIR_E_CANCELED, NULL);
    struct weir_hedge_stats stats;
    weir_hedge_read(&hedge, &stats);
    CHECK_EQ(stats.hedges, 0);
    weir_hedge_fini(&hedge);
    weir__clock_unfake();
}

TEST(when_all_fail_the_last_error_comes_at_once)
{
    reset();
    struct weir_hedge hedge;
    struct weir_hedge_answer answer;
    CHECK_EQ(weir_hedge_init(&hedge, "lookup", NULL), 0);
    for (int i = 0; i < TARGETS; i++)
        world.at_start[i] = i == TARGETS - 1 ? -WEIR_E_NO_ROUTE : -WEIR_E_TRANSIENT;
    struct weir_deadline deadline = weir_deadline_in(WEIR_NS_PER_S, NULL);
    CHECK_EQ(weir_hedge_run(&hedge, &ops, NULL, TARGETS, &answer, &deadline), -WEIR_E_NO_ROUTE);
    CHECK_EQ(world.started, TARGETS);
    weir_hedge_fini(&hedge);
    weir__clock_unfake();
}

/* With one thread the clock must move during a start: the delay has passed when the call parks. */
TEST(after_the_delay_others_are_asked)
{
    reset();
    struct weir_hedge hedge;
    struct weir_hedge_answer answer;
    struct weir_hedge_options options = {
        .alpha = 1, .beta = 2, .delay_ns = 100, .per_mille = 1000, .burst = 2};
    CHECK_EQ(weir_hedge_init(&hedge, "lookup", &options), 0);
    struct weir_deadline deadline = weir_deadline_in(WEIR_NS_PER_S, NULL);
    /* The first call earns one extra attempt, and spends it. */
    world.at_start[1] = 1;
    world.advance_ns = 200;
    CHECK_EQ(weir_hedge_run(&hedge, &ops, NULL, TARGETS, &answer, &deadline), 0);
    CHECK_EQ(answer.target, 1);
    CHECK_EQ(world.started, 2);
    weir_hedge_report(world.attempts[0], -WEIR_E_CANCELED, NULL);
    struct weir_hedge_stats stats;
    weir_hedge_read(&hedge, &stats);
    CHECK_EQ(stats.hedges, 1);
    CHECK_EQ(stats.denied, 1);
    CHECK_EQ(stats.wins_by_hedge, 1);
    weir_hedge_fini(&hedge);
    weir__clock_unfake();
}

/* One call that target 0 leaves unanswered until so much time has passed. Returns who was asked. */
static unsigned asked_after(uint64_t passed_ns, uint64_t deadline_ns)
{
    reset();
    struct weir_hedge hedge;
    struct weir_hedge_answer answer;
    struct weir_hedge_options options = {.alpha = 1, .per_mille = 1000};
    CHECK_EQ(weir_hedge_init(&hedge, "lookup", &options), 0);
    struct weir_deadline deadline = weir_deadline_in(deadline_ns, NULL);
    for (int i = 0; i < TARGETS; i++) { /* easy calls earn more extra attempts than will be used */
        world.at_start[0] = 1;
        CHECK_EQ(weir_hedge_run(&hedge, &ops, NULL, TARGETS, &answer, &deadline), 0);
        memset(&world, 0, sizeof(world));
    }
    world.advance_ns = passed_ns;
    CHECK_EQ(weir_hedge_run(&hedge, &ops, NULL, TARGETS, &answer, &deadline), -WEIR_E_TIMEOUT);
    struct weir_hedge_stats stats;
    weir_hedge_read(&hedge, &stats);
    CHECK_EQ(stats.hedges + 1, world.started);
    CHECK_EQ(stats.denied, 0);
    for (unsigned i = 0; i < world.started; i++) {
        CHECK_EQ(world.order[i], i); /* nobody twice */
        weir_hedge_report(world.attempts[i], -WEIR_E_CANCELED, NULL);
    }
    weir_hedge_fini(&hedge);
    weir__clock_unfake();
    return world.started;
}

/* A call that ends before the delay asks nobody else, and one that ends after it does. */
TEST(after_150_ms_two_more_are_asked_unless_told_otherwise)
{
    CHECK_EQ(WEIR_HEDGE_DELAY_DEFAULT_NS, 150000000);
    CHECK_EQ(WEIR_HEDGE_BETA_DEFAULT, 2);
    CHECK_EQ(asked_after(150000000, 150000000), 1);
    CHECK_EQ(asked_after(150000000, 450000000), 1 + 2);
}

TEST(extra_attempts_stay_within_their_budget)
{
    struct weir_hedge hedge;
    struct weir_hedge_options options = {.alpha = 1, .beta = 1, .delay_ns = 100};
    reset();
    CHECK_EQ(weir_hedge_init(&hedge, "lookup", &options), 0);
    struct weir_hedge_answer answer;
    /* The first target never answers in time; the call ends by its deadline or by the second. */
    for (int i = 0; i < 2000; i++) {
        reset();
        world.at_start[1] = 1;
        world.advance_ns = 200;
        struct weir_deadline deadline = weir_deadline_in(300, NULL);
        struct weir_hedge_stats before, after;
        weir_hedge_read(&hedge, &before);
        /* A call without a hedge would wait for ever on this fake clock: give it its time. */
        if (before.calls * 50 % 1000 != 950)
            world.at_start[0] = -WEIR_E_TRANSIENT;
        CHECK_EQ(weir_hedge_run(&hedge, &ops, NULL, 2, &answer, &deadline), 0);
        weir_hedge_read(&hedge, &after);
        if (after.hedges > before.hedges)
            weir_hedge_report(world.attempts[0], -WEIR_E_CANCELED, NULL);
        CHECK(after.hedges * 1000 <= after.calls * 50);
    }
    struct weir_hedge_stats stats;
    weir_hedge_read(&hedge, &stats);
    CHECK_EQ(stats.calls, 2000);
    CHECK_EQ(stats.hedges, 100);
    weir_hedge_fini(&hedge);
    weir__clock_unfake();
}

TEST(the_deadline_ends_everything)
{
    reset();
    struct weir_hedge hedge;
    struct weir_hedge_answer answer;
    CHECK_EQ(weir_hedge_init(&hedge, "lookup", NULL), 0);
    struct weir_deadline deadline = weir_deadline_in(500, NULL);
    world.advance_ns = 200;
    CHECK_EQ(weir_hedge_run(&hedge, &ops, NULL, TARGETS, &answer, &deadline), -WEIR_E_TIMEOUT);
    CHECK_HAS(weir_error_detail(), "hedge 'lookup': none of 6 targets answered in time");
    for (int i = 0; i < 3; i++) {
        CHECK_EQ(world.attempts[i]->deadline.at_ns, WEIR_NS_PER_S + 500);
        CHECK(weir_cancel_is_fired(world.attempts[i]->deadline.cancel));
        weir_hedge_report(world.attempts[i], 0, NULL);
    }
    CHECK_EQ(world.discarded, 3);
    weir_hedge_fini(&hedge);
    weir__clock_unfake();
}

TEST(a_canceled_call_cancels_its_attempts)
{
    reset();
    struct weir_hedge hedge;
    struct weir_hedge_answer answer;
    struct weir_cancel token;
    weir_cancel_init(&token, NULL);
    world.fired_by_third = &token;
    CHECK_EQ(weir_hedge_init(&hedge, "lookup", NULL), 0);
    struct weir_deadline deadline = weir_deadline_until(&token);
    CHECK_EQ(weir_hedge_run(&hedge, &ops, NULL, TARGETS, &answer, &deadline), -WEIR_E_CANCELED);
    for (int i = 0; i < 3; i++) {
        CHECK(weir_cancel_is_fired(world.attempts[i]->deadline.cancel));
        weir_hedge_report(world.attempts[i], -WEIR_E_CANCELED, NULL);
    }
    weir_hedge_fini(&hedge);
    weir_cancel_fini(&token);
    weir__clock_unfake();
}

TEST(nobody_is_asked_after_the_end)
{
    reset();
    struct weir_hedge hedge;
    struct weir_hedge_answer answer;
    struct weir_cancel token;
    weir_cancel_init(&token, NULL);
    weir_cancel_fire(&token);
    CHECK_EQ(weir_hedge_init(&hedge, "lookup", NULL), 0);
    struct weir_deadline fired = weir_deadline_until(&token), past = {1, NULL};
    CHECK_EQ(weir_hedge_run(&hedge, &ops, NULL, TARGETS, &answer, &fired), -WEIR_E_CANCELED);
    CHECK_EQ(weir_hedge_run(&hedge, &ops, NULL, TARGETS, &answer, &past), -WEIR_E_TIMEOUT);
    CHECK_EQ(world.started, 0);
    /* The time passes while failed attempts are being replaced. */
    for (int i = 0; i < TARGETS; i++)
        world.at_start[i] = -WEIR_E_TRANSIENT;
    world.advance_ns = 0;
    struct weir_deadline soon = weir_deadline_in(500, NULL);
    CHECK_EQ(weir_hedge_run(&hedge, &ops, NULL, TARGETS, &answer, &soon), -WEIR_E_TRANSIENT);
    CHECK_HAS(weir_error_detail(), "hedge 'lookup': too few of 6 targets gave a good answer");
    weir_hedge_fini(&hedge);
    weir_cancel_fini(&token);
    weir__clock_unfake();
}

/* The first extra attempt takes so long to start that there is no time for the second. */
TEST(the_time_may_pass_while_hedges_are_started)
{
    reset();
    struct weir_hedge hedge;
    struct weir_hedge_answer answer;
    struct weir_hedge_options options = {
        .alpha = 1, .beta = 2, .delay_ns = 100, .per_mille = 1000, .burst = 5};
    CHECK_EQ(weir_hedge_init(&hedge, "lookup", &options), 0);
    struct weir_deadline deadline = weir_deadline_in(WEIR_NS_PER_S, NULL);
    for (int i = 0; i < 5; i++) { /* save up some extra attempts */
        memset(&world, 0, sizeof(world));
        world.at_start[0] = 1;
        CHECK_EQ(weir_hedge_run(&hedge, &ops, NULL, TARGETS, &answer, &deadline), 0);
    }
    memset(&world, 0, sizeof(world));
    world.advance_ns = 200;
    deadline = weir_deadline_in(350, NULL);
    CHECK_EQ(weir_hedge_run(&hedge, &ops, NULL, TARGETS, &answer, &deadline), -WEIR_E_TIMEOUT);
    CHECK_EQ(world.started, 2);
    for (unsigned i = 0; i < world.started; i++)
        weir_hedge_report(world.attempts[i], -WEIR_E_CANCELED, NULL);
    weir_hedge_fini(&hedge);
    weir__clock_unfake();
}

static int report_and_fail(void *arg, struct weir_hedge_attempt *attempt)
{
    (void)arg;
    weir_hedge_report(attempt, -WEIR_E_TRANSIENT, NULL);
    return -WEIR_E_TRANSIENT;
}

static void report_twice(void *arg)
{
    (void)arg;
    static const struct weir_hedge_ops twice = {report_and_fail, NULL};
    struct weir_hedge hedge;
    struct weir_hedge_answer answer;
    struct weir_deadline deadline = weir_deadline_in(WEIR_NS_PER_S, NULL);
    if (weir_hedge_init(&hedge, "lookup", NULL) == 0)
        (void)!weir_hedge_run(&hedge, &twice, NULL, 1, &answer, &deadline);
}

TEST(a_doubled_report_is_named)
{
    CHECK(tap_dies(report_twice, NULL, "hedge 'lookup': an attempt was reported twice"));
}

TEST(a_quorum_takes_several_answers)
{
    reset();
    struct weir_hedge hedge;
    struct weir_hedge_answer answers[2];
    struct weir_hedge_options options = {.alpha = 3, .needed = 2};
    CHECK_EQ(weir_hedge_init(&hedge, "lookup", &options), 0);
    world.at_start[0] = 1;
    world.at_start[1] = -WEIR_E_TRANSIENT;
    world.at_start[2] = 1;
    struct weir_deadline deadline = weir_deadline_in(WEIR_NS_PER_S, NULL);
    CHECK_EQ(weir_hedge_run(&hedge, &ops, NULL, TARGETS, answers, &deadline), 0);
    CHECK_EQ(answers[0].target, 0);
    CHECK_EQ(answers[1].target, 2);
    CHECK_EQ(world.started, 3); /* two are enough: nobody was asked in the place of target 1 */
    /* One good answer of two needed, and nobody else to ask: that is a failure. */
    reset();
    world.at_start[0] = 1;
    world.at_start[1] = -WEIR_E_TRANSIENT;
    CHECK_EQ(weir_hedge_run(&hedge, &ops, NULL, 2, answers, &deadline), -WEIR_E_TRANSIENT);
    CHECK_EQ(world.discarded, 1);
    weir_hedge_fini(&hedge);
    weir__clock_unfake();
}

TEST(bad_input_is_refused)
{
    struct weir_hedge hedge;
    struct weir_hedge_answer answer;
    struct weir_hedge_options wide = {.alpha = WEIR_HEDGE_TARGETS_MAX + 1};
    struct weir_hedge_options much = {.per_mille = 1001};
    CHECK_EQ(weir_hedge_init(&hedge, "lookup", &wide), -WEIR_E_INVALID);
    CHECK_EQ(weir_hedge_init(&hedge, "lookup", &much), -WEIR_E_INVALID);
    CHECK_EQ(weir_hedge_init(&hedge, NULL, NULL), -WEIR_E_INVALID);
    CHECK_EQ(weir_hedge_init(&hedge, "lookup", NULL), 0);
    struct weir_deadline deadline = weir_deadline_in(1, NULL), never = {WEIR_NEVER, NULL};
    CHECK_EQ(weir_hedge_run(&hedge, &ops, NULL, 0, &answer, &deadline), -WEIR_E_INVALID);
    CHECK_EQ(weir_hedge_run(&hedge, &ops, NULL, 17, &answer, &deadline), -WEIR_E_INVALID);
    CHECK_HAS(weir_error_detail(), "17 targets given, 1 to 16");
    CHECK_EQ(weir_hedge_run(&hedge, &ops, NULL, 1, &answer, &never), -WEIR_E_INVALID);
    weir_hedge_fini(&hedge);
    weir_hedge_fini(NULL);
    struct weir_hedge zero = {0};
    weir_hedge_fini(&zero);
}

static void fini_under_way(void *arg)
{
    (void)arg;
    reset();
    struct weir_hedge hedge;
    struct weir_hedge_answer answer;
    world.advance_ns = 200;
    struct weir_deadline soon = weir_deadline_in(100, NULL);
    if (weir_hedge_init(&hedge, "lookup", NULL) == 0 &&
        weir_hedge_run(&hedge, &ops, NULL, 1, &answer, &soon) == -WEIR_E_TIMEOUT)
        weir_hedge_fini(&hedge);
}

TEST(fini_with_attempts_under_way_is_named)
{
    CHECK(tap_dies(fini_under_way, NULL, "hedge 'lookup': destroyed while attempts are under way"));
}

TAP_MAIN()
