/* fuzz_manifest.c - any bytes as a node of a manifest: what is accepted has these bytes alone.
 *
 * What must hold: an accepted node is written as exactly the bytes that were read; it is within the
 * limits; only bytes that begin like a manifest are called damaged or of another version.
 */
#include "manifest.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <weir/error.h>

#include "banned.h"

#define HOLDS(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "fuzz_manifest: does not hold: %s\n", #condition);                     \
            abort();                                                                               \
        }                                                                                          \
    } while (0)

static struct weir__manifest_node node;
static unsigned char again[WEIR__MANIFEST_SIZE_MAX];

static void check_entries(void)
{
    uint64_t before = 0;
    bool was_hole = false;
    HOLDS(node.level < WEIR__MANIFEST_LEVELS && node.count <= WEIR__MANIFEST_ENTRIES_MAX);
    for (size_t i = 0; i < node.count; i++) {
        const struct weir__manifest_entry *entry = &node.entries[i];
        HOLDS(entry->end > before && entry->end <= WEIR__FILE_LENGTH_MAX);
        HOLDS(!entry->is_hole || (node.level == 0 && !was_hole));
        HOLDS(entry->is_hole || node.level > 0 || entry->end - before <= 1u << 20);
        before = entry->end;
        was_hole = entry->is_hole;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    int result = weir__manifest_decode(data, size, &node);
    HOLDS(result == 0 || result == -WEIR_E_INVALID || result == -WEIR_E_CORRUPT ||
          result == -WEIR_E_UNSUPPORTED);
    HOLDS((result == -WEIR_E_INVALID) == !weir__manifest_is_one(data, size));
    if (result != 0)
        return 0;
    check_entries();
    HOLDS(weir__manifest_encode(&node, again) == size && memcmp(again, data, size) == 0);
    return 0;
}
