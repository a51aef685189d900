/* store_help.h - chunks with known content, folders that go away, and what a store says of them.
 *
 * Ownership: folders belong to whoever made them; stores to whoever opened them.
 */
#ifndef WEIR_TESTS_STORE_HELP_H
#define WEIR_TESTS_STORE_HELP_H

#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <weir/error.h>

#include "store.h"
#include "tap.h"

#define HELP_PATH 256

/* An empty folder in memory. */
static inline void help_make_folder(char path[HELP_PATH])
{
    snprintf(path, HELP_PATH, "/dev/shm/weir-store-XXXXXX");
    CHECK(mkdtemp(path));
}

static inline int help_remove_one(const char *path, const struct stat *st, int type,
                                  struct FTW *ftw)
{
    (void)st, (void)type, (void)ftw;
    return remove(path);
}

static inline void help_remove(const char *path)
{
    nftw(path, help_remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static inline struct weir_deadline help_soon(void)
{
    return weir_deadline_in(60 * WEIR_NS_PER_S, NULL);
}

/* The content of the chunk n: lengths of all kinds, none of which is that of another. */
static inline uint32_t help_length(uint64_t n)
{
    static const uint32_t lengths[] = {13, 600, 3000, 448, 512, 1, 70, 1500};
    return n == 3 ? 0 : lengths[n % 8];
}

static inline void help_fill(unsigned char *bytes, uint32_t length, uint64_t n)
{
    uint64_t x = n * UINT64_C(0x9E3779B97F4A7C15) + 1;
    for (uint32_t i = 0; i < length; i++) {
        x ^= x << 13, x ^= x >> 7, x ^= x << 17;
        bytes[i] = (unsigned char)x;
    }
    /* Of one byte there are too few. */
    if (length == 1)
        bytes[0] = (unsigned char)n;
}

struct help_chunk {
    struct weir__address address;
    uint32_t length;
    unsigned char bytes[4096];
};

static inline void help_chunk(struct help_chunk *chunk, uint64_t n)
{
    chunk->length = help_length(n);
    help_fill(chunk->bytes, chunk->length, n);
    weir__address_of(chunk->bytes, chunk->length, &chunk->address);
}

static inline int help_put(struct weir__store *store, uint64_t n)
{
    struct weir_deadline deadline = help_soon();
    struct help_chunk chunk;
    help_chunk(&chunk, n);
    return weir__store_put(store, &chunk.address, chunk.bytes, chunk.length, &deadline);
}

static inline int help_delete(struct weir__store *store, uint64_t n)
{
    struct weir_deadline deadline = help_soon();
    struct help_chunk chunk;
    help_chunk(&chunk, n);
    return weir__store_delete(store, &chunk.address, &deadline);
}

static inline int help_touch(struct weir__store *store, uint64_t n)
{
    struct weir_deadline deadline = help_soon();
    struct help_chunk chunk;
    help_chunk(&chunk, n);
    return weir__store_touch(store, &chunk.address, &deadline);
}

/* 0: it is there and right; 1: it is there and wrong; or the error. For one thread. */
static inline int help_look(struct weir__store *store, uint64_t n)
{
    static struct weir__store_reader reader;
    const unsigned char *bytes;
    struct help_chunk chunk;
    uint32_t length;
    help_chunk(&chunk, n);
    if (!reader._bytes)
        CHECK_EQ(weir__store_reader_init(&reader), 0);
    int error = weir__store_read_chunk(store, &reader, &chunk.address, &bytes, &length);
    if (!error)
        error = length != chunk.length || memcmp(bytes, chunk.bytes, length) != 0;
    return error;
}

static inline int help_try_open(struct weir__store **ret_store, const char *folder,
                                struct weir__store_report *report)
{
    struct weir__store_options options = {
        .folder = folder, .segment_bytes = 4u << 20, .hot_entries = 64, .is_offline = true};
    return weir__store_open(ret_store, &options, report);
}

static inline struct weir__store *help_open(const char *folder, struct weir__store_report *report)
{
    struct weir__store *store = NULL;
    int error = help_try_open(&store, folder, report);
    if (error)
        tap_fail(__FILE__, __LINE__, "%s: %s", weir_error_name(error), weir__store_why());
    return store;
}

/* Until the index has all that was sealed. */
static inline void help_await_index(struct weir__store *store)
{
    struct weir__store_stats stats;
    struct weir_deadline deadline = help_soon();
    do
        weir__store_read(store, &stats);
    while (stats.tail_records > 0 && weir_deadline_check(&deadline) == 0);
}

static inline void help_seal(struct weir__store *store)
{
    struct weir_deadline deadline = help_soon();
    CHECK_EQ(weir__store_seal(store, &deadline), 0);
    help_await_index(store);
}

/* All that can be. How many segments went. */
static inline int help_compact(struct weir__store *store)
{
    struct weir_deadline deadline = help_soon();
    int count = 0;
    while (weir__store_compact(store, 0, &deadline) == 0)
        count++;
    return count;
}

/* Whole small files. */
static inline unsigned char *help_read(const char *path, size_t *ret_length)
{
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return NULL;
    CHECK_EQ(fstat(fd, &st), 0);
    unsigned char *bytes = malloc((size_t)st.st_size + 1);
    CHECK(bytes);
    CHECK_EQ(read(fd, bytes, (size_t)st.st_size), st.st_size);
    close(fd);
    *ret_length = (size_t)st.st_size;
    return bytes;
}

static inline void help_write(const char *path, const void *bytes, size_t length)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    CHECK(fd >= 0);
    CHECK_EQ(write(fd, bytes, length), (ssize_t)length);
    close(fd);
}

#endif
