/* The scheduler: permits taken and given back, lines, backing off, again, refusals. */
#include "sched_job.h"
#include "sched_jobs.h"

/* ---- permits ---- */

static int sees_all_it_asked_for(struct weir_job *base, const struct weir_deadline *deadline)
{
    CHECK_EQ(weir_deadline_check(deadline), 0);
    bool maps = weir_io_uses_device_slots(base->io_model);
    uint64_t free_slots = 9;
    if (maps) {
        CHECK_EQ(weir_slots_available(&s.slots, base->device, &free_slots), 0);
        CHECK_EQ(free_slots, 0);
    }
    CHECK_EQ(weir_budget_available(&s.reads), maps ? 4 : 1);
    CHECK_EQ(weir_pool_scan_ring_available(&s.pool), 60 * MB);
    CHECK_EQ(weir_pool_delta_cache_available(&s.pool), 150 * MB);
    CHECK_EQ(weir_pool_spill_slots_available(&s.pool), 1);
    const struct weir_pool_permit *permit = weir_job_pool_permit(base);
    CHECK_EQ(weir_pool_permit_total_bytes(permit), 90 * MB);
    CHECK(weir_pool_permit_can_spill(permit));
    return runs(base, deadline);
}

static void has_given_all_back(struct weir_job *base, int result)
{
    CHECK_EQ(weir_budget_available(&s.reads), 4);
    CHECK_EQ(weir_pool_scan_ring_available(&s.pool), 100 * MB);
    uint64_t free_slots = 1;
    if (weir_io_uses_device_slots(base->io_model))
        CHECK_EQ(weir_slots_available(&s.slots, base->device, &free_slots), 0);
    CHECK_EQ(free_slots, 1);
    on_done(base, result);
}

TEST(both_models_take_what_they_ask_for_and_give_it_back)
{
    make(1, (struct weir_sched_options){0});
    CHECK(weir_io_uses_read_tokens(WEIR_IO_EXPLICIT_READS));
    CHECK(!weir_io_uses_read_tokens(WEIR_IO_MMAP_IMPLICIT));
    CHECK(!weir_io_uses_device_slots(WEIR_IO_EXPLICIT_READS));
    for (int i = 0; i < 4; i++) {
        struct job job = i % 2 ? mapper(8) : reader(3);
        job.job.wait = i < 2 ? WEIR_SCHED_IN_LINE : WEIR_SCHED_BACKOFF;
        job.job.pool = (struct weir_pool_request){40 * MB, 50 * MB, true};
        job.job.run = sees_all_it_asked_for;
        job.job.done = has_given_all_back;
        submit(&job);
        wait_all();
        CHECK_EQ(job.ran, 1);
        CHECK_EQ(job.done, 1);
        CHECK_EQ(job.result, 0);
    }
    drain_and_unmake();
}

TEST(an_error_of_a_job_is_its_result)
{
    make(1, (struct weir_sched_options){0});
    struct job job = reader(1);
    job.returns = -WEIR_E_IO;
    submit(&job);
    wait_all();
    CHECK_EQ(job.result, -WEIR_E_IO);
    CHECK_EQ(read_stats().failed, 1);
    drain_and_unmake();
}

/* ---- in line ---- */

TEST(a_job_that_waits_blocks_no_worker)
{
    make(1, (struct weir_sched_options){0});
    struct weir_slots_permit slot = WEIR_SLOTS_PERMIT_NONE;
    struct weir_permit tokens = WEIR_PERMIT_NONE;
    struct weir_pool_permit memory = WEIR_POOL_PERMIT_NONE;
    struct weir_pool_request most = {90 * MB, 0, false};
    CHECK_EQ(weir_slots_try(&s.slots, disk(8), &slot), 0);
    CHECK_EQ(weir_budget_try(&s.reads, 3, &tokens), 0);
    CHECK_EQ(weir_pool_try(&s.pool, &most, &memory), 0);
    struct job for_slot = mapper(8), for_tokens = reader(4), for_memory = pooler(20 * MB);
    submit(&for_slot);
    submit(&for_tokens);
    submit(&for_memory);
    for (uint64_t i = 0; i < 10; i++) {
        struct job other = i % 2 ? mapper(16 + i) : reader(0);
        submit(&other);
        await(&other.done);
        CHECK_EQ(other.result, 0);
    }
    CHECK_EQ(for_slot.ran + for_tokens.ran + for_memory.ran, 0);
    CHECK_EQ(read_stats().waiting, 3);
    weir_slots_release(&slot);
    await(&for_slot.done);
    weir_pool_permit_release(&memory);
    await(&for_memory.done);
    weir_permit_release(&tokens);
    await(&for_tokens.done);
    CHECK_EQ(read_stats().wait_ns.count, 13);
    drain_and_unmake();
}

