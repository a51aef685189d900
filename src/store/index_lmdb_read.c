/* index_lmdb_read.c - lookups and walks in the index in a folder.
 *
 * Transactions that read are kept and used again: a lookup costs a short lock and no system call.
 * They run where a page that the disk cannot give ends the lookup and not the process (mapped.h);
 * the index is not used again then, and what the lookup had taken of memory is lost.
 */
#include "index_lmdb.h"

#include "alloc.h"
#include "sys.h"

#include "banned.h"

void weir__lmdb_break(struct weir__lmdb *lmdb, bool is_held)
{
    weir_lock_acquire(&lmdb->lock);
    lmdb->is_broken = true;
    lmdb->is_held = lmdb->is_held || is_held;
    weir_lock_release(&lmdb->lock);
}

static int reader_take(struct weir__lmdb *lmdb, struct weir__lmdb_reader **ret_reader)
{
    weir_lock_acquire(&lmdb->lock);
    struct weir__lmdb_reader *reader = lmdb->idle;
    bool is_broken = lmdb->is_broken;
    if (reader)
        lmdb->idle = reader->next;
    weir_lock_release(&lmdb->lock);
    if (!is_broken && !reader && !(reader = weir__base_alloc(1, sizeof(*reader))))
        return -WEIR_E_NO_MEMORY;
    if (!is_broken) {
        *ret_reader = reader;
        return 0;
    }
    if (reader && reader->txn)
        mdb_txn_abort(reader->txn);
    weir__base_free(reader);
    return -WEIR_E_IO;
}

static void reader_give(struct weir__lmdb *lmdb, struct weir__lmdb_reader *reader)
{
    mdb_txn_reset(reader->txn);
    weir_lock_acquire(&lmdb->lock);
    reader->next = lmdb->idle;
    lmdb->idle = reader;
    weir_lock_release(&lmdb->lock);
}

struct look {
    struct weir__lmdb *lmdb;
    struct weir__lmdb_reader *reader;
    int (*fn)(struct weir__lmdb *lmdb, MDB_txn *txn, void *arg);
    void *arg;
    bool is_begun;
};

static int look(void *arg)
{
    struct look *self = arg;
    struct weir__lmdb_reader *reader = self->reader;
    int rc = reader->txn ? mdb_txn_renew(reader->txn)
                         : mdb_txn_begin(self->lmdb->env, NULL, MDB_RDONLY, &reader->txn);
    self->is_begun = true;
    return rc ? weir__lmdb_error(rc) : self->fn(self->lmdb, reader->txn, self->arg);
}

int weir__lmdb_reading(struct weir__lmdb *lmdb,
                       int (*fn)(struct weir__lmdb *lmdb, MDB_txn *txn, void *arg), void *arg)
{
    struct weir__lmdb_reader *reader;
    int error = reader_take(lmdb, &reader);
    if (error)
        return error;
    struct look self = {.lmdb = lmdb, .reader = reader, .fn = fn, .arg = arg};
    error = weir__mapped_read(&lmdb->map, look, &self);
    if (!reader->txn && error != -WEIR_E_IO) {
        weir__base_free(reader);
        return error;
    }
    if (error != -WEIR_E_IO) {
        reader_give(lmdb, reader);
        return error;
    }
    /* Left in the middle: the transaction is not to be used again. */
    weir__lmdb_break(lmdb, !self.is_begun);
    weir__base_free(reader);
    return error;
}

struct find {
    const struct weir__address *address;
    struct weir__known known;
};

static int find_live(struct weir__lmdb *lmdb, MDB_txn *txn, void *arg)
{
    struct find *find = arg;
    MDB_val key = weir__lmdb_key(find->address), value;
    int rc = mdb_get(txn, lmdb->live, &key, &value);
    return rc ? weir__lmdb_error(rc) : weir__live_get(&key, &value, &find->known);
}

