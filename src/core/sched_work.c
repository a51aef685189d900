/* sched_work.c - workers, and the end of jobs.
 *
 * Lists: `ready` first in first out, `delayed` by time for jobs that back off. Whoever makes a job
 * ready wakes one idle worker; a worker looks at the lists again under the lock before it sleeps,
 * so no job is left lying.
 *
 * Time: of the idle workers one, the keeper, sleeps until the first of the delayed is due; the
 * others sleep until they are woken. A worker that goes off with a job sees to it that there is a
 * keeper, since it may have been the one itself.
 *
 * Pins: cancel works on a job from outside while a worker may be ending it. A pinned job is not
 * done until the last pin is gone; whoever takes that one hands the job back to a worker.
 *
 * Failure modes: a drain ran out of time, and a job becomes ready when all workers have gone: the
 * thread that made it ready ends it, with Canceled.
 */
#include "assert.h"
#include "error.h"
#include "lock.h"
#include "mutants.h"
#include "sched_job.h"

/* ---- lists, under the lock ---- */

static void wake_idle(struct weir_sched *sched, struct weir__waiter *worker,
                      struct weir__wakes *wakes)
{
    if (sched->keeper == worker)
        sched->keeper = NULL;
    weir__line_settle(&sched->idle, worker, 0, wakes);
}

void weir__job_push_ready(struct weir_sched *sched, struct weir_job *job, struct weir__wakes *wakes)
{
    job->_state = WEIR__JOB_READY;
    job->_ready_next = NULL;
    *sched->ready_end = job;
    sched->ready_end = &job->_ready_next;
    sched->stats.ready++;
    if (sched->idle && !WEIR__MUTANT(SCHED_READY_WAKES_NOBODY))
        wake_idle(sched, sched->idle, wakes);
}

static struct weir_job *pop_ready(struct weir_sched *sched)
{
    struct weir_job *job = sched->ready;
    if (!job)
        return NULL;
    sched->ready = job->_ready_next;
    if (!sched->ready)
        sched->ready_end = &sched->ready;
    sched->stats.ready--;
    sched->stats.running++;
    job->_state = WEIR__JOB_RUNNING;
    if (job->_is_canceled && !job->_is_over) {
        job->_is_over = true;
        job->_result = -WEIR_E_CANCELED;
    }
    return job;
}

struct weir_job *weir__sched_pop_ready(struct weir_sched *sched)
{
    weir_lock_acquire(&sched->lock);
    struct weir_job *job = pop_ready(sched);
    weir_lock_release(&sched->lock);
    return job;
}

/* Linear in the number of the delayed, which jobs_max bounds. */
static void delayed_add(struct weir_sched *sched, struct weir_job *job)
{
    struct weir_job **at = &sched->delayed;
    while (*at && (*at)->_retry_at_ns <= job->_retry_at_ns)
        at = &(*at)->_ready_next;
    job->_ready_next = *at;
    *at = job;
    job->_state = WEIR__JOB_DELAYED;
}

static bool delayed_remove(struct weir_sched *sched, struct weir_job *job)
{
    for (struct weir_job **at = &sched->delayed; *at; at = &(*at)->_ready_next) {
        if (*at == job) {
            *at = job->_ready_next;
            return true;
        }
    }
    return false;
}

/* Makes those ready whose time has come, as many as can be woken for at once. */
static void ready_the_due(struct weir_sched *sched, struct weir__wakes *wakes)
{
    uint64_t now_ns = sched->delayed ? weir_now_ns() : 0;
    while (sched->delayed && sched->delayed->_retry_at_ns <= now_ns &&
           !weir__wakes_is_full(wakes)) {
        struct weir_job *job = sched->delayed;
        sched->delayed = job->_ready_next;
        weir__job_push_ready(sched, job, wakes);
    }
}

/* ---- the end of a job ---- */

/* Done with: counts it, and tells those who wait for the last one. Gives up the job's reference. */
static void count_done(struct weir_sched *sched, int result)
{
    struct weir__wakes wakes = {0};
    weir_lock_acquire(&sched->lock);
    sched->ending--;
    sched->stats.done++;
    sched->stats.canceled += result == -WEIR_E_CANCELED;
    sched->stats.failed += result < 0 && result != -WEIR_E_CANCELED;
    sched->stats.live--;
    while (sched->stats.live == 0 && sched->watchers) {
        if (weir__wakes_is_full(&wakes)) {
            weir_lock_release(&sched->lock);
            weir__wakes_send(&wakes);
            weir_lock_acquire(&sched->lock);
            continue;
        }
        weir__line_settle(&sched->watchers, sched->watchers, 0, &wakes);
    }
    weir_lock_release(&sched->lock);
    weir__wakes_send(&wakes);
    weir__sched_unref(sched);
}

