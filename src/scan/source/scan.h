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
 *   for a path itself that is a pipe or a device. Both are counted; a socket that is a path, and
 *   any special file of a list, is told instead, since somebody named it.
 * - A file or directory that is named by several paths, or lies in a directory that is named too,
 * is scanned once. Names in a list are scanned as often as they are listed.
 * - Whatever could not be read, or not completely, is told and counted, and does not stop the rest.
 * - Memory does not grow with the tree: directories are read a window at a time, depth first, and
 *   each thread keeps at most WEIR__SCAN_NAMES_BYTES of names that it has still to enter (and one
 *   more for each level). What one thread has found is shared with others only when they are idle.
 * - At most reads_max files are being read at once, and their buffers take at most bytes_max; both
 *   are lowered to what the limit of open files allows.
 *
 * Archives (archive.h) are opened, whatever their name is: each member is scanned as a file would
 * be, under the path of the archive, '!' and its own. What of them could not be read is told. One
 * that comes as a stream is kept in a temporary file first, if that is allowed. An archive that is
 * not opened is told, counted in archives_unopened, and scanned as plain bytes. How archives are
 * admitted: scan_archive.c.
 *
 * Ownership: options, their strings, the engine and the hooks are borrowed until
 * weir__scan_finish().
 */
#ifndef WEIR_SCAN_SOURCE_SCAN_H
#define WEIR_SCAN_SOURCE_SCAN_H

#include <weir/deadline.h>
#include <weir/sched.h>

#include "archive.h"
#include "buffer.h"
#include "engine/engine.h"

#define WEIR__SCAN_READS_DEFAULT 256u
#define WEIR__SCAN_READS_MAX     65536u
#define WEIR__SCAN_THREADS_MAX   256u
#define WEIR__SCAN_BYTES_DEFAULT (UINT64_C(256) << 20)
#define WEIR__SCAN_READ_SIZE     (256u << 10) /* of one read, and of a thread's buffer */
#define WEIR__SCAN_NAMES_BYTES   (1u << 20)
#define WEIR__SCAN_DEPTH_MAX     65536u /* of directories */
#define WEIR__SCAN_PATH_MAX      (1u << 20)
#define WEIR__SCAN_IGNORES_BYTES (16u << 20) /* of rules of .gitignore files in use */

#define WEIR__SCAN_SPILLS_MAX    4096u
#define WEIR__SCAN_MEMBERS_BYTES                                                                   \
    (UINT64_C(4) << 20) /* of one archive's members in work at once                                \
                         */

#define WEIR__SCAN_WHY_MAX 320u

/* Something that is being fetched. */
struct weir__scan_fetch {
    int fd;           /* a pipe, to be read to its end; the fetcher closes it */
    const char *what; /* what went wrong, as in a gap */
    char why[WEIR__SCAN_WHY_MAX];
    bool is_partial;
    void *state; /* the fetcher's */
};

/* Brings the bytes of paths that are no files: what is behind a URL. Called by the threads that
 * scan, several at once. */
struct weir__scan_fetcher {
    bool (*is_mine)(void *arg, const char *path);
    /* Appends the path as it is shown: passwords are not. */
    int (*show)(void *arg, const char *path, struct weir__buffer *name);
    /* Begins. 0 when bytes are to come; a negative error, and what went wrong, when there are none.
     * Ends soon after stop has fired. */
    int (*open)(void *arg, const char *path, struct weir_cancel *stop,
                struct weir__scan_fetch *fetch);
    /* Once for every open that was 0. was_read: to its end. 0 when what was read is all of it, and
     * nothing else; otherwise a negative error, and what went wrong. */
    int (*close)(void *arg, struct weir__scan_fetch *fetch, bool was_read);
    void *arg;
};

/* What is done about repositories that are met. */
enum weir__scan_history {
    WEIR__SCAN_NO_HISTORY,    /* their objects are files like others */
    WEIR__SCAN_HISTORY_GIVEN, /* as ALSO for paths that are one themselves, else as NO */
    WEIR__SCAN_HISTORY_ALSO,  /* the objects are scanned as git has them, all else as files */
    WEIR__SCAN_HISTORY_ONLY,  /* and nothing else is */
};

