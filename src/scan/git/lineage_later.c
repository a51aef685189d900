/* lineage_later.c - what is known of some trees, in one piece of memory. */
#include "lineage_later.h"

#include "banned.h"

/* Of a tree: its parts, its entries, and their names. */
static size_t bytes_of(const struct weir__git_later_tree *tree)
{
    uint64_t bytes = (uint64_t)tree->parts_count * sizeof(*tree->parts) +
                     (uint64_t)tree->entries_count * sizeof(*tree->entries) +
                     _Alignof(struct weir__git_lineage_new);
    for (size_t i = 0; i < tree->entries_count && bytes < WEIR__GIT_LATER_BYTES; i++)
        bytes += tree->entries[i].name_length;
    return (size_t)bytes;
}

static void *put(struct weir__git_later *later, const void *bytes, size_t length, size_t align)
{
    later->_used = (later->_used + align - 1) / align * align;
    uint8_t *into = later->_bytes + later->_used;
    if (length > 0)
        memcpy(into, bytes, length);
    later->_used += length;
    return into;
}

bool weir__git_later_add(struct weir__git_later *later, const struct weir__git_later_tree *tree,
                         uint32_t *ret_place)
{
    size_t align = _Alignof(struct weir__git_lineage_new);
    if (later->_count == WEIR__GIT_LATER_TREES ||
        bytes_of(tree) + align > WEIR__GIT_LATER_BYTES - later->_used)
        return false;
    struct weir__git_lineage_new *entries =
        put(later, tree->entries, tree->entries_count * sizeof(*entries), align);
    struct weir__git_later_tree *own = &later->_trees[later->_count];
    *own = *tree;
    own->entries = entries;
    own->parts = put(later, tree->parts, tree->parts_count * sizeof(*tree->parts),
                     _Alignof(struct weir__git_tree_part));
    for (size_t i = 0; i < tree->entries_count; i++)
        entries[i].name = put(later, entries[i].name, entries[i].name_length, 1);
    *ret_place = later->_count++;
    return true;
}

void weir__git_later_note(struct weir__git_later *later, struct weir__git_lineage *lineage)
{
    for (uint32_t i = 0; i < later->_count; i++) {
        const struct weir__git_later_tree *tree = &later->_trees[i];
        uint32_t base = tree->is_base_later ? later->numbers[tree->base] : tree->base;
        later->numbers[i] =
            weir__git_lineage_note(lineage, &tree->id, base, tree->parts, tree->parts_count,
                                   tree->entries, tree->entries_count);
    }
    later->_count = 0;
    later->_used = 0;
}
