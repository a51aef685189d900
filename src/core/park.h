/* park.h - how a thread waits for another one, and how the others end that wait.
 *
 * A parking place is one word on the waiting thread's stack. Whoever has what it waits for signals
 * it; the cancel token that it waits under cancels it; the clock ends it. All blocking calls of
 * core are built the same way:
 *
 *     take the object's lock, find that there is nothing to be had
 *     append a waiter with a parking place to the object's list, release the lock
 *     error = weir__park_wait(&place, deadline)
 *     take the lock again; if another thread has granted meanwhile, that wins over error;
 *     otherwise unlink the waiter; release the lock
 *
 * The granter signals under the object's lock, so that the state of the place and the membership
 * in the list change together, and wakes after releasing the lock, by address only (see futex.h).
 *
 * Ownership: the place is the waiting thread's; others touch it only while it is reachable through
 * the object's list, under the object's lock.
 */
#ifndef WEIR_CORE_PARK_H
#define WEIR_CORE_PARK_H

#include <weir/deadline.h>

#include "atomic.h"

/* Bits of the word. Both may be set: then it was granted and cancelled at once, and granted wins.
 */
#define WEIR__PARK_SIGNALED 1u
#define WEIR__PARK_CANCELED 2u

struct weir__park {
    uint32_t word;
};

/* Whether a wait with this deadline ends by itself: it has a time or a token. */
bool weir__deadline_has_end(const struct weir_deadline *deadline);

/* 0 when signaled, else -WEIR_E_TIMEOUT, -WEIR_E_CANCELED, or -WEIR_E_INVALID for a deadline with
 * no end. Asserts that the thread holds no lock. */
int weir__park_wait(struct weir__park *place, const struct weir_deadline *deadline);

static inline bool weir__park_is_signaled(const struct weir__park *place)
{
    return weir__load32(&place->word) & WEIR__PARK_SIGNALED;
}

/* Words to wake once the lock is released. When full, the owner of the list releases its lock,
 * wakes, and goes on: so any number of waiters is woken with bounded memory. */
#define WEIR__WAKES_MAX 16
struct weir__wakes {
    unsigned count;
    const uint32_t *word[WEIR__WAKES_MAX];
};

static inline bool weir__wakes_is_full(const struct weir__wakes *wakes)
{
    return wakes->count == WEIR__WAKES_MAX;
}

/* Under the object's lock: sets the bit and remembers the address. Not when full. */
void weir__park_signal(struct weir__park *place, struct weir__wakes *wakes);

/* With no lock held. Leaves wakes empty. */
void weir__wakes_send(struct weir__wakes *wakes);

#endif