int weir__lmdb_get(struct weir__index *index, const struct weir__address *address,
                   struct weir__entry *ret_entry)
{
    struct find find = {.address = address};
    int error = weir__lmdb_reading(weir__lmdb_of(index), find_live, &find);
    if (!error)
        *ret_entry = find.known.entry;
    return error;
}

int weir__lmdb_touch(struct weir__index *index, const struct weir__address *address,
                     struct weir__place *ret_place)
{
    struct find find = {.address = address};
    int error = weir__lmdb_reading(weir__lmdb_of(index), find_live, &find);
    if (!error && find.known.touch.segment == 0)
        error = -WEIR_E_NOT_FOUND;
    if (!error)
        *ret_place = find.known.touch;
    return error;
}

int weir__lmdb_find_chunks(struct weir__lmdb *lmdb, MDB_txn *txn, struct weir__lmdb_chunks *find)
{
    unsigned char least[KEY_DEAD] = {0};
    MDB_cursor *cursor;
    memcpy(least, find->address->bytes, WEIR__ADDRESS_SIZE);
    MDB_val key = {sizeof(least), least}, value;
    int rc = mdb_cursor_open(txn, lmdb->dead, &cursor);
    if (rc)
        return weir__lmdb_error(rc);
    rc = mdb_cursor_get(cursor, &key, &value, MDB_SET_RANGE);
    while (!rc && find->count < find->room && key.mv_size == KEY_DEAD &&
           memcmp(key.mv_data, find->address->bytes, WEIR__ADDRESS_SIZE) == 0) {
        const unsigned char *at = (const unsigned char *)key.mv_data + WEIR__ADDRESS_SIZE;
        struct weir__place place = {weir__get_be32(at), weir__get_be32(at + 4)};
        if (place.segment != find->except && weir__dead_is_chunk(&value))
            find->places[find->count++] = place;
        rc = mdb_cursor_get(cursor, &key, &value, MDB_NEXT);
    }
    mdb_cursor_close(cursor);
    return rc == MDB_NOTFOUND ? 0 : weir__lmdb_error(rc);
}

static int find_dead(struct weir__lmdb *lmdb, MDB_txn *txn, void *arg)
{
    return weir__lmdb_find_chunks(lmdb, txn, arg);
}

int weir__lmdb_has_older(struct weir__index *index, const struct weir__address *address,
                         uint32_t segment, bool *ret_has)
{
    struct weir__place place;
    struct weir__lmdb_chunks find = {address, segment, &place, 1, 0};
    int error = weir__lmdb_reading(weir__lmdb_of(index), find_dead, &find);
    if (!error)
        *ret_has = find.count > 0;
    return error;
}

int weir__lmdb_dead(struct weir__index *index, const struct weir__address *address,
                    struct weir__place *places, size_t room, size_t *ret_count)
{
    struct weir__lmdb_chunks find = {address, 0, places, room, 0};
    int error = weir__lmdb_reading(weir__lmdb_of(index), find_dead, &find);
    if (!error)
        *ret_count = find.count;
    return error;
}

/* A walk is made in steps, each its own transaction: one that lasts keeps pages from being used
 * again, and what is called must not be left in the middle. */
#define STEP 256

struct steps {
    unsigned char from[WEIR__ADDRESS_SIZE];
    size_t from_size;
    bool is_behind; /* from was told already */
    bool is_segments;
    size_t count;
    union {
        struct weir__known known;
        struct weir__segment_facts facts;
    } found[STEP];
};

