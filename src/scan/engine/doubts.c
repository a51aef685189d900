/* doubts.c - matches of generic rules until the end of their block.
 *
 * Only bytes of the segment itself: decoded text is small, and judged at once.
 */
#include <string.h>

#include "parts.h"

#include "banned.h"

#define BITS 64u

void weir__doubts_open(struct weir__scanner *scanner, size_t from)
{
    struct weir__doubts *doubts = &scanner->doubts;
    doubts->is_open = true;
    doubts->from = from;
    memset(doubts->covered, 0, sizeof(doubts->covered));
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
    for (; at < end && at / BITS < WEIR__DOUBTS_WORDS; at += BITS - at % BITS)
        doubts->covered[at / BITS] |= bits_of_word(at, end);
}

static bool is_covered(const struct weir__doubts *doubts, const struct weir__match *match)
{
    if (match->secret_from < doubts->from)
        return false;
    size_t at = match->secret_from - doubts->from, end = match->secret_until - doubts->from;
    for (; at < end && at / BITS < WEIR__DOUBTS_WORDS; at += BITS - at % BITS)
        if (doubts->covered[at / BITS] & bits_of_word(at, end))
            return true;
    return false;
}

static void judge_all(struct weir__scanner *scanner)
{
    struct weir__doubts *doubts = &scanner->doubts;
    for (unsigned i = 0; i < doubts->count && scanner->error == 0; i++) {
        if (is_covered(doubts, &doubts->items[i]))
            scanner->result.rejected++;
        else
            weir__judge(scanner, &doubts->items[i]);
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
