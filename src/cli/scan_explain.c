/* scan_explain.c - the limits of a run in words. */
#include "scan_explain.h"

#include <inttypes.h>
#include <stdio.h>
#include <sys/sysmacros.h>

#include "log.h"
#include "values.h"

#include "banned.h"

/* "12 waited, 3.2 s in all", of a line. */
static const char *waits(char text[128], uint64_t waited, const struct weir_histogram_snapshot *ns)
{
    if (waited == 0)
        snprintf(text, 128, "nobody waited");
    else
        snprintf(text, 128, "%" PRIu64 " waited, %.3f s in all", waited, (double)ns->sum / 1e9);
    return text;
}

static void explain_bytes(const char *name, uint64_t most, uint64_t total)
{
    char held[WEIR__VALUE_TEXT_MAX], all[WEIR__VALUE_TEXT_MAX];
    weir__value_human_size(most, held);
    weir__value_human_size(total, all);
    weir__log(WEIR__LOG_INFO, "limits: %s: at most %s of %s held", name, held, all);
}

static void explain_cost(const struct weir__scan_limits *limits)
{
    const struct weir__scan_cost *cost = &limits->cost;
    char rebuilt[WEIR__VALUE_TEXT_MAX], spilled[WEIR__VALUE_TEXT_MAX];
    weir__value_human_size(cost->rebuilt_bytes, rebuilt);
    weir__value_human_size(cost->spilled_bytes, spilled);
    weir__log(WEIR__LOG_INFO, "limits: families of deltas: %" PRIu64 " objects (%s) built again",
              cost->rebuilt, rebuilt);
    weir__log(WEIR__LOG_INFO,
              "limits: large objects: of %" PRIu64 " repositories, %" PRIu64
              " objects (%s) in temporary files",
              limits->large, cost->spilled, spilled);
}

void weir__scan_explain(const struct weir__scan_limits *limits)
{
    const struct weir_pool_stats *pool = &limits->pool;
    char text[128];
    if (!limits->has_repos) {
        weir__log(WEIR__LOG_INFO, "limits: histories are not scanned");
        return;
    }
    weir__log(WEIR__LOG_INFO,
              "limits: repositories: %" PRIu64 " admitted, %" PRIu64 " refused, at most %" PRIu64
              " at once by %" PRIu32 " leaders",
              limits->sched.submitted - limits->large, limits->sched.refused + limits->sched.busy,
              limits->most, limits->leaders);
    for (size_t i = 0; i < limits->devices_count; i++) {
        const struct weir__scan_device *d = &limits->devices[i];
        weir__log(WEIR__LOG_INFO,
                  "limits: disk %u:%u (%s): at most %" PRIu64 " of %" PRIu64 " slots held",
                  major(weir_device_raw(d->device)), minor(weir_device_raw(d->device)),
                  weir_disk_name(weir_device_kind(d->device)), d->most, d->total);
    }
    weir__log(WEIR__LOG_INFO, "limits: slots of disks: %" PRIu64 " waited, %" PRIu64 " refused",
              limits->slots.enqueued, limits->slots.refused + limits->slots.busy);
    explain_bytes("scan ring", limits->ring_most, pool->scan_ring_total);
    explain_bytes("delta cache", limits->delta_most, pool->delta_cache_total);
    if (limits->has_no_spill)
        weir__log(WEIR__LOG_INFO, "limits: spill slots: there are none");
    else if (pool->spill_slots_total == WEIR_POOL_SLOTS_UNLIMITED)
        weir__log(WEIR__LOG_INFO, "limits: spill slots: at most %" PRIu64 " held, unlimited",
                  limits->spills_most);
    else
        weir__log(WEIR__LOG_INFO, "limits: spill slots: at most %" PRIu64 " of %" PRIu64 " held",
                  limits->spills_most, pool->spill_slots_total);
    explain_cost(limits);
    weir__log(WEIR__LOG_INFO, "limits: pool: %s, %" PRIu64 " refused",
              waits(text, pool->enqueued, &pool->wait_ns), pool->refused + pool->busy);
}
