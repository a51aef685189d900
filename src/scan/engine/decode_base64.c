/* decode_base64.c - stretches, lines and phases of base64; stretches of hexadecimal digits.
 *
 * The survey points at characters of which every fourth, four times, can begin an ASCII byte. They
 * tell the phase as well: a stretch that begins too early, because a word is glued to it
 * ("path/QUJD"), is decoded from the character at which its text begins to fit.
 *
 * A stretch is cut where the alphabets would mix. It goes on in the next line if the lines are of
 * one width, with the same break and the same blanks between them; a shorter line is the last. It
 * begins in the first line that holds text. Breaks that are written as escapes (\n in a JSON
 * string) are breaks.
 *
 * A stretch is located once; each place in it that the survey points at costs a fixed time.
 */
#include "decode_mask.h"
#include "decode_part.h"

#include "banned.h"

#define BLANKS_MAX    256u /* before a line */
#define WINDOW_BEFORE 24u  /* characters around a place in which text is looked for; by fours */
#define WINDOW_BEHIND 40u
#define QUICK         12u /* characters that are tried before anything is located */

/* Nine bytes, each text or the NUL of UTF-16. */
static bool is_quick_text(const char *characters)
{
    for (size_t i = 0; i < QUICK; i += 4) {
        const uint8_t *c = (const uint8_t *)characters + i;
        unsigned group = (unsigned)weir__base64_value[c[0]] << 18 |
                         (unsigned)weir__base64_value[c[1]] << 12 |
                         (unsigned)weir__base64_value[c[2]] << 6 | weir__base64_value[c[3]];
        for (unsigned shift = 0; shift < 24; shift += 8) {
            char byte = (char)(group >> shift);
            if (byte != '\0' && !weir__decode_is(byte, WEIR__IS_TEXT))
                return false;
        }
    }
    return true;
}

/* Where the characters of one alphabet end. *kind is 0 while neither is certain. */
static size_t span(const char *source, size_t at, size_t length, unsigned *kind)
{
    for (;;) {
        uint8_t one = *kind == WEIR__IS_STANDARD ? '+' : *kind ? '-' : 'A';
        uint8_t two = *kind == WEIR__IS_STANDARD ? '/' : *kind ? '_' : 'A';
        while (length - at >= 16) {
            weir__v16 v = weir__v16_load(source + at);
            weir__v16 fits = weir__v16_alnum(v) | (weir__v16)(v == one) | (weir__v16)(v == two);
            unsigned bits = weir__v16_bits(fits);
            if (bits != 0xffff) {
                at += (unsigned)__builtin_ctz(~bits);
                break;
            }
            at += 16;
        }
        unsigned refused = (WEIR__IS_STANDARD | WEIR__IS_URL_SAFE) & ~*kind;
        while (at < length && weir__decode_is(source[at], WEIR__IS_BASE64) &&
               !weir__decode_is(source[at], refused))
            at++;
        if (at == length || *kind || !weir__decode_is(source[at], refused))
            return at;
        *kind = weir__decode_class[(uint8_t)source[at]] & refused;
    }
}

/* Bytes of a line break and the blanks behind it; 0: there is none. */
static unsigned gap_at(const char *source, size_t at, size_t length)
{
    size_t rest = length - at, gap = 0;
    if (rest >= 2 && memcmp(source + at, "\\n", 2) == 0)
        return 2;
    if (rest >= 4 && memcmp(source + at, "\\r\\n", 4) == 0)
        return 4;
    if (gap < rest && source[at + gap] == '\r')
        gap++;
    if (gap == rest || source[at + gap] != '\n')
        return 0;
    gap++;
    while (gap < rest && gap < BLANKS_MAX && (source[at + gap] == ' ' || source[at + gap] == '\t'))
        gap++;
    return (unsigned)gap;
}

/* Whether a line of base64 may end here; a word in a sentence or an assignment does not. */
static bool is_line_end(const char *source, size_t at, size_t length)
{
    for (unsigned i = 0; i < 2 && at < length && source[at] == '='; i++)
        at++;
    return at == length || (source[at] != '\0' && strchr("\r\n\"'`<,;)]}\\", source[at]));
}

/* Lines of a width that four does not divide are one stretch if the next fits the phase that the
 * last one left better than it fits by itself; otherwise they are a list. */
static bool is_continued(const char *source, size_t at, size_t until, size_t count)
{
    size_t skip = (4 - count % 4) % 4;
    if (skip == 0 || skip == 3 || until - at < QUICK + skip)
        return true;
    return !is_quick_text(source + at) || is_quick_text(source + at + skip);
}

static void add_lines(const struct weir__decode_work *work, struct weir__stretch *stretch,
                      unsigned kind)
{
    const char *source = work->source;
    stretch->gap = gap_at(source, stretch->until, work->length);
    for (unsigned gap = stretch->gap; gap > 0 && gap == stretch->gap;
         gap = gap_at(source, stretch->until, work->length)) {
        size_t at = stretch->until + gap;
        unsigned next_kind = kind;
        /* A line that is longer belongs to something else; so much of it is enough to know. */
        size_t most = work->length - at > stretch->width ? at + stretch->width + 1 : work->length;
        size_t until = span(source, at, most, &next_kind);
        if (until == at || until - at > stretch->width ||
            !is_line_end(source, until, work->length) ||
            (until - at >= 2 && source[at] == '-' && source[at + 1] == '-') ||
            !is_continued(source, at, until, stretch->count))
            return;
        kind = next_kind;
        stretch->count += until - at;
        stretch->until = until;
        if (until - at < stretch->width)
            return;
    }
}

