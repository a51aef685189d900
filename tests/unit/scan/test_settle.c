/* test_settle.c - a stream that pauses: what is certain is told at once, nothing that is not, and
 * in the end it is what it would have been without a pause, each once. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "same_help.h"
#include "tap.h"

#define MIB      (1u << 20)
#define TEXT_MAX (8u << 20)
#define TOKEN    "tok_abcdef0123456789"
#define CODED    "dG9rX2FiY2RlZjAxMjM0NTY3ODkgaXMgdGhlIHRva2Vu"

static void start_with(const char *text, size_t length)
{
    help_start(text, length, NULL, same_take);
    other.is_settled = true;
}

static void start(void)
{
    static const char text[] = HELP_ALLOW HELP_RULES;
    start_with(text, strlen(text));
}

static void scan(struct hits *hits, unsigned depth, uint64_t skipped, const char *bytes,
                 size_t length, hits_cut *cut, void *arg)
{
    same_scan(hits, depth, skipped, bytes, length, cut, arg);
    hits_sort(hits);
}

static void check_same(const char *what, size_t first, size_t second)
{
    same_check(what, first, second);
    CHECK(memcmp(&whole.result, &other.result, sizeof(whole.result)) == 0);
}

/* --- the same in the end --- */

static size_t cut_at_each(void *arg, size_t at, size_t left)
{
    (void)arg, (void)at, (void)left;
    return 1;
}

/* Up to the end of the line. */
static size_t cut_at_lines(void *arg, size_t at, size_t left)
{
    const char *text = (const char *)arg + at, *stop = memchr(text, '\n', left);
    return stop ? (size_t)(stop + 1 - text) : left;
}

static const char small[] =
    "x=" TOKEN "\nACME_= 1234ABCD\n-----BEGIN X-----\nab\n-----END X-----\n12Q34 zz123456zz\n"
    "GADGET\n1: 0123456789abcdef0123456789abcdef01234567,AB0123456789012345678901234567890123\n"
    "lng_0123456789abcdef0123456789abcdef0123\npassword=" TOKEN "\n" TOKEN " # weir:allow\n"
    "left-1234\nright-1\nright-5678 " CODED "\nkey: abcdefghij\n12Q34\nkey: abcdefghij";

TEST(small_objects_may_pause_anywhere)
{
    start();
    size_t length = strlen(small);
    scan(&whole, 3, 0, small, length, NULL, NULL);
    CHECK_EQ(whole.count, 14);
    for (size_t i = 1; i < length; i++)
        for (size_t k = i; k < length; k += 3) {
            struct cuts cuts = {i, k};
            scan(&other, 3, 0, small, length, cut_at, &cuts);
            check_same("pause", i, k);
        }
    scan(&other, 3, 0, small, length, cut_at_each, NULL);
    check_same("each", 0, 0);
    help_stop();
}

static size_t make_random(char *text, size_t size)
{
    static const char *const pieces[] = {
        TOKEN,
        "tok_0123456789abcdef",
        "tok_",
        "acme = 1234ABCD",
        "-----BEGIN X-----",
        "-----END X-----",
        "12Q34",
        "12Q3",
        "zz123456zz",
        "kw",
        "gizmo",
        "0123456789ab",
        "left-1234",
        "right-1234",
        "password=a1b2c3d4",
        ("password=" TOKEN),
        "\nkey: abcdefghij",
        "\nkey: abcdefghij\n",
        "lng_0123456789abcdef0123456789abcdef0123",
        "gadget",
        "0123456789abcdef0123456789abcdef01234567",
        "AB0123456789012345678901234567890123",
        " # weir:allow",
        "harmless",
        CODED,
        "746f6b5f61626364656630313233343536373839",
        "\xe2\x82\xac",
        "\xff",
    };
    size_t at = 0;
    while (at + 100 < size) {
        const char *piece = pieces[random_below(sizeof(pieces) / sizeof(pieces[0]))];
        memcpy(text + at, piece, strlen(piece));
        at += strlen(piece);
        if (random_below(3) > 0)
            text[at++] = "\n\n ;x"[random_below(5)];
    }
    return at;
}

TEST(random_texts_come_to_the_same)
{
    static char text[3000];
    static uint32_t sizes[] = {10, 100, 1000};
    start();
    for (unsigned round = 0; round < 1500; round++) {
        size_t length = make_random(text, 200 + random_below(sizeof(text) - 200));
        unsigned depth = random_below(2) * 3;
        /* With the edge of a segment in it, or not. */
        uint64_t skipped = random_below(2) ? MIB - random_below((uint32_t)length) : 64;
        scan(&whole, depth, skipped, text, length, NULL, NULL);
        scan(&other, depth, skipped, text, length, cut_at_random, &sizes[round % 3]);
        check_same("round", round, (size_t)skipped);
        scan(&other, depth, skipped, text, length, cut_at_lines, text);
        check_same("lines", round, (size_t)skipped);
    }
    help_stop();
}

