/* chunker.h - cuts a stream of bytes into chunks, by content or by count.
 *
 * By content (FastCDC): a chunk may end where the rolling hash of the last 64 bytes is small, so
 * that a byte put in at the front moves the cuts along with the content and most chunks stay what
 * they were. Chunks have 16 to 256 KiB, 64 KiB in the mean; the last may have less. By count: all
 * have the same size but the last.
 *
 * Promises: the cuts depend on the bytes alone, not on the pieces in which they come, the machine
 * or the build; the rule (docs/chunking.md) is part of the format. The chunks one behind the other
 * are the input. None is empty, and none is larger than weir__chunker_max() or 1 MiB.
 *
 * Memory: one buffer of the largest size of a chunk. A chunk that lies in one piece as a whole is
 * handed out from there, without a copy.
 *
 * Not for two threads at once. Waits for nothing itself.
 *
 * Ownership: the chunker lives in the caller's memory and owns its buffer; the bytes that take() is
 * called with are valid until it returns.
 */
#ifndef WEIR_STORE_CHUNKER_H
#define WEIR_STORE_CHUNKER_H

#include <weir/defs.h>

/* No chunk is ever larger, whatever made it. */
#define WEIR__CHUNK_MAX         (1u << 20)

#define WEIR__CUT_MIN           (16u << 10)
#define WEIR__CUT_MAX           (256u << 10)

#define WEIR__CHUNKER_FIXED_MIN (16u << 10)

/* 0, or an error that ends the stream. */
typedef int weir__chunk_take(void *arg, const void *bytes, size_t length);

struct weir__chunker {
    unsigned char *_buffer;
    size_t _fixed;    /* size of every chunk; 0: by content */
    size_t _max;      /* size of the buffer */
    size_t _buffered; /* bytes of the chunk that is under way */
    size_t _scanned;  /* no chunk of this or less length ends in the buffer */
};

/* fixed_size 0 is by content, else 16 KiB to 1 MiB. Invalid, or NoMemory. */
WEIR_MUST_USE int weir__chunker_init(struct weir__chunker *chunker, size_t fixed_size);
/* Accepts NULL and one that is all zero, and drops what was not handed out. */
void weir__chunker_fini(struct weir__chunker *chunker);

/* More of the stream; calls take() for each chunk that is whole. 0, or what take() returned; then
 * the stream is broken, and only weir__chunker_reset() and weir__chunker_fini() are left. */
WEIR_MUST_USE int weir__chunker_feed(struct weir__chunker *chunker, const void *bytes,
                                     size_t length, weir__chunk_take *take, void *arg);
/* The end of the stream: hands out what is left. After success the next stream may begin. */
WEIR_MUST_USE int weir__chunker_finish(struct weir__chunker *chunker, weir__chunk_take *take,
                                       void *arg);
/* Forgets the stream. */
void weir__chunker_reset(struct weir__chunker *chunker);

/* The largest chunk that can come. */
size_t weir__chunker_max(const struct weir__chunker *chunker);

/* The rule itself: how many of these bytes are their first chunk, by content. 0: that is not known
 * before there are more. With WEIR__CUT_MAX bytes it is always known. Lengths up to `from` were
 * asked about already. */
size_t weir__chunker_cut(const unsigned char *bytes, size_t length, size_t from);

#endif
