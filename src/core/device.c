/* device.c - from a path to the disk below it.
 *
 * State: none. A search walks down a small graph and collects the disks that it ends at:
 *
 *     path --statx--> number --+-- major 0: mountinfo: a source device, an overlay's directory
 *                              |            (and on from there), or none: memory, network
 *                              +-- sysfs dev/block/MAJ:MIN:
 *                                    partition          -> the directory above it
 *                                    loop/backing_file  -> the number of that file, and on
 *                                    slaves/            -> each of them (device-mapper, md, bcache)
 *                                    none of these      -> a disk
 *
 * Happy path on an ordinary partition: one statx, four reads of sysfs.
 *
 * Failure modes: only the path itself can fail. Whatever is missing on the way down (no sysfs in a
 * container, a backing file that was deleted, an overlay directory that this name space does not
 * see) ends the walk there, and the place counts as a disk of its own: too many pools rather than
 * an error. The walk is bounded in depth and steps, since a loop device can lie on a file system
 * that lies on a loop device. Names are read into fixed buffers; what does not fit ends the walk.
 */
#include <weir/slots.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "error.h"
#include "fault.h"
#include "lock.h"

#define DEPTH_MAX 8
#define STEPS_MAX 256
#define SYSFS_MAX 512 /* bytes of a path in sysfs */
#define TEXT_MAX  8192

static const struct {
    const char *name;
    uint64_t slots;
} kinds[] = {
    [WEIR_DISK_UNKNOWN] = {"unknown", 4}, [WEIR_DISK_ROTATIONAL] = {"rotational", 2},
    [WEIR_DISK_SOLID] = {"solid", 4},     [WEIR_DISK_VIRTUAL] = {"virtual", 4},
    [WEIR_DISK_NVME] = {"nvme", 8},       [WEIR_DISK_NONE] = {"none", 4},
};

static enum weir_disk known(enum weir_disk kind)
{
    return (unsigned)kind < sizeof(kinds) / sizeof(kinds[0]) ? kind : WEIR_DISK_UNKNOWN;
}

const char *weir_disk_name(enum weir_disk kind)
{
    return kinds[known(kind)].name;
}

uint64_t weir_disk_slots(enum weir_disk kind)
{
    return kinds[known(kind)].slots;
}

/* ---- system calls, each of which a test can make fail ---- */

static bool io_fails(void)
{
    if (!weir_fault_hit(WEIR_FAULT_IO))
        return false;
    errno = EIO;
    return true;
}

/* Which file system a path is on: its number, and the mount it was reached by (0: not known). */
struct place {
    dev_t number;
    dev_t block; /* the device that the path itself is, if it is one; else 0 */
    uint64_t mount;
};

static int look_at(const char *path, struct place *ret_place)
{
    struct statx status;
    if (io_fails() || statx(AT_FDCWD, path, AT_STATX_DONT_SYNC, STATX_TYPE | STATX_MNT_ID, &status))
        return -errno;
    ret_place->number = makedev(status.stx_dev_major, status.stx_dev_minor);
    ret_place->block =
        S_ISBLK(status.stx_mode) ? makedev(status.stx_rdev_major, status.stx_rdev_minor) : 0;
    ret_place->mount = status.stx_mask & STATX_MNT_ID ? status.stx_mnt_id : 0;
    return 0;
}

static int open_for_reading(const char *path)
{
    return io_fails() ? -1 : open(path, O_RDONLY | O_CLOEXEC);
}

static ssize_t read_some(int fd, char *bytes, size_t size)
{
    ssize_t got;
    do {
        got = io_fails() ? -1 : read(fd, bytes, size);
    } while (got < 0 && errno == EINTR);
    return got;
}

/* The first line of a small file, or false: missing, unreadable, empty, or too long. */
static bool read_line(const char *path, char *line, size_t size)
{
    int fd = open_for_reading(path);
    if (fd < 0)
        return false;
    size_t used = 0;
    ssize_t got;
    while ((got = read_some(fd, line + used, size - used)) > 0 && (used += (size_t)got) < size) {}
    close(fd);
    if (got < 0 || used == size)
        return false;
    line[used] = '\0';
    line[strcspn(line, "\n")] = '\0';
    return line[0] != '\0';
}

/* ---- the walk ---- */

struct walk {
    const char *sysfs;
    const char *mountinfo;
    struct weir_device_info *info;
    unsigned steps;
};

