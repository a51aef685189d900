/* Tests of the words of delegated routing: who wants lines, and what is told. */
#include <stdio.h>
#include <string.h>

#include "routing_text.h"
#include "tap.h"

TEST(who_wants_lines)
{
    static const struct {
        const char *accept;
        bool wants;
    } rows[] = {
        {NULL, false},
        {"", false},
        {"*/*", false},
        {"application/json", false},
        {"application/x-ndjson", true},
        {"application/x-ndjson, application/json;q=0.8", true},
        {"application/json;q=0.8, application/X-NDJSON", true},
        {"application/json, application/x-ndjson;q=0.5", false},
        {"application/json, application/x-ndjson", true},
        {"application/x-ndjson;q=0", false},
        {"application/x-ndjson; q=0.1", true},
        {"application/x-ndjson;charset=utf-8;q=0.3,application/json;q=0.2", true},
        {"application/x-ndjsonx", false},
        {"application/x-ndjson;q=", false},
        {" , ,application/x-ndjson", true},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        CHECK_EQ(weir__routing_wants_lines(rows[i].accept), rows[i].wants);
}

static struct weir__provider providers[WEIR__ROUTING_JSON_MAX + 5];
static struct weir__record_bytes bytes[WEIR__ROUTING_JSON_MAX + 5];

static struct weir__answer make(size_t count)
{
    for (size_t i = 0; i < count; i++) {
        snprintf(providers[i].url, sizeof(providers[i].url), "http://10.0.0.%zu:8470", i);
        snprintf(providers[i].region, sizeof(providers[i].region), "%s", i ? "eu" : "");
        bytes[i].length = 100;
        memset(bytes[i].bytes, (int)i, 100);
    }
    return (struct weir__answer){
        .providers = providers, .providers_count = count, .provider_bytes = bytes};
}

TEST(lines)
{
    struct weir__answer answer = make(2);
    struct weir__buffer buffer;
    weir__buffer_init(&buffer, 1 << 20);
    CHECK_EQ(weir__routing_put_line(&buffer, &answer, 1), 0);
    const char *text = weir__buffer_text(&buffer);
    CHECK_HAS(text, "{\"Schema\":\"peer\",\"ID\":\"12D3KooW");
    CHECK_HAS(text, "\"Addrs\":[\"/ip4/10.0.0.1/tcp/8470/http\"]");
    CHECK_HAS(text, "\"Protocols\":[\"transport-weir-http\"]");
    CHECK_HAS(text, "\"url\":\"http://10.0.0.1:8470\",\"region\":\"eu\",\"record\":\"AQEB");
    CHECK_EQ(strchr(text, '\n') - text, (long)strlen(text) - 1);
    weir__buffer_fini(&buffer);
}

static size_t count_of(const char *text, const char *part)
{
    size_t count = 0;
    while ((text = strstr(text, part))) {
        count++;
        text += strlen(part);
    }
    return count;
}

TEST(an_object_has_at_most_a_hundred)
{
    struct weir__answer answer = make(WEIR__ROUTING_JSON_MAX + 5);
    struct weir__buffer buffer;
    weir__buffer_init(&buffer, 1 << 20);
    CHECK_EQ(weir__routing_put_object(&buffer, &answer), 0);
    CHECK_EQ(count_of(weir__buffer_text(&buffer), "\"Schema\""), WEIR__ROUTING_JSON_MAX);
    weir__buffer_fini(&buffer);
}

TEST(nothing_is_an_empty_list)
{
    struct weir__buffer buffer;
    weir__buffer_init(&buffer, 1 << 20);
    CHECK_EQ(weir__routing_put_object(&buffer, NULL), 0);
    CHECK_STR(weir__buffer_text(&buffer), "{\"Providers\":[]}\n");
    weir__buffer_fini(&buffer);
}

TAP_MAIN()
