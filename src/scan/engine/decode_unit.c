/* decode_unit.c - from source bytes to decoded bytes, and the way back.
 *
 * Base64 and hexadecimal have a fixed measure, so a place is computed. In a run of escapes or of
 * UTF-16 the units differ in length: the way back walks over them from the nearest mark.
 *
 * Walking from any beginning of a unit gives the same units, since no escape holds the beginning of
 * another: that is why marks suffice.
 */
#include "decode_part.h"

#include <string.h>

#include "banned.h"

#define SURROGATE_HIGH 0xd800u
#define SURROGATE_LOW  0xdc00u
#define CODE_MAX       0x10ffffu

static size_t put_utf8(uint32_t code, char bytes[4])
{
    if (code < 0x80) {
        bytes[0] = (char)code;
        return 1;
    }
    size_t count = code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    static const uint8_t first[] = {0, 0, 0xc0, 0xe0, 0xf0};
    for (size_t i = count; --i > 0; code >>= 6)
        bytes[i] = (char)(0x80 | (code & 0x3f));
    bytes[0] = (char)(first[count] | code);
    return count;
}

static bool is_high(uint32_t code)
{
    return (code & 0xfc00) == SURROGATE_HIGH;
}

static bool is_low(uint32_t code)
{
    return (code & 0xfc00) == SURROGATE_LOW;
}

static uint32_t join(uint32_t high, uint32_t low)
{
    return 0x10000 + ((high & 0x3ff) << 10) + (low & 0x3ff);
}

/* Escapes. */

/* least to most digits; returns how many there are, 0 for too few. */
static size_t number(const char *source, size_t at, size_t until, unsigned base, size_t least,
                     size_t most, uint32_t *ret_value)
{
    uint32_t value = 0;
    size_t count = 0;
    while (count < most && at + count < until) {
        char byte = source[at + count];
        if (!weir__decode_is(byte, WEIR__IS_HEX) || weir__hex_value[(uint8_t)byte] >= base)
            break;
        value = value * base + weir__hex_value[(uint8_t)byte];
        count++;
    }
    *ret_value = value;
    return count < least ? 0 : count;
}

/* \u{H…} from the brace on, or the digits of &#…; with what closes them. */
static size_t closed_number(const char *source, size_t at, size_t until, unsigned base, size_t most,
                            char close, uint32_t *ret_value)
{
    size_t digits = number(source, at, until, base, 1, most, ret_value);
    bool is_closed = digits > 0 && at + digits < until && source[at + digits] == close;
    return is_closed && *ret_value <= CODE_MAX ? digits + 1 : 0;
}

/* One escape by itself: its length and value. A surrogate is a value here. */
static size_t single_escape(const char *source, size_t at, size_t until, uint32_t *ret_value,
                            bool *ret_is_byte)
{
    *ret_is_byte = false;
    if (until - at < 4)
        return 0;
    char second = source[at + 1], third = source[at + 2];
    size_t length = 0, before = 2;
    if (source[at] == '&' && second == '#') {
        bool is_hex = third == 'x' || third == 'X';
        before = is_hex ? 3 : 2;
        length = closed_number(source, at + before, until, is_hex ? 16 : 10, is_hex ? 6 : 7, ';',
                               ret_value);
    } else if (source[at] == '\\' && second == 'x') {
        length = number(source, at + 2, until, 16, 2, 2, ret_value);
        *ret_is_byte = true;
    } else if (source[at] == '\\' && second == 'u' && third == '{') {
        before = 3;
        length = closed_number(source, at + 3, until, 16, 6, '}', ret_value);
    } else if (source[at] == '\\' && second == 'u') {
        length = number(source, at + 2, until, 16, 4, 4, ret_value);
    }
    return length > 0 ? before + length : 0;
}

static size_t escape_unit(const char *source, size_t at, size_t until, char bytes[4],
                          size_t *ret_count)
{
    uint32_t value = 0, low = 0;
    bool is_byte = false;
    size_t length = single_escape(source, at, until, &value, &is_byte);
    if (length > 0 && is_byte) {
        bytes[0] = (char)value;
        *ret_count = 1;
        return length;
    }
    if (length > 0 && is_high(value)) {
        size_t more = single_escape(source, at + length, until, &low, &is_byte);
        bool is_pair = more > 0 && !is_byte && is_low(low);
        value = is_pair ? join(value, low) : value;
        length = is_pair ? length + more : 0;
    } else if (is_low(value)) {
        length = 0;
    }
    if (length > 0)
        *ret_count = put_utf8(value, bytes);
    return length;
}

