/* pack_delta.h - deltas of packs: an object as copies from another one and bytes of its own.
 *
 *     struct weir__git_delta delta;
 *     weir__git_delta_init(&delta, bytes, length)            base_length, result_length
 *     while ((more = weir__git_delta_next(&delta, &step)) > 0)
 *         step.is_copy: step.length bytes of the base at step.from; else step.length bytes at
 * step.bytes
 *
 * Promises: every step is checked: no copy reaches beyond base_length, the sum of all steps never
 * exceeds result_length, and the end is reached (0) only when it is exactly that and no byte of the
 * delta is left; everything else is Corrupt. Nothing here takes memory or waits.
 *
 * Ownership: a delta borrows its bytes.
 */
#ifndef WEIR_SCAN_GIT_PACK_DELTA_H
#define WEIR_SCAN_GIT_PACK_DELTA_H

#include <weir/defs.h>

struct weir__git_delta {
    const uint8_t *_at;
    const uint8_t *_end;
    uint64_t base_length;
    uint64_t result_length;
    uint64_t made; /* of the result, by the steps so far */
};

struct weir__git_delta_step {
    bool is_copy;
    uint64_t from;        /* in the base */
    const uint8_t *bytes; /* in the delta */
    size_t length;        /* above 0 */
};

WEIR_MUST_USE int weir__git_delta_init(struct weir__git_delta *delta, const void *bytes,
                                       size_t length);

/* 1 and the next step, 0 at the end, or Corrupt. */
WEIR_MUST_USE int weir__git_delta_next(struct weir__git_delta *delta,
                                       struct weir__git_delta_step *ret_step);

/* All of it at once, into result_length bytes at result; base must have base_length bytes. The two
 * do not overlap. Corrupt: then what is in result is of no use. */
WEIR_MUST_USE int weir__git_delta_apply(const struct weir__git_delta *delta, const void *base,
                                        void *result);

#endif
