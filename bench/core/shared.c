/* shared.c - eight threads share two permits, each for 200 us of I/O at a time.
 *
 * What an unfair semaphore saves by letting a running thread barge in, others pay with their wait.
 * Every wait is kept, so that the worst one is seen and not an average.
 */
#include <pthread.h>
#include <stdlib.h>

#include "bench.h"
#include "sems.h"

#define THREADS   8
#define PERMITS   2
#define IO_NS     200000
#define WAITS_MAX 200000

enum { OPS_PER_S, WORST_MS, P99_MS, SHARE, METRIC_COUNT };

struct worker {
    const struct sem_ops *ops;
    union sem *sem;
    pthread_barrier_t *start;
    uint64_t run_ns;
    uint64_t begin_ns; /* its own first and last moment: who waits for it may be late */
    uint64_t end_ns;
    uint64_t count;
    uint64_t *waits; /* WAITS_MAX of them */
};

static uint64_t run_ns;

static void *work(void *arg)
{
    struct worker *worker = arg;
    struct weir_permit permit = WEIR_PERMIT_NONE;
    pthread_barrier_wait(worker->start);
    worker->begin_ns = bench_now_ns();
    uint64_t stop_ns = worker->begin_ns + worker->run_ns, begin_ns;
    while (worker->count < WAITS_MAX && (begin_ns = bench_now_ns()) < stop_ns) {
        worker->ops->acquire(worker->sem, &permit);
        worker->waits[worker->count++] = bench_now_ns() - begin_ns;
        bench_io(IO_NS);
        worker->ops->release(worker->sem, &permit);
    }
    worker->end_ns = bench_now_ns();
    return NULL;
}

static int compare(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static void judge(const struct worker *workers, uint64_t *waits, double *ret_values)
{
    uint64_t total = 0, least = UINT64_MAX, most = 0, begin_ns = UINT64_MAX, end_ns = 0;
    for (size_t i = 0; i < THREADS; i++) {
        for (uint64_t w = 0; w < workers[i].count; w++)
            waits[total++] = workers[i].waits[w];
        least = workers[i].count < least ? workers[i].count : least;
        most = workers[i].count > most ? workers[i].count : most;
        begin_ns = workers[i].begin_ns < begin_ns ? workers[i].begin_ns : begin_ns;
        end_ns = workers[i].end_ns > end_ns ? workers[i].end_ns : end_ns;
    }
    qsort(waits, total, sizeof(waits[0]), compare);
    ret_values[OPS_PER_S] = (double)total * 1e9 / (double)(end_ns - begin_ns);
    ret_values[WORST_MS] = (double)waits[total - 1] / 1e6;
    ret_values[P99_MS] = (double)waits[total * 99 / 100] / 1e6;
    ret_values[SHARE] = (double)most / (double)least;
}

static void run_row(const struct bench_row *row, double *ret_values)
{
    static uint64_t waits[THREADS][WAITS_MAX], all[THREADS * WAITS_MAX];
    const struct sem_ops *ops = row->arg;
    union sem sem;
    pthread_barrier_t start;
    struct worker workers[THREADS];
    pthread_t threads[THREADS];
    ops->init(&sem, PERMITS);
    pthread_barrier_init(&start, NULL, THREADS + 1);
    for (size_t i = 0; i < THREADS; i++) {
        workers[i] = (struct worker){
            .ops = ops, .sem = &sem, .start = &start, .run_ns = run_ns, .waits = waits[i]};
        if (pthread_create(&threads[i], NULL, work, &workers[i]) != 0)
            bench_die("pthread_create");
    }
    pthread_barrier_wait(&start);
    for (size_t i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    judge(workers, all, ret_values);
    pthread_barrier_destroy(&start);
    ops->fini(&sem);
}

void bench_shared(const struct bench_options *options)
{
    static const struct bench_metric metrics[METRIC_COUNT] = {
        [OPS_PER_S] = {"ops_per_s", "permits/s", 0, true, 0},
        [WORST_MS] = {"worst_wait_ms", "worst wait, ms", 2, true, 0},
        [P99_MS] = {"p99_wait_ms", "p99 wait, ms", 2, true, 0},
        [SHARE] = {"share", "largest/least share", 2, false, 0},
    };
    static struct bench_table table = {
        .key = "shared",
        .title = "8 threads over 2 permits, 200 us of simulated I/O",
        .note = "Each round lasts a second (a third of one with --quick).",
        .metrics = metrics,
        .metric_count = METRIC_COUNT,
    };
    static const struct sem_ops *const contenders[] = {&sem_posix, &sem_weir, &sem_cond, &sem_glib};
    table.rounds = options->is_quick ? 3 : 11;
    run_ns = options->is_quick ? WEIR_NS_PER_S / 3 : WEIR_NS_PER_S;
    for (size_t i = 0; i < sizeof(contenders) / sizeof(contenders[0]); i++) {
        struct bench_row *row = bench_row_add(&table, "", contenders[i]->name);
        row->is_peer = i == 0;
        row->run = contenders[i]->init ? run_row : NULL;
        row->arg = contenders[i];
    }
    bench_table_run(&table);
    bench_report_table(options, &table);
    bench_report_target(options, "weir_budget, worst wait / sem_t",
                        bench_ratio(&table, &table.rows[1], WORST_MS), true, 0.2);
    bench_report_target(options, "weir_budget, throughput / sem_t",
                        bench_ratio(&table, &table.rows[1], OPS_PER_S), false, 0.9);
}
