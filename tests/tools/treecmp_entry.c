/* treecmp_entry.c - compares two entries of the same name: status, attributes, links, target.
 *
 * Attributes are reached by way of /proc/self/fd/N/NAME: the calls that take a name have no form
 * with a directory before Linux 6.13, and descriptors do not work for symlinks, sockets and
 * devices.
 */
#include "treecmp.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "banned.h"

#define XATTR_MAX 65536 /* the kernel's limit, of a value and of a list */

/* Which inode of the other tree an inode stands for: open addressing, half full at most. */
struct links {
    struct link {
        uint64_t device, inode; /* 0, 0: free; no inode has the number 0 */
        uint64_t other_device, other_inode;
        char *path; /* the first name that was seen, escaped, to show with a difference */
    } * table;
    size_t room, count;
};

static struct links links_a, links_b;

static uint64_t device_of(const struct statx *st)
{
    return (uint64_t)st->stx_dev_major << 32 | st->stx_dev_minor;
}

static size_t slot_of(const struct links *links, uint64_t device, uint64_t inode)
{
    uint64_t hash = (inode ^ device << 7) * UINT64_C(0x9e3779b97f4a7c15);
    size_t at = (size_t)(hash >> 20) & (links->room - 1);
    while (links->table[at].inode &&
           (links->table[at].inode != inode || links->table[at].device != device))
        at = (at + 1) & (links->room - 1);
    return at;
}

static void links_grow(struct links *links)
{
    struct links larger = {.room = links->room ? 2 * links->room : 1024, .count = links->count};
    larger.table = grow(NULL, larger.room, sizeof(*larger.table));
    memset(larger.table, 0, larger.room * sizeof(*larger.table));
    for (size_t i = 0; i < links->room; i++)
        if (links->table[i].inode)
            larger.table[slot_of(&larger, links->table[i].device, links->table[i].inode)] =
                links->table[i];
    free(links->table);
    *links = larger;
}

/* The entry of an inode; a new one when it was not seen before. */
static struct link *links_enter(struct links *links, const char *path, const struct statx *own,
                                const struct statx *other)
{
    if (2 * (links->count + 1) > links->room)
        links_grow(links);
    struct link *found = &links->table[slot_of(links, device_of(own), own->stx_ino)];
    if (found->inode)
        return found;
    *found =
        (struct link){device_of(own), own->stx_ino, device_of(other), other->stx_ino, escape(path)};
    links->count++;
    return found;
}

static bool is_other(const struct link *link, const struct statx *other)
{
    return link->other_device == device_of(other) && link->other_inode == other->stx_ino;
}

/* Both tables must be one-to-one: then the names fall into the same groups. */
static void compare_links(const char *path, const struct side *a, const struct side *b)
{
    if (a->st.stx_nlink != b->st.stx_nlink)
        differ(ASPECT_NLINK, path, "%" PRIu32 " links, then %" PRIu32, a->st.stx_nlink,
               b->st.stx_nlink);
    if (!is_wanted(ASPECT_LINKS) || (a->st.stx_nlink < 2 && b->st.stx_nlink < 2))
        return;
    struct link *left = links_enter(&links_a, path, &a->st, &b->st);
    struct link *right = links_enter(&links_b, path, &b->st, &a->st);
    if (!is_other(left, &b->st))
        differ(ASPECT_LINKS, path, "is one with '%s' in the first tree alone", left->path);
    if (!is_other(right, &a->st))
        differ(ASPECT_LINKS, path, "is one with '%s' in the second tree alone", right->path);
}

static const char *type_name(unsigned mode)
{
    switch (mode & S_IFMT) {
    case S_IFREG:
        return "file";
    case S_IFDIR:
        return "directory";
    case S_IFLNK:
        return "symlink";
    case S_IFIFO:
        return "fifo";
    case S_IFSOCK:
        return "socket";
    case S_IFCHR:
        return "character device";
    case S_IFBLK:
        return "block device";
    default:
        return "unknown";
    }
}

static void compare_time(enum aspect aspect, const char *path, const struct statx_timestamp *a,
                         const struct statx_timestamp *b)
{
    if (a->tv_sec != b->tv_sec || a->tv_nsec != b->tv_nsec)
        differ(aspect, path, "%lld.%09u, then %lld.%09u", (long long)a->tv_sec, a->tv_nsec,
               (long long)b->tv_sec, b->tv_nsec);
}

static void compare_status(const char *path, const struct statx *a, const struct statx *b)
{
    if ((a->stx_mode & 07777) != (b->stx_mode & 07777))
        differ(ASPECT_MODE, path, "%04o, then %04o", a->stx_mode & 07777u, b->stx_mode & 07777u);
    if (a->stx_uid != b->stx_uid)
        differ(ASPECT_UID, path, "%u, then %u", a->stx_uid, b->stx_uid);
    if (a->stx_gid != b->stx_gid)
        differ(ASPECT_GID, path, "%u, then %u", a->stx_gid, b->stx_gid);
    enum aspect aspect = S_ISDIR(a->stx_mode)   ? ASPECT_DIR_MTIME
                         : S_ISLNK(a->stx_mode) ? ASPECT_LINK_MTIME
                                                : ASPECT_MTIME;
    compare_time(aspect, path, &a->stx_mtime, &b->stx_mtime);
    compare_time(ASPECT_ATIME, path, &a->stx_atime, &b->stx_atime);
    if ((S_ISCHR(a->stx_mode) || S_ISBLK(a->stx_mode)) &&
        (a->stx_rdev_major != b->stx_rdev_major || a->stx_rdev_minor != b->stx_rdev_minor))
        differ(ASPECT_DEVICE, path, "%u:%u, then %u:%u", a->stx_rdev_major, a->stx_rdev_minor,
               b->stx_rdev_major, b->stx_rdev_minor);
}

