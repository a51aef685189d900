/* option_value.h - one option and its value: the part that options.c and the printers share.
 *
 * Ownership: as in options.h.
 */
#ifndef WEIR_BASE_OPTION_VALUE_H
#define WEIR_BASE_OPTION_VALUE_H

#include "options.h"

/* Reads text as the option's kind into its field. 0; -WEIR_E_USAGE with one line in problem, which
 * names the value and what is allowed; -WEIR_E_NO_MEMORY. The field is untouched on failure. */
WEIR_MUST_USE int weir__option_store(const struct weir__option *option, const char *text,
                                     void *values, char *problem, size_t problem_size);

/* Of flags and toggles. */
void weir__option_set(const struct weir__option *option, bool value, void *values);

/* Stores the default; asserts that the option accepts it. */
void weir__option_preset(const struct weir__option *option, void *values);

/* Frees a list. */
void weir__option_clear(const struct weir__option *option, void *values);

/* "a, b or c", cut when it does not fit. */
void weir__words_join(const char *const *words, char *text, size_t size);

#endif
