/* walk.c - all that counts in a store, by what the index knows and by what it does not know yet.
 *
 * The tails are copied before the index is walked, so that nothing is missed that goes from them to
 * the index meanwhile; what counts is looked up when its turn comes, so that nothing is told twice.
 */
#include <stdlib.h>

#include <weir/error.h>

#include "alloc.h"
#include "store_part.h"

#include "banned.h"

struct walk {
    struct weir__store *store;
    struct weir__entry *tails; /* by address, each once */
    size_t count, next;
    const struct weir__address *from;
    int (*fn)(void *arg, const struct weir__entry *entry);
    void *arg;
    int told; /* what ended it, unless that was the index */
};

static int by_address(const void *a, const void *b)
{
    const struct weir__entry *left = a, *right = b;
    return weir__address_compare(&left->address, &right->address);
}

/* With the lock held. */
static size_t count_tails(struct weir__store *store)
{
    size_t count = store->active ? weir__tail_meanings(store->active) : 0;
    for (size_t i = 0; i < store->waiting_count; i++)
        count += weir__tail_meanings(store->waiting[i]);
    return count;
}

/* All tails into the walk, if there is room for them; else false and how much is needed. */
static bool take_tails(struct walk *walk, size_t room, size_t *ret_needed)
{
    struct weir__store *store = walk->store;
    weir_lock_acquire(&store->lock);
    *ret_needed = count_tails(store);
    bool fits = *ret_needed <= room;
    for (size_t i = 0; fits && i <= store->waiting_count; i++) {
        const struct weir__tail *tail =
            i < store->waiting_count ? store->waiting[i] : store->active;
        if (!tail)
            continue;
        weir__tail_copy(tail, walk->tails + walk->count);
        walk->count += weir__tail_meanings(tail);
    }
    weir_lock_release(&store->lock);
    return fits;
}

static int copy_tails(struct walk *walk)
{
    size_t room = 0, needed, kept = 0;
    while (!take_tails(walk, room, &needed)) {
        /* Some more than there are now, since others write meanwhile. */
        room = needed + needed / 8 + 1024;
        weir__base_free(walk->tails);
        walk->tails = weir__base_alloc(room, sizeof(*walk->tails));
        if (!walk->tails)
            return -WEIR_E_NO_MEMORY;
    }
    if (walk->count > 0)
        qsort(walk->tails, walk->count, sizeof(*walk->tails), by_address);
    for (size_t i = 0; i < walk->count; i++)
        if (kept == 0 || by_address(&walk->tails[kept - 1], &walk->tails[i]) != 0)
            walk->tails[kept++] = walk->tails[i];
    walk->count = kept;
    return 0;
}

static int tell(struct walk *walk, const struct weir__address *address)
{
    struct weir__entry entry;
    int error = weir__store_lookup(walk->store, address, &entry, NULL);
    if (error == -WEIR_E_NOT_FOUND)
        return 0;
    return walk->told = error ? error : walk->fn(walk->arg, &entry);
}

/* Those of the tails that come before the address; NULL: all that are left. */
static int tell_tails(struct walk *walk, const struct weir__address *before)
{
    int result = 0;
    for (; !result && walk->next < walk->count; walk->next++) {
        const struct weir__address *address = &walk->tails[walk->next].address;
        if (before && weir__address_compare(address, before) >= 0)
            break;
        if (!walk->from || weir__address_compare(address, walk->from) >= 0)
            result = tell(walk, address);
    }
    return result;
}

static int tell_indexed(void *arg, const struct weir__entry *entry)
{
    struct walk *walk = arg;
    int result = tell_tails(walk, &entry->address);
    bool is_in_tail = walk->next < walk->count &&
                      weir__address_is_equal(&walk->tails[walk->next].address, &entry->address);
    return result || is_in_tail ? result : tell(walk, &entry->address);
}

int weir__store_walk_all(struct weir__store *store, const struct weir__address *from,
                         int (*fn)(void *arg, const struct weir__entry *entry), void *arg)
{
    struct walk walk = {.store = store, .from = from, .fn = fn, .arg = arg};
    int result = copy_tails(&walk);
    struct weir__index *index = weir__store_index_use(store);
    if (!result)
        result = weir__index_walk(index, from, tell_indexed, &walk);
    weir__store_index_leave(store, index);
    if (result && result != walk.told && result != -WEIR_E_BUSY && result != -WEIR_E_CORRUPT)
        result = weir__disk_fault(result);
    if (!result)
        result = tell_tails(&walk, NULL);
    weir__base_free(walk.tails);
    return result;
}

struct chunks {
    int (*fn)(void *arg, const struct weir__address *address, uint32_t length, uint32_t time_s);
    void *arg;
};

static int tell_chunk(void *arg, const struct weir__entry *entry)
{
    const struct chunks *chunks = arg;
    if (entry->type != WEIR__RECORD_CHUNK)
        return 0;
    return chunks->fn(chunks->arg, &entry->address, weir__entry_length(entry), entry->time_s);
}

int weir__store_walk(struct weir__store *store, const struct weir__address *from,
                     int (*fn)(void *arg, const struct weir__address *address, uint32_t length,
                               uint32_t time_s),
                     void *arg)
{
    struct chunks chunks = {fn, arg};
    return weir__store_walk_all(store, from, tell_chunk, &chunks);
}
