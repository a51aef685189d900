/* rules_read.c - one document: its rules, its allow lists, and what it says it extends. */
#include "cover.h"
#include "rules_part.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include <weir/error.h>

#include "text.h"

#include "banned.h"

#define GROUPS_MAX      65535 /* of PCRE2 */
#define ENTROPY_MAX     8     /* bits of a byte */
#define WHERE_SIZE      128

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

/* --- tables --- */

/* A table where a list of tables could be is a list of one. */
static size_t tables_count(const struct weir__toml_node *node)
{
    return node && weir__toml_kind(node) == WEIR__TOML_TABLE ? 1 : weir__toml_count(node);
}

static const struct weir__toml_node *table_at(const struct weir__toml_node *node, size_t index)
{
    return weir__toml_kind(node) == WEIR__TOML_TABLE ? node : weir__toml_at(node, index);
}

/* Refuses what is neither a table nor a list of them. */
static int check_tables(const struct weir__load *load, const struct weir__toml_node *node,
                        const char *where, const char *name)
{
    bool is_good = !node || weir__toml_kind(node) == WEIR__TOML_TABLE ||
                   weir__toml_kind(node) == WEIR__TOML_ARRAY;
    for (size_t i = 0; is_good && i < tables_count(node); i++)
        is_good = weir__toml_kind(table_at(node, i)) == WEIR__TOML_TABLE;
    return is_good ? 0
                   : weir__rules_refuse(load, weir__toml_line(node),
                                        "%s'%s' must be tables: write [[%s]] above each", where,
                                        name, name);
}

/* --- allow lists --- */

struct raw_allow {
    struct weir__allow allow;
    char *condition, *target;
};

/* The last is for global ones. */
static const struct weir__field allow_fields[] = {
    {"description", WEIR__FIELD_TEXT, offsetof(struct raw_allow, allow.description), 0},
    {"condition", WEIR__FIELD_TEXT, offsetof(struct raw_allow, condition), 0},
    {"regexTarget", WEIR__FIELD_TEXT, offsetof(struct raw_allow, target), 0},
    {"commits", WEIR__FIELD_WORDS, offsetof(struct raw_allow, allow.commits), 0},
    {"paths", WEIR__FIELD_EXPRESSIONS, offsetof(struct raw_allow, allow.paths), 0},
    {"regexes", WEIR__FIELD_EXPRESSIONS, offsetof(struct raw_allow, allow.regexes), 0},
    {"stopwords", WEIR__FIELD_WORDS, offsetof(struct raw_allow, allow.stopwords), 0},
    {"targetRules", WEIR__FIELD_WORDS, offsetof(struct raw_allow, allow.rules), 0},
};

static int read_condition(const struct weir__load *load, struct raw_allow *raw, const char *where)
{
    const char *condition = raw->condition ? raw->condition : "";
    if (strcasecmp(condition, "and") == 0 || strcmp(condition, "&&") == 0)
        raw->allow.is_and = true;
    else if (condition[0] && strcasecmp(condition, "or") != 0 && strcmp(condition, "||") != 0)
        return weir__rules_refuse(load, raw->allow.line,
                                  "%s'condition' is '%s', and must be AND or OR", where,
                                  WEIR__TYPED(condition));
    return 0;
}

static int read_target(const struct weir__load *load, struct raw_allow *raw, const char *where)
{
    const char *target = raw->target ? raw->target : "";
    if (strcmp(target, "match") == 0)
        raw->allow.target = WEIR__ALLOW_MATCH;
    else if (strcmp(target, "line") == 0)
        raw->allow.target = WEIR__ALLOW_LINE;
    else if (target[0] && strcmp(target, "secret") != 0)
        return weir__rules_refuse(load, raw->allow.line,
                                  "%s'regexTarget' is '%s', and must be secret, match or line",
                                  where, WEIR__TYPED(target));
    return 0;
}

/* Appends it, or notes that it says nothing. */
static int read_allow(const struct weir__load *load, const struct weir__toml_node *table,
                      const char *where, bool is_global, struct weir__allow *allows,
                      size_t *allows_count)
{
    struct raw_allow raw = {.allow.line = weir__toml_line(table), .allow.file = load->file};
    struct weir__allow *allow = &raw.allow;
    int error = weir__rules_read_fields(load, table, where, allow_fields,
                                        COUNT_OF(allow_fields) - !is_global, &raw);
    if (!error)
        error = read_condition(load, &raw, where);
    if (!error)
        error = read_target(load, &raw, where);
    if (!error && !allow->description)
        allow->description = weir__rules_text(load->set, "", 0);
    if (error || !allow->description)
        return error ? error : -WEIR_E_NO_MEMORY;
    if (allow->commits.count + allow->paths.count + allow->regexes.count + allow->stopwords.count ==
        0)
        return weir__rules_note(load, load->file, allow->line,
                                "%san allow list without commits, paths, regexes and stopwords was "
                                "passed over",
                                where);
    allows[(*allows_count)++] = *allow;
    return 0;
}

