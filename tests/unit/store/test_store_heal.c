/* test_store_heal.c - what cannot be read: it is put again, and nothing goes with it. */
#include "store_rig.h"

static unsigned char content[4096];

/* Changes a byte of a file in the folder, at a place from its beginning, or from its end if that is
 * negative. */
static void flip(const char *name, long at)
{
    char path[128];
    unsigned char byte;
    snprintf(path, sizeof(path), "%s/%s", rig_folder, name);
    int fd = open(path, O_RDWR);
    off_t place = lseek(fd, at, at < 0 ? SEEK_END : SEEK_SET);
    CHECK(fd >= 0 && pread(fd, &byte, 1, place) == 1);
    byte ^= 0xFF;
    CHECK(pwrite(fd, &byte, 1, place) == 1);
    close(fd);
}

static bool exists(const char *name)
{
    char path[128];
    snprintf(path, sizeof(path), "%s/%s", rig_folder, name);
    return access(path, F_OK) == 0;
}

/* Rot under a chunk that was read not long ago: nobody looks at its bytes any more. */
TEST(a_put_replaces_what_cannot_be_read)
{
    struct weir_deadline deadline = weir_deadline_in(60 * WEIR_NS_PER_S, NULL);
    struct weir__store_reader reader;
    struct weir__chunk chunk;
    struct weir__address address;
    const unsigned char *bytes;
    uint32_t length;
    unsigned char byte;
    rig_make_folder();
    struct weir__store *store = rig_open(NULL);
    CHECK(weir__store_reader_init(&reader) == 0);
    CHECK_EQ(rig_put(store, sizeof(content), 7, &address), 0);
    CHECK_EQ(weir__store_get(store, &reader, &address, &chunk), 0);
    flip("segments/00000001.seg", (long)chunk.offset);
    weir__chunk_release(store, &chunk);
    rig_fill(content, sizeof(content), 7);
    CHECK_EQ(weir__store_put(store, &address, content, sizeof(content), &deadline),
             WEIR__STORE_PRESENT);
    CHECK_EQ(weir__store_replace(store, &address, content, sizeof(content), &deadline), 0);
    /* Also what was read before is found at its new place. */
    CHECK_EQ(weir__store_get(store, &reader, &address, &chunk), 0);
    CHECK_EQ(pread(chunk.fd, &byte, 1, (off_t)chunk.offset), 1);
    CHECK_EQ(byte, content[0]);
    weir__chunk_release(store, &chunk);
    CHECK_EQ(weir__store_read_chunk(store, &reader, &address, &bytes, &length), 0);
    CHECK(memcmp(bytes, content, sizeof(content)) == 0);
    weir__store_close(store);
    store = rig_open(NULL);
    CHECK_EQ(rig_read(store, &address, sizeof(content), 7), 0);
    weir__store_close(store);
    weir__store_reader_fini(&reader);
    rig_remove_folder();
}

#define CHUNKS 64

/* The footer is gone and a head with it: a scan does not see that record, and the file must stay.
 */
TEST(compaction_leaves_what_it_cannot_list)
{
    static struct weir__address addresses[CHUNKS];
    struct weir_deadline deadline = weir_deadline_in(60 * WEIR_NS_PER_S, NULL);
    struct weir__store_reader reader;
    struct weir__chunk chunk;
    rig_make_folder();
    struct weir__store *store = rig_open(NULL);
    CHECK(weir__store_reader_init(&reader) == 0);
    for (uint32_t i = 0; i < CHUNKS; i++)
        CHECK_EQ(rig_put(store, 1000, i, &addresses[i]), 0);
    CHECK_EQ(weir__store_get(store, &reader, &addresses[1], &chunk), 0);
    long head = (long)chunk.offset - 64;
    weir__chunk_release(store, &chunk);
    CHECK_EQ(weir__store_seal(store, &deadline), 0);
    for (uint32_t i = 0; i < CHUNKS; i += 2)
        CHECK_EQ(weir__store_delete(store, &addresses[i], &deadline), 0);
    CHECK_EQ(weir__store_seal(store, &deadline), 0);
    flip("segments/00000001.seg", -10);
    flip("segments/00000001.seg", head + 20);
    struct weir__store_stats stats;
    do
        weir__store_read(store, &stats);
    while (stats.tail_records > 0);
    CHECK_EQ(weir__store_compact(store, 10, &deadline), -WEIR_E_CORRUPT);
    CHECK(exists("segments/00000001.seg"));
    weir__store_read(store, &stats);
    CHECK(stats.damaged > 0);
    /* It is left alone from here on. */
    CHECK_EQ(weir__store_compact(store, 10, &deadline), -WEIR_E_NOT_FOUND);
    for (uint32_t i = 3; i < CHUNKS; i += 2)
        CHECK_EQ(rig_read(store, &addresses[i], 1000, i), 0);
    weir__store_close(store);
    weir__store_reader_fini(&reader);
    rig_remove_folder();
}

TAP_MAIN()
