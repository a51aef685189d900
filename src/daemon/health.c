/* health.c - whether the service lives, whether it can serve, what it is, and its numbers.
 *
 * These routes go past capabilities, limits and lines, so that they answer when nothing else does.
 * Being alive is answering at all: that, and what it is, the loop says by itself. The others go to
 * a thread of their own; of the numbers, which take by far the longest, few at once, so that who
 * asks for them again and again fills no line. Being ready is: not draining, what the service holds
 * for vital, and somebody at each post. The rest is told beside that; so is a post that misses a
 * member, until there is another one.
 */
#include <stdio.h>
#include <string.h>

#include <weir/error.h>

#include "daemon_part.h"
#include "require.h"

#include "banned.h"

#define VERSION_SIZE   192
#define CONDITIONS_MAX 32u

static void add_condition(struct weir__errand *job, const char *name, bool holds, int *error)
{
    if (!*error)
        *error = weir__buffer_printf(&job->bytes, ", \"%s\": %s", name, holds ? "true" : "false");
}

static int write_readiness(struct weir__errand *job, bool is_draining)
{
    struct weir__daemon *daemon = job->daemon;
    const struct weir__daemon_condition *conditions = daemon->service->conditions;
    bool holds[CONDITIONS_MAX] = {false};
    struct weir__daemon_roll roll;
    size_t count = 0;
    daemon->service->judge(daemon, holds);
    weir__daemon_call_roll(daemon, &roll);
    bool is_ready = !is_draining && roll.has_all_kinds;
    for (; conditions[count].name; count++) {
        WEIR__REQUIRE(count < CONDITIONS_MAX, "condition", conditions[count].name, "is too many");
        is_ready = is_ready && (holds[count] || !conditions[count].is_vital);
    }
    int error = weir__buffer_printf(&job->bytes, "{\"ready\": %s", is_ready ? "true" : "false");
    add_condition(job, "accepting", !is_draining, &error);
    for (size_t i = 0; i < count; i++)
        add_condition(job, conditions[i].name, holds[i], &error);
    add_condition(job, "workers", roll.missing == 0, &error);
    if (!error)
        error = weir__buffer_puts(&job->bytes, "}\n");
    return error ? error : is_ready ? 0 : -WEIR_E_DRAINING;
}

static int write_metrics(void *arg, const char *bytes, size_t size)
{
    return weir__buffer_append(arg, bytes, size);
}

static void work(struct weir__errand *job, struct weir__worker *worker)
{
    struct weir__daemon *daemon = job->daemon;
    struct weir_deadline deadline = weir_deadline_in(WEIR_NS_PER_S, worker->self->abort);
    bool is_draining = false;
    int result = 0;
    weir_watch_get(&daemon->shutdown, &is_draining, NULL);
    weir__errand_end_reading(job);
    if (job->way->number == WEIR__ROUTE_READY) {
        result = write_readiness(job, is_draining);
    } else {
        weir__daemon_numbers_sample(daemon);
        result = weir_metrics_write(daemon->metrics, write_metrics, &job->bytes, &deadline);
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

void weir__daemon_health_begin(struct weir__exchange *exchange, struct weir__daemon_ask *ask)
{
    struct weir__daemon *daemon = weir__exchange_arg(exchange);
    struct weir_permit turn = WEIR_PERMIT_NONE;
    if (ask->way->number == WEIR__ROUTE_HEALTH) {
        answer_now(exchange, "{\"alive\": true}\n");
        return;
    }
    if (ask->way->number == WEIR__ROUTE_VERSION) {
        char text[VERSION_SIZE];
        snprintf(text, sizeof(text), "{\"name\": \"weir %.31s\", \"version\": \"%.100s\"}\n",
                 daemon->service->name, daemon->version);
        answer_now(exchange, text);
        return;
    }
    int error =
        ask->way->number == WEIR__ROUTE_METRICS ? weir_budget_try(&daemon->scrapes, 1, &turn) : 0;
    if (error) {
        weir__daemon_refuse(exchange, error, NULL);
        return;
    }
    struct weir__errand *job = weir__errand_new(exchange, work);
    if (!job) {
        weir_permit_release(&turn);
        return;
    }
    weir_permit_move(&job->turn, &turn);
    weir__errand_send(job, &daemon->health);
}

void weir__daemon_health_resume(struct weir__exchange *exchange, struct weir__daemon_ask *ask)
{
    const struct weir__errand *job = ask->job;
    bool is_unready = ask->way->number == WEIR__ROUTE_READY && job->result == -WEIR_E_DRAINING;
    if (job->result && !is_unready) {
        weir__daemon_refuse(exchange, job->result, NULL);
        return;
    }
    begin_answer(exchange, is_unready ? 503 : 200,
                 ask->way->number == WEIR__ROUTE_METRICS ? WEIR_METRICS_CONTENT_TYPE
                                                         : "application/json");
    if (is_unready)
        weir__reply_header(exchange, "Retry-After", "1");
    weir__reply_bytes(exchange, weir__buffer_text(&job->bytes), weir__buffer_length(&job->bytes),
                      NULL, NULL);
    weir__reply_send(exchange);
}
