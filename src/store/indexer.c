/* indexer.c - the thread that brings the index up to date with segments that are full.
 *
 * A tail that the index cannot take (its disk is full) stays where lookups find it, and is tried
 * again; meanwhile the line for the index fills and writes are refused with NoSpace.
 *
 * An index that fails, or tells nonsense, is doubted by whoever sees it. From then on it is asked
 * nothing: what is not in the tails is Transient. This thread, which is told by a nudge in its
 * line, makes another from the segments and puts it in its place; those who use the old one end it.
 * What fails there is tried again, after 1 second and then twice as long each time, up to a minute.
 */
#include <weir/error.h>

#include "require.h"
#include "store_mutants.h"
#include "store_part.h"

#include "banned.h"

#define AGAIN_NS     (1 * WEIR_NS_PER_S)
#define AGAIN_MAX_NS (60 * WEIR_NS_PER_S)

void weir__store_facts_changed(void *arg, const struct weir__segment_facts *facts)
{
    struct weir__store *store = arg;
    weir__segments_update(&store->segments, facts);
}

int weir__store_apply(struct weir__store *store, uint32_t segment, uint32_t size, bool is_sealed,
                      const struct weir__entry *records, size_t count)
{
    struct weir__segment_facts facts = {.id = segment, .size = size, .is_sealed = is_sealed};
    return weir__index_apply(store->index, &facts, records, count, weir__store_facts_changed,
                             store);
}

void weir__store_note_index(struct weir__store *store)
{
    struct weir__index_stats stats;
    struct weir__index *index = weir__store_index_use(store);
    int error = weir__index_read(index, &stats);
    weir__store_index_leave(store, index);
    if (error)
        return;
    weir_lock_acquire(&store->lock);
    store->index_stats = stats;
    weir_lock_release(&store->lock);
}

/* --- who uses it --- */

struct weir__index *weir__store_index_use(struct weir__store *store)
{
    weir_lock_acquire(&store->lock);
    struct weir__index *index = store->index;
    store->index_users++;
    weir_lock_release(&store->lock);
    return index;
}

/* With the lock held: the index of the slot, if it is to be freed, which is free then. One that a
 * thread holds for good stays until the store is closed. */
static struct weir__index *take_unused(struct weir__retired *slot)
{
    struct weir__index *index = slot->index;
    if (slot->users > 0 || weir__index_is_held(index))
        return NULL;
    slot->index = NULL;
    return index;
}

void weir__store_index_leave(struct weir__store *store, struct weir__index *index)
{
    struct weir__index *unused = NULL;
    weir_lock_acquire(&store->lock);
    bool is_known = index == store->index;
    if (is_known) {
        store->index_users--;
    } else {
        for (size_t i = 0; i < WEIR__STORE_RETIRED; i++)
            if (store->retired[i].index == index) {
                store->retired[i].users--;
                unused = take_unused(&store->retired[i]);
                is_known = true;
                break;
            }
    }
    weir_lock_release(&store->lock);
    WEIR__REQUIRE(is_known, "store", "index", "it went while it was used");
    weir__index_free(unused);
}

int weir__store_index_replace(struct weir__store *store, struct weir__index *fresh)
{
    struct weir__index *unused = NULL;
    int error = -WEIR_E_BUSY;
    weir_lock_acquire(&store->lock);
    for (size_t i = 0; i < WEIR__STORE_RETIRED && error; i++) {
        struct weir__retired *slot = &store->retired[i];
        if (slot->index)
            continue;
        *slot = (struct weir__retired){store->index, store->index_users};
        if (WEIR__STORE_MUTANT(REPLACED_WHILE_IN_USE))
            slot->users = 0;
        unused = take_unused(slot);
        store->index = fresh;
        store->index_users = 0;
        store->index_number++;
        store->index_is_broken = store->index_is_stale = false;
        store->index_error = 0;
        error = 0;
    }
    weir_lock_release(&store->lock);
    weir__index_free(unused);
    return error;
}

void weir__store_index_discard(struct weir__store *store, struct weir__index *index)
{
    bool is_held = index && weir__index_is_held(index), is_kept = false;
    weir_lock_acquire(&store->lock);
    for (size_t i = 0; is_held && i < WEIR__STORE_RETIRED && !is_kept; i++)
        if (!store->retired[i].index) {
            store->retired[i] = (struct weir__retired){index, 0};
            is_kept = true;
        }
    weir_lock_release(&store->lock);
    /* Without a place where it could wait it is lost. */
    if (!is_held)
        weir__index_free(index);
}

