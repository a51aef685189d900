/* scan_part.h - what the files of a scan share; nobody else includes this.
 *
 *   scan.c         limits, threads, counts, the end
 *   scan_list.c    the thread that hands out paths, from the command line or from a list
 *   scan_job.c     jobs: who has them, who wants one, when the last one is done
 *   scan_worker.c  the threads that scan
 *   scan_walk.c    directories
 *   scan_ahead.c   files that are asked for before they are read
 *   scan_total.c   how much there is to do
 *   scan_given.c   paths that lie in each other
 *   scan_ignore.c  which rules of .gitignore files apply where
 *   scan_staged.c  what git is about to commit
 *   scan_git.c     git as a child
 *   scan_admit.c   the tokens of one file
 *   scan_limits.c  what archives and repositories hold of theirs
 *   scan_file.c    one file
 *   scan_stream.c  standard input, a pipe, and what is fetched
 *   scan_link.c    what is not opened
 *   scan_pause.c   streams that pause
 *   scan_pseudo.c  files that the kernel makes up
 *   scan_archive.c one that is an archive
 *   scan_members.c members of an archive, among threads
 *   scan_spill.c   temporary files
 *   scan_fetched.c what somebody else brings: URLs
 *   scan_repo*.c   histories of repositories (scan_repo.h)
 *
 * Who gives what to whom: one thread hands out the paths and waits when the queue of jobs is full.
 * A worker that finds more than it needs offers some of it (a directory, names of files) only if
 * somebody is idle and there is room, and never waits: so nobody waits for himself. The run is over
 * when no job is open any more.
 *
 * Ownership: a job and its descriptor belong to whoever holds it: the sender, the queue, the
 * worker.
 */
#ifndef WEIR_SCAN_SOURCE_SCAN_PART_H
#define WEIR_SCAN_SOURCE_SCAN_PART_H

#include <sys/stat.h>
#include <sys/types.h>

#include <weir/budget.h>
#include <weir/crew.h>
#include <weir/error.h>
#include <weir/frontier.h>
#include <weir/lock.h>
#include <weir/queue.h>
#include <weir/sched.h>

#include "buffer.h"
#include "git/commit_set.h"
#include "git/state.h"
#include "scan.h"
#include "scan_archive.h"

#define WEIR__SCAN_WINDOW 32768u /* bytes of one getdents */
/* A shard of a repository that takes longer lets other jobs have as much time, if there are any. */
#define WEIR__SCAN_TURN_NS (5 * WEIR_NS_PER_MS)

enum weir__job_kind {
    WEIR__JOB_PATH,   /* as the user gave it */
    WEIR__JOB_LISTED, /* from a list: a symlink is one */
    WEIR__JOB_DIR,    /* a directory that is open */
    WEIR__JOB_FILES,  /* files in a directory that is open */
    WEIR__JOB_STAGED, /* a path in git's index; the only name is that of its blob */
    WEIR__JOB_HELP,   /* members of an archive */
    WEIR__JOB_SHARD   /* objects of a repository */
};

struct weir__job {
    enum weir__job_kind kind;
    int fd;
    dev_t device;                     /* of the tree */
    struct weir__scan_ignore *ignore; /* of the directory above one, held; or NULL */
    struct weir__scan_archive *archive;
    struct weir__scan_shard *shard;
    void (*release)(struct weir__job *job); /* when it is freed; or NULL */
    size_t path_length;
    size_t names_length; /* each ends with NUL */
    uint64_t number;     /* in its list, from 1; 0: it is of none */
    char text[];         /* the path (of a directory with its slash) and NUL, then the names */
};

/* A directory that is being read. */
struct weir__frame {
    int fd; /* -1: closed for now, to be opened again from below */
    bool is_read;
    size_t path_length; /* with the slash */
    size_t names_from;  /* its directories in the stack of names */
    off_t position;     /* while it is closed */
    dev_t device;
    ino_t inode;
    bool has_given;                   /* files in it are scanned as paths of their own */
    bool has_entries;                 /* whose paths have its name in them */
    bool is_repo;                     /* of git, whose objects are not files here */
    unsigned seen;                    /* names that git's folders have */
    struct weir__scan_ignore *ignore; /* held, or NULL */
};

