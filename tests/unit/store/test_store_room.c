/* test_store_room.c - a disk that is full or fails: what a store says of it, and what it still
 * takes. */
#include <errno.h>
#include <sys/wait.h>

#include <weir/fault.h>

#include "small_disk.h"
#include "store_part.h"
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

/* --- a disk that is full --- */

#define LARGE 200000u
#define MANY  512u

static struct weir__address addresses[MANY];
static size_t count;

static off_t rest_size(void)
{
    char path[128];
    struct stat st;
    snprintf(path, sizeof(path), "%s/rest", rig_folder);
    CHECK_EQ(stat(path, &st), 0);
    return st.st_size;
}

static void fill_disk(struct weir__store *store)
{
    int error = 0;
    for (count = 0; !error; count += error == 0) {
        CHECK(count < MANY);
        error = rig_put(store, LARGE, count, &addresses[count]);
    }
    CHECK_EQ(error, -WEIR_E_NO_SPACE);
    small_disk_fill();
}

/* Bytes that it takes of the disk. */
static uint64_t reserve_size(void)
{
    char path[128];
    struct stat st;
    snprintf(path, sizeof(path), "%s/reserve", rig_folder);
    CHECK_EQ(stat(path, &st), 0);
    CHECK((uint64_t)st.st_blocks * 512 >= (uint64_t)st.st_size);
    return (uint64_t)st.st_size;
}

TEST(a_full_disk_takes_deletions)
{
    struct weir__address address;
    if (!small_disk_mount("size=16m"))
        return;
    struct weir__store *store = rig_open(NULL);
    CHECK_EQ(reserve_size(), 1 << 20);
    fill_disk(store);
    /* Its part for what is moved has grown with the store, up to a segment and an eighth. */
    CHECK_EQ(reserve_size(), 5 << 20);
    CHECK(stats_of(store).is_full);
    size_t kept = count - 3;
    for (size_t i = 0; i < kept; i++)
        CHECK_EQ(rig_delete(store, &addresses[i]), 0);
    /* What it took of the reserve is for deletions alone, however little it would be; they have
     * nothing of the other part. */
    CHECK_EQ(reserve_size(), 4 << 20);
    CHECK_EQ(rig_put(store, 1, 99999, &address), -WEIR_E_NO_SPACE);
    CHECK_EQ(rig_read(store, &addresses[kept], LARGE, kept), 0);
    weir__store_close(store);
    store = rig_open(NULL);
    CHECK(stats_of(store).is_full);
    CHECK_EQ(rig_put(store, 1, 99999, &address), -WEIR_E_NO_SPACE);
    CHECK_EQ(rig_delete(store, &addresses[kept]), 0);
    /* What they made room for. */
    rig_seal(store);
    struct weir_deadline deadline = rig_soon();
    while (weir__store_compact(store, 0, &deadline) == 0)
        ;
    CHECK_EQ(rig_put(store, LARGE, 0, &address), 0);
    CHECK(reserve_size() >= 1 << 20 && !stats_of(store).is_full);
    for (size_t i = 0; i <= kept; i++)
        CHECK_EQ(rig_read(store, &addresses[i], LARGE, i), i == 0 ? 0 : -WEIR_E_NOT_FOUND);
    for (size_t i = kept + 1; i < count; i++)
        CHECK_EQ(rig_read(store, &addresses[i], LARGE, i), 0);
    weir__store_close(store);
    small_disk_unmount();
}

/* Who removes the file, or cuts it, has its room: that is kept again before anything is put. */
TEST(a_reserve_that_goes_is_made_anew)
{
    struct weir__address address;
    char path[128];
    rig_make_folder();
    struct weir__store *store = rig_open(NULL);
    CHECK_EQ(rig_put(store, 100, 1, &address), 0);
    CHECK_EQ(reserve_size(), 1 << 20);
    rig_remove("reserve");
    CHECK_EQ(rig_put(store, 100, 2, &address), 0);
    CHECK_EQ(reserve_size(), 1 << 20);
    snprintf(path, sizeof(path), "%s/reserve", rig_folder);
    CHECK_EQ(truncate(path, 100), 0);
    CHECK_EQ(rig_put(store, 100, 3, &address), 0);
    CHECK_EQ(reserve_size(), 1 << 20);
    weir__store_close(store);
    rig_remove_folder();
}

