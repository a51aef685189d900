/* Backoff: ranges, caps, determinism, waits that end early or do not begin. */
#include "tap.h"

#include <weir/backoff.h>

#include "atomic.h"
#include "clock.h"
#include "thread.h"

TEST(the_defaults_are_the_documented_ones)
{
    struct weir_backoff backoff;
    CHECK_EQ(weir_backoff_init(&backoff, NULL), 0);
    uint64_t delay_ns = 0;
    CHECK_EQ(weir_backoff_next(&backoff, &delay_ns), 0);
    CHECK(delay_ns >= 50 * WEIR_NS_PER_MS && delay_ns <= 100 * WEIR_NS_PER_MS);
    CHECK_EQ(weir_backoff_next(&backoff, &delay_ns), 0);
    CHECK(delay_ns >= 100 * WEIR_NS_PER_MS && delay_ns <= 200 * WEIR_NS_PER_MS);
    delay_ns = 77;
    CHECK_EQ(weir_backoff_next(&backoff, &delay_ns), -WEIR_E_EXHAUSTED);
    CHECK_EQ(delay_ns, 77);
    CHECK_HAS(weir_error_detail(), "backoff: 3 of 3 tries failed");
}

TEST(the_default_cap_is_two_seconds)
{
    struct weir_backoff backoff;
    struct weir_backoff_options options = {.base_min_ns = 1, .base_max_ns = 2000000000};
    CHECK_EQ(weir_backoff_init(&backoff, &options), 0);
    options.base_max_ns++; /* above the cap */
    CHECK_EQ(weir_backoff_init(&backoff, &options), -WEIR_E_INVALID);
    options = (struct weir_backoff_options){.tries_max = 100};
    uint64_t longest_ns = 0;
    for (options.seed = 1; options.seed <= 100; options.seed++) {
        CHECK_EQ(weir_backoff_init(&backoff, &options), 0);
        for (int try = 1; try < 20; try++) {
            uint64_t delay_ns = 0;
            CHECK_EQ(weir_backoff_next(&backoff, &delay_ns), 0);
            CHECK(try < 6 || delay_ns >= 1000000000); /* half of it, for the jitter */
            longest_ns = delay_ns > longest_ns ? delay_ns : longest_ns;
        }
    }
    CHECK(longest_ns <= 2000000000 && longest_ns >= 1990000000);
}

TEST(refuses_bad_options)
{
    struct weir_backoff backoff;
    struct weir_backoff_options options = {.base_min_ns = 3, .base_max_ns = 2};
    CHECK_EQ(weir_backoff_init(&backoff, &options), -WEIR_E_INVALID);
    CHECK_HAS(weir_error_detail(), "delays from 3 ns to 2 ns");
    options = (struct weir_backoff_options){.base_min_ns = 1, .base_max_ns = 20, .cap_ns = 10};
    CHECK_EQ(weir_backoff_init(&backoff, &options), -WEIR_E_INVALID);
    options = (struct weir_backoff_options){.cap_ns = WEIR_BACKOFF_CAP_MAX_NS + 1};
    CHECK_EQ(weir_backoff_init(&backoff, &options), -WEIR_E_INVALID);
}

TEST(doubles_up_to_the_cap_and_keeps_its_jitter)
{
    struct weir_backoff_options options = {
        .base_min_ns = 50, .base_max_ns = 100, .cap_ns = 1500, .tries_max = UINT32_MAX};
    static const uint64_t high[] = {100, 200, 400, 800, 1500, 1500, 1500};
    uint64_t seen_min[7], seen_max[7];
    for (int k = 0; k < 7; k++) {
        seen_min[k] = UINT64_MAX;
        seen_max[k] = 0;
    }
    for (uint64_t seed = 1; seed <= 5000; seed++) {
        struct weir_backoff backoff;
        options.seed = seed;
        CHECK_EQ(weir_backoff_init(&backoff, &options), 0);
        for (int k = 0; k < 7; k++) {
            uint64_t delay_ns = 0;
            CHECK_EQ(weir_backoff_next(&backoff, &delay_ns), 0);
            CHECK(delay_ns >= high[k] / 2 && delay_ns <= high[k]);
            seen_min[k] = delay_ns < seen_min[k] ? delay_ns : seen_min[k];
            seen_max[k] = delay_ns > seen_max[k] ? delay_ns : seen_max[k];
        }
    }
    for (int k = 0; k < 7; k++) {
        CHECK(seen_min[k] <= high[k] / 2 + high[k] / 100);
        CHECK(seen_max[k] >= high[k] - high[k] / 100);
    }
}

TEST(never_overflows)
{
    struct weir_backoff_options options = {.base_min_ns = 1,
                                           .base_max_ns = WEIR_BACKOFF_CAP_MAX_NS,
                                           .cap_ns = WEIR_BACKOFF_CAP_MAX_NS,
                                           .tries_max = 1000,
                                           .seed = 7};
    struct weir_backoff backoff;
    CHECK_EQ(weir_backoff_init(&backoff, &options), 0);
    for (int i = 0; i < 999; i++) {
        uint64_t delay_ns = 0;
        CHECK_EQ(weir_backoff_next(&backoff, &delay_ns), 0);
        CHECK(delay_ns >= 1 && delay_ns <= WEIR_BACKOFF_CAP_MAX_NS);
    }
    uint64_t delay_ns = 0;
    CHECK_EQ(weir_backoff_next(&backoff, &delay_ns), -WEIR_E_EXHAUSTED);
}

