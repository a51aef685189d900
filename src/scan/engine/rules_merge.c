/* rules_merge.c - rules of a file laid over those that it extends.
 *
 * Of two rules with one id, what the upper one gives replaces what the lower one has; keywords,
 * tags, allow lists, examples and negatives are added. An expression that is replaced takes with it
 * what was about it alone: the examples, and whether it was written as a context.
 */
#include "rules_part.h"

#include <string.h>

#include <weir/error.h>

#include "text.h"

#include "banned.h"

/* --- the index --- */

static uint64_t hash_id(const char *id)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325); /* FNV-1a */
    for (; *id; id++)
        hash = (hash ^ (unsigned char)*id) * UINT64_C(0x100000001b3);
    return hash;
}

/* Where the id is or would be. */
static uint32_t *slot_of(const struct weir__drafts *drafts, const char *id)
{
    size_t at = (size_t)hash_id(id) & (drafts->index_size - 1);
    while (drafts->index[at] && strcmp(drafts->items[drafts->index[at] - 1].rule.id, id) != 0)
        at = (at + 1) & (drafts->index_size - 1);
    return &drafts->index[at];
}

struct weir__draft *weir__drafts_find(const struct weir__drafts *drafts, const char *id)
{
    uint32_t number = drafts->index_size > 0 ? *slot_of(drafts, id) : 0;
    return number > 0 ? &drafts->items[number - 1] : NULL;
}

static int make_index(const struct weir__load *load, struct weir__drafts *drafts, size_t count)
{
    drafts->index_size = 16;
    while (drafts->index_size < 2 * count)
        drafts->index_size *= 2;
    drafts->index = weir__rules_alloc(load->set, drafts->index_size, sizeof(*drafts->index));
    if (drafts->index)
        return 0;
    drafts->index_size = 0;
    return -WEIR_E_NO_MEMORY;
}

int weir__drafts_index(const struct weir__load *load, struct weir__drafts *drafts)
{
    size_t count = drafts->count;
    int error = make_index(load, drafts, count);
    drafts->count = 0;
    for (size_t i = 0; i < count && !error; i++) {
        struct weir__draft draft = drafts->items[i];
        uint32_t *slot = slot_of(drafts, draft.rule.id);
        if (*slot == 0) {
            drafts->items[drafts->count] = draft;
            *slot = (uint32_t)++drafts->count;
            continue;
        }
        struct weir__draft *earlier = &drafts->items[*slot - 1];
        error = weir__rules_note(load, load->file, draft.rule.line,
                                 "rule '%s' replaces the one of the same id in line %u",
                                 WEIR__CLIPPED(draft.rule.id), earlier->rule.line);
        *earlier = draft;
    }
    return error;
}

/* --- one rule over another --- */

static int join_strings(struct weir__rules_set *set, struct weir__strings *upper,
                        const struct weir__strings *lower)
{
    if (lower->count == 0)
        return 0;
    char **items = weir__rules_alloc(set, lower->count + upper->count, sizeof(*items));
    if (!items)
        return -WEIR_E_NO_MEMORY;
    memcpy(items, lower->items, lower->count * sizeof(*items));
    if (upper->count > 0)
        memcpy(items + lower->count, upper->items, upper->count * sizeof(*items));
    *upper = (struct weir__strings){items, lower->count + upper->count};
    return 0;
}

static int join_allows(struct weir__rules_set *set, struct weir__allow **upper, size_t *upper_count,
                       const struct weir__allow *lower, size_t lower_count)
{
    if (lower_count == 0)
        return 0;
    struct weir__allow *allows =
        weir__rules_alloc(set, lower_count + *upper_count, sizeof(*allows));
    if (!allows)
        return -WEIR_E_NO_MEMORY;
    memcpy(allows, lower, lower_count * sizeof(*allows));
    if (*upper_count > 0)
        memcpy(allows + lower_count, *upper, *upper_count * sizeof(*allows));
    *upper = allows;
    *upper_count += lower_count;
    return 0;
}

static char *or_lower(char *upper, char *lower)
{
    return upper && upper[0] ? upper : lower;
}

/* Regex or context: whichever the upper one has; of a context, piece by piece. */
static void merge_expression(struct weir__draft *upper, const struct weir__draft *lower)
{
    struct weir__context *context = &upper->context;
    bool has_context = context->words.count > 0 || context->names.count > 0 || context->value;
    if (upper->rule.regex)
        return;
    if (!has_context)
        upper->rule.regex = lower->rule.regex;
    if (context->words.count == 0)
        context->words = lower->context.words;
    if (context->names.count == 0)
        context->names = lower->context.names;
    if (!context->value)
        context->value = lower->context.value;
}

