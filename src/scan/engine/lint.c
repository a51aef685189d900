/* lint.c - expressions are compiled as the engine compiles them, and asked about the examples. */
#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "lint.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <weir/error.h>

#include "alloc.h"
#include "binding.h"
#include "check.h"
#include "cover.h"
#include "expression.h"
#include "text.h"

#include "banned.h"

#define MATCH_LIMIT  10000000u
#define PROBLEM_SIZE 512

struct lint {
    const struct weir__rules *rules;
    const struct weir__rule **by_id; /* all rules in the order of their ids */
    const struct weir__lint_sink *sink;
    const struct weir__rule *rule;   /* the one that is looked at, or NULL */
    const struct weir__allow *allow; /* likewise */
    pcre2_match_context *limits;
    size_t problems;
    bool is_out_of_memory;
};

/* --- telling --- */

static void tell_text(struct lint *lint, const char *raw)
{
    char line[PROBLEM_SIZE], piece[WEIR__TEXT_PIECE_MAX];
    size_t length = 0, step;
    for (const char *p = raw; (step = weir__text_escape(piece, p)) > 0; p += step) {
        size_t piece_length = strnlen(piece, sizeof(piece));
        if (length + piece_length >= sizeof(line))
            break;
        memcpy(line + length, piece, piece_length);
        length += piece_length;
    }
    line[length] = '\0';
    lint->problems++;
    lint->sink->problem(lint->sink->arg, lint->rule, line);
}

__attribute__((format(printf, 2, 3))) static void tell(struct lint *lint, const char *format, ...)
{
    char raw[2 * PROBLEM_SIZE];
    int begin = 0;
    va_list args;
    const char *file = lint->allow ? lint->allow->file : lint->rule ? lint->rule->file : NULL;
    unsigned line = lint->allow ? lint->allow->line : lint->rule ? lint->rule->line : 0;
    if (lint->rule)
        begin = snprintf(raw, sizeof(raw), "%.300s:%u: rule '%s': ", file ? file : "", line,
                         WEIR__TYPED(lint->rule->id));
    else if (lint->allow)
        begin = snprintf(raw, sizeof(raw), "%.300s:%u: ", file ? file : "", line);
    va_start(args, format);
    vsnprintf(raw + begin, sizeof(raw) - (size_t)begin, format, args);
    va_end(args);
    tell_text(lint, raw);
}

/* --- expressions --- */

/* Characters beyond ASCII and their classes are looked at as such; all else as bytes. */
static uint32_t compile_options(const char *text)
{
    uint32_t options = PCRE2_DOLLAR_ENDONLY;
    for (const char *p = text; *p; p++)
        if ((unsigned char)*p > 0x7f || (*p == '\\' && (p[1] == 'p' || p[1] == 'P')))
            return options | PCRE2_UTF | PCRE2_MATCH_INVALID_UTF;
    return options;
}

/* NULL: it was told why. what is for the message: "regex", "path 2 of allow list 1". */
static pcre2_code *compile(struct lint *lint, const char *text, const char *what)
{
    int number;
    PCRE2_SIZE at;
    pcre2_code *code = pcre2_compile((PCRE2_SPTR)text, PCRE2_ZERO_TERMINATED, compile_options(text),
                                     &number, &at, NULL);
    if (code)
        return code;
    if (number == PCRE2_ERROR_HEAP_FAILED) {
        lint->is_out_of_memory = true;
        return NULL;
    }
    unsigned char reason[160] = "";
    pcre2_get_error_message(number, reason, sizeof(reason));
    tell(lint, "%s: %s at offset %zu", what, (const char *)reason, (size_t)at);
    return NULL;
}

/* --- too much --- */

/* Texts that have little in common: what matches all of one kind matches nearly everything. */
#define PROBES 4
static const char *const path_probes[PROBES] = {"README", "src/b.py", "a-1", "docs/X Y.txt"};
static const char *const secret_probes[PROBES] = {"k3Yp9", "7104", "Zx_wq-T", "0af"};
static const char *const text_probes[PROBES] = {"Returns the first one.", "int x;", "see below",
                                                "<p>New</p>"};