TEST(a_reserve_that_goes_is_nobody_elses)
{
    struct weir__address address;
    if (!small_disk_mount("size=16m"))
        return;
    struct weir__store *store = rig_open(NULL);
    fill_disk(store);
    CHECK_EQ(reserve_size(), 5 << 20);
    rig_remove("reserve");
    CHECK_EQ(rig_put(store, LARGE, 99999, &address), -WEIR_E_NO_SPACE);
    CHECK_EQ(reserve_size(), 5 << 20);
    for (size_t i = 0; i < count; i++)
        CHECK_EQ(rig_delete(store, &addresses[i]), 0);
    /* Somebody else has taken the room: nothing is said to be kept that is not. */
    rig_remove("reserve");
    small_disk_fill();
    CHECK_EQ(rig_put(store, LARGE, 99999, &address), -WEIR_E_NO_SPACE);
    CHECK(stats_of(store).is_full);
    rig_remove("rest");
    CHECK_EQ(rig_put(store, LARGE, 99999, &address), -WEIR_E_NO_SPACE);
    CHECK_EQ(reserve_size(), 5 << 20);
    weir__store_close(store);
    small_disk_unmount();
}

/* Frees so much of what others have. */
static void shrink_rest(off_t by)
{
    char path[128];
    snprintf(path, sizeof(path), "%s/rest", rig_folder);
    CHECK_EQ(truncate(path, rest_size() - by), 0);
}

/* Where not all of it can be kept again some is, at once or when there is some, and deletions have
 * it. */
static void loses_reserve(bool is_at_once)
{
    struct weir__address address;
    struct weir_deadline deadline = rig_soon();
    if (!small_disk_mount("size=16m"))
        return;
    struct weir__store *store = rig_open(NULL);
    fill_disk(store);
    rig_remove("reserve");
    small_disk_fill();
    if (is_at_once)
        shrink_rest(600 << 10);
    CHECK_EQ(rig_put(store, 1, 99999, &address), -WEIR_E_NO_SPACE);
    if (!is_at_once) {
        shrink_rest(600 << 10);
        weir__store_look_for_room(store, &deadline);
    }
    CHECK_EQ(reserve_size(), 5 << 16);
    /* It is theirs, whoever takes the rest. */
    small_disk_fill();
    for (size_t i = 0; i + 2 < count; i++)
        CHECK_EQ(rig_delete(store, &addresses[i]), 0);
    CHECK_EQ(rig_put(store, 1, 99999, &address), -WEIR_E_NO_SPACE);
    weir__store_close(store);
    small_disk_unmount();
}

TEST(what_can_be_had_of_a_lost_reserve_is_kept)
{
    loses_reserve(true);
    loses_reserve(false);
}

/* A part of it is cut off: deletions have theirs of what is left. */
TEST(a_reserve_that_is_cut_is_shared_anew)
{
    struct weir__address address;
    char path[128];
    if (!small_disk_mount("size=16m"))
        return;
    struct weir__store *store = rig_open(NULL);
    fill_disk(store);
    snprintf(path, sizeof(path), "%s/reserve", rig_folder);
    CHECK_EQ(truncate(path, 2 << 20), 0);
    small_disk_fill();
    CHECK_EQ(rig_put(store, 1, 99999, &address), -WEIR_E_NO_SPACE);
    CHECK_EQ(reserve_size(), 2 << 20);
    for (size_t i = 0; i + 2 < count; i++)
        CHECK_EQ(rig_delete(store, &addresses[i]), 0);
    /* The rest is for moves. */
    CHECK_EQ(reserve_size(), 1 << 20);
    weir__store_close(store);
    small_disk_unmount();
}

/* Nothing is kept any more, and next to nothing is free: deletions are taken, and what is dead as a
 * whole goes without any room for moves. */
