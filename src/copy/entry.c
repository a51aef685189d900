/* entry.c - anything but a directory: what it is, whether it has to be copied, and its end.
 *
 * A job is made on the thread's own memory and mostly begins and ends in one call. Those that
 * outlive it (put off, waiting for a link, moved by several threads) are kept on the heap and hold
 * a reference of their directory.
 */
#include <dirent.h>
#include <errno.h>
#include <string.h>

#include "alloc.h"
#include "engine.h"
#include "remove.h"
#include "sys.h"

#include "banned.h"

/* FAT keeps every other second. */
#define COARSE_S 2

/* What getdents writes for "." and "..", which is all that an empty directory has. */
#define EMPTY_SIZE 48

void weir__entry_init(struct weir__job *job, struct weir__dir *dir, const char *name,
                      const char *dst_name, unsigned char type)
{
    /* The names come last and are long: they need no clearing. */
    memset(job, 0, offsetof(struct weir__job, temp));
    job->temp[0] = '\0';
    job->dir = dir;
    job->in = job->out = -1;
    job->type = type;
    size_t length = strlen(name), dst_length = strlen(dst_name);
    memcpy(job->name, name, (length < NAME_MAX ? length : NAME_MAX) + 1);
    memcpy(job->dst_name, dst_name, (dst_length < NAME_MAX ? dst_length : NAME_MAX) + 1);
}

struct weir__job *weir__entry_keep(struct weir__worker *w, struct weir__job *job)
{
    if (job->is_kept)
        return job;
    struct weir__job *kept = weir__base_alloc(1, sizeof(*kept));
    if (!kept)
        return NULL;
    memcpy(kept, job, sizeof(*kept));
    memset(&kept->files, 0, sizeof(kept->files));
    memset(&kept->bytes, 0, sizeof(kept->bytes));
    memset(&kept->large, 0, sizeof(kept->large));
    weir_permit_move(&kept->files, &job->files);
    weir_permit_move(&kept->bytes, &job->bytes);
    weir_permit_move(&kept->large, &job->large);
    kept->is_kept = true;
    weir__tree_hold(w->tree, &kept->dir->node);
    return kept;
}

void weir__entry_end(struct weir__worker *w, struct weir__job *job, bool is_made)
{
    weir__sys_close_at(&job->in);
    weir__sys_close_at(&job->out);
    weir_permit_release(&job->large);
    weir_permit_release(&job->bytes);
    /* Those who wait for the link are answered while this entry is still in flight. */
    if (job->is_first_link)
        weir__linked_end(w, job, is_made);
    weir_permit_release(&job->files);
    weir__tell_counts_soon(w);
    if (job->is_kept) {
        struct weir__dir *dir = job->dir;
        weir__base_free(job);
        weir__dir_drop(w, dir);
    }
}

/* --- what is at the destination --- */

static bool look_up(struct weir__worker *w, struct weir__job *job)
{
    if (job->is_looked_up || job->dir->is_new || job->dir->dst_fd < 0)
        return true;
    job->is_looked_up = true;
    if (weir__sys_fstatat(job->dir->dst_fd, job->dst_name, &job->old, AT_SYMLINK_NOFOLLOW) == 0) {
        job->has_old = true;
        return true;
    }
    if (errno == ENOENT)
        return true;
    weir__tell_error(w, job->dir, job->dst_name, "cannot look at", errno);
    return false;
}

static bool is_time_same(const struct weir__copy_options *options, struct timespec a,
                         struct timespec b)
{
    if (a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec)
        return true;
    if (options->modify_window_ns == 0)
        return false;
    /* Differences beyond a window of any sense do not fit into 64 bits of nanoseconds. */
    int64_t seconds;
    if (__builtin_sub_overflow(a.tv_sec, b.tv_sec, &seconds) || seconds > 1000000 ||
        seconds < -1000000)
        return false;
    int64_t ns = seconds * 1000000000 + (a.tv_nsec - b.tv_nsec);
    return (uint64_t)(ns < 0 ? -ns : ns) <= options->modify_window_ns;
}

static bool is_newer(struct timespec a, struct timespec b)
{
    return a.tv_sec > b.tv_sec || (a.tv_sec == b.tv_sec && a.tv_nsec > b.tv_nsec);
}

