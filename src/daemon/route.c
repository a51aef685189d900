/* route.c - a request finds its way: by path and method, then through the checks, then to the code
 * of its service.
 */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include <weir/error.h>

#include "daemon_part.h"

#include "banned.h"

#define READS_TEXT "GET, HEAD, OPTIONS"

/* What every service has. */
static const struct weir__daemon_route own_routes[] = {
    {.path = "/healthz",
     .number = WEIR__ROUTE_HEALTH,
     .methods = WEIR__DAEMON_READS,
     .allow = READS_TEXT,
     .manner = WEIR__DAEMON_HEALTH},
    {.path = "/readyz",
     .number = WEIR__ROUTE_READY,
     .methods = WEIR__DAEMON_READS,
     .allow = READS_TEXT,
     .manner = WEIR__DAEMON_HEALTH},
    {.path = "/version",
     .number = WEIR__ROUTE_VERSION,
     .methods = WEIR__DAEMON_READS,
     .allow = READS_TEXT,
     .manner = WEIR__DAEMON_HEALTH},
    {.path = "/metrics",
     .number = WEIR__ROUTE_METRICS,
     .methods = WEIR__DAEMON_READS,
     .allow = READS_TEXT,
     .manner = WEIR__DAEMON_PUBLIC},
    {.path = "/admin/reload",
     .number = WEIR__ROUTE_RELOAD,
     .methods = WEIR__DAEMON_METHOD(POST),
     .allow = "POST, OPTIONS",
     .scopes = WEIR__DAEMON_SCOPES_ALL(WEIR__SCOPE_ADMIN),
     .manner = WEIR__DAEMON_ADMITTED},
    {.path = NULL},
};

static struct weir__daemon *daemon_of(const struct weir__exchange *exchange)
{
    return weir__exchange_arg(exchange);
}

/* --- finding the way --- */

static const struct weir__daemon_route *find_in(const struct weir__daemon_route *routes,
                                                const char *path)
{
    for (; routes->path; routes++) {
        size_t length = strlen(routes->path);
        if (routes->is_prefix ? strncmp(path, routes->path, length) == 0
                              : strcmp(path, routes->path) == 0)
            return routes;
    }
    return NULL;
}

static const struct weir__daemon_route *find_way(const struct weir__exchange *exchange)
{
    const char *path = weir__exchange_path(exchange);
    const struct weir__daemon_route *way = find_in(daemon_of(exchange)->service->routes, path);
    return way ? way : find_in(own_routes, path);
}

static bool is_own(const struct weir__daemon_route *way)
{
    return way->number >= WEIR__DAEMON_ROUTES;
}

/* X-Deadline-Ms: how long the client waits. */
static bool set_deadline(struct weir__exchange *exchange, const struct weir__daemon_rules *rules)
{
    const struct weir__daemon_service *service = daemon_of(exchange)->service;
    const char *text = weir__exchange_header(exchange, "X-Deadline-Ms");
    uint64_t arrived = weir__exchange_arrived_ns(exchange), ms = 0;
    if (!text) {
        weir__exchange_set_deadline(exchange, weir_time_add(arrived, service->deadline_ns(rules)));
        return true;
    }
    for (const char *at = text; *at && ms <= service->deadline_most_ms; at++) {
        if (*at < '0' || *at > '9')
            return false;
        ms = 10 * ms + (uint64_t)(*at - '0');
    }
    if (ms == 0 || ms > service->deadline_most_ms)
        return false;
    weir__exchange_set_deadline(exchange, weir_time_add(arrived, ms * WEIR_NS_PER_MS));
    weir__exchange_set_end(exchange, weir_time_add(arrived, ms * WEIR_NS_PER_MS));
    return true;
}

uint64_t weir__daemon_deadline_ns(struct weir__daemon *daemon)
{
    struct weir__daemon_rules *rules = weir__daemon_rules(daemon);
    uint64_t ns = daemon->service->deadline_ns(rules);
    weir__daemon_rules_give(rules);
    return ns;
}

