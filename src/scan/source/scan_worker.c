/* scan_worker.c - the threads that scan: what a job is about, and what became of it. */
#include "scan_repo.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "alloc.h"
#include "job_mutants.h"
#include "log.h"
#include "scan_git.h"
#include "sys.h"

#include "banned.h"

#define WHY_MAX 256u

/* --- workers --- */

static void take_finding(void *arg, const struct weir__finding *finding)
{
    struct weir__scan_worker *w = arg;
    const char *path = weir__buffer_text(&w->path);
    struct weir__finding told = *finding;
    if (w->is_asking)
        return;
    if (w->is_link && !finding->rule->regex)
        return; /* by the name of a file, which is elsewhere */
    told.shown_path = weir__scan_name(w, path);
    told.is_beside = w->is_beside;
    told.is_around = w->is_around;
    told.brought = w->brought;
    w->told++;
    w->run->hooks.finding(w->run->hooks.arg, path, &told);
}

int weir__scan_worker_new(struct weir__scan_worker **ret_worker, struct weir__scan *run)
{
    struct weir__scan_worker *w = weir__base_alloc(1, sizeof(*w));
    if (!w)
        return -WEIR_E_NO_MEMORY;
    int result = weir_budget_init(&w->turns, "scan-turns", 1);
    if (result < 0) {
        weir__base_free(w);
        return result;
    }
    w->run = run;
    weir__buffer_init(&w->path, WEIR__SCAN_PATH_MAX);
    weir__buffer_init(&w->named.path, 2ul * WEIR__SCAN_PATH_MAX);
    weir__buffer_init(&w->rule_path, 2ul * WEIR__SCAN_PATH_MAX);
    weir__buffer_init(&w->member, WEIR__SCAN_HANDED_BYTES);
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
    weir__scanner_free(w->named.scanner);
    weir__buffer_fini(&w->named.path);
    weir__base_free(w->named.shown);
    weir__git_free(w->git);
    weir__scan_archives_leave(w);
    weir__buffer_fini(&w->member);
    weir__buffer_fini(&w->path);
    weir__buffer_fini(&w->rule_path);
    weir__buffer_fini(&w->names);
    weir__scan_hand_free(w->hand);
    weir__base_free(w->frames);
    weir__base_free(w->block);
    weir__base_free(w->window);
    weir_budget_fini(&w->turns);
    weir__base_free(w);
}

int weir__scan_worker_scanner(struct weir__scan_worker *w)
{
    struct weir__sink sink = {.finding = take_finding, .arg = w};
    return w->scanner ? 0 : weir__scanner_new(&w->scanner, w->run->options->engine, &sink);
}

/* What only a thread that has something to do needs. */
static int equip(struct weir__scan_worker *w)
{
    if (!w->block)
        w->block = weir__base_alloc(1, WEIR__SCAN_READ_SIZE);
    if (!w->window)
        w->window = weir__base_alloc(1, WEIR__SCAN_WINDOW);
    if (!w->block || !w->window)
        return -WEIR_E_NO_MEMORY;
    return w->counting ? 0 : weir__scan_worker_scanner(w);
}

/* --- what a path of the user is --- */

static int set_path(struct weir__scan_worker *w, const char *path, size_t length)
{
    weir__buffer_truncate(&w->path, 0);
    return weir__buffer_append(&w->path, path, length);
}

/* "./a" is a, and of "." the names in it are the paths. */
const char *weir__scan_plain_path(const char *path)
{
    while (path[0] == '.' && path[1] == '/') {
        path += 2;
        while (*path == '/')
            path++;
    }
    return strcmp(path, ".") == 0 ? "" : path;
}

size_t weir__scan_folder_length(const char *path, size_t length)
{
    while (length > 1 && path[length - 1] == '/' && path[length - 2] == '/')
        length--;
    return length;
}