/* What of a history is scanned: git/wanted.h. */
struct weir__scan_narrow {
    bool is_narrow; /* else all objects are */
    const char *const *refs, *const *ranges;
    size_t refs_count, ranges_count;
    int64_t since; /* INT64_MIN: ever */
};

struct weir__scan_options {
    const struct weir__engine *engine;
    const struct weir__scan_fetcher *fetcher; /* or NULL: every path is one of a file */
    const char *const *paths;                 /* "-": standard input */
    size_t paths_count;
    const char *files_from;  /* a file of names, "-" for standard input, or NULL */
    bool from0;              /* names in files_from end with NUL */
    bool staged;             /* what git is about to commit; not together with paths and lists */
    uint64_t git_silence_ns; /* a git that says nothing for so long is given up; 0: 30 s */
    unsigned threads;        /* 0: one for each core */
    uint64_t reads_max;      /* 0: WEIR__SCAN_READS_DEFAULT */
    uint64_t bytes_max;      /* 0: WEIR__SCAN_BYTES_DEFAULT; at least WEIR__SCAN_READ_SIZE */
    unsigned decode_depth;
    bool show_secrets; /* in names */
    bool one_file_system;
    bool respect_gitignore;  /* leave out what .gitignore files name, and .git */
    bool has_totals;         /* find out how much there is to do, where that is cheap */
    uint64_t file_bytes_max; /* larger files are told and not read; 0: none are too large */
    struct weir__archive_options archives; /* of depth 0: they are not opened */
    uint64_t archives_bytes; /* memory of all decoders and members; 0: what each thread may need */
    uint64_t archives_least; /* the limit of memory that would do for one, to be told; 0: none */
    enum weir__scan_history history;
    const char *repos_from;        /* a file of names of repositories, as files_from; or NULL */
    const char *const *find_repos; /* folders in which repositories are looked for */
    size_t find_repos_count;
    bool counts_left; /* repositories below paths whose histories nobody has asked for, nor refused
                       */
    bool has_modules; /* submodules are scanned, too */
    struct weir__scan_narrow narrow;
    bool has_state; /* what was scanned of histories before is remembered */
    bool is_full; /* texts of histories are scanned without regard to what they were made from, and
                     to what is remembered */
    /* Of all repositories together, and the ring and the slots once more of all archives; 0: as
     * weir/pool.h has it, but for the ring of archives, which is then archives_bytes, and for
     * deltas with a limit of histories, all of which is then theirs. */
    uint64_t ring_bytes, delta_bytes, spill_slots;
    bool has_no_spill;                     /* nobody may use temporary files */
    const struct weir_slots_config *slots; /* of disks, for either; or NULL */
    unsigned repos_max;                    /* that are scanned at once; 0: one more than threads */
    /* Memory of all that histories take; 0: no limit but those of the parts. For so many bytes of
     * it a user has to allow memory_besides and twice as many. */
    uint64_t history_bytes, history_besides;
};

/* Why something was not scanned. */
struct weir__scan_gap {
    const char *path; /* as it may be shown */
    const char *what; /* "cannot open" */
    const char *why;  /* "permission denied" */
    bool is_partial;  /* the rest of it was scanned */
};

/* Called by any of the threads, several at once, and by who waits for the run. The places of a
 * finding are in the file at path.
 */
struct weir__scan_hooks {
    void (*finding)(void *arg, const char *path, const struct weir__finding *finding);
    void (*gap)(void *arg, const struct weir__scan_gap *gap);
    void (*warning)(void *arg, const char *text); /* nothing is left out for it; or NULL */
    void *arg;
};

struct weir__scan_stats {
    uint64_t files, dirs, bytes;               /* scanned; bytes of holes are counted */
    uint64_t special, symlinks, allowed_paths; /* left out */
    uint64_t ignored, submodules;              /* left out, for git's sake */
    uint64_t failed, partial;                  /* gaps of either kind */
    uint64_t archives, members, archives_unopened;
    uint64_t repos, objects; /* histories, and what was scanned in them: blobs, messages */
    uint64_t shallow;        /* histories that end where their clone was cut */
    uint64_t histories_left; /* of repositories that were met as files; see counts_left */
    uint64_t remembered;     /* histories of which something was scanned before, and not again */
    uint64_t unremembered;   /* histories of which some will be scanned again */
    uint64_t findings, allowed, rejected; /* of the engine */
    uint64_t decoded_bytes;
    uint64_t in_flight;                /* files being read now */
    uint64_t files_total, bytes_total; /* what there is to do; 0: not known */
    uint64_t reads_limit;
    unsigned threads;
    bool is_stopped;
    /* Of the threads, those that did not end: engine and rules have to stay. */
    uint64_t abandoned;
};

