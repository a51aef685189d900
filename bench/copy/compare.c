/* compare.c - whether a contender's result is a copy, and what it did not keep.
 *
 * Both trees are walked side by side in the order of names and all bytes are compared, so nothing
 * rests on a hash. The last figure stands for the inodes and change times of all that is no
 * directory: two comparisons that show the same one saw the same files, not new ones made alike.
 */
#include "tree.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define PATH_SIZE 4096

/* One in how many entries differ. A time that is right to the second counts as TIME_NS. */
enum difference {
    DIFF_MISSING,
    DIFF_EXTRA,
    DIFF_TYPE,
    DIFF_SIZE,
    DIFF_CONTENT,
    DIFF_TARGET,
    DIFF_OWNER,
    DIFF_MODE,
    DIFF_TIME,
    DIFF_TIME_NS,
    DIFF_DIR_MODE,
    DIFF_DIR_TIME,
    DIFF_DIR_TIME_NS,
    DIFF_COUNT
};

static const char *const difference_names[DIFF_COUNT] = {
    [DIFF_MISSING] = "missing",
    [DIFF_EXTRA] = "extra",
    [DIFF_TYPE] = "type",
    [DIFF_SIZE] = "size",
    [DIFF_CONTENT] = "content",
    [DIFF_TARGET] = "target",
    [DIFF_OWNER] = "owner",
    [DIFF_MODE] = "mode",
    [DIFF_TIME] = "time",
    [DIFF_TIME_NS] = "time_ns",
    [DIFF_DIR_MODE] = "dir_mode",
    [DIFF_DIR_TIME] = "dir_time",
    [DIFF_DIR_TIME_NS] = "dir_time_ns",
};

struct comparison {
    uint64_t counts[DIFF_COUNT];
    uint64_t entries;
    uint64_t bytes;
    uint64_t files_mark;
    char first[DIFF_COUNT][PATH_SIZE]; /* the first path of each kind */
    char path[PATH_SIZE];              /* where the walk is */
    char buffers[2][TREE_BUFFER_SIZE];
};

static void note(struct comparison *all, enum difference what, const char *name)
{
    if (all->counts[what]++ > 0)
        return;
    int length = snprintf(all->first[what], PATH_SIZE, "%s%s", all->path, name);
    if (length >= PATH_SIZE)
        memcpy(all->first[what] + PATH_SIZE - 4, "...", 4);
}

static void compare_time(struct comparison *all, const char *name, const struct stat *a,
                         const struct stat *b)
{
    bool is_dir = S_ISDIR(a->st_mode);
    if (a->st_mtim.tv_sec != b->st_mtim.tv_sec)
        note(all, is_dir ? DIFF_DIR_TIME : DIFF_TIME, name);
    else if (a->st_mtim.tv_nsec != b->st_mtim.tv_nsec)
        note(all, is_dir ? DIFF_DIR_TIME_NS : DIFF_TIME_NS, name);
}

static void compare_info(struct comparison *all, const char *name, const struct stat *a,
                         const struct stat *b)
{
    if ((a->st_mode & 07777) != (b->st_mode & 07777))
        note(all, S_ISDIR(a->st_mode) ? DIFF_DIR_MODE : DIFF_MODE, name);
    if (a->st_uid != b->st_uid || a->st_gid != b->st_gid)
        note(all, DIFF_OWNER, name);
    compare_time(all, name, a, b);
}

static void compare_content(struct comparison *all, const char *name, int src, int dst)
{
    int a = tree_open_file(src, name);
    int b = tree_open_file(dst, name);
    for (;;) {
        size_t got = tree_read_fully(a, all->buffers[0], TREE_BUFFER_SIZE);
        if (tree_read_fully(b, all->buffers[1], TREE_BUFFER_SIZE) != got ||
            memcmp(all->buffers[0], all->buffers[1], got) != 0) {
            note(all, DIFF_CONTENT, name);
            break;
        }
        all->bytes += got;
        if (got < TREE_BUFFER_SIZE)
            break;
    }
    close(a);
    close(b);
}

