/* index_lmdb_sum.c - whether the index has what was put into it.
 *
 * A bit that turns in the file, or in the page that the kernel has of it, changes an entry or the
 * way to it, and LMDB does not notice. So there is a sum over all entries: what is put in is added,
 * what is taken out, as it is found there, is subtracted, and a walk over the index must come to
 * the same. There are 4,096 of them, by the first 12 bits of the address, so that a walk can be
 * made in pieces, each of them a short transaction that knows the sums of just that moment.
 *
 * What is added is a hash of table, key and value in which each word of 8 bytes counts one to one,
 * whatever the others are: if one word of an entry changes, the sum always does. It is no secret
 * and no proof against those who can write the file.
 *
 * A walk goes from leaf to leaf by the numbers of pages, and a lookup by the keys of the pages
 * above, which nobody sees in a walk. So the first and the last key of each leaf are looked up as
 * well: a key above that sends any lookup astray sends one of these astray.
 *
 * The sums are in memory while the index is open, and in the table `about` in between.
 */
#include "index_lmdb.h"

#include <errno.h>
#include <sys/statfs.h>

#include "alloc.h"
#include "sys.h"

#include "banned.h"

#define SEGMENTS     WEIR__INDEX_PARTS /* the sum of the segments */
#define PIECE        4096u             /* entries at least */
#define PAGE         4096u             /* at most what a leaf has */
#define VALUE_MAX    VALUE_FACTS
#define LITTLE       (UINT64_C(1) << 20)          /* of a disk */
#define HASH_FACTOR  UINT64_C(0x9e3779b97f4a7c15) /* odd: what is multiplied can be told again */
#define HASH_FACTOR2 UINT64_C(0xbf58476d1ce4e5b9)

static uint64_t add_word(uint64_t hash, uint64_t word)
{
    hash = (hash ^ word) * HASH_FACTOR;
    hash = (hash ^ (hash >> 32)) * HASH_FACTOR2;
    return hash ^ (hash >> 29);
}

static uint64_t add_bytes(uint64_t hash, const MDB_val *bytes)
{
    const unsigned char *at = bytes->mv_data;
    size_t left = bytes->mv_size;
    hash = add_word(hash, left);
    while (left > 0) {
        uint64_t word = 0;
        size_t some = left < sizeof(word) ? left : sizeof(word);
        memcpy(&word, at, some);
        hash = add_word(hash, word);
        at += some;
        left -= some;
    }
    return hash;
}

static uint64_t hash_of(const struct weir__lmdb *lmdb, MDB_dbi table, const MDB_val *key,
                        const MDB_val *value)
{
    uint64_t kind = table == lmdb->live ? 1 : table == lmdb->dead ? 2 : 3;
    return add_bytes(add_bytes(kind, key), value);
}

static uint32_t part_of(const struct weir__lmdb *lmdb, MDB_dbi table, const MDB_val *key)
{
    return table == lmdb->segments ? SEGMENTS : weir__index_part(key->mv_data);
}

/* --- what changes --- */

/* A key of a length that none has is one of a damaged page. */
static bool is_key(const struct weir__lmdb *lmdb, MDB_dbi table, const MDB_val *key)
{
    return key->mv_size == (table == lmdb->live   ? (size_t)WEIR__ADDRESS_SIZE
                            : table == lmdb->dead ? (size_t)KEY_DEAD
                                                  : 4);
}

static bool is_chunk(const struct weir__lmdb *lmdb, MDB_dbi table, const MDB_val *value)
{
    return table == lmdb->live && weir__live_is_chunk(value);
}

int weir__lmdb_add(struct weir__lmdb *lmdb, MDB_txn *txn, MDB_dbi table, MDB_val *key,
                   MDB_val *value, unsigned flags)
{
    uint64_t hash = hash_of(lmdb, table, key, value);
    bool is_more = is_chunk(lmdb, table, value);
    int rc = mdb_put(txn, table, key, value, flags);
    if (rc)
        return rc;
    lmdb->next_sums.of[part_of(lmdb, table, key)] += hash;
    lmdb->next_sums.chunks += is_more;
    return 0;
}

