/* test_spill.c - what was put is found, through growth, churn, full disks and damaged files. */
#include "spill.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <weir/cancel.h>
#include <weir/clock.h>

#include "tap.h"

#define BUFFER_BYTES (16u << 10)

static struct weir__link_place found;

static struct weir__spill *begin(const char *dir)
{
    struct weir__spill *spill = NULL;
    CHECK_EQ(weir__spill_new(&spill, dir, BUFFER_BYTES), 0);
    weir__buffer_fini(&found.path);
    weir__buffer_init(&found.path, WEIR__LINK_PATH_MAX);
    return spill;
}

static void end(struct weir__spill *spill)
{
    weir__spill_free(spill);
    weir__buffer_fini(&found.path);
}

static struct weir__link_key key_of(uint64_t number)
{
    return (struct weir__link_key){number % 3, number * 7};
}

static int put(struct weir__spill *spill, uint64_t number, uint64_t left)
{
    char path[64];
    int length = snprintf(path, sizeof(path), "some/path/of/%llu", (unsigned long long)number);
    struct weir__spill_item item = {key_of(number), left, number + 1,    number + 2,
                                    number + 3,     path, (size_t)length};
    size_t count;
    int error = weir__spill_put(spill, &item, 1, &count, NULL);
    CHECK_EQ(count, error ? 0 : 1);
    return error;
}

static bool is_place_of(uint64_t number)
{
    char path[64];
    snprintf(path, sizeof(path), "some/path/of/%llu", (unsigned long long)number);
    return found.device == number + 1 && found.inode == number + 2 && found.root == number + 3 &&
           strcmp(weir__buffer_text(&found.path), path) == 0;
}

TEST(nothing_is_opened_before_the_first)
{
    struct weir__spill *spill = begin("/nowhere/at/all");
    CHECK_EQ(weir__spill_take(spill, key_of(1), &found), 0);
    CHECK_EQ(weir__spill_set_left(spill, key_of(1), 1), -WEIR_E_NOT_FOUND);
    CHECK_EQ(weir__spill_bytes(spill), 0);
    CHECK(weir__spill_memory(spill) >= BUFFER_BYTES && weir__spill_memory(spill) < 32768);
    end(spill);
    weir__spill_free(NULL);
}

TEST(counts_names_down_and_forgets)
{
    struct weir__spill *spill = begin(NULL);
    CHECK_EQ(put(spill, 1, 2), 0);
    CHECK_EQ(put(spill, 2, 5), 0);
    CHECK_EQ(weir__spill_take(spill, key_of(1), &found), 1);
    CHECK(is_place_of(1));
    CHECK_EQ(weir__spill_take(spill, key_of(3), &found), 0);
    CHECK_EQ(weir__spill_take(spill, key_of(1), &found), 1);
    CHECK(is_place_of(1));
    CHECK_EQ(weir__spill_take(spill, key_of(1), &found), 0);
    CHECK_EQ(weir__spill_count(spill), 1);
    CHECK(weir__spill_bytes(spill) > 0);
    CHECK_EQ(weir__spill_set_left(spill, key_of(2), 1), 0);
    CHECK_EQ(weir__spill_take(spill, key_of(2), &found), 1);
    CHECK(is_place_of(2));
    CHECK_EQ(weir__spill_count(spill), 0);
    CHECK_EQ(weir__spill_bytes(spill), 0);
    CHECK_EQ(put(spill, 1, 1), 0);
    CHECK_EQ(weir__spill_set_left(spill, key_of(1), 0), 0);
    CHECK_EQ(weir__spill_take(spill, key_of(1), &found), 0);
    end(spill);
}

TEST(keys_of_nothing_but_zeros)
{
    struct weir__spill *spill = begin(NULL);
    struct weir__spill_item item = {{0, 0}, 1, 0, 0, 0, "", 0};
    size_t count;
    CHECK_EQ(weir__spill_take(spill, item.key, &found), 0);
    CHECK_EQ(put(spill, 1, 1), 0);
    CHECK_EQ(weir__spill_take(spill, item.key, &found), 0);
    CHECK_EQ(weir__spill_put(spill, &item, 1, &count, NULL), 0);
    CHECK_EQ(weir__spill_take(spill, item.key, &found), 1);
    CHECK_EQ(weir__buffer_length(&found.path), 0);
    CHECK_EQ(weir__spill_take(spill, item.key, &found), 0);
    end(spill);
}

