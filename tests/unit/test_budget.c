/* The budget: sizes, order, waiting and leaving, callbacks, resizing, counts, misuse. */
#include "tap.h"

#include <weir/budget.h>

#include "clock.h"
#include "thread.h"

TEST(refuses_bad_capacities_and_names)
{
    struct weir_budget budget;
    CHECK_EQ(weir_budget_init(&budget, "files", 0), -WEIR_E_INVALID);
    CHECK_HAS(weir_error_detail(), "budget 'files': a capacity of 0");
    CHECK_EQ(weir_budget_init(&budget, "files", WEIR_BUDGET_MAX + 1), -WEIR_E_INVALID);
    CHECK_EQ(weir_budget_init(&budget, "", 1), -WEIR_E_INVALID);
    CHECK_EQ(weir_budget_init(&budget, NULL, 1), -WEIR_E_INVALID);
    CHECK_EQ(weir_budget_init(&budget, "a name that is far too long for us", 1), -WEIR_E_INVALID);
    CHECK_EQ(weir_budget_init(&budget, "a \"quote\"", 1), -WEIR_E_INVALID);
    CHECK_EQ(weir_budget_init(&budget, "bytes", WEIR_BUDGET_MAX), 0);
    CHECK_EQ(weir_budget_available(&budget), WEIR_BUDGET_MAX);
    weir_budget_fini(&budget);
    weir_budget_fini(NULL);
    struct weir_budget zero = {0};
    weir_budget_fini(&zero);
}

TEST(takes_and_gives_back)
{
    struct weir_budget budget;
    CHECK_EQ(weir_budget_init(&budget, "files", 10), 0);
    struct weir_permit a = WEIR_PERMIT_NONE, b = WEIR_PERMIT_NONE, c = WEIR_PERMIT_NONE;
    CHECK_EQ(weir_budget_try(&budget, 4, &a), 0);
    CHECK_EQ(weir_budget_try(&budget, 6, &b), 0);
    CHECK_EQ(weir_budget_available(&budget), 0);
    CHECK_EQ(weir_budget_try(&budget, 1, &c), -WEIR_E_BUSY);
    CHECK_HAS(weir_error_detail(), "budget 'files': 1 asked for, 0 free, 0 waiting");
    CHECK(!weir_permit_is_held(&c));
    CHECK_EQ(weir_permit_units(&b), 6);
    weir_permit_release(&a);
    CHECK(!weir_permit_is_held(&a));
    weir_permit_release(&a); /* empty: left alone */
    CHECK_EQ(weir_budget_available(&budget), 4);
    weir_permit_move(&c, &b);
    weir_permit_release(&b);
    weir_permit_release(&c);
    CHECK_EQ(weir_budget_available(&budget), 10);
    weir_budget_fini(&budget);
}

TEST(cleanup_releases)
{
    struct weir_budget budget;
    CHECK_EQ(weir_budget_init(&budget, "files", 1), 0);
    {
        WEIR_CLEANUP(weir_permit_release)
        struct weir_permit permit = WEIR_PERMIT_NONE;
        CHECK_EQ(weir_budget_try(&budget, 1, &permit), 0);
    }
    CHECK_EQ(weir_budget_available(&budget), 1);
    weir_budget_fini(&budget);
}

/* As documented in docs/core/budget.md; that nothing is allocated besides is shown by the faults.
 */
TEST(sizes_are_as_documented)
{
    CHECK_EQ(sizeof(struct weir_permit), 24);
    CHECK_EQ(sizeof(struct weir_budget_waiter), 72);
    CHECK_EQ(sizeof(struct weir_budget), 384);
}

