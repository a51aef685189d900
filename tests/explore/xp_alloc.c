/* xp_alloc.c - the memory of base, counted: what a scenario leaves behind is a leak. */
#include "xp.h"

#include <stdlib.h>

#include <weir/fault.h>

#include "alloc.h"

static size_t pieces;

size_t xp_pieces(void)
{
    return pieces;
}

void *weir__base_alloc(size_t count, size_t size)
{
    if (weir_fault_hit(WEIR_FAULT_ALLOC))
        return NULL;
    void *memory = calloc(count ? count : 1, size ? size : 1);
    pieces += memory != NULL;
    return memory;
}

void *weir__base_realloc(void *memory, size_t count, size_t size)
{
    if (weir_fault_hit(WEIR_FAULT_ALLOC))
        return NULL;
    void *moved = reallocarray(memory, count ? count : 1, size ? size : 1);
    pieces += moved && !memory;
    return moved;
}

void weir__base_free(void *memory)
{
    pieces -= memory != NULL;
    free(memory);
}
