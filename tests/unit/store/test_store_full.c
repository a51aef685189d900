/* test_store_full.c - a disk that is full to its last byte recovers by deleting, wherever what is
 * deleted lies: the store takes the deletions, brings the room back, has all that was not deleted,
 * and nothing that was. */
#include <sys/wait.h>

#include "small_disk.h"
#include "store_check.h"

#define MANY  65536u
#define SMALL 1024u
#define LARGE 65536u

static struct weir__address addresses[MANY];
static bool is_gone[MANY];
static size_t count;

struct plan {
    const char *size; /* of the disk */
    uint32_t small;   /* of a hundred chunks, so many have 1 KiB; the others 64 */
    uint32_t deleted; /* of a hundred */
    uint32_t segment_bytes;
    bool is_offline;   /* nobody compacts but by hand */
    bool is_restarted; /* when it takes no deletions any more, or all are made */
};

static struct weir__store *open_as(const struct plan *plan, bool is_offline)
{
    return rig_open_with((struct weir__store_options){.folder = rig_folder,
                                                      .segment_bytes = plan->segment_bytes,
                                                      .compact_per_s = UINT64_C(1) << 40,
                                                      .is_offline = is_offline},
                         NULL);
}

static uint32_t length_of(const struct plan *plan, size_t i)
{
    return i * 37 % 100 < plan->small ? SMALL : LARGE;
}

static void fill(struct weir__store *store, const struct plan *plan)
{
    int error = 0;
    for (count = 0; !error; count += error == 0) {
        CHECK(count < MANY);
        is_gone[count] = false;
        error = rig_put(store, length_of(plan, count), count, &addresses[count]);
    }
    CHECK_EQ(error, -WEIR_E_NO_SPACE);
    small_disk_fill();
}

static void compact_by_hand(struct weir__store *store)
{
    struct weir__check_hooks hooks = {.damage = NULL};
    struct weir__compacted compacted;
    struct weir_deadline deadline = rig_soon();
    CHECK_EQ(weir__store_compact_all(store, 1, &hooks, &deadline, &compacted), 0);
}

/* Room is made by the thread that compacts, or by hand. */
static void wait_for_room(struct weir__store *store, const struct plan *plan,
                          const struct weir_deadline *deadline)
{
    struct weir_deadline moment = weir_deadline_in(10 * WEIR_NS_PER_MS, NULL);
    if (plan->is_offline)
        compact_by_hand(store);
    else
        weir_deadline_sleep(&moment);
    CHECK_EQ(weir_deadline_check(deadline), 0);
}

static struct weir__store *delete_some(struct weir__store *store, const struct plan *plan,
                                       uint64_t *ret_bytes)
{
    struct weir_deadline deadline = weir_deadline_in(240 * WEIR_NS_PER_S, NULL);
    uint64_t random = 88172645463325252u, bytes = 0;
    bool is_restarted = !plan->is_restarted;
    for (size_t i = 0; i < count; i++) {
        if (rig_random(&random) % 100 >= plan->deleted)
            continue;
        int error;
        while ((error = rig_delete(store, &addresses[i])) == -WEIR_E_NO_SPACE) {
            if (!is_restarted) {
                weir__store_close(store);
                store = open_as(plan, plan->is_offline);
                is_restarted = true;
            }
            wait_for_room(store, plan, &deadline);
        }
        CHECK_EQ(error, 0);
        is_gone[i] = true;
        bytes += length_of(plan, i);
    }
    if (!is_restarted) {
        weir__store_close(store);
        store = open_as(plan, plan->is_offline);
    }
    *ret_bytes = bytes;
    return store;
}

/* Most of what was deleted can be put in its place. */
static void use_room(struct weir__store *store, const struct plan *plan, uint64_t bytes)
{
    struct weir_deadline deadline = weir_deadline_in(240 * WEIR_NS_PER_S, NULL);
    for (uint64_t done = 0; done < bytes / 10 * 6; done += length_of(plan, count - 1)) {
        int error;
        CHECK(count < MANY);
        is_gone[count] = false;
        while ((error = rig_put(store, length_of(plan, count), count, &addresses[count])) ==
               -WEIR_E_NO_SPACE)
            wait_for_room(store, plan, &deadline);
        CHECK_EQ(error, 0);
        count++;
    }
}

/* An index that had no room is made anew meanwhile. */
static int read_patiently(struct weir__store *store, const struct plan *plan, size_t i)
{
    struct weir_deadline deadline = rig_soon();
    int error;
    while ((error = rig_read(store, &addresses[i], length_of(plan, i), i)) == -WEIR_E_TRANSIENT) {
        struct weir_deadline moment = weir_deadline_in(WEIR_NS_PER_MS, NULL);
        weir_deadline_sleep(&moment);
        CHECK_EQ(weir_deadline_check(&deadline), 0);
    }
    return error;
}

static void check_all(struct weir__store *store, const struct plan *plan)
{
    for (size_t i = 0; i < count; i++)
        CHECK_EQ(read_patiently(store, plan, i), is_gone[i] ? -WEIR_E_NOT_FOUND : 0);
}

static void carry_out(const struct plan *plan)
{
    uint64_t bytes;
    if (!small_disk_mount(plan->size))
        return;
    struct weir__store *store = open_as(plan, plan->is_offline || plan->is_restarted);
    fill(store, plan);
    store = delete_some(store, plan, &bytes);
    check_all(store, plan);
    use_room(store, plan, bytes);
    check_all(store, plan);
    weir__store_close(store);
    store = open_as(plan, true);
    check_all(store, plan);
    weir__store_close(store);
    small_disk_unmount();
}

/* In a process of its own: an index that has no room for its first pages is left as it is. */
static void fill_and_delete(const struct plan *plan)
{
    int status;
    fflush(stdout);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        carry_out(plan);
        fflush(stdout);
        _exit(0);
    }
    CHECK_EQ(waitpid(child, &status, 0), child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

TEST(large_chunks_are_deleted)
{
    fill_and_delete(&(struct plan){"size=48m", 0, 60, WEIR__STORE_SEGMENT_LEAST, false, false});
}

TEST(small_chunks_are_deleted)
{
    fill_and_delete(&(struct plan){"size=32m", 100, 60, WEIR__STORE_SEGMENT_LEAST, false, false});
}

TEST(chunks_of_both_sizes_are_deleted)
{
    fill_and_delete(&(struct plan){"size=48m", 90, 90, WEIR__STORE_SEGMENT_LEAST, false, false});
}

/* Segments that are large for the disk. */
TEST(segments_are_large)
{
    fill_and_delete(&(struct plan){"size=96m", 0, 60, WEIR__STORE_SEGMENT_DEFAULT, false, false});
}

/* By the service, after one that took no deletions any more was ended. */
TEST(it_is_restarted_meanwhile)
{
    fill_and_delete(&(struct plan){"size=48m", 0, 70, WEIR__STORE_SEGMENT_LEAST, false, true});
    fill_and_delete(&(struct plan){"size=32m", 100, 80, WEIR__STORE_SEGMENT_LEAST, false, true});
}

TEST(it_is_compacted_by_hand)
{
    fill_and_delete(&(struct plan){"size=48m", 0, 60, WEIR__STORE_SEGMENT_LEAST, true, false});
    fill_and_delete(&(struct plan){"size=32m", 100, 80, WEIR__STORE_SEGMENT_LEAST, true, false});
    fill_and_delete(&(struct plan){"size=48m", 50, 75, WEIR__STORE_SEGMENT_LEAST, true, true});
}

TAP_MAIN()
