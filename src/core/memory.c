/* memory.c - allocation and names. */
#include "memory.h"

#include <stdlib.h>
#include <string.h>

#include "error.h"
#include "fault.h"

void *weir__alloc(size_t count, size_t size)
{
    if (weir_fault_hit(WEIR_FAULT_ALLOC))
        return NULL;
    return calloc(count ? count : 1, size ? size : 1);
}

void weir__free(void *memory)
{
    free(memory);
}

int weir__name_set(char field[WEIR_NAME_MAX], const char *name)
{
    if (!name || !*name)
        return weir__fail(WEIR_E_INVALID, NULL, "a name is needed: 1 to $1 bytes",
                          WEIR_NAME_MAX - 1, 0, 0);
    size_t length = strnlen(name, WEIR_NAME_MAX);
    if (length == WEIR_NAME_MAX)
        return weir__fail(WEIR_E_INVALID, name, "the name '$n...' is too long: at most $1 bytes",
                          WEIR_NAME_MAX - 1, 0, 0);
    for (size_t i = 0; i < length; i++)
        if (name[i] < ' ' || name[i] > '~' || name[i] == '"' || name[i] == '\\')
            return weir__fail(WEIR_E_INVALID, NULL,
                              "byte $1 of a name is not printable ASCII, or a quote or a backslash",
                              i + 1, 0, 0);
    memset(field, 0, WEIR_NAME_MAX);
    memcpy(field, name, length);
    return 0;
}
