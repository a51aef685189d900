/* locks.h - the ranks of the room's locks, in the order in which a thread may take them.
 *
 * Outermost first; none of these is held while another one of them is taken but where that is said
 * here. What a lock guards is told where it is declared.
 *
 * Ownership: nothing here owns anything.
 */
#ifndef WEIR_INDEX_LOCKS_H
#define WEIR_INDEX_LOCKS_H

#include <weir/lock.h>

#define WEIR__RANK_TURNS       348 /* which addresses have resolvers, and what waits */
#define WEIR__RANK_CACHE_META  350 /* one shard of the cache at a time */
#define WEIR__RANK_CACHE_RULES 352 /* limits that the janitor takes over */
#define WEIR__RANK_PINS        354 /* which keys are pinned */
#define WEIR__RANK_BREAKERS    360 /* "breaker_table": attempts under way; breakers inside it */
#define WEIR__RANK_INQUIRY     362 /* one lookup: its steps and results; inside breaker_table */
#define WEIR__RANK_FLIGHTS     364
#define WEIR__RANK_LATENCY     366
#define WEIR__RANK_SEEN        367 /* sequences that are not on disk yet */
#define WEIR__RANK_ROOMS       368 /* room for replies that is not in use */

/* Each is defined where its locks are. */
extern const struct weir_lock_class weir__index_jobs_class, weir__turns_class,
    weir__cache_meta_class, weir__cache_rules_class, weir__pins_class, weir__lookup_line_class,
    weir__inquiry_class, weir__flights_class, weir__latency_class, weir__seen_class,
    weir__lookup_rooms_class, weir__repeats_class, weir__source_dht_class, weir__source_etcd_class,
    weir__etcd_ends_class, weir__etcd_watch_class, weir__publish_class, weir__records_memory_class,
    weir__records_readers_class, weir__records_lost_class;

#endif
