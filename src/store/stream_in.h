/* stream_in.h - a file becomes chunks and a manifest: bytes in, the address of the root out.
 *
 *     weir__stream_in_init(&stream, &options, &sink)
 *     weir__stream_in_fd(&stream, fd, &deadline)        or _bytes() and _hole(), any number of
 * times weir__stream_in_finish(&stream, &root, &length)
 *
 * Holes of regular files are found by SEEK_DATA and SEEK_HOLE and become holes of the manifest if
 * they have 16 KiB or more; a smaller one is read as the zeros that it stands for, since it would
 * cut a chunk in two for less than an entry saves. Where the file system does not tell, all is
 * data. Zeros that are written out are data, too, unless the options say otherwise. A chunk
 * ends where a hole begins.
 *
 * A file that is written to meanwhile gives what was there when each part was read.
 *
 * Memory: 1 MiB to read into, the largest size of a chunk, and what the manifest's writer needs: 2
 * to 3 MiB in all, whatever the size of the file. A hole costs an entry, not its bytes.
 *
 * Not for two threads at once. Waits for the descriptor and as the sink does.
 *
 * Ownership: the stream lives in the caller's memory and borrows the descriptor and what the sink's
 * arg points to.
 */
#ifndef WEIR_STORE_STREAM_IN_H
#define WEIR_STORE_STREAM_IN_H

#include <weir/deadline.h>
#include <weir/defs.h>

#include "chunk_io.h"
#include "chunker.h"
#include "file_writer.h"

#define WEIR__HOLE_MIN (16u << 10)

struct weir__stream_in_options {
    size_t fixed_size;      /* of chunks, 16 KiB to 1 MiB; 0: cut by content */
    bool makes_zeros_holes; /* chunks of the largest size that are all zero become holes */
};

struct weir__stream_in {
    struct weir__stream_in_options _options;
    struct weir__chunk_sink _sink;
    struct weir__chunker _chunker;
    struct weir__file_writer _writer;
    unsigned char *_block; /* what is read, made with the first read */
    uint64_t _fed;
    int _error; /* the first, which everything returns from then on */
};

/* Invalid for a size that cannot be, or NoMemory. */
WEIR_MUST_USE int weir__stream_in_init(struct weir__stream_in *stream,
                                       const struct weir__stream_in_options *options,
                                       const struct weir__chunk_sink *sink);
/* Accepts NULL and one that is all zero. */
void weir__stream_in_fini(struct weir__stream_in *stream);

/* What comes next in the file. 0, TooLarge above 2^63 - 1 bytes, NoMemory, or what the sink said.
 */
WEIR_MUST_USE int weir__stream_in_bytes(struct weir__stream_in *stream, const void *bytes,
                                        size_t length);
WEIR_MUST_USE int weir__stream_in_hole(struct weir__stream_in *stream, uint64_t length);

/* Everything from the descriptor's position to its end. Where that position is then, is not said.
 * Also what the system said, and Timeout or Canceled; the deadline is looked at after each MiB, and
 * each tenth of a second while there is nothing to read. Without a deadline (NULL), what would have
 * to be waited for is Invalid. */
WEIR_MUST_USE int weir__stream_in_fd(struct weir__stream_in *stream, int fd,
                                     const struct weir_deadline *deadline);

/* The end of the file: its root, and its length. Then the next file may begin. */
WEIR_MUST_USE int weir__stream_in_finish(struct weir__stream_in *stream,
                                         struct weir__address *ret_root, uint64_t *ret_length);
/* Forgets the file, also after an error. */
void weir__stream_in_reset(struct weir__stream_in *stream);

#endif
