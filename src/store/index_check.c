/* index_check.c - whether the index has what was put into it, while the store runs and at its end.
 *
 * A bit that turned in it can hide a chunk, or a deletion. Nobody who looks up can tell that, so
 * the scrubber walks over the index all the time, and whoever closes the store does once more
 * before the next one may use it as it is.
 */
#include <weir/error.h>

#include "store_part.h"

#include "banned.h"

static bool is_asked_nothing(struct weir__store *store)
{
    weir_lock_acquire(&store->lock);
    bool is = store->index_is_stale;
    weir_lock_release(&store->lock);
    return is;
}

int weir__store_check_index(struct weir__store *store, uint32_t *at)
{
    /* It is told once. One that is only read is not made anew: it stays wrong. */
    if (is_asked_nothing(store))
        return -WEIR_E_BUSY;
    struct weir__index *index = weir__store_index_use(store);
    int error = weir__index_check(index, at);
    weir__store_index_leave(store, index);
    if (!error && *at == 0)
        weir_counter_add(&store->counts.index_checks, 1);
    if (error != -WEIR_E_CORRUPT && error != -WEIR_E_IO)
        return error;
    *at = 0;
    weir_counter_add(&store->counts.index_wrong, 1);
    weir__store_tell(store, NULL, "the index is not what was put into it, and is made anew");
    weir__store_doubt_index(store);
    return error;
}

int weir__store_check_index_all(struct weir__store *store, const struct weir_deadline *deadline)
{
    uint32_t at = 0;
    int error;
    do {
        error = weir_deadline_check(deadline);
        if (!error)
            error = weir__store_check_index(store, &at);
    } while (!error && at > 0);
    return error;
}
