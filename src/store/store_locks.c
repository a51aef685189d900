/* store_locks.c - names and ranks of the store's locks, outermost first. */
#include "store_locks.h"

#include "mapped.h"

#include "banned.h"

const struct weir_lock_class weir__store_tails_class = {"store-tails", 710};
const struct weir_lock_class weir__store_segments_class = {"store-segments", 720};
const struct weir_lock_class weir__store_hot_class = {"store-hot", 730};
const struct weir_lock_class weir__store_readers_class = {"store-index-readers", 740};
const struct weir_lock_class weir__store_memory_class = {"store-index-memory", 741};

int weir__store_register_locks(void)
{
    static const struct weir_lock_class *const order[] = {
        &weir__store_tails_class,   &weir__store_segments_class, &weir__store_hot_class,
        &weir__store_readers_class, &weir__store_memory_class,   &weir__mapped_class,
    };
    return weir_lock_register(order, sizeof(order) / sizeof(order[0]));
}
