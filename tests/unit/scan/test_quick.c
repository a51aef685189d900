/* test_quick.c - what an allow list says of a value does not depend on how often it was asked, nor
 * on how long the line is: against PCRE2 by itself. */
#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <stdio.h>
#include <string.h>

#include "alloc.h"
#include "engine_help.h"
#include "expression.h"
#include "scanner_help.h"
#include "tap.h"

/* At the beginning, at the end, in the middle, empty, with edges of words and lines, behind other
 * bytes, of characters; most in the form that lists have. */
static const char *const of_values[] = {
    "^\\$(?:[a-z]+$|\\{)",
    "(?i)pass|wort",
    "^[A-Z][a-z]+(?: [a-z]+)+$",
    "[\\w)]\\}\\}|&lt;",
    "\\bex\\b",
    "\\Bxy\\B",
    "(?<=[=:])zz",
    "^\\s|^$|q\\d$",
    "(?m)^k\\d",
    "x(?=y)|a(?!b)c",
    "^ [+.]|\\s\\S*[.+]$",
    "^[\\p{L}_.-]+\\d?[+.]$",
    "(?i)ö|l[oö]s",
    "^(?:a|b)\\K.c",
    "(?s)^.{9}$",
    "^b(?s:.{3})c$",
    "u$|\\.\\.\\.",
    "^(?=.{3,7}$)[bc]+d?$",
};
static const char *const of_lines[] = {
    "\\bwrong_?pass\\b", "^head[0-9]", "tail$",          "(?i)no[ ]{1,3}thing",
    "(?<=;)lö?st(?=;)",  "\\A;;",      "odd(?:ly)?;\\z",
};
#define COUNT(list) (sizeof(list) / sizeof(*(list)))

#define VALUES_MAX  1200u
#define TRAINING    9000u /* values before, so that whatever is learned is learned */
#define LINE_LENGTH 60000u

static bool is_allowed_by(const char *const *list, size_t count, const char *text, size_t length)
{
    bool is_allowed = false;
    for (size_t i = 0; i < count && !is_allowed; i++) {
        int error;
        PCRE2_SIZE at;
        uint32_t options = PCRE2_DOLLAR_ENDONLY;
        if (weir__expression_is_wide(list[i]))
            options |= PCRE2_UTF | PCRE2_MATCH_INVALID_UTF;
        pcre2_code *code =
            pcre2_compile((PCRE2_SPTR)list[i], PCRE2_ZERO_TERMINATED, options, &error, &at, NULL);
        pcre2_match_data *data = pcre2_match_data_create_from_pattern(code, NULL);
        is_allowed = pcre2_match(code, (PCRE2_SPTR)text, length, 0, 0, data, NULL) > 0;
        pcre2_match_data_free(data);
        pcre2_code_free(code);
    }
    return is_allowed;
}

static bool *is_found; /* by offset */

static void take(void *arg, const struct weir__finding *finding)
{
    (void)arg;
    is_found[finding->place.offset] = true;
}

static void start(const char *regex, const char *target, const char *const *list, size_t count)
{
    char text[4096];
    size_t length = (size_t)snprintf(text, sizeof(text),
                                     "[[rules]]\nid = 'value'\nregex = '%s'\n[[rules.allowlists]]\n"
                                     "regexTarget = '%s'\nregexes = [",
                                     regex, target);
    for (size_t i = 0; i < count; i++)
        length += (size_t)snprintf(text + length, sizeof(text) - length, "'''%s''',", list[i]);
    length += (size_t)snprintf(text + length, sizeof(text) - length, "]\n");
    help_start(text, length, NULL, take);
}

static void scan(const char *text, size_t length)
{
    struct weir__object object = {.path = "a"};
    struct weir__scan_result result;
    is_found = weir__base_alloc(length + 1, sizeof(*is_found));
    CHECK(is_found != NULL);
    CHECK_EQ(weir__scanner_begin(scanner, &object), 0);
    CHECK_EQ(weir__scanner_feed(scanner, text, length), 0);
    CHECK_EQ(weir__scanner_end(scanner, &result), 0);
}

