/* Tests of the engine with rules made by hand: where matches are found, how often, and that it
 * makes no difference how an object was cut. */
#include <stdio.h>
#include <string.h>

#include <weir/error.h>

#include "alloc.h"
#include "engine.h"
#include "tap.h"

#define FOUND_MAX 20000

struct found {
    const char *rule;
    struct weir__place place;
    char secret[64];
    size_t encodings;
};

static struct found found[FOUND_MAX];
static size_t found_count;
static struct weir__engine *engine;
static struct weir__scanner *scanner;
static struct weir__scan_result result;

static void take(void *arg, const struct weir__finding *finding)
{
    (void)arg;
    if (found_count == FOUND_MAX)
        return;
    struct found *one = &found[found_count++];
    one->rule = finding->rule->id;
    one->place = finding->place;
    one->encodings = finding->encodings_count;
    size_t length = finding->secret_length < 63 ? finding->secret_length : 63;
    memcpy(one->secret, finding->secret, length);
    one->secret[length] = '\0';
    CHECK(finding->line_until <= finding->line_length);
}

static struct weir__rules *rules;

static void start(const char *text)
{
    struct weir__rules_error error;
    struct weir__engine_options options = {0};
    struct weir__sink sink = {.finding = take};
    if (weir__rules_load(&rules, "test", text, strlen(text), NULL, &error) < 0 ||
        weir__engine_new(&engine, rules, &options, &error) < 0)
        tap_fail(__FILE__, __LINE__, "no engine: %s", error.text);
    CHECK_EQ(weir__scanner_new(&scanner, engine, &sink), 0);
}

static void stop(void)
{
    weir__scanner_free(scanner);
    weir__engine_free(engine);
    weir__rules_free(rules);
}

/* Scans in chunks of so many bytes; 0: all at once. */
static void scan(const char *path, const char *bytes, size_t length, size_t chunk)
{
    struct weir__object object = {.path = path, .decode_depth = WEIR__DECODE_DEPTH_DEFAULT};
    found_count = 0;
    CHECK_EQ(weir__scanner_begin(scanner, &object), 0);
    for (size_t at = 0; at < length;) {
        size_t part = chunk == 0 || chunk > length - at ? length - at : chunk;
        CHECK_EQ(weir__scanner_feed(scanner, bytes + at, part), 0);
        at += part;
    }
    CHECK_EQ(weir__scanner_end(scanner, &result), 0);
}

static const char rules_text[] =
    "[[rules]]\nid = 'token'\nregex = '\\btok_[a-z0-9]{16}\\b'\n"
    "[[rules]]\nid = 'assigned'\nregex = '(?i)acme[ _]{0,3}=[ ]?([A-F0-9]{8})'\n"
    "[[rules]]\nid = 'block'\nregex = '-----BEGIN X-----[\\s\\S]{1,}?-----END X-----'\n"
    "[[rules]]\nid = 'digits'\nregex = '\\b[0-9]{2}Q[0-9]{2}\\b'\n"
    "[[rules]]\nid = 'needs'\nregex = 'zz[0-9]{6}zz'\nkeywords = ['tok_']\n";

TEST(finds_at_the_right_place)
{
    start(rules_text);
    const char *text = "first line\nx = tok_abcdef0123456789;\nACME = 1234ABCD\n";
    scan("a.txt", text, strlen(text), 0);
    CHECK_EQ(found_count, 2);
    CHECK_STR(found[0].rule, "token");
    CHECK_EQ(found[0].place.line, 2);
    CHECK_EQ(found[0].place.column, 5);
    CHECK_EQ(found[0].place.offset, 15);
    CHECK_EQ(found[0].place.length, 20);
    CHECK_EQ(found[0].place.end_column, 25);
    CHECK_STR(found[1].secret, "1234ABCD");
    CHECK_EQ(found[1].place.line, 3);
    CHECK_EQ(found[1].place.column, 8);
    stop();
}

TEST(a_rule_without_a_literal_is_found_by_its_expression)
{
    start(rules_text);
    scan("a", "12Q34 112Q34 56Q78", 18, 0);
    CHECK_EQ(found_count, 2);
    CHECK_STR(found[1].secret, "56Q78");
    stop();
}

