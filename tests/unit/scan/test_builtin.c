/* The rules that come with the program: each finds its examples, and not its near misses. */
#include <stdio.h>
#include <string.h>

#include "alloc.h"
#include "engine.h"
#include "tap.h"

#define TEXT_MAX (8u << 20)

static const struct weir__rule *looked_for;
static bool is_found;

static void take(void *arg, const struct weir__finding *finding)
{
    (void)arg;
    is_found = is_found || finding->rule == looked_for;
}

static bool finds(struct weir__scanner *scanner, const struct weir__rule *rule, const char *text)
{
    struct weir__object object = {.path = "example", .decode_depth = 0};
    looked_for = rule;
    is_found = false;
    CHECK_EQ(weir__scanner_begin(scanner, &object), 0);
    CHECK_EQ(weir__scanner_feed(scanner, text, strlen(text)), 0);
    CHECK_EQ(weir__scanner_end(scanner, NULL), 0);
    return is_found;
}

static struct weir__rules *load(void)
{
    char *text = weir__base_alloc(1, TEXT_MAX);
    FILE *file = fopen(RULES_FILE, "re");
    CHECK(text && file);
    size_t length = fread(text, 1, TEXT_MAX - 1, file);
    fclose(file);
    struct weir__rules *rules = NULL;
    struct weir__rules_error error;
    if (weir__rules_load(&rules, "weir.toml", text, length, NULL, &error) < 0)
        tap_fail(__FILE__, __LINE__, "%s", error.text);
    weir__base_free(text);
    return rules;
}

TEST(there_are_rules_for_many)
{
    struct weir__rules *rules = load();
    CHECK(rules->rules_count >= 400);
    CHECK_EQ(rules->notes.count, 0);
    for (size_t i = 0; i < rules->rules_count; i++) {
        const struct weir__rule *rule = &rules->rules[i];
        if (rule->examples.count == 0 || rule->negatives.count == 0 || rule->provider[0] == '\0' ||
            rule->description[0] == '\0')
            tap_fail(__FILE__, __LINE__, "'%s' lacks examples, negatives, provider or description",
                     rule->id);
    }
    weir__rules_free(rules);
}

/* One rule at a time: a generic one would give way to a special one that fits as well. */
TEST(each_finds_its_examples_and_no_near_miss)
{
    struct weir__rules *rules = load();
    size_t wrong = 0;
    for (size_t i = 0; i < rules->rules_count; i++) {
        const struct weir__rule *rule = &rules->rules[i];
        const char *only[] = {rule->id, NULL};
        struct weir__engine_options options = {.only = only};
        struct weir__rules_error error;
        struct weir__sink sink = {.finding = take};
        struct weir__engine *engine = NULL;
        struct weir__scanner *scanner = NULL;
        if (weir__engine_new(&engine, rules, &options, &error) < 0) {
            tap_fail(__FILE__, __LINE__, "%s: %s", rule->id, error.text);
            continue;
        }
        CHECK_EQ(weir__scanner_new(&scanner, engine, &sink), 0);
        for (size_t k = 0; k < rule->examples.count; k++)
            if (!finds(scanner, rule, rule->examples.items[k]) && ++wrong)
                printf("# %s does not find its example %zu\n", rule->id, k + 1);
        for (size_t k = 0; k < rule->negatives.count; k++)
            if (finds(scanner, rule, rule->negatives.items[k]) && ++wrong)
                printf("# %s finds its near miss %zu\n", rule->id, k + 1);
        weir__scanner_free(scanner);
        weir__engine_free(engine);
    }
    CHECK_EQ(wrong, 0);
    weir__rules_free(rules);
}

TAP_MAIN()