static bool digest_at(struct weir__worker *w, int dir_fd, const char *name,
                      unsigned char digest[WEIR__DIGEST_SIZE])
{
    uint64_t size;
    int fd = weir__sys_openat(dir_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0);
    struct weir_deadline deadline = weir__stop_deadline(w);
    int result = fd < 0 ? -1 : weir__mover_digest(&w->mover, fd, &size, digest, &deadline);
    weir__sys_close(fd);
    return result == 0;
}

/* Of what a dead run has left, the time says whether it is whole, since it was set last. But while
 * a file is written its time is that of the clock, and a source that is as young has the same: so
 * only a time that was surely set counts, one that is away from that of the last change by more
 * than the coarsest file system rounds. */
static bool is_finished(const struct weir__job *job)
{
    int64_t apart = (int64_t)job->old.st_ctim.tv_sec - (int64_t)job->old.st_mtim.tv_sec;
    return job->old.st_mtim.tv_sec == job->st.st_mtim.tv_sec &&
           job->old.st_mtim.tv_nsec == job->st.st_mtim.tv_nsec &&
           (apart > COARSE_S || apart < -COARSE_S);
}

/* Whether the content at the destination is that of the source. False also when it cannot be read:
 * copying it will tell why. */
static bool is_content_same(struct weir__worker *w, const struct weir__job *job)
{
    const struct weir__copy_options *options = w->run->options;
    if (!job->has_old || !S_ISREG(job->old.st_mode) || job->old.st_size != job->st.st_size)
        return false;
    if (options->checksum) {
        unsigned char from[WEIR__DIGEST_SIZE], to[WEIR__DIGEST_SIZE];
        return digest_at(w, job->dir->src_fd, job->name, from) &&
               digest_at(w, job->dir->dst_fd, job->dst_name, to) &&
               memcmp(from, to, sizeof(from)) == 0;
    }
    if (job->dir->is_continued)
        return w->run->rules.times && is_finished(job);
    if (options->size_only)
        return true;
    return !options->ignore_times && is_time_same(options, job->st.st_mtim, job->old.st_mtim);
}

/* --- telling --- */

static void count_settled(struct weir__worker *w, const struct weir__job *job)
{
    if (S_ISREG(job->st.st_mode))
        w->counts.bytes_done += (uint64_t)job->st.st_size - job->big.counted;
}

void weir__entry_made(struct weir__worker *w, struct weir__job *job, char update,
                      const char *target)
{
    if (job->has_old)
        w->counts.updated++;
    else
        w->counts.created++;
    count_settled(w, job);
    struct weir__copy_event event = {
        .kind = WEIR__EVENT_ITEM,
        .update = update,
        .type = weir__tell_type(job->st.st_mode),
        .is_new = !job->has_old || (job->old.st_mode & S_IFMT) != (job->st.st_mode & S_IFMT),
        .changes = job->changes,
        .bytes = (uint64_t)(update == '>' ? job->st.st_size : 0),
        .target = target,
    };
    weir__tell_item(w, job->dir, job->name, &event);
}

static void tell_skipped(struct weir__worker *w, struct weir__job *job, const char *why)
{
    count_settled(w, job);
    weir__tell_skipped(w, job->dir, job->name, why);
    weir__entry_end(w, job, false);
}

/* --- metadata --- */

bool weir__entry_metadata(struct weir__worker *w, struct weir__job *job,
                          const struct weir__meta_place *to, const struct stat *existing)
{
    struct weir__meta_place from = {.fd = job->in, .dir = job->dir->src_fd, .name = job->name};
    struct weir__meta_failure failure;
    if (weir__meta_apply(&w->run->rules, &from, &job->st, to, existing, &w->scratch, &failure) >= 0)
        return true;
    weir__tell_error_detail(w, job->dir, job->dst_name, failure.what, failure.attribute,
                            failure.errno_value);
    return false;
}

