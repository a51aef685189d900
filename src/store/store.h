/* store.h - chunks of bytes under their addresses, in a folder, and none that was acknowledged is
 * ever lost.
 *
 *     weir__store_open(&store, &options, &report)
 *     weir__store_put(store, &address, bytes, length, &deadline)
 *     weir__store_get(store, &reader, &address, &chunk) ... weir__chunk_release(store, &chunk)
 *     weir__store_close(store)
 *
 * Promises
 * - A write that was answered with 0 or WEIR__STORE_PRESENT lasts: it is on the disk, in a segment
 *   whose name is as well. One that was not answered, or with an error, is there whole or not at
 *   all. An error of the disk is never tried again into a success: the segment is left as it is and
 *   the next write begins another one.
 * - Writes are taken in their order by one thread, which gathers what waits and makes it last
 *   together. A reader sees a write when it lasts, and not before.
 * - What is read is what was written: each hit of the index is checked against the record that it
 *   leads to, and the bytes against their address as the policy says. What is found damaged is told
 *   (Corrupt), copied to the folder `quarantine`, and gone until it is put again.
 * - A disk that is full refuses writes (NoSpace) and nothing else; the next write tries again.
 *   Deletions are taken further, and what they leave is compacted, as far as the room goes that is
 *   kept for that (reserve.c).
 * - A folder that cannot be written is opened for reading (ReadOnly for writes). A second process
 *   is refused (Busy).
 * - A chunk that is being read stays readable while it is deleted or moved.
 * - A disk that does not give some of the folder costs what lies there, and no more. As long as it
 *   is not known what that is, an address that is not found is Io and not NotFound, a deletion is
 *   written also of what is not found, and a put also of what is: a record that cannot be read now
 *   may be the later one when it can be again.
 *
 * Limits: a chunk has at most WEIR__CHUNK_MAX bytes; pending_bytes and pending_count writes wait at
 * most, Busy beyond; four threads; memory is that of pending writes, of some 80 bytes for each
 * record of the newest segments (at most 3 times WEIR__SEGMENT_COUNT), of hot_entries, and of some
 * 100 bytes for each segment.
 *
 * Any number of threads call. What waits takes a deadline.
 *
 * Ownership: the store belongs to whoever opened it; bytes of a write are borrowed until it is
 * done; a chunk pins its segment until it is released.
 */
#ifndef WEIR_STORE_STORE_H
#define WEIR_STORE_STORE_H

#include <weir/budget.h>
#include <weir/crew.h>
#include <weir/deadline.h>
#include <weir/queue.h>
#include <weir/rate.h>

#include "record.h"

#define WEIR__STORE_SEGMENT_DEFAULT       (64u << 20)
#define WEIR__STORE_SEGMENT_LEAST         (4u << 20)
#define WEIR__STORE_SEGMENT_MOST          (1u << 30)
#define WEIR__STORE_PENDING_BYTES_DEFAULT (UINT64_C(64) << 20)
#define WEIR__STORE_PENDING_COUNT         4096u
#define WEIR__STORE_HOT_DEFAULT           65536u
#define WEIR__STORE_DESCRIPTORS_DEFAULT   512u
#define WEIR__STORE_QUARANTINE_MAX        1024u /* files there; what is found beyond is only told */

struct weir__store;

enum weir__store_verify {
    WEIR__STORE_VERIFY_FIRST,  /* when it is read first, and again once it was forgotten */
    WEIR__STORE_VERIFY_ALWAYS, /* each time */
    WEIR__STORE_VERIFY_SCRUB   /* by who walks through all, not by who reads */
};

/* A zero stands for the default. */
struct weir__store_options {
    const char *folder;     /* NULL: in memory, and nothing of it touches a disk */
    uint64_t memory_max;    /* bytes of segments in memory; NoSpace beyond. The last segment of
                             * these is for deletions and compaction */
    bool is_read_only;      /* asked for; otherwise as the folder allows */
    bool is_offline;        /* for tools: no thread but the one that writes */
    uint32_t segment_bytes; /* when a segment is sealed; less on a small disk */
    uint64_t pending_bytes;
    uint32_t hot_entries;
    uint32_t descriptors_max; /* of segments; more, where more are read at once, below the top */
    uint64_t descriptor_top;  /* descriptors from this number on are for others; no limit */
    enum weir__store_verify verify;
    uint32_t compact_percent;  /* of dead bytes, from which on a segment is compacted; 50 */
    uint64_t compact_per_s;    /* bytes that compaction reads; 64 MiB */
    uint64_t scrub_per_s;      /* bytes that the scrubber reads; 10 MiB */
    uint64_t scrub_interval_s; /* from the end of one walk to the next; a week */
    uint64_t close_ns;         /* for what waits to be written when the store is closed; 60 s */
};

