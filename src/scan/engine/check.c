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
    {"not-placeholder", weir__check_not_placeholder},
    {"npm", weir__check_npm},
    {"openai", weir__check_openai},
    {"pem", weir__check_pem},
    {"planetscale", weir__check_planetscale},
    {"pypi", weir__check_pypi},
    {"random", weir__check_random},
    {"sendgrid", weir__check_sendgrid},
    {"shopify", weir__check_shopify},
    {"slack", weir__check_slack},
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

bool weir__check_is_gate(const char *name)
{
    return strcmp(name, "not-placeholder") == 0 || strcmp(name, "random") == 0 ||
           strcmp(name, "basic-auth") == 0;
}

const char *weir__check_name(size_t index)
{
    return index < CHECKS_COUNT ? checks[index].name : NULL;
}

unsigned weir__check_class(char byte)
{
    if (byte >= '0' && byte <= '9')
        return WEIR__DIGIT;
    if (byte >= 'a' && byte <= 'z')
        return WEIR__LOWER | (byte <= 'f' ? WEIR__HEX_LOWER : 0);
    if (byte >= 'A' && byte <= 'Z')
        return WEIR__UPPER | (byte <= 'F' ? WEIR__HEX_UPPER : 0);
    switch (byte) {
    case '-':
    case '_':
        return WEIR__DASH;
    case '+':
    case '/':
        return WEIR__PLUS;
    case '.':
        return WEIR__DOT;
    case '=':
        return WEIR__EQUALS;
    default:
        return 0;
    }
}

size_t weir__check_span(const char *text, size_t length, unsigned set)
{
    size_t count = 0;
    while (count < length && weir__check_class(text[count]) & set)
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
