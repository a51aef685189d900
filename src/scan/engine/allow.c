/* allow.c - allow lists: what keeps a finding, or a whole path, from being told.
 *
 * A list has conditions of four kinds: commits, paths, expressions, stop words. Any one that holds
 * is enough, or, with AND, one of each kind that the list has. Lists of a rule are for that rule,
 * global ones for all rules or for those that they name.
 */
#include <string.h>

#include <weir/error.h>

#include "alloc.h"
#include "parts.h"

#include "banned.h"

struct list {
    const struct weir__allow *allow;
    struct weir__matcher *paths;
    struct weir__quick_list regexes;
};

struct weir__allow_state {
    struct weir__matcher *matchers;
    size_t matchers_count;
    struct list *lists; /* global ones first, then those of each rule in order */
    size_t lists_count;
    size_t global_count;
    size_t *first;  /* by rule: its first list; one more at the end */
    uint8_t *about; /* by rule and global list: whether the one is for the other */
};

static void count_allow(const struct weir__allow *allow, size_t *lists, size_t *matchers)
{
    (*lists)++;
    *matchers += allow->paths.count + allow->regexes.count;
}

static struct weir__matcher *take(struct weir__allow_state *state,
                                  const struct weir__strings *strings)
{
    struct weir__matcher *first = &state->matchers[state->matchers_count];
    for (size_t i = 0; i < strings->count; i++)
        state->matchers[state->matchers_count++].text = strings->items[i];
    return first;
}

static void fill(struct weir__allow_state *state, struct list *list,
                 const struct weir__allow *allow)
{
    list->allow = allow;
    list->paths = take(state, &allow->paths);
    list->regexes.matchers = take(state, &allow->regexes);
    list->regexes.count = allow->regexes.count;
}

static bool is_for(const struct weir__allow *allow, const struct weir__rule *rule)
{
    for (size_t i = 0; i < allow->rules.count; i++)
        if (weir__rule_is_named(rule, allow->rules.items[i]))
            return true;
    return allow->rules.count == 0;
}

/* Found out when first needed: there are many names. */
enum { UNKNOWN, ABOUT, NOT_ABOUT };

static bool is_about(struct weir__allow_state *state, size_t list,
                     const struct weir__engine *engine, uint32_t rule)
{
    uint8_t *about = &state->about[rule * state->global_count + list];
    if (*about == UNKNOWN)
        *about = is_for(state->lists[list].allow, engine->prepared[rule].rule) ? ABOUT : NOT_ABOUT;
    return *about == ABOUT;
}

int weir__allow_state_new(struct weir__allow_state **ret_state, const struct weir__engine *engine)
{
    const struct weir__rules *rules = engine->rules;
    size_t lists = 0, matchers = 0;
    for (size_t i = 0; i < rules->allows_count; i++)
        count_allow(&rules->allows[i], &lists, &matchers);
    for (uint32_t r = 0; r < engine->count; r++)
        for (size_t i = 0; i < engine->prepared[r].rule->allows_count; i++)
            count_allow(&engine->prepared[r].rule->allows[i], &lists, &matchers);
    struct weir__allow_state *state = weir__base_alloc(1, sizeof(*state));
    if (!state)
        return -WEIR_E_NO_MEMORY;
    state->matchers = weir__base_alloc(matchers + 1, sizeof(*state->matchers));
    state->lists = weir__base_alloc(lists + 1, sizeof(*state->lists));
    state->first = weir__base_alloc((size_t)engine->count + 1, sizeof(*state->first));
    state->about = weir__base_alloc((size_t)engine->count * rules->allows_count + 1, 1);
    if (!state->matchers || !state->lists || !state->first || !state->about) {
        weir__allow_state_free(state);
        return -WEIR_E_NO_MEMORY;
    }
    size_t at = 0;
    for (size_t i = 0; i < rules->allows_count; i++)
        fill(state, &state->lists[at++], &rules->allows[i]);
    state->global_count = at;
    for (uint32_t r = 0; r < engine->count; r++) {
        state->first[r] = at;
        for (size_t i = 0; i < engine->prepared[r].rule->allows_count; i++)
            fill(state, &state->lists[at++], &engine->prepared[r].rule->allows[i]);
    }
    state->first[engine->count] = state->lists_count = at;
    *ret_state = state;
    return 0;
}

void weir__allow_state_free(struct weir__allow_state *state)
{
    if (!state)
        return;
    for (size_t i = 0; i < state->matchers_count; i++)
        weir__matcher_fini(&state->matchers[i]);
    for (size_t i = 0; i < state->lists_count; i++)
        weir__quick_free(state->lists[i].regexes.quick);
    weir__base_free(state->matchers);
    weir__base_free(state->lists);
    weir__base_free(state->first);
    weir__base_free(state->about);
    weir__base_free(state);
}

/* --- conditions --- */

static bool any_matches(struct weir__scanner *scanner, struct weir__matcher *matchers, size_t count,
                        const char *text, size_t length)
{
    for (size_t i = 0; i < count; i++)
        if (weir__matcher_has(&matchers[i], scanner->data, text, length))
            return true;
    return false;
}

