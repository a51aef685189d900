/* scan_worker.c - the threads that scan, and the jobs that they give each other. */
#include "scan_part.h"

#include <errno.h>
#include <string.h>

#include "alloc.h"
#include "sys.h"

#include "banned.h"

/* --- jobs --- */

struct weir__job *weir__job_new(enum weir__job_kind kind, const char *path, size_t path_length,
                                size_t names_room)
{
    struct weir__job *job = weir__base_alloc(1, sizeof(*job) + path_length + 1 + names_room);
    if (!job)
        return NULL;
    job->kind = kind;
    job->fd = -1;
    job->path_length = path_length;
    memcpy(job->text, path, path_length);
    return job;
}

void weir__job_free(struct weir__job *job)
{
    if (job)
        weir__sys_close(job->fd);
    weir__base_free(job);
}

static void open_job(struct weir__scan *run)
{
    weir_lock_acquire(&run->lock);
    run->open++;
    weir_lock_release(&run->lock);
}

void weir__job_done(struct weir__scan *run)
{
    weir_lock_acquire(&run->lock);
    bool is_last = --run->open == 0;
    weir_lock_release(&run->lock);
    if (is_last)
        weir_queue_close(&run->jobs);
}

int weir__job_send(struct weir__scan *run, struct weir__job *job)
{
    struct weir_deadline deadline = weir_deadline_until(&run->stop);
    open_job(run);
    int result = weir_queue_send(&run->jobs, &job, &deadline);
    if (result < 0)
        weir__job_done(run);
    return result;
}

bool weir__job_is_wanted(struct weir__scan *run)
{
    weir_lock_acquire(&run->lock);
    uint32_t idle = run->idle;
    weir_lock_release(&run->lock);
    return idle > 0 && weir_queue_depth(&run->jobs) < idle;
}

bool weir__job_offer(struct weir__scan *run, struct weir__job *job)
{
    open_job(run);
    if (weir_queue_try_send(&run->jobs, &job) == 0)
        return true;
    weir__job_done(run); /* never the last: the one that the caller is at is open */
    return false;
}

static int take_job(struct weir__scan *run, struct weir__job **ret_job)
{
    struct weir_deadline deadline = weir_deadline_until(&run->stop);
    if (weir_queue_try_recv(&run->jobs, ret_job) == 0)
        return 0;
    weir_lock_acquire(&run->lock);
    run->idle++;
    weir_lock_release(&run->lock);
    int result = weir_queue_recv(&run->jobs, ret_job, &deadline);
    weir_lock_acquire(&run->lock);
    run->idle--;
    weir_lock_release(&run->lock);
    return result;
}

/* --- workers --- */

static void take_finding(void *arg, const struct weir__finding *finding)
{
    struct weir__scan_worker *w = arg;
    w->run->hooks.finding(w->run->hooks.arg, weir__buffer_text(&w->path), finding);
}

int weir__scan_worker_new(struct weir__scan_worker **ret_worker, struct weir__scan *run)
{
    struct weir__scan_worker *w = weir__base_alloc(1, sizeof(*w));
    if (!w)
        return -WEIR_E_NO_MEMORY;
    w->run = run;
    weir__buffer_init(&w->path, WEIR__SCAN_PATH_MAX);
    /* Beyond its limit a window's worth may be added, and one name for each level. */
    weir__buffer_init(&w->names,
                      WEIR__SCAN_NAMES_BYTES + WEIR__SCAN_WINDOW + 260ul * WEIR__SCAN_DEPTH_MAX);
    *ret_worker = w;
    return 0;
}

void weir__scan_worker_free(struct weir__scan_worker *w)
{
    if (!w)
        return;
    weir__scanner_free(w->scanner);
    weir__buffer_fini(&w->path);
    weir__buffer_fini(&w->names);
    weir__base_free(w->frames);
    weir__base_free(w->block);
    weir__base_free(w->window);
    weir__base_free(w);
}

/* What only a thread that has something to do needs. */
static int equip(struct weir__scan_worker *w)
{
    struct weir__sink sink = {.finding = take_finding, .arg = w};
    if (!w->block)
        w->block = weir__base_alloc(1, WEIR__SCAN_READ_SIZE);
    if (!w->window)
        w->window = weir__base_alloc(1, WEIR__SCAN_WINDOW);
    if (!w->block || !w->window)
        return -WEIR_E_NO_MEMORY;
    return w->scanner ? 0 : weir__scanner_new(&w->scanner, w->run->options->engine, &sink);
}

