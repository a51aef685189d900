/* expression.h - what can be known about a regular expression without running it.
 *
 * The study answers six questions: how many bytes a match can have at most, how far behind it is
 * looked, which literals a match cannot be without, how far from its beginning one of them is, how
 * long a stretch of token bytes (stretch.h) it has at least, and which literal is the last that it
 * must have. It knows the syntax of PCRE2; what it does not know, or what depends on more than the
 * text, makes the answer vaguer ("any width", "no literal"), never wrong.
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
#define WEIR__LATE_MIN         8u

struct weir__expression {
    uint64_t width_max; /* bytes, or WEIR__WIDTH_ANY */
    /* From where a match begins to the last byte that is looked at to know that it is one. */
    uint64_t extent_max;
    uint64_t ahead_max; /* bytes behind a match that are looked at, or more */
    /* From where a match begins to where the first of the literals in it ends: as many bytes at
     * most, or WEIR__WIDTH_ANY. */
    uint64_t reach_max;
    struct weir__literals required;
    unsigned stretch_min; /* bytes; counted up to WEIR__STRETCH_LONG */
    /* What is in every match, as far behind its beginning as is known, as it is written here: ""
     * when that is less than WEIR__LATE_MIN bytes. */
    char late[WEIR__EXPRESSION_LITERAL + 1];
};

/* -WEIR_E_INVALID when the brackets do not even fit together. */
WEIR_MUST_USE int weir__expression_study(const char *text, struct weir__expression *ret_study);

/* Whether every match has one of the words in it, in any case. False: perhaps not. */
bool weir__expression_implies(const char *text, char *const *words, size_t count);

/* Whether it speaks of characters beyond ASCII, so that it is about UTF-8 and not about bytes. */
bool weir__expression_is_wide(const char *text);
/* One about bytes that matches wherever a wide one does, and perhaps elsewhere: each character
 * beyond ASCII is any of that kind. The caller frees it. -WEIR_E_INVALID: it cannot be told. */
WEIR_MUST_USE int weir__expression_widen(const char *text, char **ret_text);

#endif
