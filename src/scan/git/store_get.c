/* store_get.c - one object: its chain of deltas followed down to what is whole, and built up again.
 *
 * Down: places are written into a list until there is an object that is whole, loose, or in the
 * cache. Up: each delta of the list is applied to what came before it. What was only a step on the
 * way stays in the cache, since the next object that is asked for often shares it.
 */
#include "store_part.h"

#include <string.h>

#include "alloc.h"
#include "loose.h"
#include "pack_delta.h"

#include "banned.h"

/* Of a long chain of deltas as many objects are kept at its end, and each of so many before those;
 * and all that are small. */
#define KEPT_EACH  8u
#define KEPT_SMALL (16u << 10)

struct built {
    uint8_t *memory; /* to be freed; NULL: the bytes are borrowed from the cache */
    const uint8_t *bytes;
    size_t length;
    enum weir__git_type type;
    uint32_t row; /* WEIR__GIT_NONE: not of a pack */
    uint64_t offset;
    uint32_t crossed; /* steps of its chain from one pack to another */
};

struct getting {
    struct weir__git_store *store;
    const struct weir__git_id *id; /* that was asked for */
    size_t links;
    uint64_t work;
    uint32_t crossed; /* on the way down */
};

static int fail_at(struct getting *get, int code, const struct weir__git_place *place,
                   const char *why)
{
    struct weir__git_store *store = get->store;
    char hex[WEIR__GIT_HEX_SIZE];
    weir__git_id_hex(get->id, store->id_size, hex);
    if (place->is_loose)
        return weir__git_store_fail(store, code, "object '%s', loose in '%s': %s", hex,
                                    store->folders[place->folder].path, why);
    return weir__git_store_fail(store, code, "object '%s', at %llu of '%s.pack': %s", hex,
                                (unsigned long long)place->offset,
                                weir__git_store_stem(store, place->row), why);
}

static int add_work(struct getting *get, uint64_t bytes, const struct weir__git_place *place)
{
    get->work += bytes;
    if (bytes > get->store->options.object_max)
        return fail_at(get, WEIR_E_TOO_LARGE, place, "it is larger than the limit on objects");
    if (get->work > get->store->options.work_max)
        return fail_at(get, WEIR_E_TOO_LARGE, place, "it takes more work than one object may");
    return 0;
}

/* So much is there at once, beside what is borrowed from the cache. */
static int add_memory(struct getting *get, uint64_t held, uint64_t more,
                      const struct weir__git_place *place)
{
    uint64_t most = get->store->options.build_max;
    if (held > most || more > most - held)
        return fail_at(get, WEIR_E_TOO_LARGE, place, "it takes more memory than there is");
    return 0;
}

static int push(struct getting *get, const struct weir__git_place *place)
{
    struct weir__git_store *store = get->store;
    if (get->links >= store->options.chain_max)
        return fail_at(get, WEIR_E_TOO_LARGE, place,
                       "its chain of deltas is longer than the limit");
    if (get->links == store->links_room) {
        size_t room = store->links_room ? store->links_room * 2 : 64;
        struct weir__git_link *links = weir__base_realloc(store->links, room, sizeof(*links));
        if (!links)
            return fail_at(get, WEIR_E_NO_MEMORY, place, "out of memory");
        store->links = links;
        store->links_room = room;
    }
    store->links[get->links++] =
        (struct weir__git_link){.row = place->row, .offset = place->offset};
    return 0;
}

/* --- down --- */

static int read_loose(struct getting *get, const struct weir__git_id *id,
                      const struct weir__git_place *place, struct built *ret_built)
{
    struct weir__git_store *store = get->store;
    struct weir__git_loose loose = {.memory = NULL};
    const char *why = "";
    int result = weir__git_loose_read(store->folders[place->folder].fd, id, store->id_size,
                                      store->options.object_max, store->options.build_max,
                                      &store->inflater, &loose, &why);
    if (result < 0)
        return fail_at(get, -result, place, why);
    *ret_built =
        (struct built){loose.memory, loose.bytes, loose.length, loose.type, WEIR__GIT_NONE, 0, 0};
    return add_work(get, loose.length, place);
}

