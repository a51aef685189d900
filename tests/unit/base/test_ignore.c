/* test_ignore.c - .gitignore files. That the reading is git's is shown with git itself in
 * tests/e2e/test_copy_filter.py; here stands what it is. */
#include "ignore.h"

#include "pattern.h"
#include "tap.h"

#include <stdlib.h>
#include <time.h>

/* Whether a file at the root, of this content, ignores the path; a slash behind it makes it a
 * directory. */
static bool ignores_bytes(const char *text, size_t length, const char *given)
{
    struct weir__ignore *ignore = NULL;
    char path[256];
    size_t path_length = strlen(given);
    CHECK(path_length > 0 && path_length < sizeof(path));
    bool is_dir = given[path_length - 1] == '/';
    memcpy(path, given, path_length + 1);
    path[path_length - is_dir] = '\0';
    /* Without a NUL behind it, so that reading too far is seen. */
    char *copy = malloc(length + 1);
    CHECK(copy);
    memmove(copy + 1, text, length);
    int error = weir__ignore_new(&ignore, NULL, "", copy + 1, length);
    free(copy);
    CHECK_EQ(error, 0);
    bool is_ignored = weir__ignore_is_ignored(ignore, path, is_dir);
    weir__ignore_free(ignore);
    return is_ignored;
}

static bool ignores(const char *text, const char *path)
{
    return ignores_bytes(text, strlen(text), path);
}

struct one {
    const char *text, *path;
    bool is_ignored;
};

#define CHECK_TABLE(table)                                                                         \
    for (size_t i = 0; i < sizeof(table) / sizeof((table)[0]); i++)                                \
        if (ignores((table)[i].text, (table)[i].path) != (table)[i].is_ignored)                    \
    tap_fail(__FILE__, __LINE__, "\"%s\" on '%s' is not %d", (table)[i].text, (table)[i].path,     \
             (table)[i].is_ignored)

TEST(lines)
{
    static const struct one table[] = {
        {"", "a", false},
        {"\n\n", "a", false},
        {"a", "a", true},
        {"#a", "#a", false},
        {"\\#a", "#a", true},
        {" #a", " #a", true},
        {"\\!a", "!a", true},
        {"!a", "!a", false},
        {"a  \n", "a", true},
        {"a \\  \n", "a  ", true},
        {"a\\ \n", "a ", true},
        {"a\\ \n", "a", false},
        {"a\\\\ \n", "a\\", true},
        {"a\t\n", "a\t", true},
        {"a\t\n", "a", false},
        {"a\r\nb", "a", true},
        {"a\r", "a", true},
        {"a\r\r\n", "a\r", true},
        {"a \r\n", "a", true},
        {"\r\n", "\r", false},
        {"\xef\xbb\xbf"
         "a",
         "a", true},
        {"a\n\xef\xbb\xbf"
         "b",
         "b", false},
        {"a\nb\n", "b", true},
        {"  \n", "  ", false},
        {"!", "!", false},
        {"a\\", "a", false},
        {"a\\", "a\\", false},
    };
    CHECK_TABLE(table);
    CHECK(ignores_bytes("a\0b\nc", 5, "a"));
    CHECK(ignores_bytes("a\0b\nc", 5, "c"));
    CHECK(!ignores_bytes("a\0b\nc", 5, "b"));
}

TEST(the_last_rule_decides)
{
    static const struct one table[] = {
        {"*\n!a\n", "a", false},      {"!a\n*\n", "a", true},  {"*.o\n!x.o\nx.*\n", "x.o", true},
        {"a\n!a\n!!a\n", "a", false}, {"a\n!a/\n", "a", true}, {"a\n!a/\n", "a/", false},
        {"*\n!*/\n", "x/", false},    {"*\n!*/\n", "x", true},
    };
    CHECK_TABLE(table);
}

