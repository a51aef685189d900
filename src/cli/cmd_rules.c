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
#include "cover.h"
#include "engine/lint.h"
#include "log.h"
#include "print_json.h"
#include "rules_show.h"
#include "scan_hush.h"
#include "scan_setup.h"
#include "sys.h"

#include "banned.h"

COMMAND(rules);

#define JSON_MAX  WEIR__RULES_JSON_MAX
#define WITH_MAX  WEIR__RULES_WITH_MAX
#define SHOWN_MAX 120

struct values {
    bool json;
    const char *config;
};

static const char *const actions[] = {"list", "show", "test", "lint", "compile", NULL};

static const struct weir__option options[] = {
    {WEIR__OPTION_FLAG(struct values, json), .name = "json", .help = "print JSON"},
    {WEIR__OPTION_FILE(struct values, config), .name = "config", .letter = 'c',
     .value_name = "FILE",
     .help = "rules of a file instead of those built in; - is standard input"},
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
     .offered_by = "rules list",
     .help = "of show and test: ids of rules; of list: words that a rule has; of list, test and "
             "lint also: a file of rules, as with --config (- is standard input); of compile: the "
             "folder"},
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
    char id[WEIR__RULE_ID_SHOWN];
    weir__out_printf(out, "%-40s  ", weir__rules_id(id, rule->id));
    weir__out_printf(out, "%-24s  ", rule->provider);
    weir__out_escaped(out, rule->description);
    weir__out_puts(out, "\n");
}

/* Whether the rule has all of the words, in any case. */
static bool is_meant(const struct weir__rule *rule, char *const *words, int count)
{
    bool has_all = true;
    for (int i = 0; i < count && has_all; i++)
        has_all = strcasestr(rule->id, words[i]) || strcasestr(rule->provider, words[i]) ||
                  strcasestr(rule->description, words[i]) || weir__rule_is_named(rule, words[i]);
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
                  WEIR__TYPED(words[0]), count > 1 ? " and the other words" : "");
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
        weir__rules_put(&json, &rules->rules[i]);
        weir__json_end(&json);
    }
    weir__json_end(&json);
    return weir__print_json(call->out, &json, &buffer);
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

struct tally {
    uint64_t rules, without; /* tried; those of them without examples */
};

static void take(void *arg, const struct weir__finding *finding)
{
    struct trial *trial = arg;
    trial->is_found = trial->is_found || strcmp(finding->rule->id, trial->rule->id) == 0;
}

