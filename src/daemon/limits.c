/* limits.c - what the configuration means for the lines, the limits and the server. */
#include <weir/error.h>

#include "daemon_part.h"
#include "require.h"

#include "banned.h"

#define HEALTH_LINE 256u
#define URL_MOST    4096u
#define ADMIT_KEEP  (60 * WEIR_NS_PER_S)
#define COMPLAINTS  5u

size_t weir__daemon_lines_count(const struct weir__daemon_service *service)
{
    size_t count = 0;
    while (service->lines[count].name)
        count++;
    WEIR__REQUIRE(count <= WEIR__DAEMON_LINES_MAX, "service", service->name, "has too many lines");
    return count;
}

size_t weir__daemon_caps_count(const struct weir__daemon_service *service)
{
    size_t count = 0;
    while (service->caps && service->caps[count].name)
        count++;
    WEIR__REQUIRE(count <= WEIR__DAEMON_CAPS_MAX, "service", service->name, "has too many caps");
    return count;
}

struct weir_queue *weir__daemon_line(struct weir__daemon *daemon, unsigned number)
{
    return &daemon->lines[number];
}

/* --- lines --- */

static int make_queue(struct weir_queue *queue, const char *name, size_t size, uint64_t capacity)
{
    return weir_queue_init(queue, name, &(struct weir_queue_options){size, capacity});
}

int weir__daemon_make_lines(struct weir__daemon *daemon, const struct weir__daemon_rules *rules)
{
    const struct weir__daemon_line *lines = daemon->service->lines;
    const size_t pointer = sizeof(struct weir__errand *);
    size_t count = weir__daemon_lines_count(daemon->service);
    bool is_draining = false;
    int error = 0;
    for (size_t i = 0; !error && i < count; i++)
        error = make_queue(&daemon->lines[i], lines[i].name, pointer, lines[i].capacity(rules));
    if (!error)
        error = make_queue(&daemon->health, "health", pointer, HEALTH_LINE);
    if (!error)
        error = make_queue(&daemon->reloads, "reloads", pointer, WEIR__DAEMON_RELOADS);
    if (!error)
        error = weir_bus_init(&daemon->events, "events",
                              &(struct weir_bus_options){sizeof(struct weir__daemon_event),
                                                         rules->service->queues.events, 0});
    if (!error)
        error = weir_watch_init(&daemon->shutdown, "shutdown", sizeof(bool), &is_draining);
    return error;
}

/* --- limits --- */

static int make_caps(struct weir__daemon *daemon, const struct weir__daemon_rules *rules)
{
    const struct weir__daemon_cap *caps = daemon->service->caps;
    size_t count = weir__daemon_caps_count(daemon->service);
    int error = 0;
    for (size_t i = 0; !error && i < count; i++)
        error = weir_budget_init(&daemon->caps[i], caps[i].name, caps[i].count(rules));
    return error;
}

int weir__daemon_make_limits(struct weir__daemon *daemon, const struct weir__daemon_rules *rules)
{
    const struct weir__service_config *service = rules->service;
    uint64_t rps = service->server.max_rps ? service->server.max_rps : 1;
    int error = weir_budget_init(&daemon->inflight, "inflight", service->server.max_inflight);
    if (!error)
        error = weir_budget_init(&daemon->scrapes, "scrapes", WEIR__DAEMON_SCRAPES);
    if (!error)
        error = weir_rate_init(&daemon->rps, "requests", &(struct weir_rate_options){.per_s = rps});
    if (!error)
        error = weir_rate_init(&daemon->complaints, "complaints",
                               &(struct weir_rate_options){.per_s = 1, .burst = COMPLAINTS});
    if (!error)
        error = weir_admit_init(
            &daemon->per_address, "addresses",
            &(struct weir_admit_options){
                .cap = UINT32_MAX,
                .per_s = service->ratelimit.rps_per_ip,
                .burst = service->ratelimit.rps_per_ip ? service->ratelimit.burst_per_ip : 0,
                .keys_max = (uint32_t)service->ratelimit.table,
                .keep_ns = ADMIT_KEEP});
    return error ? error : make_caps(daemon, rules);
}

void weir__daemon_fill_limits(const struct weir__daemon *daemon,
                              const struct weir__daemon_rules *rules,
                              struct weir__server_limits *limits)
{
    const struct weir__service_config *service = rules->service;
    *limits = (struct weir__server_limits){
        .read_ns = service->read_ns,
        .write_ns = service->write_ns,
        .idle_ns = service->idle_ns,
        .rate_min = service->server.min_rate ? service->server.min_rate : WEIR__SERVER_NO_RATE,
        .body_max = service->server.body_max,
        .body_memory = service->server.body_memory,
        .head_max = (uint32_t)service->server.head_max,
        .url_max = URL_MOST,
        .connections_max = (uint32_t)daemon->shares.connections,
        .per_address_max = (uint32_t)service->server.conns_per_ip,
    };
    if (limits->head_max > WEIR__SERVER_HEAD_MOST)
        limits->head_max = WEIR__SERVER_HEAD_MOST;
    if (limits->head_max < URL_MOST)
        limits->url_max = limits->head_max; /* which it is a part of */
    if (daemon->service->fill_limits)
        daemon->service->fill_limits(rules, limits);
}

static int update_caps(struct weir__daemon *daemon, const struct weir__daemon_rules *rules)
{
    size_t count = weir__daemon_caps_count(daemon->service);
    int error = 0;
    for (size_t i = 0; !error && i < count; i++)
        error = weir_budget_resize(&daemon->caps[i], daemon->service->caps[i].count(rules));
    return error;
}

int weir__daemon_update_limits(struct weir__daemon *daemon, const struct weir__daemon_rules *rules,
                               char why[WEIR__DAEMON_WHY_MAX])
{
    const struct weir__service_config *service = rules->service;
    uint64_t rate = service->ratelimit.rps_per_ip;
    struct weir__server_limits limits;
    weir__daemon_fill_limits(daemon, rules, &limits);
    int error = weir__server_update(daemon->server, &limits);
    if (!error && daemon->service->update)
        error = daemon->service->update(daemon, rules);
    if (!error)
        error = weir_budget_resize(&daemon->inflight, service->server.max_inflight);
    if (!error)
        error = update_caps(daemon, rules);
    if (!error && service->server.max_rps)
        error = weir_rate_set(&daemon->rps, service->server.max_rps, 0);
    if (!error)
        error = weir_admit_set(&daemon->per_address, UINT32_MAX, rate,
                               rate ? service->ratelimit.burst_per_ip : 0);
    return error ? weir__daemon_fail(why, error, "%s: %s", weir_error_text(error),
                                     weir_error_detail())
                 : 0;
}

void weir__daemon_fini_limits(struct weir__daemon *daemon)
{
    weir_admit_fini(&daemon->per_address);
    weir_rate_fini(&daemon->complaints);
    weir_rate_fini(&daemon->rps);
    weir_budget_fini(&daemon->scrapes);
    for (size_t i = 0; i < WEIR__DAEMON_CAPS_MAX; i++)
        weir_budget_fini(&daemon->caps[i]);
    weir_budget_fini(&daemon->inflight);
    weir_bus_unsubscribe(&daemon->audit);
    weir_bus_fini(&daemon->events);
    weir_queue_fini(&daemon->reloads);
    weir_queue_fini(&daemon->health);
    for (size_t i = 0; i < WEIR__DAEMON_LINES_MAX; i++)
        weir_queue_fini(&daemon->lines[i]);
    weir_watch_fini(&daemon->shutdown);
}
