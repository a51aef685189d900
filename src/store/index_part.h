/* index_part.h - what the two kinds of index have in common; nobody else includes this.
 *
 * Ownership: an index begins with its struct weir__index, by which its functions find the rest.
 */
#ifndef WEIR_STORE_INDEX_PART_H
#define WEIR_STORE_INDEX_PART_H

#include "index.h"

typedef void weir__index_changed(void *arg, const struct weir__segment_facts *facts);

/* What is known of an address. */
struct weir__known {
    struct weir__entry entry; /* what counts */
    struct weir__place touch; /* of a chunk, what makes it as young as it is; segment 0: itself */
    uint64_t touch_sequence;
    bool is_spent; /* of a deletion: it is counted as spent */
};

struct weir__index_kind {
    void (*end)(struct weir__index *index);
    bool (*is_held)(struct weir__index *index); /* NULL: never */
    int (*get)(struct weir__index *index, const struct weir__address *address,
               struct weir__entry *ret_entry);
    int (*apply)(struct weir__index *index, const struct weir__segment_facts *facts,
                 const struct weir__entry *records, size_t count, weir__index_changed *changed,
                 void *arg);
    int (*drop)(struct weir__index *index, uint32_t segment, const struct weir__entry *records,
                size_t count, weir__index_changed *changed, void *arg);
    int (*touch)(struct weir__index *index, const struct weir__address *address,
                 struct weir__place *ret_place);
    int (*has_older)(struct weir__index *index, const struct weir__address *address,
                     uint32_t segment, bool *ret_has);
    int (*dead)(struct weir__index *index, const struct weir__address *address,
                struct weir__place *places, size_t room, size_t *ret_count);
    int (*segments)(struct weir__index *index,
                    int (*fn)(void *arg, const struct weir__segment_facts *), void *arg);
    int (*walk)(struct weir__index *index, const struct weir__address *from,
                int (*fn)(void *arg, const struct weir__entry *entry), void *arg);
    /* Entries behind all that are there, in their order, and facts (index_bulk.h). item() tells of
     * each whether it counts, or is dead. NULL: not of this kind. */
    int (*append)(struct weir__index *index,
                  int (*item)(void *arg, size_t at, struct weir__known *ret_known), void *arg,
                  size_t count, const struct weir__segment_facts *facts, size_t facts_count);
    int (*check)(struct weir__index *index, uint32_t *at); /* NULL: there is nothing to look at */
    int (*sync)(struct weir__index *index);
    int (*read)(struct weir__index *index, struct weir__index_stats *ret_stats);
};

struct weir__index {
    const struct weir__index_kind *kind;
};

/* What a record does to what is known of its address. */
enum weir__index_effect {
    WEIR__INDEX_COUNTS,  /* it counts from now on; what did before is dead */
    WEIR__INDEX_DEAD,    /* it is older, or a touch that changes nothing */
    WEIR__INDEX_RENEWS,  /* the time of what counts is now its own; the touch before it is dead */
    WEIR__INDEX_NOTHING, /* it is what counts already */
};

/* known: what counts so far, or NULL. */
enum weir__index_effect weir__index_effect(const struct weir__entry *record,
                                           const struct weir__known *known);
/* The record counts in place of what is known, which may be NULL. False: the touch that is known is
 * dead, if there is one. */
bool weir__index_replace(const struct weir__entry *record, const struct weir__known *known,
                         struct weir__known *ret_fresh);
/* The touch of what is known, as a record. */
struct weir__entry weir__known_touch(const struct weir__known *known);
/* Whether it hides what is older. */
static inline bool weir__is_deletion(const struct weir__entry *entry)
{
    return entry->type == WEIR__RECORD_DELETED || entry->type == WEIR__RECORD_BAD;
}

static inline bool weir__is_at(const struct weir__entry *entry, struct weir__place place)
{
    return entry->place.segment == place.segment && entry->place.offset == place.offset;
}

#endif
