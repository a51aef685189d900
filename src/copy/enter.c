/* enter.c - a directory, from its name to its metadata.
 *
 * Entering takes a permit, opens the directory at the source, makes or opens it at the destination,
 * and gives the permit back before anything in it is admitted: a directory that kept its permit
 * while its children need some would wait for itself. When everything in it is complete, whoever
 * completed the last part finishes it: owner, attributes, mode, times, and, if it was built under a
 * temporary name, its own. That needs no permit: a thread finishes one directory at a time.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>

#include "alloc.h"
#include "engine.h"
#include "remove.h"
#include "sys.h"

#include "banned.h"

#define OPEN_DIR (O_RDONLY | O_DIRECTORY | O_NOFOLLOW)

/* How often a folder is made again that another copy took away meanwhile. */
#define MAKE_TRIES 16

struct weir__dir *weir__dir_new(struct weir__copy *run, enum weir__dir_kind kind,
                                const struct weir__source *source, const char *name)
{
    size_t length = strlen(name);
    struct weir__dir *dir = weir__base_alloc(1, sizeof(*dir) + length + 1);
    if (!dir)
        return NULL;
    dir->kind = kind;
    dir->source = source;
    dir->src_fd = dir->dst_fd = dir->lock_fd = -1;
    dir->name_length = (uint16_t)length;
    memcpy(dir->name, name, length + 1);
    weir_lock_acquire(&run->counts_lock);
    dir->number = ++run->dirs_made;
    weir_lock_release(&run->counts_lock);
    return dir;
}

void weir__dir_free(struct weir__dir *dir)
{
    if (!dir)
        return;
    weir__ignore_free(dir->ignore);
    weir__base_free(dir);
}

static struct weir__dir *parent_of(const struct weir__dir *dir)
{
    return (struct weir__dir *)dir->node.parent;
}

/* --- the source side --- */

/* Opens and looks at the directory. False: it has been told why not. */
static bool open_source(struct weir__worker *w, struct weir__dir *parent, struct weir__dir *dir)
{
    struct weir__job job = {.epoch = weir_adapt_epoch(&w->run->adapt)};
    do
        dir->src_fd = weir__dir_open_source(w, parent->src_fd, dir->name, OPEN_DIR);
    while (dir->src_fd < 0 && weir__is_overload(errno) && job.tries++ < WEIR__TRIES_MAX &&
           (weir__worker_relieve(w, &job, errno), true));
    int saved = errno;
    if (dir->src_fd >= 0) {
        if (weir__sys_fstat(dir->src_fd, &dir->st) == 0) {
            dir->src_device = dir->st.st_dev;
            dir->src_inode = dir->st.st_ino;
            return true;
        }
        weir__tell_source_error(w, parent, dir->name, "cannot look at", errno);
        return false;
    }
    weir__tell_source_error(w, parent, dir->name, "cannot open", saved);
    /* What cannot be read is still there: it is made, empty, with its metadata. */
    dir->is_unread = true;
    return saved == EACCES &&
           weir__sys_fstatat(parent->src_fd, dir->name, &dir->st, AT_SYMLINK_NOFOLLOW) == 0 &&
           S_ISDIR(dir->st.st_mode);
}

/* The rules of a .gitignore in it, on top of those above. */
static void read_ignore(struct weir__worker *w, struct weir__dir *dir)
{
    int fd = weir__sys_openat(dir->src_fd, ".gitignore", O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0);
    if (fd < 0)
        return;
    weir__buffer_truncate(&w->text, 0);
    int result = weir__buffer_reserve(&w->text, WEIR__DATA_SMALL);
    char *block = weir__mover_buffer(&w->mover);
    ssize_t n = 0;
    while (result == 0 && (n = weir__sys_read(fd, block, WEIR__DATA_SMALL)) > 0)
        result = weir__buffer_append(&w->text, block, (size_t)n);
    weir__sys_close(fd);
    size_t length = weir__buffer_length(&w->text);
    if (result == 0 && n == 0) {
        const char *path = weir__tell_path(w, WEIR__PATH_SHOWN, dir, NULL);
        result = weir__ignore_new(&dir->ignore, dir->ignore_in_use, path,
                                  weir__buffer_text(&w->text), length);
    }
    if (result < 0 || n < 0)
        weir__tell_source_error(w, dir, ".gitignore", "cannot read",
                                n < 0 ? errno : (result == -WEIR_E_NO_MEMORY ? ENOMEM : EFBIG));
    if (dir->ignore)
        dir->ignore_in_use = dir->ignore;
}

