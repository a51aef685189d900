/* lineage_part.h - what the files of the lineage share; nobody else includes this.
 *
 * Ownership: everything belongs to the lineage.
 */
#ifndef WEIR_SCAN_GIT_LINEAGE_PART_H
#define WEIR_SCAN_GIT_LINEAGE_PART_H

#include "lineage.h"

/* Beside the id of a tree. What is its own ends where that of the next tree begins. */
struct weir__git_lineage_tree {
    uint32_t base; /* or WEIR__GIT_SET_NONE */
    uint32_t parts, entries;
};

struct weir__git_lineage_entry {
    uint32_t at, length;
    uint32_t name;
    uint32_t name_length : 31;
    uint32_t is_tree : 1;
};

struct weir__git_lineage_link {
    uint32_t entry, next; /* the number of the next one + 1 */
};

const struct weir__git_lineage_tree *weir__lineage_tree(const struct weir__git_lineage *lineage,
                                                        uint32_t number);
/* Where those of the tree end. */
size_t weir__lineage_parts_end(const struct weir__git_lineage *lineage, uint32_t number);
size_t weir__lineage_entries_end(const struct weir__git_lineage *lineage, uint32_t number);
struct weir__git_id weir__lineage_id(const struct weir__git_lineage *lineage, size_t entry);

/* Room for `more` of size bytes; arrays double. False: more than may be taken, or no memory. */
bool weir__lineage_room(struct weir__git_lineage *lineage, void **array, size_t *room, size_t count,
                        size_t more, size_t size);

#endif
