/* plan.c - the arithmetic of capacity.
 *
 * A product that should be whole is often a little above it in binary fractions (70 * 0.01 / 0.7 is
 * 1.0000000000000002): rounding up takes off a billionth first, so that nobody gets a worker for
 * that.
 */
#include "plan.h"

#include <math.h>

#include <weir/error.h>

#include "banned.h"

#define TIME_MAX 60e3

/* False for what is not a number, too. */
static bool is_within(double value, double least, double most)
{
    return value >= least && value <= most;
}

static const char *wrong_field(const struct weir__plan_input *input)
{
    if (!is_within(input->rps, 0, WEIR__PLAN_RATE_MAX) || input->rps <= 0)
        return "rps";
    if (!is_within(input->hit, 0, 1))
        return "hit";
    if (!is_within(input->service_ms, 0, TIME_MAX) || input->service_ms <= 0)
        return "service_ms";
    if (!is_within(input->lookup_ms, 0, TIME_MAX))
        return "lookup_ms";
    if (!is_within(input->burst, 0, WEIR__PLAN_RATE_MAX))
        return "burst";
    if (!is_within(input->hedge_factor, 1, 16))
        return "hedge_factor";
    return NULL;
}

static uint32_t round_up(double value, uint32_t least, uint32_t most, bool *ret_is_capped)
{
    double whole = ceil(value * (1 - 1e-9));
    *ret_is_capped = whole > (double)most;
    if (*ret_is_capped)
        return most;
    return whole < (double)least ? least : (uint32_t)whole;
}

int weir__plan(struct weir__plan *ret_plan, const struct weir__plan_input *input,
               const char **ret_field)
{
    const char *field = wrong_field(input);
    if (field) {
        *ret_field = field;
        return -WEIR_E_INVALID;
    }
    struct weir__plan plan = {0};
    double miss = 1 - input->hit;
    double each_ms = input->hit * input->service_ms + miss * (input->service_ms + input->lookup_ms);
    plan.busy = input->rps * each_ms / 1000;
    plan.workers = round_up(plan.busy / WEIR__PLAN_UTILISATION, WEIR__PLAN_WORKERS_MIN,
                            WEIR__PLAN_WORKERS_MAX, &plan.workers_are_capped);
    plan.queue = round_up(input->burst * input->hedge_factor, WEIR__PLAN_QUEUE_MIN,
                          WEIR__PLAN_QUEUE_MAX, &plan.queue_is_capped);
    plan.at_once = plan.workers + plan.queue;
    plan.utilisation = plan.busy / plan.workers;
    *ret_plan = plan;
    return 0;
}
