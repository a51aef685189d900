/* cmd_providers.c - weir providers: who has what an address stands for, and saying that you do. */
#include <stdio.h>
#include <string.h>

#include <weir/clock.h>
#include <weir/error.h>

#include "commands.h"
#include "cover.h"
#include "index_client.h"
#include "index_show.h"
#include "key.h"
#include "log.h"

#include "banned.h"

COMMAND(providers);

struct values {
    struct weir__index_values index; /* first */
    const char *announce;
    const char *key;
    uint64_t expires;
    const char *region;
    bool trace;
};

static const struct weir__option options[] = {
    WEIR__INDEX_OPTIONS,
    {WEIR__OPTION_FLAG(struct values, trace), .name = "trace",
     .help = "look it up anew, and show which source was asked when",
     .detail = "Also when nobody is found, or sources fail: then with how each of them failed."},
    {WEIR__OPTION_STRING(struct values, announce), .name = "announce", .value_name = "URL",
     .section = "To say that you provide it", .help = "that it is to be had there",
     .detail = "The URL of a storage service, as https://store.example."},
    {WEIR__OPTION_FILE(struct values, key), .name = "key", .letter = 'k', .value_name = "FILE",
     .help = "the key to sign with; see 'weir key'"},
    {WEIR__OPTION_DURATION(struct values, expires), .name = "expires", .letter = 'e',
     .min = 60 * WEIR_NS_PER_S, .max = 400 * 86400 * WEIR_NS_PER_S, .preset = "1d",
     .help = "how long that holds; say it again before"},
    {WEIR__OPTION_STRING(struct values, region), .name = "region", .value_name = "NAME",
     .help = "where the service is, as eu-west; a-z, 0-9 and '-'"},
    WEIR__OPTIONS_END,
};

static const struct weir__operand operands[] = {
    {.name = "ADDRESS", .min = 1, .max = 1, .help = "what is provided, as 'weir put' prints it"},
    {.name = NULL},
};

static const struct weir__example examples[] = {
    {"weir providers b3:af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262",
     "who has it? the best first"},
    {"weir providers --announce https://store.example --region eu --expires 7d b3:af1349...",
     "say that you do"},
    {"weir providers --json b3:af1349... | jq -r '.providers[].url'", "the URLs, for a program"},
    {NULL, NULL},
};

const struct weir__usage usage_providers = {
    .description =
        "Asks an index service who provides what an address stands for, and prints as 'weir "
        "resolve' does. With --announce it says so of a service of yours instead, by a record that "
        "your key signs; a later one of the same key takes the place of the one before. Providers "
        "of others are believed for no more than that: what is fetched from them is held against "
        "the address.",
    .examples = examples,
    .variables = weir__index_client_variables,
    .operands = operands,
    .options = options,
    .values_size = sizeof(struct values),
};

/* Above what our key has said before, as far as the service knows. */
static uint64_t next_sequence(const struct weir__index_found *found, const struct weir__key *key)
{
    uint64_t next = (uint64_t)weir_wall_s();
    for (size_t i = 0; found && i < found->providers_count; i++)
        if (memcmp(found->providers[i].public_key, key->public_key, sizeof(key->public_key)) == 0 &&
            found->providers[i].sequence >= next)
            next = found->providers[i].sequence + 1;
    return next;
}

/* With the next sequence, where the service has a higher one than anybody could tell. */
static int bring(struct weir__index_client *client, struct weir__record *record,
                 const struct weir__key *key, char problem[WEIR__SERVICE_PROBLEM_MAX])
{
    struct weir__record_bytes bytes;
    uint64_t there;
    int error = -WEIR_E_CONFLICT;
    for (unsigned i = 0; i < WEIR__INDEX_BRING_MAX && error == -WEIR_E_CONFLICT; i++) {
        if (record->sequence > INT64_MAX)
            return weir__index_client_no_higher(client, problem);
        if (weir__record_sign(&bytes, record, key)) {
            snprintf(problem, WEIR__SERVICE_PROBLEM_MAX,
                     "that cannot be signed: --region has a-z, 0-9 and '-'");
            return -WEIR_E_USAGE;
        }
        error = weir__index_client_bring(client, record, &bytes, false, 0, problem);
        if (error == -WEIR_E_CONFLICT && weir__index_client_there(client, &there) &&
            there >= record->sequence)
            record->sequence = there + 1;
    }
    return error;
}

