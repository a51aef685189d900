/* tree_manifest.h - the manifest of one directory: its names in order, in as many nodes as they
 * need.
 *
 * A directory in it is one entry with the address of a manifest of its own, so a tree of files is
 * written from its leaves to its root.
 *
 *     tag 'Weir' [ 1, 1, level, count, [ entry, ... ] ]
 *
 *     level 0     entries of tree_item.h, by the bytes of their names
 *     level 1..5  [ first name, count, address ]   a node of the level below
 *
 * Promises: one list of entries has one root, since a node is ended only by the entry that would
 * not fit: the 4,097th, or the one that would make it larger than 256 KiB. The reader checks
 * order, counts, levels, first names and hashes.
 *
 * Memory: 256 KiB for each level, of both sides, and 128 KiB.
 *
 * Not for two threads at once. Both wait as the callbacks do.
 *
 * Ownership: both live in the caller's memory, own their buffers, and borrow what the arg of the
 * sink or the source points to.
 */
#ifndef WEIR_STORE_TREE_MANIFEST_H
#define WEIR_STORE_TREE_MANIFEST_H

#include <weir/defs.h>

#include "cbor_item.h"
#include "chunk_io.h"
#include "manifest.h"
#include "tree_item.h"

struct weir__tree_node;

struct weir__tree_writer {
    struct weir__chunk_sink _sink;
    struct weir__tree_node *_nodes[WEIR__MANIFEST_LEVELS]; /* open ones, by level, or NULL */
    unsigned char *_scratch;
    unsigned char _last[WEIR__TREE_NAME_MAX]; /* the name that was added last */
    size_t _last_length;
    int _error; /* the first, which everything returns from then on */
};

/* Allocates nothing. */
void weir__tree_writer_init(struct weir__tree_writer *writer, const struct weir__chunk_sink *sink);
/* Accepts NULL and one that is all zero. */
void weir__tree_writer_fini(struct weir__tree_writer *writer);

/* The next name. Invalid for an entry that cannot be, or whose name is not behind the last one;
 * TooLarge when it has more than 128 KiB, or the directory more levels than there may be; NoMemory;
 * or what the sink said. */
WEIR_MUST_USE int weir__tree_writer_add(struct weir__tree_writer *writer,
                                        const struct weir__tree_entry *entry);
/* Puts what is left: the root. Then the next directory may begin; after an error
 * weir__tree_writer_reset() comes first. */
WEIR_MUST_USE int weir__tree_writer_finish(struct weir__tree_writer *writer,
                                           struct weir__address *ret_root);
void weir__tree_writer_reset(struct weir__tree_writer *writer);

struct weir__tree_reader {
    struct weir__chunk_source _source;
    struct weir__tree_level {
        unsigned char *bytes;
        struct weir__cbor_in in;
        size_t left;    /* entries not yet read */
        uint64_t count; /* names that are not yet accounted for by them */
    } _levels[WEIR__MANIFEST_LEVELS];
    unsigned char *_scratch;
    unsigned _root_level;
    uint64_t _count;
    unsigned char _last[WEIR__TREE_NAME_MAX];
    size_t _last_length;
    int _error;
};

/* Gets the root. Errors as those of weir__file_reader_open(); a manifest of a file is Unsupported.
 * After a failure nothing is held. */
WEIR_MUST_USE int weir__tree_reader_open(struct weir__tree_reader *reader,
                                         const struct weir__chunk_source *source,
                                         const struct weir__address *root);
/* Accepts NULL and one that is all zero. */
void weir__tree_reader_close(struct weir__tree_reader *reader);

/* Names in the directory. */
uint64_t weir__tree_reader_count(const struct weir__tree_reader *reader);

/* 1 and the next entry, which is valid until the next call; 0 at the end; or an error, which stays:
 * Corrupt, NoMemory, or what the source said. */
WEIR_MUST_USE int weir__tree_reader_next(struct weir__tree_reader *reader,
                                         struct weir__tree_entry *ret_entry);

#endif
