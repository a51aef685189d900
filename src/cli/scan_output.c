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

#include "cover.h"
#include "log.h"
#include "now.h"
#include "program.h"
#include "sys.h"
#include "temporary.h"

#include "banned.h"

#define LINKS_MAX 40 /* as the system has it */
/* For a pipe that has no room, or nobody who reads: what is waited at first and at most before it
 * is looked at again, and how long that goes on when the user has had enough. */
#define PAUSE_MIN_NS (WEIR_NS_PER_MS / 10)
#define PAUSE_MAX_NS (20 * WEIR_NS_PER_MS)
#define STOP_NS      (WEIR_NS_PER_S / 2)

/* --- what is said when it fails --- */

/* As errors of ours: the user has had enough of waiting; a trap, perhaps. */
#define NOBODY_READS EINTR
#define FOREIGN_LINK EMLINK
#define FOREIGN_FILE ESTALE
#define OTHERS_MAY   ENOTSUP

/* What the system calls it, or a better name, and what helps. */
static const struct trouble {
    int error;
    const char *why, *cure;
} troubles[] = {
    {ENOENT, NULL, "make the folder or name another file"},
    {ENOTDIR, NULL, "name a file in a folder"},
    {EISDIR, NULL, "name a file in it"},
    {EACCES, NULL, "name a file that you may write"},
    {EPERM, NULL, "name a file that you may write"},
    {EROFS, NULL, "name a file that you may write"},
    {ENOSPC, NULL, "make room or name a file elsewhere"},
    {EDQUOT, NULL, "make room or name a file elsewhere"},
    {EFBIG, "it would be larger than a file may be here", "raise that limit (ulimit -f)"},
    {EPIPE, "whoever read it has gone", "have it read to its end"},
    {NOBODY_READS, "nobody reads it", "have somebody read it or name a file"},
    {ELOOP, NULL, "name the file itself"},
    {FOREIGN_LINK, "it is somebody else's link in a folder where all may write",
     "name the file itself"},
    {FOREIGN_FILE, "it is somebody else's file in a folder where all may write",
     "name another file"},
    {OTHERS_MAY, "others may read it, and it cannot be made private for --show-secrets",
     "name another file"},
    {EBADF, "it is closed", "name a file"},
    {ENAMETOOLONG, NULL, "choose a shorter name"},
    {0, NULL, "name another file"},
};

/* The path, or NULL: standard output. The report that is lost, or NULL when nothing was scanned
 * yet.
 */
static int cannot_write(const char *path, int error, const struct weir__findings *findings)
{
    const struct trouble *trouble = troubles;
    char lost[80] = "";
    while (trouble->error && trouble->error != error)
        trouble++;
    size_t secrets = findings ? weir__findings_count(findings) : 0;
    if (findings)
        snprintf(lost, sizeof(lost), ", and scan again");
    if (secrets > 0)
        snprintf(lost, sizeof(lost), ", and scan again: %zu %s in no report", secrets,
                 secrets == 1 ? "secret is" : "secrets are");
    const char *why = trouble->why ? trouble->why : weir__log_reason(error);
    if (path)
        weir__log(WEIR__LOG_ERROR, "cannot write '%s': %s; %s%s", WEIR__TYPED(path), why,
                  trouble->cure, lost);
    else
        weir__log(WEIR__LOG_ERROR, "cannot write to standard output: %s; name a file by --output%s",
                  why, lost);
    return -WEIR_E_INCOMPLETE;
}

int weir__scan_output_lost(int error, const struct weir__findings *findings)
{
    return cannot_write(NULL, error, findings);
}

/* A report fails for what it is written to, or for want of memory. */
static int error_of(int result, int error)
{
    return error ? error : result == -WEIR_E_NO_MEMORY ? ENOMEM : EIO;
}

/* --- where a name leads --- */

struct target {
    char path[PATH_MAX]; /* no symlink, unless it is one of /proc */
    int fd;              /* that is open already, and is written to; -1: the path is for that */
    struct stat st;      /* if it is there */
    bool is_there;
    bool is_replaced;
    bool is_pipe;
};

