/* index_help.h - keys, names and records with known content, and records that are opened, written
 * and looked at.
 *
 * Ownership: folders belong to whoever made them; what help_open() returns is ended by
 * help_close().
 */
#ifndef WEIR_TESTS_INDEX_HELP_H
#define WEIR_TESTS_INDEX_HELP_H

#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <weir/error.h>

#include "records.h"
#include "tap.h"

#define HELP_PATH 256
#define HELP_NOW  INT64_C(1800000000)
#define HELP_LIFE INT64_C(86400)

/* --- folders --- */

static inline void help_make_folder(char path[HELP_PATH])
{
    snprintf(path, HELP_PATH, "/dev/shm/weir-index-XXXXXX");
    CHECK(mkdtemp(path));
}

static inline int help_remove_one(const char *path, const struct stat *st, int type,
                                  struct FTW *ftw)
{
    (void)st, (void)type, (void)ftw;
    return remove(path);
}

static inline void help_remove(const char *path)
{
    nftw(path, help_remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

/* --- values --- */

/* The n-th key. */
static inline struct weir__key help_key(unsigned n)
{
    unsigned char seed[32] = {(unsigned char)n, (unsigned char)(n >> 8), 7};
    struct weir__key key;
    CHECK(!weir__key_load_library());
    weir__key_from_seed(&key, seed);
    return key;
}

static inline struct weir__name help_name(const char *text)
{
    struct weir__name name;
    CHECK_EQ(weir__name_parse(text, strlen(text), &name), 0);
    return name;
}

/* The n-th name of a key. */
static inline struct weir__name help_name_of(unsigned n, const struct weir__key *key)
{
    char text[WEIR__NAME_MAX + 1], id[WEIR__KEYID_TEXT];
    weir__key_id_print(&key->id, id);
    snprintf(text, sizeof(text), "name/%06u@%s", n, id);
    return help_name(text);
}

static inline struct weir__address help_address(unsigned n)
{
    struct weir__address address;
    weir__address_of(&n, sizeof(n), &address);
    return address;
}

static inline struct weir__record help_name_record(const struct weir__name *name, uint64_t sequence)
{
    return (struct weir__record){.kind = WEIR__RECORD_NAME,
                                 .sequence = sequence,
                                 .issued_s = HELP_NOW,
                                 .expires_s = HELP_NOW + HELP_LIFE,
                                 .name = *name,
                                 .address = help_address((unsigned)sequence)};
}

static inline struct weir__record help_removal(const struct weir__name *name, uint64_t sequence)
{
    struct weir__record record = help_name_record(name, sequence);
    record.is_removal = true;
    memset(&record.address, 0, sizeof(record.address));
    return record;
}

static inline struct weir__record help_provider(const struct weir__address *address,
                                                uint64_t sequence)
{
    return (struct weir__record){.kind = WEIR__RECORD_PROVIDER,
                                 .sequence = sequence,
                                 .issued_s = HELP_NOW,
                                 .expires_s = HELP_NOW + HELP_LIFE,
                                 .address = *address,
                                 .url = "https://a.example:8443/o/",
                                 .region = "eu-1"};
}

/* --- records --- */

struct help_records {
    struct weir__records *records;
    struct weir_crew *crew;
    struct weir__records_report report;
    char why[WEIR__RECORDS_WHY];
};

static inline int help_try_open(struct help_records *help, const char *folder, uint64_t map_bytes)
{
    struct weir__records_options options = {.folder = folder, .map_bytes = map_bytes};
    *help = (struct help_records){.records = NULL};
    return weir__records_open(&help->records, &options, &help->report, help->why);
}

static inline void help_start(struct help_records *help)
{
    CHECK_EQ(weir_crew_new(&help->crew, "test", NULL), 0);
    CHECK_EQ(weir__records_start(help->records, help->crew), 0);
}

static inline struct help_records help_open(const char *folder, uint64_t map_bytes)
{
    struct help_records help;
    int error = help_try_open(&help, folder, map_bytes);
    if (error)
        tap_fail(__FILE__, __LINE__, "%s: %s", weir_error_name(error), help.why);
    help_start(&help);
    return help;
}

static inline void help_close(struct help_records *help)
{
    weir__records_stop(help->records);
    if (help->crew)
        weir_crew_drain(help->crew, NULL);
    weir__records_close(help->records);
    weir_crew_free(help->crew);
    *help = (struct help_records){.records = NULL};
}

/* --- writes that are waited for --- */

struct help_write {
    struct weir__records_write write;
    struct weir_queue done;
};

static inline void help_done(struct weir__records_write *write)
{
    struct weir_queue *done = write->arg;
    CHECK_EQ(weir_queue_try_send(done, &write), 0);
}

/* Submits it and waits; its result. */
static inline int help_write(struct help_records *help, struct weir__records_write *write)
{
    const struct weir_queue_options options = {sizeof(write), 1};
    struct weir_deadline deadline = weir_deadline_in(60 * WEIR_NS_PER_S, NULL);
    struct weir_queue done;
    int error = weir_queue_init(&done, "done", &options);
    if (error)
        return error;
    write->done = help_done;
    write->arg = &done;
    if (write->now_s == 0)
        write->now_s = HELP_NOW + 1;
    error = weir__records_submit(help->records, write);
    if (!error)
        CHECK_EQ(weir_queue_recv(&done, &write, &deadline), 0);
    weir_queue_fini(&done);
    return error ? error : write->result;
}

static inline int help_put(struct help_records *help, const struct weir__record *record,
                           const struct weir__key *key, struct weir__records_write *write)
{
    struct weir__records_write local = {.action = WEIR__RECORDS_PUT};
    if (!write)
        write = &local;
    write->action = WEIR__RECORDS_PUT;
    CHECK_EQ(weir__record_sign(&write->bytes, record, key), 0);
    CHECK_EQ(weir__record_judge(&write->record, write->bytes.bytes, write->bytes.length, NULL,
                                record->issued_s),
             WEIR__RECORD_GOOD);
    return help_write(help, write);
}

static inline int help_put_name(struct help_records *help, const struct weir__name *name,
                                uint64_t sequence, const struct weir__key *key)
{
    struct weir__record record = help_name_record(name, sequence);
    return help_put(help, &record, key, NULL);
}

static inline int help_simple(struct help_records *help, enum weir__records_action action,
                              int64_t now_s, struct weir__records_write *write)
{
    struct weir__records_write local = {.action = action};
    if (!write)
        write = &local;
    write->action = action;
    write->now_s = now_s;
    return help_write(help, write);
}

static inline int help_see_record(struct help_records *help, const struct weir__record *record,
                                  const struct weir__key *key)
{
    struct weir__records_write write = {.action = WEIR__RECORDS_SEE, .record = *record};
    CHECK_EQ(weir__record_sign(&write.bytes, record, key), 0);
    CHECK_EQ(weir__record_unpack(&write.record, write.bytes.bytes, write.bytes.length), 0);
    return help_write(help, &write);
}

static inline int help_see(struct help_records *help, const struct weir__name *name,
                           uint64_t sequence, const struct weir__key *key)
{
    struct weir__record record = help_name_record(name, sequence);
    return help_see_record(help, &record, key);
}

/* The sequence of the record that is served for the name, or the error. */
static inline long long help_get(struct help_records *help, const struct weir__name *name,
                                 int64_t now_s)
{
    struct weir__record_bytes bytes;
    struct weir__records_seen seen;
    struct weir__record record;
    int error = weir__records_name(help->records, name, now_s, &bytes, &seen);
    if (error)
        return error;
    CHECK_EQ(weir__record_judge(&record, bytes.bytes, bytes.length, NULL, now_s),
             WEIR__RECORD_GOOD);
    CHECK_STR(record.name.text, name->text);
    return (long long)record.sequence;
}

static inline long long help_highest(struct help_records *help, const struct weir__name *name)
{
    struct weir__record_bytes bytes;
    struct weir__records_seen seen;
    int error = weir__records_name(help->records, name, HELP_NOW + 1, &bytes, &seen);
    return error && error != -WEIR_E_NOT_FOUND ? error : (long long)seen.mark.sequence;
}

static inline struct weir__records_stats help_stats(struct help_records *help)
{
    struct weir__records_stats stats;
    weir__records_read(help->records, &stats);
    return stats;
}

#endif
