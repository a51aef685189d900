/* trace.c - what is remembered of a text, and what of the next one that leaves to be looked at. */
#include "trace.h"

#include <stdlib.h>

#include "alloc.h"
#include "decode.h"

#include "banned.h"

#define BESIDE 2u /* bytes beside a match that say whether a word or a line ends there */
/* What one more look costs, in bytes that could be looked at instead; and those before a place that
 * are seen for it, as many as a pattern has, come with each. */
#define LOOK_COST 128u
/* Copies times what is remembered; beyond, it is cheaper to look at everything. */
#define WORK_MAX 1000000u

/* --- a text's own --- */

void weir__trace_init(struct weir__trace *trace)
{
    *trace = (struct weir__trace){0};
}

void weir__trace_fini(struct weir__trace *trace)
{
    weir__spans_fini(&trace->loud);
    weir__spans_fini(&trace->loud_near);
    weir__spans_fini(&trace->units);
    weir__spans_fini(&trace->loud_runs);
    weir__base_free(trace->hits.items);
    *trace = (struct weir__trace){0};
}

void weir__trace_begin(struct weir__trace *trace, size_t length)
{
    trace->is_known = true;
    trace->length = (uint32_t)length;
    trace->hits.count = 0;
    trace->hits.is_short = false;
    weir__spans_clear(&trace->loud);
    weir__spans_clear(&trace->loud_near);
    weir__spans_clear(&trace->units);
    weir__spans_clear(&trace->loud_runs);
}

void weir__trace_hit_more(struct weir__trace_hits *hits, struct weir__trace_hit hit)
{
    if (weir__spans_grow((void **)&hits->items, &hits->capacity, sizeof(*hits->items),
                         WEIR__TRACE_HITS_MAX))
        hits->items[hits->count++] = hit;
    else
        hits->is_short = true;
}

static int by_end(const void *a, const void *b)
{
    const struct weir__trace_hit *left = a, *right = b;
    if (left->to != right->to)
        return left->to < right->to ? -1 : 1;
    return (left->anchor > right->anchor) - (left->anchor < right->anchor);
}

void weir__trace_end(struct weir__trace *trace, bool is_complete)
{
    struct weir__trace_hits *hits = &trace->hits;
    bool is_sorted = true;
    for (uint32_t i = 1; i < hits->count && is_sorted; i++)
        is_sorted = hits->items[i - 1].to <= hits->items[i].to;
    if (!is_sorted)
        qsort(hits->items, hits->count, sizeof(*hits->items), by_end);
    weir__spans_merge(&trace->loud);
    weir__spans_merge(&trace->loud_near);
    weir__spans_merge(&trace->units);
    weir__spans_merge(&trace->loud_runs);
    trace->is_known &= is_complete && !hits->is_short && !trace->loud.is_short &&
                       !trace->loud_near.is_short && !trace->units.is_short &&
                       !trace->loud_runs.is_short;
}

size_t weir__trace_bytes(const struct weir__trace *trace)
{
    size_t spans = (size_t)trace->loud.capacity + trace->loud_near.capacity +
                   trace->units.capacity + trace->loud_runs.capacity;
    return spans * sizeof(struct weir__span) +
           trace->hits.capacity * sizeof(struct weir__trace_hit);
}

/* --- from one text to the next --- */

void weir__look_fini(struct weir__look_list *look)
{
    weir__spans_fini(&look->changes);
    weir__spans_fini(&look->places);
    weir__spans_fini(&look->near);
    weir__spans_fini(&look->encodings);
    weir__spans_fini(&look->units);
    weir__base_free(look->hits);
    *look = (struct weir__look_list){0};
}

/* What is new, and where bytes stand side by side that did not. False: the edit makes no sense. */
static bool find_changes(struct weir__spans *changes, const struct weir__edit *edit, size_t length)
{
    uint64_t done = 0, next = 0; /* in the text; where the base goes on */
    for (size_t i = 0; i < edit->count; i++) {
        const struct weir__copied *copy = &edit->copies[i];
        if (copy->to < done || (uint64_t)copy->to + copy->length > length ||
            (uint64_t)copy->from + copy->length > edit->base->length)
            return false;
        if (copy->to > done || copy->from != next)
            weir__spans_add(changes, done, copy->to);
        done = (uint64_t)copy->to + copy->length;
        next = (uint64_t)copy->from + copy->length;
    }
    if (done != length || next != edit->base->length)
        weir__spans_add(changes, done, length);
    return true;
}

/* Each change with so much before and behind it, those that lie as close as the gap in one. They
 * are in order, and so is what comes of them: it takes no search, and no branch that nobody could
 * foresee. The list is empty. */
