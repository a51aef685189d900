/* test_store_upkeep.c - reading and its policies, times, compaction under readers, walks, counts,
 * and stores that are only read. */
#include <errno.h>

#include <weir/clock.h>
#include <weir/fault.h>

#include "disk.h"
#include "log.h"
#include "store_rig.h"
#include "sys.h"

#define LENGTH 20000u

static struct weir__store_reader reader;

static void begin(void)
{
    rig_make_folder();
    CHECK_EQ(weir__store_reader_init(&reader), 0);
}

static void end(struct weir__store *store)
{
    weir__store_close(store);
    weir__store_reader_fini(&reader);
    rig_remove_folder();
}

static struct weir__store *open_as(enum weir__store_verify verify)
{
    return rig_open_with((struct weir__store_options){.folder = rig_folder,
                                                      .segment_bytes = WEIR__STORE_SEGMENT_LEAST,
                                                      .verify = verify,
                                                      .is_offline = true},
                         NULL);
}

static bool holds(const struct weir__chunk *chunk, uint64_t n)
{
    unsigned char bytes[LENGTH];
    rig_fill(rig_room, LENGTH, n);
    return chunk->length == LENGTH &&
           pread(chunk->fd, bytes, LENGTH, (off_t)chunk->offset) == (ssize_t)LENGTH &&
           memcmp(bytes, rig_room, LENGTH) == 0;
}

static struct weir__store_stats stats_of(struct weir__store *store)
{
    struct weir__store_stats stats;
    weir__store_read(store, &stats);
    return stats;
}

static uint32_t time_of(struct weir__store *store, const struct weir__address *address)
{
    uint32_t length, time_s;
    CHECK_EQ(weir__store_find(store, address, &length, &time_s), 0);
    return time_s;
}

/* --- reading --- */

TEST(verified_when_read_first)
{
    struct weir__address address;
    struct weir__chunk chunk = {.fd = -1};
    begin();
    struct weir__store *store = open_as(WEIR__STORE_VERIFY_FIRST);
    CHECK_EQ(rig_put(store, LENGTH, 1, &address), 0);
    CHECK_EQ(weir__store_get_now(store, &address, &chunk), -WEIR_E_BUSY);
    CHECK_EQ(weir__store_get(store, &reader, &address, &chunk), 0);
    CHECK(chunk.is_verified && holds(&chunk, 1));
    weir__chunk_release(store, &chunk);
    weir__chunk_release(store, &chunk);
    CHECK_EQ(stats_of(store).verified, 1);
    CHECK_EQ(weir__store_get_now(store, &address, &chunk), 0);
    CHECK(chunk.is_verified && holds(&chunk, 1));
    weir__chunk_release(store, &chunk);
    CHECK_EQ(weir__store_get(store, &reader, &address, &chunk), 0);
    weir__chunk_release(store, &chunk);
    CHECK_EQ(stats_of(store).verified, 1);
    CHECK_EQ(stats_of(store).gets_hot, 2);
    CHECK_EQ(stats_of(store).gets_cold, 1);
    /* Deleted, it is not there in any way. */
    CHECK_EQ(rig_delete(store, &address), 0);
    CHECK_EQ(weir__store_get_now(store, &address, &chunk), -WEIR_E_BUSY);
    CHECK_EQ(weir__store_get(store, &reader, &address, &chunk), -WEIR_E_NOT_FOUND);
    end(store);
}

TEST(verified_always)
{
    struct weir__address address;
    struct weir__chunk chunk;
    begin();
    struct weir__store *store = open_as(WEIR__STORE_VERIFY_ALWAYS);
    CHECK_EQ(rig_put(store, LENGTH, 1, &address), 0);
    for (uint64_t i = 1; i <= 3; i++) {
        CHECK_EQ(weir__store_get_now(store, &address, &chunk), -WEIR_E_BUSY);
        CHECK_EQ(weir__store_get(store, &reader, &address, &chunk), 0);
        CHECK(chunk.is_verified);
        weir__chunk_release(store, &chunk);
        CHECK_EQ(stats_of(store).verified, i);
    }
    end(store);
}

