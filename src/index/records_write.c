/* records_write.c - the thread that writes: all that waits, in one transaction and one sync.
 *
 *     line --recv_many--> batch --judge and change--> commit, synced --> done()
 *                           |                            |
 *                           |                            +-- no room: each by itself
 *                           +-- nothing had to change: no sync
 *
 * Failures. A transaction counts as a whole or not at all, so whatever fails, the batch has failed,
 * those who lost against another of it too, since that one is not there. Where there is no room
 * each write is done once more by itself, so that only those fail that do not fit. A sync that
 * failed is not repeated: the batch is refused with Io, the environment is opened again
 * (records_env.c), and the records are said to be failing until a commit has shown that they are
 * not.
 *
 * A part of the map is kept for what makes room: purging, unpinning and removing names have to
 * copy the pages that they change. Whatever only adds is refused before that is used up.
 *
 * In memory there is nothing to sync: each write is a transaction of its own, so that nobody who
 * looks waits longer than for one.
 */
#include <errno.h>
#include <string.h>
#include <sys/statvfs.h>

#include "records_part.h"

#include "banned.h"

#define PURGE_MAX     4096u
#define PURGE_LITTLE  64u /* where there is no room, or nobody may wait */
#define RESERVE_PART  16u
#define RESERVE_BYTES (UINT64_C(64) << 20)
/* Of a disk: with less it is full, since file systems keep some blocks for themselves. */
#define DISK_BYTES 65536u

void weir__records_finish(struct weir__records_write *write, int result)
{
    write->result = result;
    write->done(write);
}

/* --- room --- */

struct room {
    uint64_t most; /* of the map: the list of free pages is looked at where that was used once */
    uint64_t used;
};

/* Pages that nobody uses any more are listed in the first table of LMDB, some in each entry. */
static int count_free(struct weir__records_reader *reader, uint64_t *ret_free)
{
    MDB_val key, value;
    uint64_t free = 0;
    int rc = mdb_cursor_open(reader->txn, 0, &reader->cursor);
    while (!rc && !(rc = mdb_cursor_get(reader->cursor, &key, &value, MDB_NEXT))) {
        size_t count;
        if (value.mv_size < sizeof(count))
            continue;
        memcpy(&count, value.mv_data, sizeof(count));
        free += count;
    }
    *ret_free = free;
    return rc == MDB_NOTFOUND ? 0 : weir__records_error(rc);
}

static int measure(struct weir__records *records, struct weir__records_reader *reader, void *arg)
{
    struct room *room = arg;
    MDB_envinfo info;
    uint64_t free = 0;
    int error = weir__records_error(mdb_env_info(records->env, &info));
    uint64_t pages = error ? 0 : (uint64_t)info.me_last_pgno + 1;
    if (!error && pages * records->page_size > room->most)
        error = count_free(reader, &free);
    room->used = (pages > free ? pages - free : 0) * records->page_size;
    return error;
}

uint64_t weir__records_used(struct weir__records *records)
{
    struct room room = {0, 0};
    return weir__records_look(records, measure, &room) < 0 ? 0 : room.used;
}

/* Whether nothing may be added. */
static bool is_tight(struct weir__records *records)
{
    uint64_t reserve = records->map_bytes / RESERVE_PART;
    if (reserve > RESERVE_BYTES)
        reserve = RESERVE_BYTES;
    struct room room = {records->map_bytes - reserve, 0};
    return weir__records_look(records, measure, &room) == 0 && room.used > room.most;
}

static bool adds(const struct weir__records_write *write)
{
    return write->action == WEIR__RECORDS_PUT || write->action == WEIR__RECORDS_SEE ||
           write->action == WEIR__RECORDS_PIN;
}

/* Whether a removal takes the place of a record of its name; what does not is one record more. */
static bool removes(struct weir__records_change *change, const struct weir__records_write *write)
{
    const struct weir__record *record = &write->record;
    MDB_val value, key = weir__records_name_key(&record->name);
    return (write->action == WEIR__RECORDS_PUT || write->action == WEIR__RECORDS_SEE) &&
           record->kind == WEIR__RECORD_NAME && record->is_removal &&
           mdb_get(change->txn, change->records->tables[WEIR__TABLE_NAMES], &key, &value) == 0;
}

