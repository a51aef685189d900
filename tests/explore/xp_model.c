/* xp_model.c - what core asks of the system, answered by the explorer.
 *
 * Futex: a wait compares and sleeps in one step, as the kernel does under its lock. A wake picks
 * among the sleepers in every possible way, since core may not rely on an order. A timed wait may
 * time out at any moment; the clock then jumps to its deadline.
 *
 * Clock: stands still but for those jumps and xp_advance(). Reading it is a scheduling point.
 *
 * Threads: a started thread can run from then on. An abandoned one need not end.
 *
 * Faults: within the scenario's budget, each question whether a call shall fail is answered both
 * ways, while the threads run.
 *
 * Assertions of core end the execution like those of the scenario.
 */
#include "xp_engine.h"

#include "assert.h"
#include "clock.h"
#include "error.h"
#include "fault.h"
#include "futex.h"
#include "thread.h"

void weir__panic(const char *file, int line, const char *what, const char *name,
                 const char *message)
{
    xp_fail("%s:%d: %s '%s': %s", file, line, what, name ? name : "", message);
}

/* --- futex ---------------------------------------------------------------------------------- */

int weir__futex_wait(const uint32_t *word, uint32_t expected, uint64_t at_ns)
{
    struct xp_thread *me = xp__me();
    if (me->held_count > 0)
        xp_fail("a wait begins while the lock '%s' is held", me->held[0]->_class->name);
    xp__point();
    xp__drain(xp.current);
    xp__before_access(xp.current, word, sizeof(*word));
    uint32_t value = *(const volatile uint32_t *)word;
    if (value != expected) {
        XP__TRACE("wait  %s: %#x is not %#x", xp__where(word), value, expected);
        return 0;
    }
    XP__TRACE("wait  %s: sleeps on %#x", xp__where(word), value);
    me->waits_for = word;
    me->at_ns = at_ns;
    me->since = xp.arrivals++;
    me->state = XP_FUTEX;
    xp__schedule();
    XP__TRACE("wait  %s: returns %d", xp__where(word), me->wait_result);
    return me->wait_result;
}

static void wake(unsigned index)
{
    struct xp_thread *thread = &xp.thread[index];
    xp__progress();
    thread->state = XP_READY;
    thread->wait_result = 0;
    /* Coming back from the wait is no visible step. */
    thread->is_fresh = true;
    XP__TRACE("wakes %s", xp__who(index));
}

void weir__futex_wake(const uint32_t *word, unsigned count)
{
    xp__point();
    xp__drain(xp.current);
    XP__TRACE("wake  %s: up to %u", xp__where(word), count);
    for (unsigned woken = 0; woken < count; woken++) {
        unsigned sleeping = 0;
        uint8_t sleeper[XP_FIBRES_MAX];
        for (unsigned i = 0; i < xp.threads; i++) {
            if (xp.thread[i].state != XP_FUTEX || xp.thread[i].waits_for != word)
                continue;
            unsigned at = sleeping++;
            for (; at > 0 && xp.thread[sleeper[at - 1]].since > xp.thread[i].since; at--)
                sleeper[at] = sleeper[at - 1];
            sleeper[at] = (uint8_t)i;
        }
        if (sleeping == 0)
            return;
        wake(sleeper[sleeping > count - woken ? xp__choose(sleeping) : 0]);
    }
}

/* --- clock ---------------------------------------------------------------------------------- */

uint64_t weir_now_ns(void)
{
    xp__point();
    XP__TRACE("now is %llu ns", (unsigned long long)xp.now_ns);
    return xp.now_ns;
}

uint64_t weir__clock_real_ns(void)
{
    return weir_now_ns();
}

void xp_advance(uint64_t delta_ns)
{
    xp__point();
    xp__progress();
    xp.now_ns += delta_ns;
    XP__TRACE("moves the clock to %llu ns", (unsigned long long)xp.now_ns);
}

void weir__clock_fake(uint64_t now_ns)
{
    xp_advance(now_ns > xp.now_ns ? now_ns - xp.now_ns : 0);
}

