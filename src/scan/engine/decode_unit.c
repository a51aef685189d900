/* decode_unit.c - from source bytes to decoded bytes. */
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

/* {H…} from behind the brace on, or the digits of &#…; with what closes them. */
static size_t closed_number(const char *source, size_t at, size_t until, unsigned base, size_t most,
                            char close, uint32_t *ret_value)
{
    size_t digits = number(source, at, until, base, 1, most, ret_value);
    bool is_closed = digits > 0 && at + digits < until && source[at + digits] == close;
    return is_closed && *ret_value <= CODE_MAX ? digits + 1 : 0;
}

/* What an escape is worth. */
struct escape {
    uint32_t value; /* a surrogate is a value here */
    bool is_byte;   /* and not a code point */
};

/* &#NN; &#xHH; and the names of the signs that markup is made of. */
static size_t entity(const char *source, size_t at, size_t until, struct escape *ret)
{
    static const struct {
        char name[6], value;
    } named[] = {{"amp;", '&'}, {"quot;", '"'}, {"apos;", '\''}, {"lt;", '<'}, {"gt;", '>'}};
    size_t rest = until - at;
    if (rest >= 4 && source[at + 1] == '#') {
        bool is_hex = source[at + 2] == 'x' || source[at + 2] == 'X';
        size_t before = is_hex ? 3 : 2;
        size_t length = closed_number(source, at + before, until, is_hex ? 16 : 10, is_hex ? 6 : 7,
                                      ';', &ret->value);
        return length > 0 ? before + length : 0;
    }
    for (size_t i = 0; i < sizeof(named) / sizeof(named[0]); i++) {
        size_t length = strlen(named[i].name);
        if (rest > length && memcmp(source + at + 1, named[i].name, length) == 0) {
            ret->value = (uint8_t)named[i].value;
            return length + 1;
        }
    }
    return 0;
}

/* The letter behind backslashes and what belongs to it. */
static size_t letter(const char *source, size_t at, size_t until, struct escape *ret)
{
    static const char simple[] = "\"'/ntr", meant[] = "\"'/\n\t\r";
    size_t digits = 0;
    if (at == until)
        return 0;
    switch (source[at]) {
    case 'x':
        ret->is_byte = true;
        digits = number(source, at + 1, until, 16, 2, 2, &ret->value);
        break;
    case 'u':
        if (until - at >= 2 && source[at + 1] == '{') {
            digits = closed_number(source, at + 2, until, 16, 6, '}', &ret->value);
            return digits > 0 ? digits + 2 : 0;
        }
        digits = number(source, at + 1, until, 16, 4, 4, &ret->value);
        break;
    case 'U':
        digits = number(source, at + 1, until, 16, 8, 8, &ret->value);
        digits = ret->value <= CODE_MAX ? digits : 0;
        break;
    case '0':
    case '1':
        ret->is_byte = true;
        digits = number(source, at, until, 8, 3, 3, &ret->value);
        if (digits > 0 || source[at] != '0')
            return digits;
        ret->value = 0; /* \0, whatever digit comes behind it: so dumps of databases have it */
        return 1;
    default:
        for (size_t i = 0; simple[i]; i++) {
            if (source[at] == simple[i]) {
                ret->value = (uint8_t)meant[i];
                return 1;
            }
        }
        return 0;
    }
    return digits > 0 ? digits + 1 : 0;
}

/* A string within a string has its backslashes doubled. */
static size_t backslashed(const char *source, size_t at, size_t until, struct escape *ret)
{
    size_t count = 1;
    while (count < WEIR__BACKSLASHES_MAX && at + count < until && source[at + count] == '\\')
        count++;
    size_t length = letter(source, at + count, until, ret);
    return length > 0 ? count + length : 0;
}

static size_t percent(const char *source, size_t at, size_t until, struct escape *ret)
{
    size_t digits = 0;
    if (until - at >= 6 && source[at + 1] == 'u')
        digits = number(source, at + 2, until, 16, 4, 4, &ret->value);
    if (digits > 0)
        return digits + 2;
    ret->is_byte = true;
    digits = number(source, at + 1, until, 16, 2, 2, &ret->value);
    return digits > 0 ? digits + 1 : 0;
}

