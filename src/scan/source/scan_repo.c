/* scan_repo.c - the repositories of a run: which there are, who may run, and their end.
 *
 * A repository is asked for by the folder of its objects, so that two working trees of one are one.
 * What it needs is found out before it is submitted, and it is closed again meanwhile: those that
 * wait in line take memory for their path and nothing else.
 */
#include "scan_repo.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "alloc.h"
#include "git/discover.h"
#include "log.h"
#include "sys.h"
#include "text.h"

#include "banned.h"

static const struct weir_lock_class repo_class = {"scan-repo", 210};

/* Of a reason that names an object before it. */
#define WHY_CLIPPED 240u

#define DRAIN_NS    WEIR_NS_PER_S
#define GRACE_NS    (500 * WEIR_NS_PER_MS)

/* --- the run --- */

int weir__scan_repos_init(struct weir__scan *run)
{
    const struct weir__scan_options *options = run->options;
    struct weir__scan_repos *repos = &run->repos;
    if (options->history == WEIR__SCAN_NO_HISTORY)
        return 0;
    struct weir_pool_config config = weir__scan_share_all(options);
    uint32_t waiting = weir__scan_share_waiting(options);
    weir__git_set_init(&repos->known, 2 * sizeof(uint64_t), 0,
                       weir__git_set_needs(2ull * waiting, 2 * sizeof(uint64_t), 0));
    int result = weir_pool_init(&repos->pool, "scan-repos", &config);
    repos->has_pool = result == 0;
    if (result == 0)
        result = weir_slots_init(&repos->slots, "scan-repo-disks", options->slots);
    repos->has_slots = result == 0;
    if (result < 0)
        return result;
    repos->config = config;
    repos->has_states = options->has_state &&
                        weir__git_states_open(&repos->states, secure_getenv("XDG_STATE_HOME"),
                                              secure_getenv("HOME"), 0, repos->why_stateless) == 0;
    repos->leaders = weir__scan_line_heavy(run);
    repos->live_max = waiting;
    repos->has_small = weir__scan_share_has_small(options, config.delta_cache_bytes);
    const struct weir_sched_options sched = {
        .workers = weir__scan_line_leaders(repos),
        .jobs_max = waiting,
        .slots = &repos->slots,
        .pool = &repos->pool,
        .crew = {.drain_ns = DRAIN_NS, .grace_ns = GRACE_NS},
    };
    return weir_sched_new(&repos->sched, "scan-repos", &sched);
}

uint64_t weir__scan_repos_drain(struct weir__scan *run)
{
    struct weir_crew_report report = {0};
    uint64_t abandoned = 0;
    if (!run->repos.sched)
        return 0;
    weir_sched_drain(run->repos.sched, &report);
    for (uint64_t i = 0; i < report.kind_count; i++)
        abandoned += report.kinds[i].abandoned;
    return abandoned;
}

void weir__scan_repos_fini(struct weir__scan *run)
{
    struct weir__scan_repos *repos = &run->repos;
    weir_sched_free(repos->sched);
    if (repos->has_states)
        weir__git_states_close(&repos->states);
    if (repos->has_slots)
        weir_slots_fini(&repos->slots);
    if (repos->has_pool)
        weir_pool_fini(&repos->pool);
    weir__git_set_fini(&repos->known);
}

/* --- one repository --- */

void weir__scan_repo_free(struct weir__scan_repo *repo)
{
    if (repo->has_shards)
        weir_frontier_fini(&repo->shards);
    weir__scan_origins_free(repo->origins);
    weir__scan_state_drop(repo);
    weir__base_free(repo->identity);
    weir__scan_wanted_free(repo->wanted);
    weir__scan_refs_free(repo->refs);
    weir__git_set_fini(&repo->suspects);
    weir__base_free(repo->few);
    weir__git_set_fini(&repo->unread);
    weir__git_set_fini(&repo->changed);
    weir__git_set_fini(&repo->told);
    weir__git_set_fini(&repo->looked);
    weir__git_set_fini(&repo->named);
    weir__git_set_fini(&repo->folders);
    weir__git_set_fini(&repo->trees);
    weir__git_lineage_fini(&repo->lineage);
    while (repo->idle_count > 0) /* of one that was stopped */
        weir__git_store_close(repo->idle[--repo->idle_count]);
    weir__git_store_close(repo->store);
    weir_lock_fini(&repo->lock);
    weir__base_free(repo);
}