/* The folder that something lies in, as a path. */
static int folder_of(const char *path, char folder[PATH_MAX])
{
    const char *slash = strrchr(path, '/');
    int length = !slash         ? snprintf(folder, PATH_MAX, ".")
                 : slash > path ? snprintf(folder, PATH_MAX, "%.*s", (int)(slash - path), path)
                                : snprintf(folder, PATH_MAX, "/");
    return length > 0 && length < PATH_MAX ? 0 : ENAMETOOLONG;
}

/* In a folder like /tmp anybody may have put it there for us to step into. Those of the folder's
 * owner are trusted; so the system has it for links, and we do not ask it to follow one. */
static bool is_foreign(const char *path, const struct stat *st)
{
    char folder[PATH_MAX];
    struct stat in;
    return st->st_uid != geteuid() && folder_of(path, folder) == 0 &&
           weir__sys_fstatat(AT_FDCWD, folder, &in, 0) == 0 && (in.st_mode & S_ISVTX) &&
           (in.st_mode & S_IWOTH) && in.st_uid != st->st_uid;
}

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
    struct stat st, *there = &target->st;
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
        bool is_trap = weir__sys_fstatat(AT_FDCWD, target->path, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
                       is_foreign(target->path, &st);
        int error = is_trap ? FOREIGN_LINK : follow(target->path, link);
        if (error)
            return error;
    }
    if (length >= 0 && !is_open)
        return ELOOP;
    bool is_there = weir__sys_fstatat(AT_FDCWD, target->path, there, 0) == 0;
    if (is_there && S_ISDIR(there->st_mode))
        return EISDIR;
    target->is_there = is_there;
    target->is_replaced = !is_open && (!is_there || S_ISREG(there->st_mode));
    target->is_pipe = is_there && S_ISFIFO(there->st_mode);
    target->fd = is_open && is_there ? open_already(target->path, there) : -1;
    /* Of root, too, who could replace it: then it would be root's, and the other might not know. */
    return is_there && target->is_replaced && is_foreign(target->path, there) ? FOREIGN_FILE : 0;
}

/* --- a file that is replaced --- */

/* The new file: without a name (O_TMPFILE) until it is complete, so that nothing stays there
 * however the program ends, or where that cannot be done with a name of its own from the start. */
struct fresh {
    int fd;
    bool has_name;
    char name[PATH_MAX];
};

static int name_fresh(struct fresh *fresh, const char *folder)
{
    int length = snprintf(fresh->name, sizeof(fresh->name), "%s/.weir-%x-%" PRIx64 ".tmp", folder,
                          (unsigned)getpid(), weir_now_ns());
    return length > 0 && (size_t)length < sizeof(fresh->name) ? 0 : ENAMETOOLONG;
}

static int open_fresh(struct fresh *fresh, const struct target *target, bool with_name, mode_t mode)
{
    char folder[PATH_MAX];
    int error = folder_of(target->path, folder);
    if (!error)
        error = name_fresh(fresh, folder);
    if (error)
        return error;
    fresh->has_name = with_name;
    fresh->fd = with_name ? weir__sys_openat(AT_FDCWD, fresh->name,
                                             O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, mode)
                          : weir__sys_openat(AT_FDCWD, folder, O_TMPFILE | O_WRONLY, mode);
    return fresh->fd < 0 ? errno : 0;
}

static void drop_fresh(struct fresh *fresh)
{
    weir__sys_close(fresh->fd);
    if (fresh->has_name)
        weir__sys_unlinkat(AT_FDCWD, fresh->name, 0);
}

/* Whether nothing may be put beside it, or in its place (a file that is a mount is busy). */
static bool is_denied(int error)
{
    return error == EACCES || error == EPERM || error == EROFS || error == EBUSY || error == EXDEV;
}

/* EISDIR: a kernel that does not know O_TMPFILE; the others: a file system of that kind. */
static bool is_nameless_unknown(int error)
{
    return error == EOPNOTSUPP || error == EISDIR || error == EINVAL || error == ENOENT;
}

/* What is named to be scanned would be gone, and be there no more for a second look. */
static bool is_scanned(const struct target *target, const char *const *paths, size_t paths_count)
{
    struct stat st;
    for (size_t i = 0; i < paths_count && target->is_there; i++)
        if (paths[i] && weir__sys_fstatat(AT_FDCWD, paths[i], &st, 0) == 0 && S_ISREG(st.st_mode) &&
            st.st_dev == target->st.st_dev && st.st_ino == target->st.st_ino)
            return true;
    return false;
}

