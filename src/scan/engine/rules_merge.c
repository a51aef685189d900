/* rules_merge.c - rules of a file laid over those that it extends.
 *
 * Of two rules with one id, what the upper one gives replaces what the lower one has; keywords,
 * tags, allow lists, examples and negatives are added. An expression that is replaced takes with it
 * what was about it alone: the examples, and whether it was written as a context.
 *
 * A rule of the upper file may have a name that stands for rules of the lower one (see rule.h).
 * Without an expression it is laid over each of them, but for its number of a group, which is of
 * another expression. With one it takes their place; a lower rule that has further names stays, and
 * gives way to it, since it finds more than what was replaced.
 */
#include "rules_part.h"

#include <string.h>

#include <weir/error.h>

#include "cover.h"
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
                                 WEIR__TYPED(draft.rule.id), earlier->rule.line);
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
    rule->listed_min = rule->listed_min > 0 ? rule->listed_min : old->listed_min;
    rule->is_hidden |= old->is_hidden;
    rule->gives_way |= old->gives_way;
    rule->is_named |= keeps_expression && old->is_named;
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
        error = join_strings(set, &rule->aliases, &old->aliases);
    if (!error)
        error = join_strings(set, &rule->known, &old->known);
    if (!error)
        error =
            join_allows(set, &rule->allows, &rule->allows_count, old->allows, old->allows_count);
    if (!error && keeps_expression)
        error = join_strings(set, &rule->examples, &old->examples);
    if (!error && keeps_expression)
        error = join_strings(set, &rule->negatives, &old->negatives);
    return error;
}

/* --- by another name --- */

static bool has_expression(const struct weir__draft *draft)
{
    return draft->rule.regex || draft->context.words.count > 0 || draft->context.names.count > 0 ||
           draft->context.value;
}

/* A change of a rule of another name, laid over a lower one of which it is the name. */
static int change_named(const struct weir__load *load, struct weir__draft *lower,
                        const struct weir__draft *change)
{
    struct weir__draft upper = *change;
    upper.rule.id = lower->rule.id;
    upper.rule.secret_group = 0;
    upper.rule.has_secret_group = false;
    /* One keyword more is one occasion more, unless it is the first: then it is a condition. */
    if (lower->rule.keywords.count == 0)
        upper.rule.keywords.count = 0;
    int error = merge_rule(load->set, &upper, lower);
    if (!error)
        *lower = upper;
    return error;
}

/* All that upper rules say about a lower one under its other names. Sets is_used of those that are
 * changes of it. *ret_is_replaced: one of them takes its place. */
static int apply_named(const struct weir__load *load, const struct weir__drafts *drafts,
                       struct weir__draft *lower, bool *is_used, bool *ret_is_replaced)
{
    const struct weir__strings names = lower->rule.aliases;
    size_t replaced = 0;
    int error = 0;
    for (size_t i = 0; i < names.count && !error; i++) {
        const struct weir__draft *upper = weir__drafts_find(drafts, names.items[i]);
        if (!upper)
            continue;
        if (has_expression(upper)) {
            replaced++;
            continue;
        }
        is_used[upper - drafts->items] = true;
        error = change_named(load, lower, upper);
    }
    *ret_is_replaced = names.count > 0 && replaced == names.count;
    lower->rule.gives_way |= replaced > 0;
    return error;
}

/* --- one file over another --- */

static bool is_in(const struct weir__strings *strings, const char *text)
{
    bool is = false;
    for (size_t i = 0; i < strings->count && !is; i++)
        is = strcmp(strings->items[i], text) == 0;
    return is;
}

/* Whether nothing is wanted of the rule but what is disabled. */
static bool is_all_disabled(const struct weir__rule *rule, const struct weir__strings *disabled)
{
    bool is_all = true;
    for (size_t i = 0; i < rule->aliases.count && is_all; i++)
        is_all = is_in(disabled, rule->aliases.items[i]);
    return is_all;
}