__attribute__((format(printf, 3, 4))) static bool print_path(char *path, size_t size,
                                                             const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int length = vsnprintf(path, size, format, args);
    va_end(args);
    return length > 0 && (size_t)length < size;
}

/* "8:1" */
static bool parse_number(const char *text, dev_t *ret_number)
{
    unsigned major_part, minor_part;
    int end = 0;
    if (sscanf(text, "%9u:%9u%n", &major_part, &minor_part, &end) != 2 || text[end] != '\0')
        return false;
    *ret_number = makedev(major_part, minor_part);
    return true;
}

/* Fewer slots first, then the lower number: what a device over several disks counts as. */
static bool goes_before(struct weir_device a, struct weir_device b)
{
    if (kinds[a._kind].slots != kinds[b._kind].slots)
        return kinds[a._kind].slots < kinds[b._kind].slots;
    return a._raw < b._raw;
}

static void add_disk(struct weir_device_info *info, dev_t number, enum weir_disk kind,
                     const char *name)
{
    uint32_t listed =
        info->disks_count < WEIR_DEVICE_DISKS_MAX ? info->disks_count : WEIR_DEVICE_DISKS_MAX;
    uint32_t at = 0;
    while (at < listed && info->disks[at].number < number)
        at++;
    if (at < listed && info->disks[at].number == number)
        return; /* two partitions of one disk */
    struct weir_device device = {number, kind};
    if (info->disks_count == 0 || goes_before(device, info->device))
        info->device = device;
    info->disks_count++;
    if (at == WEIR_DEVICE_DISKS_MAX)
        return;
    uint32_t behind = listed < WEIR_DEVICE_DISKS_MAX ? listed - at : listed - at - 1;
    memmove(&info->disks[at + 1], &info->disks[at], behind * sizeof(info->disks[0]));
    struct weir_device_disk *disk = &info->disks[at];
    memset(disk, 0, sizeof(*disk));
    disk->number = number;
    disk->kind = kind;
    memcpy(disk->name, name, strnlen(name, sizeof(disk->name) - 1));
}

