/* The breaker: when it opens, how it comes back, whose reports count. */
#include "tap.h"

#include <weir/breaker.h>

#include "clock.h"

#define START_NS (1000 * WEIR_NS_PER_S)

static struct weir_breaker breaker;
static struct weir_breaker_stats stats;

static void start(const struct weir_breaker_options *options)
{
    weir__clock_fake(START_NS);
    CHECK_EQ(weir_breaker_init(&breaker, "peer", options), 0);
}

static void stop(void)
{
    weir_breaker_fini(&breaker);
    weir__clock_unfake();
}

static enum weir_breaker_state state(void)
{
    weir_breaker_read(&breaker, &stats);
    return stats.state;
}

static struct weir_breaker_ticket allow(void)
{
    struct weir_breaker_ticket ticket = WEIR_BREAKER_TICKET_NONE;
    CHECK_EQ(weir_breaker_allow(&breaker, &ticket), 0);
    return ticket;
}

static void call(enum weir_breaker_outcome outcome)
{
    struct weir_breaker_ticket ticket = allow();
    weir_breaker_report(&ticket, outcome);
}

static void calls(int successes, int failures)
{
    for (int i = 0; i < successes; i++)
        call(WEIR_BREAKER_SUCCESS);
    for (int i = 0; i < failures; i++)
        call(WEIR_BREAKER_FAILURE);
}

static void check_rejected(void)
{
    struct weir_breaker_ticket ticket = WEIR_BREAKER_TICKET_NONE;
    CHECK_EQ(weir_breaker_allow(&breaker, &ticket), -WEIR_E_BREAKER_OPEN);
    CHECK(!ticket._breaker);
}

/* Opens it and waits until the cooldown is over. */
static void open_and_cool_down(void)
{
    calls(0, 10);
    CHECK_EQ(state(), WEIR_BREAKER_OPEN);
    weir__clock_advance(WEIR_BREAKER_COOLDOWN_DEFAULT_NS);
}

TEST(refuses_bad_options)
{
    struct weir_breaker bad;
    struct weir_breaker_options options = {.trip_permille = 1000};
    CHECK_EQ(weir_breaker_init(&bad, "peer", &options), -WEIR_E_INVALID);
    CHECK_HAS(weir_error_detail(), "breaker 'peer': it would never open above 1000");
    options = (struct weir_breaker_options){.buckets = WEIR_BREAKER_BUCKETS_MAX + 1};
    CHECK_EQ(weir_breaker_init(&bad, "peer", &options), -WEIR_E_INVALID);
    options = (struct weir_breaker_options){.window_ns = 9, .buckets = 10};
    CHECK_EQ(weir_breaker_init(&bad, "peer", &options), -WEIR_E_INVALID);
    CHECK_HAS(weir_error_detail(), "a window of 9 ns cannot be cut into 10 buckets");
    options = (struct weir_breaker_options){.half_open_probes = WEIR_BREAKER_PROBES_MAX + 1};
    CHECK_EQ(weir_breaker_init(&bad, "peer", &options), -WEIR_E_INVALID);
    CHECK_EQ(weir_breaker_init(&bad, NULL, NULL), -WEIR_E_INVALID);
    weir_breaker_fini(NULL);
    struct weir_breaker zero = {0};
    weir_breaker_fini(&zero);
}

TEST(the_defaults_are_the_documented_ones)
{
    CHECK_EQ(WEIR_BREAKER_WINDOW_DEFAULT_NS, 30 * WEIR_NS_PER_S);
    CHECK_EQ(WEIR_BREAKER_TRIP_PERMILLE_DEFAULT, 500);
    CHECK_EQ(WEIR_BREAKER_COOLDOWN_DEFAULT_NS, 10 * WEIR_NS_PER_S);
    CHECK_EQ(WEIR_BREAKER_PROBES_DEFAULT, 3);
    CHECK_STR(weir_breaker_state_name(WEIR_BREAKER_HALF_OPEN), "half_open");
    CHECK_STR(weir_breaker_state_name((enum weir_breaker_state)7), "unknown");
}

TEST(opens_above_the_threshold_and_not_at_it)
{
    start(NULL);
    calls(10, 10);
    CHECK_EQ(state(), WEIR_BREAKER_CLOSED);
    call(WEIR_BREAKER_FAILURE);
    CHECK_EQ(state(), WEIR_BREAKER_OPEN);
    check_rejected();
    CHECK_STR(weir_error_detail(), "breaker 'peer': the target is left alone, next probe in "
                                   "10.0 s, 0 out");
    CHECK_EQ(stats.entered[WEIR_BREAKER_OPEN], 1);
    CHECK_STR(weir_breaker_name(&breaker), "peer");
    stop();
}

TEST(does_not_judge_by_a_few_calls)
{
    start(NULL);
    calls(0, 9);
    CHECK_EQ(state(), WEIR_BREAKER_CLOSED);
    /* Also a success can be the result that makes them enough. */
    call(WEIR_BREAKER_SUCCESS);
    CHECK_EQ(state(), WEIR_BREAKER_OPEN);
    stop();
}

