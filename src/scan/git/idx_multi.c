/* idx_multi.c - one index over many packs.
 *
 *     "MIDX", version 1, hash, number of chunks, 0, number of packs
 *     {name of a chunk, where it begins}, once more with the name 0 for where the last one ends
 *     PNAM names of packs, OIDF fanout, OIDL ids, OOFF {pack, offset}, LOFF 64-bit offsets, others
 */
#include "idx.h"

#include "idx_read.h"

#include "banned.h"

#define MAGIC     0x4d494458u /* "MIDX" */
#define HEAD      12u
#define ROW       12u
#define FANOUT    1024u
#define LARGE     0x80000000u
#define NAME_PNAM 0x504e414du
#define NAME_OIDF 0x4f494446u
#define NAME_OIDL 0x4f49444cu
#define NAME_OOFF 0x4f4f4646u
#define NAME_LOFF 0x4c4f4646u

struct chunk {
    const uint8_t *bytes; /* NULL: there is none */
    uint64_t length;
};

/* Each begins where the table says and ends where the next one begins. */
static int find_chunk(const uint8_t *bytes, size_t length, unsigned count, uint32_t name,
                      struct chunk *ret_chunk)
{
    const uint8_t *row = bytes + HEAD;
    for (unsigned i = 0; i < count; i++, row += ROW) {
        uint64_t begin = weir__git_get64(row + 4), end = weir__git_get64(row + ROW + 4);
        if (begin < HEAD + (count + 1) * ROW || end < begin || end > length)
            return -WEIR_E_CORRUPT;
        if (weir__git_get32(row) == name)
            *ret_chunk = (struct chunk){bytes + begin, end - begin};
    }
    return 0;
}

static int find_chunks(struct weir__git_midx *midx, const uint8_t *bytes, size_t length,
                       unsigned count)
{
    static const uint32_t names[] = {NAME_PNAM, NAME_OIDF, NAME_OIDL, NAME_OOFF, NAME_LOFF};
    struct chunk chunks[5] = {{0}};
    for (unsigned i = 0; i < 5; i++) {
        int result = find_chunk(bytes, length, count, names[i], &chunks[i]);
        if (result < 0)
            return result;
        if (i < 4 && !chunks[i].bytes)
            return -WEIR_E_CORRUPT;
    }
    if (chunks[1].length != FANOUT || !weir__git_fanout_is_good(chunks[1].bytes))
        return -WEIR_E_CORRUPT;
    midx->count = weir__git_get32(chunks[1].bytes + 4 * 255);
    if (chunks[2].length != (uint64_t)midx->count * midx->id_size ||
        chunks[3].length != (uint64_t)midx->count * 8 || chunks[4].length % 8 != 0)
        return -WEIR_E_CORRUPT;
    midx->_names = (const char *)chunks[0].bytes;
    midx->_names_length = (size_t)chunks[0].length;
    midx->_fanout = chunks[1].bytes;
    midx->_ids = chunks[2].bytes;
    midx->_offsets = chunks[3].bytes;
    midx->_large = chunks[4].bytes;
    midx->_large_count = chunks[4].length / 8;
    return 0;
}

int weir__git_midx_init(struct weir__git_midx *ret_midx, const uint8_t *bytes, size_t length,
                        size_t id_size)
{
    struct weir__git_midx midx = {.id_size = id_size};
    if (length < HEAD || weir__git_get32(bytes) != MAGIC)
        return -WEIR_E_CORRUPT;
    if (bytes[4] != 1)
        return -WEIR_E_UNSUPPORTED;
    if (bytes[5] != (id_size == WEIR__GIT_SHA1_SIZE ? 1 : 2) || bytes[7] != 0)
        return -WEIR_E_CORRUPT;
    unsigned chunks_count = bytes[6];
    if (length < HEAD + (chunks_count + 1) * ROW)
        return -WEIR_E_CORRUPT;
    midx.packs_count = weir__git_get32(bytes + 8);
    int result = find_chunks(&midx, bytes, length, chunks_count);
    if (result < 0)
        return result;
    size_t at = 0;
    for (uint32_t i = 0; i < midx.packs_count; i++)
        if (!weir__git_midx_name(&midx, &at))
            return -WEIR_E_CORRUPT;
    *ret_midx = midx;
    return 0;
}

const char *weir__git_midx_name(const struct weir__git_midx *midx, size_t *at)
{
    const char *name = midx->_names + *at;
    const char *end = memchr(name, '\0', midx->_names_length - *at);
    if (!end || end == name)
        return NULL;
    *at = (size_t)(end - midx->_names) + 1;
    return name;
}

int weir__git_midx_find(const struct weir__git_midx *midx, const struct weir__git_id *id,
                        uint32_t *ret_pack, uint64_t *ret_offset)
{
    uint32_t at;
    int result = weir__git_sorted_find(midx->_fanout, midx->count, midx->_ids, midx->id_size,
                                       midx->id_size, id, &at);
    if (result < 0)
        return result;
    uint32_t pack = weir__git_get32(midx->_offsets + (uint64_t)at * 8);
    uint64_t offset = weir__git_get32(midx->_offsets + (uint64_t)at * 8 + 4);
    if (pack >= midx->packs_count)
        return -WEIR_E_CORRUPT;
    /* Without a table of 64-bit offsets, the highest bit is part of a number. */
    if (midx->_large && (offset & LARGE)) {
        result = weir__git_large_offset(midx->_large, midx->_large_count,
                                        (uint32_t)(offset & ~(uint64_t)LARGE), &offset);
        if (result < 0)
            return result;
    }
    *ret_pack = pack;
    *ret_offset = offset;
    return 0;
}
