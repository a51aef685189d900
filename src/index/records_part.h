/* records_part.h - what the files of the records share; nobody else includes this.
 *
 *     names      name                        -> its record
 *     seen       name                        -> the most that was seen of it: whether that was held
 *                                               here, and the record; in older files its sequence
 *                                               (8 bytes) and whether it was held
 *     providers  address, id of the key      -> its record
 *     expiry     when, which table, its key  -> nothing: what PURGE walks along
 *     pins       key of the question         -> the question
 *     about      "records"                   -> the version of all this
 *
 * Each value of names, seen, providers and pins begins with eight bytes of a digest over its table,
 * its key and the rest of it, so that bytes that rotted are noticed.
 *
 * Ownership: the records own the environment and all of its transactions; values that were found
 * point into the map, for as long as the transaction goes on.
 */
#ifndef WEIR_INDEX_RECORDS_PART_H
#define WEIR_INDEX_RECORDS_PART_H

#include <lmdb.h>

#include <weir/error.h>
#include <weir/lock.h>
#include <weir/metrics.h>

#include "mapped.h"
#include "records.h"

#define WEIR__RECORDS_FILE  "data.mdb"
#define WEIR__RECORDS_FRESH "data.new" /* one that is being made */
#define WEIR__RECORDS_PATH  4096u

enum weir__records_table {
    WEIR__TABLE_NAMES,
    WEIR__TABLE_SEEN,
    WEIR__TABLE_PROVIDERS,
    WEIR__TABLE_EXPIRY,
    WEIR__TABLE_PINS,
    WEIR__TABLE_ABOUT,
    WEIR__TABLES
};

enum {
    WEIR__SEAL = 8,           /* before each value */
    WEIR__SEEN_HEAD = 1,      /* whether it was held; the record is behind it */
    WEIR__SEEN_BARE = 9,      /* of older files */
    WEIR__PROVIDER_KEY = 52,  /* address and id */
    WEIR__EXPIRY_HEAD = 9,    /* when, and which table */
    WEIR__TABLE_KEY_MAX = 192 /* the longest of all */
};

/* A transaction that reads, kept to be used again, and its cursor while it has one: reachable when
 * the look at it was left in the middle. */
struct weir__records_reader {
    struct weir__records_reader *next;
    MDB_txn *txn;
    MDB_cursor *cursor;
};

struct weir__records {
    bool is_memory, is_read_only;
    bool is_started;
    char path[WEIR__RECORDS_PATH]; /* of the folder "records" */
    int dir;                       /* it, locked; -1 in memory */
    int memory_fd;                 /* -1 on a disk */
    uint64_t map_bytes;
    const struct weir__bindings *bindings; /* borrowed; may be NULL */
    struct weir__mapped map;               /* where looks may fail */
    struct weir_queue line;

    /* In memory, of who looks or changes: there LMDB knows nothing of its readers. Held over memory
     * alone, and `lock` inside it. On a disk nobody takes it. */
    struct weir_lock memory_lock;

    /* Changed by the writer, under `lock`, while nobody looks (records_env.c). */
    MDB_env *env; /* NULL: it could not be opened again */
    MDB_dbi tables[WEIR__TABLES];
    uint32_t page_size;
    bool is_stuck;    /* opened to be read alone, since the disk has no room for a link */
    bool is_doubtful; /* what it shows is not known to be on the disk */

    struct weir_lock lock; /* guards what follows */
    struct weir__records_reader *idle, *lost;
    uint64_t looking;
    bool is_paused; /* nobody looks, the environment is opened again */
    bool is_broken; /* a page was lost, or what is there cannot be */
    bool is_held;   /* by the writer, which was left in the middle */
    bool is_full, is_failing;

    struct {
        struct weir_counter commits, writes, conflicts, failed, corrupt, evicted;
    } counts;
};

/* An error of LMDB as one of ours. */
int weir__records_error(int rc);

/* --- records_env.c --- */
/* Opens what is there, by who has the folder; why is told for errors. */
WEIR_MUST_USE int weir__records_env_open(struct weir__records *records,
                                         char why[WEIR__RECORDS_WHY]);