static int announce(const struct weir__call *call, struct weir__index_client *client,
                    const struct weir__question *question, const struct weir__key *key,
                    char problem[WEIR__SERVICE_PROBLEM_MAX])
{
    const struct values *values = call->values;
    struct weir__index_found found;
    struct weir__record record = {
        .kind = WEIR__RECORD_PROVIDER, .issued_s = weir_wall_s(), .address = question->address};
    int error = weir__index_client_find(client, question, NULL, false, &found, problem);
    if (error && error != -WEIR_E_NOT_FOUND && !weir__index_client_cannot_know(client, error))
        return error;
    record.sequence = next_sequence(error ? NULL : &found, key);
    if (!error)
        weir__index_found_fini(&found);
    record.expires_s = record.issued_s + (int64_t)(values->expires / WEIR_NS_PER_S);
    snprintf(record.url, sizeof(record.url), "%s", values->announce);
    snprintf(record.region, sizeof(record.region), "%s", values->region ? values->region : "");
    error = bring(client, &record, key, problem);
    if (!error && values->index.json)
        weir__index_print_announced(call->out, &record);
    return error;
}

static int show(const struct weir__call *call, struct weir__index_client *client,
                const struct weir__question *question, char problem[WEIR__SERVICE_PROBLEM_MAX])
{
    const struct values *values = call->values;
    struct weir__index_found found;
    int error = weir__index_client_find(client, question, NULL, values->trace, &found, problem);
    if (error)
        return error;
    weir__index_tell(&found, false);
    error = values->index.json ? weir__index_print_json(call->out, question, &found)
                               : weir__index_print(call->out, &found);
    weir__index_found_fini(&found);
    return error;
}

static int check(const struct values *values)
{
    const char *wrong = values->announce ? weir__provider_url_check(values->announce) : NULL;
    if (wrong || (values->announce && strlen(values->announce) > WEIR__PROVIDER_URL_MAX)) {
        weir__log(WEIR__LOG_ERROR, "--announce '%s': %s", WEIR__TYPED(values->announce),
                  wrong ? wrong : "it is too long");
        return -WEIR_E_USAGE;
    }
    if (!values->announce && (values->key || values->region)) {
        weir__log(WEIR__LOG_ERROR, "--key and --region are of --announce");
        return -WEIR_E_USAGE;
    }
    return 0;
}

static int run(const struct weir__call *call, struct weir__index_client *client,
               const struct weir__question *question, char problem[WEIR__SERVICE_PROBLEM_MAX])
{
    const struct values *values = call->values;
    struct weir__key key;
    if (!values->announce)
        return show(call, client, question, problem);
    int error = weir__index_read_key(&key, values->key, problem);
    if (error)
        return error;
    error = announce(call, client, question, &key, problem);
    weir__key_fini(&key);
    return error;
}

int cmd_providers(const struct weir__call *call)
{
    const struct values *values = call->values;
    const char *text = call->operands[0];
    char problem[WEIR__SERVICE_PROBLEM_MAX] = "";
    struct weir__question question = {.kind = WEIR__ASK_PROVIDERS};
    struct weir__index_client *client = NULL;
    if (weir__address_parse(text, strlen(text), &question.address)) {
        weir__log(WEIR__LOG_ERROR, "'%s' is no address: b3: and 64 digits of 0-9a-f",
                  WEIR__TYPED(text));
        return -WEIR_E_USAGE;
    }
    int error = check(values);
    if (error)
        return error;
    error = weir__index_client_new(&client, &values->index, call->program->version);
    if (!error)
        error = run(call, client, &question, problem);
    if (error && problem[0])
        weir__log(WEIR__LOG_ERROR, "%s '%s': %s",
                  values->announce ? "cannot announce" : "cannot look for", WEIR__TYPED(text),
                  problem);
    if (error && error != -WEIR_E_USAGE)
        weir__index_print_failure(call->out, client, error, problem, values->index.json);
    weir__index_client_free(client);
    return error;
}
