/* segments.h - the segments of a store: which there are, and those that are open.
 *
 * A pin keeps a segment's descriptor open and its bytes readable, also after the segment was
 * removed: compaction takes its name away, and the last who reads it its bytes.
 *
 * Limits: open_max descriptors, those that are pinned included; the one that was let go of longest
 * ago is closed. Where all are pinned and one more is wanted, it gets one if its number is below
 * fd_max, since descriptors are given from the lowest on and those above are for others;
 * NoDescriptors otherwise. Who finds that the process has none left closes others that nobody
 * reads. Some 150 bytes for each segment.
 *
 * The lock is held for a search and a count, never while a file is opened or closed.
 *
 * Ownership: a segment belongs to the list, and to whoever pins it as well.
 */
#ifndef WEIR_STORE_SEGMENTS_H
#define WEIR_STORE_SEGMENTS_H

#include <weir/lock.h>

#include "index.h"

#define WEIR__SEGMENT_NAME   16u                  /* of the file, with NUL */
#define WEIR__SEGMENT_ID_MAX UINT32_C(0x7fffffff) /* files with greater ones are not ours */

/* Which file it is. A number that is used again comes with another time of birth. */
struct weir__segment_file {
    uint64_t device, inode; /* 0: nobody knows */
    int64_t born_s;         /* 0: nobody knows */
    uint32_t born_ns;
};

/* What the index does not know yet. */
struct weir__segment_growth {
    uint64_t bytes;  /* of its records, while it knows none of them */
    uint64_t doomed; /* bytes of chunks in it that are dead by records in a tail */
};

struct weir__segment {
    int fd; /* readable while it is pinned */
    uint32_t id;
    uint32_t _pins;
    bool _is_kept;    /* has no name by which it could be opened again */
    bool _is_removed; /* from the list */
    bool _is_lost;    /* its file is gone, by somebody else's hand */
    bool _is_left;    /* it cannot be compacted */
    struct weir__segment_file _file;
    struct weir__segment_facts _facts;
    struct weir__segment_growth _growth;
    struct weir__segment *_older, *_newer; /* of those that are open and not pinned */
};

struct weir__segments_limits {
    size_t open_max;
    uint64_t fd_max;
};

struct weir__segments {
    int _folder;
    bool _has_numbers; /* by which a file is known again */
    struct weir__segments_limits _limits;
    struct weir_lock _lock;       /* guards what follows */
    struct weir__segment **_list; /* by id */
    size_t _count, _room;
    size_t _open; /* that have a descriptor and could be opened again */
    struct weir__segment *_oldest, *_newest;
    uint64_t _opened;
};

void weir__segments_init(struct weir__segments *segments, int folder,
                         const struct weir__segments_limits *limits);
/* Asserts that none is pinned. */
void weir__segments_fini(struct weir__segments *segments);

void weir__segment_name(uint32_t id, char name[WEIR__SEGMENT_NAME]);
/* The id that a name stands for; 0: none. */
uint32_t weir__segment_id(const char *name);

/* Adds one, by rising ids or not. fd: open already, and the list's from now on; -1: not yet.
 * is_kept: it cannot be opened by its name. Exists, NoMemory. */
WEIR_MUST_USE int weir__segments_add(struct weir__segments *segments,
                                     const struct weir__segment_facts *facts, int fd, bool is_kept);
/* NotFound, also for another file of its name; NoDescriptors; or what opening its file failed with.
 */
WEIR_MUST_USE int weir__segments_pin(struct weir__segments *segments, uint32_t id,
                                     struct weir__segment **ret_segment);
/* The same, but only if it is open: Busy otherwise. Makes no system call. */
WEIR_MUST_USE int weir__segments_pin_open(struct weir__segments *segments, uint32_t id,
                                          struct weir__segment **ret_segment);
void weir__segments_unpin(struct weir__segments *segments, struct weir__segment *segment);
/* Takes it off the list. NotFound. */
WEIR_MUST_USE int weir__segments_remove(struct weir__segments *segments, uint32_t id);

/* Whether its name leads to the file that it had when it was added. What cannot be looked at says
 * nothing: true. */
bool weir__segments_has_file(struct weir__segments *segments, uint32_t id);
/* Somebody else has removed its file. False: that is known already, or it is not on the list. */
bool weir__segments_lose(struct weir__segments *segments, uint32_t id);

/* What became of one; an id that is not there is left alone, and so is one of which something later
 * is known already. */
void weir__segments_update(struct weir__segments *segments,
                           const struct weir__segment_facts *facts);
/* So many more bytes of records that the index does not know; until it knows them. */
void weir__segments_grow(struct weir__segments *segments, uint32_t id, uint64_t bytes);
/* So many more bytes, or fewer, are dead by records that it does not know. */
void weir__segments_doom(struct weir__segments *segments, uint32_t id, int64_t bytes);
/* All zero of an id that is not there. */
struct weir__segment_growth weir__segments_growth(struct weir__segments *segments, uint32_t id);
/* Whatever is told next of any of them is what is known: another index tells it. */
void weir__segments_doubt(struct weir__segments *segments);
/* The facts of the first one whose id is above this; false: there is none. */
bool weir__segments_next(struct weir__segments *segments, uint32_t id,
                         struct weir__segment_facts *ret_facts);

/* It is not to be compacted any more. False: that is known already, or it is not on the list. */
bool weir__segments_leave(struct weir__segments *segments, uint32_t id);
/* Whether it is left, or lost. */
bool weir__segments_is_left(struct weir__segments *segments, uint32_t id);

struct weir__segments_stats {
    uint64_t count;
    uint64_t open;   /* pinned ones included */
    uint64_t opened; /* files, ever */
    uint64_t bytes;  /* of records */
    uint64_t dead;   /* of these */
    uint64_t spent;  /* of these, deletions that have nothing left to hide */
    uint64_t grown;  /* bytes of records that the index does not know yet */
    uint64_t doomed; /* of all of these: dead by such records */
};
void weir__segments_read(struct weir__segments *segments, struct weir__segments_stats *ret_stats);

#endif
