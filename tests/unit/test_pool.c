/* The pool: configuration, all or nothing, spilling, the line, callbacks, resizing, misuse.
 *
 * Sizes are written in MB of 10^6 bytes, as in the requests that the pool is made for. */
#include "tap.h"

#include <weir/pool.h>

#include "atomic.h"
#include "clock.h"
#include "thread.h"

#define MB WEIR_POOL_MB

static struct weir_pool_request ask(uint64_t scan_ring_mb, uint64_t delta_cache_mb, bool spill)
{
    struct weir_pool_request request;
    CHECK_EQ(weir_pool_request_git(scan_ring_mb, delta_cache_mb, spill, &request), 0);
    return request;
}

static void make(struct weir_pool *pool, uint64_t scan_ring_mb, uint64_t delta_cache_mb,
                 uint64_t spill_slots)
{
    struct weir_pool_config config = {scan_ring_mb * MB, delta_cache_mb * MB, spill_slots, 0};
    CHECK_EQ(weir_pool_init(pool, "fat", &config), 0);
}

static int try_for(struct weir_pool *pool, uint64_t scan_ring_mb, uint64_t delta_cache_mb,
                   bool spill, struct weir_pool_permit *ret_permit)
{
    struct weir_pool_request request = ask(scan_ring_mb, delta_cache_mb, spill);
    return weir_pool_try(pool, &request, ret_permit);
}

static void check_untouched(struct weir_pool *pool)
{
    CHECK_EQ(weir_pool_scan_ring_available(pool), weir_pool_scan_ring_total(pool));
    CHECK_EQ(weir_pool_delta_cache_available(pool), weir_pool_delta_cache_total(pool));
    CHECK_EQ(weir_pool_spill_slots_available(pool), weir_pool_spill_slots_total(pool));
}

/* ---- configuration and requests ---- */

TEST(config_defaults)
{
    struct weir_pool_config config = weir_pool_config_default();
    CHECK_EQ(config.scan_ring_bytes, 268435456);
    CHECK_EQ(config.delta_cache_bytes, 536870912);
    CHECK_EQ(config.spill_slots, 16);
    CHECK_EQ(weir_pool_config_check(&config), 0);
    struct weir_pool pool;
    CHECK_EQ(weir_pool_init(&pool, "fat", &config), 0);
    CHECK_STR(weir_pool_name(&pool), "fat");
    CHECK_EQ(weir_pool_scan_ring_total(&pool), 256 * 1024 * 1024);
    CHECK_EQ(weir_pool_delta_cache_total(&pool), 512 * 1024 * 1024);
    CHECK_EQ(weir_pool_spill_slots_total(&pool), 16);
    check_untouched(&pool);
    weir_pool_fini(&pool);
}

TEST(config_rejects_zero_scan_ring)
{
    struct weir_pool pool = {0};
    struct weir_pool_config config = {0, 1, 1, 0};
    CHECK_EQ(weir_pool_config_check(&config), -WEIR_E_INVALID);
    CHECK_EQ(weir_pool_init(&pool, "fat", &config), -WEIR_E_INVALID);
    CHECK_STR(weir_error_detail(),
              "pool 'fat': a scan ring of 0 bytes was asked for, at least 1 is needed");
    weir_pool_fini(&pool); /* still all zero */
}

TEST(config_rejects_zero_delta_cache)
{
    struct weir_pool pool = {0};
    struct weir_pool_config config = {1, 0, 1, 0};
    CHECK_EQ(weir_pool_config_check(&config), -WEIR_E_INVALID);
    CHECK_EQ(weir_pool_init(&pool, "fat", &config), -WEIR_E_INVALID);
    CHECK_HAS(weir_error_detail(), "pool 'fat': a delta cache of 0 bytes was asked for");
}

TEST(config_rejects_zero_spill_slots)
{
    struct weir_pool pool = {0};
    struct weir_pool_config config = {1, 1, 0, 0};
    CHECK_EQ(weir_pool_config_check(&config), -WEIR_E_INVALID);
    CHECK_EQ(weir_pool_init(&pool, "fat", &config), -WEIR_E_INVALID);
    CHECK_HAS(weir_error_detail(), "at least 1 is needed, or no limit at all");
    config.spill_slots = WEIR_POOL_SLOTS_UNLIMITED;
    CHECK_EQ(weir_pool_config_check(&config), 0);
    CHECK_EQ(weir_pool_init(&pool, "", &config), -WEIR_E_INVALID);
    CHECK_EQ(weir_pool_init(&pool, NULL, &config), -WEIR_E_INVALID);
    weir_pool_fini(NULL);
}

