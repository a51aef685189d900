/* sched_admit.c - how a job gets its permits: read tokens or a device slot, then the pool.
 *
 * Each step either has its permit at once, or joins the line of its resource with a callback. The
 * callback comes from the thread that gave something back, perhaps before the call that joined has
 * returned; ENTERING and ENTERED (sched_job.h) see to it that the job is moved by one thread all
 * the same, and that nobody touches a job that may be gone. Callbacks only move the job on: running
 * and ending is for workers, so nothing recurses.
 */
#include "sched_job.h"

#include "error.h"
#include "mutants.h"

enum { STEP_READS, STEP_SLOT, STEP_POOL, STEPS };

static bool needs(const struct weir_job *job, int step)
{
    switch (step) {
    case STEP_READS:
        return weir_io_uses_read_tokens(job->io_model) && job->read_tokens > 0;
    case STEP_SLOT:
        return weir_io_uses_device_slots(job->io_model);
    default:
        return job->pool.scan_ring_bytes || job->pool.delta_cache_bytes ||
               job->pool.needs_spill_slot;
    }
}

static bool has(const struct weir_job *job, int step)
{
    switch (step) {
    case STEP_READS:
        return weir_permit_is_held(&job->_read_permit);
    case STEP_SLOT:
        return weir_slots_permit_is_held(&job->_slot_permit);
    default:
        return weir_pool_permit_is_held(&job->_pool_permit);
    }
}

/* The first step that is still to be taken. */
static int next_step(const struct weir_job *job)
{
    int step = STEP_READS;
    while (step < STEPS && (!needs(job, step) || has(job, step)))
        step++;
    return step;
}

static int check_pool(struct weir_sched *sched, const struct weir_pool_request *request)
{
    uint64_t ring = weir_pool_scan_ring_total(sched->options.pool);
    uint64_t cache = weir_pool_delta_cache_total(sched->options.pool);
    if (request->scan_ring_bytes > ring)
        return weir__fail(WEIR_E_TOO_LARGE, sched->name,
                          "scheduler '$n': the job needs a scan ring of $1 bytes, there are $2",
                          request->scan_ring_bytes, ring, 0);
    if (request->delta_cache_bytes > cache)
        return weir__fail(WEIR_E_TOO_LARGE, sched->name,
                          "scheduler '$n': the job needs a delta cache of $1 bytes, there are $2",
                          request->delta_cache_bytes, cache, 0);
    if (request->delta_cache_bytes > UINT64_MAX - request->scan_ring_bytes)
        return weir__fail(WEIR_E_TOO_LARGE, sched->name,
                          "scheduler '$n': the job needs $1 and $2 bytes, together more than 64 "
                          "bits can count",
                          request->scan_ring_bytes, request->delta_cache_bytes, 0);
    return 0;
}

static int check_needs(struct weir_sched *sched, const struct weir_job *job)
{
    const struct weir_sched_options *options = &sched->options;
    if (needs(job, STEP_READS) && !options->reads)
        return weir__fail(WEIR_E_INVALID, sched->name,
                          "scheduler '$n': the job takes read tokens, but there are none here", 0,
                          0, 0);
    if (needs(job, STEP_SLOT) && !options->slots)
        return weir__fail(WEIR_E_INVALID, sched->name,
                          "scheduler '$n': the job takes a device slot, but there are none here", 0,
                          0, 0);
    if (needs(job, STEP_POOL) && !options->pool)
        return weir__fail(
            WEIR_E_INVALID, sched->name,
            "scheduler '$n': the job asks for memory of a pool, but there is none here", 0, 0, 0);
    if (needs(job, STEP_READS) && job->read_tokens > weir_budget_capacity(options->reads))
        return weir__fail(WEIR_E_TOO_LARGE, sched->name,
                          "scheduler '$n': the job takes $1 read tokens, there are $2",
                          job->read_tokens, weir_budget_capacity(options->reads), 0);
    return needs(job, STEP_POOL) ? check_pool(sched, &job->pool) : 0;
}

int weir__job_check(struct weir_sched *sched, const struct weir_job *job)
{
    if (!job->run || !job->done)
        return weir__fail(WEIR_E_INVALID, sched->name,
                          "scheduler '$n': a job needs both run and done", 0, 0, 0);
    if (job->io_model != WEIR_IO_EXPLICIT_READS && job->io_model != WEIR_IO_MMAP_IMPLICIT)
        return weir__fail(WEIR_E_INVALID, sched->name,
                          "scheduler '$n': $1 is no I/O model, 0 and 1 are",
                          (uint64_t)job->io_model, 0, 0);
    if (job->wait != WEIR_SCHED_IN_LINE && job->wait != WEIR_SCHED_BACKOFF)
        return weir__fail(WEIR_E_INVALID, sched->name,
                          "scheduler '$n': $1 is no way to wait, 0 and 1 are", (uint64_t)job->wait,
                          0, 0);
    return check_needs(sched, job);
}
void weir__job_release(struct weir_job *job)
{
    weir_pool_permit_release(&job->_pool_permit);
    weir_slots_release(&job->_slot_permit);
    weir_permit_release(&job->_read_permit);
}

