/* xp_lock.c - the lock as one blocking operation, for all scenarios but those of the lock itself.
 *
 * Acquire is one scheduling point at which the thread can run only while the lock is free. So a
 * contended lock costs no retries, no futex and no preemptions, and the search is far smaller than
 * with the real code, which explore-lock proves on its own to be a lock.
 *
 * Release has no point of its own. It is what Lipton calls a left mover: whatever another thread
 * does just before it could as well be done just after it, with the same result, because nothing
 * that others can do while the lock is held depends on the lock, except wanting it. Two exceptions:
 * - With TSO a release empties the store buffer, which others do see; then it is a point.
 * - The end of the lock's life: another thread may destroy it between the last thing that the
 *   holder has shown and its release. So when any thread of a scenario but setup and check is seen
 *   to call weir_lock_fini(), the search starts again with a point before each release.
 *
 * Ranks, recursion, a wait under a lock, and use after weir_lock_fini() are checked in each step.
 *
 * State word: 0 free, else 1 + the index of the holder.
 */
#include "lock.h"

#include "xp_engine.h"

void weir_lock_fini(struct weir_lock *lock)
{
    if (!lock || !lock->_class)
        return;
    if (xp.is_concurrent)
        xp.wants_release_points = true;
    xp__point();
    xp__drain(xp.current);
    XP__TRACE("lock  '%s' ends (%s)", lock->_class->name, xp__where(lock));
    if (lock->_word)
        xp_fail("lock '%s': destroyed while held by %s", lock->_class->name,
                xp__who(lock->_word - 1));
    lock->_class = NULL;
}

static void check_order(const struct xp_thread *me, const struct weir_lock *lock)
{
    if (!lock->_class)
        xp_fail("the lock at %s is used before weir_lock_init() or after weir_lock_fini()",
                xp__where(lock));
    if (me->held_count == XP_HELD_MAX)
        xp_fail("lock '%s': more than %d locks held at once", lock->_class->name, XP_HELD_MAX);
    for (unsigned i = 0; i < me->held_count; i++)
        if (me->held[i]->_class->rank >= lock->_class->rank)
            xp_fail("lock '%s' of rank %u is taken while '%s' of rank %u is held",
                    lock->_class->name, lock->_class->rank, me->held[i]->_class->name,
                    me->held[i]->_class->rank);
}

void weir_lock_acquire(struct weir_lock *lock)
{
    struct xp_thread *me = xp__me();
    check_order(me, lock);
    if (xp.is_concurrent) {
        me->waits_for = lock;
        me->state = XP_LOCK;
        if (me->is_fresh && lock->_word == 0)
            me->is_fresh = false;
        else
            xp__schedule();
        me->state = XP_READY;
        /* It may have been destroyed while this thread stood before it. */
        check_order(me, lock);
    } else if (lock->_word) {
        xp_fail("lock '%s': still held by %s after all threads have ended", lock->_class->name,
                xp__who(lock->_word - 1));
    }
    xp__drain(xp.current);
    xp__progress();
    lock->_word = 1 + xp.current;
    me->held[me->held_count++] = lock;
    XP__TRACE("lock  '%s' (%s)", lock->_class->name, xp__where(lock));
}

void weir_lock_release(struct weir_lock *lock)
{
    struct xp_thread *me = xp__me();
    if (lock->_word != 1 + xp.current)
        xp_fail("lock '%s': released by %s, which does not hold it",
                lock->_class ? lock->_class->name : "", xp__who(xp.current));
    if (xp.has_release_points || me->buffered_count > 0)
        xp__point();
    xp__drain(xp.current);
    if (lock->_word != 1 + xp.current)
        xp_fail("the lock at %s was written to while held", xp__where(lock));
    xp__progress();
    lock->_word = 0;
    for (unsigned i = me->held_count; i-- > 0;)
        if (me->held[i] == lock)
            me->held[i] = me->held[me->held_count - 1];
    me->held_count--;
    XP__TRACE("unlock '%s' (%s)", lock->_class->name, xp__where(lock));
}
