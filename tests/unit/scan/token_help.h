/* token_help.h - a folder of the test's own, and an engine that knows one kind of token.
 *
 * Ownership: folder, rules and engine are gone when the program ends.
 */
#ifndef WEIR_TESTS_SCAN_TOKEN_HELP_H
#define WEIR_TESTS_SCAN_TOKEN_HELP_H

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine/engine.h"
#include "tap.h"

#define TOKEN      "tok_abcdef0123456789"
#define TOKEN_RULE "[[rules]]\nid = 'token'\nregex = '\\btok_[a-z0-9]{16}\\b'\n"

static struct weir__rules *rules;
static struct weir__engine *engine;
static char base[64];

static inline int help_remove_one(const char *path, const struct stat *st, int type,
                                  struct FTW *ftw)
{
    (void)st, (void)type, (void)ftw;
    return remove(path);
}

static inline void help_remove(void)
{
    nftw(base, help_remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

static inline void help_free_engine(void)
{
    weir__engine_free(engine);
    weir__rules_free(rules);
}

/* False: there is one already. */
static inline bool help_engine(void)
{
    struct weir__rules_error error;
    struct weir__engine_options none = {0};
    if (engine)
        return false;
    CHECK_EQ(weir__rules_load(&rules, "rules", TOKEN_RULE, strlen(TOKEN_RULE), NULL, &error), 0);
    CHECK_EQ(weir__engine_new(&engine, rules, &none, &error), 0);
    CHECK_EQ(atexit(help_free_engine), 0);
    return true;
}

/* With the engine; the folder is the current one. False: both are there already. */
static inline bool help_enter(const char *name)
{
    if (!help_engine())
        return false;
    snprintf(base, sizeof(base), "/tmp/weir-%s-XXXXXX", name);
    CHECK(mkdtemp(base) && atexit(help_remove) == 0 && chdir(base) == 0);
    return true;
}

#endif
