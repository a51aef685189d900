/* store_part.h - what the files of the store share; nobody else includes this.
 *
 *   store.c       life cycle, calls of other rooms, counts
 *   folder.c      the folder: lock, identity, clean mark
 *   recover.c     what the folder holds: segments and the index over them
 *   resume.c      the newest segment, to be written further
 *   active.c      the segment that is written to
 *   commit.c      the thread that writes
 *   reserve.c     room that is kept for deletions and moves
 *   write_wait.c  writes that are waited for
 *   indexer.c     the thread that brings the index up to date
 *   reindex.c     an index that broke, made anew
 *   find.c        where a chunk is, and whether its bytes are right
 *   quarantine.c  what becomes of damaged ones
 *   compact.c     the thread that moves the living out of segments with many dead
 *   ripe.c        whether the newest segment is to be sealed for that before it is full
 *   scrub.c       the thread that walks through all
 *   names.c       whether files are where they were made
 *   index_check.c whether the index has what was put into it
 *   store_check.c a walk by hand, which trusts nothing
 *   walk.c        all that counts, one after the other
 *   upkeep.c      counting and compacting by hand
 *
 * Way of a write: submit() -> queue `writes` -> commit thread: written and synced with all that
 * waits -> into the active tail -> done(). When the segment is full: footer, another segment, and
 * the tail goes to the queue `tails` -> index thread: into the index -> forgotten.
 *
 * Way of a lookup: active tail, tails that wait for the index (newest first), index. A tail leaves
 * its list after the index has it, so nothing is missed.
 *
 * Ownership: all of it belongs to the store.
 */
#ifndef WEIR_STORE_STORE_PART_H
#define WEIR_STORE_STORE_PART_H

#include <weir/crew.h>
#include <weir/metrics.h>
#include <weir/queue.h>
#include <weir/rate.h>

#include "disk.h"
#include "hot.h"
#include "index.h"
#include "segment_load.h"
#include "segments.h"
#include "store.h"
#include "tail.h"

#define WEIR__STORE_TAILS   2u   /* that wait for the index, at most */
#define WEIR__STORE_RETIRED 4u   /* indexes that somebody still uses */
#define WEIR__STORE_BATCH   256u /* writes that are made to last together, at most */
#define WEIR__STORE_WHY_MAX 256u
/* Damaged records that were told and have no verdict yet; what is found beyond is counted each time
 * and told no more. */
#define WEIR__STORE_TOLD    4096u
#define WEIR__STORE_ENDINGS 256u /* lists of what may end a chunk, by address */

/* What the commit thread does besides what others may ask for. */
enum {
    WEIR__WRITE_PLAIN,
    WEIR__WRITE_MOVE,
    WEIR__WRITE_BAD,
    WEIR__WRITE_SALVAGE, /* a put, if the verdict is still what counts */
    WEIR__WRITE_SEAL,
    WEIR__WRITE_ROOM /* nothing: looks whether a disk that was full has room again */
};

struct weir__store_run;

/* Of the commit thread alone, but for what is said. */
struct weir__writer {
    struct weir__disk_file file; /* fd -1: there is no active segment */
    uint32_t id;
    uint32_t end;           /* behind what lasts */
    uint64_t next_sequence; /* set before the thread starts */
    uint32_t next_id;
    struct weir__segment *pin;
    /* Of an abandoned segment: something may lie behind its records; fd -1: there is none. */
    struct weir__disk_file doubtful;
    uint32_t doubtful_end;
    struct weir__map batch; /* what this batch has written, by address */
    /* Room that is kept (reserve.c), and of this what only moves may use. */
    uint64_t reserve_held, reserve_moves;
    bool reserve_is_lost; /* deletions miss some of their part that they have not used */
    uint64_t stored;      /* bytes of the other segments when this one was begun */
    bool has_helped;      /* the index was given some of it, since it had no room */
    bool has_leftovers;   /* of a crash, between the records of the active segment */
    int disk_errno;       /* of the last write, sync or creation that failed */
};