TEST(impossible_requests_are_refused_at_once)
{
    struct weir_budget budget;
    struct weir_permit permit = WEIR_PERMIT_NONE;
    struct weir_deadline never = {WEIR_NEVER, NULL};
    CHECK_EQ(weir_budget_init(&budget, "files", 1024), 0);
    CHECK_EQ(weir_budget_acquire(&budget, 2000, &permit, &never), -WEIR_E_TOO_LARGE);
    CHECK_STR(weir_error_detail(),
              "budget 'files': 2000 asked for, at most 1024 can ever be granted");
    CHECK_EQ(weir_budget_acquire(&budget, 0, &permit, &never), -WEIR_E_INVALID);
    CHECK_EQ(weir_budget_try(&budget, 0, &permit), -WEIR_E_INVALID);
    CHECK_EQ(weir_budget_try(&budget, UINT64_MAX, &permit), -WEIR_E_TOO_LARGE);
    /* A wait with no end is refused too, and leaves no trace. */
    CHECK_EQ(weir_budget_acquire(&budget, 1024, &permit, NULL), 0);
    struct weir_permit other = WEIR_PERMIT_NONE;
    CHECK_EQ(weir_budget_acquire(&budget, 1, &other, NULL), -WEIR_E_INVALID);
    CHECK_EQ(weir_budget_acquire(&budget, 1, &other, &never), -WEIR_E_INVALID);
    CHECK_HAS(weir_error_detail(), "budget 'files': 1 of 1024 asked for, would have to wait for");
    struct weir_budget_stats stats;
    weir_budget_read(&budget, &stats);
    CHECK_EQ(stats.enqueued, 0);
    weir_permit_release(&permit);
    weir_budget_fini(&budget);
}

TEST(an_expired_deadline_still_takes_what_is_free)
{
    struct weir_budget budget;
    struct weir_permit permit = WEIR_PERMIT_NONE, other = WEIR_PERMIT_NONE;
    struct weir_cancel fired;
    weir_cancel_init(&fired, NULL);
    weir_cancel_fire(&fired);
    struct weir_deadline past = {1, &fired}, late = {1, NULL};
    CHECK_EQ(weir_budget_init(&budget, "files", 1), 0);
    CHECK_EQ(weir_budget_acquire(&budget, 1, &permit, &past), 0);
    CHECK_EQ(weir_budget_acquire(&budget, 1, &other, &past), -WEIR_E_CANCELED);
    CHECK_HAS(weir_error_detail(), "canceled while waiting");
    CHECK_EQ(weir_budget_acquire(&budget, 1, &other, &late), -WEIR_E_TIMEOUT);
    CHECK_HAS(weir_error_detail(), "not granted before the deadline");
    weir_permit_release(&permit);
    weir_budget_fini(&budget);
    weir_cancel_fini(&fired);
}

/* A waiter with a callback that notes in which order it was served. */
struct turn {
    struct weir_budget_waiter waiter;
    struct weir_permit permit;
    int result;
    int order;
};
static int turns;

static void on_turn(struct weir_budget_waiter *waiter, int result, struct weir_permit permit)
{
    struct turn *turn = (struct turn *)waiter;
    turn->result = result;
    turn->permit = permit;
    turn->order = ++turns;
}

static int join(struct weir_budget *budget, struct turn *turn, uint64_t n)
{
    *turn = (struct turn){.result = 99};
    return weir_budget_acquire_async(budget, n, &turn->permit, &turn->waiter, on_turn);
}

TEST(serves_in_order_whatever_the_weight)
{
    struct weir_budget budget;
    struct weir_permit all = WEIR_PERMIT_NONE, extra = WEIR_PERMIT_NONE;
    struct turn big, small, third;
    turns = 0;
    CHECK_EQ(weir_budget_init(&budget, "slots", 4), 0);
    CHECK_EQ(weir_budget_try(&budget, 3, &all), 0);
    CHECK_EQ(join(&budget, &big, 4), WEIR_BUDGET_QUEUED);
    /* One unit is free, but somebody waits: newcomers queue, and try is refused. */
    CHECK_EQ(join(&budget, &small, 1), WEIR_BUDGET_QUEUED);
    CHECK_EQ(weir_budget_try(&budget, 1, &extra), -WEIR_E_BUSY);
    CHECK_HAS(weir_error_detail(), "2 waiting");
    CHECK_EQ(join(&budget, &third, 2), WEIR_BUDGET_QUEUED);
    weir_permit_release(&all);
    CHECK_EQ(big.order, 1);
    CHECK_EQ(small.order, 0);
    weir_permit_release(&big.permit);
    CHECK_EQ(small.order, 2);
    CHECK_EQ(third.order, 3);
    weir_permit_release(&small.permit);
    weir_permit_release(&third.permit);
    weir_budget_fini(&budget);
}

