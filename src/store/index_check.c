/* index_check.c - whether the index has what was put into it, while the store runs and at its end.
 *
 * A bit that turned in it can hide a chunk, or a deletion. Nobody who looks up can tell that, so
 * the scrubber walks over the index all the time, and whoever closes the store does once more
 * before the next one may use it as it is. Whoever lets go of a deletion for good looks before.
 */
#include <weir/error.h>

#include "store_part.h"

#include "banned.h"

#define SOON_NS (10 * WEIR_NS_PER_MS)

static bool is_asked_nothing(struct weir__store *store)
{
    weir_lock_acquire(&store->lock);
    bool is = store->index_is_stale;
    weir_lock_release(&store->lock);
    return is;
}

static int check_piece(struct weir__store *store, uint32_t *at)
{
    /* It is told once. One that is only read is not made anew: it stays wrong. */
    if (is_asked_nothing(store))
        return -WEIR_E_BUSY;
    struct weir__index *index = weir__store_index_use(store);
    int error = weir__index_check(index, at);
    weir__store_index_leave(store, index);
    if (error != -WEIR_E_CORRUPT && error != -WEIR_E_IO)
        return error;
    *at = 0;
    weir_counter_add(&store->counts.index_wrong, 1);
    weir__store_tell(store, NULL, "the index is not what was put into it, and is made anew");
    weir__store_doubt_index(store);
    return error;
}

int weir__store_check_index(struct weir__store *store, uint32_t *at)
{
    int error = check_piece(store, at);
    if (!error && *at == 0)
        weir_counter_add(&store->counts.index_checks, 1);
    return error;
}

/* The piece that begins with this part, or Transient: it is wrong, or about to be made anew. */
static int check_from(struct weir__store *store, uint32_t *at, const struct weir_deadline *deadline)
{
    int error;
    while ((error = check_piece(store, at)) == -WEIR_E_BUSY && !is_asked_nothing(store)) {
        /* It is changed at this moment. */
        struct weir_deadline soon = weir_deadline_in(SOON_NS, deadline->cancel);
        weir_deadline_sleep(&soon);
        if ((error = weir_deadline_check(deadline)))
            return error;
    }
    bool is_wrong = error == -WEIR_E_CORRUPT || error == -WEIR_E_IO || error == -WEIR_E_BUSY;
    return is_wrong ? -WEIR_E_TRANSIENT : error;
}

int weir__store_check_deletions(struct weir__store *store, const struct weir__entry *records,
                                size_t count, const struct weir_deadline *deadline)
{
    bool has_some[WEIR__INDEX_PARTS] = {false};
    for (size_t i = 0; i < count; i++)
        if (records[i].type == WEIR__RECORD_DELETED || records[i].type == WEIR__RECORD_BAD)
            has_some[weir__index_part(records[i].address.bytes)] = true;
    uint32_t at = 0;
    int error = 0;
    do {
        while (at < WEIR__INDEX_PARTS && !has_some[at])
            at++;
        if (at == WEIR__INDEX_PARTS)
            return 0;
        error = check_from(store, &at, deadline);
    } while (!error && at > 0);
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
