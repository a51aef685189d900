/* cmd_name.c - weir name: what names mean, said by who has their key. */
#include <inttypes.h>
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
#include "print_json.h"
#include "utc.h"

#include "banned.h"

COMMAND(name);

#define JSON_MAX (64u << 10)

struct values {
    struct weir__index_values index; /* first */
    const char *key;
    uint64_t expires;
    bool bare;
};

static const char *const actions[] = {"put", "delete", "list", NULL};

static const struct weir__option options[] = {
    WEIR__INDEX_OPTIONS,
    {WEIR__OPTION_FILE(struct values, key), .name = "key", .letter = 'k', .value_name = "FILE",
     .help = "the key to sign with; see 'weir key'"},
    {WEIR__OPTION_DURATION(struct values, expires), .name = "expires", .letter = 'e',
     .min = 60 * WEIR_NS_PER_S, .max = 400 * 86400 * WEIR_NS_PER_S, .preset = "365d",
     .help = "of put: how long that holds; put it again before"},
    {WEIR__OPTION_FLAG(struct values, bare), .name = "bare",
     .help = "take a label as it is, under a prefix that the service binds to your key",
     .detail = "Without it a label gets '@' and the id of the key behind it."},
    WEIR__OPTIONS_END,
};

static const struct weir__operand operands[] = {
    {.name = "ACTION",
     .min = 1,
     .max = 1,
     .words = actions,
     .help = "put what a name means, delete it, or list names"},
    {.name = "NAME",
     .max = 2,
     .help = "the name, and of put the address that it means; of list, what names begin with"},
    {.name = NULL},
};

static const struct weir__example examples[] = {
    {"weir name put photos b3:af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262",
     "photos@KEYID means that from now on"},
    {"weir name delete photos", "and nothing any more"},
    {"weir name list team/", "what names are there?"},
    {NULL, NULL},
};

const struct weir__usage usage_name = {
    .description =
        "Says what names mean. A name is label@keyid, and only who has that key can speak for it; "
        "put signs a record with your key, and brings it to an index service. Who puts a name at "
        "the same time as somebody else with the same key is told, and changes nothing. When "
        "sources "
        "of the service fail, so that nobody knows what was put elsewhere, what the service has "
        "itself decides.\n\n"
        "delete brings a record that the name means nothing; it is remembered, so that no older "
        "one counts again. list prints the names that the service itself keeps: name, address, "
        "sequence, until when, with tabs between them.",
    .examples = examples,
    .variables = weir__index_client_variables,
    .operands = operands,
    .options = options,
    .values_size = sizeof(struct values),
};

static int refuse(const char *why)
{
    weir__log(WEIR__LOG_ERROR, "%s", why);
    return -WEIR_E_USAGE;
}

/* --- put and delete --- */

/* A label alone is one of the key's names. */
static int make_name(const struct values *values, const char *text, const struct weir__key *key,
                     struct weir__question *ret_question)
{
    char whole[WEIR__NAME_MAX + WEIR__KEYID_TEXT + 2], id[WEIR__KEYID_TEXT];
    struct weir__question question = {.kind = WEIR__ASK_NAME};
    bool is_label = !strchr(text, '@') && !values->bare;
    weir__key_id_print(&key->id, id);
    snprintf(whole, sizeof(whole), "%.*s%s%s", (int)WEIR__NAME_MAX + 1, text, is_label ? "@" : "",
             is_label ? id : "");
    if (weir__name_parse(whole, strlen(whole), &question.name)) {
        weir__log(WEIR__LOG_ERROR,
                  "'%s' is no name: parts of a-z, 0-9, '.', '_' and '-' with '/' between them",
                  WEIR__TYPED(text));
        return -WEIR_E_USAGE;
    }
    if (question.name.has_key && memcmp(&question.name.key, &key->id, sizeof(key->id)) != 0)
        return refuse("that name has the id of another key than the one you sign with");
    *ret_question = question;
    return 0;
}

/* What is there, as far as the service can say. */
struct current {
    bool is_known;
    uint64_t sequence; /* 0: nothing, or not known */
};

/* The key is ours, so what it has signed is believed. Sources that fail are no reason not to speak:
 * the service compares with what it has itself. */
