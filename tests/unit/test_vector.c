/* The vector budget: all or nothing, one line, skipped and unlimited components, resizing. */
#include "tap.h"

#include <stdlib.h>

#include "clock.h"
#include "thread.h"
#include "vector.h"

enum { RING, CACHE, SPILL };
static const char *const names[] = {"ring bytes", "cache bytes", "spill slots"};

static void make(struct weir__vector *vector, uint64_t ring, uint64_t cache, uint64_t spill)
{
    uint64_t capacities[] = {ring, cache, spill};
    CHECK_EQ(weir__vector_init(vector, "pool", "main", 3, capacities, names, 3), 0);
}

static struct weir__vector_request ask(uint64_t ring, uint64_t cache, uint64_t spill)
{
    return (struct weir__vector_request){{ring, cache, spill, 0}};
}

/* A waiter with a callback that notes in which order it was served. */
struct turn {
    struct weir__vector_waiter waiter;
    struct weir__vector_request request;
    int result;
    int order;
};
static int turns;

static void on_turn(struct weir__vector_waiter *waiter, int result)
{
    struct turn *turn = (struct turn *)waiter;
    turn->result = result;
    turn->order = ++turns;
}

static int join(struct weir__vector *vector, struct turn *turn, struct weir__vector_request request)
{
    *turn = (struct turn){.request = request, .result = 99};
    return weir__vector_acquire_async(vector, &request, &turn->waiter, on_turn);
}

TEST(refuses_bad_names_and_accepts_what_is_half_built)
{
    struct weir__vector vector = {0};
    uint64_t one = 1;
    CHECK_EQ(weir__vector_init(&vector, "pool", "", 1, &one, names, 0), -WEIR_E_INVALID);
    weir__vector_fini(&vector);
    weir__vector_fini(NULL);
}

TEST(takes_all_components_or_none)
{
    struct weir__vector vector;
    struct weir__vector_stats stats;
    make(&vector, 100, 10, 1);
    struct weir__vector_request a = ask(60, 5, 1), b = ask(40, 6, 0), c = ask(40, 5, 1);
    CHECK_EQ(weir__vector_try(&vector, &a), 0);
    CHECK_EQ(weir__vector_try(&vector, &b), -WEIR_E_BUSY);
    CHECK_STR(weir_error_detail(),
              "pool 'main': 6 cache bytes asked for, 5 free, 0 waiting; try again later");
    CHECK_EQ(weir__vector_try(&vector, &c), -WEIR_E_BUSY);
    CHECK_HAS(weir_error_detail(), "1 spill slots asked for, 0 free");
    weir__vector_read(&vector, &stats);
    CHECK_EQ(stats.in_use[RING], 60);
    CHECK_EQ(stats.available[RING], 40);
    CHECK_EQ(stats.in_use[CACHE], 5);
    CHECK_EQ(stats.busy, 2);
    weir__vector_release(&vector, &a);
    CHECK_EQ(weir__vector_try(&vector, &b), 0);
    weir__vector_release(&vector, &b);
    weir__vector_read(&vector, &stats);
    CHECK_EQ(stats.acquired, 2);
    CHECK_EQ(stats.released, 2);
    weir__vector_fini(&vector);
}

TEST(what_can_never_fit_is_refused_at_once)
{
    struct weir__vector vector;
    make(&vector, 100, 10, 1);
    struct weir__vector_request big = ask(1, 11, 0), most = ask(100, 10, 1);
    struct weir_deadline never = {WEIR_NEVER, NULL};
    CHECK_EQ(weir__vector_try(&vector, &big), -WEIR_E_TOO_LARGE);
    CHECK_STR(weir_error_detail(),
              "pool 'main': 11 cache bytes asked for, at most 10 can ever be granted");
    CHECK_EQ(weir__vector_acquire(&vector, &big, &never), -WEIR_E_TOO_LARGE);
    CHECK_EQ(weir__vector_acquire(&vector, &most, &never), 0);
    /* A wait with no end is refused too, and leaves no trace. */
    struct weir__vector_request small = ask(1, 0, 0);
    CHECK_EQ(weir__vector_acquire(&vector, &small, &never), -WEIR_E_INVALID);
    CHECK_EQ(weir__vector_acquire(&vector, &small, NULL), -WEIR_E_INVALID);
    weir__vector_release(&vector, &most);
    weir__vector_fini(&vector);
}

