/* The rate: exact counts over hours, sizes, order, waiting and leaving, changes, misuse. */
#include "tap.h"

#include <weir/rate.h>

#include "clock.h"
#include "thread.h"

#define START_NS (1000 * WEIR_NS_PER_S)

static struct weir_rate rate;

static void start(uint64_t per_s, uint64_t burst)
{
    struct weir_rate_options options = {.per_s = per_s, .burst = burst};
    weir__clock_fake(START_NS);
    CHECK_EQ(weir_rate_init(&rate, "repair", &options), 0);
}

static void stop(void)
{
    weir_rate_fini(&rate);
    weir__clock_unfake();
}

TEST(refuses_bad_options)
{
    struct weir_rate bad;
    struct weir_rate_options options = {.per_s = 0, .burst = 1};
    CHECK_EQ(weir_rate_init(&bad, "repair", &options), -WEIR_E_INVALID);
    CHECK_HAS(weir_error_detail(), "rate 'repair': a pace of 0");
    options = (struct weir_rate_options){.per_s = 1, .burst = WEIR_RATE_BURST_MAX + 1};
    CHECK_EQ(weir_rate_init(&bad, "repair", &options), -WEIR_E_INVALID);
    CHECK_HAS(weir_error_detail(), "it may be 1 to 140737488355327");
    options = (struct weir_rate_options){.per_s = 1, .waiters_max = WEIR_RATE_WAITERS_MAX + 1};
    CHECK_EQ(weir_rate_init(&bad, "repair", &options), -WEIR_E_INVALID);
    CHECK_EQ(weir_rate_init(&bad, "", &options), -WEIR_E_INVALID);
    weir_rate_fini(NULL);
    struct weir_rate zero = {0};
    weir_rate_fini(&zero);
}

TEST(impossible_requests_are_refused_at_once)
{
    struct weir_deadline never = {WEIR_NEVER, NULL};
    start(10, 100);
    CHECK_EQ(weir_rate_try(&rate, 0, WEIR_RATE_HIGH), -WEIR_E_INVALID);
    CHECK_EQ(weir_rate_try(&rate, 101, WEIR_RATE_HIGH), -WEIR_E_TOO_LARGE);
    CHECK_STR(weir_error_detail(),
              "rate 'repair': 101 asked for, at most 100 can be taken at once");
    CHECK_EQ(weir_rate_acquire(&rate, UINT64_MAX, WEIR_RATE_LOW, &never), -WEIR_E_TOO_LARGE);
    CHECK_EQ(weir_rate_try(&rate, 1, (enum weir_rate_priority)2), -WEIR_E_INVALID);
    CHECK_HAS(weir_error_detail(), "no priority 2");
    CHECK_EQ(weir_rate_try(&rate, 100, WEIR_RATE_LOW), 0);
    /* A wait with neither a time nor a token is refused, and leaves no trace. */
    CHECK_EQ(weir_rate_acquire(&rate, 1, WEIR_RATE_LOW, &never), -WEIR_E_INVALID);
    CHECK_EQ(weir_rate_acquire(&rate, 1, WEIR_RATE_LOW, NULL), -WEIR_E_INVALID);
    CHECK(weir_rate_delay_ns(&rate, 101, WEIR_RATE_LOW) == WEIR_NEVER);
    CHECK_EQ(weir_rate_set(&rate, 0, 1), -WEIR_E_INVALID);
    CHECK_EQ(weir_rate_set(&rate, 1, WEIR_RATE_BURST_MAX + 1), -WEIR_E_INVALID);
    stop();
}

