/* treecmp.c - compares two trees in everything that a faithful copy keeps.
 *
 *     treecmp [--no ASPECT,...] [--also ASPECT,...] [--skip-root] [--count] [--max N] A B
 *
 * One line for each difference; exit 0 when there is none, 1 when there are, 2 when it could not
 * compare at all. The oracle of the copy tests, so nothing of the product is used here: a mistake
 * in a shared walk or a shared comparison would hide itself.
 *
 * The walk goes down by openat() and up through "..", and checks where it arrives. So it needs two
 * descriptors for each tree, and paths may be longer than PATH_MAX and deeper than any limit on
 * descriptors; a stack holds the names of directories that are still to be visited.
 */
#include "treecmp.h"

#include <dirent.h>
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "banned.h"

#define SHOWN_MAX 300 /* of a path; the middle of a longer one is left out */

enum { EXIT_SAME, EXIT_DIFFERENT, EXIT_TROUBLE };

#define ASPECT_NAME(name, text, preset)   text,
#define ASPECT_PRESET(name, text, preset) preset,
static const char *const aspect_names[] = {ASPECTS(ASPECT_NAME)};
static bool wanted[] = {ASPECTS(ASPECT_PRESET)};

static uint64_t differences;
static uint64_t differences_shown_max = 200;
static uint64_t entries;

/* Names one after the other, each with its zero; places says where each begins. */
struct names {
    char *text;
    size_t length, room;
    size_t *places;
    size_t count, places_room;
};

/* One directory on the way from the root to where we are. */
struct level {
    struct names dirs; /* common subdirectories that are still to be visited, from `next` on */
    size_t next;
    size_t path_length;
    struct statx a, b; /* who they are, to see that ".." leads back */
};

static struct {
    char *text;
    size_t length, room;
} path;

bool is_wanted(enum aspect aspect)
{
    return wanted[aspect];
}

void *grow(void *memory, size_t count, size_t size)
{
    void *larger = reallocarray(memory, count, size);
    if (!larger)
        errx(EXIT_TROUBLE, "out of memory");
    return larger;
}

char *escape(const char *text)
{
    char *result = grow(NULL, 4 * strlen(text) + 1, 1), *end = result;
    for (const unsigned char *p = (const unsigned char *)text; *p; p++) {
        if (*p == '\\' || *p == '\'')
            *end++ = '\\';
        if (*p < 0x20 || *p > 0x7e)
            end += snprintf(end, 5, "\\x%02x", *p);
        else
            *end++ = (char)*p;
    }
    *end = '\0';
    return result;
}

void differ(enum aspect aspect, const char *where, const char *format, ...)
{
    if (!wanted[aspect] || ++differences > differences_shown_max)
        return;
    va_list arguments;
    va_start(arguments, format);
    char *shown = escape(*where ? where : ".");
    size_t length = strlen(shown);
    if (length > SHOWN_MAX)
        printf("%s '%.*s...%s': ", aspect_names[aspect], SHOWN_MAX / 2, shown,
               shown + length - SHOWN_MAX / 2);
    else
        printf("%s '%s': ", aspect_names[aspect], shown);
    free(shown);
    vprintf(format, arguments);
    putchar('\n');
    va_end(arguments);
}

int open_quietly(int dir, const char *name, int flags)
{
    int fd = openat(dir, name, flags | O_NOFOLLOW | O_NONBLOCK | O_NOATIME | O_CLOEXEC);
    if (fd < 0 && errno == EPERM)
        fd = openat(dir, name, flags | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    return fd;
}

static void names_add(struct names *names, const char *name)
{
    size_t size = strlen(name) + 1;
    if (names->length + size > names->room) {
        names->room = 2 * (names->room + size);
        names->text = grow(names->text, names->room, 1);
    }
    if (names->count == names->places_room) {
        names->places_room = names->places_room ? 2 * names->places_room : 16;
        names->places = grow(names->places, names->places_room, sizeof(size_t));
    }
    memcpy(names->text + names->length, name, size);
    names->places[names->count++] = names->length;
    names->length += size;
}

static void names_free(struct names *names)
{
    free(names->text);
    free(names->places);
    *names = (struct names){0};
}

static const char *names_at(const struct names *names, size_t index)
{
    return names->text + names->places[index];
}

static int by_name(const void *a, const void *b, void *text)
{
    const char *base = text;
    return strcmp(base + *(const size_t *)a, base + *(const size_t *)b);
}

/* Sorted. The descriptor stays open and stands at the end. */
static int names_read(struct names *names, int dir)
{
    int copy = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_NOATIME | O_CLOEXEC);
    if (copy < 0 && errno == EPERM)
        copy = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *stream = copy < 0 ? NULL : fdopendir(copy);
    if (!stream)
        return -1;
    errno = 0;
    for (struct dirent *entry; (entry = readdir(stream)); errno = 0)
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            names_add(names, entry->d_name);
    int problem = errno;
    closedir(stream);
    if (names->count)
        qsort_r(names->places, names->count, sizeof(size_t), by_name, names->text);
    errno = problem;
    return problem ? -1 : 0;
}

