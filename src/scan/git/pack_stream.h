/* pack_stream.h - what is packed at an entry of a pack, a piece at a time: for what is too large to
 * be inflated at once.
 *
 *     weir__git_stream_begin(&stream, &pack, &inflater, &entry)
 *     while ((more = weir__git_stream_next(&stream, &bytes, &length)) > 0)
 *         ...
 *
 * Promises: no more than entry.size bytes come, and the end (0) comes only after exactly so many,
 * with the checksum right.
 *
 * Memory: two windows, in the struct.
 *
 * Ownership: pack and inflater are borrowed, the latter for one stream at a time; the bytes of a
 * piece are the stream's, and valid until the next one is asked for.
 */
#ifndef WEIR_SCAN_GIT_PACK_STREAM_H
#define WEIR_SCAN_GIT_PACK_STREAM_H

#include "pack.h"

#define WEIR__GIT_STREAM_PIECE 65536u

struct weir__git_stream {
    const struct weir__git_pack *_pack;
    struct weir__git_inflater *_inflater;
    uint64_t _at;   /* in the pack */
    uint64_t _left; /* that is still to come */
    size_t _in_at, _in_length;
    bool _is_over;
    uint8_t _in[WEIR__GIT_STREAM_PIECE], _out[WEIR__GIT_STREAM_PIECE];
};

/* NoMemory; Corrupt when the entry claims more than it can have. */
WEIR_MUST_USE int weir__git_stream_begin(struct weir__git_stream *stream,
                                         const struct weir__git_pack *pack,
                                         struct weir__git_inflater *inflater,
                                         const struct weir__git_entry *entry);

/* 1 and a piece that is not empty, 0 at the end, Corrupt, Io, NoMemory. */
WEIR_MUST_USE int weir__git_stream_next(struct weir__git_stream *stream, const uint8_t **ret_bytes,
                                        size_t *ret_length);

#endif
