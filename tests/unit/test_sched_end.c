/* The scheduler: cancel in every state, what done() may do, drains, misuse. */
#include "sched_jobs.h"

/* ---- cancel ---- */

static void cancel_and_check(struct job *job)
{
    weir_sched_cancel(&job->job);
    weir_sched_cancel(&job->job); /* a second time changes nothing */
    await(&job->done);
    CHECK_EQ(job->result, -WEIR_E_CANCELED);
    wait_all();
    CHECK_EQ(job->done, 1);
    weir_sched_cancel(&job->job); /* it is done, and left alone */
}

TEST(cancel_of_a_job_that_waits)
{
    make(1, (struct weir_sched_options){0});
    struct weir_slots_permit slot = WEIR_SLOTS_PERMIT_NONE;
    struct weir_permit tokens = WEIR_PERMIT_NONE;
    struct weir_pool_permit memory = WEIR_POOL_PERMIT_NONE;
    struct weir_pool_request most = {90 * MB, 0, false};
    CHECK_EQ(weir_slots_try(&s.slots, disk(8), &slot), 0);
    CHECK_EQ(weir_budget_try(&s.reads, 1, &tokens), 0);
    CHECK_EQ(weir_pool_try(&s.pool, &most, &memory), 0);
    struct job for_slot = mapper(8), for_tokens = reader(4), for_memory = mapper(9);
    for_memory.job.pool.scan_ring_bytes = 20 * MB;
    submit(&for_slot);
    submit(&for_tokens);
    submit(&for_memory);
    struct job never = reader(1);
    weir_sched_cancel(&never.job);
    weir_sched_cancel(&for_slot.job);
    weir_sched_cancel(&for_tokens.job);
    cancel_and_check(&for_memory); /* it held the slot of disk 9 */
    CHECK_STR(for_memory.detail, "scheduler 'jobs': the job was canceled before it ran");
    CHECK_EQ(for_slot.result, -WEIR_E_CANCELED);
    CHECK_EQ(for_tokens.result, -WEIR_E_CANCELED);
    CHECK_EQ(weir_budget_available(&s.reads), 3);
    CHECK_EQ(read_stats().canceled, 3);
    CHECK_EQ(read_stats().starts, 0);
    weir_slots_release(&slot);
    weir_permit_release(&tokens);
    weir_pool_permit_release(&memory);
    drain_and_unmake();
}

/* It must not try on for its permits, which stay taken. */
TEST(cancel_of_a_job_that_backs_off)
{
    weir__clock_fake(WEIR_NS_PER_S);
    make(1, quick_backoff);
    struct weir_permit tokens = WEIR_PERMIT_NONE;
    CHECK_EQ(weir_budget_try(&s.reads, 4, &tokens), 0);
    struct job jobs[3];
    for (int i = 0; i < 3; i++) {
        jobs[i] = reader(1);
        jobs[i].job.wait = WEIR_SCHED_BACKOFF;
        submit(&jobs[i]);
        await_backoffs((uint64_t)i + 1);
    }
    weir_sched_cancel(&jobs[1].job); /* from the middle of the delayed */
    await(&jobs[1].done);
    CHECK_EQ(jobs[1].result, -WEIR_E_CANCELED);
    CHECK_EQ(read_stats().backoffs, 3);
    weir_sched_cancel(&jobs[2].job);
    weir_permit_release(&tokens);
    weir__clock_advance(1000);
    await(&jobs[0].done);
    CHECK_EQ(jobs[0].result, 0);
    wait_all();
    CHECK_EQ(jobs[2].result, -WEIR_E_CANCELED);
    drain_and_unmake();
    weir__clock_unfake();
}

TEST(cancel_of_a_job_that_is_ready_or_runs)
{
    make(1, (struct weir_sched_options){0});
    struct job runner = reader(2), ready = reader(2), backs_off = reader(2);
    runner.job.run = holds;
    backs_off.job.wait = WEIR_SCHED_BACKOFF;
    submit(&runner);
    await(&runner.ran);
    submit(&ready);
    submit(&backs_off);
    CHECK_EQ(read_stats().ready, 2);
    CHECK_EQ(read_stats().running, 1);
    weir_sched_cancel(&ready.job);
    weir_sched_cancel(&backs_off.job);
    cancel_and_check(&runner);
    CHECK_EQ(ready.ran + backs_off.ran, 0);
    CHECK_EQ(ready.result, -WEIR_E_CANCELED);
    CHECK_EQ(backs_off.result, -WEIR_E_CANCELED);
    drain_and_unmake();
}

