/* access.c - whether a request is let in: from where, by whom, how many, how fast.
 *
 * In this order, each before anything is queued: the host that is asked for and the page that asks
 * (a browser must not be led here by somebody else's page), the capability, the rate of the
 * address, the rate of all, the number at once, the number of its route at once.
 *
 * Without tokens, reading and writing is for whoever can reach the service; deleting, peers and
 * administration want a token in any case.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include <weir/error.h>

#include "daemon_part.h"

#include "banned.h"

/* --- from where --- */

/* The host without its port, in the brackets that it may have. */
static size_t host_length(const char *host)
{
    const char *end = host[0] == '[' ? strchr(host, ']') : NULL;
    if (end)
        return (size_t)(end + 1 - host);
    return strcspn(host, ":");
}

/* What may stand behind the name: nothing, or a port, which may be empty. */
static bool is_port(const char *text)
{
    unsigned long value = 0;
    if (*text == '\0')
        return true;
    if (*text++ != ':')
        return false;
    for (; *text >= '0' && *text <= '9' && value <= 65535; text++)
        value = 10 * value + (unsigned long)(*text - '0');
    return *text == '\0' && value <= 65535;
}

static bool is_same_name(const char *host, size_t length, const char *name)
{
    return strlen(name) == length && strncasecmp(host, name, length) == 0;
}

/* An address cannot be somebody else's name, whatever resolves to it. */
static bool is_number(const char *host, size_t length)
{
    char text[INET6_ADDRSTRLEN + 2];
    struct in6_addr room;
    bool is_six = host[0] == '[' && length > 2;
    size_t skip = is_six ? 1 : 0;
    if (length - 2 * skip >= sizeof(text))
        return false;
    memcpy(text, host + skip, length - 2 * skip);
    text[length - 2 * skip] = '\0';
    return inet_pton(is_six ? AF_INET6 : AF_INET, text, &room) == 1;
}

static bool is_host_known(const struct weir__daemon_rules *rules, const char *host)
{
    size_t length = host_length(host);
    if (!is_port(host + length))
        return false;
    if (length == 0 || is_number(host, length) || is_same_name(host, length, "localhost"))
        return true;
    for (size_t i = 0; i < rules->service->server.hosts.count; i++)
        if (is_same_name(host, length, rules->service->server.hosts.items[i]))
            return true;
    return false;
}

/* Of a page that was loaded from here. */
static bool is_own_origin(const struct weir__exchange *exchange, const char *origin)
{
    const char *host = weir__exchange_host(exchange);
    const char *scheme = weir__exchange_is_tls(exchange) ? "https://" : "http://";
    size_t length = strlen(scheme);
    return strncmp(origin, scheme, length) == 0 && host[0] &&
           strcasecmp(origin + length, host) == 0;
}

static bool is_origin_known(const struct weir__exchange *exchange,
                            const struct weir__daemon_rules *rules)
{
    const char *origin = weir__exchange_header(exchange, "Origin");
    const char *site = weir__exchange_header(exchange, "Sec-Fetch-Site");
    if (!origin)
        return !site || strcmp(site, "cross-site") != 0 || weir__daemon_is_read(exchange);
    if (is_own_origin(exchange, origin))
        return true;
    for (size_t i = 0; i < rules->service->server.origins.count; i++)
        if (strcasecmp(origin, rules->service->server.origins.items[i]) == 0)
            return true;
    return false;
}

void weir__daemon_answer_begin(struct weir__exchange *exchange, unsigned status)
{
    const struct weir__daemon_ask *ask = weir__exchange_private(exchange);
    const char *origin = ask->is_let_in ? weir__exchange_header(exchange, "Origin") : NULL;
    weir__reply_begin(exchange, status);
    if (!origin || is_own_origin(exchange, origin))
        return;
    weir__reply_header(exchange, "Vary", "Origin");
    weir__reply_header(exchange, "Access-Control-Allow-Origin", origin);
    weir__reply_header(exchange, "Access-Control-Expose-Headers",
                       "Allow, Content-Range, ETag, Location, Retry-After, X-Corr-ID");
}

