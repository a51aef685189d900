/* threads.c - the members of the service's crew, and what each does.
 *
 * Readers, writers, streams and health are pools over a line each: take a job, do it, take the
 * next, until the line is closed and empty.
 *
 * What ends is what returns: threads are not killed, and a fault in one is the end of the process.
 * A member returns when its line is closed, and in the middle of a job when it is aborted (or a
 * test says so). Then it leaves the job as it is, and gives it up here: its client is told, or its
 * answer cut, and nothing stays held. The supervisor starts another one in its place.
 */
#include <string.h>

#include <weir/error.h>
#include <weir/fault.h>

#include "resources.h"
#include "storage_part.h"

#include "banned.h"

#define READERS_LEAST 4u
#define WRITERS_LEAST 2u
#define STREAMS       2u
#define TEND_NS       (1 * WEIR_NS_PER_S) /* between two replacements */

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

static int work_off(struct weir_crew_self *self, struct weir__storage *storage,
                    struct weir_queue *line)
{
    struct weir__worker worker = {.storage = storage, .self = self};
    struct weir_deadline until_abort = weir_deadline_until(self->abort);
    struct weir__errand *job;
    int error = weir__store_reader_init(&worker.reader);
    if (error)
        return error;
    weir__decoder_init(&worker.decoder);
    while (!worker.must_end && (error = weir_queue_recv(line, &job, &until_abort)) == 0)
        work_on(&worker, job);
    weir__decoder_fini(&worker.decoder);
    weir__store_reader_fini(&worker.reader);
    return error == -WEIR_E_CANCELED ? error : 0;
}

static int read_main(struct weir_crew_self *self, void *arg)
{
    struct weir__storage *storage = arg;
    return work_off(self, storage, &storage->reads);
}

static int write_main(struct weir_crew_self *self, void *arg)
{
    struct weir__storage *storage = arg;
    return work_off(self, storage, &storage->writes);
}

static int stream_main(struct weir_crew_self *self, void *arg)
{
    struct weir__storage *storage = arg;
    return work_off(self, storage, &storage->streams);
}

static int health_main(struct weir_crew_self *self, void *arg)
{
    struct weir__storage *storage = arg;
    return work_off(self, storage, &storage->health);
}

/* Looks at the deadlines of all jobs. It goes on while others drain. */
static int clock_main(struct weir_crew_self *self, void *arg)
{
    struct weir__storage *storage = arg;
    while (!weir_cancel_is_fired(&storage->clock_stop)) {
        struct weir_deadline tick = weir_deadline_in(WEIR__STORAGE_TICK_NS, self->abort);
        if (weir_deadline_sleep(&tick) == -WEIR_E_CANCELED)
            break;
        weir__errands_tick(storage, weir_now_ns());
    }
    return 0;
}

/* Writes down what was stored by whom, once a second when that has changed. Not the clock's work:
 * that must not wait for a disk. An error is tried again; the last time is at the drain. */
static int quota_main(struct weir_crew_self *self, void *arg)
{
    struct weir__storage *storage = arg;
    struct weir_deadline turn;
    do {
        (void)!weir__quota_save(storage->quota);
        turn = weir_deadline_in(WEIR__STORAGE_QUOTA_NS, self->stop);
    } while (weir_deadline_sleep(&turn) != -WEIR_E_CANCELED);
    return 0;
}

/* --- who is to be there --- */

static int start_one(struct weir__storage *storage, const struct weir__post *post)
{
    return weir_crew_start(storage->crew, post->kind, post->main, storage);
}

static int start_many(struct weir__storage *storage, const char *kind, uint64_t count,
                      int (*fn)(struct weir_crew_self *self, void *arg))
{
    struct weir__post *post = &storage->posts[storage->posts_count++];
    *post = (struct weir__post){kind, count, fn};
    int error = 0;
    for (uint64_t i = 0; !error && i < count; i++)
        error = start_one(storage, post);
    return error;
}

static uint64_t chosen(uint64_t asked, uint64_t otherwise)
{
    return asked ? asked : otherwise;
}

int weir__storage_start_threads(struct weir__storage *storage, const struct weir__rules *rules)
{
    uint64_t cores = weir__resources_cores();
    uint64_t readers = 2 * cores > READERS_LEAST ? 2 * cores : READERS_LEAST;
    uint64_t writers = cores > WRITERS_LEAST ? cores : WRITERS_LEAST;
    int error =
        start_many(storage, "get", chosen(rules->service->server.get_workers, readers), read_main);
    if (!error)
        error = start_many(storage, "put", chosen(rules->service->server.put_workers, writers),
                           write_main);
    if (!error)
        error = start_many(storage, "stream", STREAMS, stream_main);
    if (!error)
        error = start_many(storage, "health", 1, health_main);
    if (!error)
        error = start_many(storage, "clock", 1, clock_main);
    if (!error)
        error = start_many(storage, "quota", 1, quota_main);
    if (!error)
        error = start_many(storage, "repair", WEIR__STORAGE_REPAIRERS, weir__repair_main);
    if (!error)
        error = start_many(storage, "reload", 1, weir__reload_main);
    if (!error && rules->service->audit.is_enabled)
        error = weir_bus_subscribe(&storage->events, &storage->audit, "audit");
    if (!error && rules->service->audit.is_enabled)
        error = start_many(storage, "audit", 1, weir__audit_main);
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

void weir__storage_staff(struct weir__storage *storage, struct weir__staff *ret_staff)
{
    struct weir_crew_report report;
    struct weir__staff staff = {.has_all_kinds = true};
    weir_crew_read(storage->crew, &report);
    for (size_t i = 0; i < storage->posts_count; i++) {
        const struct weir__post *post = &storage->posts[i];
        uint64_t there = alive(&report, post->kind);
        staff.missing += there < post->count ? post->count - there : 0;
        staff.has_all_kinds = staff.has_all_kinds && there > 0;
    }
    *ret_staff = staff;
}

void weir__storage_tend(struct weir__storage *storage)
{
    struct weir_crew_report report;
    uint64_t now_ns = weir_now_ns();
    /* What ends at once, again and again, is not to keep us busy. */
    if (now_ns < storage->tend_ns)
        return;
    weir_crew_read(storage->crew, &report);
    for (size_t i = 0; i < storage->posts_count; i++) {
        const struct weir__post *post = &storage->posts[i];
        for (uint64_t there = alive(&report, post->kind); there < post->count; there++) {
            storage->tend_ns = now_ns + TEND_NS;
            if (start_one(storage, post))
                return;
            weir_counter_add(&storage->counts.replaced, 1);
        }
    }
}
