/* store_check.h - what people do to a store that no service has open: look at every byte of it,
 * count what it holds, and compact it.
 *
 * A check scans each segment from its first byte to its last, and looks up every record that it
 * finds: what the footer lists must be there, what counts must be what the index says, and what the
 * index says must have been found. It reads only, and trusts neither footers nor the index.
 *
 * Limits: memory is that of one segment's records twice, however large the store is. Segments are
 * looked at one after the other; between two of them it can be ended.
 *
 * Ownership: everything stays the caller's; texts are literals.
 */
#ifndef WEIR_STORE_STORE_CHECK_H
#define WEIR_STORE_STORE_CHECK_H

#include "store.h"

/* One thing that is not as it should be. */
struct weir__check_damage {
    const struct weir__address *address; /* NULL: of no chunk in particular */
    uint32_t segment;
    uint64_t offset;
    uint64_t size;      /* bytes; 0: not known */
    bool counts;        /* false: nobody would have read it any more */
    bool is_unreadable; /* the disk did not give it */
    const char *what;
};

struct weir__check_hooks {
    void (*damage)(void *arg, const struct weir__check_damage *damage);
    /* Bytes of segments; before each one and at the end. What it returns that is not 0 ends the
     * check with that. */
    int (*progress)(void *arg, uint64_t done, uint64_t total);
    void *arg;
};

struct weir__check_report {
    uint64_t segments, sealed; /* that are of this store */
    uint64_t file_bytes;       /* of their files */
    uint64_t records;
    uint64_t chunks, chunk_bytes; /* that count; chunk_bytes is of their content */
    uint64_t deletions;           /* that count, marks of bad chunks included */
    uint64_t dead_bytes;          /* of records that count no more */
    uint64_t torn_bytes;          /* behind the last record, by a crash: nobody was told of them */
    uint64_t damaged;             /* of what counts, and of what nobody knows what it was */
    uint64_t damaged_dead;        /* of what counts no more */
    uint64_t index_wrong;         /* records that the index does not know, or that are not there */
    uint64_t unreadable;          /* segments, or parts of them */
    uint64_t put_aside;           /* files *.seg.bad of earlier days */
};

/* Of a store that was opened for reading and offline; was_clean as its opening has reported.
 * 0: it came to its end, whatever it found. NoMemory, what progress() said, or why the folder
 * cannot be listed. */
WEIR_MUST_USE int weir__store_check(struct weir__store *store, bool was_clean,
                                    const struct weir__check_hooks *hooks,
                                    struct weir__check_report *ret_report);

/* What a store holds, by its index and its newest segment. Nobody writes to it meanwhile. */
struct weir__census {
    uint64_t chunks, chunk_bytes;
    uint64_t deletions;  /* that count, marks of bad chunks included */
    uint64_t dead_bytes; /* that compaction would free */
    uint32_t length_min, length_max;
    uint32_t time_min_s, time_max_s;
    uint64_t file_bytes;  /* of its segments */
    uint64_t quarantined; /* files there */
    int64_t scrub_ended_s;
};
WEIR_MUST_USE int weir__store_census(struct weir__store *store, struct weir__census *ret_census);

struct weir__compacted {
    uint64_t segments;
    uint64_t left;                      /* that could not be compacted, each of which was told */
    uint64_t damaged;                   /* chunks and segments that were found so, and told */
    uint64_t bytes_before, bytes_after; /* of the files of segments */
};
/* Seals the newest segment, and compacts all of which percent or more is dead (0: any dead byte).
 * progress() is told of the segments that are compacted, and of those that there were at first. A
 * store that is open for writing, and offline. */
WEIR_MUST_USE int weir__store_compact_all(struct weir__store *store, uint32_t percent,
                                          const struct weir__check_hooks *hooks,
                                          const struct weir_deadline *deadline,
                                          struct weir__compacted *ret_compacted);

#endif
