/* Answers: what is in the body, how long it counts, how much it may be. */
#include "tap.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

#include <weir/clock.h>
#include <weir/error.h>

#include "answer.h"

#define S WEIR_NS_PER_S

static struct weir__answer *answer;
static struct weir__key key;
static struct weir__question question;

static void begin(void)
{
    unsigned char seed[32] = {9};
    CHECK(weir__key_load_library() == NULL);
    weir__key_from_seed(&key, seed);
    memset(&question, 0, sizeof(question));
    question.kind = WEIR__ASK_PROVIDERS;
    question.address.bytes[0] = 1;
}

static struct weir__answer_parts parts_of(size_t count, struct weir__provider *providers,
                                          const struct weir__record_bytes **bytes)
{
    return (struct weir__answer_parts){.question = &question,
                                       .providers = providers,
                                       .provider_bytes = bytes,
                                       .providers_count = count,
                                       .providers_known = count,
                                       .providers_complete = true,
                                       .source = "dht 127.0.0.1:8000",
                                       .asked_ns = 5 * S,
                                       .now_ns = 10 * S,
                                       .now_s = 1000,
                                       .ttl_ns = 10 * S,
                                       .stale_ns = 60 * S};
}

/* The body with one of its ends is one JSON object. */
static json_t *parse(const char *end)
{
    char *text;
    CHECK(asprintf(&text, "%.*s%s", (int)answer->body_length, answer->body, end) > 0);
    json_t *json = json_loads(text, 0, NULL);
    free(text);
    CHECK(json_is_object(json));
    return json;
}

TEST(the_body_has_what_was_found_with_its_proof)
{
    begin();
    struct weir__record record = {.kind = WEIR__RECORD_PROVIDER,
                                  .sequence = 1,
                                  .issued_s = 900,
                                  .expires_s = 2000,
                                  .address = question.address,
                                  .url = "http://a.example/x",
                                  .region = "eu-1"};
    struct weir__record_bytes signed_bytes, parsed;
    const struct weir__record_bytes *bytes[1] = {&signed_bytes};
    struct weir__provider provider = {.key = key.id,
                                      .issued_s = 900,
                                      .expires_s = 2000,
                                      .latency_ns = 1500000,
                                      .url = "http://a.example/x",
                                      .region = "eu-1"};
    CHECK_EQ(weir__record_sign(&signed_bytes, &record, &key), 0);
    struct weir__answer_parts parts = parts_of(1, &provider, bytes);
    CHECK_EQ(weir__answer_new(&answer, &parts), 0);
    json_t *json = parse(weir__answer_end_fresh);
    CHECK(json_is_false(json_object_get(json, "stale")));
    json_t *told = json_array_get(json_object_get(json, "providers"), 0);
    CHECK_STR(json_string_value(json_object_get(told, "url")), "http://a.example/x");
    CHECK_STR(json_string_value(json_object_get(told, "region")), "eu-1");
    CHECK_EQ(json_integer_value(json_object_get(told, "expires")), 2000);
    CHECK_EQ((int)(json_number_value(json_object_get(told, "latency_ms")) * 10), 15);
    const char *text = json_string_value(json_object_get(told, "record"));
    CHECK_EQ(weir__record_parse(text, strlen(text), &parsed), 0);
    CHECK_EQ(weir__record_judge(&record, parsed.bytes, parsed.length, NULL, 1000),
             WEIR__RECORD_GOOD);
    CHECK_STR(json_string_value(json_object_get(json, "source")), "dht 127.0.0.1:8000");
    json_decref(json);
    json = parse(weir__answer_end_stale);
    CHECK(json_is_true(json_object_get(json, "stale")));
    json_decref(json);
    CHECK_EQ(answer->asked_ns, 5 * S);
    CHECK_EQ(answer->fresh_until_ns, 20 * S);
    CHECK_EQ(answer->stale_until_ns, 80 * S);
    weir__answer_unref(answer);
}

TEST(it_counts_no_longer_than_its_last_provider)
{
    begin();
    struct weir__record_bytes none = {.length = 1};
    const struct weir__record_bytes *bytes[2] = {&none, &none};
    struct weir__provider providers[2] = {{.expires_s = 5000}, {.expires_s = 1003, .record = 1}};
    struct weir__answer_parts parts = parts_of(2, providers, bytes);
    /* One that goes soon shortens nothing but what others may keep. */
    CHECK_EQ(weir__answer_new(&answer, &parts), 0);
    CHECK_EQ(answer->fresh_until_ns, 20 * S);
    CHECK_EQ(answer->stale_until_ns, 80 * S);
    CHECK_EQ(weir__answer_left_ns(answer, 10 * S, 1000), 3 * S);
    CHECK_EQ(weir__answer_left_ns(answer, 13 * S, 1003), 0);
    weir__answer_unref(answer);
    providers[0].expires_s = 1030;
    CHECK_EQ(weir__answer_new(&answer, &parts), 0);
    CHECK_EQ(answer->fresh_until_ns, 20 * S);
    CHECK_EQ(answer->stale_until_ns, 40 * S);
    weir__answer_unref(answer);
    providers[0].expires_s = 999;
    CHECK_EQ(weir__answer_new(&answer, &parts), 0);
    CHECK_EQ(answer->fresh_until_ns, 13 * S);
    CHECK_EQ(answer->stale_until_ns, 13 * S);
    weir__answer_unref(answer);
}

