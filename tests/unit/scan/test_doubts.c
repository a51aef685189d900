/* test_doubts.c - rules give way to others that have the same secret, and to nothing else, however
 * many there are. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "decode_help.h"
#include "engine_help.h"
#include "scanner_help.h"
#include "tap.h"

static const char rules_text[] =
    "[[rules]]\nid = 'generic-password'\nregex = 'pass=([a-z0-9_]{6,40})'\n"
    "[[rules]]\nid = 'token'\nregex = 'tok_[a-z0-9]{16}'\n"
    "[[rules]]\nid = 'needs'\nregex = 'zz[0-9]{6}zz'\nkeywords = ['kw']\n"
    "[[rules]]\nid = 'left'\nregex = 'left_[0-9]{4}'\n"
    "[[rules.required]]\nid = 'right'\nwithinLines = 1\n"
    "[[rules]]\nid = 'right'\nregex = 'right_[0-9]{4}'\nskipReport = true\n"
    "[[rules]]\nid = 'pair'\nregex = 'pair_[0-9]{4}'\n"
    "[[rules.required]]\nid = 'generic-secret'\nwithinLines = 1\n"
    "[[rules]]\nid = 'generic-secret'\nregex = 'secret=([a-z0-9_]{6,40})'\n"
    "[[rules]]\nid = 'early'\nregex = 'hdr=([a-z0-9_]{6,40})'\ngivesWay = true\n"
    "[[rules]]\nid = 'late'\nregex = 'x-hdr=([a-z0-9_=]{6,40})'\ngivesWay = true\n"
    "[[rules]]\nid = 'tail'\nregex = '[a-z0-9]{4}!([a-z]{4})'\nsecretGroup = 1\n"
    "[[rules]]\nid = 'long'\nregex = 'long=([a-z0-9_!]{6,40})'\ngivesWay = true\n"
    "[[rules]]\nid = 'longer'\nregex = 'er:(long=[a-z0-9_]{6,40})'\ngivesWay = true\n"
    "[[rules]]\nid = 'less'\nregex = 'long=([a-z0-9]{6})'\ngivesWay = true\n"
    "[[rules]]\nid = 'asks'\nregex = 'b-val=([a-z0-9_]{6,40})'\nkeywords = ['here']\n"
    "givesWay = true\n"
    "[[rules]]\nid = 'lists'\nregex = 'val=([a-z0-9_]{6,40})'\ngivesWay = true\n"
    "[[rules.allowlists]]\nregexes = ['^no_']\n"
    "[[rules]]\nid = 'takes'\nregex = '[a-z]-val=([a-z0-9_]{6,40})'\ngivesWay = true\n"
    "[[rules]]\nid = 'name'\nregex = 'ID[A-Z0-9]{8}'\n"
    "[[rules]]\nid = 'couple'\nregex = 'ID[A-Z0-9]{8},([a-z0-9]{16})'\ngivesWay = true\n";

/* Apart: these two take long to compile. */
static const char wide_text[] =
    "[[rules]]\nid = 'generic-password'\nregex = 'pass=([a-z0-9_]{6,40})'\n"
    "[[rules]]\nid = 'wide'\nregex = '<<([^>]{9,15000})>>'\ngivesWay = true\n"
    "[[rules]]\nid = 'half'\nregex = '<<([^!]{9,9000})!'\ngivesWay = true\n";

static struct hits found;

static void take(void *arg, const struct weir__finding *finding)
{
    (void)arg;
    hits_take(&found, finding);
}

static void start(void)
{
    help_start(rules_text, strlen(rules_text), NULL, take);
}

static void scan(const char *text, size_t length)
{
    struct weir__object object = {.path = "a", .decode_depth = 3};
    CHECK_EQ(hits_scan(&found, scanner, &object, 0, text, length, NULL, NULL), 0);
    if (found.problem)
        tap_fail(__FILE__, __LINE__, "%s", found.problem);
}

static size_t count_of(const char *id)
{
    size_t count = 0;
    for (size_t i = 0; i < found.count; i++)
        count += strcmp(found.items[i].rule->id, id) == 0;
    return count;
}

static void check_found(const char *text, const char *ids)
{
    char all[256] = "";
    scan(text, strlen(text));
    hits_sort(&found);
    for (size_t i = 0; i < found.count; i++) {
        size_t length = strlen(all);
        snprintf(all + length, sizeof(all) - length, "%s%s", i > 0 ? " " : "",
                 found.items[i].rule->id);
    }
    if (strcmp(all, ids) != 0)
        tap_fail(__FILE__, __LINE__, "'%s': found '%s' and not '%s'", text, all, ids);
}

TEST(a_generic_rule_gives_way_to_what_is_told)
{
    start();
    check_found("pass=hunter2abc\n", "generic-password");
    check_found("pass=tok_abcdef0123456789\n", "token");
    check_found("pass=x_tok_abcdef0123456789_y\n", "token");
    check_found("tok_abcdef0123456789 pass=hunter2abc tok_abcdef0123456789",
                "token generic-password token");
    /* Not to what is not: a keyword is missing, another rule is missing. */
    check_found("pass=zz123456zz\n", "generic-password");
    check_found("pass=zz123456zz kw\n", "needs");
    check_found("pass=left_1234\n", "generic-password");
    check_found("pass=left_1234 right_1234\n", "left");
    /* Encoded: cGFzcz10b2tfYWJjZGVmMDEyMzQ1Njc4OQ== and cGFzcz1odW50ZXIyYWJjX2RlZg==. */
    check_found("x: cGFzcz10b2tfYWJjZGVmMDEyMzQ1Njc4OQ==\n", "token");
    check_found("x: cGFzcz1odW50ZXIyYWJjX2RlZg==\n", "generic-password");
    help_stop();
}

