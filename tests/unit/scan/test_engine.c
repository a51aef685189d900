/* Tests of the engine with rules made by hand: where matches are found, how often, and that it
 * makes no difference how an object was cut. */
#include <stdio.h>
#include <string.h>

#include <weir/error.h>

#include "alloc.h"
#include "engine.h"
#include "parts.h"
#include "scanner_help.h"
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

static void start(const char *text)
{
    help_start(text, strlen(text), NULL, take);
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
    "[[rules]]\nid = 'needs'\nregex = 'zz[0-9]{6,8}zz'\nkeywords = ['tok_']\n";

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
    help_stop();
}

TEST(a_rule_without_a_literal_is_found_by_its_expression)
{
    start(rules_text);
    scan("a", "12Q34 112Q34 56Q78", 18, 0);
    CHECK_EQ(found_count, 2);
    CHECK_STR(found[1].secret, "56Q78");
    help_stop();
}

TEST(a_keyword_may_be_anywhere_in_the_object)
{
    start(rules_text);
    scan("a", "zz123456zz", 10, 0);
    CHECK_EQ(found_count, 0);
    CHECK_EQ(result.rejected, 1);
    scan("a", "zz123456zz ... TOK_", 19, 0);
    CHECK_EQ(found_count, 1);
    help_stop();
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
    help_stop();
}

TEST(a_comment_is_a_word)
{
    static const struct {
        const char *behind;
        unsigned allowed;
    } table[] = {
        {"# weir:allow", 1},
        {"#weir:allow", 1},
        {"# weir:allow-->", 1},
        {"# weir:allow, ok", 1},
        {"/* gitleaks:allow */", 1},
        {"# weir:allowed", 0},
        {"# weir:allow_all", 0},
        {"# gitleaks:allows", 0},
        {"# weir:allow2", 0},
        {"# myweir:allow", 0},
        {"# x_gitleaks:allow", 0},
        {"# weir: allow", 0},
        {"# weir:allowed or weir:allow", 1},
    };
    char text[128];
    start(rules_text);
    for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
        int size = snprintf(text, sizeof(text), "tok_abcdef0123456789 %s", table[i].behind);
        scan("a", text, (size_t)size, 0);
        if (result.allowed != table[i].allowed || found_count + result.allowed != 1)
            tap_fail(__FILE__, __LINE__, "%s: %zu found", table[i].behind, found_count);
    }
    help_stop();
}

/* A line may be as long as the file: a comment counts so many bytes to either side of the match. */
TEST(a_comment_is_near)
{
    static char text[3 * WEIR__COMMENT_NEAR];
    const size_t token = strlen("tok_abcdef0123456789"), comment = strlen("weir:allow");
    start(rules_text);
    for (int is_behind = 0; is_behind < 2; is_behind++) {
        for (size_t beyond = 0; beyond < 2; beyond++) {
            size_t at = is_behind ? 4 : WEIR__COMMENT_NEAR + 8;
            size_t place = is_behind ? at + token + WEIR__COMMENT_NEAR - comment + beyond
                                     : at - WEIR__COMMENT_NEAR - beyond;
            memset(text, ' ', sizeof(text));
            memcpy(text + at, "tok_abcdef0123456789", token);
            memcpy(text + place, "weir:allow", comment);
            scan("a", text, sizeof(text), 0);
            CHECK_EQ(result.allowed, 1 - beyond);
            CHECK_EQ(found_count, beyond);
        }
    }
    help_stop();
}

