/* test_store_salvage.c - a damaged chunk is put again from another good record of it, if there is
 * one, and never what was deleted. */
#include <dirent.h>

#include "store_part.h"
#include "store_rig.h"
#include "sys.h"

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

/* The index does not know yet that the older one counts no more. */
TEST(an_older_record_that_the_index_takes_for_the_last_is_put_again)
{
    struct weir__address address;
    rig_make_folder();
    struct weir__store *store = rig_open(NULL);
    CHECK_EQ(rig_put(store, LENGTH, 1, &address), 0);
    rig_seal(store);
    CHECK_EQ(rig_delete(store, &address), 0);
    CHECK_EQ(rig_put(store, LENGTH, 1, &address), 0);
    CHECK(damage(2, 1));
    CHECK_EQ(rig_read(store, &address, LENGTH, 1), -WEIR_E_CORRUPT);
    CHECK_EQ(salvage(store, &address), 0);
    CHECK_EQ(rig_read(store, &address, LENGTH, 1), 0);
    weir__store_close(store);
    rig_remove_folder();
}

/* A bit of the second record of the content, in the only segment. */
static void damage_second(uint64_t n)
{
    static unsigned char file[WEIR__STORE_SEGMENT_LEAST], content[LENGTH];
    char path[128];
    snprintf(path, sizeof(path), "%s/segments/00000001.seg", rig_folder);
    int fd = open(path, O_RDWR);
    ssize_t size = pread(fd, file, sizeof(file), 0);
    rig_fill(content, LENGTH, n);
    unsigned char *at = memmem(file, (size_t)size, content, LENGTH);
    CHECK(at);
    at++;
    at = memmem(at, (size_t)(file + size - at), content, LENGTH);
    CHECK(at);
    at[100] ^= 1;
    CHECK_EQ(pwrite(fd, at + 100, 1, at + 100 - file), 1);
    CHECK_EQ(close(fd), 0);
}

/* Both records are in the newest segment, of which the index knows nothing yet: next to each other,
 * or far apart. */
TEST(an_older_record_of_the_newest_segment_is_put_again)
{
    struct weir__address address, other;
    for (unsigned round = 0; round < 4; round++) {
        uint64_t between = round % 2 ? 2500 : 0;
        rig_make_folder();
        struct weir__store *store = rig_open(NULL);
        CHECK_EQ(rig_put(store, LENGTH, 1, &address), 0);
        CHECK_EQ(rig_delete(store, &address), 0);
        for (uint64_t n = 0; n < between; n++)
            CHECK_EQ(rig_put(store, 40, 1000 + n, &other), 0);
        CHECK_EQ(rig_put(store, LENGTH, 1, &address), 0);
        for (uint64_t n = 0; n < between; n++)
            CHECK_EQ(rig_put(store, 40, 10000 + n, &other), 0);
        /* Also in one that somebody has closed. */
        if (round >= 2) {
            weir__store_close(store);
            damage_second(1);
            store = rig_open(NULL);
        } else {
            damage_second(1);
        }
        CHECK_EQ(rig_read(store, &address, LENGTH, 1), -WEIR_E_CORRUPT);
        CHECK_EQ(salvage(store, &address), 0);
        CHECK_EQ(rig_read(store, &address, LENGTH, 1), 0);
        CHECK_EQ(rig_delete(store, &address), 0);
        CHECK_EQ(salvage(store, &address), WEIR__STORE_UNWANTED);
        weir__store_close(store);
        rig_remove_folder();
    }
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
static void count_lines(void *arg, const struct weir__address *address, const char *what)
{
    unsigned *lines = arg;
    (void)address, (void)what;
    ++*lines;
}

/* No verdict can be written: each who reads finds it again, and the log is not filled with it. */
TEST(who_only_reads_tells_each_damage_once)
{
    struct weir__address addresses[3];
    struct weir__store_stats stats;
    unsigned lines = 0;
    rig_make_folder();
    struct weir__store *store = rig_open(NULL);
    for (uint64_t n = 0; n < 3; n++)
        CHECK_EQ(rig_put(store, LENGTH, n, &addresses[n]), 0);
    rig_seal(store);
    weir__store_close(store);
    CHECK(damage(1, 0) && damage(1, 1));
    store = rig_open_with((struct weir__store_options){.folder = rig_folder,
                                                       .is_read_only = true,
                                                       .is_offline = true},
                          NULL);
    weir__store_on_damage(store, count_lines, &lines);
    for (unsigned i = 0; i < 50; i++) {
        for (uint64_t n = 0; n < 3; n++)
            CHECK_EQ(rig_read(store, &addresses[n], LENGTH, n), n < 2 ? -WEIR_E_CORRUPT : 0);
        weir__store_read(store, &stats);
        CHECK_EQ(stats.damaged, 2);
        CHECK_EQ(lines, 2);
    }
    weir__store_close(store);
    rig_remove_folder();
}

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
    CHECK_EQ(hearer.times, 1); /* nobody has to read it for that */
    weir__store_read(hearer.store, &stats);
    CHECK_EQ(stats.quarantined, 1);
    CHECK_EQ(stats.damaged, 1);
    CHECK_EQ(rig_find(hearer.store, &address), -WEIR_E_NOT_FOUND);
    CHECK_EQ(rig_read(hearer.store, &other, LENGTH, 2), 0);
    weir__store_close(hearer.store);
    rig_remove_folder();
}

