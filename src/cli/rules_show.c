/* rules_show.c - weir rules show: rules with all that they have, and what other names stand for. */
#include "rules_show.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <weir/error.h>

#include "alloc.h"
#include "cover.h"
#include "engine/engine.h"
#include "engine/stretch.h"
#include "log.h"
#include "print_json.h"
#include "scan_hush.h"
#include "scan_setup.h"

#include "banned.h"

/* --- JSON --- */

void weir__rules_put_text(struct weir__json *json, const char *key, const char *text)
{
    weir__json_key(json, key);
    if (text)
        weir__json_string(json, text);
    else
        weir__json_null(json);
}

/* --- what is shown of a text that somebody else wrote --- */

/* The rules that are built in have no secrets in them, though their examples look like some. */
static bool is_ours(const char *file)
{
    return !file || strcmp(file, "built-in") == 0;
}

char *weir__rules_covered(const char *text, const char *file, enum weir__rules_text kind)
{
    size_t size = strlen(text) + 1;
    char *shown = weir__base_alloc(1, size);
    if (!shown)
        return NULL;
    memcpy(shown, text, size);
    if (is_ours(file))
        return shown;
    if (kind == WEIR__RULES_EXAMPLE)
        weir__cover_source(shown);
    if (kind != WEIR__RULES_EXPRESSION)
        weir__hush_text(shown);
    weir__cover_words(shown);
    return shown;
}

void weir__rules_put_covered(struct weir__json *json, const char *key, const char *text,
                             const char *file, enum weir__rules_text kind)
{
    char *shown = text ? weir__rules_covered(text, file, kind) : NULL;
    weir__rules_put_text(json, key, shown);
    weir__base_free(shown);
}

static void put_strings(struct weir__json *json, const char *key,
                        const struct weir__strings *strings, const char *file)
{
    weir__json_key(json, key);
    weir__json_array(json);
    for (size_t i = 0; i < strings->count; i++) {
        char *shown = weir__rules_covered(strings->items[i], file, WEIR__RULES_EXAMPLE);
        weir__json_string(json, shown ? shown : "");
        weir__base_free(shown);
    }
    weir__json_end(json);
}

const char *weir__rules_id(char shown[WEIR__RULE_ID_SHOWN], const char *id)
{
    snprintf(shown, WEIR__RULE_ID_SHOWN, "%s", id);
    weir__cover_id(shown);
    return shown;
}

void weir__rules_put(struct weir__json *json, const struct weir__rule *rule)
{
    char id[WEIR__RULE_ID_SHOWN];
    weir__rules_put_text(json, "id", weir__rules_id(id, rule->id));
    weir__rules_put_text(json, "provider", rule->provider);
    weir__rules_put_text(json, "description", rule->description);
    put_strings(json, "keywords", &rule->keywords, rule->file);
    put_strings(json, "tags", &rule->tags, rule->file);
    put_strings(json, "aliases", &rule->aliases, rule->file);
    weir__rules_put_covered(json, "regex", rule->regex, rule->file, WEIR__RULES_EXPRESSION);
    weir__rules_put_covered(json, "path", rule->path, rule->file, WEIR__RULES_EXPRESSION);
    weir__rules_put_covered(json, "check", rule->check, rule->file, WEIR__RULES_EXPRESSION);
    weir__json_key(json, "entropy");
    weir__json_real(json, rule->entropy);
    weir__json_key(json, "gives_way");
    weir__json_bool(json, rule->gives_way);
    weir__json_key(json, "named");
    weir__json_bool(json, rule->is_named || rule->is_bound);
    weir__rules_put_number(json, "listed", rule->listed_min);
}

void weir__rules_put_number(struct weir__json *json, const char *key, uint64_t number)
{
    weir__json_key(json, key);
    weir__json_u64(json, number);
}

/* --- one rule by itself --- */

struct weir__rules *weir__rules_alone(const struct weir__rules *rules,
                                      const struct weir__rule *rule,
                                      struct weir__rule with[WEIR__RULES_WITH_MAX],
                                      struct weir__rules *set, bool is_pathless)
{
    *set = (struct weir__rules){.title = rules->title,
                                .rules = with,
                                .rules_count = 1,
                                .allows = rules->allows,
                                .allows_count = rules->allows_count};
    with[0] = *rule;
    if (is_pathless && rule->regex)
        with[0].path = NULL;
    for (size_t i = 0; i < rule->required_count; i++) {
        const char *name = rule->required[i].rule;
        const struct weir__rule *other = NULL;
        while (set->rules_count < WEIR__RULES_WITH_MAX &&
               (other = weir__rules_next(rules, name, other)))
            if (other != rule)
                with[set->rules_count++] = *other;
    }
    return set;
}