TEST(an_empty_request_succeeds_even_while_others_wait)
{
    struct weir__vector vector;
    struct turn turn;
    make(&vector, 1, 1, 1);
    turns = 0;
    struct weir__vector_request all = ask(1, 1, 1), none = ask(0, 0, 0);
    CHECK_EQ(weir__vector_try(&vector, &all), 0);
    CHECK_EQ(join(&vector, &turn, all), WEIR_BUDGET_QUEUED);
    CHECK_EQ(weir__vector_try(&vector, &none), 0);
    CHECK_EQ(weir__vector_acquire(&vector, &none, NULL), 0);
    weir__vector_release(&vector, &none);
    weir__vector_release(&vector, &none);
    CHECK_EQ(turn.order, 0);
    weir__vector_release(&vector, &all);
    CHECK_EQ(turn.order, 1);
    weir__vector_release(&vector, &all);
    weir__vector_fini(&vector);
}

TEST(a_component_without_capacity_is_unlimited_and_counted)
{
    struct weir__vector vector;
    struct weir__vector_stats stats;
    make(&vector, 10, 10, 0);
    struct weir__vector_request most = ask(1, 0, UINT64_MAX), one = ask(1, 0, 1);
    CHECK_EQ(weir__vector_try(&vector, &most), 0);
    weir__vector_read(&vector, &stats);
    CHECK_EQ(stats.capacity[SPILL], 0);
    CHECK(stats.in_use[SPILL] == UINT64_MAX);
    CHECK(stats.available[SPILL] == UINT64_MAX);
    CHECK_EQ(weir__vector_try(&vector, &one), -WEIR_E_BUSY); /* the count itself is full */
    weir__vector_release(&vector, &most);
    CHECK_EQ(weir__vector_try(&vector, &one), 0);
    weir__vector_release(&vector, &one);
    weir__vector_fini(&vector);
}

TEST(serves_in_order_over_the_whole_vector)
{
    struct weir__vector vector;
    struct turn whole, small, other;
    make(&vector, 100, 10, 1);
    turns = 0;
    struct weir__vector_request held = ask(1, 0, 0), cheap = ask(0, 1, 0);
    CHECK_EQ(weir__vector_try(&vector, &held), 0);
    CHECK_EQ(join(&vector, &whole, ask(100, 10, 1)), WEIR_BUDGET_QUEUED);
    /* What these ask for is free, but somebody waits for it. */
    CHECK_EQ(join(&vector, &small, ask(1, 0, 0)), WEIR_BUDGET_QUEUED);
    CHECK_EQ(join(&vector, &other, cheap), WEIR_BUDGET_QUEUED);
    CHECK_EQ(weir__vector_try(&vector, &cheap), -WEIR_E_BUSY);
    CHECK_STR(weir_error_detail(), "pool 'main': 3 waiting in line before it; try again later");
    struct turn fourth;
    CHECK_EQ(join(&vector, &fourth, cheap), -WEIR_E_BUSY); /* waiters_max is 3 */
    weir__vector_release(&vector, &held);
    CHECK_EQ(whole.order, 1);
    CHECK_EQ(small.order, 0);
    weir__vector_release(&vector, &whole.request);
    CHECK_EQ(small.order, 2);
    CHECK_EQ(other.order, 3);
    weir__vector_release(&vector, &small.request);
    weir__vector_release(&vector, &other.request);
    weir__vector_fini(&vector);
}