static void count_told(void *arg, const struct weir__address *address, const char *what)
{
    (void)address, (void)what;
    ++*(unsigned *)arg;
}

#define MANY       1300u /* more than quarantine or a service remembers */
#define MANY_BYTES 300u

/* As many chunks in a store that was closed, in each of which a bit flips then. */
static void damage_many(struct weir__address addresses[MANY])
{
    char path[128];
    unsigned char byte;
    rig_make_folder();
    struct weir__store *store = rig_open(NULL);
    for (unsigned i = 0; i < MANY; i++)
        CHECK_EQ(rig_put(store, MANY_BYTES, i, &addresses[i]), 0);
    weir__store_close(store);
    snprintf(path, sizeof(path), "%s/segments/00000001.seg", rig_folder);
    int fd = open(path, O_RDWR);
    for (unsigned i = 0; i < MANY; i++) {
        off_t at = WEIR__RECORD_HEAD + WEIR__IDENTITY_SIZE +
                   (off_t)i * weir__record_span(WEIR__RECORD_HEAD + MANY_BYTES) +
                   WEIR__RECORD_HEAD + 7;
        CHECK_EQ(pread(fd, &byte, 1, at), 1);
        byte ^= 16;
        CHECK_EQ(pwrite(fd, &byte, 1, at), 1);
    }
    CHECK_EQ(close(fd), 0);
}

/* What the opening finds damaged is vouched for to nobody, by who only reads as well, and whatever
 * becomes of the verdict: who puts it again has it. */
TEST(what_the_opening_finds_damaged_is_not_there)
{
    static struct weir__address addresses[MANY];
    struct weir__store_options options = {
        .folder = rig_folder, .is_read_only = true, .is_offline = true};
    struct weir__store_report report;
    uint32_t length, time_s;
    unsigned told;
    damage_many(addresses);
    for (unsigned round = 0; round < 3; round++) {
        struct weir__store *store =
            round == 0 ? rig_open_with(options, &report) : rig_open(&report);
        CHECK_EQ(report.bad_records, MANY);
        for (unsigned i = 0; i < MANY; i++)
            CHECK_EQ(weir__store_vouch(store, &addresses[i], &length, &time_s),
                     round < 2 || i % 2 ? -WEIR_E_NOT_FOUND : 0);
        for (unsigned i = 0; round == 1 && i < MANY; i += 2) {
            CHECK_EQ(rig_put(store, MANY_BYTES, i, &addresses[i]), 0);
            CHECK_EQ(rig_put(store, MANY_BYTES, i, &addresses[i]), WEIR__STORE_PRESENT);
        }
        told = 0;
        weir__store_on_damage(store, count_told, &told);
        CHECK_EQ(told, round == 0 ? MANY : round == 1 ? MANY / 2 : 0);
        for (unsigned i = 0; i < MANY; i++)
            CHECK_EQ(weir__store_vouch(store, &addresses[i], &length, &time_s),
                     round < 1 || i % 2 ? -WEIR_E_NOT_FOUND : 0);
        weir__store_close(store);
    }
    rig_remove_folder();
}

