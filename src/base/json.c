/* json.c - escaping, commas and nesting.
 *
 * Numbers are put together here: printf takes a microsecond for each, and a report has a million.
 */
#include "json.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include <weir/error.h>

#include "require.h"
#include "text.h"

#include "banned.h"

#define PIECE_MAX  128u
#define DIGITS_MAX 24u
#define TEN_14     UINT64_C(100000000000000)

void weir__json_init(struct weir__json *json, struct weir__buffer *buffer)
{
    *json = (struct weir__json){._buffer = buffer};
}

static void note(struct weir__json *json, int result)
{
    if (json->_error == 0)
        json->_error = result;
}

static void put(struct weir__json *json, const char *bytes, size_t length)
{
    if (json->_error == 0)
        note(json, weir__buffer_append(json->_buffer, bytes, length));
}

static bool is_in_object(const struct weir__json *json)
{
    return json->_depth > 0 && json->_closers[json->_depth - 1] == '}';
}

/* What comes before any value. */
static void begin_value(struct weir__json *json)
{
    WEIR__REQUIRE(!is_in_object(json) || json->_has_key, "json", "",
                  "a value in an object needs a key");
    if (!json->_has_key && json->_needs_comma)
        put(json, json->_depth > 0 ? "," : "\n", 1);
    json->_has_key = false;
    json->_needs_comma = true;
}

static void open_nest(struct weir__json *json, const char *opener, char closer)
{
    begin_value(json);
    if (json->_depth == WEIR__JSON_DEPTH_MAX)
        note(json, -WEIR_E_OVERFLOW);
    if (json->_error != 0)
        return;
    put(json, opener, 1);
    json->_closers[json->_depth++] = closer;
    json->_needs_comma = false;
}

void weir__json_object(struct weir__json *json)
{
    if (json->_error == 0)
        open_nest(json, "{", '}');
}

void weir__json_array(struct weir__json *json)
{
    if (json->_error == 0)
        open_nest(json, "[", ']');
}

void weir__json_end(struct weir__json *json)
{
    if (json->_error != 0)
        return;
    WEIR__REQUIRE(json->_depth > 0 && !json->_has_key, "json", "", "an end without a begin");
    put(json, &json->_closers[--json->_depth], 1);
    json->_needs_comma = true;
}

static void put_escaped(struct weir__json *json, unsigned char byte)
{
    static const char letters[] = {
        ['\b'] = 'b', ['\t'] = 't', ['\n'] = 'n', ['\f'] = 'f', ['\r'] = 'r', ['"'] = '"'};
    char letter = byte == '\\' ? '\\' : byte < sizeof(letters) ? letters[byte] : '\0';
    if (letter != '\0')
        note(json, weir__buffer_printf(json->_buffer, "\\%c", letter));
    else
        note(json, weir__buffer_printf(json->_buffer, "\\u%04x", (unsigned)byte));
}

/* What stands for itself: put as a whole, since most texts are nothing else. */
static bool is_plain(unsigned char byte)
{
    return byte >= ' ' && byte < 0x7f && byte != '"' && byte != '\\';
}

static size_t plain_length(const unsigned char *text, size_t length)
{
    size_t plain = 0;
    while (plain < length && is_plain(text[plain]))
        plain++;
    return plain;
}

/* In one piece, if it is short and nothing in it is escaped. */
static bool is_put_plain(struct weir__json *json, const unsigned char *text, size_t length,
                         const char *behind)
{
    char piece[PIECE_MAX];
    size_t tail = strlen(behind);
    if (length + tail + 2 > sizeof(piece) || plain_length(text, length) < length)
        return false;
    piece[0] = '"';
    if (length > 0)
        memcpy(piece + 1, text, length);
    piece[length + 1] = '"';
    memcpy(piece + length + 2, behind, tail);
    put(json, piece, length + tail + 2);
    return true;
}

static void put_text(struct weir__json *json, const unsigned char *text, size_t length)
{
    if (is_put_plain(json, text, length, ""))
        return;
    put(json, "\"", 1);
    for (size_t i = 0; i < length && json->_error == 0;) {
        size_t plain = plain_length(text + i, length - i);
        put(json, (const char *)text + i, plain);
        i += plain;
        if (i == length)
            break;
        size_t step = weir__text_utf8_length(text + i, length - i);
        if (step == 0)
            put(json, "\xef\xbf\xbd", 3);
        else if (step == 2 && text[i] == 0xc2 && text[i + 1] < 0xa0)
            put_escaped(json, text[i + 1]); /* a control that some terminals obey */
        else if (text[i] < ' ' || text[i] == '"' || text[i] == '\\' || text[i] == 0x7f)
            put_escaped(json, text[i]);
        else
            put(json, (const char *)text + i, step);
        i += step ? step : 1;
    }
    put(json, "\"", 1);
}

