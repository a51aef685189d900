/* demo_queue.c - three ways to hand things on, each with its own answer to "full".
 *
 * A queue refuses the new, a broadcast drops the oldest and says how many, a watched value keeps
 * the newest alone.
 */
#include "demo.h"

#include <weir/bus.h>
#include <weir/queue.h>
#include <weir/watch.h>

#include "banned.h"

#define QUEUE_CAPACITY 4
#define BUS_CAPACITY   8
#define EVENTS         20
#define WRITES         20000
#define LIMIT_NS       (5 * WEIR_NS_PER_S)

/* ---- the queue ---- */

struct order {
    uint64_t expected;
    bool is_kept;
};

static void check_order(void *arg, void *item)
{
    struct order *order = arg;
    order->is_kept = order->is_kept && *(uint64_t *)item == order->expected;
    order->expected++;
}

static int show_queue(struct demo *demo)
{
    struct weir_queue queue;
    const struct weir_queue_options options = {.item_size = sizeof(uint64_t),
                                               .capacity = QUEUE_CAPACITY};
    int error = weir_queue_init(&queue, "inbox", &options);
    if (error)
        return demo_failed("make a queue", error);
    uint64_t accepted = 0;
    while (accepted <= QUEUE_CAPACITY && !(error = weir_queue_try_send(&queue, &accepted)))
        accepted++;
    demo_say(demo, "The queue 'inbox' took %llu items. The next one was told:",
             (unsigned long long)accepted);
    demo_quote(demo, error);
    demo_refusal(demo, "busy", error);
    struct order order = {.is_kept = true};
    uint64_t left = weir_queue_drain(&queue, check_order, &order);
    demo_number(demo, "queue_capacity", QUEUE_CAPACITY);
    demo_number(demo, "queue_accepted", accepted);
    demo_number(demo, "queue_drained", left);
    demo_promise(demo, error == -WEIR_E_BUSY && accepted == QUEUE_CAPACITY,
                 "a queue of %d holds %d, and says Busy after that", QUEUE_CAPACITY,
                 QUEUE_CAPACITY);
    demo_promise(demo, left == accepted && order.is_kept,
                 "closing it brought back all %llu, in order", (unsigned long long)left);
    struct weir_queue_stats stats;
    weir_queue_read(&queue, &stats);
    demo_object(demo,
                &(struct demo_object){"queue", "inbox", stats.capacity, stats.sent, stats.received,
                                      stats.waited, stats.busy + stats.refused_closed});
    weir_queue_fini(&queue);
    return 0;
}

/* ---- the broadcast ---- */

/* Reads what there is, and adds up what it was told it had missed. */
static void read_all(struct weir_bus_subscriber *subscriber, uint64_t *received, uint64_t *lost)
{
    for (;;) {
        uint64_t event;
        int error = weir_bus_try_recv(subscriber, &event);
        if (error == -WEIR_E_LAGGING)
            *lost += weir_bus_lost(subscriber);
        else if (error)
            return;
        else
            (*received)++;
    }
}

static void tell_bus(struct demo *demo, const uint64_t received[2], const uint64_t lost[2])
{
    demo_say(demo,
             "%d events went over the broadcast 'events', which keeps %d. Who read along got %llu. "
             "Who looked at the end alone was told that it had lost %llu (Lagging), then got the "
             "newest %llu.",
             EVENTS, BUS_CAPACITY, (unsigned long long)received[0], (unsigned long long)lost[1],
             (unsigned long long)received[1]);
    demo_number(demo, "bus_capacity", BUS_CAPACITY);
    demo_number(demo, "bus_published", EVENTS);
    demo_number(demo, "bus_fast_received", received[0]);
    demo_number(demo, "bus_fast_lost", lost[0]);
    demo_number(demo, "bus_slow_received", received[1]);
    demo_number(demo, "bus_slow_lost", lost[1]);
    demo_promise(demo, received[0] == EVENTS && received[1] + lost[1] == EVENTS,
                 "the slow one held up nobody, and %llu received + %llu lost = %d",
                 (unsigned long long)received[1], (unsigned long long)lost[1], EVENTS);
}

