/* cmd_rules.c - weir rules: what weir scan looks for, shown, tried and checked. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include <weir/error.h>

#include "alloc.h"
#include "cache.h"
#include "commands.h"
#include "engine/lint.h"
#include "engine/stretch.h"
#include "json.h"
#include "log.h"
#include "scan_setup.h"
#include "sys.h"
#include "text.h"

#include "banned.h"

COMMAND(rules);

#define JSON_MAX  (16u << 20)
#define WITH_MAX  (WEIR__REQUIRED_MAX + 1)
#define SHOWN_MAX 120

struct values {
    bool json;
    const char *config;
};

static const char *const actions[] = {"list", "show", "test", "lint", "compile", NULL};

static const struct weir__option options[] = {
    {WEIR__OPTION_FLAG(struct values, json), .name = "json", .help = "print JSON"},
    {WEIR__OPTION_FILE(struct values, config), .name = "config", .letter = 'c',
     .value_name = "FILE", .help = "rules of a file instead of those built in"},
    WEIR__OPTIONS_END,
};

static const struct weir__operand operands[] = {
    {.name = "ACTION",
     .min = 1,
     .max = 1,
     .words = actions,
     .help = "list rules, show some, test their examples, lint a file, or compile into a folder"},
    {.name = "RULE",
     .hint = WEIR__HINT_FILE,
     .help = "of show and test: ids of rules; of list: words that a rule has; of list, test and "
             "lint also: a file of rules, as with --config; of compile: the folder"},
    {.name = NULL},
};

static const struct weir__example examples[] = {
    {"weir rules list aws", "print id, provider and description of rules that have the word"},
    {"weir rules show github-pat", "print one rule as it was understood, and how it is looked for"},
    {"weir rules lint .gitleaks.toml", "check a file of rules before it is used"},
    {"weir rules compile /usr/local/libexec/weir/rules",
     "make the rules ready once, for all users"},
    {"weir rules test", "try every rule on its examples and near misses"},
    {NULL, NULL},
};

const struct weir__usage usage_rules = {
    .description =
        "Shows and checks the rules of weir scan: those built in, or those of a file.\n\n"
        "list prints one line for each rule, or for those whose id, provider or description has "
        "all of the words. show prints a rule with all that it has, the width of its widest match, "
        "and whether it is looked for by literals (fast) or by its expression. test has the engine "
        "look for rules in their examples, which must be found, and in their negatives, which must "
        "not. lint tells what is wrong with rules that load. compile makes the rules ready for "
        "this "
        "machine and keeps them in a folder that is made; weir scan looks in that of the "
        "installation, so that no user waits for it.\n\n"
        "The exit status is 1 when test or lint found something.",
    .examples = examples,
    .operands = operands,
    .options = options,
    .values_size = sizeof(struct values),
    .has_findings = true,
};

/* --- list --- */

static void print_rule_line(struct weir__out *out, const struct weir__rule *rule)
{
    weir__out_printf(out, "%-40s  ", rule->id);
    weir__out_printf(out, "%-24s  ", rule->provider);
    weir__out_escaped(out, rule->description);
    weir__out_puts(out, "\n");
}

static void put_text(struct weir__json *json, const char *key, const char *text)
{
    weir__json_key(json, key);
    if (text)
        weir__json_string(json, text);
    else
        weir__json_null(json);
}

static void put_strings(struct weir__json *json, const char *key,
                        const struct weir__strings *strings)
{
    weir__json_key(json, key);
    weir__json_array(json);
    for (size_t i = 0; i < strings->count; i++)
        weir__json_string(json, strings->items[i]);
    weir__json_end(json);
}

static void put_rule(struct weir__json *json, const struct weir__rule *rule)
{
    put_text(json, "id", rule->id);
    put_text(json, "provider", rule->provider);
    put_text(json, "description", rule->description);
    put_strings(json, "keywords", &rule->keywords);
    put_strings(json, "tags", &rule->tags);
    put_text(json, "regex", rule->regex);
    put_text(json, "path", rule->path);
    put_text(json, "check", rule->check);
    weir__json_key(json, "entropy");
    weir__json_real(json, rule->entropy);
    weir__json_key(json, "gives_way");
    weir__json_bool(json, rule->gives_way);
}

static void put_number(struct weir__json *json, const char *key, uint64_t number)
{
    weir__json_key(json, key);
    weir__json_u64(json, number);
}

