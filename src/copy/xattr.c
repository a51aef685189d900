/* xattr.c - what differs in two lists of attributes, and how it is made the same.
 *
 * Cost: an entry without attributes costs one call to list the source and one for the destination,
 * and with ACLs one more for each kind of ACL and side. Extended attributes that go are removed
 * before the others are written, since some file systems keep all of an inode's in one block.
 *
 * What has no descriptor (symlinks, devices, fifos, sockets) is reached as /proc/self/fd/DIR/NAME
 * by the calls that do not follow symlinks. Without /proc that is an error which says so.
 *
 * A user may write user.* only where the mode lets the owner write. As rsync does, the right is
 * lent for the moment; the mode is set afterwards in any case.
 */
#include "xattr.h"

#include <endian.h>
#include <limits.h>
#include <linux/posix_acl.h>
#include <linux/posix_acl_xattr.h>
#include <stdio.h>
#include <string.h>

#include "alloc.h"
#include "sys.h"

#include "banned.h"

#define BYTES_FIRST 1024u
#define CAPABILITY  "security.capability"

/* An entry as the calls reach it. */
struct reach {
    int fd; /* or -1: by the path */
    char path[PATH_MAX];
};

struct bringing {
    struct weir__attributes *attributes;
    struct reach from, to;
    unsigned changes;
};

static int reach_init(struct reach *reach, const struct weir__meta_place *place)
{
    reach->fd = place->fd;
    if (place->fd >= 0)
        return 0;
    int length = place->dir == AT_FDCWD
                     ? snprintf(reach->path, sizeof(reach->path), "%s", place->name)
                     : snprintf(reach->path, sizeof(reach->path), "/proc/self/fd/%d/%s", place->dir,
                                place->name);
    if (length >= 0 && (size_t)length < sizeof(reach->path))
        return 0;
    errno = ENAMETOOLONG;
    return -1;
}

static int bytes_reserve(struct weir__meta_bytes *bytes, size_t capacity)
{
    if (bytes->_capacity >= capacity)
        return 0;
    char *data = weir__base_realloc(bytes->_data, capacity + 1, 1);
    if (!data) {
        errno = ENOMEM;
        return -1;
    }
    bytes->_data = data;
    bytes->_capacity = capacity;
    return 0;
}

/* The value of an attribute, or the list of all for a name of NULL. -1 and errno, the bytes are
 * then none. */
static int fetch(const struct reach *reach, const char *name, struct weir__meta_bytes *bytes)
{
    bytes->_length = 0;
    for (size_t capacity = BYTES_FIRST;; capacity = WEIR__XATTR_MAX) {
        if (bytes_reserve(bytes, capacity) < 0)
            return -1;
        char *data = bytes->_data;
        size_t size = bytes->_capacity;
        ssize_t length;
        if (reach->fd >= 0)
            length = name ? weir__sys_fgetxattr(reach->fd, name, data, size)
                          : weir__sys_flistxattr(reach->fd, data, size);
        else
            length = name ? weir__sys_lgetxattr(reach->path, name, data, size)
                          : weir__sys_llistxattr(reach->path, data, size);
        if (length >= 0) {
            bytes->_length = (size_t)length;
            data[length] = '\0';
            return 0;
        }
        if (errno != ERANGE)
            return -1;
        if (size >= WEIR__XATTR_MAX) {
            errno = E2BIG;
            return -1;
        }
    }
}

/* Writes the value, or removes the attribute for a value of NULL. */
static int store_once(const struct reach *reach, const char *name,
                      const struct weir__meta_bytes *value)
{
    if (!value)
        return reach->fd >= 0 ? weir__sys_fremovexattr(reach->fd, name)
                              : weir__sys_lremovexattr(reach->path, name);
    return reach->fd >= 0 ? weir__sys_fsetxattr(reach->fd, name, value->_data, value->_length)
                          : weir__sys_lsetxattr(reach->path, name, value->_data, value->_length);
}

static bool unlock(struct weir__attributes *attributes)
{
    const struct stat *existing = attributes->existing;
    if (attributes->is_unlocked || (existing->st_mode & S_IWUSR))
        return false;
    int saved = errno;
    if (weir__meta_chmod(attributes->to, existing, (existing->st_mode & 0777) | S_IWUSR) == 0) {
        attributes->is_unlocked = true;
        attributes->needs_mode = true;
    }
    errno = saved;
    return attributes->is_unlocked;
}

static int store(struct bringing *bringing, const char *name, const struct weir__meta_bytes *value)
{
    int result = store_once(&bringing->to, name, value);
    if (result < 0 && errno == EACCES && unlock(bringing->attributes))
        result = store_once(&bringing->to, name, value);
    return result;
}

/* Told apart from a file that is gone, which has the same errno. */
static bool is_without_proc(const struct reach *reach)
{
    struct stat st;
    return reach->fd < 0 && reach->path[0] == '/' &&
           weir__sys_fstatat(AT_FDCWD, "/proc/self/fd", &st, 0) < 0;
}

