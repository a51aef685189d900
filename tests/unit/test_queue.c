/* The queue: sizes, refusals and their counter, order, waiting and leaving, slots, batches, close.
 */
#include "tap.h"

#include <stdlib.h>
#include <weir/queue.h>

#include "clock.h"
#include "thread.h"

static void make(struct weir_queue *queue, uint64_t capacity)
{
    struct weir_queue_options options = {.item_size = sizeof(int), .capacity = capacity};
    CHECK_EQ(weir_queue_init(queue, "work", &options), 0);
}

static struct weir_queue_stats stats_of(struct weir_queue *queue)
{
    struct weir_queue_stats stats;
    weir_queue_read(queue, &stats);
    return stats;
}

static int take(struct weir_queue *queue)
{
    int item = -1;
    return weir_queue_try_recv(queue, &item) == 0 ? item : -1;
}

static void put(struct weir_queue *queue, int item)
{
    CHECK_EQ(weir_queue_try_send(queue, &item), 0);
}

/* Waits, in real time and not for long, until so many wait there. */
static void until_waiting(struct weir_queue *queue, uint64_t senders, uint64_t receivers)
{
    struct weir_queue_stats stats;
    do {
        weir_queue_read(queue, &stats);
    } while (stats.senders_waiting != senders || stats.receivers_waiting != receivers);
}

TEST(refuses_bad_sizes_and_names)
{
    struct weir_queue queue;
    struct weir_queue_options options = {.item_size = 8, .capacity = 0};
    CHECK_EQ(weir_queue_init(&queue, "work", &options), -WEIR_E_INVALID);
    CHECK_HAS(weir_error_detail(), "queue 'work': a capacity of 0 was asked for, it may be 1 to ");
    options.capacity = WEIR_QUEUE_CAPACITY_MAX + UINT64_C(1);
    CHECK_EQ(weir_queue_init(&queue, "work", &options), -WEIR_E_INVALID);
    options.capacity = UINT64_MAX;
    CHECK_EQ(weir_queue_init(&queue, "work", &options), -WEIR_E_INVALID);
    options = (struct weir_queue_options){.item_size = 0, .capacity = 1};
    CHECK_EQ(weir_queue_init(&queue, "work", &options), -WEIR_E_INVALID);
    CHECK_HAS(weir_error_detail(), "items of 0 bytes");
    options.item_size = WEIR_QUEUE_ITEM_SIZE_MAX + 1;
    CHECK_EQ(weir_queue_init(&queue, "work", &options), -WEIR_E_INVALID);
    CHECK_HAS(weir_error_detail(), "by pointer");
    options.item_size = WEIR_QUEUE_ITEM_SIZE_MAX;
    CHECK_EQ(weir_queue_init(&queue, "", &options), -WEIR_E_INVALID);
    CHECK_EQ(weir_queue_init(&queue, "work", &options), 0);
    CHECK_STR(weir_queue_name(&queue), "work");
    CHECK_EQ(weir_queue_capacity(&queue), 1);
    weir_queue_fini(&queue);
    weir_queue_fini(&queue); /* already gone */
    weir_queue_fini(NULL);
    struct weir_queue zero = {0};
    weir_queue_fini(&zero);
}

TEST(is_busy_when_full_and_counts_it)
{
    struct weir_queue queue;
    make(&queue, 512);
    for (int i = 0; i < 512; i++)
        put(&queue, i);
    CHECK_EQ(stats_of(&queue).busy, 0);
    int item = 512;
    CHECK_EQ(weir_queue_try_send(&queue, &item), -WEIR_E_BUSY);
    CHECK_STR(weir_error_detail(),
              "queue 'work': 512 of 512 slots in use, 0 senders waiting; try again later");
    CHECK_EQ(weir_error_http(-WEIR_E_BUSY), 429);
    CHECK_EQ(stats_of(&queue).busy, 1);
    CHECK_EQ(weir_queue_try_send(&queue, &item), -WEIR_E_BUSY);
    struct weir_queue_stats stats = stats_of(&queue);
    CHECK_EQ(stats.busy, 2);
    CHECK_EQ(stats.sent, 512);
    CHECK_EQ(stats.depth, 512);
    CHECK_EQ(stats.high_water, 512);
    /* The refused item is nowhere: what comes out is what went in. */
    for (int i = 0; i < 512; i++)
        CHECK_EQ(take(&queue), i);
    CHECK_EQ(weir_queue_depth(&queue), 0);
    CHECK_EQ(weir_queue_try_recv(&queue, &item), -WEIR_E_NOT_FOUND);
    CHECK_HAS(weir_error_detail(), "queue 'work': empty just now");
    CHECK_EQ(item, 512);
    stats = stats_of(&queue);
    CHECK_EQ(stats.received, stats.sent);
    CHECK_EQ(stats.high_water, 512);
    weir_queue_fini(&queue);
}