/* Rules for which a name stands that is not their id. */
static int disable_named(const struct weir__load *load, const struct weir__drafts *base,
                         const struct weir__extend *extend, const char *name, bool *is_disabled)
{
    bool is_known = weir__drafts_find(base, name) != NULL;
    const char *finder = NULL; /* a rule that may find the same */
    int error = 0;
    for (size_t i = 0; i < base->count && !error; i++) {
        const struct weir__rule *rule = &base->items[i].rule;
        if (is_in(&rule->known, name))
            finder = rule->id;
        if (!is_in(&rule->aliases, name))
            continue;
        is_known = true;
        is_disabled[i] = is_disabled[i] || is_all_disabled(rule, &extend->disabled);
        if (!is_disabled[i])
            error =
                weir__rules_note(load, load->file, extend->line,
                                 "[extend]: rule '%s' finds '%s', which is disabled, and other "
                                 "things, so it stays; name it in disabledRules to be rid of it",
                                 WEIR__TYPED(rule->id), WEIR__TYPED(name));
    }
    if (is_known || error)
        return error;
    if (finder)
        return weir__rules_note(
            load, load->file, extend->line,
            "[extend]: there is no rule for '%s' alone to be disabled; '%s' may "
            "find it, and stays",
            WEIR__TYPED(name), WEIR__TYPED(finder));
    return weir__rules_note(load, load->file, extend->line,
                            "[extend]: there is no rule '%s' to be disabled", WEIR__TYPED(name));
}

/* Marks the rules of base that are disabled, by their numbers. */
static int mark_disabled(const struct weir__load *load, const struct weir__drafts *base,
                         const struct weir__extend *extend, bool *is_disabled)
{
    int error = 0;
    for (size_t i = 0; i < extend->disabled.count; i++) {
        const struct weir__draft *draft = weir__drafts_find(base, extend->disabled.items[i]);
        if (draft)
            is_disabled[draft - base->items] = true;
    }
    for (size_t i = 0; i < extend->disabled.count && !error; i++)
        error = disable_named(load, base, extend, extend->disabled.items[i], is_disabled);
    return error;
}

/* Puts a rule into a list with room for it. */
static void add_draft(struct weir__drafts *drafts, const struct weir__draft *draft)
{
    uint32_t *slot = slot_of(drafts, draft->rule.id);
    drafts->items[drafts->count++] = *draft;
    *slot = (uint32_t)drafts->count;
}

static void note_gone(const struct weir__load *load, char *id)
{
    struct weir__strings *gone = &load->set->gone;
    gone->items[gone->count++] = id;
}

/* There are never more than the rules of all files. */
static int make_gone(const struct weir__load *load, size_t more)
{
    struct weir__strings *gone = &load->set->gone;
    char **items = weir__rules_alloc(load->set, gone->count + more, sizeof(*items));
    if (!items)
        return -WEIR_E_NO_MEMORY;
    if (gone->count > 0)
        memcpy(items, gone->items, gone->count * sizeof(*items));
    gone->items = items;
    return 0;
}

/* The rules of base that stay, with what the upper ones say about them. */
static int merge_base(const struct weir__load *load, const struct weir__drafts *drafts,
                      const struct weir__drafts *base, const bool *is_disabled, bool *is_used,
                      struct weir__drafts *merged)
{
    int error = 0;
    for (size_t i = 0; i < base->count && !error; i++) {
        struct weir__draft lower = base->items[i];
        struct weir__draft *upper = weir__drafts_find(drafts, lower.rule.id);
        bool is_replaced = false;
        if (is_disabled[i]) {
            note_gone(load, lower.rule.id);
            continue;
        }
        if (lower.rule.aliases.count > 0)
            error = apply_named(load, drafts, &lower, is_used, &is_replaced);
        if (!error && upper)
            error = merge_rule(load->set, upper, &lower);
        if (!error && (upper || !is_replaced))
            add_draft(merged, upper ? upper : &lower);
        else if (!error)
            note_gone(load, lower.rule.id);
    }
    return error;
}

int weir__drafts_merge(const struct weir__load *load, struct weir__drafts *drafts,
                       const struct weir__drafts *base, const struct weir__extend *extend)
{
    struct weir__drafts merged = *drafts;
    size_t most = base->count + drafts->count;
    merged.count = 0;
    merged.items = weir__rules_alloc(load->set, most, sizeof(*merged.items));
    bool *is_disabled = weir__rules_alloc(load->set, base->count, sizeof(bool));
    bool *is_used = weir__rules_alloc(load->set, drafts->count, sizeof(bool));
    int error = merged.items && is_disabled && is_used ? make_index(load, &merged, most)
                                                       : -WEIR_E_NO_MEMORY;
    if (!error)
        error = make_gone(load, base->count);
    if (!error)
        error = mark_disabled(load, base, extend, is_disabled);
    if (!error)
        error = merge_base(load, drafts, base, is_disabled, is_used, &merged);
    for (size_t i = 0; i < drafts->count && !error; i++)
        if (!is_used[i] && !weir__drafts_find(&merged, drafts->items[i].rule.id))
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