static char told_lines[500];

static void hear_line(void *arg, const char *line)
{
    size_t used = strlen(told_lines);
    (void)arg;
    snprintf(told_lines + used, sizeof(told_lines) - used, "%s\n", line);
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
    /* Each time, after a clean end; the copy is made once. */
    for (unsigned i = 0; i < 2; i++) {
        store = rig_open(&report);
        weir__store_read(store, &stats);
        CHECK(!stats.is_whole && stats.keeps_deletions);
        CHECK_EQ(stats.quarantined, i == 0);
        CHECK_EQ(report.gaps.lost_bytes, WEIR__RECORD_HEAD);
        CHECK_EQ(report.missing_first, 1);
        told_lines[0] = '\0';
        weir__store_report_tell(&report, hear_line, NULL);
        CHECK_HAS(told_lines, "64 bytes are damaged, the first in 00000001.seg");
        CHECK(!strstr(told_lines, "since it was closed"));
        CHECK_EQ(rig_read(store, &other, LENGTH, 2), 0);
        weir__store_close(store);
    }
    rig_remove_folder();
}

static uint64_t files_in_quarantine(uint64_t *ret_bytes)
{
    char path[512];
    uint64_t files = 0;
    struct dirent *entry;
    struct stat st;
    *ret_bytes = 0;
    snprintf(path, sizeof(path), "%s/quarantine", rig_folder);
    DIR *folder = opendir(path);
    while (folder && (entry = readdir(folder))) {
        snprintf(path, sizeof(path), "%s/quarantine/%s", rig_folder, entry->d_name);
        CHECK_EQ(lstat(path, &st), 0);
        if (!S_ISREG(st.st_mode))
            continue;
        files++;
        *ret_bytes += (uint64_t)st.st_size;
    }
    if (folder)
        closedir(folder);
    return files;
}

/* The second of three chunks loses its head; where that begins. */
static off_t lose_a_head(struct weir__address *address)
{
    struct stat st;
    char path[128], head[1] = {0x55};
    rig_make_folder();
    struct weir__store *store = rig_open(NULL);
    CHECK_EQ(rig_put(store, 5000, 9, address), 0); /* so that it lies in another page */
    snprintf(path, sizeof(path), "%s/segments/00000001.seg", rig_folder);
    CHECK_EQ(stat(path, &st), 0);
    CHECK_EQ(rig_put(store, LENGTH, 1, address), 0);
    CHECK_EQ(rig_put(store, LENGTH, 2, address), 0);
    weir__store_close(store);
    int fd = open(path, O_WRONLY);
    CHECK_EQ(pwrite(fd, head, 1, st.st_size + 8), 1);
    close(fd);
    return st.st_size;
}

/* A copy that has its name is whole: one that is not, for whatever reason, is made anew. */
TEST(what_is_kept_is_kept_whole)
{
    struct weir__address address;
    uint64_t bytes, wanted = weir__record_span(WEIR__RECORD_HEAD + LENGTH);
    char path[160], part[200];
    off_t at = lose_a_head(&address);
    snprintf(path, sizeof(path), "%s/quarantine", rig_folder);
    CHECK_EQ(mkdir(path, 0700), 0);
    snprintf(path, sizeof(path), "%s/quarantine/00000001.seg.%08x", rig_folder, (unsigned)at);
    snprintf(part, sizeof(part), "%s.%d.part", path, (int)gettid());
    CHECK_EQ(close(open(path, O_CREAT | O_WRONLY, 0600)), 0);
    CHECK_EQ(close(open(part, O_CREAT | O_WRONLY, 0600)), 0);
    weir__store_close(rig_open(NULL));
    CHECK_EQ(files_in_quarantine(&bytes), 1);
    CHECK_EQ(bytes, wanted);
    rig_remove_folder();
}

/* The last record of the newest segment loses its head, while the store is closed. */
static void lose_the_last_head(uint64_t n, off_t begin)
{
    char path[128];
    struct weir__address address;
    struct weir__store *store = rig_open(NULL);
    CHECK_EQ(rig_put(store, LENGTH, n, &address), 0);
    weir__store_close(store);
    snprintf(path, sizeof(path), "%s/segments/00000001.seg", rig_folder);
    int fd = open(path, O_WRONLY);
    CHECK_EQ(pwrite(fd, "", 1, begin + 1), 1);
    close(fd);
}

