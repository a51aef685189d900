/* fuzz_device.c - any bytes as sysfs and mountinfo: finding the disk below a path ends, stays in
 * bounds, leaves no file open and always names a disk.
 *
 * The input is cut into records at its 0xff bytes. The first says which device number is looked
 * for: its bytes are the major (modulo two: 0 is a file system without a device, 1 is major 8) and
 * the minor number. In each other record the first byte chooses a file of a small tree, counted
 * from A, and the rest is what the file holds:
 *
 *     A       mountinfo
 *     B       devices/dev, above the disks
 *     C to H  of the disk 8:0: dev, partition, loop/backing_file, queue/rotational, and the dev of
 *             its two slaves; I to N of 8:1, O to T of 8:2, U to Z of 8:3
 *     [ to n  the dev of twenty slaves more of 8:2, so that there are more disks than can be listed
 *
 * In the contents the byte 1 stands for the number of the mount that the tree lies on, and 2 for
 * the path of the tree, which an input could not guess. The tree is made once and lies in TMPDIR;
 * every file that an input has written is removed before the next one.
 */
#include <weir/slots.h>

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#define FILES_PLAIN  26
#define FILES_COUNT  46
#define CONTENTS_MAX 20000 /* over two buffers of mountinfo */

/* 8:1 lies in the directory of 8:0, as a partition does. */
static const char *const nodes[] = {"devices/sda", "devices/sda/sda1", "devices/vdb",
                                    "devices/nvme0n1"};
#define NODES_COUNT (sizeof(nodes) / sizeof(nodes[0]))
static const char *const kinds[] = {
    "dev", "partition", "loop/backing_file", "queue/rotational", "slaves/a/dev", "slaves/b/dev"};
#define KINDS_COUNT (sizeof(kinds) / sizeof(kinds[0]))
static const char *const folders[] = {"loop", "queue", "slaves", "slaves/a", "slaves/b"};

static struct {
    char root[PATH_MAX];
    char sysfs[PATH_MAX + 8];
    char mountinfo[PATH_MAX + 16];
    char files[FILES_COUNT][PATH_MAX + 64];
    char mount[24]; /* the number of the mount, as text */
    bool is_written[FILES_COUNT];
} tree;

#define HOLDS(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "fuzz_device: does not hold: %s\n", #condition);                       \
            abort();                                                                               \
        }                                                                                          \
    } while (0)

static void make_folder(const char *inner)
{
    char path[PATH_MAX + 128];
    snprintf(path, sizeof(path), "%s/%s", tree.root, inner);
    HOLDS(mkdir(path, 0700) == 0 || errno == EEXIST);
}

static int remove_one(const char *path, const struct stat *status, int kind, struct FTW *ftw)
{
    (void)status, (void)kind, (void)ftw;
    return remove(path);
}

