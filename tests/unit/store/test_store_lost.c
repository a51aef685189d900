/* test_store_lost.c - what went away between a clean end and the next opening is noticed. */
#include "store_help.h"
#include "store_part.h"

#define CHUNKS 12

static char folder[HELP_PATH];

/* Two segments with a footer, and one without if that is wanted. */
static void make(bool is_sealed)
{
    help_make_folder(folder);
    struct weir__store *store = help_open(folder, NULL);
    for (unsigned n = 0; n < CHUNKS; n++) {
        CHECK_EQ(help_put(store, n), 0);
        if (n % 4 == 3 && (n < 11 || is_sealed))
            help_seal(store);
    }
    weir__store_close(store);
}

static void path_of(char path[HELP_PATH + 40], const char *name)
{
    snprintf(path, HELP_PATH + 40, "%s/%s", folder, name);
}

static void remove_file(const char *name)
{
    char path[HELP_PATH + 40];
    path_of(path, name);
    CHECK_EQ(unlink(path), 0);
}

static off_t cut(const char *name, off_t less)
{
    char path[HELP_PATH + 40];
    struct stat st;
    path_of(path, name);
    CHECK_EQ(stat(path, &st), 0);
    CHECK_EQ(truncate(path, st.st_size - less), 0);
    return st.st_size;
}

/* What is told when it is opened, by who writes and by who only reads; and that it is told once. */
static void check(uint64_t segments, uint64_t bytes, uint32_t first)
{
    struct weir__store_options options = {
        .folder = folder, .segment_bytes = 4u << 20, .is_read_only = true, .is_offline = true};
    struct weir__store_report report;
    struct weir__store_stats stats;
    struct weir__store *store;
    for (int round = 0; round < 2; round++) {
        if (round == 0)
            CHECK_EQ(weir__store_open(&store, &options, &report), 0);
        else
            store = help_open(folder, &report);
        CHECK(report.was_clean);
        CHECK_EQ(report.gaps.lost_segments, segments);
        CHECK_EQ(report.gaps.lost_bytes, bytes);
        CHECK_EQ(report.missing_first, first);
        CHECK_EQ(report.gaps.missing_segments + report.gaps.unreadable_bytes, 0);
        weir__store_read(store, &stats);
        CHECK_EQ(stats.is_whole, segments + bytes == 0);
        CHECK(segments + bytes == 0 || stats.damaged > 0);
        /* What is gone is gone: there is no doubt about what is not found. */
        CHECK_EQ(help_look(store, 100), -WEIR_E_NOT_FOUND);
        CHECK_EQ(help_look(store, 4), segments == 1 && first == 2 ? -WEIR_E_NOT_FOUND : 0);
        if (round == 1)
            CHECK_EQ(help_put(store, 50), 0);
        weir__store_close(store);
    }
    store = help_open(folder, &report);
    CHECK(report.was_clean && report.gaps.lost_segments + report.gaps.lost_bytes == 0);
    CHECK_EQ(help_look(store, 50), 0);
    weir__store_close(store);
    help_remove(folder);
}

TEST(nothing_is_lost)
{
    make(false);
    check(0, 0, 0);
    make(true);
    check(0, 0, 0);
}

TEST(the_newest_segment)
{
    make(false);
    remove_file("segments/00000003.seg");
    check(1, 0, 3);
    make(true);
    remove_file("segments/00000003.seg");
    check(1, 0, 3);
}

TEST(the_end_of_the_newest)
{
    make(false);
    cut("segments/00000003.seg", 16);
    check(0, 16, 3);
    /* A whole record, so that nothing looks torn. */
    make(false);
    struct help_chunk last;
    help_chunk(&last, CHUNKS - 1);
    off_t span = (off_t)weir__record_span(WEIR__RECORD_HEAD + last.length);
    cut("segments/00000003.seg", span);
    check(0, (uint64_t)span, 3);
    make(true);
    cut("segments/00000003.seg", 1);
    check(0, 1, 3);
}

TEST(an_older_segment)
{
    make(false);
    remove_file("segments/00000002.seg");
    check(1, 0, 2);
    /* Its footer, and some of its last record. */
    make(false);
    cut("segments/00000001.seg", 2 * WEIR__RECORD_HEAD + 4 * WEIR__ENTRY_SIZE + 16);
    check(0, 16, 1);
}

