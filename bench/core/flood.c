/* flood.c - one request for all of the budget, while others keep asking for one unit each.
 *
 * Beside the budget stands the weighted semaphore as it is usually made of a mutex and a condition
 * variable: everybody is woken at every release and looks whether there is enough for him. The
 * large request then needs all units to be home at one moment, which a steady flood of small ones
 * does not let happen. In a line they are held back until the large one has had its turn.
 */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#include "bench.h"
#include "sems.h"

#define THREADS     6
#define CAPACITY    64
#define HOLD_NS     100000
#define WARM_UP_NS  20000000
#define DEADLINE_NS (5 * WEIR_NS_PER_S)

enum { GRANT_MS, OVERTAKEN, METRIC_COUNT };

static uint64_t deadline_ns;

/* ---- the usual one ---- */

struct weighted {
    pthread_mutex_t mutex;
    pthread_cond_t cond;
    uint64_t available;
};

static void weighted_init(struct weighted *sem)
{
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_mutex_init(&sem->mutex, NULL);
    pthread_cond_init(&sem->cond, &attributes);
    pthread_condattr_destroy(&attributes);
    sem->available = CAPACITY;
}

static void weighted_fini(struct weighted *sem)
{
    pthread_cond_destroy(&sem->cond);
    pthread_mutex_destroy(&sem->mutex);
}

static bool weighted_acquire(struct weighted *sem, uint64_t n, uint64_t at_ns)
{
    struct timespec at = {.tv_sec = (time_t)(at_ns / WEIR_NS_PER_S),
                          .tv_nsec = (long)(at_ns % WEIR_NS_PER_S)};
    int error = 0;
    pthread_mutex_lock(&sem->mutex);
    while (n > sem->available && error != ETIMEDOUT)
        error = pthread_cond_timedwait(&sem->cond, &sem->mutex, &at);
    bool is_granted = n <= sem->available;
    if (is_granted)
        sem->available -= n;
    pthread_mutex_unlock(&sem->mutex);
    return is_granted;
}

static void weighted_release(struct weighted *sem, uint64_t n)
{
    pthread_mutex_lock(&sem->mutex);
    sem->available += n;
    pthread_cond_broadcast(&sem->cond);
    pthread_mutex_unlock(&sem->mutex);
}

/* ---- the flood ---- */

struct scene {
    bool is_weir;
    uint64_t hold_ns;
    union {
        struct weir_budget budget;
        struct weighted weighted;
    } sem;
    atomic_bool is_over;
    atomic_ullong small_grants;
};

static bool acquire(struct scene *scene, uint64_t n, struct weir_permit *permit, uint64_t at_ns)
{
    if (!scene->is_weir)
        return weighted_acquire(&scene->sem.weighted, n, at_ns);
    struct weir_deadline deadline = {at_ns, NULL};
    return weir_budget_acquire(&scene->sem.budget, n, permit, &deadline) == 0;
}

static void release(struct scene *scene, uint64_t n, struct weir_permit *permit)
{
    if (scene->is_weir)
        weir_permit_release(permit);
    else
        weighted_release(&scene->sem.weighted, n);
}

static void *flood(void *arg)
{
    struct scene *scene = arg;
    struct weir_permit permit = WEIR_PERMIT_NONE;
    while (!atomic_load(&scene->is_over)) {
        if (!acquire(scene, 1, &permit, bench_now_ns() + 600 * WEIR_NS_PER_S))
            bench_die("a request for one unit");
        atomic_fetch_add(&scene->small_grants, 1);
        if (scene->hold_ns)
            bench_io(scene->hold_ns);
        release(scene, 1, &permit);
    }
    return NULL;
}

/* The large request, in the middle of the flood. */
static void ask_for_all(struct scene *scene, double *ret_values)
{
    struct weir_permit permit = WEIR_PERMIT_NONE;
    bench_io(WARM_UP_NS);
    uint64_t before = atomic_load(&scene->small_grants);
    uint64_t begin_ns = bench_now_ns();
    bool is_granted = acquire(scene, CAPACITY, &permit, begin_ns + deadline_ns);
    uint64_t took_ns = bench_now_ns() - begin_ns;
    ret_values[OVERTAKEN] = (double)(atomic_load(&scene->small_grants) - before);
    if (is_granted)
        release(scene, CAPACITY, &permit);
    else if (took_ns < deadline_ns)
        took_ns = deadline_ns;
    ret_values[GRANT_MS] = (double)took_ns / 1e6;
}

struct contender {
    const char *group;
    const char *name;
    bool is_weir;
    uint64_t hold_ns;
};

static void run_row(const struct bench_row *row, double *ret_values)
{
    const struct contender *contender = row->arg;
    struct scene scene = {.is_weir = contender->is_weir, .hold_ns = contender->hold_ns};
    if (!scene.is_weir)
        weighted_init(&scene.sem.weighted);
    else if (weir_budget_init(&scene.sem.budget, "flood", CAPACITY) != 0)
        bench_die("weir_budget_init");
    pthread_t threads[THREADS];
    for (size_t i = 0; i < THREADS; i++)
        if (pthread_create(&threads[i], NULL, flood, &scene) != 0)
            bench_die("pthread_create");
    ask_for_all(&scene, ret_values);
    atomic_store(&scene.is_over, true);
    for (size_t i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    if (scene.is_weir)
        weir_budget_fini(&scene.sem.budget);
    else
        weighted_fini(&scene.sem.weighted);
}

void bench_flood(const struct bench_options *options)
{
    static const struct contender contenders[] = {
        {"held 100 us", "weighted mutex+cond", false, HOLD_NS},
        {"held 100 us", "weir_budget", true, HOLD_NS},
        {"not held", "weighted mutex+cond", false, 0},
        {"not held", "weir_budget", true, 0},
    };
    static struct bench_metric metrics[METRIC_COUNT] = {
        [GRANT_MS] = {"grant_ms", "time to grant, ms", 3, false, 0},
        [OVERTAKEN] = {"overtaken", "overtaken by", 0, false, 0},
    };
    static struct bench_table table = {
        .key = "flood",
        .title = "one request for all 64 units while 6 threads keep asking for one",
        .note = "The large request gives up after 5 s (1 s with --quick), which is shown as \"more "
                "than\"; \"overtaken by\" counts the small requests that were granted meanwhile.",
        .metrics = metrics,
        .metric_count = METRIC_COUNT,
    };
    table.rounds = options->is_quick ? 3 : 9;
    deadline_ns = options->is_quick ? WEIR_NS_PER_S : DEADLINE_NS;
    metrics[GRANT_MS].cap = (double)deadline_ns / 1e6;
    for (size_t i = 0; i < sizeof(contenders) / sizeof(contenders[0]); i++) {
        struct bench_row *row = bench_row_add(&table, contenders[i].group, contenders[i].name);
        row->is_peer = !contenders[i].is_weir;
        row->run = run_row;
        row->arg = &contenders[i];
    }
    bench_table_run(&table);
    bench_report_table(options, &table);
}
