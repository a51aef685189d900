/* database.c - patterns as a Hyperscan database. */
#include <stdio.h>
#include <string.h>

#include <weir/error.h>

#include "alloc.h"
#include "cover.h"
#include "parts.h"

#include "banned.h"

int weir__patterns_add(struct weir__patterns *patterns, const char *text, unsigned flags,
                       unsigned id)
{
    if (patterns->count == patterns->capacity) {
        uint32_t capacity = patterns->capacity ? patterns->capacity * 2 : 64;
        char **texts = weir__base_realloc(patterns->texts, capacity, sizeof(*texts));
        if (!texts)
            return -WEIR_E_NO_MEMORY;
        patterns->texts = texts;
        unsigned *more = weir__base_realloc(patterns->flags, capacity, sizeof(*more));
        if (!more)
            return -WEIR_E_NO_MEMORY;
        patterns->flags = more;
        more = weir__base_realloc(patterns->ids, capacity, sizeof(*more));
        if (!more)
            return -WEIR_E_NO_MEMORY;
        patterns->ids = more;
        patterns->capacity = capacity;
    }
    size_t size = strlen(text) + 1;
    char *copy = weir__base_alloc(1, size);
    if (!copy)
        return -WEIR_E_NO_MEMORY;
    memcpy(copy, text, size);
    patterns->texts[patterns->count] = copy;
    patterns->flags[patterns->count] = flags;
    patterns->ids[patterns->count] = id;
    patterns->count++;
    return 0;
}

void weir__patterns_fini(struct weir__patterns *patterns)
{
    for (uint32_t i = 0; i < patterns->count; i++)
        weir__base_free(patterns->texts[i]);
    weir__base_free(patterns->texts);
    weir__base_free(patterns->flags);
    weir__base_free(patterns->ids);
}

/* Whose expressions are looked at: where that was read, and what it is. */
struct owner {
    const char *file;
    unsigned line;
    const char *rule; /* or NULL */
    const char *what;
};

/* Those of allow lists and paths too: nothing may fail later, in the middle of a scan. */
static int check_list(const struct weir__strings *list, const struct owner *owner,
                      struct weir__rules_error *ret_error)
{
    char reason[192];
    uint32_t groups;
    for (size_t i = 0; i < list->count; i++)
        if (!weir__matcher_check(list->items[i], &groups, reason, sizeof(reason))) {
            snprintf(ret_error->text, sizeof(ret_error->text),
                     "%.120s:%u: %s%s%scannot use the %s '%s': %.120s",
                     owner->file ? owner->file : "rules", owner->line, owner->rule ? "rule '" : "",
                     owner->rule ? WEIR__TYPED(owner->rule) : "", owner->rule ? "': " : "",
                     owner->what, WEIR__TYPED(list->items[i]), reason);
            return -WEIR_E_INVALID;
        }
    return 0;
}

static int check_allows(const struct weir__allow *allows, size_t count, const char *rule,
                        struct weir__rules_error *ret_error)
{
    int result = 0;
    for (size_t i = 0; i < count && result == 0; i++) {
        struct owner owner = {allows[i].file, allows[i].line, rule, "expression of an allow list"};
        result = check_list(&allows[i].regexes, &owner, ret_error);
        owner.what = "path of an allow list";
        if (result == 0)
            result = check_list(&allows[i].paths, &owner, ret_error);
    }
    return result;
}

/* A group that is not there would make the whole match the secret, without a word. */
static int check_group(const struct weir__rule *rule, struct weir__rules_error *ret_error)
{
    char reason[192];
    uint32_t groups = 0;
    if (!rule->has_secret_group || !rule->regex ||
        !weir__matcher_check(rule->regex, &groups, reason, sizeof(reason)) ||
        rule->secret_group <= groups)
        return 0;
    snprintf(ret_error->text, sizeof(ret_error->text),
             "%s:%u: rule '%s': secretGroup is %u, and its expression has %u groups",
             rule->file ? rule->file : "rules", rule->line, WEIR__TYPED(rule->id),
             rule->secret_group, groups);
    return -WEIR_E_INVALID;
}

int weir__database_check(const struct weir__engine *engine, struct weir__rules_error *ret_error)
{
    const struct weir__rules *rules = engine->rules;
    int result = check_allows(rules->allows, rules->allows_count, NULL, ret_error);
    for (uint32_t i = 0; i < engine->count && result == 0; i++) {
        const struct weir__rule *rule = engine->prepared[i].rule;
        char *texts[] = {rule->regex, rule->path};
        struct owner owner = {rule->file, rule->line, rule->id, "expression"};
        for (size_t k = 0; k < 2 && result == 0; k++) {
            struct weir__strings list = {.items = &texts[k], .count = texts[k] != NULL};
            owner.what = k == 0 ? "expression" : "path";
            result = check_list(&list, &owner, ret_error);
        }
        if (result == 0)
            result = check_group(rule, ret_error);
        if (result == 0)
            result = check_allows(rule->allows, rule->allows_count, rule->id, ret_error);
    }
    return result;
}

/* The library has no code of its own for it. */
bool weir__database_lacks_memory(const hs_compile_error_t *error)
{
    return error && error->message && strstr(error->message, "allocate memory");
}

int weir__database_new(hs_database_t **ret_database, const struct weir__patterns *patterns,
                       struct weir__rules_error *ret_error)
{
    if (patterns->count == 0)
        return 0;
    hs_compile_error_t *error = NULL;
    hs_error_t result =
        hs_compile_multi((const char *const *)patterns->texts, patterns->flags, patterns->ids,
                         patterns->count, HS_MODE_BLOCK, NULL, ret_database, &error);
    if (result == HS_SUCCESS)
        return 0;
    snprintf(ret_error->text, sizeof(ret_error->text), "cannot compile '%.200s': %s",
             error && error->expression >= 0 ? patterns->texts[error->expression] : "the rules",
             error ? error->message : "no reason is known");
    bool lacks_memory = result == HS_NOMEM || weir__database_lacks_memory(error);
    hs_free_compile_error(error);
    return lacks_memory ? -WEIR_E_NO_MEMORY : -WEIR_E_INVALID;
}
