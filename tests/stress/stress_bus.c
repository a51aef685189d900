/* Bus under real threads: publishers, steady and fleeting subscribers, exact losses. */
#include "stress.h"

#include <weir/bus.h>

#include "atomic.h"

#define PUBLISHERS 2
#define THREADS    6
#define CAPACITY   16

/* Five words that say the same, so that a torn or overwritten message shows. */
struct message {
    uint64_t number[5];
    uint64_t publisher;
};

struct shared {
    struct weir_bus bus;
    struct weir_bus_subscriber follower;
    struct weir_cancel cancel;
    uint64_t received;
};

static void publish_all(struct stress_thread *thread)
{
    struct shared *shared = thread->shared;
    for (uint64_t number = 1; stress_goes_on(thread); number++) {
        struct message message = {{number, number, number, number, number},
                                  (uint64_t)thread->index};
        CHECK_EQ(weir_bus_publish(&shared->bus, &message), 0);
    }
}

static void look(const struct message *message, uint64_t last[PUBLISHERS])
{
    CHECK(message->publisher < PUBLISHERS);
    for (int i = 1; i < 5; i++)
        CHECK(message->number[i] == message->number[0]);
    CHECK(message->number[0] > last[message->publisher]);
    last[message->publisher] = message->number[0];
}

/* Joins, reads so many times, leaves; all that came meanwhile is received, lost or still there. */
static void visit(struct stress_thread *thread, uint64_t reads)
{
    struct shared *shared = thread->shared;
    struct weir_bus_subscriber subscriber;
    uint64_t last[PUBLISHERS] = {0}, received = 0, lost = 0;
    CHECK_EQ(weir_bus_subscribe(&shared->bus, &subscriber, "visitor"), 0);
    for (uint64_t i = 0; i < reads; i++) {
        struct message message;
        uint64_t dice = stress_random(thread);
        struct weir_deadline deadline = weir_deadline_in(dice % 7 * 10000, &shared->cancel);
        int error = dice & 64 ? weir_bus_recv(&subscriber, &message, &deadline)
                              : weir_bus_try_recv(&subscriber, &message);
        if (error == -WEIR_E_LAGGING) {
            lost += weir_bus_lost(&subscriber);
        } else if (error == 0) {
            look(&message, last);
            received++;
        } else {
            CHECK(error == -WEIR_E_NOT_FOUND || error == -WEIR_E_TIMEOUT);
        }
    }
    struct weir_bus_subscriber_stats stats;
    weir_bus_subscriber_read(&subscriber, &stats);
    CHECK_EQ(stats.received, received);
    CHECK(stats.lost >= lost);
    CHECK(stats.lag <= CAPACITY);
    weir_bus_unsubscribe(&subscriber);
    weir__count(&shared->received, received);
}

static void work(struct stress_thread *thread)
{
    if (thread->index < PUBLISHERS) {
        publish_all(thread);
        return;
    }
    while (stress_goes_on(thread))
        visit(thread, 1 + stress_random(thread) % 500);
}

TEST(received_in_order_or_counted_as_lost)
{
    static struct shared shared;
    struct weir_bus_options options = {.message_size = sizeof(struct message),
                                       .capacity = CAPACITY};
    CHECK_EQ(weir_bus_init(&shared.bus, "stress", &options), 0);
    weir_cancel_init(&shared.cancel, NULL);
    stress_run(THREADS, &shared, work);
    struct weir_bus_stats stats;
    weir_bus_read(&shared.bus, &stats);
    CHECK_EQ(stats.subscribers, 0);
    CHECK_EQ(stats.received, shared.received);
    CHECK(stats.received > 1000);
    CHECK(stats.published > 1000);
    weir_cancel_fini(&shared.cancel);
    weir_bus_fini(&shared.bus);
}

/* One subscriber from the first message to the last: the sum is exact. */
static void follow(struct stress_thread *thread)
{
    if (thread->index < PUBLISHERS) {
        publish_all(thread);
        return;
    }
    struct shared *shared = thread->shared;
    uint64_t last[PUBLISHERS] = {0};
    while (stress_goes_on(thread)) {
        struct message message;
        struct weir_deadline deadline = weir_deadline_in(100000, NULL);
        int error = weir_bus_recv(&shared->follower, &message, &deadline);
        if (error == 0) {
            look(&message, last);
            weir__count(&shared->received, 1);
        }
    }
}

TEST(the_sum_is_exact)
{
    static struct shared shared;
    struct weir_bus_options options = {.message_size = sizeof(struct message),
                                       .capacity = CAPACITY};
    CHECK_EQ(weir_bus_init(&shared.bus, "stress", &options), 0);
    CHECK_EQ(weir_bus_subscribe(&shared.bus, &shared.follower, "follower"), 0);
    stress_run(PUBLISHERS + 1, &shared, follow);
    struct weir_bus_stats stats;
    struct weir_bus_subscriber_stats one;
    weir_bus_read(&shared.bus, &stats);
    weir_bus_subscriber_read(&shared.follower, &one);
    CHECK_EQ(one.received, shared.received);
    CHECK_EQ(stats.published, one.received + one.lost + one.lag);
    CHECK_EQ(stats.lagged_total, one.lost);
    weir_bus_unsubscribe(&shared.follower);
    weir_bus_fini(&shared.bus);
}

TAP_MAIN()
