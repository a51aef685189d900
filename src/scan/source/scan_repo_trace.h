/* scan_repo_trace.h - what those share who find out where suspects come from: scan_repo_origin.c
 * and scan_repo_slice.c, and nobody else.
 *
 * Ownership: origins belong to their repository, a trace to the thread that walks.
 */
#ifndef WEIR_SCAN_SOURCE_SCAN_REPO_TRACE_H
#define WEIR_SCAN_SOURCE_SCAN_REPO_TRACE_H

#include "scan_repo.h"

/* Who walks, and reads by what. */
struct weir__scan_trace {
    struct weir__scan_repo *repo;
    struct weir__scan_worker *w;
    struct weir__git_store *store;
};

/* A ref that leads to something that is no commit. */
struct weir__scan_other {
    struct weir__git_id id;
    enum weir__git_type type;
    size_t name; /* among the texts */
};

struct weir__scan_origins {
    struct weir__git_history own; /* unless the scan is narrowed */
    const struct weir__git_history *history;
    uint32_t *order;
    uint32_t order_count;
    struct weir__git_attribute *attribute;
    struct weir__scan_trace trace; /* the leader's */
    struct weir__scan_other *others;
    size_t others_count;
    struct weir__git_set commits; /* of attributions, with their struct commit_texts */
    struct weir__buffer texts;    /* each ends with NUL; the first is empty */
    struct weir__buffer bytes;    /* of the object at hand */
    struct weir__scan_repo *repo;
    /* Of those who trace, under the repository's lock: */
    struct weir__git_set told; /* hashes of what was: slices may meet the same */
    int error;                 /* that ended a slice */
};

/* A weir__git_get_fn, with a trace as arg. A tree that is missing is known to be: it is empty, and
 * reached. One that is damaged is empty as well: the first look has told it. */
WEIR_MUST_USE int weir__scan_trace_get(void *trace, const struct weir__git_id *id,
                                       enum weir__git_type *ret_type, struct weir__buffer *bytes);
/* Tells it, once. */
void weir__scan_trace_problem(void *trace, const char *text);
/* Every commit, by the threads of the run where that pays. */
WEIR_MUST_USE int weir__scan_trace_all(struct weir__scan_origins *origins);

#endif