static int find_current(struct weir__index_client *client, const struct weir__question *question,
                        const struct weir__key *key, struct current *ret_current,
                        char problem[WEIR__SERVICE_PROBLEM_MAX])
{
    char id[WEIR__KEYID_TEXT], binding[WEIR__NAME_MAX + WEIR__KEYID_TEXT + 2];
    const char *texts[] = {binding}, *why;
    struct weir__bindings *bindings = NULL;
    struct weir__index_found found;
    weir__key_id_print(&key->id, id);
    snprintf(binding, sizeof(binding), "%.*s=%s", (int)question->name.label_length,
             question->name.text, id);
    int error = weir__bindings_new(&bindings, texts, question->name.has_key ? 0 : 1, &why);
    if (error)
        return error;
    error = weir__index_client_find(client, question, bindings, false, &found, problem);
    weir__bindings_free(bindings);
    /* What another key of the prefix has signed cannot be verified here, and may be replaced. */
    bool is_of_others = error == -WEIR_E_FORBIDDEN && !question->name.has_key &&
                        !weir__index_client_refusal(client);
    bool is_known = !weir__index_client_cannot_know(client, error) && !is_of_others;
    if (error && error != -WEIR_E_NOT_FOUND && is_known)
        return error;
    *ret_current = (struct current){.is_known = is_known};
    if (error)
        return 0;
    /* What is stale is from before, and there may be something newer. */
    *ret_current = (struct current){.is_known = !found.is_stale,
                                    .sequence = found.is_stale ? 0 : found.name.sequence};
    weir__index_found_fini(&found);
    return 0;
}

static int print_changed(const struct weir__call *call, const struct weir__record *record)
{
    const struct values *values = call->values;
    if (values->index.json)
        weir__out_printf(call->out,
                         "{\"name\":\"%s\",\"sequence\":%" PRIu64 ",\"expires\":%" PRId64 "}\n",
                         record->name.text, record->sequence, record->expires_s);
    else
        weir__out_printf(call->out, "%s\n", record->name.text);
    return 0;
}

/* What to believe, and to go above, after a Conflict. False: somebody was faster, which is told.
 * The sequence of a name that was removed or has expired is learned in no other way; what was not
 * known, neither. */
static bool learn(const struct weir__index_client *client, const struct weir__record *record,
                  struct current *believed, uint64_t *above)
{
    uint64_t there;
    if (!weir__index_client_there(client, &there) || believed->sequence > 0)
        return false;
    if (believed->is_known && there < record->sequence)
        return false;
    if (!believed->is_known)
        *believed = (struct current){.is_known = true, .sequence = there};
    *above = there;
    return true;
}

/* With a sequence by time, or the next one where that is behind. */
static int bring(struct weir__index_client *client, const struct weir__key *key,
                 struct weir__record *record, struct current believed,
                 char problem[WEIR__SERVICE_PROBLEM_MAX])
{
    uint64_t above = believed.sequence, now = (uint64_t)record->issued_s;
    struct weir__record_bytes bytes;
    int error = -WEIR_E_CONFLICT;
    for (unsigned i = 0; i < WEIR__INDEX_BRING_MAX; i++) {
        if (above >= INT64_MAX)
            return weir__index_client_no_higher(client, problem);
        record->sequence = above >= now ? above + 1 : now;
        error = weir__record_sign(&bytes, record, key);
        if (error) {
            snprintf(problem, WEIR__SERVICE_PROBLEM_MAX, "that cannot be signed");
            return error;
        }
        error = weir__index_client_bring(client, record, &bytes, true, believed.sequence, problem);
        if (error != -WEIR_E_CONFLICT || !learn(client, record, &believed, &above))
            return error;
    }
    return error;
}

static int change(const struct weir__call *call, struct weir__index_client *client,
                  const struct weir__key *key, const struct weir__address *address,
                  char problem[WEIR__SERVICE_PROBLEM_MAX])
{
    const struct values *values = call->values;
    struct weir__question question;
    struct current current;
    int error = make_name(values, call->operands[1], key, &question);
    if (!error)
        error = find_current(client, &question, key, &current, problem);
    if (error)
        return error;
    if (!address && current.is_known && current.sequence == 0) {
        snprintf(problem, WEIR__SERVICE_PROBLEM_MAX, "there is no such name");
        return -WEIR_E_NOT_FOUND;
    }
    struct weir__record record = {
        .kind = WEIR__RECORD_NAME,
        .issued_s = weir_wall_s(),
        .name = question.name,
        .is_removal = !address,
    };
    record.expires_s = record.issued_s + (int64_t)(values->expires / WEIR_NS_PER_S);
    if (address)
        record.address = *address;
    error = bring(client, key, &record, current, problem);
    return error ? error : print_changed(call, &record);
}