/* Of the active segment: what stands before this lasts, and was whole when it came to the disk. 0:
 * nobody can say that, for what a crash has left between its records. */
static inline uint32_t weir__store_synced(const struct weir__writer *writer)
{
    return writer->has_leftovers ? 0 : writer->end;
}

#define WEIR__STORE_SEGMENTS "segments" /* the folder that they are in */

struct weir__store_counts {
    struct weir_counter puts, puts_present, deletes, touches, put_bytes;
    struct weir_counter commits, syncs_failed, writes_failed, writes_no_space;
    struct weir_counter gets_cold, verified, damaged, quarantined;
    struct weir_counter compacted_segments, compacted_bytes, moved_bytes;
    struct weir_counter scrubbed_bytes, scrub_walks;
    struct weir_counter reindexed;
    struct weir_counter index_checks;     /* walks over all of it */
    struct weir_counter index_wrong;      /* times that it had not what was put into it */
    struct weir_counter shrunk;           /* records that were gone when the index was made anew */
    struct weir_counter gone;             /* segments whose files somebody has removed meanwhile */
    struct weir_counter names_doubted;    /* segments that were removed and may come back */
    struct weir_counter quarantine_files; /* that are there, those of earlier days included */
};

struct weir__store {
    struct weir__store_options options; /* with the defaults filled in */
    char *folder_name;
    int folder, segments_folder, lock_fd; /* -1 in memory */
    bool is_read_only;
    bool is_doubtful;     /* only read, and what it has may not last */
    bool keeps_deletions; /* segments are missing, or not read whole: see compact.c */
    struct weir__identity identity;

    /* Set while it is opened. */
    struct weir__store_gaps gaps;
    bool has_hidden;       /* records may be there that nobody knows of */
    bool has_aside;        /* files lie aside that were no segments when they were looked at */
    uint64_t certain_from; /* of those, none has this sequence or a later one */
    /* Chunks of one segment whose bytes the opening found damaged, by their places. */
    struct weir__entry *wrong;
    size_t wrong_count, wrong_room;

    struct weir__segments segments;
    struct weir__index *index;
    struct weir__hot hot;

    struct weir_crew *writers, *keepers; /* commit and index; compact and scrub */
    struct weir_queue writes;            /* struct weir__store_write * */
    struct weir_queue tails;             /* struct weir__tail * */
    struct weir_budget pending;          /* bytes */
    struct weir_budget unindexed;        /* tails */
    struct weir_budget compacting;       /* one at a time */
    struct weir_rate compact_rate, scrub_rate;
    struct weir__writer writer;
    struct weir__store_run *run; /* of the commit thread */

    struct weir_lock lock; /* guards what follows */
    int64_t chunk_count;   /* that are there, as far as who wrote could tell */
    struct weir__tail *active;
    struct weir__tail *waiting[WEIR__STORE_TAILS]; /* for the index, oldest first */
    size_t waiting_count;
    /* Those who use the index. The thread `index` puts another in its place: it needs not say that
     * it uses it. Retired ones go with their last user. */
    uint32_t index_users;
    uint64_t index_number; /* grows with each that takes the place of another */
    struct weir__retired {
        struct weir__index *index; /* NULL: free */
        uint32_t users;
    } retired[WEIR__STORE_RETIRED];
    struct weir__index_stats index_stats; /* as of the last change */
    bool is_full, is_failing;
    /* Deletions and verdicts that are not done, by address. */
    struct weir__store_write *endings[WEIR__STORE_ENDINGS];
    bool is_unsettled;    /* what failed is not cut off yet: it may count after the next start */
    uint64_t at_disk_ns;  /* since when the thread that writes waits for the disk; 0: it does not */
    bool is_short;        /* not even deletions have room */
    bool nothing_fits;    /* no segment could be compacted, for want of room */
    int index_error;      /* of the last that was to be applied; 0: none */
    bool index_is_stale;  /* it is to be made anew */
    bool index_is_broken; /* and is not asked before that, since it fails or has told nonsense */
    bool is_nudged;       /* the thread `index` is told of that */
    bool is_reindexing;   /* no segment may go */
    bool is_removing;     /* one goes: the index may not be made anew */
    bool is_unclean;      /* something went wrong: the index is not to be trusted next time */
    enum weir__store_verify verify;
    uint32_t compact_percent;
    uint64_t scrub_interval_s;
    uint64_t scrub_wanted;  /* walks asked for */
    uint32_t scrub_segment; /* where the walk is */
    int64_t scrub_ended_s;

