/* condition.h - If-Match, If-None-Match and If-Range: whether an answer is wanted at all.
 *
 * Promises (RFC 9110, section 13)
 * - If-Match compares strongly, If-None-Match weakly, If-Range strongly; If-Match goes first. "*"
 *   is any that there is.
 * - What is not well formed never lets a write through and never keeps an answer from a reader: an
 *   If-Match of that kind fails, an If-None-Match fails a write and is ignored for a reader, and
 *   with such an If-Range the whole is sent.
 * - If-Modified-Since and If-Unmodified-Since are not looked at: what has the hash of its bytes for
 *   its address has no date, no answer has a Last-Modified, and the RFC has both ignored then. For
 *   the same reason an If-Range with a date never holds.
 *
 * A field that came several times is one, with ", " between: the caller puts them together.
 *
 * Limits: those of the head of a request; linear time. Nothing allocates, waits or fails.
 *
 * Ownership: texts are the caller's, and nothing is kept.
 */
#ifndef WEIR_HTTP_CONDITION_H
#define WEIR_HTTP_CONDITION_H

#include <weir/defs.h>

/* A field as it came; text NULL: it did not. */
struct weir__field {
    const char *text;
    size_t length;
};

struct weir__conditions {
    struct weir__field if_match;
    struct weir__field if_none_match;
};

enum weir__condition {
    WEIR__CONDITION_PROCEED,
    WEIR__CONDITION_NOT_MODIFIED, /* 304 */
    WEIR__CONDITION_FAILED        /* 412 */
};

/* is_read: GET or HEAD. etag: that of what is there, with its quotes and its W/ if it is weak;
 * NULL: nothing is. */
enum weir__condition weir__condition_check(const struct weir__conditions *conditions, bool is_read,
                                           const char *etag);

/* Whether the Range beside this field counts; without the field it does. */
bool weir__condition_if_range(const struct weir__field *if_range, const char *etag);

#endif
