/* drain.c - the end of the service: what is there is finished until the time is up, and what is not
 * is counted.
 *
 * Everything that was under way then is in one of the counts, or in two: a request that a worker is
 * at, or that waits in line, has a connection as well. Nobody can ask for them by HTTP any more, so
 * they are what the drain returns.
 */
#include <weir/error.h>

#include "daemon_part.h"

#include "banned.h"

#define TURN_NS (100 * WEIR_NS_PER_MS) /* between two looks for a second signal */

static void drop_job(void *arg, void *item)
{
    struct weir__errand *job = *(struct weir__errand **)item;
    (void)arg;
    if (job) /* a reload may be for a signal */
        weir__errand_drop(job);
}

static void close_lines(struct weir__daemon *daemon)
{
    size_t count = weir__daemon_lines_count(daemon->service);
    for (size_t i = 0; i < count; i++)
        weir_queue_close(&daemon->lines[i]);
    weir_queue_close(&daemon->health);
    weir_queue_drain(&daemon->reloads, drop_job, NULL);
    if (daemon->service->stop)
        daemon->service->stop(daemon);
}

/* Those that nobody was left for. */
static void empty_lines(struct weir__daemon *daemon)
{
    size_t count = weir__daemon_lines_count(daemon->service);
    for (size_t i = 0; i < count; i++)
        weir_queue_drain(&daemon->lines[i], drop_job, NULL);
    weir_queue_drain(&daemon->health, drop_job, NULL);
}

static void count_rest(struct weir__daemon *daemon, struct weir__daemon_end *end)
{
    struct weir_crew_report report;
    struct weir__server_stats stats;
    weir_crew_read(daemon->crew, &report);
    for (uint64_t i = 0; i < report.kind_count; i++) {
        end->aborted += report.kinds[i].aborted;
        end->abandoned += report.kinds[i].abandoned;
    }
    weir__server_read(daemon->server, &stats);
    end->cut = stats.cut;
    weir_lock_acquire(&daemon->jobs_lock);
    end->dropped = daemon->jobs_dropped;
    weir_lock_release(&daemon->jobs_lock);
}

/* A second signal means that nobody wants to wait for the rest. */
static int quiesce(struct weir__daemon *daemon, const struct weir_deadline *deadline)
{
    int error;
    do {
        struct weir_deadline turn = weir_deadline_min(deadline, weir_now_ns() + TURN_NS);
        error = weir__server_quiesce(daemon->server, &turn);
    } while (error && weir_deadline_check(deadline) == 0 &&
             !(daemon->is_hurried && daemon->is_hurried(daemon->arg)));
    return error;
}

/* The time is up, and nothing more is begun. Where the service can end what is under way, those who
 * wait for it are told so, and have a moment to hear it. True: something was ended like that. */
static bool cut_short(struct weir__daemon *daemon, struct weir__daemon_end *end)
{
    end->stopped = weir__errands_end(daemon);
    if (!daemon->service->cancel)
        return false;
    daemon->service->cancel(daemon);
    struct weir_deadline moment = weir_deadline_in(WEIR__DAEMON_LAST_WORD_NS, NULL);
    (void)!weir__server_quiesce(daemon->server, &moment);
    return end->stopped > 0;
}

int weir__daemon_drain(struct weir__daemon *daemon, struct weir__daemon_end *ret_end)
{
    struct weir__daemon_rules *rules = weir__daemon_rules(daemon);
    uint64_t drain_ns =
        daemon->service->drain_ns ? daemon->service->drain_ns(rules) : rules->service->drain_ns;
    struct weir_deadline deadline = weir_deadline_in(drain_ns, NULL);
    struct weir__daemon_event event = {.name = "stop"};
    struct weir__daemon_end end = {.cut = 0};
    bool is_draining = true, is_short = false;
    weir__daemon_rules_give(rules);
    (void)!weir_watch_set(&daemon->shutdown, &is_draining);
    weir__daemon_event(daemon, &event);
    /* Who still waits is about to be cut: nothing more is begun for him. Otherwise what is in line
     * is of clients who went by themselves, and is done. */
    if (daemon->is_started && quiesce(daemon, &deadline))
        is_short = cut_short(daemon, &end);
    int served = daemon->is_started ? weir__server_end(daemon->server) : 0;
    close_lines(daemon);
    weir_cancel_fire(&daemon->clock_stop);
    weir_bus_close(&daemon->events);
    int ended = weir_crew_drain(daemon->crew, NULL);
    (void)weir__errands_end(daemon);
    empty_lines(daemon);
    if (daemon->service->stopped)
        end.left = daemon->service->stopped(daemon);
    count_rest(daemon, &end);
    daemon->is_stuck = served == -WEIR_E_BUSY || end.abandoned > 0;
    if (ret_end)
        *ret_end = end;
    return served || ended || is_short || end.dropped > 0 ? -WEIR_E_TIMEOUT : 0;
}