TEST(the_window_slides)
{
    struct weir_breaker_options options = {.window_ns = 10 * WEIR_NS_PER_S, .buckets = 10};
    start(&options);
    calls(0, 9);
    weir__clock_advance(9 * WEIR_NS_PER_S);
    CHECK_EQ(state(), WEIR_BREAKER_CLOSED);
    CHECK_EQ(stats.window_failures, 9);
    weir__clock_advance(WEIR_NS_PER_S);
    CHECK_EQ(state(), WEIR_BREAKER_CLOSED);
    CHECK_EQ(stats.window_failures, 0);
    CHECK_EQ(stats.window_calls, 0);
    /* One each second: never more than the window's ten are seen. */
    for (int i = 0; i < 100; i++) {
        call(i % 10 < 4 ? WEIR_BREAKER_FAILURE : WEIR_BREAKER_SUCCESS);
        weir_breaker_read(&breaker, &stats);
        CHECK_EQ(stats.window_calls, i < 10 ? i + 1 : 10);
        weir__clock_advance(WEIR_NS_PER_S);
    }
    CHECK_EQ(stats.window_failures, 4);
    CHECK_EQ(state(), WEIR_BREAKER_CLOSED);
    weir__clock_advance(UINT64_MAX / 2); /* a long pause costs nothing */
    calls(0, 9);
    CHECK_EQ(state(), WEIR_BREAKER_CLOSED);
    CHECK_EQ(stats.window_calls, 9);
    stop();
}

TEST(a_long_pause_forgets_the_whole_window)
{
    const uint64_t window_ns = WEIR_BREAKER_WINDOW_DEFAULT_NS;
    const uint64_t pauses_ns[] = {window_ns, 2 * window_ns, 7200 * WEIR_NS_PER_S,
                                  12345678 * WEIR_NS_PER_S + 987654321};
    for (size_t i = 0; i < sizeof(pauses_ns) / sizeof(pauses_ns[0]); i++) {
        start(NULL);
        calls(0, 9);
        weir__clock_advance(pauses_ns[i]);
        /* Nobody looks in between: the report itself has to forget. */
        call(WEIR_BREAKER_FAILURE);
        CHECK_EQ(state(), WEIR_BREAKER_CLOSED);
        CHECK_EQ(stats.window_calls, 1);
        CHECK_EQ(stats.window_failures, 1);
        calls(0, 8);
        CHECK_EQ(state(), WEIR_BREAKER_CLOSED);
        call(WEIR_BREAKER_FAILURE);
        CHECK_EQ(state(), WEIR_BREAKER_OPEN);
        stop();
    }
}

TEST(good_probes_close_it)
{
    start(NULL);
    calls(0, 10);
    weir__clock_advance(WEIR_BREAKER_COOLDOWN_DEFAULT_NS - 1);
    CHECK_EQ(weir_breaker_delay_ns(&breaker), 1);
    check_rejected();
    weir__clock_advance(1);
    CHECK_EQ(weir_breaker_delay_ns(&breaker), 0);
    struct weir_breaker_ticket probes[3] = {allow(), allow(), allow()};
    CHECK_EQ(state(), WEIR_BREAKER_HALF_OPEN);
    CHECK_EQ(stats.probes_out, 3);
    check_rejected();
    CHECK_HAS(weir_error_detail(), "next probe in 5.0 s, 3 out");
    weir_breaker_report(&probes[0], WEIR_BREAKER_SUCCESS);
    /* Three results are wanted, so a reported probe makes no room for a fourth. */
    check_rejected();
    weir_breaker_report(&probes[1], WEIR_BREAKER_SUCCESS);
    CHECK_EQ(state(), WEIR_BREAKER_HALF_OPEN);
    weir_breaker_report(&probes[2], WEIR_BREAKER_SUCCESS);
    CHECK_EQ(state(), WEIR_BREAKER_CLOSED);
    CHECK_EQ(stats.window_calls, 0);
    CHECK_EQ(stats.entered[WEIR_BREAKER_CLOSED], 2);
    CHECK_EQ(stats.probes_started, 3);
    stop();
}

TEST(bad_probes_open_it_again)
{
    start(NULL);
    open_and_cool_down();
    struct weir_breaker_ticket probes[3] = {allow(), allow(), allow()};
    weir_breaker_report(&probes[0], WEIR_BREAKER_FAILURE);
    CHECK_EQ(state(), WEIR_BREAKER_HALF_OPEN);
    weir_breaker_report(&probes[1], WEIR_BREAKER_FAILURE);
    CHECK_EQ(state(), WEIR_BREAKER_OPEN);
    CHECK_EQ(stats.entered[WEIR_BREAKER_OPEN], 2);
    CHECK_EQ(weir_breaker_delay_ns(&breaker), WEIR_BREAKER_COOLDOWN_DEFAULT_NS);
    /* The third is news from before. */
    weir_breaker_report(&probes[2], WEIR_BREAKER_SUCCESS);
    CHECK_EQ(state(), WEIR_BREAKER_OPEN);
    CHECK_EQ(stats.stale, 1);
    /* One bad probe of three is within the ratio. */
    weir__clock_advance(WEIR_BREAKER_COOLDOWN_DEFAULT_NS);
    calls(1, 1);
    call(WEIR_BREAKER_SUCCESS);
    CHECK_EQ(state(), WEIR_BREAKER_CLOSED);
    stop();
}

