/* The records: sequences, compare-and-set, expiry, providers, pins, lists; on a disk and in memory.
 */
#include <lmdb.h>

#include "index_help.h"

static struct weir__key key;
static char folder[HELP_PATH];
static struct help_records help;

/* Each test on a disk, and in memory where nothing is to be opened again. */
static void begin(bool is_memory)
{
    key = help_key(1);
    if (!is_memory)
        help_make_folder(folder);
    help = help_open(is_memory ? NULL : folder, 0);
    CHECK(help.report.is_new && !help.report.is_read_only);
}

static void end(bool is_memory)
{
    help_close(&help);
    if (!is_memory)
        help_remove(folder);
}

static void reopen(void)
{
    help_close(&help);
    help = help_open(folder, 0);
    CHECK(!help.report.is_new);
}

#define BOTH(test_name)                                                                            \
    static void run_##test_name(void);                                                             \
    TEST(test_name##_on_disk)                                                                      \
    {                                                                                              \
        begin(false);                                                                              \
        run_##test_name();                                                                         \
        end(false);                                                                                \
    }                                                                                              \
    TEST(test_name##_in_memory)                                                                    \
    {                                                                                              \
        begin(true);                                                                               \
        run_##test_name();                                                                         \
        end(true);                                                                                 \
    }                                                                                              \
    static void run_##test_name(void)

static int put_with(const struct weir__record *record, uint64_t previous,
                    struct weir__records_write *write)
{
    *write = (struct weir__records_write){.has_previous = true, .previous = previous};
    return help_put(&help, record, &key, write);
}

/* --- sequences --- */

BOTH(a_name_goes_up)
{
    struct weir__name name = help_name_of(1, &key);
    struct weir__records_write write = {.has_previous = false};
    struct weir__record record = help_name_record(&name, 5);
    CHECK_EQ(help_get(&help, &name, HELP_NOW), -WEIR_E_NOT_FOUND);
    CHECK_EQ(help_highest(&help, &name), 0);
    CHECK_EQ(help_put(&help, &record, &key, &write), 0);
    CHECK(!write.was_there);
    CHECK_EQ(write.current, 5);
    CHECK_EQ(help_get(&help, &name, HELP_NOW), 5);
    /* Once more, as who did not hear the answer: it is there. */
    CHECK_EQ(help_put(&help, &record, &key, &write), 0);
    CHECK(write.was_there);
    record = help_name_record(&name, 7);
    CHECK_EQ(help_put(&help, &record, &key, &write), 0);
    CHECK(write.was_there);
    CHECK_EQ(write.current, 7);
    CHECK_EQ(help_get(&help, &name, HELP_NOW), 7);
    /* Nothing older, and no other one of the same sequence. */
    record = help_name_record(&name, 6);
    CHECK_EQ(help_put(&help, &record, &key, &write), -WEIR_E_CONFLICT);
    CHECK_EQ(write.current, 7);
    record = help_name_record(&name, 7);
    record.expires_s++;
    CHECK_EQ(help_put(&help, &record, &key, &write), -WEIR_E_CONFLICT);
    CHECK_EQ(help_get(&help, &name, HELP_NOW), 7);
    CHECK_EQ(help_stats(&help).conflicts, 2);
    CHECK_EQ(help_stats(&help).names, 1);
}

BOTH(compare_and_set)
{
    struct weir__name name = help_name_of(1, &key);
    struct weir__records_write write;
    struct weir__record record = help_name_record(&name, 5);
    CHECK_EQ(put_with(&record, 4, &write), -WEIR_E_CONFLICT);
    CHECK_EQ(write.current, 0);
    CHECK_EQ(put_with(&record, 0, &write), 0);
    record = help_name_record(&name, 6);
    CHECK_EQ(put_with(&record, 0, &write), -WEIR_E_CONFLICT);
    CHECK_EQ(write.current, 5);
    CHECK_EQ(put_with(&record, 4, &write), -WEIR_E_CONFLICT);
    CHECK_EQ(put_with(&record, 5, &write), 0);
    /* The answer was lost, and it is asked for again. */
    CHECK_EQ(put_with(&record, 5, &write), 0);
    CHECK(write.was_there);
    CHECK_EQ(help_get(&help, &name, HELP_NOW), 6);
}

BOTH(what_was_removed_stays_removed)
{
    struct weir__name name = help_name_of(1, &key);
    struct weir__records_write write;
    struct weir__record_bytes bytes = {.length = 0};
    struct weir__records_seen seen;
    CHECK_EQ(help_put_name(&help, &name, 5, &key), 0);
    struct weir__record record = help_removal(&name, 6);
    CHECK_EQ(put_with(&record, 5, &write), 0);
    CHECK_EQ(weir__records_name(help.records, &name, HELP_NOW, &bytes, &seen), -WEIR_E_NOT_FOUND);
    CHECK(seen.is_removed && seen.mark.sequence == 6);
    CHECK(bytes.length > 0);
    CHECK_EQ(help_put_name(&help, &name, 5, &key), -WEIR_E_CONFLICT);
    /* Both beliefs are right: that the removal is there, and that nothing is. */
    record = help_name_record(&name, 7);
    CHECK_EQ(put_with(&record, 5, &write), -WEIR_E_CONFLICT);
    CHECK_EQ(put_with(&record, 0, &write), 0);
    CHECK(!write.was_there);
    record = help_removal(&name, 8);
    CHECK_EQ(put_with(&record, 7, &write), 0);
    record = help_name_record(&name, 9);
    CHECK_EQ(put_with(&record, 8, &write), 0);
    CHECK_EQ(help_get(&help, &name, HELP_NOW), 9);
}

BOTH(what_has_expired_is_gone_and_not_forgotten)
{
    struct weir__name name = help_name_of(1, &key);
    struct weir__records_write write = {.has_previous = false};
    int64_t late = HELP_NOW + HELP_LIFE;
    CHECK_EQ(help_put_name(&help, &name, 5, &key), 0);
    CHECK_EQ(help_get(&help, &name, late - 1), 5);
    CHECK_EQ(help_get(&help, &name, late), -WEIR_E_NOT_FOUND);
    CHECK_EQ(help_simple(&help, WEIR__RECORDS_PURGE, late - 1, &write), 0);
    CHECK_EQ(write.purged, 0);
    CHECK_EQ(help_simple(&help, WEIR__RECORDS_PURGE, late, &write), 0);
    CHECK_EQ(write.purged, 1);
    CHECK_EQ(help_stats(&help).names, 0);
    CHECK_EQ(help_stats(&help).seen, 1);
    CHECK_EQ(help_get(&help, &name, HELP_NOW), -WEIR_E_NOT_FOUND);
    CHECK_EQ(help_highest(&help, &name), 5);
    CHECK_EQ(help_put_name(&help, &name, 4, &key), -WEIR_E_CONFLICT);
    CHECK_EQ(help_put_name(&help, &name, 5, &key), -WEIR_E_CONFLICT);
    CHECK_EQ(help_put_name(&help, &name, 6, &key), 0);
}

BOTH(what_was_seen_elsewhere_counts)
{
    struct weir__name name = help_name_of(1, &key);
    CHECK_EQ(help_put_name(&help, &name, 5, &key), 0);
    CHECK_EQ(help_see(&help, &name, 9, &key), 0);
    CHECK_EQ(help_highest(&help, &name), 9);
    CHECK_EQ(help_get(&help, &name, HELP_NOW), 9); /* a name that is kept here follows */
    CHECK_EQ(help_see(&help, &name, 3, &key), 0);
    CHECK_EQ(help_highest(&help, &name), 9);
    CHECK_EQ(help_get(&help, &name, HELP_NOW), 9);
    CHECK_EQ(help_put_name(&help, &name, 8, &key), -WEIR_E_CONFLICT);
    /* The one that was seen may come. */
    CHECK_EQ(help_put_name(&help, &name, 9, &key), 0);
    struct weir__record record = help_name_record(&name, 9);
    record.expires_s++;
    CHECK_EQ(help_put(&help, &record, &key, NULL), -WEIR_E_CONFLICT);
    /* One that is not kept here is remembered, and is not kept here for that. */
    struct weir__name other = help_name_of(2, &key);
    CHECK_EQ(help_see(&help, &other, 9, &key), 0);
    CHECK_EQ(help_highest(&help, &other), 9);
    CHECK_EQ(help_get(&help, &other, HELP_NOW), -WEIR_E_NOT_FOUND);
    CHECK_EQ(help_put_name(&help, &other, 9, &key), 0);
}

/* When the record that is kept here expires; 0: there is none. */
static int64_t expiry_here(const struct weir__name *name)
{
    struct weir__record_bytes bytes;
    struct weir__records_seen seen;
    struct weir__record record = {.expires_s = 0};
    if (weir__records_name(help.records, name, HELP_NOW, &bytes, &seen) == 0)
        CHECK_EQ(weir__record_unpack(&record, bytes.bytes, bytes.length), 0);
    return record.expires_s;
}

/* Two nodes were told different things with one sequence: both come to keep the same. */
BOTH(of_one_sequence_all_nodes_keep_the_same)
{
    struct weir__name name = help_name_of(1, &key), other = help_name_of(2, &key);
    struct weir__record early = help_name_record(&name, 5), late = early;
    late.expires_s++;
    CHECK_EQ(help_put(&help, &early, &key, NULL), 0);
    CHECK_EQ(help_see_record(&help, &late, &key), 0);
    CHECK_EQ(expiry_here(&name), late.expires_s);
    CHECK_EQ(help_see_record(&help, &early, &key), 0);
    CHECK_EQ(expiry_here(&name), late.expires_s);
    CHECK_EQ(help_put(&help, &late, &key, NULL), 0);
    CHECK_EQ(help_put(&help, &early, &key, NULL), -WEIR_E_CONFLICT);
    /* Nor is the lesser one of two taken where neither was kept. */
    early.name = late.name = other;
    CHECK_EQ(help_see_record(&help, &late, &key), 0);
    CHECK_EQ(help_put(&help, &early, &key, NULL), -WEIR_E_CONFLICT);
    CHECK_EQ(help_put(&help, &late, &key, NULL), 0);
}

TEST(nothing_is_forgotten_by_a_restart)
{
    begin(false);
    struct weir__name name = help_name_of(1, &key), other = help_name_of(2, &key);
    struct weir__address address = help_address(1);
    struct weir__record record = help_provider(&address, 3);
    CHECK_EQ(help_put_name(&help, &name, 5, &key), 0);
    CHECK_EQ(help_see(&help, &other, 12, &key), 0);
    CHECK_EQ(help_put(&help, &record, &key, NULL), 0);
    reopen();
    CHECK_EQ(help.report.names, 1);
    CHECK_EQ(help.report.providers, 1);
    CHECK_EQ(help_get(&help, &name, HELP_NOW), 5);
    CHECK_EQ(help_highest(&help, &other), 12);
    CHECK_EQ(help_put_name(&help, &name, 4, &key), -WEIR_E_CONFLICT);
    record = help_removal(&name, 6);
    CHECK_EQ(help_put(&help, &record, &key, NULL), 0);
    CHECK_EQ(help_simple(&help, WEIR__RECORDS_PURGE, HELP_NOW + HELP_LIFE, NULL), 0);
    reopen();
    CHECK_EQ(help.report.names + help.report.providers, 0);
    CHECK_EQ(help_put_name(&help, &name, 6, &key), -WEIR_E_CONFLICT);
    CHECK_EQ(help_put_name(&help, &name, 7, &key), 0);
    end(false);
}

/* How many expiries the file has, by LMDB itself. */
static size_t count_expiries(void)
{
    char path[HELP_PATH + 16];
    MDB_env *env;
    MDB_txn *txn;
    MDB_dbi dbi;
    MDB_stat stat;
    snprintf(path, sizeof(path), "%s/records", folder);
    CHECK_EQ(mdb_env_create(&env), 0);
    CHECK_EQ(mdb_env_set_maxdbs(env, 8), 0);
    CHECK_EQ(mdb_env_open(env, path, MDB_RDONLY | MDB_NOLOCK, 0600), 0);
    CHECK_EQ(mdb_txn_begin(env, NULL, MDB_RDONLY, &txn), 0);
    CHECK_EQ(mdb_dbi_open(txn, "expiry", 0, &dbi), 0);
    CHECK_EQ(mdb_stat(txn, dbi, &stat), 0);
    mdb_txn_abort(txn);
    mdb_env_close(env);
    return stat.ms_entries;
}

/* What is replaced, removed or makes room takes its expiry with it. */
TEST(each_record_has_one_expiry)
{
    begin(false);
    struct weir__name name = help_name_of(1, &key);
    struct weir__address address = help_address(1);
    for (unsigned n = 1; n <= 50; n++) {
        struct weir__record record = help_name_record(&name, n);
        struct weir__record provider = help_provider(&address, n);
        record.expires_s += n, provider.expires_s += n;
        CHECK_EQ(help_put(&help, &record, &key, NULL), 0);
        CHECK_EQ(help_put(&help, &provider, &key, NULL), 0);
    }
    for (unsigned n = 0; n < WEIR__RECORDS_PROVIDERS_MAX + 10; n++) {
        struct weir__key own = help_key(n + 2);
        struct weir__record provider = help_provider(&address, 1);
        provider.expires_s += 100 + n;
        CHECK_EQ(help_put(&help, &provider, &own, NULL), 0);
    }
    help_close(&help);
    CHECK_EQ(count_expiries(), 1 + WEIR__RECORDS_PROVIDERS_MAX);
    help = help_open(folder, 0);
    end(false);
}

/* --- providers --- */

static size_t count_providers(const struct weir__address *address, int64_t now_s)
{
    static struct weir__record_bytes room[WEIR__RECORDS_PROVIDERS_MAX + 1];
    size_t count = 0;
    int error = weir__records_providers(help.records, address, now_s, room,
                                        WEIR__RECORDS_PROVIDERS_MAX + 1, &count);
    CHECK(error == 0 || error == -WEIR_E_NOT_FOUND);
    CHECK_EQ(count == 0, error != 0);
    for (size_t i = 0; i < count; i++) {
        struct weir__record record;
        CHECK_EQ(weir__record_unpack(&record, room[i].bytes, room[i].length), 0);
        CHECK(weir__address_is_equal(&record.address, address));
    }
    return count;
}

BOTH(providers_of_an_address)
{
    struct weir__address address = help_address(1), next = help_address(2);
    struct weir__records_write write = {.has_previous = false};
    CHECK_EQ(count_providers(&address, HELP_NOW), 0);
    for (unsigned n = 0; n < 200; n++) {
        struct weir__key own = help_key(n);
        struct weir__record record = help_provider(n % 2 ? &address : &next, 1);
        record.expires_s += n;
        CHECK_EQ(help_put(&help, &record, &own, &write), 0);
        CHECK(!write.was_there);
    }
    CHECK_EQ(count_providers(&address, HELP_NOW), 100);
    CHECK_EQ(count_providers(&next, HELP_NOW), 100);
    CHECK_EQ(count_providers(&address, HELP_NOW + HELP_LIFE + 99), 50);
    struct weir__record_bytes room[3];
    size_t count;
    CHECK_EQ(weir__records_providers(help.records, &address, HELP_NOW, room, 3, &count), 0);
    CHECK_EQ(count, 3);
    /* Each by its own sequence. */
    struct weir__key own = help_key(1);
    struct weir__record record = help_provider(&address, 1);
    CHECK_EQ(help_put(&help, &record, &own, &write), -WEIR_E_CONFLICT);
    CHECK_EQ(write.current, 1);
    record.sequence = 2;
    record.expires_s += 150;
    CHECK_EQ(help_put(&help, &record, &own, &write), 0);
    CHECK(write.was_there);
    CHECK_EQ(help_put(&help, &record, &own, &write), 0);
    CHECK_EQ(count_providers(&address, HELP_NOW), 100);
    CHECK_EQ(help_simple(&help, WEIR__RECORDS_PURGE, HELP_NOW + HELP_LIFE + 99, &write), 0);
    /* The one that was renewed expires with its new record. */
    CHECK_EQ(write.purged, 99);
    CHECK_EQ(help_stats(&help).providers, 101);
}

BOTH(as_many_providers_as_there_may_be)
{
    struct weir__address address = help_address(1);
    struct weir__key own;
    for (unsigned n = 0; n < WEIR__RECORDS_PROVIDERS_MAX; n++) {
        struct weir__record record = help_provider(&address, 1);
        record.expires_s += n == 700 ? -100 : (int64_t)n;
        own = help_key(n);
        CHECK_EQ(help_put(&help, &record, &own, NULL), 0);
    }
    CHECK_EQ(count_providers(&address, HELP_NOW), WEIR__RECORDS_PROVIDERS_MAX);
    CHECK_EQ(help_stats(&help).evicted, 0);
    struct weir__record record = help_provider(&address, 1);
    own = help_key(5000);
    CHECK_EQ(help_put(&help, &record, &own, NULL), 0);
    CHECK_EQ(count_providers(&address, HELP_NOW), WEIR__RECORDS_PROVIDERS_MAX);
    CHECK_EQ(help_stats(&help).evicted, 1);
    /* The one that would have expired first is gone, and so is its expiry. */
    CHECK_EQ(count_providers(&address, HELP_NOW + HELP_LIFE - 50), WEIR__RECORDS_PROVIDERS_MAX);
    struct weir__records_write write = {.has_previous = false};
    CHECK_EQ(help_simple(&help, WEIR__RECORDS_PURGE, HELP_NOW + HELP_LIFE - 50, &write), 0);
    CHECK_EQ(write.purged, 0);
}

/* --- pins --- */

static int count_pin(void *arg, const struct weir__question *question)
{
    unsigned *count = arg;
    CHECK(weir__records_is_pinned(help.records, question));
    ++*count;
    return 0;
}

static int pin(const struct weir__question *question, enum weir__records_action action,
               bool *ret_was_there)
{
    struct weir__records_write write = {.action = action, .question = *question};
    int result = help_write(&help, &write);
    *ret_was_there = write.was_there;
    return result;
}

BOTH(pins)
{
    struct weir__question name = {.kind = WEIR__ASK_NAME, .name = help_name("team/site")};
    struct weir__question address = {.kind = WEIR__ASK_PROVIDERS, .address = help_address(1)};
    bool was_there;
    unsigned count = 0;
    CHECK(!weir__records_is_pinned(help.records, &name));
    CHECK_EQ(pin(&name, WEIR__RECORDS_UNPIN, &was_there), -WEIR_E_NOT_FOUND);
    CHECK_EQ(pin(&name, WEIR__RECORDS_PIN, &was_there), 0);
    CHECK(!was_there);
    CHECK_EQ(pin(&name, WEIR__RECORDS_PIN, &was_there), 0);
    CHECK(was_there);
    CHECK_EQ(pin(&address, WEIR__RECORDS_PIN, &was_there), 0);
    CHECK(weir__records_is_pinned(help.records, &name));
    CHECK_EQ(weir__records_list_pins(help.records, count_pin, &count), 0);
    CHECK_EQ(count, 2);
    CHECK_EQ(help_stats(&help).pins, 2);
    CHECK_EQ(pin(&name, WEIR__RECORDS_UNPIN, &was_there), 0);
    CHECK(!weir__records_is_pinned(help.records, &name));
    CHECK(weir__records_is_pinned(help.records, &address));
}

/* --- lists --- */

struct listed {
    unsigned count;
    char last[WEIR__NAME_MAX + 1];
};

static int list_one(void *arg, const struct weir__record *record,
                    const struct weir__record_bytes *bytes)
{
    CHECK(bytes->length > 0);
    struct listed *listed = arg;
    CHECK(strcmp(record->name.text, listed->last) > 0);
    snprintf(listed->last, sizeof(listed->last), "%s", record->name.text);
    listed->count++;
    return 0;
}

static unsigned list(const char *prefix, const char *after, size_t limit, struct listed *listed)
{
    *listed = (struct listed){.count = 0};
    CHECK_EQ(
        weir__records_list_names(help.records, prefix, after, limit, HELP_NOW, list_one, listed),
        0);
    return listed->count;
}

BOTH(lists_of_names)
{
    struct listed listed;
    struct weir__name name;
    char text[WEIR__NAME_MAX + 1], id[WEIR__KEYID_TEXT];
    weir__key_id_print(&key.id, id);
    CHECK_EQ(list("", "", 10, &listed), 0);
    for (unsigned n = 0; n < 300; n++) {
        snprintf(text, sizeof(text), "%c/%03u@%s", "abc"[n % 3], n, id);
        name = help_name(text);
        CHECK_EQ(help_put_name(&help, &name, 1, &key), 0);
    }
    /* Removed and expired ones are not listed. */
    struct weir__record record = help_removal(&name, 2);
    CHECK_EQ(help_put(&help, &record, &key, NULL), 0);
    snprintf(text, sizeof(text), "a/000@%s", id);
    name = help_name(text);
    record = help_name_record(&name, 2);
    record.issued_s = HELP_NOW - 10, record.expires_s = HELP_NOW;
    CHECK_EQ(help_put(&help, &record, &key, NULL), 0);
    CHECK_EQ(list("", "", 1000, &listed), 298);
    CHECK_EQ(list("a", "", 1000, &listed), 99);
    CHECK_EQ(list("b/", "", 1000, &listed), 100);
    CHECK_EQ(list("c/299", "", 1000, &listed), 0);
    CHECK_EQ(list("d", "", 1000, &listed), 0);
    CHECK_EQ(list("b/", "a/9", 1000, &listed), 100);
    CHECK_EQ(list("b/", "c", 1000, &listed), 0);
    CHECK_EQ(list("", "", 0, &listed), 0);
    /* Page by page: each once. */
    char after[WEIR__NAME_MAX + 1] = "";
    unsigned total = 0;
    while (list("b/", after, 7, &listed) > 0) {
        total += listed.count;
        snprintf(after, sizeof(after), "%s", listed.last);
    }
    CHECK_EQ(total, 100);
    CHECK_EQ(weir__records_list_names(help.records, "A", "", 1, HELP_NOW, list_one, &listed),
             -WEIR_E_INVALID);
}

BOTH(everything_is_walked_along_once)
{
    static struct weir__record_bytes room[64];
    struct weir__address address = help_address(1);
    struct weir__records_cursor cursor = {._length = 0};
    size_t count, names = 0, providers = 0;
    int more = 1;
    for (unsigned n = 0; n < 100; n++) {
        struct weir__name name = help_name_of(n, &key);
        struct weir__key own = help_key(n);
        struct weir__record provider = help_provider(&address, 1);
        CHECK_EQ(help_put_name(&help, &name, 1, &key), 0);
        CHECK_EQ(help_put(&help, &provider, &own, NULL), 0);
    }
    struct weir__name name = help_name_of(3, &key);
    struct weir__record removal = help_removal(&name, 2);
    CHECK_EQ(help_put(&help, &removal, &key, NULL), 0);
    for (unsigned step = 1; more == 1; step = step % 60 + 7) {
        more = weir__records_walk(help.records, &cursor, HELP_NOW, room, step, &count);
        CHECK(more >= 0 && count <= step);
        for (size_t i = 0; i < count; i++) {
            struct weir__record record;
            CHECK_EQ(weir__record_unpack(&record, room[i].bytes, room[i].length), 0);
            if (record.kind == WEIR__RECORD_NAME)
                names++;
            else
                providers++;
        }
    }
    CHECK_EQ(names, 100);
    CHECK_EQ(providers, 100);
    cursor = (struct weir__records_cursor){._length = 0};
    CHECK_EQ(weir__records_walk(help.records, &cursor, HELP_NOW + HELP_LIFE, room, 64, &count), 0);
    CHECK_EQ(count, 0);
}

BOTH(everything_is_forgotten)
{
    struct weir__name name = help_name_of(1, &key);
    CHECK_EQ(help_put_name(&help, &name, 5, &key), 0);
    CHECK_EQ(help_simple(&help, WEIR__RECORDS_FORGET, HELP_NOW, NULL), 0);
    struct weir__records_stats stats = help_stats(&help);
    CHECK_EQ(stats.names + stats.seen + stats.providers + stats.pins, 0);
    CHECK_EQ(help_highest(&help, &name), 0);
    CHECK_EQ(help_put_name(&help, &name, 1, &key), 0);
    CHECK_EQ(help_get(&help, &name, HELP_NOW), 1);
}

struct onlooker {
    struct weir__records *records;
    struct weir__name name;
    uint64_t looks, failed, not_ready;
};

static int look_on(struct weir_crew_self *self, void *arg)
{
    struct onlooker *onlooker = arg;
    struct weir__record_bytes bytes;
    struct weir__records_seen seen;
    struct weir__records_stats stats;
    while (!weir_cancel_is_fired(self->stop)) {
        int result =
            weir__records_name(onlooker->records, &onlooker->name, HELP_NOW, &bytes, &seen);
        weir__records_read(onlooker->records, &stats);
        onlooker->looks++;
        onlooker->failed += result != 0 && result != -WEIR_E_NOT_FOUND;
        onlooker->not_ready += stats.is_failing;
    }
    return 0;
}

/* Whoever looks meanwhile finds what was there or nothing, and nobody calls that a failure. */
BOTH(who_looks_while_everything_is_forgotten)
{
    struct weir_crew_options options = {.drain_ns = 30 * WEIR_NS_PER_S};
    struct onlooker onlookers[2];
    struct weir_crew *crew;
    CHECK_EQ(weir_crew_new(&crew, "onlookers", &options), 0);
    for (size_t i = 0; i < 2; i++) {
        onlookers[i] =
            (struct onlooker){.records = help.records, .name = help_name_of((unsigned)i, &key)};
        CHECK_EQ(weir_crew_start(crew, "look", look_on, &onlookers[i]), 0);
    }
    for (unsigned n = 0; n < 100; n++) {
        CHECK_EQ(help_put_name(&help, &onlookers[n % 2].name, 1 + n, &key), 0);
        CHECK_EQ(help_simple(&help, WEIR__RECORDS_FORGET, HELP_NOW, NULL), 0);
    }
    CHECK_EQ(weir_crew_drain(crew, NULL), 0);
    weir_crew_free(crew);
    for (size_t i = 0; i < 2; i++) {
        CHECK(onlookers[i].looks > 0);
        CHECK_EQ(onlookers[i].failed, 0);
        CHECK_EQ(onlookers[i].not_ready, 0);
    }
}

/* More than one purge removes at once. */
BOTH(a_purge_takes_some_thousand)
{
    struct weir__address address;
    struct weir__records_write write = {.has_previous = false};
    uint64_t total = 0;
    for (unsigned n = 0; n < 5000; n++) {
        address = help_address(n);
        struct weir__record record = help_provider(&address, 1);
        CHECK_EQ(help_put(&help, &record, &key, NULL), 0);
    }
    do {
        CHECK_EQ(help_simple(&help, WEIR__RECORDS_PURGE, HELP_NOW + HELP_LIFE, &write), 0);
        total += write.purged;
        CHECK(write.purged <= 4096);
    } while (write.purged > 0);
    CHECK_EQ(total, 5000);
    CHECK_EQ(help_stats(&help).providers, 0);
}

TAP_MAIN()
