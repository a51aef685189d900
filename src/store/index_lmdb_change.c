/* index_lmdb_change.c - segments that are applied to the index in a folder, or dropped from it.
 *
 * LMDB takes memory for each page that a transaction changes and keeps it. Addresses are as good as
 * random, so a segment with many records changes most pages of a large index. So its records are
 * taken by their addresses, and in pieces, each of which is a transaction: memory is that of the
 * pages of one piece, and a page is changed once.
 *
 * Those of one address are in one piece, in the order in which they were written. Between two
 * pieces an address is known as it was before, or as it is after; who looks up finds all of them in
 * the tail meanwhile. The segment is marked as partial until the last piece: an index that has such
 * a one is not used again. One who could not end it may do all of it once more.
 */
#include "index_lmdb.h"

#include <stdlib.h>

#include "alloc.h"

#include "banned.h"

/* Records of a piece. Each changes up to three pages, of 4 KiB: less than 16 MiB in all. */
#define PIECE 1024u

static size_t piece = PIECE;

#ifdef WEIR_FAULTS
void weir__index_piece(size_t records)
{
    piece = records;
}
#endif

/* What is done to a segment that is applied or dropped, and to others by that. */
struct change {
    struct weir__lmdb *lmdb;
    struct weir__segment_facts facts;  /* of that segment */
    const struct weir__entry **sorted; /* its records */
    size_t count;
    int (*one)(struct change *change, const struct weir__entry *record);
    int (*save)(struct change *change); /* facts, after each piece */
    /* Of the piece: */
    MDB_txn *txn;
    size_t from, to;
    uint32_t *others; /* segments that changed */
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
    return weir__lmdb_error(
        weir__lmdb_put(change->lmdb, change->txn, change->lmdb->segments, &key, &value));
}

static void remember_other(struct change *change, uint32_t id)
{
    for (size_t i = change->others_count; i-- > 0;)
        if (change->others[i] == id)
            return;
    change->others[change->others_count++] = id;
}

/* Of the bytes of a segment so many more, or fewer, are dead or spent. NotFound: it is gone. */
static int charge(struct change *change, uint32_t segment, int64_t dead, int64_t spent)
{
    struct weir__segment_facts other;
    struct weir__segment_facts *facts = &other;
    bool is_own = segment == change->facts.id;
    int error = is_own ? 0 : facts_find(change, segment, &other);
    if (error)
        return error;
    if (is_own)
        facts = &change->facts;
    facts->dead += (uint64_t)dead;
    facts->spent += (uint64_t)spent;
    if (is_own)
        return 0;
    remember_other(change, segment);
    return facts_save(change, facts);
}

/* The record counts no more. */
static int bury(struct change *change, const struct weir__entry *entry)
{
    unsigned char bytes[KEY_DEAD], room[VALUE_DEAD];
    struct weir__segment_facts other;
    bool is_own = entry->place.segment == change->facts.id;
    int error = is_own ? 0 : facts_find(change, entry->place.segment, &other);
    if (error == -WEIR_E_NOT_FOUND)
        return 0; /* its segment is gone, and the record with it */
    if (error)
        return error;
    weir__dead_put(entry, bytes);
    weir__dead_value(entry, room);
    MDB_val key = {sizeof(bytes), bytes}, value = {sizeof(room), room};
    int rc = weir__lmdb_add(change->lmdb, change->txn, change->lmdb->dead, &key, &value,
                            MDB_NOOVERWRITE);
    if (rc)
        return rc == MDB_KEYEXIST ? 0 : weir__lmdb_error(rc);
    return charge(change, entry->place.segment, weir__record_span(entry->size), 0);
}

/* It was dead, if it is known as that, and counts again. */
static int unbury(struct change *change, const struct weir__entry *entry)
{
    unsigned char bytes[KEY_DEAD];
    weir__dead_put(entry, bytes);
    MDB_val key = {sizeof(bytes), bytes};
    int rc = weir__lmdb_del(change->lmdb, change->txn, change->lmdb->dead, &key);
    if (rc)
        return rc == MDB_NOTFOUND ? 0 : weir__lmdb_error(rc);
    return charge(change, entry->place.segment, -(int64_t)weir__record_span(entry->size), 0);
}

static int find_known(struct change *change, const struct weir__address *address,
                      struct weir__known *ret_known)
{
    MDB_val key = weir__lmdb_key(address), value;
    int rc = mdb_get(change->txn, change->lmdb->live, &key, &value);
    return rc ? weir__lmdb_error(rc) : weir__live_get(&key, &value, ret_known);
}

static int save_known(struct change *change, const struct weir__known *known)
{
    unsigned char room[VALUE_TOUCHED];
    MDB_val key = weir__lmdb_key(&known->entry.address), value = {.mv_data = room};
    value.mv_size = weir__live_put(known, room);
    return weir__lmdb_error(
        weir__lmdb_put(change->lmdb, change->txn, change->lmdb->live, &key, &value));
}