/* A job that was canceled while it ran is not admitted anew, whatever it asks for. */
static int cancels_itself(struct weir_job *base, const struct weir_deadline *deadline)
{
    weir_sched_cancel(base);
    CHECK_EQ(weir_deadline_check(deadline), -WEIR_E_CANCELED);
    return runs(base, deadline);
}

TEST(a_job_may_cancel_itself)
{
    for (int wait = 0; wait < 2; wait++) {
        make(1, (struct weir_sched_options){0});
        struct job job = reader(1);
        job.job.wait = (enum weir_sched_wait)wait;
        job.job.run = cancels_itself;
        submit(&job);
        wait_all();
        CHECK_EQ(job.result, 0); /* run() has the last word */
        job.agains = 1;
        job.ran = 0;
        submit(&job);
        wait_all();
        CHECK_EQ(job.ran, 1);
        CHECK_EQ(job.result, -WEIR_E_CANCELED);
        drain_and_unmake();
    }
}

/* ---- the end ---- */

static void frees_its_job(struct weir_job *base, int result)
{
    CHECK_EQ(result, 0);
    weir__add32(&s.done_count, 1);
    free(base);
}

TEST(done_may_free_the_job)
{
    make(2, (struct weir_sched_options){0});
    for (uint64_t i = 0; i < 200; i++) {
        struct job *job = malloc(sizeof(*job));
        CHECK(job != NULL);
        *job = i % 2 ? mapper(i % 6) : reader(1 + i % 4);
        job->job.wait = (enum weir_sched_wait)(i / 2 % 2);
        job->job.pool.scan_ring_bytes = i % 5 * 20 * MB;
        job->job.done = frees_its_job;
        submit(job);
    }
    wait_all();
    CHECK_EQ(s.done_count, 200);
    drain_and_unmake();
}

static void submits_again(struct weir_job *base, int result)
{
    struct job *job = (struct job *)base;
    job->result = result;
    if (job->ran < 5)
        submit(job);
    else
        weir__store32(&job->done, 1);
}

TEST(done_may_submit_the_job_again)
{
    make(1, (struct weir_sched_options){.jobs_max = 1});
    struct job job = reader(1);
    job.job.done = submits_again;
    submit(&job);
    await(&job.done);
    CHECK_EQ(job.ran, 5);
    drain_and_unmake();
}

TEST(a_drain_lets_jobs_finish)
{
    make(1, (struct weir_sched_options){0});
    struct job jobs[20];
    for (int i = 0; i < 20; i++) {
        jobs[i] = i % 2 ? mapper(8) : reader(4);
        submit(&jobs[i]);
    }
    struct weir_crew_report report;
    CHECK_EQ(weir_sched_drain(s.sched, &report), 0);
    CHECK_EQ(report.state, WEIR_CREW_STOPPED);
    CHECK_EQ(report.kinds[0].ended, 1);
    CHECK_EQ(s.done_count, 20);
    refused(&jobs[0], -WEIR_E_DRAINING, "scheduler 'jobs': shutting down, takes no jobs");
    CHECK_EQ(weir_sched_drain(s.sched, NULL), -WEIR_E_CLOSED);
    CHECK_STR(weir_sched_name(s.sched), "jobs");
    unmake();
}

TEST(a_drain_cancels_what_does_not_end)
{
    make(1, (struct weir_sched_options){.crew = {.drain_ns = 1, .grace_ns = 60 * WEIR_NS_PER_S}});
    struct weir_slots_permit slot = WEIR_SLOTS_PERMIT_NONE;
    CHECK_EQ(weir_slots_try(&s.slots, disk(8), &slot), 0);
    struct job waits = mapper(8), runner = reader(1), ready = reader(1), aside = mapper(8);
    runner.job.run = holds;
    aside.job.wait = WEIR_SCHED_BACKOFF;
    submit(&aside);
    await_backoffs(1);
    submit(&waits);
    submit(&runner);
    await(&runner.ran);
    submit(&ready);
    struct weir_crew_report report;
    CHECK_EQ(weir_sched_drain(s.sched, &report), -WEIR_E_TIMEOUT);
    CHECK_HAS(weir_error_detail(), "4 jobs were left when the deadline passed");
    CHECK_EQ(waits.result, -WEIR_E_CANCELED);
    CHECK_EQ(runner.result, -WEIR_E_CANCELED);
    CHECK_EQ(ready.result, -WEIR_E_CANCELED);
    CHECK_EQ(aside.result, -WEIR_E_CANCELED);
    CHECK_EQ(report.kinds[0].abandoned, 0);
    CHECK_EQ(read_stats().live, 0);
    weir_slots_release(&slot);
    unmake();
}

