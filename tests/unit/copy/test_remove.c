/* test_remove.c - deep, wide, locked, odd and hostile trees, and nothing outside of them. */
#include "remove.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <weir/clock.h>

#include "buffer.h"
#include "tap.h"

#define NOBODY ((uid_t)65534)

/* One on the disk, and one in memory for large trees. */
static struct {
    char path[256];
    int fd;
} folders[2] = {{"", -1}, {"", -1}};
static const char *folder;
static int folder_fd = -1;

/* What the calls told, one line each. */
static struct weir__buffer said;
static const char *keep;                /* what may() keeps: a path, or NULL */
static int asked, failed;               /* how often each was called */
static int failed_errno;                /* of the last */
static size_t path_max;                 /* the longest that was told */
static char path_end[8];                /* how it ended */
static struct weir_cancel *fire_at_ask; /* fired when asked for the fire_at-th time */
static int fire_at;

static bool may(void *arg, const char *path, bool is_dir)
{
    (void)arg;
    asked++;
    size_t length = strlen(path);
    if (length > path_max) {
        path_max = length;
        snprintf(path_end, sizeof(path_end), "%s", length > 7 ? path + length - 7 : path);
    }
    if (length < 1000 && asked < 1000)
        CHECK_EQ(weir__buffer_printf(&said, "%s%s\n", path, is_dir ? "/" : ""), 0);
    if (fire_at_ask && asked == fire_at)
        weir_cancel_fire(fire_at_ask);
    return !keep || strcmp(path, keep) != 0;
}

static void note_failed(void *arg, const char *path, const char *what, int errno_value)
{
    (void)arg;
    failed++;
    failed_errno = errno_value;
    if (strlen(path) < 1000 && failed < 1000)
        CHECK_EQ(weir__buffer_printf(&said, "%s '%s': %s\n", what, path, strerror(errno_value)), 0);
}

static void leave_folders(void)
{
    for (int i = 0; i < 2; i++)
        if (folders[i].fd >= 0)
            rmdir(folders[i].path);
}

static void use_folder(int which, const char *parent)
{
    if (folders[which].fd < 0) {
        if (folders[0].fd < 0 && folders[1].fd < 0)
            atexit(leave_folders);
        char *path = folders[which].path;
        snprintf(path, sizeof(folders[which].path), "%s/weir-remove-XXXXXX", parent);
        CHECK(mkdtemp(path));
        CHECK_EQ(chmod(path, 0777), 0);
        folders[which].fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        CHECK(folders[which].fd >= 0);
    }
    folder = folders[which].path;
    folder_fd = folders[which].fd;
}

static struct weir__remove_options begin(void)
{
    const char *parent = getenv("TMPDIR");
    use_folder(0, parent && *parent ? parent : "/tmp");
    weir__buffer_fini(&said);
    weir__buffer_init(&said, 1 << 20);
    keep = NULL;
    asked = failed = failed_errno = 0;
    path_max = 0;
    fire_at_ask = NULL;
    return (struct weir__remove_options){.may = may, .failed = note_failed};
}

/* Making a large tree takes a disk longer than removing it: in memory, where there is such a place.
 */
static struct weir__remove_options begin_large(void)
{
    struct weir__remove_options options = begin();
    if (!getenv("TMPDIR") && access("/dev/shm", W_OK) == 0)
        use_folder(1, "/dev/shm");
    return options;
}

static int count_entries(int dir, const char *name)
{
    int fd = openat(dir, name, O_RDONLY | O_DIRECTORY), count = 0;
    CHECK(fd >= 0);
    DIR *stream = fdopendir(fd);
    const struct dirent *entry;
    while ((entry = readdir(stream)))
        count += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
    closedir(stream);
    return count;
}