/* What may be done there; a browser asks before a page of another origin may. */
static void answer_options(struct weir__exchange *exchange, const struct weir__daemon_route *way,
                           const struct weir__daemon_rules *rules)
{
    if (!weir__daemon_allows_question(daemon_of(exchange), exchange, rules))
        return;
    weir__daemon_answer_begin(exchange, 204);
    weir__reply_header(exchange, "Allow", way->allow);
    if (weir__exchange_header(exchange, "Origin")) {
        weir__reply_header(exchange, "Access-Control-Allow-Methods", way->allow);
        weir__reply_header(exchange, "Access-Control-Allow-Headers",
                           "Authorization, Content-Encoding, Content-Type, If-Match, "
                           "If-None-Match, If-Range, Range, X-Corr-ID, X-Deadline-Ms");
        weir__reply_header(exchange, "Access-Control-Max-Age", "600");
    }
    weir__reply_send(exchange);
}

/* What may come once, and would mean one thing to us and another to who passed it on. */
static const char *find_twice(const struct weir__exchange *exchange)
{
    static const char *const names[] = {"Authorization", "Idempotency-Key", "If-Range",
                                        "Origin",        "Range",           "X-Deadline-Ms"};
    unsigned seen = 0;
    struct weir__http_header header;
    for (size_t i = 0; weir__exchange_header_at(exchange, i, &header); i++)
        for (size_t k = 0; k < sizeof(names) / sizeof(names[0]); k++) {
            if (strcasecmp(header.name, names[k]) != 0)
                continue;
            if (seen & 1u << k)
                return names[k];
            seen |= 1u << k;
        }
    return NULL;
}

/* Its method and what stands behind its path; false: an answer says what is wrong. */
static bool is_understood(struct weir__exchange *exchange, struct weir__daemon_ask *ask)
{
    const struct weir__daemon_service *service = daemon_of(exchange)->service;
    if (!(ask->way->methods & 1u << weir__exchange_method(exchange))) {
        weir__daemon_answer_begin(exchange, 405);
        weir__reply_header(exchange, "Allow", ask->way->allow);
        weir__reply_error_as(exchange, 405, -WEIR_E_INVALID, "this path has other methods", 0);
        return false;
    }
    if (!ask->way->is_prefix || !service->parse)
        return true;
    return service->parse(exchange, ask, weir__exchange_path(exchange) + strlen(ask->way->path));
}

/* Where the request leads, or an answer that says why nowhere. */
static bool take_way(struct weir__exchange *exchange, struct weir__daemon_ask *ask,
                     const struct weir__daemon_rules *rules)
{
    char message[64];
    ask->way = find_way(exchange);
    if (!ask->way) {
        weir__daemon_refuse(exchange, -WEIR_E_NOT_FOUND, "there is nothing at this path");
        return false;
    }
    if (weir__exchange_method(exchange) == WEIR__HTTP_OPTIONS) {
        answer_options(exchange, ask->way, rules);
        return false;
    }
    if (!is_understood(exchange, ask))
        return false;
    const char *twice = find_twice(exchange);
    if (twice) {
        snprintf(message, sizeof(message), "%s came twice", twice);
        weir__daemon_refuse(exchange, -WEIR_E_INVALID, message);
        return false;
    }
    if (!set_deadline(exchange, rules)) {
        snprintf(message, sizeof(message), "X-Deadline-Ms has 1 to %llu",
                 (unsigned long long)daemon_of(exchange)->service->deadline_most_ms);
        weir__daemon_refuse(exchange, -WEIR_E_INVALID, message);
        return false;
    }
    return true;
}

/* Through the checks that its route asks for; false: it has been answered. */
static bool is_let_through(struct weir__exchange *exchange, const struct weir__daemon_ask *ask,
                           const struct weir__daemon_rules *rules)
{
    struct weir__daemon *daemon = daemon_of(exchange);
    switch (ask->way->manner) {
    case WEIR__DAEMON_HEALTH:
        return true;
    case WEIR__DAEMON_PUBLIC:
        return weir__daemon_allows_public(daemon, exchange, rules);
    case WEIR__DAEMON_ADMITTED:
        break;
    }
    if (!weir__exchange_is_draining(exchange))
        return weir__daemon_allows(daemon, exchange, rules);
    weir__daemon_refuse(exchange, -WEIR_E_DRAINING, NULL);
    return false;
}

