/* store_rig.h - what the tests of the store share: folders, contents made from numbers, entries.
 *
 * Folders are made in memory where that is to be had, so that syncs are cheap.
 *
 * Ownership: a folder is removed by rig_remove_folder(); everything else is values.
 */
#ifndef WEIR_TESTS_STORE_RIG_H
#define WEIR_TESTS_STORE_RIG_H

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <weir/error.h>

#include "store.h"
#include "tap.h"

static char rig_folder[64];

static inline void rig_make_folder(void)
{
    snprintf(rig_folder, sizeof(rig_folder), "%s/weir-store-XXXXXX",
             access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
    CHECK(mkdtemp(rig_folder));
}

static inline void rig_remove_folder(void)
{
    char command[256];
    snprintf(command, sizeof(command), "chmod -R u+rwx %s; rm -rf %s", rig_folder, rig_folder);
    CHECK(system(command) == 0);
}

static inline uint64_t rig_seed(void)
{
    const char *text = getenv("WEIR_SEED");
    uint64_t seed = text ? strtoull(text, NULL, 0) : (uint64_t)getpid() * 2654435761u + 1;
    printf("# WEIR_SEED=%llu\n", (unsigned long long)seed);
    return seed | 1;
}

static inline uint64_t rig_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

/* The n-th content of a length. */
static inline void rig_fill(unsigned char *bytes, uint32_t length, uint64_t n)
{
    uint64_t x = n * UINT64_C(0x9E3779B97F4A7C15) + 1;
    for (uint32_t i = 0; i < length; i++)
        bytes[i] = (unsigned char)rig_random(&x);
}

/* The n-th address that is no content's. */
static inline struct weir__address rig_address(uint64_t n)
{
    struct weir__address address;
    weir__address_of(&n, sizeof(n), &address);
    return address;
}

static inline struct weir_deadline rig_soon(void)
{
    return weir_deadline_in(60 * WEIR_NS_PER_S, NULL);
}

static inline struct weir__store *rig_open_with(struct weir__store_options options,
                                                struct weir__store_report *report)
{
    struct weir__store *store = NULL;
    int error = weir__store_open(&store, &options, report);
    if (error)
        tap_fail(__FILE__, __LINE__, "%s: %s", weir_error_name(error), weir__store_why());
    return store;
}

/* In the folder, with the smallest segments, and nobody but who writes. */
static inline struct weir__store *rig_open(struct weir__store_report *report)
{
    return rig_open_with((struct weir__store_options){.folder = rig_folder,
                                                      .segment_bytes = WEIR__STORE_SEGMENT_LEAST,
                                                      .is_offline = true},
                         report);
}

static unsigned char rig_room[WEIR__CHUNK_MAX];

static inline int rig_put(struct weir__store *store, uint32_t length, uint64_t n,
                          struct weir__address *address)
{
    struct weir_deadline deadline = rig_soon();
    rig_fill(rig_room, length, n);
    weir__address_of(rig_room, length, address);
    return weir__store_put(store, address, rig_room, length, &deadline);
}

static inline int rig_delete(struct weir__store *store, const struct weir__address *address)
{
    struct weir_deadline deadline = rig_soon();
    return weir__store_delete(store, address, &deadline);
}

static inline int rig_find(struct weir__store *store, const struct weir__address *address)
{
    uint32_t length, time_s;
    return weir__store_find(store, address, &length, &time_s);
}

/* 0: it is there with the right bytes. */
static inline int rig_read(struct weir__store *store, const struct weir__address *address,
                           uint32_t length, uint64_t n)
{
    struct weir__store_reader reader;
    const unsigned char *bytes;
    uint32_t got;
    CHECK(weir__store_reader_init(&reader) == 0);
    int error = weir__store_read_chunk(store, &reader, address, &bytes, &got);
    rig_fill(rig_room, length, n);
    if (!error)
        CHECK(got == length && memcmp(bytes, rig_room, length) == 0);
    weir__store_reader_fini(&reader);
    return error;
}

/* Seals the newest segment and waits until the index has it. */
static inline void rig_seal(struct weir__store *store)
{
    struct weir_deadline deadline = rig_soon();
    struct weir__store_stats stats;
    CHECK_EQ(weir__store_seal(store, &deadline), 0);
    do {
        struct weir_deadline moment = weir_deadline_in(WEIR_NS_PER_MS, NULL);
        weir__store_read(store, &stats);
        if (stats.tail_records > 0)
            weir_deadline_sleep(&moment);
    } while (stats.tail_records > 0 && weir_deadline_check(&deadline) == 0);
    CHECK_EQ(stats.tail_records, 0);
}

/* All segments from that part of dead bytes on. Returns how many. */
static inline unsigned rig_compact(struct weir__store *store, uint32_t percent)
{
    struct weir_deadline deadline = rig_soon();
    unsigned count = 0;
    int error;
    while ((error = weir__store_compact(store, percent, &deadline)) == 0)
        CHECK(++count < 1000);
    CHECK_EQ(error, -WEIR_E_NOT_FOUND);
    return count;
}

static inline void rig_remove(const char *name)
{
    char path[128];
    snprintf(path, sizeof(path), "%s/%s", rig_folder, name);
    CHECK(unlink(path) == 0);
}

/* A bit at this place turns wherever the index has the address as a key of this size (0: of any),
 * which LMDB writes before it: so far behind the address, or in the page that it is in. How often
 * that was. */
static inline unsigned rig_turn(const struct weir__address *address, unsigned key_size,
                                size_t place, bool is_in_page, unsigned char bit)
{
    char path[128];
    unsigned char page[4096];
    unsigned count = 0;
    snprintf(path, sizeof(path), "%s/index/data.mdb", rig_folder);
    int fd = open(path, O_RDWR);
    CHECK(fd >= 0);
    for (off_t at = 0; pread(fd, page, sizeof(page), at) == (ssize_t)sizeof(page); at += 4096)
        for (size_t i = 2; i + 32 <= sizeof(page); i++) {
            size_t to = is_in_page ? place : i + place;
            if (to >= sizeof(page) || (key_size != 0 && page[i - 2] != key_size) ||
                memcmp(page + i, address->bytes, 32) != 0)
                continue;
            unsigned char turned = page[to] ^ bit;
            CHECK_EQ(pwrite(fd, &turned, 1, at + (off_t)to), 1);
            count++;
        }
    close(fd);
    return count;
}

static inline unsigned rig_turn_in_index(const struct weir__address *address, unsigned key_size,
                                         size_t behind)
{
    return rig_turn(address, key_size, behind, false, 1);
}

#endif
