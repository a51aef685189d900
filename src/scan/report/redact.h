/* redact.h - hides secrets in the texts around them.
 *
 * A hidden byte becomes '*', line ends stay, and lengths do not change, so that a place in a line
 * is still the same place.
 *
 * What stays of a secret (struct weir__ends) tells people which one it is, and nobody what it is.
 * That is possible for tokens that a machine made: those of WEIR__REDACT_LONG bytes and more that
 * begin with a keyword of their rule, at the beginning of the match, so with bytes that the rule
 * says (ghp_, sk_live_). Of them this beginning stays, WEIR__REDACT_FIRST bytes at most, and the
 * last WEIR__REDACT_LAST; at least WEIR__REDACT_HIDDEN are hidden. Of all others, of which any may
 * be a password that somebody thought of, nothing does.
 *
 * A line may hold several secrets, and the record of one must not show the others. So the hidden
 * part of every finding, also of those that are ignored or not listed, is kept as a stretch of its
 * object, and in the end all of them are hidden in all lines (struct weir__veil).
 *
 * Limits: half of the memory of the findings is for stretches. When that is used up, or there is no
 * memory, the veil is blind: it no longer knows what else is in a line.
 *
 * Ownership: the veil owns its stretches.
 */
#ifndef WEIR_SCAN_REPORT_REDACT_H
#define WEIR_SCAN_REPORT_REDACT_H

#include "findings.h"
#include "known.h"

#define WEIR__REDACT_LONG   24u
#define WEIR__REDACT_FIRST  12u
#define WEIR__REDACT_LAST   4u
#define WEIR__REDACT_HIDDEN 16u

/* Of the secret itself. */
struct weir__ends weir__ends_of(const struct weir__finding *finding);
/* Of the bytes at its place: none if they are an encoding of it. */
struct weir__ends weir__ends_at_place(const struct weir__finding *finding);

/* How many bytes behind the place are hidden with it, since a password may go on there: a rule ends
 * it at a mark (";", "@") that it may as well have in it. In quotes that is up to the closing one;
 * elsewhere up to a space, a quote that was opened before, the last '@', a closing tag, or what
 * names something else (";user=").
 * None behind a token of which ends are shown. */
size_t weir__tail_of(const struct weir__finding *finding);

/* The part of a stretch of length bytes that is hidden. */
void weir__hidden_part(uint64_t length, struct weir__ends ends, uint64_t *ret_from,
                       uint64_t *ret_until);
void weir__hide(char *text, size_t from, size_t until);
/* Hides every occurrence of a form of a secret (itself, or how it is encoded). */
void weir__hide_inside(char *text, size_t length, const char *form, size_t form_length,
                       struct weir__ends ends);
/* The same for a text that was cut out of another: also what its ends show of one that was cut off.
 * Quadratic in the shorter length: for texts that were cut.
 */
void weir__hide_all(char *text, size_t length, const char *form, size_t form_length,
                    struct weir__ends ends);

struct weir__stretch {
    struct weir__digest object; /* of path and commit */
    uint64_t from, until;
};

struct weir__stretch_block;

struct weir__veil {
    struct weir__stretch_block *_blocks;
    struct weir__stretch *_sorted;
    size_t _count;
    bool _is_blind;
};

void weir__veil_fini(struct weir__veil *veil);
/* What one more stretch will cost; most often 0. */
size_t weir__veil_cost(const struct weir__veil *veil);
void weir__veil_add(struct weir__veil *veil, const struct weir__stretch *stretch);
void weir__veil_blind(struct weir__veil *veil);
/* After the last stretch. */
void weir__veil_sort(struct weir__veil *veil);
/* Hides in a text that begins at offset of the object. False: what is hidden there is not known. */
bool weir__veil_apply(const struct weir__veil *veil, const struct weir__digest *object,
                      uint64_t offset, char *text, size_t length);

#endif
