/* commit_set.c - open addressing over numbers of ids.
 *
 * A slot is a number + 1, 0 when it is free; probing is linear. Nothing is ever taken out.
 */
#include "commit_set.h"

#include <weir/clock.h>

#include "alloc.h"

#include "banned.h"

#define SLOTS_FIRST        64u
#define BLOCKS_FIRST       16u
#define FULL(count, slots) ((uint64_t)(count)*4 >= (uint64_t)(slots)*3)

void weir__git_set_init(struct weir__git_set *set, size_t id_size, size_t extra_size,
                        uint64_t bytes_max)
{
    *set = (struct weir__git_set){._id_size = id_size,
                                  ._extra_size = extra_size,
                                  ._bytes_max = bytes_max ? bytes_max : UINT64_MAX};
    set->_seed = (weir_now_ns() ^ (uint64_t)(uintptr_t)set) * UINT64_C(0x9e3779b97f4a7c15);
}

void weir__git_set_fini(struct weir__git_set *set)
{
    if (!set)
        return;
    for (size_t i = 0; i < set->_blocks_room && set->_blocks[i]; i++)
        weir__base_free(set->_blocks[i]);
    weir__base_free(set->_blocks);
    weir__base_free(set->_slots);
    *set = (struct weir__git_set){0};
}

uint64_t weir__git_set_needs(uint64_t count, size_t id_size, size_t extra_size)
{
    uint64_t slots = SLOTS_FIRST, room = BLOCKS_FIRST;
    uint64_t blocks = count / WEIR__GIT_SET_BLOCK + 1;
    while (FULL(count, slots))
        slots *= 2;
    while (room < blocks)
        room *= 2;
    /* While a table grows, the old one of half the size is there too. */
    return blocks * WEIR__GIT_SET_BLOCK * (id_size + extra_size) + slots * 4 + slots * 2 +
           (room + room / 2) * sizeof(uint8_t *);
}

static uint64_t mix(uint64_t hash, uint64_t word)
{
    hash = (hash ^ word) * UINT64_C(0xff51afd7ed558ccd);
    return hash ^ hash >> 32;
}

static uint64_t hash_of(const struct weir__git_set *set, const struct weir__git_id *id)
{
    uint64_t words[WEIR__GIT_ID_SIZE_MAX / 8], hash = set->_seed;
    memcpy(words, id->bytes, sizeof(words));
    hash = mix(mix(mix(hash, words[0]), words[1]), words[2]);
    return set->_id_size > 24 ? mix(hash, words[3]) : hash;
}

/* The record comes first, so that it is aligned. */
static uint8_t *record(const struct weir__git_set *set, uint32_t number)
{
    return set->_blocks[number / WEIR__GIT_SET_BLOCK] +
           (size_t)(number % WEIR__GIT_SET_BLOCK) * (set->_extra_size + set->_id_size);
}

static const uint8_t *place(const struct weir__git_set *set, uint32_t number)
{
    return record(set, number) + set->_extra_size;
}

void *weir__git_set_extra(const struct weir__git_set *set, uint32_t number)
{
    return record(set, number);
}

struct weir__git_id weir__git_set_id(const struct weir__git_set *set, uint32_t number)
{
    return weir__git_id_of(place(set, number), set->_id_size);
}

/* The slot that has the id, or the free one where it would be. */
static uint32_t slot_of(const struct weir__git_set *set, const struct weir__git_id *id)
{
    uint32_t mask = set->_slots_count - 1, at = (uint32_t)hash_of(set, id) & mask;
    while (set->_slots[at] != 0 &&
           memcmp(place(set, set->_slots[at] - 1), id->bytes, set->_id_size) != 0)
        at = (at + 1) & mask;
    return at;
}

uint32_t weir__git_set_find(const struct weir__git_set *set, const struct weir__git_id *id)
{
    if (set->_count == 0)
        return WEIR__GIT_SET_NONE;
    uint32_t slot = set->_slots[slot_of(set, id)];
    return slot ? slot - 1 : WEIR__GIT_SET_NONE;
}

