/* toml: every kind of value, what is refused and where, the limits, bytes that C cannot hold. */
#include "tap.h"

#include "toml.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <weir/error.h>

static struct weir__toml *parse(const char *text)
{
    struct weir__toml *document = NULL;
    struct weir__toml_error error = {0};
    if (weir__toml_parse(&document, text, strlen(text), &error) != 0)
        tap_fail(__FILE__, __LINE__, "%u:%u: %s", error.line, error.column, error.reason);
    return document;
}

static void refused(const char *text, size_t length, unsigned line, unsigned column,
                    const char *reason)
{
    struct weir__toml *document = NULL;
    struct weir__toml_error error = {0};
    CHECK_EQ(weir__toml_parse(&document, text, length, &error), -WEIR_E_INVALID);
    CHECK(!document);
    CHECK_EQ(error.line, line);
    CHECK_EQ(error.column, column);
    CHECK_HAS(error.reason, reason);
}

TEST(knows_every_kind)
{
    struct weir__toml *document = parse("s = 'a\\d'\n"
                                        "i = -9223372036854775808\n"
                                        "r = 2.5\n"
                                        "b = true\n"
                                        "t = 2026-11-15T08:00:00Z\n"
                                        "a = ['x', 2, [3.5]]\n"
                                        "[table]\n"
                                        "key.dotted = 1\n");
    const struct weir__toml_node *root = weir__toml_root(document);
    CHECK_EQ(weir__toml_kind(root), WEIR__TOML_TABLE);
    CHECK_EQ(weir__toml_count(root), 7);
    CHECK_STR(weir__toml_string(weir__toml_get(root, "s")), "a\\d");
    CHECK_EQ(weir__toml_integer(weir__toml_get(root, "i"), 0), INT64_MIN);
    CHECK(fabs(weir__toml_real(weir__toml_get(root, "r"), 0) - 2.5) < 1e-9);
    CHECK(weir__toml_bool(weir__toml_get(root, "b"), false));
    CHECK_EQ(weir__toml_kind(weir__toml_get(root, "t")), WEIR__TOML_TIME);
    const struct weir__toml_node *array = weir__toml_get(root, "a");
    CHECK_EQ(weir__toml_kind(array), WEIR__TOML_ARRAY);
    CHECK_EQ(weir__toml_count(array), 3);
    CHECK_STR(weir__toml_string(weir__toml_at(array, 0)), "x");
    CHECK(fabs(weir__toml_real(weir__toml_at(weir__toml_at(array, 2), 0), 0) - 3.5) < 1e-9);
    CHECK(!weir__toml_at(array, 3));
    CHECK(!weir__toml_key(array, 0));
    const struct weir__toml_node *table = weir__toml_get(root, "table");
    CHECK_EQ(weir__toml_line(table), 7);
    const struct weir__toml_node *key = weir__toml_get(table, "key");
    CHECK_EQ(weir__toml_integer(weir__toml_get(key, "dotted"), 0), 1);
    weir__toml_free(document);
}

TEST(other_kinds_are_not_taken_for_the_one_asked_for)
{
    struct weir__toml *document = parse("s = 'x'\ni = 3\n");
    const struct weir__toml_node *root = weir__toml_root(document);
    const struct weir__toml_node *s = weir__toml_get(root, "s"), *i = weir__toml_get(root, "i");
    CHECK(!weir__toml_string(i));
    CHECK_EQ(weir__toml_integer(s, 7), 7);
    CHECK(fabs(weir__toml_real(s, 7) - 7) < 1e-9);
    CHECK(fabs(weir__toml_real(i, 7) - 3) < 1e-9);
    CHECK(weir__toml_bool(i, true));
    CHECK_EQ(weir__toml_count(s), 0);
    CHECK(!weir__toml_get(s, "x"));
    CHECK(!weir__toml_at(s, 0));
    CHECK(!weir__toml_get(root, "none"));
    CHECK(!weir__toml_get(NULL, "s"));
    CHECK(!weir__toml_at(NULL, 0));
    CHECK(!weir__toml_string(NULL));
    CHECK_EQ(weir__toml_count(NULL), 0);
    CHECK_EQ(weir__toml_integer(NULL, 5), 5);
    weir__toml_free(document);
    weir__toml_free(NULL);
}

TEST(a_table_is_in_the_order_of_its_keys)
{
    struct weir__toml *document = parse("b = 2\na = 1\n\"\xc3\xa4\" = 4\nc = 3\n");
    const struct weir__toml_node *root = weir__toml_root(document);
    static const char *const keys[] = {"a", "b", "c", "\xc3\xa4"};
    for (size_t i = 0; i < 4; i++) {
        CHECK_STR(weir__toml_key(root, i), keys[i]);
        CHECK_EQ(weir__toml_integer(weir__toml_at(root, i), 0), (long long)i + 1);
        CHECK(weir__toml_get(root, keys[i]) == weir__toml_at(root, i));
    }
    CHECK(!weir__toml_key(root, 4));
    weir__toml_free(document);
}

