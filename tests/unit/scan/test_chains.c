/* test_chains.c - any chain of encodings, anywhere in an object, is undone: one finding, with the
 * secret, its place and the chain. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "decode_help.h"
#include "engine_help.h"
#include "scanner_help.h"
#include "tap.h"

#define MIB (1u << 20)

static struct hits whole;

static void take(void *arg, const struct weir__finding *finding)
{
    (void)arg;
    hits_take(&whole, finding);
}

static void start(void)
{
    help_start(HELP_ALLOW HELP_RULES, strlen(HELP_ALLOW HELP_RULES), NULL, take);
}

static void scan(uint64_t skipped, const char *bytes, size_t length)
{
    struct weir__object object = {.path = "a", .decode_depth = 3};
    CHECK_EQ(hits_scan(&whole, scanner, &object, skipped, bytes, length, NULL, NULL), 0);
}

static uint64_t chance_state;

static uint32_t chance(uint32_t below)
{
    chance_state = chance_state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(chance_state >> 33) % below;
}

static size_t put(char *text, size_t at, const char *piece)
{
    memcpy(text + at, piece, strlen(piece));
    return at + strlen(piece);
}

/* Each of them writes all bytes, or only the escapable ones; other ways to write what is above. */
enum {
    WHOLE_BASE64,
    WHOLE_BASE64_URL,
    IN_LINES,
    JOINED,
    WHOLE_HEX,
    HEX_APART,
    HEX_COLONS,
    HEX_ARRAY,
    DECIMAL_ARRAY,
    SOME_PERCENT,
    ALL_PERCENT,
    SOME_UNICODE,
    ALL_UNICODE,
    SOME_OCTAL,
    SOME_ENTITIES,
    WIDE,
    WIDE_BIG,
    QUADS,
    QUADS_BIG,
    WAYS
};

static const enum weir__encoding way_kinds[WAYS] = {
    [WHOLE_BASE64] = WEIR__BASE64,    [WHOLE_BASE64_URL] = WEIR__BASE64,
    [IN_LINES] = WEIR__BASE64,        [JOINED] = WEIR__BASE64,
    [WHOLE_HEX] = WEIR__HEX,          [HEX_APART] = WEIR__HEX_LIST,
    [HEX_COLONS] = WEIR__HEX_LIST,    [HEX_ARRAY] = WEIR__HEX_LIST,
    [DECIMAL_ARRAY] = WEIR__DECIMALS, [SOME_PERCENT] = WEIR__PERCENT,
    [ALL_PERCENT] = WEIR__PERCENT,    [SOME_UNICODE] = WEIR__ESCAPES,
    [ALL_UNICODE] = WEIR__ESCAPES,    [SOME_OCTAL] = WEIR__ESCAPES,
    [SOME_ENTITIES] = WEIR__ESCAPES,  [WIDE] = WEIR__UTF16LE,
    [WIDE_BIG] = WEIR__UTF16BE,       [QUADS] = WEIR__UTF32LE,
    [QUADS_BIG] = WEIR__UTF32BE,
};

static size_t broken_lines(const char *coded, size_t size, const char *between, char *out)
{
    size_t count = 0, width = 4 * (4 + chance(16));
    for (size_t at = 0; at < size; at++) {
        if (at > 0 && at % width == 0)
            count = put(out, count, between);
        out[count++] = coded[at];
    }
    return count;
}

static size_t write_byte(int way, unsigned byte, char *out)
{
    char text[16] = "";
    switch (way) {
    case HEX_COLONS:
        snprintf(text, sizeof(text), "%02X", byte);
        break;
    case HEX_ARRAY:
        snprintf(text, sizeof(text), "0x%02x", byte);
        break;
    case DECIMAL_ARRAY:
        snprintf(text, sizeof(text), "%u", byte);
        break;
    case SOME_PERCENT:
        snprintf(text, sizeof(text), "%%%02X", byte);
        break;
    case ALL_PERCENT:
        snprintf(text, sizeof(text), "%%%02x", byte);
        break;
    case SOME_UNICODE:
        snprintf(text, sizeof(text), "\\u%04x", byte);
        break;
    case ALL_UNICODE:
        snprintf(text, sizeof(text), "\\x%02X", byte);
        break;
    case SOME_OCTAL:
        snprintf(text, sizeof(text), "\\%03o", byte);
        break;
    case SOME_ENTITIES:
        snprintf(text, sizeof(text), "&#%u;", byte);
        break;
    default:
        snprintf(text, sizeof(text), "%02x", byte);
    }
    return put(out, 0, text);
}

