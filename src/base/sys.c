/* sys.c - with what a system call fails when a test has armed it, and calls that need more headers
 * than others should see. */
#include "sys.h"

#include <sys/ioctl.h>

#include <linux/fs.h>

#include "banned.h"

#ifdef WEIR_FAULTS
static int fault_errno = EIO;

void weir__sys_fault_errno(int errno_value)
{
    fault_errno = errno_value;
}

bool weir__sys_fault(void)
{
    if (!weir_fault_hit(WEIR_FAULT_IO))
        return false;
    errno = fault_errno;
    return true;
}
#endif

int weir__sys_clone(int in, int out)
{
    return WEIR__SYS(int, ioctl(out, FICLONE, in));
}
