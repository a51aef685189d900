/* decode.c - the survey in blocks of 64 bytes, and the list of runs.
 *
 * Nearly all bytes are not encoded, and finding that out is what is paid for every byte of every
 * object. So the survey looks at a block as a whole, and only for what every run must have:
 *
 *     base64        four characters, each the fourth from the last, that have a value below 32, as
 *                   the first of a group has when it begins with ASCII
 *     hexadecimal   a digit at every 32nd byte, and 8 and 16 bytes from it
 *     escapes       the bytes that they begin with
 *     UTF-16        a NUL or a byte of the mark; then 8 ASCII units in a row, or the whole mark
 *
 * Patterns end in the block that is looked at; what they need of the block before is kept as bits
 * or computed again.
 */
#include "decode_part.h"

#include <string.h>

#include "decode_mask.h"

#include "banned.h"

static const char *const names[WEIR__ENCODINGS] = {
    [WEIR__BASE64] = "base64",   [WEIR__HEX] = "hex",          [WEIR__PERCENT] = "percent",
    [WEIR__ESCAPES] = "unicode", [WEIR__UTF16LE] = "utf-16le", [WEIR__UTF16BE] = "utf-16be",
};

const char *weir__encoding_name(enum weir__encoding encoding)
{
    return names[encoding];
}

/* Keeping. */

static void append(struct weir__decode_work *work, struct weir__decoded *run)
{
    struct weir__decode_reader reader;
    char piece[WEIR__DECODE_PIECE];
    size_t bytes = run->out_until, step = bytes / (WEIR__DECODED_MARKS + 1) + 1, done = 0,
           marks = 0;
    size_t from = weir__buffer_length(work->out);
    /* Nothing can fail: the room was reserved. */
    int error = 0;
    weir__decode_reader_init(&reader, work->source, run);
    for (size_t count; (count = weir__decode_read(&reader, piece)) > 0;) {
        error |= weir__buffer_append(work->out, piece, count);
        done += count;
        bool has_units = run->encoding != WEIR__BASE64 && run->encoding != WEIR__HEX;
        if (has_units && done >= (marks + 1) * step && marks < WEIR__DECODED_MARKS &&
            reader.at - run->from <= UINT32_MAX && done <= UINT32_MAX) {
            run->_marks[marks++] = (struct weir__decoded_mark){
                .source = (uint32_t)(reader.at - run->from), .out = (uint32_t)done};
            while (done >= (marks + 1) * step && marks < WEIR__DECODED_MARKS) {
                run->_marks[marks] = run->_marks[marks - 1];
                marks++;
            }
        }
    }
    error |= weir__buffer_putc(work->out, '\0');
    (void)error;
    run->out_from = from;
    run->out_until = from + bytes;
}

void weir__decode_keep(struct weir__decode_work *work, const struct weir__decoded *run)
{
    if (work->runs_count >= work->options->runs_max ||
        weir__buffer_reserve(work->out, run->out_until + 1) < 0) {
        work->is_truncated = true;
        return;
    }
    struct weir__decoded *kept = &work->runs[work->runs_count++];
    *kept = *run;
    append(work, kept);
}

/* Where a class holds at a place and at every second before it, eight times altogether. */
static uint64_t eight(struct weir__bits2 bits)
{
    return weir__bits2_and(weir__bits2_and(weir__bits2_and(bits, 2), 4), 8).bits;
}

/* What is known of decoded bytes while they go by in blocks. */
struct text {
    struct weir__bits2 text, nul;
    bool has_least, has_least_long, has_units;
};

static void text_block(struct text *text, const char *bytes)
{
    struct weir__block block = weir__block_load(bytes);
    struct weir__bits2 *t = &text->text, *n = &text->nul;
    *t = (struct weir__bits2){t->bits, WEIR__BLOCK_BITS(&block, weir__v16_text)};
    *n = (struct weir__bits2){n->bits, WEIR__BLOCK_BITS(&block, weir__v16_nul)};
    struct weir__bits2 row = weir__bits2_and(weir__bits2_and(weir__bits2_and(*t, 1), 2), 4);
    struct weir__bits2 little = {n->before & t->before << 1,
                                 n->bits & weir__bits_back(t->before, t->bits, 1)};
    struct weir__bits2 big = {t->before & n->before << 1,
                              t->bits & weir__bits_back(n->before, n->bits, 1)};
    text->has_least |= weir__bits2_and(row, 4).bits != 0;
    text->has_least_long |= weir__bits2_and(row, 8).bits != 0;
    text->has_units |= (eight(little) | eight(big)) != 0;
}

