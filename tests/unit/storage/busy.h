/* busy.h - a member of a pool of the service of running.h that is kept busy.
 *
 * Ownership: all of it belongs to the test.
 */
#ifndef WEIR_TESTS_BUSY_H
#define WEIR_TESTS_BUSY_H

#include "running.h"

static struct weir_cancel let_go;

static inline void stay_busy(struct weir__errand *job, struct weir__worker *worker)
{
    struct weir_deadline deadline = weir_deadline_in(60 * WEIR_NS_PER_S, &let_go);
    (void)worker;
    CHECK_EQ(weir_deadline_sleep(&deadline), -WEIR_E_CANCELED);
    weir__errand_finish(job, 0, NULL);
}

/* A job of nobody's, with which somebody of the line is busy until let_go is fired. */
static inline void begin_busy(struct weir_queue *line)
{
    struct weir__job *job = weir__base_alloc(1, sizeof(*job));
    CHECK(job);
    weir_cancel_init(&let_go, NULL);
    job->head.daemon = &storage->daemon;
    job->head.work = stay_busy;
    job->chunk.fd = -1;
    weir__buffer_init(&job->head.bytes, 16);
    CHECK_EQ(weir_queue_try_send(line, &job), 0);
    AWAIT(weir_queue_depth(line) == 0);
}

#endif
