/* engine.h - what the files of the copy engine share; nobody else includes this.
 *
 * Who does what:
 *   run.c      operands, limits, crew, phases: check → delete → copy → delete
 *   worker.c   one thread: takes directories and files from the tree, in order of inodes
 *   enter.c    a directory: opened here, made there, finished when all in it is complete
 *   entry.c    anything but a directory: found, compared, told
 *   file.c     a regular file: opened, moved, checked, named
 *   ahead.c    the data of small ones that are not in memory, asked for many at a time
 *   large.c    the data of one that several threads may move
 *   special.c  symlinks, devices, fifos, sockets
 *   linked.c   hard links
 *   descriptor.c  open directories: at most so many, closed and opened again
 *   name.c     temporary names, and what they say about whoever made them
 *   erase.c    what is at the destination and not in the source
 *   list.c     --files-from
 *   tell.c     paths, events, errors
 *
 * Locks, outermost first: tree (100), descriptors (110), big files (115), counts (120), links (see
 * there). None is held across input, output or a wait.
 *
 * A permit is held from the admission of an entry to its end. While a thread waits for one it has
 * nothing half done: it completes the files that it had put off first. So whoever holds a permit
 * can go on, and a limit of one is enough for any tree.
 *
 * Ownership: a run owns everything here; a directory lives until it is complete.
 */
#ifndef WEIR_COPY_ENGINE_H
#define WEIR_COPY_ENGINE_H

#include <limits.h>
#include <sys/stat.h>

#include <weir/adapt.h>
#include <weir/budget.h>
#include <weir/cancel.h>
#include <weir/crew.h>
#include <weir/rate.h>

#include "buffer.h"
#include "copy.h"
#include "data.h"
#include "entries.h"
#include "filter.h"
#include "ignore.h"
#include "links.h"
#include "meta.h"
#include "tree.h"

#define WEIR__NAME_SIZE   (NAME_MAX + 1)
#define WEIR__TEMP_SIZE   64
#define WEIR__LATE_MAX    256u         /* files a thread may have put off */
#define WEIR__AHEAD_SLOTS 64u          /* files whose data a thread may have asked a ring for */
#define WEIR__AHEAD_SIZE  (16u << 10)  /* up to here */
#define WEIR__WINDOW_SIZE (128u << 10) /* of names read from a directory at once */
#define WEIR__WINDOW_MAX  (WEIR__WINDOW_SIZE / 24u)
#define WEIR__SHARE_COUNT 256u        /* names in one offer to idle threads */
#define WEIR__PATH_BYTES  (64u << 20) /* longest path that is shown */
#define WEIR__TRIES_MAX   20u         /* of an entry that met EMFILE or ENOMEM */

struct weir__worker;
struct weir__job;

/* An entry of a window, to be sorted. */
struct weir__item {
    uint64_t inode;
    const struct weir__dirent *entry;
};

enum weir__dir_kind {
    WEIR__DIR_PLAIN,   /* a directory of the source */
    WEIR__DIR_BASE,    /* the folder at the destination that all lies in; never finished */
    WEIR__DIR_MADE,    /* a folder at the destination that no source has: DST itself */
    WEIR__DIR_OPERAND, /* the folder that an operand lies in, paired with DST */
};

/* One operand. */
struct weir__source {
    const char *text;           /* as given */
    char *prefix;               /* what paths in it begin with when shown: "" or "dir/" */
    char name[WEIR__NAME_SIZE]; /* its last name; "" for contents */
    bool is_contents;           /* it ended with a slash */
    bool is_dir;
    bool is_missing; /* told already */
    int fd;          /* of contents the directory itself, else the one that it lies in */
    struct stat st;
};