static bool exists(const char *path)
{
    struct stat st;
    return fstatat(folder_fd, path, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

static void make_dir(const char *path)
{
    CHECK_EQ(mkdirat(folder_fd, path, 0777), 0);
}

static void make_file(const char *path)
{
    int fd = openat(folder_fd, path, O_CREAT | O_EXCL | O_WRONLY, 0666);
    CHECK(fd >= 0);
    close(fd);
}

static int remove_it(const char *name, const struct weir__remove_options *options,
                     uint64_t *ret_removed)
{
    int before = open("/dev/null", O_RDONLY | O_CLOEXEC);
    int result = weir__remove_tree(folder_fd, name, options, ret_removed);
    int after = open("/dev/null", O_RDONLY | O_CLOEXEC);
    CHECK_EQ(after, before + 1); /* no descriptor was left open */
    close(after);
    close(before);
    return result;
}

static void make_small_tree(void)
{
    make_dir("t");
    make_dir("t/a");
    make_file("t/a/x");
    make_file("t/a/y");
    make_dir("t/a/b");
    make_file("t/a/b/z");
    CHECK_EQ(symlinkat("/", folder_fd, "t/root"), 0);
    CHECK_EQ(mkfifoat(folder_fd, "t/fifo", 0666), 0);
    make_dir("t/empty");
}

TEST(a_small_tree)
{
    struct weir__remove_options options = begin();
    uint64_t removed = 0;
    make_small_tree();
    CHECK_EQ(remove_it("t", &options, &removed), 0);
    CHECK_EQ(removed, 9);
    CHECK_EQ(asked, 9);
    CHECK_EQ(failed, 0);
    CHECK(!exists("t"));
    const char *text = weir__buffer_text(&said);
    static const char *const paths[] = {"\na/\n",   "\na/x\n",  "\na/b/\n",  "\na/b/z\n",
                                        "\nroot\n", "\nfifo\n", "\nempty/\n"};
    for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++)
        CHECK_HAS(text, paths[i]);
    CHECK(text[0] == '/' && text[1] == '\n'); /* the top itself is "" */
    CHECK(strstr(text, "\na/\n") < strstr(text, "\na/b/z\n"));
}

TEST(without_any_callback)
{
    begin();
    make_small_tree();
    CHECK_EQ(remove_it("t", &(struct weir__remove_options){0}, NULL), 0);
    CHECK(!exists("t"));
}

TEST(files_links_and_what_is_not_there)
{
    struct weir__remove_options options = begin();
    uint64_t removed;
    make_file("f");
    make_dir("outside");
    make_file("outside/f");
    CHECK_EQ(symlinkat("outside", folder_fd, "l"), 0);
    CHECK_EQ(remove_it("f", &options, &removed), 0);
    CHECK_EQ(removed, 1);
    CHECK_STR(weir__buffer_text(&said), "\n");
    CHECK_EQ(remove_it("l", &options, &removed), 0);
    CHECK_EQ(removed, 1);
    CHECK(!exists("f") && !exists("l") && exists("outside/f"));
    CHECK_EQ(remove_it("nothing", &options, &removed), 0);
    CHECK_EQ(removed, 0);
    CHECK_EQ(failed, 0);
    CHECK_EQ(remove_it("outside", &options, &removed), 0);
}

TEST(only_a_name_is_taken)
{
    struct weir__remove_options options = begin();
    make_dir("t");
    static const char *const names[] = {"", ".", "..", "t/", "./t", "/"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        CHECK_EQ(remove_it(names[i], &options, NULL), -WEIR_E_INVALID);
    CHECK(exists("t"));
    CHECK_EQ(remove_it("t", &options, NULL), 0);
}

TEST(what_is_kept_keeps_its_directories)
{
    struct weir__remove_options options = begin();
    uint64_t removed;
    make_small_tree();
    keep = "a/b/z";
    CHECK_EQ(remove_it("t", &options, &removed), -WEIR_E_INCOMPLETE);
    CHECK_EQ(failed, 0);
    CHECK_EQ(removed, 5);
    CHECK_EQ(count_entries(folder_fd, "t"), 1);
    CHECK_EQ(count_entries(folder_fd, "t/a"), 1);
    CHECK(exists("t/a/b/z"));
    /* A directory that is kept is not gone into. */
    options = begin();
    keep = "a";
    CHECK_EQ(remove_it("t", &options, &removed), -WEIR_E_INCOMPLETE);
    CHECK_EQ(removed, 0);
    CHECK_EQ(asked, 2);
    options = begin();
    keep = "";
    CHECK_EQ(remove_it("t", &options, &removed), -WEIR_E_INCOMPLETE);
    CHECK_EQ(asked, 1);
    options = begin();
    CHECK_EQ(remove_it("t", &options, &removed), 0);
    CHECK_EQ(removed, 4);
}

TEST(a_dry_run_asks_and_removes_nothing)
{
    struct weir__remove_options options = begin();
    uint64_t removed;
    make_small_tree();
    options.dry_run = true;
    CHECK_EQ(remove_it("t", &options, &removed), 0);
    CHECK_EQ(removed, 9);
    CHECK_EQ(asked, 9);
    keep = "a/b/z";
    CHECK_EQ(remove_it("t", &options, &removed), -WEIR_E_INCOMPLETE);
    CHECK_EQ(removed, 5);
    CHECK_EQ(count_entries(folder_fd, "t"), 4);
    CHECK(exists("t/a/b/z") && exists("t/a/x"));
    options = begin();
    CHECK_EQ(remove_it("t", &options, &removed), 0);
    CHECK_EQ(removed, 9);
}

TEST(odd_names)
{
    struct weir__remove_options options = begin();
    char longest[256];
    memset(longest, 'n', 255);
    longest[255] = '\0';
    const char *const names[] = {"new\nline", "\xff\xfe\x80", " ",  "-rf",   "*",        "\\",
                                 "..a",       "...",          ".a", longest, "\x1b[31m", "a b"};
    char path[1024];
    make_dir("t");
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        snprintf(path, sizeof(path), "t/%s", names[i]);
        make_dir(path);
        snprintf(path, sizeof(path), "t/%s/%s", names[i], names[i]);
        make_file(path);
        snprintf(path, sizeof(path), "t/%s/d", names[i]);
        make_dir(path);
    }
    uint64_t removed;
    CHECK_EQ(remove_it("t", &options, &removed), 0);
    CHECK_EQ(removed, 37);
    CHECK_HAS(weir__buffer_text(&said), "\nnew\nline/new\nline\n");
    CHECK_HAS(weir__buffer_text(&said), "\n\xff\xfe\x80/\xff\xfe\x80\n");
    CHECK(!exists("t"));
}

/* --- deep and wide --- */

/* A chain below t; the names have this length. Returns how deep it became. */
static int make_chain(int depth, size_t length, bool with_files)
{
    char name[256];
    memset(name, 'd', length);
    name[length] = '\0';
    make_dir("t");
    int at = openat(folder_fd, "t", O_RDONLY | O_DIRECTORY), i;
    for (i = 1; i < depth; i++) {
        CHECK_EQ(mkdirat(at, name, 0777), 0);
        if (with_files)
            CHECK_EQ(mknodat(at, "file", S_IFREG | 0666, 0), 0);
        int next = openat(at, name, O_RDONLY | O_DIRECTORY);
        CHECK(next >= 0);
        close(at);
        at = next;
    }
    close(at);
    return i;
}

static struct rlimit descriptors;

static void limit_descriptors(rlim_t count)
{
    CHECK_EQ(getrlimit(RLIMIT_NOFILE, &descriptors), 0);
    struct rlimit limit = {count, descriptors.rlim_max};
    CHECK_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
}

static void unlimit_descriptors(void)
{
    CHECK_EQ(setrlimit(RLIMIT_NOFILE, &descriptors), 0);
}

TEST(fifty_thousand_levels_with_few_descriptors)
{
    struct weir__remove_options options = begin_large();
    uint64_t removed;
    make_chain(50000, 1, true);
    struct rusage before, after;
    getrusage(RUSAGE_SELF, &before);
    uint64_t begin_ns = weir_now_ns();
    limit_descriptors(64);
    int result = weir__remove_tree(folder_fd, "t", &options, &removed);
    unlimit_descriptors();
    getrusage(RUSAGE_SELF, &after);
    printf("# %.2f s, resident at most %+ld KiB\n", (double)(weir_now_ns() - begin_ns) / 1e9,
           after.ru_maxrss - before.ru_maxrss);
    CHECK_EQ(result, 0);
    CHECK_EQ(removed, 99999);
    CHECK_EQ(path_max, 2 * 49998 + 4);
    CHECK(!exists("t"));
}

/* Three is what is left: the folder, and the two that are needed. */
TEST(two_descriptors_are_enough)
{
    struct weir__remove_options options = begin();
    uint64_t removed;
    int limit = dup(folder_fd);
    close(limit);
    for (int more = 1; more <= 12; more++) {
        make_chain(100, 2, true);
        limit_descriptors((rlim_t)(limit + more));
        int result = weir__remove_tree(folder_fd, "t", &options, &removed);
        unlimit_descriptors();
        if (more == 1) {
            /* With one it cannot work, and says so. */
            CHECK_EQ(result, -WEIR_E_INCOMPLETE);
            CHECK_EQ(failed_errno, EMFILE);
            CHECK_EQ(remove_it("t", &options, &removed), 0);
        }
        CHECK(more == 1 || result == 0);
        CHECK(!exists("t"));
    }
}

/* Each of the directories in the middle is left for a chain that is longer than what stays open, so
 * that it must be found again and read on. */
static void make_combs(int width, int depth)
{
    char path[256];
    make_dir("t");
    for (int i = 0; i < width; i++) {
        int length = snprintf(path, sizeof(path), "t/%d", i);
        make_dir(path);
        for (int d = 0; d < depth; d++) {
            length += snprintf(path + length, sizeof(path) - (size_t)length, "/%d", d);
            make_dir(path);
        }
        snprintf(path, sizeof(path), "t/file-%d", i);
        make_file(path);
    }
}

TEST(many_chains_side_by_side)
{
    struct weir__remove_options options = begin_large();
    uint64_t removed;
    for (int depth = 6; depth < 12; depth++) {
        make_combs(300, depth);
        options.dry_run = true;
        CHECK_EQ(remove_it("t", &options, &removed), 0);
        CHECK_EQ(removed, 1 + 300 * (2 + depth));
        options.dry_run = false;
        keep = "7/0/1/2";
        CHECK_EQ(remove_it("t", &options, &removed), -WEIR_E_INCOMPLETE);
        CHECK_EQ(removed, 300 * (2 + depth) - 1 - depth);
        CHECK(exists("t/7/0/1/2"));
        keep = NULL;
        CHECK_EQ(remove_it("t", &options, &removed), 0);
        CHECK(!exists("t"));
    }
    CHECK_EQ(failed, 0);
}

/* Where reading goes on at the old place, what is kept is asked for once. */
TEST(what_is_kept_is_asked_for_once)
{
    struct weir__remove_options options = begin();
    uint64_t removed;
    make_combs(20, 12);
    keep = "file-7";
    CHECK_EQ(remove_it("t", &options, &removed), -WEIR_E_INCOMPLETE);
    CHECK_EQ(removed, 20 * 14 - 1);
    CHECK_EQ(asked, 1 + 20 * 14);
    keep = NULL;
    CHECK_EQ(remove_it("t", &options, &removed), 0);
    CHECK_EQ(removed, 2);
}

TEST(a_hundred_thousand_entries)
{
    struct weir__remove_options options = begin_large();
    uint64_t removed;
    char name[32];
    make_dir("t");
    int dir = openat(folder_fd, "t", O_RDONLY | O_DIRECTORY);
    for (int i = 0; i < 100000; i++) {
        snprintf(name, sizeof(name), "%d", i);
        CHECK_EQ(i % 50 ? mknodat(dir, name, S_IFREG | 0666, 0) : mkdirat(dir, name, 0777), 0);
    }
    close(dir);
    keep = "77777";
    uint64_t begin_ns = weir_now_ns();
    CHECK_EQ(remove_it("t", &options, &removed), -WEIR_E_INCOMPLETE);
    printf("# %.2f s\n", (double)(weir_now_ns() - begin_ns) / 1e9);
    CHECK_EQ(removed, 99999);
    CHECK_EQ(asked, 100001);
    CHECK_EQ(count_entries(folder_fd, "t"), 1);
    keep = NULL;
    CHECK_EQ(remove_it("t", &options, &removed), 0);
    CHECK_EQ(removed, 2);
    CHECK_EQ(failed, 0);
}

/* Looks at one path in a thousand, since looking at each would take longer than all the rest. */
static bool may_measured(void *arg, const char *path, bool is_dir)
{
    return ++*(int *)arg % 1000 != 0 || may(NULL, path, is_dir);
}

/* Names of 255 bytes on 66,000 levels make a path of more than 16 MiB. */
TEST(a_path_beyond_sixteen_mebibytes)
{
    struct weir__remove_options options = begin_large();
    uint64_t removed;
    int depth = make_chain(66000, 255, false), count = 0;
    options.may = may_measured;
    options.arg = &count;
    uint64_t begin_ns = weir_now_ns();
    CHECK_EQ(remove_it("t", &options, &removed), 0);
    printf("# %.2f s\n", (double)(weir_now_ns() - begin_ns) / 1e9);
    CHECK_EQ(removed, depth);
    CHECK_EQ(count, depth);
    CHECK_EQ(path_max, WEIR__REMOVE_PATH_MAX);
    CHECK_STR(path_end, "dddd...");
    CHECK_EQ(failed, 0);
    CHECK(!exists("t"));
}

/* --- permissions --- */

/* In a child a failed check cannot end the test, so what runs there returns the line. */
#define NEED(condition)                                                                            \
    do {                                                                                           \
        if (!(condition))                                                                          \
            return __LINE__;                                                                       \
    } while (0)

static int as_user(int (*fn)(void))
{
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        if (geteuid() == 0 && (setgroups(0, NULL) || setresgid(NOBODY, NOBODY, NOBODY) ||
                               setresuid(NOBODY, NOBODY, NOBODY)))
            _exit(255);
        int line = fn();
        if (line)
            printf("# line %d, errno %d, %s\n", line, errno, weir__buffer_text(&said));
        fflush(stdout);
        _exit(line != 0);
    }
    int status = 0;
    CHECK(child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status));
    return WEXITSTATUS(status);
}

