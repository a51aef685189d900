/* test_store_room.c - a disk that is full or fails: what a store says of it, and what it still
 * takes. */
#include <errno.h>

#include <weir/fault.h>

#include "store_rig.h"
#include "sys.h"

static struct weir__store_stats stats_of(struct weir__store *store)
{
    struct weir__store_stats stats;
    weir__store_read(store, &stats);
    return stats;
}

#ifdef WEIR_FAULTS
static int touch(struct weir__store *store, const struct weir__address *address)
{
    struct weir_deadline deadline = rig_soon();
    return weir__store_touch(store, address, &deadline);
}

/* A put of which the first call fails; and nobody else's, whom a segment that was given up would
 * keep busy. */
static void put_badly(struct weir__store *store, uint64_t n, int errno_value, int wanted)
{
    struct weir__address address;
    struct weir_deadline deadline = rig_soon();
    weir__sys_fault_errno(errno_value);
    weir_fault_arm(WEIR_FAULT_IO, 1);
    CHECK_EQ(rig_put(store, 100, n, &address), wanted);
    CHECK(weir_fault_was_hit(WEIR_FAULT_IO));
    weir_fault_arm(WEIR_FAULT_IO, 0);
    while (stats_of(store).tail_records > 0 && errno_value == EIO)
        CHECK_EQ(weir_deadline_check(&deadline), 0);
}

static bool is_so(struct weir__store *store, bool is_full, bool is_failing)
{
    struct weir__store_stats stats = stats_of(store);
    return stats.is_full == is_full && stats.is_failing == is_failing;
}

/* Each state lasts until something shows that it is over, whatever else fails meanwhile. */
TEST(states_last_until_they_are_over)
{
    struct weir__address address;
    rig_make_folder();
    struct weir__store *store = rig_open(NULL);
    CHECK_EQ(rig_put(store, 100, 1, &address), 0);
    CHECK(is_so(store, false, false));
    put_badly(store, 2, ENOSPC, -WEIR_E_NO_SPACE);
    CHECK(is_so(store, true, false));
    /* Another error says nothing of room. */
    put_badly(store, 3, EIO, -WEIR_E_IO);
    CHECK(is_so(store, true, true));
    put_badly(store, 3, EMFILE, -WEIR_E_NO_DESCRIPTORS);
    CHECK(is_so(store, true, true));
    put_badly(store, 4, ENOSPC, -WEIR_E_NO_SPACE);
    CHECK(is_so(store, true, true));
    /* 64 bytes that came to the disk say that it does not fail. */
    CHECK_EQ(touch(store, &address), 0);
    CHECK(is_so(store, true, false));
    CHECK_EQ(rig_put(store, 100, 5, &address), 0);
    CHECK(is_so(store, false, false));
    weir__store_close(store);
    rig_remove_folder();
}
#endif

TAP_MAIN()
