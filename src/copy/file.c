/* file.c - the content of a regular file: from an open source to a final name.
 *
 * Small files are read in one call and written in one call. A read that would have to wait for the
 * disk is started and the file put off (worker.c). Large files: large.c.
 *
 * System calls for a small file in a new directory, when its data are in memory: open, fstat, read,
 * open, write, fstat, utimens, close, close. The second fstat tells whether the source changed
 * while it was read.
 */
#include <errno.h>
#include <string.h>
#include <sys/file.h>

#include "engine.h"
#include "spill_file.h"
#include "sys.h"
#include "xattr.h"

#include "banned.h"

/* Takes away what was begun, unless it is to be continued. */
static void abandon_target(struct weir__worker *w, struct weir__job *job)
{
    weir__sys_close_at(&job->out);
    bool is_direct = job->temp[0] == '\0' && job->has_target && !job->is_in_place;
    const char *begun = job->temp[0] != '\0' ? job->temp : job->dst_name;
    bool has_begun = job->temp[0] != '\0' || is_direct;
    if (job->is_part) {
        weir__dir_mark_remains(w, job->dir);
    } else if (has_begun && weir__sys_unlinkat(job->dir->dst_fd, begun, 0) < 0 && errno != ENOENT &&
               weir__sys_unlinkat(job->dir->dst_fd, begun, 0) < 0) {
        weir__dir_mark_remains(w, job->dir);
        weir__tell_error(w, job->dir, begun, "cannot remove the unfinished", errno);
    }
    job->temp[0] = '\0';
    job->has_target = job->is_nameless = false;
}

static void give_up(struct weir__worker *w, struct weir__job *job)
{
    abandon_target(w, job);
    weir__entry_end(w, job, false);
}

/* Also of a file that failed: the bytes were moved, and may be gone on with. */
static void count_moved(struct weir__worker *w, const struct weir__job *job)
{
    const struct weir__data_result *moved = &job->moved;
    w->counts.bytes_reflinked += moved->reflinked;
    w->counts.bytes_range += moved->range;
    w->counts.bytes_ring += moved->ring;
    w->counts.bytes_plain += moved->plain;
    w->counts.bytes_written += moved->range + moved->ring + moved->plain;
}

/* A failure of a move; one that was asked for by a stop is not an error. */
void weir__file_fail(struct weir__worker *w, struct weir__job *job, bool is_read_side,
                     int errno_value)
{
    if (errno_value != ECANCELED || !weir__is_stopped(w)) {
        if (is_read_side)
            weir__tell_source_error(w, job->dir, job->name, "cannot read", errno_value);
        else
            weir__tell_error(w, job->dir, job->dst_name, "cannot write", errno_value);
    }
    count_moved(w, job);
    give_up(w, job);
}

/* --- where it is written to --- */

/* The file that is replaced, if it is one: of anything else nothing is kept. */
static const struct stat *old_of(const struct weir__job *job)
{
    return job->has_old && S_ISREG(job->old.st_mode) ? &job->old : NULL;
}

/* The mode to make it with: never more than it will have, and nothing for others while it still
 * belongs to us and not to its owner. */
static mode_t mode_to_make(struct weir__worker *w, const struct weir__job *job)
{
    const struct weir__meta_rules *rules = &w->run->rules;
    if (job->dir->inherits_acl && !rules->perms && !job->has_old)
        return weir__meta_mode_inherited(rules, &job->st) & 0777;
    mode_t mode = weir__meta_mode(rules, &job->st, old_of(job)) & 0777;
    uid_t uid;
    gid_t gid;
    weir__meta_owner(rules, &job->st, &uid, &gid);
    bool is_ours =
        (uid == (uid_t)-1 || uid == w->made_uid) && (gid == (gid_t)-1 || gid == w->made_gid);
    return is_ours ? mode : mode & S_IRWXU;
}

/* Who will own what we make in this directory: ourselves, but for set-group-ID directories and
 * mount options. Found out by looking at the first one. */