static int show_bus(struct demo *demo)
{
    struct weir_bus bus;
    struct weir_bus_subscriber fast = {0}, slow = {0};
    const struct weir_bus_options options = {.message_size = sizeof(uint64_t),
                                             .capacity = BUS_CAPACITY};
    int error = weir_bus_init(&bus, "events", &options);
    if (error)
        return demo_failed("make a broadcast", error);
    uint64_t received[2] = {0, 0}, lost[2] = {0, 0};
    error = weir_bus_subscribe(&bus, &fast, "fast");
    if (!error)
        error = weir_bus_subscribe(&bus, &slow, "slow");
    for (uint64_t event = 0; event < EVENTS && !error; event++) {
        error = weir_bus_publish(&bus, &event);
        read_all(&fast, &received[0], &lost[0]);
    }
    read_all(&slow, &received[1], &lost[1]);
    if (error)
        demo_failed("broadcast an event", error);
    else
        tell_bus(demo, received, lost);
    weir_bus_unsubscribe(&slow);
    weir_bus_unsubscribe(&fast);
    weir_bus_fini(&bus);
    return error;
}

/* ---- the watched value ---- */

/* Two halves that must fit together. */
struct pair {
    uint64_t number;
    uint64_t opposite;
};

static int write_pairs(struct weir_crew_self *self, void *arg)
{
    struct weir_watch *watch = arg;
    for (uint64_t i = 1; i <= WRITES && !weir_cancel_is_fired(self->stop); i++) {
        struct pair pair = {i, ~i};
        int error = weir_watch_set(watch, &pair);
        if (error)
            return error;
    }
    return 0;
}

struct look {
    uint64_t looks;
    uint64_t torn;
    uint64_t went_back;
    uint64_t number;
};

static bool is_last(const void *value, void *arg)
{
    const struct pair *pair = value;
    struct look *look = arg;
    look->looks++;
    look->torn += pair->opposite != ~pair->number;
    look->went_back += pair->number < look->number;
    look->number = pair->number;
    return pair->number == WRITES;
}

static int watch_pairs(struct weir_watch *watch, struct look *look)
{
    WEIR_CLEANUP(demo_crew_end)
    struct weir_crew *crew = NULL;
    int error = demo_crew_new(&crew, "writer");
    if (error)
        return error;
    error = weir_crew_start(crew, "writer", write_pairs, watch);
    if (error)
        return demo_failed("start a writer", error);
    struct pair room;
    const struct weir_deadline deadline = weir_deadline_in(LIMIT_NS, NULL);
    error = weir_watch_wait_until(watch, is_last, look, &room, NULL, &deadline);
    return error ? demo_failed("wait for the last value", error) : 0;
}

static int show_watch(struct demo *demo)
{
    struct weir_watch watch;
    const struct pair first = {0, ~UINT64_C(0)};
    int error = weir_watch_init(&watch, "setting", sizeof(first), &first);
    if (error)
        return demo_failed("make a watched value", error);
    struct look look = {0};
    error = watch_pairs(&watch, &look);
    if (!error) {
        demo_say(demo,
                 "A thread wrote the watched value 'setting' %d times, as fast as it could; a "
                 "reader looked %llu times, skipped the rest, and ended with the newest.",
                 WRITES, (unsigned long long)look.looks);
        demo_number(demo, "watch_writes", WRITES);
        demo_number(demo, "watch_version", weir_watch_version(&watch));
        demo_number(demo, "watch_looks", look.looks);
        demo_number(demo, "watch_torn", look.torn);
        demo_promise(demo, look.torn == 0 && look.went_back == 0 && look.number == WRITES,
                     "each value was whole, none older than the one before, the last the newest");
    }
    weir_watch_fini(&watch);
    return error;
}

int demo_queue(struct demo *demo)
{
    int error = show_queue(demo);
    if (!error)
        error = show_bus(demo);
    if (!error)
        error = show_watch(demo);
    return error;
}
