/* Locks: mutual exclusion, and the rules that builds with checks enforce. */
#include "tap.h"

#include <weir/deadline.h>
#include <weir/lock.h>

#include "thread.h"

static const struct weir_lock_class outer_class = {"outer", 10};
static const struct weir_lock_class inner_class = {"inner", 20};

struct shared {
    struct weir_lock lock;
    long count;
};

static void add_many(void *arg)
{
    struct shared *shared = arg;
    for (int i = 0; i < 20000; i++) {
        weir_lock_acquire(&shared->lock);
        shared->count++;
        weir_lock_release(&shared->lock);
    }
}

TEST(excludes)
{
    struct shared shared = {WEIR_LOCK_INIT(&outer_class), 0};
    struct weir__thread threads[4];
    for (int i = 0; i < 4; i++)
        CHECK_EQ(weir__thread_start(&threads[i], "adder", add_many, &shared), 0);
    for (int i = 0; i < 4; i++)
        weir__thread_join(&threads[i]);
    CHECK_EQ(shared.count, 80000);
    weir_lock_fini(&shared.lock);
}

TEST(fini_accepts_nothing)
{
    struct weir_lock zero = {0};
    weir_lock_fini(NULL);
    weir_lock_fini(&zero);
}

TEST(ranks_that_rise_are_fine)
{
    struct weir_lock outer = WEIR_LOCK_INIT(&outer_class), inner = WEIR_LOCK_INIT(&inner_class);
    weir_lock_acquire(&outer);
    weir_lock_acquire(&inner);
    weir_lock_release(&outer);
    weir_lock_release(&inner);
    weir_lock_assert_none("a wait");
}

static void destroy_held(void *arg)
{
    (void)arg;
    struct weir_lock lock = WEIR_LOCK_INIT(&outer_class);
    weir_lock_acquire(&lock);
    weir_lock_fini(&lock);
}

TEST(destroying_a_held_lock_names_it)
{
    CHECK(tap_dies(destroy_held, NULL, "lock 'outer': destroyed while held"));
}

#ifdef WEIR_CHECKS

static void invert(void *arg)
{
    (void)arg;
    struct weir_lock outer = WEIR_LOCK_INIT(&outer_class), inner = WEIR_LOCK_INIT(&inner_class);
    weir_lock_acquire(&inner);
    weir_lock_acquire(&outer);
}

TEST(an_inversion_names_both_locks)
{
    CHECK(tap_dies(invert, NULL, "lock 'outer': inner"));
}

static void take_twice(void *arg)
{
    (void)arg;
    struct weir_lock lock = WEIR_LOCK_INIT(&outer_class);
    weir_lock_acquire(&lock);
    weir_lock_acquire(&lock);
}

TEST(taking_twice_is_found)
{
    CHECK(tap_dies(take_twice, NULL, "lock 'outer': already held here"));
}

static void release_unheld(void *arg)
{
    (void)arg;
    struct weir_lock lock = WEIR_LOCK_INIT(&outer_class);
    weir_lock_release(&lock);
}

TEST(releasing_what_is_not_held_is_found)
{
    CHECK(tap_dies(release_unheld, NULL, "lock 'outer': released by who does not hold it"));
}

static void wait_with_lock(void *arg)
{
    (void)arg;
    struct weir_lock lock = WEIR_LOCK_INIT(&outer_class);
    struct weir_deadline deadline = weir_deadline_in(1, NULL);
    weir_lock_acquire(&lock);
    (void)weir_deadline_sleep(&deadline);
}

TEST(waiting_with_a_lock_is_found)
{
    CHECK(tap_dies(wait_with_lock, NULL, "lock 'outer': held while a wait begins"));
}

#endif

/* The hierarchies of the storage and the index service, as their documents write them down. */
static const struct weir_lock_class config_snapshot = {"config_snapshot", 100};
static const struct weir_lock_class manifest_index_meta = {"manifest_index_meta", 110};
static const struct weir_lock_class io_counters = {"io_counters", 120};
static const struct weir_lock_class cache_meta = {"cache_meta", 210};
static const struct weir_lock_class breaker_table = {"breaker_table", 220};
static const struct weir_lock_class metrics_scratch = {"metrics_scratch", 230};

TEST(hierarchies_are_registered_and_listed)
{
    const struct weir_lock_class *storage[] = {&config_snapshot, &manifest_index_meta,
                                               &io_counters};
    const struct weir_lock_class *index[] = {&config_snapshot, &cache_meta, &breaker_table,
                                             &metrics_scratch};
    CHECK_EQ(weir_lock_register(index, 4), 0);
    CHECK_EQ(weir_lock_register(storage, 3), 0);
    CHECK_EQ(weir_lock_register(storage, 3), 0);
    const struct weir_lock_class *listed[8];
    CHECK_EQ(weir_lock_list(listed, 8), 6);
    for (int i = 1; i < 6; i++)
        CHECK(listed[i - 1]->rank < listed[i]->rank);
    CHECK_STR(listed[0]->name, "config_snapshot");
    CHECK_STR(listed[5]->name, "metrics_scratch");
    CHECK_EQ(weir_lock_list(listed, 2), 6);
}

TEST(a_bad_hierarchy_is_refused)
{
    const struct weir_lock_class *falling[] = {&io_counters, &config_snapshot};
    CHECK_EQ(weir_lock_register(falling, 2), -WEIR_E_INVALID);
    CHECK_HAS(weir_error_detail(), "'config_snapshot': rank 100 does not rise above 120");
    static const struct weir_lock_class other = {"config_snapshot", 101};
    const struct weir_lock_class *again[] = {&other};
    const struct weir_lock_class *first[] = {&config_snapshot};
    CHECK_EQ(weir_lock_register(first, 1), 0);
    CHECK_EQ(weir_lock_register(again, 1), -WEIR_E_EXISTS);
    static const struct weir_lock_class nameless = {NULL, 5};
    const struct weir_lock_class *bad[] = {&nameless};
    CHECK_EQ(weir_lock_register(bad, 1), -WEIR_E_INVALID);
}

TEST(registering_is_all_or_nothing)
{
    static const struct weir_lock_class fresh = {"only_with_the_others", 1};
    static const struct weir_lock_class known = {"a_known_one", 50}, other = {"a_known_one", 51};
    const struct weir_lock_class *first[] = {&known}, *mixed[] = {&fresh, &other};
    const struct weir_lock_class *listed[WEIR_LOCK_CLASSES_MAX];
    CHECK_EQ(weir_lock_register(first, 1), 0);
    size_t before = weir_lock_list(listed, WEIR_LOCK_CLASSES_MAX);
    CHECK_EQ(weir_lock_register(mixed, 2), -WEIR_E_EXISTS);
    CHECK_EQ(weir_lock_list(listed, WEIR_LOCK_CLASSES_MAX), before);
    const struct weir_lock_class *twice[] = {&known, &other};
    CHECK_EQ(weir_lock_register(twice, 2), -WEIR_E_EXISTS);
}

TAP_MAIN()