/* A match that is wider than its rule says is none; a narrower one from the same place is one. */
TEST(a_width_that_is_given_holds)
{
    static const struct {
        const char *text, *found;
    } table[] = {
        {"<ab>", "<ab>"},
        {"<abcdefgh>", "<abcdefgh>"},
        {"<abcdefghi>", NULL},
        {"<abcdefghijklmnop>", NULL},
        {"<ab>cdefghijklmn>", "<ab>"},
        {"<abcdefg>>", "<abcdefg>>"},
        {"<abcdefg>>>>>>>", "<abcdefg>>"},
        {"<abcdefghijkl<mn>", "<mn>"},
        {"<abcdefghi<abcdefghi<x>", "<x>"},
    };
    start("[[rules]]\nid = 'w'\nregex = '<[a-z<>]+>'\nmax-width = 10\n");
    for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
        scan("a", table[i].text, strlen(table[i].text), 0);
        if (found_count != (table[i].found ? 1 : 0) ||
            (table[i].found && strcmp(found[0].secret, table[i].found) != 0))
            tap_fail(__FILE__, __LINE__, "%s: %zu found, %s", table[i].text, found_count,
                     found_count ? found[0].secret : "");
    }
    help_stop();
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
    help_stop();
}

TEST(what_follows_an_escape_begins_there)
{
    static const char *const texts[] = {"\\ntok_abcdef0123456789",      "a%3Dtok_abcdef0123456789",
                                        "a\\u003dtok_abcdef0123456789", "\\x3dtok_abcdef0123456789",
                                        "\\ttok_abcdef0123456789",      "a%0Atok_abcdef0123456789",
                                        "a%0dtok_abcdef0123456789"};
    start("[[rules]]\nid = 'token'\nregex = '\\btok_[a-z0-9]{16}\\b'\n");
    for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
        scan("a", texts[i], strlen(texts[i]), 0);
        if (found_count != 1)
            tap_fail(__FILE__, __LINE__, "%s: found %zu times", texts[i], found_count);
    }
    scan("a", "ntok_abcdef0123456789 3dtok_abcdef0123456789", 44, 0);
    CHECK_EQ(found_count, 0);
    help_stop();
}

static size_t count_with(const char *allow, const char *path, const char *text)
{
    char all[512];
    snprintf(all, sizeof(all), "%s[[rules]]\nid = 'token'\nregex = 'tok_[a-z0-9]{16}'\n", allow);
    start(all);
    scan(path, text, strlen(text), 0);
    help_stop();
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

/* A file that is found by its name is allowed by it, too, and by any other list. */
/* A name is passed over only if no path that ends with it is found. */
TEST(a_name_may_be_that_of_a_path)
{
    static const struct {
        const char *path;
        const char *yes, *no; /* names, with a space behind each */
    } table[] = {
        {"config/master\\.key$", "master.key MASTER.KEY ",
         "key xmaster.key master.keys masterxkey "},
        {"(?i)config\\/master\\.key$", "master.key Master.Key ", "a.key "},
        {"\\.pem$", "a.pem .pem ", "pem a.pem2 "},
        {"(?:^|/)\\.kube/config$", "config ", "aconfig config.yml "},
        {"(?:^|/)\\.kube/(?:a|b)-config$", "a-config x-config ", "a_config "},
        {"(?:^|/)id_rsa$", "id_rsa ", "xid_rsa "},
        {"^a/b[0-9]x$", "b1x qx ", "b1 "},
        {"a/bx?c$", "bc bxc ", "b "},
        {"a/\\bkey$", "key ", "kez "},
        /* Of these nothing is known. */
        {"a/b$|c/d", "b d zzz ", ""},
        {"a/\\x41key$", "Akey zzz ", ""},
        {"a/\\pLkey$", "Akey ", ""},
        {"config/master\\.key", "zzz ", ""},
        {"config/(?:x|master\\.key)$", "zzz ", ""},
        {"config/.*", "zzz ", ""},
        {"(?m)config/x$", "zzz ", ""},
        {"a/\\d$", "zzz ", ""},
        {"a/b{2}$", "zzz ", ""},
        {"a/[$]$", "zzz ", ""},
        {"a/b\\$", "zzz ", ""},
    };
    char text[256], path[64], name[64];
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        snprintf(text, sizeof(text), "[[rules]]\nid = 'p'\npath = '%s'\n", table[i].path);
        start(text);
        for (int k = 0; k < 2; k++)
            for (const char *at = k ? table[i].no : table[i].yes; *at; at = strchr(at, ' ') + 1) {
                static const char *const folders[] = {"", "a/", "config/", ".kube/", "x/config/"};
                snprintf(name, sizeof(name), "%.*s", (int)strcspn(at, " "), at);
                bool is_as_wanted = weir__scanner_may_name(scanner, name) == (k == 0);
                CHECK_STR(is_as_wanted ? "" : name, is_as_wanted ? "" : table[i].path);
                for (size_t f = 0; f < 5; f++) {
                    snprintf(path, sizeof(path), "%s%s", folders[f], name);
                    scan(path, "x", 1, 0);
                    CHECK(k == 0 || found_count == 0);
                }
            }
        /* Letters that are the same without regard to case, and none of ASCII. */
        CHECK(i > 0 || weir__scanner_may_name(scanner, "master.\xe2\x84\xaa"
                                                       "ey"));
        help_stop();
    }
}

