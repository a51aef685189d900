/* Queue under real threads: every way in and out at once, with time-outs, and a close in between.
 */
#include "stress.h"

#include <weir/queue.h>

#include "atomic.h"

#define CAPACITY 7
#define SENDERS  3
#define THREADS  6
#define BATCH    5

struct item {
    uint32_t sender;
    uint32_t number;
};

struct shared {
    struct weir_queue queue;
    struct weir_cancel cancel;
    uint64_t in_count;
    uint64_t in_sum;
    uint64_t out_count;
    uint64_t out_sum;
};

static void note_in(struct shared *shared, const struct item *item)
{
    weir__count(&shared->in_count, 1);
    weir__count(&shared->in_sum, item->number);
}

/* One receiver sees the items of one sender in the order in which they were sent. */
static void note_out(struct shared *shared, const struct item *item, uint32_t last[SENDERS])
{
    CHECK(item->sender < SENDERS);
    CHECK(item->number > last[item->sender]);
    last[item->sender] = item->number;
    weir__count(&shared->out_count, 1);
    weir__count(&shared->out_sum, item->number);
}

static int send_slot(struct shared *shared, const struct item *item, uint64_t dice,
                     const struct weir_deadline *deadline)
{
    struct weir_queue_slot slot = WEIR_QUEUE_SLOT_NONE;
    int error = dice & 1 ? weir_queue_reserve(&shared->queue, &slot, deadline)
                         : weir_queue_try_reserve(&shared->queue, &slot);
    if (error)
        return error;
    if (dice & 6) {
        note_in(shared, item);
        weir_queue_commit(&slot, item);
    } else {
        weir_queue_abandon(&slot);
    }
    return 0;
}

static int send_some(struct stress_thread *thread, uint32_t *number)
{
    struct shared *shared = thread->shared;
    uint64_t dice = stress_random(thread);
    struct weir_deadline deadline = weir_deadline_in(dice % 7 * 10000, &shared->cancel);
    struct item items[BATCH];
    for (uint32_t i = 0; i < BATCH; i++)
        items[i] = (struct item){(uint32_t)thread->index, *number + i};
    *number += BATCH;
    size_t sent = 0;
    int error;
    switch (dice / 8 % 5) {
    case 0:
        error = weir_queue_try_send(&shared->queue, &items[0]);
        sent = !error;
        break;
    case 1:
        error = weir_queue_send_many(&shared->queue, items, BATCH, &sent, &deadline);
        break;
    case 2:
        error = weir_queue_try_send_many(&shared->queue, items, BATCH, &sent);
        break;
    case 3:
        return send_slot(shared, &items[0], dice / 64, &deadline);
    default:
        error = weir_queue_send(&shared->queue, &items[0], &deadline);
        sent = !error;
    }
    for (size_t i = 0; i < sent; i++)
        note_in(shared, &items[i]);
    return error;
}

static int recv_some(struct stress_thread *thread, uint32_t last[SENDERS])
{
    struct shared *shared = thread->shared;
    uint64_t dice = stress_random(thread);
    struct weir_deadline deadline = weir_deadline_in(dice % 7 * 10000, &shared->cancel);
    struct item items[BATCH];
    size_t received = 0;
    int error;
    switch (dice / 8 % 4) {
    case 0:
        error = weir_queue_try_recv(&shared->queue, &items[0]);
        received = !error;
        break;
    case 1:
        error = weir_queue_recv_many(&shared->queue, items, BATCH, &received, &deadline);
        break;
    case 2:
        error = weir_queue_try_recv_many(&shared->queue, items, BATCH, &received);
        break;
    default:
        error = weir_queue_recv(&shared->queue, &items[0], &deadline);
        received = !error;
    }
    for (size_t i = 0; i < received; i++)
        note_out(shared, &items[i], last);
    return error;
}

static void work(struct stress_thread *thread)
{
    uint32_t number = 1, last[SENDERS] = {0};
    while (stress_goes_on(thread)) {
        int error = thread->index < SENDERS ? send_some(thread, &number) : recv_some(thread, last);
        CHECK(error == 0 || error == -WEIR_E_BUSY || error == -WEIR_E_TIMEOUT ||
              error == -WEIR_E_NOT_FOUND);
    }
}

/* One of the senders closes the queue half way; the receivers go on until it is empty. */
static void work_and_close(struct stress_thread *thread)
{
    struct shared *shared = thread->shared;
    uint64_t half_ns = stress_seconds() * WEIR_NS_PER_S / 2;
    uint32_t number = 1, last[SENDERS] = {0};
    int error = 0;
    while (error != -WEIR_E_CLOSED) {
        error = thread->index < SENDERS ? send_some(thread, &number) : recv_some(thread, last);
        if (thread->index == 0 && weir_now_ns() > thread->until_ns - half_ns)
            weir_queue_close(&shared->queue);
        CHECK(stress_goes_on(thread) || error == -WEIR_E_CLOSED);
    }
}

static void note_left(void *arg, void *item)
{
    struct shared *shared = arg;
    weir__count(&shared->out_count, 1);
    weir__count(&shared->out_sum, ((struct item *)item)->number);
}

static void run(void (*fn)(struct stress_thread *thread), bool is_drained)
{
    static struct shared shared;
    memset(&shared, 0, sizeof(shared));
    struct weir_queue_options options = {.item_size = sizeof(struct item), .capacity = CAPACITY};
    CHECK_EQ(weir_queue_init(&shared.queue, "stress", &options), 0);
    weir_cancel_init(&shared.cancel, NULL);
    stress_run(THREADS, &shared, fn);
    uint64_t left = weir_queue_drain(&shared.queue, note_left, &shared);
    if (is_drained)
        CHECK_EQ(left, 0);
    CHECK_EQ(shared.in_count, shared.out_count);
    CHECK_EQ(shared.in_sum, shared.out_sum);
    CHECK(shared.in_count > 1000);
    struct weir_queue_stats stats;
    weir_queue_read(&shared.queue, &stats);
    CHECK_EQ(stats.sent, shared.in_count);
    CHECK_EQ(stats.received, shared.out_count);
    CHECK_EQ(stats.reservations, stats.committed + stats.abandoned);
    CHECK(stats.high_water <= CAPACITY);
    weir_cancel_fini(&shared.cancel);
    weir_queue_fini(&shared.queue);
}

TEST(nothing_is_lost_and_nothing_doubled)
{
    run(work, false);
}

TEST(closed_under_way)
{
    run(work_and_close, true);
}

TAP_MAIN()
