/* state_folder.c - the folder with the states: where it is, whether it may be trusted, and what
 * goes when it is full. */
#include "state_part.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "alloc.h"
#include "entries.h"
#include "sys.h"

#include "banned.h"

#define WINDOW       32768u
#define STALE_S      86400    /* a writer that has not been heard of for so long has ended */
#define REMOVABLE    0x40000u /* more files than that are counted, and left until the next time */
#define SPARE_SHARES 16u      /* one of so many is made free, so that it lasts for a while */

static const struct weir_lock_class states_class = {"scan-states", 630};

/* The user's own, and nobody else can write to it. */
bool weir__state_is_safe(const struct stat *st)
{
    return st->st_uid == geteuid() && (st->st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

/* --- opening --- */

/* The folder in an open one, made if it is not there; flags: O_NOFOLLOW or not. */
static int open_folder(int dir, const char *name, int flags)
{
    flags |= O_RDONLY | O_DIRECTORY;
    int fd = weir__sys_openat(dir, name, flags, 0);
    if (fd < 0 && errno == ENOENT && (weir__sys_mkdirat(dir, name, 0700) == 0 || errno == EEXIST))
        fd = weir__sys_openat(dir, name, flags, 0);
    return fd;
}

/* The folder inside of the one that is then closed. */
static int step_into(int dir, const char *name, int flags)
{
    if (dir < 0)
        return dir;
    int fd = open_folder(dir, name, flags);
    weir__sys_close(dir);
    return fd;
}

static int open_base(const char *base, const char *home)
{
    /* Relative ones are to be ignored, says the specification of that variable. These folders may
     * be links to another disk. */
    if (base && base[0] == '/')
        return open_folder(AT_FDCWD, base, 0);
    if (!home || home[0] != '/') {
        errno = ENOENT;
        return -1;
    }
    int fd = weir__sys_openat(AT_FDCWD, home, O_RDONLY | O_DIRECTORY, 0);
    return step_into(step_into(fd, ".local", 0), "state", 0);
}

/* The folder of that name, if nobody else may write to it. */
static int step_safely(int dir, const char *name)
{
    struct stat st;
    int fd = step_into(dir, name, O_NOFOLLOW);
    if (fd < 0)
        return fd;
    int result = weir__sys_fstat(fd, &st);
    if (result == 0 && weir__state_is_safe(&st))
        return fd;
    int saved = result < 0 ? errno : EPERM;
    weir__sys_close(fd);
    errno = saved;
    return -1;
}

int weir__git_states_open(struct weir__git_states *ret_states, const char *base, const char *home,
                          uint64_t folder_max, char why[WEIR__GIT_FLAW_MAX])
{
    int fd = step_safely(step_safely(open_base(base, home), "weir"), "scan");
    if (fd < 0) {
        int error = weir_error_from_errno(errno);
        bool is_ours = errno != EPERM && errno != ELOOP && errno != ENOTDIR;
        snprintf(why, WEIR__GIT_FLAW_MAX, "state folder 'weir/scan' in %s: %s",
                 base && base[0] == '/' ? "XDG_STATE_HOME" : "~/.local/state",
                 is_ours ? weir_error_text(error)
                         : "it is not a folder that only you may write to");
        return is_ours ? error : -WEIR_E_DENIED;
    }
    *ret_states = (struct weir__git_states){
        ._fd = fd, ._max = folder_max ? folder_max : WEIR__GIT_STATE_FOLDER};
    weir_lock_init(&ret_states->_lock, &states_class);
    return 0;
}

void weir__git_states_close(struct weir__git_states *states)
{
    if (!states || !states->_lock._class)
        return;
    weir__sys_close_at(&states->_fd);
    weir_lock_fini(&states->_lock);
    *states = (struct weir__git_states){._fd = -1};
}

/* --- making room --- */

struct file {
    struct timespec used;
    uint64_t size;
    struct weir__git_id id; /* what its name says */
};

struct listing {
    const char *name, *new_name; /* which are neither counted nor removed */
    const struct timespec *now;
    uint64_t total;
    struct file *files;
    size_t count, room;
};

static bool is_before(const struct timespec *one, const struct timespec *other)
{
    return one->tv_sec != other->tv_sec ? one->tv_sec < other->tv_sec
                                        : one->tv_nsec < other->tv_nsec;
}

static int compare_files(const void *a, const void *b)
{
    const struct file *one = a, *other = b;
    return is_before(&one->used, &other->used) ? -1 : is_before(&other->used, &one->used);
}

/* 0, or NoMemory; beyond REMOVABLE files it is only counted. */
static int add_file(struct listing *listing, const struct weir__git_id *id, const struct stat *st)
{
    if (listing->count == listing->room && listing->room < REMOVABLE) {
        size_t room = listing->room ? 2 * listing->room : 64;
        struct file *files = weir__base_realloc(listing->files, room, sizeof(*files));
        if (!files)
            return -WEIR_E_NO_MEMORY;
        listing->files = files;
        listing->room = room;
    }
    if (listing->count < listing->room)
        listing->files[listing->count++] = (struct file){st->st_mtim, (uint64_t)st->st_size, *id};
    return 0;
}

/* What is not called as a state or as a new one is left alone. */
static int look_at(int folder, struct listing *listing, const char *name)
{
    struct weir__git_id id;
    struct stat st;
    bool is_new = strncmp(name, WEIR__STATE_NEW, strlen(WEIR__STATE_NEW)) == 0;
    bool is_state = strlen(name) + 1 == WEIR__STATE_NAME_SIZE &&
                    strcmp(name + 2 * (size_t)WEIR__STATE_NAME_BYTES, ".git") == 0 &&
                    weir__git_id_from_hex(&id, name, WEIR__STATE_NAME_BYTES) == 0;
    if ((!is_new && !is_state) || strcmp(name, listing->name) == 0 ||
        strcmp(name, listing->new_name) == 0 ||
        weir__sys_fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISREG(st.st_mode))
        return 0;
    if (is_new && st.st_mtim.tv_sec < listing->now->tv_sec - STALE_S &&
        weir__sys_unlinkat(folder, name, 0) == 0)
        return 0;
    listing->total += (uint64_t)st.st_size;
    return is_state ? add_file(listing, &id, &st) : 0;
}

static int list(int folder, struct listing *listing)
{
    _Alignas(struct weir__dirent) char window[WINDOW];
    int fd = weir__sys_openat(folder, ".", O_RDONLY | O_DIRECTORY, 0);
    if (fd < 0)
        return weir_error_from_errno(errno);
    int error = 0;
    ssize_t size = 1;
    while (error == 0 && (size = weir__sys_getdents(fd, window, sizeof(window))) > 0)
        for (ssize_t at = 0; error == 0 && at < size;) {
            const struct weir__dirent *entry = weir__dirent_at(window, at);
            error = look_at(folder, listing, entry->d_name);
            at += entry->d_reclen;
        }
    if (error == 0 && size < 0)
        error = weir_error_from_errno(errno);
    weir__sys_close(fd);
    return error;
}

/* The ones that were not used for the longest time go, until there is some room to spare. */
static void remove_oldest(int folder, struct listing *listing, uint64_t size, uint64_t max)
{
    size_t files = WEIR__GIT_STATE_FILES_MAX;
    if (listing->total + size <= max && listing->count < files)
        return;
    max -= max / SPARE_SHARES;
    files -= files / SPARE_SHARES;
    qsort(listing->files, listing->count, sizeof(*listing->files), compare_files);
    for (size_t i = 0; i < listing->count; i++) {
        if (listing->total + size <= max && listing->count - i < files)
            return;
        char name[WEIR__STATE_NAME_SIZE];
        weir__state_name_of(&listing->files[i].id, name);
        if (weir__sys_unlinkat(folder, name, 0) == 0 || errno == ENOENT)
            listing->total -= listing->files[i].size;
    }
}

/* A count, or an estimate that is never below it as far as this process goes: what a file replaces
 * is not taken off. */
static bool is_counting_due(struct weir__git_states *states, uint64_t size)
{
    weir_lock_acquire(&states->_lock);
    bool is_due = !states->_is_counted || states->_saves >= WEIR__GIT_STATE_SAVES_COUNTED ||
                  states->_total + size > states->_max;
    states->_saves++;
    states->_total += size;
    weir_lock_release(&states->_lock);
    return is_due;
}

int weir__states_make_room(struct weir__git_states *states, const char *name, const char *new_name,
                           uint64_t size, const struct timespec *now)
{
    if (size > states->_max)
        return -WEIR_E_TOO_LARGE;
    if (!is_counting_due(states, size))
        return 0;
    struct listing listing = {.name = name, .new_name = new_name, .now = now};
    int error = list(states->_fd, &listing);
    if (error == 0) {
        if (listing.count > 0)
            remove_oldest(states->_fd, &listing, size, states->_max);
        weir_lock_acquire(&states->_lock);
        states->_is_counted = true;
        states->_saves = 0;
        states->_total = listing.total + size;
        weir_lock_release(&states->_lock);
    }
    weir__base_free(listing.files);
    return error;
}
