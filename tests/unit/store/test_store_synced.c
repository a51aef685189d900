/* test_store_synced.c - after a sudden end, what lasted once and is wrong now is damage, and is
 * told from what was never finished. */
#include "store_help.h"
#include "store_part.h"

#define CHUNKS 6u

/* Of chunks that have more than a few bytes. */
static const unsigned numbers[CHUNKS] = {8, 9, 10, 11, 12, 14};

static char folder[HELP_PATH], path[HELP_PATH + 40];
static uint32_t places[CHUNKS + 1]; /* and where the last one ends */

/* Each chunk is in a run of its own. Nobody closes the store as it should be. */
static void make(void)
{
    help_make_folder(folder);
    struct weir__store *store = help_open(folder, NULL);
    for (unsigned n = 0; n < CHUNKS; n++) {
        places[n] =
            store->writer.end > 0 ? store->writer.end : WEIR__RECORD_HEAD + WEIR__IDENTITY_SIZE;
        CHECK_EQ(help_put(store, numbers[n]), 0);
    }
    places[CHUNKS] = store->writer.end;
    weir__store_close(store);
    snprintf(path, sizeof(path), "%s/segments/00000001.seg", folder);
}

static void end_suddenly(void)
{
    char mark[HELP_PATH + 40];
    snprintf(mark, sizeof(mark), "%s/mark", folder);
    CHECK_EQ(unlink(mark), 0);
}

static void change(uint64_t at)
{
    size_t length = 0;
    unsigned char *bytes = help_read(path, &length);
    CHECK(bytes && at < length);
    bytes[at] ^= 1;
    help_write(path, bytes, length);
    free(bytes);
}

static bool is_whole(struct weir__store *store)
{
    struct weir__store_stats stats;
    weir__store_read(store, &stats);
    return stats.is_whole;
}

/* All but this one are right. */
static void others_are_right(struct weir__store *store, unsigned but)
{
    for (unsigned n = 0; n < CHUNKS; n++)
        if (n != but)
            CHECK_EQ(help_look(store, numbers[n]), 0);
}

static uint64_t count_wrong(struct weir__store *store)
{
    struct weir__store_stats stats;
    weir__store_read(store, &stats);
    return stats.damaged;
}

/* Its bytes: it is known by its address, and nobody is told that it never was. */
TEST(a_damaged_chunk_is_known)
{
    for (unsigned n = 0; n < CHUNKS - 1; n++) {
        struct weir__store_report report;
        make();
        end_suddenly();
        change(places[n] + WEIR__RECORD_HEAD + 5);
        struct weir__store *store = help_open(folder, &report);
        CHECK_EQ(report.bad_records, 1);
        CHECK_EQ(report.torn_bytes + report.gaps.lost_bytes, 0);
        CHECK_EQ(report.chunks, CHUNKS);
        CHECK_EQ(count_wrong(store), 1);
        CHECK(help_look(store, numbers[n]) != -WEIR_E_NOT_FOUND);
        CHECK(help_look(store, numbers[n]) != 0);
        others_are_right(store, n);
        CHECK_EQ(help_put(store, numbers[n]), 0); /* and not: it is there */
        CHECK_EQ(help_look(store, numbers[n]), 0);
        weir__store_close(store);
        help_remove(folder);
    }
}

/* Its head: it may have been a deletion. */
TEST(a_damaged_head_is_lost)
{
    for (unsigned n = 0; n < CHUNKS - 1; n++) {
        struct weir__store_report report;
        make();
        end_suddenly();
        change(places[n] + 30);
        for (int round = 0; round < 2; round++) { /* and who had it open is killed */
            struct weir__store *store = help_open(folder, &report);
            CHECK_EQ(report.torn_bytes, 0);
            CHECK(report.gaps.lost_bytes > 0);
            CHECK_EQ(report.missing_first, 1);
            CHECK(!is_whole(store));
            CHECK(weir__store_keeps_deletions(store));
            others_are_right(store, n);
            CHECK_EQ(help_put(store, 100 + (unsigned)round), 0);
            weir__store_close(store);
            end_suddenly();
        }
        help_remove(folder);
    }
}

/* What is wrong at the end may never have been finished: nobody says that it lasted. */
TEST(the_last_one_is_what_a_crash_left)
{
    for (int i = 0; i < 2; i++) {
        struct weir__store_report report;
        make();
        end_suddenly();
        change(places[CHUNKS - 1] + (i ? 30 : WEIR__RECORD_HEAD + 5));
        struct weir__store *store = help_open(folder, &report);
        CHECK_EQ(report.bad_records + report.gaps.lost_bytes, 0);
        CHECK(report.torn_bytes > 0);
        CHECK_EQ(help_look(store, numbers[CHUNKS - 1]), -WEIR_E_NOT_FOUND);
        CHECK(is_whole(store));
        others_are_right(store, CHUNKS - 1);
        weir__store_close(store);
        help_remove(folder);
    }
}