/* Returns the length before, to be given back to path_cut(). */
static size_t path_add(const char *name)
{
    size_t before = path.length, size = strlen(name);
    if (path.length + size + 2 > path.room) {
        path.room = 2 * (path.room + size + 2);
        path.text = grow(path.text, path.room, 1);
    }
    if (path.length)
        path.text[path.length++] = '/';
    memcpy(path.text + path.length, name, size + 1);
    path.length += size;
    return before;
}

static void path_cut(size_t length)
{
    path.length = length;
    path.text[length] = '\0';
}

static void compare_pair(struct level *level, int a, int b, const char *name)
{
    size_t before = path_add(name);
    struct side left = {.dir = a, .name = name}, right = {.dir = b, .name = name};
    entries++;
    if (compare_entry(path.text, &left, &right))
        names_add(&level->dirs, name);
    path_cut(before);
}

static void compare_lonely(enum aspect aspect, const char *name)
{
    size_t before = path_add(name);
    differ(aspect, path.text, "is in the %s tree alone",
           aspect == ASPECT_MISSING ? "first" : "second");
    path_cut(before);
}

/* All entries of two directories; those to descend into are kept in the level. */
static void compare_directory(struct level *level, int a, int b)
{
    struct names left = {0}, right = {0};
    if (names_read(&left, a) != 0)
        differ(ASPECT_UNREADABLE, path.text, "cannot list the first: %s", strerror(errno));
    if (names_read(&right, b) != 0)
        differ(ASPECT_UNREADABLE, path.text, "cannot list the second: %s", strerror(errno));
    for (size_t i = 0, j = 0; i < left.count || j < right.count;) {
        int order = i == left.count    ? 1
                    : j == right.count ? -1
                                       : strcmp(names_at(&left, i), names_at(&right, j));
        if (order < 0)
            compare_lonely(ASPECT_MISSING, names_at(&left, i));
        else if (order > 0)
            compare_lonely(ASPECT_EXTRA, names_at(&right, j));
        else
            compare_pair(level, a, b, names_at(&left, i));
        i += order <= 0;
        j += order >= 0;
    }
    names_free(&left);
    names_free(&right);
}

static bool is_same_inode(const struct statx *a, const struct statx *b)
{
    return a->stx_ino == b->stx_ino && a->stx_dev_major == b->stx_dev_major &&
           a->stx_dev_minor == b->stx_dev_minor;
}

static void look_at(int fd, struct statx *st)
{
    if (statx(fd, "", AT_EMPTY_PATH, STATX_BASIC_STATS, st) != 0)
        err(EXIT_TROUBLE, "cannot look at an open directory below '%s'", path.text);
}

/* Replaces the descriptor of a directory by that of the one above, which must be the one that the
 * walk came from. */
static void climb(int *dir, const struct statx *above)
{
    int fd = openat(*dir, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);
    struct statx st;
    if (fd < 0)
        err(EXIT_TROUBLE, "cannot go back from '%s'", path.text);
    look_at(fd, &st);
    if (!is_same_inode(&st, above))
        errx(EXIT_TROUBLE, "the trees are being changed: '..' of '%s' is another", path.text);
    close(*dir);
    *dir = fd;
}

