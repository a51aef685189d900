/* test_equal.c - two ways of scanning the same bytes come to the same: cut anywhere or whole, in
 * one segment or with an edge through it, plain or encoded, compiled or from a cache; and what is
 * told early is told once. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <weir/error.h>

#include "alloc.h"
#include "decode_help.h"
#include "same_help.h"
#include "tap.h"

#define MIB   (1u << 20)
#define TOKEN "tok_abcdef0123456789"

static void start_with(const char *text, const struct weir__engine_cache *cache)
{
    help_start(text, strlen(text), cache, same_take);
}

static void start(void)
{
    start_with(HELP_ALLOW HELP_RULES, NULL);
}

static void scan(struct hits *hits, unsigned depth, uint64_t skipped, const char *bytes,
                 size_t length, hits_cut *cut, void *arg)
{
    same_scan(hits, depth, skipped, bytes, length, cut, arg);
    CHECK_EQ(hits->result.findings, hits->count);
}

/* --- cuts --- */

static const char small[] =
    "x=" TOKEN "\nACME_= 1234ABCD\n-----BEGIN X-----\nab\n-----END X-----\n12Q34 zz123456zz\n"
    "GADGET\n1: 0123456789abcdef0123456789abcdef01234567,AB0123456789012345678901234567890123\n"
    "lng_0123456789abcdef0123456789abcdef0123\n"
    "left-1234\nright-1\nright-5678 dG9rX2FiY2RlZjAxMjM0NTY3ODkgaXMgdGhlIHRva2Vu\nkey: abcdefghij";

TEST(small_objects_may_be_cut_anywhere)
{
    start();
    size_t length = strlen(small);
    scan(&whole, 3, 0, small, length, NULL, NULL);
    CHECK_EQ(whole.count, 11);
    for (size_t i = 1; i < length; i++)
        for (size_t k = i; k < length; k++) {
            struct cuts cuts = {i, k};
            scan(&other, 3, 0, small, length, cut_at, &cuts);
            same_check("cut", i, k);
            CHECK(memcmp(&whole.result, &other.result, sizeof(whole.result)) == 0);
        }
    help_stop();
}

/* --- edges --- */

static size_t put(char *text, size_t at, const char *piece)
{
    memcpy(text + at, piece, strlen(piece));
    return at + strlen(piece);
}

/* Some 14 KB with a match every hundred bytes or so: more than what is seen again at an edge. */
static size_t make_dense(char *text, size_t size, bool is_encoded)
{
    char piece[128], coded[192];
    size_t at = 0;
    for (unsigned i = 0; at + 400 < size; i++) {
        switch (i % 11) {
        case 8:
            snprintf(piece, sizeof(piece), "the gadget, whose key is\n '%040u'\n", i);
            break;
        case 9:
            snprintf(piece, sizeof(piece), "AB%034u lng_%036u\n", i, i);
            break;
        case 10:
            snprintf(piece, sizeof(piece), "a gadget and nothing more, in spite of that\n");
            break;
        case 0:
            snprintf(piece, sizeof(piece), " tok_%016u\n", i);
            break;
        case 1:
            snprintf(piece, sizeof(piece), "acme=%08X ", i);
            break;
        case 2:
            snprintf(piece, sizeof(piece), "-----BEGIN X-----\n%u\n-----END X-----", i);
            break;
        case 3:
            snprintf(piece, sizeof(piece), " 12Q%02u gizmo %012u;", i % 100, i);
            break;
        case 4:
            snprintf(piece, sizeof(piece), "left-%04u\nright-%04u\n", i, i);
            break;
        case 5:
            snprintf(piece, sizeof(piece), "password=a1b2c3_%u\nkey: abcdefghij\n", i);
            break;
        case 6:
            snprintf(piece, sizeof(piece), "tok_%016u # weir:allow\n", i);
            break;
        default:
            snprintf(piece, sizeof(piece), "some words of no use\n");
            break;
        }
        at = put(text, at, piece);
        if (!is_encoded || i % 4 != 0)
            continue;
        snprintf(piece, sizeof(piece), "in here is tok_%016u, and %s", i + 5000,
                 i % 12 == 0 ? "harmless it is" : "more of it");
        if (i % 8 == 0) {
            size_t length = encode_base64(piece, strlen(piece), base64_standard, true, coded);
            memcpy(text + at, coded, length);
            at += length;
        } else {
            for (const char *p = piece; *p; p++)
                at += (size_t)snprintf(text + at, size - at, "%02x", (unsigned)(uint8_t)*p);
        }
        text[at++] = '\n';
    }
    return at;
}

