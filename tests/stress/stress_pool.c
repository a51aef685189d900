/* The pool under real threads: small requests, the whole pool, timeouts, cancels, callbacks, and
 * resizing at once. */
#include "stress.h"

#include <weir/pool.h>

#include "atomic.h"

#define RING  100u
#define CACHE 200u
#define SLOTS 4u

struct shared {
    struct weir_pool pool;
    struct weir_cancel cancel;
    uint64_t ring_out;
    uint64_t cache_out;
    uint64_t slots_out;
    uint64_t wholes;
    bool resizes;
};

static void count(const struct shared *shared, uint64_t *out, uint64_t units, uint64_t limit)
{
    uint64_t sum = weir__add64(out, units) + units;
    if (!shared->resizes)
        CHECK(sum <= limit);
}

static void use(struct shared *shared, struct weir_pool_permit *permit)
{
    uint64_t ring = weir_pool_permit_scan_ring_bytes(permit);
    uint64_t cache = weir_pool_permit_delta_cache_bytes(permit);
    uint64_t slot = weir_pool_permit_can_spill(permit);
    count(shared, &shared->ring_out, ring, RING);
    count(shared, &shared->cache_out, cache, CACHE);
    count(shared, &shared->slots_out, slot, SLOTS);
    weir__add64(&shared->ring_out, -ring);
    weir__add64(&shared->cache_out, -cache);
    weir__add64(&shared->slots_out, -slot);
    weir_pool_permit_release(permit);
}

/* A waiter that may be canceled stays on this stack until it is known who has it. */
struct stay {
    struct weir_pool_waiter waiter;
    struct shared *shared;
    uint32_t called;
};

static void on_stay(struct weir_pool_waiter *waiter, int result, struct weir_pool_permit permit)
{
    struct stay *stay = (struct stay *)waiter;
    if (result == 0)
        use(stay->shared, &permit);
    weir__store32(&stay->called, 1);
}

static void ask_and_cancel(struct shared *shared, const struct weir_pool_request *request)
{
    struct stay stay = {.shared = shared};
    struct weir_pool_permit permit = WEIR_POOL_PERMIT_NONE;
    int result = weir_pool_acquire_async(&shared->pool, request, &permit, &stay.waiter, on_stay);
    if (result == 0)
        use(shared, &permit);
    if (result == WEIR_POOL_QUEUED && !weir_pool_cancel_async(&shared->pool, &stay.waiter))
        while (!weir__load32(&stay.called)) {}
}

static void resize(struct shared *shared, uint64_t dice)
{
    struct weir_pool_config config = {
        .scan_ring_bytes = RING / 2 + dice % RING,
        .delta_cache_bytes = CACHE / 2 + dice / 3 % CACHE,
        .spill_slots = dice % 5 ? 1 + dice % SLOTS : WEIR_POOL_SLOTS_UNLIMITED,
    };
    CHECK_EQ(weir_pool_resize(&shared->pool, &config), 0);
}

/* The first thread asks for the whole pool and waits for it, whatever the others do. */
static void ask_for_all(struct shared *shared)
{
    struct weir_pool_permit permit = WEIR_POOL_PERMIT_NONE;
    struct weir_pool_request whole = {RING, CACHE, true};
    struct weir_deadline patient = weir_deadline_in(60 * WEIR_NS_PER_S, NULL);
    int error = weir_pool_acquire(&shared->pool, &whole, &permit, &patient);
    CHECK(error == 0 || (shared->resizes && error == -WEIR_E_TOO_LARGE));
    if (error == 0) {
        weir__add64(&shared->wholes, 1);
        use(shared, &permit);
    }
}

static void work(struct stress_thread *thread)
{
    struct shared *shared = thread->shared;
    while (stress_goes_on(thread)) {
        uint64_t dice = stress_random(thread);
        struct weir_pool_permit permit = WEIR_POOL_PERMIT_NONE;
        struct weir_pool_request request = {dice / 64 % 40, dice / 4096 % 80, dice / 8 % 2};
        struct weir_deadline deadline = weir_deadline_in(dice % 7 * 10000, &shared->cancel);
        if (thread->index == 0) {
            ask_for_all(shared);
            if (shared->resizes)
                resize(shared, dice / 512);
            continue;
        }
        switch (dice % 4) {
        case 0:
            if (weir_pool_try(&shared->pool, &request, &permit) == 0)
                use(shared, &permit);
            break;
        case 1:
            ask_and_cancel(shared, &request);
            break;
        default:
            if (weir_pool_acquire(&shared->pool, &request, &permit, &deadline) == 0)
                use(shared, &permit);
        }
    }
}

static void run(bool resizes)
{
    static struct shared shared;
    struct weir_pool_config config = {RING, CACHE, SLOTS, 0};
    memset(&shared, 0, sizeof(shared));
    shared.resizes = resizes;
    CHECK_EQ(weir_pool_init(&shared.pool, "stress", &config), 0);
    weir_cancel_init(&shared.cancel, NULL);
    stress_run(6, &shared, work);
    struct weir_pool_stats stats;
    weir_pool_read(&shared.pool, &stats);
    CHECK_EQ(stats.acquired, stats.released);
    CHECK_EQ(stats.enqueued, stats.granted + stats.canceled + stats.timed_out + stats.refused);
    CHECK(stats.acquired > 1000);
    CHECK(shared.wholes > 10);
    weir_cancel_fini(&shared.cancel);
    weir_pool_fini(&shared.pool);
}

TEST(the_whole_pool_among_small_requests)
{
    run(false);
}

TEST(resized_all_the_time)
{
    run(true);
}

TAP_MAIN()
