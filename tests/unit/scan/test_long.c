/* Encoded text that goes on over several segments, in one piece: whatever is in it is found once,
 * at its place, also where decoding sets in again in the middle. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "decode_help.h"
#include "engine/engine.h"
#include "scanner_help.h"
#include "tap.h"

#define RULES       "[[rules]]\nid = 'token'\nregex = '\\btok_[a-z0-9]{16}\\b'\n"
#define TOKENS      1500u
#define EVERY       1201u /* bytes from one token to the next; no multiple of a group */
#define PLAIN_SIZE  ((size_t)TOKENS * EVERY)
#define SHORT_SIZE  (PLAIN_SIZE / 2) /* where a byte takes four */
#define LARGEST     8u               /* what a byte takes at most */
#define PLACES_SIZE (TOKENS + 1)

static char *plain, *encoded;
static uint64_t offsets[PLACES_SIZE];
static unsigned found;

static void take(void *arg, const struct weir__finding *finding)
{
    (void)arg;
    CHECK_EQ(finding->encodings_count, 1);
    if (found < PLACES_SIZE)
        offsets[found] = finding->place.offset;
    found++;
}

/* Words of letters, and a token of its own at each place. */
static void make_plain(void)
{
    plain = weir__base_alloc(1, PLAIN_SIZE + 1);
    encoded = weir__base_alloc(LARGEST, PLAIN_SIZE + 1);
    CHECK(plain && encoded);
    for (size_t at = 0; at < PLAIN_SIZE; at++)
        plain[at] = at % 9 == 8 ? ' ' : (char)('a' + random_below(26));
    for (unsigned i = 0; i < TOKENS; i++)
        snprintf(plain + (size_t)i * EVERY + 600, 24, " tok_%016x ", i * 2654435761u);
    for (size_t at = 0; at < PLAIN_SIZE; at++)
        if (plain[at] == '\0')
            plain[at] = ' ';
}

/* Two digits for each byte, with something before and behind them. */
static size_t encode_each(const char *before, const char *behind, size_t length)
{
    size_t count = 0;
    for (size_t i = 0; i < length; i++)
        count += (size_t)snprintf(encoded + count, LARGEST, "%s%02x%s", before,
                                  (unsigned)(unsigned char)plain[i], behind);
    return count;
}

static size_t encode_units(size_t length, size_t unit, bool is_big)
{
    memset(encoded, 0, length * unit);
    for (size_t i = 0; i < length; i++)
        encoded[i * unit + (is_big ? unit - 1 : 0)] = plain[i];
    return length * unit;
}

static int compare_offsets(const void *a, const void *b)
{
    uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;
    return (left > right) - (left < right);
}

/* Each of the first bytes of the plain text is that many thirds of a byte in the encoded one. */
static void check_all(const char *what, size_t length, size_t encoded_length, unsigned thirds)
{
    struct weir__object object = {.path = "a", .decode_depth = 1};
    struct weir__scan_result result;
    size_t wrong = 0;
    found = 0;
    CHECK_EQ(weir__scanner_begin(scanner, &object), 0);
    CHECK_EQ(weir__scanner_feed(scanner, encoded, encoded_length), 0);
    CHECK_EQ(weir__scanner_end(scanner, &result), 0);
    CHECK(!result.is_decode_truncated);
    unsigned wanted = (unsigned)(length / EVERY);
    if (found != wanted)
        tap_fail(__FILE__, __LINE__, "%s: %u found of %u", what, found, wanted);
    qsort(offsets, found < PLACES_SIZE ? found : PLACES_SIZE, sizeof(offsets[0]), compare_offsets);
    for (unsigned i = 0; i < found && i < wanted; i++)
        wrong += offsets[i] != ((uint64_t)i * EVERY + 601) * thirds / 3;
    if (wrong > 0)
        tap_fail(__FILE__, __LINE__, "%s: %zu places are wrong", what, wrong);
}

TEST(what_is_encoded_in_one_piece_is_found_everywhere)
{
    make_plain();
    help_start(RULES, strlen(RULES), NULL, take);
    for (unsigned before = 0; before < 3; before++) { /* places of the group */
        size_t length =
            encode_base64(plain + before, PLAIN_SIZE - before, base64_standard, true, encoded);
        struct weir__object object = {.path = "a", .decode_depth = 1};
        found = 0;
        CHECK_EQ(weir__scanner_begin(scanner, &object), 0);
        CHECK_EQ(weir__scanner_feed(scanner, encoded, length), 0);
        CHECK_EQ(weir__scanner_end(scanner, NULL), 0);
        CHECK_EQ(found, TOKENS);
    }
    check_all("base64", PLAIN_SIZE, encode_base64(plain, PLAIN_SIZE, base64_url, false, encoded),
              4);
    check_all("hex", PLAIN_SIZE, encode_each("", "", PLAIN_SIZE), 6);
    check_all("percent", PLAIN_SIZE, encode_each("%", "", PLAIN_SIZE), 9);
    check_all("escapes", SHORT_SIZE, encode_each("\\x", "", SHORT_SIZE), 12);
    check_all("numbers", SHORT_SIZE, encode_each("0x", ",", SHORT_SIZE), 15);
    check_all("utf-16le", PLAIN_SIZE, encode_units(PLAIN_SIZE, 2, false), 6);
    check_all("utf-16be", PLAIN_SIZE, encode_units(PLAIN_SIZE, 2, true), 6);
    check_all("utf-32le", SHORT_SIZE, encode_units(SHORT_SIZE, 4, false), 12);
    help_stop();
    weir__base_free(plain);
    weir__base_free(encoded);
}

TAP_MAIN()
