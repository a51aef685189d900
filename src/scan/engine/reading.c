/* reading.c - one secret in several readings, of which one is told.
 *
 * The bytes of a secret may be read more than once: plain and decoded, with an escape in it or up
 * to the escape, by itself and with the line behind it, in either order of UTF-16. Each reading is
 * a candidate of the same rule at about the same place. The one is told that was decoded further,
 * and of two that were decoded alike the longer one; but what was told already is not told again.
 * What is cut may be a secret of another rule: it falls, too, if it is none in the longer reading.
 *
 * None falls for the sake of one that falls itself: then nothing would be told. So of those that
 * have bytes in common the strongest is decided on first (what was told, what was decoded further,
 * what is longer), and each of the others falls if one that stays is the better reading of it.
 * Candidates of one place are one there: however deep the strongest of them was decoded, it is told
 * as the one that took the least.
 */
#include <stdlib.h>

#include "parts.h"

#include "banned.h"

/* The same secret of the same rule, found plain and decoded, or twice decoded: neighbours. */
static bool is_same_place(const struct weir__candidate *one, const struct weir__candidate *other)
{
    return one->rule == other->rule && one->place.offset == other->place.offset &&
           one->place.length == other->place.length;
}

/* Whether one before it is told instead, or it would not be told anyway. */
static bool is_repeated(const struct weir__pending *pending, unsigned index)
{
    const struct weir__candidate *one = &pending->items[index];
    for (unsigned i = index; i > 0 && is_same_place(one, &pending->items[i - 1]); i--)
        if (!pending->items[i - 1].is_done || one->standing == WEIR__FALLS)
            return true;
    return false;
}

static bool has_escapes(const struct weir__candidate *candidate)
{
    for (unsigned i = 0; i < candidate->encodings_count; i++)
        if (candidate->encodings[i] == WEIR__PERCENT || candidate->encodings[i] == WEIR__ESCAPES)
            return true;
    return false;
}

/* Of two readings the longer one is told: the other may be cut. */
static bool is_lesser(const struct weir__candidate *one, const struct weir__candidate *other)
{
    return one->place.length < other->place.length ||
           (one->place.length == other->place.length && one->place.offset > other->place.offset);
}

/* Whether an encoding of the one is of the other order of UTF-16 or UTF-32 in the other. If they
 * differ in anything else as well, *ret_is_same is false. */
static bool has_other_order(const struct weir__candidate *one, const struct weir__candidate *other,
                            bool *ret_is_same)
{
    bool has_one = false;
    *ret_is_same = true;
    for (unsigned i = 0; i < one->encodings_count && i < other->encodings_count; i++) {
        unsigned both = 1u << one->encodings[i] | 1u << other->encodings[i];
        bool is_order = both == (1u << WEIR__UTF16LE | 1u << WEIR__UTF16BE) ||
                        both == (1u << WEIR__UTF32LE | 1u << WEIR__UTF32BE);
        has_one |= is_order;
        *ret_is_same &= is_order || one->encodings[i] == other->encodings[i];
    }
    return has_one;
}

/* Whether both are one secret in two readings of the same bytes: of a line by itself and with the
 * next, or of either order. */
static bool is_twin(const struct weir__candidate *one, const struct weir__candidate *other)
{
    uint64_t from = one->place.offset, until = from + one->place.length,
             from_other = other->place.offset, until_other = from_other + other->place.length;
    bool is_same;
    if (one->encodings_count == 0 || one->encodings_count != other->encodings_count ||
        from >= until_other || from_other >= until || (from == from_other && until == until_other))
        return false;
    return (has_other_order(one, other, &is_same) || (from_other <= from && until <= until_other) ||
            (from <= from_other && until_other <= until)) &&
           is_same;
}

/* Whether the second is the same secret, read better: what holds an escape, or was cut by one, is
 * matched as it is as well, up to there or with it. */
static bool is_read_by(const struct weir__candidate *one, const struct weir__candidate *other)
{
    uint64_t from = one->place.offset, until = from + one->place.length,
             from_other = other->place.offset, until_other = from_other + other->place.length;
    if (one->rule != other->rule || from >= until_other || from_other >= until ||
        (from == from_other && until == until_other)) /* it is there twice */
        return false;
    bool is_within = from_other <= from && until <= until_other, is_same;
    if (has_other_order(one, other, &is_same) && other->place.length < one->place.length)
        return false; /* it may be cut */
    return other->encodings_count > one->encodings_count && (is_within || has_escapes(other));
}

static bool is_told(const struct weir__scanner *scanner, const struct weir__candidate *candidate)
{
    return candidate->is_told || weir__settle_has_told(scanner, candidate->rule, &candidate->place);
}

/* Of a cluster: those that have bytes in common with one of the others. */
struct cluster {
    const struct weir__scanner *scanner;
    struct weir__candidate *items;
    unsigned first, until;
    bool is_judged; /* it is known how each of them stands */
};

/* Whether others may fall for its sake. */
static bool may_stay(const struct cluster *cluster, const struct weir__candidate *candidate)
{
    if (candidate->is_told)
        return true;
    return !candidate->is_allowed && !candidate->is_done &&
           !(cluster->is_judged && candidate->standing == WEIR__FALLS);
}