TEST(a_rule_may_say_that_it_gives_way)
{
    start();
    check_found("hdr=hunter2abc\n", "early");
    check_found("hdr=tok_abcdef0123456789\n", "token");
    check_found("hdr=zz123456zz\n", "early");
    check_found("hdr=zz123456zz kw\n", "needs");
    check_found("pass=hdr=hunter2abc\n", "early");
    /* Of two the first; both give way to a third. */
    check_found("x-hdr=hunter2abc\n", "early");
    check_found("x-hdr=hunter2=abc\n", "early");
    check_found("x-hdr=tok_abcdef0123456789\n", "token");
    /* Not to what has given way itself. */
    check_found("er:long=hunter2abc\n", "long");
    check_found("er:long=hunter2abc!wxyz\n", "longer tail");
    help_stop();
}

TEST(what_others_require_is_known_although_it_gives_way)
{
    start();
    check_found("secret=tok_abcdef0123456789 pair_1234\n", "token pair");
    check_found("secret=hunter2abc pair_1234\n", "generic-secret pair");
    check_found("pair_1234\n", "");
    help_stop();
}

/* Several rules that give way have one secret. The first of them is judged for all, unless it is
 * not told: a list allows it, or a keyword is missing, which may come much later. */
TEST(one_secret_of_several_rules)
{
    static char text[(300u << 10) + 64];
    start();
    check_found("a-val=hunter2abc\n", "lists");
    check_found("a-val=no_hunter2\n", "takes");
    check_found("b-val=hunter2abc\n", "lists");
    check_found("b-val=no_hunter2\n", "takes");
    check_found("b-val=hunter2abc here\n", "asks");
    check_found("b-val=no_hunter2 here\n", "asks");
    check_found("b-val=tok_abcdef0123456789 here\n", "token");
    for (size_t far = 100; far <= 300u << 10; far += 50u << 10) {
        memset(text, '\n', sizeof(text));
        memcpy(text, "b-val=no_hunter2", 16);
        memcpy(text + far, "here", 4);
        text[far + 5] = '\0';
        check_found(text, "asks");
    }
    help_stop();
}

/* Each of them with a secret of its own, more than may wait at once; they come out of order. */
TEST(many_secrets_of_several_rules)
{
    static char text[256u << 10];
    size_t at = 0, count = 1500;
    start();
    for (size_t i = 0; i < count; i++)
        at += (size_t)snprintf(text + at, sizeof(text) - at, "b-val=%shunter%zu %s\n",
                               i % 3 ? "" : "no_", i,
                               i % 5 ? "hdr=abcdef12" : "tok_abcdef0123456789");
    scan(text, at);
    CHECK_EQ(count_of("takes"), count / 3);
    CHECK_EQ(count_of("lists"), count - count / 3);
    CHECK_EQ(count_of("token"), count / 5);
    CHECK_EQ(count_of("early"), count - count / 5);
    CHECK_EQ(found.count, 2 * count);
    help_stop();
}

/* A byte of base64 is of two decoded ones: neighbours overlap where they are encoded. */
TEST(neighbours_do_not_give_way_to_each_other)
{
    char plain[2][512];
    start();
    for (size_t blanks = 0; blanks < 12; blanks++)
        for (unsigned times = 0; times <= 3; times++) {
            size_t length = (size_t)snprintf(plain[0], sizeof(plain[0]),
                                             "key:%*sIDQ5H4UP54,"
                                             "ab12cd34ef56gh78\n",
                                             (int)blanks, "");
            for (unsigned i = 0; i < times; i++)
                length =
                    encode_base64(plain[i % 2], length, base64_standard, true, plain[(i + 1) % 2]);
            plain[times % 2][length] = '\0';
            check_found(plain[times % 2], "name couple");
        }
    help_stop();
}

/* More than may wait, in one block and in several. */
TEST(there_may_be_many)
{
    static const size_t counts[] = {1, 511, 512, 513, 1500};
    static char text[256u << 10];
    start();
    for (size_t c = 0; c < sizeof(counts) / sizeof(*counts); c++) {
        for (size_t gap = 0; gap <= 70; gap += 70) {
            size_t at = 0;
            for (size_t i = 0; i < counts[c]; i++)
                at += (size_t)snprintf(text + at, sizeof(text) - at,
                                       "pass=tok_%016zu\n%*spass=word_%zu_\n", i, (int)gap, "", i);
            scan(text, at);
            CHECK_EQ(count_of("token"), counts[c]);
            CHECK_EQ(count_of("generic-password"), counts[c]);
            CHECK_EQ(found.count, 2 * counts[c]);
        }
    }
    help_stop();
}

/* One that is as wide as a key has them all, also those that many others are before. */
TEST(many_give_way_to_one)
{
    static const size_t counts[] = {1, 63, 64, 65, 128, 129, 300};
    static char text[64u << 10];
    help_start(wide_text, strlen(wide_text), NULL, take);
    for (size_t c = 0; c < sizeof(counts) / sizeof(*counts); c++)
        for (size_t half = 0; half < 2; half++) {
            size_t at = (size_t)snprintf(text, sizeof(text), "pass=before1 <<");
            for (size_t i = 0; i < counts[c]; i++)
                at += (size_t)snprintf(text + at, sizeof(text) - at, "pass=%s_%08zu%s\n", "word", i,
                                       half && i == counts[c] / 2 ? "!" : "");
            at += (size_t)snprintf(text + at, sizeof(text) - at, ">> pass=behind1\n");
            scan(text, at);
            CHECK_EQ(count_of("wide"), 1);
            CHECK_EQ(count_of("generic-password"), 2);
            CHECK_EQ(found.count, 3);
        }
    help_stop();
}

TAP_MAIN()