/* What was not verified is not called so after the policy has changed. */
TEST(verified_by_the_scrubber_alone)
{
    struct weir__address address;
    struct weir__chunk chunk;
    begin();
    struct weir__store *store = open_as(WEIR__STORE_VERIFY_SCRUB);
    CHECK_EQ(rig_put(store, LENGTH, 1, &address), 0);
    for (int i = 0; i < 2; i++) {
        CHECK_EQ(weir__store_get(store, &reader, &address, &chunk), 0);
        CHECK(!chunk.is_verified && holds(&chunk, 1));
        weir__chunk_release(store, &chunk);
    }
    CHECK_EQ(stats_of(store).verified, 0);
    CHECK_EQ(weir__store_get_now(store, &address, &chunk), 0);
    weir__chunk_release(store, &chunk);
    struct weir__store_options first = {.verify = WEIR__STORE_VERIFY_FIRST};
    CHECK_EQ(weir__store_update(store, &first), 0);
    CHECK_EQ(weir__store_get_now(store, &address, &chunk), -WEIR_E_BUSY);
    CHECK_EQ(weir__store_get(store, &reader, &address, &chunk), 0);
    CHECK(chunk.is_verified);
    weir__chunk_release(store, &chunk);
    CHECK_EQ(stats_of(store).verified, 1);
    end(store);
}

TEST(updated)
{
    begin();
    struct weir__store *store = open_as(WEIR__STORE_VERIFY_FIRST);
    struct weir__store_options options = {.compact_percent = 101};
    CHECK_EQ(weir__store_update(store, &options), -WEIR_E_INVALID);
    options = (struct weir__store_options){.verify = (enum weir__store_verify)9};
    CHECK_EQ(weir__store_update(store, &options), -WEIR_E_INVALID);
    /* What it does not look at is not judged. */
    options = (struct weir__store_options){.segment_bytes = 1, .pending_bytes = 1};
    CHECK_EQ(weir__store_update(store, &options), 0);
    weir__store_close(store);
    store = rig_open_with(
        (struct weir__store_options){.memory_max = 16u << 20, .segment_bytes = 4u << 20}, NULL);
    options = (struct weir__store_options){.compact_percent = 20};
    CHECK_EQ(weir__store_update(store, &options), 0);
    end(store);
}

/* --- times --- */

/* Times are of seconds by the wall clock, which no test can move. */
static void await_next_second(void)
{
    int64_t now = weir_wall_s();
    while (weir_wall_s() == now)
        ;
}

TEST(touched_is_younger_for_good)
{
    struct weir__address address, other;
    struct weir_deadline deadline = rig_soon();
    begin();
    struct weir__store *store = open_as(WEIR__STORE_VERIFY_FIRST);
    CHECK_EQ(rig_put(store, LENGTH, 1, &address), 0);
    CHECK_EQ(rig_put(store, LENGTH, 2, &other), 0);
    uint32_t born = time_of(store, &address), young;
    rig_seal(store);
    await_next_second();
    CHECK_EQ(weir__store_touch(store, &address, &deadline), 0);
    young = time_of(store, &address);
    CHECK(young > born);
    CHECK_EQ(time_of(store, &other), born);
    CHECK_EQ(rig_read(store, &address, LENGTH, 1), 0);
    /* With the touch in the newest segment, which is scanned. */
    weir__store_close(store);
    store = open_as(WEIR__STORE_VERIFY_FIRST);
    CHECK_EQ(time_of(store, &address), young);
    /* The chunk is moved, and the touch stays where it is; then the other way round. */
    for (int round = 0; round < 6; round++) {
        switch (round) {
        case 0:
            CHECK_EQ(rig_delete(store, &other), 0);
            rig_seal(store);
            break;
        case 1:
        case 4:
            CHECK(rig_compact(store, 0) > 0);
            break;
        case 2:
            CHECK_EQ(rig_put(store, LENGTH, 3, &other), 0);
            CHECK_EQ(rig_delete(store, &other), 0);
            break;
        case 3:
            rig_seal(store);
            break;
        default:
            break;
        }
        CHECK_EQ(time_of(store, &address), young);
        weir__store_close(store);
        if (round % 2)
            rig_remove("mark");
        store = open_as(WEIR__STORE_VERIFY_FIRST);
        CHECK_EQ(time_of(store, &address), young);
        CHECK_EQ(rig_read(store, &address, LENGTH, 1), 0);
    }
    end(store);
}

/* --- compaction and readers --- */