TEST(grows_and_keeps_everything)
{
    struct weir__spill *spill = begin(NULL);
    uint64_t bytes = 0;
    int growths = 0;
    for (uint64_t i = 0; i < 50000; i++) {
        CHECK_EQ(put(spill, i, 1 + i % 2), 0);
        growths += bytes > 0 && weir__spill_bytes(spill) > bytes + 100000;
        bytes = weir__spill_bytes(spill);
    }
    CHECK_EQ(growths, 5); /* from 4096 slots, three quarters of which are used, to 131072 */
    CHECK_EQ(weir__spill_count(spill), 50000);
    for (uint64_t i = 0; i < 50000; i++) {
        CHECK_EQ(weir__spill_take(spill, key_of(i), &found), 1);
        CHECK(is_place_of(i));
    }
    CHECK_EQ(weir__spill_count(spill), 25000);
    for (uint64_t i = 0; i < 50000; i++)
        CHECK_EQ(weir__spill_take(spill, key_of(i), &found), i % 2);
    CHECK_EQ(weir__spill_bytes(spill), 0);
    end(spill);
}

TEST(batches_of_paths_of_any_length)
{
    static const size_t lengths[] = {0,     1,     503,   504,   505,    1000,
                                     16383, 16384, 16385, 16376, 100000, WEIR__LINK_PATH_MAX};
    enum { COUNT = sizeof(lengths) / sizeof(lengths[0]) };
    struct weir__spill *spill = begin(NULL);
    struct weir__spill_item items[COUNT];
    char *text = malloc(WEIR__LINK_PATH_MAX + COUNT);
    CHECK(text);
    for (size_t i = 0; i < WEIR__LINK_PATH_MAX + COUNT; i++)
        text[i] = (char)('a' + i * i % 23);
    for (size_t i = 0; i < COUNT; i++)
        items[i] = (struct weir__spill_item){key_of(i), 1, i, i, i, text + i, lengths[i]};
    size_t count;
    CHECK_EQ(weir__spill_put(spill, items, COUNT, &count, NULL), 0);
    CHECK_EQ(count, COUNT);
    for (size_t i = COUNT; i-- > 0;) {
        CHECK_EQ(weir__spill_take(spill, key_of(i), &found), 1);
        CHECK_EQ(weir__buffer_length(&found.path), lengths[i]);
        CHECK(memcmp(weir__buffer_text(&found.path), text + i, lengths[i]) == 0);
    }
    free(text);
    end(spill);
}

/* Against a plain array: random puts, takes and changes, with few keys, so that pages fill, get
 * tombstones and are rewritten. */
TEST(agrees_with_an_array_under_churn)
{
    enum { KEYS = 6000, STEPS = 150000 };
    static uint64_t left[KEYS];
    memset(left, 0, sizeof(left));
    const char *given = getenv("WEIR_SEED");
    uint64_t seed = given ? strtoull(given, NULL, 0) : weir_now_ns();
    printf("# WEIR_SEED=%llu\n", (unsigned long long)seed);
    uint64_t random = seed | 1, count = 0;
    struct weir__spill *spill = begin(NULL);
    for (int i = 0; i < STEPS; i++) {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        uint64_t number = random % KEYS, dice = random >> 40;
        uint64_t before = left[number];
        /* In turns it grows and shrinks. */
        bool grows = i / 10000 % 2 == 0;
        if (before == 0 && (grows || dice % 8 == 0)) {
            left[number] = 1 + dice % 3;
            CHECK_EQ(put(spill, number, left[number]), 0);
        } else if (before > 0 && dice % 5 == 0) {
            left[number] = dice / 5 % 3;
            CHECK_EQ(weir__spill_set_left(spill, key_of(number), left[number]), 0);
        } else if (before == 0 || !grows || dice % 7 == 0) {
            CHECK_EQ(weir__spill_take(spill, key_of(number), &found), before > 0);
            CHECK(before == 0 || is_place_of(number));
            left[number] = before > 0 ? before - 1 : 0;
        }
        count += (left[number] > 0) - (uint64_t)(before > 0);
        CHECK_EQ(weir__spill_count(spill), count);
    }
    for (uint64_t i = 0; i < KEYS; i++)
        while (left[i]-- > 0) {
            CHECK_EQ(weir__spill_take(spill, key_of(i), &found), 1);
            CHECK(is_place_of(i));
        }
    CHECK_EQ(weir__spill_count(spill), 0);
    end(spill);
}