static void jobs_remove(struct weir_job *job)
{
    *job->_back = job->_next;
    if (job->_next)
        job->_next->_back = job->_back;
}

/* The job is over, unless somebody has it pinned. Called by the thread that has it RUNNING. */
static void finish(struct weir_sched *sched, struct weir_job *job, int result)
{
    weir__job_release(job);
    weir_lock_acquire(&sched->lock);
    sched->stats.running--;
    job->_result = result;
    job->_is_over = true;
    bool is_pinned = job->_pins > 0 && !WEIR__MUTANT(SCHED_PIN_IGNORED);
    job->_state = is_pinned ? WEIR__JOB_PINNED : WEIR__JOB_IDLE;
    if (!is_pinned) {
        jobs_remove(job);
        sched->ending++;
    }
    weir_lock_release(&sched->lock);
    if (is_pinned)
        return;
    weir_cancel_fini(&job->_cancel);
    job->done(job, result); /* may free it */
    count_done(sched, result);
}

void weir__sched_release(struct weir_sched *sched, struct weir__wakes *wakes)
{
    bool ends_here = sched->is_unmanned && sched->ready;
    sched->references += ends_here;
    weir_lock_release(&sched->lock);
    weir__wakes_send(wakes);
    if (!ends_here)
        return;
    for (struct weir_job *job; (job = weir__sched_pop_ready(sched));)
        finish(sched, job, job->_is_over ? job->_result : -WEIR_E_CANCELED);
    weir__sched_unref(sched);
}

void weir__job_make_ready(struct weir_sched *sched, struct weir_job *job, int result)
{
    struct weir__wakes wakes = {0};
    weir_lock_acquire(&sched->lock);
    job->_result = result;
    job->_is_over = result != 0;
    job->_is_admitted = result == 0;
    weir__job_push_ready(sched, job, &wakes);
    weir__sched_release(sched, &wakes);
}

/* ---- cancel ---- */

static void unpin(struct weir_sched *sched, struct weir_job *job)
{
    struct weir__wakes wakes = {0};
    weir_lock_acquire(&sched->lock);
    if (--job->_pins == 0 && job->_state == WEIR__JOB_PINNED)
        weir__job_push_ready(sched, job, &wakes);
    weir__sched_release(sched, &wakes);
}

void weir__job_cancel_pinned(struct weir_sched *sched, struct weir_job *job, uint32_t state)
{
    if (state == WEIR__JOB_WAITING && weir__job_leave_line(sched, job))
        weir__job_make_ready(sched, job, -WEIR_E_CANCELED);
    if (state == WEIR__JOB_RUNNING)
        weir_cancel_fire(&job->_cancel);
    if (state == WEIR__JOB_DELAYED) {
        struct weir__wakes wakes = {0};
        weir_lock_acquire(&sched->lock);
        if (job->_state == WEIR__JOB_DELAYED && delayed_remove(sched, job))
            weir__job_push_ready(sched, job, &wakes);
        weir__sched_release(sched, &wakes);
    }
    unpin(sched, job); /* in any other state whoever moves it sees the mark */
}

/* ---- workers ---- */

/* Says why a job ends that never ran, for done() to ask. */
static int explain(struct weir_sched *sched, int error)
{
    switch (-error) {
    case WEIR_E_CANCELED:
        return weir__fail(WEIR_E_CANCELED, sched->name,
                          "scheduler '$n': the job was canceled before it ran", 0, 0, 0);
    case WEIR_E_TOO_LARGE:
        return weir__fail(WEIR_E_TOO_LARGE, sched->name,
                          "scheduler '$n': a resize left too little for the job", 0, 0, 0);
    default:
        return weir__fail(-error, sched->name, "scheduler '$n': the job could not be admitted", 0,
                          0, 0);
    }
}

/* A job that backs off found no permits: puts it aside until its time. */
static void put_aside(struct weir_sched *sched, struct weir_job *job)
{
    uint64_t delay_ns = 0;
    if (weir_backoff_next(&job->_backoff, &delay_ns)) {
        finish(sched, job,
               weir__fail(WEIR_E_EXHAUSTED, sched->name,
                          "scheduler '$n': the job found its permits taken in $1 tries, $1 is the "
                          "limit",
                          sched->options.backoff.tries_max, 0, 0));
        return;
    }
    struct weir__wakes wakes = {0};
    job->_retry_at_ns = weir_time_add(weir_now_ns(), delay_ns);
    weir_lock_acquire(&sched->lock);
    sched->stats.running--;
    sched->stats.backoffs++;
    if (job->_is_canceled)
        weir__job_push_ready(sched, job, &wakes);
    else
        delayed_add(sched, job);
    /* The keeper may sleep past the new time. */
    if (sched->delayed == job && sched->idle)
        wake_idle(sched, sched->keeper ? sched->keeper : sched->idle, &wakes);
    weir__sched_release(sched, &wakes);
}

