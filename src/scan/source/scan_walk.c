/* scan_walk.c - directories, depth first, a window at a time.
 *
 * Of a window the files are scanned at once and the names of directories are put on a stack. When
 * the window is done, the directories on the stack are entered, last first, before the next window
 * is read: the descriptor knows where that is. When the stack has its fill, the window is left at
 * the directory that did not fit, and read again from there later.
 *
 *     frames     top ........ / read to its end, and some of its directories are still to be
 *     entered
 *                 sub ....... /
 *                  current .. / its window is being scanned
 *     names      [b c d][x y][ ... ]     one stretch for each frame
 *
 * Descriptors of the frames far up are closed and opened again through ".." when the way leads
 * back, and are then looked at: a directory that was moved meanwhile is another one.
 */
#include "scan_repo.h"

#include <dirent.h>
#include <errno.h>
#include <string.h>

#include "alloc.h"
#include "entries.h"
#include "git/discover.h"
#include "sys.h"

#include "banned.h"

/* How often, in files, somebody may ask for a share. */
#define SHARE_EVERY 16u
/* Marks entries of a window that somebody else has taken, and those that git ignores. */
#define DT_TAKEN   0xff
#define DT_IGNORED 0xfe

static struct weir__frame *top(struct weir__scan_worker *w)
{
    return &w->frames[w->frames_count - 1];
}

/* The path of the directory of the top frame. */
static void set_dir(struct weir__scan_worker *w)
{
    weir__buffer_truncate(&w->path, top(w)->path_length);
}

static const char *why_no_path(int error, const char *if_too_long)
{
    return error == -WEIR_E_OVERFLOW ? if_too_long : weir_error_text(error);
}

static bool add_name(struct weir__scan_worker *w, const char *name)
{
    set_dir(w);
    int result = weir__buffer_puts(&w->path, name);
    if (result < 0)
        weir__scan_tell(w, weir__buffer_text(&w->path), "cannot scan all of",
                        why_no_path(result, "a path is longer than 1 MiB"));
    return result == 0;
}

/* --- frames --- */

static bool grow(struct weir__scan_worker *w)
{
    if (w->frames_count < w->frames_room)
        return true;
    if (w->frames_count >= WEIR__SCAN_DEPTH_MAX)
        return false;
    size_t room = w->frames_room ? w->frames_room * 2 : 64;
    struct weir__frame *frames = weir__base_realloc(w->frames, room, sizeof(*frames));
    if (!frames)
        return false;
    w->frames = frames;
    w->frames_room = room;
    return true;
}

/* Closes the open one that is furthest up. */
static void rest(struct weir__scan_worker *w)
{
    struct weir__frame *frame = &w->frames[w->frames_count - w->frames_open];
    frame->position = weir__sys_lseek(frame->fd, 0, SEEK_CUR);
    weir__sys_close_at(&frame->fd);
    w->frames_open--;
}

/* Whether it is a folder as git makes them, and its history is scanned. */
static bool is_repo(const struct weir__scan_worker *w, int fd)
{
    struct stat st;
    bool is_asked = w->run->options->history == WEIR__SCAN_HISTORY_ALSO;
    return w->run->repos.sched && !w->counting &&
           weir__sys_fstatat(fd, "objects", &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode) &&
           (is_asked || weir__scan_repo_knows(w->run, &st)) &&
           weir__sys_fstatat(fd, "HEAD", &st, AT_SYMLINK_NOFOLLOW) == 0 &&
           weir__sys_fstatat(fd, "refs", &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode);
}

/* The path is that of the directory, with its slash. Takes the descriptor. */
static void push(struct weir__scan_worker *w, int fd, const struct stat *st,
                 struct weir__scan_ignore *above)
{
    if (!grow(w)) {
        weir__scan_tell(w, weir__buffer_text(&w->path), "cannot scan",
                        w->frames_count >= WEIR__SCAN_DEPTH_MAX
                            ? "it is too deep"
                            : weir_error_text(WEIR_E_NO_MEMORY));
        weir__sys_close(fd);
        return;
    }
    if (w->frames_open >= w->run->frames_open_max)
        rest(w);
    w->frames[w->frames_count++] = (struct weir__frame){
        .fd = fd,
        .path_length = weir__buffer_length(&w->path),
        .names_from = weir__buffer_length(&w->names),
        .device = st->st_dev,
        .inode = st->st_ino,
        .has_given = weir__scan_given_in(w->run->given, st->st_dev, st->st_ino),
        .ignore = weir__scan_ignore_enter(w, fd, above),
    };
    w->frames_open++;
    w->counts.dirs++;
    if (is_repo(w, fd)) {
        top(w)->is_repo = true;
        if (w->run->options->history == WEIR__SCAN_HISTORY_ALSO)
            weir__scan_repo_found(w, weir__buffer_text(&w->path));
    }
}

