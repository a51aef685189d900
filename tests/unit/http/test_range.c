/* Tests of ranges: the rules of RFC 9110 as tables, and what is sent. */
#include <inttypes.h>
#include <stdio.h>

#include <weir/error.h>

#include "range.h"
#include "tap.h"

#define WHOLE "whole"
#define GONE  "416"

static char told[1024];

/* "0-4 9-9", "whole" or "416". */
static const char *parse(const char *text, uint64_t size)
{
    struct weir__ranges ranges = {.count = 99};
    int result = weir__ranges_parse(&ranges, text, strlen(text), size);
    if (result == -WEIR_E_RANGE) {
        CHECK_EQ(ranges.count, 99); /* untouched */
        return GONE;
    }
    CHECK_EQ(result, 0);
    if (ranges.count == 0)
        return WHOLE;
    size_t used = 0;
    for (size_t i = 0; i < ranges.count; i++) {
        const struct weir__range *range = &ranges.items[i];
        used += (size_t)snprintf(told + used, sizeof(told) - used, "%s%" PRIu64 "-%" PRIu64,
                                 i > 0 ? " " : "", range->first, range->first + range->length - 1);
    }
    return told;
}

struct row {
    const char *text;
    uint64_t size;
    const char *wanted;
};

static void check_rows(const struct row *rows, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const char *is = parse(rows[i].text, rows[i].size);
        if (strcmp(is, rows[i].wanted) != 0)
            tap_fail(__FILE__, __LINE__, "'%s' of %" PRIu64 " is %s, not %s", rows[i].text,
                     rows[i].size, is, rows[i].wanted);
    }
}

#define ROWS(...)                                                                                  \
    do {                                                                                           \
        static const struct row rows[] = {__VA_ARGS__};                                            \
        check_rows(rows, sizeof(rows) / sizeof(rows[0]));                                          \
    } while (0)

TEST(examples_of_the_rfc)
{
    ROWS({"bytes=0-499", 10000, "0-499"}, {"bytes=500-999", 10000, "500-999"},
         {"bytes=-500", 10000, "9500-9999"}, {"bytes=9500-", 10000, "9500-9999"},
         {"bytes=0-0,-1", 10000, "0-0 9999-9999"}, {"bytes=500-600,601-999", 10000, "500-999"},
         {"bytes=500-700,601-999", 10000, "500-999"},
         {"bytes= 0-999, 4500-5499, -1000", 10000, "0-999 4500-5499 9000-9999"});
}

TEST(what_is_there_of_it)
{
    ROWS({"bytes=0-", 1, "0-0"}, {"bytes=0-99", 10, "0-9"}, {"bytes=9-9", 10, "9-9"},
         {"bytes=10-10", 10, GONE}, {"bytes=10-", 10, GONE}, {"bytes=-0", 10, GONE},
         {"bytes=-000", 10, GONE}, {"bytes=-10", 10, "0-9"}, {"bytes=-11", 10, "0-9"},
         {"bytes=10-,3-4", 10, "3-4"}, {"bytes=10-,-0,99-100", 10, GONE},
         {"bytes=-0,0-0", 10, "0-0"});
}

TEST(of_nothing)
{
    ROWS({"bytes=0-", 0, GONE}, {"bytes=0-0", 0, GONE}, {"bytes=-1", 0, WHOLE},
         {"bytes=-0", 0, GONE}, {"bytes=0-,-1", 0, WHOLE}, {"bytes=x", 0, WHOLE});
}

TEST(what_is_ignored)
{
    ROWS({"", 10, WHOLE}, {"bytes", 10, WHOLE}, {"bytes=", 10, WHOLE}, {"bytes=,", 10, WHOLE},
         {"bytes= , ,", 10, WHOLE}, {"bytes=-", 10, WHOLE}, {"bytes=1", 10, WHOLE},
         {"bytes=2-1", 10, WHOLE}, {"bytes=0-1,2-1", 10, WHOLE}, {"bytes=0-1;2-3", 10, WHOLE},
         {"bytes=0 -1", 10, WHOLE}, {"bytes=0- 1", 10, WHOLE}, {"bytes=+0-1", 10, WHOLE},
         {"bytes=0x0-1", 10, WHOLE}, {"bytes=0-1-2", 10, WHOLE}, {"bytes=--1", 10, WHOLE},
         {"bytes=a-b", 10, WHOLE}, {"bytes:0-1", 10, WHOLE}, {"bytes =0-1", 10, WHOLE},
         {" bytes=0-1", 10, WHOLE}, {"items=0-1", 10, WHOLE}, {"byte=0-1", 10, WHOLE},
         {"bytess=0-1", 10, WHOLE}, {"bytes=99-98", 10, WHOLE}, {"bytes=0-1\n", 10, WHOLE});
    /* Neither a NUL nor what stands behind the length is read. */
    struct weir__ranges ranges;
    CHECK_EQ(weir__ranges_parse(&ranges, "bytes=0-1\0", 10, 10), 0);
    CHECK_EQ(ranges.count, 0);
    CHECK_EQ(weir__ranges_parse(&ranges, "bytes=0-123", 9, 1000), 0);
    CHECK_EQ(ranges.items[0].length, 2);
}

TEST(spaces_and_empty_elements)
{
    ROWS({"BYTES=0-1", 10, "0-1"}, {"Bytes=0-1", 10, "0-1"}, {"bytes=\t0-1 ", 10, "0-1"},
         {"bytes=,0-1,", 10, "0-1"}, {"bytes=0-1 , ,\t,4-5", 10, "0-1 4-5"});
}

