/* scenarios_budget.c - the budget: never too many, never lost, never out of turn. */
#include "xp.h"

#include <weir/budget.h>

static struct {
    struct weir_budget budget;
    struct weir_cancel token;
    struct weir_permit held;
    struct weir_budget_waiter waiters[2];
    unsigned out;
    unsigned served;
    unsigned order[4];
    unsigned called;
    int results[4];
    bool waits;
} s;

static void init(uint64_t capacity)
{
    XP_ASSERT_EQ(weir_budget_init(&s.budget, "b", capacity), 0);
    weir_cancel_init(&s.token, NULL);
}

/* Every permit must be home, and the counts must add up. */
static void fini(void)
{
    struct weir_budget_stats stats;
    weir_budget_read(&s.budget, &stats);
    XP_ASSERT_EQ(stats.acquired, stats.released);
    XP_ASSERT_EQ(stats.waiting, 0);
    XP_ASSERT_EQ(stats.enqueued, stats.granted + stats.canceled + stats.timed_out + stats.refused);
    weir_cancel_fini(&s.token);
    weir_budget_fini(&s.budget);
}

static void enter(uint64_t n, uint64_t limit)
{
    s.out += (unsigned)n;
    XP_ASSERT(s.out <= limit, "more is out than the capacity");
    xp_point();
    s.out -= (unsigned)n;
}

static void must_acquire(uint64_t n, struct weir_permit *permit)
{
    struct weir_deadline deadline = weir_deadline_until(&s.token);
    XP_ASSERT_EQ(weir_budget_acquire(&s.budget, n, permit, &deadline), 0);
}

/* ---- three threads over two units: exclusion, no lost wake, exact counts ---- */

static void release_setup(void)
{
    init(2);
}

static void take_one(void)
{
    struct weir_permit permit = WEIR_PERMIT_NONE;
    must_acquire(1, &permit);
    enter(1, 2);
    weir_permit_release(&permit);
}

static void take_two(void)
{
    struct weir_permit permit = WEIR_PERMIT_NONE;
    must_acquire(2, &permit);
    enter(2, 2);
    weir_permit_release(&permit);
}

XP_SCENARIO(budget_release_race,
            .about = "weighted requests all get served, never too many at once", XP_STATE(s),
            .setup = release_setup, .threads = {take_one, take_two, take_one}, .check = fini,
            .bound = 3, .spurious = 1, .tso = true, .tso_bound = 2)

/* ---- one joins the line while another returns the last unit ---- */

static void one_setup(void)
{
    init(1);
    XP_ASSERT_EQ(weir_budget_try(&s.budget, 1, &s.held), 0);
}

static void give_back(void)
{
    weir_permit_release(&s.held);
}

static void take_the_one(void)
{
    struct weir_permit permit = WEIR_PERMIT_NONE;
    must_acquire(1, &permit);
    enter(1, 1);
    weir_permit_release(&permit);
}

XP_SCENARIO(budget_enqueue_vs_release, .about = "a release between the look and the wait is seen",
            XP_STATE(s), .setup = one_setup, .threads = {give_back, take_the_one, take_the_one},
            .check = fini, .bound = 3, .tso = true, .tso_bound = 2)

/* ---- a waiter that times out, is canceled, or is granted, all at once ---- */

static void take_or_time_out(void)
{
    struct weir_permit permit = WEIR_PERMIT_NONE;
    struct weir_deadline deadline = weir_deadline_in(1000, NULL);
    int result = weir_budget_acquire(&s.budget, 1, &permit, &deadline);
    XP_ASSERT(result == 0 || result == -WEIR_E_TIMEOUT, "granted or timed out");
    XP_ASSERT(weir_permit_is_held(&permit) == (result == 0), "a permit if and only if 0");
    weir_permit_release(&permit);
}

XP_SCENARIO(budget_timeout_vs_grant, .about = "a grant that meets a time-out is not lost",
            XP_STATE(s), .setup = one_setup, .threads = {give_back, take_or_time_out, take_the_one},
            .check = fini, .bound = 3, .tso = true, .tso_bound = 2)

static void take_or_be_canceled(void)
{
    struct weir_permit permit = WEIR_PERMIT_NONE;
    struct weir_deadline deadline = weir_deadline_until(&s.token);
    int result = weir_budget_acquire(&s.budget, 1, &permit, &deadline);
    XP_ASSERT(result == 0 || result == -WEIR_E_CANCELED, "granted or canceled");
    XP_ASSERT(weir_permit_is_held(&permit) == (result == 0), "a permit if and only if 0");
    weir_permit_release(&permit);
}

static void fire(void)
{
    weir_cancel_fire(&s.token);
}

