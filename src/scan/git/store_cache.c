/* store_cache.c - a table with a hand that goes round. */
#include "store_cache.h"

#include "alloc.h"

#include "banned.h"

/* A single object does not drive out all others. */
#define SHARE 4u

int weir__git_cache_init(struct weir__git_cache *cache, uint64_t bytes_max)
{
    *cache = (struct weir__git_cache){._bytes_max = bytes_max};
    cache->_places = weir__base_alloc(WEIR__GIT_CACHE_PLACES, sizeof(*cache->_places));
    return cache->_places ? 0 : -WEIR_E_NO_MEMORY;
}

static void empty(struct weir__git_cache *cache, struct weir__git_cached *place)
{
    if (!place->bytes)
        return;
    cache->_bytes -= place->length;
    weir__base_free(place->bytes);
    *place = (struct weir__git_cached){0};
}

void weir__git_cache_clear(struct weir__git_cache *cache)
{
    for (unsigned i = 0; cache->_places && i < WEIR__GIT_CACHE_PLACES; i++)
        empty(cache, &cache->_places[i]);
}

void weir__git_cache_fini(struct weir__git_cache *cache)
{
    weir__git_cache_clear(cache);
    weir__base_free(cache->_places);
    *cache = (struct weir__git_cache){0};
}

static struct weir__git_cached *place_of(const struct weir__git_cache *cache, uint32_t row,
                                         uint64_t offset)
{
    uint64_t hash = (offset ^ (uint64_t)row << 40) * UINT64_C(0x9e3779b97f4a7c15);
    return &cache->_places[hash >> 54];
}

const struct weir__git_cached *weir__git_cache_find(const struct weir__git_cache *cache,
                                                    uint32_t row, uint64_t offset)
{
    const struct weir__git_cached *place = place_of(cache, row, offset);
    return place->bytes && place->row == row && place->offset == offset ? place : NULL;
}

bool weir__git_cache_takes(const struct weir__git_cache *cache, uint64_t length)
{
    return length <= cache->_bytes_max / SHARE;
}

void weir__git_cache_put(struct weir__git_cache *cache, const struct weir__git_cached *object)
{
    struct weir__git_cached *place = place_of(cache, object->row, object->offset);
    if (!weir__git_cache_takes(cache, object->length)) {
        weir__base_free(object->bytes);
        return;
    }
    empty(cache, place);
    while (cache->_bytes + object->length > cache->_bytes_max) {
        cache->_hand = (cache->_hand + 1) % WEIR__GIT_CACHE_PLACES;
        empty(cache, &cache->_places[cache->_hand]);
    }
    cache->_bytes += object->length;
    *place = *object;
}
