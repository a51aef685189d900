/* sys.c - with what a system call fails when a test has armed it, and calls that need more headers
 * than others should see. */
#include "sys.h"

#include <sys/ioctl.h>

#include <linux/fs.h>
#include <linux/sockios.h>

#include "banned.h"

#ifdef WEIR_FAULTS
static int fault_errno = EIO;

void weir__sys_fault_errno(int errno_value)
{
    fault_errno = errno_value;
}

static bool fault_lasts;

void weir__sys_fault_lasting(bool is_lasting)
{
    fault_lasts = is_lasting;
}

bool weir__sys_fault(void)
{
    bool is_hit = weir_fault_hit(WEIR_FAULT_IO);
    if (!is_hit && !(weir_fault_was_hit(WEIR_FAULT_IO) && fault_lasts))
        return false;
    errno = fault_errno;
    return true;
}

static struct {
    dev_t device;
    ino_t file;
    off_t from, to;
    unsigned hits; /* of tests in which one thread reads */
} stretch;

void weir__sys_fault_stretch(int fd, off_t from, off_t to)
{
    struct stat st = {.st_ino = 0};
    if (from < to && fstat(fd, &st) < 0)
        return;
    stretch.device = st.st_dev;
    stretch.file = st.st_ino;
    stretch.from = from;
    stretch.to = to;
    stretch.hits = 0;
}

unsigned weir__sys_fault_stretch_hits(void)
{
    return stretch.hits;
}

size_t weir__sys_fault_readable(int fd, size_t count, off_t at)
{
    struct stat st;
    if (at >= stretch.to || at + (off_t)count <= stretch.from || fstat(fd, &st) < 0 ||
        st.st_ino != stretch.file || st.st_dev != stretch.device)
        return count;
    if (at < stretch.from)
        return (size_t)(stretch.from - at);
    stretch.hits++;
    errno = EIO;
    return 0;
}
#endif

int weir__sys_unsent(int fd)
{
    int left = 0;
    return WEIR__SYS(int, ioctl(fd, SIOCOUTQ, &left)) < 0 ? -1 : left;
}

int weir__sys_clone(int in, int out)
{
    return WEIR__SYS(int, ioctl(out, FICLONE, in));
}
