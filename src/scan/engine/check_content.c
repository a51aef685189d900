/* check_content.c - secrets that hold something that can be looked at. */
#include "check_part.h"

#include <string.h>

#include "banned.h"

/* JSON. */

#define JSON_MAX 12288u /* decoded bytes of a part of a JWT: three quarters of the widest match */

/* One object from the first to the last byte: brackets and strings close, nothing is behind it. */
static bool is_object(const char *text, size_t length)
{
    size_t depth = 0;
    bool is_in_string = false;
    if (length < 2 || text[0] != '{')
        return false;
    for (size_t i = 0; i < length; i++) {
        char byte = text[i];
        if ((uint8_t)byte < 0x20 && byte != '\t' && byte != '\n' && byte != '\r')
            return false;
        if (is_in_string) {
            i += byte == '\\';
            is_in_string = byte != '"';
        } else if (byte == '"') {
            is_in_string = true;
        } else if (byte == '{' || byte == '[') {
            depth++;
        } else if (byte == '}' || byte == ']') {
            depth--;
            if (depth == 0)
                return i + 1 == length;
        }
    }
    return false;
}

static bool has_text(const char *text, size_t length, const char *part)
{
    return memmem(text, length, part, strlen(part)) != NULL;
}

/* A part of a JWT up to the dot, which is taken away; it is an object with the key, if any. */
static bool skip_object(const char **text, size_t *length, const char *key)
{
    uint8_t bytes[JSON_MAX];
    const char *dot = memchr(*text, '.', *length);
    size_t count, part = dot ? (size_t)(dot - *text) : 0;
    if (!dot || !weir__check_all(*text, part, WEIR__BASE64URL) ||
        !weir__check_base64(*text, part, bytes, sizeof(bytes), &count) || count > sizeof(bytes) ||
        !is_object((const char *)bytes, count) || !has_text((const char *)bytes, count, key))
        return false;
    *length -= part + 1;
    *text = dot + 1;
    return true;
}

bool weir__check_jwt(const char *secret, size_t length)
{
    return skip_object(&secret, &length, "\"alg\"") && skip_object(&secret, &length, "") &&
           weir__check_is(secret, length, WEIR__BASE64URL, 0, 2048);
}

bool weir__check_json_gcp(const char *secret, size_t length)
{
    static const char *const parts[] = {"\"type\"",    "\"service_account\"", "\"private_key\"",
                                        "-----BEGIN ", "\"client_email\"",    "\"private_key_id\""};
    if (length > WEIR__CHECK_MAX || !is_object(secret, length))
        return false;
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        if (!has_text(secret, length, parts[i]))
            return false;
    }
    return true;
}

bool weir__check_basic_auth(const char *secret, size_t length)
{
    uint8_t bytes[1024];
    size_t count;
    if (length < 6 || !weir__check_base64(secret, length, bytes, sizeof(bytes), &count) ||
        count > sizeof(bytes))
        return false;
    const uint8_t *colon = memchr(bytes, ':', count);
    for (size_t i = 0; i < count; i++) {
        if (bytes[i] < 0x20 || bytes[i] > 0x7e)
            return false;
    }
    return colon && colon > bytes && colon + 1 < bytes + count;
}

/* PyPI: a macaroon of version 2. A field is its type, its length and its bytes; a type of 0 ends a
 * section: the first (location, identifier), each caveat, and all of them; then the signature. */

#define FIELD_LOCATION  1u
#define FIELD_ID        2u
#define FIELD_VID       4u
#define FIELD_SIGNATURE 6u

/* The bytes of a field of the type; its length is a number in 7-bit groups. */
static bool skip_field(const uint8_t *bytes, size_t count, size_t *at, unsigned type,
                       size_t *ret_length)
{
    size_t length = 0, place = *at;
    if (place >= count || bytes[place++] != type)
        return false;
    for (unsigned shift = 0;; shift += 7) {
        if (place >= count || shift > 14)
            return false;
        length |= (size_t)(bytes[place] & 0x7f) << shift;
        if (!(bytes[place++] & 0x80))
            break;
    }
    if (length > count - place)
        return false;
    *ret_length = length;
    *at = place + length;
    return true;
}

static bool skip_end(const uint8_t *bytes, size_t count, size_t *at)
{
    if (*at >= count || bytes[*at] != 0)
        return false;
    ++*at;
    return true;
}

