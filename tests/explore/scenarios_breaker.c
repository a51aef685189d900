/* The breaker: how many probes, whose reports count, and that half-open ends. */
#include "xp.h"

#include <weir/breaker.h>

#define COOLDOWN_NS WEIR_NS_PER_S

static struct {
    struct weir_breaker breaker;
    struct weir_breaker_ticket first;
    struct weir_breaker_ticket second;
    unsigned probes;
    unsigned allowed;
} s;

static void setup_closed(uint32_t calls_min, uint32_t probes)
{
    struct weir_breaker_options options = {.calls_min = calls_min,
                                           .trip_permille = 1, /* any failure */
                                           .half_open_probes = probes,
                                           .cooldown_ns = COOLDOWN_NS,
                                           .probe_deadline_ns = WEIR_NS_PER_S};
    XP_ASSERT_EQ(weir_breaker_init(&s.breaker, "b", &options), 0);
    XP_ASSERT_EQ(weir_breaker_allow(&s.breaker, &s.first), 0);
    XP_ASSERT_EQ(weir_breaker_allow(&s.breaker, &s.second), 0);
}

static void setup_cooled_down(uint32_t probes)
{
    setup_closed(1, probes);
    weir_breaker_report(&s.first, WEIR_BREAKER_FAILURE);
    xp_advance(COOLDOWN_NS);
}

static struct weir_breaker_stats end(void)
{
    struct weir_breaker_stats stats;
    weir_breaker_read(&s.breaker, &stats);
    weir_breaker_fini(&s.breaker);
    return stats;
}

/* --- probes --------------------------------------------------------------------------------- */

static void setup_two_probes(void)
{
    setup_cooled_down(2);
}

static void call(void)
{
    struct weir_breaker_ticket ticket = WEIR_BREAKER_TICKET_NONE;
    if (weir_breaker_allow(&s.breaker, &ticket) != 0)
        return;
    if (ticket._serial) {
        s.probes++;
        XP_ASSERT(s.probes <= 2, "more probes are out than may be");
        xp_point();
        s.probes--;
    }
    weir_breaker_report(&ticket, (enum weir_breaker_outcome)xp_choose(3));
}

static void check_probes(void)
{
    struct weir_breaker_stats stats = end();
    XP_ASSERT_EQ(stats.probes_out, 0);
    XP_ASSERT_EQ(stats.allowed + stats.rejected, 2 + 3);
}

XP_SCENARIO(breaker_probes_bounded, .about = "never more probes out than half-open allows",
            XP_STATE(s), .setup = setup_two_probes, .threads = {call, call, call},
            .check = check_probes, .bound = 2)

/* --- canceled ------------------------------------------------------------------------------- */

static void setup_one_probe(void)
{
    setup_cooled_down(1);
}

static void call_and_cancel(void)
{
    struct weir_breaker_ticket ticket = WEIR_BREAKER_TICKET_NONE;
    if (weir_breaker_allow(&s.breaker, &ticket) == 0) {
        s.allowed++;
        xp_point();
        weir_breaker_cancel(&ticket);
    }
}

static void check_canceled(void)
{
    struct weir_breaker_ticket ticket = WEIR_BREAKER_TICKET_NONE;
    XP_ASSERT(s.allowed >= 1, "nobody was let through to probe");
    XP_ASSERT_EQ(weir_breaker_allow(&s.breaker, &ticket), 0);
    weir_breaker_report(&ticket, WEIR_BREAKER_SUCCESS);
    XP_ASSERT_EQ(end().state, WEIR_BREAKER_CLOSED);
}

XP_SCENARIO(breaker_canceled_probe, .about = "a canceled probe gives its permit back", XP_STATE(s),
            .setup = setup_one_probe,
            .threads = {call_and_cancel, call_and_cancel, call_and_cancel}, .check = check_canceled,
            .bound = 2)

/* --- overdue -------------------------------------------------------------------------------- */

static void setup_probe_out(void)
{
    setup_cooled_down(1);
    XP_ASSERT_EQ(weir_breaker_allow(&s.breaker, &s.first), 0);
}

static bool try_call(void)
{
    struct weir_breaker_ticket ticket = WEIR_BREAKER_TICKET_NONE;
    if (weir_breaker_allow(&s.breaker, &ticket) != 0)
        return false;
    s.allowed++;
    weir_breaker_report(&ticket, WEIR_BREAKER_SUCCESS);
    return true;
}

static void call_now(void)
{
    (void)try_call();
}

static void call_later(void)
{
    xp_advance(WEIR_NS_PER_S);
    if (!try_call())
        XP_ASSERT(s.breaker._failures == 2 || s.allowed > 0,
                  "half-open sticks after a probe that is overdue");
}

static void report_late(void)
{
    weir_breaker_report(&s.first, WEIR_BREAKER_FAILURE);
}

static void check_overdue(void)
{
    struct weir_breaker_stats stats = end();
    bool was_counted = stats.failures == 2;
    XP_ASSERT(was_counted || stats.state == WEIR_BREAKER_CLOSED,
              "a probe whose permit was passed on has opened it");
}

XP_SCENARIO(breaker_overdue_probe, .about = "an overdue probe makes way for another one",
            XP_STATE(s), .setup = setup_probe_out, .threads = {call_later, call_now, report_late},
            .check = check_overdue, .bound = 2)

/* --- generations ---------------------------------------------------------------------------- */

static void setup_two_calls(void)
{
    setup_closed(1, 1);
}

static void fail_first(void)
{
    weir_breaker_report(&s.first, WEIR_BREAKER_FAILURE);
}

static void fail_second(void)
{
    weir_breaker_report(&s.second, WEIR_BREAKER_FAILURE);
}

static void recover(void)
{
    struct weir_breaker_ticket ticket = WEIR_BREAKER_TICKET_NONE;
    xp_advance(COOLDOWN_NS);
    if (weir_breaker_allow(&s.breaker, &ticket) == 0)
        weir_breaker_report(&ticket, WEIR_BREAKER_SUCCESS);
}

static void check_stale(void)
{
    struct weir_breaker_stats stats = end();
    XP_ASSERT_EQ(stats.entered[WEIR_BREAKER_OPEN], 1);
    XP_ASSERT(stats.stale >= 1, "both failures of one time have counted");
    XP_ASSERT_EQ(stats.successes + stats.failures + stats.canceled + stats.stale, stats.allowed);
}

XP_SCENARIO(breaker_stale_report, .about = "a failure from before the move does not open it again",
            XP_STATE(s), .setup = setup_two_calls, .threads = {fail_first, fail_second, recover},
            .check = check_stale, .bound = 2)