/* The first pause comes just behind the edge of a segment: what is before it was told with that. */
TEST(the_first_pause_may_come_behind_an_edge)
{
    static char text[14000];
    start();
    for (unsigned round = 0; round < 300; round++) {
        size_t length = make_random(text, sizeof(text));
        size_t edge = 6000 + random_below(6000);
        struct cuts cuts = {edge + random_below(60), edge + 60 + random_below(1000)};
        scan(&whole, round % 2 * 3, MIB - edge, text, length, NULL, NULL);
        scan(&other, round % 2 * 3, MIB - edge, text, length, cut_at, &cuts);
        check_same("round", round, edge);
    }
    help_stop();
}

/* A match has hits to both sides of where the next segment begins, and the rule has matches in
 * encoded text as well. */
TEST(a_match_is_not_taken_up_again_behind_an_edge)
{
    static const char text_of_rules[] = "[[rules]]\nid = 'run'\nregex = '\\bQ[0-9]{4,60}'\n";
    static char text[14000];
    size_t length = 0;
    start_with(text_of_rules, strlen(text_of_rules));
    for (unsigned i = 0; length + 300 < sizeof(text); i++)
        length +=
            (size_t)snprintf(text + length, sizeof(text) - length,
                             "Q%050u\n5131323334353637382051313233343536%02u\n", i, i % 10 + 30);
    for (size_t edge = 8000; edge < 8200; edge++) {
        struct cuts cuts = {edge + 5, edge + 500};
        scan(&whole, 1, MIB - edge, text, length, NULL, NULL);
        CHECK(whole.count > 200);
        scan(&other, 1, MIB - edge, text, length, cut_at, &cuts);
        check_same("edge", edge, 0);
    }
    help_stop();
}

/* What is any byte, so many times, and has nothing before it: PCRE2 10.42 does not say of it that
 * more may come. With something before it, it does. */
TEST(any_bytes_may_come_first)
{
    static const char *const regexes[] = {
        "(?s).{40}end",           "(?s)begin.{40}end",    "(?s:.{12})end",
        "(?s)(?:begin|.{20})end", "(?s)[xy]?.{9,30}?end", ".{40}end",
        "[\\s\\S]{40}end",        "(?s)\\b.{40}end",      "(?sm)^.{25}end",
        "(?is).{3}(?:end|begin)",
    };
    static const char *const pieces[] = {"end", "begin", "x", "\n", "end\n", "0123456789", "ab cd"};
    static char text[1500];
    for (size_t i = 0; i < sizeof(regexes) / sizeof(regexes[0]); i++) {
        char rule[128];
        int rule_length =
            snprintf(rule, sizeof(rule), "[[rules]]\nid = 'any'\nregex = '%s'\n", regexes[i]);
        start_with(rule, (size_t)rule_length);
        size_t found = 0;
        for (unsigned round = 0; round < 400; round++) {
            size_t length = 0, most = 60 + random_below(sizeof(text) - 80);
            while (length < most) {
                const char *piece = pieces[random_below(sizeof(pieces) / sizeof(pieces[0]))];
                memcpy(text + length, piece, strlen(piece));
                length += strlen(piece);
            }
            /* With the edge of a segment in it, or not. */
            uint64_t skipped = round % 2 ? MIB - random_below((uint32_t)length) : 64;
            scan(&whole, 0, 64, text, length, NULL, NULL);
            size_t without_edge = whole.count;
            scan(&whole, 0, skipped, text, length, NULL, NULL);
            CHECK_EQ(whole.count, without_edge);
            found += whole.count;
            scan(&other, 0, skipped, text, length, cut_at_lines, text);
            check_same(regexes[i], round, (size_t)skipped);
            scan(&other, 0, skipped, text, length, cut_at_each, NULL);
            check_same(regexes[i], round, (size_t)skipped);
        }
        CHECK(found > 400);
        help_stop();
    }
}