TEST(keeps_order_around_the_end_of_the_ring)
{
    struct weir_queue queue;
    make(&queue, 3);
    int in = 0, out = 0;
    for (int round = 0; round < 20; round++) {
        while (in - out < 1 + round % 3)
            put(&queue, in++);
        CHECK_EQ(take(&queue), out++);
    }
    while (out < in)
        CHECK_EQ(take(&queue), out++);
    weir_queue_fini(&queue);
}

TEST(copies_items_of_every_size)
{
    static const size_t sizes[] = {1, 7, 8, 16, 24, WEIR_QUEUE_ITEM_SIZE_MAX};
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        struct weir_queue queue;
        struct weir_queue_options options = {.item_size = sizes[i], .capacity = 2};
        CHECK_EQ(weir_queue_init(&queue, "bytes", &options), 0);
        unsigned char in[WEIR_QUEUE_ITEM_SIZE_MAX], out[WEIR_QUEUE_ITEM_SIZE_MAX + 1];
        for (int round = 0; round < 5; round++) {
            memset(in, 17 * round + 1, sizeof(in));
            memset(out, 0xee, sizeof(out));
            CHECK_EQ(weir_queue_try_send(&queue, in), 0);
            CHECK_EQ(weir_queue_try_recv(&queue, out), 0);
            CHECK(memcmp(in, out, sizes[i]) == 0);
            CHECK_EQ(out[sizes[i]], 0xee);
        }
        weir_queue_fini(&queue);
    }
}

TEST(a_deadline_bounds_the_waiting_not_the_call)
{
    struct weir_queue queue;
    make(&queue, 1);
    struct weir_cancel fired;
    weir_cancel_init(&fired, NULL);
    weir_cancel_fire(&fired);
    struct weir_deadline past = {1, NULL}, canceled = {WEIR_NEVER, &fired};
    struct weir_deadline never = {WEIR_NEVER, NULL};
    int item = 5, out = -1;
    CHECK_EQ(weir_queue_recv(&queue, &out, &past), -WEIR_E_TIMEOUT);
    CHECK_HAS(weir_error_detail(), "queue 'work': nothing came before the deadline");
    CHECK_EQ(weir_queue_recv(&queue, &out, &canceled), -WEIR_E_CANCELED);
    CHECK_EQ(weir_queue_recv(&queue, &out, &never), -WEIR_E_INVALID);
    CHECK_EQ(weir_queue_recv(&queue, &out, NULL), -WEIR_E_INVALID);
    CHECK_EQ(out, -1);
    CHECK_EQ(weir_queue_send(&queue, &item, &past), 0);
    CHECK_EQ(weir_queue_send(&queue, &item, &past), -WEIR_E_TIMEOUT);
    CHECK_HAS(weir_error_detail(), "queue 'work': no slot of 1 became free");
    CHECK_EQ(weir_queue_send(&queue, &item, &canceled), -WEIR_E_CANCELED);
    CHECK_EQ(weir_queue_send(&queue, &item, NULL), -WEIR_E_INVALID);
    CHECK_EQ(weir_queue_recv(&queue, &out, &canceled), 0);
    CHECK_EQ(out, 5);
    struct weir_queue_stats stats = stats_of(&queue);
    CHECK_EQ(stats.sent, 1);
    CHECK_EQ(stats.timed_out, 2);
    CHECK_EQ(stats.canceled, 2);
    CHECK_EQ(stats.senders_waiting + stats.receivers_waiting, 0);
    weir_queue_fini(&queue);
    weir_cancel_fini(&fired);
}

/* A thread that makes one call and keeps what came of it. */
struct call {
    struct weir_queue *queue;
    struct weir_deadline deadline;
    struct weir_queue_slot slot;
    int items[8];
    size_t count;
    int result;
    struct weir__thread thread;
};

