/* scan_repo.h - histories of git repositories in a run; nobody but the files of scan_part.h
 * includes this.
 *
 *   scan_repo.c          repositories of a run: known, admitted, ended
 *   scan_repo_lead.c     one of them, from its opening to its end
 *   scan_repo_refs.c     its names, and what is wanted of it
 *   scan_repo_state.c    what is remembered of it
 *   scan_repo_shard.c    shards of its objects, by the threads that scan
 *   scan_repo_look.c     one object: the first look, and the second
 *   scan_repo_names.c    the names in trees
 *   scan_repo_origin.c   which commit brought what is suspect
 *
 * Who does what: a repository is a job of the scheduler (weir/sched.h). It waits in the lines of
 * its disk and of the pool without a thread; then one of the scheduler's threads leads it: opens
 * it, reads names, plans packs, and hands out shards of objects to the threads of the run, through
 * the same queue as everything else. A leader scans nothing, and a thread that scans waits for no
 * leader, so nobody can wait for himself.
 *
 * What is done: the first look goes over every object once, without a path, since nobody knows it
 * yet, and notes who is suspect: something was found, an archive has to be opened, it is too large
 * to be held. Then it is found out which commits brought these, and under which paths; and the
 * second look scans them, and nobody else, as files of those paths. So findings come from the
 * second look alone.
 *
 * An object that is too large for the part of one shard is looked at when all else is done, with
 * more memory, which one repository of the run has at a time.
 *
 * Limits: the frontier of a repository lets one shard for each thread be in work, and divides the
 * bytes of the pool's permit among them; suspects take at most WEIR__SCAN_SUSPECTS_BYTES, those
 * beyond are told.
 *
 * Ownership: a repository belongs to its leader and to each shard that is somewhere; the last one
 * frees it. A pack that is planned belongs to its shards in the same way.
 */
#ifndef WEIR_SCAN_SOURCE_SCAN_REPO_H
#define WEIR_SCAN_SOURCE_SCAN_REPO_H

#include <weir/frontier.h>
#include <weir/sched.h>

#include "brought.h"
#include "engine/whole.h"
#include "git/attribute.h"
#include "git/commit_about.h"
#include "git/message.h"
#include "git/refs_resolve.h"
#include "git/state.h"
#include "git/store.h"
#include "git/walk.h"
#include "git/wanted.h"
#include "hash.h"
#include "scan_part.h"

#define WEIR__SCAN_SUSPECTS_BYTES (UINT64_C(64) << 20)
#define WEIR__SCAN_LOOKED_BYTES   (UINT64_C(32) << 20)

/* Why an object is looked at again. */
enum weir__suspicion {
    WEIR__SUSPECT_FOUND = 1, /* something is in it */
    WEIR__SUSPECT_FILE = 2,  /* it is an archive, or has one in it: to be scanned as a file is */
    WEIR__SUSPECT_LARGE = 4, /* it was not built */
    WEIR__SUSPECT_BLOB = 8,  /* what it is: */
    WEIR__SUSPECT_COMMIT = 16,
    WEIR__SUSPECT_TAG = 32,
    WEIR__SUSPECT_DONE = 64,   /* it was looked at again, or need not be */
    WEIR__SUSPECT_KNOWN = 128, /* from an earlier scan */
    WEIR__SUSPECT_TOLD =
        256, /* something was told of it: a finding, or what could not be scanned */
};

/* Beside the id of a suspect. */
struct weir__suspect {
    uint32_t flags;
    uint32_t found;  /* at the first look */
    uint32_t wanted; /* its number in the attribution, of a blob */
};

