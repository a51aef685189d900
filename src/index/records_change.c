/* records_change.c - one write inside of a transaction: judged against what is there, and done.
 *
 * Nobody else writes, so what a write is judged against is what it changes. Where a record stands,
 * its expiry stands in a table of its own; whoever replaces or removes the one removes the other.
 * An entry there that has no record, as one that rotted leaves it, does no harm: PURGE looks at the
 * record before it removes it.
 */
#include <string.h>

#include "records_part.h"

#include "banned.h"

/* --- the tables --- */

/* 0 and the value, NotFound, or an error that spoils all. */
static int get(struct weir__records_change *change, enum weir__records_table table, MDB_val *key,
               MDB_val *ret_value)
{
    int error =
        weir__records_error(mdb_get(change->txn, change->records->tables[table], key, ret_value));
    if (error && error != -WEIR_E_NOT_FOUND)
        change->error = error;
    return error;
}

static int note(struct weir__records_change *change, int rc)
{
    int error = weir__records_error(rc);
    if (error)
        change->error = error;
    else
        change->has_changed = true;
    return error;
}

static int put_sealed(struct weir__records_change *change, enum weir__records_table table,
                      MDB_val *key, const void *bytes, size_t length)
{
    MDB_val value = {WEIR__SEAL + length, NULL};
    /* Written where it will lie: nothing is copied twice. */
    int error = note(
        change, mdb_put(change->txn, change->records->tables[table], key, &value, MDB_RESERVE));
    if (error)
        return error;
    weir__records_seal(table, key, bytes, length, value.mv_data);
    memcpy((unsigned char *)value.mv_data + WEIR__SEAL, bytes, length);
    return 0;
}

/* What is not there needs no removing. */
static int del(struct weir__records_change *change, enum weir__records_table table, MDB_val *key)
{
    int rc = mdb_del(change->txn, change->records->tables[table], key, NULL);
    return rc == MDB_NOTFOUND ? 0 : note(change, rc);
}

static int put_expiry(struct weir__records_change *change, enum weir__records_table table,
                      const MDB_val *of, int64_t expires_s)
{
    unsigned char bytes[WEIR__TABLE_KEY_MAX];
    MDB_val key = {weir__records_expiry_key(expires_s, table, of, bytes), bytes}, none = {0, NULL};
    return note(change,
                mdb_put(change->txn, change->records->tables[WEIR__TABLE_EXPIRY], &key, &none, 0));
}

static int del_expiry(struct weir__records_change *change, enum weir__records_table table,
                      const MDB_val *of, int64_t expires_s)
{
    unsigned char bytes[WEIR__TABLE_KEY_MAX];
    MDB_val key = {weir__records_expiry_key(expires_s, table, of, bytes), bytes};
    return del(change, WEIR__TABLE_EXPIRY, &key);
}

/* --- a record in its place --- */

struct place {
    enum weir__records_table table;
    MDB_val key;
    bool has_record;
    struct weir__record record;
    struct weir__record_bytes bytes;
};

/* One that rotted is as good as none, and is counted. */
static int find(struct weir__records_change *change, struct place *place)
{
    MDB_val value;
    int error = get(change, place->table, &place->key, &value);
    place->has_record = !error && weir__records_record_get(place->table, &place->key, value,
                                                           &place->record, &place->bytes) == 0;
    if (!error && !place->has_record)
        change->corrupt++;
    return error == -WEIR_E_NOT_FOUND ? 0 : error;
}

static int replace(struct weir__records_change *change, struct place *place,
                   const struct weir__records_write *write)
{
    int error = 0;
    if (place->has_record)
        error = del_expiry(change, place->table, &place->key, place->record.expires_s);
    if (!error)
        error =
            put_sealed(change, place->table, &place->key, write->bytes.bytes, write->bytes.length);
    return error ? error : put_expiry(change, place->table, &place->key, write->record.expires_s);
}

