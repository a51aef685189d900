/* From a device number to its disks, over a sysfs tree and a mountinfo made here. */
#include "tap.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>
#include <weir/slots.h>

static char root[128];
static struct weir_device_options options;

__attribute__((format(printf, 2, 3))) static void put(const char *content, const char *format, ...)
{
    char path[512];
    va_list args;
    va_start(args, format);
    int used = snprintf(path, sizeof(path), "%s/", root);
    vsnprintf(path + used, sizeof(path) - (size_t)used, format, args);
    va_end(args);
    for (char *slash = path + used; (slash = strchr(slash, '/')); slash++) {
        *slash = '\0';
        mkdir(path, 0755);
        *slash = '/';
    }
    if (!content)
        return;
    FILE *file = fopen(path, "w");
    CHECK(file);
    fputs(content, file);
    CHECK_EQ(fclose(file), 0);
}

__attribute__((format(printf, 2, 3))) static void link_to(const char *target, const char *format,
                                                          ...)
{
    char path[512];
    va_list args;
    va_start(args, format);
    int used = snprintf(path, sizeof(path), "%s/", root);
    vsnprintf(path + used, sizeof(path) - (size_t)used, format, args);
    va_end(args);
    CHECK_EQ(symlink(target, path), 0);
}

/* devices/NAME[/PART] with its entry in dev/block. A rotational of -1 leaves the queue out. */
static void add_block(const char *name, unsigned major_part, unsigned minor_part, int rotational)
{
    char text[64], target[256];
    snprintf(text, sizeof(text), "%u:%u\n", major_part, minor_part);
    put(text, "sys/devices/%s/dev", name);
    if (rotational >= 0)
        put(rotational ? "1\n" : "0\n", "sys/devices/%s/queue/rotational", name);
    if (strchr(name, '/'))
        put("1\n", "sys/devices/%s/partition", name);
    else
        put(NULL, "sys/devices/%s/slaves/", name);
    put(NULL, "sys/dev/block/");
    snprintf(target, sizeof(target), "../../devices/%s", name);
    link_to(target, "sys/dev/block/%u:%u", major_part, minor_part);
}

static void add_slave(const char *name, const char *below)
{
    char target[256];
    const char *slash = strrchr(below, '/');
    snprintf(target, sizeof(target), "../../%s", below);
    link_to(target, "sys/devices/%s/slaves/%s", name, slash ? slash + 1 : below);
}

static void remove_tree(void)
{
    char command[256];
    snprintf(command, sizeof(command), "rm -rf '%s'", root);
    CHECK_EQ(system(command), 0);
}

static void make_tree(void)
{
    static char sysfs[160], mountinfo[160];
    snprintf(root, sizeof(root), "/tmp/weir-device-XXXXXX");
    CHECK(mkdtemp(root));
    snprintf(sysfs, sizeof(sysfs), "%s/sys", root);
    snprintf(mountinfo, sizeof(mountinfo), "%s/mountinfo", root);
    options = (struct weir_device_options){sysfs, mountinfo};
    add_block("sda", 8, 0, 1);
    add_block("sda/sda1", 8, 1, -1);
    add_block("sda/sda2", 8, 2, -1);
    add_block("sdb", 8, 16, 0);
    add_block("sdb/sdb1", 8, 17, -1);
    add_block("sdc", 8, 32, 0);
    add_block("sdc/sdc1", 8, 33, -1);
    add_block("vda", 254, 0, 1);
    add_block("vda/vda1", 254, 1, -1);
    add_block("xvda", 202, 0, 1);
    add_block("nvme0n1", 259, 0, 0);
    add_block("nvme0n1/nvme0n1p2", 259, 2, -1);
    add_block("mmcblk0", 179, 0, 0);
}

static struct weir_device_info look(unsigned major_part, unsigned minor_part)
{
    struct weir_device_info info;
    weir_device_find_number(makedev(major_part, minor_part), &options, &info);
    CHECK_EQ(info.number, makedev(major_part, minor_part));
    return info;
}

static void check_disk(unsigned major_part, unsigned minor_part, dev_t disk, enum weir_disk kind,
                       const char *name)
{
    struct weir_device_info info = look(major_part, minor_part);
    CHECK_EQ(weir_device_raw(info.device), disk);
    CHECK_STR(weir_disk_name(weir_device_kind(info.device)), weir_disk_name(kind));
    CHECK_EQ(info.disks_count, 1);
    CHECK_STR(info.disks[0].name, name);
    CHECK_EQ(info.disks[0].kind, kind);
}

