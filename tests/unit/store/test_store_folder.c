/* test_store_folder.c - folders that cannot be written, that somebody else has, that are something
 * else, or that are full.
 */
#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "store_help.h"

#define CHUNKS 12
#define NOBODY 65534

static char folder[HELP_PATH];

static void make(void)
{
    help_make_folder(folder);
    CHECK_EQ(chmod(folder, 0755), 0);
    struct weir__store *store = help_open(folder, NULL);
    for (unsigned n = 0; n < CHUNKS; n++) {
        CHECK_EQ(help_put(store, n), 0);
        if (n == CHUNKS / 2)
            help_seal(store);
    }
    CHECK_EQ(help_delete(store, 1), 0);
    CHECK_EQ(help_delete(store, CHUNKS - 1), 0);
    weir__store_close(store);
}

static void look_at_all(struct weir__store *store)
{
    for (unsigned n = 0; n < CHUNKS; n++)
        CHECK_EQ(help_look(store, n), n == 1 || n == CHUNKS - 1 ? -WEIR_E_NOT_FOUND : 0);
}

static int change_mode(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)ftw, (void)type;
    return chmod(path, S_ISDIR(st->st_mode) ? 0555 : 0444);
}

static int change_back(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)ftw, (void)type;
    return chmod(path, S_ISDIR(st->st_mode) ? 0755 : 0644);
}

/* fn() in a process of its own, whose rights are those of nobody in particular. */
static void as_other(void (*fn)(void), bool as_nobody)
{
    int status;
    fflush(stdout);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        if (as_nobody && geteuid() == 0 &&
            (setresgid(NOBODY, NOBODY, NOBODY) || setresuid(NOBODY, NOBODY, NOBODY)))
            _exit(3);
        fn();
        fflush(stdout);
        _exit(0);
    }
    CHECK_EQ(waitpid(child, &status, 0), child);
    CHECK_EQ(status, 0);
}

#define MUST(condition)                                                                            \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            printf("# line %d: %s (%s)\n", __LINE__, #condition, weir__store_why());               \
            fflush(stdout);                                                                        \
            _exit(1);                                                                              \
        }                                                                                          \
    } while (0)

static void read_only(void)
{
    struct weir__store_report report;
    struct weir__store *store;
    struct weir_deadline deadline = help_soon();
    MUST(help_try_open(&store, folder, &report) == 0);
    MUST(report.is_read_only);
    for (unsigned n = 0; n < CHUNKS; n++)
        MUST(help_look(store, n) == (n == 1 || n == CHUNKS - 1 ? -WEIR_E_NOT_FOUND : 0));
    MUST(help_put(store, 100) == -WEIR_E_READ_ONLY);
    MUST(help_delete(store, 0) == -WEIR_E_READ_ONLY);
    MUST(weir__store_compact(store, 0, &deadline) == -WEIR_E_READ_ONLY);
    weir__store_close(store);
}

TEST(a_folder_that_cannot_be_written_is_read)
{
    char path[HELP_PATH + 16];
    make();
    nftw(folder, change_mode, 16, FTW_PHYS);
    as_other(read_only, true);
    nftw(folder, change_back, 16, FTW_PHYS);
    /* And after a sudden end. */
    snprintf(path, sizeof(path), "%s/mark", folder);
    CHECK_EQ(unlink(path), 0);
    nftw(folder, change_mode, 16, FTW_PHYS);
    as_other(read_only, true);
    nftw(folder, change_back, 16, FTW_PHYS);
    struct weir__store *store = help_open(folder, NULL);
    look_at_all(store);
    weir__store_close(store);
    help_remove(folder);
}

TEST(it_is_read_only_when_that_is_asked_for)
{
    struct weir__store_options options = {
        .folder = folder, .segment_bytes = 4u << 20, .is_read_only = true, .is_offline = true};
    struct weir__store *store, *other;
    struct weir__store_report report;
    make();
    CHECK_EQ(weir__store_open(&store, &options, &report), 0);
    CHECK(report.is_read_only && report.was_clean);
    look_at_all(store);
    CHECK_EQ(help_put(store, 100), -WEIR_E_READ_ONLY);
    /* Any number of them, but nobody who writes. */
    CHECK_EQ(weir__store_open(&other, &options, NULL), 0);
    look_at_all(other);
    struct weir__store *writer;
    CHECK_EQ(help_try_open(&writer, folder, NULL), -WEIR_E_BUSY);
    weir__store_close(other);
    weir__store_close(store);
    /* Nothing was changed by that. */
    store = help_open(folder, &report);
    CHECK(report.was_clean && !report.index_was_rebuilt);
    look_at_all(store);
    weir__store_close(store);
    help_remove(folder);
}