TEST(numbers_of_any_length)
{
    ROWS(
        {"bytes=0-18446744073709551615", 10, "0-9"}, {"bytes=0-18446744073709551616", 10, "0-9"},
        {"bytes=18446744073709551615-", 10, GONE},
        {"bytes=18446744073709551616-18446744073709551617", 10, GONE},
        {"bytes=18446744073709551617-18446744073709551616", 10, WHOLE},
        {"bytes=-99999999999999999999999999999999", 10, "0-9"},
        {"bytes=00000000000000000000000000000001-0000000000000000000000000000000000002", 10, "1-2"},
        {"bytes=9223372036854775806-", INT64_MAX, "9223372036854775806-9223372036854775806"},
        {"bytes=0-9223372036854775806,5-", INT64_MAX, "0-9223372036854775806"},
        {"bytes=-9223372036854775807", INT64_MAX, "0-9223372036854775806"});
}

TEST(those_that_touch_become_one)
{
    ROWS({"bytes=0-1,2-3", 100, "0-3"}, {"bytes=2-3,0-1", 100, "0-3"},
         {"bytes=0-1,3-4", 100, "0-1 3-4"}, {"bytes=3-4,0-1", 100, "3-4 0-1"},
         {"bytes=50-59,0-9,55-70", 100, "50-70 0-9"}, {"bytes=0-9,50-59,10-49", 100, "0-59"},
         {"bytes=50-59,0-9,10-49", 100, "0-59"}, {"bytes=0-1,0-1,0-1", 100, "0-1"},
         {"bytes=0-99,5-6", 100, "0-99"}, {"bytes=90-,-5,0-0", 100, "90-99 0-0"},
         {"bytes=20-21,10-11,30-31,12-19", 100, "10-21 30-31"});
}

TEST(too_many_are_the_whole)
{
    char text[512] = "bytes=";
    size_t used = strlen(text);
    for (unsigned i = 0; i < WEIR__RANGES_MAX; i++)
        used += (size_t)snprintf(text + used, sizeof(text) - used, "%u-%u,", i * 10, i * 10);
    struct weir__ranges ranges;
    CHECK_EQ(weir__ranges_parse(&ranges, text, used, 1000), 0);
    CHECK_EQ(ranges.count, WEIR__RANGES_MAX);
    used += (size_t)snprintf(text + used, sizeof(text) - used, "0-0");
    CHECK_EQ(weir__ranges_parse(&ranges, text, used, 1000), 0);
    CHECK_EQ(ranges.count, 0);
}

TEST(content_range)
{
    char text[WEIR__RANGE_TEXT_SIZE];
    struct weir__range range = {0, 500};
    CHECK_STR(weir__range_content(text, &range, 1234), "bytes 0-499/1234");
    CHECK_STR(weir__range_missed(text, 1234), "bytes */1234");
    range = (struct weir__range){0, INT64_MAX};
    CHECK_STR(weir__range_content(text, &range, INT64_MAX),
              "bytes 0-9223372036854775806/9223372036854775807");
}

TEST(several_parts)
{
    static const unsigned char random[WEIR__RANGE_RANDOM] = {0, 1, 0xab, 0xff};
    char boundary[WEIR__RANGE_BOUNDARY_SIZE], head[WEIR__RANGE_HEAD_SIZE], all[2048];
    struct weir__ranges ranges;
    CHECK_EQ(weir__ranges_parse(&ranges, "bytes=4-5,0-1", 13, 10), 0);
    struct weir__range_parts parts = {.ranges = &ranges,
                                      .size = 10,
                                      .type = "application/octet-stream",
                                      .boundary = weir__range_boundary(boundary, random)};
    CHECK_STR(boundary, "0001abff000000000000000000000000");
    size_t used = 0;
    for (size_t i = 0; i <= ranges.count; i++) {
        size_t length = weir__range_head(&parts, i, head);
        CHECK_EQ(length, strlen(head));
        used += (size_t)snprintf(all + used, sizeof(all) - used, "%s", head);
        if (i < ranges.count)
            used += (size_t)snprintf(all + used, sizeof(all) - used, "%.2s",
                                     &"0123456789"[ranges.items[i].first]);
    }
    CHECK_STR(all, "--0001abff000000000000000000000000\r\n"
                   "Content-Type: application/octet-stream\r\nContent-Range: bytes 4-5/10\r\n\r\n"
                   "45\r\n--0001abff000000000000000000000000\r\n"
                   "Content-Type: application/octet-stream\r\nContent-Range: bytes 0-1/10\r\n\r\n"
                   "01\r\n--0001abff000000000000000000000000--\r\n");
    CHECK_EQ(weir__range_total(&parts), used);
}

static void make_long_head(void *arg)
{
    char head[WEIR__RANGE_HEAD_SIZE];
    weir__range_head(arg, 0, head);
}

TEST(the_longest_head_fits_and_a_longer_type_is_a_fault)
{
    char type[512], boundary[WEIR__RANGE_BOUNDARY_SIZE];
    static const unsigned char random[WEIR__RANGE_RANDOM];
    struct weir__ranges ranges = {.count = 2, .items = {{INT64_MAX - 1, 1}, {INT64_MAX - 1, 1}}};
    struct weir__range_parts parts = {.ranges = &ranges,
                                      .size = INT64_MAX,
                                      .type = type,
                                      .boundary = weir__range_boundary(boundary, random)};
    memset(type, 'x', sizeof(type));
    type[WEIR__RANGE_TYPE_MAX] = '\0';
    CHECK(weir__range_total(&parts) > 2 * WEIR__RANGE_TYPE_MAX);
    type[WEIR__RANGE_TYPE_MAX] = 'x';
    type[sizeof(type) - 1] = '\0';
    CHECK(tap_dies(make_long_head, &parts, "the type is too long"));
}

TAP_MAIN()
