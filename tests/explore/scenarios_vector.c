/* The vector budget: all or nothing, one line, and a grant, a leaver and a resize at once. */
#include "vector.h"
#include "xp.h"

#define BOTH 2
static const char *const names[BOTH] = {"ring bytes", "cache bytes"};

static struct {
    struct weir__vector vector;
    struct weir_cancel token; /* never fires: a wait under it must be ended by a grant */
    uint64_t out[BOTH];
    unsigned in;
    bool whole_done;
    bool called;
    bool canceled;
    int called_with;
    struct weir__vector_waiter waiter;
} s;

static void make(uint64_t ring, uint64_t cache)
{
    uint64_t capacities[BOTH] = {ring, cache};
    XP_ASSERT_EQ(weir__vector_init(&s.vector, "pool", "main", BOTH, capacities, names, 0), 0);
    weir_cancel_init(&s.token, NULL);
}

static struct weir__vector_request ask(uint64_t ring, uint64_t cache)
{
    return (struct weir__vector_request){{ring, cache, 0, 0}};
}

static void enter(const struct weir__vector_request *request)
{
    for (int i = 0; i < BOTH; i++) {
        s.out[i] += request->units[i];
        XP_ASSERT(s.out[i] <= s.vector._capacity[i], "more is out than there is");
    }
}

static void leave(const struct weir__vector_request *request)
{
    for (int i = 0; i < BOTH; i++)
        s.out[i] -= request->units[i];
    weir__vector_release(&s.vector, request);
}

/* Everything came home, every request is accounted for, nobody waits. */
static void check(void)
{
    struct weir__vector_stats stats;
    weir__vector_read(&s.vector, &stats);
    XP_ASSERT_EQ(stats.waiting, 0);
    XP_ASSERT_EQ(stats.in_use[0], 0);
    XP_ASSERT_EQ(stats.in_use[1], 0);
    XP_ASSERT_EQ(stats.acquired, stats.released);
    XP_ASSERT_EQ(stats.enqueued, stats.granted + stats.canceled + stats.timed_out + stats.refused);
    weir__vector_fini(&s.vector);
    weir_cancel_fini(&s.token);
}

static void take(uint64_t ring, uint64_t cache)
{
    struct weir__vector_request request = ask(ring, cache);
    struct weir_deadline deadline = weir_deadline_until(&s.token);
    XP_ASSERT_EQ(weir__vector_acquire(&s.vector, &request, &deadline), 0);
    enter(&request);
    xp_point();
    leave(&request);
}

static void all_setup(void)
{
    make(2, 2);
}
static void takes_ring(void)
{
    take(2, 1);
}
static void takes_cache(void)
{
    take(1, 2);
}
static void takes_little(void)
{
    take(1, 1);
}
XP_SCENARIO(vector_all_or_nothing, .about = "no component is ever overdrawn, and all are served",
            XP_STATE(s), .setup = all_setup, .threads = {takes_ring, takes_cache, takes_little},
            .check = check, .bound = 3)

/* One unit is out. Somebody waits for the whole, later somebody for one unit that is free. */
static void held_setup(void)
{
    make(2, 1);
    struct weir__vector_request one = ask(1, 0);
    XP_ASSERT_EQ(weir__vector_try(&s.vector, &one), 0);
}
static bool whole_waits_or_is_done(void *arg)
{
    (void)arg;
    return s.vector._line._waiting > 0 || s.whole_done;
}
static void gives_one_back(void)
{
    struct weir__vector_request one = ask(1, 0);
    xp_await(whole_waits_or_is_done, NULL);
    weir__vector_release(&s.vector, &one);
}
static void takes_whole(void)
{
    struct weir__vector_request whole = ask(2, 1);
    struct weir_deadline deadline = weir_deadline_until(&s.token);
    XP_ASSERT_EQ(weir__vector_acquire(&s.vector, &whole, &deadline), 0);
    s.whole_done = true;
    weir__vector_release(&s.vector, &whole);
}
static void comes_later(void)
{
    struct weir__vector_request one = ask(1, 0);
    struct weir_deadline deadline = weir_deadline_until(&s.token);
    xp_await(whole_waits_or_is_done, NULL);
    if (weir__vector_try(&s.vector, &one) == 0) {
        XP_ASSERT(s.whole_done, "try overtook the one that waits for the whole");
        weir__vector_release(&s.vector, &one);
    }
    XP_ASSERT_EQ(weir__vector_acquire(&s.vector, &one, &deadline), 0);
    XP_ASSERT(s.whole_done, "a newcomer overtook the one that waits for the whole");
    weir__vector_release(&s.vector, &one);
}
XP_SCENARIO(vector_no_overtaking, .about = "a request for the whole is served in its turn",
            XP_STATE(s), .setup = held_setup, .threads = {takes_whole, comes_later, gives_one_back},
            .check = check, .bound = 3)

