/* index_plan.h - weir index plan: how many workers and how long a line a load needs.
 *
 * Ownership: nothing is kept.
 */
#ifndef WEIR_CLI_INDEX_PLAN_H
#define WEIR_CLI_INDEX_PLAN_H

#include "program.h"

/* As they were given; NULL: not. */
struct weir__index_plan_values {
    const char *rps, *hit, *service_ms, *dht_ms, *burst;
    bool json;
};

/* Whether anything of it was given. */
bool weir__index_plan_is_given(const struct weir__index_plan_values *values);
int weir__index_plan(const struct weir__call *call, const struct weir__index_plan_values *values);

#endif