    struct weir__place told[WEIR__STORE_TOLD];
    size_t told_count;

    void (*damage_fn)(void *arg, const struct weir__address *address, const char *what);
    void *damage_arg;
    struct weir__store_counts counts;
};

/* --- folder.c --- */
/* Remembers why, for weir__store_why(), and returns the error. */
__attribute__((format(printf, 2, 3))) int weir__store_fail(int error, const char *format, ...);
/* Opens or makes the folder and takes its lock; finds or makes the identity. */
WEIR_MUST_USE int weir__store_folder_open(struct weir__store *store,
                                          struct weir__store_report *report);
void weir__store_folder_close(struct weir__store *store);

/* What has the name of the index and is no folder is put aside. Invalid: it is a link to one, which
 * somebody may have wanted. */
WEIR_MUST_USE int weir__store_index_make_way(struct weir__store *store, bool *ret_is_aside);

/* A file that is no segment of this store goes out of the way, whole. What was put aside before
 * stays; where that is too much, or nothing is to be written, the file stays where it is, which is
 * counted, and is told again by the next start. */
WEIR_MUST_USE int weir__store_segment_make_way(struct weir__store *store, uint32_t id,
                                               uint64_t *left);

/* What the folder says of its last user. */
struct weir__store_mark {
    bool is_clean;
    bool keeps_deletions;
    uint64_t next_sequence;
    uint32_t next_id;
    uint32_t segments;       /* how many there were */
    uint32_t newest_id;      /* of these; 0: none, or a mark of a version that did not say so */
    uint64_t newest_size;    /* bytes of its file */
    bool newest_is_finished; /* nothing that a crash has left lies between its records */
    unsigned char index_digest[WEIR__HASH_SIZE];
};
#define WEIR__STORE_MARK_SIZE 80u
/* False: it is not that of a clean end. */
bool weir__store_mark_decode(struct weir__store_mark *ret_mark, const unsigned char *bytes,
                             size_t length);
void weir__store_mark_encode(const struct weir__store_mark *mark,
                             unsigned char bytes[WEIR__STORE_MARK_SIZE]);
/* One that is missing or damaged is that of an unclean end. */
void weir__store_mark_read(struct weir__store *store, struct weir__store_mark *ret_mark);
WEIR_MUST_USE int weir__store_mark_write(struct weir__store *store,
                                         const struct weir__store_mark *mark);
/* Its absence is that of an unclean end. */
WEIR_MUST_USE int weir__store_mark_remove(struct weir__store *store);
/* Of the file of the index, as it is on the disk. NotFound. */
WEIR_MUST_USE int weir__store_index_digest(struct weir__store *store,
                                           unsigned char digest[WEIR__HASH_SIZE]);

/* --- recover.c --- */
WEIR_MUST_USE int weir__store_recover(struct weir__store *store, struct weir__store_report *report);
#ifdef WEIR_FAULTS
/* For what an index is made of; for tests that have less than that. */
void weir__store_bulk_memory(size_t bytes);
#endif

/* --- resume.c --- */
/* Makes it the active one, and the file the store's. */
WEIR_MUST_USE int weir__store_resume(struct weir__store *store, uint32_t id,
                                     struct weir__disk_file *file,
                                     const struct weir__segment_content *content);