TEST(large_objects_come_to_the_same)
{
    static uint32_t sizes[] = {300000, 70000, 2000};
    static const char line[] = "these are some words of no use to anybody at all\n";
    size_t length = 3 * MIB + 12345;
    char *text = weir__base_alloc(1, length);
    CHECK(text);
    start();
    for (unsigned round = 0; round < 6; round++) {
        for (size_t at = 0; at < length; at++)
            text[at] = line[at % (sizeof(line) - 1)];
        for (size_t edge = 0; edge < 3; edge++)
            (void)make_random(text + (edge + 1) * MIB - 1500 * (round % 3), 3000);
        (void)make_random(text + random_below(MIB), 5000);
        scan(&whole, 3, 0, text, length, NULL, NULL);
        CHECK(whole.count > 100);
        scan(&other, 3, 0, text, length, cut_at_random, &sizes[round % 3]);
        check_same("round", round, 0);
    }
    help_stop();
    weir__base_free(text);
}

/* More than are told early, and more candidates than there is room for. */
TEST(there_may_be_many)
{
    char *text = weir__base_alloc(1, 400000);
    size_t length = 0;
    CHECK(text);
    start();
    for (unsigned i = 0; length < 300000; i++)
        length += (size_t)snprintf(text + length, 100,
                                   i % 40 == 0 ? "left-%04u right-1234 password=a1b2c3d%02u\n"
                                               : "zz00%04uzz 12Q%02u\n",
                                   i % 10000, i % 100);
    uint32_t size = 3000;
    scan(&whole, 0, 0, text, length, NULL, NULL);
    scan(&other, 0, 0, text, length, cut_at_random, &size);
    CHECK_EQ(whole.result.findings, other.result.findings);
    CHECK_EQ(whole.count, HITS_MAX);
    CHECK(memcmp(&whole.result, &other.result, sizeof(whole.result)) == 0);
    help_stop();
    weir__base_free(text);
}

/* --- what is told when --- */

static size_t told;

static void begin(void)
{
    struct weir__object object = {.path = "a", .decode_depth = 3};
    same_taking = &other;
    told = other.count = 0;
    other.bytes = NULL;
    CHECK_EQ(weir__scanner_begin(scanner, &object), 0);
}

/* How many are told after this has come. */
static size_t pause_behind(const char *text)
{
    CHECK_EQ(weir__scanner_feed(scanner, text, strlen(text)), 0);
    weir__scanner_settle(scanner);
    size_t before = told;
    told = other.count;
    weir__scanner_settle(scanner); /* nothing has come since */
    CHECK_EQ(other.count, told);
    return told - before;
}

static size_t end(void)
{
    CHECK_EQ(weir__scanner_end(scanner, &other.result), 0);
    CHECK_EQ(other.result.findings, other.count);
    return other.count - told;
}

TEST(what_is_certain_is_told_with_its_line)
{
    start();
    begin();
    CHECK_EQ(pause_behind("x " TOKEN "\n12Q34\n"), 2);
    CHECK_EQ(other.items[0].place.offset, 2);
    CHECK_EQ(other.items[1].place.line, 2);
    CHECK_EQ(pause_behind("nothing here\n"), 0);
    CHECK_EQ(pause_behind("\n\n  " TOKEN), 0); /* the line may go on */
    CHECK_EQ(pause_behind(" and\n"), 1);
    CHECK_EQ(other.items[2].place.line, 6);
    CHECK_EQ(other.items[2].place.column, 3);
    /* In the order of their places, whatever is looked for first. */
    CHECK_EQ(pause_behind("lng_0123456789abcdef0123456789abcdef0123\n12Q34\n"), 2);
    CHECK_STR(other.items[3].rule->id, "long");
    CHECK_STR(other.items[4].rule->id, "digits");
    CHECK_EQ(end(), 0);
    help_stop();
}

/* Signs that begin no escape, and escapes that are decoded nowhere in the line, are no reason to
 * wait. */
TEST(what_has_signs_of_escapes_beside_it_is_told)
{
    static const char *const told_now[] = {
        "/?a=" TOKEN "&x=1\n",     "100% " TOKEN "\n",        "{\"m\": \"\\\"" TOKEN "\\\"\"}\n",
        "\"" TOKEN "\\n\"\n",      "a & " TOKEN "%\n",        "\\u00 " TOKEN "\\\n",
        "\\u0041\r" TOKEN "\\n\n", "\\u0041\n" TOKEN "\\n\n",
    };
    static const char *const told_later[] = {"a%20 " TOKEN "\n", TOKEN "\\u0041\n",
                                             "&amp; " TOKEN "\n", "\\u0041 and a \\\"" TOKEN "\n"};
    start();
    for (size_t i = 0; i < sizeof(told_now) / sizeof(told_now[0]); i++) {
        begin();
        CHECK_EQ(pause_behind(told_now[i]), 1);
        CHECK_EQ(end(), 0);
    }
    for (size_t i = 0; i < sizeof(told_later) / sizeof(told_later[0]); i++) {
        begin();
        CHECK_EQ(pause_behind(told_later[i]), 0);
        CHECK_EQ(end(), 1);
    }
    help_stop();
}

