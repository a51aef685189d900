/* treegen_more.c - the parts of a generated tree that take more than a list: files with holes, a
 * chain of directories deeper than any path, and the random part, where everything meets. */
#include "treegen.h"

#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "banned.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static int open_sparse(const char *path, uint64_t size)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0 || ftruncate(fd, (off_t)size) != 0)
        err(2, "cannot make '%s'", path);
    return fd;
}

/* Random bytes, never zero throughout, cut off at the end of the file. */
static void put_island(int fd, uint64_t file_size, uint64_t at, size_t size)
{
    static unsigned char bytes[65536];
    if (at >= file_size)
        return;
    if (size > sizeof(bytes))
        size = sizeof(bytes);
    if (size > file_size - at)
        size = (size_t)(file_size - at);
    for (size_t i = 0; i < size; i++)
        bytes[i] = (unsigned char)(random_next() | 1);
    if (pwrite(fd, bytes, size, (off_t)at) != (ssize_t)size)
        err(2, "cannot write a file with holes");
}

static void close_sparse(int fd, const char *path, struct meta meta)
{
    close(fd);
    put_meta(path, S_IFREG, meta);
}

static void sparse_islands(const char *path, uint64_t size, uint64_t first, uint64_t step,
                           size_t island)
{
    int fd = open_sparse(path, size);
    for (uint64_t at = first; at < size; at += step)
        put_island(fd, size, at, island);
    close_sparse(fd, path, plain_meta(0644));
}

/* Space that is reserved and not written: it reads as zeros. */
static void sparse_reserved(const char *path, int mode, uint64_t at, uint64_t length)
{
    int fd = open_sparse(path, 1u << 20);
    put_island(fd, 1u << 20, 65536, 100);
    if (fallocate(fd, mode, (off_t)at, (off_t)length) != 0 && errno != EOPNOTSUPP)
        err(2, "cannot reserve space for '%s'", path);
    close_sparse(fd, path, plain_meta(0644));
}

void section_sparse(const char *dir)
{
    const uint64_t mega = 1u << 20;
    sparse_islands(path_of("%s/hole-first", dir), 4 * mega, 3 * mega, mega, 65536);
    sparse_islands(path_of("%s/hole-last", dir), 4 * mega, 0, 4 * mega, 65536);
    sparse_islands(path_of("%s/hole-alone", dir), 4 * mega, 4 * mega, mega, 1);
    sparse_islands(path_of("%s/hole-alone-odd", dir), 1234567, mega * 4, mega, 1);
    sparse_islands(path_of("%s/hole-middle", dir), 4 * mega, 0, 4 * mega - 65536, 65536);
    sparse_islands(path_of("%s/comb", dir), mega, 0, 8192, 4096);
    sparse_islands(path_of("%s/comb-odd", dir), mega + 77, 4096, 12288, 5000);
    sparse_islands(path_of("%s/one-byte", dir), 4 * mega + 1, 4 * mega, mega, 1);
    sparse_islands(path_of("%s/single-bytes", dir), 2 * mega, 5, 65537, 1);
    sparse_reserved(path_of("%s/reserved", dir), 0, 256 << 10, 512 << 10);
    sparse_reserved(path_of("%s/reserved-behind", dir), FALLOC_FL_KEEP_SIZE, mega, 4 * mega);
    /* Zeros that are data: -S alone keeps them, --sparse=make may make them a hole. */
    static const char zeros[1 << 20];
    make_file(path_of("%s/zeros", dir), plain_meta(0644), zeros, sizeof(zeros));
    const char *huge = keep(path_of("%s/huge", dir));
    int fd = open_sparse(huge, knobs.sparse);
    for (unsigned i = 0; i < 16; i++)
        put_island(fd, knobs.sparse, knobs.sparse / 16 * i + random_below(4096) + 1, 20000);
    put_island(fd, knobs.sparse, knobs.sparse > 100 ? knobs.sparse - 100 : 0, 100);
    close_sparse(fd, huge, plain_meta(0600));
    sparse_islands(path_of("%s/huge-empty", dir), knobs.sparse, UINT64_MAX / 2, 1, 1);
    /* Some of them with a second name. */
    make_link(path_of("%s/comb", dir), path_of("%s/comb-too", dir));
}

static void deep_entries(int dir, uint64_t level, bool is_last)
{
    int fd = openat(dir, "file", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0640);
    char text[32];
    int length = snprintf(text, sizeof(text), "level %" PRIu64 "\n", level);
    if (fd < 0 || write(fd, text, (size_t)length) != length)
        err(2, "cannot write at depth %" PRIu64, level);
    struct meta meta = plain_meta(0);
    if (futimens(fd, (struct timespec[]){meta.atime, meta.mtime}) != 0)
        err(2, "cannot set times at depth %" PRIu64, level);
    close(fd);
    if (symlinkat("../file", dir, "symlink") != 0 || linkat(dir, "file", dir, "link", 0) != 0 ||
        (is_last && mkfifoat(dir, "fifo", 0600) != 0))
        err(2, "cannot make entries at depth %" PRIu64, level);
    const struct timespec times[] = {meta.atime, meta.mtime};
    if (utimensat(dir, "symlink", times, AT_SYMLINK_NOFOLLOW) != 0 ||
        (is_last && utimensat(dir, "fifo", times, AT_SYMLINK_NOFOLLOW) != 0))
        err(2, "cannot set times at depth %" PRIu64, level);
}

