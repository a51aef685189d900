/* scrub.c - walks through all chunks that count, at its own pace, and looks whether they are right.
 *
 * Segment by segment, in the order of their ids, the newest last. Those that the index does not
 * know yet, which a small store has nothing but, are walked by their tails, as they are when their
 * turn comes: what is in a tail lasts. What is written while it walks comes with the next walk. A
 * walk begins when it is asked for, or when the last one ended long enough ago, by the wall clock,
 * which is kept in the file `scrub`.
 *
 * All of the index is looked at before such a walk, and a piece of it each second, or after each
 * segment, all the time: what it hides is not there for who asks.
 *
 * With each walk, and each minute, it looks whether the names of the segments are there still
 * (names.c).
 */
#include <stdlib.h>
#include <string.h>

#include <weir/error.h>

#include "alloc.h"
#include "store_part.h"

#include "banned.h"

static const char file_name[] = "scrub";

#define REST_NS (1 * WEIR_NS_PER_S)
#define SOON_NS (10 * WEIR_NS_PER_MS)
/* What a piece of the index costs of the pace. */
#define INDEX_PIECE (512u << 10)
#define NAMES_RESTS 60u

static int look_at(struct weir__store *store, struct weir__segment *segment,
                   const struct weir__entry *record, struct weir__store_reader *reader,
                   const struct weir_deadline *deadline)
{
    struct weir__entry known;
    if (record->type != WEIR__RECORD_CHUNK)
        return 0;
    int error = weir__store_lookup(store, &record->address, &known, NULL);
    if (error == -WEIR_E_NOT_FOUND)
        return 0;
    /* Without the index nobody knows what is to be looked at: the walk begins again. */
    if (error)
        return error;
    if (known.place.segment != record->place.segment || known.place.offset != record->place.offset)
        return 0;
    error = weir_rate_acquire(&store->scrub_rate, record->size, WEIR_RATE_LOW, deadline);
    if (error)
        return error;
    error = weir__store_load(store, segment, record, true, reader);
    weir_counter_add(&store->counts.scrubbed_bytes, record->size);
    if (error == -WEIR_E_CORRUPT || error == -WEIR_E_MISMATCH)
        weir__store_quarantine(store, record, "the scrubber found it damaged");
    else if (error)
        weir__store_tell(store, &record->address, "the scrubber could not read it");
    return 0;
}

/* The next piece of the index, whatever comes of it. */
static void look_at_some(struct weir__store *store, uint32_t *at)
{
    if (weir_rate_try(&store->scrub_rate, INDEX_PIECE, WEIR_RATE_LOW) == 0)
        (void)!weir__store_check_index(store, at);
}

/* From its beginning to its end. */
static int look_at_index(struct weir__store *store, const struct weir_deadline *deadline)
{
    uint32_t at = 0;
    int error;
    do {
        error = weir_rate_acquire(&store->scrub_rate, INDEX_PIECE, WEIR_RATE_LOW, deadline);
        if (!error)
            error = weir__store_check_index(store, &at);
        if (error != -WEIR_E_BUSY)
            continue;
        /* It is changed at this moment, or made anew. */
        struct weir_deadline soon = weir_deadline_in(SOON_NS, deadline->cancel);
        weir_deadline_sleep(&soon);
        error = weir_deadline_check(deadline);
    } while (!error && at > 0);
    return error;
}

static int walk_segment(struct weir__store *store, uint32_t id, struct weir__store_reader *reader,
                        const struct weir_deadline *deadline)
{
    struct weir__segment_content content;
    struct weir__segment *segment;
    if (weir__segments_pin(&store->segments, id, &segment))
        return 0; /* it was compacted meanwhile */
    int error = 0;
    if (weir__segment_load(&content, segment->fd, id, &store->identity.key) == 0) {
        for (size_t i = 0; !error && i < content.count; i++)
            error = look_at(store, segment, &content.records[i], reader, deadline);
        weir__segment_forget(&content);
    } else {
        weir__store_tell(store, NULL, "the scrubber could not read a segment");
    }
    weir__segments_unpin(&store->segments, segment);
    return error ? error : weir_deadline_check(deadline);
}

/* With the lock held. */
static const struct weir__tail *tail_of(const struct weir__store *store, uint32_t id)
{
    for (size_t i = 0; i < store->waiting_count; i++)
        if (store->waiting[i]->segment == id)
            return store->waiting[i];
    return store->active && store->active->segment == id ? store->active : NULL;
}

/* What the addresses in a tail mean. NotFound: the index has it by now. */
static int copy_tail(struct weir__store *store, uint32_t id, struct weir__entry **ret_entries,
                     size_t *ret_count)
{
    struct weir__entry *entries = NULL;
    for (size_t room = 0;;) {
        weir_lock_acquire(&store->lock);
        const struct weir__tail *tail = tail_of(store, id);
        size_t count = tail ? weir__tail_meanings(tail) : 0;
        bool fits = tail && count < room;
        if (fits)
            weir__tail_copy(tail, entries);
        weir_lock_release(&store->lock);
        if (fits) {
            *ret_entries = entries;
            *ret_count = count;
            return 0;
        }
        weir__base_free(entries);
        if (!tail)
            return -WEIR_E_NOT_FOUND;
        /* Some more than there are now, since others write meanwhile. */
        room = count + count / 8 + 1024;
        entries = weir__base_alloc(room, sizeof(*entries));
        if (!entries)
            return -WEIR_E_NO_MEMORY;
    }
}