static mode_t mode_of(const char *path)
{
    struct stat st;
    return fstatat(folder_fd, path, &st, AT_SYMLINK_NOFOLLOW) == 0 ? st.st_mode & 07777 : 0;
}

/* Directories of every mode, with something in each, all the way down. */
static int make_locked(void)
{
    static const mode_t modes[] = {0, 0100, 0200, 0300, 0400, 0500, 0600, 0077, 0555};
    char path[64];
    make_dir("t");
    for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
        for (int depth = 0; depth < 2; depth++) {
            snprintf(path, sizeof(path), depth ? "t/%zu/d" : "t/%zu", i);
            make_dir(path);
            snprintf(path, sizeof(path), depth ? "t/%zu/d/f" : "t/%zu/f", i);
            make_file(path);
            snprintf(path, sizeof(path), depth ? "t/%zu/d/e" : "t/%zu/e", i);
            make_dir(path);
            NEED(fchmodat(folder_fd, path, modes[i], 0) == 0);
        }
        snprintf(path, sizeof(path), "t/%zu/d", i);
        NEED(fchmodat(folder_fd, path, modes[i], 0) == 0);
        snprintf(path, sizeof(path), "t/%zu", i);
        NEED(fchmodat(folder_fd, path, modes[i], 0) == 0);
    }
    NEED(fchmodat(folder_fd, "t", 0, 0) == 0);
    return 0;
}

