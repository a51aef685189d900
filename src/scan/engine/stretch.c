/* stretch.c - stretches of token bytes, in expressions and in texts. */
#include "stretch.h"

#include <string.h>

#include "classes.h"
#include "decode_mask.h"

#include "banned.h"

/* --- in expressions --- */

static unsigned capped(unsigned count)
{
    return count < WEIR__STRETCH_LONG ? count : WEIR__STRETCH_LONG;
}

static unsigned larger(unsigned a, unsigned b)
{
    return a > b ? a : b;
}

static unsigned smaller(unsigned a, unsigned b)
{
    return a < b ? a : b;
}

struct weir__row weir__row_nothing(void)
{
    return (struct weir__row){.is_all = true};
}

struct weir__row weir__row_any(void)
{
    return (struct weir__row){0};
}

struct weir__row weir__row_byte(bool is_token)
{
    return (struct weir__row){1, is_token, is_token, is_token, is_token};
}

struct weir__row weir__row_join(struct weir__row a, struct weir__row b)
{
    return (struct weir__row){
        .least = capped(a.least + b.least),
        .head = a.is_all ? capped(a.least + b.head) : a.head,
        .tail = b.is_all ? capped(a.tail + b.least) : b.tail,
        .longest = larger(capped(a.tail + b.head), larger(a.longest, b.longest)),
        .is_all = a.is_all && b.is_all,
    };
}

struct weir__row weir__row_either(struct weir__row a, struct weir__row b)
{
    return (struct weir__row){
        .least = smaller(a.least, b.least),
        .head = smaller(a.head, b.head),
        .tail = smaller(a.tail, b.tail),
        .longest = smaller(a.longest, b.longest),
        .is_all = a.is_all && b.is_all,
    };
}

struct weir__row weir__row_repeat(struct weir__row a, unsigned least, unsigned most)
{
    struct weir__row all = weir__row_nothing();
    /* More times than there are bytes to count make no difference. */
    for (unsigned i = 0; i < capped(least); i++)
        all = weir__row_join(all, a);
    if (most > least)
        all = weir__row_join(all, (struct weir__row){.is_all = a.is_all});
    return all;
}

/* --- in texts --- */

/* Grains whose bits are found out at once. */
#define BATCH 64u

/* Of the grains from this one on, at most so many, BATCH or less, and as far as the text goes.
 * Returns how many. */
static size_t find_bits(const char *text, size_t length, size_t grain, size_t most,
                        uint64_t bits[BATCH])
{
    const struct weir__classifier *classifier = weir__classifier();
    size_t at = grain * WEIR__GRAIN, whole = (length - at) / WEIR__GRAIN;
    if (whole >= most) {
        classifier->token_bits(text + at, most, bits);
        return most;
    }
    char last[WEIR__GRAIN] = {0};
    at += whole * WEIR__GRAIN;
    memcpy(last, text + at, length - at);
    classifier->token_bits(text + at - whole * WEIR__GRAIN, whole, bits);
    classifier->token_bits(last, 1, bits + whole);
    return whole + 1;
}

/* Whether sixteen of the block in a row, from a multiple of sixteen on, are token bytes. */
static bool has_lane(uint64_t bits)
{
    const uint64_t ones = UINT64_C(0x0001000100010001);
    return ((~bits - ones) & bits & ones << 15) != 0;
}

/* Of which of so many blocks that is so. */
static uint64_t lanes_of(const uint64_t *bits, size_t count)
{
    uint64_t lanes = 0;
    for (size_t i = 0; i < count; i++)
        lanes |= (uint64_t)has_lane(bits[i]) << i;
    return lanes;
}

/* So many bytes in a row have such a lane in them, wherever they begin. */
_Static_assert(WEIR__STRETCH_MIN >= 31, "no stretch is without a lane");

/* Where a stretch of each kind ends in the second of two blocks. */
static void stretch_ends(uint64_t before, uint64_t bits, uint64_t ret_ends[WEIR__NEAR_KINDS])
{
    struct weir__bits2 b = {before, bits};
    unsigned count = 1; /* in a row so far */
    for (; 2 * count <= WEIR__STRETCH_MIN; count *= 2)
        b = weir__bits2_and(b, count);
    if (count < WEIR__STRETCH_MIN)
        b = weir__bits2_and(b, WEIR__STRETCH_MIN - count);
    ret_ends[WEIR__NEAR_ANY] = b.bits;
    ret_ends[WEIR__NEAR_LONG] = weir__bits2_and(b, WEIR__STRETCH_LONG - WEIR__STRETCH_MIN).bits;
}
_Static_assert(WEIR__STRETCH_LONG > WEIR__STRETCH_MIN &&
                   WEIR__STRETCH_LONG <= 2 * WEIR__STRETCH_MIN && WEIR__STRETCH_LONG <= 64,
               "a long one is two of the others, and ends in the block behind its beginning");

