/* Admission under real threads: more keys than the table holds, caps, rates and changes. */
#include "stress.h"

#include <weir/admit.h>

#include "atomic.h"

#define KEYS     24
#define KEYS_MAX 16
#define CAP      3

struct shared {
    struct weir_admit admit;
    uint32_t out[KEYS];
    bool changes;
};

static void work(struct stress_thread *thread)
{
    struct shared *shared = thread->shared;
    struct weir_admit_ticket held[4] = {0};
    uint32_t key_of[4] = {0};
    while (stress_goes_on(thread)) {
        uint64_t dice = stress_random(thread);
        uint32_t at = dice % 4, key = (uint32_t)(dice / 4 % KEYS);
        if (held[at]._admit) {
            weir__add32(&shared->out[key_of[at]], -UINT32_C(1));
            weir_admit_release(&held[at]);
        } else if (weir_admit_try(&shared->admit, &key, sizeof(key), &held[at]) == 0) {
            key_of[at] = key;
            CHECK(weir__add32(&shared->out[key], 1) < CAP);
        }
        if (dice / 128 % 512 == 0)
            weir_admit_expire(&shared->admit);
        if (shared->changes && dice / 128 % 512 == 1)
            CHECK_EQ(weir_admit_set(&shared->admit, CAP, dice % 2 * 100000, 0), 0);
        if (dice / 128 % 64 == 2)
            (void)weir_admit_delay_ns(&shared->admit, &key, sizeof(key));
    }
    for (int i = 0; i < 4; i++) {
        if (held[i]._admit)
            weir__add32(&shared->out[key_of[i]], -UINT32_C(1));
        weir_admit_release(&held[i]);
    }
}

static void run(bool changes)
{
    static struct shared shared;
    memset(&shared, 0, sizeof(shared));
    shared.changes = changes;
    struct weir_admit_options options = {
        .cap = CAP, .keys_max = KEYS_MAX, .keep_ns = WEIR_NS_PER_MS};
    CHECK_EQ(weir_admit_init(&shared.admit, "stress", &options), 0);
    stress_run(6, &shared, work);
    struct weir_admit_stats stats;
    weir_admit_read(&shared.admit, &stats);
    CHECK_EQ(stats.admitted, stats.released);
    CHECK_EQ(stats.created - stats.evicted - stats.expired, stats.keys);
    CHECK(stats.keys <= KEYS_MAX);
    CHECK(stats.refused_cap > 0 && stats.refused_full > 0 && stats.evicted > 0);
    weir_admit_fini(&shared.admit);
}

TEST(never_above_the_cap)
{
    run(false);
}

TEST(changed_all_the_time)
{
    run(true);
}

TAP_MAIN()
