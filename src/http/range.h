/* range.h - which bytes of an answer somebody wants (Range), and how they are sent.
 *
 * Promises (RFC 9110, section 14)
 * - "bytes=" with ranges from-to, from- and -last, several of them behind commas. Another unit and
 *   what is not well formed are ignored, as the RFC allows: the answer is the whole. Well formed
 *   and none of it there is Range (416). Those of several that are not there are left out.
 * - Numbers may have any length; they are compared as they are written, so none wraps around.
 * - Ranges that overlap or touch become one, at the place of the first of them; the others keep
 *   the order in which they were asked for. So no byte is sent twice, however it is asked for, and
 *   the answer is never longer than the whole and 16 heads of parts.
 * - Of nothing (a size of 0) the last n bytes are the whole, which is no partial answer.
 * - The length of an answer of several parts is known before its first byte.
 *
 * Limits: WEIR__RANGES_MAX ranges, before any became one; a request for more is answered with the
 * whole. Sizes up to INT64_MAX. Linear time in the text; nothing allocates, waits or fails.
 *
 * Ownership: all memory is the caller's, and nothing is kept.
 */
#ifndef WEIR_HTTP_RANGE_H
#define WEIR_HTTP_RANGE_H

#include <weir/defs.h>

#define WEIR__RANGES_MAX          16u
#define WEIR__RANGE_TEXT_SIZE     72u  /* "bytes 1-2/3" with its NUL */
#define WEIR__RANGE_HEAD_SIZE     384u /* the head of a part with its NUL */
#define WEIR__RANGE_TYPE_MAX      128u /* bytes of a content type */
#define WEIR__RANGE_RANDOM        16u
#define WEIR__RANGE_BOUNDARY_SIZE (2 * WEIR__RANGE_RANDOM + 1)

struct weir__range {
    uint64_t first;
    uint64_t length; /* above 0 */
};

struct weir__ranges {
    size_t count; /* 0: the whole is sent, as if nothing had been asked for */
    struct weir__range items[WEIR__RANGES_MAX];
};

/* What a field Range says about size bytes. 0, or Range: none of it is there. */
WEIR_MUST_USE int weir__ranges_parse(struct weir__ranges *ret_ranges, const char *text,
                                     size_t length, uint64_t size);

/* The value of Content-Range of one range; of an answer with status 416. Return text. */
const char *weir__range_content(char text[WEIR__RANGE_TEXT_SIZE], const struct weir__range *range,
                                uint64_t size);
const char *weir__range_missed(char text[WEIR__RANGE_TEXT_SIZE], uint64_t size);

/* --- several: multipart/byteranges --- */

/* What is sent around the ranges. The type is that of the whole, without line ends, and at most
 * WEIR__RANGE_TYPE_MAX bytes long. */
struct weir__range_parts {
    const struct weir__ranges *ranges;
    uint64_t size; /* of the whole */
    const char *type;
    const char *boundary;
};

/* The text that parts the parts, of bytes that nobody can guess: what is sent does not have it. */
const char *weir__range_boundary(char boundary[WEIR__RANGE_BOUNDARY_SIZE],
                                 const unsigned char random[WEIR__RANGE_RANDOM]);

/* What stands before the bytes of range number which, and, when that is ranges->count, behind all
 * of them. Returns the length of what was written. */
size_t weir__range_head(const struct weir__range_parts *parts, size_t which,
                        char text[WEIR__RANGE_HEAD_SIZE]);

/* The length of everything: heads, bytes and end. */
uint64_t weir__range_total(const struct weir__range_parts *parts);

#endif