TEST(disks_and_partitions)
{
    make_tree();
    check_disk(8, 0, makedev(8, 0), WEIR_DISK_ROTATIONAL, "sda");
    check_disk(8, 1, makedev(8, 0), WEIR_DISK_ROTATIONAL, "sda");
    check_disk(8, 2, makedev(8, 0), WEIR_DISK_ROTATIONAL, "sda");
    check_disk(8, 17, makedev(8, 16), WEIR_DISK_SOLID, "sdb");
    check_disk(179, 0, makedev(179, 0), WEIR_DISK_SOLID, "mmcblk0");
    check_disk(259, 2, makedev(259, 0), WEIR_DISK_NVME, "nvme0n1");
    remove_tree();
}

TEST(virtual_disks_that_call_themselves_rotational_are_not)
{
    make_tree();
    check_disk(254, 0, makedev(254, 0), WEIR_DISK_VIRTUAL, "vda");
    check_disk(254, 1, makedev(254, 0), WEIR_DISK_VIRTUAL, "vda");
    check_disk(202, 0, makedev(202, 0), WEIR_DISK_VIRTUAL, "xvda");
    CHECK_EQ(weir_disk_slots(WEIR_DISK_VIRTUAL), 4);
    CHECK_EQ(weir_disk_slots(WEIR_DISK_ROTATIONAL), 2);
    CHECK_EQ(weir_disk_slots(WEIR_DISK_SOLID), 4);
    CHECK_EQ(weir_disk_slots(WEIR_DISK_NVME), 8);
    CHECK_EQ(weir_disk_slots(WEIR_DISK_UNKNOWN), 4);
    CHECK_EQ(weir_disk_slots((enum weir_disk)77), 4);
    remove_tree();
}

TEST(device_mapper_on_a_partition)
{
    make_tree();
    add_block("dm-0", 253, 0, 1);
    add_slave("dm-0", "sda/sda2");
    add_block("dm-1", 253, 1, 0); /* encrypted, on the volume above */
    add_slave("dm-1", "dm-0");
    check_disk(253, 0, makedev(8, 0), WEIR_DISK_ROTATIONAL, "sda");
    check_disk(253, 1, makedev(8, 0), WEIR_DISK_ROTATIONAL, "sda");
    remove_tree();
}

TEST(md_of_two_disks)
{
    make_tree();
    add_block("md0", 9, 0, 0);
    add_slave("md0", "sdc/sdc1");
    add_slave("md0", "sdb/sdb1");
    add_block("md1", 9, 1, 0);
    add_slave("md1", "nvme0n1/nvme0n1p2");
    add_slave("md1", "sda/sda1");
    add_slave("md1", "sda/sda2"); /* the same disk again */
    struct weir_device_info info = look(9, 0);
    CHECK_EQ(info.disks_count, 2);
    CHECK_STR(info.disks[0].name, "sdb");
    CHECK_STR(info.disks[1].name, "sdc");
    CHECK_EQ(weir_device_raw(info.device), makedev(8, 16)); /* equals: the lower number */
    CHECK_EQ(weir_device_kind(info.device), WEIR_DISK_SOLID);
    info = look(9, 1);
    CHECK_EQ(info.disks_count, 2);
    CHECK_EQ(weir_device_raw(info.device), makedev(8, 0)); /* the slower kind */
    CHECK_EQ(weir_device_kind(info.device), WEIR_DISK_ROTATIONAL);
    remove_tree();
}

TEST(more_disks_than_are_listed)
{
    make_tree();
    add_block("md0", 9, 0, 0);
    for (unsigned i = 0; i < 20; i++) {
        char name[16];
        snprintf(name, sizeof(name), "sdx%u", i);
        add_block(name, 65, 16 * (19 - i), i == 0); /* the highest number is the slow one */
        add_slave("md0", name);
    }
    struct weir_device_info info = look(9, 0);
    CHECK_EQ(info.disks_count, 20);
    CHECK_EQ(weir_device_raw(info.device), makedev(65, 16 * 19));
    for (int i = 1; i < WEIR_DEVICE_DISKS_MAX; i++)
        CHECK(info.disks[i - 1].number < info.disks[i].number);
    CHECK_EQ(info.disks[0].number, makedev(65, 0));
    CHECK_EQ(info.disks[15].number, makedev(65, 16 * 15));
    remove_tree();
}

