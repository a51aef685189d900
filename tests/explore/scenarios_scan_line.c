/* scenarios_scan_line.c - small repositories do not wait for large ones: those that are not small
 * leave a leader and a part of the pool to them, whoever comes first, and each has his turn.
 *
 * A large one ends only when the small one was there, so that a small one that waits for large ones
 * waits for ever. The scheduler is one without a crew, whose workers are threads of the scenario.
 */
#include "scan_rig.h"

#include "scan_repo.h"
#include "sched_job.h"

#define REPOS 3
#define SMALL 2 /* which of them */

static struct {
    struct scan_rig rig;
    struct weir_sched sched;
    struct weir_pool pool;
    struct weir_cancel stop, abort;
    struct weir_budget gate; /* the small one opens it */
    struct weir_permit closed;
    struct weir__scan_repo repos[REPOS];
    unsigned ran[REPOS], over[REPOS], over_count;
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
    struct weir_permit permit = WEIR_PERMIT_NONE;
    s.ran[index_of(repo)]++;
    if (repo->is_small) {
        weir_permit_release(&s.closed);
        return 0;
    }
    XP_ASSERT_EQ(weir_budget_acquire(&s.gate, 1, &permit, deadline), 0);
    weir_permit_release(&permit);
    return 0;
}

static void is_done(struct weir_job *job, int result)
{
    struct weir__scan_repo *repo = (struct weir__scan_repo *)job;
    weir__scan_line_leave(repo);
    weir__scan_repo_over(repo, result);
}

static void is_over(struct weir__scan_repo *repo, int result)
{
    unsigned at = index_of(repo);
    XP_ASSERT(s.over[at]++ == 0, "it ends twice");
    XP_ASSERT(result == 0 ? s.ran[at] == 1 : s.is_draining && s.ran[at] == 0,
              "refused, or not run, and nobody drains");
    if (at == SMALL && result < 0)
        weir_permit_release(&s.closed);
    if (++s.over_count == REPOS)
        weir_cancel_fire(&s.stop);
}

/* leaders: of those that are not small; bytes: that each of these asks for, of 16. */
static void begin(uint32_t leaders, uint64_t bytes)
{
    const struct rig_limits limits = {.reads = 1, .buffers = 1, .queue = 1};
    const struct weir_pool_config config = {16, 16, 1, 0};
    rig_begin(&s.rig, &limits);
    s.rig.repo_over = is_over;
    s.rig.run.open = 0; /* nobody scans here */
    s.rig.run.repos.sched = &s.sched;
    s.rig.run.repos.config = config;
    s.rig.run.repos.leaders = leaders;
    s.rig.run.repos.has_small = true;
    XP_ASSERT_EQ(weir_pool_init(&s.pool, "pool", &config), 0);
    XP_ASSERT_EQ(weir_budget_init(&s.gate, "gate", 1), 0);
    XP_ASSERT_EQ(weir_budget_try(&s.gate, 1, &s.closed), 0);
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
        s.repos[i].number = i + 1;
        s.repos[i].is_small = i == SMALL;
        s.repos[i].job.run = runs;
        s.repos[i].job.done = is_done;
        s.repos[i].job.pool = (struct weir_pool_request){
            .scan_ring_bytes = 1, .delta_cache_bytes = i == SMALL ? 1 : bytes};
    }
}

static void begin_leaders(void)
{
    begin(1, 1);
}

static void begin_bytes(void)
{
    begin(REPOS, 8);
}

static void adds_all(void)
{
    for (unsigned i = 0; i < REPOS; i++)
        XP_ASSERT(!weir__scan_line_add(&s.repos[i]), "one for large objects was refused");
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
    XP_ASSERT_EQ(s.over_count, REPOS);
    XP_ASSERT(repos->lines_count == 1, "one disk, and not one line");
    XP_ASSERT(!repos->lines[0].first && !repos->lines[0].last, "somebody is left in the line");
    XP_ASSERT_EQ(repos->lines[0].now, 0);
    XP_ASSERT_EQ(repos->heavy.now + repos->heavy.waiting, 0);
    XP_ASSERT_EQ(repos->heavy.ring_bytes + repos->heavy.delta_bytes, 0);
    XP_ASSERT_EQ(s.sched.stats.live, 0);
    weir_budget_fini(&s.gate);
    weir_pool_fini(&s.pool);
    weir_cancel_fini(&s.stop);
    weir_cancel_fini(&s.abort);
    rig_end(&s.rig);
}

XP_SCENARIO(scan_line_leaders, .about = "large repositories leave a leader to small ones",
            XP_STATE(s), .setup = begin_leaders, .threads = {adds_all, works, works},
            .check = check, .bound = 2)

XP_SCENARIO(scan_line_bytes, .about = "large repositories leave a part of the pool to small ones",
            XP_STATE(s), .setup = begin_bytes, .threads = {adds_all, works, works}, .check = check,
            .bound = 2)

XP_SCENARIO(scan_line_drain, .about = "who is refused in the line of repositories ends, each once",
            XP_STATE(s), .setup = begin_leaders, .threads = {adds_all, works, works, drains},
            .check = check, .bound = 1)