void weir__scan_tree(struct weir__scan_worker *w, const char *path)
{
    int fd = weir__sys_openat(AT_FDCWD, path, O_RDONLY | O_DIRECTORY | O_NONBLOCK, 0);
    struct stat st;
    if (fd < 0 || weir__sys_fstat(fd, &st) < 0) {
        weir__scan_tell(w, path, "cannot open", NULL);
        weir__sys_close(fd);
        return;
    }
    const char *plain = weir__scan_plain_path(path);
    size_t length = weir__scan_folder_length(plain, strlen(plain));
    int result = equip(w);
    if (result == 0)
        result = set_path(w, plain, length);
    if (result == 0 && length > 0 && plain[length - 1] != '/')
        result = weir__buffer_putc(&w->path, '/');
    w->device = st.st_dev;
    if (result == 0) {
        struct weir__scan_ignore *above =
            w->run->options->respect_gitignore ? weir__scan_ignore_begin(w, fd) : NULL;
        weir__scan_walk(w, fd, above);
        weir__scan_ignore_drop(w->run, above);
    } else {
        weir__scan_tell(w, path, "cannot scan", weir_error_text(result));
        weir__sys_close(fd);
    }
}

static void do_stream(struct weir__scan_worker *w, const char *path)
{
    bool is_input = strcmp(path, "-") == 0;
    int flags = O_RDONLY | O_NOCTTY | O_NONBLOCK; /* a pipe may never be opened for writing */
    int fd = is_input ? STDIN_FILENO : weir__sys_openat(AT_FDCWD, path, flags, 0);
    if (fd < 0)
        weir__scan_tell(w, path, "cannot open", NULL);
    else
        weir__scan_stream(w, fd);
    if (!is_input)
        weir__sys_close(fd);
}

/* A name of a list names a file, whatever it looks like. */
static void tell_listed(struct weir__scan_worker *w, const char *name, uint64_t number)
{
    char why[WHY_MAX];
    const char *what = errno == ENOENT ? "cannot find" : "cannot open", *reason = "";
    size_t length = strlen(name);
    if (errno == ENOENT && length > 0 && name[length - 1] == '\r')
        reason = ": it ends with CR; take those out of the list";
    else if (errno == ENOENT && strncmp(name, "\xef\xbb\xbf", 3) == 0)
        reason = ": it begins with a byte order mark; take that out of the list";
    snprintf(why, sizeof(why), "%s (name %" PRIu64 " of the list%s)", weir__log_reason(errno),
             number, reason);
    weir__scan_tell(w, name, what, why);
}

/* What was named and is not read: a socket never is, and a list, which may be that of a whole tree,
 * must not wait for a pipe that nobody writes to. */
static void tell_special(struct weir__scan_worker *w, const char *path, mode_t mode,
                         uint64_t number)
{
    char why[WHY_MAX];
    const char *cure = "pipe what comes from it into '-'";
    if (number == 0) {
        snprintf(why, sizeof(why), "it is a socket: %s", cure);
        weir__scan_tell_typed(w, path, "cannot scan", why);
        return;
    }
    const char *what = S_ISSOCK(mode) ? "socket" : S_ISFIFO(mode) ? "pipe" : "device";
    if (!S_ISSOCK(mode))
        cure = "name it on the command line to have it read";
    snprintf(why, sizeof(why), "it is a %s: %s (name %" PRIu64 " of the list)", what, cure, number);
    weir__scan_tell(w, path, "cannot scan", why);
}

/* number: in its list; 0: it is of none. */
static void do_path(struct weir__scan_worker *w, const char *path, uint64_t number)
{
    struct stat st;
    bool is_listed = number > 0;
    const struct weir__scan_fetcher *fetcher = w->run->options->fetcher;
    if (fetcher && !is_listed && fetcher->is_mine(fetcher->arg, path)) {
        weir__scan_fetched(w, path);
        return;
    }
    const char *plain = weir__scan_plain_path(path);
    if (set_path(w, plain, strlen(plain)) < 0) {
        weir__scan_tell(w, path, "cannot scan", weir_error_text(WEIR_E_NO_MEMORY));
        return;
    }
    if (!is_listed && strcmp(path, "-") == 0) {
        do_stream(w, path);
        return;
    }
    if (weir__sys_fstatat(AT_FDCWD, path, &st, is_listed ? AT_SYMLINK_NOFOLLOW : 0) < 0) {
        if (is_listed)
            tell_listed(w, path, number);
        else
            weir__scan_tell_typed(w, path, errno == ENOENT ? "cannot find" : "cannot open", NULL);
    } else if (S_ISDIR(st.st_mode)) {
        if (w->run->repos.sched && !is_listed && weir__scan_repo_is(path))
            weir__scan_repo_found(w, plain);
        weir__scan_tree(w, path);
    } else if (S_ISREG(st.st_mode))
        weir__scan_file(w, AT_FDCWD, path, !is_listed);
    else if (S_ISLNK(st.st_mode))
        weir__scan_link(w, AT_FDCWD, path);
    else if (is_listed || S_ISSOCK(st.st_mode)) {
        weir__scan_unopened(w);
        tell_special(w, path, st.st_mode, number);
    } else
        do_stream(w, path);
}

