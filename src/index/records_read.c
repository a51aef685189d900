/* records_read.c - what is asked for by its key: a name, the providers of an address, a pin. */
#include <string.h>

#include "records_part.h"

#include "banned.h"

static int count_corrupt(struct weir__records *records, int error)
{
    if (error == -WEIR_E_CORRUPT)
        weir_counter_add(&records->counts.corrupt, 1);
    return error;
}

/* --- a name --- */

struct name_look {
    const struct weir__name *name;
    bool has_record;
    struct weir__record record;
    struct weir__record_bytes *bytes;
    struct weir__records_sequence seen;
};

static int look_up_name(struct weir__records *records, struct weir__records_reader *reader,
                        void *arg)
{
    struct name_look *self = arg;
    MDB_val key = weir__records_name_key(self->name), value;
    int rc = mdb_get(reader->txn, records->tables[WEIR__TABLE_SEEN], &key, &value);
    if (rc)
        return weir__records_error(rc);
    int error = weir__records_seen_get(&key, value, &self->seen);
    if (error)
        return error;
    rc = mdb_get(reader->txn, records->tables[WEIR__TABLE_NAMES], &key, &value);
    if (rc && rc != MDB_NOTFOUND)
        return weir__records_error(rc);
    if (!rc)
        error =
            weir__records_record_get(WEIR__TABLE_NAMES, &key, value, &self->record, self->bytes);
    self->has_record = !rc && !error;
    weir__records_seen_settle(records, &self->seen, self->has_record ? &self->record : NULL,
                              self->bytes);
    self->has_record = self->has_record && weir__records_is_bound(records, &self->record);
    return error;
}

int weir__records_name(struct weir__records *records, const struct weir__name *name, int64_t now_s,
                       struct weir__record_bytes *ret_bytes, struct weir__records_seen *ret_seen)
{
    struct weir__record_bytes bytes = {.length = 0};
    struct name_look self = {.name = name, .bytes = &bytes};
    int error = count_corrupt(records, weir__records_look(records, look_up_name, &self));
    if (error && error != -WEIR_E_NOT_FOUND)
        return error;
    bool is_there = self.has_record && self.record.expires_s > now_s;
    ret_seen->mark = self.seen.mark;
    ret_seen->is_removed = is_there && self.record.is_removal;
    if (is_there)
        *ret_bytes = bytes;
    return is_there && !self.record.is_removal ? 0 : -WEIR_E_NOT_FOUND;
}

/* --- providers --- */

/* Some at a time, so that a look is short whatever an address has. */
#define STEP 64u

struct providers_look {
    const struct weir__address *address;
    int64_t now_s;
    unsigned char from[WEIR__PROVIDER_KEY]; /* the first, or the last that was looked at */
    size_t from_length;
    struct weir__record_bytes *room;
    size_t room_count, count, steps, corrupt;
    bool is_all;
};

static int look_up_providers(struct weir__records *records, struct weir__records_reader *reader,
                             void *arg)
{
    struct providers_look *self = arg;
    struct weir__record record;
    MDB_val key = {self->from_length, self->from}, value;
    int error = weir__records_cursor(records, reader, WEIR__TABLE_PROVIDERS);
    int rc = error ? 0 : mdb_cursor_get(reader->cursor, &key, &value, MDB_SET_RANGE);
    if (!error && !rc && self->from_length == sizeof(self->from) &&
        key.mv_size == self->from_length && memcmp(key.mv_data, self->from, key.mv_size) == 0)
        rc = mdb_cursor_get(reader->cursor, &key, &value, MDB_NEXT);
    for (self->steps = 0; !error && !rc && self->steps < STEP; self->steps++) {
        if (key.mv_size != sizeof(self->from) || self->count == self->room_count ||
            memcmp(key.mv_data, self->address->bytes, WEIR__ADDRESS_SIZE) != 0) {
            self->is_all = true;
            return 0;
        }
        memcpy(self->from, key.mv_data, sizeof(self->from));
        self->from_length = sizeof(self->from);
        if (weir__records_record_get(WEIR__TABLE_PROVIDERS, &key, value, &record,
                                     &self->room[self->count]) < 0)
            self->corrupt++;
        else if (record.expires_s > self->now_s)
            self->count++;
        rc = mdb_cursor_get(reader->cursor, &key, &value, MDB_NEXT);
    }
    self->is_all = rc == MDB_NOTFOUND;
    return error || self->is_all ? error : weir__records_error(rc);
}

