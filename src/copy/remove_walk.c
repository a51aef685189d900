/* remove_walk.c - going down, coming up, and finding the way again.
 *
 * No name is ever resolved through a symlink: every call takes a directory that was reached by
 * O_NOFOLLOW and one name. If somebody moves a directory away while we are in it, ".." leads to
 * somewhere else; then the way is looked for from the top again, by names and inodes, as far as it
 * still exists.
 */
#include "remove_walk.h"

#include <stdio.h>
#include <string.h>

#include "alloc.h"
#include "require.h"
#include "sys.h"

#include "banned.h"

#define OPEN_MAX        WEIR__REMOVE_OPEN_MAX
#define ENTRIES_BYTES   (16u << 10) /* what is read of a directory at a time */
#define LEVELS_FIRST    64u
#define LEVELS_MAX      (1u << 22)
#define NAMES_BYTES_MAX (1u << 30) /* of all levels together */
#define OPEN_DIR        (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NOCTTY | O_NONBLOCK)

/* --- where we are --- */

struct weir__remove_level *weir__remove_last(struct weir__remove_walk *walk)
{
    return walk->depth > 0 ? &walk->levels[walk->depth - 1] : NULL;
}

static struct weir__remove_open *open_of(struct weir__remove_walk *walk, size_t level)
{
    return &walk->open[level % OPEN_MAX];
}

int weir__remove_here(struct weir__remove_walk *walk)
{
    return walk->depth > 0 ? open_of(walk, walk->depth - 1)->fd : walk->top_dir;
}

static void close_open(struct weir__remove_open *open)
{
    weir__sys_close_at(&open->fd);
    open->at = open->length = 0;
}

/* When there are no more descriptors: one for each directory but this can be spared. */
static bool spare_descriptors(struct weir__remove_walk *walk)
{
    bool any = false;
    for (size_t i = 0; i < OPEN_MAX; i++) {
        struct weir__remove_open *open = &walk->open[i];
        if (open->fd >= 0 && open->level + 1 != walk->depth) {
            close_open(open);
            any = true;
        }
    }
    return any;
}

/* The name of a level in the directory above, as a part of the path that ends there. */
static const char *name_of(const struct weir__remove_walk *walk, size_t level)
{
    if (level == 0)
        return walk->top_name;
    size_t above = walk->levels[level - 1].path_length;
    return weir__buffer_text(&walk->path) + above + (above > 0);
}

/* --- what the caller hears --- */

/* Appends the name, if that is possible; the length before is what to truncate to again. */
static size_t path_append(struct weir__remove_walk *walk, const char *name, int *ret_error)
{
    size_t length = weir__buffer_length(&walk->path);
    int error = 0;
    if (walk->depth > 0) {
        error = weir__buffer_reserve(&walk->path, strlen(name) + 1);
        if (!error && length > 0)
            error = weir__buffer_putc(&walk->path, '/');
        if (!error)
            error = weir__buffer_puts(&walk->path, name);
    }
    *ret_error = error;
    return length;
}

/* The path as it is told, at most WEIR__REMOVE_PATH_MAX bytes. A longer one is cut in place and
 * made whole again by path_unclip(), since nobody has that much memory to spare twice. */
#define CLIP_AT (WEIR__REMOVE_PATH_MAX - 3)

static const char *path_clip(struct weir__remove_walk *walk, char kept[4])
{
    char *text = (char *)weir__buffer_text(&walk->path);
    if (weir__buffer_length(&walk->path) > WEIR__REMOVE_PATH_MAX) {
        memcpy(kept, text + CLIP_AT, 4);
        memcpy(text + CLIP_AT, "...", 4);
    }
    return text;
}

static void path_unclip(struct weir__remove_walk *walk, const char kept[4])
{
    if (weir__buffer_length(&walk->path) > WEIR__REMOVE_PATH_MAX)
        memcpy((char *)weir__buffer_text(&walk->path) + CLIP_AT, kept, 4);
}

void weir__remove_tell(struct weir__remove_walk *walk, const char *what, int errno_value)
{
    char kept[4] = "";
    if (!walk->options->failed)
        return;
    walk->options->failed(walk->options->arg, path_clip(walk, kept), what, errno_value);
    path_unclip(walk, kept);
}

