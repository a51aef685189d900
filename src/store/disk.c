/* disk.c - changes to files, each of which can be noted. */
#include "disk.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <weir/error.h>

#include "entries.h"
#include "sys.h"
#include "temporary.h"

#include "banned.h"

/* Fewer than IOV_MAX in one call. */
#define PARTS_MAX 1000

#ifdef WEIR_FAULTS
static void (*watch_fn)(void *arg, const struct weir__disk_note *note);
static void *watch_arg;

void weir__disk_watch(void (*fn)(void *arg, const struct weir__disk_note *note), void *arg)
{
    watch_fn = fn;
    watch_arg = arg;
}

static void note(const struct weir__disk_note *made)
{
    if (watch_fn)
        watch_fn(watch_arg, made);
}
#else
static void note(const struct weir__disk_note *made)
{
    (void)made;
}
#endif

static int failed(void)
{
    return errno == EROFS ? -WEIR_E_READ_ONLY : weir_error_from_errno(errno);
}

int weir__disk_fault(int error)
{
    switch (error) {
    case 0:
    case -WEIR_E_NO_SPACE:
    case -WEIR_E_NO_MEMORY:
    case -WEIR_E_NO_DESCRIPTORS:
    case -WEIR_E_READ_ONLY:
        return error;
    default:
        return -WEIR_E_IO;
    }
}

int weir__disk_read_fault(int error)
{
    error = weir__disk_fault(error);
    return error == -WEIR_E_NO_SPACE || error == -WEIR_E_READ_ONLY ? -WEIR_E_IO : error;
}

int weir__disk_pread(int fd, void *bytes, size_t count, uint64_t at)
{
    return weir__disk_read_fault(weir__whole_pread(fd, bytes, count, at));
}

static int open_as(struct weir__disk_file *ret_file, int folder, const char *name, int flags)
{
    struct weir__disk_file file = {.fd = weir__sys_openat(folder, name, flags, 0600)};
    if (file.fd < 0)
        return failed();
    snprintf(file.name, sizeof(file.name), "%s", name);
    *ret_file = file;
    return 0;
}

int weir__disk_create(struct weir__disk_file *ret_file, int folder, const char *name)
{
    int error = open_as(ret_file, folder, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW);
    if (!error)
        note(&(struct weir__disk_note){WEIR__DISK_CREATE, .folder = folder, .name = name});
    return error;
}

int weir__disk_open(struct weir__disk_file *ret_file, int folder, const char *name)
{
    return open_as(ret_file, folder, name, O_RDWR | O_NOFOLLOW);
}

/* Skips what was written. */
static void advance(struct iovec **parts, int *count, size_t written)
{
    while (*count > 0 && written >= (*parts)->iov_len) {
        written -= (*parts)->iov_len;
        ++*parts, --*count;
    }
    if (*count > 0) {
        (*parts)->iov_base = (char *)(*parts)->iov_base + written;
        (*parts)->iov_len -= written;
    }
}

int weir__disk_write(const struct weir__disk_file *file, struct iovec *parts, int count,
                     uint64_t at)
{
    while (count > 0) {
        int some = count < PARTS_MAX ? count : PARTS_MAX;
        ssize_t written = weir__sys_pwritev(file->fd, parts, some, (off_t)at);
        if (written < 0)
            return failed();
        if (written == 0) {
            errno = EIO;
            return failed();
        }
        note(&(struct weir__disk_note){WEIR__DISK_WRITE, .name = file->name, .parts = parts,
                                       .length = (size_t)written, .at = at});
        at += (uint64_t)written;
        advance(&parts, &count, (size_t)written);
    }
    return 0;
}

int weir__disk_cut(const struct weir__disk_file *file, uint64_t length)
{
    if (weir__sys_ftruncate(file->fd, (off_t)length) < 0)
        return failed();
    note(&(struct weir__disk_note){WEIR__DISK_CUT, .name = file->name, .at = length});
    return 0;
}

int weir__disk_sync(const struct weir__disk_file *file)
{
    if (weir__sys_fdatasync(file->fd) < 0)
        return failed();
    note(&(struct weir__disk_note){WEIR__DISK_SYNC, .name = file->name});
    return 0;
}

int weir__disk_remove(int folder, const char *name)
{
    if (weir__sys_unlinkat(folder, name, 0) < 0)
        return failed();
    note(&(struct weir__disk_note){WEIR__DISK_REMOVE, .folder = folder, .name = name});
    return 0;
}

int weir__disk_sync_names(int folder)
{
    if (weir__sys_fsync(folder) < 0)
        return failed();
    note(&(struct weir__disk_note){WEIR__DISK_SYNC_NAMES, .folder = folder});
    return 0;
}

int weir__disk_each(int folder, int (*fn)(void *arg, const char *name), void *arg)
{
    _Alignas(struct weir__dirent) char window[8192];
    /* A descriptor of its own has a place of its own in the list. */
    int fd = weir__sys_openat(folder, ".", O_RDONLY | O_DIRECTORY, 0), result = 0;
    ssize_t size;
    if (fd < 0)
        return failed();
    while (result == 0 && (size = weir__sys_getdents(fd, window, sizeof(window))) != 0) {
        if (size < 0)
            result = failed();
        for (ssize_t at = 0; at < size && result == 0;) {
            const struct weir__dirent *entry = weir__dirent_at(window, at);
            at += entry->d_reclen;
            if (!weir__dirent_is_dots(entry->d_name))
                result = fn(arg, entry->d_name);
        }
    }
    weir__sys_close(fd);
    return result;
}

static int write_new(int folder, const char *name, const void *bytes, size_t length)
{
    struct weir__disk_file file;
    int error = weir__disk_create(&file, folder, name);
    if (error)
        return error;
    struct iovec part = {(void *)(uintptr_t)bytes, length};
    error = weir__disk_write(&file, &part, length > 0, 0);
    if (!error)
        error = weir__disk_sync(&file);
    weir__sys_close(file.fd);
    return error;
}

int weir__disk_replace(int folder, const char *name, const void *bytes, size_t length)
{
    char fresh[WEIR__DISK_NAME_MAX];
    snprintf(fresh, sizeof(fresh), "%s.new", name);
    /* Left by somebody who did not come to its end. */
    if (weir__disk_remove(folder, fresh) && errno != ENOENT)
        return failed();
    int error = write_new(folder, fresh, bytes, length);
    if (!error && weir__sys_renameat2(folder, fresh, folder, name, 0) < 0)
        error = failed();
    if (error) {
        int saved = errno;
        (void)!weir__disk_remove(folder, fresh);
        errno = saved;
        return error;
    }
    note(&(struct weir__disk_note){WEIR__DISK_RENAME, .folder = folder, .name = name,
                                   .other = fresh});
    return weir__disk_sync_names(folder);
}

int weir__disk_read(int folder, const char *name, void *bytes, size_t room, size_t *ret_length)
{
    int fd = weir__sys_openat(folder, name, O_RDONLY | O_NOFOLLOW, 0);
    size_t length = 0;
    ssize_t got = 1;
    if (fd < 0)
        return failed();
    while (length < room && got > 0) {
        got = weir__sys_pread(fd, (char *)bytes + length, room - length, (off_t)length);
        if (got > 0)
            length += (size_t)got;
    }
    int error = got < 0 ? failed() : 0;
    weir__sys_close(fd);
    if (!error)
        *ret_length = length;
    return error;
}