/* The index tells of each segment; without it, how many there were is known. */
TEST(several)
{
    struct weir__store_report report;
    make(false);
    remove_file("segments/00000001.seg");
    remove_file("segments/00000003.seg");
    struct weir__store *store = help_open(folder, &report);
    CHECK_EQ(report.gaps.lost_segments, 2);
    weir__store_close(store);
    help_remove(folder);
    make(false);
    remove_file("segments/00000001.seg");
    remove_file("segments/00000002.seg");
    remove_file("index/data.mdb");
    store = help_open(folder, &report);
    CHECK(report.was_clean && report.index_was_rebuilt);
    CHECK_EQ(report.gaps.lost_segments, 2);
    CHECK_EQ(help_look(store, CHUNKS - 1), 0);
    weir__store_close(store);
    help_remove(folder);
}

/* After a sudden end nobody knows how much there was. */
TEST(without_a_mark)
{
    struct weir__store_report report;
    make(false);
    remove_file("mark");
    cut("segments/00000003.seg", 16);
    struct weir__store *store = help_open(folder, &report);
    CHECK(!report.was_clean && report.torn_bytes > 0);
    CHECK_EQ(report.gaps.lost_segments + report.gaps.lost_bytes, 0);
    weir__store_close(store);
    help_remove(folder);
}

/* A mark of the first version says nothing of segments, and is one of a clean end all the same. */
TEST(a_mark_of_the_first_version)
{
    char path[HELP_PATH + 40];
    unsigned char digest[WEIR__HASH_SIZE];
    struct weir__store_report report;
    struct weir__hash hash;
    size_t length;
    make(false);
    path_of(path, "mark");
    unsigned char *bytes = help_read(path, &length);
    CHECK(bytes && length == WEIR__STORE_MARK_SIZE);
    bytes[7] = '1';
    weir__hash_init(&hash);
    weir__hash_update(&hash, bytes, 56);
    weir__hash_final(&hash, digest);
    memcpy(bytes + 56, digest, 8);
    help_write(path, bytes, 64);
    cut("segments/00000003.seg", 16);
    struct weir__store *store = help_open(folder, &report);
    CHECK(report.was_clean && !report.index_was_rebuilt);
    CHECK_EQ(report.gaps.lost_segments + report.gaps.lost_bytes, 0);
    weir__store_close(store);
    free(bytes);
    help_remove(folder);
}

/* A file that is no segment lies aside, and that is told for as long as it does. */
TEST(what_lies_aside_is_missing)
{
    static const char zeros[4096] = "no segment";
    char path[HELP_PATH + 40];
    struct weir__store_stats stats;
    make(true);
    path_of(path, "segments/00000002.seg");
    help_write(path, zeros, sizeof(zeros));
    remove_file("mark");
    for (int i = 0; i < 3; i++) {
        struct weir__store *store = help_open(folder, NULL);
        weir__store_read(store, &stats);
        CHECK_EQ(stats.is_whole, i == 2);
        weir__store_close(store);
        if (i == 1)
            remove_file("segments/00000002.seg.bad");
    }
    help_remove(folder);
}

/* --- while it is open --- */

static struct weir__store_stats stats_of(struct weir__store *store)
{
    struct weir__store_stats stats;
    weir__store_read(store, &stats);
    return stats;
}

static struct weir__store *open_with_scrubber(void)
{
    struct weir__store_options options = {.folder = folder, .segment_bytes = 4u << 20};
    struct weir__store *store;
    CHECK_EQ(weir__store_open(&store, &options, NULL), 0);
    return store;
}

/* A walk that begins after this was called. */
static void scrub(struct weir__store *store)
{
    struct weir_deadline deadline = help_soon();
    /* One may be under way, and there may be one more that was due. */
    for (uint64_t walks = stats_of(store).scrub_walks, i = 0; i < 2; i++) {
        weir__store_scrub_now(store);
        while (stats_of(store).scrub_walks < walks + i + 1) {
            struct weir_deadline moment = weir_deadline_in(WEIR_NS_PER_MS, NULL);
            weir_deadline_sleep(&moment);
            CHECK_EQ(weir_deadline_check(&deadline), 0);
        }
    }
}

static void check_open(struct weir__store *store, uint64_t lost)
{
    struct weir__store_stats stats = stats_of(store);
    CHECK_EQ(stats.is_whole, lost == 0);
    CHECK_EQ(stats.gaps.lost_segments, lost);
    CHECK_EQ(stats.damaged > 0, lost > 0);
    CHECK_EQ(stats.keeps_deletions, lost > 0);
}

