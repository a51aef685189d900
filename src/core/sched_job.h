/* sched_job.h - what the two halves of the scheduler share: sched.c (jobs and workers) and
 * sched_admit.c (how a job gets its permits).
 *
 * Ownership: as in <weir/sched.h>.
 */
#ifndef WEIR_CORE_SCHED_JOB_H
#define WEIR_CORE_SCHED_JOB_H

#include <weir/sched.h>

#include "line.h"

/* Where a job is. One thread at a time moves it, and the state says which:
 *
 *     IDLE      the caller's
 *     MOVING    of the thread that takes its permits one after the other
 *     ENTERING  of that thread too, while it joins a line: a callback that comes now only leaves
 * its result (ENTERED), since the thread in the call will go on with the job itself WAITING   of
 * the callback of the line that it stands in DELAYED   of the first worker after its time READY of
 * the next worker RUNNING   of its worker PINNED    done, but somebody still looks at it; the last
 * of those makes it READY again
 */
enum weir__job_state {
    WEIR__JOB_IDLE,
    WEIR__JOB_MOVING,
    WEIR__JOB_ENTERING,
    WEIR__JOB_ENTERED,
    WEIR__JOB_WAITING,
    WEIR__JOB_DELAYED,
    WEIR__JOB_READY,
    WEIR__JOB_RUNNING,
    WEIR__JOB_PINNED,
};

struct weir_sched {
    struct weir_lock lock; /* guards all down to "fixed", and the state of every job */
    struct weir_job *jobs; /* all that were accepted and are not done */
    struct weir_job *ready, **ready_end;
    struct weir_job *delayed;      /* by time */
    struct weir__waiter *idle;     /* workers with nothing to do */
    struct weir__waiter *watchers; /* those who wait for the last job */
    struct weir_sched_stats stats; /* but waiting and wait_ns, which a reader fills in */
    struct weir_histogram wait_ns;
    bool is_draining;

    /* fixed */
    struct weir_crew *crew;
    struct weir_sched_options options;
    char name[WEIR_NAME_MAX];
};

/* Takes the job's permits as far as they are to be had without waiting, joins the line of the next
 * one otherwise, and makes the job READY when it has them all (or can never have them). The job is
 * MOVING and this thread's. It may be gone when this returns. */
void weir__job_admit(struct weir_sched *sched, struct weir_job *job);

/* The same without joining lines: 0 when it has them all, -WEIR_E_BUSY with none of them, or an
 * error. */
int weir__job_try_admit(struct weir_sched *sched, struct weir_job *job);

/* Gives back all that it holds. With no lock held. */
void weir__job_release(struct weir_job *job);

/* Takes the job out of the line that it stood in when it was pinned: true when it still did. */
bool weir__job_leave_line(struct weir_sched *sched, struct weir_job *job);

/* Ends a job that was WAITING and marked as canceled when it was pinned, and unpins it. */
void weir__job_cancel_waiting(struct weir_sched *sched, struct weir_job *job);

/* 0, or why the job can never run. */
int weir__job_check(struct weir_sched *sched, const struct weir_job *job);

/* Hands the job to a worker, which runs it (result 0) or ends it with the result. */
void weir__job_make_ready(struct weir_sched *sched, struct weir_job *job, int result);

#endif
