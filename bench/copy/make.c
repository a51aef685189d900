/* make.c - trees that are the same every time: sizes, bytes, modes and times come from the seed.
 *
 * Files are made directory by directory, in the order of their names, as unpacking an archive
 * does. Modes vary and times have nanoseconds, so that a copy that drops them is found out.
 */
#include "tree.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define TIME_BASE_S  1500000000
#define TIME_RANGE_S 100000000u

struct maker {
    const struct tree_shape *shape;
    uint64_t file_count;
    uint64_t dir_count;
    uint64_t buffer[TREE_BUFFER_SIZE / sizeof(uint64_t)];
};

/* splitmix64: any state will do to begin with, so that each file can have its own. */
static uint64_t random_next(uint64_t *state)
{
    uint64_t z = (*state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static uint64_t random_of(uint64_t seed, uint64_t kind, uint64_t number)
{
    uint64_t state = seed ^ (kind << 56) ^ number;
    return random_next(&state);
}

static struct timespec time_from(uint64_t *state)
{
    return (struct timespec){.tv_sec = TIME_BASE_S + (time_t)(random_next(state) % TIME_RANGE_S),
                             .tv_nsec = (long)(random_next(state) % 1000000000u)};
}

static void write_fully(int fd, const void *bytes, size_t size)
{
    size_t done = 0;
    while (done < size) {
        ssize_t put = write(fd, (const char *)bytes + done, size - done);
        if (put < 0 && errno == EINTR)
            continue;
        if (put <= 0)
            tree_die("cannot write", "a file");
        done += (size_t)put;
    }
}

static void make_file(struct maker *maker, int dir)
{
    static const mode_t modes[8] = {0644, 0644, 0644, 0644, 0644, 0600, 0755, 0440};
    const struct tree_shape *shape = maker->shape;
    uint64_t state = random_of(shape->seed, 1, maker->file_count);
    char name[32];
    snprintf(name, sizeof(name), "f%07llu", (unsigned long long)maker->file_count++);
    int file = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (file < 0)
        tree_die("cannot make", name);
    uint64_t left = shape->size_min + random_next(&state) % (shape->size_max - shape->size_min + 1);
    while (left > 0) {
        size_t size = left < TREE_BUFFER_SIZE ? (size_t)left : TREE_BUFFER_SIZE;
        for (size_t i = 0; i < (size + 7) / 8; i++)
            maker->buffer[i] = random_next(&state);
        write_fully(file, maker->buffer, size);
        left -= size;
    }
    struct timespec time = time_from(&state);
    if (fchmod(file, modes[random_next(&state) % 8]) != 0 ||
        futimens(file, (struct timespec[2]){time, time}) != 0 || close(file) != 0)
        tree_die("cannot make", name);
}

static void make_files(struct maker *maker, int dir)
{
    for (uint64_t i = 0; i < maker->shape->files; i++)
        make_file(maker, dir);
}

static int make_dir(int parent, const char *name)
{
    if (mkdirat(parent, name, 0755) != 0)
        tree_die("cannot make", name);
    return tree_open_dir(parent, name);
}

void tree_finish_dir(int dir, mode_t mode, const struct timespec *time)
{
    if (fchmod(dir, mode & 07777) != 0 || futimens(dir, (struct timespec[2]){*time, *time}) != 0)
        tree_die("cannot finish", "a directory");
}

static void finish_made_dir(struct maker *maker, int dir)
{
    uint64_t state = random_of(maker->shape->seed, 2, maker->dir_count++);
    struct timespec time = time_from(&state);
    tree_finish_dir(dir, random_next(&state) % 4 == 0 ? 0700 : 0755, &time);
}

static void make_chain(struct maker *maker, int parent, const char *name, uint64_t levels)
{
    int dir = make_dir(parent, name);
    make_files(maker, dir);
    if (levels > 1)
        make_chain(maker, dir, "d", levels - 1);
    finish_made_dir(maker, dir);
    close(dir);
}

void tree_make(const char *dir, const struct tree_shape *shape)
{
    static struct maker maker;
    if (shape->size_min > shape->size_max) {
        errno = 0;
        tree_die("the least size is above the greatest for", dir);
    }
    maker.shape = shape;
    int root = make_dir(AT_FDCWD, dir);
    if (shape->chains == 0)
        make_files(&maker, root);
    for (uint64_t i = 0; i < shape->chains; i++) {
        char name[32];
        snprintf(name, sizeof(name), "d%05llu", (unsigned long long)i);
        make_chain(&maker, root, name, shape->levels);
    }
    finish_made_dir(&maker, root);
    close(root);
}

static void copy_dirs(int src, int dst)
{
    struct tree_names names;
    tree_names_read(&names, src);
    for (size_t i = 0; i < names.count; i++) {
        struct stat info;
        tree_stat(src, names.names[i], &info);
        if (!S_ISDIR(info.st_mode))
            continue;
        int from = tree_open_dir(src, names.names[i]);
        int to = make_dir(dst, names.names[i]);
        copy_dirs(from, to);
        tree_finish_dir(to, info.st_mode, &info.st_mtim);
        close(from);
        close(to);
    }
    tree_names_free(&names);
}

void tree_skeleton(const char *src, const char *dst)
{
    struct stat info;
    tree_stat(AT_FDCWD, src, &info);
    int from = tree_open_dir(AT_FDCWD, src);
    int to = make_dir(AT_FDCWD, dst);
    copy_dirs(from, to);
    tree_finish_dir(to, info.st_mode, &info.st_mtim);
    close(from);
    close(to);
}
