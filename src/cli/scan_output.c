/* scan_output.c - a report that replaces a file, or goes into what is none. */
#include "scan_output.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include <linux/magic.h>

#include <weir/clock.h>
#include <weir/deadline.h>
#include <weir/error.h>

#include "log.h"
#include "program.h"
#include "sys.h"
#include "temporary.h"
#include "text.h"

#include "banned.h"

#define LINKS_MAX 40 /* as the system has it */
/* For a pipe that has no room, or nobody who reads: what is waited at first and at most before it
 * is looked at again, and how long that goes on when the user has had enough. */
#define PAUSE_MIN_NS (WEIR_NS_PER_MS / 10)
#define PAUSE_MAX_NS (20 * WEIR_NS_PER_MS)
#define STOP_NS      (2 * WEIR_NS_PER_S)

static int cannot_write(const char *path, const char *why)
{
    weir__log(WEIR__LOG_ERROR, "cannot write '%s': %s", WEIR__CLIPPED(path), why);
    return -WEIR_E_INCOMPLETE;
}

/* --- where a name leads --- */

struct target {
    char path[PATH_MAX]; /* no symlink, unless it is one of /proc */
    int fd;              /* that is open already, and is written to; -1: the path is for that */
    bool is_replaced;
    bool is_pipe;
};

/* Links of /proc lead to what is open, whatever name it has or had. */
static bool is_magic(const char *path)
{
    struct statfs fs;
    int fd = weir__sys_openat(AT_FDCWD, path, O_PATH | O_NOFOLLOW, 0);
    bool is_proc =
        fd >= 0 && weir__sys_fstatfs(fd, &fs) == 0 && (uint64_t)fs.f_type == PROC_SUPER_MAGIC;
    weir__sys_close(fd);
    return is_proc;
}

/* One link further. The rest of a path, and what leads up in it, is for the system. */
static int follow(char *path, const char *link)
{
    char next[PATH_MAX];
    const char *slash = strrchr(path, '/');
    int folder = link[0] == '/' || !slash ? 0 : (int)(slash + 1 - path);
    int length = snprintf(next, sizeof(next), "%.*s%s", folder, path, link);
    if (length < 0 || (size_t)length >= sizeof(next))
        return ENAMETOOLONG;
    memcpy(path, next, (size_t)length + 1);
    return 0;
}

/* Of a descriptor of ours the place in the file, and whether it appends, count. */
static int open_already(const char *path, const struct stat *st)
{
    struct stat ours;
    const char *name = strrchr(path, '/');
    int fd = 0;
    if (!name || name[1] == '\0')
        return -1;
    for (name++; *name >= '0' && *name <= '9' && fd < INT_MAX / 10 - 1; name++)
        fd = fd * 10 + (*name - '0');
    bool is_it = *name == '\0' && weir__sys_fstat(fd, &ours) == 0 && ours.st_dev == st->st_dev &&
                 ours.st_ino == st->st_ino;
    return is_it ? fd : -1;
}

/* 0, or an errno. */
static int find_target(struct target *target, const char *path)
{
    char link[PATH_MAX];
    struct stat st;
    ssize_t length = -1;
    bool is_open = false;
    size_t size = strlen(path) + 1;
    *target = (struct target){.fd = -1};
    if (size > sizeof(target->path))
        return ENAMETOOLONG;
    memcpy(target->path, path, size);
    for (int i = 0; i <= LINKS_MAX; i++) {
        length = weir__sys_readlinkat(AT_FDCWD, target->path, link, sizeof(link) - 1);
        is_open = length >= 0 && is_magic(target->path);
        if (length < 0 || is_open)
            break;
        link[length] = '\0';
        int error = follow(target->path, link);
        if (error)
            return error;
    }
    if (length >= 0 && !is_open)
        return ELOOP;
    bool is_there = weir__sys_fstatat(AT_FDCWD, target->path, &st, 0) == 0;
    if (is_there && S_ISDIR(st.st_mode))
        return EISDIR;
    target->is_replaced = !is_open && (!is_there || S_ISREG(st.st_mode));
    target->is_pipe = is_there && S_ISFIFO(st.st_mode);
    target->fd = is_open && is_there ? open_already(target->path, &st) : -1;
    return 0;
}

/* --- a file that is replaced --- */

static int name_temporary(char *name, size_t size, const char *path)
{
    int length =
        snprintf(name, size, "%s.%x-%" PRIx64 ".tmp", path, (unsigned)getpid(), weir_now_ns());
    return length > 0 && (size_t)length < size ? 0 : ENAMETOOLONG;
}