TEST(it_counts_no_longer_than_its_name)
{
    begin();
    struct weir__record_bytes none = {.length = 1};
    const struct weir__record_bytes *bytes[1] = {&none};
    struct weir__provider provider = {.expires_s = 5000};
    struct weir__record name = {.kind = WEIR__RECORD_NAME, .sequence = 1, .expires_s = 1015};
    struct weir__answer_parts parts = parts_of(1, &provider, bytes);
    parts.name = &name;
    parts.name_bytes = &none;
    CHECK_EQ(weir__answer_new(&answer, &parts), 0);
    CHECK_EQ(answer->fresh_until_ns, 20 * S);
    CHECK_EQ(answer->stale_until_ns, 25 * S);
    weir__answer_unref(answer);
}

TEST(what_has_expired_is_told_no_more)
{
    begin();
    struct weir__record_bytes first = {.length = 1, .bytes = "a"},
                              last = {.length = 1, .bytes = "c"};
    const struct weir__record_bytes *bytes[3] = {&first, &first, &last};
    struct weir__provider providers[3] = {{.expires_s = 1003, .url = "http://a"},
                                          {.expires_s = 1006, .url = "http://b", .record = 1},
                                          {.expires_s = 5000, .url = "http://c", .record = 2}};
    struct weir__answer_parts parts = parts_of(3, providers, bytes);
    parts.providers_known = 10;
    CHECK_EQ(weir__answer_new(&answer, &parts), 0);
    struct weir__answer *whole = answer;
    CHECK(weir__answer_is_whole(answer, 1002));
    CHECK_EQ(weir__answer_trim(&answer, 1002), 0);
    CHECK(answer == whole);
    CHECK(!weir__answer_is_whole(answer, 1003));
    char etag[WEIR__ANSWER_ETAG];
    memcpy(etag, answer->etag, sizeof(etag));
    CHECK_EQ(weir__answer_trim(&answer, 1006), 0);
    CHECK_EQ(answer->providers_count, 1);
    CHECK_EQ(answer->providers_known, 8);
    CHECK_STR(answer->providers[0].url, "http://c");
    CHECK_EQ(answer->provider_bytes[0].bytes[0], 'c');
    CHECK(strcmp(answer->etag, etag) != 0);
    CHECK_EQ(answer->asked_ns, 5 * S);
    CHECK_EQ(answer->made_ns, 10 * S);
    CHECK_EQ(answer->fresh_until_ns, 20 * S);
    CHECK_EQ(answer->stale_until_ns, 80 * S);
    json_t *json = parse(weir__answer_end_fresh);
    CHECK_EQ(json_array_size(json_object_get(json, "providers")), 1);
    CHECK_EQ(json_integer_value(json_object_get(json, "providers_known")), 8);
    json_decref(json);
    /* With the last one nothing is left of an address, and the name of a name. */
    CHECK_EQ(weir__answer_trim(&answer, 5000), -WEIR_E_NOT_FOUND);
    CHECK(answer == NULL);
    struct weir__record name = {.kind = WEIR__RECORD_NAME, .sequence = 1, .expires_s = 9000};
    parts.name = &name;
    parts.name_bytes = &first;
    CHECK_EQ(weir__answer_new(&answer, &parts), 0);
    CHECK_EQ(weir__answer_trim(&answer, 5000), 0);
    CHECK_EQ(answer->providers_count, 0);
    CHECK_EQ(answer->name_record.sequence, 1);
    CHECK_EQ(answer->fresh_until_ns, 20 * S);
    CHECK(weir__answer_is_whole(answer, 100000));
    weir__answer_unref(answer);
}

/* The largest there can be: as many as may be in it, each with the longest record and url. */
TEST(the_largest_answer_fits)
{
    enum { COUNT = WEIR__ANSWER_PROVIDERS_MAX + 50 };
    static struct weir__provider providers[COUNT];
    static struct weir__record_bytes longest = {.length = WEIR__RECORD_MAX};
    static const struct weir__record_bytes *bytes[COUNT];
    begin();
    for (uint32_t i = 0; i < COUNT; i++) {
        memset(providers[i].url, '"', WEIR__PROVIDER_URL_MAX);
        memset(providers[i].region, 'r', WEIR__REGION_MAX);
        providers[i].expires_s = INT64_MAX - 1;
        providers[i].latency_ns = UINT64_MAX;
        providers[i].record = i;
        bytes[i] = &longest;
    }
    struct weir__answer_parts parts = parts_of(COUNT, providers, bytes);
    CHECK_EQ(weir__answer_new(&answer, &parts), 0);
    CHECK_EQ(answer->providers_count, WEIR__ANSWER_PROVIDERS_MAX);
    CHECK_EQ(answer->providers_known, COUNT);
    CHECK(answer->body_length <= WEIR__ANSWER_BODY_MAX);
    CHECK(answer->bytes < 1 << 20);
    printf("# the largest body has %zu bytes, the answer %zu\n", answer->body_length,
           answer->bytes);
    json_t *json = parse(weir__answer_end_fresh);
    CHECK_EQ(json_array_size(json_object_get(json, "providers")), WEIR__ANSWER_PROVIDERS_MAX);
    json_decref(json);
    weir__answer_unref(answer);
}

TEST(a_negative_one_has_no_body)
{
    begin();
    struct weir__answer_parts parts = parts_of(0, NULL, NULL);
    parts.result = -WEIR_E_NOT_FOUND;
    CHECK_EQ(weir__answer_new(&answer, &parts), 0);
    CHECK(!answer->body && answer->body_length == 0);
    CHECK_EQ(answer->fresh_until_ns, 20 * S);
    weir__answer_unref(answer);
}

TAP_MAIN()