/* The job asked to be admitted anew, behind the others. */
static void start_over(struct weir_sched *sched, struct weir_job *job)
{
    struct weir__wakes wakes = {0};
    weir__job_release(job);
    /* It may have changed what it asks for. */
    int error = weir__job_check(sched, job);
    if (error) {
        finish(sched, job, error);
        return;
    }
    weir_backoff_reset(&job->_backoff);
    bool waits_in_line = job->wait == WEIR_SCHED_IN_LINE;
    weir_lock_acquire(&sched->lock);
    sched->stats.running--;
    sched->stats.again++;
    job->_is_admitted = false;
    if (waits_in_line)
        job->_state = WEIR__JOB_MOVING;
    else
        weir__job_push_ready(sched, job, &wakes);
    weir__sched_release(sched, &wakes);
    if (waits_in_line)
        weir__job_admit(sched, job);
}

/* Notes that it starts; false when it has been canceled instead. */
static bool begins(struct weir_sched *sched, struct weir_job *job)
{
    weir_lock_acquire(&sched->lock);
    bool runs = !job->_is_canceled;
    bool is_first = runs && !job->_has_started;
    job->_has_started |= runs;
    sched->stats.starts += runs;
    weir_lock_release(&sched->lock);
    if (is_first)
        weir_histogram_observe(&sched->wait_ns, weir_now_ns() - job->_submitted_ns);
    return runs;
}

void weir__job_work_on(struct weir_sched *sched, struct weir_job *job)
{
    int result = job->_is_over ? job->_result : 0;
    if (job->_is_over) {
        finish(sched, job, job->_has_started ? result : explain(sched, result));
        return;
    }
    if (!job->_is_admitted)
        result = weir__job_try_admit(sched, job);
    if (result == -WEIR_E_BUSY) {
        put_aside(sched, job);
        return;
    }
    if (!result && !begins(sched, job))
        result = explain(sched, -WEIR_E_CANCELED);
    if (!result) {
        struct weir_deadline deadline = weir_deadline_until(&job->_cancel);
        result = job->run(job, &deadline);
        WEIR__ASSERT(result <= 0 || result == WEIR_JOB_AGAIN, "scheduler", sched->name,
                     "a job's run() returned neither 0, nor WEIR_JOB_AGAIN, nor an error");
    }
    if (result == WEIR_JOB_AGAIN)
        start_over(sched, job);
    else
        finish(sched, job, result);
}

/* A worker goes off, with a job or for good: somebody else has to watch the time. */
static void appoint_keeper(struct weir_sched *sched, struct weir__wakes *wakes)
{
    if (sched->delayed && !sched->keeper && sched->idle && !weir__wakes_is_full(wakes) &&
        !WEIR__MUTANT(SCHED_NOBODY_KEEPS_TIME))
        wake_idle(sched, sched->idle, wakes);
}

/* The next job, or NULL when the crew stops. */
static struct weir_job *next_job(struct weir_sched *sched, struct weir_cancel *stop)
{
    for (;;) {
        struct weir__waiter me = {0};
        struct weir__wakes wakes = {0};
        struct weir_deadline until = weir_deadline_until(stop);
        weir_lock_acquire(&sched->lock);
        ready_the_due(sched, &wakes);
        struct weir_job *job = pop_ready(sched);
        bool stops = !job && weir_cancel_is_fired(stop);
        if (job || stops) {
            appoint_keeper(sched, &wakes);
        } else {
            weir__line_append(&sched->idle, &me);
            if (sched->delayed && !sched->keeper) {
                sched->keeper = &me;
                until.at_ns = sched->delayed->_retry_at_ns;
            }
        }
        weir_lock_release(&sched->lock);
        weir__wakes_send(&wakes);
        if (job || stops)
            return job;
        if (weir__park_wait(&me.place, &until) == 0)
            continue;
        weir_lock_acquire(&sched->lock);
        if (me.is_in_line)
            weir__line_remove(&sched->idle, &me);
        if (sched->keeper == &me)
            sched->keeper = NULL;
        weir_lock_release(&sched->lock);
    }
}

int weir__sched_worker(struct weir_crew_self *self, void *arg)
{
    struct weir_sched *sched = arg;
    for (struct weir_job *job; (job = next_job(sched, self->stop));)
        weir__job_work_on(sched, job);
    weir__sched_unref(sched);
    return 0;
}