/* Opens the frame above again, from the one below it that is about to go. */
static int reopen(struct weir__scan_worker *w, const struct weir__frame *frame, int below)
{
    struct stat st;
    const char *path = weir__buffer_text(&w->path);
    for (int i = 0; i < 2; i++) {
        int fd = i == 0 ? weir__sys_openat(below, "..", O_RDONLY | O_DIRECTORY, 0)
                        : weir__sys_openat(AT_FDCWD, path[0] ? path : ".",
                                           O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
        if (fd >= 0 && weir__sys_fstat(fd, &st) == 0 && st.st_dev == frame->device &&
            st.st_ino == frame->inode && weir__sys_lseek(fd, frame->position, SEEK_SET) >= 0)
            return fd;
        weir__sys_close(fd);
    }
    return -1;
}

/* A folder of git's that was scanned as files. Those of submodules go with the repository that they
 * belong to, or with a working tree of it. */
static void note_left(struct weir__scan_worker *w, const struct weir__frame *frame)
{
    const char *path = weir__buffer_text(&w->path);
    if ((frame->seen & WEIR__GIT_SEEN_GITDIR) != WEIR__GIT_SEEN_GITDIR || frame->is_repo ||
        !w->run->options->counts_left || w->counting)
        return;
    weir__buffer_truncate(&w->path, frame->path_length);
    w->counts.histories_left += !strstr(path, ".git/modules/") && !strstr(path, ".git/worktrees/");
}

static void pop(struct weir__scan_worker *w)
{
    struct weir__frame gone = *top(w);
    note_left(w, &gone);
    if (!gone.has_entries && gone.path_length > 1 && !weir__scan_is_stopped(w)) {
        weir__buffer_truncate(&w->path, gone.path_length - 1);
        weir__scan_unopened(w);
    }
    weir__scan_ignore_drop(w->run, gone.ignore);
    weir__buffer_truncate(&w->names, gone.names_from);
    w->frames_count--;
    w->frames_open -= w->frames_open > 0;
    if (w->frames_count == 0 || top(w)->fd >= 0) {
        weir__sys_close(gone.fd);
        return;
    }
    struct weir__frame *above = top(w);
    bool has_more = !above->is_read || weir__buffer_length(&w->names) > above->names_from;
    set_dir(w);
    above->fd = reopen(w, above, gone.fd);
    weir__sys_close(gone.fd);
    if (above->fd >= 0) {
        w->frames_open = 1;
        return;
    }
    above->is_read = true;
    weir__buffer_truncate(&w->names, above->names_from);
    if (has_more)
        weir__scan_tell(w, weir__buffer_text(&w->path), "cannot go on with",
                        "it was moved while it was scanned");
}

/* --- a window --- */

/* Whether somebody has nothing to do, and we have something to give. */
static bool is_asked(const struct weir__scan_worker *w)
{
    return !w->counting && weir__job_is_wanted(w->run);
}

/* File systems that do not say what an entry is are asked for each. */
static unsigned char type_of(struct weir__scan_worker *w, const struct weir__dirent *entry)
{
    struct stat st;
    if (entry->d_type != DT_UNKNOWN)
        return entry->d_type;
    if (weir__sys_fstatat(top(w)->fd, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0)
        return (unsigned char)IFTODT(st.st_mode);
    if (add_name(w, entry->d_name))
        weir__scan_tell(w, weir__buffer_text(&w->path), "cannot open", NULL);
    return DT_TAKEN;
}

static struct weir__dirent *entry_at(const struct weir__scan_worker *w, ssize_t at)
{
    return weir__dirent_at(w->window, at);
}

/* Marks what is not to be scanned here. */
static void sift(struct weir__scan_worker *w, ssize_t size)
{
    const struct weir__frame *frame = top(w);
    struct stat st;
    set_dir(w);
    bool has_rules = frame->ignore && weir__scan_ignore_aim(w, frame->ignore);
    if (!has_rules && !frame->has_given && !frame->is_repo)
        return;
    for (ssize_t at = 0; at < size; at += entry_at(w, at)->d_reclen) {
        struct weir__dirent *entry = entry_at(w, at);
        /* One that cannot be asked for is told when its turn comes. */
        if (entry->d_type == DT_UNKNOWN && !weir__dirent_is_dots(entry->d_name) &&
            weir__sys_fstatat(frame->fd, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0)
            entry->d_type = (unsigned char)IFTODT(st.st_mode);
        if ((entry->d_type != DT_REG && entry->d_type != DT_DIR) ||
            weir__dirent_is_dots(entry->d_name))
            continue;
        if (frame->has_given && entry->d_type == DT_REG &&
            weir__scan_given_file(w->run->given, frame->device, frame->inode, entry->d_name))
            entry->d_type = DT_TAKEN;
        else if (frame->is_repo && strcmp(entry->d_name, "objects") == 0)
            entry->d_type = DT_TAKEN; /* they are scanned as git has them */
        else if (has_rules &&
                 weir__scan_ignore_has(w, frame->ignore, entry->d_name, entry->d_type == DT_DIR))
            entry->d_type = DT_IGNORED;
    }
}

/* Every other file from here on in the window: its name goes to the job, or it is marked. */
static void take_half(struct weir__scan_worker *w, ssize_t at, ssize_t size, struct weir__job *job)
{
    bool is_theirs = true;
    for (; at < size; at += entry_at(w, at)->d_reclen) {
        struct weir__dirent *entry = entry_at(w, at);
        if (entry->d_type != DT_REG)
            continue;
        is_theirs = !is_theirs;
        if (is_theirs && job) {
            size_t length = strlen(entry->d_name) + 1;
            memcpy(job->text + job->path_length + 1 + job->names_length, entry->d_name, length);
            job->names_length += length;
        } else if (is_theirs) {
            entry->d_type = DT_TAKEN;
        }
    }
}

/* Gives half of the files from here on to somebody who has nothing to do. */
static bool share_files(struct weir__scan_worker *w, ssize_t at, ssize_t size)
{
    set_dir(w);
    struct weir__job *job = weir__job_new(WEIR__JOB_FILES, weir__buffer_text(&w->path),
                                          weir__buffer_length(&w->path), (size_t)(size - at));
    if (!job)
        return false;
    take_half(w, at, size, job);
    if (job->names_length > 0)
        job->fd = weir__sys_openat(top(w)->fd, ".", O_RDONLY | O_DIRECTORY, 0);
    if (job->fd < 0 || !weir__job_offer(w->run, job)) {
        weir__job_free(job);
        return false;
    }
    take_half(w, at, size, NULL);
    return true;
}

/* False: there is no room, and the window is to be left here. */
static bool keep_dir(struct weir__scan_worker *w, const char *name, bool must_keep)
{
    size_t used = weir__buffer_length(&w->names);
    if (used >= WEIR__SCAN_NAMES_BYTES && used > top(w)->names_from && !must_keep)
        return false;
    if (weir__buffer_append(&w->names, name, strlen(name) + 1) == 0)
        return true;
    if (add_name(w, name))
        weir__scan_tell(w, weir__buffer_text(&w->path), "cannot scan",
                        weir_error_text(WEIR_E_NO_MEMORY));
    return true;
}

/* Has the next files in the window, from here on, asked for. */
static void ask_ahead(struct weir__scan_worker *w, ssize_t at, ssize_t size)
{
    struct weir__scan_next next[WEIR__SCAN_AHEAD];
    size_t count = 0;
    for (; at < size && count < WEIR__SCAN_AHEAD; at += entry_at(w, at)->d_reclen) {
        const struct weir__dirent *entry = entry_at(w, at);
        if (entry->d_type == DT_REG)
            next[count++] = (struct weir__scan_next){.inode = entry->d_ino, .name = entry->d_name};
    }
    weir__scan_ahead(w, top(w)->fd, next, count);
}

static void do_window(struct weir__scan_worker *w, ssize_t size)
{
    bool is_shared = false; /* what was given away must not be read again */
    int64_t before = -1;
    unsigned files = 0;
    for (ssize_t at = 0; at < size && !weir__scan_is_stopped(w);) {
        const struct weir__dirent *entry = entry_at(w, at);
        bool is_dots = weir__dirent_is_dots(entry->d_name);
        unsigned char type = is_dots ? DT_TAKEN : type_of(w, entry);
        top(w)->has_entries |= !is_dots && type != DT_IGNORED;
        top(w)->seen |= weir__git_seen(entry->d_name);
        if (type == DT_REG && !w->counting) {
            if (files % WEIR__SCAN_AHEAD == 0)
                ask_ahead(w, at, size);
            if (files % SHARE_EVERY == 0 && is_asked(w))
                is_shared = share_files(w, at, size) || is_shared;
            files++;
        }
        if (type == DT_REG && w->counting) {
            weir__scan_count_file(w, top(w)->fd, entry->d_name);
        } else if (type == DT_REG) {
            if (add_name(w, entry->d_name))
                weir__scan_file(w, top(w)->fd, entry->d_name, false);
        } else if (type == DT_DIR) {
            if (!keep_dir(w, entry->d_name, is_shared || before < 0)) {
                if (weir__sys_lseek(top(w)->fd, before, SEEK_SET) >= 0) {
                    top(w)->is_read = false;
                    return;
                }
                (void)keep_dir(w, entry->d_name, true);
            }
        } else if (type == DT_LNK) {
            if (add_name(w, entry->d_name))
                weir__scan_link(w, top(w)->fd, entry->d_name);
        } else if (type == DT_IGNORED) {
            w->counts.ignored++;
        } else if (type != DT_TAKEN) {
            w->counts.special++;
            if (add_name(w, entry->d_name))
                weir__scan_unopened(w);
        }
        before = entry->d_off;
        at += entry->d_reclen;
    }
}

static void read_window(struct weir__scan_worker *w)
{
    ssize_t size = weir__sys_getdents(top(w)->fd, w->window, WEIR__SCAN_WINDOW);
    if (size < 0) {
        set_dir(w);
        weir__scan_tell(w, weir__buffer_text(&w->path), "cannot list", NULL);
    }
    if (size <= 0) {
        top(w)->is_read = true;
        return;
    }
    if (w->counting)
        w->counting->is_over = weir__scan_is_over(w);
    sift(w, size);
    do_window(w, size);
    weir__scan_count(w);
}

/* --- entering --- */

static void enter(struct weir__scan_worker *w, int fd, const struct stat *st)
{
    struct weir__scan *run = w->run;
    const char *path = weir__buffer_text(&w->path);
    /* Only if there is more to do here. */
    if (weir__buffer_length(&w->names) > 0 && is_asked(w)) {
        struct weir__job *job =
            weir__job_new(WEIR__JOB_DIR, path, weir__buffer_length(&w->path), 0);
        if (job) {
            job->fd = fd;
            job->device = w->device;
            job->ignore = weir__scan_ignore_hold(run, top(w)->ignore);
            if (weir__job_offer(run, job))
                return;
            job->fd = -1;
            weir__scan_ignore_drop(run, job->ignore);
        }
        weir__job_free(job);
    }
    push(w, fd, st, top(w)->ignore);
}

/* The last of the names of the top frame. */
static void enter_next(struct weir__scan_worker *w)
{
    struct stat st;
    const char *names = weir__buffer_text(&w->names);
    size_t end = weir__buffer_length(&w->names) - 1, at = end;
    while (at > top(w)->names_from && names[at - 1] != '\0')
        at--;
    bool has_path = add_name(w, names + at);
    int fd = has_path ? weir__sys_openat(top(w)->fd, names + at,
                                         O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK, 0)
                      : -1;
    weir__buffer_truncate(&w->names, at);
    if (!has_path)
        return;
    if (fd < 0 || weir__sys_fstat(fd, &st) < 0) {
        weir__scan_tell(w, weir__buffer_text(&w->path), "cannot open", NULL);
        weir__sys_close(fd);
        return;
    }
    if ((w->run->options->one_file_system && st.st_dev != w->device) ||
        weir__scan_given_dir(w->run->given, st.st_dev, st.st_ino)) {
        if (!weir__scan_given_dir(w->run->given, st.st_dev, st.st_ino))
            weir__scan_unopened(w);
        weir__sys_close(fd);
        return;
    }
    /* One that the user named is the top of a walk, and not met here. */
    if (st.st_dev != top(w)->device && weir__scan_is_pseudo(fd)) {
        w->counts.special++;
        weir__scan_unopened(w);
        weir__sys_close(fd);
        return;
    }
    int result = weir__buffer_putc(&w->path, '/');
    if (result < 0) {
        weir__scan_tell(w, weir__buffer_text(&w->path), "cannot scan",
                        why_no_path(result, "its path is longer than 1 MiB"));
        weir__sys_close(fd);
        return;
    }
    enter(w, fd, &st);
}

void weir__scan_walk(struct weir__scan_worker *w, int fd, struct weir__scan_ignore *above)
{
    struct stat st;
    weir__buffer_truncate(&w->names, 0);
    if (weir__sys_fstat(fd, &st) < 0) {
        weir__scan_tell(w, weir__buffer_text(&w->path), "cannot open", NULL);
        weir__sys_close(fd);
        return;
    }
    push(w, fd, &st, above);
    while (w->frames_count > 0) {
        struct weir__frame *frame = top(w);
        if (weir__scan_is_stopped(w)) {
            frame->is_read = true;
            weir__buffer_truncate(&w->names, frame->names_from);
        }
        if (weir__buffer_length(&w->names) > frame->names_from)
            enter_next(w);
        else if (!frame->is_read)
            read_window(w);
        else
            pop(w);
    }
}

void weir__scan_names(struct weir__scan_worker *w, int fd, const char *names, size_t length)
{
    size_t dir_length = weir__buffer_length(&w->path);
    for (const char *name = names; name < names + length && !weir__scan_is_stopped(w);
         name += strlen(name) + 1) {
        weir__buffer_truncate(&w->path, dir_length);
        int result = weir__buffer_puts(&w->path, name);
        if (result < 0)
            weir__scan_tell(w, name, "cannot scan",
                            why_no_path(result, "its path is longer than 1 MiB"));
        else
            weir__scan_file(w, fd, name, false);
    }
}