TEST(slashes)
{
    static const struct one table[] = {
        {"a", "x/y/a", true},    {"a/", "a", false},      {"a/", "a/", true},
        {"a/", "x/a/", true},    {"/a", "a", true},       {"/a", "x/a", false},
        {"a/b", "a/b", true},    {"a/b", "x/a/b", false}, {"a/b/", "a/b", false},
        {"a/b/", "a/b/", true},  {"/a/", "x/a/", false},  {"/", "a/", false},
        {"//", "a/", false},     {"a//", "a/", false},    {"a\\/b", "a/b", true},
        {"a\\/", "a/", false},   {"a*/b", "ax/b", true},  {"a/*", "a/b", true},
        {"a/*", "a/b/c", false}, {"a?b", "a/b", false},   {"a[/]b", "a/b", false},
    };
    CHECK_TABLE(table);
}

TEST(double_stars)
{
    static const struct one table[] = {
        {"**/a", "a", true},
        {"**/a", "x/y/a", true},
        {"**/a", "x/ba", false},
        {"**/a/b", "a/b", true},
        {"**/a/b", "x/a/b", true},
        {"a/**", "a/b/c", true},
        {"a/**", "a/", false},
        {"a/**", "x/a/b", false},
        {"a/**/b", "a/b", true},
        {"a/**/b", "a/x/b", true},
        {"a/**/b", "a/x/y/b", true},
        {"a/**/b", "a/xb", false},
        {"a/**b", "a/x/b", false},
        {"a/**b", "a/xb", true},
        {"a/x**/b", "a/x/b", true},
        {"?/x**/b", "a/xy/b", true},
        {"?/x**/b", "a/x/y/b", false},
        {"**", "a/b", true},
        {"/**", "a/b", true},
        {"**/", "a", false},
        {"**/", "a/b/", true},
        {"**/**/a", "a", true},
        {"**/**/a", "x/y/z/a", true},
        {"a/**/**/b", "a/b", true},
        {"a/***/b", "a/b", true},
        {"a/**\\/b", "a/b", false},
        {"a/**\\/b", "a/x/y/b", true},
        {"**/a/**/b/**", "a/b/c", true},
        {"**/a/**/b/**", "x/a/y/b/c/d", true},
        {"**/a/**/b/**", "x/a/y/b", false},
        /* What git does, though not what it says. */
        {"a**//", "a/", true},
        {"x/a**/b", "x/ab", true},
        {"x/a**/b", "x/a/c/b", true},
    };
    CHECK_TABLE(table);
}

TEST(classes_and_escapes)
{
    static const struct one table[] = {
        {"[ab]", "b", true},        {"[!a]", "a", false},         {"[^a-c]", "d", true},
        {"[[:digit:]]", "7", true}, {"[[:space:]]", "\v", false}, {"[[:space:]]x", "\tx", true},
        {"[a", "a", false},         {"\\a", "a", true},           {"a\\b", "ab", true},
        {"a\\b", "a\\b", false},    {"\\*", "*", true},           {"\\*", "x", false},
        {"*.[oa]", "x.o", true},    {"*.[oa]", "x.c", false},     {"[]-a]", "^", true},
    };
    CHECK_TABLE(table);
}

TEST(files_below_come_first)
{
    static const char top[] = "*.o\n/build\n!keep\n", middle[] = "!x.o\n/a\nb/c\nkeep\n";
    struct weir__ignore *root = NULL, *sub = NULL, *deep = NULL;
    CHECK_EQ(weir__ignore_new(&root, NULL, "", top, sizeof(top) - 1), 0);
    CHECK_EQ(weir__ignore_new(&sub, root, "s/t", middle, sizeof(middle) - 1), 0);
    CHECK_EQ(weir__ignore_new(&deep, sub, "s/t/u", NULL, 0), 0);
    CHECK(weir__ignore_is_ignored(root, "build", true));
    CHECK(!weir__ignore_is_ignored(root, "s/build", true));
    CHECK(weir__ignore_is_ignored(sub, "s/t/y.o", false));
    CHECK(!weir__ignore_is_ignored(sub, "s/t/x.o", false));
    CHECK(!weir__ignore_is_ignored(deep, "s/t/u/x.o", false));
    CHECK(weir__ignore_is_ignored(sub, "s/t/a", false));
    CHECK(!weir__ignore_is_ignored(deep, "s/t/u/a", false));
    CHECK(weir__ignore_is_ignored(sub, "s/t/b/c", false));
    CHECK(!weir__ignore_is_ignored(deep, "s/t/u/b/c", false));
    CHECK(weir__ignore_is_ignored(deep, "s/t/u/keep", false));
    CHECK(!weir__ignore_is_ignored(root, "keep", false));
    weir__ignore_free(deep);
    weir__ignore_free(sub);
    weir__ignore_free(root);
    weir__ignore_free(NULL);
    CHECK(!weir__ignore_is_ignored(NULL, "a", false));
}

