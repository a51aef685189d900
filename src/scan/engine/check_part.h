/* check_part.h - what the files of the checks share.
 *
 *     check.c               the table of names
 *     check_sum.c           CRC32, SHA-256, base64, bech32 and base58: what checksums are made of
 *     check_token.c         tokens with a checksum
 *     check_shape.c         tokens of which only the shape is known
 *     check_content.c       secrets that hold something: JWT, PEM, macaroons, JSON …
 *     check_placeholder.c   what was written by people
 *     check_password.c      what may be a password
 *     check_entropy.c       entropy
 *
 * Where a provider says how a checksum is made, or where published examples prove it, it is
 * computed. Where neither is so, the shape is all that is checked: a check that is wrong about a
 * format hides real secrets.
 *
 * A check looks at the secret from its first to its last byte, at most WEIR__CHECK_MAX of them; a
 * longer one is refused.
 *
 * Ownership: nothing here owns anything.
 */
#ifndef WEIR_SCAN_ENGINE_CHECK_PART_H
#define WEIR_SCAN_ENGINE_CHECK_PART_H

#include "check.h"

#define WEIR__CHECK_MAX (64u << 10)

/* Classes of bytes; a set is an OR of them. */
#define WEIR__DIGIT     1u
#define WEIR__UPPER     2u
#define WEIR__LOWER     4u
#define WEIR__HEX_LOWER 8u  /* a to f */
#define WEIR__HEX_UPPER 16u /* A to F */
#define WEIR__DASH      32u /* - _ */
#define WEIR__PLUS      64u /* + / */
#define WEIR__DOT       128u
#define WEIR__EQUALS    256u
#define WEIR__BASE62    (WEIR__DIGIT | WEIR__UPPER | WEIR__LOWER)
#define WEIR__BASE64URL (WEIR__BASE62 | WEIR__DASH)
#define WEIR__BASE64STD (WEIR__BASE62 | WEIR__PLUS)
#define WEIR__XDIGIT    (WEIR__DIGIT | WEIR__HEX_LOWER | WEIR__HEX_UPPER)
#define WEIR__XLOWER    (WEIR__DIGIT | WEIR__HEX_LOWER)

unsigned weir__check_class(char byte);
/* How many bytes from the beginning are in the set. */
size_t weir__check_span(const char *text, size_t length, unsigned set);
static inline bool weir__check_all(const char *text, size_t length, unsigned set)
{
    return weir__check_span(text, length, set) == length;
}
/* Takes the prefix away if it is there. */
bool weir__check_skip(const char **text, size_t *length, const char *prefix);
/* least to most bytes, all of them in the set. */
bool weir__check_is(const char *text, size_t length, unsigned set, size_t least, size_t most);

/* Of a hundred pairs of letters those that words are full of; 0 where there are fewer than `least`.
 */
unsigned weir__check_pairs(const char *text, size_t length, size_t least);

/* Sums. */

uint32_t weir__check_crc32(const char *bytes, size_t length);
void weir__check_sha256(const uint8_t *bytes, size_t length, uint8_t digest[32]);
/* Either alphabet, not both; '=' at the end need not be there. Decodes as many bytes as there is
 * room for and tells how many there are altogether. False for what is not base64. */
bool weir__check_base64(const char *text, size_t length, uint8_t *bytes, size_t room,
                        size_t *ret_count);
/* Hexadecimal digits of either case for a value; the text has 8. */
bool weir__check_is_hex32(const char *text, uint32_t value);

/* The checks. */
weir__check weir__check_age, weir__check_anthropic, weir__check_atlassian, weir__check_aws_key_id,
    weir__check_aws_secret, weir__check_azure_storage, weir__check_basic_auth,
    weir__check_bitcoin_wif, weir__check_databricks, weir__check_digitalocean, weir__check_discord,
    weir__check_dockerhub, weir__check_ethereum, weir__check_github, weir__check_gitlab,
    weir__check_google_api, weir__check_grafana, weir__check_huggingface, weir__check_json_gcp,
    weir__check_jwt, weir__check_letters, weir__check_not_placeholder, weir__check_npm,
    weir__check_openai, weir__check_password, weir__check_pem, weir__check_planetscale,
    weir__check_pypi, weir__check_random, weir__check_sendgrid, weir__check_sentry_org,
    weir__check_shopify, weir__check_slack, weir__check_slack_webhook, weir__check_stripe,
    weir__check_telegram, weir__check_twilio, weir__check_uuid, weir__check_vault;

#endif
