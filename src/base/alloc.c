/* alloc.c - malloc behind a fault point. */
#include "alloc.h"

#include <stdlib.h>

#include <weir/fault.h>

#include "banned.h"

#define PAGE 4096u /* bytes; larger ones are written to more than once */

void *weir__base_alloc(size_t count, size_t size)
{
    if (weir_fault_hit(WEIR_FAULT_ALLOC))
        return NULL;
    return calloc(count ? count : 1, size ? size : 1);
}

void *weir__base_realloc(void *memory, size_t count, size_t size)
{
    if (weir_fault_hit(WEIR_FAULT_ALLOC))
        return NULL;
    return reallocarray(memory, count ? count : 1, size ? size : 1);
}

void weir__base_touch(void *memory, size_t size)
{
    for (size_t at = 0; at < size; at += PAGE)
        ((volatile char *)memory)[at] = 0;
}

void weir__base_free(void *memory)
{
    free(memory);
}
