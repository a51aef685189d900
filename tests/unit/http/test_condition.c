/* Tests of conditions: the rules of RFC 9110 as tables. */
#include <stdio.h>

#include "condition.h"
#include "tap.h"

#define PROCEED WEIR__CONDITION_PROCEED
#define SAME    WEIR__CONDITION_NOT_MODIFIED
#define FAILED  WEIR__CONDITION_FAILED

struct row {
    const char *match, *none; /* NULL: the field did not come */
    const char *etag;
    enum weir__condition read, write;
};

static struct weir__field field(const char *text)
{
    return (struct weir__field){text, text ? strlen(text) : 0};
}

static void check_rows(const struct row *rows, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct weir__conditions conditions = {field(rows[i].match), field(rows[i].none)};
        enum weir__condition read = weir__condition_check(&conditions, true, rows[i].etag);
        enum weir__condition write = weir__condition_check(&conditions, false, rows[i].etag);
        if (read != rows[i].read || write != rows[i].write)
            tap_fail(__FILE__, __LINE__, "row %zu (match %s, none %s, etag %s): read %d, write %d",
                     i, rows[i].match, rows[i].none, rows[i].etag, (int)read, (int)write);
    }
}

#define ROWS(...)                                                                                  \
    do {                                                                                           \
        static const struct row rows[] = {__VA_ARGS__};                                            \
        check_rows(rows, sizeof(rows) / sizeof(rows[0]));                                          \
    } while (0)

TEST(without_fields)
{
    ROWS({NULL, NULL, "\"a\"", PROCEED, PROCEED}, {NULL, NULL, NULL, PROCEED, PROCEED});
}

TEST(if_none_match_compares_weakly)
{
    ROWS({NULL, "\"1\"", "\"1\"", SAME, FAILED}, {NULL, "W/\"1\"", "\"1\"", SAME, FAILED},
         {NULL, "\"1\"", "W/\"1\"", SAME, FAILED}, {NULL, "W/\"1\"", "W/\"1\"", SAME, FAILED},
         {NULL, "W/\"1\"", "W/\"2\"", PROCEED, PROCEED}, {NULL, "\"1\"", NULL, PROCEED, PROCEED},
         {NULL, "\"x\", \"1\"", "\"1\"", SAME, FAILED}, {NULL, "*", "\"1\"", SAME, FAILED},
         {NULL, " * ", "\"1\"", SAME, FAILED}, {NULL, "*", NULL, PROCEED, PROCEED},
         {NULL, "\"11\"", "\"1\"", PROCEED, PROCEED}, {NULL, "\"\"", "\"\"", SAME, FAILED});
}

TEST(if_match_compares_strongly)
{
    ROWS({"\"1\"", NULL, "\"1\"", PROCEED, PROCEED}, {"W/\"1\"", NULL, "\"1\"", FAILED, FAILED},
         {"\"1\"", NULL, "W/\"1\"", FAILED, FAILED}, {"W/\"1\"", NULL, "W/\"1\"", FAILED, FAILED},
         {"\"2\"", NULL, "\"1\"", FAILED, FAILED}, {"\"2\",\"1\"", NULL, "\"1\"", PROCEED, PROCEED},
         {"*", NULL, "\"1\"", PROCEED, PROCEED}, {"*", NULL, "W/\"1\"", PROCEED, PROCEED},
         {"*", NULL, NULL, FAILED, FAILED}, {"\"1\"", NULL, NULL, FAILED, FAILED});
}

TEST(if_match_goes_first)
{
    ROWS({"\"2\"", "\"1\"", "\"1\"", FAILED, FAILED}, {"\"1\"", "\"1\"", "\"1\"", SAME, FAILED},
         {"\"1\"", "\"2\"", "\"1\"", PROCEED, PROCEED}, {"*", "*", "\"1\"", SAME, FAILED},
         {"*", "*", NULL, FAILED, FAILED});
}

TEST(lists)
{
    ROWS({NULL, ",,\"1\",", "\"1\"", SAME, FAILED}, {NULL, "\"a,b\"", "\"a,b\"", SAME, FAILED},
         {NULL, "\"a,b\"", "\"b\"", PROCEED, PROCEED},
         {NULL, " \t\"2\" ,\tW/\"1\" ", "\"1\"", SAME, FAILED},
         {NULL, "\"b3:\xc3\xa4\"", "\"b3:\xc3\xa4\"", SAME, FAILED});
}

TEST(what_is_broken_stops_writers_and_serves_readers)
{
    static const char *const broken[] = {
        "",        " ",        ",",      "1",           "\"1",      "1\"",
        "w/\"1\"", "W/ \"1\"", "W\"1\"", "\"1\" \"2\"", "\"1\"x",   "\"a b\"",
        "\"1\",*", "*,\"1\"",  "**",     "\"1\"\"2\"",  "\"\x7f\"", "\"1\", 2",
        "W/",      "W/\"",     "/\"1\"", "'1'",         "\"\t\"",   "\"1\";",
    };
    for (size_t i = 0; i < sizeof(broken) / sizeof(broken[0]); i++) {
        struct row rows[] = {{NULL, broken[i], "\"1\"", PROCEED, FAILED},
                             {NULL, broken[i], NULL, PROCEED, FAILED},
                             {broken[i], NULL, "\"1\"", FAILED, FAILED}};
        check_rows(rows, 3);
    }
}

TEST(if_range_is_strong_and_alone)
{
    static const struct {
        const char *text, *etag;
        bool holds;
    } rows[] = {
        {NULL, "\"1\"", true},         {"\"1\"", "\"1\"", true},
        {" \"1\" ", "\"1\"", true},    {"\"2\"", "\"1\"", false},
        {"W/\"1\"", "\"1\"", false},   {"\"1\"", "W/\"1\"", false},
        {"W/\"1\"", "W/\"1\"", false}, {"*", "\"1\"", false},
        {"", "\"1\"", false},          {"\"1\",\"1\"", "\"1\"", false},
        {"\"1\"", NULL, false},        {"Sat, 29 Oct 1994 19:43:31 GMT", "\"1\"", false},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct weir__field one = field(rows[i].text);
        if (weir__condition_if_range(&one, rows[i].etag) != rows[i].holds)
            tap_fail(__FILE__, __LINE__, "row %zu", i);
    }
}

TAP_MAIN()
