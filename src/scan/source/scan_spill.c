/* scan_spill.c - temporary files that nobody else sees, and that are gone whatever happens.
 *
 * /var/tmp comes before /tmp, which is in memory on many systems.
 */
#include "scan_archive.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include <weir/clock.h>

#include "sys.h"

#include "banned.h"

#define NAME_TRIES 8u

/* Where a file cannot be born without a name: it loses it at once. */
static int open_named(const char *folder)
{
    char name[512];
    int fd = -1;
    for (unsigned i = 0; fd < 0 && i < NAME_TRIES; i++) {
        int length = snprintf(name, sizeof(name), "%s/weir-%x-%llx-%u", folder, (unsigned)getpid(),
                              (unsigned long long)weir_now_ns(), i);
        if (length < 0 || (size_t)length >= sizeof(name)) {
            errno = ENAMETOOLONG;
            return -1;
        }
        fd = weir__sys_openat(AT_FDCWD, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
        if (fd < 0 && errno != EEXIST)
            return -1;
    }
    if (fd >= 0 && weir__sys_unlinkat(AT_FDCWD, name, 0) != 0)
        weir__sys_close_at(&fd);
    return fd;
}

static int open_in(const char *folder)
{
    int fd = weir__sys_openat(AT_FDCWD, folder, O_RDWR | O_TMPFILE | O_EXCL, 0600);
    if (fd < 0 && (errno == EOPNOTSUPP || errno == EISDIR))
        fd = open_named(folder);
    return fd;
}

int weir__scan_spill_open(void)
{
    const char *wanted = secure_getenv("TMPDIR");
    if (wanted && *wanted)
        return open_in(wanted);
    int fd = open_in("/var/tmp");
    return fd >= 0 ? fd : open_in("/tmp");
}

bool weir__scan_spill_write(int fd, const char *bytes, size_t length)
{
    while (length > 0) {
        ssize_t n = weir__sys_write(fd, bytes, length);
        if (n < 0)
            return false;
        bytes += n;
        length -= (size_t)n;
    }
    return true;
}
