/* client.c - a client from its making to its end, and the pool of its lines.
 *
 *     connections  a budget: one permit for each call that has a line
 *     idle         a list of lines that nobody uses, the last used first
 *
 * Lines are made when there is no idle one, so there are never more of them than permits. Under the
 * lock the list is changed and nothing else; handles are made and closed outside of it.
 */
#include "http_part.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "alloc.h"
#include "inflate.h"

#include "banned.h"

#define HOSTS_PER_CONNECTION 4u
#define TIME_MAX_NS          (3600 * WEIR_NS_PER_S)

static const struct weir_lock_class client_class = {"http-client", 650};

/* --- lines --- */

static void line_free(struct weir__http_client *client, struct weir__http_line *line)
{
    if (!line)
        return;
    if (line->easy)
        client->curl->easy_cleanup(line->easy);
    if (line->multi)
        client->curl->multi_cleanup(line->multi);
    weir__base_free(line);
}

static int line_new(struct weir__http_client *client, struct weir__http_line **ret_line)
{
    struct weir__http_line *line = weir__base_alloc(1, sizeof(*line));
    if (!line)
        return -WEIR_E_NO_MEMORY;
    line->multi = client->curl->multi_init();
    line->easy = client->curl->easy_init();
    if (!line->multi || !line->easy ||
        client->curl->multi_setopt(line->multi, CURLMOPT_MAXCONNECTS, 1L) != CURLM_OK) {
        line_free(client, line);
        return -WEIR_E_NO_MEMORY;
    }
    *ret_line = line;
    return 0;
}

static bool fits(const struct weir__http_line *line, const struct weir__url *url)
{
    return line->port == url->port && line->is_https == url->is_https &&
           strcmp(line->host, url->host) == 0;
}

int weir__http_line_take(struct weir__http_client *client, const struct weir__url *url,
                         struct weir__http_line **ret_line)
{
    weir_lock_acquire(&client->lock);
    struct weir__http_line **at = &client->idle;
    while (*at && !fits(*at, url))
        at = &(*at)->next;
    if (!*at)
        at = &client->idle; /* any other: its connection goes when it has to */
    struct weir__http_line *line = *at;
    if (line)
        *at = line->next;
    weir_lock_release(&client->lock);
    int result = line ? 0 : line_new(client, &line);
    if (result < 0)
        return result;
    memcpy(line->host, url->host, sizeof(line->host));
    line->port = url->port;
    line->is_https = url->is_https;
    *ret_line = line;
    return 0;
}

void weir__http_line_give(struct weir__http_client *client, struct weir__http_line *line,
                          bool is_sound)
{
    if (!is_sound) {
        line_free(client, line);
        return;
    }
    weir_lock_acquire(&client->lock);
    line->next = client->idle;
    client->idle = line;
    weir_lock_release(&client->lock);
}

/* --- life cycle --- */

static char *copy(const char *text)
{
    size_t size = strlen(text) + 1;
    char *memory = weir__base_alloc(1, size);
    return memory ? memcpy(memory, text, size) : NULL;
}

static bool are_sound(const struct weir__http_client_options *o)
{
    return o->connections_max <= WEIR__HTTP_CONNECTIONS_MAX && o->connect_ns <= TIME_MAX_NS &&
           (o->stall_ns <= TIME_MAX_NS || o->stall_ns == WEIR_NEVER) && !(o->reach && o->unix_path);
}

static int init(struct weir__http_client *client, const struct weir__http_client_options *given)
{
    struct weir__http_client_options *o = &client->options;
    if (given)
        *o = *given;
    if (!are_sound(o))
        return -WEIR_E_INVALID;
    if (o->connections_max == 0)
        o->connections_max = WEIR__HTTP_CONNECTIONS_DEFAULT;
    if (o->connect_ns == 0)
        o->connect_ns = WEIR__HTTP_CONNECT_NS;
    if (o->stall_ns == 0)
        o->stall_ns = WEIR__HTTP_STALL_NS;
    if (o->reach) {
        client->reach = *o->reach;
        o->reach = &client->reach;
    }
    client->agent = copy(o->agent ? o->agent : "weir");
    client->ca_file = o->ca_file ? copy(o->ca_file) : NULL;
    client->unix_path = o->unix_path ? copy(o->unix_path) : NULL;
    client->hosts_max = (size_t)o->connections_max * HOSTS_PER_CONNECTION;
    client->hosts = weir__base_alloc(client->hosts_max, sizeof(struct weir__http_host *));
    if (!client->agent || (o->ca_file && !client->ca_file) ||
        (o->unix_path && !client->unix_path) || !client->hosts)
        return -WEIR_E_NO_MEMORY;
    int result = weir_budget_init(&client->connections, "http-connections", o->connections_max);
    client->has_connections = result == 0;
    return result;
}

int weir__http_client_new(struct weir__http_client **ret_client,
                          const struct weir__http_client_options *options, const char **ret_why)
{
    const struct weir__curl *curl = weir__curl_load(ret_why);
    const char *why = curl ? weir__inflate_load() : *ret_why;
    if (why) {
        *ret_why = why;
        return -WEIR_E_UNSUPPORTED;
    }
    struct weir__http_client *client = weir__base_alloc(1, sizeof(*client));
    int result = client ? 0 : -WEIR_E_NO_MEMORY;
    if (result == 0) {
        client->curl = curl;
        weir_lock_init(&client->lock, &client_class);
        result = init(client, options);
    }
    if (result < 0) {
        weir__http_client_free(client);
        *ret_why = weir_error_text(result);
        return result;
    }
    *ret_client = client;
    return 0;
}

void weir__http_client_free(struct weir__http_client *client)
{
    if (!client)
        return;
    if (client->has_connections)
        weir_budget_fini(&client->connections); /* asserts that no call is under way */
    while (client->idle) {
        struct weir__http_line *line = client->idle;
        client->idle = line->next;
        line_free(client, line);
    }
    weir__http_hosts_free(client);
    weir_lock_fini(&client->lock);
    weir__base_free(client->agent);
    weir__base_free(client->ca_file);
    weir__base_free(client->unix_path);
    weir__base_free(client);
}

uint64_t weir__http_client_connections(struct weir__http_client *client)
{
    weir_lock_acquire(&client->lock);
    uint64_t opened = client->opened;
    weir_lock_release(&client->lock);
    return opened;
}

/* --- what went wrong --- */

int weir__http_fail(struct weir__http_call *call, int error, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(call->outcome->problem, sizeof(call->outcome->problem), format, args);
    va_end(args);
    return error;
}
