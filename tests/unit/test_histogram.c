/* Histograms: bounds, which bucket a value belongs to, sums, and what a snapshot is. */
#include "tap.h"

#include <weir/histogram.h>

#include <weir/error.h>

#include "thread.h"

static const uint64_t bounds[] = {10, 20, 40};

TEST(refuses_bad_bounds)
{
    struct weir_histogram histogram = {._bound_count = 77};
    CHECK_EQ(weir_histogram_init(&histogram, NULL, 3), -WEIR_E_INVALID);
    CHECK_STR(weir_error_detail(), "histogram: 0 bounds given, 1 to 24 are needed");
    CHECK_EQ(weir_histogram_init(&histogram, bounds, 0), -WEIR_E_INVALID);
    CHECK_EQ(weir_histogram_init(&histogram, bounds, WEIR_HISTOGRAM_BUCKETS_MAX + 1),
             -WEIR_E_INVALID);
    CHECK_STR(weir_error_detail(), "histogram: 25 bounds given, 1 to 24 are needed");
    static const uint64_t falling[] = {10, 30, 20}, equal[] = {10, 10};
    CHECK_EQ(weir_histogram_init(&histogram, falling, 3), -WEIR_E_INVALID);
    CHECK_STR(weir_error_detail(), "histogram: bound 3 (20) does not rise above 30");
    CHECK_EQ(weir_histogram_init(&histogram, equal, 2), -WEIR_E_INVALID);
    CHECK_EQ(histogram._bound_count, 77); /* untouched by what failed */
}

TEST(a_new_one_is_empty)
{
    struct weir_histogram histogram;
    struct weir_histogram_snapshot snapshot;
    memset(&histogram, 0xff, sizeof(histogram));
    CHECK_EQ(weir_histogram_init(&histogram, bounds, 3), 0);
    weir_histogram_read(&histogram, &snapshot);
    CHECK(snapshot.bounds == bounds);
    CHECK_EQ(snapshot.bound_count, 3);
    CHECK_EQ(snapshot.count, 0);
    CHECK_EQ(snapshot.sum, 0);
    for (int i = 0; i <= 3; i++)
        CHECK_EQ(snapshot.buckets[i], 0);
}

TEST(a_value_equal_to_a_bound_is_below_it)
{
    struct weir_histogram histogram;
    struct weir_histogram_snapshot snapshot;
    CHECK_EQ(weir_histogram_init(&histogram, bounds, 3), 0);
    static const uint64_t values[] = {0, 10, 11, 20, 21, 40, 41, 1000};
    uint64_t sum = 0;
    for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
        weir_histogram_observe(&histogram, values[i]);
        sum += values[i];
    }
    weir_histogram_read(&histogram, &snapshot);
    for (int i = 0; i <= 3; i++) /* each bucket has its lowest and its highest value */
        CHECK_EQ(snapshot.buckets[i], 2);
    CHECK_EQ(snapshot.count, 8);
    CHECK_EQ(snapshot.sum, sum);
}

TEST(the_largest_number_of_bounds_and_the_largest_value)
{
    uint64_t many[WEIR_HISTOGRAM_BUCKETS_MAX];
    struct weir_histogram histogram;
    struct weir_histogram_snapshot snapshot;
    for (uint64_t i = 0; i < WEIR_HISTOGRAM_BUCKETS_MAX; i++)
        many[i] = i;
    CHECK_EQ(weir_histogram_init(&histogram, many, WEIR_HISTOGRAM_BUCKETS_MAX), 0);
    weir_histogram_observe(&histogram, 0);
    weir_histogram_observe(&histogram, UINT64_MAX);
    weir_histogram_read(&histogram, &snapshot);
    CHECK_EQ(snapshot.buckets[0], 1);
    CHECK_EQ(snapshot.buckets[WEIR_HISTOGRAM_BUCKETS_MAX], 1);
    CHECK_EQ(snapshot.count, 2);
    CHECK(snapshot.sum == UINT64_MAX);
}

TEST(a_snapshot_stands_still)
{
    struct weir_histogram histogram;
    struct weir_histogram_snapshot before, after;
    CHECK_EQ(weir_histogram_init(&histogram, bounds, 3), 0);
    weir_histogram_observe(&histogram, 15);
    weir_histogram_read(&histogram, &before);
    weir_histogram_observe(&histogram, 16);
    weir_histogram_read(&histogram, &after);
    CHECK_EQ(before.buckets[1], 1);
    CHECK_EQ(before.sum, 15);
    CHECK_EQ(after.buckets[1], 2);
    CHECK_EQ(after.sum, 31);
}

TEST(times_go_from_a_microsecond_to_a_minute_by_four)
{
    CHECK_EQ(weir_histogram_time_bounds_ns[0], WEIR_NS_PER_US);
    for (int i = 1; i < WEIR_HISTOGRAM_TIME_COUNT; i++)
        CHECK_EQ(weir_histogram_time_bounds_ns[i], 4 * weir_histogram_time_bounds_ns[i - 1]);
    CHECK(weir_histogram_time_bounds_ns[WEIR_HISTOGRAM_TIME_COUNT - 1] > 60 * WEIR_NS_PER_S);
}

static void observe_many(void *arg)
{
    for (uint64_t i = 0; i < 500000; i++)
        weir_histogram_observe(arg, i % 50);
}

TEST(nothing_is_lost_between_threads_and_totals_are_those_of_the_buckets)
{
    struct weir_histogram histogram;
    struct weir_histogram_snapshot snapshot;
    struct weir__thread threads[3];
    CHECK_EQ(weir_histogram_init(&histogram, bounds, 3), 0);
    for (int i = 0; i < 3; i++)
        CHECK_EQ(weir__thread_start(&threads[i], "observer", observe_many, &histogram), 0);
    uint64_t last = 0;
    for (int look = 0; look < 2000; look++) {
        weir_histogram_read(&histogram, &snapshot);
        uint64_t total = 0;
        for (int i = 0; i <= 3; i++)
            total += snapshot.buckets[i];
        CHECK_EQ(snapshot.count, total);
        CHECK(snapshot.count >= last); /* counts never go back */
        last = snapshot.count;
    }
    for (int i = 0; i < 3; i++)
        weir__thread_join(&threads[i]);
    weir_histogram_read(&histogram, &snapshot);
    CHECK_EQ(snapshot.buckets[0], 3 * 10000 * 11);
    CHECK_EQ(snapshot.buckets[1], 3 * 10000 * 10);
    CHECK_EQ(snapshot.buckets[2], 3 * 10000 * 20);
    CHECK_EQ(snapshot.buckets[3], 3 * 10000 * 9);
    CHECK_EQ(snapshot.sum, 3 * 10000 * (49 * 50 / 2));
}

TAP_MAIN()
