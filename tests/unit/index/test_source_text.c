/* Tests of the JSON and the base64 that sources speak. */
#include <string.h>

#include <weir/error.h>

#include "source_text.h"
#include "tap.h"

static int json(const char *text)
{
    WEIR_CLEANUP(weir__source_json_free)
    json_t *got = NULL;
    return weir__source_json(text, strlen(text), &got);
}

TEST(json_is_strict)
{
    CHECK_EQ(json("{}"), 0);
    CHECK_EQ(json(" [1, {\"a\": \"\\\"[[[[[[[[[[[[[[\"}] "), 0); /* in a text depth is none */
    CHECK_EQ(json(""), -WEIR_E_CORRUPT);
    CHECK_EQ(json("{} x"), -WEIR_E_CORRUPT);
    CHECK_EQ(json("{\"a\":1,\"a\":1}"), -WEIR_E_CORRUPT);
    CHECK_EQ(json("{\"a\":\"\xff\"}"), -WEIR_E_CORRUPT);
    CHECK_EQ(json("[[[[[[[[[[[[]]]]]]]]]]]]"), 0);
    CHECK_EQ(json("[[[[[[[[[[[[[]]]]]]]]]]]]]"), -WEIR_E_CORRUPT);
    CHECK_EQ(json("]]]]{\"a\":[[[[[[[[[[[[[[[["), -WEIR_E_CORRUPT);
    CHECK_EQ(json("\"\\"), -WEIR_E_CORRUPT);
}

static bool number(const char *text, uint64_t *ret_number)
{
    WEIR_CLEANUP(weir__source_json_free)
    json_t *got = NULL;
    CHECK_EQ(weir__source_json(text, strlen(text), &got), 0);
    return weir__source_number(json_array_get(got, 0), ret_number);
}

TEST(numbers)
{
    uint64_t got = 0;
    CHECK(number("[\"12\"]", &got) && got == 12);
    CHECK(number("[7]", &got) && got == 7);
    CHECK(number("[\"9999999999999999999\"]", &got) && got == UINT64_C(9999999999999999999));
    CHECK(!number("[\"99999999999999999999\"]", &got) && !number("[\"\"]", &got));
    CHECK(!number("[-1]", &got) && !number("[\"-1\"]", &got) && !number("[\" 1\"]", &got));
    CHECK(!number("[1.5]", &got) && !number("[null]", &got) && !number("[]", &got));
}

static int decode(const char *text, char *ret, size_t room, size_t *ret_length)
{
    return weir__source_base64_get(text, strlen(text), (unsigned char *)ret, room, ret_length);
}

/* The vectors of RFC 4648. */
TEST(base64)
{
    static const char *const pairs[][2] = {
        {"", ""},
        {"f", "Zg=="},
        {"fo", "Zm8="},
        {"foo", "Zm9v"},
        {"foob", "Zm9vYg=="},
        {"fooba", "Zm9vYmE="},
        {"foobar", "Zm9vYmFy"},
        {"\xfb\xff", "+/8="},
    };
    for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
        char room[16];
        size_t length = 99;
        WEIR_CLEANUP(weir__buffer_fini)
        struct weir__buffer buffer;
        weir__buffer_init(&buffer, 64);
        CHECK_EQ(weir__source_base64_put(&buffer, pairs[i][0], strlen(pairs[i][0])), 0);
        CHECK_STR(weir__buffer_text(&buffer), pairs[i][1]);
        CHECK_EQ(decode(pairs[i][1], room, sizeof(room), &length), 0);
        CHECK_EQ(length, strlen(pairs[i][0]));
        CHECK(memcmp(room, pairs[i][0], length) == 0);
    }
}

TEST(base64_has_one_text)
{
    static const char *const bad[] = {"Zg",   "Zg=",  "Zg===",  "Z===",     "====", "Zh==", "Zm9=",
                                      "Zm-v", "Zm v", "Zm9v\n", "Zg==Zg==", "=Zg=", "Zm=v"};
    char room[16];
    size_t length;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        if (decode(bad[i], room, sizeof(room), &length) != -WEIR_E_INVALID)
            CHECK_STR(bad[i], "invalid");
    CHECK_EQ(decode("Zm9vYmFy", room, 5, &length), -WEIR_E_TOO_LARGE);
    CHECK_EQ(decode("Zm9vYmE=", room, 5, &length), 0);
}

TAP_MAIN()