static void check_edges(bool is_encoded, unsigned depth, size_t least)
{
    static char text[14000];
    start();
    size_t length = make_dense(text, sizeof(text), is_encoded);
    scan(&whole, depth, 64, text, length, NULL, NULL);
    hits_sort(&whole);
    hits_move_back(&whole);
    CHECK(whole.count > least && whole.count < HITS_MAX);
    other.is_trusted = true; /* they are the same, or it is told */
    for (size_t edge = 1; edge < length; edge += 3) {
        scan(&other, depth, MIB - edge, text, length, NULL, NULL);
        hits_sort(&other);
        hits_move_back(&other);
        same_check("edge", edge, depth);
        CHECK_EQ(other.result.allowed, whole.result.allowed);
        CHECK_EQ(other.result.rejected, whole.result.rejected);
    }
    other.is_trusted = false;
    help_stop();
}

TEST(an_edge_may_go_through_anything)
{
    check_edges(false, 0, 150);
}

TEST(an_edge_may_go_through_encoded_text)
{
    check_edges(true, 3, 150);
}

/* --- large objects --- */

static void fill_lines(char *text, size_t length)
{
    static const char line[] = "these are some words of no use to anybody at all\n";
    for (size_t at = 0; at < length; at++)
        text[at] = line[at % (sizeof(line) - 1)];
}

/* Matches of every kind across both edges, moved byte by byte. */
TEST(large_objects_may_be_cut_anywhere)
{
    static const char *const pieces[] = {
        " " TOKEN " ",
        "-----BEGIN X-----\nabc\n-----END X-----",
        "\nleft-1234\n\nright-5678\n",
        " dG9rX2FiY2RlZjAxMjM0NTY3ODkgaXMgdGhlIHRva2Vu ",
        /* UTF-16 between bytes that are no text in either order. */
        ("\xee\xeet\0o\0k\0_"
         "\0a\0b\0c\0d\0e\0f\0000\0001\0002\0003\0004\0005\0006\0007\0008\0009\0\xee\xee"),
    };
    size_t length = 3 * MIB + 12345;
    char *text = weir__base_alloc(1, length);
    CHECK(text);
    start();
    for (unsigned round = 0; round < 40; round++) {
        unsigned kind = round % 5;
        size_t size = kind == 4 ? 44 : strlen(pieces[kind]);
        size_t shift = 1 + round / 5 * (size / 8 + 1);
        fill_lines(text, length);
        for (size_t edge = MIB; edge <= 3 * MIB; edge += MIB)
            memcpy(text + edge - (shift < size ? shift : size), pieces[kind], size);
        scan(&whole, 3, 0, text, length, NULL, NULL);
        if (whole.count != 3)
            tap_fail(__FILE__, __LINE__, "piece %u, %zu before the edge: found %zu times", kind,
                     shift, whole.count);
        static uint32_t sizes[] = {300000, 70000, 2000000};
        other.is_in_place = round % 2 == 0;
        scan(&other, 3, 0, text, length, cut_at_random, &sizes[round % 3]);
        same_check("round", round, shift);
    }
    other.is_in_place = false;
    help_stop();
    weir__base_free(text);
}

/* --- encodings --- */

enum {
    BASE64,
    BASE64_URL,
    HEX,
    HEX_UPPER,
    PERCENT,
    UNICODE,
    BYTES,
    HTML,
    LE,
    BE,
    LE_MARK,
    BE_MARK,
    CODES
};

static const enum weir__encoding kinds[CODES] = {
    [BASE64] = WEIR__BASE64, [BASE64_URL] = WEIR__BASE64, [HEX] = WEIR__HEX,
    [HEX_UPPER] = WEIR__HEX, [PERCENT] = WEIR__PERCENT,   [UNICODE] = WEIR__ESCAPES,
    [BYTES] = WEIR__ESCAPES, [HTML] = WEIR__ESCAPES,      [LE] = WEIR__UTF16LE,
    [BE] = WEIR__UTF16BE,    [LE_MARK] = WEIR__UTF16LE,   [BE_MARK] = WEIR__UTF16BE,
};

static size_t encode_one(int code, unsigned byte, char *out)
{
    int count;
    switch (code) {
    case HEX:
        count = snprintf(out, 8, "%02x", byte);
        break;
    case HEX_UPPER:
        count = snprintf(out, 8, "%02X", byte);
        break;
    case PERCENT:
        count = snprintf(out, 8, "%%%02x", byte);
        break;
    case UNICODE:
        count = snprintf(out, 8, "\\u%04x", byte);
        break;
    case BYTES:
        count = snprintf(out, 8, "\\x%02x", byte);
        break;
    case HTML:
        count = snprintf(out, 8, "&#%u;", byte);
        break;
    default:
        return encode_wide(byte, code == BE || code == BE_MARK, out);
    }
    return (size_t)count;
}

