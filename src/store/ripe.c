/* ripe.c - what the newest segment has left dead in others, and when it is sealed for that.
 *
 * The index learns of a segment when that is sealed, and compaction goes by the index. So deletions
 * would give nothing back before 64 MiB more were written. What a record ends is known when it is
 * written: the bytes of the chunk are *doomed*, in the segment that it lies in, until the index has
 * the record. The newest segment is ripe when a sealed one, not due by what the index knows, would
 * be due with its doomed bytes; or when it would be due itself, and these are a part of a segment
 * that is worth a file.
 *
 * On a full disk it is ripe as soon as any sealed one that is due has doomed bytes, too: what
 * counts of that one, by the index, has to fit into the room that is left, and what a compaction
 * has moved that came to nothing would count there until somebody writes again, which nobody can.
 *
 * That makes no heap of small files, however few deletions each has: doomed is never more than what
 * the index will call dead, so each that is sealed early has another one compacted, or itself. What
 * is not counted before that are the touches of such chunks, and deletions: one that was spent is
 * called dead already.
 *
 * A deletion that compaction moved into it dooms nothing: the index knew already what it hides. But
 * one that was made anew since does not, so the newest segment is ripe when another index has taken
 * the place of the one that it was begun with.
 *
 * While a tail waits for the index, or that is made anew, nothing is ripe: it is about to be known.
 */
#include "store_part.h"

#include "banned.h"

/* Of a segment, that are dead in the newest one before it is sealed for its own sake. */
#define OWN_PART 16u

void weir__store_doom(struct weir__store *store, const struct weir__tail *tail, size_t from)
{
    for (size_t i = from; i < tail->killed_count; i++)
        weir__segments_doom(&store->segments, tail->killed[i].segment, tail->killed[i].span);
}

void weir__store_undoom(struct weir__store *store, const struct weir__tail *tail)
{
    for (size_t i = 0; i < tail->killed_count; i++)
        weir__segments_doom(&store->segments, tail->killed[i].segment,
                            -(int64_t)tail->killed[i].span);
}

/* In memory there are only so many segments: the last ones are not given away for half a one. */
static bool has_segments(struct weir__store *store)
{
    struct weir__segments_stats stats;
    weir__segments_read(&store->segments, &stats);
    return store->segments_folder >= 0 ||
           (stats.count + 2) * store->options.segment_bytes <= store->options.memory_max;
}

static bool is_ripe_itself(struct weir__store *store, const struct weir__segment_growth *growth,
                           uint32_t percent)
{
    return growth->doomed >= store->options.segment_bytes / OWN_PART &&
           growth->doomed * 100 >= growth->bytes * percent;
}

static bool waits_for_it(struct weir__store *store, const struct weir__segment_facts *facts,
                         const struct weir__segment_growth *growth, uint32_t percent, bool is_full)
{
    struct weir__segment_facts after = *facts;
    after.dead += growth->doomed;
    return growth->doomed > 0 && (is_full || !weir__store_is_due(store, facts, percent)) &&
           weir__store_is_due(store, &after, percent) &&
           !weir__segments_is_left(&store->segments, facts->id);
}

bool weir__store_is_ripe(struct weir__store *store, uint32_t percent)
{
    struct weir__segment_facts facts;
    weir_lock_acquire(&store->lock);
    uint32_t newest = store->active ? store->active->segment : 0;
    bool may = newest > 0 && store->waiting_count == 0 && !store->index_is_stale;
    bool is_full = store->is_full;
    bool is_ripe =
        may && store->active->count > 0 && store->active->index_number != store->index_number;
    weir_lock_release(&store->lock);
    may = may && !store->is_read_only && has_segments(store);
    for (uint32_t id = 0; may && !is_ripe && weir__segments_next(&store->segments, id, &facts);
         id = facts.id) {
        struct weir__segment_growth growth = weir__segments_growth(&store->segments, facts.id);
        is_ripe = facts.id == newest ? is_ripe_itself(store, &growth, percent)
                                     : waits_for_it(store, &facts, &growth, percent, is_full);
    }
    return is_ripe;
}