static bool is_macaroon(const uint8_t *bytes, size_t count)
{
    size_t at = 1, length = 0;
    if (count < 1 || bytes[0] != 2 || !skip_field(bytes, count, &at, FIELD_LOCATION, &length) ||
        length < 8 || memcmp(bytes + at - 8, "pypi.org", 8) != 0 ||
        !skip_field(bytes, count, &at, FIELD_ID, &length) || !skip_end(bytes, count, &at))
        return false;
    while (at < count && bytes[at] != 0) {
        if (bytes[at] == FIELD_LOCATION && !skip_field(bytes, count, &at, FIELD_LOCATION, &length))
            return false;
        if (!skip_field(bytes, count, &at, FIELD_ID, &length))
            return false;
        if (at < count && bytes[at] == FIELD_VID &&
            !skip_field(bytes, count, &at, FIELD_VID, &length))
            return false;
        if (!skip_end(bytes, count, &at))
            return false;
    }
    return skip_end(bytes, count, &at) && skip_field(bytes, count, &at, FIELD_SIGNATURE, &length) &&
           length == 32 && at == count;
}

bool weir__check_pypi(const char *secret, size_t length)
{
    uint8_t bytes[2048];
    size_t count;
    return weir__check_skip(&secret, &length, "pypi-") &&
           weir__check_all(secret, length, WEIR__BASE64URL) &&
           weir__check_base64(secret, length, bytes, sizeof(bytes), &count) &&
           count <= sizeof(bytes) && is_macaroon(bytes, count);
}

/* PEM. */

#define LABEL_MAX 64u

/* The label between the dashes of a line that begins with the word; the text goes on behind it. */
static bool skip_label(const char **text, size_t *length, const char *word, const char **ret_label,
                       size_t *ret_label_length)
{
    if (!weir__check_skip(text, length, word))
        return false;
    const char *end = memmem(*text, *length < LABEL_MAX ? *length : LABEL_MAX, "-----", 5);
    if (!end || end == *text)
        return false;
    *ret_label = *text;
    *ret_label_length = (size_t)(end - *text);
    *length -= *ret_label_length + 5;
    *text = end + 5;
    return true;
}

/* Blanks, line breaks, and breaks that are written as escapes. */
static void skip_space(const char **text, size_t *length)
{
    while (*length > 0) {
        size_t count = strchr(" \t\r\n", **text) && **text ? 1 : 0;
        if (**text == '\\' && *length >= 2 && ((*text)[1] == 'n' || (*text)[1] == 'r'))
            count = 2;
        if (count == 0)
            return;
        *text += count;
        *length -= count;
    }
}

/* Name: value, up to the end of the line. */
static bool skip_header(const char **text, size_t *length)
{
    size_t name = weir__check_span(*text, *length, WEIR__BASE64URL), count;
    if (name == 0 || name == *length || (*text)[name] != ':')
        return false;
    for (count = name; count < *length; count++) {
        if ((*text)[count] == '\n' || (*text)[count] == '\\')
            break;
    }
    *text += count;
    *length -= count;
    skip_space(text, length);
    return true;
}

struct body {
    char head[16]; /* the first characters */
    size_t characters, padding;
};

/* The base64 up to what is none. */
static void skip_body(const char **text, size_t *length, struct body *body)
{
    *body = (struct body){.characters = 0};
    for (skip_space(text, length); *length > 0; skip_space(text, length)) {
        unsigned class = weir__check_class(**text);
        if (!(class & (WEIR__BASE64STD | WEIR__EQUALS)) ||
            (body->padding > 0 && !(class & WEIR__EQUALS)))
            return;
        if (class & WEIR__EQUALS)
            body->padding++;
        else if (body->characters++ < sizeof(body->head))
            body->head[body->characters - 1] = **text;
        ++*text;
        --*length;
    }
}

/* A sequence of DER that is as long as the bytes are. */
static bool is_der(const uint8_t *head, size_t count)
{
    size_t digits = head[1] & 0x80 ? head[1] & 0x7f : 0;
    size_t length = digits ? 0 : head[1];
    if (count < 8 || head[0] != 0x30 || digits > 3)
        return false;
    for (size_t i = 0; i < digits; i++)
        length = length << 8 | head[2 + i];
    return length + 2 + digits == count;
}

bool weir__check_pem(const char *secret, size_t length)
{
    const char *begin, *end;
    size_t begin_length, end_length, count;
    struct body body;
    uint8_t head[12];
    bool has_headers = false;
    if (length > WEIR__CHECK_MAX ||
        !skip_label(&secret, &length, "-----BEGIN ", &begin, &begin_length))
        return false;
    skip_space(&secret, &length);
    while (skip_header(&secret, &length))
        has_headers = true;
    skip_body(&secret, &length, &body);
    bool is_pgp = begin_length > 4 && memcmp(begin, "PGP ", 4) == 0;
    if (is_pgp && body.padding > 0) { /* =XXXX is the checksum of the armour */
        size_t sum = weir__check_span(secret, length, WEIR__BASE64STD);
        secret += sum;
        length -= sum;
        skip_space(&secret, &length);
        body.padding = sum == 4 ? 0 : body.padding;
    }
    if (!skip_label(&secret, &length, "-----END ", &end, &end_length) ||
        end_length != begin_length || memcmp(begin, end, end_length) != 0)
        return false;
    skip_space(&secret, &length);
    size_t over = body.characters % 4;
    if (length > 0 || body.characters < sizeof(body.head) || over == 1 || body.padding > 2)
        return false;
    if (!weir__check_base64(body.head, sizeof(body.head), head, sizeof(head), &count))
        return false;
    if (is_pgp)
        return head[0] & 0x80; /* every packet begins so */
    if (has_headers)
        return true; /* encrypted: nothing is known of the bytes */
    if (memcmp(head, "openssh-key-", sizeof(head)) == 0)
        return true;
    return is_der(head, body.characters / 4 * 3 + (over ? over - 1 : 0));
}

