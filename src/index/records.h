/* records.h - the records of this node, on its disk: names, providers, pins, and the highest
 * sequence that was seen of each name.
 *
 *     DIR/records/data.mdb    LMDB, synced: what was acknowledged survives a loss of power
 *
 * Promises
 * - A write that has returned 0 is on the disk. Writes that come together share one sync.
 * - Compare-and-set: a name changes only to a higher sequence, and, when the caller names what it
 *   believes to be there, only from that; else Conflict, with what is there. Who believes that
 *   nothing is there is right as well where what was there was removed or has expired. To put what
 *   is there already, byte by byte, changes nothing and succeeds, so that a put can be repeated. A
 *   provider record replaces the one of the same key for the same address if its sequence is
 *   higher.
 * - The highest sequence seen of a name outlives the record, its removal and its expiry: nothing
 *   older is taken again, nor another one of the same sequence if there was one here. It is kept
 *   with the record that had it, so that of one sequence the record counts that all nodes choose,
 *   and it counts for as long as the key that signed it may speak for the name.
 * - A name that is kept here follows what was seen of it elsewhere (SEE): a record that counts for
 *   more takes the place of the one that is here.
 * - Readers wait neither for a writer nor for a disk write; in memory for a single change, some
 *   microseconds. While a database whose disk failed is opened again they are told Transient.
 * - One folder, one process (Exists); several where it can only be read.
 * - Only what was judged GOOD is handed in; the bytes are checked again when they are read, and
 *   what has rotted is Corrupt, counted, and never served.
 * - A folder that cannot be written is served read-only (ReadOnly for writes). A full disk is
 *   NoSpace, and reads go on. A write that the disk fails is Io with all that shared its sync; they
 *   may be there after a restart, as a whole or not at all.
 * - A file that is cut off, damaged or of something else is refused with a reason when it is
 *   opened; what is lost of it later ends the calls that meet it with Io, and never the process.
 *   What rots in LMDB's own pages is not noticed in general; the digests are of values.
 * - With folder NULL all is in memory, up to map_bytes, and nothing touches a disk.
 *
 * Limits: WEIR__RECORDS_PROVIDERS_MAX providers of one address (the one that expires first makes
 * room), map_bytes in all (NoSpace for what adds, before the last of it, so that there is room to
 * remove), WEIR__RECORDS_LINE writes in line (Busy).
 *
 * Ownership: the store owns its files and its one thread, a member of the caller's crew, which
 * outlives it; a write belongs to the caller until done() is called.
 */
#ifndef WEIR_INDEX_RECORDS_H
#define WEIR_INDEX_RECORDS_H

#include <weir/crew.h>
#include <weir/queue.h>

#include "question.h"

#define WEIR__RECORDS_PROVIDERS_MAX 1024u
#define WEIR__RECORDS_LINE          512u
#define WEIR__RECORDS_BATCH         256u
#define WEIR__RECORDS_WHY           512u

struct weir__records;

struct weir__records_options {
    const char *folder; /* that has or gets "records"; NULL: in memory */
    uint64_t map_bytes; /* 0: 16 GiB, in memory 64 MiB; address space, not memory */
    const struct weir__bindings *bindings; /* borrowed, and outlive them; may be NULL */
};

struct weir__records_report {
    bool is_new, is_read_only;
    uint64_t names, providers, pins;
};

WEIR_MUST_USE int weir__records_open(struct weir__records **ret_records,
                                     const struct weir__records_options *options,
                                     struct weir__records_report *ret_report,
                                     char why[WEIR__RECORDS_WHY]);
/* Starts the writer. Without it writes stay in line. */
WEIR_MUST_USE int weir__records_start(struct weir__records *records, struct weir_crew *crew);
/* No write is taken from here on; what is in line is written. Then the crew is drained. */
void weir__records_stop(struct weir__records *records);
/* Accepts NULL. The writer has ended. */
void weir__records_close(struct weir__records *records);

/* --- writing --- */

