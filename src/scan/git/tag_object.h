/* tag_object.h - the bytes of an annotated tag, and what a chain of tags leads to.
 *
 * Promises: nothing outside the bytes is read; a chain of tags ends after WEIR__GIT_TAG_DEPTH_MAX
 * of them, so that one that bites its own tail is an error and not a loop.
 *
 * Ownership: a parsed tag borrows the bytes, which must stay as they are while it is used.
 */
#ifndef WEIR_SCAN_GIT_TAG_OBJECT_H
#define WEIR_SCAN_GIT_TAG_OBJECT_H

#include "commit.h"

#define WEIR__GIT_TAG_DEPTH_MAX 64u

struct weir__git_tag {
    const char *bytes;
    size_t length;
    struct weir__git_id target;
    enum weir__git_type target_type;
    struct weir__git_range name;
    struct weir__git_person tagger; /* very old tags have none */
    struct weir__git_range message; /* with its signature, if it has one */
};

/* Corrupt, and why. */
WEIR_MUST_USE int weir__git_tag_parse(struct weir__git_tag *ret_tag, const char *bytes,
                                      size_t length, size_t id_size, char why[WEIR__GIT_FLAW_MAX]);

/* What the id leads to through any number of tags; the buffer has its bytes then. What get failed
 * with, Corrupt for a tag that cannot be read, TooLarge for too long a chain; and why. */
WEIR_MUST_USE int weir__git_peel(weir__git_get_fn *get, void *arg, size_t id_size,
                                 const struct weir__git_id *id, struct weir__git_id *ret_id,
                                 enum weir__git_type *ret_type, struct weir__buffer *bytes,
                                 char why[WEIR__GIT_FLAW_MAX]);

#endif