#define WEIR__SCAN_DEVICES_MAX 32u

/* What memory that was too little has cost. */
struct weir__scan_cost {
    uint64_t rebuilt, rebuilt_bytes; /* objects that were built again, since they were let go */
    uint64_t spilled, spilled_bytes; /* objects that were written to temporary files */
    uint64_t one_plan;               /* repositories that had one pack in work at a time */
};

/* A disk, and its slots: held at once at most, waited for, refused. */
struct weir__scan_device {
    struct weir_device device;
    uint64_t total, most, waited, refused;
};

/* What jobs of one kind, archives or repositories, hold of their limits. */
struct weir__scan_held {
    uint64_t all, now, most; /* jobs: that were admitted, are at work, were at once */
    uint64_t ring_most, delta_most, spills_most;
    struct weir__scan_device devices[WEIR__SCAN_DEVICES_MAX]; /* the first that were used */
    size_t devices_count;
};

/* And what they waited for. */
struct weir__scan_side {
    bool is_there; /* else there are no such jobs */
    struct weir__scan_held held;
    struct weir_pool_stats pool;
    struct weir_slots_stats slots;
};

struct weir__scan_limits {
    struct weir_budget_stats reads, bytes; /* of files */
    struct weir__scan_side archives, repos;
    bool has_no_spill;
    char archives_why[WEIR__SCAN_WHY_MAX];    /* none is opened, if so; else "" */
    uint64_t archives_refused, repos_refused; /* that could never have been admitted, or in line */
    uint32_t leaders;                         /* of repositories */
    uint64_t small;                           /* repositories that did not wait for large ones */
    uint64_t waiting;                         /* of the others, now, so that they do not have to */
    uint64_t waited, waited_most;             /* in all, at once */
    uint64_t large; /* repositories with objects that are too large for a shard, and came last */
    uint64_t large_jobs; /* that are in the line once more for these */
    uint64_t large_most; /* that waited at once before they could be in that */
    uint64_t plans_most; /* packs of repositories that were in work at once */
    struct weir__scan_cost cost;
    struct weir_sched_stats sched;
};

struct weir__scan;
struct weir_metrics;

/* All defaults, and no paths. */
void weir__scan_options_init(struct weir__scan_options *options);

/* Whether one of the paths is a repository, or pretends to be one. */
bool weir__scan_has_repo(const struct weir__scan_options *options);

/* NoMemory, Invalid (a limit that is too small), or what starting threads failed with. */
WEIR_MUST_USE int weir__scan_start(struct weir__scan **ret_run,
                                   const struct weir__scan_options *options,
                                   const struct weir__scan_hooks *hooks);
/* Timeout, Canceled, or 0 at the end of the run. While somebody waits here, what is certain in a
 * stream that pauses is told within a third of a second, by this thread. */
WEIR_MUST_USE int weir__scan_wait(struct weir__scan *run, const struct weir_deadline *deadline);
void weir__scan_stop(struct weir__scan *run);
void weir__scan_read(struct weir__scan *run, struct weir__scan_stats *ret_stats);
void weir__scan_read_limits(struct weir__scan *run, struct weir__scan_limits *ret_limits);
/* The limits of the run to a registry, and away from it: before the run is finished, and after any
 * error. What adding to a registry fails with. */
WEIR_MUST_USE int weir__scan_metrics_add(struct weir__scan *run, struct weir_metrics *metrics);
void weir__scan_metrics_remove(struct weir__scan *run, struct weir_metrics *metrics);
/* 0, Incomplete when something failed or was scanned in part, Canceled when it was stopped. */
int weir__scan_finish(struct weir__scan *run, struct weir__scan_stats *ret_stats);

#endif
