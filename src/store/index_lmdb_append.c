/* index_lmdb_append.c - the index in a folder, written from its first page to its last. */
#include "index_lmdb.h"

#include "banned.h"

struct appending {
    struct weir__lmdb *lmdb;
    int (*item)(void *arg, size_t at, struct weir__known *ret_known);
    void *arg;
    size_t count;
    const struct weir__segment_facts *facts;
    size_t facts_count;
};

static int append_live(struct weir__lmdb *lmdb, MDB_txn *txn, const struct weir__known *known)
{
    unsigned char room[VALUE_TOUCHED];
    MDB_val key = weir__lmdb_key(&known->entry.address), value = {.mv_data = room};
    value.mv_size = weir__live_put(known, room);
    return weir__lmdb_add(lmdb, txn, lmdb->live, &key, &value, MDB_APPEND);
}

static int append_dead(struct weir__lmdb *lmdb, MDB_txn *txn, const struct weir__entry *entry)
{
    unsigned char bytes[KEY_DEAD], room[VALUE_DEAD];
    weir__dead_put(entry, bytes);
    weir__dead_value(entry, room);
    MDB_val key = {sizeof(bytes), bytes}, value = {sizeof(room), room};
    return weir__lmdb_add(lmdb, txn, lmdb->dead, &key, &value, MDB_APPEND);
}

static int append_facts(struct weir__lmdb *lmdb, MDB_txn *txn,
                        const struct weir__segment_facts *facts)
{
    unsigned char bytes[4], room[VALUE_FACTS];
    weir__put_be32(bytes, facts->id);
    weir__facts_put(facts, room);
    MDB_val key = {sizeof(bytes), bytes}, value = {sizeof(room), room};
    return weir__lmdb_add(lmdb, txn, lmdb->segments, &key, &value, MDB_APPEND);
}

static int append_in(void *arg)
{
    struct appending *self = arg;
    struct weir__lmdb *lmdb = self->lmdb;
    MDB_txn *txn;
    int rc = mdb_txn_begin(lmdb->env, NULL, 0, &txn);
    if (rc)
        return weir__lmdb_error(rc);
    for (size_t i = 0; !rc && i < self->count; i++) {
        struct weir__known known;
        rc = self->item(self->arg, i, &known) ? append_live(lmdb, txn, &known)
                                              : append_dead(lmdb, txn, &known.entry);
    }
    for (size_t i = 0; !rc && i < self->facts_count; i++)
        rc = append_facts(lmdb, txn, &self->facts[i]);
    /* It is not behind what is there. */
    int error = rc == MDB_KEYEXIST ? -WEIR_E_CORRUPT : weir__lmdb_error(rc);
    return weir__lmdb_commit(lmdb, txn, error);
}

int weir__lmdb_append(struct weir__index *index,
                      int (*item)(void *arg, size_t at, struct weir__known *ret_known), void *arg,
                      size_t count, const struct weir__segment_facts *facts, size_t facts_count)
{
    struct appending self = {weir__lmdb_of(index), item, arg, count, facts, facts_count};
    return weir__lmdb_writing(self.lmdb, append_in, &self);
}