/* Others. */

bool weir__check_discord(const char *secret, size_t length)
{
    uint8_t digits[24];
    size_t count, first = weir__check_span(secret, length, WEIR__BASE64URL);
    if (first == length || secret[first] != '.' ||
        !weir__check_base64(secret, first, digits, sizeof(digits), &count) || count < 15 ||
        count > 20 || !weir__check_all((const char *)digits, count, WEIR__DIGIT))
        return false;
    secret += first + 1;
    length -= first + 1;
    size_t second = weir__check_span(secret, length, WEIR__BASE64URL);
    return second >= 5 && second <= 7 && second < length && secret[second] == '.' &&
           weir__check_is(secret + second + 1, length - second - 1, WEIR__BASE64URL, 27, 40);
}

bool weir__check_azure_storage(const char *secret, size_t length)
{
    size_t count;
    uint8_t none;
    return length == 88 && weir__check_all(secret, 86, WEIR__BASE64STD) &&
           weir__check_base64(secret, length, &none, 0, &count) && count == 64;
}

#define AWS_ACCOUNT_MAX UINT64_C(999999999999)

/* The characters behind the prefix are base32. In all but old keys the first bit is set and the 40
 * behind it are the account that the key belongs to. */
bool weir__check_aws_key_id(const char *secret, size_t length)
{
    static const char *const prefixes[] = {"AKIA", "ASIA", "ABIA", "ACCA", "AROA", "AIDA", NULL};
    uint64_t bits = 0;
    bool is_known = false;
    for (size_t i = 0; prefixes[i] && !is_known; i++)
        is_known = length == 20 && memcmp(secret, prefixes[i], 4) == 0;
    if (!is_known)
        return false;
    for (size_t i = 4; i < 20; i++) {
        char byte = secret[i];
        bool is_letter = byte >= 'A' && byte <= 'Z';
        if (!is_letter && (byte < '2' || byte > '7'))
            return false;
        if (i < 4 + 9)
            bits = bits << 5 | (unsigned)(is_letter ? byte - 'A' : byte - '2' + 26);
    }
    bool has_account = bits >> 44 & 1;
    return !has_account || (bits >> 4 & UINT64_C(0xffffffffff)) <= AWS_ACCOUNT_MAX;
}

bool weir__check_aws_secret(const char *secret, size_t length)
{
    unsigned found = 0;
    for (size_t i = 0; i < length; i++)
        found |= weir__check_class(secret[i]);
    return length == 40 && weir__check_all(secret, length, WEIR__BASE64STD) &&
           !weir__check_all(secret, length, WEIR__XDIGIT) && (found & WEIR__BASE62) == WEIR__BASE62;
}

/* A number that is a private key: not 0, and below the order of the curve. */
bool weir__check_ethereum(const char *secret, size_t length)
{
    static const char order[] = "fffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141";
    char digits[64];
    uint32_t seen = 0;
    if (!weir__check_skip(&secret, &length, "0x"))
        weir__check_skip(&secret, &length, "0X");
    if (!weir__check_is(secret, length, WEIR__XDIGIT, 64, 64))
        return false;
    for (size_t i = 0; i < 64; i++) {
        bool is_capital = weir__check_class(secret[i]) & WEIR__HEX_UPPER;
        digits[i] = is_capital ? (char)(secret[i] + ('a' - 'A')) : secret[i];
        seen |= 1u << (digits[i] & 31);
    }
    return memcmp(digits, order, 64) < 0 && __builtin_popcount(seen) >= 8;
}

bool weir__check_uuid(const char *secret, size_t length)
{
    uint32_t seen = 0;
    if (length != 36)
        return false;
    for (size_t i = 0; i < length; i++) {
        bool is_dash = i == 8 || i == 13 || i == 18 || i == 23;
        if (is_dash ? secret[i] != '-' : !(weir__check_class(secret[i]) & WEIR__XDIGIT))
            return false;
        seen |= is_dash ? 0 : 1u << (secret[i] & 31);
    }
    return secret[14] >= '1' && secret[14] <= '8' && memchr("89abAB", secret[19], 6) &&
           __builtin_popcount(seen) >= 5 && weir__check_not_placeholder(secret, length);
}
