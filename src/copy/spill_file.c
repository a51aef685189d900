/* spill_file.c - O_TMPFILE, or a name that is gone at once. */
#include "spill_file.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <weir/clock.h>

#include "alloc.h"
#include "sys.h"

#include "banned.h"

/* Names are random, so the second is tried only if somebody foresees them. */
#define NAMES_TRIED_MAX 100

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

static int open_named(const char *dir)
{
    size_t size = strlen(dir) + sizeof("/.weir-spill-0123456789abcdef");
    char *name = weir__base_alloc(size, 1);
    if (!name) {
        errno = ENOMEM;
        return -1;
    }
    int fd = -1;
    for (int i = 0; fd < 0 && i < NAMES_TRIED_MAX; i++) {
        uint64_t number = (weir_now_ns() ^ (uint64_t)getpid() << 32 ^ (uint64_t)i << 56) *
                          UINT64_C(0x9e3779b97f4a7c15);
        snprintf(name, size, "%s/.weir-spill-%016" PRIx64, dir, number);
        fd = weir__sys_openat(AT_FDCWD, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
        if (fd < 0 && errno != EEXIST)
            break;
    }
    if (fd >= 0 && weir__sys_unlinkat(AT_FDCWD, name, 0) != 0)
        weir__sys_close_at(&fd);
    int saved = errno;
    weir__base_free(name);
    errno = saved;
    return fd;
}

static int open_in(const char *dir)
{
    int fd = weir__sys_openat(AT_FDCWD, dir, O_TMPFILE | O_RDWR | O_EXCL, 0600);
    /* EISDIR: a kernel that does not know the flag. EINVAL: a file system of that kind. */
    if (fd < 0 && (errno == EOPNOTSUPP || errno == EISDIR || errno == EINVAL))
        fd = open_named(dir);
    return fd;
}

int weir__spill_file_open(const char *dir)
{
    const char *const dirs[] = {dir ? dir : getenv("TMPDIR"), "/var/tmp", "/tmp"};
    size_t count = dir ? 1 : sizeof(dirs) / sizeof(dirs[0]);
    int first_errno = 0;
    for (size_t i = 0; i < count; i++) {
        if (!dirs[i] || dirs[i][0] == '\0')
            continue;
        int fd = open_in(dirs[i]);
        if (fd >= 0)
            return fd;
        first_errno = first_errno != 0 ? first_errno : errno;
    }
    errno = first_errno != 0 ? first_errno : ENOENT;
    return system_error();
}

int weir__spill_file_write(int fd, const void *bytes, size_t count, uint64_t at)
{
    const char *from = bytes;
    while (count > 0) {
        ssize_t wrote = weir__sys_pwrite(fd, from, count, (off_t)at);
        if (wrote < 0)
            return system_error();
        if (wrote == 0)
            return weir__spill_file_damaged();
        from += wrote;
        at += (uint64_t)wrote;
        count -= (size_t)wrote;
    }
    return 0;
}

int weir__spill_file_read(int fd, void *bytes, size_t count, uint64_t at)
{
    char *to = bytes;
    while (count > 0) {
        ssize_t got = weir__sys_pread(fd, to, count, (off_t)at);
        if (got < 0)
            return system_error();
        if (got == 0)
            return weir__spill_file_damaged();
        to += got;
        at += (uint64_t)got;
        count -= (size_t)got;
    }
    return 0;
}
