/* compact.c - moves what counts out of segments in which much does not, and removes them.
 *
 * A record is moved by being written once more, with its sequence, to the active segment, by the
 * thread that writes: it does so only if the record still counts then. When all have been moved,
 * and last, the segment goes: first its file, then from the index, which is made anew after a crash
 * in between.
 *
 * What is moved of a segment: chunks that count; deletions and bad marks that count and have
 * something older to hide in another segment; touches that are what makes their chunk young. A
 * chunk that is found damaged is not moved but put into quarantine. So nothing that the index calls
 * dead or spent is moved, and what is compacted becomes smaller each time.
 *
 * On a full disk that needs the room that is kept for it (reserve.c). Then what is least to be
 * moved goes first, if there is room for it, and less of a segment has to be dead: what moves half
 * a segment would leave nothing for the others.
 *
 * What the index says of deletions is looked at once more before the segment goes, by its sums: a
 * bit that turned in it must not bring a chunk back for good. A decision counts only as long as the
 * index does that it was made with.
 *
 * What is wrong with a segment, and will be when it has its turn again, is told, and the segment is
 * left until the store is opened again: else no other would ever have its turn. Writes that fail,
 * and an index that does, say nothing of the segment that is read.
 *
 * Where a segment was found missing or cannot be read whole, nobody knows what it has: deletions
 * are not called spent then, and are all moved. That is so too when the folder could not be synced
 * after a segment was removed: it may be there again after a loss of power.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <weir/error.h>

#include "alloc.h"
#include "log.h"
#include "store_part.h"
#include "sys.h"

#include "banned.h"

#define MOVES_MAX   64u        /* under way at once */
#define MOVES_ROOM  (4u << 20) /* bytes of these */
#define MOVES_SLACK (256u << 10)
#define REST_NS     (2 * WEIR_NS_PER_S)
#define TEXT_MAX    128u

/* Percent of a segment that are dead, from which on it is compacted on a full disk, and on one that
 * has no room for deletions. Ten times what is made free is moved for it at most, and a hundred
 * times, until there is some room. */
#define FULL_PERCENT  10u
#define SHORT_PERCENT 1u

/* An error that is said of the segment, and will be there when it has its turn again. */
struct obstacle {
    const char *undone; /* what could not be done with it; NULL: there is none */
    int error;
    int errno_value; /* what the system said; 0: nothing */
};

struct moves;

struct move {
    struct weir__store_write write;
    struct moves *moves;
    struct weir_permit permit;
};

struct moves {
    struct weir__store *store;
    struct weir_budget gate; /* all of it is home when none is under way */
    struct weir__store_reader reader;
    unsigned char *room;
    size_t used, count;
    int error;                 /* written by the thread that writes, while a permit is out */
    struct obstacle *obstacle; /* of the segment that they are moved from */
    struct move list[MOVES_MAX];
};

/* What is over when there is memory, room or time again is none. */
static int note_obstacle(struct obstacle *obstacle, const char *undone, int error)
{
    switch (error) {
    case -WEIR_E_CORRUPT:
    case -WEIR_E_DENIED:
    case -WEIR_E_INVALID:
    case -WEIR_E_IO:
    case -WEIR_E_UNSUPPORTED:
        *obstacle = (struct obstacle){undone, error, 0};
        break;
    default:
        break;
    }
    return error;
}

/* The same at once behind a call that failed. */
static int note_refusal(struct obstacle *obstacle, const char *undone, int error)
{
    int errno_value = errno;
    error = note_obstacle(obstacle, undone, error);
    if (obstacle->undone)
        obstacle->errno_value = errno_value;
    return error;
}

static void move_done(struct weir__store_write *write)
{
    struct move *move = write->arg;
    struct moves *moves = move->moves;
    if (write->result < 0 && write->result != -WEIR_E_NOT_FOUND)
        moves->error = write->result;
    weir_counter_add(&moves->store->counts.moved_bytes,
                     write->result == 0 ? WEIR__RECORD_HEAD + write->length : 0);
    weir_permit_release(&move->permit);
}

