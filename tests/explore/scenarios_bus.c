/* The bus: exact losses, every sleeper woken, messages and the end of a wait, leaving and closing.
 */
#include <weir/bus.h>

#include "xp.h"

static struct {
    struct weir_bus bus;
    struct weir_cancel never; /* does not fire: a wait under it must be ended by the bus */
    struct weir_bus_subscriber subscriber[2];
    uint64_t received;
    uint64_t lost;
} s;

static void make(uint64_t capacity)
{
    struct weir_bus_options options = {.message_size = sizeof(uint64_t), .capacity = capacity};
    XP_ASSERT_EQ(weir_bus_init(&s.bus, "events", &options), 0);
    weir_cancel_init(&s.never, NULL);
    XP_ASSERT_EQ(weir_bus_subscribe(&s.bus, &s.subscriber[0], "audit"), 0);
    XP_ASSERT_EQ(weir_bus_subscribe(&s.bus, &s.subscriber[1], "metrics"), 0);
}

static void check(void)
{
    weir_bus_unsubscribe(&s.subscriber[0]);
    weir_bus_unsubscribe(&s.subscriber[1]);
    weir_bus_fini(&s.bus);
    weir_cancel_fini(&s.never);
}

static void setup_1(void)
{
    make(1);
}
static void setup_2(void)
{
    make(2);
}

/* Messages carry their own number, so that a subscriber can tell what it should have got. */
static void publish(uint64_t number)
{
    XP_ASSERT_EQ(weir_bus_publish(&s.bus, &number), 0);
}

/* Reads until all so many messages are accounted for, as received or as lost. */
static void follow(struct weir_bus_subscriber *subscriber, uint64_t total)
{
    struct weir_deadline deadline = weir_deadline_until(&s.never);
    uint64_t next = 0;
    while (next < total) {
        uint64_t message = UINT64_MAX;
        int error = weir_bus_recv(subscriber, &message, &deadline);
        if (error == -WEIR_E_LAGGING) {
            uint64_t lost = weir_bus_lost(subscriber);
            XP_ASSERT(lost >= 1 && next + lost < total, "lost what is still there");
            s.lost += lost;
            next += lost;
            continue;
        }
        XP_ASSERT_EQ(error, 0);
        XP_ASSERT_EQ(message, next);
        s.received++;
        next++;
    }
}

static void publisher_of_four(void)
{
    for (uint64_t number = 0; number < 4; number++)
        publish(number);
}
static void follower(void)
{
    follow(&s.subscriber[0], 4);
}
static void lag_check(void)
{
    struct weir_bus_stats stats;
    weir_bus_read(&s.bus, &stats);
    XP_ASSERT_EQ(s.received + s.lost, 4);
    XP_ASSERT_EQ(stats.received, s.received);
    XP_ASSERT_EQ(stats.lagged_total, s.lost + 3); /* the other one never read, and 1 is left */
    check();
}
XP_SCENARIO(bus_lag_is_exact,
            .about = "every message is received in order or counted as lost, none twice",
            XP_STATE(s), .setup = setup_1, .threads = {publisher_of_four, follower},
            .check = lag_check, .bound = 3, .tso = true)

static void publisher_of_one(void)
{
    publish(0);
}
static void sleeper_0(void)
{
    follow(&s.subscriber[0], 1);
}
static void sleeper_1(void)
{
    follow(&s.subscriber[1], 1);
}
static void all_check(void)
{
    XP_ASSERT_EQ(s.received, 2);
    check();
}
XP_SCENARIO(bus_wakes_all, .about = "one message wakes every subscriber that sleeps", XP_STATE(s),
            .setup = setup_2, .threads = {sleeper_0, sleeper_1, publisher_of_one},
            .check = all_check, .bound = 3, .tso = true)

static void timed_follower(void)
{
    uint64_t message = UINT64_MAX;
    struct weir_deadline deadline = weir_deadline_in(WEIR_NS_PER_S, NULL);
    int error = weir_bus_recv(&s.subscriber[0], &message, &deadline);
    XP_ASSERT(error == 0 || error == -WEIR_E_TIMEOUT, "a message or a time-out");
    s.received += !error;
}
static void timed_check(void)
{
    uint64_t message;
    while (weir_bus_try_recv(&s.subscriber[0], &message) == 0)
        s.received++;
    XP_ASSERT_EQ(s.received, 2);
    check();
}
XP_SCENARIO(bus_timeout_vs_publish,
            .about = "a message that meets the end of a wait is received or still there",
            XP_STATE(s), .setup = setup_2,
            .threads = {timed_follower, publisher_of_one, publisher_of_one}, .check = timed_check,
            .bound = 3, .spurious = 1, .tso = true)

static void until_closed(void)
{
    struct weir_deadline deadline = weir_deadline_until(&s.never);
    uint64_t message;
    int error;
    while ((error = weir_bus_recv(&s.subscriber[0], &message, &deadline)) == 0)
        s.received++;
    XP_ASSERT_EQ(error, -WEIR_E_CLOSED);
}
static void publishes_and_closes(void)
{
    publish(0);
    weir_bus_close(&s.bus);
}
static void comes_and_goes(void)
{
    struct weir_bus_subscriber guest = {0};
    int error = weir_bus_subscribe(&s.bus, &guest, "guest");
    XP_ASSERT(error == 0 || error == -WEIR_E_CLOSED, "joined, or closed already");
    if (error)
        return;
    uint64_t message;
    error = weir_bus_try_recv(&guest, &message);
    XP_ASSERT(error == 0 || error == -WEIR_E_NOT_FOUND || error == -WEIR_E_CLOSED,
              "a guest that joins late misses nothing that is meant for it");
    weir_bus_unsubscribe(&guest);
}
static void close_check(void)
{
    XP_ASSERT_EQ(s.received, 1);
    check();
}
XP_SCENARIO(bus_close, .about = "close ends every wait, after what is left has been read",
            XP_STATE(s), .setup = setup_2,
            .threads = {until_closed, publishes_and_closes, comes_and_goes}, .check = close_check,
            .bound = 3, .tso = true)