TEST(a_head_that_leaves_lets_the_next_ones_in)
{
    struct weir__vector vector;
    struct weir__vector_stats stats;
    struct turn whole, small;
    make(&vector, 2, 2, 0);
    turns = 0;
    struct weir__vector_request held = ask(1, 0, 0);
    CHECK_EQ(weir__vector_try(&vector, &held), 0);
    CHECK_EQ(join(&vector, &whole, ask(2, 2, 0)), WEIR_BUDGET_QUEUED);
    CHECK_EQ(join(&vector, &small, ask(1, 1, 0)), WEIR_BUDGET_QUEUED);
    CHECK(weir__vector_cancel_async(&vector, &whole.waiter));
    CHECK_EQ(whole.order, 0);
    CHECK_EQ(small.order, 1);
    CHECK(!weir__vector_cancel_async(&vector, &small.waiter));
    weir__vector_release(&vector, &small.request);
    weir__vector_release(&vector, &held);
    weir__vector_read(&vector, &stats);
    CHECK_EQ(stats.enqueued, 2);
    CHECK_EQ(stats.canceled, 1);
    CHECK_EQ(stats.granted, 1);
    CHECK_EQ(stats.wait_ns.count, 1);
    weir__vector_fini(&vector);
}

static struct weir__vector *chained;

static void release_at_once(struct weir__vector_waiter *waiter, int result)
{
    struct turn *turn = (struct turn *)waiter;
    CHECK_EQ(result, 0);
    turn->order = ++turns;
    weir__vector_release(chained, &turn->request);
}

/* Each callback makes room for the next: that must not cost a stack frame each. */
TEST(a_long_chain_of_callbacks_that_release_at_once)
{
    enum { LENGTH = 60000 };
    struct weir__vector vector;
    uint64_t one[] = {1};
    CHECK_EQ(weir__vector_init(&vector, "pool", "main", 1, one, names, 0), 0);
    struct weir__vector_request request = {{1, 0, 0, 0}};
    struct turn *all = calloc(LENGTH, sizeof(*all));
    chained = &vector;
    turns = 0;
    CHECK_EQ(weir__vector_try(&vector, &request), 0);
    for (int i = 0; i < LENGTH; i++) {
        all[i].request = request;
        CHECK_EQ(weir__vector_acquire_async(&vector, &request, &all[i].waiter, release_at_once),
                 WEIR_BUDGET_QUEUED);
    }
    weir__vector_release(&vector, &request);
    CHECK_EQ(turns, LENGTH);
    for (int i = 0; i < LENGTH; i++)
        CHECK_EQ(all[i].order, i + 1);
    weir__vector_fini(&vector);
    free(all);
}

TEST(resizes_without_debt)
{
    struct weir__vector vector;
    struct weir__vector_stats stats;
    struct turn wide, narrow;
    make(&vector, 10, 10, 0);
    turns = 0;
    struct weir__vector_request held = ask(8, 0, 0), cache = ask(0, 10, 0);
    CHECK_EQ(weir__vector_try(&vector, &held), 0);
    CHECK_EQ(weir__vector_resize(&vector, RING, 4), 0);
    weir__vector_read(&vector, &stats);
    CHECK_EQ(stats.in_use[RING], 8);
    CHECK_EQ(stats.available[RING], 0);
    CHECK_EQ(weir__vector_try(&vector, &cache), 0); /* the other component is untouched */
    CHECK_EQ(join(&vector, &wide, ask(4, 0, 0)), WEIR_BUDGET_QUEUED);
    CHECK_EQ(join(&vector, &narrow, ask(1, 0, 0)), WEIR_BUDGET_QUEUED);
    CHECK_EQ(weir__vector_resize(&vector, RING, 2), 0);
    CHECK_EQ(wide.result, -WEIR_E_TOO_LARGE);
    CHECK_EQ(narrow.order, 0);
    CHECK_EQ(weir__vector_resize(&vector, RING, 9), 0);
    CHECK_EQ(narrow.result, 0);
    CHECK_EQ(weir__vector_resize(&vector, 3, 9), -WEIR_E_INVALID);
    CHECK_HAS(weir_error_detail(), "no component 3");
    weir__vector_release(&vector, &held);
    weir__vector_release(&vector, &narrow.request);
    weir__vector_release(&vector, &cache);
    weir__vector_read(&vector, &stats);
    CHECK_EQ(stats.refused, 1);
    weir__vector_fini(&vector);
}