TEST(a_seed_repeats_and_no_seed_does_not)
{
    struct weir_backoff_options options = {.tries_max = 100, .seed = 42};
    struct weir_backoff a, b;
    uint64_t of_a = 0, of_b = 0;
    CHECK_EQ(weir_backoff_init(&a, &options), 0);
    CHECK_EQ(weir_backoff_init(&b, &options), 0);
    for (int i = 0; i < 20; i++) {
        CHECK_EQ(weir_backoff_next(&a, &of_a), 0);
        CHECK_EQ(weir_backoff_next(&b, &of_b), 0);
        CHECK_EQ(of_a, of_b);
    }
    weir__clock_fake(WEIR_NS_PER_S); /* even in the same nanosecond */
    options.seed = 0;
    CHECK_EQ(weir_backoff_init(&a, &options), 0);
    CHECK_EQ(weir_backoff_init(&b, &options), 0);
    CHECK_EQ(weir_backoff_next(&a, &of_a), 0);
    CHECK_EQ(weir_backoff_next(&b, &of_b), 0);
    CHECK(of_a != of_b);
    weir__clock_unfake();
}

struct sleeper {
    struct weir_backoff backoff;
    struct weir_deadline deadline;
    int result;
    uint32_t is_done;
};

static void sleep_once(void *arg)
{
    struct sleeper *sleeper = arg;
    sleeper->result = weir_backoff_wait(&sleeper->backoff, &sleeper->deadline);
    weir__store32(&sleeper->is_done, 1);
}

TEST(waits_the_delay_and_can_be_canceled)
{
    weir__clock_fake(WEIR_NS_PER_S);
    struct weir_cancel token;
    weir_cancel_init(&token, NULL);
    struct weir_backoff_options options = {.base_min_ns = 100, .base_max_ns = 100, .cap_ns = 200};
    struct sleeper sleeper = {.deadline = {WEIR_NEVER, &token}, .result = 99};
    CHECK_EQ(weir_backoff_init(&sleeper.backoff, &options), 0);
    struct weir__thread thread;
    CHECK_EQ(weir__thread_start(&thread, "sleeper", sleep_once, &sleeper), 0);
    /* It reads the clock at a moment of its own, so the hand must go on moving. */
    while (!weir__load32(&sleeper.is_done))
        weir__clock_advance(10);
    weir__thread_join(&thread);
    CHECK_EQ(sleeper.result, 0);
    CHECK(weir_now_ns() >= WEIR_NS_PER_S + 100);
    weir_cancel_fire(&token);
    CHECK_EQ(weir_backoff_wait(&sleeper.backoff, &sleeper.deadline), -WEIR_E_CANCELED);
    CHECK_HAS(weir_error_detail(), "canceled before try 3 of 3");
    CHECK_EQ(weir_backoff_wait(&sleeper.backoff, &sleeper.deadline), -WEIR_E_EXHAUSTED);
    weir_cancel_fini(&token);
    weir__clock_unfake();
}

TEST(a_wait_past_the_deadline_is_not_begun)
{
    weir__clock_fake(WEIR_NS_PER_S);
    struct weir_backoff_options options = {.base_min_ns = 100, .base_max_ns = 200, .seed = 3};
    struct weir_backoff backoff, twin;
    CHECK_EQ(weir_backoff_init(&backoff, &options), 0);
    CHECK_EQ(weir_backoff_init(&twin, &options), 0);
    struct weir_deadline near = {WEIR_NS_PER_S + 99, NULL}, past = {5, NULL};
    CHECK_EQ(weir_backoff_wait(&backoff, &near), -WEIR_E_TIMEOUT);
    CHECK_HAS(weir_error_detail(), "the deadline in 99");
    CHECK_EQ(weir_backoff_wait(&backoff, &past), -WEIR_E_TIMEOUT);
    CHECK_EQ(weir_backoff_wait(&backoff, NULL), -WEIR_E_INVALID);
    near.at_ns = WEIR_NEVER;
    CHECK_EQ(weir_backoff_wait(&backoff, &near), -WEIR_E_INVALID);
    /* The refused waits have used nothing up: the delay is still that of the twin. */
    uint64_t delay_ns = 0, of_twin = 1;
    CHECK_EQ(weir_backoff_next(&backoff, &delay_ns), 0);
    CHECK_EQ(weir_backoff_next(&twin, &of_twin), 0);
    CHECK_EQ(delay_ns, of_twin);
    weir__clock_unfake();
}

TEST(starts_again_after_a_success)
{
    struct weir_backoff_options options = {.base_min_ns = 100, .base_max_ns = 100, .tries_max = 3};
    struct weir_backoff backoff;
    struct weir_backoff_stats stats;
    uint64_t delay_ns = 0;
    CHECK_EQ(weir_backoff_init(&backoff, &options), 0);
    for (int round = 0; round < 2; round++) {
        CHECK_EQ(weir_backoff_next(&backoff, &delay_ns), 0);
        CHECK_EQ(delay_ns, 100);
        CHECK_EQ(weir_backoff_next(&backoff, &delay_ns), 0);
        CHECK_EQ(delay_ns, 200);
        CHECK_EQ(weir_backoff_next(&backoff, &delay_ns), -WEIR_E_EXHAUSTED);
        weir_backoff_read(&backoff, &stats);
        CHECK_EQ(stats.tries, 2);
        weir_backoff_reset(&backoff);
    }
    weir_backoff_read(&backoff, &stats);
    CHECK_EQ(stats.tries, 0);
    CHECK_EQ(stats.tries_max, 3);
    CHECK_EQ(stats.delays, 4);
    CHECK_EQ(stats.delay_ns_sum, 600);
    CHECK_EQ(stats.exhausted, 2);
    /* One try means no retry at all. */
    options.tries_max = 1;
    CHECK_EQ(weir_backoff_init(&backoff, &options), 0);
    CHECK_EQ(weir_backoff_next(&backoff, &delay_ns), -WEIR_E_EXHAUSTED);
}

TAP_MAIN()