/* Gives the real file system of the tree a disk in the tree, and tells what to expect of a path
 * there: that disk, or itself when it has no block device. */
static struct weir_device below_the_tree(void)
{
    struct stat status;
    CHECK_EQ(stat(root, &status), 0);
    struct weir_device device = {status.st_dev, WEIR_DISK_NONE};
    if (major(status.st_dev) == 0)
        return device;
    device._kind = WEIR_DISK_NVME;
    char path[256];
    snprintf(path, sizeof(path), "%s/dev/block/%u:%u", options.sysfs, major(status.st_dev),
             minor(status.st_dev));
    CHECK(unlink(path) == 0 || access(path, F_OK) != 0);
    add_block("nvme7n1", major(status.st_dev), minor(status.st_dev), 0);
    return device;
}

TEST(loop_over_a_file)
{
    make_tree();
    struct weir_device below = below_the_tree();
    char line[256];
    put("", "image");
    add_block("loop0", 7, 0, 1);
    snprintf(line, sizeof(line), "%s/image\n", root);
    put(line, "sys/devices/loop0/loop/backing_file");
    struct weir_device_info info = look(7, 0);
    CHECK_EQ(weir_device_raw(info.device), weir_device_raw(below));
    CHECK_EQ(weir_device_kind(info.device), weir_device_kind(below));
    /* A deleted file leads nowhere: the loop device stands for itself. */
    put("/gone/image (deleted)\n", "sys/devices/loop0/loop/backing_file");
    check_disk(7, 0, makedev(7, 0), WEIR_DISK_ROTATIONAL, "loop0");
    remove_tree();
}

TEST(overlay_by_its_directories)
{
    make_tree();
    struct weir_device below = below_the_tree();
    char text[1024];
    put(NULL, "up per/");
    snprintf(text, sizeof(text),
             "60 1 0:70 / /a rw - overlay overlay rw,lowerdir=/nowhere,upperdir=%s/up\\040per,"
             "workdir=/w\n"
             "61 1 0:71 / /b rw shared:1 - overlay overlay ro,lowerdir=%s:/other\n"
             "62 1 0:72 / /c rw - overlay overlay rw,lowerdir=/nowhere,upperdir=/nowhere\n",
             root, root);
    put(text, "mountinfo");
    for (unsigned i = 70; i < 72; i++)
        CHECK_EQ(weir_device_raw(look(0, i).device), weir_device_raw(below));
    check_disk(0, 72, makedev(0, 72), WEIR_DISK_NONE, "overlay");
    remove_tree();
}

TEST(memory_and_what_nobody_knows_stand_for_themselves)
{
    make_tree();
    FILE *file;
    char path[256];
    snprintf(path, sizeof(path), "%s/mountinfo", root);
    CHECK(file = fopen(path, "w"));
    fputs("a line that makes no sense\n\n50 1 0:x / / rw - tmpfs tmpfs rw\n", file);
    fprintf(file, "51 1 0:90 / /long rw - overlay overlay lowerdir=%020000d\n", 0);
    /* The end of a line that is too long must not pass for a line. */
    fprintf(file, "%08192d51 1 0:91 / /x rw - bogus none rw\n", 0);
    fputs("52 1 0:79 / /t rw,nosuid - tmpfs tmpfs rw\n53 1 0:80 / /z rw - zfs tank/data rw\n",
          file);
    CHECK_EQ(fclose(file), 0);
    check_disk(0, 79, makedev(0, 79), WEIR_DISK_NONE, "tmpfs");
    check_disk(0, 80, makedev(0, 80), WEIR_DISK_NONE, "zfs");
    check_disk(0, 90, makedev(0, 90), WEIR_DISK_NONE, ""); /* its line is too long to be read */
    check_disk(0, 91, makedev(0, 91), WEIR_DISK_NONE, "");
    check_disk(0, 81, makedev(0, 81), WEIR_DISK_NONE, "");
    CHECK_EQ(weir_disk_slots(WEIR_DISK_NONE), 4);
    remove_tree();
    check_disk(0, 79, makedev(0, 79), WEIR_DISK_NONE, ""); /* nothing there at all */
    check_disk(8, 1, makedev(8, 1), WEIR_DISK_UNKNOWN, "");
}