static int print_json(struct weir__out *out, struct weir__json *json, struct weir__buffer *buffer)
{
    int result = weir__json_finish(json);
    if (result < 0)
        weir__log(WEIR__LOG_ERROR, "cannot print JSON: %s", weir_error_text(result));
    else
        weir__out_write(out, weir__buffer_text(buffer), weir__buffer_length(buffer));
    return result;
}

/* Whether the rule has all of the words, in any case. */
static bool is_meant(const struct weir__rule *rule, char *const *words, int count)
{
    bool has_all = true;
    for (int i = 0; i < count && has_all; i++)
        has_all = strcasestr(rule->id, words[i]) || strcasestr(rule->provider, words[i]) ||
                  strcasestr(rule->description, words[i]);
    return has_all;
}

static int list(const struct weir__call *call, const struct weir__rules *rules, char *const *words,
                int count)
{
    const struct values *values = call->values;
    size_t listed = 0;
    for (size_t i = 0; i < rules->rules_count; i++)
        listed += is_meant(&rules->rules[i], words, count);
    if (listed == 0 && count > 0) {
        weir__log(WEIR__LOG_ERROR,
                  "no rule has '%s'%s in its id, provider or description, and no file of rules has "
                  "that name",
                  WEIR__CLIPPED(words[0]), count > 1 ? " and the other words" : "");
        return -WEIR_E_USAGE;
    }
    if (!values->json) {
        for (size_t i = 0; i < rules->rules_count; i++)
            if (is_meant(&rules->rules[i], words, count))
                print_rule_line(call->out, &rules->rules[i]);
        return 0;
    }
    WEIR_CLEANUP(weir__buffer_fini)
    struct weir__buffer buffer;
    weir__buffer_init(&buffer, JSON_MAX);
    struct weir__json json;
    weir__json_init(&json, &buffer);
    weir__json_array(&json);
    for (size_t i = 0; i < rules->rules_count; i++) {
        if (!is_meant(&rules->rules[i], words, count))
            continue;
        weir__json_object(&json);
        put_rule(&json, &rules->rules[i]);
        weir__json_end(&json);
    }
    weir__json_end(&json);
    return print_json(call->out, &json, &buffer);
}

/* --- one rule by itself --- */

/* The rule and those that it requires, as a set that borrows everything, with the allow lists for
 * all rules. is_pathless: without the condition of its path. */
static struct weir__rules *alone(const struct weir__rules *rules, const struct weir__rule *rule,
                                 struct weir__rule with[WITH_MAX], struct weir__rules *set,
                                 bool is_pathless)
{
    *set = (struct weir__rules){.title = rules->title,
                                .rules = with,
                                .rules_count = 1,
                                .allows = rules->allows,
                                .allows_count = rules->allows_count};
    with[0] = *rule;
    if (is_pathless && rule->regex)
        with[0].path = NULL;
    for (size_t i = 0; i < rule->required_count && set->rules_count < WITH_MAX; i++) {
        const struct weir__rule *other = weir__rules_find(rules, rule->required[i].rule);
        if (other && other != rule)
            with[set->rules_count++] = *other;
    }
    return set;
}

static int make_engine(struct weir__engine **ret_engine, const struct weir__rules *rules)
{
    struct weir__engine_options none = {0};
    struct weir__rules_error error = {.text = ""};
    int result = weir__engine_new(ret_engine, rules, &none, &error);
    if (result < 0)
        weir__log(WEIR__LOG_ERROR, "%s", error.text[0] ? error.text : weir_error_text(result));
    return result == -WEIR_E_INVALID ? -WEIR_E_USAGE : result;
}

/* --- show --- */

static void print_field(struct weir__out *out, const char *name, const char *text)
{
    if (!text || text[0] == '\0')
        return;
    weir__out_printf(out, "  %-12s ", name);
    weir__out_escaped(out, text);
    weir__out_puts(out, "\n");
}

static void print_strings(struct weir__out *out, const char *name,
                          const struct weir__strings *strings)
{
    for (size_t i = 0; i < strings->count; i++)
        print_field(out, i == 0 ? name : "", strings->items[i]);
}

static void print_allow(struct weir__out *out, const struct weir__allow *allow)
{
    static const char *const targets[] = {"the secret", "the match", "the line"};
    weir__out_printf(out, "  allow list, if %s of these %s; regexes look at %s\n",
                     allow->is_and ? "all" : "any", allow->is_and ? "hold" : "holds",
                     targets[allow->target]);
    print_field(out, "  for", allow->description);
    print_strings(out, "  paths", &allow->paths);
    print_strings(out, "  regexes", &allow->regexes);
    print_strings(out, "  stop words", &allow->stopwords);
    print_strings(out, "  commits", &allow->commits);
}

