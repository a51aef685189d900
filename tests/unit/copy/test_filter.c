/* test_filter.c - the rules of include and exclude, one by one. That they are rsync's is shown with
 * rsync itself in tests/e2e/test_copy_filter.py; here stands what each of them means. */
#include "filter.h"

#include "tap.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static struct weir__filter *filter;

static void start(void)
{
    weir__filter_free(filter);
    filter = NULL;
    CHECK_EQ(weir__filter_new(&filter), 0);
    CHECK_STR(weir__filter_problem(filter), "");
}

static void end(void)
{
    weir__filter_free(filter);
    filter = NULL;
}

/* A path that ends with a slash is a directory. */
static enum weir__verdict verdict(const char *given)
{
    char path[256];
    size_t length = strlen(given);
    CHECK(length > 0 && length < sizeof(path));
    bool is_dir = given[length - 1] == '/';
    memcpy(path, given, length + 1);
    path[length - is_dir] = '\0';
    const char *slash = strrchr(path, '/');
    return weir__filter_match(filter, weir__filter_needs_path(filter) ? path : NULL,
                              slash ? slash + 1 : path, is_dir);
}

/* Whether one exclude leaves the path out. */
static bool excludes(const char *pattern, const char *path)
{
    start();
    CHECK_EQ(weir__filter_add(filter, WEIR__FILTER_EXCLUDE, pattern), 0);
    enum weir__verdict found = verdict(path);
    end();
    CHECK(found != WEIR__FILTER_INCLUDE);
    return found == WEIR__FILTER_EXCLUDE;
}

struct one {
    const char *pattern, *path;
    bool is_excluded;
};

#define CHECK_TABLE(table)                                                                         \
    for (size_t i = 0; i < sizeof(table) / sizeof((table)[0]); i++)                                \
        if (excludes((table)[i].pattern, (table)[i].path) != (table)[i].is_excluded)               \
    tap_fail(__FILE__, __LINE__, "'%s' on '%s' is not %d", (table)[i].pattern, (table)[i].path,    \
             (table)[i].is_excluded)

TEST(names_without_wildcards)
{
    static const struct one table[] = {
        {"foo", "foo", true},
        {"foo", "a/b/foo", true},
        {"foo", "foo/bar", false},
        {"foo", "xfoo", false},
        {"foo", "foox", false},
        {"foo/bar", "foo/bar", true},
        {"foo/bar", "x/foo/bar", true},
        {"foo/bar", "xfoo/bar", false},
        {"foo/bar", "bar", false},
        {"foo/bar", "foo/bar/x", false},
        {"a//b", "a/b", false},
        {"-", "-", true},
        {"+", "+", true},
        {"!x", "!x", true},
        {" a", " a", true},
        {" a", "a", false},
        {"a ", "a ", true},
        {"a ", "a", false},
    };
    CHECK_TABLE(table);
}

TEST(a_leading_slash_anchors)
{
    static const struct one table[] = {
        {"/foo", "foo", true},        {"/foo", "a/foo", false}, {"/a/foo", "a/foo", true},
        {"/a/foo", "b/a/foo", false}, {"/*", "a", true},        {"/*", "a/b", false},
        {"/*/b", "a/b", true},        {"/*/b", "a/c/b", false}, {"/", "a/", false},
        {"//a", "a", false},
    };
    CHECK_TABLE(table);
}

TEST(a_trailing_slash_is_for_directories)
{
    static const struct one table[] = {
        {"foo/", "foo/", true},  {"foo/", "foo", false},     {"foo/", "a/foo/", true},
        {"/foo/", "foo/", true}, {"/foo/", "a/foo/", false}, {"*/", "a/", true},
        {"*/", "a", false},      {"a/b/", "x/a/b/", true},   {"a//", "a/", false},
    };
    CHECK_TABLE(table);
}

