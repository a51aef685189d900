/* daemon.c - life cycle: what a service is made of, in the order in which it is made. */
#include "daemon.h"

#include <stdarg.h>
#include <stdio.h>

#include <weir/error.h>

#include "alloc.h"
#include "daemon_part.h"
#include "require.h"
#include "resources.h"

#include "banned.h"

#define THREADS_MAX 4096u

const struct weir_lock_class weir__daemon_config_class = {"config_snapshot", 310};

int weir__daemon_fail(char why[WEIR__DAEMON_WHY_MAX], int error, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(why, WEIR__DAEMON_WHY_MAX, format, args);
    va_end(args);
    return error;
}

/* --- birth and death --- */

/* What a description must not get wrong: a route that forgets what a token must allow would let in
 * whoever has any. */
static void check_routes(const struct weir__daemon_service *service)
{
    size_t caps = weir__daemon_caps_count(service);
    for (const struct weir__daemon_route *route = service->routes; route->path; route++) {
        const struct weir__daemon_scopes *scopes = &route->scopes;
        bool is_free = route->manner != WEIR__DAEMON_ADMITTED;
        WEIR__REQUIRE(route->number < WEIR__DAEMON_ROUTES, "route", route->path,
                      "its number is one of the daemon's");
        WEIR__REQUIRE(is_free || (scopes->reads && scopes->changes && scopes->removes), "route",
                      route->path, "has no scopes");
        WEIR__REQUIRE(route->cap <= caps, "route", route->path, "there is no such cap");
    }
}

/* What is made of memory alone. */
static int make_insides(struct weir__daemon *daemon, const struct weir__daemon_rules *rules)
{
    const struct weir__daemon_service *service = daemon->service;
    struct weir_crew_options crew = {.threads_max = THREADS_MAX,
                                     .drain_ns = WEIR__DAEMON_THREADS_NS,
                                     .grace_ns = WEIR__DAEMON_GRACE_NS};
    int error = weir_lock_register(service->locks, service->locks_count);
    if (!error)
        error = weir__daemon_make_lines(daemon, rules);
    if (!error)
        error = weir__daemon_make_limits(daemon, rules);
    if (!error && service->make)
        error = service->make(daemon, rules);
    return error ? error : weir_crew_new(&daemon->crew, service->name, &crew);
}

static int make_parts(struct weir__daemon *daemon, struct weir__daemon_rules *rules,
                      const struct weir__daemon_options *options, char why[WEIR__DAEMON_WHY_MAX])
{
    int error = make_insides(daemon, rules);
    if (error)
        return weir__daemon_fail(why, error, "%s: %s", weir_error_text(error), weir_error_detail());
    error = weir__daemon_share_descriptors(daemon, rules, options->sockets_count, why);
    if (!error && daemon->service->check)
        error = daemon->service->check(rules, why);
    if (!error)
        error = daemon->service->open(daemon, rules, why);
    if (!error) /* in the folder that the service has made */
        error = weir__daemon_load_keys(daemon, rules, true, why);
    if (!error)
        error = weir__daemon_check_audit(rules, why);
    if (!error)
        error = weir__daemon_make_server(daemon, rules, options, why);
    if (!error)
        weir__daemon_find_rights(daemon, rules);
    if (!error && (error = weir__daemon_numbers_new(daemon)))
        weir__daemon_fail(why, error, "cannot register its metrics: %s", weir_error_detail());
    return error;
}

int weir__daemon_new(struct weir__daemon **ret_daemon, const struct weir__daemon_service *service,
                     const struct weir__daemon_options *options, char why[WEIR__DAEMON_WHY_MAX])
{
    struct weir__daemon *daemon = weir__base_alloc(1, service->size);
    struct weir__daemon_rules *rules = NULL;
    int error = daemon ? 0 : weir__daemon_fail(why, -WEIR_E_NO_MEMORY, "out of memory");
    if (error)
        return error;
    check_routes(service);
    daemon->service = service;
    daemon->version = options->version;
    daemon->reload = options->reload;
    daemon->is_hurried = options->is_hurried;
    daemon->arg = options->arg;
    weir_cancel_init(&daemon->stop, NULL);
    weir_cancel_init(&daemon->clock_stop, NULL);
    weir_lock_init(&daemon->reload_lock, &weir__daemon_config_class);
    weir_lock_init(&daemon->jobs_lock, service->jobs_class);
    error = weir__daemon_rules_new(&rules, service, options->config, why);
    if (!error && (error = weir_watch_init_snapshot(&daemon->config, "config", &rules->snapshot))) {
        weir__daemon_rules_give(rules);
        weir__daemon_fail(why, error, "%s", weir_error_text(error));
    }
    if (!error)
        error = make_parts(daemon, rules, options, why);
    if (error) {
        weir__daemon_free(daemon);
        return error;
    }
    *ret_daemon = daemon;
    return 0;
}

int weir__daemon_free(struct weir__daemon *daemon)
{
    if (!daemon)
        return 0;
    /* Somebody is still at it and the process is about to leave: nothing is taken from under him.
     */
    if (daemon->is_stuck)
        return -WEIR_E_TIMEOUT;
    if (daemon->crew && weir_crew_state(daemon->crew) != WEIR_CREW_STOPPED)
        weir_crew_drain(daemon->crew, NULL);
    weir__server_free(daemon->server);
    daemon->server = NULL;
    if (daemon->crew)
        weir_crew_free(daemon->crew);
    daemon->crew = NULL;
    int error = daemon->service->close(daemon);
    if (error == -WEIR_E_TIMEOUT)
        return error;
    weir__daemon_numbers_free(daemon);
    weir__daemon_fini_limits(daemon);
    weir_watch_fini(&daemon->config);
    weir_lock_fini(&daemon->reload_lock);
    weir_lock_fini(&daemon->jobs_lock);
    weir_cancel_fini(&daemon->clock_stop);
    weir_cancel_fini(&daemon->stop);
    weir__base_free(daemon);
    return error;
}

int weir__daemon_start(struct weir__daemon *daemon, char why[WEIR__DAEMON_WHY_MAX])
{
    struct weir__daemon_rules *rules = weir__daemon_rules(daemon);
    struct weir__daemon_event event = {.name = "start"};
    int error = daemon->service->start ? daemon->service->start(daemon) : 0;
    if (!error)
        error = weir__daemon_start_threads(daemon, rules);
    if (!error)
        error = weir__server_start(daemon->server);
    weir__daemon_rules_give(rules);
    daemon->is_started = true;
    if (error)
        return weir__daemon_fail(why, error, "cannot start its threads: %s",
                                 error == -WEIR_E_BUSY ? WEIR__RESOURCES_NO_THREAD
                                                       : weir_error_text(error));
    weir__daemon_event(daemon, &event);
    return 0;
}

/* --- while it runs --- */

void weir__daemon_ask_to_stop(struct weir__daemon *daemon)
{
    weir_cancel_fire(&daemon->stop);
}

int weir__daemon_wait(struct weir__daemon *daemon, uint64_t ns)
{
    struct weir_deadline deadline = weir_deadline_in(ns, &daemon->stop);
    return weir_deadline_sleep(&deadline);
}

const char *weir__daemon_address(const struct weir__daemon *daemon, unsigned listener)
{
    const char *address = weir__server_address(daemon->server, listener);
    return address && address[0] ? address : NULL;
}
