/* index_client.c - see index_client.h. */
#include "index_client.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <weir/clock.h>
#include <weir/error.h>

#include "alloc.h"
#include "buffer.h"
#include "key.h"
#include "key_default.h"
#include "log.h"
#include "program.h"

#include "banned.h"

#define BODY_MAX (4u << 10)

const struct weir__example weir__index_client_variables[] = {
    {"WEIR_INDEX", "the index service, unless --server names one"},
    {"WEIR_TOKEN", "the token to show, unless --token-file names one"},
    {"SSL_CERT_FILE", "certificates that are trusted instead of the system's"},
    {NULL, NULL},
};

struct weir__index_client {
    struct weir__service_client *service;
    char *room;
    json_t *refusal; /* of the last request; may be NULL */
};

int weir__index_client_new(struct weir__index_client **ret_client,
                           const struct weir__index_values *values, const char *version)
{
    const struct weir__service_client_options options = {
        .server = values->server,
        .variable = "WEIR_INDEX",
        .preset = WEIR__INDEX_SERVER,
        .token_file = values->token_file,
        .timeout_ns = values->timeout,
        .connections_max = 1,
        .version = version,
    };
    const char *why = weir__key_load_library();
    if (why) {
        weir__log(WEIR__LOG_ERROR, "%s", why);
        return -WEIR_E_UNSUPPORTED;
    }
    struct weir__index_client *client = weir__base_alloc(1, sizeof(*client));
    if (client)
        client->room = weir__base_alloc(1, WEIR__INDEX_ROOM);
    int error = client && client->room ? 0 : -WEIR_E_NO_MEMORY;
    if (error)
        weir__log(WEIR__LOG_ERROR, "cannot start: %s", weir_error_text(error));
    else
        error = weir__service_client_new(&client->service, &options);
    if (error) {
        weir__index_client_free(client);
        return error;
    }
    *ret_client = client;
    return 0;
}

void weir__index_client_free(struct weir__index_client *client)
{
    if (!client)
        return;
    weir__service_client_free(client->service);
    json_decref(client->refusal);
    weir__base_free(client->room);
    weir__base_free(client);
}

int weir__index_read_key(struct weir__key *ret_key, const char *file,
                         char problem[WEIR__SERVICE_PROBLEM_MAX])
{
    char path[WEIR__KEY_PATH_SIZE], why[WEIR__SIGN_KEY_WHY];
    int error = file ? 0 : weir__key_default(path);
    if (error)
        return error;
    error = weir__key_read(ret_key, file ? file : path, why);
    if (error)
        snprintf(problem, WEIR__SERVICE_PROBLEM_MAX, "%.500s", why);
    return error;
}

/* --- an answer, verified --- */

void weir__index_found_fini(struct weir__index_found *found)
{
    weir__base_free(found->providers);
    weir__base_free(found->latencies_ms);
    json_decref(found->json);
    *found = (struct weir__index_found){.json = NULL};
}

static enum weir__record_verdict judge(const json_t *object, const struct weir__bindings *bindings,
                                       struct weir__record *ret_record)
{
    const json_t *text = json_object_get(object, "record");
    struct weir__record_bytes bytes;
    if (!json_is_string(text) ||
        weir__record_parse(json_string_value(text), json_string_length(text), &bytes))
        return WEIR__RECORD_MALFORMED;
    return weir__record_judge(ret_record, bytes.bytes, bytes.length, bindings, weir_wall_s());
}

static int take_name(struct weir__index_found *found, const struct weir__question *question,
                     const struct weir__bindings *bindings, char problem[WEIR__SERVICE_PROBLEM_MAX])
{
    enum weir__record_verdict verdict = judge(found->json, bindings, &found->name);
    bool fits = verdict == WEIR__RECORD_GOOD && weir__question_fits(question, &found->name) &&
                !found->name.is_removal;
    if (fits) {
        found->has_name = true;
        found->address = found->name.address;
        return 0;
    }
    if (verdict == WEIR__RECORD_UNBOUND && !weir__name_has_keys(&question->name, bindings))
        snprintf(problem, WEIR__SERVICE_PROBLEM_MAX,
                 "the name has no key in it, so that nobody here knows who may speak for it: give "
                 "--trust PREFIX=KEYID");
    else if (verdict == WEIR__RECORD_UNBOUND)
        snprintf(problem, WEIR__SERVICE_PROBLEM_MAX,
                 "the service has sent a record that another key has signed than %s",
                 question->name.has_key ? "that of the name" : "those that are trusted for it");
    else if (verdict == WEIR__RECORD_EXPIRED)
        snprintf(problem, WEIR__SERVICE_PROBLEM_MAX, "what the service has sent does not hold: %s",
                 weir__record_time_problem(&found->name, weir_wall_s()));
    else
        snprintf(problem, WEIR__SERVICE_PROBLEM_MAX, "the service has sent a record that is %s",
                 verdict == WEIR__RECORD_GOOD ? "about something else"
                                              : weir__record_verdict_name(verdict));
    return -WEIR_E_FORBIDDEN;
}