TEST(git_repo_helper)
{
    struct weir_pool_request request;
    CHECK_EQ(weir_pool_request_git(50, 100, true, &request), 0);
    CHECK_EQ(request.scan_ring_bytes, 50000000); /* MB is 10^6 */
    CHECK_EQ(request.delta_cache_bytes, 100000000);
    CHECK(request.needs_spill_slot);
}

TEST(git_repo_helper_rejects_overflow)
{
    struct weir_pool_request request = {1, 2, false};
    uint64_t max_mb = UINT64_MAX / 1000000;
    CHECK_EQ(weir_pool_request_git(max_mb + 1, 1, true, &request), -WEIR_E_TOO_LARGE);
    CHECK_HAS(weir_error_detail(), "each may have at most 18446744073709 MB");
    CHECK_EQ(weir_pool_request_git(1, UINT64_MAX, true, &request), -WEIR_E_TOO_LARGE);
    CHECK_EQ(request.scan_ring_bytes, 1); /* untouched */
    CHECK(!request.needs_spill_slot);
    CHECK_EQ(weir_pool_request_git(max_mb, 0, true, &request), 0);
    CHECK_EQ(request.scan_ring_bytes, max_mb * MB);
}

TEST(archive_helper)
{
    struct weir_pool_request request = weir_pool_request_archive(10 * 1024 * 1024, true);
    CHECK_EQ(request.scan_ring_bytes, 10485760);
    CHECK_EQ(request.delta_cache_bytes, 0);
    CHECK(request.needs_spill_slot);
    CHECK(!weir_pool_request_archive(1, false).needs_spill_slot);
}

/* ---- taking and giving back ---- */

TEST(basic_acquisition_and_release)
{
    struct weir_pool pool;
    struct weir_pool_permit permit = WEIR_POOL_PERMIT_NONE, other = WEIR_POOL_PERMIT_NONE;
    make(&pool, 200, 400, 8);
    CHECK_EQ(try_for(&pool, 50, 100, true, &permit), 0);
    CHECK(weir_pool_permit_is_held(&permit));
    CHECK_EQ(weir_pool_permit_scan_ring_bytes(&permit), 50000000);
    CHECK_EQ(weir_pool_permit_delta_cache_bytes(&permit), 100000000);
    CHECK_EQ(weir_pool_permit_total_bytes(&permit), 150000000);
    CHECK_EQ(weir_pool_scan_ring_available(&pool), 150 * MB);
    CHECK_EQ(weir_pool_delta_cache_available(&pool), 300 * MB);
    CHECK_EQ(weir_pool_spill_slots_available(&pool), 7);
    weir_pool_permit_move(&other, &permit);
    CHECK(!weir_pool_permit_is_held(&permit));
    weir_pool_permit_release(&permit); /* empty: left alone */
    weir_pool_permit_release(&other);
    weir_pool_permit_release(&other);
    check_untouched(&pool);
    {
        WEIR_CLEANUP(weir_pool_permit_release)
        struct weir_pool_permit scoped = WEIR_POOL_PERMIT_NONE;
        CHECK_EQ(try_for(&pool, 200, 400, true, &scoped), 0);
    }
    check_untouched(&pool);
    weir_pool_fini(&pool);
}

/* As documented in docs/core/pool.md. */
TEST(sizes_are_as_documented)
{
    CHECK(sizeof(struct weir_pool_permit) <= 80);
    CHECK(sizeof(struct weir_pool) <= 1024);
}

