/* histogram.c - buckets of relaxed counters. */
#include <weir/histogram.h>

#include <string.h>

#include "atomic.h"
#include "error.h"

const uint64_t weir_histogram_time_bounds_ns[WEIR_HISTOGRAM_TIME_COUNT] = {
    UINT64_C(1000),        UINT64_C(4000),        UINT64_C(16000),      UINT64_C(64000),
    UINT64_C(256000),      UINT64_C(1024000),     UINT64_C(4096000),    UINT64_C(16384000),
    UINT64_C(65536000),    UINT64_C(262144000),   UINT64_C(1048576000), UINT64_C(4194304000),
    UINT64_C(16777216000), UINT64_C(67108864000),
};

int weir_histogram_init(struct weir_histogram *histogram, const uint64_t *bounds,
                        uint32_t bound_count)
{
    if (!bounds || bound_count == 0 || bound_count > WEIR_HISTOGRAM_BUCKETS_MAX)
        return weir__fail(WEIR_E_INVALID, NULL, "histogram: $1 bounds given, 1 to $2 are needed",
                          bounds ? bound_count : 0, WEIR_HISTOGRAM_BUCKETS_MAX, 0);
    for (uint32_t i = 1; i < bound_count; i++)
        if (bounds[i] <= bounds[i - 1])
            return weir__fail(WEIR_E_INVALID, NULL,
                              "histogram: bound $1 ($2) does not rise above $3", i + 1, bounds[i],
                              bounds[i - 1]);
    memset(histogram, 0, sizeof(*histogram));
    histogram->_bounds = bounds;
    histogram->_bound_count = bound_count;
    return 0;
}

void weir_histogram_observe(struct weir_histogram *histogram, uint64_t value)
{
    uint32_t at = 0;
    while (at < histogram->_bound_count && value > histogram->_bounds[at])
        at++;
    weir__count(&histogram->_buckets[at], 1);
    weir__count(&histogram->_sum, value);
}

void weir_histogram_read(const struct weir_histogram *histogram,
                         struct weir_histogram_snapshot *ret_snapshot)
{
    ret_snapshot->bounds = histogram->_bounds;
    ret_snapshot->bound_count = histogram->_bound_count;
    ret_snapshot->count = 0;
    for (uint32_t i = 0; i <= histogram->_bound_count; i++) {
        ret_snapshot->buckets[i] = weir__load64_relaxed(&histogram->_buckets[i]);
        ret_snapshot->count += ret_snapshot->buckets[i];
    }
    ret_snapshot->sum = weir__load64_relaxed(&histogram->_sum);
}
