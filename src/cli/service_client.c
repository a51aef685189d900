/* service_client.c - see service_client.h. */
#include "service_client.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <weir/deadline.h>
#include <weir/error.h>
#include <weir/lock.h>

#include "alloc.h"
#include "buffer.h"
#include "cover.h"
#include "log.h"
#include "token_given.h"
#include "url.h"
#include "values.h"

#include "banned.h"

#define UNIX_PREFIX  "unix:"
#define UNIX_URL     "http://localhost"
#define SAID_MAX     4096u
#define PAUSE_NS     (500 * WEIR_NS_PER_MS)
#define BRIEF_TRIES  3u
#define BRIEF_NS     (2 * WEIR_NS_PER_S)
#define BRIEF_LINK   (100 * WEIR_NS_PER_MS) /* to the next try when nobody has answered */
#define RETRY_MOST_S 3600u

static const struct weir_lock_class client_class = {"service-client", 645};

struct weir__service_client {
    struct weir__http_client *http;
    char base[WEIR__URL_MAX]; /* without the '/' at its end */
    char bearer[WEIR__TOKEN_SIZE + 8];
    uint64_t timeout_ns;
    struct weir_lock lock; /* guards what follows */
    bool was_reached;
};

/* --- what was given --- */

static int refuse_server(const char *server, const char *why)
{
    WEIR_CLEANUP(weir__buffer_fini)
    struct weir__buffer shown;
    weir__buffer_init(&shown, 4u * WEIR__URL_MAX);
    if (weir__url_show(server, &shown) < 0)
        weir__buffer_truncate(&shown, 0);
    weir__log(WEIR__LOG_ERROR, "the server '%s' cannot be used: it %s",
              WEIR__TYPED(weir__buffer_text(&shown)), why);
    return -WEIR_E_USAGE;
}

static int take_server(struct weir__service_client *client, const char *server,
                       const char **ret_unix_path)
{
    size_t prefix = strlen(UNIX_PREFIX), length = strlen(server);
    struct weir__url url;
    const char *why;
    if (strncmp(server, UNIX_PREFIX, prefix) == 0) {
        if (length == prefix)
            return refuse_server(server, "has no path");
        *ret_unix_path = server + prefix;
        snprintf(client->base, sizeof(client->base), "%s", UNIX_URL);
        return 0;
    }
    if (weir__url_parse(&url, server, &why) < 0)
        return refuse_server(server, why);
    if (strpbrk(server, "?#"))
        return refuse_server(server, "has a query or a fragment");
    if (length >= sizeof(client->base))
        return refuse_server(server, "is too long");
    while (length > 0 && server[length - 1] == '/')
        length--;
    snprintf(client->base, sizeof(client->base), "%.*s", (int)length, server);
    return 0;
}

static bool is_token(const char *text)
{
    size_t length = strlen(text);
    if (length > WEIR__TOKEN_MAX)
        return false;
    for (size_t i = 0; i < length; i++)
        if ((unsigned char)text[i] <= ' ' || (unsigned char)text[i] >= 0x7f)
            return false;
    return length > 0;
}

static int take_token(struct weir__service_client *client, const char *file)
{
    char text[WEIR__TOKEN_SIZE] = "";
    const char *variable = getenv("WEIR_TOKEN");
    if (file) {
        int length = weir__token_from_file(text, file);
        if (length < 0)
            return length;
    } else if (variable && *variable) {
        if (strlen(variable) > WEIR__TOKEN_MAX) {
            weir__log(WEIR__LOG_ERROR, "what WEIR_TOKEN has is no token");
            return -WEIR_E_UNAUTHORIZED;
        }
        snprintf(text, sizeof(text), "%s", variable);
    }
    if (text[0] && !is_token(text)) {
        weir__log(WEIR__LOG_ERROR, "what %s has is no token", file ? "that file" : "WEIR_TOKEN");
        explicit_bzero(text, sizeof(text));
        return -WEIR_E_UNAUTHORIZED;
    }
    if (text[0])
        snprintf(client->bearer, sizeof(client->bearer), "Bearer %s", text);
    explicit_bzero(text, sizeof(text));
    return 0;
}

static int init(struct weir__service_client *client,
                const struct weir__service_client_options *options)
{
    const char *variable = getenv(options->variable), *ca_file = getenv("SSL_CERT_FILE");
    const char *server = options->server         ? options->server
                         : variable && *variable ? variable
                                                 : options->preset;
    const char *unix_path = NULL, *why = "";
    char agent[64];
    int result = take_server(client, server, &unix_path);
    if (result == 0)
        result = take_token(client, options->token_file);
    if (result < 0)
        return result;
    snprintf(agent, sizeof(agent), "weir/%.40s", options->version);
    struct weir__http_client_options http = {
        .connections_max = options->connections_max,
        .agent = agent,
        .ca_file = ca_file && *ca_file ? ca_file : NULL,
        .unix_path = unix_path,
    };
    result = weir__http_client_new(&client->http, &http, &why);
    if (result < 0)
        weir__log(WEIR__LOG_ERROR, "cannot reach any server: %s", why);
    return result;
}