TEST(empty_request_succeeds)
{
    struct weir_pool pool;
    struct weir_pool_permit all = WEIR_POOL_PERMIT_NONE, none = WEIR_POOL_PERMIT_NONE;
    make(&pool, 1, 1, 1);
    CHECK_EQ(try_for(&pool, 1, 1, true, &all), 0);
    CHECK_EQ(try_for(&pool, 0, 0, false, &none), 0);
    CHECK(weir_pool_permit_is_held(&none));
    CHECK_EQ(weir_pool_permit_total_bytes(&none), 0);
    CHECK(!weir_pool_permit_can_spill(&none));
    weir_pool_permit_release(&none);
    weir_pool_permit_release(&all);
    check_untouched(&pool);
    weir_pool_fini(&pool);
}

TEST(a_zero_component_is_skipped)
{
    struct weir_pool pool;
    struct weir_pool_permit ring = WEIR_POOL_PERMIT_NONE, cache = WEIR_POOL_PERMIT_NONE;
    make(&pool, 10, 10, 1);
    CHECK_EQ(try_for(&pool, 10, 0, false, &ring), 0);
    CHECK_EQ(try_for(&pool, 0, 10, true, &cache), 0); /* the full ring is no obstacle */
    weir_pool_permit_release(&ring);
    weir_pool_permit_release(&cache);
    weir_pool_fini(&pool);
}

/* Four jobs of 50 MB fill a ring of 200 MB; the fifth is refused. */
TEST(global_pool_prevents_over_commit)
{
    struct weir_pool pool;
    struct weir_pool_permit job[5] = {WEIR_POOL_PERMIT_NONE};
    make(&pool, 200, 400, 8);
    for (int i = 0; i < 3; i++)
        CHECK_EQ(try_for(&pool, 50, 100, false, &job[i]), 0);
    CHECK_EQ(weir_pool_scan_ring_available(&pool), 50 * MB); /* 150 MB of 200 MB are held, */
    CHECK_EQ(try_for(&pool, 50, 100, false, &job[3]), 0);    /* so another 50 MB fit */
    CHECK_EQ(try_for(&pool, 50, 0, false, &job[4]), -WEIR_E_BUSY);
    CHECK_STR(weir_error_detail(), "pool 'fat': 50000000 scan ring bytes asked for, 0 free, 0 "
                                   "waiting; try again later");
    CHECK(!weir_pool_permit_is_held(&job[4]));
    weir_pool_permit_release(&job[1]);
    CHECK_EQ(try_for(&pool, 50, 0, false, &job[4]), 0);
    for (int i = 0; i < 5; i++)
        weir_pool_permit_release(&job[i]);
    check_untouched(&pool);
    weir_pool_fini(&pool);
}

TEST(partial_acquisition_releases_all)
{
    struct weir_pool pool;
    struct weir_pool_permit first = WEIR_POOL_PERMIT_NONE, second = WEIR_POOL_PERMIT_NONE;
    make(&pool, 200, 100, 8);
    CHECK_EQ(try_for(&pool, 50, 100, false, &first), 0);
    CHECK_EQ(try_for(&pool, 50, 1, true, &second), -WEIR_E_BUSY);
    CHECK_HAS(weir_error_detail(), "1000000 delta cache bytes asked for, 0 free");
    CHECK_EQ(weir_pool_scan_ring_available(&pool), 150 * MB);
    CHECK_EQ(weir_pool_spill_slots_available(&pool), 8);
    /* When several stand in the way, the first in the order of the promise is named. */
    CHECK_EQ(try_for(&pool, 200, 1, true, &second), -WEIR_E_BUSY);
    CHECK_HAS(weir_error_detail(), "200000000 scan ring bytes asked for, 150000000 free");
    weir_pool_permit_release(&first);
    check_untouched(&pool);
    weir_pool_fini(&pool);
}

TEST(spill_slot_failure_releases_bytes)
{
    struct weir_pool pool;
    struct weir_pool_permit first = WEIR_POOL_PERMIT_NONE, second = WEIR_POOL_PERMIT_NONE;
    make(&pool, 200, 400, 1);
    CHECK_EQ(try_for(&pool, 0, 0, true, &first), 0);
    CHECK_EQ(try_for(&pool, 50, 100, true, &second), -WEIR_E_BUSY);
    CHECK_HAS(weir_error_detail(), "1 spill slots asked for, 0 free");
    CHECK_EQ(weir_pool_scan_ring_available(&pool), 200 * MB);
    CHECK_EQ(weir_pool_delta_cache_available(&pool), 400 * MB);
    CHECK_EQ(try_for(&pool, 50, 100, false, &second), 0);
    weir_pool_permit_release(&first);
    weir_pool_permit_release(&second);
    weir_pool_fini(&pool);
}

