/* index_show.c - see index_show.h. */
#include "index_show.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <weir/error.h>

#include "log.h"
#include "print_json.h"
#include "utc.h"

#include "banned.h"

#define JSON_MAX (4u << 20)

void weir__index_tell(const struct weir__index_found *found, bool is_verbose)
{
    char key[WEIR__KEYID_TEXT], until[WEIR__UTC_SIZE];
    struct weir__key_id id;
    if (found->is_stale)
        weir__log(WEIR__LOG_WARNING, "no source answers the service: this is what it knew before");
    if (found->dropped > 0)
        weir__log(WEIR__LOG_WARNING, "%zu providers were left out: their records are wrong",
                  found->dropped);
    if (!is_verbose)
        return;
    if (found->has_name) {
        weir__key_id_of(found->name.public_key, &id);
        weir__key_id_print(&id, key);
        weir__log(WEIR__LOG_INFO, "sequence %" PRIu64 ", signed by %s, until %s",
                  found->name.sequence, key, weir__utc_format(until, found->name.expires_s));
    }
    weir__log(WEIR__LOG_INFO, "known by '%s'", found->source);
}

static void print_step(struct weir__out *out, const json_t *step)
{
    const char *source = json_string_value(json_object_get(step, "source"));
    const char *stage = json_string_value(json_object_get(step, "stage"));
    const char *result = json_string_value(json_object_get(step, "result"));
    const json_t *ended = json_object_get(step, "ended_ms");
    char end[32] = "-";
    if (json_is_number(ended))
        snprintf(end, sizeof(end), "%.1f ms", json_number_value(ended));
    weir__out_printf(out, "%8.1f ms  %10s  ", json_number_value(json_object_get(step, "began_ms")),
                     end);
    weir__out_escaped(out, source ? source : "?");
    weir__out_puts(out, "  ");
    weir__out_escaped(out, stage ? stage : "?");
    weir__out_printf(out, "%s  ", json_is_true(json_object_get(step, "hedge")) ? " (hedge)" : "");
    weir__out_escaped(out, result ? result : "?");
    weir__out_printf(out, "%s\n", json_is_true(json_object_get(step, "won")) ? "  <- taken" : "");
}

static void print_trace(struct weir__out *out, const json_t *trace)
{
    size_t count = json_array_size(trace);
    if (count == 0)
        return;
    weir__out_puts(out, "   asked at        ended  source\n");
    for (size_t i = 0; i < count; i++)
        print_step(out, json_array_get(trace, i));
}

int weir__index_print(struct weir__out *out, const struct weir__index_found *found)
{
    char address[WEIR__ADDRESS_TEXT];
    weir__address_print(&found->address, address);
    weir__out_printf(out, "%s\n", address);
    for (size_t i = 0; i < found->providers_count; i++) {
        const struct weir__record *provider = &found->providers[i];
        weir__out_escaped(out, provider->url);
        weir__out_printf(out, "\t%s\t", provider->region[0] ? provider->region : "-");
        if (found->latencies_ms[i] > 0)
            weir__out_printf(out, "%.1f ms\n", found->latencies_ms[i]);
        else
            weir__out_puts(out, "-\n");
    }
    if (json_array_size(json_object_get(found->json, "trace")) > 0)
        weir__out_puts(out, "\n");
    print_trace(out, json_object_get(found->json, "trace"));
    return 0;
}

/* --- JSON --- */

static void put_text(struct weir__json *json, const char *key, const char *text)
{
    weir__json_key(json, key);
    weir__json_string(json, text);
}

static void put_key(struct weir__json *json, const struct weir__record *record)
{
    char key[WEIR__KEYID_TEXT];
    struct weir__key_id id;
    weir__key_id_of(record->public_key, &id);
    weir__key_id_print(&id, key);
    put_text(json, "key", key);
    weir__json_key(json, "sequence");
    weir__json_u64(json, record->sequence);
    weir__json_key(json, "expires");
    weir__json_i64(json, record->expires_s);
}

static void put_provider(struct weir__json *json, const struct weir__record *provider,
                         double latency_ms)
{
    weir__json_object(json);
    put_text(json, "url", provider->url);
    put_text(json, "region", provider->region);
    put_key(json, provider);
    if (latency_ms > 0) {
        weir__json_key(json, "latency_ms");
        weir__json_real(json, latency_ms);
    }
    weir__json_end(json);
}

