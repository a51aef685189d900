/* self.c - the explorer explored: it must find what is wrong with small broken programs, follow its
 * own trails, and pass small correct ones.
 */
#include <stdio.h>

#include "atomic.h"
#include "futex.h"
#include "lock.h"
#include "self.h"
#include "tap.h"
#include "thread.h"
#include "xp.h"
#include "xp_engine.h"
#include <weir/clock.h>
#include <weir/error.h>
#include <weir/fault.h>

static struct {
    uint32_t x, y;
    uint32_t word[2];
    unsigned order, sleepers, first_awake;
    struct weir_lock lock, inner;
    struct weir__thread thread;
} s;

static struct xp_result result;

/* Fails with the text, with so many preemptions and not with fewer, and fails again by its trail.
 */
void must_fail(const struct xp_scenario *scenario, bool is_tso, const char *text,
               unsigned preemptions)
{
    struct xp_options options = {.bound = 3, .is_tso = is_tso};
    xp_explore(scenario, &options, &result);
    CHECK(result.has_failed);
    CHECK(!result.is_exhaustive);
    CHECK_HAS(result.message, text);
    CHECK_EQ(result.bound_reached, preemptions);
    static struct xp_result again;
    options.bound = result.bound_reached;
    CHECK(xp_replay(scenario, &options, result.trail, false, &again));
    CHECK(again.has_failed);
    CHECK_STR(again.message, result.message);
}

void must_hold(const struct xp_scenario *scenario, bool is_tso, unsigned bound)
{
    struct xp_options options = {.bound = bound, .is_tso = is_tso};
    xp_explore(scenario, &options, &result);
    if (result.has_failed)
        printf("# %s, trail %s\n", result.message, result.trail);
    CHECK(!result.has_failed);
    CHECK(result.is_exhaustive);
    CHECK_EQ(result.bound_reached, bound);
}

/* --- the search ----------------------------------------------------------------------------- */

static void load_then_store(void)
{
    weir__store32(&s.x, weir__load32(&s.x) + 1);
}
static void add(void)
{
    weir__add32(&s.x, 1);
}
static void check_two(void)
{
    XP_ASSERT_EQ(s.x, 2);
}

TEST(finds_a_lost_update)
{
    struct xp_scenario scenario = {XP_STATE(s), .threads = {load_then_store, load_then_store},
                                   .check = check_two};
    must_fail(&scenario, false, "s.x is 1, not 2", 1);
    struct xp_scenario sound = {XP_STATE(s), .threads = {add, add}, .check = check_two};
    must_hold(&sound, false, 3);
}

/* Every interleaving of 3 threads with 2 steps each, no more and no less: 6! / (2! 2! 2!). */
static bool orders[729];
static void two_steps(void)
{
    for (int i = 0; i < 2; i++) {
        xp_point();
        s.order = s.order * 3 + (unsigned)xp_thread_index();
    }
}
static void note_order(void)
{
    orders[s.order] = true;
}

TEST(runs_every_interleaving_once)
{
    struct xp_scenario scenario = {XP_STATE(s), .threads = {two_steps, two_steps, two_steps},
                                   .check = note_order};
    must_hold(&scenario, false, 6);
    unsigned found = 0;
    for (size_t i = 0; i < sizeof(orders) / sizeof(orders[0]); i++)
        found += orders[i];
    CHECK_EQ(found, 90);
    uint64_t executions = result.executions;
    must_hold(&scenario, false, 5);
    /* Each thread has a point at its start as well: 9! / (3! 3! 3!). */
    CHECK_EQ(executions - result.executions, 1680);
}

TEST(says_when_it_did_not_finish)
{
    struct xp_scenario scenario = {XP_STATE(s), .threads = {two_steps, two_steps, two_steps}};
    struct xp_options options = {.bound = 3, .executions_max = 20};
    xp_explore(&scenario, &options, &result);
    CHECK(!result.has_failed);
    CHECK(!result.is_exhaustive);
    CHECK_EQ(result.executions, 20);
    CHECK(result.bound_reached < 3);
}

