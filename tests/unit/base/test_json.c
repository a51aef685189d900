/* test_json.c - escapes, nesting, limits. */
#include "json.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include <weir/error.h>
#include <weir/fault.h>

#include "tap.h"

static struct weir__buffer buffer;
static struct weir__json json;

static void begin(size_t max)
{
    weir__buffer_fini(&buffer);
    weir__buffer_init(&buffer, max);
    weir__json_init(&json, &buffer);
}

/* The text of one string value, without its quotes' newline. */
static const char *escaped(const char *bytes, size_t length)
{
    begin(1000);
    weir__json_bytes(&json, bytes, length);
    CHECK_EQ(weir__json_finish(&json), 0);
    weir__buffer_truncate(&buffer, weir__buffer_length(&buffer) - 1);
    return weir__buffer_text(&buffer);
}

#define ESCAPED(literal) escaped(literal, sizeof(literal) - 1)

TEST(writes_every_kind_of_value)
{
    begin(1000);
    weir__json_object(&json);
    weir__json_key(&json, "text");
    weir__json_string(&json, "a");
    weir__json_key(&json, "numbers");
    weir__json_array(&json);
    weir__json_u64(&json, UINT64_MAX);
    weir__json_i64(&json, INT64_MIN);
    weir__json_real(&json, 0.5);
    weir__json_real(&json, INFINITY);
    weir__json_real(&json, NAN);
    weir__json_end(&json);
    weir__json_key(&json, "none");
    weir__json_object(&json);
    weir__json_end(&json);
    weir__json_key(&json, "yes");
    weir__json_bool(&json, true);
    weir__json_key(&json, "no");
    weir__json_bool(&json, false);
    weir__json_key(&json, "nothing");
    weir__json_null(&json);
    weir__json_end(&json);
    CHECK_EQ(weir__json_finish(&json), 0);
    CHECK_STR(weir__buffer_text(&buffer),
              "{\"text\":\"a\",\"numbers\":[18446744073709551615,-9223372036854775808,0.5,null,"
              "null],\"none\":{},\"yes\":true,\"no\":false,\"nothing\":null}\n");
}

TEST(escapes_what_json_must_not_contain)
{
    CHECK_STR(ESCAPED("plain"), "\"plain\"");
    CHECK_STR(ESCAPED("\"\\/"), "\"\\\"\\\\/\"");
    CHECK_STR(ESCAPED("\b\t\n\f\r"), "\"\\b\\t\\n\\f\\r\"");
    CHECK_STR(ESCAPED("\0\1\x1f\x7f"), "\"\\u0000\\u0001\\u001f\\u007f\"");
    CHECK_STR(ESCAPED("!a"), "\"!a\"");
}

