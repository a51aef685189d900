/* test_store_ripe.c - what the newest segment has done to the others: the numbers know it at once,
 * and compaction comes to it without more being written. */
#include <errno.h>

#include <weir/fault.h>

#include "store_part.h"
#include "store_rig.h"
#include "sys.h"

#define COUNT  40u
#define LENGTH 400000u
#define SMALL  3000u

static struct weir__address addresses[COUNT];

static struct weir__store_stats stats_of(struct weir__store *store)
{
    struct weir__store_stats stats;
    weir__store_read(store, &stats);
    return stats;
}

static void put_some(struct weir__store *store, uint32_t length, uint32_t from, uint32_t to)
{
    for (uint32_t n = from; n < to; n++)
        CHECK_EQ(rig_put(store, length, n, &addresses[n]), 0);
}

static void delete_some(struct weir__store *store, uint32_t from, uint32_t to)
{
    for (uint32_t n = from; n < to; n++)
        CHECK_EQ(rig_delete(store, &addresses[n]), 0);
}

/* --- numbers --- */

static void check_numbers(struct weir__store *store, uint32_t puts, uint32_t deletions)
{
    uint64_t chunk = weir__record_span(WEIR__RECORD_HEAD + SMALL);
    struct weir__store_stats stats = stats_of(store);
    CHECK_EQ(stats.chunks, puts - deletions);
    CHECK_EQ(stats.bytes, puts * chunk + deletions * weir__record_span(WEIR__RECORD_HEAD));
    CHECK_EQ(stats.dead_bytes, deletions * chunk);
}

static struct weir__store *open_again(struct weir__store *store, bool without_index)
{
    char command[128];
    struct weir__store_report report;
    uint64_t chunks = stats_of(store).chunks;
    CHECK_EQ(weir__store_close(store), 0);
    snprintf(command, sizeof(command), "rm -rf %s/index", rig_folder);
    if (without_index)
        CHECK(system(command) == 0);
    store = rig_open(&report);
    CHECK_EQ(report.chunks, chunks);
    return store;
}

/* In a segment that is sealed, in the newest one, and after another start. */
TEST(the_numbers_have_the_newest_segment)
{
    rig_make_folder();
    struct weir__store *store = rig_open(NULL);
    put_some(store, SMALL, 0, 20);
    check_numbers(store, 20, 0);
    rig_seal(store);
    check_numbers(store, 20, 0);
    put_some(store, SMALL, 20, 30);
    for (uint32_t n = 0; n < 25; n++) {
        delete_some(store, n, n + 1);
        check_numbers(store, 30, n + 1);
    }
    CHECK_EQ(rig_delete(store, &addresses[0]), -WEIR_E_NOT_FOUND);
    CHECK_EQ(rig_put(store, SMALL, 29, &addresses[29]), WEIR__STORE_PRESENT);
    check_numbers(store, 30, 25);
    for (int i = 0; i < 2; i++) {
        store = open_again(store, i == 1);
        check_numbers(store, 30, 25);
    }
    rig_seal(store);
    check_numbers(store, 30, 25);
    put_some(store, SMALL, 0, 5);
    CHECK_EQ(stats_of(store).chunks, 10);
    store = open_again(store, true);
    CHECK_EQ(stats_of(store).chunks, 10);
    CHECK(rig_compact(store, 50) > 0);
    CHECK_EQ(stats_of(store).chunks, 10);
    store = open_again(store, false);
    CHECK_EQ(stats_of(store).chunks, 10);
    weir__store_close(store);
    rig_remove_folder();
}

TEST(touches_and_moves_are_no_chunks_more)
{
    struct weir_deadline deadline = rig_soon();
    rig_make_folder();
    struct weir__store *store = rig_open(NULL);
    put_some(store, SMALL, 0, 10);
    rig_seal(store);
    delete_some(store, 0, 6);
    CHECK_EQ(weir__store_touch(store, &addresses[7], &deadline), 0);
    rig_fill(rig_room, SMALL, 8);
    CHECK_EQ(weir__store_replace(store, &addresses[8], rig_room, SMALL, &deadline), 0);
    CHECK_EQ(stats_of(store).chunks, 4);
    rig_seal(store);
    CHECK_EQ(weir__store_compact(store, 50, &deadline), 0);
    CHECK_EQ(stats_of(store).chunks, 4);
    store = open_again(store, false);
    store = open_again(store, true);
    weir__store_close(store);
    rig_remove_folder();
}

/* --- when --- */

TEST(sealed_when_another_is_due_by_it)
{
    rig_make_folder();
    struct weir__store *store = rig_open(NULL);
    put_some(store, SMALL, 0, 20);
    CHECK(!weir__store_is_ripe(store, 50));
    rig_seal(store);
    for (uint32_t n = 0; n < 10; n++) {
        CHECK(!weir__store_is_ripe(store, 50));
        delete_some(store, n, n + 1);
    }
    CHECK(weir__store_is_ripe(store, 50));
    /* The next start knows it, too. */
    store = open_again(store, false);
    CHECK(weir__store_is_ripe(store, 50));
    /* Once, and not for each deletion that follows. */
    rig_seal(store);
    CHECK(!weir__store_is_ripe(store, 50));
    delete_some(store, 10, 11);
    CHECK(!weir__store_is_ripe(store, 50));
    CHECK_EQ(rig_compact(store, 50), 2); /* the one with nothing but deletions goes as well */
    weir__store_close(store);
    rig_remove_folder();
}

