/* uncontended.c - one acquire and one release, while nobody else wants anything.
 *
 * Processor time of the thread is taken, so that being preempted does not count. A second thread
 * exists and sleeps all the while, because glibc takes short cuts in a process with one thread, in
 * which nobody needs a semaphore.
 */
#include <pthread.h>

#include "bench.h"
#include "sems.h"

#define ROUND_NS       (4 * 1000 * 1000)
#define ROUND_NS_QUICK (1000 * 1000)
#define CAPACITY       8

/* Processor time, in nanoseconds, of so many pairs. */
#define PAIRS_LOOP(statements)                                                                     \
    do {                                                                                           \
        uint64_t begin_ns = bench_cpu_ns();                                                        \
        for (uint64_t i = 0; i < pairs; i++) {                                                     \
            statements                                                                             \
        }                                                                                          \
        spent_ns = bench_cpu_ns() - begin_ns;                                                      \
    } while (0)

static uint64_t round_ns;

static uint64_t weir_acquire_pairs(union sem *sem, uint64_t pairs)
{
    struct weir_deadline deadline = weir_deadline_in(600 * WEIR_NS_PER_S, NULL);
    struct weir_permit permit = WEIR_PERMIT_NONE;
    uint64_t spent_ns;
    PAIRS_LOOP({
        if (weir_budget_acquire(&sem->budget, 1, &permit, &deadline) != 0)
            bench_die("weir_budget_acquire");
        weir_permit_release(&permit);
    });
    return spent_ns;
}

static uint64_t weir_try_pairs(union sem *sem, uint64_t pairs)
{
    struct weir_permit permit = WEIR_PERMIT_NONE;
    uint64_t spent_ns;
    PAIRS_LOOP({
        if (weir_budget_try(&sem->budget, 1, &permit) != 0)
            bench_die("weir_budget_try");
        weir_permit_release(&permit);
    });
    return spent_ns;
}

static uint64_t posix_pairs(union sem *sem, uint64_t pairs)
{
    uint64_t spent_ns;
    PAIRS_LOOP({
        if (sem_wait(&sem->posix) != 0)
            bench_die("sem_wait");
        sem_post(&sem->posix);
    });
    return spent_ns;
}

static uint64_t cond_pairs(union sem *sem, uint64_t pairs)
{
    uint64_t spent_ns;
    PAIRS_LOOP({
        posix_sem_acquire(&sem->cond);
        posix_sem_release(&sem->cond);
    });
    return spent_ns;
}

#ifdef BENCH_GLIB
static uint64_t glib_pairs(union sem *sem, uint64_t pairs)
{
    uint64_t spent_ns;
    PAIRS_LOOP({
        glib_sem_acquire(&sem->glib);
        glib_sem_release(&sem->glib);
    });
    return spent_ns;
}
#else
#define glib_pairs NULL
#endif

#ifdef BENCH_DISPATCH
static uint64_t dispatch_pairs(union sem *sem, uint64_t pairs)
{
    uint64_t spent_ns;
    PAIRS_LOOP({
        dispatch_semaphore_wait(sem->dispatch, DISPATCH_TIME_FOREVER);
        dispatch_semaphore_signal(sem->dispatch);
    });
    return spent_ns;
}
#else
#define dispatch_pairs NULL
#endif

struct contender {
    const char *name;
    const struct sem_ops *ops;
    uint64_t (*pairs)(union sem *sem, uint64_t pairs);
};

static const struct contender contenders[] = {
    {"sem_t", &sem_posix, posix_pairs},
    {"weir_budget acquire", &sem_weir, weir_acquire_pairs},
    {"weir_budget try", &sem_weir, weir_try_pairs},
    {"pthread mutex+cond", &sem_cond, cond_pairs},
    {"GLib GMutex+GCond", &sem_glib, glib_pairs},
    {"libdispatch semaphore", &sem_dispatch, dispatch_pairs},
};

/* As many pairs as fill the time of a round; those that are too few have warmed the caches. */
static void run_row(const struct bench_row *row, double *ret_values)
{
    const struct contender *contender = row->arg;
    union sem sem;
    contender->ops->init(&sem, CAPACITY);
    uint64_t pairs = 1000, spent_ns;
    while ((spent_ns = contender->pairs(&sem, pairs)) < round_ns)
        pairs *= 2;
    contender->ops->fini(&sem);
    ret_values[0] = (double)spent_ns / (double)pairs;
}

static void *sleep_beside(void *arg)
{
    pthread_mutex_lock(arg);
    pthread_mutex_unlock(arg);
    return NULL;
}

void bench_uncontended(const struct bench_options *options)
{
    static const struct bench_metric metrics[] = {
        {"ns", "ns for a pair", 2, true, 0},
    };
    static struct bench_table table = {
        .key = "uncontended",
        .title = "acquire + release, nobody waiting",
        .note = "Processor time of one thread; another one sleeps. Lower is better.",
        .metrics = metrics,
        .metric_count = 1,
    };
    table.rounds = options->is_quick ? 9 : 41;
    round_ns = options->is_quick ? ROUND_NS_QUICK : ROUND_NS;
    for (size_t i = 0; i < sizeof(contenders) / sizeof(contenders[0]); i++) {
        struct bench_row *row = bench_row_add(&table, "", contenders[i].name);
        row->is_peer = i == 0;
        row->run = contenders[i].pairs ? run_row : NULL;
        row->arg = &contenders[i];
    }
    static pthread_mutex_t bed = PTHREAD_MUTEX_INITIALIZER;
    pthread_t sleeper;
    pthread_mutex_lock(&bed);
    if (pthread_create(&sleeper, NULL, sleep_beside, &bed) != 0)
        bench_die("pthread_create");
    bench_table_run(&table);
    pthread_mutex_unlock(&bed);
    pthread_join(sleeper, NULL);

    bench_report_table(options, &table);
    bench_report_target(options, "weir_budget acquire + release, time / sem_t",
                        bench_ratio(&table, &table.rows[1], 0), true, 1);
}
