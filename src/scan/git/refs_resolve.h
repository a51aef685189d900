/* refs_resolve.h - what people type for a commit: main, HEAD~3, v1.0^2, 1a2b3c4, A..B.
 *
 * A name is one of these, tried in this order:
 *   HEAD or @
 *   all digits of an id
 *   a ref: as it is (refs/heads/main), or behind refs/, refs/tags/, refs/heads/, refs/remotes/, or
 *   refs/remotes/NAME/HEAD
 *   an id cut short, at least four digits of it, if one commit (or a tag of one) begins so
 * and may be followed by any of ~N (N first parents up), ^N (the N-th parent; ^0 is the commit
 * itself), ^{} and ^{commit}. A range is A..B (in B and not in A), A...B (in one of them and not in
 * both), ^A (not in A), or A (all that it reaches); an end that is left out is HEAD. Logs (@{1}),
 * searches (:/text) and paths (A:b) are refused by name.
 *
 * A date is "2024-05-01", with " 12:30" or "T12:30:00" behind it, and with Z or +02:00 behind that
 * (else in the local zone; without a time, at midnight); "@1700000000", seconds since 1970; "now",
 * "today", "yesterday" (midnight, in the local zone); or "2 weeks ago", "2.weeks.ago", "2 weeks",
 * in seconds, minutes, hours, days, weeks, months or years. Months and years are those of the
 * calendar: one that has no such day has its next, as mktime() sees it.
 *
 * Ownership: nothing here owns anything.
 */
#ifndef WEIR_SCAN_GIT_REFS_RESOLVE_H
#define WEIR_SCAN_GIT_REFS_RESOLVE_H

#include "commit_history.h"
#include "refs.h"

#define WEIR__GIT_ABBREV_MIN   4u
#define WEIR__GIT_ABBREV_MATCH 64u
#define WEIR__GIT_STEPS_UP_MAX 10000000u
#define WEIR__GIT_REV_MAX      4096u

struct weir__git_names {
    const struct weir__git_refs *refs;
    size_t id_size;
    weir__git_get_fn *get;
    void *get_arg;
    /* The ids that begin with these digits (in lower case): at most `max` of them, and returns how
     * many that were. NULL: ids cannot be cut short. */
    size_t (*begin_with)(void *arg, const char *digits, size_t count, struct weir__git_id *ids,
                         size_t max);
    void *begin_arg;
};

struct weir__git_rev_range {
    enum weir__git_rev_kind {
        WEIR__GIT_REV_FROM,     /* right and all that it reaches */
        WEIR__GIT_REV_NOT,      /* nothing that left reaches */
        WEIR__GIT_REV_BETWEEN,  /* in right and not in left */
        WEIR__GIT_REV_SYMMETRIC /* in one and not in both */
    } kind;
    struct weir__git_id left, right; /* of commits */
};

/* The commit that the text names. Invalid (a form that is not known, or ambiguous), NotFound, or
 * what get failed with; and why, which quotes the text. */
WEIR_MUST_USE int weir__git_resolve(const struct weir__git_names *names, const char *text,
                                    struct weir__git_id *ret_commit, char why[WEIR__GIT_FLAW_MAX]);

WEIR_MUST_USE int weir__git_resolve_range(const struct weir__git_names *names, const char *text,
                                          struct weir__git_rev_range *ret_range,
                                          char why[WEIR__GIT_FLAW_MAX]);

/* What a ref of that kind is for a history: one of WEIR__GIT_START_*. */
unsigned weir__git_ref_start(enum weir__git_ref_kind kind);

/* The starts of a range, added to a history that was not walked yet. */
WEIR_MUST_USE int weir__git_history_start_range(struct weir__git_history *history,
                                                const struct weir__git_rev_range *range);

/* The starts of every ref and every log. Replacements are refs like others, and take nobody's
 * place. Tags are followed; what leads to a tree or a blob goes to `other`, which may be NULL. What
 * is missing or broken is told by the history; what logs have lost is not. */
WEIR_MUST_USE int
weir__git_history_start_refs(struct weir__git_history *history, const struct weir__git_refs *refs,
                             int (*other)(void *arg, const char *ref, const struct weir__git_id *id,
                                          enum weir__git_type type),
                             void *arg);

/* now: seconds since 1970. Invalid, and why. */
WEIR_MUST_USE int weir__git_date_parse(const char *text, int64_t now, int64_t *ret_time,
                                       char why[WEIR__GIT_FLAW_MAX]);

#endif
