/* tree.c - the commands, and what they share. bench/copy/run calls them. */
#include "tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

_Noreturn void tree_die(const char *what, const char *subject)
{
    if (errno)
        fprintf(stderr, "bench-copy-tree: %s '%s': %s\n", what, subject, strerror(errno));
    else
        fprintf(stderr, "bench-copy-tree: %s '%s'\n", what, subject);
    exit(1);
}

int tree_open_dir(int parent, const char *name)
{
    int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        tree_die("cannot open", name);
    return fd;
}

int tree_open_file(int parent, const char *name)
{
    int fd = openat(parent, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        tree_die("cannot open", name);
    return fd;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void names_add(struct tree_names *names, const char *name)
{
    if (names->count == names->room) {
        names->room = names->room ? names->room * 2 : 128;
        names->names = realloc(names->names, names->room * sizeof(names->names[0]));
        if (!names->names)
            tree_die("no memory for", name);
    }
    names->names[names->count] = strdup(name);
    if (!names->names[names->count++])
        tree_die("no memory for", name);
}

void tree_names_read(struct tree_names *ret_names, int dir)
{
    *ret_names = (struct tree_names){0};
    int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *stream = fd < 0 ? NULL : fdopendir(fd);
    if (!stream)
        tree_die("cannot list", "a directory");
    struct dirent *entry;
    errno = 0;
    while ((entry = readdir(stream)))
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            names_add(ret_names, entry->d_name);
    if (errno)
        tree_die("cannot list", "a directory");
    closedir(stream);
    if (ret_names->count > 0)
        qsort(ret_names->names, ret_names->count, sizeof(ret_names->names[0]), compare_names);
}

void tree_names_free(struct tree_names *names)
{
    for (size_t i = 0; i < names->count; i++)
        free(names->names[i]);
    free(names->names);
    *names = (struct tree_names){0};
}

size_t tree_read_fully(int fd, void *buffer, size_t size)
{
    size_t done = 0;
    while (done < size) {
        ssize_t got = read(fd, (char *)buffer + done, size - done);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            tree_die("cannot read", "a file");
        if (got == 0)
            break;
        done += (size_t)got;
    }
    return done;
}

void tree_stat(int parent, const char *name, struct stat *ret_info)
{
    if (fstatat(parent, name, ret_info, AT_SYMLINK_NOFOLLOW) != 0)
        tree_die("cannot look at", name);
}

static void read_below(int dir, char *buffer)
{
    struct tree_names names;
    tree_names_read(&names, dir);
    for (size_t i = 0; i < names.count; i++) {
        struct stat info;
        tree_stat(dir, names.names[i], &info);
        if (S_ISDIR(info.st_mode)) {
            int child = tree_open_dir(dir, names.names[i]);
            read_below(child, buffer);
            close(child);
        } else if (S_ISREG(info.st_mode)) {
            int file = tree_open_file(dir, names.names[i]);
            while (tree_read_fully(file, buffer, TREE_BUFFER_SIZE) == TREE_BUFFER_SIZE) {}
            close(file);
        }
    }
    tree_names_free(&names);
}

void tree_read(const char *dir)
{
    static char buffer[TREE_BUFFER_SIZE];
    int root = tree_open_dir(AT_FDCWD, dir);
    read_below(root, buffer);
    close(root);
}

/* The file system's alone: others on the machine may have much to write elsewhere. */
static void settle(const char *dir)
{
    int root = tree_open_dir(AT_FDCWD, dir);
    if (syncfs(root) != 0)
        tree_die("cannot sync", dir);
    close(root);
}

static uint64_t number_of(const char *text)
{
    char *end = NULL;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    if (errno || end == text || *end || text[0] == '-') {
        errno = 0;
        tree_die("not a number:", text);
    }
    return value;
}

/* Each level of a chain holds a descriptor while it is walked. */
static void allow_descriptors(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        limit.rlim_cur = limit.rlim_max;
        (void)setrlimit(RLIMIT_NOFILE, &limit);
    }
}

int main(int argc, char **argv)
{
    const char *command = argc > 1 ? argv[1] : "";
    allow_descriptors();
    if (argc == 9 && strcmp(command, "make") == 0) {
        struct tree_shape shape = {number_of(argv[3]), number_of(argv[4]), number_of(argv[5]),
                                   number_of(argv[6]), number_of(argv[7]), number_of(argv[8])};
        tree_make(argv[2], &shape);
    } else if (argc == 4 && strcmp(command, "skeleton") == 0) {
        tree_skeleton(argv[2], argv[3]);
    } else if (argc == 3 && strcmp(command, "read") == 0) {
        tree_read(argv[2]);
    } else if (argc == 4 && strcmp(command, "compare") == 0) {
        tree_compare(argv[2], argv[3]);
    } else if (argc == 3 && strcmp(command, "settle") == 0) {
        settle(argv[2]);
    } else {
        fputs("usage: bench-copy-tree make DIR CHAINS LEVELS FILES SIZE_MIN SIZE_MAX SEED\n"
              "       bench-copy-tree skeleton SRC DST\n"
              "       bench-copy-tree read|settle DIR\n"
              "       bench-copy-tree compare SRC DST\n",
              stderr);
        return 2;
    }
    return 0;
}
