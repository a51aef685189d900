/* fault_store_open.c - a store is opened while a call fails, or on a disk with a bad sector.
 *
 * Whatever fails: it is refused, or opened with what can be read. Then nothing that was
 * acknowledged is said to be absent, nothing of what cannot be read is changed, and what is
 * written and deleted meanwhile counts as well when all can be read again.
 */
#include <dirent.h>

#include "../unit/store/store_help.h"
#include "store_check.h"
#include "store_part.h"
#include "sweep.h"
#include "sys.h"

#define CHUNKS 48
#define FRESH  1000
#define FILES  16

enum { IN = 1, OUT = 2 };

struct file {
    char name[64];
    unsigned char *bytes;
    size_t length;
};

/* A store that was closed as it should be. */
static struct file files[FILES];
static size_t files_count;
static int wanted[CHUNKS];
static char folder[HELP_PATH];
static enum weir_fault kind;
static bool with_mark;
static bool has_bad_sector;
static const char *what = "";
static long number;

static void load(const char *name)
{
    char path[HELP_PATH + 80];
    struct file *file = &files[files_count];
    CHECK(files_count < FILES);
    snprintf(file->name, sizeof(file->name), "%s", name);
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    if ((file->bytes = help_read(path, &file->length)))
        files_count++;
}

static void put(struct weir__store *store, unsigned n)
{
    CHECK(help_put(store, n) >= 0);
    wanted[n] = IN;
}

static void delete (struct weir__store *store, unsigned n)
{
    CHECK_EQ(help_delete(store, n), 0);
    wanted[n] = OUT;
}

/* Three segments with a footer and one without; deletions of what lies in another one, one that was
 * put again, a touch. */
static void make(void)
{
    static const char *const names[] = {"lock",
                                        "store",
                                        "mark",
                                        "segments/00000001.seg",
                                        "segments/00000002.seg",
                                        "segments/00000003.seg",
                                        "segments/00000004.seg",
                                        "index/data.mdb"};
    if (files_count > 0)
        return;
    help_make_folder(folder);
    for (unsigned n = 0; n < CHUNKS; n++)
        wanted[n] = OUT;
    struct weir__store *store = help_open(folder, NULL);
    for (unsigned n = 0; n < 8; n++)
        put(store, n);
    help_seal(store);
    delete (store, 1);
    delete (store, 2);
    for (unsigned n = 8; n < 12; n++)
        put(store, n);
    help_seal(store);
    for (unsigned n = 12; n < 16; n++)
        put(store, n);
    put(store, 2);
    delete (store, 9);
    CHECK_EQ(help_touch(store, 3), 0);
    help_seal(store);
    /* Of several pages. */
    for (unsigned n = 16; n < 19; n++)
        put(store, n);
    delete (store, 13);
    put(store, 26);
    put(store, 34);
    put(store, 42);
    put(store, 19);
    weir__store_close(store);
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        load(names[i]);
    CHECK_EQ(files_count, sizeof(names) / sizeof(names[0]));
    help_remove(folder);
}

static void restore(void)
{
    static const char *const folders[] = {"", "/segments", "/index"};
    char path[HELP_PATH + 80];
    help_remove(folder);
    for (size_t i = 0; i < 3; i++) {
        snprintf(path, sizeof(path), "%s%s", folder, folders[i]);
        CHECK_EQ(mkdir(path, 0700), 0);
    }
    for (size_t i = 0; i < files_count; i++) {
        if (!with_mark && strcmp(files[i].name, "mark") == 0)
            continue;
        snprintf(path, sizeof(path), "%s/%.63s", folder, files[i].name);
        help_write(path, files[i].bytes, files[i].length);
    }
}

static void fail(const char *when, unsigned n, int result)
{
    tap_fail(__FILE__, __LINE__, "%s %ld, %s: chunk %u is %s", what, number, when, n,
             result < 0 ? weir_error_name(result)
             : result   ? "wrong"
                        : "there");
}

static bool is_hidden(const struct weir__store_report *report)
{
    return report->gaps.missing_segments + report->gaps.hidden_bytes > 0;
}

/* What was acknowledged is there, or cannot be told; but a deletion that cannot be read does not
 * count. */
static void look(struct weir__store *store, const struct weir__store_report *report,
                 const char *when)
{
    bool may_fail = is_hidden(report) || report->gaps.unreadable_bytes > 0 || has_bad_sector;
    for (unsigned n = 0; n < CHUNKS; n++) {
        int result = help_look(store, n);
        bool is_fine = wanted[n] == IN
                           ? result == 0 || (result == -WEIR_E_IO && may_fail)
                           : result == -WEIR_E_NOT_FOUND ||
                                 (is_hidden(report) && (result == -WEIR_E_IO || result == 0));
        if (!is_fine)
            fail(when, n, result);
    }
}

