/* test_store_spent.c - an index that is wrong lets go of no deletion. */
#include "store_part.h"
#include "store_rig.h"

#define JUNK     20u
#define KEY_LIVE 32u
#define KEY_DEAD 40u
#define VALUE    28u /* behind the key of what counts */

/* Of a page of LMDB. */
#define PAGE_FLAGS   10u
#define PAGE_IS_LEAF 2u

static struct weir__address hidden; /* the chunk that was deleted */

static struct weir__store_stats stats_of(struct weir__store *store)
{
    struct weir__store_stats stats;
    weir__store_read(store, &stats);
    return stats;
}

static void await_healed(struct weir__store *store)
{
    struct weir_deadline deadline = rig_soon();
    while (stats_of(store).reindexed < 1 || stats_of(store).index_is_broken) {
        struct weir_deadline moment = weir_deadline_in(WEIR_NS_PER_MS, NULL);
        weir_deadline_sleep(&moment);
        CHECK_EQ(weir_deadline_check(&deadline), 0);
    }
}

/* The chunk in one segment, all of which counts but for it, its deletion in another, of which
 * nothing else does. */
static struct weir__store *fill(void)
{
    struct weir__address junk[JUNK], other;
    rig_make_folder();
    struct weir__store *store = rig_open(NULL);
    CHECK_EQ(rig_put(store, 1000, 1, &hidden), 0);
    for (uint32_t n = 0; n < JUNK; n++)
        CHECK_EQ(rig_put(store, 3000, 100 + n, &other), 0);
    rig_seal(store);
    CHECK_EQ(rig_delete(store, &hidden), 0);
    for (uint32_t n = 0; n < JUNK; n++)
        CHECK_EQ(rig_put(store, 3000, 200 + n, &junk[n]), 0);
    rig_seal(store);
    for (uint32_t n = 0; n < JUNK; n++)
        CHECK_EQ(rig_delete(store, &junk[n]), 0);
    rig_seal(store);
    return store;
}

/* It is made anew, the segment goes then, and what is deleted stays so, also for who knows nothing
 * but the segments. */
static void stays_deleted(struct weir__store *store)
{
    char command[128];
    await_healed(store);
    CHECK_EQ(rig_find(store, &hidden), -WEIR_E_NOT_FOUND);
    CHECK(rig_compact(store, 50) > 0);
    CHECK_EQ(rig_find(store, &hidden), -WEIR_E_NOT_FOUND);
    weir__store_close(store);
    snprintf(command, sizeof(command), "rm -rf %s/index", rig_folder);
    CHECK(system(command) == 0);
    store = rig_open(NULL);
    CHECK_EQ(rig_find(store, &hidden), -WEIR_E_NOT_FOUND);
    weir__store_close(store);
    rig_remove_folder();
}

static void compact_turned(unsigned key_size, size_t behind)
{
    struct weir_deadline deadline = rig_soon();
    struct weir__store *store = fill();
    CHECK(rig_turn_in_index(&hidden, key_size, behind) > 0);
    CHECK_EQ(weir__store_compact(store, 50, &deadline), -WEIR_E_TRANSIENT);
    CHECK_EQ(stats_of(store).compacted_segments, 0);
    stays_deleted(store);
}

TEST(what_a_deletion_hides_is_not_found)
{
    compact_turned(KEY_DEAD, 31);       /* it is that of another */
    compact_turned(KEY_DEAD, KEY_DEAD); /* it is no chunk */
}

TEST(a_deletion_is_not_found)
{
    compact_turned(KEY_LIVE, 31);
}

TEST(a_deletion_is_said_to_be_another)
{
    for (size_t i = 0; i < VALUE; i++)
        compact_turned(KEY_LIVE, KEY_LIVE + i);
}

/* Of a page of dead chunks LMDB does not know what it is: that is said of the index, and nothing of
 * the segment that was to go. */
TEST(an_index_that_fails_says_nothing_of_the_segment)
{
    struct weir_deadline deadline = rig_soon();
    struct weir__store *store = fill();
    CHECK(rig_turn(&hidden, KEY_DEAD, PAGE_FLAGS, true, PAGE_IS_LEAF) > 0);
    CHECK_EQ(weir__store_compact(store, 50, &deadline), -WEIR_E_TRANSIENT);
    CHECK_EQ(stats_of(store).damaged, 0);
    stays_deleted(store);
}

#ifdef WEIR_FAULTS
/* Somebody else finds out meanwhile, and another takes its place, which is right. */
static void heal_meanwhile(struct weir__store *store)
{
    weir__store_doubt_index(store);
    await_healed(store);
}

TEST(a_decision_goes_with_its_index)
{
    struct weir_deadline deadline = rig_soon();
    struct weir__store *store = fill();
    CHECK(rig_turn_in_index(&hidden, KEY_DEAD, 31) > 0);
    weir__store_when_decided(heal_meanwhile);
    int result = weir__store_compact(store, 50, &deadline);
    weir__store_when_decided(NULL);
    CHECK_EQ(result, -WEIR_E_TRANSIENT);
    stays_deleted(store);
}
#endif

TAP_MAIN()