TEST(a_little_room_is_enough_to_recover)
{
    char path[128];
    struct weir__address address;
    if (!small_disk_mount("size=16m"))
        return;
    struct weir__store *store = rig_open(NULL);
    fill_disk(store);
    rig_remove("reserve");
    small_disk_fill();
    snprintf(path, sizeof(path), "%s/rest", rig_folder);
    CHECK_EQ(truncate(path, rest_size() - (100 << 10)), 0);
    CHECK_EQ(rig_put(store, LARGE, 99999, &address), -WEIR_E_NO_SPACE);
    for (size_t i = 0; i + 2 < count; i++)
        CHECK_EQ(rig_delete(store, &addresses[i]), 0);
    struct weir_deadline deadline = rig_soon();
    CHECK_EQ(weir__store_seal(store, &deadline), 0);
    /* The index may not know yet what is dead. */
    while (stats_of(store).compacted_segments == 0) {
        int error = weir__store_compact(store, 0, &deadline);
        CHECK(error == 0 || error == -WEIR_E_NOT_FOUND);
        CHECK_EQ(weir_deadline_check(&deadline), 0);
    }
    weir__store_close(store);
    small_disk_unmount();
}

/* Somebody else makes room, and nobody writes: it is told all the same. */
TEST(room_is_noticed_without_a_write)
{
    char path[128];
    if (!small_disk_mount("size=16m"))
        return;
    struct weir__store *store =
        rig_open_with((struct weir__store_options){.folder = rig_folder,
                                                   .segment_bytes = WEIR__STORE_SEGMENT_LEAST},
                      NULL);
    fill_disk(store);
    CHECK(stats_of(store).is_full);
    snprintf(path, sizeof(path), "%s/rest", rig_folder);
    CHECK_EQ(unlink(path), 0);
    CHECK_EQ(mount("none", rig_folder, "tmpfs", MS_REMOUNT, "size=24m"), 0);
    struct weir_deadline deadline = rig_soon();
    while (stats_of(store).is_full) {
        struct weir_deadline moment = weir_deadline_in(10 * WEIR_NS_PER_MS, NULL);
        weir_deadline_sleep(&moment);
        CHECK_EQ(weir_deadline_check(&deadline), 0);
    }
    CHECK_EQ(reserve_size(), 5 << 20);
    weir__store_close(store);
    small_disk_unmount();
}

static char told[512];

static void take_line(void *arg, const char *line)
{
    size_t length = strlen(told);
    (void)arg;
    snprintf(told + length, sizeof(told) - length, "%s\n", line);
}

/* Opens it, and what is told of it is in told. */
static struct weir__store *open_and_tell(void)
{
    struct weir__store_report report;
    struct weir__store_options options = {.folder = rig_folder,
                                          .segment_bytes = WEIR__STORE_SEGMENT_LEAST};
    struct weir__store *store = rig_open_with(options, &report);
    told[0] = '\0';
    weir__store_report_tell(&report, take_line, NULL);
    return store;
}

