/* scan_repo_trace.h - what those share who find out where suspects come from: scan_repo_origin.c,
 * scan_repo_slice.c, scan_repo_verdict.c, scan_repo_tags.c and scan_repo_lost.c, and nobody else.
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
    struct weir__scan_verdict *verdicts; /* of the last paths, made with the first; or NULL */
    bool is_lost; /* nothing leads to what is walked: what is missing there was pruned */
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
    uint32_t *order; /* commits that nothing leads to stand last */
    uint32_t order_count;
    struct weir__git_attribute *attribute;
    bool *is_opened; /* by number of the attribution: it is an archive, or may be one */
    struct weir__scan_trace trace; /* the leader's */
    struct weir__scan_other *others;
    size_t others_count;
    struct weir__git_set commits; /* of attributions, with their struct commit_texts */
    struct weir__buffer texts;    /* each ends with NUL; the first is empty */
    struct weir__buffer bytes;    /* of the object at hand */
    bool has_failed;              /* the last object that the walk through commits asked for: */
    int failed_with;
    struct weir__git_id failed;
    bool lacks_commit; /* one that a graph may still know is missing, and told */
    bool has_ghost;    /* a commit that it is said to come from is not there: */
    struct weir__git_id ghost;
    struct weir__scan_repo *repo;
    /* Of those who trace, under the repository's lock: */
    int error;                         /* that ended a slice */
    char exceeded[WEIR__SCAN_WHY_MAX]; /* of trees, when they do not fit */
};

/* A weir__git_get_fn, with a trace as arg. A tree that is missing is known to be: it is empty, and
 * reached. One that is damaged is empty as well: the first look has told it. So is one that is too
 * large, which is told. Of what is lost nothing is reached, and nothing missed. */
WEIR_MUST_USE int weir__scan_trace_get(void *trace, const struct weir__git_id *id,
                                       enum weir__git_type *ret_type, struct weir__buffer *bytes);
/* From now on nobody is called unreachable. */
void weir__scan_untraced(struct weir__scan_repo *repo);
/* Tells it, once. */
void weir__scan_trace_problem(void *trace, const char *text);
/* What is found in a blob depends on its path and its commit by these alone; for the options of an
 * attribution, with a trace as arg. */
WEIR_MUST_USE int weir__scan_trace_verdict(void *trace, uint32_t number, const char *path,
                                           uint64_t *ret_verdict);
/* What that has kept. */
void weir__scan_trace_fini(struct weir__scan_trace *trace);
uint64_t weir__scan_trace_mark(void *trace, const struct weir__git_id *commit);
/* When all blobs are wanted. */
WEIR_MUST_USE int weir__scan_verdicts_begin(struct weir__scan_origins *origins);
/* Those of which there are too many. */
void weir__scan_verdicts_tell(struct weir__scan_origins *origins);
/* Every commit, by the threads of the run. */
WEIR_MUST_USE int weir__scan_trace_all(struct weir__scan_origins *origins);

/* scan_repo_tags.c: which of the tags something leads to; and how, once that is found out. */
WEIR_MUST_USE int weir__scan_tags_find(struct weir__scan_origins *origins);
const char *weir__scan_tag_by(const struct weir__scan_repo *repo,
                              const struct weir__suspect *suspect);

/* scan_repo_lost.c: after all others, the commits that nothing leads to. A name that may have
 * something in it and is in none of them is told. */
WEIR_MUST_USE int weir__scan_lost_find(struct weir__scan_origins *origins);

#endif