/* Down by descriptors, and the metadata on the way back up, when nothing changes any more. */
void section_deep(const char *dir)
{
    static const char name[] = "a-name-of-twenty-one";
    const char *short_name = knobs.depth > 5000 ? "d" : name;
    int at = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    for (uint64_t level = 1; level <= knobs.depth; level++) {
        int below = at < 0 || mkdirat(at, short_name, 0700) != 0
                        ? -1
                        : openat(at, short_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (below < 0)
            err(2, "cannot make a directory at depth %" PRIu64, level);
        close(at);
        at = below;
        if (level % 50 == 0 || level == knobs.depth)
            deep_entries(at, level, level == knobs.depth);
    }
    static const mode_t modes[] = {0755, 0700, 0555, 02755, 01777};
    for (uint64_t level = knobs.depth; level > 0; level--) {
        struct meta meta = plain_meta(modes[level % COUNT(modes)]);
        int above = openat(at, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (above < 0 || fchmod(at, meta.mode) != 0 ||
            futimens(at, (struct timespec[]){meta.atime, meta.mtime}) != 0)
            err(2, "cannot finish the directory at depth %" PRIu64, level);
        close(at);
        at = above;
    }
    close(at);
}

#define RANDOM_PATH_MAX (PATH_MAX - NAME_MAX - 64)

static struct {
    char **list;
    size_t count;
} random_dirs, random_names;

static void remember(char ***list, size_t *count, const char *path)
{
    *list = reallocarray(*list, *count + 1, sizeof(**list));
    char *copy = strdup(path);
    if (!*list || !copy)
        errx(2, "out of memory");
    (*list)[(*count)++] = copy;
}

static void random_sparse(const char *path, struct meta meta)
{
    uint64_t size = 1 + random_below(3u << 20);
    int fd = open_sparse(path, size);
    for (uint64_t i = random_below(8); i > 0; i--) {
        uint64_t at = random_below(size);
        put_island(fd, size, at, 1 + (size_t)random_below(60000));
    }
    close_sparse(fd, path, meta);
}

static uint64_t random_size(void)
{
    if (random_one_in(6))
        return 0;
    if (random_one_in(20))
        return random_below(2u << 20);
    return random_one_in(3) ? 4096 * random_below(20) + random_below(3) : random_below(9000);
}

/* One number after the other: the order in which arguments are computed is not defined, and the
 * tree shall depend on the seed alone. */
static void make_random_node(const char *path, struct meta meta, mode_t type)
{
    unsigned major_number = (unsigned)random_below(300);
    unsigned minor_number = (unsigned)random_below(70000);
    make_node(path, meta, type, makedev(major_number, minor_number));
}

static void random_acl(const char *path, bool is_default)
{
    unsigned named = (unsigned)random_below(8), mask = (unsigned)random_below(8);
    put_acl(path, 7, named, mask, is_default);
}

/* In this order: an owner who may not write may not set attributes, and a change of owner takes
 * the capability away. */
static void random_attributes(const char *path, mode_t type, struct meta meta)
{
    char value[64];
    snprintf(value, sizeof(value), "%" PRIx64, random_next());
    bool is_plain = type == S_IFREG || type == S_IFDIR;
    if (is_plain && chmod(path, 0700) != 0)
        err(2, "cannot change the mode of '%s'", path);
    if (is_plain && random_one_in(4))
        put_attribute(path, path_of("user.r%u", (unsigned)random_below(5)), value, strlen(value));
    if (knobs.is_root && random_one_in(8))
        put_attribute(path, "trusted.random", value, strlen(value));
    if (type == S_IFREG)
        put_meta(path, type, meta);
    if (type != S_IFLNK && random_one_in(8))
        random_acl(path, false);
    if (type == S_IFDIR && random_one_in(6))
        random_acl(path, true);
    if (type == S_IFREG && random_one_in(15))
        put_capability(path);
    put_times(path, meta);
}

static mode_t make_random_entry(const char *path, struct meta *meta)
{
    static const mode_t types[] = {S_IFREG, S_IFREG, S_IFREG, S_IFREG, S_IFREG,  S_IFREG,
                                   S_IFDIR, S_IFDIR, S_IFLNK, S_IFIFO, S_IFSOCK, S_IFCHR};
    mode_t type = types[random_below(COUNT(types))];
    *meta = random_meta(type);
    if (type == S_IFDIR)
        make_directory(path, *meta);
    else if (type == S_IFLNK)
        make_symlink(path, *meta, random_name());
    else if (type != S_IFREG)
        make_random_node(path, *meta, type);
    else if (random_one_in(8))
        random_sparse(path, *meta);
    else
        make_random_file(path, *meta, random_size());
    return type;
}

void section_random(const char *dir)
{
    remember(&random_dirs.list, &random_dirs.count, dir);
    for (uint64_t i = 0; i < knobs.entries; i++) {
        char path[PATH_MAX];
        const char *above = random_dirs.list[random_below(random_dirs.count)];
        snprintf(path, sizeof(path), "%s/%s", above, random_name());
        struct stat st;
        if (lstat(path, &st) == 0)
            continue;
        if (random_names.count && random_one_in(10)) {
            make_link(random_names.list[random_below(random_names.count)], path);
            continue;
        }
        struct meta meta;
        mode_t type = make_random_entry(path, &meta);
        if (lstat(path, &st) != 0)
            continue;
        random_attributes(path, type, meta);
        if (type != S_IFDIR)
            remember(&random_names.list, &random_names.count, path);
        else if (strlen(path) < RANDOM_PATH_MAX)
            remember(&random_dirs.list, &random_dirs.count, path);
    }
}