TEST(a_line_is_first_come_first_served)
{
    make(1, (struct weir_sched_options){0});
    struct weir_permit tokens = WEIR_PERMIT_NONE;
    CHECK_EQ(weir_budget_try(&s.reads, 4, &tokens), 0);
    struct job jobs[8];
    for (uint32_t i = 0; i < 8; i++) {
        jobs[i] = reader(1 + i % 4);
        jobs[i].mark = i;
        jobs[i].job.pool.scan_ring_bytes = i % 3 * 50 * MB;
        submit(&jobs[i]);
    }
    weir_permit_release(&tokens);
    wait_all();
    for (uint32_t i = 0; i < 8; i++)
        CHECK_EQ(s.order[i], i);
    drain_and_unmake();
}

/* Three slots and five jobs: two wait, and each end lets the next one in, in order. */
TEST(five_jobs_share_three_slots)
{
    make(5, (struct weir_sched_options){0});
    weir_slots_fini(&s.slots);
    struct weir_slots_config three = {.default_slots = 3};
    CHECK_EQ(weir_slots_init(&s.slots, "disks", &three), 0);
    struct job jobs[5];
    for (int i = 0; i < 5; i++) {
        jobs[i] = mapper(8);
        jobs[i].job.run = holds;
        submit(&jobs[i]);
    }
    for (int i = 0; i < 3; i++)
        await(&jobs[i].ran);
    CHECK_EQ(read_stats().waiting, 2);
    weir__store32(&jobs[2].let_go, 1);
    await(&jobs[3].ran);
    CHECK_EQ(read_stats().waiting, 1);
    CHECK_EQ(weir__load32(&jobs[4].ran), 0);
    weir__store32(&jobs[0].let_go, 1);
    await(&jobs[4].ran);
    CHECK_EQ(read_stats().waiting, 0);
    for (int i = 0; i < 5; i++)
        weir__store32(&jobs[i].let_go, 1);
    wait_all();
    drain_and_unmake();
}

/* The small ones ask for more again and again; a job for all of the pool has its turn all the same,
 * and then they may stop. */
static int runs_until_the_large_one_has_run(struct weir_job *base,
                                            const struct weir_deadline *deadline)
{
    struct job *job = (struct job *)base;
    CHECK_EQ(weir_deadline_check(deadline), 0);
    weir__add32(&s.running, 1);
    job->ran++;
    sched_yield();
    weir__add32(&s.running, UINT32_MAX);
    return weir__load32(&s.order_count) ? 0 : WEIR_JOB_AGAIN;
}

static int runs_alone(struct weir_job *base, const struct weir_deadline *deadline)
{
    CHECK_EQ(weir__load32(&s.running), 0);
    return runs(base, deadline);
}

TEST(a_job_for_the_whole_pool_is_served_under_a_stream_of_small_ones)
{
    make(2, (struct weir_sched_options){0});
    struct job small[6], large = pooler(100 * MB);
    for (int i = 0; i < 6; i++) {
        small[i] = pooler(30 * MB);
        small[i].job.run = runs_until_the_large_one_has_run;
        submit(&small[i]);
    }
    large.job.run = runs_alone;
    while (read_stats().starts < 20)
        sched_yield();
    submit(&large);
    await(&large.done);
    CHECK_EQ(large.result, 0);
    wait_all();
    CHECK(read_stats().again >= 14);
    drain_and_unmake();
}

