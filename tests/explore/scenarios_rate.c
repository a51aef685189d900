/* The rate: never above its pace, nobody forgotten in line, high before low. */
#include "xp.h"

#include <weir/rate.h>

static struct {
    struct weir_rate rate;
    struct weir_cancel never; /* does not fire: a wait under it must succeed */
    struct weir_cancel fires;
    unsigned taken;
    unsigned ended;
    int result;
    bool is_both_in_line;
    enum weir_rate_priority priority; /* of all, where they have the same */
} s;

static void setup_with(uint64_t burst)
{
    struct weir_rate_options options = {.per_s = 1, .burst = burst};
    XP_ASSERT_EQ(weir_rate_init(&s.rate, "r", &options), 0);
    weir_cancel_init(&s.never, NULL);
    weir_cancel_init(&s.fires, NULL);
}

static void setup_full(void)
{
    setup_with(1);
}

static void setup_empty(void)
{
    setup_with(1);
    XP_ASSERT_EQ(weir_rate_try(&s.rate, 1, WEIR_RATE_HIGH), 0);
}

static void setup_empty_two(void)
{
    setup_with(2);
    XP_ASSERT_EQ(weir_rate_try(&s.rate, 2, WEIR_RATE_HIGH), 0);
}

static struct weir_rate_stats end(void)
{
    struct weir_rate_stats stats;
    weir_rate_read(&s.rate, &stats);
    XP_ASSERT_EQ(stats.enqueued, stats.granted + stats.canceled + stats.timed_out + stats.refused);
    XP_ASSERT_EQ(stats.waiting, 0);
    XP_ASSERT_EQ(stats.waiting_tokens[0] + stats.waiting_tokens[1], 0);
    weir_rate_fini(&s.rate);
    weir_cancel_fini(&s.never);
    weir_cancel_fini(&s.fires);
    return stats;
}

/* --- pace ----------------------------------------------------------------------------------- */

static void take_twice(void)
{
    for (int i = 0; i < 2; i++)
        if (weir_rate_try(&s.rate, 1, WEIR_RATE_LOW) == 0)
            s.taken++;
}

static void pass_a_second(void)
{
    xp_advance(WEIR_NS_PER_S);
}

static void check_pace(void)
{
    XP_ASSERT(s.taken <= 2, "more than the burst and a second's worth");
    XP_ASSERT_EQ(end().taken, s.taken);
}

XP_SCENARIO(rate_never_above_the_pace, .about = "burst + pace * time bounds what is taken",
            XP_STATE(s), .setup = setup_full, .threads = {take_twice, take_twice, pass_a_second},
            .check = check_pace, .bound = 2)

/* --- line ----------------------------------------------------------------------------------- */

static void take_low(void)
{
    struct weir_deadline deadline = weir_deadline_until(&s.never);
    XP_ASSERT_EQ(weir_rate_acquire(&s.rate, 1, WEIR_RATE_LOW, &deadline), 0);
    s.taken++;
}

static void take_high(void)
{
    struct weir_deadline deadline = weir_deadline_until(&s.never);
    XP_ASSERT_EQ(weir_rate_acquire(&s.rate, 1, WEIR_RATE_HIGH, &deadline), 0);
    s.taken++;
}

static void check_all_served(void)
{
    XP_ASSERT_EQ(s.taken, 3);
    XP_ASSERT_EQ(end().taken, 4);
}

XP_SCENARIO(rate_next_keeper, .about = "when the first in line is served, the next keeps the time",
            XP_STATE(s), .setup = setup_empty, .threads = {take_low, take_low, take_high},
            .check = check_all_served, .bound = 2)

static void take_unless_canceled(void)
{
    struct weir_deadline deadline = weir_deadline_until(&s.fires);
    s.result = weir_rate_acquire(&s.rate, 1, WEIR_RATE_LOW, &deadline);
    XP_ASSERT(s.result == 0 || s.result == -WEIR_E_CANCELED, "neither taken nor canceled");
    s.taken += s.result == 0;
}

static void fire(void)
{
    weir_cancel_fire(&s.fires);
}

static void check_leaver(void)
{
    struct weir_rate_stats stats = end();
    XP_ASSERT_EQ(stats.taken, 1 + s.taken);
    XP_ASSERT_EQ(stats.canceled, s.result != 0);
}

XP_SCENARIO(rate_canceled_keeper, .about = "a keeper that leaves hands over, and loses no token",
            XP_STATE(s), .setup = setup_empty, .threads = {take_unless_canceled, take_low, fire},
            .check = check_leaver, .bound = 3)