TEST(a_head_that_leaves_lets_the_next_ones_in)
{
    struct weir_budget budget;
    struct weir_permit one = WEIR_PERMIT_NONE;
    struct turn big, small;
    turns = 0;
    CHECK_EQ(weir_budget_init(&budget, "slots", 2), 0);
    CHECK_EQ(weir_budget_try(&budget, 1, &one), 0);
    CHECK_EQ(join(&budget, &big, 2), WEIR_BUDGET_QUEUED);
    CHECK_EQ(join(&budget, &small, 1), WEIR_BUDGET_QUEUED);
    CHECK(weir_budget_cancel_async(&budget, &big.waiter));
    CHECK_EQ(big.order, 0);
    CHECK_EQ(small.order, 1);
    CHECK(!weir_budget_cancel_async(&budget, &small.waiter));
    weir_permit_release(&small.permit);
    weir_permit_release(&one);
    struct weir_budget_stats stats;
    weir_budget_read(&budget, &stats);
    CHECK_EQ(stats.enqueued, 2);
    CHECK_EQ(stats.canceled, 1);
    CHECK_EQ(stats.granted, 1);
    weir_budget_fini(&budget);
}

TEST(a_callback_may_free_its_waiter)
{
    struct weir_budget budget;
    struct weir_permit one = WEIR_PERMIT_NONE;
    CHECK_EQ(weir_budget_init(&budget, "slots", 1), 0);
    CHECK_EQ(weir_budget_try(&budget, 1, &one), 0);
    struct turn waiting[40];
    turns = 0;
    for (int i = 0; i < 40; i++)
        CHECK_EQ(join(&budget, &waiting[i], 1), WEIR_BUDGET_QUEUED);
    weir_permit_release(&one);
    for (int i = 0; i < 40; i++) {
        CHECK_EQ(waiting[i].order, i + 1);
        struct weir_permit permit = waiting[i].permit;
        memset(&waiting[i], 0x5a, sizeof(waiting[i]));
        weir_permit_release(&permit);
    }
    weir_budget_fini(&budget);
}

static unsigned chained;

static void release_at_once(struct weir_budget_waiter *waiter, int result,
                            struct weir_permit permit)
{
    (void)waiter;
    chained += result == 0;
    weir_permit_release(&permit);
}

/* Each release serves the next one; if that ran from within, the stack would not hold them all. */
TEST(a_long_chain_of_callbacks_does_not_recurse)
{
    enum { COUNT = 60000 };
    static struct weir_budget_waiter waiters[COUNT];
    struct weir_budget budget;
    struct weir_permit one = WEIR_PERMIT_NONE, none = WEIR_PERMIT_NONE;
    CHECK_EQ(weir_budget_init(&budget, "slots", 1), 0);
    CHECK_EQ(weir_budget_try(&budget, 1, &one), 0);
    for (int i = 0; i < COUNT; i++)
        CHECK_EQ(weir_budget_acquire_async(&budget, 1, &none, &waiters[i], release_at_once),
                 WEIR_BUDGET_QUEUED);
    chained = 0;
    weir_permit_release(&one);
    CHECK_EQ(chained, COUNT);
    weir_budget_fini(&budget);
}

TEST(too_many_waiters_are_refused)
{
    struct weir_budget budget;
    struct weir_budget_options options = {.capacity = 1, .waiters_max = 2};
    struct weir_permit one = WEIR_PERMIT_NONE;
    struct turn a, b, c;
    turns = 0;
    CHECK_EQ(weir_budget_init_with(&budget, "slots", &options), 0);
    CHECK_EQ(weir_budget_try(&budget, 1, &one), 0);
    CHECK_EQ(join(&budget, &a, 1), WEIR_BUDGET_QUEUED);
    CHECK_EQ(join(&budget, &b, 1), WEIR_BUDGET_QUEUED);
    CHECK_EQ(join(&budget, &c, 1), -WEIR_E_BUSY);
    CHECK_HAS(weir_error_detail(), "2 waiting");
    weir_permit_release(&one);
    weir_permit_release(&a.permit);
    weir_permit_release(&b.permit);
    weir_budget_fini(&budget);
}

struct blocked {
    struct weir_budget *budget;
    struct weir_permit permit;
    struct weir_deadline deadline;
    uint64_t units;
    int result;
};

