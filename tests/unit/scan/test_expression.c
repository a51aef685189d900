/* Tests of what is known about an expression before it runs. */
#include <stdio.h>
#include <string.h>

#include <weir/error.h>

#include "alloc.h"
#include "expression.h"
#include "tap.h"

/* The required literals, joined by '|'; those that stand for one case alone with '=' before. */
static const char *literals_of(const char *regex, uint64_t *ret_width)
{
    static char text[WEIR__EXPRESSION_LITERALS * (WEIR__EXPRESSION_LITERAL + 2) + 1];
    struct weir__expression study;
    CHECK_EQ(weir__expression_study(regex, &study), 0);
    size_t length = 0;
    text[0] = '\0';
    for (unsigned i = 0; i < study.required.count; i++)
        length += (size_t)snprintf(text + length, sizeof(text) - length, "%s%s%.*s",
                                   i > 0 ? "|" : "", study.required.is_cased[i] ? "=" : "",
                                   study.required.length[i], study.required.text[i]);
    *ret_width = study.width_max;
    return text;
}

static void expect(const char *regex, uint64_t width, const char *literals)
{
    uint64_t got;
    const char *text = literals_of(regex, &got);
    if (got != width || strcmp(text, literals) != 0)
        tap_fail(__FILE__, __LINE__, "'%s': width %lld, literals '%s'; expected %lld, '%s'", regex,
                 (long long)got, text, (long long)width, literals);
}

TEST(widths)
{
    expect("abcd", 4, "=abcd");
    expect("a{3}b{2,5}", 8, "=aaa");
    expect("x*", WEIR__WIDTH_ANY, "");
    expect("[a-z]{2,}", WEIR__WIDTH_ANY, "");
    expect("(?:abc|defgh)[0-9]{4}", 9, "=abc|=defgh");
    expect("\\b(foo_)?[a-z]{10}\\b", 14, "");
    expect("\\x41\\x{42}\\n", 3, "=AB\n");
    expect(".{0,80}?zebra", 85, "=zebra");
    expect("(?=look)zebra", 5, "=zebra");
}

TEST(literals_are_what_no_match_is_without)
{
    expect("ghp_[A-Za-z0-9]{36}", 40, "=ghp_");
    expect("(?i)(?:AKIA|ASIA)[A-Z0-9]{16}", 20, "akia|asia");
    expect("key(?:_id)?=[0-9]{8}", 15, "=key_id=|=key=");
    expect("[Aa]pple[a-z]*", WEIR__WIDTH_ANY, "=Apple|=apple");
    expect("(?:zebra)?[a-z]", 6, "");
    expect("\\Qa.b\\E[a-z]", 4, "=a.b");
    expect("(?x) zeb ra # a comment\n [0-9]", 6, "=zebra");
    expect("abc|[a-z]+", WEIR__WIDTH_ANY, "");
    /* As often as it must be there, up to the length of a literal. */
    expect("(?:zeb){2,5}[0-9]", 16, "=zebzeb");
    expect("(?i)Q{3,}", WEIR__WIDTH_ANY, "qqq");
    expect("Q{40,50}", 50, "=QQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQ");
    expect("Q{0,50}", 50, "");
    /* A rare one before a common one, however long that is. */
    expect("snyk[a-z]{0,9}password", 21, "=snyk");
}

TEST(groups_and_signs_of_all_kinds)
{
    expect("(?<name>zebra)[0-9]{4}", 9, "=zebra");
    expect("(?P<name>zebra)[0-9]{4}", 9, "=zebra");
    expect("(?'name'zebra)[0-9]{4}", 9, "=zebra");
    expect("zeb(?#what is it)ra[0-9]", 6, "=zebra");
    expect("(?>zebra|quartz)[0-9]", 7, "=zebra|=quartz");
    expect("(?<=before)zebra(?<!behind)", 5, "=zebra");
    expect("zebra\\t\\f\\a\\e\\r", 10, "=zebra\t\f\a\x1b\r");
}

TEST(what_pcre2_alone_knows_is_understood_or_vague)
{
    /* Numbers and names of characters. */
    expect("zebra\\055quagga", 12, "=zebra-quagga");
    expect("zebra\\0551", 7, "=zebra-1");
    expect("zebra\\o{55}\\cI\\x{2d}", 8, "=zebra-\t-");
    expect("zebra[\\b]", 6, "=zebra\b");
    /* What was matched before, and what is matched again. */
    expect("zebra(a)\\1", WEIR__WIDTH_ANY, "=zebraa");
    expect("zebra(a)\\g{-1}00", WEIR__WIDTH_ANY, "=zebraa");
    expect("zebra(?P<q>a)(?P=q)", WEIR__WIDTH_ANY, "=zebraa");
    expect("zebra(?<q>a)\\k{q}(?&q)(?P>q)(?1)(?-1)\\g<q>", WEIR__WIDTH_ANY, "=zebraa");
    expect("zebra(?(1)quagga|okapi)", 11, "=zebra");
    expect("(?(DEFINE)(?<q>quagga))zebra", 11, "=zebra");
    /* What means nothing, between a part and how often it is there. */
    expect("\\Qzebra\\E{2}", 6, "=zebraa");
    expect("zebra(?#many)?", 5, "=zebr");
    expect("(?x) zebra # many\n ?", 5, "=zebr");
    expect("\\Qa|b)\\E[0-9]", 5, "=a|b)");
    /* Verbs and settings. */
    expect("(*ANYCRLF)zebra(*SKIP)", 5, "=zebra");
    expect("zebra(*ACCEPT)quagga", WEIR__WIDTH_ANY, "");
    expect("(*pla:quagga)zebra", 11, "=zebra");
    expect("zebra{,3}", WEIR__WIDTH_ANY, "");
    expect("zebra(?C1)", WEIR__WIDTH_ANY, "");
    /* Where characters are meant each may have four bytes, and a letter more cases than two. */
    expect("zebraé?", 24, "=zebra");
    expect("(?i)okapié", 24,
           "okapi|o\xe2\x84\xaa"
           "api");
    expect("(*UTF)zebra\\xe9", 24, "=zebra");
}

