/* index_lmdb.h - what the files of the index in a folder share; nobody else includes this.
 *
 * Ownership: the index owns its environment and its transactions; keys and values point into the
 * caller's memory or into the map.
 */
#ifndef WEIR_STORE_INDEX_LMDB_H
#define WEIR_STORE_INDEX_LMDB_H

#include <lmdb.h>
#include <string.h>

#include <weir/budget.h>
#include <weir/crew.h>
#include <weir/error.h>
#include <weir/lock.h>

#include "index_part.h"
#include "mapped.h"

enum {
    KEY_DEAD = WEIR__ADDRESS_SIZE + 8,
    VALUE_DEAD = 4,
    VALUE_LIVE = 28,
    VALUE_TOUCHED = 44, /* of a chunk with a touch that counts */
    VALUE_ABOUT = 20,
    VALUE_FACTS = 48
};

/* Sums over all entries of the tables, by the parts of their addresses. The last is that of the
 * segments. See index_lmdb_sum.c. */
struct weir__lmdb_sums {
    uint64_t of[WEIR__INDEX_PARTS + 1];
    uint64_t chunks; /* addresses that have one; counted as the sums are */
};

struct weir__lmdb_reader {
    struct weir__lmdb_reader *next;
    MDB_txn *txn;
};

struct weir__lmdb {
    struct weir__index index; /* first */
    MDB_env *env;
    MDB_dbi live, dead, segments, about;
    struct weir__mapped map;          /* where lookups may fail */
    struct weir_budget turn;          /* of who changes it */
    struct weir__lmdb_sums next_sums; /* with what is not yet committed; of who has the turn */
    struct weir_lock lock;            /* guards what follows */
    struct weir__lmdb_sums sums;
    size_t sums_txn; /* after which they are these */
    struct weir__lmdb_reader *idle;
    bool is_broken; /* a page was lost */
    bool is_held;   /* by a thread that was left in the middle */
    struct weir__lmdb *next_lost;
};

static inline struct weir__lmdb *weir__lmdb_of(struct weir__index *index)
{
    return (struct weir__lmdb *)index;
}

/* An error of LMDB as one of ours. */
int weir__lmdb_error(int rc);

/* --- index_lmdb.c --- */
/* fn in a place where it may fail, with the turn. */
int weir__lmdb_writing(struct weir__lmdb *lmdb, int (*fn)(void *arg), void *arg);
/* For several of them: nobody else changes it until the turn is given back. */
int weir__lmdb_turn(struct weir__lmdb *lmdb, struct weir_permit *turn);
int weir__lmdb_write(struct weir__lmdb *lmdb, int (*fn)(void *arg), void *arg);

/* --- index_lmdb_change.c --- */
int weir__lmdb_apply(struct weir__index *index, const struct weir__segment_facts *facts,
                     const struct weir__entry *records, size_t count, weir__index_changed *changed,
                     void *arg);
int weir__lmdb_drop(struct weir__index *index, uint32_t segment, const struct weir__entry *records,
                    size_t count, weir__index_changed *changed, void *arg);

/* --- index_lmdb_sum.c --- */
/* What is put into the tables, or taken out, is by these, so that it is in the sums. They answer as
 * LMDB does. flags: MDB_APPEND or MDB_NOOVERWRITE. */
int weir__lmdb_add(struct weir__lmdb *lmdb, MDB_txn *txn, MDB_dbi table, MDB_val *key,
                   MDB_val *value, unsigned flags);
/* In place of what may be there. */
int weir__lmdb_put(struct weir__lmdb *lmdb, MDB_txn *txn, MDB_dbi table, MDB_val *key,
                   MDB_val *value);
int weir__lmdb_del(struct weir__lmdb *lmdb, MDB_txn *txn, MDB_dbi table, MDB_val *key);
/* Ends a transaction that writes: after an error it is as if it had not been. */
int weir__lmdb_commit(struct weir__lmdb *lmdb, MDB_txn *txn, int error);
int weir__lmdb_sums_save(struct weir__lmdb *lmdb, MDB_txn *txn);
/* Corrupt: there are none. */
int weir__lmdb_sums_load(struct weir__lmdb *lmdb, MDB_txn *txn);
int weir__lmdb_check(struct weir__index *index, uint32_t *at);