static void learn_owner(struct weir__worker *w, const struct weir__job *job)
{
    struct stat st;
    /* What was there before may belong to anybody. */
    if (job->is_in_place || job->is_part)
        return;
    if (w->made_for == job->dir->number || weir__sys_fstat(job->out, &st) < 0)
        return;
    w->made_for = job->dir->number;
    w->made_uid = st.st_uid;
    w->made_gid = st.st_gid;
}

/* A file that was cut off, continued if its beginning is that of the source. */
static int open_part(struct weir__worker *w, struct weir__job *job, mode_t mode)
{
    int dir_fd = job->dir->dst_fd;
    struct stat st;
    weir__name_part(job->dst_name, job->temp);
    if (!weir__name_is_one_folder(job->dir) &&
        weir__sys_fstatat(job->dir->src_fd, job->temp, &st, AT_SYMLINK_NOFOLLOW) == 0)
        return weir__name_make_file(w, dir_fd, mode, job->temp); /* it is the source's */
    int fd = weir__sys_openat(dir_fd, job->temp, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK, mode);
    if (fd < 0)
        return -1;
    if (weir__sys_fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_nlink != 1 ||
        (weir__sys_flock(fd, LOCK_EX | LOCK_NB) < 0 && !weir__name_has_no_locks(errno))) {
        weir__sys_close(fd);
        errno = EBUSY;
        return -1;
    }
    job->is_part = true;
    job->is_blank = st.st_size == 0;
    return fd;
}

/* As rsync does, the owner's right to write is lent for as long as it takes to open the file. */
static int open_own(int dir_fd, const struct weir__job *job)
{
    int flags = O_RDWR | O_NOFOLLOW | O_NONBLOCK;
    mode_t mode = job->old.st_mode & 07777, lent = S_IRUSR | S_IWUSR;
    int fd = weir__sys_openat(dir_fd, job->dst_name, flags, 0);
    if (fd >= 0 || errno != EACCES || (mode & lent) == lent)
        return fd;
    struct weir__meta_place place = {.dir = dir_fd, .name = job->dst_name, .fd = -1};
    bool is_lent = weir__meta_chmod(&place, &job->old, mode | lent) == 0;
    fd = is_lent ? weir__sys_openat(dir_fd, job->dst_name, flags, 0) : -1;
    if (fd >= 0) {
        (void)weir__sys_fchmod(fd, mode); /* else it is set with the rest */
        return fd;
    }
    int saved = is_lent ? errno : EACCES;
    if (is_lent)
        (void)weir__meta_chmod(&place, &job->old, mode);
    errno = saved;
    return -1;
}

/* In place: the file itself, or a new one where it has other names that shall stay as they are. */
static int open_in_place(struct weir__worker *w, struct weir__job *job, mode_t mode)
{
    int dir_fd = job->dir->dst_fd;
    bool is_file = job->has_old && S_ISREG(job->old.st_mode);
    bool is_shared = is_file && job->old.st_nlink > 1 && !w->run->options->keep_dst_links;
    if (is_file && !is_shared) {
        job->is_in_place = true;
        job->is_blank = job->old.st_size == 0;
        return open_own(dir_fd, job);
    }
    if (job->has_old && S_ISDIR(job->old.st_mode) && !weir__entry_make_way(w, job))
        return -1;
    if (job->has_old && !S_ISDIR(job->old.st_mode) &&
        weir__sys_unlinkat(dir_fd, job->dst_name, 0) < 0 && errno != ENOENT)
        return -1;
    return weir__sys_openat(dir_fd, job->dst_name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, mode);
}

static int open_one(struct weir__worker *w, struct weir__job *job)
{
    const struct weir__copy_options *options = w->run->options;
    mode_t mode = mode_to_make(w, job);
    job->made_mode = mode;
    job->is_blank = true;
    if (options->in_place)
        return open_in_place(w, job, mode);
    if (options->partial && (uint64_t)job->st.st_size > WEIR__DATA_SMALL)
        return open_part(w, job, mode);
    if (!job->dir->is_new) {
        int fd = job->has_old ? -1 : weir__name_make_nameless(w, job->dir->dst_fd, mode);
        job->is_nameless = fd >= 0;
        return fd >= 0 ? fd : weir__name_make_file(w, job->dir->dst_fd, mode, job->temp);
    }
    return weir__sys_openat(job->dir->dst_fd, job->dst_name,
                            (options->verify ? O_RDWR : O_WRONLY) | O_CREAT | O_EXCL | O_NOFOLLOW,
                            mode);
}