static bool is_in_quarantine(const char *name, uint64_t n)
{
    static unsigned char file[2 * LENGTH], content[LENGTH];
    char path[256];
    snprintf(path, sizeof(path), "%s/quarantine/%s", rig_folder, name);
    int fd = open(path, O_RDONLY);
    ssize_t size = fd < 0 ? 0 : read(fd, file, sizeof(file));
    if (fd >= 0)
        close(fd);
    rig_fill(content, LENGTH, n);
    return size > 0 && memmem(file, (size_t)size, content, LENGTH) != NULL;
}

/* A segment is written further from where something was cut off: what is damaged there next is
 * something else, and is kept beside the first. */
TEST(what_is_found_at_the_same_place_later_is_kept_too)
{
    struct weir__address address;
    struct stat st;
    uint64_t bytes;
    char path[128], name[64];
    rig_make_folder();
    struct weir__store *store = rig_open(NULL);
    CHECK_EQ(rig_put(store, LENGTH, 9, &address), 0);
    snprintf(path, sizeof(path), "%s/segments/00000001.seg", rig_folder);
    CHECK_EQ(stat(path, &st), 0);
    weir__store_close(store);
    for (unsigned i = 0; i < 3; i++) {
        lose_the_last_head(i, st.st_size);
        store = rig_open(NULL);
        struct weir__store_stats stats;
        weir__store_read(store, &stats);
        CHECK_EQ(stats.quarantined, 1);
        weir__store_close(store);
        CHECK_EQ(files_in_quarantine(&bytes), i + 1);
        snprintf(name, sizeof(name), i ? "00000001.seg.%08x.%u" : "00000001.seg.%08x",
                 (unsigned)st.st_size, i);
        CHECK(is_in_quarantine(name, i));
    }
    rig_remove_folder();
}

