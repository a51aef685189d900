/* test_store_heal.c - what cannot be read: it is put again, and nothing goes with it. */
#include <sys/wait.h>

#include "segments.h"
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
    CHECK_EQ(weir__store_compact(store, 10, &deadline), -WEIR_E_NOT_FOUND);
    CHECK(exists("segments/00000001.seg"));
    weir__store_read(store, &stats);
    CHECK_EQ(stats.damaged, 1);
    /* It is left alone from here on. */
    CHECK_EQ(weir__store_compact(store, 10, &deadline), -WEIR_E_NOT_FOUND);
    weir__store_read(store, &stats);
    CHECK_EQ(stats.damaged, 1);
    for (uint32_t i = 3; i < CHUNKS; i += 2)
        CHECK_EQ(rig_read(store, &addresses[i], 1000, i), 0);
    weir__store_close(store);
    weir__store_reader_fini(&reader);
    rig_remove_folder();
}

/* --- an index that breaks --- */

#define NUMBERS 40u

static struct weir__address numbers[NUMBERS];

static struct weir__store_stats stats_of(struct weir__store *store)
{
    struct weir__store_stats stats;
    weir__store_read(store, &stats);
    return stats;
}

static bool is_deleted(uint32_t n)
{
    return n % 5 == 0;
}

/* Two segments, some of it deleted, and one that is written; and a past, of which nothing is left
 * but that the index was changed often. */
static struct weir__store *fill(void)
{
    struct weir__address address;
    struct weir__store *store = rig_open(NULL);
    for (uint64_t n = 0; n < 8; n++) {
        CHECK_EQ(rig_put(store, 100, 5000 + n, &address), 0);
        CHECK_EQ(rig_delete(store, &address), 0);
        rig_seal(store);
        CHECK_EQ(rig_compact(store, 50), 1);
    }
    for (uint32_t n = 0; n < NUMBERS; n++) {
        CHECK_EQ(rig_put(store, 3000, n, &numbers[n]), 0);
        if (n == NUMBERS / 2)
            rig_seal(store);
    }
    for (uint32_t n = 0; n < NUMBERS; n++)
        if (is_deleted(n))
            CHECK_EQ(rig_delete(store, &numbers[n]), 0);
    rig_seal(store);
    return store;
}

static void cut_index(off_t length)
{
    char path[128];
    snprintf(path, sizeof(path), "%s/index/data.mdb", rig_folder);
    CHECK_EQ(truncate(path, length), 0);
}

static void await_healed(struct weir__store *store, uint64_t times)
{
    struct weir_deadline deadline = rig_soon();
    while (stats_of(store).reindexed < times || stats_of(store).index_is_broken) {
        struct weir_deadline moment = weir_deadline_in(WEIR_NS_PER_MS, NULL);
        weir_deadline_sleep(&moment);
        CHECK_EQ(weir_deadline_check(&deadline), 0);
    }
}

static void all_are_right(struct weir__store *store)
{
    for (uint32_t n = 0; n < NUMBERS; n++)
        CHECK_EQ(rig_read(store, &numbers[n], 3000, n), is_deleted(n) ? -WEIR_E_NOT_FOUND : 0);
}

/* A look breaks it, or a change does. */
static void break_and_heal(off_t length, bool by_writing)
{
    struct weir__address address;
    struct weir__store *store = fill();
    uint64_t dead = stats_of(store).dead_bytes;
    CHECK(dead > 0);
    cut_index(length);
    if (by_writing) {
        CHECK_EQ(rig_put(store, 100, 1000, &address), 0);
        struct weir_deadline deadline = rig_soon();
        CHECK_EQ(weir__store_seal(store, &deadline), 0);
    }
    /* Nothing is said not to be there that is; what is known from before may be told. */
    for (uint32_t n = 0; n < NUMBERS; n++) {
        int result = rig_read(store, &numbers[n], 3000, n);
        CHECK(result == -WEIR_E_TRANSIENT || result == (is_deleted(n) ? -WEIR_E_NOT_FOUND : 0));
    }
    await_healed(store, 1);
    all_are_right(store);
    /* What is dead is known as before, and what dies from now on. */
    CHECK_EQ(stats_of(store).dead_bytes, dead);
    CHECK_EQ(rig_delete(store, &numbers[1]), 0);
    CHECK_EQ(rig_put(store, 3000, 1, &numbers[1]), 0);
    rig_seal(store);
    CHECK(stats_of(store).dead_bytes > dead + 3000);
    CHECK(rig_compact(store, 0) > 0);
    all_are_right(store);
    /* And again. */
    cut_index(length);
    for (uint32_t n = 0; n < NUMBERS; n++)
        (void)!rig_read(store, &numbers[n], 3000, n);
    await_healed(store, 2);
    all_are_right(store);
    weir__store_close(store);
    store = rig_open(NULL);
    all_are_right(store);
    weir__store_close(store);
}