static void call_send(void *arg)
{
    struct call *call = arg;
    call->result = weir_queue_send(call->queue, &call->items[0], &call->deadline);
}

static void call_recv(void *arg)
{
    struct call *call = arg;
    call->result = weir_queue_recv(call->queue, &call->items[0], &call->deadline);
}

static void call_reserve(void *arg)
{
    struct call *call = arg;
    call->result = weir_queue_reserve(call->queue, &call->slot, &call->deadline);
}

static void call_send_many(void *arg)
{
    struct call *call = arg;
    size_t count = call->count;
    call->result =
        weir_queue_send_many(call->queue, call->items, count, &call->count, &call->deadline);
}

static void call_recv_many(void *arg)
{
    struct call *call = arg;
    call->result = weir_queue_recv_many(call->queue, call->items, 8, &call->count, &call->deadline);
}

static void start(struct call *call, struct weir_queue *queue, void (*fn)(void *arg), int item)
{
    *call = (struct call){.queue = queue,
                          .deadline = weir_deadline_in(60 * WEIR_NS_PER_S, NULL),
                          .items = {item},
                          .result = 99};
    CHECK_EQ(weir__thread_start(&call->thread, "call", fn, call), 0);
}

static int join(struct call *call)
{
    weir__thread_join(&call->thread);
    return call->result;
}

TEST(senders_are_served_in_order)
{
    struct weir_queue queue;
    struct call calls[5];
    make(&queue, 1);
    put(&queue, 0);
    for (int i = 0; i < 5; i++) {
        start(&calls[i], &queue, call_send, i + 1);
        until_waiting(&queue, (uint64_t)i + 1, 0);
    }
    int item = 9;
    CHECK_EQ(weir_queue_try_send(&queue, &item), -WEIR_E_BUSY);
    CHECK_HAS(weir_error_detail(), "1 of 1 slots in use, 5 senders waiting");
    /* Each receive moves the next one in under the same lock, so the queue is full again at once
     * and nobody passes. */
    for (int i = 0; i < 5; i++) {
        CHECK_EQ(take(&queue), i);
        CHECK_EQ(weir_queue_depth(&queue), 1);
        CHECK_EQ(weir_queue_try_send(&queue, &item), -WEIR_E_BUSY);
    }
    CHECK_EQ(take(&queue), 5);
    for (int i = 0; i < 5; i++)
        CHECK_EQ(join(&calls[i]), 0);
    CHECK_EQ(stats_of(&queue).waited, 5);
    weir_queue_fini(&queue);
}

TEST(receivers_are_served_in_order_without_barging)
{
    struct weir_queue queue;
    struct call calls[3];
    make(&queue, 4);
    for (int i = 0; i < 3; i++) {
        start(&calls[i], &queue, call_recv, -1);
        until_waiting(&queue, 0, (uint64_t)i + 1);
    }
    for (int i = 0; i < 3; i++) {
        put(&queue, i);
        CHECK_EQ(take(&queue), -1); /* it is the waiting receiver's already */
    }
    for (int i = 0; i < 3; i++) {
        CHECK_EQ(join(&calls[i]), 0);
        CHECK_EQ(calls[i].items[0], i);
    }
    CHECK_EQ(stats_of(&queue).high_water, 0); /* handed over, never in the ring */
    weir_queue_fini(&queue);
}

TEST(a_blocked_call_times_out_and_is_canceled)
{
    weir__clock_fake(WEIR_NS_PER_S);
    struct weir_queue queue;
    struct weir_cancel token;
    make(&queue, 1);
    weir_cancel_init(&token, NULL);
    put(&queue, 0);
    struct call late, stopped;
    start(&late, &queue, call_send, 1);
    until_waiting(&queue, 1, 0);
    weir__clock_advance(60 * WEIR_NS_PER_S);
    CHECK_EQ(join(&late), -WEIR_E_TIMEOUT);
    CHECK_EQ(take(&queue), 0);
    stopped = (struct call){.queue = &queue, .deadline = {WEIR_NEVER, &token}, .items = {-1}};
    CHECK_EQ(weir__thread_start(&stopped.thread, "stopped", call_recv, &stopped), 0);
    until_waiting(&queue, 0, 1);
    weir_cancel_fire(&token);
    CHECK_EQ(join(&stopped), -WEIR_E_CANCELED);
    CHECK_EQ(stopped.items[0], -1);
    struct weir_queue_stats stats = stats_of(&queue);
    CHECK_EQ(stats.timed_out, 1);
    CHECK_EQ(stats.canceled, 1);
    weir_queue_fini(&queue);
    weir_cancel_fini(&token);
    weir__clock_unfake();
}

