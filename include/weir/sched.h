/* sched.h - runs jobs, each under the permits that it names.
 *
 * A job says how it reads (explicit reads, or faults of mapped memory), on which device, and what
 * it needs of the resource pool. The scheduler takes, in this order,
 *
 *     read tokens (explicit reads) or a device slot (mapped memory), then the pool permit,
 *
 * runs the job on one of its workers, and gives everything back whatever happens. A job that cannot
 * have its permits now keeps its place in the lines of those resources and costs no thread: workers
 * run jobs that have everything, and nothing else.
 *
 * Promises
 * - A job that can never run (more tokens or bytes than there are at all, no device slots to take a
 *   slot from) is refused by submit, at once, with the reason.
 * - done() is called exactly once for every job that was accepted, with no permit and no lock held;
 *   from then on the job's memory is the caller's, and done() itself may free it or submit it
 *   again. It is called by a worker; by the thread that hands the job over only when a drain has
 *   run out of time and all workers have gone.
 * - A job joins the line of its first resource in the order of submission, and the next line when
 *   it has been granted what it waited for. Each line is first come, first served, so a job for the
 *   whole pool is served in its turn. Jobs that have everything start in the order in which they
 *   got it.
 * - The fixed order of taking makes circular waits impossible.
 * - Cancel ends a waiting job with Canceled without running it, and fires the token of a running
 *   one, whose result is then what run() makes of it.
 *
 * Memory order: what was done before submit happens before run(), and run() happens before done().
 *
 * Limits: jobs_max accepted jobs at once, Busy beyond; workers threads; tries_max tries of a job
 * that backs off, Exhausted beyond; the lines have the limits of their resources, and a job that
 * finds one full ends with Busy.
 *
 * Cost: a job is one struct of the caller's, about 530 bytes; nothing is allocated for it, but for
 * the first use of a device. A short lock for each step. Putting a job aside to back off is linear
 * in the number of those that are aside.
 *
 * Ownership: the scheduler borrows slots, pool and read tokens, which must outlive it; a job lives
 * in the caller's memory and belongs to the scheduler from submit until done() is called.
 */
#ifndef WEIR_SCHED_H
#define WEIR_SCHED_H

#include <weir/backoff.h>
#include <weir/budget.h>
#include <weir/crew.h>
#include <weir/pool.h>
#include <weir/slots.h>

WEIR_BEGIN_DECLS

/* How a source reads. */
enum weir_io_model {
    WEIR_IO_EXPLICIT_READS, /* reads that the scheduler can count: takes read tokens */
    WEIR_IO_MMAP_IMPLICIT,  /* page faults that nobody can count: takes a device slot */
};

static inline bool weir_io_uses_device_slots(enum weir_io_model model)
{
    return model == WEIR_IO_MMAP_IMPLICIT;
}

static inline bool weir_io_uses_read_tokens(enum weir_io_model model)
{
    return model == WEIR_IO_EXPLICIT_READS;
}

/* What a job does when its permits are not free. */
enum weir_sched_wait {
    WEIR_SCHED_IN_LINE, /* waits in the lines of its resources, first come, first served */
    WEIR_SCHED_BACKOFF, /* tries again after growing delays; others may go before it */
};

struct weir_sched;

struct weir_sched_options {
    uint32_t workers;                    /* 1 to WEIR_CREW_THREADS_MAX */
    uint32_t jobs_max;                   /* accepted and not yet done; 0: WEIR_SCHED_JOBS_DEFAULT */
    struct weir_slots *slots;            /* may be NULL when no job maps memory */
    struct weir_pool *pool;              /* may be NULL when no job asks for any */
    struct weir_budget *reads;           /* read tokens; may be NULL when no job takes any */
    struct weir_backoff_options backoff; /* of jobs that back off; zeros: 10 to 20 ms, 1 s, 1000 */
    struct weir_crew_options crew;       /* drain and grace time; threads_max is not looked at */
};
#define WEIR_SCHED_JOBS_DEFAULT 4096u

/* run() returns this to be admitted anew, behind those who wait, with its permits given back. */
#define WEIR_JOB_AGAIN 1

struct weir_job {
    /* Filled in before submit; the private fields are zero, or as done() found them. run() may
     * change what the job asks for before it returns WEIR_JOB_AGAIN. */
    enum weir_io_model io_model;
    enum weir_sched_wait wait;
    struct weir_device device;     /* of a job that maps memory */
    uint64_t read_tokens;          /* of a job that reads explicitly; 0: none */
    struct weir_pool_request pool; /* all zero: none */