struct weir__dir {
    struct weir__node node; /* first */
    const struct weir__source *source;
    struct weir__ignore *ignore;              /* of its .gitignore, owned */
    const struct weir__ignore *ignore_in_use; /* that, or one from above, or NULL */
    struct weir__dir *_newer, *_older;        /* among the open ones that nobody uses */
    int src_fd, dst_fd;                       /* -1 when closed */
    int lock_fd;                              /* of a temporary folder, kept open */
    unsigned _pins;
    enum weir__dir_kind kind;
    bool _is_listed;
    bool _is_open;
    bool has_dst;      /* it stands at the destination (not so in a dry run) */
    bool is_made;      /* by this run, or would be */
    bool is_new;       /* so, and nothing of others can be in it */
    bool is_top;       /* shown paths begin below it */
    bool is_temporary; /* stands under a temporary name until it is complete */
    bool replaces;     /* something else has the final name and must go first */
    bool is_unread;    /* could not be listed: metadata alone */
    bool is_given_up;  /* could not be entered: nothing is put back */
    bool is_continued; /* a dead run's, or in one: what the source has not goes */
    uint8_t salt;      /* of its temporary name */
    bool is_second;    /* an earlier source has it, too, and describes it */
    bool inherits_acl;
    bool is_opened_up;  /* was made writable for us */
    bool has_changed;   /* something in it was removed */
    bool has_leftovers; /* folders of dead runs that may be continued */
    bool is_settled;    /* was found with the time that it shall have */
    bool has_remains;   /* of ours: keeps another time, so that the next run looks */
    mode_t old_mode;    /* to go back to when opened up */
    struct stat st;     /* of the source, or of the earlier one that describes it */
    dev_t src_device;
    ino_t src_inode;
    uint64_t number; /* never used twice */
    dev_t dst_device;
    ino_t dst_inode;
    uint16_t name_length;
    char name[]; /* at the destination */
};

/* A large file that several threads move. */
struct weir__big {
    uint64_t next;    /* where the next piece starts */
    uint32_t helpers; /* threads at it */
    uint64_t counted; /* bytes that the progress knows of */
    bool is_failed;
    int errno_value;
    bool is_read_side;
};

/* An entry that is not a directory, from its admission to its end. */
struct weir__job {
    struct weir__link_waiter waiter; /* first */
    struct weir__dir *dir;           /* a reference is held only by jobs that outlive the call */
    struct weir_permit files, bytes, large;
    uint64_t epoch; /* of the adaptive limit, when it was admitted */
    int in, out;
    bool has_st, has_old, is_looked_up; /* old was looked for */
    bool is_first_link;                 /* others may wait for it */
    struct weir__link_key link_key;     /* then: what it was entered as */
    bool is_in_place, is_kept;          /* kept: on the heap, with a reference of its directory */
    bool is_changed_once;               /* the source changed while it was read */
    bool is_part;                       /* temp is kept when it is cut off */
    bool is_nameless;                   /* the target has no name yet */
    bool is_blank;                      /* what is written to has no data yet */
    struct stat st, old;
    struct weir__data_result moved;
    struct weir__big big;
    mode_t made_mode; /* that the target was made with */
    bool has_target;  /* something of ours stands at the destination */
    bool is_short;    /* the source ended before its size */
    unsigned changes;
    unsigned tries;
    unsigned char type;
    char temp[WEIR__TEMP_SIZE]; /* "" when the final name is written to */
    char dst_name[WEIR__NAME_SIZE];
    char name[WEIR__NAME_SIZE];
};

enum weir__phase {
    WEIR__PHASE_COUNT, /* beside the copy: how much there is, for the progress line */
    WEIR__PHASE_CHECK, /* can all of the source be listed? before --delete-before */
    WEIR__PHASE_ERASE_BEFORE,
    WEIR__PHASE_COPY,
    WEIR__PHASE_ERASE_AFTER,
    WEIR__PHASE_DONE
};

