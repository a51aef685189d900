/* commit_history.h - the commits that are reachable from some starts and not from others.
 *
 *     weir__git_history_init(&history, &options);
 *     weir__git_history_start(&history, &id, WEIR__GIT_START_REF)       any number
 *     weir__git_history_start(&history, &old, WEIR__GIT_START_EXCLUDE)
 *     weir__git_history_walk(&history, since)
 *     weir__git_history_order(&history, &order, &count)                 oldest first
 *
 * Promises
 * - Each commit is read once, in no recursion; the set is exact whatever the clocks of the authors
 *   said. With a commit-graph what is excluded is followed only as far as it can matter; without
 *   one, to its roots.
 * - --since is a comparison of committer dates and nothing else: a younger commit below an older
 * one is in the set.
 * - A commit that is missing or broken is told, by its id, counted, and has no parents; all others
 *   are found.
 *
 * Memory: 20 bytes and the id for a commit, 4 for each parent, 5 to 10 for the table: about 540 MB
 * for 10 million commits of SHA-1 (weir__git_history_needs() says it before), and the tree's id if
 * that is asked for; 24 bytes for each commit that waits in the queue come on top. The history
 * never takes more than bytes_max: TooLarge, and why says how much it had.
 *
 * Trust: parents and times of commits in the commit-graph are taken from there. A graph that turns
 * out to be broken is told and not used any more.
 *
 * Ownership: the history owns its memory and borrows everything in its options. One thread at a
 * time while it is walked; afterwards any number may read it.
 */
#ifndef WEIR_SCAN_GIT_COMMIT_HISTORY_H
#define WEIR_SCAN_GIT_COMMIT_HISTORY_H

#include <weir/cancel.h>

#include "commit_set.h"
#include "graph.h"

/* Bytes of one commit that is read; a message of that size nobody wrote. */
#define WEIR__GIT_COMMIT_BYTES_MAX (64u << 20)
#define WEIR__GIT_PROBLEM_MAX      320u

/* Why a commit is in the history; the first of these that is true is what it is reported as. */
enum weir__git_start {
    WEIR__GIT_START_REF = 1,   /* a branch, a tag, HEAD, anything else below refs/ */
    WEIR__GIT_START_STASH = 2, /* refs/stash and its log */
    WEIR__GIT_START_NOTES = 4,
    WEIR__GIT_START_LOG = 8, /* a log of refs still knows it, and may know what is gone */
    WEIR__GIT_START_EXCLUDE = 16,
    WEIR__GIT_START_LOST = 128 /* nothing leads to it: after a walk from all others, and then
                                  another walk */
};

struct weir__git_history_options {
    size_t id_size;
    weir__git_get_fn *get;
    void *get_arg;
    const struct weir__git_graph *graph; /* or NULL */
    const struct weir__git_id *shallow;  /* commits without their parents */
    size_t shallow_count;                /* above 0: the graph is not used */
    uint64_t bytes_max;                  /* 0: no limit */
    uint64_t object_max;                 /* of one commit or tag; 0: WEIR__GIT_COMMIT_BYTES_MAX */
    bool has_trees;                      /* the tree of each commit is kept */
    void (*problem)(void *arg, const char *text); /* or NULL */
    void *problem_arg;
    struct weir_cancel *stop; /* or NULL */
};

/* What is kept of a commit. */
struct weir__git_node {
    uint32_t _time[2];
    uint32_t _edges;    /* of its parents; 0: none, else one more */
    uint32_t _position; /* in the graph, one more; 0: unknown */
    uint32_t _flags;
};

struct weir__git_waiting {
    uint64_t generation;
    int64_t time;
    uint32_t number;
};

