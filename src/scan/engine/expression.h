/* expression.h - what can be known about a regular expression without running it.
 *
 * The study answers four questions: how many bytes a match can have at most, which literals a
 * match cannot be without, how far from its beginning one of them is, and how long a stretch of
 * token bytes (stretch.h) it has at least. It knows the syntax that RE2, PCRE2 and Hyperscan share;
 * whatever it does not know makes the answer vaguer ("any width", "no literal"), never wrong.
 *
 * Pure. Limits: nesting WEIR__EXPRESSION_DEPTH, literals WEIR__EXPRESSION_LITERALS of
 * WEIR__EXPRESSION_LITERAL bytes; beyond them the answer is vaguer.
 *
 * Ownership: the study is the caller's and holds copies.
 */
#ifndef WEIR_SCAN_ENGINE_EXPRESSION_H
#define WEIR_SCAN_ENGINE_EXPRESSION_H

#include <weir/defs.h>

#include "literals.h"

#define WEIR__EXPRESSION_DEPTH 20u
#define WEIR__WIDTH_ANY        UINT64_MAX

struct weir__expression {
    uint64_t width_max; /* bytes, or WEIR__WIDTH_ANY */
    /* From where a match begins to where the first of the literals in it ends: as many bytes at
     * most, or WEIR__WIDTH_ANY. */
    uint64_t reach_max;
    struct weir__literals required;
    unsigned stretch_min; /* bytes; counted up to WEIR__STRETCH_MIN */
};

/* -WEIR_E_INVALID when the brackets do not even fit together. */
WEIR_MUST_USE int weir__expression_study(const char *text, struct weir__expression *ret_study);

/* Whether it speaks of characters beyond ASCII, so that it is about UTF-8 and not about bytes. */
bool weir__expression_is_wide(const char *text);

#endif
