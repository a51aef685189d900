/* turn.c - lines of waiters, and what happens after the lock.
 *
 * Wakes go first, by address (futex.h), since callbacks may take their time. A callback may release
 * what it was just given; that release serves the next, whose callback may release in turn. Run
 * from within, each would add a stack frame. So a thread delivers its callbacks from its outermost
 * delivery only: what is to be called from within one is appended to that one's list.
 */
#include "turn.h"

#include <string.h>

#include "assert.h"
#include "lock.h"
#include "mutants.h"
#include <weir/error.h>

void weir__turns_init(struct weir__turns *turns, uint32_t waiting_max)
{
    memset(turns, 0, sizeof(*turns));
    turns->_waiting_max = waiting_max;
    int error = weir_histogram_init(&turns->_wait_ns, weir_histogram_time_bounds_ns,
                                    WEIR_HISTOGRAM_TIME_COUNT);
    WEIR__ASSERT(!error, "line", "", "its histogram has bad bounds");
}

void weir__turns_append(struct weir__turns *turns, struct weir__turn *turn)
{
    turn->_prev = turns->_tail;
    turn->_next = NULL;
    if (turns->_tail)
        turns->_tail->_next = turn;
    else
        turns->_head = turn;
    turns->_tail = turn;
    turn->_where = WEIR__TURN_IN_LINE;
    turn->_since_ns = weir_now_ns();
    turns->_waiting++;
    turns->_enqueued++;
}

static void unlink_turn(struct weir__turns *turns, struct weir__turn *turn, uint32_t where)
{
    if (turn->_prev)
        turn->_prev->_next = turn->_next;
    else
        turns->_head = turn->_next;
    if (turn->_next)
        turn->_next->_prev = turn->_prev;
    else
        turns->_tail = turn->_prev;
    turn->_prev = turn->_next = NULL;
    turn->_where = where;
    turns->_waiting--;
}

static struct weir__park *place_of(struct weir__turn *turn)
{
    _Static_assert(sizeof(struct weir__park) == sizeof(uint32_t), "a place is its word");
    return (struct weir__park *)&turn->_word;
}

void weir__turns_settle(struct weir__turns *turns, struct weir__turn *turn, int result,
                        struct weir__after *after)
{
    unlink_turn(turns, turn, WEIR__TURN_SETTLED);
    turn->_result = result;
    if (result == 0) {
        turns->_granted++;
        weir_histogram_observe(&turns->_wait_ns, weir_now_ns() - turn->_since_ns);
    } else {
        turns->_refused++;
    }
    if (turn->_call) {
        *after->called_end = turn;
        after->called_end = &turn->_next;
    } else {
        weir__park_signal(place_of(turn), &after->wakes);
    }
}

bool weir__turns_leave(struct weir__turns *turns, struct weir__turn *turn, int error)
{
    if (turn->_where != WEIR__TURN_IN_LINE)
        return false;
    if (!WEIR__MUTANT(TURN_LEAVER_STAYS_IN_LINE))
        unlink_turn(turns, turn, WEIR__TURN_NOWHERE);
    if (error == -WEIR_E_TIMEOUT)
        turns->_timed_out++;
    else
        turns->_canceled++;
    return true;
}

int weir__turn_wait(struct weir__turn *turn, const struct weir_deadline *deadline)
{
    return weir__park_wait(place_of(turn), deadline);
}

void weir__after_init(struct weir__after *after)
{
    after->wakes.count = 0;
    after->called = NULL;
    after->called_end = &after->called;
}

/* The outermost delivery of this thread. Under the explorer all threads share the variable, so the
 * delivery says whose it is. Whoever ends one clears it, so it never points at a frame that is
 * gone.
 */
static _Thread_local struct weir__after *delivery;

static bool is_within_delivery(void)
{
    struct weir__thread self;
    weir__thread_self(&self);
    return delivery && delivery->thread.handle == self.handle;
}

void weir__after_run(struct weir__after *after)
{
    weir__wakes_send(&after->wakes);
    if (!after->called)
        return;
    if (is_within_delivery()) {
        *delivery->called_end = after->called;
        delivery->called_end = after->called_end;
        weir__after_init(after);
        return;
    }
    weir_lock_assert_none("held while callbacks are called");
    weir__thread_self(&after->thread);
    delivery = after;
    struct weir__turn *turn;
    while ((turn = after->called)) {
        after->called = turn->_next;
        if (!after->called)
            after->called_end = &after->called;
        turn->_next = NULL;
        turn->_call(turn); /* may free the turn, may add to the list */
    }
    delivery = NULL;
}
