/* queue.c - messages a second through a queue, with few and with many threads.
 *
 * Contenders: the usual ring under a mutex with two condition variables, signaled at every message;
 * the same, signaled only when somebody waits; GLib's asynchronous queue, which has no bound and so
 * never makes a producer wait; ours, one message at a time and in batches.
 */
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <weir/queue.h>

#include "bench.h"

#ifdef BENCH_GLIB
#include <glib.h>
#endif

#define CAPACITY       1024
#define MESSAGES       1000000
#define MESSAGES_QUICK 200000
#define PRODUCERS_MAX  8
#define CONSUMERS_MAX  2
#define BATCH          16
#define STOP           UINT64_MAX /* tells one consumer to end */

struct ring {
    pthread_mutex_t mutex;
    pthread_cond_t not_empty;
    pthread_cond_t not_full;
    unsigned first;
    unsigned count;
    unsigned senders_waiting;
    unsigned receivers_waiting;
    uint64_t items[CAPACITY];
};

union queue {
    struct weir_queue weir;
    struct ring ring;
    void *glib;
};

struct queue_ops {
    const char *name;
    void (*init)(union queue *queue);
    void (*fini)(union queue *queue);
    /* Sends first, first + 1, ... */
    void (*produce)(union queue *queue, uint64_t first, uint64_t count);
    /* After all producers are done: lets the consumers come to an end. */
    void (*stop)(union queue *queue, unsigned consumers);
    /* Receives until the end; returns the sum. */
    uint64_t (*consume)(union queue *queue);
};

/* ---- a ring under a mutex ---- */

static void ring_init(union queue *queue)
{
    memset(&queue->ring, 0, sizeof(queue->ring));
    pthread_mutex_init(&queue->ring.mutex, NULL);
    pthread_cond_init(&queue->ring.not_empty, NULL);
    pthread_cond_init(&queue->ring.not_full, NULL);
}

static void ring_fini(union queue *queue)
{
    pthread_cond_destroy(&queue->ring.not_full);
    pthread_cond_destroy(&queue->ring.not_empty);
    pthread_mutex_destroy(&queue->ring.mutex);
}

static inline void ring_send(struct ring *ring, uint64_t item, bool signals_always)
{
    pthread_mutex_lock(&ring->mutex);
    while (ring->count == CAPACITY) {
        ring->senders_waiting++;
        pthread_cond_wait(&ring->not_full, &ring->mutex);
        ring->senders_waiting--;
    }
    ring->items[(ring->first + ring->count++) % CAPACITY] = item;
    if (signals_always || ring->receivers_waiting > 0)
        pthread_cond_signal(&ring->not_empty);
    pthread_mutex_unlock(&ring->mutex);
}

static inline uint64_t ring_recv(struct ring *ring, bool signals_always)
{
    pthread_mutex_lock(&ring->mutex);
    while (ring->count == 0) {
        ring->receivers_waiting++;
        pthread_cond_wait(&ring->not_empty, &ring->mutex);
        ring->receivers_waiting--;
    }
    uint64_t item = ring->items[ring->first];
    ring->first = (ring->first + 1) % CAPACITY;
    ring->count--;
    if (signals_always || ring->senders_waiting > 0)
        pthread_cond_signal(&ring->not_full);
    pthread_mutex_unlock(&ring->mutex);
    return item;
}

static void always_produce(union queue *queue, uint64_t first, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++)
        ring_send(&queue->ring, first + i, true);
}

static uint64_t always_consume(union queue *queue)
{
    uint64_t sum = 0, item;
    while ((item = ring_recv(&queue->ring, true)) != STOP)
        sum += item;
    return sum;
}

static void seldom_produce(union queue *queue, uint64_t first, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++)
        ring_send(&queue->ring, first + i, false);
}

static uint64_t seldom_consume(union queue *queue)
{
    uint64_t sum = 0, item;
    while ((item = ring_recv(&queue->ring, false)) != STOP)
        sum += item;
    return sum;
}

static void ring_stop(union queue *queue, unsigned consumers)
{
    while (consumers-- > 0)
        ring_send(&queue->ring, STOP, true);
}

/* ---- GLib's ---- */

#ifdef BENCH_GLIB
static void glib_init(union queue *queue)
{
    queue->glib = g_async_queue_new();
}

