/* decode_wide.c - stretches of UTF-16 and UTF-32.
 *
 * Without a byte order mark: units of ASCII text, and of the alphabets and signs that stand beside
 * it in European texts; everything else is as likely two bytes of something that is no text. With
 * a mark before it: whatever Unicode allows, up to another mark or to where it is ASCII in the
 * other order (two bytes may look like a mark, and text may be cut in the middle of a unit). In
 * both cases WEIR__WIDE_LEAST units at least, of which WEIR__TEXT_UNITS in a row are ASCII: without
 * that, nothing in it is a secret that could be matched.
 *
 * UTF-32 is what has three NULs between the letters, with a mark or without: text that was made
 * UTF-16 twice is the same. All of it is likely as above.
 */
#include "decode_part.h"

#include "banned.h"

#define UNIT_BESIDE 4u /* bytes beside what is text that are looked at */
/* Bytes behind it, with those that the survey sees before it points at the last of it. */
#define UNITS_AHEAD (UNIT_BESIDE + 2u * WEIR__TEXT_UNITS)
#define QUADS_AHEAD (UNIT_BESIDE + 4u * WEIR__TEXT_UNITS)

static uint32_t unit_at(enum weir__encoding encoding, const char *source, size_t at)
{
    uint32_t first = (uint8_t)source[at], second = (uint8_t)source[at + 1];
    return encoding == WEIR__UTF16LE ? first | second << 8 : first << 8 | second;
}

static bool is_ascii(uint32_t unit)
{
    return unit < 0x80 && weir__decode_is((char)unit, WEIR__IS_TEXT);
}

static bool is_likely(uint32_t unit)
{
    return is_ascii(unit) || (unit >= 0xa0 && unit < 0x250) || (unit >= 0x370 && unit < 0x590) ||
           (unit >= 0x2000 && unit < 0x2045) || unit == 0x20ac;
}

/* Bytes of what Unicode allows in a text; 0: nothing. */
static size_t possible(enum weir__encoding encoding, const char *source, size_t at, size_t length)
{
    uint32_t unit = unit_at(encoding, source, at);
    if (unit < 0xa0)
        return is_ascii(unit) ? 2 : 0;
    if (unit >= 0xd800 && unit < 0xdc00)
        return length - at >= 4 && unit_at(encoding, source, at + 2) >> 10 == 0x37 ? 4 : 0;
    bool is_none = (unit >= 0xdc00 && unit < 0xe000) || (unit >= 0xfdd0 && unit < 0xfdf0) ||
                   unit == 0xfeff || unit >= 0xfffe;
    return is_none ? 0 : 2;
}

static size_t utf8_length(uint32_t unit)
{
    /* Half of a pair is half of four bytes. */
    return unit < 0x80 ? 1 : unit < 0x800 || (unit >= 0xd800 && unit < 0xe000) ? 2 : 3;
}

static void keep(struct weir__decode_work *work, enum weir__encoding encoding, size_t from,
                 size_t until)
{
    struct weir__decoded run = {.encoding = encoding, .from = from, .until = until};
    for (size_t at = from; at < until; at += 2)
        run.out_until += utf8_length(unit_at(encoding, work->source, at));
    weir__decode_keep(work, &run);
}

/* What is ASCII in one order is so in the other, a byte further on. */
static void pass(struct weir__decode_work *work, size_t until)
{
    size_t *little = &work->done[WEIR__UTF16LE], *big = &work->done[WEIR__UTF16BE];
    *little = until > *little ? until : *little;
    *big = until > *big ? until : *big;
}

struct likely {
    size_t from, until;
    size_t ascii; /* units */
};