static bool matches_all(struct lint *lint, const pcre2_code *code, const char *const probes[PROBES])
{
    pcre2_match_data *data = pcre2_match_data_create_from_pattern(code, NULL);
    bool is_all = data;
    lint->is_out_of_memory |= !data;
    for (size_t i = 0; i < PROBES && is_all; i++)
        is_all = pcre2_match(code, (PCRE2_SPTR)probes[i], strlen(probes[i]), 0, 0, data,
                             lint->limits) >= 0;
    pcre2_match_data_free(data);
    return is_all;
}

/* Whether one kind of condition is enough. */
static bool is_enough(const struct weir__allow *allow)
{
    const size_t counts[] = {allow->commits.count, allow->paths.count, allow->regexes.count,
                             allow->stopwords.count};
    unsigned kinds = 0;
    for (size_t i = 0; i < 4; i++)
        kinds += counts[i] > 0;
    return !allow->is_and || kinds == 1;
}

/* --- allow lists --- */

static void check_expressions(struct lint *lint, const struct weir__strings *expressions,
                              const char *kind, size_t allow, const char *const probes[PROBES])
{
    char what[96];
    for (size_t i = 0; i < expressions->count; i++) {
        snprintf(what, sizeof(what), "%s %zu of allow list %zu", kind, i + 1, allow + 1);
        pcre2_code *code = compile(lint, expressions->items[i], what);
        if (code && is_enough(lint->allow) && matches_all(lint, code, probes))
            tell(lint, "%s: '%s' matches nearly everything, so that nearly nothing is told", what,
                 WEIR__CLIPPED(expressions->items[i]));
        pcre2_code_free(code);
    }
}

static void check_allows(struct lint *lint, const struct weir__allow *allows, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        lint->allow = &allows[i];
        check_expressions(lint, &allows[i].paths, "path", i, path_probes);
        check_expressions(lint, &allows[i].regexes, "regex", i, secret_probes);
    }
    lint->allow = NULL;
}

/* --- examples --- */

enum outcome { OUTCOME_NONE, OUTCOME_REJECTED, OUTCOME_ALLOWED, OUTCOME_FOUND };

/* A piece of an example. */
struct piece {
    const char *text;
    size_t length;
};

static bool matches_any(struct lint *lint, const struct weir__strings *expressions,
                        struct piece piece)
{
    bool has = false;
    for (size_t i = 0; i < expressions->count && !has; i++) {
        int number;
        PCRE2_SIZE at;
        const char *text = expressions->items[i];
        pcre2_code *code = pcre2_compile((PCRE2_SPTR)text, PCRE2_ZERO_TERMINATED,
                                         compile_options(text), &number, &at, NULL);
        pcre2_match_data *data = code ? pcre2_match_data_create_from_pattern(code, NULL) : NULL;
        has = data &&
              pcre2_match(code, (PCRE2_SPTR)piece.text, piece.length, 0, 0, data, lint->limits) > 0;
        pcre2_match_data_free(data);
        pcre2_code_free(code);
    }
    return has;
}

static bool has_stopword(const struct weir__strings *words, struct piece piece)
{
    for (size_t i = 0; i < words->count; i++) {
        size_t size = strlen(words->items[i]);
        for (size_t at = 0; size > 0 && at + size <= piece.length; at++)
            if (strncasecmp(piece.text + at, words->items[i], size) == 0)
                return true;
    }
    return false;
}

/* By expressions and stop words: examples have neither path nor commit. */
static bool is_allowed_by(struct lint *lint, const struct weir__allow *allow,
                          const struct piece pieces[3])
{
    bool has_regexes = allow->regexes.count > 0, has_words = allow->stopwords.count > 0;
    bool is_match = has_regexes && matches_any(lint, &allow->regexes, pieces[allow->target]);
    bool is_word = has_words && has_stopword(&allow->stopwords, pieces[WEIR__ALLOW_SECRET]);
    if (!allow->is_and)
        return is_match || is_word;
    return allow->paths.count == 0 && allow->commits.count == 0 && (is_match || !has_regexes) &&
           (is_word || !has_words) && (has_regexes || has_words);
}

