/* tail.h - the records of a segment that the index does not know yet.
 *
 * What was written since the index was last brought up to date is kept here, in memory: the records
 * in their order, for the footer and for the index, and by address what they mean. A record that
 * touches a chunk means that chunk with a newer time, wherever it lies.
 *
 * One thread changes it; others may read its records and what addresses mean, under a lock that the
 * one has around weir__tail_add() as well.
 *
 * Ownership: a tail belongs to whoever made it.
 */
#ifndef WEIR_STORE_TAIL_H
#define WEIR_STORE_TAIL_H

#include <weir/budget.h>
#include <weir/lock.h>

#include "map.h"

struct weir__killed {
    uint32_t segment, span;
};

struct weir__tail {
    uint32_t segment;
    uint32_t end; /* of the segment's records that last */
    bool is_sealed;
    uint64_t index_number;   /* of the index that was in use when the segment was begun */
    struct weir_permit turn; /* its place in the line for the index */
    struct weir__entry *records;
    size_t count;
    size_t _room;
    struct weir__killed *killed; /* chunks that count no more by these */
    size_t killed_count;
    struct weir__map _meaning;
};

WEIR_MUST_USE int weir__tail_new(struct weir__tail **ret_tail, uint32_t segment);
void weir__tail_free(struct weir__tail *tail);

/* Room for so many more records. Overflow, NoMemory. lock: the one under which others read, which
 * must not be held; NULL: nobody does. */
WEIR_MUST_USE int weir__tail_reserve(struct weir__tail *tail, size_t more, struct weir_lock *lock);
/* A record, and what its address means from now on: mostly itself. Asserts that there is room. */
void weir__tail_add(struct weir__tail *tail, const struct weir__entry *record,
                    const struct weir__entry *meaning);
/* The record that comes next ends this chunk, wherever it lies. Asserts that there is room. */
void weir__tail_kill(struct weir__tail *tail, const struct weir__entry *chunk);
bool weir__tail_get(const struct weir__tail *tail, const struct weir__address *address,
                    struct weir__entry *ret_entry);
/* What each address means, in no order, into room for weir__tail_meanings(). */
size_t weir__tail_meanings(const struct weir__tail *tail);
void weir__tail_copy(const struct weir__tail *tail, struct weir__entry *entries);

#endif
