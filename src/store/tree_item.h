/* tree_item.h - one name of a directory in a tree's manifest: to CBOR and back.
 *
 * A map with small numbers as keys, in their order; what an entry does not have is not there. The
 * format stands in docs/manifest.md. One entry has one encoding, and nothing else is accepted:
 * what was read is written again and compared.
 *
 * Limits: names of 255 bytes, targets of 4,095, 64 attributes with values of 64 KiB, 16 parts of a
 * file, 128 KiB in all. Nothing here allocates or waits.
 *
 * Ownership: an entry borrows the bytes that it points to.
 */
#ifndef WEIR_STORE_TREE_ITEM_H
#define WEIR_STORE_TREE_ITEM_H

#include <weir/defs.h>

#include "address.h"

#define WEIR__TREE_NAME_MAX   255
#define WEIR__TREE_TARGET_MAX 4095
#define WEIR__TREE_XATTRS_MAX 64
#define WEIR__TREE_VALUE_MAX  (64u << 10)
#define WEIR__TREE_PARTS_MAX  16
#define WEIR__TREE_ENTRY_MAX  (128u << 10)

enum weir__tree_kind {
    WEIR__TREE_FILE,
    WEIR__TREE_DIRECTORY,
    WEIR__TREE_LINK,
    WEIR__TREE_FIFO,
    WEIR__TREE_SOCKET,
    WEIR__TREE_CHARACTER,
    WEIR__TREE_BLOCK,
};

/* Bytes of somebody else. */
struct weir__tree_bytes {
    const unsigned char *bytes;
    size_t length;
};

struct weir__tree_xattr {
    struct weir__tree_bytes name;
    struct weir__tree_bytes value;
};

struct weir__tree_part {
    uint64_t length;
    bool is_hole;
    struct weir__address address; /* of a chunk */
};

struct weir__tree_entry {
    struct weir__tree_bytes name;
    enum weir__tree_kind kind;
    uint32_t mode; /* the lower twelve bits */
    uint32_t uid;
    uint32_t gid;
    int64_t mtime_s;
    uint32_t mtime_ns;
    size_t xattr_count;
    struct weir__tree_xattr xattrs[WEIR__TREE_XATTRS_MAX]; /* shorter names first, then by bytes */
    uint32_t major;                                        /* of devices */
    uint32_t minor;
    uint64_t link_group;            /* entries with the same number are one file; 0: it is alone */
    struct weir__tree_bytes target; /* of a link */
    bool has_manifest;              /* directories, and files of more than 16 parts */
    struct weir__address manifest;
    size_t part_count; /* of other files */
    struct weir__tree_part parts[WEIR__TREE_PARTS_MAX];
};

struct weir__cbor_in;

/* Below, equal to or above 0: the order of names in a tree, which is that of their bytes. */
int weir__tree_compare(const struct weir__tree_bytes *a, const struct weir__tree_bytes *b);

/* The bytes of an entry. Invalid for what none may be; TooLarge above 128 KiB. */
WEIR_MUST_USE int weir__tree_encode(const struct weir__tree_entry *entry,
                                    unsigned char bytes[WEIR__TREE_ENTRY_MAX], size_t *ret_length);

/* The next entry of a node, or Corrupt. It points into the node. The scratch is for the comparison.
 */
WEIR_MUST_USE int weir__tree_decode(struct weir__cbor_in *in,
                                    unsigned char scratch[WEIR__TREE_ENTRY_MAX],
                                    struct weir__tree_entry *ret_entry);

#endif