TEST(a_path_that_is_found_may_be_allowed)
{
    start("[[rules]]\nid = 'pem'\npath = '\\.pem$'\n[[rules.allowlists]]\npaths = ['^test/']\n"
          "[[rules.allowlists]]\nstopwords = ['public']\n");
    scan("a/key.pem", "", 0, 0);
    CHECK_EQ(found_count, 1);
    CHECK_EQ(result.allowed, 0);
    scan("test/key.pem", "", 0, 0);
    CHECK_EQ(found_count, 0);
    CHECK_EQ(result.allowed, 1);
    scan("a/Public.pem", "", 0, 0);
    CHECK_EQ(found_count, 0);
    CHECK_EQ(result.allowed, 1);
    help_stop();
}

TEST(commits_are_allowed_by_seven_digits_or_more)
{
    static const struct {
        const char *listed, *commit;
        unsigned found;
    } table[] = {
        {"0123abc", "0123abcdef", 0},
        {"0123ABC", "0123abcdef", 0},
        {"0123abcdef", "0123abcdef", 0},
        {"0123ab", "0123abcdef", 1},
        {"", "0123abcdef", 1},
        {"123abcd", "0123abcdef", 1},
        {"0123abcdef0", "0123abcdef", 1},
        {"0123abc", NULL, 1},
    };
    char text[256];
    for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
        snprintf(text, sizeof(text),
                 "[[allowlists]]\ncommits = ['%s']\n[[rules]]\nid = 'a'\nregex = 'tok_[a-z]{4}'\n",
                 table[i].listed);
        start(text);
        struct weir__object object = {.path = "a", .commit = table[i].commit};
        found_count = 0;
        CHECK_EQ(weir__scanner_begin(scanner, &object), 0);
        CHECK_EQ(weir__scanner_feed(scanner, "tok_abcd", 8), 0);
        CHECK_EQ(weir__scanner_end(scanner, &result), 0);
        if (found_count != table[i].found)
            tap_fail(__FILE__, __LINE__, "'%s': %zu found", table[i].listed, found_count);
        help_stop();
    }
}

TEST(entropy_is_the_least_that_is_enough)
{
    start("[[rules]]\nid = 'a'\nregex = 'x=([a-z]{8})'\nentropy = 2.0\n");
    scan("a", "x=abcdabcd", 10, 0); /* two bits for each byte */
    CHECK_EQ(found_count, 1);
    scan("a", "x=abcaabcd", 10, 0);
    CHECK_EQ(found_count, 0);
    CHECK_EQ(result.rejected, 1);
    help_stop();
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
    help_stop();
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
    help_stop();
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
    help_stop();
}

/* --- more than there is room for at first --- */

#define MANY 10000u

