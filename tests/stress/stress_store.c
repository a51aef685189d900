/* The store under real threads: each thread owns some addresses, which it puts, touches and
 * deletes, and reads those of all others; one seals, one compacts, the scrubber walks. An owner
 * knows the state of its addresses after each answer, and nobody else may change it.
 */
#include "stress.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <weir/error.h>

#include "atomic.h"
#include "store_part.h"

#define OWNERS     4
#define THREADS    (OWNERS + 3)
#define OWNED      24
#define LENGTH_MAX 120000u

struct owned {
    struct weir__address address;
    uint32_t length;
    uint64_t content;
    bool is_there;
};

struct shared {
    struct weir__store *store;
    struct owned all[OWNERS][OWNED];
    uint64_t reads, writes, compacted, seals;
};

static char folder[64];

static void fill(unsigned char *bytes, const struct owned *owned)
{
    uint64_t x = owned->content * UINT64_C(0x9E3779B97F4A7C15) + 1;
    for (uint32_t i = 0; i < owned->length; i++) {
        x ^= x << 13, x ^= x >> 7, x ^= x << 17;
        bytes[i] = (unsigned char)x;
    }
}

static struct weir_deadline soon(void)
{
    return weir_deadline_in(60 * WEIR_NS_PER_S, NULL);
}

/* --- owners --- */

struct worker {
    struct stress_thread *thread;
    struct weir__store_reader reader;
    unsigned char *bytes;
};

/* Any address: it is there whole, or not there; one's own is as it was left. */
static void read_one(struct worker *worker, const struct owned *owned, bool is_own)
{
    struct shared *shared = worker->thread->shared;
    uint64_t dice = stress_random(worker->thread);
    struct weir__chunk chunk = {.fd = -1};
    int error = dice & 1 ? weir__store_get(shared->store, &worker->reader, &owned->address, &chunk)
                         : weir__store_get_now(shared->store, &owned->address, &chunk);
    bool is_busy = error == -WEIR_E_BUSY && !(dice & 1);
    CHECK(error == 0 || error == -WEIR_E_NOT_FOUND || is_busy);
    if (is_own && !is_busy)
        CHECK_EQ(error == 0, owned->is_there);
    if (is_own && error == 0)
        CHECK(owned->is_there);
    if (error)
        return;
    CHECK_EQ(chunk.length, owned->length);
    unsigned char *got = worker->bytes + LENGTH_MAX;
    CHECK_EQ(pread(chunk.fd, got, chunk.length, (off_t)chunk.offset), chunk.length);
    fill(worker->bytes, owned);
    CHECK_EQ(memcmp(got, worker->bytes, chunk.length), 0);
    weir__chunk_release(shared->store, &chunk);
    weir__count(&shared->reads, 1);
}

static void write_one(struct worker *worker, struct owned *owned)
{
    struct shared *shared = worker->thread->shared;
    struct weir_deadline deadline = soon();
    int error;
    switch (stress_random(worker->thread) % 4) {
    case 0:
        error = weir__store_delete(shared->store, &owned->address, &deadline);
        CHECK_EQ(error, owned->is_there ? 0 : -WEIR_E_NOT_FOUND);
        owned->is_there = false;
        break;
    case 1:
        error = weir__store_touch(shared->store, &owned->address, &deadline);
        CHECK_EQ(error, owned->is_there ? 0 : -WEIR_E_NOT_FOUND);
        break;
    default:
        fill(worker->bytes, owned);
        error = weir__store_put(shared->store, &owned->address, worker->bytes, owned->length,
                                &deadline);
        CHECK_EQ(error, owned->is_there ? WEIR__STORE_PRESENT : 0);
        owned->is_there = true;
    }
    weir__count(&shared->writes, 1);
}

static void own(struct stress_thread *thread)
{
    struct shared *shared = thread->shared;
    struct worker worker = {.thread = thread, .bytes = malloc(2 * LENGTH_MAX)};
    CHECK_EQ(weir__store_reader_init(&worker.reader), 0);
    while (stress_goes_on(thread)) {
        uint64_t dice = stress_random(thread);
        int whose = (int)((dice >> 8) % OWNERS);
        struct owned *mine = &shared->all[thread->index][dice % OWNED];
        write_one(&worker, mine);
        read_one(&worker, mine, true);
        /* Only what never changes of it is looked at. */
        if (whose != thread->index)
            read_one(&worker, &shared->all[whose][(dice >> 16) % OWNED], false);
    }
    weir__store_reader_fini(&worker.reader);
    free(worker.bytes);
}

/* --- upkeep --- */

static int count_one(void *arg, const struct weir__address *address, uint32_t length,
                     uint32_t time_s)
{
    (void)address, (void)time_s;
    CHECK(length <= LENGTH_MAX);
    ++*(size_t *)arg;
    return 0;
}

static void look(struct shared *shared)
{
    struct weir__store_stats stats;
    size_t count = 0;
    CHECK_EQ(weir__store_walk(shared->store, NULL, count_one, &count), 0);
    CHECK(count <= OWNERS * OWNED);
    weir__store_read(shared->store, &stats);
    CHECK_EQ(stats.damaged + stats.writes_failed + stats.syncs_failed + stats.index_is_broken, 0);
    CHECK(stats.dead_bytes <= stats.bytes);
    /* The index is what was put into it, at any moment that has an end. */
    uint32_t at = 0;
    int error;
    do {
        error = weir__store_check_index(shared->store, &at);
        CHECK(error == 0 || error == -WEIR_E_BUSY);
    } while (error || at > 0);
}

