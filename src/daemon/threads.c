/* threads.c - the members of a service's crew: who is to be there, and what those of pools do.
 *
 * A pool works off a line: take a job, do it, take the next, until the line is closed and empty.
 *
 * What ends is what returns: threads are not killed, and a fault in one is the end of the process.
 * A member returns when its line is closed, and in the middle of a job when it is aborted (or a
 * test says so). Then it leaves the job as it is, and gives it up here: its client is told, or its
 * answer cut, and nothing stays held. The supervisor starts another one in its place.
 */
#include <string.h>

#include <weir/error.h>
#include <weir/fault.h>

#include "alloc.h"
#include "daemon_part.h"
#include "require.h"

#include "banned.h"

#define TEND_NS (1 * WEIR_NS_PER_S) /* between two replacements */

bool weir__worker_must_end(struct weir__worker *worker)
{
    worker->must_end = worker->must_end || weir_fault_hit(WEIR_FAULT_MEMBER) ||
                       weir_cancel_is_fired(worker->self->abort);
    return worker->must_end;
}

/* A job that it leaves in the middle is not anybody's but ours. */
static void work_on(struct weir__worker *worker, struct weir__errand *job)
{
    if (!weir__errand_begin(job)) {
        weir__errand_drop(job);
        return;
    }
    if (!weir__worker_must_end(worker))
        job->work(job, worker);
    if (worker->must_end)
        weir__errand_give_up(job);
}

static int work_off(struct weir__worker *worker, struct weir_queue *line)
{
    struct weir_deadline until_abort = weir_deadline_until(worker->self->abort);
    struct weir__errand *job;
    int error = 0;
    while (!worker->must_end && (error = weir_queue_recv(line, &job, &until_abort)) == 0)
        work_on(worker, job);
    return error == -WEIR_E_CANCELED ? error : 0;
}

static int pool_main(struct weir_crew_self *self, void *arg)
{
    const struct weir__daemon_staff *staff = arg;
    const struct weir__daemon_service *service = staff->daemon->service;
    struct weir__worker worker = {.daemon = staff->daemon, .self = self};
    if (service->tools_size && !(worker.tools = weir__base_alloc(1, service->tools_size)))
        return -WEIR_E_NO_MEMORY;
    int error = service->init_tools ? service->init_tools(&worker) : 0;
    if (!error) {
        error = work_off(&worker, &staff->daemon->lines[staff->post->line]);
        if (service->fini_tools)
            service->fini_tools(&worker);
    }
    weir__base_free(worker.tools);
    return error;
}

int weir__daemon_health_main(struct weir_crew_self *self, void *arg)
{
    struct weir__daemon *daemon = arg;
    struct weir__worker worker = {.daemon = daemon, .self = self};
    return work_off(&worker, &daemon->health);
}

/* Looks at the deadlines of all jobs. It goes on while others drain. */
int weir__daemon_clock_main(struct weir_crew_self *self, void *arg)
{
    struct weir__daemon *daemon = arg;
    while (!weir_cancel_is_fired(&daemon->clock_stop)) {
        struct weir_deadline tick = weir_deadline_in(WEIR__DAEMON_TICK_NS, self->abort);
        if (weir_deadline_sleep(&tick) == -WEIR_E_CANCELED)
            break;
        weir__errands_tick(daemon, weir_now_ns());
    }
    return 0;
}

/* --- who is to be there --- */

static int start_one(struct weir__daemon_staff *staff)
{
    const struct weir__daemon_post *post = staff->post;
    struct weir__daemon *daemon = staff->daemon;
    if (post->main)
        return weir_crew_start(daemon->crew, post->kind, post->main, daemon);
    return weir_crew_start(daemon->crew, post->kind, pool_main, staff);
}

static int start_post(struct weir__daemon *daemon, const struct weir__daemon_post *post,
                      uint64_t count)
{
    WEIR__REQUIRE(daemon->posts_count < WEIR__DAEMON_POSTS_MAX, "service", daemon->service->name,
                  "has too many posts");
    struct weir__daemon_staff *staff = &daemon->posts[daemon->posts_count++];
    *staff = (struct weir__daemon_staff){daemon, post, count};
    int error = 0;
    if (post->main == weir__daemon_audit_main)
        error = weir_bus_subscribe(&daemon->events, &daemon->audit, "audit");
    for (uint64_t i = 0; !error && i < count; i++)
        error = start_one(staff);
    return error;
}

int weir__daemon_start_threads(struct weir__daemon *daemon, const struct weir__daemon_rules *rules)
{
    int error = 0;
    for (const struct weir__daemon_post *post = daemon->service->posts; !error && post->kind;
         post++) {
        uint64_t count = post->count ? post->count(rules) : 1;
        if (count > 0)
            error = start_post(daemon, post, count);
    }
    return error;
}

/* How many of a kind are there. */
static uint64_t alive(const struct weir_crew_report *report, const char *kind)
{
    for (uint64_t i = 0; i < report->kind_count; i++) {
        const struct weir_crew_kind *counts = &report->kinds[i];
        if (strcmp(counts->name, kind) == 0)
            return counts->spawned - counts->ended - counts->abandoned - counts->unstarted;
    }
    return 0;
}

void weir__daemon_call_roll(struct weir__daemon *daemon, struct weir__daemon_roll *ret_roll)
{
    struct weir_crew_report report;
    struct weir__daemon_roll roll = {.has_all_kinds = true};
    weir_crew_read(daemon->crew, &report);
    for (size_t i = 0; i < daemon->posts_count; i++) {
        const struct weir__daemon_staff *staff = &daemon->posts[i];
        uint64_t there = alive(&report, staff->post->kind);
        roll.missing += there < staff->count ? staff->count - there : 0;
        roll.has_all_kinds = roll.has_all_kinds && there > 0;
    }
    *ret_roll = roll;
}

void weir__daemon_tend(struct weir__daemon *daemon)
{
    struct weir_crew_report report;
    uint64_t now_ns = weir_now_ns();
    /* What ends at once, again and again, is not to keep us busy. */
    if (now_ns < daemon->tend_ns)
        return;
    weir_crew_read(daemon->crew, &report);
    for (size_t i = 0; i < daemon->posts_count; i++) {
        struct weir__daemon_staff *staff = &daemon->posts[i];
        for (uint64_t there = alive(&report, staff->post->kind); there < staff->count; there++) {
            daemon->tend_ns = now_ns + TEND_NS;
            if (start_one(staff))
                return;
            weir_counter_add(&daemon->counts.replaced, 1);
        }
    }
}