TEST(says_when_to_come_back)
{
    start(10, 5);
    CHECK_EQ(weir_rate_delay_ns(&rate, 5, WEIR_RATE_HIGH), 0);
    CHECK_EQ(weir_rate_try(&rate, 5, WEIR_RATE_HIGH), 0);
    CHECK_EQ(weir_rate_try(&rate, 1, WEIR_RATE_HIGH), -WEIR_E_PACED);
    CHECK_STR(weir_error_detail(),
              "rate 'repair': 1 asked for, due in 100.0 ms, 0 waiting; try again then");
    CHECK_EQ(weir_rate_delay_ns(&rate, 3, WEIR_RATE_HIGH), 300 * WEIR_NS_PER_MS);
    weir__clock_advance(100 * WEIR_NS_PER_MS - 1);
    CHECK_EQ(weir_rate_delay_ns(&rate, 1, WEIR_RATE_HIGH), 1);
    CHECK_EQ(weir_rate_try(&rate, 1, WEIR_RATE_HIGH), -WEIR_E_PACED);
    weir__clock_advance(1);
    CHECK_EQ(weir_rate_try(&rate, 1, WEIR_RATE_HIGH), 0);
    struct weir_rate_stats stats;
    weir_rate_read(&rate, &stats);
    CHECK_EQ(stats.paced, 2);
    CHECK_EQ(stats.taken, 2);
    CHECK_EQ(stats.taken_tokens, 6);
    stop();
}

/* Looks at odd moments for some hours; what was taken is exact to the token. */
static void run_for_hours(uint64_t per_s, uint64_t step_ns, uint64_t steps)
{
    start(per_s, per_s > 1000 ? per_s : 1000);
    struct weir_rate_stats stats;
    weir_rate_read(&rate, &stats);
    uint64_t burst = stats.burst, taken = 0;
    CHECK_EQ(weir_rate_try(&rate, burst, WEIR_RATE_LOW), 0);
    for (uint64_t i = 0; i < steps; i++) {
        weir__clock_advance(step_ns);
        weir_rate_read(&rate, &stats);
        if (stats.tokens > 0)
            CHECK_EQ(weir_rate_try(&rate, stats.tokens, WEIR_RATE_LOW), 0);
        taken += stats.tokens;
    }
    __extension__ unsigned __int128 exact = (unsigned __int128)step_ns * steps * per_s;
    CHECK_EQ(taken, (uint64_t)(exact / WEIR_NS_PER_S));
    stop();
}

TEST(does_not_drift)
{
    run_for_hours(3, 7919, 2000000);             /* a third of a second is no whole number */
    run_for_hours(1, 999999999, 20000);          /* one nanosecond short each time */
    run_for_hours(52428800, 104729, 200000);     /* 50 MiB a second */
    run_for_hours(1000000007, 3600000, 1000000); /* an hour */
}

TEST(no_pace_overflows)
{
    start(UINT64_MAX, WEIR_RATE_BURST_MAX);
    CHECK_EQ(weir_rate_try(&rate, WEIR_RATE_BURST_MAX, WEIR_RATE_LOW), 0);
    weir__clock_advance(1); /* 18 thousand million tokens */
    struct weir_rate_stats stats;
    weir_rate_read(&rate, &stats);
    CHECK_EQ(stats.tokens, UINT64_MAX / WEIR_NS_PER_S);
    weir__clock_advance(UINT64_MAX / 2);
    weir_rate_read(&rate, &stats);
    CHECK_EQ(stats.tokens, WEIR_RATE_BURST_MAX);
    weir_rate_fini(&rate);
    start(1, WEIR_RATE_BURST_MAX);
    CHECK_EQ(weir_rate_try(&rate, WEIR_RATE_BURST_MAX, WEIR_RATE_LOW), 0);
    CHECK(weir_rate_delay_ns(&rate, WEIR_RATE_BURST_MAX, WEIR_RATE_LOW) == WEIR_NEVER);
    stop();
}

TEST(defaults_to_a_second_of_burst)
{
    start(50, 0);
    CHECK_EQ(weir_rate_try(&rate, 51, WEIR_RATE_LOW), -WEIR_E_TOO_LARGE);
    CHECK_EQ(weir_rate_try(&rate, 50, WEIR_RATE_LOW), 0);
    weir_rate_fini(&rate);
    start(UINT64_MAX, 0);
    CHECK_EQ(weir_rate_try(&rate, WEIR_RATE_BURST_MAX, WEIR_RATE_LOW), 0);
    CHECK_STR(weir_rate_name(&rate), "repair");
    stop();
}

static uint64_t random_state = 88172645463325252u;

static uint64_t next_random(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state;
}

