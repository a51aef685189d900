/* store_locks.h - the order of the store's locks, in one place.
 *
 * No two of them are held together, but for what core takes below them.
 *
 * Ownership: the classes are static.
 */
#ifndef WEIR_STORE_STORE_LOCKS_H
#define WEIR_STORE_STORE_LOCKS_H

#include <weir/lock.h>

extern const struct weir_lock_class weir__store_tails_class;
extern const struct weir_lock_class weir__store_segments_class;
extern const struct weir_lock_class weir__store_hot_class;
extern const struct weir_lock_class weir__store_readers_class; /* of the index by LMDB */
extern const struct weir_lock_class weir__store_memory_class;  /* of the one in memory */

/* Enters them, and the one of base that mapped files need, into the order that is in force. */
WEIR_MUST_USE int weir__store_register_locks(void);

#endif
