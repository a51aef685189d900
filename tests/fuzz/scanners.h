/* scanners.h - one scanner for each choice of rules, and what they find, for fuzzers of the engine.
 *
 * Ownership: scanners live as long as the process, and belong to nobody.
 */
#ifndef WEIR_FUZZ_SCANNERS_H
#define WEIR_FUZZ_SCANNERS_H

#include <string.h>

#include "engine_help.h"
#include "require.h"

#define SCANNERS_MAX 4u

/* Rules, and of these the ones that a scanner has; NULL: all. */
struct choice {
    const char *rules;
    const char *const *only[SCANNERS_MAX];
};

/* Who takes what is found. */
static struct hits *taking;

static inline void scanners_take(void *arg, const struct weir__finding *finding)
{
    (void)arg;
    hits_take(taking, finding);
}

static inline struct weir__scanner *scanner_of(const struct choice *choice, unsigned number)
{
    static struct weir__scanner *scanners[SCANNERS_MAX];
    static struct weir__rules *rules;
    struct weir__rules_error error = {.text = ""};
    const struct weir__sink sink = {.finding = scanners_take};
    int result = 0;
    if (!rules)
        result =
            weir__rules_load(&rules, "rules", choice->rules, strlen(choice->rules), NULL, &error);
    if (result == 0 && !scanners[number]) {
        const struct weir__engine_options options = {.only = choice->only[number]};
        struct weir__engine *engine = NULL;
        result = weir__engine_new(&engine, rules, &options, &error);
        if (result == 0)
            result = weir__scanner_new(&scanners[number], engine, &sink);
    }
    WEIR__REQUIRE(result == 0, "fuzz", "scanners", error.text);
    return scanners[number];
}

#endif