_Static_assert(WEIR__TEXT_LEAST == 8 + 4 && WEIR__TEXT_LEAST_LONG == 8 + 8 && WEIR__TEXT_UNITS == 8,
               "rows are found by doubling");

/* Whether it is text; and for escapes, how many bytes it has. */
static bool is_text(const struct weir__decode_work *work, struct weir__decoded *run)
{
    struct weir__decode_reader reader;
    char piece[WEIR__BLOCK + WEIR__DECODE_PIECE];
    struct text text = {.text = {0}};
    size_t bytes = 0, held = 0;
    weir__decode_reader_init(&reader, work->source, run);
    for (size_t count; (count = weir__decode_read(&reader, piece + held)) > 0; bytes += count) {
        size_t at = 0;
        for (held += count; held - at >= WEIR__BLOCK; at += WEIR__BLOCK)
            text_block(&text, piece + at);
        held -= at;
        memmove(piece, piece + at, held);
    }
    memset(piece + held, 1, WEIR__BLOCK - held); /* neither text nor NUL */
    text_block(&text, piece);
    run->out_until = bytes;
    if (bytes < WEIR__TEXT_LEAST)
        return bytes > 0 && text.text.bits == (UINT64_C(1) << bytes) - 1;
    return text.has_units || (bytes < WEIR__TEXT_LONG ? text.has_least : text.has_least_long);
}

bool weir__decode_offer(struct weir__decode_work *work, const struct weir__decoded *run)
{
    struct weir__decoded measured = *run;
    if (!is_text(work, &measured))
        return false;
    weir__decode_keep(work, &measured);
    return true;
}

/* The survey. */

static bool wants(const struct weir__decode_work *work, enum weir__encoding encoding)
{
    return work->options->encodings >> encoding & 1;
}

static void survey_marks(struct weir__decode_work *work, const struct weir__block *block, size_t at)
{
    uint8_t before = at > 0 ? (uint8_t)work->source[at - 1] : 0;
    uint64_t ff = WEIR__BLOCK_BITS(block, weir__v16_ff), fe = WEIR__BLOCK_BITS(block, weir__v16_fe);
    uint64_t little = fe & (ff << 1 | (before == 0xff)), big = ff & (fe << 1 | (before == 0xfe));
    for (; little && wants(work, WEIR__UTF16LE); little &= little - 1)
        weir__decode_marked(work, WEIR__UTF16LE, at + (unsigned)__builtin_ctzll(little) + 1);
    for (; big && wants(work, WEIR__UTF16BE); big &= big - 1)
        weir__decode_marked(work, WEIR__UTF16BE, at + (unsigned)__builtin_ctzll(big) + 1);
}

static void survey_wide(struct weir__decode_work *work, const struct weir__block *block, size_t at)
{
    struct weir__bits2 nul = {.bits = WEIR__BLOCK_BITS(block, weir__v16_nul)};
    struct weir__bits2 text = {.bits = WEIR__BLOCK_BITS(block, weir__v16_text)};
    survey_marks(work, block, at);
    if (at > 0) {
        struct weir__block last = weir__block_load(work->source + at - WEIR__BLOCK);
        nul.before = WEIR__BLOCK_BITS(&last, weir__v16_nul);
        text.before = WEIR__BLOCK_BITS(&last, weir__v16_text);
    }
    /* A unit ends with its NUL, or with its text; eight of them end at the bit. */
    struct weir__bits2 little = {nul.before & text.before << 1,
                                 nul.bits & weir__bits_back(text.before, text.bits, 1)};
    struct weir__bits2 big = {text.before & nul.before << 1,
                              text.bits & weir__bits_back(nul.before, nul.bits, 1)};
    size_t back = (size_t)2 * WEIR__TEXT_UNITS - 1;
    for (uint64_t hits = eight(little); hits && wants(work, WEIR__UTF16LE); hits &= hits - 1)
        weir__decode_wide(work, WEIR__UTF16LE, at + (unsigned)__builtin_ctzll(hits) - back);
    for (uint64_t hits = eight(big); hits && wants(work, WEIR__UTF16BE); hits &= hits - 1)
        weir__decode_wide(work, WEIR__UTF16BE, at + (unsigned)__builtin_ctzll(hits) - back);
}

