/* sorted.h - looking up in what is sorted.
 *
 *     size_t at = weir__sorted_from(items, count, sizeof(items[0]), &wanted, compare);
 *     bool is_there = at < count && compare(&items[at], &wanted) == 0;
 *
 * Inline, so that a compare that the compiler knows is no call.
 *
 * Ownership: nothing here owns anything.
 */
#ifndef WEIR_BASE_SORTED_H
#define WEIR_BASE_SORTED_H

#include <weir/defs.h>

/* The index of the first item that does not come before the wanted one; count: all do. compare gets
 * an item and the wanted one. */
static inline size_t weir__sorted_from(const void *items, size_t count, size_t size,
                                       const void *wanted,
                                       int (*compare)(const void *item, const void *wanted))
{
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (compare((const char *)items + middle * size, wanted) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

#endif
