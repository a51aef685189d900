/* scenarios_lock.c - the real lock and the parking place, for the program explore-lock.
 *
 * Everything else is explored with the lock as one operation; that this is right rests on the
 * scenarios here: the lock excludes, and nobody who wants it is left asleep while it is free.
 */
#include "atomic.h"
#include "lock.h"
#include "park.h"
#include "xp.h"

static const struct weir_lock_class test_class = {"test", WEIR_RANK_CORE + 1};

/* --- the lock ------------------------------------------------------------------------------- */

static struct {
    struct weir_lock lock;
    unsigned inside;
    unsigned done;
} l;

static void lock_setup(void)
{
    weir_lock_init(&l.lock, &test_class);
}

static void enter(void)
{
    weir_lock_acquire(&l.lock);
    XP_ASSERT(l.inside++ == 0, "two threads hold the lock");
    xp_point();
    XP_ASSERT(--l.inside == 0, "another thread took the lock meanwhile");
    l.done++;
    weir_lock_release(&l.lock);
}

static void enter_twice(void)
{
    enter();
    enter();
}

static void lock_check_3(void)
{
    XP_ASSERT_EQ(l.done, 3);
    weir_lock_fini(&l.lock);
}

static void lock_check_4(void)
{
    XP_ASSERT_EQ(l.done, 4);
    weir_lock_fini(&l.lock);
}

XP_SCENARIO(lock_excludes, .about = "one of three threads at a time, and each gets in", XP_STATE(l),
            .setup = lock_setup, .threads = {enter, enter, enter}, .check = lock_check_3,
            .bound = 4, .tso = true, .tso_bound = 3)

XP_SCENARIO(lock_no_lost_wake, .about = "taken again and again: no sleeper is forgotten",
            XP_STATE(l), .setup = lock_setup, .threads = {enter_twice, enter, enter},
            .check = lock_check_4, .bound = 3)

XP_SCENARIO(lock_spurious, .about = "a futex wait that ends for no reason does no harm",
            XP_STATE(l), .setup = lock_setup, .threads = {enter, enter, enter},
            .check = lock_check_3, .bound = 3, .spurious = 1)

/* --- the parking place ---------------------------------------------------------------------- */

/* The pattern of park.h in its smallest form: one thing that is either there or handed over. */
static struct {
    struct weir_lock lock;
    struct weir_cancel token;
    struct weir__park *waiter;
    unsigned there;
    unsigned taken;
    unsigned gave_up;
} p;

static void park_setup(void)
{
    weir_lock_init(&p.lock, &test_class);
    weir_cancel_init(&p.token, NULL);
}

static void take(uint64_t at_ns, int wanted_error)
{
    struct weir__park place = {0};
    weir_lock_acquire(&p.lock);
    if (p.there) {
        p.there--;
        p.taken++;
        weir_lock_release(&p.lock);
        return;
    }
    p.waiter = &place;
    weir_lock_release(&p.lock);
    struct weir_deadline deadline = {at_ns, &p.token};
    int error = weir__park_wait(&place, &deadline);
    weir_lock_acquire(&p.lock);
    if (weir__park_is_signaled(&place)) {
        p.taken++;
    } else {
        XP_ASSERT(error == -WEIR_E_TIMEOUT || error == wanted_error, "woken without a reason");
        XP_ASSERT(p.waiter == &place, "taken off the list without a signal");
        p.waiter = NULL;
        p.gave_up++;
    }
    weir_lock_release(&p.lock);
}

static void take_in_time(void)
{
    take(weir_now_ns() + WEIR_NS_PER_MS, -WEIR_E_CANCELED);
}

/* Nobody fires the token here, so a lost signal is a deadlock. */
static void take_for_sure(void)
{
    take(WEIR_NEVER, 0);
}

static void give(void)
{
    struct weir__wakes wakes = {0};
    weir_lock_acquire(&p.lock);
    if (p.waiter) {
        weir__park_signal(p.waiter, &wakes);
        p.waiter = NULL;
    } else {
        p.there++;
    }
    weir_lock_release(&p.lock);
    weir__wakes_send(&wakes);
}

static void fire(void)
{
    weir_cancel_fire(&p.token);
}

static void park_check(void)
{
    XP_ASSERT(p.taken + p.there == 1, "what was given is neither taken nor there");
    XP_ASSERT_EQ(p.taken + p.gave_up, 1);
    XP_ASSERT(!p.waiter, "a waiter was left on the list");
    weir_cancel_fini(&p.token);
    weir_lock_fini(&p.lock);
}

static void park_check_sure(void)
{
    XP_ASSERT_EQ(p.taken, 1);
    park_check();
}

XP_SCENARIO(lock_park_signal, .about = "a signal is never lost, however early it comes",
            XP_STATE(p), .setup = park_setup, .threads = {take_for_sure, give},
            .check = park_check_sure, .bound = 3, .spurious = 1, .tso = true)

XP_SCENARIO(lock_park_signal_vs_timeout,
            .about = "signal and time-out at once: given or left, not both", XP_STATE(p),
            .setup = park_setup, .threads = {take_in_time, give}, .check = park_check, .bound = 3,
            .spurious = 1)

XP_SCENARIO(lock_park_signal_vs_cancel, .about = "signal, cancel and time-out at once", XP_STATE(p),
            .setup = park_setup, .threads = {take_in_time, give, fire}, .check = park_check,
            .bound = 3)
