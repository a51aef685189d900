/* rules_alias.c - other names of rules.
 *
 * A table of names and the rules that each stands for is turned around: every rule gets a list of
 * its other names, so that whoever has a rule can tell whether somebody meant it.
 */
#include "rules_part.h"

#include <string.h>

#include <weir/error.h>

#include "cover.h"
#include "text.h"

#include "banned.h"

/* --- asking --- */

bool weir__rule_is_named(const struct weir__rule *rule, const char *name)
{
    bool is = strcmp(rule->id, name) == 0;
    for (size_t i = 0; i < rule->aliases.count && !is; i++)
        is = strcmp(rule->aliases.items[i], name) == 0;
    return is;
}

const struct weir__rule *weir__rules_next(const struct weir__rules *rules, const char *name,
                                          const struct weir__rule *before)
{
    size_t i = before ? (size_t)(before - rules->rules) + 1 : 0;
    for (; i < rules->rules_count; i++)
        if (weir__rule_is_named(&rules->rules[i], name))
            return &rules->rules[i];
    return NULL;
}

/* --- reading --- */

int weir__aliases_read(const struct weir__load *load, const struct weir__toml_node *node,
                       struct weir__drafts *drafts)
{
    size_t count = weir__toml_count(node);
    if (!node)
        return 0;
    if (weir__toml_kind(node) != WEIR__TOML_TABLE)
        return weir__rules_refuse(load, weir__toml_line(node),
                                  "'aliases' must be a table: write [aliases], and below it "
                                  "\"other-name\" = [\"rule\"]");
    if (count > WEIR__ALIASES_MAX)
        return weir__rules_refuse(load, weir__toml_line(node), "[aliases]: more than %u names",
                                  WEIR__ALIASES_MAX);
    drafts->aliases = weir__rules_alloc(load->set, count + 1, sizeof(*drafts->aliases));
    int error = drafts->aliases ? 0 : -WEIR_E_NO_MEMORY;
    for (size_t i = 0; i < count && !error; i++) {
        const char *name = weir__toml_key(node, i);
        const struct weir__toml_node *value = weir__toml_at(node, i);
        struct weir__alias *alias = &drafts->aliases[drafts->aliases_count++];
        if (name[0] == '\0' || strlen(name) > WEIR__RULE_ID_MAX)
            return weir__rules_refuse(load, weir__toml_line(value),
                                      "[aliases]: a name must have 1 to %u bytes",
                                      WEIR__RULE_ID_MAX);
        alias->line = weir__toml_line(value);
        alias->name = weir__rules_text(load->set, name, strlen(name));
        error = alias->name
                    ? weir__rules_read_words(load, value, "[aliases]: ", alias->name, &alias->rules)
                    : -WEIR_E_NO_MEMORY;
    }
    return error;
}

/* --- turning it around --- */

static bool has_name(const struct weir__strings *names, const char *name)
{
    bool has = false;
    for (size_t i = 0; i < names->count && !has; i++)
        has = strcmp(names->items[i], name) == 0;
    return has;
}

/* Lists grow to the next power of two; what is left behind goes with the set. */
static int add_name(struct weir__rules_set *set, struct weir__strings *names, char *name)
{
    if ((names->count & (names->count - 1)) == 0) {
        char **items = weir__rules_alloc(set, names->count ? 2 * names->count : 1, sizeof(*items));
        if (!items)
            return -WEIR_E_NO_MEMORY;
        if (names->count > 0)
            memcpy(items, names->items, names->count * sizeof(*items));
        names->items = items;
    }
    names->items[names->count++] = name;
    return 0;
}

/* Joined lists have no room behind them. */
static int own_names(struct weir__rules_set *set, struct weir__strings *names)
{
    struct weir__strings own = {NULL, 0};
    int error = 0;
    for (size_t i = 0; i < names->count && !error; i++)
        error = add_name(set, &own, names->items[i]);
    if (!error)
        *names = own;
    return error;
}

/* One rule of one name. */
static int apply(const struct weir__load *load, const struct weir__drafts *drafts,
                 const struct weir__alias *alias, const char *id)
{
    bool is_doubtful = id[0] == '?';
    struct weir__draft *draft = weir__drafts_find(drafts, id + is_doubtful);
    if (!draft)
        return weir__rules_note(load, load->file, alias->line,
                                "[aliases]: '%s' stands for '%s', which is not there",
                                WEIR__TYPED(alias->name), WEIR__TYPED(id + is_doubtful));
    struct weir__strings *names = is_doubtful ? &draft->rule.known : &draft->rule.aliases;
    if (strcmp(draft->rule.id, alias->name) == 0 || has_name(names, alias->name))
        return 0;
    if (names->count >= WEIR__NAMES_MAX)
        return weir__rules_refuse(load, alias->line,
                                  "[aliases]: rule '%s' has more than %u other names",
                                  WEIR__TYPED(draft->rule.id), WEIR__NAMES_MAX);
    return add_name(load->set, names, alias->name);
}

int weir__aliases_apply(const struct weir__load *load, struct weir__drafts *drafts)
{
    int error = 0;
    for (size_t i = 0; i < drafts->count && !error && drafts->aliases_count > 0; i++) {
        error = own_names(load->set, &drafts->items[i].rule.aliases);
        if (!error)
            error = own_names(load->set, &drafts->items[i].rule.known);
    }
    for (size_t i = 0; i < drafts->aliases_count; i++)
        for (size_t j = 0; j < drafts->aliases[i].rules.count && !error; j++)
            error = apply(load, drafts, &drafts->aliases[i], drafts->aliases[i].rules.items[j]);
    return error;
}
