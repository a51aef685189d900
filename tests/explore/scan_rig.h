/* scan_rig.h - a scan whose threads are the real ones, and whose input is the scenario's.
 *
 * Jobs, tokens, archives in work, the threads that hand out paths and those that scan are the files
 * of src/scan/source. In place of what reads, unpacks and matches stand the functions here: every
 * path is one that a fetcher brings, and what is in it the scenario says.
 *
 * Ownership: the rig is part of the scenario's state; begin and end are for setup and check.
 */
#ifndef WEIR_EXPLORE_SCAN_RIG_H
#define WEIR_EXPLORE_SCAN_RIG_H

#include "xp.h"

#include "scan_part.h"

#define RIG_WORKERS 3
#define RIG_PATHS   3

struct weir__scan_repo;
struct weir__scan_pack;

struct scan_rig {
    struct weir__scan run;
    struct weir__scan_options options;
    struct weir__scan_fetcher fetcher;
    struct weir__scan_worker *workers[RIG_WORKERS + 1]; /* the last one hands out paths */
    const char *paths[RIG_PATHS];
    size_t pieces; /* of memory, before it all */
    unsigned taken, gaps;
    /* The bytes of a path, for who has the tokens. False: not to their end. */
    bool (*stream)(struct weir__scan_worker *w);
    /* What is in an archive. */
    int (*walk)(const char *path, const struct weir__archive_hooks *hooks);
    /* A member, or the bytes of an archive that was not opened. */
    void (*object)(struct weir__scan_worker *w, const char *path);
    /* A shard of a repository; the ends of a repository, of its job, and of a pack. */
    bool (*shard)(struct weir__scan_worker *w, struct weir__scan_shard *shard);
    void (*repo_ended)(struct weir__scan_repo *repo);
    void (*repo_over)(struct weir__scan_repo *repo, int result);
    void (*pack_ended)(struct weir__scan_pack *pack);
    /* Who waits for the run looks after a scanner. */
    void (*settle)(void);
};

struct rig_limits {
    uint64_t reads, buffers, queue;
    uint64_t archives; /* in work at once; 0: none is opened */
    uint64_t members;  /* of one archive, in work at once */
};

void rig_begin(struct scan_rig *rig, const struct rig_limits *limits);
/* Asserts that all is home: jobs but for those in the queue of a run that was stopped, tokens,
 * memory. */
void rig_end(struct scan_rig *rig);

/* The threads, for .threads: hands out the paths; scans, the n-th by the number of the thread. */
void rig_hands_out(void);
void rig_works(void);
void rig_stops(void);
/* The worker that belongs to this thread. */
struct weir__scan_worker *rig_worker(void);

#endif
