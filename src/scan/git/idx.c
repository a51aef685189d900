/* idx.c - the tables of a pack's index, looked at and never trusted.
 *
 *     version 1: fanout, count times {offset, id}, sum of the pack, sum of the index
 *     version 2: "\377tOc", 2, fanout, ids, CRCs, offsets, 64-bit offsets, the same two sums
 */
#include "idx.h"

#include "idx_read.h"

#include "banned.h"

#define V2_MAGIC   0xff744f63u
#define FANOUT     1024u
#define REV_MAGIC  0x52494458u /* "RIDX" */
#define REV_HEAD   12u
#define LARGE      0x80000000u
#define HASH_SHA1  1u
#define HASH_OTHER 2u
/* Places that are computed, and so few ids that halving is as good. */
#define LOOKS 4u
#define FEW   8u

bool weir__git_fanout_is_good(const uint8_t *fanout)
{
    uint32_t before = 0;
    for (unsigned i = 0; i < 256; i++) {
        uint32_t count = weir__git_get32(fanout + 4 * i);
        if (count < before)
            return false;
        before = count;
    }
    return true;
}

/* Ids are hashes, so where one stands can be computed, and is off by about the root of their
 * number. A few such looks leave hardly anything to be halved. Ids that were made up to lie close
 * together make these looks useless, and cost no more than that. Returns where to look next. */
static uint32_t narrow(const uint8_t *ids, size_t step, const struct weir__git_id *id,
                       uint32_t *low, uint32_t *high)
{
    uint64_t key = weir__git_get64(id->bytes), least = key >> 56 << 56;
    uint64_t most = least + ((UINT64_C(1) << 56) - 1);
    for (unsigned i = 0; i<LOOKS && * high - *low> FEW; i++) {
        double part = (double)(key - least) / ((double)(most - least) + 1);
        uint32_t at = *low + (uint32_t)((double)(*high - *low) * part);
        at = at < *high ? at : *high - 1;
        uint64_t value = weir__git_get64(ids + (uint64_t)at * step);
        if (value < key && value >= least) {
            *low = at + 1;
            least = value;
        } else if (value > key && value <= most) {
            *high = at;
            most = value;
        } else {
            return at; /* this is it; or they are not in order */
        }
    }
    return *low + (*high - *low) / 2;
}

int weir__git_sorted_find(const uint8_t *fanout, uint32_t count, const uint8_t *ids, size_t step,
                          size_t id_size, const struct weir__git_id *id, uint32_t *ret_at)
{
    unsigned first = id->bytes[0];
    uint32_t low = first > 0 ? weir__git_get32(fanout + 4 * (first - 1)) : 0;
    uint32_t high = weir__git_get32(fanout + 4 * first);
    /* It was good when it was checked; somebody may write to the file. */
    if (high > count)
        high = count;
    uint32_t middle = low < high ? narrow(ids, step, id, &low, &high) : 0;
    while (low < high) {
        int order = memcmp(ids + (uint64_t)middle * step, id->bytes, id_size);
        if (order == 0) {
            *ret_at = middle;
            return 0;
        }
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
        middle = low + (high - low) / 2;
    }
    return -WEIR_E_NOT_FOUND;
}

static int init_v1(struct weir__git_idx *idx, const uint8_t *bytes, size_t length)
{
    uint64_t needed = FANOUT + (uint64_t)idx->count * (4 + idx->id_size) + 2 * idx->id_size;
    if (needed != length)
        return -WEIR_E_CORRUPT;
    idx->_entries = bytes + FANOUT;
    idx->_pack_sum = bytes + length - 2 * idx->id_size;
    return 0;
}

static int init_v2(struct weir__git_idx *idx, const uint8_t *bytes, size_t length)
{
    size_t id_size = idx->id_size;
    uint64_t needed = 8 + FANOUT + (uint64_t)idx->count * (id_size + 8) + 2 * id_size;
    if (needed > length || (length - needed) % 8 != 0 || (length - needed) / 8 > idx->count)
        return -WEIR_E_CORRUPT;
    idx->_entries = bytes + 8 + FANOUT;
    idx->_offsets = idx->_entries + (uint64_t)idx->count * (id_size + 4);
    idx->_large = idx->_offsets + (uint64_t)idx->count * 4;
    idx->_large_count = (length - needed) / 8;
    idx->_pack_sum = bytes + length - 2 * id_size;
    return 0;
}