/* --- the destination side --- */

/* DST itself is described by the first operand whose contents it holds. Several may share it, so
 * its metadata is put back when all of them are complete, and not by one of them. */
static bool is_described(const struct weir__worker *w, const struct weir__dir *dir)
{
    return w->run->described_by && !w->run->is_dst_file &&
           (dir->kind == WEIR__DIR_MADE || (dir->kind == WEIR__DIR_BASE && !w->run->is_dst_made));
}

/* Whether the directory at the destination has the time that the copy leaves it with. Whatever a
 * dead run left in it has moved its time, so such a one need not be searched for leftovers; unless
 * others are or were at it (name.c). */
static bool has_final_time(const struct weir__worker *w, const struct weir__dir *dir,
                           const struct stat *st)
{
    return dir->kind == WEIR__DIR_PLAIN && !dir->is_continued && !dir->is_top &&
           !weir__name_is_careful(w->run) && w->run->rules.times && !w->run->rules.omit_dir_times &&
           st->st_mtim.tv_sec == dir->st.st_mtim.tv_sec &&
           st->st_mtim.tv_nsec == dir->st.st_mtim.tv_nsec;
}

/* Remembers what the open directory at the destination is. */
bool weir__dir_know(struct weir__worker *w, struct weir__dir *parent, struct weir__dir *dir)
{
    struct stat st;
    if (weir__sys_fstat(dir->dst_fd, &st) < 0) {
        weir__tell_error(w, parent, dir->name, "cannot look at", errno);
        return false;
    }
    dir->dst_device = st.st_dev;
    dir->dst_inode = st.st_ino;
    dir->has_dst = true;
    dir->is_settled = has_final_time(w, dir, &st);
    /* Only what is in the transfer may be changed, were it for a moment. */
    bool is_ours = dir->kind == WEIR__DIR_PLAIN || is_described(w, dir);
    if (is_ours && !dir->is_made && !w->run->rules.may_chown && (st.st_mode & S_IRWXU) != S_IRWXU &&
        !w->run->options->dry_run) {
        dir->old_mode = st.st_mode & 07777;
        dir->is_opened_up = weir__sys_fchmod(dir->dst_fd, dir->old_mode | S_IRWXU) == 0;
    }
    dir->inherits_acl = !w->run->options->dry_run && weir__meta_has_default_acl(dir->dst_fd);
    return true;
}

/* An existing directory that its owner may not open: opened up by its name, for the time of the
 * copy. */
static int open_closed(struct weir__worker *w, struct weir__dir *dir, int parent_fd)
{
    int fd = weir__sys_openat(parent_fd, dir->name, OPEN_DIR, 0);
    if (fd >= 0 || errno != EACCES || w->run->options->dry_run)
        return fd;
    int path_fd = weir__sys_openat(parent_fd, dir->name, O_PATH | O_DIRECTORY | O_NOFOLLOW, 0);
    if (path_fd < 0)
        return -1;
    char path[64];
    struct stat st;
    snprintf(path, sizeof(path), "/proc/self/fd/%d", path_fd);
    if (weir__sys_fstat(path_fd, &st) == 0 &&
        weir__sys_fchmodat(AT_FDCWD, path, (st.st_mode & 07777) | S_IRWXU) == 0) {
        dir->old_mode = st.st_mode & 07777;
        dir->is_opened_up = true;
        fd = weir__sys_openat(parent_fd, dir->name, OPEN_DIR, 0);
    }
    weir__sys_close(path_fd);
    return fd;
}