TEST(too_large_is_refused_at_once)
{
    struct weir_pool pool;
    struct weir_pool_permit permit = WEIR_POOL_PERMIT_NONE;
    struct weir_deadline never = {WEIR_NEVER, NULL};
    struct weir_pool_request request = ask(201, 1, false);
    make(&pool, 200, 400, 8);
    CHECK_EQ(weir_pool_acquire(&pool, &request, &permit, &never), -WEIR_E_TOO_LARGE);
    CHECK_STR(weir_error_detail(), "pool 'fat': 201000000 scan ring bytes asked for, at most "
                                   "200000000 can ever be granted");
    CHECK_EQ(try_for(&pool, 1, 401, false, &permit), -WEIR_E_TOO_LARGE);
    request = (struct weir_pool_request){UINT64_MAX, 1, false};
    CHECK_EQ(weir_pool_try(&pool, &request, &permit), -WEIR_E_TOO_LARGE);
    CHECK_HAS(weir_error_detail(), "together more than 64 bits can count");
    CHECK_EQ(weir_pool_acquire(&pool, &request, &permit, &never), -WEIR_E_TOO_LARGE);
    CHECK_EQ(weir_pool_acquire_async(&pool, &request, &permit, NULL, NULL), -WEIR_E_TOO_LARGE);
    CHECK(!weir_pool_permit_is_held(&permit));
    weir_pool_fini(&pool);
}

/* ---- spilling: the four cases ---- */

TEST(spill_only_request_acquires_slot)
{
    struct weir_pool pool;
    struct weir_pool_permit permit = WEIR_POOL_PERMIT_NONE, other = WEIR_POOL_PERMIT_NONE;
    make(&pool, 1, 1, 4);
    CHECK_EQ(try_for(&pool, 0, 0, true, &permit), 0);
    CHECK_EQ(weir_pool_spill_slots_available(&pool), 3);
    CHECK_EQ(weir_pool_spill_slots_total(&pool), 4);
    CHECK_EQ(weir_pool_permit_spill(&permit), WEIR_POOL_SPILL_LIMITED);
    CHECK(weir_pool_permit_can_spill(&permit));
    CHECK(weir_pool_permit_spill_is_limited(&permit));
    CHECK_EQ(try_for(&pool, 1, 0, false, &other), 0);
    CHECK_EQ(weir_pool_permit_spill(&other), WEIR_POOL_SPILL_NOT_REQUESTED);
    CHECK(!weir_pool_permit_can_spill(&other));
    CHECK(!weir_pool_permit_spill_is_limited(&other));
    CHECK_EQ(weir_pool_spill_slots_available(&pool), 3);
    weir_pool_permit_release(&permit);
    weir_pool_permit_release(&other);
    check_untouched(&pool);
    weir_pool_fini(&pool);
}

TEST(unlimited_spill_mode)
{
    struct weir_pool pool;
    struct weir_pool_permit permit[100] = {WEIR_POOL_PERMIT_NONE}, other = WEIR_POOL_PERMIT_NONE;
    make(&pool, 200, 400, WEIR_POOL_SLOTS_UNLIMITED);
    CHECK(weir_pool_spill_slots_total(&pool) == WEIR_POOL_SLOTS_UNLIMITED);
    for (int i = 0; i < 100; i++) {
        CHECK_EQ(try_for(&pool, 1, 1, true, &permit[i]), 0);
        CHECK_EQ(weir_pool_permit_spill(&permit[i]), WEIR_POOL_SPILL_UNLIMITED);
        CHECK(weir_pool_permit_can_spill(&permit[i]));
        CHECK(!weir_pool_permit_spill_is_limited(&permit[i]));
    }
    CHECK(weir_pool_spill_slots_available(&pool) == WEIR_POOL_SLOTS_UNLIMITED);
    CHECK_EQ(try_for(&pool, 1, 1, false, &other), 0);
    CHECK(!weir_pool_permit_can_spill(&other));
    struct weir_pool_stats stats;
    weir_pool_read(&pool, &stats);
    CHECK_EQ(stats.spill_slots_in_use, 100);
    CHECK(stats.spill_slots_total == WEIR_POOL_SLOTS_UNLIMITED);
    for (int i = 0; i < 100; i++)
        weir_pool_permit_release(&permit[i]);
    weir_pool_permit_release(&other);
    weir_pool_fini(&pool);
}

