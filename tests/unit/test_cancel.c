/* Cancel tokens and deadlines. */
#include "tap.h"

#include <weir/deadline.h>
#include <weir/error.h>

#include "clock.h"
#include "thread.h"

static void count(void *arg)
{
    ++*(int *)arg;
}

TEST(fires_once_and_for_ever)
{
    struct weir_cancel token;
    weir_cancel_init(&token, NULL);
    CHECK(!weir_cancel_is_fired(&token));
    weir_cancel_fire(&token);
    weir_cancel_fire(&token);
    CHECK(weir_cancel_is_fired(&token));
    weir_cancel_fini(&token);
}

TEST(fires_downwards_only)
{
    struct weir_cancel top, left, right, leaf;
    weir_cancel_init(&top, NULL);
    weir_cancel_init(&left, &top);
    weir_cancel_init(&right, &top);
    weir_cancel_init(&leaf, &left);
    weir_cancel_fire(&left);
    CHECK(weir_cancel_is_fired(&left) && weir_cancel_is_fired(&leaf));
    CHECK(!weir_cancel_is_fired(&top) && !weir_cancel_is_fired(&right));
    struct weir_cancel late;
    weir_cancel_init(&late, &leaf);
    CHECK(weir_cancel_is_fired(&late));
    weir_cancel_fini(&late);
    weir_cancel_fire(&top);
    CHECK(weir_cancel_is_fired(&right));
    weir_cancel_fini(&leaf);
    weir_cancel_fini(&left);
    weir_cancel_fini(&right);
    weir_cancel_fini(&top);
}

TEST(hooks_run_once)
{
    struct weir_cancel token, child;
    weir_cancel_init(&token, NULL);
    weir_cancel_init(&child, &token);
    int first = 0, second = 0, removed = 0, late = 0;
    struct weir_cancel_hook a = {0}, b = {0}, c = {0}, d = {0};
    CHECK(weir_cancel_on(&token, &a, count, &first));
    CHECK(weir_cancel_on(&child, &b, count, &second));
    CHECK(weir_cancel_on(&child, &c, count, &removed));
    CHECK(weir_cancel_off(&c));
    weir_cancel_fire(&token);
    weir_cancel_fire(&child);
    CHECK_EQ(first, 1);
    CHECK_EQ(second, 1);
    CHECK_EQ(removed, 0);
    CHECK(!weir_cancel_on(&child, &d, count, &late));
    CHECK_EQ(late, 1);
    CHECK(!weir_cancel_off(&a));
    CHECK(!weir_cancel_off(&b));
    CHECK(!weir_cancel_off(&d));
    struct weir_cancel_hook never = {0};
    CHECK(weir_cancel_off(&never));
    weir_cancel_fini(&child);
    weir_cancel_fini(&token);
}

static void fini_with_child(void *arg)
{
    (void)arg;
    struct weir_cancel top, child;
    weir_cancel_init(&top, NULL);
    weir_cancel_init(&child, &top);
    weir_cancel_fini(&top);
}

static void fini_with_hook(void *arg)
{
    struct weir_cancel top;
    struct weir_cancel_hook hook = {0};
    weir_cancel_init(&top, NULL);
    (void)weir_cancel_on(&top, &hook, count, arg);
    weir_cancel_fini(&top);
}

TEST(fini_asserts)
{
    int n = 0;
    weir_cancel_fini(NULL);
    struct weir_cancel zero = {0};
    weir_cancel_fini(&zero);
    CHECK(tap_dies(fini_with_child, NULL, "destroyed before its children"));
    CHECK(tap_dies(fini_with_hook, &n, "destroyed while hooks or waits hang on it"));
}

static void remove_itself(void *arg)
{
    weir_cancel_off(arg);
}

static void off_from_within(void *arg)
{
    (void)arg;
    struct weir_cancel token;
    struct weir_cancel_hook hook = {0};
    weir_cancel_init(&token, NULL);
    (void)weir_cancel_on(&token, &hook, remove_itself, &hook);
    weir_cancel_fire(&token);
}

