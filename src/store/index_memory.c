/* index_memory.c - the index of a store that leaves no trace.
 *
 * Two maps: the entry that counts for each address, and for addresses with dead records how many
 * there are. Since nothing outlives the process, a segment is applied once and a count is enough.
 *
 * One lock guards all of it. It is held while the maps grow, too: the larger a map, the longer
 * (some 30 ns for each address that it has).
 */
#include <stdlib.h>
#include <string.h>

#include <weir/error.h>
#include <weir/lock.h>

#include "alloc.h"
#include "index_part.h"
#include "map.h"
#include "store_locks.h"

#include "banned.h"

/* A walk is made in steps of so many entries, the lock is free between them. */
#define STEP 4096u

struct memory {
    struct weir__index index; /* first */
    struct weir_lock lock;    /* guards what follows */
    struct weir__map live;
    struct weir__map dead; /* size: how many records */
    uint64_t dead_count;   /* records */
    struct weir__segment_facts *facts;
    size_t facts_count, facts_room;
    struct weir__segment_facts *told; /* a copy, of who applies alone */
    size_t told_room;
};

static struct memory *of(struct weir__index *index)
{
    return (struct memory *)index;
}

static struct weir__segment_facts *facts_of(struct memory *memory, uint32_t segment)
{
    for (size_t i = 0; i < memory->facts_count; i++)
        if (memory->facts[i].id == segment)
            return &memory->facts[i];
    return NULL;
}

static int get(struct weir__index *index, const struct weir__address *address,
               struct weir__entry *ret_entry)
{
    struct memory *memory = of(index);
    weir_lock_acquire(&memory->lock);
    bool is_there = weir__map_get(&memory->live, address, ret_entry);
    weir_lock_release(&memory->lock);
    return is_there ? 0 : -WEIR_E_NOT_FOUND;
}

/* --- changing --- */

static void bury(struct memory *memory, const struct weir__entry *entry)
{
    struct weir__entry count = *entry;
    struct weir__segment_facts *facts = facts_of(memory, entry->place.segment);
    if (!facts)
        return;
    facts->dead += weir__record_span(entry->size);
    if (!weir__map_get(&memory->dead, &entry->address, &count))
        count.size = 0;
    count.size++;
    memory->dead_count++;
    weir__map_set(&memory->dead, &count);
}

static void unbury(struct memory *memory, const struct weir__address *address)
{
    struct weir__entry count;
    if (!weir__map_get(&memory->dead, address, &count))
        return;
    memory->dead_count--;
    if (--count.size > 0)
        weir__map_set(&memory->dead, &count);
    else
        weir__map_remove(&memory->dead, address);
}

static void apply_one(struct memory *memory, const struct weir__entry *record)
{
    struct weir__entry known, fresh = *record;
    bool is_known = weir__map_get(&memory->live, &record->address, &known);
    switch (weir__index_effect(record, is_known ? &known : NULL)) {
    case WEIR__INDEX_COUNTS:
        if (is_known && known.sequence == fresh.sequence && known.time_s > fresh.time_s)
            fresh.time_s = known.time_s;
        if (is_known)
            bury(memory, &known);
        weir__map_set(&memory->live, &fresh);
        break;
    case WEIR__INDEX_DEAD:
        bury(memory, record);
        break;
    case WEIR__INDEX_RENEWS:
        known.time_s = record->time_s;
        weir__map_set(&memory->live, &known);
        break;
    case WEIR__INDEX_NOTHING:
        break;
    }
}

/* Room for one more. */
static int grow(struct weir__segment_facts **facts, size_t *room, size_t count)
{
    if (count < *room)
        return 0;
    size_t larger = *room ? 2 * *room : 16;
    void *fresh = weir__base_realloc(*facts, larger, sizeof(**facts));
    if (!fresh)
        return -WEIR_E_NO_MEMORY;
    *facts = fresh;
    *room = larger;
    return 0;
}

static int make_room(struct memory *memory, size_t count)
{
    int error = weir__map_reserve(&memory->live, count);
    if (!error)
        error = weir__map_reserve(&memory->dead, count);
    if (!error)
        error = grow(&memory->facts, &memory->facts_room, memory->facts_count);
    if (!error)
        error = grow(&memory->told, &memory->told_room, memory->facts_count);
    return error;
}

static int apply(struct weir__index *index, const struct weir__segment_facts *facts,
                 const struct weir__entry *records, size_t count, weir__index_changed *changed,
                 void *arg)
{
    struct memory *memory = of(index);
    weir_lock_acquire(&memory->lock);
    int error = facts_of(memory, facts->id) ? -WEIR_E_EXISTS : make_room(memory, count);
    size_t all = 0;
    if (!error) {
        struct weir__segment_facts *own = &memory->facts[memory->facts_count++];
        *own = (struct weir__segment_facts){.id = facts->id,
                                            .size = facts->size,
                                            .is_sealed = facts->is_sealed,
                                            .records = (uint32_t)count};
        all = memory->facts_count;
        for (size_t i = 0; i < count; i++) {
            own->bytes += weir__record_span(records[i].size);
            if (records[i].sequence > own->sequence_max)
                own->sequence_max = records[i].sequence;
            apply_one(memory, &records[i]);
        }
        memcpy(memory->told, memory->facts, all * sizeof(*memory->told));
    }
    weir_lock_release(&memory->lock);
    /* A segment may be dropped meanwhile, so it is the copy that is told. */
    for (size_t i = 0; i < all; i++)
        changed(arg, &memory->told[i]);
    return error == -WEIR_E_EXISTS ? 0 : error;
}