TEST(a_slot_is_kept_until_commit_or_abandon)
{
    struct weir_queue queue;
    make(&queue, 2);
    struct weir_queue_slot a = WEIR_QUEUE_SLOT_NONE, b = WEIR_QUEUE_SLOT_NONE;
    struct weir_queue_slot c = WEIR_QUEUE_SLOT_NONE;
    CHECK_EQ(weir_queue_try_reserve(&queue, &a), 0);
    CHECK_EQ(weir_queue_try_reserve(&queue, &b), 0);
    CHECK(weir_queue_slot_is_held(&a));
    CHECK_EQ(weir_queue_try_reserve(&queue, &c), -WEIR_E_BUSY);
    CHECK(!weir_queue_slot_is_held(&c));
    int item = 1;
    CHECK_EQ(weir_queue_try_send(&queue, &item), -WEIR_E_BUSY);
    CHECK_HAS(weir_error_detail(), "2 of 2 slots in use");
    CHECK_EQ(take(&queue), -1);
    CHECK_EQ(stats_of(&queue).reserved, 2);
    /* The order is that of commits. */
    weir_queue_commit(&b, &item);
    CHECK(!weir_queue_slot_is_held(&b));
    weir_queue_abandon(&b); /* empty: left alone */
    item = 2;
    weir_queue_commit(&a, &item);
    CHECK_EQ(take(&queue), 1);
    CHECK_EQ(take(&queue), 2);
    {
        WEIR_CLEANUP(weir_queue_abandon)
        struct weir_queue_slot d = WEIR_QUEUE_SLOT_NONE;
        CHECK_EQ(weir_queue_try_reserve(&queue, &d), 0);
    }
    struct weir_queue_stats stats = stats_of(&queue);
    CHECK_EQ(stats.reservations, 3);
    CHECK_EQ(stats.committed, 2);
    CHECK_EQ(stats.abandoned, 1);
    CHECK_EQ(stats.reserved, 0);
    CHECK_EQ(stats.high_water, 2);
    weir_queue_fini(&queue);
}

TEST(an_abandoned_slot_serves_who_waits)
{
    struct weir_queue queue;
    struct weir_queue_slot slot = WEIR_QUEUE_SLOT_NONE;
    struct call reserver, sender;
    make(&queue, 1);
    CHECK_EQ(weir_queue_try_reserve(&queue, &slot), 0);
    start(&reserver, &queue, call_reserve, 0);
    until_waiting(&queue, 1, 0);
    start(&sender, &queue, call_send, 7);
    until_waiting(&queue, 2, 0);
    weir_queue_abandon(&slot);
    CHECK_EQ(join(&reserver), 0);
    until_waiting(&queue, 1, 0);
    weir_queue_abandon(&reserver.slot);
    CHECK_EQ(join(&sender), 0);
    CHECK_EQ(take(&queue), 7);
    weir_queue_fini(&queue);
}

TEST(a_waiting_sender_meets_a_receiver_past_a_reserved_slot)
{
    struct weir_queue queue;
    struct weir_queue_slot slot = WEIR_QUEUE_SLOT_NONE;
    struct call sender;
    make(&queue, 1);
    CHECK_EQ(weir_queue_try_reserve(&queue, &slot), 0);
    start(&sender, &queue, call_send, 7);
    until_waiting(&queue, 1, 0);
    CHECK_EQ(take(&queue), 7); /* from hand to hand: the slot stays reserved */
    CHECK_EQ(join(&sender), 0);
    CHECK_EQ(stats_of(&queue).reserved, 1);
    weir_queue_abandon(&slot);
    weir_queue_fini(&queue);
}