static void print_required(struct weir__out *out, const struct weir__required *required)
{
    weir__out_printf(out, "  %-12s %s", "required", required->rule);
    if (required->within_lines >= 0)
        weir__out_printf(out, ", within %" PRId64 " lines", required->within_lines);
    if (required->within_columns >= 0)
        weir__out_printf(out, ", within %" PRId64 " columns", required->within_columns);
    weir__out_puts(out, "\n");
}

static void print_look(struct weir__out *out, const struct weir__rule_look *look)
{
    if (look->is_by_expression)
        weir__out_printf(out, "  %-12s the expression itself\n", "looked for");
    else if (!look->is_by_literals)
        weir__out_printf(out, "  %-12s the path alone\n", "looked for");
    for (unsigned i = 0; look->is_by_literals && i < look->literals.count; i++) {
        char text[WEIR__EXPRESSION_LITERAL + 1] = "";
        memcpy(text, look->literals.text[i], look->literals.length[i]);
        print_field(out, i == 0 ? "looked for" : "", text);
    }
    if (look->is_near)
        weir__out_printf(out, "  %-12s near %u bytes in a row that tokens are made of\n", "where",
                         WEIR__STRETCH_MIN);
    weir__out_printf(out, "  %-12s %u bytes at most\n", "width", look->width);
}

/* Whether an allow list for many rules is for this one. */
static bool is_shared(const struct weir__allow *allow, const struct weir__rule *rule)
{
    bool is = allow->rules.count == 0;
    for (size_t i = 0; i < allow->rules.count && !is; i++)
        is = strcmp(allow->rules.items[i], rule->id) == 0;
    return is;
}

static void print_rule(struct weir__out *out, const struct weir__rules *rules,
                       const struct weir__rule *rule, const struct weir__rule_look *look)
{
    weir__out_escaped(out, rule->id);
    weir__out_puts(out, "\n");
    print_field(out, "description", rule->description);
    print_field(out, "provider", rule->provider);
    weir__out_printf(out, "  %-12s %s, line %u\n", "from", rule->file ? rule->file : "?",
                     rule->line);
    print_field(out, "regex", rule->regex);
    print_field(out, "path", rule->path);
    if (rule->has_secret_group)
        weir__out_printf(out, "  %-12s group %u\n", "secret", rule->secret_group);
    if (rule->entropy > 0)
        weir__out_printf(out, "  %-12s at least %g bits for each byte\n", "entropy", rule->entropy);
    print_field(out, "check", rule->check);
    print_strings(out, "keywords", &rule->keywords);
    print_strings(out, "tags", &rule->tags);
    for (size_t i = 0; i < rule->required_count; i++)
        print_required(out, &rule->required[i]);
    if (rule->is_hidden)
        weir__out_printf(out, "  %-12s serves other rules alone\n", "hidden");
    if (rule->gives_way)
        weir__out_printf(out, "  %-12s where another rule has the same bytes\n", "gives way");
    for (size_t i = 0; i < rule->allows_count; i++)
        print_allow(out, &rule->allows[i]);
    for (size_t i = 0; i < rules->allows_count; i++)
        if (is_shared(&rules->allows[i], rule))
            print_allow(out, &rules->allows[i]);
    print_look(out, look);
    print_strings(out, "examples", &rule->examples);
    print_strings(out, "negatives", &rule->negatives);
}

static void put_look(struct weir__json *json, const struct weir__rule *rule,
                     const struct weir__rule_look *look)
{
    weir__json_object(json);
    put_rule(json, rule);
    weir__json_key(json, "width");
    weir__json_u64(json, look->width);
    put_text(json, "looked_for",
             look->is_by_literals     ? "literals"
             : look->is_by_expression ? "expression"
                                      : "path");
    put_text(json, "where", look->is_near ? "near" : "everywhere");
    weir__json_key(json, "literals");
    weir__json_array(json);
    for (unsigned i = 0; look->is_by_literals && i < look->literals.count; i++)
        weir__json_bytes(json, look->literals.text[i], look->literals.length[i]);
    weir__json_end(json);
    put_strings(json, "examples", &rule->examples);
    put_strings(json, "negatives", &rule->negatives);
    weir__json_end(json);
}

