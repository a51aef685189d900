/* spill.h - files for objects that memory is too little for.
 *
 * Zeros are not written: a file of nothing else takes no room, and holes are stepped over by
 * whoever scans it.
 *
 * Ownership: a file belongs to whoever opened it.
 */
#ifndef WEIR_SCAN_GIT_SPILL_H
#define WEIR_SCAN_GIT_SPILL_H

#include <weir/defs.h>

struct weir__git_spill {
    /* A new file that nobody else sees: its descriptor, which whoever asked closes; or an error,
     * which is then that of the objects concerned. */
    int (*open)(void *arg);
    void *arg;
    uint64_t bytes_max; /* of all files at once */
};

/* All of the bytes at that place of a new file; an error, and errno. */
WEIR_MUST_USE int weir__git_spill_write(int file, const void *bytes, size_t length, uint64_t at);
/* It has so many bytes, and all were written. */
WEIR_MUST_USE int weir__git_spill_end(int file, uint64_t length);

/* What errno says of either. */
const char *weir__git_spill_why(void);
/* Of a file that could not be opened. */
extern const char weir__git_spill_unopened[];

#endif
