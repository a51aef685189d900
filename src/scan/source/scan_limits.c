/* scan_limits.c - what jobs hold of the limits they share: archives of theirs, repositories of
 * theirs.
 *
 * State, guarded by the lock of the run: for either kind how many jobs are at work, and what was
 * held at once of each limit, at most. Whoever is admitted looks at what is held then, since that
 * is when most is held; the pool and the slots know the rest themselves.
 */
#include "scan_repo.h"

#include <string.h>

#include "banned.h"

static void raise_to(uint64_t *most, uint64_t value)
{
    if (*most < value)
        *most = value;
}

/* Counts of a device begin anew when it was forgotten meanwhile: the larger ones are kept. */
static void note_device(struct weir__scan_held *held, const struct weir_slots_device *device)
{
    size_t i = 0;
    while (i < held->devices_count &&
           weir_device_raw(held->devices[i].device) != weir_device_raw(device->device))
        i++;
    if (i == WEIR__SCAN_DEVICES_MAX)
        return;
    struct weir__scan_device *own = &held->devices[i];
    if (i == held->devices_count)
        held->devices[held->devices_count++] = (struct weir__scan_device){.device = device->device};
    own->total = device->total;
    raise_to(&own->most, device->in_use);
    raise_to(&own->waited, device->enqueued);
    raise_to(&own->refused, device->busy);
}

/* More than fit are not told. */
static size_t list_devices(struct weir_slots *slots,
                           struct weir_slots_device devices[WEIR__SCAN_DEVICES_MAX])
{
    size_t count = weir_slots_list(slots, devices, WEIR__SCAN_DEVICES_MAX);
    return count < WEIR__SCAN_DEVICES_MAX ? count : WEIR__SCAN_DEVICES_MAX;
}

/* begun: jobs that were admitted just now. */
static void note(struct weir__scan *run, struct weir__scan_held *held, struct weir_pool *pool,
                 struct weir_slots *slots, unsigned begun)
{
    struct weir_slots_device devices[WEIR__SCAN_DEVICES_MAX];
    struct weir_pool_stats stats;
    weir_pool_read(pool, &stats);
    size_t count = slots ? list_devices(slots, devices) : 0;
    weir_lock_acquire(&run->lock);
    held->all += begun;
    held->now += begun;
    raise_to(&held->most, held->now);
    raise_to(&held->ring_most, stats.scan_ring_in_use);
    raise_to(&held->delta_most, stats.delta_cache_in_use);
    raise_to(&held->spills_most, stats.spill_slots_in_use);
    for (size_t i = 0; i < count; i++)
        note_device(held, &devices[i]);
    weir_lock_release(&run->lock);
}

void weir__scan_held_note(struct weir__scan *run, struct weir__scan_held *held,
                          struct weir_pool *pool, struct weir_slots *slots)
{
    note(run, held, pool, slots, 0);
}

void weir__scan_held_begin(struct weir__scan *run, struct weir__scan_held *held,
                           struct weir_pool *pool, struct weir_slots *slots)
{
    note(run, held, pool, slots, 1);
}

void weir__scan_held_end(struct weir__scan *run, struct weir__scan_held *held)
{
    weir_lock_acquire(&run->lock);
    held->now--;
    weir_lock_release(&run->lock);
}

static void read_side(struct weir__scan *run, struct weir__scan_held *held, struct weir_pool *pool,
                      struct weir_slots *slots, struct weir__scan_side *ret_side)
{
    weir__scan_held_note(run, held, pool, slots);
    weir_pool_read(pool, &ret_side->pool);
    weir_slots_read(slots, &ret_side->slots);
    ret_side->is_there = true;
    weir_lock_acquire(&run->lock);
    ret_side->held = *held;
    weir_lock_release(&run->lock);
}

void weir__scan_read_limits(struct weir__scan *run, struct weir__scan_limits *ret_limits)
{
    struct weir__scan_repos *repos = &run->repos;
    struct weir__scan_archives *archives = &run->archives;
    *ret_limits = (struct weir__scan_limits){.has_no_spill = run->options->has_no_spill};
    weir_budget_read(&run->reads, &ret_limits->reads);
    weir_budget_read(&run->bytes, &ret_limits->bytes);
    if (archives->has_pool && archives->has_slots)
        read_side(run, &archives->held, &archives->pool, &archives->slots, &ret_limits->archives);
    memcpy(ret_limits->archives_why, archives->why, sizeof(archives->why));
    if (repos->sched) {
        read_side(run, &repos->held, &repos->pool, &repos->slots, &ret_limits->repos);
        weir_sched_read(repos->sched, &ret_limits->sched);
    }
    weir_lock_acquire(&run->lock);
    ret_limits->archives_refused = archives->refused;
    ret_limits->repos_refused = repos->refused;
    ret_limits->leaders = weir__scan_line_leaders(repos);
    ret_limits->small = repos->small;
    ret_limits->waiting = repos->heavy.waiting;
    ret_limits->waited = repos->heavy.waited;
    ret_limits->waited_most = repos->heavy.waiting_most;
    ret_limits->plans_most = repos->plans_most;
    ret_limits->large = repos->large_all;
    ret_limits->large_jobs = repos->large_jobs;
    ret_limits->large_most = repos->large_most;
    ret_limits->cost = repos->cost;
    weir_lock_release(&run->lock);
}
