/* check_sum.c - what checksums are made of.
 *
 * Secrets are short and checks are rare, so these are written to be read, not to be fast.
 */
#include "check_part.h"

#include <string.h>

#include "banned.h"

/* The polynomial of zlib, gzip and Ethernet, a bit at a time. */
uint32_t weir__check_crc32(const char *bytes, size_t length)
{
    uint32_t crc = UINT32_MAX;
    for (size_t i = 0; i < length; i++) {
        crc ^= (uint8_t)bytes[i];
        for (unsigned bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ (crc & 1 ? UINT32_C(0xedb88320) : 0);
    }
    return ~crc;
}

/* SHA-256, FIPS 180-4. */

static const uint32_t round_constants[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

static uint32_t turn(uint32_t word, unsigned count)
{
    return word >> count | word << (32 - count);
}

static void sha256_block(uint32_t state[8], const uint8_t block[64])
{
    uint32_t w[64], s[8];
    for (unsigned i = 0; i < 16; i++)
        w[i] = (uint32_t)block[4 * i] << 24 | (uint32_t)block[4 * i + 1] << 16 |
               (uint32_t)block[4 * i + 2] << 8 | block[4 * i + 3];
    for (unsigned i = 16; i < 64; i++) {
        uint32_t a = turn(w[i - 15], 7) ^ turn(w[i - 15], 18) ^ w[i - 15] >> 3;
        uint32_t b = turn(w[i - 2], 17) ^ turn(w[i - 2], 19) ^ w[i - 2] >> 10;
        w[i] = w[i - 16] + a + w[i - 7] + b;
    }
    memcpy(s, state, sizeof(s));
    for (unsigned i = 0; i < 64; i++) {
        uint32_t e = turn(s[4], 6) ^ turn(s[4], 11) ^ turn(s[4], 25);
        uint32_t first = s[7] + e + ((s[4] & s[5]) ^ (~s[4] & s[6])) + round_constants[i] + w[i];
        uint32_t a = turn(s[0], 2) ^ turn(s[0], 13) ^ turn(s[0], 22);
        uint32_t second = a + ((s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2]));
        memmove(s + 1, s, 7 * sizeof(*s));
        s[4] += first;
        s[0] = first + second;
    }
    for (unsigned i = 0; i < 8; i++)
        state[i] += s[i];
}

void weir__check_sha256(const uint8_t *bytes, size_t length, uint8_t digest[32])
{
    uint32_t state[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                         0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    uint8_t last[128] = {0};
    size_t at = 0;
    for (; length - at >= 64; at += 64)
        sha256_block(state, bytes + at);
    size_t rest = length - at, blocks = rest < 56 ? 1 : 2;
    memcpy(last, bytes + at, rest);
    last[rest] = 0x80;
    for (unsigned i = 0; i < 8; i++)
        last[64 * blocks - 1 - i] = (uint8_t)((uint64_t)length * 8 >> 8 * i);
    for (size_t i = 0; i < blocks; i++)
        sha256_block(state, last + 64 * i);
    for (unsigned i = 0; i < 32; i++)
        digest[i] = (uint8_t)(state[i / 4] >> (24 - 8 * (i % 4)));
}

/* Base64. */

static unsigned base64_value(char byte)
{
    if (byte >= 'A' && byte <= 'Z')
        return (unsigned)(byte - 'A');
    if (byte >= 'a' && byte <= 'z')
        return (unsigned)(byte - 'a') + 26;
    if (byte >= '0' && byte <= '9')
        return (unsigned)(byte - '0') + 52;
    return byte == '+' || byte == '-' ? 62 : 63;
}

bool weir__check_base64(const char *text, size_t length, uint8_t *bytes, size_t room,
                        size_t *ret_count)
{
    size_t padding = 0, count = 0;
    while (padding < 2 && padding < length && text[length - 1 - padding] == '=')
        padding++;
    size_t characters = length - padding;
    if (characters == 0 || characters % 4 == 1 || (padding > 0 && length % 4 != 0) ||
        !(weir__check_all(text, characters, WEIR__BASE64URL) ||
          weir__check_all(text, characters, WEIR__BASE64STD)))
        return false;
    uint32_t bits = 0;
    for (size_t i = 0; i < characters; i++) {
        bits = bits << 6 | base64_value(text[i]);
        if (i % 4 == 0)
            continue;
        if (count < room)
            bytes[count] = (uint8_t)(bits >> (6 - 2 * (i % 4)));
        count++;
    }
    *ret_count = count;
    return true;
}

bool weir__check_is_hex32(const char *text, uint32_t value)
{
    static const char digits[] = "0123456789abcdef";
    for (unsigned i = 0; i < 8; i++) {
        char byte = text[i] >= 'A' && text[i] <= 'F' ? (char)(text[i] + ('a' - 'A')) : text[i];
        if (byte != digits[value >> (28 - 4 * i) & 15])
            return false;
    }
    return true;
}
