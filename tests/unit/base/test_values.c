/* test_values.c - numbers as people write them, and back. */
#include "values.h"

#include <weir/error.h>

#include "tap.h"

#define UNTOUCHED UINT64_C(77)

static int status;

static uint64_t parse(enum weir__unit unit, const char *text)
{
    uint64_t value = UNTOUCHED;
    status = weir__value_parse(unit, text, &value);
    return value;
}

#define CHECK_PARSE(unit, text, wanted)                                                            \
    do {                                                                                           \
        CHECK_EQ(parse(unit, text), wanted);                                                       \
        CHECK_EQ(status, 0);                                                                       \
    } while (0)

#define CHECK_REFUSED(unit, text, error)                                                           \
    do {                                                                                           \
        CHECK_EQ(parse(unit, text), UNTOUCHED);                                                    \
        CHECK_EQ(status, -(error));                                                                \
    } while (0)

static const char *format(enum weir__unit unit, uint64_t value)
{
    static char text[WEIR__VALUE_TEXT_MAX];
    weir__value_format(unit, value, text);
    return text;
}

static const char *human_size(uint64_t bytes)
{
    static char text[WEIR__VALUE_TEXT_MAX];
    weir__value_human_size(bytes, text);
    return text;
}

static const char *human_time(uint64_t seconds)
{
    static char text[WEIR__VALUE_TEXT_MAX];
    weir__value_human_time(seconds, text);
    return text;
}

TEST(counts)
{
    CHECK_PARSE(WEIR__UNIT_COUNT, "0", 0);
    CHECK_PARSE(WEIR__UNIT_COUNT, "007", 7);
    CHECK_PARSE(WEIR__UNIT_COUNT, "18446744073709551615", UINT64_MAX);
    CHECK_REFUSED(WEIR__UNIT_COUNT, "18446744073709551616", WEIR_E_RANGE);
    CHECK_REFUSED(WEIR__UNIT_COUNT, "99999999999999999999999", WEIR_E_RANGE);
    static const char *const bad[] = {"", " 1", "1 ", "-1", "+1", "1k", "1.5", "0x10", "a", "."};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        CHECK_REFUSED(WEIR__UNIT_COUNT, bad[i], WEIR_E_INVALID);
}

