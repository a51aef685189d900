/* attribute.h - which commit brought a blob, and under which paths it lies.
 *
 *     weir__git_attribute_new(&a, &options)
 *     weir__git_attribute_want(a, &blob, &number)            for each blob with findings
 *     weir__git_attribute_run(a, 0, order_count)             or slices, on forks, and merge
 *     weir__git_attribute_result(a, number, &result)
 *
 * A commit brings a blob when its tree has it at a path at which none of its parents has it; what
 * only a merge has is brought by the merge. The first commit is the oldest of these by commit time,
 * of those that a ref leads to if there are such, else of a stash, of notes, of a log; of the same
 * second, the one that stands first in the order of the history (parents before
 * children). This is what `git log --exclude=refs/stash --exclude=refs/notes --all
 * --find-object=ID --reverse` names first, unless clocks went wrong, where git follows its own
 * walk. The paths of a blob are all at which some commit of
 * the history brought it, which are all at which it ever lay.
 *
 * Looks: whoever scans a blob may find something else at another path, or as part of another
 * commit. What he has to say about these is a verdict (options.verdict, options.mark), and of each
 * verdict one look is kept: the first commit that brought the blob to such a path, and the path.
 * Without verdicts there is one look.
 *
 * How: each distinct tree of the history is read once, unless the lineage (lineage.h) knows what
 * in it leads on. What is kept of it is what leads to a wanted
 * blob: nothing for most, and the same thing once for all trees that agree in it. Commits are then
 * compared by these remains alone.
 *
 * When it stops early: with is_first_only it goes from the oldest commit on and stops as soon as
 * each wanted blob has been brought. That is sound, since the order is the one by which the first
 * is chosen: nothing that follows can come before. Paths are then those that the first commit and
 * the ones before it brought. Without it every commit is looked at, since the last may bring a new
 * path. A blob that no commit has keeps it from stopping.
 *
 * Limits: bytes_max for what is kept of trees; beyond it all is forgotten and read again, which
 * costs time and is counted in `forgotten`. paths_max paths of a blob (the first by name), and
 * their number besides, up to WEIR__GIT_PATHS_COUNTED in all; a path is cut at
 * WEIR__GIT_SHOWN_PATH_MAX bytes. WEIR__GIT_LOOKS_MAX looks of a blob; is_cut says that there are
 * more. Trees that lie in one commit at several places are looked at in each of them, up to
 * again_max places in all commits together; from there on once in a commit: has_more and is_cut say
 * that paths are missing. Among them may be that of an older commit where a parent is younger than
 * its child, else the first commit is the same. Of a merge the first WEIR__GIT_PARENTS_COMPARED
 * parents are compared.
 *
 * Threads: none. One attribution is used by one thread at a time; forks by one thread each.
 *
 * Ownership: an attribution owns its memory and borrows what its options point to; a fork borrows
 * the wanted blobs of the one that it was made from. Results are valid until the next run, merge or
 * free.
 */
#ifndef WEIR_SCAN_GIT_ATTRIBUTE_H
#define WEIR_SCAN_GIT_ATTRIBUTE_H

#include "commit_history.h"
#include "index_file.h"
#include "lineage.h"

#define WEIR__GIT_PATHS_DEFAULT    16u
#define WEIR__GIT_LOOKS_MAX        256u
#define WEIR__GIT_PATHS_COUNTED    4000000u
#define WEIR__GIT_SHOWN_PATH_MAX   65536u
#define WEIR__GIT_PARENTS_COMPARED 64u
#define WEIR__GIT_AGAIN_DEFAULT    250000u
#define WEIR__GIT_TREE_BYTES_MAX   (256u << 20)
#define WEIR__GIT_TREE_MEMORY      (256u << 20) /* bytes_max by default */

struct weir__git_attribute;

