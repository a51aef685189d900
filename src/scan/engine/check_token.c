/* check_token.c - tokens with a checksum, or with parts that can be told apart.
 *
 *     GitHub, npm   the last 6 characters are the CRC32, in base 62, of those behind the prefix
 *     GitLab        "routable" tokens end with the CRC32, in base 36, of all before it
 *     Grafana       service accounts: the CRC32 of all before it, its bytes in little-endian order
 *     age           bech32
 *     Bitcoin       base58 with the first 4 bytes of SHA-256 twice
 *     Sentry        of organizations: facts as JSON in base64, and 32 random bytes
 *     Slack         webhooks: team, application or workflow, and what is secret
 */
#include "check_part.h"

#include <string.h>

#include "banned.h"

/* A number with leading zeros; digits are 0-9, then the letters of the first case, then others. */
static bool is_number(const char *text, size_t length, uint32_t number, const char *digits)
{
    uint32_t base = (uint32_t)strlen(digits);
    while (length > 0) {
        if (text[--length] != digits[number % base])
            return false;
        number /= base;
    }
    return number == 0;
}

static bool is_base62_crc(const char *text, size_t length)
{
    static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    return is_number(text + length - 6, 6, weir__check_crc32(text, length - 6), digits);
}

#define GITHUB_BODY     36u
#define GITHUB_REFRESH  76u
#define GITHUB_BODY_MAX 512u

bool weir__check_github(const char *secret, size_t length)
{
    if (weir__check_skip(&secret, &length, "github_pat_"))
        return length == 22 + 1 + 59 && weir__check_all(secret, 22, WEIR__BASE62) &&
               secret[22] == '_' && weir__check_all(secret + 23, 59, WEIR__BASE62);
    if (length < 4 + GITHUB_BODY || memcmp(secret, "gh", 2) != 0 ||
        !memchr("pousr", secret[2], 5) || secret[3] != '_')
        return false;
    bool is_refresh = secret[2] == 'r' && length == 4 + GITHUB_REFRESH;
    secret += 4;
    length -= 4;
    /* Longer ones are announced, and how they end is not. */
    if (length > GITHUB_BODY && !is_refresh)
        return weir__check_is(secret, length, WEIR__BASE64URL | WEIR__DOT, GITHUB_BODY,
                              GITHUB_BODY_MAX);
    return weir__check_all(secret, length, WEIR__BASE62) && is_base62_crc(secret, length);
}

bool weir__check_npm(const char *secret, size_t length)
{
    return weir__check_skip(&secret, &length, "npm_") &&
           weir__check_is(secret, length, WEIR__BASE62, 36, 36) && is_base62_crc(secret, length);
}

/* GitLab. */

#define GITLAB_CRC         7u
#define GITLAB_LENGTH      2u /* digits of the payload's length */
#define GITLAB_PAYLOAD     27u
#define GITLAB_PAYLOAD_MAX 300u
#define GITLAB_OLD         20u
#define GITLAB_OLD_MAX     64u

static const char base36[] = "0123456789abcdefghijklmnopqrstuvwxyz";

/* PAYLOAD.LENGTH CRC, in later ones PAYLOAD.VERSION.LENGTH CRC; body is what follows the prefix. */
static bool is_routable(const char *secret, size_t length, size_t prefix)
{
    const char *body = secret + prefix;
    size_t body_length = length - prefix;
    size_t payload = weir__check_span(body, body_length, WEIR__BASE64URL);
    size_t at = payload;
    if (payload < GITLAB_PAYLOAD || payload > GITLAB_PAYLOAD_MAX)
        return false;
    if (body_length - at > 3 && body[at] == '.' && body[at + 3] == '.' &&
        weir__check_all(body + at + 1, 2, WEIR__DIGIT | WEIR__LOWER))
        at += 3;
    return body_length == at + 1 + GITLAB_LENGTH + GITLAB_CRC && body[at] == '.' &&
           is_number(body + at + 1, GITLAB_LENGTH, (uint32_t)payload, base36) &&
           is_number(secret + length - GITLAB_CRC, GITLAB_CRC,
                     weir__check_crc32(secret, length - GITLAB_CRC), base36);
}

bool weir__check_gitlab(const char *secret, size_t length)
{
    size_t prefix = weir__check_span(secret, length, WEIR__LOWER);
    if (length < 3 || memcmp(secret, "gl", 2) != 0 || prefix < 4 || prefix > 8 ||
        prefix == length || secret[prefix] != '-')
        return false;
    prefix++;
    if (memchr(secret + prefix, '.', length - prefix))
        return is_routable(secret, length, prefix);
    return weir__check_is(secret + prefix, length - prefix, WEIR__BASE64URL, GITLAB_OLD,
                          GITLAB_OLD_MAX);
}

bool weir__check_grafana(const char *secret, size_t length)
{
    const char *rest = secret;
    size_t rest_length = length;
    if (weir__check_skip(&rest, &rest_length, "glc_")) {
        uint8_t bytes[2];
        size_t count;
        return weir__check_base64(rest, rest_length, bytes, sizeof(bytes), &count) && count >= 24 &&
               bytes[0] == '{' && bytes[1] == '"';
    }
    if (!weir__check_skip(&rest, &rest_length, "glsa_") || rest_length != 32 + 1 + 8 ||
        !weir__check_all(rest, 32, WEIR__BASE62) || rest[32] != '_')
        return false;
    uint32_t crc = weir__check_crc32(secret, length - 9);
    return weir__check_is_hex32(rest + 33, __builtin_bswap32(crc));
}

