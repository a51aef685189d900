/* standing.c - how candidates stand to each other: which of them are told.
 *
 * One stands when a keyword of its rule was seen and what it requires is there. A rule that gives
 * way does where another one, of a lower rank, has the same bytes, or some of them, and is told
 * itself. So those are asked first that others give way to, and they are kept in order of their
 * places, where those that have bytes in common are neighbours.
 */
#include <stdlib.h>
#include <string.h>

#include "parts.h"

#include "banned.h"

#define REACH_AHEAD 4096u /* candidates behind the beginning of one that may overlap it */
#define NEAR_MAX    8u    /* places that a candidate is moved before they are sorted anew */
#define KINDS_MAX   16u   /* rules that are gone through one by one rather than sorted by */

/* --- in order of their places --- */

static int by_place(const void *a, const void *b)
{
    const struct weir__candidate *left = a, *right = b;
    if (left->place.offset != right->place.offset)
        return left->place.offset < right->place.offset ? -1 : 1;
    if (left->place.length != right->place.length)
        return left->place.length < right->place.length ? -1 : 1;
    if (left->rule != right->rule)
        return left->rule < right->rule ? -1 : 1;
    if (left->is_told != right->is_told)
        return left->is_told ? -1 : 1;
    if (left->is_allowed != right->is_allowed) /* so that nothing is the same as one before it */
        return left->is_allowed ? 1 : -1;
    if (left->is_misread != right->is_misread)
        return left->is_misread ? 1 : -1;
    /* With an escape in it the decoded one is what is meant. */
    if (left->secret_length != right->secret_length)
        return left->secret_length < right->secret_length ? -1 : 1;
    return (int)left->encodings_count - (int)right->encodings_count;
}

/* Puts the item among those of [low, at), which are in order, if it is not far from its place. */
static bool put_in_order(struct weir__candidate *items, unsigned low, unsigned at)
{
    unsigned to = at;
    while (to > low && at - to <= NEAR_MAX && by_place(&items[to - 1], &items[at]) > 0)
        to--;
    if (at - to > NEAR_MAX)
        return false;
    if (to < at) {
        struct weir__candidate one = items[at];
        memmove(&items[to + 1], &items[to], (at - to) * sizeof(*items));
        items[to] = one;
    }
    return true;
}

/* Most are in order already: those of earlier segments come before the new ones. */
void weir__standing_sort(struct weir__pending *pending)
{
    uint64_t least = UINT64_MAX;
    for (unsigned i = pending->sorted; i < pending->count; i++)
        if (pending->items[i].place.offset < least)
            least = pending->items[i].place.offset;
    unsigned low = 0, high = pending->sorted;
    while (low < high) {
        unsigned middle = low + (high - low) / 2;
        if (pending->items[middle].place.offset < least)
            low = middle + 1;
        else
            high = middle;
    }
    if (pending->sorted == pending->count)
        return;
    /* The hits of one database come in order. */
    unsigned next = low + 1;
    while (next < pending->count && by_place(&pending->items[next - 1], &pending->items[next]) <= 0)
        next++;
    while (next < pending->count && put_in_order(pending->items, low, next))
        next++;
    if (next < pending->count)
        qsort(pending->items + low, pending->count - low, sizeof(*pending->items), by_place);
    uint64_t last = low > 0 ? pending->items[low - 1].ends_max : 0;
    for (unsigned i = low; i < pending->count; i++) {
        last = weir__candidate_end(&pending->items[i]) > last
                   ? weir__candidate_end(&pending->items[i])
                   : last;
        pending->items[i].ends_max = last;
    }
    pending->sorted = pending->count;
}

/* --- by itself --- */

/* Whether it is told, but for what gives way or is there twice. */
static enum weir__standing standing_of(struct weir__scanner *scanner,
                                       struct weir__candidate *candidate, bool is_end)
{
    const struct weir__prepared *prepared = &scanner->engine->prepared[candidate->rule];
    if (candidate->is_told)
        return WEIR__STANDS;
    if (candidate->is_done || prepared->rule->is_hidden)
        return WEIR__FALLS;
    enum weir__standing standing = weir__required_met(scanner, candidate);
    if (standing == WEIR__STANDS && !weir__pending_has_keyword(scanner, prepared))
        standing = WEIR__WAITS;
    return is_end && standing == WEIR__WAITS ? WEIR__FALLS : standing;
}

/* --- beside others --- */

/* Neighbours in a decoded text share a byte of what they were encoded in. */
static bool are_apart(const struct weir__candidate *one, const struct weir__candidate *other)
{
    return one->run != 0 && one->run == other->run &&
           (one->run_until <= other->run_from || other->run_until <= one->run_from);
}

/* Whether the first gives way to the second if that is told: never both to each other. */
static bool yields(const struct weir__engine *engine, const struct weir__candidate *one,
                   const struct weir__candidate *other)
{
    if (are_apart(one, other))
        return false;
    unsigned rank = engine->prepared[one->rule].rank, others = engine->prepared[other->rule].rank;
    /* Of two that both give way, one that a list allows leaves the word to the other. */
    return others < rank || (others == rank && other->rule < one->rule &&
                             (!other->is_allowed || other->is_commented));
}