/* --- active.c: with no thread running, or by the thread that writes --- */
/* Makes the active segment. */
WEIR_MUST_USE int weir__store_begin_segment(struct weir__store *store);
/* Ends it, if there is one. An error: it is still the active one. */
WEIR_MUST_USE int weir__store_end_segment(struct weir__store *store, struct weir_crew_self *self);
/* Nobody writes to it any more. */
void weir__store_abandon(struct weir__store *store, struct weir_crew_self *self);
/* What lies behind the records of the abandoned one that last is no more, and that lasts. Until
 * then nothing is written, and nobody is told that something lasts. */
WEIR_MUST_USE int weir__store_settle(struct weir__store *store);
/* At once behind a call that failed: what whoever waits for it is told (weir__disk_fault). Why is
 * remembered for the log. */
WEIR_MUST_USE int weir__store_disk_failed(struct weir__store *store, int error);

/* It is at the disk from now on, or is so anew; or it is not. */
void weir__store_note_disk(struct weir__store *store, bool is_at_disk);

/* --- commit.c --- */
WEIR_MUST_USE struct weir__store_run *weir__store_run_new(void);
int weir__store_commit_main(struct weir_crew_self *self, void *arg);

/* --- write_wait.c --- */
/* Hands it in and waits for its end. What it needs is copied, so that it may be given up. */
WEIR_MUST_USE int weir__store_write_and_wait(struct weir__store *store,
                                             struct weir__store_write *write,
                                             const struct weir_deadline *deadline);

/* --- reserve.c --- By the thread that writes, or before it is there, but for what is said. */
/* On a small disk segments are smaller than was asked for. */
void weir__store_fit_segments(struct weir__store *store);
/* Finds what was kept. NoSpace: it is less than it should be. */
WEIR_MUST_USE int weir__store_reserve_open(struct weir__store *store,
                                           struct weir__store_report *report);
/* How much is to be kept goes by what is stored now. */
void weir__store_reserve_measure(struct weir__store *store);
/* Whether somebody else has taken it away, or some of it; what can be had is kept then. */
void weir__store_reserve_look(struct weir__store *store);
/* Sees to it that all of it is kept. NoSpace: there is too little. */
WEIR_MUST_USE int weir__store_reserve_take(struct weir__store *store);
/* The same of the part for moves. */
WEIR_MUST_USE int weir__store_reserve_take_for_moves(struct weir__store *store);
/* Gives all that there is to a move, or the part that is not for moves to something else. False: it
 * is given away already. */
bool weir__store_reserve_give(struct weir__store *store, bool to_move);
/* Keeps what can be had. NoSpace: it is less than it should be. */
WEIR_MUST_USE int weir__store_reserve_settle(struct weir__store *store);
/* Whether the disk has room for more than that. */
bool weir__store_has_room(struct weir__store *store);
/* Nothing can be moved with what is kept for that: deletions have some of it. */
void weir__store_reserve_yield(struct weir__store *store);
/* What a move could write, by any thread: an estimate. UINT64_MAX: nobody knows. */
uint64_t weir__store_room_for_moves(struct weir__store *store);

/* --- indexer.c --- */
int weir__store_index_main(struct weir_crew_self *self, void *arg);
/* Brings the records into the index, and the facts up to date. */
WEIR_MUST_USE int weir__store_apply(struct weir__store *store, uint32_t segment, uint32_t size,
                                    bool is_sealed, const struct weir__entry *records,
                                    size_t count);
/* The index, which stays usable until it is given back: another may take its place meanwhile. */
struct weir__index *weir__store_index_use(struct weir__store *store);
void weir__store_index_leave(struct weir__store *store, struct weir__index *index);
/* Puts another in its place, by the thread `index`. Busy: too many retired ones are in use. */
WEIR_MUST_USE int weir__store_index_replace(struct weir__store *store, struct weir__index *fresh);
/* Frees one that was never used; when the store is closed, if this thread holds it. */
void weir__store_index_discard(struct weir__store *store, struct weir__index *index);
/* The index fails, or has told nonsense: it is made anew, by its thread, or when the store is
 * opened next. */
void weir__store_doubt_index(struct weir__store *store);
/* The same of one that can be asked meanwhile: it knows of something that is gone. */
void weir__store_renew_index(struct weir__store *store);