TEST(keeps_utf8_and_replaces_what_is_not)
{
    CHECK_STR(ESCAPED("\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80"),
              "\"\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80\"");
    CHECK_STR(ESCAPED("a\xff"), "\"a\xef\xbf\xbd\"");
    /* Cut short, overlong, a surrogate, too high, a lone continuation. */
    CHECK_STR(ESCAPED("\xc3"), "\"\xef\xbf\xbd\"");
    CHECK_STR(ESCAPED("\xc0\x80"), "\"\xef\xbf\xbd\xef\xbf\xbd\"");
    CHECK_STR(ESCAPED("\xe0\x80\x80"), "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"");
    CHECK_STR(ESCAPED("\xed\xa0\x80"), "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"");
    CHECK_STR(ESCAPED("\xf4\x90\x80\x80"), "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"");
    CHECK_STR(ESCAPED("\x80z"), "\"\xef\xbf\xbdz\"");
}

TEST(values_at_depth_zero_stand_on_lines)
{
    begin(100);
    weir__json_u64(&json, 1);
    weir__json_array(&json);
    weir__json_end(&json);
    CHECK_EQ(weir__json_finish(&json), 0);
    CHECK_STR(weir__buffer_text(&buffer), "1\n[]\n");
}

TEST(the_buffer_may_be_emptied_between_values)
{
    /* No more than one element fits, and there is no end to them. */
    begin(8);
    weir__json_array(&json);
    for (int i = 0; i < 100; i++) {
        weir__json_u64(&json, 12345);
        CHECK_STR(weir__buffer_text(&buffer), i == 0 ? "[12345" : ",12345");
        weir__buffer_truncate(&buffer, 0);
    }
    weir__json_end(&json);
    CHECK_EQ(weir__json_finish(&json), 0);
    CHECK_STR(weir__buffer_text(&buffer), "]\n");
}

TEST(too_deep_and_too_long_are_overflow)
{
    begin(1000);
    for (int i = 0; i <= WEIR__JSON_DEPTH_MAX; i++)
        weir__json_array(&json);
    for (int i = 0; i <= WEIR__JSON_DEPTH_MAX; i++)
        weir__json_end(&json);
    CHECK_EQ(weir__json_finish(&json), -WEIR_E_OVERFLOW);
    begin(8);
    weir__json_string(&json, "more than eight");
    weir__json_u64(&json, 1);
    CHECK_EQ(weir__json_finish(&json), -WEIR_E_OVERFLOW);
}

static void value_without_key(void *arg)
{
    (void)arg;
    begin(100);
    weir__json_object(&json);
    weir__json_u64(&json, 1);
}

static void key_in_array(void *arg)
{
    (void)arg;
    begin(100);
    weir__json_array(&json);
    weir__json_key(&json, "key");
}

static void end_without_begin(void *arg)
{
    (void)arg;
    begin(100);
    weir__json_end(&json);
}

static void begin_without_end(void *arg)
{
    (void)arg;
    begin(100);
    weir__json_array(&json);
    (void)!weir__json_finish(&json);
}

TEST(misuse_is_a_programming_error)
{
    CHECK(tap_dies(value_without_key, NULL, "needs a key"));
    CHECK(tap_dies(key_in_array, NULL, "'key': a key outside of an object"));
    CHECK(tap_dies(end_without_begin, NULL, "an end without a begin"));
    CHECK(tap_dies(begin_without_end, NULL, "a begin without an end"));
}

#ifdef WEIR_FAULTS
TEST(no_memory_is_kept_until_the_end)
{
    begin(1000);
    weir_fault_arm(WEIR_FAULT_ALLOC, 1);
    weir__json_array(&json);
    weir__json_string(&json, "lost");
    weir__json_end(&json);
    weir_fault_arm(WEIR_FAULT_ALLOC, 0);
    CHECK_EQ(weir__json_finish(&json), -WEIR_E_NO_MEMORY);
}
#endif

static void check_real(double value)
{
    char expected[64];
    snprintf(expected, sizeof(expected), "%.15g\n", value);
    begin(100);
    weir__json_real(&json, value);
    CHECK_EQ(weir__json_finish(&json), 0);
    if (strcmp(weir__buffer_text(&buffer), expected) != 0)
        tap_fail(__FILE__, __LINE__, "%.20g is written as %s", value, weir__buffer_text(&buffer));
}

/* As printf would write them, to the last digit. */
TEST(numbers_are_rounded_as_they_should_be)
{
    static const double some[] = {
        0,    1,   2.5, 9.5, 9.99999999999999, 10, -1, -2.75, 0.1, 1e15, 1e300,
        3e-9, 1.1, 7.3, 99,  0.999999999999};
    for (size_t i = 0; i < sizeof(some) / sizeof(*some); i++)
        check_real(some[i]);
    /* Next to whole numbers, on either side. */
    for (double whole = 1; whole <= 10; whole++) {
        check_real(nextafter(whole, 0));
        check_real(nextafter(whole, 11));
    }
    /* Half way between two numbers of 15 digits: an odd number of 2^-15. */
    for (unsigned i = (1u << 15) + 1; i < 10u << 15; i += 2)
        check_real((double)i / (1u << 15));
    uint64_t chance = 1;
    for (unsigned i = 0; i < 100000; i++) {
        chance = chance * UINT64_C(6364136223846793005) + 1;
        check_real(1 + 9 * ((double)(chance >> 11) / 9007199254740992.0));
    }
}

TEST(frees_its_buffer)
{
    weir__buffer_fini(&buffer);
}

TAP_MAIN()
