/* stream_out.h - a manifest becomes a file again, or a range of one, in a descriptor.
 *
 * Each chunk is checked against its address and its length before a byte of it is written. In a
 * regular file holes are left out: what lies behind the end of the file is not written, what is
 * before it is punched or, where that cannot be, overwritten with zeros. Elsewhere, and in a file
 * opened with O_APPEND, holes are written as zeros.
 *
 * Promises: writing begins at the descriptor's position and leaves it behind the last byte. On an
 * error what was written so far is right, and a regular file may be longer or shorter than it.
 *
 * Memory: 1 MiB for a chunk and what the reader of the manifest needs: 2 to 3 MiB in all, whatever
 * the size of the file.
 *
 * Waits for the descriptor and as the source does.
 *
 * Ownership: borrows the descriptor and what the source's arg points to; keeps nothing.
 */
#ifndef WEIR_STORE_STREAM_OUT_H
#define WEIR_STORE_STREAM_OUT_H

#include <weir/deadline.h>
#include <weir/defs.h>

#include "chunk_io.h"

/* To the end of the file. */
#define WEIR__STREAM_ALL UINT64_MAX

struct weir__stream_range {
    uint64_t offset;
    uint64_t length;
};

/* 0; Range when the file has not all of these bytes; Corrupt for a manifest or a chunk that is not
 * what it should be, Invalid and Unsupported as weir__file_reader_open() has them; NoMemory; what
 * the source or the system said; Timeout or Canceled. range may be NULL: the whole file. The
 * deadline is looked at between chunks, and each tenth of a second while a pipe takes nothing;
 * without one (NULL), what would have to be waited for is Invalid. */
WEIR_MUST_USE int weir__stream_out(const struct weir__chunk_source *source,
                                   const struct weir__address *root,
                                   const struct weir__stream_range *range, int fd,
                                   const struct weir_deadline *deadline);

#endif