size_t weir__escape_length(const char *source, size_t at, size_t until)
{
    char bytes[4];
    size_t count = 0;
    return escape_unit(source, at, until, bytes, &count);
}

static size_t percent_unit(const char *source, size_t at, size_t until, char bytes[4])
{
    if (source[at] != '%' || until - at < 3 || !weir__decode_is(source[at + 1], WEIR__IS_HEX) ||
        !weir__decode_is(source[at + 2], WEIR__IS_HEX))
        return 0;
    bytes[0] = (char)(weir__hex_value[(uint8_t)source[at + 1]] << 4 |
                      weir__hex_value[(uint8_t)source[at + 2]]);
    return 3;
}

/* UTF-16. */

static uint32_t wide_at(enum weir__encoding encoding, const char *source, size_t at)
{
    uint32_t first = (uint8_t)source[at], second = (uint8_t)source[at + 1];
    return encoding == WEIR__UTF16LE ? first | second << 8 : first << 8 | second;
}

static size_t wide_unit(enum weir__encoding encoding, const char *source, size_t at, size_t until,
                        char bytes[4], size_t *ret_count)
{
    uint32_t code = wide_at(encoding, source, at);
    size_t length = 2;
    if (is_high(code) && until - at >= 4 && is_low(wide_at(encoding, source, at + 2))) {
        code = join(code, wide_at(encoding, source, at + 2));
        length = 4;
    }
    *ret_count = put_utf8(code, bytes);
    return length;
}

size_t weir__decode_unit(enum weir__encoding encoding, const char *source, size_t at, size_t until,
                         char ret_bytes[4], size_t *ret_count)
{
    size_t length = 0;
    *ret_count = 1;
    if (encoding == WEIR__UTF16LE || encoding == WEIR__UTF16BE)
        return wide_unit(encoding, source, at, until, ret_bytes, ret_count);
    if (encoding == WEIR__PERCENT)
        length = percent_unit(source, at, until, ret_bytes);
    else if (source[at] == '\\' || source[at] == '&')
        length = escape_unit(source, at, until, ret_bytes, ret_count);
    if (length == 0) {
        ret_bytes[0] = source[at];
        *ret_count = 1;
        return 1;
    }
    return length;
}

/* Reading. */

void weir__decode_reader_init(struct weir__decode_reader *reader, const char *source,
                              const struct weir__decoded *run)
{
    *reader = (struct weir__decode_reader){.source = source, .run = run};
    size_t bytes = run->out_until - run->out_from;
    if (run->encoding == WEIR__BASE64)
        reader->count = bytes / 3 * 4 + (bytes % 3 ? bytes % 3 + 1 : 0);
    else if (run->encoding == WEIR__HEX)
        reader->count = bytes * 2;
    else
        reader->at = run->from;
}

/* The characters of the next piece without the breaks between the lines. */
static size_t gather(struct weir__decode_reader *reader, char *characters, size_t most)
{
    const struct weir__decoded *run = reader->run;
    size_t count = reader->count - reader->at < most ? reader->count - reader->at : most;
    size_t column = (reader->at + run->_skip) % run->_width;
    const char *line = reader->source + weir__base64_place(run, reader->at) - column;
    for (size_t taken = 0; taken < count; column = 0, line += run->_width + run->_gap) {
        size_t some = run->_width - column < count - taken ? run->_width - column : count - taken;
        memcpy(characters + taken, line + column, some);
        taken += some;
    }
    reader->at += count;
    return count;
}

static size_t read_base64(struct weir__decode_reader *reader, char *piece)
{
    char characters[WEIR__DECODE_PIECE / 3 * 4];
    size_t count = gather(reader, characters, sizeof(characters)), bytes = 0;
    const uint8_t *c = (const uint8_t *)characters;
    for (; count >= 4; count -= 4, c += 4, bytes += 3) {
        uint32_t group = (uint32_t)weir__base64_value[c[0]] << 18 |
                         (uint32_t)weir__base64_value[c[1]] << 12 |
                         (uint32_t)weir__base64_value[c[2]] << 6 | weir__base64_value[c[3]];
        piece[bytes] = (char)(group >> 16);
        piece[bytes + 1] = (char)(group >> 8);
        piece[bytes + 2] = (char)group;
    }
    if (count >= 2)
        piece[bytes++] = (char)(weir__base64_value[c[0]] << 2 | weir__base64_value[c[1]] >> 4);
    if (count == 3)
        piece[bytes++] = (char)(weir__base64_value[c[1]] << 4 | weir__base64_value[c[2]] >> 2);
    return bytes;
}