static bool may_take(const struct weir__git_set *set, uint64_t bytes)
{
    return bytes <= set->_bytes_max && set->_bytes <= set->_bytes_max - bytes;
}

static int grow_slots(struct weir__git_set *set)
{
    uint32_t count = set->_slots_count ? set->_slots_count * 2 : SLOTS_FIRST;
    uint64_t bytes = (uint64_t)count * sizeof(uint32_t);
    if (count == 0 || !may_take(set, bytes))
        return -WEIR_E_TOO_LARGE;
    uint32_t *slots = weir__base_alloc(count, sizeof(uint32_t));
    if (!slots)
        return -WEIR_E_NO_MEMORY;
    for (uint32_t number = 0; number < set->_count; number++) {
        struct weir__git_id id = weir__git_set_id(set, number);
        uint32_t at = (uint32_t)hash_of(set, &id) & (count - 1);
        while (slots[at] != 0)
            at = (at + 1) & (count - 1);
        slots[at] = number + 1;
    }
    weir__base_free(set->_slots);
    set->_bytes += bytes - (uint64_t)set->_slots_count * sizeof(uint32_t);
    set->_slots = slots;
    set->_slots_count = count;
    return 0;
}

static int grow_blocks(struct weir__git_set *set)
{
    size_t at = set->_count / WEIR__GIT_SET_BLOCK;
    uint64_t bytes = (uint64_t)WEIR__GIT_SET_BLOCK * (set->_id_size + set->_extra_size);
    if (at < set->_blocks_room && set->_blocks[at])
        return 0;
    if (at >= set->_blocks_room) {
        size_t room = set->_blocks_room ? set->_blocks_room * 2 : BLOCKS_FIRST;
        if (!may_take(set, (room - set->_blocks_room) * sizeof(uint8_t *)))
            return -WEIR_E_TOO_LARGE;
        uint8_t **blocks = weir__base_realloc(set->_blocks, room, sizeof(uint8_t *));
        if (!blocks)
            return -WEIR_E_NO_MEMORY;
        memset(blocks + set->_blocks_room, 0, (room - set->_blocks_room) * sizeof(uint8_t *));
        set->_bytes += (room - set->_blocks_room) * sizeof(uint8_t *);
        set->_blocks = blocks;
        set->_blocks_room = room;
    }
    if (!may_take(set, bytes))
        return -WEIR_E_TOO_LARGE;
    set->_blocks[at] = weir__base_alloc(WEIR__GIT_SET_BLOCK, set->_id_size + set->_extra_size);
    if (!set->_blocks[at])
        return -WEIR_E_NO_MEMORY;
    set->_bytes += bytes;
    return 0;
}

int weir__git_set_add(struct weir__git_set *set, const struct weir__git_id *id,
                      uint32_t *ret_number)
{
    uint32_t at = 0;
    if (set->_slots_count > 0) {
        at = slot_of(set, id);
        if (set->_slots[at] != 0) {
            *ret_number = set->_slots[at] - 1;
            return 0;
        }
    }
    if (set->_count >= WEIR__GIT_SET_MAX)
        return -WEIR_E_TOO_LARGE;
    int error = grow_blocks(set);
    if (!error && FULL(set->_count, set->_slots_count)) {
        error = grow_slots(set);
        if (!error)
            at = slot_of(set, id);
    }
    if (error)
        return error;
    uint8_t *into = record(set, set->_count);
    memset(into, 0, set->_extra_size);
    memcpy(into + set->_extra_size, id->bytes, set->_id_size);
    *ret_number = set->_count++;
    set->_slots[at] = set->_count;
    return 1;
}

void weir__git_set_clear(struct weir__git_set *set)
{
    if (set->_slots)
        memset(set->_slots, 0, (size_t)set->_slots_count * sizeof(uint32_t));
    set->_count = 0;
}