/* `allowlist` and `allowlists` of a table. */
static int read_allows(const struct weir__load *load, const struct weir__toml_node *table,
                       const char *where, bool is_global, struct weir__allow **ret_allows,
                       size_t *ret_count)
{
    static const char *const names[] = {"allowlist", "allowlists"};
    const struct weir__toml_node *nodes[COUNT_OF(names)];
    size_t most = 0;
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        nodes[i] = weir__rules_get(table, names[i]);
        int error = check_tables(load, nodes[i], where, names[i]);
        if (error)
            return error;
        most += tables_count(nodes[i]);
    }
    if (most == 0)
        return 0;
    *ret_allows = weir__rules_alloc(load->set, most, sizeof(**ret_allows));
    int error = *ret_allows ? 0 : -WEIR_E_NO_MEMORY;
    for (size_t i = 0; i < COUNT_OF(names); i++)
        for (size_t j = 0; j < tables_count(nodes[i]) && !error; j++)
            error =
                read_allow(load, table_at(nodes[i], j), where, is_global, *ret_allows, ret_count);
    return error;
}

/* --- requirements --- */

static const struct weir__field required_fields[] = {
    {"id", WEIR__FIELD_TEXT, offsetof(struct weir__required, rule), 0},
    {"withinLines", WEIR__FIELD_COUNT, offsetof(struct weir__required, within_lines), INT32_MAX},
    {"withinColumns", WEIR__FIELD_COUNT, offsetof(struct weir__required, within_columns),
     INT32_MAX},
};

static int read_required(const struct weir__load *load, const struct weir__toml_node *rule_table,
                         const char *where, struct weir__rule *rule)
{
    const struct weir__toml_node *node = weir__rules_get(rule_table, "required");
    size_t count = tables_count(node);
    int error = check_tables(load, node, where, "rules.required");
    if (error || count == 0)
        return error;
    if (count > WEIR__REQUIRED_MAX)
        return weir__rules_refuse(load, weir__toml_line(node), "%srequires more than %u others",
                                  where, WEIR__REQUIRED_MAX);
    rule->required = weir__rules_alloc(load->set, count, sizeof(*rule->required));
    if (!rule->required)
        return -WEIR_E_NO_MEMORY;
    for (size_t i = 0; i < count; i++) {
        struct weir__required *required = &rule->required[i];
        required->within_lines = required->within_columns = -1;
        error = weir__rules_read_fields(load, table_at(node, i), where, required_fields,
                                        COUNT_OF(required_fields), required);
        if (error)
            return error;
        if (!required->rule || required->rule[0] == '\0')
            return weir__rules_refuse(load, weir__toml_line(table_at(node, i)),
                                      "%sa [[rules.required]] without an id", where);
        rule->required_count++;
    }
    return 0;
}

/* --- rules --- */

struct raw_rule {
    struct weir__draft draft;
    int64_t secret_group, max_width, listed_min;
};