static int drop(struct weir__index *index, uint32_t segment, const struct weir__entry *records,
                size_t count)
{
    struct memory *memory = of(index);
    weir_lock_acquire(&memory->lock);
    for (size_t i = 0; i < count; i++) {
        struct weir__entry known;
        bool is_known = weir__map_get(&memory->live, &records[i].address, &known);
        bool counts = is_known && known.place.segment == segment &&
                      known.place.offset == records[i].place.offset;
        if (counts)
            weir__map_remove(&memory->live, &records[i].address);
        else if (records[i].type != WEIR__RECORD_TOUCHED)
            unbury(memory, &records[i].address);
    }
    struct weir__segment_facts *facts = facts_of(memory, segment);
    if (facts)
        *facts = memory->facts[--memory->facts_count];
    weir_lock_release(&memory->lock);
    return 0;
}

static int has_older(struct weir__index *index, const struct weir__address *address,
                     uint32_t segment, bool *ret_has)
{
    struct memory *memory = of(index);
    struct weir__entry count;
    (void)segment; /* not known of a count: a deletion then lives until its own segment goes too */
    weir_lock_acquire(&memory->lock);
    *ret_has = weir__map_get(&memory->dead, address, &count);
    weir_lock_release(&memory->lock);
    return 0;
}

static int dead_places(struct weir__index *index, const struct weir__address *address,
                       struct weir__place *places, size_t room, size_t *ret_count)
{
    (void)index, (void)address, (void)places, (void)room;
    *ret_count = 0;
    return 0;
}

/* --- walking --- */

static int by_id(const void *a, const void *b)
{
    const struct weir__segment_facts *left = a, *right = b;
    return left->id < right->id ? -1 : left->id > right->id;
}

static int segments(struct weir__index *index,
                    int (*fn)(void *arg, const struct weir__segment_facts *), void *arg)
{
    struct memory *memory = of(index);
    int result = 0;
    weir_lock_acquire(&memory->lock);
    size_t count = memory->facts_count;
    struct weir__segment_facts *copy = weir__base_alloc(count + 1, sizeof(*copy));
    if (copy && count > 0)
        memcpy(copy, memory->facts, count * sizeof(*copy));
    weir_lock_release(&memory->lock);
    if (!copy)
        return -WEIR_E_NO_MEMORY;
    qsort(copy, count, sizeof(*copy), by_id);
    for (size_t i = 0; !result && i < count; i++)
        result = fn(arg, &copy[i]);
    weir__base_free(copy);
    return result;
}

static int by_address(const void *a, const void *b)
{
    const struct weir__entry *left = a, *right = b;
    return weir__address_compare(&left->address, &right->address);
}

/* The first entries behind `from` in their order, into room for twice as many. */
static size_t next_step(struct memory *memory, const struct weir__address *from, bool is_behind,
                        struct weir__entry *found)
{
    size_t count = 0;
    weir_lock_acquire(&memory->lock);
    for (size_t i = 0; i < memory->live._room; i++) {
        const struct weir__entry *entry = &memory->live._places[i];
        int order = entry->type ? weir__address_compare(&entry->address, from) : -1;
        if (order < 0 || (order == 0 && is_behind))
            continue;
        found[count++] = *entry;
        if (count < 2 * STEP)
            continue;
        qsort(found, count, sizeof(*found), by_address);
        count = STEP;
    }
    weir_lock_release(&memory->lock);
    qsort(found, count, sizeof(*found), by_address);
    return count < STEP ? count : STEP;
}

static int walk(struct weir__index *index, const struct weir__address *from,
                int (*fn)(void *arg, const struct weir__entry *entry), void *arg)
{
    struct weir__address at = {{0}};
    struct weir__entry *found = weir__base_alloc(2 * STEP, sizeof(*found));
    int result = found ? 0 : -WEIR_E_NO_MEMORY;
    bool is_behind = false;
    size_t count;
    if (from)
        at = *from;
    do {
        count = result ? 0 : next_step(of(index), &at, is_behind, found);
        for (size_t i = 0; !result && i < count; i++)
            result = fn(arg, &found[i]);
        if (count > 0)
            at = found[count - 1].address;
        is_behind = true;
    } while (count == STEP && !result);
    weir__base_free(found);
    return result;
}

/* --- life cycle --- */

static int sync_nothing(struct weir__index *index)
{
    (void)index;
    return 0;
}

static int read_stats(struct weir__index *index, struct weir__index_stats *ret_stats)
{
    struct memory *memory = of(index);
    weir_lock_acquire(&memory->lock);
    *ret_stats = (struct weir__index_stats){
        .entries = weir__map_count(&memory->live),
        .dead = memory->dead_count,
        .bytes = (memory->live._room + memory->dead._room) * sizeof(struct weir__entry),
    };
    weir_lock_release(&memory->lock);
    return 0;
}

static void free_index(struct weir__index *index)
{
    struct memory *memory = of(index);
    weir__map_fini(&memory->live);
    weir__map_fini(&memory->dead);
    weir__base_free(memory->facts);
    weir__base_free(memory->told);
    weir_lock_fini(&memory->lock);
    weir__base_free(memory);
}

static const struct weir__index_kind kind = {
    .end = free_index,
    .get = get,
    .apply = apply,
    .drop = drop,
    .has_older = has_older,
    .dead = dead_places,
    .segments = segments,
    .walk = walk,
    .sync = sync_nothing,
    .read = read_stats,
};

int weir__index_new(struct weir__index **ret_index, size_t count_max)
{
    struct memory *memory = weir__base_alloc(1, sizeof(*memory));
    if (!memory)
        return -WEIR_E_NO_MEMORY;
    memory->index.kind = &kind;
    weir_lock_init(&memory->lock, &weir__store_memory_class);
    weir__map_init(&memory->live, count_max);
    weir__map_init(&memory->dead, count_max);
    *ret_index = &memory->index;
    return 0;
}
