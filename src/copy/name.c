/* name.c - the names of what is not finished yet, and what they tell.
 *
 *   .weir-tmp.RUN.NUMBER    a file that is being written, beside its final name
 *   .weir-dir.NAME.BOOT     a folder that is being built, beside its final name (and when the
 *                           source has that very name: the next number)
 *   .weir-part.NAME         a large file that was cut off, kept with --partial
 *
 * RUN and NUMBER are 16 digits each and make the name unique; NAME is a hash of the final name, so
 * that the next run finds what this one has left; BOOT stands for the boot of the machine, since
 * what was in memory when the power went is not to be trusted.
 *
 * Whoever makes one holds a lock (flock) on it. The kernel drops it when the process dies, however
 * that happens, so what is not locked belongs to nobody and may be removed or continued. Between
 * making and locking there is a moment; so the maker looks after locking whether the name is still
 * there, and makes another one if it is not.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>

#include "engine.h"
#include "remove.h"
#include "sys.h"

#include "banned.h"

#define FILE_PREFIX ".weir-tmp."
#define DIR_PREFIX  ".weir-dir."
#define PART_PREFIX ".weir-part."
#define MARKER      "ffffffffffffffff" /* the number of a file that only shows that a run is here */

/* How often a name is tried again that somebody else took for a leftover. */
#define MAKE_TRIES 16

/* On the stack, since a sweep may come while the thread's own window is in use. */
#define SWEEP_WINDOW 16384

static uint64_t hash_of(const char *text)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325); /* FNV-1a */
    for (; *text; text++)
        hash = (hash ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
    return hash;
}

/* Lower-case hexadecimal digits, exactly so many. */
static bool is_hex(const char *text, size_t count)
{
    return strspn(text, "0123456789abcdef") >= count;
}

enum weir__leftover weir__name_kind(const char *name)
{
    if (name[0] != '.' || name[1] != 'w')
        return WEIR__NOT_OURS;
    size_t length = strlen(name);
    if (length == strlen(FILE_PREFIX) + 33 && strncmp(name, FILE_PREFIX, 10) == 0 &&
        is_hex(name + 10, 16) && name[26] == '.' && is_hex(name + 27, 16))
        return WEIR__TEMP_FILE;
    if (length == strlen(DIR_PREFIX) + 25 && strncmp(name, DIR_PREFIX, 10) == 0 &&
        is_hex(name + 10, 16) && name[26] == '.' && is_hex(name + 27, 8))
        return WEIR__TEMP_DIR;
    if (length == strlen(PART_PREFIX) + 16 && strncmp(name, PART_PREFIX, 11) == 0 &&
        is_hex(name + 11, 16))
        return WEIR__TEMP_PART;
    return WEIR__NOT_OURS;
}

void weir__name_file(struct weir__worker *w, char text[WEIR__TEMP_SIZE])
{
    snprintf(text, WEIR__TEMP_SIZE, FILE_PREFIX "%016llx.%016llx", (unsigned long long)w->run->id,
             (unsigned long long)w->temp_next++);
}

void weir__name_dir(const struct weir__copy *run, const char *name, unsigned salt,
                    char text[WEIR__TEMP_SIZE])
{
    snprintf(text, WEIR__TEMP_SIZE, DIR_PREFIX "%016llx.%08x",
             (unsigned long long)(hash_of(name) + salt), run->boot);
}

void weir__name_part(const char *name, char text[WEIR__TEMP_SIZE])
{
    snprintf(text, WEIR__TEMP_SIZE, PART_PREFIX "%016llx", (unsigned long long)hash_of(name));
}

bool weir__name_is_of_this_boot(const struct weir__copy *run, const char *name)
{
    char boot[16];
    snprintf(boot, sizeof(boot), ".%08x", run->boot);
    return strcmp(name + 26, boot) == 0;
}

uint32_t weir__name_boot(void)
{
    char text[64] = "";
    int fd = weir__sys_openat(AT_FDCWD, "/proc/sys/kernel/random/boot_id", O_RDONLY, 0);
    if (fd >= 0 && weir__sys_read(fd, text, sizeof(text) - 1) < 0)
        text[0] = '\0';
    weir__sys_close(fd);
    return (uint32_t)hash_of(text);
}

/* A file system without locks: what is left there cannot be told from what is alive, and stays. */
bool weir__name_has_no_locks(int errno_value)
{
    return errno_value == ENOLCK || errno_value == EOPNOTSUPP || errno_value == ENOSYS;
}

int weir__name_make_file(struct weir__worker *w, int dir_fd, mode_t mode,
                         char text[WEIR__TEMP_SIZE])
{
    for (int i = 0; i < MAKE_TRIES; i++) {
        weir__name_file(w, text);
        int fd = weir__sys_openat(dir_fd, text, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, mode);
        if (fd < 0 && errno == EEXIST)
            continue;
        if (fd < 0)
            break;
        struct stat st;
        errno = 0;
        if ((weir__sys_flock(fd, LOCK_EX | LOCK_NB) == 0 || weir__name_has_no_locks(errno)) &&
            weir__sys_fstat(fd, &st) == 0 && st.st_nlink == 1)
            return fd;
        int saved = errno;
        weir__sys_unlinkat(dir_fd, text, 0);
        weir__sys_close(fd);
        if (saved == EIO) {
            errno = saved;
            break;
        }
        errno = EAGAIN;
    }
    text[0] = '\0';
    return -1;
}

