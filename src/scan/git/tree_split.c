/* tree_split.c - entries that are copied are never parsed: where they begin is known. */
#include "tree_split.h"

#include "alloc.h"

#include "banned.h"

#define ROOM_FIRST 64u

void weir__git_tree_starts_fini(struct weir__git_tree_starts *starts)
{
    weir__base_free(starts->at);
    *starts = (struct weir__git_tree_starts){.at = NULL};
}

/* For so many more, and the end. */
static int make_room(struct weir__git_tree_starts *starts, size_t more)
{
    size_t wanted = starts->count + more + 1, room = starts->room ? starts->room : ROOM_FIRST;
    if (wanted <= starts->room)
        return 0;
    while (room < wanted)
        room *= 2;
    uint32_t *at = weir__base_realloc(starts->at, room, sizeof(*at));
    if (!at)
        return -WEIR_E_NO_MEMORY;
    starts->at = at;
    starts->room = room;
    return 0;
}

void weir__git_split_begin(struct weir__git_split *split, const char *bytes, size_t length,
                           size_t id_size, const struct weir__git_tree_starts *base,
                           const struct weir__git_tree_part *copies, size_t copies_count,
                           struct weir__git_tree_starts *own)
{
    weir__git_tree_init(&split->_tree, bytes, length, id_size);
    split->_base = base;
    split->_copies = copies;
    split->_copies_count = base ? copies_count : 0;
    split->_next = 0;
    split->_own = own;
    split->parts_count = 0;
    own->count = 0;
}

/* The first start that is not below the place; the end counts as one. */
static size_t find_start(const struct weir__git_tree_starts *starts, uint32_t place)
{
    size_t low = 0, high = starts->count + 1;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (starts->at[middle] < place)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static int add_part(struct weir__git_split *split, const struct weir__git_tree_part *part)
{
    if (split->parts_count == split->_parts_room) {
        size_t room = split->_parts_room ? 2 * split->_parts_room : ROOM_FIRST;
        struct weir__git_tree_part *parts = weir__base_realloc(split->parts, room, sizeof(*parts));
        if (!parts)
            return -WEIR_E_NO_MEMORY;
        split->parts = parts;
        split->_parts_room = room;
    }
    split->parts[split->parts_count++] = *part;
    return 0;
}

/* Takes the entries that are copied from here on, up to the end of the copy. 1: there were some. */
static int take_copied(struct weir__git_split *split)
{
    const struct weir__git_tree_starts *base = split->_base;
    struct weir__git_tree_starts *own = split->_own;
    uint32_t at = (uint32_t)split->_tree._at;
    while (split->_next < split->_copies_count &&
           split->_copies[split->_next].to + split->_copies[split->_next].length <= at)
        split->_next++;
    if (split->_next == split->_copies_count || split->_copies[split->_next].to > at)
        return 0;
    const struct weir__git_tree_part *copy = &split->_copies[split->_next];
    uint32_t from = at - copy->to + copy->from;
    size_t first = find_start(base, from);
    size_t last = find_start(base, copy->from + copy->length);
    if (last > base->count || base->at[last] > copy->from + copy->length)
        last--; /* the start before it, which is where a whole entry ends */
    if (first >= last || base->at[first] != from)
        return 0;
    const struct weir__git_tree_part part = {
        .to = at, .from = from, .length = base->at[last] - from};
    int error = make_room(own, last - first);
    if (!error)
        error = add_part(split, &part);
    if (error)
        return error;
    for (size_t i = first; i < last; i++)
        own->at[own->count++] = base->at[i] - from + at;
    weir__git_tree_skip(&split->_tree, part.length, last - first);
    return 1;
}

int weir__git_split_next(struct weir__git_split *split, struct weir__git_tree_entry *ret_entry,
                         uint32_t *ret_at, char why[WEIR__GIT_FLAW_MAX])
{
    struct weir__git_tree_starts *own = split->_own;
    int result;
    while ((result = take_copied(split)) > 0)
        ;
    if (result == 0)
        result = make_room(own, 1);
    if (result < 0)
        return result;
    *ret_at = own->at[own->count] = (uint32_t)split->_tree._at;
    result = weir__git_tree_next(&split->_tree, ret_entry, why);
    if (result > 0)
        own->at[++own->count] = (uint32_t)split->_tree._at;
    return result;
}

uint32_t weir__git_split_end(const struct weir__git_split *split)
{
    return (uint32_t)split->_tree._at;
}

void weir__git_split_fini(struct weir__git_split *split)
{
    weir__base_free(split->parts);
}