/* Until all that were handed in are done. */
static int moves_wait(struct moves *moves, const struct weir_deadline *deadline)
{
    struct weir_permit all = WEIR_PERMIT_NONE;
    /* They are ours until they are done, so nothing but that ends this wait; the thread that writes
     * ends all of them, whatever happens. */
    struct weir_deadline patient = weir_deadline_in(WEIR_CREW_TIME_MAX_NS, NULL);
    int error = weir_budget_acquire(&moves->gate, MOVES_MAX, &all, &patient);
    if (error)
        return error;
    weir_permit_release(&all);
    moves->used = moves->count = 0;
    error = moves->error;
    return error ? error : weir_deadline_check(deadline);
}

static int moves_add(struct moves *moves, const struct weir__entry *entry,
                     const unsigned char *bytes, uint32_t length,
                     const struct weir_deadline *deadline)
{
    int error = 0;
    if (moves->count == MOVES_MAX || moves->used + length > MOVES_ROOM)
        error = moves_wait(moves, deadline);
    if (error)
        return error;
    struct move *move = &moves->list[moves->count];
    *move = (struct move){
        .moves = moves,
        .write = {.address = entry->address,
                  .bytes = moves->room + moves->used,
                  .length = length,
                  .done = move_done,
                  .arg = move,
                  ._from = *entry,
                  ._kind = WEIR__WRITE_MOVE},
    };
    if (length > 0)
        memcpy(moves->room + moves->used, bytes, length);
    error = weir_budget_try(&moves->gate, 1, &move->permit);
    if (!error)
        error = weir__store_submit(moves->store, &move->write);
    if (error) {
        weir_permit_release(&move->permit);
        return error;
    }
    moves->used += length;
    moves->count++;
    return 0;
}

/* A full line for writes is waited for: others come first. */
static int moves_add_patiently(struct moves *moves, const struct weir__entry *entry,
                               const unsigned char *bytes, uint32_t length,
                               const struct weir_deadline *deadline)
{
    int error;
    while ((error = moves_add(moves, entry, bytes, length, deadline)) == -WEIR_E_BUSY) {
        struct weir_deadline soon = weir_deadline_in(10 * WEIR_NS_PER_MS, deadline->cancel);
        if (weir_deadline_sleep(&soon) == -WEIR_E_CANCELED)
            return -WEIR_E_CANCELED;
        if ((error = weir_deadline_check(deadline)))
            return error;
    }
    return error;
}

static int move_chunk(struct moves *moves, struct weir__segment *segment,
                      const struct weir__entry *record, const struct weir_deadline *deadline)
{
    struct weir__store *store = moves->store;
    int error = weir__store_load(store, segment, record, true, &moves->reader);
    if (error == -WEIR_E_CORRUPT || error == -WEIR_E_MISMATCH) {
        weir__store_quarantine(store, record, "compaction found it damaged");
        return 0;
    }
    if (error)
        return note_obstacle(moves->obstacle, "read whole", error);
    return moves_add_patiently(moves, record, moves->reader._bytes + WEIR__RECORD_HEAD,
                               weir__entry_length(record), deadline);
}

/* A chunk that does not count, if the index is right: something newer does, or a copy of it, which
 * is looked at. An index that says anything else is wrong, and must not have a chunk removed. */
static int check_dead(struct moves *moves, const struct weir__entry *record,
                      const struct weir__entry *known)
{
    struct weir__store *store = moves->store;
    struct weir__chunk copy;
    if (!known || known->sequence < record->sequence) {
        weir__store_doubt_index(store);
        return -WEIR_E_TRANSIENT;
    }
    if (known->sequence > record->sequence || known->type != WEIR__RECORD_CHUNK)
        return 0;
    int error = weir__store_get(store, &moves->reader, &record->address, &copy);
    if (!error)
        weir__chunk_release(store, &copy);
    return error == -WEIR_E_NOT_FOUND
               ? 0
               : note_obstacle(moves->obstacle, "given up for its copies", error);
}

/* Whether the touch is what makes the chunk as young as it is, and goes with the segment. Others,
 * of the same second perhaps, are dead. */