static void find_busy(void)
{
    struct weir__store *store;
    MUST(help_try_open(&store, folder, NULL) == -WEIR_E_BUSY);
}

TEST(a_second_process_is_refused)
{
    make();
    struct weir__store *store = help_open(folder, NULL);
    as_other(find_busy, false);
    /* Nor when somebody has removed its lock. */
    char path[HELP_PATH + 8];
    snprintf(path, sizeof(path), "%s/lock", folder);
    CHECK_EQ(unlink(path), 0);
    as_other(find_busy, false);
    look_at_all(store);
    CHECK_EQ(help_put(store, 100), 0);
    weir__store_close(store);
    help_remove(folder);
}

TEST(a_folder_with_something_else_is_refused)
{
    char path[HELP_PATH + 32];
    struct weir__store *store;
    size_t length;
    help_make_folder(folder);
    snprintf(path, sizeof(path), "%s/holiday.jpg", folder);
    help_write(path, "sea", 3);
    CHECK_EQ(help_try_open(&store, folder, NULL), -WEIR_E_INVALID);
    CHECK_HAS(weir__store_why(), "holiday.jpg");
    unsigned char *bytes = help_read(path, &length);
    CHECK(bytes && length == 3 && memcmp(bytes, "sea", 3) == 0);
    free(bytes);
    help_remove(folder);
    /* A file in its place. */
    help_write(folder, "sea", 3);
    CHECK(help_try_open(&store, folder, NULL) < 0);
    help_remove(folder);
}

/* Segments of another store are not taken for its own. */
TEST(segments_of_another_store_are_put_aside)
{
    char mine[HELP_PATH], from[HELP_PATH + 40], to[HELP_PATH + 40];
    struct weir__store_report report;
    size_t length;
    make();
    memcpy(mine, folder, sizeof(mine));
    make();
    snprintf(from, sizeof(from), "%s/segments/00000001.seg", mine);
    snprintf(to, sizeof(to), "%s/segments/00000009.seg", folder);
    unsigned char *bytes = help_read(from, &length);
    CHECK(bytes);
    help_write(to, bytes, length);
    free(bytes);
    struct weir__store *store = help_open(folder, &report);
    CHECK_EQ(report.bad_segments, 1);
    look_at_all(store);
    CHECK_EQ(help_put(store, 100), 0);
    weir__store_close(store);
    help_remove(folder);
    help_remove(mine);
}

static void fill_foreign(unsigned char bytes[5000], unsigned n)
{
    memset(bytes, 1 + (int)n, 5000);
}

static bool has_foreign(const char *name, unsigned n)
{
    char path[HELP_PATH + 40];
    unsigned char wanted[5000];
    size_t length;
    snprintf(path, sizeof(path), "%s/segments/%s", folder, name);
    unsigned char *bytes = help_read(path, &length);
    fill_foreign(wanted, n);
    bool has = bytes && length == sizeof(wanted) && memcmp(bytes, wanted, length) == 0;
    free(bytes);
    return has;
}

/* What was put aside before stays as it is; when there are many of them, so does the file. */
TEST(what_lies_aside_stays)
{
    char path[HELP_PATH + 40], name[40];
    unsigned char bytes[5000];
    struct weir__store_report report;
    struct weir__store *store;
    make();
    for (unsigned i = 0; i < 102; i++) {
        fill_foreign(bytes, i);
        snprintf(path, sizeof(path), "%s/segments/00000009.seg", folder);
        help_write(path, bytes, sizeof(bytes));
        store = help_open(folder, &report);
        CHECK_EQ(report.bad_segments, 1);
        look_at_all(store);
        weir__store_close(store);
        CHECK_EQ(access(path, F_OK) == 0, i >= 100);
    }
    CHECK(has_foreign("00000009.seg.bad", 0));
    for (unsigned i = 1; i < 100; i++) {
        snprintf(name, sizeof(name), "00000009.seg.%u.bad", i);
        CHECK(has_foreign(name, i));
    }
    CHECK(has_foreign("00000009.seg", 101));
    store = help_open(folder, &report);
    CHECK_EQ(help_put(store, 100), 0);
    look_at_all(store);
    weir__store_close(store);
    help_remove(folder);
}

/* --- what has the name of the index --- */

static void make_index(const char *kind)
{
    char path[HELP_PATH + 32], aside[HELP_PATH + 32];
    snprintf(path, sizeof(path), "%s/index", folder);
    snprintf(aside, sizeof(aside), "%s/elsewhere", folder);
    CHECK_EQ(rename(path, aside), 0);
    if (strcmp(kind, "file") == 0)
        help_write(path, "mine", 4);
    else
        CHECK_EQ(symlink(strcmp(kind, "link") == 0 ? aside : "/nowhere/at/all", path), 0);
}

