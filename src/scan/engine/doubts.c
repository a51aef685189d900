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

void weir__doubts_cover(struct weir__scanner *scanner, size_t from, size_t until)
{
    struct weir__doubts *doubts = &scanner->doubts;
    if (!doubts->is_open || from < doubts->from)
        return;
    size_t end = until - doubts->from;
    for (size_t i = from - doubts->from; i < end && i / BITS < WEIR__DOUBTS_WORDS; i++)
        doubts->covered[i / BITS] |= UINT64_C(1) << i % BITS;
}

static bool is_covered(const struct weir__doubts *doubts, const struct weir__match *match)
{
    if (match->secret_from < doubts->from)
        return false;
    size_t end = match->secret_until - doubts->from;
    for (size_t i = match->secret_from - doubts->from; i < end && i / BITS < WEIR__DOUBTS_WORDS;
         i++)
        if (doubts->covered[i / BITS] >> i % BITS & 1)
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
