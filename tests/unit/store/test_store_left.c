/* test_store_left.c - segments that cannot be compacted: each is told and left, for what is wrong
 * with it and nothing else, and the others have their turn. */
#include <errno.h>

#include <weir/fault.h>

#include "disk.h"
#include "store_part.h"
#include "store_rig.h"
#include "sys.h"

#define LENGTH 3000u
#define EACH   20u
#define PARTS  3u

static struct weir__address addresses[PARTS][EACH];
static char told[1000]; /* a line each */

static void hear(void *arg, const struct weir__address *address, const char *what)
{
    size_t used = strlen(told);
    (void)arg, (void)address;
    snprintf(told + used, sizeof(told) - used, "%s\n", what);
}

static struct weir__store_stats stats_of(struct weir__store *store)
{
    struct weir__store_stats stats;
    weir__store_read(store, &stats);
    return stats;
}

/* Three segments, of which 90, 75 and 60 percent are dead; the deletions are in a fourth. */
static struct weir__store *fill(void)
{
    rig_make_folder();
    told[0] = '\0';
    struct weir__store *store = rig_open(NULL);
    weir__store_on_damage(store, hear, NULL);
    for (uint64_t part = 0; part < PARTS; part++) {
        for (uint64_t n = 0; n < EACH; n++)
            CHECK_EQ(rig_put(store, LENGTH, part * EACH + n, &addresses[part][n]), 0);
        rig_seal(store);
    }
    for (uint32_t part = 0; part < PARTS; part++)
        for (uint32_t n = 2 + 3 * part; n < EACH; n++)
            CHECK_EQ(rig_delete(store, &addresses[part][n]), 0);
    rig_seal(store);
    return store;
}

static bool is_there(unsigned id)
{
    char path[128];
    snprintf(path, sizeof(path), "%s/segments/%08x.seg", rig_folder, id);
    return access(path, F_OK) == 0;
}

static void all_is_right(struct weir__store *store)
{
    for (uint64_t part = 0; part < PARTS; part++)
        for (uint64_t n = 0; n < EACH; n++)
            CHECK_EQ(rig_read(store, &addresses[part][n], LENGTH, part * EACH + n),
                     n < 2 + 3 * part ? 0 : -WEIR_E_NOT_FOUND);
}

static void end(struct weir__store *store)
{
    weir__store_close(store);
    rig_remove_folder();
}

/* Of the others all that should, that of the deletions as well when most of them are spent. */
static void the_others_go(struct weir__store *store, unsigned how_many)
{
    CHECK_EQ(rig_compact(store, 50), how_many);
    CHECK(!is_there(2) && !is_there(3));
    CHECK_EQ(rig_compact(store, 50), 0);
}

TEST(one_that_was_removed_is_lost)
{
    struct weir__store *store = fill();
    rig_remove("segments/00000001.seg");
    the_others_go(store, 2);
    CHECK_EQ(stats_of(store).gaps.lost_segments, 1);
    CHECK(stats_of(store).keeps_deletions);
    CHECK_STR(told, "the file of a segment was removed, moved or replaced\n");
    all_is_right(store); /* it is open still */
    end(store);
}

TEST(one_that_was_removed_before_it_was_opened_is_lost)
{
    struct weir__store *store = fill();
    weir__store_close(store);
    store = rig_open(NULL);
    weir__store_on_damage(store, hear, NULL);
    rig_remove("segments/00000001.seg");
    the_others_go(store, 2);
    CHECK_EQ(stats_of(store).gaps.lost_segments, 1);
    CHECK_STR(told, "the file of a segment was removed, moved or replaced\n");
    end(store);
}

/* What somebody else has put there is not ours to remove. */
TEST(one_that_was_replaced_stays)
{
    char from[128], to[128];
    struct weir__store *store = fill();
    snprintf(from, sizeof(from), "%s/other", rig_folder);
    snprintf(to, sizeof(to), "%s/segments/00000001.seg", rig_folder);
    CHECK_EQ(close(open(from, O_CREAT | O_WRONLY, 0600)), 0);
    CHECK_EQ(rename(from, to), 0);
    the_others_go(store, 2);
    CHECK(is_there(1));
    end(store);
}

#ifdef WEIR_FAULTS
static int refusal; /* with what the removal of the first one fails */

