/* idx.h - which objects a pack has and where: pack-*.idx, versions 1 and 2, and multi-pack-index.
 *
 * Promises: whatever the bytes say, nothing outside of them is read: sizes and tables are checked
 * when an index is opened, every position and offset when it is used. Ids must be sorted, or some
 * cannot be found; that is checked where it costs nothing (weir__git_idx_is_sorted_at()) and never
 * relied upon for more. Checksums are not: a wrong entry shows itself by the object it leads to.
 *
 * Every function but init reads the bytes and nothing else, takes no memory, and may be left in the
 * middle, so it can run inside of weir__mapped_read(); and it must, where the bytes are a mapping.
 *
 * Limits: 2^32 - 1 objects, by the format.
 *
 * Ownership: an index borrows the bytes, which must outlive it; nothing else is held.
 */
#ifndef WEIR_SCAN_GIT_IDX_H
#define WEIR_SCAN_GIT_IDX_H

#include "object_id.h"

struct weir__git_idx {
    const uint8_t *_fanout;  /* 256 big-endian counts */
    const uint8_t *_entries; /* ids, or in version 1 offsets with ids */
    const uint8_t *_offsets; /* version 2 */
    const uint8_t *_large;   /* 64-bit offsets */
    const uint8_t *_pack_sum;
    uint64_t _large_count;
    uint32_t count;
    unsigned version;
    size_t id_size;
};

/* Reads the head and the fanout, so it belongs into weir__mapped_read() as well. Corrupt when this
 * is no index of that hash, Unsupported for another version. */
WEIR_MUST_USE int weir__git_idx_init(struct weir__git_idx *ret_idx, const uint8_t *bytes,
                                     size_t length, size_t id_size);

/* Position in the order of ids; at < count. */
const uint8_t *weir__git_idx_id(const struct weir__git_idx *idx, uint32_t at);
/* Corrupt when it says something that no pack can have. */
WEIR_MUST_USE int weir__git_idx_offset(const struct weir__git_idx *idx, uint32_t at,
                                       uint64_t *ret_offset);
/* Of the object as it stands in the pack; false: this version has none. */
bool weir__git_idx_crc(const struct weir__git_idx *idx, uint32_t at, uint32_t *ret_crc);
/* The id and the CRC are going to be read soon; reads nothing itself. */
void weir__git_idx_fetch(const struct weir__git_idx *idx, uint32_t at);
/* Whether it is not below the one before it, and where the fanout says. */
bool weir__git_idx_is_sorted_at(const struct weir__git_idx *idx, uint32_t at);
/* NotFound. */
WEIR_MUST_USE int weir__git_idx_find(const struct weir__git_idx *idx, const struct weir__git_id *id,
                                     uint32_t *ret_at);
/* Of the pack that it was made for: the last id_size bytes of that. */
const uint8_t *weir__git_idx_pack_sum(const struct weir__git_idx *idx);

/* The most objects that an index of so many bytes can have. */
uint64_t weir__git_idx_count_max(uint64_t bytes, size_t id_size);

/* --- reverse index: pack-*.rev --- */

/* The positions in the order of ids, in the order of offsets; 4 big-endian bytes each. NULL when
 * this is not the reverse index of that pack. Each number has to be checked when it is used. */
const uint8_t *weir__git_rev_table(const uint8_t *bytes, size_t length,
                                   const struct weir__git_idx *idx);

/* --- many packs at once: multi-pack-index --- */

struct weir__git_midx {
    const uint8_t *_fanout;
    const uint8_t *_ids;
    const uint8_t *_offsets; /* pack, offset */
    const uint8_t *_large;
    const char *_names; /* each ended by a NUL; the last one, too */
    uint64_t _large_count;
    size_t _names_length;
    uint32_t count;
    uint32_t packs_count;
    size_t id_size;
};

WEIR_MUST_USE int weir__git_midx_init(struct weir__git_midx *ret_midx, const uint8_t *bytes,
                                      size_t length, size_t id_size);

/* The name of the next pack, "pack-....idx"; *at begins at 0 and is moved. NULL behind the last. */
const char *weir__git_midx_name(const struct weir__git_midx *midx, size_t *at);

/* NotFound; Corrupt when the entry says what cannot be. */
WEIR_MUST_USE int weir__git_midx_find(const struct weir__git_midx *midx,
                                      const struct weir__git_id *id, uint32_t *ret_pack,
                                      uint64_t *ret_offset);

#endif
