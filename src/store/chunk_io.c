/* chunk_io.c - nothing that comes from elsewhere is believed before its hash is. */
#include "chunk_io.h"

#include <weir/error.h>

#include "banned.h"

int weir__chunk_get(const struct weir__chunk_source *source, const struct weir__address *address,
                    void *bytes, size_t size, size_t *ret_length)
{
    struct weir__address found;
    size_t length = 0;
    int result = source->get(source->arg, address, bytes, size, &length);
    if (result != 0)
        return result;
    if (length > size)
        return -WEIR_E_CORRUPT;
    weir__address_of(bytes, length, &found);
    if (!weir__address_is_equal(&found, address))
        return -WEIR_E_CORRUPT;
    *ret_length = length;
    return 0;
}