/* True: its turn was over, and it is to be done once more. */
static bool do_job(struct weir__scan_worker *w, struct weir__job *job)
{
    int result = equip(w);
    if (result == 0 && job->kind != WEIR__JOB_PATH && job->kind != WEIR__JOB_LISTED)
        result = set_path(w, job->text, job->path_length);
    if (result < 0) {
        if (job->kind != WEIR__JOB_HELP) /* who called for help does without */
            weir__scan_tell(w, job->text, "cannot scan", weir_error_text(result));
        return false;
    }
    switch (job->kind) {
    case WEIR__JOB_PATH:
    case WEIR__JOB_LISTED:
        do_path(w, job->text, job->number);
        break;
    case WEIR__JOB_DIR:
        w->device = job->device;
        weir__scan_walk(w, job->fd, job->ignore);
        job->fd = -1;
        break;
    case WEIR__JOB_FILES:
        weir__scan_names(w, job->fd, job->text + job->path_length + 1, job->names_length);
        break;
    case WEIR__JOB_STAGED:
        weir__scan_staged(w, job->text + job->path_length + 1);
        break;
    case WEIR__JOB_HELP:
        weir__scan_help(w, job);
        break;
    case WEIR__JOB_SHARD:
        return weir__scan_shard(w, job->shard);
    }
    return false;
}

static void end_job(struct weir__scan_worker *w, struct weir__job *job)
{
    if (!WEIR__JOB_MUTANT(JOB_COUNTED_LATE))
        weir__scan_count(w);
    weir__scan_ignore_drop(w->run, job->ignore);
    weir__job_free(job);
    if (!WEIR__JOB_MUTANT(JOB_DONE_BEFORE_WORK))
        weir__job_done(w->run);
    if (WEIR__JOB_MUTANT(JOB_COUNTED_LATE))
        weir__scan_count(w);
}

/* Does what waits, for as long as a turn is. Of two jobs whose turn was over the one at hand goes
 * back into the line; when that is full, the other one is done to its end. Returns who goes on. */
static struct weir__job *let_others(struct weir__scan_worker *w, struct weir__job *job)
{
    uint64_t until_ns = weir_now_ns() + WEIR__SCAN_TURN_NS;
    struct weir__job *other;
    while (weir_now_ns() < until_ns && weir_queue_try_recv(&w->run->jobs, &other) == 0) {
        while (do_job(w, other))
            if (weir__job_offer(w->run, job)) {
                weir__scan_count(w);
                if (!WEIR__JOB_MUTANT(SHARD_IN_LINE_COUNTS_TWICE))
                    weir__job_done(w->run);
                return other;
            }
        end_job(w, other);
    }
    return job;
}

int weir__scan_worker_main(struct weir_crew_self *self, void *arg)
{
    (void)self; /* it ends with the last job, or by the run's own token */
    struct weir__scan_worker *w = arg;
    struct weir__job *job = NULL;
    int result;
    w->is_of_crew = true;
    while ((result = weir__job_take(w->run, &job)) == 0) {
        if (WEIR__JOB_MUTANT(JOB_DONE_BEFORE_WORK))
            weir__job_done(w->run);
        while (do_job(w, job))
            job = let_others(w, job);
        end_job(w, job);
    }
    weir__scan_archives_leave(w);
    return result == -WEIR_E_CLOSED ? 0 : result;
}