/* --- index_check.c --- */
/* A piece of a walk over the index (weir__index_check). An index that is wrong is told and counted,
 * and doubted. Corrupt, Io: it is; Busy: it is changed, or made anew: later; NoMemory. */
WEIR_MUST_USE int weir__store_check_index(struct weir__store *store, uint32_t *at);
/* Those parts of the index that have to do with deletions among the records. Transient: it is
 * wrong, as above, or is made anew. */
WEIR_MUST_USE int weir__store_check_deletions(struct weir__store *store,
                                              const struct weir__entry *records, size_t count,
                                              const struct weir_deadline *deadline);
/* All of it at once, with no thread running. Timeout. */
WEIR_MUST_USE int weir__store_check_index_all(struct weir__store *store,
                                              const struct weir_deadline *deadline);

/* --- reindex.c --- */
/* Makes the index anew, from the segments, by the thread `index`; what waits for it is left out.
 * Canceled when the store is closed. */
WEIR_MUST_USE int weir__store_reindex(struct weir__store *store, struct weir_crew_self *self);

/* --- indexer.c --- */
/* The index says so of a segment of the store. */
void weir__store_facts_changed(void *arg, const struct weir__segment_facts *facts);
/* Keeps the numbers of the index at hand: asking it may wait for a disk, which who asks for numbers
 * must not. */
void weir__store_note_index(struct weir__store *store);

/* Whether a segment is missing, not whole, or may come back: see compact.c. */
static inline bool weir__store_keeps_deletions(const struct weir__store *store)
{
    return store->keeps_deletions || weir_counter_value(&store->counts.shrunk) > 0 ||
           weir_counter_value(&store->counts.gone) > 0 ||
           weir_counter_value(&store->counts.names_doubted) > 0;
}

/* --- quarantine.c: chunks that the opening found damaged --- */
/* In the order of their places, before any thread runs. NoMemory. */
WEIR_MUST_USE int weir__store_wrong_add(struct weir__store *store, const struct weir__entry *entry);
void weir__store_wrong_forget(struct weir__store *store);
/* Whether it is one of these, by its place. */
static inline bool weir__store_is_wrong(const struct weir__store *store,
                                        const struct weir__entry *entry)
{
    size_t from = 0, to = store->wrong_count;
    while (from < to) {
        size_t middle = from + (to - from) / 2;
        if (store->wrong[middle].place.offset < entry->place.offset)
            from = middle + 1;
        else
            to = middle;
    }
    return from < store->wrong_count && store->wrong[from].place.offset == entry->place.offset &&
           store->wrong[from].place.segment == entry->place.segment;
}
/* Those that count are told, kept and condemned, as by who reads them. */
void weir__store_wrong_tell(struct weir__store *store);

/* --- names.c --- */

/* False: somebody else has removed, moved or replaced the file of this segment, or the folder that
 * it is in. That is noted, and told once. */
bool weir__store_has_segment(struct weir__store *store, uint32_t id);
bool weir__store_has_folder(struct weir__store *store);
/* At those of all segments. */
void weir__store_look_at_names(struct weir__store *store);

/* --- find.c --- */
/* Whether what counts for an address is known for certain, and is not known to be damaged; NULL:
 * nothing is found. */
static inline bool weir__store_is_certain(const struct weir__store *store,
                                          const struct weir__entry *known)
{
    bool is_known = !store->has_hidden || (known && known->sequence >= store->certain_from);
    return is_known && !(known && weir__store_is_wrong(store, known));
}
/* What a question to the index failed with: Busy, NoMemory, or Transient, and it is doubted; Io if
 * the store is only read. */
WEIR_MUST_USE int weir__store_index_failed(struct weir__store *store, int error);
/* What counts for the address: also a deletion. ret_is_tail may be NULL: whether a tail says so,
 * and not the index. NotFound, Io, Busy. */
WEIR_MUST_USE int weir__store_lookup(struct weir__store *store, const struct weir__address *address,
                                     struct weir__entry *ret_entry, bool *ret_is_tail);