TEST(stars_and_slashes)
{
    static const struct one table[] = {
        {"*.o", "a.o", true},
        {"*.o", "x/y/.o", true},
        {"*.o", "a.oo", false},
        {"a*b", "ab", true},
        {"a*b", "axxb", true},
        {"a*b", "axbx", false},
        {"foo/*/bar", "foo/x/bar", true},
        {"foo/*/bar", "y/foo/x/bar", true},
        {"foo/*/bar", "foo/bar", false},
        {"foo/*/bar", "foo/x/y/bar", false},
        {"/foo/**/bar", "foo/x/bar", true},
        {"/foo/**/bar", "foo/x/y/bar", true},
        {"/foo/**/bar", "foo/bar", false},
        {"/foo/**/bar", "z/foo/x/bar", false},
        {"foo/**/bar", "z/foo/x/bar", true},
        {"foo/**/bar", "zfoo/x/bar", false},
        {"/foo/**", "foo", false},
        {"/foo/**", "foo/a/b", true},
        {"**/foo", "foo", true},
        {"**/foo", "a/b/foo", true},
        {"**/foo", "a/xfoo", false},
        {"/**/foo", "foo", false},
        {"**foo", "a/xfoo", true},
        {"foo**", "foo/a/b", true},
        {"foo**", "x/foobar/a", true},
        {"foo**", "xfoo", false},
        {"a?b", "a/b", false},
        {"?", "a", true},
        {"?", "ab", false},
        {"**", "a/b", true},
        {"a*/b", "x/ay/b", true},
    };
    CHECK_TABLE(table);
}

TEST(three_stars_take_the_directory_as_well)
{
    static const struct one table[] = {
        {"dir/***", "dir/", true},   {"dir/***", "dir", false},  {"dir/***", "dir/a/b", true},
        {"dir/***", "x/dir/", true}, {"/dir/***", "dir/", true}, {"/dir/***", "x/dir/", false},
        {"dir/***", "dir2/", false}, {"dir/**", "dir/", false},  {"***", "a/", true},
        {"/***", "a", true},         {"dir/***/", "dir/", true}, {"dir/***/", "dir/a/", true},
        {"[d]***", "d/", true},
    };
    CHECK_TABLE(table);
}

TEST(classes)
{
    static const struct one table[] = {
        {"[abc]", "b", true},        {"[abc]", "d", false},       {"[a-c]x", "bx", true},
        {"[a-c]x", "dx", false},     {"[!a]", "a", false},        {"[!a]", "b", true},
        {"[^a]", "a", false},        {"[^a]", "b", true},         {"[]a]", "]", true},
        {"[!]a]", "]", false},       {"[!]a]", "b", true},        {"[a-]", "-", true},
        {"[-a]", "-", true},         {"[\\]]", "]", true},        {"[a\\-c]", "b", false},
        {"[b-a]", "b", true},        {"[b-a]", "a", false},       {"[a-\\c]", "b", true},
        {"[[:alpha:]]", "q", true},  {"[[:alpha:]]", "1", false}, {"[[:digit:]a]", "a", true},
        {"[^[:alpha:]]", "1", true}, {"[[:upper:]]", "q", false}, {"[[:xdigit:]]", "F", true},
        {"[[:punct:]]", "~", true},  {"[[:space:]]", "\v", true}, {"[[:alpha:]]", "\xe4", false},
        {"[\xe4]", "\xe4", true},    {"[^a]", "\xff", true},      {"a[^x]b", "a/b", false},
        {"a[/]b", "a/b", false},     {"a/[/x]", "a/x", false},    {"a/[/x]", "y/a/x", false},
        {"[/a]", "a", false},        {"[[:alpha]", ":", true},    {"[[:]", "[", true},
        {"[[:]", ":", true},         {"a[*]", "a*", true},        {"[--0]", ".", true},
    };
    CHECK_TABLE(table);
}

TEST(what_cannot_match)
{
    static const struct one table[] = {
        {"[a", "a", false},         {"[a", "[a", false},        {"[", "[", false},
        {"[]", "]", false},         {"[!", "!", false},         {"[a-", "a", false},
        {"[[:foo:]]", "f", false},  {"[a[:foo:]]", "a", false}, {"[[::]]", ":", false},
        {"[[:alpha:]", "a", false}, {"*\\", "\\", false},       {"[a\\", "a", false},
    };
    CHECK_TABLE(table);
}

TEST(a_backslash_escapes_where_there_are_wildcards)
{
    static const struct one table[] = {
        {"foo\\bar", "foo\\bar", true},
        {"foo\\bar", "foobar", false},
        {"foo\\bar*", "foobar1", true},
        {"foo\\bar*", "foo\\bar1", false},
        {"foo\\\\bar*", "foo\\bar", true},
        {"\\*", "*", true},
        {"\\*", "x", false},
        {"a\\?", "a?", true},
        {"\\[a]", "[a]", true},
        {"\\", "\\", true},
        {"\\\\", "\\\\", true},
        {"*\\/b", "a/b", true},
        {"a\\**", "a*/b", false},
        {"a\\**", "x/a*b", true},
    };
    CHECK_TABLE(table);
}

