/* coding.h - bodies that came packed (Content-Encoding), unpacked as a whole into memory.
 *
 * Promises
 * - identity, gzip (x-gzip) and zstd. Any other coding, and several at once, are Unsupported, and
 *   so is a frame of zstd that needs a dictionary.
 * - What is unpacked is never more than the caller's limit, and never more than WEIR__CODING_RATIO
 *   times what came: beyond that it is TooLarge, as soon as it is known. Memory for it is taken
 *   once, and is the smaller of the two.
 * - All of the body is used. What is cut, damaged, or has something behind its end is Invalid: who
 *   sent it is to send it again, rightly. Several members of gzip or frames of zstd, one behind
 *   the other, are one body, as gzip and zstd have it; frames of zstd that are to be skipped are.
 * - The window that a frame of zstd asks for costs nothing: it is unpacked in one pass, with the
 *   result for its window. Formats of zstd from before its first version are not read.
 *
 * A decoder keeps what the libraries need (gzip 12 KiB, zstd 94 KiB) from its first use until its
 * end: one for each thread that unpacks. Both are linked statically, so nothing is loaded.
 *
 * Limits: as above. Linear time in what came and what is unpacked; nothing waits.
 *
 * Ownership: a decoder lives in the caller's memory and is used by one thread at a time; what is
 * unpacked belongs to the caller's buffer.
 */
#ifndef WEIR_HTTP_CODING_H
#define WEIR_HTTP_CODING_H

#include "buffer.h"

#define WEIR__CODING_RATIO       10u
#define WEIR__CODING_MAX_DEFAULT (1u << 20)

enum weir__coding { WEIR__CODING_IDENTITY, WEIR__CODING_GZIP, WEIR__CODING_ZSTD };

/* What a field Content-Encoding says; text NULL: there is none, which is identity. 0 or
 * Unsupported. */
WEIR_MUST_USE int weir__coding_parse(enum weir__coding *ret_coding, const char *text,
                                     size_t length);

struct weir__decoder {
    void *_gzip;
    void *_zstd;
};

/* Takes no memory yet. The end accepts NULL and one that is all zero. */
void weir__decoder_init(struct weir__decoder *decoder);
void weir__decoder_fini(struct weir__decoder *decoder);

/* Unpacks the body in place of what the buffer had, up to the buffer's maximum. 0, TooLarge,
 * Invalid, Unsupported or NoMemory; then the buffer is as it was. */
WEIR_MUST_USE int weir__unpack(struct weir__decoder *decoder, enum weir__coding coding,
                               const void *body, size_t length, struct weir__buffer *buffer);

#endif