TEST(a_keyword_may_be_anywhere_in_the_object)
{
    start(rules_text);
    scan("a", "zz123456zz", 10, 0);
    CHECK_EQ(found_count, 0);
    CHECK_EQ(result.rejected, 1);
    scan("a", "zz123456zz ... TOK_", 19, 0);
    CHECK_EQ(found_count, 1);
    stop();
}

TEST(comments_allow)
{
    start(rules_text);
    const char *text = "tok_abcdef0123456789 # weir:allow\ntok_abcdef0123456780 // gitleaks:allow\n"
                       "tok_abcdef0123456781\n";
    scan("a", text, strlen(text), 0);
    CHECK_EQ(found_count, 1);
    CHECK_EQ(result.allowed, 2);
    CHECK_EQ(found[0].place.line, 3);
    stop();
}

TEST(a_comment_beside_what_is_encoded_allows)
{
    start(rules_text);
    /* dG9rX2FiY2RlZjAxMjM0NTY3ODk= is tok_abcdef0123456789 */
    const char *text = "a: dG9rX2FiY2RlZjAxMjM0NTY3ODk= # weir:allow\n"
                       "b: dG9rX2FiY2RlZjAxMjM0NTY3ODk=\n";
    scan("a", text, strlen(text), 3);
    CHECK_EQ(found_count, 1);
    CHECK_EQ(result.allowed, 1);
    CHECK_EQ(found[0].place.line, 2);
    stop();
}

TEST(what_follows_an_escape_begins_there)
{
    static const char *const texts[] = {"\\ntok_abcdef0123456789", "a%3Dtok_abcdef0123456789",
                                        "a\\u003dtok_abcdef0123456789", "\\x3dtok_abcdef0123456789",
                                        "\\ttok_abcdef0123456789"};
    start("[[rules]]\nid = 'token'\nregex = '\\btok_[a-z0-9]{16}\\b'\n");
    for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
        scan("a", texts[i], strlen(texts[i]), 0);
        if (found_count != 1)
            tap_fail(__FILE__, __LINE__, "%s: found %zu times", texts[i], found_count);
    }
    scan("a", "ntok_abcdef0123456789 3dtok_abcdef0123456789", 44, 0);
    CHECK_EQ(found_count, 0);
    stop();
}

static size_t count_with(const char *allow, const char *path, const char *text)
{
    char all[512];
    snprintf(all, sizeof(all), "%s[[rules]]\nid = 'token'\nregex = 'tok_[a-z0-9]{16}'\n", allow);
    start(all);
    scan(path, text, strlen(text), 0);
    stop();
    return found_count;
}

TEST(allow_lists_mean_what_they_say)
{
    const char *text = "harmless: tok_abcdef0123456789 it is\n";
    const char *line = "[[allowlists]]\nregexTarget = 'line'\nregexes = ['^harmless']\n";
    CHECK_EQ(count_with(line, "a", text), 0);
    CHECK_EQ(
        count_with("[[allowlists]]\nregexTarget = 'match'\nregexes = ['^harmless']\n", "a", text),
        1);
    CHECK_EQ(count_with("[[allowlists]]\nregexes = ['^tok_abc']\n", "a", text), 0);
    CHECK_EQ(count_with("[[allowlists]]\nregexes = ['harmless']\n", "a", text), 1);
    /* All kinds of conditions, or any. */
    const char *both =
        "[[allowlists]]\ncondition = 'AND'\npaths = ['\\.md$']\nregexes = ['^tok_abc']\n";
    const char *any = "[[allowlists]]\npaths = ['\\.md$']\nregexes = ['^tok_abc']\n";
    CHECK_EQ(count_with(both, "a.md", text), 0);
    CHECK_EQ(count_with(both, "a.c", text), 1);
    CHECK_EQ(count_with(both, "a.md", "tok_zbcdef0123456789"), 1);
    CHECK_EQ(count_with(any, "a.c", text), 0);
    CHECK_EQ(count_with(any, "a.c", "tok_zbcdef0123456789"), 1);
}

TEST(a_group_that_is_not_there_is_refused)
{
    const char *text = "[[rules]]\nid = 'token'\nregex = 'tok_([a-z0-9]{16})'\nsecretGroup = 2\n";
    struct weir__rules_error error;
    struct weir__engine_options options = {0};
    CHECK_EQ(weir__rules_load(&rules, "test", text, strlen(text), NULL, &error), 0);
    CHECK_EQ(weir__engine_new(&engine, rules, &options, &error), -WEIR_E_INVALID);
    CHECK(strstr(error.text, "secretGroup is 2"));
    weir__rules_free(rules);
    text = "[[rules]]\nid = 'token'\nregex = 'tok_([a-z0-9]{16}'\n";
    if (weir__rules_load(&rules, "test", text, strlen(text), NULL, &error) == 0) {
        CHECK_EQ(weir__engine_new(&engine, rules, &options, &error), -WEIR_E_INVALID);
        weir__rules_free(rules);
    }
    CHECK(!strstr(error.text, "literal"));
}

