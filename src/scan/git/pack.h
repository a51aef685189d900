/* pack.h - one pack: its file, its index, and what is at an offset of it.
 *
 * Promises: nothing outside of the files is read, whatever they say; a file that is cut while it is
 * read is an error (mapped.h). After it was opened a pack is only read, so that threads may share
 * it. A pack that is removed while it is open stays readable.
 *
 * A pack whose head or end does not fit its index is used as far as it goes: has_doubt says so, and
 * objects that are not what the index says are Corrupt one by one.
 *
 * Limits: offsets below 2^56.
 *
 * Ownership: a pack owns its mappings; weir__git_pack_close() gives them back.
 */
#ifndef WEIR_SCAN_GIT_PACK_H
#define WEIR_SCAN_GIT_PACK_H

#include "idx.h"
#include "inflate_object.h"
#include "mapped.h"

#define WEIR__GIT_PACK_NAME_SIZE 272u /* of the longest name that a file may have */
#define WEIR__GIT_NONE           UINT32_MAX

struct weir__git_pack {
    struct weir__mapped _pack_map, _idx_map, _rev_map;
    struct weir__git_idx idx;
    const uint8_t *bytes;
    uint64_t length;       /* up to the sum at its end, if that is there */
    const uint8_t *rev;    /* weir__git_rev_table(), or NULL */
    const char *has_doubt; /* why its content may not be what the index says; or NULL */
    char name[WEIR__GIT_PACK_NAME_SIZE]; /* for messages, "pack-....pack" */
};

/* Maps stem + ".pack" and ".idx" and, where there is one, ".rev" in the folder. NotFound when pack
 * or index are not there (any more), Corrupt or Unsupported when they are of no use; ret_why then
 * is a text that says so. */
WEIR_MUST_USE int weir__git_pack_open(struct weir__git_pack *ret_pack, int folder, const char *stem,
                                      size_t id_size, const char **ret_why);

/* The index alone: which ids it has. */
WEIR_MUST_USE int weir__git_pack_open_ids(struct weir__git_pack *ret_pack, int folder,
                                          const char *stem, size_t id_size, const char **ret_why);

/* Both with bytes that are elsewhere, and outlive the pack. */
WEIR_MUST_USE int weir__git_pack_of_bytes(struct weir__git_pack *ret_pack, const void *pack,
                                          size_t pack_length, const void *idx, size_t idx_length,
                                          size_t id_size, const char **ret_why);

/* Accepts NULL and what was never opened. */
void weir__git_pack_close(struct weir__git_pack *pack);

/* --- what is at an offset --- */

enum weir__git_kind {
    WEIR__GIT_KIND_WHOLE,     /* an object of the type */
    WEIR__GIT_KIND_OFFSET,    /* a delta; its base stands at base_offset of this pack */
    WEIR__GIT_KIND_REFERENCE, /* a delta; its base is base_id */
};

struct weir__git_entry {
    enum weir__git_kind kind;
    enum weir__git_type type; /* of a whole object */
    uint64_t size;            /* inflated: of the object, or of the delta */
    uint64_t at;
    uint64_t data_at; /* where the packed bytes begin */
    uint64_t end;     /* where they end at the latest */
    uint64_t base_offset;
    struct weir__git_id base_id;
    uint32_t idx_at; /* or WEIR__GIT_NONE: then there is no CRC to compare */
};

/* Reads what stands before the packed bytes, which end at `end` or before; and for use in a look
 * that has begun already, the same without one. Corrupt, Io. */
WEIR_MUST_USE int weir__git_pack_entry(const struct weir__git_pack *pack, uint64_t at, uint64_t end,
                                       uint32_t idx_at, struct weir__git_entry *ret_entry,
                                       const char **ret_why);
WEIR_MUST_USE int weir__git_pack_entry_inside(const struct weir__git_pack *pack, uint64_t at,
                                              uint64_t end, struct weir__git_entry *ret_entry);

/* entry->size bytes into out. Corrupt, Io. */
WEIR_MUST_USE int weir__git_pack_inflate(const struct weir__git_pack *pack,
                                         const struct weir__git_inflater *inflater,
                                         const struct weir__git_entry *entry, void *out,
                                         const char **ret_why);

/* The same without inflating: whether the packed bytes are those that the index has the checksum
 * of.
 */
WEIR_MUST_USE int weir__git_pack_check(const struct weir__git_pack *pack,
                                       const struct weir__git_entry *entry, const char **ret_why);

/* Where the object of that id begins. NotFound, Corrupt, Io. */
WEIR_MUST_USE int weir__git_pack_find(const struct weir__git_pack *pack,
                                      const struct weir__git_id *id, uint32_t *ret_idx_at,
                                      uint64_t *ret_offset);

/* What is going to be read of an object soon: the processor fetches it meanwhile. Reads nothing, so
 * that it needs no look and cannot fail. */
void weir__git_pack_fetch(const struct weir__git_pack *pack, uint64_t at, uint32_t idx_at);

/* Which of the ids it does not have; all, when its index cannot be read any more. */
void weir__git_pack_lacks(const struct weir__git_pack *pack, const struct weir__git_id *ids,
                          size_t count, bool *ret_lacks);

/* The id at a position of the index. Io. */
WEIR_MUST_USE int weir__git_pack_id(const struct weir__git_pack *pack, uint32_t idx_at,
                                    struct weir__git_id *ret_id);

/* Copies packed bytes from `at` on, at most count of them, as many as there are. Io. */
WEIR_MUST_USE int weir__git_pack_copy(const struct weir__git_pack *pack, uint64_t at, void *out,
                                      size_t count, size_t *ret_count);

#endif
