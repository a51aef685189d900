/* sched_job.h - what the parts of the scheduler share: sched.c (life cycle, submit, drain),
 * sched_work.c (workers, and the end of jobs) and sched_admit.c (how a job gets its permits).
 *
 * Ownership: as in <weir/sched.h>. The scheduler's own memory has a reference for its owner, one
 * for each worker and one for each accepted job; the last to go frees it.
 */
#ifndef WEIR_CORE_SCHED_JOB_H
#define WEIR_CORE_SCHED_JOB_H

#include <weir/sched.h>

#include "line.h"

/* Where a job is. One thread at a time moves it, and the state says which. */
enum weir__job_state {
    WEIR__JOB_IDLE,     /* the caller's */
    WEIR__JOB_MOVING,   /* of the thread that takes its permits one after the other */
    WEIR__JOB_ENTERING, /* of that thread too, while it joins a line */
    WEIR__JOB_ENTERED,  /* the line has called before the join returned: the callback has left its
                         * result, and the thread in the call goes on with the job */
    WEIR__JOB_WAITING,  /* of the callback of the line that it stands in */
    WEIR__JOB_DELAYED,  /* of the first worker after its time */
    WEIR__JOB_READY,    /* of the next worker */
    WEIR__JOB_RUNNING,  /* of its worker */
    WEIR__JOB_PINNED,   /* over, but somebody still looks at it; the last of those makes it READY */
};

struct weir_sched {
    struct weir_lock lock;   /* guards all down to "fixed", and the state of every job */
    struct weir_job *jobs;   /* all that were accepted and are not done */
    struct weir_job *doomed; /* those of them that a drain has canceled */
    struct weir_job *ready, **ready_end;
    struct weir_job *delayed;      /* by time */
    struct weir__waiter *idle;     /* workers with nothing to do */
    struct weir__waiter *keeper;   /* the one of these that wakes for the first of the delayed */
    struct weir__waiter *watchers; /* those who wait for the last job */
    struct weir_sched_stats stats; /* but waiting and wait_ns, which a reader fills in */
    struct weir_histogram wait_ns;
    uint64_t ending; /* jobs whose done() runs: still live, but no longer counted by jobs_max */
    uint64_t references;
    bool is_draining;
    bool is_unmanned; /* no worker will come any more: who makes a job ready has to end it */

    /* fixed */
    struct weir_crew *crew;
    struct weir_sched_options options;
    char name[WEIR_NAME_MAX];
};

/* ---- sched.c ---- */

/* Drops a reference; the scheduler may be gone. With no lock held. */
void weir__sched_unref(struct weir_sched *sched);

/* ---- sched_work.c ---- */

/* The main function of a worker, which owns one reference. */
int weir__sched_worker(struct weir_crew_self *self, void *arg);

/* Under the lock: appends to the ready list and takes one idle worker out of its sleep. */
void weir__job_push_ready(struct weir_sched *sched, struct weir_job *job,
                          struct weir__wakes *wakes);

/* Releases the lock, which the caller holds, and sends the wakes. When there is no worker any more,
 * ends the jobs that are ready here and now. The scheduler may be gone when this returns, unless
 * the caller knows of a job that is not done. */
void weir__sched_release(struct weir_sched *sched, struct weir__wakes *wakes);

/* Hands the job to a worker, which runs it (result 0) or ends it with the result. */
void weir__job_make_ready(struct weir_sched *sched, struct weir_job *job, int result);

/* Ends a job that is pinned, marked as canceled, and was seen in that state then; and unpins it. */
void weir__job_cancel_pinned(struct weir_sched *sched, struct weir_job *job, uint32_t state);

/* The first ready job, RUNNING from now on; NULL when there is none. Takes the lock. */
struct weir_job *weir__sched_pop_ready(struct weir_sched *sched);

/* Does with a RUNNING job what is to be done: runs it, ends it, or puts it aside. */
void weir__job_work_on(struct weir_sched *sched, struct weir_job *job);

/* ---- sched_admit.c ---- */

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

/* 0, or why the job can never run. */
int weir__job_check(struct weir_sched *sched, const struct weir_job *job);

#endif