static const struct weir__field rule_fields[] = {
    {"id", WEIR__FIELD_TEXT, offsetof(struct raw_rule, draft.rule.id), 0},
    {"description", WEIR__FIELD_TEXT, offsetof(struct raw_rule, draft.rule.description), 0},
    {"regex", WEIR__FIELD_TEXT, offsetof(struct raw_rule, draft.rule.regex), 0},
    {"path", WEIR__FIELD_TEXT, offsetof(struct raw_rule, draft.rule.path), 0},
    {"secretGroup", WEIR__FIELD_COUNT, offsetof(struct raw_rule, secret_group), GROUPS_MAX},
    {"entropy", WEIR__FIELD_REAL, offsetof(struct raw_rule, draft.rule.entropy), ENTROPY_MAX},
    {"keywords", WEIR__FIELD_WORDS, offsetof(struct raw_rule, draft.rule.keywords), 0},
    {"tags", WEIR__FIELD_WORDS, offsetof(struct raw_rule, draft.rule.tags), 0},
    {"skipReport", WEIR__FIELD_BOOL, offsetof(struct raw_rule, draft.rule.is_hidden), 0},
    {"givesWay", WEIR__FIELD_BOOL, offsetof(struct raw_rule, draft.rule.gives_way), 0},
    {"named", WEIR__FIELD_BOOL, offsetof(struct raw_rule, draft.rule.is_named), 0},
    {"allowlist", WEIR__FIELD_ELSEWHERE, 0, 0},
    {"allowlists", WEIR__FIELD_ELSEWHERE, 0, 0},
    {"required", WEIR__FIELD_ELSEWHERE, 0, 0},
    {"provider", WEIR__FIELD_TEXT, offsetof(struct raw_rule, draft.rule.provider), 0},
    {"check", WEIR__FIELD_TEXT, offsetof(struct raw_rule, draft.rule.check), 0},
    {"examples", WEIR__FIELD_EXPRESSIONS, offsetof(struct raw_rule, draft.rule.examples), 0},
    {"negatives", WEIR__FIELD_EXPRESSIONS, offsetof(struct raw_rule, draft.rule.negatives), 0},
    {"max-width", WEIR__FIELD_COUNT, offsetof(struct raw_rule, max_width), WEIR__WIDTH_MAX},
    {"listed", WEIR__FIELD_COUNT, offsetof(struct raw_rule, listed_min), WEIR__WIDTH_MAX},
    {"context", WEIR__FIELD_EXPRESSIONS, offsetof(struct raw_rule, draft.context.words), 0},
    {"names", WEIR__FIELD_EXPRESSIONS, offsetof(struct raw_rule, draft.context.names), 0},
    {"value", WEIR__FIELD_TEXT, offsetof(struct raw_rule, draft.context.value), 0},
};

/* An empty string is one that was not given. */
static void forget_empty(char **text)
{
    if (*text && (*text)[0] == '\0')
        *text = NULL;
}

static void lower(struct weir__strings *strings)
{
    for (size_t i = 0; i < strings->count; i++)
        for (char *p = strings->items[i]; *p; p++)
            if (*p >= 'A' && *p <= 'Z')
                *p = (char)(*p - 'A' + 'a');
}

/* What is shown of a rule has no secret in it, such as the token that somebody has put there for an
 * example. An id stays as it is, since others name the rule by it: whoever shows it covers it. */
static void cover(struct weir__rule *rule)
{
    char *const texts[] = {rule->description, rule->provider};
    for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
        weir__cover_written(texts[i]);
    for (size_t i = 0; i < rule->tags.count; i++)
        weir__cover_written(rule->tags.items[i]);
}

/* Numbers and texts as the struct wants them. */
static int settle(const struct weir__load *load, struct raw_rule *raw)
{
    struct weir__rule *rule = &raw->draft.rule;
    rule->secret_group = (unsigned)raw->secret_group;
    rule->has_secret_group = raw->secret_group > 0;
    rule->max_width = (uint32_t)raw->max_width;
    rule->listed_min = (uint32_t)raw->listed_min;
    forget_empty(&rule->regex);
    forget_empty(&rule->path);
    forget_empty(&rule->check);
    lower(&rule->keywords);
    rule->file = load->file;
    if (!rule->description)
        rule->description = weir__rules_text(load->set, "", 0);
    if (!rule->provider)
        rule->provider = weir__rules_text(load->set, "", 0);
    if (!rule->description || !rule->provider)
        return -WEIR_E_NO_MEMORY;
    cover(rule);
    return 0;
}

static int read_rule(const struct weir__load *load, const struct weir__toml_node *table,
                     struct weir__draft *ret_draft)
{
    char where[WHERE_SIZE];
    struct raw_rule raw = {.draft.rule.line = weir__toml_line(table)};
    struct weir__rule *rule = &raw.draft.rule;
    const char *id = weir__toml_string(weir__rules_get(table, "id"));
    snprintf(where, sizeof(where), "rule '%s': ", WEIR__TYPED(id ? id : ""));
    int error =
        weir__rules_read_fields(load, table, where, rule_fields, COUNT_OF(rule_fields), &raw);
    if (error)
        return error;
    if (!rule->id || rule->id[0] == '\0')
        return weir__rules_refuse(load, rule->line, "a rule without an id; add id = \"...\"");
    if (strlen(rule->id) > WEIR__RULE_ID_MAX)
        return weir__rules_refuse(load, rule->line, "%sthe id has more than %u bytes", where,
                                  WEIR__RULE_ID_MAX);
    if (rule->regex && rule->regex[0] && (raw.draft.context.words.count || raw.draft.context.value))
        return weir__rules_refuse(load, rule->line,
                                  "%shas 'regex' and 'context' or 'value'; one says it all", where);
    error = settle(load, &raw);
    if (!error)
        error = read_allows(load, table, where, false, &rule->allows, &rule->allows_count);
    if (!error)
        error = read_required(load, table, where, rule);
    if (!error)
        *ret_draft = raw.draft;
    return error;
}