/* --- index_lmdb_append.c --- */
int weir__lmdb_append(struct weir__index *index,
                      int (*item)(void *arg, size_t at, struct weir__known *ret_known), void *arg,
                      size_t count, const struct weir__segment_facts *facts, size_t facts_count);

/* --- index_lmdb_read.c --- */
/* A page was lost: nothing of it is used again. is_held: LMDB's locks may be held for good. */
void weir__lmdb_break(struct weir__lmdb *lmdb, bool is_held);
/* fn in a transaction that reads. */
int weir__lmdb_reading(struct weir__lmdb *lmdb,
                       int (*fn)(struct weir__lmdb *lmdb, MDB_txn *txn, void *arg), void *arg);
int weir__lmdb_get(struct weir__index *index, const struct weir__address *address,
                   struct weir__entry *ret_entry);
int weir__lmdb_has_older(struct weir__index *index, const struct weir__address *address,
                         uint32_t segment, bool *ret_has);
int weir__lmdb_dead(struct weir__index *index, const struct weir__address *address,
                    struct weir__place *places, size_t room, size_t *ret_count);
int weir__lmdb_touch(struct weir__index *index, const struct weir__address *address,
                     struct weir__place *ret_place);
/* Places of dead chunks of an address, but for those in one segment (0: none). */
struct weir__lmdb_chunks {
    const struct weir__address *address;
    uint32_t except;
    struct weir__place *places;
    size_t room, count;
};
int weir__lmdb_find_chunks(struct weir__lmdb *lmdb, MDB_txn *txn, struct weir__lmdb_chunks *find);
int weir__lmdb_segments(struct weir__index *index,
                        int (*fn)(void *arg, const struct weir__segment_facts *), void *arg);
int weir__lmdb_walk(struct weir__index *index, const struct weir__address *from,
                    int (*fn)(void *arg, const struct weir__entry *entry), void *arg);
int weir__lmdb_read(struct weir__index *index, struct weir__index_stats *ret_stats);

/* --- keys and values --- */

static inline void weir__put_be32(unsigned char *at, uint32_t value)
{
    for (int i = 0; i < 4; i++)
        at[i] = (unsigned char)(value >> (24 - 8 * i));
}

