/* special.c - symlinks, devices, fifos and sockets: made anew, never written to.
 *
 * In a new directory they get their final name at once. Elsewhere they are made under a temporary
 * name, given their metadata, and renamed. Such a name cannot be locked as that of a file is; so
 * whoever sweeps up may take it away in the instant before it is renamed, and then it is made
 * again.
 */
#include <errno.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "engine.h"
#include "sys.h"

#include "banned.h"

#define MAKE_TRIES 16

/* Longer than any target that a kernel of ours makes. */
#define TARGET_MAX 65536u

/* The target of a link, in a buffer; NULL with errno. */
static const char *read_target(int dir_fd, const char *name, off_t size,
                               struct weir__buffer *buffer)
{
    size_t room = size > 0 && size < TARGET_MAX ? (size_t)size + 1 : PATH_MAX;
    for (; room <= TARGET_MAX; room *= 2) {
        weir__buffer_truncate(buffer, 0);
        if (weir__buffer_reserve(buffer, room + 1) < 0) {
            errno = ENOMEM;
            return NULL;
        }
        char *text = (char *)(uintptr_t)weir__buffer_text(buffer);
        ssize_t length = weir__sys_readlinkat(dir_fd, name, text, room);
        if (length < 0)
            return NULL;
        if ((size_t)length < room) {
            text[length] = '\0';
            return text;
        }
    }
    errno = ENAMETOOLONG;
    return NULL;
}

/* Whether what is there already is the same but for its metadata. */
static bool is_same(struct weir__worker *w, const struct weir__job *job, const char *target)
{
    if (!job->has_old || (job->old.st_mode & S_IFMT) != (job->st.st_mode & S_IFMT))
        return false;
    if (S_ISBLK(job->st.st_mode) || S_ISCHR(job->st.st_mode))
        return job->old.st_rdev == job->st.st_rdev;
    if (!S_ISLNK(job->st.st_mode))
        return true;
    const char *there =
        read_target(job->dir->dst_fd, job->dst_name, job->old.st_size, &w->other_path);
    return there && strcmp(there, target) == 0;
}

static bool is_same_kind(const struct weir__job *job)
{
    return job->has_old && (job->old.st_mode & S_IFMT) == (job->st.st_mode & S_IFMT);
}

static int make(struct weir__worker *w, const struct weir__job *job, const char *name,
                const char *target)
{
    int dir_fd = job->dir->dst_fd;
    if (S_ISLNK(job->st.st_mode))
        return weir__sys_symlinkat(target, dir_fd, name);
    mode_t mode = weir__meta_mode(&w->run->rules, &job->st, is_same_kind(job) ? &job->old : NULL);
    return weir__sys_mknodat(dir_fd, name, (job->st.st_mode & S_IFMT) | mode, job->st.st_rdev);
}

/* Makes it under this name, with its metadata. */
static bool make_whole(struct weir__worker *w, struct weir__job *job, const char *name,
                       const char *target)
{
    struct stat existing;
    if (make(w, job, name, target) < 0) {
        weir__tell_error(w, job->dir, job->dst_name,
                         S_ISLNK(job->st.st_mode) ? "cannot make symbolic link"
                                                  : "cannot make special file",
                         errno);
        return false;
    }
    if (weir__sys_fstatat(job->dir->dst_fd, name, &existing, AT_SYMLINK_NOFOLLOW) < 0) {
        weir__tell_error(w, job->dir, job->dst_name, "cannot look at", errno);
        weir__sys_unlinkat(job->dir->dst_fd, name, 0);
        return false;
    }
    struct weir__meta_place to = {.fd = -1, .dir = job->dir->dst_fd, .name = name};
    weir__entry_metadata(w, job, &to, &existing);
    return true;
}

static bool make_at_once(struct weir__worker *w, struct weir__job *job, const char *target)
{
    return make_whole(w, job, job->dst_name, target);
}

static bool make_beside(struct weir__worker *w, struct weir__job *job, const char *target)
{
    for (int i = 0; i < MAKE_TRIES; i++) {
        weir__name_file(w, job->temp);
        if (!make_whole(w, job, job->temp, target))
            return false;
        struct stat st;
        /* Swept away by somebody: once more. */
        if (weir__sys_fstatat(job->dir->dst_fd, job->temp, &st, AT_SYMLINK_NOFOLLOW) < 0) {
            weir__sys_unlinkat(job->dir->dst_fd, job->temp, 0);
            continue;
        }
        if (weir__entry_install(w, job))
            return true;
        weir__sys_unlinkat(job->dir->dst_fd, job->temp, 0);
        return false;
    }
    weir__tell_error(w, job->dir, job->dst_name, "cannot replace", EAGAIN);
    return false;
}

static void settle(struct weir__worker *w, struct weir__job *job, const char *target)
{
    struct weir__meta_place to = {.fd = -1, .dir = job->dir->dst_fd, .name = job->dst_name};
    struct weir__meta_place from = {.fd = -1, .dir = job->dir->src_fd, .name = job->name};
    int changes = weir__meta_differs(&w->run->rules, &from, &job->st, &to, &job->old, &w->scratch);
    if (changes != 0 && !w->run->options->dry_run)
        weir__entry_metadata(w, job, &to, &job->old);
    if (changes != 0)
        w->counts.metadata_only++;
    else
        w->counts.unchanged++;
    struct weir__copy_event event = {
        .kind = changes != 0 ? WEIR__EVENT_ITEM : WEIR__EVENT_SAME,
        .update = '.',
        .type = weir__tell_type(job->st.st_mode),
        .changes = changes > 0 ? (unsigned)changes : 0,
        .target = target,
    };
    weir__tell_item(w, job->dir, job->name, &event);
    weir__entry_end(w, job, true);
}

void weir__special(struct weir__worker *w, struct weir__job *job)
{
    const char *target = NULL;
    if (S_ISLNK(job->st.st_mode)) {
        target = read_target(job->dir->src_fd, job->name, job->st.st_size, &w->text);
        if (!target) {
            weir__tell_source_error(w, job->dir, job->name, "cannot read symbolic link", errno);
            weir__entry_end(w, job, false);
            return;
        }
    }
    if (is_same(w, job, target)) {
        settle(w, job, target);
        return;
    }
    bool is_made = w->run->options->dry_run ||
                   (job->dir->is_new ? make_at_once(w, job, target) : make_beside(w, job, target));
    if (is_made) {
        if (job->has_old)
            job->changes |= WEIR__CHANGE_CONTENT;
        if (job->has_old && !w->run->rules.times)
            job->changes |= WEIR__CHANGE_TIME_NOW;
        else if (job->has_old && target && w->run->rules.omit_link_times)
            job->changes |= WEIR__CHANGE_TIME;
        weir__entry_made(w, job, 'c', target);
    }
    weir__entry_end(w, job, is_made);
}