static bool is_partial(int way)
{
    return way == SOME_PERCENT || way == SOME_UNICODE || way == SOME_OCTAL || way == SOME_ENTITIES;
}

static size_t encode_byte(int way, uint8_t byte, bool is_first, bool is_chosen, char *out)
{
    static const char *const between[WAYS] = {
        [HEX_APART] = " ", [HEX_COLONS] = ":", [HEX_ARRAY] = ",\n ", [DECIMAL_ARRAY] = ", "};
    if (is_partial(way) && !is_chosen) {
        out[0] = (char)byte;
        return 1;
    }
    if (way == WIDE || way == WIDE_BIG)
        return encode_wide(byte, way == WIDE_BIG, out);
    if (way == QUADS || way == QUADS_BIG) {
        memset(out, 0, 4);
        out[way == QUADS ? 0 : 3] = (char)byte;
        return 4;
    }
    size_t count = between[way] && !is_first ? put(out, 0, between[way]) : 0;
    return count + write_byte(way, byte, out + count);
}

static size_t encode_way(int way, const char *bytes, size_t length, char *out)
{
    static char coded[1u << 17];
    size_t count = 0;
    if (way <= JOINED) {
        size_t size =
            encode_base64(bytes, length, way == WHOLE_BASE64_URL ? base64_url : base64_standard,
                          way != WHOLE_BASE64_URL, coded);
        const char *joint = way == JOINED ? "\" +\n    \"" : way == IN_LINES ? "\r\n  " : "";
        return broken_lines(coded, size, joint, out);
    }
    size_t chosen = chance((uint32_t)length);
    for (size_t i = 0; i < length; i++) {
        /* One for certain, and what nobody leaves as it is. */
        bool is_chosen = i == chosen || strchr("%\\&\r\n\"", bytes[i]) || chance(10) == 0;
        count += encode_byte(way, (uint8_t)bytes[i], i == 0, is_chosen, out + count);
    }
    return count;
}

/* Bytes of UTF-16 and UTF-32 are no text to those who write texts; and a list that is escaped here
 * and there is taken apart where the next escape is too far. */
static bool is_way_sensible(int outer, int inner)
{
    bool is_list = inner >= HEX_APART && inner <= DECIMAL_ARRAY;
    return (inner < WIDE || outer <= HEX_ARRAY) && !(is_partial(outer) && is_list);
}

/* With NULs at both ends the two orders are the same letters. */
static enum weir__encoding family(enum weir__encoding encoding)
{
    return encoding == WEIR__UTF16BE   ? WEIR__UTF16LE
           : encoding == WEIR__UTF32BE ? WEIR__UTF32LE
                                       : encoding;
}

static void check_chain(const char *token, bool is_alone, unsigned depth)
{
    static char a[1u << 17], b[1u << 17], text[1u << 18];
    int ways[3] = {0};
    char plain[64];
    size_t size = (size_t)snprintf(plain, sizeof(plain), is_alone ? "%s" : "is %s, so", token);
    memcpy(a, plain, size);
    for (unsigned i = depth; i-- > 0;) {
        do
            ways[i] = (int)chance(WAYS);
        while (i + 1 < depth && !is_way_sensible(ways[i], ways[i + 1]));
        size = encode_way(ways[i], a, size, b);
        memcpy(a, b, size);
    }
    bool is_wide = ways[0] >= WIDE;
    size_t before = chance(200), length = before + size + chance(200) + 1;
    memset(text, is_wide ? 0xee : '\n', length);
    memcpy(text + before, a, size);
    uint64_t skipped = chance(2) ? 0 : MIB - before - chance((uint32_t)size);
    scan(skipped, text, length);
    const struct hit *hit = &whole.items[0];
    bool is_right = whole.count == 1 && !whole.problem &&
                    hit->secret == hits_hash(token, strlen(token)) &&
                    hit->encodings_count <= depth && hit->place.offset >= skipped + before &&
                    hit->place.offset + hit->place.length <= skipped + before + size;
    /* Fewer are right where nothing of the secret was escaped. */
    if (is_right && hit->encodings_count == depth)
        for (unsigned i = 0; i < depth; i++)
            is_right &= family(hit->encodings[i]) == family(way_kinds[ways[i]]);
    for (size_t i = 0; !is_right && i < whole.count; i++)
        printf("# %s at %llu, %llu bytes, %zu encodings, secret %zu\n", whole.items[i].rule->id,
               (unsigned long long)whole.items[i].place.offset,
               (unsigned long long)whole.items[i].place.length, whole.items[i].encodings_count,
               whole.items[i].secret_length);
    if (!is_right)
        tap_fail(__FILE__, __LINE__, "%s in %d %d %d, depth %u, skipped %llu: found %zu in '%.*s'",
                 token, ways[0], ways[1], ways[2], depth, (unsigned long long)skipped, whole.count,
                 (int)(size < 3000 ? size : 3000), a);
}