static bool is_same(const struct place *place, const struct weir__records_write *write)
{
    return place->has_record && place->bytes.length == write->bytes.length &&
           memcmp(place->bytes.bytes, write->bytes.bytes, write->bytes.length) == 0;
}

/* Whether what the caller believes to be there is: the highest sequence, or that nothing is. */
static bool is_as_believed(const struct weir__records_write *write, bool is_live)
{
    return !write->has_previous || write->previous == write->current ||
           (write->previous == 0 && !is_live);
}

/* --- names --- */

static int find_seen(struct weir__records_change *change, MDB_val *key,
                     struct weir__records_sequence *ret_sequence)
{
    MDB_val value;
    *ret_sequence = (struct weir__records_sequence){.was_held = false};
    int error = get(change, WEIR__TABLE_SEEN, key, &value);
    if (error)
        return error == -WEIR_E_NOT_FOUND ? 0 : error;
    error = weir__records_seen_get(key, value, ret_sequence);
    change->corrupt += error != 0;
    return error;
}

static int put_seen(struct weir__records_change *change, MDB_val *key,
                    const struct weir__record_bytes *record, bool was_held)
{
    unsigned char bytes[WEIR__SEEN_HEAD + WEIR__RECORD_MAX];
    bytes[0] = was_held;
    memcpy(bytes + WEIR__SEEN_HEAD, record->bytes, record->length);
    return put_sealed(change, WEIR__TABLE_SEEN, key, bytes,
                      WEIR__SEEN_HEAD + (size_t)record->length);
}

/* Without the sequence, if that has rotted, nobody can say what is a replay: Corrupt. */
static int find_name(struct weir__records_change *change, struct place *place,
                     struct weir__records_sequence *ret_seen)
{
    int error = find_seen(change, &place->key, ret_seen);
    if (!error)
        error = find(change, place);
    if (!error)
        weir__records_seen_settle(change->records, ret_seen,
                                  place->has_record ? &place->record : NULL, &place->bytes);
    return error;
}

static int put_name(struct weir__records_change *change, struct weir__records_write *write)
{
    struct place place = {.table = WEIR__TABLE_NAMES,
                          .key = weir__records_name_key(&write->record.name)};
    struct weir__records_sequence seen;
    int error = find_name(change, &place, &seen);
    if (error)
        return error;
    bool is_live = place.has_record && !place.record.is_removal &&
                   place.record.expires_s > write->now_s &&
                   weir__records_is_bound(change->records, &place.record);
    write->current = seen.mark.sequence;
    write->was_there = is_live;
    if (is_same(&place, write)) {
        write->was_there = true;
        return 0;
    }
    /* One that was only seen elsewhere is not older than itself. */
    if (weir__record_mark_compare(&write->record, &write->bytes, &seen.mark) < 0 ||
        (write->record.sequence == seen.mark.sequence && seen.was_held) ||
        !is_as_believed(write, is_live))
        return -WEIR_E_CONFLICT;
    error = replace(change, &place, write);
    if (!error)
        error = put_seen(change, &place.key, &write->bytes, true);
    write->current = write->record.sequence;
    return error;
}

/* A name that is kept here follows: what others are told of it again and again must be what counts.
 * Of a sequence alone nobody knows which record had it, so the first one that has it is kept. */
static int see(struct weir__records_change *change, struct weir__records_write *write)
{
    struct place place = {.table = WEIR__TABLE_NAMES,
                          .key = weir__records_name_key(&write->record.name)};
    struct weir__records_sequence seen;
    int error = find_name(change, &place, &seen);
    if (error)
        return error;
    int order = weir__record_mark_compare(&write->record, &write->bytes, &seen.mark);
    write->was_there = order < 0 || (order == 0 && seen.mark.has_record);
    write->current = write->was_there ? seen.mark.sequence : write->record.sequence;
    if (write->was_there)
        return 0;
    if (place.has_record)
        error = replace(change, &place, write);
    bool is_held = place.has_record || (order == 0 && seen.was_held);
    return error ? error : put_seen(change, &place.key, &write->bytes, is_held);
}

