/* config_given.h - values of the configuration that stand on the command line: --set KEY=VALUE, and
 * flags that are short for a key.
 *
 * Ownership: texts are borrowed from the command line; keys of --set are copied, since they end in
 * the middle of a word.
 */
#ifndef WEIR_CLI_CONFIG_GIVEN_H
#define WEIR_CLI_CONFIG_GIVEN_H

#include "config.h"
#include "options.h"

#define WEIR__CONFIG_GIVEN_MAX (2 * WEIR__LIST_MAX + 8)

struct weir__config_words {
    struct weir__config_given items[WEIR__CONFIG_GIVEN_MAX];
    size_t count;
    char keys[WEIR__LIST_MAX][WEIR__CONFIG_NAME_MAX + 1];
};

/* The value of a flag. There is room for a list of --set, another list and eight more. */
void weir__config_words_add(struct weir__config_words *words, const char *key, const char *value,
                            const char *flag);
/* All of a list of --set, once. Usage: one is no KEY=VALUE, which has been told. */
WEIR_MUST_USE int weir__config_words_set(struct weir__config_words *words,
                                         const struct weir__list *list);

/* A sink's: what is wrong with a value, into the log. */
void weir__config_tell_problem(void *arg, bool is_warning, const char *line);

#endif