TEST(nothing_is_told_that_may_become_another)
{
    static const char text[] = "[[rules]]\nid = 'short'\nregex = 'sh_[a-z]{4}(?:-[a-z]{4})?'\n"
                               "[[rules]]\nid = 'more'\nregex = 'mo_[0-9]{2,9}\\s?[0-9]{0,4}'\n"
                               "[[rules]]\nid = 'last'\nregex = 'la_[0-9]{4}\\n$'\n"
                               "[[rules]]\nid = 'ends'\nregex = 'en_[0-9]{4}(?:\\n$)?'\n"
                               "[[rules]]\nid = 'rows'\nregex = '[0-9]{2}Q[0-9]{2}\\s'\n"
                               "[[rules]]\nid = 'two'\nregex = 'tw_[0-9]{4}\\n(?!no)'\n"
                               "[[rules]]\nid = 'over'\nregex = 'ov_(?s:.{1,30}?)_vo|ov_[0-9]'\n";
    start_with(text, strlen(text));
    /* In the middle of a token. */
    begin();
    CHECK_EQ(pause_behind("sh_ab"), 0);
    CHECK_EQ(pause_behind("cd"), 0);
    CHECK_EQ(pause_behind("-efgh"), 0);
    CHECK_EQ(pause_behind("\n"), 1);
    CHECK_EQ(other.items[0].secret_length, strlen("sh_abcd-efgh"));
    CHECK_EQ(end(), 0);
    /* One that goes on in the next line, or does not. */
    begin();
    CHECK_EQ(pause_behind("mo_12\n"), 0);
    CHECK_EQ(pause_behind("345\n"), 1);
    CHECK_EQ(other.items[0].secret_length, strlen("mo_12\n345"));
    CHECK_EQ(pause_behind("mo_12\n"), 0);
    CHECK_EQ(pause_behind("x\n"), 1);
    CHECK_EQ(other.items[1].secret_length, strlen("mo_12\n"));
    CHECK_EQ(end(), 0);
    /* One that asks for the end, or for what follows. */
    begin();
    CHECK_EQ(pause_behind("la_1234\n"), 0);
    CHECK_EQ(pause_behind("la_1234\ntw_1234\n"), 0);
    CHECK_EQ(pause_behind("no\ntw_1234\n"), 0);
    CHECK_EQ(pause_behind("yes\nla_1234\n"), 1);
    CHECK_EQ(end(), 1);
    begin();
    CHECK_EQ(pause_behind("en_1234\n"), 0);
    CHECK_EQ(end(), 1);
    CHECK_EQ(other.items[0].secret_length, strlen("en_1234\n"));
    /* One that begins where the other has ended. */
    begin();
    CHECK_EQ(pause_behind("12Q34\n"), 1);
    CHECK_EQ(pause_behind("56Q78\n"), 1);
    CHECK_EQ(end(), 0);
    /* One that swallows others, and one that does not. */
    begin();
    CHECK_EQ(pause_behind("ov_1\nov_2\n"), 0);
    CHECK_EQ(pause_behind("_vo ov_3\n"), 1);
    CHECK_EQ(other.items[0].secret_length, strlen("ov_1\nov_2\n_vo"));
    CHECK_EQ(pause_behind("this is more than thirty bytes wide\n"), 1);
    CHECK_EQ(end(), 0);
    help_stop();
}

TEST(what_takes_several_lines_is_told_once)
{
    start();
    begin();
    CHECK_EQ(pause_behind("-----BEGIN X-----\n"), 0);
    for (int i = 0; i < 9; i++)
        CHECK_EQ(pause_behind("0123456789abcdef\n"), 0);
    CHECK_EQ(pause_behind("-----END X-----"), 0);
    CHECK_EQ(pause_behind("\n"), 1);
    CHECK_EQ(pause_behind("the gadget, far away\n"), 0);
    CHECK_EQ(pause_behind("nothing but words\n"), 0);
    CHECK_EQ(pause_behind("0123456789abcdef0123456789abcdef01234567\n"), 1);
    CHECK_EQ(end(), 0);
    help_stop();
}

