/* test_echo.c - text that repeats itself gives what it would give if nothing were remembered.
 *
 * Each text is scanned twice, once with the work that may be spent on comparing already used up.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "engine/parts.h"
#include "engine_help.h"
#include "scanner_help.h"
#include "tap.h"

#define LENGTH_MAX (64u << 10)

static struct hits *plain, *echoed, *taking;
static char *text;
static size_t length;

static void take(void *arg, const struct weir__finding *finding)
{
    (void)arg;
    hits_take(taking, finding);
}

/* Called between the beginning of the object and its bytes. */
static size_t use_up(void *arg, size_t at, size_t left)
{
    (void)arg, (void)at;
    scanner->same_work = UINT64_MAX / 2;
    return left;
}

static void begin(const char *of_rules)
{
    plain = weir__base_alloc(1, sizeof(*plain));
    echoed = weir__base_alloc(1, sizeof(*echoed));
    text = weir__base_alloc(1, LENGTH_MAX);
    CHECK(plain && echoed && text);
    help_start(of_rules, strlen(of_rules), NULL, take);
}

static void end(void)
{
    help_stop();
    weir__base_free(plain);
    weir__base_free(echoed);
    weir__base_free(text);
}

static void compare(const char *what)
{
    struct weir__object object = {.path = "a", .decode_depth = 1};
    taking = plain;
    CHECK_EQ(hits_scan(plain, scanner, &object, 0, text, length, use_up, NULL), 0);
    taking = echoed;
    CHECK_EQ(hits_scan(echoed, scanner, &object, 0, text, length, NULL, NULL), 0);
    if (echoed->problem)
        tap_fail(__FILE__, __LINE__, "%s: %s", what, echoed->problem);
    if (!hits_are_same(plain, echoed) ||
        memcmp(&plain->result, &echoed->result, sizeof(plain->result)) != 0)
        tap_fail(__FILE__, __LINE__, "%s: %zu findings with an echo, %zu without", what,
                 echoed->count, plain->count);
}

static void put(const char *bytes, size_t count)
{
    if (count > LENGTH_MAX - length)
        count = LENGTH_MAX - length;
    memcpy(text + length, bytes, count);
    length += count;
}

static const char *const pieces[] = {
    "tok_abcdef0123456789\n",
    "tok_abcdef0123456789 ",
    "tok_abcdef0123456789",
    "tok_",
    "acme = 1234ABCD ",
    "-----BEGIN X-----abc-----END X-----\n",
    "-----BEGIN X-----",
    "-----END X-----",
    "12Q34 ",
    "gizmo 0123456789ab;",
    "left-1234\nright-1234\n",
    "password=tok_abcdef0123456789\n",
    "password=abcdefgh12 # weir:allow\n",
    "pass=example1 ",
    "key:  abcdefghij\n",
    "lng_abcdefghijklmnopqrstuvwxyz0123456789\n",
    "gadget 0123456789abcdef0123456789abcdef01234567 ",
    "zz123456zz kw",
    "harmless ",
    "\xf0\x9f\x98\x80tok_abcdef0123456789 ",
    "\n",
    " ",
};

/* A piece or two over and over, with a byte here and there that is another. */
static void compare_repeated(const char *of_rules, unsigned rounds)
{
    char unit[256], what[32];
    begin(of_rules);
    for (unsigned round = 0; round < rounds; round++) {
        length = 0;
        while (length < 6000) {
            size_t size = 0;
            for (uint32_t n = 1 + random_below(3); n > 0; n--) {
                const char *piece = pieces[random_below(sizeof(pieces) / sizeof(*pieces))];
                if (size + strlen(piece) > sizeof(unit))
                    break;
                memcpy(unit + size, piece, strlen(piece));
                size += strlen(piece);
            }
            for (uint32_t n = 1 + random_below(60); n > 0; n--)
                put(unit, size);
        }
        for (uint32_t n = random_below(12); n > 0; n--)
            text[random_below((uint32_t)length)] = "a\n 0-_"[random_below(6)];
        snprintf(what, sizeof(what), "round %u", round);
        compare(what);
    }
    end();
}

TEST(a_repeated_text_gives_what_it_gives_without_an_echo)
{
    compare_repeated(HELP_ALLOW HELP_RULES, 1500);
}

/* Rules that are looked for by the same literal, and of which some have something to say: narrow
 * and wide, with a literal at the beginning and far behind it, of bytes and of characters, and that
 * look at what is before them. */
#define SHARED(id, regex) "[[rules]]\nid = '" id "'\nregex = '" regex "'\n"
#define SHARED_RULES                                                                               \
    SHARED("near", "tok_abc[a-f0-9]{3}")                                                           \
    SHARED("far", "tok_abc[^~]{40,90}a ")                                                          \
    SHARED("late", "[a-z0-9 ]{0,30}tok_")                                                          \
    SHARED("behind", "(?<=9)tok_[a-f]{4}")                                                         \
    SHARED("wide", "tok_[^\\pN]{0,3}\\p{N}")                                                       \
    SHARED("face", "(?<=\\x{1F600})tok_\\p{L}{4}")                                                 \
    SHARED("end", "tok_[a-f0-9]{16}[^a-z]{1,5}\\n")

TEST(rules_of_one_literal_give_what_they_give_without_an_echo)
{
    compare_repeated(HELP_ALLOW HELP_RULES SHARED_RULES, 1500);
}

/* A line that allows, or stops to, far from the match but in its line. */
TEST(what_is_far_in_the_line_makes_a_difference)
{
    begin(HELP_ALLOW HELP_RULES);
    for (size_t at = 0; at < 12000; at += 97) {
        length = 0;
        while (length < 12000)
            put("tok_abcdef0123456789 ", 21);
        memcpy(text + at, " weir:allow ", 12);
        compare("a comment");
        CHECK(echoed->result.allowed > 0 && echoed->count > 0);
        memcpy(text + at, " harmless   ", 12);
        compare("an allow list");
        memcpy(text + at, "\n", 1);
        compare("another line");
    }
    end();
}

TAP_MAIN()
