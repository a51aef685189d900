/* index.h - where each address is: what counts of all records of sealed segments.
 *
 * There are two of them: one in a folder, by LMDB, that is never synced and can always be made anew
 * from the segments, and one in memory, for a store that leaves no trace.
 *
 * For each address the newest record counts (weir__entry_is_newer); all others are dead, and are
 * known with their places, so that a record of a deletion can go when nothing older is left that it
 * would have to hide.
 *
 * Promises
 * - Applying the records of a segment is all or nothing, and doing it twice changes nothing.
 *   Segments may be applied in any order with the same result, but for the times of chunks that
 *   were touched in a segment that is applied before theirs.
 * - Looking up never waits for who applies.
 * - A file that was damaged can make a lookup fail (Io) or tell nonsense, but a hit says which
 *   record it means, and whoever follows it checks the head of that record.
 *
 * Any number of threads look up; one applies, and one drops.
 *
 * Ownership: the index belongs to whoever opened it; entries are copied.
 */
#ifndef WEIR_STORE_INDEX_H
#define WEIR_STORE_INDEX_H

#include "record.h"

struct weir__index;

/* What is known of an applied segment. */
struct weir__segment_facts {
    uint32_t id;
    uint32_t size;         /* bytes of the file that are records; 0 is none that exists */
    uint32_t records;      /* of chunks, deletions, touches and bad ones */
    uint32_t is_sealed;    /* it has its footer */
    uint64_t bytes;        /* of these records, with heads and padding */
    uint64_t dead;         /* of these: no longer wanted */
    uint64_t sequence_max; /* of these */
};

/* The index in the folder of that path, which is made if it is not there. Corrupt: what is there is
 * no index, or another version's, or another store's: remove it and try again. Denied, NoSpace, Io,
 * NoMemory. */
WEIR_MUST_USE int weir__index_open(struct weir__index **ret_index, const char *folder,
                                   const unsigned char store_id[16], bool is_read_only);
/* One in memory, for at most so many addresses: Overflow beyond. */
WEIR_MUST_USE int weir__index_new(struct weir__index **ret_index, size_t count_max);
/* Accepts NULL. */
void weir__index_free(struct weir__index *index);
/* Removes the files of an index. */
WEIR_MUST_USE int weir__index_remove(int folder, const char *name);

/* NotFound. An entry may be one of a deletion. Busy: too many look at once. */
WEIR_MUST_USE int weir__index_get(struct weir__index *index, const struct weir__address *address,
                                  struct weir__entry *ret_entry);

/* All records of a segment, in their order. facts: id, size, is_sealed; the rest is counted here.
 * changed() is told, after all is done, of every segment whose dead bytes grew, this one
 * included. */
WEIR_MUST_USE int weir__index_apply(struct weir__index *index,
                                    const struct weir__segment_facts *facts,
                                    const struct weir__entry *records, size_t count,
                                    void (*changed)(void *arg, const struct weir__segment_facts *),
                                    void *arg);
/* Forgets a segment, whose records are these. What still counts of it, counts no more. */
WEIR_MUST_USE int weir__index_drop(struct weir__index *index, uint32_t segment,
                                   const struct weir__entry *records, size_t count);

/* Whether a dead record of this address lies in another segment than this one. */
WEIR_MUST_USE int weir__index_has_older(struct weir__index *index,
                                        const struct weir__address *address, uint32_t segment,
                                        bool *ret_has);

/* Places of dead records of this address, those of chunks among them; at most so many. The index in
 * memory knows none. */
WEIR_MUST_USE int weir__index_dead(struct weir__index *index, const struct weir__address *address,
                                   struct weir__place *places, size_t room, size_t *ret_count);

/* All segments that were applied, by their ids. What fn returns that is not 0 ends it. */
WEIR_MUST_USE int weir__index_segments(struct weir__index *index,
                                       int (*fn)(void *arg, const struct weir__segment_facts *),
                                       void *arg);
/* All addresses from the given one on (NULL: the first), in their order, those of deletions
 * included. */
WEIR_MUST_USE int weir__index_walk(struct weir__index *index, const struct weir__address *from,
                                   int (*fn)(void *arg, const struct weir__entry *entry),
                                   void *arg);

/* To the disk, as far as there is one. */
WEIR_MUST_USE int weir__index_sync(struct weir__index *index);

struct weir__index_stats {
    uint64_t entries; /* addresses, those of deletions included */
    uint64_t dead;    /* records */
    uint64_t bytes;   /* of the file, or of memory */
};
WEIR_MUST_USE int weir__index_read(struct weir__index *index, struct weir__index_stats *ret_stats);

#endif