static void remove_tree(void)
{
    nftw(tree.root, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static void make_node(unsigned minor_part)
{
    char inner[128], link_path[PATH_MAX + 128];
    const char *node = nodes[minor_part];
    snprintf(inner, sizeof(inner), "sys/%s", node);
    make_folder(inner);
    for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
        snprintf(inner, sizeof(inner), "sys/%s/%s", node, folders[i]);
        make_folder(inner);
    }
    for (size_t i = 0; i < KINDS_COUNT; i++)
        snprintf(tree.files[2 + minor_part * KINDS_COUNT + i], sizeof(tree.files[0]), "%s/%s/%s",
                 tree.sysfs, node, kinds[i]);
    snprintf(inner, sizeof(inner), "../../%s", node);
    snprintf(link_path, sizeof(link_path), "%s/dev/block/8:%u", tree.sysfs, minor_part);
    HOLDS(symlink(inner, link_path) == 0);
}

static void make_tree(void)
{
    const char *parent = getenv("TMPDIR");
    snprintf(tree.root, sizeof(tree.root), "%s/weir-fuzz-device-XXXXXX",
             parent && *parent ? parent : P_tmpdir);
    HOLDS(mkdtemp(tree.root));
    atexit(remove_tree);
    snprintf(tree.sysfs, sizeof(tree.sysfs), "%s/sys", tree.root);
    snprintf(tree.mountinfo, sizeof(tree.mountinfo), "%s/mountinfo", tree.root);
    snprintf(tree.files[0], sizeof(tree.files[0]), "%s", tree.mountinfo);
    snprintf(tree.files[1], sizeof(tree.files[1]), "%s/devices/dev", tree.sysfs);
    static const char *const above[] = {"sys", "sys/devices", "sys/dev", "sys/dev/block"};
    for (size_t i = 0; i < sizeof(above) / sizeof(above[0]); i++)
        make_folder(above[i]);
    for (unsigned i = 0; i < NODES_COUNT; i++)
        make_node(i);
    for (unsigned i = FILES_PLAIN; i < FILES_COUNT; i++)
        snprintf(tree.files[i], sizeof(tree.files[0]), "%s/%s/slaves/%u/dev", tree.sysfs, nodes[2],
                 i);
    struct statx status;
    HOLDS(statx(AT_FDCWD, tree.root, 0, STATX_MNT_ID, &status) == 0);
    snprintf(tree.mount, sizeof(tree.mount), "%llu", (unsigned long long)status.stx_mnt_id);
}

/* The folder of one of the many slaves, which is there only while it has a file. */
static const char *folder_of(unsigned file)
{
    static char path[sizeof(tree.files[0])];
    snprintf(path, sizeof(path), "%s", tree.files[file]);
    *strrchr(path, '/') = '\0';
    return path;
}

static void write_file(unsigned file, const uint8_t *data, size_t size)
{
    static char contents[CONTENTS_MAX];
    size_t used = 0;
    for (size_t i = 0; i < size && used < sizeof(contents); i++) {
        const char *text = data[i] == 1 ? tree.mount : data[i] == 2 ? tree.root : NULL;
        size_t length = text ? strlen(text) : 1;
        if (length > sizeof(contents) - used)
            break;
        memcpy(contents + used, text ? text : (const char *)&data[i], length);
        used += length;
    }
    if (file >= FILES_PLAIN && !tree.is_written[file])
        HOLDS(mkdir(folder_of(file), 0700) == 0);
    int fd = open(tree.files[file], O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    HOLDS(fd >= 0 && write(fd, contents, used) == (ssize_t)used);
    close(fd);
    tree.is_written[file] = true;
}

static void clear_tree(void)
{
    for (unsigned i = 0; i < FILES_COUNT; i++) {
        if (!tree.is_written[i])
            continue;
        tree.is_written[i] = false;
        HOLDS(unlink(tree.files[i]) == 0);
        if (i >= FILES_PLAIN)
            HOLDS(rmdir(folder_of(i)) == 0);
    }
}

/* The lowest number that the next file gets: it grows when one stays open. */
static int lowest_fd(void)
{
    int fd = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    HOLDS(fd >= 0);
    close(fd);
    return fd;
}

static void check_info(const struct weir_device_info *info)
{
    HOLDS(info->disks_count >= 1);
    uint32_t listed =
        info->disks_count < WEIR_DEVICE_DISKS_MAX ? info->disks_count : WEIR_DEVICE_DISKS_MAX;
    bool has_device = info->disks_count > WEIR_DEVICE_DISKS_MAX;
    for (uint32_t i = 0; i < listed; i++) {
        const struct weir_device_disk *disk = &info->disks[i];
        HOLDS(memchr(disk->name, '\0', sizeof(disk->name)));
        HOLDS((unsigned)disk->kind <= WEIR_DISK_NONE);
        HOLDS(i == 0 || info->disks[i - 1].number < disk->number);
        has_device = has_device || disk->number == weir_device_raw(info->device);
    }
    HOLDS(has_device);
    HOLDS((unsigned)weir_device_kind(info->device) <= WEIR_DISK_NONE);
}

static void look_up(uint64_t number)
{
    struct weir_device_options options = {.sysfs = tree.sysfs, .mountinfo = tree.mountinfo};
    struct weir_device_info info;
    int fd = lowest_fd();
    weir_device_find_number(number, &options, &info);
    HOLDS(info.number == number);
    check_info(&info);
    HOLDS(weir_device_find(tree.root, &options, &info) == 0);
    check_info(&info);
    HOLDS(lowest_fd() == fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (!tree.root[0])
        make_tree();
    uint64_t number = makedev(8, 0);
    bool is_first = true;
    for (size_t at = 0; at < size;) {
        const uint8_t *end = memchr(data + at, 0xff, size - at);
        size_t length = end ? (size_t)(end - data) - at : size - at;
        if (is_first && length >= 2)
            number = makedev(data[at] % 2 ? 8 : 0, data[at + 1]);
        else if (!is_first && length >= 1)
            write_file((data[at] + FILES_COUNT * 2u - 'A') % FILES_COUNT, data + at + 1,
                       length - 1);
        is_first = false;
        at += length + 1;
    }
    look_up(number);
    clear_tree();
    return 0;
}
