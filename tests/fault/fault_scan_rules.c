/* Loading and linting rules when memory fails: NoMemory, nothing left behind, nothing half loaded.
 */
#include "tap.h"

#include "lint.h"
#include "rule.h"

#include <stdio.h>

#include <weir/error.h>

#include "alloc.h"
#include "sweep.h"

static const char base_text[] = "title = 'base'\n"
                                "[[rules]]\n"
                                "id = 'one'\n"
                                "regex = 'one(1)'\n"
                                "keywords = ['k1']\n"
                                "examples = ['one1']\n"
                                "[rules.allowlist]\n"
                                "paths = ['p1']\n"
                                "[[rules]]\n"
                                "id = 'two'\n"
                                "context = ['two of', 'two']\n"
                                "names = ['key']\n"
                                "value = '[0-9]{3}'\n"
                                "[aliases]\n"
                                "theirs = ['one', '?two']\n"
                                "others = ['one', 'two']\n";

/* One string is longer than a block of the set's memory. */
#define OWN_TEXT                                                                                   \
    "strange = 1\n"                                                                                \
    "[extend]\n"                                                                                   \
    "useDefault = true\n"                                                                          \
    "disabledRules = ['none']\n"                                                                   \
    "[allowlist]\n"                                                                                \
    "stopwords = 'a,b'\n"                                                                          \
    "[[rules]]\n"                                                                                  \
    "id = 'one'\n"                                                                                 \
    "tags = ['t']\n"                                                                               \
    "keywords = ['k2']\n"                                                                          \
    "[rules.allowlist]\n"                                                                          \
    "paths = ['p2']\n"                                                                             \
    "[[rules.required]]\n"                                                                         \
    "id = 'two'\n"                                                                                 \
    "[[rules]]\n"                                                                                  \
    "id = 'three'\n"                                                                               \
    "description = '%040000d'\n"                                                                   \
    "regex = 'x'\n"                                                                                \
    "[[rules]]\n"                                                                                  \
    "id = 'theirs'\n"                                                                              \
    "keywords = ['k3']\n"                                                                          \
    "[aliases]\n"                                                                                  \
    "mine = ['three', 'two']\n"

static char text[50000];

static int read_base(void *arg, const char *path, char **ret_text, size_t *ret_length)
{
    (void)arg;
    CHECK(!path);
    *ret_text = weir__base_alloc(sizeof(base_text), 1);
    if (!*ret_text)
        return -WEIR_E_NO_MEMORY;
    memcpy(*ret_text, base_text, sizeof(base_text));
    *ret_length = sizeof(base_text) - 1;
    return 0;
}

static void ignore_problem(void *arg, const struct weir__rule *rule, const char *problem)
{
    (void)arg, (void)rule, (void)problem;
}

static void loads(void)
{
    struct weir__rules_reader reader = {.read = read_base};
    struct weir__lint_sink sink = {ignore_problem, NULL};
    struct weir__rules *rules = NULL;
    struct weir__rules_error told = {""};
    size_t problems = 0;
    int error = weir__rules_load(&rules, "r.toml", text, strlen(text), &reader, &told);
    if (error) {
        CHECK_EQ(error, -WEIR_E_NO_MEMORY);
        CHECK(!rules);
        return;
    }
    CHECK_EQ(rules->rules_count, 3);
    CHECK_EQ(rules->notes.count, 2);
    error = weir__rules_lint(rules, &sink, &problems);
    CHECK(error ? error == -WEIR_E_NO_MEMORY : problems > 0);
    weir__rules_free(rules);
}

TEST(rules_survive_the_lack_of_memory)
{
    snprintf(text, sizeof(text), OWN_TEXT, 0);
    CHECK(sweep(WEIR_FAULT_ALLOC, loads) > 8);
}

TAP_MAIN()
