/* database.c - patterns as a Hyperscan database. */
#include <stdio.h>
#include <string.h>

#include <weir/error.h>

#include "alloc.h"
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

/* Those of allow lists and paths too: nothing may fail later, in the middle of a scan. */
static int check_list(const struct weir__strings *list, const char *whose,
                      struct weir__rules_error *ret_error)
{
    char reason[192];
    uint32_t groups;
    for (size_t i = 0; i < list->count; i++)
        if (!weir__matcher_check(list->items[i], &groups, reason, sizeof(reason))) {
            snprintf(ret_error->text, sizeof(ret_error->text),
                     "cannot use the expression '%.160s' of %.80s: %s", list->items[i], whose,
                     reason);
            return -WEIR_E_INVALID;
        }
    return 0;
}

static int check_allows(const struct weir__allow *allows, size_t count, const char *whose,
                        struct weir__rules_error *ret_error)
{
    int result = 0;
    for (size_t i = 0; i < count && result == 0; i++) {
        result = check_list(&allows[i].regexes, whose, ret_error);
        if (result == 0)
            result = check_list(&allows[i].paths, whose, ret_error);
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
             "%s:%u: rule '%.80s': secretGroup is %u, and its expression has %u groups",
             rule->file ? rule->file : "rules", rule->line, rule->id, rule->secret_group, groups);
    return -WEIR_E_INVALID;
}

int weir__database_check(const struct weir__rules *rules, struct weir__rules_error *ret_error)
{
    int result = check_allows(rules->allows, rules->allows_count, "an allow list", ret_error);
    for (size_t i = 0; i < rules->rules_count && result == 0; i++) {
        const struct weir__rule *rule = &rules->rules[i];
        char *texts[2];
        struct weir__strings list = {.items = texts};
        if (rule->regex)
            texts[list.count++] = rule->regex;
        if (rule->path)
            texts[list.count++] = rule->path;
        result = check_list(&list, rule->id, ret_error);
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
