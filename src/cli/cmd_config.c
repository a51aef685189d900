/* cmd_config.c - weir config: what a service can be told, shown, explained and checked. */
#include <string.h>
#include <unistd.h>

#include <weir/error.h>

#include "commands.h"
#include "config_given.h"
#include "cover.h"
#include "index_config.h"
#include "log.h"
#include "print_json.h"
#include "storage_config.h"

#include "banned.h"

COMMAND(config);

struct values {
    const char *config;
    struct weir__list set;
    bool json;
    bool origin;
    bool markdown;
    unsigned service;
};

static const char *const services[] = {"storage", "index", NULL};
static const struct weir__config_schema *const schemas[] = {&weir__storage_schema,
                                                            &weir__index_schema};

static const char *const actions[] = {"show", "check", "sample", "keys", NULL};
enum action { SHOW, CHECK, SAMPLE, KEYS };

static const struct weir__option options[] = {
    {WEIR__OPTION_WORD(struct values, service), .name = "service", .words = services,
     .preset = "storage", .help = "which service: storage or index"},
    {WEIR__OPTION_FILE(struct values, config), .name = "config", .letter = 'c',
     .value_name = "FILE", .help = "of show: the file to read; none without it"},
    {WEIR__OPTION_LIST(struct values, set), .name = "set", .value_name = "KEY=VALUE",
     .help = "of show: a value above file and environment",
     .detail = "May be given several times. The values of a list have commas between them."},
    {WEIR__OPTION_FLAG(struct values, origin), .name = "origin",
     .help = "of show: tell where each value came from"},
    {WEIR__OPTION_FLAG(struct values, markdown), .name = "markdown",
     .help = "of keys: print tables of Markdown"},
    {WEIR__OPTION_FLAG(struct values, json), .name = "json",
     .help = "of show, check and keys: print JSON",
     .detail = "Sizes are in bytes, rates in bytes a second, durations in nanoseconds; text is how "
               "a file would have them."},
    WEIR__OPTIONS_END,
};

static const struct weir__operand operands[] = {
    {.name = "ACTION",
     .min = 1,
     .max = 1,
     .words = actions,
     .help = "show the values in force, check a file, print a sample file, or list the keys"},
    {.name = "FILE", .hint = WEIR__HINT_FILE, .help = "of check: the files"},
    {.name = NULL},
};

static const struct weir__example examples[] = {
    {"weir config sample >weir.toml", "begin a file, with every key explained and commented out"},
    {"weir config check weir.toml", "tell everything that is wrong with it"},
    {"weir config show --config weir.toml --origin", "see what is in force, and why"},
    {"weir config sample --service index >index.toml", "the same for the index"},
    {"WEIR_SERVER_MAX_INFLIGHT=64 weir config show --json",
     "the same for programs, with a value of the environment"},
    {NULL, NULL},
};

const struct weir__usage usage_config = {
    .description =
        "Shows and checks the configuration of a service: of the storage, or of the index with "
        "--service index.\n\n"
        "A value is the default, or that of the file, or that of the environment, or that of a "
        "flag; what comes later in this list wins. The variable of a key is its name in capitals "
        "with WEIR_ before it and _ for the dot: that of server.max_inflight is "
        "WEIR_SERVER_MAX_INFLIGHT.\n\n"
        "show prints all values as a file that would load to them. check looks at files alone, "
        "without the environment. sample prints a file of the defaults with every key explained. "
        "keys prints what there is.\n\n"
        "Everything that is wrong is told, not only the first; the exit status is 2 then.",
    .examples = examples,
    .operands = operands,
    .options = options,
    .values_size = sizeof(struct values),
};

/* Of the service that was named; set once, before anything else. */
static const struct weir__config_schema *schema = &weir__storage_schema;

static int no_memory(int result)
{
    weir__log(WEIR__LOG_ERROR, "%s", weir_error_text(result));
    return result;
}

static void put_text(struct weir__json *json, const char *key, const char *text)
{
    weir__json_key(json, key);
    weir__json_string(json, text);
}

