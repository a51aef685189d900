/* expression.h - what can be known about a regular expression without running it.
 *
 * The study answers three questions: how many bytes a match can have at most, which literals a
 * match cannot be without, and how far from its beginning one of them is. It knows the
 * syntax that RE2, PCRE2 and Hyperscan share; whatever it does not know makes the answer vaguer
 * ("any width", "no literal"), never wrong.
 *
 * Pure. Limits: nesting WEIR__EXPRESSION_DEPTH, literals WEIR__EXPRESSION_LITERALS of
 * WEIR__EXPRESSION_LITERAL bytes; beyond them the answer is vaguer.
 *
 * Ownership: the study is the caller's and holds copies.
 */
#ifndef WEIR_SCAN_ENGINE_EXPRESSION_H
#define WEIR_SCAN_ENGINE_EXPRESSION_H

#include <weir/defs.h>

#define WEIR__EXPRESSION_DEPTH    20u
#define WEIR__EXPRESSION_LITERALS 64u
#define WEIR__EXPRESSION_LITERAL  32u
#define WEIR__WIDTH_ANY           UINT64_MAX

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

struct weir__expression {
    uint64_t width_max; /* bytes, or WEIR__WIDTH_ANY */
    /* From where a match begins to where the first of the literals in it ends: as many bytes at
     * most, or WEIR__WIDTH_ANY. */
    uint64_t reach_max;
    struct weir__literals required;
};

/* -WEIR_E_INVALID when the brackets do not even fit together. */
WEIR_MUST_USE int weir__expression_study(const char *text, struct weir__expression *ret_study);

/* Whether it speaks of characters beyond ASCII, so that it is about UTF-8 and not about bytes. */
bool weir__expression_is_wide(const char *text);

/* The length of the shortest; 0 of an empty set. */
size_t weir__literals_shortest(const struct weir__literals *literals);
/* How often one of them is met in a megabyte of source text: an estimate. WEIR__RATE_ANY: there are
 * none, or an empty one. */
#define WEIR__RATE_ANY 1e6
double weir__literals_rate(const struct weir__literals *literals);

#endif
