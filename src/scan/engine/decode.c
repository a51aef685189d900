/* decode.c - the survey in blocks of 64 bytes, and the list of runs.
 *
 * Nearly all bytes are not encoded, and finding that out is what is paid for every byte of every
 * object. So the survey looks at a block as a whole, and only for what every run must have:
 *
 *     base64        three groups of four characters that decode to ASCII, and one character of the
 *                   next that may begin such a group
 *     hexadecimal   decimal digits, each the second from the last, six times
 *     bytes apart   numbers, each three to eight bytes from the last, five times
 *     escapes       the bytes that they begin with
 *     UTF-16, 32    a NUL or a byte of the mark; then 8 ASCII units in a row, or the whole mark
 *
 * Patterns end in the block that is looked at; what they need of the block before is kept as bits
 * or computed again.
 */
#include "decode_part.h"

#include <string.h>

#include "classes.h"
#include "decode_mask.h"

#include "banned.h"

static const char *const names[WEIR__ENCODINGS] = {
    [WEIR__BASE64] = "base64",    [WEIR__HEX] = "hex",          [WEIR__PERCENT] = "percent",
    [WEIR__ESCAPES] = "unicode",  [WEIR__UTF16LE] = "utf-16le", [WEIR__UTF16BE] = "utf-16be",
    [WEIR__UTF32LE] = "utf-32le", [WEIR__UTF32BE] = "utf-32be", [WEIR__HEX_LIST] = "hex",
    [WEIR__DECIMALS] = "decimal",
};

const char *weir__encoding_name(enum weir__encoding encoding)
{
    return names[encoding];
}

/* Keeping. */

/* A NUL is half of a letter: text of one run would go on with that of the next. Here it does not,
 * in either order of UTF-16, and with another NUL first not even by one character, which may be any
 * behind a mark; and escapes end at a control character. */
static const char wall[5] = {'\0', '\x7f', '\xdc', '\xdc', '\x7f'};

/* Where the next piece begins. Without room for it, the way back is longer. */
static void mark(const struct weir__decode_work *work, const struct weir__decode_reader *reader,
                 struct weir__decoded *run, size_t out)
{
    struct weir__buffer *marks = work->options->marks;
    size_t source = reader->at - run->from;
    if (!marks || !weir__decode_has_units(run->encoding) || reader->at >= run->until ||
        source > UINT32_MAX || out > UINT32_MAX)
        return;
    struct weir__decoded_mark one = {.source = (uint32_t)source, .out = (uint32_t)out};
    size_t at = weir__buffer_length(marks) / sizeof(one);
    if (weir__buffer_append(marks, (const char *)&one, sizeof(one)) < 0)
        return;
    run->_first_mark = run->_width == 0 ? (unsigned)at : run->_first_mark;
    run->_marks = marks;
    run->_width++;
}

static void append(struct weir__decode_work *work, struct weir__decoded *run)
{
    struct weir__decode_reader reader;
    char piece[WEIR__DECODE_PIECE];
    size_t bytes = run->out_until, done = 0, from = weir__buffer_length(work->out);
    /* Nothing can fail: the room was reserved. */
    int error = 0;
    weir__decode_reader_init(&reader, work->source, run);
    for (size_t count; (count = weir__decode_read(&reader, piece)) > 0;) {
        error |= weir__buffer_append(work->out, piece, count);
        done += count;
        mark(work, &reader, run, done);
    }
    error |= weir__buffer_putc(work->out, '\0');
    if (work->options->has_walls)
        error |= weir__buffer_append(work->out, wall, sizeof(wall));
    (void)error;
    run->out_from = from;
    run->out_until = from + bytes;
}

