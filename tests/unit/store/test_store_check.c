/* test_store_check.c - a check finds what is wrong, by address and place, and nothing else;
 * counting and compacting by hand. */
#include "store_check.h"

#include "store_part.h"
#include "store_rig.h"

#define COUNT  300u
#define LENGTH 20000u

static struct weir__address addresses[COUNT];

static struct {
    size_t count, dead;
    struct weir__check_damage last;
    struct weir__address address;
    uint64_t done, total;
    unsigned calls, stop_at;
} seen;

static void note_damage(void *arg, const struct weir__check_damage *damage)
{
    (void)arg;
    seen.count += damage->counts;
    seen.dead += !damage->counts;
    seen.last = *damage;
    if (damage->address)
        seen.address = *damage->address;
}

static int note_progress(void *arg, uint64_t done, uint64_t total)
{
    (void)arg;
    CHECK(done >= seen.done && done <= total);
    seen.done = done;
    seen.total = total;
    return ++seen.calls == seen.stop_at ? -WEIR_E_CANCELED : 0;
}

static const struct weir__check_hooks hooks = {note_damage, note_progress, NULL};

/* Every fifth is deleted; some segments are sealed, the newest is not. */
static void fill(void)
{
    rig_make_folder();
    struct weir__store *store = rig_open(NULL);
    for (uint64_t n = 0; n < COUNT; n++)
        CHECK_EQ(rig_put(store, LENGTH, n, &addresses[n]), 0);
    for (uint64_t n = 0; n < COUNT; n += 5)
        CHECK_EQ(rig_delete(store, &addresses[n]), 0);
    weir__store_close(store);
}

static struct weir__store *open_to_read(struct weir__store_report *opened)
{
    return rig_open_with((struct weir__store_options){.folder = rig_folder,
                                                      .is_read_only = true,
                                                      .is_offline = true},
                         opened);
}

static struct weir__check_report check(void)
{
    struct weir__store_report opened;
    struct weir__check_report report;
    struct weir__store *store = open_to_read(&opened);
    memset(&seen, 0, sizeof(seen));
    CHECK_EQ(weir__store_check(store, opened.was_clean, &hooks, &report), 0);
    CHECK(seen.done == seen.total && seen.calls == report.segments + 1);
    weir__store_close(store);
    return report;
}

static void flip(uint32_t segment, uint64_t at)
{
    char path[128];
    unsigned char byte;
    snprintf(path, sizeof(path), "%s/segments/%08x.seg", rig_folder, segment);
    int fd = open(path, O_RDWR);
    CHECK(fd >= 0 && pread(fd, &byte, 1, (off_t)at) == 1);
    byte ^= 4;
    CHECK(pwrite(fd, &byte, 1, (off_t)at) == 1);
    close(fd);
}

TEST(all_is_well)
{
    fill();
    for (int round = 0; round < 2; round++) {
        struct weir__check_report report = check();
        CHECK_EQ(report.chunks, COUNT - COUNT / 5);
        CHECK_EQ(report.chunk_bytes, (uint64_t)(COUNT - COUNT / 5) * LENGTH);
        CHECK_EQ(report.deletions, COUNT / 5);
        CHECK_EQ(report.records, COUNT + COUNT / 5);
        CHECK_EQ(report.dead_bytes, COUNT / 5 * weir__record_span(WEIR__RECORD_HEAD + LENGTH));
        CHECK_EQ(report.segments, report.sealed + 1);
        CHECK_EQ(report.damaged + report.damaged_dead + report.unreadable + report.torn_bytes, 0);
        CHECK_EQ(report.index_wrong + seen.count + seen.dead, 0);
        if (round == 0)
            rig_remove("mark");
    }
    rig_remove_folder();
}

/* Each byte of a record, in a sealed segment and in the newest; of one that counts, and of one that
 * counts no more. */