TEST(an_empty_document_is_one)
{
    struct weir__toml *document = NULL;
    struct weir__toml_error error;
    CHECK_EQ(weir__toml_parse(&document, NULL, 0, &error), 0);
    CHECK_EQ(weir__toml_count(weir__toml_root(document)), 0);
    weir__toml_free(document);
}

TEST(only_the_given_bytes_are_read)
{
    struct weir__toml *document = NULL;
    struct weir__toml_error error;
    CHECK_EQ(weir__toml_parse(&document, "a = 1\nb = 2", 5, &error), 0);
    CHECK_EQ(weir__toml_count(weir__toml_root(document)), 1);
    weir__toml_free(document);
}

TEST(what_is_not_toml_is_refused_with_its_place)
{
    static const struct {
        const char *text;
        unsigned line, column;
        const char *reason;
    } cases[] = {
        {"a = 1\nb = \n", 2, 5, "key-value pair: expected value"},
        {"a = 1\n\na = 2\n", 3, 5, "cannot redefine existing integer 'a'"},
        {"a = 'x\n", 1, 7, "literal string: control characters"},
        {"a = [1, 2\n", 1, 11, "array: encountered end-of-file"},
        {"[t]\n[t]\n", 2, 1, "cannot redefine existing table 't'"},
        {"a = \"\\q\"\n", 1, 7, "unknown escape sequence '\\q'"},
        {"a = \"\xff\"\n", 1, 5, "encountered invalid utf-8 sequence"},
        {"= 1\n", 1, 1, "root table: expected keys"},
        {"a = [\n[1],\n[0.5]]\n [[ %a]]\n", 4, 0, "a table without a name"},
        {"[", 1, 0, "a table without a name"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        refused(cases[i].text, strlen(cases[i].text), cases[i].line, cases[i].column,
                cases[i].reason);
}

/* U+FCFF, which the parser's own test for blanks does not expect. */
TEST(characters_near_the_last_blank_are_no_blanks)
{
    refused("a = 1 \xef\xb3\xbf\n", 10, 1, 7, "");
    struct weir__toml *document = parse("a = \"\"\"\\\n  \xef\xb3\xbf \"\"\"\n");
    CHECK_STR(weir__toml_string(weir__toml_get(weir__toml_root(document), "a")), "\xef\xb3\xbf ");
    weir__toml_free(document);
}

TEST(a_string_with_nul_is_refused)
{
    static const char value[] = "a = 1\nb = 'x\\u0000y'\nc = \"x\\u0000y\"\n",
                      key[] = "\"\\u0000\" = 1";
    refused(value, sizeof(value) - 1, 3, 5, "a string with a NUL character");
    refused(key, sizeof(key) - 1, 1, 12, "a string with a NUL character");
    refused("a\0b = 1", 7, 1, 2, "");
}

TEST(deep_nesting_is_refused)
{
    char text[300];
    int n = snprintf(text, sizeof(text), "a = %s", "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[");
    refused(text, (size_t)n, 1, 37, "nest");
    memset(text, 'a', sizeof(text));
    text[0] = '[';
    for (size_t i = 2; i < 2 + 64; i += 2)
        text[i] = '.';
    text[66] = ']';
    refused(text, 67, 1, 0, "a key with too many dots");
    text[4] = '-'; /* one less is fine */
    struct weir__toml *document = NULL;
    struct weir__toml_error error;
    CHECK_EQ(weir__toml_parse(&document, text, 67, &error), 0);
    weir__toml_free(document);
}

TEST(dots_count_in_keys_alone)
{
    char text[600];
    snprintf(
        text, sizeof(text),
        "a = '%s' # %s\nb = \"\\\"%s\"\nc = '''\n%s''''\nd = \"\"\"%s\\\n  \"\"\"\"\"\ne = 1\n",
        "........................................", "........................................",
        "........................................", "........................................",
        "........................................");
    struct weir__toml *document = parse(text);
    const struct weir__toml_node *root = weir__toml_root(document);
    CHECK_STR(weir__toml_string(weir__toml_get(root, "c")),
              "........................................'");
    CHECK_EQ(weir__toml_integer(weir__toml_get(root, "e"), 0), 1);
    weir__toml_free(document);
}

TEST(more_than_the_limits_is_overflow)
{
    struct weir__toml *document = NULL;
    struct weir__toml_error error;
    size_t length = (size_t)WEIR__TOML_BYTES_MAX + 1;
    char *text = malloc(length);
    CHECK(text);
    memset(text, ' ', length);
    text[0] = '#';
    CHECK_EQ(weir__toml_parse(&document, text, length, &error), -WEIR_E_OVERFLOW);
    CHECK_EQ(weir__toml_parse(&document, text, length - 1, &error), 0);
    weir__toml_free(document);
    document = NULL;
    length = 2 * (size_t)WEIR__TOML_VALUES_MAX;
    memset(text, ',', length);
    memcpy(text, "a=[", 3);
    for (size_t i = 3; i < length; i += 2)
        text[i] = '0';
    text[length - 1] = ']';
    CHECK_EQ(weir__toml_parse(&document, text, length, &error), -WEIR_E_OVERFLOW);
    CHECK(!document);
    free(text);
}

TAP_MAIN()
