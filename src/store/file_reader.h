/* file_reader.h - what a file is made of, from its manifest: any range, chunk by chunk.
 *
 *     weir__file_reader_open(&reader, &source, &root)
 *     weir__file_reader_seek(&reader, offset, length)
 *     while ((result = weir__file_reader_next(&reader, &span)) > 0) ...
 *
 * Nodes are got when they are needed, checked against their address, and against what the node
 * above says of them: level, bytes covered, and that all but the last of a level are full. Nothing
 * is believed of a source but that what it gives has the right hash.
 *
 * Cost: a seek asks for one node for each level at most, and those that are still held from before
 * are not asked for again; a span, for one in 4,096. However a manifest was made, n spans cost no
 * more than n / 4,096 nodes and two for each level, and each span has at least one byte: a
 * small manifest that claims to be large costs only what is read of it.
 *
 * Memory: one node for each level of the file, 200 KiB each and 6 at most, and 256 KiB.
 *
 * Not for two threads at once. Waits as the source does.
 *
 * Ownership: the reader lives in the caller's memory, owns its nodes, and borrows what the source's
 * arg points to.
 */
#ifndef WEIR_STORE_FILE_READER_H
#define WEIR_STORE_FILE_READER_H

#include <weir/defs.h>

#include "chunk_io.h"
#include "manifest.h"

struct weir__file_reader {
    struct weir__chunk_source _source;
    struct weir__manifest_node *_nodes[WEIR__MANIFEST_LEVELS]; /* by level; NULL: never needed */
    struct weir__address _held[WEIR__MANIFEST_LEVELS];         /* of the nodes, if there is any */
    unsigned char *_bytes;
    unsigned _root_level;
    uint64_t _length;
    uint64_t _at;       /* the next byte to give */
    uint64_t _end;      /* behind the last */
    uint64_t _hole_end; /* of the hole that was given last, or 0 */
};

/* A part of the range that lies in one chunk or hole. */
struct weir__file_span {
    uint64_t offset; /* in the file */
    uint64_t length; /* at least 1 */
    bool is_hole;
    struct weir__address address; /* of the chunk */
    size_t chunk_length;          /* all of the chunk */
    size_t skip;                  /* bytes of it before the part */
};

/* Gets the root. The range is the whole file. Invalid: what is there is no manifest. Unsupported:
 * of another version or kind. Corrupt; NoMemory; or what the source said. After a failure nothing
 * is held. */
WEIR_MUST_USE int weir__file_reader_open(struct weir__file_reader *reader,
                                         const struct weir__chunk_source *source,
                                         const struct weir__address *root);
/* Accepts NULL and one that is all zero. */
void weir__file_reader_close(struct weir__file_reader *reader);

uint64_t weir__file_reader_length(const struct weir__file_reader *reader);

/* From here on it is about these bytes. Range when they are not all in the file. Gets nothing. */
WEIR_MUST_USE int weir__file_reader_seek(struct weir__file_reader *reader, uint64_t offset,
                                         uint64_t length);

/* 1 and the next part, 0 at the end, or an error: Corrupt, NoMemory, or what the source said. After
 * an error it may be tried again. */
WEIR_MUST_USE int weir__file_reader_next(struct weir__file_reader *reader,
                                         struct weir__file_span *ret_span);

#endif
