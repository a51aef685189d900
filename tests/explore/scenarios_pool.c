/* The pool: the whole of it among small requests, callbacks that are canceled, spilling that turns
 * unlimited while somebody takes a slot. The line itself is explored in scenarios_vector.c. */
#include <weir/pool.h>

#include "xp.h"

static struct {
    struct weir_pool pool;
    struct weir_cancel token; /* never fires: a wait under it must be ended by a grant */
    uint64_t out;             /* bytes, over both components */
    bool whole_waits;
    unsigned overtook;
    bool called;
    struct weir_pool_waiter waiter;
} s;

static void make(uint64_t slots)
{
    struct weir_pool_config config = {2, 2, slots, 0};
    XP_ASSERT_EQ(weir_pool_init(&s.pool, "p", &config), 0);
    weir_cancel_init(&s.token, NULL);
}

/* Everything came home, every request is accounted for, nobody waits: fini asserts the rest. */
static void check(void)
{
    struct weir_pool_stats stats;
    weir_pool_read(&s.pool, &stats);
    XP_ASSERT_EQ(stats.waiting, 0);
    XP_ASSERT_EQ(stats.scan_ring_in_use, 0);
    XP_ASSERT_EQ(stats.delta_cache_in_use, 0);
    XP_ASSERT_EQ(stats.spill_slots_in_use, 0);
    XP_ASSERT_EQ(stats.acquired, stats.released);
    XP_ASSERT_EQ(stats.enqueued, stats.granted + stats.canceled + stats.timed_out + stats.refused);
    weir_pool_fini(&s.pool);
    weir_cancel_fini(&s.token);
}

static void use(struct weir_pool_permit *permit)
{
    uint64_t bytes = weir_pool_permit_total_bytes(permit);
    s.out += bytes;
    XP_ASSERT(s.out <= 4, "more is out than there is");
    xp_point();
    s.out -= bytes;
    weir_pool_permit_release(permit);
}

static void take(uint64_t ring, uint64_t cache, bool spill)
{
    struct weir_pool_request request = {ring, cache, spill};
    struct weir_pool_permit permit = WEIR_POOL_PERMIT_NONE;
    struct weir_deadline deadline = weir_deadline_until(&s.token);
    XP_ASSERT_EQ(weir_pool_acquire(&s.pool, &request, &permit, &deadline), 0);
    use(&permit);
}

static void limited_setup(void)
{
    make(1);
}

/* --- the whole pool among small requests ---------------------------------------------------- */

static void takes_whole(void)
{
    take(2, 2, true);
}
static void takes_small_ones(void)
{
    take(1, 0, false);
    take(0, 1, true);
}

XP_SCENARIO(pool_whole_among_small,
            .about = "a request for the whole pool and small ones are all served, and never more "
                     "is out than there is",
            XP_STATE(s), .setup = limited_setup,
            .threads = {takes_whole, takes_small_ones, takes_small_ones}, .check = check,
            .bound = 3)

/* --- no overtaking --------------------------------------------------------------------------- */

static void on_whole(struct weir_pool_waiter *waiter, int result, struct weir_pool_permit permit)
{
    (void)waiter;
    XP_ASSERT_EQ(result, 0);
    s.whole_waits = false;
    s.called = true;
    weir_pool_permit_release(&permit);
}

/* The holder has one byte, so the whole pool has to wait; then small ones come in a stream. */
static void holder(void)
{
    struct weir_pool_request one = {1, 0, false}, whole = {2, 2, true};
    struct weir_pool_permit permit = WEIR_POOL_PERMIT_NONE, none = WEIR_POOL_PERMIT_NONE;
    struct weir_deadline deadline = weir_deadline_until(&s.token);
    XP_ASSERT_EQ(weir_pool_acquire(&s.pool, &one, &permit, &deadline), 0);
    int result = weir_pool_acquire_async(&s.pool, &whole, &none, &s.waiter, on_whole);
    XP_ASSERT_EQ(result, WEIR_POOL_QUEUED);
    s.whole_waits = true;
    for (int i = 0; i < 2; i++)
        s.overtook += weir_pool_try(&s.pool, &one, &none) == 0;
    XP_ASSERT_EQ(s.overtook, 0);
    XP_ASSERT(s.whole_waits, "granted while a byte was out");
    weir_pool_permit_release(&permit);
}

static void small_stream(void)
{
    struct weir_pool_request request = {0, 1, false};
    for (int i = 0; i < 2; i++) {
        struct weir_pool_permit permit = WEIR_POOL_PERMIT_NONE;
        bool was_waiting = s.whole_waits;
        if (weir_pool_try(&s.pool, &request, &permit) == 0) {
            XP_ASSERT(!was_waiting || s.called, "a small one went before the whole pool");
            weir_pool_permit_release(&permit);
        }
    }
}

static void called_check(void)
{
    XP_ASSERT(s.called, "the request for the whole pool was never served");
    check();
}

XP_SCENARIO(pool_no_overtaking,
            .about = "while a request for the whole pool waits, no small one is let in before it",
            XP_STATE(s), .setup = limited_setup, .threads = {holder, small_stream, small_stream},
            .check = called_check, .bound = 3)

/* --- a callback, a cancel and a release ------------------------------------------------------ */

static void on_grant(struct weir_pool_waiter *waiter, int result, struct weir_pool_permit permit)
{
    (void)waiter;
    XP_ASSERT_EQ(result, 0);
    XP_ASSERT(!s.called, "called twice");
    s.called = true;
    use(&permit);
}

static bool was_called(void *arg)
{
    (void)arg;
    return s.called;
}

static void asks_and_cancels(void)
{
    struct weir_pool_request request = {2, 1, true};
    struct weir_pool_permit permit = WEIR_POOL_PERMIT_NONE;
    int result = weir_pool_acquire_async(&s.pool, &request, &permit, &s.waiter, on_grant);
    if (result == 0) {
        use(&permit);
        return;
    }
    XP_ASSERT_EQ(result, WEIR_POOL_QUEUED);
    bool left = weir_pool_cancel_async(&s.pool, &s.waiter);
    XP_ASSERT(!left || !s.called, "canceled and called");
    if (!left)
        xp_await(was_called, NULL); /* or it is lost */
}

XP_SCENARIO(pool_cancel_leaks_nothing,
            .about = "a waiter is called or canceled, never both, and its units come home",
            XP_STATE(s), .setup = limited_setup,
            .threads = {asks_and_cancels, takes_whole, takes_small_ones}, .check = check,
            .bound = 3)

/* --- spilling turns unlimited ---------------------------------------------------------------- */

static void spills(void)
{
    take(1, 0, true);
}

static void turns_unlimited(void)
{
    struct weir_pool_config config = {2, 2, WEIR_POOL_SLOTS_UNLIMITED, 0};
    XP_ASSERT_EQ(weir_pool_resize(&s.pool, &config), 0);
    config.spill_slots = 1;
    XP_ASSERT_EQ(weir_pool_resize(&s.pool, &config), 0);
}

XP_SCENARIO(
    pool_spill_turns_unlimited,
    .about = "a slot that was taken comes home, whatever the pool has turned into meanwhile",
    XP_STATE(s), .setup = limited_setup, .threads = {spills, spills, turns_unlimited},
    .check = check, .bound = 3)