/* Nobody but us looks into it before it is complete; but where an ACL is inherited, and decides
 * what the mode becomes, it must be told the mode when it is made. */
static mode_t mode_to_make(const struct weir__worker *w, const struct weir__dir *parent,
                           const struct weir__dir *dir)
{
    if (w->run->rules.perms || !parent->inherits_acl)
        return S_IRWXU;
    return S_IRWXU | (dir->kind == WEIR__DIR_PLAIN ? dir->st.st_mode & 0777 : 0777);
}

/* The mode that a directory which was made without perms shall keep. */
static mode_t mode_to_keep(const struct weir__worker *w, const struct weir__dir *dir,
                           const struct stat *st, const struct stat *existing)
{
    if (parent_of(dir) && parent_of(dir)->inherits_acl)
        return existing->st_mode & 07777 & (~(mode_t)S_IRWXU | (st->st_mode & S_IRWXU));
    /* The bit that hands the group down was handed down itself. */
    return weir__meta_mode(&w->run->rules, st, NULL) | (existing->st_mode & S_ISGID);
}

/* Whoever builds a folder holds a lock on it. */
static bool lock(struct weir__worker *w, struct weir__dir *parent, struct weir__dir *dir)
{
    dir->lock_fd = weir__sys_openat(dir->dst_fd, ".", OPEN_DIR, 0);
    if (dir->lock_fd >= 0 &&
        (weir__sys_flock(dir->lock_fd, LOCK_EX | LOCK_NB) == 0 || weir__name_has_no_locks(errno)))
        return true;
    bool is_taken = errno == EWOULDBLOCK;
    if (is_taken)
        dir->is_made = false; /* it is the other's, whoever made it */
    weir__tell_error_detail(w, parent, dir->name, "cannot make directory",
                            is_taken ? "another copy is building it" : NULL, is_taken ? 0 : errno);
    return false;
}

static bool is_still(int parent_fd, const char *name, int fd)
{
    struct stat here, there;
    return weir__sys_fstat(fd, &here) == 0 &&
           weir__sys_fstatat(parent_fd, name, &there, AT_SYMLINK_NOFOLLOW) == 0 &&
           here.st_dev == there.st_dev && here.st_ino == there.st_ino;
}

/* Makes the directory under this name and opens it. A folder that a dead run left under the
 * temporary name is continued. */
bool weir__dir_make(struct weir__worker *w, struct weir__dir *parent, struct weir__dir *dir,
                    const char *name)
{
    for (int i = 0; i < MAKE_TRIES; i++) {
        dir->is_new = dir->is_made = dir->is_continued = false;
        if (weir__sys_mkdirat(parent->dst_fd, name, mode_to_make(w, parent, dir)) == 0) {
            dir->is_made = true;
            dir->is_new = !w->run->options->files_from;
        } else if (errno != EEXIST || !(dir->is_temporary || w->run->options->files_from)) {
            /* A list may come back to a directory that it had before. */
            weir__tell_error(w, parent, dir->name, "cannot make directory", errno);
            return false;
        } else {
            dir->is_continued = dir->is_temporary;
        }
        dir->dst_fd = weir__sys_openat(parent->dst_fd, name, OPEN_DIR, 0);
        if (dir->dst_fd < 0 && errno != ENOENT) {
            weir__tell_error(w, parent, dir->name, "cannot open directory", errno);
            return false;
        }
        if (dir->dst_fd >= 0 && !dir->is_temporary)
            return true;
        if (dir->dst_fd >= 0 && !lock(w, parent, dir))
            return false;
        /* Another copy may have finished or removed it before we had the lock. */
        if (dir->dst_fd >= 0 && is_still(parent->dst_fd, name, dir->lock_fd))
            return true;
        weir__sys_close_at(&dir->dst_fd);
        weir__sys_close_at(&dir->lock_fd);
    }
    dir->is_made = false;
    weir__tell_error(w, parent, dir->name, "cannot make directory", EAGAIN);
    return false;
}

