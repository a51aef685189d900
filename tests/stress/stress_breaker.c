/* The breaker under real threads: results of all kinds, tickets that are lost, probes in time. */
#include "stress.h"

#include <weir/breaker.h>

#include "atomic.h"

#define PROBES 3

struct shared {
    struct weir_breaker breaker;
    uint64_t dropped;
};

static void work(struct stress_thread *thread)
{
    struct shared *shared = thread->shared;
    struct weir_breaker_ticket kept = WEIR_BREAKER_TICKET_NONE;
    while (stress_goes_on(thread)) {
        uint64_t dice = stress_random(thread);
        struct weir_breaker_ticket ticket = WEIR_BREAKER_TICKET_NONE;
        if (weir_breaker_allow(&shared->breaker, &ticket) != 0)
            continue;
        /* Bad and good times take turns, so that it opens and closes. */
        bool is_bad = weir_now_ns() / (5 * WEIR_NS_PER_MS) % 2 == 0;
        if (dice % 64 == 0) {
            weir_breaker_report(&kept, WEIR_BREAKER_FAILURE); /* from long ago, perhaps */
            kept = ticket;
        } else if (dice % 64 == 1) {
            weir__add64(&shared->dropped, 1);
        } else if (dice % 64 == 2) {
            weir_breaker_cancel(&ticket);
        } else {
            weir_breaker_report(&ticket, is_bad ? WEIR_BREAKER_FAILURE : WEIR_BREAKER_SUCCESS);
        }
        struct weir_breaker_stats stats;
        if (dice % 256 == 3) {
            weir_breaker_read(&shared->breaker, &stats);
            CHECK(stats.probes_out <= PROBES);
            CHECK(stats.window_failures <= stats.window_calls);
        }
    }
    weir_breaker_cancel(&kept);
}

TEST(opens_and_closes_and_counts)
{
    static struct shared shared;
    struct weir_breaker_options options = {.window_ns = 2 * WEIR_NS_PER_MS,
                                           .cooldown_ns = WEIR_NS_PER_MS,
                                           .probe_deadline_ns = WEIR_NS_PER_MS,
                                           .half_open_probes = PROBES};
    CHECK_EQ(weir_breaker_init(&shared.breaker, "stress", &options), 0);
    stress_run(6, &shared, work);
    struct weir_breaker_stats stats;
    weir_breaker_read(&shared.breaker, &stats);
    CHECK(stats.entered[WEIR_BREAKER_OPEN] > 3);
    CHECK(stats.entered[WEIR_BREAKER_CLOSED] > 3);
    CHECK_EQ(stats.generation, stats.entered[0] + stats.entered[1] + stats.entered[2] - 1);
    CHECK_EQ(stats.successes + stats.failures + stats.canceled + stats.stale +
                 weir__load64(&shared.dropped),
             stats.allowed);
    weir_breaker_fini(&shared.breaker);
}

TAP_MAIN()
