/* sched.c - jobs, workers, and the end of both.
 *
 * Happy path: submit takes the job's permits (sched_admit.c) and makes it ready; a worker runs it,
 * gives the permits back and calls done().
 *
 * Lists: `ready` first in first out, `delayed` by time for jobs that back off, `jobs` of all that
 * are accepted. Whoever makes a job ready wakes one idle worker; a worker looks at the lists again
 * under the lock before it sleeps, so no job is left lying.
 *
 * Pins: cancel works on a job from outside while a worker may be ending it. A pinned job is not
 * done until the last pin is gone; whoever takes that one hands the job back to a worker.
 *
 * Failure modes: run() never returns: the drain cancels, interrupts and abandons as the crew does.
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

/* ---- lists, under the lock ---- */

static void jobs_add(struct weir_sched *sched, struct weir_job *job)
{
    job->_prev = NULL;
    job->_next = sched->jobs;
    if (sched->jobs)
        sched->jobs->_prev = job;
    sched->jobs = job;
}

static void jobs_remove(struct weir_sched *sched, struct weir_job *job)
{
    if (job->_prev)
        job->_prev->_next = job->_next;
    else
        sched->jobs = job->_next;
    if (job->_next)
        job->_next->_prev = job->_prev;
}

/* Appends to the ready list and takes one idle worker out of its sleep. */
static void push_ready(struct weir_sched *sched, struct weir_job *job, struct weir__wakes *wakes)
{
    job->_state = WEIR__JOB_READY;
    job->_ready_next = NULL;
    *sched->ready_end = job;
    sched->ready_end = &job->_ready_next;
    sched->stats.ready++;
    if (sched->idle && !WEIR__MUTANT(SCHED_READY_WAKES_NOBODY))
        weir__line_settle(&sched->idle, sched->idle, 0, wakes);
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
    return job;
}

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
static void ready_the_due(struct weir_sched *sched, uint64_t now_ns, struct weir__wakes *wakes)
{
    while (sched->delayed && sched->delayed->_retry_at_ns <= now_ns &&
           !weir__wakes_is_full(wakes)) {
        struct weir_job *job = sched->delayed;
        sched->delayed = job->_ready_next;
        push_ready(sched, job, wakes);
    }
}

void weir__job_make_ready(struct weir_sched *sched, struct weir_job *job, int result)
{
    struct weir__wakes wakes = {0};
    weir_lock_acquire(&sched->lock);
    job->_result = result;
    job->_is_over = result != 0;
    job->_is_admitted = result == 0;
    push_ready(sched, job, &wakes);
    weir_lock_release(&sched->lock);
    weir__wakes_send(&wakes);
}

/* ---- the end of a job ---- */

/* The job is over, unless somebody has it pinned. Called by a worker that has it RUNNING. */
static void finish(struct weir_sched *sched, struct weir_job *job, int result)
{
    weir__job_release(job);
    struct weir__wakes wakes = {0};
    weir_lock_acquire(&sched->lock);
    sched->stats.running--;
    job->_result = result;
    job->_is_over = true;
    bool is_pinned = job->_pins > 0 && !WEIR__MUTANT(SCHED_PIN_IGNORED);
    job->_state = is_pinned ? WEIR__JOB_PINNED : WEIR__JOB_IDLE;
    if (!is_pinned)
        jobs_remove(sched, job);
    weir_lock_release(&sched->lock);
    if (is_pinned)
        return;

    weir_cancel_fini(&job->_cancel);
    job->done(job, result); /* may free it */

    weir_lock_acquire(&sched->lock);
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
}

static void unpin(struct weir_sched *sched, struct weir_job *job)
{
    struct weir__wakes wakes = {0};
    weir_lock_acquire(&sched->lock);
    if (--job->_pins == 0 && job->_state == WEIR__JOB_PINNED)
        push_ready(sched, job, &wakes);
    weir_lock_release(&sched->lock);
    weir__wakes_send(&wakes);
}

void weir__job_cancel_waiting(struct weir_sched *sched, struct weir_job *job)
{
    if (weir__job_leave_line(sched, job))
        weir__job_make_ready(sched, job, -WEIR_E_CANCELED);
    unpin(sched, job);
}