TEST(pinned_while_deleted_and_compacted)
{
    static struct weir__address addresses[100];
    struct weir__chunk kept[3];
    char path[128];
    begin();
    struct weir__store *store = open_as(WEIR__STORE_VERIFY_FIRST);
    for (uint64_t n = 0; n < 100; n++)
        CHECK_EQ(rig_put(store, LENGTH, n, &addresses[n]), 0);
    for (uint64_t n = 0; n < 3; n++)
        CHECK_EQ(weir__store_get(store, &reader, &addresses[n], &kept[n]), 0);
    for (uint64_t n = 0; n < 100; n++)
        if (n != 1)
            CHECK_EQ(rig_delete(store, &addresses[n]), 0);
    rig_seal(store);
    CHECK(rig_compact(store, 0) > 0);
    snprintf(path, sizeof(path), "%s/segments/00000001.seg", rig_folder);
    CHECK(access(path, F_OK) != 0);
    for (uint64_t n = 0; n < 3; n++) {
        CHECK(holds(&kept[n], n));
        CHECK_EQ(rig_read(store, &addresses[n], LENGTH, n), n == 1 ? 0 : -WEIR_E_NOT_FOUND);
    }
    for (uint64_t n = 0; n < 3; n++)
        weir__chunk_release(store, &kept[n]);
    end(store);
}

/* The segment of a deletion is compacted, that of what it hides is not: the deletion is moved,
 * again and again, and goes when there is nothing to hide. */
TEST(deletions_are_moved)
{
    struct weir__address deleted, kept, other;
    begin();
    struct weir__store *store = rig_open(NULL);
    CHECK_EQ(rig_put(store, 100, 1, &deleted), 0);
    CHECK_EQ(rig_put(store, LENGTH, 2, &kept), 0);
    rig_seal(store);
    CHECK_EQ(rig_delete(store, &deleted), 0);
    for (uint64_t round = 0; round < 3; round++) {
        CHECK_EQ(rig_put(store, LENGTH, 10 + round, &other), 0);
        CHECK_EQ(rig_delete(store, &other), 0);
        rig_seal(store);
        CHECK_EQ(rig_compact(store, 50), 1);
        weir__store_close(store);
        rig_remove("mark");
        store = rig_open(NULL);
        CHECK_EQ(rig_find(store, &deleted), -WEIR_E_NOT_FOUND);
        CHECK_EQ(rig_read(store, &kept, LENGTH, 2), 0);
        /* It alone was worth to be moved. */
        CHECK_EQ(stats_of(store).tail_records, 1);
    }
    /* Now what it hides goes, and then it has nothing to hide. */
    CHECK_EQ(rig_delete(store, &kept), 0);
    CHECK_EQ(rig_put(store, LENGTH, 20, &other), 0);
    CHECK_EQ(rig_delete(store, &other), 0);
    rig_seal(store);
    CHECK_EQ(rig_compact(store, 50), 2);
    CHECK_EQ(stats_of(store).index_entries, 0);
    weir__store_close(store);
    rig_remove("mark");
    store = rig_open(NULL);
    CHECK_EQ(rig_find(store, &deleted), -WEIR_E_NOT_FOUND);
    CHECK_EQ(rig_find(store, &kept), -WEIR_E_NOT_FOUND);
    end(store);
}

/* The thread that compacts by itself, as it does in a service. */
TEST(compacts_by_itself)
{
    static struct weir__address addresses[400];
    begin();
    struct weir__store *store =
        rig_open_with((struct weir__store_options){.folder = rig_folder,
                                                   .segment_bytes = WEIR__STORE_SEGMENT_LEAST},
                      NULL);
    for (uint64_t n = 0; n < 400; n++)
        CHECK_EQ(rig_put(store, LENGTH, n, &addresses[n]), 0);
    for (uint64_t n = 0; n < 400; n++)
        if (n % 4)
            CHECK_EQ(rig_delete(store, &addresses[n]), 0);
    struct weir_deadline deadline = rig_soon();
    CHECK_EQ(weir__store_seal(store, &deadline), 0);
    while (stats_of(store).compacted_segments == 0) {
        struct weir_deadline moment = weir_deadline_in(10 * WEIR_NS_PER_MS, NULL);
        weir_deadline_sleep(&moment);
        CHECK_EQ(weir_deadline_check(&deadline), 0);
    }
    for (uint64_t n = 0; n < 400; n++)
        CHECK_EQ(rig_read(store, &addresses[n], LENGTH, n), n % 4 ? -WEIR_E_NOT_FOUND : 0);
    end(store);
}

