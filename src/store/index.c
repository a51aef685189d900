/* index.c - calls of an index go to its kind; what a record does is the same for both. */
#include "index.h"

#include "index_part.h"

#include "banned.h"

enum weir__index_effect weir__index_effect(const struct weir__entry *record,
                                           const struct weir__entry *known)
{
    if (record->type == WEIR__RECORD_TOUCHED) {
        bool renews = known && known->type == WEIR__RECORD_CHUNK &&
                      record->sequence > known->sequence && record->time_s > known->time_s;
        return renews ? WEIR__INDEX_RENEWS : WEIR__INDEX_NOTHING;
    }
    if (!known)
        return WEIR__INDEX_COUNTS;
    if (record->place.segment == known->place.segment &&
        record->place.offset == known->place.offset)
        return WEIR__INDEX_NOTHING;
    return weir__entry_is_newer(record, known) ? WEIR__INDEX_COUNTS : WEIR__INDEX_DEAD;
}

void weir__index_free(struct weir__index *index)
{
    if (index)
        index->kind->end(index);
}

int weir__index_get(struct weir__index *index, const struct weir__address *address,
                    struct weir__entry *ret_entry)
{
    return index->kind->get(index, address, ret_entry);
}

int weir__index_apply(struct weir__index *index, const struct weir__segment_facts *facts,
                      const struct weir__entry *records, size_t count,
                      void (*changed)(void *arg, const struct weir__segment_facts *), void *arg)
{
    return index->kind->apply(index, facts, records, count, changed, arg);
}

int weir__index_drop(struct weir__index *index, uint32_t segment, const struct weir__entry *records,
                     size_t count)
{
    return index->kind->drop(index, segment, records, count);
}

int weir__index_has_older(struct weir__index *index, const struct weir__address *address,
                          uint32_t segment, bool *ret_has)
{
    return index->kind->has_older(index, address, segment, ret_has);
}

int weir__index_dead(struct weir__index *index, const struct weir__address *address,
                     struct weir__place *places, size_t room, size_t *ret_count)
{
    return index->kind->dead(index, address, places, room, ret_count);
}

int weir__index_segments(struct weir__index *index,
                         int (*fn)(void *arg, const struct weir__segment_facts *), void *arg)
{
    return index->kind->segments(index, fn, arg);
}

int weir__index_walk(struct weir__index *index, const struct weir__address *from,
                     int (*fn)(void *arg, const struct weir__entry *entry), void *arg)
{
    return index->kind->walk(index, from, fn, arg);
}

int weir__index_sync(struct weir__index *index)
{
    return index->kind->sync(index);
}

int weir__index_read(struct weir__index *index, struct weir__index_stats *ret_stats)
{
    return index->kind->read(index, ret_stats);
}