static int show_one(const struct weir__call *call, const struct weir__rules *rules, const char *id,
                    struct weir__json *json)
{
    struct weir__rule with[WITH_MAX];
    struct weir__rules set;
    struct weir__engine *engine = NULL;
    struct weir__rule_look look;
    const struct values *values = call->values;
    const struct weir__rule *rule = weir__rules_find(rules, id);
    if (!rule)
        return weir__scan_unknown_rule(rules, id);
    int result = make_engine(&engine, alone(rules, rule, with, &set, false));
    if (result < 0)
        return result;
    bool is_known = weir__engine_look(engine, id, &look);
    weir__engine_free(engine);
    if (!is_known)
        return -WEIR_E_INTERNAL;
    if (values->json)
        put_look(json, rule, &look);
    else
        print_rule(call->out, rules, rule, &look);
    return 0;
}

static int show(const struct weir__call *call, const struct weir__rules *rules)
{
    const struct values *values = call->values;
    WEIR_CLEANUP(weir__buffer_fini)
    struct weir__buffer buffer;
    weir__buffer_init(&buffer, JSON_MAX);
    struct weir__json json;
    weir__json_init(&json, &buffer);
    int result = 0;
    for (int i = 1; i < call->operands_count && result == 0; i++)
        result = show_one(call, rules, call->operands[i], &json);
    return result < 0 || !values->json ? result : print_json(call->out, &json, &buffer);
}

/* --- test --- */

struct trial {
    const struct weir__call *call;
    const struct weir__rule *rule;
    struct weir__scanner *scanner;
    struct weir__json *json; /* or NULL: told as text */
    bool is_found;
    uint64_t tried, failed;
};

static void take(void *arg, const struct weir__finding *finding)
{
    struct trial *trial = arg;
    trial->is_found = trial->is_found || strcmp(finding->rule->id, trial->rule->id) == 0;
}

static void tell_failure(struct trial *trial, const char *text, bool is_wanted, size_t number)
{
    const char *kind = is_wanted ? "example" : "negative";
    if (trial->json) {
        weir__json_object(trial->json);
        put_text(trial->json, "rule", trial->rule->id);
        put_text(trial->json, "kind", kind);
        weir__json_key(trial->json, "number");
        weir__json_u64(trial->json, number);
        put_text(trial->json, "text", text);
        weir__json_end(trial->json);
        return;
    }
    char shown[SHOWN_MAX];
    weir__out_printf(trial->call->out, "%s: %s %zu is %s: ", trial->rule->id, kind, number,
                     is_wanted ? "not found" : "found");
    weir__out_escaped(trial->call->out, weir__text_clip(shown, sizeof(shown), text, SIZE_MAX));
    weir__out_puts(trial->call->out, "\n");
}

static int try_text(struct trial *trial, const char *text, bool is_wanted, size_t number)
{
    bool is_path = !trial->rule->regex; /* then the text is one */
    struct weir__object object = {.path = is_path ? text : "example",
                                  .decode_depth = WEIR__DECODE_DEPTH_DEFAULT};
    trial->is_found = false;
    int result = weir__scanner_begin(trial->scanner, &object);
    if (result == 0 && !is_path)
        result = weir__scanner_feed(trial->scanner, text, strlen(text));
    if (result == 0)
        result = weir__scanner_end(trial->scanner, NULL);
    if (result < 0)
        return result;
    trial->tried++;
    if (trial->is_found != is_wanted) {
        trial->failed++;
        tell_failure(trial, text, is_wanted, number);
    }
    return 0;
}

static int try_rule(struct trial *trial, const struct weir__rules *rules)
{
    struct weir__rule with[WITH_MAX];
    struct weir__rules set;
    struct weir__engine *engine = NULL;
    struct weir__sink sink = {.finding = take, .arg = trial};
    const struct weir__rule *rule = trial->rule;
    int result = make_engine(&engine, alone(rules, rule, with, &set, true));
    if (result == 0)
        result = weir__scanner_new(&trial->scanner, engine, &sink);
    for (size_t i = 0; i < rule->examples.count && result == 0; i++)
        result = try_text(trial, rule->examples.items[i], true, i + 1);
    for (size_t i = 0; i < rule->negatives.count && result == 0; i++)
        result = try_text(trial, rule->negatives.items[i], false, i + 1);
    weir__scanner_free(trial->scanner);
    trial->scanner = NULL;
    weir__engine_free(engine);
    return result;
}