struct weir__copy {
    const struct weir__copy_options *options;
    struct weir__copy_hooks hooks;
    struct weir__meta_rules rules;
    struct weir__tree tree;
    struct weir_crew *crew;
    struct weir_cancel stop;
    struct weir_budget files, bytes, dirs, large;
    bool has_files, has_bytes, has_dirs, has_large, has_rate, has_adapt, has_tree;
    struct weir_adapt adapt;
    struct weir_rate rate;
    struct weir__data_choice *choice;
    struct weir__links *links; /* with hard_links */
    struct weir__worker **workers;
    struct weir__worker *counter; /* or NULL */
    struct weir__tree count_tree;
    struct weir_cancel count_stop;
    uint64_t counted_bytes, counted_items; /* under counts_lock, as is: */
    bool is_counted;
    unsigned threads;
    enum weir__phase phase;
    struct weir__source *sources;
    size_t pass;                             /* with overlapping sources: which one, else 0 */
    bool has_overlap;                        /* two sources may have the same path */
    const struct weir__source *described_by; /* whose metadata DST gets, or NULL */
    struct weir__dir *base;
    char *base_path;                   /* what paths at the destination begin with when shown */
    int base_fd;                       /* DST, or the folder that DST is to be in */
    char base_name[WEIR__NAME_SIZE];   /* the name of DST in base, else "" */
    char beside_name[WEIR__NAME_SIZE]; /* the name of DST where it lies */
    bool is_dst_made;                  /* DST is a new folder in base */
    bool is_dst_file;                  /* DST is the name of a file in base */
    dev_t dst_device;
    ino_t dst_inode; /* of DST or base: never copied into itself */
    uint64_t id;     /* of this run, in temporary names */
    int guard_fd;    /* DST, locked to tell others that we are here; or -1 */
    int marker_fd;   /* of a file that tells the same to those who come after us; or -1 */
    bool is_careful; /* others are or were here: under counts_lock */
    uint32_t boot;
    struct weir_lock fds_lock; /* guards the fields of directories that begin with _ */
    struct weir__dir *newest, *oldest;
    uint64_t fds_open, fds_max; /* pairs */
    struct weir_lock big_lock;
    struct weir_lock counts_lock; /* guards all that follows */
    struct weir__copy_stats counts;
    uint64_t erased;    /* claims against delete_max */
    uint64_t dirs_made; /* numbers of directories */
    bool has_source_errors;
    bool is_stopped_by_error;
};

/* Small files that wait for their data; see ahead.c. */
struct weir__ahead {
    struct weir__ring *ring; /* made when first needed */
    void *memory;
    struct weir__job *jobs[WEIR__AHEAD_SLOTS]; /* that wait, by slot */
    bool is_used[WEIR__AHEAD_SLOTS];           /* by one that waits, or whose bytes are there */
    unsigned count;                            /* of jobs that wait */
    unsigned unsent;
    unsigned trust; /* files that are taken for cold without asking */
    bool is_refused;
};

struct weir__worker {
    struct weir__copy *run;
    struct weir__tree *tree; /* that it works at: the run's, or that of the one who counts */
    enum weir__phase phase;
    struct weir_cancel *stop;
    struct weir__mover mover;
    struct weir__meta_scratch scratch;
    struct weir__copy_stats counts; /* since they were last added to the run's */
    unsigned uncounted;
    uint64_t count_at_ns; /* when they are added at the latest */
    uint64_t ticked;      /* bytes of the piece at hand that are counted */
    struct weir__buffer path, other_path, text;
    struct weir__job **late; /* put off until their data are in memory: a ring */
    unsigned late_first, late_count;
    struct weir__ahead ahead;
    struct weir__job job; /* the one at hand */
    uint64_t made_for;    /* number of the directory that made is known for */
    uid_t made_uid;       /* who owns what we make there */
    gid_t made_gid;
    dev_t no_reflink_from, no_reflink_to; /* a pair that refused */
    bool has_no_reflink, is_relieving;
    uint64_t temp_next;
    char *window; /* WEIR__WINDOW_SIZE bytes of directory entries */
    struct weir__item *items;
    bool no_now;        /* reads that do not wait are not supported */
    bool no_noatime;    /* opening without touching the access time is not allowed */
    bool no_nameless;   /* the file system makes no files without a name */
    bool no_empty_path; /* linking by a descriptor alone is not allowed */
};