TEST(the_first_rule_that_matches_decides)
{
    start();
    CHECK_EQ(weir__filter_add(filter, WEIR__FILTER_INCLUDE, "*.c"), 0);
    CHECK_EQ(weir__filter_add(filter, WEIR__FILTER_INCLUDE, "*/"), 0);
    CHECK(!weir__filter_needs_path(filter));
    CHECK_EQ(weir__filter_add(filter, WEIR__FILTER_EXCLUDE, "b.c"), 0);
    CHECK_EQ(weir__filter_add(filter, WEIR__FILTER_EXCLUDE, "/*/*"), 0);
    CHECK(weir__filter_needs_path(filter));
    CHECK_EQ(verdict("b.c"), WEIR__FILTER_INCLUDE);
    CHECK_EQ(verdict("x/y/"), WEIR__FILTER_INCLUDE);
    CHECK_EQ(verdict("x/y"), WEIR__FILTER_EXCLUDE);
    CHECK_EQ(verdict("y"), WEIR__FILTER_NONE);
    end();
}

TEST(signs_and_clearing)
{
    start();
    CHECK_EQ(weir__filter_add(filter, WEIR__FILTER_EXCLUDE, "a/b"), 0);
    CHECK_EQ(weir__filter_add(filter, WEIR__FILTER_INCLUDE, "!"), 0);
    CHECK(!weir__filter_needs_path(filter));
    CHECK_EQ(weir__filter_add(filter, WEIR__FILTER_EXCLUDE, ""), 0);
    CHECK_EQ(weir__filter_add(filter, WEIR__FILTER_EXCLUDE, "+ x"), 0);
    CHECK_EQ(weir__filter_add(filter, WEIR__FILTER_INCLUDE, "- y"), 0);
    CHECK_EQ(weir__filter_add(filter, WEIR__FILTER_INCLUDE, "-  z"), 0);
    CHECK_EQ(weir__filter_add(filter, WEIR__FILTER_INCLUDE, "- - z"), 0);
    CHECK_EQ(weir__filter_add(filter, WEIR__FILTER_INCLUDE, "- !"), 0);
    CHECK_EQ(weir__filter_add(filter, WEIR__FILTER_EXCLUDE, "! "), 0);
    CHECK_EQ(verdict("a/b"), WEIR__FILTER_NONE);
    CHECK_EQ(verdict("x"), WEIR__FILTER_INCLUDE);
    CHECK_EQ(verdict("y"), WEIR__FILTER_EXCLUDE);
    CHECK_EQ(verdict(" z"), WEIR__FILTER_EXCLUDE);
    CHECK_EQ(verdict("- z"), WEIR__FILTER_EXCLUDE);
    CHECK_EQ(verdict("z"), WEIR__FILTER_NONE);
    CHECK_EQ(verdict("!"), WEIR__FILTER_EXCLUDE);
    CHECK_EQ(verdict("! "), WEIR__FILTER_EXCLUDE);
    CHECK_EQ(weir__filter_add(filter, WEIR__FILTER_EXCLUDE, "- "), -WEIR_E_INVALID);
    CHECK_STR(weir__filter_problem(filter), "'- ': no pattern behind the sign");
    CHECK_EQ(verdict("x"), WEIR__FILTER_INCLUDE);
    end();
}

/* Files of rules. */

static char rules_path[128];

static int add_file(const char *bytes, size_t length, bool with_nul)
{
    const char *folder = getenv("TMPDIR");
    snprintf(rules_path, sizeof(rules_path), "%s/weir-rules-XXXXXX", folder ? folder : "/tmp");
    int fd = mkstemp(rules_path);
    CHECK(fd >= 0);
    bool is_written = write(fd, bytes, length) == (ssize_t)length;
    close(fd);
    int error = weir__filter_add_file(filter, WEIR__FILTER_EXCLUDE, rules_path, with_nul);
    unlink(rules_path);
    CHECK(is_written);
    return error;
}

#define ADD_FILE(text, with_nul) add_file(text, sizeof(text) - 1, with_nul)

TEST(lines_of_a_file)
{
    start();
    CHECK_EQ(ADD_FILE("old\n!\n# no\n;no\n\n+ a/b\r\n\r\n- c \nd\re\n  f", false), 0);
    CHECK_EQ(verdict("old"), WEIR__FILTER_NONE);
    CHECK_EQ(verdict("# no"), WEIR__FILTER_NONE);
    CHECK_EQ(verdict(";no"), WEIR__FILTER_NONE);
    CHECK_EQ(verdict("a/b"), WEIR__FILTER_INCLUDE);
    CHECK_EQ(verdict("c "), WEIR__FILTER_EXCLUDE);
    CHECK_EQ(verdict("c"), WEIR__FILTER_NONE);
    CHECK_EQ(verdict("d"), WEIR__FILTER_EXCLUDE);
    CHECK_EQ(verdict("e"), WEIR__FILTER_EXCLUDE);
    CHECK_EQ(verdict("  f"), WEIR__FILTER_EXCLUDE);
    CHECK_EQ(ADD_FILE("", false), 0);
    CHECK_EQ(verdict("e"), WEIR__FILTER_EXCLUDE);
    end();
}