static int remove_locked(void)
{
    struct weir__remove_options options = begin();
    uint64_t removed;
    NEED(make_locked() == 0);
    NEED(remove_it("t", &options, &removed) == 0);
    NEED(removed == 1 + 9 * 6);
    NEED(failed == 0 && !exists("t"));
    return 0;
}

TEST(locked_directories_of_ones_own)
{
    begin();
    CHECK_EQ(remove_locked(), 0);
    CHECK_EQ(as_user(remove_locked), 0);
}

/* A chain of locked ones that is longer than what stays open. */
static int remove_locked_chain(void)
{
    struct weir__remove_options options = begin();
    uint64_t removed;
    make_dir("t");
    int at = openat(folder_fd, "t", O_RDONLY | O_DIRECTORY);
    for (int i = 0; i < 40; i++) {
        NEED(mkdirat(at, "d", 0777) == 0);
        int next = openat(at, "d", O_RDONLY | O_DIRECTORY);
        static const mode_t modes[] = {0, 0400, 0500};
        NEED(fchmod(at, modes[i % 3]) == 0);
        close(at);
        at = next;
    }
    NEED(fchmod(at, 0400) == 0);
    close(at);
    NEED(remove_it("t", &options, &removed) == 0);
    NEED(removed == 41 && failed == 0 && !exists("t"));
    return 0;
}