/* Of each, which one ends last of it and all before it. */
static void find_last(struct weir__pending *pending)
{
    struct weir__candidate *items = pending->items;
    for (unsigned i = 0, last = 0; i < pending->count; i++) {
        if (weir__candidate_end(&items[i]) > weir__candidate_end(&items[last]))
            last = i;
        items[i].last = last;
    }
}

/* A rule that gives way does where another one has the same bytes, or a part of them. Items are in
 * order of their places, so that those in reach are neighbours; but one that is as wide as a key
 * may have any number of others behind its beginning: so those are asked as well that end last of
 * all before. How the other one stands that is the most certain of those. */
static enum weir__standing cover_of(const struct weir__scanner *scanner, unsigned index)
{
    const struct weir__pending *pending = &scanner->pending;
    const struct weir__candidate *one = &pending->items[index];
    uint8_t most = WEIR__FALLS;
    for (unsigned i = index + 1; i < pending->count && i - index < REACH_AHEAD &&
                                 pending->items[i].place.offset < weir__candidate_end(one);
         i++) {
        const struct weir__candidate *other = &pending->items[i];
        if (other->standing > most && yields(scanner->engine, one, other))
            most = other->standing;
    }
    for (unsigned i = index, asked = 0; i > 0 && asked < 2 * WEIR__REACH; asked++) {
        i = asked < WEIR__REACH ? i - 1 : pending->items[i - 1].last;
        const struct weir__candidate *other = &pending->items[i];
        if (other->ends_max <= one->place.offset)
            break;
        if (other->standing > most && weir__candidate_end(other) > one->place.offset &&
            yields(scanner->engine, one, other))
            most = other->standing;
    }
    return most;
}

static int by_rank(const void *a, const void *b, void *arg)
{
    const struct weir__scanner *scanner = arg;
    uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;
    uint32_t rule = scanner->pending.items[left].rule, other = scanner->pending.items[right].rule;
    unsigned rank = scanner->engine->prepared[rule].rank,
             others = scanner->engine->prepared[other].rank;
    if (rank != others)
        return rank < others ? -1 : 1;
    if (rule != other)
        return rule < other ? -1 : 1;
    return (left > right) - (left < right);
}

/* Puts a rule among others, which are in order of rank and number and each there once. False: there
 * is no room for it. */
static bool add_kind(const struct weir__engine *engine, uint32_t rule, uint32_t *kinds,
                     unsigned *count)
{
    unsigned at = *count;
    for (unsigned i = 0; i < *count; i++)
        if (kinds[i] == rule)
            return true;
    if (*count == KINDS_MAX)
        return false;
    for (; at > 0; at--) {
        unsigned rank = engine->prepared[rule].rank, before = engine->prepared[kinds[at - 1]].rank;
        if (before < rank || (before == rank && kinds[at - 1] < rule))
            break;
        kinds[at] = kinds[at - 1];
    }
    kinds[at] = rule;
    ++*count;
    return true;
}

static void let_give_way(struct weir__scanner *scanner, unsigned index)
{
    enum weir__standing cover = cover_of(scanner, index);
    if (cover != WEIR__FALLS)
        scanner->pending.items[index].standing =
            (uint8_t)(cover == WEIR__STANDS ? WEIR__FALLS : WEIR__WAITS);
}

/* Those first that others give way to: nothing gives way to what has given way itself. Texts full
 * of candidates mostly have those of a few rules, which are gone through one by one. */
static void give_way(struct weir__scanner *scanner)
{
    struct weir__pending *pending = &scanner->pending;
    uint32_t kinds[KINDS_MAX];
    unsigned count = 0, kinds_count = 0;
    bool is_few = true;
    for (unsigned i = 0; i < pending->count; i++)
        if (pending->items[i].standing != WEIR__FALLS && !pending->items[i].is_told &&
            scanner->engine->prepared[pending->items[i].rule].rank > 0) {
            pending->order[count++] = i;
            is_few =
                is_few && add_kind(scanner->engine, pending->items[i].rule, kinds, &kinds_count);
        }
    if (!is_few)
        qsort_r(pending->order, count, sizeof(*pending->order), by_rank, scanner);
    for (unsigned kind = 0; kind < (is_few ? kinds_count : 1); kind++)
        for (unsigned i = 0; i < count; i++)
            if (!is_few || pending->items[pending->order[i]].rule == kinds[kind])
                let_give_way(scanner, pending->order[i]);
}

void weir__standing_find(struct weir__scanner *scanner, bool is_end)
{
    struct weir__pending *pending = &scanner->pending;
    weir__standing_sort(pending);
    weir__required_order(scanner);
    for (unsigned i = 0; i < pending->count; i++)
        pending->items[i].standing = (uint8_t)standing_of(scanner, &pending->items[i], is_end);
    find_last(pending);
    give_way(scanner);
    weir__reading_find(scanner, true);
}