static void want_another(struct weir__store *store, bool is_broken)
{
    struct weir__tail *nothing = NULL;
    weir_lock_acquire(&store->lock);
    bool is_told = store->is_nudged;
    store->index_is_stale = store->is_unclean = store->is_nudged = true;
    store->index_is_broken = store->index_is_broken || is_broken;
    weir_lock_release(&store->lock);
    /* There is room for one such nudge beside all tails. A line that is closed is one of a store
     * that is. */
    if (!is_told)
        (void)!weir_queue_try_send(&store->tails, &nothing);
}

void weir__store_doubt_index(struct weir__store *store)
{
    want_another(store, true);
}

void weir__store_renew_index(struct weir__store *store)
{
    want_another(store, false);
}

/* --- bringing it up to date --- */

static bool is_stale(struct weir__store *store)
{
    weir_lock_acquire(&store->lock);
    bool is = store->index_is_stale;
    weir_lock_release(&store->lock);
    return is;
}

static void note_state(struct weir__store *store, int error)
{
    weir_lock_acquire(&store->lock);
    store->index_error = error;
    weir_lock_release(&store->lock);
    if (error == -WEIR_E_IO || error == -WEIR_E_CORRUPT)
        weir__store_doubt_index(store);
}

/* Lookups go to the index from here on. */
static void take_off(struct weir__store *store, struct weir__tail *tail)
{
    weir_lock_acquire(&store->lock);
    for (size_t i = 0; i < store->waiting_count; i++) {
        if (store->waiting[i] != tail)
            continue;
        store->waiting_count--;
        for (; i < store->waiting_count; i++)
            store->waiting[i] = store->waiting[i + 1];
    }
    weir_lock_release(&store->lock);
}

/* How long to wait before what failed is tried again: longer each time that the index could not be
 * made anew. */
struct patience {
    uint64_t ns;
};

/* An index that broke is made anew. True: it is sound. */
static bool heal(struct weir__store *store, struct weir_crew_self *self, struct patience *patience)
{
    if (!is_stale(store)) {
        patience->ns = AGAIN_NS;
        return true;
    }
    if (weir__store_reindex(store, self) == 0) {
        patience->ns = AGAIN_NS;
        return true;
    }
    patience->ns = patience->ns < AGAIN_MAX_NS / 2 ? 2 * patience->ns : AGAIN_MAX_NS;
    return false;
}

static int take_in(struct weir__store *store, struct weir_crew_self *self, struct weir__tail *tail,
                   struct patience *patience)
{
    for (;;) {
        if (WEIR__STORE_MUTANT(INDEXER_FORGETS_FIRST))
            take_off(store, tail);
        int error = -WEIR_E_IO;
        if (heal(store, self, patience)) {
            error = weir__store_apply(store, tail->segment, tail->end, tail->is_sealed,
                                      tail->records, tail->count);
            note_state(store, error);
        }
        if (!error) {
            weir__store_note_index(store);
            take_off(store, tail);
            weir__store_undoom(store, tail);
            weir__tail_free(tail);
            return 0;
        }
        /* While the store is being closed there is no time to wait for a disk: the segments have
         * it all, and the index is made anew from them. */
        struct weir_deadline again = weir_deadline_in(patience->ns, self->stop);
        if (weir_deadline_sleep(&again) == -WEIR_E_CANCELED) {
            weir_lock_acquire(&store->lock);
            store->is_unclean = true;
            weir_lock_release(&store->lock);
            return error;
        }
    }
}

int weir__store_index_main(struct weir_crew_self *self, void *arg)
{
    struct weir__store *store = arg;
    struct patience patience = {AGAIN_NS};
    struct weir__tail *tail;
    int result = 0, error;
    for (;;) {
        bool is_sound = heal(store, self, &patience);
        struct weir_deadline deadline = is_sound ? weir_deadline_until(self->abort)
                                                 : weir_deadline_in(patience.ns, self->abort);
        error = weir_queue_recv(&store->tails, &tail, &deadline);
        if (error == -WEIR_E_TIMEOUT)
            continue;
        if (error)
            return result;
        if (!tail) {
            weir_lock_acquire(&store->lock);
            store->is_nudged = false;
            weir_lock_release(&store->lock);
            continue;
        }
        error = take_in(store, self, tail, &patience);
        if (!result)
            result = error;
    }
}
