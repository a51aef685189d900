/* descriptor.c - the descriptors of directories: as many as the limit allows, opened again when
 * they are needed.
 *
 * A directory that is in use is pinned. One that is not stays open, at the head of a list, and is
 * closed when too many are open, the one that was used longest ago first. To open it again we go
 * down from the nearest ancestor that is open, name by name, never through a symlink; or, when a
 * child of it is open, up through "..". Both ways end with a look at device and inode: what is not
 * the directory that we left is not used.
 *
 * Only the list and the counts are under the lock; opening and closing are not. Two threads that
 * open the same directory at once both succeed, and the second gives its descriptors back.
 */
#include <errno.h>
#include <string.h>

#include "alloc.h"
#include "engine.h"
#include "sys.h"

#include "banned.h"

static struct weir__dir *parent_of(const struct weir__dir *dir)
{
    return (struct weir__dir *)dir->node.parent;
}

/* What the operands name stays open and does not count: it could not be opened again by a name. */
static bool is_kept(const struct weir__dir *dir)
{
    return dir->kind == WEIR__DIR_BASE || dir->kind == WEIR__DIR_OPERAND || dir->is_top;
}

static void unlist(struct weir__copy *run, struct weir__dir *dir)
{
    if (!dir->_is_listed)
        return;
    *(dir->_newer ? &dir->_newer->_older : &run->newest) = dir->_older;
    *(dir->_older ? &dir->_older->_newer : &run->oldest) = dir->_newer;
    dir->_newer = dir->_older = NULL;
    dir->_is_listed = false;
}

static void list(struct weir__copy *run, struct weir__dir *dir)
{
    dir->_older = run->newest;
    dir->_newer = NULL;
    *(run->newest ? &run->newest->_newer : &run->oldest) = dir;
    run->newest = dir;
    dir->_is_listed = true;
}

/* Closes idle directories until at most so many are open. */
static void trim(struct weir__copy *run, uint64_t max)
{
    for (;;) {
        weir_lock_acquire(&run->fds_lock);
        struct weir__dir *dir = run->fds_open > max ? run->oldest : NULL;
        int src_fd = -1, dst_fd = -1;
        if (dir) {
            unlist(run, dir);
            src_fd = dir->src_fd;
            dst_fd = dir->dst_fd;
            dir->src_fd = dir->dst_fd = -1;
            dir->_is_open = false;
            run->fds_open--;
        }
        weir_lock_release(&run->fds_lock);
        if (!dir)
            return;
        weir__sys_close(src_fd);
        weir__sys_close(dst_fd);
    }
}

void weir__dir_close_idle(struct weir__worker *w)
{
    trim(w->run, 0);
}

void weir__dir_opened(struct weir__worker *w, struct weir__dir *dir)
{
    struct weir__copy *run = w->run;
    weir_lock_acquire(&run->fds_lock);
    dir->_pins = 1;
    dir->_is_open = true;
    run->fds_open += !is_kept(dir);
    weir_lock_release(&run->fds_lock);
    trim(run, run->fds_max);
}

/* Pins the directory if it is open. */
static bool pin_open(struct weir__copy *run, struct weir__dir *dir)
{
    weir_lock_acquire(&run->fds_lock);
    bool is_open = dir->_is_open;
    if (is_open) {
        unlist(run, dir);
        dir->_pins++;
    }
    weir_lock_release(&run->fds_lock);
    return is_open;
}

void weir__dir_unpin(struct weir__worker *w, struct weir__dir *dir)
{
    struct weir__copy *run = w->run;
    weir_lock_acquire(&run->fds_lock);
    bool is_idle = --dir->_pins == 0;
    if (is_idle && !is_kept(dir))
        list(run, dir);
    bool is_over = run->fds_open > run->fds_max;
    weir_lock_release(&run->fds_lock);
    if (is_over)
        trim(run, run->fds_max);
}

void weir__dir_close(struct weir__worker *w, struct weir__dir *dir)
{
    struct weir__copy *run = w->run;
    weir_lock_acquire(&run->fds_lock);
    unlist(run, dir);
    if (dir->_is_open && !is_kept(dir))
        run->fds_open--;
    dir->_is_open = false;
    weir_lock_release(&run->fds_lock);
    weir__sys_close_at(&dir->src_fd);
    weir__sys_close_at(&dir->dst_fd);
    weir__sys_close_at(&dir->lock_fd);
}

static bool is_at(int fd, dev_t device, ino_t inode)
{
    struct stat st;
    if (weir__sys_fstat(fd, &st) < 0)
        return false;
    if (st.st_dev == device && st.st_ino == inode)
        return true;
    errno = ESTALE;
    return false;
}