struct weir__scan_repo {
    struct weir_job job;
    struct weir__scan *run;
    uint32_t users; /* guarded by the run's lock */
    /* Of the leader, and read by shards: */
    struct weir__scan_worker *w; /* scans nothing: tells, counts */
    struct weir__git_store *store;
    size_t id_size;
    struct weir_frontier shards;
    bool has_shards;
    uint64_t plan_bytes;  /* of the permit, for two plans */
    uint64_t shard_bytes; /* of it, for one shard */
    bool is_second;       /* which look it is */
    uint64_t
        large_bytes; /* for the one shard that is at work when large ones are looked at; or 0 */
    struct weir__scan_refs *refs;
    struct weir__git_names names;
    struct weir__git_wanted *wanted; /* NULL: all objects are */
    struct weir__scan_origins *origins;
    char *identity; /* where its objects are, device and inode */
    bool has_state;
    bool is_unchanged;             /* since what is remembered of it: all of that holds */
    struct weir__git_state *state; /* or NULL */
    uint8_t digest[WEIR__HASH_SIZE];
    struct weir__git_state_ids seen; /* under the lock */
    /* Of both, under the lock: */
    struct weir_lock lock;
    struct weir__git_set suspects; /* with a struct weir__suspect each; at the second look only the
                                      marks of who is done change */
    uint64_t unlisted;             /* suspects beyond the limit */
    /* Objects that may be met again: loose ones, and those of packs where there are several. Those
     * beyond the limit are looked at again. */
    struct weir__git_set looked;
    bool is_repeated; /* others may have what is met now */
    size_t path_length;
    char path[]; /* as it was given, with a slash at its end unless it is empty */
};

/* What names lead to, and how. */
struct weir__scan_refs {
    struct weir__git_refs refs;
    struct weir__git_graph *graph; /* or NULL */
    struct weir__git_id *shallow;
    size_t shallow_count;
};

/* A pack that is open, for its shards. */
struct weir__scan_pack {
    struct weir__git_pack pack;
    struct weir__git_plan plan;
    uint32_t users; /* guarded by the run's lock */
};

/* Some of the objects: families of a pack, or loose ones. */
struct weir__scan_shard {
    struct weir__scan_repo *repo;
    struct weir__scan_pack *pack; /* NULL: loose ones */
    uint32_t from, until;         /* of the plan; of loose ones: this part of so many */
    struct weir_frontier_permit permit;
};

/* What a thread keeps from one shard to the next. */
struct weir__scan_hand;
/* Accepts NULL. */
void weir__scan_hand_free(struct weir__scan_hand *hand);

/* --- scan_repo.c --- */
WEIR_MUST_USE int weir__scan_repos_init(struct weir__scan *run);
/* Waits for leaders, at most as long as their crew does. Returns how many were left behind. */
uint64_t weir__scan_repos_drain(struct weir__scan *run);
void weir__scan_repos_fini(struct weir__scan *run);
/* A repository at that path: one that is not known yet is taken into the run. What keeps it from
 * that is told. */
void weir__scan_repo_found(struct weir__scan_worker *w, const char *path);
void weir__scan_repo_hold(struct weir__scan_repo *repo);
void weir__scan_repo_drop(struct weir__scan_repo *repo);
/* Tells of an object, or of the repository as a whole when id is NULL. */
void weir__scan_repo_tell(struct weir__scan_worker *w, const struct weir__scan_repo *repo,
                          const struct weir__git_id *id, const char *what, const char *why);

/* Tells, by its leader, that not all of it could be read. arg: the repository. */
void weir__scan_repo_problem(void *arg, const char *text);

/* --- scan_repo_lead.c --- */
/* All of it, by the thread that leads. 0, Canceled, or what it failed with, which is told. */
WEIR_MUST_USE int weir__scan_repo_lead(struct weir__scan_repo *repo);

/* --- scan_repo_refs.c --- */
WEIR_MUST_USE int weir__scan_refs_read(struct weir__scan_repo *repo);
/* Finds out what is wanted, if not all is. What was asked and is not there is told. */
WEIR_MUST_USE int weir__scan_repo_narrow(struct weir__scan_repo *repo);
/* Both accept NULL. */
void weir__scan_refs_free(struct weir__scan_refs *refs);
void weir__scan_wanted_free(struct weir__git_wanted *wanted);