void weir__remove_note_stuck(struct weir__remove_walk *walk)
{
    struct weir__remove_level *level = weir__remove_last(walk);
    if (!level)
        walk->is_top_stuck = true;
    else if (level->stuck < UINT32_MAX)
        level->stuck++;
}

void weir__remove_note_removed(struct weir__remove_walk *walk)
{
    struct weir__remove_level *level = weir__remove_last(walk);
    walk->removed++;
    if (level && level->removed < UINT32_MAX)
        level->removed++;
}

void weir__remove_failed(struct weir__remove_walk *walk, const char *name, const char *what)
{
    int errno_value = errno, error;
    weir__remove_note_stuck(walk);
    size_t length = path_append(walk, name, &error);
    weir__remove_tell(walk, what, errno_value);
    weir__buffer_truncate(&walk->path, length);
}

bool weir__remove_may(struct weir__remove_walk *walk, const char *name, bool is_dir)
{
    char kept[4] = "";
    int error;
    if (!walk->options->may)
        return true;
    size_t length = path_append(walk, name, &error);
    if (error) {
        /* Not asking is not an answer. */
        errno = ENOMEM;
        weir__remove_tell(walk, "cannot remove an entry of", ENOMEM);
        return false;
    }
    bool may = walk->options->may(walk->options->arg, path_clip(walk, kept), is_dir);
    path_unclip(walk, kept);
    weir__buffer_truncate(&walk->path, length);
    return may;
}

void weir__remove_gone(struct weir__remove_walk *walk, const char *name, bool is_dir)
{
    char kept[4] = "";
    int error = 0;
    if (!walk->options->gone)
        return;
    size_t length = name ? path_append(walk, name, &error) : weir__buffer_length(&walk->path);
    walk->options->gone(walk->options->arg, path_clip(walk, kept), is_dir);
    path_unclip(walk, kept);
    weir__buffer_truncate(&walk->path, length);
}

/* --- modes --- */

bool weir__remove_is_locked(const struct stat *st)
{
    return st->st_uid == geteuid() && (st->st_mode & S_IRWXU) != S_IRWXU;
}

/* Makes a level, which is open, readable, writable and searchable, if it is ours and was not. */
static bool unlock_level(struct weir__remove_walk *walk, size_t level_index)
{
    struct weir__remove_level *level = &walk->levels[level_index];
    int fd = open_of(walk, level_index)->fd;
    struct stat st;
    if (level->is_changed || walk->options->dry_run)
        return false;
    if (weir__sys_fstat(fd, &st) != 0 || !weir__remove_is_locked(&st) ||
        weir__sys_fchmod(fd, (st.st_mode & 07777) | S_IRWXU) != 0)
        return false;
    level->mode = (uint16_t)(st.st_mode & 07777);
    level->is_changed = true;
    return true;
}

bool weir__remove_unlock(struct weir__remove_walk *walk, size_t depth)
{
    int saved = errno;
    bool again = saved == EACCES && depth > 0 && unlock_level(walk, depth - 1);
    errno = saved;
    return again;
}

/* --- down --- */

/* openat, and again after something was done about its failure. dir is this directory, or none that
 * could be closed for that. */
static int open_in(struct weir__remove_walk *walk, int dir, const char *name, int flags)
{
    for (;;) {
        int fd = weir__sys_openat(dir, name, flags, 0);
        if (fd >= 0)
            return fd;
        int saved = errno;
        bool is_short = saved == EMFILE || saved == ENFILE;
        bool again = is_short ? spare_descriptors(walk) : weir__remove_unlock(walk, walk->depth);
        errno = saved;
        if (!again)
            return -1;
    }
}

/* A directory that may not be read, opened after its mode was changed. Through a descriptor without
 * rights, so that it is the same directory in each step. */