static void compare_target(struct comparison *all, const char *name, int src, int dst)
{
    ssize_t a = readlinkat(src, name, all->buffers[0], TREE_BUFFER_SIZE);
    ssize_t b = readlinkat(dst, name, all->buffers[1], TREE_BUFFER_SIZE);
    if (a < 0 || a != b || memcmp(all->buffers[0], all->buffers[1], (size_t)a) != 0)
        note(all, DIFF_TARGET, name);
}

static void mark_file(struct comparison *all, const struct stat *info)
{
    uint64_t values[3] = {info->st_ino, (uint64_t)info->st_ctim.tv_sec,
                          (uint64_t)info->st_ctim.tv_nsec};
    for (size_t i = 0; i < 3; i++) {
        all->files_mark = (all->files_mark ^ values[i]) * 0x9e3779b97f4a7c15u;
        all->files_mark ^= all->files_mark >> 29;
    }
}

static void compare_dirs(struct comparison *all, int src, int dst);

static void compare_below(struct comparison *all, const char *name, int src, int dst)
{
    size_t length = strlen(all->path);
    snprintf(all->path + length, PATH_SIZE - length, "%s/", name);
    int a = tree_open_dir(src, name);
    int b = tree_open_dir(dst, name);
    compare_dirs(all, a, b);
    close(a);
    close(b);
    all->path[length] = '\0';
}

static void compare_entry(struct comparison *all, const char *name, int src, int dst)
{
    struct stat a, b;
    tree_stat(src, name, &a);
    tree_stat(dst, name, &b);
    all->entries++;
    if ((a.st_mode & S_IFMT) != (b.st_mode & S_IFMT)) {
        note(all, DIFF_TYPE, name);
        return;
    }
    compare_info(all, name, &a, &b);
    if (S_ISDIR(a.st_mode)) {
        compare_below(all, name, src, dst);
        return;
    }
    mark_file(all, &b);
    if (S_ISLNK(a.st_mode))
        compare_target(all, name, src, dst);
    else if (S_ISREG(a.st_mode) && a.st_size != b.st_size)
        note(all, DIFF_SIZE, name);
    else if (S_ISREG(a.st_mode))
        compare_content(all, name, src, dst);
}

static void compare_dirs(struct comparison *all, int src, int dst)
{
    struct tree_names a, b;
    tree_names_read(&a, src);
    tree_names_read(&b, dst);
    for (size_t i = 0, k = 0; i < a.count || k < b.count;) {
        int order = i == a.count ? 1 : k == b.count ? -1 : strcmp(a.names[i], b.names[k]);
        if (order < 0)
            note(all, DIFF_MISSING, a.names[i++]);
        else if (order > 0)
            note(all, DIFF_EXTRA, b.names[k++]);
        else
            compare_entry(all, a.names[i++], src, dst), k++;
    }
    tree_names_free(&a);
    tree_names_free(&b);
}

static void print_path(const char *path)
{
    putchar('"');
    for (; *path; path++)
        putchar(*path < ' ' || *path > '~' || *path == '"' || *path == '\\' ? '?' : *path);
    putchar('"');
}

void tree_compare(const char *src, const char *dst)
{
    static struct comparison all;
    struct stat a, b;
    tree_stat(AT_FDCWD, src, &a);
    tree_stat(AT_FDCWD, dst, &b);
    if (!S_ISDIR(a.st_mode) || !S_ISDIR(b.st_mode)) {
        errno = 0;
        tree_die("not a directory, or not copied to one:", dst);
    }
    all.entries = 1;
    compare_info(&all, ".", &a, &b);
    int from = tree_open_dir(AT_FDCWD, src);
    int to = tree_open_dir(AT_FDCWD, dst);
    compare_dirs(&all, from, to);
    close(from);
    close(to);
    printf("{\"entries\": %" PRIu64 ", \"bytes\": %" PRIu64 ", \"files_mark\": \"%016" PRIx64 "\"",
           all.entries, all.bytes, all.files_mark);
    printf(", \"differences\": {");
    const char *comma = "";
    for (size_t i = 0; i < DIFF_COUNT; i++) {
        if (all.counts[i] == 0)
            continue;
        printf("%s\"%s\": {\"count\": %" PRIu64 ", \"first\": ", comma, difference_names[i],
               all.counts[i]);
        print_path(all.first[i]);
        printf("}");
        comma = ", ";
    }
    printf("}}\n");
    if (fflush(stdout) != 0)
        tree_die("cannot write", "the result");
}