void weir__json_key(struct weir__json *json, const char *key)
{
    if (json->_error != 0)
        return;
    WEIR__REQUIRE(is_in_object(json) && !json->_has_key, "json", key, "a key outside of an object");
    if (json->_needs_comma)
        put(json, ",", 1);
    if (!is_put_plain(json, (const unsigned char *)key, strlen(key), ":")) {
        put_text(json, (const unsigned char *)key, strlen(key));
        put(json, ":", 1);
    }
    json->_has_key = true;
}

void weir__json_bytes(struct weir__json *json, const void *text, size_t length)
{
    if (json->_error != 0)
        return;
    begin_value(json);
    put_text(json, text, length);
}

void weir__json_string(struct weir__json *json, const char *text)
{
    weir__json_bytes(json, text, strlen(text));
}

/* The digits of a number before `end`; where they begin. */
static char *digits_of(uint64_t value, char *end)
{
    do {
        *--end = (char)('0' + value % 10);
        value /= 10;
    } while (value > 0);
    return end;
}

void weir__json_u64(struct weir__json *json, uint64_t value)
{
    char text[DIGITS_MAX], *end = text + sizeof(text), *from = digits_of(value, end);
    if (json->_error != 0)
        return;
    begin_value(json);
    put(json, from, (size_t)(end - from));
}

void weir__json_i64(struct weir__json *json, int64_t value)
{
    if (json->_error != 0)
        return;
    begin_value(json);
    if (json->_error == 0)
        note(json, weir__buffer_printf(json->_buffer, "%" PRId64, value));
}

/* A number from 1 to below 10 as "%.15g" would write it: 14 digits behind the point, rounded to
 * even, without zeros at the end. It is exact: 53 bits of the number times 47 of 10^14 fit. */
static size_t put_digit_and_fraction(double value, char text[DIGITS_MAX])
{
    int exponent;
    double fraction = frexp(value, &exponent); /* in [1/2, 1), so that 53 bits hold it */
    unsigned shift = (unsigned)(53 - exponent);
    unsigned __int128 scaled = (unsigned __int128)(uint64_t)ldexp(fraction, 53) * TEN_14;
    unsigned __int128 left = scaled & (((unsigned __int128)1 << shift) - 1),
                      half = (unsigned __int128)1 << (shift - 1);
    uint64_t whole = (uint64_t)(scaled >> shift);
    whole += left > half || (left == half && (whole & 1));
    if (whole >= 10 * TEN_14)
        return 0; /* it is 10 now */
    char all[DIGITS_MAX], *end = all + sizeof(all), *from = digits_of(whole, end);
    while (end > from + 1 && end[-1] == '0')
        end--;
    size_t length = (size_t)(end - from);
    text[0] = from[0];
    if (length == 1)
        return 1;
    text[1] = '.';
    memcpy(text + 2, from + 1, length - 1);
    return length + 1;
}

void weir__json_real(struct weir__json *json, double value)
{
    char text[DIGITS_MAX];
    if (!isfinite(value)) {
        weir__json_null(json);
        return;
    }
    if (json->_error != 0)
        return;
    begin_value(json);
    size_t length = value >= 1 && value < 10 ? put_digit_and_fraction(value, text) : 0;
    if (length > 0)
        put(json, text, length);
    else if (json->_error == 0)
        note(json, weir__buffer_printf(json->_buffer, "%.15g", value));
}

static void put_word(struct weir__json *json, const char *word)
{
    if (json->_error != 0)
        return;
    begin_value(json);
    put(json, word, strlen(word));
}

void weir__json_bool(struct weir__json *json, bool value)
{
    put_word(json, value ? "true" : "false");
}

void weir__json_null(struct weir__json *json)
{
    put_word(json, "null");
}

int weir__json_finish(struct weir__json *json)
{
    WEIR__REQUIRE(json->_error != 0 || json->_depth == 0, "json", "", "a begin without an end");
    put(json, "\n", 1);
    return json->_error;
}