/* Beyond the memory for it all is news. */
bool weir__scan_repo_is_news(struct weir__scan_worker *w, struct weir__scan_repo *repo,
                             const void *bytes, size_t length)
{
    struct weir__git_id id = {{0}};
    struct weir__hash hash;
    uint32_t number;
    weir__hash_init(&hash);
    weir__hash_update(&hash, bytes, length);
    weir__hash_final(&hash, id.bytes);
    weir_lock_acquire(&repo->lock);
    bool is_it = weir__git_set_add(&repo->told, &id, &number) != 0;
    weir_lock_release(&repo->lock);
    w->gaps += !is_it;
    return is_it;
}

void weir__scan_repo_tell(struct weir__scan_worker *w, struct weir__scan_repo *repo,
                          const struct weir__git_id *id, const char *what, const char *why)
{
    char hex[WEIR__GIT_HEX_SIZE], text[WEIR__SCAN_WHY_MAX], clipped[WHY_CLIPPED];
    const char *path = repo->path_length > 0 ? repo->path : "./";
    if (!id) {
        weir__scan_tell(w, path, what, why);
        return;
    }
    snprintf(text, sizeof(text), "object %s: %s", weir__git_id_hex(id, repo->id_size, hex),
             weir__text_clip(clipped, sizeof(clipped), why, SIZE_MAX));
    if (weir__scan_repo_is_news(w, repo, text, strlen(text)))
        weir__scan_tell_partial(w, path, what, text);
}

void weir__scan_repo_problem(void *arg, const char *text)
{
    struct weir__scan_repo *repo = arg;
    if (weir__scan_repo_is_news(repo->w, repo, text, strlen(text)))
        weir__scan_tell_partial(repo->w, repo->path_length > 0 ? repo->path : "./",
                                "cannot read all of the history of", text);
}

void weir__scan_repo_doubt(struct weir__scan_worker *w, struct weir__scan_repo *repo,
                           const struct weir__git_store *store)
{
    struct weir__git_store_facts facts = {.has_wrong_midx = false};
    if (store) {
        weir__git_store_facts(store, &facts);
        weir__scan_repo_flaws(w, repo, store);
    }
    if (!facts.has_wrong_midx)
        return;
    weir_lock_acquire(&repo->lock);
    bool was_told = repo->is_midx_told;
    repo->is_midx_told = repo->is_doubtful = true;
    weir_lock_release(&repo->lock);
    if (!was_told)
        weir__scan_tell_partial(w, repo->path_length > 0 ? repo->path : "./",
                                "cannot rely on all of the history of",
                                "its multi-pack-index differs from the indexes of the packs, which "
                                "were used in its place: git multi-pack-index write makes a new "
                                "one");
}

/* --- its turn --- */

static int run_repo(struct weir_job *job, const struct weir_deadline *deadline)
{
    struct weir__scan_repo *repo = (struct weir__scan_repo *)job;
    (void)deadline; /* whoever stops the run fires its token, by which everything here waits */
    struct weir__scan *run = repo->run;
    weir__scan_held_begin(run, &run->repos.held, &run->repos.pool, &run->repos.slots);
    int result = weir__scan_worker_new(&repo->w, run);
    if (result == 0)
        result = weir__scan_repo_lead(repo);
    weir__scan_held_end(run, &run->repos.held);
    return result;
}

static void put_down(struct weir__scan_repo *repo)
{
    if (repo->w)
        weir__scan_count(repo->w);
    weir__scan_worker_free(repo->w);
    repo->w = NULL;
}