TEST(rules_that_end_with_nul)
{
    start();
    CHECK_EQ(ADD_FILE("a\nb\0#c\0;d\0\0+ e\r\0f", true), 0);
    CHECK_EQ(verdict("a"), WEIR__FILTER_NONE);
    CHECK_EQ(verdict("a\nb"), WEIR__FILTER_EXCLUDE);
    CHECK_EQ(verdict("#c"), WEIR__FILTER_NONE);
    CHECK_EQ(verdict("e\r"), WEIR__FILTER_INCLUDE);
    CHECK_EQ(verdict("f"), WEIR__FILTER_EXCLUDE);
    end();
}

TEST(a_refusal_names_the_line)
{
    char text[WEIR__PATTERN_MAX + 16];
    start();
    CHECK_EQ(ADD_FILE("a\r\nb\r+ \n", false), -WEIR_E_INVALID);
    CHECK_HAS(weir__filter_problem(filter), rules_path);
    CHECK_HAS(weir__filter_problem(filter), "': line 3: no pattern behind the sign");
    CHECK_EQ(ADD_FILE("\na\0b\n", false), -WEIR_E_INVALID);
    CHECK_HAS(weir__filter_problem(filter), "': line 2: a NUL byte in a line; rules that end with");
    CHECK_EQ(ADD_FILE("a\0- \0", true), -WEIR_E_INVALID);
    CHECK_HAS(weir__filter_problem(filter), "': rule 2: no pattern");
    memset(text, 'x', sizeof(text));
    text[0] = '\n';
    CHECK_EQ(add_file(text, WEIR__PATTERN_MAX + 1, false), 0);
    CHECK_EQ(add_file(text, WEIR__PATTERN_MAX + 2, false), -WEIR_E_TOO_LARGE);
    CHECK_HAS(weir__filter_problem(filter), "': line 2: pattern is longer than 4096 bytes");
    CHECK_EQ(weir__filter_add_file(filter, WEIR__FILTER_EXCLUDE, "/nonexistent/rules", false),
             -WEIR_E_NOT_FOUND);
    CHECK_STR(weir__filter_problem(filter),
              "cannot open '/nonexistent/rules': no such file or directory");
    CHECK(weir__filter_add_file(filter, WEIR__FILTER_EXCLUDE, "/", false) < 0);
    CHECK_STR(weir__filter_problem(filter), "cannot read '/': is a directory");
    end();
}

TEST(rules_come_from_standard_input_too)
{
    int ends[2], saved = dup(STDIN_FILENO);
    CHECK_EQ(pipe(ends), 0);
    CHECK_EQ(write(ends[1], "a\nb", 3), 3);
    close(ends[1]);
    CHECK(dup2(ends[0], STDIN_FILENO) >= 0);
    close(ends[0]);
    start();
    int error = weir__filter_add_file(filter, WEIR__FILTER_INCLUDE, "-", false);
    dup2(saved, STDIN_FILENO);
    close(saved);
    CHECK_EQ(error, 0);
    CHECK_EQ(verdict("b"), WEIR__FILTER_INCLUDE);
    end();
}

/* Limits. */

TEST(what_is_too_long_is_refused)
{
    static char text[WEIR__PATTERN_MAX + 4];
    start();
    memset(text, 'x', sizeof(text) - 1);
    memcpy(text, "- ", 2);
    CHECK_EQ(weir__filter_add(filter, WEIR__FILTER_EXCLUDE, text), -WEIR_E_TOO_LARGE);
    CHECK_HAS(weir__filter_problem(filter), "xxx...': pattern is longer than 4096 bytes");
    text[WEIR__PATTERN_MAX + 2] = '\0';
    CHECK_EQ(weir__filter_add(filter, WEIR__FILTER_EXCLUDE, text), 0);
    CHECK_EQ(weir__filter_match(filter, NULL, text + 2, false), WEIR__FILTER_EXCLUDE);
    end();
}

