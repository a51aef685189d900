/* Adaptive limits: what cuts, what grows, what says nothing. */
#include "tap.h"

#include <errno.h>
#include <weir/adapt.h>

#include "clock.h"

#define START_NS (1000 * WEIR_NS_PER_S)

static struct weir_budget budget;
static struct weir_adapt adapt;
static struct weir_adapt_stats stats;

static void start(uint64_t capacity, const struct weir_adapt_options *options)
{
    weir__clock_fake(START_NS);
    CHECK_EQ(weir_budget_init(&budget, "files", capacity), 0);
    CHECK_EQ(weir_adapt_init(&adapt, "descriptors", &budget, options), 0);
}

static void stop(void)
{
    weir_adapt_fini(&adapt);
    weir_budget_fini(&budget);
    weir__clock_unfake();
}

static void report(int error)
{
    weir_adapt_report(&adapt, weir_adapt_epoch(&adapt), error);
}

static void report_many(int count, int error)
{
    for (int i = 0; i < count; i++)
        report(error);
}

static uint64_t limit(void)
{
    weir_adapt_read(&adapt, &stats);
    CHECK_EQ(weir_budget_capacity(&budget), stats.limit);
    return stats.limit;
}

TEST(refuses_bad_options)
{
    struct weir_adapt bad;
    struct weir_adapt_options options = {.min = 11};
    CHECK_EQ(weir_budget_init(&budget, "files", 10), 0);
    CHECK_EQ(weir_adapt_init(&bad, "descriptors", &budget, &options), -WEIR_E_INVALID);
    CHECK_STR(weir_error_detail(),
              "adapt 'descriptors': the budget has 10, which is not between 11 and 10");
    options = (struct weir_adapt_options){.max = 9};
    CHECK_EQ(weir_adapt_init(&bad, "descriptors", &budget, &options), -WEIR_E_INVALID);
    options = (struct weir_adapt_options){.max = WEIR_BUDGET_MAX + 1};
    CHECK_EQ(weir_adapt_init(&bad, "descriptors", &budget, &options), -WEIR_E_INVALID);
    options = (struct weir_adapt_options){.cut_permille = 1000};
    CHECK_EQ(weir_adapt_init(&bad, "descriptors", &budget, &options), -WEIR_E_INVALID);
    CHECK_HAS(weir_error_detail(), "it may be 1 to 999");
    CHECK_EQ(weir_adapt_init(&bad, "descriptors", NULL, NULL), -WEIR_E_INVALID);
    CHECK_EQ(weir_adapt_init(&bad, "", &budget, NULL), -WEIR_E_INVALID);
    weir_adapt_fini(NULL);
    struct weir_adapt zero = {0};
    weir_adapt_fini(&zero);
    weir_budget_fini(&budget);
}

TEST(signs_of_overload_cut)
{
    static const int signs[] = {-WEIR_E_NO_DESCRIPTORS, -WEIR_E_NO_MEMORY, -WEIR_E_TIMEOUT,
                                WEIR_E_TIMEOUT_READ, WEIR_E_TIMEOUT_WRITE};
    start(64, NULL);
    uint64_t wanted = 64;
    for (size_t i = 0; i < sizeof(signs) / sizeof(signs[0]); i++) {
        report(signs[i]);
        wanted /= 2;
        CHECK_EQ(limit(), wanted);
        CHECK_EQ(stats.epoch, i + 1);
        weir__clock_advance(WEIR_ADAPT_CUT_INTERVAL_DEFAULT_NS);
    }
    report(weir_error_from_errno(EMFILE));
    CHECK_EQ(limit(), 1);
    weir__clock_advance(WEIR_ADAPT_CUT_INTERVAL_DEFAULT_NS);
    report(weir_error_from_errno(ENOMEM)); /* at the minimum: counted, and that is all */
    CHECK_EQ(limit(), 1);
    CHECK_EQ(stats.epoch, 7);
    CHECK_EQ(stats.resizes, 6);
    CHECK_STR(weir_adapt_name(&adapt), "descriptors");
    stop();
}

TEST(what_says_nothing_about_the_load_does_not_count)
{
    struct weir_adapt_options options = {.max = 100, .grow_after = 1};
    start(64, &options);
    static const int others[] = {-WEIR_E_CANCELED,     -WEIR_E_BUSY,      -WEIR_E_PACED,
                                 -WEIR_E_BREAKER_OPEN, -WEIR_E_NOT_FOUND, -WEIR_E_IO,
                                 -WEIR_E_TOO_LARGE,    -WEIR_E_DRAINING,  INT32_MIN};
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
        report(others[i]);
    CHECK_EQ(limit(), 64);
    CHECK_EQ(stats.ignored, sizeof(others) / sizeof(others[0]));
    CHECK_EQ(stats.successes + stats.overloads, 0);
    stop();
}

TEST(one_overload_is_one_cut)
{
    start(64, NULL);
    uint64_t before = weir_adapt_epoch(&adapt);
    weir_adapt_report(&adapt, before, -WEIR_E_NO_MEMORY);
    weir__clock_advance(10 * WEIR_NS_PER_S);
    for (int i = 0; i < 50; i++) {
        weir_adapt_report(&adapt, before, -WEIR_E_NO_MEMORY);
        weir_adapt_report(&adapt, before, 0);
    }
    CHECK_EQ(limit(), 32);
    CHECK_EQ(stats.stale, 100);
    CHECK_EQ(stats.successes, 0);
    stop();
}