static void glib_fini(union queue *queue)
{
    g_async_queue_unref(queue->glib);
}

/* It takes pointers, and NULL is not one: numbers travel one higher. STOP has become 0 then. */
static void glib_produce(union queue *queue, uint64_t first, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++)
        g_async_queue_push(queue->glib, (void *)(uintptr_t)(first + i + 1));
}

static void glib_stop(union queue *queue, unsigned consumers)
{
    while (consumers-- > 0)
        g_async_queue_push(queue->glib, (void *)(uintptr_t)STOP);
}

static uint64_t glib_consume(union queue *queue)
{
    uint64_t sum = 0, item;
    while ((item = (uintptr_t)g_async_queue_pop(queue->glib)) != STOP)
        sum += item - 1;
    return sum;
}

static const struct queue_ops glib_ops = {
    "GLib GAsyncQueue (unbounded)", glib_init, glib_fini, glib_produce, glib_stop, glib_consume};
#else
static const struct queue_ops glib_ops = {.name = "GLib GAsyncQueue (unbounded)"};
#endif

/* ---- ours ---- */

static void weir_init(union queue *queue)
{
    struct weir_queue_options options = {.item_size = sizeof(uint64_t), .capacity = CAPACITY};
    if (weir_queue_init(&queue->weir, "bench", &options) != 0)
        bench_die("weir_queue_init");
}

static void weir_fini(union queue *queue)
{
    weir_queue_fini(&queue->weir);
}

static void weir_stop(union queue *queue, unsigned consumers)
{
    (void)consumers;
    weir_queue_close(&queue->weir);
}

static void weir_produce(union queue *queue, uint64_t first, uint64_t count)
{
    struct weir_deadline deadline = weir_deadline_in(600 * WEIR_NS_PER_S, NULL);
    for (uint64_t i = 0; i < count; i++) {
        uint64_t item = first + i;
        if (weir_queue_send(&queue->weir, &item, &deadline) != 0)
            bench_die("weir_queue_send");
    }
}

static uint64_t weir_consume(union queue *queue)
{
    struct weir_deadline deadline = weir_deadline_in(600 * WEIR_NS_PER_S, NULL);
    uint64_t sum = 0, item;
    while (weir_queue_recv(&queue->weir, &item, &deadline) == 0)
        sum += item;
    return sum;
}

static void batch_produce(union queue *queue, uint64_t first, uint64_t count)
{
    struct weir_deadline deadline = weir_deadline_in(600 * WEIR_NS_PER_S, NULL);
    uint64_t items[BATCH];
    for (uint64_t done = 0; done < count;) {
        size_t batch = count - done < BATCH ? (size_t)(count - done) : BATCH;
        for (size_t i = 0; i < batch; i++)
            items[i] = first + done + i;
        size_t sent;
        if (weir_queue_send_many(&queue->weir, items, batch, &sent, &deadline) != 0)
            bench_die("weir_queue_send_many");
        done += sent;
    }
}

static uint64_t batch_consume(union queue *queue)
{
    struct weir_deadline deadline = weir_deadline_in(600 * WEIR_NS_PER_S, NULL);
    uint64_t sum = 0, items[BATCH];
    size_t received;
    while (weir_queue_recv_many(&queue->weir, items, BATCH, &received, &deadline) == 0)
        for (size_t i = 0; i < received; i++)
            sum += items[i];
    return sum;
}

static const struct queue_ops always_ops = {"pthread ring, signals always",
                                            ring_init,
                                            ring_fini,
                                            always_produce,
                                            ring_stop,
                                            always_consume};
static const struct queue_ops seldom_ops = {"pthread ring, signals waiters",
                                            ring_init,
                                            ring_fini,
                                            seldom_produce,
                                            ring_stop,
                                            seldom_consume};
static const struct queue_ops weir_ops = {"weir_queue", weir_init, weir_fini,
                                          weir_produce, weir_stop, weir_consume};
static const struct queue_ops batch_ops = {
    "weir_queue, batches of 16", weir_init, weir_fini, batch_produce, weir_stop, batch_consume};

/* ---- the race ---- */

struct crowd {
    const struct queue_ops *ops;
    unsigned producers;
    unsigned consumers;
};