TEST(an_index_that_is_no_folder_is_put_aside)
{
    static const char *const kinds[] = {"file", "dangling"};
    for (size_t i = 0; i < 2; i++) {
        struct weir__store_report report;
        char path[HELP_PATH + 32];
        struct stat st;
        make();
        make_index(kinds[i]);
        struct weir__store *store = help_open(folder, &report);
        CHECK(report.index_was_rebuilt && strstr(report.index_why, "index.bad"));
        look_at_all(store);
        weir__store_close(store);
        snprintf(path, sizeof(path), "%s/index.bad", folder);
        CHECK_EQ(lstat(path, &st), 0);
        CHECK(i == 0 ? S_ISREG(st.st_mode) && st.st_size == 4 : S_ISLNK(st.st_mode));
        store = help_open(folder, &report);
        CHECK(report.was_clean && !report.index_was_rebuilt);
        look_at_all(store);
        weir__store_close(store);
        help_remove(folder);
    }
}

/* Somebody may have wanted it there: it is refused before it is used, and not when it is to be made
 * anew. */
TEST(an_index_that_is_a_link_to_a_folder)
{
    char path[HELP_PATH + 32];
    struct weir__store *store;
    make();
    make_index("link");
    CHECK_EQ(help_try_open(&store, folder, NULL), -WEIR_E_INVALID);
    CHECK(strstr(weir__store_why(), "link to a folder"));
    snprintf(path, sizeof(path), "%s/index", folder);
    CHECK_EQ(unlink(path), 0);
    store = help_open(folder, NULL);
    look_at_all(store);
    weir__store_close(store);
    help_remove(folder);
}

/* The file that says whose it is came from elsewhere: nothing is put aside for that. */
TEST(the_identity_is_of_another_store)
{
    char mine[HELP_PATH], from[HELP_PATH + 40], to[HELP_PATH + 40];
    struct weir__store_report report;
    struct weir__store *store;
    size_t length;
    make();
    memcpy(mine, folder, sizeof(mine));
    make();
    snprintf(from, sizeof(from), "%s/store", mine);
    snprintf(to, sizeof(to), "%s/store", folder);
    unsigned char *bytes = help_read(from, &length);
    CHECK(bytes);
    help_write(to, bytes, length);
    free(bytes);
    CHECK_EQ(help_try_open(&store, folder, NULL), -WEIR_E_CORRUPT);
    CHECK(strstr(weir__store_why(), "remove that file"));
    /* As it says. */
    CHECK_EQ(unlink(to), 0);
    store = help_open(folder, &report);
    CHECK(report.identity_was_repaired);
    CHECK_EQ(report.bad_segments, 0);
    look_at_all(store);
    weir__store_close(store);
    help_remove(folder);
    help_remove(mine);
}

/* No descriptor is to be had: what needs one fails, nothing is lost, and it goes on when there are
 * some again. */
TEST(there_are_no_descriptors)
{
    struct weir__store_options options = {.segment_bytes = 4u << 20, .descriptors_max = 1};
    struct rlimit before, none;
    struct weir__store *store;
    struct weir_deadline deadline = help_soon();
    bool was_answered[40];
    int refused = 0;
    make();
    options.folder = folder;
    CHECK_EQ(weir__store_open(&store, &options, NULL), 0);
    CHECK_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
    none = before;
    none.rlim_cur = 3;
    CHECK_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
    for (unsigned n = 20; n < 60; n++) {
        was_answered[n - 20] = help_put(store, n) >= 0;
        refused += !was_answered[n - 20];
        int result = help_look(store, n % CHUNKS);
        CHECK(result == 0 || result == -WEIR_E_NOT_FOUND || result == -WEIR_E_NO_DESCRIPTORS);
        if (n == 40)
            (void)!weir__store_seal(store, &deadline);
    }
    CHECK_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
    CHECK(refused > 10 && refused < 30);
    for (int round = 0; round < 2; round++) {
        CHECK_EQ(help_put(store, 100), round ? WEIR__STORE_PRESENT : 0);
        look_at_all(store);
        for (unsigned n = 20; n < 60; n++)
            CHECK_EQ(help_look(store, n), was_answered[n - 20] ? 0 : -WEIR_E_NOT_FOUND);
        if (round == 0) {
            weir__store_close(store);
            store = help_open(folder, NULL);
        }
    }
    weir__store_close(store);
    help_remove(folder);
}

/* --- a disk that is full --- */

/* LMDB is left in the middle when a page of its files cannot be made, and keeps what it had. */
const char *__lsan_default_suppressions(void);
__attribute__((visibility("default"))) const char *__lsan_default_suppressions(void)
{
    return "leak:mdb_";
}

