/* indexer.c - the thread that brings the index up to date with segments that are full.
 *
 * A tail that the index cannot take (its disk is full) stays where lookups find it, and is tried
 * again; meanwhile the line for the index fills and writes are refused with NoSpace.
 */
#include <weir/error.h>

#include "store_mutants.h"
#include "store_part.h"

#include "banned.h"

#define AGAIN_NS (1 * WEIR_NS_PER_S)

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
    if (weir__index_read(store->index, &stats))
        return;
    weir_lock_acquire(&store->lock);
    store->index_stats = stats;
    weir_lock_release(&store->lock);
}

static void note_state(struct weir__store *store, bool is_failing)
{
    weir_lock_acquire(&store->lock);
    store->index_is_failing = is_failing;
    weir_lock_release(&store->lock);
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

static int take_in(struct weir__store *store, struct weir_crew_self *self, struct weir__tail *tail)
{
    for (;;) {
        if (WEIR__STORE_MUTANT(INDEXER_FORGETS_FIRST))
            take_off(store, tail);
        int error = weir__store_apply(store, tail->segment, tail->end, tail->is_sealed,
                                      tail->records, tail->count);
        note_state(store, error != 0);
        if (!error) {
            weir__store_note_index(store);
            take_off(store, tail);
            weir__tail_free(tail);
            return 0;
        }
        /* While the store is being closed there is no time to wait for a disk: the segments have
         * it all, and the index is made anew from them. */
        struct weir_deadline again = weir_deadline_in(AGAIN_NS, self->stop);
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
    struct weir_deadline deadline = weir_deadline_until(self->abort);
    struct weir__tail *tail;
    int result = 0;
    while (weir_queue_recv(&store->tails, &tail, &deadline) == 0) {
        int error = take_in(store, self, tail);
        if (!result)
            result = error;
    }
    return result;
}
