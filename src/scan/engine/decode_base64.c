/* decode_base64.c - stretches, lines and phases of base64; stretches and lines of hexadecimal
 * digits.
 *
 * The survey points at characters of which every fourth, four times, can begin an ASCII byte. They
 * tell the phase as well: a stretch that begins too early, because a word is glued to it
 * ("path/QUJD"), is decoded from the character at which its text begins to fit.
 *
 * A stretch is cut where the alphabets would mix. It goes on in the next line if the lines are of
 * one width, with the same break and the same margin between them; a shorter line is the last. It
 * begins in the first line that holds text. Signs that are before it there, as in a diff or in a
 * comment, are the margin of the others even if they could be base64: the phase has told. Breaks
 * that are written as escapes (\n in a JSON string, &#13; in markup) are breaks, also before those
 * that are none, and so is what joins two strings; one line between may be empty. What stands
 * behind the last line makes no difference.
 *
 * Whether a line goes on in the next cannot always be told: the word that begins the next line may
 * be taken for the rest of the text, and a list for lines of one text. What is glued to a secret
 * hides it, so that both are decoded: the whole, the lines without the shorter last one, and that
 * one by itself; and each line, unless they are as wide as those who break lines make them.
 *
 * A stretch is located once; each place in it that the survey points at costs a fixed time.
 */
#include "decode_part.h"

#include <string.h>
#include <strings.h>

#include "decode_mask.h"

#include "banned.h"

#define BLANKS_MAX    256u /* before a line */
#define MARGIN_MAX    16u  /* blanks and signs before the first line */
#define MARK_MAX      4u   /* signs in a row before a blank */
#define FOLDED_LEAST  60u  /* characters of lines with a blank between them */
#define WINDOW_BEFORE 24u  /* characters around a place in which text is looked for; by fours */
#define WINDOW_BEHIND 40u
#define QUICK         12u /* characters that are tried before anything is located */
#define GAP_AHEAD     (BLANKS_MAX + 2u * WEIR__BACKSLASHES_MAX) /* bytes behind a gap that matter */
/* And behind a line: its padding, and where the survey points at the last of its characters. */
#define LINE_AHEAD 16u
/* And before the first line: its margin, the break before that, and signs that turned out to be of
 * it. */
#define BEFORE (MARGIN_MAX + 8u)

/* Nine bytes, each text or a NUL of UTF-16 and UTF-32, where two of nine are text at least: long
 * rows of zeros are looked at no further. */
