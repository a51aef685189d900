/* The bus: sizes, order, exact losses, warnings, joining and leaving, waiting, close, misuse. */
#include "tap.h"

#include <weir/bus.h>

#include "clock.h"
#include "thread.h"

static void make(struct weir_bus *bus, uint64_t capacity)
{
    struct weir_bus_options options = {.message_size = sizeof(int), .capacity = capacity};
    CHECK_EQ(weir_bus_init(bus, "events", &options), 0);
}

static void publish(struct weir_bus *bus, int from, int count)
{
    for (int i = from; i < from + count; i++)
        CHECK_EQ(weir_bus_publish(bus, &i), 0);
}

static int next(struct weir_bus_subscriber *subscriber)
{
    int message = -1;
    int error = weir_bus_try_recv(subscriber, &message);
    return error ? error : message;
}

static struct weir_bus_stats stats_of(struct weir_bus *bus)
{
    struct weir_bus_stats stats;
    weir_bus_read(bus, &stats);
    return stats;
}

static void until_waiting(struct weir_bus *bus, uint64_t count)
{
    while (stats_of(bus).waiting != count) {}
}

TEST(refuses_bad_sizes_and_names)
{
    struct weir_bus bus;
    struct weir_bus_options options = {.message_size = 0};
    CHECK_EQ(weir_bus_init(&bus, "events", &options), -WEIR_E_INVALID);
    CHECK_HAS(weir_error_detail(), "bus 'events': messages of 0 bytes");
    options.message_size = WEIR_BUS_MESSAGE_SIZE_MAX + 1;
    CHECK_EQ(weir_bus_init(&bus, "events", &options), -WEIR_E_INVALID);
    options = (struct weir_bus_options){.message_size = 8, .capacity = UINT64_MAX};
    CHECK_EQ(weir_bus_init(&bus, "events", &options), -WEIR_E_INVALID);
    CHECK_HAS(weir_error_detail(), "it may be 1 to 1048576");
    options.capacity = 0;
    CHECK_EQ(weir_bus_init(&bus, NULL, &options), -WEIR_E_INVALID);
    CHECK_EQ(weir_bus_init(&bus, "events", &options), 0);
    CHECK_EQ(weir_bus_capacity(&bus), WEIR_BUS_CAPACITY_DEFAULT);
    CHECK_STR(weir_bus_name(&bus), "events");
    struct weir_bus_subscriber subscriber;
    CHECK_EQ(weir_bus_subscribe(&bus, &subscriber, ""), -WEIR_E_INVALID);
    weir_bus_fini(&bus);
    weir_bus_fini(&bus);
    weir_bus_fini(NULL);
    struct weir_bus zero = {0};
    weir_bus_fini(&zero);
    struct weir_bus_subscriber never = {0};
    weir_bus_unsubscribe(&never);
    weir_bus_unsubscribe(NULL);
}

TEST(everybody_sees_everything_in_order)
{
    struct weir_bus bus;
    struct weir_bus_subscriber a, b;
    make(&bus, 4);
    publish(&bus, 100, 2); /* before they joined */
    CHECK_EQ(weir_bus_subscribe(&bus, &a, "audit"), 0);
    CHECK_EQ(weir_bus_subscribe(&bus, &b, "metrics"), 0);
    CHECK_STR(weir_bus_subscriber_name(&b), "metrics");
    CHECK_EQ(next(&a), -WEIR_E_NOT_FOUND);
    CHECK_HAS(weir_error_detail(), "bus subscriber 'audit': nothing new just now");
    publish(&bus, 0, 3);
    for (int i = 0; i < 3; i++)
        CHECK_EQ(next(&a), i);
    CHECK_EQ(next(&a), -WEIR_E_NOT_FOUND);
    for (int i = 0; i < 3; i++)
        CHECK_EQ(next(&b), i);
    struct weir_bus_stats stats = stats_of(&bus);
    CHECK_EQ(stats.published, 5);
    CHECK_EQ(stats.received, 6);
    CHECK_EQ(stats.lagged_total, 0);
    CHECK_EQ(stats.subscribers, 2);
    weir_bus_unsubscribe(&a);
    weir_bus_unsubscribe(&b);
    weir_bus_fini(&bus);
}