struct racer {
    const struct queue_ops *ops;
    union queue *queue;
    pthread_barrier_t *start;
    bool is_producer;
    uint64_t first;
    uint64_t count;
    uint64_t sum;
    uint64_t begin_ns; /* its own first and last moment: who waits for it may be late */
    uint64_t end_ns;
};

static uint64_t messages;

static void *race(void *arg)
{
    struct racer *racer = arg;
    pthread_barrier_wait(racer->start);
    racer->begin_ns = bench_now_ns();
    if (racer->is_producer)
        racer->ops->produce(racer->queue, racer->first, racer->count);
    else
        racer->sum = racer->ops->consume(racer->queue);
    racer->end_ns = bench_now_ns();
    return NULL;
}

static void run_row(const struct bench_row *row, double *ret_values)
{
    static union queue queue;
    const struct crowd *crowd = row->arg;
    unsigned threads = crowd->producers + crowd->consumers;
    struct racer racers[PRODUCERS_MAX + CONSUMERS_MAX];
    pthread_t handles[PRODUCERS_MAX + CONSUMERS_MAX];
    pthread_barrier_t start;
    uint64_t each = messages / crowd->producers, total = each * crowd->producers;
    crowd->ops->init(&queue);
    pthread_barrier_init(&start, NULL, threads + 1);
    for (unsigned i = 0; i < threads; i++) {
        racers[i] = (struct racer){.ops = crowd->ops,
                                   .queue = &queue,
                                   .start = &start,
                                   .is_producer = i < crowd->producers,
                                   .first = i * each,
                                   .count = each};
        if (pthread_create(&handles[i], NULL, race, &racers[i]) != 0)
            bench_die("pthread_create");
    }
    pthread_barrier_wait(&start);
    uint64_t begin_ns = UINT64_MAX, end_ns = 0, sum = 0;
    for (unsigned i = 0; i < threads; i++) {
        if (i == crowd->producers)
            crowd->ops->stop(&queue, crowd->consumers);
        pthread_join(handles[i], NULL);
        sum += racers[i].sum;
        begin_ns = racers[i].begin_ns < begin_ns ? racers[i].begin_ns : begin_ns;
        end_ns = racers[i].end_ns > end_ns ? racers[i].end_ns : end_ns;
    }
    ret_values[0] = (double)total * 1e3 / (double)(end_ns - begin_ns);
    if (sum != total * (total - 1) / 2)
        bench_die("the sum of the messages: some were lost or doubled");
    pthread_barrier_destroy(&start);
    crowd->ops->fini(&queue);
}

void bench_queue(const struct bench_options *options)
{
    static const struct queue_ops *const contenders[] = {&always_ops, &seldom_ops, &glib_ops,
                                                         &weir_ops, &batch_ops};
    static const unsigned producers[] = {1, 2, 4, 8}, consumers[] = {1, 2};
    static const struct bench_metric metrics[] = {
        {"million_messages_per_s", "million messages/s", 2, true, 0},
    };
    static struct bench_table table = {
        .key = "queue",
        .title = "queue of 1,024 messages of 8 bytes",
        .note = "Higher is better. From the first moment of the first thread to the last one of "
                "the last. Senders that wait for room are let in strictly in turn by weir_queue; "
                "the rings let in whoever runs.",
        .metrics = metrics,
        .metric_count = 1,
    };
    static struct crowd crowds[BENCH_ROWS_MAX];
    static char groups[BENCH_ROWS_MAX][32];
    table.rounds = options->is_quick ? 3 : 11;
    messages = options->is_quick ? MESSAGES_QUICK : MESSAGES;
    for (size_t p = 0; p < 4; p++)
        for (size_t c = 0; c < 2; c++)
            for (size_t i = 0; i < sizeof(contenders) / sizeof(contenders[0]); i++) {
                size_t at = table.row_count;
                snprintf(groups[at], sizeof(groups[at]), "%u to %u threads", producers[p],
                         consumers[c]);
                struct bench_row *row = bench_row_add(&table, groups[at], contenders[i]->name);
                crowds[at] = (struct crowd){contenders[i], producers[p], consumers[c]};
                row->is_peer = i == 0;
                row->run = contenders[i]->init ? run_row : NULL;
                row->arg = &crowds[at];
            }
    bench_table_run(&table);
    bench_report_table(options, &table);
}