int weir__records_providers(struct weir__records *records, const struct weir__address *address,
                            int64_t now_s, struct weir__record_bytes *room, size_t room_count,
                            size_t *ret_count)
{
    struct providers_look self = {.address = address,
                                  .now_s = now_s,
                                  .from_length = WEIR__ADDRESS_SIZE,
                                  .room = room,
                                  .room_count = room_count};
    int error = 0;
    memcpy(self.from, address->bytes, WEIR__ADDRESS_SIZE);
    while (!error && !self.is_all)
        error = weir__records_look(records, look_up_providers, &self);
    weir_counter_add(&records->counts.corrupt, self.corrupt);
    if (error)
        return error;
    if (self.count == 0)
        return self.corrupt > 0 ? -WEIR_E_CORRUPT : -WEIR_E_NOT_FOUND;
    *ret_count = self.count;
    return 0;
}

/* --- pins --- */

static int look_up_pin(struct weir__records *records, struct weir__records_reader *reader,
                       void *arg)
{
    struct weir__question_key *of = arg;
    struct weir__question question;
    MDB_val key = {sizeof(of->bytes), of->bytes}, value;
    int rc = mdb_get(reader->txn, records->tables[WEIR__TABLE_PINS], &key, &value);
    return rc ? weir__records_error(rc) : weir__records_pin_get(&key, value, &question);
}

bool weir__records_is_pinned(struct weir__records *records, const struct weir__question *question)
{
    struct weir__question_key of;
    weir__question_key_of(question, &of);
    return count_corrupt(records, weir__records_look(records, look_up_pin, &of)) == 0;
}

/* --- counts --- */

static int count_all(struct weir__records *records, struct weir__records_reader *reader, void *arg)
{
    struct weir__records_stats *stats = arg;
    const struct {
        enum weir__records_table table;
        uint64_t *count;
    } rows[] = {
        {WEIR__TABLE_NAMES, &stats->names},
        {WEIR__TABLE_SEEN, &stats->seen},
        {WEIR__TABLE_PROVIDERS, &stats->providers},
        {WEIR__TABLE_PINS, &stats->pins},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        MDB_stat stat;
        int rc = mdb_stat(reader->txn, records->tables[rows[i].table], &stat);
        if (rc)
            return weir__records_error(rc);
        *rows[i].count = stat.ms_entries;
    }
    return 0;
}

void weir__records_read(struct weir__records *records, struct weir__records_stats *ret_stats)
{
    struct weir__records_stats stats = {0};
    /* Where nobody can look any more, the counts are of nothing. */
    (void)!weir__records_look(records, count_all, &stats);
    stats.commits = weir_counter_value(&records->counts.commits);
    stats.writes = weir_counter_value(&records->counts.writes);
    stats.conflicts = weir_counter_value(&records->counts.conflicts);
    stats.failed = weir_counter_value(&records->counts.failed);
    stats.corrupt = weir_counter_value(&records->counts.corrupt);
    stats.evicted = weir_counter_value(&records->counts.evicted);
    stats.map_bytes = records->map_bytes;
    stats.used_bytes = weir__records_used(records);
    stats.is_read_only = records->is_read_only;
    weir_lock_acquire(&records->lock);
    stats.is_full = records->is_full;
    stats.is_failing =
        records->is_failing || records->is_broken || (!records->env && !records->is_paused);
    weir_lock_release(&records->lock);
    *ret_stats = stats;
}
