/* lineage.h - which trees lead to some blobs, without reading any tree a second time.
 *
 * While packs are walked each tree is seen once, with the one that it was made from. What is noted
 * of it is what the delta says: the entries that are new, and which of the base's it keeps. That is
 * little, since a tree differs from its base in one or two entries. When the walk is over and it is
 * known which blobs are wanted, weir__git_lineage_find() follows them: from an entry to the trees
 * that inherit it, and from a tree to the entries that name it.
 *
 *     weir__git_lineage_note(lineage, ...)                 for each tree, under the caller's lock
 *     weir__git_lineage_find(lineage, &wanted, stop)       once
 *     weir__git_lineage_entries(lineage, &id, &cursor)     what leads on from a tree
 *
 * What is promised: of a tree that was noted, all entries are given that lead to a wanted blob or
 * to a tree that was not noted, whatever that has; each as it stands in the tree, and perhaps
 * others. Trees that were not noted have to be read.
 *
 * Limits: bytes_max for everything; WEIR__GIT_LINEAGE_LEVELS trees in one another, and
 * WEIR__GIT_LINEAGE_STEPS steps. Beyond one of them, or without memory, it gives up: nothing is
 * kept, and it is as if no tree had been noted.
 *
 * Threads: none; whoever notes holds a lock. After the find it is only read.
 *
 * Ownership: the lineage owns its memory; init and fini on the caller's struct. Entries point into
 * it.
 */
#ifndef WEIR_SCAN_GIT_LINEAGE_H
#define WEIR_SCAN_GIT_LINEAGE_H

#include <weir/deadline.h>

#include "commit_set.h"
#include "tree_split.h"

#define WEIR__GIT_LINEAGE_LEVELS 256u
#define WEIR__GIT_LINEAGE_STEPS  (UINT64_C(1) << 27)

/* A new entry of a tree. */
struct weir__git_lineage_new {
    const char *name;
    uint32_t name_length;
    uint32_t at, length; /* the entry in the tree's bytes */
    bool is_tree;
    struct weir__git_id id;
};

struct weir__git_lineage_entry;
struct weir__git_lineage_link;

struct weir__git_lineage {
    size_t _id_size;
    uint64_t _bytes_max;
    bool _has_given_up;
    struct weir__git_set _trees;
    struct weir__git_tree_part *_parts;
    size_t _parts_count, _parts_room;
    struct weir__git_lineage_entry *_entries;
    size_t _entries_count, _entries_room;
    uint8_t *_ids; /* of the entries */
    size_t _ids_room;
    char *_names;
    size_t _names_length, _names_room;
    /* What was found: for each tree a list of entries that lead on. */
    uint32_t *_heads;
    struct weir__git_lineage_link *_links;
    size_t _links_count, _links_room;
};

void weir__git_lineage_init(struct weir__git_lineage *lineage, size_t id_size, uint64_t bytes_max);
void weir__git_lineage_fini(struct weir__git_lineage *lineage);

/* Returns the number of the tree. base: that of the one that the parts are from, or
 * WEIR__GIT_SET_NONE, with no parts. A tree that is there already is not noted again. */
uint32_t weir__git_lineage_note(struct weir__git_lineage *lineage, const struct weir__git_id *id,
                                uint32_t base, const struct weir__git_tree_part *parts,
                                size_t parts_count, const struct weir__git_lineage_new *entries,
                                size_t entries_count);

/* wanted: blobs. stop may be NULL: Canceled. */
WEIR_MUST_USE int weir__git_lineage_find(struct weir__git_lineage *lineage,
                                         const struct weir__git_set *wanted,
                                         struct weir_cancel *stop);

/* False: the tree was not noted. Otherwise the cursor is before the first entry that leads on. */
bool weir__git_lineage_entries(const struct weir__git_lineage *lineage,
                               const struct weir__git_id *id, uint32_t *ret_cursor);
bool weir__git_lineage_next(const struct weir__git_lineage *lineage, uint32_t *cursor,
                            struct weir__git_tree_entry *ret_entry);

/* Of what is kept. */
uint64_t weir__git_lineage_bytes(const struct weir__git_lineage *lineage);
/* As if nothing had been noted. */
void weir__git_lineage_give_up(struct weir__git_lineage *lineage);

#endif
