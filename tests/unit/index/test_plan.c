/* The capacity formula: the worked example, its edges, and what is not a number. */
#include "tap.h"

#include <math.h>
#include <weir/error.h>

#include "plan.h"

static struct weir__plan plan;
static const char *field;

static struct weir__plan_input example(void)
{
    return (struct weir__plan_input){.rps = 1000,
                                     .hit = 0.9,
                                     .service_ms = 5,
                                     .lookup_ms = 40,
                                     .burst = 2000,
                                     .hedge_factor = 1.05};
}

TEST(the_example_of_the_design)
{
    struct weir__plan_input input = example();
    CHECK_EQ(weir__plan(&plan, &input, &field), 0);
    /* 1000 * (0.9 * 5 ms + 0.1 * 45 ms) = 9 busy; 9 / 0.7 = 12.86 */
    CHECK(fabs(plan.busy - 9) < 1e-9);
    CHECK_EQ(plan.workers, 13);
    CHECK(plan.utilisation <= 0.7);
    CHECK_EQ(plan.queue, 2100);
    CHECK_EQ(plan.at_once, 2113);
    CHECK(!plan.workers_are_capped && !plan.queue_is_capped);
}

TEST(a_whole_number_is_not_rounded_up)
{
    struct weir__plan_input input = {.rps = 70, .hit = 1, .service_ms = 100, .hedge_factor = 1};
    CHECK_EQ(weir__plan(&plan, &input, &field), 0);
    CHECK_EQ(plan.workers, 10);
    input = (struct weir__plan_input){.rps = 750, .hit = 1, .service_ms = 14, .hedge_factor = 1};
    CHECK_EQ(weir__plan(&plan, &input, &field), 0);
    CHECK_EQ(plan.workers, 15); /* 10.5 / 0.7 is 15.000000000000002 here */
}

TEST(there_are_least_and_most)
{
    struct weir__plan_input input = {.rps = 0.1, .hit = 1, .service_ms = 1, .hedge_factor = 1};
    CHECK_EQ(weir__plan(&plan, &input, &field), 0);
    CHECK_EQ(plan.workers, WEIR__PLAN_WORKERS_MIN);
    CHECK_EQ(plan.queue, WEIR__PLAN_QUEUE_MIN);
    input = (struct weir__plan_input){.rps = 1e7,
                                      .hit = 0,
                                      .service_ms = 6e4,
                                      .lookup_ms = 6e4,
                                      .burst = 1e7,
                                      .hedge_factor = 16};
    CHECK_EQ(weir__plan(&plan, &input, &field), 0);
    CHECK_EQ(plan.workers, WEIR__PLAN_WORKERS_MAX);
    CHECK_EQ(plan.queue, WEIR__PLAN_QUEUE_MAX);
    CHECK_EQ(plan.at_once, 1u << 20);
    CHECK(plan.workers_are_capped && plan.queue_is_capped);
}

TEST(what_is_out_of_bounds_is_named)
{
    static const struct {
        size_t at;
        double value;
        const char *field;
    } wrong[] = {
#define WRONG(name, value) {offsetof(struct weir__plan_input, name), value, #name}
        WRONG(rps, 0),          WRONG(rps, -1),           WRONG(rps, NAN),
        WRONG(rps, INFINITY),   WRONG(hit, -0.1),         WRONG(hit, 1.1),
        WRONG(hit, NAN),        WRONG(service_ms, 0),     WRONG(service_ms, 1e9),
        WRONG(lookup_ms, -1),   WRONG(lookup_ms, NAN),    WRONG(burst, -1),
        WRONG(burst, INFINITY), WRONG(hedge_factor, 0.9), WRONG(hedge_factor, 17),
    };
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        struct weir__plan_input input = example();
        *(double *)((char *)&input + wrong[i].at) = wrong[i].value;
        field = NULL;
        CHECK_EQ(weir__plan(&plan, &input, &field), -WEIR_E_INVALID);
        CHECK_STR(field, wrong[i].field);
    }
}

TAP_MAIN()
