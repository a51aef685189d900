/* cid.c - see cid.h. */
#include "cid.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#include <weir/error.h>

#include "require.h"
#include "url.h"

#include "banned.h"

#define BYTES_MAX     192u /* of a CID: room for a hash of 128 bytes and four numbers */
#define HASH_MAX      128u
#define CODEC_RAW     0x55u
#define HASH_BLAKE3   0x1eu
#define HASH_SHA2_256 0x12u
#define VARINT_MAX    9u

static const char base32[] = "abcdefghijklmnopqrstuvwxyz234567";
static const char base36[] = "0123456789abcdefghijklmnopqrstuvwxyz";
static const char base58[] = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";
static const char base16[] = "0123456789abcdef";
static const char base64[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
static const char base64url[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

struct bytes {
    unsigned char at[BYTES_MAX];
    size_t length;
};

/* --- bases --- */

static int digit_of(const char *alphabet, bool is_upper, char c)
{
    if (is_upper && c >= 'a' && c <= 'z')
        return -1;
    char lower = is_upper && c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
    const char *found = c ? strchr(alphabet, lower) : NULL;
    return found ? (int)(found - alphabet) : -1;
}

/* Digits of so many bits each; what is left over at the end must be zero, and less than a digit. */
static int decode_bits(struct bytes *bytes, const char *text, size_t length, const char *alphabet,
                       unsigned width, bool is_upper)
{
    uint32_t word = 0;
    unsigned held = 0;
    bytes->length = 0;
    for (size_t i = 0; i < length; i++) {
        int digit = digit_of(alphabet, is_upper, text[i]);
        if (digit < 0 || bytes->length == BYTES_MAX)
            return -WEIR_E_INVALID;
        word = word << width | (uint32_t)digit;
        held += width;
        if (held >= 8) {
            held -= 8;
            bytes->at[bytes->length++] = (unsigned char)(word >> held);
            word &= (1u << held) - 1;
        }
    }
    return held < width && word == 0 ? 0 : -WEIR_E_INVALID;
}

/* One large number; each leading zero digit is a byte of its own. */
static int decode_number(struct bytes *bytes, const char *text, size_t length, const char *alphabet,
                         bool is_upper)
{
    unsigned base = (unsigned)strlen(alphabet);
    size_t zeros = 0, used = 0;
    unsigned char number[BYTES_MAX]; /* the last byte is the lowest */
    while (zeros < length && text[zeros] == alphabet[0])
        zeros++;
    for (size_t i = zeros; i < length; i++) {
        int digit = digit_of(alphabet, is_upper, text[i]);
        if (digit < 0)
            return -WEIR_E_INVALID;
        unsigned carry = (unsigned)digit;
        for (size_t k = 0; k < used || carry; k++) {
            if (k == BYTES_MAX)
                return -WEIR_E_INVALID;
            carry += k < used ? number[BYTES_MAX - 1 - k] * base : 0;
            number[BYTES_MAX - 1 - k] = (unsigned char)carry;
            carry >>= 8;
            used = k < used ? used : k + 1;
        }
    }
    if (zeros + used > BYTES_MAX)
        return -WEIR_E_INVALID;
    memset(bytes->at, 0, zeros);
    memcpy(bytes->at + zeros, number + BYTES_MAX - used, used);
    bytes->length = zeros + used;
    return 0;
}

static int decode(struct bytes *bytes, const char *text, size_t length)
{
    switch (length > 1 ? text[0] : '\0') {
    case 'b':
        return decode_bits(bytes, text + 1, length - 1, base32, 5, false);
    case 'B':
        return decode_bits(bytes, text + 1, length - 1, base32, 5, true);
    case 'f':
        return decode_bits(bytes, text + 1, length - 1, base16, 4, false);
    case 'F':
        return decode_bits(bytes, text + 1, length - 1, base16, 4, true);
    case 'm':
        return decode_bits(bytes, text + 1, length - 1, base64, 6, false);
    case 'u':
        return decode_bits(bytes, text + 1, length - 1, base64url, 6, false);
    case 'k':
        return decode_number(bytes, text + 1, length - 1, base36, false);
    case 'K':
        return decode_number(bytes, text + 1, length - 1, base36, true);
    case 'z':
        return decode_number(bytes, text + 1, length - 1, base58, false);
    default:
        return -WEIR_E_INVALID;
    }
}

/* --- what is in them --- */

/* A number of seven bits a byte, the lowest first, in its shortest form. */
static int take_number(const struct bytes *bytes, size_t *at, uint64_t *ret_number)
{
    uint64_t number = 0;
    for (unsigned i = 0; i < VARINT_MAX && *at < bytes->length; i++) {
        unsigned char byte = bytes->at[(*at)++];
        number |= (uint64_t)(byte & 0x7f) << (7 * i);
        if (byte & 0x80)
            continue;
        if (byte == 0 && i > 0)
            return -WEIR_E_INVALID;
        *ret_number = number;
        return 0;
    }
    return -WEIR_E_INVALID;
}

static int take_hash(const struct bytes *bytes, size_t at, struct weir__address *ret_address)
{
    uint64_t code, length;
    int error = take_number(bytes, &at, &code);
    if (!error)
        error = take_number(bytes, &at, &length);
    if (error || length > HASH_MAX || at + length != bytes->length)
        return -WEIR_E_INVALID;
    if (code != HASH_BLAKE3 || length != WEIR__ADDRESS_SIZE)
        return -WEIR_E_NOT_FOUND;
    memcpy(ret_address->bytes, bytes->at + at, WEIR__ADDRESS_SIZE);
    return 0;
}

/* Version 0 is nothing but the SHA-256 in base58. */
static int parse_v0(const char *text, size_t length)
{
    struct bytes bytes;
    if (decode_number(&bytes, text, length, base58, false) || bytes.length != 34 ||
        bytes.at[0] != HASH_SHA2_256 || bytes.at[1] != 32)
        return -WEIR_E_INVALID;
    return -WEIR_E_NOT_FOUND;
}

int weir__cid_parse(const char *text, size_t length, struct weir__address *ret_address)
{
    struct bytes bytes;
    uint64_t version, codec;
    size_t at = 0;
    if (length == 0 || length > WEIR__CID_MAX)
        return -WEIR_E_INVALID;
    if (length == 46 && memcmp(text, "Qm", 2) == 0)
        return parse_v0(text, length);
    if (decode(&bytes, text, length) || take_number(&bytes, &at, &version) || version != 1 ||
        take_number(&bytes, &at, &codec))
        return -WEIR_E_INVALID;
    return take_hash(&bytes, at, ret_address);
}

/* --- printing --- */

/* Text has room for it and a NUL. */
static void print_base32(const unsigned char *bytes, size_t length, char *text)
{
    uint32_t word = 0;
    unsigned held = 0;
    size_t used = 0;
    text[used++] = 'b';
    for (size_t i = 0; i < length; i++) {
        word = word << 8 | bytes[i];
        held += 8;
        while (held >= 5) {
            held -= 5;
            text[used++] = base32[word >> held & 31];
        }
        word &= (1u << held) - 1;
    }
    if (held > 0)
        text[used++] = base32[word << (5 - held) & 31];
    text[used] = '\0';
}

void weir__cid_print(const struct weir__address *address, char text[WEIR__CID_TEXT])
{
    unsigned char bytes[4 + WEIR__ADDRESS_SIZE] = {1, CODEC_RAW, HASH_BLAKE3, WEIR__ADDRESS_SIZE};
    memcpy(bytes + 4, address->bytes, WEIR__ADDRESS_SIZE);
    print_base32(bytes, sizeof(bytes), text);
}

/* Of a number that does not begin with more than one byte of zeros; digits from the lowest on. */
static void print_base58(const unsigned char *bytes, size_t length, char *text, size_t size)
{
    unsigned char digits[WEIR__PEER_TEXT];
    size_t used = 0, zeros = 0;
    while (zeros < length && bytes[zeros] == 0)
        zeros++;
    for (size_t i = zeros; i < length; i++) {
        unsigned carry = bytes[i];
        for (size_t k = 0; k < used || carry; k++) {
            carry += k < used ? digits[k] * 256u : 0;
            digits[k] = (unsigned char)(carry % 58);
            carry /= 58;
            used = k < used ? used : k + 1;
        }
    }
    WEIR__REQUIRE(zeros + used < size, "cid", "base58", "there is no room for it");
    memset(text, base58[0], zeros);
    for (size_t k = 0; k < used; k++)
        text[zeros + k] = base58[digits[used - 1 - k]];
    text[zeros + used] = '\0';
}

void weir__peer_print(const unsigned char public_key[WEIR__PUBLIC_KEY_SIZE],
                      char text[WEIR__PEER_TEXT])
{
    /* The identity hash of a message with the type (Ed25519) and the key. */
    unsigned char bytes[6 + WEIR__PUBLIC_KEY_SIZE] = {0,    4 + WEIR__PUBLIC_KEY_SIZE, 0x08, 0x01,
                                                      0x12, WEIR__PUBLIC_KEY_SIZE};
    memcpy(bytes + 6, public_key, WEIR__PUBLIC_KEY_SIZE);
    print_base58(bytes, sizeof(bytes), text, WEIR__PEER_TEXT);
}

/* Whatever is no letter, digit, '-', '.', '_' or '~' is escaped, '/' too. */
static void print_path(const char *path, size_t length, char *text, size_t size)
{
    static const char plain[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~";
    size_t used = strlen(text);
    for (size_t i = 0; i < length && used + 4 < size; i++) {
        if (strchr(plain, path[i]))
            text[used++] = path[i];
        else
            used += (size_t)snprintf(text + used, size - used, "%%%02X", (unsigned char)path[i]);
    }
    text[used] = '\0';
}

int weir__multiaddr_print(const char *url, char text[WEIR__MULTIADDR_TEXT])
{
    struct weir__url parts;
    struct in_addr v4;
    const char *why, *kind = "dns", *host = parts.host;
    char inner[WEIR__URL_HOST_MAX];
    if (strlen(url) > WEIR__CID_MAX || weir__url_parse(&parts, url, &why))
        return -WEIR_E_INVALID;
    if (parts.host[0] == '[') {
        kind = "ip6";
        snprintf(inner, sizeof(inner), "%.*s", (int)strcspn(parts.host + 1, "]"), parts.host + 1);
        host = inner;
    } else if (inet_pton(AF_INET, parts.host, &v4) == 1)
        kind = "ip4";
    snprintf(text, WEIR__MULTIADDR_TEXT, "/%s/%s/tcp/%u/%s", kind, host, parts.port,
             parts.is_https ? "tls/http" : "http");
    size_t length = strnlen(parts.target, parts.target_length);
    while (length > 0 && parts.target[length - 1] == '/')
        length--;
    const char *path = parts.target;
    while (length > 0 && path[0] == '/')
        path++, length--;
    if (length > 0) {
        size_t used = strlen(text);
        snprintf(text + used, WEIR__MULTIADDR_TEXT - used, "/http-path/");
        print_path(path, length, text, WEIR__MULTIADDR_TEXT);
    }
    return 0;
}
