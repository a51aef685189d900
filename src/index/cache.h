/* cache.h - answers that were found not long ago, within a number of entries and of bytes.
 *
 * One thread writes, the janitor: it takes what is handed in from a bounded line, puts it into the
 * table, takes out what is too old, and makes room. Everybody reads: a shard's lock is held for as
 * long as it takes to find an entry and to take a reference to its answer, which never changes.
 *
 * Promises
 * - Never more than entries_max answers or bytes_max bytes, at any moment. What a reader still has
 *   a reference to lives on beside that, as long as it does. An answer of more than a quarter of
 *   bytes_max is not cached.
 * - A reader gets a whole answer, the old one or the new one.
 * - Handing in never waits: when the line is full the answer is not cached, and that is counted.
 * - An answer is fresh until fresh_until_ns, stale until stale_until_ns, and gone then. A newer
 *   answer of a name never gives way to one with a lower sequence.
 * - What was read lately stays when room is needed (second chance); pinned keys stay in any case,
 *   as long as they are stale at least. When nothing but pinned answers is left, a new one is
 *   refused.
 * - What was dropped is a miss from the moment on that the call returned, and what a lookup found
 *   that had begun before is not cached. Of each shard the last WEIR__CACHE_DROPS drops are known
 * by their keys; what a lookup found that had begun before an older one is not cached for any key.
 * - An answer of a name also says who provides what it means. When the key of that was dropped, a
 *   fresh one is stale from the moment on that the call returned: what it says of the name still
 *   holds. Some thousand keys share a place in which that is noted, so now and then an answer is
 *   looked up again for the drop of another.
 * - Finding costs one short lock, of a name two after each other, one look into a chain and two
 * reference counts; it never waits for the janitor, who holds a shard's lock for as short a time.
 *
 * The seed's rule that the janitor alone writes `cache_meta` holds for the table and for every
 * entry's answer. Readers leave three marks in an entry, under the same lock, which the janitor
 * only reads: that it was used, that somebody was told that it is due, and when it was dropped.
 *
 * Ownership: the cache has a reference to each of its answers.
 */
#ifndef WEIR_INDEX_CACHE_H
#define WEIR_INDEX_CACHE_H

#include <weir/crew.h>
#include <weir/queue.h>

#include "answer.h"

#define WEIR__CACHE_SHARDS  64u
#define WEIR__CACHE_LINE    1024u
#define WEIR__CACHE_DROPS   64u  /* of each shard */
#define WEIR__CACHE_TOUCHES 256u /* places of each shard for when its keys were last dropped */
/* The janitor looks at the clock so often when nothing is handed in. */
#define WEIR__CACHE_TURN_NS (100 * WEIR_NS_PER_MS)
/* Who was told that an answer is due has so long to bring a new one, then another is told. */
#define WEIR__CACHE_DUE_NS (500 * WEIR_NS_PER_MS)

struct weir__cache;

struct weir__cache_limits {
    uint64_t entries_max, bytes_max;
    uint64_t purge_ns; /* amnesia: everything goes so often; 0: never */
};

WEIR_MUST_USE int weir__cache_new(struct weir__cache **ret_cache,
                                  const struct weir__cache_limits *limits);
/* Accepts NULL. Nobody is in a call, the janitor has ended. */
void weir__cache_free(struct weir__cache *cache);
/* From the janitor's next turn on. The table has as many chains as the first limits asked for: with
 * ten times as many entries chains are ten times as long. */
void weir__cache_update(struct weir__cache *cache, const struct weir__cache_limits *limits);

enum weir__cache_state { WEIR__CACHE_MISS, WEIR__CACHE_FRESH, WEIR__CACHE_STALE };
/* The answer with a reference for the caller, unless it is a miss. ret_is_due: fresh, and near
 * enough to its end that somebody should ask again (told to one caller in a while). */
enum weir__cache_state weir__cache_find(struct weir__cache *cache,
                                        const struct weir__question_key *key, uint64_t now_ns,
                                        struct weir__answer **ret_answer, bool *ret_is_due);

/* Whether it is of a name, and the key of who provides what that means was dropped since it was
 * asked for. */
bool weir__cache_is_overtaken(struct weir__cache *cache, const struct weir__answer *answer);

/* Takes a reference of its own. Never waits. */
void weir__cache_offer(struct weir__cache *cache, struct weir__answer *answer);
/* What was asked until now does not answer the key any more, whatever is returned. Busy: the line
 * is full, so that an answer that is there takes its room until it expires. */
WEIR_MUST_USE int weir__cache_drop(struct weir__cache *cache, const struct weir__question_key *key);
/* Everything, at the janitor's next turn; pins stay. Busy: the line is full. */
WEIR_MUST_USE int weir__cache_clear(struct weir__cache *cache);
/* Busy: the line is full. How many may be pinned is the caller's concern (pins.h). */
WEIR_MUST_USE int weir__cache_pin(struct weir__cache *cache, const struct weir__question_key *key,
                                  bool is_pinned);

/* The same at once, before the janitor has begun: the line has not room for all that may be pinned.
 * NoMemory. */
WEIR_MUST_USE int weir__cache_load_pin(struct weir__cache *cache,
                                       const struct weir__question_key *key);

/* The janitor: a member of the crew, of low priority; arg is the cache. */
int weir__cache_main(struct weir_crew_self *self, void *arg);
/* One turn of it, for tests: what is in line, and what is too old by now. */
void weir__cache_turn(struct weir__cache *cache, uint64_t now_ns);
/* Nothing is taken in any more: the janitor works off its line and ends. */
void weir__cache_close(struct weir__cache *cache);

struct weir__cache_stats {
    uint64_t entries, bytes, pinned;
    uint64_t hits, stale_hits, misses, negative_hits;
    uint64_t inserted, replaced, expired, evicted, dropped;
    uint64_t refused;  /* not cached: the line was full, or there was no memory or room */
    uint64_t outdated; /* not cached: a newer one is there, or the key was dropped since */
    uint64_t purges;
};
void weir__cache_read(struct weir__cache *cache, struct weir__cache_stats *ret_stats);
struct weir_queue *weir__cache_line(struct weir__cache *cache);

#endif
