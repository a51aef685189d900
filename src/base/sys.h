/* sys.h - the system calls on files that programs make, each with a fault point.
 *
 * The same names, arguments and results as the calls themselves (-1 and errno on failure), with two
 * differences: a call that was interrupted before it did anything is made again, and in builds
 * with WEIR_FAULTS the n-th of them can be made to fail with an error of the test's choice. With
 * checks, each asserts that no lock is held. What file programs call and is not here, is added
 * here.
 *
 * Ownership: descriptors belong to the caller; weir__sys_close() closes one and never fails.
 */
#ifndef WEIR_BASE_SYS_H
#define WEIR_BASE_SYS_H

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/vfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <linux/openat2.h>

#include <weir/defs.h>
#include <weir/fault.h>
#include <weir/lock.h>

#ifdef WEIR_FAULTS
/* With what armed calls fail; EIO unless a test says otherwise. EINTR is seen once and then the
 * call is made. */
void weir__sys_fault_errno(int errno_value);
/* Whether all calls behind an armed one that came fail as well, until that is disarmed. Set while
 * none is armed. */
void weir__sys_fault_lasting(bool is_lasting);
/* True when this call shall fail; errno is set. */
bool weir__sys_fault(void);
/* These bytes of the file cannot be read (EIO) nor sent from it, whoever has it open, as on a disk
 * with bad sectors; none: 0 and 0. One stretch at a time, set while nobody reads. */
void weir__sys_fault_stretch(int fd, off_t from, off_t to);
/* How many reads have failed there since it was set. */
unsigned weir__sys_fault_stretch_hits(void);
/* How much can be read at that place before such a stretch; 0: nothing, and errno is set. */
size_t weir__sys_fault_readable(int fd, size_t count, off_t at);
#else
static inline size_t weir__sys_fault_readable(int fd, size_t count, off_t at)
{
    (void)fd, (void)at;
    return count;
}
static inline bool weir__sys_fault(void)
{
    return false;
}
#endif