static bool is_for(const struct weir__allow *allow, const struct weir__rule *rule)
{
    for (size_t i = 0; i < allow->rules.count; i++)
        if (weir__rule_is_named(rule, allow->rules.items[i]))
            return true;
    return allow->rules.count == 0;
}

static bool is_allowed(struct lint *lint, const struct piece pieces[3])
{
    bool is = false;
    for (size_t i = 0; i < lint->rules->allows_count && !is; i++)
        is = is_for(&lint->rules->allows[i], lint->rule) &&
             is_allowed_by(lint, &lint->rules->allows[i], pieces);
    for (size_t i = 0; i < lint->rule->allows_count && !is; i++)
        is = is_allowed_by(lint, &lint->rule->allows[i], pieces);
    return is;
}

/* The lines of a match. */
static struct piece lines_of(const char *text, size_t length, size_t from, size_t until)
{
    while (from > 0 && text[from - 1] != '\n')
        from--;
    while (until < length && text[until] != '\n')
        until++;
    return (struct piece){text + from, until - from};
}

/* What can be said of a match without the file that it is in: whose value it is, entropy, check,
 * allow lists. An example passes its check, even if a scan would not insist. */
static enum outcome judge(struct lint *lint, const char *text, const PCRE2_SIZE *ends,
                          uint32_t groups_count, bool is_example, bool *ret_is_other)
{
    const struct weir__rule *rule = lint->rule;
    uint32_t group = rule->secret_group;
    for (uint32_t i = 1; !rule->has_secret_group && i < groups_count && group == 0; i++)
        if (ends[2 * i] != PCRE2_UNSET && ends[2 * i + 1] > ends[2 * i])
            group = i;
    if (group >= groups_count || ends[2 * group] == PCRE2_UNSET)
        group = 0;
    struct piece pieces[3] = {
        [WEIR__ALLOW_SECRET] = {text + ends[2 * group], ends[2 * group + 1] - ends[2 * group]},
        [WEIR__ALLOW_MATCH] = {text + ends[0], ends[1] - ends[0]},
        [WEIR__ALLOW_LINE] = lines_of(text, strlen(text), ends[0], ends[1]),
    };
    struct piece secret = pieces[WEIR__ALLOW_SECRET];
    *ret_is_other =
        weir__binding_rejects(rule, text, ends, groups_count, (size_t)(secret.text - text),
                              (size_t)(secret.text - text) + secret.length);
    if (*ret_is_other)
        return OUTCOME_REJECTED;
    weir__check *check = NULL;
    if (rule->check && (is_example || weir__check_is_gate(rule->check)))
        check = weir__check_find(rule->check);
    if (secret.length == 0 ||
        (rule->entropy > 0 && weir__entropy(secret.text, secret.length) < rule->entropy) ||
        (check && !check(secret.text, secret.length)))
        return OUTCOME_REJECTED;
    return is_allowed(lint, pieces) ? OUTCOME_ALLOWED : OUTCOME_FOUND;
}

/* All matches in the text, until one is accepted. */
static enum outcome try_text(struct lint *lint, const pcre2_code *code, const char *text,
                             bool is_example, size_t number)
{
    enum outcome outcome = OUTCOME_NONE;
    size_t length = strlen(text), from = 0;
    pcre2_match_data *data = pcre2_match_data_create_from_pattern(code, NULL);
    if (!data) {
        lint->is_out_of_memory = true;
        return OUTCOME_NONE;
    }
    while (from <= length && outcome != OUTCOME_FOUND) {
        int result = pcre2_match(code, (PCRE2_SPTR)text, length, from, 0, data, lint->limits);
        if (result < 0 && result != PCRE2_ERROR_NOMATCH)
            tell(lint, "%s %zu: the matcher gave up", is_example ? "example" : "negative", number);
        if (result < 0)
            break;
        const PCRE2_SIZE *ends = pcre2_get_ovector_pointer(data);
        bool is_other = false;
        outcome = judge(lint, text, ends, (uint32_t)result, is_example, &is_other);
        if (is_other)
            from = pcre2_get_startchar(data) + 1;
        else
            from = ends[1] > from ? ends[1] : from + 1;
    }
    pcre2_match_data_free(data);
    return outcome;
}

