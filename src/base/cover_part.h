/* cover_part.h - what the parts of cover.h share: classes of letters, and which names and values
 * are those of secrets.
 *
 * Ownership: texts are the caller's, and are only read.
 */
#ifndef WEIR_BASE_COVER_PART_H
#define WEIR_BASE_COVER_PART_H

#include <weir/defs.h>

static inline bool weir__cover_is_small(char c)
{
    return c >= 'a' && c <= 'z';
}

static inline bool weir__cover_is_capital(char c)
{
    return c >= 'A' && c <= 'Z';
}

static inline bool weir__cover_is_letter(char c)
{
    return weir__cover_is_small(c) || weir__cover_is_capital(c);
}

static inline bool weir__cover_is_digit(char c)
{
    return c >= '0' && c <= '9';
}

bool weir__cover_is_name_byte(char c);
size_t weir__cover_name_length(const char *text);
bool weir__cover_has_inside(const char *name, size_t length, const char *word);
bool weir__cover_is_one_of(const char *word, size_t length, const char *const *words);

/* Whether these bytes are the name of a secret. */
bool weir__cover_is_name(const char *name, size_t length);
/* Whether these say that there is none: what a program has there, and the marks behind it. */
bool weir__cover_is_nothing(const char *value, size_t length);
/* Whether a program calls or reads something there. */
bool weir__cover_is_code(const char *value, size_t length);
/* Whether it is no word of a sentence, nor a path, nor how many there are. */
bool weir__cover_is_odd(const char *value, size_t length);

#endif