static int run_change(const struct weir__call *call, struct weir__index_client *client, bool is_put,
                      char problem[WEIR__SERVICE_PROBLEM_MAX])
{
    const struct values *values = call->values;
    const char *text = is_put ? call->operands[2] : NULL;
    struct weir__address address;
    struct weir__key key;
    if (text && weir__address_parse(text, strlen(text), &address)) {
        weir__log(WEIR__LOG_ERROR, "'%s' is no address: b3: and 64 digits of 0-9a-f",
                  WEIR__TYPED(text));
        return -WEIR_E_USAGE;
    }
    int error = weir__index_read_key(&key, values->key, problem);
    if (!error) {
        error = change(call, client, &key, is_put ? &address : NULL, problem);
        weir__key_fini(&key);
    }
    if (error && problem[0])
        weir__log(WEIR__LOG_ERROR, "cannot %s '%s': %s", is_put ? "put" : "delete",
                  call->operands[1], problem);
    return error;
}

/* --- list --- */

static void print_one(const struct weir__call *call, const json_t *item)
{
    const struct values *values = call->values;
    const char *name = json_string_value(json_object_get(item, "name"));
    const char *manifest = json_string_value(json_object_get(item, "manifest"));
    long long sequence = json_integer_value(json_object_get(item, "sequence"));
    long long expires = json_integer_value(json_object_get(item, "expires"));
    char until[WEIR__UTC_SIZE];
    struct weir__name parsed;
    struct weir__address address;
    /* What is printed has the form that it should have, whoever sent it. */
    if (!name || !manifest || weir__name_parse(name, strlen(name), &parsed) ||
        weir__address_parse(manifest, strlen(manifest), &address))
        return;
    if (values->index.json)
        weir__out_printf(
            call->out, "{\"name\":\"%s\",\"manifest\":\"%s\",\"sequence\":%lld,\"expires\":%lld}\n",
            name, manifest, sequence, expires);
    else
        weir__out_printf(call->out, "%s\t%s\t%lld\t%s\n", name, manifest, sequence,
                         weir__utc_format(until, expires));
}

static int list(const struct weir__call *call, struct weir__index_client *client,
                char problem[WEIR__SERVICE_PROBLEM_MAX])
{
    const char *prefix = call->operands_count > 1 ? call->operands[1] : "";
    char after[WEIR__NAME_MAX + 1] = "";
    int error = 0;
    if (!weir__name_is_prefix(prefix, strlen(prefix))) {
        weir__log(WEIR__LOG_ERROR, "no name begins with '%s'", WEIR__TYPED(prefix));
        return -WEIR_E_USAGE;
    }
    do {
        json_t *page = NULL;
        error = weir__index_client_list(client, prefix, after, &page, problem);
        const json_t *names = json_object_get(page, "names");
        if (!error && !json_is_array(names)) {
            snprintf(problem, WEIR__SERVICE_PROBLEM_MAX,
                     "what the server says has no list of names in it");
            error = -WEIR_E_CORRUPT;
        }
        const char *next = json_string_value(json_object_get(page, "next"));
        for (size_t i = 0; !error && i < json_array_size(names); i++)
            print_one(call, json_array_get(names, i));
        snprintf(after, sizeof(after), "%s", next && strcmp(next, after) > 0 ? next : "");
        json_decref(page);
    } while (!error && after[0] && !weir__out_is_done(call->out));
    if (error)
        weir__log(WEIR__LOG_ERROR, "cannot list names: %s", problem);
    return error;
}

static int check(const struct weir__call *call, size_t action)
{
    const struct values *values = call->values;
    static const int most[] = {3, 2, 2}, least[] = {3, 2, 1};
    if (call->operands_count < least[action])
        return refuse(action == 0 ? "put which name, and what does it mean? give NAME and ADDRESS"
                                  : "which name?");
    if (call->operands_count > most[action])
        return refuse("that is one operand too many");
    if (action == 2 && (values->key || values->bare))
        return refuse("list signs nothing: leave --key and --bare out");
    return 0;
}

int cmd_name(const struct weir__call *call)
{
    const struct values *values = call->values;
    char problem[WEIR__SERVICE_PROBLEM_MAX] = "";
    struct weir__index_client *client = NULL;
    size_t action = 0;
    while (strcmp(actions[action], call->operands[0]) != 0)
        action++;
    int error = check(call, action);
    if (error)
        return error;
    error = weir__index_client_new(&client, &values->index, call->program->version);
    if (!error)
        error = action == 2 ? list(call, client, problem)
                            : run_change(call, client, action == 0, problem);
    if (error && error != -WEIR_E_USAGE)
        weir__index_print_failure(call->out, client, error, problem, values->index.json);
    weir__index_client_free(client);
    return error;
}
