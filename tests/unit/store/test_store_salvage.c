/* test_store_salvage.c - a damaged chunk is put again from another good record of it, if there is
 * one, and never what was deleted. */
#include "store_part.h"
#include "store_rig.h"

#define LENGTH 3000u

/* Flips a bit of the content in the segment; false: it is not in there. */
static bool damage(unsigned segment, uint64_t n)
{
    static unsigned char file[WEIR__STORE_SEGMENT_LEAST], content[LENGTH];
    char path[128];
    snprintf(path, sizeof(path), "%s/segments/%08x.seg", rig_folder, segment);
    int fd = open(path, O_RDWR);
    ssize_t size = pread(fd, file, sizeof(file), 0);
    rig_fill(content, LENGTH, n);
    unsigned char *at = size > 0 ? memmem(file, (size_t)size, content, LENGTH) : NULL;
    if (at) {
        at[LENGTH / 2] ^= 4;
        CHECK_EQ(pwrite(fd, at + LENGTH / 2, 1, at + LENGTH / 2 - file), 1);
    }
    CHECK_EQ(close(fd), 0);
    return at != NULL;
}

static int salvage(struct weir__store *store, const struct weir__address *address)
{
    struct weir_deadline deadline = rig_soon();
    struct weir__store_reader reader;
    CHECK_EQ(weir__store_reader_init(&reader), 0);
    int result = weir__store_salvage(store, &reader, address, &deadline);
    weir__store_reader_fini(&reader);
    return result;
}

TEST(an_older_record_is_put_again)
{
    struct weir__address address;
    rig_make_folder();
    struct weir__store *store = rig_open(NULL);
    CHECK_EQ(rig_put(store, LENGTH, 1, &address), 0);
    rig_seal(store);
    CHECK_EQ(rig_delete(store, &address), 0);
    CHECK_EQ(rig_put(store, LENGTH, 1, &address), 0);
    rig_seal(store);
    CHECK(damage(2, 1));
    CHECK_EQ(rig_read(store, &address, LENGTH, 1), -WEIR_E_CORRUPT);
    CHECK_EQ(salvage(store, &address), 0);
    CHECK_EQ(rig_read(store, &address, LENGTH, 1), 0);
    CHECK_EQ(salvage(store, &address), 0);
    weir__store_close(store);
    rig_remove_folder();
}

struct hearer {
    struct weir__store *store;
    unsigned times;
    int result;
    char what[96];
};

static void hear(void *arg, const struct weir__address *address, const char *what)
{
    struct hearer *hearer = arg;
    hearer->times++;
    snprintf(hearer->what, sizeof(hearer->what), "%s", what);
    hearer->result = salvage(hearer->store, address);
}

/* Who hears of the damage and comes at once must not take what was there for good. */
TEST(without_another_record_it_is_not_found)
{
    struct weir__address address;
    rig_make_folder();
    struct hearer hearer = {.store = rig_open(NULL)};
    weir__store_on_damage(hearer.store, hear, &hearer);
    CHECK_EQ(rig_put(hearer.store, LENGTH, 1, &address), 0);
    CHECK(damage(1, 1));
    CHECK_EQ(rig_read(hearer.store, &address, LENGTH, 1), -WEIR_E_CORRUPT);
    CHECK_EQ(hearer.times, 1);
    CHECK_EQ(hearer.result, -WEIR_E_NOT_FOUND);
    CHECK_EQ(rig_find(hearer.store, &address), -WEIR_E_NOT_FOUND);
    weir__store_close(hearer.store);
    rig_remove_folder();
}

