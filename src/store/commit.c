/* commit.c - the thread that writes: all that waits, at once, and made to last together.
 *
 * A batch is what the queue holds. Each write is judged against what is there (tails, index, and
 * what this batch has written before it), which nobody else changes, so that the judgement holds.
 * What has to be written is gathered into runs that fit into the active segment; a run is one
 * gathered write and one sync. Then its records are shown to readers, and then its writes are done.
 *
 *     batch --judge--> run --write, sync--> tail --> done()
 *               |        |
 *               |        +-- full: footer, next segment (before the run)
 *               +-- nothing to write: done with the run, since it may rest on a record in it
 *
 * Failures. What was begun is cut off again, and the cut made to last: a record that failed, and of
 * which some or all may be on the disk, must not count when the store is opened next, since others
 * are answered meanwhile by what was there without it (a put by PRESENT after a deletion that
 * failed). Until that is done nothing is written, nor does anybody vouch for what is there
 * (find.c); it is tried with each write, every SETTLE_NS, and at the end. No room: the writes of
 * the run are told so, and the segment is as before. Anything else: the segment is abandoned (its
 * records count, it has no footer, nobody writes to it any more), and the next run begins another
 * one. A sync that failed is not repeated: what it was to make last may be gone from memory
 * already, and a second one would say that all is well.
 *
 * Where a run finds no room, its deletions and moves are judged and written once more, alone, in
 * the room that was kept for them (reserve.c).
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

#define TEXT_MAX 160u
/* Between two tries to cut off what failed, where nobody writes. */
#define SETTLE_NS WEIR_NS_PER_S

/* A write of the batch that has a record. */
struct planned {
    struct weir__store_write *write;
    struct weir__entry record, meaning;
    struct weir__entry before; /* what counted for its address; sequence 0: nobody knows, or none */
    uint32_t gap;              /* zeros before it */
    unsigned char head[WEIR__RECORD_HEAD];
};

struct weir__store_run {
    struct planned planned[WEIR__STORE_BATCH];
    size_t count;
    uint32_t end; /* of the segment, behind the run */
    /* Done with the run, without a record of their own. */
    struct weir__store_write *idle[WEIR__STORE_BATCH];
    size_t idle_count;
    struct iovec parts[4 * WEIR__STORE_BATCH];
};

static const unsigned char zeros[WEIR__RECORD_PAGE];

struct weir__store_run *weir__store_run_new(void)
{
    return weir__base_alloc(1, sizeof(struct weir__store_run));
}

static uint32_t wall_s(void)
{
    int64_t now = weir_wall_s();
    return now < 0 || now > UINT32_MAX ? 0 : (uint32_t)now;
}

static void finish(struct weir__store *store, struct weir__store_write *write, int result)
{
    write->result = result;
    weir_permit_release(&write->_permit);
    weir__store_withdraw(store, write);
    write->done(write);
}

/* --- judging --- */

static int known_of(struct weir__store *store, const struct weir__address *address,
                    struct weir__entry *ret_entry)
{
    if (weir__map_get(&store->writer.batch, address, ret_entry))
        return 0;
    return weir__store_lookup(store, address, ret_entry, NULL);
}

static bool is_same_place(const struct weir__entry *a, const struct weir__entry *b)
{
    return a->place.segment == b->place.segment && a->place.offset == b->place.offset;
}

static enum weir__record_type type_of(const struct weir__store_write *write)
{
    if (write->_kind == WEIR__WRITE_MOVE)
        return write->_from.type;
    if (write->_kind == WEIR__WRITE_BAD)
        return WEIR__RECORD_BAD;
    static const enum weir__record_type types[] = {
        [WEIR__STORE_PUT] = WEIR__RECORD_CHUNK,
        [WEIR__STORE_DELETE] = WEIR__RECORD_DELETED,
        [WEIR__STORE_TOUCH] = WEIR__RECORD_TOUCHED,
    };
    return types[write->action];
}

