/* Tests of moments as text: against the C library, and what is refused. */
#include <time.h>

#include <weir/error.h>

#include "tap.h"
#include "utc.h"

static int64_t parse(const char *text)
{
    int64_t seconds = -7;
    int result = weir__utc_parse(&seconds, text, strlen(text));
    if (result < 0) {
        CHECK_EQ(result, -WEIR_E_INVALID);
        CHECK_EQ(seconds, -7);
        return -1;
    }
    return seconds;
}

TEST(known_moments)
{
    char text[WEIR__UTC_SIZE];
    CHECK_EQ(parse("1970-01-01T00:00:00Z"), 0);
    CHECK_EQ(parse("2000-02-29T12:34:56Z"), 951827696);
    CHECK_EQ(parse("2026-12-01T00:00:00Z"), 1796083200);
    CHECK_EQ(parse("9999-12-31T23:59:59Z"), WEIR__UTC_MAX);
    CHECK_STR(weir__utc_format(text, 0), "1970-01-01T00:00:00Z");
    CHECK_STR(weir__utc_format(text, -1), "1970-01-01T00:00:00Z");
    CHECK_STR(weir__utc_format(text, INT64_MAX), "9999-12-31T23:59:59Z");
}

/* A step that meets every day of the week, hour and minute, over all years. */
TEST(the_library_agrees_on_both_ways)
{
    for (int64_t seconds = 0; seconds <= WEIR__UTC_MAX; seconds += 86400 * 3 + 12345677) {
        char text[WEIR__UTC_SIZE], wanted[64];
        time_t moment = (time_t)seconds;
        struct tm parts;
        CHECK(gmtime_r(&moment, &parts));
        strftime(wanted, sizeof(wanted), "%Y-%m-%dT%H:%M:%SZ", &parts);
        CHECK_STR(weir__utc_format(text, seconds), wanted);
        CHECK_EQ(parse(text), seconds);
    }
    for (int64_t day = 0; day < 366 * 450; day++) { /* every day up to 2420 */
        char text[WEIR__UTC_SIZE];
        CHECK_EQ(parse(weir__utc_format(text, day * 86400 + 86399)), day * 86400 + 86399);
    }
}

TEST(what_is_refused)
{
    static const char *const texts[] = {
        "",
        "2026-12-01",
        "2026-12-01T00:00:00",
        "2026-12-01T00:00:00z",
        "2026-12-01 00:00:00Z",
        "2026-12-01T00:00:00ZZ",
        "2026-12-01T00:00:60Z",
        "2026-12-01T24:00:00Z",
        "2026-12-01T00:60:00Z",
        "2026-13-01T00:00:00Z",
        "2026-00-01T00:00:00Z",
        "2026-11-31T00:00:00Z",
        "2026-02-29T00:00:00Z",
        "1900-01-01T00:00:00Z",
        "1969-12-31T23:59:59Z",
        "2100-02-29T00:00:00Z",
        "2026-12-00T00:00:00Z",
        "2026-12-+1T00:00:00Z",
        "026-12-01T00:00:00ZZ",
        "2026-12-01T00:00:00.5Z",
    };
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        if (parse(texts[i]) != -1)
            tap_fail(__FILE__, __LINE__, "'%s' was taken", texts[i]);
}

TAP_MAIN()
