/* linked.c - hard links of the source become hard links at the destination.
 *
 * The first name of an inode makes the file. A name that comes while that is under way is kept,
 * with its permit, and linked by whoever finishes the first; one that comes later looks the place
 * up. The place is a path below the base of the destination, walked name by name, never through a
 * symlink; a folder that is still being built is found under its temporary name. What is found must
 * be the inode that was made: else the name becomes a copy of its own, and that is told.
 */
#include <errno.h>
#include <string.h>

#include "engine.h"
#include "sys.h"

#include "banned.h"

static struct weir__link_key key_of(const struct weir__job *job)
{
    return (struct weir__link_key){.device = job->st.st_dev, .inode = job->st.st_ino};
}

/* After how many names it is forgotten. A list may have one more than once. */
static uint64_t names_of(const struct weir__worker *w, const struct weir__job *job)
{
    return w->run->options->files_from ? UINT64_MAX : job->st.st_nlink;
}

/* --- making the link --- */

static bool is_there_already(const struct weir__job *job, const struct weir__link_place *place)
{
    return job->has_old && job->old.st_dev == place->device && job->old.st_ino == place->inode;
}

/* Over what has the name now: by a second name that is renamed. A rename onto another name of the
 * same inode does nothing, so what may be left of it is removed. */
static int replace(struct weir__worker *w, struct weir__job *job, int from_dir, const char *from)
{
    int dir_fd = job->dir->dst_fd;
    weir__name_file(w, job->temp);
    if (weir__sys_linkat(from_dir, from, dir_fd, job->temp, 0) < 0)
        return -1;
    bool is_installed = weir__entry_install(w, job);
    if (job->temp[0] != '\0')
        weir__sys_unlinkat(dir_fd, job->temp, 0);
    job->temp[0] = '\0';
    if (is_installed)
        return 0;
    errno = 0; /* it has been told */
    return -1;
}

/* The path of the first name as the user knows it: without DST, where that is part of it. */
static const char *shown_path(const struct weir__worker *w, const struct weir__link_place *place)
{
    const struct weir__copy *run = w->run;
    size_t length = strlen(run->base_name);
    const char *path = weir__buffer_text(&place->path);
    return run->is_dst_made && strncmp(path, run->base_name, length) == 0 && path[length] == '/'
               ? path + length + 1
               : path;
}

static void tell_linked(struct weir__worker *w, struct weir__job *job, const char *target,
                        bool is_same)
{
    w->counts.hard_links++;
    if (is_same) {
        w->counts.unchanged++;
        struct weir__copy_event event = {
            .kind = WEIR__EVENT_SAME, .update = '.', .type = weir__tell_type(job->st.st_mode)};
        if (S_ISREG(job->st.st_mode))
            w->counts.bytes_done += (uint64_t)job->st.st_size;
        weir__tell_item(w, job->dir, job->name, &event);
        return;
    }
    weir__entry_made(w, job, 'h', target);
}

/* What the destination has under the name, which decides how the link is made. */
static bool look_up(struct weir__worker *w, struct weir__job *job)
{
    if (job->is_looked_up || job->dir->is_new || job->dir->dst_fd < 0)
        return true;
    if (weir__sys_fstatat(job->dir->dst_fd, job->dst_name, &job->old, AT_SYMLINK_NOFOLLOW) == 0)
        job->has_old = true;
    else if (errno != ENOENT) {
        weir__tell_error(w, job->dir, job->dst_name, "cannot look at", errno);
        return false;
    }
    job->is_looked_up = true;
    return true;
}

/* Links job's name to from. 0; -1 with errno, 0 there if it has been told. */
static int link_to(struct weir__worker *w, struct weir__job *job,
                   const struct weir__link_place *place, int from_dir, const char *from)
{
    if (w->run->options->dry_run)
        return 0;
    if (!job->has_old) {
        int result = weir__sys_linkat(from_dir, from, job->dir->dst_fd, job->dst_name, 0);
        if (result == 0 || errno != EEXIST)
            return result;
        /* It came meanwhile: from somebody else, or from a list that has the name twice. */
        job->is_looked_up = false;
        if (!look_up(w, job)) {
            errno = 0;
            return -1;
        }
        if (is_there_already(job, place))
            return 0;
    }
    return replace(w, job, from_dir, from);
}

