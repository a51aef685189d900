/* scan_metrics.c - the limits of a run, for a registry of metrics. */
#include "scan_repo.h"

#include <weir/metrics.h>

#include "banned.h"

int weir__scan_metrics_add(struct weir__scan *run, struct weir_metrics *metrics)
{
    struct weir__scan_repos *repos = &run->repos;
    struct weir__scan_archives *archives = &run->archives;
    int result = weir_metrics_add_budget(metrics, &run->reads);
    if (result == 0)
        result = weir_metrics_add_budget(metrics, &run->bytes);
    if (result == 0)
        result = weir_metrics_add_queue(metrics, &run->jobs);
    if (result == 0 && archives->has_pool)
        result = weir_metrics_add_pool(metrics, &archives->pool);
    if (result == 0 && archives->has_slots)
        result = weir_metrics_add_slots(metrics, &archives->slots);
    if (result < 0 || !repos->sched)
        return result;
    result = weir_metrics_add_pool(metrics, &repos->pool);
    if (result == 0)
        result = weir_metrics_add_slots(metrics, &repos->slots);
    return result < 0 ? result : weir_metrics_add_sched(metrics, repos->sched);
}

void weir__scan_metrics_remove(struct weir__scan *run, struct weir_metrics *metrics)
{
    const void *const objects[] = {&run->reads,         &run->bytes,          &run->jobs,
                                   &run->archives.pool, &run->archives.slots, &run->repos.pool,
                                   &run->repos.slots,   run->repos.sched};
    for (size_t i = 0; i < sizeof(objects) / sizeof(objects[0]); i++)
        weir_metrics_remove(metrics, objects[i]);
}