/* The record of the entry into the reader's memory, checked: its head (Mismatch: it is that of no
 * record, or of another one), and if that is wanted its bytes (Corrupt). */
WEIR_MUST_USE int weir__store_load(struct weir__store *store, struct weir__segment *segment,
                                   const struct weir__entry *entry, bool with_bytes,
                                   struct weir__store_reader *reader);

/* Whether the bytes of what counts for the address are right. Corrupt: *ret_entry is what is
 * damaged, which is not told. Or what a read fails with. */
WEIR_MUST_USE int weir__store_examine(struct weir__store *store, struct weir__store_reader *reader,
                                      const struct weir__address *address,
                                      struct weir__entry *ret_entry);

/* --- walk.c --- */
/* All that counts, as weir__store_walk(), deletions included. */
WEIR_MUST_USE int weir__store_walk_all(struct weir__store *store, const struct weir__address *from,
                                       int (*fn)(void *arg, const struct weir__entry *entry),
                                       void *arg);

/* --- quarantine.c --- */
/* What the entry leads to is damaged: it is copied, counted, told, and counts no more. Where the
 * verdict cannot be written it is found again: it is counted and told once. */
void weir__store_quarantine(struct weir__store *store, const struct weir__entry *entry,
                            const char *what);
/* The same for who can wait, of what was told before, when there was no room for the verdict.
 * NotFound: it does not count any more. */
WEIR_MUST_USE int weir__store_condemn(struct weir__store *store, const struct weir__entry *entry,
                                      const struct weir_deadline *deadline);
/* Files that are kept. */
WEIR_MUST_USE int weir__store_quarantine_count(struct weir__store *store, uint64_t *ret_files);
/* Before anything is put aside: what is kept already counts for the limit, and what was not
 * finished goes. */
void weir__store_quarantine_open(struct weir__store *store);
/* Tells what is no damage, and concerns no chunk. */
void weir__store_say(struct weir__store *store, const char *what);
/* Counts and tells a damage that nothing is done about; of no chunk in particular: NULL. */
void weir__store_tell(struct weir__store *store, const struct weir__address *address,
                      const char *what);
/* Bytes of a segment's file, to be kept for whoever wants to look at them; must_last: before they
 * go there. 0: they are kept, or were. Incomplete: those that can be read are. Busy: many are kept.
 * Under the name, or that with a number behind it where the name has other bytes. */
WEIR_MUST_USE int weir__store_put_aside(struct weir__store *store, int fd, const char *name,
                                        uint64_t from, uint64_t to, bool must_last);
/* Why there is no copy, behind "not kept in quarantine: ". */
const char *weir__store_unkept_text(int error);

/* --- compact.c, scrub.c --- */
int weir__store_compact_main(struct weir_crew_self *self, void *arg);
#ifdef WEIR_FAULTS
/* Is called when it is decided what of a segment is needed no more, before it goes; for tests. */
void weir__store_when_decided(void (*fn)(struct weir__store *store));
#endif
/* Has the thread that writes look whether a full disk has room again, and keep some. */
void weir__store_look_for_room(struct weir__store *store, const struct weir_deadline *deadline);
/* Bytes of the segment that compaction would free. */
uint64_t weir__store_dead(const struct weir__store *store, const struct weir__segment_facts *facts);
/* Whether these are so many of a hundred; 0: any. */
bool weir__store_is_due(const struct weir__store *store, const struct weir__segment_facts *facts,
                        uint32_t percent);
/* --- ripe.c --- */
/* What the records have left dead is noted of its segments, or not any more: the index knows it. */
void weir__store_doom(struct weir__store *store, const struct weir__tail *tail, size_t from);
void weir__store_undoom(struct weir__store *store, const struct weir__tail *tail);
/* Whether a segment would be due if the index had the newest one. */
bool weir__store_is_ripe(struct weir__store *store, uint32_t percent);

int weir__store_scrub_main(struct weir_crew_self *self, void *arg);

#endif
