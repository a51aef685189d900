/* access.c - see access.h. */
#include "access.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "json.h"
#include "text.h"
#include "utc.h"

#include "banned.h"

#define NOTHING "-"
#define CUT     "..."

struct piece {
    const char *bytes;
    size_t length;
    bool is_cut;
};

/* As much of it as may be shown, without a part of a character at its end. */
static struct piece clip(const char *bytes, size_t length, size_t max)
{
    struct piece piece = {bytes, length, length > max};
    if (!piece.is_cut)
        return piece;
    piece.length = max;
    for (int i = 0; i < 3 && ((unsigned char)bytes[piece.length] & 0xc0) == 0x80; i++)
        piece.length--;
    if (((unsigned char)bytes[piece.length] & 0xc0) == 0x80)
        piece.length = max; /* it is no UTF-8 */
    return piece;
}

static struct piece word(const char *text)
{
    return clip(text, strnlen(text, WEIR__ACCESS_WORD + 4), WEIR__ACCESS_WORD);
}

/* --- for people --- */

static int put_escaped(struct weir__buffer *buffer, struct piece piece, bool has_spaces)
{
    int result = 0;
    for (size_t at = 0; at < piece.length && result == 0;) {
        const unsigned char *p = (const unsigned char *)piece.bytes + at;
        size_t length = weir__text_utf8_length(p, piece.length - at);
        /* U+0080 to U+009F are controls as well. */
        bool is_control = *p < ' ' || *p == 0x7f || (length == 2 && *p == 0xc2 && p[1] < 0xa0);
        if (*p == '"' || *p == '\\')
            result = weir__buffer_printf(buffer, "\\%c", *p);
        else if (length == 0 || (length == 1 && is_control) || (*p == ' ' && !has_spaces))
            result = weir__buffer_printf(buffer, "\\x%02x", *p);
        else if (is_control)
            result = weir__buffer_printf(buffer, "\\x%02x\\x%02x", *p, p[1]);
        else
            result = weir__buffer_append(buffer, p, length);
        at += length > 0 ? length : 1;
    }
    return result == 0 && piece.is_cut ? weir__buffer_puts(buffer, CUT) : result;
}

static int put_word(struct weir__buffer *buffer, const char *text)
{
    int result = put_escaped(buffer, word(text && *text ? text : NOTHING), false);
    return result == 0 ? weir__buffer_putc(buffer, ' ') : result;
}

static int put_text(struct weir__buffer *buffer, const struct weir__access *access)
{
    char utc[WEIR__UTC_SIZE];
    const char *const words[] = {access->corr_id, access->client, access->method};
    int result = weir__buffer_printf(buffer, "%s ", weir__utc_format(utc, access->time_s));
    for (size_t i = 0; i < 3 && result == 0; i++)
        result = put_word(buffer, words[i]);
    if (result == 0)
        result = weir__buffer_putc(buffer, '"');
    if (result == 0)
        result =
            put_escaped(buffer, clip(access->path, access->path_length, WEIR__ACCESS_PATH), true);
    if (result == 0)
        result = weir__buffer_printf(
            buffer, "\" %u in=%" PRIu64 " out=%" PRIu64 " us=%" PRIu64 " token=", access->status,
            access->bytes_in, access->bytes_out, access->duration_us);
    if (result == 0)
        result = put_escaped(buffer, word(access->token_id ? access->token_id : NOTHING), false);
    return result == 0 ? weir__buffer_putc(buffer, '\n') : result;
}

/* --- as JSON --- */

static void put_string(struct weir__json *json, const char *key, struct piece piece)
{
    char text[WEIR__ACCESS_PATH + sizeof(CUT)];
    memcpy(text, piece.bytes, piece.length);
    memcpy(text + piece.length, CUT, sizeof(CUT));
    weir__json_key(json, key);
    weir__json_bytes(json, text, piece.length + (piece.is_cut ? strlen(CUT) : 0));
}

static void put_optional(struct weir__json *json, const char *key, const char *text)
{
    if (text) {
        put_string(json, key, word(text));
    } else {
        weir__json_key(json, key);
        weir__json_null(json);
    }
}

static void put_number(struct weir__json *json, const char *key, uint64_t value)
{
    weir__json_key(json, key);
    weir__json_u64(json, value);
}

static int put_json(struct weir__buffer *buffer, const struct weir__access *access)
{
    char utc[WEIR__UTC_SIZE];
    struct weir__json json;
    weir__json_init(&json, buffer);
    weir__json_object(&json);
    put_optional(&json, "time", weir__utc_format(utc, access->time_s));
    put_optional(&json, "corr_id", access->corr_id);
    put_optional(&json, "client", access->client);
    put_optional(&json, "method", access->method);
    put_string(&json, "path", clip(access->path, access->path_length, WEIR__ACCESS_PATH));
    put_number(&json, "status", access->status);
    put_number(&json, "bytes_in", access->bytes_in);
    put_number(&json, "bytes_out", access->bytes_out);
    put_number(&json, "duration_us", access->duration_us);
    put_optional(&json, "token_id", access->token_id);
    weir__json_end(&json);
    return weir__json_finish(&json);
}

int weir__access_put(struct weir__buffer *buffer, const struct weir__access *access,
                     enum weir__access_form form)
{
    size_t before = weir__buffer_length(buffer);
    int result = form == WEIR__ACCESS_JSON ? put_json(buffer, access) : put_text(buffer, access);
    if (result < 0)
        weir__buffer_truncate(buffer, before);
    return result;
}
