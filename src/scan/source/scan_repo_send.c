/* scan_repo_send.c - shards on their way: handed out by the leader, held by whoever has them.
 *
 * A shard holds its repository and its pack from before it is sent until its job is freed, by who
 * has done it, by who could not send it, or by who empties the queue of a run that was stopped. It
 * has a permit of the repository's frontier for as long, so the leader knows that all are done when
 * it has all of the frontier's bytes.
 */
#include "scan_repo.h"

#include "alloc.h"
#include "job_mutants.h"

#include "banned.h"

/* --- who uses it --- */

void weir__scan_repo_hold(struct weir__scan_repo *repo)
{
    weir_lock_acquire(&repo->run->lock);
    repo->users++;
    weir_lock_release(&repo->run->lock);
}

void weir__scan_repo_drop(struct weir__scan_repo *repo)
{
    struct weir__scan *run = repo->run;
    weir_lock_acquire(&run->lock);
    bool is_last = --repo->users == 0;
    weir_lock_release(&run->lock);
    if (is_last)
        weir__scan_repo_free(repo);
}

void weir__scan_pack_drop(struct weir__scan *run, struct weir__scan_pack *pack)
{
    if (!pack)
        return;
    weir_lock_acquire(&run->lock);
    bool is_last = --pack->users == 0;
    run->repos.plans -= is_last && pack->is_planned;
    weir_lock_release(&run->lock);
    if (is_last)
        weir__scan_pack_free(pack);
}

/* --- handing out --- */

/* Gives back what the shard has; its repository may go with it. */
static void release_shard(struct weir__job *job)
{
    struct weir__scan_shard *shard = job->shard;
    struct weir__scan_repo *repo = shard->repo;
    weir__scan_pack_drop(repo->run, shard->pack);
    if (!WEIR__JOB_MUTANT(SHARD_PERMIT_KEPT))
        weir_frontier_permit_release(&shard->permit);
    weir__base_free(shard);
    weir__scan_repo_drop(repo);
}

static int admit(struct weir__scan_repo *repo, struct weir__scan_shard *shard)
{
    struct weir_deadline deadline = weir_deadline_until(&repo->run->stop);
    bool has_all = repo->is_alone && !WEIR__JOB_MUTANT(SHARD_ALONE_HAS_ONE_PART);
    uint64_t bytes = repo->shard_bytes * (has_all ? repo->at_once : 1);
    return weir_frontier_acquire(&repo->shards, bytes, &shard->permit, &deadline);
}

int weir__scan_shard_send(struct weir__scan_repo *repo, struct weir__scan_pack *pack,
                          enum weir__scan_part part, uint32_t from, uint32_t until)
{
    struct weir__scan *run = repo->run;
    struct weir__job *job = weir__job_new(WEIR__JOB_SHARD, repo->path, repo->path_length, 0);
    struct weir__scan_shard *shard = weir__base_alloc(1, sizeof(*shard));
    int result = job && shard ? admit(repo, shard) : -WEIR_E_NO_MEMORY;
    if (result < 0) {
        weir__base_free(shard);
        weir__job_free(job);
        return result;
    }
    shard->repo = repo;
    shard->pack = pack;
    shard->part = part;
    shard->from = from;
    shard->until = until;
    weir__scan_repo_hold(repo);
    if (pack && !WEIR__JOB_MUTANT(SHARD_HOLDS_NO_PACK)) {
        weir_lock_acquire(&run->lock);
        pack->users++;
        weir_lock_release(&run->lock);
    }
    job->shard = shard;
    job->release = release_shard;
    result = weir__job_send(run, job);
    if (result < 0 && !WEIR__JOB_MUTANT(SHARD_UNSENT_IS_LOST))
        weir__job_free(job);
    return result;
}

int weir__scan_shards_wait(struct weir__scan_repo *repo)
{
    struct weir_deadline deadline = weir_deadline_until(&repo->run->stop);
    struct weir_frontier_permit all = WEIR_FRONTIER_PERMIT_NONE;
    struct weir_frontier_stats stats;
    weir_frontier_read(&repo->shards, &stats);
    uint64_t bytes = WEIR__JOB_MUTANT(SHARDS_HALF_WAITED) ? 1 : stats.bytes_max;
    int result = weir_frontier_acquire(&repo->shards, bytes, &all, &deadline);
    weir_frontier_permit_release(&all);
    return result;
}
