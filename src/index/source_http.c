/* source_http.c - requests of sources, by the HTTP client. */
#include "source_http.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <weir/error.h>

#include "url.h"

#include "banned.h"

/* A source that cannot be reached within this is not there: lookups end after 1200 ms. */
#define CONNECT_NS  WEIR_NS_PER_S
#define CONNECTIONS WEIR__HTTP_CONNECTIONS_MAX /* as many as there may be workers */

int weir__source_client_new(struct weir__http_client **ret_client, const char *ca_file,
                            const char **ret_why)
{
    struct weir__http_client_options options = {.connections_max = CONNECTIONS,
                                                .connect_ns = CONNECT_NS,
                                                .ca_file = ca_file,
                                                .agent = "weir-index",
                                                .has_no_proxy = true,
                                                .has_no_breaker = true};
    return weir__http_client_new(ret_client, &options, ret_why);
}

int weir__source_base(const char *url, char *room, size_t size)
{
    struct weir__url parsed;
    const char *why;
    size_t length = strlen(url);
    if (weir__url_parse(&parsed, url, &why) < 0 || strpbrk(url, "?#"))
        return -WEIR_E_INVALID;
    while (length > 0 && url[length - 1] == '/')
        length--;
    if (length >= size)
        return -WEIR_E_TOO_LARGE;
    memcpy(room, url, length);
    room[length] = '\0';
    return 0;
}

/* --- what a source is called --- */

#define NAME_SIZE 32u
#define MARK_SIZE 9 /* '~' and 8 digits */

/* The path without '/' at its end. */
static size_t path_length(const struct weir__url *url)
{
    size_t length = url->target_length;
    while (length > 0 && url->target[length - 1] == '/')
        length--;
    return length;
}

bool weir__source_is_same(const char *a, const char *b)
{
    struct weir__url one, other;
    const char *why;
    if (weir__url_parse(&one, a, &why) < 0 || weir__url_parse(&other, b, &why) < 0)
        return false;
    size_t length = path_length(&one);
    return one.port == other.port && strcmp(one.host, other.host) == 0 &&
           length == path_length(&other) && memcmp(one.target, other.target, length) == 0;
}

/* FNV-1a: what tells two of at most 16 sources apart need not resist anybody. */
static uint32_t mix(uint32_t hash, const char *bytes, size_t length)
{
    for (size_t i = 0; i < length; i++)
        hash = (hash ^ (unsigned char)bytes[i]) * UINT32_C(16777619);
    return hash;
}

/* What people know a host by, in so much room: the end of its first label, since hosts are
 * numbered there ("index-node-02.example"), or of an address. */
static const char *show_host(const char *host, size_t room, size_t *ret_length)
{
    size_t length = strlen(host);
    bool is_address = host[0] == '[' || strspn(host, "0123456789.") == length;
    if (length > room && !is_address)
        length = strcspn(host, ".");
    size_t skipped = length > room ? length - room : 0;
    *ret_length = length - skipped;
    return host + skipped;
}

void weir__source_name(char name[32], const char *kind, const char *base)
{
    struct weir__url url;
    const char *why;
    char port[8];
    if (weir__url_parse(&url, base, &why) < 0) {
        snprintf(name, NAME_SIZE, "%s", kind);
        return;
    }
    size_t room = NAME_SIZE - 2 - strlen(kind), path = path_length(&url), length;
    room -= (size_t)snprintf(port, sizeof(port), ":%u", url.port);
    if (path == 0 && strlen(url.host) <= room) {
        snprintf(name, NAME_SIZE, "%s %.*s%s", kind, (int)room, url.host, port);
        return;
    }
    uint32_t hash = mix(UINT32_C(2166136261), url.host, strlen(url.host));
    hash = mix(hash, url.target, path);
    const char *host = show_host(url.host, room - MARK_SIZE, &length);
    snprintf(name, NAME_SIZE, "%s %.*s~%08" PRIx32 "%s", kind, (int)length, host, hash, port);
}

/* --- one request --- */

static int take(void *arg, const char *bytes, size_t length)
{
    int result = weir__buffer_append(arg, bytes, length);
    return result == -WEIR_E_OVERFLOW ? -WEIR_E_TOO_LARGE : result;
}

int weir__source_fetch(const struct weir__fetch *fetch, struct weir__buffer *body,
                       const struct weir_deadline *deadline)
{
    struct weir__http_request request = {.method = fetch->method,
                                         .url = fetch->url,
                                         .headers = fetch->headers,
                                         .headers_count = fetch->headers_count,
                                         .body = fetch->body,
                                         .body_length = fetch->body_length,
                                         .body_max = weir__buffer_max(body),
                                         .tries_max = 1};
    struct weir__http_hooks hooks = {.body = take, .arg = body};
    struct weir__http_outcome outcome;
    int result = weir__http_do(fetch->client, &request, &hooks, &outcome, deadline);
    if (result < 0)
        return result;
    /* What is neither an answer nor an error, a redirect for one, is not what was asked for. */
    result = weir__http_status_error(outcome.status);
    return result == 0 && outcome.status / 100 != 2 ? -WEIR_E_CORRUPT : result;
}