/* One release makes room for two; each of them stays until the other is in. */
static void whole_out_setup(void)
{
    make(2, 1);
    struct weir__vector_request whole = ask(2, 1);
    XP_ASSERT_EQ(weir__vector_try(&s.vector, &whole), 0);
}
static bool both_in(void *arg)
{
    (void)arg;
    return s.in == 2;
}
static void stays_for_the_other(void)
{
    struct weir__vector_request one = ask(1, 0);
    struct weir_deadline deadline = weir_deadline_until(&s.token);
    XP_ASSERT_EQ(weir__vector_acquire(&s.vector, &one, &deadline), 0);
    s.in++;
    xp_await(both_in, NULL);
    weir__vector_release(&s.vector, &one);
}
static void gives_whole_back(void)
{
    struct weir__vector_request whole = ask(2, 1);
    weir__vector_release(&s.vector, &whole);
}
XP_SCENARIO(vector_release_many, .about = "one release serves everybody that it makes room for",
            XP_STATE(s), .setup = whole_out_setup,
            .threads = {stays_for_the_other, stays_for_the_other, gives_whole_back}, .check = check,
            .bound = 3)

/* A wait that may time out meets the release that would end it. */
static void may_time_out(void)
{
    struct weir__vector_request request = ask(1, 1);
    struct weir_deadline deadline = weir_deadline_in(WEIR_NS_PER_S, NULL);
    int result = weir__vector_acquire(&s.vector, &request, &deadline);
    XP_ASSERT(result == 0 || result == -WEIR_E_TIMEOUT, "neither granted nor timed out");
    if (result == 0)
        weir__vector_release(&s.vector, &request);
}
XP_SCENARIO(vector_timeout_vs_grant, .about = "a grant that meets the deadline is not lost",
            XP_STATE(s), .setup = whole_out_setup,
            .threads = {may_time_out, may_time_out, gives_whole_back}, .check = check, .bound = 3)

/* The head holds up somebody whose request is free, and gives up. */
static void gives_up(void)
{
    struct weir__vector_request whole = ask(2, 1);
    struct weir_deadline deadline = weir_deadline_in(WEIR_NS_PER_S, NULL);
    int result = weir__vector_acquire(&s.vector, &whole, &deadline);
    if (result == 0)
        weir__vector_release(&s.vector, &whole);
    else
        XP_ASSERT_EQ(result, -WEIR_E_TIMEOUT);
    s.whole_done = true;
}
static void held_up(void)
{
    take(1, 0);
}
static void leave_head_check(void)
{
    struct weir__vector_request one = ask(1, 0);
    weir__vector_release(&s.vector, &one);
    check();
}
XP_SCENARIO(vector_leave_head, .about = "when the head leaves, those behind it are served",
            XP_STATE(s), .setup = held_setup, .threads = {gives_up, held_up, held_up},
            .check = leave_head_check, .bound = 3)

/* A callback waiter is granted and canceled at once: exactly one of the two happens. */
static void on_grant(struct weir__vector_waiter *waiter, int result)
{
    XP_ASSERT(waiter == &s.waiter && !s.called, "called twice");
    s.called = true;
    s.called_with = result;
    struct weir__vector_request one = ask(1, 0);
    if (result == 0)
        weir__vector_release(&s.vector, &one);
}
static void asks_and_cancels(void)
{
    struct weir__vector_request one = ask(1, 0);
    int result = weir__vector_acquire_async(&s.vector, &one, &s.waiter, on_grant);
    if (result == WEIR_BUDGET_QUEUED)
        s.canceled = weir__vector_cancel_async(&s.vector, &s.waiter);
    else
        weir__vector_release(&s.vector, &one);
    if (result == 0)
        s.canceled = true;
}
static void cancel_check(void)
{
    XP_ASSERT(s.called != s.canceled, "called and canceled, or neither");
    check();
}
XP_SCENARIO(vector_cancel_vs_grant, .about = "a callback is either called or canceled", XP_STATE(s),
            .setup = whole_out_setup, .threads = {asks_and_cancels, gives_whole_back, may_time_out},
            .check = cancel_check, .bound = 3)

/* A shrink meets the release: the waiter is granted or told that it can never be. */
static void shrinks(void)
{
    XP_ASSERT_EQ(weir__vector_resize(&s.vector, 0, 1), 0);
}
static void wants_two(void)
{
    struct weir__vector_request two = ask(2, 0);
    struct weir_deadline deadline = weir_deadline_until(&s.token);
    int result = weir__vector_acquire(&s.vector, &two, &deadline);
    XP_ASSERT(result == 0 || result == -WEIR_E_TOO_LARGE, "neither granted nor refused");
    if (result == 0)
        weir__vector_release(&s.vector, &two);
}
XP_SCENARIO(vector_shrink, .about = "a resize leaves nobody waiting for what cannot come",
            XP_STATE(s), .setup = whole_out_setup,
            .threads = {wants_two, shrinks, gives_whole_back}, .check = check, .bound = 3)