/* A secret by chance: of a rule that is looked for by a literal, or by its expression, which may
 * ask for the end of the text, or for both its ends. */
static void make_token(char token[64], bool *ret_is_alone)
{
    static const char *const shapes[] = {"tok_aaaaaaaaaaaaaaaa", "AAzz0000000000000000000000000000",
                                         "AAAAA-000000-AAAAA", "AAAAA;000000;AAAAA",
                                         "AAA:00000000:AAA"};
    unsigned number = chance(2) ? 0 : chance(5);
    *ret_is_alone = number > 1 || chance(2);
    snprintf(token, 64, "%s", shapes[number]);
    for (size_t k = number == 0 ? 4 : 0; token[k]; k++)
        if (token[k] == 'a')
            token[k] = "abcdefghijklmnopqrstuvwxyz0123456789"[chance(36)];
        else if (token[k] == 'A' || token[k] == 'z')
            token[k] = (char)((token[k] == 'A' ? 'A' : 'a') + (int)chance(26));
        else if (token[k] == '0')
            token[k] = (char)('0' + (int)chance(10));
}

TEST(any_chain_of_encodings_is_undone)
{
    const char *seed = getenv("WEIR_SEED"), *rounds = getenv("WEIR_ROUNDS");
    chance_state = seed ? strtoull(seed, NULL, 10) : 20261116;
    printf("# WEIR_SEED=%llu\n", (unsigned long long)chance_state);
    start();
    for (unsigned i = rounds ? (unsigned)strtoul(rounds, NULL, 10) : 3000; i > 0; i--) {
        char token[64];
        bool is_alone;
        make_token(token, &is_alone);
        check_chain(token, is_alone, 1 + chance(3));
    }
    help_stop();
}

static bool is_found_at(unsigned depth, const char *token, const char *bytes, size_t length)
{
    struct weir__object object = {.path = "a", .decode_depth = depth};
    CHECK_EQ(hits_scan(&whole, scanner, &object, 0, bytes, length, NULL, NULL), 0);
    bool is_found = false;
    for (size_t i = 0; i < whole.count; i++)
        is_found |= whole.items[i].secret == hits_hash(token, strlen(token));
    return is_found;
}

/* Of the escapes beside it, one by chance. */
static void check_depths(const int *ways, unsigned count, bool is_alone)
{
    static const char *const escapes[] = {"%20", "foo%20bar", "\\u0041", "&amp;", "\\x41", "a\\/b"};
    static const char *const between[] = {" ", "\" ", "&", "=\"", "'; "};
    static char a[1u << 17], b[1u << 17];
    const char *escape = escapes[chance(6)], *space = between[chance(5)];
    bool is_before = chance(2);
    char token[64] = "tok_aaaaaaaaaaaaaaaa";
    for (size_t k = 4; token[k]; k++)
        token[k] = "abcdefghijklmnopqrstuvwxyz0123456789"[chance(36)];
    size_t size = (size_t)snprintf(a, sizeof(a), is_alone ? "%s" : "is %s, so", token);
    for (unsigned i = count; i-- > 0;) {
        size = encode_way(ways[i], a, size, b);
        memcpy(a, b, size);
    }
    size_t length = is_before ? put(b, put(b, 0, escape), space) : 0;
    memcpy(b + length, a, size);
    length += size;
    length = is_before ? length : put(b, put(b, length, space), escape);
    length = put(b, length, "\n");
    unsigned found = 0;
    for (unsigned depth = count; depth <= WEIR__DECODE_DEPTH_MAX; depth++) {
        if (is_found_at(depth, token, b, length))
            found = depth;
        else if (found > 0)
            tap_fail(__FILE__, __LINE__, "%d %d %d: found at depth %u, and not at %u: '%.*s'",
                     ways[0], count > 1 ? ways[1] : -1, count > 2 ? ways[2] : -1, found, depth,
                     (int)(length < 3000 ? length : 3000), b);
    }
}