TEST(what_others_have_a_say_in_waits)
{
    start();
    begin();
    CHECK_EQ(pause_behind("left-1234\nright-1234\n"), 0);
    CHECK_EQ(pause_behind("password=a1b2c3d4\n"), 0);
    CHECK_EQ(pause_behind(CODED "\n"), 0);
    CHECK_EQ(pause_behind("zz123456zz\nkw in another line\n"), 0);
    CHECK_EQ(pause_behind("zz123457zz, kw\n"), 1);
    CHECK_EQ(pause_behind("zz123458zz\n"), 1);
    CHECK_EQ(end(), 4);
    begin();
    CHECK_EQ(pause_behind("zz123457zz, kw\n"), 1);
    CHECK_EQ(end(), 0);
    /* It is forgotten with the object. */
    begin();
    CHECK_EQ(pause_behind("zz123457zz\n"), 0);
    CHECK_EQ(pause_behind("password=" TOKEN "\n"), 1);
    CHECK_STR(other.items[0].rule->id, "token");
    CHECK_EQ(end(), 1); /* tok_ is a keyword, too */
    help_stop();
}

TEST(a_comment_may_follow_in_the_line_and_not_behind_it)
{
    static const char text[] = "[[rules]]\nid = 'a'\nregex = '\\b(aaa[0-9]{4})(?:[\\s;]|$)'\n"
                               "[[rules]]\nid = 'b'\nregex = 'bbb[0-9]{4}\\s'\n";
    start_with(text, strlen(text));
    begin();
    CHECK_EQ(pause_behind("aaa1234 "), 0);
    CHECK_EQ(pause_behind("# weir:allow\n"), 0);
    CHECK_EQ(pause_behind("aaa1235\n"), 1);
    CHECK_EQ(pause_behind("# weir:allow\n"), 0);
    CHECK_EQ(pause_behind("bbb1235\n"), 1);
    CHECK_EQ(pause_behind("# weir:allow\n"), 0);
    CHECK_EQ(end(), 0);
    CHECK_EQ(other.result.allowed, 1);
    /* All at once it is the same. */
    static const char all[] =
        "aaa1234 # weir:allow\naaa1235\n# weir:allow\nbbb1235\n# weir:allow\n";
    scan(&whole, 0, 0, all, strlen(all), NULL, NULL);
    CHECK_EQ(whole.count, 2);
    CHECK_EQ(whole.result.allowed, 1);
    help_stop();
}

TEST(an_object_may_be_dropped_or_allowed)
{
    static const char text[] = "[allowlist]\npaths = ['^a$']\n" HELP_RULES;
    start();
    begin();
    CHECK_EQ(pause_behind(TOKEN "\n"), 1);
    begin();
    CHECK_EQ(pause_behind(TOKEN "\n"), 1);
    CHECK_EQ(end(), 0);
    weir__scanner_settle(scanner); /* no object is open */
    CHECK_EQ(other.count, 1);
    help_stop();
    start_with(text, strlen(text));
    begin();
    CHECK_EQ(pause_behind(TOKEN "\n"), 0);
    CHECK_EQ(end(), 0);
    help_stop();
}

/* --- the rules that come with the program --- */

/* An example of each rule, one behind the other. */
TEST(all_examples_come_to_the_same)
{
    char *text = weir__base_alloc(1, TEXT_MAX);
    FILE *file = fopen(RULES_FILE, "re");
    CHECK(text && file);
    size_t length = fread(text, 1, TEXT_MAX, file);
    fclose(file);
    CHECK(length > 0 && length < TEXT_MAX);
    start_with(text, length);
    length = 0;
    for (size_t i = 0; i < rules->rules_count; i++)
        if (rules->rules[i].examples.count > 0)
            length += (size_t)snprintf(text + length, TEXT_MAX - length, "%s\n",
                                       rules->rules[i].examples.items[0]);
    CHECK(length < TEXT_MAX);
    whole.is_trusted = other.is_trusted = true;
    for (unsigned round = 0; round < 3; round++) {
        uint32_t size = 2000;
        scan(&whole, 3, 0, text, length, NULL, NULL);
        if (whole.count < 400 || whole.count == HITS_MAX)
            tap_fail(__FILE__, __LINE__, "%zu findings", whole.count);
        scan(&other, 3, 0, text, length, round ? cut_at_random : cut_at_lines,
             round ? (void *)&size : text);
        check_same("examples", round, 0);
    }
    /* Most of them are told with their lines. */
    same_taking = &other;
    begin();
    CHECK_EQ(weir__scanner_feed(scanner, text, length < MIB ? length : MIB - 1), 0);
    size_t early = other.count;
    weir__scanner_settle(scanner);
    CHECK(other.count - early > 400);
    whole.is_trusted = other.is_trusted = false;
    help_stop();
    weir__base_free(text);
}

TAP_MAIN()