void weir__clock_advance(uint64_t delta_ns)
{
    xp_advance(delta_ns);
}

void weir__clock_unfake(void)
{
}

bool weir__clock_is_fake(void)
{
    return true;
}

/* --- threads -------------------------------------------------------------------------------- */

int weir__thread_start(struct weir__thread *ret_thread, const char *name, void (*fn)(void *arg),
                       void *arg)
{
    if (weir_fault_hit(WEIR_FAULT_THREAD))
        return weir__fail(WEIR_E_BUSY, name, "thread '$n': the system has no thread left", 0, 0, 0);
    xp__point();
    xp__drain(xp.current);
    int index = xp__thread_add(fn, arg);
    if (index < 0)
        xp_fail("the scenario starts more than %d threads", XP_THREADS_MAX);
    XP__TRACE("starts %s '%s'", xp__who((unsigned)index), name);
    ret_thread->handle = (uint64_t)index + 1;
    return 0;
}

void weir__thread_self(struct weir__thread *ret_thread)
{
    ret_thread->handle = (uint64_t)xp.current + 1;
}

/* That a thread has ended stays true, so neither the question nor the answer needs a point; only
 * that its last stores arrive may be seen by a third one. */
void weir__thread_join(struct weir__thread *thread)
{
    struct xp_thread *me = xp__me();
    unsigned index = (unsigned)thread->handle - 1;
    XP__TRACE("joins %s", xp__who(index));
    if (xp.thread[index].state != XP_ENDED) {
        me->joins = index;
        me->state = XP_JOIN;
        xp__schedule();
        me->state = XP_READY;
        me->is_fresh = true;
    }
    if (xp.thread[index].buffered_count > 0)
        xp__point();
    xp__drain(index);
}

void weir__thread_abandon(struct weir__thread *thread)
{
    xp__point();
    xp.thread[thread->handle - 1].is_abandoned = true;
    XP__TRACE("abandons %s", xp__who((unsigned)thread->handle - 1));
}

/* The only system call that a thread of a scenario can be in is a futex wait. */
void weir__thread_interrupt(struct weir__thread *thread)
{
    xp__point();
    XP__TRACE("interrupts %s", xp__who((unsigned)thread->handle - 1));
    if (xp.thread[thread->handle - 1].state == XP_FUTEX)
        wake((unsigned)thread->handle - 1);
}

/* --- faults --------------------------------------------------------------------------------- */

bool weir_fault_hit(enum weir_fault kind)
{
    if (!xp.is_concurrent || xp.faults_left == 0 || xp__choose(2) == 0)
        return false;
    xp.faults_left--;
    XP__TRACE("fault of kind %d", (int)kind);
    return true;
}

void weir_fault_arm(enum weir_fault kind, uint64_t n)
{
    (void)kind;
    (void)n;
    xp_fail("a scenario asks for faults with .faults, not by arming them");
}

bool weir_fault_was_hit(enum weir_fault kind)
{
    (void)kind;
    return xp.faults_left < xp.scenario->faults;
}

/* --- what scenarios call -------------------------------------------------------------------- */

int xp_thread_index(void)
{
    return xp.current == XP_MAIN ? -1 : (int)xp.current;
}

/* Stands for a change of plain state, too. */
void xp_point(void)
{
    xp__point();
    xp__progress();
    XP__TRACE("point");
}

void xp_yield(void)
{
    struct xp_thread *me = xp__me();
    XP__TRACE("yields");
    xp.yields++;
    me->state = XP_YIELD;
    xp__schedule();
    for (unsigned i = 0; i < xp.threads; i++)
        xp__drain(i);
}

void xp_await(bool (*ready)(void *arg), void *arg)
{
    struct xp_thread *me = xp__me();
    me->ready = ready;
    me->ready_arg = arg;
    me->state = XP_AWAIT;
    xp__schedule();
    me->state = XP_READY;
    XP__TRACE("has what it awaited");
}

bool xp_is_tso(void)
{
    return xp.is_tso;
}
