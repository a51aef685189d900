/* memory_help.h - chunks in memory, as a sink and a source, with faults on demand.
 *
 * Ownership: the store keeps copies until memory_clear().
 */
#ifndef WEIR_TESTS_MEMORY_HELP_H
#define WEIR_TESTS_MEMORY_HELP_H

#include <stdlib.h>
#include <string.h>

#include <weir/error.h>

#include "chunk_io.h"
#include "tap.h"

#define MEMORY_SLOTS (1u << 17)

struct memory_chunk {
    struct weir__address address;
    unsigned char *bytes;
    size_t length;
};

static struct {
    struct memory_chunk slots[MEMORY_SLOTS];
    size_t chunks;
    uint64_t bytes;
    uint64_t puts;
    uint64_t gets;
    int64_t fail_at;          /* the call after so many fails with Transient; below 0: none */
    struct weir__address lie; /* of this chunk something else is given */
    bool is_lying;
} memory = {.fail_at = -1};

static inline struct memory_chunk *memory_find(const struct weir__address *address)
{
    size_t at;
    memcpy(&at, address->bytes, sizeof(at));
    for (at %= MEMORY_SLOTS; memory.slots[at].bytes; at = (at + 1) % MEMORY_SLOTS)
        if (weir__address_is_equal(&memory.slots[at].address, address))
            break;
    return &memory.slots[at];
}

static inline int memory_put(void *arg, const void *bytes, size_t length,
                             const struct weir__address *address)
{
    struct weir__address right;
    (void)arg;
    CHECK(length > 0 && length <= 1u << 20);
    weir__address_of(bytes, length, &right);
    CHECK(weir__address_is_equal(&right, address));
    memory.puts++;
    if (memory.fail_at >= 0 && memory.fail_at-- == 0)
        return -WEIR_E_TRANSIENT;
    struct memory_chunk *chunk = memory_find(address);
    if (chunk->bytes)
        return 0;
    CHECK(memory.chunks++ < MEMORY_SLOTS / 2);
    chunk->address = *address;
    chunk->bytes = malloc(length);
    CHECK(chunk->bytes);
    memcpy(chunk->bytes, bytes, length);
    chunk->length = length;
    memory.bytes += length;
    return 0;
}

static inline int memory_get(void *arg, const struct weir__address *address, void *bytes,
                             size_t size, size_t *ret_length)
{
    (void)arg;
    memory.gets++;
    if (memory.fail_at >= 0 && memory.fail_at-- == 0)
        return -WEIR_E_TRANSIENT;
    const struct memory_chunk *chunk = memory_find(address);
    if (!chunk->bytes)
        return -WEIR_E_NOT_FOUND;
    if (chunk->length > size)
        return -WEIR_E_TOO_LARGE;
    memcpy(bytes, chunk->bytes, chunk->length);
    if (memory.is_lying && weir__address_is_equal(&memory.lie, address))
        ((unsigned char *)bytes)[chunk->length / 2] ^= 1;
    *ret_length = chunk->length;
    return 0;
}

static const struct weir__chunk_sink memory_sink = {.put = memory_put};
static const struct weir__chunk_source memory_source = {.get = memory_get};

static inline void memory_clear(void)
{
    for (size_t i = 0; i < MEMORY_SLOTS; i++)
        free(memory.slots[i].bytes);
    memset(&memory, 0, sizeof(memory));
    memory.fail_at = -1;
}

#endif