static size_t encode(int code, const char *bytes, size_t length, char *out, size_t size)
{
    size_t count = 0;
    if (code == BASE64 || code == BASE64_URL)
        return encode_base64(bytes, length, code == BASE64 ? base64_standard : base64_url,
                             code == BASE64, out);
    if (code == LE_MARK || code == BE_MARK) {
        memcpy(out, code == LE_MARK ? "\xff\xfe" : "\xfe\xff", 2);
        count = 2;
    }
    for (size_t i = 0; i < length; i++) {
        unsigned byte = (uint8_t)bytes[i];
        CHECK(count + 8 < size);
        count += encode_one(code, byte, out + count);
    }
    return count;
}

#define HIDDEN "the value is " TOKEN ", keep it"

TEST(what_is_encoded_is_found_as_if_it_were_plain)
{
    static char coded[8192], text[8192];
    start();
    scan(&other, 3, 0, HIDDEN, strlen(HIDDEN), NULL, NULL);
    CHECK_EQ(other.count, 1);
    for (int code = 0; code < CODES; code++) {
        size_t size = encode(code, HIDDEN, strlen(HIDDEN), coded, sizeof(coded));
        for (unsigned before = 0; before < 5; before++) {
            /* What is beside UTF-16 must not be text in the other order. */
            memset(text, code < LE ? '\n' : 0xee, before + size + 1);
            memcpy(text + before, coded, size);
            scan(&whole, 3, 0, text, before + size + 1, NULL, NULL);
            if (whole.count != 1 || whole.items[0].encodings_count != 1 ||
                whole.items[0].encodings[0] != kinds[code])
                tap_fail(__FILE__, __LINE__, "code %d behind %u bytes: %zu findings, encoding %d",
                         code, before, whole.count, (int)whole.items[0].encodings[0]);
            CHECK_EQ(whole.items[0].secret, other.items[0].secret);
            CHECK(whole.items[0].rule == other.items[0].rule);
            /* The place has the encoded form of the secret, and no more than what it shares a
             * group of characters with. */
            uint64_t least = strlen(TOKEN) * (size - (code >= LE_MARK ? 2 : 0)) / strlen(HIDDEN);
            CHECK(whole.items[0].place.length + 4 >= least);
            if (code != HTML) /* whose characters are of different lengths */
                CHECK(whole.items[0].place.length <= least + 4);
            CHECK(whole.items[0].place.offset >= before);
        }
    }
    help_stop();
}

/* What stands beside an encoded text: before it and behind it. Letters beside characters of base64
 * or digits would belong to them; beside UTF-16 they may stand. */
static const char *const befores[] = {"",    "=",          "key: ",     "KEY=",      "\"",
                                      "'",   "two words ", "one\n",     "{\"k\":\"", "\t",
                                      "a: ", "x(",         "line\r\n  "};
static const char *const wide_befores[] = {"a", "ab", "abc", "abcd", "1", "12"};
static const char *const behinds[] = {
    "",
    "\n",
    "\nURL=\"x\"\n",
    "\nDB='x'\n",
    "\nThis is it\n",
    " and more of it\n",
    "\nSET\n",
    "\r\nSET\r\n",
    "\r\n  SET x\r\n",
    "\nURL=\n",
    "\n  foo;\n",
    "\"\nURL=\"x\"\n",
    "' 'abcd'\n",
    "\",\n\"abcd\"",
    "\ndead\n",
    "\nface it\n",
    "\nc0ffee00\n",
    "\\nThis",
    "\nThis;\n",
    ")",
    "</a>",
    " ",
    "\n# This\n",
    "\nauthentication\n",
    "\nconst x",
    "\nReturn\n",
    "\nabcdefabcdef\n",
    "\n\nThis\n",
    ",",
    "\nRESULT=\"x\"",
};
static const char *const wide_behinds[] = {"a", "ab", "abc ", "1\n"};
/* So that the secret ends with the text, after every remainder of three bytes; or does not. */
static const char *const hiddens[] = {TOKEN,
                                      " " TOKEN,
                                      "  " TOKEN,
                                      "it is " TOKEN,
                                      "a text before it, and then: " TOKEN,
                                      HIDDEN,
                                      "a text before it, so that it is longer: " TOKEN,
                                      "a text before it, so that it is longer:  " TOKEN};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static void check_between(int code, const char *hidden, const char *before, const char *behind)
{
    static char coded[8192], text[8192];
    size_t size = encode(code, hidden, strlen(hidden), coded, sizeof(coded));
    size_t length = put(text, 0, before);
    memcpy(text + length, coded, size);
    length = put(text, length + size, behind);
    scan(&whole, 3, 0, text, length, NULL, NULL);
    /* Where a NUL stands at both ends, both orders have all letters. */
    bool is_right =
        whole.count == 1 && whole.items[0].encodings_count == 1 &&
        whole.items[0].secret == hits_hash(TOKEN, strlen(TOKEN)) &&
        (whole.items[0].encodings[0] == kinds[code] || code >= LE) &&
        whole.items[0].place.offset >= strlen(before) &&
        whole.items[0].place.offset + whole.items[0].place.length <= strlen(before) + size;
    if (!is_right)
        tap_fail(__FILE__, __LINE__, "code %d of '%s' between '%s' and '%s': %zu findings", code,
                 hidden, before, behind, whole.count);
}

