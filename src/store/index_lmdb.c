/* index_lmdb.c - the index in a folder.
 *
 * Four tables: `live` has the entry that counts for each address, `dead` the place of every other
 * record (address, segment, offset), `segments` the facts about each segment, `about` the version
 * and the store that all of it is of.
 *
 * Nothing is synced. A process that dies leaves the file as its last transaction made it, since the
 * pages go to the kernel before the page that leads to them; a machine that dies may leave
 * anything, and whoever opens the store then discards the file.
 */
#include "index_lmdb.h"

#include <errno.h>

#include "alloc.h"
#include "store_locks.h"
#include "sys.h"

#include "banned.h"

#define VERSION     1u
#define READERS_MAX 256u                /* lookups at once */
#define MAP_LARGEST (UINT64_C(1) << 38) /* address space, not disk: room for 10^9 chunks */
#define MAP_LEAST   (UINT64_C(1) << 26)

int weir__lmdb_error(int rc)
{
    switch (rc) {
    case 0:
        return 0;
    case MDB_NOTFOUND:
        return -WEIR_E_NOT_FOUND;
    case MDB_MAP_FULL:
        return -WEIR_E_NO_SPACE;
    case MDB_READERS_FULL:
        return -WEIR_E_BUSY;
    case MDB_INVALID:
    case MDB_CORRUPTED:
    case MDB_PAGE_NOTFOUND:
    case MDB_VERSION_MISMATCH:
    case MDB_PANIC:
    case MDB_BAD_VALSIZE:
    case MDB_INCOMPATIBLE:
    case MDB_DBS_FULL:
        return -WEIR_E_CORRUPT;
    default:
        return rc > 0 ? weir_error_from_errno(rc) : -WEIR_E_INTERNAL;
    }
}

/* --- writing --- */

/* A transaction that writes runs where a page that the disk cannot give ends it and not the process
 * (mapped.h). It is left in the middle then, with LMDB's lock for writers: the index is not used
 * again, and what it had taken of memory is lost. */
struct work {
    int (*fn)(void *arg);
    void *arg;
    bool is_done;
};

static int work(void *arg)
{
    struct work *self = arg;
    int error = self->fn(self->arg);
    self->is_done = true;
    return error;
}

static int writing(struct weir__lmdb *lmdb, int (*fn)(void *arg), void *arg)
{
    struct work self = {fn, arg, false};
    weir_lock_acquire(&lmdb->lock);
    bool is_broken = lmdb->is_broken;
    weir_lock_release(&lmdb->lock);
    if (is_broken)
        return -WEIR_E_IO;
    int error = weir__mapped_read(&lmdb->map, work, &self);
    if (!self.is_done)
        weir__lmdb_break(lmdb);
    return error;
}

struct change {
    struct weir__lmdb *lmdb;
    MDB_txn *txn;
    struct weir__segment_facts facts; /* of the segment that is applied */
    weir__index_changed *changed;
    void *arg;
    const struct weir__entry *records;
    size_t count;
    uint32_t *others; /* segments in which something died */
    struct weir__segment_facts *others_facts;
    size_t others_count;
};

static int facts_find(struct change *change, uint32_t id, struct weir__segment_facts *ret_facts)
{
    unsigned char bytes[4];
    weir__put_be32(bytes, id);
    MDB_val key = {sizeof(bytes), bytes}, value;
    int rc = mdb_get(change->txn, change->lmdb->segments, &key, &value);
    return rc ? weir__lmdb_error(rc) : weir__facts_get(&key, &value, ret_facts);
}

static int facts_save(struct change *change, const struct weir__segment_facts *facts)
{
    unsigned char bytes[4], room[VALUE_FACTS];
    weir__put_be32(bytes, facts->id);
    weir__facts_put(facts, room);
    MDB_val key = {sizeof(bytes), bytes}, value = {sizeof(room), room};
    return weir__lmdb_error(mdb_put(change->txn, change->lmdb->segments, &key, &value, 0));
}

static void remember_other(struct change *change, uint32_t id)
{
    for (size_t i = change->others_count; i-- > 0;)
        if (change->others[i] == id)
            return;
    change->others[change->others_count++] = id;
}