#define LARGE (256u << 10)

static unsigned char large[LARGE];

static int put_large(struct weir__store *store, uint64_t n, struct weir__address *address)
{
    struct weir_deadline deadline = help_soon();
    help_fill(large, LARGE, n);
    weir__address_of(large, LARGE, address);
    return weir__store_put(store, address, large, LARGE, &deadline);
}

static bool is_there(struct weir__store *store, const struct weir__address *address)
{
    static struct weir__store_reader reader;
    const unsigned char *bytes;
    struct weir__address again;
    uint32_t length;
    if (!reader._bytes)
        CHECK_EQ(weir__store_reader_init(&reader), 0);
    if (weir__store_read_chunk(store, &reader, address, &bytes, &length))
        return false;
    weir__address_of(bytes, length, &again);
    return length == LARGE && weir__address_is_equal(&again, address);
}

static char disk[HELP_PATH];
static struct weir__address addresses[512];
static size_t addresses_count;

static void fill_up(struct weir__store *store)
{
    int error = 0;
    while (!error) {
        CHECK(addresses_count < 512);
        error = put_large(store, addresses_count, &addresses[addresses_count]);
        if (!error)
            addresses_count++;
    }
    CHECK_EQ(error, -WEIR_E_NO_SPACE);
}

static void all_are_there(struct weir__store *store, size_t from)
{
    for (size_t i = from; i < addresses_count; i++)
        CHECK(is_there(store, &addresses[i]));
}

static void remove_in_store(const char *name)
{
    char path[HELP_PATH + 32];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    unlink(path);
}

static bool remount(const char *size)
{
    return mount("none", disk, "tmpfs", MS_REMOUNT, size) == 0;
}

TEST(a_full_disk_refuses_writes_and_nothing_else)
{
    struct weir__store_stats stats;
    struct weir__store_report report;
    struct weir_deadline deadline = help_soon();
    char path[HELP_PATH];
    int in_memory = 0;
    help_make_folder(disk);
    snprintf(folder, sizeof(folder), "%.200s/store", disk);
    /* Seen by this process alone, and gone with it. */
    if (geteuid() != 0 || unshare(CLONE_NEWNS) ||
        mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
        mount("none", disk, "tmpfs", 0, "size=24m")) {
        printf("# SKIP needs to mount\n");
        help_remove(disk);
        return;
    }
    struct weir__store *store = help_open(folder, NULL);
    fill_up(store);
    weir__store_read(store, &stats);
    CHECK(stats.is_full && stats.writes_no_space > 0);
    all_are_there(store, 0);
    size_t before = addresses_count;
    CHECK(remount("size=32m"));
    fill_up(store);
    CHECK(addresses_count > before + 8);
    all_are_there(store, 0);
    weir__store_close(store);
    /* Full to the last byte, and with its index or without, it can be read. */
    for (int round = 0; round < 16; round++) {
        if (round > 0) {
            remove_in_store("mark");
            remove_in_store("index/data.mdb");
            remove_in_store("index/lock.mdb");
        }
        snprintf(path, sizeof(path), "%.200s/rest", disk);
        int rest = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
        for (size_t size = sizeof(large); rest >= 0 && size > 0;)
            if (write(rest, large, size) <= 0)
                size /= 2;
        /* And some pages, in which an index can be begun. */
        if (round > 0)
            CHECK_EQ(ftruncate(rest, lseek(rest, 0, SEEK_END) - 12288 * (round - 1)), 0);
        close(rest);
        store = help_open(folder, &report);
        in_memory += report.index_why && strstr(report.index_why, "in memory");
        all_are_there(store, 0);
        CHECK_EQ(put_large(store, 510, &addresses[510]), -WEIR_E_NO_SPACE);
        all_are_there(store, 0);
        weir__store_close(store);
    }
    CHECK(in_memory > 4 && in_memory < 15);
    CHECK_EQ(unlink(path), 0);
    /* Room is made by deleting: the records of that need some themselves. */
    CHECK(remount("size=36m"));
    store = help_open(folder, NULL);
    for (size_t i = 0; i < before; i++)
        CHECK_EQ(weir__store_delete(store, &addresses[i], &deadline), 0);
    help_seal(store);
    CHECK(help_compact(store) > 3);
    for (size_t i = 0; i < before; i++)
        CHECK(!is_there(store, &addresses[i]));
    all_are_there(store, before);
    CHECK_EQ(put_large(store, 0, &addresses[0]), 0);
    weir__store_close(store);
    store = help_open(folder, NULL);
    all_are_there(store, before);
    CHECK(is_there(store, &addresses[0]));
    weir__store_close(store);
    umount(disk);
    help_remove(disk);
}

TAP_MAIN()