static int open_locked(struct weir__remove_walk *walk, const char *name, mode_t *ret_mode)
{
    char link[sizeof("/proc/self/fd/") + 3 * sizeof(int)];
    struct stat st;
    int result = -1;
    int path_fd = open_in(walk, weir__remove_here(walk), name, O_PATH | O_DIRECTORY | O_NOFOLLOW);
    if (path_fd < 0)
        return -1;
    snprintf(link, sizeof(link), "/proc/self/fd/%d", path_fd);
    if (weir__sys_fstat(path_fd, &st) != 0 || !weir__remove_is_locked(&st) ||
        weir__sys_fchmodat(AT_FDCWD, link, (st.st_mode & 07777) | S_IRWXU) != 0)
        errno = EACCES;
    else
        result = open_in(walk, path_fd, ".", OPEN_DIR);
    weir__sys_close(path_fd);
    if (result >= 0)
        *ret_mode = st.st_mode & 07777;
    return result;
}

int weir__remove_open_child(struct weir__remove_walk *walk, const char *name, mode_t *ret_mode)
{
    int fd = open_in(walk, weir__remove_here(walk), name, OPEN_DIR);
    if (fd < 0 && errno == EACCES && !walk->options->dry_run)
        fd = open_locked(walk, name, ret_mode);
    return fd;
}

static int reserve_level(struct weir__remove_walk *walk, struct weir__remove_open *open)
{
    if (!open->entries)
        open->entries = weir__base_alloc(ENTRIES_BYTES, 1);
    if (!open->entries)
        return -1;
    if (walk->depth < walk->levels_room)
        return 0;
    size_t room = walk->levels_room ? walk->levels_room * 2 : LEVELS_FIRST;
    if (room > LEVELS_MAX)
        return -1;
    struct weir__remove_level *levels = weir__base_realloc(walk->levels, room, sizeof(*levels));
    if (!levels)
        return -1;
    walk->levels = levels;
    walk->levels_room = room;
    return 0;
}

int weir__remove_push(struct weir__remove_walk *walk, const char *name, int fd,
                      const struct stat *st, mode_t mode)
{
    struct weir__remove_open *open = open_of(walk, walk->depth);
    int error = 0;
    if (reserve_level(walk, open) == 0)
        path_append(walk, name, &error);
    else
        error = -WEIR_E_NO_MEMORY;
    if (error) {
        errno = ENOMEM;
        return -1;
    }
    walk->levels[walk->depth] = (struct weir__remove_level){
        .device = st->st_dev,
        .inode = st->st_ino,
        .path_length = weir__buffer_length(&walk->path),
        .mode = (uint16_t)mode,
        .is_changed = mode != (mode_t)-1,
    };
    close_open(open);
    open->fd = fd;
    open->level = walk->depth++;
    return 0;
}

/* --- up --- */

static bool is_level(int fd, const struct weir__remove_level *level)
{
    struct stat st;
    if (weir__sys_fstat(fd, &st) != 0)
        return false;
    errno = ESTALE;
    return st.st_dev == level->device && st.st_ino == level->inode;
}

/* fd is the directory of this level again. */
static void reopened(struct weir__remove_walk *walk, size_t level, int fd)
{
    struct weir__remove_open *open = open_of(walk, level);
    close_open(open);
    open->fd = fd;
    open->level = level;
    walk->levels[level].is_reopened = true;
    /* Where that is not possible, it is read from the beginning; what is gone is not found. */
    (void)!weir__sys_lseek(fd, walk->levels[level].read_to, SEEK_SET);
}

/* The way up is lost: goes down again from the top, as far as the directories are those that we
 * came through. What is below that stays. */
static void find_way(struct weir__remove_walk *walk)
{
    char name[NAME_MAX + 1];
    size_t depth = 0;
    int fd = -1;
    weir__remove_tell(walk, "cannot come back from", errno);
    for (size_t i = 0; i < OPEN_MAX; i++)
        close_open(&walk->open[i]);
    for (; depth + 1 < walk->depth; depth++) {
        const char *text = name_of(walk, depth);
        size_t length = strcspn(text, "/");
        WEIR__REQUIRE(length <= NAME_MAX, "remove", text, "a name is too long to be one");
        memcpy(name, text, length);
        name[length] = '\0';
        int next = weir__sys_openat(fd < 0 ? walk->top_dir : fd, name, OPEN_DIR, 0);
        if (next < 0 || !is_level(next, &walk->levels[depth])) {
            weir__sys_close(next);
            break;
        }
        weir__sys_close(fd);
        fd = next;
    }
    walk->depth = depth;
    weir__buffer_truncate(&walk->path, depth > 0 ? walk->levels[depth - 1].path_length : 0);
    if (depth > 0)
        reopened(walk, depth - 1, fd);
    weir__remove_note_stuck(walk);
}

