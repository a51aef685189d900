/* storage_client.c - calls of a storage service, each with its tries and its end. */
#include "storage_client.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include <weir/error.h>

#include "alloc.h"
#include "buffer.h"
#include "log.h"
#include "service_client.h"

#include "banned.h"

_Static_assert(WEIR__STORAGE_PROBLEM_MAX == WEIR__SERVICE_PROBLEM_MAX, "they are passed on");

const struct weir__example weir__storage_client_variables[] = {
    {"WEIR_SERVER", "the storage service, unless --server names one"},
    {"WEIR_TOKEN", "the token to show, unless --token-file names one"},
    {"SSL_CERT_FILE", "certificates that are trusted instead of the system's"},
    {NULL, NULL},
};

#define PATH_SIZE     (WEIR__ADDRESS_TEXT + 8)
#define HAVE_BODY_MAX (16u << 10)

struct weir__storage_client {
    struct weir__service_client *service;
};

int weir__storage_client_new(struct weir__storage_client **ret_client,
                             const struct weir__storage_client_options *options)
{
    const struct weir__service_client_options service = {
        .server = options->server,
        .variable = "WEIR_SERVER",
        .preset = WEIR__STORAGE_SERVER,
        .token_file = options->token_file,
        .timeout_ns = options->timeout_ns,
        .connections_max = options->connections_max,
        .version = options->version,
    };
    struct weir__storage_client *client = weir__base_alloc(1, sizeof(*client));
    if (!client) {
        weir__log(WEIR__LOG_ERROR, "cannot start: %s", weir_error_text(WEIR_E_NO_MEMORY));
        return -WEIR_E_NO_MEMORY;
    }
    int result = weir__service_client_new(&client->service, &service);
    if (result < 0) {
        weir__base_free(client);
        return result;
    }
    *ret_client = client;
    return 0;
}

void weir__storage_client_free(struct weir__storage_client *client)
{
    if (!client)
        return;
    weir__service_client_free(client->service);
    weir__base_free(client);
}

static void make_path(const struct weir__address *address, char path[PATH_SIZE])
{
    char text[WEIR__ADDRESS_TEXT];
    weir__address_print(address, text);
    snprintf(path, PATH_SIZE, "/o/%s", text);
}

int weir__storage_client_put(struct weir__storage_client *client,
                             const struct weir__address *address, const void *bytes, size_t length,
                             struct weir_cancel *cancel, char problem[WEIR__STORAGE_PROBLEM_MAX])
{
    char path[PATH_SIZE];
    struct weir__service_call call = {
        .method = WEIR__HTTP_PUT, .path = path, .body = bytes, .body_length = length};
    make_path(address, path);
    int result = weir__service_client_do(client->service, &call, cancel, problem);
    if (result == 0 && call.status != 200 && call.status != 201)
        result = weir__service_client_refuse(&call, problem);
    return result < 0 ? result : call.status == 201;
}

int weir__storage_client_get(struct weir__storage_client *client,
                             const struct weir__address *address, void *bytes, size_t size,
                             size_t *ret_length, struct weir_cancel *cancel,
                             char problem[WEIR__STORAGE_PROBLEM_MAX])
{
    char path[PATH_SIZE];
    struct weir__service_call call = {
        .method = WEIR__HTTP_GET, .path = path, .bytes = bytes, .room = size};
    make_path(address, path);
    int result = weir__service_client_do(client->service, &call, cancel, problem);
    if (result < 0)
        return result;
    if (call.status != 200)
        return weir__service_client_refuse(&call, problem);
    *ret_length = call.length;
    return 0;
}

static int read_have(const struct weir__service_call *call, bool *ret_have, size_t count)
{
    json_error_t ignored;
    json_t *root = json_loadb(call->bytes, call->length, 0, &ignored);
    const json_t *list = json_object_get(root, "have");
    bool is_good = json_is_array(list) && json_array_size(list) == count;
    for (size_t i = 0; is_good && i < count; i++)
        is_good = json_is_boolean(json_array_get(list, i));
    for (size_t i = 0; is_good && i < count; i++)
        ret_have[i] = json_is_true(json_array_get(list, i));
    json_decref(root);
    return is_good ? 0 : -WEIR_E_CORRUPT;
}

int weir__storage_client_have(struct weir__storage_client *client,
                              const struct weir__address *addresses, size_t count, bool *ret_have,
                              struct weir_cancel *cancel, char problem[WEIR__STORAGE_PROBLEM_MAX])
{
    char text[WEIR__ADDRESS_TEXT], said[4096];
    WEIR_CLEANUP(weir__buffer_fini)
    struct weir__buffer body;
    weir__buffer_init(&body, HAVE_BODY_MAX);
    int result = weir__buffer_puts(&body, "{\"addresses\": [");
    for (size_t i = 0; result == 0 && i < count; i++) {
        weir__address_print(&addresses[i], text);
        result = weir__buffer_printf(&body, "%s\"%s\"", i ? ", " : "", text);
    }
    if (result == 0)
        result = weir__buffer_puts(&body, "]}");
    if (result < 0) {
        snprintf(problem, WEIR__STORAGE_PROBLEM_MAX, "%s", weir_error_text(result));
        return result;
    }
    struct weir__service_call call = {
        .method = WEIR__HTTP_POST,
        .path = "/have",
        .body = weir__buffer_text(&body),
        .body_length = weir__buffer_length(&body),
        .is_repeatable = true,
        .bytes = said,
        .room = sizeof(said),
    };
    result = weir__service_client_do(client->service, &call, cancel, problem);
    if (result == 0 && (result = read_have(&call, ret_have, count)) < 0)
        snprintf(problem, WEIR__STORAGE_PROBLEM_MAX,
                 "what the server says about what it has cannot be understood");
    return result;
}