/* What a walk that scans nothing has counted. */
struct weir__scan_counting {
    uint64_t files, bytes;
    bool is_over; /* the run has ended */
};

/* The path that was looked at last. */
struct weir__scan_named {
    struct weir__scanner *scanner; /* made with the first name that may hold a secret */
    struct weir__buffer path;
    char *shown; /* as long as the path */
    size_t shown_size;
    size_t from;    /* of the part that is being looked at */
    size_t untold;  /* from here on what is found is hidden and not told; 0: nowhere */
    uint64_t found; /* in it */
    uint64_t sum;   /* of hashes of what that was */
    bool has_path;
    bool is_hidden;    /* something in it is */
    bool is_named;     /* as a secret, by the name itself, and hidden */
    bool is_dir_clean; /* nothing is in the directory */
    bool is_telling;   /* all that is to be hidden is */
};

struct weir__scan_worker {
    struct weir__scan *run;
    struct weir__scanner *scanner; /* made with the first file */
    char *block;                   /* WEIR__SCAN_READ_SIZE */
    char *window;
    struct weir__buffer path;
    struct weir__scan_named named;
    struct weir__buffer names; /* of directories to enter, each ends with NUL */
    struct weir__frame *frames;
    size_t frames_count, frames_room;
    size_t frames_open; /* the frames that are open are the last so many */
    dev_t device;
    struct weir__scan_stats counts; /* not yet added to those of the run */
    uint64_t bytes_told;            /* of the file at hand, that are in counts */
    struct weir__buffer rule_path;  /* for rules of git: from the top of the repository */
    struct weir__git *git;          /* gives blobs; started with the first one */
    struct weir_budget turns;       /* whose turn it is with what follows: the thread's, or that of
                                       who waits for the run */
    bool is_lent;        /* the thread waits, and its scanner may have something to tell */
    uint64_t lent_ns;    /* since when */
    uint64_t silence_ns; /* a stream from which nothing comes for so long has failed; 0: never */
    struct weir__scan_counting *counting; /* NULL in those who scan */
    struct weir__archive_walker *walker;  /* made with the first archive */
    struct weir__buffer member;           /* of an archive, to be handed over */
    bool is_beside;                       /* the object is of a container, beside its members */
    bool is_around;                       /* or may have one in it, whose members come later */
    struct weir_device disk;              /* below disk_of, if has_disk */
    dev_t disk_of;
    int spill; /* if has_spill */
    bool has_disk, has_spill;
    bool is_of_crew;              /* its thread ends when nothing is left to do, not before */
    bool is_link;                 /* what is scanned is the target of a symlink */
    struct weir__scan_hand *hand; /* for repositories; made with the first shard */
    const struct weir__brought *brought; /* by whom, of an object of a repository; or NULL */
    bool is_asking;                      /* whether there is anything; what it is comes later */
    uint64_t told;                       /* findings */
    uint64_t gaps;                       /* that were told */
};

/* Repositories of one disk that wait until small ones would not have to wait for them. */
struct weir__scan_line {
    struct weir_device device;
    struct weir__scan_repo *first, *last;
    uint64_t now, most; /* that are handed to the scheduler */
};

/* All of these: that are handed over, what they ask for together, and that wait. */
struct weir__scan_heavy {
    uint64_t now;
    uint64_t ring_bytes, delta_bytes, spills;
    uint64_t waiting, waiting_most, waited;
};