TEST(what_is_too_much_is_refused)
{
    static char text[WEIR__RULE_FILE_MAX + 1];
    start();
    for (size_t i = 0; i < WEIR__FILTER_RULES_MAX; i++)
        memcpy(text + 2 * i, "a\n", 2);
    CHECK_EQ(add_file(text, 2 * (size_t)WEIR__FILTER_RULES_MAX, false), 0);
    CHECK_EQ(weir__filter_add(filter, WEIR__FILTER_EXCLUDE, "b"), -WEIR_E_TOO_LARGE);
    CHECK_STR(weir__filter_problem(filter), "'b': more than 65536 rules");
    CHECK_EQ(weir__filter_add(filter, WEIR__FILTER_EXCLUDE, "!"), 0);
    CHECK_EQ(weir__filter_add(filter, WEIR__FILTER_EXCLUDE, "b"), 0);
    memset(text, '\n', sizeof(text));
    CHECK_EQ(add_file(text, sizeof(text) - 1, false), 0);
    CHECK_EQ(add_file(text, sizeof(text), false), -WEIR_E_TOO_LARGE);
    CHECK_HAS(weir__filter_problem(filter), "': larger than 1048576 bytes");
    end();
}

/* A matcher that tries again for each star would not come back from any of these. The time is that
 * of the processor, so that a busy machine does not matter. */
TEST(no_pattern_is_hard)
{
    clock_t begin = clock();
    static const struct {
        const char *piece;
        char between; /* every second byte of the path */
        bool matches;
    } table[] = {
        {"*a", 'a', true},   {"**a", 'a', true}, {"a*", 'a', true},  {"?*", 'a', true},
        {"[a]*", 'a', true}, {"*/", '/', true},  {"**/", '/', true}, {"**/*a", '/', false},
    };
    static char path[WEIR__PATTERN_MAX], pattern[WEIR__PATTERN_MAX + 1];
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        size_t length = strlen(table[i].piece), used = 0;
        for (; used + length < WEIR__PATTERN_MAX / 2; used += length)
            memcpy(pattern + used, table[i].piece, length);
        memcpy(pattern + used, "[b]", 4);
        for (size_t k = 0; k < sizeof(path) - 1; k++)
            path[k] = k % 2 ? table[i].between : 'a';
        start();
        CHECK_EQ(weir__filter_add(filter, WEIR__FILTER_EXCLUDE, pattern), 0);
        CHECK_EQ(weir__filter_match(filter, path, path, false), WEIR__FILTER_NONE);
        path[sizeof(path) - 2] = 'b';
        CHECK_EQ(weir__filter_match(filter, path, path, false),
                 table[i].matches ? WEIR__FILTER_EXCLUDE : WEIR__FILTER_NONE);
    }
    CHECK(clock() - begin < 4 * CLOCKS_PER_SEC);
    end();
}

/* Places beyond the first word of the set, and a path longer than any that the kernel takes. */
TEST(long_patterns_and_long_paths)
{
    enum { LENGTH = 100000 };
    static const struct {
        const char *before, *between, *behind; /* of 300 bytes and 100 bytes of the path */
        enum weir__verdict wanted;
    } table[] = {
        {"/", "**", "*[z]", WEIR__FILTER_EXCLUDE},   {"/", "**", "*[y]", WEIR__FILTER_NONE},
        {"/", "*", "*[z]", WEIR__FILTER_NONE},       {"", "**", "[z]", WEIR__FILTER_NONE},
        {"", "**", "*[h-j]z", WEIR__FILTER_EXCLUDE},
    };
    static char path[LENGTH + 1];
    for (size_t i = 0; i < LENGTH; i++)
        path[i] = i % 10 == 9 ? '/' : (char)('a' + i % 10);
    path[LENGTH - 1] = 'z';
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        char pattern[512];
        snprintf(pattern, sizeof(pattern), "%s%.300s%s%.100s%s", table[i].before, path,
                 table[i].between, path, table[i].behind);
        start();
        CHECK_EQ(weir__filter_add(filter, WEIR__FILTER_EXCLUDE, pattern), 0);
        CHECK_EQ(weir__filter_match(filter, path, path + LENGTH - 10, false), table[i].wanted);
    }
    end();
}

static void match_without_path(void *arg)
{
    (void)arg;
    (void)weir__filter_match(filter, NULL, "b", false);
}

TEST(a_missing_path_is_noticed)
{
    start();
    CHECK_EQ(weir__filter_match(filter, NULL, "b", false), WEIR__FILTER_NONE);
    CHECK_EQ(weir__filter_add(filter, WEIR__FILTER_EXCLUDE, "a/b"), 0);
    CHECK(tap_dies(match_without_path, NULL, "filter 'b': its path is needed"));
    CHECK_EQ(weir__filter_match(filter, "", "", true), WEIR__FILTER_NONE);
    end();
    weir__filter_free(NULL);
}

TAP_MAIN()