static bool open_target(struct weir__worker *w, struct weir__job *job)
{
    if (job->out >= 0)
        return true;
    do
        job->out = open_one(w, job);
    while (job->out < 0 && weir__is_overload(errno) && job->tries++ < WEIR__TRIES_MAX &&
           (weir__worker_relieve(w, job, errno), true));
    if (job->out < 0) {
        weir__tell_error(w, job->dir, job->dst_name, "cannot create", errno);
        job->temp[0] = '\0';
        return false;
    }
    job->has_target = !job->is_nameless;
    learn_owner(w, job);
    return true;
}

/* --- the end --- */

static bool is_changed(const struct stat *before, const struct stat *after)
{
    return before->st_size != after->st_size || before->st_mtim.tv_sec != after->st_mtim.tv_sec ||
           before->st_mtim.tv_nsec != after->st_mtim.tv_nsec ||
           before->st_ctim.tv_sec != after->st_ctim.tv_sec ||
           before->st_ctim.tv_nsec != after->st_ctim.tv_nsec;
}

/* Reads both again, the copy from the disk if the kernel lets go of its pages. */
static bool verify(struct weir__worker *w, struct weir__job *job)
{
    unsigned char from[WEIR__DIGEST_SIZE], to[WEIR__DIGEST_SIZE];
    uint64_t from_size, to_size;
    struct weir_deadline deadline = weir__stop_deadline(w);
    if (weir__sys_fdatasync(job->out) < 0) {
        weir__tell_error(w, job->dir, job->dst_name, "cannot sync", errno);
        return false;
    }
    posix_fadvise(job->out, 0, 0, POSIX_FADV_DONTNEED);
    if (weir__mover_digest(&w->mover, job->in, &from_size, from, &deadline) < 0) {
        weir__tell_source_error(w, job->dir, job->name, "cannot read again", errno);
        return false;
    }
    if (weir__mover_digest(&w->mover, job->out, &to_size, to, &deadline) < 0) {
        weir__tell_error(w, job->dir, job->dst_name, "cannot read again", errno);
        return false;
    }
    if (from_size == to_size && memcmp(from, to, sizeof(from)) == 0)
        return true;
    weir__tell_error_detail(w, job->dir, job->dst_name, "cannot verify",
                            "what was read back differs from the source", 0);
    return false;
}

/* What fstat would say of the file that we made, as far as it is known without asking. */
static bool know_made(struct weir__worker *w, struct weir__job *job, struct stat *existing)
{
    if (job->is_in_place || job->is_part || job->dir->inherits_acl)
        return weir__sys_fstat(job->out, existing) == 0;
    memset(existing, 0, sizeof(*existing));
    existing->st_mode = S_IFREG | job->made_mode;
    existing->st_uid = w->made_uid;
    existing->st_gid = w->made_gid;
    existing->st_mtim.tv_nsec = existing->st_atim.tv_nsec = WEIR__META_TIME_UNKNOWN;
    return w->made_for == job->dir->number || weir__sys_fstat(job->out, existing) == 0;
}

/* What was moved and is now a copy. */
static void tell_moved(struct weir__worker *w, const struct weir__job *job)
{
    count_moved(w, job);
    if (weir__tell_is_wanted(w, WEIR__EVENT_METHOD)) {
        struct weir__copy_event event = {.kind = WEIR__EVENT_METHOD,
                                         .type = 'f',
                                         .bytes = (uint64_t)job->st.st_size,
                                         .detail = weir__data_way_name(&job->moved)};
        weir__tell_item(w, job->dir, job->name, &event);
    }
}

/* The source changed while it was read. Once, it is read again from the start. */
static void again(struct weir__worker *w, struct weir__job *job)
{
    job->is_changed_once = true;
    w->counts.changed_retries++;
    abandon_target(w, job);
    weir__sys_close_at(&job->in);
    memset(&job->moved, 0, sizeof(job->moved));
    job->has_st = job->is_short = false;
    weir__file(w, job);
}