/* A new file needs no name before it has its own, where the file system can make one without. That
 * is faster than a name that is locked and renamed (24 against 30 us on ext4), and leaves nothing
 * behind. It cannot replace anything. */
int weir__name_make_nameless(struct weir__worker *w, int dir_fd, mode_t mode)
{
    if (w->no_nameless)
        return -1;
    int fd = weir__sys_openat(dir_fd, ".", O_TMPFILE | O_RDWR, mode);
    w->no_nameless = fd < 0 && (errno == EOPNOTSUPP || errno == EISDIR || errno == EINVAL);
    return fd;
}

/* By the descriptor, which takes a capability in older kernels, or by way of /proc. */
static int link_as(struct weir__worker *w, int fd, int dir_fd, const char *name)
{
    if (!w->no_empty_path) {
        if (weir__sys_linkat(fd, "", dir_fd, name, AT_EMPTY_PATH) == 0)
            return 0;
        w->no_empty_path = errno == ENOENT || errno == EPERM || errno == EINVAL;
        if (!w->no_empty_path)
            return -1;
    }
    char path[64];
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    return weir__sys_linkat(AT_FDCWD, path, dir_fd, name, AT_SYMLINK_FOLLOW);
}

bool weir__name_link(struct weir__worker *w, struct weir__job *job)
{
    int dir_fd = job->dir->dst_fd;
    errno = 0;
    int result = link_as(w, job->out, dir_fd, job->dst_name);
    if (result < 0 && errno == EEXIST) {
        /* Somebody made it meanwhile: replaced like anything that was there before. */
        weir__name_file(w, job->temp);
        (void)weir__sys_flock(job->out, LOCK_EX | LOCK_NB); /* nobody else has it */
        result = link_as(w, job->out, dir_fd, job->temp);
    }
    if (result == 0) {
        job->is_nameless = false;
        return true;
    }
    job->temp[0] = '\0';
    weir__tell_error(w, job->dir, job->dst_name, "cannot give its final name to", errno);
    return false;
}

/* --- other runs at the same destination --- */

/* A directory with its final time is not searched for leftovers, since leaving one moves the time.
 * Two runs at once would break that: one gives the directory its time over what the other has in
 * it, and the other dies. So each holds a lock on DST. Who finds somebody there is careful:
 * searches all directories, before and after, and leaves a marker for as long as it runs. If it
 * dies, the marker stays, and makes the next run careful. */
static void marker_name(const struct weir__copy *run, char text[WEIR__TEMP_SIZE])
{
    snprintf(text, WEIR__TEMP_SIZE, FILE_PREFIX "%016llx." MARKER, (unsigned long long)run->id);
}

static bool is_marker(const char *name)
{
    return weir__name_kind(name) == WEIR__TEMP_FILE && strcmp(name + 27, MARKER) == 0;
}

static void become_careful(struct weir__copy *run)
{
    weir_lock_acquire(&run->counts_lock);
    run->is_careful = true;
    weir_lock_release(&run->counts_lock);
}

bool weir__name_is_careful(struct weir__copy *run)
{
    weir_lock_acquire(&run->counts_lock);
    bool is_careful = run->is_careful;
    weir_lock_release(&run->counts_lock);
    return is_careful;
}

void weir__name_guard(struct weir__copy *run)
{
    run->guard_fd = run->marker_fd = -1;
    if (run->options->dry_run || run->is_dst_made)
        return;
    run->guard_fd = weir__sys_openat(run->base_fd, ".", O_RDONLY | O_DIRECTORY, 0);
    if (run->guard_fd < 0)
        return;
    bool is_alone = weir__sys_flock(run->guard_fd, LOCK_EX | LOCK_NB) == 0;
    /* Shared from now on, so that others see us; who slips in between sees us, or we see them. */
    if (weir__sys_flock(run->guard_fd, LOCK_SH | LOCK_NB) == 0 && is_alone)
        return;
    become_careful(run);
    char name[WEIR__TEMP_SIZE];
    marker_name(run, name);
    run->marker_fd =
        weir__sys_openat(run->base_fd, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
    if (run->marker_fd >= 0)
        (void)weir__sys_flock(run->marker_fd, LOCK_EX | LOCK_NB);
}

void weir__name_unguard(struct weir__copy *run)
{
    char name[WEIR__TEMP_SIZE];
    if (run->marker_fd >= 0 && run->guard_fd >= 0) {
        struct stat st;
        bool is_known = weir__sys_fstat(run->guard_fd, &st) == 0;
        marker_name(run, name);
        weir__sys_unlinkat(run->guard_fd, name, 0);
        /* The time of DST is what the copy has made it. */
        struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, st.st_mtim};
        if (is_known && run->rules.times && !run->rules.omit_dir_times)
            (void)weir__sys_futimens(run->guard_fd, times);
    }
    weir__sys_close_at(&run->marker_fd);
    weir__sys_close_at(&run->guard_fd);
}