static int by_strength(const void *a, const void *b, void *arg)
{
    const struct cluster *cluster = arg;
    const struct weir__candidate *left = &cluster->items[*(const uint32_t *)a],
                                 *right = &cluster->items[*(const uint32_t *)b];
    bool is_staying = may_stay(cluster, left), is_told_left = is_told(cluster->scanner, left);
    if (is_staying != may_stay(cluster, right))
        return is_staying ? -1 : 1;
    if (is_told_left != is_told(cluster->scanner, right))
        return is_told_left ? -1 : 1;
    if (left->encodings_count != right->encodings_count)
        return left->encodings_count > right->encodings_count ? -1 : 1;
    if (left->place.length != right->place.length)
        return left->place.length > right->place.length ? -1 : 1;
    return (left > right) - (left < right); /* they are in order of their places */
}

static bool is_same_reading(const struct weir__candidate *one, const struct weir__candidate *other)
{
    return one->run == other->run && one->run_size == other->run_size;
}

/* Whether it is a match of another rule only because its reading ends, or begins, in the middle of
 * what the other one is: in the reading of that one it is none. */
static bool is_cut_of(const struct cluster *cluster, unsigned index,
                      const struct weir__candidate *other)
{
    const struct weir__candidate *items = cluster->items, *one = &items[index];
    if (is_same_reading(one, other) || !is_twin(one, other) || !is_lesser(one, other) ||
        (cluster->is_judged && other->standing != WEIR__STANDS))
        return false;
    unsigned first = index, last = index;
    while (first > cluster->first && is_same_place(one, &items[first - 1]))
        first--;
    while (last + 1 < cluster->until && is_same_place(one, &items[last + 1]))
        last++;
    while (first <= last && !is_same_reading(&items[first], other))
        first++;
    return first > last;
}

/* Whether one that stays is a better reading of it. Those in reach are neighbours. */
static bool is_superseded(const struct cluster *cluster, unsigned index)
{
    const struct weir__candidate *one = &cluster->items[index];
    uint64_t end = weir__candidate_end(one);
    unsigned first = index - cluster->first > WEIR__REACH ? index - WEIR__REACH : cluster->first;
    for (unsigned i = first; i < cluster->until && cluster->items[i].place.offset < end; i++) {
        const struct weir__candidate *other = &cluster->items[i];
        if (other->reading != WEIR__READING_STAYS)
            continue;
        if (other->rule != one->rule) {
            if (is_cut_of(cluster, index, other))
                return true;
            continue;
        }
        bool is_told_other = is_told(cluster->scanner, other);
        if (is_read_by(one, other) || (is_told_other && is_read_by(other, one)))
            return true;
        if (is_twin(one, other) && (is_told_other || is_lesser(one, other)))
            return true;
    }
    return false;
}

/* What was decided about another one of the same place. */
static enum weir__reading reading_there(const struct cluster *cluster, unsigned index)
{
    const struct weir__candidate *items = cluster->items;
    enum weir__reading reading = WEIR__READING_OPEN;
    for (unsigned i = index; i > cluster->first && is_same_place(&items[index], &items[i - 1]); i--)
        reading = items[i - 1].reading ? items[i - 1].reading : reading;
    for (unsigned i = index + 1; i < cluster->until && is_same_place(&items[index], &items[i]); i++)
        reading = items[i].reading ? items[i].reading : reading;
    return reading;
}

static void decide(const struct cluster *cluster, uint32_t *order)
{
    unsigned count = cluster->until - cluster->first;
    for (unsigned i = 0; i < count; i++) {
        order[i] = cluster->first + i;
        cluster->items[cluster->first + i].reading = WEIR__READING_OPEN;
    }
    qsort_r(order, count, sizeof(*order), by_strength, (void *)(uintptr_t)cluster);
    for (unsigned i = 0; i < count; i++) {
        struct weir__candidate *one = &cluster->items[order[i]];
        enum weir__reading reading = reading_there(cluster, order[i]);
        if (reading == WEIR__READING_OPEN && is_told(cluster->scanner, one))
            reading = WEIR__READING_STAYS;
        else if (reading == WEIR__READING_OPEN && is_superseded(cluster, order[i]))
            reading = WEIR__READING_FALLS;
        else if (reading == WEIR__READING_OPEN && may_stay(cluster, one))
            reading = WEIR__READING_STAYS;
        one->reading = (uint8_t)reading;
    }
}

void weir__reading_find(struct weir__scanner *scanner, bool is_judged)
{
    struct weir__pending *pending = &scanner->pending;
    struct cluster cluster = {.scanner = scanner, .items = pending->items, .is_judged = is_judged};
    if (!pending->has_decoded)
        return;
    for (unsigned next; cluster.first < pending->count; cluster.first = next) {
        struct weir__candidate *items = pending->items;
        bool has_decoded = items[cluster.first].encodings_count > 0;
        items[cluster.first].reading = WEIR__READING_STAYS;
        for (next = cluster.first + 1;
             next < pending->count && items[next].place.offset < items[next - 1].ends_max; next++) {
            has_decoded |= items[next].encodings_count > 0;
            items[next].reading = WEIR__READING_STAYS;
        }
        cluster.until = next;
        if (has_decoded && next - cluster.first > 1)
            decide(&cluster, pending->order);
    }
}

bool weir__reading_is_other(const struct weir__scanner *scanner, unsigned index)
{
    const struct weir__pending *pending = &scanner->pending;
    return is_repeated(pending, index) ||
           (pending->has_decoded && pending->items[index].reading == WEIR__READING_FALLS);
}