TEST(a_resize_that_makes_a_job_impossible_ends_it)
{
    make(1, (struct weir_sched_options){0});
    struct weir_permit token = WEIR_PERMIT_NONE;
    CHECK_EQ(weir_budget_try(&s.reads, 1, &token), 0);
    struct job job = reader(4);
    submit(&job);
    CHECK_EQ(weir_budget_resize(&s.reads, 3), 0);
    await(&job.done);
    CHECK_EQ(job.result, -WEIR_E_TOO_LARGE);
    CHECK_EQ(job.ran, 0);
    CHECK_STR(job.detail, "scheduler 'jobs': a resize left too little for the job");
    weir_permit_release(&token);
    drain_and_unmake();
}

/* ---- backing off ---- */

TEST(a_job_may_back_off)
{
    weir__clock_fake(WEIR_NS_PER_S);
    make(1, quick_backoff);
    struct weir_permit tokens = WEIR_PERMIT_NONE;
    CHECK_EQ(weir_budget_try(&s.reads, 3, &tokens), 0);
    struct job job = reader(2), other = reader(1);
    job.job.wait = WEIR_SCHED_BACKOFF;
    submit(&job);
    await_backoffs(1);
    submit(&other); /* has what it needs, and goes before */
    await(&other.done);
    weir__clock_advance(1000);
    await_backoffs(2);
    CHECK_EQ(job.ran, 0);
    weir_permit_release(&tokens);
    weir__clock_advance(2000);
    await(&job.done);
    CHECK_EQ(job.result, 0);
    CHECK_EQ(read_stats().backoffs, 2);
    drain_and_unmake();
    weir__clock_unfake();
}

TEST(delays_begin_at_10_ms_unless_told_otherwise)
{
    weir__clock_fake(WEIR_NS_PER_S);
    make(1, (struct weir_sched_options){0});
    const struct weir_backoff_options *backoff = &s.sched->options.backoff;
    CHECK_EQ(backoff->base_min_ns, 10000000);
    CHECK_EQ(backoff->base_max_ns, 20000000);
    CHECK_EQ(backoff->cap_ns, 1000000000);
    CHECK_EQ(backoff->tries_max, 1000);
    struct weir_permit tokens = WEIR_PERMIT_NONE;
    CHECK_EQ(weir_budget_try(&s.reads, 4, &tokens), 0);
    struct job job = reader(1);
    job.job.wait = WEIR_SCHED_BACKOFF;
    submit(&job);
    uint64_t sum_ns = 0;
    for (uint64_t i = 0; i < 3; i++) { /* from 10, 20, 40 ms to twice as much */
        struct weir_backoff_stats stats;
        uint64_t least_ns = 10000000u << i;
        await_backoffs(i + 1);
        weir_backoff_read(&job.job._backoff, &stats);
        CHECK_EQ(stats.delays, i + 1);
        uint64_t delay_ns = stats.delay_ns_sum - sum_ns;
        CHECK(delay_ns >= least_ns && delay_ns <= 2 * least_ns);
        sum_ns = stats.delay_ns_sum;
        if (i == 2)
            weir_permit_release(&tokens);
        weir__clock_advance(delay_ns);
    }
    await(&job.done);
    CHECK_EQ(job.result, 0);
    drain_and_unmake();
    weir__clock_unfake();
}

TEST(tries_run_out)
{
    weir__clock_fake(WEIR_NS_PER_S);
    make(1, quick_backoff);
    struct weir_slots_permit slot = WEIR_SLOTS_PERMIT_NONE;
    CHECK_EQ(weir_slots_try(&s.slots, disk(8), &slot), 0);
    struct job job = mapper(8);
    job.job.wait = WEIR_SCHED_BACKOFF;
    submit(&job);
    for (uint64_t i = 1; i < 4; i++) {
        await_backoffs(i);
        weir__clock_advance(8000);
    }
    await(&job.done);
    CHECK_EQ(job.result, -WEIR_E_EXHAUSTED);
    CHECK_EQ(job.ran, 0);
    CHECK_HAS(job.detail, "scheduler 'jobs': the job found its permits taken in 4 tries");
    weir_slots_release(&slot);
    drain_and_unmake();
    weir__clock_unfake();
}

