/* cache_part.h - the inside of the cache: a table in shards, and what the janitor alone knows.
 *
 * An entry is in one chain of its shard, and in the janitor's two orders: a ring for the second
 * chance, and a heap by the time at which its answer is gone. An entry without an answer stands for
 * a pinned key; it is in its chain and nowhere else.
 *
 * Ownership: the cache owns its entries, an entry one reference to its answer.
 */
#ifndef WEIR_INDEX_CACHE_PART_H
#define WEIR_INDEX_CACHE_PART_H

#include <weir/metrics.h>

#include "cache.h"

#define WEIR__HEAP_NONE SIZE_MAX

struct weir__cache_entry {
    /* Guarded by the shard's lock; the janitor may read without it what it alone writes. */
    struct weir__cache_entry *next; /* in the chain */
    struct weir__question_key key;
    struct weir__answer *answer; /* NULL: pinned, and nothing known */
    bool was_used;               /* readers' marks: */
    uint64_t due_told_ns;
    uint64_t dropped_ns; /* answers of lookups that had begun by then do not count */
    /* The janitor's. */
    struct weir__cache_entry *ring_prev, *ring_next;
    size_t heap_at;
    bool is_pinned;
};

struct weir__cache_dropped {
    struct weir__question_key key;
    uint64_t at_ns;
};

struct weir__cache_shard {
    struct weir_lock lock;
    struct weir__cache_entry **chains;
    struct weir__cache_dropped drops[WEIR__CACHE_DROPS]; /* the last ones, by who dropped */
    size_t drops_next;
    uint64_t forgotten_ns; /* the newest drop that is not among them, of whichever key */
    uint64_t touched_ns[WEIR__CACHE_TOUCHES]; /* the newest drop of the keys that share a place */
    uint64_t hits, stale_hits, misses, negative_hits;
} __attribute__((aligned(64)));

enum weir__cache_order { WEIR__CACHE_TAKE, WEIR__CACHE_DROP, WEIR__CACHE_CLEAR, WEIR__CACHE_PIN };

/* What is handed in. */
struct weir__cache_item {
    enum weir__cache_order order;
    bool is_pinned;
    uint64_t at_ns;
    struct weir__answer *answer; /* of TAKE: a reference */
    struct weir__question_key key;
};

struct weir__cache {
    struct weir__cache_shard *shards;
    uint32_t chains_mask; /* of each shard */
    struct weir_queue line;
    struct weir_lock rules_lock;
    struct weir__cache_limits rules;     /* guarded by it: what update() left */
    struct weir_counter refused_in_line; /* by those who hand in */

    /* The janitor's alone. */
    struct weir__cache_limits limits;
    struct weir__cache_entry *hand; /* in the ring; the next one to be looked at */
    struct weir__cache_entry **heap;
    size_t heap_count, heap_room;
    uint64_t cleared_ns, purged_ns;

    /* Written by the janitor, read by anybody. */
    struct weir_gauge entries, bytes, pinned;
    struct weir_counter inserted, replaced, expired, evicted, dropped, refused, outdated, purges;
};

struct weir__cache_shard *weir__cache_shard_of(struct weir__cache *cache,
                                               const struct weir__question_key *key);
/* With the shard's lock held, or by the janitor. NULL: there is none. */
struct weir__cache_entry **weir__cache_link(struct weir__cache *cache,
                                            const struct weir__question_key *key);

/* With the shard's lock held: what was asked by then may say what was true before a drop. */
uint64_t weir__cache_dropped_ns(const struct weir__cache_shard *shard,
                                const struct weir__question_key *key);

/* The heap by stale_until_ns. Room is asked for first, so that putting in cannot fail. */
bool weir__cache_heap_reserve(struct weir__cache *cache);
void weir__cache_heap_put(struct weir__cache *cache, struct weir__cache_entry *entry);
void weir__cache_heap_take(struct weir__cache *cache, struct weir__cache_entry *entry);

/* The janitor's steps. */
void weir__cache_handle(struct weir__cache *cache, struct weir__cache_item *item);
void weir__cache_expire(struct weir__cache *cache, uint64_t now_ns);
void weir__cache_remove_all(struct weir__cache *cache, struct weir_counter *count);

#endif
