/* tree_split.h - what of a tree is copied from its base, entry by entry, and what is new.
 *
 * A pack has most trees as deltas of others. The copies of a delta know nothing of entries: they
 * begin and end anywhere. A part is what they have of whole entries that are entries of the base,
 * too: same bytes, and the base was read at the same places. All other entries are new.
 *
 *     weir__git_split_begin(&split, bytes, length, id_size, base, copies, count, own)
 *     while ((result = weir__git_split_next(&split, &entry, &at, why)) > 0)
 *         a new entry
 *
 * Afterwards own says where the entries of this tree begin, for trees that are made from it, and
 * split.parts what was copied.
 *
 * Limits: a tree of WEIR__GIT_SPLIT_MAX bytes; the caller looks.
 *
 * Ownership: a split owns its parts and keeps the memory from tree to tree; starts belong to the
 * caller. Entries point into the bytes.
 */
#ifndef WEIR_SCAN_GIT_TREE_SPLIT_H
#define WEIR_SCAN_GIT_TREE_SPLIT_H

#include "tree_entry.h"

#define WEIR__GIT_SPLIT_MAX (1u << 28)

/* Where the entries of a tree begin; at[count] is where the last one ends. */
struct weir__git_tree_starts {
    uint32_t *at;
    size_t count, room;
};
void weir__git_tree_starts_fini(struct weir__git_tree_starts *starts);

/* Bytes that were copied: from the base, to the tree. */
struct weir__git_tree_part {
    uint32_t to, from, length;
};

struct weir__git_split {
    struct weir__git_tree_part *parts; /* in the order of `to` */
    size_t parts_count, _parts_room;
    struct weir__git_tree _tree;
    const struct weir__git_tree_starts *_base;
    const struct weir__git_tree_part *_copies;
    size_t _copies_count, _next;
    struct weir__git_tree_starts *_own;
};

/* base: the starts of the tree that this one was made from by the copies, which are in the order of
 * `to`, or NULL: then all is new. */
void weir__git_split_begin(struct weir__git_split *split, const char *bytes, size_t length,
                           size_t id_size, const struct weir__git_tree_starts *base,
                           const struct weir__git_tree_part *copies, size_t copies_count,
                           struct weir__git_tree_starts *own);
/* 1: a new entry, which begins at *ret_at and ends where the next one begins; 0 at the end;
 * Corrupt and why; NoMemory. */
WEIR_MUST_USE int weir__git_split_next(struct weir__git_split *split,
                                       struct weir__git_tree_entry *ret_entry, uint32_t *ret_at,
                                       char why[WEIR__GIT_FLAW_MAX]);
/* Where the entry that was given last ends. */
uint32_t weir__git_split_end(const struct weir__git_split *split);
void weir__git_split_fini(struct weir__git_split *split);

#endif
