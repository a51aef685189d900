/* store_lookup.c - in which pack an object is.
 *
 * First the multi-pack-indexes, which say in which pack an object is; where in that pack, its own
 * index says, since that is what the pack was read by, and one object must not be taken for
 * another. A multi-pack-index that says something else, or has a pack that is not there, is not
 * used any more. Then packs that are in none: the one that had the last object, then all others
 * through the few that stay open. Where there are more packs than may be open, a table of the first
 * bytes of all their ids is made once, if there is memory for it, so that a lookup opens one pack
 * and not thousands. Loose files come last, since most objects are packed.
 *
 * As long as an index cannot be read nobody knows what its pack has, so what is found nowhere is
 * not missing: it may be there. That holds whoever has met the index, and by whichever way an
 * object is looked for, so that the answer does not depend on what was asked before. Nor is missing
 * what a folder of loose objects may have that must not be looked into.
 */
#include "store_part.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "alloc.h"
#include "idx_read.h"
#include "loose.h"
#include "sys.h"
#include "text.h"

#include "banned.h"

#define NONE WEIR__GIT_NONE
/* Indexes that are asked for copies of damaged objects, in all. */
#define OTHERS_MAX 65536u

/* --- multi-pack-index --- */

struct midx_look {
    struct weir__git_store *store;
    struct weir__git_folder *folder;
    unsigned number;
    const struct weir__git_id *id;
    uint32_t pack;
    uint64_t offset;
};

static int look_at_head(void *arg)
{
    struct midx_look *look = arg;
    return weir__git_midx_init(&look->folder->midx, look->folder->midx_map.bytes,
                               look->folder->midx_map.length, look->store->id_size);
}

/* The row of "pack-....idx" in that folder; rows of a folder stand together, in order. */
static uint32_t find_row(const struct weir__git_store *store, unsigned folder, const char *name)
{
    uint32_t low = 0, high = store->list.rows_count;
    size_t length = strlen(name);
    if (length < 4 || strcmp(name + length - 4, ".idx") != 0)
        return NONE;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        const struct weir__git_row *row = &store->list.rows[middle];
        const char *stem = weir__git_store_stem(store, middle) + sizeof("pack/") - 1;
        int order = (int)row->folder - (int)folder;
        if (order == 0) {
            order = strncmp(stem, name, length - 4);
            order = order == 0 && stem[length - 4] != '\0' ? 1 : order;
        }
        if (order == 0)
            return middle;
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return NONE;
}

/* Packs whose names cannot be read any more are as good as gone. */
static int look_at_names(void *arg)
{
    struct midx_look *look = arg;
    const struct weir__git_midx *midx = &look->folder->midx;
    size_t at = 0;
    char name[WEIR__GIT_PACK_NAME_SIZE];
    for (uint32_t i = 0; i < midx->packs_count; i++) {
        const char *given = weir__git_midx_name(midx, &at);
        if (!given)
            return -WEIR_E_CORRUPT;
        size_t length = strnlen(given, sizeof(name));
        if (length == sizeof(name))
            continue;
        memcpy(name, given, length);
        name[length] = '\0';
        look->folder->midx_rows[i] = find_row(look->store, look->number, name);
    }
    return 0;
}

static void close_midx(struct weir__git_folder *folder)
{
    weir__mapped_close(&folder->midx_map);
    weir__base_free(folder->midx_rows);
    folder->midx_rows = NULL;
}

/* One that is not there or of no use is done without: every pack has its own index. */
static void open_midx(struct weir__git_store *store, unsigned number)
{
    struct weir__git_folder *folder = &store->folders[number];
    struct midx_look look = {.store = store, .folder = folder, .number = number};
    if (folder->is_midx_refused || store->options.has_no_midx)
        return;
    if (weir__mapped_open(&folder->midx_map, folder->fd, "pack/multi-pack-index", SIZE_MAX) < 0)
        return;
    int result = weir__mapped_read(&folder->midx_map, look_at_head, &look);
    if (result == 0) {
        size_t count = folder->midx.packs_count;
        folder->midx_rows = weir__base_realloc(NULL, count, sizeof(*folder->midx_rows));
        if (folder->midx_rows)
            memset(folder->midx_rows, 0xff, count * sizeof(*folder->midx_rows));
        result = folder->midx_rows ? weir__mapped_read(&folder->midx_map, look_at_names, &look)
                                   : -WEIR_E_NO_MEMORY;
    }
    if (result < 0) {
        close_midx(folder);
        return;
    }
    for (uint32_t i = 0; i < folder->midx.packs_count; i++)
        if (folder->midx_rows[i] != NONE)
            store->list.rows[folder->midx_rows[i]].is_in_midx = true;
}