/* --- providers --- */

static int64_t expiry_of(const MDB_val *key, const MDB_val *value)
{
    struct weir__record record;
    struct weir__record_bytes bytes;
    /* What rotted goes first. */
    return weir__records_record_get(WEIR__TABLE_PROVIDERS, key, *value, &record, &bytes) < 0
               ? 0
               : record.expires_s;
}

/* How many providers an address has; with expiries, the one that expires first. */
struct survey {
    const unsigned char *address;
    bool has_expiries;
    uint32_t count;
    unsigned char first[WEIR__PROVIDER_KEY];
    int64_t expires_s;
};

static int survey(struct weir__records_change *change, struct survey *survey)
{
    MDB_cursor *cursor;
    MDB_val key = {WEIR__ADDRESS_SIZE, (void *)(uintptr_t)survey->address}, value;
    int rc = mdb_cursor_open(change->txn, change->records->tables[WEIR__TABLE_PROVIDERS], &cursor);
    if (rc)
        return note(change, rc);
    rc = mdb_cursor_get(cursor, &key, &value, MDB_SET_RANGE);
    for (survey->count = 0; !rc && key.mv_size == WEIR__PROVIDER_KEY &&
                            memcmp(key.mv_data, survey->address, WEIR__ADDRESS_SIZE) == 0;
         survey->count++) {
        int64_t expires_s = survey->has_expiries ? expiry_of(&key, &value) : 0;
        if (survey->count == 0 || expires_s < survey->expires_s) {
            survey->expires_s = expires_s;
            memcpy(survey->first, key.mv_data, WEIR__PROVIDER_KEY);
        }
        rc = mdb_cursor_get(cursor, &key, &value, MDB_NEXT);
    }
    mdb_cursor_close(cursor);
    return rc && rc != MDB_NOTFOUND ? note(change, rc) : 0;
}

/* Counting is cheap; expiries are read only where one has to go. */
static int make_room(struct weir__records_change *change, const struct weir__address *address)
{
    struct survey found = {.address = address->bytes};
    int error = survey(change, &found);
    if (error || found.count < WEIR__RECORDS_PROVIDERS_MAX)
        return error;
    found.has_expiries = true;
    if ((error = survey(change, &found)))
        return error;
    MDB_val key = {sizeof(found.first), found.first};
    error = del(change, WEIR__TABLE_PROVIDERS, &key);
    change->evicted++;
    return error ? error : del_expiry(change, WEIR__TABLE_PROVIDERS, &key, found.expires_s);
}

static int put_provider(struct weir__records_change *change, struct weir__records_write *write)
{
    unsigned char bytes[WEIR__PROVIDER_KEY];
    struct place place = {.table = WEIR__TABLE_PROVIDERS, .key = {sizeof(bytes), bytes}};
    weir__records_provider_key(&write->record, bytes);
    int error = find(change, &place);
    if (error)
        return error;
    bool is_live = place.has_record && place.record.expires_s > write->now_s;
    write->current = place.has_record ? place.record.sequence : 0;
    write->was_there = is_live;
    if (is_same(&place, write)) {
        write->was_there = true;
        return 0;
    }
    if (write->record.sequence <= write->current || !is_as_believed(write, is_live))
        return -WEIR_E_CONFLICT;
    if (!place.has_record)
        error = make_room(change, &write->record.address);
    if (!error)
        error = replace(change, &place, write);
    write->current = write->record.sequence;
    return error;
}

/* --- pins --- */