#ifdef WEIR_FAULTS
/* A system call of a compaction fails, whichever it is, and the compaction that comes after it
 * finds what it left: nothing that was deleted comes back, nothing else is lost. */
static bool compact_with_fault(uint64_t n)
{
    struct weir__address deleted, kept, other;
    struct weir_deadline deadline = rig_soon();
    begin();
    struct weir__store *store = open_as(WEIR__STORE_VERIFY_FIRST);
    CHECK_EQ(rig_put(store, LENGTH, 1, &deleted), 0);
    CHECK_EQ(rig_put(store, 100, 2, &kept), 0);
    rig_seal(store);
    CHECK_EQ(rig_delete(store, &deleted), 0);
    CHECK_EQ(rig_put(store, LENGTH, 3, &other), 0);
    rig_seal(store);
    weir_fault_arm(WEIR_FAULT_IO, n);
    (void)!weir__store_compact(store, 0, &deadline);
    bool was_hit = weir_fault_was_hit(WEIR_FAULT_IO);
    weir_fault_arm(WEIR_FAULT_IO, 0);
    /* Now that of the deletion. */
    CHECK_EQ(rig_delete(store, &other), 0);
    rig_seal(store);
    while (weir__store_compact(store, 0, &deadline) == 0)
        ;
    for (int round = 0; round < 3; round++) {
        CHECK_EQ(rig_find(store, &deleted), -WEIR_E_NOT_FOUND);
        CHECK_EQ(rig_read(store, &kept, 100, 2), 0);
        weir__store_close(store);
        if (round == 1)
            rig_remove("mark");
        store = open_as(WEIR__STORE_VERIFY_FIRST);
    }
    end(store);
    return was_hit;
}

TEST(compaction_that_fails)
{
    uint64_t n = 1;
    while (compact_with_fault(n))
        CHECK(++n < 200);
    printf("# %llu calls could fail\n", (unsigned long long)n - 1);
    CHECK(n > 5);
}
#endif

/* --- walking and counting --- */

struct walked {
    size_t count, limit;
    uint64_t bytes;
};

static int note(void *arg, const struct weir__address *address, uint32_t length, uint32_t time_s)
{
    struct walked *walked = arg;
    (void)address, (void)time_s;
    walked->bytes += length;
    return ++walked->count == walked->limit ? 5 : 0;
}

/* Some in the index, some in the newest segment, some deleted, some of both. */
TEST(walks)
{
    struct weir__address address;
    begin();
    struct weir__store *store = open_as(WEIR__STORE_VERIFY_FIRST);
    for (uint64_t n = 0; n < 300; n++)
        CHECK_EQ(rig_put(store, 100 + (uint32_t)n, n, &address), 0);
    rig_seal(store);
    for (uint64_t n = 200; n < 400; n++)
        CHECK_EQ(rig_put(store, 100 + (uint32_t)n, n, &address), n < 300 ? WEIR__STORE_PRESENT : 0);
    uint64_t bytes = 0;
    for (uint64_t n = 0; n < 400; n++) {
        rig_fill(rig_room, 100 + (uint32_t)n, n);
        weir__address_of(rig_room, 100 + n, &address);
        if (n % 3 == 0)
            CHECK_EQ(rig_delete(store, &address), 0);
        else
            bytes += 100 + n;
        if (n % 3 == 1) {
            struct weir_deadline deadline = rig_soon();
            CHECK_EQ(weir__store_touch(store, &address, &deadline), 0);
        }
    }
    struct walked all = {0}, some = {.limit = 7}, upper = {0}, none = {0};
    CHECK_EQ(weir__store_walk(store, NULL, note, &all), 0);
    CHECK_EQ(all.count, 266);
    CHECK_EQ(all.bytes, bytes);
    CHECK_EQ(weir__store_walk(store, NULL, note, &some), 5);
    CHECK_EQ(some.count, 7);
    struct weir__address middle = {{0x80}}, last;
    memset(&last, 0xff, sizeof(last));
    CHECK_EQ(weir__store_walk(store, &middle, note, &upper), 0);
    CHECK(upper.count > 80 && upper.count < 190);
    CHECK_EQ(weir__store_walk(store, &last, note, &none), 0);
    CHECK_EQ(none.count, 0);
    end(store);
}

