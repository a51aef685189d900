/* Rules that require matches of others: in the same line while much else is forgotten in between,
 * in columns that many others miss, in encoded text. */
#include <stdio.h>
#include <string.h>

#include "alloc.h"
#include "decode_help.h"
#include "engine/engine.h"
#include "scanner_help.h"
#include "tap.h"

#define RULES                                                                                      \
    "[[rules]]\nid = 'token'\nregex = '\\btok_[a-z0-9]{16}\\b'\n"                                  \
    "[[rules]]\nid = 'needs'\nregex = 'zz[0-9]{6}zz'\nkeywords = ['never']\n"                      \
    "[[rules]]\nid = 'left'\nregex = 'left-[0-9]{4}'\n"                                            \
    "[[rules.required]]\nid = 'right'\n%s"                                                         \
    "[[rules]]\nid = 'right'\nregex = 'right-[0-9]{4}'\nskipReport = true\n"

static unsigned lefts, others;

static void take(void *arg, const struct weir__finding *finding)
{
    (void)arg;
    if (strcmp(finding->rule->id, "left") == 0)
        lefts++;
    else
        others++;
}

static void start(const char *within)
{
    char text[1024];
    int length = snprintf(text, sizeof(text), RULES, within);
    help_start(text, (size_t)length, NULL, take);
}

static struct weir__scan_result scan(const char *text, size_t length)
{
    struct weir__object object = {.path = "a", .decode_depth = 3};
    struct weir__scan_result result;
    lefts = others = 0;
    CHECK_EQ(weir__scanner_begin(scanner, &object), 0);
    CHECK_EQ(weir__scanner_feed(scanner, text, length), 0);
    CHECK_EQ(weir__scanner_end(scanner, &result), 0);
    return result;
}

/* --- lines that are longer than what is remembered --- */

#define LINES       40u
#define LINE_TOKENS 13100u /* 280 KB: an edge of a segment is anywhere in some of them */
#define TOKEN_SIZE  (sizeof("tok_0123456789abcdef ") - 1)

/* Every other line has them the other way round. */
static char *make_lines(const char *first, const char *second, size_t *ret_length)
{
    size_t room = LINES * (LINE_TOKENS * TOKEN_SIZE + 64), at = 0;
    char *text = weir__base_alloc(1, room);
    CHECK(text != NULL);
    for (unsigned line = 0; line < LINES; line++) {
        at += (size_t)snprintf(text + at, room - at, "%s ", line % 2 ? first : second);
        for (unsigned i = 0; i < LINE_TOKENS; i++)
            at += (size_t)snprintf(text + at, room - at, "tok_%08x%08x ", line, i * 2654435761u);
        at += (size_t)snprintf(text + at, room - at, "%s\n", line % 2 ? second : first);
    }
    *ret_length = at;
    return text;
}

TEST(it_may_be_at_the_other_end_of_a_long_line)
{
    size_t length;
    start("withinLines = 0\n");
    char *text = make_lines("left-1234", "right-5678", &length);
    struct weir__scan_result result = scan(text, length);
    CHECK_EQ(lefts, LINES);
    CHECK_EQ(others, LINES * LINE_TOKENS);
    CHECK(!result.is_judged_early);
    weir__base_free(text);
    /* None is in a line with it. */
    text = make_lines("left-1234", "none", &length);
    memcpy(text, "right-5678\n", strlen("right-5678\n"));
    scan(text, length);
    CHECK_EQ(lefts, 0);
    weir__base_free(text);
    help_stop();
}

/* --- while much else is told and forgotten --- */

#define FAR_TOKENS 200000u /* 4 MB: so many that room is made for them several times */

