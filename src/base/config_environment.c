/* config_environment.c - the sources above the file: variables of the environment, and flags. */
#include <stdio.h>
#include <string.h>

#include <weir/error.h>

#include "config_part.h"
#include "cover.h"
#include "suggest.h"

#include "banned.h"

#define PREFIX       "WEIR_"
#define VARIABLE_MAX (WEIR__CONFIG_NAME_MAX + 8)

static size_t find_variable(const struct weir__config_schema *schema, const char *name,
                            size_t length)
{
    const struct weir__config_key *key;
    char variable[VARIABLE_MAX];
    for (size_t i = 0; (key = weir__config_key(schema, i)); i++) {
        weir__config_variable(key, variable);
        if (strlen(variable) == length && memcmp(variable, name, length) == 0)
            return i;
    }
    return SIZE_MAX;
}

/* Whether the name goes on as those of a section do: WEIR_SERVER_... */
static bool is_in_section(const struct weir__config_schema *schema, const char *name)
{
    const struct weir__config_key *key;
    char variable[VARIABLE_MAX];
    for (size_t i = 0; (key = weir__config_key(schema, i)); i++) {
        size_t section = weir__config_section_length(key->name);
        weir__config_variable(key, variable);
        if (section > 0 && strncmp(variable, name, sizeof(PREFIX) + section) == 0)
            return true;
    }
    return false;
}

static bool is_used_otherwise(const struct weir__config_schema *schema, const char *name)
{
    for (size_t i = 0; schema->variables && schema->variables[i]; i++)
        if (strcmp(schema->variables[i], name) == 0)
            return true;
    return false;
}

/* A variable that is no key. Compared without the prefix, which all of them share. */
static void judge_unknown(struct weir__config_judge *judge, const char *name)
{
    const struct weir__config_schema *schema = judge->config->schema;
    struct weir__suggestion suggestion = {.word = ""};
    const struct weir__config_key *key;
    char variable[VARIABLE_MAX];
    for (size_t i = 0; (key = weir__config_key(schema, i)); i++) {
        weir__config_variable(key, variable);
        weir__suggest_offer(&suggestion, name + strlen(PREFIX), variable + strlen(PREFIX));
    }
    bool is_near = suggestion.word[0] != '\0', is_problem = is_in_section(schema, name);
    if ((!is_near && !is_problem) || is_used_otherwise(schema, name))
        return;
    weir__config_tell(judge, !is_problem, "environment", "no key has the variable '%s'%s%s%s",
                      WEIR__TYPED(name), is_near ? "; did you mean '" PREFIX : "", suggestion.word,
                      is_near ? "'?" : "");
}

int weir__config_read_environment(struct weir__config_judge *judge, const char *const *environment)
{
    int result = 0;
    for (const char *const *entry = environment; *entry && result == 0; entry++) {
        const char *equals = strchr(*entry, '=');
        if (!equals || strncmp(*entry, PREFIX, strlen(PREFIX)) != 0)
            continue;
        size_t length = (size_t)(equals - *entry);
        const char *name = weir__config_keep_text(judge->config, *entry, length);
        if (!name)
            return -WEIR_E_NO_MEMORY;
        size_t index = find_variable(judge->config->schema, name, length);
        struct weir__config_origin origin = {.from = WEIR__CONFIG_FROM_ENVIRONMENT, .name = name};
        if (index == SIZE_MAX)
            judge_unknown(judge, name);
        else
            result = weir__config_store_text(judge, index, equals + 1, false, &origin);
    }
    return result;
}

/* Whether one of those before gave the same key. */
static bool is_repeated(const struct weir__config_given *given, size_t at)
{
    for (size_t i = 0; i < at; i++)
        if (strcmp(given[i].key, given[at].key) == 0)
            return true;
    return false;
}

int weir__config_read_given(struct weir__config_judge *judge,
                            const struct weir__config_given *given, size_t count)
{
    const struct weir__config_schema *schema = judge->config->schema;
    int result = 0;
    for (size_t i = 0; i < count && result == 0; i++) {
        struct weir__config_origin origin = {
            .from = WEIR__CONFIG_FROM_FLAG,
            .name = weir__config_keep_text(judge->config, given[i].flag, strlen(given[i].flag))};
        if (!origin.name)
            return -WEIR_E_NO_MEMORY;
        size_t index = weir__config_find(schema, given[i].key);
        if (index != SIZE_MAX) {
            result = weir__config_store_text(judge, index, given[i].value, is_repeated(given, i),
                                             &origin);
            continue;
        }
        char nearest[WEIR__CONFIG_NAME_MAX + 32];
        weir__config_nearest(schema, given[i].key, nearest, sizeof(nearest));
        weir__config_tell(judge, false, given[i].flag, "unknown key '%s'%s",
                          WEIR__TYPED(given[i].key), nearest);
    }
    return result;
}
