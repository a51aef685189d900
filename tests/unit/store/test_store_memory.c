/* test_store_memory.c - a store without a folder, and options that are refused. */
#include <dirent.h>

#include "store_rig.h"

#define SEGMENT WEIR__STORE_SEGMENT_LEAST

static struct weir__store *open_memory(uint64_t segments)
{
    return rig_open_with((struct weir__store_options){.memory_max = segments * SEGMENT,
                                                      .segment_bytes = SEGMENT,
                                                      .is_offline = true},
                         NULL);
}

/* Descriptors of this process that lead to files with a name. */
static size_t named_files(void)
{
    size_t count = 0;
    DIR *dir = opendir("/proc/self/fd");
    CHECK(dir);
    for (struct dirent *entry; (entry = readdir(dir));) {
        char path[300], target[300] = "";
        snprintf(path, sizeof(path), "/proc/self/fd/%s", entry->d_name);
        if (readlink(path, target, sizeof(target) - 1) > 0 && target[0] == '/' &&
            strncmp(target, "/memfd:", 7) != 0 && strncmp(target, "/proc", 5) != 0 &&
            strncmp(target, "/dev/", 5) != 0)
            count++;
    }
    closedir(dir);
    return count;
}

TEST(nothing_on_a_disk)
{
    struct weir__address address;
    size_t before = named_files();
    struct weir__store *store = open_memory(4);
    for (uint64_t n = 0; n < 2000; n++)
        CHECK_EQ(rig_put(store, 3000, n, &address), 0);
    CHECK_EQ(named_files(), before);
    CHECK_EQ(rig_read(store, &address, 3000, 1999), 0);
    rig_seal(store);
    CHECK_EQ(rig_read(store, &address, 3000, 1999), 0);
    weir__store_close(store);
    CHECK_EQ(named_files(), before);
}

/* Full, it refuses puts and nothing else: what is there is read and deleted, and then there is room
 * again. Many times over, so that nothing gets lost on the way. */
TEST(full_and_room_again)
{
    static struct weir__address addresses[64];
    struct weir__store *store = open_memory(3);
    for (uint64_t round = 0; round < 8; round++) {
        size_t count = 0;
        int error = 0;
        while (count < 64 &&
               !(error = rig_put(store, WEIR__CHUNK_MAX, 100 * round + count, &addresses[count])))
            count++;
        CHECK_EQ(error, -WEIR_E_NO_SPACE);
        CHECK(count >= 5);
        struct weir__store_stats stats;
        weir__store_read(store, &stats);
        CHECK(stats.segments <= 3 && stats.is_full);
        for (size_t i = 0; i < count; i++)
            CHECK_EQ(rig_read(store, &addresses[i], WEIR__CHUNK_MAX, 100 * round + i), 0);
        for (size_t i = 0; i < count; i++)
            CHECK_EQ(rig_delete(store, &addresses[i]), 0);
        rig_seal(store);
        CHECK(rig_compact(store, 0) > 0);
    }
    weir__store_close(store);
}

/* Half of it stays, and moves. */
TEST(full_and_half_deleted)
{
    static struct weir__address addresses[64];
    struct weir__store *store = open_memory(4);
    size_t count = 0;
    while (count < 64 && !rig_put(store, 500000, count, &addresses[count]))
        count++;
    CHECK(count < 64);
    for (size_t i = 0; i < count; i += 2)
        CHECK_EQ(rig_delete(store, &addresses[i]), 0);
    rig_seal(store);
    CHECK(rig_compact(store, 10) > 0);
    struct weir__address more;
    CHECK_EQ(rig_put(store, 500000, 1000, &more), 0);
    for (size_t i = 0; i < count; i++)
        CHECK_EQ(rig_read(store, &addresses[i], 500000, i), i % 2 ? 0 : -WEIR_E_NOT_FOUND);
    weir__store_close(store);
}

/* --- options --- */

static int try_open(struct weir__store_options options)
{
    struct weir__store *store = NULL;
    int error = weir__store_open(&store, &options, NULL);
    if (error)
        CHECK(!store && strlen(weir__store_why()) > 0);
    weir__store_close(store);
    return error;
}

TEST(options_out_of_bounds)
{
    const uint64_t enough = UINT64_C(1) << 32;
    CHECK_EQ(try_open((struct weir__store_options){.memory_max = enough}), 0);
    CHECK_EQ(try_open((struct weir__store_options){.memory_max = 0}), -WEIR_E_INVALID);
    CHECK_EQ(try_open((struct weir__store_options){.memory_max = 2 * SEGMENT - 1,
                                                   .segment_bytes = SEGMENT}),
             -WEIR_E_INVALID);
    CHECK_EQ(
        try_open((struct weir__store_options){.memory_max = 2 * SEGMENT, .segment_bytes = SEGMENT}),
        0);
    CHECK_EQ(
        try_open((struct weir__store_options){.memory_max = enough, .segment_bytes = SEGMENT - 1}),
        -WEIR_E_INVALID);
    CHECK_EQ(try_open((struct weir__store_options){.memory_max = enough,
                                                   .segment_bytes = WEIR__STORE_SEGMENT_MOST + 1}),
             -WEIR_E_INVALID);
    CHECK_EQ(try_open((struct weir__store_options){.memory_max = enough,
                                                   .pending_bytes = 2 * WEIR__CHUNK_MAX - 1}),
             -WEIR_E_INVALID);
    CHECK_EQ(
        try_open((struct weir__store_options){.memory_max = enough, .pending_bytes = UINT64_MAX}),
        -WEIR_E_INVALID);
    CHECK_EQ(try_open((struct weir__store_options){.memory_max = enough, .compact_percent = 101}),
             -WEIR_E_INVALID);
    CHECK_EQ(
        try_open((struct weir__store_options){.memory_max = enough, .hot_entries = (1u << 28) + 1}),
        -WEIR_E_INVALID);
    CHECK_EQ(try_open((struct weir__store_options){.memory_max = enough,
                                                   .verify = (enum weir__store_verify)3}),
             -WEIR_E_INVALID);
}

TEST(folders_that_are_none)
{
    char path[128];
    rig_make_folder();
    snprintf(path, sizeof(path), "%s/file", rig_folder);
    close(open(path, O_CREAT | O_WRONLY, 0600));
    CHECK(try_open((struct weir__store_options){.folder = path}) != 0);
    CHECK_EQ(try_open((struct weir__store_options){.folder = rig_folder}), -WEIR_E_INVALID);
    CHECK_HAS(weir__store_why(), "'file' is there");
    CHECK_EQ(try_open((struct weir__store_options){.folder = ""}), -WEIR_E_INVALID);
    snprintf(path, sizeof(path), "%s/none", rig_folder);
    CHECK_EQ(try_open((struct weir__store_options){.folder = path, .is_read_only = true}),
             -WEIR_E_NOT_FOUND);
    CHECK(access(path, F_OK) != 0);
    /* Those that are missing are made. */
    snprintf(path, sizeof(path), "%s/a/b/c", rig_folder);
    CHECK_EQ(try_open((struct weir__store_options){.folder = path}), 0);
    CHECK_EQ(try_open((struct weir__store_options){.folder = path, .is_read_only = true}), 0);
    rig_remove_folder();
}

TAP_MAIN()
