/* turn.h - lines of blocked threads and callbacks, served in order.
 *
 * The owner of a line guards it with its own lock and decides who is served; here is the rest:
 * joining, leaving, being settled, and what has to happen once the lock is released. The protocol
 * of a blocked thread is that of park.h. A waiter with a callback is settled under the lock and
 * called after it, once; after that it is not touched again.
 *
 * Ownership: a turn belongs to the line from append until it has been settled and woken or called,
 * or has been removed.
 */
#ifndef WEIR_CORE_TURN_H
#define WEIR_CORE_TURN_H

#include <weir/deadline.h>
#include <weir/turn.h>

#include "park.h"
#include "thread.h"

/* Where a turn is. */
enum { WEIR__TURN_NOWHERE = 0, WEIR__TURN_IN_LINE = 1, WEIR__TURN_SETTLED = 2 };

/* What is to be done once the lock is released. */
struct weir__after {
    struct weir__wakes wakes;
    struct weir__turn *called; /* linked by _next */
    struct weir__turn **called_end;
    struct weir__thread thread; /* that calls them */
};

void weir__turns_init(struct weir__turns *turns, uint32_t waiting_max);

/* Under the owner's lock. */
void weir__turns_append(struct weir__turns *turns, struct weir__turn *turn);

/* Takes the turn out of the line with its result: 0 is a grant. For a blocked thread there must be
 * room in after->wakes. Under the owner's lock. */
void weir__turns_settle(struct weir__turns *turns, struct weir__turn *turn, int result,
                        struct weir__after *after);

/* The waiter gave up: takes it out of the line and counts why. False when it was settled before;
 * its result stands then. Under the owner's lock. */
bool weir__turns_leave(struct weir__turns *turns, struct weir__turn *turn, int error);

/* Parks the thread until its turn is settled (0) or the deadline ends the wait. */
int weir__turn_wait(struct weir__turn *turn, const struct weir_deadline *deadline);

void weir__after_init(struct weir__after *after);

/* With no lock held: wakes the blocked, then calls. Leaves after empty. */
void weir__after_run(struct weir__after *after);

#endif