static int is_wanted_touch(struct weir__store *store, const struct weir__entry *touch,
                           const struct weir__entry *chunk, bool *ret_is)
{
    struct weir__place place = {0, 0};
    *ret_is = false;
    if (chunk->type != WEIR__RECORD_CHUNK || chunk->time_s != touch->time_s ||
        chunk->place.segment >= touch->place.segment)
        return 0;
    struct weir__index *index = weir__store_index_use(store);
    int error = weir__index_touch(index, &touch->address, &place);
    weir__store_index_leave(store, index);
    if (error)
        return error == -WEIR_E_NOT_FOUND ? 0 : weir__store_index_failed(store, error);
    *ret_is = place.segment == touch->place.segment && place.offset == touch->place.offset;
    return 0;
}

/* Whether the deletion hides something, or may. */
static int is_wanted_deletion(struct weir__store *store, const struct weir__entry *deletion,
                              bool *ret_is)
{
    *ret_is = weir__store_keeps_deletions(store);
    if (*ret_is)
        return 0;
    struct weir__index *index = weir__store_index_use(store);
    int error = weir__index_has_older(index, &deletion->address, deletion->place.segment, ret_is);
    weir__store_index_leave(store, index);
    return error ? weir__store_index_failed(store, error) : 0;
}

static int move_record(struct moves *moves, struct weir__segment *segment,
                       const struct weir__entry *record, const struct weir_deadline *deadline)
{
    struct weir__store *store = moves->store;
    struct weir__entry known;
    bool is_wanted = false;
    int error = weir_rate_acquire(&store->compact_rate, weir__record_span(record->size),
                                  WEIR_RATE_LOW, deadline);
    if (!error)
        error = weir__store_lookup(store, &record->address, &known, NULL);
    bool is_known = error == 0;
    if (error && error != -WEIR_E_NOT_FOUND)
        return error;
    bool counts = is_known && known.place.segment == record->place.segment &&
                  known.place.offset == record->place.offset;
    if (record->type == WEIR__RECORD_CHUNK)
        return counts ? move_chunk(moves, segment, record, deadline)
                      : check_dead(moves, record, is_known ? &known : NULL);
    if (!is_known)
        return 0;
    switch (record->type) {
    case WEIR__RECORD_TOUCHED:
        error = is_wanted_touch(store, record, &known, &is_wanted);
        break;
    default:
        if (counts)
            error = is_wanted_deletion(store, record, &is_wanted);
    }
    if (error || !is_wanted)
        return error;
    return moves_add_patiently(moves, record, NULL, 0, deadline);
}

/* A name that was taken away may be there again after a loss of power, with all that lies under it.
 * That the next sync succeeds would not say that this one's names last: who opens the store next
 * lists what is there, and makes it last first. */
static void doubt_names(struct weir__store *store)
{
    bool is_news = weir_counter_value(&store->counts.names_doubted) == 0;
    weir_counter_add(&store->counts.names_doubted, 1);
    weir_counter_add(&store->counts.syncs_failed, 1);
    weir_lock_acquire(&store->lock);
    store->is_unclean = true;
    weir_lock_release(&store->lock);
    if (is_news)
        weir__store_say(store,
                        "a segment that was removed may come back: the folder cannot be synced");
}

/* Nothing of it counts any more. The index forgets its dead only when they are gone for good: a
 * deletion that hides them goes when the index says that there is nothing to hide. */
static int remove_with_index(struct weir__store *store, uint32_t id,
                             const struct weir__segment_content *content, struct obstacle *obstacle)
{
    char name[WEIR__SEGMENT_NAME];
    int error = 0;
    weir__segment_name(id, name);
    if (store->segments_folder >= 0) {
        error = weir__disk_remove(store->segments_folder, name);
        /* What passes (no memory, no room) is tried again: there is nothing left to be moved. */
        if (error)
            return note_refusal(obstacle, "removed", error);
        error = weir__disk_sync_names(store->segments_folder);
        /* Before the index says of any deletion that it is spent. */
        if (error)
            doubt_names(store);
    }
    struct weir__index *index = weir__store_index_use(store);
    int dropped = weir__index_drop(index, id, content->records, content->count,
                                   weir__store_facts_changed, store);
    weir__store_index_leave(store, index);
    /* It knows a segment that is not there. What it could not do, on a full disk perhaps, says
     * nothing of the segment. */
    if (dropped)
        weir__store_renew_index(store);
    weir__store_note_index(store);
    (void)!weir__segments_remove(&store->segments, id);
    weir_counter_add(&store->counts.compacted_segments, 1);
    weir_counter_add(&store->counts.compacted_bytes, content->file_size);
    return !error && dropped ? -WEIR_E_TRANSIENT : error;
}