static void put_bool(struct weir__json *json, const char *key, bool value)
{
    weir__json_key(json, key);
    weir__json_bool(json, value);
}

/* --- show --- */

static int load_shown(const struct values *values, struct weir__config **ret_config)
{
    struct weir__config_words words = {.count = 0};
    struct weir__config_sink sink = {.problem = weir__config_tell_problem};
    int result = weir__config_words_set(&words, &values->set);
    if (result < 0)
        return result;
    struct weir__config_sources sources = {.file = values->config,
                                           .environment = (const char *const *)environ,
                                           .given = words.items,
                                           .given_count = words.count};
    result = weir__config_load(ret_config, schema, &sources, &sink);
    return result == -WEIR_E_NO_MEMORY ? no_memory(result) : result;
}

static void put_value(struct weir__json *json, const struct weir__config *config, size_t index)
{
    const struct weir__config_key *key = weir__config_key(schema, index);
    const void *field =
        (const char *)weir__config_values(config, weir__config_table_of(schema, index)) +
        key->offset;
    const struct weir__config_list *list = field;
    switch (key->kind) {
    case WEIR__CONFIG_KIND_BOOL:
        weir__json_bool(json, *(const bool *)field);
        break;
    case WEIR__CONFIG_KIND_WORD:
        weir__json_string(json, key->words[*(const unsigned *)field]);
        break;
    case WEIR__CONFIG_KIND_TEXT:
    case WEIR__CONFIG_KIND_PATH:
        weir__json_string(json, *(const char *const *)field);
        break;
    case WEIR__CONFIG_KIND_LIST:
        weir__json_array(json);
        for (size_t i = 0; i < list->count; i++)
            weir__json_string(json, list->items[i]);
        weir__json_end(json);
        break;
    case WEIR__CONFIG_KIND_COUNT:
    case WEIR__CONFIG_KIND_SIZE:
    case WEIR__CONFIG_KIND_DURATION:
    case WEIR__CONFIG_KIND_RATE:
        weir__json_u64(json, *(const uint64_t *)field);
        break;
    case WEIR__CONFIG_KIND_RATIO:
        weir__json_real(json, (double)*(const uint64_t *)field / 1000);
        break;
    }
}

static int put_shown(struct weir__json *json, const struct weir__config *config, size_t index,
                     bool with_origin)
{
    static const char *const sources[] = {"default", "file", "environment", "flag"};
    WEIR_CLEANUP(weir__buffer_fini)
    struct weir__buffer text;
    weir__buffer_init(&text, WEIR__CONFIG_PRINTED_MAX);
    int result = weir__config_put_value(&text, config, index);
    weir__json_object(json);
    put_text(json, "key", weir__config_key(schema, index)->name);
    weir__json_key(json, "value");
    put_value(json, config, index);
    put_text(json, "text", weir__buffer_text(&text));
    if (with_origin) {
        char origin[WEIR__CONFIG_LINE_MAX / 2];
        put_text(json, "from", sources[weir__config_origin(config, index, origin, sizeof(origin))]);
        put_text(json, "origin", origin);
    }
    weir__json_end(json);
    return result;
}

static int show(const struct weir__call *call)
{
    const struct values *values = call->values;
    WEIR_CLEANUP(weir__config_unref_at)
    struct weir__config *config = NULL;
    int result = load_shown(values, &config);
    if (result < 0)
        return result;
    WEIR_CLEANUP(weir__buffer_fini)
    struct weir__buffer buffer;
    weir__buffer_init(&buffer, WEIR__CONFIG_PRINTED_MAX);
    if (!values->json) {
        result = weir__config_show(&buffer, config, values->origin);
        if (result < 0)
            return no_memory(result);
        weir__out_puts(call->out, weir__buffer_text(&buffer));
        return 0;
    }
    struct weir__json json;
    weir__json_init(&json, &buffer);
    weir__json_array(&json);
    for (size_t i = 0; weir__config_key(schema, i) && result == 0; i++)
        result = put_shown(&json, config, i, values->origin);
    if (result < 0)
        return no_memory(result);
    weir__json_end(&json);
    return weir__print_json(call->out, &json, &buffer);
}