static void compare_targets(const char *path, const struct side *a, const struct side *b)
{
    static char left[PATH_MAX + 1], right[PATH_MAX + 1];
    ssize_t left_size = readlinkat(a->dir, a->name, left, sizeof(left));
    ssize_t right_size = readlinkat(b->dir, b->name, right, sizeof(right));
    if (left_size < 0 || right_size < 0)
        differ(ASPECT_UNREADABLE, path, "cannot read the symlink: %s", strerror(errno));
    else if (left_size != right_size || memcmp(left, right, (size_t)left_size) != 0)
        differ(ASPECT_TARGET, path, "of %zd bytes, then of %zd", left_size, right_size);
}

/* Attributes of one entry: their names one after the other, each with its zero. */
struct attributes {
    char path[64 + NAME_MAX];
    char names[XATTR_MAX];
    size_t size;
};

/* How xfs keeps its ACLs: they show a second time under these names, and on xfs alone. */
static bool is_shadow(const char *name)
{
    return strncmp(name, "trusted.SGI_ACL_", 16) == 0;
}

static bool list_attributes(struct attributes *list, const char *path, const struct side *side)
{
    snprintf(list->path, sizeof(list->path), "/proc/self/fd/%d/%s", side->dir, side->name);
    ssize_t size = llistxattr(list->path, list->names, sizeof(list->names));
    list->size = size < 0 ? 0 : (size_t)size;
    if (size < 0 && errno != ENOTSUP)
        differ(ASPECT_UNREADABLE, path, "cannot list attributes: %s", strerror(errno));
    return size >= 0 || errno == ENOTSUP;
}

static bool has_attribute(const struct attributes *list, const char *name)
{
    for (size_t at = 0; at < list->size; at += strlen(list->names + at) + 1)
        if (strcmp(list->names + at, name) == 0)
            return true;
    return false;
}

static enum aspect aspect_of_attribute(const char *name)
{
    if (strncmp(name, "system.posix_acl_", 17) == 0)
        return ASPECT_ACL;
    if (strncmp(name, "trusted.", 8) == 0 || strncmp(name, "security.", 9) == 0)
        return ASPECT_ROOT_XATTR;
    return ASPECT_XATTR;
}

static void compare_attribute(const char *path, const char *name, const struct attributes *a,
                              const struct attributes *b)
{
    static char left[XATTR_MAX], right[XATTR_MAX];
    ssize_t left_size = lgetxattr(a->path, name, left, sizeof(left));
    ssize_t right_size = lgetxattr(b->path, name, right, sizeof(right));
    if (left_size < 0 || right_size < 0)
        differ(ASPECT_UNREADABLE, path, "cannot read %s: %s", name, strerror(errno));
    else if (left_size != right_size || memcmp(left, right, (size_t)left_size) != 0)
        differ(aspect_of_attribute(name), path, "%s has another value", name);
}

static void compare_attributes(const char *path, const struct side *a, const struct side *b)
{
    static struct attributes left, right;
    if (!list_attributes(&left, path, a) || !list_attributes(&right, path, b))
        return;
    for (size_t at = 0; at < left.size; at += strlen(left.names + at) + 1) {
        const char *name = left.names + at;
        if (is_shadow(name))
            continue;
        if (!has_attribute(&right, name))
            differ(aspect_of_attribute(name), path, "%s is missing", name);
        else if (is_wanted(aspect_of_attribute(name)))
            compare_attribute(path, name, &left, &right);
    }
    for (size_t at = 0; at < right.size; at += strlen(right.names + at) + 1)
        if (!has_attribute(&left, right.names + at) && !is_shadow(right.names + at))
            differ(aspect_of_attribute(right.names + at), path, "%s is too much", right.names + at);
}

static bool look(const char *path, struct side *side)
{
    int flags = AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT | AT_STATX_SYNC_AS_STAT;
    if (statx(side->dir, side->name, flags, STATX_BASIC_STATS, &side->st) == 0)
        return true;
    differ(ASPECT_UNREADABLE, path, "cannot look at it: %s", strerror(errno));
    return false;
}

bool compare_entry(const char *path, struct side *a, struct side *b)
{
    if (!look(path, a) || !look(path, b))
        return false;
    unsigned type = a->st.stx_mode & S_IFMT;
    if (type != (b->st.stx_mode & S_IFMT)) {
        differ(ASPECT_TYPE, path, "%s, then %s", type_name(a->st.stx_mode),
               type_name(b->st.stx_mode));
        return false;
    }
    compare_status(path, &a->st, &b->st);
    if (is_wanted(ASPECT_XATTR) || is_wanted(ASPECT_ROOT_XATTR) || is_wanted(ASPECT_ACL))
        compare_attributes(path, a, b);
    if (type != S_IFDIR)
        compare_links(path, a, b);
    /* Not for nothing: reading a symlink changes its access time. */
    if (type == S_IFLNK && is_wanted(ASPECT_TARGET))
        compare_targets(path, a, b);
    if (type == S_IFREG)
        compare_files(path, a, b);
    return type == S_IFDIR;
}