/* --- leftovers --- */

/* Whether nobody works at it. The lock is taken to find out, and kept by the descriptor (or -1
 * where there is none to keep), so that nobody begins to work at it before it is gone. */
static bool is_dead(int dir_fd, const char *name, enum weir__leftover kind, int *ret_fd)
{
    int flags = kind == WEIR__TEMP_DIR ? O_RDONLY | O_DIRECTORY : O_RDONLY;
    struct stat st;
    *ret_fd = -1;
    if (weir__sys_fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return false;
    /* Links and special files cannot be locked, nor should a device be opened to find that out;
     * whoever is about to rename one makes it again. And what has the name of a folder and is none
     * has changed places with the finished folder, and only its end is missing. */
    if (kind == WEIR__TEMP_DIR ? !S_ISDIR(st.st_mode)
                               : !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode))
        return true;
    int fd = weir__sys_openat(dir_fd, name, flags | O_NOFOLLOW | O_NONBLOCK, 0);
    if (fd < 0)
        return false;
    bool is_dead =
        weir__sys_fstat(fd, &st) == 0 && S_ISDIR(st.st_mode) == (kind == WEIR__TEMP_DIR) &&
        (S_ISDIR(st.st_mode) || S_ISREG(st.st_mode)) && weir__sys_flock(fd, LOCK_EX | LOCK_NB) == 0;
    if (is_dead)
        *ret_fd = fd;
    else
        weir__sys_close(fd);
    return is_dead;
}

/* A file that is copied to another name beside it: what stands there is not the source's for that.
 */
bool weir__name_is_one_folder(const struct weir__dir *dir)
{
    struct stat from, to;
    return dir->kind == WEIR__DIR_OPERAND && weir__sys_fstat(dir->src_fd, &from) == 0 &&
           weir__sys_fstat(dir->dst_fd, &to) == 0 && from.st_dev == to.st_dev &&
           from.st_ino == to.st_ino;
}

static bool is_folder(int dir_fd, const char *name)
{
    struct stat st;
    return weir__sys_fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode);
}

void weir__name_sweep_one(struct weir__worker *w, struct weir__dir *dir, const char *name,
                          bool is_end)
{
    enum weir__leftover kind = weir__name_kind(name);
    struct stat st;
    if (kind == WEIR__NOT_OURS || (kind == WEIR__TEMP_PART && w->run->options->partial))
        return;
    /* Somebody's leftover at the source is something to copy like anything else. */
    for (size_t i = 0; dir->kind == WEIR__DIR_BASE && i < w->run->options->sources_count; i++)
        if (strcmp(name, w->run->sources[i].name) == 0)
            return;
    if (dir->src_fd >= 0 && !weir__name_is_one_folder(dir) &&
        weir__sys_fstatat(dir->src_fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0)
        return;
    /* A folder of this boot is continued if the name that it stands for comes up. Whether it does
     * is known when the directory is complete. */
    if (kind == WEIR__TEMP_DIR && weir__name_is_of_this_boot(w->run, name) && !is_end &&
        is_folder(dir->dst_fd, name)) {
        dir->has_leftovers = true;
        return;
    }
    bool is_gone = weir__name_remove_dead(w, dir->dst_fd, name);
    if (is_gone && is_marker(name))
        become_careful(w->run);
    if (is_gone)
        dir->has_changed = true;
    else if (!w->run->options->dry_run && !is_marker(name))
        weir__dir_mark_remains(w, dir); /* of a live run, or not to be removed by us */
}

bool weir__name_remove_dead(struct weir__worker *w, int dir_fd, const char *name)
{
    int lock_fd;
    if (w->run->options->dry_run || !is_dead(dir_fd, name, weir__name_kind(name), &lock_fd))
        return false;
    struct weir__remove_options options = {.cancel = w->stop};
    bool is_gone = weir__remove_tree(dir_fd, name, &options, NULL) == 0;
    w->counts.leftovers_removed += is_gone;
    weir__sys_close(lock_fd);
    return is_gone;
}

void weir__name_sweep(struct weir__worker *w, struct weir__dir *dir, bool is_end)
{
    _Alignas(struct weir__dirent) char window[SWEEP_WINDOW];
    int fd = weir__sys_openat(dir->dst_fd, ".", O_RDONLY | O_DIRECTORY, 0);
    ssize_t size = 0;
    while (fd >= 0 && (size = weir__sys_getdents(fd, window, sizeof(window))) > 0) {
        for (ssize_t at = 0; at < size;) {
            const struct weir__dirent *entry = (const void *)(window + at);
            at += entry->d_reclen;
            weir__name_sweep_one(w, dir, entry->d_name, is_end);
        }
    }
    weir__sys_close(fd);
}
