/* Tests of the line for a request: its fields, what is escaped, what is cut. */
#include <stdio.h>
#include <stdlib.h>

#include <weir/error.h>

#include "access.h"
#include "tap.h"

static struct weir__access plain(const char *path)
{
    return (struct weir__access){.time_s = 1794928012,
                                 .corr_id = "9f3c21",
                                 .client = "10.1.2.3",
                                 .method = "GET",
                                 .path = path,
                                 .path_length = strlen(path),
                                 .status = 200,
                                 .bytes_in = 7,
                                 .bytes_out = UINT64_MAX,
                                 .duration_us = 456,
                                 .token_id = "e5419821d58d7b8d"};
}

static char line[2 * WEIR__ACCESS_LINE];

static const char *put(const struct weir__access *access, enum weir__access_form form)
{
    struct weir__buffer buffer;
    weir__buffer_init(&buffer, WEIR__ACCESS_LINE);
    CHECK_EQ(weir__access_put(&buffer, access, form), 0);
    size_t length = weir__buffer_length(&buffer);
    const char *text = weir__buffer_text(&buffer);
    CHECK_EQ(strlen(text), length);
    for (size_t i = 0; i + 1 < length; i++)
        CHECK((unsigned char)text[i] >= ' ' && text[i] != 0x7f);
    CHECK_EQ(text[length - 1], '\n');
    snprintf(line, sizeof(line), "%.*s", (int)length - 1, text);
    weir__buffer_fini(&buffer);
    return line;
}

TEST(the_fields)
{
    struct weir__access access = plain("/o/x");
    CHECK_STR(put(&access, WEIR__ACCESS_TEXT),
              "2026-11-17T15:06:52Z 9f3c21 10.1.2.3 GET \"/o/x\" 200 in=7 "
              "out=18446744073709551615 us=456 token=e5419821d58d7b8d");
    CHECK_STR(put(&access, WEIR__ACCESS_JSON),
              "{\"time\":\"2026-11-17T15:06:52Z\",\"corr_id\":\"9f3c21\",\"client\":\"10.1.2.3\","
              "\"method\":\"GET\",\"path\":\"/o/x\",\"status\":200,\"bytes_in\":7,"
              "\"bytes_out\":18446744073709551615,\"duration_us\":456,"
              "\"token_id\":\"e5419821d58d7b8d\"}");
}

TEST(what_is_not_there)
{
    struct weir__access access = plain("");
    access.client = access.token_id = access.corr_id = NULL;
    access.method = "";
    CHECK_HAS(put(&access, WEIR__ACCESS_TEXT), "Z - - - \"\" 200 ");
    CHECK_HAS(line, " token=-");
    CHECK_HAS(put(&access, WEIR__ACCESS_JSON), "\"corr_id\":null,\"client\":null,\"method\":\"\"");
    CHECK_HAS(line, "\"token_id\":null}");
}

TEST(nothing_breaks_out_of_its_field)
{
    struct weir__access access = plain("/a\nb\r\t\x1b[31m\"c\" \\ \x7f \xc2\x85 \xff \xc3\xa4");
    access.method = "GE T\n";
    access.client = "a\"b";
    CHECK_HAS(put(&access, WEIR__ACCESS_TEXT),
              "\"/a\\x0ab\\x0d\\x09\\x1b[31m\\\"c\\\" \\\\ \\x7f \\xc2\\x85 \\xff \xc3\xa4\" 200");
    CHECK_HAS(line, " a\\\"b GE\\x20T\\x0a \"");
    put(&access, WEIR__ACCESS_JSON);
    CHECK_HAS(line, "/a\\nb\\r\\t\\u001b[31m\\\"c\\\" \\\\ ");
    access.path = "/\0x"; /* decoded from %00 */
    access.path_length = 3;
    CHECK_HAS(put(&access, WEIR__ACCESS_TEXT), "\"/\\x00x\"");
    CHECK_HAS(put(&access, WEIR__ACCESS_JSON), "\"/\\u0000x\"");
}

