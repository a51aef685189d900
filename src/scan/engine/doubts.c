/* doubts.c - matches of rules that give way until the end of their block.
 *
 * What a rule has to which nothing is to be added is not judged for the others. Nor is a secret
 * that several of these rules have: the one that the others give way to is judged first, and if it
 * is accepted, and asks for nothing else, whatever it gives way to itself has the same bytes of
 * them.
 *
 * Only bytes of the segment itself: decoded text is small, and judged at once.
 */
#include <stdlib.h>
#include <string.h>

#include "parts.h"

#include "banned.h"

#define BITS     64u
#define NEAR_MAX 8u /* places that one is moved before they are sorted anew */

void weir__doubts_open(struct weir__scanner *scanner, size_t from, size_t until)
{
    struct weir__doubts *doubts = &scanner->doubts;
    doubts->is_open = true;
    doubts->from = from;
    size_t words = (until - from) / BITS + 1;
    doubts->words = words < WEIR__DOUBTS_WORDS ? words : WEIR__DOUBTS_WORDS;
    memset(doubts->covered, 0, doubts->words * sizeof(*doubts->covered));
}

/* Those of [at, end) in the word that at is in. */
static uint64_t bits_of_word(size_t at, size_t end)
{
    size_t count = end - at < BITS - at % BITS ? end - at : BITS - at % BITS;
    return (count == BITS ? UINT64_MAX : (UINT64_C(1) << count) - 1) << at % BITS;
}

void weir__doubts_cover(struct weir__scanner *scanner, size_t from, size_t until)
{
    struct weir__doubts *doubts = &scanner->doubts;
    if (!doubts->is_open || from < doubts->from)
        return;
    size_t at = from - doubts->from, end = until - doubts->from;
    for (; at < end && at / BITS < doubts->words; at += BITS - at % BITS)
        doubts->covered[at / BITS] |= bits_of_word(at, end);
}

static bool is_covered(const struct weir__doubts *doubts, const struct weir__match *match)
{
    if (match->secret_from < doubts->from)
        return false;
    size_t at = match->secret_from - doubts->from, end = match->secret_until - doubts->from;
    for (; at < end && at / BITS < doubts->words; at += BITS - at % BITS)
        if (doubts->covered[at / BITS] & bits_of_word(at, end))
            return true;
    return false;
}

/* By the place of the secret, and of the same one those first that others give way to. */
static int by_secret(const void *a, const void *b, void *arg)
{
    const struct weir__prepared *prepared = arg;
    const struct weir__match *left = a, *right = b;
    if (left->secret_from != right->secret_from)
        return left->secret_from < right->secret_from ? -1 : 1;
    if (left->secret_until != right->secret_until)
        return left->secret_until < right->secret_until ? -1 : 1;
    if (prepared[left->rule].rank != prepared[right->rule].rank)
        return prepared[left->rule].rank < prepared[right->rule].rank ? -1 : 1;
    if (left->rule != right->rule)
        return left->rule < right->rule ? -1 : 1;
    return (left->from > right->from) - (left->from < right->from);
}

/* They come nearly in order: what is a few places away from its own is moved there. */
static void sort(struct weir__doubts *doubts, struct weir__prepared *prepared)
{
    for (unsigned i = 1; i < doubts->count; i++) {
        struct weir__match one = doubts->items[i];
        unsigned to = i;
        while (to > 0 && i - to < NEAR_MAX && by_secret(&doubts->items[to - 1], &one, prepared) > 0)
            to--;
        if (i - to == NEAR_MAX) {
            qsort_r(doubts->items, doubts->count, sizeof(one), by_secret, prepared);
            return;
        }
        memmove(&doubts->items[to + 1], &doubts->items[to], (i - to) * sizeof(one));
        doubts->items[to] = one;
    }
}

static void judge_all(struct weir__scanner *scanner)
{
    struct weir__doubts *doubts = &scanner->doubts;
    const struct weir__match *told = NULL;
    sort(doubts, scanner->engine->prepared);
    for (unsigned i = 0; i < doubts->count && scanner->error == 0; i++) {
        const struct weir__match *one = &doubts->items[i];
        bool is_had = told && told->secret_from == one->secret_from &&
                      told->secret_until == one->secret_until && told->rule != one->rule;
        if (is_had || is_covered(doubts, one))
            scanner->result.rejected++;
        else if (weir__judge(scanner, one) && weir__pending_asks_nothing(scanner, one->rule))
            told = one;
    }
    doubts->count = 0;
}

void weir__doubts_add(struct weir__scanner *scanner, const struct weir__match *match)
{
    struct weir__doubts *doubts = &scanner->doubts;
    if (!doubts->is_open) {
        weir__judge(scanner, match);
        return;
    }
    if (doubts->count == WEIR__DOUBTS_MAX)
        judge_all(scanner);
    doubts->items[doubts->count++] = *match;
}

void weir__doubts_close(struct weir__scanner *scanner)
{
    judge_all(scanner);
    scanner->doubts.is_open = false;
}
