/* token_text.c - tokens as they are written: base64 without padding, and in it packets
 *
 *     0012location weir\n
 *     004eidentifier v1:20261117T150652Z-9f3c21:0123456789abcdef:...\n
 *     001dcid method in GET,HEAD\n          any number
 *     002fsignature ................................\n
 *
 * each with its whole length in front, in four hexadecimal digits. This is the first version of the
 * format of macaroons, as libmacaroons writes it; only what it could have written is taken.
 */
#include "token.h"

#include <string.h>

#include <weir/error.h>

#include "banned.h"

#define LOCATION        "weir"
#define VERSION         "v1:"
#define NONCE           32u
#define SIGNATURE       32u
#define PACKET_HEAD     4u
#define IDENTIFIER_SIZE (sizeof(VERSION) - 1 + WEIR__KEY_ID_SIZE + WEIR__TOKEN_ID_SIZE + NONCE)

struct packets {
    const char *at;
    size_t left;
};

/* --- base64, of URLs --- */

static int digit(char c)
{
    if (c >= 'A' && c <= 'Z')
        return c - 'A';
    if (c >= 'a' && c <= 'z')
        return c - 'a' + 26;
    if (c >= '0' && c <= '9')
        return c - '0' + 52;
    return c == '-' ? 62 : c == '_' ? 63 : -1;
}

/* How many bytes; 0: it is no base64. Bits that mean nothing must be zero, so that there is one
 * text for each token. */
static size_t decode(char *bytes, const char *text, size_t length)
{
    unsigned bits = 0;
    size_t used = 0, has = 0;
    if (length % 4 == 1)
        return 0;
    for (size_t i = 0; i < length; i++) {
        int value = digit(text[i]);
        if (value < 0)
            return 0;
        bits = (bits << 6 | (unsigned)value) & 0xffffu;
        has += 6;
        if (has >= 8) {
            has -= 8;
            bytes[used++] = (char)(bits >> has & 0xffu);
        }
    }
    return (bits & ((1u << has) - 1)) == 0 ? used : 0;
}

/* --- packets --- */

static int hex_value(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Takes the next packet if it has that name. */
static bool next(struct packets *packets, const char *name, struct weir__token_caveat *ret_value)
{
    size_t length = 0, head = PACKET_HEAD + strlen(name) + 1;
    if (packets->left < head + 1)
        return false;
    for (size_t i = 0; i < PACKET_HEAD; i++) {
        int value = hex_value(packets->at[i]);
        if (value < 0)
            return false;
        length = length * 16 + (size_t)value;
    }
    if (length < head + 1 || length > packets->left || packets->at[length - 1] != '\n' ||
        memcmp(packets->at + PACKET_HEAD, name, strlen(name)) != 0 || packets->at[head - 1] != ' ')
        return false;
    *ret_value = (struct weir__token_caveat){packets->at + head, length - head - 1};
    packets->at += length;
    packets->left -= length;
    return true;
}

static bool is_hex(const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if (hex_value(text[i]) < 0)
            return false;
    return true;
}

/* v1:KEYID:TOKENID:NONCE, each part with its fixed length. */
static bool read_identifier(struct weir__token_view *view)
{
    const char *text = view->identifier.text, *key = text + sizeof(VERSION) - 1;
    const char *id = key + WEIR__KEY_ID_SIZE, *nonce = id + WEIR__TOKEN_ID_SIZE;
    if (view->identifier.length != IDENTIFIER_SIZE ||
        memcmp(text, VERSION, sizeof(VERSION) - 1) != 0 ||
        !weir__key_id_is_one(key, WEIR__KEY_ID_SIZE - 1) || id[-1] != ':' ||
        !is_hex(id, WEIR__TOKEN_ID_SIZE - 1) || nonce[-1] != ':' || !is_hex(nonce, NONCE))
        return false;
    memcpy(view->key_id, key, WEIR__KEY_ID_SIZE - 1);
    view->key_id[WEIR__KEY_ID_SIZE - 1] = '\0';
    memcpy(view->id, id, WEIR__TOKEN_ID_SIZE - 1);
    view->id[WEIR__TOKEN_ID_SIZE - 1] = '\0';
    return true;
}

static bool read_packets(struct weir__token_view *view, struct packets packets)
{
    struct weir__token_caveat value;
    if (!next(&packets, "location", &value) || value.length != strlen(LOCATION) ||
        memcmp(value.text, LOCATION, value.length) != 0 ||
        !next(&packets, "identifier", &view->identifier) || !read_identifier(view))
        return false;
    for (view->caveats_count = 0; next(&packets, "cid", &value); view->caveats_count++) {
        if (view->caveats_count == WEIR__TOKEN_CAVEATS_MAX || value.length == 0)
            return false;
        view->caveats[view->caveats_count] = value;
    }
    return next(&packets, "signature", &value) && value.length == SIGNATURE && packets.left == 0;
}

int weir__token_read(struct weir__token_view *ret_view, const char *text, size_t length)
{
    if (length == 0 || length > WEIR__TOKEN_MAX)
        return -WEIR_E_UNAUTHORIZED;
    size_t size = decode(ret_view->_bytes, text, length);
    struct packets packets = {ret_view->_bytes, size};
    return read_packets(ret_view, packets) ? 0 : -WEIR_E_UNAUTHORIZED;
}

/* --- the field --- */

int weir__token_from_header(const char *text, size_t length, const char **ret_token,
                            size_t *ret_length, const char **ret_why)
{
    static const char scheme[] = "bearer ";
    size_t at = sizeof(scheme) - 1;
    *ret_why = "is not shown: send 'Authorization: Bearer TOKEN'";
    if (!text || length <= at || strncasecmp(text, scheme, at) != 0)
        return -WEIR_E_UNAUTHORIZED;
    while (at < length && text[at] == ' ')
        at++;
    while (length > at && (text[length - 1] == ' ' || text[length - 1] == '\t'))
        length--;
    if (length == at)
        return -WEIR_E_UNAUTHORIZED;
    *ret_why = "is none: it is longer than 4096 bytes";
    if (length - at > WEIR__TOKEN_MAX)
        return -WEIR_E_UNAUTHORIZED;
    *ret_why = "is none: it has other characters than letters, digits, '-' and '_'";
    for (size_t i = at; i < length; i++)
        if (digit(text[i]) < 0)
            return -WEIR_E_UNAUTHORIZED;
    *ret_token = text + at;
    *ret_length = length - at;
    return 0;
}