/* Whether the write has to be written: WEIR__STORE_PRESENT, NotFound or another error if not. */
static int judge(struct weir__store *store, const struct weir__store_write *write,
                 struct weir__entry *ret_known)
{
    *ret_known = (struct weir__entry){.sequence = 0};
    int error = known_of(store, &write->address, ret_known);
    bool is_there = !error && ret_known->type == WEIR__RECORD_CHUNK;
    /* Nobody knows while the index is made anew. A chunk that is there twice, or a deletion of
     * nothing, does no harm; a touch has to know what it touches. */
    if (error == -WEIR_E_TRANSIENT && write->_kind == WEIR__WRITE_PLAIN &&
        write->action != WEIR__STORE_TOUCH)
        return 0;
    if (error && error != -WEIR_E_NOT_FOUND)
        return error;
    if (write->_kind == WEIR__WRITE_MOVE && write->_from.type == WEIR__RECORD_TOUCHED)
        return is_there && ret_known->time_s == write->_from.time_s ? 0 : -WEIR_E_NOT_FOUND;
    bool is_bad = !error && ret_known->type == WEIR__RECORD_BAD;
    if (write->_kind == WEIR__WRITE_SALVAGE)
        return is_bad && ret_known->sequence == write->_from.sequence ? 0 : -WEIR_E_NOT_FOUND;
    if (write->_kind != WEIR__WRITE_PLAIN)
        return !error && is_same_place(ret_known, &write->_from) ? 0 : -WEIR_E_NOT_FOUND;
    bool is_certain = weir__store_is_certain(store, error ? NULL : ret_known);
    if (write->action == WEIR__STORE_PUT)
        return is_there && !write->replaces && is_certain &&
                       weir__store_has_segment(store, ret_known->place.segment)
                   ? WEIR__STORE_PRESENT
                   : 0;
    /* What is damaged may be salvaged: to delete it is to say that nobody wants that. */
    bool may_come = write->action == WEIR__STORE_DELETE && (is_bad || !is_certain);
    return is_there || may_come ? 0 : -WEIR_E_NOT_FOUND;
}

static void plan(struct weir__store *store, struct weir__store_run *run,
                 struct weir__store_write *write, const struct weir__entry *known)
{
    struct weir__writer *writer = &store->writer;
    struct planned *planned = &run->planned[run->count++];
    bool is_move = write->_kind == WEIR__WRITE_MOVE;
    bool is_touch = type_of(write) == WEIR__RECORD_TOUCHED;
    planned->write = write;
    planned->gap = weir__record_gap(run->end, write->length);
    run->end += planned->gap;
    planned->record = (struct weir__entry){
        .address = write->address,
        .sequence = is_move ? write->_from.sequence : writer->next_sequence++,
        .place = {writer->id, run->end},
        .size = WEIR__RECORD_HEAD + write->length,
        .time_s = is_move && !is_touch ? known->time_s : wall_s(),
        .type = type_of(write),
    };
    if (is_move && is_touch)
        planned->record.time_s = write->_from.time_s;
    planned->meaning = planned->record;
    planned->before = *known;
    if (is_touch) {
        planned->meaning = *known;
        planned->meaning.time_s = planned->record.time_s;
    }
    struct weir__record record = {planned->record.type,    planned->record.sequence,
                                  planned->record.size,    planned->record.time_s,
                                  planned->record.address, weir__store_synced(writer)};
    weir__record_encode(&record, &store->identity.key, planned->record.place, planned->head);
    run->end += weir__record_span(record.size);
    weir__map_set(&writer->batch, &planned->meaning);
}

/* --- a run --- */

