/* spill_file.c - in which folder, and what is damaged. */
#include "spill_file.h"

#include <errno.h>
#include <stdlib.h>

#include "temporary.h"

#include "banned.h"

/* The code for errno, which stays as it is. */
static int system_error(void)
{
    int saved = errno;
    int error = weir_error_from_errno(saved);
    errno = saved;
    return error;
}

int weir__spill_file_damaged(void)
{
    errno = EIO;
    return -WEIR_E_IO;
}

int weir__spill_file_open(const char *dir)
{
    const char *const dirs[] = {dir ? dir : getenv("TMPDIR"), "/var/tmp", "/tmp"};
    size_t count = dir ? 1 : sizeof(dirs) / sizeof(dirs[0]);
    int first_errno = 0;
    for (size_t i = 0; i < count; i++) {
        if (!dirs[i] || dirs[i][0] == '\0')
            continue;
        int fd = weir__temporary_open(dirs[i]);
        if (fd >= 0)
            return fd;
        first_errno = first_errno != 0 ? first_errno : errno;
    }
    errno = first_errno != 0 ? first_errno : ENOENT;
    return system_error();
}

int weir__spill_file_write(int fd, const void *bytes, size_t count, uint64_t at)
{
    return weir__whole_pwrite(fd, bytes, count, at);
}

int weir__spill_file_read(int fd, void *bytes, size_t count, uint64_t at)
{
    return weir__whole_pread(fd, bytes, count, at);
}
