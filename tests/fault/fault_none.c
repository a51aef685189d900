/* What promises to allocate nothing: all calls of budget and pool, in which no allocation is found
 * that could fail. */
#include "tap.h"

#include <weir/budget.h>
#include <weir/pool.h>

#include "sweep.h"

/* ---- the budget ---- */

struct turn {
    struct weir_budget_waiter waiter;
    struct weir_permit permit;
    int result;
};

static void on_turn(struct weir_budget_waiter *waiter, int result, struct weir_permit permit)
{
    struct turn *turn = (struct turn *)waiter;
    turn->result = result;
    turn->permit = permit;
}

static int join(struct weir_budget *budget, uint64_t n, struct turn *turn)
{
    *turn = (struct turn){.result = 99};
    return weir_budget_acquire_async(budget, n, &turn->permit, &turn->waiter, on_turn);
}

/* With all units out: one that gives up, one that leaves, one that a resize refuses, one served. */
static void wait_for_budget(struct weir_budget *budget, struct weir_permit *all)
{
    struct weir_permit late = WEIR_PERMIT_NONE;
    struct weir_deadline soon = weir_deadline_in(1000, NULL);
    struct turn leaves, refused, served;
    CHECK_EQ(weir_budget_try(budget, 1, &late), -WEIR_E_BUSY);
    CHECK_HAS(weir_error_detail(), "1 asked for");
    CHECK_EQ(weir_budget_acquire(budget, 1, &late, &soon), -WEIR_E_TIMEOUT);
    CHECK_EQ(join(budget, 1, &leaves), WEIR_BUDGET_QUEUED);
    CHECK(weir_budget_cancel_async(budget, &leaves.waiter));
    CHECK_EQ(join(budget, 4, &refused), WEIR_BUDGET_QUEUED);
    CHECK_EQ(weir_budget_resize(budget, 2), 0);
    CHECK_EQ(refused.result, -WEIR_E_TOO_LARGE);
    CHECK_EQ(weir_budget_resize(budget, 4), 0);
    CHECK_EQ(join(budget, 3, &served), WEIR_BUDGET_QUEUED);
    weir_permit_release(all);
    CHECK_EQ(served.result, 0);
    weir_permit_release(&served.permit);
}

static void use_budget(void)
{
    struct weir_budget budget;
    struct weir_budget_options options = {.capacity = 4, .waiters_max = 8};
    struct weir_permit a = WEIR_PERMIT_NONE, b = WEIR_PERMIT_NONE;
    struct weir_deadline deadline = weir_deadline_in(60 * WEIR_NS_PER_S, NULL);
    struct weir_budget_stats stats;
    CHECK_EQ(weir_budget_init(&budget, "units", 4), 0);
    weir_budget_fini(&budget);
    CHECK_EQ(weir_budget_init_with(&budget, "units", &options), 0);
    CHECK_EQ(weir_budget_try(&budget, 5, &a), -WEIR_E_TOO_LARGE);
    for (int i = 0; i < 3000; i++) { /* past the folding of the counts */
        CHECK_EQ(weir_budget_try(&budget, 1, &a), 0);
        weir_permit_release(&a);
    }
    CHECK_EQ(weir_budget_acquire(&budget, 4, &a, &deadline), 0);
    weir_permit_move(&b, &a);
    CHECK_EQ(weir_permit_units(&b), 4);
    wait_for_budget(&budget, &b);
    weir_budget_read(&budget, &stats);
    CHECK_EQ(stats.enqueued, 4);
    CHECK_EQ(weir_budget_available(&budget), weir_budget_capacity(&budget));
    CHECK_STR(weir_budget_name(&budget), "units");
    weir_budget_fini(&budget);
}

TEST(a_budget_allocates_nothing)
{
    CHECK_EQ(sweep(WEIR_FAULT_ALLOC, use_budget), 0);
}

/* ---- the pool ---- */

static const struct weir_pool_config config = {
    .scan_ring_bytes = 100, .delta_cache_bytes = 200, .spill_slots = 2};

struct pool_turn {
    struct weir_pool_waiter waiter;
    struct weir_pool_permit permit;
    int result;
};