static void choose_two(void)
{
    s.order = xp_choose(3) * 3 + xp_choose(3);
    XP_ASSERT(s.order != 7, "found 7");
}

TEST(explores_every_value)
{
    struct xp_scenario scenario = {XP_STATE(s), .threads = {choose_two}};
    must_fail(&scenario, false, "found 7", 0);
    CHECK_STR(result.trail, "2.1");
    CHECK_EQ(result.executions, 8);
}

TEST(refuses_a_bad_trail)
{
    struct xp_scenario scenario = {XP_STATE(s), .threads = {choose_two}};
    struct xp_options options = {0};
    CHECK(!xp_replay(&scenario, &options, "2.x", false, &result));
    CHECK(!xp_replay(&scenario, &options, "300", false, &result));
    CHECK(!xp_replay(&scenario, &options, "1*99999999", false, &result));
    CHECK(xp_replay(&scenario, &options, "5", false, &result));
    CHECK_HAS(result.message, "the trail is of another one");
}

static unsigned run_number;
static void differ(void)
{
    if (run_number++ % 2)
        xp_choose(3);
    xp_choose(2);
}

TEST(notices_what_is_not_deterministic)
{
    struct xp_scenario scenario = {.threads = {differ}};
    struct xp_options options = {.bound = 1};
    run_number = 0;
    xp_explore(&scenario, &options, &result);
    CHECK_HAS(result.message, "not deterministic");
    CHECK(result.is_invalid);
}

/* --- waiting -------------------------------------------------------------------------------- */

static void toy_lock(uint32_t *word)
{
    while (weir__xchg32(word, 1))
        weir__futex_wait(word, 1, WEIR_NEVER);
}
static void toy_unlock(uint32_t *word)
{
    weir__xchg32(word, 0);
    weir__futex_wake(word, 1);
}
static void lock_in_order(void)
{
    toy_lock(&s.word[0]);
    toy_lock(&s.word[1]);
    toy_unlock(&s.word[1]);
    toy_unlock(&s.word[0]);
}
static void lock_against_order(void)
{
    toy_lock(&s.word[1]);
    toy_lock(&s.word[0]);
    toy_unlock(&s.word[0]);
    toy_unlock(&s.word[1]);
}

TEST(finds_a_deadlock)
{
    struct xp_scenario scenario = {XP_STATE(s), .threads = {lock_in_order, lock_against_order}};
    must_fail(&scenario, false, "deadlock: nobody can run: thread 0 sleeps on state+", 1);
    /* A wake for no reason is no way out. */
    scenario.spurious = 1;
    must_fail(&scenario, false, "deadlock", 1);
    struct xp_scenario sound = {XP_STATE(s), .threads = {lock_in_order, lock_in_order}};
    must_hold(&sound, false, 3);
}

static void wait_for_x(void)
{
    if (!weir__load32(&s.x))
        weir__futex_wait(&s.y, 0, WEIR_NEVER);
}
static void wait_for_x_rightly(void)
{
    while (!weir__load32(&s.x))
        weir__futex_wait(&s.x, 0, WEIR_NEVER);
}
static void wake_y(void)
{
    weir__store32(&s.x, 1);
    weir__futex_wake(&s.y, 1);
}
static void wake_x(void)
{
    weir__store32(&s.x, 1);
    weir__futex_wake(&s.x, 1);
}

TEST(finds_a_lost_wake_up)
{
    struct xp_scenario scenario = {XP_STATE(s), .threads = {wait_for_x, wake_y}};
    must_fail(&scenario, false, "deadlock: nobody can run: thread 0 sleeps on", 1);
    struct xp_scenario sound = {XP_STATE(s), .threads = {wait_for_x_rightly, wake_x},
                                .spurious = 1};
    must_hold(&sound, false, 3);
    must_hold(&sound, true, 3);
}

static void believe_the_wake(void)
{
    if (!weir__load32(&s.x))
        weir__futex_wait(&s.x, 0, WEIR_NEVER);
    XP_ASSERT(weir__load32(&s.x), "awake without x");
}