/* So many lines, with another text before and behind them; # in a line is its number. */
static char *lines(const char *before, const char *line, unsigned count, const char *behind,
                   size_t *ret_length)
{
    size_t size = strlen(before) + strlen(behind) + (size_t)count * 48 + 1, at = 0;
    char *text = weir__base_alloc(1, size);
    CHECK(text);
    at += (size_t)snprintf(text, size, "%s", before);
    const char *number = strchr(line, '#');
    for (unsigned i = 0; i < count; i++)
        at += (size_t)snprintf(text + at, size - at, "%.*s%08u%s\n", (int)(number - line), line, i,
                               number + 1);
    at += (size_t)snprintf(text + at, size - at, "%s", behind);
    *ret_length = at;
    return text;
}

static void scan_lines(const char *before, const char *line, unsigned count, const char *behind)
{
    size_t length;
    char *text = lines(before, line, count, behind, &length);
    scan("a", text, length, 0);
    weir__base_free(text);
}

TEST(a_keyword_may_come_behind_many_matches)
{
    start(rules_text);
    scan_lines("", "zz#zz", MANY, "tok_\n");
    CHECK_EQ(found_count, MANY);
    CHECK(!result.is_judged_early);
    scan_lines("tok_\n", "zz#zz", MANY, "");
    CHECK_EQ(found_count, MANY);
    scan_lines("", "zz#zz", MANY, "");
    CHECK_EQ(found_count, 0);
    CHECK_EQ(result.rejected, MANY);
    /* Over several segments. */
    scan_lines("", "zz#zz .............................", 4 * MANY, "tok_\n");
    CHECK_EQ(result.findings, 4 * MANY);
    CHECK(!result.is_judged_early);
    help_stop();
}

/* Those of a generic rule come behind others that stand behind them, and all wait: whatever is
 * forgotten in between, each keeps its own text. */
TEST(what_waits_keeps_its_text)
{
    const unsigned count = 8000;
    const size_t size = 32ul * count;
    start("[[rules]]\nid = 'first'\nregex = 'aa[0-9]{8}'\nkeywords = ['magic']\n"
          "[[rules]]\nid = 'generic-second'\nregex = 'bb[0-9]{8}'\nkeywords = ['magic']\n"
          "[[rules]]\nid = 'free'\nregex = 'cc[0-9]{4}'\n");
    char *text = weir__base_alloc(1, size);
    CHECK(text);
    size_t length = 0;
    for (unsigned i = 0; i < count; i++)
        length += (size_t)snprintf(text + length, size - length, "bb%08u%s aa%08u\n", i,
                                   i % 16 == 0 ? "cc1234" : "", i);
    length += (size_t)snprintf(text + length, size - length, "magic\n");
    scan("a", text, length, 0);
    CHECK_EQ(found_count, 2 * count + count / 16);
    CHECK(!result.is_judged_early);
    for (size_t i = 0; i < found_count; i++)
        if (found[i].place.length != strlen(found[i].secret) ||
            memcmp(text + found[i].place.offset, found[i].secret, found[i].place.length) != 0)
            tap_fail(__FILE__, __LINE__, "%s at %u: '%s'", found[i].rule,
                     (unsigned)found[i].place.offset, found[i].secret);
    weir__base_free(text);
    help_stop();
}

/* Room is made in a segment that begins behind what is required, and before what requires it. */
TEST(what_is_required_stays_until_its_lines_have_passed)
{
    const unsigned count = 7000;
    const size_t edge = 1u << 20, size = edge + 16384;
    start("[[rules]]\nid = 'id'\nregex = 'ID[0-9]{4}'\n"
          "[[rules]]\nid = 'free'\nregex = 'fr[0-9]{6}'\n"
          "[[rules]]\nid = 'near'\nregex = 'near_[0-9]{8}'\n[[rules.required]]\nid = 'id'\n"
          "withinLines = 2\n");
    char *text = weir__base_alloc(1, size);
    CHECK(text);
    memset(text, '.', size);
    for (unsigned i = 0; i < count; i++) {
        char line[16];
        int length = snprintf(line, sizeof(line), "fr%06u\n", i);
        /* So many at the end of the segment that room is scarce in the next one, and not before. */
        size_t at = i < 5000 ? 9ul * i : edge - 60000 + 9ul * (i - 5000);
        memcpy(text + at, line, (size_t)length);
    }
    memcpy(text + edge - 20000, "\nID1234\n", 8);
    memcpy(text + edge + 3000, "\nnear_00000001\n", 15);
    scan("a", text, size, 0);
    CHECK_EQ(found_count, count + 2);
    memcpy(text + edge - 3000, "\n", 1); /* one line more between them */
    scan("a", text, size, 0);
    CHECK_EQ(found_count, count + 1);
    weir__base_free(text);
    help_stop();
}