TEST(a_chain_of_locked_directories)
{
    begin();
    CHECK_EQ(as_user(remove_locked_chain), 0);
}

static int keep_in_locked(void)
{
    struct weir__remove_options options = begin();
    uint64_t removed;
    make_dir("t");
    make_dir("t/a");
    make_file("t/a/keep");
    make_file("t/a/go");
    NEED(fchmodat(folder_fd, "t/a", 0500, 0) == 0);
    NEED(fchmodat(folder_fd, "t", 0511, 0) == 0);
    keep = "a/keep";
    NEED(remove_it("t", &options, &removed) == -WEIR_E_INCOMPLETE);
    NEED(removed == 1 && failed == 0);
    NEED(mode_of("t") == 0511 && mode_of("t/a") == 0500);
    NEED(exists("t/a/keep") && !exists("t/a/go"));
    /* What cannot be looked into without changing it is assumed to go. */
    NEED(fchmodat(folder_fd, "t/a", 0, 0) == 0);
    options = begin();
    options.dry_run = true;
    NEED(remove_it("t", &options, &removed) == 0);
    NEED(removed == 2 && failed == 0 && mode_of("t/a") == 0);
    options = begin();
    NEED(remove_it("t", &options, &removed) == 0);
    NEED(removed == 3);
    return 0;
}

TEST(directories_that_stay_get_their_mode_back)
{
    begin();
    CHECK_EQ(as_user(keep_in_locked), 0);
}

static int remove_of_others(void)
{
    struct weir__remove_options options = begin();
    uint64_t removed;
    NEED(remove_it("t", &options, &removed) == -WEIR_E_INCOMPLETE);
    NEED(removed == 1 && !exists("t/mine"));
    NEED(failed == 3 && failed_errno == EACCES);
    NEED(strstr(weir__buffer_text(&said), "cannot open 'closed': Permission denied\n"));
    NEED(strstr(weir__buffer_text(&said), "cannot remove 'read/f': Permission denied\n"));
    NEED(strstr(weir__buffer_text(&said), "cannot remove 'read/g': Permission denied\n"));
    return 0;
}

TEST(directories_of_others_are_left_and_told)
{
    struct weir__remove_options options = begin();
    if (geteuid() != 0) {
        printf("# skipped: only root can make directories of others\n");
        return;
    }
    make_dir("t");
    CHECK_EQ(fchmodat(folder_fd, "t", 0777, 0), 0);
    make_dir("t/closed");
    CHECK_EQ(fchmodat(folder_fd, "t/closed", 0, 0), 0);
    make_dir("t/read");
    make_file("t/read/f");
    make_file("t/read/g");
    CHECK_EQ(fchmodat(folder_fd, "t/read", 0555, 0), 0);
    make_dir("t/mine");
    CHECK_EQ(fchownat(folder_fd, "t/mine", NOBODY, NOBODY, 0), 0);
    CHECK_EQ(as_user(remove_of_others), 0);
    CHECK_EQ(mode_of("t/read"), 0555);
    CHECK_EQ(remove_it("t", &options, NULL), 0);
}