static void look_around(struct weir__spans *spans, const struct weir__spans *changes,
                        uint32_t before, uint32_t behind, uint32_t gap, uint32_t length)
{
    uint32_t count = 0;
    if (!weir__spans_reserve(spans, changes->count))
        return;
    for (uint32_t i = 0; i < changes->count; i++) {
        struct weir__span change = changes->items[i];
        uint32_t from = change.from > before ? change.from - before : 0;
        uint32_t until = length - change.until > behind ? change.until + behind : length;
        struct weir__span *last = &spans->items[count > 0 ? count - 1 : 0];
        bool is_apart = count == 0 || (uint64_t)last->until + gap < from;
        count += is_apart;
        spans->items[count - 1] = (struct weir__span){is_apart ? from : last->from, until};
    }
    spans->count = count;
}

static void look_around_changes(struct weir__look_list *look, uint32_t length,
                                const struct weir__look_widths *widths)
{
    look_around(&look->places, &look->changes, BESIDE, widths->pattern + BESIDE,
                widths->pattern + LOOK_COST, length);
    look_around(&look->near, &look->changes, widths->near + BESIDE,
                widths->near_reach + WEIR__TRACE_BEHIND + BESIDE, widths->near + LOOK_COST, length);
    look_around(&look->encodings, &look->changes, WEIR__SURVEY_NEAR, WEIR__SURVEY_NEAR, 0, length);
}

/* The first that ends behind this place. Copies are mostly in the order of the base as well, so the
 * search goes on where the last one ended. */
static uint32_t find_behind(const struct weir__spans *spans, uint32_t at, uint32_t cursor)
{
    if (cursor > 0 && spans->items[cursor - 1].until > at)
        return weir__spans_behind(spans, at);
    while (cursor < spans->count && spans->items[cursor].until <= at)
        cursor++;
    return cursor;
}

/* What of these spans was copied. */
static void look_at_copied(struct weir__spans *into, const struct weir__spans *spans,
                           const struct weir__edit *edit)
{
    uint32_t first = 0;
    for (size_t c = 0; spans->count > 0 && c < edit->count; c++) {
        const struct weir__copied *copy = &edit->copies[c];
        uint32_t until = copy->from + copy->length, shift = copy->to - copy->from;
        first = find_behind(spans, copy->from, first);
        for (uint32_t i = first; i < spans->count && spans->items[i].from < until; i++) {
            struct weir__span span = spans->items[i];
            /* Nearly all of them: whole, and apart from the one before it. */
            if (i > first && span.until <= until && into->count < into->capacity) {
                into->items[into->count++] =
                    (struct weir__span){span.from + shift, span.until + shift};
                continue;
            }
            uint32_t from = span.from > copy->from ? span.from : copy->from;
            uint32_t end = span.until < until ? span.until : until;
            weir__spans_add(into, from + shift, end + shift);
        }
    }
}

/* A unit that is looked at in part is looked at as a whole. One that a copy has a part of is: there
 * is a change beside it. No other touches it, so that is all. */
static void complete_units(struct weir__look_list *look)
{
    uint32_t kept = 0, parts = look->encodings.count, part = 0;
    for (uint32_t i = 0; i < look->units.count; i++) {
        struct weir__span unit = look->units.items[i];
        /* Units are in order, and so are the first ones of these. */
        while (part < parts && look->encodings.items[part].until <= unit.from)
            part++;
        if (part < parts && look->encodings.items[part].from < unit.until)
            weir__spans_add(&look->encodings, unit.from, unit.until);
        else
            look->units.items[kept++] = unit;
    }
    look->units.count = kept;
    weir__spans_merge(&look->encodings);
}

/* Whether a change is as near to a hit as makes a difference: those that are next to the copy that
 * the hit is in. */
struct bounds {
    uint64_t last, next; /* where the last change before it ends, and the next one begins */
    bool has_last, has_next;
};

static bool is_affected(const struct bounds *bounds, const struct weir__trace_hit *hit)
{
    bool is_far_back = hit->before == WEIR__TRACE_ANY, is_far_on = hit->behind == WEIR__TRACE_ANY;
    return (bounds->has_last && (is_far_back || bounds->last + hit->before >= hit->to)) ||
           (bounds->has_next && (is_far_on || (uint64_t)hit->to + hit->behind >= bounds->next));
}