TEST(what_is_encoded_is_found_beside_anything)
{
    start();
    for (int code = 0; code < CODES; code++)
        for (size_t h = 0; h < COUNT(hiddens); h++) {
            for (size_t i = 0; i < COUNT(befores); i++)
                for (size_t k = 0; k < COUNT(behinds); k++)
                    check_between(code, hiddens[h], befores[i], behinds[k]);
            for (size_t i = 0; code >= LE && i < COUNT(wide_befores); i++)
                for (size_t k = 0; k < COUNT(behinds); k++)
                    check_between(code, hiddens[h], wide_befores[i], behinds[k]);
            for (size_t i = 0; code >= LE && i < COUNT(wide_befores); i++)
                for (size_t k = 0; k < COUNT(wide_behinds); k++)
                    check_between(code, hiddens[h], wide_befores[i], wide_behinds[k]);
        }
    help_stop();
}

/* Whole texts that are nothing but a secret, of rules that are looked for by expression: one that
 * wants no letter behind it, near a stretch of token bytes or not; and those that ask for the
 * beginning and the end, of the text or of a line. */
static const struct {
    const char *rule, *text;
} edge_cases[] = {
    {"tail", "QWXZ1234MNBV5678"},
    {"tail", "and it is QWXZ1234MNBV5678"},
    {"tail-near", "XYab0123456789012345678901234567"},
    {"tail-near", "it: XYab0123456789012345678901234567"},
    {"serial", "ABCDE-123456-FGHIJ"},
    {"serial-line", "ABC:12345678:DEF"},
    {"serial-line", "one more:\nABC:12345678:DEF"},
    {"serial-line", "ABC:12345678:DEF\nand more"},
    {"serial-all", "ABCDE;123456;FGHIJ"},
};

static void check_edge_case(size_t number, const int *codes, size_t depth, const char *behind)
{
    static char once[1024], twice[8192], text[8192 + 16];
    const char *plain = edge_cases[number].text;
    const char *before = codes[depth - 1] < LE ? "\n" : "";
    size_t size = encode(codes[0], plain, strlen(plain), once, sizeof(once));
    memcpy(twice, once, size);
    if (depth > 1)
        size = encode(codes[1], once, size, twice, sizeof(twice));
    size_t length = put(text, 0, before);
    memcpy(text + length, twice, size);
    length = put(text, length + size, behind);
    scan(&whole, 3, 0, text, length, NULL, NULL);
    size_t found = 0;
    for (size_t i = 0; i < whole.count; i++)
        found += strcmp(whole.items[i].rule->id, edge_cases[number].rule) == 0 &&
                 whole.items[i].encodings_count == depth;
    if (found != 1 || whole.count != 1)
        tap_fail(__FILE__, __LINE__, "'%s' in %d, %d of %zu, and '%s': %zu findings", plain,
                 codes[0], codes[1], depth, behind, whole.count);
}

TEST(what_ends_an_encoded_text_ends_as_a_file_does)
{
    start();
    for (size_t i = 0; i < COUNT(edge_cases); i++) {
        scan(&whole, 3, 0, edge_cases[i].text, strlen(edge_cases[i].text), NULL, NULL);
        if (whole.count != 1 || strcmp(whole.items[0].rule->id, edge_cases[i].rule) != 0)
            tap_fail(__FILE__, __LINE__, "'%s': %zu findings", edge_cases[i].text, whole.count);
        for (int first = 0; first < CODES; first++) {
            int codes[2] = {first, -1};
            check_edge_case(i, codes, 1, first < LE ? "\n" : "");
            if (first < LE) {
                check_edge_case(i, codes, 1, "");
                check_edge_case(i, codes, 1, "\n\nABC\n");
            }
            for (codes[1] = 0; codes[1] < LE; codes[1]++)
                if (first < LE || codes[1] < PERCENT)
                    check_edge_case(i, codes, 2, "\n");
        }
    }
    help_stop();
}

/* Lines of a list are each a text, whatever their widths are; as lines of one text they are found
 * as well, and what spans two of them is told once. */