/* Repositories of the run (scan_repo.h). */
struct weir__scan_repos {
    struct weir_sched *sched; /* NULL: histories are not scanned */
    struct weir_pool pool;
    struct weir_slots slots;
    struct weir_pool_config config;
    bool has_pool, has_slots, has_states;
    struct weir__git_states states; /* what is remembered of repositories */
    char why_stateless[WEIR__GIT_FLAW_MAX];
    bool is_unsaved_told; /* under the run's lock */
    uint32_t leaders;     /* of those that are not small */
    bool has_small;       /* there can be such, by what there is */
    uint32_t live_max;
    uint64_t live, small; /* that are not over; that were admitted as such; under the run's lock */
    struct weir__scan_line lines[WEIR__SCAN_DEVICES_MAX]; /* by disk; likewise */
    uint32_t lines_count;
    struct weir__scan_heavy heavy; /* likewise */
    struct weir__git_set known;    /* by the folder of their objects; under the run's lock */
    /* Those that wait with large objects, and how many are at theirs; under the run's lock: */
    struct weir__scan_repo *large_first, *large_last;
    uint32_t large_waiting, large_now;
    uint64_t large_all;  /* that were admitted for these */
    uint64_t large_jobs; /* as jobs of their own */
    uint64_t large_most; /* that waited at once */
    /* What walks cost beyond building each object once in memory, under the run's lock: */
    struct weir__scan_cost cost;
    struct weir__scan_held held; /* under the run's lock */
    uint64_t submitted, refused; /* likewise */
    uint64_t plans, plans_most;  /* of packs in work; likewise */
    uint64_t lists_bytes;        /* of lists of packs that wait; likewise */
};

struct weir__scan {
    const struct weir__scan_options *options;
    struct weir__scan_hooks hooks;
    struct weir_cancel stop;
    struct weir_budget reads, bytes;
    bool has_reads, has_bytes, has_queue;
    struct weir_queue jobs; /* of struct weir__job * */
    struct weir_crew *crew;
    struct weir__scan_worker **workers;
    unsigned threads;
    size_t frames_open_max; /* of each thread */
    struct weir_lock lock;  /* guards what follows */
    struct weir__scan_stats counts;
    uint64_t open; /* jobs that are not done, and one for the thread that hands out paths */
    uint32_t idle;
    uint64_t files_total, bytes_total;
    struct weir__scan_ignore *ignores; /* all there are */
    size_t ignores_bytes;
    struct weir__scan_given *given; /* set before the first job, then only read; or NULL */
    struct weir__scan_archives archives;
    struct weir__scan_repos repos;
};

static inline bool weir__scan_is_stopped(const struct weir__scan_worker *w)
{
    return weir_cancel_is_fired(&w->run->stop) || (w->counting && w->counting->is_over);
}

/* --- scan.c --- */
/* Adds what the worker has counted. */
void weir__scan_count(struct weir__scan_worker *w);
/* Tells of something that was not scanned, or not completely, and counts it. why NULL: errno. */
void weir__scan_tell(struct weir__scan_worker *w, const char *path, const char *what,
                     const char *why);
void weir__scan_tell_partial(struct weir__scan_worker *w, const char *path, const char *what,
                             const char *why);
/* The same of what somebody typed and is not there: unless it looks like one, it may be no path at
 * all. */
void weir__scan_tell_typed(struct weir__scan_worker *w, const char *path, const char *what,
                           const char *why);

/* --- scan_worker.c --- */
WEIR_MUST_USE int weir__scan_worker_new(struct weir__scan_worker **ret_worker,
                                        struct weir__scan *run);
/* Accepts NULL. */
void weir__scan_worker_free(struct weir__scan_worker *w);
/* Makes its scanner, if it has none. */
WEIR_MUST_USE int weir__scan_worker_scanner(struct weir__scan_worker *w);
int weir__scan_worker_main(struct weir_crew_self *self, void *arg);
/* "./a" is a, and "." is "". */
const char *weir__scan_plain_path(const char *path);
/* Of "a//" that of "a/". */
size_t weir__scan_folder_length(const char *path, size_t length);
/* All of a directory that the user named. */
void weir__scan_tree(struct weir__scan_worker *w, const char *path);

/* --- scan_name.c --- */
/* The path as it may be shown. Tells what is found in it, when it is another one than the last. */
const char *weir__scan_name(struct weir__scan_worker *w, const char *path);
/* Whether something is found in a name, which is not told. */
bool weir__scan_name_has(struct weir__scan_worker *w, const char *name);
/* A sum over what is found in a path, which is not told; 0: nothing. Incomplete, NoMemory. */
WEIR_MUST_USE int weir__scan_name_sum(struct weir__scan_worker *w, const char *path,
                                      uint64_t *ret_sum);