static void put_step(struct weir__json *json, const json_t *step)
{
    static const char *const texts[] = {"source", "stage", "result"};
    static const char *const times[] = {"began_ms", "ended_ms"};
    weir__json_object(json);
    for (size_t i = 0; i < 3; i++) {
        const char *text = json_string_value(json_object_get(step, texts[i]));
        put_text(json, texts[i], text ? text : "");
    }
    for (size_t i = 0; i < 2; i++)
        if (json_is_number(json_object_get(step, times[i]))) {
            weir__json_key(json, times[i]);
            weir__json_real(json, json_number_value(json_object_get(step, times[i])));
        }
    weir__json_key(json, "hedge");
    weir__json_bool(json, json_is_true(json_object_get(step, "hedge")));
    weir__json_key(json, "won");
    weir__json_bool(json, json_is_true(json_object_get(step, "won")));
    weir__json_end(json);
}

static void put_trace(struct weir__json *json, const json_t *trace)
{
    weir__json_key(json, "trace");
    weir__json_array(json);
    for (size_t i = 0; i < json_array_size(trace); i++)
        put_step(json, json_array_get(trace, i));
    weir__json_end(json);
}

static void put_found(struct weir__json *json, const struct weir__question *question,
                      const struct weir__index_found *found)
{
    const json_t *trace = json_object_get(found->json, "trace");
    char address[WEIR__ADDRESS_TEXT];
    weir__address_print(&found->address, address);
    weir__json_object(json);
    if (found->has_name)
        put_text(json, "name", question->name.text);
    put_text(json, found->has_name ? "manifest" : "address", address);
    if (found->has_name)
        put_key(json, &found->name);
    weir__json_key(json, "providers");
    weir__json_array(json);
    for (size_t i = 0; i < found->providers_count; i++)
        put_provider(json, &found->providers[i], found->latencies_ms[i]);
    weir__json_end(json);
    put_text(json, "source", found->source);
    weir__json_key(json, "stale");
    weir__json_bool(json, found->is_stale);
    if (trace)
        put_trace(json, trace);
    weir__json_end(json);
}

int weir__index_print_json(struct weir__out *out, const struct weir__question *question,
                           const struct weir__index_found *found)
{
    WEIR_CLEANUP(weir__buffer_fini)
    struct weir__buffer buffer;
    struct weir__json json;
    weir__buffer_init(&buffer, JSON_MAX);
    weir__json_init(&json, &buffer);
    put_found(&json, question, found);
    return weir__print_json(out, &json, &buffer);
}

void weir__index_print_announced(struct weir__out *out, const struct weir__record *record)
{
    char address[WEIR__ADDRESS_TEXT];
    weir__address_print(&record->address, address);
    /* A URL of a provider has no character that JSON escapes: it was checked. */
    weir__out_printf(out,
                     "{\"address\":\"%s\",\"url\":\"%s\",\"sequence\":%" PRIu64
                     ",\"expires\":%" PRId64 "}\n",
                     address, record->url, record->sequence, record->expires_s);
}

static void print_refusal(struct weir__out *out, const json_t *refusal)
{
    static const char *const texts[] = {"error", "message"};
    WEIR_CLEANUP(weir__buffer_fini)
    struct weir__buffer buffer;
    struct weir__json json;
    weir__buffer_init(&buffer, JSON_MAX);
    weir__json_init(&json, &buffer);
    weir__json_object(&json);
    for (size_t i = 0; i < 2; i++)
        put_text(&json, texts[i], json_string_value(json_object_get(refusal, texts[i])));
    if (json_object_get(refusal, "trace"))
        put_trace(&json, json_object_get(refusal, "trace"));
    weir__json_end(&json);
    (void)!weir__print_json(out, &json, &buffer); /* the command fails in any case */
}

void weir__index_print_failure(struct weir__out *out, const struct weir__index_client *client,
                               int error, const char *problem, bool is_json)
{
    const json_t *refusal = client ? weir__index_client_refusal(client) : NULL;
    if (!is_json)
        print_trace(out, json_object_get(refusal, "trace"));
    else if (refusal)
        print_refusal(out, refusal);
    else
        weir__print_json_failure(out, error, problem);
}
