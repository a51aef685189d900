/* The frontier: a blob and its bytes together, the limits, the line, leaving it, misuse. */
#include "tap.h"

#include <weir/frontier.h>

#include "clock.h"
#include "thread.h"

static void make(struct weir_frontier *frontier, uint64_t blobs_max, uint64_t bytes_max)
{
    struct weir_frontier_options options = {.blobs_max = blobs_max, .bytes_max = bytes_max};
    CHECK_EQ(weir_frontier_init(frontier, "repo", &options), 0);
}

TEST(refuses_limits_of_zero_and_bad_names)
{
    struct weir_frontier frontier;
    struct weir_frontier_options no_blobs = {.bytes_max = 1}, no_bytes = {.blobs_max = 1};
    struct weir_frontier_options good = {.blobs_max = 1, .bytes_max = 1};
    CHECK_EQ(weir_frontier_init(&frontier, "repo", &no_blobs), -WEIR_E_INVALID);
    CHECK_STR(weir_error_detail(),
              "frontier 'repo': a limit of 0 blobs was asked for, at least 1 is needed");
    CHECK_EQ(weir_frontier_init(&frontier, "repo", &no_bytes), -WEIR_E_INVALID);
    CHECK_HAS(weir_error_detail(), "0 bytes");
    CHECK_EQ(weir_frontier_init(&frontier, "", &good), -WEIR_E_INVALID);
    CHECK_EQ(weir_frontier_init(&frontier, NULL, &no_blobs), -WEIR_E_INVALID);
    weir_frontier_fini(NULL);
    struct weir_frontier zero = {0};
    weir_frontier_fini(&zero);
}

TEST(a_blob_and_its_bytes_go_together)
{
    struct weir_frontier frontier;
    struct weir_frontier_permit a = WEIR_FRONTIER_PERMIT_NONE, b = WEIR_FRONTIER_PERMIT_NONE,
                                c = WEIR_FRONTIER_PERMIT_NONE;
    struct weir_frontier_stats stats;
    make(&frontier, 2, 100);
    CHECK_STR(weir_frontier_name(&frontier), "repo");
    CHECK_EQ(weir_frontier_try(&frontier, 60, &a), 0);
    CHECK_EQ(weir_frontier_permit_bytes(&a), 60);
    CHECK_EQ(weir_frontier_try(&frontier, 41, &b), -WEIR_E_BUSY);
    CHECK_STR(weir_error_detail(),
              "frontier 'repo': 41 bytes asked for, 40 free, 0 waiting; try again later");
    CHECK(!weir_frontier_permit_is_held(&b));
    weir_frontier_read(&frontier, &stats);
    CHECK_EQ(stats.blobs, 1); /* the refused one holds no blob either */
    CHECK_EQ(weir_frontier_try(&frontier, 0, &b), 0);
    CHECK_EQ(weir_frontier_try(&frontier, 1, &c), -WEIR_E_BUSY);
    CHECK_HAS(weir_error_detail(), "1 blobs asked for, 0 free");
    weir_frontier_read(&frontier, &stats);
    CHECK_EQ(stats.blobs_max, 2);
    CHECK_EQ(stats.blobs, 2);
    CHECK_EQ(stats.bytes_max, 100);
    CHECK_EQ(stats.bytes, 60);
    CHECK_EQ(stats.busy, 2);
    weir_frontier_permit_move(&c, &a);
    CHECK(!weir_frontier_permit_is_held(&a));
    weir_frontier_permit_release(&a); /* empty: left alone */
    weir_frontier_permit_release(&b);
    weir_frontier_permit_release(&c);
    weir_frontier_read(&frontier, &stats);
    CHECK_EQ(stats.acquired, 2);
    CHECK_EQ(stats.released, 2);
    weir_frontier_fini(&frontier);
}

