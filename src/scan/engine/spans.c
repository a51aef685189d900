/* spans.c - parts of a text. */
#include "spans.h"

#include <stdlib.h>
#include <string.h>

#include "alloc.h"

#include "banned.h"

#define LEAST      16u
#define MOVES_EACH 16u /* by which one is put into its place on average */
#define ROW_MAX    64u

bool weir__spans_grow(void **items, uint32_t *capacity, size_t size, uint32_t most)
{
    if (*capacity >= most)
        return false;
    uint32_t more = *capacity == 0 ? LEAST : *capacity * 2;
    void *grown = weir__base_realloc(*items, more, size);
    if (!grown)
        return false;
    *items = grown;
    *capacity = more;
    return true;
}

void weir__spans_fini(struct weir__spans *spans)
{
    weir__base_free(spans->items);
    *spans = (struct weir__spans){0};
}

void weir__spans_clear(struct weir__spans *spans)
{
    spans->count = 0;
    spans->is_short = false;
}

void weir__spans_add_more(struct weir__spans *spans, uint32_t from, uint32_t until)
{
    struct weir__span *last = spans->count > 0 ? &spans->items[spans->count - 1] : NULL;
    if (last && from >= last->from && from <= last->until) {
        last->until = until > last->until ? until : last->until;
        return;
    }
    if (spans->count == spans->capacity &&
        !weir__spans_grow((void **)&spans->items, &spans->capacity, sizeof(*spans->items),
                          WEIR__SPANS_MAX)) {
        spans->is_short = true;
        return;
    }
    spans->items[spans->count++] = (struct weir__span){from, until};
}

bool weir__spans_reserve(struct weir__spans *spans, uint32_t count)
{
    while (spans->capacity < count && weir__spans_grow((void **)&spans->items, &spans->capacity,
                                                       sizeof(*spans->items), WEIR__SPANS_MAX))
        continue;
    spans->is_short |= spans->capacity < count;
    return spans->capacity >= count;
}

void weir__spans_copy(struct weir__spans *to, const struct weir__spans *from)
{
    weir__spans_clear(to);
    to->is_short = !weir__spans_reserve(to, from->count) || from->is_short;
    to->count = from->count < to->capacity ? from->count : to->capacity;
    if (to->count > 0)
        memcpy(to->items, from->items, to->count * sizeof(*to->items));
}

static int by_from(const void *a, const void *b)
{
    const struct weir__span *left = a, *right = b;
    return (left->from > right->from) - (left->from < right->from);
}

/* The first that does not come behind the one before it. */
static uint32_t ordered_until(const struct weir__spans *spans, uint32_t from)
{
    uint32_t i = from + 1;
    while (i < spans->count && spans->items[i - 1].from <= spans->items[i].from)
        i++;
    return i < spans->count ? i : spans->count;
}

/* Two rows in order, the second of them short: from the end on each is put into its place once. */
static bool insert_row(struct weir__spans *spans, uint32_t first)
{
    struct weir__span row[ROW_MAX];
    uint32_t count = spans->count - first, to = spans->count, left = first;
    if (count > ROW_MAX)
        return false;
    memcpy(row, spans->items + first, count * sizeof(*row));
    while (count > 0) {
        bool is_left = left > 0 && spans->items[left - 1].from > row[count - 1].from;
        spans->items[--to] = is_left ? spans->items[--left] : row[--count];
    }
    return true;
}

/* They are mostly in order but for a few. False: it takes too long in this way. */
static bool insert_all(struct weir__spans *spans)
{
    uint64_t moves = 0;
    for (uint32_t i = 1; i < spans->count; i++) {
        struct weir__span one = spans->items[i];
        uint32_t at = i;
        for (; at > 0 && spans->items[at - 1].from > one.from; at--)
            spans->items[at] = spans->items[at - 1];
        spans->items[at] = one;
        moves += i - at;
        if (moves > (uint64_t)MOVES_EACH * spans->count)
            return false;
    }
    return true;
}

void weir__spans_merge(struct weir__spans *spans)
{
    uint32_t count = 0, first = ordered_until(spans, 0);
    bool is_ordered = first == spans->count ||
                      (ordered_until(spans, first) == spans->count && insert_row(spans, first));
    if (!is_ordered && !insert_all(spans))
        qsort(spans->items, spans->count, sizeof(*spans->items), by_from);
    for (uint32_t i = 0; i < spans->count; i++) {
        struct weir__span *last = count > 0 ? &spans->items[count - 1] : NULL;
        if (!last || spans->items[i].from > last->until)
            spans->items[count++] = spans->items[i];
        else if (spans->items[i].until > last->until)
            last->until = spans->items[i].until;
    }
    spans->count = count;
}

uint32_t weir__spans_behind(const struct weir__spans *spans, uint32_t at)
{
    uint32_t low = 0, high = spans->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (spans->items[middle].until <= at)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}