/* What is damaged is kept for people to look at, or they are told that it is not. */
TEST(damage_is_kept_or_told_to_be_lost)
{
    struct weir__address address;
    char path[128], other[128];
    rig_make_folder();
    snprintf(path, sizeof(path), "%s/quarantine", rig_folder);
    snprintf(other, sizeof(other), "%s/quarantine.old", rig_folder);
    for (unsigned i = 0; i < 2; i++) {
        struct hearer hearer = {.store = rig_open(NULL)};
        weir__store_on_damage(hearer.store, hear, &hearer);
        CHECK_EQ(rig_put(hearer.store, LENGTH, i, &address), 0);
        rig_seal(hearer.store);
        CHECK(damage(1, i) || damage(2, i) || damage(3, i));
        if (i == 1) { /* a file is in the way */
            CHECK_EQ(rename(path, other), 0);
            CHECK_EQ(close(open(path, O_CREAT | O_WRONLY, 0600)), 0);
        }
        CHECK_EQ(rig_read(hearer.store, &address, LENGTH, i), -WEIR_E_CORRUPT);
        CHECK_EQ(hearer.times, 1);
        CHECK_EQ(strstr(hearer.what, "not kept in quarantine: ") != NULL, i == 1);
        struct weir__store_stats stats;
        weir__store_read(hearer.store, &stats);
        CHECK_EQ(stats.quarantined, i == 0);
        weir__store_close(hearer.store);
    }
    rig_remove_folder();
}

/* What is damaged can be deleted: then nothing brings it back, also not who has found a good record
 * before. */
TEST(what_is_damaged_and_then_deleted_stays_deleted)
{
    struct weir__address address;
    struct weir__entry verdict;
    struct weir_deadline deadline = rig_soon();
    unsigned char content[LENGTH];
    rig_make_folder();
    struct weir__store *store = rig_open(NULL);
    CHECK_EQ(rig_put(store, LENGTH, 1, &address), 0);
    rig_seal(store);
    CHECK_EQ(rig_delete(store, &address), 0);
    CHECK_EQ(rig_put(store, LENGTH, 1, &address), 0);
    rig_seal(store);
    CHECK(damage(2, 1));
    CHECK_EQ(rig_read(store, &address, LENGTH, 1), -WEIR_E_CORRUPT);
    rig_seal(store);
    CHECK_EQ(weir__store_lookup(store, &address, &verdict, NULL), 0);
    CHECK_EQ(verdict.type, WEIR__RECORD_BAD);
    CHECK_EQ(rig_delete(store, &address), 0);
    CHECK_EQ(salvage(store, &address), WEIR__STORE_UNWANTED);
    rig_fill(content, LENGTH, 1);
    struct weir__store_write late = {.action = WEIR__STORE_PUT,
                                     .address = address,
                                     .bytes = content,
                                     .length = LENGTH,
                                     ._from = verdict,
                                     ._kind = WEIR__WRITE_SALVAGE};
    CHECK_EQ(weir__store_write_and_wait(store, &late, &deadline), -WEIR_E_NOT_FOUND);
    CHECK_EQ(rig_delete(store, &address), -WEIR_E_NOT_FOUND);
    weir__store_close(store);
    store = rig_open(NULL);
    CHECK_EQ(salvage(store, &address), WEIR__STORE_UNWANTED);
    CHECK_EQ(rig_find(store, &address), -WEIR_E_NOT_FOUND);
    weir__store_close(store);
    rig_remove_folder();
}

/* Behind a clean end nothing is unfinished, also in the segment that has no footer yet: what is
 * wrong there is damage, and told by its address. */
TEST(damage_in_the_newest_segment_is_told)
{
    struct weir__address address, other;
    struct weir__store_report report;
    rig_make_folder();
    struct weir__store *store = rig_open(NULL);
    CHECK_EQ(rig_put(store, LENGTH, 1, &address), 0);
    CHECK_EQ(rig_put(store, LENGTH, 2, &other), 0);
    weir__store_close(store);
    CHECK(damage(1, 1));
    struct hearer hearer = {.store = rig_open(&report)};
    struct weir__store_stats stats;
    weir__store_on_damage(hearer.store, hear, &hearer);
    CHECK_EQ(report.bad_records, 1);
    CHECK_EQ(report.gaps.lost_bytes, 0);
    CHECK_EQ(rig_find(hearer.store, &address), 0);
    CHECK_EQ(rig_read(hearer.store, &address, LENGTH, 1), -WEIR_E_CORRUPT);
    CHECK_EQ(hearer.times, 1);
    weir__store_read(hearer.store, &stats);
    CHECK_EQ(stats.quarantined, 1);
    CHECK_EQ(rig_find(hearer.store, &address), -WEIR_E_NOT_FOUND);
    CHECK_EQ(rig_read(hearer.store, &other, LENGTH, 2), 0);
    weir__store_close(hearer.store);
    rig_remove_folder();
}

