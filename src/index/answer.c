/* answer.c - puts an answer together: one piece of memory for the records, one for the body.
 *
 * The body is written by the JSON writer as a whole object, whose last brace then becomes a comma:
 * what follows it is one of two fixed ends, so that one body serves both while it is fresh and
 * while it is stale.
 */
#include "answer.h"

#include <string.h>

#include <weir/clock.h>
#include <weir/error.h>

#include "alloc.h"
#include "hash.h"
#include "json.h"
#include "require.h"

#include "banned.h"

const char weir__answer_end_fresh[] = "\"stale\":false}\n";
const char weir__answer_end_stale[] = "\"stale\":true}\n";

static void answer_free(struct weir_snapshot *snapshot)
{
    struct weir__answer *answer = (struct weir__answer *)snapshot;
    weir__base_free(answer->body);
    weir__base_free(answer->providers);
    weir__base_free(answer->provider_bytes);
    weir__base_free(answer);
}

/* --- the body --- */

static void write_text(struct weir__json *json, const char *key, const char *text)
{
    weir__json_key(json, key);
    weir__json_string(json, text);
}

static void write_record(struct weir__json *json, const struct weir__record_bytes *bytes)
{
    char text[WEIR__RECORD_TEXT];
    weir__record_print(bytes, text);
    write_text(json, "record", text);
}

static void write_address(struct weir__json *json, const char *key,
                          const struct weir__address *address)
{
    char text[WEIR__ADDRESS_TEXT];
    weir__address_print(address, text);
    write_text(json, key, text);
}

static void write_name(struct weir__json *json, const struct weir__answer *answer)
{
    const struct weir__record *record = &answer->name_record;
    write_text(json, "name", answer->question.name.text);
    write_address(json, "manifest", &answer->manifest);
    weir__json_key(json, "sequence");
    weir__json_u64(json, record->sequence);
    weir__json_key(json, "expires");
    weir__json_i64(json, record->expires_s);
    write_record(json, &answer->name_bytes);
}

static void write_provider(struct weir__json *json, const struct weir__provider *provider,
                           const struct weir__record_bytes *bytes)
{
    char key[WEIR__KEYID_TEXT];
    weir__key_id_print(&provider->key, key);
    weir__json_object(json);
    write_text(json, "url", provider->url);
    write_text(json, "region", provider->region);
    write_text(json, "key", key);
    weir__json_key(json, "expires");
    weir__json_i64(json, provider->expires_s);
    if (provider->latency_ns) {
        weir__json_key(json, "latency_ms");
        weir__json_real(json, (double)(provider->latency_ns / WEIR_NS_PER_US) / 1000);
    }
    write_record(json, bytes);
    weir__json_end(json);
}

static void write_body(struct weir__json *json, const struct weir__answer *answer)
{
    weir__json_object(json);
    if (answer->has_name)
        write_name(json, answer);
    else
        write_address(json, "address", &answer->manifest);
    weir__json_key(json, "providers");
    weir__json_array(json);
    for (size_t i = 0; i < answer->providers_count; i++)
        write_provider(json, &answer->providers[i], &answer->provider_bytes[i]);
    weir__json_end(json);
    weir__json_key(json, "providers_known");
    weir__json_u64(json, answer->providers_known);
    weir__json_key(json, "providers_complete");
    weir__json_bool(json, answer->providers_complete);
    write_text(json, "source", answer->source);
    weir__json_end(json);
}

static void make_etag(struct weir__answer *answer)
{
    struct weir__hash hash;
    unsigned char digest[WEIR__HASH_SIZE];
    size_t used = 0;
    weir__hash_init(&hash);
    weir__hash_update(&hash, answer->body, answer->body_length);
    weir__hash_final(&hash, digest);
    answer->etag[used++] = '"';
    for (size_t i = 0; i < 16; i++) {
        answer->etag[used++] = "0123456789abcdef"[digest[i] >> 4];
        answer->etag[used++] = "0123456789abcdef"[digest[i] & 15];
    }
    answer->etag[used++] = '"';
    answer->etag[used] = '\0';
}