/* ---- waiting ---- */

struct turn {
    struct weir_pool_waiter waiter;
    struct weir_pool_permit permit;
    int result;
    int order;
};
static int turns;

static void on_turn(struct weir_pool_waiter *waiter, int result, struct weir_pool_permit permit)
{
    struct turn *turn = (struct turn *)waiter;
    turn->result = result;
    turn->permit = permit;
    turn->order = ++turns;
}

static int join(struct weir_pool *pool, struct turn *turn, uint64_t scan_ring_mb,
                uint64_t delta_cache_mb, bool spill)
{
    struct weir_pool_request request = ask(scan_ring_mb, delta_cache_mb, spill);
    *turn = (struct turn){.result = 99};
    return weir_pool_acquire_async(pool, &request, &turn->permit, &turn->waiter, on_turn);
}

/* The seed of starvation: 200 MB, small jobs of 80 MB and 40 MB come and go, a large one needs all.
 * Here it stands in line, and those who came later wait for it. */
TEST(whole_pool_is_served_in_order_under_a_stream_of_small_ones)
{
    struct weir_pool pool;
    struct weir_pool_permit held = WEIR_POOL_PERMIT_NONE, extra = WEIR_POOL_PERMIT_NONE;
    struct turn whole, small[20];
    turns = 0;
    make(&pool, 200, 400, 8);
    CHECK_EQ(try_for(&pool, 80, 0, false, &held), 0);
    CHECK_EQ(join(&pool, &whole, 200, 400, true), WEIR_POOL_QUEUED);
    for (int i = 0; i < 20; i++) {
        CHECK_EQ(join(&pool, &small[i], 40, 0, false), WEIR_POOL_QUEUED); /* 120 MB are free */
        CHECK_EQ(try_for(&pool, 40, 0, false, &extra), -WEIR_E_BUSY);
        CHECK_HAS(weir_error_detail(), "waiting in line before it");
    }
    CHECK_EQ(try_for(&pool, 0, 1, false, &extra), -WEIR_E_BUSY); /* whatever they ask for */
    CHECK_EQ(try_for(&pool, 0, 0, false, &extra), 0);            /* nothing takes nothing away */
    weir_pool_permit_release(&extra);
    weir_pool_permit_release(&held);
    CHECK_EQ(whole.order, 1);
    CHECK_EQ(whole.result, 0);
    CHECK_EQ(turns, 1);
    CHECK_EQ(weir_pool_permit_spill(&whole.permit), WEIR_POOL_SPILL_LIMITED);
    weir_pool_permit_release(&whole.permit);
    CHECK_EQ(turns, 6); /* five of 40 MB at once */
    for (int i = 0; i < 20; i++) {
        CHECK_EQ(small[i].order, i + 2);
        weir_pool_permit_release(&small[i].permit);
    }
    check_untouched(&pool);
    weir_pool_fini(&pool);
}

TEST(a_leaver_lets_the_others_through)
{
    struct weir_pool pool;
    struct weir_pool_permit held = WEIR_POOL_PERMIT_NONE;
    struct turn whole, small;
    turns = 0;
    make(&pool, 200, 400, 8);
    CHECK_EQ(try_for(&pool, 1, 1, false, &held), 0);
    CHECK_EQ(join(&pool, &whole, 200, 400, true), WEIR_POOL_QUEUED);
    CHECK_EQ(join(&pool, &small, 1, 0, true), WEIR_POOL_QUEUED);
    CHECK(weir_pool_cancel_async(&pool, &whole.waiter));
    CHECK_EQ(whole.result, 99);
    CHECK_EQ(small.result, 0);
    CHECK(!weir_pool_cancel_async(&pool, &small.waiter)); /* it was granted */
    weir_pool_permit_release(&small.permit);
    weir_pool_permit_release(&held);
    struct weir_pool_stats stats;
    weir_pool_read(&pool, &stats);
    CHECK_EQ(stats.enqueued, 2);
    CHECK_EQ(stats.granted, 1);
    CHECK_EQ(stats.canceled, 1);
    CHECK_EQ(stats.acquired, 2);
    CHECK_EQ(stats.released, 2);
    weir_pool_fini(&pool);
}