/* Damage before a write of which only the head has come to the disk. */
TEST(a_head_alone_says_what_lasted)
{
    for (int i = 0; i < 2; i++) {
        struct weir__store_report report;
        make();
        end_suddenly();
        change(places[CHUNKS - 2] + (i ? 30 : WEIR__RECORD_HEAD + 5));
        change(places[CHUNKS - 1] + WEIR__RECORD_HEAD + 5);
        struct weir__store *store = help_open(folder, &report);
        CHECK_EQ(report.gaps.lost_bytes > 0, i == 1);
        CHECK_EQ(report.bad_records, i == 0);
        CHECK(report.torn_bytes > 0);
        CHECK_EQ(is_whole(store), i == 0);
        if (i == 0)
            CHECK(help_look(store, numbers[CHUNKS - 2]) != -WEIR_E_NOT_FOUND);
        CHECK_EQ(help_look(store, numbers[CHUNKS - 1]), -WEIR_E_NOT_FOUND);
        weir__store_close(store);
        help_remove(folder);
    }
}

/* Records of one run, of which the first is wrong: whoever wrote them may have been cut short. What
 * is written behind them says nothing of that, also when that is damaged. */
TEST(what_a_crash_left_stays_what_it_was)
{
    struct weir__store_report report;
    make();
    end_suddenly();
    /* A run of two: the second says that the first was begun with it. */
    size_t length = 0;
    unsigned char *bytes = help_read(path, &length);
    struct weir__identity identity;
    CHECK_EQ(weir__identity_decode(&identity, bytes + WEIR__RECORD_HEAD), 0);
    struct weir__record record;
    struct weir__place last = {1, places[CHUNKS - 1]};
    CHECK_EQ(weir__record_decode(&record, bytes + last.offset, &identity.key, last), 0);
    CHECK_EQ(record.synced, places[CHUNKS - 1]);
    record.synced = places[CHUNKS - 2];
    weir__record_encode(&record, &identity.key, last, bytes + last.offset);
    bytes[places[CHUNKS - 2] + WEIR__RECORD_HEAD + 5] ^= 1;
    help_write(path, bytes, length);
    free(bytes);
    for (int round = 0; round < 2; round++) {
        struct weir__store *store = help_open(folder, &report);
        CHECK_EQ(report.gaps.lost_bytes + report.torn_bytes + report.bad_records, 0);
        CHECK(is_whole(store));
        CHECK_EQ(help_look(store, numbers[CHUNKS - 2]), -WEIR_E_NOT_FOUND);
        others_are_right(store, CHUNKS - 2);
        CHECK_EQ(help_put(store, 100 + (unsigned)round), 0);
        CHECK_EQ(store->writer.id, 2); /* the first one is ended, and has a list of its records */
        weir__store_close(store);
        end_suddenly();
    }
    help_remove(folder);
}

static void empty(uint64_t from, uint64_t to)
{
    size_t length = 0;
    unsigned char *bytes = help_read(path, &length);
    CHECK(bytes && from < to && to <= length);
    memset(bytes + from, 0, to - from);
    help_write(path, bytes, length);
    free(bytes);
}

/* A file that loses a page has zeros there: they may have been anything, if it lasted once. */
TEST(what_became_zeros_is_lost)
{
    for (int i = 0; i < 4; i++) {
        struct weir__store_report report;
        bool is_sudden = i < 2;
        unsigned n = i == 3 ? CHUNKS - 1 : 2;
        make();
        if (is_sudden)
            end_suddenly();
        empty(places[n], i == 1 ? places[n + 2] : places[n + 1]);
        struct weir__store *store = help_open(folder, &report);
        CHECK(report.gaps.lost_bytes > 0);
        CHECK_EQ(report.missing_first, 1);
        CHECK(!is_whole(store));
        CHECK(weir__store_keeps_deletions(store));
        CHECK_EQ(help_look(store, numbers[n]), -WEIR_E_NOT_FOUND);
        CHECK_EQ(help_look(store, numbers[n == 2 ? 4 : 1]), 0);
        weir__store_close(store);
        help_remove(folder);
    }
    /* At the end, after a sudden end, they are what files grow. */
    struct weir__store_report report;
    make();
    end_suddenly();
    empty(places[CHUNKS - 1], places[CHUNKS]);
    struct weir__store *store = help_open(folder, &report);
    CHECK_EQ(report.gaps.lost_bytes + report.bad_records, 0);
    CHECK(is_whole(store));
    weir__store_close(store);
    help_remove(folder);
}

