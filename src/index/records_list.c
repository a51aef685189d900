/* records_list.c - walks along a table: names, everything that is to be published again, pins.
 *
 * A walk is made in steps, each a look of its own: one that lasts would keep pages from being used
 * again, and what is called must not be left in the middle. What comes or goes meanwhile is met or
 * not; what stays is met once.
 */
#include <string.h>

#include "alloc.h"
#include "records_part.h"

#include "banned.h"

#define STEP 64u

struct entry {
    struct weir__record record;
    struct weir__record_bytes bytes;
    struct weir__question question;
};

struct steps {
    enum weir__records_table table;
    int64_t now_s;
    unsigned char from[WEIR__TABLE_KEY_MAX];
    size_t from_length;
    bool is_behind; /* from was met already, or is not to be */
    const char *prefix;
    size_t prefix_length;
    size_t wanted, count, corrupt;
    bool is_all;
    bool is_served; /* nothing but records that would be served */
    struct entry entries[STEP];
};

static bool is_within(const struct steps *steps, const MDB_val *key)
{
    return key->mv_size >= steps->prefix_length && key->mv_size <= sizeof(steps->from) &&
           memcmp(key->mv_data, steps->prefix, steps->prefix_length) == 0;
}

/* Whether the record of a name is the one that counts: its key may still speak for it, and nothing
 * newer was seen. */
static bool counts(struct weir__records *records, struct weir__records_reader *reader,
                   const MDB_val *key, const struct entry *entry)
{
    struct weir__records_sequence seen = {.was_held = false};
    MDB_val of = *key, value;
    if (!weir__records_is_bound(records, &entry->record))
        return false;
    int rc = mdb_get(reader->txn, records->tables[WEIR__TABLE_SEEN], &of, &value);
    if (rc)
        return rc == MDB_NOTFOUND;
    if (weir__records_seen_get(key, value, &seen))
        return false;
    weir__records_seen_settle(records, &seen, &entry->record, &entry->bytes);
    return weir__record_mark_compare(&entry->record, &entry->bytes, &seen.mark) >= 0;
}

/* Takes an entry over, unless it has rotted or expired. */
static void take(struct weir__records *records, struct weir__records_reader *reader,
                 struct steps *steps, const MDB_val *key, const MDB_val *value)
{
    struct entry *entry = &steps->entries[steps->count];
    int error =
        steps->table == WEIR__TABLE_PINS
            ? weir__records_pin_get(key, *value, &entry->question)
            : weir__records_record_get(steps->table, key, *value, &entry->record, &entry->bytes);
    if (error)
        steps->corrupt++;
    else if (steps->table == WEIR__TABLE_PINS ||
             (entry->record.expires_s > steps->now_s &&
              (!steps->is_served || counts(records, reader, key, entry))))
        steps->count++;
}

/* Reading may begin at "", which LMDB has no key for. */
static int begin(struct weir__records_reader *reader, struct steps *steps, MDB_val *key,
                 MDB_val *value)
{
    *key = (MDB_val){steps->from_length, steps->from};
    int rc = mdb_cursor_get(reader->cursor, key, value,
                            steps->from_length > 0 ? MDB_SET_RANGE : MDB_FIRST);
    bool is_met = !rc && steps->is_behind && key->mv_size == steps->from_length &&
                  memcmp(key->mv_data, steps->from, key->mv_size) == 0;
    return is_met ? mdb_cursor_get(reader->cursor, key, value, MDB_NEXT) : rc;
}

static int step(struct weir__records *records, struct weir__records_reader *reader, void *arg)
{
    struct steps *steps = arg;
    MDB_val key, value;
    steps->count = 0;
    int error = weir__records_cursor(records, reader, steps->table);
    if (error)
        return error;
    int rc = begin(reader, steps, &key, &value);
    for (unsigned i = 0; !rc && i < STEP && steps->count < steps->wanted; i++) {
        if (!is_within(steps, &key)) {
            steps->is_all = true;
            return 0;
        }
        memcpy(steps->from, key.mv_data, key.mv_size);
        steps->from_length = key.mv_size;
        steps->is_behind = true;
        take(records, reader, steps, &key, &value);
        rc = mdb_cursor_get(reader->cursor, &key, &value, MDB_NEXT);
    }
    steps->is_all = rc == MDB_NOTFOUND;
    return steps->is_all ? 0 : weir__records_error(rc);
}

static int next(struct weir__records *records, struct steps *steps, size_t wanted)
{
    steps->wanted = wanted < STEP ? wanted : STEP;
    steps->corrupt = 0;
    int error = weir__records_look(records, step, steps);
    weir_counter_add(&records->counts.corrupt, steps->corrupt);
    return error;
}

