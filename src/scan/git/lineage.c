/* lineage.c - noting trees, and what was found of them. */
#include "lineage_part.h"

#include "alloc.h"

#include "banned.h"

#define ROOM_FIRST 1024u

void weir__git_lineage_init(struct weir__git_lineage *lineage, size_t id_size, uint64_t bytes_max)
{
    *lineage = (struct weir__git_lineage){._id_size = id_size, ._bytes_max = bytes_max};
    weir__git_set_init(&lineage->_trees, id_size, sizeof(struct weir__git_lineage_tree), bytes_max);
}

void weir__git_lineage_fini(struct weir__git_lineage *lineage)
{
    if (lineage->_id_size == 0)
        return; /* it never began */
    weir__git_set_fini(&lineage->_trees);
    weir__base_free(lineage->_parts);
    weir__base_free(lineage->_entries);
    weir__base_free(lineage->_ids);
    weir__base_free(lineage->_names);
    weir__base_free(lineage->_heads);
    weir__base_free(lineage->_links);
}

void weir__git_lineage_give_up(struct weir__git_lineage *lineage)
{
    weir__git_lineage_fini(lineage);
    weir__git_lineage_init(lineage, lineage->_id_size, lineage->_bytes_max);
    lineage->_has_given_up = true;
}

uint64_t weir__git_lineage_bytes(const struct weir__git_lineage *lineage)
{
    return weir__git_set_bytes(&lineage->_trees) + lineage->_parts_room * sizeof(*lineage->_parts) +
           lineage->_entries_room * sizeof(*lineage->_entries) + lineage->_ids_room +
           lineage->_names_room + lineage->_links_room * sizeof(*lineage->_links) +
           (lineage->_heads ? weir__git_set_count(&lineage->_trees) * sizeof(uint32_t) : 0);
}

const struct weir__git_lineage_tree *weir__lineage_tree(const struct weir__git_lineage *lineage,
                                                        uint32_t number)
{
    return weir__git_set_extra(&lineage->_trees, number);
}

size_t weir__lineage_parts_end(const struct weir__git_lineage *lineage, uint32_t number)
{
    return number + 1 < weir__git_set_count(&lineage->_trees)
               ? weir__lineage_tree(lineage, number + 1)->parts
               : lineage->_parts_count;
}

size_t weir__lineage_entries_end(const struct weir__git_lineage *lineage, uint32_t number)
{
    return number + 1 < weir__git_set_count(&lineage->_trees)
               ? weir__lineage_tree(lineage, number + 1)->entries
               : lineage->_entries_count;
}

struct weir__git_id weir__lineage_id(const struct weir__git_lineage *lineage, size_t entry)
{
    return weir__git_id_of(lineage->_ids + entry * lineage->_id_size, lineage->_id_size);
}

bool weir__lineage_room(struct weir__git_lineage *lineage, void **array, size_t *room, size_t count,
                        size_t more, size_t size)
{
    size_t wanted = count + more, most = *room ? *room : ROOM_FIRST;
    if (wanted <= *room)
        return true;
    while (most < wanted)
        most *= 2;
    if (wanted > UINT32_MAX / 2 ||
        weir__git_lineage_bytes(lineage) + (most - *room) * size > lineage->_bytes_max)
        return false;
    void *grown = weir__base_realloc(*array, most, size);
    if (!grown)
        return false;
    *array = grown;
    *room = most;
    return true;
}

/* --- noting --- */

static bool add_parts(struct weir__git_lineage *lineage, const struct weir__git_tree_part *parts,
                      size_t count)
{
    if (!weir__lineage_room(lineage, (void **)&lineage->_parts, &lineage->_parts_room,
                            lineage->_parts_count, count, sizeof(*parts)))
        return false;
    if (count > 0)
        memcpy(lineage->_parts + lineage->_parts_count, parts, count * sizeof(*parts));
    lineage->_parts_count += count;
    return true;
}

static bool add_entry(struct weir__git_lineage *lineage, const struct weir__git_lineage_new *entry)
{
    size_t id_size = lineage->_id_size, at = lineage->_entries_count;
    if (!weir__lineage_room(lineage, (void **)&lineage->_entries, &lineage->_entries_room, at, 1,
                            sizeof(*lineage->_entries)) ||
        !weir__lineage_room(lineage, (void **)&lineage->_ids, &lineage->_ids_room, at * id_size,
                            id_size, 1) ||
        !weir__lineage_room(lineage, (void **)&lineage->_names, &lineage->_names_room,
                            lineage->_names_length, entry->name_length, 1))
        return false;
    lineage->_entries[at] =
        (struct weir__git_lineage_entry){.at = entry->at,
                                         .length = entry->length,
                                         .name = (uint32_t)lineage->_names_length,
                                         .name_length = entry->name_length & INT32_MAX,
                                         .is_tree = entry->is_tree};
    memcpy(lineage->_ids + at * id_size, entry->id.bytes, id_size);
    memcpy(lineage->_names + lineage->_names_length, entry->name, entry->name_length);
    lineage->_names_length += entry->name_length;
    lineage->_entries_count++;
    return true;
}

uint32_t weir__git_lineage_note(struct weir__git_lineage *lineage, const struct weir__git_id *id,
                                uint32_t base, const struct weir__git_tree_part *parts,
                                size_t parts_count, const struct weir__git_lineage_new *entries,
                                size_t entries_count)
{
    uint32_t number;
    if (lineage->_has_given_up)
        return WEIR__GIT_SET_NONE;
    int result = weir__git_set_add(&lineage->_trees, id, &number);
    if (result == 0)
        return number;
    bool is_kept = result > 0;
    if (is_kept) {
        struct weir__git_lineage_tree *tree = weir__git_set_extra(&lineage->_trees, number);
        *tree = (struct weir__git_lineage_tree){.base = base,
                                                .parts = (uint32_t)lineage->_parts_count,
                                                .entries = (uint32_t)lineage->_entries_count};
        is_kept = add_parts(lineage, parts, parts_count);
    }
    for (size_t i = 0; i < entries_count && is_kept; i++)
        is_kept = add_entry(lineage, &entries[i]);
    if (is_kept)
        return number;
    weir__git_lineage_give_up(lineage);
    return WEIR__GIT_SET_NONE;
}

/* --- what was found --- */

bool weir__git_lineage_entries(const struct weir__git_lineage *lineage,
                               const struct weir__git_id *id, uint32_t *ret_cursor)
{
    uint32_t number =
        lineage->_heads ? weir__git_set_find(&lineage->_trees, id) : WEIR__GIT_SET_NONE;
    if (number == WEIR__GIT_SET_NONE)
        return false;
    *ret_cursor = lineage->_heads[number];
    return true;
}

bool weir__git_lineage_next(const struct weir__git_lineage *lineage, uint32_t *cursor,
                            struct weir__git_tree_entry *ret_entry)
{
    if (*cursor == 0)
        return false;
    const struct weir__git_lineage_link *link = &lineage->_links[*cursor - 1];
    const struct weir__git_lineage_entry *entry = &lineage->_entries[link->entry];
    *cursor = link->next;
    *ret_entry = (struct weir__git_tree_entry){
        .mode = entry->is_tree ? WEIR__GIT_MODE_TREE : 0100644,
        .name = lineage->_names + entry->name,
        .name_length = entry->name_length,
        .id = weir__lineage_id(lineage, link->entry),
    };
    return true;
}