/* What was taken before the step that failed is given back: a slot, when the pool is short. */
TEST(a_job_that_backs_off_keeps_nothing)
{
    weir__clock_fake(WEIR_NS_PER_S);
    make(1, quick_backoff);
    struct weir_pool_permit memory = WEIR_POOL_PERMIT_NONE;
    struct weir_pool_request all = {100 * MB, 0, false};
    CHECK_EQ(weir_pool_try(&s.pool, &all, &memory), 0);
    struct job job = mapper(8);
    job.job.wait = WEIR_SCHED_BACKOFF;
    job.job.pool.scan_ring_bytes = 1;
    submit(&job);
    await_backoffs(1);
    struct weir_slots_permit slot = WEIR_SLOTS_PERMIT_NONE;
    CHECK_EQ(weir_slots_try(&s.slots, disk(8), &slot), 0);
    weir_slots_release(&slot);
    weir_pool_permit_release(&memory);
    weir__clock_advance(1000);
    await(&job.done);
    CHECK_EQ(job.result, 0);
    drain_and_unmake();
    weir__clock_unfake();
}

/* Of two idle workers one watches the time. When that one goes off with a job, the other does. */
TEST(somebody_keeps_the_time)
{
    weir__clock_fake(WEIR_NS_PER_S);
    make(2, quick_backoff);
    struct weir_permit tokens = WEIR_PERMIT_NONE;
    CHECK_EQ(weir_budget_try(&s.reads, 4, &tokens), 0);
    struct job late = reader(1), lengthy = reader(0);
    late.job.wait = WEIR_SCHED_BACKOFF;
    lengthy.job.run = holds;
    submit(&late);
    await_backoffs(1);
    submit(&lengthy);
    await(&lengthy.ran);
    weir_permit_release(&tokens);
    weir__clock_advance(1000);
    await(&late.done);
    CHECK_EQ(late.result, 0);
    weir__store32(&lengthy.let_go, 1);
    wait_all();
    drain_and_unmake();
    weir__clock_unfake();
}

/* All workers have nothing to do. True: the first in their line is the one who watches the time. */
static bool await_idle(uint32_t workers)
{
    for (;;) {
        uint32_t count = 0;
        weir_lock_acquire(&s.sched->lock);
        struct weir__waiter *first = s.sched->idle, *at = first;
        do {
            count += at != NULL;
            at = at ? at->next : NULL;
        } while (at != first);
        bool is_first = first && first == s.sched->keeper;
        weir_lock_release(&s.sched->lock);
        if (count == workers)
            return is_first;
        sched_yield();
    }
}

/* The one that watches the time sleeps until a later one is due: it is told of the earlier. Small
 * jobs go before, until another worker is the one that will find the earlier one's permits taken.
 */
TEST(an_earlier_time_is_kept)
{
    weir__clock_fake(WEIR_NS_PER_S);
    make(3, quick_backoff);
    struct weir_permit tokens = WEIR_PERMIT_NONE;
    CHECK_EQ(weir_budget_try(&s.reads, 4, &tokens), 0);
    struct job later = reader(1), earlier = reader(1);
    later.job.wait = earlier.job.wait = WEIR_SCHED_BACKOFF;
    submit(&later);
    await_backoffs(1);
    weir__clock_advance(1000);
    await_backoffs(2); /* its next delay is twice as long */
    while (await_idle(3)) {
        struct job small = reader(0);
        submit(&small);
        await(&small.done);
    }
    submit(&earlier);
    await_backoffs(3);
    weir_permit_release(&tokens);
    weir__clock_advance(1000);
    await(&earlier.done);
    CHECK_EQ(later.done, 0);
    weir__clock_advance(1000);
    await(&later.done);
    drain_and_unmake();
    weir__clock_unfake();
}

/* ---- again ---- */

