/* health.c - whether the service lives, whether it can serve, what it is, and its numbers.
 *
 * These routes go to a thread of their own, past capabilities, limits and lines, so that they
 * answer when nothing else does. Being alive is answering at all. Being ready is: not draining, the
 * index sound, the disk without errors, and somebody in each pool. A disk that is full, or cannot
 * be written, is told beside that, since everything can still be read; so is a folder that misses
 * something, since the rest can, and a pool that misses a member, until there is another one.
 */
#include <string.h>

#include <weir/error.h>

#include "storage_part.h"

#include "banned.h"

static void add_condition(struct weir__errand *job, const char *name, bool holds, int *error)
{
    if (!*error)
        *error = weir__buffer_printf(&job->bytes, ", \"%s\": %s", name, holds ? "true" : "false");
}

static int write_readiness(struct weir__errand *job, bool is_draining)
{
    struct weir__store_stats stats;
    struct weir__staff staff;
    weir__store_read(job->storage->store, &stats);
    weir__storage_staff(job->storage, &staff);
    bool is_ready =
        !is_draining && !stats.index_is_broken && !stats.is_failing && staff.has_all_kinds;
    int error = weir__buffer_printf(&job->bytes, "{\"ready\": %s", is_ready ? "true" : "false");
    add_condition(job, "accepting", !is_draining, &error);
    add_condition(job, "index", !stats.index_is_broken, &error);
    add_condition(job, "disk", !stats.is_failing, &error);
    add_condition(job, "room", !stats.is_full, &error);
    add_condition(job, "writable", !stats.is_read_only, &error);
    add_condition(job, "whole", stats.is_whole, &error);
    add_condition(job, "workers", staff.missing == 0, &error);
    if (!error)
        error = weir__buffer_puts(&job->bytes, "}\n");
    return error ? error : is_ready ? 0 : -WEIR_E_DRAINING;
}

static int write_metrics(void *arg, const char *bytes, size_t size)
{
    return weir__buffer_append(arg, bytes, size);
}

void weir__health_work(struct weir__errand *job, struct weir__worker *worker)
{
    struct weir__storage *storage = job->storage;
    struct weir_deadline deadline = weir_deadline_in(WEIR_NS_PER_S, worker->self->abort);
    bool is_draining = false;
    int result = 0;
    weir_watch_get(&storage->shutdown, &is_draining, NULL);
    weir__errand_end_reading(job);
    if (job->route == WEIR__ROUTE_HEALTH) {
        result = weir__buffer_puts(&job->bytes, "{\"alive\": true}\n");
    } else if (job->route == WEIR__ROUTE_READY) {
        result = write_readiness(job, is_draining);
    } else if (job->route == WEIR__ROUTE_VERSION) {
        result = weir__buffer_printf(
            &job->bytes, "{\"name\": \"weir storage\", \"version\": \"%s\"}\n", storage->version);
    } else {
        weir__numbers_sample(storage);
        result = weir_metrics_write(storage->metrics, write_metrics, &job->bytes, &deadline);
    }
    weir__errand_finish(job, result, NULL);
}

void weir__health_begin(struct weir__exchange *exchange, struct weir__ask *ask)
{
    struct weir__storage *storage = weir__exchange_arg(exchange);
    struct weir__errand *job = weir__errand_new(storage, exchange, weir__health_work);
    (void)ask;
    if (job)
        weir__errand_send(job, &storage->health);
}

void weir__health_resume(struct weir__exchange *exchange, struct weir__ask *ask)
{
    const struct weir__errand *job = ask->job;
    bool is_unready = ask->route == WEIR__ROUTE_READY && job->result == -WEIR_E_DRAINING;
    if (job->result && !is_unready) {
        weir__storage_refuse(exchange, job->result, NULL);
        return;
    }
    weir__reply_begin(exchange, is_unready ? 503 : 200);
    weir__reply_header(exchange, "Content-Type",
                       ask->route == WEIR__ROUTE_METRICS ? WEIR_METRICS_CONTENT_TYPE
                                                         : "application/json");
    weir__reply_header(exchange, "Cache-Control", "no-store");
    weir__reply_bytes(exchange, weir__buffer_text(&job->bytes), weir__buffer_length(&job->bytes),
                      NULL, NULL);
    weir__reply_send(exchange);
}