static uint64_t extent_of(const char *regex)
{
    struct weir__expression study;
    CHECK_EQ(weir__expression_study(regex, &study), 0);
    return study.extent_max;
}

TEST(how_far_a_match_looks)
{
    CHECK_EQ(extent_of("zebra"), 5);
    CHECK_EQ(extent_of("zebra\\b"), 6);
    CHECK_EQ(extent_of("zebra$"), 7);
    CHECK_EQ(extent_of("zebra(?=quagga)"), 11);
    CHECK_EQ(extent_of("(?=quagga)zebra"), 6);
    CHECK_EQ(extent_of("(?:zebra(?!quagga)){3}"), 26);
    CHECK_EQ(extent_of("zebra(?<=zebra)"), 5);
    CHECK_EQ(extent_of("zebra(?<=ra(?=quagga))"), 13);
    CHECK_EQ(extent_of("zebra(?=quagga*)"), WEIR__WIDTH_ANY);
}

static void expect_wide(const char *regex, const char *widened)
{
    char *text = NULL;
    CHECK_EQ(weir__expression_widen(regex, &text), 0);
    CHECK_STR(text, widened);
    weir__base_free(text);
}

TEST(characters_become_bytes)
{
#define ANY "(?:[\\x00-\\x7f]|[\\x80-\\xff]{1,4})"
    expect_wide("a[bc]é?", "a[bc](?:\\xc3\\xa9)?");
    expect_wide("=[äö]{3}", "=" ANY "{3}");
    expect_wide("(?i)ké", "(?i)(?:k|\\xe2\\x84\\xaa)" ANY);
    expect_wide("(?<n>\\pL\\p{Lu})\\w\\W.", "(" ANY ANY ")\\w" ANY ANY);
    expect_wide("(*UCP)\\d[\\]]", ANY "[\\]]");
    char *text = NULL;
    CHECK_EQ(weir__expression_widen("(?x)é", &text), -WEIR_E_INVALID);
    CHECK_EQ(weir__expression_widen("(é)\\1", &text), -WEIR_E_INVALID);
    CHECK(!text);
    CHECK(weir__expression_is_wide("\\x{100}") && !weir__expression_is_wide("\\x{ff}"));
    CHECK(!weir__expression_is_wide("\\\\p"));
}

TEST(one_that_is_in_another_does_for_both)
{
    expect("(?i)(?:jwt|jwt_key|old jwt)[a-z]", 8, "jwt");
    expect("(?:Key|(?i:key))[a-z]", 4, "key");
    expect("(?:key|Key)[a-z]", 4, "=key|=Key");
}

TEST(too_many_are_cut_to_what_they_have_in_common)
{
    char regex[4096] = "(?:";
    for (char a = 'a'; a <= 'z'; a++)
        for (char b = 'a'; b < 'h'; b++)
            snprintf(regex + strlen(regex), sizeof(regex) - strlen(regex), "%szebra%c%c",
                     a == 'a' && b == 'a' ? "" : "|", a, b);
    snprintf(regex + strlen(regex), sizeof(regex) - strlen(regex), ")[0-9]");
    uint64_t width;
    const char *text = literals_of(regex, &width);
    CHECK_EQ(width, 8);
    CHECK(strncmp(text, "=zebra", 6) == 0 && strlen(text) < 300);
}

static uint64_t reach_of(const char *regex)
{
    struct weir__expression study;
    CHECK_EQ(weir__expression_study(regex, &study), 0);
    return study.reach_max;
}

TEST(how_far_from_the_beginning_a_literal_ends)
{
    CHECK_EQ(reach_of("zebra[0-9]{100}"), 5);
    CHECK_EQ(reach_of("[a-c]{0,20}zebra[0-9]{100}"), 25);
    CHECK_EQ(reach_of("(?:[0-9]{3}quartz|zebra)[0-9]{100}"), 9);
    CHECK_EQ(reach_of("(?:[0-9]zebra){3,9}"), 6);
    CHECK_EQ(reach_of("[0-9]{2}(?:zeb){2,9}"), 8);
    CHECK_EQ(reach_of("[0-9]*zebra"), WEIR__WIDTH_ANY);
    /* Characters that may have four bytes each. */
    CHECK_EQ(reach_of("[\\p{L}]zebra"), 24);
}