/* The record counts no more. */
static int bury(struct change *change, const struct weir__entry *entry)
{
    unsigned char bytes[KEY_DEAD], size[4];
    struct weir__segment_facts other;
    bool is_own = entry->place.segment == change->facts.id;
    int error = is_own ? 0 : facts_find(change, entry->place.segment, &other);
    if (error == -WEIR_E_NOT_FOUND)
        return 0; /* its segment is gone, and the record with it */
    if (error)
        return error;
    weir__dead_put(entry, bytes);
    weir__put_be32(size, entry->size);
    MDB_val key = {sizeof(bytes), bytes}, value = {sizeof(size), size};
    int rc = mdb_put(change->txn, change->lmdb->dead, &key, &value, MDB_NOOVERWRITE);
    if (rc)
        return rc == MDB_KEYEXIST ? 0 : weir__lmdb_error(rc);
    if (is_own) {
        change->facts.dead += weir__record_span(entry->size);
        return 0;
    }
    other.dead += weir__record_span(entry->size);
    remember_other(change, other.id);
    return facts_save(change, &other);
}

static int save_live(struct change *change, const struct weir__entry *entry)
{
    unsigned char room[VALUE_LIVE];
    weir__live_put(entry, room);
    MDB_val key = weir__lmdb_key(&entry->address), value = {sizeof(room), room};
    return weir__lmdb_error(mdb_put(change->txn, change->lmdb->live, &key, &value, 0));
}

static int apply_one(struct change *change, const struct weir__entry *record)
{
    struct weir__entry known, fresh = *record;
    MDB_val key = weir__lmdb_key(&record->address), value;
    int rc = mdb_get(change->txn, change->lmdb->live, &key, &value);
    int error = rc ? weir__lmdb_error(rc) : weir__live_get(&key, &value, &known);
    bool is_known = error == 0;
    if (error && error != -WEIR_E_NOT_FOUND)
        return error;
    error = 0;
    switch (weir__index_effect(record, is_known ? &known : NULL)) {
    case WEIR__INDEX_COUNTS:
        if (is_known && known.sequence == fresh.sequence && known.time_s > fresh.time_s)
            fresh.time_s = known.time_s;
        error = is_known ? bury(change, &known) : 0;
        return error ? error : save_live(change, &fresh);
    case WEIR__INDEX_DEAD:
        return bury(change, record);
    case WEIR__INDEX_RENEWS:
        known.time_s = record->time_s;
        return save_live(change, &known);
    case WEIR__INDEX_NOTHING:
        return 0;
    }
    return 0;
}

static int apply_all(struct change *change, const struct weir__entry *records, size_t count)
{
    struct weir__segment_facts before;
    int error = facts_find(change, change->facts.id, &before);
    if (error && error != -WEIR_E_NOT_FOUND)
        return error;
    change->facts.dead = error ? 0 : before.dead;
    change->facts.records = (uint32_t)count;
    for (size_t i = 0; i < count; i++) {
        change->facts.bytes += weir__record_span(records[i].size);
        if (records[i].sequence > change->facts.sequence_max)
            change->facts.sequence_max = records[i].sequence;
    }
    error = 0;
    for (size_t i = 0; !error && i < count; i++)
        error = apply_one(change, &records[i]);
    return error ? error : facts_save(change, &change->facts);
}

static void tell_others(struct change *change)
{
    for (size_t i = 0; i < change->others_count; i++)
        change->changed(change->arg, &change->others_facts[i]);
    change->changed(change->arg, &change->facts);
}

static int apply_in(void *arg)
{
    struct change *change = arg;
    int error = weir__lmdb_error(mdb_txn_begin(change->lmdb->env, NULL, 0, &change->txn));
    if (error)
        return error;
    error = apply_all(change, change->records, change->count);
    for (size_t i = 0; !error && i < change->others_count; i++)
        error = facts_find(change, change->others[i], &change->others_facts[i]);
    if (!error)
        return weir__lmdb_error(mdb_txn_commit(change->txn));
    mdb_txn_abort(change->txn);
    return error;
}

static int apply(struct weir__index *index, const struct weir__segment_facts *facts,
                 const struct weir__entry *records, size_t count, weir__index_changed *changed,
                 void *arg)
{
    struct change change = {
        .lmdb = weir__lmdb_of(index),
        .changed = changed,
        .arg = arg,
        .facts = {.id = facts->id, .size = facts->size, .is_sealed = facts->is_sealed},
        .records = records,
        .count = count,
        .others = weir__base_alloc(count + 1, sizeof(*change.others)),
        .others_facts = weir__base_alloc(count + 1, sizeof(*change.others_facts)),
    };
    int error = change.others && change.others_facts ? 0 : -WEIR_E_NO_MEMORY;
    if (!error)
        error = writing(change.lmdb, apply_in, &change);
    if (!error)
        tell_others(&change);
    weir__base_free(change.others);
    weir__base_free(change.others_facts);
    return error;
}

