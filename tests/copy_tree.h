/* copy_tree.h - a small tree with one of everything, and whether two trees are the same: for tests
 * that copy a tree again and again and so cannot start a program for each look.
 *
 * All paths are relative to the folder that tree_start() makes and enters. Nothing here calls what
 * can be made to fail.
 *
 * Ownership: the folder is removed when the program ends.
 */
#ifndef WEIR_TESTS_COPY_TREE_H
#define WEIR_TESTS_COPY_TREE_H

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "tap.h"

#define TREE_PATH_MAX 4096
#define TREE_BIG      400000u /* bytes: more than is read at once */
#define TREE_SPARSE   1000000u

static char tree_folder[256];
static char tree_why[2 * TREE_PATH_MAX]; /* what tree_is_same() found */

/* A path in a buffer of TREE_PATH_MAX bytes. */
static inline void tree_join(char *path, const char *folder, const char *name)
{
    CHECK(snprintf(path, TREE_PATH_MAX, "%s/%s", folder, name) < TREE_PATH_MAX);
}

/* --- removing --- */

static inline void tree_remove(const char *path)
{
    struct stat st;
    if (lstat(path, &st) < 0)
        return;
    if (!S_ISDIR(st.st_mode)) {
        unlink(path);
        return;
    }
    chmod(path, 0700);
    DIR *dir = opendir(path);
    struct dirent *entry;
    char below[TREE_PATH_MAX];
    while (dir && (entry = readdir(dir)))
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0) {
            tree_join(below, path, entry->d_name);
            tree_remove(below);
        }
    if (dir)
        closedir(dir);
    rmdir(path);
}

static inline void tree_end(void)
{
    if (chdir("/") == 0)
        tree_remove(tree_folder);
}

static inline void tree_start(void)
{
    if (tree_folder[0])
        return;
    const char *parent = getenv("TMPDIR");
    snprintf(tree_folder, sizeof(tree_folder), "%s/weir-tree-XXXXXX",
             parent && *parent ? parent : "/tmp");
    CHECK(mkdtemp(tree_folder));
    atexit(tree_end);
    CHECK_EQ(chdir(tree_folder), 0);
    umask(022);
}

/* --- making --- */

static inline void tree_file(const char *path, size_t size, unsigned seed)
{
    static unsigned char bytes[TREE_BIG];
    CHECK(size <= sizeof(bytes));
    for (size_t i = 0; i < size; i++)
        bytes[i] = (unsigned char)((i * 31 + seed * 7 + i / 251) & 0xff);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    CHECK(fd >= 0);
    CHECK_EQ(write(fd, bytes, size), size);
    close(fd);
}

/* Some time ago, so that what is copied with the time of the copy is seen. */
static inline void tree_age(const char *path, long seconds)
{
    struct timespec times[2] = {{1000000000 + seconds, 1}, {1000000000 + seconds, 123456789}};
    CHECK_EQ(utimensat(AT_FDCWD, path, times, AT_SYMLINK_NOFOLLOW), 0);
}

static inline void tree_sparse(const char *path)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    CHECK(fd >= 0 && pwrite(fd, "middle", 6, TREE_SPARSE / 2) == 6);
    CHECK_EQ(ftruncate(fd, TREE_SPARSE), 0);
    close(fd);
}

/* One of every kind that this user may make; hard links, also across directories; attributes. */
static inline void tree_make(void)
{
    CHECK_EQ(mkdir("s", 0755) | mkdir("s/sub", 0750) | mkdir("s/sub/deep", 0700), 0);
    CHECK_EQ(mkdir("s/empty", 01777) | mkdir("s/swap", 0755), 0);
    tree_file("s/small", 10, 1);
    tree_file("s/nothing", 0, 0);
    tree_file("s/big", TREE_BIG, 2);
    tree_sparse("s/sparse");
    tree_file("s/linked", 3000, 3);
    tree_file("s/sub/f", 5000, 4);
    tree_file("s/sub/deep/f", 100, 5);
    tree_file("s/swap/f", 7, 6);
    tree_file("s/now-a-file", 8, 7);
    CHECK_EQ(link("s/linked", "s/sub/linked") | link("s/linked", "s/sub/deep/linked"), 0);
    CHECK_EQ(symlink("small", "s/symlink") | link("s/symlink", "s/sub/symlink"), 0);
    CHECK_EQ(mkfifo("s/fifo", 0640), 0);
    if (geteuid() == 0) {
        CHECK_EQ(mknod("s/device", S_IFCHR | 0600, makedev(1, 3)), 0);
        CHECK_EQ(chown("s/small", 1, 2) | lchown("s/symlink", 3, 4) | chown("s/sub", 5, 6), 0);
    }
    /* Where there are no attributes, they are not compared either. */
    int ignored = setxattr("s/small", "user.one", "1", 1, 0);
    ignored |= setxattr("s/sub", "user.two", "22", 2, 0);
    (void)ignored;
    CHECK_EQ(chmod("s/small", 04755) | chmod("s/sub/deep/f", 0400), 0);
    static const char *const all[] = {
        "s/small",  "s/nothing",    "s/big",     "s/sparse",
        "s/linked", "s/sub/f",      "s/symlink", "s/sub/deep/f",
        "s/swap/f", "s/now-a-file", "s/fifo",    "s/sub/deep",
        "s/sub",    "s/empty",      "s/swap",    "s",
    };
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
        tree_age(all[i], (long)i);
}