static int read_whole(struct getting *get, const struct weir__git_pack *pack,
                      const struct weir__git_entry *entry, const struct weir__git_place *place,
                      struct built *ret_built)
{
    const char *why = "";
    if (entry->size > weir__git_inflate_max(entry->end - entry->data_at))
        return fail_at(get, WEIR_E_CORRUPT, place,
                       "it claims a size that so few bytes cannot unpack to");
    int result = add_work(get, entry->size, place);
    if (result == 0)
        result = add_memory(get, 0, entry->size, place);
    if (result < 0)
        return result;
    uint8_t *memory = weir__base_realloc(NULL, (size_t)entry->size + 1, 1);
    if (!memory)
        return fail_at(get, WEIR_E_NO_MEMORY, place, "out of memory");
    result = weir__git_pack_inflate(pack, &get->store->inflater, entry, memory, &why);
    if (result < 0) {
        weir__base_free(memory);
        return fail_at(get, -result, place, why);
    }
    *ret_built = (struct built){memory,        memory, (size_t)entry->size, entry->type, place->row,
                                place->offset, 0};
    return 0;
}

/* The same whatever the cache has: what is there has been counted. */
static int check_crossed(struct getting *get, uint32_t below, const struct weir__git_place *place)
{
    return get->crossed + below > get->store->options.packs_max
               ? fail_at(get, WEIR_E_TOO_LARGE, place,
                         "its deltas lead through more packs than the limit")
               : 0;
}

/* Where the base of a delta is. */
static int find_base(struct getting *get, const struct weir__git_pack *pack,
                     const struct weir__git_entry *entry, struct weir__git_place *place)
{
    uint32_t idx_at;
    if (entry->kind == WEIR__GIT_KIND_OFFSET) {
        place->offset = entry->base_offset;
        return 0;
    }
    if (weir__git_pack_find(pack, &entry->base_id, &idx_at, &place->offset) == 0)
        return 0;
    get->store->links[get->links - 1].is_crossing = true;
    get->crossed++;
    int limited = check_crossed(get, 0, place);
    if (limited < 0)
        return limited;
    uint64_t before = get->store->lists_made;
    int result = weir__git_store_locate(get->store, &entry->base_id, place);
    /* When packs were listed anew, the numbers in the links are those of before. */
    return result == 0 && get->store->lists_made != before ? -WEIR_E_CLOSED : result;
}

/* Down to something that is there; place is moved. */
static int descend(struct getting *get, struct weir__git_place *place, struct built *ret_built)
{
    struct weir__git_store *store = get->store;
    struct weir__git_id id = *get->id;
    for (;;) {
        const struct weir__git_pack *pack;
        struct weir__git_entry entry;
        const char *why = "";
        if (place->is_loose)
            return read_loose(get, &id, place, ret_built);
        const struct weir__git_cached *cached =
            weir__git_cache_find(&store->cache, place->row, place->offset);
        if (cached) {
            *ret_built = (struct built){NULL,       cached->bytes, cached->length, cached->type,
                                        place->row, place->offset, cached->crossed};
            return check_crossed(get, cached->crossed, place);
        }
        int result = weir__git_store_opened(store, place->row, &pack);
        if (result < 0)
            return result == -WEIR_E_NOT_FOUND ? -WEIR_E_CLOSED : result;
        result =
            weir__git_pack_entry(pack, place->offset, UINT64_MAX, WEIR__GIT_NONE, &entry, &why);
        if (result < 0)
            return fail_at(get, -result, place, why);
        if (entry.kind == WEIR__GIT_KIND_WHOLE)
            return read_whole(get, pack, &entry, place, ret_built);
        result = push(get, place);
        if (result == 0)
            result = find_base(get, pack, &entry, place);
        if (result < 0)
            return result;
        id = entry.base_id;
    }
}

