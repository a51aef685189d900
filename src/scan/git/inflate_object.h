/* inflate_object.h - zlib streams of known length: libdeflate for whole objects, zlib for their
 * first bytes and for those that are too large to be held.
 *
 * Promises: the result has exactly the length that was asked for, and its checksum is right, or it
 * is Corrupt. Reading beyond the input and writing beyond the output cannot happen. Inflating a
 * whole object takes no memory and may be left in the middle (mapped.h); the inflater is as good as
 * new with the next call. Inflating by pieces takes memory, and so must not.
 *
 * Ownership: an inflater belongs to one thread at a time; input and output stay the caller's.
 */
#ifndef WEIR_SCAN_GIT_INFLATE_OBJECT_H
#define WEIR_SCAN_GIT_INFLATE_OBJECT_H

#include <weir/defs.h>

struct weir__git_inflater {
    void *_whole;  /* libdeflate's */
    void *_stream; /* zlib's; made when it is first needed */
};

WEIR_MUST_USE int weir__git_inflater_init(struct weir__git_inflater *inflater);
void weir__git_inflater_fini(struct weir__git_inflater *inflater);

/* The most bytes that a stream of so many can inflate to; what claims more lies. */
uint64_t weir__git_inflate_max(uint64_t packed);

/* All of a stream that begins at `in`: exactly out_length bytes. What stands behind it in `in` does
 * not matter. Corrupt. */
WEIR_MUST_USE int weir__git_inflate(const struct weir__git_inflater *inflater, const void *in,
                                    size_t in_length, void *out, size_t out_length);

/* The same where the length is not known: at most room bytes. TooLarge when it is more than that.
 */
WEIR_MUST_USE int weir__git_inflate_upto(const struct weir__git_inflater *inflater, const void *in,
                                         size_t in_length, void *out, size_t room,
                                         size_t *ret_length);

/* --- a piece at a time --- */

/* Begins a stream. NoMemory, with the first one only. */
WEIR_MUST_USE int weir__git_inflate_begin(struct weir__git_inflater *inflater);

/* Takes from `in` and fills `out`; ret_used and ret_made say how much of each. Returns 1 when the
 * stream has ended and its checksum was right, 0 when it goes on: with more input when all was
 * used, with more room when all was filled. Corrupt. */
WEIR_MUST_USE int weir__git_inflate_more(struct weir__git_inflater *inflater, const void *in,
                                         size_t in_length, size_t *ret_used, void *out,
                                         size_t out_length, size_t *ret_made);

#endif
