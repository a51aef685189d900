/* scan_job.c - the jobs that the threads of a scan give each other, and how the run ends.
 *
 * State: `open` counts the jobs that are somewhere (being made, in the queue, with a worker) and
 * the thread that hands out paths; `idle` the workers that are about to wait for a job or do. Both
 * are guarded by the lock of the run, which is never held while the queue is.
 *
 * Happy path: a job is counted before anybody can see it, and let go of when all that came of it
 * has been counted too. So `open` is 0 once, when nothing is left anywhere; who brings it there
 * closes the queue, and everybody ends.
 *
 * Failure modes: the run is stopped: senders and takers are called off by the token, and what is
 * left in the queue is freed by whoever ends the run. The queue is full: an offer is refused, and
 * the worker does it himself. An offer that races with the end of a wait may find nobody idle any
 * more: it then lies in the queue until the next one asks, which he does before he waits.
 */
#include "scan_part.h"

#include <string.h>

#include "alloc.h"
#include "job_mutants.h"
#include "sys.h"

#include "banned.h"

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
    if (job && job->release)
        job->release(job);
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
    if (is_last && !WEIR__JOB_MUTANT(JOB_LAST_DOES_NOT_CLOSE))
        weir_queue_close(&run->jobs);
}

int weir__job_send(struct weir__scan *run, struct weir__job *job)
{
    struct weir_deadline deadline = weir_deadline_until(&run->stop);
    if (!WEIR__JOB_MUTANT(JOB_SENT_COUNTS_LATE))
        open_job(run);
    int result = weir_queue_send(&run->jobs, &job, &deadline);
    if (WEIR__JOB_MUTANT(JOB_SENT_COUNTS_LATE))
        open_job(run);
    if (result < 0 && !WEIR__JOB_MUTANT(JOB_UNSENT_STAYS_OPEN))
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
    struct weir_deadline deadline = weir_deadline_until(&run->stop);
    if (!WEIR__JOB_MUTANT(JOB_OFFER_NOT_COUNTED))
        open_job(run);
    int result = WEIR__JOB_MUTANT(JOB_OFFER_WAITS) ? weir_queue_send(&run->jobs, &job, &deadline)
                                                   : weir_queue_try_send(&run->jobs, &job);
    if (result == 0)
        return true;
    weir__job_done(run); /* never the last: the one that the caller is at is open */
    return false;
}

int weir__job_take(struct weir__scan *run, struct weir__job **ret_job)
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