static void fail(struct bringing *bringing, const struct reach *reach, const char *what,
                 const char *attribute)
{
    int errno_value = errno;
    if (errno_value == ENOENT && is_without_proc(reach)) {
        errno_value = ENOTSUP;
        what = "/proc is not mounted: cannot reach the attributes of";
    }
    weir__meta_fail(&bringing->attributes->failure, errno_value, what, attribute);
}

static bool bringing_init(struct bringing *bringing, struct weir__attributes *attributes)
{
    bringing->attributes = attributes;
    bringing->changes = 0;
    if (reach_init(&bringing->from, attributes->from) == 0 &&
        reach_init(&bringing->to, attributes->to) == 0)
        return true;
    weir__meta_fail(&attributes->failure, errno, "cannot reach the attributes of", NULL);
    return false;
}

static bool has_prefix(const char *name, const char *prefix)
{
    return strncmp(name, prefix, strlen(prefix)) == 0;
}

static bool is_ordinary(const struct weir__meta_rules *rules)
{
    return !rules->may_chown && !rules->may_trust;
}

/* XFS shows root its ACLs a second time, in the form in which it stores them. As attributes they
 * mean nothing elsewhere, and written or removed here they would change the ACL. */
static bool is_hidden_acl(const char *name)
{
    return has_prefix(name, "trusted.SGI_ACL_");
}

/* Whether the attribute must be the same on both sides. */
static bool is_ours(const struct weir__meta_rules *rules, const char *name)
{
    if (is_ordinary(rules))
        return has_prefix(name, "user.");
    if (has_prefix(name, "trusted."))
        return rules->may_trust && !is_hidden_acl(name);
    return !has_prefix(name, "system.");
}

/* Whether it is worth a try, which nobody will miss. */
static bool is_tried(const struct weir__meta_rules *rules, const char *name)
{
    return is_ordinary(rules) && has_prefix(name, "security.");
}

static const char *next_name(const struct weir__meta_bytes *names, const char *name)
{
    if (names->_length == 0)
        return NULL;
    name = name ? name + strlen(name) + 1 : names->_data;
    return name < names->_data + names->_length ? name : NULL;
}

/* Finds a name, from where the last one was found and round to there: two lists are mostly in the
 * same order, and then going through both of them stays linear. */
static bool finds(const struct weir__meta_bytes *names, const char **cursor, const char *name)
{
    const char *at = *cursor;
    for (int turn = 0; names->_length > 0 && turn < 2;) {
        at = next_name(names, at);
        if (!at) {
            turn++;
        } else if (strcmp(at, name) == 0) {
            *cursor = at;
            return true;
        }
    }
    return false;
}

static bool is_same(const struct weir__meta_bytes *a, const struct weir__meta_bytes *b)
{
    return a->_length == b->_length &&
           (a->_length == 0 || memcmp(a->_data, b->_data, a->_length) == 0);
}

/* File systems without attributes have none, and neither has what may not have any. */
static bool list(struct bringing *bringing, const struct reach *reach,
                 struct weir__meta_bytes *names, const char *what)
{
    if (fetch(reach, NULL, names) == 0)
        return true;
    mode_t type = bringing->attributes->mode & S_IFMT;
    if (errno == ENOTSUP || (errno == EPERM && type != S_IFREG && type != S_IFDIR))
        return true;
    fail(bringing, reach, what, NULL);
    return false;
}

static void remove_others(struct bringing *bringing)
{
    struct weir__attributes *attributes = bringing->attributes;
    struct weir__meta_scratch *scratch = attributes->scratch;
    const char *cursor = NULL;
    for (const char *name = NULL; (name = next_name(&scratch->_other_names, name));) {
        if (!is_ours(attributes->rules, name) || finds(&scratch->_names, &cursor, name))
            continue;
        bringing->changes |= WEIR__CHANGE_XATTR;
        if (!attributes->is_dry && store(bringing, name, NULL) < 0 && errno != ENODATA)
            fail(bringing, &bringing->to, "cannot remove an extended attribute of", name);
    }
}

/* One attribute of the source. cursor: in the destination's list. */
static void bring(struct bringing *bringing, const char *name, const char **cursor)
{
    struct weir__attributes *attributes = bringing->attributes;
    struct weir__meta_scratch *scratch = attributes->scratch;
    bool is_missed = is_ours(attributes->rules, name);
    if (!is_missed && (attributes->is_dry || !is_tried(attributes->rules, name)))
        return;
    if (fetch(&bringing->from, name, &scratch->_value) < 0) {
        /* One that went since it was listed is not missed: the source is seen to change. */
        if (is_missed && errno != ENODATA)
            fail(bringing, &bringing->from, "cannot read an extended attribute of", name);
        return;
    }
    if (finds(&scratch->_other_names, cursor, name)) {
        int result = fetch(&bringing->to, name, &scratch->_other_value);
        if (result == 0 && is_same(&scratch->_value, &scratch->_other_value))
            return;
        if (result < 0 && errno != ENODATA && is_missed) {
            fail(bringing, &bringing->to, "cannot read an extended attribute of the copy of", name);
            return;
        }
    }
    if (attributes->is_dry || store(bringing, name, &scratch->_value) == 0)
        bringing->changes |= WEIR__CHANGE_XATTR;
    else if (is_missed)
        fail(bringing, &bringing->to, "cannot write an extended attribute of", name);
}

