/* health.c - whether the service lives, whether it can serve, what it is, and its numbers.
 *
 * These routes go past capabilities, limits and lines, so that they answer when nothing else does.
 * Being alive is answering at all: that, and what it is, the loop says by itself. The others go to
 * a thread of their own; of the numbers, which take by far the longest, few at once, so that who
 * asks for them again and again fills no line. Being ready is: not draining, the index sound, the
 * disk without errors and not silent, and somebody in each pool. A disk that is full, or cannot be
 * written, is told beside that, since everything can still be read; so is a folder that misses
 * something, since the rest can, and a pool that misses a member, until there is another one.
 */
#include <stdio.h>
#include <string.h>

#include <weir/error.h>

#include "storage_part.h"

#include "banned.h"

#define VERSION_SIZE 160

static void add_condition(struct weir__errand *job, const char *name, bool holds, int *error)
{
    if (!*error)
        *error = weir__buffer_printf(&job->bytes, ", \"%s\": %s", name, holds ? "true" : "false");
}

bool weir__health_of_disk(const struct weir__store_stats *stats)
{
    return !stats->is_failing && stats->at_disk_ns < WEIR__STORAGE_HANGS_NS;
}

bool weir__storage_disk_hangs(struct weir__storage *storage)
{
    return weir__store_at_disk_ns(storage->store) >= WEIR__STORAGE_HANGS_NS;
}

static int write_readiness(struct weir__errand *job, bool is_draining)
{
    struct weir__store_stats stats;
    struct weir__staff staff;
    weir__store_read(job->storage->store, &stats);
    weir__storage_staff(job->storage, &staff);
    bool has_disk = weir__health_of_disk(&stats);
    bool is_ready = !is_draining && !stats.index_is_broken && has_disk && staff.has_all_kinds;
    int error = weir__buffer_printf(&job->bytes, "{\"ready\": %s", is_ready ? "true" : "false");
    add_condition(job, "accepting", !is_draining, &error);
    add_condition(job, "index", !stats.index_is_broken, &error);
    add_condition(job, "disk", has_disk, &error);
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
    if (job->route == WEIR__ROUTE_READY) {
        result = write_readiness(job, is_draining);
    } else {
        weir__numbers_sample(storage);
        result = weir_metrics_write(storage->metrics, write_metrics, &job->bytes, &deadline);
        weir_permit_release(&job->turn);
    }
    weir__errand_finish(job, result, NULL);
}

static void begin_answer(struct weir__exchange *exchange, unsigned status, const char *type)
{
    weir__reply_begin(exchange, status);
    weir__reply_header(exchange, "Content-Type", type);
    weir__reply_header(exchange, "Cache-Control", "no-store");
}

/* By the loop itself. */
static void answer_now(struct weir__exchange *exchange, const char *text)
{
    begin_answer(exchange, 200, "application/json");
    weir__reply_copy(exchange, text, strlen(text));
    weir__reply_send(exchange);
}

void weir__health_begin(struct weir__exchange *exchange, struct weir__ask *ask)
{
    struct weir__storage *storage = weir__exchange_arg(exchange);
    struct weir_permit turn = WEIR_PERMIT_NONE;
    if (ask->route == WEIR__ROUTE_HEALTH) {
        answer_now(exchange, "{\"alive\": true}\n");
        return;
    }
    if (ask->route == WEIR__ROUTE_VERSION) {
        char text[VERSION_SIZE];
        snprintf(text, sizeof(text), "{\"name\": \"weir storage\", \"version\": \"%.100s\"}\n",
                 storage->version);
        answer_now(exchange, text);
        return;
    }
    int error =
        ask->route == WEIR__ROUTE_METRICS ? weir_budget_try(&storage->scrapes, 1, &turn) : 0;
    if (error) {
        weir__storage_refuse(exchange, error, NULL);
        return;
    }
    struct weir__errand *job = weir__errand_new(storage, exchange, weir__health_work);
    if (!job) {
        weir_permit_release(&turn);
        return;
    }
    weir_permit_move(&job->turn, &turn);
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
    begin_answer(exchange, is_unready ? 503 : 200,
                 ask->route == WEIR__ROUTE_METRICS ? WEIR_METRICS_CONTENT_TYPE
                                                   : "application/json");
    if (is_unready)
        weir__reply_header(exchange, "Retry-After", "1");
    weir__reply_bytes(exchange, weir__buffer_text(&job->bytes), weir__buffer_length(&job->bytes),
                      NULL, NULL);
    weir__reply_send(exchange);
}
