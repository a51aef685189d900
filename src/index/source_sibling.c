/* source_sibling.c - questions to another node of the index, and records for it. */
#include "source_sibling.h"

#include <stdio.h>
#include <string.h>

#include <weir/error.h>

#include "alloc.h"
#include "source_http.h"
#include "source_text.h"

#include "banned.h"

#define TOKEN_MAX  4096u
#define TARGET_MAX (WEIR__SOURCE_URL + WEIR__NAME_MAX + 32u)

struct sibling {
    struct weir__source source; /* first */
    char base[WEIR__SOURCE_URL];
    char *bearer; /* "Bearer TOKEN"; NULL: none */
    struct weir__http_client *client;
};

/* --- reading --- */

static void take(struct weir__reply *reply, const json_t *object)
{
    struct weir__record_bytes record;
    const json_t *text = json_object_get(object, "record");
    int error = json_is_string(text)
                    ? weir__record_parse(json_string_value(text), json_string_length(text), &record)
                    : -WEIR_E_INVALID;
    if (error)
        weir__reply_drop(reply, error);
    else
        weir__reply_add(reply, record.bytes, record.length);
}

int weir__sibling_reply(struct weir__reply *reply, const struct weir__question *question,
                        const char *body, size_t length)
{
    WEIR_CLEANUP(weir__source_json_free)
    json_t *json = NULL;
    int result = weir__source_json(body, length, &json);
    if (result < 0)
        return result;
    if (!json_is_object(json))
        return -WEIR_E_CORRUPT;
    if (question->kind == WEIR__ASK_NAME) {
        take(reply, json);
    } else {
        const json_t *providers = json_object_get(json, "providers"), *provider;
        size_t i;
        if (!json_is_array(providers))
            return -WEIR_E_CORRUPT;
        json_array_foreach(providers, i, provider) take(reply, provider);
    }
    return reply->count > 0 ? 0 : -WEIR_E_NOT_FOUND;
}

/* --- asking --- */

/* Names have nothing in them that a path would have to escape. */
static void url_of(const struct sibling *sibling, const struct weir__question *question,
                   const char *name_path, char url[TARGET_MAX])
{
    char address[WEIR__ADDRESS_TEXT];
    if (question->kind == WEIR__ASK_NAME) {
        snprintf(url, TARGET_MAX, "%s/%s/%s", sibling->base, name_path, question->name.text);
        return;
    }
    weir__address_print(&question->address, address);
    snprintf(url, TARGET_MAX, "%s/providers/%s", sibling->base, address);
}

static size_t headers_of(const struct sibling *sibling, struct weir__http_header headers[3],
                         const char *type)
{
    size_t count = 0;
    headers[count++] = (struct weir__http_header){WEIR__SIBLING_HOPS, "1"};
    headers[count++] = (struct weir__http_header){type, "application/json"};
    if (sibling->bearer)
        headers[count++] = (struct weir__http_header){"Authorization", sibling->bearer};
    return count;
}

static int ask(struct weir__source *source, const struct weir__question *question,
               struct weir__reply *reply, const struct weir_deadline *deadline)
{
    struct sibling *sibling = (struct sibling *)source;
    char url[TARGET_MAX];
    struct weir__http_header headers[3];
    WEIR_CLEANUP(weir__buffer_fini)
    struct weir__buffer body;
    weir__buffer_init(&body, WEIR__SIBLING_BODY_MAX);
    url_of(sibling, question, "resolve", url);
    struct weir__fetch fetch = {.client = sibling->client,
                                .method = WEIR__HTTP_GET,
                                .url = url,
                                .headers = headers,
                                .headers_count = headers_of(sibling, headers, "Accept")};
    int result = weir__source_fetch(&fetch, &body, deadline);
    if (result < 0)
        return result;
    return weir__sibling_reply(reply, question, weir__buffer_text(&body),
                               weir__buffer_length(&body));
}

/* --- telling --- */

static int tell(struct weir__source *source, const struct weir__record *record,
                const struct weir__record_bytes *bytes, const struct weir_deadline *deadline)
{
    struct sibling *sibling = (struct sibling *)source;
    char url[TARGET_MAX], text[WEIR__RECORD_TEXT], sent[WEIR__RECORD_TEXT + 32];
    struct weir__question question;
    struct weir__http_header headers[3];
    WEIR_CLEANUP(weir__buffer_fini)
    struct weir__buffer said;
    weir__buffer_init(&said, 64u << 10);
    weir__record_question(record, &question);
    url_of(sibling, &question, "names", url);
    weir__record_print(bytes, text);
    int length = snprintf(sent, sizeof(sent), "{\"record\": \"%s\"}", text);
    struct weir__fetch fetch = {.client = sibling->client,
                                .method = record->is_removal ? WEIR__HTTP_DELETE : WEIR__HTTP_PUT,
                                .url = url,
                                .headers = headers,
                                .headers_count = headers_of(sibling, headers, "Content-Type"),
                                .body = sent,
                                .body_length = (size_t)length};
    int result = weir__source_fetch(&fetch, &said, deadline);
    /* 409 is there for what is older than what it has. */
    return result == -WEIR_E_MISMATCH ? -WEIR_E_CONFLICT : result;
}

/* --- life cycle --- */

static void sibling_free(struct weir__source *source)
{
    struct sibling *sibling = (struct sibling *)source;
    weir__http_client_free(sibling->client);
    if (sibling->bearer)
        explicit_bzero(sibling->bearer, strlen(sibling->bearer));
    weir__base_free(sibling->bearer);
    weir__base_free(sibling);
}

static const struct weir__source_ops sibling_ops = {
    .kind = "sibling", .ask = ask, .tell = tell, .free = sibling_free};

static int set_token(struct sibling *sibling, const char *token)
{
    static const char scheme[] = "Bearer ";
    size_t size = sizeof(scheme) + strlen(token);
    sibling->bearer = weir__base_alloc(1, size);
    if (!sibling->bearer)
        return -WEIR_E_NO_MEMORY;
    snprintf(sibling->bearer, size, "%s%s", scheme, token);
    return 0;
}

int weir__source_sibling_new(struct weir__source **ret_source,
                             const struct weir__source_sibling_options *options,
                             const char **ret_why)
{
    struct sibling *sibling = weir__base_alloc(1, sizeof(*sibling));
    *ret_why = weir_error_text(-WEIR_E_NO_MEMORY);
    if (!sibling)
        return -WEIR_E_NO_MEMORY;
    sibling->source.ops = &sibling_ops;
    int result = weir__source_base(options->url, sibling->base, sizeof(sibling->base));
    if (result < 0)
        *ret_why = "it is not a URL of http or https without a query";
    if (result == 0 && options->token && strlen(options->token) > TOKEN_MAX) {
        *ret_why = "its token is longer than 4 KiB";
        result = -WEIR_E_INVALID;
    }
    if (result == 0 && options->token)
        result = set_token(sibling, options->token);
    if (result == 0) {
        weir__source_name(sibling->source.name, "sibling", sibling->base);
        result = weir__source_client_new(&sibling->client, options->ca_file, ret_why);
    }
    if (result < 0) {
        sibling_free(&sibling->source);
        return result;
    }
    *ret_source = &sibling->source;
    return 0;
}
