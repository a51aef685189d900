/* Adaptive limits: one overload is one cut, and the newest size is the one that stays. */
#include "xp.h"

#include <weir/adapt.h>

static struct {
    struct weir_budget budget;
    struct weir_adapt adapt;
    uint64_t epoch;
} s;

static void setup(void)
{
    struct weir_adapt_options options = {.max = 16, .grow_after = 1, .grow_step = 1};
    XP_ASSERT_EQ(weir_budget_init(&s.budget, "b", 8), 0);
    XP_ASSERT_EQ(weir_adapt_init(&s.adapt, "a", &s.budget, &options), 0);
    s.epoch = weir_adapt_epoch(&s.adapt);
}

static struct weir_adapt_stats end(void)
{
    struct weir_adapt_stats stats;
    weir_adapt_read(&s.adapt, &stats);
    XP_ASSERT_EQ(weir_budget_capacity(&s.budget), stats.limit);
    weir_adapt_fini(&s.adapt);
    weir_budget_fini(&s.budget);
    return stats;
}

/* Time passes, so that it is not the interval that holds the second cut off. */
static void overload(void)
{
    xp_advance(2 * WEIR_ADAPT_CUT_INTERVAL_DEFAULT_NS);
    weir_adapt_report(&s.adapt, s.epoch, -WEIR_E_NO_DESCRIPTORS);
}

static void check_one_cut(void)
{
    struct weir_adapt_stats stats = end();
    XP_ASSERT_EQ(stats.limit, 4);
    XP_ASSERT_EQ(stats.epoch, 1);
    XP_ASSERT_EQ(stats.stale, 2);
}

XP_SCENARIO(adapt_one_overload_one_cut, .about = "calls from before a cut do not cut again",
            XP_STATE(s), .setup = setup, .threads = {overload, overload, overload},
            .check = check_one_cut, .bound = 2)

static void succeed(void)
{
    weir_adapt_report(&s.adapt, weir_adapt_epoch(&s.adapt), 0);
}

static void use(void)
{
    struct weir_permit permit = WEIR_PERMIT_NONE;
    if (weir_budget_try(&s.budget, 3, &permit) == 0) {
        xp_point();
        weir_permit_release(&permit);
    }
}

static void check_last(void)
{
    struct weir_adapt_stats stats = end();
    XP_ASSERT_EQ(stats.epoch, 1);
    XP_ASSERT(stats.limit == 4 || stats.limit == 5, "not what one cut and one step can give");
}

XP_SCENARIO(adapt_last_resize_wins, .about = "the budget ends with the newest limit", XP_STATE(s),
            .setup = setup, .threads = {overload, succeed, use}, .check = check_last, .bound = 2)
