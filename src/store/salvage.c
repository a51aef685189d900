/* salvage.c - another good record of a damaged chunk, among those that count no more.
 *
 * A chunk that was put, deleted and put again, or found bad and put again, may lie at several
 * places until compaction takes the dead ones away.
 */
#include <weir/error.h>

#include "store_part.h"

#include "banned.h"

#define PLACES_MAX   16u   /* in tails, and as many in the index */
#define LOOK_AT_ONCE 1024u /* records of a tail, while others wait for the lock */

/* The bytes of the chunk at that place into the reader, if it is one and right. */
static int try_place(struct weir__store *store, struct weir__store_reader *reader,
                     const struct weir__address *address, struct weir__place place,
                     uint32_t *ret_length)
{
    struct weir__segment *segment;
    struct weir__record record;
    int error = weir__segments_pin(&store->segments, place.segment, &segment);
    if (error)
        return error;
    error = weir__disk_pread(segment->fd, reader->_bytes, WEIR__RECORD_HEAD, place.offset);
    if (!error)
        error = weir__record_decode(&record, reader->_bytes, &store->identity.key, place);
    if (!error &&
        (record.type != WEIR__RECORD_CHUNK || !weir__address_is_equal(&record.address, address)))
        error = -WEIR_E_NOT_FOUND;
    if (!error) {
        struct weir__entry entry = {record.address, record.sequence, place,
                                    record.size,    record.time_s,   record.type};
        error = weir__store_load(store, segment, &entry, true, reader);
        *ret_length = weir__entry_length(&entry);
    }
    weir__segments_unpin(&store->segments, segment);
    return error;
}

bool weir__store_is_settled(struct weir__store *store, struct weir__store_reader *reader,
                            const struct weir__address *address)
{
    struct weir__entry entry;
    uint32_t length;
    if (weir__store_lookup(store, address, &entry, NULL))
        return false;
    return entry.type == WEIR__RECORD_DELETED ||
           (entry.type == WEIR__RECORD_CHUNK &&
            try_place(store, reader, address, entry.place, &length) == 0);
}

/* 0: the verdict is what counts. PRESENT: somebody has put it again. UNWANTED: or deleted it. */
static int verdict_of(struct weir__store *store, const struct weir__address *address,
                      struct weir__entry *ret_entry)
{
    int error = weir__store_lookup(store, address, ret_entry, NULL);
    if (error || ret_entry->type == WEIR__RECORD_BAD)
        return error;
    return ret_entry->type == WEIR__RECORD_DELETED ? WEIR__STORE_UNWANTED : WEIR__STORE_PRESENT;
}

/* Behind one that has found another verdict than it was made for. */
static int try_later(struct weir__store *store, const struct weir__address *address)
{
    struct weir__entry entry;
    int now = verdict_of(store, address, &entry);
    if (now == WEIR__STORE_PRESENT)
        return 0;
    return now == 0 ? -WEIR_E_TRANSIENT : now;
}

/* With the lock held: the tail of that segment, or of the next one that has a tail. */
static const struct weir__tail *tail_from(const struct weir__store *store, uint32_t segment)
{
    const struct weir__tail *found = NULL;
    for (size_t i = 0; i <= store->waiting_count; i++) {
        const struct weir__tail *tail =
            i < store->waiting_count ? store->waiting[i] : store->active;
        if (tail && tail->segment >= segment && (!found || tail->segment < found->segment))
            found = tail;
    }
    return found;
}

/* Where the tails have it, in pieces: a tail that is gone meanwhile is in the index. */
static size_t places_in_tails(struct weir__store *store, const struct weir__address *address,
                              struct weir__place places[PLACES_MAX])
{
    const struct weir__tail *tail;
    uint32_t segment = 0;
    size_t at = 0, count = 0;
    do {
        weir_lock_acquire(&store->lock);
        tail = tail_from(store, segment);
        if (tail && tail->segment != segment) {
            segment = tail->segment;
            at = 0;
        }
        for (size_t i = 0; tail && i < LOOK_AT_ONCE && at < tail->count && count < PLACES_MAX;
             i++) {
            const struct weir__entry *record = &tail->records[at++];
            if (record->type == WEIR__RECORD_CHUNK &&
                weir__address_is_equal(&record->address, address))
                places[count++] = record->place;
        }
        if (tail && at >= tail->count) {
            segment++;
            at = 0;
        }
        weir_lock_release(&store->lock);
    } while (tail && count < PLACES_MAX);
    return count;
}

/* Where the index has it: dead, or as what counts, while it does not know of the verdict yet. */
static int places_in_index(struct weir__store *store, const struct weir__address *address,
                           struct weir__place places[PLACES_MAX], size_t *ret_count)
{
    struct weir__entry entry;
    size_t count = 0;
    struct weir__index *index = weir__store_index_use(store);
    int error = weir__index_dead(index, address, places, PLACES_MAX - 1, &count);
    if (!error)
        error = weir__index_get(index, address, &entry);
    weir__store_index_leave(store, index);
    if (!error && entry.type == WEIR__RECORD_CHUNK)
        places[count++] = entry.place;
    *ret_count = count;
    return error == -WEIR_E_NOT_FOUND ? 0 : error;
}

/* Tails first: what leaves them is in the index then. */
static int other_places(struct weir__store *store, const struct weir__address *address,
                        struct weir__place places[2 * PLACES_MAX], size_t *ret_count)
{
    size_t count = places_in_tails(store, address, places), more = 0;
    int error = places_in_index(store, address, places + count, &more);
    /* It may be made anew: what the tails have is there all the same. */
    if (error && count == 0)
        return error;
    *ret_count = count + more;
    return 0;
}

int weir__store_salvage(struct weir__store *store, struct weir__store_reader *reader,
                        const struct weir__address *address, const struct weir_deadline *deadline)
{
    struct weir__place places[2 * PLACES_MAX];
    struct weir__entry entry;
    uint32_t length;
    size_t count = 0;
    /* Somebody may have put it again. The verdict on what was found bad is in the line of writes,
     * so it is behind that line that the answer is true. */
    int error = weir__store_touch(store, address, deadline);
    if (error == 0) { /* or the verdict found no room: then it is made now */
        error = weir__store_examine(store, reader, address, &entry);
        if (error == 0)
            return 0;
        if (error == -WEIR_E_CORRUPT)
            error = weir__store_condemn(store, &entry, deadline);
    }
    if (error && error != -WEIR_E_NOT_FOUND)
        return error;
    /* What was deleted meanwhile stays deleted. */
    error = verdict_of(store, address, &entry);
    if (error == WEIR__STORE_PRESENT)
        return 0;
    if (!error)
        error = other_places(store, address, places, &count);
    if (error)
        return error;
    for (size_t i = 0; i < count; i++)
        if (try_place(store, reader, address, places[i], &length) == 0) {
            struct weir__store_write put = {.action = WEIR__STORE_PUT,
                                            .address = *address,
                                            .bytes = reader->_bytes + WEIR__RECORD_HEAD,
                                            .length = length,
                                            ._from = entry,
                                            ._kind = WEIR__WRITE_SALVAGE};
            error = weir__store_write_and_wait(store, &put, deadline);
            return error == -WEIR_E_NOT_FOUND ? try_later(store, address) : error;
        }
    return -WEIR_E_NOT_FOUND;
}