static int by_place(const void *a, const void *b)
{
    const struct weir__entry *left = a, *right = b;
    return left->place.offset < right->place.offset ? -1 : left->place.offset > right->place.offset;
}

static int walk_tail(struct weir__store *store, uint32_t id, struct weir__store_reader *reader,
                     const struct weir_deadline *deadline)
{
    struct weir__entry *entries;
    struct weir__segment *segment;
    size_t count;
    int error = copy_tail(store, id, &entries, &count);
    if (error)
        return error;
    qsort(entries, count, sizeof(*entries), by_place);
    if (weir__segments_pin(&store->segments, id, &segment) == 0) {
        /* A touch means a chunk that may lie elsewhere. */
        for (size_t i = 0; !error && i < count; i++)
            if (entries[i].place.segment == id)
                error = look_at(store, segment, &entries[i], reader, deadline);
        weir__segments_unpin(&store->segments, segment);
    }
    weir__base_free(entries);
    return error;
}

/* Whether the index knows records of it. */
static bool is_indexed(struct weir__store *store, uint32_t id)
{
    struct weir__segment_facts facts;
    return weir__segments_next(&store->segments, id - 1, &facts) && facts.id == id &&
           facts.bytes > 0;
}

static int walk_any(struct weir__store *store, uint32_t id, struct weir__store_reader *reader,
                    const struct weir_deadline *deadline)
{
    int error = is_indexed(store, id) ? -WEIR_E_NOT_FOUND : walk_tail(store, id, reader, deadline);
    if (error != -WEIR_E_NOT_FOUND)
        return error;
    return is_indexed(store, id) ? walk_segment(store, id, reader, deadline) : 0;
}

static int walk_all(struct weir__store *store, struct weir__store_reader *reader, uint32_t *at,
                    const struct weir_deadline *deadline)
{
    struct weir__segment_facts facts;
    int error = look_at_index(store, deadline);
    weir__store_look_at_names(store);
    for (uint32_t id = 0; !error && weir__segments_next(&store->segments, id, &facts);
         id = facts.id) {
        weir_lock_acquire(&store->lock);
        store->scrub_segment = facts.id;
        weir_lock_release(&store->lock);
        error = walk_any(store, facts.id, reader, deadline);
        if (!error)
            look_at_some(store, at);
    }
    return error;
}

static void remember(struct weir__store *store)
{
    int64_t now = weir_wall_s();
    weir_lock_acquire(&store->lock);
    store->scrub_ended_s = now;
    store->scrub_segment = 0;
    weir_lock_release(&store->lock);
    weir_counter_add(&store->counts.scrub_walks, 1);
    /* Lost, it is walked once more. */
    if (store->folder >= 0 && !store->is_read_only)
        (void)!weir__disk_replace(store->folder, file_name, &now, sizeof(now));
}

/* walked: how often that was asked for and done; then also what is asked for now. */
static bool is_due(struct weir__store *store, uint64_t walked, uint64_t *ret_wanted)
{
    int64_t now = weir_wall_s();
    weir_lock_acquire(&store->lock);
    /* An end that is yet to come is one of a clock that was wrong, or of a damaged file. */
    bool is_wanted = store->scrub_wanted > walked;
    bool is_time = store->scrub_ended_s > now || store->scrub_ended_s < 0 ||
                   (uint64_t)(now - store->scrub_ended_s) >= store->scrub_interval_s;
    *ret_wanted = store->scrub_wanted;
    weir_lock_release(&store->lock);
    return is_wanted || is_time;
}

int weir__store_scrub_main(struct weir_crew_self *self, void *arg)
{
    struct weir__store *store = arg;
    struct weir__store_reader reader;
    struct weir_deadline until_stop = weir_deadline_until(self->stop);
    uint64_t walked = 0, wanted;
    uint32_t at = 0; /* in the index */
    size_t length;
    int64_t ended = 0;
    int error = weir__store_reader_init(&reader);
    if (error)
        return error;
    if (store->folder >= 0 &&
        weir__disk_read(store->folder, file_name, &ended, sizeof(ended), &length) == 0 &&
        length == sizeof(ended)) {
        weir_lock_acquire(&store->lock);
        store->scrub_ended_s = ended;
        weir_lock_release(&store->lock);
    }
    for (unsigned rests = 1; !weir_cancel_is_fired(self->stop); rests++) {
        if (rests % NAMES_RESTS == 0)
            weir__store_look_at_names(store);
        look_at_some(store, &at);
        if (is_due(store, walked, &wanted) && walk_all(store, &reader, &at, &until_stop) == 0) {
            walked = wanted;
            remember(store);
        }
        struct weir_deadline rest = weir_deadline_in(REST_NS, self->stop);
        weir_deadline_sleep(&rest);
    }
    weir__store_reader_fini(&reader);
    return 0;
}