/* What a folder misses. What could not be read may come back: until it is opened again, nothing is
 * said to be absent that may lie there. */
struct weir__store_gaps {
    uint64_t missing_segments; /* of which nothing could be read; their files are left alone */
    uint64_t unreadable_bytes; /* of others */
    uint64_t hidden_bytes;     /* of these: where records may lie that nobody knows of */
    uint64_t lost_segments;    /* that were there when it was closed, or since, and are no more */
    uint64_t lost_bytes;       /* of segments that were longer then */
};

/* How the folder was found. */
struct weir__store_report {
    bool is_new;
    bool is_read_only;
    bool was_clean;         /* it was closed as it should be */
    bool index_was_rebuilt; /* from the segments */
    const char *index_why;  /* why it was; NULL: it was not */
    uint64_t segments;
    uint64_t chunks;
    uint64_t torn_bytes;        /* cut off behind the last record, once it is done */
    uint64_t bad_records;       /* damaged ones that were skipped */
    uint64_t bad_segments;      /* files that are none, put aside */
    uint64_t bad_left;          /* of these: that stay where they are */
    bool identity_was_repaired; /* from a segment */
    struct weir__store_gaps gaps;
    uint64_t reserve_missing; /* bytes that the disk lacks for the room that is to be kept */
    const char *reserve_why;  /* why no room can be kept at all, and none is; NULL: it can */
    uint32_t missing_first;   /* segment of which something is missing, unreadable or lost, or 0 */
    uint64_t lost_inside;     /* of gaps.lost_bytes: between the records of the newest, or behind */
    uint64_t left_bytes;      /* damaged or unfinished, without a copy in quarantine: they stay */
    int unkept_why;           /* the first reason why there is no copy, or 0 */
    int doubt_errno;          /* why who only reads could not sync what a sudden end left, or 0 */
};

/* What is to be told of it, a line each and without a newline. */
void weir__store_report_tell(const struct weir__store_report *report,
                             void (*fn)(void *arg, const char *line), void *arg);

/* Invalid: an option out of bounds, or a folder that holds something else. Busy: somebody has it.
 * Corrupt: segments of another store. Denied, NoSpace, Io, NoMemory. Why is in
 * weir__store_why(). */
WEIR_MUST_USE int weir__store_open(struct weir__store **ret_store,
                                   const struct weir__store_options *options,
                                   struct weir__store_report *ret_report);
/* What was wrong with the folder, for people; of the last open of this thread that failed. */
const char *weir__store_why(void);
/* What waits is written, then all threads end. After it the folder is marked as clean, if all went
 * well. Asserts that no chunk is pinned. Accepts NULL. Timeout: a thread is held up by the disk and
 * does not end within close_ns and some seconds; nothing is freed, since it has it still, and the
 * process is to leave. Io: it is closed and has no mark, so that the next open makes the index
 * anew; what was acknowledged lasts. Incomplete: the same, and it is not whole. Waits. */
int weir__store_close(struct weir__store *store);

/* --- writing --- */

#define WEIR__STORE_PRESENT  1
#define WEIR__STORE_UNWANTED 2

enum weir__store_action {
    WEIR__STORE_PUT,
    WEIR__STORE_DELETE,
    WEIR__STORE_TOUCH /* renews its time */
};

/* A write that is under way; lives in the caller's memory until done() is called. */
struct weir__store_write {
    enum weir__store_action action;
    struct weir__address address; /* of the bytes: not checked again here */
    const void *bytes;
    uint32_t length;
    bool replaces; /* of a put: also where there is one already, which cannot be read */
    /* Called once, by the thread that writes: must not wait. */
    void (*done)(struct weir__store_write *write);
    void *arg;
    /* 0: it lasts. WEIR__STORE_PRESENT: of a put, it is there already, and lasts. NotFound: of a
     * deletion or touch, there is none. Or why not: NoSpace, Io, ReadOnly, Canceled, NoMemory,
     * NoDescriptors, Busy; Transient, of a touch while the index is made anew: puts and deletions
     * are written then all the same. */
    int result;
    uint64_t sequence; /* of what it wrote */
    struct weir_permit _permit;
    struct weir__entry _from; /* of a move */
    int _kind;
    bool _is_announced;
    struct weir__store_write *_next; /* of those that are announced */
};