unsigned weir__attributes_bring_xattrs(struct weir__attributes *attributes)
{
    struct bringing bringing;
    struct weir__meta_scratch *scratch = attributes->scratch;
    if (!bringing_init(&bringing, attributes) ||
        !list(&bringing, &bringing.from, &scratch->_names,
              "cannot list the extended attributes of") ||
        !list(&bringing, &bringing.to, &scratch->_other_names,
              "cannot list the extended attributes of the copy of"))
        return 0;
    remove_others(&bringing);
    const char *cursor = NULL;
    bool has_capability = false;
    for (const char *name = NULL; (name = next_name(&scratch->_names, name));) {
        if (strcmp(name, CAPABILITY) == 0)
            has_capability = true;
        else
            bring(&bringing, name, &cursor);
    }
    /* Last, since the kernel takes it away when other things of the file change. */
    if (has_capability)
        bring(&bringing, CAPABILITY, &cursor);
    return bringing.changes;
}

void weir__acl_shape(struct weir__meta_bytes *acl, mode_t mode)
{
    struct posix_acl_xattr_header header;
    struct posix_acl_xattr_entry entry;
    if (acl->_length < sizeof(header) || (acl->_length - sizeof(header)) % sizeof(entry) != 0)
        return;
    memcpy(&header, acl->_data, sizeof(header));
    if (le32toh(header.a_version) != POSIX_ACL_XATTR_VERSION)
        return;
    bool is_more_than_mode = false;
    for (size_t at = sizeof(header); at < acl->_length; at += sizeof(entry)) {
        memcpy(&entry, acl->_data + at, sizeof(entry));
        unsigned tag = le16toh(entry.e_tag);
        if (tag == ACL_USER_OBJ)
            entry.e_perm = htole16((mode >> 6) & 7);
        else if (tag == ACL_MASK)
            entry.e_perm = htole16((mode >> 3) & 7);
        else if (tag == ACL_OTHER)
            entry.e_perm = htole16(mode & 7);
        if (tag != ACL_USER_OBJ && tag != ACL_GROUP_OBJ && tag != ACL_OTHER)
            is_more_than_mode = true;
        memcpy(acl->_data + at, &entry, sizeof(entry));
    }
    if (!is_more_than_mode)
        acl->_length = 0;
}

static int fetch_acl(const struct reach *reach, const char *name, mode_t mode,
                     struct weir__meta_bytes *acl)
{
    if (fetch(reach, name, acl) < 0)
        return errno == ENODATA || errno == ENOTSUP ? 0 : -1;
    if (acl->_length <= sizeof(struct posix_acl_xattr_header))
        acl->_length = 0;
    else if (strcmp(name, WEIR__ACL_ACCESS) == 0)
        weir__acl_shape(acl, mode);
    return 0;
}

static void bring_acl(struct bringing *bringing, const char *name)
{
    struct weir__attributes *attributes = bringing->attributes;
    struct weir__meta_bytes *acl = &attributes->scratch->_value;
    struct weir__meta_bytes *there = &attributes->scratch->_other_value;
    if (fetch_acl(&bringing->from, name, attributes->mode, acl) < 0) {
        fail(bringing, &bringing->from, "cannot read the ACL of", name);
        return;
    }
    if (fetch_acl(&bringing->to, name, attributes->mode, there) < 0) {
        fail(bringing, &bringing->to, "cannot read the ACL of the copy of", name);
        return;
    }
    if (is_same(acl, there))
        return;
    bringing->changes |= WEIR__CHANGE_ACL;
    if (attributes->is_dry)
        return;
    if (strcmp(name, WEIR__ACL_ACCESS) == 0)
        attributes->needs_mode = true;
    bool is_gone = acl->_length == 0;
    if (store_once(&bringing->to, name, is_gone ? NULL : acl) < 0 && !(is_gone && errno == ENODATA))
        fail(bringing, &bringing->to,
             is_gone ? "cannot remove the ACL of" : "cannot set the ACL of", name);
}

unsigned weir__attributes_bring_acls(struct weir__attributes *attributes)
{
    struct bringing bringing;
    if (!bringing_init(&bringing, attributes))
        return 0;
    bring_acl(&bringing, WEIR__ACL_ACCESS);
    if (S_ISDIR(attributes->mode))
        bring_acl(&bringing, WEIR__ACL_DEFAULT);
    return bringing.changes;
}