int weir__scan_try_output(const char *path, const char *const *paths, size_t paths_count)
{
    struct target target;
    struct fresh fresh;
    int error = find_target(&target, path);
    if (!error && is_scanned(&target, paths, paths_count)) {
        weir__log(WEIR__LOG_ERROR,
                  "'%s' is to be read, and the report would take its place: name another file",
                  WEIR__TYPED(path));
        return -WEIR_E_USAGE;
    }
    if (!error && !target.is_replaced)
        return 0;
    if (!error) {
        error = open_fresh(&fresh, &target, false, 0600);
        if (is_nameless_unknown(error))
            error = open_fresh(&fresh, &target, true, 0600);
        if (!error)
            drop_fresh(&fresh);
    }
    if (target.is_there && is_denied(error)) {
        int fd = weir__sys_openat(AT_FDCWD, target.path, O_WRONLY | O_NOFOLLOW | O_NOCTTY, 0);
        error = fd < 0 ? errno : 0;
        weir__sys_close(fd);
    }
    return error ? cannot_write(path, error, NULL) : 0;
}

/* --- what is written into --- */

struct direct {
    int fd;
    struct weir__now now; /* the same, for writes that do not wait */
    int error;            /* why it could not be written; 0: it could */
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
        ssize_t done = weir__now_write(&direct->now, bytes, length);
        if (done >= 0) {
            bytes += done;
            length -= (size_t)done;
            direct->pause_ns = PAUSE_MIN_NS;
        } else if (errno == EINTR) {
            continue;
        } else if (errno != EAGAIN) {
            direct->error = errno;
            return -WEIR_E_IO;
        } else if (!wait_a_little(direct)) {
            direct->error = NOBODY_READS;
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
            return NOBODY_READS;
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
        return cannot_write(path, error, findings);
    direct.now = WEIR__NOW(direct.fd);
    weir__now_open(&direct.now);
    int result = weir__report(findings, summary, options, &out);
    weir__now_close(&direct.now);
    if (target->fd < 0 && weir__sys_close_written(direct.fd) < 0 && result == 0) {
        direct.error = errno;
        result = -WEIR_E_IO;
    }
    /* A reader of standard output may leave, whatever name it has. */
    bool is_left = direct.error == EPIPE && target->fd == STDOUT_FILENO;
    return result == 0 || is_left ? 0
                                  : cannot_write(path, error_of(result, direct.error), findings);
}

/* --- the report --- */

struct whole {
    int fd;
    int error; /* as above */
};

static int write_whole(void *arg, const char *bytes, size_t length)
{
    struct whole *whole = arg;
    int result = weir__whole_write(whole->fd, bytes, length);
    if (result < 0)
        whole->error = errno;
    return result;
}

/* The report as it is asked for. */
struct asked {
    bool is_private;
    const struct weir__findings *findings;
    const struct weir__summary *summary;
    const struct weir__report_options *options;
};

/* The report into an open file, and from there to the disk. 0, or an errno. */
static int fill(int fd, const struct asked *asked)
{
    struct whole whole = {.fd = fd};
    struct weir__report_out out = {.write = write_whole, .arg = &whole};
    int result = weir__report(asked->findings, asked->summary, asked->options, &out);
    if (result < 0)
        return error_of(result, whole.error);
    /* Some file systems have nothing to write to. */
    return weir__sys_fsync(fd) < 0 && errno != EINVAL && errno != ENOTSUP ? errno : 0;
}

/* What the old file lets others do, and no more: not even a group that is now another one. */
static int keep_mode(int fd, const struct stat *old, bool is_private)
{
    mode_t mode = old->st_mode & 0777;
    if (is_private)
        mode &= S_IRWXU;
    struct stat st;
    if (weir__sys_fstat(fd, &st) < 0)
        return errno;
    bool is_same = st.st_gid == old->st_gid;
    if ((st.st_uid != old->st_uid || !is_same) &&
        weir__sys_fchown(fd, old->st_uid, old->st_gid) < 0 && !is_same &&
        weir__sys_fchown(fd, (uid_t)-1, old->st_gid) < 0)
        mode &= S_IRWXU | S_IRWXO | (mode & S_IRWXO) << 3;
    return weir__sys_fchmod(fd, mode) < 0 ? errno : 0;
}

/* Gives it its name. 0, or an errno. */
static int publish(struct fresh *fresh, const struct target *target)
{
    char self[sizeof("/proc/self/fd/") + 11];
    snprintf(self, sizeof(self), "/proc/self/fd/%d", fresh->fd);
    if (!fresh->has_name &&
        weir__sys_linkat(AT_FDCWD, self, AT_FDCWD, fresh->name, AT_SYMLINK_FOLLOW) < 0)
        return EOPNOTSUPP; /* without /proc, say: the other way tells what is wrong */
    fresh->has_name = true;
    return weir__sys_renameat2(AT_FDCWD, fresh->name, AT_FDCWD, target->path, 0) < 0 ? errno : 0;
}

static int replace(const struct target *target, bool with_name, const struct asked *asked)
{
    struct fresh fresh;
    bool is_closed = target->is_there || asked->is_private;
    int error = open_fresh(&fresh, target, with_name, is_closed ? 0600 : 0666);
    if (error)
        return error;
    error = target->is_there ? keep_mode(fresh.fd, &target->st, asked->is_private) : 0;
    if (!error)
        error = fill(fresh.fd, asked);
    if (!error)
        error = publish(&fresh, target);
    if (error) {
        drop_fresh(&fresh);
        return error;
    }
    return weir__sys_close_written(fresh.fd) < 0 ? errno : 0;
}

static int count_bytes(void *arg, const char *bytes, size_t length)
{
    (void)bytes;
    *(off_t *)arg += (off_t)length;
    return 0;
}

/* The disk has room for the whole of it before the first byte of the old one is lost. 0, or an
 * errno. */
static int reserve(int fd, const struct target *target, const struct asked *asked)
{
    off_t size = 0;
    struct weir__report_out out = {.write = count_bytes, .arg = &size};
    int result = weir__report(asked->findings, asked->summary, asked->options, &out);
    if (result < 0)
        return error_of(result, 0);
    if (size == 0 || weir__sys_fallocate(fd, FALLOC_FL_KEEP_SIZE, 0, size) == 0)
        return 0;
    int error = errno;
    if (error != ENOSPC && error != EDQUOT && error != EFBIG)
        return 0; /* a file system that cannot, say: it is tried all the same */
    weir__sys_ftruncate(fd, target->st.st_size); /* gives back the part that there was */
    return error;
}

/* Where nothing may take its place: what is cut off by a kill is then all that is there. */
static int overwrite(const struct target *target, const struct asked *asked)
{
    int fd = weir__sys_openat(AT_FDCWD, target->path, O_WRONLY | O_NOFOLLOW | O_NOCTTY, 0);
    if (fd < 0)
        return errno;
    mode_t mode = target->st.st_mode & 0777;
    bool is_open = asked->is_private && (mode & (S_IRWXG | S_IRWXO));
    int error = is_open && weir__sys_fchmod(fd, mode & S_IRWXU) < 0 ? OTHERS_MAY : 0;
    if (!error)
        error = reserve(fd, target, asked);
    if (!error && weir__sys_ftruncate(fd, 0) < 0)
        error = errno;
    if (!error)
        error = fill(fd, asked);
    if (weir__sys_close_written(fd) < 0 && !error)
        error = errno;
    return error;
}

int weir__scan_output(const char *path, bool is_private, const struct weir__findings *findings,
                      const struct weir__summary *summary,
                      const struct weir__report_options *options)
{
    struct asked asked = {is_private, findings, summary, options};
    struct target target;
    int error = find_target(&target, path);
    if (!error && !target.is_replaced)
        return print_direct(path, &target, findings, summary, options);
    if (!error) {
        error = replace(&target, false, &asked);
        if (is_nameless_unknown(error))
            error = replace(&target, true, &asked);
        if (target.is_there && is_denied(error))
            error = overwrite(&target, &asked);
    }
    return error ? cannot_write(path, error, findings) : 0;
}
