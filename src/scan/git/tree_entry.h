/* tree_entry.h - the entries of a tree, one after the other, where they lie.
 *
 *     weir__git_tree_init(&tree, bytes, length, id_size);
 *     while ((result = weir__git_tree_next(&tree, &entry, why)) > 0) ...
 *
 * Promises: nothing outside the bytes is read; time is linear. What cannot be told apart any more
 * (a mode that is no number, a name without end, an id cut short) is Corrupt, names the entry and
 * the byte, and ends the tree; the entries before it are good. Whatever else is wrong with a tree
 * (names with a slash, "..", twice the same, in the wrong order, of a megabyte) is not our
 * business: they are given as they are, since what they lead to may hold a secret all the same.
 *
 * Ownership: entries borrow the bytes, which must stay as they are while they are used.
 */
#ifndef WEIR_SCAN_GIT_TREE_ENTRY_H
#define WEIR_SCAN_GIT_TREE_ENTRY_H

#include "commit.h"

struct weir__git_tree_entry {
    uint32_t mode; /* as git writes it, in octal: 40000, 100644, 120000, 160000, ... */
    const char *name;
    size_t name_length;
    struct weir__git_id id;
};

struct weir__git_tree {
    const char *_bytes;
    size_t _length, _at, _id_size;
    uint64_t _number; /* of the entry, from 1 */
};

void weir__git_tree_init(struct weir__git_tree *tree, const char *bytes, size_t length,
                         size_t id_size);

/* 1, 0 at the end, Corrupt and why. */
WEIR_MUST_USE int weir__git_tree_next(struct weir__git_tree *tree,
                                      struct weir__git_tree_entry *ret_entry,
                                      char why[WEIR__GIT_FLAW_MAX]);

/* Passes over so many bytes, which are that many entries. */
void weir__git_tree_skip(struct weir__git_tree *tree, size_t length, uint64_t entries);

#define WEIR__GIT_MODE_KIND      0170000u
#define WEIR__GIT_MODE_TREE      0040000u
#define WEIR__GIT_MODE_SYMLINK   0120000u
#define WEIR__GIT_MODE_SUBMODULE 0160000u

static inline bool weir__git_mode_is_tree(uint32_t mode)
{
    return (mode & WEIR__GIT_MODE_KIND) == WEIR__GIT_MODE_TREE;
}

/* Its id is that of a commit elsewhere. */
static inline bool weir__git_mode_is_submodule(uint32_t mode)
{
    return (mode & WEIR__GIT_MODE_KIND) == WEIR__GIT_MODE_SUBMODULE;
}

#endif