/* --- check --- */

static void put_problem(void *arg, bool is_warning, const char *line)
{
    struct weir__json *json = arg;
    weir__json_object(json);
    put_bool(json, "warning", is_warning);
    put_text(json, "text", line);
    weir__json_end(json);
}

static int check_file(const struct weir__call *call, const char *path)
{
    struct weir__config_sink sink = {.problem = weir__config_tell_problem};
    struct weir__config_sources sources = {.file = path};
    WEIR_CLEANUP(weir__config_unref_at)
    struct weir__config *config = NULL;
    int result = weir__config_load(&config, schema, &sources, &sink);
    if (result == 0) {
        weir__out_escaped(call->out, path);
        weir__out_puts(call->out, ": no problems\n");
    }
    return result == -WEIR_E_NO_MEMORY ? no_memory(result) : result;
}

static int check_file_json(const struct weir__call *call, const char *path)
{
    WEIR_CLEANUP(weir__buffer_fini)
    struct weir__buffer buffer;
    weir__buffer_init(&buffer, WEIR__CONFIG_PRINTED_MAX);
    struct weir__json json;
    weir__json_init(&json, &buffer);
    weir__json_object(&json);
    put_text(&json, "file", path);
    weir__json_key(&json, "problems");
    weir__json_array(&json);
    struct weir__config_sink sink = {.problem = put_problem, .arg = &json};
    struct weir__config_sources sources = {.file = path};
    WEIR_CLEANUP(weir__config_unref_at)
    struct weir__config *config = NULL;
    int result = weir__config_load(&config, schema, &sources, &sink);
    if (result == -WEIR_E_NO_MEMORY)
        return no_memory(result);
    weir__json_end(&json);
    weir__json_end(&json);
    int printed = weir__print_json(call->out, &json, &buffer);
    return result < 0 ? result : printed;
}

/* All of them are looked at, whatever the first has. */
static int check(const struct weir__call *call)
{
    const struct values *values = call->values;
    int worst = 0;
    if (call->operands_count < 2) {
        weir__log(WEIR__LOG_ERROR, "which file is to be checked?");
        return -WEIR_E_USAGE;
    }
    for (int i = 1; i < call->operands_count; i++) {
        const char *path = call->operands[i];
        int result = values->json ? check_file_json(call, path) : check_file(call, path);
        /* A file that cannot be read is worse than one that is bad. */
        if (weir_error_exit(result) > weir_error_exit(worst))
            worst = result;
    }
    return worst;
}

/* --- sample and keys --- */

static int print_text(const struct weir__call *call,
                      int (*put)(struct weir__buffer *, const struct weir__config_schema *))
{
    WEIR_CLEANUP(weir__buffer_fini)
    struct weir__buffer buffer;
    weir__buffer_init(&buffer, WEIR__CONFIG_PRINTED_MAX);
    int result = put(&buffer, schema);
    if (result < 0)
        return no_memory(result);
    weir__out_puts(call->out, weir__buffer_text(&buffer));
    return 0;
}

static int put_keys(struct weir__buffer *buffer, const struct weir__config_schema *keys)
{
    WEIR_CLEANUP(weir__buffer_fini)
    struct weir__buffer preset;
    weir__buffer_init(&preset, WEIR__CONFIG_PRINTED_MAX);
    const struct weir__config_key *key;
    int result = weir__buffer_printf(buffer, "%-30s  %-8s  %-18s  %-7s  %s\n", "KEY", "KIND",
                                     "DEFAULT", "RELOAD", "MEANING");
    for (size_t i = 0; (key = weir__config_key(keys, i)) && result == 0; i++) {
        char range[WEIR__CONFIG_RANGE_MAX];
        weir__config_range(key, range, sizeof(range));
        weir__buffer_truncate(&preset, 0);
        result = weir__config_put_default(&preset, key);
        if (result == 0)
            result = weir__buffer_printf(
                buffer, "%-30s  %-8s  %-18s  %-7s  %s%s%s\n", key->name,
                weir__config_kind_name(key->kind), weir__buffer_text(&preset),
                key->is_live ? "yes" : "restart", key->help, range[0] != '\0' ? "; " : "", range);
    }
    return result;
}