void weir__git_store_open_midx(struct weir__git_store *store)
{
    for (unsigned i = 0; i < store->folders_count; i++)
        open_midx(store, i);
}

void weir__git_store_forget(struct weir__git_store *store)
{
    for (unsigned i = 0; i < store->folders_count; i++)
        close_midx(&store->folders[i]);
    weir__git_cache_clear(&store->cache);
    weir__base_free(store->known);
    store->known = NULL;
    store->known_count = 0;
    store->is_known_tried = false;
    store->last_row = NONE;
    weir__git_set_fini(&store->places);
    weir__git_set_init(&store->places, store->id_size, sizeof(uint32_t), 0);
    store->has_new_places = false;
    store->others_asked = 0;
}

static int look_for(void *arg)
{
    struct midx_look *look = arg;
    return weir__git_midx_find(&look->folder->midx, look->id, &look->pack, &look->offset);
}

/* --- the table --- */

struct known_look {
    struct weir__git_store *store;
    const struct weir__git_pack *pack;
    uint32_t row;
    size_t at;
};

static int look_at_ids(void *arg)
{
    struct known_look *look = arg;
    const struct weir__git_idx *idx = &look->pack->idx;
    for (uint32_t i = 0; i < idx->count; i++)
        look->store->known[look->at + i] =
            (struct weir__git_known){weir__git_get64(weir__git_idx_id(idx, i)), look->row, i};
    return 0;
}

static int compare_known(const void *a, const void *b)
{
    const struct weir__git_known *one = a, *other = b;
    if (one->prefix != other->prefix)
        return one->prefix < other->prefix ? -1 : 1;
    return one->row < other->row ? -1 : one->row > other->row;
}

void weir__git_store_note_unknown(struct weir__git_store *store, uint32_t row)
{
    struct weir__git_pack pack;
    const char *why;
    int result = weir__git_pack_open_ids(&pack, store->folders[store->list.rows[row].folder].fd,
                                         weir__git_store_stem(store, row), store->id_size, &why);
    if (result == 0)
        weir__git_pack_close(&pack);
    else
        store->has_unknown |= result != -WEIR_E_NOT_FOUND && result != -WEIR_E_NO_MEMORY &&
                              result != -WEIR_E_NO_DESCRIPTORS;
}

/* A pack that cannot be opened is left out: its objects are told by the walk. */
static int fill_known(struct weir__git_store *store, size_t room)
{
    for (uint32_t row = 0; row < store->list.rows_count; row++) {
        struct weir__git_pack pack;
        struct known_look look = {
            .store = store, .pack = &pack, .row = row, .at = store->known_count};
        const char *why;
        if (store->list.rows[row].is_in_midx)
            continue;
        int result =
            weir__git_pack_open_ids(&pack, store->folders[store->list.rows[row].folder].fd,
                                    weir__git_store_stem(store, row), store->id_size, &why);
        if (result == -WEIR_E_NOT_FOUND || result == -WEIR_E_NO_MEMORY ||
            result == -WEIR_E_NO_DESCRIPTORS)
            return result;
        store->has_unknown |= result < 0;
        if (result < 0)
            continue;
        if (pack.idx.count <= room - store->known_count &&
            weir__mapped_read(&pack._idx_map, look_at_ids, &look) == 0)
            store->known_count += pack.idx.count;
        weir__git_pack_close(&pack);
    }
    if (store->known_count > 1)
        qsort(store->known, store->known_count, sizeof(*store->known), compare_known);
    return 0;
}

static int make_known(struct weir__git_store *store)
{
    uint64_t count = 0;
    uint32_t packs = 0;
    store->is_known_tried = true;
    for (uint32_t row = 0; row < store->list.rows_count; row++)
        if (!store->list.rows[row].is_in_midx) {
            count += weir__git_idx_count_max(store->list.rows[row].idx_bytes, store->id_size);
            packs++;
        }
    if (packs <= store->options.open_max ||
        count > store->options.lookup_bytes / sizeof(*store->known))
        return 0;
    store->known = weir__base_realloc(NULL, (size_t)count, sizeof(*store->known));
    if (!store->known)
        return -WEIR_E_NO_MEMORY;
    store->known_count = 0;
    int result = fill_known(store, (size_t)count);
    if (result < 0) {
        weir__base_free(store->known);
        store->known = NULL;
        store->known_count = 0;
        store->is_known_tried = false;
    }
    return result;
}

/* --- finding --- */