static int take_providers(struct weir__index_found *found)
{
    const json_t *list = json_object_get(found->json, "providers"), *item;
    struct weir__question question = {.kind = WEIR__ASK_PROVIDERS, .address = found->address};
    size_t count = json_array_size(list), i;
    found->providers = weir__base_alloc(WEIR__INDEX_PROVIDERS, sizeof(*found->providers));
    found->latencies_ms = weir__base_alloc(WEIR__INDEX_PROVIDERS, sizeof(*found->latencies_ms));
    if (!found->providers || !found->latencies_ms)
        return -WEIR_E_NO_MEMORY;
    for (i = 0; i < count && found->providers_count < WEIR__INDEX_PROVIDERS; i++) {
        struct weir__record *record = &found->providers[found->providers_count];
        item = json_array_get(list, i);
        if (judge(item, NULL, record) != WEIR__RECORD_GOOD ||
            !weir__question_fits(&question, record)) {
            found->dropped++;
            continue;
        }
        found->latencies_ms[found->providers_count++] =
            json_number_value(json_object_get(item, "latency_ms"));
    }
    return 0;
}

static int take_answer(struct weir__index_found *found, const struct weir__question *question,
                       const struct weir__bindings *bindings,
                       char problem[WEIR__SERVICE_PROBLEM_MAX])
{
    const char *source = json_string_value(json_object_get(found->json, "source"));
    found->is_stale = json_is_true(json_object_get(found->json, "stale"));
    snprintf(found->source, sizeof(found->source), "%s", source ? source : "");
    int error = 0;
    if (question->kind == WEIR__ASK_NAME)
        error = take_name(found, question, bindings, problem);
    else
        found->address = question->address;
    return error ? error : take_providers(found);
}

/* Names need no escapes in a path: '@' and '/' may stand there. */
static void print_path(const struct weir__question *question, const char *head, bool is_traced,
                       char path[WEIR__SERVICE_PATH_MAX])
{
    char address[WEIR__ADDRESS_TEXT] = "";
    if (question->kind == WEIR__ASK_PROVIDERS)
        weir__address_print(&question->address, address);
    snprintf(path, WEIR__SERVICE_PATH_MAX, "%s%s%s", head,
             question->kind == WEIR__ASK_NAME ? question->name.text : address,
             is_traced ? "?trace=1" : "");
}

/* --- requests --- */

const json_t *weir__index_client_refusal(const struct weir__index_client *client)
{
    return client->refusal;
}

/* What of an answer is a refusal as the service writes them; a gateway may have sent anything. */
static json_t *read_refusal(const struct weir__service_call *call)
{
    json_error_t ignored;
    json_t *root = call->status >= 400 ? json_loadb(call->bytes, call->length, 0, &ignored) : NULL;
    if (json_is_string(json_object_get(root, "error")) &&
        json_is_string(json_object_get(root, "message")))
        return root;
    json_decref(root);
    return NULL;
}

/* Into the client's room. */
static int request(struct weir__index_client *client, struct weir__service_call *call,
                   char problem[WEIR__SERVICE_PROBLEM_MAX])
{
    call->bytes = client->room;
    call->room = WEIR__INDEX_ROOM;
    call->keeps_error = call->is_brief = true;
    json_decref(client->refusal);
    client->refusal = NULL;
    int error = weir__service_client_do(client->service, call, NULL, problem);
    if (error)
        client->refusal = read_refusal(call);
    if (error == -WEIR_E_TOO_LARGE && call->status != 413) {
        snprintf(problem, WEIR__SERVICE_PROBLEM_MAX, "what the server says is larger than %u MiB",
                 WEIR__INDEX_ROOM >> 20);
        return -WEIR_E_CORRUPT;
    }
    /* Those would say that the command line is wrong, which was looked at here. */
    return error == -WEIR_E_INVALID || error == -WEIR_E_TOO_LARGE || error == -WEIR_E_RANGE
               ? -WEIR_E_FORBIDDEN
               : error;
}