/* --- up --- */

static uint64_t held_of(const struct built *built)
{
    return built->memory ? built->length : 0;
}

static int apply(struct getting *get, const struct weir__git_place *place,
                 const struct weir__git_entry *entry, const uint8_t *packed_delta,
                 const struct built *base, struct built *ret_built)
{
    struct weir__git_delta delta;
    if (weir__git_delta_init(&delta, packed_delta, (size_t)entry->size) < 0 ||
        delta.base_length != base->length)
        return fail_at(get, WEIR_E_CORRUPT, place, "its delta does not fit its base");
    int result = add_work(get, delta.result_length, place);
    if (result == 0)
        result = add_memory(get, held_of(base) + entry->size, delta.result_length, place);
    if (result < 0)
        return result;
    uint8_t *memory = weir__base_realloc(NULL, (size_t)delta.result_length + 1, 1);
    if (!memory)
        return fail_at(get, WEIR_E_NO_MEMORY, place, "out of memory");
    if (weir__git_delta_apply(&delta, base->bytes, memory) < 0) {
        weir__base_free(memory);
        return fail_at(get, WEIR_E_CORRUPT, place, "its delta does not fit its base");
    }
    *ret_built = (struct built){memory,       memory,     (size_t)delta.result_length,
                                base->type,   place->row, place->offset,
                                base->crossed};
    return 0;
}

static int step_up(struct getting *get, const struct weir__git_place *place,
                   const struct built *base, struct built *ret_built)
{
    struct weir__git_store *store = get->store;
    const struct weir__git_pack *pack;
    struct weir__git_entry entry;
    const char *why = "";
    int result = weir__git_store_opened(store, place->row, &pack);
    if (result < 0)
        return result == -WEIR_E_NOT_FOUND ? -WEIR_E_CLOSED : result;
    result = weir__git_pack_entry(pack, place->offset, UINT64_MAX, WEIR__GIT_NONE, &entry, &why);
    if (result == 0 && entry.size > weir__git_inflate_max(entry.end - entry.data_at)) {
        why = "it claims a size that so few bytes cannot unpack to";
        result = -WEIR_E_CORRUPT;
    }
    if (result < 0)
        return fail_at(get, -result, place, why);
    result = add_work(get, entry.size, place);
    if (result == 0)
        result = add_memory(get, held_of(base), entry.size, place);
    if (result < 0)
        return result;
    uint8_t *delta = weir__base_realloc(NULL, (size_t)entry.size, 1);
    if (!delta)
        return fail_at(get, WEIR_E_NO_MEMORY, place, "out of memory");
    result = weir__git_pack_inflate(pack, &store->inflater, &entry, delta, &why);
    result = result < 0 ? fail_at(get, -result, place, why)
                        : apply(get, place, &entry, delta, base, ret_built);
    weir__base_free(delta);
    return result;
}

/* The bytes go into the cache, or are freed. */
static void let_go(struct weir__git_store *store, struct built *built)
{
    struct weir__git_cached cached = {.row = built->row,
                                      .crossed = built->crossed,
                                      .type = built->type,
                                      .offset = built->offset,
                                      .bytes = built->memory,
                                      .length = built->length};
    if (built->memory && built->row != WEIR__GIT_NONE)
        weir__git_cache_put(&store->cache, &cached);
    else
        weir__base_free(built->memory);
    built->memory = NULL;
}

/* Whether what was built on the way to an object is kept, so many steps before it. New memory takes
 * as long as a step does, and what is asked for next is mostly close to what was asked for before:
 * with each eighth one it is eight steps away at most. */
static bool is_worth_keeping(const struct built *built, size_t left)
{
    return built->length < KEPT_SMALL || left < KEPT_EACH || left % KEPT_EACH == 0;
}