TEST(a_fired_token_ends_growing_and_nothing_else)
{
    struct weir_cancel cancel;
    weir_cancel_init(&cancel, NULL);
    weir_cancel_fire(&cancel);
    struct weir__spill *spill = begin(NULL);
    struct weir__spill_item item = {{0, 0}, 1, 1, 1, 1, "x", 1};
    size_t count;
    int error = 0;
    while (!error && item.key.inode < 5000) {
        error = weir__spill_put(spill, &item, 1, &count, &cancel);
        item.key.inode += !error;
    }
    CHECK_EQ(error, -WEIR_E_CANCELED);
    CHECK(item.key.inode > 3072 && item.key.inode < 4096);
    CHECK_EQ(weir__spill_count(spill), item.key.inode);
    CHECK_EQ(weir__spill_put(spill, &item, 1, &count, NULL), 0);
    for (uint64_t i = 0; i <= item.key.inode; i++)
        CHECK_EQ(weir__spill_take(spill, (struct weir__link_key){0, i}, &found), 1);
    CHECK_EQ(weir__spill_count(spill), 0);
    end(spill);
    weir_cancel_fini(&cancel);
}

/* --- folders --- */

static char folder[256];

static const char *make_folder(void)
{
    const char *parent = getenv("TMPDIR");
    snprintf(folder, sizeof(folder), "%s/weir-spill-XXXXXX", parent && *parent ? parent : "/tmp");
    CHECK(mkdtemp(folder));
    return folder;
}

TEST(no_name_is_left_and_no_descriptor)
{
    int before = open("/dev/null", O_RDONLY);
    struct weir__spill *spill = begin(make_folder());
    CHECK_EQ(put(spill, 1, 1), 0);
    CHECK_EQ(rmdir(folder), 0); /* it is empty */
    CHECK_EQ(weir__spill_take(spill, key_of(1), &found), 1);
    CHECK(is_place_of(1));
    /* The folder is gone, so there is nowhere to begin anew; that is told and harms nothing. */
    CHECK_EQ(put(spill, 1, 1), -WEIR_E_NOT_FOUND);
    CHECK_EQ(errno, ENOENT);
    CHECK_EQ(weir__spill_count(spill), 0);
    end(spill);
    int after = open("/dev/null", O_RDONLY);
    CHECK_EQ(after, before + 1);
    close(after);
    close(before);
}

TEST(the_environment_names_a_folder_and_others_stand_in)
{
    char *old = getenv("TMPDIR") ? strdup(getenv("TMPDIR")) : NULL;
    setenv("TMPDIR", "/nowhere/at/all", 1);
    struct weir__spill *spill = begin(NULL);
    CHECK_EQ(put(spill, 1, 1), 0);
    end(spill);
    setenv("TMPDIR", "", 1);
    spill = begin(NULL);
    CHECK_EQ(put(spill, 1, 1), 0);
    end(spill);
    if (old)
        setenv("TMPDIR", old, 1);
    else
        unsetenv("TMPDIR");
    free(old);
}

/* Puts until it fails, in a child process; then all that was put must be there. */
static int fill_until(int wanted, int wanted_errno)
{
    uint64_t count = 0;
    struct weir__spill *spill = begin(NULL);
    int error;
    while ((error = put(spill, count, 1)) == 0 && count < 200000)
        count++;
    if (error != wanted || errno != wanted_errno) {
        printf("# %s, errno %d, after %llu\n", weir_error_name(error), errno,
               (unsigned long long)count);
        return 1;
    }
    /* It fails again and again, until something is given back. */
    uint64_t bytes = weir__spill_bytes(spill);
    for (uint64_t i = 0; i < 3; i++)
        if (put(spill, count, 1) != wanted || weir__spill_bytes(spill) != bytes)
            return 2;
    for (uint64_t i = 0; i < count; i++) {
        if (weir__spill_take(spill, key_of(i), &found) != 1 || !is_place_of(i))
            return 3;
    }
    if (weir__spill_count(spill) != 0 || count < 1000)
        return 4;
    /* With everything given back there is room again. */
    if (put(spill, 1, 1) != 0)
        return 5;
    end(spill);
    return 0;
}

static int in_child(int (*fn)(void))
{
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        int result = fn();
        fflush(stdout);
        _exit(result);
    }
    int status = 0;
    CHECK(child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status));
    return WEXITSTATUS(status);
}

