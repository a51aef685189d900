/* scan_given.c - paths that name the same thing twice, or lie in each other: `. src src/a.c`.
 *
 * Each path is scanned for itself, under the name that the user gave, and a walk that comes to
 * something that is a path of its own passes by. So nothing is scanned twice, and nothing is lost
 * when the walk would not have come there: another file system, a directory that git ignores.
 *
 * A directory is known by device and inode. A file is known by those of its directory and its name
 * there, not by its own: another name of the same inode is another place where a secret lies.
 *
 * Memory: an entry for each path and the last names of files, which the command line bounds.
 */
#include "scan_part.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "sorted.h"
#include "sys.h"

#include "banned.h"

struct known {
    dev_t device;
    ino_t inode;
    char *name; /* of a file in that directory; NULL: the directory itself */
    size_t index;
};

struct weir__scan_given {
    size_t count, paths_count;
    struct known *known; /* sorted */
    bool *is_again;      /* by index */
};

static int compare_name(const char *a, const char *b)
{
    if (!a || !b)
        return (a != NULL) - (b != NULL);
    return strcmp(a, b);
}

static int compare_thing(const void *left, const void *right)
{
    const struct known *a = left, *b = right;
    if (a->device != b->device)
        return a->device < b->device ? -1 : 1;
    if (a->inode != b->inode)
        return a->inode < b->inode ? -1 : 1;
    return compare_name(a->name, b->name);
}

static int compare(const void *a, const void *b)
{
    const struct known *left = a, *right = b;
    int order = compare_thing(left, right);
    return order ? order : (left->index > right->index) - (left->index < right->index);
}

/* The directory of a file, and its name there, by the way that symlinks lead. */
static bool know_file(struct known *known, const char *path)
{
    char whole[PATH_MAX];
    struct stat st;
    if (!realpath(path, whole))
        return false;
    char *slash = strrchr(whole, '/');
    size_t length = strlen(slash + 1) + 1;
    known->name = weir__base_alloc(1, length);
    if (!known->name)
        return false;
    memcpy(known->name, slash + 1, length);
    slash[slash == whole] = '\0';
    if (weir__sys_fstatat(AT_FDCWD, whole, &st, 0) < 0) {
        weir__base_free(known->name);
        return false;
    }
    known->device = st.st_dev;
    known->inode = st.st_ino;
    return true;
}

static void mark_again(struct weir__scan_given *given)
{
    for (size_t i = 1; i < given->count; i++)
        if (compare_thing(&given->known[i - 1], &given->known[i]) == 0)
            given->is_again[given->known[i].index] = true;
}

struct weir__scan_given *weir__scan_given_new(struct weir__scan_worker *w)
{
    const struct weir__scan_options *options = w->run->options;
    const struct weir__scan_fetcher *fetcher = options->fetcher;
    if (options->paths_count < 2)
        return NULL;
    struct weir__scan_given *given = weir__base_alloc(1, sizeof(*given));
    if (!given)
        return NULL;
    given->known = weir__base_alloc(options->paths_count, sizeof(*given->known));
    given->is_again = weir__base_alloc(options->paths_count, sizeof(*given->is_again));
    for (size_t i = 0; given->known && given->is_again && i < options->paths_count; i++) {
        const char *path = options->paths[i];
        struct stat st;
        if (strcmp(path, "-") == 0 || (fetcher && fetcher->is_mine(fetcher->arg, path)) ||
            weir__sys_fstatat(AT_FDCWD, path, &st, 0) < 0)
            continue;
        struct known one = {.device = st.st_dev, .inode = st.st_ino, .index = i};
        if (S_ISDIR(st.st_mode) || (S_ISREG(st.st_mode) && know_file(&one, path)))
            given->known[given->count++] = one;
    }
    given->paths_count = options->paths_count;
    if (given->count < 2) {
        weir__scan_given_free(given);
        return NULL;
    }
    qsort(given->known, given->count, sizeof(*given->known), compare);
    mark_again(given);
    return given;
}

void weir__scan_given_free(struct weir__scan_given *given)
{
    if (!given)
        return;
    for (size_t i = 0; i < given->count; i++)
        weir__base_free(given->known[i].name);
    weir__base_free(given->known);
    weir__base_free(given->is_again);
    weir__base_free(given);
}

bool weir__scan_given_again(const struct weir__scan_given *given, size_t index)
{
    return given && index < given->paths_count && given->is_again[index];
}

/* The first that does not stand before this one. */
static size_t find(const struct weir__scan_given *given, const struct known *wanted)
{
    return weir__sorted_from(given->known, given->count, sizeof(given->known[0]), wanted,
                             compare_thing);
}

static bool has(const struct weir__scan_given *given, const struct known *wanted)
{
    if (!given)
        return false;
    size_t at = find(given, wanted);
    return at < given->count && compare_thing(&given->known[at], wanted) == 0;
}

bool weir__scan_given_dir(const struct weir__scan_given *given, dev_t device, ino_t inode)
{
    const struct known wanted = {.device = device, .inode = inode};
    return has(given, &wanted);
}

bool weir__scan_given_in(const struct weir__scan_given *given, dev_t device, ino_t inode)
{
    char first[] = ""; /* stands before every name, and behind the directory itself */
    const struct known wanted = {.device = device, .inode = inode, .name = first};
    if (!given)
        return false;
    size_t at = find(given, &wanted);
    return at < given->count && given->known[at].device == device &&
           given->known[at].inode == inode;
}

bool weir__scan_given_file(const struct weir__scan_given *given, dev_t device, ino_t inode,
                           const char *name)
{
    const struct known wanted = {.device = device, .inode = inode, .name = (char *)(uintptr_t)name};
    return has(given, &wanted);
}