TEST(lines_may_be_a_list_or_one_text)
{
    static const char *const breaks[] = {"\n", "\r\n", "\n  ", "\n# ", "' '", "\" +\n \""};
    static const char *const first[] = {" tok_0000000000000001", "user: tok_0000000000000001"};
    char one[128], two[128], text[512];
    start();
    for (size_t i = 0; i < COUNT(breaks) * 6; i++) {
        const char *next = i / COUNT(breaks) % 3 == 0   ? " tok_0000000000000002"
                           : i / COUNT(breaks) % 3 == 1 ? "user: tok_0000000000000002"
                                                        : "a user: tok_0000000000000002";
        const char *head = first[i / COUNT(breaks) / 3];
        one[encode_base64(head, strlen(head), base64_standard, true, one)] = '\0';
        two[encode_base64(next, strlen(next), base64_standard, true, two)] = '\0';
        size_t length = (size_t)snprintf(text, sizeof(text), "- '%s%s%s'\n", one,
                                         breaks[i % COUNT(breaks)], two);
        scan(&whole, 3, 0, text, length, NULL, NULL);
        if (whole.count != 2)
            tap_fail(__FILE__, __LINE__, "%zu findings in '%s'", whole.count, text);
    }
    help_stop();
}

/* In lines of every width, with a break at each place of the secret. */
TEST(what_spans_lines_is_told_once)
{
    char plain[256], coded[512], text[1024];
    start();
    for (unsigned is_hex = 0; is_hex < 2; is_hex++)
        for (size_t width = is_hex ? 32 : 16; width <= 80; width += is_hex ? 2 : 4)
            for (int before = 0; before < 60; before++) {
                size_t size =
                    (size_t)snprintf(plain, sizeof(plain), "%.*s password=a1b2c3d4_e5f6g7 %s",
                                     before, HIDDEN HIDDEN, "and so on for a while");
                size = encode(is_hex ? HEX : BASE64, plain, size, coded, sizeof(coded));
                coded[size] = '\0';
                size_t length = 0;
                for (size_t at = 0; at < size; at += width)
                    length += (size_t)snprintf(text + length, sizeof(text) - length, "%.*s\n",
                                               (int)width, coded + at);
                scan(&whole, 3, 0, text, length, NULL, NULL);
                size_t wanted = 1 + (size_t)(before >= 33);
                bool is_there = false;
                for (size_t i = 0; i < whole.count; i++)
                    is_there |= whole.items[i].secret == hits_hash("a1b2c3d4_e5f6g7", 15);
                if (whole.count != wanted || !is_there)
                    tap_fail(__FILE__, __LINE__, "%zu findings, %d before, in lines of %zu:\n%s",
                             whole.count, before, width, text);
            }
    help_stop();
}

/* Bytes of UTF-16 that are written as escapes, from the first one of the secret to its last. */
TEST(utf16_in_escapes_is_found_whole)
{
    static const int outers[] = {PERCENT, BYTES, HEX, BASE64};
    static char once[1024], twice[8192], text[8192];
    start();
    for (size_t i = 0; i < COUNT(outers) * 4 * COUNT(hiddens) * COUNT(befores); i++) {
        int outer = outers[i % COUNT(outers)], inner = LE + (int)(i / COUNT(outers) % 4);
        const char *hidden = hiddens[i / COUNT(outers) / 4 % COUNT(hiddens)];
        const char *before = befores[i / COUNT(outers) / 4 / COUNT(hiddens)];
        size_t size = encode(inner, hidden, strlen(hidden), once, sizeof(once));
        size = encode(outer, once, size, twice, sizeof(twice));
        size_t length = put(text, 0, before);
        memcpy(text + length, twice, size);
        length = put(text, length + size, "\nURL=\"x\"\n");
        scan(&whole, 3, 0, text, length, NULL, NULL);
        if (whole.count != 1 || whole.items[0].encodings_count != 2 ||
            whole.items[0].secret != hits_hash(TOKEN, strlen(TOKEN)))
            tap_fail(__FILE__, __LINE__, "%d of %d behind '%s': %zu findings", outer, inner, before,
                     whole.count);
    }
    help_stop();
}

/* NULs as \0, letters as they are, whatever digit comes next: so a dump of a database has it. */
TEST(utf16_of_which_the_nuls_are_escaped_is_found)
{
    static char once[1024], text[4096];
    start();
    for (unsigned i = 0; i < 4 * COUNT(hiddens); i++) {
        const char *hidden = hiddens[i / 4];
        bool is_big = i % 2, is_octal = i / 2 % 2;
        size_t size = encode(is_big ? BE : LE, hidden, strlen(hidden), once, sizeof(once));
        size_t length = put(text, 0, "INSERT INTO `t` VALUES ('");
        for (size_t at = 0; at < size; at++)
            if (once[at])
                text[length++] = once[at];
            else
                length = put(text, length, is_octal ? "\\000" : "\\0");
        length = put(text, length, "');\n");
        scan(&whole, 3, 0, text, length, NULL, NULL);
        if (whole.count != 1 || whole.items[0].encodings_count != 2 ||
            whole.items[0].secret != hits_hash(TOKEN, strlen(TOKEN)))
            tap_fail(__FILE__, __LINE__, "%zu findings in %.*s", whole.count, (int)length, text);
    }
    help_stop();
}

/* A secret that three encodings make long, in a run that begins long before it: so much of the run
 * is kept for the next segment that it is there as a whole. */
