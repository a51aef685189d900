/* remove.c - what goes, what stays, and when a directory has been read often enough.
 *
 * Entries go while their directory is read. Those that have not been read yet are still found, as
 * long as the directory stays open; where it was opened again and reading goes on at the old
 * place, some file systems skip entries. So at the end the directory itself is tried, and if it is
 * not empty, it is read again from the beginning, as long as that removes something. If some
 * entries must stay, they are counted instead, and read again only if there are more of them than
 * were to stay.
 */
#include "remove.h"

#include <string.h>

#include "remove_walk.h"
#include "sys.h"

#include "banned.h"

/* A file system that skips every other entry needs one for each doubling of the directory. */
#define PASSES_MAX 64u

enum outcome { DONE, OTHER_KIND };

/* In a dry run: the rights that are missing are those of a directory of ours, this one or the one
 * in it, and would be given. */
static bool would_unlock(struct weir__remove_walk *walk, const char *name)
{
    struct stat st;
    if (!walk->options->dry_run || errno != EACCES)
        return false;
    int here = weir__remove_here(walk);
    bool is = (walk->depth > 0 && weir__sys_fstat(here, &st) == 0 && weir__remove_is_locked(&st)) ||
              (weir__sys_fstatat(here, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
               weir__remove_is_locked(&st));
    errno = EACCES;
    return is;
}

static enum outcome remove_dir(struct weir__remove_walk *walk, const char *name)
{
    const struct weir__remove_options *options = walk->options;
    mode_t mode = (mode_t)-1;
    struct stat st;
    int fd = weir__remove_open_child(walk, name, &mode);
    if (fd < 0) {
        if (errno == ENOTDIR || errno == ELOOP)
            return OTHER_KIND;
        if (would_unlock(walk, name))
            weir__remove_note_removed(walk);
        else if (errno != ENOENT)
            weir__remove_failed(walk, name, "cannot open");
        return DONE;
    }
    const char *problem = NULL;
    if (weir__sys_fstat(fd, &st) != 0) {
        problem = "cannot look at";
    } else if (options->has_device && st.st_dev != options->device) {
        problem = "cannot leave the file system for";
        errno = EXDEV;
    } else if (weir__remove_push(walk, name, fd, &st, mode) != 0) {
        problem = "cannot go into";
    }
    if (problem) {
        if (mode != (mode_t)-1) {
            int saved = errno;
            (void)!weir__sys_fchmod(fd, mode);
            errno = saved;
        }
        weir__sys_close(fd);
        weir__remove_failed(walk, name, problem);
    }
    return DONE;
}

static enum outcome remove_file(struct weir__remove_walk *walk, const char *name)
{
    int result = 0;
    if (walk->options->claim && !walk->options->claim(walk->options->arg)) {
        weir__remove_note_stuck(walk);
        return DONE;
    }
    if (!walk->options->dry_run)
        do
            result = weir__sys_unlinkat(weir__remove_here(walk), name, 0);
        while (result != 0 && weir__remove_unlock(walk, walk->depth));
    if (result == 0) {
        weir__remove_note_removed(walk);
        weir__remove_gone(walk, name, false);
    } else if (errno == EISDIR) {
        return OTHER_KIND;
    } else if (errno != ENOENT) {
        weir__remove_failed(walk, name, "cannot remove");
    }
    return DONE;
}

/* What a name is may change between the look and the act; then it is asked for once more. */
static void remove_entry(struct weir__remove_walk *walk, const char *name, unsigned char type)
{
    bool is_dir = type == DT_DIR;
    if (type == DT_UNKNOWN) {
        struct stat st;
        int result;
        do
            result = weir__sys_fstatat(weir__remove_here(walk), name, &st, AT_SYMLINK_NOFOLLOW);
        while (result != 0 && weir__remove_unlock(walk, walk->depth));
        if (result != 0) {
            if (errno != ENOENT)
                weir__remove_failed(walk, name, "cannot look at");
            return;
        }
        is_dir = S_ISDIR(st.st_mode);
    }
    for (int i = 0; i < 2; i++, is_dir = !is_dir) {
        if (!weir__remove_may(walk, name, is_dir)) {
            weir__remove_note_stuck(walk);
            return;
        }
        enum outcome outcome = is_dir ? remove_dir(walk, name) : remove_file(walk, name);
        if (outcome == DONE)
            return;
    }
    weir__remove_failed(walk, name, "cannot remove");
}

/* Reads it from the beginning, if the last time was of use. */
static bool read_again(struct weir__remove_walk *walk)
{
    struct weir__remove_level *level = weir__remove_last(walk);
    if (level->removed == 0 || level->passes == PASSES_MAX || walk->options->dry_run ||
        !weir__remove_rewind(walk))
        return false;
    level->passes++;
    level->removed = level->stuck = 0;
    level->is_reopened = false;
    return true;
}

/* More entries than were to stay: some were not seen. */
static bool has_more(struct weir__remove_walk *walk)
{
    uint64_t count = 0, stuck = weir__remove_last(walk)->stuck;
    if (!weir__remove_rewind(walk))
        return false;
    while (count <= stuck && weir__remove_next(walk))
        count++;
    return count > stuck;
}

/* All entries have been read. */
static void finish_dir(struct weir__remove_walk *walk)
{
    struct weir__remove_level *level = weir__remove_last(walk);
    if (level->stuck > 0 && level->is_reopened && level->removed > 0 && !walk->options->dry_run &&
        has_more(walk) && read_again(walk))
        return;
    if (!weir__remove_open_above(walk))
        return;
    if (level->stuck > 0 || (walk->options->claim && !walk->options->claim(walk->options->arg))) {
        weir__remove_pop(walk, false);
    } else if (weir__remove_rmdir(walk) == 0) {
        weir__remove_gone(walk, NULL, true);
        weir__remove_pop(walk, true);
        weir__remove_note_removed(walk);
    } else if (errno == ENOENT) {
        weir__remove_pop(walk, true);
    } else if ((errno != ENOTEMPTY && errno != EEXIST) || !read_again(walk)) {
        weir__remove_tell(walk, "cannot remove", errno);
        weir__remove_pop(walk, false);
    }
}

/* --- the whole --- */

static bool is_name(const char *name)
{
    return *name && !strchr(name, '/') && strcmp(name, ".") != 0 && strcmp(name, "..") != 0;
}

int weir__remove_tree(int dir, const char *name, const struct weir__remove_options *options,
                      uint64_t *ret_removed)
{
    if (!is_name(name))
        return -WEIR_E_INVALID;
    struct weir__remove_walk walk;
    weir__remove_walk_init(&walk, dir, name, options);
    bool is_canceled = options->cancel && weir_cancel_is_fired(options->cancel);
    if (!is_canceled)
        remove_entry(&walk, name, DT_UNKNOWN);
    while (walk.depth > 0 && !is_canceled) {
        const struct dirent64 *entry = weir__remove_next(&walk);
        if (entry) {
            weir__remove_last(&walk)->read_to = entry->d_off;
            remove_entry(&walk, entry->d_name, entry->d_type);
        } else {
            finish_dir(&walk);
        }
        is_canceled = options->cancel && weir_cancel_is_fired(options->cancel);
    }
    bool is_incomplete = walk.is_top_stuck;
    weir__remove_walk_fini(&walk);
    if (ret_removed)
        *ret_removed = walk.removed;
    return is_canceled ? -WEIR_E_CANCELED : is_incomplete ? -WEIR_E_INCOMPLETE : 0;
}