/* A text of several segments with matches everywhere, also across their edges. */
static char *make_long(size_t length)
{
    char *text = weir__base_alloc(1, length + 1);
    uint64_t state = 12345;
    size_t at = 0;
    while (text && at < length) {
        char piece[96];
        state = state * 6364136223846793005u + 1442695040888963407u;
        unsigned kind = (unsigned)(state >> 33) % 50;
        int size =
            kind == 0   ? snprintf(piece, sizeof(piece), " tok_%016llx ", (unsigned long long)state)
            : kind == 1 ? snprintf(piece, sizeof(piece), "acme=%08X\n", (unsigned)state)
            : kind == 2 ? snprintf(piece, sizeof(piece), "-----BEGIN X-----")
            : kind == 3 ? snprintf(piece, sizeof(piece), "%u-----END X-----", kind)
            : kind == 4 ? snprintf(piece, sizeof(piece), " 12Q%02u ", (unsigned)(state >> 40) % 100)
                        : snprintf(piece, sizeof(piece), "some words of no use %u\n", kind);
        size_t part = (size_t)size < length - at ? (size_t)size : length - at;
        memcpy(text + at, piece, part);
        at += part;
    }
    return text;
}

TEST(it_makes_no_difference_how_an_object_was_cut)
{
    start(rules_text);
    size_t length = (5u << 20) / 2;
    char *text = make_long(length);
    CHECK(text);
    static struct found whole[FOUND_MAX];
    scan("long", text, length, 0);
    size_t count = found_count;
    memcpy(whole, found, sizeof(found));
    CHECK(count > 1000 && count < FOUND_MAX);
    for (size_t i = 1; i < count; i++)
        CHECK(whole[i].place.offset >= whole[i - 1].place.offset);
    static const size_t chunks[] = {1 << 20, 4096, 1000003, 65537, 333, 1};
    for (size_t c = 0; c < sizeof(chunks) / sizeof(chunks[0]); c++) {
        scan("long", text, length, chunks[c]);
        CHECK_EQ(found_count, count);
        for (size_t i = 0; i < count && i < found_count; i++)
            if (found[i].place.offset != whole[i].place.offset ||
                found[i].place.line != whole[i].place.line || found[i].rule != whole[i].rule) {
                tap_fail(__FILE__, __LINE__, "chunks of %zu: finding %zu differs", chunks[c], i);
                break;
            }
    }
    weir__base_free(text);
    stop();
}

/* Every token by itself in small objects, against one large object: nothing is lost or doubled. */
TEST(matches_across_an_edge_are_found_once)
{
    start(rules_text);
    size_t edge = 1u << 20;
    char *text = weir__base_alloc(1, edge + 65536);
    CHECK(text);
    for (size_t shift = 0; shift < 24; shift++) {
        memset(text, '.', edge + 65536);
        memcpy(text + edge - shift, "tok_abcdef0123456789", 20);
        scan("edge", text, edge + 60000, 0);
        CHECK_EQ(found_count, 1);
        CHECK_EQ(found[0].place.offset, edge - shift);
        CHECK_EQ(found[0].place.line, 1);
    }
    weir__base_free(text);
    stop();
}

TEST(what_is_encoded_is_found_where_it_was)
{
    start(rules_text);
    /* base64 of "the secret is tok_abcdef0123456789, keep it" */
    const char *text = "data: dGhlIHNlY3JldCBpcyB0b2tfYWJjZGVmMDEyMzQ1Njc4OSwga2VlcCBpdA==\n";
    scan("a", text, strlen(text), 0);
    CHECK_EQ(found_count, 1);
    CHECK_STR(found[0].secret, "tok_abcdef0123456789");
    CHECK_EQ(found[0].encodings, 1);
    CHECK(found[0].place.offset >= 6 && found[0].place.offset + found[0].place.length <= 66);
    stop();
}

TAP_MAIN()
