/* test_listed.c - the values of a list behind its first one: which are told, and where a list ends.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "decode_help.h"
#include "engine_help.h"
#include "scanner_help.h"
#include "tap.h"

#define WIDTH 512u

static const char rules_text[] =
    "[[rules]]\nid = 'array'\nregex = 'keys = .\\s*[\"\\x27]([a-z0-9]{4,40})'\nlisted = 4\n"
    "max-width = 512\n[[rules.allowlists]]\nregexes = ['^no']\n"
    "[[rules]]\nid = 'items'\nregex = 'keys:\\n *- *[\"\\x27]?([a-z0-9]{4,40})'\nlisted = 4\n"
    "max-width = 512\n"
    "[[rules]]\nid = 'first'\nregex = 'only = .\"([a-z0-9]{4,40})'\n";

static struct hits found;

static void take(void *arg, const struct weir__finding *finding)
{
    (void)arg;
    hits_take(&found, finding);
}

static void scan(const char *text, size_t length)
{
    struct weir__object object = {.path = "a", .decode_depth = 1};
    CHECK_EQ(hits_scan(&found, scanner, &object, 0, text, length, NULL, NULL), 0);
    if (found.problem)
        tap_fail(__FILE__, __LINE__, "%s", found.problem);
    hits_sort(&found);
}

/* The secrets, by their places in the text. */
static void check_found(const char *text, const char *secrets)
{
    char all[256] = "";
    scan(text, strlen(text));
    for (size_t i = 0; i < found.count; i++) {
        size_t length = strlen(all);
        snprintf(all + length, sizeof(all) - length, "%s%.*s", i > 0 ? " " : "",
                 (int)found.items[i].place.length, text + found.items[i].place.offset);
    }
    if (strcmp(all, secrets) != 0)
        tap_fail(__FILE__, __LINE__, "'%s': found '%s' and not '%s'", text, all, secrets);
}

TEST(strings_with_commas_between_them)
{
    help_start(rules_text, strlen(rules_text), NULL, take);
    check_found("keys = [\"aaaa\", \"bbbb\",'cccc'\n ,\n `dddd`]\n", "aaaa bbbb cccc dddd");
    check_found("keys = [\"aaaa\", # the first\n// none\n\"bbbb\"]", "aaaa bbbb");
    /* What is none is passed over. */
    check_found("keys = [\"aaaa\", \"b\", \"b b b\", \"b\\\"bb\", \"none\", \"cccc\"]",
                "aaaa cccc");
    /* Where it ends. */
    check_found("keys = [\"aaaa\"], \"bbbb\"", "aaaa");
    check_found("keys = [\"aaaa\"; \"bbbb\"]", "aaaa");
    check_found("keys = [\"aaaa\", bbbb, \"cccc\"]", "aaaa");
    check_found("keys = [\"aaaa\", \"bbbb", "aaaa");
    check_found("keys = [\"aaaa\", \"bb\nbb\"]", "aaaa");
    check_found("keys = [\"aaaa\",", "aaaa");
    check_found("keys = [\"aaaa\", \"", "aaaa");
    /* Of a rule that does not ask for it, the first. */
    check_found("only = [\"aaaa\", \"bbbb\"]", "aaaa");
    help_stop();
}

TEST(lines_with_a_dash)
{
    help_start(rules_text, strlen(rules_text), NULL, take);
    check_found("keys:\n- aaaa\n- bbbb\n- 'cccc'", "aaaa bbbb cccc");
    check_found("keys:\n  - aaaa # one\r\n\n  # two\n  -  \"bbbb\"  \r\n  - cccc",
                "aaaa bbbb cccc");
    check_found("keys:\n  - aaaa\n  - b\n  - cccc\n", "aaaa cccc");
    check_found("keys:\n  - aaaa\n  - bbbb: c\n  - cccc\n", "aaaa");
    check_found("keys:\n  - aaaa\n  - \"bbbb\": c\n  - cccc\n", "aaaa");
    check_found("keys:\n  - aaaa\n- bbbb\n", "aaaa");
    check_found("keys:\n  - aaaa\n    bbbb\n", "aaaa");
    check_found("keys:\n  - aaaa\n    - bbbb\n", "aaaa");
    check_found("keys:\n  - aaaa\nother:\n  - bbbb\n", "aaaa");
    check_found("keys:\n  - aaaa\n  -\n  - bbbb\n", "aaaa");
    check_found("keys:\n  - aaaa\n  -bbbb\n", "aaaa");
    check_found("keys:\n  - aaaa\n  - ", "aaaa");
    help_stop();
}

/* A list is read as far as its rule is wide, wherever a segment of 1 MiB ends. */
TEST(as_far_as_the_rule_is_wide)
{
    static char text[(1u << 20) + 4096];
    help_start(rules_text, strlen(rules_text), NULL, take);
    for (size_t before = (1u << 20) - 2 * WIDTH; before < (1u << 20) + 16; before += 37) {
        memset(text, '.', sizeof(text));
        size_t at = before + (size_t)sprintf(text + before, "\nkeys = [\"aaaa\"");
        size_t most = 1;
        while (at + 8 < before + 4 * WIDTH) {
            at += (size_t)sprintf(text + at, ", \"bbbb\"");
            most += at <= before + 1 + WIDTH;
        }
        text[at] = ']';
        scan(text, sizeof(text));
        if (found.count != most)
            tap_fail(__FILE__, __LINE__, "behind %zu: %zu and not %zu", before, found.count, most);
    }
    help_stop();
}

TAP_MAIN()