void weir__scan_repo_over(struct weir__scan_repo *repo, int result)
{
    struct weir__scan *run = repo->run;
    if (!repo->w && !weir_cancel_is_fired(&run->stop) && weir__scan_worker_new(&repo->w, run) == 0)
        weir__scan_repo_tell(repo->w, repo, NULL,
                             repo->is_large ? "cannot scan the large objects of"
                                            : "cannot scan the history of",
                             repo->is_large && result == -WEIR_E_BUSY
                                 ? "too many repositories wait with such: scan them in parts"
                                 : weir_error_text(result));
    put_down(repo);
    weir__scan_repo_drop(repo);
    weir_lock_acquire(&run->lock);
    run->repos.live--;
    weir_lock_release(&run->lock);
    weir__job_done(run);
}

static void end_repo(struct weir_job *job, int result)
{
    struct weir__scan_repo *repo = (struct weir__scan_repo *)job;
    struct weir__scan *run = repo->run;
    bool was_large = repo->is_large;
    weir__scan_line_leave(repo);
    if (result == 0 && repo->has_large && !was_large) {
        put_down(repo);
        weir__scan_large_add(repo);
        return;
    }
    if (was_large)
        weir__scan_large_done(run);
    weir__scan_repo_over(repo, result);
}

/* --- which they are --- */

bool weir__scan_repo_is(const char *path)
{
    struct weir__git_discovered found;
    char why[WEIR__GIT_FIND_WHY_MAX];
    int fd = weir__sys_openat(AT_FDCWD, path, O_RDONLY | O_DIRECTORY | O_NONBLOCK, 0);
    if (fd < 0)
        return false; /* what is wrong with it is told when it is scanned */
    int result = weir__git_discover(fd, &found, why);
    weir__sys_close(fd);
    return result < 0 || found.found != WEIR__GIT_FOUND_NONE;
}

bool weir__scan_has_repo(const struct weir__scan_options *options)
{
    const struct weir__scan_fetcher *fetcher = options->fetcher;
    for (size_t i = 0; i < options->paths_count; i++)
        if (strcmp(options->paths[i], "-") != 0 &&
            !(fetcher && fetcher->is_mine(fetcher->arg, options->paths[i])) &&
            weir__scan_repo_is(options->paths[i]))
            return true;
    return false;
}

static struct weir__git_id identity_of(const struct stat *st)
{
    struct weir__git_id id = {{0}};
    uint64_t words[2] = {st->st_dev, st->st_ino};
    memcpy(id.bytes, words, sizeof(words));
    return id;
}

bool weir__scan_repo_knows(struct weir__scan *run, const struct stat *objects)
{
    struct weir__git_id id = identity_of(objects);
    weir_lock_acquire(&run->lock);
    bool is_known = weir__git_set_find(&run->repos.known, &id) != WEIR__GIT_SET_NONE;
    weir_lock_release(&run->lock);
    return is_known;
}

/* 1, or 0 when somebody has brought it before. */
static int make_known(struct weir__scan *run, const struct stat *st)
{
    struct weir__git_id id = identity_of(st);
    uint32_t number;
    weir_lock_acquire(&run->lock);
    int result = weir__git_set_add(&run->repos.known, &id, &number);
    weir_lock_release(&run->lock);
    return result;
}

static int identify(const struct weir__git_store *store, struct stat *ret_st)
{
    char path[WEIR__GIT_PATH_MAX + 16];
    snprintf(path, sizeof(path), "%s/objects", weir__git_store_commondir(store));
    return weir__sys_fstatat(AT_FDCWD, path, ret_st, 0) < 0 ? -WEIR_E_IO : 0;
}

/* Paths in a working tree are those from its top. */
static size_t without_dot_git(const char *path, size_t length)
{
    size_t end = length;
    while (end > 0 && path[end - 1] == '/')
        end--;
    bool is_inside =
        end >= 4 && memcmp(path + end - 4, ".git", 4) == 0 && (end == 4 || path[end - 5] == '/');
    return is_inside ? end - 4 : length;
}

/* What no other repository has: where it is, however that was spelled. One that was made anew in
 * its place has the same, and gains by it: what is remembered are ids, which are true of any
 * repository, and which of them are there is found out each time. */