static void on_without_function(void *arg)
{
    (void)arg;
    struct weir_cancel token;
    struct weir_cancel_hook hook = {0};
    weir_cancel_init(&token, NULL);
    (void)weir_cancel_on(&token, &hook, NULL, NULL);
}

TEST(misuse_of_hooks_is_named)
{
    CHECK(tap_dies(off_from_within, NULL, "a hook was removed from within its own function"));
    CHECK(tap_dies(on_without_function, NULL, "a hook without a function"));
}

struct sleeper {
    struct weir_cancel *token;
    uint64_t at_ns;
    int result;
};

static void sleep_now(void *arg)
{
    struct sleeper *sleeper = arg;
    struct weir_deadline deadline = {sleeper->at_ns, sleeper->token};
    sleeper->result = weir_deadline_sleep(&deadline);
}

TEST(a_wait_ends_when_the_token_fires)
{
    struct weir_cancel token, child;
    weir_cancel_init(&token, NULL);
    weir_cancel_init(&child, &token);
    struct sleeper sleepers[40];
    struct weir__thread threads[40];
    for (int i = 0; i < 40; i++) {
        sleepers[i] = (struct sleeper){i % 2 ? &token : &child, WEIR_NEVER, 0};
        CHECK_EQ(weir__thread_start(&threads[i], "sleeper", sleep_now, &sleepers[i]), 0);
    }
    weir_cancel_fire(&token);
    for (int i = 0; i < 40; i++) {
        weir__thread_join(&threads[i]);
        CHECK_EQ(sleepers[i].result, -WEIR_E_CANCELED);
    }
    weir_cancel_fini(&child);
    weir_cancel_fini(&token);
}

TEST(a_wait_ends_when_its_time_comes)
{
    weir__clock_fake(1000);
    struct sleeper sleeper = {NULL, 5000, 0};
    struct weir__thread thread;
    CHECK_EQ(weir__thread_start(&thread, "sleeper", sleep_now, &sleeper), 0);
    weir__clock_advance(4000);
    weir__thread_join(&thread);
    CHECK_EQ(sleeper.result, -WEIR_E_TIMEOUT);
    weir__clock_unfake();
}

TEST(a_wait_without_an_end_is_refused)
{
    struct weir_deadline never = {WEIR_NEVER, NULL};
    CHECK_EQ(weir_deadline_sleep(&never), -WEIR_E_INVALID);
    CHECK_EQ(weir_deadline_sleep(NULL), -WEIR_E_INVALID);
    CHECK_HAS(weir_error_detail(), "give a deadline or a cancel token");
}

TEST(deadlines_are_compared_and_checked)
{
    weir__clock_fake(1000);
    struct weir_cancel token;
    weir_cancel_init(&token, NULL);
    struct weir_deadline deadline = weir_deadline_in(500, &token);
    CHECK_EQ(deadline.at_ns, 1500);
    CHECK_EQ(weir_deadline_min(&deadline, 1200).at_ns, 1200);
    CHECK_EQ(weir_deadline_min(&deadline, 1800).at_ns, 1500);
    CHECK_EQ(weir_deadline_check(&deadline), 0);
    CHECK_EQ(weir_deadline_check(NULL), 0);
    weir__clock_advance(500);
    CHECK_EQ(weir_deadline_check(&deadline), -WEIR_E_TIMEOUT);
    weir_cancel_fire(&token);
    CHECK_EQ(weir_deadline_check(&deadline), -WEIR_E_CANCELED);
    CHECK(weir_deadline_in(WEIR_NEVER, NULL).at_ns == WEIR_NEVER);
    CHECK(weir_deadline_until(&token).at_ns == WEIR_NEVER);
    weir_cancel_fini(&token);
    weir__clock_unfake();
}

TAP_MAIN()