static int step(struct weir__lmdb *lmdb, MDB_txn *txn, void *arg)
{
    struct steps *steps = arg;
    MDB_val key = {steps->from_size, steps->from}, value;
    MDB_cursor *cursor;
    int error = 0;
    steps->count = 0;
    int rc = mdb_cursor_open(txn, steps->is_segments ? lmdb->segments : lmdb->live, &cursor);
    if (rc)
        return weir__lmdb_error(rc);
    rc = mdb_cursor_get(cursor, &key, &value, MDB_SET_RANGE);
    if (!rc && steps->is_behind && key.mv_size == steps->from_size &&
        memcmp(key.mv_data, steps->from, key.mv_size) == 0)
        rc = mdb_cursor_get(cursor, &key, &value, MDB_NEXT);
    while (!rc && !error && steps->count < STEP) {
        error = steps->is_segments
                    ? weir__facts_get(&key, &value, &steps->found[steps->count].facts)
                    : weir__live_get(&key, &value, &steps->found[steps->count].known);
        /* Whoever began it did not end it. */
        if (!error && steps->is_segments && steps->found[steps->count].facts.is_partial)
            error = -WEIR_E_CORRUPT;
        if (error)
            break;
        steps->count++;
        memcpy(steps->from, key.mv_data, key.mv_size);
        rc = mdb_cursor_get(cursor, &key, &value, MDB_NEXT);
    }
    mdb_cursor_close(cursor);
    return error || rc == MDB_NOTFOUND ? error : weir__lmdb_error(rc);
}

int weir__lmdb_walk(struct weir__index *index, const struct weir__address *from,
                    int (*fn)(void *arg, const struct weir__entry *entry), void *arg)
{
    struct steps *steps = weir__base_alloc(1, sizeof(*steps));
    int error = steps ? 0 : -WEIR_E_NO_MEMORY;
    if (steps)
        steps->from_size = WEIR__ADDRESS_SIZE;
    if (steps && from)
        memcpy(steps->from, from->bytes, WEIR__ADDRESS_SIZE);
    do {
        if (!error)
            error = weir__lmdb_reading(weir__lmdb_of(index), step, steps);
        for (size_t i = 0; !error && i < steps->count; i++)
            error = fn(arg, &steps->found[i].known.entry);
        if (steps)
            steps->is_behind = true;
    } while (!error && steps->count > 0);
    weir__base_free(steps);
    return error;
}

int weir__lmdb_segments(struct weir__index *index,
                        int (*fn)(void *arg, const struct weir__segment_facts *), void *arg)
{
    struct steps *steps = weir__base_alloc(1, sizeof(*steps));
    int error = steps ? 0 : -WEIR_E_NO_MEMORY;
    if (steps) {
        steps->from_size = 4;
        steps->is_segments = true;
    }
    do {
        if (!error)
            error = weir__lmdb_reading(weir__lmdb_of(index), step, steps);
        for (size_t i = 0; !error && i < steps->count; i++)
            error = fn(arg, &steps->found[i].facts);
        if (steps)
            steps->is_behind = true;
    } while (!error && steps->count > 0);
    weir__base_free(steps);
    return error;
}

static int count_all(struct weir__lmdb *lmdb, MDB_txn *txn, void *arg)
{
    struct weir__index_stats *stats = arg;
    MDB_stat live, dead;
    int rc = mdb_stat(txn, lmdb->live, &live);
    if (!rc)
        rc = mdb_stat(txn, lmdb->dead, &dead);
    if (rc)
        return weir__lmdb_error(rc);
    stats->entries = live.ms_entries;
    stats->dead = dead.ms_entries;
    weir_lock_acquire(&lmdb->lock);
    stats->chunks = lmdb->sums.chunks;
    weir_lock_release(&lmdb->lock);
    return 0;
}

int weir__lmdb_read(struct weir__index *index, struct weir__index_stats *ret_stats)
{
    struct weir__index_stats stats = {0};
    struct stat st;
    int fd, error = weir__lmdb_reading(weir__lmdb_of(index), count_all, &stats);
    if (!error && mdb_env_get_fd(weir__lmdb_of(index)->env, &fd) == 0 &&
        weir__sys_fstat(fd, &st) == 0)
        stats.bytes = (uint64_t)st.st_size;
    if (!error)
        *ret_stats = stats;
    return error;
}