TEST(waits_end_by_time_and_token)
{
    struct weir_pool pool;
    struct weir_pool_permit held = WEIR_POOL_PERMIT_NONE, permit = WEIR_POOL_PERMIT_NONE;
    struct weir_pool_request request = ask(1, 1, true);
    struct weir_cancel fired;
    weir_cancel_init(&fired, NULL);
    weir_cancel_fire(&fired);
    struct weir_deadline past = {1, NULL}, canceled = {WEIR_NEVER, &fired};
    make(&pool, 2, 2, 1);
    CHECK_EQ(weir_pool_acquire(&pool, &request, &held, &past), 0); /* it is free */
    CHECK_EQ(weir_pool_acquire(&pool, &request, &permit, &past), -WEIR_E_TIMEOUT);
    CHECK_HAS(weir_error_detail(), "pool 'fat': not granted before the deadline");
    CHECK_EQ(weir_pool_acquire(&pool, &request, &permit, &canceled), -WEIR_E_CANCELED);
    CHECK_EQ(weir_pool_acquire(&pool, &request, &permit, NULL), -WEIR_E_INVALID);
    CHECK(!weir_pool_permit_is_held(&permit));
    weir_pool_permit_release(&held);
    struct weir_pool_stats stats;
    weir_pool_read(&pool, &stats);
    CHECK_EQ(stats.waiting, 0);
    CHECK_EQ(stats.timed_out, 1);
    CHECK_EQ(stats.acquired, 1);
    weir_pool_fini(&pool);
    weir_cancel_fini(&fired);
}

TEST(too_many_waiters_are_busy)
{
    struct weir_pool pool;
    struct weir_pool_permit held = WEIR_POOL_PERMIT_NONE;
    struct weir_pool_config config = {MB, MB, 1, 1};
    struct turn first, second;
    CHECK_EQ(weir_pool_init(&pool, "fat", &config), 0);
    CHECK_EQ(try_for(&pool, 1, 1, true, &held), 0);
    CHECK_EQ(join(&pool, &first, 1, 0, false), WEIR_POOL_QUEUED);
    CHECK_EQ(join(&pool, &second, 1, 0, false), -WEIR_E_BUSY);
    CHECK_HAS(weir_error_detail(), "pool 'fat': 1000000 scan ring bytes asked for, 0 free, 1 wait");
    weir_pool_permit_release(&held);
    CHECK_EQ(first.result, 0);
    weir_pool_permit_release(&first.permit);
    weir_pool_fini(&pool);
}

struct visitor {
    struct weir_pool *pool;
    uint64_t *served;
    uint64_t order;
    struct weir__thread thread;
};

static void visit(void *arg)
{
    struct visitor *visitor = arg;
    struct weir_pool_permit permit = WEIR_POOL_PERMIT_NONE;
    struct weir_pool_request request = {20 * MB, 40 * MB, true};
    struct weir_deadline deadline = weir_deadline_in(60 * WEIR_NS_PER_S, NULL);
    for (int i = 0; i < 100; i++) {
        if (weir_pool_acquire(visitor->pool, &request, &permit, &deadline) == 0)
            weir__add64(visitor->served, 1);
        weir_pool_permit_release(&permit);
    }
}

/* Ten threads over a pool that has room for four of them. */
TEST(concurrent_acquisition)
{
    struct weir_pool pool;
    struct visitor visitors[10];
    uint64_t served = 0;
    make(&pool, 100, 200, 4);
    for (int i = 0; i < 10; i++) {
        visitors[i] = (struct visitor){.pool = &pool, .served = &served};
        CHECK_EQ(weir__thread_start(&visitors[i].thread, "visitor", visit, &visitors[i]), 0);
    }
    for (int i = 0; i < 10; i++)
        weir__thread_join(&visitors[i].thread);
    CHECK_EQ(served, 1000);
    check_untouched(&pool);
    struct weir_pool_stats stats;
    weir_pool_read(&pool, &stats);
    CHECK_EQ(stats.acquired, 1000);
    CHECK_EQ(stats.released, 1000);
    weir_pool_fini(&pool);
}

