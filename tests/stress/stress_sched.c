/* The scheduler under real threads: jobs of all kinds, canceled, resized and pruned under way. */
#include "stress.h"

#include <sched.h>
#include <weir/sched.h>

#include "atomic.h"

#define THREADS   4
#define JOBS      12 /* of each thread */
#define DEVICES   3
#define SLOTS     2
#define READS_MAX 6
#define RING_MAX  100

struct shared {
    struct weir_sched *sched;
    struct weir_slots slots;
    struct weir_pool pool;
    struct weir_budget reads;
    uint64_t reads_out, ring_out, slots_out[DEVICES];
    uint64_t ran, accepted, done;
};

struct job {
    struct weir_job job;
    struct shared *shared;
    uint64_t dice;
    uint32_t is_out; /* with the scheduler */
    uint32_t runs;   /* this one at a time */
    bool is_on_heap;
};

static void take(uint64_t *out, uint64_t n, uint64_t most)
{
    uint64_t now = weir__add64(out, n) + n;
    CHECK(now <= most);
}

static int run(struct weir_job *base, const struct weir_deadline *deadline)
{
    struct job *job = (struct job *)base;
    struct shared *shared = job->shared;
    bool maps = weir_io_uses_device_slots(base->io_model);
    uint64_t *slots_out = &shared->slots_out[weir_device_raw(base->device)];
    CHECK_EQ(weir__add32(&job->runs, 1), 0);
    take(maps ? slots_out : &shared->reads_out, maps ? 1 : base->read_tokens,
         maps ? SLOTS : READS_MAX);
    take(&shared->ring_out, base->pool.scan_ring_bytes, RING_MAX);
    weir__count(&shared->ran, 1);
    job->dice = job->dice * UINT64_C(6364136223846793005) + 1442695040888963407;
    uint64_t dice = job->dice >> 33;
    if (dice % 8 == 0) {
        struct weir_deadline moment = weir_deadline_in(20000, deadline->cancel);
        (void)weir_deadline_sleep(&moment);
    }
    weir__add64(&shared->ring_out, -base->pool.scan_ring_bytes);
    weir__add64(maps ? slots_out : &shared->reads_out, maps ? -UINT64_C(1) : -base->read_tokens);
    weir__add32(&job->runs, UINT32_MAX);
    return dice % 5 == 1 ? WEIR_JOB_AGAIN : dice % 7 == 1 ? -WEIR_E_IO : 0;
}

static void done(struct weir_job *base, int result)
{
    struct job *job = (struct job *)base;
    CHECK(result == 0 || result == -WEIR_E_IO || result == -WEIR_E_CANCELED ||
          result == -WEIR_E_TOO_LARGE || result == -WEIR_E_EXHAUSTED);
    weir__count(&job->shared->done, 1);
    if (job->is_on_heap)
        free(job);
    else
        weir__store32(&job->is_out, 0);
}

static void fill_in(struct job *job, struct shared *shared, uint64_t dice)
{
    job->shared = shared;
    job->dice = dice;
    job->job.io_model = dice & 1 ? WEIR_IO_EXPLICIT_READS : WEIR_IO_MMAP_IMPLICIT;
    job->job.wait = dice & 6 ? WEIR_SCHED_IN_LINE : WEIR_SCHED_BACKOFF;
    job->job.device = weir_device_from_raw(dice / 8 % DEVICES);
    job->job.read_tokens = dice & 1 ? dice / 32 % (READS_MAX + 1) : 0;
    job->job.pool.scan_ring_bytes = dice / 256 % 3 ? 0 : dice / 1024 % (RING_MAX + 1);
    job->job.pool.needs_spill_slot = dice / 256 % 3 == 1;
    job->job.run = run;
    job->job.done = done;
}

static bool submit(struct shared *shared, struct job *job)
{
    weir__count(&shared->accepted, 1);
    int error = weir_sched_submit(shared->sched, &job->job);
    if (!error)
        return true;
    CHECK(error == -WEIR_E_TOO_LARGE || error == -WEIR_E_BUSY);
    weir__count(&shared->accepted, UINT64_MAX);
    return false;
}

static void submit_from_heap(struct shared *shared, uint64_t dice)
{
    struct job *job = calloc(1, sizeof(*job));
    CHECK(job != NULL);
    fill_in(job, shared, dice);
    job->is_on_heap = true;
    if (!submit(shared, job))
        free(job);
}

static void submit_or_cancel(struct shared *shared, struct job *job, uint64_t dice)
{
    if (weir__load32(&job->is_out)) {
        weir_sched_cancel(&job->job);
        return;
    }
    fill_in(job, shared, dice);
    weir__store32(&job->is_out, 1);
    if (!submit(shared, job))
        weir__store32(&job->is_out, 0);
}

static void resize(struct shared *shared, uint64_t dice)
{
    struct weir_pool_config config = {.scan_ring_bytes = RING_MAX - dice % 50,
                                      .delta_cache_bytes = 1,
                                      .spill_slots = 1 + dice % 2};
    if (dice & 64)
        CHECK_EQ(weir_pool_resize(&shared->pool, &config), 0);
    else
        CHECK_EQ(weir_budget_resize(&shared->reads, READS_MAX - dice % 4), 0);
    weir_slots_prune(&shared->slots, 0);
}

static struct job jobs[THREADS][JOBS];

