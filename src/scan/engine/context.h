/* context.h - the shorthand of the commonest kind of rule: a word, perhaps a name, a value.
 *
 *     context = ["adobe", "adobe io"]     one of these words, in any case
 *     names = ["key", "secret"]           then one of these within 40 bytes, in any case; optional
 *     value = '[a-f0-9]{32}'              the secret
 *
 * becomes one expression:
 *
 *     (?i:WORDS)                          a blank in a word: nothing, or one of ' ', '_', '-', '.'
 *     ()                                  an empty group: where a word has ended
 *     [^\x00]{0,40}?(?i:NAMES)()          only with names
 *     [^\x00]{0,48}?(?:[^BEFORE]|:-)       the gap: 1 to 50 bytes
 *     (VALUE)                             the group weir__context_group()
 *     (?:[^BEHIND]|\z)                    a byte that cannot go on with the value, or the end
 *
 * A word of six letters or fewer has edges: it must stand in a name, not in random text. The last
 * byte of the gap cannot be of the value, but may be '='.
 *
 * What was found is dropped when it is the value of another name: binding.h. It looks on from the
 * empty groups.
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

struct weir__context {
    struct weir__strings words, names;
    const char *value;
};

/* What is wrong with it, for a message, or NULL. */
const char *weir__context_problem(const struct weir__context *context);

/* Appends the expression of a context without a problem: 0, Overflow or NoMemory. */
WEIR_MUST_USE int weir__context_expand(const struct weir__context *context,
                                       struct weir__buffer *out);

/* Which group of the expression the value is: the marks come before it. */
unsigned weir__context_group(const struct weir__context *context);

/* The longest part of a word that has no blank in it: every match has it. Not terminated. */
const char *weir__context_keyword(const char *word, size_t *ret_length);

#endif
