/* refs.h - the names of a repository, and what its logs remember.
 *
 *     weir__git_refs_init(&refs, &options);
 *     weir__git_refs_read(&refs, why)
 *     for (i = 0; i < refs.count; i++)
 *         ... weir__git_refs_name(&refs, i), refs.list[i].id ...
 *     weir__git_refs_fini(&refs);
 *
 * What is read: packed-refs; the files below refs/ of the common folder; HEAD; HEAD and refs/ of
 * every linked worktree; with has_pseudo FETCH_HEAD, ORIG_HEAD, MERGE_HEAD and their like, those of
 * other worktrees by names as git has them (worktrees/NAME/ORIG_HEAD, main-worktree/ORIG_HEAD);
 * with has_logs every id in every log below logs/. The log of refs/stash is always read: it is
 * where all stashes but the newest live. Refs below refs/replace/ are listed and never applied.
 * Reftable is refused (Unsupported).
 *
 * Promises: the list is sorted by name, each name once; a loose ref hides a packed one. Symbolic
 * refs are resolved, through at most WEIR__GIT_SYMBOLIC_MAX others; one that leads to nothing is
 * counted and left out, since a branch without a commit is no error. A ref that is broken (its
 * content is no id, its name is not one that git allows, it is a symlink to elsewhere) is told,
 * counted and left out; the rest is read. No symlink is followed: one that says "refs/..." is a
 * symbolic ref. What was left out leads nowhere, but somebody wrote it: these names, and those that
 * they say, are kept beside the list, sorted, each once, without those that are in it.
 *
 * Limits: refs_max names and logs_max ids of logs (TooLarge), a name of WEIR__GIT_REF_NAME_MAX
 * bytes, WEIR__GIT_REF_FILE_MAX bytes of a loose ref, 1 GiB of packed-refs, 256 MiB of one log;
 * with bytes_max no more than that in all.
 *
 * Ownership: refs own their memory; names are valid until fini.
 */
#ifndef WEIR_SCAN_GIT_REFS_H
#define WEIR_SCAN_GIT_REFS_H

#include "commit.h"
#include "commit_set.h"

#define WEIR__GIT_REF_NAME_MAX     4096u
#define WEIR__GIT_REF_FILE_MAX     65536u
#define WEIR__GIT_SYMBOLIC_MAX     5u
#define WEIR__GIT_REFS_DEFAULT     10000000u
#define WEIR__GIT_WORKTREES_MAX    65536u
#define WEIR__GIT_REFS_PROBLEM_MAX 320u

enum weir__git_ref_kind {
    WEIR__GIT_REF_BRANCH, /* refs/heads/ */
    WEIR__GIT_REF_REMOTE, /* refs/remotes/ */
    WEIR__GIT_REF_TAG,    /* refs/tags/ */
    WEIR__GIT_REF_NOTES,  /* refs/notes/ */
    WEIR__GIT_REF_STASH,  /* refs/stash */
    WEIR__GIT_REF_REPLACE,
    WEIR__GIT_REF_OTHER, /* anything else below refs/ */
    WEIR__GIT_REF_HEAD,  /* HEAD, worktrees/NAME/HEAD, main-worktree/HEAD */
    WEIR__GIT_REF_PSEUDO /* FETCH_HEAD and the like; what it names may be gone */
};

struct weir__git_ref {
    enum weir__git_ref_kind kind;
    bool is_loose, is_symbolic, has_peeled;
    struct weir__git_id id;
    struct weir__git_id peeled; /* of a tag, if packed-refs knows it */
    size_t _name, _target;      /* where they begin among the names */
};

/* An id that a log knows. */
struct weir__git_refs_log {
    struct weir__git_id id;
    bool is_stash;
};

struct weir__git_refs_options {
    const char *gitdir;    /* where HEAD and the index are */
    const char *commondir; /* where refs/ is; the same but in linked worktrees */
    size_t id_size;
    bool has_logs, has_pseudo;
    size_t refs_max, logs_max;                    /* 0: WEIR__GIT_REFS_DEFAULT */
    uint64_t bytes_max;                           /* of all that is kept; 0: no limit but those */
    uint64_t reading_max;                         /* of what is needed to read it, likewise */
    void (*problem)(void *arg, const char *text); /* or NULL */
    void *problem_arg;
};

struct weir__git_refs {
    struct weir__git_ref *list;
    size_t count;
    struct weir__git_refs_log *logs;
    size_t logs_count;
    uint64_t problems; /* told */
    uint64_t dangling; /* symbolic refs to nothing */
    size_t nowhere_count;
    struct weir__git_refs_options _options;
    size_t _room, _logs_room, _nowhere_room;
    size_t *_nowhere; /* where they begin among the names */
    struct weir__buffer _names, _folders, _entries, _file;
    struct weir__git_set _logged[2]; /* ids in logs: of others, of the stash */
};

void weir__git_refs_init(struct weir__git_refs *refs, const struct weir__git_refs_options *options);
/* Accepts NULL. */
void weir__git_refs_fini(struct weir__git_refs *refs);

/* Once. NotFound when there is no such folder, Unsupported for reftable, TooLarge, Io, NoMemory;
 * and why. What was read by then may be used. */
WEIR_MUST_USE int weir__git_refs_read(struct weir__git_refs *refs, char why[WEIR__GIT_FLAW_MAX]);

const char *weir__git_refs_name(const struct weir__git_refs *refs, size_t index);
/* What a symbolic one names; "" for the others. */
const char *weir__git_refs_target(const struct weir__git_refs *refs, size_t index);

/* A name that leads nowhere, of nowhere_count: of a ref that was left out, or what that one says.
 * Any bytes, but no more than WEIR__GIT_REF_NAME_MAX of them. */
const char *weir__git_refs_nowhere(const struct weir__git_refs *refs, size_t index);

/* NULL when there is none of that name. */
const struct weir__git_ref *weir__git_refs_find(const struct weir__git_refs *refs,
                                                const char *name);

/* --- pure parts --- */

/* What git allows for a name that begins with "refs/". */
bool weir__git_ref_name_is_valid(const char *name, size_t length);

/* A line of packed-refs. */
struct weir__git_packed_ref {
    struct weir__git_id id, peeled;
    bool has_peeled;
    const char *name; /* not ended by NUL */
    size_t name_length;
};

/* The next ref at *at, which is moved behind it: 1, 0 at the end, Corrupt for a line that is none
 * and is passed over; why names the line, and the name is what stands where it should be, or the
 * whole line. *line counts lines. */
WEIR_MUST_USE int weir__git_packed_ref_next(const char *bytes, size_t length, size_t id_size,
                                            size_t *at, size_t *line,
                                            struct weir__git_packed_ref *ret_ref,
                                            char why[WEIR__GIT_FLAW_MAX]);

/* The two ids of the next line of a log: as above. */
WEIR_MUST_USE int weir__git_log_next(const char *bytes, size_t length, size_t id_size, size_t *at,
                                     struct weir__git_id *ret_old, struct weir__git_id *ret_new);

#endif
