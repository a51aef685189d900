/* test_nowhere.c - an object whose path is not known has a finding if it has one anywhere.
 *
 * Rules by chance, which ask for paths and commits, allow by them, require each other and give way
 * to each other, on texts by chance: under each of a few paths and commits, and under none. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <weir/error.h>

#include "alloc.h"
#include "scanner_help.h"
#include "tap.h"

#define RULES_MAX 6u

struct counted {
    unsigned of_text, of_path; /* findings */
};

static struct counted counted;

static void take(void *arg, const struct weir__finding *finding)
{
    (void)arg;
    if (finding->rule->regex)
        counted.of_text++;
    else
        counted.of_path++;
}

static bool chance(unsigned in)
{
    return random_below(in) == 0;
}

/* --- rules --- */

static const char *const regexes[] = {
    "key=([a-f0-9]{6,12})",  "=([a-f]{3}[a-f0-9]{2,8})", "key=[a-f0-9]{4,9}",
    "([a-f]{3}[0-9]{3})\\b", "pin:([0-9]{4})",           "key=([a-f]{3})[0-9]+",
};
static const char *const path_texts[] = {"\\.pem$", "^a/", "secret", "[.]txt$"};
static const char *const commit_texts[] = {"c0ffee0", "0123456789"};

static char text[16384];
static size_t text_length;

static __attribute__((format(printf, 1, 2))) void put(const char *format, ...)
{
    va_list values;
    va_start(values, format);
    int length = vsnprintf(text + text_length, sizeof(text) - text_length, format, values);
    va_end(values);
    CHECK(length > 0 && (size_t)length < sizeof(text) - text_length);
    text_length += (size_t)length;
}

static void put_allow(const char *head)
{
    put("%s\n", head);
    if (chance(2))
        put("condition = 'AND'\n");
    bool has_paths = chance(2), has_words = chance(3);
    if (has_paths)
        put("paths = ['%s']\n", path_texts[random_below(4)]);
    if (chance(3))
        put("commits = ['%s']\n", commit_texts[random_below(2)]);
    if (has_words)
        put("stopwords = ['%s']\n", chance(2) ? "abc" : "12");
    if (chance(3) || !(has_paths || has_words))
        put("regexes = ['%s']\n", chance(2) ? "^a" : "1");
}

static void put_rule(unsigned number, unsigned count)
{
    static const char *const names[RULES_MAX] = {"r0", "r1",         "generic-r2",
                                                 "r3", "generic-r4", "r5"};
    bool is_path_alone = chance(8);
    put("[[rules]]\nid = '%s'\n", names[number]);
    if (!is_path_alone)
        put("regex = '%s'\n", regexes[random_below(6)]);
    if (is_path_alone || chance(3))
        put("path = '%s'\n", path_texts[random_below(4)]);
    if (chance(3))
        put("givesWay = true\n");
    if (chance(6))
        put("skipReport = true\n");
    if (chance(5))
        put("keywords = ['word']\n");
    if (chance(3))
        put_allow("[[rules.allowlists]]");
    if (!is_path_alone && chance(3)) {
        put("[[rules.required]]\nid = '%s'\n", names[random_below(count)]);
        if (chance(2))
            put("withinLines = %s\n", chance(2) ? "0" : "1");
    }
}

static void make_rules(void)
{
    unsigned count = 2 + random_below(RULES_MAX - 1);
    text_length = 0;
    if (chance(2))
        put_allow("[allowlist]");
    for (unsigned i = 0; i < count; i++)
        put_rule(i, count);
}

/* --- texts --- */

static size_t make_text(char *bytes, size_t size)
{
    static const char *const pieces[] = {
        "key=abc123", "key=", "abcdef42",  "abc123",       "pin:1234",
        "def",        "12",   "=fed98765", " weir:allow ", "\n",
        "\n",         " ",    "word",      "a/b\n",        "key=fade77 # weir:allow\n"};
    size_t length = 0;
    for (unsigned i = 1 + random_below(12); i > 0; i--) {
        const char *piece = pieces[random_below(sizeof(pieces) / sizeof(*pieces))];
        if (length + strlen(piece) < size)
            length += (size_t)snprintf(bytes + length, size - length, "%s", piece);
    }
    return length;
}