int weir__rules_engine(struct weir__engine **ret_engine, const struct weir__rules *rules)
{
    struct weir__engine_options none = {0};
    struct weir__rules_error error = {.text = ""};
    int result = weir__engine_new(ret_engine, rules, &none, &error);
    if (result < 0)
        weir__log(WEIR__LOG_ERROR, "%s", error.text[0] ? error.text : weir_error_text(result));
    return result == -WEIR_E_INVALID ? -WEIR_E_USAGE : result;
}

/* --- one rule as text --- */

struct counts {
    size_t named, known; /* rules for which a name stands; rules that may find the same */
};

static bool is_known_as(const struct weir__rule *rule, const char *name)
{
    bool is = false;
    for (size_t i = 0; i < rule->known.count && !is; i++)
        is = strcmp(rule->known.items[i], name) == 0;
    return is;
}

static void print_field(struct weir__out *out, const char *name, const char *text)
{
    if (!text || text[0] == '\0')
        return;
    weir__out_printf(out, "  %-12s ", name);
    weir__out_escaped(out, text);
    weir__out_puts(out, "\n");
}

static void print_expression(struct weir__out *out, const char *name, const char *text,
                             const char *file)
{
    char *shown = text ? weir__rules_covered(text, file, WEIR__RULES_EXPRESSION) : NULL;
    print_field(out, name, shown);
    weir__base_free(shown);
}

static void print_expressions(struct weir__out *out, const char *name,
                              const struct weir__strings *strings, const char *file)
{
    for (size_t i = 0; i < strings->count; i++)
        print_expression(out, i == 0 ? name : "", strings->items[i], file);
}

static void print_strings(struct weir__out *out, const char *name,
                          const struct weir__strings *strings, const char *file)
{
    for (size_t i = 0; i < strings->count; i++) {
        char *shown = weir__rules_covered(strings->items[i], file, WEIR__RULES_EXAMPLE);
        print_field(out, i == 0 ? name : "", shown);
        weir__base_free(shown);
    }
}

static void print_allow(struct weir__out *out, const struct weir__allow *allow)
{
    static const char *const targets[] = {"the secret", "the match", "the line"};
    weir__out_printf(out, "  allow list, if %s of these %s; regexes look at %s\n",
                     allow->is_and ? "all" : "any", allow->is_and ? "hold" : "holds",
                     targets[allow->target]);
    const char *file = allow->file;
    char *description = allow->description
                            ? weir__rules_covered(allow->description, file, WEIR__RULES_SENTENCE)
                            : NULL;
    print_field(out, "  for", description);
    weir__base_free(description);
    print_expressions(out, "  paths", &allow->paths, file);
    print_expressions(out, "  regexes", &allow->regexes, file);
    print_strings(out, "  stop words", &allow->stopwords, file);
    for (size_t i = 0; i < allow->commits.count; i++)
        print_field(out, i == 0 ? "  commits" : "", allow->commits.items[i]);
}

static void print_required(struct weir__out *out, const struct weir__required *required)
{
    char id[WEIR__RULE_ID_SHOWN];
    weir__out_printf(out, "  %-12s %s", "required", weir__rules_id(id, required->rule));
    if (required->within_lines >= 0)
        weir__out_printf(out, ", within %" PRId64 " lines", required->within_lines);
    if (required->within_columns >= 0)
        weir__out_printf(out, ", within %" PRId64 " columns", required->within_columns);
    weir__out_puts(out, "\n");
}

static void print_look(struct weir__out *out, const struct weir__rule_look *look, const char *file)
{
    if (look->is_by_expression)
        weir__out_printf(out, "  %-12s the expression itself\n", "looked for");
    else if (!look->is_by_literals)
        weir__out_printf(out, "  %-12s the path alone\n", "looked for");
    for (unsigned i = 0; look->is_by_literals && i < look->literals.count; i++) {
        char text[WEIR__EXPRESSION_LITERAL + 1] = "";
        memcpy(text, look->literals.text[i], look->literals.length[i]);
        print_expression(out, i == 0 ? "looked for" : "", text, file);
    }
    if (look->is_near)
        weir__out_printf(out, "  %-12s near %u bytes in a row that tokens are made of\n", "where",
                         WEIR__STRETCH_MIN);
    weir__out_printf(out, "  %-12s %u bytes at most%s\n", "width", look->width,
                     look->is_cut ? ", though the regex may go on" : "");
}