/* The next path is another one, whatever it is. */
void weir__scan_name_forget(struct weir__scan_worker *w);

/* --- scan_job.c --- */
/* NULL without memory. */
struct weir__job *weir__job_new(enum weir__job_kind kind, const char *path, size_t path_length,
                                size_t names_room);
/* Accepts NULL; closes the descriptor. */
void weir__job_free(struct weir__job *job);
/* Waits for room. The job is the queue's after 0. */
WEIR_MUST_USE int weir__job_send(struct weir__scan *run, struct weir__job *job);
/* Whether somebody has nothing to do. */
bool weir__job_is_wanted(struct weir__scan *run);
/* Never waits. False: the job is still the caller's. */
bool weir__job_offer(struct weir__scan *run, struct weir__job *job);
/* One job less; the last one ends the run. */
void weir__job_done(struct weir__scan *run);
/* Waits for a job, which is then the caller's: 0, Closed when none will come, Canceled. */
WEIR_MUST_USE int weir__job_take(struct weir__scan *run, struct weir__job **ret_job);

/* --- scan_list.c --- */
/* arg: a worker that scans nothing. */
int weir__scan_list_main(struct weir_crew_self *self, void *arg);

/* --- scan_ahead.c --- */
#define WEIR__SCAN_AHEAD 128u /* files */
struct weir__scan_next {
    uint64_t inode; /* or what else tells the order on the disk */
    const char *name;
};
/* Files in a directory that will be read next; puts them into another order. */
void weir__scan_ahead(const struct weir__scan_worker *w, int dir, struct weir__scan_next *next,
                      size_t count);

/* --- scan_total.c --- */
/* For the thread that has handed out all paths. */
void weir__scan_find_totals(struct weir__scan_worker *w);
/* Whether all is scanned, or the run is stopped: then nobody wants to know any more. */
bool weir__scan_is_over(struct weir__scan_worker *w);
/* Counts a file in a directory. */
void weir__scan_count_file(struct weir__scan_worker *w, int dir, const char *name);

/* --- scan_given.c --- */
/* Looks at all paths of the options. NULL: there is nothing to be known, or no memory for it. */
struct weir__scan_given *weir__scan_given_new(struct weir__scan_worker *w);
/* Accepts NULL. */
void weir__scan_given_free(struct weir__scan_given *given);
/* Whether the path of this index is the same file as one before it. NULL: no. */
bool weir__scan_given_again(const struct weir__scan_given *given, size_t index);
/* Whether the directory is one of the paths; whether files in it are; whether this file in it is.
 */
bool weir__scan_given_dir(const struct weir__scan_given *given, dev_t device, ino_t inode);
bool weir__scan_given_in(const struct weir__scan_given *given, dev_t device, ino_t inode);
bool weir__scan_given_file(const struct weir__scan_given *given, dev_t device, ino_t inode,
                           const char *name);

/* --- scan_ignore.c --- */
/* For a tree that begins at this directory, whose path is the worker's: the rules above it. Held;
 * NULL: told. */
struct weir__scan_ignore *weir__scan_ignore_begin(struct weir__scan_worker *w, int fd);
/* The rules in a directory, whose path is the worker's, on top of those above. Held; for NULL, and
 * without memory, NULL. */
struct weir__scan_ignore *weir__scan_ignore_enter(struct weir__scan_worker *w, int fd,
                                                  struct weir__scan_ignore *above);
/* Both accept NULL. */
struct weir__scan_ignore *weir__scan_ignore_hold(struct weir__scan *run,
                                                 struct weir__scan_ignore *ignore);
void weir__scan_ignore_drop(struct weir__scan *run, struct weir__scan_ignore *ignore);
/* Before names of a directory, whose path is the worker's, are asked for. False: told. */
bool weir__scan_ignore_aim(struct weir__scan_worker *w, const struct weir__scan_ignore *ignore);
bool weir__scan_ignore_has(struct weir__scan_worker *w, const struct weir__scan_ignore *ignore,
                           const char *name, bool is_dir);
