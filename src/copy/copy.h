/* copy.h - copies trees, faithfully, inside limits: the library below `weir copy`.
 *
 * A run is started, watched and finished by one thread; the work is done by the threads of its
 * crew.
 *
 *     weir__copy_start(&run, &options, &hooks)   refuses what cannot work, starts the crew
 *     weir__copy_wait(run, &deadline)            0: all is done; Timeout: not yet
 *     weir__copy_read(run, &stats)               how far it is, at any time
 *     weir__copy_stop(run)                       admit nothing more, finish what is in flight
 *     weir__copy_finish(run, &stats)             joins everybody, frees the run
 *
 * Promises
 * - Never more than the limits say is in flight; what has been found and is not yet admitted is
 *   bounded too, and so is every table.
 * - Nothing half-made is ever visible under a final name (unless in_place).
 * - An error of one item is told, counted, and does not stop the others (unless fail_fast).
 *
 * Ownership: options, their strings and the hooks are borrowed until weir__copy_finish().
 */
#ifndef WEIR_COPY_COPY_H
#define WEIR_COPY_COPY_H

#include <sys/stat.h>
#include <sys/types.h>

#include <weir/deadline.h>
#include <weir/error.h>

#include "event.h"

struct weir__filter;
struct weir__chmod;

#define WEIR__COPY_FILES_DEFAULT    1024u
#define WEIR__COPY_FILES_ROTATIONAL 128u
#define WEIR__COPY_FILES_MAX        65536u
#define WEIR__COPY_BYTES_DEFAULT    (UINT64_C(1) << 30)
#define WEIR__COPY_DIRS_DEFAULT     64u
#define WEIR__COPY_LARGE_DEFAULT    8u
#define WEIR__COPY_LARGE_SIZE       (UINT64_C(64) << 20) /* from here on a file is large */
#define WEIR__COPY_TABLE_BYTES      (UINT64_C(16) << 20) /* of a table; more spills */

enum weir__reflink { WEIR__REFLINK_AUTO, WEIR__REFLINK_ALWAYS, WEIR__REFLINK_NEVER };
enum weir__sparse { WEIR__SPARSE_KEEP, WEIR__SPARSE_MAKE, WEIR__SPARSE_NEVER };
enum weir__fsync { WEIR__FSYNC_NEVER, WEIR__FSYNC_END, WEIR__FSYNC_FILE };
enum weir__delete { WEIR__DELETE_NEVER, WEIR__DELETE_AFTER, WEIR__DELETE_BEFORE };
/* How data may be moved; AUTO measures. The others are for tests and for those who know. */
enum weir__data_path {
    WEIR__DATA_AUTO,
    WEIR__DATA_RANGE, /* copy_file_range */
    WEIR__DATA_RING,  /* io_uring with registered buffers */
    WEIR__DATA_PLAIN  /* read and write */
};

struct weir__copy_options {
    const char *const *sources; /* as given; a trailing slash means the contents */
    size_t sources_count;
    const char *destination;

    /* what is kept; the parts of -a are true by default */
    bool recursive, links, perms, times, owner, group, devices, specials;
    bool hard_links, acls, xattrs, atimes;
    bool omit_dir_times, omit_link_times;
    const struct weir__chmod *chmod; /* or NULL */
    bool has_uid, has_gid;           /* --chown */
    uid_t uid;
    gid_t gid;
    enum weir__sparse sparse;

    /* what is copied */
    const struct weir__filter *filter; /* or NULL */
    bool gitignore;                    /* honour .gitignore files of the source */
    bool one_file_system;
    uint64_t size_max, size_min; /* size_max: UINT64_MAX for none */
    const char *files_from;      /* a file of names, "-" for standard input, or NULL */
    bool from0;                  /* names in files_from end with NUL */

    /* when a file that exists is brought up to date */
    bool checksum, size_only, ignore_times, update, ignore_existing, existing;
    uint64_t modify_window_ns;

    /* what is not in the source */
    enum weir__delete delete_when;
    bool delete_excluded;
    bool delete_despite_errors;
    uint64_t delete_max; /* UINT64_MAX for no limit */

    /* how */
    enum weir__reflink reflink;
    enum weir__data_path data_path;
    enum weir__fsync fsync;
    bool in_place, keep_dst_links, partial, verify, dry_run, fail_fast;

    /* limits */
    uint64_t files_max; /* in flight; 0: the default for the disk */
    uint64_t bytes_max, dirs_max, large_max;
    uint64_t rate_per_s; /* 0: no limit */
    uint64_t table_bytes;
    unsigned threads; /* 0: by the machine */
    bool count;       /* find out beside the copy how much there is, for a progress line */
};

/* What the run tells; called by any of its threads, several at once, and also before
 * weir__copy_start() has returned. May wait, but not for the run. */
struct weir__copy_hooks {
    void (*event)(void *arg, const struct weir__copy_event *event);
    void *arg;
    unsigned wanted; /* 1u << kind of every event that is wanted; errors and notes always come */
};

struct weir__copy_stats {
    uint64_t files, dirs, symlinks, devices, specials, hard_links;         /* seen in the source */
    uint64_t created, updated, unchanged, metadata_only, skipped, deleted; /* what became of them */
    uint64_t bytes_total;   /* sizes of the regular files seen */
    uint64_t bytes_done;    /* of those, how much is settled: copied or found up to date */
    uint64_t bytes_written; /* moved by us, holes and reflinks not counted */
    uint64_t bytes_reflinked;
    uint64_t bytes_range, bytes_ring, bytes_plain; /* moved by each way */
    uint64_t errors;
    uint64_t in_flight, in_flight_max; /* now, and the most ever */
    uint64_t files_limit;              /* what the budget allows now */
    uint64_t limit_cuts;               /* times the limit was reduced */
    uint64_t changed_retries;          /* sources that changed while they were read */
    uint64_t spilled_bytes;
    uint64_t leftovers_removed;
    uint64_t items_total; /* entries of the source, once they have been counted; else 0 */
    bool is_discovered;   /* bytes_total is final */
    bool delete_limited;  /* --max-delete kept some */
    bool delete_held;     /* nothing deleted because the source had errors */
};

struct weir__copy;

WEIR_MUST_USE int weir__copy_start(struct weir__copy **ret_run,
                                   const struct weir__copy_options *options,
                                   const struct weir__copy_hooks *hooks);
WEIR_MUST_USE int weir__copy_wait(struct weir__copy *run, const struct weir_deadline *deadline);
void weir__copy_stop(struct weir__copy *run);
void weir__copy_read(struct weir__copy *run, struct weir__copy_stats *ret_stats);
/* 0, -WEIR_E_INCOMPLETE when something failed, -WEIR_E_CANCELED when it was stopped. */
int weir__copy_finish(struct weir__copy *run, struct weir__copy_stats *ret_stats);

/* All defaults. */
void weir__copy_options_init(struct weir__copy_options *options);

#endif
