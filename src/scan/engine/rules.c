/* rules.c - a file of rules and those that it extends, as one set.
 *
 * Each file is parsed and read by itself, and its document freed, before the one that it extends is
 * asked for: of a chain of files, one document is in memory at a time. Merging goes from the lowest
 * up. What can only be known when all are together (a rule with nothing to look for, a rule that is
 * named and not there) is looked at last.
 */
#include "rules_part.h"

#include <stdio.h>
#include <string.h>

#include <weir/error.h>

#include "alloc.h"
#include "cover.h"
#include "text.h"

#include "banned.h"

#define BUILT_IN "built-in"

/* The reason quotes what the file has there. */
static int refuse_toml(const struct weir__load *load, struct weir__toml_error *error)
{
    weir__cover_written(error->reason);
    return weir__rules_refuse(load, error->line, "not TOML: %s", error->reason);
}

/* --- reading --- */

static int parse(const struct weir__load *load, const char *text, size_t length,
                 struct weir__toml **ret_document)
{
    struct weir__toml_error toml_error = {0};
    int error = weir__toml_parse(ret_document, text, length, &toml_error);
    if (error == -WEIR_E_OVERFLOW)
        return weir__rules_refuse(load, 0, "has more than %u MiB or %u values",
                                  WEIR__TOML_BYTES_MAX >> 20, WEIR__TOML_VALUES_MAX);
    if (error == -WEIR_E_INVALID)
        return refuse_toml(load, &toml_error);
    return error;
}

static int read_document(const struct weir__load *load, const char *text, size_t length,
                         struct weir__drafts *ret_drafts, struct weir__extend *ret_extend)
{
    struct weir__toml *document = NULL;
    int error = parse(load, text, length, &document);
    if (error)
        return error;
    error = weir__rules_read(load, weir__toml_root(document), ret_drafts, ret_extend);
    weir__toml_free(document);
    return error ? error : weir__drafts_index(load, ret_drafts);
}

static int add_file(struct weir__load *load, const char *file)
{
    struct weir__strings *files = &load->set->rules.files;
    if (!files->items)
        files->items = weir__rules_alloc(load->set, WEIR__EXTEND_DEPTH, sizeof(char *));
    load->file = weir__rules_text(load->set, file, strlen(file));
    if (!files->items || !load->file)
        return -WEIR_E_NO_MEMORY;
    files->items[files->count++] = load->file;
    return 0;
}

static const char *name_of(const struct weir__extend *extend)
{
    return extend->path ? extend->path : BUILT_IN;
}

/* Whether there may be one file more. */
static int check_depth(const struct weir__load *load, const struct weir__extend *extend)
{
    if (load->set->rules.files.count >= WEIR__EXTEND_DEPTH)
        return weir__rules_refuse(load, extend->line,
                                  "[extend]: '%s' would be more than %u files deep",
                                  WEIR__TYPED(name_of(extend)), WEIR__EXTEND_DEPTH);
    if (!load->reader)
        return weir__rules_refuse(load, extend->line, "[extend]: nothing can be extended here");
    return 0;
}

/* The text that a file extends. */
static int fetch(const struct weir__load *load, const struct weir__extend *extend, char **ret_text,
                 size_t *ret_length)
{
    int error = load->reader->read(load->reader->arg, extend->path, ret_text, ret_length);
    if (error)
        (void)weir__rules_refuse(load, extend->line, "[extend]: cannot read '%s': %s",
                                 WEIR__TYPED(name_of(extend)), weir_error_text(error));
    return error;
}

static int load_file(struct weir__load *load, const char *file, const char *text, size_t length,
                     struct weir__drafts *ret_drafts);

/* What a file extends, with everything below it. */
static int load_base(struct weir__load *load, const struct weir__extend *extend,
                     struct weir__drafts *ret_base)
{
    char *text = NULL;
    size_t length = 0;
    int error = check_depth(load, extend);
    if (error)
        return error;
    if (!extend->path && load->reader->packed) {
        error = add_file(load, BUILT_IN);
        return error ? error : weir__drafts_unpack(load, load->reader->packed, ret_base);
    }
    error = fetch(load, extend, &text, &length);
    if (error)
        return error;
    error = load_file(load, name_of(extend), text, length, ret_base);
    weir__base_free(text);
    return error;
}