TEST(sizes)
{
    CHECK_PARSE(WEIR__UNIT_SIZE, "512", 512);
    CHECK_PARSE(WEIR__UNIT_SIZE, "512B", 512);
    CHECK_PARSE(WEIR__UNIT_SIZE, "1k", 1024);
    CHECK_PARSE(WEIR__UNIT_SIZE, "1K", 1024);
    CHECK_PARSE(WEIR__UNIT_SIZE, "1KiB", 1024);
    CHECK_PARSE(WEIR__UNIT_SIZE, "1kB", 1000);
    CHECK_PARSE(WEIR__UNIT_SIZE, "3M", 3 << 20);
    CHECK_PARSE(WEIR__UNIT_SIZE, "3MiB", 3 << 20);
    CHECK_PARSE(WEIR__UNIT_SIZE, "3MB", 3000000);
    CHECK_PARSE(WEIR__UNIT_SIZE, "1.5G", UINT64_C(3) << 29);
    CHECK_PARSE(WEIR__UNIT_SIZE, "0.1k", 102);
    CHECK_PARSE(WEIR__UNIT_SIZE, "2T", UINT64_C(2) << 40);
    CHECK_PARSE(WEIR__UNIT_SIZE, "16383P", UINT64_C(16383) << 50);
    CHECK_REFUSED(WEIR__UNIT_SIZE, "16384P", WEIR_E_RANGE);
    CHECK_REFUSED(WEIR__UNIT_SIZE, "17179869184G", WEIR_E_RANGE);
    CHECK_PARSE(WEIR__UNIT_SIZE, "1m", 1 << 20);
    CHECK_PARSE(WEIR__UNIT_SIZE, "1kib", 1024);
    CHECK_PARSE(WEIR__UNIT_SIZE, "1kb", 1000);
    CHECK_PARSE(WEIR__UNIT_SIZE, "15E", UINT64_C(15) << 60);
    CHECK_REFUSED(WEIR__UNIT_SIZE, "16E", WEIR_E_RANGE);
    static const char *const bad[] = {"",    "k",    "1.k",           ".5k", "1.5", "1.5B", "1kk",
                                      "1 k", "1k/s", "1.0000000001k", "1e3", "-1k", "1kbit"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        CHECK_REFUSED(WEIR__UNIT_SIZE, bad[i], WEIR_E_INVALID);
}

TEST(durations)
{
    CHECK_PARSE(WEIR__UNIT_DURATION, "0", 0);
    CHECK_PARSE(WEIR__UNIT_DURATION, "7ns", 7);
    CHECK_PARSE(WEIR__UNIT_DURATION, "7us", 7 * WEIR_NS_PER_US);
    CHECK_PARSE(WEIR__UNIT_DURATION, "250ms", 250 * WEIR_NS_PER_MS);
    CHECK_PARSE(WEIR__UNIT_DURATION, "1.5s", 1500 * WEIR_NS_PER_MS);
    CHECK_PARSE(WEIR__UNIT_DURATION, "2m", 120 * WEIR_NS_PER_S);
    CHECK_PARSE(WEIR__UNIT_DURATION, "2min", 120 * WEIR_NS_PER_S);
    CHECK_PARSE(WEIR__UNIT_DURATION, "1h", 3600 * WEIR_NS_PER_S);
    CHECK_PARSE(WEIR__UNIT_DURATION, "1d", 86400 * WEIR_NS_PER_S);
    CHECK_REFUSED(WEIR__UNIT_DURATION, "99999999d", WEIR_E_RANGE);
    static const char *const bad[] = {"", "5", "1.5", "0.0", "1x", "1.5ns", "s", "1S", "1ms "};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        CHECK_REFUSED(WEIR__UNIT_DURATION, bad[i], WEIR_E_INVALID);
}

TEST(ratios)
{
    CHECK_PARSE(WEIR__UNIT_RATIO, "0.5", 500);
    CHECK_PARSE(WEIR__UNIT_RATIO, "0.001", 1);
    CHECK_PARSE(WEIR__UNIT_RATIO, "1", 1000);
    CHECK_PARSE(WEIR__UNIT_RATIO, "1.25", 1250);
    CHECK_PARSE(WEIR__UNIT_RATIO, "0", 0);
    static const char *const bad[] = {"", ".5", "0.", "0.0001", "50%", "0.5x", "-0.5", "1e-3"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        CHECK_REFUSED(WEIR__UNIT_RATIO, bad[i], WEIR_E_INVALID);
    CHECK_STR(format(WEIR__UNIT_RATIO, 500), "0.5");
    CHECK_STR(format(WEIR__UNIT_RATIO, 1050), "1.05");
    CHECK_STR(format(WEIR__UNIT_RATIO, 7), "0.007");
    CHECK_STR(format(WEIR__UNIT_RATIO, 2000), "2");
}

TEST(rates)
{
    CHECK_PARSE(WEIR__UNIT_RATE, "50M", 50 << 20);
    CHECK_PARSE(WEIR__UNIT_RATE, "50MiB/s", 50 << 20);
    CHECK_PARSE(WEIR__UNIT_RATE, "100/s", 100);
    CHECK_PARSE(WEIR__UNIT_RATE, "0", 0);
    static const char *const bad[] = {"", "/s", "50M/", "50M/m", "50M/s/s", "50 M/s"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        CHECK_REFUSED(WEIR__UNIT_RATE, bad[i], WEIR_E_INVALID);
}

TEST(formats_what_parses_to_the_same)
{
    CHECK_STR(format(WEIR__UNIT_COUNT, 4096), "4096");
    CHECK_STR(format(WEIR__UNIT_SIZE, 0), "0");
    CHECK_STR(format(WEIR__UNIT_SIZE, 1000), "1000");
    CHECK_STR(format(WEIR__UNIT_SIZE, 1023), "1023");
    CHECK_STR(format(WEIR__UNIT_SIZE, 4096), "4k");
    CHECK_STR(format(WEIR__UNIT_SIZE, UINT64_C(1) << 32), "4G");
    CHECK_STR(format(WEIR__UNIT_RATE, 50 << 20), "50M/s");
    CHECK_STR(format(WEIR__UNIT_RATE, 0), "0/s");
    CHECK_STR(format(WEIR__UNIT_DURATION, 90 * WEIR_NS_PER_S), "90s");
    CHECK_STR(format(WEIR__UNIT_DURATION, 1500 * WEIR_NS_PER_MS), "1500ms");
    CHECK_STR(format(WEIR__UNIT_DURATION, 48 * 3600 * WEIR_NS_PER_S), "2d");
    static const uint64_t values[] = {
        0, 1, 999, 1024, 1000000, 123456789, UINT64_C(1) << 50, UINT64_MAX};
    for (int unit = WEIR__UNIT_COUNT; unit <= WEIR__UNIT_RATIO; unit++)
        for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++)
            CHECK_PARSE((enum weir__unit)unit, format((enum weir__unit)unit, values[i]), values[i]);
}

TEST(sizes_for_people)
{
    CHECK_STR(human_size(0), "0 B");
    CHECK_STR(human_size(1023), "1023 B");
    CHECK_STR(human_size(1024), "1.00 KiB");
    CHECK_STR(human_size(1536), "1.50 KiB");
    CHECK_STR(human_size(10240), "10.0 KiB");
    CHECK_STR(human_size(102400), "100 KiB");
    CHECK_STR(human_size(1048575), "1.00 MiB");
    CHECK_STR(human_size(UINT64_C(3) << 29), "1.50 GiB");
    CHECK_STR(human_size(UINT64_MAX), "16.0 EiB");
}

TEST(times_for_people)
{
    CHECK_STR(human_time(0), "0:00");
    CHECK_STR(human_time(67), "1:07");
    CHECK_STR(human_time(3599), "59:59");
    CHECK_STR(human_time(11045), "3:04:05");
    CHECK_STR(human_time(86400 * 2 + 11045), "2d 03:04:05");
    CHECK_HAS(human_time(UINT64_MAX), "d ");
}

TAP_MAIN()