struct weir__git_history {
    struct weir__git_history_options _options;
    struct weir__git_set _set, _shallow;
    uint32_t **_edges; /* in blocks; the last of a commit has its top bit set */
    size_t _edges_room;
    uint64_t _edges_count, _edges_bytes;
    struct weir__git_waiting *_heap;
    size_t _heap_count, _heap_room;
    uint64_t _alive;   /* in the queue, and not yet known to be out of the set */
    uint64_t _unknown; /* in the queue without a generation */
    struct weir__buffer _bytes;
    bool _has_graph, _is_symmetric;
    int64_t _since;
    uint64_t problems; /* told */
    uint64_t gone;     /* starts of logs that are not there any more */
};

/* NoMemory or TooLarge: fini is still due. */
WEIR_MUST_USE int weir__git_history_init(struct weir__git_history *history,
                                         const struct weir__git_history_options *options);
/* Accepts NULL and what init failed on. */
void weir__git_history_fini(struct weir__git_history *history);

uint64_t weir__git_history_needs(uint64_t commits, size_t id_size, bool has_trees);

/* kinds: of enum weir__git_start. The id is that of a commit; one that is missing is told (one of a
 * log, or what a lost one leads to, is counted in `gone`). TooLarge, NoMemory. */
WEIR_MUST_USE int weir__git_history_start(struct weir__git_history *history,
                                          const struct weir__git_id *id, unsigned kinds);

/* What both can reach is excluded: A...B, together with the two as starts. Before the walk. */
WEIR_MUST_USE int weir__git_history_exclude_common(struct weir__git_history *history,
                                                   const struct weir__git_id *left,
                                                   const struct weir__git_id *right);

#define WEIR__GIT_SINCE_EVER INT64_MIN

/* since: only commits of that second or later. Once, after the starts, and once more after those
 * that are lost. Canceled, TooLarge,
 * NoMemory, or what get failed with when that is not about one object (Io, NoMemory). */
WEIR_MUST_USE int weir__git_history_walk(struct weir__git_history *history, int64_t since);

/* Commits are known by their numbers, from 0 up to this; not all of them are in the set. */
uint32_t weir__git_history_count(const struct weir__git_history *history);
bool weir__git_history_has(const struct weir__git_history *history, uint32_t number);
/* The number of a commit, in the set or not, or WEIR__GIT_SET_NONE. */
uint32_t weir__git_history_find(const struct weir__git_history *history,
                                const struct weir__git_id *id);
struct weir__git_id weir__git_history_id(const struct weir__git_history *history, uint32_t number);
int64_t weir__git_history_time(const struct weir__git_history *history, uint32_t number);
enum weir__git_start weir__git_history_kind(const struct weir__git_history *history,
                                            uint32_t number);
/* With has_trees; false for one that could not be read or was never reached. */
bool weir__git_history_tree(const struct weir__git_history *history, uint32_t number,
                            struct weir__git_id *ret_tree);

/* Goes through the parents, which may not be in the set:
 *     for (at = WEIR__GIT_PARENTS; weir__git_history_parent(h, number, &at, &parent);) ... */
#define WEIR__GIT_PARENTS UINT64_MAX
bool weir__git_history_parent(const struct weir__git_history *history, uint32_t number,
                              uint64_t *at, uint32_t *ret_parent);

/* The numbers of the set: those that a ref leads to, then what only a stash, notes or logs know; of
 * each by commit time, the oldest first; of the same second, parents before their
 * children, else in an order that depends on the starts alone. Freed by weir__base_free(). NULL
 * when there are none. Takes 40 bytes a commit of the set while it works, which are not counted
 * above. */
WEIR_MUST_USE int weir__git_history_order(const struct weir__git_history *history,
                                          uint32_t **ret_order, uint32_t *ret_count);

/* For the files of this part. */
int weir__git_history_load(struct weir__git_history *history, uint32_t number, bool may_be_gone);
struct weir__git_node *weir__git_history_node(const struct weir__git_history *history,
                                              uint32_t number);
uint64_t weir__git_history_generation(struct weir__git_history *history, uint32_t number);

#endif