/* --- scan_repo_state.c --- */
void weir__scan_state_load(struct weir__scan_repo *repo);
/* Objects that were looked at to their end. */
void weir__scan_state_seen(struct weir__scan_repo *repo, const struct weir__git_id *ids,
                           size_t count);
/* Adds the suspects that are remembered. TooLarge, NoMemory. */
WEIR_MUST_USE int weir__scan_state_recall(struct weir__scan_repo *repo);
/* All was done: remembers it. */
void weir__scan_state_keep(struct weir__scan_repo *repo);
void weir__scan_state_drop(struct weir__scan_repo *repo);

/* --- scan_repo_shard.c --- */
/* Hands out all objects, and waits until they were looked at. */
WEIR_MUST_USE int weir__scan_repo_pass(struct weir__scan_repo *repo);
/* The second look at those suspects that did not fit into the memory of a shard: one shard at a
 * time, of one repository of the run, with a part of what all repositories may take. */
WEIR_MUST_USE int weir__scan_repo_pass_large(struct weir__scan_repo *repo);
/* For a thread that scans. */
void weir__scan_shard(struct weir__scan_worker *w, struct weir__scan_shard *shard);

/* --- scan_repo_look.c --- */
/* At the end of a shard: what the thread has seen of it. */
void weir__scan_hand_flush(struct weir__scan_worker *w, struct weir__scan_repo *repo);
int weir__scan_look_first(struct weir__scan_worker *w, struct weir__scan_repo *repo,
                          const struct weir__git_object *object);
int weir__scan_look_second(struct weir__scan_worker *w, struct weir__scan_repo *repo,
                           const struct weir__git_object *object);
/* The mark of what a suspect is. */
uint32_t weir__scan_kind(enum weir__git_type type);
/* Notes it. */
void weir__scan_suspect(struct weir__scan_worker *w, struct weir__scan_repo *repo,
                        const struct weir__git_id *id, uint32_t flags, uint64_t found);
/* The flags of a suspect that was not looked at again; 0: it is none. */
uint32_t weir__scan_suspect_flags(struct weir__scan_repo *repo, const struct weir__git_id *id);

/* --- scan_repo_names.c --- */
/* What was found out about names, by one thread; made with the first. */
struct weir__scan_judged;
/* Accepts NULL. */
void weir__scan_judged_free(struct weir__scan_judged *judged);
/* edit: how the tree was made from one that was looked at; or NULL. */
WEIR_MUST_USE int weir__scan_look_at_tree(struct weir__scan_worker *w, struct weir__scan_repo *repo,
                                          const struct weir__git_object *object,
                                          struct weir__scan_judged **judged,
                                          const struct weir__edit *edit);

/* --- scan_repo_origin.c --- */
/* Where an object comes from, and its path there. */
struct weir__scan_origin {
    const char *path;
    struct weir__brought brought;
    /* What the texts of a message's origin lie in. */
    char object[WEIR__GIT_HEX_SIZE], name[WEIR__GIT_MESSAGE_NAME_MAX];
    struct weir__git_about about;
};
/* Finds out where all suspects come from. */
WEIR_MUST_USE int weir__scan_origins_find(struct weir__scan_repo *repo);
/* Accepts NULL. */
void weir__scan_origins_free(struct weir__scan_origins *origins);
/* What was found out about a suspect that is a blob. */
void weir__scan_origin_where(const struct weir__scan_repo *repo, uint32_t number,
                             struct weir__git_attribution *ret_where);
/* Of the suspect of that number; valid as long as the repository. */
void weir__scan_origin_of_blob(const struct weir__scan_repo *repo, uint32_t number,
                               struct weir__scan_origin *ret_origin);
/* Of a commit or a tag. */
void weir__scan_origin_of_message(const struct weir__scan_repo *repo,
                                  const struct weir__git_object *object,
                                  struct weir__scan_origin *ret_origin);

#endif
