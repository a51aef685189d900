/* plan.h - how many workers and how long a line an index needs for a load.
 *
 *     work    = rps * (hit * S + (1 - hit) * (S + D))          workers that are busy on average
 *     workers = ceil(work / 0.7), at least 2
 *     queue   = ceil(burst * hedge factor), at least 512
 *     at once = workers + queue                                requests that are let in
 *
 * S is the time of a request without a lookup, D that of a lookup, hit the share that the cache
 * answers. Seven tenths are busy on average: above that the line grows without anybody being late.
 * The hedge factor is how many attempts a lookup makes: 1 and the share of hedges.
 *
 * Promises: pure, neither allocates nor waits; the same input gives the same plan.
 *
 * Ownership: values.
 */
#ifndef WEIR_INDEX_PLAN_H
#define WEIR_INDEX_PLAN_H

#include <weir/defs.h>

#define WEIR__PLAN_UTILISATION 0.7
#define WEIR__PLAN_RATE_MAX    1e7
#define WEIR__PLAN_WORKERS_MIN 2u
#define WEIR__PLAN_WORKERS_MAX 256u /* of index.workers */
#define WEIR__PLAN_QUEUE_MIN   512u
#define WEIR__PLAN_QUEUE_MAX   ((1u << 20) - WEIR__PLAN_WORKERS_MAX) /* at once as many as can be */

struct weir__plan_input {
    double rps;          /* requests a second, above 0, at most 10 million */
    double hit;          /* 0 to 1 */
    double service_ms;   /* S, above 0, at most a minute */
    double lookup_ms;    /* D, 0 or more, at most a minute */
    double burst;        /* requests in the worst second, 0 or more, at most 10 million */
    double hedge_factor; /* 1 to 16 */
};

struct weir__plan {
    uint32_t workers, queue;
    uint32_t at_once;        /* less would refuse what the line has room for */
    double busy;             /* workers, on average */
    double utilisation;      /* of the workers planned */
    bool workers_are_capped; /* the load needs more than WEIR__PLAN_WORKERS_MAX */
    bool queue_is_capped;
};

/* Invalid: ret_field names the first field that is out of its bounds, which include not being a
 * number. */
WEIR_MUST_USE int weir__plan(struct weir__plan *ret_plan, const struct weir__plan_input *input,
                             const char **ret_field);

#endif
