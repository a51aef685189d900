/* index_memory.c - the index of a store that leaves no trace.
 *
 * Three maps: the entry that counts for each address, the touch that makes it young, and for
 * addresses with dead chunks how many there are. Since nothing outlives the process, a segment is
 * applied once and a count is enough. A deletion that counts is spent while that count is none.
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
/* Segments are told of so many at once. */
#define TOLD 64u

struct memory {
    struct weir__index index; /* first */
    struct weir_lock lock;    /* guards what follows */
    struct weir__map live;
    struct weir__map touches; /* that count */
    struct weir__map chunks;  /* that are dead; size: how many */
    uint64_t chunk_count;     /* that live */
    uint64_t dead_count;      /* records, touches included */
    uint64_t version;
    struct weir__segment_facts *facts;
    size_t facts_count, facts_room;
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

static bool find_known(struct memory *memory, const struct weir__address *address,
                       struct weir__known *ret_known)
{
    struct weir__known known = {.is_spent = false};
    struct weir__entry entry;
    if (!weir__map_get(&memory->live, address, &known.entry))
        return false;
    if (weir__map_get(&memory->touches, address, &entry)) {
        known.touch = entry.place;
        known.touch_sequence = entry.sequence;
    }
    known.is_spent =
        weir__is_deletion(&known.entry) && !weir__map_get(&memory->chunks, address, &entry);
    *ret_known = known;
    return true;
}

static int touch_place(struct weir__index *index, const struct weir__address *address,
                       struct weir__place *ret_place)
{
    struct memory *memory = of(index);
    struct weir__entry entry;
    weir_lock_acquire(&memory->lock);
    bool is_there = weir__map_get(&memory->touches, address, &entry);
    weir_lock_release(&memory->lock);
    if (is_there)
        *ret_place = entry.place;
    return is_there ? 0 : -WEIR_E_NOT_FOUND;
}

/* --- changing --- */

/* So many more bytes of a segment are dead or spent. False: it is gone. */
static bool charge(struct memory *memory, uint32_t segment, int64_t dead, int64_t spent)
{
    struct weir__segment_facts *facts = facts_of(memory, segment);
    if (!facts)
        return false;
    facts->dead += (uint64_t)dead;
    facts->spent += (uint64_t)spent;
    return true;
}

/* The deletion that counts, if it is one, is spent or not any more. */
static void charge_spent(struct memory *memory, const struct weir__address *address, bool is_spent)
{
    struct weir__entry live;
    if (!weir__map_get(&memory->live, address, &live) || !weir__is_deletion(&live))
        return;
    int64_t span = weir__record_span(live.size);
    charge(memory, live.place.segment, 0, is_spent ? span : -span);
}

/* A dead chunk more, or one fewer; what hides them is told when there is a first, or no more. */
static void count_chunk(struct memory *memory, const struct weir__entry *chunk, bool is_more)
{
    struct weir__entry count = *chunk;
    bool was_there = weir__map_get(&memory->chunks, &chunk->address, &count);
    if (!is_more && !was_there)
        return;
    count.size = (was_there ? count.size : 0) + (is_more ? 1 : UINT32_MAX);
    if (count.size > 0)
        weir__map_set(&memory->chunks, &count);
    else
        weir__map_remove(&memory->chunks, &chunk->address);
    if (was_there != (count.size > 0))
        charge_spent(memory, &chunk->address, was_there);
}

static void bury(struct memory *memory, const struct weir__entry *entry)
{
    if (!charge(memory, entry->place.segment, weir__record_span(entry->size), 0))
        return;
    memory->dead_count++;
    if (entry->type == WEIR__RECORD_CHUNK)
        count_chunk(memory, entry, true);
}

static void unbury(struct memory *memory, const struct weir__entry *entry)
{
    memory->dead_count--;
    if (entry->type == WEIR__RECORD_CHUNK)
        count_chunk(memory, entry, false);
}

static void forget_touch(struct memory *memory, const struct weir__known *known)
{
    struct weir__entry touch = weir__known_touch(known);
    if (touch.place.segment == 0)
        return;
    weir__map_remove(&memory->touches, &touch.address);
    bury(memory, &touch);
}

/* It does not count any more. */
static void forget(struct memory *memory, const struct weir__entry *entry)
{
    memory->chunk_count -= entry->type == WEIR__RECORD_CHUNK;
    weir__map_remove(&memory->live, &entry->address);
}

static void replace(struct memory *memory, const struct weir__entry *record,
                    const struct weir__known *known)
{
    struct weir__known fresh;
    struct weir__entry count;
    bool keeps = weir__index_replace(record, known, &fresh);
    if (known && known->is_spent)
        charge_spent(memory, &record->address, false);
    if (known && !keeps)
        forget_touch(memory, known);
    /* Without a deletion that counts, so that none is told of what is buried. */
    if (known)
        forget(memory, &known->entry);
    if (known)
        bury(memory, &known->entry);
    weir__map_set(&memory->live, &fresh.entry);
    memory->chunk_count += fresh.entry.type == WEIR__RECORD_CHUNK;
    if (!weir__map_get(&memory->chunks, &record->address, &count))
        charge_spent(memory, &record->address, true);
}

static void renew(struct memory *memory, const struct weir__entry *record,
                  struct weir__known *known)
{
    forget_touch(memory, known);
    known->entry.time_s = record->time_s;
    weir__map_set(&memory->live, &known->entry);
    weir__map_set(&memory->touches, record);
}

static void apply_one(struct memory *memory, const struct weir__entry *record)
{
    struct weir__known room, *known = &room;
    if (!find_known(memory, &record->address, known))
        known = NULL;
    switch (weir__index_effect(record, known)) {
    case WEIR__INDEX_COUNTS:
        replace(memory, record, known);
        break;
    case WEIR__INDEX_DEAD:
        bury(memory, record);
        break;
    case WEIR__INDEX_RENEWS:
        renew(memory, record, known);
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
        error = weir__map_reserve(&memory->touches, count);
    if (!error)
        error = weir__map_reserve(&memory->chunks, count);
    if (!error)
        error = grow(&memory->facts, &memory->facts_room, memory->facts_count);
    return error;
}

/* What all segments are now, in steps, since it is told without the lock. A drop between two of
 * them may put one where it is not seen, and tells of all itself. */
static void tell_all(struct memory *memory, weir__index_changed *changed, void *arg)
{
    struct weir__segment_facts step[TOLD];
    size_t at = 0, count;
    do {
        weir_lock_acquire(&memory->lock);
        for (count = 0; count < TOLD && at < memory->facts_count; count++, at++) {
            step[count] = memory->facts[at];
            step[count].version = memory->version;
        }
        weir_lock_release(&memory->lock);
        for (size_t i = 0; i < count; i++)
            changed(arg, &step[i]);
    } while (count == TOLD);
}

static int apply(struct weir__index *index, const struct weir__segment_facts *facts,
                 const struct weir__entry *records, size_t count, weir__index_changed *changed,
                 void *arg)
{
    struct memory *memory = of(index);
    weir_lock_acquire(&memory->lock);
    int error = facts_of(memory, facts->id) ? -WEIR_E_EXISTS : make_room(memory, count);
    if (!error) {
        struct weir__segment_facts *own = &memory->facts[memory->facts_count++];
        *own = (struct weir__segment_facts){.id = facts->id,
                                            .size = facts->size,
                                            .is_sealed = facts->is_sealed,
                                            .records = (uint32_t)count};
        for (size_t i = 0; i < count; i++) {
            own->bytes += weir__record_span(records[i].size);
            if (records[i].sequence > own->sequence_max)
                own->sequence_max = records[i].sequence;
            apply_one(memory, &records[i]);
        }
        memory->version++;
    }
    weir_lock_release(&memory->lock);
    if (!error)
        tell_all(memory, changed, arg);
    return error == -WEIR_E_EXISTS ? 0 : error;
}

static void drop_one(struct memory *memory, const struct weir__entry *record)
{
    struct weir__known known;
    bool is_known = find_known(memory, &record->address, &known);
    if (is_known && weir__is_at(record, known.entry.place)) {
        forget_touch(memory, &known);
        forget(memory, &known.entry);
    } else if (is_known && known.touch.segment != 0 && weir__is_at(record, known.touch)) {
        weir__map_remove(&memory->touches, &record->address);
    } else {
        unbury(memory, record);
    }
}

static int drop(struct weir__index *index, uint32_t segment, const struct weir__entry *records,
                size_t count, weir__index_changed *changed, void *arg)
{
    struct memory *memory = of(index);
    weir_lock_acquire(&memory->lock);
    struct weir__segment_facts *facts = facts_of(memory, segment);
    for (size_t i = 0; facts && i < count; i++)
        drop_one(memory, &records[i]);
    if (facts)
        *facts = memory->facts[--memory->facts_count];
    memory->version++;
    weir_lock_release(&memory->lock);
    tell_all(memory, changed, arg);
    return 0;
}

static int has_older(struct weir__index *index, const struct weir__address *address,
                     uint32_t segment, bool *ret_has)
{
    struct memory *memory = of(index);
    struct weir__entry count;
    (void)segment; /* not known of a count: a deletion then lives until its own segment goes too */
    weir_lock_acquire(&memory->lock);
    *ret_has = weir__map_get(&memory->chunks, address, &count);
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
        .chunks = memory->chunk_count,
        .dead = memory->dead_count,
        .bytes = (memory->live._room + memory->touches._room + memory->chunks._room) *
                 sizeof(struct weir__entry),
    };
    weir_lock_release(&memory->lock);
    return 0;
}

static void free_index(struct weir__index *index)
{
    struct memory *memory = of(index);
    weir__map_fini(&memory->live);
    weir__map_fini(&memory->touches);
    weir__map_fini(&memory->chunks);
    weir__base_free(memory->facts);
    weir_lock_fini(&memory->lock);
    weir__base_free(memory);
}

static const struct weir__index_kind kind = {
    .end = free_index,
    .get = get,
    .apply = apply,
    .drop = drop,
    .touch = touch_place,
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
    weir__map_init(&memory->touches, count_max);
    weir__map_init(&memory->chunks, count_max);
    *ret_index = &memory->index;
    return 0;
}