/* What is there, before it goes. */
static int subtract(struct weir__lmdb *lmdb, MDB_dbi table, const MDB_val *key,
                    const MDB_val *value)
{
    if (value->mv_size > VALUE_MAX)
        return MDB_CORRUPTED;
    lmdb->next_sums.of[part_of(lmdb, table, key)] -= hash_of(lmdb, table, key, value);
    lmdb->next_sums.chunks -= is_chunk(lmdb, table, value);
    return 0;
}

int weir__lmdb_put(struct weir__lmdb *lmdb, MDB_txn *txn, MDB_dbi table, MDB_val *key,
                   MDB_val *value)
{
    MDB_val other = *value;
    int rc = weir__lmdb_add(lmdb, txn, table, key, &other, MDB_NOOVERWRITE);
    if (rc != MDB_KEYEXIST)
        return rc;
    rc = subtract(lmdb, table, key, &other);
    return rc ? rc : weir__lmdb_add(lmdb, txn, table, key, value, 0);
}

int weir__lmdb_del(struct weir__lmdb *lmdb, MDB_txn *txn, MDB_dbi table, MDB_val *key)
{
    MDB_val value;
    int rc = mdb_get(txn, table, key, &value);
    if (!rc)
        rc = subtract(lmdb, table, key, &value);
    return rc ? rc : mdb_del(txn, table, key, NULL);
}

/* LMDB says EIO of a write that ended early, which is what a disk does that becomes full in the
 * middle of it. Nothing was changed then: what a transaction writes is in use only after its end.
 */
static bool is_without_room(const struct weir__lmdb *lmdb)
{
    struct statfs fs;
    int fd;
    return mdb_env_get_fd(lmdb->env, &fd) == 0 && weir__sys_fstatfs(fd, &fs) == 0 &&
           fs.f_blocks > 0 && (uint64_t)fs.f_bavail * (uint64_t)fs.f_bsize < LITTLE;
}

static int commit(const struct weir__lmdb *lmdb, MDB_txn *txn)
{
    int rc = mdb_txn_commit(txn);
    return rc == EIO && is_without_room(lmdb) ? -WEIR_E_NO_SPACE : weir__lmdb_error(rc);
}

int weir__lmdb_commit(struct weir__lmdb *lmdb, MDB_txn *txn, int error)
{
    MDB_envinfo info;
    if (error)
        mdb_txn_abort(txn);
    else
        error = commit(lmdb, txn);
    if (error) {
        lmdb->next_sums = lmdb->sums; /* nobody else changes them */
        return error;
    }
    /* A transaction that changed nothing has no number of its own. */
    int rc = mdb_env_info(lmdb->env, &info);
    if (rc)
        return weir__lmdb_error(rc);
    weir_lock_acquire(&lmdb->lock);
    lmdb->sums = lmdb->next_sums;
    lmdb->sums_txn = info.me_last_txnid;
    weir_lock_release(&lmdb->lock);
    return 0;
}

/* --- while it is closed --- */

static char sums_name[] = "sums";

int weir__lmdb_sums_save(struct weir__lmdb *lmdb, MDB_txn *txn)
{
    MDB_val key = {sizeof(sums_name) - 1, sums_name},
            value = {sizeof(lmdb->next_sums), &lmdb->next_sums};
    return weir__lmdb_error(mdb_put(txn, lmdb->about, &key, &value, 0));
}

int weir__lmdb_sums_load(struct weir__lmdb *lmdb, MDB_txn *txn)
{
    MDB_val key = {sizeof(sums_name) - 1, sums_name}, value;
    int rc = mdb_get(txn, lmdb->about, &key, &value);
    if (rc)
        return rc == MDB_NOTFOUND ? -WEIR_E_CORRUPT : weir__lmdb_error(rc);
    if (value.mv_size != sizeof(lmdb->next_sums))
        return -WEIR_E_CORRUPT;
    memcpy(&lmdb->next_sums, value.mv_data, sizeof(lmdb->next_sums));
    return 0;
}

/* --- the walk --- */

struct walk {
    uint32_t at; /* the part that is next */
    size_t seen; /* entries */
    struct weir__lmdb_sums sums;
};

/* Of one table. */
struct row {
    const struct weir__lmdb *lmdb;
    MDB_txn *txn;
    MDB_dbi table;
    MDB_val key, value;
    uint64_t sum;
    size_t count;
};

