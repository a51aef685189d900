/* wanted.h - which objects a scan looks at that is not to look at all of them.
 *
 *     weir__git_wanted_options_init(&options);
 *     options.names = &names; options.ranges = ...; options.since = ...
 *     weir__git_wanted_init(&wanted, &options, why)
 *     wish.is_wanted = weir__git_wanted_is; wish.arg = &wanted;        pack_plan.h
 *     ... wanted.history ...                                          for attribution
 *     weir__git_wanted_fini(&wanted);
 *
 * What is asked for
 *   refs      patterns: all that the refs reach which match one of them
 *   ranges    A..B, A...B, A, ^A (refs_resolve.h): all that they reach, without what is excluded.
 *             Exclusions hold for the refs, too; where nothing but exclusions is given, all refs
 *             are meant
 *   since     of all that, commits of that second or later, by the committer's date
 *   nothing   all that is reachable. Without refs and ranges everything begins at all refs, the
 *             HEADs of all working trees and all stashes; and if there is no `since` either, what
 *             is staged in any working tree is in it, too
 * Logs of refs but that of the stash, and refs like FETCH_HEAD, lead to nothing here, unless a
 * pattern names the latter.
 *
 * A pattern matches a ref by its full name or by a shorter one ("refs/heads/main", "heads/main",
 * "main"; "origin/main"; "v1.0"). In it * stands for any bytes, slashes too, ? for one byte but a
 * slash, [a-z] for one of these; a pattern for a folder stands for all that is in it. One that
 * matches nothing is an error.
 *
 * What is wanted: these commits; the annotated tags on the way from a ref to them; and blobs.
 * Without `since` and exclusions, blobs are all that the trees of the commits have, and those that
 * refs name without a commit: exactly what `git rev-list --objects` lists, but for trees. Otherwise
 * they are those that one of the commits brought: that it has at a path at which none of its
 * parents has it. That is no less than git lists for a range (what comes back after it was removed
 * is brought again), and it does not depend on clocks. Tags: of a range those that lead to a commit
 * of it, or that the range names; with `since` those that were made since, or lead to a commit that
 * was.
 *
 * What is missing or broken is told, by its id, counted in `missing` (trees) and `problems` (all),
 * and the rest goes on. Blobs are not looked at: which of the set are not there at all shows when
 * they are scanned, weir__git_set_count(&wanted.objects) is how many there should be. Entries for
 * submodules lead to other repositories and are passed over.
 *
 * Cost: each distinct tree is read once; where parents are compared, trees that differ from theirs
 * are read with them. A tree bomb is taken apart once: a commit with more than
 * WEIR__GIT_WANTED_STEPS comparisons, or a merge of more than WEIR__GIT_WANTED_PARENTS parents, has
 * more wanted than needed (`cut` counts the former). Memory: history, and about 35 bytes for each
 * object and each tree (47 of SHA-256), at most bytes_max; TooLarge says so.
 *
 * Threads: one makes it; then any number may ask.
 *
 * Ownership: it owns its memory and borrows everything in its options, the names until it is
 * finished.
 */
#ifndef WEIR_SCAN_GIT_WANTED_H
#define WEIR_SCAN_GIT_WANTED_H

#include "refs_resolve.h"

#define WEIR__GIT_WANTED_BYTES   (UINT64_C(1) << 30) /* bytes_max by default */
#define WEIR__GIT_WANTED_STEPS   1000000u
#define WEIR__GIT_WANTED_PARENTS 64u

struct weir__git_wanted_options {
    const struct weir__git_names *names;
    const char *gitdir, *commondir;      /* where indexes are; NULL: none is read */
    const struct weir__git_graph *graph; /* or NULL */
    const struct weir__git_id *shallow;  /* of weir__git_store_shallow() */
    size_t shallow_count;
    bool is_partial; /* trees that are not there are counted and not told */
    const char *const *refs;
    size_t refs_count;
    const char *const *ranges;
    size_t ranges_count;
    int64_t since;                                /* or WEIR__GIT_SINCE_EVER */
    uint64_t bytes_max;                           /* 0: WEIR__GIT_WANTED_BYTES */
    uint64_t index_max;                           /* of an index; 0: its own limit */
    void (*problem)(void *arg, const char *text); /* or NULL */
    void *problem_arg;
    struct weir_cancel *stop; /* or NULL */
};

/* A tag whose commit decides whether it is wanted. */
struct weir__git_wanted_tag {
    struct weir__git_id tag, commit;
};

/* Trees that are to be compared: ids[from], and its parents' behind it. */
struct weir__git_wanted_pair {
    size_t from;
    unsigned parents;
};

/* A subtree of a parent, and the entry of the tree at hand that it is to be compared with. */
struct weir__git_wanted_sub {
    uint32_t place;
    struct weir__git_id id;
};

struct weir__git_wanted {
    struct weir__git_history history; /* walked, with trees */
    struct weir__git_set objects;     /* blobs, commits and tags; see weir__git_wanted_type() */
    uint64_t problems;                /* told, by the history too */
    uint64_t missing;                 /* trees that could not be read */
    uint64_t promised;                /* trees that are not in a partial clone; not told */
    uint64_t trees;                   /* that were read */
    uint64_t cut;                     /* commits that were not compared to the end */
    struct weir__git_wanted_options _options;
    struct weir__git_set _whole;    /* trees that are taken as they are, in the order of reading */
    struct weir__git_set _compared; /* what was compared, by a hash of the ids */
    struct weir__git_wanted_tag *_tags;
    size_t _tags_count, _tags_room;
    struct weir__git_wanted_pair *_pairs;
    size_t _pairs_count, _pairs_room;
    struct weir__git_id *_ids; /* of pairs */
    size_t _ids_count, _ids_room;
    struct weir__git_id *_ends; /* of ranges */
    size_t _ends_count;
    struct weir__git_wanted_sub *_subs;
    size_t _subs_count, _subs_room;
    struct weir__buffer _bytes, _others, _marks;
    uint64_t _steps;
    bool _is_narrow; /* parents are compared */
};

void weir__git_wanted_options_init(struct weir__git_wanted_options *options);

/* Does all of it. Invalid or NotFound for what was asked (a range, a pattern), TooLarge, Canceled,
 * NoMemory; and why. fini is due in any case. */
WEIR_MUST_USE int weir__git_wanted_init(struct weir__git_wanted *wanted,
                                        const struct weir__git_wanted_options *options,
                                        char why[WEIR__GIT_FLAW_MAX]);
/* Accepts NULL. */
void weir__git_wanted_fini(struct weir__git_wanted *wanted);

/* Whether what is staged is in it: nothing but what is reachable was asked for. */
bool weir__git_wanted_has_staged(const struct weir__git_wanted *wanted);

/* Fits `is_wanted` of struct weir__git_wish; the type is not looked at. */
bool weir__git_wanted_is(void *wanted, const struct weir__git_id *id, enum weir__git_type type);

/* What it was met as; number is one of the set. */
enum weir__git_type weir__git_wanted_type(const struct weir__git_wanted *wanted, uint32_t number);

/* Whether the pattern matches the name of a ref. TooLarge for a pattern above WEIR__PATTERN_MAX
 * bytes, NoMemory; 1 or 0. */
WEIR_MUST_USE int weir__git_ref_matches(const char *pattern, const char *name);

#endif
