/* decode_help.h - encoders, and what must hold of every run, for the tests and the fuzzer.
 *
 * The encoders and the decoder below are written from the definitions, byte by byte and with none
 * of the decoder's code: what they agree on is right or wrong for two reasons.
 *
 * Ownership: nothing here owns anything.
 */
#ifndef WEIR_TESTS_SCAN_DECODE_HELP_H
#define WEIR_TESTS_SCAN_DECODE_HELP_H

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "decode.h"

#define DECODE_ALL ((1u << WEIR__ENCODINGS) - 1)

static const char base64_standard[] =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
static const char base64_url[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

static inline size_t encode_base64(const char *bytes, size_t length, const char *alphabet,
                                   bool is_padded, char *out)
{
    size_t count = 0;
    for (size_t bit = 0; bit < length * 8; bit += 6) {
        unsigned value = 0;
        for (size_t i = bit; i < bit + 6; i++)
            value = value << 1 |
                    (i < length * 8 ? (unsigned)((uint8_t)bytes[i / 8] >> (7 - i % 8)) & 1 : 0);
        out[count++] = alphabet[value];
    }
    while (is_padded && count % 4)
        out[count++] = '=';
    return count;
}

/* The value of a character in either alphabet; -1 for none. */
static inline int base64_index(char byte)
{
    const char *place = byte ? strchr(base64_standard, byte) : NULL;
    if (place)
        return (int)(place - base64_standard);
    place = byte ? strchr(base64_url, byte) : NULL;
    return place ? (int)(place - base64_url) : -1;
}

/* All bits of the characters between two places of the source, breaks left out, from a character
 * that is the phase-th of its group; whole bytes of them. */
static inline size_t reference_base64(const char *source, size_t from, size_t until, unsigned phase,
                                      char *out)
{
    size_t count = 0, bits = 0, used = 0;
    uint32_t value = 0;
    for (size_t i = from; i < until; i++) {
        int index = base64_index(source[i]);
        /* The n of a break that is written as an escape is no character. */
        bool is_escaped = i > 0 && source[i - 1] == '\\' && i > from;
        if (index < 0 || is_escaped)
            continue;
        value = value << 6 | (uint32_t)index;
        bits += 6;
        if (used == 0) {
            /* What the first character holds of the byte before is not asked for. */
            bits -= phase == 0 ? 0 : 2 * (size_t)phase;
            used = 1;
        }
        if (bits >= 8) {
            out[count++] = (char)(value >> (bits - 8));
            bits -= 8;
        }
    }
    return count;
}

static inline size_t encode_utf8(uint32_t code, char out[4])
{
    if (code < 0x80) {
        out[0] = (char)code;
        return 1;
    }
    if (code < 0x800) {
        out[0] = (char)(0xc0 | code >> 6);
        out[1] = (char)(0x80 | (code & 63));
        return 2;
    }
    if (code < 0x10000) {
        out[0] = (char)(0xe0 | code >> 12);
        out[1] = (char)(0x80 | (code >> 6 & 63));
        out[2] = (char)(0x80 | (code & 63));
        return 3;
    }
    out[0] = (char)(0xf0 | code >> 18);
    out[1] = (char)(0x80 | (code >> 12 & 63));
    out[2] = (char)(0x80 | (code >> 6 & 63));
    out[3] = (char)(0x80 | (code & 63));
    return 4;
}

/* UTF-16 of a code point in either order. */
static inline size_t encode_wide(uint32_t code, bool is_big, char out[4])
{
    uint32_t units[2] = {code, 0};
    size_t count = 1;
    if (code >= 0x10000) {
        units[0] = 0xd800 + ((code - 0x10000) >> 10);
        units[1] = 0xdc00 + ((code - 0x10000) & 0x3ff);
        count = 2;
    }
    for (size_t i = 0; i < count; i++) {
        out[2 * i + is_big] = (char)(units[i] & 0xff);
        out[2 * i + !is_big] = (char)(units[i] >> 8);
    }
    return 2 * count;
}

#endif
