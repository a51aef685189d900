/* drain.c - the end of the service: what is there is finished until the time is up, and what is not
 * is counted.
 *
 * Everything that was under way then is in one of the counts, or in two: a request that a worker is
 * at, or that waits in line, has a connection as well. Nobody can ask for them by HTTP any more, so
 * they are what the drain returns.
 */
#include <weir/error.h>

#include "storage_part.h"

#include "banned.h"

#define TURN_NS (100 * WEIR_NS_PER_MS) /* between two looks for a second signal */

static void drop_job(void *arg, void *item)
{
    (void)arg;
    weir__errand_drop(*(struct weir__errand **)item);
}

static void close_lines(struct weir__storage *storage)
{
    weir_queue_close(&storage->reads);
    weir_queue_close(&storage->writes);
    weir_queue_close(&storage->streams);
    weir_queue_close(&storage->health);
    weir_queue_drain(&storage->reloads, NULL, NULL);
    weir__repair_end(storage);
}

/* Those that nobody was left for. */
static void empty_lines(struct weir__storage *storage)
{
    weir_queue_drain(&storage->reads, drop_job, NULL);
    weir_queue_drain(&storage->writes, drop_job, NULL);
    weir_queue_drain(&storage->streams, drop_job, NULL);
    weir_queue_drain(&storage->health, drop_job, NULL);
}

static void count(struct weir__storage *storage, struct weir__storage_end *end)
{
    struct weir_crew_report report;
    struct weir__server_stats stats;
    weir_crew_read(storage->crew, &report);
    for (uint64_t i = 0; i < report.kind_count; i++) {
        end->aborted += report.kinds[i].aborted;
        end->abandoned += report.kinds[i].abandoned;
    }
    weir__server_read(storage->server, &stats);
    end->cut = stats.cut;
    weir_lock_acquire(&storage->jobs_lock);
    end->dropped = storage->jobs_dropped;
    weir_lock_release(&storage->jobs_lock);
    end->unrepaired = weir__repair_left(storage);
}

/* A second signal means that nobody wants to wait for the rest. */
static int quiesce(struct weir__storage *storage, const struct weir_deadline *deadline)
{
    int error;
    do {
        struct weir_deadline turn = weir_deadline_min(deadline, weir_now_ns() + TURN_NS);
        error = weir__server_quiesce(storage->server, &turn);
    } while (error && weir_deadline_check(deadline) == 0 &&
             !(storage->is_hurried && storage->is_hurried(storage->arg)));
    return error;
}

int weir__storage_drain(struct weir__storage *storage, struct weir__storage_end *ret_end)
{
    struct weir__rules *rules = weir__storage_rules(storage);
    struct weir_deadline deadline = weir_deadline_in(rules->service->drain_ns, NULL);
    struct weir__event event = {.kind = WEIR__EVENT_STOP};
    struct weir__storage_end end = {.cut = 0};
    bool is_draining = true;
    weir__storage_rules_give(rules);
    (void)!weir_watch_set(&storage->shutdown, &is_draining);
    weir__storage_event(storage, &event);
    /* Who still waits is about to be cut: nothing more is begun for him. Otherwise what is in line
     * is of clients who went by themselves, and is done. */
    if (storage->is_started && quiesce(storage, &deadline))
        end.stopped = weir__errands_end(storage);
    int served = storage->is_started ? weir__server_end(storage->server) : 0;
    close_lines(storage);
    weir_cancel_fire(&storage->clock_stop);
    weir_bus_close(&storage->events);
    int ended = weir_crew_drain(storage->crew, NULL);
    (void)weir__errands_end(storage);
    empty_lines(storage);
    (void)!weir__quota_save(storage->quota);
    count(storage, &end);
    storage->is_stuck = served == -WEIR_E_BUSY || end.abandoned > 0;
    if (ret_end)
        *ret_end = end;
    return served || ended || end.dropped > 0 ? -WEIR_E_TIMEOUT : 0;
}