TEST(close_refuses_senders_and_lets_receivers_finish)
{
    struct weir_queue queue;
    struct call sender;
    make(&queue, 1);
    put(&queue, 1);
    start(&sender, &queue, call_send, 2);
    until_waiting(&queue, 1, 0);
    CHECK(!weir_queue_is_closed(&queue));
    weir_queue_close(&queue);
    weir_queue_close(&queue);
    CHECK(weir_queue_is_closed(&queue));
    CHECK_EQ(join(&sender), -WEIR_E_CLOSED);
    int item = 3;
    struct weir_deadline deadline = weir_deadline_in(WEIR_NS_PER_S, NULL);
    struct weir_queue_slot slot = WEIR_QUEUE_SLOT_NONE;
    size_t count = 77;
    CHECK_EQ(weir_queue_try_send(&queue, &item), -WEIR_E_CLOSED);
    CHECK_HAS(weir_error_detail(), "queue 'work': closed to new items");
    CHECK_EQ(weir_queue_send(&queue, &item, &deadline), -WEIR_E_CLOSED);
    CHECK_EQ(weir_queue_try_send_many(&queue, &item, 1, &count), -WEIR_E_CLOSED);
    CHECK_EQ(weir_queue_try_reserve(&queue, &slot), -WEIR_E_CLOSED);
    CHECK_EQ(weir_queue_reserve(&queue, &slot, &deadline), -WEIR_E_CLOSED);
    CHECK_EQ(weir_queue_recv(&queue, &item, &deadline), 0);
    CHECK_EQ(item, 1);
    CHECK_EQ(weir_queue_recv(&queue, &item, &deadline), -WEIR_E_CLOSED);
    CHECK_HAS(weir_error_detail(), "queue 'work': closed, and nothing is left");
    CHECK_EQ(weir_queue_try_recv(&queue, &item), -WEIR_E_CLOSED);
    CHECK_EQ(weir_queue_recv_many(&queue, &item, 1, &count, &deadline), -WEIR_E_CLOSED);
    CHECK_EQ(count, 77);
    CHECK_EQ(stats_of(&queue).refused_closed, 6);
    CHECK(stats_of(&queue).is_closed);
    weir_queue_fini(&queue);
}

TEST(close_wakes_every_receiver)
{
    struct weir_queue queue;
    static struct call calls[40]; /* more than one batch of wakes */
    make(&queue, 1);
    for (int i = 0; i < 40; i++)
        start(&calls[i], &queue, call_recv, -1);
    until_waiting(&queue, 0, 40);
    weir_queue_close(&queue);
    for (int i = 0; i < 40; i++)
        CHECK_EQ(join(&calls[i]), -WEIR_E_CLOSED);
    weir_queue_fini(&queue);
}

TEST(a_slot_reserved_before_close_is_honoured_after_it)
{
    struct weir_queue queue;
    struct weir_queue_slot a = WEIR_QUEUE_SLOT_NONE, b = WEIR_QUEUE_SLOT_NONE;
    struct call first, second;
    make(&queue, 2);
    CHECK_EQ(weir_queue_try_reserve(&queue, &a), 0);
    CHECK_EQ(weir_queue_try_reserve(&queue, &b), 0);
    weir_queue_close(&queue);
    int item = 4;
    CHECK_EQ(weir_queue_try_recv(&queue, &item), -WEIR_E_NOT_FOUND); /* not Closed: more may come */
    start(&first, &queue, call_recv, -1);
    until_waiting(&queue, 0, 1);
    start(&second, &queue, call_recv, -1);
    until_waiting(&queue, 0, 2);
    weir_queue_commit(&a, &item);
    CHECK_EQ(join(&first), 0);
    CHECK_EQ(first.items[0], 4);
    weir_queue_abandon(&b); /* the last that could have come */
    CHECK_EQ(join(&second), -WEIR_E_CLOSED);
    weir_queue_fini(&queue);
}

TEST(batches_move_what_fits)
{
    struct weir_queue queue;
    make(&queue, 4);
    int items[6] = {0, 1, 2, 3, 4, 5}, out[8];
    size_t count = 77;
    CHECK_EQ(weir_queue_try_send_many(&queue, items, 0, &count), -WEIR_E_INVALID);
    CHECK_EQ(weir_queue_try_recv_many(&queue, out, 0, &count), -WEIR_E_INVALID);
    CHECK_EQ(weir_queue_try_recv_many(&queue, out, 8, &count), -WEIR_E_NOT_FOUND);
    CHECK_EQ(count, 77);
    CHECK_EQ(weir_queue_try_send_many(&queue, items, 6, &count), 0);
    CHECK_EQ(count, 4);
    count = 77;
    CHECK_EQ(weir_queue_try_send_many(&queue, items, 6, &count), -WEIR_E_BUSY);
    CHECK_EQ(count, 77);
    CHECK_EQ(stats_of(&queue).busy, 1);
    CHECK_EQ(weir_queue_try_recv_many(&queue, out, 3, &count), 0);
    CHECK_EQ(count, 3);
    CHECK(memcmp(out, items, 3 * sizeof(int)) == 0);
    CHECK_EQ(weir_queue_try_send_many(&queue, items + 4, 2, &count), 0);
    CHECK_EQ(weir_queue_try_recv_many(&queue, out, 8, &count), 0);
    CHECK_EQ(count, 3);
    CHECK(memcmp(out, items + 3, 3 * sizeof(int)) == 0);
    weir_queue_fini(&queue);
}

