/* decode_wide.c - stretches of UTF-16.
 *
 * Without a byte order mark: units of ASCII text, and of the alphabets and signs that stand beside
 * it in European texts; everything else is as likely two bytes of something that is no text. With
 * a mark before it: whatever Unicode allows, up to where it is ASCII in the other order (two bytes
 * may look like a mark, and text may be cut in the middle of a unit). In both cases
 * WEIR__WIDE_LEAST units at least, of which WEIR__TEXT_UNITS in a row are ASCII: without that,
 * nothing in it is a secret that could be matched.
 */
#include "decode_part.h"

#include "banned.h"

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
           (unit >= 0x2010 && unit < 0x2045) || unit == 0x20ac;
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
    /* What is ASCII in one order is so in the other, a byte further on. */
    work->done[WEIR__UTF16LE] = until;
    work->done[WEIR__UTF16BE] = until;
    weir__decode_keep(work, &run);
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

/* Eight units are seven of the other order as well: it is the one that has more of them, or that
 * begins where units mostly do. */
void weir__decode_wide(struct weir__decode_work *work, enum weir__encoding encoding, size_t at)
{
    enum weir__encoding other = encoding == WEIR__UTF16LE ? WEIR__UTF16BE : WEIR__UTF16LE;
    if (at < work->done[encoding])
        return;
    struct likely l = likely_around(work, encoding, at);
    if (work->options->encodings >> other & 1 && at + 1 >= work->done[other]) {
        struct likely o = likely_around(work, other, at + 1);
        if (o.ascii > l.ascii || (o.ascii == l.ascii && o.from % 2 == 0)) {
            l = o;
            encoding = other;
        }
    }
    work->done[encoding] = l.until;
    if (l.until - l.from >= (size_t)2 * WEIR__WIDE_LEAST)
        keep(work, encoding, l.from, l.until);
}

void weir__decode_marked(struct weir__decode_work *work, enum weir__encoding encoding, size_t at)
{
    size_t until = at, row = 0, longest = 0, crossed = 0, units = 0, step;
    if (at < work->done[encoding] || at < work->done_mark[encoding])
        return;
    while (work->length - until >= 2 &&
           (step = possible(encoding, work->source, until, work->length)) > 0) {
        uint32_t unit = unit_at(encoding, work->source, until);
        row = is_ascii(unit) ? row + 1 : 0;
        longest = row > longest ? row : longest;
        crossed = is_ascii(unit >> 8 | (unit & 0xff) << 8) ? crossed + 1 : 0;
        if (crossed == WEIR__TEXT_UNITS) {
            until -= 2 * (crossed - 1);
            units -= crossed - 1;
            break;
        }
        until += step;
        units++;
    }
    work->done_mark[encoding] = until;
    if (units >= WEIR__WIDE_LEAST && longest >= WEIR__TEXT_UNITS)
        keep(work, encoding, at, until);
}