TEST(a_blob_that_can_never_fit_is_refused_at_once)
{
    struct weir_frontier frontier;
    struct weir_frontier_permit permit = WEIR_FRONTIER_PERMIT_NONE;
    struct weir_deadline never = {WEIR_NEVER, NULL};
    make(&frontier, 2, 100);
    CHECK_EQ(weir_frontier_acquire(&frontier, 101, &permit, &never), -WEIR_E_TOO_LARGE);
    CHECK_STR(weir_error_detail(),
              "frontier 'repo': 101 bytes asked for, at most 100 can ever be granted");
    CHECK_EQ(weir_frontier_try(&frontier, UINT64_MAX, &permit), -WEIR_E_TOO_LARGE);
    CHECK_EQ(weir_frontier_acquire(&frontier, 100, &permit, &never), 0);
    weir_frontier_permit_release(&permit);
    weir_frontier_fini(&frontier);
}

TEST(unlimited_bytes_still_count_blobs)
{
    struct weir_frontier frontier;
    struct weir_frontier_permit a = WEIR_FRONTIER_PERMIT_NONE, b = WEIR_FRONTIER_PERMIT_NONE;
    make(&frontier, 1, WEIR_FRONTIER_UNLIMITED);
    CHECK_EQ(weir_frontier_try(&frontier, UINT64_MAX, &a), 0);
    CHECK_EQ(weir_frontier_try(&frontier, 0, &b), -WEIR_E_BUSY);
    weir_frontier_permit_release(&a);
    weir_frontier_fini(&frontier);
}

TEST(cleanup_releases)
{
    struct weir_frontier frontier;
    make(&frontier, 1, 1);
    {
        WEIR_CLEANUP(weir_frontier_permit_release)
        struct weir_frontier_permit permit = WEIR_FRONTIER_PERMIT_NONE;
        CHECK_EQ(weir_frontier_try(&frontier, 1, &permit), 0);
    }
    weir_frontier_fini(&frontier); /* would assert */
}

struct blocked {
    struct weir_frontier *frontier;
    struct weir_deadline deadline;
    uint64_t bytes;
    int result;
    int order;
};
static int turns;

static void block(void *arg)
{
    struct blocked *blocked = arg;
    struct weir_frontier_permit permit = WEIR_FRONTIER_PERMIT_NONE;
    blocked->result =
        weir_frontier_acquire(blocked->frontier, blocked->bytes, &permit, &blocked->deadline);
    if (blocked->result == 0)
        blocked->order = ++turns; /* one at a time: only one blob may be out */
    weir_frontier_permit_release(&permit);
}

static void until_waiting(struct weir_frontier *frontier, uint64_t wanted)
{
    struct weir_frontier_stats stats;
    do {
        struct weir_deadline moment = weir_deadline_in(WEIR_NS_PER_MS / 10, NULL);
        if (!weir__clock_is_fake())
            (void)weir_deadline_sleep(&moment);
        weir_frontier_read(frontier, &stats);
    } while (stats.waiting != wanted);
}

TEST(blocked_threads_are_served_in_order)
{
    struct weir_frontier frontier;
    struct weir_frontier_permit permit = WEIR_FRONTIER_PERMIT_NONE, none = permit;
    struct blocked blocked[4];
    struct weir__thread threads[4];
    make(&frontier, 1, 100);
    turns = 0;
    CHECK_EQ(weir_frontier_try(&frontier, 10, &permit), 0);
    for (unsigned i = 0; i < 4; i++) {
        blocked[i] = (struct blocked){.frontier = &frontier,
                                      .deadline = weir_deadline_in(60 * WEIR_NS_PER_S, NULL),
                                      .bytes = i == 0 ? 100 : i,
                                      .result = 99};
        CHECK_EQ(weir__thread_start(&threads[i], "blocked", block, &blocked[i]), 0);
        until_waiting(&frontier, i + 1);
    }
    CHECK_EQ(weir_frontier_try(&frontier, 0, &none), -WEIR_E_BUSY);
    CHECK_HAS(weir_error_detail(), "4 waiting");
    weir_frontier_permit_release(&permit);
    for (int i = 0; i < 4; i++) {
        weir__thread_join(&threads[i]);
        CHECK_EQ(blocked[i].result, 0);
        CHECK_EQ(blocked[i].order, i + 1);
    }
    weir_frontier_fini(&frontier);
}

