/* The vector budget under real threads: try, acquire, timeout, cancel, callbacks, resizing. */
#include "stress.h"

#include "atomic.h"
#include "vector.h"

#define COMPONENTS 3
static const uint64_t capacities[COMPONENTS] = {8, 5, 0};
static const char *const names[COMPONENTS] = {"ring bytes", "cache bytes", "spill slots"};

struct shared {
    struct weir__vector vector;
    struct weir_cancel cancel;
    uint64_t out[COMPONENTS];
    uint64_t callbacks;
    bool resizes;
};

static void use(struct shared *shared, const struct weir__vector_request *request)
{
    for (int i = 0; i < COMPONENTS; i++) {
        uint64_t units = request->units[i];
        uint64_t out = weir__add64(&shared->out[i], units) + units;
        if (!shared->resizes && capacities[i] > 0)
            CHECK(out <= capacities[i]);
    }
    for (int i = 0; i < COMPONENTS; i++)
        weir__add64(&shared->out[i], -request->units[i]);
    weir__vector_release(&shared->vector, request);
}

/* A waiter stays on the asker's stack until it is known who has it. */
struct stay {
    struct weir__vector_waiter waiter;
    struct weir__vector_request request;
    struct shared *shared;
    uint32_t called;
};

static void on_stay(struct weir__vector_waiter *waiter, int result)
{
    struct stay *stay = (struct stay *)waiter;
    if (result == 0)
        use(stay->shared, &stay->request);
    weir__store32(&stay->called, 1);
}

static void ask_and_cancel(struct shared *shared, const struct weir__vector_request *request)
{
    struct stay stay = {.shared = shared, .request = *request};
    int result = weir__vector_acquire_async(&shared->vector, request, &stay.waiter, on_stay);
    if (result == 0)
        use(shared, request);
    if (result == WEIR_BUDGET_QUEUED && !weir__vector_cancel_async(&shared->vector, &stay.waiter))
        while (!weir__load32(&stay.called)) {}
}

struct call {
    struct weir__vector_waiter waiter;
    struct weir__vector_request request;
    struct shared *shared;
};

static void on_grant(struct weir__vector_waiter *waiter, int result)
{
    struct call call = *(struct call *)waiter;
    free(waiter);
    if (result == 0)
        use(call.shared, &call.request);
    weir__add64(&call.shared->callbacks, -UINT64_C(1));
}

static void ask_async(struct shared *shared, const struct weir__vector_request *request)
{
    struct call *call = calloc(1, sizeof(*call));
    call->shared = shared;
    call->request = *request;
    weir__add64(&shared->callbacks, 1);
    int result = weir__vector_acquire_async(&shared->vector, request, &call->waiter, on_grant);
    if (result == WEIR_BUDGET_QUEUED)
        return; /* on_grant frees it, perhaps already */
    if (result == 0)
        use(shared, request);
    free(call);
    weir__add64(&shared->callbacks, -UINT64_C(1));
}

static void resize(struct shared *shared, uint64_t dice)
{
    if (shared->resizes)
        CHECK_EQ(
            weir__vector_resize(&shared->vector, (unsigned)(dice / 512 % 2), 1 + dice / 2048 % 8),
            0);
}

static void work(struct stress_thread *thread)
{
    struct shared *shared = thread->shared;
    while (stress_goes_on(thread)) {
        uint64_t dice = stress_random(thread);
        struct weir__vector_request request = {{dice / 64 % 5, dice / 512 % 4, dice / 4096 % 2, 0}};
        struct weir_deadline deadline = weir_deadline_in(dice % 7 * 10000, &shared->cancel);
        switch (dice % 8) {
        case 0:
            if (weir__vector_try(&shared->vector, &request) == 0)
                use(shared, &request);
            break;
        case 1:
            ask_async(shared, &request);
            break;
        case 2:
            ask_and_cancel(shared, &request);
            break;
        case 3:
            resize(shared, dice);
            break;
        default:
            if (weir__vector_acquire(&shared->vector, &request, &deadline) == 0)
                use(shared, &request);
        }
    }
}

static void run(bool resizes)
{
    static struct shared shared;
    memset(&shared, 0, sizeof(shared));
    shared.resizes = resizes;
    CHECK_EQ(weir__vector_init(&shared.vector, "pool", "stress", COMPONENTS, capacities, names, 0),
             0);
    weir_cancel_init(&shared.cancel, NULL);
    stress_run(6, &shared, work);
    CHECK_EQ(weir__load64(&shared.callbacks), 0);
    struct weir__vector_stats stats;
    weir__vector_read(&shared.vector, &stats);
    CHECK_EQ(stats.acquired, stats.released);
    CHECK_EQ(stats.enqueued, stats.granted + stats.canceled + stats.timed_out + stats.refused);
    CHECK(stats.acquired > 1000);
    weir_cancel_fini(&shared.cancel);
    weir__vector_fini(&shared.vector);
}

TEST(never_more_than_the_capacities)
{
    run(false);
}

TEST(resized_all_the_time)
{
    run(true);
}

TAP_MAIN()
