/* The rate under real threads: takers of both priorities, time-outs, cancels and changes of pace.
 */
#include "stress.h"

#include <weir/rate.h>

#include "atomic.h"

#define PER_S 200000
#define BURST 64

struct shared {
    struct weir_rate rate;
    struct weir_cancel cancel;
    uint64_t tokens;
    bool changes;
};

static void work(struct stress_thread *thread)
{
    struct shared *shared = thread->shared;
    while (stress_goes_on(thread)) {
        uint64_t dice = stress_random(thread);
        uint64_t n = 1 + dice / 64 % 8;
        enum weir_rate_priority priority = (enum weir_rate_priority)(dice / 8 % 2);
        struct weir_cancel own;
        weir_cancel_init(&own, NULL);
        if (dice % 32 == 1)
            weir_cancel_fire(&own);
        struct weir_deadline deadline = weir_deadline_in(dice % 7 * 100000, &own);
        int error = -WEIR_E_PACED;
        switch (dice % 8) {
        case 0:
            error = weir_rate_try(&shared->rate, n, priority);
            break;
        case 1:
            deadline = weir_deadline_until(dice % 32 == 1 ? &own : &shared->cancel);
            error = weir_rate_acquire(&shared->rate, n, priority, &deadline);
            break;
        case 2:
            if (shared->changes && thread->index == 0)
                CHECK_EQ(weir_rate_set(&shared->rate, PER_S / 2 + dice / 512 % PER_S,
                                       4 + dice / 1024 % BURST),
                         0);
            break;
        default:
            error = weir_rate_acquire(&shared->rate, n, priority, &deadline);
        }
        if (error == 0)
            weir__add64(&shared->tokens, n);
        weir_cancel_fini(&own);
    }
}

static void run(bool changes)
{
    static struct shared shared;
    memset(&shared, 0, sizeof(shared));
    shared.changes = changes;
    struct weir_rate_options options = {.per_s = PER_S, .burst = BURST};
    uint64_t since_ns = weir_now_ns();
    CHECK_EQ(weir_rate_init(&shared.rate, "stress", &options), 0);
    weir_cancel_init(&shared.cancel, NULL);
    stress_run(6, &shared, work);
    struct weir_rate_stats stats;
    weir_rate_read(&shared.rate, &stats);
    uint64_t passed_ns = weir_now_ns() - since_ns;
    CHECK_EQ(stats.taken_tokens, weir__load64(&shared.tokens));
    CHECK_EQ(stats.enqueued, stats.granted + stats.canceled + stats.timed_out + stats.refused);
    CHECK_EQ(stats.waiting, 0);
    CHECK(stats.granted > 100);
    if (!changes)
        CHECK(stats.taken_tokens <= BURST + passed_ns * PER_S / WEIR_NS_PER_S);
    weir_cancel_fini(&shared.cancel);
    weir_rate_fini(&shared.rate);
}

TEST(never_above_the_pace)
{
    run(false);
}

TEST(changed_all_the_time)
{
    run(true);
}

TAP_MAIN()
