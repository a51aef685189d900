/* file_writer.h - makes the manifest of a file from its chunks and holes, in their order.
 *
 * Nodes are handed to the sink as they fill up, those of the levels above them when they do, and
 * the root at the end. Each node has 4,096 entries but the last of its level, and there are no more
 * levels than needed, so one list of chunks and holes has one root, whoever wrote it.
 *
 * Memory: one node for each level that the file needs, 200 KiB each (two levels up to 1 TiB of
 * chunks of 64 KiB), and 256 KiB for the bytes of one.
 *
 * Not for two threads at once. Waits as the sink does.
 *
 * Ownership: the writer lives in the caller's memory, owns its nodes, and borrows what the sink's
 * arg points to.
 */
#ifndef WEIR_STORE_FILE_WRITER_H
#define WEIR_STORE_FILE_WRITER_H

#include <weir/defs.h>

#include "chunk_io.h"
#include "manifest.h"

struct weir__file_writer {
    struct weir__chunk_sink _sink;
    struct weir__manifest_node *_nodes[WEIR__MANIFEST_LEVELS]; /* open ones, by level, or NULL */
    unsigned char *_bytes;
    uint64_t _length;
    uint64_t _hole; /* at the end, not yet an entry: more of it may follow */
    int _error;     /* the first, which everything returns from then on */
};

/* Allocates nothing. */
void weir__file_writer_init(struct weir__file_writer *writer, const struct weir__chunk_sink *sink);
/* Accepts NULL and one that is all zero. */
void weir__file_writer_fini(struct weir__file_writer *writer);

/* What comes next in the file. A hole of length 0 is nothing, holes in a row are one. Invalid for a
 * chunk of 0 or more than 1 MiB bytes, TooLarge above 2^63 - 1 bytes in all, NoMemory, or what the
 * sink said. */
WEIR_MUST_USE int weir__file_writer_add_chunk(struct weir__file_writer *writer,
                                              const struct weir__address *address, size_t length);
WEIR_MUST_USE int weir__file_writer_add_hole(struct weir__file_writer *writer, uint64_t length);

/* Puts what is left; the address of the root names the file. A file without bytes has one, too.
 * Then the next file may begin; after an error weir__file_writer_reset() comes first. */
WEIR_MUST_USE int weir__file_writer_finish(struct weir__file_writer *writer,
                                           struct weir__address *ret_root);
/* Forgets the file. The memory is kept. */
void weir__file_writer_reset(struct weir__file_writer *writer);

/* Bytes of the file so far. */
uint64_t weir__file_writer_length(const struct weir__file_writer *writer);

#endif
