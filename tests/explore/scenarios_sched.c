/* The scheduler: jobs between submit, grant, cancel, workers and a drain.
 *
 * Most scenarios have a scheduler without a crew, put together by hand, whose workers are threads
 * of the scenario or single steps of one: what is left out is what the crew's scenarios explore. */
#include "sched_job.h"
#include "xp.h"
#include "xp_engine.h"

#define JOBS 2

static struct {
    struct weir_sched sched;
    struct weir_sched *whole; /* a scheduler with a crew, where there is one */
    struct weir_budget reads;
    struct weir_pool pool;
    struct weir_permit held;
    struct weir_pool_permit held_pool;
    struct weir_cancel stop, abort, never;
    struct weir_job jobs[JOBS];
    unsigned ran[JOBS];
    unsigned done[JOBS];
    int result[JOBS];
    unsigned done_count, done_wanted; /* the last of the wanted stops the workers */
    bool tells_nobody;                /* done() leaves the workers alone */
    bool is_submitted;
    uint64_t in_line; /* for the token, when a job started over */
} s;

static const struct weir_lock_class sched_class = {"sched", WEIR_RANK_CORE + 10};

static unsigned index_of(const struct weir_job *job)
{
    return (unsigned)(job - s.jobs);
}

static int runs(struct weir_job *job, const struct weir_deadline *deadline)
{
    (void)deadline;
    XP_ASSERT(!s.done[index_of(job)], "runs after it is done");
    s.ran[index_of(job)]++;
    xp_point();
    return 0;
}

static void is_done(struct weir_job *job, int result)
{
    unsigned at = index_of(job);
    XP_ASSERT(s.done[at]++ == 0, "done twice");
    XP_ASSERT(job->_pins == 0, "done while somebody still looks at it");
    XP_ASSERT(!weir_permit_is_held(&job->_read_permit), "done with tokens");
    XP_ASSERT(!weir_pool_permit_is_held(&job->_pool_permit), "done with memory");
    s.result[at] = result;
    if (++s.done_count == s.done_wanted && !s.tells_nobody)
        weir_cancel_fire(&s.stop);
}

static void make_job(unsigned at, enum weir_sched_wait wait, uint64_t tokens, uint64_t ring)
{
    s.jobs[at] = (struct weir_job){.wait = wait,
                                   .read_tokens = tokens,
                                   .pool = {.scan_ring_bytes = ring},
                                   .run = runs,
                                   .done = is_done};
}

/* One token, one byte of pool, and a job that wants both. The memory is not the heap's, so there is
 * one reference more than will be given up. */
static void make(unsigned done_wanted)
{
    struct weir_pool_config config = {1, 1, 1, 0};
    XP_ASSERT_EQ(weir_budget_init(&s.reads, "reads", 1), 0);
    XP_ASSERT_EQ(weir_pool_init(&s.pool, "pool", &config), 0);
    weir_cancel_init(&s.stop, NULL);
    weir_cancel_init(&s.abort, NULL);
    weir_cancel_init(&s.never, NULL);
    weir_lock_init(&s.sched.lock, &sched_class);
    s.sched.ready_end = &s.sched.ready;
    s.sched.references = 4;
    s.sched.options = (struct weir_sched_options){
        .workers = 1,
        .jobs_max = JOBS,
        .pool = &s.pool,
        .reads = &s.reads,
        .backoff = {.base_min_ns = 10, .base_max_ns = 10, .cap_ns = 10, .tries_max = 9, .seed = 1},
    };
    XP_ASSERT_EQ(weir_histogram_init(&s.sched.wait_ns, weir_histogram_time_bounds_ns,
                                     WEIR_HISTOGRAM_TIME_COUNT),
                 0);
    s.done_wanted = done_wanted;
    make_job(0, WEIR_SCHED_IN_LINE, 1, 1);
    make_job(1, WEIR_SCHED_IN_LINE, 0, 0);
}

