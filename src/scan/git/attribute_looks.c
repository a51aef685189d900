/* attribute_looks.c - the looks at a blob: of each verdict, who brought it first and where to. */
#include "attribute_part.h"

#include "alloc.h"

#include "banned.h"

void weir__looks_fini(struct weir__found *found)
{
    for (unsigned i = 0; i < found->looks_count; i++)
        weir__base_free((void *)(uintptr_t)found->looks[i].path);
    weir__base_free(found->looks);
}

uint32_t weir__found_place(const struct weir__found *found)
{
    return found->looks_count > 0 ? found->looks[found->first]._place : WEIR__GIT_SET_NONE;
}

/* Of one commit, the first path by name counts; of what no commit brought, the one that was met
 * first, since refs and the index are gone through in order. */
static bool is_before(uint32_t place, const char *path, const struct weir__git_look *look)
{
    if (!look->path)
        return true;
    if (place != look->_place)
        return place < look->_place;
    return place != WEIR__GIT_SET_NONE && strcmp(path, look->path) < 0;
}

static uint16_t find(const struct weir__found *found, uint64_t verdict)
{
    unsigned i = 0;
    while (i < found->looks_count && found->looks[i]._verdict != verdict)
        i++;
    return i < found->looks_count ? (uint16_t)i : WEIR__LOOK_UNKNOWN;
}

int weir__look_of(struct weir__found *found, uint64_t verdict, uint16_t *ret_look)
{
    uint16_t look = find(found, verdict);
    if (look == WEIR__LOOK_UNKNOWN && found->looks_count == WEIR__GIT_LOOKS_MAX) {
        found->is_cut = true;
        look = WEIR__LOOK_BEYOND;
    } else if (look == WEIR__LOOK_UNKNOWN) {
        if (found->looks_count == found->looks_room) { /* most blobs have one */
            unsigned room = found->looks_room ? 4 * found->looks_room : 1;
            void *grown = weir__base_realloc(found->looks, room, sizeof(*found->looks));
            if (!grown)
                return -WEIR_E_NO_MEMORY;
            found->looks = grown;
            found->looks_room = room;
        }
        look = (uint16_t)found->looks_count++;
        found->looks[look] =
            (struct weir__git_look){._verdict = verdict, ._place = WEIR__GIT_SET_NONE};
    }
    *ret_look = look;
    return 0;
}

static void set_commit(const struct weir__git_attribute *a, struct weir__git_look *look)
{
    uint32_t commit = a->options.order[look->_place];
    look->has_commit = true;
    look->commit = weir__git_history_id(a->options.history, commit);
    look->time = weir__git_history_time(a->options.history, commit);
    look->kind = weir__git_history_kind(a->options.history, commit);
}

/* What a ref or the index says comes before what is lost, which is gone through behind them. */
static bool gives_way(const struct weir__git_attribute *a, uint32_t place,
                      const struct weir__git_look *look)
{
    return look->path && look->_place == WEIR__GIT_SET_NONE && place != WEIR__GIT_SET_NONE &&
           weir__git_history_kind(a->options.history, a->options.order[place]) ==
               WEIR__GIT_START_LOST;
}

int weir__look_add(struct weir__git_attribute *a, struct weir__found *found, uint16_t number,
                   const char *path, uint32_t place, bool is_staged)
{
    if (number == WEIR__LOOK_BEYOND || !is_before(place, path, &found->looks[number]) ||
        gives_way(a, place, &found->looks[number]))
        return 0;
    struct weir__git_look *look = &found->looks[number];
    bool was_brought = weir__found_place(found) != WEIR__GIT_SET_NONE;
    char *copy = weir__path_copy(path, strlen(path));
    if (!copy)
        return -WEIR_E_NO_MEMORY;
    weir__base_free((void *)(uintptr_t)look->path);
    look->path = copy;
    look->_place = place;
    look->is_staged = is_staged;
    if (place != WEIR__GIT_SET_NONE)
        set_commit(a, look);
    const struct weir__git_look *first = &found->looks[found->first];
    if (!first->path || (is_before(place, copy, first) && !gives_way(a, place, first)))
        found->first = number;
    a->left -= !was_brought && place != WEIR__GIT_SET_NONE;
    return 0;
}

int weir__looks_merge(struct weir__git_attribute *a, struct weir__found *found,
                      const struct weir__found *other)
{
    int error = 0;
    found->is_cut |= other->is_cut;
    for (unsigned i = 0; !error && i < other->looks_count; i++) {
        const struct weir__git_look *from = &other->looks[i];
        uint16_t look;
        if (!from->path)
            continue; /* there was no memory for it */
        error = weir__look_of(found, from->_verdict, &look);
        if (!error)
            error = weir__look_add(a, found, look, from->path, from->_place, from->is_staged);
    }
    return error;
}
