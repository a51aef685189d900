/* fuzz_rules.c - any bytes as a file of rules, and as those that it extends.
 *
 * The input is texts with NULs between: the first is the file, the next what it extends, and so on;
 * the last is extended again and again. What is refused says so in one line; what loads is whole:
 * every rule has an id of its own, all of its strings, and something to look for. Loading is
 * repeatable. */
#include "rule.h"

#include <stdlib.h>
#include <string.h>

#include <weir/error.h>

#include "alloc.h"
#include "require.h"

#include "banned.h"

#define HOLDS(condition) WEIR__REQUIRE(condition, "fuzz", "rules", #condition)

struct texts {
    const char *at, *end;
};

static size_t next_length(const struct texts *texts)
{
    return strnlen(texts->at, (size_t)(texts->end - texts->at));
}

static int read_next(void *arg, const char *path, char **ret_text, size_t *ret_length)
{
    struct texts *texts = arg;
    size_t length = next_length(texts);
    if (path && strcmp(path, "none") == 0)
        return -WEIR_E_NOT_FOUND;
    if (texts->at + length < texts->end) {
        texts->at += length + 1;
        length = next_length(texts);
    }
    *ret_text = weir__base_alloc(length + 1, 1);
    if (!*ret_text)
        return -WEIR_E_NO_MEMORY;
    memcpy(*ret_text, texts->at, length);
    *ret_length = length;
    return 0;
}

static void check_line(const char *text)
{
    HOLDS(text && text[0]);
    for (; *text; text++)
        HOLDS((unsigned char)*text >= ' ' && *text != 0x7f);
}

static void check_strings(const struct weir__strings *strings)
{
    for (size_t i = 0; i < strings->count; i++)
        HOLDS(strings->items[i] && strings->items[i][0]);
}

static void check_allows(const struct weir__allow *allows, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct weir__allow *allow = &allows[i];
        HOLDS(allow->description);
        HOLDS(allow->commits.count + allow->paths.count + allow->regexes.count +
                  allow->stopwords.count >
              0);
        check_strings(&allow->commits);
        check_strings(&allow->paths);
        check_strings(&allow->regexes);
        check_strings(&allow->stopwords);
        check_strings(&allow->rules);
    }
}

static void check_rule(const struct weir__rules *rules, const struct weir__rule *rule)
{
    HOLDS(rule->id && rule->id[0] && rule->description && rule->provider && rule->file);
    HOLDS(weir__rules_find(rules, rule->id) == rule);
    HOLDS((rule->regex && rule->regex[0]) || (rule->path && rule->path[0]));
    HOLDS(rule->entropy >= 0 && rule->entropy <= 8 && rule->max_width <= WEIR__WIDTH_MAX);
    HOLDS(rule->has_secret_group == (rule->secret_group > 0));
    check_strings(&rule->keywords);
    check_strings(&rule->tags);
    check_strings(&rule->examples);
    check_strings(&rule->negatives);
    check_allows(rule->allows, rule->allows_count);
    for (size_t i = 0; i < rule->required_count; i++)
        HOLDS(rule->required[i].rule && rule->required[i].within_lines >= -1 &&
              rule->required[i].within_columns >= -1);
}

static void check_set(const struct weir__rules *rules)
{
    HOLDS(rules->title && rules->files.count > 0 && rules->files.count <= WEIR__EXTEND_DEPTH);
    HOLDS(rules->rules_count <= WEIR__RULES_MAX && rules->notes.count <= WEIR__NOTES_MAX + 1);
    for (size_t i = 0; i < rules->rules_count; i++)
        check_rule(rules, &rules->rules[i]);
    for (size_t i = 0; i < rules->notes.count; i++)
        check_line(rules->notes.items[i]);
    check_allows(rules->allows, rules->allows_count);
}

static int load(const char *bytes, size_t size, struct weir__rules **ret_rules,
                struct weir__rules_error *error)
{
    struct texts texts = {bytes, bytes + size};
    struct weir__rules_reader reader = {.read = read_next, .arg = &texts};
    return weir__rules_load(ret_rules, "fuzz.toml", bytes, next_length(&texts), &reader, error);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct weir__rules *rules = NULL, *again = NULL;
    struct weir__rules_error error = {""}, error_again = {""};
    char *bytes = malloc(size + 1);
    if (!bytes)
        return 0;
    if (size > 0)
        memcpy(bytes, data, size);
    bytes[size] = '\0';
    int result = load(bytes, size, &rules, &error);
    HOLDS((result == 0) == (rules != NULL));
    HOLDS(load(bytes, size, &again, &error_again) == result);
    HOLDS(strcmp(error.text, error_again.text) == 0);
    if (rules) {
        check_set(rules);
        HOLDS(rules->rules_count == again->rules_count && rules->notes.count == again->notes.count);
    } else {
        HOLDS(result == -WEIR_E_INVALID || result == -WEIR_E_NOT_FOUND);
        check_line(error.text);
    }
    weir__rules_free(rules);
    weir__rules_free(again);
    free(bytes);
    return 0;
}
