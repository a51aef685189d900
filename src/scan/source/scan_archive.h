/* scan_archive.h - what archives need of a run and of its threads.
 *
 * Ownership: a run owns its archives' limits; a descriptor that is opened here is the caller's.
 */
#ifndef WEIR_SCAN_SOURCE_SCAN_ARCHIVE_H
#define WEIR_SCAN_SOURCE_SCAN_ARCHIVE_H

#include <weir/pool.h>
#include <weir/slots.h>

#include "scan.h"

/* A member of at most so many bytes may be handed to another thread. */
#define WEIR__SCAN_HANDED_BYTES (256u << 10)
/* So many of one archive are in work at once; that which is walked is one of them. */
#define WEIR__SCAN_MEMBERS_MAX 64u

struct weir__scan_archives {
    struct weir_pool pool;   /* memory of decoders and of members in work; leave to spill */
    struct weir_slots slots; /* of disks, for archives that are mapped */
    uint64_t bytes;          /* of the pool, for one archive */
    uint64_t bytes_most;     /* for one whose decoder needs more than others */
    uint64_t members_max;    /* in work at once, of one archive */
    bool has_pool, has_slots;
    char why[WEIR__SCAN_WHY_MAX];       /* none is opened; "": they are */
    struct weir__scan_held held;        /* under the lock of the run */
    uint64_t refused;                   /* likewise */
    bool is_child_kept;                 /* there is memory for a decoder of each thread */
    struct weir__archive_walker *aside; /* a list; under the lock of the run */
};

/* --- scan_spill.c --- */
/* A file without a name, in TMPDIR, else in /var/tmp or /tmp; or an error, and errno. */
WEIR_MUST_USE int weir__scan_spill_open(void);

#endif