static int gather(struct weir__store_run *run)
{
    int count = 0;
    for (size_t i = 0; i < run->count; i++) {
        const struct planned *planned = &run->planned[i];
        uint32_t size = planned->record.size, padding = weir__record_span(size) - size;
        if (planned->gap > 0)
            run->parts[count++] = (struct iovec){(void *)(uintptr_t)zeros, planned->gap};
        run->parts[count++] = (struct iovec){(void *)(uintptr_t)planned->head, WEIR__RECORD_HEAD};
        if (planned->write->length > 0)
            run->parts[count++] =
                (struct iovec){(void *)(uintptr_t)planned->write->bytes, planned->write->length};
        if (padding > 0)
            run->parts[count++] = (struct iovec){(void *)(uintptr_t)zeros, padding};
    }
    return count;
}

static void tell_failing(struct weir__store *store)
{
    char text[TEXT_MAX];
    snprintf(text, sizeof(text), "writes fail: %s", weir__log_reason(store->writer.disk_errno));
    weir__store_say(store, text);
}

/* Each state lasts until a success shows that it is over: an error of another kind says nothing of
 * it. A disk that fails is told when that begins. */
static void note_failure(struct weir__store *store, int error)
{
    bool is_of_disk = error == -WEIR_E_IO || error == -WEIR_E_READ_ONLY;
    weir_lock_acquire(&store->lock);
    bool is_news = is_of_disk && !store->is_failing;
    store->is_full = store->is_full || error == -WEIR_E_NO_SPACE;
    store->is_failing = store->is_failing || is_of_disk;
    weir_lock_release(&store->lock);
    if (is_news)
        tell_failing(store);
    if (error == -WEIR_E_NO_SPACE)
        weir_counter_add(&store->counts.writes_no_space, 1);
    else
        weir_counter_add(&store->counts.writes_failed, 1);
}

/* What was written lasts, so the disk does not fail; it has room if somebody's chunk was among it,
 * and not only what may use the last of it. */
static void note_success(struct weir__store *store, const struct weir__store_run *run)
{
    bool has_put = false;
    for (size_t i = 0; i < run->count && !has_put; i++)
        has_put = run->planned[i].write->_kind == WEIR__WRITE_PLAIN &&
                  run->planned[i].record.type == WEIR__RECORD_CHUNK;
    weir_lock_acquire(&store->lock);
    store->is_full = store->is_full && !has_put;
    store->is_failing = false;
    weir_lock_release(&store->lock);
}

/* Writes the run and makes it last. After an error the segment is as it was, or abandoned. */
static int write_run(struct weir__store *store, struct weir_crew_self *self,
                     struct weir__store_run *run)
{
    struct weir__writer *writer = &store->writer;
    int error = weir__disk_write(&writer->file, run->parts, gather(run), writer->end);
    bool is_sound = error == -WEIR_E_NO_SPACE;
    if (!error && (error = weir__disk_sync(&writer->file))) {
        weir_counter_add(&store->counts.syncs_failed, 1);
        is_sound = false;
    }
    if (!error && !weir__store_has_segment(store, writer->id)) {
        errno = ESTALE;
        error = -WEIR_E_IO;
    }
    if (!error)
        return 0;
    error = weir__store_disk_failed(store, error);
    if (!is_sound || weir__disk_cut(&writer->file, writer->end) || weir__disk_sync(&writer->file))
        weir__store_abandon(store, self);
    return error;
}

static bool is_chunk(const struct weir__entry *entry)
{
    return entry->sequence > 0 && entry->type == WEIR__RECORD_CHUNK;
}

static void show_run(struct weir__store *store, const struct weir__store_run *run)
{
    struct weir__tail *tail = store->active;
    size_t from = tail->killed_count;
    uint64_t bytes = 0;
    weir_lock_acquire(&store->lock);
    for (size_t i = 0; i < run->count; i++) {
        const struct planned *planned = &run->planned[i];
        weir__tail_add(tail, &planned->record, &planned->meaning);
        store->chunk_count += is_chunk(&planned->meaning) - is_chunk(&planned->before);
        if (is_chunk(&planned->before) && planned->record.type != WEIR__RECORD_TOUCHED)
            weir__tail_kill(tail, &planned->before);
        bytes += weir__record_span(planned->record.size);
    }
    store->writer.end = run->end;
    tail->end = run->end;
    weir_lock_release(&store->lock);
    weir__segments_grow(&store->segments, tail->segment, bytes);
    weir__store_doom(store, tail, from);
    for (size_t i = 0; i < run->count; i++)
        if (run->planned[i].record.type == WEIR__RECORD_DELETED ||
            run->planned[i].record.type == WEIR__RECORD_BAD || run->planned[i].write->replaces)
            weir__hot_forget(&store->hot, &run->planned[i].record.address);
}