TEST(an_expired_deadline_still_takes_what_is_free)
{
    struct weir__vector vector;
    struct weir_cancel fired;
    weir_cancel_init(&fired, NULL);
    weir_cancel_fire(&fired);
    struct weir_deadline past = {1, &fired}, late = {1, NULL};
    make(&vector, 1, 1, 1);
    struct weir__vector_request one = ask(1, 0, 0);
    CHECK_EQ(weir__vector_acquire(&vector, &one, &past), 0);
    CHECK_EQ(weir__vector_acquire(&vector, &one, &past), -WEIR_E_CANCELED);
    CHECK_STR(weir_error_detail(), "pool 'main': canceled while waiting");
    CHECK_EQ(weir__vector_acquire(&vector, &one, &late), -WEIR_E_TIMEOUT);
    CHECK_STR(weir_error_detail(), "pool 'main': not granted before the deadline");
    weir__vector_release(&vector, &one);
    weir__vector_fini(&vector);
    weir_cancel_fini(&fired);
}

struct blocked {
    struct weir__vector *vector;
    struct weir__vector_request request;
    int result;
};

static void block(void *arg)
{
    struct blocked *blocked = arg;
    struct weir_deadline deadline = weir_deadline_in(60 * WEIR_NS_PER_S, NULL);
    blocked->result = weir__vector_acquire(blocked->vector, &blocked->request, &deadline);
    if (!blocked->result)
        weir__vector_release(blocked->vector, &blocked->request);
}

static void until_waiting(struct weir__vector *vector, uint64_t wanted)
{
    struct weir__vector_stats stats;
    do {
        struct weir_deadline moment = weir_deadline_in(WEIR_NS_PER_MS / 10, NULL);
        (void)weir_deadline_sleep(&moment);
        weir__vector_read(vector, &stats);
    } while (stats.waiting != wanted);
}

/* More than one batch of wakes. */
TEST(many_blocked_threads_are_all_served_and_all_failed)
{
    struct weir__vector vector;
    uint64_t capacities[] = {40, 40};
    CHECK_EQ(weir__vector_init(&vector, "pool", "main", 2, capacities, names, 0), 0);
    struct weir__vector_request all = ask(40, 40, 0);
    struct blocked blocked[40];
    struct weir__thread threads[40];
    for (int fail = 0; fail < 2; fail++) {
        CHECK_EQ(weir__vector_try(&vector, &all), 0);
        for (int i = 0; i < 40; i++) {
            uint64_t n = fail ? 2 : 1;
            blocked[i] = (struct blocked){&vector, ask(n, 1, 0), 99};
            CHECK_EQ(weir__thread_start(&threads[i], "blocked", block, &blocked[i]), 0);
        }
        until_waiting(&vector, 40);
        if (fail)
            CHECK_EQ(weir__vector_resize(&vector, RING, 1), 0);
        else
            weir__vector_release(&vector, &all);
        for (int i = 0; i < 40; i++) {
            weir__thread_join(&threads[i]);
            CHECK_EQ(blocked[i].result, fail ? -WEIR_E_TOO_LARGE : 0);
        }
    }
    weir__vector_release(&vector, &all);
    struct weir__vector_stats stats;
    weir__vector_read(&vector, &stats);
    CHECK_EQ(stats.granted, 40);
    CHECK_EQ(stats.refused, 40);
    CHECK_EQ(stats.acquired, stats.released);
    weir__vector_fini(&vector);
}

static void fini_with_permit_out(void *arg)
{
    struct weir__vector_request one = ask(1, 0, 0);
    if (weir__vector_try(arg, &one) == 0)
        weir__vector_fini(arg);
}

static void release_too_much(void *arg)
{
    struct weir__vector_request one = ask(1, 0, 0), two = ask(2, 0, 0);
    if (weir__vector_try(arg, &one) == 0)
        weir__vector_release(arg, &two);
}

static void ask_for_a_fourth(void *arg)
{
    struct weir__vector_request fourth = {{0, 0, 0, 1}};
    (void)!weir__vector_try(arg, &fourth);
}

TEST(misuse_is_named)
{
    struct weir__vector vector;
    make(&vector, 4, 4, 4);
    CHECK(tap_dies(fini_with_permit_out, &vector, "pool 'main': destroyed with permits out"));
    CHECK(tap_dies(release_too_much, &vector, "pool 'main': more units released"));
    CHECK(tap_dies(ask_for_a_fourth, &vector, "a component that it does not have"));
    weir__vector_fini(&vector);
}

TAP_MAIN()