/* At the end: also those of jobs that nobody did. */
void weir__scan_ignore_free_all(struct weir__scan *run);

/* --- scan_staged.c --- */
/* Hands out what is staged. */
void weir__scan_staged_list(struct weir__scan_worker *w);
/* Scans one blob under the path, which is the worker's. */
void weir__scan_staged(struct weir__scan_worker *w, const char *id);

/* --- scan_walk.c --- */
/* All of the tree below the directory, whose path is the worker's. Closes it. The rules are those
 * of the directory above, or NULL. */
void weir__scan_walk(struct weir__scan_worker *w, int fd, struct weir__scan_ignore *above);
/* Names of files in the directory, whose path is the worker's. */
void weir__scan_names(struct weir__scan_worker *w, int fd, const char *names, size_t length);

/* --- scan_admit.c --- */
/* What whoever reads a file holds. */
struct weir__scan_tokens {
    struct weir_permit read, bytes;
};
#define WEIR__SCAN_TOKENS_NONE                                                                     \
    {                                                                                              \
        WEIR_PERMIT_NONE, WEIR_PERMIT_NONE                                                         \
    }
/* Waits for the tokens of one file. False: told, or the run is stopped. What it has got is to be
 * released in either case. */
bool weir__scan_admit(struct weir__scan_worker *w, struct weir__scan_tokens *tokens);
void weir__scan_tokens_release(struct weir__scan_tokens *tokens);

/* --- scan_limits.c --- */
/* Looks at what is held now. slots: NULL: not at these. */
void weir__scan_held_note(struct weir__scan *run, struct weir__scan_held *held,
                          struct weir_pool *pool, struct weir_slots *slots);
/* The same when a job of that kind was admitted; it is over. */
void weir__scan_held_begin(struct weir__scan *run, struct weir__scan_held *held,
                           struct weir_pool *pool, struct weir_slots *slots);
void weir__scan_held_end(struct weir__scan *run, struct weir__scan_held *held);

/* --- scan_file.c --- */
/* The file of that name in the directory; its path is the worker's. is_given: the user named it, so
 * that a symlink is followed. */
void weir__scan_file(struct weir__scan_worker *w, int dir, const char *name, bool is_given);
/* A file that is open, for who has the tokens; its path is the worker's. */
void weir__scan_open(struct weir__scan_worker *w, int fd);
/* Something was not read, or not all of it if there was some. why NULL: errno. */
void weir__scan_tell_unread(struct weir__scan_worker *w, bool has_some, const char *why);

/* --- scan_stream.c --- */
/* The format of an archive that the file does not begin with, or NULL. */
const char *weir__scan_hidden(int fd, uint64_t size, const char *head, size_t length);
/* The next bytes of a stream, as they come; 0 at its end. -1: told, or the run is stopped.
 * has_some: these are not the first. */
WEIR_MUST_USE ssize_t weir__scan_stream_read(struct weir__scan_worker *w, int fd, char *bytes,
                                             size_t size, bool has_some);
/* Bytes until they end: standard input, a pipe. */
void weir__scan_stream(struct weir__scan_worker *w, int fd);
/* The same for who has the tokens. True: they came to their end, and all of them were taken. */
bool weir__scan_stream_admitted(struct weir__scan_worker *w, int fd);

/* --- scan_pseudo.c --- */
/* Of a file that the kernel makes up, so much is read. */
#define WEIR__SCAN_PSEUDO_BYTES (UINT64_C(16) << 20)
/* Whether it is on a file system of such: /proc, /sys and their like. */
bool weir__scan_is_pseudo(int fd);

/* --- scan_link.c --- */
/* Something that is neither read nor entered; its path is the worker's. */
void weir__scan_unopened(struct weir__scan_worker *w);
/* The symlink of that name in the directory; its path is the worker's. Counts it. */
void weir__scan_link(struct weir__scan_worker *w, int dir, const char *name);

/* --- scan_pause.c --- */
/* Before and after a read for which the thread may have to wait. is_lent: the scanner has an object
 * of which something has come since it was lent before. False: the run is stopped. */