static int put_key(struct weir__json *json, size_t index)
{
    const struct weir__config_key *key = weir__config_key(schema, index);
    char range[WEIR__CONFIG_RANGE_MAX], variable[WEIR__CONFIG_NAME_MAX + 8];
    weir__config_range(key, range, sizeof(range));
    weir__config_variable(key, variable);
    WEIR_CLEANUP(weir__buffer_fini)
    struct weir__buffer preset;
    weir__buffer_init(&preset, WEIR__CONFIG_PRINTED_MAX);
    int result = weir__config_put_default(&preset, key);
    weir__json_object(json);
    put_text(json, "key", key->name);
    put_text(json, "kind", weir__config_kind_name(key->kind));
    put_text(json, "default", weir__buffer_text(&preset));
    put_text(json, "allowed", range);
    put_bool(json, "reload", key->is_live);
    put_text(json, "used_by", weir__config_table_of(schema, index)->name);
    put_text(json, "variable", variable);
    put_text(json, "help", key->help);
    put_text(json, "detail", key->detail ? key->detail : "");
    weir__json_end(json);
    return result;
}

static int keys(const struct weir__call *call)
{
    const struct values *values = call->values;
    if (values->markdown)
        return print_text(call, weir__config_markdown);
    if (!values->json)
        return print_text(call, put_keys);
    WEIR_CLEANUP(weir__buffer_fini)
    struct weir__buffer buffer;
    weir__buffer_init(&buffer, WEIR__CONFIG_PRINTED_MAX);
    struct weir__json json;
    weir__json_init(&json, &buffer);
    weir__json_array(&json);
    int result = 0;
    for (size_t i = 0; weir__config_key(schema, i) && result == 0; i++)
        result = put_key(&json, i);
    if (result < 0)
        return no_memory(result);
    weir__json_end(&json);
    return weir__print_json(call->out, &json, &buffer);
}

/* An option that an action does not look at would be a promise that is not kept. */
static int refuse_idle(enum action action, const struct values *values)
{
    const struct {
        const char *name;
        bool is_given;
        bool is_used;
    } given[] = {
        {"--config", values->config, action == SHOW},
        {"--set", values->set.count > 0, action == SHOW},
        {"--origin", values->origin, action == SHOW},
        {"--markdown", values->markdown, action == KEYS && !values->json},
        {"--json", values->json, action != SAMPLE},
    };
    for (size_t i = 0; i < sizeof(given) / sizeof(given[0]); i++)
        if (given[i].is_given && !given[i].is_used) {
            weir__log(WEIR__LOG_ERROR, "'%s' means nothing to '%s'%s", given[i].name,
                      actions[action], values->json && values->markdown ? " with '--json'" : "");
            return -WEIR_E_USAGE;
        }
    return 0;
}

int cmd_config(const struct weir__call *call)
{
    enum action action = SHOW;
    while (strcmp(actions[action], call->operands[0]) != 0)
        action++;
    schema = schemas[((const struct values *)call->values)->service];
    weir__config_check_schema(schema);
    int result = refuse_idle(action, call->values);
    if (result < 0)
        return result;
    if (action != CHECK && call->operands_count > 1) {
        weir__log(WEIR__LOG_ERROR, "'%s' is one too many: '%s' takes no file%s",
                  WEIR__TYPED(call->operands[1]), call->operands[0],
                  action == SHOW ? "; name it with '--config'" : "");
        return -WEIR_E_USAGE;
    }
    switch (action) {
    case SHOW:
        return show(call);
    case CHECK:
        return check(call);
    case SAMPLE:
        return print_text(call, weir__config_sample);
    case KEYS:
        return keys(call);
    }
    return -WEIR_E_INTERNAL;
}
