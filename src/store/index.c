/* index.c - calls of an index go to its kind; what a record does is the same for both. */
#include "index.h"

#include "index_part.h"

#include "banned.h"

/* Whether the touch has a say in how young the chunk is. One that lies before it has none: who
 * moved the chunk there gave it the time of that touch. */
static bool can_renew(const struct weir__entry *touch, const struct weir__entry *chunk)
{
    bool is_behind = touch->place.segment != chunk->place.segment
                         ? touch->place.segment > chunk->place.segment
                         : touch->place.offset > chunk->place.offset;
    return chunk->type == WEIR__RECORD_CHUNK && touch->sequence > chunk->sequence && is_behind &&
           touch->time_s >= chunk->time_s;
}

struct weir__entry weir__known_touch(const struct weir__known *known)
{
    return (struct weir__entry){.address = known->entry.address,
                                .sequence = known->touch_sequence,
                                .place = known->touch,
                                .size = WEIR__RECORD_HEAD,
                                .time_s = known->entry.time_s,
                                .type = WEIR__RECORD_TOUCHED};
}

static enum weir__index_effect effect_of_touch(const struct weir__entry *record,
                                               const struct weir__known *known)
{
    if (!known || !can_renew(record, &known->entry))
        return WEIR__INDEX_DEAD;
    if (known->touch.segment == 0 || record->time_s > known->entry.time_s)
        return WEIR__INDEX_RENEWS;
    struct weir__entry touch = weir__known_touch(known);
    if (weir__is_at(record, known->touch))
        return WEIR__INDEX_NOTHING;
    return weir__entry_is_newer(record, &touch) ? WEIR__INDEX_RENEWS : WEIR__INDEX_DEAD;
}

enum weir__index_effect weir__index_effect(const struct weir__entry *record,
                                           const struct weir__known *known)
{
    if (record->type == WEIR__RECORD_TOUCHED)
        return effect_of_touch(record, known);
    if (!known)
        return WEIR__INDEX_COUNTS;
    if (weir__is_at(record, known->entry.place))
        return WEIR__INDEX_NOTHING;
    return weir__entry_is_newer(record, &known->entry) ? WEIR__INDEX_COUNTS : WEIR__INDEX_DEAD;
}

bool weir__index_replace(const struct weir__entry *record, const struct weir__known *known,
                         struct weir__known *ret_fresh)
{
    struct weir__known fresh = {.entry = *record};
    bool keeps = false;
    if (known && known->touch.segment != 0) {
        struct weir__entry touch = weir__known_touch(known);
        keeps = can_renew(&touch, record);
    }
    if (keeps) {
        fresh.touch = known->touch;
        fresh.touch_sequence = known->touch_sequence;
    }
    /* A copy is as young as what it is a copy of. */
    bool is_copy = known && known->entry.sequence == record->sequence;
    if ((keeps || is_copy) && known->entry.time_s > fresh.entry.time_s)
        fresh.entry.time_s = known->entry.time_s;
    *ret_fresh = fresh;
    return keeps;
}

void weir__index_free(struct weir__index *index)
{
    if (index)
        index->kind->end(index);
}

bool weir__index_is_held(struct weir__index *index)
{
    return index->kind->is_held && index->kind->is_held(index);
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
                     size_t count, void (*changed)(void *arg, const struct weir__segment_facts *),
                     void *arg)
{
    return index->kind->drop(index, segment, records, count, changed, arg);
}

int weir__index_touch(struct weir__index *index, const struct weir__address *address,
                      struct weir__place *ret_place)
{
    return index->kind->touch(index, address, ret_place);
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

int weir__index_check(struct weir__index *index, uint32_t *at)
{
    if (index->kind->check)
        return index->kind->check(index, at);
    *at = 0;
    return 0;
}

int weir__index_sync(struct weir__index *index)
{
    return index->kind->sync(index);
}

int weir__index_read(struct weir__index *index, struct weir__index_stats *ret_stats)
{
    return index->kind->read(index, ret_stats);
}