/* Those that are named, or all. */
static int try_rules(struct trial *trial, const struct weir__rules *rules, char *const *ids,
                     int ids_count, uint64_t *ret_without)
{
    size_t count = ids_count > 0 ? (size_t)ids_count : rules->rules_count;
    int result = 0;
    *ret_without = 0;
    for (size_t i = 0; i < count && result == 0; i++) {
        trial->rule = ids_count > 0 ? weir__rules_find(rules, ids[i]) : &rules->rules[i];
        if (!trial->rule)
            return weir__scan_unknown_rule(rules, ids[i]);
        *ret_without += trial->rule->examples.count == 0;
        result = try_rule(trial, rules);
    }
    return result;
}

static int test(const struct weir__call *call, const struct weir__rules *rules, char *const *ids,
                int ids_count)
{
    const struct values *values = call->values;
    size_t count = ids_count > 0 ? (size_t)ids_count : rules->rules_count;
    uint64_t without = 0;
    WEIR_CLEANUP(weir__buffer_fini)
    struct weir__buffer buffer;
    weir__buffer_init(&buffer, JSON_MAX);
    struct weir__json json;
    weir__json_init(&json, &buffer);
    struct trial trial = {.call = call, .json = values->json ? &json : NULL};
    weir__json_object(&json);
    weir__json_key(&json, "failures");
    weir__json_array(&json);
    int result = try_rules(&trial, rules, ids, ids_count, &without);
    weir__json_end(&json);
    if (result < 0)
        return result;
    if (values->json) {
        put_number(&json, "rules", count);
        put_number(&json, "texts", trial.tried);
        put_number(&json, "failed", trial.failed);
        put_number(&json, "without_examples", without);
        weir__json_end(&json);
        result = print_json(call->out, &json, &buffer);
    } else {
        weir__out_printf(call->out,
                         "%zu %s, %" PRIu64 " texts, %" PRIu64 " failed, %" PRIu64
                         " without examples\n",
                         count, count == 1 ? "rule" : "rules", trial.tried, trial.failed, without);
    }
    return result == 0 && trial.failed > 0 ? -WEIR_E_FINDINGS : result;
}

/* --- lint --- */

static void print_problem(void *arg, const struct weir__rule *rule, const char *text)
{
    (void)rule;
    struct weir__out *out = arg;
    weir__out_escaped(out, text);
    weir__out_puts(out, "\n");
}

static void put_problem(void *arg, const struct weir__rule *rule, const char *text)
{
    struct weir__json *json = arg;
    weir__json_object(json);
    put_text(json, "rule", rule ? rule->id : NULL);
    put_text(json, "text", text);
    weir__json_end(json);
}

static int lint(const struct weir__call *call, const struct weir__rules *rules)
{
    const struct values *values = call->values;
    WEIR_CLEANUP(weir__buffer_fini)
    struct weir__buffer buffer;
    weir__buffer_init(&buffer, JSON_MAX);
    struct weir__json json;
    weir__json_init(&json, &buffer);
    struct weir__lint_sink sink = {.problem = print_problem, .arg = call->out};
    if (values->json)
        sink = (struct weir__lint_sink){.problem = put_problem, .arg = &json};
    size_t problems = 0;
    weir__json_object(&json);
    weir__json_key(&json, "problems");
    weir__json_array(&json);
    int result = weir__rules_lint(rules, &sink, &problems);
    weir__json_end(&json);
    if (result < 0) {
        weir__log(WEIR__LOG_ERROR, "%s", weir_error_text(result));
        return result;
    }
    put_number(&json, "rules", rules->rules_count);
    weir__json_end(&json);
    if (values->json)
        result = print_json(call->out, &json, &buffer);
    else
        weir__out_printf(call->out, "%zu %s, %zu %s\n", rules->rules_count,
                         rules->rules_count == 1 ? "rule" : "rules", problems,
                         problems == 1 ? "problem" : "problems");
    return result == 0 && problems > 0 ? -WEIR_E_FINDINGS : result;
}

/* --- compile --- */