static struct likely likely_around(const struct weir__decode_work *work,
                                   enum weir__encoding encoding, size_t at)
{
    struct likely l = {.from = at, .until = at};
    size_t done = work->done[encoding];
    uint32_t unit;
    for (; work->length - l.until >= 2; l.until += 2) {
        if (!is_likely(unit = unit_at(encoding, work->source, l.until)))
            break;
        l.ascii += unit < 0x80;
    }
    for (; l.from >= done + 2; l.from -= 2) {
        if (!is_likely(unit = unit_at(encoding, work->source, l.from - 2)))
            break;
        l.ascii += unit < 0x80;
    }
    return l;
}

static bool is_text_at(const struct weir__decode_work *work, size_t at)
{
    return at < work->length && weir__decode_is(work->source[at], WEIR__IS_TEXT);
}

/* How many ASCII units a stretch has where the one of the other order is. */
static size_t ascii_within(const struct weir__decode_work *work, enum weir__encoding encoding,
                           const struct likely *l, const struct likely *o)
{
    size_t ascii = 0, at = o->from > l->from ? l->from + (o->from - l->from) / 2 * 2 : l->from;
    for (; at < l->until && at < o->until; at += 2)
        ascii += unit_at(encoding, work->source, at) < 0x80;
    return ascii;
}

/* Eight units are seven of the other order as well, a byte further on: it is the one that has more
 * of them. But a letter that stands before all, or behind, is the first letter of one order or the
 * last one of the other, and which of them it belongs to cannot be seen: both are decoded where
 * there is such a one. And what is two texts in one order may be one in the other, which joins them
 * by what is between them: then both are decoded, if in none of the two texts it has more. */
void weir__decode_wide(struct weir__decode_work *work, enum weir__encoding encoding, size_t at)
{
    enum weir__encoding other = encoding == WEIR__UTF16LE ? WEIR__UTF16BE : WEIR__UTF16LE;
    struct likely l, o = {0};
    if (at < work->done[encoding])
        return;
    l = likely_around(work, encoding, at);
    if (work->options->encodings >> other & 1 && at + 1 >= work->done[other])
        o = likely_around(work, other, at + 1);
    if (o.ascii > l.ascii) {
        struct likely less = l;
        l = o;
        o = less;
        other = encoding;
        encoding = encoding == WEIR__UTF16LE ? WEIR__UTF16BE : WEIR__UTF16LE;
    }
    size_t first = o.until > 0 && o.from < l.from ? o.from : l.from;
    weir__decode_looked(work, first > UNIT_BESIDE ? first - UNIT_BESIDE : 0,
                        (o.until > l.until ? o.until : l.until) + UNITS_AHEAD);
    bool is_beside_text = (l.from > 0 && is_text_at(work, l.from - 1)) || is_text_at(work, l.until);
    bool has_other = o.ascii == l.ascii || (o.ascii + 1 >= l.ascii && is_beside_text);
    bool is_joined = !has_other && o.ascii > 0 && ascii_within(work, encoding, &l, &o) <= o.ascii;
    work->done[encoding] = l.until;
    if (l.until - l.from >= (size_t)2 * WEIR__WIDE_LEAST) {
        keep(work, encoding, l.from, l.until);
        if (!is_joined)
            pass(work, l.until);
    }
    if ((has_other || is_joined) && o.until - o.from >= (size_t)2 * WEIR__WIDE_LEAST) {
        keep(work, other, o.from, o.until);
        if (!is_joined)
            pass(work, o.until);
    }
    if (is_joined && o.until > work->done[other])
        work->done[other] = o.until; /* the next text is looked at as well */
}

/* Whether a mark stands across two units: another text begins there. */
static bool is_marked_within(const struct weir__decode_work *work, size_t at)
{
    const uint8_t *bytes = (const uint8_t *)work->source + at;
    return work->length - at >= 4 && (bytes[1] & bytes[2]) == 0xfe && (bytes[1] ^ bytes[2]) == 1;
}

/* Where text ends before that of the other order: half of the sign between them may be the first
 * letter of that. */