XP_SCENARIO(budget_cancel_vs_grant, .about = "a waiter that leaves is in nobody's way", XP_STATE(s),
            .setup = one_setup, .threads = {give_back, take_or_be_canceled, fire}, .check = fini,
            .bound = 3, .tso = true, .tso_bound = 2)

/* ---- the head leaves, and the one behind it has enough units ---- */

static void head_setup(void)
{
    init(2);
    XP_ASSERT_EQ(weir_budget_try(&s.budget, 1, &s.held), 0);
}

static void big_then_leaves(void)
{
    struct weir_permit permit = WEIR_PERMIT_NONE;
    struct weir_deadline deadline = weir_deadline_in(1000, NULL);
    s.waits = true;
    int result = weir_budget_acquire(&s.budget, 2, &permit, &deadline);
    XP_ASSERT(result == 0 || result == -WEIR_E_TIMEOUT, "granted or timed out");
    weir_permit_release(&permit);
}

static bool has_been_served(void *arg)
{
    (void)arg;
    return s.served > 0;
}

static void small_behind(void)
{
    struct weir_permit permit = WEIR_PERMIT_NONE;
    struct weir_deadline deadline = weir_deadline_until(&s.token);
    XP_ASSERT_EQ(weir_budget_acquire(&s.budget, 1, &permit, &deadline), 0);
    s.served++;
    weir_permit_release(&permit);
}

/* The holder waits for a later waiter: so the small one must get in when the big one leaves. */
static void hold_until_served(void)
{
    xp_await(has_been_served, NULL);
    weir_permit_release(&s.held);
}

XP_SCENARIO(budget_cancel_head, .about = "when the head leaves, those behind it are looked at",
            XP_STATE(s), .setup = head_setup,
            .threads = {big_then_leaves, small_behind, hold_until_served}, .check = fini,
            .bound = 3, .tso = true, .tso_bound = 2)

/* ---- no overtaking ---- */

static void note(struct weir_budget_waiter *waiter, int result, struct weir_permit permit)
{
    XP_ASSERT_EQ(result, 0);
    s.order[s.served++] = waiter == &s.waiters[0] ? 1 : 2;
    weir_permit_release(&permit);
}

/* Somebody waits from the start: whoever comes later is served later. */
static void turn_setup(void)
{
    init(2);
    XP_ASSERT_EQ(weir_budget_try(&s.budget, 1, &s.held), 0);
    struct weir_permit permit = WEIR_PERMIT_NONE;
    XP_ASSERT_EQ(weir_budget_acquire_async(&s.budget, 2, &permit, &s.waiters[0], note),
                 WEIR_BUDGET_QUEUED);
}

static void newcomer(void)
{
    struct weir_permit permit = WEIR_PERMIT_NONE;
    if (xp_choose(2)) {
        int result = weir_budget_try(&s.budget, 1, &permit);
        XP_ASSERT(result == -WEIR_E_BUSY || s.served > 0, "try overtook a waiter");
    } else {
        must_acquire(1, &permit);
        XP_ASSERT(s.served > 0, "acquire overtook a waiter");
    }
    weir_permit_release(&permit);
}

XP_SCENARIO(budget_no_overtaking, .about = "while somebody waits, newcomers queue", XP_STATE(s),
            .setup = turn_setup, .threads = {give_back, newcomer, newcomer}, .check = fini,
            .bound = 3, .tso = true, .tso_bound = 2)

/* ---- one release serves many ---- */

static void many_setup(void)
{
    init(2);
    XP_ASSERT_EQ(weir_budget_try(&s.budget, 2, &s.held), 0);
}

static bool both_in(void *arg)
{
    (void)arg;
    return s.served == 2;
}

/* Each stays until the other one is in too. */
static void meet(void)
{
    struct weir_permit permit = WEIR_PERMIT_NONE;
    must_acquire(1, &permit);
    s.served++;
    xp_await(both_in, NULL);
    weir_permit_release(&permit);
}

XP_SCENARIO(budget_release_many, .about = "one release serves all whom its units serve",
            XP_STATE(s), .setup = many_setup, .threads = {give_back, meet, meet}, .check = fini,
            .bound = 3, .tso = true, .tso_bound = 2)

/* ---- callbacks: canceled or called, never both, and the waiter's memory is free after ---- */

static void on_grant(struct weir_budget_waiter *waiter, int result, struct weir_permit permit)
{
    XP_ASSERT_EQ(result, 0);
    s.called++;
    __builtin_memset(waiter, 0x5a, sizeof(*waiter)); /* the callback may free it */
    weir_permit_release(&permit);
}

static void async_setup(void)
{
    one_setup();
    struct weir_permit permit = WEIR_PERMIT_NONE;
    XP_ASSERT_EQ(weir_budget_acquire_async(&s.budget, 1, &permit, &s.waiters[0], on_grant),
                 WEIR_BUDGET_QUEUED);
}