TEST(cuts_keep_their_distance)
{
    start(64, NULL);
    report(-WEIR_E_NO_MEMORY);
    weir__clock_advance(WEIR_ADAPT_CUT_INTERVAL_DEFAULT_NS - 1);
    report(-WEIR_E_NO_MEMORY);
    CHECK_EQ(limit(), 32);
    CHECK_EQ(stats.too_soon, 1);
    weir__clock_advance(1);
    report(-WEIR_E_NO_MEMORY);
    CHECK_EQ(limit(), 16);
    CHECK_EQ(stats.overloads, 3);
    stop();
}

TEST(grows_back_step_by_step)
{
    struct weir_adapt_options options = {.grow_step = 3, .grow_after = 10, .cut_permille = 900};
    start(40, &options);
    report_many(100, 0);
    CHECK_EQ(limit(), 40); /* already at the maximum */
    report(-WEIR_E_TIMEOUT);
    CHECK_EQ(limit(), 36);
    report_many(1000, 0);
    CHECK_EQ(limit(), 36); /* not so soon after the cut */
    weir__clock_advance(WEIR_ADAPT_GROW_INTERVAL_DEFAULT_NS);
    report(0);
    CHECK_EQ(limit(), 39);
    weir__clock_advance(WEIR_ADAPT_GROW_INTERVAL_DEFAULT_NS);
    report_many(9, 0);
    CHECK_EQ(limit(), 39); /* not with so few */
    report(0);
    CHECK_EQ(limit(), 40); /* and not above the maximum */
    weir__clock_advance(WEIR_ADAPT_GROW_INTERVAL_DEFAULT_NS);
    report_many(100, 0);
    CHECK_EQ(limit(), 40);
    CHECK_EQ(stats.steps, 2);
    CHECK_EQ(stats.resizes, 3);
    stop();
}

TEST(stays_above_the_minimum)
{
    struct weir_adapt_options options = {.min = 10, .cut_permille = 1};
    start(40, &options);
    report(-WEIR_E_TIMEOUT);
    CHECK_EQ(limit(), 10);
    CHECK_EQ(stats.min, 10);
    CHECK_EQ(stats.max, 40);
    stop();
}

TEST(large_budgets_do_not_overflow)
{
    struct weir_adapt_options options = {.cut_permille = 999};
    start(WEIR_BUDGET_MAX, &options);
    report(-WEIR_E_NO_MEMORY);
    CHECK_EQ(limit(), WEIR_BUDGET_MAX / 1000 * 999 + WEIR_BUDGET_MAX % 1000 * 999 / 1000);
    stop();
}

TEST(what_is_out_stays_out)
{
    start(8, NULL);
    struct weir_permit permit = WEIR_PERMIT_NONE;
    CHECK_EQ(weir_budget_try(&budget, 8, &permit), 0);
    report(-WEIR_E_NO_DESCRIPTORS);
    CHECK_EQ(limit(), 4);
    CHECK_EQ(weir_budget_available(&budget), 0);
    weir_permit_release(&permit);
    CHECK_EQ(weir_budget_available(&budget), 4);
    stop();
}

/* A callback of the budget that reports itself while its resize is under way. */
static void on_fail(struct weir_budget_waiter *waiter, int result, struct weir_permit permit)
{
    (void)waiter;
    (void)permit;
    CHECK_EQ(result, -WEIR_E_TOO_LARGE);
    weir__clock_advance(WEIR_ADAPT_CUT_INTERVAL_DEFAULT_NS);
    report(-WEIR_E_NO_MEMORY);
}

TEST(a_report_from_inside_a_resize_is_applied)
{
    start(8, NULL);
    struct weir_permit permit = WEIR_PERMIT_NONE, other = WEIR_PERMIT_NONE;
    struct weir_budget_waiter waiter;
    CHECK_EQ(weir_budget_try(&budget, 1, &permit), 0);
    CHECK_EQ(weir_budget_acquire_async(&budget, 8, &other, &waiter, on_fail), WEIR_BUDGET_QUEUED);
    report(-WEIR_E_NO_DESCRIPTORS);
    CHECK_EQ(limit(), 2);
    CHECK_EQ(stats.epoch, 2);
    weir_permit_release(&permit);
    stop();
}

static void fini_inside(struct weir_budget_waiter *waiter, int result, struct weir_permit permit)
{
    (void)waiter;
    (void)result;
    (void)permit;
    weir_adapt_fini(&adapt);
}

static void fini_while_resizing(void *arg)
{
    struct weir_permit permit = WEIR_PERMIT_NONE, other = WEIR_PERMIT_NONE;
    static struct weir_budget_waiter waiter;
    if (weir_budget_try(&budget, 1, &permit) == 0 &&
        weir_budget_acquire_async(&budget, 8, &other, &waiter, fini_inside) == WEIR_BUDGET_QUEUED)
        report(-WEIR_E_NO_DESCRIPTORS);
    (void)arg;
}

TEST(misuse_is_named)
{
    start(8, NULL);
    CHECK(tap_dies(fini_while_resizing, NULL, "adapt 'descriptors': destroyed while the budget"));
    stop();
}

TAP_MAIN()