static void work(struct stress_thread *thread)
{
    struct shared *shared = thread->shared;
    while (stress_goes_on(thread)) {
        uint64_t dice = stress_random(thread);
        switch (dice % 16) {
        case 0:
            resize(shared, dice >> 8);
            break;
        case 1:
        case 2:
            submit_from_heap(shared, dice >> 8);
            break;
        default:
            submit_or_cancel(shared, &jobs[thread->index][dice / 16 % JOBS], dice >> 16);
        }
    }
}

static void make(struct shared *shared, uint64_t drain_ns)
{
    struct weir_slots_config slots = {.default_slots = SLOTS};
    struct weir_pool_config pool = {
        .scan_ring_bytes = RING_MAX, .delta_cache_bytes = 1, .spill_slots = 2};
    memset(shared, 0, sizeof(*shared));
    memset(jobs, 0, sizeof(jobs));
    CHECK_EQ(weir_slots_init(&shared->slots, "disks", &slots), 0);
    CHECK_EQ(weir_pool_init(&shared->pool, "pool", &pool), 0);
    CHECK_EQ(weir_budget_init(&shared->reads, "reads", READS_MAX), 0);
    struct weir_sched_options options = {
        .workers = 3,
        .jobs_max = 64,
        .slots = &shared->slots,
        .pool = &shared->pool,
        .reads = &shared->reads,
        .backoff = {.base_min_ns = 1000, .base_max_ns = 50000, .cap_ns = 200000, .tries_max = 50},
        .crew = {.drain_ns = drain_ns, .grace_ns = 60 * WEIR_NS_PER_S}};
    CHECK_EQ(weir_sched_new(&shared->sched, "stress", &options), 0);
}

/* Everything comes home, or a fini dies. */
static void unmake(struct shared *shared)
{
    struct weir_sched_stats stats;
    weir_sched_read(shared->sched, &stats);
    CHECK_EQ(stats.live, 0);
    CHECK_EQ(stats.submitted, shared->accepted);
    CHECK_EQ(stats.done, shared->done);
    CHECK_EQ(stats.starts, shared->ran);
    CHECK_EQ(stats.submitted, stats.done);
    CHECK_EQ(shared->reads_out + shared->ring_out, 0);
    weir_sched_free(shared->sched);
    weir_slots_fini(&shared->slots);
    weir_pool_fini(&shared->pool);
    weir_budget_fini(&shared->reads);
}

TEST(jobs_of_all_kinds)
{
    static struct shared shared;
    make(&shared, 60 * WEIR_NS_PER_S);
    stress_run(THREADS, &shared, work);
    struct weir_sched_stats stats;
    weir_sched_read(shared.sched, &stats);
    CHECK(stats.done > 1000);
    CHECK(stats.canceled > 100);
    CHECK(stats.again > 100);
    CHECK(stats.backoffs > 100);
    CHECK_EQ(weir_sched_drain(shared.sched, NULL), 0);
    unmake(&shared);
}

/* Rounds: the first thread makes a scheduler and drains it while the others submit and cancel. */
static struct {
    struct shared shared;
    uint32_t round;  /* moved on by the first thread; 0: not begun */
    uint32_t parked; /* of the others, done with this round */
    uint32_t is_over;
} rounds;

static void submit_until_drained(struct stress_thread *thread)
{
    struct shared *shared = &rounds.shared;
    int error = 0;
    while (error != -WEIR_E_DRAINING) {
        uint64_t dice = stress_random(thread);
        struct job *job = &jobs[thread->index][dice % JOBS];
        if (weir__load32(&job->is_out)) {
            if (dice & 1024)
                weir_sched_cancel(&job->job);
            continue;
        }
        fill_in(job, shared, dice >> 16);
        weir__store32(&job->is_out, 1);
        error = weir_sched_submit(shared->sched, &job->job);
        weir__count(&shared->accepted, !error);
        if (error)
            weir__store32(&job->is_out, 0);
    }
}

static void take_part(struct stress_thread *thread)
{
    for (uint32_t round = 1;; round++) {
        while (weir__load32(&rounds.round) < round) {
            if (weir__load32(&rounds.is_over))
                return;
            sched_yield();
        }
        submit_until_drained(thread);
        weir__add32(&rounds.parked, 1);
    }
}

static void drain_in_rounds(struct stress_thread *thread)
{
    if (thread->index > 0) {
        take_part(thread);
        return;
    }
    while (stress_goes_on(thread)) {
        uint64_t dice = stress_random(thread);
        bool cancels = dice & 1;
        make(&rounds.shared, cancels ? 1 : 60 * WEIR_NS_PER_S);
        weir__store32(&rounds.parked, 0);
        weir__add32(&rounds.round, 1);
        struct weir_deadline moment = weir_deadline_in(dice / 2 % WEIR_NS_PER_MS, NULL);
        (void)weir_deadline_sleep(&moment);
        int error = weir_sched_drain(rounds.shared.sched, NULL);
        CHECK(error == 0 || (cancels && error == -WEIR_E_TIMEOUT));
        while (weir__load32(&rounds.parked) < THREADS - 1)
            sched_yield();
        unmake(&rounds.shared);
    }
    weir__store32(&rounds.is_over, 1);
}

TEST(drains_in_the_middle)
{
    memset(&rounds, 0, sizeof(rounds));
    stress_run(THREADS, NULL, drain_in_rounds);
    CHECK(rounds.round > 10);
}

TAP_MAIN()