static void check_matches(struct lint *lint, const pcre2_code *code)
{
    const struct weir__strings *examples = &lint->rule->examples;
    const struct weir__strings *negatives = &lint->rule->negatives;
    for (size_t i = 0; i < examples->count; i++) {
        static const char *const what[] = {
            [OUTCOME_NONE] = "no match",
            [OUTCOME_REJECTED] = "a match that its name, its entropy or its check rejects",
            [OUTCOME_ALLOWED] = "a match that an allow list allows",
        };
        enum outcome outcome = try_text(lint, code, examples->items[i], true, i + 1);
        if (outcome != OUTCOME_FOUND)
            tell(lint, "example %zu has %s: '%s'", i + 1, what[outcome],
                 WEIR__CLIPPED(examples->items[i]));
    }
    for (size_t i = 0; i < negatives->count; i++)
        if (try_text(lint, code, negatives->items[i], false, i + 1) == OUTCOME_FOUND)
            tell(lint, "negative %zu has a match: '%s'", i + 1, WEIR__CLIPPED(negatives->items[i]));
}

/* Where nothing else has a say, what an ordinary text has is found in every file. */
static bool is_alone(const struct weir__rule *rule)
{
    return !rule->path && rule->entropy <= 0 && rule->required_count == 0 && !rule->is_hidden &&
           !(rule->check && weir__check_is_gate(rule->check));
}

/* What must come behind a repeat without an end may be too far away. */
static void check_width(struct lint *lint)
{
    struct weir__expression study;
    const char *regex = lint->rule->regex;
    size_t length = strlen(regex);
    while (length > 0 && regex[length - 1] == ')')
        length--;
    if (length > 0 && (regex[length - 1] == '+' || regex[length - 1] == '*'))
        return; /* the end of such a match is where it is cut: nothing is missed */
    if (lint->rule->max_width == 0 && weir__expression_study(lint->rule->regex, &study) == 0 &&
        study.width_max > WEIR__WIDTH_MAX)
        tell(lint,
             "regex: may match more than %u bytes, which are all that is looked at: bound its "
             "repeats, or give max-width",
             WEIR__WIDTH_MAX);
}

static void check_regex(struct lint *lint)
{
    uint32_t groups_count = 0, can_be_empty = 0;
    pcre2_code *code = lint->rule->regex ? compile(lint, lint->rule->regex, "regex") : NULL;
    if (!code)
        return;
    pcre2_pattern_info(code, PCRE2_INFO_MATCHEMPTY, &can_be_empty);
    pcre2_pattern_info(code, PCRE2_INFO_CAPTURECOUNT, &groups_count);
    if (can_be_empty)
        tell(lint, "regex: can match the empty text");
    if (lint->rule->secret_group > groups_count)
        tell(lint, "secretGroup is %u, and the regex has %u groups", lint->rule->secret_group,
             groups_count);
    check_width(lint);
    if (!can_be_empty && is_alone(lint->rule) && matches_all(lint, code, text_probes))
        tell(lint, "regex: '%s' matches nearly every text", WEIR__CLIPPED(lint->rule->regex));
    check_matches(lint, code);
    pcre2_code_free(code);
}

/* Whether one of the literals that a match has is the word, has it in it, or is a part of it. */
static bool is_in_literals(const struct weir__literals *literals, const char *word)
{
    char text[WEIR__EXPRESSION_LITERAL + 1];
    bool is = false;
    for (unsigned i = 0; i < literals->count && !is; i++) {
        memcpy(text, literals->text[i], literals->length[i]);
        text[literals->length[i]] = '\0';
        is = strcasestr(text, word) || strcasestr(word, text);
    }
    return is;
}

/* Whether the expression has the word in it, by its literals or as it is written but for
 * backslashes. */
static bool is_in_regex(struct lint *lint, const char *word)
{
    struct weir__expression study;
    const char *regex = lint->rule->regex ? lint->rule->regex : "";
    if (weir__expression_study(regex, &study) == 0 && is_in_literals(&study.required, word))
        return true;
    char *plain = weir__base_alloc(1, strlen(regex) + 1);
    if (!plain) {
        lint->is_out_of_memory = true;
        return true;
    }
    size_t length = 0;
    for (const char *p = regex; *p; p++)
        if (*p != '\\')
            plain[length++] = *p;
    plain[length] = '\0';
    bool has = strcasestr(plain, word);
    weir__base_free(plain);
    return has;
}

