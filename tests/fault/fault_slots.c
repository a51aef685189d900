/* Slots and devices when memory or a system call fails: an error or a coarser answer, no leak. */
#include "tap.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>
#include <weir/slots.h>

#include "sweep.h"

static void allocates(void)
{
    struct weir_slots slots;
    struct weir_slots_permit a = WEIR_SLOTS_PERMIT_NONE, b = WEIR_SLOTS_PERMIT_NONE;
    struct weir_device device = weir_device_from_raw(1);
    int error = weir_slots_init(&slots, "disks", NULL);
    if (error) {
        CHECK_EQ(error, -WEIR_E_NO_MEMORY);
        return;
    }
    error = weir_slots_try(&slots, device, &a);
    if (error) {
        CHECK_EQ(error, -WEIR_E_NO_MEMORY);
        CHECK_HAS(weir_error_detail(), "slots 'disks/0:1': no memory");
        CHECK_EQ(weir_slots_active(&slots), 0);
        CHECK_EQ(weir_slots_try(&slots, device, &a), 0); /* nothing was left behind */
    }
    error = weir_slots_acquire(&slots, weir_device_from_raw(2), &b, NULL);
    CHECK(error == 0 || error == -WEIR_E_NO_MEMORY);
    weir_slots_release(&a);
    weir_slots_release(&b);
    weir_slots_fini(&slots);
}

TEST(survives_without_memory)
{
    CHECK_EQ(sweep(WEIR_FAULT_ALLOC, allocates), 3);
}

/* The lowest free descriptor tells whether one was left open. */
static int lowest_descriptor(void)
{
    int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    close(fd);
    return fd;
}

static void looks(void)
{
    struct weir_device device = weir_device_from_raw(7);
    struct weir_device_info info;
    int lowest = lowest_descriptor();
    int error = weir_device_try_from_path("/", &device);
    CHECK(error == 0 || error == -WEIR_E_IO);
    if (error)
        CHECK_EQ(weir_device_raw(device), 7);
    CHECK(!weir_device_is_unknown(device));
    if (weir_device_find("/proc", NULL, &info) == 0)
        CHECK(info.disks_count >= 1);
    CHECK_EQ(lowest_descriptor(), lowest);
}

TEST(survives_failing_system_calls)
{
    CHECK(sweep(WEIR_FAULT_IO, looks) > 4);
}

/* A volume over two partitions, in a tree made here, so that every kind of step is taken. */
static char root[128];
static struct weir_device_options options;

static void looks_deep(void)
{
    struct weir_device_info info;
    int lowest = lowest_descriptor();
    weir_device_find_number(makedev(9, 0), &options, &info);
    CHECK(info.disks_count >= 1 && info.disks_count <= 2);
    CHECK(!weir_device_is_unknown(info.device));
    CHECK_EQ(lowest_descriptor(), lowest);
}

TEST(survives_failing_steps_on_the_way_down)
{
    static char sysfs[160];
    char command[2048];
    snprintf(root, sizeof(root), "/tmp/weir-fault-XXXXXX");
    CHECK(mkdtemp(root));
    snprintf(command, sizeof(command),
             "cd '%s' && mkdir -p sys/dev/block sys/devices/md0/slaves && cd sys/devices && "
             "for d in a:0 b:16; do n=sd${d%%:*}; m=${d#*:}; mkdir -p $n/${n}1 $n/queue; "
             "echo 8:$m >$n/dev; echo 1 >$n/queue/rotational; "
             "echo 8:$((m+1)) >$n/${n}1/dev; echo 1 >$n/${n}1/partition; "
             "ln -s ../../devices/$n ../dev/block/8:$m; "
             "ln -s ../../devices/$n/${n}1 ../dev/block/8:$((m+1)); "
             "ln -s ../../$n/${n}1 md0/slaves/${n}1; done; "
             "echo 9:0 >md0/dev; ln -s ../../devices/md0 ../dev/block/9:0",
             root);
    CHECK_EQ(system(command), 0);
    snprintf(sysfs, sizeof(sysfs), "%s/sys", root);
    options = (struct weir_device_options){sysfs, "/nonexistent"};
    CHECK(sweep(WEIR_FAULT_IO, looks_deep) > 15);
    struct weir_device_info info;
    weir_device_find_number(makedev(9, 0), &options, &info);
    CHECK_EQ(info.disks_count, 2);
    CHECK_EQ(weir_device_raw(info.device), makedev(8, 0));
    snprintf(command, sizeof(command), "rm -rf '%s'", root);
    CHECK_EQ(system(command), 0);
}

TAP_MAIN()