static void hold_token(void)
{
    XP_ASSERT_EQ(weir_budget_try(&s.reads, 1, &s.held), 0);
}

static void hold_pool(void)
{
    struct weir_pool_request all = {1, 0, false};
    XP_ASSERT_EQ(weir_pool_try(&s.pool, &all, &s.held_pool), 0);
}

static void submit(unsigned at)
{
    XP_ASSERT_EQ(weir_sched_submit(&s.sched, &s.jobs[at]), 0);
}

static void check_clean(void)
{
    XP_ASSERT_EQ(s.sched.stats.live, 0);
    XP_ASSERT_EQ(s.sched.stats.ready, 0);
    XP_ASSERT_EQ(s.sched.stats.running, 0);
    XP_ASSERT_EQ(s.sched.stats.submitted, s.sched.stats.done);
    XP_ASSERT(!s.sched.jobs && !s.sched.delayed && !s.sched.idle && !s.sched.keeper,
              "something is left in a list");
    weir_budget_fini(&s.reads);
    weir_pool_fini(&s.pool);
    weir_cancel_fini(&s.stop);
    weir_cancel_fini(&s.abort);
    weir_cancel_fini(&s.never);
}

static void check(void)
{
    XP_ASSERT_EQ(s.done_count, s.done_wanted);
    for (unsigned i = 0; i < JOBS; i++)
        if (s.done[i])
            XP_ASSERT(s.ran[i] == 1 || s.result[i] == -WEIR_E_CANCELED,
                      "not run, and not canceled");
    check_clean();
}

/* ---- threads ---- */

static void worker(void)
{
    struct weir_crew_self self = {&s.stop, &s.abort, "worker"};
    weir__sched_worker(&self, &s.sched);
}

/* A worker of one job, which must come, unless all is done. */
static bool is_job_ready(void *arg)
{
    (void)arg;
    return s.sched.ready || s.done_count == s.done_wanted;
}
static void works_if_ready(void)
{
    struct weir_job *job = weir__sched_pop_ready(&s.sched);
    if (job)
        weir__job_work_on(&s.sched, job);
}
static void works_once(void)
{
    xp_await(is_job_ready, NULL);
    works_if_ready();
}
static void works_twice(void)
{
    works_once();
    if (!s.done_count)
        works_once();
}
static void submits_first(void)
{
    submit(0);
}
static void submits_second(void)
{
    submit(1);
}
static void releases(void)
{
    weir_permit_release(&s.held);
    weir_pool_permit_release(&s.held_pool);
}
static bool is_running(void *arg)
{
    (void)arg;
    return s.ran[0] > 0;
}
static void cancels_it_running(void)
{
    xp_await(is_running, NULL);
    weir_sched_cancel(&s.jobs[0]);
}
static void cancels(void)
{
    weir_sched_cancel(&s.jobs[0]);
}

/* ---- a callback that comes before the join has returned ---- */

static void held_setup(void)
{
    make(1);
    hold_token();
    hold_pool();
}
XP_SCENARIO(sched_submit_vs_grant,
            .about = "a grant that meets the submit moves the job on once, through both lines",
            XP_STATE(s), .setup = held_setup, .threads = {submits_first, releases, works_once},
            .check = check, .bound = 3)

XP_SCENARIO(sched_submit_vs_grant_vs_cancel,
            .about = "submit, grant and cancel at once: the job is done once, and holds nothing",
            XP_STATE(s), .setup = held_setup,
            .threads = {submits_first, releases, works_twice, cancels}, .check = check)

/* ---- cancel against everything ---- */

static void in_line_setup(void)
{
    make(1);
    hold_token();
    submit(0);
}
XP_SCENARIO(sched_cancel_vs_grant,
            .about = "a job in line is granted and canceled at once: run or canceled, done once",
            XP_STATE(s), .setup = in_line_setup, .threads = {releases, cancels, works_twice},
            .check = check, .bound = 3)