static inline uint32_t weir__get_be32(const unsigned char *at)
{
    return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

static inline void weir__put_be64(unsigned char *at, uint64_t value)
{
    weir__put_be32(at, (uint32_t)(value >> 32));
    weir__put_be32(at + 4, (uint32_t)value);
}

static inline uint64_t weir__get_be64(const unsigned char *at)
{
    return (uint64_t)weir__get_be32(at) << 32 | weir__get_be32(at + 4);
}

static inline MDB_val weir__lmdb_key(const struct weir__address *address)
{
    return (MDB_val){WEIR__ADDRESS_SIZE, (void *)(uintptr_t)address->bytes};
}

/* The length of the value. */
static inline size_t weir__live_put(const struct weir__known *known,
                                    unsigned char value[VALUE_TOUCHED])
{
    const struct weir__entry *entry = &known->entry;
    memset(value, 0, VALUE_TOUCHED);
    weir__put_be32(value, entry->place.segment);
    weir__put_be32(value + 4, entry->place.offset);
    weir__put_be32(value + 8, entry->size);
    weir__put_be32(value + 12, entry->time_s);
    weir__put_be64(value + 16, entry->sequence);
    value[24] = (unsigned char)entry->type;
    value[25] = known->is_spent;
    if (known->touch.segment == 0)
        return VALUE_LIVE;
    weir__put_be32(value + 28, known->touch.segment);
    weir__put_be32(value + 32, known->touch.offset);
    weir__put_be64(value + 36, known->touch_sequence);
    return VALUE_TOUCHED;
}

static inline int weir__live_get(const MDB_val *key, const MDB_val *value,
                                 struct weir__known *ret_known)
{
    const unsigned char *at = value->mv_data;
    bool is_touched = value->mv_size == VALUE_TOUCHED;
    if (key->mv_size != WEIR__ADDRESS_SIZE || (value->mv_size != VALUE_LIVE && !is_touched))
        return -WEIR_E_CORRUPT;
    struct weir__entry entry = {
        .place = {weir__get_be32(at), weir__get_be32(at + 4)},
        .size = weir__get_be32(at + 8),
        .time_s = weir__get_be32(at + 12),
        .sequence = weir__get_be64(at + 16),
        .type = (enum weir__record_type)at[24],
    };
    if (entry.place.segment == 0 || entry.place.offset == 0 || entry.size < WEIR__RECORD_HEAD ||
        entry.sequence == 0 || at[24] < WEIR__RECORD_CHUNK || at[24] > WEIR__RECORD_BAD)
        return -WEIR_E_CORRUPT;
    memcpy(entry.address.bytes, key->mv_data, WEIR__ADDRESS_SIZE);
    *ret_known = (struct weir__known){.entry = entry, .is_spent = at[25]};
    if (is_touched) {
        ret_known->touch = (struct weir__place){weir__get_be32(at + 28), weir__get_be32(at + 32)};
        ret_known->touch_sequence = weir__get_be64(at + 36);
    }
    return 0;
}

static inline bool weir__live_is_chunk(const MDB_val *value)
{
    return value->mv_size >= VALUE_LIVE &&
           ((const unsigned char *)value->mv_data)[24] == WEIR__RECORD_CHUNK;
}

static inline void weir__dead_put(const struct weir__entry *entry, unsigned char key[KEY_DEAD])
{
    memcpy(key, entry->address.bytes, WEIR__ADDRESS_SIZE);
    weir__put_be32(key + WEIR__ADDRESS_SIZE, entry->place.segment);
    weir__put_be32(key + WEIR__ADDRESS_SIZE + 4, entry->place.offset);
}

/* Its kind and its size, which is below 2^24. */
static inline void weir__dead_value(const struct weir__entry *entry,
                                    unsigned char value[VALUE_DEAD])
{
    weir__put_be32(value, (uint32_t)entry->type << 24 | entry->size);
}

static inline bool weir__dead_is_chunk(const MDB_val *value)
{
    return value->mv_size == VALUE_DEAD &&
           *(const unsigned char *)value->mv_data == WEIR__RECORD_CHUNK;
}

static inline void weir__facts_put(const struct weir__segment_facts *facts,
                                   unsigned char value[VALUE_FACTS])
{
    weir__put_be32(value, facts->size);
    weir__put_be32(value + 4, facts->records);
    weir__put_be32(value + 8, facts->is_sealed);
    weir__put_be32(value + 12, facts->is_partial);
    weir__put_be64(value + 16, facts->bytes);
    weir__put_be64(value + 24, facts->dead);
    weir__put_be64(value + 32, facts->sequence_max);
    weir__put_be64(value + 40, facts->spent);
}

static inline int weir__facts_get(const MDB_val *key, const MDB_val *value,
                                  struct weir__segment_facts *ret)
{
    const unsigned char *at = value->mv_data;
    if (key->mv_size != 4 || value->mv_size != VALUE_FACTS)
        return -WEIR_E_CORRUPT;
    *ret = (struct weir__segment_facts){
        .id = weir__get_be32(key->mv_data),
        .size = weir__get_be32(at),
        .records = weir__get_be32(at + 4),
        .is_sealed = weir__get_be32(at + 8),
        .is_partial = weir__get_be32(at + 12),
        .bytes = weir__get_be64(at + 16),
        .dead = weir__get_be64(at + 24),
        .sequence_max = weir__get_be64(at + 32),
        .spent = weir__get_be64(at + 40),
    };
    return ret->id == 0 || ret->size == 0 ? -WEIR_E_CORRUPT : 0;
}

#endif