TEST(who_falls_behind_learns_how_much_it_lost)
{
    struct weir_bus bus;
    struct weir_bus_subscriber slow, fast;
    make(&bus, 3); /* not a power of two */
    CHECK_EQ(weir_bus_subscribe(&bus, &slow, "slow"), 0);
    CHECK_EQ(weir_bus_subscribe(&bus, &fast, "fast"), 0);
    for (int i = 0; i < 8; i++) {
        publish(&bus, i, 1);
        CHECK_EQ(next(&fast), i);
    }
    struct weir_bus_subscriber_stats one;
    weir_bus_subscriber_read(&slow, &one);
    CHECK_EQ(one.lost, 5); /* counted before it is told */
    CHECK_EQ(one.lag, 3);
    CHECK_EQ(stats_of(&bus).lagged_total, 5);
    CHECK_EQ(weir_bus_lost(&slow), 0);
    int message = 77;
    CHECK_EQ(weir_bus_try_recv(&slow, &message), -WEIR_E_LAGGING);
    CHECK_HAS(weir_error_detail(), "bus subscriber 'slow': fell behind and lost 5 messages");
    CHECK_EQ(message, 77);
    CHECK_EQ(weir_bus_lost(&slow), 5);
    CHECK_EQ(next(&slow), 5); /* told once; on with the oldest that is there */
    CHECK_EQ(next(&slow), 6);
    publish(&bus, 8, 4);
    CHECK_EQ(next(&slow), -WEIR_E_LAGGING);
    CHECK_EQ(weir_bus_lost(&slow), 2); /* 7 and 8 */
    for (int i = 9; i < 12; i++)
        CHECK_EQ(next(&slow), i);
    weir_bus_subscriber_read(&slow, &one);
    CHECK_EQ(one.lost, 7);
    CHECK_EQ(one.received, 5);
    CHECK_EQ(one.lag, 0);
    CHECK_EQ(stats_of(&bus).lagged_total, 7 + 1); /* and one that the fast one has not read */
    weir_bus_unsubscribe(&fast);
    CHECK_EQ(stats_of(&bus).lagged_total, 8); /* does not go back when it leaves */
    weir_bus_unsubscribe(&slow);
    weir_bus_fini(&bus);
}

TEST(a_capacity_of_one_keeps_the_newest)
{
    struct weir_bus bus;
    struct weir_bus_subscriber subscriber;
    make(&bus, 1);
    CHECK_EQ(weir_bus_subscribe(&bus, &subscriber, "last"), 0);
    publish(&bus, 0, 1);
    CHECK_EQ(next(&subscriber), 0);
    publish(&bus, 1, 1000);
    CHECK_EQ(next(&subscriber), -WEIR_E_LAGGING);
    CHECK_EQ(weir_bus_lost(&subscriber), 999);
    CHECK_EQ(next(&subscriber), 1000);
    weir_bus_unsubscribe(&subscriber);
    weir_bus_fini(&bus);
}

TEST(keeps_1024_messages_unless_told_otherwise)
{
    struct weir_bus bus;
    struct weir_bus_subscriber slow;
    CHECK_EQ(WEIR_BUS_CAPACITY_DEFAULT, 1024);
    make(&bus, 0);
    CHECK_EQ(weir_bus_capacity(&bus), 1024);
    CHECK_EQ(stats_of(&bus).capacity, 1024);
    CHECK_EQ(weir_bus_subscribe(&bus, &slow, "slow"), 0);
    publish(&bus, 0, 1024);
    CHECK_EQ(next(&slow), 0);
    publish(&bus, 1024, 2);
    CHECK_EQ(next(&slow), -WEIR_E_LAGGING);
    CHECK_EQ(weir_bus_lost(&slow), 1);
    CHECK_EQ(next(&slow), 2);
    weir_bus_unsubscribe(&slow);
    weir_bus_fini(&bus);
}