/* What is wrong with the folder, and what to do about it. */
static const char *why_no_folder(const char *folder, int error)
{
    struct stat st;
    if (error == -WEIR_E_DENIED)
        return "it must be yours, and nobody else's to write";
    if (error != -WEIR_E_NOT_FOUND)
        return weir_error_text(error);
    if (weir__sys_fstatat(AT_FDCWD, folder, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return errno == ENOTDIR ? "a part of its path is not a folder: name another place"
                                : "the folder that it is to lie in is not there: make that first";
    return S_ISLNK(st.st_mode) ? "it is a symlink: name the folder that it leads to"
                               : "it is not a folder: name one, which is made if it is not there";
}

static int tell_compiled(const struct weir__call *call, const struct weir__rules *rules,
                         const struct weir__engine *engine)
{
    WEIR_CLEANUP(weir__buffer_fini)
    struct weir__buffer buffer;
    struct weir__json json;
    weir__buffer_init(&buffer, 1u << 20);
    weir__json_init(&json, &buffer);
    weir__json_object(&json);
    put_text(&json, "folder", call->operands[1]);
    put_number(&json, "rules", rules->rules_count);
    put_text(&json, "engine", weir__engine_identity(engine));
    weir__json_end(&json);
    return print_json(call->out, &json, &buffer);
}

static int compile(const struct weir__call *call, const struct weir__rules *rules)
{
    const char *folder = call->operands[1];
    const struct values *values = call->values;
    struct weir__rules_error error = {.text = ""};
    struct weir__engine *engine = NULL;
    struct weir__cache cache;
    int result = weir__cache_init_shared(&cache, folder);
    struct weir__engine_options wishes = {.cache = weir__cache_hooks(&cache)};
    if (result < 0)
        weir__log(WEIR__LOG_ERROR, "cannot use the folder '%s': %s", WEIR__CLIPPED(folder),
                  why_no_folder(folder, result));
    if (result == 0)
        result = weir__engine_new(&engine, rules, &wishes, &error);
    if (result < 0 && wishes.cache)
        weir__log(WEIR__LOG_ERROR, "%s", error.text[0] ? error.text : weir_error_text(result));
    weir__engine_free(engine);
    engine = NULL;
    /* Whether it can be used is seen by using it. */
    bool is_kept = false;
    if (result == 0 && weir__engine_new(&engine, rules, &wishes, &error) == 0)
        is_kept = weir__engine_is_cached(engine);
    if (is_kept && values->json)
        result = tell_compiled(call, rules, engine);
    weir__engine_free(engine);
    weir__cache_fini(&cache);
    if (result == 0 && !is_kept) {
        weir__log(WEIR__LOG_ERROR, "cannot write to the folder '%s'", WEIR__CLIPPED(folder));
        return -WEIR_E_IO;
    }
    return result;
}

/* --- the command --- */

static bool is_file(const char *path)
{
    struct stat st;
    return weir__sys_fstatat(AT_FDCWD, path, &st, 0) == 0 && !S_ISDIR(st.st_mode);
}

/* The file of rules among the operands, or NULL: that of lint, and what else is one of list and
 * test. A folder that has the name of a rule is no file. */
static const char *file_of(const struct weir__call *call)
{
    const char *action = call->operands[0];
    if (call->operands_count < 2 || strcmp(action, "show") == 0)
        return NULL;
    const char *first = call->operands[1];
    if (strcmp(action, "compile") == 0)
        return NULL;
    return strcmp(action, "lint") == 0 || strchr(first, '/') || is_file(first) ? first : NULL;
}

int cmd_rules(const struct weir__call *call)
{
    const struct values *values = call->values;
    const char *action = call->operands[0], *file = file_of(call);
    bool is_show = strcmp(action, "show") == 0, is_list = strcmp(action, "list") == 0;
    if (is_show && call->operands_count < 2) {
        weir__log(WEIR__LOG_ERROR, "which rule? 'weir rules list' shows those there are");
        return -WEIR_E_USAGE;
    }
    bool is_compile = strcmp(action, "compile") == 0;
    if (is_compile && call->operands_count != 2) {
        weir__log(WEIR__LOG_ERROR, "into which folder? 'weir rules compile DIR' makes it");
        return -WEIR_E_USAGE;
    }
    if (file && (call->operands_count > 2 || values->config)) {
        weir__log(WEIR__LOG_ERROR, "one file of rules at a time: '%s' is one", WEIR__CLIPPED(file));
        return -WEIR_E_USAGE;
    }
    char *const *words = call->operands + 1;
    int words_count = file ? 0 : call->operands_count - 1;
    struct weir__rules *rules = NULL;
    int result =
        weir__scan_load_rules(&rules, file ? file : values->config, !is_list && !is_compile);
    if (result < 0)
        return result;
    result = is_show                       ? show(call, rules)
             : is_compile                  ? compile(call, rules)
             : is_list                     ? list(call, rules, words, words_count)
             : strcmp(action, "test") == 0 ? test(call, rules, words, words_count)
                                           : lint(call, rules);
    weir__rules_free(rules);
    return result;
}
