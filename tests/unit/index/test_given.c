/* Tests of the bodies and queries of requests: what is taken, and that nothing else is. */
#include <stdio.h>
#include <string.h>

#include <weir/error.h>

#include "given.h"
#include "tap.h"

#define RECORD "d3I" /* "wr" */

static int name_of(const char *text, struct weir__given *given)
{
    const char *message = NULL;
    int error = weir__given_name(given, text, strlen(text), &message);
    CHECK_EQ(error != 0, message != NULL);
    return error;
}

TEST(record_alone)
{
    struct weir__given given;
    CHECK_EQ(name_of("{\"record\": \"" RECORD "\"}", &given), 0);
    CHECK_EQ(given.record.length, 2);
    CHECK(memcmp(given.record.bytes, "wr", 2) == 0);
    CHECK(!given.has_previous);
}

TEST(with_a_previous)
{
    struct weir__given given;
    CHECK_EQ(name_of("{\"previous\": 0, \"record\": \"" RECORD "\"}", &given), 0);
    CHECK(given.has_previous && given.previous == 0);
    CHECK_EQ(name_of("{\"previous\": 9223372036854775807, \"record\": \"" RECORD "\"}", &given), 0);
    CHECK_EQ(given.previous, INT64_MAX);
}

TEST(what_is_refused)
{
    static const char *const texts[] = {
        "",
        "null",
        "[]",
        "{}",
        "{\"record\": 1}",
        "{\"record\": null}",
        "{\"record\": \"\"}",
        "{\"record\": \"!\"}",
        "{\"record\": \"" RECORD "=\"}",
        "{\"Record\": \"" RECORD "\"}",
        "{\"record\": \"" RECORD "\", \"other\": 1}",
        "{\"record\": \"" RECORD "\", \"record\": \"" RECORD "\"}",
        "{\"record\": \"" RECORD "\", \"previous\": -1}",
        "{\"record\": \"" RECORD "\", \"previous\": 1.0}",
        "{\"record\": \"" RECORD "\", \"previous\": \"1\"}",
        "{\"record\": \"" RECORD "\", \"previous\": null}",
        "{\"record\": \"" RECORD "\", \"previous\": 18446744073709551616}",
        "{\"record\": \"" RECORD "\"} x",
        "{\"record\": \"" RECORD "\"",
        "{\"record\": \"d3\\u0000I\"}",
    };
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        struct weir__given given = {.previous = 77};
        CHECK_EQ(name_of(texts[i], &given), -WEIR_E_INVALID);
        CHECK_EQ(given.previous, 77);
    }
}

TEST(providers_have_no_previous)
{
    static const char text[] = "{\"record\": \"" RECORD "\", \"previous\": 1}";
    struct weir__given given;
    const char *message = NULL;
    CHECK_EQ(weir__given_provider(&given, text, strlen(text), &message), -WEIR_E_INVALID);
    CHECK_HAS(message, "not known");
    CHECK_EQ(weir__given_provider(&given, "{\"record\": \"" RECORD "\"}", 17, &message), 0);
}

/* A body as deep or as long as it may come must not take the stack or the time. */
TEST(bombs)
{
    static char text[1 << 20];
    struct weir__given given;
    memset(text, '[', sizeof(text) - 1);
    CHECK_EQ(name_of(text, &given), -WEIR_E_INVALID);
    text[WEIR__GIVEN_BODY_MAX] = '\0';
    CHECK_EQ(name_of(text, &given), -WEIR_E_INVALID);
}

TEST(keys)
{
    static const char address[] =
        "{\"key\": \"b3:af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262\"}";
    struct weir__question question;
    const char *message = NULL;
    CHECK_EQ(weir__given_key(&question, address, strlen(address), &message), 0);
    CHECK_EQ(question.kind, WEIR__ASK_PROVIDERS);
    CHECK_EQ(weir__given_key(&question, "{\"key\": \"team/site\"}", 20, &message), 0);
    CHECK_EQ(question.kind, WEIR__ASK_NAME);
    CHECK_STR(question.name.text, "team/site");
    CHECK_EQ(weir__given_key(&question, "{\"key\": \"Team\"}", 15, &message), -WEIR_E_INVALID);
    CHECK_HAS(message, "neither");
    CHECK_EQ(weir__given_key(&question, "{}", 2, &message), -WEIR_E_INVALID);
}

static int list_of(const char *query, struct weir__given_list *list)
{
    const char *message;
    return weir__given_list(list, query, &message);
}

TEST(lists)
{
    struct weir__given_list list;
    CHECK_EQ(list_of("", &list), 0);
    CHECK_STR(list.prefix, "");
    CHECK_EQ(list.limit, WEIR__GIVEN_LIMIT);
    CHECK_EQ(list_of("limit=1000&prefix=team%2F&after=team/a", &list), 0);
    CHECK_STR(list.prefix, "team/");
    CHECK_STR(list.after, "team/a");
    CHECK_EQ(list.limit, 1000);
}

TEST(lists_that_are_none)
{
    static const char *const queries[] = {
        "limit=0",  "limit=1001",
        "limit=",   "limit=-1",
        "limit=1x", "limit=1&limit=2",
        "prefix=A", "prefix=%00",
        "prefix=%", "after=",
        "after=/x", "x=1",
        "prefix",   "&&",
        "=",        "limit=99999999999999999999",
    };
    char longest[400] = "prefix=";
    struct weir__given_list list = {.limit = 5};
    memset(longest + 7, 'a', 300);
    for (size_t i = 0; i < sizeof(queries) / sizeof(queries[0]); i++)
        CHECK_EQ(list_of(queries[i], &list), -WEIR_E_INVALID);
    CHECK_EQ(list_of(longest, &list), -WEIR_E_INVALID);
    CHECK_EQ(list.limit, 5);
}

TAP_MAIN()