/* Without perms nobody else sets the mode; what was made with less, while it was ours, gets the
 * rest now that it is its owner's. */
static bool open_up(struct weir__worker *w, struct weir__job *job)
{
    const struct weir__meta_rules *rules = &w->run->rules;
    if (rules->perms || job->is_in_place || (job->dir->inherits_acl && !job->has_old))
        return true;
    mode_t mode = weir__meta_mode(rules, &job->st, old_of(job));
    if (mode == job->made_mode || weir__sys_fchmod(job->out, mode) == 0)
        return true;
    weir__tell_error(w, job->dir, job->dst_name, "cannot change the mode of", errno);
    return false;
}

/* All bytes are there: everything else, then the name. */
void weir__file_complete(struct weir__worker *w, struct weir__job *job)
{
    struct stat now, existing;
    if (weir__sys_fstat(job->in, &now) < 0) {
        weir__file_fail(w, job, true, errno);
        return;
    }
    bool has_changed = job->is_short || is_changed(&job->st, &now);
    if (has_changed && !job->is_changed_once) {
        again(w, job);
        return;
    }
    if (has_changed)
        weir__tell_source_error(w, job->dir, job->name, "changed while it was read, twice:", 0);
    /* What only grew is whole as far as it was when we began; what shrank is not. */
    if (has_changed && (job->is_short || now.st_size < job->st.st_size)) {
        give_up(w, job);
        return;
    }
    if (w->run->options->verify && !has_changed && !verify(w, job)) {
        give_up(w, job);
        return;
    }
    struct weir__meta_place to = {.fd = job->out, .dir = job->dir->dst_fd, .name = job->dst_name};
    if (!know_made(w, job, &existing)) {
        weir__file_fail(w, job, false, errno);
        return;
    }
    weir__entry_metadata(w, job, &to, &existing);
    if (!open_up(w, job)) {
        give_up(w, job);
        return;
    }
    if (w->run->options->fsync == WEIR__FSYNC_FILE && weir__sys_fsync(job->out) < 0) {
        weir__file_fail(w, job, false, errno);
        return;
    }
    if ((job->is_nameless && !weir__name_link(w, job)) ||
        (job->temp[0] != '\0' && !weir__entry_install(w, job))) {
        give_up(w, job);
        return;
    }
    tell_moved(w, job);
    weir__entry_made(w, job, '>', NULL);
    weir__entry_end(w, job, true);
}

/* --- small files --- */

/* Reads what is there; a short read that is not the end is continued. */
static ssize_t read_all(int fd, char *bytes, size_t count)
{
    size_t done = 0;
    while (done < count) {
        ssize_t n = weir__sys_pread(fd, bytes + done, count - done, (off_t)done);
        if (n < 0)
            return -1;
        if (n == 0)
            break;
        done += (size_t)n;
    }
    return (ssize_t)done;
}

static bool write_all(struct weir__worker *w, struct weir__job *job, const char *bytes,
                      size_t count)
{
    for (size_t done = 0; done < count;) {
        ssize_t n = weir__sys_pwrite(job->out, bytes + done, count - done, (off_t)done);
        if (n <= 0) {
            weir__file_fail(w, job, false, n < 0 ? errno : EIO);
            return false;
        }
        done += (size_t)n;
    }
    return true;
}

/* The whole content is in memory: in the thread's buffer, or in one that is this file's own. */
static void write_small(struct weir__worker *w, struct weir__job *job, const char *bytes,
                        size_t count)
{
    char *shared = weir__mover_buffer(&w->mover);
    struct weir_deadline deadline = weir__stop_deadline(w);
    if (weir__mover_pace(&w->mover, count, &deadline) < 0) {
        weir__file_fail(w, job, false, ECANCELED);
        return;
    }
    unsigned tries = job->tries;
    if (!open_target(w, job)) {
        give_up(w, job);
        return;
    }
    if (job->tries != tries && bytes == shared) {
        /* What was put off has been completed meanwhile, in the same buffer. */
        ssize_t n = read_all(job->in, shared, (size_t)job->st.st_size);
        if (n < 0) {
            weir__file_fail(w, job, true, errno);
            return;
        }
        count = (size_t)n;
    }
    if (!write_all(w, job, bytes, count))
        return;
    if ((job->is_in_place || job->is_part) && weir__sys_ftruncate(job->out, (off_t)count) < 0) {
        weir__file_fail(w, job, false, errno);
        return;
    }
    /* Fewer bytes than the size says, with nothing changed: files of the kernel are like that. */
    if (bytes == shared)
        job->moved.plain += count;
    else
        job->moved.ring += count;
    weir__file_complete(w, job);
}