static void survey_escapes(struct weir__decode_work *work, const struct weir__block *block,
                           size_t at)
{
    uint64_t hits = WEIR__BLOCK_BITS(block, weir__v16_escape);
    for (; hits; hits &= hits - 1) {
        size_t place = at + (unsigned)__builtin_ctzll(hits);
        char next = place + 1 < work->length ? work->source[place + 1] : '\0';
        if (work->source[place] == '%') {
            if (weir__decode_is(next, WEIR__IS_HEX) && wants(work, WEIR__PERCENT))
                weir__decode_percent(work, place);
        } else if ((work->source[place] == '&' ? next == '#' : next == 'u' || next == 'x') &&
                   wants(work, WEIR__ESCAPES)) {
            weir__decode_escapes(work, place);
        }
    }
}

/* Bytes that need more than a look at the whole block. */
static __attribute__((noinline)) void survey_rare(struct weir__decode_work *work, const char *bytes,
                                                  size_t at)
{
    struct weir__block block = weir__block_load(bytes);
    survey_escapes(work, &block, at);
    if (WEIR__BLOCK_BITS(&block, weir__v16_wide))
        survey_wide(work, &block, at);
}

/* The place and 8 and 16 bytes before or behind it are digits. Without branches: which they would
 * take is anyone's guess. */
static inline unsigned is_hex_around(const char *place)
{
    const uint8_t *c = weir__decode_class, *p = (const uint8_t *)place;
    return c[*p] & ((c[p[8]] & c[p[16]]) | (c[p[-8]] & c[p[-16]])) & WEIR__IS_HEX;
}

/* 32 digits in a row hold a place that 32 divides, and 16 bytes before it or behind it as well. */
static inline void survey_hex(struct weir__decode_work *work, size_t at)
{
    const char *place = work->source + at;
    if (at >= WEIR__BLOCK && work->length - at > WEIR__BLOCK &&
        !(is_hex_around(place) | is_hex_around(place + WEIR__HEX_LEAST)))
        return;
    for (size_t end = at + WEIR__BLOCK; at < end && at < work->length; at += WEIR__HEX_LEAST) {
        if (at >= work->done[WEIR__HEX] && weir__decode_is(work->source[at], WEIR__IS_HEX))
            weir__decode_hex(work, at);
    }
}

/* before: the bits of the values below 32 in the block before. Returns those of this one. */
static inline uint64_t survey(struct weir__decode_work *work, const char *bytes, size_t at,
                              uint64_t before, bool wants_base64)
{
    struct weir__block block = weir__block_load(bytes);
    struct weir__bits2 low = {before, WEIR__BLOCK_BITS(&block, weir__v16_low32)};
    uint64_t hits = weir__bits2_and(weir__bits2_and(low, 4), 8).bits;
    weir__v16 rare = weir__v16_rare(block.v[0]) | weir__v16_rare(block.v[1]) |
                     weir__v16_rare(block.v[2]) | weir__v16_rare(block.v[3]);
    if (weir__v16_bits(rare))
        survey_rare(work, bytes, at);
    if (wants_base64 && at + WEIR__BLOCK > work->done[WEIR__BASE64]) {
        for (; hits; hits &= hits - 1) {
            size_t place = at + (unsigned)__builtin_ctzll(hits) - 12;
            if (weir__base64_is_ascii(work->source + place))
                weir__decode_base64(work, place);
        }
    }
    return low.bits;
}

size_t weir__decode(const char *source, size_t length, const struct weir__decode_options *options,
                    struct weir__buffer *out, struct weir__decoded *runs, bool *ret_is_truncated)
{
    struct weir__decode_work work = {
        .source = source, .length = length, .options = options, .out = out, .runs = runs};
    bool wants_base64 = wants(&work, WEIR__BASE64), wants_hex = wants(&work, WEIR__HEX);
    uint64_t before = 0;
    for (size_t at = 0; at < length; at += WEIR__BLOCK) {
        const char *bytes = source + at;
        char rest[WEIR__BLOCK];
        if (length - at < WEIR__BLOCK) {
            /* A blank is in no class that the survey asks for by itself. */
            memset(rest, ' ', sizeof(rest));
            memcpy(rest, source + at, length - at);
            bytes = rest;
        }
        before = survey(&work, bytes, at, before, wants_base64);
        if (wants_hex)
            survey_hex(&work, at);
    }
    *ret_is_truncated = work.is_truncated;
    return work.runs_count;
}