static size_t read_hex(struct weir__decode_reader *reader, char *piece)
{
    const uint8_t *c = (const uint8_t *)reader->source + reader->run->from + reader->at;
    size_t bytes = (reader->count - reader->at) / 2;
    bytes = bytes < WEIR__DECODE_PIECE ? bytes : WEIR__DECODE_PIECE;
    for (size_t i = 0; i < bytes; i++)
        piece[i] = (char)(weir__hex_value[c[2 * i]] << 4 | weir__hex_value[c[2 * i + 1]]);
    reader->at += 2 * bytes;
    return bytes;
}

/* What most units are, without the detours of the rest: plain bytes, or ASCII in UTF-16. */
static size_t read_plain(struct weir__decode_reader *reader, char *piece, size_t most)
{
    const char *source = reader->source;
    enum weir__encoding encoding = reader->run->encoding;
    size_t at = reader->at, until = reader->run->until, count = 0;
    if (encoding == WEIR__PERCENT) {
        for (; count < most && at < until && source[at] != '%'; at++)
            piece[count++] = source[at];
    } else if (encoding == WEIR__ESCAPES) {
        for (; count < most && at < until && source[at] != '\\' && source[at] != '&'; at++)
            piece[count++] = source[at];
    } else {
        size_t low = encoding == WEIR__UTF16BE, high = 1 - low;
        for (; count < most && at < until && !source[at + high] && !(source[at + low] & 0x80);
             at += 2)
            piece[count++] = source[at + low];
    }
    reader->at = at;
    return count;
}

size_t weir__decode_read(struct weir__decode_reader *reader, char piece[WEIR__DECODE_PIECE])
{
    const struct weir__decoded *run = reader->run;
    if (run->encoding == WEIR__BASE64)
        return read_base64(reader, piece);
    if (run->encoding == WEIR__HEX)
        return read_hex(reader, piece);
    size_t bytes = 0;
    while (reader->at < run->until && bytes + 4 <= WEIR__DECODE_PIECE) {
        size_t plain = read_plain(reader, piece + bytes, WEIR__DECODE_PIECE - 3 - bytes), count;
        bytes += plain;
        if (plain > 0)
            continue;
        reader->at += weir__decode_unit(run->encoding, reader->source, reader->at, run->until,
                                        piece + bytes, &count);
        bytes += count;
    }
    return bytes;
}

/* The way back. */

static void place_base64(const struct weir__decoded *run, size_t from, size_t until,
                         size_t *ret_from, size_t *ret_until)
{
    bool is_end = from == run->out_until - run->out_from;
    *ret_from = is_end ? run->until : weir__base64_place(run, from / 3 * 4 + from % 3);
    *ret_until = *ret_from;
    if (until > from)
        *ret_until = weir__base64_place(run, (until - 1) / 3 * 4 + (until - 1) % 3 + 1) + 1;
}

static void place_units(const char *source, const struct weir__decoded *run, size_t from,
                        size_t until, size_t *ret_from, size_t *ret_until)
{
    size_t at = run->from, out = 0, start = run->from;
    for (size_t i = 0; i < WEIR__DECODED_MARKS && run->_marks[i].source > 0; i++) {
        if (run->_marks[i].out > from)
            break;
        at = run->from + run->_marks[i].source;
        out = run->_marks[i].out;
    }
    while (at < run->until && out <= from) {
        char bytes[4];
        size_t count;
        start = at;
        at += weir__decode_unit(run->encoding, source, at, run->until, bytes, &count);
        out += count;
    }
    *ret_from = out > from ? start : at; /* at the very end: behind the last unit */
    while (at < run->until && out < until) {
        char bytes[4];
        size_t count;
        at += weir__decode_unit(run->encoding, source, at, run->until, bytes, &count);
        out += count;
    }
    *ret_until = until > from ? at : *ret_from;
}

void weir__decoded_place(const char *source, const struct weir__decoded *run, size_t from,
                         size_t until, size_t *ret_from, size_t *ret_until)
{
    size_t most = run->out_until - run->out_from;
    until = until < most ? until : most;
    from = from < until ? from : until;
    if (run->encoding == WEIR__BASE64) {
        place_base64(run, from, until, ret_from, ret_until);
    } else if (run->encoding == WEIR__HEX) {
        *ret_from = run->from + 2 * from;
        *ret_until = run->from + 2 * until;
    } else {
        place_units(source, run, from, until, ret_from, ret_until);
    }
}