/* --- tell.c --- */
enum weir__path_kind {
    WEIR__PATH_SHOWN,  /* as rsync names it */
    WEIR__PATH_FROM,   /* the source as the user can find it */
    WEIR__PATH_TO,     /* the destination as the user can find it */
    WEIR__PATH_IN_BASE /* the destination relative to the base */
};
/* In w->path; name may be NULL for the directory itself. Never NULL: "?" without memory. */
const char *weir__tell_path(struct weir__worker *w, enum weir__path_kind kind,
                            const struct weir__dir *dir, const char *name);
/* The same where something depends on it: NULL without memory. */
const char *weir__tell_path_whole(struct weir__worker *w, enum weir__path_kind kind,
                                  const struct weir__dir *dir, const char *name);
bool weir__tell_is_wanted(const struct weir__worker *w, enum weir__copy_event_kind kind);
void weir__tell_item(struct weir__worker *w, const struct weir__dir *dir, const char *name,
                     struct weir__copy_event *event);
/* An error at the source stops deletions. errno_value 0: what says it all. */
void weir__tell_source_error(struct weir__worker *w, const struct weir__dir *dir, const char *name,
                             const char *what, int errno_value);
void weir__tell_error(struct weir__worker *w, const struct weir__dir *dir, const char *name,
                      const char *what, int errno_value);
void weir__tell_error_detail(struct weir__worker *w, const struct weir__dir *dir, const char *name,
                             const char *what, const char *detail, int errno_value);
void weir__tell_note(struct weir__worker *w, const struct weir__dir *dir, const char *name,
                     const char *detail);
void weir__tell_skipped(struct weir__worker *w, const struct weir__dir *dir, const char *name,
                        const char *why);
/* Adds what the thread has counted to the run's counts. */
void weir__tell_counts(struct weir__worker *w);
void weir__tell_counts_soon(struct weir__worker *w);
char weir__tell_type(mode_t mode);

/* --- worker.c --- */
int weir__worker_new(struct weir__worker **ret_worker, struct weir__copy *run);
void weir__worker_free(struct weir__worker *w);
int weir__worker_main(struct weir_crew_self *self, void *arg);
bool weir__is_stopped(const struct weir__worker *w);
struct weir_deadline weir__stop_deadline(const struct weir__worker *w);
/* Takes n units, completing what was put off before waiting. 0 or negative. */
int weir__worker_admit(struct weir__worker *w, struct weir_budget *budget, uint64_t n,
                       struct weir_permit *permit);
/* After EMFILE or ENOMEM: lets go of what can be let go of and waits a little. */
void weir__worker_relieve(struct weir__worker *w, struct weir__job *job, int errno_value);
bool weir__is_overload(int errno_value);
/* Reads a directory of the source (or, to erase, of the destination) to its end. */
void weir__worker_list(struct weir__worker *w, struct weir__dir *dir);
/* False: no memory, or not allowed to put off; go on at once. */
/* Whether an entry of the source is to be copied at all; what is not is told. */
bool weir__worker_is_wanted(struct weir__worker *w, struct weir__dir *dir, const char *name,
                            unsigned char type);
bool weir__worker_is_excluded(struct weir__worker *w, struct weir__dir *dir, const char *name,
                              bool is_dir);
bool weir__worker_put_off(struct weir__worker *w, struct weir__job *job);
/* Completes files that were put off or asked for until so many are left. */
void weir__worker_complete_late(struct weir__worker *w, unsigned leave);

/* --- enter.c --- */
struct weir__dir *weir__dir_new(struct weir__copy *run, enum weir__dir_kind kind,
                                const struct weir__source *source, const char *name);
void weir__dir_free(struct weir__dir *dir);
/* A directory whose name was taken from the tree; the reference of the name is used up. */
void weir__enter(struct weir__worker *w, struct weir__dir *parent, const char *name);
/* The same without what is in it, and with a reference of its own; NULL: told. */
struct weir__dir *weir__enter_only(struct weir__worker *w, struct weir__dir *parent,
                                   const char *name);
