/* temporary.c - O_TMPFILE, or a name that is gone at once. */
#include "temporary.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <weir/clock.h>
#include <weir/error.h>

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

static int open_named(const char *folder)
{
    size_t size = strlen(folder) + sizeof("/.weir-0123456789abcdef");
    char *name = weir__base_alloc(size, 1);
    if (!name) {
        errno = ENOMEM;
        return -1;
    }
    int fd = -1;
    for (int i = 0; fd < 0 && i < NAMES_TRIED_MAX; i++) {
        uint64_t number = (weir_now_ns() ^ (uint64_t)getpid() << 32 ^ (uint64_t)i << 56) *
                          UINT64_C(0x9e3779b97f4a7c15);
        snprintf(name, size, "%s/.weir-%016" PRIx64, folder, number);
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

int weir__temporary_open(const char *folder)
{
    int fd = weir__sys_openat(AT_FDCWD, folder, O_TMPFILE | O_RDWR | O_EXCL, 0600);
    /* EISDIR: a kernel that does not know the flag. EINVAL: a file system of that kind. */
    if (fd < 0 && (errno == EOPNOTSUPP || errno == EISDIR || errno == EINVAL))
        fd = open_named(folder);
    return fd < 0 ? system_error() : fd;
}

/* What a call did: so many bytes, or an error. Nothing done is one, too. */
static int check(ssize_t done)
{
    if (done == 0)
        errno = EIO;
    return done > 0 ? 0 : system_error();
}

int weir__whole_write(int fd, const void *bytes, size_t count)
{
    const char *from = bytes;
    for (int error = 0; count > 0;) {
        ssize_t done = weir__sys_write(fd, from, count);
        if ((error = check(done)) < 0)
            return error;
        from += done;
        count -= (size_t)done;
    }
    return 0;
}

int weir__whole_pwrite(int fd, const void *bytes, size_t count, uint64_t at)
{
    const char *from = bytes;
    for (int error = 0; count > 0;) {
        ssize_t done = weir__sys_pwrite(fd, from, count, (off_t)at);
        if ((error = check(done)) < 0)
            return error;
        from += done;
        at += (uint64_t)done;
        count -= (size_t)done;
    }
    return 0;
}

int weir__whole_pread(int fd, void *bytes, size_t count, uint64_t at)
{
    char *to = bytes;
    for (int error = 0; count > 0;) {
        ssize_t done = weir__sys_pread(fd, to, count, (off_t)at);
        if ((error = check(done)) < 0)
            return error;
        to += done;
        at += (uint64_t)done;
        count -= (size_t)done;
    }
    return 0;
}