/* --- boundaries --- */

static int cross_mount(void)
{
    struct weir__remove_options options = begin();
    struct stat st;
    uint64_t removed;
    char path[512];
    snprintf(path, sizeof(path), "%s/t/mount", folder);
    if (unshare(CLONE_NEWNS) != 0 || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
        mount("none", path, "tmpfs", 0, "size=64k") != 0)
        return 77;
    /* Seen from here, where the mount is. */
    folder_fd = folders[0].fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    make_file("t/mount/f");
    NEED(fstat(folder_fd, &st) == 0);
    options.has_device = true;
    options.device = st.st_dev;
    NEED(remove_it("t", &options, &removed) == -WEIR_E_INCOMPLETE);
    NEED(removed == 1 && failed == 1 && failed_errno == EXDEV && exists("t/mount/f"));
    options = begin();
    NEED(remove_it("t", &options, &removed) == -WEIR_E_INCOMPLETE);
    NEED(removed == 1 && failed == 1 && failed_errno == EBUSY && !exists("t/mount/f"));
    return 0;
}

TEST(another_file_system_is_not_entered)
{
    struct weir__remove_options options = begin();
    make_dir("t");
    make_dir("t/mount");
    make_file("t/f");
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        int line = cross_mount();
        if (line && line != 77)
            printf("# line %d: %s\n", line, weir__buffer_text(&said));
        fflush(stdout);
        _exit(line == 77 ? 77 : line != 0);
    }
    int status;
    CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status));
    if (WEXITSTATUS(status) == 77)
        printf("# skipped: only root can mount\n");
    else
        CHECK_EQ(WEXITSTATUS(status), 0);
    CHECK_EQ(remove_it("t", &options, NULL), 0);
}

TEST(a_fired_token_ends_it)
{
    struct weir__remove_options options = begin();
    struct weir_cancel cancel;
    uint64_t removed;
    make_chain(1000, 1, true);
    weir_cancel_init(&cancel, NULL);
    options.cancel = fire_at_ask = &cancel;
    fire_at = 100;
    CHECK_EQ(remove_it("t", &options, &removed), -WEIR_E_CANCELED);
    CHECK_EQ(asked, 100);
    CHECK(removed <= 100);
    /* Fired before it begins. */
    CHECK_EQ(remove_it("t", &options, &removed), -WEIR_E_CANCELED);
    CHECK_EQ(asked, 100);
    CHECK_EQ(removed, 0);
    options = begin();
    CHECK_EQ(remove_it("t", &options, NULL), 0);
    weir_cancel_fini(&cancel);
}

/* --- somebody else is at work --- */

/* Between the question and the act, what is asked for changes places with a link to the outside, or
 * with a file, or back. */
static const char *swap_path, *swap_with;

static bool swap_when_asked(void *arg, const char *path, bool is_dir)
{
    int *swaps = arg;
    (void)is_dir;
    CHECK_EQ(weir__buffer_printf(&said, "%s%s\n", path, is_dir ? "/" : ""), 0);
    if (strcmp(path, swap_path) == 0 && *swaps > 0) {
        char full[64];
        snprintf(full, sizeof(full), *path ? "t/%s" : "t%s", path);
        CHECK_EQ(renameat2(folder_fd, full, folder_fd, swap_with, RENAME_EXCHANGE), 0);
        --*swaps;
    }
    return true;
}

static void make_outside(void)
{
    make_dir("outside");
    make_file("outside/x");
    make_dir("outside/b");
    make_file("outside/b/z");
    CHECK_EQ(symlinkat("outside", folder_fd, "link"), 0);
}

static void check_swap(const char *path, const char *with, int swaps, int wanted)
{
    struct weir__remove_options options = begin();
    make_outside();
    make_small_tree();
    make_file("other");
    swap_path = path;
    swap_with = with;
    options.may = swap_when_asked;
    options.arg = &swaps;
    CHECK_EQ(remove_it("t", &options, NULL), wanted);
    CHECK_EQ(failed, wanted ? 1 : 0);
    CHECK_EQ(exists("t"), wanted != 0);
    CHECK(exists("outside/x") && exists("outside/b/z"));
    CHECK_EQ(swaps, 0);
    static const char *const names[] = {"t", "link", "other", "outside"};
    options = begin();
    for (size_t i = 0; i < 4; i++)
        CHECK_EQ(remove_it(names[i], &options, NULL), 0);
}