TEST(canceled_is_neither)
{
    start(NULL);
    calls(0, 9);
    for (int i = 0; i < 100; i++)
        call(WEIR_BREAKER_CANCELED);
    CHECK_EQ(state(), WEIR_BREAKER_CLOSED);
    CHECK_EQ(stats.window_calls, 9);
    call(WEIR_BREAKER_FAILURE);
    weir__clock_advance(WEIR_BREAKER_COOLDOWN_DEFAULT_NS);
    for (int i = 0; i < 10; i++) {
        WEIR_CLEANUP(weir_breaker_cancel)
        struct weir_breaker_ticket probe = allow();
        (void)probe;
    }
    CHECK_EQ(state(), WEIR_BREAKER_HALF_OPEN);
    CHECK_EQ(stats.probes_out, 0);
    CHECK_EQ(stats.canceled, 110);
    calls(3, 0);
    CHECK_EQ(state(), WEIR_BREAKER_CLOSED);
    stop();
}

TEST(half_open_does_not_stick)
{
    start(NULL);
    open_and_cool_down();
    struct weir_breaker_ticket lost[3] = {allow(), allow(), allow()};
    weir__clock_advance(WEIR_BREAKER_PROBE_DEADLINE_DEFAULT_NS - 1);
    check_rejected();
    weir__clock_advance(1);
    CHECK_EQ(weir_breaker_delay_ns(&breaker), 0);
    /* An overdue probe whose permit nobody wanted yet still counts. */
    weir_breaker_report(&lost[2], WEIR_BREAKER_SUCCESS);
    calls(1, 0);
    calls(1, 0);
    CHECK_EQ(state(), WEIR_BREAKER_CLOSED);
    CHECK_EQ(stats.probes_overdue, 2);
    CHECK_EQ(stats.successes, 3);
    weir_breaker_report(&lost[0], WEIR_BREAKER_FAILURE);
    weir_breaker_report(&lost[1], WEIR_BREAKER_CANCELED);
    CHECK_EQ(state(), WEIR_BREAKER_CLOSED);
    CHECK_EQ(stats.window_calls, 0);
    CHECK_EQ(stats.stale, 2);
    stop();
}

TEST(a_passed_on_permit_belongs_to_the_new_probe)
{
    struct weir_breaker_options options = {.half_open_probes = 1};
    start(&options);
    open_and_cool_down();
    struct weir_breaker_ticket slow = allow();
    weir__clock_advance(WEIR_BREAKER_PROBE_DEADLINE_DEFAULT_NS);
    struct weir_breaker_ticket fresh = allow();
    check_rejected();
    weir_breaker_report(&slow, WEIR_BREAKER_FAILURE);
    CHECK_EQ(state(), WEIR_BREAKER_HALF_OPEN);
    CHECK_EQ(stats.probes_out, 1);
    weir_breaker_report(&fresh, WEIR_BREAKER_SUCCESS);
    CHECK_EQ(state(), WEIR_BREAKER_CLOSED);
    stop();
}

TEST(late_reports_count_for_nothing)
{
    start(NULL);
    struct weir_breaker_ticket old[20];
    for (int i = 0; i < 20; i++)
        old[i] = allow();
    open_and_cool_down();
    for (int i = 0; i < 10; i++)
        weir_breaker_report(&old[i], WEIR_BREAKER_SUCCESS);
    CHECK_EQ(state(), WEIR_BREAKER_OPEN);
    calls(3, 0);
    CHECK_EQ(state(), WEIR_BREAKER_CLOSED);
    for (int i = 10; i < 20; i++)
        weir_breaker_report(&old[i], WEIR_BREAKER_FAILURE);
    CHECK_EQ(state(), WEIR_BREAKER_CLOSED);
    CHECK_EQ(stats.window_calls, 0);
    CHECK_EQ(stats.stale, 20);
    /* A second report of the same ticket is none. */
    weir_breaker_report(&old[0], WEIR_BREAKER_FAILURE);
    CHECK_EQ(state(), WEIR_BREAKER_CLOSED);
    CHECK_EQ(stats.stale, 20);
    CHECK_EQ(stats.allowed, 20 + 10 + 3);
    CHECK_EQ(stats.successes + stats.failures + stats.canceled + stats.stale, stats.allowed);
    stop();
}

static void report_nonsense(void *arg)
{
    struct weir_breaker_ticket ticket = allow();
    weir_breaker_report(&ticket, (enum weir_breaker_outcome)3);
    (void)arg;
}

TEST(misuse_is_named)
{
    start(NULL);
    CHECK(tap_dies(report_nonsense, NULL, "breaker 'peer': an outcome that is none of"));
    stop();
}

TAP_MAIN()