TEST(damaged_records)
{
    struct weir__store_report opened;
    fill();
    static const uint64_t which[] = {1, 5, COUNT - 1, COUNT - 5};
    for (size_t i = 0; i < 4; i++) {
        struct weir__store *store = open_to_read(&opened);
        struct weir__entry entry = {.type = WEIR__RECORD_CHUNK};
        uint32_t segment;
        uint64_t offset;
        if (which[i] % 5) {
            CHECK_EQ(weir__store_lookup(store, &addresses[which[i]], &entry, NULL), 0);
            segment = entry.place.segment;
            offset = entry.place.offset;
        } else {
            /* Behind the one before it. */
            CHECK_EQ(weir__store_lookup(store, &addresses[which[i] - 1], &entry, NULL), 0);
            segment = entry.place.segment;
            offset = entry.place.offset + weir__record_span(entry.size);
        }
        weir__store_close(store);
        static const uint64_t places[] = {64, 64 + LENGTH - 1, 5000};
        for (size_t j = 0; j < 3; j++) {
            flip(segment, offset + places[j]);
            struct weir__check_report report = check();
            bool counts = which[i] % 5;
            CHECK_EQ(report.damaged, counts);
            CHECK_EQ(report.damaged_dead, !counts);
            CHECK_EQ(seen.last.segment, segment);
            CHECK_EQ(seen.last.offset, offset);
            CHECK(weir__address_is_equal(&seen.address, &addresses[which[i]]));
            CHECK_EQ(report.chunks, COUNT - COUNT / 5 - counts);
            CHECK_EQ(report.index_wrong, 0);
            flip(segment, offset + places[j]);
        }
        /* Its head: a sealed segment lists it; the newest has only a stretch that is no record. */
        flip(segment, offset + 30);
        struct weir__check_report report = check();
        CHECK_EQ(report.damaged + report.damaged_dead, 1);
        CHECK_EQ(seen.last.segment, segment);
        CHECK_EQ(seen.last.offset, offset);
        flip(segment, offset + 30);
    }
    CHECK_EQ(check().damaged, 0);
    rig_remove_folder();
}

/* Behind the last whole record nobody expects one: what is told by its address is not told again as
 * what stands there. */
TEST(the_last_of_the_newest_is_damaged)
{
    const uint32_t begin = WEIR__RECORD_HEAD + WEIR__IDENTITY_SIZE,
                   span = weir__record_span(WEIR__RECORD_HEAD + LENGTH);
    for (uint32_t before = 0; before < 3; before++) {
        rig_make_folder();
        struct weir__store *store = rig_open(NULL);
        for (uint32_t n = 0; n <= before + 1; n++)
            CHECK_EQ(rig_put(store, LENGTH, n, &addresses[n]), 0);
        weir__store_close(store);
        uint32_t last = begin + (before + 1) * span;
        flip(1, last + WEIR__RECORD_HEAD + 5);
        CHECK_EQ(check().damaged, 1);
        CHECK_EQ(seen.last.offset, last);
        CHECK(weir__address_is_equal(&seen.address, &addresses[before + 1]));
        /* Two of them, and nothing but these where there is none before. */
        flip(1, last - span + WEIR__RECORD_HEAD + 5);
        CHECK_EQ(check().damaged, 2);
        /* The last is not even known by its head. */
        flip(1, last + 30);
        CHECK_EQ(check().damaged, 2);
        CHECK_EQ(seen.last.offset, last);
        CHECK_EQ(seen.last.size, span);
        rig_remove_folder();
    }
}

/* In a segment without a list: each is told by its place. */
TEST(stretches_that_are_no_records)
{
    struct weir__store_report opened;
    struct weir__entry first, second;
    fill();
    struct weir__store *store = open_to_read(&opened);
    CHECK_EQ(weir__store_lookup(store, &addresses[COUNT - 4], &first, NULL), 0);
    CHECK_EQ(weir__store_lookup(store, &addresses[COUNT - 2], &second, NULL), 0);
    weir__store_close(store);
    flip(first.place.segment, first.place.offset + 30);
    CHECK_EQ(check().damaged, 1);
    CHECK_EQ(seen.last.offset, first.place.offset);
    CHECK_EQ(seen.last.size, weir__record_span(first.size));
    flip(second.place.segment, second.place.offset + 30);
    CHECK_EQ(check().damaged, 2);
    CHECK_EQ(seen.last.offset, second.place.offset);
    CHECK_EQ(seen.last.size, weir__record_span(second.size));
    rig_remove_folder();
}