TEST(warns_at_most_once_in_an_interval)
{
    weir__clock_fake(1000 * WEIR_NS_PER_S);
    struct weir_bus bus;
    struct weir_bus_subscriber slow;
    uint64_t lost = 77;
    make(&bus, 1);
    CHECK_EQ(weir_bus_subscribe(&bus, &slow, "slow"), 0);
    CHECK(!weir_bus_lag_warning(&slow, WEIR_BUS_WARNING_INTERVAL_NS, &lost));
    publish(&bus, 0, 3);
    CHECK_EQ(next(&slow), -WEIR_E_LAGGING);
    CHECK(weir_bus_lag_warning(&slow, WEIR_BUS_WARNING_INTERVAL_NS, &lost));
    CHECK_EQ(lost, 2);
    CHECK(!weir_bus_lag_warning(&slow, WEIR_BUS_WARNING_INTERVAL_NS, &lost));
    for (int i = 0; i < 4; i++) {
        weir__clock_advance(WEIR_NS_PER_S);
        publish(&bus, 0, 2);
        CHECK_EQ(next(&slow), -WEIR_E_LAGGING);
        CHECK(!weir_bus_lag_warning(&slow, WEIR_BUS_WARNING_INTERVAL_NS, &lost));
    }
    CHECK_EQ(lost, 2);
    weir__clock_advance(WEIR_NS_PER_S);
    CHECK(weir_bus_lag_warning(&slow, WEIR_BUS_WARNING_INTERVAL_NS, &lost));
    CHECK_EQ(lost, 8); /* all of those that were not told of */
    weir__clock_advance(60 * WEIR_NS_PER_S);
    CHECK(!weir_bus_lag_warning(&slow, WEIR_BUS_WARNING_INTERVAL_NS, &lost));
    weir_bus_unsubscribe(&slow);
    weir_bus_fini(&bus);
    weir__clock_unfake();
}

TEST(subscribers_are_bounded)
{
    struct weir_bus bus;
    struct weir_bus_subscriber a, b, c;
    struct weir_bus_options options = {.message_size = 4, .subscribers_max = 2};
    CHECK_EQ(weir_bus_init(&bus, "events", &options), 0);
    CHECK_EQ(weir_bus_subscribe(&bus, &a, "a"), 0);
    CHECK_EQ(weir_bus_subscribe(&bus, &b, "b"), 0);
    CHECK_EQ(weir_bus_subscribe(&bus, &c, "c"), -WEIR_E_BUSY);
    CHECK_HAS(weir_error_detail(), "bus 'events': 2 subscribers of at most 2 are there");
    weir_bus_unsubscribe(&a);
    weir_bus_unsubscribe(&a); /* has left */
    CHECK_EQ(weir_bus_subscribe(&bus, &c, "c"), 0);
    CHECK_EQ(stats_of(&bus).subscribers, 2);
    weir_bus_unsubscribe(&c);
    weir_bus_unsubscribe(&b);
    weir_bus_fini(&bus);
}

struct call {
    struct weir_bus_subscriber subscriber;
    struct weir_deadline deadline;
    int message;
    int result;
    struct weir__thread thread;
};

static void call_recv(void *arg)
{
    struct call *call = arg;
    call->result = weir_bus_recv(&call->subscriber, &call->message, &call->deadline);
}

static void start(struct call *call, struct weir_bus *bus, struct weir_deadline deadline)
{
    *call = (struct call){.deadline = deadline, .message = -1, .result = 99};
    CHECK_EQ(weir_bus_subscribe(bus, &call->subscriber, "waits"), 0);
    CHECK_EQ(weir__thread_start(&call->thread, "waits", call_recv, call), 0);
}

static int join(struct call *call)
{
    weir__thread_join(&call->thread);
    weir_bus_unsubscribe(&call->subscriber);
    return call->result;
}

TEST(one_message_wakes_all_who_wait)
{
    struct weir_bus bus;
    static struct call calls[40]; /* more than one batch of wakes */
    make(&bus, 2);
    for (int i = 0; i < 40; i++)
        start(&calls[i], &bus, weir_deadline_in(60 * WEIR_NS_PER_S, NULL));
    until_waiting(&bus, 40);
    publish(&bus, 5, 1);
    for (int i = 0; i < 40; i++) {
        CHECK_EQ(join(&calls[i]), 0);
        CHECK_EQ(calls[i].message, 5);
    }
    weir_bus_fini(&bus);
}

TEST(waiting_ends_by_time_token_and_close)
{
    weir__clock_fake(WEIR_NS_PER_S);
    struct weir_bus bus;
    struct weir_cancel token;
    struct call late, stopped, closed;
    make(&bus, 2);
    weir_cancel_init(&token, NULL);
    start(&late, &bus, weir_deadline_in(WEIR_NS_PER_S, NULL));
    start(&stopped, &bus, weir_deadline_until(&token));
    start(&closed, &bus, weir_deadline_in(100 * WEIR_NS_PER_S, NULL));
    until_waiting(&bus, 3);
    weir__clock_advance(WEIR_NS_PER_S);
    CHECK_EQ(join(&late), -WEIR_E_TIMEOUT);
    weir_cancel_fire(&token);
    CHECK_EQ(join(&stopped), -WEIR_E_CANCELED);
    weir_bus_close(&bus);
    CHECK_EQ(join(&closed), -WEIR_E_CLOSED);
    CHECK_EQ(closed.message, -1);
    weir_bus_fini(&bus);
    weir_cancel_fini(&token);
    weir__clock_unfake();
}

