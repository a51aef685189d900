/* Slots under real threads: many devices, try, acquire, callbacks, cancel and pruning at once. */
#include "stress.h"

#include <weir/slots.h>

#include "atomic.h"

#define DEVICES 6
#define SLOTS   2

struct shared {
    struct weir_slots slots;
    struct weir_cancel cancel;
    uint64_t out[DEVICES];
    bool shares; /* the table is too small, so a device may also be served by the shared pool */
};

static void use(struct shared *shared, struct weir_slots_permit *permit)
{
    uint64_t raw = weir_device_raw(weir_slots_permit_device(permit));
    uint64_t out = weir__add64(&shared->out[raw], 1) + 1;
    if (!shared->shares)
        CHECK(out <= SLOTS);
    weir__add64(&shared->out[raw], -UINT64_C(1));
    weir_slots_release(permit);
}

/* A waiter stays on the asker's stack until it is known who has it. */
struct stay {
    struct weir_slots_waiter waiter;
    struct shared *shared;
    uint32_t called;
};

static void on_stay(struct weir_slots_waiter *waiter, int result, struct weir_slots_permit permit)
{
    struct stay *stay = (struct stay *)waiter;
    CHECK_EQ(result, 0);
    use(stay->shared, &permit);
    weir__store32(&stay->called, 1);
}

static void ask_and_cancel(struct shared *shared, struct weir_device device)
{
    struct stay stay = {.shared = shared};
    struct weir_slots_permit permit = WEIR_SLOTS_PERMIT_NONE;
    int result = weir_slots_acquire_async(&shared->slots, device, &permit, &stay.waiter, on_stay);
    if (result == 0)
        use(shared, &permit);
    if (result == WEIR_BUDGET_QUEUED && !weir_slots_cancel_async(&shared->slots, &stay.waiter))
        while (!weir__load32(&stay.called)) {}
}

static void work(struct stress_thread *thread)
{
    struct shared *shared = thread->shared;
    while (stress_goes_on(thread)) {
        uint64_t dice = stress_random(thread);
        struct weir_device device = weir_device_from_raw(dice / 64 % DEVICES);
        struct weir_slots_permit permit = WEIR_SLOTS_PERMIT_NONE;
        struct weir_deadline deadline = weir_deadline_in(dice % 7 * 10000, &shared->cancel);
        switch (dice % 8) {
        case 0:
        case 1:
            if (weir_slots_try(&shared->slots, device, &permit) == 0)
                use(shared, &permit);
            break;
        case 2:
        case 3:
            ask_and_cancel(shared, device);
            break;
        case 4:
            weir_slots_prune(&shared->slots, dice % 3 * 1000);
            break;
        default:
            if (weir_slots_acquire(&shared->slots, device, &permit, &deadline) == 0)
                use(shared, &permit);
        }
    }
}

static void run(bool shares)
{
    static struct shared shared;
    memset(&shared, 0, sizeof(shared));
    shared.shares = shares;
    struct weir_slots_config config = {.default_slots = SLOTS, .devices_max = shares ? 2 : 0};
    CHECK_EQ(weir_slots_init(&shared.slots, "stress", &config), 0);
    weir_cancel_init(&shared.cancel, NULL);
    stress_run(6, &shared, work);
    struct weir_slots_stats stats;
    weir_slots_read(&shared.slots, &stats);
    CHECK_EQ(stats.acquired, stats.released);
    CHECK_EQ(stats.in_use, 0);
    CHECK_EQ(stats.enqueued, stats.granted + stats.canceled + stats.timed_out + stats.refused);
    CHECK(stats.acquired > 1000);
    CHECK(stats.pruned > 0);
    CHECK(stats.devices <= stats.devices_max + 1);
    CHECK_EQ(stats.shared > 0, shares);
    weir_cancel_fini(&shared.cancel);
    weir_slots_fini(&shared.slots);
}

TEST(never_more_than_the_slots_of_a_device)
{
    run(false);
}

TEST(a_table_that_is_too_small)
{
    run(true);
}

TAP_MAIN()
