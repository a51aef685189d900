/* sched_jobs.h - a scheduler with all of its resources, and jobs that a test can hold and let go.
 *
 * Ownership: make() makes what unmake() or drain_and_unmake() takes down; jobs live on the stack of
 * the test.
 */
#ifndef WEIR_TESTS_SCHED_JOBS_H
#define WEIR_TESTS_SCHED_JOBS_H

#include <sched.h>
#include <stdlib.h>
#include <weir/sched.h>

#include "atomic.h"
#include "clock.h"
#include "tap.h"

#define MB WEIR_POOL_MB

/* What the jobs of a test share. */
static struct {
    struct weir_sched *sched;
    struct weir_slots slots;
    struct weir_pool pool;
    struct weir_budget reads;
    uint32_t running, running_most;
    uint32_t order[64], order_count; /* marks of the jobs, as they ran */
    uint32_t done_count;
} s;

struct job {
    struct weir_job job;
    uint32_t mark;
    uint32_t ran, done;
    uint32_t let_go; /* holds() waits for it */
    uint32_t agains; /* how often it asks to be admitted anew */
    int returns;
    int result;
    char detail[160]; /* weir_error_detail() as done() saw it */
};

static inline struct weir_device disk(uint64_t number)
{
    return weir_device_from_raw(number);
}

static inline void make(uint32_t workers, struct weir_sched_options options)
{
    memset(&s, 0, sizeof(s));
    struct weir_slots_config config = {0};
    CHECK_EQ(weir_slots_config_uniform(&config, 1), 0);
    CHECK_EQ(weir_slots_init(&s.slots, "disks", &config), 0);
    struct weir_pool_config pool = {
        .scan_ring_bytes = 100 * MB, .delta_cache_bytes = 200 * MB, .spill_slots = 2};
    CHECK_EQ(weir_pool_init(&s.pool, "pool", &pool), 0);
    CHECK_EQ(weir_budget_init(&s.reads, "reads", 4), 0);
    options.workers = workers;
    options.slots = &s.slots;
    options.pool = &s.pool;
    options.reads = &s.reads;
    CHECK_EQ(weir_sched_new(&s.sched, "jobs", &options), 0);
}

/* Every permit is home, or this dies. */
static inline void unmake(void)
{
    weir_sched_free(s.sched);
    weir_slots_fini(&s.slots);
    weir_pool_fini(&s.pool);
    weir_budget_fini(&s.reads);
}

static inline void drain_and_unmake(void)
{
    CHECK_EQ(weir_sched_drain(s.sched, NULL), 0);
    unmake();
}

static inline struct weir_sched_stats read_stats(void)
{
    struct weir_sched_stats stats;
    weir_sched_read(s.sched, &stats);
    CHECK_EQ(stats.submitted, stats.done + stats.live);
    return stats;
}

static inline void await(const uint32_t *flag)
{
    while (!weir__load32(flag))
        sched_yield();
}

static inline void on_done(struct weir_job *base, int result)
{
    struct job *job = (struct job *)base;
    job->result = result;
    if (result)
        strncpy(job->detail, weir_error_detail(), sizeof(job->detail) - 1);
    weir__add32(&s.done_count, 1);
    weir__add32(&job->done, 1);
}

static inline int runs(struct weir_job *base, const struct weir_deadline *deadline)
{
    (void)deadline;
    struct job *job = (struct job *)base;
    uint32_t running = weir__add32(&s.running, 1) + 1;
    if (running > weir__load32(&s.running_most))
        weir__store32(&s.running_most, running);
    uint32_t at = weir__add32(&s.order_count, 1);
    if (at < 64)
        s.order[at] = job->mark;
    weir__add32(&job->ran, 1);
    weir__add32(&s.running, UINT32_MAX);
    if (job->agains > 0) {
        job->agains--;
        return WEIR_JOB_AGAIN;
    }
    return job->returns;
}

/* Runs until it is let go or canceled. */
static inline int holds(struct weir_job *base, const struct weir_deadline *deadline)
{
    struct job *job = (struct job *)base;
    weir__add32(&job->ran, 1);
    while (!weir__load32(&job->let_go)) {
        if (weir_deadline_check(deadline))
            return -WEIR_E_CANCELED;
        sched_yield();
    }
    return 0;
}

static inline struct job reader(uint64_t tokens)
{
    return (struct job){.job = {.io_model = WEIR_IO_EXPLICIT_READS,
                                .read_tokens = tokens,
                                .run = runs,
                                .done = on_done}};
}

static inline struct job mapper(uint64_t device)
{
    return (struct job){.job = {.io_model = WEIR_IO_MMAP_IMPLICIT,
                                .device = disk(device),
                                .run = runs,
                                .done = on_done}};
}

static inline struct job pooler(uint64_t ring_bytes)
{
    struct job job = reader(0);
    job.job.pool.scan_ring_bytes = ring_bytes;
    return job;
}

static inline void submit(struct job *job)
{
    CHECK_EQ(weir_sched_submit(s.sched, &job->job), 0);
}

static inline void wait_all(void)
{
    struct weir_deadline deadline = weir_deadline_in(60 * WEIR_NS_PER_S, NULL);
    CHECK_EQ(weir_sched_wait(s.sched, &deadline), 0);
}

static const struct weir_sched_options quick_backoff = {
    .backoff = {.base_min_ns = 1000, .base_max_ns = 1000, .cap_ns = 8000, .tries_max = 4}};

static inline void await_backoffs(uint64_t count)
{
    while (read_stats().backoffs < count)
        sched_yield();
    /* And the worker has gone to sleep again, or the clock would be moved under its eyes. */
    while (read_stats().waiting == 0)
        sched_yield();
}

static inline void refused(struct job *job, int error, const char *text)
{
    CHECK_EQ(weir_sched_submit(s.sched, &job->job), error);
    CHECK_HAS(weir_error_detail(), text);
}

#endif