/* The content agrees; the rest is brought to agree. */
static void settle(struct weir__worker *w, struct weir__job *job)
{
    const struct weir__copy *run = w->run;
    struct weir__meta_place from = {.fd = -1, .dir = job->dir->src_fd, .name = job->name};
    struct weir__meta_place to = {.fd = -1, .dir = job->dir->dst_fd, .name = job->dst_name};
    bool only_look = run->options->dry_run;
    struct weir__meta_failure failure = {.what = "cannot compare the metadata of"};
    int changes =
        only_look
            ? weir__meta_differs(&run->rules, &from, &job->st, &to, &job->old, &w->scratch)
            : weir__meta_apply(&run->rules, &from, &job->st, &to, &job->old, &w->scratch, &failure);
    if (changes < 0) {
        weir__tell_error_detail(w, job->dir, job->dst_name, failure.what, failure.attribute,
                                only_look ? errno : failure.errno_value);
        weir__entry_end(w, job, true);
        return;
    }
    if (changes > 0)
        w->counts.metadata_only++;
    else
        w->counts.unchanged++;
    count_settled(w, job);
    struct weir__copy_event event = {
        .kind = changes > 0 ? WEIR__EVENT_ITEM : WEIR__EVENT_SAME,
        .update = '.',
        .type = weir__tell_type(job->st.st_mode),
        .changes = (unsigned)changes,
    };
    weir__tell_item(w, job->dir, job->name, &event);
    weir__entry_end(w, job, true);
}

void weir__entry_find_changes(struct weir__worker *w, struct weir__job *job)
{
    if (!job->has_old || !weir__tell_is_wanted(w, WEIR__EVENT_ITEM))
        return;
    struct weir__meta_place from = {.fd = -1, .dir = job->dir->src_fd, .name = job->name};
    struct weir__meta_place to = {.fd = -1, .dir = job->dir->dst_fd, .name = job->dst_name};
    int changes = 0;
    if ((job->old.st_mode & S_IFMT) == (job->st.st_mode & S_IFMT))
        changes = weir__meta_differs(&w->run->rules, &from, &job->st, &to, &job->old, &w->scratch);
    job->changes = changes > 0 ? (unsigned)changes : 0;
    if (!S_ISREG(job->st.st_mode))
        return;
    if (job->old.st_size != job->st.st_size)
        job->changes |= WEIR__CHANGE_SIZE;
    if (w->run->options->checksum)
        job->changes |= WEIR__CHANGE_CONTENT;
    if (!w->run->rules.times)
        job->changes |= WEIR__CHANGE_TIME_NOW;
}

/* --- names --- */

/* Nothing is deleted when the source could not be read completely. */
static bool is_deletion_held(struct weir__copy *run)
{
    weir_lock_acquire(&run->counts_lock);
    bool is_held = run->has_source_errors && !run->options->delete_despite_errors;
    weir_lock_release(&run->counts_lock);
    return is_held;
}

/* A directory stands where something else shall be: it goes if it is empty, or with --delete. */
bool weir__entry_make_way(struct weir__worker *w, struct weir__job *job)
{
    int dir_fd = job->dir->dst_fd;
    if (weir__sys_unlinkat(dir_fd, job->dst_name, AT_REMOVEDIR) == 0)
        return true;
    if (job->dir->is_continued) {
        /* Left by a dead run, and not the user's. */
        struct weir__remove_options options = {.cancel = w->stop};
        return weir__remove_tree(dir_fd, job->dst_name, &options, NULL) == 0;
    }
    if ((errno != ENOTEMPTY && errno != EEXIST) ||
        w->run->options->delete_when == WEIR__DELETE_NEVER || is_deletion_held(w->run))
        return false;
    if (weir__erase(w, job->dir, job->dst_name))
        return true;
    errno = ENOTEMPTY;
    return false;
}

bool weir__entry_install(struct weir__worker *w, struct weir__job *job)
{
    int dir_fd = job->dir->dst_fd;
    int result = weir__sys_renameat2(dir_fd, job->temp, dir_fd, job->dst_name, 0);
    if (result < 0 && (errno == EISDIR || errno == ENOTEMPTY || errno == EEXIST) &&
        weir__entry_make_way(w, job))
        result = weir__sys_renameat2(dir_fd, job->temp, dir_fd, job->dst_name, 0);
    if (result == 0) {
        job->temp[0] = '\0';
        return true;
    }
    weir__tell_error(w, job->dir, job->dst_name,
                     errno == ENOTEMPTY || errno == EISDIR ? "cannot replace the directory"
                                                           : "cannot give its final name to",
                     errno);
    return false;
}

/* --- what is to be done --- */