/* The one, so many ends of lines, a line full of tokens, and the other: behind them, or below. */
static unsigned count_far(const char *first, unsigned lines, bool is_below, const char *last)
{
    size_t room = FAR_TOKENS * TOKEN_SIZE + 256, at;
    char *text = weir__base_alloc(1, room);
    CHECK(text != NULL);
    at = (size_t)snprintf(text, room, "%s", first);
    while (lines-- > 0)
        text[at++] = '\n';
    for (unsigned i = 0; i < FAR_TOKENS; i++)
        at += (size_t)snprintf(text + at, room - at, " tok_%016x", i * 2654435761u);
    at += (size_t)snprintf(text + at, room - at, "%c%s\n", is_below ? '\n' : ' ', last);
    struct weir__scan_result result = scan(text, at);
    CHECK_EQ(others, FAR_TOKENS);
    CHECK(!result.is_judged_early);
    weir__base_free(text);
    return lefts;
}

TEST(what_others_may_require_stays)
{
    static const struct {
        const char *within, *first;
        unsigned lines;
        bool is_below;
        const char *last;
        unsigned found;
    } rows[] = {
        {"withinLines = 2\n", "right-5678", 2, false, "left-1234", 1}, /* the last line in reach */
        {"withinLines = 2\n", "right-5678", 2, true, "left-1234", 0},
        {"withinLines = 2\n", "left-1234", 2, false, "right-5678", 1},
        {"withinLines = 2\n", "left-1234", 2, true, "right-5678", 0},
        {"withinColumns = 4\n", "right-5678", 3, true, "    left-1234", 1},
        {"withinColumns = 4\n", "right-5678", 3, true, "     left-1234", 0},
        {"withinColumns = 4\n", "left-1234", 3, true, "    right-5678", 1},
        {"", "right-5678", 3, false, "left-1234", 1},
        {"", "left-1234", 3, false, "right-5678", 1},
        /* What is allowed does not take the place of what is not. */
        {"", "right-5678\nright-1111 right-2222 right-3333 # weir:allow", 1, true, "left-1234", 1},
        {"", "right-1111 # weir:allow", 1, true, "left-1234", 0},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        start(rows[i].within);
        unsigned found = count_far(rows[i].first, rows[i].lines, rows[i].is_below, rows[i].last);
        if (found != rows[i].found)
            tap_fail(__FILE__, __LINE__, "row %zu: %u", i, found);
        help_stop();
    }
}

/* What waits for a keyword takes all the room, at the limit of which what is there is forgotten. */
static struct weir__scan_result scan_behind_others(const char *first, const char *last)
{
    size_t room = (WEIR__WAITING_MAX + WEIR__WAITING_MAX / 2) * (size_t)11 + 64;
    char *text = weir__base_alloc(1, room);
    CHECK(text != NULL);
    size_t at = (size_t)snprintf(text, room, "%s", first);
    for (unsigned i = 0; i < WEIR__WAITING_MAX + WEIR__WAITING_MAX / 2; i++)
        at += (size_t)snprintf(text + at, room - at, " zz%06uzz", i);
    at += (size_t)snprintf(text + at, room - at, " %s", last);
    struct weir__scan_result result = scan(text, at);
    weir__base_free(text);
    return result;
}

TEST(what_might_be_missed_is_told)
{
    start("withinLines = 0\n");
    CHECK(scan_behind_others("right-5678", "left-1234").is_judged_early);
    CHECK_EQ(lefts, 0);
    CHECK(!scan_behind_others("right-5678", "left-1234 right-1234").is_judged_early);
    CHECK_EQ(lefts, 1);
    CHECK(!scan_behind_others("left-1234 right-5678", "nothing").is_judged_early);
    CHECK_EQ(lefts, 1);
    CHECK(scan_behind_others("left-1234", "right-5678").is_judged_early);
    CHECK_EQ(lefts, 0);
    CHECK(!scan_behind_others("nothing", "left-1234").is_judged_early);
    CHECK_EQ(lefts, 0);
    CHECK(!scan_behind_others("right-5678", "nothing").is_judged_early);
    help_stop();
    start("");
    CHECK(!scan_behind_others("right-5678", "left-1234").is_judged_early);
    CHECK_EQ(lefts, 1);
    help_stop();
}