static void ask_for_all(void *arg)
{
    struct visitor *visitor = arg;
    struct weir_pool_permit permit = WEIR_POOL_PERMIT_NONE;
    struct weir_pool_request request = {100 * MB, 200 * MB, true};
    struct weir_deadline deadline = weir_deadline_in(60 * WEIR_NS_PER_S, NULL);
    if (weir_pool_acquire(visitor->pool, &request, &permit, &deadline) == 0)
        visitor->order = 1 + weir__add64(visitor->served, 1);
    weir_pool_permit_release(&permit);
}

/* The same with threads: the whole pool is asked for by a thread that waits, and small requests
 * that come after it are served after it. */
TEST(whole_pool_by_a_waiting_thread)
{
    struct weir_pool pool;
    struct weir_pool_permit held = WEIR_POOL_PERMIT_NONE;
    uint64_t served = 0;
    struct visitor large = {.pool = &pool, .served = &served};
    struct turn small;
    turns = 0;
    make(&pool, 100, 200, 4);
    CHECK_EQ(try_for(&pool, 10, 10, false, &held), 0);
    CHECK_EQ(weir__thread_start(&large.thread, "large", ask_for_all, &large), 0);
    struct weir_pool_stats stats;
    do {
        weir_pool_read(&pool, &stats);
    } while (stats.waiting == 0);
    CHECK_EQ(join(&pool, &small, 10, 0, false), WEIR_POOL_QUEUED);
    CHECK_EQ(turns, 0);
    weir_pool_permit_release(&held);
    weir__thread_join(&large.thread);
    CHECK_EQ(large.order, 1);
    CHECK_EQ(small.result, 0);
    weir_pool_permit_release(&small.permit);
    weir_pool_fini(&pool);
}

/* ---- resizing ---- */

TEST(resizes_while_it_runs)
{
    struct weir_pool pool;
    struct weir_pool_permit held = WEIR_POOL_PERMIT_NONE, extra = WEIR_POOL_PERMIT_NONE;
    struct weir_pool_config config = {50 * MB, 400 * MB, 1, 0};
    struct turn large, small;
    turns = 0;
    make(&pool, 200, 400, 8);
    CHECK_EQ(try_for(&pool, 100, 0, true, &held), 0);
    CHECK_EQ(join(&pool, &large, 150, 0, false), WEIR_POOL_QUEUED);
    CHECK_EQ(join(&pool, &small, 40, 0, false), WEIR_POOL_QUEUED);
    CHECK_EQ(weir_pool_resize(&pool, &config), 0);
    CHECK_EQ(large.result, -WEIR_E_TOO_LARGE); /* it can never fit now */
    CHECK(!weir_pool_permit_is_held(&large.permit));
    CHECK_EQ(small.result, 99); /* 100 MB are still out of 50 MB */
    struct weir_pool_stats stats;
    weir_pool_read(&pool, &stats);
    CHECK_EQ(stats.scan_ring_total, 50 * MB);
    CHECK_EQ(stats.scan_ring_in_use, 100 * MB);
    CHECK_EQ(stats.refused, 1);
    CHECK_EQ(weir_pool_scan_ring_available(&pool), 0);
    config.scan_ring_bytes = 140 * MB;
    CHECK_EQ(weir_pool_resize(&pool, &config), 0);
    CHECK_EQ(small.result, 0); /* served at once */
    weir_pool_permit_release(&held);
    CHECK_EQ(try_for(&pool, 100, 400, true, &extra), 0);
    weir_pool_permit_release(&extra);
    weir_pool_permit_release(&small.permit);
    config.delta_cache_bytes = 0;
    CHECK_EQ(weir_pool_resize(&pool, &config), -WEIR_E_INVALID);
    CHECK_HAS(weir_error_detail(), "pool 'fat': a delta cache of 0 bytes");
    CHECK_EQ(weir_pool_delta_cache_total(&pool), 400 * MB);
    weir_pool_fini(&pool);
}