/* Rules that leave an entry alone, whatever it holds; NULL: none does. */
static const char *reason_to_skip(const struct weir__worker *w, const struct weir__job *job)
{
    const struct weir__copy_options *options = w->run->options;
    /* What a dead run has left is ours to finish: it is not what the user had. */
    if (job->dir->is_continued)
        return NULL;
    if (options->existing && !job->has_old)
        return "not at the destination";
    if (options->ignore_existing && job->has_old)
        return "exists at the destination";
    if (options->update && job->has_old && S_ISREG(job->st.st_mode) && S_ISREG(job->old.st_mode) &&
        is_newer(job->old.st_mtim, job->st.st_mtim))
        return "newer at the destination";
    return NULL;
}

bool weir__entry_skip(struct weir__worker *w, struct weir__job *job)
{
    const char *why = reason_to_skip(w, job);
    if (why)
        tell_skipped(w, job, why);
    return why != NULL;
}

/* Put where its own target is, a symlink would lead to itself, and what it led to be gone. */
static bool is_link_to_old(const struct weir__job *job)
{
    struct stat target;
    return job->has_old && S_ISLNK(job->st.st_mode) &&
           weir__sys_fstatat(job->dir->src_fd, job->name, &target, 0) == 0 &&
           target.st_dev == job->old.st_dev && target.st_ino == job->old.st_ino;
}

/* A name of the source's own inode, as in a tree made by cp -al, is up to date by nature. Of a file
 * that the user names, onto itself, it is a mistake. */
static bool is_itself(struct weir__worker *w, struct weir__job *job)
{
    bool is_named = job->dir->kind == WEIR__DIR_OPERAND;
    bool is_same =
        job->has_old && job->old.st_dev == job->st.st_dev && job->old.st_ino == job->st.st_ino;
    if (!is_same && !(is_named && is_link_to_old(job)))
        return false;
    if (is_named) {
        weir__tell_error_detail(w, job->dir, job->dst_name, "cannot copy",
                                "source and destination are the same file", 0);
    } else {
        struct weir__copy_event event = {
            .kind = WEIR__EVENT_SAME, .update = '.', .type = weir__tell_type(job->st.st_mode)};
        w->counts.unchanged++;
        count_settled(w, job);
        weir__tell_item(w, job->dir, job->name, &event);
    }
    weir__entry_end(w, job, !is_named);
    return true;
}