static void block(void *arg)
{
    struct blocked *blocked = arg;
    blocked->result =
        weir_budget_acquire(blocked->budget, blocked->units, &blocked->permit, &blocked->deadline);
    weir_permit_release(&blocked->permit);
}

static void until_waiting(struct weir_budget *budget, uint64_t wanted)
{
    struct weir_budget_stats stats;
    do {
        struct weir_deadline moment = weir_deadline_in(WEIR_NS_PER_MS / 10, NULL);
        if (!weir__clock_is_fake())
            (void)weir_deadline_sleep(&moment);
        weir_budget_read(budget, &stats);
    } while (stats.waiting != wanted);
}

TEST(many_blocked_threads_are_all_served)
{
    struct weir_budget budget;
    struct weir_permit all = WEIR_PERMIT_NONE;
    CHECK_EQ(weir_budget_init(&budget, "slots", 50), 0);
    CHECK_EQ(weir_budget_try(&budget, 50, &all), 0);
    struct blocked blocked[50];
    struct weir__thread threads[50];
    for (int i = 0; i < 50; i++) {
        blocked[i] = (struct blocked){.budget = &budget,
                                      .deadline = weir_deadline_in(60 * WEIR_NS_PER_S, NULL),
                                      .units = 1,
                                      .result = 99};
        CHECK_EQ(weir__thread_start(&threads[i], "blocked", block, &blocked[i]), 0);
    }
    until_waiting(&budget, 50);
    weir_permit_release(&all);
    for (int i = 0; i < 50; i++) {
        weir__thread_join(&threads[i]);
        CHECK_EQ(blocked[i].result, 0);
    }
    struct weir_budget_stats stats;
    weir_budget_read(&budget, &stats);
    CHECK_EQ(stats.granted, 50);
    CHECK_EQ(stats.wait_ns.count, 50);
    CHECK_EQ(stats.acquired, 51);
    CHECK_EQ(stats.released, 51);
    weir_budget_fini(&budget);
}

TEST(a_blocked_thread_times_out_and_is_canceled)
{
    weir__clock_fake(WEIR_NS_PER_S);
    struct weir_budget budget;
    struct weir_permit all = WEIR_PERMIT_NONE;
    struct weir_cancel token;
    weir_cancel_init(&token, NULL);
    CHECK_EQ(weir_budget_init(&budget, "slots", 1), 0);
    CHECK_EQ(weir_budget_try(&budget, 1, &all), 0);
    struct blocked late = {.budget = &budget, .deadline = {2 * WEIR_NS_PER_S, NULL}, .units = 1};
    struct blocked stopped = {.budget = &budget, .deadline = {WEIR_NEVER, &token}, .units = 1};
    struct weir__thread threads[2];
    CHECK_EQ(weir__thread_start(&threads[0], "late", block, &late), 0);
    CHECK_EQ(weir__thread_start(&threads[1], "stopped", block, &stopped), 0);
    until_waiting(&budget, 2);
    weir__clock_advance(WEIR_NS_PER_S);
    weir__thread_join(&threads[0]);
    CHECK_EQ(late.result, -WEIR_E_TIMEOUT);
    weir_cancel_fire(&token);
    weir__thread_join(&threads[1]);
    CHECK_EQ(stopped.result, -WEIR_E_CANCELED);
    struct weir_budget_stats stats;
    weir_budget_read(&budget, &stats);
    CHECK_EQ(stats.timed_out, 1);
    CHECK_EQ(stats.canceled, 1);
    CHECK_EQ(stats.waiting, 0);
    weir_permit_release(&all);
    weir_budget_fini(&budget);
    weir_cancel_fini(&token);
    weir__clock_unfake();
}

TEST(grows_and_serves)
{
    struct weir_budget budget;
    struct weir_permit one = WEIR_PERMIT_NONE;
    struct turn turn;
    turns = 0;
    CHECK_EQ(weir_budget_init(&budget, "slots", 2), 0);
    CHECK_EQ(weir_budget_try(&budget, 1, &one), 0);
    CHECK_EQ(join(&budget, &turn, 2), WEIR_BUDGET_QUEUED);
    CHECK_EQ(weir_budget_resize(&budget, 3), 0);
    CHECK_EQ(turn.order, 1);
    CHECK_EQ(weir_budget_resize(&budget, 0), -WEIR_E_INVALID);
    CHECK_EQ(weir_budget_resize(&budget, WEIR_BUDGET_MAX + 1), -WEIR_E_INVALID);
    weir_permit_release(&turn.permit);
    weir_permit_release(&one);
    CHECK_EQ(weir_budget_available(&budget), 3);
    weir_budget_fini(&budget);
}