void weir__decode_keep(struct weir__decode_work *work, const struct weir__decoded *run)
{
    if (work->runs_count >= work->options->runs_max ||
        weir__buffer_reserve(work->out, run->out_until + 1 +
                                            (work->options->has_walls ? sizeof(wall) : 0)) < 0) {
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

/* A letter and three NULs, eight times; each ends at the bit. Both orders look like that. */
static uint64_t eight_quads(struct weir__bits2 text, struct weir__bits2 nul)
{
    struct weir__bits2 quads = weir__bits2_and(nul, 1);
    quads.before &= nul.before << 2 & text.before << 3;
    quads.bits &=
        weir__bits_back(nul.before, nul.bits, 2) & weir__bits_back(text.before, text.bits, 3);
    return weir__bits2_and(weir__bits2_and(weir__bits2_and(quads, 4), 8), 16).bits;
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
    text->has_units |= (eight(little) | eight(big) | eight_quads(*t, *n)) != 0;
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
        return bytes >= WEIR__ESCAPES_LEAST && text.text.bits == (UINT64_C(1) << bytes) - 1;
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

/* What is left out has no say in what is found here, and the other way round, as long as the bytes
 * of both are apart. */
void weir__decode_touch(const struct weir__decode_work *work, size_t from, size_t until)
{
    const struct weir__spans *left = work->options->left;
    uint32_t next = weir__spans_behind(left, from > 0 ? (uint32_t)(from - 1) : 0);
    if (next < left->count && left->items[next].from <= until)
        *work->options->ret_is_left_touched = true;
}

/* The survey. */

static bool wants(const struct weir__decode_work *work, enum weir__encoding encoding)
{
    return work->options->encodings >> encoding & 1;
}

/* Byte order marks, each at its second byte. */
struct marks {
    uint64_t little, big;
};

static struct marks find_marks(const struct weir__decode_work *work,
                               const struct weir__block *block, size_t at)
{
    uint8_t before = at > 0 ? (uint8_t)work->source[at - 1] : 0;
    uint64_t ff = WEIR__BLOCK_BITS(block, weir__v16_ff), fe = WEIR__BLOCK_BITS(block, weir__v16_fe);
    return (struct marks){
        .little = wants(work, WEIR__UTF16LE) ? fe & (ff << 1 | (before == 0xff)) & work->mask : 0,
        .big = wants(work, WEIR__UTF16BE) ? ff & (fe << 1 | (before == 0xfe)) & work->mask : 0};
}

static void survey_quads(struct weir__decode_work *work, struct weir__bits2 text,
                         struct weir__bits2 nul, size_t at)
{
    for (uint64_t hits = eight_quads(text, nul) & work->mask; hits; hits &= hits - 1)
        weir__decode_quads(work, at + (unsigned)__builtin_ctzll(hits) + 1 - 4 * WEIR__TEXT_UNITS);
}

/* Eight units of the big order whose last letter is the first byte of the next block, in which
 * there is perhaps nothing that it would be looked at for. */
static void survey_across(struct weir__decode_work *work, uint64_t text, uint64_t nul, size_t at)
{
    const uint64_t nuls = UINT64_C(0xaaaa) << 48, letters = UINT64_C(0x5554) << 48;
    size_t end = at + WEIR__BLOCK;
    if ((nul & nuls) == nuls && (text & letters) == letters && end < work->length &&
        weir__decode_is(work->source[end], WEIR__IS_TEXT) && work->mask >> 63 &&
        wants(work, WEIR__UTF16BE))
        weir__decode_wide(work, WEIR__UTF16BE, end + 1 - (size_t)2 * WEIR__TEXT_UNITS);
}

static void survey_wide(struct weir__decode_work *work, const struct weir__block *block, size_t at)
{
    struct weir__bits2 nul = {.bits = WEIR__BLOCK_BITS(block, weir__v16_nul)};
    struct marks marks = find_marks(work, block, at);
    struct weir__block last = {0};
    if (at > 0) {
        last = weir__block_load(work->source + at - WEIR__BLOCK);
        nul.before = WEIR__BLOCK_BITS(&last, weir__v16_nul);
    }
    /* Programs are full of NULs. Each of these texts has eight at every second place, which end in
     * this block or with the one before. */
    struct weir__bits2 row = weir__bits2_and(weir__bits2_and(weir__bits2_and(nul, 2), 4), 8);
    if (!(row.bits | row.before >> 63 | marks.little | marks.big))
        return;
    struct weir__bits2 text = {.bits = WEIR__BLOCK_BITS(block, weir__v16_text)};
    if (at > 0)
        text.before = WEIR__BLOCK_BITS(&last, weir__v16_text);
    /* A unit ends with its NUL, or with its text; eight of them end at the bit. */
    struct weir__bits2 little = {nul.before & text.before << 1,
                                 nul.bits & weir__bits_back(text.before, text.bits, 1)};
    struct weir__bits2 big = {text.before & nul.before << 1,
                              text.bits & weir__bits_back(nul.before, nul.bits, 1)};
    size_t back = (size_t)2 * WEIR__TEXT_UNITS - 1;
    if (nul.bits & weir__bits_back(nul.before, nul.bits, 1))
        survey_quads(work, text, nul, at);
    uint64_t littles = wants(work, WEIR__UTF16LE) ? eight(little) & work->mask : 0;
    uint64_t bigs = wants(work, WEIR__UTF16BE) ? eight(big) & work->mask : 0;
    /* Of both orders, with a mark or without, in order of their places: what one has passed the
     * other may still need. */
    for (uint64_t hits = littles | bigs | marks.little | marks.big; hits; hits &= hits - 1) {
        uint64_t hit = hits & -hits;
        size_t place = at + (unsigned)__builtin_ctzll(hits);
        if (hit & (marks.little | marks.big))
            weir__decode_marked(work, hit & marks.little ? WEIR__UTF16LE : WEIR__UTF16BE,
                                place + 1);
        else
            weir__decode_wide(work, hit & littles ? WEIR__UTF16LE : WEIR__UTF16BE, place - back);
    }
    survey_across(work, text.bits, nul.bits, at);
}

/* Not \n and \", which are everywhere, nor %s, and no operator. */
bool weir__escape_is_likely(const char *text, size_t length, size_t at)
{
    const char *source = text + at;
    if (length - at < 3)
        return false;
    switch (source[1]) {
    case 'u':
    case '0':
        return source[0] != '&';
    case 'x':
    case 'U':
    case '1':
        return source[0] == '\\';
    case '/':
        /* In a word: those who write JSON may write it so. */
        return source[0] == '\\' && at > 0 && weir__decode_is(source[-1], WEIR__IS_BASE64) &&
               weir__decode_is(source[2], WEIR__IS_BASE64);
    case '#':
        return source[0] == '&';
    case 'a':
        return source[0] == '&' && (source[2] == 'm' || source[2] == 'p');
    case 'q':
        return source[0] == '&' && source[2] == 'u';
    default:
        return source[0] == '%' && (uint8_t)(source[1] - '2') < 6; /* of a printable byte */
    }
}

static void survey_escapes(struct weir__decode_work *work, const struct weir__block *block,
                           size_t at)
{
    uint64_t hits = WEIR__BLOCK_BITS(block, weir__v16_escape) & work->mask;
    for (; hits; hits &= hits - 1) {
        size_t place = at + (unsigned)__builtin_ctzll(hits);
        if (!weir__escape_is_likely(work->source, work->length, place))
            continue;
        if (work->source[place] == '%' && wants(work, WEIR__PERCENT))
            weir__decode_percent(work, place);
        else if (work->source[place] != '%' && wants(work, WEIR__ESCAPES))
            weir__decode_escapes(work, place);
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

/* Places that are three to eight bytes behind another one. */
static inline struct weir__bits2 steps(struct weir__bits2 b)
{
    uint64_t bits = 0, before = 0;
    for (unsigned step = 3; step <= 8; step++) {
        bits |= weir__bits_back(b.before, b.bits, step);
        before |= b.before << step;
    }
    return (struct weir__bits2){b.before & before, b.bits & bits};
}

/* Text in hexadecimal has a decimal digit as the first of each two, six times in a row if there are
 * twelve bytes of it; and bytes that stand apart begin with one, whatever their notation. Both are
 * looked for across the edge of the block: none of what they depend on is farther back than that.
 */
static __attribute__((noinline)) void survey_digits(struct weir__decode_work *work, uint64_t digits,
                                                    size_t at)
{
    struct weir__bits2 both = {.bits = digits};
    if (at > 0) {
        struct weir__block last = weir__block_load(work->source + at - WEIR__BLOCK);
        both.before = WEIR__BLOCK_BITS(&last, weir__v16_digit);
    }
    struct weir__bits2 row = weir__bits2_and(weir__bits2_and(weir__bits2_and(both, 2), 4), 4);
    uint64_t hits = wants(work, WEIR__HEX) ? row.bits & work->mask : 0;
    for (; hits; hits &= hits - 1) {
        size_t place = at + (unsigned)__builtin_ctzll(hits);
        if (place >= work->done[WEIR__HEX])
            weir__decode_hex(work, place);
    }
    struct weir__bits2 starts = {both.before & ~(both.before << 1),
                                 both.bits & ~weir__bits_back(both.before, both.bits, 1)};
    for (hits = steps(steps(steps(steps(starts)))).bits & work->mask; hits; hits &= hits - 1)
        weir__decode_list(work, at + (unsigned)__builtin_ctzll(hits));
}

static void survey(struct weir__decode_work *work, const struct weir__classes *classes,
                   const char *bytes, size_t at)
{
    if (classes->rare)
        survey_rare(work, bytes, at);
    if (classes->digits)
        survey_digits(work, classes->digits, at);
    if (!wants(work, WEIR__BASE64) || at + WEIR__BLOCK <= work->done[WEIR__BASE64])
        return;
    for (uint64_t hits = classes->base64 & work->mask; hits; hits &= hits - 1)
        weir__decode_base64(work, at + (unsigned)__builtin_ctzll(hits) - 12);
}

/* The places of the block here that are in [from, until). */
static uint64_t mask_of(size_t at, size_t from, size_t until)
{
    uint64_t mask = from > at ? UINT64_MAX << (from - at) : UINT64_MAX;
    return until - at < WEIR__BLOCK ? mask & ~(UINT64_MAX << (until - at)) : mask;
}

/* Runs for which there is a place in [from, until). */
static void survey_part(struct weir__decode_work *work, size_t from, size_t until)
{
    const struct weir__classifier *classifier = weir__classifier();
    struct weir__classes classes[WEIR__CLASSES_BATCH];
    struct weir__classes_before before = {0};
    uint8_t numbers[WEIR__CLASSES_BATCH];
    size_t at = from / WEIR__BLOCK * WEIR__BLOCK;
    if (at > 0)
        classifier->survey(work->source + at - WEIR__BLOCK, 1, &before, classes, numbers);
    while (at < until && work->length - at >= WEIR__BLOCK) {
        size_t most = (work->length - at) / WEIR__BLOCK;
        size_t blocks = (until - at + WEIR__BLOCK - 1) / WEIR__BLOCK;
        blocks = blocks < most ? blocks : most;
        blocks = blocks < WEIR__CLASSES_BATCH ? blocks : WEIR__CLASSES_BATCH;
        size_t count = classifier->survey(work->source + at, blocks, &before, classes, numbers);
        for (size_t i = 0; i < count; i++) {
            size_t place = at + numbers[i] * (size_t)WEIR__BLOCK;
            work->mask = mask_of(place, from, until);
            survey(work, &classes[numbers[i]], work->source + place, place);
        }
        at += blocks * WEIR__BLOCK;
    }
    if (at < until) {
        /* A blank is in no class that the survey asks for by itself. */
        char rest[WEIR__BLOCK];
        memset(rest, ' ', sizeof(rest));
        memcpy(rest, work->source + at, work->length - at);
        classifier->survey(rest, 1, &before, classes, numbers);
        work->mask = mask_of(at, from, until);
        survey(work, classes, rest, at);
    }
}

size_t weir__decode(const char *source, size_t length, const struct weir__decode_options *options,
                    struct weir__buffer *out, struct weir__decoded *runs, bool *ret_is_truncated)
{
    struct weir__decode_work work = {
        .source = source, .length = length, .options = options, .out = out, .runs = runs};
    const struct weir__spans *parts = options->parts;
    for (uint32_t i = 0; parts && i < parts->count; i++)
        survey_part(&work, parts->items[i].from,
                    parts->items[i].until < length ? parts->items[i].until : length);
    if (!parts)
        survey_part(&work, 0, length);
    *ret_is_truncated = work.is_truncated;
    return work.runs_count;
}