static void count_done(struct weir__store *store, const struct planned *planned)
{
    struct weir__store_counts *counts = &store->counts;
    if (planned->write->_kind != WEIR__WRITE_PLAIN)
        return;
    if (planned->record.type == WEIR__RECORD_CHUNK) {
        weir_counter_add(&counts->puts, 1);
        weir_counter_add(&counts->put_bytes, planned->write->length);
    } else {
        weir_counter_add(
            planned->record.type == WEIR__RECORD_DELETED ? &counts->deletes : &counts->touches, 1);
    }
}

static bool is_deletion(const struct weir__store_write *write)
{
    return write->_kind == WEIR__WRITE_PLAIN && write->action == WEIR__STORE_DELETE;
}

static bool is_move(const struct weir__store_write *write)
{
    return write->_kind == WEIR__WRITE_MOVE;
}

static bool makes_room(const struct weir__store_write *write)
{
    return is_deletion(write) || is_move(write);
}

/* What is kept for others is kept: of that for moves deletions write nothing, and of that for both
 * nothing else does. */
static int keep_reserve(struct weir__store *store, const struct weir__store_write *write)
{
    if (is_move(write))
        return 0;
    int error = is_deletion(write) ? weir__store_reserve_take_for_moves(store)
                                   : weir__store_reserve_take(store);
    return error == -WEIR_E_NO_SPACE ? error : 0;
}

/* Whether the write rests on one that the run has written. */
static bool is_in_batch(struct weir__store *store, const struct weir__store_write *write)
{
    struct weir__entry entry;
    return weir__map_get(&store->writer.batch, &write->address, &entry);
}

/* Leaves of a run for which there is no room what makes room, and what rests on nothing that is
 * refused. */
static void refuse_what_fills(struct weir__store *store, struct weir__store_run *run)
{
    struct weir__store_write *again[WEIR__STORE_BATCH];
    size_t count = 0, kept = 0;
    for (size_t i = 0; i < run->count; i++) {
        if (makes_room(run->planned[i].write))
            again[count++] = run->planned[i].write;
        else
            finish(store, run->planned[i].write, -WEIR_E_NO_SPACE);
    }
    for (size_t i = 0; i < run->idle_count; i++) {
        if (!is_in_batch(store, run->idle[i]))
            run->idle[kept++] = run->idle[i];
        else if (makes_room(run->idle[i]))
            again[count++] = run->idle[i];
        else
            finish(store, run->idle[i], -WEIR_E_NO_SPACE);
    }
    run->count = 0;
    run->idle_count = kept;
    run->end = store->writer.end;
    weir__map_clear(&store->writer.batch);
    for (size_t i = 0; i < count; i++) {
        struct weir__entry known;
        again[i]->result = judge(store, again[i], &known);
        if (again[i]->result == 0)
            plan(store, run, again[i], &known);
        else
            run->idle[run->idle_count++] = again[i];
    }
}

/* What makes room is written where there is none for anything else. */
static int write_with_reserve(struct weir__store *store, struct weir_crew_self *self,
                              struct weir__store_run *run)
{
    bool has_move = false, has_some = false, has_other = false;
    int error = write_run(store, self, run);
    if (error)
        note_failure(store, error);
    for (size_t i = 0; i < run->count; i++) {
        has_move = has_move || is_move(run->planned[i].write);
        has_some = has_some || makes_room(run->planned[i].write);
        has_other = has_other || !makes_room(run->planned[i].write);
    }
    /* The segment may have been abandoned. */
    if (error != -WEIR_E_NO_SPACE || !has_some || store->writer.file.fd < 0)
        return error;
    /* If the reserve is given away already, there may still be room for less. */
    if (!weir__store_reserve_give(store, has_move) && !has_other)
        return error;
    refuse_what_fills(store, run);
    error = run->count > 0 ? write_run(store, self, run) : 0;
    if (error)
        note_failure(store, error);
    return error;
}

