/* Tests of what is known about an expression before it runs. */
#include <stdio.h>
#include <string.h>

#include <weir/error.h>

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
    /* A rare one before a common one, however long that is. */
    expect("snyk[a-z]{0,9}password", 21, "=snyk");
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
    CHECK_EQ(reach_of("[0-9]*zebra"), WEIR__WIDTH_ANY);
    /* Characters that may have four bytes each. */
    CHECK_EQ(reach_of("[\\p{L}]zebra"), 24);
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