/* Ends a job that is pinned, marked as canceled, and was seen in that state then. */
static void cancel_pinned(struct weir_sched *sched, struct weir_job *job, uint32_t state)
{
    if (state == WEIR__JOB_WAITING) {
        weir__job_cancel_waiting(sched, job);
        return;
    }
    if (state == WEIR__JOB_RUNNING)
        weir_cancel_fire(&job->_cancel);
    if (state == WEIR__JOB_DELAYED) {
        struct weir__wakes wakes = {0};
        weir_lock_acquire(&sched->lock);
        if (job->_state == WEIR__JOB_DELAYED && delayed_remove(sched, job))
            push_ready(sched, job, &wakes);
        weir_lock_release(&sched->lock);
        weir__wakes_send(&wakes);
    }
    unpin(sched, job); /* in any other state whoever moves it sees the mark */
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
        cancel_pinned(sched, job, state);
}

/* ---- workers ---- */

/* A job that backs off found no permits: puts it aside until its time. */
static void put_aside(struct weir_sched *sched, struct weir_job *job)
{
    uint64_t delay_ns = 0;
    if (weir_backoff_next(&job->_backoff, &delay_ns)) {
        finish(sched, job, -WEIR_E_EXHAUSTED);
        return;
    }
    struct weir__wakes wakes = {0};
    weir_lock_acquire(&sched->lock);
    sched->stats.running--;
    sched->stats.backoffs++;
    job->_retry_at_ns = weir_time_add(weir_now_ns(), delay_ns);
    bool is_first = !sched->delayed || job->_retry_at_ns < sched->delayed->_retry_at_ns;
    if (job->_is_canceled)
        push_ready(sched, job, &wakes);
    else
        delayed_add(sched, job);
    /* An idle worker may sleep past the new time. */
    if (is_first && sched->idle && !weir__wakes_is_full(&wakes))
        weir__line_settle(&sched->idle, sched->idle, 0, &wakes);
    weir_lock_release(&sched->lock);
    weir__wakes_send(&wakes);
}

