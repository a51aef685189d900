/* store_cache.h - objects that were built a moment ago, since the next one is often built from
 * them.
 *
 * A table of fixed size, one object in each place, and a limit on their bytes: a new one takes the
 * place of the old, and others go in turn until it fits.
 *
 * Ownership: the cache owns what is put into it; what is found is valid until the next put.
 */
#ifndef WEIR_SCAN_GIT_STORE_CACHE_H
#define WEIR_SCAN_GIT_STORE_CACHE_H

#include "object_id.h"

#define WEIR__GIT_CACHE_PLACES 1024u

struct weir__git_cached {
    uint32_t row;     /* of the pack */
    uint32_t crossed; /* steps of its chain from one pack to another */
    enum weir__git_type type;
    uint64_t offset;
    uint8_t *bytes; /* NULL: a free place */
    size_t length;
};

struct weir__git_cache {
    struct weir__git_cached *_places;
    uint64_t _bytes;
    uint64_t _bytes_max;
    unsigned _hand;
};

/* Whether one of that length is kept. */
bool weir__git_cache_takes(const struct weir__git_cache *cache, uint64_t length);

WEIR_MUST_USE int weir__git_cache_init(struct weir__git_cache *cache, uint64_t bytes_max);
void weir__git_cache_fini(struct weir__git_cache *cache);
void weir__git_cache_clear(struct weir__git_cache *cache);
/* NULL: it is not there. */
const struct weir__git_cached *weir__git_cache_find(const struct weir__git_cache *cache,
                                                    uint32_t row, uint64_t offset);
/* Takes over the bytes, which are freed at once when they do not fit. */
void weir__git_cache_put(struct weir__git_cache *cache, const struct weir__git_cached *object);

#endif