TEST(a_job_may_ask_to_run_again)
{
    for (int wait = 0; wait < 2; wait++) {
        make(1, (struct weir_sched_options){0});
        struct job first = reader(4), second = reader(4);
        first.agains = 2;
        second.mark = 1;
        first.job.wait = second.job.wait = (enum weir_sched_wait)wait;
        struct weir_permit tokens = WEIR_PERMIT_NONE;
        CHECK_EQ(weir_budget_try(&s.reads, 4, &tokens), 0);
        if (wait == WEIR_SCHED_IN_LINE) {
            submit(&first);
            submit(&second);
        }
        weir_permit_release(&tokens);
        if (wait == WEIR_SCHED_BACKOFF)
            submit(&first);
        wait_all();
        CHECK_EQ(first.ran, 3);
        CHECK_EQ(first.done, 1);
        CHECK_EQ(read_stats().again, 2);
        CHECK_EQ(read_stats().starts, first.ran + second.ran);
        if (wait == WEIR_SCHED_IN_LINE)
            CHECK_EQ(s.order[1], 1); /* behind the one who waited */
        drain_and_unmake();
    }
}

static int wants_more(struct weir_job *base, const struct weir_deadline *deadline)
{
    base->read_tokens += 3;
    return runs(base, deadline);
}

TEST(a_job_may_ask_for_more_the_next_time)
{
    make(1, (struct weir_sched_options){0});
    struct job job = reader(1);
    job.job.run = wants_more;
    job.agains = 5;
    submit(&job);
    wait_all();
    CHECK_EQ(job.ran, 2);
    CHECK_EQ(job.result, -WEIR_E_TOO_LARGE);
    CHECK_HAS(job.detail, "takes 7 read tokens, there are 4");
    drain_and_unmake();
}

/* ---- refusals ---- */

TEST(a_job_that_can_never_run_is_refused)
{
    make(1, (struct weir_sched_options){0});
    struct job tokens = reader(5), ring = pooler(100 * MB + 1), cache = mapper(8),
               no_run = reader(1), no_done = reader(1), model = reader(1), wait = reader(1);
    cache.job.pool.delta_cache_bytes = 201 * MB;
    no_run.job.run = NULL;
    no_done.job.done = NULL;
    model.job.io_model = (enum weir_io_model)7;
    wait.job.wait = (enum weir_sched_wait)7;
    refused(&tokens, -WEIR_E_TOO_LARGE,
            "scheduler 'jobs': the job takes 5 read tokens, there are 4");
    refused(&ring, -WEIR_E_TOO_LARGE, "needs a scan ring of 100000001 bytes, there are 100000000");
    refused(&cache, -WEIR_E_TOO_LARGE, "needs a delta cache of 201000000 bytes");
    refused(&no_run, -WEIR_E_INVALID, "a job needs both run and done");
    refused(&no_done, -WEIR_E_INVALID, "a job needs both run and done");
    refused(&model, -WEIR_E_INVALID, "7 is no I/O model");
    refused(&wait, -WEIR_E_INVALID, "7 is no way to wait");
    CHECK_EQ(read_stats().refused, 7);
    CHECK_EQ(read_stats().submitted, 0);
    drain_and_unmake();
    CHECK_EQ(s.done_count, 0);

    struct weir_sched_options none = {.workers = 1};
    struct job slot = mapper(8);
    CHECK_EQ(weir_sched_new(&s.sched, "jobs", &none), 0);
    tokens = reader(1);
    ring = pooler(1);
    refused(&slot, -WEIR_E_INVALID, "takes a device slot, but there are none here");
    refused(&tokens, -WEIR_E_INVALID, "takes read tokens, but there are none here");
    refused(&ring, -WEIR_E_INVALID, "asks for memory of a pool, but there is none here");
    struct job plain = reader(0);
    submit(&plain);
    CHECK_EQ(weir_sched_drain(s.sched, NULL), 0);
    CHECK_EQ(plain.result, 0);
    weir_sched_free(s.sched);
}