/* The job asked to be admitted anew, behind the others. */
static void start_over(struct weir_sched *sched, struct weir_job *job)
{
    struct weir__wakes wakes = {0};
    weir__job_release(job);
    weir_backoff_reset(&job->_backoff);
    weir_lock_acquire(&sched->lock);
    sched->stats.running--;
    sched->stats.again++;
    job->_is_admitted = false;
    bool waits_in_line = job->wait == WEIR_SCHED_IN_LINE;
    if (waits_in_line)
        job->_state = WEIR__JOB_MOVING;
    else
        push_ready(sched, job, &wakes);
    weir_lock_release(&sched->lock);
    weir__wakes_send(&wakes);
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

static void work_on(struct weir_sched *sched, struct weir_job *job)
{
    if (job->_is_over) {
        finish(sched, job, job->_result);
        return;
    }
    if (!job->_is_admitted) {
        int error = weir__job_try_admit(sched, job);
        if (error == -WEIR_E_BUSY) {
            put_aside(sched, job);
            return;
        }
        if (error) {
            finish(sched, job, error);
            return;
        }
    }
    if (!begins(sched, job)) {
        finish(sched, job, -WEIR_E_CANCELED);
        return;
    }
    struct weir_deadline deadline = weir_deadline_until(&job->_cancel);
    int result = job->run(job, &deadline);
    if (result == WEIR_JOB_AGAIN)
        start_over(sched, job);
    else
        finish(sched, job, result > 0 ? 0 : result);
}

/* The next job, or NULL when the crew stops. */
static struct weir_job *next_job(struct weir_sched *sched, struct weir_cancel *stop)
{
    for (;;) {
        struct weir__waiter me = {0};
        struct weir__wakes wakes = {0};
        struct weir_deadline until = weir_deadline_until(stop);
        weir_lock_acquire(&sched->lock);
        ready_the_due(sched, weir_now_ns(), &wakes);
        struct weir_job *job = pop_ready(sched);
        bool stops = !job && weir_cancel_is_fired(stop);
        if (!job && !stops) {
            weir__line_append(&sched->idle, &me);
            if (sched->delayed)
                until.at_ns = sched->delayed->_retry_at_ns;
        }
        weir_lock_release(&sched->lock);
        weir__wakes_send(&wakes);
        if (job || stops)
            return job;
        int error = weir__park_wait(&me.place, &until);
        if (error) {
            weir_lock_acquire(&sched->lock);
            if (me.is_in_line)
                weir__line_remove(&sched->idle, &me);
            weir_lock_release(&sched->lock);
        }
    }
}

static int worker(struct weir_crew_self *self, void *arg)
{
    struct weir_sched *sched = arg;
    for (struct weir_job *job; (job = next_job(sched, self->stop));)
        work_on(sched, job);
    return 0;
}

/* ---- life cycle ---- */

static void set_default(uint64_t *field, uint64_t value)
{
    if (*field == 0)
        *field = value;
}

static int start_workers(struct weir_sched *sched)
{
    for (uint32_t i = 0; i < sched->options.workers; i++) {
        int error = weir_crew_start(sched->crew, "worker", worker, sched);
        if (error)
            return error;
    }
    return 0;
}

/* What is wrong with the options, and the defaults filled in. */
static int set_options(struct weir_sched *sched, const struct weir_sched_options *options)
{
    sched->options = *options;
    struct weir_sched_options *own = &sched->options;
    if (own->workers == 0)
        return weir__fail(WEIR_E_INVALID, sched->name,
                          "scheduler '$n': 0 workers asked for, at least 1 is needed", 0, 0, 0);
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
        weir__free(sched);
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
    struct weir_crew_report report;
    weir_crew_read(sched->crew, &report);
    weir_crew_free(sched->crew);
    /* A worker that was abandoned may still come back to us: then the memory stays for it. */
    if (report.kind_count > 0 && report.kinds[0].abandoned > 0)
        return;
    weir_lock_fini(&sched->lock);
    weir__free(sched);
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
    job->_sched = sched;
    job->_state = WEIR__JOB_MOVING;
    job->_pins = 0;
    job->_result = 0;
    job->_is_admitted = job->_is_canceled = job->_has_started = job->_is_over = false;
    job->_submitted_ns = weir_now_ns();
    job->_read_permit = (struct weir_permit)WEIR_PERMIT_NONE;
    job->_slot_permit = (struct weir_slots_permit)WEIR_SLOTS_PERMIT_NONE;
    job->_pool_permit = (struct weir_pool_permit)WEIR_POOL_PERMIT_NONE;
    error = weir_backoff_init(&job->_backoff, &sched->options.backoff);
    if (error)
        return error;
    weir_cancel_init(&job->_cancel, weir_crew_abort_token(sched->crew));

    struct weir__wakes wakes = {0};
    bool waits_in_line = job->wait == WEIR_SCHED_IN_LINE;
    weir_lock_acquire(&sched->lock);
    uint64_t live = sched->stats.live;
    if (sched->is_draining)
        error = -WEIR_E_DRAINING;
    else if (live >= sched->options.jobs_max)
        error = -WEIR_E_BUSY;
    sched->stats.busy += error == -WEIR_E_BUSY;
    if (!error) {
        sched->stats.submitted++;
        sched->stats.live++;
        jobs_add(sched, job);
        if (!waits_in_line)
            push_ready(sched, job, &wakes);
    }
    weir_lock_release(&sched->lock);
    weir__wakes_send(&wakes);
    if (error) {
        weir_cancel_fini(&job->_cancel);
        job->_sched = NULL;
        return error == -WEIR_E_BUSY
                   ? weir__fail(WEIR_E_BUSY, sched->name,
                                "scheduler '$n': $1 jobs accepted, $2 is the limit; try later",
                                live, sched->options.jobs_max, 0)
                   : weir__fail(WEIR_E_DRAINING, sched->name,
                                "scheduler '$n': shutting down, takes no jobs", 0, 0, 0);
    }
    if (waits_in_line)
        weir__job_admit(sched, job);
    return 0;
}

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
    return error;
}

static void cancel_all(struct weir_sched *sched)
{
    struct weir_job *job;
    do {
        uint32_t state = WEIR__JOB_IDLE;
        weir_lock_acquire(&sched->lock);
        for (job = sched->jobs; job && job->_is_canceled; job = job->_next) {}
        if (job) {
            state = job->_state;
            job->_is_canceled = true;
            job->_pins++;
        }
        weir_lock_release(&sched->lock);
        if (job)
            cancel_pinned(sched, job, state);
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
    return error ? error : stragglers;
}

void weir_sched_read(struct weir_sched *sched, struct weir_sched_stats *ret_stats)
{
    weir_lock_acquire(&sched->lock);
    *ret_stats = sched->stats;
    weir_lock_release(&sched->lock);
    /* What is accepted and neither ready nor running waits, or is between two of these. */
    ret_stats->waiting = ret_stats->live - ret_stats->ready - ret_stats->running;
    weir_histogram_read(&sched->wait_ns, &ret_stats->wait_ns);
}

const char *weir_sched_name(const struct weir_sched *sched)
{
    return sched->name;
}