/* Hands the write in. Busy: too much waits. ReadOnly, Closed, TooLarge, NoSpace when the index of
 * what was written cannot be kept. done() is called only if this returns 0. */
WEIR_MUST_USE int weir__store_submit(struct weir__store *store, struct weir__store_write *write);

/* The same, for who can wait. A wait that was given up may still have written. */
WEIR_MUST_USE int weir__store_put(struct weir__store *store, const struct weir__address *address,
                                  const void *bytes, uint32_t length,
                                  const struct weir_deadline *deadline);
/* A put in place of what is there and cannot be read. */
WEIR_MUST_USE int weir__store_replace(struct weir__store *store,
                                      const struct weir__address *address, const void *bytes,
                                      uint32_t length, const struct weir_deadline *deadline);
WEIR_MUST_USE int weir__store_delete(struct weir__store *store, const struct weir__address *address,
                                     const struct weir_deadline *deadline);
WEIR_MUST_USE int weir__store_touch(struct weir__store *store, const struct weir__address *address,
                                    const struct weir_deadline *deadline);

/* A deletion that is going to be handed in: from here on until it is done nobody promises that its
 * chunk lasts. For who is asked for one and looks at something first; handing it in does the same.
 * One that is not handed in, or could not be, is to be withdrawn. */
void weir__store_announce(struct weir__store *store, struct weir__store_write *write);
/* Accepts one that is not announced. */
void weir__store_withdraw(struct weir__store *store, struct weir__store_write *write);

/* --- reading --- */

/* A chunk that was found: its bytes are those from offset on in the file. */
struct weir__chunk {
    int fd;
    uint64_t offset;
    uint32_t length;
    uint32_t time_s;
    uint64_t sequence;
    bool is_verified; /* its bytes were those of its address when it was read last */
    struct weir__segment *_segment;
};

/* Room for one record, for a thread that reads. */
struct weir__store_reader {
    unsigned char *_bytes;
};
WEIR_MUST_USE int weir__store_reader_init(struct weir__store_reader *reader);
void weir__store_reader_fini(struct weir__store_reader *reader);

/* Finds the chunk and pins it, verified as the policy says. NotFound, Corrupt, Io, Busy. Transient:
 * the index broke and is made anew, so that nobody knows. Reads from the disk. */
WEIR_MUST_USE int weir__store_get(struct weir__store *store, struct weir__store_reader *reader,
                                  const struct weir__address *address,
                                  struct weir__chunk *ret_chunk);
/* The same for a chunk that was read and verified not long ago, in an open segment: makes no system
 * call. Busy: it is not such a one, or the policy wants it verified: ask the other. */
WEIR_MUST_USE int weir__store_get_now(struct weir__store *store,
                                      const struct weir__address *address,
                                      struct weir__chunk *ret_chunk);
/* Its bytes, verified, whatever the policy. They are the reader's until its next call. */
WEIR_MUST_USE int weir__store_read_chunk(struct weir__store *store,
                                         struct weir__store_reader *reader,
                                         const struct weir__address *address,
                                         const unsigned char **ret_bytes, uint32_t *ret_length);
/* Whether it is there, and of what length and time; by the index alone. */
WEIR_MUST_USE int weir__store_find(struct weir__store *store, const struct weir__address *address,
                                   uint32_t *ret_length, uint32_t *ret_time_s);
/* The same, for who promises that it lasts: NotFound as well where a deletion may be hidden by what
 * cannot be read. WEIR__STORE_PRESENT: it is there and nobody may promise it, since a deletion of
 * it waits, or one that failed is not cut off yet and may count after the next start. A put settles
 * it: it is taken behind the deletion. */
WEIR_MUST_USE int weir__store_vouch(struct weir__store *store, const struct weir__address *address,
                                    uint32_t *ret_length, uint32_t *ret_time_s);
/* Accepts one that is all zero or was released. */
void weir__chunk_release(struct weir__store *store, struct weir__chunk *chunk);

/* All chunks in the order of their addresses, from one on (NULL: the first). What is written
 * meanwhile may be missed. What fn returns that is not 0 ends it. */