/* Not while the index is made anew, which would know it for good; nor by one that cannot be
 * trusted, or could not when it was asked: then it is another one now. */
static int remove_segment(struct weir__store *store, uint32_t id, uint64_t number,
                          const struct weir__segment_content *content, struct obstacle *obstacle)
{
    weir_lock_acquire(&store->lock);
    bool may = !store->index_is_stale && !store->is_reindexing && store->index_number == number;
    store->is_removing = may;
    weir_lock_release(&store->lock);
    if (!may)
        return -WEIR_E_TRANSIENT;
    int error = remove_with_index(store, id, content, obstacle);
    weir_lock_acquire(&store->lock);
    store->is_removing = false;
    weir_lock_release(&store->lock);
    return error;
}

static uint64_t index_number(struct weir__store *store)
{
    weir_lock_acquire(&store->lock);
    uint64_t number = store->index_number;
    weir_lock_release(&store->lock);
    return number;
}

#ifdef WEIR_FAULTS
static void (*decided_fn)(struct weir__store *store);

void weir__store_when_decided(void (*fn)(struct weir__store *store))
{
    decided_fn = fn;
}
#endif

static void tell_decided(struct weir__store *store)
{
    (void)store;
#ifdef WEIR_FAULTS
    if (decided_fn)
        decided_fn(store);
#endif
}

static int empty_segment(struct moves *moves, struct weir__segment *segment,
                         const struct weir__segment_content *content,
                         const struct weir_deadline *deadline)
{
    int error = 0;
    for (size_t i = 0; !error && i < content->count; i++)
        error = move_record(moves, segment, &content->records[i], deadline);
    int waited = moves_wait(moves, deadline);
    return error ? error : waited;
}

static int moves_new(struct moves **ret_moves, struct weir__store *store, struct obstacle *obstacle)
{
    struct moves *moves = weir__base_alloc(1, sizeof(*moves));
    if (!moves)
        return -WEIR_E_NO_MEMORY;
    moves->store = store;
    moves->obstacle = obstacle;
    moves->room = weir__base_alloc(1, MOVES_ROOM);
    int error = moves->room ? weir__store_reader_init(&moves->reader) : -WEIR_E_NO_MEMORY;
    if (!error)
        error = weir_budget_init(&moves->gate, "store-moves", MOVES_MAX);
    if (error) {
        weir__store_reader_fini(&moves->reader);
        weir__base_free(moves->room);
        weir__base_free(moves);
        return error;
    }
    *ret_moves = moves;
    return 0;
}

static void moves_free(struct moves *moves)
{
    weir_budget_fini(&moves->gate);
    weir__store_reader_fini(&moves->reader);
    weir__base_free(moves->room);
    weir__base_free(moves);
}

/* Whether all of its records are known: what a scan has to skip may count, and would go with the
 * segment. */
static bool is_whole(const struct weir__segment_facts *facts,
                     const struct weir__segment_content *content)
{
    return content->bad_records == 0 && content->torn_bytes == 0 &&
           (content->is_sealed || !facts->is_sealed);
}

static int load(struct weir__store *store, const struct weir__segment_facts *facts,
                struct weir__segment *segment, struct weir__segment_content *content,
                struct obstacle *obstacle)
{
    int error = weir__segment_load(content, segment->fd, facts->id, &store->identity.key);
    if (!error && !is_whole(facts, content)) {
        weir__segment_forget(content);
        error = -WEIR_E_CORRUPT;
    }
    return note_obstacle(obstacle, "read whole", error);
}