/* At each moment, and so over each interval, not more than burst + pace * time. */
TEST(never_exceeds_the_pacing_budget)
{
    for (int round = 0; round < 50; round++) {
        uint64_t per_s = 1 + next_random() % 100000;
        uint64_t burst = 1 + next_random() % 5000;
        start(per_s, burst);
        uint64_t taken = 0, passed_ns = 0;
        for (int step = 0; step < 2000; step++) {
            uint64_t n = 1 + next_random() % burst;
            uint64_t delay_ns = weir_rate_delay_ns(&rate, n, WEIR_RATE_LOW);
            int error = weir_rate_try(&rate, n, (enum weir_rate_priority)(next_random() % 2));
            CHECK_EQ(error, delay_ns ? -WEIR_E_PACED : 0);
            taken += error ? 0 : n;
            CHECK((taken - (taken < burst ? taken : burst)) * WEIR_NS_PER_S <= passed_ns * per_s);
            uint64_t pause_ns = next_random() % (next_random() % 3 ? 100000 : 100000000);
            if (error && next_random() % 2)
                pause_ns = delay_ns;
            weir__clock_advance(pause_ns);
            passed_ns += pause_ns;
            if (pause_ns == delay_ns && error) {
                CHECK_EQ(weir_rate_try(&rate, n, WEIR_RATE_LOW), 0);
                taken += n;
            }
        }
        stop();
    }
}

/* ---- waiting ---- */

struct taker {
    uint64_t n;
    enum weir_rate_priority priority;
    struct weir_deadline deadline;
    int result;
    uint64_t order; /* tokens that had been taken when it came back */
    struct weir__thread thread;
};

static void take(void *arg)
{
    struct taker *taker = arg;
    taker->result = weir_rate_acquire(&rate, taker->n, taker->priority, &taker->deadline);
    struct weir_rate_stats stats;
    weir_rate_read(&rate, &stats);
    taker->order = stats.taken_tokens;
}

static void until_waiting(uint64_t wanted)
{
    struct weir_rate_stats stats;
    do
        weir_rate_read(&rate, &stats);
    while (stats.waiting != wanted);
}

static void join_line(struct taker *taker, uint64_t n, enum weir_rate_priority priority,
                      uint64_t waiting)
{
    uint64_t at_ns = taker->deadline.at_ns ? taker->deadline.at_ns : START_NS + 1000000000000;
    *taker = (struct taker){
        .n = n, .priority = priority, .deadline = {at_ns, taker->deadline.cancel}, .result = 99};
    CHECK_EQ(weir__thread_start(&taker->thread, "taker", take, taker), 0);
    until_waiting(waiting);
}

TEST(serves_high_first_and_in_order)
{
    start(1, 10);
    CHECK_EQ(weir_rate_try(&rate, 10, WEIR_RATE_LOW), 0);
    struct taker low_a = {0}, low_b = {0}, high_a = {0}, high_b = {0};
    join_line(&low_a, 1, WEIR_RATE_LOW, 1);
    join_line(&low_b, 1, WEIR_RATE_LOW, 2);
    join_line(&high_a, 3, WEIR_RATE_HIGH, 3);
    join_line(&high_b, 1, WEIR_RATE_HIGH, 4);
    CHECK_EQ(weir_rate_delay_ns(&rate, 1, WEIR_RATE_HIGH), 5 * WEIR_NS_PER_S);
    CHECK_EQ(weir_rate_delay_ns(&rate, 1, WEIR_RATE_LOW), 7 * WEIR_NS_PER_S);
    weir__clock_advance(2 * WEIR_NS_PER_S);
    /* Two tokens are there, but a high request for three is first in line. */
    CHECK_EQ(weir_rate_try(&rate, 1, WEIR_RATE_LOW), -WEIR_E_PACED);
    CHECK_EQ(weir_rate_try(&rate, 1, WEIR_RATE_HIGH), -WEIR_E_PACED);
    CHECK_HAS(weir_error_detail(), "4 waiting");
    struct taker *in_order[] = {&high_a, &high_b, &low_a, &low_b};
    uint64_t tokens = 10;
    for (int i = 0; i < 4; i++) {
        weir__clock_advance(WEIR_NS_PER_S);
        weir__thread_join(&in_order[i]->thread);
        tokens += in_order[i]->n;
        CHECK_EQ(in_order[i]->result, 0);
        CHECK_EQ(in_order[i]->order, tokens);
    }
    struct weir_rate_stats stats;
    weir_rate_read(&rate, &stats);
    CHECK_EQ(stats.granted, 4);
    CHECK_EQ(stats.enqueued, 4);
    CHECK_EQ(stats.wait_ns.count, 4);
    CHECK(stats.wait_ns.sum == (3 + 4 + 5 + 6) * WEIR_NS_PER_S);
    stop();
}