static int read_rules(const struct weir__load *load, const struct weir__toml_node *node,
                      bool is_change, struct weir__drafts *drafts)
{
    size_t count = tables_count(node);
    int error = check_tables(load, node, "", "rules");
    if (error || count == 0)
        return error;
    if (count > WEIR__RULES_MAX)
        return weir__rules_refuse(load, 0, "more than %u rules", WEIR__RULES_MAX);
    drafts->items = weir__rules_alloc(load->set, count, sizeof(*drafts->items));
    if (!drafts->items)
        return -WEIR_E_NO_MEMORY;
    for (size_t i = 0; i < count && !error; i++) {
        const struct weir__toml_node *table = table_at(node, i);
        struct weir__draft *draft = &drafts->items[drafts->count];
        if (weir__toml_count(table) == 0) {
            error = weir__rules_note(load, load->file, weir__toml_line(table),
                                     "an empty rule was passed over");
            continue;
        }
        error = read_rule(load, table, draft);
        draft->is_change = is_change;
        drafts->count += !error;
    }
    return error;
}

/* --- the document --- */

static const struct weir__field root_fields[] = {
    {"title", WEIR__FIELD_TEXT, offsetof(struct weir__drafts, title), 0},
    {"description", WEIR__FIELD_ELSEWHERE, 0, 0},
    {"minVersion", WEIR__FIELD_ELSEWHERE, 0, 0}, /* of another program */
    {"extend", WEIR__FIELD_ELSEWHERE, 0, 0},
    {"rules", WEIR__FIELD_ELSEWHERE, 0, 0},
    {"aliases", WEIR__FIELD_ELSEWHERE, 0, 0},
    {"allowlist", WEIR__FIELD_ELSEWHERE, 0, 0},
    {"allowlists", WEIR__FIELD_ELSEWHERE, 0, 0},
};

static const struct weir__field extend_fields[] = {
    {"path", WEIR__FIELD_TEXT, offsetof(struct weir__extend, path), 0},
    {"url", WEIR__FIELD_TEXT, offsetof(struct weir__extend, url), 0},
    {"useDefault", WEIR__FIELD_BOOL, offsetof(struct weir__extend, use_default), 0},
    {"disabledRules", WEIR__FIELD_WORDS, offsetof(struct weir__extend, disabled), 0},
};

static int read_extend(const struct weir__load *load, const struct weir__toml_node *node,
                       struct weir__extend *extend)
{
    if (!node)
        return 0;
    extend->line = weir__toml_line(node);
    if (weir__toml_kind(node) != WEIR__TOML_TABLE)
        return weir__rules_refuse(load, extend->line, "'extend' must be a table: write [extend]");
    int error = weir__rules_read_fields(load, node, "[extend]: ", extend_fields,
                                        COUNT_OF(extend_fields), extend);
    if (error)
        return error;
    forget_empty(&extend->path);
    forget_empty(&extend->url);
    if (extend->path && extend->use_default)
        return weir__rules_refuse(load, extend->line,
                                  "[extend]: has 'path' and 'useDefault'; one file extends one "
                                  "other, which can extend the next");
    if (extend->url)
        return weir__rules_note(load, load->file, extend->line,
                                "[extend]: nothing is fetched, so 'url' was passed over; save it "
                                "as a file and name that in 'path'");
    return 0;
}

int weir__rules_read(const struct weir__load *load, const struct weir__toml_node *root,
                     struct weir__drafts *ret_drafts, struct weir__extend *ret_extend)
{
    struct weir__drafts drafts = {0};
    struct weir__extend extend = {0};
    int error =
        weir__rules_read_fields(load, root, "", root_fields, COUNT_OF(root_fields), &drafts);
    if (!error)
        error = read_extend(load, weir__rules_get(root, "extend"), &extend);
    if (!error)
        error = read_rules(load, weir__rules_get(root, "rules"),
                           extend.path || extend.use_default || extend.url, &drafts);
    if (!error)
        error = read_allows(load, root, "", true, &drafts.allows, &drafts.allows_count);
    if (!error)
        error = weir__aliases_read(load, weir__rules_get(root, "aliases"), &drafts);
    if (error)
        return error;
    *ret_drafts = drafts;
    *ret_extend = extend;
    return 0;
}
