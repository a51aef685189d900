/* literals.h - sets of literals of which a match cannot be without one.
 *
 * Pure. Limits: WEIR__EXPRESSION_LITERALS of WEIR__EXPRESSION_LITERAL bytes.
 *
 * Ownership: a set is its holder's and has no pointers.
 */
#ifndef WEIR_SCAN_ENGINE_LITERALS_H
#define WEIR_SCAN_ENGINE_LITERALS_H

#include <weir/defs.h>

#define WEIR__EXPRESSION_LITERALS 64u
#define WEIR__EXPRESSION_LITERAL  32u

/* Of ASCII, whatever the locale. */
static inline char weir__lower(char byte)
{
    return byte >= 'A' && byte <= 'Z' ? (char)(byte - 'A' + 'a') : byte;
}

/* A set of literals: every match has one of them in it. Those that are not cased are in lower case
 * and stand for any. Empty: none is known. */
struct weir__literals {
    unsigned count;
    uint8_t length[WEIR__EXPRESSION_LITERALS];
    bool is_cased[WEIR__EXPRESSION_LITERALS];
    char text[WEIR__EXPRESSION_LITERALS][WEIR__EXPRESSION_LITERAL];
};

/* False: it is too long, or the set is full. */
bool weir__literals_add(struct weir__literals *set, const char *text, size_t length, bool is_cased);
/* What another one finds as well need not be looked for. */
void weir__literals_prune(struct weir__literals *set);
/* Adds those of the other. False: one of the sets is empty, or they do not fit. */
bool weir__literals_join(struct weir__literals *set, const struct weir__literals *more);
/* One of either: both sets, shortened until they fit. Empty: they do not. */
struct weir__literals weir__literals_either(const struct weir__literals *a,
                                            const struct weir__literals *b);

/* Whether each has one of the words in it, in any case. False of an empty set. */
bool weir__literals_imply(const struct weir__literals *set, char *const *words, size_t count);

/* The length of the shortest; 0 of an empty set. */
size_t weir__literals_shortest(const struct weir__literals *literals);
/* How often one of them is met in a megabyte of source text: an estimate. WEIR__RATE_ANY: there are
 * none, or an empty one. */
#define WEIR__RATE_ANY 1e6
double weir__literals_rate(const struct weir__literals *literals);

#endif