static void tell_failure(struct trial *trial, const char *text, bool is_wanted, size_t number)
{
    const char *kind = is_wanted ? "example" : "negative", *file = trial->rule->file;
    char id[WEIR__RULE_ID_SHOWN];
    weir__rules_id(id, trial->rule->id);
    if (trial->json) {
        weir__json_object(trial->json);
        weir__rules_put_text(trial->json, "rule", id);
        weir__rules_put_text(trial->json, "kind", kind);
        weir__json_key(trial->json, "number");
        weir__json_u64(trial->json, number);
        weir__rules_put_covered(trial->json, "text", text, file, WEIR__RULES_EXAMPLE);
        weir__json_end(trial->json);
        return;
    }
    char clipped[SHOWN_MAX], *shown = weir__rules_covered(text, file, WEIR__RULES_EXAMPLE);
    weir__out_printf(trial->call->out, "%s: %s %zu is %s: ", id, kind, number,
                     is_wanted ? "not found" : "found");
    weir__out_escaped(trial->call->out,
                      weir__text_clip(clipped, sizeof(clipped), shown ? shown : "", SIZE_MAX));
    weir__base_free(shown);
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
    int result = weir__rules_engine(&engine, weir__rules_alone(rules, rule, with, &set, true));
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

static int try_one(struct trial *trial, const struct weir__rules *rules,
                   const struct weir__rule *rule, struct tally *tally)
{
    trial->rule = rule;
    tally->rules++;
    tally->without += rule->examples.count == 0;
    return try_rule(trial, rules);
}

/* Those that are named, or all. */
static int try_rules(struct trial *trial, const struct weir__rules *rules, char *const *ids,
                     int ids_count, struct tally *tally)
{
    int result = 0;
    for (size_t i = 0; i < rules->rules_count && result == 0 && ids_count == 0; i++)
        result = try_one(trial, rules, &rules->rules[i], tally);
    for (int i = 0; i < ids_count && result == 0; i++) {
        const struct weir__rule *rule = weir__rules_next(rules, ids[i], NULL);
        if (!rule)
            return weir__scan_unknown_rule(rules, ids[i]);
        for (; rule && result == 0; rule = weir__rules_next(rules, ids[i], rule))
            result = try_one(trial, rules, rule, tally);
    }
    return result;
}

static int test(const struct weir__call *call, const struct weir__rules *rules, char *const *ids,
                int ids_count)
{
    const struct values *values = call->values;
    struct tally tally = {.rules = 0};
    WEIR_CLEANUP(weir__buffer_fini)
    struct weir__buffer buffer;
    weir__buffer_init(&buffer, JSON_MAX);
    struct weir__json json;
    weir__json_init(&json, &buffer);
    struct trial trial = {.call = call, .json = values->json ? &json : NULL};
    weir__json_object(&json);
    weir__json_key(&json, "failures");
    weir__json_array(&json);
    int result = try_rules(&trial, rules, ids, ids_count, &tally);
    weir__json_end(&json);
    if (result < 0)
        return result;
    if (values->json) {
        weir__rules_put_number(&json, "rules", tally.rules);
        weir__rules_put_number(&json, "texts", trial.tried);
        weir__rules_put_number(&json, "failed", trial.failed);
        weir__rules_put_number(&json, "without_examples", tally.without);
        weir__json_end(&json);
        result = weir__print_json(call->out, &json, &buffer);
    } else {
        weir__out_printf(call->out,
                         "%" PRIu64 " %s, %" PRIu64 " texts, %" PRIu64 " failed, %" PRIu64
                         " without examples\n",
                         tally.rules, tally.rules == 1 ? "rule" : "rules", trial.tried,
                         trial.failed, tally.without);
    }
    return result == 0 && trial.failed > 0 ? -WEIR_E_FINDINGS : result;
}

/* --- lint --- */

static void print_problem(void *arg, const struct weir__rule *rule, const char *text)
{
    (void)rule;
    struct weir__out *out = arg;
    char *shown =
        weir__rules_covered(text, "", WEIR__RULES_SENTENCE); /* it quotes what the file has */
    weir__out_escaped(out, shown ? shown : "");
    weir__out_puts(out, "\n");
    weir__base_free(shown);
}

static void put_problem(void *arg, const struct weir__rule *rule, const char *text)
{
    struct weir__json *json = arg;
    weir__json_object(json);
    char id[WEIR__RULE_ID_SHOWN];
    weir__rules_put_text(json, "rule", rule ? weir__rules_id(id, rule->id) : NULL);
    weir__rules_put_covered(json, "text", text, "", WEIR__RULES_SENTENCE);
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
    weir__rules_put_number(&json, "rules", rules->rules_count);
    weir__json_end(&json);
    if (values->json)
        result = weir__print_json(call->out, &json, &buffer);
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
    weir__rules_put_text(&json, "folder", call->operands[1]);
    weir__rules_put_number(&json, "rules", rules->rules_count);
    weir__rules_put_text(&json, "engine", weir__engine_identity(engine));
    weir__json_end(&json);
    return weir__print_json(call->out, &json, &buffer);
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
        weir__log(WEIR__LOG_ERROR, "cannot use the folder '%s': %s", WEIR__TYPED(folder),
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
        weir__log(
            WEIR__LOG_ERROR,
            "cannot keep anything in the folder '%s': see that there is room and that you may "
            "write there",
            WEIR__TYPED(folder));
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
    return strcmp(action, "lint") == 0 || strcmp(first, "-") == 0 || strchr(first, '/') ||
                   is_file(first)
               ? first
               : NULL;
}

static int refuse(const char *why)
{
    weir__log(WEIR__LOG_ERROR, "%s", why);
    return -WEIR_E_USAGE;
}

static int check(const struct weir__call *call)
{
    const struct values *values = call->values;
    const char *action = call->operands[0], *file = file_of(call);
    for (int i = 1; i < call->operands_count; i++)
        if (call->operands[i][0] == '\0')
            return refuse("a name is empty: leave it out, or say which rule or file is meant");
    if (strcmp(action, "show") == 0 && call->operands_count < 2)
        return refuse("which rule? 'weir rules list' shows those there are");
    if (strcmp(action, "compile") == 0 && call->operands_count != 2)
        return refuse("into which folder? 'weir rules compile DIR' makes it");
    if (file && (call->operands_count > 2 || values->config)) {
        weir__log(WEIR__LOG_ERROR, "one file of rules at a time: '%s' is one", WEIR__TYPED(file));
        return -WEIR_E_USAGE;
    }
    return 0;
}

static int run(const struct weir__call *call)
{
    const struct values *values = call->values;
    const char *action = call->operands[0], *file = file_of(call);
    bool is_show = strcmp(action, "show") == 0, is_list = strcmp(action, "list") == 0;
    bool is_compile = strcmp(action, "compile") == 0;
    char *const *words = call->operands + 1;
    int words_count = file ? 0 : call->operands_count - 1;
    struct weir__rules *rules = NULL;
    int result = check(call);
    if (result < 0)
        return result;
    result = weir__scan_load_rules(&rules, file ? file : values->config, WEIR__SCAN_GIVEN,
                                   !is_list && !is_compile);
    if (result < 0)
        return result;
    result = is_show                       ? weir__rules_show(call, rules, values->json)
             : is_compile                  ? compile(call, rules)
             : is_list                     ? list(call, rules, words, words_count)
             : strcmp(action, "test") == 0 ? test(call, rules, words, words_count)
                                           : lint(call, rules);
    weir__rules_free(rules);
    return result;
}

int cmd_rules(const struct weir__call *call)
{
    /* Files of rules are others' texts, and may have secrets in them. */
    weir__hush_begin();
    int result = run(call);
    weir__hush_end();
    return result;
}