/* --- a transaction --- */

struct run {
    struct weir__records_change change;
    struct weir__records_write **writes;
    size_t count;
    bool is_tight;
    bool has_begun, has_committed;
    bool is_disk_full;
    bool is_done;
};

/* A write that the disk has room for in part alone is cut short, and LMDB calls that EIO. */
static bool is_disk_full(const struct weir__records *records)
{
    struct statvfs room;
    int fd;
    if (records->is_memory || mdb_env_get_fd(records->env, &fd) || fstatvfs(fd, &room) < 0)
        return false;
    /* Some say nothing of their size. */
    return room.f_blocks > 0 && (uint64_t)room.f_bavail * room.f_frsize < DISK_BYTES;
}

static int commit(struct run *run)
{
    run->has_committed = true;
    int rc = mdb_txn_commit(run->change.txn);
    run->is_disk_full = rc == EIO && is_disk_full(run->change.records);
    return weir__records_error(rc);
}

static int run_in(void *arg)
{
    struct run *run = arg;
    struct weir__records_change *change = &run->change;
    int error = weir__records_error(mdb_txn_begin(change->records->env, NULL, 0, &change->txn));
    run->has_begun = !error;
    for (size_t i = 0; !error && !change->error && i < run->count; i++) {
        struct weir__records_write *write = run->writes[i];
        if (run->is_tight && adds(write) && !removes(change, write))
            write->result = -WEIR_E_NO_SPACE;
        else
            weir__records_apply(change, write);
    }
    if (!error && !change->error && change->has_changed) {
        error = commit(run);
    } else if (!error) {
        error = change->error;
        mdb_txn_abort(change->txn);
    }
    run->is_done = true;
    return error;
}

static void note_broken(struct weir__records *records)
{
    weir_lock_acquire(&records->lock);
    records->is_broken = records->is_held = true;
    weir_lock_release(&records->lock);
}

static void note_success(struct weir__records *records, const struct run *run)
{
    bool has_added = false;
    for (size_t i = 0; i < run->count; i++)
        has_added = has_added || (adds(run->writes[i]) && run->writes[i]->result == 0);
    weir_lock_acquire(&records->lock);
    records->is_failing = false;
    records->is_full = (records->is_full && !has_added) || run->is_tight;
    weir_lock_release(&records->lock);
    weir_counter_add(&records->counts.commits, 1);
    weir_counter_add(&records->counts.evicted, run->change.evicted);
}

static void note_failure(struct weir__records *records, int error)
{
    weir_lock_acquire(&records->lock);
    records->is_full = records->is_full || error == -WEIR_E_NO_SPACE;
    records->is_failing = records->is_failing || error != -WEIR_E_NO_SPACE;
    weir_lock_release(&records->lock);
}

static int touch_nothing(struct weir__records *records, struct weir__records_reader *reader,
                         void *arg)
{
    (void)records, (void)reader, (void)arg;
    return 0;
}

/* After a commit that failed: whether LMDB goes on, or has to be opened again. */
static void mend(struct weir__records *records, int error)
{
    bool is_usable =
        error == -WEIR_E_NO_SPACE && weir__records_look(records, touch_nothing, NULL) == 0;
    if (!is_usable && !records->is_memory)
        (void)!weir__records_env_again(records);
}

static int run(struct weir__records *records, struct weir__records_write **writes, size_t count,
               uint32_t purge_max)
{
    struct run self = {.change = {.records = records, .purge_max = purge_max},
                       .writes = writes,
                       .count = count,
                       .is_tight = is_tight(records)};
    if (records->is_memory)
        weir_lock_acquire(&records->memory_lock);
    int error = weir__mapped_read(&records->map, run_in, &self);
    if (records->is_memory)
        weir_lock_release(&records->memory_lock);
    weir_counter_add(&records->counts.corrupt, self.change.corrupt);
    if (!self.is_done)
        note_broken(records);
    if (error) {
        /* What was cut short leaves the file in as much doubt as any other failure. */
        int told = self.is_disk_full ? -WEIR_E_NO_SPACE : error;
        note_failure(records, told);
        if (self.is_done && (self.has_committed || !self.has_begun))
            mend(records, error);
        return told;
    }
    if (self.has_committed)
        note_success(records, &self);
    else if (self.is_tight)
        note_failure(records, -WEIR_E_NO_SPACE);
    return 0;
}

