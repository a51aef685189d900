/* cmd_resolve.c - weir resolve: what a name means, and who provides it. */
#include <stdio.h>
#include <string.h>

#include <weir/error.h>

#include "commands.h"
#include "cover.h"
#include "given.h"
#include "index_client.h"
#include "index_show.h"
#include "log.h"

#include "banned.h"

COMMAND(resolve);

struct values {
    struct weir__index_values index; /* first */
    struct weir__list trust;
    bool trace;
    bool verbose;
};

static const struct weir__option options[] = {
    WEIR__INDEX_OPTIONS,
    {WEIR__OPTION_LIST(struct values, trust), .name = "trust", .value_name = "PREFIX=KEYID",
     .help = "believe this key about names below that prefix",
     .detail = "For names without a key in them. Several ids have '+' between them; may be given "
               "several times."},
    {WEIR__OPTION_FLAG(struct values, trace), .name = "trace",
     .help = "look it up anew, and show which source was asked when",
     .detail = "Also when it is not found, or sources fail: then with how each of them failed."},
    {WEIR__OPTION_FLAG(struct values, verbose), .name = "verbose", .letter = 'v',
     .help = "say who has signed it, until when it holds and who knew it"},
    WEIR__OPTIONS_END,
};

static const struct weir__operand operands[] = {
    {.name = "NAME", .min = 1, .max = 1, .help = "a name, as label@keyid, or an address"},
    {.name = NULL},
};

static const struct weir__example examples[] = {
    {"weir resolve photos@mfrggzdfmztwq2lknnwg23tpobyxe43u",
     "print the address, then who provides it, the best first"},
    {"weir get $(weir resolve photos@mfrggzdfmztwq2lknnwg23tpobyxe43u | head -1) >photos.tar",
     "fetch what it means"},
    {"weir resolve --trust team=mfrggzdfmztwq2lknnwg23tpobyxe43u team/site",
     "a name without a key in it"},
    {"weir resolve --trace team/site@mfrggzdfmztwq2lknnwg23tpobyxe43u",
     "which source answered, and how fast?"},
    {NULL, NULL},
};

const struct weir__usage usage_resolve = {
    .description =
        "Asks an index service what a name means. Prints the address on the first line and then a "
        "line for each provider: its URL, its region and how fast it answers, with tabs between "
        "them. Of an address the providers alone are new.\n\n"
        "The service is not trusted: all that is printed was signed by the key of the name, and of "
        "each provider, which is checked here. An answer from before, when no source answers the "
        "service, is told as such. The exit status is 3 when there is no such name.",
    .examples = examples,
    .variables = weir__index_client_variables,
    .operands = operands,
    .options = options,
    .values_size = sizeof(struct values),
};

static int read_trust(const struct values *values, struct weir__bindings **ret_bindings)
{
    const char *why = "";
    int error = weir__bindings_new(ret_bindings, values->trust.items, values->trust.count, &why);
    if (error)
        weir__log(WEIR__LOG_ERROR, "--trust: %s",
                  error == -WEIR_E_INVALID ? why : weir_error_text(error));
    return error == -WEIR_E_INVALID ? -WEIR_E_USAGE : error;
}

static int run(const struct weir__call *call, const struct weir__question *question,
               const struct weir__bindings *bindings)
{
    const struct values *values = call->values;
    char problem[WEIR__SERVICE_PROBLEM_MAX] = "";
    struct weir__index_client *client = NULL;
    struct weir__index_found found;
    int error = weir__index_client_new(&client, &values->index, call->program->version);
    if (!error) {
        error = weir__index_client_find(client, question, bindings, values->trace, &found, problem);
        if (error)
            weir__log(WEIR__LOG_ERROR, "cannot resolve '%s': %s", call->operands[0], problem);
    }
    if (error) {
        weir__index_print_failure(call->out, client, error, problem, values->index.json);
    } else {
        weir__index_tell(&found, values->verbose);
        error = values->index.json ? weir__index_print_json(call->out, question, &found)
                                   : weir__index_print(call->out, &found);
        weir__index_found_fini(&found);
    }
    weir__index_client_free(client);
    return error;
}

int cmd_resolve(const struct weir__call *call)
{
    const struct values *values = call->values;
    const char *text = call->operands[0];
    struct weir__question question;
    struct weir__bindings *bindings = NULL;
    if (weir__given_question(&question, text, strlen(text))) {
        weir__log(WEIR__LOG_ERROR, "'%s' is neither a name nor an address", WEIR__TYPED(text));
        return -WEIR_E_USAGE;
    }
    int error = read_trust(values, &bindings);
    if (!error)
        error = run(call, &question, bindings);
    weir__bindings_free(bindings);
    return error;
}