/* Of a directory with something of ours in it that stays: the next run will look. */
void weir__dir_mark_remains(struct weir__worker *w, struct weir__dir *dir);
/* Lets go of a reference, finishing what is complete by that. */
void weir__dir_drop(struct weir__worker *w, struct weir__dir *dir);
void weir__dir_fill(struct weir__worker *w, struct weir__dir *dir);
/* Makes (or finds) the directory under this name in parent, and opens it; and remembers what an
 * open one at the destination is. False: told. */
bool weir__dir_make(struct weir__worker *w, struct weir__dir *parent, struct weir__dir *dir,
                    const char *name);
bool weir__dir_know(struct weir__worker *w, struct weir__dir *parent, struct weir__dir *dir);

/* --- entry.c --- */
void weir__entry(struct weir__worker *w, struct weir__dir *dir, const char *name,
                 unsigned char type);
/* Again from the start, with what the job knows. */
void weir__entry_job(struct weir__worker *w, struct weir__job *job);
void weir__entry_init(struct weir__job *job, struct weir__dir *dir, const char *name,
                      const char *dst_name, unsigned char type);
/* The job on the heap, holding its directory; NULL without memory. The old one is void then. */
struct weir__job *weir__entry_keep(struct weir__worker *w, struct weir__job *job);
void weir__entry_known(struct weir__worker *w, struct weir__job *job);
/* Every way out of a job: closes, releases, answers those who wait for a link. */
void weir__entry_end(struct weir__worker *w, struct weir__job *job, bool is_made);
/* Tells and counts an entry that was made or replaced. */
void weir__entry_made(struct weir__worker *w, struct weir__job *job, char update,
                      const char *target);
/* Brings the metadata of what was just made to the source's; to.fd may be -1. */
bool weir__entry_metadata(struct weir__worker *w, struct weir__job *job,
                          const struct weir__meta_place *to, const struct stat *existing);
/* A directory stands where something else shall be: it goes if it is empty, or with --delete. False
 * with errno. */
bool weir__entry_make_way(struct weir__worker *w, struct weir__job *job);
/* Leaves it alone if a rule says so; true: told, and ended. */
bool weir__entry_skip(struct weir__worker *w, struct weir__job *job);
/* Sets job->changes: what differs from the one that is replaced, for those who want to know. */
void weir__entry_find_changes(struct weir__worker *w, struct weir__job *job);
/* Gives what was made under job->temp its final name. */
bool weir__entry_install(struct weir__worker *w, struct weir__job *job);

/* --- file.c --- */
void weir__file(struct weir__worker *w, struct weir__job *job);
void weir__file_late(struct weir__worker *w, struct weir__job *job);
/* A failure of a move; one that was asked for by a stop is not an error. Ends the job. */
void weir__file_fail(struct weir__worker *w, struct weir__job *job, bool is_read_side,
                     int errno_value);
/* All bytes are there: everything else, then the name. Ends the job. */
void weir__file_complete(struct weir__worker *w, struct weir__job *job);

/* The same for one whose content is here already. */
void weir__file_arrived(struct weir__worker *w, struct weir__job *job, const char *bytes);

/* --- ahead.c --- */
/* The answer of a read that did not wait: whether the data were in memory. */
void weir__ahead_learn(struct weir__worker *w, bool is_cold);
/* Asks for the data of a small file that is probably not in memory. False: read it yourself. */
bool weir__ahead_take(struct weir__worker *w, struct weir__job *job);
/* Waits for data and completes files until so many are left. */
void weir__ahead_complete(struct weir__worker *w, unsigned leave);
void weir__ahead_fini(struct weir__ahead *ahead);

/* --- large.c --- */
void weir__large(struct weir__worker *w, struct weir__job *job);
/* Told by the mover: so that progress does not stand still for a whole piece. */
void weir__large_tick(void *worker, uint64_t bytes);
/* Sets the size of what has been moved, and completes it. */
void weir__large_end(struct weir__worker *w, struct weir__job *job);
void weir__file_help(struct weir__worker *w, struct weir__job *job);

/* --- special.c --- */
void weir__special(struct weir__worker *w, struct weir__job *job);