/* What an earlier copy and others have left: old, of another kind, too much. */
static inline void tree_make_old(void)
{
    CHECK_EQ(mkdir("d", 0755) | mkdir("d/sub", 0755) | mkdir("d/now-a-file", 0755), 0);
    CHECK_EQ(mkdir("d/extra-dir", 0755) | mkdir("d/extra-dir/below", 0755), 0);
    tree_file("d/small", 20, 100);
    tree_file("d/big", 1000, 101);
    tree_file("d/linked", 3000, 3); /* the same content, another time */
    tree_file("d/sub/linked", 30, 102);
    tree_file("d/swap", 40, 103);
    tree_file("d/now-a-file/f", 50, 104);
    tree_file("d/extra", 60, 105);
    tree_file("d/extra-dir/below/f", 70, 106);
    CHECK_EQ(symlink("elsewhere", "d/symlink"), 0);
    int ignored = setxattr("d/sub", "user.old", "o", 1, 0);
    (void)ignored;
}

/* --- comparing --- */

static inline bool tree_differs(const char *path, const char *what)
{
    snprintf(tree_why, sizeof(tree_why), "%s: %s", path, what);
    return false;
}

static inline bool tree_is_content_same(const char *a, const char *b)
{
    static char left[65536], right[65536];
    int one = open(a, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    int two = open(b, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    ssize_t n = -1, m = -1;
    if (one >= 0 && two >= 0)
        do {
            n = read(one, left, sizeof(left));
            m = read(two, right, sizeof(right));
        } while (n > 0 && n == m && memcmp(left, right, (size_t)n) == 0);
    if (one >= 0)
        close(one);
    if (two >= 0)
        close(two);
    return n == 0 && m == 0;
}

static inline bool tree_is_attribute_same(const char *a, const char *b, const char *name)
{
    char left[256], right[256];
    ssize_t n = lgetxattr(a, name, left, sizeof(left));
    ssize_t m = lgetxattr(b, name, right, sizeof(right));
    return n == m && (n <= 0 || memcmp(left, right, (size_t)n) == 0);
}

/* The first name that an inode was seen under, on both sides: links must be links again. */
static struct {
    ino_t a, b;
} tree_inodes[4096];
static size_t tree_inodes_count;

static inline bool tree_is_link_same(const struct stat *a, const struct stat *b)
{
    for (size_t i = 0; i < tree_inodes_count; i++)
        if (tree_inodes[i].a == a->st_ino || tree_inodes[i].b == b->st_ino)
            return tree_inodes[i].a == a->st_ino && tree_inodes[i].b == b->st_ino;
    CHECK(tree_inodes_count < sizeof(tree_inodes) / sizeof(tree_inodes[0]));
    tree_inodes[tree_inodes_count].a = a->st_ino;
    tree_inodes[tree_inodes_count++].b = b->st_ino;
    return true;
}

static inline bool tree_is_entry_same(const char *a, const char *b)
{
    static const char *const attributes[] = {"user.one", "user.two", "user.old"};
    struct stat x, y;
    if (lstat(a, &x) < 0 || lstat(b, &y) < 0)
        return tree_differs(b, "not there");
    if (x.st_mode != y.st_mode)
        return tree_differs(b, "type or mode");
    if (x.st_uid != y.st_uid || x.st_gid != y.st_gid)
        return tree_differs(b, "owner");
    if (x.st_mtim.tv_sec != y.st_mtim.tv_sec || x.st_mtim.tv_nsec != y.st_mtim.tv_nsec)
        return tree_differs(b, "time");
    if (!S_ISDIR(x.st_mode) && x.st_size != y.st_size)
        return tree_differs(b, "size");
    if (!S_ISDIR(x.st_mode) && (x.st_nlink != y.st_nlink || !tree_is_link_same(&x, &y)))
        return tree_differs(b, "links");
    if ((S_ISCHR(x.st_mode) || S_ISBLK(x.st_mode)) && x.st_rdev != y.st_rdev)
        return tree_differs(b, "device");
    if (S_ISREG(x.st_mode) && !tree_is_content_same(a, b))
        return tree_differs(b, "content");
    if (S_ISLNK(x.st_mode)) {
        char left[256] = "", right[256] = "";
        if (readlink(a, left, sizeof(left) - 1) < 0 || readlink(b, right, sizeof(right) - 1) < 0 ||
            strcmp(left, right) != 0)
            return tree_differs(b, "target");
    }
    for (size_t i = 0; i < sizeof(attributes) / sizeof(attributes[0]); i++)
        if (!tree_is_attribute_same(a, b, attributes[i]))
            return tree_differs(b, attributes[i]);
    return true;
}

static inline size_t tree_names(const char *path)
{
    DIR *dir = opendir(path);
    size_t count = 0;
    while (dir && readdir(dir))
        count++;
    if (dir)
        closedir(dir);
    return count;
}

static inline bool tree_is_below_same(const char *a, const char *b)
{
    struct stat st;
    if (!tree_is_entry_same(a, b))
        return false;
    if (lstat(a, &st) < 0 || !S_ISDIR(st.st_mode))
        return true;
    if (tree_names(a) != tree_names(b))
        return tree_differs(b, "more or fewer names");
    DIR *dir = opendir(a);
    struct dirent *entry;
    bool is_same = true;
    while (is_same && (entry = readdir(dir))) {
        char one[TREE_PATH_MAX], two[TREE_PATH_MAX];
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        tree_join(one, a, entry->d_name);
        tree_join(two, b, entry->d_name);
        is_same = tree_is_below_same(one, two);
    }
    closedir(dir);
    return is_same;
}

/* Whether b is an exact copy of a; tree_why says what is not. */
static inline bool tree_is_same(const char *a, const char *b)
{
    tree_inodes_count = 0;
    tree_why[0] = '\0';
    return tree_is_below_same(a, b);
}

/* How many names below path begin like this. */
static inline size_t tree_count(const char *path, const char *prefix)
{
    DIR *dir = opendir(path);
    size_t count = 0;
    struct dirent *entry;
    while (dir && (entry = readdir(dir))) {
        char below[TREE_PATH_MAX];
        struct stat st;
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        count += strncmp(entry->d_name, prefix, strlen(prefix)) == 0;
        tree_join(below, path, entry->d_name);
        if (lstat(below, &st) == 0 && S_ISDIR(st.st_mode))
            count += tree_count(below, prefix);
    }
    if (dir)
        closedir(dir);
    return count;
}

/* Whether every regular file below b is as in a, as in also, or as it was before in old (each of
 * the last two may be NULL): whole, one or the other. */
static inline bool tree_is_whole_of(const char *a, const char *also, const char *b, const char *old)
{
    DIR *dir = opendir(b);
    bool is_whole = true;
    struct dirent *entry;
    while (is_whole && dir && (entry = readdir(dir))) {
        char two[TREE_PATH_MAX], from[3][TREE_PATH_MAX] = {"", "", ""};
        const char *const bases[3] = {a, also, old};
        struct stat st;
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0 ||
            strncmp(entry->d_name, ".weir-", 6) == 0)
            continue;
        tree_join(two, b, entry->d_name);
        for (int i = 0; i < 3; i++)
            if (bases[i])
                tree_join(from[i], bases[i], entry->d_name);
        if (lstat(two, &st) < 0)
            continue;
        if (S_ISDIR(st.st_mode))
            is_whole = tree_is_whole_of(from[0], also ? from[1] : NULL, two, old ? from[2] : NULL);
        else if (S_ISREG(st.st_mode) && !tree_is_content_same(from[0], two) &&
                 !(also && tree_is_content_same(from[1], two)) &&
                 !(old && tree_is_content_same(from[2], two)))
            is_whole = tree_differs(two, "half a file under a final name");
    }
    if (dir)
        closedir(dir);
    return is_whole;
}

static inline bool tree_is_whole(const char *a, const char *b, const char *old)
{
    return tree_is_whole_of(a, NULL, b, old);
}

static inline int tree_descriptors(void)
{
    return (int)tree_names("/proc/self/fd");
}

#endif