/* --- by whom --- */

static enum weir__scope scope_of(const struct weir__exchange *exchange,
                                 const struct weir__daemon_ask *ask)
{
    const struct weir__daemon_scopes *scopes = &ask->way->scopes;
    if (weir__exchange_method(exchange) == WEIR__HTTP_DELETE)
        return scopes->removes;
    return weir__daemon_is_read(exchange) ? scopes->reads : scopes->changes;
}

/* Logs say whose token was refused, if it is one that was made here: what else it says of itself
 * nobody has to believe. */
static void note_refused(struct weir__daemon_ask *ask, const struct weir__daemon_rules *rules,
                         const char *token, size_t length)
{
    struct weir__token_view view;
    if (weir__token_is_genuine(rules->ring, token, length) == 0 &&
        weir__token_read(&view, token, length) == 0)
        memcpy(ask->grant.id, view.id, sizeof(ask->grant.id));
}

/* 0, or why the request may not, in words that stand behind "the capability ". */
static int check_token(struct weir__exchange *exchange, struct weir__daemon_ask *ask,
                       const struct weir__daemon_rules *rules, enum weir__scope scope,
                       const char **ret_why)
{
    const char *field = weir__exchange_header(exchange, "Authorization"), *token;
    const char *path = weir__exchange_path(exchange);
    const struct sockaddr_storage *client = weir__exchange_client(exchange);
    size_t length;
    int error = weir__token_from_header(field, field ? strlen(field) : 0, &token, &length, ret_why);
    if (error)
        return error;
    if (!rules->ring) {
        *ret_why = "cannot be checked: this service has no keys";
        return -WEIR_E_UNAUTHORIZED;
    }
    struct weir__token_request request = {
        .method = weir__http_method_name(weir__exchange_method(exchange)),
        .path = path,
        .path_length = strlen(path),
        .client = client->ss_family == AF_UNIX ? NULL : (const struct sockaddr *)client,
        .body_bytes = weir__exchange_body_length(exchange),
        .scope = scope,
        .now_s = weir_wall_s(),
    };
    error = weir__token_verify(&ask->grant, rules->ring, token, length, &request, ret_why);
    if (error)
        note_refused(ask, rules, token, length);
    return error;
}

static bool is_authorized(struct weir__daemon *daemon, struct weir__exchange *exchange,
                          const struct weir__daemon_rules *rules)
{
    struct weir__daemon_ask *ask = weir__exchange_private(exchange);
    enum weir__scope scope = scope_of(exchange, ask);
    bool is_wanted = weir__service_wants_tokens(rules->service) ||
                     (scope != WEIR__SCOPE_READ && scope != WEIR__SCOPE_WRITE);
    const char *why;
    char message[128];
    ask->grant.body_max = WEIR__BODY_UNKNOWN;
    if (!is_wanted && !weir__exchange_header(exchange, "Authorization"))
        return true;
    int error = check_token(exchange, ask, rules, scope, &why);
    if (!error)
        return true;
    weir_counter_add(
        error == -WEIR_E_FORBIDDEN ? &daemon->counts.forbidden : &daemon->counts.unauthorized, 1);
    snprintf(message, sizeof(message), "the capability %s", why);
    weir__daemon_event_of(exchange, "denied", NULL, error, why);
    weir__daemon_refuse(exchange, error, message);
    return false;
}

/* --- how many, how fast --- */

static unsigned seconds(uint64_t ns)
{
    uint64_t s = ns / WEIR_NS_PER_S + 1;
    return s > 3600 ? 3600 : (unsigned)s;
}

static void refuse_for_now(struct weir__exchange *exchange, const char *message, uint64_t delay_ns)
{
    weir__daemon_count_busy(exchange);
    weir__daemon_answer_begin(exchange, (unsigned)weir_error_http(-WEIR_E_BUSY));
    weir__reply_error_as(exchange, (unsigned)weir_error_http(-WEIR_E_BUSY), -WEIR_E_BUSY, message,
                         seconds(delay_ns));
}

