/* scenarios_scan_large.c - repositories that wait with large objects: each is admitted once more,
 * no more than the half of the threads at once, and whoever is done or refused lets the next one
 * go.
 *
 * The scheduler is one without a crew, whose workers are threads of the scenario; what a job does
 * is the scenario's, how it gets there is the scan's.
 */
#include "scan_rig.h"

#include "scan_repo.h"
#include "sched_job.h"

#define REPOS 3

static struct {
    struct scan_rig rig;
    struct weir_sched sched;
    struct weir_pool pool;
    struct weir_cancel stop, abort;
    struct weir__scan_repo repos[REPOS];
    unsigned ran[REPOS], over[REPOS];
    unsigned over_count, over_wanted; /* the last one ends the workers */
    unsigned in_work;
    bool is_draining;
} s;

static const struct weir_lock_class sched_class = {"sched", WEIR_RANK_CORE + 10};

static unsigned index_of(const struct weir__scan_repo *repo)
{
    return (unsigned)(repo - s.repos);
}

static int runs(struct weir_job *job, const struct weir_deadline *deadline)
{
    const struct weir__scan_repo *repo = (const struct weir__scan_repo *)job;
    (void)deadline;
    XP_ASSERT(repo->is_large, "it is not known what it was admitted for");
    XP_ASSERT(weir_pool_permit_can_spill(weir_job_pool_permit(job)), "it may not spill");
    XP_ASSERT(s.in_work++ == 0, "more than half of the threads are at large objects");
    xp_point();
    s.in_work--;
    s.ran[index_of(repo)]++;
    return 0;
}

/* As the job of a repository ends that was admitted for its large objects. */
static void is_done(struct weir_job *job, int result)
{
    struct weir__scan_repo *repo = (struct weir__scan_repo *)job;
    weir__scan_line_leave(repo);
    weir__scan_large_done(&s.rig.run);
    weir__scan_repo_over(repo, result);
}

static void is_over(struct weir__scan_repo *repo, int result)
{
    unsigned at = index_of(repo);
    XP_ASSERT(s.over[at]++ == 0, "it ends twice");
    XP_ASSERT(result == 0 ? s.ran[at] == 1 : s.is_draining && s.ran[at] == 0,
              "refused, or not run, and nobody drains");
    if (++s.over_count == s.over_wanted)
        weir_cancel_fire(&s.stop);
}

static void begin(unsigned repos)
{
    const struct rig_limits limits = {.reads = 1, .buffers = 1, .queue = 1};
    const struct weir_pool_config room = {1 << 30, 1 << 30, REPOS, 0}; /* for all at once */
    rig_begin(&s.rig, &limits);
    s.rig.run.threads = 2;
    s.rig.repo_over = is_over;
    s.rig.run.open = 0; /* nobody scans here */
    s.rig.run.repos.sched = &s.sched;
    s.rig.run.repos.config = room;
    s.rig.run.repos.leaders = REPOS;
    s.rig.run.repos.has_small = true;
    XP_ASSERT_EQ(weir_pool_init(&s.pool, "pool", &room), 0);
    weir_cancel_init(&s.stop, NULL);
    weir_cancel_init(&s.abort, NULL);
    weir_lock_init(&s.sched.lock, &sched_class);
    s.sched.ready_end = &s.sched.ready;
    s.sched.references = 4;
    s.sched.options = (struct weir_sched_options){.workers = 2, .jobs_max = REPOS, .pool = &s.pool};
    XP_ASSERT_EQ(weir_histogram_init(&s.sched.wait_ns, weir_histogram_time_bounds_ns,
                                     WEIR_HISTOGRAM_TIME_COUNT),
                 0);
    for (unsigned i = 0; i < REPOS; i++) {
        s.repos[i].run = &s.rig.run;
        s.repos[i].job.run = runs;
        s.repos[i].job.done = is_done;
    }
    s.over_wanted = repos;
}

static void begin_two(void)
{
    begin(2);
}

static void begin_three(void)
{
    begin(3);
}

static void adds_first(void)
{
    weir__scan_large_add(&s.repos[0]);
}

static void adds_second(void)
{
    weir__scan_large_add(&s.repos[1]);
}

static void adds_two_more(void)
{
    weir__scan_large_add(&s.repos[1]);
    weir__scan_large_add(&s.repos[2]);
}

static void works(void)
{
    struct weir_crew_self self = {&s.stop, &s.abort, "worker"};
    weir__sched_worker(&self, &s.sched);
}

static void drains(void)
{
    weir_lock_acquire(&s.sched.lock);
    s.sched.is_draining = s.is_draining = true;
    weir_lock_release(&s.sched.lock);
}

static void check(void)
{
    const struct weir__scan_repos *repos = &s.rig.run.repos;
    XP_ASSERT_EQ(s.over_count, s.over_wanted);
    XP_ASSERT(!repos->large_first && !repos->large_last, "somebody is left in the list");
    XP_ASSERT_EQ(repos->large_waiting, 0);
    XP_ASSERT_EQ(repos->large_now, 0);
    XP_ASSERT_EQ(repos->heavy.now + repos->heavy.waiting, 0);
    XP_ASSERT_EQ(repos->large_all, s.ran[0] + s.ran[1] + s.ran[2]);
    XP_ASSERT_EQ(s.sched.stats.live, 0);
    weir_pool_fini(&s.pool);
    weir_cancel_fini(&s.stop);
    weir_cancel_fini(&s.abort);
    rig_end(&s.rig);
}

XP_SCENARIO(scan_large, .about = "who waits with large objects gets his turn, one after the other",
            XP_STATE(s), .setup = begin_two, .threads = {adds_first, adds_second, works, works},
            .check = check, .bound = 2)

XP_SCENARIO(scan_large_line, .about = "whoever is done with large objects lets the next one go",
            XP_STATE(s), .setup = begin_three, .threads = {adds_first, adds_two_more, works},
            .check = check, .bound = 2)

XP_SCENARIO(scan_large_drain, .about = "who is refused with large objects ends, and the next too",
            XP_STATE(s), .setup = begin_three,
            .threads = {adds_first, adds_two_more, works, drains}, .check = check, .bound = 2)