/* As an upload does: what cannot be read is put in place of what is there. */
static void upload(struct weir__store *store, unsigned n)
{
    struct weir_deadline deadline = help_soon();
    struct help_chunk chunk;
    help_chunk(&chunk, n);
    CHECK((help_look(store, n) == 0 ? help_put(store, n)
                                    : weir__store_replace(store, &chunk.address, chunk.bytes,
                                                          chunk.length, &deadline)) >= 0);
}

/* What people do meanwhile. */
static void live(struct weir__store *store, const struct weir__store_report *report, int now[])
{
    struct weir__store_stats stats;
    memcpy(now, wanted, sizeof(wanted));
    weir__store_read(store, &stats);
    CHECK_EQ(stats.is_whole, !is_hidden(report));
    /* Of the last record that there was, before anything else. */
    CHECK_EQ(help_delete(store, 19), 0);
    now[19] = OUT;
    CHECK_EQ(help_put(store, FRESH), 0);
    /* One that is there, one that was deleted, and deletions of both kinds. */
    upload(store, 0);
    upload(store, 16);
    upload(store, 9);
    now[9] = IN;
    int result = help_delete(store, 4);
    CHECK(result == 0 || (result == -WEIR_E_NOT_FOUND && !is_hidden(report)));
    result = help_delete(store, 17);
    CHECK_EQ(result, 0);
    result = help_delete(store, 1);
    CHECK(result == 0 || (result == -WEIR_E_NOT_FOUND && !is_hidden(report)));
    now[4] = now[17] = OUT;
    help_seal(store);
    /* Deletions of what cannot be read must not go. */
    (void)help_compact(store);
    CHECK_EQ(help_look(store, 0), 0);
    CHECK_EQ(help_look(store, 9), 0);
    CHECK_EQ(help_look(store, 4), -WEIR_E_NOT_FOUND);
    CHECK_EQ(help_look(store, 17), -WEIR_E_NOT_FOUND);
    CHECK_EQ(help_put(store, 20), 0);
    now[20] = IN;
}

/* All can be read again. */
static void look_at_last(const int now[])
{
    struct weir__store_report report;
    for (int round = 0; round < 2; round++) {
        struct weir__store *store = help_open(folder, &report);
        CHECK(!is_hidden(&report) && report.gaps.unreadable_bytes == 0);
        CHECK_EQ(report.gaps.lost_segments + report.gaps.lost_bytes, 0);
        for (unsigned n = 0; n < CHUNKS; n++) {
            int result = help_look(store, n);
            if (result != (now[n] == IN ? 0 : -WEIR_E_NOT_FOUND))
                fail(round ? "at last, again" : "at last", n, result);
        }
        CHECK_EQ(help_look(store, FRESH), 0);
        weir__store_close(store);
    }
}

/* --- a call fails --- */

static unsigned refused, partly;

static void scenario(void)
{
    struct weir__store_report report;
    struct weir__store *store = NULL;
    int now[CHUNKS];
    /* What the test itself calls does not count. */
    restore();
    int error = help_try_open(&store, folder, &report);
    bool was_hit = weir_fault_was_hit(kind);
    weir_fault_arm(kind, 0);
    number++;
    CHECK(!error || was_hit);
    refused += error != 0;
    if (error) {
        store = help_open(folder, &report);
        CHECK(!is_hidden(&report));
    }
    partly += is_hidden(&report);
    look(store, &report, "opened");
    live(store, &report, now);
    weir__store_close(store);
    look_at_last(now);
    help_remove(folder);
    if (was_hit) {
        weir_fault_arm(kind, 1);
        CHECK(weir_fault_hit(kind));
    }
}

static void check(enum weir_fault which, int errno_value, long least)
{
    make();
    kind = which;
    weir__sys_fault_errno(errno_value);
    what = "fault";
    for (int i = 0; i < 2; i++) {
        with_mark = i == 0;
        number = refused = partly = 0;
        sweep_cleanly(which, scenario, least);
        printf("# %s mark: %ld faults, %u refused, %u opened in part\n",
               with_mark ? "with" : "without", number - 1, refused, partly);
    }
    weir__sys_fault_errno(EIO);
}

TEST(system_calls_fail)
{
    check(WEIR_FAULT_IO, EIO, 20);
    CHECK(partly > 3);
}

TEST(the_disk_is_full)
{
    check(WEIR_FAULT_IO, ENOSPC, 20);
    CHECK_EQ(partly, 0);
}

TEST(memory_is_short)
{
    check(WEIR_FAULT_ALLOC, EIO, 20);
    CHECK_EQ(partly, 0);
}

/* With an index that is spooled, and with one that is not made at once since it cannot be. */
TEST(with_little_memory_for_the_index)
{
    static const size_t sizes[] = {2000, 200};
    for (size_t i = 0; i < 2; i++) {
        weir__store_bulk_memory(sizes[i]);
        check(WEIR_FAULT_IO, EIO, 20);
        check(WEIR_FAULT_IO, ENOSPC, 20);
        check(WEIR_FAULT_ALLOC, EIO, 20);
    }
    weir__store_bulk_memory((size_t)64 << 20);
}