/* Of a pack that cannot be opened: NotFound if its index can be, and does not have it. */
static int ask_ids(const struct weir__git_store *store, uint32_t row, const struct weir__git_id *id,
                   int error)
{
    struct weir__git_pack pack;
    const char *why;
    uint32_t idx_at;
    uint64_t offset;
    if (error == -WEIR_E_NO_MEMORY || error == -WEIR_E_NO_DESCRIPTORS ||
        weir__git_pack_open_ids(&pack, store->folders[store->list.rows[row].folder].fd,
                                weir__git_store_stem(store, row), store->id_size, &why) < 0)
        return error;
    int result = weir__git_pack_find(&pack, id, &idx_at, &offset);
    weir__git_pack_close(&pack);
    return result == -WEIR_E_NOT_FOUND ? result : error;
}

static int ask_pack(struct weir__git_store *store, uint32_t row, const struct weir__git_id *id,
                    struct weir__git_place *ret_place)
{
    const struct weir__git_pack *pack;
    uint32_t idx_at;
    uint64_t offset;
    int result = weir__git_store_opened(store, row, &pack);
    /* Gone: the caller lists anew. */
    if (result < 0)
        return result == -WEIR_E_NOT_FOUND ? -WEIR_E_CLOSED : ask_ids(store, row, id, result);
    result = weir__git_pack_find(pack, id, &idx_at, &offset);
    if (result == 0) {
        *ret_place = (struct weir__git_place){.row = row, .offset = offset};
        store->last_row = row;
    }
    return result;
}

static int ask_known(struct weir__git_store *store, const struct weir__git_id *id,
                     struct weir__git_place *ret_place)
{
    uint64_t prefix = weir__git_get64(id->bytes);
    size_t low = 0, high = store->known_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (store->known[middle].prefix < prefix)
            low = middle + 1;
        else
            high = middle;
    }
    int result = -WEIR_E_NOT_FOUND;
    for (; low < store->known_count && store->known[low].prefix == prefix; low++) {
        int now = ask_pack(store, store->known[low].row, id, ret_place);
        if (now == 0 || now == -WEIR_E_CLOSED || now == -WEIR_E_NO_MEMORY)
            return now;
        if (now != -WEIR_E_NOT_FOUND)
            result = now;
    }
    return result;
}

/* What is wrong with one pack does not keep the others from being asked. */
static int ask_all(struct weir__git_store *store, const struct weir__git_id *id,
                   struct weir__git_place *ret_place)
{
    int result = -WEIR_E_NOT_FOUND;
    if (store->last_row != NONE)
        result = ask_pack(store, store->last_row, id, ret_place);
    if (result == 0 || result == -WEIR_E_CLOSED)
        return result;
    if (!store->is_known_tried) {
        result = make_known(store);
        if (result < 0)
            return result == -WEIR_E_NOT_FOUND ? -WEIR_E_CLOSED : result;
    }
    if (store->known)
        return ask_known(store, id, ret_place);
    result = -WEIR_E_NOT_FOUND;
    for (uint32_t row = 0; row < store->list.rows_count; row++) {
        if (store->list.rows[row].is_in_midx || row == store->last_row)
            continue;
        int now = ask_pack(store, row, id, ret_place);
        if (now == 0 || now == -WEIR_E_CLOSED || now == -WEIR_E_NO_MEMORY)
            return now;
        if (now != -WEIR_E_NOT_FOUND)
            result = now;
    }
    return result;
}

/* First where it was once. */
static int ask_packs(struct weir__git_store *store, const struct weir__git_id *id,
                     struct weir__git_place *ret_place)
{
    uint32_t row;
    int result = -WEIR_E_NOT_FOUND;
    if (weir__git_store_has_place(store, id, &row))
        result = ask_pack(store, row, id, ret_place);
    if (result == 0 || result == -WEIR_E_CLOSED)
        return result;
    result = ask_all(store, id, ret_place);
    if (result == 0)
        weir__git_store_found(store, id, ret_place->row);
    return result;
}

void weir__git_store_refuse_midx(struct weir__git_store *store, struct weir__git_folder *folder)
{
    for (uint32_t i = 0; i < folder->midx.packs_count; i++)
        if (folder->midx_rows[i] != NONE)
            store->list.rows[folder->midx_rows[i]].is_in_midx = false;
    close_midx(folder);
    folder->is_midx_refused = true;
    weir__base_free(store->known);
    store->known = NULL;
    store->known_count = 0;
    store->is_known_tried = false;
}