TEST(btrfs_by_its_source)
{
    make_tree();
    char path[256], text[512];
    snprintf(path, sizeof(path), "%s/disk", root);
    if (mknod(path, S_IFBLK | 0600, makedev(8, 17)) == 0) {
        snprintf(text, sizeof(text), "54 1 0:40 /sub /b rw - btrfs %s rw,subvol=/sub\n", path);
        put(text, "mountinfo");
        check_disk(0, 40, makedev(8, 16), WEIR_DISK_SOLID, "sdb");
    } else {
        printf("# not allowed to make a device: skipped\n");
    }
    remove_tree();
}

TEST(a_tree_that_leads_in_circles_ends)
{
    make_tree();
    add_block("dm-5", 253, 5, 0);
    add_block("dm-6", 253, 6, 0);
    add_slave("dm-5", "dm-6");
    add_slave("dm-6", "dm-5");
    struct weir_device_info info = look(253, 5);
    CHECK(info.disks_count >= 1);
    /* Every level doubles the ways down: bounded in steps too. */
    for (unsigned i = 10; i < 20; i++) {
        char name[16];
        snprintf(name, sizeof(name), "dm-%u", i);
        add_block(name, 253, i, 0);
    }
    for (unsigned i = 10; i < 20; i++)
        for (unsigned j = 10; j < 20; j++) {
            char name[16], below[16];
            snprintf(name, sizeof(name), "dm-%u", i);
            snprintf(below, sizeof(below), "dm-%u", j);
            add_slave(name, below);
        }
    CHECK(look(253, 10).disks_count >= 1);
    remove_tree();
}

TEST(broken_files_are_passed_over)
{
    make_tree();
    add_block("sdz", 65, 240, -1);
    check_disk(65, 240, makedev(65, 240), WEIR_DISK_UNKNOWN, "sdz");
    add_block("sdy/sdy1", 65, 225, -1); /* a partition whose disk has no number */
    check_disk(65, 225, makedev(65, 225), WEIR_DISK_UNKNOWN, "sdy1");
    add_block("md7", 9, 7, 0);
    add_slave("md7", "not/there");
    check_disk(9, 7, makedev(9, 7), WEIR_DISK_SOLID, "md7");
    put("8:1 and more\n", "sys/devices/odd/dev");
    add_slave("md7", "odd");
    check_disk(9, 7, makedev(9, 7), WEIR_DISK_SOLID, "md7");
    remove_tree();
}

/* Gives up all that root may do beyond others, looks, and says what it found. */
static bool is_denied(const char *path)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct none[2] = {{0}, {0}};
    struct weir_device device = weir_device_from_raw(7);
    return syscall(SYS_capset, &header, none) == 0 &&
           weir_device_try_from_path(path, &device) == -WEIR_E_DENIED &&
           strstr(weir_error_detail(), "not permitted to look there") &&
           weir_device_raw(device) == 7 && weir_device_is_unknown(weir_device_from_path(path));
}

TEST(a_path_that_may_not_be_looked_at_is_unknown)
{
    char folder[256], file[256], below[300];
    struct weir_device device;
    int status = 0;
    make_tree();
    put("", "closed/file");
    snprintf(folder, sizeof(folder), "%s/closed", root);
    snprintf(file, sizeof(file), "%s/closed/file", root);
    CHECK_EQ(weir_device_try_from_path(file, &device), 0);
    CHECK_EQ(chmod(folder, 0), 0);
    fflush(stdout);
    pid_t child = fork();
    if (child == 0)
        _exit(is_denied(file) ? 0 : 1);
    CHECK(child > 0);
    CHECK_EQ(waitpid(child, &status, 0), child);
    CHECK_EQ(chmod(folder, 0700), 0);
    CHECK_EQ(status, 0);
    /* Nor is there anything below a file. */
    snprintf(below, sizeof(below), "%s/below", file);
    CHECK(weir_device_is_unknown(weir_device_from_path(below)));
    remove_tree();
}

TAP_MAIN()