static void on_pool_turn(struct weir_pool_waiter *waiter, int result,
                         struct weir_pool_permit permit)
{
    struct pool_turn *turn = (struct pool_turn *)waiter;
    turn->result = result;
    turn->permit = permit;
}

static int join_pool(struct weir_pool *pool, uint64_t scan_ring_bytes, struct pool_turn *turn)
{
    struct weir_pool_request request = {scan_ring_bytes, 0, true};
    *turn = (struct pool_turn){.result = 99};
    return weir_pool_acquire_async(pool, &request, &turn->permit, &turn->waiter, on_pool_turn);
}

static void wait_for_pool(struct weir_pool *pool, struct weir_pool_permit *all)
{
    struct weir_pool_permit late = WEIR_POOL_PERMIT_NONE;
    struct weir_pool_request one = weir_pool_request_archive(1, false);
    struct weir_pool_config less = config;
    struct weir_deadline soon = weir_deadline_in(1000, NULL);
    struct pool_turn leaves, refused, served;
    less.scan_ring_bytes = 50;
    CHECK_EQ(weir_pool_try(pool, &one, &late), -WEIR_E_BUSY);
    CHECK_HAS(weir_error_detail(), "pool");
    CHECK_EQ(weir_pool_acquire(pool, &one, &late, &soon), -WEIR_E_TIMEOUT);
    CHECK_EQ(join_pool(pool, 1, &leaves), WEIR_POOL_QUEUED);
    CHECK(weir_pool_cancel_async(pool, &leaves.waiter));
    CHECK_EQ(join_pool(pool, 100, &refused), WEIR_POOL_QUEUED);
    CHECK_EQ(weir_pool_resize(pool, &less), 0);
    CHECK_EQ(refused.result, -WEIR_E_TOO_LARGE);
    CHECK_EQ(weir_pool_resize(pool, &config), 0);
    CHECK_EQ(join_pool(pool, 60, &served), WEIR_POOL_QUEUED);
    weir_pool_permit_release(all);
    CHECK_EQ(served.result, 0);
    weir_pool_permit_release(&served.permit);
}

static void look_at_pool(struct weir_pool *pool)
{
    struct weir_pool_stats stats;
    weir_pool_read(pool, &stats);
    CHECK_EQ(stats.enqueued, 4);
    CHECK_EQ(weir_pool_scan_ring_available(pool), weir_pool_scan_ring_total(pool));
    CHECK_EQ(weir_pool_delta_cache_available(pool), weir_pool_delta_cache_total(pool));
    CHECK_EQ(weir_pool_spill_slots_available(pool), weir_pool_spill_slots_total(pool));
    CHECK_STR(weir_pool_name(pool), "pool");
}

static void use_pool(void)
{
    struct weir_pool pool;
    struct weir_pool_permit a = WEIR_POOL_PERMIT_NONE, b = WEIR_POOL_PERMIT_NONE;
    struct weir_pool_request whole = {100, 200, true}, large;
    struct weir_deadline deadline = weir_deadline_in(60 * WEIR_NS_PER_S, NULL);
    CHECK_EQ(weir_pool_config_check(&config), 0);
    CHECK_EQ(weir_pool_init(&pool, "pool", &config), 0);
    CHECK_EQ(weir_pool_request_git(1, 1, true, &large), 0);
    CHECK_EQ(weir_pool_try(&pool, &large, &a), -WEIR_E_TOO_LARGE);
    CHECK_EQ(weir_pool_try(&pool, &whole, &a), 0);
    weir_pool_permit_release(&a);
    CHECK_EQ(weir_pool_acquire(&pool, &whole, &a, &deadline), 0);
    weir_pool_permit_move(&b, &a);
    CHECK_EQ(weir_pool_permit_total_bytes(&b), 300);
    wait_for_pool(&pool, &b);
    look_at_pool(&pool);
    weir_pool_fini(&pool);
}

TEST(a_pool_allocates_nothing)
{
    CHECK_EQ(sweep(WEIR_FAULT_ALLOC, use_pool), 0);
}

TAP_MAIN()