static bool is_quick_text(const char *characters)
{
    unsigned texts = 0;
    for (size_t i = 0; i < QUICK; i += 4) {
        const uint8_t *c = (const uint8_t *)characters + i;
        unsigned group = (unsigned)weir__base64_value[c[0]] << 18 |
                         (unsigned)weir__base64_value[c[1]] << 12 |
                         (unsigned)weir__base64_value[c[2]] << 6 | weir__base64_value[c[3]];
        for (unsigned shift = 0; shift < 24; shift += 8) {
            char byte = (char)(group >> shift);
            bool is_text = weir__decode_is(byte, WEIR__IS_TEXT);
            if (byte != '\0' && !is_text)
                return false;
            texts += is_text;
        }
    }
    return texts >= 2;
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

static bool is_quote(char byte)
{
    return byte == '"' || byte == '\'' || byte == '`';
}

static bool is_blank(char byte)
{
    return byte == ' ' || byte == '\t';
}

/* What comments, quotations and the lines of a diff begin with. */
static bool is_mark(char byte)
{
    return byte != '\0' && strchr("#*>/;-+|!%<:", byte);
}

static size_t skip_blanks(const char *source, size_t at, size_t length)
{
    size_t most = length - at > BLANKS_MAX ? at + BLANKS_MAX : length;
    while (at < most && is_blank(source[at]))
        at++;
    return at;
}

/* Behind what stands before the first line as well; or behind blanks, and a mark with blanks behind
 * it. */
static size_t skip_margin(const char *source, size_t at, size_t length,
                          const struct weir__stretch *stretch)
{
    size_t size = stretch->margin;
    if (size > 0 && length - at >= size &&
        memcmp(source + at, source + stretch->from - size, size) == 0)
        return at + size;
    size_t mark = at = skip_blanks(source, at, length);
    while (mark < length && mark - at < MARK_MAX && is_mark(source[mark]))
        mark++;
    return mark > at && mark < length && is_blank(source[mark]) ? skip_blanks(source, mark, length)
                                                                : at;
}

/* Bytes between the beginning of a line and this place in it, if they are marks and blanks. */
static size_t margin_before(const char *source, size_t at)
{
    size_t from = at;
    while (from > 0 && at - from < MARGIN_MAX &&
           (is_blank(source[from - 1]) || is_mark(source[from - 1])))
        from--;
    return from == 0 || source[from - 1] == '\n' || source[from - 1] == '\r' ? at - from : 0;
}

/* Behind a line break that is written as an escape, with any number of backslashes or as markup has
 * it; or where it began. */
static size_t skip_written_break(const char *source, size_t at, size_t length)
{
    static const char *const marks[] = {"&#10;", "&#13;", "&#xa;", "&#xd;",
                                        "<br>",  "<br/>", "<br />"};
    size_t i = at;
    while (i < length && i - at < WEIR__BACKSLASHES_MAX && source[i] == '\\')
        i++;
    if (i > at)
        return i < length && (source[i] == 'n' || source[i] == 'r') ? i + 1 : at;
    for (i = 0; i < sizeof(marks) / sizeof(marks[0]); i++) {
        size_t size = strlen(marks[i]);
        if (length - at >= size && strncasecmp(source + at, marks[i], size) == 0)
            return at + size;
    }
    return at;
}

static size_t skip_written_breaks(const char *source, size_t at, size_t length)
{
    for (size_t end; at < length && source[at] != '\0' && strchr("\\&<", source[at]); at = end) {
        end = skip_written_break(source, at, length);
        if (end == at)
            break;
    }
    return at;
}

/* Behind a line break and the margin of the next line, or where it began. */
static size_t skip_break(const char *source, size_t at, size_t length,
                         const struct weir__stretch *stretch)
{
    size_t end = skip_blanks(source, at, length);
    /* A backslash may stand before the break, in a script. */
    if (length - end >= 2 && source[end] == '\\' && source[end + 1] == '\n')
        end++;
    size_t line = end;
    if (line < length && source[line] == '\r')
        line++;
    if (line < length && source[line] == '\n')
        line++;
    return line > end ? skip_margin(source, line, length, stretch) : at;
}

static bool is_of_name(char byte)
{
    return (uint8_t)((byte | 0x20) - 'a') < 26 || (uint8_t)(byte - '0') < 10 ||
           (byte != '\0' && strchr("_$.->[]", byte));
}

/* Of a string to which another one is added: x += "…" and $x .= "…" in the next statement. */
static size_t skip_append(const char *source, size_t at, size_t length)
{
    char quote = source[at];
    size_t most = length - at > BLANKS_MAX ? at + BLANKS_MAX : length, i = at + 1;
    while (i < most && source[i] != '\0' && strchr("; \t\r\n", source[i]))
        i++;
    size_t name = i;
    while (i < most && is_of_name(source[i]))
        i++;
    if (i == name)
        return at;
    i = skip_blanks(source, i, most);
    if (i < most && (source[i] == '+' || source[i] == '.'))
        i++;
    if (i >= most || source[i] != '=' || (source[i - 1] != '+' && source[i - 1] != '.'))
        return at;
    i = skip_blanks(source, i + 1, most);
    return i < most && source[i] == quote ? i + 1 : at;
}

/* From the quote that closes one part of a joined string to behind the one that opens the next, or
 * where it began: "…" + "…", '…' . '…', "…" "…", "…" & _ "…". A comma makes a list of them. */
static size_t skip_join(const char *source, size_t at, size_t length)
{
    char quote = source[at];
    size_t most = length - at > BLANKS_MAX ? at + BLANKS_MAX : length, i = at + 1;
    while (i < most && source[i] != '\0' && strchr(" \t\r\n+.&\\_", source[i]))
        i++;
    return i > at + 1 && i < most && source[i] == quote ? i + 1 : skip_append(source, at, length);
}

/* Bytes between the last line of the stretch and the next; 0: it ends here. */
static unsigned gap_behind(const struct weir__decode_work *work,
                           const struct weir__stretch *stretch)
{
    const char *source = work->source;
    size_t at = stretch->until, length = work->length;
    size_t end = skip_written_breaks(source, at, length);
    if (end < length && is_quote(source[end]))
        return (unsigned)(skip_join(source, end, length) - at);
    /* Both, in a string over several lines of a script; and one line may be empty. */
    end = skip_break(source, end, length, stretch);
    if (end == at && end < length && source[end] == ' ')
        return stretch->width >= FOLDED_LEAST && stretch->width % 4 == 0 ? 1 : 0;
    return (unsigned)(skip_break(source, end, length, stretch) - at);
}

/* Whether lines may be items rather: an empty one is between two, or what programs that break lines
 * put there seldom. */
static bool is_apart(const char *gap, size_t length)
{
    unsigned breaks = 0;
    for (size_t i = 0; i < length; i++) {
        if (is_mark(gap[i]) || (gap[i] == '\r' && (i + 1 == length || gap[i + 1] != '\n')))
            return true;
        breaks += gap[i] == '\n';
    }
    return breaks > 1 || (length > 1 && is_blank(gap[0]));
}

/* Whether so many characters of base64 may end here: anywhere, but what something is assigned to is
 * a name. */
static bool is_line_end(const char *source, size_t at, size_t length, size_t count)
{
    unsigned padding = 0;
    for (; padding < 2 && at < length && source[at] == '='; at++)
        padding++;
    return padding == 0 || at == length || (count + padding) % 4 == 0 ||
           !(source[at] == '=' || weir__decode_is(source[at], WEIR__IS_BASE64));
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

/* What most programs break lines at; others are as likely the items of a list. */
static bool is_usual(size_t width)
{
    return width == 60 || width == 64 || width == 72 || width == 76;
}

/* Whether a short line behind the first is rather a word: text goes on up to the break, and the
 * word decodes to what is in no text. */
static bool is_word(const char *source, const struct weir__stretch *stretch, size_t at,
                    size_t until)
{
    uint32_t bits = 0;
    if (stretch->count > stretch->width || stretch->width % 4 != 0 || is_usual(stretch->width) ||
        until - at >= WEIR__BASE64_LEAST || !is_quick_text(source + stretch->until - QUICK))
        return false;
    for (size_t i = at; i < until; i++) {
        unsigned place = (unsigned)(i - at) % 4;
        bits = bits << 6 | weir__base64_value[(uint8_t)source[i]];
        char byte = (char)(bits >> (6 - 2 * place));
        if (place > 0 && !(byte & 0x80) && byte != '\0' && !weir__decode_is(byte, WEIR__IS_TEXT))
            return true;
    }
    return false;
}

/* Whether it is the one between the lines so far. The answer of gap_behind(), and what the next
 * line is, depends on no byte behind what is noted. */
static bool has_gap(struct weir__stretch *stretch, unsigned gap)
{
    stretch->looked = stretch->until + gap + GAP_AHEAD + stretch->width + LINE_AHEAD;
    return gap > 0 && gap == stretch->gap;
}

/* Whether a line is another text, with signs before it, as in a diff: text begins behind them, and
 * none where the last line would go on. phase: characters before the text of the first line. */
static bool is_other(const char *source, const struct weir__stretch *stretch, size_t at,
                     size_t until, unsigned phase)
{
    size_t signs = 0, skip = (4 - (stretch->count - phase) % 4) % 4;
    while (signs < 3 && at + signs < until &&
           weir__decode_is(source[at + signs], WEIR__IS_STANDARD | WEIR__IS_URL_SAFE))
        signs++;
    return signs > 0 && signs != skip && until - at >= QUICK + 3 &&
           is_quick_text(source + at + signs) && !is_quick_text(source + at + skip);
}

static void add_lines(const struct weir__decode_work *work, struct weir__stretch *stretch,
                      unsigned kind, unsigned phase)
{
    const char *source = work->source;
    stretch->gap = gap_behind(work, stretch);
    stretch->is_apart = is_apart(source + stretch->until, stretch->gap);
    for (unsigned gap = stretch->gap; has_gap(stretch, gap); gap = gap_behind(work, stretch)) {
        size_t at = stretch->until + gap;
        unsigned next_kind = kind;
        /* A line that is longer belongs to something else; so much of it is enough to know. */
        size_t most = work->length - at > stretch->width ? at + stretch->width + 1 : work->length;
        size_t until = span(source, at, most, &next_kind);
        if (until - at > stretch->width && kind == 0 && next_kind == WEIR__IS_URL_SAFE) {
            /* A sign of the other alphabet may stand behind the last line, as in "-->". */
            next_kind = WEIR__IS_STANDARD;
            until = span(source, at, most, &next_kind);
        }
        if (until == at || until - at > stretch->width ||
            !is_line_end(source, until, work->length, stretch->count + until - at) ||
            (until - at >= 2 && source[at] == '-' && source[at + 1] == '-') ||
            is_other(source, stretch, at, until, phase) ||
            !is_continued(source, at, until, stretch->count) || is_word(source, stretch, at, until))
            return;
        kind = next_kind;
        stretch->count += until - at;
        stretch->until = until;
        if (until - at < stretch->width)
            return;
    }
}

/* Characters behind a sign that are the rest of an escape, and none of the text behind it: one, as
 * in "\nQUJD"; or digits, as in "%0AQUJD", "=0AQUJD", "\012QUJD", "\x0aQUJD" and "\u000aQUJD", if
 * the phase of the text agrees. */
static size_t escape_tail(const char *source, size_t from, size_t at)
{
    bool is_backslash = source[from - 1] == '\\', has_letter = is_backslash;
    size_t digits = 2;
    if (!is_backslash && source[from - 1] != '%' && source[from - 1] != '=')
        return 0;
    if (is_backslash && source[from] == 'u') {
        digits = 4;
    } else if (is_backslash && (uint8_t)(source[from] - '0') < 4) {
        digits = 3;
        has_letter = false;
    } else if (is_backslash && source[from] != 'x') {
        return 1;
    }
    size_t count = digits + has_letter;
    bool is_escape = at - from >= count && (at - from - count) % 4 == 0;
    for (size_t i = has_letter; is_escape && i < count; i++)
        is_escape = weir__decode_is(source[from + i], WEIR__IS_HEX);
    return is_escape ? count : is_backslash;
}

/* The stretch in which the place is. */
static void locate(const struct weir__decode_work *work, size_t at, struct weir__stretch *stretch)
{
    size_t least = work->done[WEIR__BASE64];
    least = least > stretch->until ? least : stretch->until;
    size_t from = at;
    unsigned kind = 0;
    /* Of which alphabet it is, what follows says first: a word may be glued to its beginning. */
    size_t until = span(work->source, at, work->length, &kind);
    for (; from > least && weir__decode_is(work->source[from - 1], WEIR__IS_BASE64); from--) {
        unsigned sign = weir__decode_class[(uint8_t)work->source[from - 1]] &
                        (WEIR__IS_STANDARD | WEIR__IS_URL_SAFE);
        if (sign && kind && sign != kind)
            break;
        kind |= sign;
    }
    if (from > least && from < at)
        from += escape_tail(work->source, from, at);
    /* Signs before the phase of the text belong to the margin. */
    unsigned signs = 0, skip = (unsigned)(at - from) % 4;
    while (signs < skip &&
           weir__decode_is(work->source[from + signs], WEIR__IS_STANDARD | WEIR__IS_URL_SAFE))
        signs++;
    if (signs > 0 && signs == skip) {
        from += signs;
        kind = 0;
        span(work->source, from, until, &kind);
    }
    *stretch = (struct weir__stretch){
        .from = from, .until = until, .width = until - from, .count = until - from};
    stretch->looked = until + LINE_AHEAD;
    stretch->margin = margin_before(work->source, from);
    if (stretch->width >= WEIR__BASE64_LEAST)
        add_lines(work, stretch, kind, (unsigned)(at - from) % 4);
    weir__decode_looked(work, from > BEFORE ? from - BEFORE : 0, stretch->looked);
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
    size_t bytes = bytes_of(characters), text = 0, wide = 0, quads = 0, nuls = 0;
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
        if (is_text)
            quads = nuls == 3 ? quads + 1 : 0;
        nuls = is_text ? 0 : byte == 0 ? nuls + 1 : 4;
        if (text >= needed || wide >= (size_t)2 * WEIR__TEXT_UNITS || quads >= WEIR__TEXT_UNITS)
            return true;
        before = (unsigned char)byte;
    }
    return false;
}

/* Characters of the lines that are full. Two signs of padding end a text, and no name. */
static size_t full_of(const struct weir__decode_work *work, const struct weir__stretch *stretch)
{
    const char *source = work->source;
    size_t until = stretch->until;
    bool is_padded = work->length - until >= 2 && source[until] == '=' && source[until + 1] == '=';
    return is_padded ? stretch->count : stretch->count / stretch->width * stretch->width;
}

/* Decodes so many characters of the stretch from the first of a line on, in the phase of the one
 * that is at an index, if there is text near it. Returns where they end; 0: there is none. */
static size_t take(struct weir__decode_work *work, size_t first, size_t count, size_t index)
{
    const struct weir__stretch *stretch = &work->stretch;
    unsigned skip = (unsigned)((index - first) % 4);
    size_t characters = count - skip, over = characters % 4;
    struct weir__decoded run = {.encoding = WEIR__BASE64,
                                .from = stretch->from + first + skip +
                                        first / stretch->width * stretch->gap,
                                .out_until = bytes_of(characters),
                                ._width = stretch->width,
                                ._gap = stretch->gap,
                                ._skip = skip};
    if (count < WEIR__BASE64_LEAST ||
        !is_text_near(work->source, &run, characters, index - first - skip))
        return 0;
    run.until = weir__base64_place(&run, characters - (over == 1 ? 2 : 1)) + 1;
    for (; over >= 2 && over < 4 && run.until < work->length && work->source[run.until] == '=';
         over++)
        run.until++;
    weir__decode_keep(work, &run);
    return run.until;
}

/* The line by itself. */
static void take_line(struct weir__decode_work *work, size_t line, size_t index)
{
    size_t first = line * work->stretch.width, rest = work->stretch.count - first;
    /* One that follows has nothing glued to its beginning. */
    if (line > 0 && (index - first) % 4 != 0)
        return;
    size_t until =
        take(work, first, rest < work->stretch.width ? rest : work->stretch.width, index);
    if (until > 0)
        work->done[WEIR__BASE64] = until;
}

void weir__decode_base64(struct weir__decode_work *work, size_t at)
{
    struct weir__stretch *stretch = &work->stretch;
    if (at < work->done[WEIR__BASE64] || !is_quick_text(work->source + at))
        return;
    if (at >= stretch->until)
        locate(work, at, stretch);
    if (stretch->count < WEIR__BASE64_LEAST || at < stretch->from)
        return;
    size_t line = (at - stretch->from) / (stretch->width + stretch->gap);
    size_t index = at - stretch->from - line * stretch->gap;
    size_t full = full_of(work, stretch);
    bool has_list =
        stretch->count > stretch->width && (!is_usual(stretch->width) || stretch->is_apart);
    if (!stretch->is_taken) {
        size_t until = take(work, 0, stretch->count, index);
        if (until == 0)
            return;
        stretch->is_taken = true;
        if (full < stretch->count && index < full && (full > stretch->width || !has_list))
            take(work, 0, full, index);
        if (!has_list)
            work->done[WEIR__BASE64] =
                full < stretch->count
                    ? stretch->from + full + (full / stretch->width - 1) * stretch->gap
                    : until;
    }
    if (has_list || (full < stretch->count && line * stretch->width >= full))
        take_line(work, line, index);
}

/* Hexadecimal digits. */

static bool is_letter(char byte)
{
    return weir__decode_is(byte, WEIR__IS_BASE64) &&
           !weir__decode_is(byte, WEIR__IS_STANDARD | WEIR__IS_URL_SAFE);
}

static void add_hex_lines(const struct weir__decode_work *work, struct weir__stretch *stretch)
{
    const char *source = work->source;
    for (;;) {
        size_t at = stretch->until;
        unsigned gap = gap_behind(work, stretch);
        /* Digits with a blank between them are numbers. */
        if (gap == 1 && source[at] == ' ')
            return;
        if (stretch->count == stretch->width) {
            stretch->gap = gap;
            stretch->is_apart = is_apart(source + at, gap);
        }
        if (!has_gap(stretch, gap))
            return;
        size_t from = at + gap, until = from;
        while (until < work->length && until - from <= stretch->width &&
               weir__decode_is(source[until], WEIR__IS_HEX))
            until++;
        if (until == from || until - from > stretch->width || (until - from) % 2 != 0 ||
            (until < work->length && (source[until] == '=' || is_letter(source[until]))))
            return;
        stretch->count += until - from;
        stretch->until = until;
        if (until - from < stretch->width)
            return;
    }
}

/* So many digits from the first of a line on. */
static bool offer_hex(struct weir__decode_work *work, const struct weir__stretch *stretch,
                      size_t first, size_t count)
{
    size_t from = stretch->from + first + first / stretch->width * stretch->gap;
    if (count < WEIR__HEX_LEAST)
        return false;
    /* A digit too many belongs to what is glued before, or behind. */
    for (unsigned skip = 0; skip < (count > stretch->width ? 1 : 2); skip++) {
        size_t bytes = (count - skip) / 2;
        struct weir__decoded run = {.encoding = WEIR__HEX,
                                    .from = from + skip,
                                    .out_until = bytes,
                                    ._width = stretch->width,
                                    ._gap = stretch->gap,
                                    ._skip = skip};
        run.until = weir__base64_place(&run, 2 * bytes - 1) + 1;
        if (weir__decode_offer(work, &run))
            return true;
    }
    return false;
}

void weir__decode_hex(struct weir__decode_work *work, size_t at)
{
    struct weir__stretch stretch = {.from = at, .until = at};
    size_t *from = &stretch.from, *until = &stretch.until;
    while (*from > work->done[WEIR__HEX] && weir__decode_is(work->source[*from - 1], WEIR__IS_HEX))
        --*from;
    while (*until < work->length && weir__decode_is(work->source[*until], WEIR__IS_HEX))
        ++*until;
    stretch.width = stretch.count = *until - *from;
    stretch.looked = *until + LINE_AHEAD;
    stretch.margin = margin_before(work->source, *from);
    if (stretch.width >= WEIR__HEX_LEAST && stretch.width % 2 == 0)
        add_hex_lines(work, &stretch);
    weir__decode_looked(work, *from > BEFORE ? *from - BEFORE : 0, stretch.looked);
    work->done[WEIR__HEX] = *until;
    bool is_text = offer_hex(work, &stretch, 0, stretch.count);
    if (stretch.count == stretch.width)
        return;
    /* As with base64: the last line, and those of a list, may be something else. */
    size_t full = stretch.count / stretch.width * stretch.width;
    size_t first = is_text && is_usual(stretch.width) && !stretch.is_apart ? full : 0;
    if (full < stretch.count && (first > 0 || full > stretch.width))
        offer_hex(work, &stretch, 0, full);
    for (; first < stretch.count; first += stretch.width)
        offer_hex(work, &stretch, first,
                  stretch.count - first < stretch.width ? stretch.count - first : stretch.width);
}