static struct counted scan(const char *path, const char *commit, const char *bytes, size_t length)
{
    struct weir__object object = {.path = path, .commit = commit, .decode_depth = 1};
    counted = (struct counted){0};
    CHECK_EQ(weir__scanner_begin(scanner, &object), 0);
    CHECK_EQ(weir__scanner_feed(scanner, bytes, length), 0);
    CHECK_EQ(weir__scanner_end(scanner, NULL), 0);
    return counted;
}

TEST(what_is_found_anywhere_is_found_nowhere)
{
    static const char *const paths[] = {"a/key.pem", "b/key.pem", "a/x.txt", "secret/x.txt", "z"};
    static const char *const commits[] = {NULL, "c0ffee0123", "0123456789abcdef"};
    unsigned made = 0, found = 0, found_none = 0;
    for (unsigned i = 0; i < 400; i++) {
        struct weir__rules_error error = {.text = ""};
        struct weir__engine_options options = {0};
        struct weir__sink sink = {.finding = take};
        make_rules();
        if (weir__rules_load(&rules, "test", text, text_length, NULL, &error) < 0)
            continue; /* requires what is not there, or itself */
        if (weir__engine_new(&engine, rules, &options, &error) == 0) {
            made++;
            CHECK_EQ(weir__scanner_new(&scanner, engine, &sink), 0);
        }
        for (unsigned k = 0; k < 60 && scanner; k++) {
            char bytes[512];
            size_t length = make_text(bytes, sizeof(bytes));
            struct counted none = scan(NULL, chance(2) ? commits[1] : NULL, bytes, length);
            CHECK_EQ(none.of_path, 0);
            found_none += none.of_text > 0;
            for (unsigned p = 0; p < 5 * 3; p++) {
                struct counted one = scan(paths[p / 3], commits[p % 3], bytes, length);
                found += one.of_text > 0;
                if (one.of_text > 0 && none.of_text == 0) {
                    tap_fail(__FILE__, __LINE__, "%u: under '%s' and not under none: '%.*s' by\n%s",
                             i, paths[p / 3], (int)length, bytes, text);
                    k = 60;
                    break;
                }
            }
        }
        help_stop();
    }
    printf("# %u sets of rules, %u found, %u under none\n", made, found, found_none);
    CHECK(made > 200 && found > 20000);
}

/* The same words as in the header, one by one. */
TEST(rules_and_lists_that_ask_for_a_path)
{
    static const char toml[] = "[allowlist]\npaths = ['^vendor/']\n"
                               "[[rules]]\nid = 'here'\nregex = 'here-[0-9]{4}'\npath = '[.]pem$'\n"
                               "[[rules]]\nid = 'file'\npath = '[.]pem$'\n"
                               "[[rules]]\nid = 'listed'\nregex = 'listed-[0-9]{4}'\n"
                               "[[rules.allowlists]]\ncommits = ['c0ffee0']\n"
                               "[[rules]]\nid = 'asks'\nregex = 'asks-[0-9]{4}'\n"
                               "[[rules.required]]\nid = 'file'\n";
    static const char bytes[] = "here-1234 listed-1234 asks-1234";
    help_start(toml, strlen(toml), NULL, take);
    struct counted none = scan(NULL, "c0ffee0123", bytes, strlen(bytes));
    CHECK_EQ(none.of_text, 3);
    CHECK_EQ(none.of_path, 0);
    struct counted pem = scan("x.pem", "c0ffee0123", bytes, strlen(bytes));
    CHECK_EQ(pem.of_text, 2);
    CHECK_EQ(pem.of_path, 1);
    struct counted other = scan("x", NULL, bytes, strlen(bytes));
    CHECK_EQ(other.of_text, 1);
    struct counted vendor = scan("vendor/x.pem", NULL, bytes, strlen(bytes));
    CHECK_EQ(vendor.of_text + vendor.of_path, 0);
    help_stop();
}

TAP_MAIN()
