/* sched.c - the scheduler's life, what comes in, and how it ends.
 *
 * Happy path: submit takes the job's permits (sched_admit.c) and makes it ready; a worker
 * (sched_work.c) runs it, gives the permits back and calls done().
 *
 * State: every job is on one of two lists from submit until it is done, so that a drain finds them
 * all; where it is apart from that says its own state (sched_job.h). All of it changes under one
 * lock, which nobody holds while anything else is called.
 *
 * Failure modes: run() never returns: the drain cancels, interrupts and abandons as the crew does.
 * A worker that was abandoned, or a thread that is slow to hand over a permit, may still come back
 * when the owner has freed the scheduler: the memory is counted, and the last one frees it.
 */
#include "sched_job.h"

#include <string.h>

#include "assert.h"
#include "error.h"
#include "lock.h"
#include "memory.h"
#include "mutants.h"

#define BACKOFF_BASE_MIN_NS (10 * WEIR_NS_PER_MS)
#define BACKOFF_BASE_MAX_NS (20 * WEIR_NS_PER_MS)
#define BACKOFF_CAP_NS      (1 * WEIR_NS_PER_S)
#define BACKOFF_TRIES_MAX   1000u

static const struct weir_lock_class sched_class = {"sched", WEIR__RANK_SCHED};

/* ---- life cycle ---- */

static void set_default(uint64_t *field, uint64_t value)
{
    if (*field == 0)
        *field = value;
}

void weir__sched_unref(struct weir_sched *sched)
{
    weir_lock_acquire(&sched->lock);
    bool is_last = --sched->references == 0;
    weir_lock_release(&sched->lock);
    if (!is_last)
        return;
    weir_lock_fini(&sched->lock);
    weir__free(sched);
}

static int start_workers(struct weir_sched *sched)
{
    int error = 0;
    for (uint32_t i = 0; i < sched->options.workers && !error; i++) {
        weir_lock_acquire(&sched->lock);
        sched->references++;
        weir_lock_release(&sched->lock);
        error = weir_crew_start(sched->crew, "worker", weir__sched_worker, sched);
        if (error)
            weir__sched_unref(sched);
    }
    return error;
}

/* What is wrong with the options, and the defaults filled in. */
static int set_options(struct weir_sched *sched, const struct weir_sched_options *options)
{
    struct weir_sched_options *own = &sched->options;
    if (options)
        *own = *options;
    if (own->workers == 0 || own->workers > WEIR_CREW_THREADS_MAX)
        return weir__fail(WEIR_E_INVALID, sched->name,
                          "scheduler '$n': $1 workers asked for, it may be 1 to $2", own->workers,
                          WEIR_CREW_THREADS_MAX, 0);
    if (own->jobs_max == 0)
        own->jobs_max = WEIR_SCHED_JOBS_DEFAULT;
    set_default(&own->backoff.base_min_ns, BACKOFF_BASE_MIN_NS);
    set_default(&own->backoff.base_max_ns, BACKOFF_BASE_MAX_NS);
    set_default(&own->backoff.cap_ns, BACKOFF_CAP_NS);
    if (own->backoff.tries_max == 0)
        own->backoff.tries_max = BACKOFF_TRIES_MAX;
    set_default(&own->crew.drain_ns, WEIR_CREW_DRAIN_DEFAULT_NS);
    set_default(&own->crew.grace_ns, WEIR_CREW_GRACE_DEFAULT_NS);
    own->crew.threads_max = own->workers;
    if (own->crew.drain_ns > WEIR_CREW_TIME_MAX_NS)
        return weir__fail(WEIR_E_INVALID, sched->name,
                          "scheduler '$n': $1 ns to drain, it may be at most $2",
                          own->crew.drain_ns, WEIR_CREW_TIME_MAX_NS, 0);
    struct weir_backoff trial;
    return weir_backoff_init(&trial, &own->backoff);
}