/* Of what the expressions speak of, and of other bytes. */
static size_t put_value(char *text)
{
    static const char *const parts[] = {"pass", "Wort", "ex", "xy",  "zz", "}}", "&lt;", "$",
                                        "{",    "k1",   "q7", "...", "ö",  "+",  ".",    " ",
                                        "=",    "los",  "A",  "\t",  "u",  "bc", "ac",   "\xff"};
    static const char bytes[] = "abcdefghijklmnopqrstuvwxyz0123456789ABXYZ";
    size_t length = 0, count = 1 + random_below(4);
    for (size_t i = 0; i < count; i++) {
        if (random_below(2) > 0) {
            const char *part = parts[random_below(COUNT(parts))];
            memcpy(text + length, part, strlen(part));
            length += strlen(part);
        } else {
            for (uint32_t k = 1 + random_below(4); k > 0; k--)
                text[length++] = bytes[random_below(sizeof(bytes) - 1)];
        }
    }
    return length;
}

TEST(values_that_a_list_is_asked_about_often)
{
    static char text[(TRAINING + VALUES_MAX) * 48];
    static size_t from[VALUES_MAX], until[VALUES_MAX];
    size_t length = 0, allowed = 0;
    start("v=([^\\n]{1,40})\\n", "secret", of_values, COUNT(of_values));
    for (unsigned i = 0; i < TRAINING; i++)
        length += (size_t)sprintf(text + length, "v=r%x-%x\n", random_below(1u << 30), i);
    for (unsigned i = 0; i < VALUES_MAX; i++) {
        length += (size_t)sprintf(text + length, "v=");
        from[i] = length;
        length += put_value(text + length);
        until[i] = length;
        text[length++] = '\n';
    }
    scan(text, length);
    for (unsigned i = 0; i < VALUES_MAX; i++) {
        size_t size = until[i] - from[i];
        bool is_allowed = is_allowed_by(of_values, COUNT(of_values), text + from[i], size);
        allowed += is_allowed;
        if (is_allowed == is_found[from[i]])
            tap_fail(__FILE__, __LINE__, "'%.*s' is %s", (int)size, text + from[i],
                     is_allowed ? "found, and is allowed" : "not found");
    }
    CHECK(allowed > VALUES_MAX / 4 && allowed < VALUES_MAX * 3 / 4);
    weir__base_free(is_found);
    help_stop();
}

/* A line of many matches, each of which sees another part of it. */
static void check_line(void)
{
    static const char *const parts[] = {"wrongpass", "wrong_passx", "nO  thing", ";löst;",
                                        ";;",        "head1",       "oddly;",    "xtail"};
    static char text[LINE_LENGTH + 256];
    size_t length = random_below(2) > 0 ? (size_t)sprintf(text, "a\n") : 0, line = length;
    while (length < LINE_LENGTH) {
        length += (size_t)sprintf(text + length, "v=%08x ", random_below(UINT32_MAX));
        for (uint32_t k = random_below(80); k > 0; k--)
            text[length++] = random_below(9) > 0 ? 'f' : ' ';
        if (random_below(200) == 0)
            length += (size_t)sprintf(text + length, "%s", parts[random_below(COUNT(parts))]);
    }
    scan(text, length);
    for (size_t at = line; at + 10 <= length; at++) {
        if (memcmp(text + at, "v=", 2) != 0)
            continue;
        size_t first = at - line > WEIR__COMMENT_NEAR ? at - WEIR__COMMENT_NEAR : line;
        size_t end =
            length - (at + 10) > WEIR__COMMENT_NEAR ? at + 10 + WEIR__COMMENT_NEAR : length;
        bool is_allowed = is_allowed_by(of_lines, COUNT(of_lines), text + first, end - first);
        if (is_allowed == is_found[at + 2])
            tap_fail(__FILE__, __LINE__, "at %zu it is %s", at,
                     is_allowed ? "found, and is allowed" : "not found");
    }
    weir__base_free(is_found);
}

TEST(lines_that_are_longer_than_what_is_seen_of_them)
{
    start("v=([0-9a-f]{8})", "line", of_lines, COUNT(of_lines));
    for (unsigned i = 0; i < 20; i++)
        check_line();
    help_stop();
}

TAP_MAIN()