/* In a process of its own: an index that has no room for its first pages is left as it is. */
static void apart(void (*fn)(void))
{
    int status;
    fflush(stdout);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        fn();
        fflush(stdout);
        _exit(0);
    }
    CHECK_EQ(waitpid(child, &status, 0), child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

/* A store that comes without its reserve to a disk that has no room for it. */
static void open_without_reserve(void)
{
    char path[128], other[128];
    if (!small_disk_mount("size=24m"))
        return;
    struct weir__store *store = open_and_tell();
    CHECK_STR(told, "");
    for (count = 0; count < 60; count++)
        CHECK_EQ(rig_put(store, LARGE, count, &addresses[count]), 0);
    weir__store_close(store);
    CHECK_EQ(reserve_size(), 5 << 20);
    snprintf(path, sizeof(path), "%s/reserve", rig_folder);
    snprintf(other, sizeof(other), "%s/rest", rig_folder);
    CHECK_EQ(rename(path, other), 0);
    small_disk_fill();
    /* Of 5 MiB none is free. */
    store = open_and_tell();
    CHECK(stats_of(store).is_full);
    CHECK_HAS(told, "the disk is full: 5 MiB are missing in the room that is kept");
    weir__store_close(store);
    /* Half of what is missing is free, and is not asked for. */
    CHECK_EQ(truncate(other, rest_size() - (5 << 19)), 0);
    store = open_and_tell();
    CHECK(stats_of(store).is_full);
    CHECK_HAS(told, "the disk is full: 3 MiB are missing in the room that is kept");
    weir__store_close(store);
    CHECK_EQ(unlink(other), 0);
    store = open_and_tell();
    CHECK(!stats_of(store).is_full);
    CHECK(strstr(told, "missing in the room") == NULL);
    weir__store_close(store);
    small_disk_unmount();
}

TEST(a_reserve_that_cannot_be_filled_is_told)
{
    apart(open_without_reserve);
}

/* A disk that is too small for anything. */
static void open_on_a_tiny_disk(void)
{
    if (!small_disk_mount("size=512k"))
        return;
    struct weir__store *store = open_and_tell();
    CHECK_HAS(told, "the disk is full: 1 MiB are missing in the room that is kept");
    weir__store_close(store);
    small_disk_unmount();
}

TEST(a_tiny_disk_is_told)
{
    apart(open_on_a_tiny_disk);
}

/* Somebody else's folder has the name: nothing is refused for that, and it is told. */
TEST(a_reserve_that_is_no_file_is_told)
{
    char path[128];
    rig_make_folder();
    snprintf(path, sizeof(path), "%s/reserve", rig_folder);
    CHECK_EQ(mkdir(path, 0700), 0);
    struct weir__store *store = open_and_tell();
    CHECK_STR(told, "no room is kept for compaction and deletions, 'reserve' cannot be used: it is "
                    "no file: remove it\n");
    CHECK_EQ(rig_put(store, LARGE, 1, &addresses[1]), 0);
    weir__store_close(store);
    rig_remove_folder();
}

/* An index that only waits for room is asked further, and is not said to be broken. */
static void keep_a_full_index(void)
{
    enum { SMALL_COUNT = 3000 };
    static struct weir__address smalls[SMALL_COUNT];
    struct weir_deadline deadline = rig_soon();
    char path[128];
    if (!small_disk_mount("size=16m"))
        return;
    snprintf(path, sizeof(path), "%s/index", rig_folder);
    CHECK_EQ(mkdir(path, 0700), 0);
    CHECK_EQ(mount("none", path, "tmpfs", 0, "size=128k"), 0);
    struct weir__store *store =
        rig_open_with((struct weir__store_options){.folder = rig_folder,
                                                   .segment_bytes = WEIR__STORE_SEGMENT_LEAST},
                      NULL);
    for (uint32_t i = 0; i < SMALL_COUNT; i++)
        CHECK_EQ(rig_put(store, 8, i, &smalls[i]), 0);
    CHECK_EQ(weir__store_seal(store, &deadline), 0);
    struct weir__store_stats stats = stats_of(store);
    while (!stats.index_waits && stats.tail_records > 0) {
        struct weir_deadline moment = weir_deadline_in(WEIR_NS_PER_MS, NULL);
        weir_deadline_sleep(&moment);
        CHECK_EQ(weir_deadline_check(&deadline), 0);
        stats = stats_of(store);
        CHECK(!stats.index_is_broken);
    }
    for (uint32_t i = 0; i < SMALL_COUNT; i++)
        CHECK_EQ(rig_read(store, &smalls[i], 8, i), 0);
    /* It is made anew in memory, and the other one is used until then. */
    while (stats_of(store).index_waits || stats_of(store).tail_records > 0) {
        CHECK_EQ(rig_read(store, &smalls[7], 8, 7), 0);
        CHECK(!stats_of(store).index_is_broken);
        CHECK_EQ(weir_deadline_check(&deadline), 0);
    }
    weir__store_close(store);
    CHECK_EQ(umount2(path, MNT_DETACH), 0);
    small_disk_unmount();
}

TEST(an_index_without_room_is_no_broken_one)
{
    apart(keep_a_full_index);
}

TAP_MAIN()