struct weir__git_attribute_options {
    size_t id_size;
    weir__git_get_fn *get;
    void *get_arg;
    const struct weir__git_history *history; /* walked, with trees */
    const uint32_t *order;                   /* of weir__git_history_order() */
    uint32_t order_count;
    const struct weir__git_lineage *lineage; /* that has found these blobs; or NULL */
    bool is_first_only;
    unsigned paths_max;                           /* 0: WEIR__GIT_PATHS_DEFAULT */
    uint64_t bytes_max;                           /* 0: WEIR__GIT_TREE_MEMORY */
    const char *exceeded;                         /* what is told then; NULL: the number */
    uint64_t again_max;                           /* 0: WEIR__GIT_AGAIN_DEFAULT */
    void (*problem)(void *arg, const char *text); /* or NULL */
    void *problem_arg;
    struct weir_cancel *stop; /* or NULL */
    /* With get_arg: about the blob of that number at a path; or NULL. */
    int (*verdict)(void *arg, uint32_t number, const char *path, uint64_t *ret_verdict);
    /* About a commit, 0 for most of them; or NULL. */
    uint64_t (*mark)(void *arg, const struct weir__git_id *commit);
};

/* How a blob came to lie at a path. */
struct weir__git_look {
    const char *path;
    bool has_commit; /* by a commit of the history: */
    struct weir__git_id commit;
    int64_t time;
    enum weir__git_start kind;
    bool is_staged; /* or by the index; else by a ref */
    uint64_t _verdict;
    uint32_t _place;
};

/* What is known of a blob. */
struct weir__git_attribution {
    bool has_commit; /* a commit of the history brought it: */
    struct weir__git_id commit;
    int64_t time;
    enum weir__git_start
        kind; /* whether that commit is an ordinary one, of a stash, notes, a log, or lost */
    const char *path; /* there; if there is no commit, in the ref or in the index; or NULL */
    const char *ref;  /* a ref that leads to it without a commit, or NULL */
    bool is_staged;   /* the index has it */
    const char *const *paths; /* sorted */
    size_t paths_count;
    uint64_t paths_total;               /* distinct ones */
    bool has_more;                      /* there may be more than that */
    const struct weir__git_look *looks; /* the first one too; NULL: there is no other */
    size_t looks_count;
    bool is_cut; /* there may be other looks */
};

struct weir__git_attribute_stats {
    uint64_t trees;     /* that were read */
    uint64_t commits;   /* that were looked at */
    uint64_t problems;  /* told */
    uint64_t forgotten; /* times */
};

/* NoMemory. */
WEIR_MUST_USE int weir__git_attribute_new(struct weir__git_attribute **ret_attribute,
                                          const struct weir__git_attribute_options *options);
/* Another one for the same blobs, all of which are wanted by then; objects come by get_arg, and
 * problems go to problem_arg. */
WEIR_MUST_USE int weir__git_attribute_fork(struct weir__git_attribute **ret_attribute,
                                           const struct weir__git_attribute *from, void *get_arg,
                                           void *problem_arg);
/* Accepts NULL. */
void weir__git_attribute_free(struct weir__git_attribute *attribute);

/* The same blob twice has the same number; numbers count from 0. Before any run. NoMemory. */
WEIR_MUST_USE int weir__git_attribute_want(struct weir__git_attribute *attribute,
                                           const struct weir__git_id *blob, uint32_t *ret_number);

/* Looks at the commits order[from] up to order[until]. Trees that are missing or broken are told
 * and taken as empty. Canceled, NoMemory, TooLarge (paths of more than the memory allowed). */
WEIR_MUST_USE int weir__git_attribute_run(struct weir__git_attribute *attribute, uint32_t from,
                                          uint32_t until);

/* More commits, behind those of the order that were looked at; the order may lie elsewhere now. */
void weir__git_attribute_extend(struct weir__git_attribute *attribute, const uint32_t *order,
                                uint32_t order_count);

/* What the ref leads to, which is a tree or a blob and no commit. */
WEIR_MUST_USE int weir__git_attribute_ref(struct weir__git_attribute *attribute, const char *ref,
                                          const struct weir__git_id *id, enum weir__git_type type);

/* An entry of the index, after the commits: what one of them has there is not staged there. */
WEIR_MUST_USE int weir__git_attribute_staged(struct weir__git_attribute *attribute,
                                             const struct weir__git_index_entry *entry);

/* What the fork has found is added. NoMemory. */
WEIR_MUST_USE int weir__git_attribute_merge(struct weir__git_attribute *attribute,
                                            const struct weir__git_attribute *fork);

void weir__git_attribute_result(const struct weir__git_attribute *attribute, uint32_t number,
                                struct weir__git_attribution *ret_result);

void weir__git_attribute_read(const struct weir__git_attribute *attribute,
                              struct weir__git_attribute_stats *ret_stats);

#endif
