/* scan.h - scans files, trees, lists of names and standard input, by many threads, inside limits.
 *
 *     weir__scan_start(&run, &options, &hooks)     threads are at work when it returns
 *     weir__scan_wait(run, &deadline)              Timeout: look at weir__scan_read(), wait again
 *     weir__scan_stop(run)                         at most one read of each thread is finished
 *     weir__scan_finish(run, &stats)               always, also after a stop
 *
 * Promises
 * - Every regular file is read once, from its beginning to the end that it had when it was opened;
 *   holes of a sparse file are known to be zeros and not read. What is written to it meanwhile
 *   may or may not be seen.
 * - Symlinks are not followed, but for those that a path itself is; special files are not read, but
 *   for a path itself that is a pipe or a device. Both are counted.
 * - Whatever could not be read, or not completely, is told and counted, and does not stop the rest.
 * - Memory does not grow with the tree: directories are read a window at a time, depth first, and
 *   each thread keeps at most WEIR__SCAN_NAMES_BYTES of names that it has still to enter (and one
 *   more for each level). What one thread has found is shared with others only when they are idle.
 * - At most reads_max files are being read at once, and their buffers take at most bytes_max; both
 *   are lowered to what the limit of open files allows.
 *
 * What is in archives is not looked at yet: a file that is one (weir__archive_probe()) is scanned
 * as plain bytes, told as not completely scanned, and counted in archives_unopened.
 *
 * Ownership: options, their strings, the engine and the hooks are borrowed until
 * weir__scan_finish().
 */
#ifndef WEIR_SCAN_SOURCE_SCAN_H
#define WEIR_SCAN_SOURCE_SCAN_H

#include <weir/deadline.h>

#include "engine/engine.h"

#define WEIR__SCAN_READS_DEFAULT 256u
#define WEIR__SCAN_READS_MAX     65536u
#define WEIR__SCAN_THREADS_MAX   256u
#define WEIR__SCAN_BYTES_DEFAULT (UINT64_C(256) << 20)
#define WEIR__SCAN_READ_SIZE     (256u << 10) /* of one read, and of a thread's buffer */
#define WEIR__SCAN_NAMES_BYTES   (1u << 20)
#define WEIR__SCAN_DEPTH_MAX     65536u /* of directories */
#define WEIR__SCAN_PATH_MAX      (1u << 20)

struct weir__scan_options {
    const struct weir__engine *engine;
    const char *const *paths; /* "-": standard input */
    size_t paths_count;
    const char *files_from; /* a file of names, "-" for standard input, or NULL */
    bool from0;             /* names in files_from end with NUL */
    unsigned threads;       /* 0: one for each core */
    uint64_t reads_max;     /* 0: WEIR__SCAN_READS_DEFAULT */
    uint64_t bytes_max;     /* 0: WEIR__SCAN_BYTES_DEFAULT; at least WEIR__SCAN_READ_SIZE */
    unsigned decode_depth;
    bool one_file_system;
    uint64_t file_bytes_max; /* larger files are told and not read; 0: none are too large */
};

/* Why something was not scanned. */
struct weir__scan_gap {
    const char *path;
    const char *what; /* "cannot open" */
    const char *why;  /* "permission denied" */
    bool is_partial;  /* the rest of it was scanned */
};

/* Called by any of the threads, several at once. The places of a finding are in the file at path.
 */
struct weir__scan_hooks {
    void (*finding)(void *arg, const char *path, const struct weir__finding *finding);
    void (*gap)(void *arg, const struct weir__scan_gap *gap);
    void *arg;
};

struct weir__scan_stats {
    uint64_t files, dirs, bytes;               /* scanned; bytes of holes are counted */
    uint64_t special, symlinks, allowed_paths; /* left out */
    uint64_t failed, partial;                  /* gaps of either kind */
    uint64_t archives_unopened;
    uint64_t findings, allowed, rejected; /* of the engine */
    uint64_t decoded_bytes;
    uint64_t in_flight; /* files being read now */
    uint64_t reads_limit;
    unsigned threads;
    bool is_stopped;
};

struct weir__scan;

/* All defaults, and no paths. */
void weir__scan_options_init(struct weir__scan_options *options);

/* NoMemory, Invalid (a limit that is too small), or what starting threads failed with. */
WEIR_MUST_USE int weir__scan_start(struct weir__scan **ret_run,
                                   const struct weir__scan_options *options,
                                   const struct weir__scan_hooks *hooks);
WEIR_MUST_USE int weir__scan_wait(struct weir__scan *run, const struct weir_deadline *deadline);
void weir__scan_stop(struct weir__scan *run);
void weir__scan_read(struct weir__scan *run, struct weir__scan_stats *ret_stats);
/* 0, Incomplete when something failed or was scanned in part, Canceled when it was stopped. */
int weir__scan_finish(struct weir__scan *run, struct weir__scan_stats *ret_stats);

#endif