TEST(finds_a_wait_that_believes_every_wake)
{
    struct xp_scenario scenario = {XP_STATE(s), .threads = {believe_the_wake, wake_x}};
    must_hold(&scenario, false, 3);
    scenario.spurious = 1;
    must_fail(&scenario, false, "awake without x", 0);
}

static void insist(void)
{
    weir__store32(&s.word[xp_thread_index()], 1);
    while (weir__load32(&s.word[1 - xp_thread_index()]))
        xp_yield();
    weir__store32(&s.word[xp_thread_index()], 0);
}

TEST(finds_a_livelock)
{
    struct xp_scenario scenario = {XP_STATE(s), .threads = {insist, insist}};
    must_fail(&scenario, false, "livelock", 1);
}

static void spin_for_x(void)
{
    while (!weir__load32(&s.x))
        xp_yield();
}
static void store_x(void)
{
    weir__store32(&s.x, 1);
}

TEST(passes_a_loop_that_yields)
{
    struct xp_scenario scenario = {XP_STATE(s), .threads = {spin_for_x, spin_for_x, store_x}};
    must_hold(&scenario, false, 2);
    must_hold(&scenario, true, 2);
}

static void wait_a_while(void)
{
    uint64_t at_ns = weir_now_ns() + 500;
    int error = weir__futex_wait(&s.x, 0, at_ns);
    XP_ASSERT(error == 0 || weir_now_ns() >= at_ns, "timed out too early");
    XP_ASSERT(error == 0 || xp_choose(2) == 0, "timed out");
    XP_ASSERT(error != 0 || xp_choose(2) == 0, "woken");
}

TEST(times_out_or_wakes)
{
    struct xp_scenario alone = {XP_STATE(s), .threads = {wait_a_while}};
    must_fail(&alone, false, "timed out", 0);
    struct xp_scenario woken = {XP_STATE(s), .threads = {wait_a_while, wake_x}};
    must_fail(&woken, false, "woken", 0);
}

static void sleep_in_turn(void)
{
    s.sleepers++;
    weir__futex_wait(&s.y, 0, WEIR_NEVER);
    if (!s.first_awake)
        s.first_awake = 1 + (unsigned)xp_thread_index();
}
static bool do_both_sleep(void *arg)
{
    (void)arg;
    return s.sleepers == 2;
}
static void wake_in_turn(void)
{
    xp_await(do_both_sleep, NULL);
    weir__futex_wake(&s.y, 1);
    while (!s.first_awake)
        xp_yield();
    XP_ASSERT(s.first_awake != 1, "thread 0 first");
    weir__futex_wake(&s.y, 1);
}
static void first_is_0(void)
{
    XP_ASSERT(s.first_awake != 2, "thread 1 first");
}

TEST(wakes_sleepers_in_any_order)
{
    struct xp_scenario zero = {XP_STATE(s),
                               .threads = {sleep_in_turn, sleep_in_turn, wake_in_turn}};
    must_fail(&zero, false, "thread 0 first", 0);
    struct xp_options options = {.bound = 1};
    zero.check = first_is_0;
    static struct xp_result other;
    /* The second choice of the wake, whatever came before it. */
    CHECK(xp_replay(&zero, &options, "0*1.1", false, &other));
    CHECK_HAS(other.message, "thread 1 first");
}

/* --- threads, faults, locks ----------------------------------------------------------------- */

static void started(void *arg)
{
    uint32_t *x = arg;
    weir__add32(x, 1);
}
static void start_and_join(void)
{
    if (weir__thread_start(&s.thread, "toy", started, &s.x) != 0) {
        s.x = 1;
        s.y = 1;
        return;
    }
    weir__add32(&s.y, 1);
    weir__thread_join(&s.thread);
    XP_ASSERT_EQ(s.x, 1);
}
static void stuck(void *arg)
{
    (void)arg;
    weir__futex_wait(&s.x, 0, WEIR_NEVER);
}
static void start_and_abandon(void)
{
    XP_ASSERT_EQ(weir__thread_start(&s.thread, "toy", stuck, NULL), 0);
    weir__thread_abandon(&s.thread);
}
static void start_and_join_stuck(void)
{
    XP_ASSERT_EQ(weir__thread_start(&s.thread, "toy", stuck, NULL), 0);
    weir__thread_join(&s.thread);
}