WEIR_MUST_USE int weir__store_walk(struct weir__store *store, const struct weir__address *from,
                                   int (*fn)(void *arg, const struct weir__address *address,
                                             uint32_t length, uint32_t time_s),
                                   void *arg);

/* --- upkeep --- */

/* One step of compaction: the segment with most dead bytes, if they are percent or more of it (0:
 * any). One that cannot be compacted is told and left until the store is opened again, and the next
 * has its turn. 0: one was compacted; NotFound: there is none. What else it ends with is said of no
 * segment: it may be tried again. Waits. */
WEIR_MUST_USE int weir__store_compact(struct weir__store *store, uint32_t percent,
                                      const struct weir_deadline *deadline);
/* Looks for another good record of a chunk that was found damaged, and puts it again. The verdict
 * on what was found is written first, if there was no room for it then. 0: it is good now.
 * WEIR__STORE_UNWANTED: it was deleted meanwhile. NotFound: there is none. Waits. */
WEIR_MUST_USE int weir__store_salvage(struct weir__store *store, struct weir__store_reader *reader,
                                      const struct weir__address *address,
                                      const struct weir_deadline *deadline);
/* Whether there is nothing to repair: its bytes are those of its address, now, or it was deleted.
 * Damage is not told. Waits. */
bool weir__store_is_settled(struct weir__store *store, struct weir__store_reader *reader,
                            const struct weir__address *address);
/* The walk of the scrubber begins now. */
void weir__store_scrub_now(struct weir__store *store);
/* Seals the newest segment, as if it were full. */
WEIR_MUST_USE int weir__store_seal(struct weir__store *store, const struct weir_deadline *deadline);
/* Paces and policy, at run time. Only verify, compact_*, scrub_* are looked at. */
WEIR_MUST_USE int weir__store_update(struct weir__store *store,
                                     const struct weir__store_options *options);

/* Told of what was found damaged, by the thread that found it; must not wait. Set once, before it
 * is used: what the opening has found is told at once, by this thread. */
void weir__store_on_damage(struct weir__store *store,
                           void (*fn)(void *arg, const struct weir__address *address,
                                      const char *what),
                           void *arg);

/* A picture; the counts only grow. */
struct weir__store_stats {
    uint64_t segments, descriptors;
    /* While the index is made anew a deletion does not know what it deletes, nor a put what is
     * there: the next start counts that. */
    uint64_t chunks;
    uint64_t bytes;      /* of records */
    uint64_t dead_bytes; /* of these; of the newest segment, what it has done to chunks */
    uint64_t index_entries, index_bytes;
    uint64_t tail_records; /* not yet in the index */
    uint64_t pending_count, pending_bytes;
    uint64_t puts, puts_present, deletes, touches, put_bytes;
    uint64_t commits, syncs_failed, writes_failed, writes_no_space;
    uint64_t gets_hot, gets_cold, verified, damaged, quarantined;
    uint64_t compacted_segments, compacted_bytes, moved_bytes;
    uint64_t scrubbed_bytes, scrub_walks;
    uint64_t reindexed;    /* times that the index broke and was made anew */
    uint64_t index_checks; /* walks that looked whether it has what was put into it */
    uint64_t index_wrong;  /* of these, and of those when a store was closed, that it had not */
    int64_t scrub_ended_s; /* by the wall clock; 0: never */
    bool is_read_only, is_full, is_failing, index_is_broken;
    uint64_t at_disk_ns;
    bool index_waits;     /* for room; it and the tails are asked further */
    bool keeps_deletions; /* a segment is missing or not whole, so no deletion is let go of */
    bool is_whole;        /* nothing is missing */
    struct weir__store_gaps gaps;
};
/* How long the thread that writes has waited for the disk by now; 0: it does not. Nor do these. */
uint64_t weir__store_at_disk_ns(struct weir__store *store);
/* Waits for no disk. */
void weir__store_read(struct weir__store *store, struct weir__store_stats *ret_stats);

/* What it is made of, for who describes or measures it. Borrowed, while the store is open. */
struct weir__store_parts {
    struct weir_crew *writers, *keepers;
    struct weir_queue *writes, *tails;
    struct weir_budget *pending, *unindexed, *compacting;
    struct weir_rate *compact_rate, *scrub_rate;
};
void weir__store_parts(struct weir__store *store, struct weir__store_parts *ret_parts);

#endif
