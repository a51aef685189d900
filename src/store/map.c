/* map.c - a hash table of entries. */
#include "map.h"

#include <string.h>
#include <sys/random.h>

#include <weir/error.h>

#include "alloc.h"
#include "require.h"

#include "banned.h"

#define ROOM_MIN 64u

void weir__map_init(struct weir__map *map, size_t count_max)
{
    *map = (struct weir__map){._count_max = count_max};
    /* Without a source of chance the map is as good as any other; an odd number it must be. */
    if (getrandom(&map->_secret, sizeof(map->_secret), GRND_NONBLOCK) != sizeof(map->_secret))
        map->_secret = UINT64_C(0x9E3779B97F4A7C15) ^ (uint64_t)(uintptr_t)map;
    map->_secret |= 1;
}

void weir__map_fini(struct weir__map *map)
{
    if (map)
        weir__base_free(map->_places);
    if (map)
        map->_places = NULL;
}

static size_t home_of(const struct weir__map *map, const struct weir__address *address)
{
    uint64_t a, b;
    memcpy(&a, address->bytes, sizeof(a));
    memcpy(&b, address->bytes + sizeof(a), sizeof(b));
    /* The upper half of a product with a secret factor depends on all bits below it. */
    uint64_t mixed = (a ^ (b >> 32)) * map->_secret;
    return (size_t)((mixed ^ b) * map->_secret >> 32) & (map->_room - 1);
}

/* The place of the address, or the free one where it would be. */
static size_t find(const struct weir__map *map, const struct weir__address *address)
{
    size_t at = home_of(map, address);
    while (map->_places[at].type && !weir__address_is_equal(&map->_places[at].address, address))
        at = (at + 1) & (map->_room - 1);
    return at;
}

int weir__map_larger(const struct weir__map *map, size_t more, struct weir__map *ret_larger)
{
    struct weir__map larger = *map;
    size_t wanted, room = map->_room ? map->_room : ROOM_MIN;
    if (more > map->_count_max || map->_count > map->_count_max - more)
        return -WEIR_E_OVERFLOW;
    wanted = map->_count + more;
    /* Three quarters full at most: runs stay short. */
    while (room / 4 * 3 < wanted)
        room *= 2;
    larger._places = NULL;
    if (room != map->_room) {
        larger._room = room;
        larger._places = weir__base_alloc(room, sizeof(*larger._places));
        if (!larger._places)
            return -WEIR_E_NO_MEMORY;
        for (size_t i = 0; i < map->_room; i++)
            if (map->_places[i].type)
                larger._places[find(&larger, &map->_places[i].address)] = map->_places[i];
    }
    *ret_larger = larger;
    return 0;
}

void weir__map_swap(struct weir__map *map, struct weir__map *larger)
{
    struct weir__map before = *map;
    if (!larger->_places)
        return;
    *map = *larger;
    *larger = before;
}

int weir__map_reserve(struct weir__map *map, size_t more)
{
    struct weir__map larger;
    int error = weir__map_larger(map, more, &larger);
    if (error)
        return error;
    weir__map_swap(map, &larger);
    weir__map_fini(&larger);
    return 0;
}

void weir__map_set(struct weir__map *map, const struct weir__entry *entry)
{
    WEIR__REQUIRE(map->_room > 0, "map", "entries", "no room was reserved");
    size_t at = find(map, &entry->address);
    if (!map->_places[at].type) {
        WEIR__REQUIRE(map->_count + 1 < map->_room, "map", "entries", "it is full");
        map->_count++;
    }
    map->_places[at] = *entry;
}

bool weir__map_get(const struct weir__map *map, const struct weir__address *address,
                   struct weir__entry *ret_entry)
{
    if (map->_count == 0)
        return false;
    size_t at = find(map, address);
    if (!map->_places[at].type)
        return false;
    *ret_entry = map->_places[at];
    return true;
}

bool weir__map_remove(struct weir__map *map, const struct weir__address *address)
{
    if (map->_count == 0)
        return false;
    size_t hole = find(map, address), mask = map->_room - 1;
    if (!map->_places[hole].type)
        return false;
    /* Who was pushed beyond the hole by it moves back into it. */
    for (size_t at = (hole + 1) & mask; map->_places[at].type; at = (at + 1) & mask) {
        size_t home = home_of(map, &map->_places[at].address);
        if (((at - home) & mask) < ((at - hole) & mask))
            continue;
        map->_places[hole] = map->_places[at];
        hole = at;
    }
    map->_places[hole].type = (enum weir__record_type)0;
    map->_count--;
    return true;
}

void weir__map_copy(const struct weir__map *map, struct weir__entry *entries)
{
    for (size_t i = 0; i < map->_room; i++)
        if (map->_places[i].type)
            *entries++ = map->_places[i];
}

void weir__map_clear(struct weir__map *map)
{
    for (size_t i = 0; map->_count > 0 && i < map->_room; i++)
        map->_places[i].type = (enum weir__record_type)0;
    map->_count = 0;
}

size_t weir__map_count(const struct weir__map *map)
{
    return map->_count;
}