TEST(an_edge_may_go_through_a_long_encoded_secret)
{
    static char a[1u << 18], b[1u << 18];
    start();
    size_t size = 0;
    while (size < 450)
        size = put(a, size, "some words before it, ");
    size_t first = size;
    size = put(a, size, "-----BEGIN X-----\n");
    while (size < first + 200)
        size = put(a, size, "abcdefgh");
    size = put(a, size, "\n-----END X-----");
    size_t last = size, factor = 1;
    size = put(a, size, " and some behind it");
    for (unsigned level = 0; level < 3; level++, factor *= 6) {
        size = encode(UNICODE, a, size, b, sizeof(b));
        memcpy(a, b, size);
    }
    CHECK_EQ(size % factor, 0);
    for (size_t at = first; at <= last; at += 16) {
        scan(&whole, 3, MIB - at * factor, a, size, NULL, NULL);
        if (whole.count != 1 || whole.items[0].encodings_count != 3)
            tap_fail(__FILE__, __LINE__, "%zu of %zu: %zu findings", at, last, whole.count);
    }
    help_stop();
}

/* Which of them cannot be inside of which: bytes of UTF-16 are no text to those who write texts. */
static bool is_sensible(int outer, int inner)
{
    bool is_inner_wide = inner >= LE;
    bool is_outer_text =
        outer != BASE64 && outer != BASE64_URL && outer != HEX && outer != HEX_UPPER;
    return !(is_inner_wide && is_outer_text);
}

TEST(what_is_encoded_twice_is_found_with_both)
{
    static char once[8192], twice[65536];
    char missed[2048] = "";
    start();
    for (int outer = 0; outer < CODES; outer++)
        for (int inner = 0; inner < CODES; inner++) {
            if (!is_sensible(outer, inner))
                continue;
            size_t size = encode(inner, HIDDEN, strlen(HIDDEN), once, sizeof(once));
            size = encode(outer, once, size, twice, sizeof(twice));
            scan(&whole, 3, 0, twice, size, NULL, NULL);
            bool is_found = false;
            for (size_t i = 0; i < whole.count; i++)
                is_found |= whole.items[i].encodings_count == 2 &&
                            whole.items[i].encodings[0] == kinds[outer] &&
                            whole.items[i].encodings[1] == kinds[inner];
            if (!is_found || whole.count != 1)
                snprintf(missed + strlen(missed), sizeof(missed) - strlen(missed),
                         " %s(%d) of %s(%d): %zu;", weir__encoding_name(kinds[outer]), outer,
                         weir__encoding_name(kinds[inner]), inner, whole.count);
            /* Not deep enough is not at all. */
            scan(&whole, 1, 0, twice, size, NULL, NULL);
            CHECK_EQ(whole.count, 0);
        }
    CHECK_STR(missed, "");
    help_stop();
}

TEST(the_depth_is_a_limit)
{
    static char a[65536], b[65536];
    start();
    size_t size = strlen(HIDDEN);
    memcpy(a, HIDDEN, size);
    for (unsigned level = 1; level <= 6; level++) {
        size = encode(BASE64, a, size, b, sizeof(b));
        memcpy(a, b, size);
        scan(&whole, level, 0, a, size, NULL, NULL);
        CHECK_EQ(whole.count, 1);
        CHECK_EQ(whole.items[0].encodings_count, level);
        scan(&whole, level - 1, 0, a, size, NULL, NULL);
        CHECK_EQ(whole.count, 0);
    }
    help_stop();
}

TEST(a_budget_that_is_used_up_is_told)
{
    static char coded[512];
    start();
    size_t size = encode(BASE64, HIDDEN, strlen(HIDDEN), coded, sizeof(coded));
    struct weir__object object = {.path = "a", .decode_depth = 3, .decode_bytes = 10};
    same_taking = &whole;
    CHECK_EQ(hits_scan(&whole, scanner, &object, 0, coded, size, NULL, NULL), 0);
    CHECK_EQ(whole.count, 0);
    CHECK(whole.result.is_decode_truncated);
    object.decode_bytes = 100;
    CHECK_EQ(hits_scan(&whole, scanner, &object, 0, coded, size, NULL, NULL), 0);
    CHECK_EQ(whole.count, 1);
    CHECK(!whole.result.is_decode_truncated);
    help_stop();
}

/* --- holes --- */