static int keep_text(struct weir__store *store, const char *text)
{
    char path[128];
    snprintf(path, sizeof(path), "%s/text", rig_folder);
    int fd = open(path, O_CREAT | O_TRUNC | O_RDWR, 0600);
    CHECK_EQ(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    int result = weir__store_put_aside(store, fd, "name", 0, strlen(text), true);
    close(fd);
    return result;
}

/* One that has all of it is a copy, one that has its beginning is made whole, and anything else is
 * left alone: other bytes, links, folders. */
TEST(a_copy_is_known_by_its_content)
{
    static const struct {
        const char *text;
        uint64_t files;
    } rounds[] = {{"one", 1},   {"one and more", 1}, {"one", 1}, {"other", 2},
                  {"other", 2}, {"third", 3},        {"o", 3}};
    uint64_t bytes;
    char path[128];
    rig_make_folder();
    struct weir__store *store = rig_open(NULL);
    for (size_t i = 0; i < sizeof(rounds) / sizeof(rounds[0]); i++) {
        CHECK_EQ(keep_text(store, rounds[i].text), 0);
        CHECK_EQ(files_in_quarantine(&bytes), rounds[i].files);
    }
    CHECK_EQ(bytes, strlen("one and more") + strlen("other") + strlen("third"));
    snprintf(path, sizeof(path), "%s/quarantine/name.3", rig_folder);
    CHECK_EQ(symlink("name", path), 0);
    snprintf(path, sizeof(path), "%s/quarantine/name.4", rig_folder);
    CHECK_EQ(mkdir(path, 0700), 0);
    CHECK_EQ(keep_text(store, "fourth"), 0);
    CHECK_EQ(files_in_quarantine(&bytes), 4);
    snprintf(path, sizeof(path), "%s/quarantine/name.5", rig_folder);
    CHECK_EQ(access(path, F_OK), 0);
    weir__store_close(store);
    rig_remove_folder();
}

/* There is an end to the names as well. */
TEST(copies_of_one_name_are_bounded)
{
    struct weir__store_stats stats;
    char text[16];
    rig_make_folder();
    struct weir__store *store = rig_open(NULL);
    for (unsigned i = 0; i <= 100; i++) {
        snprintf(text, sizeof(text), "text %03u", i);
        CHECK_EQ(keep_text(store, text), 0);
    }
    CHECK_EQ(keep_text(store, "one more"), -WEIR_E_BUSY);
    CHECK_EQ(keep_text(store, "text 100"), 0);
    weir__store_read(store, &stats);
    CHECK_EQ(stats.quarantined, 101);
    weir__store_close(store);
    rig_remove_folder();
}

/* Those of earlier days count, what was not finished does not, and goes. */
TEST(a_full_quarantine_stays_so)
{
    struct weir__address address;
    uint64_t bytes;
    char path[160];
    rig_make_folder();
    snprintf(path, sizeof(path), "%s/quarantine", rig_folder);
    CHECK_EQ(mkdir(path, 0700), 0);
    for (unsigned i = 0; i < WEIR__STORE_QUARANTINE_MAX; i++) {
        snprintf(path, sizeof(path), "%s/quarantine/%u%s", rig_folder, i, i ? "" : ".1.part");
        CHECK_EQ(close(open(path, O_CREAT | O_WRONLY, 0600)), 0);
    }
    for (unsigned i = 0; i < 3; i++) {
        struct hearer hearer = {.store = rig_open(NULL)};
        weir__store_on_damage(hearer.store, hear, &hearer);
        CHECK_EQ(rig_put(hearer.store, LENGTH, i, &address), 0);
        rig_seal(hearer.store);
        CHECK(damage(1, i) || damage(2, i) || damage(3, i) || damage(4, i) || damage(5, i));
        CHECK_EQ(rig_read(hearer.store, &address, LENGTH, i), -WEIR_E_CORRUPT);
        CHECK_EQ(strstr(hearer.what, "not kept in quarantine: many are") != NULL, i > 0);
        weir__store_close(hearer.store);
        CHECK_EQ(files_in_quarantine(&bytes), WEIR__STORE_QUARANTINE_MAX);
    }
    rig_remove_folder();
}

/* The last record of a store that was closed loses its head, and there is no room in quarantine: it
 * stays where it is, and another segment is begun. */
TEST(what_cannot_be_kept_is_not_cut_off)
{
    struct weir__address address, last;
    struct weir__store_report report;
    struct weir__store_stats stats;
    struct stat before, after;
    char path[128], other[128];
    CHECK(lose_a_head(&address) > 0);
    struct weir__store *store = rig_open(NULL);
    snprintf(path, sizeof(path), "%s/segments/00000001.seg", rig_folder);
    CHECK_EQ(stat(path, &before), 0);
    CHECK_EQ(rig_put(store, LENGTH, 3, &last), 0);
    weir__store_close(store);
    int fd = open(path, O_WRONLY);
    CHECK_EQ(pwrite(fd, "", 1, before.st_size + 1), 1);
    close(fd);
    CHECK_EQ(stat(path, &before), 0);
    snprintf(other, sizeof(other), "%s/quarantine", rig_folder);
    char command[300];
    snprintf(command, sizeof(command), "rm -r %s; : >%s", other, other);
    CHECK_EQ(system(command), 0);
    for (unsigned round = 0; round < 3; round++) {
        store = rig_open(&report);
        weir__store_read(store, &stats);
        if (round == 0)
            CHECK(report.gaps.lost_bytes > 0 && !stats.is_whole);
        told_lines[0] = '\0';
        weir__store_report_tell(&report, hear_line, NULL);
        if (round == 0)
            CHECK_HAS(told_lines, "6144 damaged bytes stay where they are"); /* each once */
        /* From the second on the index knows all of the segment. */
        if (round != 1)
            CHECK_HAS(told_lines, "stay where they are, and are not kept in quarantine: what is "
                                  "called so is no folder");
        if (round == 2)
            CHECK_HAS(told_lines, "0 bytes of unfinished writes cut off");
        CHECK(!strstr(told_lines, "see 'quarantine'"));
        CHECK(stats.keeps_deletions);
        CHECK_EQ(rig_read(store, &address, LENGTH, 2), 0);
        CHECK_EQ(rig_find(store, &last), -WEIR_E_NOT_FOUND);
        CHECK_EQ(rig_put(store, LENGTH, 10 + round, &last), 0);
        CHECK_EQ(rig_read(store, &last, LENGTH, 10 + round), 0);
        rig_compact(store, 1);
        CHECK_EQ(stat(path, &after), 0);
        CHECK_EQ(after.st_size, before.st_size);
        weir__store_close(store);
        /* By the segments alone, too. */
        if (round == 1)
            rig_remove("mark");
        rig_fill(rig_room, LENGTH, 3);
        weir__address_of(rig_room, LENGTH, &last);
    }
    rig_remove_folder();
}

/* In the way of copies: 0: as many as there may be, 1: a file, 2: a link. */
static void block_quarantine(unsigned how)
{
    char path[128], name[160];
    snprintf(path, sizeof(path), "%s/quarantine", rig_folder);
    if (how == 1)
        CHECK_EQ(close(open(path, O_CREAT | O_WRONLY, 0600)), 0);
    else if (how == 2)
        CHECK_EQ(symlink("segments", path), 0);
    else
        CHECK_EQ(mkdir(path, 0700), 0);
    for (unsigned i = 0; how == 0 && i < WEIR__STORE_QUARANTINE_MAX; i++) {
        snprintf(name, sizeof(name), "%s/%u", path, i);
        CHECK_EQ(close(open(name, O_CREAT | O_WRONLY, 0600)), 0);
    }
}

static const char *const no_copies[] = {
    "not kept in quarantine: many are",
    "not kept in quarantine: what is called so is no folder",
    "not kept in quarantine: what is called so is no folder",
};

static void open_and_hear(bool is_read_only)
{
    struct weir__store_report report;
    struct weir__store_options options = {
        .folder = rig_folder, .is_read_only = is_read_only, .is_offline = is_read_only};
    told_lines[0] = '\0';
    struct weir__store *store = is_read_only ? rig_open_with(options, &report) : rig_open(&report);
    weir__store_report_tell(&report, hear_line, NULL);
    weir__store_close(store);
}

/* Who is led to quarantine finds something there. */
TEST(what_could_not_be_kept_is_told)
{
    struct weir__address address;
    for (unsigned how = 0; how < 3; how++) {
        (void)lose_a_head(&address);
        block_quarantine(how);
        open_and_hear(false);
        CHECK_HAS(told_lines, "3072 bytes are damaged, the first in 00000001.seg");
        CHECK_HAS(told_lines, "3072 damaged bytes stay where they are, and are not kept");
        CHECK_HAS(told_lines, no_copies[how]);
        CHECK(!strstr(told_lines, "see 'quarantine'"));
        rig_remove_folder();
    }
}

/* Who only reads copies nothing, and cuts nothing off. */
TEST(who_only_reads_leads_nobody_to_quarantine)
{
    struct weir__address address;
    char path[128];
    (void)lose_a_head(&address);
    open_and_hear(true);
    CHECK_HAS(told_lines, "3072 bytes are damaged, the first in 00000001.seg");
    CHECK_HAS(told_lines, "not kept in quarantine: the store is only read");
    CHECK(!strstr(told_lines, "see 'quarantine'"));
    rig_remove("mark");
    snprintf(path, sizeof(path), "%s/segments/00000001.seg", rig_folder);
    int fd = open(path, O_WRONLY | O_APPEND);
    CHECK_EQ(write(fd, "left by a crash.", 16), 16);
    close(fd);
    open_and_hear(true);
    CHECK_HAS(told_lines, "0 bytes of unfinished writes cut off, 1 damaged");
    rig_remove_folder();
}

/* A file that is no segment is told to be put aside when it was. */
TEST(files_that_stay_are_told)
{
    char path[128], other[160];
    rig_make_folder();
    weir__store_close(rig_open(NULL));
    snprintf(path, sizeof(path), "%s/segments/00000009.seg", rig_folder);
    for (unsigned i = 0; i < 100; i++) {
        snprintf(other, sizeof(other), i ? "%s.%u.bad" : "%s.bad", path, i);
        CHECK_EQ(close(open(other, O_CREAT | O_WRONLY, 0600)), 0);
    }
    int fd = open(path, O_CREAT | O_WRONLY, 0600);
    CHECK_EQ(write(fd, "this is no segment", 18), 18);
    close(fd);
    open_and_hear(false);
    CHECK_HAS(told_lines, "0 files that are no segments put aside");
    CHECK_HAS(told_lines, "1 files that are no segments stay where they are");
    CHECK_EQ(unlink(other), 0);
    open_and_hear(true);
    CHECK_HAS(told_lines, "1 files that are no segments stay where they are");
    open_and_hear(false);
    CHECK_HAS(told_lines, "1 files that are no segments put aside");
    CHECK(!strstr(told_lines, "stay where they are"));
    rig_remove_folder();
}

static off_t size_of_first(void)
{
    char path[128];
    struct stat st;
    snprintf(path, sizeof(path), "%s/segments/00000001.seg", rig_folder);
    CHECK_EQ(stat(path, &st), 0);
    return st.st_size;
}

static void write_to_first(off_t at, const char *bytes, size_t length)
{
    char path[128];
    snprintf(path, sizeof(path), "%s/segments/00000001.seg", rig_folder);
    int fd = open(path, O_WRONLY);
    CHECK_EQ(pwrite(fd, bytes, length, at), (ssize_t)length);
    CHECK_EQ(close(fd), 0);
}

static void unblock_quarantine(void)
{
    char command[160];
    snprintf(command, sizeof(command), "rm -r %s/quarantine", rig_folder);
    CHECK_EQ(system(command), 0);
}

/* What stands behind the last record is the end of what a crash has left, or was damaged since. As
 * long as it cannot be kept elsewhere it stays, whoever was killed meanwhile, and others are
 * written to another segment. */
TEST(what_stands_behind_the_last_record_is_not_cut_off_without_a_copy)
{
    struct weir__address first, last, other;
    uint64_t bytes;
    for (unsigned how = 0; how < 6; how++) {
        bool is_of_crash = how >= 3;
        rig_make_folder();
        struct weir__store *store = rig_open(NULL);
        CHECK_EQ(rig_put(store, LENGTH, 1, &first), 0);
        off_t end = size_of_first();
        CHECK_EQ(rig_put(store, LENGTH, 2, &last), 0);
        weir__store_close(store);
        off_t size = size_of_first();
        write_to_first(end + 8, "damaged.", 8);
        block_quarantine(how % 3);
        /* Nobody has written between the two, and the first is killed. */
        for (unsigned round = is_of_crash; round < 2; round++) {
            if (round == 1)
                rig_remove("mark");
            open_and_hear(false);
            CHECK_HAS(told_lines, "3072 damaged bytes stay where they are");
            CHECK_HAS(told_lines, no_copies[how % 3]);
            CHECK(!strstr(told_lines, "see 'quarantine'"));
            CHECK_EQ(size_of_first(), size);
        }
        rig_remove("mark");
        store = rig_open(NULL);
        CHECK_EQ(rig_put(store, LENGTH, 3, &other), 0);
        CHECK_EQ(rig_delete(store, &first), 0);
        weir__store_close(store);
        CHECK_EQ(size_of_first(), size);
        rig_remove("mark");
        unblock_quarantine();
        open_and_hear(false);
        CHECK_HAS(told_lines, "3072 bytes of unfinished writes cut off");
        CHECK_EQ(files_in_quarantine(&bytes), 1);
        CHECK_EQ(bytes, (uint64_t)(size - end));
        CHECK_EQ(size_of_first(), end);
        store = rig_open(NULL);
        CHECK_EQ(rig_find(store, &first), -WEIR_E_NOT_FOUND);
        CHECK_EQ(rig_read(store, &other, LENGTH, 3), 0);
        weir__store_close(store);
        rig_remove_folder();
    }
}

#ifdef WEIR_FAULTS
/* What the disk does not give may be there again: it is not lost, and there is nothing to keep. */
TEST(what_cannot_be_read_is_not_lost)
{
    struct weir__address address;
    struct weir__store_report report;
    uint64_t bytes;
    char path[128];
    CHECK(lose_a_head(&address) < 8192);
    snprintf(path, sizeof(path), "%s/segments/00000001.seg", rig_folder);
    int fd = open(path, O_RDONLY);
    weir__sys_fault_stretch(fd, 4096, 8192);
    struct weir__store *store = rig_open(&report);
    CHECK(report.gaps.unreadable_bytes > 0 && report.gaps.hidden_bytes > 0);
    CHECK_EQ(report.gaps.lost_bytes, 0);
    CHECK_EQ(files_in_quarantine(&bytes), 0);
    weir__store_close(store);
    weir__sys_fault_stretch(-1, 0, 0);
    close(fd);
    rig_remove_folder();
}

/* Nothing of the chunk can be read: that is no copy of it. */
TEST(what_cannot_be_read_is_not_kept)
{
    struct weir__address address;
    uint64_t bytes;
    rig_make_folder();
    struct weir__store *store = rig_open(NULL);
    struct weir__segment *segment;
    CHECK_EQ(rig_put(store, LENGTH, 1, &address), 0);
    CHECK_EQ(weir__segments_pin(&store->segments, 1, &segment), 0);
    weir__sys_fault_stretch(segment->fd, 0, 4096);
    CHECK_EQ(weir__store_put_aside(store, segment->fd, "name", 0, 4096, false), -WEIR_E_IO);
    CHECK_EQ(files_in_quarantine(&bytes), 0);
    weir__sys_fault_stretch(segment->fd, 64, 4096);
    CHECK_EQ(weir__store_put_aside(store, segment->fd, "name", 0, 4096, false), -WEIR_E_INCOMPLETE);
    CHECK_EQ(files_in_quarantine(&bytes), 1);
    CHECK_EQ(bytes, 64);
    weir__sys_fault_stretch(-1, 0, 0);
    weir__segments_unpin(&store->segments, segment);
    weir__store_close(store);
    rig_remove_folder();
}
#endif

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
    CHECK(weir__store_is_settled(store, &reader, &address));
    CHECK_EQ(salvage(store, &address), 0);
    CHECK(damage(1, 1));
    CHECK(!weir__store_is_settled(store, &reader, &address));
    CHECK_EQ(salvage(store, &address), -WEIR_E_NOT_FOUND);
    CHECK_EQ(rig_find(store, &address), -WEIR_E_NOT_FOUND);
    CHECK(!weir__store_is_settled(store, &reader, &address));
    CHECK_EQ(rig_delete(store, &address), 0);
    CHECK(weir__store_is_settled(store, &reader, &address)); /* nobody wants it any more */
    weir__store_reader_fini(&reader);
    weir__store_close(store);
    rig_remove_folder();
}