TEST(bytes_that_do_not_add_up_are_refused)
{
    struct weir_pool_config huge = {UINT64_MAX, UINT64_MAX, 1, 0};
    struct weir_sched_options options = {.workers = 1, .pool = &s.pool};
    CHECK_EQ(weir_pool_init(&s.pool, "pool", &huge), 0);
    CHECK_EQ(weir_sched_new(&s.sched, "jobs", &options), 0);
    struct job job = pooler(UINT64_MAX);
    job.job.pool.delta_cache_bytes = 1;
    refused(&job, -WEIR_E_TOO_LARGE, "together more than 64 bits can count");
    CHECK_EQ(weir_sched_drain(s.sched, NULL), 0);
    weir_sched_free(s.sched);
    weir_pool_fini(&s.pool);
}

TEST(too_many_jobs_are_busy)
{
    make(1, (struct weir_sched_options){.jobs_max = 2});
    struct job jobs[3];
    for (int i = 0; i < 3; i++) {
        jobs[i] = reader(1);
        jobs[i].job.run = holds;
    }
    submit(&jobs[0]);
    submit(&jobs[1]);
    refused(&jobs[2], -WEIR_E_BUSY, "scheduler 'jobs': 2 jobs accepted, 2 is the limit");
    CHECK_EQ(read_stats().busy, 1);
    weir_sched_cancel(&jobs[2].job); /* not accepted, and left alone */
    weir__store32(&jobs[0].let_go, 1);
    await(&jobs[0].done);
    submit(&jobs[2]);
    weir__store32(&jobs[1].let_go, 1);
    weir__store32(&jobs[2].let_go, 1);
    drain_and_unmake();
    CHECK_EQ(jobs[2].result, 0);
}

/* Two places in line: the third job finds the line full, and that is its result. */
TEST(a_full_line_ends_a_job)
{
    make(1, (struct weir_sched_options){0});
    weir_budget_fini(&s.reads);
    struct weir_budget_options narrow = {.capacity = 1, .waiters_max = 2};
    CHECK_EQ(weir_budget_init_with(&s.reads, "reads", &narrow), 0);
    struct weir_permit token = WEIR_PERMIT_NONE;
    CHECK_EQ(weir_budget_try(&s.reads, 1, &token), 0);
    struct job jobs[3];
    for (int i = 0; i < 3; i++) {
        jobs[i] = reader(1);
        submit(&jobs[i]);
    }
    await(&jobs[2].done);
    CHECK_EQ(jobs[2].result, -WEIR_E_BUSY);
    CHECK_HAS(jobs[2].detail, "could not be admitted");
    weir_permit_release(&token);
    drain_and_unmake();
}

TEST(bad_options_are_refused)
{
    struct weir_sched *sched = NULL;
    struct weir_sched_options none = {0}, falling = {.workers = 1}, long_drain = {.workers = 1},
                              good = {.workers = 1};
    falling.backoff.base_min_ns = 2 * WEIR_NS_PER_S;
    long_drain.crew.drain_ns = UINT64_MAX;
    CHECK_EQ(weir_sched_new(&sched, "jobs", NULL), -WEIR_E_INVALID);
    CHECK_EQ(weir_sched_new(&sched, "jobs", &none), -WEIR_E_INVALID);
    CHECK_HAS(weir_error_detail(), "scheduler 'jobs': 0 workers asked for, it may be 1 to 65536");
    CHECK_EQ(weir_sched_new(&sched, "jobs", &falling), -WEIR_E_INVALID);
    CHECK_EQ(weir_sched_new(&sched, "jobs", &long_drain), -WEIR_E_INVALID);
    CHECK_HAS(weir_error_detail(), "at most 86400000000000");
    CHECK_EQ(weir_sched_new(&sched, "", &good), -WEIR_E_INVALID);
    CHECK(sched == NULL);
    weir_sched_free(NULL);
}

TEST(its_workers_can_be_looked_at)
{
    struct weir_sched *sched;
    struct weir_sched_options options = {.workers = 3};
    CHECK_EQ(weir_sched_new(&sched, "jobs", &options), 0);
    struct weir_crew_report report;
    weir_crew_read(weir_sched_crew(sched), &report);
    CHECK_EQ(report.running, 3);
    CHECK_STR(report.kinds[0].name, "worker");
    CHECK_EQ(weir_sched_drain(sched, NULL), 0);
    weir_sched_free(sched);
}

TAP_MAIN()