static int build(struct getting *get, struct weir__git_place *place, struct built *ret_built)
{
    struct built built = {.memory = NULL};
    get->links = 0;
    get->work = 0;
    get->crossed = 0;
    int result = descend(get, place, &built);
    while (result == 0 && get->links > 0) {
        struct weir__git_link link = get->store->links[--get->links];
        struct weir__git_place at = {.row = link.row, .offset = link.offset};
        struct built next = {.memory = NULL};
        result = step_up(get, &at, &built, &next);
        if (!is_worth_keeping(&built, get->links))
            built.row = WEIR__GIT_NONE;
        let_go(get->store, &built);
        next.crossed += link.is_crossing;
        built = next;
    }
    if (result < 0)
        let_go(get->store, &built);
    else
        *ret_built = built;
    return result;
}

/* What is too large for the cache becomes the buffer's own: it is never there twice. Those that are
 * built have room for the NUL behind them; loose ones begin behind their head, which is moved
 * over. */
static int hand_over(struct weir__git_store *store, struct built *built, struct weir__buffer *bytes)
{
    bool is_large = built->memory && !weir__git_cache_takes(&store->cache, built->length);
    if (!is_large) {
        weir__buffer_truncate(bytes, 0);
        return weir__buffer_append(bytes, built->bytes, built->length);
    }
    memmove(built->memory, built->bytes, built->length);
    weir__buffer_adopt(bytes, (char *)built->memory, built->length);
    built->memory = NULL;
    return 0;
}

static bool is_unreadable(int result)
{
    return result == -WEIR_E_CORRUPT || result == -WEIR_E_DENIED;
}

/* Of what is damaged, or may not be read: any other copy. */
static int build_other(struct getting *get, struct built *ret_built)
{
    struct weir__git_place place, other = {.row = WEIR__GIT_NONE};
    int result = -WEIR_E_CORRUPT;
    while (is_unreadable(result) &&
           weir__git_store_locate_other(get->store, get->id, &other) == 0) {
        place = other;
        result = build(get, &place, ret_built);
    }
    return result;
}

int weir__git_store_get(void *arg, const struct weir__git_id *id, enum weir__git_type *ret_type,
                        struct weir__buffer *bytes)
{
    struct weir__git_store *store = arg;
    struct getting get = {.store = store, .id = id};
    struct built built = {.memory = NULL};
    struct weir__git_place place = {.is_loose = false};
    if (!weir__git_cache_takes(&store->cache, bytes->_capacity))
        weir__buffer_adopt(bytes, NULL, 0); /* it would be there beside the next one */
    int result = weir__git_store_locate(store, id, &place);
    if (result == 0)
        result = build(&get, &place, &built);
    /* The pack or the file was removed since it was listed: it is somewhere else by now. */
    if (result == -WEIR_E_CLOSED || (result == -WEIR_E_NOT_FOUND && place.is_loose)) {
        result = weir__git_store_relist(store);
        if (result == 0)
            result = weir__git_store_locate(store, id, &place);
        if (result == 0)
            result = build(&get, &place, &built);
    }
    if (is_unreadable(result) && build_other(&get, &built) == 0)
        result = 0;
    if (result < 0)
        return result == -WEIR_E_CLOSED ? -WEIR_E_NOT_FOUND : result;
    if (built.length > weir__buffer_max(bytes)) {
        result = fail_at(&get, WEIR_E_TOO_LARGE, &place, "it is larger than asked for");
    } else {
        result = hand_over(store, &built, bytes);
        if (result < 0)
            result = fail_at(&get, WEIR_E_NO_MEMORY, &place, "out of memory");
        else if (ret_type)
            *ret_type = built.type;
    }
    let_go(store, &built);
    return result;
}

int weir__git_store_has(struct weir__git_store *store, const struct weir__git_id *id)
{
    struct weir__git_place place;
    return weir__git_store_locate(store, id, &place);
}