int weir__service_client_new(struct weir__service_client **ret_client,
                             const struct weir__service_client_options *options)
{
    struct weir__service_client *client = weir__base_alloc(1, sizeof(*client));
    if (!client) {
        weir__log(WEIR__LOG_ERROR, "cannot start: %s", weir_error_text(WEIR_E_NO_MEMORY));
        return -WEIR_E_NO_MEMORY;
    }
    weir_lock_init(&client->lock, &client_class);
    client->timeout_ns = options->timeout_ns;
    int result = init(client, options);
    if (result < 0) {
        weir__service_client_free(client);
        return result;
    }
    *ret_client = client;
    return 0;
}

void weir__service_client_free(struct weir__service_client *client)
{
    if (!client)
        return;
    weir__http_client_free(client->http);
    weir_lock_fini(&client->lock);
    explicit_bzero(client->bearer, sizeof(client->bearer));
    weir__base_free(client);
}

/* --- one answer --- */

struct answer {
    unsigned status;
    uint64_t retry_ns; /* what it asks for; 0: nothing */
    char *bytes;       /* of a good one, and of a bad one that is kept */
    size_t room, length;
    bool keeps_error;
    char said[SAID_MAX]; /* of a bad one that is not */
    size_t said_length;
    char error[32]; /* what it calls that, of a bad one; empty: nothing */
};

static int on_head(void *arg, const struct weir__http_head *head)
{
    struct answer *answer = arg;
    const char *retry = weir__http_head_get(head, "Retry-After");
    uint64_t seconds;
    answer->status = head->status;
    if (retry && weir__value_parse(WEIR__UNIT_COUNT, retry, &seconds) == 0)
        answer->retry_ns = (seconds < RETRY_MOST_S ? seconds : RETRY_MOST_S) * WEIR_NS_PER_S;
    return 0;
}

static int on_body(void *arg, const char *bytes, size_t length)
{
    struct answer *answer = arg;
    bool is_good = answer->status < 300, is_kept = is_good || answer->keeps_error;
    size_t *used = is_kept ? &answer->length : &answer->said_length;
    size_t room = (is_kept ? answer->room : sizeof(answer->said)) - *used;
    if (is_good && length > room)
        return answer->room > 0 ? -WEIR_E_TOO_LARGE : 0; /* nobody wants it */
    size_t taken = length < room ? length : room;
    if (taken > 0)
        memcpy((is_kept ? answer->bytes : answer->said) + *used, bytes, taken);
    *used += taken;
    return 0;
}

/* In the words of the service, if it has sent any. */
static void explain_status(struct answer *answer, char problem[WEIR__SERVICE_PROBLEM_MAX])
{
    json_error_t ignored;
    json_t *root = answer->keeps_error ? json_loadb(answer->bytes, answer->length, 0, &ignored)
                                       : json_loadb(answer->said, answer->said_length, 0, &ignored);
    const char *message = json_string_value(json_object_get(root, "message"));
    const char *error = json_string_value(json_object_get(root, "error"));
    if (message && *message)
        snprintf(problem, WEIR__SERVICE_PROBLEM_MAX, "%.400s (status %u)", message, answer->status);
    else
        snprintf(problem, WEIR__SERVICE_PROBLEM_MAX, "the server answers with status %u",
                 answer->status);
    snprintf(answer->error, sizeof(answer->error), "%.31s", error ? error : "");
    json_decref(root);
}

/* --- tries --- */

static bool note_and_ask(struct weir__service_client *client, bool is_reached)
{
    weir_lock_acquire(&client->lock);
    client->was_reached = client->was_reached || is_reached;
    bool was_reached = client->was_reached;
    weir_lock_release(&client->lock);
    return was_reached;
}

/* What passes: a service that is busy, drains or is started anew. A full disk does not. */
static bool is_passing(int error)
{
    return error == -WEIR_E_BUSY || error == -WEIR_E_TRANSIENT || error == -WEIR_E_BREAKER_OPEN ||
           error == -WEIR_E_TIMEOUT_READ;
}