/* --- what a path of the user is --- */

static int set_path(struct weir__scan_worker *w, const char *path, size_t length)
{
    weir__buffer_truncate(&w->path, 0);
    return weir__buffer_append(&w->path, path, length);
}

/* "./a" is a, and of "." the names in it are the paths. */
static const char *plain_path(const char *path)
{
    while (path[0] == '.' && path[1] == '/') {
        path += 2;
        while (*path == '/')
            path++;
    }
    return strcmp(path, ".") == 0 ? "" : path;
}

static void do_tree(struct weir__scan_worker *w, const char *path)
{
    int fd = weir__sys_openat(AT_FDCWD, path, O_RDONLY | O_DIRECTORY | O_NONBLOCK, 0);
    struct stat st;
    if (fd < 0 || weir__sys_fstat(fd, &st) < 0) {
        weir__scan_tell(w, path, "cannot open", NULL);
        weir__sys_close(fd);
        return;
    }
    const char *plain = plain_path(path);
    size_t length = strlen(plain);
    int result = set_path(w, plain, length);
    if (result == 0 && length > 0 && plain[length - 1] != '/')
        result = weir__buffer_putc(&w->path, '/');
    w->device = st.st_dev;
    if (result == 0) {
        weir__scan_walk(w, fd);
    } else {
        weir__scan_tell(w, path, "cannot scan", weir_error_text(result));
        weir__sys_close(fd);
    }
}

static void do_stream(struct weir__scan_worker *w, const char *path)
{
    bool is_input = strcmp(path, "-") == 0;
    int fd = is_input ? STDIN_FILENO : weir__sys_openat(AT_FDCWD, path, O_RDONLY | O_NOCTTY, 0);
    if (fd < 0)
        weir__scan_tell(w, path, "cannot open", NULL);
    else
        weir__scan_stream(w, fd);
    if (!is_input)
        weir__sys_close(fd);
}

static void do_path(struct weir__scan_worker *w, const char *path, bool is_listed)
{
    struct stat st;
    const char *plain = plain_path(path);
    if (set_path(w, plain, strlen(plain)) < 0) {
        weir__scan_tell(w, path, "cannot scan", weir_error_text(WEIR_E_NO_MEMORY));
        return;
    }
    if (!is_listed && strcmp(path, "-") == 0) {
        do_stream(w, path);
        return;
    }
    if (weir__sys_fstatat(AT_FDCWD, path, &st, is_listed ? AT_SYMLINK_NOFOLLOW : 0) < 0)
        weir__scan_tell(w, path, errno == ENOENT ? "cannot find" : "cannot open", NULL);
    else if (S_ISDIR(st.st_mode))
        do_tree(w, path);
    else if (S_ISREG(st.st_mode))
        weir__scan_file(w, AT_FDCWD, path, !is_listed);
    else if (S_ISLNK(st.st_mode))
        w->counts.symlinks++;
    else if (is_listed || S_ISSOCK(st.st_mode))
        w->counts.special++;
    else
        do_stream(w, path);
}

static void do_job(struct weir__scan_worker *w, struct weir__job *job)
{
    int result = equip(w);
    if (result == 0 && (job->kind == WEIR__JOB_DIR || job->kind == WEIR__JOB_FILES))
        result = set_path(w, job->text, job->path_length);
    if (result < 0) {
        weir__scan_tell(w, job->text, "cannot scan", weir_error_text(result));
        return;
    }
    switch (job->kind) {
    case WEIR__JOB_PATH:
    case WEIR__JOB_LISTED:
        do_path(w, job->text, job->kind == WEIR__JOB_LISTED);
        break;
    case WEIR__JOB_DIR:
        w->device = job->device;
        weir__scan_walk(w, job->fd);
        job->fd = -1;
        break;
    case WEIR__JOB_FILES:
        weir__scan_names(w, job->fd, job->text + job->path_length + 1, job->names_length);
        break;
    }
}

int weir__scan_worker_main(struct weir_crew_self *self, void *arg)
{
    (void)self; /* it ends with the last job, or by the run's own token */
    struct weir__scan_worker *w = arg;
    struct weir__job *job = NULL;
    int result;
    while ((result = take_job(w->run, &job)) == 0) {
        do_job(w, job);
        weir__scan_count(w);
        weir__job_free(job);
        weir__job_done(w->run);
    }
    return result == -WEIR_E_CLOSED ? 0 : result;
}