/* Ends the job, one way or the other; false: it could not be linked and shall be copied. */
static bool make_link(struct weir__worker *w, struct weir__job *job,
                      const struct weir__link_place *place, int from_dir, const char *from)
{
    if (!look_up(w, job)) {
        weir__entry_end(w, job, false);
        return true;
    }
    if (weir__entry_skip(w, job))
        return true;
    bool is_same = is_there_already(job, place);
    if (!is_same)
        weir__entry_find_changes(w, job);
    if (!is_same && link_to(w, job, place, from_dir, from) < 0) {
        if (errno == 0) {
            weir__entry_end(w, job, false);
            return true;
        }
        weir__tell_error(w, job->dir, job->dst_name, "cannot link, so it is copied:", errno);
        return false;
    }
    tell_linked(w, job, shown_path(w, place), is_same);
    weir__entry_end(w, job, true);
    return true;
}

/* --- finding the place --- */

static bool is_elsewhere(int errno_value)
{
    return errno_value == ENOENT || errno_value == ENOTDIR || errno_value == ELOOP;
}

/* One name down: as it will be called, or as it is called while it is built. */
static int step(struct weir__worker *w, int dir_fd, const char *name)
{
    const int flags = O_PATH | O_DIRECTORY | O_NOFOLLOW;
    char temp[WEIR__TEMP_SIZE];
    int fd = weir__sys_openat(dir_fd, name, flags, 0);
    /* Until it is complete, something else may have the name that it will replace. */
    for (unsigned salt = 0; fd < 0 && is_elsewhere(errno) && salt < WEIR__SALTS; salt++) {
        weir__name_dir(w->run, name, salt, temp);
        fd = weir__sys_openat(dir_fd, temp, flags, 0);
    }
    /* Renamed between the two looks. */
    if (fd < 0 && is_elsewhere(errno))
        fd = weir__sys_openat(dir_fd, name, flags, 0);
    return fd;
}

/* The directory of a path below the base, opened; *ret_name is the rest. -1 with errno. */
static int open_place(struct weir__worker *w, const char *path, const char **ret_name)
{
    int dir_fd = weir__sys_openat(w->run->base->dst_fd, ".", O_PATH | O_DIRECTORY, 0);
    char name[WEIR__NAME_SIZE];
    const char *slash;
    while (dir_fd >= 0 && (slash = strchr(path, '/'))) {
        size_t length = (size_t)(slash - path);
        memcpy(name, path, length < NAME_MAX ? length : NAME_MAX);
        name[length < NAME_MAX ? length : NAME_MAX] = '\0';
        path = slash + 1;
        int next = length == 0 ? -1 : step(w, dir_fd, name);
        weir__sys_close(dir_fd);
        dir_fd = next;
    }
    *ret_name = path;
    return dir_fd;
}

static bool link_known(struct weir__worker *w, struct weir__job *job,
                       const struct weir__link_place *place)
{
    const char *name;
    struct stat st;
    if (w->run->options->dry_run)
        return make_link(w, job, place, -1, "");
    int dir_fd = open_place(w, weir__buffer_text(&place->path), &name);
    bool is_it = dir_fd >= 0 && weir__sys_fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
                 st.st_dev == place->device && st.st_ino == place->inode;
    bool is_done = is_it && make_link(w, job, place, dir_fd, name);
    if (!is_it)
        weir__tell_error_detail(w, job->dir, job->dst_name,
                                "cannot link, so it is copied:", "its other name is gone", 0);
    weir__sys_close(dir_fd);
    return is_done;
}

/* --- the table --- */

static void place_fini(struct weir__link_place *place)
{
    weir__buffer_fini(&place->path);
}

/* What the table answered. False: go on with the job as with any other. */
static bool act(struct weir__worker *w, struct weir__job *job, int answer,
                const struct weir__link_place *place)
{
    if (answer == WEIR__LINK_KNOWN)
        return link_known(w, job, place);
    if (answer == WEIR__LINK_FIRST) {
        /* Remembered, since the name may stand for another inode when it is opened. */
        job->is_first_link = true;
        job->link_key = key_of(job);
    } else if (answer != -WEIR_E_CANCELED)
        weir__tell_error_detail(w, job->dir, job->dst_name,
                                "cannot link, so it is copied:", weir_error_text(answer), 0);
    return false;
}