bool weir__daemon_enters(struct weir__daemon *daemon, struct weir__exchange *exchange)
{
    struct weir__daemon_ask *ask = weir__exchange_private(exchange);
    unsigned cap = ask->way->cap;
    if (weir_budget_try(&daemon->inflight, 1, &ask->inflight)) {
        refuse_for_now(exchange, "too many requests at once", 0);
        return false;
    }
    if (cap > 0 && weir_budget_try(&daemon->caps[cap - 1], 1, &ask->cap)) {
        weir_permit_release(&ask->inflight);
        refuse_for_now(exchange, "too many requests of this kind at once", 0);
        return false;
    }
    return true;
}

void weir__daemon_leaves(struct weir__exchange *exchange)
{
    struct weir__daemon_ask *ask = weir__exchange_private(exchange);
    weir_permit_release(&ask->cap);
    weir_permit_release(&ask->inflight);
}

static bool is_within_rates(struct weir__daemon *daemon, struct weir__exchange *exchange,
                            struct weir__daemon_ask *ask, const struct weir__daemon_rules *rules)
{
    unsigned char key[16];
    size_t size = weir__address_key(weir__exchange_client(exchange), key);
    int error = rules->service->ratelimit.rps_per_ip > 0 && size > 0
                    ? weir_admit_try(&daemon->per_address, key, size, &ask->ticket)
                    : 0;
    if (error) {
        refuse_for_now(
            exchange,
            error == -WEIR_E_OVERFLOW
                ? "too many addresses send requests at once: no more of them are remembered"
                : "this address sends too many requests",
            weir_admit_delay_ns(&daemon->per_address, key, size));
        return false;
    }
    if (rules->service->server.max_rps > 0 && weir_rate_try(&daemon->rps, 1, WEIR_RATE_HIGH)) {
        refuse_for_now(exchange, "too many requests a second",
                       weir_rate_delay_ns(&daemon->rps, 1, WEIR_RATE_HIGH));
        return false;
    }
    return weir__daemon_enters(daemon, exchange);
}

/* what: for the audit log. */
static void refuse_stranger(struct weir__daemon *daemon, struct weir__exchange *exchange,
                            const char *what, const char *message)
{
    weir_counter_add(&daemon->counts.cross_site, 1);
    weir__daemon_event_of(exchange, "denied", NULL, -WEIR_E_FORBIDDEN, what);
    weir__daemon_refuse(exchange, -WEIR_E_FORBIDDEN, message);
}

/* Whether the name that is asked for and the page that asks are known. */
static bool is_from_here(struct weir__daemon *daemon, struct weir__exchange *exchange,
                         const struct weir__daemon_rules *rules)
{
    if (!is_host_known(rules, weir__exchange_host(exchange))) {
        refuse_stranger(daemon, exchange, "host",
                        "this service does not go by that name: see server.hosts");
        return false;
    }
    if (!is_origin_known(exchange, rules)) {
        refuse_stranger(daemon, exchange, "origin",
                        "pages of that origin may not use this service: see server.origins");
        return false;
    }
    ((struct weir__daemon_ask *)weir__exchange_private(exchange))->is_let_in = true;
    return true;
}

bool weir__daemon_allows_public(struct weir__daemon *daemon, struct weir__exchange *exchange,
                                const struct weir__daemon_rules *rules)
{
    return is_from_here(daemon, exchange, rules);
}

bool weir__daemon_allows_question(struct weir__daemon *daemon, struct weir__exchange *exchange,
                                  const struct weir__daemon_rules *rules)
{
    struct weir__daemon_ask *ask = weir__exchange_private(exchange);
    return is_from_here(daemon, exchange, rules) && is_within_rates(daemon, exchange, ask, rules);
}

bool weir__daemon_allows(struct weir__daemon *daemon, struct weir__exchange *exchange,
                         const struct weir__daemon_rules *rules)
{
    struct weir__daemon_ask *ask = weir__exchange_private(exchange);
    if (!is_from_here(daemon, exchange, rules))
        return false;
    if (!is_authorized(daemon, exchange, rules) || !is_within_rates(daemon, exchange, ask, rules))
        return false;
    ask->is_admitted = true;
    return true;
}