int weir__job_try_admit(struct weir_sched *sched, struct weir_job *job)
{
    int error = 0;
    for (int step; !error && (step = next_step(job)) < STEPS;) {
        if (step == STEP_READS)
            error = weir_budget_try(sched->options.reads, job->read_tokens, &job->_read_permit);
        else if (step == STEP_SLOT)
            error = weir_slots_try(sched->options.slots, job->device, &job->_slot_permit);
        else
            error = weir_pool_try(sched->options.pool, &job->pool, &job->_pool_permit);
    }
    if (error && !WEIR__MUTANT(SCHED_BUSY_KEEPS_PERMITS))
        weir__job_release(job);
    return error;
}

/* ---- in line ---- */

/* A line has called, with a permit that is already in the job, or with an error. */
static void called(struct weir_job *job, int result)
{
    struct weir_sched *sched = job->_sched;
    weir_lock_acquire(&sched->lock);
    job->_result = result;
    bool is_ours = job->_state == WEIR__JOB_WAITING;
    job->_state = is_ours ? WEIR__JOB_MOVING : WEIR__JOB_ENTERED;
    weir_lock_release(&sched->lock);
    if (is_ours || WEIR__MUTANT(SCHED_MOVED_BY_TWO))
        weir__job_admit(sched, job);
}

static struct weir_job *job_of(void *waiter)
{
    return (struct weir_job *)((char *)waiter - offsetof(struct weir_job, _waiter));
}

static void reads_called(struct weir_budget_waiter *waiter, int result, struct weir_permit permit)
{
    struct weir_job *job = job_of(waiter);
    job->_read_permit = permit;
    called(job, result);
}

static void slot_called(struct weir_slots_waiter *waiter, int result,
                        struct weir_slots_permit permit)
{
    struct weir_job *job = job_of(waiter);
    job->_slot_permit = permit;
    called(job, result);
}

static void pool_called(struct weir_pool_waiter *waiter, int result, struct weir_pool_permit permit)
{
    struct weir_job *job = job_of(waiter);
    job->_pool_permit = permit;
    called(job, result);
}

/* 0: has it; WEIR_BUDGET_QUEUED: stands in line; negative: cannot have it. */
static int enter_line(struct weir_sched *sched, struct weir_job *job, int step)
{
    _Static_assert(WEIR_BUDGET_QUEUED == WEIR_POOL_QUEUED, "one answer for all lines");
    struct weir_permit read = WEIR_PERMIT_NONE;
    struct weir_slots_permit slot = WEIR_SLOTS_PERMIT_NONE;
    struct weir_pool_permit pool = WEIR_POOL_PERMIT_NONE;
    int result;
    if (step == STEP_READS) {
        result = weir_budget_acquire_async(sched->options.reads, job->read_tokens, &read,
                                           &job->_waiter.budget, reads_called);
        if (result == 0)
            job->_read_permit = read;
    } else if (step == STEP_SLOT) {
        result = weir_slots_acquire_async(sched->options.slots, job->device, &slot,
                                          &job->_waiter.slots, slot_called);
        if (result == 0)
            job->_slot_permit = slot;
    } else {
        result = weir_pool_acquire_async(sched->options.pool, &job->pool, &pool, &job->_waiter.pool,
                                         pool_called);
        if (result == 0)
            job->_pool_permit = pool;
    }
    return result;
}

bool weir__job_leave_line(struct weir_sched *sched, struct weir_job *job)
{
    /* Once it is marked as canceled no further step is taken, so this one stands. */
    if (job->_step == STEP_READS)
        return weir_budget_cancel_async(sched->options.reads, &job->_waiter.budget);
    if (job->_step == STEP_SLOT)
        return weir_slots_cancel_async(sched->options.slots, &job->_waiter.slots);
    return weir_pool_cancel_async(sched->options.pool, &job->_waiter.pool);
}

/* The join is over and the job stands in line, or has been called meanwhile. True when it is this
 * thread's to move on; false when it is somebody else's, and perhaps gone. */
static bool after_entering(struct weir_sched *sched, struct weir_job *job)
{
    weir_lock_acquire(&sched->lock);
    bool has_been_called = job->_state == WEIR__JOB_ENTERED;
    bool is_canceled = job->_is_canceled;
    job->_state = has_been_called ? WEIR__JOB_MOVING : WEIR__JOB_WAITING;
    if (!has_been_called && is_canceled)
        job->_pins++; /* keeps it from being done while we take it out of its line */
    weir_lock_release(&sched->lock);
    if (has_been_called || !is_canceled)
        return has_been_called;
    weir__job_cancel_pinned(sched, job, WEIR__JOB_WAITING);
    return false;
}

void weir__job_admit(struct weir_sched *sched, struct weir_job *job)
{
    for (;;) {
        weir_lock_acquire(&sched->lock);
        int result = job->_result;
        if (!result && job->_is_canceled)
            result = -WEIR_E_CANCELED;
        int step = next_step(job);
        if (!result && step < STEPS) {
            job->_state = WEIR__JOB_ENTERING;
            job->_step = (uint32_t)step;
        }
        weir_lock_release(&sched->lock);
        if (result || step == STEPS) {
            weir__job_make_ready(sched, job, result);
            return;
        }
        result = enter_line(sched, job, step);
        if (result == WEIR_BUDGET_QUEUED) {
            if (!after_entering(sched, job))
                return;
        } else if (result < 0) {
            weir__job_make_ready(sched, job, result);
            return;
        }
    }
}
