/* wanted_part.h - what the files of the wanted share; nobody else includes this.
 *
 *   wanted.c       life, limits, what is staged
 *   wanted_refs.c  patterns, starts, tags
 *   wanted_tree.c  blobs of trees
 *
 * Ownership: nothing here owns anything.
 */
#ifndef WEIR_SCAN_GIT_WANTED_PART_H
#define WEIR_SCAN_GIT_WANTED_PART_H

#include "wanted.h"

/* Says it to whoever listens, and counts it. */
__attribute__((cold, format(printf, 2, 3))) void
weir__git_wanted_tell(struct weir__git_wanted *wanted, const char *format, ...);

/* Adds to one of the sets within the limit of all: 1 when it is new, 0, TooLarge, NoMemory. */
WEIR_MUST_USE int weir__git_wanted_put(struct weir__git_wanted *wanted, struct weir__git_set *set,
                                       const struct weir__git_id *id, uint32_t *ret_number);

/* 0, TooLarge, NoMemory. */
WEIR_MUST_USE int weir__git_wanted_add(struct weir__git_wanted *wanted,
                                       const struct weir__git_id *id, enum weir__git_type type);

/* Room for one more in an array, within the limit. */
WEIR_MUST_USE int weir__git_wanted_room(struct weir__git_wanted *wanted, void **array, size_t *room,
                                        size_t count, size_t size);

/* wanted_refs.c: before the walk, and after it. */
WEIR_MUST_USE int weir__git_wanted_starts(struct weir__git_wanted *wanted,
                                          char why[WEIR__GIT_FLAW_MAX]);
WEIR_MUST_USE int weir__git_wanted_tags(struct weir__git_wanted *wanted);

/* wanted_tree.c: all of a tree, later; and those of the commits, now. */
WEIR_MUST_USE int weir__git_wanted_take(struct weir__git_wanted *wanted,
                                        const struct weir__git_id *tree);
WEIR_MUST_USE int weir__git_wanted_trees(struct weir__git_wanted *wanted);

/* An error that ends everything, not only one object. */
static inline bool weir__git_wanted_is_fatal(int error)
{
    return error == -WEIR_E_NO_MEMORY || error == -WEIR_E_CANCELED;
}

#endif
