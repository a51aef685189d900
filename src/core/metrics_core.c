/* metrics_core.c - how each kind of object is read, and the samples that are not a single number.
 *
 * A reader takes the object's own locks, one after the other, and never waits. It runs with no
 * other lock held, since the objects' ranks are below that of the registry. What it fills in is the
 * object's own struct of counts, so a snapshot says nothing that the object would not say itself.
 */
#include "metrics.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <sys/types.h>
#include <weir/adapt.h>
#include <weir/admit.h>
#include <weir/breaker.h>
#include <weir/budget.h>
#include <weir/bus.h>
#include <weir/crew.h>
#include <weir/frontier.h>
#include <weir/hedge.h>
#include <weir/pool.h>
#include <weir/queue.h>
#include <weir/rate.h>
#include <weir/sched.h>
#include <weir/slots.h>
#include <weir/watch.h>

/* ---- reading ---- */

/* The objects are borrowed as const because the registry changes nothing of them; reading takes
 * their locks all the same. */
#define READER(kind)                                                                               \
    static void read_##kind(const void *object, void *snapshot)                                    \
    {                                                                                              \
        weir_##kind##_read((struct weir_##kind *)(uintptr_t)object, snapshot);                     \
    }
READER(adapt)
READER(admit)
READER(breaker)
READER(budget)
READER(bus)
READER(crew)
READER(frontier)
READER(hedge)
READER(pool)
READER(queue)
READER(rate)
READER(sched)
READER(watch)

/* The sums first, so that they are found where weir_slots_read() would put them. */
struct slots_snapshot {
    struct weir_slots_stats stats;
    size_t count;
    struct weir_slots_device devices[WEIR_METRICS_DEVICES_MAX];
};

/* By hand, since qsort() may allocate. */
static void sort_devices(struct weir_slots_device *devices, size_t count)
{
    for (size_t i = 1; i < count; i++) {
        struct weir_slots_device device = devices[i];
        size_t at = i;
        for (; at > 0 && weir_device_raw(devices[at - 1].device) > weir_device_raw(device.device);
             at--)
            devices[at] = devices[at - 1];
        devices[at] = device;
    }
}

static void read_slots(const void *object, void *snapshot)
{
    struct weir_slots *slots = (struct weir_slots *)(uintptr_t)object;
    struct slots_snapshot *all = snapshot;
    weir_slots_read(slots, &all->stats);
    all->count = weir_slots_list(slots, all->devices, WEIR_METRICS_DEVICES_MAX);
    if (all->count > WEIR_METRICS_DEVICES_MAX)
        all->count = WEIR_METRICS_DEVICES_MAX;
    sort_devices(all->devices, all->count);
}

static void read_counter(const void *object, void *snapshot)
{
    uint64_t value = weir_counter_value(object);
    memcpy(snapshot, &value, sizeof(value));
}

static void read_gauge(const void *object, void *snapshot)
{
    int64_t value = weir_gauge_value(object);
    memcpy(snapshot, &value, sizeof(value));
}

static void read_histogram(const void *object, void *snapshot)
{
    weir_histogram_read(object, snapshot);
}

const struct weir__metrics_kind weir__metrics_kinds[WEIR__METRICS_KINDS] = {
    [WEIR__METRICS_ADAPT] = {"adapt", "adapt", sizeof(struct weir_adapt_stats), read_adapt},
    [WEIR__METRICS_ADMIT] = {"admit", "admit", sizeof(struct weir_admit_stats), read_admit},
    [WEIR__METRICS_BREAKER] = {"breaker", "target", sizeof(struct weir_breaker_stats),
                               read_breaker},
    [WEIR__METRICS_BUDGET] = {"budget", "budget", sizeof(struct weir_budget_stats), read_budget},
    [WEIR__METRICS_BUS] = {"bus", "topic", sizeof(struct weir_bus_stats), read_bus},
    [WEIR__METRICS_CREW] = {"crew", "crew", sizeof(struct weir_crew_report), read_crew},
    [WEIR__METRICS_FRONTIER] = {"frontier", "frontier", sizeof(struct weir_frontier_stats),
                                read_frontier},
    [WEIR__METRICS_HEDGE] = {"hedge", "hedge", sizeof(struct weir_hedge_stats), read_hedge},
    [WEIR__METRICS_POOL] = {"pool", "pool", sizeof(struct weir_pool_stats), read_pool},
    [WEIR__METRICS_QUEUE] = {"queue", "queue", sizeof(struct weir_queue_stats), read_queue},
    [WEIR__METRICS_RATE] = {"rate", "rate", sizeof(struct weir_rate_stats), read_rate},
    [WEIR__METRICS_SCHED] = {"sched", "sched", sizeof(struct weir_sched_stats), read_sched},
    [WEIR__METRICS_SLOTS] = {"slots", "slots", sizeof(struct slots_snapshot), read_slots},
    [WEIR__METRICS_WATCH] = {"watch", "watch", sizeof(struct weir_watch_stats), read_watch},
    [WEIR__METRICS_OWN_COUNTER] = {"counter", NULL, sizeof(uint64_t), read_counter},
    [WEIR__METRICS_OWN_GAUGE] = {"gauge", NULL, sizeof(int64_t), read_gauge},
    [WEIR__METRICS_OWN_HISTOGRAM] = {"histogram", NULL, sizeof(struct weir_histogram_snapshot),
                                     read_histogram},
};