/* A file of size 0 that has content, as in /proc: read until it ends. */
static void move_unsized(struct weir__worker *w, struct weir__job *job)
{
    char *bytes = weir__mover_buffer(&w->mover);
    uint64_t at = 0;
    ssize_t n;
    if (!open_target(w, job)) {
        give_up(w, job);
        return;
    }
    for (n = weir__sys_pread(job->in, bytes, WEIR__DATA_SMALL, 0); n > 0;
         n = weir__sys_pread(job->in, bytes, WEIR__DATA_SMALL, (off_t)at)) {
        if (weir__is_stopped(w) || weir__spill_file_write(job->out, bytes, (size_t)n, at) < 0) {
            weir__file_fail(w, job, false, weir__is_stopped(w) ? ECANCELED : errno);
            return;
        }
        at += (uint64_t)n;
    }
    if (n < 0) {
        weir__file_fail(w, job, true, errno);
        return;
    }
    job->moved.plain += at;
    weir__file_complete(w, job);
}

static void read_small(struct weir__worker *w, struct weir__job *job, bool may_put_off)
{
    char *bytes = weir__mover_buffer(&w->mover);
    size_t size = (size_t)job->st.st_size;
    ssize_t n = 0;
    if (size == 0 && (n = weir__sys_pread(job->in, bytes, 1, 0)) > 0) {
        move_unsized(w, job);
        return;
    }
    if (size > 0 && may_put_off && !w->no_now) {
        if (weir__ahead_take(w, job))
            return;
        n = weir__sys_pread_now(job->in, bytes, size, 0);
        if (n < 0 && errno == EOPNOTSUPP)
            w->no_now = true;
        weir__ahead_learn(w, n < 0 && errno == EAGAIN);
        if (n < 0 && errno == EAGAIN) {
            posix_fadvise(job->in, 0, (off_t)size, POSIX_FADV_WILLNEED);
            if (weir__worker_put_off(w, job))
                return;
        }
    }
    if (n < (ssize_t)size)
        n = read_all(job->in, bytes, size);
    if (n < 0)
        weir__file_fail(w, job, true, errno);
    else
        write_small(w, job, bytes, (size_t)n);
}

void weir__file_late(struct weir__worker *w, struct weir__job *job)
{
    weir__file_arrived(w, job, NULL);
}

void weir__file_arrived(struct weir__worker *w, struct weir__job *job, const char *bytes)
{
    if (weir__dir_pin(w, job->dir) < 0) {
        weir__tell_error(w, job->dir, job->dst_name, "cannot open the directory of", errno);
        weir__entry_end(w, job, false);
        return;
    }
    /* The directory must outlive the job, which may be the last thing in it. */
    struct weir__dir *dir = job->dir;
    weir__tree_hold(w->tree, &dir->node);
    if (weir__is_stopped(w))
        give_up(w, job); /* its target may have been made to try a reflink */
    else if (bytes)
        write_small(w, job, bytes, (size_t)job->st.st_size);
    else
        read_small(w, job, false);
    weir__dir_unpin(w, dir);
    weir__dir_drop(w, dir);
}

/* --- the beginning --- */

static bool may_reflink(const struct weir__worker *w, const struct weir__job *job)
{
    const struct weir__copy_options *options = w->run->options;
    /* Shared blocks have the holes that the source has, neither more nor fewer. */
    if (options->reflink == WEIR__REFLINK_AUTO && options->sparse != WEIR__SPARSE_KEEP)
        return false;
    return options->reflink != WEIR__REFLINK_NEVER && job->st.st_size > 0 &&
           !(w->has_no_reflink && w->no_reflink_from == job->st.st_dev &&
             w->no_reflink_to == job->dir->dst_device);
}