int weir__git_idx_init(struct weir__git_idx *ret_idx, const uint8_t *bytes, size_t length,
                       size_t id_size)
{
    struct weir__git_idx idx = {.id_size = id_size, .version = 1};
    size_t head = 0;
    if (length < 8)
        return -WEIR_E_CORRUPT;
    if (weir__git_get32(bytes) == V2_MAGIC) {
        idx.version = weir__git_get32(bytes + 4);
        head = 8;
    }
    if (idx.version != (head ? 2u : 1u))
        return -WEIR_E_UNSUPPORTED;
    if (length < head + FANOUT + 2 * id_size)
        return -WEIR_E_CORRUPT;
    idx._fanout = bytes + head;
    if (!weir__git_fanout_is_good(idx._fanout))
        return -WEIR_E_CORRUPT;
    idx.count = weir__git_get32(idx._fanout + 4 * 255);
    int result = head ? init_v2(&idx, bytes, length) : init_v1(&idx, bytes, length);
    if (result == 0)
        *ret_idx = idx;
    return result;
}

const uint8_t *weir__git_idx_id(const struct weir__git_idx *idx, uint32_t at)
{
    if (idx->version == 1)
        return idx->_entries + (uint64_t)at * (4 + idx->id_size) + 4;
    return idx->_entries + (uint64_t)at * idx->id_size;
}

bool weir__git_idx_is_sorted_at(const struct weir__git_idx *idx, uint32_t at)
{
    const uint8_t *id = weir__git_idx_id(idx, at);
    uint32_t begin = id[0] > 0 ? weir__git_get32(idx->_fanout + 4 * (id[0] - 1u)) : 0;
    if (at < begin || at >= weir__git_get32(idx->_fanout + 4 * id[0]))
        return false;
    return at == 0 || memcmp(weir__git_idx_id(idx, at - 1), id, idx->id_size) <= 0;
}

int weir__git_idx_offset(const struct weir__git_idx *idx, uint32_t at, uint64_t *ret_offset)
{
    if (idx->version == 1) {
        *ret_offset = weir__git_get32(idx->_entries + (uint64_t)at * (4 + idx->id_size));
        return 0;
    }
    uint32_t offset = weir__git_get32(idx->_offsets + (uint64_t)at * 4);
    if (!(offset & LARGE)) {
        *ret_offset = offset;
        return 0;
    }
    return weir__git_large_offset(idx->_large, idx->_large_count, offset & ~LARGE, ret_offset);
}

static const uint8_t *crc_of(const struct weir__git_idx *idx, uint32_t at)
{
    return idx->_entries + (uint64_t)idx->count * idx->id_size + (uint64_t)at * 4;
}

bool weir__git_idx_crc(const struct weir__git_idx *idx, uint32_t at, uint32_t *ret_crc)
{
    if (idx->version == 1)
        return false;
    *ret_crc = weir__git_get32(crc_of(idx, at));
    return true;
}

void weir__git_idx_fetch(const struct weir__git_idx *idx, uint32_t at)
{
    __builtin_prefetch(weir__git_idx_id(idx, at));
    if (idx->version != 1)
        __builtin_prefetch(crc_of(idx, at));
}

int weir__git_large_offset(const uint8_t *large, uint64_t count, uint32_t at, uint64_t *ret_offset)
{
    if (at >= count)
        return -WEIR_E_CORRUPT;
    uint64_t offset = weir__git_get64(large + (uint64_t)at * 8);
    if (offset > WEIR__GIT_OFFSET_MAX)
        return -WEIR_E_CORRUPT;
    *ret_offset = offset;
    return 0;
}

int weir__git_idx_find(const struct weir__git_idx *idx, const struct weir__git_id *id,
                       uint32_t *ret_at)
{
    bool is_v1 = idx->version == 1;
    return weir__git_sorted_find(idx->_fanout, idx->count, idx->_entries + (is_v1 ? 4 : 0),
                                 idx->id_size + (is_v1 ? 4 : 0), idx->id_size, id, ret_at);
}

const uint8_t *weir__git_idx_pack_sum(const struct weir__git_idx *idx)
{
    return idx->_pack_sum;
}

uint64_t weir__git_idx_count_max(uint64_t bytes, size_t id_size)
{
    uint64_t fixed = FANOUT + 2 * id_size;
    uint64_t count = bytes > fixed ? (bytes - fixed) / (id_size + 4) : 0;
    return count < UINT32_MAX ? count : UINT32_MAX;
}

const uint8_t *weir__git_rev_table(const uint8_t *bytes, size_t length,
                                   const struct weir__git_idx *idx)
{
    uint64_t needed = REV_HEAD + (uint64_t)idx->count * 4 + 2 * idx->id_size;
    if (length != needed || weir__git_get32(bytes) != REV_MAGIC || weir__git_get32(bytes + 4) != 1)
        return NULL;
    uint32_t hash = idx->id_size == WEIR__GIT_SHA1_SIZE ? HASH_SHA1 : HASH_OTHER;
    if (weir__git_get32(bytes + 8) != hash)
        return NULL;
    const uint8_t *sum = bytes + length - 2 * idx->id_size;
    return memcmp(sum, idx->_pack_sum, idx->id_size) == 0 ? bytes + REV_HEAD : NULL;
}