/* Readings of the deeper levels do not take each other's place until none is left. */
TEST(a_greater_depth_never_finds_less)
{
    const char *seed = getenv("WEIR_SEED");
    chance_state = seed ? strtoull(seed, NULL, 10) : 20261116;
    printf("# WEIR_SEED=%llu\n", (unsigned long long)chance_state);
    start();
    int ways[3];
    for (ways[0] = 0; ways[0] < WAYS; ways[0]++) {
        for (unsigned k = 0; k < 20; k++)
            check_depths(ways, 1, k % 2);
        for (ways[1] = 0; ways[1] < WAYS; ways[1]++) {
            if (!is_way_sensible(ways[0], ways[1]))
                continue;
            for (unsigned k = 0; k < 20; k++)
                check_depths(ways, 2, k % 2);
            for (ways[2] = 0; ways[2] < WAYS; ways[2]++)
                if (is_way_sensible(ways[1], ways[2]))
                    check_depths(ways, 3, chance(2));
        }
    }
    help_stop();
}

/* What is plain beside an escape is told as it is, and what holds one as it is meant: once. */
TEST(one_escape_makes_one_finding)
{
    static const struct {
        const char *text, *secret;
        uint64_t offset, length;
        size_t encodings_count;
    } cases[] = {
        {"x%21 tok_abcdef0123456789 ", "tok_abcdef0123456789", 5, 20, 0},
        {"x=tok%5Fabcdef0123456789&y", "tok_abcdef0123456789", 2, 22, 1},
        {"\"tok\\u005fabcdef0123456789\"", "tok_abcdef0123456789", 1, 25, 1},
        {"\"\\x74ok_abcdef012345678\\x39\"", "tok_abcdef0123456789", 1, 26, 1},
        {"\"tok\\\\u005fabcdef0123456789\"", "tok_abcdef0123456789", 1, 26, 1},
        {"<tok&#95;abcdef0123456789>", "tok_abcdef0123456789", 1, 24, 1},
        /* As it is, it matches up to the escape. */
        {"password=a1b2c3d4%5fe5f6", "a1b2c3d4_e5f6", 9, 15, 1},
        {"pass%77ord=a1b2c3d4", "a1b2c3d4", 11, 8, 1},
        {"password%3Da1b2c3d4%26x", "a1b2c3d4", 11, 8, 1},
    };
    start();
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        scan(0, cases[i].text, strlen(cases[i].text));
        if (whole.count != 1 || whole.problem || whole.items[0].place.offset != cases[i].offset ||
            whole.items[0].place.length != cases[i].length ||
            whole.items[0].encodings_count != cases[i].encodings_count ||
            whole.items[0].secret != hits_hash(cases[i].secret, strlen(cases[i].secret)))
            tap_fail(__FILE__, __LINE__, "'%s': %zu findings, at %llu, %llu long, %zu encodings",
                     cases[i].text, whole.count, (unsigned long long)whole.items[0].place.offset,
                     (unsigned long long)whole.items[0].place.length,
                     whole.items[0].encodings_count);
    }
    help_stop();
}

/* A byte between two secrets is less than a group of what they are encoded in: the one that gives
 * way to others does not give way to its neighbour. */
TEST(neighbours_are_told_apart)
{
    static char a[2048], b[2048];
    start();
    for (unsigned depth = 1; depth <= 3; depth++)
        for (int before = 0; before < 24; before++) {
            size_t size = (size_t)snprintf(a, sizeof(a), "%.*s password=a1b2c3d4 %s", before,
                                           "these are some words of no use",
                                           "tok_abcdef0123456789 password=d4e5f6a7");
            for (unsigned i = 0; i < depth; i++) {
                size = encode_base64(a, size, base64_standard, true, b);
                memcpy(a, b, size);
            }
            scan(0, a, size);
            if (whole.count != 3)
                tap_fail(__FILE__, __LINE__, "%zu findings, depth %u, behind %d bytes", whole.count,
                         depth, before);
        }
    help_stop();
}

/* More runs than there is room for at first, in one segment. */
TEST(many_small_runs_are_all_decoded)
{
    enum { LINES = 1500 };
    static char text[LINES * 60];
    char plain[64];
    size_t at = 0;
    start();
    for (unsigned i = 0; i < LINES; i++) {
        snprintf(plain, sizeof(plain), "a tok_%016u b", i);
        at += encode_base64(plain, strlen(plain), base64_url, false, text + at);
        text[at++] = i % 2 ? ' ' : '\t';
    }
    scan(0, text, at);
    CHECK_EQ(whole.count, LINES);
    CHECK(!whole.result.is_decode_truncated);
    help_stop();
}

TAP_MAIN()