TEST(what_turns_into_something_else_is_asked_for_again)
{
    check_swap("a", "link", 1, 0);
    check_swap("a/b", "link", 1, 0);
    check_swap("", "link", 1, 0);
    check_swap("a", "other", 1, 0);
    /* Somebody who always changes it wins, but nothing is lost. */
    check_swap("a", "link", 2, -WEIR_E_INCOMPLETE);
    check_swap("", "link", 2, -WEIR_E_INCOMPLETE);
    /* A file that becomes a directory goes with all that is in it. */
    begin();
    make_dir("new");
    make_file("new/f");
    check_swap("a/x", "new", 1, 0);
    CHECK(!exists("new/f"));
    CHECK_EQ(remove_it("new", &(struct weir__remove_options){0}, NULL), 0);
}

#define RACE_NS (WEIR_NS_PER_S)

struct racer {
    pthread_t thread;
    int stop; /* atomic */
    uint64_t swaps;
};

/* t/d/e and the like are a directory at one moment and a link to the outside at the next; and the
 * whole of t/d is carried off and back. */
static void *swap_about(void *arg)
{
    struct racer *racer = arg;
    while (!__atomic_load_n(&racer->stop, __ATOMIC_RELAXED)) {
        renameat2(folder_fd, "t/d", folder_fd, "link", RENAME_EXCHANGE);
        renameat2(folder_fd, "t/d", folder_fd, "link", RENAME_EXCHANGE);
        renameat2(folder_fd, "t/d/e", folder_fd, "link", RENAME_EXCHANGE);
        renameat2(folder_fd, "t/d/e", folder_fd, "link", RENAME_EXCHANGE);
        renameat2(folder_fd, "t/d/e/f", folder_fd, "link", RENAME_EXCHANGE);
        renameat2(folder_fd, "t/d/e/f", folder_fd, "link", RENAME_EXCHANGE);
        renameat(folder_fd, "t/d/e", folder_fd, "outside/moved");
        renameat(folder_fd, "outside/moved", folder_fd, "t/d/e");
        racer->swaps++;
    }
    return NULL;
}

static void make_race_tree(void)
{
    char path[64];
    mkdirat(folder_fd, "t", 0777);
    mkdirat(folder_fd, "t/d", 0777);
    mkdirat(folder_fd, "t/d/e", 0777);
    mkdirat(folder_fd, "t/d/e/f", 0777);
    for (int i = 0; i < 8; i++) {
        snprintf(path, sizeof(path), "t/d/e/f/%d", i);
        mknodat(folder_fd, path, S_IFREG | 0666, 0);
        snprintf(path, sizeof(path), "t/d/e/%d", i);
        mknodat(folder_fd, path, S_IFREG | 0666, 0);
    }
}

/* What is outside has the names that the tree has, so that following a link would find them. */
static const char *const outside[] = {"outside/e",   "outside/f",    "outside/e/f", "outside/f/f",
                                      "outside/0",   "outside/1",    "outside/e/0", "outside/f/0",
                                      "outside/e/1", "outside/e/f/0"};
#define OUTSIDE (sizeof(outside) / sizeof(outside[0]))

/* Gives the racer its chance between the question and the act. */
static bool may_slowly(void *arg, const char *path, bool is_dir)
{
    (void)arg;
    (void)path;
    (void)is_dir;
    sched_yield();
    return true;
}

TEST(a_racer_gets_nothing_removed_outside)
{
    struct weir__remove_options options = begin_large();
    struct racer racer = {.stop = 0};
    struct weir__remove_options quiet = {.may = may_slowly};
    uint64_t until_ns = weir_now_ns() + RACE_NS, rounds = 0, gone = 0;
    make_dir("outside");
    for (size_t i = 0; i < OUTSIDE; i++)
        if (i < 4)
            make_dir(outside[i]);
        else
            make_file(outside[i]);
    CHECK_EQ(symlinkat("outside", folder_fd, "link"), 0);
    CHECK_EQ(pthread_create(&racer.thread, NULL, swap_about, &racer), 0);
    while (weir_now_ns() < until_ns) {
        make_race_tree();
        int result = weir__remove_tree(folder_fd, "t", &quiet, NULL);
        CHECK(result == 0 || result == -WEIR_E_INCOMPLETE);
        rounds++;
        gone += result == 0;
        for (size_t i = 0; i < OUTSIDE; i++)
            if (!exists(outside[i]))
                tap_fail(__FILE__, __LINE__, "'%s' is gone after %llu rounds", outside[i],
                         (unsigned long long)rounds);
    }
    __atomic_store_n(&racer.stop, 1, __ATOMIC_RELAXED);
    pthread_join(racer.thread, NULL);
    printf("# %llu rounds, %llu of them complete, %llu swaps\n", (unsigned long long)rounds,
           (unsigned long long)gone, (unsigned long long)racer.swaps);
    CHECK_EQ(remove_it("t", &options, NULL), 0);
    CHECK_EQ(remove_it("link", &options, NULL), 0);
    CHECK_EQ(remove_it("outside", &options, NULL), 0);
}

