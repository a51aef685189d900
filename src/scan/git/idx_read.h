/* idx_read.h - what the two kinds of index have in common.
 *
 * Ownership: nothing here owns anything; bytes stay the caller's.
 */
#ifndef WEIR_SCAN_GIT_IDX_READ_H
#define WEIR_SCAN_GIT_IDX_READ_H

#include "object_id.h"

/* Plans keep flags above it; no disk has a pack of 64 PiB. */
#define WEIR__GIT_OFFSET_MAX ((UINT64_C(1) << 56) - 1)

static inline uint32_t weir__git_get32(const uint8_t *p)
{
    uint32_t value;
    memcpy(&value, p, sizeof(value));
    return __builtin_bswap32(value);
}

static inline uint64_t weir__git_get64(const uint8_t *p)
{
    uint64_t value;
    memcpy(&value, p, sizeof(value));
    return __builtin_bswap64(value);
}

/* 256 counts that do not fall. */
bool weir__git_fanout_is_good(const uint8_t *fanout);

/* Among count ids that stand step bytes apart. NotFound. */
WEIR_MUST_USE int weir__git_sorted_find(const uint8_t *fanout, uint32_t count, const uint8_t *ids,
                                        size_t step, size_t id_size, const struct weir__git_id *id,
                                        uint32_t *ret_at);

WEIR_MUST_USE int weir__git_large_offset(const uint8_t *large, uint64_t count, uint32_t at,
                                         uint64_t *ret_offset);

#endif