static void flip_newest(off_t at)
{
    char path[HELP_PATH + 40];
    unsigned char byte;
    path_of(path, "segments/00000001.seg");
    int fd = open(path, O_RDWR | O_CLOEXEC);
    CHECK_EQ(pread(fd, &byte, 1, at), 1);
    byte ^= 1;
    CHECK_EQ(pwrite(fd, &byte, 1, at), 1);
    close(fd);
}

/* A small store has no other, and no walk seals it. */
TEST(the_newest_segment_is_scrubbed)
{
    help_make_folder(folder);
    struct weir__store *store = open_with_scrubber();
    for (unsigned n = 0; n < 3; n++)
        CHECK_EQ(help_put(store, n), 0);
    CHECK_EQ(help_touch(store, 0), 0);
    CHECK_EQ(help_delete(store, 2), 0);
    scrub(store);
    uint64_t scrubbed = stats_of(store).scrubbed_bytes;
    CHECK(scrubbed >= help_length(0) + help_length(1));
    CHECK_EQ(stats_of(store).damaged, 0);
    flip_newest(WEIR__RECORD_HEAD + WEIR__IDENTITY_SIZE + WEIR__RECORD_HEAD + 5);
    scrub(store);
    CHECK(stats_of(store).scrubbed_bytes > scrubbed);
    CHECK_EQ(stats_of(store).damaged, 1);
    CHECK_EQ(help_look(store, 0), -WEIR_E_NOT_FOUND);
    CHECK_EQ(help_look(store, 1), 0);
    CHECK_EQ(stats_of(store).segments, 1);
    /* It lies in a sealed one, or in that which waits for the index. */
    struct weir_deadline deadline = help_soon();
    CHECK_EQ(weir__store_seal(store, &deadline), 0);
    scrub(store);
    CHECK_EQ(stats_of(store).damaged, 1);
    weir__store_close(store);
    help_remove(folder);
}

TEST(files_that_are_removed_while_it_is_open)
{
    char path[HELP_PATH + 40], copy[HELP_PATH + 40];
    size_t length;
    make(false);
    struct weir__store *store = open_with_scrubber();
    scrub(store);
    check_open(store, 0);
    remove_file("segments/00000001.seg");
    scrub(store);
    check_open(store, 1);
    /* Told once. */
    scrub(store);
    check_open(store, 1);
    /* Another file under the name of the one that is open. */
    path_of(path, "segments/00000002.seg");
    path_of(copy, "copy");
    unsigned char *bytes = help_read(path, &length);
    CHECK(bytes);
    help_write(copy, bytes, length);
    free(bytes);
    CHECK_EQ(rename(copy, path), 0);
    /* The one that is written. */
    remove_file("segments/00000003.seg");
    scrub(store);
    check_open(store, 3);
    for (unsigned n = 0; n < CHUNKS; n++)
        CHECK_EQ(help_look(store, n), 0);
    weir__store_close(store);
    help_remove(folder);
}

/* --- what is acknowledged then --- */

static void take_away(const char *from, const char *to, bool keeps_link)
{
    char path[HELP_PATH + 40], other[HELP_PATH + 40];
    path_of(path, from);
    path_of(other, to);
    if (keeps_link)
        CHECK_EQ(link(path, other), 0);
    CHECK_EQ(keeps_link ? unlink(path) : rename(path, other), 0);
}

static void remove_active(void)
{
    remove_file("segments/00000003.seg");
}

static void move_active(void)
{
    take_away("segments/00000003.seg", "elsewhere", false);
}

static void link_active(void)
{
    take_away("segments/00000003.seg", "elsewhere", true);
}

/* Nothing is acknowledged that would be gone with the process, nor because of what would be. */
TEST(a_file_that_is_taken_away_while_it_is_written)
{
    static void (*const ways[])(void) = {remove_active, move_active, link_active};
    for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
        make(false);
        struct weir__store *store = help_open(folder, NULL);
        CHECK_EQ(help_put(store, 499), 0);
        ways[i]();
        CHECK_EQ(help_put(store, 500), -WEIR_E_IO);
        CHECK(!stats_of(store).is_whole);
        CHECK_EQ(stats_of(store).gaps.lost_segments, 1);
        for (unsigned n = 499; n <= 500; n++) {
            CHECK_EQ(help_put(store, n), 0);
            CHECK_EQ(help_look(store, n), 0);
        }
        weir__store_close(store);
        store = help_open(folder, NULL);
        for (unsigned n = 499; n <= 500; n++)
            CHECK_EQ(help_look(store, n), 0);
        weir__store_close(store);
        help_remove(folder);
    }
}

