/* manifest.h - one node of a file's manifest: bytes to entries and back.
 *
 * A manifest says of which chunks a file is made. It is a chunk itself: CBOR in the deterministic
 * form of RFC 8949, which begins with a tag of its own, so that other bytes are not mistaken for
 * it. The format stands in docs/manifest.md.
 *
 *     tag 'Weir' [ 1, 0, level, length, [ entry, ... ] ]
 *
 *     level 0     [ length, address ]   a chunk of the file, at most 1 MiB
 *                 length                a hole
 *     level 1..5  [ length, address ]   a node of the level below, and how much of the file it
 * covers
 *
 * Promises: one list of entries has one encoding, and nothing else is accepted. Entries are never
 * empty, two holes never stand side by side, and the sum is at most 2^63 - 1.
 *
 * Limits: 4,096 entries a node, 6 levels, 256 KiB of bytes. Nothing here allocates or waits.
 *
 * Ownership: a node is a value in the caller's memory, of some 200 KiB.
 */
#ifndef WEIR_STORE_MANIFEST_H
#define WEIR_STORE_MANIFEST_H

#include <weir/defs.h>

#include "address.h"

#define WEIR__MANIFEST_TAG     0x57656972u /* "Weir" */
#define WEIR__MANIFEST_VERSION 1
#define WEIR__MANIFEST_FILE    0
#define WEIR__MANIFEST_TREE    1
/* Six are enough for 2^63 - 1 chunks of one byte each. */
#define WEIR__MANIFEST_LEVELS      6
#define WEIR__MANIFEST_ENTRIES_MAX 4096
#define WEIR__MANIFEST_SIZE_MAX    (256u << 10)
#define WEIR__FILE_LENGTH_MAX      ((uint64_t)INT64_MAX)

struct weir__manifest_entry {
    uint64_t end; /* of what it covers, counted from the beginning of the node */
    struct weir__address address;
    bool is_hole; /* and the address means nothing */
};

struct weir__manifest_node {
    unsigned level;
    size_t count;
    struct weir__manifest_entry entries[WEIR__MANIFEST_ENTRIES_MAX];
};

/* What the node covers. */
uint64_t weir__manifest_length(const struct weir__manifest_node *node);

/* Appends an entry. Overflow when the node is full; Invalid for what no manifest may have: a length
 * of 0, a chunk above 1 MiB, a hole beside a hole or above level 0; TooLarge when the sum would be
 * above 2^63 - 1. A NULL address is a hole. */
WEIR_MUST_USE int weir__manifest_add(struct weir__manifest_node *node, uint64_t length,
                                     const struct weir__address *address);

/* The bytes of the node, which always fit. Returns how many. */
size_t weir__manifest_encode(const struct weir__manifest_node *node,
                             unsigned char bytes[WEIR__MANIFEST_SIZE_MAX]);

/* The node of these bytes. Invalid: this is no manifest at all. Unsupported: one of another
 * version, or of a tree. Corrupt: it begins like one and is none. The node is then undefined. */
WEIR_MUST_USE int weir__manifest_decode(const void *bytes, size_t length,
                                        struct weir__manifest_node *node);

/* Whether the bytes begin like a manifest of any version and kind: a hint, not a check. */
bool weir__manifest_is_one(const void *bytes, size_t length);

/* The head that all kinds share, up to the kind. For readers of one kind, with so many items in
 * all: 0, or what decode says. */
struct weir__cbor_in;
WEIR_MUST_USE int weir__manifest_take_head(struct weir__cbor_in *in, unsigned kind, unsigned items);

#endif