/* --- a bad sector --- */

static void compare_file(const struct file *file)
{
    char path[HELP_PATH + 80];
    size_t length;
    snprintf(path, sizeof(path), "%s/%.63s", folder, file->name);
    unsigned char *bytes = help_read(path, &length);
    CHECK(bytes && length == file->length && memcmp(bytes, file->bytes, length) == 0);
    free(bytes);
}

static void try_stretch(const struct file *file, off_t from, off_t to)
{
    struct weir__store_report report;
    char path[HELP_PATH + 80];
    int now[CHUNKS];
    restore();
    snprintf(path, sizeof(path), "%s/%.63s", folder, file->name);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    CHECK(fd >= 0);
    number = from;
    has_bad_sector = true;
    weir__sys_fault_stretch(fd, from, to);
    struct weir__store *store = help_open(folder, &report);
    bool was_met = weir__sys_fault_stretch_hits() > 0;
    CHECK_EQ(was_met, report.gaps.missing_segments + report.gaps.unreadable_bytes > 0);
    CHECK(!was_met || report.missing_first > 0);
    partly += is_hidden(&report);
    look(store, &report, "opened");
    live(store, &report, now);
    weir__store_close(store);
    /* It is not cut, and not written to. */
    if (was_met && is_hidden(&report))
        compare_file(file);
    /* The sector stays as it is for a while. */
    store = help_open(folder, &report);
    weir__store_close(store);
    weir__sys_fault_stretch(-1, 0, 0);
    has_bad_sector = false;
    close(fd);
    look_at_last(now);
    help_remove(folder);
}

TEST(any_sector_of_a_segment)
{
    unsigned tried = 0;
    make();
    partly = 0;
    for (size_t i = 3; i < 7; i++)
        for (int marked = 0; marked < 2; marked++) {
            with_mark = marked;
            what = files[i].name;
            for (size_t from = 0; from < files[i].length; from += 4096, tried++) {
                size_t to = from + 4096 < files[i].length ? from + 4096 : files[i].length;
                try_stretch(&files[i], (off_t)from, (off_t)to);
            }
            try_stretch(&files[i], 0, (off_t)files[i].length);
        }
    printf("# %u sectors, %u opened in part\n", tried, partly);
    CHECK(partly > 8 && partly < tried + 8);
}

static unsigned told_by_address, told_as_stretch;

static void note_damage(void *arg, const struct weir__check_damage *damage)
{
    const struct file *file = arg;
    CHECK(damage->is_unreadable);
    CHECK(damage->offset < file->length && damage->size <= file->length);
    told_by_address += damage->address != NULL;
    told_as_stretch += damage->address == NULL;
}

/* A check says what cannot be read, and calls nothing damaged that only cannot be. */
TEST(a_check_tells)
{
    make();
    for (size_t i = 3; i < 7; i++)
        for (size_t from = 0; from < files[i].length; from += 4096) {
            struct weir__store_options options = {.folder = folder,
                                                  .segment_bytes = 4u << 20,
                                                  .is_read_only = true,
                                                  .is_offline = true};
            struct weir__check_hooks hooks = {.damage = note_damage, .arg = &files[i]};
            struct weir__store_report opened;
            struct weir__check_report report;
            struct weir__store *store;
            char path[HELP_PATH + 80];
            with_mark = from % 8192 == 0;
            restore();
            snprintf(path, sizeof(path), "%s/%.63s", folder, files[i].name);
            int fd = open(path, O_RDONLY | O_CLOEXEC);
            CHECK(fd >= 0);
            weir__sys_fault_stretch(fd, (off_t)from, (off_t)from + 4096);
            CHECK_EQ(weir__store_open(&store, &options, &opened), 0);
            CHECK_EQ(weir__store_check(store, opened.was_clean, &hooks, &report), 0);
            CHECK(report.unreadable > 0);
            CHECK_EQ(report.damaged + report.damaged_dead + report.index_wrong, 0);
            weir__store_close(store);
            weir__sys_fault_stretch(-1, 0, 0);
            close(fd);
            compare_file(&files[i]);
            help_remove(folder);
        }
    printf("# %u stretches, %u records\n", told_as_stretch, told_by_address);
    CHECK(told_as_stretch > 10 && told_by_address > 10);
}

/* Its identity is in the segments, too. */
TEST(the_file_of_the_identity)
{
    make();
    with_mark = true;
    what = "store";
    restore();
    char path[HELP_PATH + 80];
    struct weir__store_report report;
    snprintf(path, sizeof(path), "%s/store", folder);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    CHECK(fd >= 0);
    weir__sys_fault_stretch(fd, 0, 64);
    struct weir__store *store = help_open(folder, &report);
    CHECK(report.identity_was_repaired && !is_hidden(&report));
    look(store, &report, "opened");
    weir__store_close(store);
    weir__sys_fault_stretch(-1, 0, 0);
    close(fd);
    help_remove(folder);
}

TAP_MAIN()
