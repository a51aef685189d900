/* map.h - entries by address, in memory.
 *
 * Open addressing with linear probing; removing moves what follows, so there are no graves. Where
 * an address lies is a secret of the map's own, so that nobody can upload content that piles up in
 * one place.
 *
 * Limits: count_max entries, stated at birth; beyond, Overflow. Memory is 80 bytes for each place,
 * and at most twice as many places as entries, but for a map that never held anything, which has
 * none.
 *
 * Not for two threads at once; whoever shares one has a lock around it. A call takes memory only in
 * weir__map_reserve() and weir__map_larger(), so that the others can be made where nothing may
 * fail.
 *
 * Ownership: entries are copied in and out.
 */
#ifndef WEIR_STORE_MAP_H
#define WEIR_STORE_MAP_H

#include "record.h"

struct weir__map {
    struct weir__entry *_places; /* type 0: free */
    size_t _room;                /* a power of two */
    size_t _count;
    size_t _count_max;
    uint64_t _secret;
};

/* Allocates nothing. */
void weir__map_init(struct weir__map *map, size_t count_max);
/* Accepts NULL and zeros. */
void weir__map_fini(struct weir__map *map);

/* Room for so many more, so that setting them cannot fail. Overflow, NoMemory. */
WEIR_MUST_USE int weir__map_reserve(struct weir__map *map, size_t more);

/* The same in two steps, for the one thread that changes a map which others read under a lock: a
 * larger copy is made without it (nothing, if there is room), and takes the map's place under it.
 * What is left is given back by weir__map_fini(). */
WEIR_MUST_USE int weir__map_larger(const struct weir__map *map, size_t more,
                                   struct weir__map *ret_larger);
void weir__map_swap(struct weir__map *map, struct weir__map *larger);

/* In place of what is there under this address. Asserts that there is room. */
void weir__map_set(struct weir__map *map, const struct weir__entry *entry);
bool weir__map_get(const struct weir__map *map, const struct weir__address *address,
                   struct weir__entry *ret_entry);
/* Whether it was there. */
bool weir__map_remove(struct weir__map *map, const struct weir__address *address);
/* All of them in no order, into room for weir__map_count(). */
void weir__map_copy(const struct weir__map *map, struct weir__entry *entries);
/* Forgets all, and keeps the memory. */
void weir__map_clear(struct weir__map *map);
size_t weir__map_count(const struct weir__map *map);

#endif