int weir__scan_try_output(const char *path)
{
    struct target target;
    char name[PATH_MAX];
    int error = find_target(&target, path);
    if (!error && !target.is_replaced)
        return 0;
    if (!error)
        error = name_temporary(name, sizeof(name), target.path);
    if (error)
        return cannot_write(path, weir__log_reason(error));
    int fd = weir__sys_openat(AT_FDCWD, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
    if (fd < 0)
        return cannot_write(path, weir__log_reason(errno));
    weir__sys_close(fd);
    weir__sys_unlinkat(AT_FDCWD, name, 0);
    return 0;
}

/* --- what is written into --- */

struct direct {
    int fd;
    uint64_t pause_ns;
    uint64_t stopped_ns; /* when it was seen that somebody wants an end; 0: not yet */
};

/* Before the next try; false: it has been long enough. */
static bool wait_a_little(struct direct *direct)
{
    if (direct->stopped_ns == 0 && weir__program_signal() != 0)
        direct->stopped_ns = weir_now_ns();
    if (direct->stopped_ns != 0 && weir_now_ns() - direct->stopped_ns > STOP_NS)
        return false;
    struct weir_deadline deadline = weir_deadline_in(direct->pause_ns, NULL);
    weir_deadline_sleep(&deadline);
    direct->pause_ns *= 2;
    if (direct->pause_ns > PAUSE_MAX_NS)
        direct->pause_ns = PAUSE_MAX_NS;
    return true;
}

static int write_direct(void *arg, const char *bytes, size_t length)
{
    struct direct *direct = arg;
    while (length > 0) {
        ssize_t done = weir__sys_write(direct->fd, bytes, length);
        if (done >= 0) {
            bytes += done;
            length -= (size_t)done;
            direct->pause_ns = PAUSE_MIN_NS;
        } else if (errno != EAGAIN) {
            return weir_error_from_errno(errno);
        } else if (!wait_a_little(direct)) {
            return -WEIR_E_INTERRUPTED;
        }
    }
    return 0;
}

/* A pipe must not keep us: neither until somebody reads it, nor while it is full. */
static int open_direct(const struct target *target, struct direct *direct)
{
    int flags = O_WRONLY | O_APPEND | O_NOCTTY | (target->is_pipe ? O_NONBLOCK : 0);
    int fd;
    while ((fd = weir__sys_openat(AT_FDCWD, target->path, flags, 0)) < 0) {
        if (!target->is_pipe || errno != ENXIO)
            return errno;
        if (!wait_a_little(direct))
            return EINTR;
    }
    direct->fd = fd;
    return 0;
}

static int print_direct(const char *path, const struct target *target,
                        const struct weir__findings *findings, const struct weir__summary *summary,
                        const struct weir__report_options *options)
{
    struct direct direct = {.fd = target->fd, .pause_ns = PAUSE_MIN_NS};
    struct weir__report_out out = {.write = write_direct, .arg = &direct};
    int error = target->fd >= 0 ? 0 : open_direct(target, &direct);
    if (error)
        return cannot_write(path, error == EINTR ? "nobody reads it" : weir__log_reason(error));
    int result = weir__report(findings, summary, options, &out);
    if (target->fd < 0)
        weir__sys_close(direct.fd);
    return result < 0 ? cannot_write(path, weir_error_text(result)) : 0;
}

/* --- the report --- */

static int write_fd(void *arg, const char *bytes, size_t length)
{
    return weir__whole_write(*(int *)arg, bytes, length);
}

int weir__scan_output(const char *path, bool is_private, const struct weir__findings *findings,
                      const struct weir__summary *summary,
                      const struct weir__report_options *options)
{
    struct target target;
    char temporary[PATH_MAX];
    int error = find_target(&target, path);
    if (!error && !target.is_replaced)
        return print_direct(path, &target, findings, summary, options);
    if (!error)
        error = name_temporary(temporary, sizeof(temporary), target.path);
    if (error)
        return cannot_write(path, weir__log_reason(error));
    int fd = weir__sys_openat(AT_FDCWD, temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW,
                              is_private ? 0600 : 0666);
    if (fd < 0)
        return cannot_write(path, weir__log_reason(errno));
    struct weir__report_out out = {.write = write_fd, .arg = &fd};
    int result = weir__report(findings, summary, options, &out);
    weir__sys_close(fd);
    if (result < 0)
        result = cannot_write(path, weir_error_text(result));
    else if (weir__sys_renameat2(AT_FDCWD, temporary, AT_FDCWD, target.path, 0) < 0)
        result = cannot_write(path, weir__log_reason(errno));
    if (result < 0)
        weir__sys_unlinkat(AT_FDCWD, temporary, 0);
    return result;
}
