/* test_stretch.c - stretches of token bytes: what an expression promises, what a text has, and that
 * a rule which is looked for near them only is found wherever it is. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "engine/expression.h"
#include "engine/stretch.h"
#include "engine_help.h"
#include "tap.h"

/* --- expressions --- */

static unsigned stretch_of(const char *regex)
{
    struct weir__expression study;
    CHECK_EQ(weir__expression_study(regex, &study), 0);
    return study.stretch_min;
}

TEST(an_expression_promises_a_stretch)
{
    static const struct {
        const char *regex;
        unsigned stretch;
    } table[] = {
        {"", 0},
        {"abc", 3},
        {"a c", 1},
        {"[a-f0-9]{20}", 20},
        {"[a-f0-9]{20,40}", 20},
        {"[A-Za-z0-9_+/=.-]{40}", WEIR__STRETCH_LONG},
        {"[A-Za-z0-9 ]{40}", 0},
        {"[^a]{40}", 0},
        {"[+-=]{40}", 0},
        {"[--9]{40}", WEIR__STRETCH_LONG},
        {"\\w{10}\\d{10}", 20},
        {"\\W{10}", 0},
        {"[\\w-]{9}", 9},
        {"[\\W]{9}", 0},
        {"[\\x30-\\x39]{9}", 0},
        {"[\\x30\\x31]{9}", 9},
        {"[[:alnum:]]{9}", 9},
        {"[[:punct:]]{9}", 0},
        {"(?i)key_[a-z]{9}", 13},
        {"key: [a-z]{9}", 9},
        {"[a-z]{9}: key", 9},
        {"key_(?:a|bc)[0-9]{5}", 10},
        {"key(?:_|: )[0-9]{5}", 5},
        {"(?:[0-9]{8}|[a-z]{6})x", 7},
        {"(?:ab|c d){7}", 2},
        {"(?:ab ){7}", 2},
        {"(?: ab){7}cd", 4},
        {"(?:a b){7}", 2},
        {"ab(?:cd)?ef", 4},
        {"ab(?:c d)?ef", 2},
        {"[0-9]*", 0},
        {"[0-9]+", 1},
        {"x[0-9]*y", 2},
        {"x.*y", 1},
        {"ab\\bcd", 4},
        {"ab(?=cd )cd", 4},
        {"(ab)\\1", 2},
        {"\\Qab.c\\Ed", 5},
        {"\\Qa b\\Ec", 2},
        {"(?x) ab  cd # ef", 4},
        {"[0-9]{4}-[0-9]{4}\\.[0-9]{4}", 14},
        {"\\p{L}[0-9]{40}", 0}, /* about characters, of which some are several bytes */
    };
    for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++)
        if (stretch_of(table[i].regex) != table[i].stretch)
            tap_fail(__FILE__, __LINE__, "%s: %u and not %u", table[i].regex,
                     stretch_of(table[i].regex), table[i].stretch);
}

/* --- texts --- */

#define TEXT_MAX (48u << 10)

static uint64_t random_state = 20261115;

static uint32_t random_below(uint32_t most)
{
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(random_state >> 33) % most;
}

/* Words of random lengths, of which few are long enough. */
static size_t make_text(char *text, size_t length)
{
    static const char tokens[] = "abzAZ019_-+/=.";
    static const char others[] = " \n\t,:;!\"#%&()@[]`{}~\x7f\x80\xc3";
    unsigned most = 8u << random_below(4);
    for (size_t at = 0; at < length;) {
        size_t word = random_below(40) == 0 ? 20 + random_below(40) : random_below(most) % 30;
        for (; word > 0 && at < length; word--)
            text[at++] = tokens[random_below(sizeof(tokens) - 1)];
        for (word = 1 + random_below(400) % (1u << random_below(9)); word > 0 && at < length;
             word--)
            text[at++] = others[random_below(sizeof(others) - 1)];
    }
    return length;
}

