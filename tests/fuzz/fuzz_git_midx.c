/* fuzz_git_midx.c - any bytes as the index of one pack, its reverse index, and that of many packs.
 *
 * The first byte chooses the hash. What must hold: nothing outside of the bytes is read, what is
 * found is what was looked for, and names end.
 */
#include <stdlib.h>
#include <string.h>

#include "idx.h"
#include "require.h"

#include "banned.h"

#define LOOKS            300u

#define HOLDS(condition) WEIR__REQUIRE(condition, "fuzz", "index", #condition)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void try_idx(const uint8_t *bytes, size_t length, size_t id_size)
{
    struct weir__git_idx idx;
    if (weir__git_idx_init(&idx, bytes, length, id_size) < 0)
        return;
    HOLDS(weir__git_idx_count_max(length, id_size) >= idx.count);
    for (uint32_t i = 0; i < idx.count && i < LOOKS; i++) {
        struct weir__git_id id = weir__git_id_of(weir__git_idx_id(&idx, i), id_size);
        uint32_t at = 0, crc;
        uint64_t offset = 0;
        if (weir__git_idx_find(&idx, &id, &at) == 0)
            HOLDS(at < idx.count && memcmp(weir__git_idx_id(&idx, at), id.bytes, id_size) == 0);
        if (weir__git_idx_offset(&idx, i, &offset) == 0)
            HOLDS(offset < UINT64_C(1) << 56);
        weir__git_idx_crc(&idx, i, &crc);
        weir__git_idx_is_sorted_at(&idx, i);
    }
    /* Its own bytes, taken for a reverse index. */
    HOLDS(!weir__git_rev_table(bytes, length, &idx));
}

static void try_midx(const uint8_t *bytes, size_t length, size_t id_size)
{
    struct weir__git_midx midx;
    size_t at = 0, names = 0;
    if (weir__git_midx_init(&midx, bytes, length, id_size) < 0)
        return;
    while (names <= length && weir__git_midx_name(&midx, &at))
        names++;
    HOLDS(names >= midx.packs_count && names < length);
    for (uint32_t i = 0; i < LOOKS; i++) {
        struct weir__git_id id = {{0}};
        uint32_t pack = 0;
        uint64_t offset = 0;
        if (i < midx.count)
            id = weir__git_id_of(midx._ids + (size_t)i * id_size, id_size);
        else
            memset(id.bytes, (int)i, id_size);
        if (weir__git_midx_find(&midx, &id, &pack, &offset) == 0)
            HOLDS(pack < midx.packs_count && offset < UINT64_C(1) << 56);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 1)
        return 0;
    size_t id_size = data[0] & 1 ? WEIR__GIT_SHA256_SIZE : WEIR__GIT_SHA1_SIZE;
    uint8_t *bytes = malloc(size);
    memcpy(bytes, data + 1, size - 1);
    try_idx(bytes, size - 1, id_size);
    try_midx(bytes, size - 1, id_size);
    free(bytes);
    return 0;
}