void weir__records_env_close(struct weir__records *records);
/* A new file of that name in the folder with empty tables, made to last. */
WEIR_MUST_USE int weir__records_env_make(struct weir__records *records, const char *path);
/* By the writer: closes and opens it when nobody looks, and makes sure that what it shows is on the
 * disk. */
WEIR_MUST_USE int weir__records_env_again(struct weir__records *records);
/* In memory: everything goes, and the memory with it. */
WEIR_MUST_USE int weir__records_env_forget(struct weir__records *records);

/* --- records_look.c --- */
/* fn in a transaction that reads, in a place where it may fail. */
WEIR_MUST_USE int weir__records_look(struct weir__records *records,
                                     int (*fn)(struct weir__records *records,
                                               struct weir__records_reader *reader, void *arg),
                                     void *arg);
/* Inside of a look: a cursor, which is closed with the look. */
WEIR_MUST_USE int weir__records_cursor(struct weir__records *records,
                                       struct weir__records_reader *reader,
                                       enum weir__records_table table);
/* A list of them, with their transactions. */
void weir__records_free_readers(struct weir__records_reader *list);

/* --- records_change.c --- */
/* Writes that share a transaction. */
struct weir__records_change {
    struct weir__records *records;
    MDB_txn *txn;
    int error; /* of LMDB: the transaction is spoiled */
    bool has_changed;
    uint32_t purge_max;
    uint64_t evicted, corrupt;
};
/* Does one, and sets its result. After an error of LMDB nothing of the transaction counts. */
void weir__records_apply(struct weir__records_change *change, struct weir__records_write *write);

/* --- records_write.c --- */
int weir__records_main(struct weir_crew_self *self, void *arg);
void weir__records_finish(struct weir__records_write *write, int result);
/* Bytes of the map that are in use; 0 where nobody can tell. */
uint64_t weir__records_used(struct weir__records *records);

/* --- records_value.c --- */
static inline void weir__be64_put(unsigned char *at, uint64_t value)
{
    for (int i = 0; i < 8; i++)
        at[i] = (unsigned char)(value >> (56 - 8 * i));
}

static inline uint64_t weir__be64_get(const unsigned char *at)
{
    uint64_t value = 0;
    for (int i = 0; i < 8; i++)
        value = value << 8 | at[i];
    return value;
}

/* The digest that stands before such a value. */
void weir__records_seal(enum weir__records_table table, const MDB_val *key, const void *bytes,
                        size_t length, unsigned char seal[WEIR__SEAL]);
/* Takes the seal off; Corrupt: it is not the one of what is behind it. */
WEIR_MUST_USE int weir__records_unseal(enum weir__records_table table, const MDB_val *key,
                                       MDB_val *value);

struct weir__records_sequence {
    struct weir__record_mark mark;
    bool was_held; /* there was a record of it here, which nothing but a higher one replaces */
};
/* Whether the key of the record may speak for its name. */
bool weir__records_is_bound(const struct weir__records *records, const struct weir__record *record);
/* What counts of what was seen, beside the record that is here; NULL: there is none. */
void weir__records_seen_settle(const struct weir__records *records,
                               struct weir__records_sequence *seen, const struct weir__record *here,
                               const struct weir__record_bytes *here_bytes);
WEIR_MUST_USE int weir__records_seen_get(const MDB_val *key, MDB_val value,
                                         struct weir__records_sequence *ret_sequence);
/* The record of a value, with its bytes. */
WEIR_MUST_USE int weir__records_record_get(enum weir__records_table table, const MDB_val *key,
                                           MDB_val value, struct weir__record *ret_record,
                                           struct weir__record_bytes *ret_bytes);
WEIR_MUST_USE int weir__records_pin_get(const MDB_val *key, MDB_val value,
                                        struct weir__question *ret_question);

static inline MDB_val weir__records_name_key(const struct weir__name *name)
{
    return (MDB_val){name->length, (void *)(uintptr_t)name->text};
}

/* Of a provider: whom it is by, of what. */
void weir__records_provider_key(const struct weir__record *record,
                                unsigned char key[WEIR__PROVIDER_KEY]);
/* Of its expiry; the length. */
size_t weir__records_expiry_key(int64_t expires_s, enum weir__records_table table,
                                const MDB_val *key, unsigned char bytes[WEIR__TABLE_KEY_MAX]);

#endif