/* There was no room for the verdict, nor for a copy, when the damage was found, and there is some
 * now. */
TEST(a_verdict_that_had_no_room_is_made_later)
{
    struct weir__address address;
    struct weir__store_stats stats;
    struct hearer hearer = {.times = 0};
    rig_make_folder();
    struct weir__store *store = hearer.store = rig_open(NULL);
    weir__store_on_damage(store, hear, &hearer);
    CHECK_EQ(rig_put(store, LENGTH, 1, &address), 0);
    rig_seal(store);
    CHECK_EQ(rig_delete(store, &address), 0);
    CHECK_EQ(rig_put(store, LENGTH, 1, &address), 0);
    rig_seal(store);
    CHECK(damage(2, 1));
    CHECK_EQ(salvage(store, &address), 0);
    CHECK_EQ(rig_read(store, &address, LENGTH, 1), 0);
    weir__store_read(store, &stats);
    CHECK_EQ(stats.quarantined, 1);
    CHECK_EQ(hearer.times, 0); /* it was told when it was found */
    weir__store_close(store);
    rig_remove_folder();
}

#ifdef WEIR_FAULTS
/* That it cannot be read is no verdict. */
TEST(what_cannot_be_read_is_not_condemned)
{
    struct weir__address address;
    struct weir__segment *segment;
    rig_make_folder();
    struct weir__store *store = rig_open(NULL);
    CHECK_EQ(rig_put(store, LENGTH, 1, &address), 0);
    CHECK_EQ(weir__segments_pin(&store->segments, 1, &segment), 0);
    weir__sys_fault_stretch(segment->fd, 0, 4096);
    CHECK_EQ(salvage(store, &address), -WEIR_E_IO);
    weir__sys_fault_stretch(-1, 0, 0);
    CHECK_EQ(rig_read(store, &address, LENGTH, 1), 0);
    weir__segments_unpin(&store->segments, segment);
    weir__store_close(store);
    rig_remove_folder();
}
#endif

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
        CHECK_EQ(weir__store_put_aside(store, fd, "name", 0, 0, false), 0);
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
