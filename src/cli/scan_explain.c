/* scan_explain.c - the limits of a run in words.
 *
 * Each line begins with whose limit it is: files, archives and repositories have their own.
 */
#include "scan_explain.h"

#include <inttypes.h>
#include <stdio.h>
#include <sys/sysmacros.h>

#include "log.h"
#include "values.h"

#include "banned.h"

#define WAITS_MAX 128

/* "12 waited, 3.2 s in all", of a line. */
static const char *waits(char text[WAITS_MAX], uint64_t waited,
                         const struct weir_histogram_snapshot *ns)
{
    if (waited == 0)
        snprintf(text, WAITS_MAX, "nobody waited");
    else
        snprintf(text, WAITS_MAX, "%" PRIu64 " waited, %.3f s in all", waited,
                 (double)ns->sum / 1e9);
    return text;
}

/* --- files --- */

static void explain_files(const struct weir__scan_limits *limits)
{
    char text[WAITS_MAX], size[WEIR__VALUE_TEXT_MAX];
    const struct weir_budget_stats *reads = &limits->reads, *bytes = &limits->bytes;
    weir__log(WEIR__LOG_INFO,
              "limits: files: reads of %" PRIu64 " at once: %s, %" PRIu64 " refused",
              reads->capacity, waits(text, reads->enqueued, &reads->wait_ns),
              reads->refused + reads->busy);
    weir__value_human_size(bytes->capacity, size);
    weir__log(WEIR__LOG_INFO, "limits: files: buffers of %s: %s, %" PRIu64 " refused", size,
              waits(text, bytes->enqueued, &bytes->wait_ns), bytes->refused + bytes->busy);
}

/* --- archives, repositories --- */

static void explain_devices(const char *whose, const struct weir__scan_held *held)
{
    for (size_t i = 0; i < held->devices_count; i++) {
        const struct weir__scan_device *d = &held->devices[i];
        uint64_t number = weir_device_raw(d->device);
        char name[64] = "disks that are not known";
        if (!weir_device_is_unknown(d->device))
            snprintf(name, sizeof(name), "disk %u:%u (%s)", major(number), minor(number),
                     weir_disk_name(weir_device_kind(d->device)));
        weir__log(WEIR__LOG_INFO,
                  "limits: %s: %s: at most %" PRIu64 " of %" PRIu64 " slots held, %" PRIu64
                  " waited, %" PRIu64 " refused",
                  whose, name, d->most, d->total, d->waited, d->refused);
    }
}

static void explain_bytes(const char *whose, const char *name, uint64_t most, uint64_t total)
{
    char held[WEIR__VALUE_TEXT_MAX], all[WEIR__VALUE_TEXT_MAX];
    weir__value_human_size(most, held);
    weir__value_human_size(total, all);
    weir__log(WEIR__LOG_INFO, "limits: %s: %s: at most %s of %s held", whose, name, held, all);
}

static void explain_spills(const char *whose, const struct weir__scan_side *side, bool has_none)
{
    uint64_t most = side->held.spills_most, total = side->pool.spill_slots_total;
    if (has_none)
        weir__log(WEIR__LOG_INFO, "limits: %s: spill slots: there are none", whose);
    else if (total == WEIR_POOL_SLOTS_UNLIMITED)
        weir__log(WEIR__LOG_INFO, "limits: %s: spill slots: at most %" PRIu64 " held, unlimited",
                  whose, most);
    else
        weir__log(WEIR__LOG_INFO,
                  "limits: %s: spill slots: at most %" PRIu64 " of %" PRIu64 " held", whose, most,
                  total);
}

/* The ring, the cache and the slots are asked for together, so they are waited for together. */
static void explain_pool(const char *whose, const struct weir_pool_stats *pool)
{
    char text[WAITS_MAX];
    weir__log(WEIR__LOG_INFO, "limits: %s: all of these: %s, %" PRIu64 " refused", whose,
              waits(text, pool->enqueued, &pool->wait_ns), pool->refused + pool->busy);
}

static void explain_archives(const struct weir__scan_limits *limits)
{
    const struct weir__scan_side *side = &limits->archives;
    if (!side->is_there) {
        weir__log(WEIR__LOG_INFO, "limits: archives: none is opened, %" PRIu64 " refused: %s",
                  limits->archives_refused, limits->archives_why);
        return;
    }
    weir__log(WEIR__LOG_INFO,
              "limits: archives: %" PRIu64 " admitted, %" PRIu64 " refused, at most %" PRIu64
              " at once",
              side->held.all, limits->archives_refused, side->held.most);
    explain_devices("archives", &side->held);
    explain_bytes("archives", "scan ring", side->held.ring_most, side->pool.scan_ring_total);
    explain_spills("archives", side, limits->has_no_spill);
    explain_pool("archives", &side->pool);
}

static void explain_cost(const struct weir__scan_limits *limits)
{
    const struct weir__scan_cost *cost = &limits->cost;
    char rebuilt[WEIR__VALUE_TEXT_MAX], spilled[WEIR__VALUE_TEXT_MAX];
    weir__value_human_size(cost->rebuilt_bytes, rebuilt);
    weir__value_human_size(cost->spilled_bytes, spilled);
    weir__log(WEIR__LOG_INFO,
              "limits: repositories: plans: at most %" PRIu64 " packs in work at once, %" PRIu64
              " repositories with one at a time",
              limits->plans_most, cost->one_plan);
    weir__log(WEIR__LOG_INFO,
              "limits: repositories: families of deltas: %" PRIu64 " objects (%s) built again",
              cost->rebuilt, rebuilt);
    weir__log(WEIR__LOG_INFO,
              "limits: repositories: large objects: of %" PRIu64 " repositories, %" PRIu64
              " objects (%s) in temporary files, at most %" PRIu64
              " repositories waited for others",
              limits->large, cost->spilled, spilled, limits->large_most);
}

static void explain_repos(const struct weir__scan_limits *limits)
{
    const struct weir__scan_side *side = &limits->repos;
    if (!side->is_there) {
        weir__log(WEIR__LOG_INFO, "limits: repositories: histories are not scanned");
        return;
    }
    weir__log(WEIR__LOG_INFO,
              "limits: repositories: %" PRIu64 " admitted, %" PRIu64 " refused, at most %" PRIu64
              " at once by %" PRIu32 " leaders",
              limits->sched.submitted - limits->large_jobs, limits->repos_refused, side->held.most,
              limits->leaders);
    weir__log(WEIR__LOG_INFO,
              "limits: repositories: %" PRIu64
              " small ones; others, to leave something to such: %" PRIu64
              " waited, at most %" PRIu64 " at once",
              limits->small, limits->waited, limits->waited_most);
    explain_devices("repositories", &side->held);
    explain_bytes("repositories", "scan ring", side->held.ring_most, side->pool.scan_ring_total);
    explain_bytes("repositories", "delta cache", side->held.delta_most,
                  side->pool.delta_cache_total);
    explain_spills("repositories", side, limits->has_no_spill);
    explain_pool("repositories", &side->pool);
    explain_cost(limits);
}

void weir__scan_explain(const struct weir__scan_limits *limits)
{
    explain_files(limits);
    explain_archives(limits);
    explain_repos(limits);
}