bool weir__remove_open_above(struct weir__remove_walk *walk)
{
    if (walk->depth == 1)
        return true;
    size_t level = walk->depth - 2;
    struct weir__remove_open *open = open_of(walk, level);
    if (open->fd >= 0 && open->level == level)
        return true;
    int fd = open_in(walk, weir__remove_here(walk), "..", OPEN_DIR);
    if (fd < 0 || !is_level(fd, &walk->levels[level])) {
        weir__sys_close(fd);
        find_way(walk);
        return false;
    }
    reopened(walk, level, fd);
    return true;
}

void weir__remove_pop(struct weir__remove_walk *walk, bool is_gone)
{
    struct weir__remove_level *level = weir__remove_last(walk);
    struct weir__remove_open *open = open_of(walk, walk->depth - 1);
    if (level->is_changed && !is_gone)
        (void)!weir__sys_fchmod(open->fd, level->mode);
    close_open(open);
    walk->depth--;
    struct weir__remove_level *above = weir__remove_last(walk);
    weir__buffer_truncate(&walk->path, above ? above->path_length : 0);
    if (!is_gone)
        weir__remove_note_stuck(walk);
}

/* --- reading --- */

const struct dirent64 *weir__remove_next(struct weir__remove_walk *walk)
{
    struct weir__remove_open *open = open_of(walk, walk->depth - 1);
    for (;;) {
        if (open->at >= open->length) {
            ssize_t got = weir__sys_getdents(open->fd, open->entries, ENTRIES_BYTES);
            open->at = 0;
            open->length = got > 0 ? (size_t)got : 0;
            /* ENOENT: somebody else has removed the directory already. */
            if (got < 0 && errno != ENOENT) {
                weir__remove_tell(walk, "cannot read", errno);
                weir__remove_note_stuck(walk);
            }
            if (got <= 0)
                return NULL;
        }
        const struct dirent64 *entry = (const void *)(open->entries + open->at);
        open->at += entry->d_reclen;
        const char *name = entry->d_name;
        if (strcmp(name, ".") != 0 && strcmp(name, "..") != 0)
            return entry;
    }
}

bool weir__remove_rewind(struct weir__remove_walk *walk)
{
    struct weir__remove_open *open = open_of(walk, walk->depth - 1);
    open->at = open->length = 0;
    return weir__sys_lseek(open->fd, 0, SEEK_SET) == 0;
}

int weir__remove_rmdir(struct weir__remove_walk *walk)
{
    const char *name = name_of(walk, walk->depth - 1);
    int dir = walk->depth == 1 ? walk->top_dir : open_of(walk, walk->depth - 2)->fd;
    int result;
    do
        result = walk->options->dry_run ? 0 : weir__sys_unlinkat(dir, name, AT_REMOVEDIR);
    while (result != 0 && weir__remove_unlock(walk, walk->depth - 1));
    return result;
}

/* --- life cycle --- */

void weir__remove_walk_init(struct weir__remove_walk *walk, int dir, const char *name,
                            const struct weir__remove_options *options)
{
    *walk = (struct weir__remove_walk){.options = options, .top_dir = dir, .top_name = name};
    weir__buffer_init(&walk->path, NAMES_BYTES_MAX);
    for (size_t i = 0; i < OPEN_MAX; i++)
        walk->open[i].fd = -1;
}

void weir__remove_walk_fini(struct weir__remove_walk *walk)
{
    for (size_t i = 0; i < OPEN_MAX; i++) {
        struct weir__remove_open *open = &walk->open[i];
        if (open->fd >= 0 && walk->levels[open->level].is_changed)
            (void)!weir__sys_fchmod(open->fd, walk->levels[open->level].mode);
        close_open(open);
        weir__base_free(open->entries);
    }
    weir__base_free(walk->levels);
    weir__buffer_fini(&walk->path);
}
