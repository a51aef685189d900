/* check.c - the table of names, and what all checks ask of bytes. */
#include "check_part.h"

#include <string.h>

#include "banned.h"

static const struct {
    const char *name;
    weir__check *check;
} checks[] = {
    {"age", weir__check_age},
    {"anthropic", weir__check_anthropic},
    {"atlassian", weir__check_atlassian},
    {"aws-key-id", weir__check_aws_key_id},
    {"aws-secret", weir__check_aws_secret},
    {"azure-storage", weir__check_azure_storage},
    {"basic-auth", weir__check_basic_auth},
    {"bitcoin-wif", weir__check_bitcoin_wif},
    {"databricks", weir__check_databricks},
    {"digitalocean", weir__check_digitalocean},
    {"discord", weir__check_discord},
    {"dockerhub", weir__check_dockerhub},
    {"ethereum", weir__check_ethereum},
    {"github", weir__check_github},
    {"gitlab-routable", weir__check_gitlab},
    {"google-api", weir__check_google_api},
    {"grafana", weir__check_grafana},
    {"huggingface", weir__check_huggingface},
    {"json-gcp", weir__check_json_gcp},
    {"jwt", weir__check_jwt},
    {"letters", weir__check_letters},
    {"not-placeholder", weir__check_not_placeholder},
    {"npm", weir__check_npm},
    {"openai", weir__check_openai},
    {"password", weir__check_password},
    {"pem", weir__check_pem},
    {"planetscale", weir__check_planetscale},
    {"pypi", weir__check_pypi},
    {"random", weir__check_random},
    {"sendgrid", weir__check_sendgrid},
    {"sentry-org", weir__check_sentry_org},
    {"shopify", weir__check_shopify},
    {"slack", weir__check_slack},
    {"slack-webhook", weir__check_slack_webhook},
    {"stripe", weir__check_stripe},
    {"telegram", weir__check_telegram},
    {"twilio", weir__check_twilio},
    {"uuid", weir__check_uuid},
    {"vault", weir__check_vault},
};

#define CHECKS_COUNT (sizeof(checks) / sizeof(checks[0]))

weir__check *weir__check_find(const char *name)
{
    for (size_t i = 0; i < CHECKS_COUNT; i++) {
        if (strcmp(checks[i].name, name) == 0)
            return checks[i].check;
    }
    return NULL;
}

/* Those that ask whether somebody wrote it rather than what it is made of: no proof. */
static bool is_about_looks(const char *name)
{
    return strcmp(name, "not-placeholder") == 0 || strcmp(name, "random") == 0 ||
           strcmp(name, "letters") == 0 || strcmp(name, "password") == 0;
}

bool weir__check_is_gate(const char *name)
{
    return is_about_looks(name) || strcmp(name, "basic-auth") == 0;
}

bool weir__check_is_proof(const char *name)
{
    return !is_about_looks(name);
}

const char *weir__check_name(size_t index)
{
    return index < CHECKS_COUNT ? checks[index].name : NULL;
}

#define D  WEIR__DIGIT
#define L  WEIR__LOWER
#define U  WEIR__UPPER
#define LX (WEIR__LOWER | WEIR__HEX_LOWER)
#define UX (WEIR__UPPER | WEIR__HEX_UPPER)
static const uint16_t classes[256] = {
    ['0'] = D,          ['1'] = D,          ['2'] = D,          ['3'] = D,
    ['4'] = D,          ['5'] = D,          ['6'] = D,          ['7'] = D,
    ['8'] = D,          ['9'] = D,          ['a'] = LX,         ['b'] = LX,
    ['c'] = LX,         ['d'] = LX,         ['e'] = LX,         ['f'] = LX,
    ['g'] = L,          ['h'] = L,          ['i'] = L,          ['j'] = L,
    ['k'] = L,          ['l'] = L,          ['m'] = L,          ['n'] = L,
    ['o'] = L,          ['p'] = L,          ['q'] = L,          ['r'] = L,
    ['s'] = L,          ['t'] = L,          ['u'] = L,          ['v'] = L,
    ['w'] = L,          ['x'] = L,          ['y'] = L,          ['z'] = L,
    ['A'] = UX,         ['B'] = UX,         ['C'] = UX,         ['D'] = UX,
    ['E'] = UX,         ['F'] = UX,         ['G'] = U,          ['H'] = U,
    ['I'] = U,          ['J'] = U,          ['K'] = U,          ['L'] = U,
    ['M'] = U,          ['N'] = U,          ['O'] = U,          ['P'] = U,
    ['Q'] = U,          ['R'] = U,          ['S'] = U,          ['T'] = U,
    ['U'] = U,          ['V'] = U,          ['W'] = U,          ['X'] = U,
    ['Y'] = U,          ['Z'] = U,          ['-'] = WEIR__DASH, ['_'] = WEIR__DASH,
    ['+'] = WEIR__PLUS, ['/'] = WEIR__PLUS, ['.'] = WEIR__DOT,  ['='] = WEIR__EQUALS};
#undef D
#undef L
#undef U
#undef LX
#undef UX

unsigned weir__check_class(char byte)
{
    return classes[(unsigned char)byte];
}

size_t weir__check_span(const char *text, size_t length, unsigned set)
{
    size_t count = 0;
    while (count < length && classes[(unsigned char)text[count]] & set)
        count++;
    return count;
}

bool weir__check_skip(const char **text, size_t *length, const char *prefix)
{
    size_t count = strlen(prefix);
    if (*length < count || memcmp(*text, prefix, count) != 0)
        return false;
    *text += count;
    *length -= count;
    return true;
}

bool weir__check_is(const char *text, size_t length, unsigned set, size_t least, size_t most)
{
    return length >= least && length <= most && weir__check_all(text, length, set);
}