/* Keeps what said more than that a host is left alone for now. */
static void note_problem(int result, struct answer *answer,
                         const struct weir__http_outcome *outcome,
                         char problem[WEIR__SERVICE_PROBLEM_MAX])
{
    if (result == 0)
        explain_status(answer, problem);
    else if (!problem[0] || (result != -WEIR_E_BREAKER_OPEN && result != -WEIR_E_TIMEOUT))
        snprintf(problem, WEIR__SERVICE_PROBLEM_MAX, "%s",
                 outcome->problem[0] ? outcome->problem : weir_error_text(result));
}

/* How long to wait for the next try; 0: there is none. */
static uint64_t next_pause(const struct weir__service_call *call, const struct answer *answer,
                           int result, int error, bool was_reached)
{
    uint64_t pause_ns = answer->retry_ns > PAUSE_NS ? answer->retry_ns : PAUSE_NS;
    if (call->is_brief && result < 0)
        return is_passing(error) ? BRIEF_LINK : 0;
    if (call->is_brief && answer->error[0])
        return strcmp(answer->error, "Busy") == 0 || strcmp(answer->error, "Draining") == 0
                   ? pause_ns
                   : 0;
    bool may_pass = is_passing(error) || (result == 0 && error == -WEIR_E_TIMEOUT);
    return was_reached && may_pass ? pause_ns : 0;
}

static int try_once(struct weir__service_client *client, struct weir__http_request *request,
                    struct answer *answer, const struct weir_deadline *deadline,
                    char problem[WEIR__SERVICE_PROBLEM_MAX], int *ret_result)
{
    const struct weir__http_hooks hooks = {.head = on_head, .body = on_body, .arg = answer};
    struct weir__http_outcome outcome;
    answer->status = 0;
    answer->length = answer->said_length = 0;
    answer->retry_ns = 0;
    answer->error[0] = '\0';
    *ret_result = weir__http_do(client->http, request, &hooks, &outcome, deadline);
    int error = *ret_result < 0 ? *ret_result : weir__http_status_error(answer->status);
    if (error)
        note_problem(*ret_result, answer, &outcome, problem);
    return error;
}

/* 0: an answer below 400. */
static int ask(struct weir__service_client *client, const struct weir__service_call *call,
               struct weir__http_request *request, struct answer *answer,
               struct weir_cancel *cancel, char problem[WEIR__SERVICE_PROBLEM_MAX])
{
    const struct weir__http_header bearer = {"Authorization", client->bearer};
    const struct weir_deadline deadline = weir_deadline_in(client->timeout_ns, cancel);
    const struct weir_deadline brief = weir_deadline_in(BRIEF_NS, cancel);
    uint64_t last_ns =
        call->is_brief && brief.at_ns < deadline.at_ns ? brief.at_ns : deadline.at_ns;
    request->headers = &bearer;
    request->headers_count = client->bearer[0] ? 1 : 0;
    request->tries_max = call->is_brief ? 1 : 0; /* what is tried again is not handed out */
    problem[0] = '\0';
    for (uint32_t tries = 1;; tries++) {
        int result, error = try_once(client, request, answer, &deadline, problem, &result);
        bool was_reached = note_and_ask(client, result == 0);
        if (error == 0)
            return 0;
        uint64_t pause_ns = next_pause(call, answer, result, error, was_reached);
        struct weir_deadline until = weir_deadline_in(pause_ns, cancel);
        if (pause_ns == 0 || until.at_ns >= last_ns || (call->is_brief && tries >= BRIEF_TRIES))
            return error;
        if (weir_deadline_sleep(&until) == -WEIR_E_CANCELED)
            return -WEIR_E_CANCELED;
    }
}

/* --- calls --- */

int weir__service_client_refuse(const struct weir__service_call *call,
                                char problem[WEIR__SERVICE_PROBLEM_MAX])
{
    snprintf(problem, WEIR__SERVICE_PROBLEM_MAX, "the server answers with status %u", call->status);
    return -WEIR_E_UNSUPPORTED;
}

int weir__service_client_do(struct weir__service_client *client, struct weir__service_call *call,
                            struct weir_cancel *cancel, char problem[WEIR__SERVICE_PROBLEM_MAX])
{
    char url[WEIR__URL_MAX + WEIR__SERVICE_PATH_MAX];
    struct answer answer = {
        .bytes = call->bytes, .room = call->room, .keeps_error = call->keeps_error};
    struct weir__http_request request = {
        .method = call->method,
        .url = url,
        .body = call->body,
        .body_length = call->body_length,
        .body_max = call->room,
        .is_repeatable = call->is_repeatable,
    };
    snprintf(url, sizeof(url), "%s%s", client->base, call->path);
    int result = ask(client, call, &request, &answer, cancel, problem);
    call->status = answer.status;
    call->length = answer.length;
    return result;
}
