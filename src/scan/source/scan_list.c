/* scan_list.c - hands out the paths: those of the command line, those of a list, those staged.
 *
 * A list is read as a stream, and no faster than its names are taken.
 */
#include "scan_repo.h"

#include <errno.h>
#include <string.h>

#include "git/discover.h"
#include "job_mutants.h"
#include "scan_names.h"
#include "sys.h"

#include "banned.h"

static bool send_path(struct weir__scan_worker *w, enum weir__job_kind kind, const char *path,
                      uint64_t number)
{
    struct weir__job *job = weir__job_new(kind, path, strlen(path), 0);
    if (!job && WEIR__JOB_MUTANT(JOB_WITHOUT_MEMORY_IS_SILENT))
        return true;
    if (!job) {
        weir__scan_tell(w, path, "cannot scan", weir_error_text(WEIR_E_NO_MEMORY));
        return true;
    }
    job->number = number;
    if (weir__job_send(w->run, job) == 0)
        return true;
    weir__job_free(job);
    return false;
}

static bool take_listed(void *arg, const char *name, uint64_t number)
{
    return send_path(arg, WEIR__JOB_LISTED, name, number);
}

static bool is_list_stopped(void *arg)
{
    return weir__scan_is_stopped(arg);
}

static void tell_list(void *arg, const char *list, const char *what, const char *why)
{
    weir__scan_tell_typed(arg, list, what, why);
}

/* --- repositories --- */

static bool take_repo(void *arg, const char *name, uint64_t number)
{
    (void)number;
    weir__scan_repo_found(arg, name);
    return true;
}

/* All that is there is, where nothing but histories is scanned: the first path of one counts. What
 * is wrong with one, or that it is a file, is told when it is opened. */
static bool is_repo(const struct weir__scan_worker *w, const char *path)
{
    struct stat st;
    return w->run->options->history == WEIR__SCAN_HISTORY_ONLY &&
           (weir__sys_fstatat(AT_FDCWD, path, &st, 0) == 0 || errno != ENOENT);
}

static int on_repo(void *arg, const char *path, const struct weir__git_discovered *found)
{
    (void)found;
    weir__scan_repo_found(arg, path);
    return 0;
}

struct search {
    struct weir__scan_worker *w;
    const char *root;
};

static void tell_problem(void *arg, const char *text)
{
    const struct search *search = arg;
    weir__scan_tell_partial(search->w, search->root, "cannot look for repositories in all of",
                            text);
}

static void find_repos(struct weir__scan_worker *w, const char *root)
{
    struct search search = {w, root};
    struct stat st;
    if (weir__sys_fstatat(AT_FDCWD, root, &st, 0) < 0) {
        weir__scan_tell_typed(w, root, errno == ENOENT ? "cannot find" : "cannot open", NULL);
        return;
    }
    if (!S_ISDIR(st.st_mode)) {
        weir__scan_tell_typed(w, root, "cannot look for repositories in", "it is no folder");
        return;
    }
    const struct weir__git_find_options options = {
        .problem = tell_problem, .problem_arg = &search, .stop = &w->run->stop};
    struct weir__git_find_stats stats = {0};
    /* An error of the root is a problem, too. */
    int result = weir__git_find_repos(root, &options, on_repo, w, &stats);
    if (result == 0 && stats.repos == 0 && stats.problems == 0)
        weir__scan_tell(w, root, "cannot find a repository of git in",
                        "there is none: name another folder");
}

int weir__scan_list_main(struct weir_crew_self *self, void *arg)
{
    (void)self;
    struct weir__scan_worker *w = arg;
    const struct weir__scan_options *options = w->run->options;
    /* Nothing has changed, say: whoever lists what did need not ask first. */
    const struct weir__scan_names names = {take_listed, is_list_stopped, tell_list, w, true};
    bool goes_on = true;
    w->run->given = weir__scan_given_new(w);
    for (size_t i = 0; i < options->paths_count && goes_on; i++)
        if (!weir__scan_given_again(w->run->given, i))
            goes_on = is_repo(w, options->paths[i])
                          ? take_repo(w, options->paths[i], 0)
                          : send_path(w, WEIR__JOB_PATH, options->paths[i], 0);
    if (options->files_from && goes_on)
        weir__scan_names_each(options->files_from, options->from0, &names);
    if (options->repos_from) {
        const struct weir__scan_names repos = {take_repo, is_list_stopped, tell_list, w, false};
        weir__scan_names_each(options->repos_from, options->from0, &repos);
    }
    for (size_t i = 0; i < options->find_repos_count && !weir__scan_is_stopped(w); i++)
        find_repos(w, options->find_repos[i]);
    if (options->staged)
        weir__scan_staged_list(w);
    weir__scan_count(w);
    weir__job_done(w->run);
    if (options->has_totals && !w->run->repos.sched) /* nobody knows how much is in a history */
        weir__scan_find_totals(w);
    return 0;
}