/* A name that has waited for the first one. It is on the heap and holds its directory. */
static void serve(struct weir__worker *w, struct weir__job *job,
                  const struct weir__link_place *place, const struct weir__job *first)
{
    struct weir__dir *dir = job->dir;
    if (weir__is_stopped(w)) {
        weir__entry_end(w, job, false);
        return;
    }
    if (weir__dir_pin(w, dir) < 0) {
        weir__tell_error(w, dir, job->dst_name, "cannot open the directory of", errno);
        weir__entry_end(w, job, false);
        return;
    }
    weir__tree_hold(w->tree, &dir->node);
    if (!place) {
        if (!weir__linked(w, job))
            weir__entry_known(w, job);
    } else if (!make_link(w, job, place, first->dir->dst_fd, first->dst_name)) {
        weir__entry_known(w, job);
    }
    weir__dir_unpin(w, dir);
    weir__dir_drop(w, dir);
}

bool weir__linked(struct weir__worker *w, struct weir__job *job)
{
    WEIR_CLEANUP(place_fini)
    struct weir__link_place place = {0};
    weir__buffer_init(&place.path, WEIR__LINK_PATH_MAX);
    struct weir_deadline deadline = weir__stop_deadline(w);
    struct weir__links *links = w->run->links;
    int answer = weir__links_enter(links, key_of(job), names_of(w, job), NULL, &place, &deadline);
    if (answer == -WEIR_E_BUSY) {
        struct weir__job *kept = weir__entry_keep(w, job);
        if (!kept) {
            weir__tell_error(w, job->dir, job->dst_name, "cannot link, so it is copied:", ENOMEM);
            return false;
        }
        weir__sys_close_at(&kept->in);
        answer = weir__links_enter(links, key_of(kept), names_of(w, kept), &kept->waiter, &place,
                                   &deadline);
        if (answer == WEIR__LINK_WAIT)
            return true;
        /* It has been finished meanwhile. */
        return act(w, kept, answer, &place) || (weir__entry_known(w, kept), true);
    }
    return act(w, job, answer, &place);
}

void weir__linked_end(struct weir__worker *w, struct weir__job *job, bool is_made)
{
    WEIR_CLEANUP(place_fini)
    struct weir__link_place place = {0};
    weir__buffer_init(&place.path, WEIR__LINK_PATH_MAX);
    struct stat st = {0};
    job->is_first_link = false;
    if (is_made && job->dir->dst_fd >= 0 &&
        weir__sys_fstatat(job->dir->dst_fd, job->dst_name, &st, AT_SYMLINK_NOFOLLOW) < 0 &&
        !w->run->options->dry_run) {
        weir__tell_error(w, job->dir, job->dst_name, "cannot remember the links of", errno);
        is_made = false;
    }
    place.device = st.st_dev;
    place.inode = st.st_ino;
    int error = 0;
    const char *path =
        is_made ? weir__tell_path_whole(w, WEIR__PATH_IN_BASE, job->dir, job->dst_name) : NULL;
    if (is_made)
        error = path ? weir__buffer_puts(&place.path, path) : -WEIR_E_NO_MEMORY;
    struct weir_deadline deadline = weir__stop_deadline(w);
    bool is_known = is_made && error == 0;
    int late_error = 0;
    struct weir__link_waiter *waiter = weir__links_done(
        w->run->links, job->link_key, is_known ? &place : NULL, &late_error, &deadline);
    error = error < 0 ? error : late_error;
    if (error < 0 && error != -WEIR_E_CANCELED)
        weir__tell_error_detail(w, job->dir, job->dst_name, "cannot remember the links of",
                                weir_error_text(error), 0);
    while (waiter) {
        struct weir__job *other = (struct weir__job *)waiter;
        waiter = waiter->next;
        serve(w, other, is_known ? &place : NULL, job);
    }
}