/* --- batches --- */

static void finish_all(struct weir__records *records, struct weir__records_write **writes,
                       size_t count, int error)
{
    for (size_t i = 0; i < count; i++) {
        struct weir__records_write *write = writes[i];
        int result = error ? error : write->result;
        if (result == -WEIR_E_CONFLICT)
            weir_counter_add(&records->counts.conflicts, 1);
        else if (result && result != -WEIR_E_NOT_FOUND)
            weir_counter_add(&records->counts.failed, 1);
        else
            weir_counter_add(&records->counts.writes, 1);
        weir__records_finish(write, result);
    }
}

/* Whether anything can be written: else the reason. */
static int check(struct weir__records *records)
{
    if (records->is_read_only)
        return -WEIR_E_READ_ONLY;
    weir_lock_acquire(&records->lock);
    bool is_broken = records->is_broken;
    weir_lock_release(&records->lock);
    if (is_broken)
        return -WEIR_E_IO;
    /* What could not be opened, or not to be written, may be by now. */
    return !records->env || records->is_stuck || records->is_doubtful
               ? weir__records_env_again(records)
               : 0;
}

static void commit_on_disk(struct weir__records *records, struct weir__records_write **batch,
                           size_t count)
{
    int error = check(records);
    if (!error)
        error = run(records, batch, count, PURGE_MAX);
    if (error != -WEIR_E_NO_SPACE || !records->env || records->is_stuck || records->is_doubtful) {
        finish_all(records, batch, count, error);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        error = check(records);
        if (!error)
            error = run(records, &batch[i], 1, PURGE_LITTLE);
        finish_all(records, &batch[i], 1, error);
    }
}

/* Little by little, so that nobody waits for long. */
static int purge_in_memory(struct weir__records *records, struct weir__records_write *write)
{
    uint64_t purged = 0;
    int error;
    do {
        error = run(records, &write, 1, PURGE_LITTLE);
        purged += write->purged;
    } while (!error && write->purged > 0 && purged < PURGE_MAX);
    write->purged = purged;
    return error;
}

static int write_in_memory(struct weir__records *records, struct weir__records_write *write)
{
    write->result = 0;
    if (write->action == WEIR__RECORDS_FORGET && weir__records_env_forget(records) == 0)
        return 0;
    int error = check(records);
    if (error)
        return error;
    return write->action == WEIR__RECORDS_PURGE ? purge_in_memory(records, write)
                                                : run(records, &write, 1, PURGE_LITTLE);
}

static void commit_in_memory(struct weir__records *records, struct weir__records_write **batch,
                             size_t count)
{
    for (size_t i = 0; i < count; i++)
        finish_all(records, &batch[i], 1, write_in_memory(records, batch[i]));
}

static void abandon(void *arg, void *item)
{
    struct weir__records_write *write;
    memcpy(&write, item, sizeof(write));
    finish_all(arg, &write, 1, -WEIR_E_CANCELED);
}

int weir__records_main(struct weir_crew_self *self, void *arg)
{
    struct weir__records *records = arg;
    struct weir__records_write *batch[WEIR__RECORDS_BATCH];
    struct weir_deadline deadline = weir_deadline_until(self->abort);
    size_t count;
    int error;
    while ((error = weir_queue_recv_many(&records->line, batch, WEIR__RECORDS_BATCH, &count,
                                         &deadline)) == 0) {
        if (records->is_memory)
            commit_in_memory(records, batch, count);
        else
            commit_on_disk(records, batch, count);
    }
    /* Aborted: whoever waits is told. */
    weir_queue_drain(&records->line, abandon, records);
    return error == -WEIR_E_CLOSED ? 0 : error;
}