static int merge_rule(struct weir__rules_set *set, struct weir__draft *upper,
                      const struct weir__draft *lower)
{
    struct weir__rule *rule = &upper->rule;
    const struct weir__rule *old = &lower->rule;
    bool keeps_expression = !rule->regex && upper->context.words.count == 0 &&
                            upper->context.names.count == 0 && !upper->context.value;
    merge_expression(upper, lower);
    rule->description = or_lower(rule->description, old->description);
    rule->provider = or_lower(rule->provider, old->provider);
    rule->path = or_lower(rule->path, old->path);
    rule->check = or_lower(rule->check, old->check);
    rule->entropy = rule->entropy > 0 ? rule->entropy : old->entropy;
    rule->max_width = rule->max_width > 0 ? rule->max_width : old->max_width;
    rule->is_hidden |= old->is_hidden;
    rule->gives_way |= old->gives_way;
    if (!rule->has_secret_group) {
        rule->secret_group = old->secret_group;
        rule->has_secret_group = old->has_secret_group;
    }
    if (rule->required_count == 0) {
        rule->required = old->required;
        rule->required_count = old->required_count;
    }
    upper->is_change = lower->is_change;
    int error = join_strings(set, &rule->keywords, &old->keywords);
    if (!error)
        error = join_strings(set, &rule->tags, &old->tags);
    if (!error)
        error =
            join_allows(set, &rule->allows, &rule->allows_count, old->allows, old->allows_count);
    if (!error && keeps_expression)
        error = join_strings(set, &rule->examples, &old->examples);
    if (!error && keeps_expression)
        error = join_strings(set, &rule->negatives, &old->negatives);
    return error;
}

/* --- one file over another --- */

/* Marks the rules of base that are disabled, by their numbers. */
static int mark_disabled(const struct weir__load *load, const struct weir__drafts *base,
                         const struct weir__extend *extend, bool *is_disabled)
{
    int error = 0;
    for (size_t i = 0; i < extend->disabled.count && !error; i++) {
        const struct weir__draft *draft = weir__drafts_find(base, extend->disabled.items[i]);
        if (draft)
            is_disabled[draft - base->items] = true;
        else
            error = weir__rules_note(load, load->file, extend->line,
                                     "[extend]: there is no rule '%s' to be disabled",
                                     WEIR__CLIPPED(extend->disabled.items[i]));
    }
    return error;
}

/* Puts a rule into a list with room for it. */
static void add_draft(struct weir__drafts *drafts, const struct weir__draft *draft)
{
    uint32_t *slot = slot_of(drafts, draft->rule.id);
    drafts->items[drafts->count++] = *draft;
    *slot = (uint32_t)drafts->count;
}

int weir__drafts_merge(const struct weir__load *load, struct weir__drafts *drafts,
                       const struct weir__drafts *base, const struct weir__extend *extend)
{
    struct weir__drafts merged = *drafts;
    size_t most = base->count + drafts->count;
    merged.count = 0;
    merged.items = weir__rules_alloc(load->set, most, sizeof(*merged.items));
    bool *is_disabled = weir__rules_alloc(load->set, base->count, sizeof(bool));
    int error = merged.items && is_disabled ? make_index(load, &merged, most) : -WEIR_E_NO_MEMORY;
    if (!error)
        error = mark_disabled(load, base, extend, is_disabled);
    for (size_t i = 0; i < base->count && !error; i++) {
        const struct weir__draft *lower = &base->items[i];
        struct weir__draft *upper = weir__drafts_find(drafts, lower->rule.id);
        if (is_disabled[i])
            continue;
        if (upper)
            error = merge_rule(load->set, upper, lower);
        add_draft(&merged, upper ? upper : lower);
    }
    for (size_t i = 0; i < drafts->count && !error; i++)
        if (!weir__drafts_find(&merged, drafts->items[i].rule.id))
            add_draft(&merged, &drafts->items[i]);
    if (!error && merged.count > WEIR__RULES_MAX)
        error = weir__rules_refuse(load, extend->line,
                                   "more than %u rules together with those that it extends",
                                   WEIR__RULES_MAX);
    if (!error)
        error = join_allows(load->set, &merged.allows, &merged.allows_count, base->allows,
                            base->allows_count);
    if (!error)
        *drafts = merged;
    return error;
}