/* One expression: the fault point, the call, and again while it was interrupted. */
#define WEIR__SYS(type, call)                                                                      \
    __extension__({                                                                                \
        type _result;                                                                              \
        weir_lock_assert_none(#call);                                                              \
        do                                                                                         \
            _result = weir__sys_fault() ? (type)-1 : (call);                                       \
        while (_result == (type)-1 && errno == EINTR);                                             \
        _result;                                                                                   \
    })

static inline int weir__sys_openat(int dir, const char *name, int flags, mode_t mode)
{
    return WEIR__SYS(int, openat(dir, name, flags | O_CLOEXEC, mode));
}

static inline int weir__sys_openat2(int dir, const char *name, const struct open_how *how)
{
    return WEIR__SYS(int, (int)syscall(SYS_openat2, dir, name, how, sizeof(*how)));
}

/* Accepts -1. Keeps errno, so that it may stand between a failure and its report. */
static inline void weir__sys_close(int fd)
{
    int saved = errno;
    if (fd >= 0)
        close(fd);
    errno = saved;
}

/* For what was written: some file systems tell only here that it did not arrive. The descriptor is
 * gone in any case, so it is never tried again. */
static inline int weir__sys_close_written(int fd)
{
    bool is_faulty = weir__sys_fault();
    int saved = errno;
    int result = close(fd);
    if (is_faulty)
        errno = saved;
    return is_faulty || (result < 0 && errno != EINTR) ? -1 : 0;
}

static inline void weir__sys_close_at(int *fd)
{
    weir__sys_close(*fd);
    *fd = -1;
}

static inline int weir__sys_fstat(int fd, struct stat *st)
{
    return WEIR__SYS(int, fstat(fd, st));
}

static inline int weir__sys_fstatat(int dir, const char *name, struct stat *st, int flags)
{
    return WEIR__SYS(int, fstatat(dir, name, st, flags));
}

static inline ssize_t weir__sys_getdents(int fd, void *entries, size_t size)
{
    return WEIR__SYS(ssize_t, (ssize_t)syscall(SYS_getdents64, fd, entries, size));
}

static inline ssize_t weir__sys_read(int fd, void *bytes, size_t count)
{
    return WEIR__SYS(ssize_t, read(fd, bytes, count));
}

/* Whether a read would not wait: not 0, also on failure, which the read then tells. Waits that long
 * for it at most, so that whoever reads can look whether he is to stop. Of a pipe that was opened
 * without waiting and nobody has opened yet for writing, it would be the end, but this waits. */
static inline int weir__sys_wait_readable(int fd, int ms)
{
    struct pollfd one = {.fd = fd, .events = POLLIN};
    return WEIR__SYS(int, poll(&one, 1, ms));
}

/* The same for a write. Of a pipe it says that PIPE_BUF bytes can be written without waiting. */
static inline int weir__sys_wait_writable(int fd, int ms)
{
    struct pollfd one = {.fd = fd, .events = POLLOUT};
    return WEIR__SYS(int, poll(&one, 1, ms));
}

/* The flags that it was opened with, O_APPEND and the like. */
static inline int weir__sys_get_flags(int fd)
{
    return WEIR__SYS(int, fcntl(fd, F_GETFL));
}

/* The next of these signals, which are blocked, or 0 when none came in that time: the wait of a
 * service's supervisor. */
static inline int weir__sys_wait_signal(const sigset_t *signals, const struct timespec *time)
{
    weir_lock_assert_none("a wait for signals");
    int number = sigtimedwait(signals, NULL, time);
    return number > 0 ? number : 0;
}

static inline ssize_t weir__sys_pread(int fd, void *bytes, size_t count, off_t at)
{
    size_t readable = weir__sys_fault_readable(fd, count, at);
    if (readable == 0 && count > 0)
        return -1;
    return WEIR__SYS(ssize_t, pread(fd, bytes, readable, at));
}

/* Only what is in memory; EAGAIN for what would have to be waited for. */
static inline ssize_t weir__sys_pread_now(int fd, void *bytes, size_t count, off_t at)
{
    struct iovec part = {bytes, weir__sys_fault_readable(fd, count, at)};
    if (part.iov_len == 0 && count > 0)
        return -1;
    return WEIR__SYS(ssize_t, preadv2(fd, &part, 1, at, RWF_NOWAIT));
}

/* Neither end is inherited by other programs. */
static inline int weir__sys_pipe(int fds[2])
{
    return WEIR__SYS(int, pipe2(fds, O_CLOEXEC));
}

static inline ssize_t weir__sys_write(int fd, const void *bytes, size_t count)
{
    return WEIR__SYS(ssize_t, write(fd, bytes, count));
}

static inline ssize_t weir__sys_pwrite(int fd, const void *bytes, size_t count, off_t at)
{
    return WEIR__SYS(ssize_t, pwrite(fd, bytes, count, at));
}

static inline ssize_t weir__sys_pwritev(int fd, const struct iovec *parts, int count, off_t at)
{
    return WEIR__SYS(ssize_t, pwritev(fd, parts, count, at));
}

static inline ssize_t weir__sys_copy_range(int in, off_t *in_at, int out, off_t *out_at,
                                           size_t count)
{
    return WEIR__SYS(ssize_t, copy_file_range(in, in_at, out, out_at, count, 0));
}

static inline off_t weir__sys_lseek(int fd, off_t at, int whence)
{
    return WEIR__SYS(off_t, lseek(fd, at, whence));
}

static inline int weir__sys_ftruncate(int fd, off_t size)
{
    return WEIR__SYS(int, ftruncate(fd, size));
}

static inline int weir__sys_fallocate(int fd, int mode, off_t at, off_t length)
{
    return WEIR__SYS(int, fallocate(fd, mode, at, length));
}

/* Bytes that were given to a socket and that the other side has not taken, or -1. */
int weir__sys_unsent(int fd);

/* Shares the blocks of the whole file with out (FICLONE). In sys.c, since the header with the
 * number of that request clashes with <sys/mount.h>. */
int weir__sys_clone(int in, int out);

/* All of a file from its beginning, anywhere; MAP_FAILED and errno on failure. Unmapping cannot
 * fail and needs no wrapper. */
static inline void *weir__sys_mmap(size_t length, int protection, int flags, int fd)
{
    return (void *)WEIR__SYS(intptr_t, (intptr_t)mmap(NULL, length, protection, flags, fd, 0));
}

static inline int weir__sys_fstatfs(int fd, struct statfs *fs)
{
    return WEIR__SYS(int, fstatfs(fd, fs));
}

static inline int weir__sys_mkdirat(int dir, const char *name, mode_t mode)
{
    return WEIR__SYS(int, mkdirat(dir, name, mode));
}

static inline int weir__sys_mknodat(int dir, const char *name, mode_t mode, dev_t device)
{
    return WEIR__SYS(int, mknodat(dir, name, mode, device));
}

static inline int weir__sys_symlinkat(const char *target, int dir, const char *name)
{
    return WEIR__SYS(int, symlinkat(target, dir, name));
}

static inline ssize_t weir__sys_readlinkat(int dir, const char *name, char *text, size_t size)
{
    return WEIR__SYS(ssize_t, readlinkat(dir, name, text, size));
}

static inline int weir__sys_linkat(int from_dir, const char *from, int dir, const char *name,
                                   int flags)
{
    return WEIR__SYS(int, linkat(from_dir, from, dir, name, flags));
}

static inline int weir__sys_renameat2(int from_dir, const char *from, int dir, const char *name,
                                      unsigned flags)
{
    return WEIR__SYS(int, (int)syscall(SYS_renameat2, from_dir, from, dir, name, flags));
}

/* Replaces nothing: EEXIST. Some file systems cannot be asked for that: there the name is looked at
 * first, which somebody else may take in between. */
static inline int weir__sys_rename_new(int dir, const char *from, const char *name)
{
    struct stat st;
    if (weir__sys_renameat2(dir, from, dir, name, 1u /* RENAME_NOREPLACE */) == 0)
        return 0;
    if (errno != EINVAL && errno != ENOSYS)
        return -1;
    if (weir__sys_fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0)
        errno = EEXIST;
    else if (errno == ENOENT)
        return weir__sys_renameat2(dir, from, dir, name, 0);
    return -1;
}

static inline int weir__sys_unlinkat(int dir, const char *name, int flags)
{
    return WEIR__SYS(int, unlinkat(dir, name, flags));
}

static inline int weir__sys_fchmod(int fd, mode_t mode)
{
    return WEIR__SYS(int, fchmod(fd, mode));
}

static inline int weir__sys_fchmodat(int dir, const char *name, mode_t mode)
{
    return WEIR__SYS(int, fchmodat(dir, name, mode, 0));
}

/* Of what a descriptor stands for, even one of O_PATH. From Linux 6.6 on, else ENOSYS. */
static inline int weir__sys_fchmod_path(int fd, mode_t mode)
{
#if defined(SYS_fchmodat2)
    return WEIR__SYS(int, (int)syscall(SYS_fchmodat2, fd, "", mode, AT_EMPTY_PATH));
#elif !defined(__alpha__)
    return WEIR__SYS(int, (int)syscall(452, fd, "", mode, AT_EMPTY_PATH));
#else
    (void)fd, (void)mode;
    errno = ENOSYS;
    return -1;
#endif
}

static inline int weir__sys_fchownat(int dir, const char *name, uid_t uid, gid_t gid, int flags)
{
    return WEIR__SYS(int, fchownat(dir, name, uid, gid, flags));
}

static inline int weir__sys_fchown(int fd, uid_t uid, gid_t gid)
{
    return WEIR__SYS(int, fchown(fd, uid, gid));
}

static inline int weir__sys_futimens(int fd, const struct timespec times[2])
{
    return WEIR__SYS(int, futimens(fd, times));
}

static inline int weir__sys_utimensat(int dir, const char *name, const struct timespec times[2],
                                      int flags)
{
    return WEIR__SYS(int, utimensat(dir, name, times, flags));
}

/* Waits so long at most for one of the events; the one wait of the loops of servers. */
static inline int weir__sys_epoll_wait(int fd, struct epoll_event *events, int count, int ms)
{
    return WEIR__SYS(int, epoll_wait(fd, events, count, ms));
}

static inline int weir__sys_epoll_ctl(int fd, int operation, int about, struct epoll_event *event)
{
    return WEIR__SYS(int, epoll_ctl(fd, operation, about, event));
}

static inline ssize_t weir__sys_recv(int fd, void *bytes, size_t count, int flags)
{
    return WEIR__SYS(ssize_t, recv(fd, bytes, count, flags));
}

/* Whoever has gone is told by EPIPE, without a signal. */
static inline ssize_t weir__sys_sendmsg(int fd, const struct msghdr *message, int flags)
{
    return WEIR__SYS(ssize_t, sendmsg(fd, message, flags | MSG_NOSIGNAL));
}

static inline ssize_t weir__sys_sendfile(int out, int in, off_t *at, size_t count)
{
    size_t readable = weir__sys_fault_readable(in, count, *at);
    if (readable == 0 && count > 0)
        return -1;
    return WEIR__SYS(ssize_t, sendfile(out, in, at, readable));
}

static inline int weir__sys_flock(int fd, int operation)
{
    int flock(int, int);
    return WEIR__SYS(int, flock(fd, operation));
}

static inline int weir__sys_fsync(int fd)
{
    return WEIR__SYS(int, fsync(fd));
}

static inline int weir__sys_fdatasync(int fd)
{
    return WEIR__SYS(int, fdatasync(fd));
}

static inline int weir__sys_syncfs(int fd)
{
    return WEIR__SYS(int, syncfs(fd));
}

/* Bytes that nobody can guess; at most 256, which the kernel gives whole or not at all. Waits only
 * early at boot, until there are any. */
static inline int weir__sys_random(void *bytes, size_t count)
{
    return WEIR__SYS(ssize_t, getrandom(bytes, count, 0)) == (ssize_t)count ? 0 : -1;
}

static inline ssize_t weir__sys_flistxattr(int fd, char *names, size_t size)
{
    return WEIR__SYS(ssize_t, flistxattr(fd, names, size));
}

static inline ssize_t weir__sys_llistxattr(const char *path, char *names, size_t size)
{
    return WEIR__SYS(ssize_t, llistxattr(path, names, size));
}

static inline ssize_t weir__sys_fgetxattr(int fd, const char *name, void *value, size_t size)
{
    return WEIR__SYS(ssize_t, fgetxattr(fd, name, value, size));
}

static inline ssize_t weir__sys_lgetxattr(const char *path, const char *name, void *value,
                                          size_t size)
{
    return WEIR__SYS(ssize_t, lgetxattr(path, name, value, size));
}

static inline int weir__sys_fsetxattr(int fd, const char *name, const void *value, size_t size)
{
    return WEIR__SYS(int, fsetxattr(fd, name, value, size, 0));
}

static inline int weir__sys_lsetxattr(const char *path, const char *name, const void *value,
                                      size_t size)
{
    return WEIR__SYS(int, lsetxattr(path, name, value, size, 0));
}

static inline int weir__sys_fremovexattr(int fd, const char *name)
{
    return WEIR__SYS(int, fremovexattr(fd, name));
}

static inline int weir__sys_lremovexattr(const char *path, const char *name)
{
    return WEIR__SYS(int, lremovexattr(path, name));
}

#endif
