/* Tests of what is taken from the answer of a sibling. */
#include <stdio.h>
#include <string.h>

#include <weir/error.h>

#include "source_sibling.h"
#include "tap.h"

static struct weir__record_bytes room[WEIR__REPLY_RECORDS_MAX];
static struct weir__reply reply;

static int read_as(enum weir__question_kind kind, const char *text)
{
    struct weir__question question = {.kind = kind};
    reply = (struct weir__reply){.records = room};
    return weir__sibling_reply(&reply, &question, text, strlen(text));
}

TEST(a_name)
{
    CHECK_EQ(
        read_as(WEIR__ASK_NAME, "{\"record\":\"d29yZA\",\"providers\":[{\"record\":\"AAAA\"}]}"),
        0);
    CHECK_EQ(reply.count, 1);
    CHECK(reply.records[0].length == 4 && memcmp(reply.records[0].bytes, "word", 4) == 0);
    CHECK_EQ(read_as(WEIR__ASK_NAME, "{\"manifest\":\"x\"}"), -WEIR_E_NOT_FOUND);
    CHECK_EQ(reply.dropped, 1);
    CHECK_EQ(read_as(WEIR__ASK_NAME, "{\"record\":\"d29yZA==\"}"), -WEIR_E_NOT_FOUND);
    CHECK_EQ(read_as(WEIR__ASK_NAME, "[]"), -WEIR_E_CORRUPT);
    CHECK_EQ(read_as(WEIR__ASK_NAME, ""), -WEIR_E_CORRUPT);
}

TEST(one_that_is_too_long)
{
    char text[1024] = "{\"record\":\"";
    size_t head = strlen(text);
    memset(text + head, 'A', 804);
    memcpy(text + head + 804, "\"}", 3);
    CHECK_EQ(read_as(WEIR__ASK_NAME, text), -WEIR_E_NOT_FOUND);
    CHECK_EQ(reply.dropped, 1);
    CHECK_EQ(reply.oversized, 1);
}

TEST(providers)
{
    CHECK_EQ(read_as(WEIR__ASK_PROVIDERS, "{\"record\":\"AAAA\",\"providers\":[{\"record\":"
                                          "\"d29yZA\"},{\"record\":\"b3RoZXI\"},{},7,null]}"),
             0);
    CHECK_EQ(reply.count, 2);
    CHECK_EQ(reply.dropped, 3);
    CHECK_EQ(read_as(WEIR__ASK_PROVIDERS, "{\"providers\":[]}"), -WEIR_E_NOT_FOUND);
    CHECK_EQ(read_as(WEIR__ASK_PROVIDERS, "{}"), -WEIR_E_CORRUPT);
    CHECK_EQ(read_as(WEIR__ASK_PROVIDERS, "{\"providers\":{}}"), -WEIR_E_CORRUPT);
}

TEST(sources_that_cannot_be)
{
    static const char *const bad[] = {
        "", "ftp://x", "http://", "localhost:80", "http://x/?a=b", "http://x/#a"};
    struct weir__source *source = NULL;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct weir__source_sibling_options options = {.url = bad[i]};
        const char *why = NULL;
        CHECK_EQ(weir__source_sibling_new(&source, &options, &why), -WEIR_E_INVALID);
        CHECK(why && !source);
    }
    struct weir__source_sibling_options options = {
        .url = "https://user:pw@a-very-long-name.example.org:8443/path/", .token = "t"};
    const char *why = NULL;
    CHECK_EQ(weir__source_sibling_new(&source, &options, &why), 0);
    CHECK_HAS(source->name, "sibling long-name~");
    CHECK_HAS(source->name, ":8443");
    CHECK_STR(source->ops->kind, "sibling");
    weir__source_free(source);
    weir__source_free(NULL);
}

TAP_MAIN()