/* A deletion that counts is spent, or not, and its segment knows. Not saved. */
static int set_spent(struct change *change, struct weir__known *known, bool is_spent)
{
    int64_t span = weir__record_span(known->entry.size);
    if (known->is_spent == is_spent)
        return 0;
    known->is_spent = is_spent;
    int error = charge(change, known->entry.place.segment, 0, is_spent ? span : -span);
    return error == -WEIR_E_NOT_FOUND ? 0 : error;
}

/* Spent, if there is nothing that it hides. */
static int judge_deletion(struct change *change, struct weir__known *known)
{
    struct weir__place place;
    struct weir__lmdb_chunks find = {&known->entry.address, 0, &place, 1, 0};
    int error = weir__lmdb_find_chunks(change->lmdb, change->txn, &find);
    return error ? error : set_spent(change, known, find.count == 0);
}

static int replace(struct change *change, const struct weir__entry *record,
                   struct weir__known *known)
{
    struct weir__known fresh;
    bool keeps = weir__index_replace(record, known, &fresh);
    int error = 0;
    if (known && known->touch.segment != 0 && !keeps) {
        struct weir__entry touch = weir__known_touch(known);
        error = bury(change, &touch);
    }
    if (!error && known)
        error = set_spent(change, known, false);
    if (!error && known)
        error = bury(change, &known->entry);
    if (!error && weir__is_deletion(record))
        error = judge_deletion(change, &fresh);
    return error ? error : save_known(change, &fresh);
}

static int renew(struct change *change, const struct weir__entry *record, struct weir__known *known)
{
    int error = unbury(change, record);
    if (!error && known->touch.segment != 0) {
        struct weir__entry touch = weir__known_touch(known);
        error = bury(change, &touch);
    }
    known->touch = record->place;
    known->touch_sequence = record->sequence;
    known->entry.time_s = record->time_s;
    return error ? error : save_known(change, known);
}

static int add_dead(struct change *change, const struct weir__entry *record,
                    struct weir__known *known)
{
    int error = bury(change, record);
    if (error || !known || !known->is_spent || record->type != WEIR__RECORD_CHUNK)
        return error;
    error = set_spent(change, known, false);
    return error ? error : save_known(change, known);
}

static int apply_one(struct change *change, const struct weir__entry *record)
{
    struct weir__known room, *known = &room;
    int error = find_known(change, &record->address, known);
    if (error == -WEIR_E_NOT_FOUND)
        known = NULL;
    else if (error)
        return error;
    switch (weir__index_effect(record, known)) {
    case WEIR__INDEX_COUNTS:
        return replace(change, record, known);
    case WEIR__INDEX_DEAD:
        return add_dead(change, record, known);
    case WEIR__INDEX_RENEWS:
        return renew(change, record, known);
    case WEIR__INDEX_NOTHING:
        return 0;
    }
    return 0;
}

/* A record of the segment that goes. */
static int drop_one(struct change *change, const struct weir__entry *record)
{
    unsigned char bytes[KEY_DEAD];
    struct weir__known known;
    uint32_t own = change->facts.id;
    weir__dead_put(record, bytes);
    MDB_val key = {sizeof(bytes), bytes};
    int rc = weir__lmdb_del(change->lmdb, change->txn, change->lmdb->dead, &key);
    if (rc && rc != MDB_NOTFOUND)
        return weir__lmdb_error(rc);
    int error = find_known(change, &record->address, &known);
    if (error)
        return error == -WEIR_E_NOT_FOUND ? 0 : error;
    if (weir__is_at(record, known.entry.place)) {
        struct weir__entry touch = weir__known_touch(&known);
        if (touch.place.segment != 0 && touch.place.segment != own)
            error = bury(change, &touch);
        key = weir__lmdb_key(&record->address);
        return error ? error
                     : weir__lmdb_error(
                           weir__lmdb_del(change->lmdb, change->txn, change->lmdb->live, &key));
    }
    if (known.touch.segment != 0 && weir__is_at(record, known.touch)) {
        known.touch = (struct weir__place){0, 0};
        return save_known(change, &known);
    }
    bool may_be_spent = record->type == WEIR__RECORD_CHUNK && weir__is_deletion(&known.entry) &&
                        !known.is_spent && known.entry.place.segment != own;
    if (may_be_spent)
        error = judge_deletion(change, &known);
    return error || !known.is_spent || !may_be_spent ? error : save_known(change, &known);
}

/* --- pieces --- */

/* By address, and those of one address as they came. */
static int by_address(const void *a, const void *b)
{
    const struct weir__entry *left = *(const struct weir__entry *const *)a,
                             *right = *(const struct weir__entry *const *)b;
    int order = weir__address_compare(&left->address, &right->address);
    return order ? order : left < right ? -1 : left > right;
}

/* Where the piece ends that begins there. */
static size_t piece_end(const struct change *change, size_t from)
{
    size_t to = change->count - from > piece ? from + piece : change->count;
    while (to > from && to < change->count &&
           weir__address_is_equal(&change->sorted[to - 1]->address, &change->sorted[to]->address))
        to++;
    return to;
}

