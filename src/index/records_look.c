/* records_look.c - looks at the tables: in a transaction of one's own, waiting for nobody.
 *
 * Transactions that read are kept and used again, so that a look costs a short lock and no system
 * call. It runs where a page that the disk cannot give ends the look and not the process
 * (mapped.h); then nothing is looked at any more until the records are opened again, since nobody
 * knows what else is lost.
 *
 * In memory LMDB keeps no list of its readers: there whoever looks and whoever changes take turns,
 * under a lock, for a few microseconds each. The lock is taken before a transaction is, so that who
 * has it may put another environment in the place of this one.
 */
#include "alloc.h"
#include "records_part.h"

#include "banned.h"

static int reader_take(struct weir__records *records, struct weir__records_reader **ret_reader)
{
    weir_lock_acquire(&records->lock);
    struct weir__records_reader *reader = NULL;
    /* While it is opened again there is none for a moment, which is no failure of its own. */
    int error = records->is_paused                    ? -WEIR_E_TRANSIENT
                : records->is_broken || !records->env ? -WEIR_E_IO
                                                      : 0;
    if (!error) {
        reader = records->idle;
        if (reader)
            records->idle = reader->next;
        records->looking++;
    }
    weir_lock_release(&records->lock);
    if (error)
        return error;
    if (!reader && !(reader = weir__base_alloc(1, sizeof(*reader)))) {
        weir_lock_acquire(&records->lock);
        records->looking--;
        weir_lock_release(&records->lock);
        return -WEIR_E_NO_MEMORY;
    }
    *ret_reader = reader;
    return 0;
}

static void reader_give(struct weir__records *records, struct weir__records_reader *reader,
                        bool is_lost)
{
    bool is_kept = reader->txn != NULL;
    if (is_kept && !is_lost)
        mdb_txn_reset(reader->txn);
    weir_lock_acquire(&records->lock);
    struct weir__records_reader **list = is_lost ? &records->lost : &records->idle;
    if (is_kept) {
        reader->next = *list;
        *list = reader;
    }
    records->is_broken = records->is_broken || is_lost;
    records->looking--;
    weir_lock_release(&records->lock);
    if (!is_kept)
        weir__base_free(reader);
}

struct look {
    struct weir__records *records;
    struct weir__records_reader *reader;
    int (*fn)(struct weir__records *records, struct weir__records_reader *reader, void *arg);
    void *arg;
    bool is_done;
};

static int look(void *arg)
{
    struct look *self = arg;
    struct weir__records_reader *reader = self->reader;
    int rc = reader->txn ? mdb_txn_renew(reader->txn)
                         : mdb_txn_begin(self->records->env, NULL, MDB_RDONLY, &reader->txn);
    int error = rc ? weir__records_error(rc) : self->fn(self->records, reader, self->arg);
    if (reader->cursor)
        mdb_cursor_close(reader->cursor);
    reader->cursor = NULL;
    self->is_done = true;
    return error;
}

static int look_once(struct look *self)
{
    int error = reader_take(self->records, &self->reader);
    if (error)
        return error;
    error = weir__mapped_read(&self->records->map, look, self);
    reader_give(self->records, self->reader, !self->is_done);
    return error;
}

int weir__records_look(struct weir__records *records,
                       int (*fn)(struct weir__records *records, struct weir__records_reader *reader,
                                 void *arg),
                       void *arg)
{
    struct look self = {.records = records, .fn = fn, .arg = arg};
    if (!records->is_memory)
        return look_once(&self);
    weir_lock_acquire(&records->memory_lock);
    int error = look_once(&self);
    weir_lock_release(&records->memory_lock);
    return error;
}

int weir__records_cursor(struct weir__records *records, struct weir__records_reader *reader,
                         enum weir__records_table table)
{
    return weir__records_error(
        mdb_cursor_open(reader->txn, records->tables[table], &reader->cursor));
}

void weir__records_free_readers(struct weir__records_reader *list)
{
    while (list) {
        struct weir__records_reader *reader = list;
        list = reader->next;
        if (reader->cursor)
            mdb_cursor_close(reader->cursor);
        mdb_txn_abort(reader->txn);
        weir__base_free(reader);
    }
}