static int drop_one(struct weir__lmdb *lmdb, MDB_txn *txn, const struct weir__entry *record)
{
    unsigned char bytes[KEY_DEAD];
    struct weir__entry known;
    weir__dead_put(record, bytes);
    MDB_val key = {sizeof(bytes), bytes}, value;
    int rc = mdb_del(txn, lmdb->dead, &key, NULL);
    if (rc && rc != MDB_NOTFOUND)
        return weir__lmdb_error(rc);
    key = weir__lmdb_key(&record->address);
    rc = mdb_get(txn, lmdb->live, &key, &value);
    if (rc)
        return rc == MDB_NOTFOUND ? 0 : weir__lmdb_error(rc);
    int error = weir__live_get(&key, &value, &known);
    if (error || known.place.segment != record->place.segment ||
        known.place.offset != record->place.offset)
        return error;
    return weir__lmdb_error(mdb_del(txn, lmdb->live, &key, NULL));
}

struct dropping {
    struct weir__lmdb *lmdb;
    uint32_t segment;
    const struct weir__entry *records;
    size_t count;
};

static int drop_in(void *arg)
{
    struct dropping *self = arg;
    struct weir__lmdb *lmdb = self->lmdb;
    unsigned char bytes[4];
    MDB_txn *txn;
    weir__put_be32(bytes, self->segment);
    MDB_val key = {sizeof(bytes), bytes};
    int error = weir__lmdb_error(mdb_txn_begin(lmdb->env, NULL, 0, &txn));
    if (error)
        return error;
    for (size_t i = 0; !error && i < self->count; i++)
        error = drop_one(lmdb, txn, &self->records[i]);
    if (!error) {
        int rc = mdb_del(txn, lmdb->segments, &key, NULL);
        error = rc == MDB_NOTFOUND ? 0 : weir__lmdb_error(rc);
    }
    if (error) {
        mdb_txn_abort(txn);
        return error;
    }
    return weir__lmdb_error(mdb_txn_commit(txn));
}

static int drop(struct weir__index *index, uint32_t segment, const struct weir__entry *records,
                size_t count)
{
    struct dropping self = {weir__lmdb_of(index), segment, records, count};
    return writing(self.lmdb, drop_in, &self);
}

static int sync_in(void *arg)
{
    struct weir__lmdb *lmdb = arg;
    return weir__lmdb_error(mdb_env_sync(lmdb->env, 1));
}

/* Io for one that lost a page, so that nobody trusts it. */
static int sync_all(struct weir__index *index)
{
    return writing(weir__lmdb_of(index), sync_in, index);
}

/* --- life cycle --- */

static void free_index(struct weir__index *index)
{
    struct weir__lmdb *lmdb = weir__lmdb_of(index);
    while (lmdb->idle) {
        struct weir__lmdb_reader *reader = lmdb->idle;
        lmdb->idle = reader->next;
        mdb_txn_abort(reader->txn);
        weir__base_free(reader);
    }
    if (lmdb->env)
        mdb_env_close(lmdb->env);
    weir_lock_fini(&lmdb->lock);
    weir__base_free(lmdb);
}

static const struct weir__index_kind kind = {
    .end = free_index,
    .get = weir__lmdb_get,
    .apply = apply,
    .drop = drop,
    .has_older = weir__lmdb_has_older,
    .dead = weir__lmdb_dead,
    .segments = weir__lmdb_segments,
    .walk = weir__lmdb_walk,
    .sync = sync_all,
    .read = weir__lmdb_read,
};