/* They would be the gap before large content, but begin before its run. */
TEST(what_became_zeros_before_large_content_is_lost)
{
    static unsigned char large[40000];
    for (int is_sudden = 0; is_sudden < 2; is_sudden++) {
        struct weir__store_report report;
        struct weir__address address;
        struct weir_deadline deadline = help_soon();
        make();
        struct weir__store *store = help_open(folder, NULL);
        CHECK_EQ(help_delete(store, numbers[0]), 0);
        uint32_t at = store->writer.end - WEIR__RECORD_HEAD;
        for (int i = 0; i < 2; i++) {
            memset(large, 'a' + i, sizeof(large));
            weir__address_of(large, sizeof(large), &address);
            CHECK_EQ(weir__store_put(store, &address, large, sizeof(large), &deadline), 0);
        }
        weir__store_close(store);
        if (is_sudden)
            end_suddenly();
        empty(at, at + WEIR__RECORD_HEAD);
        store = help_open(folder, &report);
        CHECK(report.gaps.lost_bytes > 0 && report.bad_records == 1);
        CHECK(!is_whole(store));
        weir__store_close(store);
        help_remove(folder);
    }
}

/* Damage is counted, whatever a crash has left behind it. */
TEST(what_a_crash_left_hides_no_damage)
{
    struct weir__store_report report;
    size_t length = 0;
    struct weir__identity identity;
    struct weir__record record;
    make();
    end_suddenly();
    unsigned char *bytes = help_read(path, &length);
    struct weir__place last = {1, places[CHUNKS - 1]};
    CHECK_EQ(weir__identity_decode(&identity, bytes + WEIR__RECORD_HEAD), 0);
    CHECK_EQ(weir__record_decode(&record, bytes + last.offset, &identity.key, last), 0);
    record.synced = places[CHUNKS - 2];
    weir__record_encode(&record, &identity.key, last, bytes + last.offset);
    memset(bytes + places[CHUNKS - 2], 0, places[CHUNKS - 1] - places[CHUNKS - 2]);
    bytes[places[1] + WEIR__RECORD_HEAD + 5] ^= 1;
    help_write(path, bytes, length);
    free(bytes);
    struct weir__store *store = help_open(folder, &report);
    CHECK_EQ(report.bad_records, 1);
    CHECK_EQ(report.gaps.lost_bytes, 0);
    CHECK_EQ(count_wrong(store), 1);
    weir__store_close(store);
    help_remove(folder);
}

/* Zeros before content that begins with a page are nobody's. */
TEST(what_is_left_free_is_not_lost)
{
    static unsigned char large[3][40000];
    struct weir__store_report report;
    struct weir_deadline deadline = help_soon();
    for (int is_sudden = 0; is_sudden < 2; is_sudden++) {
        make();
        struct weir__store *store = help_open(folder, NULL);
        for (int i = 0; i < 3; i++) {
            struct weir__address address;
            memset(large[i], 'a' + i, sizeof(large[i]));
            weir__address_of(large[i], sizeof(large[i]), &address);
            CHECK_EQ(weir__store_put(store, &address, large[i], sizeof(large[i]), &deadline), 0);
        }
        weir__store_close(store);
        if (is_sudden)
            end_suddenly();
        store = help_open(folder, &report);
        CHECK_EQ(report.gaps.lost_bytes + report.bad_records + report.torn_bytes, 0);
        CHECK(is_whole(store));
        weir__store_close(store);
        help_remove(folder);
    }
}

/* The footer says it of the last ones, too, also if it is damaged itself. */
TEST(a_footer_says_what_lasted)
{
    struct weir__store_report report;
    make();
    struct weir__store *store = help_open(folder, NULL);
    help_seal(store);
    weir__store_close(store);
    end_suddenly();
    change(places[CHUNKS] + WEIR__RECORD_HEAD + 5);
    change(places[CHUNKS - 1] + WEIR__RECORD_HEAD + 5);
    store = help_open(folder, &report);
    CHECK_EQ(report.bad_records, 1);
    CHECK(help_look(store, numbers[CHUNKS - 1]) != -WEIR_E_NOT_FOUND);
    others_are_right(store, CHUNKS - 1);
    weir__store_close(store);
    help_remove(folder);
}

/* A record says it of up to a MiB before it, and of no place that is not there. */
TEST(how_far_a_record_says_it)
{
    static const struct weir__record_key key = {.bytes = {1}};
    static const struct {
        uint32_t at, synced, told;
    } rows[] = {{128, 128, 128},
                {128, 0, 0},
                {256, 128, 128},
                {128, 256, 0},
                {(1u << 20) + 64, 96, 96},
                {(1u << 20) + 80, 96, 0},
                {1u << 30, (1u << 30) - 64, (1u << 30) - 64}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        unsigned char head[WEIR__RECORD_HEAD];
        struct weir__place place = {7, rows[i].at};
        struct weir__record record = {.type = WEIR__RECORD_DELETED,
                                      .sequence = 3,
                                      .size = WEIR__RECORD_HEAD,
                                      .synced = rows[i].synced},
                            got;
        weir__record_encode(&record, &key, place, head);
        CHECK_EQ(weir__record_decode(&got, head, &key, place), 0);
        CHECK_EQ(got.synced, rows[i].told);
    }
}

TAP_MAIN()