TEST(a_hole_moves_places_and_breaks_matches)
{
    static const uint64_t holes[] = {
        1, 100, MIB - 30, MIB - 20, MIB, 5 * (uint64_t)MIB + 7, UINT64_C(1) << 40};
    static const char before[] = "one\n" TOKEN " ", behind[] = " " TOKEN "\n" TOKEN;
    struct weir__object object = {.path = "a"};
    start();
    for (size_t i = 0; i < sizeof(holes) / sizeof(holes[0]); i++) {
        same_taking = &whole;
        whole.count = 0;
        whole.bytes = NULL;
        CHECK_EQ(weir__scanner_begin(scanner, &object), 0);
        CHECK_EQ(weir__scanner_feed(scanner, before, strlen(before)), 0);
        CHECK_EQ(weir__scanner_skip(scanner, holes[i]), 0);
        CHECK_EQ(weir__scanner_feed(scanner, behind, strlen(behind)), 0);
        CHECK_EQ(weir__scanner_end(scanner, NULL), 0);
        CHECK_EQ(whole.count, 3);
        uint64_t at = strlen(before) + holes[i];
        CHECK_EQ(whole.items[0].place.offset, 4);
        CHECK_EQ(whole.items[1].place.offset, at + 1);
        CHECK_EQ(whole.items[1].place.line, 2);
        CHECK_EQ(whole.items[1].place.column, at + 1 - 4 + 1);
        CHECK_EQ(whole.items[2].place.offset, at + 1 + 20 + 1);
        CHECK_EQ(whole.items[2].place.line, 3);
        CHECK_EQ(whole.items[2].place.column, 1);
        /* Through the middle of it. */
        for (size_t cut = 1; cut < strlen(TOKEN); cut++) {
            whole.count = 0;
            CHECK_EQ(weir__scanner_begin(scanner, &object), 0);
            CHECK_EQ(weir__scanner_feed(scanner, TOKEN, cut), 0);
            CHECK_EQ(weir__scanner_skip(scanner, holes[i]), 0);
            CHECK_EQ(weir__scanner_feed(scanner, &TOKEN[cut], strlen(TOKEN) - cut), 0);
            CHECK_EQ(weir__scanner_end(scanner, NULL), 0);
            CHECK_EQ(whole.count, 0);
        }
    }
    help_stop();
}

/* --- what is told early --- */

static size_t told_before_the_end(const char *head, const char *tail)
{
    static char text[2 * MIB];
    struct weir__object object = {.path = "a"};
    fill_lines(text, sizeof(text));
    same_taking = &whole;
    whole.count = 0;
    whole.bytes = NULL;
    CHECK_EQ(weir__scanner_begin(scanner, &object), 0);
    CHECK_EQ(weir__scanner_feed(scanner, head, strlen(head)), 0);
    CHECK_EQ(weir__scanner_feed(scanner, text, sizeof(text)), 0);
    size_t early = whole.count;
    CHECK_EQ(weir__scanner_feed(scanner, tail, strlen(tail)), 0);
    CHECK_EQ(weir__scanner_end(scanner, &whole.result), 0);
    CHECK_EQ(whole.result.findings, whole.count);
    return early;
}

TEST(what_is_certain_is_told_with_its_segment)
{
    start();
    CHECK_EQ(told_before_the_end("x " TOKEN "\n12Q34\n", ""), 2);
    CHECK_EQ(whole.count, 2);
    /* A keyword may still come. */
    CHECK_EQ(told_before_the_end("zz123456zz\n", ""), 0);
    CHECK_EQ(whole.count, 0);
    CHECK_EQ(told_before_the_end("zz123456zz\n", " kw "), 0);
    CHECK_EQ(whole.count, 1);
    CHECK_EQ(told_before_the_end("kw zz123456zz\n", " kw zz654321zz"), 1);
    CHECK_EQ(whole.count, 2);
    /* One that requires another, and one that gives way, wait. */
    CHECK_EQ(told_before_the_end("left-1234\nright-1234\n", ""), 0);
    CHECK_EQ(whole.count, 1);
    CHECK_EQ(told_before_the_end("password=a1b2c3d4\n", ""), 0);
    CHECK_EQ(whole.count, 1);
    CHECK_EQ(told_before_the_end("password=" TOKEN "\n", ""), 1);
    CHECK_EQ(whole.count, 1);
    CHECK_STR(whole.items[0].rule->id, "token");
    /* An object that was dropped leaves nothing behind. */
    struct weir__object object = {.path = "a"};
    CHECK_EQ(weir__scanner_begin(scanner, &object), 0);
    CHECK_EQ(weir__scanner_feed(scanner, TOKEN, strlen(TOKEN)), 0);
    CHECK_EQ(told_before_the_end("12Q34\n", ""), 1);
    CHECK_EQ(whole.count, 1);
    help_stop();
}

/* --- near --- */

static size_t count_of(const char *text)
{
    scan(&whole, 0, 0, text, strlen(text), NULL, NULL);
    return whole.count;
}