static bool has_prefix(const char *text, const char *prefix)
{
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

/* The name comes first: virtual disks call themselves rotational, and NVMe only differs by it. */
static enum weir_disk kind_of(const char *directory, const char *name)
{
    char path[SYSFS_MAX], line[16];
    if (has_prefix(name, "nvme"))
        return WEIR_DISK_NVME;
    if (has_prefix(name, "vd") || has_prefix(name, "xvd"))
        return WEIR_DISK_VIRTUAL;
    if (!print_path(path, sizeof(path), "%s/queue/rotational", directory) ||
        !read_line(path, line, sizeof(line)))
        return WEIR_DISK_UNKNOWN;
    return line[0] == '0' ? WEIR_DISK_SOLID : WEIR_DISK_ROTATIONAL;
}

static void end_at_disk(struct walk *walk, dev_t number, const char *directory)
{
    char target[SYSFS_MAX];
    ssize_t length = io_fails() ? -1 : readlink(directory, target, sizeof(target) - 1);
    target[length > 0 ? length : 0] = '\0';
    const char *slash = strrchr(target, '/');
    const char *name = slash ? slash + 1 : target;
    add_disk(walk->info, number, kind_of(directory, name), name);
}

static void walk_place(struct walk *walk, const struct place *place, unsigned depth);
static void walk_block(struct walk *walk, dev_t number, unsigned depth);

/* A loop device lies where its file lies. False when that cannot be told. */
static bool walk_loop(struct walk *walk, const char *directory, unsigned depth)
{
    char path[SYSFS_MAX], file[PATH_MAX];
    struct place place;
    if (!print_path(path, sizeof(path), "%s/loop/backing_file", directory) ||
        !read_line(path, file, sizeof(file)) || look_at(file, &place) != 0)
        return false;
    if (place.block)
        walk_block(walk, place.block, depth + 1);
    else
        walk_place(walk, &place, depth + 1);
    return true;
}

/* Below device-mapper and md. False when there is nothing below. */
static bool walk_slaves(struct walk *walk, const char *directory, unsigned depth)
{
    char path[SYSFS_MAX], line[32];
    if (!print_path(path, sizeof(path), "%s/slaves", directory) || io_fails())
        return false;
    DIR *slaves = opendir(path);
    if (!slaves)
        return false;
    bool found = false;
    struct dirent *entry;
    while ((entry = readdir(slaves))) {
        dev_t number;
        if (entry->d_name[0] == '.' ||
            !print_path(path, sizeof(path), "%s/slaves/%s/dev", directory, entry->d_name) ||
            !read_line(path, line, sizeof(line)) || !parse_number(line, &number))
            continue;
        walk_block(walk, number, depth + 1);
        found = true;
    }
    closedir(slaves);
    return found;
}

static bool walk_partition(struct walk *walk, const char *directory, unsigned depth)
{
    char path[SYSFS_MAX], line[32];
    dev_t number;
    if (!print_path(path, sizeof(path), "%s/partition", directory) ||
        !read_line(path, line, sizeof(line)))
        return false;
    /* The directory is a symbolic link, so ".." is the disk's. */
    if (!print_path(path, sizeof(path), "%s/../dev", directory) ||
        !read_line(path, line, sizeof(line)) || !parse_number(line, &number))
        return false;
    walk_block(walk, number, depth + 1);
    return true;
}

static void walk_block(struct walk *walk, dev_t number, unsigned depth)
{
    char directory[SYSFS_MAX];
    if (!print_path(directory, sizeof(directory), "%s/dev/block/%u:%u", walk->sysfs, major(number),
                    minor(number)))
        directory[0] = '\0';
    bool goes_on = depth < DEPTH_MAX && walk->steps++ < STEPS_MAX && directory[0] != '\0';
    if (goes_on && (walk_partition(walk, directory, depth) || walk_loop(walk, directory, depth) ||
                    walk_slaves(walk, directory, depth)))
        return;
    end_at_disk(walk, number, directory);
}

/* ---- mountinfo ---- */

/* A line of mountinfo, split: 36 35 98:0 /root /point opts [tags] - type source super-options */
struct mount {
    uint64_t id;
    dev_t number;
    const char *type;
    const char *source;
    char *options;
};

static bool is_octal(char c)
{
    return c >= '0' && c <= '7';
}

/* Undoes the octal escapes (\040 is a space) in place. */
static void unescape(char *text)
{
    char *to = text;
    for (const char *from = text; *from; to++) {
        if (from[0] == '\\' && is_octal(from[1]) && is_octal(from[2]) && is_octal(from[3])) {
            *to = (char)((from[1] - '0') * 64 + (from[2] - '0') * 8 + (from[3] - '0'));
            from += 4;
        } else {
            *to = *from++;
        }
    }
    *to = '\0';
}

static bool parse_mount(char *line, struct mount *ret_mount)
{
    char *rest = strstr(line, " - ");
    unsigned long long id;
    char number[32];
    if (!rest || sscanf(line, "%llu %*u %31s", &id, number) != 2 ||
        !parse_number(number, &ret_mount->number))
        return false;
    char *state = NULL;
    ret_mount->id = id;
    ret_mount->type = strtok_r(rest + 3, " ", &state);
    char *source = strtok_r(NULL, " ", &state);
    ret_mount->options = strtok_r(NULL, " ", &state);
    if (!ret_mount->type || !source || !ret_mount->options)
        return false;
    unescape(source);
    ret_mount->source = source;
    return true;
}

/* A file read line by line. A line that does not fit is left out. */
struct lines {
    int fd;
    size_t used;
    size_t next; /* where the line after the current one begins */
    bool skips;
    char text[TEXT_MAX];
};

static char *next_line(struct lines *lines)
{
    for (;;) {
        char *begin = lines->text + lines->next;
        char *end = memchr(begin, '\n', lines->used - lines->next);
        if (end) {
            bool skip = lines->skips;
            *end = '\0';
            lines->next = (size_t)(end + 1 - lines->text);
            lines->skips = false;
            if (skip)
                continue;
            return begin;
        }
        memmove(lines->text, begin, lines->used - lines->next);
        lines->used -= lines->next;
        lines->next = 0;
        if (lines->used == sizeof(lines->text)) {
            lines->used = 0;
            lines->skips = true;
        }
        ssize_t got =
            read_some(lines->fd, lines->text + lines->used, sizeof(lines->text) - lines->used);
        if (got <= 0)
            return NULL;
        lines->used += (size_t)got;
    }
}

/* The directory that an overlay writes to, or the first that it reads from; NULL without either. */
static char *overlay_directory(char *options)
{
    static const char *const keys[] = {"upperdir=", "lowerdir="};
    for (int i = 0; i < 2; i++) {
        char *at = strstr(options, keys[i]);
        if (!at || (at != options && at[-1] != ','))
            continue;
        char *directory = at + strlen(keys[i]);
        directory[strcspn(directory, ",:")] = '\0';
        unescape(directory);
        return directory;
    }
    return NULL;
}

/* Goes on from where the mount says that its data are. False: it does not say. */
static bool walk_mount(struct walk *walk, const struct mount *mount, unsigned depth)
{
    struct place place;
    if (mount->source[0] == '/' && look_at(mount->source, &place) == 0 && place.block) {
        walk_block(walk, place.block, depth + 1);
        return true;
    }
    char *directory =
        strcmp(mount->type, "overlay") == 0 ? overlay_directory(mount->options) : NULL;
    if (!directory || directory[0] != '/' || look_at(directory, &place) != 0)
        return false;
    walk_place(walk, &place, depth + 1);
    return true;
}

/* A file system without a block device of its own. */
static void walk_anonymous(struct walk *walk, const struct place *place, unsigned depth)
{
    struct lines lines = {.fd = open_for_reading(walk->mountinfo)};
    struct mount mount = {0};
    bool found = false;
    char *line;
    while (lines.fd >= 0 && !found && (line = next_line(&lines)))
        found = parse_mount(line, &mount) &&
                (place->mount ? mount.id == place->mount : mount.number == place->number);
    if (lines.fd >= 0)
        close(lines.fd);
    if (!found || !walk_mount(walk, &mount, depth))
        add_disk(walk->info, place->number, WEIR_DISK_NONE, found ? mount.type : "");
}

static void walk_place(struct walk *walk, const struct place *place, unsigned depth)
{
    if (major(place->number) != 0)
        walk_block(walk, place->number, depth);
    else if (depth < DEPTH_MAX && walk->steps++ < STEPS_MAX)
        walk_anonymous(walk, place, depth);
    else
        add_disk(walk->info, place->number, WEIR_DISK_NONE, "");
}

static void find(const struct place *place, const struct weir_device_options *options,
                 struct weir_device_info *ret_info)
{
    struct weir_device_info info = {.number = place->number};
    struct walk walk = {
        .sysfs = options && options->sysfs ? options->sysfs : "/sys",
        .mountinfo = options && options->mountinfo ? options->mountinfo : "/proc/self/mountinfo",
        .info = &info,
    };
    walk_place(&walk, place, 0);
    *ret_info = info;
}

/* ---- the interface ---- */

/* A detail has room for a name, not for a path: the end of a path says more than its beginning. */
static int refuse_path(const char *path, int error)
{
    char tail[WEIR_NAME_MAX];
    size_t length = strlen(path);
    if (length < sizeof(tail))
        memcpy(tail, path, length + 1);
    else
        snprintf(tail, sizeof(tail), "...%s", path + length - (sizeof(tail) - 4));
    switch (-error) {
    case WEIR_E_NOT_FOUND:
        return weir__fail(-error, tail, "device of '$n': there is no such path", 0, 0, 0);
    case WEIR_E_DENIED:
        return weir__fail(-error, tail, "device of '$n': not permitted to look there", 0, 0, 0);
    case WEIR_E_INVALID:
        return weir__fail(-error, tail,
                          "device of '$n': the path is too long, or not one that can be", 0, 0, 0);
    default:
        return weir__fail(-error, tail, "device of '$n': the path cannot be looked at", 0, 0, 0);
    }
}

int weir_device_find(const char *path, const struct weir_device_options *options,
                     struct weir_device_info *ret_info)
{
    struct place place;
    weir_lock_assert_none("held while a device is looked up");
    if (!path || !*path)
        return weir__fail(WEIR_E_INVALID, NULL, "a path is needed to find its device", 0, 0, 0);
    int error = look_at(path, &place);
    if (error)
        return refuse_path(path, weir_error_from_errno(-error));
    find(&place, options, ret_info);
    return 0;
}

void weir_device_find_number(uint64_t number, const struct weir_device_options *options,
                             struct weir_device_info *ret_info)
{
    struct place place = {.number = (dev_t)number};
    weir_lock_assert_none("held while a device is looked up");
    find(&place, options, ret_info);
}

int weir_device_try_from_path(const char *path, struct weir_device *ret_device)
{
    struct weir_device_info info;
    int error = weir_device_find(path, NULL, &info);
    if (!error)
        *ret_device = info.device;
    return error;
}

struct weir_device weir_device_from_path(const char *path)
{
    struct weir_device device = WEIR_DEVICE_UNKNOWN;
    (void)!weir_device_try_from_path(path, &device);
    return device;
}