/* --- linked.c --- */
/* True: the job has been dealt with (linked, or waits). */
bool weir__linked(struct weir__worker *w, struct weir__job *job);
void weir__linked_end(struct weir__worker *w, struct weir__job *job, bool is_made);

/* --- descriptor.c --- */
WEIR_MUST_USE int weir__dir_pin(struct weir__worker *w, struct weir__dir *dir); /* -1 with errno */
void weir__dir_unpin(struct weir__worker *w, struct weir__dir *dir);
/* A directory that has just been opened, pinned once. */
void weir__dir_opened(struct weir__worker *w, struct weir__dir *dir);
/* Opens the parent again through "..", while the child is open, if that is what it needs. */
void weir__dir_reopen_parent(struct weir__worker *w, struct weir__dir *child);
void weir__dir_close(struct weir__worker *w, struct weir__dir *dir);
void weir__dir_close_idle(struct weir__worker *w);
int weir__dir_open_source(struct weir__worker *w, int dir_fd, const char *name, int flags);

/* --- name.c --- */
enum weir__leftover { WEIR__NOT_OURS, WEIR__TEMP_FILE, WEIR__TEMP_DIR, WEIR__TEMP_PART };
enum weir__leftover weir__name_kind(const char *name);
void weir__name_file(struct weir__worker *w, char text[WEIR__TEMP_SIZE]);
#define WEIR__SALTS 8u
void weir__name_dir(const struct weir__copy *run, const char *name, unsigned salt,
                    char text[WEIR__TEMP_SIZE]);
/* Removes it if it belongs to a dead run. True: it is gone. */
bool weir__name_remove_dead(struct weir__worker *w, int dir_fd, const char *name);
void weir__name_part(const char *name, char text[WEIR__TEMP_SIZE]);
/* Whether a directory of operands lies at the destination itself. */
bool weir__name_is_one_folder(const struct weir__dir *dir);
bool weir__name_is_of_this_boot(const struct weir__copy *run, const char *name);
uint32_t weir__name_boot(void);
bool weir__name_has_no_locks(int errno_value);
/* Makes a file under a temporary name and marks it as being written. -1 with errno. */
int weir__name_make_file(struct weir__worker *w, int dir_fd, mode_t mode,
                         char text[WEIR__TEMP_SIZE]);
/* Makes a file without a name; -1 where that cannot be had. */
int weir__name_make_nameless(struct weir__worker *w, int dir_fd, mode_t mode);
/* Gives it its final name (or, where that is taken, a temporary one). False: told. */
bool weir__name_link(struct weir__worker *w, struct weir__job *job);
/* Whether another run works at DST is found out, and told to others; until the end of this one. */
void weir__name_guard(struct weir__copy *run);
void weir__name_unguard(struct weir__copy *run);
/* Whether times say nothing about leftovers: another run is here, or died here. */
bool weir__name_is_careful(struct weir__copy *run);
/* Removes what dead runs left in a directory of the destination. */
void weir__name_sweep(struct weir__worker *w, struct weir__dir *dir, bool is_end);
/* The same for one name. is_end: folders that might be continued have had their chance. */
void weir__name_sweep_one(struct weir__worker *w, struct weir__dir *dir, const char *name,
                          bool is_end);

/* --- erase.c --- */
/* Removes what stands under a name at the destination, within --max-delete and the rules that
 * protect. Needs a permit. True: it is gone. */
bool weir__erase(struct weir__worker *w, struct weir__dir *dir, const char *name);
/* Removes what a dead run brought into a folder and this one does not. */
void weir__erase_strays(struct weir__worker *w, struct weir__dir *dir);
/* Whether another source (an earlier one, or any) has something at the shown path. */
bool weir__source_has(struct weir__worker *w, const struct weir__dir *dir, const char *name,
                      bool only_earlier, struct stat *ret_st);
void weir__erase_entry(struct weir__worker *w, struct weir__dir *dir, const char *name,
                       unsigned char type, bool *ret_is_dir);

/* --- list.c --- */
int weir__list_main(struct weir__worker *w, struct weir__dir *top);

#endif