/* Head and list of a segment are gone, and the index still knows it. */
TEST(only_the_index_knows)
{
    fill();
    struct stat st;
    char path[128];
    snprintf(path, sizeof(path), "%s/segments/00000001.seg", rig_folder);
    CHECK(stat(path, &st) == 0);
    flip(1, (uint64_t)st.st_size - 10);
    flip(1, WEIR__RECORD_HEAD + WEIR__IDENTITY_SIZE + weir__record_span(64 + LENGTH) + 20);
    struct weir__check_report report = check();
    CHECK_EQ(report.index_wrong, 1);
    CHECK(weir__address_is_equal(&seen.address, &addresses[1]));
    CHECK(report.damaged >= 3);
    rig_remove_folder();
}

/* The index of a store that crashed is made in memory: here it is spoiled there. */
TEST(a_wrong_index)
{
    struct weir__store_report opened;
    struct weir__check_report report;
    fill();
    rig_remove("mark");
    struct weir__store *store = open_to_read(&opened);
    struct weir__segment *segment;
    struct weir__segment_content content;
    memset(&seen, 0, sizeof(seen));
    CHECK_EQ(weir__segments_pin(&store->segments, 1, &segment), 0);
    CHECK_EQ(weir__segment_load(&content, segment->fd, 1, &store->identity.key), 0);
    weir__segments_unpin(&store->segments, segment);
    CHECK_EQ(weir__index_drop(store->index, 1, content.records, content.count,
                              weir__store_facts_changed, store),
             0);
    size_t counted = 0;
    for (size_t i = 0; i < content.count; i++)
        counted += i % 5 != 0;
    weir__segment_forget(&content);
    CHECK_EQ(weir__store_check(store, opened.was_clean, &hooks, &report), 0);
    CHECK_EQ(report.index_wrong, counted);
    weir__store_close(store);

    store = open_to_read(&opened);
    memset(&seen, 0, sizeof(seen));
    struct weir__entry nowhere = {.address = rig_address(77),
                                  .sequence = 9999,
                                  .place = {2, 4096},
                                  .size = 100,
                                  .type = WEIR__RECORD_CHUNK};
    CHECK_EQ(weir__store_apply(store, 99, 1000, true, &nowhere, 1), 0);
    CHECK_EQ(weir__store_check(store, opened.was_clean, &hooks, &report), 0);
    CHECK_EQ(report.index_wrong, 1);
    CHECK(weir__address_is_equal(&seen.address, &nowhere.address));
    CHECK_EQ(report.chunks, COUNT - COUNT / 5);
    weir__store_close(store);
    rig_remove_folder();
}

TEST(ended_in_the_middle)
{
    struct weir__store_report opened;
    struct weir__check_report report = {.chunks = 4711};
    fill();
    struct weir__store *store = open_to_read(&opened);
    memset(&seen, 0, sizeof(seen));
    seen.stop_at = 2;
    CHECK_EQ(weir__store_check(store, true, &hooks, &report), -WEIR_E_CANCELED);
    CHECK_EQ(report.chunks, 4711);
    CHECK_EQ(seen.calls, 2);
    weir__store_close(store);
    rig_remove_folder();
}

/* A crash leaves the beginning of a record, also of one whose head is whole. */
TEST(half_a_record_at_the_end)
{
    char path[128];
    struct stat st;
    fill();
    struct weir__store *store = rig_open(NULL);
    struct weir__address address;
    CHECK_EQ(rig_put(store, LENGTH, COUNT, &address), 0);
    uint32_t newest = store->writer.id;
    weir__store_close(store);
    rig_remove("mark");
    snprintf(path, sizeof(path), "%s/segments/%08x.seg", rig_folder, newest);
    CHECK_EQ(stat(path, &st), 0);
    for (off_t cut = 1; cut < (off_t)LENGTH + 64; cut += 997) {
        CHECK_EQ(truncate(path, st.st_size - cut), 0);
        struct weir__check_report report = check();
        CHECK_EQ(report.damaged + report.damaged_dead, 0);
        CHECK_EQ(seen.count, 0);
    }
    rig_remove_folder();
}

/* Of two deletions the newer one goes when there is nothing left to hide; the older one lies in its
 * segment still. */
TEST(a_deletion_that_outlived_its_successor)
{
    struct weir__address address;
    rig_make_folder();
    struct weir__store *store = rig_open(NULL);
    CHECK_EQ(rig_put(store, 100, 0, &address), 0);
    rig_seal(store);
    CHECK_EQ(rig_delete(store, &address), 0);
    for (uint64_t n = 1; n < 40; n++)
        CHECK_EQ(rig_put(store, LENGTH, n, &addresses[n]), 0);
    rig_seal(store);
    CHECK_EQ(rig_put(store, 100, 0, &address), 0);
    rig_seal(store);
    CHECK_EQ(rig_delete(store, &address), 0);
    rig_seal(store);
    for (int i = 0; i < 3; i++)
        (void)rig_compact(store, 30);
    weir__store_close(store);
    struct weir__check_report report = check();
    CHECK_EQ(report.damaged + report.damaged_dead + report.index_wrong, 0);
    rig_remove_folder();
}

