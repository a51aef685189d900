/* redact.h - hides secrets in the texts around them.
 *
 * A hidden byte becomes '*', line ends stay, and lengths do not change, so that a place in a line
 * is still the same place. Of a secret of at least WEIR__REDACT_LONG bytes the first and last
 * WEIR__REDACT_ENDS bytes stay, of a shorter one nothing.
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

#define WEIR__REDACT_LONG 24u
#define WEIR__REDACT_ENDS 4u

/* The part of a stretch of length bytes that is hidden, when it stands for a secret of that
 * length. */
void weir__hidden_part(uint64_t length, size_t secret_length, uint64_t *ret_from,
                       uint64_t *ret_until);
void weir__hide(char *text, size_t from, size_t until);
/* Hides every occurrence of a form of a secret (itself, or how it is encoded), and what the ends of
 * the text show of one that was cut off. Quadratic in the shorter length: for texts that were cut.
 */
void weir__hide_all(char *text, size_t length, const char *form, size_t form_length,
                    size_t secret_length);

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