/* How far each byte is from the nearest stretch: 0 in one. */
static void find_distances(const char *text, size_t length, size_t least, uint32_t *distance)
{
    for (size_t i = 0; i < length; i++)
        distance[i] = UINT32_MAX;
    for (size_t from = 0, at = 0; at <= length; at++) {
        if (at < length && weir__is_token_byte((unsigned char)text[at]))
            continue;
        for (; at - from >= least && from < at; from++)
            for (size_t i = from; i < at; i++)
                distance[i] = 0;
        from = at + 1;
    }
    for (size_t i = 1; i < length; i++)
        if (distance[i - 1] != UINT32_MAX && distance[i - 1] + 1 < distance[i])
            distance[i] = distance[i - 1] + 1;
    for (size_t i = length; i-- > 1;)
        if (distance[i] != UINT32_MAX && distance[i] + 1 < distance[i - 1])
            distance[i - 1] = distance[i] + 1;
}

static void check_near(const char *text, size_t length, enum weir__near_kind kind,
                       const uint32_t *distance, size_t from, size_t until)
{
    struct weir__near near;
    size_t at = from, first, last;
    weir__near_find(&near, text, length, from, until);
    while (weir__near_next(&near, kind, at, &first, &last)) {
        CHECK(first >= at && last > first && last <= until);
        for (; at < first; at++)
            if (distance[at] <= WEIR__STRETCH_NEAR)
                tap_fail(__FILE__, __LINE__, "%zu of %zu to %zu is left out", at, from, until);
        for (; at < last; at++)
            CHECK(distance[at] <= WEIR__STRETCH_NEAR + WEIR__GRAIN);
    }
    for (; at < until; at++)
        if (distance[at] <= WEIR__STRETCH_NEAR)
            tap_fail(__FILE__, __LINE__, "%zu of %zu to %zu is left out", at, from, until);
}

TEST(what_is_near_a_stretch_is_found_and_little_else)
{
    char *text = weir__base_alloc(1, TEXT_MAX);
    uint32_t *distance = weir__base_alloc(TEXT_MAX, sizeof(*distance));
    CHECK(text && distance);
    for (unsigned round = 0; round < 300; round++) {
        size_t length = make_text(text, 1 + random_below(round % 4 ? 3000 : TEXT_MAX - 1));
        enum weir__near_kind kind = round % 2 ? WEIR__NEAR_LONG : WEIR__NEAR_ANY;
        find_distances(text, length,
                       kind == WEIR__NEAR_LONG ? WEIR__STRETCH_LONG : WEIR__STRETCH_MIN, distance);
        check_near(text, length, kind, distance, 0, length);
        for (unsigned i = 0; i < 4; i++) {
            size_t from = random_below((uint32_t)length);
            check_near(text, length, kind, distance, from,
                       from + 1 + random_below((uint32_t)(length - from)));
        }
    }
    weir__base_free(text);
    weir__base_free(distance);
}

TEST(as_much_as_may_be_asked_for_fits)
{
    size_t length = WEIR__NEAR_TEXT + 1000, first, last;
    char *text = weir__base_alloc(1, length);
    struct weir__near near;
    CHECK(text);
    memset(text, 'a', length);
    for (size_t from = 0; from < 200; from += 63) {
        weir__near_find(&near, text, length, from, from + WEIR__NEAR_TEXT);
        for (unsigned kind = 0; kind < WEIR__NEAR_KINDS; kind++) {
            CHECK(weir__near_next(&near, kind, from, &first, &last));
            CHECK_EQ(first, from);
            CHECK_EQ(last, from + WEIR__NEAR_TEXT);
            CHECK(!weir__near_next(&near, kind, last, &first, &last));
        }
    }
    weir__base_free(text);
}

/* --- rules --- */

static struct hits found;

static void take(void *arg, const struct weir__finding *finding)
{
    (void)arg;
    hits_take(&found, finding);
}