static const char *late_of(const char *regex)
{
    static struct weir__expression study;
    CHECK_EQ(weir__expression_study(regex, &study), 0);
    return study.late;
}

TEST(the_last_literal_that_every_match_has)
{
    static const struct {
        const char *regex, *late;
    } table[] = {
        {"(BEGIN ZEBRA[\\s\\S]{3,900}?FINISH ZEBRA)", "FINISH ZEBRA"},
        {"BEGIN ZEBRA[a-z]{3,900}", "BEGIN ZEBRA"},
        /* Too short to tell anything. */
        {"BEGIN ZEBRA[a-z]+FINISH", "BEGIN ZEBRA"},
        {"BEGIN ZEBRA[a-z]+(?:FINISH RED|FINISH BLUE)", "BEGIN ZEBRA"},
        {"BEGIN ZEBRA[a-z]+(?:FINISHED RED|FINISHED BLUE)", "FINISHED "},
        {"BEGIN ZEBRA[a-z]+(?:FINISH[0-9]+|STOP)", "BEGIN ZEBRA"},
        {"BEGIN ZEBRA[a-z]+(?:FINISH ZEBRA)?", "BEGIN ZEBRA"},
        {"BEGIN ZEBRA[a-z]+(?:[a-z]FINISH ZEBRA)?", "BEGIN ZEBRA"},
        {"BEGIN ZEBRA[a-z]+(?:[a-z]FINISH ZEBRA){1,3}", "FINISH ZEBRA"},
        {"BEGIN ZEBRA(?!STRIPES[0-9]+OF ZEBRA)[a-z]+", "BEGIN ZEBRA"},
        {"(?i)BEGIN ZEBRA[a-z]+FINISH ZEBRA", ""},
        {"BEGIN ZEBRA[a-z]+(?i)FINISH ZEBRA", "BEGIN ZEBRA"},
        {"BEGIN ZEBRA[a-z]+|FINISH ZEBRA[a-z]+", ""},
        /* Longer than is kept: its beginning. */
        {"[a-z]+0123456789abcdef0123456789abcdef0123456789", "0123456789abcdef0123456789abcdef"},
    };
    for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
        const char *late = late_of(table[i].regex);
        if (strcmp(late, table[i].late) != 0)
            tap_fail(__FILE__, __LINE__, "%s: '%s'", table[i].regex, late);
    }
}

TEST(whether_every_match_has_one_of_some_words)
{
    static char one[] = "zebra", two[] = "QUAGGA";
    static char *const words[] = {one, two};
    static const struct {
        const char *regex;
        bool is_implied;
    } table[] = {
        {"zebra", true},
        {"ZEBRA[0-9]{4}", true},
        {"(?i)a snyk zebra", true},
        {"snyk[0-9]{1,9}a zebra here", true},
        {"snyk[0-9]+[zZ]ebra", true},
        {"snyk(?:[0-9]+ of a zebra|[0-9]+ of a quagga)", true},
        {"snyk[0-9]+(?:zebra|quagga|[a-z]quagga)", true},
        {"snyk[0-9]+(?:the zebra[0-9]){2,5}", true},
        {"snyk[0-9]+zeb(?:ra|ra_)[0-9]", true},
        {"snyk[0-9]+|zebra", false},
        {"snyk[0-9]+(?:zebra|okapi)", false},
        {"snyk[0-9]+(?:[a-z]zebra|[a-z]okapi)", false},
        {"snyk[0-9]+(?:zebra)?", false},
        {"snyk[0-9]+(?:[a-z]zebra)?", false},
        {"snyk[0-9]+(?:[a-z]zebra){0,5}", false},
        {"snyk[0-9]+(?:zebra[a-z]+)*", false},
        {"snyk[0-9]+(?=zebra)", false},
        {"snyk[0-9]+(?!zebra)(?<!quagga)", false},
        {"zeb[0-9]?ra", false},
        {"zeb.ra", false},
        {"[zebra]{5}", false},
        {"snyk", false},
        {"zebra)", false},
        {"", false},
    };
    for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++)
        if (weir__expression_implies(table[i].regex, words, 2) != table[i].is_implied)
            tap_fail(__FILE__, __LINE__, "'%s'", table[i].regex);
    CHECK(!weir__expression_implies("zebra", words, 0));
}

TEST(what_does_not_fit_together_is_refused)
{
    static const char *const bad[] = {"(abc", "abc)", "[abc", "a\\"};
    struct weir__expression study;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        CHECK_EQ(weir__expression_study(bad[i], &study), -WEIR_E_INVALID);
    char deep[300];
    memset(deep, '(', 100);
    memset(deep + 100, ')', 100);
    deep[200] = '\0';
    CHECK_EQ(weir__expression_study(deep, &study), -WEIR_E_INVALID);
}

TAP_MAIN()