static int make_body(struct weir__answer *answer)
{
    struct weir__buffer buffer;
    struct weir__json json;
    weir__buffer_init(&buffer, WEIR__ANSWER_BODY_MAX);
    weir__json_init(&json, &buffer);
    write_body(&json, answer);
    int error = weir__json_finish(&json);
    if (!error) {
        size_t length = weir__buffer_length(&buffer);
        const char *text = weir__buffer_text(&buffer);
        WEIR__REQUIRE(length > 2 && text[length - 2] == '}', "answer", "",
                      "the body is no object with a line end");
        answer->body = weir__base_alloc(1, length);
        if (answer->body) {
            memcpy(answer->body, text, length - 2);
            answer->body[length - 2] = ',';
            answer->body_length = length - 1;
            make_etag(answer);
        } else {
            error = -WEIR_E_NO_MEMORY;
        }
    }
    weir__buffer_fini(&buffer);
    return error;
}

/* --- what is in it, and for how long --- */

static int copy_providers(struct weir__answer *answer, const struct weir__answer_parts *parts)
{
    size_t count = parts->providers_count;
    answer->providers_known = parts->providers_known;
    answer->providers_complete = parts->providers_complete;
    if (count > WEIR__ANSWER_PROVIDERS_MAX)
        count = WEIR__ANSWER_PROVIDERS_MAX;
    if (count == 0)
        return 0;
    answer->providers = weir__base_alloc(count, sizeof(answer->providers[0]));
    answer->provider_bytes = weir__base_alloc(count, sizeof(answer->provider_bytes[0]));
    if (!answer->providers || !answer->provider_bytes)
        return -WEIR_E_NO_MEMORY;
    for (size_t i = 0; i < count; i++) {
        answer->providers[i] = parts->providers[i];
        answer->provider_bytes[i] = *parts->provider_bytes[parts->providers[i].record];
    }
    answer->providers_count = count;
    return 0;
}

/* When nothing is left of what it says, by the wall clock: its name has expired, or, of an address,
 * all of its providers have. INT64_MAX: there is nothing that could. */
static int64_t expires_s(const struct weir__answer *answer)
{
    int64_t last_s = 0;
    if (answer->result || (!answer->has_name && answer->providers_count == 0))
        return INT64_MAX;
    if (answer->has_name)
        return answer->name_record.expires_s;
    for (size_t i = 0; i < answer->providers_count; i++)
        if (answer->providers[i].expires_s > last_s)
            last_s = answer->providers[i].expires_s;
    return last_s;
}

/* The same by the monotonic clock. */
static uint64_t expires_ns(const struct weir__answer *answer,
                           const struct weir__answer_parts *parts)
{
    int64_t at_s = expires_s(answer);
    if (at_s == INT64_MAX)
        return WEIR_NEVER;
    if (at_s <= parts->now_s)
        return parts->now_ns;
    uint64_t left_s = (uint64_t)(at_s - parts->now_s);
    if (left_s > WEIR_NEVER / WEIR_NS_PER_S)
        return WEIR_NEVER;
    return weir_time_add(parts->now_ns, left_s * WEIR_NS_PER_S);
}

static void set_times(struct weir__answer *answer, const struct weir__answer_parts *parts)
{
    uint64_t end_ns = expires_ns(answer, parts);
    answer->asked_ns = parts->asked_ns;
    answer->made_ns = parts->now_ns;
    answer->made_s = parts->now_s;
    answer->first_expires_s = INT64_MAX;
    for (size_t i = 0; i < answer->providers_count; i++)
        if (answer->providers[i].expires_s < answer->first_expires_s)
            answer->first_expires_s = answer->providers[i].expires_s;
    answer->fresh_until_ns = weir_time_add(parts->now_ns, parts->ttl_ns);
    answer->stale_until_ns = weir_time_add(answer->fresh_until_ns, parts->stale_ns);
    if (answer->fresh_until_ns > end_ns)
        answer->fresh_until_ns = end_ns;
    if (answer->stale_until_ns > end_ns)
        answer->stale_until_ns = end_ns;
}

