/* What the records remember of a name: whose word it was, and in files of earlier builds. */
#include <lmdb.h>

#include "index_help.h"
#include "records_part.h"

static struct weir__key first, second;
static char folder[HELP_PATH];
static struct help_records help;
static struct weir__bindings *bindings;

static void open_bound(bool is_second_bound)
{
    char texts[2][WEIR__KEYID_TEXT], text[128];
    const char *list[] = {text}, *why = NULL;
    first = help_key(1), second = help_key(2);
    weir__key_id_print(&first.id, texts[0]);
    weir__key_id_print(&second.id, texts[1]);
    snprintf(text, sizeof(text), "team=%s%s%s", texts[0], is_second_bound ? "+" : "",
             is_second_bound ? texts[1] : "");
    CHECK_EQ(weir__bindings_new(&bindings, list, 1, &why), 0);
    struct weir__records_options options = {.folder = folder, .bindings = bindings};
    help = (struct help_records){.records = NULL};
    CHECK_EQ(weir__records_open(&help.records, &options, &help.report, help.why), 0);
    help_start(&help);
}

static void close_bound(void)
{
    help_close(&help);
    weir__bindings_free(bindings);
}

static int put(const struct weir__name *name, uint64_t sequence, const struct weir__key *key)
{
    struct weir__record record = help_name_record(name, sequence);
    struct weir__records_write write = {.action = WEIR__RECORDS_PUT};
    CHECK_EQ(weir__record_sign(&write.bytes, &record, key), 0);
    CHECK_EQ(weir__record_judge(&write.record, write.bytes.bytes, write.bytes.length, bindings,
                                HELP_NOW),
             WEIR__RECORD_GOOD);
    return help_write(&help, &write);
}

static int count_one(void *arg, const struct weir__record *record,
                     const struct weir__record_bytes *bytes)
{
    CHECK(record->sequence > 0 && bytes->length > 0);
    ++*(unsigned *)arg;
    return 0;
}

static unsigned count_listed(void)
{
    unsigned count = 0;
    CHECK_EQ(weir__records_list_names(help.records, "", "", 100, HELP_NOW, count_one, &count), 0);
    return count;
}

/* The last word of a key that may not speak any more would otherwise be the last of all. */
TEST(a_key_that_may_not_speak_any_more_blocks_nobody)
{
    const uint64_t most = INT64_MAX;
    struct weir__name kept = help_name("team/kept"), seen = help_name("team/seen");
    help_make_folder(folder);
    open_bound(true);
    CHECK_EQ(put(&kept, most, &second), 0);
    CHECK_EQ(put(&kept, most, &first), -WEIR_E_CONFLICT);
    CHECK_EQ(help_see(&help, &seen, most, &second), 0);
    CHECK_EQ((uint64_t)help_highest(&help, &kept), most);
    CHECK_EQ((uint64_t)help_highest(&help, &seen), most);
    CHECK_EQ(count_listed(), 1);
    close_bound();
    open_bound(false);
    CHECK_EQ(help_highest(&help, &kept), 0);
    CHECK_EQ(help_highest(&help, &seen), 0);
    CHECK_EQ(count_listed(), 0);
    CHECK_EQ(put(&kept, 5, &first), 0);
    CHECK_EQ(put(&kept, 4, &first), -WEIR_E_CONFLICT);
    CHECK_EQ(help_see(&help, &seen, 5, &first), 0);
    CHECK_EQ(help_highest(&help, &kept), 5);
    CHECK_EQ(help_highest(&help, &seen), 5);
    CHECK_EQ(count_listed(), 1);
    close_bound();
    help_remove(folder);
}

/* As an earlier build has written it: the sequence, and whether there was a record of it here. */
static void write_bare(const struct weir__name *name, uint64_t sequence, bool was_held)
{
    char path[HELP_PATH + 16];
    unsigned char bytes[WEIR__SEAL + WEIR__SEEN_BARE];
    MDB_env *env;
    MDB_txn *txn;
    MDB_dbi dbi;
    MDB_val key = weir__records_name_key(name), value = {sizeof(bytes), bytes};
    weir__be64_put(bytes + WEIR__SEAL, sequence);
    bytes[WEIR__SEAL + 8] = was_held;
    weir__records_seal(WEIR__TABLE_SEEN, &key, bytes + WEIR__SEAL, WEIR__SEEN_BARE, bytes);
    snprintf(path, sizeof(path), "%s/records", folder);
    CHECK_EQ(mdb_env_create(&env), 0);
    CHECK_EQ(mdb_env_set_maxdbs(env, 8), 0);
    CHECK_EQ(mdb_env_open(env, path, MDB_NOLOCK, 0600), 0);
    CHECK_EQ(mdb_txn_begin(env, NULL, 0, &txn), 0);
    CHECK_EQ(mdb_dbi_open(txn, "seen", 0, &dbi), 0);
    CHECK_EQ(mdb_put(txn, dbi, &key, &value, 0), 0);
    CHECK_EQ(mdb_txn_commit(txn), 0);
    mdb_env_close(env);
}

TEST(files_of_earlier_builds)
{
    help_make_folder(folder);
    open_bound(true);
    struct weir__name past = help_name_of(1, &first), gone = help_name_of(2, &first);
    struct weir__name team = help_name("team/kept");
    CHECK_EQ(put(&past, 3, &first), 0);
    CHECK_EQ(put(&team, 9, &second), 0);
    close_bound();
    write_bare(&past, 7, false); /* something newer was seen elsewhere */
    write_bare(&gone, 4, true);
    write_bare(&team, 9, true);
    open_bound(true);
    CHECK_EQ(help_highest(&help, &past), 7);
    CHECK_EQ(help_highest(&help, &gone), 4);
    CHECK_EQ(help_highest(&help, &team), 9);
    CHECK_EQ(count_listed(), 1); /* nothing of what is superseded */
    CHECK_EQ(put(&past, 6, &first), -WEIR_E_CONFLICT);
    CHECK_EQ(put(&gone, 4, &first), -WEIR_E_CONFLICT);
    CHECK_EQ(help_see(&help, &past, 7, &first), 0); /* it has its record from here on */
    CHECK_EQ(help_get(&help, &past, HELP_NOW), 7);
    CHECK_EQ(count_listed(), 2);
    close_bound();
    open_bound(false);
    CHECK_EQ(help_highest(&help, &team), 0); /* its record tells whose word it was */
    CHECK_EQ(help_highest(&help, &gone), 4);
    close_bound();
    help_remove(folder);
}

TAP_MAIN()
