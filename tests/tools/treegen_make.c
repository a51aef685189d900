/* treegen_make.c - makes single entries with all their metadata, and the random numbers. */
#include "treegen.h"

#include <endian.h>
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "banned.h"

static uint64_t random_state;
static bool is_seeded;

/* splitmix64: a counter, well stirred. */
uint64_t random_next(void)
{
    if (!is_seeded) {
        random_state = knobs.seed * UINT64_C(0xd1342543de82ef95) + 1;
        is_seeded = true;
    }
    uint64_t z = random_state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

uint64_t random_below(uint64_t limit)
{
    return random_next() % limit;
}

bool random_one_in(uint64_t count)
{
    return random_below(count) == 0;
}

/* Within what ext4 and xfs can hold, so that a copy between file systems can keep it. */
struct timespec random_time(void)
{
    static const int64_t edges[] = {-2147483648, -1, 0, 1, 2147483647, 2147483648, 4102444800};
    static const long nanos[] = {0, 1, 999999999, 123456789, 1000, 500000000};
    int64_t seconds = random_one_in(4) ? edges[random_below(sizeof(edges) / sizeof(edges[0]))]
                                       : (int64_t)random_below(6442450944u) - 2147483648;
    long nano = random_one_in(2) ? nanos[random_below(sizeof(nanos) / sizeof(nanos[0]))]
                                 : (long)random_below(1000000000);
    return (struct timespec){.tv_sec = seconds, .tv_nsec = nano};
}

struct meta plain_meta(mode_t mode)
{
    struct meta meta = {.mode = mode, .uid = geteuid(), .gid = getegid()};
    meta.atime = random_time();
    meta.mtime = random_time();
    return meta;
}

struct meta random_meta(mode_t type)
{
    static const mode_t modes[] = {0644,  0600,  0755,  0444,  0555,  0000, 0777,
                                   04755, 02755, 01777, 06711, 07777, 0200, 0111};
    static const uid_t owners[] = {0, 1, 1000, 65533, 65534, 100000, 4294967293u};
    struct meta meta = plain_meta(modes[random_below(sizeof(modes) / sizeof(modes[0]))]);
    if (type != S_IFDIR && random_one_in(3))
        meta.mode = 0644;
    if (knobs.is_root && knobs.wants_owners) {
        meta.uid = owners[random_below(sizeof(owners) / sizeof(owners[0]))];
        meta.gid = owners[random_below(sizeof(owners) / sizeof(owners[0]))];
    }
    return meta;
}

const char *path_of(const char *format, ...)
{
    static char buffers[8][PATH_MAX];
    static unsigned turn;
    char *buffer = buffers[turn++ % 8];
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(buffer, PATH_MAX, format, arguments);
    va_end(arguments);
    if (length < 0 || length >= PATH_MAX)
        errx(2, "a path became too long");
    return buffer;
}

/* Kept in a list, so that leak checkers see that they are not lost. */
const char *keep(const char *path)
{
    static struct kept {
        struct kept *next;
        char path[];
    } * all;
    size_t size = strlen(path) + 1;
    struct kept *kept = malloc(sizeof(*kept) + size);
    if (!kept)
        errx(2, "out of memory");
    kept->next = all;
    all = kept;
    memcpy(kept->path, path, size);
    return kept->path;
}

static mode_t readable(mode_t type, mode_t mode)
{
    if (!knobs.is_readable)
        return mode;
    return mode | (type == S_IFDIR ? 0500 : 0400);
}

void put_times(const char *path, struct meta meta)
{
    if (utimensat(AT_FDCWD, path, (struct timespec[]){meta.atime, meta.mtime},
                  AT_SYMLINK_NOFOLLOW) != 0)
        err(2, "cannot set the times of '%s'", path);
}

void put_meta(const char *path, mode_t type, struct meta meta)
{
    if (knobs.is_root && lchown(path, meta.uid, meta.gid) != 0)
        err(2, "cannot change the owner of '%s'", path);
    if (type != S_IFLNK && chmod(path, readable(type, meta.mode)) != 0)
        err(2, "cannot change the mode of '%s'", path);
    put_times(path, meta);
}

/* Directories in the order in which they were made: below comes after above. */
static struct {
    struct directory {
        char *path;
        struct meta meta;
    } * list;
    size_t count, room;
} directories;

void make_directory(const char *path, struct meta meta)
{
    if (mkdir(path, 0700) != 0)
        err(2, "cannot make the directory '%s'", path);
    if (directories.count == directories.room) {
        directories.room = directories.room ? 2 * directories.room : 256;
        directories.list =
            reallocarray(directories.list, directories.room, sizeof(*directories.list));
    }
    char *copy = strdup(path);
    if (!directories.list || !copy)
        errx(2, "out of memory");
    directories.list[directories.count++] = (struct directory){copy, meta};
}

void finish_directories(void)
{
    while (directories.count) {
        struct directory *last = &directories.list[--directories.count];
        /* A mode that was given by an ACL is kept: chmod() would change its mask. */
        if (last->meta.mode == (mode_t)-1)
            put_times(last->path, last->meta);
        else
            put_meta(last->path, S_IFDIR, last->meta);
    }
}

static int open_new(const char *path)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0)
        err(2, "cannot make '%s'", path);
    return fd;
}

