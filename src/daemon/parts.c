/* parts.c - what a daemon is made of, named once: its metrics and its tables are made from this. */
#include <weir/error.h>

#include "daemon_part.h"
#include "require.h"

#include "banned.h"

static void add(struct weir__daemon_parts *parts, enum weir__daemon_part_kind kind, void *object)
{
    WEIR__REQUIRE(parts->count < WEIR__DAEMON_PARTS_MAX, "daemon", "parts", "there are too many");
    parts->items[parts->count++] = (struct weir__daemon_part){kind, object};
}

void weir__daemon_part_queue(struct weir__daemon_parts *parts, struct weir_queue *queue)
{
    add(parts, WEIR__PART_QUEUE, queue);
}

void weir__daemon_part_bus(struct weir__daemon_parts *parts, struct weir_bus *bus)
{
    add(parts, WEIR__PART_BUS, bus);
}

void weir__daemon_part_watch(struct weir__daemon_parts *parts, struct weir_watch *watch)
{
    add(parts, WEIR__PART_WATCH, watch);
}

void weir__daemon_part_budget(struct weir__daemon_parts *parts, struct weir_budget *budget)
{
    add(parts, WEIR__PART_BUDGET, budget);
}

void weir__daemon_part_rate(struct weir__daemon_parts *parts, struct weir_rate *rate)
{
    add(parts, WEIR__PART_RATE, rate);
}

void weir__daemon_part_admit(struct weir__daemon_parts *parts, struct weir_admit *admit)
{
    add(parts, WEIR__PART_ADMIT, admit);
}

void weir__daemon_part_breaker(struct weir__daemon_parts *parts, struct weir_breaker *breaker)
{
    add(parts, WEIR__PART_BREAKER, breaker);
}

void weir__daemon_part_hedge(struct weir__daemon_parts *parts, struct weir_hedge *hedge)
{
    add(parts, WEIR__PART_HEDGE, hedge);
}

void weir__daemon_part_crew(struct weir__daemon_parts *parts, struct weir_crew *crew)
{
    add(parts, WEIR__PART_CREW, crew);
}

/* --- all of them --- */

static void list_server(struct weir__daemon *daemon, struct weir__daemon_parts *parts)
{
    struct weir__server_parts server;
    weir__server_parts(daemon->server, &server);
    weir__daemon_part_admit(parts, server.addresses);
    weir__daemon_part_admit(parts, server.refused);
    weir__daemon_part_budget(parts, server.bodies);
    weir__daemon_part_watch(parts, server.limits);
    weir__daemon_part_watch(parts, server.phase);
    weir__daemon_part_watch(parts, server.progress);
}

void weir__daemon_list_parts(struct weir__daemon *daemon, struct weir__daemon_parts *ret_parts)
{
    const struct weir__daemon_service *service = daemon->service;
    struct weir__daemon_parts *parts = ret_parts;
    size_t lines = weir__daemon_lines_count(service), caps = weir__daemon_caps_count(service);
    parts->count = 0;
    for (size_t i = 0; i < lines; i++)
        weir__daemon_part_queue(parts, &daemon->lines[i]);
    weir__daemon_part_queue(parts, &daemon->health);
    weir__daemon_part_queue(parts, &daemon->reloads);
    weir__daemon_part_bus(parts, &daemon->events);
    weir__daemon_part_watch(parts, &daemon->config);
    weir__daemon_part_watch(parts, &daemon->shutdown);
    weir__daemon_part_budget(parts, &daemon->inflight);
    for (size_t i = 0; i < caps; i++)
        weir__daemon_part_budget(parts, &daemon->caps[i]);
    weir__daemon_part_budget(parts, &daemon->scrapes);
    weir__daemon_part_rate(parts, &daemon->rps);
    weir__daemon_part_rate(parts, &daemon->complaints);
    weir__daemon_part_admit(parts, &daemon->per_address);
    weir__daemon_part_crew(parts, daemon->crew);
    if (service->list_parts)
        service->list_parts(daemon, parts);
    list_server(daemon, parts);
}

static int add_part(struct weir_metrics *metrics, const struct weir__daemon_part *part)
{
    switch (part->kind) {
    case WEIR__PART_QUEUE:
        return weir_metrics_add_queue(metrics, part->object);
    case WEIR__PART_BUS:
        return weir_metrics_add_bus(metrics, part->object);
    case WEIR__PART_WATCH:
        return weir_metrics_add_watch(metrics, part->object);
    case WEIR__PART_BUDGET:
        return weir_metrics_add_budget(metrics, part->object);
    case WEIR__PART_RATE:
        return weir_metrics_add_rate(metrics, part->object);
    case WEIR__PART_ADMIT:
        return weir_metrics_add_admit(metrics, part->object);
    case WEIR__PART_BREAKER:
        return weir_metrics_add_breaker(metrics, part->object);
    case WEIR__PART_HEDGE:
        return weir_metrics_add_hedge(metrics, part->object);
    case WEIR__PART_CREW:
        return weir_metrics_add_crew(metrics, part->object);
    }
    return -WEIR_E_INTERNAL;
}

int weir__daemon_add_parts(struct weir__daemon *daemon)
{
    struct weir__daemon_parts parts;
    int error = 0;
    weir__daemon_list_parts(daemon, &parts);
    for (size_t i = 0; !error && i < parts.count; i++)
        /* Without a limit it has a pace all the same, which would be told as one. */
        if (parts.items[i].object != &daemon->rps)
            error = add_part(daemon->metrics, &parts.items[i]);
    return error;
}