/* Whose line has gone by does not wait for the end. */
TEST(what_cannot_come_any_more_is_not_waited_for)
{
    enum { COUNT = 2 * WEIR__WAITING_MAX, WIDTH = 32 };
    char *text = weir__base_alloc(COUNT + 1, WIDTH);
    CHECK(text != NULL);
    start("withinLines = 1\n");
    for (unsigned i = 0; i < COUNT; i++)
        snprintf(text + (size_t)i * WIDTH, WIDTH + 1, "left-%04u%22s\n", i % 10000, "");
    CHECK(!scan(text, (size_t)COUNT * WIDTH).is_judged_early);
    CHECK_EQ(lefts, 0);
    weir__base_free(text);
    help_stop();
}

/* --- columns --- */

#define COLUMN_LINES_MAX 200u

/* One at the beginning of a line, and so many of the other at the end of lines of their own. */
static unsigned count_missed(unsigned lines, bool has_one)
{
    char text[COLUMN_LINES_MAX * 80];
    int at = snprintf(text, sizeof(text), "left-1234\n");
    for (unsigned i = 0; i < lines; i++)
        at += snprintf(text + at, sizeof(text) - (size_t)at, "%50s right-%04u\n", "", i);
    if (has_one)
        at += snprintf(text + at, sizeof(text) - (size_t)at, "  right-0000\n");
    scan(text, (size_t)at);
    return lefts;
}

/* How many are looked at is limited: behind that it is told, rather than passed over. */
TEST(what_is_in_doubt_is_told)
{
    start("withinColumns = 4\n");
    CHECK_EQ(count_missed(0, false), 0);
    CHECK_EQ(count_missed(10, false), 0);
    CHECK_EQ(count_missed(10, true), 1);
    CHECK_EQ(count_missed(COLUMN_LINES_MAX - 10, true), 1);
    CHECK_EQ(count_missed(COLUMN_LINES_MAX - 10, false), 1);
    help_stop();
}

/* --- encoded text --- */

/* In lines of so many characters; 0: in one. Depth 2: what comes of that once more. */
static size_t encode(const char *plain, size_t width, unsigned depth, char *out)
{
    static char coded[1u << 16], source[1u << 16]; /* more than any of them has */
    size_t size = strlen(plain), count = 0;
    memcpy(source, plain, size);
    for (; depth > 0; depth--) {
        size = encode_base64(source, size, base64_standard, true, coded);
        memcpy(source, coded, size);
    }
    for (size_t at = 0; at < size; at++) {
        if (width > 0 && at > 0 && at % width == 0)
            out[count++] = '\n';
        out[count++] = coded[at];
    }
    out[count++] = '\n';
    return count;
}

static unsigned count_encoded(const char *plain, size_t width, unsigned depth)
{
    static char text[1u << 17];
    scan(text, encode(plain, width, depth, text));
    return lefts;
}

#define GAP "\nsome more words of it\n\nand others\n\n"

TEST(lines_and_columns_are_those_of_the_decoded_text)
{
    for (unsigned depth = 1; depth <= 3; depth++) {
        start("withinLines = 2\n");
        CHECK_EQ(count_encoded("left-1234\nand\nright-5678", 0, depth), 1);
        CHECK_EQ(count_encoded("left-1234" GAP "right-5678", 0, depth), 0); /* in one line */
        CHECK_EQ(count_encoded("right-5678" GAP "left-1234", 0, depth), 0);
        /* In one line that is encoded in many. */
        CHECK_EQ(count_encoded("left-1234 and so many words between the two of them, and these are "
                               "still not enough of them right-5678",
                               16, depth),
                 1);
        help_stop();
        start("withinColumns = 4\n");
        CHECK_EQ(count_encoded("left-1234\nright-5678", 0, depth), 1);
        CHECK_EQ(count_encoded("left-1234\n      right-5678", 0, depth), 0);
        CHECK_EQ(count_encoded("left-1234 right-5678", 0, depth), 0);
        help_stop();
        start("withinLines = 0\nwithinColumns = 12\n");
        CHECK_EQ(count_encoded("left-1234  right-5678", 0, depth), 1); /* more when encoded */
        CHECK_EQ(count_encoded("left-1234 and   right-5678", 0, depth), 0);
        CHECK_EQ(count_encoded("left-1234\nright-5678", 0, depth), 0);
        help_stop();
        start("");
        CHECK_EQ(count_encoded("left-1234" GAP GAP "right-5678", 0, depth), 1);
        help_stop();
    }
}