/* What rests on a run that failed has failed with it. */
static void end_run(struct weir__store *store, struct weir_crew_self *self,
                    struct weir__store_run *run)
{
    int error = run->count > 0 ? write_with_reserve(store, self, run) : 0;
    weir__store_note_disk(store, true); /* it has answered */
    if (!error && run->count > 0) {
        note_success(store, run);
        weir_counter_add(&store->counts.commits, 1);
        show_run(store, run);
    }
    for (size_t i = 0; i < run->count; i++) {
        struct weir__store_write *write = run->planned[i].write;
        write->sequence = run->planned[i].record.sequence;
        if (!error)
            count_done(store, &run->planned[i]);
        finish(store, write, error);
    }
    for (size_t i = 0; i < run->idle_count; i++) {
        struct weir__store_write *write = run->idle[i];
        int result = write->result;
        if (error && is_in_batch(store, write))
            result = error;
        if (result == WEIR__STORE_PRESENT)
            weir_counter_add(&store->counts.puts_present, 1);
        finish(store, write, result);
    }
    run->count = run->idle_count = 0;
    run->end = store->writer.end;
    /* What it wrote is found in the tail now, or nowhere. */
    weir__map_clear(&store->writer.batch);
}

/* Of a store in memory: for another segment. What makes it fuller leaves one for what makes room:
 * deletions, and what is moved out of segments with many of them. */
static bool has_memory(struct weir__store *store, const struct weir__store_write *write)
{
    struct weir__segments_stats stats;
    if (store->segments_folder >= 0)
        return true;
    bool makes_room = write->_kind != WEIR__WRITE_PLAIN || write->action == WEIR__STORE_DELETE;
    weir__segments_read(&store->segments, &stats);
    return (stats.count + (makes_room ? 1 : 2)) * store->options.segment_bytes <=
           store->options.memory_max;
}

static bool has_room(struct weir__store *store, const struct weir__store_run *run, uint32_t size)
{
    return (uint64_t)run->end + WEIR__RECORD_PAGE + weir__record_span(size) <=
               store->options.segment_bytes &&
           store->active->count + run->count < WEIR__SEGMENT_COUNT;
}

/* An active segment with room for the write, the run before it ended if it must be. */
static int find_room(struct weir__store *store, struct weir_crew_self *self,
                     struct weir__store_run *run, const struct weir__store_write *write)
{
    struct weir__writer *writer = &store->writer;
    if (writer->file.fd < 0 && store->active)
        return -WEIR_E_CANCELED; /* it was to be abandoned when the store was closed */
    if (keep_reserve(store, write))
        return -WEIR_E_NO_SPACE;
    bool is_full = writer->file.fd < 0 || !has_room(store, run, WEIR__RECORD_HEAD + write->length);
    int error = is_full && !has_memory(store, write) ? -WEIR_E_NO_SPACE : 0;
    if (!error && is_full) {
        end_run(store, self, run);
        error = weir__store_end_segment(store, self);
    }
    if (!error && writer->file.fd < 0) {
        error = weir__store_settle(store);
        if (!error)
            error = weir__store_begin_segment(store);
        if (error == -WEIR_E_NO_SPACE && makes_room(write) &&
            weir__store_reserve_give(store, is_move(write)))
            error = weir__store_begin_segment(store);
        run->end = writer->end;
    }
    if (!error)
        error = weir__tail_reserve(store->active, run->count + 1, &store->lock);
    return error;
}

/* A disk that was full may have room again, and nobody who writes. An index that has none is given
 * what deletions would have: without it nobody knows what is dead. If that does not do, it is made
 * anew, in memory if it must be, and gives its own room back. */
