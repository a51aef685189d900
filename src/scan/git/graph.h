/* graph.h - git's commit-graph: tree, parents, time and generation of commits without inflating
 * them.
 *
 * One file (info/commit-graph) or a chain of them (info/commit-graphs/), version 1, of either hash.
 * Commits are known by their position, from 0 up to the count; a chain numbers its files' commits
 * one behind the other.
 *
 * Promises: nothing outside of the files is read, whatever they say. What could make a lookup go
 * astray is checked when they are opened (sizes, chunks, the table of first bytes, ids in order);
 * what a commit says is checked when it is asked for: a parent that does not exist, or is not of a
 * smaller generation, is Corrupt. The graph is trusted as git trusts it: one that lies consistently
 * is believed.
 *
 * Memory: the files, read as a whole, at most bytes_max of them. No lock, no thread; one graph may
 * be read by any number of threads.
 *
 * Ownership: the graph owns its memory and no descriptor.
 */
#ifndef WEIR_SCAN_GIT_GRAPH_H
#define WEIR_SCAN_GIT_GRAPH_H

#include "commit.h"

#define WEIR__GIT_GRAPH_FILES_MAX 64u
#define WEIR__GIT_GRAPH_NONE      UINT32_MAX
/* What a commit without one has: it may be above any other. */
#define WEIR__GIT_GENERATION_NONE UINT64_MAX

struct weir__git_graph;

struct weir__git_graph_commit {
    struct weir__git_id tree;
    int64_t time;
    uint64_t generation; /* above those of all parents, from 1; or WEIR__GIT_GENERATION_NONE */
    uint64_t newest;     /* no ancestor, nor the commit, is later than this; UINT64_MAX: unknown */
    uint32_t parents_count;
    uint32_t _first, _second, _edges;
    const struct weir__git_graph_file *_file;
};

/* Of a folder "objects" that is open as objects_fd. 0 and NULL when there is none; Corrupt,
 * Unsupported or TooLarge, and why, for one that cannot be used: the history is to be read without
 * it, and the reason told. Io, NoMemory. */
WEIR_MUST_USE int weir__git_graph_open(struct weir__git_graph **ret_graph, int objects_fd,
                                       size_t id_size, uint64_t bytes_max,
                                       char why[WEIR__GIT_FLAW_MAX]);
/* The same of one file's bytes, which the graph then owns when it returns 0. */
WEIR_MUST_USE int weir__git_graph_of_bytes(struct weir__git_graph **ret_graph,
                                           struct weir__buffer *bytes, size_t id_size,
                                           char why[WEIR__GIT_FLAW_MAX]);
/* Accepts NULL. */
void weir__git_graph_free(struct weir__git_graph *graph);

uint32_t weir__git_graph_count(const struct weir__git_graph *graph);
uint64_t weir__git_graph_bytes(const struct weir__git_graph *graph);

/* The position of a commit, or WEIR__GIT_GRAPH_NONE. */
uint32_t weir__git_graph_find(const struct weir__git_graph *graph, const struct weir__git_id *id);

/* position is below the count. */
struct weir__git_id weir__git_graph_id(const struct weir__git_graph *graph, uint32_t position);

/* Corrupt: this commit's line cannot be used. */
WEIR_MUST_USE int weir__git_graph_commit(const struct weir__git_graph *graph, uint32_t position,
                                         struct weir__git_graph_commit *ret_commit);

/* The position of a parent; index is below parents_count. */
uint32_t weir__git_graph_parent(const struct weir__git_graph_commit *commit, uint32_t index);

#endif