/* --- no overtaking -------------------------------------------------------------------------- */

static void setup_high(void)
{
    setup_empty_two();
    s.priority = WEIR_RATE_HIGH;
}

static void setup_low(void)
{
    setup_empty_two();
    s.priority = WEIR_RATE_LOW;
}

static bool has_first_come(void *arg)
{
    (void)arg;
    return s.rate._line[s.priority]._head || s.ended > 0;
}

/* The clock moves only once the first one is in line, so the first two tokens are its own, and are
 * due just in time. Whoever takes one before that makes it late. */
static void take_first(void)
{
    struct weir_deadline deadline = {XP_START_NS + 2 * WEIR_NS_PER_S, NULL};
    XP_ASSERT_EQ(weir_rate_acquire(&s.rate, 2, s.priority, &deadline), 0);
    s.ended++;
}

static void take_second(void)
{
    xp_await(has_first_come, NULL);
    struct weir_deadline deadline = {XP_START_NS + 3 * WEIR_NS_PER_S, NULL};
    int result = weir_rate_acquire(&s.rate, 1, s.priority, &deadline);
    XP_ASSERT(result == 0 || result == -WEIR_E_TIMEOUT || result == -WEIR_E_PACED,
              "a wait ended for no reason");
}

static void try_after_a_second(void)
{
    xp_await(has_first_come, NULL);
    xp_advance(WEIR_NS_PER_S);
    int result = weir_rate_try(&s.rate, 1, s.priority);
    XP_ASSERT(result == 0 || result == -WEIR_E_PACED, "neither taken nor paced");
}

static void check_first_was_first(void)
{
    XP_ASSERT_EQ(s.ended, 1);
    end();
}

XP_SCENARIO(rate_no_overtaking_low, .about = "among the low ones first come is first served",
            XP_STATE(s), .setup = setup_low,
            .threads = {take_first, take_second, try_after_a_second},
            .check = check_first_was_first, .bound = 3)

XP_SCENARIO(rate_no_overtaking_high, .about = "among the high ones first come is first served",
            XP_STATE(s), .setup = setup_high,
            .threads = {take_first, take_second, try_after_a_second},
            .check = check_first_was_first, .bound = 3)

/* --- priorities ----------------------------------------------------------------------------- */

/* The only token until its deadline is due just then. */
static void take_low_in_time(void)
{
    struct weir_deadline deadline = {XP_START_NS + WEIR_NS_PER_S, NULL};
    s.result = weir_rate_acquire(&s.rate, 1, WEIR_RATE_LOW, &deadline);
    s.ended++;
}

static void take_high_ended(void)
{
    take_high();
    s.ended++;
}

static bool are_both_in_line(void)
{
    return s.rate._line[WEIR_RATE_LOW]._head && s.rate._line[WEIR_RATE_HIGH]._head;
}

static bool is_to_be_seen(void *arg)
{
    (void)arg;
    return are_both_in_line() || s.ended == 2;
}

static void look(void)
{
    xp_await(is_to_be_seen, NULL);
    s.is_both_in_line = are_both_in_line();
}

static void check_priority(void)
{
    if (s.is_both_in_line)
        XP_ASSERT(s.result != 0, "a low request was served before a high one that waited");
    end();
}

XP_SCENARIO(rate_high_before_low, .about = "low is served only when no high waits", XP_STATE(s),
            .setup = setup_empty, .threads = {take_low_in_time, take_high_ended, look},
            .check = check_priority, .bound = 2)

/* --- changes -------------------------------------------------------------------------------- */

static void take_two(void)
{
    struct weir_deadline deadline = weir_deadline_until(&s.never);
    s.result = weir_rate_acquire(&s.rate, 2, WEIR_RATE_LOW, &deadline);
    XP_ASSERT(s.result == 0 || s.result == -WEIR_E_TOO_LARGE, "a wait ended for no reason");
}

static void check_set(void)
{
    struct weir_rate_stats stats = end();
    XP_ASSERT_EQ(stats.taken_tokens, 2 + 1 + (s.result == 0 ? 2 : 0));
}

static void lower_burst(void)
{
    XP_ASSERT_EQ(weir_rate_set(&s.rate, 1000, 1), 0);
}

XP_SCENARIO(rate_set, .about = "a change of pace and burst reaches those in line", XP_STATE(s),
            .setup = setup_empty_two, .threads = {take_two, take_low, lower_burst},
            .check = check_set, .bound = 2)
