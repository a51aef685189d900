/* scan_repo_large.c - objects that are too large for the memory of a shard.
 *
 * Trees are needed before origins can be found, so those that did not fit are looked at as soon as
 * the first look is over, with all the memory that the repository has. No files are made of these,
 * nor of messages: what does not fit is told, with what would do.
 *
 * When all else of a repository has been scanned, others are tried with all the memory that it has,
 * one shard at a time. With a limit of the user's (scan_repo_share.c) that is all there is, and it
 * has leave to spill. Else, if some are left, it gives back what it holds, and is a job once more,
 * with more memory for one shard and leave to spill. What does not fit into that memory either is
 * built in temporary files (git/walk.h) and scanned as files are.
 *
 * State, under the run's lock: a list of repositories that wait with such objects, at most
 * WAITING_MAX, and how many are at it. No more than half of the threads are ever busy with large
 * objects, so that those of others go on; whoever is done sends the next of the list into the line
 * of all. So those that wait hold no thread, no descriptor and nothing of the pool.
 *
 * Failure modes: too many wait, the job is refused, or the run is stopped: then the repository ends
 * there, which is told, and the next one is tried.
 */
#include "scan_repo.h"

#include <inttypes.h>
#include <stdio.h>

#include "job_mutants.h"

#include "banned.h"

/* Bytes that are read and written for one object, times what may be spilled at once. */
#define WORK_EACH 4u
/* Repositories that wait: each keeps its suspects and where they come from. */
#define WAITING_MAX 4096u

/* --- which --- */

bool weir__scan_large_is_left(const struct weir__scan_repo *repo)
{
    for (uint32_t i = 0; i < weir__git_set_count(&repo->suspects); i++) {
        const struct weir__suspect *suspect = weir__git_set_extra(&repo->suspects, i);
        if ((suspect->flags & (WEIR__SUSPECT_LARGE | WEIR__SUSPECT_DONE)) == WEIR__SUSPECT_LARGE)
            return true;
    }
    return false;
}

/* One that fits by itself does not with what it is built from. */
static void say_much(uint64_t size, uint64_t most, char much[64])
{
    if (size == 0)
        snprintf(much, 64, "more");
    else
        snprintf(much, 64, "%" PRIu64 " bytes%s, more", size,
                 size > most ? "" : " beside what it is built from");
}

void weir__scan_large_refuse(struct weir__scan_worker *w, struct weir__scan_repo *repo,
                             const struct weir__git_id *id, uint64_t size)
{
    char text[WEIR__SCAN_WHY_MAX], cure[WEIR__SCAN_WHY_MAX], much[64];
    say_much(size, repo->spill.open ? repo->spill.bytes_max : repo->large_bytes, much);
    weir__scan_share_cure(repo, size, false, cure);
    if (repo->spill.open)
        snprintf(text, sizeof(text),
                 "it takes %s than the %" PRIu64
                 " that a history may have in temporary files: raise --max-archive-bytes",
                 much, repo->spill.bytes_max);
    else
        snprintf(text, sizeof(text),
                 "it takes %s than the %" PRIu64
                 " that it may have in memory: allow a temporary file (--spill-slots), or %.100s",
                 much, repo->large_bytes, cure);
    weir__scan_repo_tell(w, repo, id, "cannot scan all of the history of", text);
    weir__scan_suspect_mark(repo, id, WEIR__SUSPECT_DONE | WEIR__SUSPECT_TOLD);
}

static void tell_unfiled(struct weir__scan_worker *w, struct weir__scan_repo *repo,
                         const struct weir__git_id *id, bool is_tree, uint64_t size)
{
    char text[WEIR__SCAN_WHY_MAX], cure[WEIR__SCAN_WHY_MAX], much[64];
    say_much(size, repo->large_bytes, much);
    weir__scan_share_cure(repo, size, is_tree, cure);
    snprintf(text, sizeof(text),
             "it is a %s and takes %s than the %" PRIu64 " that it may have in memory: %.100s",
             is_tree ? "tree" : "message", much, repo->large_bytes, cure);
    weir__scan_repo_tell(w, repo, id, "cannot scan all of the history of", text);
}

void weir__scan_large_message(struct weir__scan_worker *w, struct weir__scan_repo *repo,
                              const struct weir__git_id *id, uint64_t size)
{
    tell_unfiled(w, repo, id, false, size);
    weir__scan_suspect_mark(repo, id, WEIR__SUSPECT_DONE | WEIR__SUSPECT_TOLD);
}

/* --- trees --- */

void weir__scan_large_tree(struct weir__scan_worker *w, struct weir__scan_repo *repo,
                           const struct weir__git_id *id, uint64_t size)
{
    uint32_t number;
    int result = -WEIR_E_TOO_LARGE;
    if (!repo->is_for_trees) {
        weir_lock_acquire(&repo->lock);
        result = weir__git_set_add(&repo->trees, id, &number);
        weir_lock_release(&repo->lock);
    }
    if (result < 0) {
        tell_unfiled(w, repo, id, true, size);
        weir__scan_state_unread(repo, id, false);
    }
}

int weir__scan_large_trees(struct weir__scan_repo *repo)
{
    int result = 0;
    if (weir__git_set_count(&repo->trees) > 0) {
        repo->is_alone = repo->is_for_trees = true;
        result = weir__scan_repo_pass(repo);
        repo->is_alone = repo->is_for_trees = false;
    }
    weir__git_set_fini(&repo->trees);
    return result;
}