/* A temporary name that the source has no entry of. */
static void name_beside(struct weir__worker *w, const struct weir__dir *parent,
                        struct weir__dir *dir, char temp[WEIR__TEMP_SIZE])
{
    struct stat st;
    do
        weir__name_dir(w->run, dir->name, dir->salt, temp);
    while (weir__sys_fstatat(parent->src_fd, temp, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
           ++dir->salt < WEIR__SALTS);
}

/* What stands at the destination, if anything, and what is to be done about it. */
static bool open_destination(struct weir__worker *w, struct weir__dir *parent,
                             struct weir__dir *dir)
{
    bool dry = w->run->options->dry_run;
    struct stat st;
    if (dir->is_top) {
        /* The contents of an operand: what stands there is DST, which has been made or opened. */
        dir->is_new = parent->is_new;
        dir->is_made = parent->is_made;
        dir->is_continued = parent->is_continued;
        if (!parent->has_dst)
            return true;
        dir->dst_fd = weir__sys_openat(parent->dst_fd, ".", OPEN_DIR, 0);
        if (dir->dst_fd >= 0)
            return weir__dir_know(w, parent, dir);
        weir__tell_error(w, parent, NULL, "cannot open directory", errno);
        return false;
    }
    if (parent->is_new && w->run->options->existing) {
        weir__tell_skipped(w, parent, dir->name, "not at the destination");
        return false;
    }
    if (parent->is_new) {
        dir->is_new = dir->is_made = true;
        return dry || (weir__dir_make(w, parent, dir, dir->name) && weir__dir_know(w, parent, dir));
    }
    bool is_there = weir__sys_fstatat(parent->dst_fd, dir->name, &st, AT_SYMLINK_NOFOLLOW) == 0;
    if (!is_there && errno != ENOENT) {
        weir__tell_error(w, parent, dir->name, "cannot look at", errno);
        return false;
    }
    if (is_there && S_ISDIR(st.st_mode)) {
        dir->is_continued = parent->is_continued;
        dir->dst_fd = open_closed(w, dir, parent->dst_fd);
        if (dir->dst_fd >= 0)
            return weir__dir_know(w, parent, dir);
        weir__tell_error(w, parent, dir->name, "cannot open directory", errno);
        return false;
    }
    if (is_there ? w->run->options->ignore_existing : w->run->options->existing) {
        weir__tell_skipped(w, parent, dir->name,
                           is_there ? "exists at the destination" : "not at the destination");
        return false;
    }
    dir->replaces = is_there;
    if (dry) {
        dir->is_new = dir->is_made = true;
        return true;
    }
    char temp[WEIR__TEMP_SIZE];
    const char *name = dir->name;
    if (!w->run->options->files_from && !w->run->options->in_place) {
        dir->is_temporary = true;
        name_beside(w, parent, dir, temp);
        name = temp;
    } else if (is_there && weir__sys_unlinkat(parent->dst_fd, dir->name, 0) < 0) {
        weir__tell_error(w, parent, dir->name, "cannot replace", errno);
        return false;
    }
    return weir__dir_make(w, parent, dir, name) && weir__dir_know(w, parent, dir);
}

/* --- entering --- */

/* Tells what is about to change; afterwards the times would have moved already. */
static void tell_entered(struct weir__worker *w, struct weir__dir *dir)
{
    bool is_made = dir->is_made || dir->is_temporary;
    unsigned changes = 0;
    struct stat old;
    if (!is_made && dir->dst_fd >= 0 && weir__tell_is_wanted(w, WEIR__EVENT_ITEM) &&
        weir__sys_fstat(dir->dst_fd, &old) == 0) {
        /* The contents of an operand stand for DST, which was opened up for all of them. */
        const struct weir__dir *opened = dir->is_top ? parent_of(parent_of(dir)) : dir;
        if (opened->is_opened_up)
            old.st_mode = (old.st_mode & ~(mode_t)07777) | opened->old_mode;
        struct weir__meta_place from = {.fd = dir->src_fd, .dir = -1};
        struct weir__meta_place to = {.fd = dir->dst_fd, .dir = -1};
        int differs =
            dir->src_fd < 0 || dir->is_second
                ? 0
                : weir__meta_differs(&w->run->rules, &from, &dir->st, &to, &old, &w->scratch);
        changes = differs > 0 ? (unsigned)differs : 0;
    }
    if (is_made)
        w->counts.created++;
    else if (changes != 0)
        w->counts.metadata_only++;
    else
        w->counts.unchanged++;
    struct weir__copy_event event = {
        .kind = is_made || changes ? WEIR__EVENT_ITEM : WEIR__EVENT_SAME,
        .update = is_made ? 'c' : '.',
        .type = 'd',
        .is_new = is_made,
        .changes = changes,
    };
    weir__tell_item(w, dir, NULL, &event);
}

/* A directory on another file system is made, and left empty, with --one-file-system. */
static bool is_foreign(const struct weir__worker *w, const struct weir__dir *dir)
{
    return w->run->options->one_file_system && dir->source &&
           dir->src_device != dir->source->st.st_dev;
}

static bool is_itself(struct weir__worker *w, struct weir__dir *dir)
{
    if (dir->is_unread || w->run->dst_inode == 0 || dir->src_device != w->run->dst_device ||
        dir->src_inode != w->run->dst_inode)
        return false;
    weir__tell_error_detail(w, dir, NULL, "cannot copy", "it is the destination itself", 0);
    return true;
}

/* To erase, both sides must be there; nothing is made. */
static bool open_both(struct weir__worker *w, struct weir__dir *parent, struct weir__dir *dir)
{
    if (!open_source(w, parent, dir) || dir->is_unread)
        return false;
    if (w->phase == WEIR__PHASE_CHECK || w->phase == WEIR__PHASE_COUNT)
        return true;
    struct stat st;
    if (weir__sys_fstatat(parent->dst_fd, dir->name, &st, AT_SYMLINK_NOFOLLOW) < 0) {
        if (errno != ENOENT)
            weir__tell_error(w, parent, dir->name, "cannot look at", errno);
        return false;
    }
    if (!S_ISDIR(st.st_mode))
        return false;
    dir->dst_fd = open_closed(w, dir, parent->dst_fd);
    if (dir->dst_fd >= 0)
        return weir__dir_know(w, parent, dir);
    weir__tell_error(w, parent, dir->name, "cannot open directory", errno);
    return false;
}

static bool open_sides(struct weir__worker *w, struct weir__dir *parent, struct weir__dir *dir)
{
    if (w->phase != WEIR__PHASE_COPY)
        return open_both(w, parent, dir);
    if (!open_source(w, parent, dir))
        return false;
    w->counts.dirs++;
    if (is_itself(w, dir))
        return false;
    /* The first source that has a directory says what it is like. */
    struct stat earlier;
    if (w->run->has_overlap && weir__source_has(w, dir, NULL, true, &earlier) &&
        S_ISDIR(earlier.st_mode)) {
        dir->st = earlier;
        dir->is_second = true;
    }
    return open_destination(w, parent, dir);
}

/* Both sides open, under a permit. False: told, and to be given up. */
static bool open_admitted(struct weir__worker *w, struct weir__dir *parent, struct weir__dir *dir)
{
    WEIR_CLEANUP(weir_permit_release)
    struct weir_permit one = WEIR_PERMIT_NONE;
    WEIR_CLEANUP(weir_permit_release)
    struct weir_permit file = WEIR_PERMIT_NONE;
    if (weir__worker_admit(w, &w->run->dirs, 1, &one) < 0 ||
        weir__worker_admit(w, &w->run->files, 1, &file) < 0)
        return false;
    if (weir__dir_pin(w, parent) < 0) {
        weir__tell_source_error(w, parent, dir->name, "cannot open the directory of", errno);
        return false;
    }
    bool is_open = open_sides(w, parent, dir);
    weir__dir_unpin(w, parent);
    return is_open;
}

/* A node for a name, entered into the tree; the reference of the name is used up. NULL: told. */
static struct weir__dir *new_below(struct weir__worker *w, struct weir__dir *parent,
                                   const char *name)
{
    struct weir__dir *dir = weir__dir_new(w->run, WEIR__DIR_PLAIN, parent->source, name);
    if (!dir) {
        weir__tell_source_error(w, parent, name, "cannot enter", ENOMEM);
        weir__dir_drop(w, parent);
        return NULL;
    }
    dir->is_top = strcmp(name, ".") == 0;
    dir->ignore_in_use = parent->ignore_in_use;
    weir__tree_enter(w->tree, &dir->node, &parent->node);
    bool is_open = open_admitted(w, parent, dir);
    weir__dir_opened(w, dir);
    dir->is_given_up = !is_open;
    return dir;
}

void weir__enter(struct weir__worker *w, struct weir__dir *parent, const char *name)
{
    struct weir__dir *dir = new_below(w, parent, name);
    if (!dir)
        return;
    if (!dir->is_given_up)
        weir__dir_fill(w, dir);
    weir__dir_unpin(w, dir);
    weir__dir_drop(w, dir);
}

struct weir__dir *weir__enter_only(struct weir__worker *w, struct weir__dir *parent,
                                   const char *name)
{
    weir__tree_hold(w->tree, &parent->node);
    struct weir__dir *dir = new_below(w, parent, name);
    if (!dir)
        return NULL;
    if (!dir->is_given_up)
        tell_entered(w, dir);
    weir__dir_unpin(w, dir);
    if (!dir->is_given_up)
        return dir;
    weir__dir_drop(w, dir);
    return NULL;
}

/* Everything in a directory that is open on both sides and pinned. */
void weir__dir_fill(struct weir__worker *w, struct weir__dir *dir)
{
    bool is_copy = w->phase == WEIR__PHASE_COPY;
    if (w->phase == WEIR__PHASE_COUNT) {
        weir_lock_acquire(&w->run->counts_lock);
        w->run->counted_items++;
        weir_lock_release(&w->run->counts_lock);
    }
    if (is_copy)
        tell_entered(w, dir);
    if (dir->is_unread || is_foreign(w, dir))
        return;
    if (w->run->options->gitignore)
        read_ignore(w, dir);
    if (is_copy && !dir->is_new && dir->has_dst && !dir->is_settled)
        weir__name_sweep(w, dir, false);
    if (is_copy && dir->is_continued && dir->has_dst)
        weir__erase_strays(w, dir);
    weir__worker_list(w, dir);
}

/* --- finishing --- */

/* Of a directory with something of ours in it that could not be removed. Those in it may end in any
 * thread, but it ends after all of them. */
void weir__dir_mark_remains(struct weir__worker *w, struct weir__dir *dir)
{
    weir_lock_acquire(&w->run->counts_lock);
    dir->has_remains = true;
    weir_lock_release(&w->run->counts_lock);
}

/* What has the name now, if anything, changes places with the directory and then goes, so that the
 * name is never without both. */
static int rename_to(struct weir__worker *w, struct weir__dir *parent, const char *temp,
                     const char *name, bool replaces)
{
    int parent_fd = parent->dst_fd;
    if (replaces) {
        if (weir__sys_renameat2(parent_fd, temp, parent_fd, name, RENAME_EXCHANGE) == 0) {
            int result = weir__sys_unlinkat(parent_fd, temp, 0);
            if (result < 0)
                weir__dir_mark_remains(w, parent);
            return result;
        }
        if (errno == EINVAL && weir__sys_unlinkat(parent_fd, name, 0) < 0)
            return -1;
        if (errno != EINVAL && errno != ENOENT)
            return -1;
    }
    int result = weir__sys_renameat2(parent_fd, temp, parent_fd, name, RENAME_NOREPLACE);
    if (result < 0 && (errno == EINVAL || errno == ENOSYS))
        result = weir__sys_renameat2(parent_fd, temp, parent_fd, name, 0);
    return result;
}

/* Gives a directory that was built under a temporary name its own. */
static void install(struct weir__worker *w, struct weir__dir *dir)
{
    struct weir__dir *parent = parent_of(dir);
    char temp[WEIR__TEMP_SIZE];
    weir__name_dir(w->run, dir->name, dir->salt, temp);
    if (weir__dir_pin(w, parent) < 0) {
        weir__tell_error(w, dir, NULL, "cannot open the directory of", errno);
        return;
    }
    if (rename_to(w, parent, temp, dir->name, dir->replaces) < 0) {
        bool is_late = errno == EEXIST;
        weir__tell_error(w, dir, NULL, "cannot give its final name to", errno);
        /* Somebody else made it meanwhile; the next copy brings that up to date, without this. */
        struct weir__remove_options options = {.cancel = w->stop};
        if (is_late && weir__remove_tree(parent->dst_fd, temp, &options, NULL) < 0)
            weir__tell_error(w, dir, NULL, "cannot remove the leftover of", EEXIST);
    }
    weir__dir_unpin(w, parent);
}

static void apply(struct weir__worker *w, struct weir__dir *dir, int src_fd, const struct stat *st,
                  struct stat *existing)
{
    struct weir__meta_place from = {.fd = src_fd, .dir = -1};
    struct weir__meta_place to = {.fd = dir->dst_fd, .dir = -1};
    struct weir__meta_rules rules = w->run->rules;
    if (src_fd < 0)
        rules.acls = rules.xattrs = false;
    rules.omit_dir_times |= dir->has_remains;
    if (!rules.perms && dir->is_opened_up)
        existing->st_mode = (existing->st_mode & S_IFMT) | dir->old_mode;
    if (!rules.perms && (dir->is_made || dir->is_temporary)) {
        mode_t mode = mode_to_keep(w, dir, st, existing);
        if (mode != (existing->st_mode & 07777) && weir__sys_fchmod(dir->dst_fd, mode) < 0)
            weir__tell_error(w, dir, NULL, "cannot change the mode of", errno);
        existing->st_mode = (existing->st_mode & S_IFMT) | mode;
    }
    struct weir__meta_failure failure;
    if (weir__meta_apply(&rules, &from, st, &to, existing, &w->scratch, &failure) < 0)
        weir__tell_error_detail(w, dir, NULL, failure.what, failure.attribute, failure.errno_value);
    if (!rules.perms && dir->is_opened_up && weir__sys_fchmod(dir->dst_fd, dir->old_mode) < 0)
        weir__tell_error(w, dir, NULL, "cannot change the mode of", errno);
}

static void put_metadata(struct weir__worker *w, struct weir__dir *dir)
{
    struct stat existing;
    if (weir__sys_fstat(dir->dst_fd, &existing) < 0)
        weir__tell_error(w, dir, NULL, "cannot look at", errno);
    else if (is_described(w, dir))
        apply(w, dir, w->run->described_by->fd, &w->run->described_by->st, &existing);
    else if (dir->kind == WEIR__DIR_PLAIN)
        apply(w, dir, dir->is_second ? -1 : dir->src_fd, &dir->st, &existing);
    else if (!parent_of(dir)->inherits_acl &&
             weir__sys_fchmod(dir->dst_fd,
                              (0777 & ~w->run->rules.umask) | (existing.st_mode & S_ISGID)) < 0)
        weir__tell_error(w, dir, NULL, "cannot change the mode of", errno);
}

/* A directory that was stopped or given up keeps what it had before; one that was made and could
 * not be used goes. */
static void restore(struct weir__worker *w, struct weir__dir *dir)
{
    if (dir->is_opened_up && weir__dir_pin(w, dir) == 0) {
        if (weir__sys_fchmod(dir->dst_fd, dir->old_mode) < 0)
            weir__tell_error(w, dir, NULL, "cannot change the mode of", errno);
        weir__dir_unpin(w, dir);
    }
    bool is_made = dir->is_given_up && dir->is_made && !dir->is_top && !w->run->options->dry_run;
    struct weir__dir *parent = parent_of(dir);
    if (!is_made || weir__dir_pin(w, parent) < 0)
        return;
    char temp[WEIR__TEMP_SIZE];
    weir__name_dir(w->run, dir->name, dir->salt, temp);
    weir__sys_unlinkat(parent->dst_fd, dir->is_temporary ? temp : dir->name, AT_REMOVEDIR);
    weir__dir_unpin(w, parent);
}

static bool needs_finish(const struct weir__worker *w, const struct weir__dir *dir)
{
    switch (w->phase) {
    case WEIR__PHASE_COPY:
        return dir->has_dst && !w->run->options->dry_run;
    case WEIR__PHASE_ERASE_AFTER:
        return dir->has_changed && !w->run->options->dry_run;
    default:
        return false;
    }
}

/* Whether leftovers may be in a complete directory: folders that were not continued, or anything in
 * one that was not searched and has changed since. */
static bool may_have_leftovers(const struct weir__worker *w, const struct weir__dir *dir)
{
    struct stat st;
    if (w->phase != WEIR__PHASE_COPY)
        return false;
    if (dir->has_leftovers || (!dir->is_new && weir__name_is_careful(w->run)))
        return true;
    return dir->is_settled && weir__sys_fstat(dir->dst_fd, &st) == 0 &&
           !has_final_time(w, dir, &st);
}

static void finish(struct weir__worker *w, struct weir__dir *dir)
{
    /* What was deleted from the contents of an operand was deleted from DST. */
    if (dir->is_top && dir->has_changed)
        parent_of(parent_of(dir))->has_changed = true;
    if (dir->is_top && dir->has_remains)
        weir__dir_mark_remains(w, parent_of(parent_of(dir)));
    if (dir->kind == WEIR__DIR_OPERAND)
        return;
    if (dir->is_given_up || (dir->kind == WEIR__DIR_BASE && !is_described(w, dir)) ||
        weir__is_stopped(w) || !needs_finish(w, dir)) {
        restore(w, dir);
        return;
    }
    if (weir__dir_pin(w, dir) < 0) {
        weir__tell_error(w, dir, NULL, "cannot open again", errno);
        return;
    }
    if (may_have_leftovers(w, dir))
        weir__name_sweep(w, dir, true);
    if (!dir->is_top)
        put_metadata(w, dir);
    if (w->run->options->fsync == WEIR__FSYNC_FILE && weir__sys_fsync(dir->dst_fd) < 0)
        weir__tell_error(w, dir, NULL, "cannot sync", errno);
    if (dir->is_temporary)
        install(w, dir);
    weir__dir_unpin(w, dir);
}

void weir__dir_drop(struct weir__worker *w, struct weir__dir *dir)
{
    while (dir && weir__tree_drop(w->tree, &dir->node)) {
        finish(w, dir);
        weir__dir_reopen_parent(w, dir);
        weir__dir_close(w, dir);
        struct weir__node *parent = weir__tree_leave(w->tree, &dir->node);
        weir__dir_free(dir);
        dir = (struct weir__dir *)parent;
    }
}
