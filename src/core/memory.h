/* memory.h - allocation with a fault point, checked for overflow; and names of objects.
 *
 * Ownership: what weir__alloc() returns is freed by weir__free().
 */
#ifndef WEIR_CORE_MEMORY_H
#define WEIR_CORE_MEMORY_H

#include <weir/defs.h>

/* count objects of size bytes, zeroed; NULL when there is no memory or the product overflows. */
__attribute__((malloc, warn_unused_result)) void *weir__alloc(size_t count, size_t size);
void weir__free(void *memory);

/* Copies a name into a field of WEIR_NAME_MAX bytes. Invalid when it is NULL, empty, too long, or
 * has a byte that is not printable ASCII, a double quote or a backslash (it becomes a label). */
WEIR_MUST_USE int weir__name_set(char field[WEIR_NAME_MAX], const char *name);

#endif
