/* small_disk.h - a disk of some MiB, seen by this process alone and gone with it; full when wanted.
 */
#ifndef WEIR_TEST_SMALL_DISK_H
#define WEIR_TEST_SMALL_DISK_H

#include <sched.h>
#include <sys/mount.h>

#include "store_rig.h"

/* Under rig_folder. False: that is not allowed. */
static inline bool small_disk_mount(const char *size)
{
    rig_make_folder();
    if (geteuid() == 0 && unshare(CLONE_NEWNS) == 0 &&
        mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
        mount("none", rig_folder, "tmpfs", 0, size) == 0)
        return true;
    printf("# SKIP needs to mount\n");
    rig_remove_folder();
    return false;
}

static inline void small_disk_unmount(void)
{
    CHECK_EQ(umount(rig_folder), 0);
    rig_remove_folder();
}

/* To the last byte, as others on the same disk may do, by a file called rest. */
static inline void small_disk_fill(void)
{
    char path[128];
    snprintf(path, sizeof(path), "%s/rest", rig_folder);
    int rest = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    for (size_t size = sizeof(rig_room); rest >= 0 && size > 0;)
        if (write(rest, rig_room, size) <= 0)
            size /= 2;
    close(rest);
}

#endif