/* Whether an allow list for many rules is for this one. */
static bool is_shared(const struct weir__allow *allow, const struct weir__rule *rule)
{
    bool is = allow->rules.count == 0;
    for (size_t i = 0; i < allow->rules.count && !is; i++)
        is = weir__rule_is_named(rule, allow->rules.items[i]);
    return is;
}

static void print_rule(struct weir__out *out, const struct weir__rules *rules,
                       const struct weir__rule *rule, const struct weir__rule_look *look)
{
    char id[WEIR__RULE_ID_SHOWN];
    weir__out_escaped(out, weir__rules_id(id, rule->id));
    weir__out_puts(out, "\n");
    print_field(out, "description", rule->description);
    print_field(out, "provider", rule->provider);
    weir__out_printf(out, "  %-12s %s, line %u\n", "from", rule->file ? rule->file : "?",
                     rule->line);
    print_expression(out, "regex", rule->regex, rule->file);
    print_expression(out, "path", rule->path, rule->file);
    if (rule->has_secret_group)
        weir__out_printf(out, "  %-12s group %u\n", "secret", rule->secret_group);
    if (rule->entropy > 0)
        weir__out_printf(out, "  %-12s at least %g bits for each byte\n", "entropy", rule->entropy);
    print_expression(out, "check", rule->check, rule->file);
    print_strings(out, "keywords", &rule->keywords, rule->file);
    print_strings(out, "tags", &rule->tags, rule->file);
    print_strings(out, "also called", &rule->aliases, rule->file);
    for (size_t i = 0; i < rule->required_count; i++)
        print_required(out, &rule->required[i]);
    if (rule->is_hidden)
        weir__out_printf(out, "  %-12s serves other rules alone\n", "hidden");
    if (rule->gives_way)
        weir__out_printf(out, "  %-12s where another rule has the same bytes\n", "gives way");
    if (rule->is_named || rule->is_bound)
        weir__out_printf(out, "  %-12s what is the value of another name is none\n", "named");
    if (rule->listed_min > 0)
        weir__out_printf(out, "  %-12s further values of a list, from %u bytes on\n", "listed",
                         rule->listed_min);
    for (size_t i = 0; i < rule->allows_count; i++)
        print_allow(out, &rule->allows[i]);
    for (size_t i = 0; i < rules->allows_count; i++)
        if (is_shared(&rules->allows[i], rule))
            print_allow(out, &rules->allows[i]);
    print_look(out, look, rule->file);
    print_strings(out, "examples", &rule->examples, rule->file);
    print_strings(out, "negatives", &rule->negatives, rule->file);
}

static void put_literal(struct weir__json *json, const char *bytes, size_t length, const char *file)
{
    char text[WEIR__EXPRESSION_LITERAL + 1];
    memcpy(text, bytes, length);
    text[length] = '\0';
    if (!is_ours(file) && strlen(text) == length)
        weir__cover_words(text);
    weir__json_bytes(json, text, length);
}

static void put_look(struct weir__json *json, const struct weir__rule *rule,
                     const struct weir__rule_look *look)
{
    weir__json_object(json);
    weir__rules_put(json, rule);
    weir__json_key(json, "width");
    weir__json_u64(json, look->width);
    weir__json_key(json, "width_cut");
    weir__json_bool(json, look->is_cut);
    weir__rules_put_text(json, "looked_for",
                         look->is_by_literals     ? "literals"
                         : look->is_by_expression ? "expression"
                                                  : "path");
    weir__rules_put_text(json, "where", look->is_near ? "near" : "everywhere");
    weir__json_key(json, "literals");
    weir__json_array(json);
    for (unsigned i = 0; look->is_by_literals && i < look->literals.count; i++)
        put_literal(json, look->literals.text[i], look->literals.length[i], rule->file);
    weir__json_end(json);
    put_strings(json, "examples", &rule->examples, rule->file);
    put_strings(json, "negatives", &rule->negatives, rule->file);
    weir__json_end(json);
}

/* --- names --- */