/* NotFound: others are to be asked. is_again: packs were listed for this. */
static int ask_midx(struct weir__git_store *store, struct weir__git_folder *folder,
                    const struct weir__git_id *id, bool is_again, struct weir__git_place *ret_place)
{
    struct midx_look look = {.store = store, .folder = folder, .id = id};
    struct weir__git_place place;
    if (!folder->midx_rows || weir__mapped_read(&folder->midx_map, look_for, &look) < 0)
        return -WEIR_E_NOT_FOUND;
    uint32_t row = folder->midx_rows[look.pack];
    if (row == NONE && !is_again)
        return -WEIR_E_CLOSED; /* of a pack that is not there any more */
    if (row == NONE) {
        /* Nobody wrote it anew when the pack went: what it had may be loose or in another one. */
        weir__git_store_refuse_midx(store, folder);
        return -WEIR_E_NOT_FOUND;
    }
    int result = ask_pack(store, row, id, &place);
    if (result == 0 && place.offset == look.offset) {
        *ret_place = place;
        return 0;
    }
    if (result == -WEIR_E_CLOSED || result == -WEIR_E_NO_MEMORY || result == -WEIR_E_NO_DESCRIPTORS)
        return result;
    /* A pack whose own index cannot be read is told by who walks it; another may have a copy. */
    store->has_wrong_midx |= result == 0 || result == -WEIR_E_NOT_FOUND;
    weir__git_store_refuse_midx(store, folder);
    return -WEIR_E_NOT_FOUND;
}

static int locate_once(struct weir__git_store *store, const struct weir__git_id *id, bool is_again,
                       struct weir__git_place *ret_place)
{
    char hex[WEIR__GIT_HEX_SIZE];
    int result;
    for (unsigned i = 0; i < store->folders_count; i++) {
        result = ask_midx(store, &store->folders[i], id, is_again, ret_place);
        if (result != -WEIR_E_NOT_FOUND)
            return result;
    }
    result = ask_packs(store, id, ret_place);
    if (result == 0 || result == -WEIR_E_CLOSED || result == -WEIR_E_NO_MEMORY)
        return result;
    for (unsigned i = 0; i < store->folders_count; i++) {
        int now = weir__git_loose_is_there(store->folders[i].fd, id, store->id_size);
        if (now == 0) {
            *ret_place = (struct weir__git_place){.is_loose = true, .folder = i};
            return 0;
        }
        if (now != -WEIR_E_NOT_FOUND)
            result = weir__git_store_fail(store, -now, "cannot look into '%s/%02x': %s",
                                          WEIR__CLIPPED(store->folders[i].path), id->bytes[0],
                                          weir_error_text(now)); /* it may be there */
    }
    if (result != -WEIR_E_NOT_FOUND || !store->has_unknown)
        return result;
    return weir__git_store_fail(store, WEIR_E_CORRUPT,
                                "object '%s' is not found, and may be where nothing can be read",
                                weir__git_id_hex(id, store->id_size, hex));
}

int weir__git_store_locate(struct weir__git_store *store, const struct weir__git_id *id,
                           struct weir__git_place *ret_place)
{
    char hex[WEIR__GIT_HEX_SIZE];
    int result = store->lists_made > 0 ? 0 : weir__git_store_relist(store);
    if (result < 0)
        return result;
    result = locate_once(store, id, false, ret_place);
    /* Once more: it may have moved into a pack that was not there when they were listed. */
    if (result == -WEIR_E_CLOSED || ((result == -WEIR_E_NOT_FOUND || result == -WEIR_E_CORRUPT) &&
                                     weir__git_store_is_stale(store))) {
        result = weir__git_store_relist(store);
        if (result == 0)
            result = locate_once(store, id, true, ret_place);
    }
    if (result == -WEIR_E_NOT_FOUND || result == -WEIR_E_CLOSED)
        return weir__git_store_fail(
            store, WEIR_E_NOT_FOUND, "object '%s' is missing%s",
            weir__git_id_hex(id, store->id_size, hex),
            store->is_partial ? ": this is a partial clone, whose remote is not asked" : "");
    return result;
}

int weir__git_store_locate_other(struct weir__git_store *store, const struct weir__git_id *id,
                                 struct weir__git_place *place)
{
    struct weir__git_place other;
    uint32_t row = place->is_loose ? store->list.rows_count : place->row + 1;
    for (; row < store->list.rows_count && store->others_asked < OTHERS_MAX; row++) {
        store->others_asked++;
        if (ask_pack(store, row, id, &other) == 0) {
            *place = other;
            return 0;
        }
    }
    for (unsigned i = place->is_loose ? place->folder + 1 : 0; i < store->folders_count; i++)
        if (weir__git_loose_is_there(store->folders[i].fd, id, store->id_size) == 0) {
            *place = (struct weir__git_place){.is_loose = true, .folder = i};
            return 0;
        }
    return -WEIR_E_NOT_FOUND;
}

uint32_t weir__git_store_copies(struct weir__git_store *store, const struct weir__git_id *id,
                                uint32_t most)
{
    struct weir__git_place place = {.row = NONE};
    uint32_t count = 0;
    while (count < most && weir__git_store_locate_other(store, id, &place) == 0)
        count++;
    return store->others_asked < OTHERS_MAX ? count : most;
}
