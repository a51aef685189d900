/* source_http.c - requests of sources, by the HTTP client. */
#include "source_http.h"

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

void weir__source_name(char name[32], const char *kind, const char *base)
{
    struct weir__url url;
    const char *why;
    if (weir__url_parse(&url, base, &why) < 0)
        snprintf(name, 32, "%s", kind);
    else
        snprintf(name, 32, "%s %.16s:%u", kind, url.host, url.port);
}

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
