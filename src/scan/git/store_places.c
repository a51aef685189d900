/* store_places.c - what one store knows of its packs, for another one: where objects are that were
 * looked up, and the list itself.
 *
 * Both are for repositories of thousands of packs, of which a scan that has little to do needs a
 * few: to find an object all their indexes are mapped, and to list them two calls are made for
 * each.
 */
#include "store_part.h"

#include <weir/clock.h>

#include "alloc.h"

#include "banned.h"

/* --- where objects are --- */

static bool has_many(const struct weir__git_store *store)
{
    return store->list.rows_count > store->options.open_max;
}

/* Whether it is noted. */
static bool note(struct weir__git_store *store, const struct weir__git_id *id, uint32_t row)
{
    uint32_t number;
    if (!has_many(store) || row >= store->list.rows_count)
        return false;
    if (weir__git_set_count(&store->places) >= WEIR__GIT_PLACES_MAX &&
        weir__git_set_find(&store->places, id) == WEIR__GIT_SET_NONE)
        return false;
    if (weir__git_set_add(&store->places, id, &number) < 0)
        return false;
    memcpy(weir__git_set_extra(&store->places, number), &row, sizeof(row));
    return true;
}

void weir__git_store_place(struct weir__git_store *store, const struct weir__git_id *id,
                           uint32_t pack)
{
    (void)note(store, id, pack);
}

void weir__git_store_found(struct weir__git_store *store, const struct weir__git_id *id,
                           uint32_t row)
{
    /* One that was said and was wrong is new as well. */
    bool is_noted = note(store, id, row);
    store->has_new_places |= is_noted;
}

bool weir__git_store_has_place(const struct weir__git_store *store, const struct weir__git_id *id,
                               uint32_t *ret_row)
{
    uint32_t number = weir__git_set_find(&store->places, id);
    if (number == WEIR__GIT_SET_NONE)
        return false;
    memcpy(ret_row, weir__git_set_extra(&store->places, number), sizeof(*ret_row));
    return true;
}

const struct weir__git_set *weir__git_store_places(const struct weir__git_store *store,
                                                   bool *ret_has_new)
{
    *ret_has_new = store->has_new_places;
    return &store->places;
}

/* --- the list --- */

/* One that is older is made anew, even if no pack came or went: somebody may have written to one of
 * them. */
#define HANDED_S 10

struct weir__git_packs {
    struct weir__git_list list;
    int64_t listed_s;
    unsigned folders_count;
    struct {
        dev_t device;
        ino_t inode;
        struct timespec pack_time;
        int list_error;
    } folders[WEIR__GIT_FOLDERS_MAX];
};

struct weir__git_packs *weir__git_packs_take(struct weir__git_store *store)
{
    struct weir__git_packs *packs = weir__base_alloc(1, sizeof(*packs));
    if (!packs)
        return NULL;
    weir__git_store_close_packs(store);
    weir__git_store_forget(store);
    packs->list = store->list;
    packs->listed_s = store->listed_s;
    packs->folders_count = store->folders_count;
    for (unsigned i = 0; i < store->folders_count; i++) {
        packs->folders[i].device = store->folders[i].device;
        packs->folders[i].inode = store->folders[i].inode;
        packs->folders[i].pack_time = store->folders[i].pack_time;
        packs->folders[i].list_error = store->folders[i].list_error;
    }
    store->list = (struct weir__git_list){.rows = NULL};
    store->lists_made = 0;
    return packs;
}

uint64_t weir__git_packs_bytes(const struct weir__git_packs *packs)
{
    return sizeof(*packs) + weir__buffer_length(&packs->list.names) +
           packs->list.rows_room * sizeof(*packs->list.rows);
}

void weir__git_packs_free(struct weir__git_packs *packs)
{
    if (!packs)
        return;
    weir__git_list_fini(&packs->list);
    weir__base_free(packs);
}

/* Whether the store has the folders that were listed. */
static bool is_of(const struct weir__git_packs *packs, const struct weir__git_store *store)
{
    bool is_it = packs->folders_count == store->folders_count;
    for (unsigned i = 0; is_it && i < store->folders_count; i++)
        is_it = packs->folders[i].device == store->folders[i].device &&
                packs->folders[i].inode == store->folders[i].inode;
    return is_it;
}

bool weir__git_packs_give(struct weir__git_packs *packs, struct weir__git_store *store)
{
    int64_t age_s = packs ? weir_wall_s() - packs->listed_s : 0;
    if (!packs || !is_of(packs, store) || age_s < 0 || age_s > HANDED_S) {
        weir__git_packs_free(packs);
        return false;
    }
    weir__git_store_forget(store);
    store->list = packs->list;
    packs->list = (struct weir__git_list){.rows = NULL};
    store->listed_s = packs->listed_s;
    for (unsigned i = 0; i < store->folders_count; i++) {
        store->folders[i].pack_time = packs->folders[i].pack_time;
        store->folders[i].list_error = packs->folders[i].list_error; /* then it is not settled */
    }
    weir__git_packs_free(packs);
    if (!weir__git_store_is_settled(store)) {
        weir__git_list_fini(&store->list);
        return false;
    }
    /* What a multi-pack-index had is asked again. */
    for (uint32_t i = 0; i < store->list.rows_count; i++)
        store->list.rows[i].is_in_midx = false;
    store->lists_made = 1;
    weir__git_store_open_midx(store);
    return true;
}
