/* Budget under real threads: try, acquire, timeout, cancel, callbacks and resizing at once. */
#include "stress.h"

#include <weir/budget.h>

#include "atomic.h"

#define CAPACITY 8

struct shared {
    struct weir_budget budget;
    struct weir_cancel cancel;
    uint64_t units_out;
    uint64_t callbacks;
    bool resizes;
};

static void use(struct shared *shared, struct weir_permit *permit)
{
    uint64_t units = weir_permit_units(permit);
    uint64_t out = weir__add64(&shared->units_out, units) + units;
    if (!shared->resizes)
        CHECK(out <= CAPACITY);
    weir__add64(&shared->units_out, -units);
    weir_permit_release(permit);
}

struct call {
    struct weir_budget_waiter waiter;
    struct shared *shared;
};

static void on_grant(struct weir_budget_waiter *waiter, int result, struct weir_permit permit)
{
    struct call *call = (struct call *)waiter;
    struct shared *shared = call->shared;
    free(call);
    if (result == 0)
        use(shared, &permit);
    weir__add64(&shared->callbacks, -UINT64_C(1));
}

static void ask_async(struct shared *shared, uint64_t n)
{
    struct call *call = calloc(1, sizeof(*call));
    struct weir_permit permit = WEIR_PERMIT_NONE;
    call->shared = shared;
    weir__add64(&shared->callbacks, 1);
    int result = weir_budget_acquire_async(&shared->budget, n, &permit, &call->waiter, on_grant);
    if (result == WEIR_BUDGET_QUEUED)
        return; /* on_grant frees it, perhaps already */
    if (result == 0)
        use(shared, &permit);
    free(call);
    weir__add64(&shared->callbacks, -UINT64_C(1));
}

/* A waiter that may be canceled stays on this stack until it is known who has it. */
struct stay {
    struct weir_budget_waiter waiter;
    struct shared *shared;
    uint32_t called;
};

static void on_stay(struct weir_budget_waiter *waiter, int result, struct weir_permit permit)
{
    struct stay *stay = (struct stay *)waiter;
    if (result == 0)
        use(stay->shared, &permit);
    weir__store32(&stay->called, 1);
}

static void ask_and_cancel(struct shared *shared, uint64_t n)
{
    struct stay stay = {.shared = shared};
    struct weir_permit permit = WEIR_PERMIT_NONE;
    int result = weir_budget_acquire_async(&shared->budget, n, &permit, &stay.waiter, on_stay);
    if (result == 0)
        use(shared, &permit);
    if (result == WEIR_BUDGET_QUEUED && !weir_budget_cancel_async(&shared->budget, &stay.waiter))
        while (!weir__load32(&stay.called)) {}
}

static void work(struct stress_thread *thread)
{
    struct shared *shared = thread->shared;
    while (stress_goes_on(thread)) {
        uint64_t dice = stress_random(thread);
        uint64_t n = 1 + dice / 64 % 4;
        struct weir_permit permit = WEIR_PERMIT_NONE;
        struct weir_deadline deadline = weir_deadline_in(dice % 7 * 10000, &shared->cancel);
        switch (dice % 8) {
        case 0:
            if (weir_budget_try(&shared->budget, n, &permit) == 0)
                use(shared, &permit);
            break;
        case 1:
            ask_async(shared, n);
            break;
        case 2:
            ask_and_cancel(shared, n);
            break;
        case 3:
            if (shared->resizes && thread->index == 0)
                CHECK_EQ(weir_budget_resize(&shared->budget, 2 + dice / 512 % CAPACITY), 0);
            break;
        default:
            if (weir_budget_acquire(&shared->budget, n, &permit, &deadline) == 0)
                use(shared, &permit);
        }
    }
}

static void run(bool resizes)
{
    static struct shared shared;
    memset(&shared, 0, sizeof(shared));
    shared.resizes = resizes;
    CHECK_EQ(weir_budget_init(&shared.budget, "stress", CAPACITY), 0);
    weir_cancel_init(&shared.cancel, NULL);
    stress_run(6, &shared, work);
    CHECK_EQ(weir__load64(&shared.callbacks), 0);
    struct weir_budget_stats stats;
    weir_budget_read(&shared.budget, &stats);
    CHECK_EQ(stats.acquired, stats.released);
    CHECK_EQ(stats.enqueued, stats.granted + stats.canceled + stats.timed_out + stats.refused);
    CHECK(stats.acquired > 1000);
    weir_cancel_fini(&shared.cancel);
    weir_budget_fini(&shared.budget);
}

TEST(never_more_than_the_capacity)
{
    run(false);
}

TEST(resized_all_the_time)
{
    run(true);
}

TAP_MAIN()