/* --- in line --- */

static struct weir_pool_request request_of(const struct weir__scan_repo *repo)
{
    const struct weir__scan_repos *repos = &repo->run->repos;
    uint64_t most = repos->config.delta_cache_bytes, part = most / WEIR__SCAN_LARGE_PART;
    uint64_t wish = (part > WEIR__SCAN_DELTA_MIN ? part : WEIR__SCAN_DELTA_MIN) + repo->plan_bytes;
    return (struct weir_pool_request){
        .scan_ring_bytes = WEIR__SCAN_RING_EACH < repos->config.scan_ring_bytes
                               ? WEIR__SCAN_RING_EACH
                               : repos->config.scan_ring_bytes,
        .delta_cache_bytes = wish < most ? wish : most,
        .needs_spill_slot = !repo->run->options->has_no_spill,
    };
}

/* The next that may begin; NULL: nobody. */
static struct weir__scan_repo *pop(struct weir__scan *run)
{
    struct weir__scan_repos *repos = &run->repos;
    uint32_t most = run->threads / 2 ? run->threads / 2 : 1;
    if (WEIR__JOB_MUTANT(LARGE_TOO_MANY))
        most++;
    weir_lock_acquire(&run->lock);
    struct weir__scan_repo *repo = repos->large_now < most ? repos->large_first : NULL;
    if (repo) {
        repos->large_first = repo->large_next;
        if (!repos->large_first && !WEIR__JOB_MUTANT(LARGE_LAST_STAYS))
            repos->large_last = NULL;
        repos->large_waiting--;
        repos->large_now++;
    }
    weir_lock_release(&run->lock);
    return repo;
}

void weir__scan_large_next(struct weir__scan *run)
{
    struct weir__scan_repo *repo;
    while ((repo = pop(run))) {
        repo->is_large = true;
        repo->is_small = false;
        repo->job.pool = request_of(repo);
        weir_lock_acquire(&run->lock);
        run->repos.large_all++;
        run->repos.large_jobs++;
        weir_lock_release(&run->lock);
        /* If it is refused, the next turn of this loop sees to the next one. */
        weir__scan_line_add(repo);
    }
}

void weir__scan_large_refused(struct weir__scan *run)
{
    run->repos.large_all--;
    run->repos.large_jobs--;
    if (!WEIR__JOB_MUTANT(LARGE_REFUSED_COUNTS))
        run->repos.large_now--;
}

void weir__scan_large_add(struct weir__scan_repo *repo)
{
    struct weir__scan *run = repo->run;
    struct weir__scan_repos *repos = &run->repos;
    weir__git_store_close(repo->store);
    repo->store = NULL;
    weir_lock_acquire(&run->lock);
    bool is_added = repos->large_waiting < WAITING_MAX;
    if (is_added) {
        *(repos->large_last ? &repos->large_last->large_next : &repos->large_first) = repo;
        repos->large_last = repo;
        repos->large_waiting++;
    }
    weir_lock_release(&run->lock);
    if (is_added) {
        weir__scan_large_next(run);
        weir_lock_acquire(&run->lock);
        if (repos->large_most < repos->large_waiting)
            repos->large_most = repos->large_waiting;
        weir_lock_release(&run->lock);
        return;
    }
    repo->is_large = true;
    weir__scan_repo_over(repo, -WEIR_E_BUSY);
}

void weir__scan_large_done(struct weir__scan *run)
{
    weir_lock_acquire(&run->lock);
    run->repos.large_now--;
    weir_lock_release(&run->lock);
    if (!WEIR__JOB_MUTANT(LARGE_NEXT_STAYS))
        weir__scan_large_next(run);
}

/* --- the pass --- */

static int open_spill(void *arg)
{
    (void)arg;
    return weir__scan_spill_open();
}

static void may_spill(struct weir__scan_repo *repo)
{
    if (weir_pool_permit_can_spill(weir_job_pool_permit(&repo->job)))
        repo->spill = (struct weir__git_spill){
            .open = open_spill,
            .bytes_max = repo->run->options->archives.spill_bytes_max,
        };
}

int weir__scan_large_try(struct weir__scan_repo *repo)
{
    repo->is_last = repo->run->options->history_bytes > 0;
    if (repo->is_last) {
        may_spill(repo);
        weir_lock_acquire(&repo->run->lock);
        repo->run->repos.large_all++;
        weir_lock_release(&repo->run->lock);
    } else if (repo->at_once == 1)
        return 0; /* it had all of it */
    repo->is_alone = true;
    return weir__scan_repo_pass(repo);
}

int weir__scan_large_pass(struct weir__scan_repo *repo)
{
    const struct weir_pool_permit *permit = weir_job_pool_permit(&repo->job);
    uint64_t bytes = weir_pool_permit_delta_cache_bytes(permit);
    repo->is_alone = true;
    repo->large_bytes = bytes - repo->plan_bytes; /* it asked for these and more */
    repo->is_last = true;
    may_spill(repo);
    return weir__scan_repo_pass(repo);
}

void weir__scan_large_options(const struct weir__scan_repo *repo,
                              struct weir__git_walk_options *options)
{
    options->delta_bytes = repo->large_bytes;
    if (!repo->spill.open)
        return;
    options->spill = &repo->spill;
    options->object_max = repo->spill.bytes_max;
    if (options->work_max / WORK_EACH < repo->spill.bytes_max)
        options->work_max = repo->spill.bytes_max * WORK_EACH;
}