TEST(starts_joins_and_abandons_threads)
{
    struct xp_scenario join = {XP_STATE(s), .threads = {start_and_join}};
    must_hold(&join, false, 3);
    struct xp_scenario abandon = {XP_STATE(s), .threads = {start_and_abandon}};
    must_hold(&abandon, false, 3);
    struct xp_scenario joined = {XP_STATE(s), .threads = {start_and_join_stuck}};
    must_fail(&joined, false, "thread 0 joins thread 1; thread 1 sleeps on", 0);
}

static void check_no_fault(void)
{
    XP_ASSERT(!weir_fault_was_hit(WEIR_FAULT_THREAD), "a fault was hit");
}

TEST(hits_fault_points)
{
    struct xp_scenario scenario = {XP_STATE(s), .threads = {start_and_join},
                                   .check = check_no_fault};
    must_hold(&scenario, false, 2);
    scenario.faults = 1;
    must_fail(&scenario, false, "a fault was hit", 0);
}

static const struct weir_lock_class outer_class = {"outer", 1};
static const struct weir_lock_class inner_class = {"inner", 2};
static void locks_setup(void)
{
    weir_lock_init(&s.lock, &outer_class);
    weir_lock_init(&s.inner, &inner_class);
}
static void take_out_of_order(void)
{
    weir_lock_acquire(&s.inner);
    weir_lock_acquire(&s.lock);
}
static void wait_under_lock(void)
{
    weir_lock_acquire(&s.lock);
    weir__futex_wait(&s.x, 0, WEIR_NEVER);
}
static void end_with_lock(void)
{
    weir_lock_acquire(&s.lock);
}
static void update_under_lock(void)
{
    weir_lock_acquire(&s.lock);
    weir__store32(&s.x, weir__load32(&s.x) + 1);
    weir_lock_release(&s.lock);
}

TEST(checks_the_use_of_locks)
{
    struct xp_scenario order = {XP_STATE(s), .setup = locks_setup, .threads = {take_out_of_order}};
    must_fail(&order, false, "lock 'outer' of rank 1 is taken while 'inner' of rank 2", 0);
    struct xp_scenario wait = {XP_STATE(s), .setup = locks_setup, .threads = {wait_under_lock}};
    must_fail(&wait, false, "a wait begins while the lock 'outer' is held", 0);
    struct xp_scenario end = {XP_STATE(s), .setup = locks_setup, .threads = {end_with_lock}};
    must_fail(&end, false, "ends while it holds the lock 'outer'", 0);
    struct xp_scenario sound = {XP_STATE(s), .setup = locks_setup,
                                .threads = {update_under_lock, update_under_lock},
                                .check = check_two};
    must_hold(&sound, false, 3);
    must_hold(&sound, true, 3);
}

/* The last thing that a holder shows is not its release. */
static void show_then_release(void)
{
    weir_lock_acquire(&s.lock);
    weir__store32(&s.x, 1);
    weir_lock_release(&s.lock);
}
static void destroy_when_shown(void)
{
    if (weir__load32(&s.x))
        weir_lock_fini(&s.lock);
}

TEST(finds_a_lock_destroyed_before_its_release)
{
    struct xp_scenario scenario = {XP_STATE(s), .setup = locks_setup,
                                   .threads = {show_then_release, destroy_when_shown}};
    must_fail(&scenario, false, "lock 'outer': destroyed while held by thread 0", 1);
}

static void crash_assertion(void)
{
    struct weir_lock never = {0};
    weir_lock_acquire(&never);
}

TEST(finds_a_lock_that_was_never_initialised)
{
    struct xp_scenario scenario = {XP_STATE(s), .threads = {crash_assertion}};
    must_fail(&scenario, false, "used before weir_lock_init()", 0);
}

TAP_MAIN()
