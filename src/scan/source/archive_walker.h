/* archive_walker.h - the walker's inside, for its tests.
 *
 * Ownership: as in archive.h.
 */
#ifndef WEIR_SCAN_SOURCE_ARCHIVE_WALKER_H
#define WEIR_SCAN_SOURCE_ARCHIVE_WALKER_H

#include "archive_confine.h"
#include "archive_process.h"

struct weir__archive_walker {
    struct weir__archive_options options;
    struct weir__archive_process process;
    uint32_t walks_count;
    uint64_t restarts_count;           /* of all walks */
    int died_of;                       /* the last child that did */
    int spill;                         /* a file to spill to, or -1 */
    bool is_passed_on;                 /* among threads that all outlive its walks */
    struct weir__archive_walker *next; /* of those that are put aside */
    bool has_no_seccomp;               /* for tests */
    unsigned kills_left; /* for tests: of children that are to go on behind a member */
};

/* Has the child do what it must not: the signal that it died of, 0 when it was only refused, -1
 * when it was let through. */
int weir__archive_walker_try(struct weir__archive_walker *walker, enum weir__archive_trial what,
                             int fd, const struct weir_deadline *deadline);

#endif