enum weir__records_action {
    WEIR__RECORDS_PUT, /* a name, its removal, or a provider */
    WEIR__RECORDS_SEE, /* a record of a name was seen elsewhere */
    WEIR__RECORDS_PIN, /* key */
    WEIR__RECORDS_UNPIN,
    WEIR__RECORDS_PURGE,  /* what has expired by now_s; some thousand at a time */
    WEIR__RECORDS_FORGET, /* everything: amnesia */
};

struct weir__records_write {
    enum weir__records_action action;
    struct weir__record record;      /* of PUT and SEE */
    struct weir__record_bytes bytes; /* the same */
    struct weir__question question;  /* of PIN and UNPIN */
    bool has_previous;               /* of PUT: */
    uint64_t previous;               /* the sequence that must be there now; 0: none */
    int64_t now_s;
    /* By the writer's thread, with no lock held. The write is the caller's again. */
    void (*done)(struct weir__records_write *write);
    void *arg;
    /* 0; Conflict; NoSpace; ReadOnly; Io; NotFound for UNPIN; Corrupt: the sequence has rotted;
     * Canceled, Closed: it was still in line at the end. */
    int result;
    bool was_there;   /* 0 and this: an earlier one was replaced, or nothing had to change */
    uint64_t current; /* of PUT and SEE: the highest sequence known now; 0: none */
    uint64_t purged;
};

/* Busy: the line is full. Closed. Never waits. */
WEIR_MUST_USE int weir__records_submit(struct weir__records *records,
                                       struct weir__records_write *write);

/* --- reading; any thread, never waits for a disk write --- */

/* NotFound: none, expired, of a key that may not speak for the name any more, or removed
 * (is_removed tells; ret_bytes is the removal then, which others want to see). What was seen of it
 * with 0 and with NotFound. */
struct weir__records_seen {
    struct weir__record_mark mark;
    bool is_removed;
};
WEIR_MUST_USE int weir__records_name(struct weir__records *records, const struct weir__name *name,
                                     int64_t now_s, struct weir__record_bytes *ret_bytes,
                                     struct weir__records_seen *ret_seen);
/* Those of an address that have not expired; NotFound: none. */
WEIR_MUST_USE int weir__records_providers(struct weir__records *records,
                                          const struct weir__address *address, int64_t now_s,
                                          struct weir__record_bytes *room, size_t room_count,
                                          size_t *ret_count);
/* Names that begin with prefix, behind `after` ("" for the first), in their order, up to limit:
 * those that are served, so none that was removed, of which something newer was seen, or whose key
 * may not speak for it any more. What one() returns other than 0 ends it. */
WEIR_MUST_USE int weir__records_list_names(struct weir__records *records, const char *prefix,
                                           const char *after, size_t limit, int64_t now_s,
                                           int (*one)(void *arg, const struct weir__record *record,
                                                      const struct weir__record_bytes *bytes),
                                           void *arg);
/* All that is to be published again: every record that has not expired, removals too, behind
 * `*cursor`, which is all zero at first, some at a time; 1: there may be more, 0: that was all. */
struct weir__records_cursor {
    unsigned char _key[164];
    size_t _length;
    uint32_t _table;
};
WEIR_MUST_USE int weir__records_walk(struct weir__records *records,
                                     struct weir__records_cursor *cursor, int64_t now_s,
                                     struct weir__record_bytes *room, size_t room_count,
                                     size_t *ret_count);
bool weir__records_is_pinned(struct weir__records *records, const struct weir__question *question);
WEIR_MUST_USE int
weir__records_list_pins(struct weir__records *records,
                        int (*one)(void *arg, const struct weir__question *question), void *arg);

struct weir__records_stats {
    uint64_t names, providers, pins, seen;
    uint64_t commits, writes, conflicts, failed, corrupt, evicted;
    uint64_t map_bytes, used_bytes;
    bool is_read_only, is_full, is_failing;
};
void weir__records_read(struct weir__records *records, struct weir__records_stats *ret_stats);

struct weir_queue *weir__records_line(struct weir__records *records);

#endif