TEST(a_high_newcomer_overtakes_low_waiters)
{
    start(1, 2);
    CHECK_EQ(weir_rate_try(&rate, 2, WEIR_RATE_LOW), 0);
    struct taker low = {.deadline = {START_NS + 3 * WEIR_NS_PER_S, NULL}};
    join_line(&low, 2, WEIR_RATE_LOW, 1);
    weir__clock_advance(WEIR_NS_PER_S);
    CHECK_EQ(weir_rate_try(&rate, 1, WEIR_RATE_HIGH), 0);
    weir__clock_advance(WEIR_NS_PER_S);
    CHECK_EQ(weir_rate_try(&rate, 1, WEIR_RATE_HIGH), 0);
    weir__clock_advance(WEIR_NS_PER_S);
    weir__thread_join(&low.thread);
    CHECK_EQ(low.result, -WEIR_E_TIMEOUT);
    struct weir_rate_stats stats;
    weir_rate_read(&rate, &stats);
    CHECK_EQ(stats.timed_out, 1);
    CHECK_EQ(stats.taken_tokens, 4);
    CHECK_EQ(stats.tokens, 1);
    stop();
}

TEST(a_wait_that_cannot_end_in_time_is_not_begun)
{
    start(10, 10);
    CHECK_EQ(weir_rate_try(&rate, 10, WEIR_RATE_LOW), 0);
    struct weir_deadline soon = {START_NS + 100 * WEIR_NS_PER_MS - 1, NULL};
    CHECK_EQ(weir_rate_acquire(&rate, 1, WEIR_RATE_LOW, &soon), -WEIR_E_PACED);
    CHECK_HAS(weir_error_detail(), "due in 100.0 ms");
    struct taker taker = {.deadline = {START_NS + 100 * WEIR_NS_PER_MS, NULL}};
    join_line(&taker, 1, WEIR_RATE_LOW, 1);
    soon.at_ns = START_NS + 200 * WEIR_NS_PER_MS - 1;
    CHECK_EQ(weir_rate_acquire(&rate, 1, WEIR_RATE_LOW, &soon), -WEIR_E_PACED);
    CHECK_HAS(weir_error_detail(), "due in 200.0 ms, 1 waiting");
    /* Deadline and tokens come together: the grant wins. */
    weir__clock_advance(100 * WEIR_NS_PER_MS);
    weir__thread_join(&taker.thread);
    CHECK_EQ(taker.result, 0);
    /* What is there is given even if the time has passed. */
    weir__clock_advance(WEIR_NS_PER_S);
    CHECK_EQ(weir_rate_acquire(&rate, 10, WEIR_RATE_LOW, &soon), 0);
    stop();
}

TEST(a_canceled_head_hands_over)
{
    start(1, 5);
    struct weir_cancel token;
    weir_cancel_init(&token, NULL);
    CHECK_EQ(weir_rate_try(&rate, 5, WEIR_RATE_LOW), 0);
    struct taker big = {.deadline = {WEIR_NEVER, &token}}, small = {0};
    join_line(&big, 5, WEIR_RATE_LOW, 1);
    join_line(&small, 1, WEIR_RATE_LOW, 2);
    weir_cancel_fire(&token);
    weir__thread_join(&big.thread);
    CHECK_EQ(big.result, -WEIR_E_CANCELED);
    weir__clock_advance(WEIR_NS_PER_S);
    weir__thread_join(&small.thread);
    CHECK_EQ(small.result, 0);
    struct weir_rate_stats stats;
    weir_rate_read(&rate, &stats);
    CHECK_EQ(stats.canceled, 1);
    CHECK_EQ(stats.taken_tokens, 6);
    weir_cancel_fini(&token);
    stop();
}