/* Room is made before the segment has been decoded: what is read better then is what is told. */
TEST(what_may_be_read_better_is_not_told_before)
{
    start("[[rules]]\nid = 'token'\nregex = 'tok_[a-z0-9%]{8,24}'\n"
          "[[rules]]\nid = 'free'\nregex = 'zz[0-9]{8}'\n");
    scan_lines("tok_abcd%65fgh0123456\n", "zz#", MANY, "");
    CHECK_EQ(found_count, MANY + 1);
    size_t decoded = 0;
    for (size_t i = 0; i < found_count; i++)
        decoded += found[i].encodings > 0;
    CHECK_EQ(decoded, 1);
    help_stop();
}

/* The one that it would give way to waits for its keyword, over several segments: so it waits too.
 */
TEST(what_would_give_way_to_one_that_waits_waits_as_well)
{
    start("[[rules]]\nid = 'cover'\nregex = 'tok_[0-9]{8}'\nkeywords = ['magic']\n"
          "[[rules]]\nid = 'way'\ngivesWay = true\nregex = 'key=tok_[0-9]{8}'\n");
    scan_lines("", "key=tok_# ..........................", 4 * MANY, "magic\n");
    CHECK_EQ(result.findings, 4 * MANY);
    CHECK_STR(found[0].rule, "cover");
    scan_lines("", "key=tok_# ..........................", 4 * MANY, "\n");
    CHECK_EQ(result.findings, 4 * MANY);
    CHECK_STR(found[0].rule, "way");
    CHECK(!result.is_judged_early);
    help_stop();
}

TEST(too_many_that_wait_are_told)
{
    start(rules_text);
    scan_lines("", "zz#zz", 2 * WEIR__WAITING_MAX, "tok_\n");
    CHECK(result.is_judged_early);
    CHECK(result.findings < 2 * WEIR__WAITING_MAX);
    CHECK_EQ(result.findings + result.rejected, 2 * WEIR__WAITING_MAX);
    /* What they waited for never came: nothing was lost. */
    scan_lines("", "zz#zz", 2 * WEIR__WAITING_MAX, "");
    CHECK(!result.is_judged_early);
    CHECK_EQ(result.findings, 0);
    /* Those that wait for nothing do not count. */
    scan_lines("tok_\n", "zz#zz", 3 * WEIR__WAITING_MAX, "");
    CHECK(!result.is_judged_early);
    CHECK_EQ(result.findings, 3 * WEIR__WAITING_MAX);
    help_stop();
}

TEST(what_is_required_may_be_far_from_many)
{
    start("[[rules]]\nid = 'id'\nregex = 'ID[0-9]{4}'\n"
          "[[rules]]\nid = 'any'\nregex = 'any_[0-9]{8}'\n[[rules.required]]\nid = 'id'\n"
          "[[rules]]\nid = 'near'\nregex = 'near_[0-9]{8}'\n[[rules.required]]\nid = 'id'\n"
          "withinLines = 2\n");
    scan_lines("ID1234\n", "any_#", MANY, "");
    CHECK_EQ(found_count, MANY + 1);
    scan_lines("", "any_#", MANY, "ID1234\n");
    CHECK_EQ(found_count, MANY + 1);
    scan_lines("", "any_#", MANY, "");
    CHECK_EQ(found_count, 0);
    CHECK_EQ(result.rejected, MANY);
    scan_lines("ID1234\n", "near_#", MANY, "ID1234\n");
    CHECK_EQ(found_count, 2 + 2 + 2);
    scan_lines("ID1234\n", "ID1234 near_# .................", 3 * MANY, "any_12345678\n");
    CHECK_EQ(result.findings, 6 * MANY + 2);
    CHECK(!result.is_judged_early);
    /* More than there is room for, in many segments: those before are needed no more. */
    scan_lines("ID1234\n", "any_#", 3 * WEIR__WAITING_MAX, "");
    CHECK_EQ(result.findings, 3 * WEIR__WAITING_MAX + 1);
    CHECK(!result.is_judged_early);
    help_stop();
}