TEST(a_blocked_thread_times_out_and_is_canceled)
{
    weir__clock_fake(WEIR_NS_PER_S);
    struct weir_frontier frontier;
    struct weir_frontier_permit permit = WEIR_FRONTIER_PERMIT_NONE;
    struct weir_frontier_stats stats;
    struct weir_cancel token;
    weir_cancel_init(&token, NULL);
    make(&frontier, 1, 1);
    CHECK_EQ(weir_frontier_try(&frontier, 1, &permit), 0);
    struct blocked late = {.frontier = &frontier, .deadline = {2 * WEIR_NS_PER_S, NULL}};
    struct blocked stopped = {.frontier = &frontier, .deadline = {WEIR_NEVER, &token}};
    struct weir__thread threads[2];
    CHECK_EQ(weir__thread_start(&threads[0], "late", block, &late), 0);
    CHECK_EQ(weir__thread_start(&threads[1], "stopped", block, &stopped), 0);
    until_waiting(&frontier, 2);
    weir__clock_advance(WEIR_NS_PER_S);
    weir__thread_join(&threads[0]);
    CHECK_EQ(late.result, -WEIR_E_TIMEOUT);
    weir_cancel_fire(&token);
    weir__thread_join(&threads[1]);
    CHECK_EQ(stopped.result, -WEIR_E_CANCELED);
    weir_frontier_read(&frontier, &stats);
    CHECK_EQ(stats.enqueued, 2);
    CHECK_EQ(stats.timed_out, 1);
    CHECK_EQ(stats.canceled, 1);
    CHECK_EQ(stats.waiting, 0);
    weir_frontier_permit_release(&permit);
    weir_frontier_fini(&frontier);
    weir_cancel_fini(&token);
    weir__clock_unfake();
}

static void fini_with_permit_out(void *arg)
{
    struct weir_frontier_permit permit = WEIR_FRONTIER_PERMIT_NONE;
    if (weir_frontier_try(arg, 1, &permit) == 0)
        weir_frontier_fini(arg);
}

static void release_a_copy(void *arg)
{
    struct weir_frontier_permit permit = WEIR_FRONTIER_PERMIT_NONE, copy;
    if (weir_frontier_try(arg, 1, &permit) == 0) {
        copy = permit;
        weir_frontier_permit_release(&permit);
        weir_frontier_permit_release(&copy);
    }
}

static void move_onto_a_held_one(void *arg)
{
    struct weir_frontier_permit a = WEIR_FRONTIER_PERMIT_NONE, b = WEIR_FRONTIER_PERMIT_NONE;
    if (weir_frontier_try(arg, 1, &a) == 0 && weir_frontier_try(arg, 1, &b) == 0)
        weir_frontier_permit_move(&a, &b);
}

TEST(misuse_is_named)
{
    struct weir_frontier frontier;
    make(&frontier, 2, 2);
    CHECK(tap_dies(fini_with_permit_out, &frontier, "frontier 'repo': destroyed with permits"));
    CHECK(tap_dies(release_a_copy, &frontier, "frontier 'repo': "));
    CHECK(tap_dies(move_onto_a_held_one, &frontier, "frontier 'repo': a permit was moved"));
    weir_frontier_fini(&frontier);
}

TEST(nothing_given_is_refused)
{
    struct weir_frontier x;
    CHECK_EQ(weir_frontier_init(&x, "x", NULL), -WEIR_E_INVALID);
    CHECK_HAS(weir_error_detail(), "0 blobs");
}

#ifdef WEIR_CHECKS

static void release_a_copy_of_two(void *arg)
{
    (void)arg;
    struct weir_frontier frontier;
    struct weir_frontier_options options = {.blobs_max = 4, .bytes_max = 100};
    struct weir_frontier_permit one = WEIR_FRONTIER_PERMIT_NONE, two = one, copy;
    if (weir_frontier_init(&frontier, "pack", &options) == 0 &&
        weir_frontier_try(&frontier, 1, &one) == 0 && weir_frontier_try(&frontier, 1, &two) == 0) {
        copy = one;
        weir_frontier_permit_release(&one);
        weir_frontier_permit_release(&copy);
    }
}

TEST(a_copy_is_caught_even_while_others_are_out)
{
    CHECK(tap_dies(release_a_copy_of_two, NULL,
                   "frontier 'pack': what it handed out once was given back twice"));
}

#endif

TAP_MAIN()