TEST(shrinks_as_units_come_home)
{
    struct weir_budget budget;
    struct weir_permit a = WEIR_PERMIT_NONE, b = WEIR_PERMIT_NONE, c = WEIR_PERMIT_NONE;
    CHECK_EQ(weir_budget_init(&budget, "slots", 10), 0);
    CHECK_EQ(weir_budget_try(&budget, 4, &a), 0);
    CHECK_EQ(weir_budget_try(&budget, 4, &b), 0);
    CHECK_EQ(weir_budget_resize(&budget, 3), 0);
    struct weir_budget_stats stats;
    weir_budget_read(&budget, &stats);
    CHECK_EQ(stats.capacity, 3);
    CHECK_EQ(stats.in_use, 8);
    CHECK_EQ(stats.available, 0);
    weir_permit_release(&a);
    CHECK_EQ(weir_budget_try(&budget, 1, &c), -WEIR_E_BUSY);
    weir_permit_release(&b);
    CHECK_EQ(weir_budget_available(&budget), 3);
    CHECK_EQ(weir_budget_try(&budget, 3, &c), 0);
    CHECK_EQ(weir_budget_resize(&budget, 1), 0);
    CHECK_EQ(weir_budget_resize(&budget, 5), 0); /* growing pays the debt first */
    CHECK_EQ(weir_budget_available(&budget), 2);
    weir_permit_release(&c);
    CHECK_EQ(weir_budget_available(&budget), 5);
    weir_budget_fini(&budget);
}

TEST(a_shrink_fails_what_can_no_longer_fit)
{
    struct weir_budget budget;
    struct weir_permit one = WEIR_PERMIT_NONE;
    struct turn big, small;
    turns = 0;
    CHECK_EQ(weir_budget_init(&budget, "slots", 4), 0);
    CHECK_EQ(weir_budget_try(&budget, 1, &one), 0);
    CHECK_EQ(join(&budget, &big, 4), WEIR_BUDGET_QUEUED);
    CHECK_EQ(join(&budget, &small, 1), WEIR_BUDGET_QUEUED);
    CHECK_EQ(weir_budget_resize(&budget, 2), 0);
    CHECK_EQ(big.result, -WEIR_E_TOO_LARGE);
    CHECK(!weir_permit_is_held(&big.permit));
    CHECK_EQ(small.result, 0);
    weir_permit_release(&small.permit);
    weir_permit_release(&one);
    weir_budget_fini(&budget);
}

TEST(counts_are_exact_over_many_folds)
{
    struct weir_budget budget;
    CHECK_EQ(weir_budget_init(&budget, "slots", 3), 0);
    struct weir_budget_stats stats;
    for (int i = 1; i <= 10000; i++) {
        struct weir_permit permit = WEIR_PERMIT_NONE;
        CHECK_EQ(weir_budget_acquire(&budget, 1 + (uint64_t)i % 3, &permit, NULL), 0);
        weir_permit_release(&permit);
        if (i % 997 == 0) {
            weir_budget_read(&budget, &stats);
            CHECK_EQ(stats.acquired, i);
            CHECK_EQ(stats.released, i);
        }
    }
    CHECK_EQ(weir_budget_available(&budget), 3);
    weir_budget_fini(&budget);
}

/* The state word counts up to 2047 permits each way before they are folded into the sums. Nothing
 * is read meanwhile but what is free, since a read folds too. */
