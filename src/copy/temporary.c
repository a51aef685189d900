/* temporary.c - files that vanish with the process. */
#include "temporary.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "sys.h"

#include "banned.h"

/* Where the file system has no O_TMPFILE, a name that lives for two calls. */
static int open_named(const char *folder)
{
    char path[PATH_MAX];
    int length = snprintf(path, sizeof(path), "%s/.weir-spill.XXXXXX", folder);
    if (length < 0 || (size_t)length >= sizeof(path)) {
        errno = ENAMETOOLONG;
        return -1;
    }
    if (weir__sys_fault())
        return -1;
    int fd = mkostemp(path, O_CLOEXEC);
    if (fd >= 0)
        unlink(path);
    return fd;
}

static int open_in(const char *folder)
{
    int fd = weir__sys_openat(AT_FDCWD, folder, O_TMPFILE | O_RDWR, 0600);
    if (fd < 0 && (errno == EOPNOTSUPP || errno == EISDIR || errno == ENOENT))
        fd = open_named(folder);
    return fd;
}

int weir__temporary_open(const char *folder)
{
    const char *const folders[] = {folder ? folder : getenv("TMPDIR"), "/var/tmp", "/tmp"};
    int fd = -1;
    for (size_t i = 0; fd < 0 && i < (folder ? 1 : 3); i++)
        if (folders[i] && folders[i][0])
            fd = open_in(folders[i]);
    return fd;
}

int weir__temporary_write(int fd, const void *bytes, size_t count, uint64_t at)
{
    for (size_t done = 0; done < count;) {
        ssize_t n =
            weir__sys_pwrite(fd, (const char *)bytes + done, count - done, (off_t)(at + done));
        if (n <= 0)
            return weir_error_from_errno(n < 0 ? errno : EIO);
        done += (size_t)n;
    }
    return 0;
}

int weir__temporary_read(int fd, void *bytes, size_t count, uint64_t at)
{
    for (size_t done = 0; done < count;) {
        ssize_t n = weir__sys_pread(fd, (char *)bytes + done, count - done, (off_t)(at + done));
        if (n <= 0)
            return n < 0 ? weir_error_from_errno(errno) : -WEIR_E_CORRUPT;
        done += (size_t)n;
    }
    return 0;
}