TEST(spilling_turns_unlimited_and_back)
{
    struct weir_pool pool;
    struct weir_pool_permit a = WEIR_POOL_PERMIT_NONE, b = WEIR_POOL_PERMIT_NONE,
                            c = WEIR_POOL_PERMIT_NONE;
    struct weir_pool_config config = {MB, MB, WEIR_POOL_SLOTS_UNLIMITED, 0};
    make(&pool, 1, 1, 1);
    CHECK_EQ(try_for(&pool, 0, 0, true, &a), 0);
    CHECK_EQ(try_for(&pool, 0, 0, true, &b), -WEIR_E_BUSY);
    CHECK_EQ(weir_pool_resize(&pool, &config), 0);
    CHECK_EQ(try_for(&pool, 0, 0, true, &b), 0);
    CHECK_EQ(weir_pool_permit_spill(&a), WEIR_POOL_SPILL_LIMITED);
    CHECK_EQ(weir_pool_permit_spill(&b), WEIR_POOL_SPILL_UNLIMITED);
    config.spill_slots = 2;
    CHECK_EQ(weir_pool_resize(&pool, &config), 0);
    CHECK_EQ(try_for(&pool, 0, 0, true, &c), -WEIR_E_BUSY); /* both are still out */
    weir_pool_permit_release(&b);
    CHECK_EQ(try_for(&pool, 0, 0, true, &c), 0);
    weir_pool_permit_release(&a);
    weir_pool_permit_release(&c);
    CHECK_EQ(weir_pool_spill_slots_available(&pool), 2);
    weir_pool_fini(&pool);
}

/* ---- misuse ---- */

static void fini_with_permit_out(void *arg)
{
    struct weir_pool_permit permit = WEIR_POOL_PERMIT_NONE;
    if (try_for(arg, 1, 0, false, &permit) == 0)
        weir_pool_fini(arg);
}

static void release_a_copy(void *arg)
{
    struct weir_pool_permit permit = WEIR_POOL_PERMIT_NONE, copy;
    if (try_for(arg, 1, 0, false, &permit) == 0) {
        copy = permit;
        weir_pool_permit_release(&permit);
        weir_pool_permit_release(&copy);
    }
}

static void move_onto_a_held_one(void *arg)
{
    struct weir_pool_permit a = WEIR_POOL_PERMIT_NONE, b = WEIR_POOL_PERMIT_NONE;
    if (try_for(arg, 0, 0, false, &a) == 0 && try_for(arg, 0, 0, false, &b) == 0)
        weir_pool_permit_move(&a, &b);
}

TEST(misuse_is_named)
{
    struct weir_pool pool;
    make(&pool, 2, 2, 2);
    CHECK(tap_dies(fini_with_permit_out, &pool, "pool 'fat': destroyed with permits out"));
    CHECK(tap_dies(release_a_copy, &pool, "pool 'fat': "));
    CHECK(tap_dies(move_onto_a_held_one, &pool, "pool 'fat': a permit was moved onto one"));
    weir_pool_fini(&pool);
}

TEST(no_configuration_is_the_default_one)
{
    struct weir_pool pool;
    CHECK_EQ(weir_pool_init(&pool, "x", NULL), 0);
    CHECK_EQ(weir_pool_scan_ring_total(&pool), 256 << 20);
    CHECK_EQ(weir_pool_delta_cache_total(&pool), 512 << 20);
    CHECK_EQ(weir_pool_spill_slots_total(&pool), 16);
    weir_pool_fini(&pool);
}

#ifdef WEIR_CHECKS

static void release_a_copy_of_two(void *arg)
{
    (void)arg;
    struct weir_pool pool;
    struct weir_pool_request request = {1, 1, false};
    struct weir_pool_permit one = WEIR_POOL_PERMIT_NONE, two = WEIR_POOL_PERMIT_NONE, copy;
    if (weir_pool_init(&pool, "memory", NULL) == 0 && weir_pool_try(&pool, &request, &one) == 0 &&
        weir_pool_try(&pool, &request, &two) == 0) {
        copy = one;
        weir_pool_permit_release(&one);
        weir_pool_permit_release(&copy);
    }
}

TEST(a_copy_is_caught_even_while_others_are_out)
{
    CHECK(tap_dies(release_a_copy_of_two, NULL,
                   "pool 'memory': what it handed out once was given back twice"));
}

#endif

TAP_MAIN()