/* The segment may have been begun, or applied, before. */
static int recall(struct change *change)
{
    struct weir__segment_facts before;
    int error = facts_find(change, change->facts.id, &before);
    if (!error) {
        change->facts.dead = before.dead;
        change->facts.spent = before.spent;
    }
    return error == -WEIR_E_NOT_FOUND ? 0 : error;
}

static int change_in(void *arg)
{
    struct change *change = arg;
    int error = weir__lmdb_error(mdb_txn_begin(change->lmdb->env, NULL, 0, &change->txn));
    if (error)
        return error;
    change->facts.version = mdb_txn_id(change->txn);
    change->others_count = 0;
    if (change->from == 0)
        error = recall(change);
    for (size_t i = change->from; !error && i < change->to; i++)
        error = change->one(change, change->sorted[i]);
    if (!error)
        error = change->save(change);
    for (size_t i = 0; !error && i < change->others_count; i++) {
        error = facts_find(change, change->others[i], &change->others_facts[i]);
        change->others_facts[i].version = change->facts.version;
    }
    return weir__lmdb_commit(change->lmdb, change->txn, error);
}

/* One piece after the other, by who has the turn. Tells of the others after each, since who does it
 * once more finds nothing to tell. */
static int change_pieces(struct change *change, weir__index_changed *changed, void *arg)
{
    int error = 0;
    do {
        change->to = piece_end(change, change->from);
        error = weir__lmdb_write(change->lmdb, change_in, change);
        for (size_t i = 0; !error && i < change->others_count; i++)
            changed(arg, &change->others_facts[i]);
        change->from = change->to;
    } while (!error && change->from < change->count);
    return error;
}

static int make_room(struct change *change, const struct weir__entry *records)
{
    size_t largest = 0;
    change->sorted = weir__base_alloc(change->count + 1, sizeof(const struct weir__entry *));
    if (!change->sorted)
        return -WEIR_E_NO_MEMORY;
    for (size_t i = 0; i < change->count; i++)
        change->sorted[i] = &records[i];
    qsort(change->sorted, change->count, sizeof(const struct weir__entry *), by_address);
    for (size_t from = 0, to; from < change->count; from = to) {
        to = piece_end(change, from);
        largest = to - from > largest ? to - from : largest;
    }
    /* A record changes its own segment, that of what it replaces, and that of a touch. */
    change->others = weir__base_alloc(2 * largest + 1, sizeof(*change->others));
    change->others_facts = weir__base_alloc(2 * largest + 1, sizeof(*change->others_facts));
    return change->others && change->others_facts ? 0 : -WEIR_E_NO_MEMORY;
}

/* Nobody else changes it in between. */
static int change_all(struct change *change, const struct weir__entry *records,
                      weir__index_changed *changed, void *arg)
{
    struct weir_permit turn = WEIR_PERMIT_NONE;
    int error = make_room(change, records);
    if (!error)
        error = weir__lmdb_turn(change->lmdb, &turn);
    if (!error)
        error = change_pieces(change, changed, arg);
    weir_permit_release(&turn);
    weir__base_free(change->sorted);
    weir__base_free(change->others);
    weir__base_free(change->others_facts);
    return error;
}

/* --- both --- */

static int save_applied(struct change *change)
{
    change->facts.is_partial = change->to < change->count;
    return facts_save(change, &change->facts);
}

int weir__lmdb_apply(struct weir__index *index, const struct weir__segment_facts *facts,
                     const struct weir__entry *records, size_t count, weir__index_changed *changed,
                     void *arg)
{
    struct change change = {
        .lmdb = weir__lmdb_of(index),
        .facts = {.id = facts->id,
                  .size = facts->size,
                  .is_sealed = facts->is_sealed,
                  .records = (uint32_t)count},
        .count = count,
        .one = apply_one,
        .save = save_applied,
    };
    for (size_t i = 0; i < count; i++) {
        change.facts.bytes += weir__record_span(records[i].size);
        if (records[i].sequence > change.facts.sequence_max)
            change.facts.sequence_max = records[i].sequence;
    }
    int error = change_all(&change, records, changed, arg);
    if (!error)
        changed(arg, &change.facts);
    return error;
}

static int forget_dropped(struct change *change)
{
    unsigned char bytes[4];
    weir__put_be32(bytes, change->facts.id);
    MDB_val key = {sizeof(bytes), bytes};
    if (change->to < change->count)
        return 0;
    int rc = weir__lmdb_del(change->lmdb, change->txn, change->lmdb->segments, &key);
    return rc == MDB_NOTFOUND ? 0 : weir__lmdb_error(rc);
}

int weir__lmdb_drop(struct weir__index *index, uint32_t segment, const struct weir__entry *records,
                    size_t count, weir__index_changed *changed, void *arg)
{
    struct change change = {
        .lmdb = weir__lmdb_of(index),
        .facts = {.id = segment},
        .count = count,
        .one = drop_one,
        .save = forget_dropped,
    };
    return change_all(&change, records, changed, arg);
}