/* Listens to nothing but let_go. */
static int is_deaf(struct weir_job *base, const struct weir_deadline *deadline)
{
    (void)deadline;
    struct job *job = (struct job *)base;
    weir__add32(&job->ran, 1);
    await(&job->let_go);
    return 0;
}

/* The only worker is stuck. The jobs behind it are ended by the drain; its own job is ended when it
 * comes back, after everybody else has gone. */
TEST(a_drain_abandons_the_deaf)
{
    make(1, (struct weir_sched_options){
                .crew = {.drain_ns = WEIR_NS_PER_MS, .grace_ns = WEIR_NS_PER_MS}});
    static struct job deaf;
    deaf = reader(1);
    struct job ready = reader(1), in_line = reader(4);
    deaf.job.run = is_deaf;
    submit(&deaf);
    await(&deaf.ran);
    submit(&ready);
    submit(&in_line);
    struct weir_crew_report report;
    CHECK_EQ(weir_sched_drain(s.sched, &report), -WEIR_E_TIMEOUT);
    CHECK_EQ(report.kinds[0].abandoned, 1);
    CHECK_EQ(ready.result, -WEIR_E_CANCELED);
    CHECK_EQ(in_line.result, -WEIR_E_CANCELED);
    CHECK_EQ(ready.ran + in_line.ran, 0);
    CHECK_EQ(read_stats().live, 1);
    CHECK_EQ(weir_budget_available(&s.reads), 3);
    weir_sched_free(s.sched);
    weir__store32(&deaf.let_go, 1);
    await(&deaf.done);
    CHECK_EQ(deaf.result, 0);
    weir_slots_fini(&s.slots);
    weir_pool_fini(&s.pool);
    weir_budget_fini(&s.reads);
}

TEST(waiting_for_the_last_job_has_a_deadline)
{
    make(1, (struct weir_sched_options){0});
    wait_all(); /* there is none */
    struct job job = reader(1);
    job.job.run = holds;
    submit(&job);
    struct weir_deadline moment = weir_deadline_in(1000, NULL);
    CHECK_EQ(weir_sched_wait(s.sched, &moment), -WEIR_E_TIMEOUT);
    CHECK_HAS(weir_error_detail(), "scheduler 'jobs': 1 jobs were left");
    CHECK_EQ(weir_sched_wait(s.sched, NULL), -WEIR_E_INVALID);
    struct weir_cancel token;
    weir_cancel_init(&token, NULL);
    weir_cancel_fire(&token);
    struct weir_deadline fired = weir_deadline_until(&token);
    CHECK_EQ(weir_sched_wait(s.sched, &fired), -WEIR_E_CANCELED);
    weir_cancel_fini(&token);
    weir__store32(&job.let_go, 1);
    wait_all();
    drain_and_unmake();
}

TEST(counts_add_up)
{
    make(2, (struct weir_sched_options){0});
    struct job good = reader(1), bad = reader(1), canceled = reader(1);
    bad.returns = -WEIR_E_IO;
    canceled.job.run = holds;
    submit(&good);
    submit(&bad);
    submit(&canceled);
    await(&canceled.ran);
    weir_sched_cancel(&canceled.job);
    wait_all();
    struct weir_sched_stats stats = read_stats();
    CHECK_EQ(stats.submitted, 3);
    CHECK_EQ(stats.done, 3);
    CHECK_EQ(stats.failed, 1);
    CHECK_EQ(stats.canceled, 1);
    CHECK_EQ(stats.live + stats.waiting + stats.ready + stats.running, 0);
    CHECK_EQ(stats.starts, 3);
    CHECK_EQ(stats.wait_ns.count, 3);
    drain_and_unmake();
}

/* ---- misuse ---- */

static void free_undrained(void *arg)
{
    (void)arg;
    make(1, (struct weir_sched_options){0});
    weir_sched_free(s.sched);
}

static void submit_twice(void *arg)
{
    (void)arg;
    make(1, (struct weir_sched_options){0});
    static struct job job;
    job = reader(1);
    job.job.run = holds;
    submit(&job);
    submit(&job);
}

static void return_nonsense(void *arg)
{
    (void)arg;
    make(1, (struct weir_sched_options){0});
    static struct job job;
    job = reader(1);
    job.returns = 2;
    submit(&job);
    wait_all();
}

TEST(misuse_is_named)
{
    CHECK(tap_dies(free_undrained, NULL, "scheduler 'jobs': freed before it was drained"));
    CHECK(tap_dies(submit_twice, NULL, "scheduler 'jobs': a job was submitted that is not done"));
    CHECK(tap_dies(return_nonsense, NULL, "scheduler 'jobs': a job's run() returned neither 0"));
}

TAP_MAIN()
