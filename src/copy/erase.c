/* erase.c - what is at the destination and not in the source.
 *
 * No list of what was copied is kept: a directory of the destination is read, and each name in it
 * is asked for in the source. So deleting needs no memory, whatever the size of the trees. It is a
 * pass of its own, after the copy (or before it), and does not begin when the source could not be
 * read completely, unless told to.
 */
#include <dirent.h>
#include <errno.h>
#include <string.h>

#include "engine.h"
#include "remove.h"
#include "sys.h"

#include "banned.h"

/* --- other sources --- */

/* Something at this path below a directory, not going through symlinks: 1, 0, or -1 with errno when
 * that cannot be found out. */
static int has_path(int dir_fd, const char *path, struct stat *ret_st)
{
    struct open_how how = {.flags = O_PATH | O_NOFOLLOW | O_CLOEXEC,
                           .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS};
    int fd = weir__sys_openat2(dir_fd, path, &how);
    if (fd < 0 && errno == ENOSYS)
        fd = weir__sys_openat(dir_fd, path, O_PATH | O_NOFOLLOW, 0);
    bool is_there = fd >= 0 && weir__sys_fstat(fd, ret_st) == 0;
    weir__sys_close(fd);
    if (is_there)
        return 1;
    return fd < 0 && (errno == ENOENT || errno == ENOTDIR || errno == ELOOP) ? 0 : -1;
}

bool weir__source_has(struct weir__worker *w, const struct weir__dir *dir, const char *name,
                      bool only_earlier, struct stat *ret_st)
{
    const struct weir__copy *run = w->run;
    const char *path = weir__tell_path_whole(w, WEIR__PATH_SHOWN, dir, name);
    memset(ret_st, 0, sizeof(*ret_st));
    if (!path) {
        weir__tell_source_error(w, dir, name, "cannot look at", ENOMEM);
        return true;
    }
    for (size_t i = 0; i < run->options->sources_count; i++) {
        const struct weir__source *source = &run->sources[i];
        if (source == dir->source) {
            if (only_earlier)
                return false;
            continue;
        }
        size_t length = strlen(source->name);
        bool may_have = source->is_contents || (strncmp(path, source->name, length) == 0 &&
                                                (path[length] == '/' || path[length] == '\0'));
        if (source->is_missing || !may_have)
            continue;
        int has = has_path(source->fd, path[0] != '\0' ? path : ".", ret_st);
        if (has < 0) /* what may be there is neither deleted nor replaced */
            weir__tell_source_error(w, dir, name, "cannot look at", errno);
        if (has != 0)
            return true;
    }
    return false;
}

/* --- removing --- */

struct erasure {
    struct weir__worker *w;
    struct weir__dir *dir;
    const char *name;
    uint64_t claimed, gone;
};

/* The path of something below what is erased, relative to dir; NULL without memory. */
static const char *path_in(struct erasure *erasure, const char *path)
{
    struct weir__buffer *text = &erasure->w->other_path;
    weir__buffer_truncate(text, 0);
    if (weir__buffer_puts(text, erasure->name) < 0)
        return NULL;
    if (path[0] != '\0' && (weir__buffer_putc(text, '/') < 0 || weir__buffer_puts(text, path) < 0))
        return NULL;
    return weir__buffer_text(text);
}

/* Counts one more deletion, unless that would be too many. */
static bool claim(void *arg)
{
    struct erasure *erasure = arg;
    struct weir__copy *run = erasure->w->run;
    weir_lock_acquire(&run->counts_lock);
    bool may = run->erased < run->options->delete_max;
    if (may)
        run->erased++;
    else
        run->counts.delete_limited = true;
    weir_lock_release(&run->counts_lock);
    erasure->claimed += may;
    return may;
}

/* What is excluded is not ours to delete, also in a directory that the source has not. */
static bool is_protected(struct erasure *erasure, const char *in_dir, bool is_dir)
{
    struct weir__worker *w = erasure->w;
    const struct weir__filter *filter = w->run->options->filter;
    const struct weir__ignore *ignore = erasure->dir->ignore_in_use;
    const char *last = strrchr(in_dir, '/');
    const char *shown = weir__tell_path(w, WEIR__PATH_SHOWN, erasure->dir, in_dir);
    if (filter &&
        weir__filter_match(filter, shown, last ? last + 1 : in_dir, is_dir) == WEIR__FILTER_EXCLUDE)
        return true;
    return ignore && weir__ignore_is_ignored(ignore, shown, is_dir);
}

static bool may_erase(void *arg, const char *path, bool is_dir)
{
    struct erasure *erasure = arg;
    struct weir__worker *w = erasure->w;
    const char *in_dir = path_in(erasure, path);
    if (!in_dir || !weir__tell_path_whole(w, WEIR__PATH_SHOWN, erasure->dir, in_dir)) {
        weir__tell_error(w, erasure->dir, erasure->name, "cannot delete", ENOMEM);
        return false;
    }
    if (path[0] != '\0' && !w->run->options->delete_excluded &&
        is_protected(erasure, in_dir, is_dir))
        return false;
    return true;
}

static void gone(void *arg, const char *path, bool is_dir)
{
    struct erasure *erasure = arg;
    struct weir__worker *w = erasure->w;
    const char *in_dir = path_in(erasure, path);
    erasure->gone++;
    w->counts.deleted++;
    struct weir__copy_event event = {
        .kind = WEIR__EVENT_DELETED, .update = '*', .type = is_dir ? 'd' : 'f'};
    weir__tell_item(w, erasure->dir, in_dir, &event);
}

