/* scanner_help.h - one engine and one scanner for the tests that have no more, chance that is the
 * same each time, and ways to cut an object.
 *
 * Ownership: what help_start() made is freed by help_stop().
 */
#ifndef WEIR_TESTS_SCAN_SCANNER_HELP_H
#define WEIR_TESTS_SCAN_SCANNER_HELP_H

#include <string.h>

#include "engine/engine.h"
#include "tap.h"

static struct weir__rules *rules;
static struct weir__engine *engine;
static struct weir__scanner *scanner;

/* With the rules in a text, whose findings go to take. */
static inline void help_start(const char *text, size_t length,
                              const struct weir__engine_cache *cache,
                              void (*take)(void *arg, const struct weir__finding *finding))
{
    struct weir__rules_error error = {.text = ""};
    struct weir__engine_options options = {.cache = cache};
    struct weir__sink sink = {.finding = take};
    if (weir__rules_load(&rules, "test", text, length, NULL, &error) < 0 ||
        weir__engine_new(&engine, rules, &options, &error) < 0)
        tap_fail(__FILE__, __LINE__, "no engine: %s", error.text);
    CHECK_EQ(weir__scanner_new(&scanner, engine, &sink), 0);
}

static inline void help_stop(void)
{
    weir__scanner_free(scanner);
    weir__engine_free(engine);
    weir__rules_free(rules);
    scanner = NULL;
    engine = NULL;
    rules = NULL;
}

/* 0 to most - 1. */
static inline uint32_t random_below(uint32_t most)
{
    static uint64_t state = 20261115;
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(state >> 33) % most;
}

/* --- cuts: the length of the next chunk --- */

struct cuts {
    size_t first, second;
};

static inline size_t cut_at(void *arg, size_t at, size_t left)
{
    const struct cuts *cuts = arg;
    size_t end = at < cuts->first ? cuts->first : at < cuts->second ? cuts->second : at + left;
    return end - at;
}

/* arg: what most of them do not exceed. */
static inline size_t cut_at_random(void *arg, size_t at, size_t left)
{
    uint32_t most = *(uint32_t *)arg;
    (void)at;
    size_t part = 1 + random_below(random_below(4) == 0 ? 40 : most);
    return part < left ? part : left;
}

#endif