/* NotFound: somebody has taken its file away, or put another in its place. */
static int compact_segment(struct weir__store *store, const struct weir__segment_facts *facts,
                           struct obstacle *obstacle, const struct weir_deadline *deadline)
{
    struct weir__segment_content content;
    uint32_t id = facts->id;
    struct weir__segment *segment;
    struct moves *moves;
    uint64_t number = index_number(store);
    if (!weir__store_has_segment(store, id))
        return -WEIR_E_NOT_FOUND;
    int error = weir__segments_pin(&store->segments, id, &segment);
    if (error)
        return note_refusal(obstacle, "opened", error);
    error = load(store, facts, segment, &content, obstacle);
    if (!error) {
        error = moves_new(&moves, store, obstacle);
        if (!error) {
            error = empty_segment(moves, segment, &content, deadline);
            moves_free(moves);
            tell_decided(store);
        }
        if (!error)
            error = weir__store_check_deletions(store, content.records, content.count, deadline);
        if (!error)
            error = remove_segment(store, id, number, &content, obstacle);
        weir__segment_forget(&content);
    }
    weir__segments_unpin(&store->segments, segment);
    return error;
}

/* --- which one --- */

/* One that cannot be compacted is left as it is until the store is opened again, so that the others
 * have their turn. */
static void leave(struct weir__store *store, uint32_t id, const struct obstacle *obstacle)
{
    char text[TEXT_MAX];
    if (!weir__segments_leave(&store->segments, id))
        return;
    snprintf(text, sizeof(text), "%08x.seg is not compacted: it cannot be %s (%s)", id,
             obstacle->undone,
             obstacle->errno_value ? weir__log_reason(obstacle->errno_value)
                                   : weir_error_text(obstacle->error));
    if (obstacle->error == -WEIR_E_CORRUPT)
        weir__store_tell(store, NULL, text);
    else
        weir__store_say(store, text);
}

uint64_t weir__store_dead(const struct weir__store *store, const struct weir__segment_facts *facts)
{
    return facts->dead + (weir__store_keeps_deletions(store) ? 0 : facts->spent);
}

bool weir__store_is_due(const struct weir__store *store, const struct weir__segment_facts *facts,
                        uint32_t percent)
{
    uint64_t dead = weir__store_dead(store, facts);
    return facts->bytes > 0 && dead > 0 && dead * 100 >= facts->bytes * percent;
}

static uint64_t living(const struct weir__store *store, const struct weir__segment_facts *facts)
{
    return facts->bytes - weir__store_dead(store, facts);
}

/* Whether a is the one to be compacted before b. */
static bool is_better(const struct weir__store *store, const struct weir__segment_facts *a,
                      const struct weir__segment_facts *b, bool is_full)
{
    if (is_full)
        return living(store, a) < living(store, b);
    return weir__store_dead(store, a) * b->bytes > weir__store_dead(store, b) * a->bytes;
}

/* The one with the largest part of dead bytes, of those that the index has; on a full disk the one
 * with the fewest others. */
static bool choose(struct weir__store *store, uint32_t percent, bool is_full,
                   struct weir__segment_facts *ret_facts)
{
    struct weir__segment_facts facts, best = {.id = 0};
    for (uint32_t id = 0; weir__segments_next(&store->segments, id, &facts); id = facts.id)
        if (weir__store_is_due(store, &facts, percent) &&
            (best.id == 0 || is_better(store, &facts, &best, is_full)) &&
            !weir__segments_is_left(&store->segments, facts.id))
            best = facts;
    *ret_facts = best;
    return best.id != 0;
}

/* What is begun and not ended has used up the room for nothing. With footers and what is left free
 * before large content; where more is needed, a segment has no footer. */
static bool fits(struct weir__store *store, const struct weir__segment_facts *facts)
{
    uint64_t bytes = living(store, facts), slack = bytes < MOVES_SLACK ? bytes : MOVES_SLACK;
    return store->segments_folder < 0 || bytes == 0 ||
           bytes + bytes / 16 + slack <= weir__store_room_for_moves(store);
}

/* True: it is left, and another has its turn. */
static bool try_one(struct weir__store *store, const struct weir__segment_facts *facts,
                    const struct weir_deadline *deadline, int *ret_error)
{
    struct obstacle obstacle = {NULL, 0, 0};
    *ret_error = compact_segment(store, facts, &obstacle, deadline);
    if (*ret_error == -WEIR_E_NOT_FOUND) {
        /* Others may be gone as well; all of them are told at once. */
        weir__store_look_at_names(store);
        (void)weir__segments_leave(&store->segments, facts->id);
        return true;
    }
    if (obstacle.undone)
        leave(store, facts->id, &obstacle);
    return obstacle.undone != NULL;
}

