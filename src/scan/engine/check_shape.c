/* check_shape.c - tokens of which only the shape is known. */
#include "check_part.h"

#include <string.h>

#include "banned.h"

/* A prefix and so many bytes of a set behind it; ends with a row without a prefix. */
struct shape {
    const char *prefix;
    unsigned set;
    size_t least, most;
};

static bool has_shape(const struct shape *shapes, const char *secret, size_t length)
{
    for (; shapes->prefix; shapes++) {
        const char *rest = secret;
        size_t rest_length = length;
        if (weir__check_skip(&rest, &rest_length, shapes->prefix) &&
            weir__check_is(rest, rest_length, shapes->set, shapes->least, shapes->most))
            return true;
    }
    return false;
}

bool weir__check_stripe(const char *secret, size_t length)
{
    static const struct shape shapes[] = {{"sk_live_", WEIR__BASE62, 16, 247},
                                          {"sk_test_", WEIR__BASE62, 16, 247},
                                          {"rk_live_", WEIR__BASE62, 16, 247},
                                          {"sk_prod_", WEIR__BASE62, 16, 247},
                                          {"rk_prod_", WEIR__BASE62, 16, 247},
                                          {"rk_test_", WEIR__BASE62, 16, 247},
                                          {"pk_live_", WEIR__BASE62, 16, 247},
                                          {"pk_test_", WEIR__BASE62, 16, 247},
                                          {"whsec_", WEIR__BASE64STD | WEIR__EQUALS, 32, 64},
                                          {NULL, 0, 0, 0}};
    return has_shape(shapes, secret, length);
}

bool weir__check_google_api(const char *secret, size_t length)
{
    static const struct shape shapes[] = {{"AIza", WEIR__BASE64URL, 35, 35}, {NULL, 0, 0, 0}};
    return has_shape(shapes, secret, length);
}

bool weir__check_twilio(const char *secret, size_t length)
{
    static const struct shape shapes[] = {
        {"SK", WEIR__XLOWER, 32, 32}, {"AC", WEIR__XLOWER, 32, 32}, {NULL, 0, 0, 0}};
    return has_shape(shapes, secret, length);
}

bool weir__check_shopify(const char *secret, size_t length)
{
    static const struct shape shapes[] = {
        {"shpat_", WEIR__XDIGIT, 32, 32},  {"shpca_", WEIR__XDIGIT, 32, 32},
        {"shppa_", WEIR__XDIGIT, 32, 32},  {"shpss_", WEIR__XDIGIT, 32, 32},
        {"shptka_", WEIR__XDIGIT, 32, 32}, {NULL, 0, 0, 0}};
    return has_shape(shapes, secret, length);
}

bool weir__check_digitalocean(const char *secret, size_t length)
{
    static const struct shape shapes[] = {{"dop_v1_", WEIR__XLOWER, 64, 64},
                                          {"doo_v1_", WEIR__XLOWER, 64, 64},
                                          {"dor_v1_", WEIR__XLOWER, 64, 64},
                                          {NULL, 0, 0, 0}};
    return has_shape(shapes, secret, length);
}

bool weir__check_dockerhub(const char *secret, size_t length)
{
    static const struct shape shapes[] = {{"dckr_pat_", WEIR__BASE64URL, 27, 27},
                                          {"dckr_oat_", WEIR__BASE64URL, 27, 40},
                                          {NULL, 0, 0, 0}};
    return has_shape(shapes, secret, length);
}

bool weir__check_huggingface(const char *secret, size_t length)
{
    static const struct shape shapes[] = {{"hf_", WEIR__UPPER | WEIR__LOWER, 34, 34},
                                          {"api_org_", WEIR__UPPER | WEIR__LOWER, 34, 34},
                                          {NULL, 0, 0, 0}};
    return has_shape(shapes, secret, length);
}

bool weir__check_planetscale(const char *secret, size_t length)
{
    unsigned set = WEIR__BASE64URL | WEIR__DOT | WEIR__EQUALS;
    const struct shape shapes[] = {{"pscale_tkn_", set, 32, 64},
                                   {"pscale_pw_", set, 32, 64},
                                   {"pscale_oauth_", set, 32, 64},
                                   {NULL, 0, 0, 0}};
    return has_shape(shapes, secret, length);
}

bool weir__check_databricks(const char *secret, size_t length)
{
    static const struct shape shapes[] = {{"dapi", WEIR__XLOWER, 32, 32}, {NULL, 0, 0, 0}};
    bool has_version = length > 2 && secret[length - 2] == '-' &&
                       weir__check_class(secret[length - 1]) & WEIR__DIGIT;
    return has_shape(shapes, secret, has_version ? length - 2 : length);
}

bool weir__check_vault(const char *secret, size_t length)
{
    static const struct shape shapes[] = {
        {"hvs.", WEIR__BASE64URL, 24, 300},     {"hvb.", WEIR__BASE64URL, 24, 512},
        {"hvr.", WEIR__BASE64URL, 24, 300},     {"s.", WEIR__BASE62, 24, 24},
        {"b.AAAAAQ", WEIR__BASE64URL, 24, 512}, {NULL, 0, 0, 0}};
    return has_shape(shapes, secret, length);
}