/* Ids of the rules for which a name stands, or that may find the same. */
static void print_named(struct weir__out *out, const struct weir__rules *rules, const char *name,
                        bool is_doubtful)
{
    const char *between = "";
    char id[WEIR__RULE_ID_SHOWN];
    for (size_t i = 0; i < rules->rules_count; i++) {
        const struct weir__rule *rule = &rules->rules[i];
        bool is = is_doubtful ? is_known_as(rule, name) : weir__rule_is_named(rule, name);
        if (!is)
            continue;
        weir__out_puts(out, between);
        weir__out_escaped(out, weir__rules_id(id, rule->id));
        between = ", ";
    }
}

static void put_named(struct weir__json *json, const struct weir__rules *rules, const char *name,
                      bool is_doubtful)
{
    char id[WEIR__RULE_ID_SHOWN];
    weir__json_array(json);
    for (size_t i = 0; i < rules->rules_count; i++) {
        const struct weir__rule *rule = &rules->rules[i];
        if (is_doubtful ? is_known_as(rule, name) : weir__rule_is_named(rule, name))
            weir__json_string(json, weir__rules_id(id, rule->id));
    }
    weir__json_end(json);
}

/* What a name stands for that is not just the id of a rule. */
static void tell_name(const struct weir__call *call, const struct weir__rules *rules,
                      const char *name, const struct counts *counts, struct weir__json *json)
{
    char shown[WEIR__RULE_ID_SHOWN];
    weir__rules_id(shown, name);
    if (json) {
        weir__json_object(json);
        weir__rules_put_text(json, "name", shown);
        weir__json_key(json, "stands_for");
        put_named(json, rules, name, false);
        weir__json_key(json, "may_be_found_by");
        put_named(json, rules, name, true);
        weir__json_end(json);
        return;
    }
    weir__out_escaped(call->out, shown);
    if (counts->named > 0) {
        weir__out_puts(call->out, " stands for ");
        print_named(call->out, rules, name, false);
    }
    if (counts->known > 0) {
        weir__out_puts(call->out,
                       counts->named > 0 ? "; may also be found by " : " may be found by ");
        print_named(call->out, rules, name, true);
    }
    weir__out_puts(call->out, "\n");
}

static struct counts count_named(const struct weir__rules *rules, const char *name)
{
    struct counts counts = {0, 0};
    for (size_t i = 0; i < rules->rules_count; i++) {
        counts.named += weir__rule_is_named(&rules->rules[i], name);
        counts.known += is_known_as(&rules->rules[i], name);
    }
    return counts;
}

/* --- the action --- */

static int show_rule(const struct weir__call *call, const struct weir__rules *rules,
                     const struct weir__rule *rule, struct weir__json *json)
{
    struct weir__rule with[WEIR__RULES_WITH_MAX];
    struct weir__rules set;
    struct weir__engine *engine = NULL;
    struct weir__rule_look look;
    int result = weir__rules_engine(&engine, weir__rules_alone(rules, rule, with, &set, false));
    if (result < 0)
        return result;
    bool is_known = weir__engine_look(engine, rule->id, &look);
    weir__engine_free(engine);
    if (!is_known)
        return -WEIR_E_INTERNAL;
    if (json)
        put_look(json, rule, &look);
    else
        print_rule(call->out, rules, rule, &look);
    return 0;
}

static int show_name(const struct weir__call *call, const struct weir__rules *rules,
                     const char *name, struct weir__json *json)
{
    const struct counts counts = count_named(rules, name);
    const struct weir__rule *rule = NULL;
    bool is_id = weir__rules_find(rules, name) != NULL;
    int result = 0;
    if (counts.named + counts.known == 0)
        return weir__scan_unknown_rule(rules, name);
    if (!is_id || counts.named + counts.known > 1)
        tell_name(call, rules, name, &counts, json);
    while (result == 0 && (rule = weir__rules_next(rules, name, rule)))
        result = show_rule(call, rules, rule, json);
    return result;
}

int weir__rules_show(const struct weir__call *call, const struct weir__rules *rules, bool is_json)
{
    WEIR_CLEANUP(weir__buffer_fini)
    struct weir__buffer buffer;
    weir__buffer_init(&buffer, WEIR__RULES_JSON_MAX);
    struct weir__json json;
    weir__json_init(&json, &buffer);
    int result = 0;
    for (int i = 1; i < call->operands_count && result == 0; i++)
        result = show_name(call, rules, call->operands[i], is_json ? &json : NULL);
    return result < 0 || !is_json ? result : weir__print_json(call->out, &json, &buffer);
}