/* One is plain, or in another run: what counts is where they are in the object. */
TEST(lines_between_runs_are_those_of_the_object)
{
    char text[1024];
    start("withinLines = 2\n");
    for (unsigned lines = 0; lines < 6; lines++)
        for (unsigned kind = 0; kind < 3; kind++) {
            const char *left = kind == 2 ? "left-1234\n" : "\n\n\n\n\nleft-1234";
            size_t at = kind == 2 ? strlen(left) : encode(left, 0, 1, text);
            if (kind == 2)
                memcpy(text, left, at);
            text[at - 1] = ';'; /* and the line goes on */
            for (unsigned i = 0; i < lines; i++)
                text[at++] = '\n';
            text[at++] = ' ';
            if (kind == 1) {
                memcpy(text + at, "right-5678\n", 11);
                at += 11;
            } else {
                at += encode("\n\n\n\nright-5678", 0, 1, text + at);
            }
            scan(text, at);
            if (lefts != (lines <= 2))
                tap_fail(__FILE__, __LINE__, "%u lines, kind %u: %u", lines, kind, lefts);
        }
    help_stop();
}

/* The edge of a segment is between the two: it is the same run in both segments. */
TEST(a_run_goes_on_in_the_next_segment)
{
    enum { EDGE = 1u << 20, WORDS = 12000 };
    static char plain[2 * WORDS], text[2 * EDGE];
    for (unsigned is_apart = 0; is_apart < 2; is_apart++) {
        size_t at = (size_t)snprintf(plain, sizeof(plain), "left-1234");
        while (at < WORDS)
            at += (size_t)snprintf(plain + at, sizeof(plain) - at, "%c%04zu words",
                                   is_apart ? '\n' : ' ', at);
        snprintf(plain + at, sizeof(plain) - at, " right-5678");
        start("withinLines = 0\n");
        for (size_t before = EDGE - 16000; before < EDGE + 100; before += 3001) {
            memset(text, '\n', before);
            scan(text, before + encode(plain, is_apart ? 0 : 76, 1, text + before));
            if (lefts != 1 - is_apart)
                tap_fail(__FILE__, __LINE__, "%zu before, apart %u: %u", before, is_apart, lefts);
        }
        help_stop();
    }
}

/* Some thousands of both in one run, which is one line: each is as near as its text says. */
TEST(many_in_one_run_take_no_longer_than_it_has)
{
    enum { PAIRS = 3000 };
    static char plain[PAIRS * 48], text[PAIRS * 96];
    size_t at = 0;
    start("withinLines = 0\n");
    for (unsigned i = 0; i < PAIRS; i++)
        at += (size_t)snprintf(plain + at, sizeof(plain) - at, "left-%04u%sright-%04u\n", i,
                               i % 2 ? " " : "\n", i);
    /* A run that is larger than what is kept of one is counted from where it set in again. */
    size_t size = encode_base64(plain, at, base64_standard, true, text);
    CHECK(size < 256u << 10);
    scan(text, size);
    CHECK_EQ(lefts, PAIRS / 2);
    help_stop();
}

TAP_MAIN()