/* The directory's descriptors are these, unless somebody was faster. Pins it. */
static void adopt(struct weir__copy *run, struct weir__dir *dir, int src_fd, int dst_fd)
{
    weir_lock_acquire(&run->fds_lock);
    bool is_open = dir->_is_open;
    if (is_open) {
        unlist(run, dir);
    } else {
        dir->src_fd = src_fd;
        dir->dst_fd = dst_fd;
        dir->_is_open = true;
        run->fds_open += !is_kept(dir);
    }
    dir->_pins++;
    weir_lock_release(&run->fds_lock);
    if (is_open) {
        weir__sys_close(src_fd);
        weir__sys_close(dst_fd);
    }
}

int weir__dir_open_source(struct weir__worker *w, int dir_fd, const char *name, int flags)
{
    int fd = -1;
    if (!w->no_noatime) {
        fd = weir__sys_openat(dir_fd, name, flags | O_NOATIME, 0);
        /* Refused for what belongs to somebody else: it is not worth a second call each time. */
        if (fd >= 0 || errno != EPERM)
            return fd;
        w->no_noatime = true;
    }
    return weir__sys_openat(dir_fd, name, flags, 0);
}

/* Opens source and destination side by two names, and checks that they are what they were. */
static int open_pair(struct weir__worker *w, const struct weir__dir *dir, int src_dir,
                     const char *src_name, int dst_dir, const char *dst_name, int ret_fds[2])
{
    const int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW;
    int src_fd = -1, dst_fd = -1;
    if (src_dir >= 0 && dir->kind == WEIR__DIR_PLAIN && !dir->is_unread) {
        src_fd = weir__dir_open_source(w, src_dir, src_name, flags);
        if (src_fd < 0 || !is_at(src_fd, dir->src_device, dir->src_inode))
            goto failed;
    }
    if (dst_dir >= 0 && dir->has_dst) {
        dst_fd = weir__sys_openat(dst_dir, dst_name, flags, 0);
        if (dst_fd < 0 || !is_at(dst_fd, dir->dst_device, dir->dst_inode))
            goto failed;
    }
    ret_fds[0] = src_fd;
    ret_fds[1] = dst_fd;
    return 0;
failed:
    weir__sys_close(src_fd);
    weir__sys_close(dst_fd);
    return -1;
}

/* Opens a directory whose parent is pinned. */
static int open_below(struct weir__worker *w, struct weir__dir *dir)
{
    struct weir__dir *parent = parent_of(dir);
    char temp[WEIR__TEMP_SIZE];
    const char *name = dir->name;
    if (dir->is_temporary) {
        weir__name_dir(w->run, dir->name, dir->salt, temp);
        name = temp;
    }
    int fds[2];
    if (open_pair(w, dir, parent->src_fd, dir->name, parent->dst_fd, name, fds) < 0)
        return -1;
    adopt(w->run, dir, fds[0], fds[1]);
    return 0;
}

static int pin_once(struct weir__worker *w, struct weir__dir *dir)
{
    /* Up to the nearest that is open, marking the way; then down again. The way is marked by
     * counting, since the parents are known from below only. */
    size_t depth = 0;
    struct weir__dir *at = dir;
    while (!pin_open(w->run, at)) {
        depth++;
        at = parent_of(at);
        if (!at) {
            errno = ESTALE;
            return -1;
        }
    }
    while (depth > 0) {
        struct weir__dir *below = dir;
        for (size_t i = 1; i < depth; i++)
            below = parent_of(below);
        int result = open_below(w, below);
        weir__dir_unpin(w, at);
        if (result < 0)
            return -1;
        at = below;
        depth--;
    }
    return 0;
}

int weir__dir_pin(struct weir__worker *w, struct weir__dir *dir)
{
    struct weir__job job = {.epoch = weir_adapt_epoch(&w->run->adapt)};
    while (pin_once(w, dir) < 0) {
        if (!weir__is_overload(errno) || job.tries++ == WEIR__TRIES_MAX)
            return -1;
        weir__worker_relieve(w, &job, errno);
    }
    return 0;
}

void weir__dir_reopen_parent(struct weir__worker *w, struct weir__dir *child)
{
    struct weir__dir *parent = parent_of(child);
    if (!parent || pin_open(w->run, parent)) {
        if (parent)
            weir__dir_unpin(w, parent);
        return;
    }
    /* Pinned, or somebody might close it under our hands. */
    if (!pin_open(w->run, child))
        return;
    bool is_fit = (child->src_fd < 0) == (parent->kind != WEIR__DIR_PLAIN || parent->is_unread) &&
                  (child->dst_fd < 0) == !parent->has_dst;
    int fds[2];
    /* What fails here is tried the other way when the parent is needed. */
    if (is_fit && open_pair(w, parent, child->src_fd, "..", child->dst_fd, "..", fds) == 0) {
        adopt(w->run, parent, fds[0], fds[1]);
        weir__dir_unpin(w, parent);
    }
    weir__dir_unpin(w, child);
}
