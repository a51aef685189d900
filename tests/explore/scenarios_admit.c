/* Admission: one decision, and nothing is gained by being forgotten. */
#include "xp.h"

#include <weir/admit.h>

static struct {
    struct weir_admit admit;
    unsigned inside;
    unsigned admitted;
    unsigned refused;
} s;

static void setup_with(uint32_t cap, uint64_t per_s, uint32_t keys_max)
{
    struct weir_admit_options options = {
        .cap = cap, .per_s = per_s, .burst = per_s ? 1 : 0, .keys_max = keys_max, .seed = 1};
    XP_ASSERT_EQ(weir_admit_init(&s.admit, "a", &options), 0);
}

static struct weir_admit_stats end(void)
{
    struct weir_admit_stats stats;
    weir_admit_read(&s.admit, &stats);
    XP_ASSERT_EQ(stats.admitted, stats.released);
    XP_ASSERT_EQ(stats.keys, stats.created - stats.evicted - stats.expired);
    weir_admit_fini(&s.admit);
    return stats;
}

/* --- cap ------------------------------------------------------------------------------------ */

static void setup_one_place(void)
{
    setup_with(1, 0, 2);
}

static void come_and_go(void)
{
    struct weir_admit_ticket ticket = WEIR_ADMIT_TICKET_NONE;
    for (int i = 0; i < 2; i++) {
        if (weir_admit_try(&s.admit, "a", 1, &ticket) != 0) {
            s.refused++;
            continue;
        }
        s.inside++;
        XP_ASSERT(s.inside == 1, "two have the only place");
        xp_point();
        s.inside--;
        weir_admit_release(&ticket);
    }
}

static void check_place(void)
{
    struct weir_admit_stats stats = end();
    XP_ASSERT_EQ(stats.refused_cap, s.refused);
    XP_ASSERT_EQ(stats.admitted + stats.refused_cap, 6);
}

XP_SCENARIO(admit_last_place, .about = "two who come together do not both get the last place",
            XP_STATE(s), .setup = setup_one_place,
            .threads = {come_and_go, come_and_go, come_and_go}, .check = check_place, .bound = 2)

/* --- table ---------------------------------------------------------------------------------- */

static void setup_one_key(void)
{
    setup_with(4, 1, 1);
}

static void visit_a(void)
{
    struct weir_admit_ticket ticket = WEIR_ADMIT_TICKET_NONE;
    if (weir_admit_try(&s.admit, "a", 1, &ticket) == 0) {
        s.admitted++;
        weir_admit_release(&ticket);
    }
}

static void visit_b(void)
{
    struct weir_admit_ticket ticket = WEIR_ADMIT_TICKET_NONE;
    if (weir_admit_try(&s.admit, "b", 1, &ticket) == 0)
        weir_admit_release(&ticket);
}

static void check_idle(void)
{
    XP_ASSERT(s.admitted <= 1, "a key was forgotten and came back with a full bucket");
    XP_ASSERT(end().keys <= 1, "more keys than the table may hold");
}

XP_SCENARIO(admit_evicts_idle_only, .about = "a key that is not idle is not forgotten", XP_STATE(s),
            .setup = setup_one_key, .threads = {visit_a, visit_a, visit_b}, .check = check_idle,
            .bound = 2)
