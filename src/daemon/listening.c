/* listening.c - the server: where it listens, and whether it may. */
#include <string.h>

#include <weir/error.h>

#include "daemon_part.h"

#include "banned.h"

/* Those of the configuration were judged with it; sockets that were handed over are judged here. */
static int check_reach(const struct weir__daemon_rules *rules, const char *address,
                       char why[WEIR__DAEMON_WHY_MAX])
{
    if (weir__service_may_listen(rules->service, address))
        return 0;
    return weir__daemon_fail(why, -WEIR_E_INVALID, WEIR__SERVICE_REACHED, address);
}

/* As with a Unix socket of our own: who gets there is on this machine. */
static bool is_unix(int fd)
{
    int domain = 0;
    socklen_t size = sizeof(domain);
    return getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &size) == 0 && domain == AF_UNIX;
}

static int adopt_sockets(struct weir__daemon *daemon, const struct weir__daemon_rules *rules,
                         const struct weir__daemon_options *options, bool has_tls,
                         char why[WEIR__DAEMON_WHY_MAX])
{
    const char *reason = "";
    int error = 0;
    for (size_t i = 0; !error && i < options->sockets_count; i++) {
        bool is_tls = has_tls && !is_unix(options->sockets[i]);
        int listener = weir__server_adopt(daemon->server, options->sockets[i], is_tls, &reason);
        if (listener < 0)
            return weir__daemon_fail(why, listener, "cannot use the socket %d: %s",
                                     options->sockets[i], reason);
        error = check_reach(rules, weir__server_address(daemon->server, (unsigned)listener), why);
    }
    return error;
}

static int open_sockets(struct weir__daemon *daemon, const struct weir__daemon_rules *rules,
                        const struct weir__daemon_options *options, char why[WEIR__DAEMON_WHY_MAX])
{
    const struct weir__service_config *service = rules->service;
    bool has_tls = service->tls.cert && service->tls.cert[0];
    const char *reason = "";
    int error = 0;
    if (has_tls &&
        (error = weir__server_tls(daemon->server, service->tls.cert, service->tls.key, &reason)))
        return weir__daemon_fail(why, error, "%s", reason);
    if (options->sockets_count > 0)
        return adopt_sockets(daemon, rules, options, has_tls, why);
    for (size_t i = 0; i < service->listen.count; i++) {
        const char *address = service->listen.items[i];
        struct weir__listen listen = {
            .address = address,
            .mode = weir__service_unix_mode(service),
            .backlog = (uint32_t)service->server.backlog,
            .is_tls = has_tls && strncmp(address, "unix:", 5) != 0,
        };
        if ((error = weir__server_listen(daemon->server, &listen, &reason)) < 0)
            return weir__daemon_fail(why, error == -WEIR_E_NOT_FOUND ? -WEIR_E_INVALID : error,
                                     "cannot listen on '%s': %s", address, reason);
    }
    return 0;
}

int weir__daemon_make_server(struct weir__daemon *daemon, const struct weir__daemon_rules *rules,
                             const struct weir__daemon_options *given,
                             char why[WEIR__DAEMON_WHY_MAX])
{
    const struct weir__service_config *service = rules->service;
    const char *reason = "";
    struct weir__server_options options = {
        .crew = daemon->crew,
        .handler = &weir__daemon_handler,
        .arg = daemon,
        .private_size = daemon->service->ask_size,
        .loops = (uint32_t)service->server.acceptors,
        .name = "weir",
        .trusted = service->server.trusted_proxies.items,
        .trusted_count = service->server.trusted_proxies.count,
    };
    int error = 0;
    for (size_t i = 0; !error && given->sockets_count == 0 && i < service->listen.count; i++)
        error = check_reach(rules, service->listen.items[i], why);
    if (error)
        return error;
    weir__daemon_fill_limits(daemon, rules, &options.limits);
    error = weir__server_new(&daemon->server, &options, &reason);
    if (error)
        return weir__daemon_fail(why, error, "%s", reason);
    return open_sockets(daemon, rules, given, why);
}