TEST(a_change_reaches_those_in_line)
{
    start(1, 100);
    CHECK_EQ(weir_rate_try(&rate, 100, WEIR_RATE_LOW), 0);
    struct taker large = {0}, small = {0};
    join_line(&large, 90, WEIR_RATE_LOW, 1);
    join_line(&small, 10, WEIR_RATE_LOW, 2);
    weir__clock_advance(WEIR_NS_PER_S / 2);
    CHECK_EQ(weir_rate_set(&rate, 1000, 10), 0);
    weir__thread_join(&large.thread);
    CHECK_EQ(large.result, -WEIR_E_TOO_LARGE);
    /* Half a token accrued at the old pace; 9.5 are missing at the new one. */
    weir__clock_advance(9500000);
    weir__thread_join(&small.thread);
    CHECK_EQ(small.result, 0);
    struct weir_rate_stats stats;
    weir_rate_read(&rate, &stats);
    CHECK_EQ(stats.refused, 1);
    CHECK_EQ(stats.granted, 1);
    CHECK_EQ(stats.tokens, 0);
    CHECK_EQ(weir_rate_try(&rate, 11, WEIR_RATE_LOW), -WEIR_E_TOO_LARGE);
    stop();
}

/* Nothing else happens that would make somebody look: the one who sleeps has to be told. */
TEST(a_faster_pace_wakes_the_keeper)
{
    start(1, 100);
    CHECK_EQ(weir_rate_try(&rate, 100, WEIR_RATE_LOW), 0);
    struct taker taker = {0};
    join_line(&taker, 50, WEIR_RATE_LOW, 1);
    CHECK_EQ(weir_rate_set(&rate, 1000, 100), 0);
    weir__clock_advance(50 * WEIR_NS_PER_MS);
    weir__thread_join(&taker.thread);
    CHECK_EQ(taker.result, 0);
    stop();
}

TEST(too_many_waiters_are_refused)
{
    struct weir_rate_options options = {.per_s = 1, .burst = 1, .waiters_max = 1};
    weir__clock_fake(START_NS);
    CHECK_EQ(weir_rate_init(&rate, "repair", &options), 0);
    CHECK_EQ(weir_rate_try(&rate, 1, WEIR_RATE_LOW), 0);
    struct taker taker = {0};
    join_line(&taker, 1, WEIR_RATE_LOW, 1);
    struct weir_deadline late = {START_NS + 100 * WEIR_NS_PER_S, NULL};
    CHECK_EQ(weir_rate_acquire(&rate, 1, WEIR_RATE_HIGH, &late), -WEIR_E_BUSY);
    CHECK_STR(weir_error_detail(),
              "rate 'repair': 1 asked for, 1 waiting of at most 1; try again later");
    weir__clock_advance(WEIR_NS_PER_S);
    weir__thread_join(&taker.thread);
    stop();
}

TEST(many_waiters_are_all_served)
{
    start(1, 60);
    CHECK_EQ(weir_rate_try(&rate, 60, WEIR_RATE_LOW), 0);
    static struct taker takers[40];
    for (int i = 0; i < 40; i++) {
        takers[i] = (struct taker){0};
        join_line(&takers[i], 1, i % 2 ? WEIR_RATE_LOW : WEIR_RATE_HIGH, (uint64_t)i + 1);
    }
    weir__clock_advance(40 * WEIR_NS_PER_S);
    for (int i = 0; i < 40; i++) {
        weir__thread_join(&takers[i].thread);
        CHECK_EQ(takers[i].result, 0);
    }
    stop();
}

static void fini_while_waiting(void *arg)
{
    struct taker taker = {0};
    start(1, 1);
    if (weir_rate_try(&rate, 1, WEIR_RATE_LOW) == 0)
        join_line(&taker, 1, WEIR_RATE_LOW, 1);
    weir_rate_fini(&rate);
    (void)arg;
}

TEST(misuse_is_named)
{
    CHECK(tap_dies(fini_while_waiting, NULL, "rate 'repair': destroyed while somebody waits"));
}

TEST(nothing_given_is_refused)
{
    struct weir_rate x;
    CHECK_EQ(weir_rate_init(&x, "x", NULL), -WEIR_E_INVALID);
    CHECK_HAS(weir_error_detail(), "rate 'x'");
}

TAP_MAIN()