TEST(thousands_may_be_out_at_once)
{
    enum { CAPACITY = 5000 };
    static struct weir_permit permits[CAPACITY];
    struct weir_permit more = WEIR_PERMIT_NONE;
    struct weir_budget_stats stats;
    struct weir_budget budget;
    CHECK_EQ(weir_budget_init(&budget, "files", CAPACITY), 0);
    for (int round = 1; round <= 2; round++) {
        for (int i = 0; i < CAPACITY; i++) {
            int error = round == 1 ? weir_budget_try(&budget, 1, &permits[i])
                                   : weir_budget_acquire(&budget, 1, &permits[i], NULL);
            CHECK_EQ(error, 0);
            CHECK_EQ(weir_budget_available(&budget), CAPACITY - 1 - i);
        }
        CHECK_EQ(weir_budget_try(&budget, 1, &more), -WEIR_E_BUSY);
        weir_budget_read(&budget, &stats);
        CHECK_EQ(stats.acquired, round * CAPACITY);
        CHECK_EQ(stats.released, (round - 1) * CAPACITY);
        for (int i = 0; i < CAPACITY; i++) {
            weir_permit_release(&permits[i]);
            CHECK_EQ(weir_budget_available(&budget), i + 1);
        }
        weir_budget_read(&budget, &stats);
        CHECK_EQ(stats.acquired, round * CAPACITY);
        CHECK_EQ(stats.released, round * CAPACITY);
    }
    weir_budget_fini(&budget);
}

/* More blocked waiters than are woken at once, and a resize back up while they are failed: those
 * that fit again are not failed. The callback makes it certain that the second resize comes in
 * between. */
static struct weir_budget *resized;
static void grow_again(struct weir_budget_waiter *waiter, int result, struct weir_permit permit)
{
    (void)waiter;
    weir_permit_release(&permit);
    if (result == -WEIR_E_TOO_LARGE)
        CHECK_EQ(weir_budget_resize(resized, 100), 0);
}

TEST(a_resize_in_between_is_seen)
{
    struct weir_budget budget;
    struct weir_permit all = WEIR_PERMIT_NONE, none = WEIR_PERMIT_NONE;
    struct weir_budget_waiter first;
    resized = &budget;
    CHECK_EQ(weir_budget_init(&budget, "slots", 100), 0);
    CHECK_EQ(weir_budget_try(&budget, 100, &all), 0);
    CHECK_EQ(weir_budget_acquire_async(&budget, 60, &none, &first, grow_again), WEIR_BUDGET_QUEUED);
    struct blocked blocked[40];
    struct weir__thread threads[40];
    for (int i = 0; i < 40; i++) {
        blocked[i] = (struct blocked){.budget = &budget,
                                      .deadline = weir_deadline_in(60 * WEIR_NS_PER_S, NULL),
                                      .units = 60,
                                      .result = 99};
        CHECK_EQ(weir__thread_start(&threads[i], "blocked", block, &blocked[i]), 0);
    }
    until_waiting(&budget, 41);
    CHECK_EQ(weir_budget_resize(&budget, 50), 0);
    weir_permit_release(&all);
    int granted = 0;
    for (int i = 0; i < 40; i++) {
        weir__thread_join(&threads[i]);
        CHECK(blocked[i].result == 0 || blocked[i].result == -WEIR_E_TOO_LARGE);
        granted += blocked[i].result == 0;
    }
    CHECK(granted >= 40 - 16);
    CHECK_EQ(weir_budget_capacity(&budget), 100);
    weir_budget_fini(&budget);
}

static void fini_with_permit_out(void *arg)
{
    struct weir_permit permit = WEIR_PERMIT_NONE;
    if (weir_budget_try(arg, 1, &permit) == 0)
        weir_budget_fini(arg);
}

static void release_a_copy(void *arg)
{
    struct weir_permit permit = WEIR_PERMIT_NONE, copy;
    if (weir_budget_try(arg, 1, &permit) == 0) {
        copy = permit;
        weir_permit_release(&permit);
        weir_permit_release(&copy);
    }
}

TEST(misuse_is_named)
{
    struct weir_budget budget;
    CHECK_EQ(weir_budget_init(&budget, "slots", 2), 0);
    CHECK(tap_dies(fini_with_permit_out, &budget, "budget 'slots': destroyed with permits out: 1"));
    CHECK(tap_dies(release_a_copy, &budget, "budget 'slots': "));
    weir_budget_fini(&budget);
}

TEST(nothing_given_is_refused)
{
    struct weir_budget x;
    CHECK_EQ(weir_budget_init_with(&x, "x", NULL), -WEIR_E_INVALID);
    CHECK_HAS(weir_error_detail(), "capacity of 0");
}

TAP_MAIN()
