/* alloc.h - the allocations of everything above core: checked for overflow, with a fault point.
 *
 * Ownership: what these return is freed by weir__base_free().
 */
#ifndef WEIR_BASE_ALLOC_H
#define WEIR_BASE_ALLOC_H

#include <weir/defs.h>

/* count objects of size bytes, zeroed; NULL when there is no memory or the product overflows. */
__attribute__((malloc, warn_unused_result)) void *weir__base_alloc(size_t count, size_t size);

/* memory resized to count objects, NULL and memory unchanged on failure. New bytes are not set. */
__attribute__((warn_unused_result)) void *weir__base_realloc(void *memory, size_t count,
                                                             size_t size);

/* New memory of so many bytes, which is all zeros, is written to. */
void weir__base_touch(void *memory, size_t size);

/* Accepts NULL. */
void weir__base_free(void *memory);

#endif
