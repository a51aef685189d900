/* spans.h - parts of a text, as many as there is room for.
 *
 * Limit: WEIR__SPANS_MAX. A list that more were added to, or that did not get memory, says so.
 *
 * Ownership: a list owns its items; zeros are an empty one.
 */
#ifndef WEIR_SCAN_ENGINE_SPANS_H
#define WEIR_SCAN_ENGINE_SPANS_H

#include <weir/defs.h>

#define WEIR__SPANS_MAX 4096u

/* Bytes [from, until) of a text. */
struct weir__span {
    uint32_t from, until;
};

struct weir__spans {
    struct weir__span *items;
    uint32_t count, capacity;
    bool is_short; /* some are not there */
};

void weir__spans_fini(struct weir__spans *spans);
void weir__spans_clear(struct weir__spans *spans);
void weir__spans_add_more(struct weir__spans *spans, uint32_t from, uint32_t until);
/* One that begins in the last one, or right behind it, makes that longer. */
static inline void weir__spans_add(struct weir__spans *spans, uint64_t from, uint64_t until)
{
    if (spans->count > 0 && spans->count < spans->capacity &&
        from > spans->items[spans->count - 1].until)
        spans->items[spans->count++] = (struct weir__span){(uint32_t)from, (uint32_t)until};
    else
        weir__spans_add_more(spans, (uint32_t)from, (uint32_t)until); /* joins, or makes room */
}
/* Room for so many in all. False: the list is short, as some of them will not be there. */
bool weir__spans_reserve(struct weir__spans *spans, uint32_t count);
/* Makes it the same as another one; what there is no memory for is not there. */
void weir__spans_copy(struct weir__spans *to, const struct weir__spans *from);
/* In order, and no two that touch. */
void weir__spans_merge(struct weir__spans *spans);
/* Of merged ones the number of the first that ends behind this place; count: none does. */
uint32_t weir__spans_behind(const struct weir__spans *spans, uint32_t at);

/* Room for one more of a list that has none left. False: there is no memory, or most are there. */
bool weir__spans_grow(void **items, uint32_t *capacity, size_t size, uint32_t most);

#endif