/* Few deletions of what lies in the newest one itself make no file of their own. */
TEST(sealed_for_itself_when_that_is_worth_it)
{
    rig_make_folder();
    struct weir__store *store = rig_open(NULL);
    for (uint32_t n = 0; n < COUNT; n++) {
        put_some(store, SMALL, n, n + 1);
        delete_some(store, n, n + 1);
        CHECK(!weir__store_is_ripe(store, 50));
    }
    put_some(store, LENGTH, 0, 2);
    delete_some(store, 0, 1);
    CHECK(weir__store_is_ripe(store, 50));
    put_some(store, LENGTH, 2, 3);
    CHECK(!weir__store_is_ripe(store, 50));
    weir__store_close(store);
    rig_remove_folder();
}

static void await_another_index(struct weir__store *store)
{
    struct weir_deadline deadline = rig_soon();
    uint64_t before = stats_of(store).reindexed;
    weir__store_renew_index(store);
    while (stats_of(store).reindexed == before) {
        struct weir_deadline moment = weir_deadline_in(WEIR_NS_PER_MS, NULL);
        CHECK_EQ(weir_deadline_check(&deadline), 0);
        weir_deadline_sleep(&moment);
    }
}

/* Deletions were moved into the newest segment, and the index that knew of them is gone. */
TEST(sealed_for_an_index_that_was_made_anew)
{
    struct weir_deadline deadline = rig_soon();
    rig_make_folder();
    struct weir__store *store = rig_open(NULL);
    put_some(store, SMALL, 0, 20);
    rig_seal(store);
    put_some(store, SMALL, 20, 30);
    delete_some(store, 20, 30);
    delete_some(store, 0, 8);
    rig_seal(store);
    CHECK_EQ(weir__store_compact(store, 50, &deadline), 0);
    uint64_t dead = stats_of(store).dead_bytes;
    CHECK(dead > 0);
    CHECK(!weir__store_is_ripe(store, 50));
    await_another_index(store);
    CHECK(stats_of(store).dead_bytes < dead);
    CHECK(weir__store_is_ripe(store, 50));
    rig_seal(store);
    CHECK(!weir__store_is_ripe(store, 50));
    CHECK(stats_of(store).dead_bytes >= dead);
    /* Once: the next one is begun with this index. */
    put_some(store, SMALL, 30, 31);
    CHECK(!weir__store_is_ripe(store, 50));
    CHECK(rig_compact(store, 30) > 0);
    CHECK_EQ(stats_of(store).chunks, 13);
    weir__store_close(store);
    rig_remove_folder();
}

#ifdef WEIR_FAULTS
/* The next call is that which removes the segment. */
static void refuse(struct weir__store *store)
{
    (void)store;
    weir__sys_fault_errno(ENOSPC);
    weir_fault_arm(WEIR_FAULT_IO, 1);
}

/* What a compaction in vain has moved counts, for the index, where it was. */
TEST(sealed_on_a_full_disk_for_what_was_moved)
{
    struct weir_deadline deadline = rig_soon();
    rig_make_folder();
    struct weir__store *store = rig_open(NULL);
    put_some(store, SMALL, 0, 20);
    delete_some(store, 0, 12);
    rig_seal(store);
    weir__store_when_decided(refuse);
    CHECK_EQ(weir__store_compact(store, 50, &deadline), -WEIR_E_NO_SPACE);
    CHECK(weir_fault_was_hit(WEIR_FAULT_IO));
    weir__store_when_decided(NULL);
    CHECK(!weir__store_is_ripe(store, 50));
    weir_fault_arm(WEIR_FAULT_IO, 1);
    CHECK_EQ(rig_put(store, SMALL, 30, &addresses[30]), -WEIR_E_NO_SPACE);
    weir_fault_arm(WEIR_FAULT_IO, 0);
    weir__sys_fault_errno(EIO);
    CHECK(stats_of(store).is_full);
    CHECK(weir__store_is_ripe(store, 50));
    rig_seal(store);
    CHECK(!weir__store_is_ripe(store, 50));
    weir__store_close(store);
    rig_remove_folder();
}
#endif

/* --- by itself --- */

/* Nothing is written after the deletions. */
TEST(room_comes_back_without_more_writes)
{
    struct weir_deadline deadline = rig_soon();
    rig_make_folder();
    struct weir__store *store =
        rig_open_with((struct weir__store_options){.folder = rig_folder,
                                                   .segment_bytes = WEIR__STORE_SEGMENT_LEAST,
                                                   .compact_per_s = UINT64_C(1) << 40},
                      NULL);
    put_some(store, LENGTH, 0, COUNT);
    CHECK(stats_of(store).bytes > COUNT * LENGTH);
    delete_some(store, 0, COUNT - 1);
    while (stats_of(store).bytes > 2 * LENGTH && weir_deadline_check(&deadline) == 0) {
        struct weir_deadline moment = weir_deadline_in(10 * WEIR_NS_PER_MS, NULL);
        weir_deadline_sleep(&moment);
    }
    CHECK(stats_of(store).bytes <= 2 * LENGTH);
    CHECK(stats_of(store).segments <= 2);
    CHECK_EQ(stats_of(store).chunks, 1);
    store = open_again(store, true);
    for (uint32_t n = 0; n < COUNT - 1; n++)
        CHECK_EQ(rig_find(store, &addresses[n]), -WEIR_E_NOT_FOUND);
    CHECK_EQ(rig_read(store, &addresses[COUNT - 1], LENGTH, COUNT - 1), 0);
    weir__store_close(store);
    rig_remove_folder();
}

TAP_MAIN()
