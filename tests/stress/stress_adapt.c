/* Adaptive limits under real threads: the budget always ends with the newest limit. */
#include "stress.h"

#include <weir/adapt.h>

#define MIN 4
#define MAX 64

struct shared {
    struct weir_budget budget;
    struct weir_adapt adapt;
};

static void work(struct stress_thread *thread)
{
    struct shared *shared = thread->shared;
    while (stress_goes_on(thread)) {
        uint64_t dice = stress_random(thread);
        uint64_t epoch = weir_adapt_epoch(&shared->adapt);
        struct weir_deadline deadline = weir_deadline_in(1000000, NULL);
        struct weir_permit permit = WEIR_PERMIT_NONE;
        int error = weir_budget_acquire(&shared->budget, 1 + dice % MIN, &permit, &deadline);
        weir_permit_release(&permit);
        if (!error && dice / 8 % 50 == 0)
            error = -WEIR_E_NO_DESCRIPTORS;
        else if (error)
            error = -WEIR_E_BUSY;
        weir_adapt_report(&shared->adapt, epoch, error);
        uint64_t capacity = weir_budget_capacity(&shared->budget);
        CHECK(capacity >= MIN && capacity <= MAX);
    }
}

TEST(the_newest_limit_stays)
{
    static struct shared shared;
    struct weir_adapt_options options = {.min = MIN,
                                         .grow_after = 4,
                                         .grow_step = 1,
                                         .cut_interval_ns = 20000,
                                         .grow_interval_ns = 1000};
    CHECK_EQ(weir_budget_init(&shared.budget, "stress", MAX), 0);
    CHECK_EQ(weir_adapt_init(&shared.adapt, "stress", &shared.budget, &options), 0);
    stress_run(6, &shared, work);
    struct weir_adapt_stats stats;
    weir_adapt_read(&shared.adapt, &stats);
    CHECK_EQ(weir_budget_capacity(&shared.budget), stats.limit);
    CHECK(stats.epoch > 10 && stats.steps > 10);
    CHECK(stats.resizes <= stats.epoch + stats.steps);
    weir_adapt_fini(&shared.adapt);
    weir_budget_fini(&shared.budget);
}

TAP_MAIN()
