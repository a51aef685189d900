/* cmd_version.c - weir version, also as weir --version. */
#include <weir/error.h>

#include "commands.h"
#include "print_json.h"

#include "banned.h"

COMMAND(version);

#define QUOTE_EXPANDED(text) #text
#define QUOTE(text)          QUOTE_EXPANDED(text)

/* clang calls itself gcc as well, so it is asked first. */
#ifdef __clang__
#define COMPILER "clang " QUOTE(__clang_major__.__clang_minor__.__clang_patchlevel__)
#else
#define COMPILER "gcc " QUOTE(__GNUC__.__GNUC_MINOR__.__GNUC_PATCHLEVEL__)
#endif

struct values {
    bool json;
};

static const struct weir__option options[] = {
    {WEIR__OPTION_FLAG(struct values, json), .name = "json", .help = "print one JSON object",
     .detail =
         "Its keys are name, version, date (that of the manual pages), compiler (its name and "
         "version), and checks and faults, which tell whether the costly assertions and the "
         "fault points of tests are built in."},
    WEIR__OPTIONS_END,
};

static const struct weir__example examples[] = {
    {"weir version", "print name and version"},
    {"weir --version", "the same"},
    {"weir version --json | jq -r .version", "the bare number, for a script"},
    {NULL, NULL},
};

const struct weir__usage usage_version = {
    .description = "Prints the name and the version of the program. The version of libweir, which "
                   "is part of it, is the same.",
    .examples = examples,
    .options = options,
    .values_size = sizeof(struct values),
};

static bool has_checks(void)
{
#ifdef WEIR_CHECKS
    return true;
#else
    return false;
#endif
}

static bool has_faults(void)
{
#ifdef WEIR_FAULTS
    return true;
#else
    return false;
#endif
}

static int print_json(const struct weir__call *call)
{
    WEIR_CLEANUP(weir__buffer_fini)
    struct weir__buffer buffer;
    weir__buffer_init(&buffer, 4096);
    struct weir__json json;
    weir__json_init(&json, &buffer);
    weir__json_object(&json);
    weir__json_key(&json, "name");
    weir__json_string(&json, call->program->name);
    weir__json_key(&json, "version");
    weir__json_string(&json, call->program->version);
    weir__json_key(&json, "date");
    weir__json_string(&json, call->program->date);
    weir__json_key(&json, "compiler");
    weir__json_string(&json, COMPILER);
    weir__json_key(&json, "checks");
    weir__json_bool(&json, has_checks());
    weir__json_key(&json, "faults");
    weir__json_bool(&json, has_faults());
    weir__json_end(&json);
    return weir__print_json(call->out, &json, &buffer);
}

int cmd_version(const struct weir__call *call)
{
    const struct values *values = call->values;
    if (values->json)
        return print_json(call);
    weir__out_printf(call->out, "%s %s\n", call->program->name, call->program->version);
    return 0;
}
