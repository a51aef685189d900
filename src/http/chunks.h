/* chunks.h - a body that comes in chunks (Transfer-Encoding: chunked), taken apart.
 *
 * Strict: sizes are 1 to 8 hexadecimal digits, every line ends with CR LF, extensions and trailers
 * are passed over and may have no control characters. llhttp has a reader of chunks, too, but does
 * not bound what it passes over.
 *
 * Promises: the outcome does not depend on how the bytes were cut. What is not body is bounded by
 * WEIR__CHUNKS_EXTRA for extensions of all chunks, and as much for trailers.
 *
 * Ownership: it owns nothing.
 */
#ifndef WEIR_HTTP_CHUNKS_H
#define WEIR_HTTP_CHUNKS_H

#include <weir/defs.h>

#define WEIR__CHUNKS_EXTRA    (16u << 10)
#define WEIR__CHUNKS_TRAILERS 64u

struct weir__chunks {
    uint8_t state;
    uint8_t digits;
    uint32_t left;     /* of this chunk */
    uint32_t extra;    /* bytes that were passed over */
    uint32_t trailers; /* lines */
    const char *why;   /* it was refused */
};

/* Reads from *at to end, which may change *at: up to a run of body, which is returned with its
 * length, or to the end of what there is. 1: the body is whole, and *at behind it. 0: a run, or
 * none when more is needed (its length is 0). Negative: refused. A run is at most max bytes long.
 */
WEIR_MUST_USE int weir__chunks_next(struct weir__chunks *chunks, const char **at, const char *end,
                                    size_t max, const char **ret_run, size_t *ret_length);

#endif