/* What is left in the middle is lost, so in a process of its own. */
static void apart(void (*fn)(void))
{
    int status;
    fflush(stdout);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        rig_make_folder();
        fn();
        rig_remove_folder();
        _exit(0);
    }
    CHECK_EQ(waitpid(child, &status, 0), child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void broken_by_looking(void)
{
    break_and_heal(0, false);
}

static void broken_by_writing(void)
{
    break_and_heal(2 * 4096, true);
}

/* Whatever is in the file of the index, from its first byte on. */
static void write_index(const unsigned char *bytes, size_t length, off_t at)
{
    char path[128];
    snprintf(path, sizeof(path), "%s/index/data.mdb", rig_folder);
    int fd = open(path, O_WRONLY);
    CHECK(fd >= 0 && pwrite(fd, bytes, length, at) == (ssize_t)length);
    close(fd);
}

/* It may say that a chunk is not there, but no segment goes because of that. */
static void forgotten(void)
{
    struct weir_deadline deadline = rig_soon();
    struct weir__store *store = fill();
    CHECK(rig_turn_in_index(&numbers[1], 0, 31) > 0);
    int result;
    do
        result = weir__store_compact(store, 1, &deadline);
    while (result >= 0);
    CHECK_EQ(result, -WEIR_E_TRANSIENT);
    await_healed(store, 1);
    all_are_right(store);
    weir__store_close(store);
}

/* LMDB would end the process. */
static void zeroed(void)
{
    static const unsigned char zeros[64 * 4096];
    struct weir__store *store = fill();
    write_index(zeros, sizeof(zeros), 0);
    for (uint32_t n = 0; n < NUMBERS; n++)
        CHECK(rig_read(store, &numbers[n], 3000, n) != -WEIR_E_INTERNAL);
    await_healed(store, 1);
    all_are_right(store);
    weir__store_close(store);
}

/* A head and the footer: nobody knows that record any more, and all others are served. */
static struct weir__store *lose_record(void)
{
    struct weir__store_reader reader;
    struct weir__chunk chunk;
    weir__store_close(fill());
    struct weir__store *store = rig_open(NULL);
    CHECK(weir__store_reader_init(&reader) == 0);
    CHECK_EQ(weir__store_get(store, &reader, &numbers[1], &chunk), 0);
    long head = (long)chunk.offset - 64;
    char name[64];
    snprintf(name, sizeof(name), "segments/%08x.seg", chunk._segment->id);
    weir__chunk_release(store, &chunk);
    weir__store_reader_fini(&reader);
    weir__store_close(store);
    store = rig_open(NULL); /* which has not read it yet */
    flip(name, -10);
    flip(name, head + 20);
    return store;
}

static void lost_record(void)
{
    struct weir__store *store = lose_record();
    CHECK_EQ(rig_read(store, &numbers[1], 3000, 1), -WEIR_E_TRANSIENT);
    await_healed(store, 1);
    CHECK_EQ(rig_read(store, &numbers[1], 3000, 1), -WEIR_E_NOT_FOUND);
    for (uint32_t n = 2; n < NUMBERS; n++)
        CHECK_EQ(rig_read(store, &numbers[n], 3000, n), is_deleted(n) ? -WEIR_E_NOT_FOUND : 0);
    CHECK(!stats_of(store).is_whole && stats_of(store).keeps_deletions);
    CHECK_EQ(rig_put(store, 3000, 1, &numbers[1]), 0);
    all_are_right(store);
    weir__store_close(store);
}

/* --- bits that turn in an index --- */

#define SMALL 1500u

static struct weir__address smalls[SMALL];

/* So many that their table has more than one page. */
static void fill_small(void)
{
    struct weir__store *store = rig_open(NULL);
    for (uint32_t n = 0; n < SMALL; n++)
        CHECK_EQ(rig_put(store, 8, n, &smalls[n]), 0);
    rig_seal(store);
    weir__store_close(store);
}

static unsigned count_missing(struct weir__store *store)
{
    unsigned count = 0;
    for (uint32_t n = 0; n < SMALL; n++)
        count += rig_read(store, &smalls[n], 8, n) != 0;
    return count;
}

static void turn_key(void)
{
    CHECK(rig_turn_in_index(&smalls[7], 0, 31) > 0);
}

static void turn_value(void)
{
    CHECK(rig_turn_in_index(&smalls[7], 0, 32 + 24) > 0); /* what kind of record it is */
}

/* In each page above the leaves, as LMDB writes them: what its middle node begins with. */
static void turn_branch(void)
{
    char path[128];
    unsigned char page[4096];
    unsigned count = 0;
    snprintf(path, sizeof(path), "%s/index/data.mdb", rig_folder);
    int fd = open(path, O_RDONLY);
    CHECK(fd >= 0);
    for (off_t at = 8192; pread(fd, page, sizeof(page), at) == (ssize_t)sizeof(page); at += 4096) {
        unsigned nodes = (unsigned)(page[12] | page[13] << 8) / 2 - 8;
        unsigned where = 16 + nodes / 2 * 2;
        if (page[10] != 1 || page[11] != 0 || nodes < 3)
            continue;
        off_t node = page[where] | page[where + 1] << 8;
        unsigned char turned = page[node + 8] ^ 0x10;
        write_index(&turned, 1, at + node + 8);
        count++;
    }
    close(fd);
    CHECK(count > 0);
}

static void (*const turns[])(void) = {turn_key, turn_value, turn_branch};

static void await_walk(struct weir__store *store, uint64_t walks)
{
    struct weir_deadline deadline = rig_soon();
    while (stats_of(store).scrub_walks <= walks) {
        struct weir_deadline moment = weir_deadline_in(WEIR_NS_PER_MS, NULL);
        weir_deadline_sleep(&moment);
        CHECK_EQ(weir_deadline_check(&deadline), 0);
    }
}

/* While it runs: the scrubber sees it. */
static void turned_and_found(void (*turn)(void))
{
    struct weir__store_report report;
    fill_small();
    struct weir__store *store =
        rig_open_with((struct weir__store_options){.folder = rig_folder,
                                                   .segment_bytes = WEIR__STORE_SEGMENT_LEAST,
                                                   .verify = WEIR__STORE_VERIFY_ALWAYS},
                      &report);
    CHECK(report.was_clean && !report.index_was_rebuilt);
    /* One in the middle of its walk would stumble over it and need no look at the index. */
    await_walk(store, 0);
    turn();
    weir__store_scrub_now(store);
    await_healed(store, 1);
    CHECK_EQ(count_missing(store), 0);
    CHECK_EQ(stats_of(store).index_wrong, 1);
    CHECK(stats_of(store).damaged > 0);
    /* The one that was made is right. */
    uint64_t walks = stats_of(store).scrub_walks;
    weir__store_scrub_now(store);
    await_walk(store, walks);
    CHECK_EQ(stats_of(store).index_wrong, 1);
    CHECK(stats_of(store).index_checks > 0);
    weir__store_close(store);
}

/* Nobody looks before the store is closed: it is not said to be right, and the next one makes it
 * anew. */
static void turned_and_closed(void (*turn)(void))
{
    struct weir__store_report report;
    fill_small();
    struct weir__store *store = rig_open(&report);
    CHECK(report.was_clean && !report.index_was_rebuilt);
    turn();
    CHECK(count_missing(store) > 0);
    CHECK_EQ(weir__store_close(store), -WEIR_E_IO);
    CHECK(!exists("mark"));
    store = rig_open(&report);
    CHECK(report.index_was_rebuilt);
    CHECK_EQ(count_missing(store), 0);
    weir__store_close(store);
    store = rig_open(&report);
    CHECK(report.was_clean && !report.index_was_rebuilt);
    weir__store_close(store);
}

static void found_by_the_scrubber(void)
{
    for (size_t i = 0; i < sizeof(turns) / sizeof(turns[0]); i++) {
        turned_and_found(turns[i]);
        rig_remove_folder();
        rig_make_folder();
    }
}

static void found_at_the_end(void)
{
    for (size_t i = 0; i < sizeof(turns) / sizeof(turns[0]); i++) {
        turned_and_closed(turns[i]);
        rig_remove_folder();
        rig_make_folder();
    }
}

TEST(a_bit_that_turns_in_the_index_is_found)
{
    apart(found_by_the_scrubber);
}

TEST(a_bit_that_turned_in_the_index_is_not_blessed)
{
    apart(found_at_the_end);
}

/* --- what it costs --- */

TEST(a_record_that_is_lost_costs_itself)
{
    apart(lost_record);
}

TEST(a_miss_of_the_index_removes_nothing)
{
    apart(forgotten);
}

TEST(an_index_of_zeros_is_made_anew)
{
    apart(zeroed);
}

TEST(an_index_that_breaks_is_made_anew)
{
    apart(broken_by_looking);
    apart(broken_by_writing);
}

static void name_of(char path[128], uint32_t segment)
{
    snprintf(path, 128, "%s/segments/%08x.seg", rig_folder, segment);
}

/* What is gone is told once, however often the index could not be made anew, and after it was. */
static void counted_once(void)
{
    char path[128], aside[140];
    struct weir__store *store = lose_record();
    name_of(path, 10);
    snprintf(aside, sizeof(aside), "%s.aside", path);
    CHECK_EQ(rename(path, aside), 0);
    CHECK_EQ(symlink("/proc/self/none", path), 0);
    CHECK_EQ(rig_read(store, &numbers[1], 3000, 1), -WEIR_E_TRANSIENT);
    struct weir_deadline a_while = weir_deadline_in(200 * WEIR_NS_PER_MS, NULL);
    weir_deadline_sleep(
        &a_while); /* so that it has been tried; if it was not, this is less of a test */
    CHECK_EQ(rename(aside, path), 0);
    await_healed(store, 1);
    CHECK_EQ(stats_of(store).damaged, 2); /* the record, and that something is wrong */
    cut_index(0);
    (void)!rig_find(store, &numbers[2]);
    await_healed(store, 2);
    CHECK_EQ(stats_of(store).damaged, 2);
    weir__store_close(store);
}

/* A segment that somebody removes costs what was in it. */
static void gone_segment(void)
{
    char path[128];
    weir__store_close(fill());
    struct weir__store *store = rig_open(NULL);
    name_of(path, 9);
    CHECK_EQ(unlink(path), 0);
    CHECK_EQ(rig_read(store, &numbers[1], 3000, 1), -WEIR_E_TRANSIENT);
    for (uint64_t times = 1; times <= 2; times++) {
        await_healed(store, times);
        for (uint32_t n = 0; n < NUMBERS; n++)
            CHECK_EQ(rig_read(store, &numbers[n], 3000, n),
                     n <= NUMBERS / 2 || is_deleted(n) ? -WEIR_E_NOT_FOUND : 0);
        CHECK(!stats_of(store).is_whole && stats_of(store).keeps_deletions);
        CHECK_EQ(stats_of(store).damaged, NUMBERS / 2 + 2);
        cut_index(0);
        (void)!rig_find(store, &numbers[NUMBERS - 1]);
    }
    await_healed(store, 3);
    weir__store_close(store);
}

TEST(what_is_gone_is_told_once)
{
    apart(counted_once);
    apart(gone_segment);
}

/* While it cannot be made anew: what is known is told, what can be written is, and the rest is said
 * to come back. */
static void broken_for_long(void)
{
    char path[128], aside[140];
    struct weir__address fresh, large;
    struct weir_deadline deadline = rig_soon();
    weir__store_close(fill());
    struct weir__store *store = rig_open(NULL);
    name_of(path, 9);
    snprintf(aside, sizeof(aside), "%s.aside", path);
    CHECK_EQ(rename(path, aside), 0);
    CHECK_EQ(symlink("/proc/self/none", path), 0); /* it is there, and cannot be opened */
    cut_index(0);
    CHECK_EQ(rig_find(store, &numbers[1]), -WEIR_E_TRANSIENT);
    CHECK(stats_of(store).index_is_broken);
    CHECK_EQ(rig_put(store, 100, 2000, &fresh), 0);
    CHECK_EQ(rig_read(store, &fresh, 100, 2000), 0);
    CHECK_EQ(rig_put(store, 100, 2000, &fresh), WEIR__STORE_PRESENT);
    /* Nobody knows whether it is there: it is written, or deleted, all the same. */
    CHECK_EQ(rig_put(store, 3000, 2, &numbers[2]), 0);
    CHECK_EQ(rig_delete(store, &numbers[3]), 0);
    CHECK_EQ(rig_find(store, &numbers[3]), -WEIR_E_NOT_FOUND);
    CHECK_EQ(weir__store_touch(store, &numbers[4], &deadline), -WEIR_E_TRANSIENT);
    CHECK(!stats_of(store).is_failing);
    /* As long as there is room in the line for the index. */
    int error = 0;
    for (uint32_t i = 0; !error && i < 40; i++)
        error = rig_put(store, WEIR__CHUNK_MAX, 3000 + i, &large);
    CHECK_EQ(error, -WEIR_E_BUSY);
    CHECK(!stats_of(store).is_full);
    CHECK_EQ(rig_find(store, &numbers[1]), -WEIR_E_TRANSIENT);
    CHECK_EQ(weir__store_compact(store, 0, &deadline) == 0, false);
    CHECK_EQ(rename(aside, path), 0);
    await_healed(store, 1);
    for (int round = 0; round < 2; round++) {
        CHECK_EQ(rig_find(store, &numbers[3]), -WEIR_E_NOT_FOUND);
        for (uint32_t n = 0; n < NUMBERS; n++)
            if (n != 3)
                CHECK_EQ(rig_read(store, &numbers[n], 3000, n),
                         is_deleted(n) ? -WEIR_E_NOT_FOUND : 0);
        CHECK_EQ(rig_read(store, &fresh, 100, 2000), 0);
        rig_seal(store);
        (void)rig_compact(store, 0);
        weir__store_close(store);
        store = rig_open(NULL);
    }
    weir__store_close(store);
}

TEST(an_index_that_stays_broken)
{
    apart(broken_for_long);
}

/* Where its file cannot be, it is in memory. */
static void healed_in_memory(void)
{
    char path[128];
    struct weir__store *store = fill();
    cut_index(0);
    snprintf(path, sizeof(path), "%s/index", rig_folder);
    char aside[140];
    snprintf(aside, sizeof(aside), "%s.aside", path);
    CHECK_EQ(rename(path, aside), 0);
    CHECK_EQ(symlink("/proc/self/none", path), 0);
    CHECK_EQ(rig_find(store, &numbers[1]), -WEIR_E_TRANSIENT);
    await_healed(store, 1);
    all_are_right(store);
    struct weir__address address;
    CHECK_EQ(rig_put(store, 100, 1001, &address), 0);
    rig_seal(store);
    CHECK(rig_compact(store, 0) > 0);
    all_are_right(store);
    weir__store_close(store);
    CHECK_EQ(unlink(path), 0);
    store = rig_open(NULL);
    all_are_right(store);
    weir__store_close(store);
}

TEST(an_index_that_is_healed_in_memory)
{
    apart(healed_in_memory);
}

TAP_MAIN()