static void ready_setup(void)
{
    make(1);
    submit(0);
}
XP_SCENARIO(sched_cancel_vs_finish,
            .about = "a job is not done while cancel looks at it, and is done afterwards",
            XP_STATE(s), .setup = ready_setup, .threads = {works_twice, cancels}, .check = check,
            .bound = 3)

/* It runs until its token fires: a cancel that gets lost is a deadlock. */
static int runs_until_canceled(struct weir_job *job, const struct weir_deadline *deadline)
{
    s.ran[index_of(job)]++;
    XP_ASSERT_EQ(weir_deadline_sleep(deadline), -WEIR_E_CANCELED);
    return -WEIR_E_CANCELED;
}
static void long_setup(void)
{
    make(1);
    s.jobs[0].run = runs_until_canceled;
}
XP_SCENARIO(sched_cancel_is_not_lost, .about = "a job that waits for its token is ended by cancel",
            XP_STATE(s), .setup = long_setup,
            .threads = {submits_first, worker, cancels_it_running}, .check = check, .bound = 3)

/* ---- no lost wake ---- */

static void two_setup(void)
{
    make(2);
    make_job(0, WEIR_SCHED_IN_LINE, 0, 0);
}
XP_SCENARIO(sched_ready_wakes, .about = "a worker that is about to sleep gets every job",
            XP_STATE(s), .setup = two_setup, .threads = {worker, submits_first, submits_second},
            .check = check, .bound = 3)

/* ---- backing off ---- */

/* The first job has found its token taken and is aside. The second one runs until the first is
 * done: of two workers one must go on watching the time. */
static bool is_first_done(void *arg)
{
    (void)arg;
    return s.done[0] > 0;
}
static int runs_until_first_is_done(struct weir_job *job, const struct weir_deadline *deadline)
{
    (void)deadline;
    s.ran[index_of(job)]++;
    xp_await(is_first_done, NULL);
    return 0;
}
static void aside_setup(void)
{
    make(2);
    hold_token();
    make_job(0, WEIR_SCHED_BACKOFF, 1, 0);
    submit(0);
    works_once();
    XP_ASSERT_EQ(s.sched.stats.backoffs, 1);
    weir_permit_release(&s.held);
    s.jobs[1].run = runs_until_first_is_done;
}
XP_SCENARIO(sched_keeps_time,
            .about = "while a job is aside, a worker that sleeps watches the time", XP_STATE(s),
            .setup = aside_setup, .threads = {worker, worker, submits_second}, .check = check)

/* The pool is taken: the job must not sit on its token meanwhile. */
static void short_setup(void)
{
    make(1);
    hold_pool();
    make_job(0, WEIR_SCHED_BACKOFF, 1, 1);
    submit(0);
}
static void needs_the_token(void)
{
    struct weir_permit permit = WEIR_PERMIT_NONE;
    struct weir_deadline deadline = weir_deadline_until(&s.never);
    XP_ASSERT_EQ(weir_budget_acquire(&s.reads, 1, &permit, &deadline), 0);
    xp_point();
    weir_permit_release(&permit);
}
static void short_check(void)
{
    XP_ASSERT_EQ(s.done_count, 0);
    weir_pool_permit_release(&s.held_pool);
    weir_sched_cancel(&s.jobs[0]);
    works_once();
    XP_ASSERT_EQ(s.ran[0], 0);
    XP_ASSERT_EQ(s.result[0], -WEIR_E_CANCELED);
    check_clean();
}
XP_SCENARIO(sched_backoff_gives_back, .about = "a job that backs off keeps nothing from others",
            XP_STATE(s), .setup = short_setup, .threads = {works_once, needs_the_token},
            .check = short_check, .bound = 3)