static void note_called(struct weir_budget_waiter *waiter, int result, struct weir_permit permit)
{
    (void)waiter;
    XP_ASSERT_EQ(result, 0);
    s.called++;
    weir_permit_release(&permit);
}

static void async_cancel_setup(void)
{
    one_setup();
    struct weir_permit permit = WEIR_PERMIT_NONE;
    XP_ASSERT_EQ(weir_budget_acquire_async(&s.budget, 1, &permit, &s.waiters[0], note_called),
                 WEIR_BUDGET_QUEUED);
}

static void cancel_async(void)
{
    if (weir_budget_cancel_async(&s.budget, &s.waiters[0]))
        s.served++;
}

static void either_check(void)
{
    XP_ASSERT_EQ(s.called + s.served, 1);
    fini();
}

static void called_check(void)
{
    XP_ASSERT_EQ(s.called, 1);
    fini();
}

XP_SCENARIO(budget_callback, .about = "a callback waiter is called once and may go at once",
            XP_STATE(s), .setup = async_setup, .threads = {give_back, take_the_one, take_the_one},
            .check = called_check, .bound = 3, .tso = true, .tso_bound = 2)
XP_SCENARIO(budget_callback_cancel, .about = "a callback waiter is called or canceled, never both",
            XP_STATE(s), .setup = async_cancel_setup,
            .threads = {give_back, cancel_async, take_the_one}, .check = either_check, .bound = 3,
            .tso = true, .tso_bound = 2)

/* ---- resizing ---- */

static void shrink_setup(void)
{
    init(3);
    XP_ASSERT_EQ(weir_budget_try(&s.budget, 2, &s.held), 0);
}

/* After the resize has returned, no more than one unit is handed out anew. */
static void shrink(void)
{
    XP_ASSERT_EQ(weir_budget_resize(&s.budget, 1), 0);
    struct weir_permit permit = WEIR_PERMIT_NONE;
    must_acquire(1, &permit);
    enter(1, 1);
    weir_permit_release(&permit);
}

static void give_back_entered(void)
{
    weir_permit_release(&s.held);
}

static void take_two_if_possible(void)
{
    struct weir_permit permit = WEIR_PERMIT_NONE;
    struct weir_deadline deadline = weir_deadline_until(&s.token);
    int result = weir_budget_acquire(&s.budget, 2, &permit, &deadline);
    XP_ASSERT(result == 0 || result == -WEIR_E_TOO_LARGE, "granted before, or impossible after");
    weir_permit_release(&permit);
}

static void shrink_check(void)
{
    XP_ASSERT_EQ(weir_budget_available(&s.budget), 1);
    fini();
}

XP_SCENARIO(budget_shrink, .about = "a resize downwards keeps returning units until it holds",
            XP_STATE(s), .setup = shrink_setup,
            .threads = {shrink, give_back_entered, take_two_if_possible}, .check = shrink_check,
            .bound = 3, .tso = true, .tso_bound = 2)

static void grow(void)
{
    XP_ASSERT_EQ(weir_budget_resize(&s.budget, 2), 0);
}

static void take_one_of_two(void)
{
    struct weir_permit permit = WEIR_PERMIT_NONE;
    must_acquire(1, &permit);
    enter(1, 2);
    weir_permit_release(&permit);
}

XP_SCENARIO(budget_grow, .about = "a resize upwards serves those who wait", XP_STATE(s),
            .setup = one_setup, .threads = {grow, take_one_of_two, give_back}, .check = fini,
            .bound = 3, .tso = true, .tso_bound = 2)

/* ---- whoever has had all of it may destroy it ---- */

static void take_all_and_destroy(void)
{
    struct weir_permit permit = WEIR_PERMIT_NONE;
    must_acquire(2, &permit);
    weir_permit_release(&permit);
    weir_budget_fini(&s.budget);
    __builtin_memset(&s.budget, 0, sizeof(s.budget)); /* freed: a late look would crash */
}

static void two_setup(void)
{
    init(2);
    XP_ASSERT_EQ(weir_budget_try(&s.budget, 1, &s.held), 0);
}

static void destroyed_check(void)
{
    weir_cancel_fini(&s.token);
}

XP_SCENARIO(budget_destroy, .about = "release touches nothing once its units are home", XP_STATE(s),
            .setup = two_setup, .threads = {take_all_and_destroy, give_back},
            .check = destroyed_check, .bound = 3, .tso = true, .tso_bound = 2)

XP_SCENARIO(budget_exact_counts, .about = "a stress of both paths leaves every unit at home",
            XP_STATE(s), .setup = release_setup, .threads = {take_two, take_or_time_out, take_two},
            .check = fini, .bound = 3, .tso = true, .tso_bound = 2)