    /* Does the work, under the permits; 0, WEIR_JOB_AGAIN or an error. The deadline carries a token
     * that fires when the job is canceled or the scheduler gives up. */
    int (*run)(struct weir_job *job, const struct weir_deadline *deadline);
    /* The job is over: result is run's, or it did not run (again): Canceled; Exhausted; TooLarge
     * after a resize; Busy when the line of a resource was full; NoMemory for a new device. */
    void (*done)(struct weir_job *job, int result);

    struct weir_job *_next; /* among all accepted */
    struct weir_job **_back;
    struct weir_job *_ready_next; /* in the ready or the delayed list */
    struct weir_sched *_sched;
    uint64_t _submitted_ns;
    uint64_t _retry_at_ns;
    uint32_t _state;
    uint32_t _step;
    uint32_t _pins;
    int _result;
    bool _is_admitted;
    bool _is_canceled;
    bool _has_started;
    bool _is_over;
    struct weir_cancel _cancel;
    struct weir_backoff _backoff;
    struct weir_permit _read_permit;
    struct weir_slots_permit _slot_permit;
    struct weir_pool_permit _pool_permit;
    union {
        struct weir_budget_waiter budget;
        struct weir_slots_waiter slots;
        struct weir_pool_waiter pool;
    } _waiter;
};

/* Starts the workers. Invalid: no workers or too many, a bad name, delays that do not rise, or
 * times above WEIR_CREW_TIME_MAX_NS; NoMemory; Busy when the system has no thread left. */
WEIR_API WEIR_MUST_USE int weir_sched_new(struct weir_sched **ret_sched, const char *name,
                                          const struct weir_sched_options *options);

/* Asserts that it has been drained. Accepts NULL. What is left of it to an abandoned worker goes
 * with that one. */
WEIR_API void weir_sched_free(struct weir_sched *sched);

/* Hands the job over. Never waits. TooLarge or Invalid for a job that can never run, Busy when
 * there are too many, Draining after the drain has begun: then the job is still the caller's and
 * done() will not be called. */
WEIR_API WEIR_MUST_USE int weir_sched_submit(struct weir_sched *sched, struct weir_job *job);

/* Asks for the job's end, without waiting for it. The job and its scheduler must exist during the
 * call, that is, done() must not free the job meanwhile; a job that is done, or was never
 * submitted, is left alone. From any thread, run() and done() included. */
WEIR_API void weir_sched_cancel(struct weir_job *job);

/* Waits until no job is left. Timeout, Canceled. */
WEIR_API WEIR_MUST_USE int weir_sched_wait(struct weir_sched *sched,
                                           const struct weir_deadline *deadline);

/* Takes no new jobs, lets the accepted ones finish for drain_ns, then cancels them all, gives them
 * grace_ns, and stops the workers as weir_crew_drain() does, with grace_ns from each step to the
 * next: so this takes at most drain_ns and three times grace_ns. 0 when all jobs finished by
 * themselves, -WEIR_E_TIMEOUT when some had to be canceled, -WEIR_E_CLOSED when somebody else
 * drains or has drained. ret_report may be NULL. Not to be called by a job.
 * When this returns, every job is done but those that a worker was abandoned with, or that another
 * thread is just now submitting or granting something to: their memory, and what they hold, must
 * stay until done() is called, if it ever is. */
WEIR_API int weir_sched_drain(struct weir_sched *sched, struct weir_crew_report *ret_report);

/* What the running job holds. */
static inline const struct weir_pool_permit *weir_job_pool_permit(const struct weir_job *job)
{
    return &job->_pool_permit;
}

struct weir_sched_stats {
    uint64_t submitted; /* accepted; = done + live */
    uint64_t done;
    uint64_t failed;   /* of these: with an error other than Canceled */
    uint64_t canceled; /* of these */
    uint64_t live;
    uint64_t waiting; /* for tokens, a slot or the pool, or for their next try */
    uint64_t ready;
    uint64_t running;
    uint64_t starts;                        /* runs begun */
    uint64_t again;                         /* runs that asked to be admitted anew */
    uint64_t backoffs;                      /* tries that found the permits taken */
    uint64_t refused;                       /* by submit, because they can never run */
    uint64_t busy;                          /* by submit, because there were too many */
    struct weir_histogram_snapshot wait_ns; /* from submission to the first start */
};
WEIR_API void weir_sched_read(struct weir_sched *sched, struct weir_sched_stats *ret_stats);
WEIR_API const char *weir_sched_name(const struct weir_sched *sched);

/* The crew of its workers, to be looked at: for weir_crew_read() and weir_metrics_add_crew(). */
WEIR_API struct weir_crew *weir_sched_crew(struct weir_sched *sched);

WEIR_END_DECLS

#endif