static int name_objects(struct weir__scan_repo *repo, const struct weir__git_store *store)
{
    char whole[PATH_MAX];
    const char *path = weir__git_store_commondir(store);
    if (realpath(path, whole))
        path = whole;
    size_t size = strlen(path) + 1;
    repo->identity = weir__base_alloc(size, 1);
    if (repo->identity)
        memcpy(repo->identity, path, size);
    return repo->identity ? 0 : -WEIR_E_NO_MEMORY;
}

static struct weir__scan_repo *repo_new(struct weir__scan *run, const char *path)
{
    size_t length = weir__scan_folder_length(path, without_dot_git(path, strlen(path)));
    struct weir__scan_repo *repo = weir__base_alloc(1, sizeof(*repo) + length + 2);
    if (!repo)
        return NULL;
    repo->run = run;
    repo->users = 1;
    weir_lock_init(&repo->lock, &repo_class);
    weir__git_set_init(&repo->told, sizeof(struct weir__git_id), 0, 0);
    memcpy(repo->path, path, length);
    if (length > 0 && path[length - 1] != '/')
        repo->path[length++] = '/';
    repo->path_length = length;
    return repo;
}

static int submit(struct weir__scan_worker *w, struct weir__scan_repo *repo, const struct stat *st)
{
    struct weir__scan *run = w->run;
    struct weir_device_info info;
    weir_device_find_number(st->st_dev, NULL, &info);
    repo->job.io_model = WEIR_IO_MMAP_IMPLICIT;
    repo->job.device = info.device;
    repo->job.run = run_repo;
    repo->job.done = end_repo;
    weir_lock_acquire(&run->lock);
    bool has_room = run->repos.live < run->repos.live_max;
    if (has_room) {
        repo->number = ++run->repos.submitted;
        run->repos.live++;
        run->repos.small += repo->is_small;
        run->repos.cost.one_plan += repo->has_one_plan;
        run->open++; /* as long as it is somewhere */
    }
    weir_lock_release(&run->lock);
    if (!has_room)
        return -WEIR_E_BUSY;
    if (weir__scan_line_add(repo))
        weir__scan_large_next(run);
    return 0;
}

static void count_refused(struct weir__scan *run)
{
    weir_lock_acquire(&run->lock);
    run->repos.refused++;
    weir_lock_release(&run->lock);
}

void weir__scan_repo_found(struct weir__scan_worker *w, const char *path)
{
    char problem[WEIR__GIT_PROBLEM_SIZE] = "";
    char why[WEIR__SCAN_WHY_MAX] = "";
    struct weir__git_store *store = NULL;
    struct stat st;
    path = weir__scan_plain_path(path); /* as the paths of files are: baselines know both */
    const char *shown = *path ? path : ".";
    int result = weir__git_store_open(&store, shown, NULL, problem);
    if (result == 0)
        result = identify(store, &st);
    int is_new = result < 0 ? result : make_known(w->run, &st);
    if (is_new > 0) {
        struct weir__scan_repo *repo = repo_new(w->run, path);
        result = repo ? 0 : -WEIR_E_NO_MEMORY;
        if (repo) {
            result = weir__scan_share_ask(repo, store, why);
            if (result == 0)
                result = name_objects(repo, store);
            if (result == 0) {
                weir__scan_packs_hand_on(repo, store);
                result = submit(w, repo, &st);
            }
            if (result < 0)
                weir__scan_repo_drop(repo);
        }
    } else {
        result = is_new;
    }
    weir__git_store_close(store);
    if (result == -WEIR_E_TOO_LARGE || result == -WEIR_E_BUSY)
        count_refused(w->run);
    if (result < 0 && weir__sys_fstatat(AT_FDCWD, shown, &st, 0) < 0)
        weir__scan_tell(w, shown, errno == ENOENT ? "cannot find" : "cannot open", NULL);
    else if (result < 0)
        weir__scan_tell(w, shown, "cannot scan the history of",
                        problem[0]               ? problem
                        : why[0]                 ? why
                        : result == -WEIR_E_BUSY ? "too many repositories wait: scan them in parts"
                                                 : weir_error_text(result));
}