int weir_sched_new(struct weir_sched **ret_sched, const char *name,
                   const struct weir_sched_options *options)
{
    struct weir_sched *sched = weir__alloc(1, sizeof(*sched));
    if (!sched)
        return weir__fail(WEIR_E_NO_MEMORY, name, "scheduler '$n': out of memory", 0, 0, 0);
    weir_lock_init(&sched->lock, &sched_class);
    sched->references = 1;
    sched->ready_end = &sched->ready;
    int error = weir__name_set(sched->name, name);
    if (!error)
        error = set_options(sched, options);
    if (!error)
        error = weir_histogram_init(&sched->wait_ns, weir_histogram_time_bounds_ns,
                                    WEIR_HISTOGRAM_TIME_COUNT);
    /* The drain of jobs has used the drain time up before the workers are told to stop. */
    struct weir_crew_options crew = sched->options.crew;
    crew.drain_ns = crew.grace_ns;
    if (!error)
        error = weir_crew_new(&sched->crew, name, &crew);
    if (!error)
        error = start_workers(sched);
    if (error) {
        if (sched->crew)
            weir_crew_drain(sched->crew, NULL);
        weir_crew_free(sched->crew);
        weir__sched_unref(sched);
        return error;
    }
    *ret_sched = sched;
    return 0;
}

void weir_sched_free(struct weir_sched *sched)
{
    if (!sched)
        return;
    WEIR__ASSERT(weir_crew_state(sched->crew) == WEIR_CREW_STOPPED, "scheduler", sched->name,
                 "freed before it was drained");
    weir_crew_free(sched->crew);
    weir__sched_unref(sched);
}

/* ---- jobs come in ---- */

static void list_push(struct weir_job **list, struct weir_job *job)
{
    job->_back = list;
    job->_next = *list;
    if (*list)
        (*list)->_back = &job->_next;
    *list = job;
}

/* All that a job has of its own, as if it had never been submitted. */
static void job_reset(struct weir_sched *sched, struct weir_job *job)
{
    job->_sched = sched;
    job->_state = WEIR__JOB_MOVING;
    job->_pins = 0;
    job->_result = 0;
    job->_is_admitted = job->_is_canceled = job->_has_started = job->_is_over = false;
    job->_submitted_ns = weir_now_ns();
    job->_read_permit = (struct weir_permit)WEIR_PERMIT_NONE;
    job->_slot_permit = (struct weir_slots_permit)WEIR_SLOTS_PERMIT_NONE;
    job->_pool_permit = (struct weir_pool_permit)WEIR_POOL_PERMIT_NONE;
    weir_cancel_init(&job->_cancel, NULL);
}

/* Under the lock: one more job, or why not. The reason is told without the lock. */
static int accept_job(struct weir_sched *sched, struct weir_job *job)
{
    if (sched->is_draining)
        return -WEIR_E_DRAINING;
    if (sched->stats.live - sched->ending >= sched->options.jobs_max) {
        sched->stats.busy++;
        return -WEIR_E_BUSY;
    }
    /* A seed is for the whole scheduler: jobs that failed together must not come back together. */
    struct weir_backoff_options backoff = sched->options.backoff;
    backoff.seed += backoff.seed ? sched->stats.submitted : 0;
    int error = weir_backoff_init(&job->_backoff, &backoff);
    if (error)
        return error;
    job_reset(sched, job);
    sched->stats.submitted++;
    sched->stats.live++;
    sched->references++;
    list_push(&sched->jobs, job);
    return 0;
}

static int refuse(struct weir_sched *sched, int error, uint64_t live)
{
    if (error == -WEIR_E_BUSY)
        return weir__fail(WEIR_E_BUSY, sched->name,
                          "scheduler '$n': $1 jobs accepted, $2 is the limit; try later", live,
                          sched->options.jobs_max, 0);
    if (error == -WEIR_E_DRAINING)
        return weir__fail(WEIR_E_DRAINING, sched->name,
                          "scheduler '$n': shutting down, takes no jobs", 0, 0, 0);
    return error;
}

int weir_sched_submit(struct weir_sched *sched, struct weir_job *job)
{
    int error = weir__job_check(sched, job);
    if (error) {
        weir_lock_acquire(&sched->lock);
        sched->stats.refused++;
        weir_lock_release(&sched->lock);
        return error;
    }
    bool waits_in_line = job->wait == WEIR_SCHED_IN_LINE;
    struct weir__wakes wakes = {0};
    weir_lock_acquire(&sched->lock);
    bool is_idle = job->_state == WEIR__JOB_IDLE;
    error = is_idle ? accept_job(sched, job) : 0;
    uint64_t live = sched->stats.live - sched->ending;
    if (is_idle && !error && !waits_in_line)
        weir__job_push_ready(sched, job, &wakes);
    weir__sched_release(sched, &wakes);
    WEIR__ASSERT(is_idle, "scheduler", sched->name,
                 "a job was submitted that is not done, or whose private fields are not zero");
    if (error)
        return refuse(sched, error, live);
    if (waits_in_line)
        weir__job_admit(sched, job);
    return 0;
}