TEST(limits)
{
    static char text[WEIR__IGNORE_FILE_MAX + 1];
    struct weir__ignore *ignore = NULL;
    memset(text, '\n', sizeof(text));
    CHECK_EQ(weir__ignore_new(&ignore, NULL, "", text, sizeof(text)), -WEIR_E_TOO_LARGE);
    for (size_t i = 0; i <= WEIR__IGNORE_RULES_MAX; i++)
        memcpy(text + 2 * i, "a\n", 2);
    CHECK_EQ(weir__ignore_new(&ignore, NULL, "", text, 2 * (WEIR__IGNORE_RULES_MAX + 1)),
             -WEIR_E_TOO_LARGE);
    text[0] = '#';
    CHECK_EQ(weir__ignore_new(&ignore, NULL, "", text, 2 * (WEIR__IGNORE_RULES_MAX + 1)), 0);
    CHECK(weir__ignore_bytes(ignore) > WEIR__IGNORE_RULES_MAX * sizeof(struct weir__pattern));
    weir__ignore_free(ignore);
    ignore = NULL;
    memset(text, 'x', WEIR__PATTERN_MAX + 1);
    CHECK_EQ(weir__ignore_new(&ignore, NULL, "", text, WEIR__PATTERN_MAX + 1), -WEIR_E_TOO_LARGE);
    CHECK(!ignore);
    text[0] = '#'; /* a long comment is no rule */
    CHECK_EQ(weir__ignore_new(&ignore, NULL, "", text, WEIR__PATTERN_MAX + 1), 0);
    weir__ignore_free(ignore);
}

/* Each of the optional parts may match nothing or anything; trying all ways would take for ever,
 * and going through the row of them for each place in it a few seconds. */
TEST(no_pattern_is_hard)
{
    enum { PARTS = 1360 };
    static char text[WEIR__PATTERN_MAX], path[WEIR__PATTERN_MAX];
    struct weir__ignore *ignore = NULL;
    for (size_t i = 0; i < PARTS; i++)
        memcpy(text + 3 * i, "**/", 3);
    memcpy(text + 3 * PARTS, "*a*a*[b]", 8);
    for (size_t i = 0; i + 1 < sizeof(path); i++)
        path[i] = i % 2 ? '/' : 'a';
    memcpy(path + sizeof(path) - 5, "aaa", 3);
    CHECK_EQ(weir__ignore_new(&ignore, NULL, "", text, 3 * PARTS + 8), 0);
    clock_t begin = clock();
    CHECK(!weir__ignore_is_ignored(ignore, path, false));
    path[sizeof(path) - 2] = 'b';
    CHECK(weir__ignore_is_ignored(ignore, path, false));
    CHECK(clock() - begin < 2 * CLOCKS_PER_SEC);
    weir__ignore_free(ignore);
}

static void ask_elsewhere(void *arg)
{
    (void)weir__ignore_is_ignored(arg, "q/x", false);
}

TEST(a_path_from_elsewhere_is_noticed)
{
    struct weir__ignore *ignore = NULL;
    CHECK_EQ(weir__ignore_new(&ignore, NULL, "some/where", "a", 1), 0);
    CHECK(tap_dies(ask_elsewhere, ignore, "not below the directory"));
    weir__ignore_free(ignore);
}

TAP_MAIN()