TEST(a_deadline_bounds_the_waiting_not_the_call)
{
    struct weir_bus bus;
    struct weir_bus_subscriber subscriber;
    struct weir_deadline past = {1, NULL};
    int message = -1;
    make(&bus, 2);
    CHECK_EQ(weir_bus_subscribe(&bus, &subscriber, "late"), 0);
    CHECK_EQ(weir_bus_recv(&subscriber, &message, &past), -WEIR_E_TIMEOUT);
    CHECK_EQ(weir_bus_recv(&subscriber, &message, NULL), -WEIR_E_INVALID);
    publish(&bus, 3, 1);
    CHECK_EQ(weir_bus_recv(&subscriber, &message, &past), 0);
    CHECK_EQ(message, 3);
    weir_bus_unsubscribe(&subscriber);
    weir_bus_fini(&bus);
}

TEST(close_lets_subscribers_finish)
{
    struct weir_bus bus;
    struct weir_bus_subscriber subscriber, late;
    int message = 9;
    make(&bus, 2);
    CHECK_EQ(weir_bus_subscribe(&bus, &subscriber, "reader"), 0);
    publish(&bus, 0, 3);
    weir_bus_close(&bus);
    weir_bus_close(&bus);
    CHECK_EQ(weir_bus_publish(&bus, &message), -WEIR_E_CLOSED);
    CHECK_HAS(weir_error_detail(), "bus 'events': closed to new messages");
    CHECK_EQ(weir_bus_subscribe(&bus, &late, "late"), -WEIR_E_CLOSED);
    CHECK_EQ(stats_of(&bus).refused, 1);
    CHECK(stats_of(&bus).is_closed);
    CHECK_EQ(next(&subscriber), -WEIR_E_LAGGING);
    CHECK_EQ(next(&subscriber), 1);
    CHECK_EQ(next(&subscriber), 2);
    CHECK_EQ(next(&subscriber), -WEIR_E_CLOSED);
    weir_bus_unsubscribe(&subscriber);
    weir_bus_fini(&bus);
}

static void fini_with_subscribers(void *arg)
{
    (void)arg;
    struct weir_bus bus;
    struct weir_bus_subscriber subscriber;
    make(&bus, 2);
    CHECK_EQ(weir_bus_subscribe(&bus, &subscriber, "stays"), 0);
    weir_bus_fini(&bus);
}

static void leave_while_waiting(void *arg)
{
    (void)arg;
    struct weir_bus bus;
    static struct call call;
    make(&bus, 2);
    start(&call, &bus, weir_deadline_in(60 * WEIR_NS_PER_S, NULL));
    until_waiting(&bus, 1);
    weir_bus_unsubscribe(&call.subscriber);
}

static void wait_twice(void *arg)
{
    (void)arg;
    struct weir_bus bus;
    static struct call call;
    int message;
    make(&bus, 2);
    start(&call, &bus, weir_deadline_in(60 * WEIR_NS_PER_S, NULL));
    until_waiting(&bus, 1);
    struct weir_deadline deadline = weir_deadline_in(60 * WEIR_NS_PER_S, NULL);
    (void)!weir_bus_recv(&call.subscriber, &message, &deadline);
}

TEST(misuse_is_stopped_by_name)
{
    CHECK(tap_dies(fini_with_subscribers, NULL, "bus 'events': destroyed with subscribers left"));
    CHECK(tap_dies(leave_while_waiting, NULL, "bus subscriber 'waits': left while a thread waits"));
    CHECK(tap_dies(wait_twice, NULL, "bus subscriber 'waits': used by two threads at once"));
}

TEST(nothing_given_is_refused)
{
    struct weir_bus x;
    CHECK_EQ(weir_bus_init(&x, "x", NULL), -WEIR_E_INVALID);
    CHECK_HAS(weir_error_detail(), "messages of 0 bytes");
}

TAP_MAIN()
