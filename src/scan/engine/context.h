/* context.h - the shorthand of the commonest kind of rule: a word, perhaps a name, a value.
 *
 *     context = ["adobe", "adobe io"]     one of these words, in any case
 *     names = ["key", "secret"]           then one of these within 40 bytes, in any case; optional
 *     value = '[a-f0-9]{32}'              the secret
 *
 * becomes one expression:
 *
 *     (?i:WORDS)                          a blank in a word: nothing, or one of ' ', '_', '-', '.'
 *     [^\x00]{0,40}?(?i:NAMES)            only with names
 *     (?!EMPTY)                           not behind a name that has no value
 *     ANY{0,48}?[^BEFORE]                 the gap: 1 to 49 bytes
 *     (VALUE)                             group WEIR__CONTEXT_GROUP
 *     (?:[^BEHIND]|\z)                    a byte that cannot go on with the value, or the end
 *
 * A word of six letters or fewer has edges: it must stand in a name, not in random text. Behind
 * such words lines may end in the gap unless a value is at their end. The last byte of the gap
 * cannot be of the value, but may be '='.
 *
 * EMPTY: a sign and an empty pair of quotes, null, nil or None behind the rest of the name; "=" and
 * in the next line another name with a sign; ":" of the name of a value, and in the next line a
 * name that is none for a value of it. It is asked behind the word, and behind the name.
 *
 * How the pieces look is decided in context.c and nowhere else.
 *
 * Limits: WEIR__CONTEXT_WORDS_MAX words and as many names, WEIR__CONTEXT_BYTES_MAX bytes of
 * expression.
 *
 * Ownership: nothing is kept; the expression goes to the caller's buffer.
 */
#ifndef WEIR_SCAN_ENGINE_CONTEXT_H
#define WEIR_SCAN_ENGINE_CONTEXT_H

#include "buffer.h"
#include "rule.h"

#define WEIR__CONTEXT_WORDS_MAX 64u
#define WEIR__CONTEXT_BYTES_MAX 8192u
#define WEIR__CONTEXT_GROUP     1u

struct weir__context {
    struct weir__strings words, names;
    const char *value;
};

/* What is wrong with it, for a message, or NULL. */
const char *weir__context_problem(const struct weir__context *context);

/* Appends the expression of a context without a problem: 0, Overflow or NoMemory. */
WEIR_MUST_USE int weir__context_expand(const struct weir__context *context,
                                       struct weir__buffer *out);

/* The longest part of a word that has no blank in it: every match has it. Not terminated. */
const char *weir__context_keyword(const char *word, size_t *ret_length);

#endif
