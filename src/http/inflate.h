/* inflate.h - bodies that are sent in gzip, unpacked piece by piece.
 *
 * libcurl could do that, but takes a body that ends in the middle of its gzip for a whole one, and
 * holds back what a paused reader does not take. Here an early end is Corrupt, and no more than one
 * block is unpacked at a time, whatever the ratio.
 *
 * Several gzip files one behind the other are one body, as gzip itself has it.
 *
 * Ownership: an inflater lives in the caller's memory; its end accepts one that is all zero.
 */
#ifndef WEIR_HTTP_INFLATE_H
#define WEIR_HTTP_INFLATE_H

#include <zlib.h>

#include <weir/defs.h>

#define WEIR__INFLATE_BLOCK (64u << 10)

struct weir__inflater {
    z_stream _stream;
    char *_block;
    bool _is_begun;  /* there is something to end */
    bool _is_inside; /* a gzip file has begun and not ended */
};

/* Loads zlib, the first time: not by two threads at once. NULL, or why not. */
const char *weir__inflate_load(void);

/* Unpacks more of the body and gives it to take(), a block at a time. 0, Corrupt, NoMemory, or what
 * take() returned that is not 0. */
WEIR_MUST_USE int weir__inflate(struct weir__inflater *inflater, const char *bytes, size_t length,
                                int (*take)(void *arg, const char *bytes, size_t length),
                                void *arg);

/* Whether a body may end here. */
bool weir__inflate_is_whole(const struct weir__inflater *inflater);
void weir__inflate_fini(struct weir__inflater *inflater);

#endif