/* Everything from file on down the chain. */
static int load_file(struct weir__load *load, const char *file, const char *text, size_t length,
                     struct weir__drafts *ret_drafts)
{
    struct weir__extend extend = {0};
    struct weir__drafts base = {0};
    int error = add_file(load, file);
    if (!error)
        error = read_document(load, text, length, ret_drafts, &extend);
    if (error)
        return error;
    if (!extend.path && !extend.use_default)
        return weir__aliases_apply(load, ret_drafts);
    char *own = load->file;
    error = load_base(load, &extend, &base);
    if (error)
        return error;
    load->file = own;
    error = weir__drafts_merge(load, ret_drafts, &base, &extend);
    return error ? error : weir__aliases_apply(load, ret_drafts);
}

/* --- finishing --- */

/* Where every match has one of the words in it, it has one of these. */
static int default_keywords(struct weir__rules_set *set, const struct weir__strings *words,
                            struct weir__strings *keywords)
{
    keywords->items = weir__rules_alloc(set, words->count, sizeof(char *));
    if (!keywords->items)
        return -WEIR_E_NO_MEMORY;
    for (size_t i = 0; i < words->count; i++) {
        size_t length;
        const char *part = weir__context_keyword(words->items[i], &length);
        char *keyword = weir__rules_text(set, part, length);
        bool is_new = true;
        if (!keyword)
            return -WEIR_E_NO_MEMORY;
        for (char *p = keyword; *p; p++)
            if (*p >= 'A' && *p <= 'Z')
                *p = (char)(*p - 'A' + 'a');
        for (size_t j = 0; j < keywords->count && is_new; j++)
            is_new = strcmp(keywords->items[j], keyword) != 0;
        if (is_new)
            keywords->items[keywords->count++] = keyword;
    }
    return 0;
}

/* A rule that was written as a context gets its expression. */
static int expand(const struct weir__load *load, struct weir__draft *draft)
{
    struct weir__rule *rule = &draft->rule;
    struct weir__buffer buffer;
    const char *problem = weir__context_problem(&draft->context);
    if (problem)
        return weir__rules_refuse(load, rule->line, "rule '%s': %s", WEIR__TYPED(rule->id),
                                  problem);
    weir__buffer_init(&buffer, WEIR__CONTEXT_BYTES_MAX);
    int error = weir__context_expand(&draft->context, &buffer);
    if (!error) {
        rule->regex =
            weir__rules_text(load->set, weir__buffer_text(&buffer), weir__buffer_length(&buffer));
        error = rule->regex ? 0 : -WEIR_E_NO_MEMORY;
    }
    weir__buffer_fini(&buffer);
    if (error == -WEIR_E_OVERFLOW)
        return weir__rules_refuse(load, rule->line,
                                  "rule '%s': its expression has more than %u bytes",
                                  WEIR__TYPED(rule->id), WEIR__CONTEXT_BYTES_MAX);
    /* A group that was given is one of the value's. */
    rule->secret_group =
        weir__context_group(&draft->context) +
        (rule->has_secret_group && rule->secret_group > 0 ? rule->secret_group - 1 : 0);
    rule->has_secret_group = true;
    rule->is_bound = true;
    if (!error && rule->keywords.count == 0)
        error = default_keywords(load->set, &draft->context.words, &rule->keywords);
    return error;
}

static int finish_rule(struct weir__load *load, struct weir__draft *draft)
{
    struct weir__rule *rule = &draft->rule;
    const struct weir__context *context = &draft->context;
    load->file = rule->file;
    if (!rule->regex && (context->words.count > 0 || context->names.count > 0 || context->value))
        return expand(load, draft);
    if (rule->regex || rule->path)
        return 0;
    draft->is_dropped = true;
    if (draft->is_change)
        return weir__rules_note(load, rule->file, rule->line,
                                "rule '%s' changes a rule that is not there, and was passed over",
                                WEIR__TYPED(rule->id));
    return weir__rules_refuse(load, rule->line, "rule '%s': has neither 'regex' nor 'path'",
                              WEIR__TYPED(rule->id));
}

static bool is_there(const struct weir__drafts *drafts, const char *id)
{
    const struct weir__draft *draft = weir__drafts_find(drafts, id);
    if (draft && !draft->is_dropped)
        return true;
    for (size_t i = 0; i < drafts->count; i++)
        if (!drafts->items[i].is_dropped && weir__rule_is_named(&drafts->items[i].rule, id))
            return true;
    return false;
}

