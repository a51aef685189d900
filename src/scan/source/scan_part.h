/* scan_part.h - what the files of a scan share; nobody else includes this.
 *
 *   scan.c         limits, threads, counts, the end
 *   scan_list.c    the thread that hands out paths, from the command line or from a list
 *   scan_worker.c  the threads that scan: jobs, and what became of them
 *   scan_walk.c    directories
 *   scan_file.c    one file
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

#include <weir/budget.h>
#include <weir/crew.h>
#include <weir/error.h>
#include <weir/lock.h>
#include <weir/queue.h>

#include "buffer.h"
#include "scan.h"

#define WEIR__SCAN_WINDOW 32768u /* bytes of one getdents */

enum weir__job_kind {
    WEIR__JOB_PATH,   /* as the user gave it */
    WEIR__JOB_LISTED, /* from a list: a symlink is one */
    WEIR__JOB_DIR,    /* a directory that is open */
    WEIR__JOB_FILES   /* files in a directory that is open */
};

struct weir__job {
    enum weir__job_kind kind;
    int fd;
    dev_t device; /* of the tree */
    size_t path_length;
    size_t names_length; /* each ends with NUL */
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
};

struct weir__scan_worker {
    struct weir__scan *run;
    struct weir__scanner *scanner; /* made with the first file */
    char *block;                   /* WEIR__SCAN_READ_SIZE */
    char *window;
    struct weir__buffer path;
    struct weir__buffer names; /* of directories to enter, each ends with NUL */
    struct weir__frame *frames;
    size_t frames_count, frames_room;
    size_t frames_open; /* the frames that are open are the last so many */
    dev_t device;
    struct weir__scan_stats counts; /* not yet added to those of the run */
    uint64_t bytes_told;            /* of the file at hand, that are in counts */
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
};

static inline bool weir__scan_is_stopped(const struct weir__scan_worker *w)
{
    return weir_cancel_is_fired(&w->run->stop);
}

/* --- scan.c --- */
/* Adds what the worker has counted. */
void weir__scan_count(struct weir__scan_worker *w);
/* Tells of something that was not scanned, or not completely, and counts it. why NULL: errno. */
void weir__scan_tell(struct weir__scan_worker *w, const char *path, const char *what,
                     const char *why);
void weir__scan_tell_partial(struct weir__scan_worker *w, const char *path, const char *what,
                             const char *why);

/* --- scan_worker.c --- */
WEIR_MUST_USE int weir__scan_worker_new(struct weir__scan_worker **ret_worker,
                                        struct weir__scan *run);
/* Accepts NULL. */
void weir__scan_worker_free(struct weir__scan_worker *w);
int weir__scan_worker_main(struct weir_crew_self *self, void *arg);

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

/* --- scan_list.c --- */
/* arg: a worker that scans nothing. */
int weir__scan_list_main(struct weir_crew_self *self, void *arg);

/* --- scan_walk.c --- */
/* All of the tree below the directory, whose path is the worker's. Closes it. */
void weir__scan_walk(struct weir__scan_worker *w, int fd);
/* Names of files in the directory, whose path is the worker's. */
void weir__scan_names(struct weir__scan_worker *w, int fd, const char *names, size_t length);

/* --- scan_file.c --- */
/* The file of that name in the directory; its path is the worker's. is_given: the user named it, so
 * that a symlink is followed. */
void weir__scan_file(struct weir__scan_worker *w, int dir, const char *name, bool is_given);
/* Bytes until they end: standard input, a pipe. */
void weir__scan_stream(struct weir__scan_worker *w, int fd);

#endif