/* As it is shown, or as the folder of the rules has it. None that is not known. */
static bool matches_path(struct weir__scanner *scanner, const struct list *list, const char *path)
{
    size_t count = list->allow->paths.count;
    if (count == 0 || !path)
        return false;
    const char *inside = weir__origin_path(scanner->engine->origin, path, &scanner->inside);
    return any_matches(scanner, list->paths, count, path, strlen(path)) ||
           (inside && any_matches(scanner, list->paths, count, inside, strlen(inside)));
}

bool weir__allow_has_commit(const struct weir__allow *allow, const char *commit)
{
    for (size_t i = 0; commit && i < allow->commits.count; i++) {
        size_t length = strlen(allow->commits.items[i]);
        if (length >= 7 && strncasecmp(allow->commits.items[i], commit, length) == 0)
            return true;
    }
    return false;
}

static bool has_word(const char *text, size_t length, const char *word)
{
    size_t size = strlen(word);
    if (size == 0)
        return false;
    for (size_t i = 0; i + size <= length; i++) {
        size_t k = 0;
        while (k < size && weir__lower(text[i + k]) == weir__lower(word[k]))
            k++;
        if (k == size)
            return true;
    }
    return false;
}

static bool has_stopword(const struct weir__allow *allow, const struct weir__allow_subject *subject)
{
    for (size_t i = 0; i < allow->stopwords.count; i++)
        if (has_word(subject->secret, subject->secret_length, allow->stopwords.items[i]))
            return true;
    return false;
}

static bool matches_target(struct weir__scanner *scanner, struct list *list,
                           const struct weir__allow_subject *subject)
{
    const char *text = subject->secret;
    size_t length = subject->secret_length;
    if (list->allow->target == WEIR__ALLOW_MATCH) {
        text = subject->match;
        length = subject->match_length;
    } else if (list->allow->target == WEIR__ALLOW_LINE) {
        text = subject->line;
        length = subject->line_length;
    }
    return weir__quick_any(scanner, &list->regexes, text, length);
}

static bool allows(struct weir__scanner *scanner, struct list *list,
                   const struct weir__allow_subject *subject)
{
    const struct weir__allow *allow = list->allow;
    bool has[4] = {allow->commits.count > 0, allow->paths.count > 0, allow->regexes.count > 0,
                   allow->stopwords.count > 0};
    bool is_any = false;
    for (unsigned kind = 0; kind < 4; kind++) {
        if (!has[kind])
            continue;
        bool holds = kind == 0   ? weir__allow_has_commit(allow, subject->commit)
                     : kind == 1 ? matches_path(scanner, list, subject->path)
                     : kind == 2 ? matches_target(scanner, list, subject)
                                 : has_stopword(allow, subject);
        if (holds && !allow->is_and)
            return true;
        if (!holds && allow->is_and)
            return false;
        is_any = is_any || holds;
    }
    return allow->is_and && is_any;
}

bool weir__allow_path(struct weir__scanner *scanner, const char *path)
{
    const struct weir__allow_state *state = scanner->allows;
    for (size_t i = 0; i < state->global_count; i++) {
        const struct list *list = &state->lists[i];
        const struct weir__allow *allow = list->allow;
        if (allow->rules.count > 0 || allow->is_and)
            continue; /* more than the path decides */
        if (matches_path(scanner, list, path))
            return true;
    }
    return false;
}

void weir__allow_each_paths(struct weir__scanner *scanner, void *arg,
                            void (*each)(void *arg, struct weir__matcher *paths, size_t count))
{
    const struct weir__allow_state *state = scanner->allows;
    for (size_t i = 0; i < state->first[scanner->engine->count]; i++)
        if (state->lists[i].allow->paths.count > 0)
            each(arg, state->lists[i].paths, state->lists[i].allow->paths.count);
}

/* Whether a list asks for the bytes of the secret and for nothing else. */
static bool is_of_secret(const struct weir__allow *allow)
{
    return allow->commits.count == 0 && allow->paths.count == 0 &&
           allow->target == WEIR__ALLOW_SECRET;
}

/* The same, of a list that several rules share: they often have the same secret. */
static bool allows_lately(struct weir__scanner *scanner, size_t number,
                          const struct weir__allow_subject *subject)
{
    struct list *list = &scanner->allows->lists[number];
    struct weir__lately *lately =
        number < WEIR__LATELY_LISTS && is_of_secret(list->allow)
            ? weir__lately_of(scanner, subject->secret, subject->secret_length)
            : NULL;
    if (!lately)
        return allows(scanner, list, subject);
    uint64_t bit = UINT64_C(1) << number;
    if (!(lately->asked & bit)) {
        lately->asked |= bit;
        lately->allowed |= allows(scanner, list, subject) ? bit : 0;
    }
    return lately->allowed & bit;
}

bool weir__allow_match(struct weir__scanner *scanner, const struct weir__allow_subject *subject)
{
    struct weir__allow_state *state = scanner->allows;
    for (size_t i = 0; i < state->global_count; i++)
        if (is_about(state, i, scanner->engine, subject->rule) &&
            allows_lately(scanner, i, subject))
            return true;
    for (size_t i = state->first[subject->rule]; i < state->first[subject->rule + 1]; i++)
        if (allows(scanner, &state->lists[i], subject))
            return true;
    return false;
}