static int load(const struct weir__service_call *call, json_t **ret_json,
                char problem[WEIR__SERVICE_PROBLEM_MAX])
{
    json_error_t ignored;
    *ret_json = call->status == 200 ? json_loadb(call->bytes, call->length, 0, &ignored) : NULL;
    if (json_is_object(*ret_json))
        return 0;
    json_decref(*ret_json);
    *ret_json = NULL;
    snprintf(problem, WEIR__SERVICE_PROBLEM_MAX, "what the server says cannot be understood");
    return -WEIR_E_CORRUPT;
}

int weir__index_client_find(struct weir__index_client *client,
                            const struct weir__question *question,
                            const struct weir__bindings *bindings, bool is_traced,
                            struct weir__index_found *ret_found,
                            char problem[WEIR__SERVICE_PROBLEM_MAX])
{
    char path[WEIR__SERVICE_PATH_MAX];
    struct weir__index_found found = {.json = NULL};
    struct weir__service_call call = {.method = WEIR__HTTP_GET, .path = path};
    print_path(question, "/resolve/", is_traced, path);
    int error = request(client, &call, problem);
    if (!error)
        error = load(&call, &found.json, problem);
    if (!error)
        error = take_answer(&found, question, bindings, problem);
    if (error) {
        if (error == -WEIR_E_NO_MEMORY)
            snprintf(problem, WEIR__SERVICE_PROBLEM_MAX, "%s", weir_error_text(error));
        weir__index_found_fini(&found);
        return error;
    }
    *ret_found = found;
    return 0;
}

/* --- changes and lists --- */

int weir__index_client_bring(struct weir__index_client *client, const struct weir__record *record,
                             const struct weir__record_bytes *bytes, bool has_previous,
                             uint64_t previous, char problem[WEIR__SERVICE_PROBLEM_MAX])
{
    char path[WEIR__SERVICE_PATH_MAX], text[WEIR__RECORD_TEXT], body[BODY_MAX];
    bool is_name = record->kind == WEIR__RECORD_NAME;
    struct weir__question question = {.kind = is_name ? WEIR__ASK_NAME : WEIR__ASK_PROVIDERS,
                                      .name = record->name,
                                      .address = record->address};
    print_path(&question, is_name ? "/names/" : "/providers/", false, path);
    weir__record_print(bytes, text);
    int length = snprintf(body, sizeof(body), "{\"record\":\"%s\"", text);
    if (has_previous)
        length += snprintf(body + length, sizeof(body) - (size_t)length, ",\"previous\":%" PRIu64,
                           previous);
    length += snprintf(body + length, sizeof(body) - (size_t)length, "}");
    struct weir__service_call call = {
        .method = record->is_removal ? WEIR__HTTP_DELETE : WEIR__HTTP_PUT,
        .path = path,
        .body = body,
        .body_length = (size_t)length,
    };
    int error = request(client, &call, problem);
    if (!error && call.status != 200 && call.status != 201)
        error = weir__service_client_refuse(&call, problem);
    return error && call.status == 409 ? -WEIR_E_CONFLICT : error;
}

bool weir__index_client_there(const struct weir__index_client *client, uint64_t *ret_sequence)
{
    static const char said[] = "the sequence there is ";
    const char *message = json_string_value(json_object_get(client->refusal, "message"));
    const char *at = message ? strstr(message, said) : NULL;
    if (!at || at[sizeof(said) - 1] < '0' || at[sizeof(said) - 1] > '9')
        return false;
    unsigned long long sequence = strtoull(at + sizeof(said) - 1, NULL, 10);
    if (sequence > INT64_MAX)
        return false;
    *ret_sequence = sequence;
    return true;
}

bool weir__index_client_cannot_know(const struct weir__index_client *client, int error)
{
    return client->refusal && (error == -WEIR_E_TRANSIENT || error == -WEIR_E_TIMEOUT);
}

int weir__index_client_no_higher(struct weir__index_client *client,
                                 char problem[WEIR__SERVICE_PROBLEM_MAX])
{
    json_decref(client->refusal); /* it says less */
    client->refusal = NULL;
    snprintf(problem, WEIR__SERVICE_PROBLEM_MAX,
             "the sequence there is %" PRId64
             ", and there is no higher one: use another name, or another key",
             INT64_MAX);
    return -WEIR_E_CONFLICT;
}

int weir__index_client_list(struct weir__index_client *client, const char *prefix,
                            const char *after, json_t **ret_json,
                            char problem[WEIR__SERVICE_PROBLEM_MAX])
{
    char path[WEIR__SERVICE_PATH_MAX];
    struct weir__service_call call = {.method = WEIR__HTTP_GET, .path = path};
    snprintf(path, sizeof(path), "/names?limit=1000&prefix=%s%s%s", prefix,
             after[0] ? "&after=" : "", after);
    int error = request(client, &call, problem);
    return error ? error : load(&call, ret_json, problem);
}
