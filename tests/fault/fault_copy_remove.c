/* The n-th allocation or system call of a removal fails: it is told, the rest goes, no descriptor
 * leaks, and done means gone. */
#include "tap.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "remove.h"
#include "sweep.h"
#include "sys.h"

/* Deeper than what stays open, so that the way up is opened again. */
#define DEPTH  (WEIR__REMOVE_OPEN_MAX + 4)
#define NOBODY ((uid_t)65534)

static char folder[256];
static int folder_fd = -1;
static bool is_locked;
static int failures;

static void begin(void)
{
    /* Thousands of small trees are made, which is no work for a disk. */
    const char *parent = getenv("TMPDIR");
    if (!parent || !*parent)
        parent = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
    snprintf(folder, sizeof(folder), "%s/weir-remove-XXXXXX", parent);
    CHECK(mkdtemp(folder));
    CHECK_EQ(chmod(folder, 0777), 0);
    folder_fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    CHECK(folder_fd >= 0);
}

static void end(void)
{
    close(folder_fd);
    CHECK_EQ(rmdir(folder), 0);
}

/* Below each level there are a file, an empty directory and the next level. */
static void make_tree(void)
{
    CHECK_EQ(mkdirat(folder_fd, "t", 0777), 0);
    int at = openat(folder_fd, "t", O_RDONLY | O_DIRECTORY);
    for (int i = 0; i < DEPTH; i++) {
        CHECK_EQ(mkdirat(at, "empty", is_locked ? 0 : 0777), 0);
        CHECK_EQ(mknodat(at, "file", S_IFREG | 0666, 0), 0);
        CHECK_EQ(mkdirat(at, "next", 0777), 0);
        int next = openat(at, "next", O_RDONLY | O_DIRECTORY);
        CHECK(next >= 0);
        if (is_locked)
            CHECK_EQ(fchmod(at, i % 2 ? 0500 : 0), 0);
        close(at);
        at = next;
    }
    close(at);
}

static bool may(void *arg, const char *path, bool is_dir)
{
    (void)arg;
    (void)is_dir;
    CHECK(strlen(path) < 1000);
    return true;
}

static void note_failed(void *arg, const char *path, const char *what, int errno_value)
{
    (void)arg;
    CHECK(strlen(path) < 1000);
    CHECK(strncmp(what, "cannot ", 7) == 0);
    CHECK(errno_value != 0);
    failures++;
}

static bool is_gone(void)
{
    struct stat st;
    return fstatat(folder_fd, "t", &st, AT_SYMLINK_NOFOLLOW) != 0 && errno == ENOENT;
}

/* One removal with the n-th call failing, and one without any fault for what is left. */
static bool remove_with(enum weir_fault kind, uint64_t n)
{
    struct weir__remove_options options = {.may = may, .failed = note_failed};
    uint64_t removed = 0, left = 0;
    make_tree();
    failures = 0;
    int before = count_descriptors();
    weir_fault_arm(kind, n);
    int result = weir__remove_tree(folder_fd, "t", &options, &removed);
    bool hit = weir_fault_was_hit(kind);
    weir_fault_arm(kind, 0);
    CHECK_EQ(count_descriptors(), before);
    CHECK(result == 0 || (result == -WEIR_E_INCOMPLETE && hit));
    CHECK_EQ(result == 0, is_gone());
    CHECK(result == 0 || failures > 0);
    /* One fault stops one entry and with it the directories above, of which nothing is told. */
    CHECK(failures <= 1);
    CHECK_EQ(weir__remove_tree(folder_fd, "t", &options, &left), 0);
    CHECK(is_gone());
    CHECK_EQ(removed + left, 3 * DEPTH + 1);
    return hit;
}

static uint64_t sweep_removal(enum weir_fault kind)
{
    uint64_t n = 1;
    while (remove_with(kind, n))
        n++;
    return n - 1;
}

TEST(survives_every_failing_allocation)
{
    begin();
    uint64_t runs = sweep_removal(WEIR_FAULT_ALLOC);
    printf("# %llu\n", (unsigned long long)runs);
    CHECK(runs >= WEIR__REMOVE_OPEN_MAX + 2);
    end();
}

static void sweep_calls(const int *errors, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        weir__sys_fault_errno(errors[i]);
        uint64_t runs = sweep_removal(WEIR_FAULT_IO);
        printf("# errno %d: %llu\n", errors[i], (unsigned long long)runs);
        CHECK(runs > 5 * DEPTH);
    }
    weir__sys_fault_errno(EIO);
}

TEST(survives_every_failing_call)
{
    static const int errors[] = {EIO, EINTR, EMFILE, ENOTEMPTY, EISDIR, ENOTDIR};
    begin();
    sweep_calls(errors, sizeof(errors) / sizeof(errors[0]));
    end();
}

/* Directories that must be unlocked first, which root never has to do. */
TEST(survives_every_failing_call_with_locked_directories)
{
    static const int errors[] = {EIO, EACCES, EMFILE, ENOMEM};
    begin();
    is_locked = true;
    uid_t user = geteuid();
    if (user == 0)
        CHECK_EQ(seteuid(NOBODY), 0);
    sweep_calls(errors, sizeof(errors) / sizeof(errors[0]));
    if (user == 0)
        CHECK_EQ(seteuid(user), 0);
    is_locked = false;
    end();
}

TAP_MAIN()