/* Whether a lookup finds it, where the walk has. */
static bool is_found(const struct row *row)
{
    MDB_val key = row->key, value;
    return mdb_get(row->txn, row->table, &key, &value) == 0 &&
           value.mv_data == row->value.mv_data && value.mv_size == row->value.mv_size;
}

static bool is_same_leaf(const MDB_val *one, const MDB_val *other)
{
    return (uintptr_t)one->mv_data / PAGE == (uintptr_t)other->mv_data / PAGE;
}

/* All of a part, from where the cursor is. */
static int sum_rows(struct row *row, MDB_cursor *cursor, uint32_t part, MDB_cursor_op op)
{
    struct row last = *row;
    bool has_last = false;
    int rc;
    while ((rc = mdb_cursor_get(cursor, &row->key, &row->value, op)) == 0) {
        if (!is_key(row->lmdb, row->table, &row->key) || row->value.mv_size > VALUE_MAX)
            return -WEIR_E_CORRUPT;
        if (part_of(row->lmdb, row->table, &row->key) != part)
            break;
        /* Of pages that lead to each other there would be no end. */
        if (has_last && memcmp(last.key.mv_data, row->key.mv_data, row->key.mv_size) >= 0)
            return -WEIR_E_CORRUPT;
        if (!has_last || !is_same_leaf(&last.key, &row->key))
            if (!is_found(row) || (has_last && !is_found(&last)))
                return -WEIR_E_CORRUPT;
        row->sum += hash_of(row->lmdb, row->table, &row->key, &row->value);
        row->count++;
        last = *row;
        has_last = true;
        op = MDB_NEXT;
    }
    if (rc && rc != MDB_NOTFOUND)
        return -WEIR_E_CORRUPT;
    return has_last && !is_found(&last) ? -WEIR_E_CORRUPT : 0;
}

static int sum_table(struct weir__lmdb *lmdb, MDB_txn *txn, MDB_dbi table, uint32_t part,
                     struct walk *walk, uint64_t *sum)
{
    unsigned char least[2] = {(unsigned char)(part >> 4), (unsigned char)(part << 4)};
    struct row row = {.lmdb = lmdb, .txn = txn, .table = table, .key = {sizeof(least), least}};
    MDB_cursor *cursor;
    if (mdb_cursor_open(txn, table, &cursor))
        return -WEIR_E_NO_MEMORY;
    int error = sum_rows(&row, cursor, part, part == SEGMENTS ? MDB_FIRST : MDB_SET_RANGE);
    mdb_cursor_close(cursor);
    *sum += row.sum;
    walk->seen += row.count;
    return error;
}

static int check_part(struct weir__lmdb *lmdb, MDB_txn *txn, struct walk *walk)
{
    uint64_t sum = 0;
    int error = 0;
    if (walk->at == SEGMENTS)
        error = sum_table(lmdb, txn, lmdb->segments, SEGMENTS, walk, &sum);
    else
        error = sum_table(lmdb, txn, lmdb->live, walk->at, walk, &sum);
    if (!error && walk->at != SEGMENTS)
        error = sum_table(lmdb, txn, lmdb->dead, walk->at, walk, &sum);
    return error ? error : sum == walk->sums.of[walk->at] ? 0 : -WEIR_E_CORRUPT;
}

static int check_in(struct weir__lmdb *lmdb, MDB_txn *txn, void *arg)
{
    struct walk *walk = arg;
    weir_lock_acquire(&lmdb->lock);
    bool is_now = mdb_txn_id(txn) == lmdb->sums_txn;
    walk->sums = lmdb->sums;
    weir_lock_release(&lmdb->lock);
    /* It is being changed at this moment. */
    if (!is_now)
        return -WEIR_E_BUSY;
    int error = 0;
    while (!error && walk->at <= SEGMENTS && walk->seen < PIECE)
        if (!(error = check_part(lmdb, txn, walk)))
            walk->at++;
    return error;
}

int weir__lmdb_check(struct weir__index *index, uint32_t *at)
{
    struct walk *walk = weir__base_alloc(1, sizeof(*walk));
    if (!walk)
        return -WEIR_E_NO_MEMORY;
    walk->at = *at;
    int error = weir__lmdb_reading(weir__lmdb_of(index), check_in, walk);
    if (!error)
        *at = walk->at > SEGMENTS ? 0 : walk->at;
    weir__base_free(walk);
    return error;
}