static void keep(struct stress_thread *thread)
{
    struct shared *shared = thread->shared;
    weir__store_scrub_now(shared->store);
    while (stress_goes_on(thread)) {
        struct weir_deadline deadline = soon();
        uint64_t dice = stress_random(thread);
        if (thread->index == OWNERS) {
            int error = weir__store_compact(shared->store, (uint32_t)(dice % 60), &deadline);
            CHECK(error == 0 || error == -WEIR_E_NOT_FOUND);
            weir__count(&shared->compacted, error == 0);
        } else if (thread->index == OWNERS + 1) {
            struct weir_deadline rest = weir_deadline_in(5 * WEIR_NS_PER_MS, NULL);
            CHECK_EQ(weir__store_seal(shared->store, &deadline), 0);
            weir__count(&shared->seals, 1);
            weir_deadline_sleep(&rest);
        } else {
            struct weir__store_options options = {.verify = (enum weir__store_verify)(dice % 3),
                                                  .scrub_per_s = 1u << 30,
                                                  .compact_per_s = 1u << 30};
            CHECK_EQ(weir__store_update(shared->store, &options), 0);
            look(shared);
        }
    }
}

static void work(struct stress_thread *thread)
{
    if (thread->index < OWNERS)
        own(thread);
    else
        keep(thread);
}

/* --- runs --- */

static struct weir__store *open_store(bool is_memory)
{
    struct weir__store_options options = {.folder = is_memory ? NULL : folder,
                                          .memory_max = UINT64_C(1) << 36,
                                          .segment_bytes = WEIR__STORE_SEGMENT_LEAST,
                                          .hot_entries = 64,
                                          .descriptors_max = 2,
                                          .compact_per_s = 1u << 30,
                                          .scrub_per_s = 1u << 30};
    struct weir__store *store;
    int error = weir__store_open(&store, &options, NULL);
    if (error)
        tap_fail(__FILE__, __LINE__, "%s: %s", weir_error_name(error), weir__store_why());
    return store;
}

static void make_contents(struct shared *shared)
{
    unsigned char *bytes = malloc(LENGTH_MAX);
    for (int i = 0; i < OWNERS; i++)
        for (int j = 0; j < OWNED; j++) {
            struct owned *owned = &shared->all[i][j];
            owned->content = (uint64_t)(i * OWNED + j);
            owned->length = (uint32_t)(owned->content * 7919 % LENGTH_MAX);
            fill(bytes, owned);
            weir__address_of(bytes, owned->length, &owned->address);
        }
    free(bytes);
}

/* All is as its owner has left it. */
static void compare(struct shared *shared)
{
    struct weir__store_reader reader;
    unsigned char *bytes = malloc(LENGTH_MAX);
    CHECK_EQ(weir__store_reader_init(&reader), 0);
    for (int i = 0; i < OWNERS; i++)
        for (int j = 0; j < OWNED; j++) {
            const struct owned *owned = &shared->all[i][j];
            const unsigned char *got;
            uint32_t length;
            int error =
                weir__store_read_chunk(shared->store, &reader, &owned->address, &got, &length);
            CHECK_EQ(error, owned->is_there ? 0 : -WEIR_E_NOT_FOUND);
            if (error)
                continue;
            fill(bytes, owned);
            CHECK(length == owned->length && memcmp(got, bytes, length) == 0);
        }
    weir__store_reader_fini(&reader);
    free(bytes);
}

static void tell(const struct shared *shared)
{
    printf("# %llu writes, %llu reads, %llu compactions, %llu seals\n",
           (unsigned long long)shared->writes, (unsigned long long)shared->reads,
           (unsigned long long)shared->compacted, (unsigned long long)shared->seals);
    CHECK(shared->writes > 50 && shared->compacted > 0);
}

TEST(in_a_folder)
{
    static struct shared shared;
    char command[300];
    memset(&shared, 0, sizeof(shared));
    snprintf(folder, sizeof(folder), "%s/weir-stress-XXXXXX",
             access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
    CHECK(mkdtemp(folder));
    make_contents(&shared);
    shared.store = open_store(false);
    stress_run(THREADS, &shared, work);
    compare(&shared);
    tell(&shared);
    weir__store_close(shared.store);
    shared.store = open_store(false);
    compare(&shared);
    weir__store_close(shared.store);
    /* And by the segments alone. */
    snprintf(command, sizeof(command), "rm %s/mark", folder);
    CHECK_EQ(system(command), 0);
    shared.store = open_store(false);
    compare(&shared);
    weir__store_close(shared.store);
    snprintf(command, sizeof(command), "rm -rf %s", folder);
    CHECK_EQ(system(command), 0);
}

TEST(in_memory)
{
    static struct shared shared;
    memset(&shared, 0, sizeof(shared));
    make_contents(&shared);
    shared.store = open_store(true);
    stress_run(THREADS, &shared, work);
    compare(&shared);
    tell(&shared);
    weir__store_close(shared.store);
}

TAP_MAIN()