/* At the bottom of a long chain the directory that we are in is carried off, so that ".." leads
 * somewhere else. What is there is left alone; the rest of the tree still goes. */
static bool carry_off(void *arg, const char *path, bool is_dir)
{
    (void)is_dir;
    size_t length = strlen(path);
    asked++;
    if (length > 6 && strcmp(path + length - 6, "bottom") == 0) {
        int *moved = arg;
        char from[200];
        snprintf(from, sizeof(from), "t/%.*s", (int)length - 7, path);
        *moved += renameat(folder_fd, from, folder_fd, "outside/moved") == 0;
    }
    return true;
}

TEST(a_directory_that_is_carried_off_does_not_lead_outside)
{
    for (int depth = 1; depth < 30; depth++) {
        struct weir__remove_options options = begin();
        char path[200] = "t/0";
        int moved = 0;
        uint64_t removed;
        make_dir("outside");
        make_file("outside/keep");
        make_dir("t");
        make_file("t/file");
        make_dir(path);
        for (int i = 1; i < depth; i++) {
            snprintf(path + strlen(path), sizeof(path) - strlen(path), "/%d", i);
            make_dir(path);
        }
        snprintf(path + strlen(path), sizeof(path) - strlen(path), "/bottom");
        make_dir(path);
        options.may = carry_off;
        options.arg = &moved;
        int result = remove_it("t", &options, &removed);
        CHECK_EQ(moved, 1);
        CHECK(exists("outside/keep"));
        CHECK(!exists("t/file"));
        if (result == 0)
            CHECK(!exists("t"));
        else
            CHECK(failed > 0 && exists("t"));
        options = begin();
        CHECK_EQ(remove_it("t", &options, NULL), 0);
        CHECK_EQ(remove_it("outside", &options, NULL), 0);
    }
}

/* The directory in the middle of a long chain is carried off while we are far below, so that the
 * way up is another one. */
static bool carry_middle(void *arg, const char *path, bool is_dir)
{
    (void)is_dir;
    size_t length = strlen(path);
    if (length > 6 && strcmp(path + length - 6, "bottom") == 0)
        *(int *)arg += renameat(folder_fd, "t/0/1/2", folder_fd, "outside/moved") == 0;
    return true;
}

TEST(a_lost_way_is_looked_for_from_the_top)
{
    struct weir__remove_options options = begin();
    char path[200] = "t/0";
    int moved = 0;
    uint64_t removed;
    make_dir("outside");
    make_file("outside/keep");
    make_dir("t");
    make_dir(path);
    for (int i = 1; i < 25; i++) {
        snprintf(path + strlen(path), sizeof(path) - strlen(path), "/%d", i);
        make_dir(path);
    }
    snprintf(path + strlen(path), sizeof(path) - strlen(path), "/bottom");
    make_dir(path);
    options.may = carry_middle;
    options.arg = &moved;
    CHECK_EQ(remove_it("t", &options, &removed), -WEIR_E_INCOMPLETE);
    CHECK_EQ(moved, 1);
    CHECK(exists("outside/keep"));
    /* What was below is gone (it was ours when we came), up to the one that was moved. */
    CHECK(exists("outside/moved") && !exists("outside/moved/3"));
    CHECK_EQ(failed, 1);
    CHECK_HAS(weir__buffer_text(&said), "cannot come back from '0/1/2': ");
    options = begin();
    CHECK_EQ(remove_it("t", &options, NULL), 0);
    CHECK_EQ(remove_it("outside", &options, NULL), 0);
}

/* Somebody puts in new entries as fast as they go: it ends all the same. */
static bool add_another(void *arg, const char *path, bool is_dir)
{
    char name[64];
    (void)is_dir;
    if (*path && ++*(int *)arg < 1000000) {
        snprintf(name, sizeof(name), "t/new-%d", *(int *)arg);
        make_file(name);
    }
    return true;
}

TEST(a_directory_that_is_filled_again_ends_it_all_the_same)
{
    struct weir__remove_options options = begin();
    int added = 0;
    make_dir("t");
    make_file("t/0");
    options.may = add_another;
    options.arg = &added;
    CHECK_EQ(remove_it("t", &options, NULL), -WEIR_E_INCOMPLETE);
    CHECK_EQ(failed_errno, ENOTEMPTY);
    CHECK(added < 1000000);
    printf("# %d were added\n", added);
    options = begin();
    CHECK_EQ(remove_it("t", &options, NULL), 0);
}

TEST(nothing_is_left_in_the_folders)
{
    begin();
    CHECK_EQ(count_entries(folder_fd, "."), 0);
    begin_large();
    CHECK_EQ(count_entries(folder_fd, "."), 0);
    weir__buffer_fini(&said);
}

TAP_MAIN()