TEST(census_and_compaction)
{
    struct weir__census census;
    struct weir__compacted compacted;
    struct weir_deadline deadline = rig_soon();
    fill();
    struct weir__store *store = rig_open(NULL);
    CHECK_EQ(weir__store_census(store, &census), 0);
    CHECK_EQ(census.chunks, COUNT - COUNT / 5);
    CHECK_EQ(census.chunk_bytes, (uint64_t)census.chunks * LENGTH);
    CHECK(census.length_min == LENGTH && census.length_max == LENGTH);
    CHECK(census.time_min_s > 1000000 && census.time_min_s <= census.time_max_s);
    CHECK(census.file_bytes > COUNT * LENGTH);
    CHECK_EQ(census.quarantined + (uint64_t)census.scrub_ended_s, 0);
    /* As check says, although no segment that the index knows has a deletion. */
    CHECK_EQ(census.deletions, COUNT / 5);
    CHECK_EQ(census.dead_bytes, COUNT / 5 * weir__record_span(WEIR__RECORD_HEAD + LENGTH));
    memset(&seen, 0, sizeof(seen));
    /* A fifth of each is dead. */
    CHECK_EQ(weir__store_compact_all(store, 50, &hooks, &deadline, &compacted), 0);
    CHECK_EQ(compacted.segments, 0);
    memset(&seen, 0, sizeof(seen));
    CHECK_EQ(weir__store_compact_all(store, 10, &hooks, &deadline, &compacted), 0);
    CHECK(compacted.segments >= 2 && seen.total >= 2);
    CHECK(compacted.bytes_before - compacted.bytes_after > COUNT / 5 * LENGTH);
    weir__store_close(store);
    struct weir__check_report report = check();
    CHECK_EQ(report.chunks, COUNT - COUNT / 5);
    CHECK_EQ(report.dead_bytes + report.damaged, 0);
    rig_remove_folder();
}

static struct weir__census count_closed(uint64_t *ret_waiting)
{
    struct weir__census census;
    struct weir__store_stats stats;
    struct weir__store *store = open_to_read(NULL);
    CHECK_EQ(weir__store_census(store, &census), 0);
    weir__store_read(store, &stats);
    *ret_waiting = stats.tail_records;
    weir__store_close(store);
    return census;
}

/* What the newest segment has done to the others is counted, whether the index knows it or not. */
TEST(census_of_what_is_not_indexed)
{
    uint64_t random = rig_seed(), waiting;
    rig_make_folder();
    for (int round = 0; round < 30; round++) {
        struct weir__store *store = rig_open(NULL);
        struct weir_deadline deadline = rig_soon();
        for (unsigned i = 0; i < 40; i++) {
            uint64_t n = rig_random(&random) % 24;
            int result = rig_put(store, 50 + 40 * (uint32_t)n, n, &addresses[n]);
            CHECK(result >= 0);
            if (rig_random(&random) % 2)
                CHECK_EQ(weir__store_delete(store, &addresses[n], &deadline), 0);
            else if (rig_random(&random) % 2)
                CHECK_EQ(weir__store_touch(store, &addresses[n], &deadline), 0);
        }
        if (round % 4 == 3)
            (void)rig_compact(store, 60);
        weir__store_close(store);
        struct weir__census before = count_closed(&waiting);
        CHECK(waiting > 0);
        if (round % 3 == 0)
            continue;
        store = rig_open(NULL);
        rig_seal(store);
        weir__store_close(store);
        struct weir__census after = count_closed(&waiting);
        CHECK_EQ(waiting, 0);
        CHECK_EQ(before.chunks, after.chunks);
        CHECK_EQ(before.deletions, after.deletions);
        CHECK_EQ(before.dead_bytes, after.dead_bytes);
        CHECK(after.deletions > 0 && after.dead_bytes > 0);
    }
    rig_remove_folder();
}

TAP_MAIN()