/* Every byte at every place of a path stays inside of one line that fits. */
TEST(any_bytes)
{
    char *path = malloc(WEIR__ACCESS_PATH + 40);
    for (unsigned length = 0; length < WEIR__ACCESS_PATH + 40; length += 7)
        for (unsigned byte = 0; byte < 256; byte++) {
            struct weir__access access = plain("");
            memset(path, (int)byte, length);
            access.path = path;
            access.path_length = length;
            put(&access, WEIR__ACCESS_TEXT);
            put(&access, WEIR__ACCESS_JSON);
        }
    free(path);
}

TEST(long_ones_are_cut_between_characters)
{
    char path[400], wanted[400], method[100];
    struct weir__access access = plain("");
    access.path = path;
    for (unsigned more = 0; more < 4; more++) { /* a character of three bytes around the end */
        memset(path, 'a', sizeof(path));
        memcpy(path + WEIR__ACCESS_PATH - more, "\xe2\x82\xac", 3);
        access.path_length = sizeof(path);
        unsigned kept = more == 3 ? WEIR__ACCESS_PATH : WEIR__ACCESS_PATH - more;
        snprintf(wanted, sizeof(wanted), "\"%.*s...\"", (int)kept, path);
        CHECK_HAS(put(&access, WEIR__ACCESS_TEXT), wanted);
        CHECK_HAS(put(&access, WEIR__ACCESS_JSON), wanted);
    }
    memset(path, 'a', sizeof(path));
    access.path_length = WEIR__ACCESS_PATH;
    snprintf(wanted, sizeof(wanted), "\"%.*s\"", (int)WEIR__ACCESS_PATH, path);
    CHECK_HAS(put(&access, WEIR__ACCESS_TEXT), wanted);
    memset(method, 'M', sizeof(method));
    method[sizeof(method) - 1] = '\0';
    access.method = method;
    snprintf(wanted, sizeof(wanted), " %.*s... \"", (int)WEIR__ACCESS_WORD, method);
    CHECK_HAS(put(&access, WEIR__ACCESS_TEXT), wanted);
    memset(path, 0x80, sizeof(path)); /* no character at all */
    access.path_length = sizeof(path);
    CHECK_HAS(put(&access, WEIR__ACCESS_TEXT), "\\x80...\"");
}

/* What stands last in a token makes it good. The longest path of a route stays whole. */
TEST(a_token_in_a_path_is_not_shown)
{
    static const char end[] = "thisisthesignature";
    static const char object[] =
        "/o/b3:8e4c7c1b99dbfd50e7a95185fead5ee1448fa904a2fdd778eaf5f2dbfd629a99";
    char path[160 + sizeof(end)];
    memset(path, 'M', sizeof(path));
    memcpy(path, "/o/", 3);
    memcpy(path + sizeof(path) - sizeof(end), end, sizeof(end));
    struct weir__access access = plain(path);
    CHECK(!strstr(put(&access, WEIR__ACCESS_TEXT), end));
    CHECK(!strstr(put(&access, WEIR__ACCESS_JSON), end));
    CHECK_HAS(line, "M...\"");
    access = plain(object);
    CHECK_HAS(put(&access, WEIR__ACCESS_TEXT), object);
    CHECK_HAS(put(&access, WEIR__ACCESS_JSON), object);
}

TEST(all_of_a_line_or_nothing)
{
    struct weir__access access = plain("/o/x");
    for (size_t max = 1; max < 400; max++) {
        struct weir__buffer buffer;
        weir__buffer_init(&buffer, max);
        CHECK_EQ(weir__buffer_putc(&buffer, 'x'), 0);
        for (enum weir__access_form form = WEIR__ACCESS_TEXT; form <= WEIR__ACCESS_JSON; form++) {
            size_t before = weir__buffer_length(&buffer);
            int result = weir__access_put(&buffer, &access, form);
            CHECK(result == 0 || result == -WEIR_E_OVERFLOW);
            const char *text = weir__buffer_text(&buffer);
            size_t length = weir__buffer_length(&buffer);
            CHECK(result == 0 ? text[length - 1] == '\n' : length == before);
        }
        weir__buffer_fini(&buffer);
    }
}

TAP_MAIN()