/* A keyword that is nowhere was misspelt; an example without any is one that no scan finds. */
static void check_keywords(struct lint *lint)
{
    const struct weir__strings *examples = &lint->rule->examples;
    const struct weir__strings *keywords = &lint->rule->keywords;
    for (size_t i = 0; i < keywords->count && examples->count > 0; i++) {
        bool is_found = is_in_regex(lint, keywords->items[i]);
        for (size_t j = 0; j < examples->count && !is_found; j++)
            is_found = strcasestr(examples->items[j], keywords->items[i]);
        if (!is_found)
            tell(lint, "keyword '%s' is neither in the regex nor in an example",
                 WEIR__CLIPPED(keywords->items[i]));
    }
    for (size_t j = 0; j < examples->count && keywords->count > 0; j++) {
        bool has_one = false;
        for (size_t i = 0; i < keywords->count && !has_one; i++)
            has_one = strcasestr(examples->items[j], keywords->items[i]);
        if (!has_one)
            tell(lint, "example %zu has none of the keywords: '%s'", j + 1,
                 WEIR__CLIPPED(examples->items[j]));
    }
}

/* --- rules --- */

static int compare_ids(const void *a, const void *b)
{
    const struct weir__rule *const *left = a, *const *right = b;
    int order = strcmp((*left)->id, (*right)->id);
    return order ? order : (*left > *right) - (*left < *right);
}

static void check_ids(struct lint *lint)
{
    for (size_t i = 1; i < lint->rules->rules_count; i++) {
        const struct weir__rule *first = lint->by_id[i - 1];
        lint->rule = lint->by_id[i];
        if (strcmp(first->id, lint->rule->id) == 0)
            tell(lint, "the id is also that of line %u of '%s'", first->line,
                 first->file ? first->file : "");
    }
}

static void check_rule(struct lint *lint, const struct weir__rule *rule)
{
    lint->rule = rule;
    if (!rule->description || rule->description[0] == '\0')
        tell(lint, "has no description");
    if (rule->path)
        pcre2_code_free(compile(lint, rule->path, "path"));
    check_regex(lint);
    check_keywords(lint);
    for (size_t i = 0; i < rule->required_count; i++)
        if (weir__rule_is_named(rule, rule->required[i].rule))
            tell(lint, "requires itself: a match by itself is never reported");
    if (rule->check && !weir__check_find(rule->check))
        tell(lint, "there is no check '%s'", WEIR__TYPED(rule->check));
    check_allows(lint, rule->allows, rule->allows_count);
}

static void check_all(struct lint *lint)
{
    const struct weir__rules *rules = lint->rules;
    for (size_t i = 0; i < rules->rules_count; i++)
        lint->by_id[i] = &rules->rules[i];
    qsort(lint->by_id, rules->rules_count, sizeof(*lint->by_id), compare_ids);
    for (size_t i = 0; i < rules->notes.count; i++)
        tell_text(lint, rules->notes.items[i]);
    check_allows(lint, rules->allows, rules->allows_count);
    check_ids(lint);
    for (size_t i = 0; i < rules->rules_count && !lint->is_out_of_memory; i++)
        check_rule(lint, &rules->rules[i]);
}

int weir__rules_lint(const struct weir__rules *rules, const struct weir__lint_sink *sink,
                     size_t *ret_problems)
{
    struct lint lint = {.rules = rules, .sink = sink};
    lint.by_id = weir__base_alloc(rules->rules_count, sizeof(*lint.by_id));
    lint.limits = pcre2_match_context_create(NULL);
    lint.is_out_of_memory = !lint.by_id || !lint.limits;
    if (!lint.is_out_of_memory) {
        pcre2_set_match_limit(lint.limits, MATCH_LIMIT);
        check_all(&lint);
    }
    pcre2_match_context_free(lint.limits);
    weir__base_free(lint.by_id);
    if (lint.is_out_of_memory)
        return -WEIR_E_NO_MEMORY;
    *ret_problems = lint.problems;
    return 0;
}