void make_file(const char *path, struct meta meta, const void *bytes, size_t size)
{
    int fd = open_new(path);
    if (size && write(fd, bytes, size) != (ssize_t)size)
        err(2, "cannot write '%s'", path);
    close(fd);
    put_meta(path, S_IFREG, meta);
}

void make_random_file(const char *path, struct meta meta, uint64_t size)
{
    static uint64_t block[8192];
    int fd = open_new(path);
    for (uint64_t at = 0; at < size;) {
        size_t part = size - at < sizeof(block) ? (size_t)(size - at) : sizeof(block);
        for (size_t i = 0; i < (part + 7) / 8; i++)
            block[i] = random_next();
        if (write(fd, block, part) != (ssize_t)part)
            err(2, "cannot write '%s'", path);
        at += part;
    }
    close(fd);
    put_meta(path, S_IFREG, meta);
}

void make_symlink(const char *path, struct meta meta, const char *target)
{
    if (symlink(target, path) != 0)
        err(2, "cannot make the symlink '%s'", path);
    put_meta(path, S_IFLNK, meta);
}

void make_node(const char *path, struct meta meta, mode_t type, dev_t device)
{
    if ((type == S_IFCHR || type == S_IFBLK) && !knobs.is_root)
        return;
    if (mknod(path, type | 0600, device) != 0) {
        /* xfs has fewer bits for the numbers of devices. */
        if (errno != EPERM && errno != EINVAL)
            err(2, "cannot make '%s'", path);
        return;
    }
    put_meta(path, type, meta);
}

bool make_link(const char *from, const char *to)
{
    if (linkat(AT_FDCWD, from, AT_FDCWD, to, 0) == 0)
        return true;
    if (errno != EMLINK && errno != EPERM && errno != EACCES && errno != ENOENT)
        err(2, "cannot link '%s'", to);
    return false;
}

bool put_attribute(const char *path, const char *name, const void *value, size_t size)
{
    static char told[8][32];
    if (lsetxattr(path, name, value, size, 0) == 0)
        return true;
    if (errno == ENOSPC || errno == E2BIG || errno == ERANGE)
        return false;
    if (errno != ENOTSUP && errno != EPERM && errno != EINVAL)
        err(2, "cannot set %s of '%s'", name, path);
    int reason = errno;
    size_t length = strcspn(name, "."), i = 0;
    while (i < 7 && told[i][0] && strncmp(told[i], name, length) != 0)
        i++;
    if (!told[i][0]) {
        snprintf(told[i], sizeof(told[i]), "%.*s", (int)length, name);
        fprintf(stderr, "treegen: no %s attributes on some: %s\n", told[i], strerror(reason));
    }
    return false;
}

/* The kernel's form: a version, then tag, permissions and id of each entry, little endian. */
bool put_acl(const char *path, unsigned owner, unsigned named, unsigned mask, bool is_default)
{
    struct {
        uint32_t version;
        struct {
            uint16_t tag, permissions;
            uint32_t id;
        } entries[6];
    } acl = {.version = htole32(2)};
    const struct {
        uint16_t tag;
        unsigned permissions;
        uint32_t id;
    } entries[6] = {{0x01, owner, UINT32_MAX}, {0x02, named, 1000},      {0x04, 5, UINT32_MAX},
                    {0x08, named, 65533},      {0x10, mask, UINT32_MAX}, {0x20, 4, UINT32_MAX}};
    for (size_t i = 0; i < 6; i++) {
        acl.entries[i].tag = htole16(entries[i].tag);
        acl.entries[i].permissions = htole16((uint16_t)entries[i].permissions);
        acl.entries[i].id = htole32(entries[i].id);
    }
    return put_attribute(path, is_default ? "system.posix_acl_default" : "system.posix_acl_access",
                         &acl, sizeof(acl));
}

/* cap_net_bind_service, effective and permitted, in the second version of the kernel's form. */
bool put_capability(const char *path)
{
    const uint32_t value[5] = {htole32(0x02000001), htole32(1u << 10)};
    return knobs.is_root && put_attribute(path, "security.capability", value, sizeof(value));
}

void drop_acl(const char *path)
{
    struct stat st;
    if (lstat(path, &st) != 0)
        err(2, "cannot look at '%s'", path);
    removexattr(path, "system.posix_acl_access");
    removexattr(path, "system.posix_acl_default");
    if (chmod(path, st.st_mode & 07777) != 0)
        err(2, "cannot change the mode of '%s'", path);
}