/* True: the job has ended, one way or the other. */
static bool reflink(struct weir__worker *w, struct weir__job *job)
{
    if (!may_reflink(w, job))
        return false;
    if (!open_target(w, job)) {
        give_up(w, job);
        return true;
    }
    if (weir__mover_reflink(&w->mover, job->in, job->out) == 0) {
        job->moved.reflinked = (uint64_t)job->st.st_size;
        weir__large_end(w, job);
        return true;
    }
    if (w->run->options->reflink == WEIR__REFLINK_ALWAYS) {
        weir__tell_error(w, job->dir, job->dst_name, "cannot reflink", errno);
        give_up(w, job);
        return true;
    }
    w->has_no_reflink = true;
    w->no_reflink_from = job->st.st_dev;
    w->no_reflink_to = job->dir->dst_device;
    return false;
}

/* Admits the bytes, so that a large file counts for more than a small one. */
static bool admit_bytes(struct weir__worker *w, struct weir__job *job)
{
    struct weir__copy *run = w->run;
    uint64_t size = (uint64_t)job->st.st_size, most = weir_budget_capacity(&run->bytes);
    uint64_t units = size < 1 ? 1 : size < most ? size : most;
    if (weir_permit_is_held(&job->bytes))
        return true;
    if (size >= WEIR__COPY_LARGE_SIZE && !weir_permit_is_held(&job->large) &&
        weir__worker_admit(w, &run->large, 1, &job->large) < 0)
        return false;
    return weir__worker_admit(w, &run->bytes, units, &job->bytes) == 0;
}

static bool open_source(struct weir__worker *w, struct weir__job *job)
{
    if (job->in >= 0)
        return true;
    do
        job->in = weir__dir_open_source(w, job->dir->src_fd, job->name,
                                        O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
    while (job->in < 0 && weir__is_overload(errno) && job->tries++ < WEIR__TRIES_MAX &&
           (weir__worker_relieve(w, job, errno), true));
    if (job->in >= 0 && weir__sys_fstat(job->in, &job->st) == 0) {
        if (S_ISREG(job->st.st_mode)) {
            job->has_st = true;
            return true;
        }
        errno = ESTALE;
    }
    weir__tell_source_error(w, job->dir, job->name, "cannot open", errno);
    return false;
}

/* Fewer blocks than bytes; but a block of attributes counts as one of the file's, and hides a hole.
 */
static bool is_sparse(struct weir__worker *w, const struct weir__job *job)
{
    uint64_t size = (uint64_t)job->st.st_size, blocks = (uint64_t)job->st.st_blocks * 512;
    /* Files of the kernel have no blocks either, and data. */
    if (blocks == 0)
        return size > 0 && weir__sys_lseek(job->in, 0, SEEK_DATA) < 0 && errno == ENXIO;
    if (size <= 4096 || blocks >= size + 4096)
        return false;
    if (blocks < size)
        return true;
    return (w->run->rules.xattrs || w->run->rules.acls) &&
           weir__sys_lseek(job->in, 0, SEEK_HOLE) < job->st.st_size;
}

void weir__file(struct weir__worker *w, struct weir__job *job)
{
    if (w->run->options->dry_run) {
        weir__entry_made(w, job, '>', NULL);
        weir__entry_end(w, job, true);
        return;
    }
    if (!open_source(w, job) || !admit_bytes(w, job)) {
        weir__entry_end(w, job, false);
        return;
    }
    if (reflink(w, job))
        return;
    uint64_t size = (uint64_t)job->st.st_size;
    enum weir__sparse sparse = w->run->options->sparse;
    if (size <= WEIR__DATA_SMALL && sparse != WEIR__SPARSE_MAKE &&
        !(sparse == WEIR__SPARSE_KEEP && is_sparse(w, job))) {
        /* One that was put off and has changed meanwhile is waited for. */
        read_small(w, job, !job->is_changed_once);
        return;
    }
    if (open_target(w, job))
        weir__large(w, job);
    else
        give_up(w, job);
}