/* The first hit that ends behind this place, in the same way. */
static uint32_t find_hit(const struct weir__trace_hits *hits, uint32_t at, uint32_t cursor)
{
    if (cursor > 0 && hits->items[cursor - 1].to > at) {
        uint32_t high = cursor;
        cursor = 0;
        while (cursor < high) {
            uint32_t middle = cursor + (high - cursor) / 2;
            if (hits->items[middle].to <= at)
                cursor = middle + 1;
            else
                high = middle;
        }
    }
    while (cursor < hits->count && hits->items[cursor].to <= at)
        cursor++;
    return cursor;
}

/* Those of a copy, from this one on, but for those in places, where hits are looked for. *place is
 * the first place that may have one. Returns the next hit; UINT32_MAX: there is no room. */
static uint32_t look_at_hits(struct weir__look_list *look, const struct weir__trace_hits *hits,
                             uint32_t next, const struct weir__copied *copy,
                             const struct bounds *bounds, uint32_t *place)
{
    const struct weir__spans *places = &look->places;
    for (; next < hits->count && hits->items[next].to <= copy->from + copy->length; next++) {
        struct weir__trace_hit hit = hits->items[next];
        hit.to = copy->to + (hit.to - copy->from);
        while (*place < places->count && places->items[*place].until < hit.to)
            ++*place;
        if (*place < places->count && hit.to > places->items[*place].from)
            continue;
        if (look->hits_count == look->hits_capacity &&
            !weir__spans_grow((void **)&look->hits, &look->hits_capacity, sizeof(*look->hits),
                              WEIR__TRACE_HITS_MAX))
            return UINT32_MAX;
        look->hits[look->hits_count++] =
            (struct weir__look_hit){.hit = hit, .is_again = is_affected(bounds, &hit)};
    }
    return next;
}

/* Hits of what was copied, one copy after the other, and with it the changes. Places are known. */
static bool look_at_all_hits(struct weir__look_list *look, const struct weir__edit *edit)
{
    const struct weir__trace_hits *hits = &edit->base->hits;
    const struct weir__spans *changes = &look->changes;
    uint32_t next = 0, hit = 0, place = 0;
    for (size_t i = 0; hits->count > 0 && i < edit->count; i++) {
        const struct weir__copied *copy = &edit->copies[i];
        while (next < changes->count && changes->items[next].until <= copy->to &&
               changes->items[next].from < copy->to + copy->length)
            next++;
        struct bounds bounds = {.has_last = next > 0, .has_next = next < changes->count};
        if (bounds.has_last)
            bounds.last = changes->items[next - 1].until;
        if (bounds.has_next)
            bounds.next = changes->items[next].from;
        hit = find_hit(hits, copy->from, hit);
        hit = look_at_hits(look, hits, hit, copy, &bounds, &place);
        if (hit == UINT32_MAX)
            return false;
    }
    return true;
}

/* One look at two of them, and at what is between, where that costs less than two looks do. */
static void join_close(struct weir__spans *spans, uint32_t gap)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < spans->count; i++)
        if (count > 0 && spans->items[i].from - spans->items[count - 1].until <= gap)
            spans->items[count - 1].until = spans->items[i].until;
        else
            spans->items[count++] = spans->items[i];
    spans->count = count;
}

bool weir__look_find(struct weir__look_list *look, const struct weir__edit *edit, size_t length,
                     const struct weir__look_widths *widths)
{
    const struct weir__trace *base = edit->base;
    struct weir__spans *lists[] = {&look->changes, &look->places, &look->near, &look->encodings,
                                   &look->units};
    const size_t lists_count = sizeof(lists) / sizeof(*lists);
    size_t items = (size_t)base->loud.count + base->loud_near.count + base->units.count +
                   base->loud_runs.count + base->hits.count + 1;
    for (size_t i = 0; i < lists_count; i++)
        weir__spans_clear(lists[i]);
    look->hits_count = 0;
    if (!base->is_known || edit->count > WORK_MAX / items ||
        !find_changes(&look->changes, edit, length))
        return false;
    look_around_changes(look, (uint32_t)length, widths);
    look_at_copied(&look->places, &base->loud, edit);
    look_at_copied(&look->near, &base->loud_near, edit);
    look_at_copied(&look->encodings, &base->loud_runs, edit);
    look_at_copied(&look->units, &base->units, edit);
    bool is_short = false;
    for (size_t i = 1; i < lists_count; i++) {
        weir__spans_merge(lists[i]);
        is_short |= lists[i]->is_short;
    }
    join_close(&look->places, widths->pattern + LOOK_COST);
    join_close(&look->near, widths->near + LOOK_COST);
    complete_units(look);
    return look_at_all_hits(look, edit) && !is_short && !look->changes.is_short &&
           !look->encodings.is_short;
}