/* Nothing that Atlassian publishes says of what the 8 digits at the end are the sum. */
bool weir__check_atlassian(const char *secret, size_t length)
{
    if (length < 6 + 50 + 9 || length > 400 ||
        (memcmp(secret, "ATATT3", 6) != 0 && memcmp(secret, "ATCTT3", 6) != 0))
        return false;
    return weir__check_all(secret, length - 9, WEIR__BASE64URL) && secret[length - 9] == '=' &&
           weir__check_all(secret + length - 8, 8, WEIR__DIGIT | WEIR__HEX_UPPER);
}

bool weir__check_openai(const char *secret, size_t length)
{
    static const char mark[] = "T3BlbkFJ"; /* "OpenAI" */
    static const char *const kinds[] = {"proj-", "svcacct-", "admin-", "None-"};
    if (!weir__check_skip(&secret, &length, "sk-"))
        return false;
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        if (weir__check_skip(&secret, &length, kinds[i]))
            break;
    }
    const char *place = memmem(secret, length, mark, 8);
    if (!place || !weir__check_all(secret, length, WEIR__BASE64URL))
        return false;
    size_t before = (size_t)(place - secret), behind = length - before - 8;
    return before == behind && before >= 20 && before <= 100;
}

bool weir__check_anthropic(const char *secret, size_t length)
{
    if (!weir__check_skip(&secret, &length, "sk-ant-"))
        return false;
    size_t kind = weir__check_span(secret, length, WEIR__LOWER);
    size_t digits = weir__check_span(secret + kind, length - kind, WEIR__DIGIT);
    size_t at = kind + digits;
    return kind >= 3 && kind <= 12 && digits == 2 && at < length && secret[at] == '-' &&
           weir__check_is(secret + at + 1, length - at - 1, WEIR__BASE64URL, 80, 128) &&
           memcmp(secret + length - 2, "AA", 2) == 0;
}

bool weir__check_sendgrid(const char *secret, size_t length)
{
    return weir__check_skip(&secret, &length, "SG.") && length == 22 + 1 + 43 &&
           weir__check_all(secret, 22, WEIR__BASE64URL) && secret[22] == '.' &&
           weir__check_all(secret + 23, 43, WEIR__BASE64URL);
}

bool weir__check_telegram(const char *secret, size_t length)
{
    size_t digits = weir__check_span(secret, length, WEIR__DIGIT);
    return digits >= 7 && digits <= 11 && secret[0] != '0' && length == digits + 1 + 35 &&
           secret[digits] == ':' && weir__check_all(secret + digits + 1, 35, WEIR__BASE64URL);
}

/* Slack. */

static bool skip_part(const char **text, size_t *length, unsigned set, size_t least, size_t most)
{
    size_t count = weir__check_span(*text, *length, set);
    if (count < least || count > most || count == *length || (*text)[count] != '-')
        return false;
    *text += count + 1;
    *length -= count + 1;
    return true;
}

static bool is_slack_app(const char *rest, size_t length)
{
    return skip_part(&rest, &length, WEIR__DIGIT, 1, 2) &&
           skip_part(&rest, &length, WEIR__DIGIT | WEIR__UPPER, 8, 14) &&
           skip_part(&rest, &length, WEIR__DIGIT, 9, 15) &&
           weir__check_is(rest, length, WEIR__XLOWER, 64, 64);
}

/* Those that rotate hold the numbers in base64. */
static bool is_slack_rotating(const char *rest, size_t length)
{
    if (!weir__check_skip(&rest, &length, ".xoxp-") &&
        !weir__check_skip(&rest, &length, ".xoxb-") && !weir__check_skip(&rest, &length, "-"))
        return false;
    return skip_part(&rest, &length, WEIR__DIGIT, 1, 2) &&
           weir__check_is(rest, length, WEIR__BASE62, 80, 250);
}

bool weir__check_slack(const char *secret, size_t length)
{
    unsigned numbers = 0;
    if (weir__check_skip(&secret, &length, "xapp-"))
        return is_slack_app(secret, length);
    if (weir__check_skip(&secret, &length, "xoxe"))
        return is_slack_rotating(secret, length);
    if (length < 5 || memcmp(secret, "xox", 3) != 0 || !memchr("abcoprs", secret[3], 7) ||
        secret[4] != '-')
        return false;
    char kind = secret[3];
    secret += 5;
    length -= 5;
    if (kind == 'a' && weir__check_skip(&secret, &length, "2-"))
        kind = 'p';
    while (skip_part(&secret, &length, WEIR__DIGIT, 8, 15))
        numbers++;
    bool is_user = kind == 'p' && numbers >= 2;
    return numbers >= 1 && numbers <= 4 &&
           (is_user ? weir__check_is(secret, length, WEIR__XDIGIT, 32, 64)
                    : weir__check_is(secret, length, WEIR__BASE62, 24, 64));
}