WEIR_MUST_USE bool weir__scan_pause_begin(struct weir__scan_worker *w, bool is_lent);
WEIR_MUST_USE bool weir__scan_pause_end(struct weir__scan_worker *w);
/* Looks after those who have been waiting for a stream for a while. */
void weir__scan_pause_look(struct weir__scan *run);
/* Waits for the end of the run, and looks after those who read from streams meanwhile. */
WEIR_MUST_USE int weir__scan_pause_wait(struct weir__scan *run,
                                        const struct weir_deadline *deadline);

/* The file from its beginning, whatever it is: its bytes. */
void weir__scan_plain(struct weir__scan_worker *w, int fd, uint64_t size);
/* What the scanner is given; the path is the worker's. False: told. */
struct weir__object weir__scan_object_of(struct weir__scan_worker *w);
bool weir__scan_object_begin(struct weir__scan_worker *w);
bool weir__scan_object_feed(struct weir__scan_worker *w, const char *bytes, size_t length);
void weir__scan_object_count(struct weir__scan_worker *w, uint64_t at);
bool weir__scan_object_end(struct weir__scan_worker *w);
/* Counts what the scanner says of it, and tells what was not done. */
void weir__scan_object_tell(struct weir__scan_worker *w, const struct weir__scan_result *result);

/* --- scan_archive.c --- */
WEIR_MUST_USE int weir__scan_archives_init(struct weir__scan *run);
/* When no thread is left, and no job. */
void weir__scan_archives_fini(struct weir__scan *run);
/* Ends the worker's decoder; in its own thread, or when that has ended. */
void weir__scan_archives_leave(struct weir__scan_worker *w);
/* The archive in a regular file. False: it was told as not opened, and the object that was begun is
 * as it was. */
bool weir__scan_archive(struct weir__scan_worker *w, int fd, const struct stat *st,
                        const char *format);
enum weir__scan_taken {
    WEIR__SCAN_NOT_TAKEN,
    WEIR__SCAN_TAKEN,
    WEIR__SCAN_TAKEN_IN_PART /* not to its end, which was told */
};
/* The same for one that comes as a stream, of which so many bytes are in the worker's block. */
enum weir__scan_taken weir__scan_archive_stream(struct weir__scan_worker *w, int fd, size_t length,
                                                const char *format);
/* The one in the copy of a stream whose own bytes were scanned. What keeps it from being opened is
 * told. */
void weir__scan_archive_copy(struct weir__scan_worker *w, int copy, const char *format);
/* Why none is opened, or none that comes as a stream; NULL: they are. */
const char *weir__scan_archive_why_not(const struct weir__scan *run, bool is_stream);
/* Tells it. format NULL: there may be one behind a program. */
void weir__scan_archive_unopened(struct weir__scan_worker *w, const char *format, const char *why);

/* --- scan_members.c --- */
/* Waits for its share of the pool. */
WEIR_MUST_USE int weir__scan_archive_new(struct weir__scan *run,
                                         struct weir__scan_archive **ret_archive);
/* Gives its share back, and waits for the largest one there is; when that fails it has none.
 * Between members of the walk; the worker's path changes. */
WEIR_MUST_USE int weir__scan_archive_grow(struct weir__scan_worker *w,
                                          struct weir__scan_archive *archive);
/* The walk is over: scans what nobody has taken, whereby the worker's path changes. */
void weir__scan_archive_over(struct weir__scan_worker *w, struct weir__scan_archive *archive);
/* Whether somebody might take a member. */
bool weir__scan_archive_has_help(struct weir__scan_archive *archive);
/* False: there is no room for it. */
bool weir__scan_archive_hand_over(struct weir__scan_archive *archive,
                                  const struct weir__buffer *path,
                                  const struct weir__buffer *bytes);
void weir__scan_help(struct weir__scan_worker *w, const struct weir__job *job);

/* --- scan_fetched.c --- */
/* A path that is no file: the fetcher of the options brings its bytes. */
void weir__scan_fetched(struct weir__scan_worker *w, const char *path);

#endif