static int fill_to_file_limit(void)
{
    struct rlimit limit = {700000, 700000};
    signal(SIGXFSZ, SIG_IGN);
    return setrlimit(RLIMIT_FSIZE, &limit) == 0 ? fill_until(-WEIR_E_IO, EFBIG) : 9;
}

TEST(files_that_may_not_grow_are_told_and_stay_whole)
{
    CHECK_EQ(in_child(fill_to_file_limit), 0);
}

static int fill_small_disk(void)
{
    if (unshare(CLONE_NEWNS) != 0 || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
        mount("none", folder, "tmpfs", 0, "size=1m") != 0)
        return 77;
    setenv("TMPDIR", folder, 1);
    /* All of them are that small disk. */
    if (mount(folder, "/var/tmp", NULL, MS_BIND, NULL) != 0 ||
        mount(folder, "/tmp", NULL, MS_BIND, NULL) != 0)
        return 77;
    return fill_until(-WEIR_E_NO_SPACE, ENOSPC);
}

TEST(a_full_disk_is_told_and_everything_stays_whole)
{
    make_folder();
    int result = in_child(fill_small_disk);
    rmdir(folder);
    if (result == 77)
        printf("# skipped: only root can mount a small disk\n");
    else
        CHECK_EQ(result, 0);
}

/* --- damage --- */

/* Opens the spill's own files by the back door: those without a name below the folder. */
static size_t open_own_files(int *fds, size_t room)
{
    size_t count = 0;
    DIR *dir = opendir("/proc/self/fd");
    CHECK(dir);
    const struct dirent *entry;
    while ((entry = readdir(dir))) {
        char path[300], target[400] = "";
        snprintf(path, sizeof(path), "/proc/self/fd/%s", entry->d_name);
        if (readlink(path, target, sizeof(target) - 1) > 0 &&
            strncmp(target, folder, strlen(folder)) == 0 && count < room)
            fds[count++] = open(path, O_RDWR);
    }
    closedir(dir);
    return count;
}

/* Every byte of the log, and of the slot, is changed in turn: a wrong place is never told. */
TEST(a_damaged_file_never_gives_a_wrong_place)
{
    struct weir__spill *spill = begin(make_folder());
    int fds[4], errors = 0;
    CHECK_EQ(put(spill, 5, 1000000), 0);
    size_t count = open_own_files(fds, 4);
    CHECK_EQ(count, 2);
    for (size_t f = 0; f < count; f++) {
        struct stat st;
        CHECK_EQ(fstat(fds[f], &st), 0);
        for (off_t at = 0; at < st.st_size; at++) {
            unsigned char byte, wrong;
            CHECK_EQ(pread(fds[f], &byte, 1, at), 1);
            if (byte == 0 && st.st_size > 1000) /* the empty rest of the table */
                continue;
            wrong = byte ^ 0x10;
            CHECK_EQ(pwrite(fds[f], &wrong, 1, at), 1);
            int result = weir__spill_take(spill, key_of(5), &found);
            CHECK(result == 0 || result == -WEIR_E_IO || (result == 1 && is_place_of(5)));
            errors += result == -WEIR_E_IO;
            CHECK_EQ(pwrite(fds[f], &byte, 1, at), 1);
            /* Changes of the count overwrote what was damaged, or not; begin anew. */
            CHECK_EQ(weir__spill_set_left(spill, key_of(5), 1000000), 0);
        }
        close(fds[f]);
    }
    CHECK(errors > 30);
    CHECK_EQ(weir__spill_take(spill, key_of(5), &found), 1);
    CHECK(is_place_of(5));
    end(spill);
    CHECK_EQ(rmdir(folder), 0);
}

TEST(a_file_that_was_cut_off_is_an_error)
{
    struct weir__spill *spill = begin(make_folder());
    int fds[4];
    CHECK_EQ(put(spill, 5, 2), 0);
    CHECK_EQ(open_own_files(fds, 4), 2);
    for (int f = 0; f < 2; f++) {
        CHECK_EQ(ftruncate(fds[f], 0), 0);
        close(fds[f]);
    }
    CHECK_EQ(weir__spill_take(spill, key_of(5), &found), -WEIR_E_IO);
    CHECK_EQ(errno, EIO);
    end(spill);
    CHECK_EQ(rmdir(folder), 0);
}

TAP_MAIN()