/* One escape by itself. */
static size_t single_escape(enum weir__encoding encoding, const char *source, size_t at,
                            size_t until, struct escape *ret)
{
    *ret = (struct escape){0};
    if (at == until)
        return 0;
    if (encoding == WEIR__PERCENT)
        return source[at] == '%' ? percent(source, at, until, ret) : 0;
    if (source[at] == '&')
        return entity(source, at, until, ret);
    return source[at] == '\\' ? backslashed(source, at, until, ret) : 0;
}

static size_t escape_unit(enum weir__encoding encoding, const char *source, size_t at, size_t until,
                          char bytes[4], size_t *ret_count)
{
    struct escape one, two;
    size_t length = single_escape(encoding, source, at, until, &one);
    if (length == 0)
        return 0;
    if (one.is_byte) {
        bytes[0] = (char)one.value;
        *ret_count = 1;
        return length;
    }
    if (is_low(one.value))
        return 0;
    if (is_high(one.value)) {
        size_t more = single_escape(encoding, source, at + length, until, &two);
        if (more == 0 || two.is_byte || !is_low(two.value))
            return 0;
        one.value = join(one.value, two.value);
        length += more;
    }
    *ret_count = put_utf8(one.value, bytes);
    return length;
}

size_t weir__escape_length(enum weir__encoding encoding, const char *source, size_t at,
                           size_t until, char *ret_first)
{
    char bytes[4];
    size_t count = 0, length = escape_unit(encoding, source, at, until, bytes, &count);
    if (length > 0)
        *ret_first = bytes[0];
    return length;
}

/* Lists. */

size_t weir__hex_item(const char *source, size_t at, size_t until, uint8_t *ret_value)
{
    uint32_t value;
    size_t before = until - at >= 4 && source[at] == '0' && (source[at + 1] | 0x20) == 'x' ? 2 : 0;
    size_t digits = number(source, at + before, until, 16, 2, 2, &value);
    if (digits == 0)
        return 0;
    *ret_value = (uint8_t)value;
    return before + digits;
}

size_t weir__decimal_item(const char *source, size_t at, size_t until, uint8_t *ret_value)
{
    uint32_t value;
    size_t digits = number(source, at, until, 10, 1, 3, &value);
    if (digits == 0 || value > UINT8_MAX)
        return 0;
    *ret_value = (uint8_t)value;
    return digits;
}

/* A byte and what is between it and the next. */
static size_t list_unit(enum weir__encoding encoding, const char *source, size_t at, size_t until,
                        char bytes[4])
{
    uint8_t value = 0;
    size_t length = encoding == WEIR__DECIMALS ? weir__decimal_item(source, at, until, &value)
                                               : weir__hex_item(source, at, until, &value);
    bytes[0] = (char)value;
    length = length > 0 ? length : 1;
    while (length < until - at && !weir__decode_is(source[at + length], WEIR__IS_HEX))
        length++;
    return length;
}

/* UTF-16 and UTF-32. */

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

static size_t quad_unit(enum weir__encoding encoding, const char *source, size_t at, char bytes[4],
                        size_t *ret_count)
{
    bool is_big = encoding == WEIR__UTF32BE;
    uint32_t code = 0;
    for (size_t i = 0; i < 4; i++)
        code = code << 8 | (uint8_t)source[at + (is_big ? i : 3 - i)];
    *ret_count = put_utf8(code, bytes);
    return 4;
}

size_t weir__decode_unit(enum weir__encoding encoding, const char *source, size_t at, size_t until,
                         char ret_bytes[4], size_t *ret_count)
{
    size_t length = 0;
    *ret_count = 1;
    switch (encoding) {
    case WEIR__UTF16LE:
    case WEIR__UTF16BE:
        return wide_unit(encoding, source, at, until, ret_bytes, ret_count);
    case WEIR__UTF32LE:
    case WEIR__UTF32BE:
        return quad_unit(encoding, source, at, ret_bytes, ret_count);
    case WEIR__HEX_LIST:
    case WEIR__DECIMALS:
        return list_unit(encoding, source, at, until, ret_bytes);
    default:
        length = escape_unit(encoding, source, at, until, ret_bytes, ret_count);
    }
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
    char characters[2 * WEIR__DECODE_PIECE];
    size_t bytes = gather(reader, characters, sizeof(characters)) / 2;
    const uint8_t *c = (const uint8_t *)characters;
    for (size_t i = 0; i < bytes; i++)
        piece[i] = (char)(weir__hex_value[c[2 * i]] << 4 | weir__hex_value[c[2 * i + 1]]);
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
    } else if (encoding == WEIR__UTF16LE || encoding == WEIR__UTF16BE) {
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
