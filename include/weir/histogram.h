/* histogram.h - counts of values in buckets with fixed upper bounds.
 *
 * Promises: observing is two relaxed additions, never waits and never fails; counts never
 * go back. A snapshot taken while others observe may miss the newest values, but its total is the
 * sum of its own buckets.
 *
 * Ownership: lives in the caller's memory; the bounds are borrowed and must outlive it.
 */
#ifndef WEIR_HISTOGRAM_H
#define WEIR_HISTOGRAM_H

#include <weir/defs.h>

WEIR_BEGIN_DECLS

#define WEIR_HISTOGRAM_BUCKETS_MAX 24

struct weir_histogram {
    const uint64_t *_bounds; /* rising; the last bucket has no bound */
    uint32_t _bound_count;
    uint64_t _buckets[WEIR_HISTOGRAM_BUCKETS_MAX + 1];
    uint64_t _sum;
};

struct weir_histogram_snapshot {
    const uint64_t *bounds;
    uint32_t bound_count;
    uint64_t buckets[WEIR_HISTOGRAM_BUCKETS_MAX + 1]; /* not cumulative */
    uint64_t count;
    uint64_t sum;
};

/* Bounds for times in nanoseconds: 1 us to 67 s in steps of four. */
#define WEIR_HISTOGRAM_TIME_COUNT 14
WEIR_API extern const uint64_t weir_histogram_time_bounds_ns[WEIR_HISTOGRAM_TIME_COUNT];

/* Invalid unless there are 1 to WEIR_HISTOGRAM_BUCKETS_MAX bounds and they rise. */
WEIR_API WEIR_MUST_USE int weir_histogram_init(struct weir_histogram *histogram,
                                               const uint64_t *bounds, uint32_t bound_count);

/* A value equal to a bound belongs to the bucket below it. */
WEIR_API void weir_histogram_observe(struct weir_histogram *histogram, uint64_t value);

WEIR_API void weir_histogram_read(const struct weir_histogram *histogram,
                                  struct weir_histogram_snapshot *ret_snapshot);

WEIR_END_DECLS

#endif