static int pin(struct weir__records_change *change, struct weir__records_write *write)
{
    const struct weir__question *question = &write->question;
    unsigned char bytes[1 + WEIR__NAME_MAX];
    struct weir__question_key of;
    bool is_name = question->kind == WEIR__ASK_NAME;
    size_t length = is_name ? question->name.length : WEIR__ADDRESS_SIZE;
    weir__question_key_of(question, &of);
    MDB_val key = {sizeof(of.bytes), of.bytes}, value;
    int error = get(change, WEIR__TABLE_PINS, &key, &value);
    if (error != -WEIR_E_NOT_FOUND && error)
        return error;
    write->was_there = !error;
    if (write->action == WEIR__RECORDS_UNPIN)
        return error ? error : del(change, WEIR__TABLE_PINS, &key);
    if (!error)
        return 0;
    bytes[0] = (unsigned char)question->kind;
    memcpy(bytes + 1, is_name ? (const void *)question->name.text : question->address.bytes,
           length);
    return put_sealed(change, WEIR__TABLE_PINS, &key, bytes, 1 + length);
}

/* --- what has expired --- */

/* Removes the record of that entry, if the entry is its own. */
static int purge_record(struct weir__records_change *change, const unsigned char *entry,
                        size_t length, uint64_t *purged)
{
    struct place place = {.table = entry[8] == WEIR__TABLE_NAMES ? WEIR__TABLE_NAMES
                                                                 : WEIR__TABLE_PROVIDERS};
    place.key =
        (MDB_val){length - WEIR__EXPIRY_HEAD, (void *)(uintptr_t)(entry + WEIR__EXPIRY_HEAD)};
    int error = find(change, &place);
    if (error || !place.has_record || (uint64_t)place.record.expires_s != weir__be64_get(entry))
        return error;
    ++*purged;
    return del(change, place.table, &place.key);
}

static int purge(struct weir__records_change *change, struct weir__records_write *write)
{
    unsigned char entry[WEIR__TABLE_KEY_MAX];
    MDB_cursor *cursor;
    MDB_val key, none;
    uint64_t now = write->now_s > 0 ? (uint64_t)write->now_s : 0;
    uint32_t steps = 0;
    int error = 0,
        rc = mdb_cursor_open(change->txn, change->records->tables[WEIR__TABLE_EXPIRY], &cursor);
    if (rc)
        return note(change, rc);
    write->purged = 0;
    while (!error && steps++ < change->purge_max &&
           !(rc = mdb_cursor_get(cursor, &key, &none, MDB_FIRST))) {
        bool is_one = key.mv_size > WEIR__EXPIRY_HEAD && key.mv_size <= sizeof(entry);
        if (is_one && weir__be64_get(key.mv_data) > now)
            break;
        if (is_one) {
            /* A copy: the page that it is on may be another one after the next change. */
            memcpy(entry, key.mv_data, key.mv_size);
            error = purge_record(change, entry, key.mv_size, &write->purged);
        }
        if (!error)
            error = note(change, mdb_cursor_del(cursor, 0));
    }
    mdb_cursor_close(cursor);
    return !error && rc && rc != MDB_NOTFOUND ? note(change, rc) : error;
}

static int forget(struct weir__records_change *change)
{
    int error = 0;
    for (int table = 0; !error && table < WEIR__TABLE_ABOUT; table++)
        error = note(change, mdb_drop(change->txn, change->records->tables[table], 0));
    return error;
}

void weir__records_apply(struct weir__records_change *change, struct weir__records_write *write)
{
    write->was_there = false;
    write->current = 0;
    write->purged = 0;
    switch (write->action) {
    case WEIR__RECORDS_PUT:
        write->result = write->record.kind == WEIR__RECORD_NAME ? put_name(change, write)
                                                                : put_provider(change, write);
        return;
    case WEIR__RECORDS_SEE:
        write->result = see(change, write);
        return;
    case WEIR__RECORDS_PIN:
    case WEIR__RECORDS_UNPIN:
        write->result = pin(change, write);
        return;
    case WEIR__RECORDS_PURGE:
        write->result = purge(change, write);
        return;
    case WEIR__RECORDS_FORGET:
        write->result = forget(change);
        return;
    }
    write->result = -WEIR_E_INVALID;
}