/* age: bech32 (BIP 173) of 32 bytes under the name "age-secret-key-", all in capitals. */

static uint32_t bech32_step(uint32_t sum, unsigned value)
{
    static const uint32_t generators[] = {0x3b6a57b2, 0x26508e6d, 0x1ea119fa, 0x3d4233dd,
                                          0x2a1462b3};
    uint32_t top = sum >> 25;
    sum = (sum & 0x1ffffff) << 5 ^ value;
    for (unsigned i = 0; i < 5; i++)
        sum ^= top >> i & 1 ? generators[i] : 0;
    return sum;
}

bool weir__check_age(const char *secret, size_t length)
{
    static const char name[] = "age-secret-key-", alphabet[] = "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L";
    uint32_t sum = 1;
    if (!weir__check_skip(&secret, &length, "AGE-SECRET-KEY-1") || length != 52 + 6)
        return false;
    for (const char *p = name; *p; p++)
        sum = bech32_step(sum, (uint8_t)*p >> 5);
    sum = bech32_step(sum, 0);
    for (const char *p = name; *p; p++)
        sum = bech32_step(sum, *p & 31);
    for (size_t i = 0; i < length; i++) {
        const char *place = memchr(alphabet, secret[i], 32);
        if (!place)
            return false;
        sum = bech32_step(sum, (unsigned)(place - alphabet));
    }
    return sum == 1;
}

/* Bitcoin: version, 32 bytes, 1 more if the public key is compressed, 4 of the checksum. */

#define WIF_BYTES_MAX 38u

bool weir__check_bitcoin_wif(const char *secret, size_t length)
{
    static const char alphabet[] = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";
    uint8_t number[WIF_BYTES_MAX] = {0}, digest[32];
    if (length < 51 || length > 52)
        return false;
    for (size_t i = 0; i < length; i++) {
        const char *place = memchr(alphabet, secret[i], 58);
        unsigned carry = place ? (unsigned)(place - alphabet) : 0;
        if (!place)
            return false;
        for (size_t j = WIF_BYTES_MAX; j-- > 0; carry >>= 8) {
            carry += number[j] * 58u;
            number[j] = (uint8_t)carry;
        }
        if (carry)
            return false;
    }
    size_t bytes = number[0] ? WIF_BYTES_MAX : WIF_BYTES_MAX - 1;
    const uint8_t *first = number + WIF_BYTES_MAX - bytes;
    if ((*first != 0x80 && *first != 0xef) || (bytes == WIF_BYTES_MAX && first[33] != 1))
        return false;
    weir__check_sha256(first, bytes - 4, digest);
    weir__check_sha256(digest, sizeof(digest), digest);
    return memcmp(digest, first + bytes - 4, 4) == 0;
}

/* Sentry: sntrys_FACTS_SECRET. */

#define SENTRY_FACTS_MAX 1024u
#define SENTRY_SECRET    43u

bool weir__check_sentry_org(const char *secret, size_t length)
{
    static const char *const keys[] = {"\"iat\"", "\"url\"", "\"org\""};
    uint8_t facts[SENTRY_FACTS_MAX];
    size_t count = 0;
    if (!weir__check_skip(&secret, &length, "sntrys_") || length < SENTRY_SECRET + 2 ||
        secret[length - SENTRY_SECRET - 1] != '_' ||
        !weir__check_all(secret + length - SENTRY_SECRET, SENTRY_SECRET,
                         WEIR__BASE64STD | WEIR__DASH) ||
        !weir__check_base64(secret, length - SENTRY_SECRET - 1, facts, sizeof(facts), &count) ||
        count > sizeof(facts) || facts[0] != '{' || facts[count - 1] != '}')
        return false;
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
        if (!memmem(facts, count, keys[i], strlen(keys[i])))
            return false;
    return true;
}

/* Slack: T… or E…, then B… or A…, then 24 characters; of workflows with a number between them. */

static bool skip_id(const char **text, size_t *length, const char *letters, size_t most)
{
    size_t count = weir__check_span(*text, *length, WEIR__DIGIT | WEIR__UPPER);
    if (count < 7 || count > most || count == *length || (*text)[count] != '/' ||
        !strchr(letters, **text))
        return false;
    *text += count + 1;
    *length -= count + 1;
    return true;
}

bool weir__check_slack_webhook(const char *secret, size_t length)
{
    if (!skip_id(&secret, &length, "TE", 14))
        return false;
    if (skip_id(&secret, &length, "B", 14))
        return weir__check_is(secret, length, WEIR__BASE62, 24, 24);
    if (skip_id(&secret, &length, "A", 14)) {
        size_t digits = weir__check_span(secret, length, WEIR__DIGIT);
        return digits >= 10 && digits <= 24 && digits < length && secret[digits] == '/' &&
               weir__check_is(secret + digits + 1, length - digits - 1, WEIR__BASE62, 24, 32);
    }
    return false;
}