static int fill(struct weir__answer *answer, const struct weir__answer_parts *parts)
{
    answer->question = *parts->question;
    answer->result = parts->result;
    weir__question_key_of(parts->question, &answer->key);
    if (parts->name) {
        answer->has_name = true;
        answer->name_record = *parts->name;
        answer->name_bytes = *parts->name_bytes;
        answer->manifest = parts->name->address;
        weir__question_key_of(
            &(struct weir__question){.kind = WEIR__ASK_PROVIDERS, .address = answer->manifest},
            &answer->providers_key);
    } else {
        answer->manifest = parts->question->address;
    }
    size_t length = strlen(parts->source);
    if (length >= sizeof(answer->source))
        length = sizeof(answer->source) - 1;
    memcpy(answer->source, parts->source, length);
    int error = parts->result ? 0 : copy_providers(answer, parts);
    set_times(answer, parts);
    if (!error && parts->result == 0)
        error = make_body(answer);
    answer->bytes = sizeof(*answer) + answer->body_length + 1 +
                    answer->providers_count *
                        (sizeof(answer->providers[0]) + sizeof(answer->provider_bytes[0]));
    return error;
}

int weir__answer_new(struct weir__answer **ret_answer, const struct weir__answer_parts *parts)
{
    struct weir__answer *answer = weir__base_alloc(1, sizeof(*answer));
    if (!answer)
        return -WEIR_E_NO_MEMORY;
    weir_snapshot_init(&answer->snapshot, answer_free);
    int error = fill(answer, parts);
    if (error) {
        weir__answer_unref(answer);
        return error;
    }
    *ret_answer = answer;
    return 0;
}

/* --- without what has expired --- */

/* Times come out as they were: what is left lives no shorter than what was there. */
static int copy_without(const struct weir__answer *answer, int64_t now_s,
                        struct weir__provider *providers, const struct weir__record_bytes **bytes,
                        struct weir__answer **ret_answer)
{
    size_t count = 0;
    for (size_t i = 0; i < answer->providers_count; i++)
        if (answer->providers[i].expires_s > now_s) {
            providers[count] = answer->providers[i];
            providers[count].record = (uint32_t)count;
            bytes[count++] = &answer->provider_bytes[i];
        }
    if (count == 0 && !answer->has_name)
        return -WEIR_E_NOT_FOUND;
    return weir__answer_new(
        ret_answer,
        &(struct weir__answer_parts){
            .question = &answer->question,
            .name = answer->has_name ? &answer->name_record : NULL,
            .name_bytes = answer->has_name ? &answer->name_bytes : NULL,
            .providers = providers,
            .providers_count = count,
            .providers_known = answer->providers_known - answer->providers_count + count,
            .providers_complete = answer->providers_complete,
            .provider_bytes = bytes,
            .source = answer->source,
            .asked_ns = answer->asked_ns,
            .now_ns = answer->made_ns,
            .now_s = answer->made_s,
            .ttl_ns = answer->fresh_until_ns - answer->made_ns,
            .stale_ns = answer->stale_until_ns - answer->fresh_until_ns,
        });
}

int weir__answer_trim(struct weir__answer **answer, int64_t now_s)
{
    struct weir__answer *old = *answer, *made = NULL;
    if (weir__answer_is_whole(old, now_s))
        return 0;
    struct weir__provider *providers = weir__base_alloc(old->providers_count, sizeof(providers[0]));
    const struct weir__record_bytes **bytes =
        weir__base_alloc(old->providers_count, sizeof(bytes[0]));
    int error =
        providers && bytes ? copy_without(old, now_s, providers, bytes, &made) : -WEIR_E_NO_MEMORY;
    weir__base_free(providers);
    weir__base_free(bytes);
    weir__answer_unref(old);
    *answer = made;
    return error;
}

uint64_t weir__answer_left_ns(const struct weir__answer *answer, uint64_t now_ns, int64_t now_s)
{
    uint64_t left_ns = answer->fresh_until_ns > now_ns ? answer->fresh_until_ns - now_ns : 0;
    int64_t left_s = answer->first_expires_s > now_s ? answer->first_expires_s - now_s : 0;
    return (uint64_t)left_s < left_ns / WEIR_NS_PER_S ? (uint64_t)left_s * WEIR_NS_PER_S : left_ns;
}