TEST(what_is_required_must_be_near)
{
    start_with("[[rules]]\nid = 'a'\nregex = 'aaa[0-9]'\n"
               "[[rules.required]]\nid = 'b'\nwithinLines = 1\n"
               "[[rules]]\nid = 'b'\nregex = 'bbb[0-9]'\nskipReport = true\n"
               "[[rules]]\nid = 'c'\nregex = 'ccc[0-9]'\n"
               "[[rules.required]]\nid = 'b'\nwithinColumns = 8\n"
               "[[rules]]\nid = 'd'\nregex = 'ddd[0-9]'\n"
               "[[rules.required]]\nid = 'b'\n"
               "[[rules.required]]\nid = 'd'\n"
               "[[rules]]\nid = 'e'\nregex = 'eee[0-9]'\n"
               "[[rules.required]]\nid = 'b'\nwithinLines = 1\nwithinColumns = 2\n",
               NULL);
    CHECK_EQ(count_of("aaa1\nbbb1"), 1);
    CHECK_EQ(count_of("bbb1\naaa1"), 1);
    CHECK_EQ(count_of("aaa1\n\nbbb1"), 0);
    CHECK_EQ(count_of("bbb1\n\n\naaa1\n\n\nbbb1"), 0);
    CHECK_EQ(count_of("ccc1    bbb1"), 1);
    CHECK_EQ(count_of("ccc1     bbb1"), 0);
    CHECK_EQ(count_of("bbb1    ccc1"), 1);
    CHECK_EQ(count_of("bbb1     ccc1"), 0);
    CHECK_EQ(count_of("ccc1\n\n\nbbb1"), 1); /* columns of any line */
    CHECK_EQ(count_of("ccc1\n         bbb1"), 0);
    CHECK_EQ(count_of("         ccc1\nbbb1\nbbb1               bbb1\n bbb1"), 1);
    CHECK_EQ(count_of("   eee1\n bbb1"), 1);
    CHECK_EQ(count_of("   eee1\nbbb1      bbb1"), 0);
    CHECK_EQ(count_of("bbb1\n     bbb1\n   eee1"), 1);
    CHECK_EQ(count_of("   eee1\n\n   bbb1"), 0);
    CHECK_EQ(count_of("ddd1"), 0);
    CHECK_EQ(count_of("ddd1 bbb1"), 0); /* it is not another one */
    CHECK_EQ(count_of("ddd1\n\n\n\nddd2 bbb1"), 2);
    help_stop();
}

/* --- cached --- */

static struct {
    char *bytes;
    size_t length;
    unsigned puts;
} kept;

static int get_kept(void *arg, const char *key, char **ret_bytes, size_t *ret_length)
{
    (void)arg, (void)key;
    if (!kept.bytes)
        return -WEIR_E_NOT_FOUND;
    *ret_bytes = weir__base_alloc(1, kept.length);
    CHECK(*ret_bytes);
    memcpy(*ret_bytes, kept.bytes, kept.length);
    *ret_length = kept.length;
    return 0;
}

static void put_kept(void *arg, const char *key, const char *bytes, size_t length)
{
    (void)arg, (void)key;
    weir__base_free(kept.bytes);
    kept.bytes = weir__base_alloc(1, length);
    CHECK(kept.bytes);
    memcpy(kept.bytes, bytes, length);
    kept.length = length;
    kept.puts++;
}

static const struct weir__engine_cache cache = {.get = get_kept, .put = put_kept};

TEST(a_cached_engine_finds_the_same)
{
    static char text[14000];
    size_t length = make_dense(text, sizeof(text), true);
    for (int round = 0; round < 2; round++) {
        start_with(HELP_ALLOW HELP_RULES, &cache);
        CHECK(weir__engine_is_cached(engine) == (round == 1));
        scan(round ? &other : &whole, 3, 0, text, length, NULL, NULL);
        help_stop();
    }
    CHECK_EQ(kept.puts, 1);
    CHECK_EQ(other.count, whole.count);
    for (size_t i = 0; i < whole.count; i++)
        other.items[i].rule = whole.items[i].rule; /* those of two sets */
    same_check("cached", 0, 0);
    weir__base_free(kept.bytes);
    kept.bytes = NULL;
}

/* Whatever was altered is not used: every byte of the beginning, some of the rest, and any cut. */
TEST(a_cache_that_was_altered_is_not_used)
{
    start_with(HELP_ALLOW HELP_RULES, &cache);
    help_stop();
    size_t length = kept.length;
    for (size_t at = 0; at < length; at += at < 64 ? 7 : length / 9) {
        kept.bytes[at] ^= 1;
        start_with(HELP_ALLOW HELP_RULES, &cache);
        CHECK(!weir__engine_is_cached(engine));
        help_stop();
        CHECK_EQ(kept.length, length); /* put anew */
    }
    for (size_t cut = 0; cut < length; cut = cut * 5 + 1) {
        kept.length = cut;
        start_with(HELP_ALLOW HELP_RULES, &cache);
        CHECK(!weir__engine_is_cached(engine));
        help_stop();
    }
    weir__base_free(kept.bytes);
    kept.bytes = NULL;
}

TAP_MAIN()
