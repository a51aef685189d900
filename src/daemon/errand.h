/* errand.h - requests of a daemon, and the jobs that other threads do for them.
 *
 *     struct weir__errand *job = weir__errand_new(exchange, work);
 *     if (job)
 *         weir__errand_send(job, weir__daemon_line(daemon, LINE));
 *
 * Promises
 * - A request is answered once: by the end of its job, or by the clock when its deadline passes, or
 *   by the worker that ends in the middle of it.
 * - A job is freed once, also when it was never begun, and keeps what it has until then.
 * - Sending never waits; a line that is full refuses the request.
 * - What only reads, GET and HEAD, is not begun any more when its client is gone. A change is made.
 *
 * Ownership: a job belongs to the thread that works on it, and to its request while that waits.
 * What they share is guarded by the lock of jobs.
 */
#ifndef WEIR_DAEMON_ERRAND_H
#define WEIR_DAEMON_ERRAND_H

#include <weir/admit.h>
#include <weir/budget.h>
#include <weir/crew.h>
#include <weir/queue.h>

#include "buffer.h"
#include "server.h"
#include "token.h"

struct weir__daemon;
struct weir__daemon_route;
struct weir__errand;
struct weir__worker;

/* The head of the block of each exchange; what a service keeps stands behind it. */
struct weir__daemon_ask {
    const struct weir__daemon_route *way; /* NULL: there is nothing at its path */
    bool is_let_in;                       /* the page that asks, if one does, may know the answer */
    bool is_admitted;                     /* and it has passed all limits */
    struct weir_permit inflight;
    struct weir_permit cap; /* of its route, where that has one */
    struct weir_admit_ticket ticket;
    struct weir__token_grant grant; /* id "": none was shown that was made here */
    struct weir__errand *job;
    /* Under the lock of jobs, while a job has the request: the client sends no more, or is gone. */
    bool has_ended, is_gone;
};

enum weir__errand_state {
    WEIR__ERRAND_WAITS, /* in line */
    WEIR__ERRAND_READS, /* a worker looks at the request: it cannot be answered meanwhile */
    WEIR__ERRAND_WORKS, /* nothing of the request is needed any more */
    WEIR__ERRAND_DONE
};

/* The head of each job; what a service keeps stands behind it. A job outlives its request: when the
 * deadline passes, or the client goes, the request is answered and the job comes to its end by
 * itself. What they share is guarded by the lock of jobs. */
struct weir__errand {
    struct weir__daemon *daemon;
    void (*work)(struct weir__errand *job, struct weir__worker *worker);
    uint64_t deadline_ns;
    struct weir__errand *_prev, *_next; /* of those that have a request */
    struct weir__exchange *exchange;    /* NULL: nobody waits any more */
    enum weir__errand_state state;
    bool is_late;      /* the clock has answered */
    bool is_step;      /* of an answer: what is being sent is lent by the request */
    bool needs_client; /* nothing comes of it but an answer: not begun for one who is gone */

    const struct weir__daemon_route *way;
    int result;
    const char *message;       /* static, of an error */
    struct weir__buffer bytes; /* decoded body, or text of the answer */
    struct weir_permit turn;   /* of the numbers, until they are written */
};

/* A member of a pool. */
struct weir__worker {
    struct weir__daemon *daemon;
    struct weir_crew_self *self;
    void *tools;   /* of the service, tools_size bytes */
    bool must_end; /* it cannot go on; another one takes its place */
};

/* --- what is done with them --- */

/* A job for the exchange, on the loop's thread. NULL: there is no memory, and the request has been
 * refused. */
struct weir__errand *weir__errand_new(struct weir__exchange *exchange,
                                      void (*work)(struct weir__errand *job,
                                                   struct weir__worker *worker));
/* A step of an answer that has begun. It has the service's deadline_ns, and not beyond the end that
 * the client has set; the answer is cut when that passes. What is being sent is the job's
 * meanwhile: it is used also when nobody waits any more. NULL: there is no memory. */
struct weir__errand *weir__errand_new_step(struct weir__exchange *exchange,
                                           void (*work)(struct weir__errand *job,
                                                        struct weir__worker *worker));
/* The step is done, and what is being sent is the request's again. Before more() and gone() it was
 * called already. */
void weir__errand_take_back(struct weir__daemon_ask *ask);
/* Into the line. When that is full the job is freed and the request refused, or its answer cut. */
void weir__errand_send(struct weir__errand *job, struct weir_queue *line);
/* For what a service has kept in a line of its own. By any thread that has the job: into the line.
 * Canceled: nobody waits for it any more, or it is too late for all; for what only reads it is
 * enough that the client has closed its sending side. Otherwise as
 * weir_queue_try_send(). The job is still the caller's then, to be finished or dropped. */
WEIR_MUST_USE int weir__errand_try_send(struct weir__errand *job, struct weir_queue *line);
/* It was sent to nobody: the job is freed and its request refused, or the answer cut. On the loop's
 * thread. */
void weir__errand_refuse(struct weir__errand *job, struct weir__exchange *exchange, int error);
/* It is never begun. By any thread that has the job. */
void weir__errand_drop(struct weir__errand *job);
/* By a worker: the request is looked at from here on, which must not wait; NULL: nobody waits any
 * more. */
struct weir__exchange *weir__errand_begin_reading(struct weir__errand *job);
void weir__errand_end_reading(struct weir__errand *job);
/* The work is done: the request is answered by its loop, or the job freed. By any thread that has
 * the job, once. */
void weir__errand_finish(struct weir__errand *job, int result, const char *message);
/* Asked by a worker in the middle of a job: it is to end. It returns then and leaves the job as it
 * is. */
bool weir__worker_must_end(struct weir__worker *worker);

#endif