/* True when the walk is in the next directory now. */
static bool descend(int *a, int *b, const char *name)
{
    int left = openat(*a, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    int right = openat(*b, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (left < 0 || right < 0) {
        differ(ASPECT_UNREADABLE, path.text, "cannot open the directory: %s", strerror(errno));
        if (left >= 0)
            close(left);
        if (right >= 0)
            close(right);
        return false;
    }
    close(*a);
    close(*b);
    *a = left;
    *b = right;
    return true;
}

static void compare_trees(int a, int b)
{
    struct level *levels = NULL;
    size_t depth = 0, room = 0;
    for (bool is_new = true;;) {
        if (is_new) {
            if (depth == room) {
                room = room ? 2 * room : 64;
                levels = grow(levels, room, sizeof(*levels));
            }
            levels[depth] = (struct level){.path_length = path.length};
            look_at(a, &levels[depth].a);
            look_at(b, &levels[depth].b);
            compare_directory(&levels[depth++], a, b);
        }
        struct level *level = &levels[depth - 1];
        is_new = level->next < level->dirs.count;
        if (is_new) {
            size_t before = path_add(names_at(&level->dirs, level->next++));
            is_new = descend(&a, &b, names_at(&level->dirs, level->next - 1));
            if (!is_new)
                path_cut(before);
            continue;
        }
        names_free(&level->dirs);
        if (--depth == 0)
            break;
        climb(&a, &levels[depth - 1].a);
        climb(&b, &levels[depth - 1].b);
        path_cut(levels[depth - 1].path_length);
    }
    free(levels);
    close(a);
    close(b);
}

static void choose(const char *list, bool value)
{
    for (const char *p = list; *p;) {
        size_t length = strcspn(p, ",");
        bool is_known = false;
        for (size_t i = 0; i < ASPECT_COUNT; i++) {
            const char *name = aspect_names[i];
            bool is_meant = strlen(name) == length && memcmp(name, p, length) == 0;
            /* Two short words for what is often left out together. */
            is_meant |= length == 5 && memcmp(p, "times", 5) == 0 && strstr(name, "mtime");
            is_meant |=
                length == 5 && memcmp(p, "owner", 5) == 0 && (i == ASPECT_UID || i == ASPECT_GID);
            if (is_meant) {
                wanted[i] = value;
                is_known = true;
            }
        }
        if (!is_known)
            errx(EXIT_TROUBLE, "there is no aspect '%.*s'", (int)length, p);
        p += length + (p[length] == ',');
    }
}

static void usage(void)
{
    fputs("usage: treecmp [--no ASPECT,...] [--also ASPECT,...] [--skip-root] [--count] [--max N]"
          " A B\naspects (times and owner stand for several; * only with --also):",
          stderr);
    for (size_t i = 0; i < ASPECT_COUNT; i++)
        fprintf(stderr, " %s%s", aspect_names[i], wanted[i] ? "" : "*");
    fputc('\n', stderr);
    exit(EXIT_TROUBLE);
}

static int open_root(const char *name)
{
    int fd = open(name, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        err(EXIT_TROUBLE, "cannot open '%s'", name);
    return fd;
}

int main(int argc, char **argv)
{
    bool skip_root = false, count = false;
    int at = 1;
    for (; at < argc && strncmp(argv[at], "--", 2) == 0; at++) {
        bool has_value = at + 1 < argc;
        if (strcmp(argv[at], "--skip-root") == 0)
            skip_root = true;
        else if (strcmp(argv[at], "--count") == 0)
            count = true;
        else if (strcmp(argv[at], "--no") == 0 && has_value)
            choose(argv[++at], false);
        else if (strcmp(argv[at], "--also") == 0 && has_value)
            choose(argv[++at], true);
        else if (strcmp(argv[at], "--max") == 0 && has_value)
            differences_shown_max = strtoull(argv[++at], NULL, 10);
        else
            usage();
    }
    if (argc - at != 2)
        usage();
    int a = open_root(argv[at]), b = open_root(argv[at + 1]);
    path_cut(path_add(""));
    struct side left = {.dir = a, .name = "."}, right = {.dir = b, .name = "."};
    if (!skip_root)
        compare_entry(path.text, &left, &right);
    compare_trees(a, b);
    free(path.text);
    if (differences > differences_shown_max)
        printf("and %" PRIu64 " more\n", differences - differences_shown_max);
    if (count)
        printf("%" PRIu64 "\n", entries);
    if (fflush(stdout) != 0)
        err(EXIT_TROUBLE, "cannot write");
    return differences ? EXIT_DIFFERENT : EXIT_SAME;
}
