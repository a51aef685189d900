/* descriptors.c - how the descriptors that the process may have are shared out.
 *
 *     allowed >= connections + own + refused + others, and twice the connections
 *
 * connections  server.max_conns
 * own          what the service wants for itself, by the number of connections
 * refused      connections that are kept until they are told so (weir__server_refused_most)
 * others       listeners, three for each loop, and what the service says: standard streams, files
 *              that it always has open, and what is open for a moment (keys, certificates, the
 * audit log)
 *
 * A service that may want more of its own than these takes what is free, but leaves the last of all
 * (shares.top), as many as are for those who are refused. So whatever it does, who comes is let in
 * and told something.
 */
#include <string.h>

#include <weir/error.h>

#include "daemon_part.h"
#include "resources.h"

#include "banned.h"

#define PER_LOOP 3u /* epoll, its mail, and one in reserve */

/* Whether somebody has asked for this many. */
static bool is_default(const struct weir__config *config, const char *name)
{
    const struct weir__config_schema *schema = weir__config_schema(config);
    const struct weir__config_key *key;
    char text[64];
    for (size_t i = 0; (key = weir__config_key(schema, i)); i++)
        if (strcmp(key->name, name) == 0)
            return weir__config_origin(config, i, text, sizeof(text)) == WEIR__CONFIG_FROM_DEFAULT;
    return false;
}

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static uint64_t count_others(const struct weir__daemon *daemon,
                             const struct weir__daemon_rules *rules, size_t sockets)
{
    const struct weir__service_config *service = rules->service;
    uint64_t loops = service->server.acceptors
                         ? service->server.acceptors
                         : least(weir__resources_cores(), WEIR__SERVER_LOOPS_MAX);
    return daemon->service->descriptors_others + PER_LOOP * loops +
           (sockets ? sockets : service->listen.count);
}

/* For the service, when there are so many connections. */
static uint64_t count_own(const struct weir__daemon *daemon, const struct weir__daemon_rules *rules,
                          uint64_t connections)
{
    const struct weir__daemon_service *service = daemon->service;
    return service->descriptors ? service->descriptors(rules, connections) : 0;
}

/* That have to be allowed for these and those who are refused. */
static uint64_t count_all(uint64_t wanted)
{
    uint64_t all = wanted;
    while (all - weir__server_refused_most(all) < wanted)
        all = wanted + weir__server_refused_most(all);
    return all;
}

static uint64_t count_needed(const struct weir__daemon *daemon,
                             const struct weir__daemon_rules *rules, uint64_t wanted,
                             uint64_t others)
{
    uint64_t all = count_all(wanted + count_own(daemon, rules, wanted) + others);
    return all > 2 * wanted ? all : 2 * wanted;
}

/* How many connections can be had when there are so many descriptors for these and the service:
 * half of them, if that would take more. */
static uint64_t most_connections(const struct weir__daemon *daemon,
                                 const struct weir__daemon_rules *rules, uint64_t rest)
{
    uint64_t own = count_own(daemon, rules, rest);
    return rest > 2 * own ? rest - own : rest / 2;
}

/* A number that nobody asked for gives way; one that somebody did is refused when it cannot be had.
 */
int weir__daemon_share_descriptors(struct weir__daemon *daemon,
                                   const struct weir__daemon_rules *rules, size_t sockets,
                                   char why[WEIR__DAEMON_WHY_MAX])
{
    uint64_t wanted = rules->service->server.max_conns,
             others = count_others(daemon, rules, sockets);
    uint64_t allowed = weir__resources_descriptors(), refused = weir__server_refused_most(allowed);
    uint64_t rest = allowed > others + refused ? allowed - others - refused : 0;
    uint64_t most = least(most_connections(daemon, rules, rest), allowed / 2);
    if (most == 0)
        return weir__daemon_fail(
            why, -WEIR_E_INVALID,
            "%llu file descriptors are allowed and %llu are needed at least: raise the limit "
            "(ulimit -n)",
            (unsigned long long)allowed, (unsigned long long)count_all(others + 2));
    if (wanted > most && !is_default(rules->config, "server.max_conns"))
        return weir__daemon_fail(
            why, -WEIR_E_INVALID,
            "server.max_conns = %llu needs %llu file descriptors and %llu are allowed: raise "
            "the limit (ulimit -n) or set server.max_conns to %llu",
            (unsigned long long)wanted,
            (unsigned long long)count_needed(daemon, rules, wanted, others),
            (unsigned long long)allowed, (unsigned long long)most);
    if (wanted > most)
        weir__daemon_find(
            daemon, "%llu connections at most, since %llu file descriptors are allowed (ulimit -n)",
            (unsigned long long)most, (unsigned long long)allowed);
    daemon->shares.connections = least(wanted, most);
    daemon->shares.own = rest - daemon->shares.connections;
    daemon->shares.top = allowed - refused;
    return 0;
}