static size_t crossed_from(const struct weir__decode_work *work, enum weir__encoding encoding,
                           size_t at, size_t until)
{
    if (until == at || is_ascii(unit_at(encoding, work->source, until - 2)))
        return until;
    until -= 2;
    bool is_pair = until > at && unit_at(encoding, work->source, until) >> 10 == 0x37;
    return is_pair ? until - 2 : until;
}

void weir__decode_marked(struct weir__decode_work *work, enum weir__encoding encoding, size_t at)
{
    size_t until = at, row = 0, longest = 0, crossed = 0, step;
    if (at < work->done[encoding] || at < work->done_mark[encoding])
        return;
    while (work->length - until >= 2 && !is_marked_within(work, until) &&
           (step = possible(encoding, work->source, until, work->length)) > 0) {
        uint32_t unit = unit_at(encoding, work->source, until);
        row = is_ascii(unit) ? row + 1 : 0;
        longest = row > longest ? row : longest;
        crossed = is_ascii(unit >> 8 | (unit & 0xff) << 8) ? crossed + 1 : 0;
        if (crossed == WEIR__TEXT_UNITS) {
            until = crossed_from(work, encoding, at, until - 2 * (crossed - 1));
            break;
        }
        until += step;
    }
    work->done_mark[encoding] = until;
    weir__decode_looked(work, at - 2, until + UNITS_AHEAD);
    if (until - at >= (size_t)2 * WEIR__WIDE_LEAST && longest >= WEIR__TEXT_UNITS) {
        keep(work, encoding, at, until);
        pass(work, until);
    }
}

/* UTF-32. */

static uint32_t quad_at(bool is_big, const char *source, size_t at)
{
    uint32_t code = 0;
    for (size_t i = 0; i < 4; i++)
        code = code << 8 | (uint8_t)source[at + (is_big ? i : 3 - i)];
    return code;
}

static struct likely quads_around(const struct weir__decode_work *work, bool is_big, size_t at)
{
    struct likely l = {.from = at, .until = at};
    uint32_t unit;
    for (; work->length - l.until >= 4; l.until += 4) {
        if (!is_likely(unit = quad_at(is_big, work->source, l.until)))
            break;
        l.ascii += unit < 0x80;
    }
    for (; l.from >= work->done[WEIR__UTF32LE] + 4; l.from -= 4) {
        if (!is_likely(unit = quad_at(is_big, work->source, l.from - 4)))
            break;
        l.ascii += unit < 0x80;
    }
    return l;
}

static void offer_quads(struct weir__decode_work *work, bool is_big, const struct likely *l)
{
    enum weir__encoding encoding = is_big ? WEIR__UTF32BE : WEIR__UTF32LE;
    size_t *done = &work->done[WEIR__UTF32LE];
    *done = l->until > *done ? l->until : *done;
    if (l->until - l->from >= (size_t)4 * WEIR__WIDE_LEAST &&
        work->options->encodings >> encoding & 1)
        weir__decode_offer(work, &(struct weir__decoded){
                                     .encoding = encoding, .from = l->from, .until = l->until});
}

/* The NULs of the first letter are behind it, or before it: in the order that has more of them; if
 * that is neither, in both. */
void weir__decode_quads(struct weir__decode_work *work, size_t at)
{
    if (at < work->done[WEIR__UTF32LE])
        return;
    struct likely little = quads_around(work, false, at);
    /* The letter may be the half of a sign that is no text: then the next one is the first. */
    bool has_first =
        at >= work->done[WEIR__UTF32LE] + 3 && is_likely(quad_at(true, work->source, at - 3));
    struct likely big = quads_around(work, true, has_first ? at - 3 : at + 1);
    size_t first = big.from < little.from ? big.from : little.from;
    weir__decode_looked(work, first > UNIT_BESIDE ? first - UNIT_BESIDE : 0,
                        (big.until > little.until ? big.until : little.until) + QUADS_AHEAD);
    if (big.ascii >= little.ascii)
        offer_quads(work, true, &big);
    if (little.ascii >= big.ascii)
        offer_quads(work, false, &little);
}