TEST(a_rule_gives_way_among_many)
{
    start("[[rules]]\nid = 'token'\nregex = 'tok_[a-z0-9]{16}'\n"
          "[[rules]]\nid = 'way'\ngivesWay = true\nregex = 'key=([a-z0-9_]{20})'\n");
    scan_lines("", "key=tok_12345678#", 4 * MANY, "");
    CHECK_EQ(result.findings, 4 * MANY);
    CHECK_EQ(result.rejected, 4 * MANY);
    scan_lines("", "key=yes_12345678#", 4 * MANY, "");
    CHECK_EQ(result.findings, 4 * MANY);
    CHECK(!result.is_judged_early);
    help_stop();
}

/* Told with its segment or with the object: what was read better is told alone. */
TEST(what_holds_an_escape_is_told_once)
{
    start("[[rules]]\nid = 'url'\nregex = 'acme://([a-z0-9%]{4,40})@'\n");
    static const char piece[] = "acme://abcd%40efgh@host\n";
    static char text[3u << 20];
    memset(text, '.', sizeof(text));
    memcpy(text + sizeof(text) - strlen(piece), piece, strlen(piece));
    scan("a", text, sizeof(text), 0);
    CHECK_EQ(found_count, 1);
    CHECK_STR(found[0].secret, "abcd");
    memcpy(text, piece, strlen(piece));
    scan("a", text, sizeof(text), 0);
    CHECK_EQ(found_count, 2);
    CHECK_STR(found[0].secret, "abcd");
    help_stop();
}

/* Decoded text of an escape begins in the middle of a line, as far before it as is looked at. */
TEST(a_line_does_not_begin_where_decoding_does)
{
    static char text[4096];
    start("[[rules]]\nid = 'first'\nregex = '(?m)^begin-[0-9]{4}'\n");
    for (int gap = 0; gap < 1200; gap++) {
        int length = snprintf(text, sizeof(text), "a line: begin-1234 %*s%%41\n", gap, "");
        scan("a", text, (size_t)length, 0);
        memset(text + 19, gap % 2 ? '.' : 'x', (size_t)gap); /* one word with the escape */
        size_t before = found_count;
        scan("a", text, (size_t)length, 0);
        if (before + found_count > 0)
            tap_fail(__FILE__, __LINE__, "found %d bytes before an escape", gap);
    }
    scan("a", "a line\nbegin-1234 %41\n", 22, 0);
    CHECK_EQ(found_count, 1);
    help_stop();
}

/* Whoever can write to the cache may have put another database there. */
TEST(hits_that_nothing_is_known_of_are_left_alone)
{
    start(rules_text);
    uint32_t count = engine->anchors_count;
    engine->anchors_count = 0;
    scan("a", "tok_abcdef0123456789", 20, 0);
    CHECK_EQ(found_count, 0);
    engine->anchors_count = count;
    scan("a", "tok_abcdef0123456789", 20, 0);
    CHECK_EQ(found_count, 1);
    help_stop();
}

/* --- what is allowed, and what gives way --- */

struct count {
    const char *text;
    unsigned found, allowed;
};

static void check_counts(const struct count *table, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        scan("a", table[i].text, strlen(table[i].text), 0);
        if (found_count != table[i].found || result.allowed != table[i].allowed)
            tap_fail(__FILE__, __LINE__, "%s: %zu found, %u allowed", table[i].text, found_count,
                     (unsigned)result.allowed);
    }
}

