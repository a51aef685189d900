/* test_doubts.c - generic rules give way to others that have the same secret, and to nothing else,
 * however many there are. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
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
    "[[rules]]\nid = 'longer'\nregex = 'er:(long=[a-z0-9_]{6,40})'\ngivesWay = true\n";

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
    struct weir__object object = {.path = "a", .decode_depth = 2};
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

TAP_MAIN()