static void look_for_room(struct weir__store *store)
{
    struct weir__store_write put = {.action = WEIR__STORE_PUT};
    weir_lock_acquire(&store->lock);
    bool index_waits = store->index_error == -WEIR_E_NO_SPACE;
    weir_lock_release(&store->lock);
    bool is_second = index_waits && store->writer.has_helped;
    store->writer.has_helped = index_waits;
    if (is_second)
        weir__store_renew_index(store);
    else if (index_waits)
        (void)weir__store_reserve_give(store, false);
    if (index_waits)
        return;
    bool is_on_disk = store->segments_folder >= 0;
    bool has = is_on_disk ? weir__store_has_room(store) : has_memory(store, &put);
    weir_lock_acquire(&store->lock);
    store->is_full = store->is_full && !has;
    store->is_short =
        store->is_full && is_on_disk && store->writer.reserve_held <= store->writer.reserve_moves;
    bool is_stuck = store->is_short && store->nothing_fits;
    weir_lock_release(&store->lock);
    if (is_stuck)
        weir__store_reserve_yield(store);
}

static void take_write(struct weir__store *store, struct weir_crew_self *self,
                       struct weir__store_run *run, struct weir__store_write *write)
{
    struct weir__entry known = {.sequence = 0};
    int result = weir__store_settle(store);
    if (result) {
        note_failure(store, result);
        finish(store, write, result);
        return;
    }
    if (write->_kind == WEIR__WRITE_SEAL) {
        end_run(store, self, run);
        finish(store, write,
               store->active && store->active->count > 0 ? weir__store_end_segment(store, self)
                                                         : 0);
        return;
    }
    if (write->_kind == WEIR__WRITE_ROOM) {
        end_run(store, self, run);
        look_for_room(store);
        finish(store, write, 0);
        return;
    }
    result = judge(store, write, &known);
    if (result == 0) {
        size_t count = run->count;
        result = find_room(store, self, run, write);
        /* What it was judged by may have failed with the run that was ended. */
        if (result == 0 && run->count < count)
            result = judge(store, write, &known);
    }
    if (result == WEIR__STORE_PRESENT || result == -WEIR_E_NOT_FOUND) {
        write->result = result;
        run->idle[run->idle_count++] = write;
        return;
    }
    if (result) {
        note_failure(store, result);
        finish(store, write, result);
        return;
    }
    plan(store, run, write, &known);
}

static void commit(struct weir__store *store, struct weir_crew_self *self,
                   struct weir__store_run *run, struct weir__store_write **batch, size_t count)
{
    run->count = run->idle_count = 0;
    run->end = store->writer.end;
    weir__store_note_disk(store, true);
    weir__store_reserve_look(store);
    for (size_t i = 0; i < count; i++)
        take_write(store, self, run, batch[i]);
    end_run(store, self, run);
    weir__store_note_disk(store, false);
}

static void settle_now(struct weir__store *store)
{
    weir__store_note_disk(store, true);
    (void)!weir__store_settle(store); /* that it fails was told */
    weir__store_note_disk(store, false);
}

int weir__store_commit_main(struct weir_crew_self *self, void *arg)
{
    struct weir__store *store = arg;
    struct weir__store_write *batch[WEIR__STORE_BATCH];
    size_t count;
    int error = 0;
    while (!error || error == -WEIR_E_TIMEOUT) {
        bool is_settled = store->writer.doubtful.fd < 0;
        struct weir_deadline deadline = is_settled ? weir_deadline_until(self->abort)
                                                   : weir_deadline_in(SETTLE_NS, self->abort);
        error = weir_queue_recv_many(&store->writes, batch, WEIR__STORE_BATCH, &count, &deadline);
        if (!error)
            commit(store, self, store->run, batch, count);
        else if (!is_settled)
            settle_now(store);
    }
    weir_queue_close(&store->tails);
    return 0;
}