/* It was not told yet: who puts a chunk again has it. */
TEST(what_is_put_again_is_not_in_a_file_that_is_gone)
{
    uint32_t length, time_s;
    struct help_chunk chunk;
    make(false);
    struct weir__store *store = help_open(folder, NULL);
    help_chunk(&chunk, 0);
    CHECK_EQ(weir__store_vouch(store, &chunk.address, &length, &time_s), 0);
    remove_file("segments/00000001.seg");
    CHECK_EQ(weir__store_vouch(store, &chunk.address, &length, &time_s), -WEIR_E_NOT_FOUND);
    CHECK_EQ(help_put(store, 0), 0);
    CHECK_EQ(weir__store_vouch(store, &chunk.address, &length, &time_s), 0);
    weir__store_close(store);
    store = help_open(folder, NULL);
    CHECK_EQ(help_look(store, 0), 0);
    weir__store_close(store);
    help_remove(folder);
}

TEST(the_folder_of_segments_is_moved)
{
    char path[HELP_PATH + 40];
    make(false);
    struct weir__store *store = help_open(folder, NULL);
    take_away("segments", "elsewhere", false);
    path_of(path, "segments");
    CHECK_EQ(mkdir(path, 0700), 0);
    for (unsigned i = 0; i < 2; i++)
        CHECK_EQ(help_put(store, 500), -WEIR_E_IO);
    CHECK(!stats_of(store).is_whole);
    CHECK_EQ(rmdir(path), 0);
    take_away("elsewhere", "segments", false);
    CHECK_EQ(help_put(store, 500), 0);
    weir__store_close(store);
    store = help_open(folder, NULL);
    CHECK_EQ(help_look(store, 500), 0);
    weir__store_close(store);
    help_remove(folder);
}

/* Nor in another one of its name, which nobody had open before. */
TEST(what_is_put_again_is_not_in_a_file_that_was_replaced)
{
    char path[HELP_PATH + 40], copy[HELP_PATH + 40];
    uint32_t length, time_s;
    struct help_chunk chunk;
    size_t size;
    make(false);
    struct weir__store *store = help_open(folder, NULL);
    help_chunk(&chunk, 0);
    path_of(path, "segments/00000001.seg");
    path_of(copy, "copy");
    unsigned char *bytes = help_read(path, &size);
    CHECK(bytes);
    memset(bytes, 0, size);
    help_write(copy, bytes, size);
    free(bytes);
    CHECK_EQ(rename(copy, path), 0);
    CHECK_EQ(weir__store_vouch(store, &chunk.address, &length, &time_s), -WEIR_E_NOT_FOUND);
    CHECK(help_look(store, 0) < 0);
    CHECK_EQ(stats_of(store).gaps.lost_segments, 1);
    CHECK_EQ(help_put(store, 0), 0);
    CHECK_EQ(help_look(store, 0), 0);
    weir__store_close(store);
    store = help_open(folder, NULL);
    CHECK_EQ(help_look(store, 0), 0);
    weir__store_close(store);
    help_remove(folder);
}

#ifdef WEIR_FAULTS
static void look_when_removed(void *arg, const struct weir__disk_note *note)
{
    if (note->change == WEIR__DISK_REMOVE)
        weir__store_look_at_names(arg);
}

/* What compaction removes is not missed, also not by who looks before it is off the list. */
TEST(files_that_are_compacted_while_it_is_open)
{
    struct weir_deadline deadline = help_soon();
    make(true);
    struct weir__store *store = help_open(folder, NULL);
    for (unsigned n = 0; n < 4; n++)
        CHECK_EQ(help_delete(store, n), 0);
    help_seal(store);
    weir__disk_watch(look_when_removed, store);
    CHECK_EQ(weir__store_compact(store, 1, &deadline), 0);
    weir__disk_watch(NULL, NULL);
    CHECK_EQ(stats_of(store).compacted_segments, 1);
    check_open(store, 0);
    weir__store_close(store);
    help_remove(folder);
}
#endif

TAP_MAIN()
