/* index.h - where each address is: what counts of all records of sealed segments.
 *
 * There are two of them: one in a folder, by LMDB, that is never synced and can always be made anew
 * from the segments, and one in memory, for a store that leaves no trace.
 *
 * For each address the newest record counts (weir__entry_is_newer), and of its touches the one that
 * makes it youngest; all others are dead, and are known with their places. A deletion, or a mark of
 * a bad chunk, that counts is spent when no dead chunk of its address lies in any segment: nothing
 * would come back without it.
 *
 * A touch counts if it is younger than the chunk, and was written behind it: a chunk that is moved
 * takes its time along. Of several the one with the latest time counts, then the last.
 *
 * Promises
 * - Applying the records of a segment is all or nothing for each address, and doing it twice
 *   changes nothing. After an error some addresses may be known as they were before; it may be done
 *   once more, and until then the segment is one that is not there. Segments may be applied in any
 * order with the same result, but for touches in a segment that is applied before that of their
 * chunk: these are dead, and the chunk is as old as it was.
 * - A deletion is never called spent while an older chunk of its address is in a segment that was
 *   applied and not dropped.
 * - Looking up never waits for who applies.
 * - Memory: the index in a folder takes less than 16 MiB to apply or drop a segment, and keeps
 * that.
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
    uint32_t is_partial;   /* not all of them are in the index yet; of the index alone */
    uint64_t bytes;        /* of these records, with heads and padding */
    uint64_t dead;         /* of these: no longer wanted */
    uint64_t spent;        /* of these: deletions that have nothing left to hide */
    uint64_t sequence_max; /* of these */
    uint64_t version;      /* rises with each change; 0: as it was opened */
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
/* A thread was left in the middle of something (mapped.h), and holds what is shared by all who
 * change it: the index must not be freed while that thread lives. */
bool weir__index_is_held(struct weir__index *index);
/* Removes the files of an index. */
WEIR_MUST_USE int weir__index_remove(int folder, const char *name);

/* NotFound. An entry may be one of a deletion. Busy: too many look at once. */
WEIR_MUST_USE int weir__index_get(struct weir__index *index, const struct weir__address *address,
                                  struct weir__entry *ret_entry);

#ifdef WEIR_FAULTS
/* At most so many records are applied or dropped at once; for tests that have few. */
void weir__index_piece(size_t records);
#endif

/* All records of a segment, in their order. facts: id, size, is_sealed; the rest is counted here.
 * changed() is told, after all is done, of every segment whose bytes count otherwise now, this one
 * included. Who is told by two threads goes by the version. */
WEIR_MUST_USE int weir__index_apply(struct weir__index *index,
                                    const struct weir__segment_facts *facts,
                                    const struct weir__entry *records, size_t count,
                                    void (*changed)(void *arg, const struct weir__segment_facts *),
                                    void *arg);
/* Forgets a segment, whose records are these. What still counts of it, counts no more. changed() is
 * told of other segments, as above. */
WEIR_MUST_USE int weir__index_drop(struct weir__index *index, uint32_t segment,
                                   const struct weir__entry *records, size_t count,
                                   void (*changed)(void *arg, const struct weir__segment_facts *),
                                   void *arg);

/* Bytes that would be dead, and are not yet, if these records of a segment that it does not know
 * were applied. Spent deletions are dead, unless all are kept. */
WEIR_MUST_USE int weir__index_preview(struct weir__index *index, const struct weir__entry *records,
                                      size_t count, bool keeps_deletions, uint64_t *ret_dead);

/* Where the touch lies that makes the chunk as young as it is. NotFound: there is none that
 * counts. */
WEIR_MUST_USE int weir__index_touch(struct weir__index *index, const struct weir__address *address,
                                    struct weir__place *ret_place);

/* Whether a dead chunk of this address lies in another segment than this one. The index in memory
 * does not tell them apart. */
WEIR_MUST_USE int weir__index_has_older(struct weir__index *index,
                                        const struct weir__address *address, uint32_t segment,
                                        bool *ret_has);

/* Places of dead chunks of this address, at most so many. The index in memory knows none. */
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

/* The part of an index that all of an address is in. */
#define WEIR__INDEX_PARTS 4096u
static inline uint32_t weir__index_part(const unsigned char address[WEIR__ADDRESS_SIZE])
{
    return (uint32_t)address[0] << 4 | address[1] >> 4;
}

/* A piece of a walk over all of it, which looks whether it has what was put into it and not taken
 * out, and whether each of it can be found. at: the part that it begins with, and then the one that
 * the next piece does: 0 begins a walk, and is 0 again after its last piece. Corrupt: it does not;
 * Io; Busy: not now. The index in memory has nothing to be looked at. */
WEIR_MUST_USE int weir__index_check(struct weir__index *index, uint32_t *at);

/* To the disk, as far as there is one, so that it may be opened again. */
WEIR_MUST_USE int weir__index_sync(struct weir__index *index);

struct weir__index_stats {
    uint64_t entries; /* addresses, those of deletions included */
    uint64_t chunks;  /* of these: that have one */
    uint64_t dead;    /* records */
    uint64_t bytes;   /* of the file, or of memory */
};
WEIR_MUST_USE int weir__index_read(struct weir__index *index, struct weir__index_stats *ret_stats);

#endif
