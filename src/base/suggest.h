/* suggest.h - "did you mean": the nearest known word to one that is not known.
 *
 * Promises: the distance is that of Damerau and Levenshtein (insert, delete, replace, swap two
 * neighbours, one each), without regard to case; a known word that begins with the given one
 * counts as one step away, so that an abbreviation finds its option. Words further away than a
 * third of the longer word, rounded, are not offered. Allocates nothing; words above
 * WEIR__SUGGEST_MAX bytes are never suggested nor served.
 *
 * Ownership: the suggestion holds a copy of the word.
 */
#ifndef WEIR_BASE_SUGGEST_H
#define WEIR_BASE_SUGGEST_H

#include <weir/defs.h>

#define WEIR__SUGGEST_MAX 63

/* All zero is the empty suggestion, ready for offers. */
struct weir__suggestion {
    char word[WEIR__SUGGEST_MAX + 1]; /* the best so far, or "" */
    unsigned _cost;
};

/* Considers candidate as what was meant by word. Of equals the first offered stays. */
void weir__suggest_offer(struct weir__suggestion *suggestion, const char *word,
                         const char *candidate);

/* The number of steps between two words, case ignored; UINT_MAX when one is too long. */
unsigned weir__suggest_distance(const char *a, const char *b);

#endif