/* What has lost its head may have been anything, a deletion too. */
TEST(what_has_lost_its_head_is_told)
{
    struct weir__address address, other;
    struct weir__store_report report;
    struct weir__store_stats stats;
    struct stat st;
    char path[128], head[1] = {0x55};
    rig_make_folder();
    struct weir__store *store = rig_open(NULL);
    CHECK_EQ(rig_put(store, LENGTH, 1, &address), 0);
    snprintf(path, sizeof(path), "%s/segments/00000001.seg", rig_folder);
    CHECK_EQ(stat(path, &st), 0);
    CHECK_EQ(rig_delete(store, &address), 0);
    CHECK_EQ(rig_put(store, LENGTH, 2, &other), 0);
    weir__store_close(store);
    int fd = open(path, O_WRONLY);
    CHECK_EQ(pwrite(fd, head, 1, st.st_size + 8), 1);
    close(fd);
    store = rig_open(&report);
    weir__store_read(store, &stats);
    CHECK(!stats.is_whole && stats.keeps_deletions);
    CHECK_EQ(stats.quarantined, 1);
    CHECK_EQ(report.gaps.lost_bytes, WEIR__RECORD_HEAD);
    CHECK_EQ(report.missing_first, 1);
    CHECK_EQ(rig_read(store, &other, LENGTH, 2), 0);
    weir__store_close(store);
    rig_remove_folder();
}

/* Before anybody has found out, or where the verdict had no room. */
TEST(what_is_there_and_damaged_is_not_called_good)
{
    struct weir__address address;
    struct weir__store_reader reader;
    rig_make_folder();
    struct weir__store *store = rig_open(NULL);
    CHECK_EQ(weir__store_reader_init(&reader), 0);
    CHECK_EQ(rig_put(store, LENGTH, 1, &address), 0);
    rig_seal(store);
    CHECK(weir__store_is_good(store, &reader, &address));
    CHECK_EQ(salvage(store, &address), 0);
    CHECK(damage(1, 1));
    CHECK(!weir__store_is_good(store, &reader, &address));
    CHECK_EQ(salvage(store, &address), -WEIR_E_CORRUPT);
    weir__store_reader_fini(&reader);
    weir__store_close(store);
    rig_remove_folder();
}

/* One that is found again and again is kept once, and counted once. */
TEST(what_is_kept_already_is_not_counted_again)
{
    struct weir__address address;
    struct weir__store_stats stats;
    rig_make_folder();
    struct weir__store *store = rig_open(NULL);
    CHECK_EQ(rig_put(store, LENGTH, 1, &address), 0);
    int fd = open(rig_folder, O_RDONLY | O_DIRECTORY);
    for (int i = 0; i < 3; i++)
        CHECK_EQ(weir__store_put_aside(store, fd, "name", 0, 0), 0);
    close(fd);
    weir__store_read(store, &stats);
    CHECK_EQ(stats.quarantined, 1);
    weir__store_close(store);
    rig_remove_folder();
}

TEST(what_was_deleted_stays_deleted)
{
    struct weir__address address;
    rig_make_folder();
    struct weir__store *store = rig_open(NULL);
    CHECK_EQ(rig_put(store, LENGTH, 1, &address), 0);
    rig_seal(store);
    CHECK_EQ(rig_delete(store, &address), 0);
    rig_seal(store);
    CHECK_EQ(salvage(store, &address), WEIR__STORE_UNWANTED);
    CHECK_EQ(rig_find(store, &address), -WEIR_E_NOT_FOUND);
    weir__store_close(store);
    rig_remove_folder();
}

TAP_MAIN()