static struct steps *steps_new(enum weir__records_table table, int64_t now_s)
{
    struct steps *steps = weir__base_alloc(1, sizeof(*steps));
    if (steps) {
        steps->table = table;
        steps->now_s = now_s;
        steps->prefix = "";
    }
    return steps;
}

/* --- names --- */

static int each_name(struct weir__records *records, struct steps *steps, size_t limit,
                     int (*one)(void *arg, const struct weir__record *record,
                                const struct weir__record_bytes *bytes),
                     void *arg)
{
    int error = 0;
    while (!error && limit > 0 && !steps->is_all) {
        error = next(records, steps, limit);
        for (size_t i = 0; !error && limit > 0 && i < steps->count; i++)
            if (!steps->entries[i].record.is_removal) {
                error = one(arg, &steps->entries[i].record, &steps->entries[i].bytes);
                limit--;
            }
    }
    return error;
}

int weir__records_list_names(struct weir__records *records, const char *prefix, const char *after,
                             size_t limit, int64_t now_s,
                             int (*one)(void *arg, const struct weir__record *record,
                                        const struct weir__record_bytes *bytes),
                             void *arg)
{
    size_t prefix_length = strlen(prefix), after_length = strlen(after);
    if (!weir__name_is_prefix(prefix, prefix_length) || after_length > WEIR__NAME_MAX)
        return -WEIR_E_INVALID;
    struct steps *steps = steps_new(WEIR__TABLE_NAMES, now_s);
    if (!steps)
        return -WEIR_E_NO_MEMORY;
    steps->is_served = true;
    steps->prefix = prefix;
    steps->prefix_length = prefix_length;
    /* Whichever of the two is further on. */
    bool is_after = strcmp(after, prefix) >= 0 && after_length > 0;
    steps->from_length = is_after ? after_length : prefix_length;
    memcpy(steps->from, is_after ? after : prefix, steps->from_length);
    steps->is_behind = is_after;
    int error = each_name(records, steps, limit, one, arg);
    weir__base_free(steps);
    return error;
}

/* --- everything --- */

_Static_assert(sizeof(((struct weir__records_cursor *)0)->_key) >= WEIR__NAME_MAX,
               "a cursor has room for every key");

static enum weir__records_table table_of(uint32_t which)
{
    return which == 0 ? WEIR__TABLE_NAMES : WEIR__TABLE_PROVIDERS;
}

static int walk_table(struct weir__records *records, struct steps *steps,
                      struct weir__record_bytes *room, size_t room_count, size_t *count)
{
    int error = 0;
    while (!error && *count < room_count && !steps->is_all) {
        error = next(records, steps, room_count - *count);
        for (size_t i = 0; !error && i < steps->count; i++)
            room[(*count)++] = steps->entries[i].bytes;
    }
    return error;
}

int weir__records_walk(struct weir__records *records, struct weir__records_cursor *cursor,
                       int64_t now_s, struct weir__record_bytes *room, size_t room_count,
                       size_t *ret_count)
{
    size_t count = 0;
    int error = 0;
    struct weir__records_cursor at = *cursor;
    struct steps *steps = steps_new(table_of(at._table), now_s);
    if (!steps)
        return -WEIR_E_NO_MEMORY;
    memcpy(steps->from, at._key, at._length);
    steps->from_length = at._length;
    steps->is_behind = at._length > 0;
    while (!error && at._table < 2 && count < room_count) {
        error = walk_table(records, steps, room, room_count, &count);
        if (error || !steps->is_all)
            break;
        at._table++;
        steps->table = table_of(at._table);
        steps->from_length = 0;
        steps->is_behind = steps->is_all = false;
    }
    at._length = steps->from_length;
    memcpy(at._key, steps->from, at._length);
    weir__base_free(steps);
    if (error)
        return error;
    *cursor = at;
    *ret_count = count;
    return at._table < 2;
}

/* --- pins --- */

int weir__records_list_pins(struct weir__records *records,
                            int (*one)(void *arg, const struct weir__question *question), void *arg)
{
    struct steps *steps = steps_new(WEIR__TABLE_PINS, 0);
    int error = steps ? 0 : -WEIR_E_NO_MEMORY;
    while (!error && !steps->is_all) {
        error = next(records, steps, STEP);
        for (size_t i = 0; !error && i < steps->count; i++)
            error = one(arg, &steps->entries[i].question);
    }
    weir__base_free(steps);
    return error;
}