/* An allow list of the built-in rules may be for one that the user does not want. */
static bool is_gone(const struct weir__rules_set *set, const char *id)
{
    bool is = false;
    for (size_t i = 0; i < set->gone.count && !is; i++)
        is = strcmp(set->gone.items[i], id) == 0;
    return is;
}

/* Rules that are named and not there. */
static int note_missing(const struct weir__load *load, const struct weir__drafts *drafts)
{
    int error = 0;
    for (size_t i = 0; i < drafts->count; i++) {
        const struct weir__rule *rule = &drafts->items[i].rule;
        for (size_t j = 0; j < rule->required_count && !error && !drafts->items[i].is_dropped; j++)
            if (!is_there(drafts, rule->required[j].rule))
                error =
                    weir__rules_note(load, rule->file, rule->line,
                                     "rule '%s' requires '%s', which is not there: it never "
                                     "reports anything",
                                     WEIR__TYPED(rule->id), WEIR__TYPED(rule->required[j].rule));
    }
    for (size_t i = 0; i < drafts->allows_count; i++) {
        const struct weir__allow *allow = &drafts->allows[i];
        for (size_t j = 0; j < allow->rules.count && !error; j++)
            if (!is_there(drafts, allow->rules.items[j]) &&
                !is_gone(load->set, allow->rules.items[j]))
                error = weir__rules_note(load, load->set->rules.files.items[0], 0,
                                         "an allow list is for rule '%s', which is not there",
                                         WEIR__TYPED(allow->rules.items[j]));
    }
    return error;
}

static int note_left_out(const struct weir__load *load)
{
    struct weir__strings *notes = &load->set->rules.notes;
    char text[64];
    if (load->set->notes_left_out == 0)
        return 0;
    int length = snprintf(text, sizeof(text), "and %zu more like these", load->set->notes_left_out);
    notes->items[notes->count] = weir__rules_text(load->set, text, (size_t)length);
    if (!notes->items[notes->count])
        return -WEIR_E_NO_MEMORY;
    notes->count++;
    return 0;
}

static int finish(struct weir__load *load, struct weir__drafts *drafts)
{
    struct weir__rules *rules = &load->set->rules;
    rules->rules = weir__rules_alloc(load->set, drafts->count, sizeof(*rules->rules));
    rules->title = drafts->title ? drafts->title : weir__rules_text(load->set, "", 0);
    struct weir__written *written =
        weir__rules_alloc(load->set, drafts->count, sizeof(*load->set->written));
    load->set->written = written;
    int error = rules->rules && rules->title && written ? 0 : -WEIR_E_NO_MEMORY;
    for (size_t i = 0; i < drafts->count && !error; i++) {
        struct weir__draft *draft = &drafts->items[i];
        written[rules->rules_count] =
            (struct weir__written){.context = draft->context,
                                   .secret_group = draft->rule.secret_group,
                                   .has_secret_group = draft->rule.has_secret_group,
                                   .has_keywords = draft->rule.keywords.count > 0,
                                   .is_context = !draft->rule.regex};
        error = finish_rule(load, draft);
        if (!error && !draft->is_dropped)
            rules->rules[rules->rules_count++] = draft->rule;
    }
    rules->allows = drafts->allows;
    rules->allows_count = drafts->allows_count;
    if (!error)
        error = note_missing(load, drafts);
    return error ? error : note_left_out(load);
}

/* --- the set --- */

int weir__rules_load(struct weir__rules **ret_rules, const char *file, const char *text,
                     size_t length, const struct weir__rules_reader *reader,
                     struct weir__rules_error *ret_error)
{
    struct weir__rules_set *set = weir__base_alloc(1, sizeof(*set));
    if (!set)
        return -WEIR_E_NO_MEMORY;
    struct weir__load load = {set, reader, ret_error, NULL};
    struct weir__drafts drafts = {0};
    int error = load_file(&load, file, text, length, &drafts);
    if (!error)
        error = finish(&load, &drafts);
    if (error) {
        weir__rules_free(&set->rules);
        return error;
    }
    *ret_rules = &set->rules;
    return 0;
}

void weir__rules_free(struct weir__rules *rules)
{
    struct weir__rules_set *set = (struct weir__rules_set *)rules; /* its first member */
    if (!set)
        return;
    weir__rules_release(set);
    weir__base_free(set);
}

const struct weir__rule *weir__rules_find(const struct weir__rules *rules, const char *id)
{
    for (size_t i = 0; i < rules->rules_count; i++)
        if (strcmp(rules->rules[i].id, id) == 0)
            return &rules->rules[i];
    return NULL;
}