static void failed(void *arg, const char *path, const char *what, int errno_value)
{
    struct erasure *erasure = arg;
    const char *in_dir = path_in(erasure, path);
    in_dir = in_dir ? in_dir : erasure->name;
    if (errno_value == EXDEV && erasure->w->run->options->one_file_system)
        weir__tell_skipped(erasure->w, erasure->dir, in_dir, "on another file system");
    else
        weir__tell_error(erasure->w, erasure->dir, in_dir, what, errno_value);
}

bool weir__erase(struct weir__worker *w, struct weir__dir *dir, const char *name)
{
    struct erasure erasure = {.w = w, .dir = dir, .name = name};
    struct weir__remove_options options = {
        .may = may_erase,
        .claim = claim,
        .gone = gone,
        .failed = failed,
        .arg = &erasure,
        .cancel = w->stop,
        .dry_run = w->run->options->dry_run,
        .device = dir->dst_device,
        .has_device = w->run->options->one_file_system,
    };
    dir->has_changed = true;
    int result = weir__remove_tree(dir->dst_fd, name, &options, NULL);
    /* What could not be removed was claimed in vain. */
    weir_lock_acquire(&w->run->counts_lock);
    w->run->erased -= erasure.claimed - erasure.gone;
    weir_lock_release(&w->run->counts_lock);
    return result == 0;
}

static void erase_admitted(struct weir__worker *w, struct weir__dir *dir, const char *name)
{
    WEIR_CLEANUP(weir_permit_release)
    struct weir_permit permit = WEIR_PERMIT_NONE;
    if (weir__worker_admit(w, &w->run->files, 1, &permit) == 0)
        weir__erase(w, dir, name);
}

void weir__erase_entry(struct weir__worker *w, struct weir__dir *dir, const char *name,
                       unsigned char type, bool *ret_is_dir)
{
    const struct weir__copy_options *options = w->run->options;
    bool is_dir = type == DT_DIR, is_excluded = false;
    *ret_is_dir = false;
    struct stat st;
    if (weir__name_kind(name) != WEIR__NOT_OURS && w->phase != WEIR__PHASE_CHECK &&
        weir__sys_fstatat(dir->src_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0) {
        weir__name_sweep_one(w, dir, name, false); /* a leftover, or the work of another copy */
        return;
    }
    /* Once there is room for the path, all that is decided by it is decided right. */
    if ((options->filter || dir->ignore_in_use || w->run->has_overlap) &&
        !weir__tell_path_whole(w, WEIR__PATH_SHOWN, dir, name)) {
        weir__tell_source_error(w, dir, name, "cannot look at", ENOMEM);
        return;
    }
    if (options->filter || dir->ignore_in_use)
        is_excluded = weir__worker_is_excluded(w, dir, name, is_dir);
    if (w->phase == WEIR__PHASE_CHECK) {
        *ret_is_dir = is_dir && !is_excluded;
        return;
    }
    if (is_excluded && !options->delete_excluded)
        return;
    if (!is_excluded) {
        if (weir__sys_fstatat(dir->src_fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0) {
            *ret_is_dir = is_dir && S_ISDIR(st.st_mode);
            /* Excluded as what it is there, and not as what it is here: then the source has none.
             */
            if (is_dir == S_ISDIR(st.st_mode) || options->filter == NULL ||
                !weir__worker_is_excluded(w, dir, name, S_ISDIR(st.st_mode)))
                return;
            erase_admitted(w, dir, name);
            return;
        }
        if (errno != ENOENT) {
            weir__tell_source_error(w, dir, name, "cannot look at", errno);
            return;
        }
        if (w->run->has_overlap && weir__source_has(w, dir, name, false, &st))
            return;
    }
    erase_admitted(w, dir, name);
}

/* --- folders of dead runs --- */

/* On the stack, since the thread's own window may be in use. */
#define STRAYS_WINDOW 16384

static bool is_stray(struct weir__worker *w, struct weir__dir *dir, const char *name,
                     unsigned char type)
{
    struct stat st;
    if (w->run->options->partial && weir__name_kind(name) == WEIR__TEMP_PART)
        return false; /* to be gone on with */
    if (weir__sys_fstatat(dir->src_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return errno == ENOENT;
    return (w->run->options->filter || dir->ignore_in_use) &&
           weir__worker_is_excluded(w, dir, name, type == DT_DIR);
}

void weir__erase_strays(struct weir__worker *w, struct weir__dir *dir)
{
    _Alignas(struct weir__dirent) char window[STRAYS_WINDOW];
    struct weir__remove_options options = {.cancel = w->stop};
    int fd = weir__sys_openat(dir->dst_fd, ".", O_RDONLY | O_DIRECTORY, 0);
    ssize_t size = 0;
    while (fd >= 0 && (size = weir__sys_getdents(fd, window, sizeof(window))) > 0) {
        for (ssize_t at = 0; at < size;) {
            const struct weir__dirent *entry = (const void *)(window + at);
            at += entry->d_reclen;
            if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0 ||
                !is_stray(w, dir, entry->d_name, entry->d_type))
                continue;
            if (weir__remove_tree(dir->dst_fd, entry->d_name, &options, NULL) == 0)
                w->counts.leftovers_removed++;
            else
                weir__tell_error(w, dir, entry->d_name, "cannot remove the leftover", EEXIST);
        }
    }
    if (fd < 0 || size < 0)
        weir__tell_error(w, dir, NULL, "cannot list", errno);
    weir__sys_close(fd);
}
