/* alloc.c - malloc behind a fault point. */
#include "alloc.h"

#include <stdlib.h>

#include <weir/fault.h>

#include "banned.h"

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

void weir__base_free(void *memory)
{
    free(memory);
}