TEST(counts_add_up)
{
    static struct weir__address addresses[100];
    struct weir_deadline deadline = rig_soon();
    begin();
    struct weir__store *store = open_as(WEIR__STORE_VERIFY_FIRST);
    for (uint64_t n = 0; n < 100; n++)
        CHECK_EQ(rig_put(store, LENGTH, n, &addresses[n]), 0);
    CHECK_EQ(rig_put(store, LENGTH, 5, &addresses[5]), WEIR__STORE_PRESENT);
    for (uint64_t n = 0; n < 40; n++)
        CHECK_EQ(rig_delete(store, &addresses[n]), 0);
    for (uint64_t n = 40; n < 50; n++)
        CHECK_EQ(weir__store_touch(store, &addresses[n], &deadline), 0);
    struct weir__store_stats stats = stats_of(store);
    CHECK_EQ(stats.puts, 100);
    CHECK_EQ(stats.puts_present, 1);
    CHECK_EQ(stats.put_bytes, 100 * LENGTH);
    CHECK_EQ(stats.deletes, 40);
    CHECK_EQ(stats.touches, 10);
    CHECK_EQ(stats.tail_records, 150);
    CHECK_EQ(stats.segments, 1);
    CHECK(stats.descriptors >= 1);
    rig_seal(store);
    stats = stats_of(store);
    uint64_t span = weir__record_span(WEIR__RECORD_HEAD + LENGTH);
    CHECK_EQ(stats.bytes, 100 * span + 50 * WEIR__RECORD_HEAD);
    CHECK_EQ(stats.dead_bytes, 40 * span);
    CHECK_EQ(stats.index_entries, 100);
    CHECK_EQ(rig_compact(store, 0), 1);
    stats = stats_of(store);
    CHECK_EQ(stats.compacted_segments, 1);
    /* Touches may be moved as well, though the chunks have their times. */
    uint64_t touches = stats.tail_records - 60;
    CHECK(touches <= 10);
    CHECK_EQ(stats.moved_bytes, 60 * (WEIR__RECORD_HEAD + LENGTH) + touches * WEIR__RECORD_HEAD);
    CHECK_EQ(stats.dead_bytes, 0);
    CHECK_EQ(stats.writes_failed + stats.writes_no_space + stats.syncs_failed + stats.damaged, 0);
    rig_seal(store);
    stats = stats_of(store);
    CHECK_EQ(stats.index_entries, 60);
    CHECK_EQ(stats.bytes, 60 * span + touches * WEIR__RECORD_HEAD);
    end(store);
}

/* --- read only --- */

static void check_read_only(size_t present)
{
    struct weir__store_report report;
    struct weir__address address;
    struct weir__store *store = rig_open_with(
        (struct weir__store_options){.folder = rig_folder, .is_read_only = true}, &report);
    struct weir_deadline deadline = rig_soon();
    struct walked walked = {0};
    CHECK(report.is_read_only && stats_of(store).is_read_only);
    CHECK_EQ(rig_put(store, LENGTH, 77, &address), -WEIR_E_READ_ONLY);
    CHECK_EQ(rig_delete(store, &address), -WEIR_E_READ_ONLY);
    CHECK_EQ(weir__store_touch(store, &address, &deadline), -WEIR_E_READ_ONLY);
    CHECK_EQ(weir__store_seal(store, &deadline), -WEIR_E_READ_ONLY);
    CHECK_EQ(weir__store_compact(store, 0, &deadline), -WEIR_E_READ_ONLY);
    CHECK_EQ(weir__store_walk(store, NULL, note, &walked), 0);
    CHECK_EQ(walked.count, present);
    for (uint64_t n = 0; n < present; n++) {
        rig_fill(rig_room, LENGTH, n);
        weir__address_of(rig_room, LENGTH, &address);
        CHECK_EQ(rig_read(store, &address, LENGTH, n), 0);
    }
    /* Two who read do not disturb each other, but who writes has to wait. */
    struct weir__store *second = rig_open_with(
        (struct weir__store_options){.folder = rig_folder, .is_read_only = true}, NULL);
    struct weir__store *third = NULL;
    CHECK_EQ(weir__store_open(&third, &(struct weir__store_options){.folder = rig_folder}, NULL),
             -WEIR_E_BUSY);
    weir__store_close(second);
    weir__store_close(store);
}

static void list_folder(char *text, size_t size)
{
    char command[200];
    snprintf(command, sizeof(command), "cd %s && find . -type f | xargs -r b3sum | sort",
             rig_folder);
    FILE *pipe = popen(command, "r");
    CHECK(pipe);
    text[fread(text, 1, size - 1, pipe)] = '\0';
    CHECK_EQ(pclose(pipe), 0);
}

