/* test_store.c - chunks are put, found, deleted, and outlive their store. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <weir/error.h>

#include "store.h"
#include "tap.h"

static char folder[64];

static void make_folder(void)
{
    snprintf(folder, sizeof(folder), "/dev/shm/weir-store-XXXXXX");
    CHECK(mkdtemp(folder));
}

static void remove_folder(void)
{
    char command[256];
    snprintf(command, sizeof(command), "chmod -R u+rwx %s; rm -rf %s", folder, folder);
    CHECK(system(command) == 0);
}

static struct weir_deadline soon(void)
{
    return weir_deadline_in(60 * WEIR_NS_PER_S, NULL);
}

static struct weir__store *open_with(struct weir__store_options options,
                                     struct weir__store_report *report)
{
    struct weir__store *store = NULL;
    options.folder = folder;
    int error = weir__store_open(&store, &options, report);
    if (error)
        printf("# %s: %s\n", weir_error_name(error), weir__store_why());
    CHECK(error == 0);
    return store;
}

static struct weir__store *open_store(struct weir__store_report *report)
{
    return open_with((struct weir__store_options){.segment_bytes = 4u << 20}, report);
}

/* The n-th content of a length. */
static void fill(unsigned char *bytes, uint32_t length, uint64_t n)
{
    uint64_t x = n * UINT64_C(0x9E3779B97F4A7C15) + 1;
    for (uint32_t i = 0; i < length; i++) {
        x ^= x << 13, x ^= x >> 7, x ^= x << 17;
        bytes[i] = (unsigned char)x;
    }
}

static unsigned char room[WEIR__CHUNK_MAX];

static int put(struct weir__store *store, uint32_t length, uint64_t n,
               struct weir__address *address)
{
    struct weir_deadline deadline = soon();
    fill(room, length, n);
    weir__address_of(room, length, address);
    return weir__store_put(store, address, room, length, &deadline);
}

static bool is_right(struct weir__store *store, const struct weir__address *address,
                     uint32_t length, uint64_t n)
{
    struct weir__store_reader reader;
    const unsigned char *bytes;
    uint32_t got;
    CHECK(weir__store_reader_init(&reader) == 0);
    int error = weir__store_read_chunk(store, &reader, address, &bytes, &got);
    fill(room, length, n);
    bool right = error == 0 && got == length && memcmp(bytes, room, length) == 0;
    weir__store_reader_fini(&reader);
    return right;
}

TEST(puts_and_finds)
{
    struct weir__store_report report;
    struct weir__address a, b, none = {{1}};
    make_folder();
    struct weir__store *store = open_store(&report);
    CHECK(report.is_new);
    CHECK(put(store, 1000, 1, &a) == 0);
    CHECK(put(store, 0, 2, &b) == 0);
    CHECK(put(store, 1000, 1, &a) == WEIR__STORE_PRESENT);
    CHECK(is_right(store, &a, 1000, 1));
    CHECK(is_right(store, &b, 0, 2));
    uint32_t length, time_s;
    CHECK(weir__store_find(store, &none, &length, &time_s) == -WEIR_E_NOT_FOUND);
    struct weir_deadline deadline = soon();
    CHECK(weir__store_delete(store, &none, &deadline) == -WEIR_E_NOT_FOUND);
    CHECK(weir__store_delete(store, &a, &deadline) == 0);
    CHECK(weir__store_find(store, &a, &length, &time_s) == -WEIR_E_NOT_FOUND);
    CHECK(put(store, 1000, 1, &a) == 0);
    CHECK(is_right(store, &a, 1000, 1));
    weir__store_close(store);
    store = open_store(&report);
    CHECK(!report.is_new && report.was_clean && !report.index_was_rebuilt);
    CHECK(is_right(store, &a, 1000, 1));
    CHECK(is_right(store, &b, 0, 2));
    weir__store_close(store);
    remove_folder();
}

#define MANY 3000

/* The newest segment is not in the index, and cannot be put there. */
TEST(read_only_after_a_clean_end)
{
    struct weir__store_report report;
    struct weir__address a, b;
    make_folder();
    struct weir__store *store = open_store(&report);
    CHECK(put(store, 1000, 1, &a) == 0);
    struct weir_deadline deadline = soon();
    CHECK(weir__store_seal(store, &deadline) == 0);
    CHECK(put(store, 2000, 2, &b) == 0);
    weir__store_close(store);
    for (int i = 0; i < 2; i++) {
        store = open_with((struct weir__store_options){.is_read_only = true}, &report);
        CHECK(report.is_read_only && report.was_clean && report.segments == 2);
        CHECK(is_right(store, &a, 1000, 1));
        CHECK(is_right(store, &b, 2000, 2));
        struct weir__address other;
        CHECK(put(store, 3000, 3, &other) == -WEIR_E_READ_ONLY);
        weir__store_close(store);
    }
    remove_folder();
}

static uint32_t length_of(uint64_t n)
{
    return (uint32_t)(n * 7919 % 20000);
}

TEST(many_segments)
{
    static struct weir__address addresses[MANY];
    struct weir__store_report report;
    struct weir__store_stats stats;
    struct weir_deadline deadline = soon();
    make_folder();
    struct weir__store *store = open_store(&report);
    for (uint64_t n = 0; n < MANY; n++)
        CHECK(put(store, length_of(n), n, &addresses[n]) >= 0);
    for (uint64_t n = 0; n < MANY; n += 3)
        CHECK(weir__store_delete(store, &addresses[n], &deadline) >= -WEIR_E_NOT_FOUND);
    weir__store_read(store, &stats);
    CHECK(stats.segments > 5);
    for (int round = 0; round < 3; round++) {
        for (uint64_t n = 0; n < MANY; n++) {
            if (length_of(n) > 16 && n % 3 == 0)
                CHECK(!is_right(store, &addresses[n], length_of(n), n));
            else if (length_of(n) > 16)
                CHECK(is_right(store, &addresses[n], length_of(n), n));
        }
        if (round == 0)
            while (weir__store_compact(store, 0, &deadline) == 0)
                ;
        if (round == 1) {
            CHECK_EQ(weir__store_close(store), 0);
            store = open_store(&report);
            CHECK(report.was_clean && !report.index_was_rebuilt);
        }
    }
    weir__store_close(store);
    char name[128];
    snprintf(name, sizeof(name), "%s/mark", folder);
    CHECK(unlink(name) == 0);
    store = open_store(&report);
    CHECK(!report.was_clean && report.index_was_rebuilt);
    for (uint64_t n = 0; n < MANY; n++)
        if (length_of(n) > 16)
            CHECK(is_right(store, &addresses[n], length_of(n), n) == (n % 3 != 0));
    weir__store_close(store);
    remove_folder();
}

TAP_MAIN()
