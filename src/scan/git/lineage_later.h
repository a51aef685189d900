/* lineage_later.h - trees that are noted in the lineage later, many at once.
 *
 * A tree is noted in less time than a lock takes that somebody waits for, and where trees lie all
 * threads are at trees. So a thread gathers its own, and notes them under the lock when it has
 * some. A tree whose base waits as well is noted behind it.
 *
 *     weir__git_later_add(&later, &tree, &place)      for each tree; false: note the others first
 *     weir__git_later_note(&later, &lineage)          under the caller's lock
 *     later.numbers[place]                            until the next one is added
 *
 * Limits: WEIR__GIT_LATER_TREES trees and WEIR__GIT_LATER_BYTES of what is known of them. One that
 * has more by itself has to be noted at once.
 *
 * Threads: one has it.
 *
 * Ownership: it owns no memory but its own, and zeros are an empty one; what is added is copied.
 */
#ifndef WEIR_SCAN_GIT_LINEAGE_LATER_H
#define WEIR_SCAN_GIT_LINEAGE_LATER_H

#include "lineage.h"

#define WEIR__GIT_LATER_TREES 64u
#define WEIR__GIT_LATER_BYTES (32u << 10)

/* What weir__git_lineage_note() is told. */
struct weir__git_later_tree {
    struct weir__git_id id;
    uint32_t base;
    bool is_base_later; /* it waits, in that place */
    const struct weir__git_tree_part *parts;
    size_t parts_count;
    const struct weir__git_lineage_new *entries;
    size_t entries_count;
};

struct weir__git_later {
    uint32_t numbers[WEIR__GIT_LATER_TREES]; /* in the lineage, of those that were noted last */
    uint32_t _count;
    size_t _used;
    struct weir__git_later_tree _trees[WEIR__GIT_LATER_TREES];
    _Alignas(16) uint8_t _bytes[WEIR__GIT_LATER_BYTES];
};

/* False: there is no room. */
WEIR_MUST_USE bool weir__git_later_add(struct weir__git_later *later,
                                       const struct weir__git_later_tree *tree,
                                       uint32_t *ret_place);
/* All of them, and none waits any more. */
void weir__git_later_note(struct weir__git_later *later, struct weir__git_lineage *lineage);

static inline bool weir__git_later_is_empty(const struct weir__git_later *later)
{
    return later->_count == 0;
}

#endif