TEST(a_batch_is_at_most_so_large)
{
    struct weir_queue queue;
    make(&queue, 2 * WEIR_QUEUE_BATCH_MAX);
    static int items[2 * WEIR_QUEUE_BATCH_MAX];
    size_t count = 0;
    CHECK_EQ(weir_queue_try_send_many(&queue, items, 2 * WEIR_QUEUE_BATCH_MAX, &count), 0);
    CHECK_EQ(count, WEIR_QUEUE_BATCH_MAX);
    CHECK_EQ(weir_queue_try_send_many(&queue, items, 2 * WEIR_QUEUE_BATCH_MAX, &count), 0);
    CHECK_EQ(weir_queue_try_recv_many(&queue, items, 2 * WEIR_QUEUE_BATCH_MAX, &count), 0);
    CHECK_EQ(count, WEIR_QUEUE_BATCH_MAX);
    CHECK_EQ(weir_queue_drain(&queue, NULL, NULL), WEIR_QUEUE_BATCH_MAX);
    weir_queue_fini(&queue);
}

TEST(a_waiting_batch_is_not_mixed_and_ends_with_what_went_in)
{
    weir__clock_fake(WEIR_NS_PER_S);
    struct weir_queue queue;
    struct call batch = {0}, other;
    make(&queue, 1);
    put(&queue, 0);
    batch = (struct call){.queue = &queue,
                          .deadline = weir_deadline_in(60 * WEIR_NS_PER_S, NULL),
                          .items = {1, 2, 3},
                          .count = 3};
    CHECK_EQ(weir__thread_start(&batch.thread, "batch", call_send_many, &batch), 0);
    until_waiting(&queue, 1, 0);
    weir__clock_advance(10 * WEIR_NS_PER_S);
    start(&other, &queue, call_send, 9);
    until_waiting(&queue, 2, 0);
    CHECK_EQ(take(&queue), 0);
    CHECK_EQ(take(&queue), 1);
    weir__clock_advance(55 * WEIR_NS_PER_S);
    CHECK_EQ(join(&batch), 0);
    CHECK_EQ(batch.count, 2); /* a short batch is a success that says how far it came */
    CHECK_EQ(take(&queue), 2);
    CHECK_EQ(join(&other), 0);
    CHECK_EQ(take(&queue), 9);
    weir_queue_fini(&queue);
    weir__clock_unfake();
}

TEST(a_batch_goes_to_as_many_receivers_as_wait)
{
    struct weir_queue queue;
    static struct call calls[40];
    static int items[50];
    make(&queue, 64);
    for (int i = 0; i < 40; i++) {
        start(&calls[i], &queue, i % 2 ? call_recv : call_recv_many, -1);
        until_waiting(&queue, 0, (uint64_t)i + 1);
    }
    for (int i = 0; i < 50; i++)
        items[i] = i;
    size_t count = 0;
    CHECK_EQ(weir_queue_try_send_many(&queue, items, 50, &count), 0);
    CHECK_EQ(count, 50);
    for (int i = 0; i < 40; i++) {
        CHECK_EQ(join(&calls[i]), 0);
        CHECK_EQ(calls[i].items[0], i);
        if (i % 2 == 0)
            CHECK_EQ(calls[i].count, 1);
    }
    for (int i = 40; i < 50; i++)
        CHECK_EQ(take(&queue), i);
    weir_queue_fini(&queue);
}

static void free_item(void *arg, void *item)
{
    int **pointer = item;
    *(int *)arg += **pointer;
    free(*pointer);
}