/* After a clean end and after another one, with the newest segment open and sealed; nothing in the
 * folder changes by it. */
TEST(only_read)
{
    static char before[20000], after[20000];
    struct weir__address address;
    begin();
    struct weir__store *store = rig_open(NULL);
    for (uint64_t n = 0; n < 250; n++)
        CHECK_EQ(rig_put(store, LENGTH, n, &address), 0);
    for (int round = 0; round < 4; round++) {
        if (round == 2) {
            store = rig_open(NULL);
            rig_seal(store);
        }
        if (round % 2 == 0)
            weir__store_close(store);
        else
            rig_remove("mark");
        list_folder(before, sizeof(before));
        check_read_only(250);
        list_folder(after, sizeof(after));
        CHECK_STR(after, before);
    }
    store = rig_open(NULL);
    end(store);
}

#ifdef WEIR_FAULTS
static unsigned synced;

static void count_syncs(void *arg, const struct weir__disk_note *note)
{
    (void)arg;
    synced |= note->change == WEIR__DISK_SYNC ? 1 : note->change == WEIR__DISK_SYNC_NAMES ? 2 : 0;
}

static void hear_line(void *arg, const char *line)
{
    snprintf(arg, 200, "%s", line);
}

/* It is told once, with the reason, when it is doubted, and not when it is not. */
static void doubt_is_told(const struct weir__store_report *report, bool is_doubted, int errno_value)
{
    char line[200] = "", wanted[80];
    weir__store_report_tell(&(struct weir__store_report){.doubt_errno = report->doubt_errno},
                            hear_line, line);
    snprintf(wanted, sizeof(wanted), "cannot be synced (%s)", weir__log_reason(errno_value));
    CHECK_EQ(strstr(line, wanted) != NULL, is_doubted);
}

/* After a sudden end: what was not made to last is served, and vouched for to nobody. */
static void read_without_sync(int errno_value, unsigned wanted)
{
    struct weir__address address;
    uint32_t length, time_s;
    unsigned doubts = 0;
    bool is_hit = true;
    begin();
    struct weir__store *store = rig_open(NULL);
    CHECK_EQ(rig_put(store, LENGTH, 1, &address), 0);
    weir__store_close(store);
    rig_remove("mark");
    weir__disk_watch(count_syncs, NULL);
    for (uint64_t n = 1; is_hit; n++) {
        struct weir__store_options options = {.folder = rig_folder, .is_read_only = true};
        struct weir__store_report report;
        synced = 0;
        weir__sys_fault_errno(errno_value);
        weir_fault_arm(WEIR_FAULT_IO, n);
        int error = weir__store_open(&store, &options, &report);
        is_hit = weir_fault_was_hit(WEIR_FAULT_IO);
        weir_fault_arm(WEIR_FAULT_IO, 0);
        if (error)
            continue;
        bool is_there = weir__store_find(store, &address, &length, &time_s) == 0;
        bool is_certain = weir__store_vouch(store, &address, &length, &time_s) == 0;
        CHECK(!is_certain || synced == 3 || errno_value == EINVAL);
        CHECK(is_there || is_hit);
        doubts += is_there && !is_certain;
        doubt_is_told(&report, is_there && !is_certain, errno_value);
        weir__store_close(store);
    }
    weir__disk_watch(NULL, NULL);
    CHECK_EQ(synced, 3);
    weir__sys_fault_errno(EIO);
    CHECK_EQ(doubts, wanted);
    store = rig_open(NULL);
    end(store);
}

TEST(only_read_and_not_vouched_for)
{
    read_without_sync(EIO, 2);
    read_without_sync(EROFS, 2); /* as ext4 says when it has given up */
    read_without_sync(EINVAL, 0);
}
#endif

/* Who has it open has it alone. */
TEST(one_at_a_time)
{
    struct weir__store *second = NULL;
    begin();
    struct weir__store *store = rig_open(NULL);
    CHECK_EQ(weir__store_open(&second, &(struct weir__store_options){.folder = rig_folder}, NULL),
             -WEIR_E_BUSY);
    CHECK_HAS(weir__store_why(), "another process has it open");
    CHECK_EQ(weir__store_open(
                 &second, &(struct weir__store_options){.folder = rig_folder, .is_read_only = true},
                 NULL),
             -WEIR_E_BUSY);
    end(store);
}

TAP_MAIN()