/* A dry run finds out what would be in the way. */
static bool would_fail(struct weir__worker *w, struct weir__job *job)
{
    char names[1024];
    const struct weir__copy_options *options = w->run->options;
    if (!options->dry_run || !job->has_old || !S_ISDIR(job->old.st_mode))
        return false;
    if (options->delete_when != WEIR__DELETE_NEVER && weir__erase(w, job->dir, job->dst_name))
        return false;
    int fd =
        weir__sys_openat(job->dir->dst_fd, job->dst_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
    ssize_t size = fd < 0 ? 0 : weir__sys_getdents(fd, names, sizeof(names));
    weir__sys_close(fd);
    if (fd >= 0 && size <= EMPTY_SIZE)
        return false;
    weir__tell_error(w, job->dir, job->dst_name, "cannot replace the directory",
                     fd < 0 ? errno : ENOTEMPTY);
    weir__entry_end(w, job, false);
    return true;
}

void weir__entry_known(struct weir__worker *w, struct weir__job *job)
{
    if (!look_up(w, job)) {
        weir__entry_end(w, job, false);
        return;
    }
    if (weir__entry_skip(w, job) || is_itself(w, job) || would_fail(w, job))
        return;
    if (S_ISREG(job->st.st_mode)) {
        if (is_content_same(w, job)) {
            settle(w, job);
            return;
        }
        weir__entry_find_changes(w, job);
        weir__file(w, job);
        return;
    }
    weir__entry_find_changes(w, job);
    weir__special(w, job);
}

/* Kinds that the user does not want, and sizes. */
static const char *reason_to_leave(const struct weir__worker *w, const struct weir__job *job)
{
    const struct weir__copy_options *options = w->run->options;
    switch (job->st.st_mode & S_IFMT) {
    case S_IFREG:
        if ((uint64_t)job->st.st_size > options->size_max)
            return "larger than --max-size";
        return (uint64_t)job->st.st_size < options->size_min ? "smaller than --min-size" : NULL;
    case S_IFLNK:
        return options->links ? NULL : "a symbolic link";
    case S_IFBLK:
    case S_IFCHR:
        return options->devices ? NULL : "a device";
    default:
        return options->specials ? NULL : "a special file";
    }
}

static void count_seen(struct weir__worker *w, const struct weir__job *job)
{
    switch (job->st.st_mode & S_IFMT) {
    case S_IFREG:
        w->counts.files++;
        w->counts.bytes_total += (uint64_t)job->st.st_size;
        break;
    case S_IFLNK:
        w->counts.symlinks++;
        break;
    case S_IFBLK:
    case S_IFCHR:
        w->counts.devices++;
        break;
    default:
        w->counts.specials++;
    }
}

/* It became a directory after it was listed: entered like one. */
static void turn_into_dir(struct weir__worker *w, struct weir__job *job)
{
    struct weir__segment *segment =
        weir__segment_new(WEIR__SEGMENT_DIRS, &job->dir->node, strlen(job->name) + 3);
    if (!segment || !weir__segment_add(segment, DT_DIR, job->name, strlen(job->name)) ||
        weir__tree_push(w->tree, segment) < 0) {
        weir__segment_free(segment);
        weir__tell_source_error(w, job->dir, job->name, "cannot enter", ENOMEM);
    }
    weir__entry_end(w, job, false);
}

/* Opens a regular file, or looks at the entry. Where there is nothing to compare with, opening at
 * once saves a call. */
static bool look(struct weir__worker *w, struct weir__job *job)
{
    if (job->has_st)
        return true;
    int result = 0;
    if (job->type == DT_REG && !look_up(w, job))
        return false;
    if (job->type == DT_REG && !job->has_old && !w->run->options->dry_run) {
        do
            job->in = weir__dir_open_source(w, job->dir->src_fd, job->name,
                                            O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
        while (job->in < 0 && weir__is_overload(errno) && job->tries++ < WEIR__TRIES_MAX &&
               (weir__worker_relieve(w, job, errno), true));
        if (job->in >= 0)
            result = weir__sys_fstat(job->in, &job->st);
        else if (errno != ELOOP && errno != ENXIO)
            result = -1;
    }
    if (result == 0 && job->in < 0)
        result = weir__sys_fstatat(job->dir->src_fd, job->name, &job->st, AT_SYMLINK_NOFOLLOW);
    if (result < 0) {
        weir__tell_source_error(w, job->dir, job->name,
                                errno == ENOENT ? "cannot find" : "cannot open", errno);
        return false;
    }
    job->has_st = true;
    if (job->in >= 0 && !S_ISREG(job->st.st_mode))
        weir__sys_close_at(&job->in);
    return true;
}

void weir__entry_job(struct weir__worker *w, struct weir__job *job)
{
    if (!look(w, job)) {
        weir__entry_end(w, job, false);
        return;
    }
    if (S_ISDIR(job->st.st_mode)) {
        turn_into_dir(w, job);
        return;
    }
    struct stat earlier;
    if (w->run->has_overlap && weir__source_has(w, job->dir, job->name, true, &earlier)) {
        weir__tell_skipped(w, job->dir, job->name, "an earlier source has it");
        weir__entry_end(w, job, false);
        return;
    }
    count_seen(w, job);
    const char *why = reason_to_leave(w, job);
    if (why) {
        tell_skipped(w, job, why);
        return;
    }
    if (w->run->links && job->st.st_nlink > 1 && weir__linked(w, job))
        return;
    weir__entry_known(w, job);
}

void weir__entry(struct weir__worker *w, struct weir__dir *dir, const char *name,
                 unsigned char type)
{
    struct weir__job *job = &w->job;
    const struct weir__copy *run = w->run;
    bool is_renamed = run->is_dst_file && dir->kind == WEIR__DIR_OPERAND;
    weir__entry_init(job, dir, name, is_renamed ? run->base_name : name, type);
    if (weir__worker_admit(w, &w->run->files, 1, &job->files) < 0)
        return; /* stopped */
    job->epoch = weir_adapt_epoch(&w->run->adapt);
    uint64_t in_flight = weir_budget_capacity(&run->files) - weir_budget_available(&run->files);
    if (in_flight > w->counts.in_flight_max)
        w->counts.in_flight_max = in_flight;
    weir__entry_job(w, job);
}