static int compact_one(struct weir__store *store, uint32_t percent, bool is_full,
                       const struct weir_deadline *deadline)
{
    struct weir__segment_facts facts;
    if (!choose(store, percent, is_full, &facts))
        return -WEIR_E_NOT_FOUND;
    struct weir_permit permit = WEIR_PERMIT_NONE;
    int error = weir_budget_acquire(&store->compacting, 1, &permit, deadline);
    bool is_left = !error;
    while (is_left && !(error = weir_deadline_check(deadline))) {
        if (!choose(store, percent, is_full, &facts))
            error = -WEIR_E_NOT_FOUND;
        else if (is_full && !fits(store, &facts))
            error = -WEIR_E_NO_SPACE;
        is_left = !error && try_one(store, &facts, deadline, &error);
    }
    weir_permit_release(&permit);
    return error;
}

static bool is_full_now(struct weir__store *store)
{
    weir_lock_acquire(&store->lock);
    bool is = store->is_full || store->index_error == -WEIR_E_NO_SPACE;
    weir_lock_release(&store->lock);
    return is;
}

void weir__store_look_for_room(struct weir__store *store, const struct weir_deadline *deadline)
{
    struct weir__store_write look = {._kind = WEIR__WRITE_ROOM};
    if (is_full_now(store))
        (void)!weir__store_write_and_wait(store, &look, deadline);
}

int weir__store_compact(struct weir__store *store, uint32_t percent,
                        const struct weir_deadline *deadline)
{
    if (store->is_read_only)
        return -WEIR_E_READ_ONLY;
    bool is_full = is_full_now(store);
    int error = compact_one(store, percent, is_full, deadline);
    /* Another one may fit. */
    if (error == -WEIR_E_NO_SPACE && !is_full)
        error = compact_one(store, percent, true, deadline);
    weir_lock_acquire(&store->lock);
    store->nothing_fits = error == -WEIR_E_NO_SPACE;
    weir_lock_release(&store->lock);
    /* What was made free is kept, before somebody else has it. */
    if (!error || error == -WEIR_E_NO_SPACE)
        weir__store_look_for_room(store, deadline);
    return error;
}

/* --- by itself --- */

static uint32_t percent_now(struct weir__store *store)
{
    weir_lock_acquire(&store->lock);
    uint32_t percent = store->compact_percent;
    if (store->is_full && percent > FULL_PERCENT)
        percent = FULL_PERCENT;
    if (store->is_short && percent > SHORT_PERCENT)
        percent = SHORT_PERCENT;
    weir_lock_release(&store->lock);
    return percent;
}

/* What deletions have left dead is compacted when the index has them, which is when their segment
 * ends. A store that is full may never get there by itself, and one that is not written to any more
 * does not: there it is ended when a segment waits for that. */
static void hand_in_deletions(struct weir__store *store, uint64_t *handed_in,
                              const struct weir_deadline *deadline)
{
    uint64_t deletes = weir_counter_value(&store->counts.deletes);
    bool is_wanted = (is_full_now(store) && deletes != *handed_in) ||
                     weir__store_is_ripe(store, percent_now(store));
    if (is_wanted && weir__store_seal(store, deadline) == 0)
        *handed_in = deletes;
    weir__store_look_for_room(store, deadline);
}

int weir__store_compact_main(struct weir_crew_self *self, void *arg)
{
    struct weir__store *store = arg;
    uint64_t handed_in = UINT64_MAX; /* some may have been made before it was opened */
    struct weir_deadline until_stop = weir_deadline_until(self->stop);
    while (!weir_cancel_is_fired(self->stop)) {
        if (weir__store_compact(store, percent_now(store), &until_stop) == 0)
            continue;
        hand_in_deletions(store, &handed_in, &until_stop);
        struct weir_deadline rest = weir_deadline_in(REST_NS, self->stop);
        weir_deadline_sleep(&rest);
    }
    return 0;
}