TEST(drain_hands_out_what_is_left)
{
    struct weir_queue queue;
    struct weir_queue_options options = {.item_size = sizeof(int *), .capacity = 8};
    CHECK_EQ(weir_queue_init(&queue, "jobs", &options), 0);
    for (int i = 1; i <= 3; i++) {
        int *job = malloc(sizeof(*job));
        *job = i;
        CHECK_EQ(weir_queue_try_send(&queue, &job), 0);
    }
    int sum = 0;
    CHECK_EQ(weir_queue_drain(&queue, free_item, &sum), 3);
    CHECK_EQ(sum, 6);
    CHECK(weir_queue_is_closed(&queue));
    CHECK_EQ(weir_queue_drain(&queue, free_item, &sum), 0);
    weir_queue_fini(&queue);
}

static void fini_with_items(void *arg)
{
    (void)arg;
    struct weir_queue queue;
    make(&queue, 2);
    put(&queue, 1);
    weir_queue_fini(&queue);
}

static void fini_with_slots(void *arg)
{
    (void)arg;
    struct weir_queue queue;
    struct weir_queue_slot slot;
    make(&queue, 2);
    CHECK_EQ(weir_queue_try_reserve(&queue, &slot), 0);
    weir_queue_fini(&queue);
}

static void commit_twice(void *arg)
{
    (void)arg;
    struct weir_queue queue;
    struct weir_queue_slot slot, copy;
    int item = 0;
    make(&queue, 2);
    CHECK_EQ(weir_queue_try_reserve(&queue, &slot), 0);
    copy = slot;
    weir_queue_commit(&slot, &item);
    weir_queue_commit(&copy, &item);
}

static void commit_nothing(void *arg)
{
    (void)arg;
    struct weir_queue_slot slot = WEIR_QUEUE_SLOT_NONE;
    int item = 0;
    weir_queue_commit(&slot, &item);
}

TEST(misuse_is_stopped_by_name)
{
    CHECK(tap_dies(fini_with_items, NULL, "queue 'work': destroyed with items left in it"));
    CHECK(tap_dies(fini_with_slots, NULL, "queue 'work': destroyed with slots reserved"));
    CHECK(tap_dies(commit_twice, NULL, "queue 'work': "));
    CHECK(tap_dies(commit_nothing, NULL, "committed to a slot that is not held"));
}

TEST(a_wait_without_an_end_names_the_queue)
{
    struct weir_queue queue;
    struct weir_queue_options options = {.item_size = 4, .capacity = 1};
    int item = 7;
    CHECK_EQ(weir_queue_init(&queue, "work", &options), 0);
    CHECK_EQ(weir_queue_recv(&queue, &item, NULL), -WEIR_E_INVALID);
    CHECK_HAS(weir_error_detail(), "queue 'work': would have to wait for ever");
    CHECK_EQ(weir_queue_send(&queue, &item, NULL), 0);
    CHECK_EQ(weir_queue_send(&queue, &item, NULL), -WEIR_E_INVALID);
    CHECK_HAS(weir_error_detail(), "queue 'work': would have to wait for ever");
    CHECK_EQ(weir_queue_try_recv(&queue, &item), 0);
    weir_queue_fini(&queue);
}

TEST(nothing_given_is_refused)
{
    struct weir_queue x;
    CHECK_EQ(weir_queue_init(&x, "x", NULL), -WEIR_E_INVALID);
    CHECK_HAS(weir_error_detail(), "items of 0 bytes");
}

#ifdef WEIR_CHECKS

static void commit_a_copy_of_two(void *arg)
{
    (void)arg;
    struct weir_queue queue;
    struct weir_queue_options options = {.item_size = 4, .capacity = 4};
    struct weir_queue_slot one = WEIR_QUEUE_SLOT_NONE, two = WEIR_QUEUE_SLOT_NONE, copy;
    if (weir_queue_init(&queue, "work", &options) == 0 &&
        weir_queue_try_reserve(&queue, &one) == 0 && weir_queue_try_reserve(&queue, &two) == 0) {
        copy = one;
        weir_queue_abandon(&one);
        weir_queue_abandon(&copy);
    }
}

TEST(a_copy_is_caught_even_while_others_are_out)
{
    CHECK(tap_dies(commit_a_copy_of_two, NULL,
                   "queue 'work': what it handed out once was given back twice"));
}

#endif

TAP_MAIN()
