/* lock.h - ranks of core's own locks, and the bookkeeping that the explorer's lock shares.
 *
 * Ownership: as in <weir/lock.h>.
 */
#ifndef WEIR_CORE_LOCK_H
#define WEIR_CORE_LOCK_H

#include <weir/lock.h>

/* Outer to inner. Core holds at most two at once, and calls nobody else's code under any. */
#define WEIR__RANK_SCHED   (WEIR_RANK_CORE + 10)
#define WEIR__RANK_CREW    (WEIR_RANK_CORE + 15)
#define WEIR__RANK_SLOTS   (WEIR_RANK_CORE + 20)
#define WEIR__RANK_POOL    (WEIR_RANK_CORE + 25)
#define WEIR__RANK_HEDGE   (WEIR_RANK_CORE + 35)
#define WEIR__RANK_ADMIT   (WEIR_RANK_CORE + 40)
#define WEIR__RANK_BREAKER (WEIR_RANK_CORE + 45)
#define WEIR__RANK_ADAPT   (WEIR_RANK_CORE + 50)
#define WEIR__RANK_RATE    (WEIR_RANK_CORE + 55)
#define WEIR__RANK_QUEUE   (WEIR_RANK_CORE + 60)
#define WEIR__RANK_BUS     (WEIR_RANK_CORE + 65)
#define WEIR__RANK_WATCH   (WEIR_RANK_CORE + 70)
#define WEIR__RANK_METRICS (WEIR_RANK_CORE + 75)
#define WEIR__RANK_BUDGET  (WEIR_RANK_CORE + 80)
#define WEIR__RANK_CANCEL  (WEIR_RANK_CORE + 90)
#define WEIR__RANK_DEBUG   (WEIR_RANK_CORE + 98)

void weir__lock_note_acquire(const struct weir_lock *lock);
void weir__lock_note_release(const struct weir_lock *lock);

#endif