void weir_sched_cancel(struct weir_job *job)
{
    struct weir_sched *sched = job->_sched;
    if (!sched)
        return;
    weir_lock_acquire(&sched->lock);
    uint32_t state = job->_state;
    bool acts = state != WEIR__JOB_IDLE && !job->_is_canceled;
    if (acts) {
        job->_is_canceled = true;
        job->_pins++;
    }
    weir_lock_release(&sched->lock);
    if (acts)
        weir__job_cancel_pinned(sched, job, state);
}

/* ---- and out ---- */

int weir_sched_wait(struct weir_sched *sched, const struct weir_deadline *deadline)
{
    struct weir__waiter me = {0};
    weir_lock_acquire(&sched->lock);
    bool waits = sched->stats.live > 0;
    if (waits)
        weir__line_append(&sched->watchers, &me);
    weir_lock_release(&sched->lock);
    if (!waits)
        return 0;
    int error = weir__park_wait(&me.place, deadline);
    if (!error)
        return 0;
    weir_lock_acquire(&sched->lock);
    if (me.is_in_line)
        weir__line_remove(&sched->watchers, &me);
    else
        error = 0;
    uint64_t live = sched->stats.live;
    weir_lock_release(&sched->lock);
    if (error == -WEIR_E_TIMEOUT)
        return weir__fail(WEIR_E_TIMEOUT, sched->name,
                          "scheduler '$n': $1 jobs were left when the deadline passed", live, 0, 0);
    if (error == -WEIR_E_CANCELED)
        return weir__fail(WEIR_E_CANCELED, sched->name,
                          "scheduler '$n': canceled while $1 jobs were waited for", live, 0, 0);
    if (error == -WEIR_E_INVALID)
        return weir__fail(
            WEIR_E_INVALID, sched->name,
            "scheduler '$n': would have to wait for ever; give a deadline or a cancel "
            "token",
            0, 0, 0);
    return error;
}

/* Moves the job to the list of the doomed, so that each is looked at once. */
static void cancel_all(struct weir_sched *sched)
{
    struct weir_job *job;
    do {
        uint32_t state = WEIR__JOB_IDLE;
        bool acts = false;
        weir_lock_acquire(&sched->lock);
        job = sched->jobs;
        if (job) {
            sched->jobs = job->_next;
            if (job->_next)
                job->_next->_back = &sched->jobs;
            list_push(&sched->doomed, job);
            state = job->_state;
            acts = !job->_is_canceled;
            job->_is_canceled = true;
            job->_pins += acts;
        }
        weir_lock_release(&sched->lock);
        if (acts)
            weir__job_cancel_pinned(sched, job, state);
    } while (job);
}

int weir_sched_drain(struct weir_sched *sched, struct weir_crew_report *ret_report)
{
    weir_lock_acquire(&sched->lock);
    bool is_first = !sched->is_draining;
    sched->is_draining = true;
    weir_lock_release(&sched->lock);
    if (!is_first)
        return weir__fail(WEIR_E_CLOSED, sched->name, "scheduler '$n': it is drained only once", 0,
                          0, 0);
    struct weir_deadline deadline = weir_deadline_in(sched->options.crew.drain_ns, NULL);
    int error = weir_sched_wait(sched, &deadline);
    if (error) {
        cancel_all(sched);
        deadline = weir_deadline_in(sched->options.crew.grace_ns, NULL);
        (void)!weir_sched_wait(sched, &deadline);
    }
    int stragglers = weir_crew_drain(sched->crew, ret_report);
    /* What becomes ready from now on, or has become so, is ended by who sees it. */
    struct weir__wakes wakes = {0};
    weir_lock_acquire(&sched->lock);
    sched->is_unmanned = true;
    weir__sched_release(sched, &wakes);
    return error ? error : stragglers;
}

void weir_sched_read(struct weir_sched *sched, struct weir_sched_stats *ret_stats)
{
    weir_lock_acquire(&sched->lock);
    *ret_stats = sched->stats;
    uint64_t ending = sched->ending;
    weir_lock_release(&sched->lock);
    /* What is accepted and nowhere else waits, or is between two of these. */
    ret_stats->waiting = ret_stats->live - ret_stats->ready - ret_stats->running - ending;
    weir_histogram_read(&sched->wait_ns, &ret_stats->wait_ns);
}

const char *weir_sched_name(const struct weir_sched *sched)
{
    return sched->name;
}

struct weir_crew *weir_sched_crew(struct weir_sched *sched)
{
    return sched->crew;
}