/* The stretch in which the place is. */
static void locate(const struct weir__decode_work *work, size_t at, struct weir__stretch *stretch)
{
    size_t least = work->done[WEIR__BASE64];
    least = least > stretch->until ? least : stretch->until;
    size_t from = at, until;
    unsigned kind;
    while (from > least && weir__decode_is(work->source[from - 1], WEIR__IS_BASE64))
        from--;
    /* The letter of an escape, as in "\nQUJD". */
    if (from > least && from < at && work->source[from - 1] == '\\')
        from++;
    for (;; from = until) {
        kind = 0;
        until = span(work->source, from, work->length, &kind);
        if (until > at)
            break;
    }
    *stretch = (struct weir__stretch){
        .from = from, .until = until, .width = until - from, .count = until - from};
    if (stretch->width >= WEIR__BASE64_LEAST)
        add_lines(work, stretch, kind);
}

static size_t bytes_of(size_t characters)
{
    return characters / 4 * 3 + (characters % 4 > 1 ? characters % 4 - 1 : 0);
}

/* Text of the needed length in the characters around one of them, which begins a group. */
static bool is_text_near(const char *source, const struct weir__decoded *run, size_t characters,
                         size_t near)
{
    size_t first = near > WINDOW_BEFORE ? near - WINDOW_BEFORE : 0;
    size_t until = characters - near > WINDOW_BEHIND ? near + WINDOW_BEHIND : characters;
    size_t bytes = bytes_of(characters), text = 0, wide = 0;
    size_t needed = bytes < WEIR__TEXT_LONG ? WEIR__TEXT_LEAST : WEIR__TEXT_LEAST_LONG;
    needed = needed < bytes ? needed : bytes;
    uint32_t bits = 0;
    unsigned char before = 1;
    for (size_t i = first; i < until; i++) {
        bits = bits << 6 | weir__base64_value[(uint8_t)source[weir__base64_place(run, i)]];
        unsigned place = (unsigned)(i - first) % 4;
        if (place == 0)
            continue;
        char byte = (char)(bits >> (6 - 2 * place));
        bool is_text = weir__decode_is(byte, WEIR__IS_TEXT);
        bool is_turn =
            is_text ? before == 0 : byte == 0 && weir__decode_is((char)before, WEIR__IS_TEXT);
        text = is_text ? text + 1 : 0;
        wide = is_turn ? wide + 1 : is_text || byte == 0;
        if (text >= needed || wide >= (size_t)2 * WEIR__TEXT_UNITS)
            return true;
        before = (unsigned char)byte;
    }
    return false;
}

void weir__decode_base64(struct weir__decode_work *work, size_t at)
{
    struct weir__stretch *stretch = &work->stretch;
    const char *source = work->source;
    if (at < work->done[WEIR__BASE64] || !is_quick_text(source + at))
        return;
    if (at >= stretch->until)
        locate(work, at, stretch);
    if (stretch->count < WEIR__BASE64_LEAST || at < stretch->from)
        return;
    size_t line = (at - stretch->from) / (stretch->width + stretch->gap);
    size_t index = at - stretch->from - line * stretch->gap;
    unsigned skip = (unsigned)(index % 4);
    size_t characters = stretch->count - skip, over = characters % 4;
    struct weir__decoded run = {.encoding = WEIR__BASE64,
                                .from = stretch->from + skip,
                                .until = stretch->until,
                                .out_until = bytes_of(characters),
                                ._width = stretch->width,
                                ._gap = stretch->gap,
                                ._skip = skip};
    if (!is_text_near(source, &run, characters, index - skip))
        return;
    if (over == 1)
        run.until = weir__base64_place(&run, characters - 2) + 1;
    for (; over >= 2 && over < 4 && run.until < work->length && source[run.until] == '='; over++)
        run.until++;
    work->done[WEIR__BASE64] = run.until;
    weir__decode_keep(work, &run);
}

void weir__decode_hex(struct weir__decode_work *work, size_t at)
{
    size_t from = at, until = at;
    while (from > work->done[WEIR__HEX] && weir__decode_is(work->source[from - 1], WEIR__IS_HEX))
        from--;
    while (until < work->length && weir__decode_is(work->source[until], WEIR__IS_HEX))
        until++;
    work->done[WEIR__HEX] = until;
    if (until - from < WEIR__HEX_LEAST)
        return;
    /* A digit too many belongs to what is glued before, or behind. */
    for (size_t skip = 0; skip < 2; skip++) {
        size_t bytes = (until - from - skip) / 2;
        struct weir__decoded run = {.encoding = WEIR__HEX,
                                    .from = from + skip,
                                    .until = from + skip + 2 * bytes,
                                    .out_until = bytes};
        if (weir__decode_offer(work, &run))
            return;
    }
}