#define ADDER(kind, KIND)                                                                          \
    int weir_metrics_add_##kind(struct weir_metrics *metrics, struct weir_##kind *kind)            \
    {                                                                                              \
        return weir__metrics_add(metrics, WEIR__METRICS_##KIND, kind, weir_##kind##_name(kind));   \
    }
ADDER(adapt, ADAPT)
ADDER(admit, ADMIT)
ADDER(breaker, BREAKER)
ADDER(budget, BUDGET)
ADDER(bus, BUS)
ADDER(crew, CREW)
ADDER(frontier, FRONTIER)
ADDER(hedge, HEDGE)
ADDER(pool, POOL)
ADDER(queue, QUEUE)
ADDER(rate, RATE)
ADDER(sched, SCHED)
ADDER(slots, SLOTS)
ADDER(watch, WATCH)

bool weir__metrics_is_core(const char *name)
{
    for (size_t i = 0; i < weir__metrics_family_count; i++)
        if (strcmp(weir__metrics_families[i].name, name) == 0)
            return true;
    return false;
}

/* ---- samples with a label of their own ---- */

WEIR__METRICS_EMIT(admit_refused)
{
    const struct weir_admit_stats *stats = snapshot;
    (void)family;
    weir__metrics_sample(out, labels, "reason=\"cap\"", stats->refused_cap);
    weir__metrics_sample(out, labels, "reason=\"full\"", stats->refused_full);
    weir__metrics_sample(out, labels, "reason=\"rate\"", stats->refused_rate);
}

static void sample_state(struct weir__metrics_out *out, const char *labels, const char *state,
                         uint64_t value)
{
    char more[WEIR_NAME_MAX + 16];
    snprintf(more, sizeof(more), "state=\"%s\"", state);
    weir__metrics_sample(out, labels, more, value);
}

WEIR__METRICS_EMIT(breaker_state)
{
    const struct weir_breaker_stats *stats = snapshot;
    (void)family;
    for (int state = 0; state < WEIR_BREAKER_STATES; state++)
        sample_state(out, labels, weir_breaker_state_name((enum weir_breaker_state)state),
                     (int)stats->state == state);
}

WEIR__METRICS_EMIT(breaker_entered)
{
    const struct weir_breaker_stats *stats = snapshot;
    (void)family;
    for (int state = 0; state < WEIR_BREAKER_STATES; state++)
        sample_state(out, labels, weir_breaker_state_name((enum weir_breaker_state)state),
                     stats->entered[state]);
}

WEIR__METRICS_EMIT(crew_state)
{
    const struct weir_crew_report *report = snapshot;
    (void)family;
    for (int state = WEIR_CREW_RUNNING; state <= WEIR_CREW_STOPPED; state++)
        sample_state(out, labels, weir_crew_state_name((enum weir_crew_state)state),
                     (int)report->state == state);
}

WEIR__METRICS_EMIT(tasks)
{
    const struct weir_crew_report *report = snapshot;
    for (size_t i = 0; i < report->kind_count && i < WEIR_CREW_KINDS_MAX; i++) {
        const struct weir_crew_kind *kind = &report->kinds[i];
        char more[WEIR__METRICS_LABEL_ROOM] = "";
        uint64_t value;
        weir__metrics_label(more, sizeof(more), "kind", kind->name);
        memcpy(&value, (const char *)kind + family->at, sizeof(value));
        weir__metrics_sample(out, labels, more, value);
    }
}

WEIR__METRICS_EMIT(rate_waiting)
{
    const struct weir_rate_stats *stats = snapshot;
    (void)family;
    weir__metrics_sample(out, labels, "priority=\"high\"", stats->waiting_tokens[WEIR_RATE_HIGH]);
    weir__metrics_sample(out, labels, "priority=\"low\"", stats->waiting_tokens[WEIR_RATE_LOW]);
}

WEIR__METRICS_EMIT(slots_device)
{
    const struct slots_snapshot *all = snapshot;
    for (size_t i = 0; i < all->count; i++) {
        const struct weir_slots_device *device = &all->devices[i];
        uint64_t raw = weir_device_raw(device->device), value;
        char more[64] = "device=\"unknown\"";
        if (!weir_device_is_unknown(device->device))
            snprintf(more, sizeof(more), "device=\"%u:%u\"", major((dev_t)raw), minor((dev_t)raw));
        memcpy(&value, (const char *)device + family->at, sizeof(value));
        weir__metrics_sample(out, labels, more, value);
    }
}