/* The next call is that which removes it. */
static void refuse(struct weir__store *store)
{
    (void)store;
    weir__sys_fault_errno(refusal);
    weir_fault_arm(WEIR_FAULT_IO, 1);
    weir__store_when_decided(NULL);
}

static void cannot_be_removed(int errno_value, const char *line)
{
    struct weir__store *store = fill();
    refusal = errno_value;
    weir__store_when_decided(refuse);
    the_others_go(store, 3);
    CHECK(weir_fault_was_hit(WEIR_FAULT_IO));
    weir_fault_arm(WEIR_FAULT_IO, 0);
    weir__sys_fault_errno(EIO);
    CHECK(is_there(1));
    CHECK_STR(told, line);
    CHECK_EQ(stats_of(store).damaged, 0);
    all_is_right(store);
    /* Another start tries again. */
    weir__store_close(store);
    store = rig_open(NULL);
    CHECK_EQ(rig_compact(store, 50), 1);
    CHECK(!is_there(1));
    all_is_right(store);
    end(store);
}

TEST(one_that_cannot_be_removed_is_told)
{
    cannot_be_removed(
        EPERM, "00000001.seg is not compacted: it cannot be removed (operation not permitted)\n");
    cannot_be_removed(EIO,
                      "00000001.seg is not compacted: it cannot be removed (input/output error)\n");
    cannot_be_removed(
        EBUSY, "00000001.seg is not compacted: it cannot be removed (device or resource busy)\n");
}

/* What is over soon is no reason to leave it. */
static void is_removed_later(int errno_value, int error)
{
    struct weir__store *store = fill();
    struct weir_deadline deadline = rig_soon();
    refusal = errno_value;
    weir__store_when_decided(refuse);
    CHECK_EQ(weir__store_compact(store, 50, &deadline), error);
    CHECK(weir_fault_was_hit(WEIR_FAULT_IO));
    weir_fault_arm(WEIR_FAULT_IO, 0);
    weir__sys_fault_errno(EIO);
    CHECK(is_there(1));
    CHECK_STR(told, "");
    the_others_go(store, 4);
    CHECK(!is_there(1));
    all_is_right(store);
    end(store);
}

TEST(one_that_cannot_be_removed_now_is_removed_later)
{
    is_removed_later(ENOMEM, -WEIR_E_NO_MEMORY);
    is_removed_later(EAGAIN, -WEIR_E_TRANSIENT);
}

TEST(one_that_cannot_be_read_is_told)
{
    struct weir__store *store = fill();
    struct weir__segment *segment;
    CHECK_EQ(weir__segments_pin(&store->segments, 1, &segment), 0);
    weir__sys_fault_stretch(segment->fd, 0, 4096);
    the_others_go(store, 3);
    weir__sys_fault_stretch(-1, 0, 0);
    weir__segments_unpin(&store->segments, segment);
    CHECK(is_there(1));
    CHECK_HAS(told, "00000001.seg is not compacted: it cannot be read whole");
    end(store);
}

/* What is moved is written, and then it is to last. */
static void fail_to_sync(void *arg, const struct weir__disk_note *note)
{
    (void)arg;
    if (note->change == WEIR__DISK_WRITE)
        weir_fault_arm(WEIR_FAULT_IO, 1);
}

TEST(a_write_that_fails_is_not_said_of_what_is_read)
{
    struct weir__address address;
    struct weir__store *store = fill();
    struct weir_deadline deadline = rig_soon();
    CHECK_EQ(rig_put(store, 100, 1000, &address), 0);
    weir__disk_watch(fail_to_sync, NULL);
    CHECK_EQ(weir__store_compact(store, 50, &deadline), -WEIR_E_IO);
    weir__disk_watch(NULL, NULL);
    CHECK(weir_fault_was_hit(WEIR_FAULT_IO));
    weir_fault_arm(WEIR_FAULT_IO, 0);
    CHECK_EQ(stats_of(store).syncs_failed, 1);
    CHECK_EQ(stats_of(store).damaged, 0);
    CHECK_STR(told, "writes fail: input/output error\n");
    /* It has its turn again. */
    the_others_go(store, 4);
    CHECK(!is_there(1));
    all_is_right(store);
    end(store);
}
#endif

TAP_MAIN()