/* In whatever state it is found, there is one more step to take with it, or none. */
static void cancels_and_works(void)
{
    weir_sched_cancel(&s.jobs[0]);
    while (!s.done_count)
        works_once();
}
static void canceled_check(void)
{
    weir_pool_permit_release(&s.held_pool);
    XP_ASSERT_EQ(s.ran[0], 0);
    XP_ASSERT_EQ(s.result[0], -WEIR_E_CANCELED);
    XP_ASSERT(s.sched.stats.backoffs <= 1, "tried on after the cancel");
    check();
}
XP_SCENARIO(sched_cancel_vs_backoff,
            .about = "a canceled job stops trying, whatever moment the cancel comes in",
            XP_STATE(s), .setup = short_setup, .threads = {works_if_ready, cancels_and_works},
            .check = canceled_check, .bound = 3)

/* ---- again ---- */

/* Who stands in line when it starts over has been served when it runs again. */
static int runs_twice(struct weir_job *job, const struct weir_deadline *deadline)
{
    (void)deadline;
    struct weir_budget_stats stats;
    weir_budget_read(&s.reads, &stats);
    XP_ASSERT(stats.granted >= s.in_line, "went before who waited");
    s.in_line = stats.waiting;
    return s.ran[index_of(job)]++ == 0 ? WEIR_JOB_AGAIN : 0;
}
static void again_setup(void)
{
    make(1);
    submit(0);
    s.jobs[0].run = runs_twice;
}
static void works_to_the_end(void)
{
    while (!s.done_count)
        works_once();
}
static void again_check(void)
{
    XP_ASSERT(s.ran[0] == 2 || s.result[0] == -WEIR_E_CANCELED, "neither finished nor canceled");
    s.ran[0] = 1;
    check();
}
XP_SCENARIO(sched_again, .about = "a job that starts over goes behind who waits for its token",
            XP_STATE(s), .setup = again_setup,
            .threads = {works_to_the_end, needs_the_token, cancels}, .check = again_check)

/* ---- the end of a whole scheduler ---- */

/* The times are as short as can be: every wait of the drain may time out at any moment anyway. */
static void whole_setup(void)
{
    struct weir_sched_options options = {.workers = 1, .crew = {.drain_ns = 1, .grace_ns = 1}};
    s.sched.options = options;
    make_job(0, WEIR_SCHED_IN_LINE, 0, 0);
    s.tells_nobody = true;
}
static bool is_whole(void *arg)
{
    (void)arg;
    return s.whole != NULL;
}
static bool has_been_submitted(void *arg)
{
    (void)arg;
    return s.is_submitted;
}
static bool others_have_ended(void *arg)
{
    (void)arg;
    for (unsigned i = 1; i < xp.threads; i++)
        if (xp.thread[i].state != XP_ENDED)
            return false;
    return true;
}
static void makes_and_drains(void)
{
    struct weir_sched *sched;
    XP_ASSERT_EQ(weir_sched_new(&sched, "jobs", &s.sched.options), 0);
    s.whole = sched;
    int error = weir_sched_drain(sched, NULL);
    XP_ASSERT(error == 0 || error == -WEIR_E_TIMEOUT, "neither drained nor timed out");
    xp_await(has_been_submitted, NULL); /* a scheduler outlives the calls to it */
    weir_sched_free(sched);
    xp_await(others_have_ended, NULL); /* also a worker that was abandoned */
}
static void submits_to_the_whole(void)
{
    xp_await(is_whole, NULL);
    int error = weir_sched_submit(s.whole, &s.jobs[0]);
    XP_ASSERT(error == 0 || error == -WEIR_E_DRAINING, "neither accepted nor too late");
    s.done_wanted = error == 0;
    s.is_submitted = true;
}
static void whole_check(void)
{
    XP_ASSERT_EQ(s.done[0], s.done_wanted);
    if (s.done[0])
        XP_ASSERT(s.ran[0] == 1 || s.result[0] == -WEIR_E_CANCELED, "not run, and not canceled");
}
XP_SCENARIO(sched_drain_vs_submit,
            .about = "a job that was accepted while a drain begins is done, in time or out of it",
            XP_STATE(s), .setup = whole_setup, .threads = {makes_and_drains, submits_to_the_whole},
            .check = whole_check)