/* --- the server's calls --- */

static void begin(struct weir__exchange *exchange)
{
    struct weir__daemon *daemon = daemon_of(exchange);
    struct weir__daemon_ask *ask = weir__exchange_private(exchange);
    struct weir__daemon_rules *rules = weir__daemon_rules(daemon);
    if (daemon->service->init_ask)
        daemon->service->init_ask(ask);
    if (take_way(exchange, ask, rules) && is_let_through(exchange, ask, rules)) {
        if (ask->way->number == WEIR__ROUTE_RELOAD)
            weir__daemon_reload_begin(exchange);
        else if (is_own(ask->way))
            weir__daemon_health_begin(exchange, ask);
        else
            daemon->service->begin(exchange, ask, rules);
    }
    weir__daemon_rules_give(rules);
}

static void whole(struct weir__exchange *exchange)
{
    struct weir__daemon *daemon = daemon_of(exchange);
    /* A body that comes at a good pace may take longer than its request. */
    if (weir__exchange_end_ns(exchange) == WEIR_NEVER)
        weir__exchange_set_deadline(exchange,
                                    weir_time_add(weir_now_ns(), weir__daemon_deadline_ns(daemon)));
    if (weir__daemon_enters(daemon, exchange))
        daemon->service->whole(exchange, weir__exchange_private(exchange));
}

static void resume(struct weir__exchange *exchange)
{
    struct weir__daemon_ask *ask = weir__exchange_private(exchange);
    if (ask->way->number == WEIR__ROUTE_RELOAD)
        weir__daemon_reload_resume(exchange, ask);
    else if (is_own(ask->way))
        weir__daemon_health_resume(exchange, ask);
    else
        daemon_of(exchange)->service->resume(exchange, ask);
}

static int more(struct weir__exchange *exchange)
{
    struct weir__daemon_ask *ask = weir__exchange_private(exchange);
    weir__errand_take_back(ask);
    return daemon_of(exchange)->service->more(exchange, ask);
}

static void warm(struct weir__exchange *exchange, int fd, uint64_t offset, uint64_t length)
{
    const struct weir__daemon_service *service = daemon_of(exchange)->service;
    if (service->warm)
        service->warm(exchange, fd, offset, length);
    else
        weir__exchange_post(exchange); /* the loop waits for the disk then */
}

static void broke(struct weir__exchange *exchange, int error, int fd, uint64_t offset)
{
    const struct weir__daemon_service *service = daemon_of(exchange)->service;
    if (service->broke)
        service->broke(exchange, error, fd, offset);
}

static void gone(struct weir__exchange *exchange, const struct weir__exchange_end *end)
{
    struct weir__daemon *daemon = daemon_of(exchange);
    struct weir__daemon_ask *ask = weir__exchange_private(exchange);
    if (end->status != 0 && ask->is_admitted)
        weir_histogram_observe(&daemon->counts.latency[daemon->service->endpoint_of(exchange, ask)],
                               end->took_ns);
    weir__daemon_log_request(exchange, ask, end);
    weir__errand_take_back(ask);
    if (daemon->service->gone)
        daemon->service->gone(exchange, ask);
    weir__errand_leave(ask->job);
    ask->job = NULL;
    weir_admit_release(&ask->ticket);
    weir_permit_release(&ask->cap);
    weir_permit_release(&ask->inflight);
}

/* Health is told also to whom there is no room for. */
static bool is_urgent(const struct weir__exchange *exchange)
{
    const struct weir__daemon_route *way = find_way(exchange);
    return way && way->manner != WEIR__DAEMON_ADMITTED;
}

const struct weir__handler weir__daemon_handler = {
    .is_urgent = is_urgent,
    .begin = begin,
    .whole = whole,
    .resume = resume,
    .more = more,
    .warm = warm,
    .broke = broke,
    .left = weir__errand_left,
    .gone = gone,
    .refused = weir__daemon_log_refused,
};