/* What the file is about: checked, or written into a new one. */
static int agree(struct weir__lmdb *lmdb, MDB_txn *txn, const unsigned char store_id[16],
                 bool is_read_only)
{
    static char name[] = "store";
    unsigned char about[VALUE_ABOUT];
    weir__put_be32(about, VERSION);
    memcpy(about + 4, store_id, 16);
    MDB_val key = {sizeof(name) - 1, name}, value;
    int rc = mdb_get(txn, lmdb->about, &key, &value);
    if (rc == MDB_NOTFOUND && !is_read_only) {
        value = (MDB_val){sizeof(about), about};
        return weir__lmdb_error(mdb_put(txn, lmdb->about, &key, &value, 0));
    }
    if (rc)
        return rc == MDB_NOTFOUND ? -WEIR_E_CORRUPT : weir__lmdb_error(rc);
    bool is_ours =
        value.mv_size == sizeof(about) && memcmp(value.mv_data, about, sizeof(about)) == 0;
    return is_ours ? 0 : -WEIR_E_CORRUPT;
}

struct opening {
    struct weir__lmdb *lmdb;
    const char *folder;
    const unsigned char *store_id;
    bool is_read_only;
};

static int open_tables(const struct opening *self)
{
    struct weir__lmdb *lmdb = self->lmdb;
    unsigned create = self->is_read_only ? 0 : MDB_CREATE;
    MDB_txn *txn;
    int rc = mdb_txn_begin(lmdb->env, NULL, self->is_read_only ? MDB_RDONLY : 0, &txn);
    if (rc)
        return weir__lmdb_error(rc);
    if (!(rc = mdb_dbi_open(txn, "live", create, &lmdb->live)) &&
        !(rc = mdb_dbi_open(txn, "dead", create, &lmdb->dead)) &&
        !(rc = mdb_dbi_open(txn, "segments", create, &lmdb->segments)))
        rc = mdb_dbi_open(txn, "about", create, &lmdb->about);
    int error = rc == MDB_NOTFOUND ? -WEIR_E_CORRUPT : weir__lmdb_error(rc);
    if (!error)
        error = agree(lmdb, txn, self->store_id, self->is_read_only);
    if (error) {
        mdb_txn_abort(txn);
        return error;
    }
    return weir__lmdb_error(mdb_txn_commit(txn));
}

/* The largest map that the address space has room for. */
static int open_env(struct weir__lmdb *lmdb, const char *folder, bool is_read_only)
{
    unsigned flags = MDB_NOSYNC | MDB_NOTLS | MDB_NORDAHEAD;
    int rc = ENOMEM;
    if (is_read_only)
        flags |= MDB_RDONLY | MDB_NOLOCK;
    for (uint64_t size = MAP_LARGEST; rc == ENOMEM && size >= MAP_LEAST; size /= 2) {
        if ((rc = mdb_env_create(&lmdb->env)))
            break;
        if (!(rc = mdb_env_set_mapsize(lmdb->env, size)) &&
            !(rc = mdb_env_set_maxdbs(lmdb->env, 4)) &&
            !(rc = mdb_env_set_maxreaders(lmdb->env, READERS_MAX)))
            rc = mdb_env_open(lmdb->env, folder, flags, 0600);
        if (rc) {
            mdb_env_close(lmdb->env);
            lmdb->env = NULL;
        }
    }
    return weir__lmdb_error(rc);
}

static int open_in(void *arg)
{
    struct opening *self = arg;
    int error = open_env(self->lmdb, self->folder, self->is_read_only);
    return error ? error : open_tables(self);
}

int weir__index_open(struct weir__index **ret_index, const char *folder,
                     const unsigned char store_id[16], bool is_read_only)
{
    struct weir__lmdb *lmdb = weir__base_alloc(1, sizeof(*lmdb));
    if (!lmdb)
        return -WEIR_E_NO_MEMORY;
    lmdb->index.kind = &kind;
    weir_lock_init(&lmdb->lock, &weir__store_readers_class);
    struct opening opening = {lmdb, folder, store_id, is_read_only};
    int error = weir__mapped_anywhere(&lmdb->map);
    if (!error)
        error = writing(lmdb, open_in, &opening);
    if (error) {
        free_index(&lmdb->index);
        return error;
    }
    *ret_index = &lmdb->index;
    return 0;
}

int weir__index_remove(int folder, const char *name)
{
    int dir = weir__sys_openat(folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
    if (dir < 0)
        return errno == ENOENT ? 0 : weir_error_from_errno(errno);
    int error = 0;
    if ((weir__sys_unlinkat(dir, "data.mdb", 0) < 0 && errno != ENOENT) ||
        (weir__sys_unlinkat(dir, "lock.mdb", 0) < 0 && errno != ENOENT))
        error = weir_error_from_errno(errno);
    weir__sys_close(dir);
    return error;
}
