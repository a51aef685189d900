/* index_bulk.h - an index made of all segments at once, in the order of addresses.
 *
 *     weir__bulk_new(&bulk, folder, WEIR__BULK_MEMORY)
 *     weir__bulk_add(bulk, &facts, records, count)     for each segment, by rising ids
 *     weir__bulk_end(bulk, index, changed, arg)        into an index that is empty
 *
 * Records come in the order in which they were written, and their addresses are as good as random:
 * each that is put into a large tree by itself leads to another page. Here they are first parted by
 * the first byte of the address, then each part is sorted, and the tree is written from its first
 * page to its last.
 *
 * Promises
 * - The index is the same as if each segment had been applied in this order (index.h).
 * - Memory: what is given to weir__bulk_new(), and some 40 bytes for each 32 KiB of what is
 *   gathered. What has no room there goes to a file without a name in the folder, of 60 bytes a
 *   record, and is read again with a sum over each piece.
 * - After an error the index has some of it, and is to be discarded; but for Overflow, which leaves
 *   it empty: more records than fit have addresses that begin with the same two bytes.
 *
 * Ownership: the bulk belongs to whoever made it; the folder is borrowed until it is freed.
 */
#ifndef WEIR_STORE_INDEX_BULK_H
#define WEIR_STORE_INDEX_BULK_H

#include "index.h"

#define WEIR__BULK_MEMORY ((size_t)64 << 20)

struct weir__bulk;

WEIR_MUST_USE int weir__bulk_new(struct weir__bulk **ret_bulk, const char *folder, size_t memory);
/* Accepts NULL. */
void weir__bulk_free(struct weir__bulk *bulk);

/* All records of a segment, in their order. facts: id, size, is_sealed. Invalid: the id is not
 * above that of the last one. NoMemory, NoSpace, Io. */
WEIR_MUST_USE int weir__bulk_add(struct weir__bulk *bulk, const struct weir__segment_facts *facts,
                                 const struct weir__entry *records, size_t count);
/* changed() is told of every segment. Overflow, Unsupported by the index in memory, NoMemory,
 * NoSpace, Io, Corrupt. */
WEIR_MUST_USE int weir__bulk_end(struct weir__bulk *bulk, struct weir__index *index,
                                 void (*changed)(void *arg, const struct weir__segment_facts *),
                                 void *arg);

#endif
