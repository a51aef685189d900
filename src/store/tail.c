/* tail.c - records of a segment, in order and by address. */
#include "tail.h"

#include <string.h>

#include <weir/error.h>

#include "alloc.h"
#include "require.h"

#include "banned.h"

int weir__tail_new(struct weir__tail **ret_tail, uint32_t segment)
{
    struct weir__tail *tail = weir__base_alloc(1, sizeof(*tail));
    if (!tail)
        return -WEIR_E_NO_MEMORY;
    tail->segment = segment;
    weir__map_init(&tail->_meaning, WEIR__SEGMENT_COUNT);
    *ret_tail = tail;
    return 0;
}

void weir__tail_free(struct weir__tail *tail)
{
    if (!tail)
        return;
    weir_permit_release(&tail->turn);
    weir__map_fini(&tail->_meaning);
    weir__base_free(tail->killed);
    weir__base_free(tail->records);
    weir__base_free(tail);
}

static int reserve_meaning(struct weir__tail *tail, size_t more, struct weir_lock *lock)
{
    struct weir__map larger;
    int error = weir__map_larger(&tail->_meaning, more, &larger);
    if (error)
        return error;
    if (lock)
        weir_lock_acquire(lock);
    weir__map_swap(&tail->_meaning, &larger);
    if (lock)
        weir_lock_release(lock);
    weir__map_fini(&larger);
    return 0;
}

static int reserve_records(struct weir__tail *tail, size_t room, struct weir_lock *lock)
{
    struct weir__entry *larger = weir__base_alloc(room, sizeof(*larger)), *smaller = tail->records;
    if (!larger)
        return -WEIR_E_NO_MEMORY;
    if (tail->count > 0)
        memcpy(larger, smaller, tail->count * sizeof(*larger));
    if (lock)
        weir_lock_acquire(lock);
    tail->records = larger;
    if (lock)
        weir_lock_release(lock);
    weir__base_free(smaller);
    tail->_room = room;
    return 0;
}

int weir__tail_reserve(struct weir__tail *tail, size_t more, struct weir_lock *lock)
{
    if (more > WEIR__SEGMENT_COUNT - tail->count)
        return -WEIR_E_OVERFLOW;
    int error = reserve_meaning(tail, more, lock);
    if (error || tail->count + more <= tail->_room)
        return error;
    size_t room = tail->_room ? tail->_room : 256;
    while (room < tail->count + more)
        room *= 2;
    struct weir__killed *killed = weir__base_realloc(tail->killed, room, sizeof(*killed));
    if (!killed)
        return -WEIR_E_NO_MEMORY;
    tail->killed = killed;
    return reserve_records(tail, room, lock);
}

void weir__tail_add(struct weir__tail *tail, const struct weir__entry *record,
                    const struct weir__entry *meaning)
{
    WEIR__REQUIRE(tail->count < tail->_room, "tail", "store", "no room was reserved");
    tail->records[tail->count++] = *record;
    weir__map_set(&tail->_meaning, meaning);
}

void weir__tail_kill(struct weir__tail *tail, const struct weir__entry *chunk)
{
    WEIR__REQUIRE(tail->killed_count < tail->_room, "tail", "store", "no room was reserved");
    tail->killed[tail->killed_count++] =
        (struct weir__killed){chunk->place.segment, weir__record_span(chunk->size)};
}

bool weir__tail_get(const struct weir__tail *tail, const struct weir__address *address,
                    struct weir__entry *ret_entry)
{
    return weir__map_get(&tail->_meaning, address, ret_entry);
}

size_t weir__tail_meanings(const struct weir__tail *tail)
{
    return weir__map_count(&tail->_meaning);
}

void weir__tail_copy(const struct weir__tail *tail, struct weir__entry *entries)
{
    weir__map_copy(&tail->_meaning, entries);
}