/* The grains around this one: at most so many that they are in two words. */
static void mark(struct weir__near *near, enum weir__near_kind kind, size_t grain)
{
    size_t least = grain > WEIR__GRAINS_AROUND ? grain - WEIR__GRAINS_AROUND : 0;
    size_t end = grain + WEIR__GRAINS_AROUND + 1, last = near->first + near->words * 64;
    least = least > near->first ? least : near->first;
    end = end < last ? end : last;
    if (least >= end)
        return;
    uint64_t row = (UINT64_C(1) << (end - least)) - 1;
    uint64_t *words = &near->grains[kind][(least - near->first) / 64];
    unsigned shift = (least - near->first) % 64;
    words[0] |= row << shift;
    if (shift + (end - least) > 64)
        words[1] |= row >> (64 - shift);
}
_Static_assert(2 * WEIR__GRAINS_AROUND + 1 < 64, "they are in two words");

/* What ends at one of these places of a grain. */
static void mark_all(struct weir__near *near, enum weir__near_kind kind, size_t grain,
                     uint64_t ends, unsigned length)
{
    if (ends == 0)
        return;
    mark(near, kind, grain);
    if (grain > 0 && (unsigned)__builtin_ctzll(ends) < length - 1)
        mark(near, kind, grain - 1); /* where it begins */
}

void weir__near_find(struct weir__near *near, const char *text, size_t length, size_t from,
                     size_t until)
{
    near->first = from / WEIR__GRAIN;
    near->from = from;
    near->until = until;
    near->words = (until / WEIR__GRAIN - near->first) / 64 + 1;
    for (unsigned kind = 0; kind < WEIR__NEAR_KINDS; kind++)
        memset(near->grains[kind], 0, near->words * sizeof(near->grains[kind][0]));
    /* A stretch that is near has its end so far before at most, and so far behind. */
    size_t around = WEIR__GRAINS_AROUND + 1;
    size_t grain = near->first > around ? near->first - around : 0;
    size_t end = (until + WEIR__GRAIN - 1) / WEIR__GRAIN + around;
    size_t grains = (length + WEIR__GRAIN - 1) / WEIR__GRAIN;
    uint64_t bits[BATCH], before = 0;
    end = end < grains ? end : grains;
    bool had_lane = false;
    for (size_t first = grain > 0 ? grain - 1 : 0, count; first < end; first += count) {
        count = find_bits(text, length, first, end - first < BATCH ? end - first : BATCH, bits);
        uint64_t lanes = lanes_of(bits, count), asked = lanes | lanes << 1 | had_lane;
        if (count < BATCH)
            asked &= (UINT64_C(1) << count) - 1;
        for (; asked; asked &= asked - 1) {
            size_t i = (unsigned)__builtin_ctzll(asked);
            uint64_t ends[WEIR__NEAR_KINDS];
            if (first + i < grain)
                continue; /* it is there for what is behind it */
            stretch_ends(i > 0 ? bits[i - 1] : before, bits[i], ends);
            mark_all(near, WEIR__NEAR_ANY, first + i, ends[WEIR__NEAR_ANY], WEIR__STRETCH_MIN);
            mark_all(near, WEIR__NEAR_LONG, first + i, ends[WEIR__NEAR_LONG], WEIR__STRETCH_LONG);
        }
        had_lane = lanes >> (count - 1) & 1;
        before = bits[count - 1];
    }
}

/* The first grain from this one on that is marked, or is not. */
static size_t next_grain(const struct weir__near *near, enum weir__near_kind kind, size_t grain,
                         bool is_marked)
{
    size_t at = grain - near->first;
    while (at < near->words * 64) {
        uint64_t word = near->grains[kind][at / 64];
        word = (is_marked ? word : ~word) >> at % 64;
        if (word)
            return near->first + at + (unsigned)__builtin_ctzll(word);
        at = (at / 64 + 1) * 64;
    }
    return near->first + at;
}

bool weir__near_next(const struct weir__near *near, enum weir__near_kind kind, size_t at,
                     size_t *ret_from, size_t *ret_until)
{
    if (at < near->from)
        at = near->from;
    if (at >= near->until)
        return false;
    size_t first = next_grain(near, kind, at / WEIR__GRAIN, true);
    size_t from = first * WEIR__GRAIN;
    if (from >= near->until)
        return false;
    size_t until = next_grain(near, kind, first, false) * WEIR__GRAIN;
    *ret_from = from > at ? from : at;
    *ret_until = until < near->until ? until : near->until;
    return true;
}