static const char rules_text[] =
    "[[rules]]\nid = 'before'\nregex = 'gadget.{0,190}?\\b[a-f0-9]{40}\\b'\n"
    "[[rules]]\nid = 'behind'\nregex = '\\b[A-F0-9]{40}\\b.{0,190}?widget'\n"
    "[[rules]]\nid = 'inside'\nregex = '\\b[G-Z]{10}_probe_[G-Z]{20}\\b'\n"
    "[[rules]]\nid = 'shape'\nregex = '\\b[0-9]{36}\\b'\n"
    "[[rules]]\nid = 'open'\nregex = '[qvwxz]{34}\\B'\n"
    "[[rules]]\nid = 'short'\nregex = 'tok_[a-z]{4}'\n";

/* A match of the widest kind at a place of the text, which is blank but for it. */
static void check_at(struct weir__scanner *scanner, char *text, size_t length, unsigned kind,
                     size_t at)
{
    char piece[300];
    unsigned gap = kind < 4 ? 189 : 0;
    if (kind % 4 == 0)
        snprintf(piece, sizeof(piece), "gadget%*s%040x", (int)gap + 1, "", 7u);
    else if (kind % 4 == 1)
        snprintf(piece, sizeof(piece), "%040X%*swidget", 7u, (int)gap + 1, "");
    else if (kind % 4 == 2)
        snprintf(piece, sizeof(piece), "GHIJKLMNOP_probe_GHIJKLMNOPGHIJKLMNOP");
    else if (kind == 3)
        snprintf(piece, sizeof(piece), "%036u", 7u);
    else /* one more than the match, which asks for it */
        snprintf(piece, sizeof(piece), "qvwxzqvwxzqvwxzqvwxzqvwxzqvwxzqvwxz");
    struct weir__object object = {.path = "a"};
    size_t size = strlen(piece);
    if (at > length - size)
        at = length - size;
    memset(text, ' ', length);
    memcpy(text + at, piece, size);
    CHECK_EQ(hits_scan(&found, scanner, &object, 0, text, length, NULL, NULL), 0);
    if (found.count != 1)
        tap_fail(__FILE__, __LINE__, "kind %u at %zu: found %zu times", kind, at, found.count);
}

TEST(rules_near_a_stretch_are_found_at_every_edge)
{
    struct weir__rules *rules;
    struct weir__engine *engine;
    struct weir__scanner *scanner;
    struct weir__rules_error error = {.text = ""};
    struct weir__engine_options options = {0};
    struct weir__sink sink = {.finding = take};
    struct weir__rule_look look;
    if (weir__rules_load(&rules, "test", rules_text, strlen(rules_text), NULL, &error) < 0 ||
        weir__engine_new(&engine, rules, &options, &error) < 0)
        tap_fail(__FILE__, __LINE__, "no engine: %s", error.text);
    CHECK_EQ(weir__scanner_new(&scanner, engine, &sink), 0);
    static const char *const near[] = {"before", "behind", "inside", "shape", "open"};
    for (unsigned i = 0; i < sizeof(near) / sizeof(*near); i++)
        CHECK(weir__engine_look(engine, near[i], &look) && look.is_near);
    CHECK(weir__engine_look(engine, "short", &look) && !look.is_near);
    /* Around the edge of a block, around that of a segment, at the beginning and at the end. */
    static char text[1200u << 10];
    for (unsigned kind = 0; kind < 8; kind++) {
        for (size_t at = 0; at < 80; at++)
            check_at(scanner, text, 1000, kind, at);
        for (size_t at = 600; at < 1000; at++)
            check_at(scanner, text, 1000, kind, at);
        for (size_t at = (128u << 10) - 280; at <= (128u << 10) + 20; at++)
            check_at(scanner, text, (128u << 10) + 400, kind, at);
        for (size_t at = (1024u << 10) - 280; at <= (1024u << 10) + 20; at += 19)
            check_at(scanner, text, sizeof(text), kind, at);
    }
    weir__scanner_free(scanner);
    weir__engine_free(engine);
    weir__rules_free(rules);
}

TAP_MAIN()