TEST(what_gives_way_to_what_is_allowed_says_nothing)
{
    start("[[rules]]\nid = 'key'\nregex = '-----BEGIN X-----\\n(?:[a-z]+[^\\n]*\\n){1,9}-----END "
          "X-----'\n"
          "[[rules]]\nid = 'unfinished'\ngivesWay = true\nregex = '-----BEGIN X-----\\n[a-z]+'\n"
          "[[rules]]\nid = 'token'\nregex = 'tok_[a-z0-9]{4}'\nkeywords = ['token']\n"
          "[[rules.allowlists]]\nstopwords = ['test']\n"
          "[[rules]]\nid = 'way'\ngivesWay = true\nregex = 'key=([a-z0-9_]{8})'\n");
    static const struct count table[] = {
        {"-----BEGIN X-----\nabc\ndef\n-----END X-----\n", 1, 0},
        {"-----BEGIN X-----\nabc\ndef\n-----END X----- # weir:allow\n", 0, 1},
        {"-----BEGIN X-----\nabc\ndef weir:allow\n-----END X-----\n", 0, 1},
        {"-----BEGIN X----- \n-----BEGIN X-----\nabc\n# weir:allow", 1, 0},
        {"token key=tok_abcd", 1, 0},
        {"token key=tok_test", 0, 1},
        {"key=tok_test", 1, 1}, /* without its keyword the rule has no say */
        {"token key=abcdtest", 1, 0},
    };
    check_counts(table, sizeof(table) / sizeof(*table));
    help_stop();
}

/* The one that it gives way to may begin far before it, with others in between that end there. */
TEST(others_in_between_do_not_keep_a_rule_from_giving_way)
{
    start("[[rules]]\nid = 'wide'\nregex = '<[^>]{20,90}>'\n"
          "[[rules]]\nid = 'narrow'\nregex = 'nar_[0-9]{3}'\n"
          "[[rules]]\nid = 'way'\ngivesWay = true\nregex = 'key=[a-z]{8}'\n");
    static const struct count table[] = {
        {"<nar_123 nar_456 nar_789 key=abcdefgh nar_123>", 5, 0},
        {"<nar_123 nar_456 nar_789 key=abcdefgh nar_123", 5, 0},
        {"<key=abcdefgh nar_123 nar_456 nar_789>", 4, 0},
        {"<nar_123 nar_456 nar_789>  key=abcdefgh", 5, 0},
    };
    check_counts(table, sizeof(table) / sizeof(*table));
    help_stop();
}

/* Of two rules that both give way: a comment is about the bytes, a list about what one rule makes
 * of them. */
TEST(a_comment_speaks_for_all_rules_of_one_rank)
{
    start("[[rules]]\nid = 'key'\ngivesWay = true\n"
          "regex = '-----BEGIN X-----\\n(?:[a-z]+[^\\n]*\\n){1,9}-----END X-----'\n"
          "[[rules.allowlists]]\nstopwords = ['test']\n"
          "[[rules]]\nid = 'unfinished'\ngivesWay = true\nregex = '-----BEGIN X-----\\n[a-z]+'\n");
    static const struct count table[] = {
        {"-----BEGIN X-----\nabc\ndef\n-----END X-----\n", 1, 0},
        {"-----BEGIN X-----\nabc\ndef\n-----END X----- # weir:allow\n", 0, 1},
        {"-----BEGIN X-----\nabc\ndef weir:allow\n-----END X-----\n", 0, 1},
        {"-----BEGIN X-----\nabc # weir:allow\ndef\n-----END X-----\n", 0, 2},
        {"-----BEGIN X-----\nabc\ndef test\n-----END X-----\n", 1, 1},
        {"-----BEGIN X-----\nabc\ndef\n-----END Y----- # weir:allow\n", 1, 0},
    };
    check_counts(table, sizeof(table) / sizeof(*table));
    help_stop();
}

TAP_MAIN()
