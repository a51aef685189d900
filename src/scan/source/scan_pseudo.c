/* scan_pseudo.c - file systems whose files the kernel makes up when they are read.
 *
 * What is in them is not kept anywhere, some of it has no end (the map of a process's pages has
 * half a terabyte), and reading may have effects. So a walk does not go there by itself, and who
 * names one gets the beginning of each file.
 */
#include "scan_part.h"

#include <linux/magic.h>
#include <sys/vfs.h>

#include "sys.h"

#include "banned.h"

/* Those that the header does not have. */
#define CONFIGFS_MAGIC_ 0x62656570
#define FUSECTL_MAGIC_  0x65735543
#define NFSD_MAGIC_     0x6e667364
#define RPC_PIPE_MAGIC_ 0x67596969

bool weir__scan_is_pseudo(int fd)
{
    struct statfs fs;
    if (weir__sys_fstatfs(fd, &fs) != 0)
        return false;
    switch ((unsigned long)fs.f_type & UINT32_MAX) {
    case PROC_SUPER_MAGIC:
    case SYSFS_MAGIC:
    case DEBUGFS_MAGIC:
    case TRACEFS_MAGIC:
    case SECURITYFS_MAGIC:
    case SELINUX_MAGIC:
    case SMACK_MAGIC:
    case CGROUP_SUPER_MAGIC:
    case CGROUP2_SUPER_MAGIC:
    case BPF_FS_MAGIC:
    case BINFMTFS_MAGIC:
    case CONFIGFS_MAGIC_:
    case FUSECTL_MAGIC_:
    case NFSD_MAGIC_:
    case RPC_PIPE_MAGIC_:
        return true;
    default:
        return false;
    }
}
