/* scan_repo.h - histories of git repositories in a run; nobody but the files of scan_part.h
 * includes this.
 *
 *   scan_repo.c          repositories of a run: known, admitted, ended
 *   scan_repo_line.c     the line of those that are not small
 *   scan_repo_share.c    what memory one of them asks for, and which part of it gets how much
 *   scan_repo_lead.c     one of them, from its opening to its end
 *   scan_repo_refs.c     its names, and what is wanted of it
 *   scan_repo_state.c    what is remembered of it
 *   scan_repo_again.c    how a scan that has little to do is spared what takes time
 *   scan_repo_packs.c    by what its packs are known again
 *   scan_repo_gone.c     whether something is gone that was seen
 *   scan_repo_send.c     shards on their way
 *   scan_repo_shard.c    shards of its objects, by the threads that scan
 *   scan_repo_look.c     one object: the first look, and the second
 *   scan_repo_suspect.c  who was looked at, and who is suspect
 *   scan_repo_large.c    objects that are too large for a shard
 *   scan_repo_names.c    the names in trees
 *   scan_repo_staged.c   what is staged in its working trees
 *   scan_repo_missing.c  what objects name and nobody has
 *   scan_repo_origin.c   which commit brought what is suspect
 *   scan_repo_slice.c    the same, by the threads that scan
 *   scan_repo_verdict.c  at which of its paths it has to be looked at
 *   scan_repo_lost.c     commits that nothing leads to
 *   scan_repo_tags.c     tags, and what leads to them
 *
 * Who does what: a repository is a job of the scheduler (weir/sched.h). It waits in the lines of
 * its disk and of the pool without a thread; then one of the scheduler's threads leads it: opens
 * it, reads names, plans packs, and hands out shards of objects to the threads of the run, through
 * the same queue as everything else. A leader scans no object, and a thread that scans waits for no
 * leader, so nobody can wait for himself.
 *
 * What is done: the first look goes over every object once, without a path, since nobody knows it
 * yet, and notes who is suspect: something was found, an archive has to be opened, it is too large
 * to be held. Then it is found out which commits brought these, and under which paths; and the
 * second look scans them, and nobody else, as files of those paths. So findings come from the
 * second look alone.
 *
 * An object that is too large for the part of one shard is looked at when all else is done, by a
 * job of its own, with more memory and leave to spill.
 *
 * Limits: the frontier of a repository lets one shard for each thread be in work, and divides the
 * bytes of the pool's permit among them; all else that is kept has its part of struct
 * weir__scan_share.
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
#include "git/index_file.h"
#include "git/message.h"
#include "git/refs_resolve.h"
#include "git/state.h"
#include "git/store.h"
#include "git/walk.h"
#include "git/wanted.h"
#include "hash.h"
#include "scan_part.h"

/* What the parts of one repository may take beside its plans and shards, in bytes. */
struct weir__scan_share {
    uint64_t suspects;  /* those beyond are told */
    uint64_t looked;    /* objects that may be met again; those beyond are looked at twice */
    uint64_t seen;      /* to be remembered; those beyond come with a later scan */
    uint64_t unread;    /* told as such; with more nothing is remembered */
    uint64_t recalled;  /* what is remembered of suspects; with more all is scanned */
    uint64_t refs;      /* names and logs */
    uint64_t refs_read; /* while these are read */
    uint64_t index;     /* what is staged */
    uint64_t graph;     /* with more it is not used */
    uint64_t history;   /* commits; with more nobody finds out where things come from */
    uint64_t trees;     /* of the search for origins; with more they are read again */
    uint64_t texts;     /* authors, dates */
    uint64_t wanted;    /* of a narrowed scan; with more it fails */
    uint64_t named;     /* what is not in the same pack; those beyond are looked for at once */
    uint64_t folders;   /* whose names may have something in them; those beyond are told */
    uint64_t told;      /* what was, so that it is told once */
    uint64_t lineage;   /* what leads to what in trees; with more they are read again */
    /* Of what looks up single objects: the leader, while nobody walks; a thread whose pack has
     * bases elsewhere; and one that walks nothing. build: what is there while one object is built.
     */
    struct weir__scan_lookups {
        uint64_t cache, table, object, build;
    } led, each, alone;
};

/* Of the pool: for each shard that is in work; and the least that a walk is of use with. */
#define WEIR__SCAN_RING_EACH (UINT64_C(1) << 20)
#define WEIR__SCAN_DELTA_MIN (UINT64_C(8) << 20)
/* Of what all repositories together may take, for the large objects of one. */
#define WEIR__SCAN_LARGE_PART 4u

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
    WEIR__SUSPECT_TREE = 512,      /* what it is, of one that is missing */
    WEIR__SUSPECT_NAMED = 1024,    /* its name is a finding, or has one in it */
    WEIR__SUSPECT_MISSING = 2048,  /* it is named, and not there */
    WEIR__SUSPECT_PROMISED = 4096, /* by the remote of a partial clone */
    WEIR__SUSPECT_REACHED = 8192,  /* it is missing, and a ref leads to who names it; or it is a tag
                                      that a ref leads to */
    WEIR__SUSPECT_LOGGED = 16384,  /* a tag that a log knows, or FETCH_HEAD and its like */
    WEIR__SUSPECT_LINKED = 32768,  /* it is missing, and an object names it, not only a ref */
};

/* Sums of the ids of loose objects, word by word, and their number. */
#define WEIR__SCAN_LOOSE_SUMS 5
/* Each byte of the sums that are remembered where something could not be read. */
#define WEIR__SCAN_LOOSE_UNREAD 0xff

/* Beside the id of a suspect. */
struct weir__suspect {
    uint32_t flags;
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
    uint64_t plan_bytes;  /* of the permit, for plans */
    bool has_one_plan;    /* at a time */
    uint64_t delta_bytes; /* that it can make use of for shards */
    uint64_t unpacked;    /* what its largest pack may take for a path of deltas */
    uint64_t kept_bytes;  /* that it can make use of beside shards, with a limit */
    uint64_t objects;     /* in packs, about */
    uint32_t at_once;     /* shards in work */
    uint64_t shard_bytes; /* of the permit, for one shard */
    struct weir__scan_share share;
    bool is_second;    /* which look it is */
    bool has_large;    /* large ones are left, and all else is done */
    bool is_large;     /* it is a job for these */
    bool is_alone;     /* one shard is in work at a time, and has large_bytes */
    bool is_last;      /* what does not fit now is told */
    bool is_for_trees; /* this pass is for those of the set below */
    uint64_t large_bytes;
    struct weir__git_spill spill;
    struct weir__scan_repo *large_next; /* in line, under the run's lock */
    bool is_small;                      /* others may be large: it does not wait for them */
    struct weir__scan_line *line;       /* of one that is not, and who is behind it in there */
    struct weir__scan_repo *line_next;
    struct weir__scan_refs *refs;
    struct weir__git_names names;
    struct weir__git_wanted *wanted; /* NULL: all objects are */
    struct weir__scan_origins *origins;
    char *identity;   /* where its objects are */
    bool is_untraced; /* not all that refs lead to could be read, which was told; under the lock */
    bool has_unknown; /* an index could not be read: nobody knows what its pack has */
    bool is_unattributed; /* nobody has found out where things come from, which was told */
    bool has_state;
    bool is_unchanged;             /* since what is remembered of it: all of that holds */
    struct weir__git_state *state; /* or NULL */
    uint8_t digest[WEIR__HASH_SIZE];
    struct weir__git_state_ids seen; /* under the lock */
    /* What the store holds, at the beginning: */
    uint64_t loose[WEIR__SCAN_LOOSE_SUMS];
    uint64_t loose_known[WEIR__SCAN_LOOSE_SUMS]; /* those that are remembered */
    uint64_t loose_time_ns;                      /* when the last of them was changed */
    struct weir__git_set changed; /* those that are remembered, and were changed since */
    bool has_changed;             /* there are such */
    bool is_changed;              /* more than fit into the set: all are taken for it */
    uint8_t held[WEIR__HASH_SIZE];
    bool is_steady; /* its packs are still those */
    bool is_same;   /* it is what was remembered, when all of it was seen */
    bool is_wary;   /* something is gone that was seen: what names others is looked at once more */
    bool has_there;
    struct weir__git_there there;            /* which of the remembered ids it has */
    struct weir__git_packs *listed;          /* by who has admitted it; or NULL */
    uint64_t listed_bytes;                   /* of that, counted in those of the run */
    struct weir__git_set packs;              /* their marks, with a struct weir__scan_mark each */
    uint32_t *pack_numbers;                  /* there, of those that are listed; NULL: no memory */
    uint32_t pack_count;                     /* of these */
    uint8_t midx[WEIR__GIT_STATE_MARK_SIZE]; /* a mark of multi-pack-indexes that are right; or 0 */
    /* Of both, under the lock: */
    struct weir_lock lock;
    bool is_midx_told;         /* that it is wrong */
    struct weir__git_set told; /* hashes of what was: each damage once, whoever meets it */
    bool has_links;            /* this scan has looked at something that names others */
    uint64_t work, work_max;   /* bytes that this pass has built, and may build */
    bool is_overworked;        /* it was too much, which was told */
    bool has_unlisted;         /* suspects that there is no room for, which was told */
    /* Of threads that looked something up in a shard, for the next one: packs are listed there, and
     * bases at hand. As many as shards in work, each in the share of a thread. */
    struct weir__git_store *idle[WEIR__SCAN_THREADS_MAX];
    unsigned idle_count;
    /* Objects that could not be read in one place: they are not remembered, even if they were read
     * in another, so that they are told until they are mended. With the number of such places. */
    struct weir__git_set unread;
    bool has_unread, has_unread_loose; /* such, or a pack; one that is loose */
    bool has_damage;                   /* one that was read by an earlier scan */
    bool has_hidden;                   /* a folder: nobody knows what is in there */
    struct weir__git_set suspects; /* with a struct weir__suspect each; at the second look only the
                                      marks of who is done change */
    struct weir__scan_few *few;    /* one for each suspect; NULL: each has a turn, in any order */
    bool is_forgetful;             /* not all of both are in there: nothing is to be remembered */
    struct weir__git_lineage lineage;
    /* Objects that may be met again: loose ones, and those of packs where there are several. Those
     * beyond the limit are looked at again. */
    struct weir__git_set looked;
    bool is_repeated; /* others may have what is met now */
    /* What objects name that is not in the same pack, with its marks. */
    struct weir__git_set named;
    struct weir__git_set folders; /* whose names may have something in them */
    struct weir__git_set trees;   /* that did not fit into the memory of a shard */
    uint64_t number;              /* no other repository of the run has it */
    bool is_doubtful;             /* something about its origins was told */
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

/* A suspect that is looked at by itself. */
struct weir__scan_few {
    uint32_t number; /* among suspects */
    uint32_t turn;   /* those that have the same one are looked at by the same thread */
};

/* A pack that is open, for its shards. */
struct weir__scan_pack {
    struct weir__git_pack pack;
    struct weir__git_plan plan;
    bool is_promisor; /* what its objects name, a remote has */
    bool is_planned;
    bool is_doubted;              /* it is not what was seen: all of it is read */
    uint32_t users;               /* guarded by the run's lock */
    uint32_t seen;                /* of its objects, to their end; likewise */
    struct weir__scan_mark *mark; /* or NULL */
};

/* What a shard is of. */
enum weir__scan_part {
    WEIR__PART_PACK,  /* families of a pack */
    WEIR__PART_LOOSE, /* loose objects */
    WEIR__PART_FEW,   /* suspects, one by one */
    WEIR__PART_SLICE, /* commits of the history, for origins */
};

/* Some of what there is to do. */
struct weir__scan_shard {
    struct weir__scan_repo *repo;
    struct weir__scan_pack *pack; /* or NULL */
    enum weir__scan_part part;
    uint32_t from, until; /* of the plan, or of the order; of others: this part of so many */
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
/* Whether the directory is a repository, or one that is broken. */
bool weir__scan_repo_is(const char *path);
/* Whether these objects are those of a repository that is known. */
bool weir__scan_repo_knows(struct weir__scan *run, const struct stat *objects);
/* A repository at that path: one that is not known yet is taken into the run. What keeps it from
 * that is told. */
void weir__scan_repo_found(struct weir__scan_worker *w, const char *path);
/* When nobody has it any more. */
void weir__scan_repo_free(struct weir__scan_repo *repo);
/* Tells of an object, once, or of the repository as a whole when id is NULL. */
void weir__scan_repo_tell(struct weir__scan_worker *w, struct weir__scan_repo *repo,
                          const struct weir__git_id *id, const char *what, const char *why);

/* Whether this was not told yet; from now on it was. Who is told "no" has met a gap all the same.
 */
bool weir__scan_repo_is_news(struct weir__scan_worker *w, struct weir__scan_repo *repo,
                             const void *bytes, size_t length);

/* Tells, by its leader, that not all of it could be read. arg: the repository. */
void weir__scan_repo_problem(void *arg, const char *text);

/* Tells, each once, what a store of it could not read of its folders: that is incomplete, and what
 * is remembered of origins does not hold. */
void weir__scan_repo_flaws(struct weir__scan_worker *w, struct weir__scan_repo *repo,
                           const struct weir__git_store *store);

/* Before a store of it is closed: tells these, and, once, that its multi-pack-index is not to be
 * believed. Accepts NULL. */
void weir__scan_repo_doubt(struct weir__scan_worker *w, struct weir__scan_repo *repo,
                           const struct weir__git_store *store);

/* The end of one that is known to nobody else any more; result is what kept it from running, if
 * that has not been told. */
void weir__scan_repo_over(struct weir__scan_repo *repo, int result);

/* --- scan_repo_share.c --- */
/* What all repositories may take. */
struct weir_pool_config weir__scan_share_all(const struct weir__scan_options *options);
/* How many may wait. */
uint32_t weir__scan_share_waiting(const struct weir__scan_options *options);
/* Whether a repository can ask for so little of these bytes that it counts as small. */
bool weir__scan_share_has_small(const struct weir__scan_options *options, uint64_t pool);
/* Sets what the job asks for. TooLarge, and why, when it can never have it. */
WEIR_MUST_USE int weir__scan_share_ask(struct weir__scan_repo *repo,
                                       const struct weir__git_store *store,
                                       char why[WEIR__SCAN_WHY_MAX]);
/* Why a part does not fit: it had so much, and what gives it twice as much. */
void weir__scan_share_exceeded(const struct weir__scan_repo *repo, const char *what, uint64_t had,
                               char why[WEIR__SCAN_WHY_MAX]);
/* The same of refs, of which there is a file that says about how many there are. */
void weir__scan_share_refs_exceeded(const struct weir__scan_repo *repo,
                                    char why[WEIR__SCAN_WHY_MAX]);
/* The option by which an object of that size fits into memory, as what has to be done. */
void weir__scan_share_cure(const struct weir__scan_repo *repo, uint64_t size, bool is_tree,
                           char cure[WEIR__SCAN_WHY_MAX]);
/* Divides what the job has got. */
void weir__scan_share_take(struct weir__scan_repo *repo);
/* Whether threads look for origins beside the leader: each can read an ordinary tree. */
bool weir__scan_share_has_slices(const struct weir__scan_repo *repo);
void weir__scan_share_lookups(const struct weir__scan_lookups *share,
                              struct weir__git_store_options *ret_options);

/* --- scan_repo_send.c --- */
void weir__scan_repo_hold(struct weir__scan_repo *repo);
void weir__scan_repo_drop(struct weir__scan_repo *repo);
/* Accepts NULL. */
void weir__scan_pack_drop(struct weir__scan *run, struct weir__scan_pack *pack);
/* Waits for room in the frontier, and in the queue. */
WEIR_MUST_USE int weir__scan_shard_send(struct weir__scan_repo *repo, struct weir__scan_pack *pack,
                                        enum weir__scan_part part, uint32_t from, uint32_t until);
/* Until all that were sent are done: who has all the bytes is alone. */
WEIR_MUST_USE int weir__scan_shards_wait(struct weir__scan_repo *repo);

/* --- scan_repo_lead.c --- */
/* All of it, by the thread that leads. 0, Canceled, or what it failed with, which is told. */
WEIR_MUST_USE int weir__scan_repo_lead(struct weir__scan_repo *repo);

/* --- scan_repo_refs.c --- */
WEIR_MUST_USE int weir__scan_refs_read(struct weir__scan_repo *repo);
/* Finds out what is wanted, if not all is. What was asked and is not there is told. */
WEIR_MUST_USE int weir__scan_repo_narrow(struct weir__scan_repo *repo);
/* Tells what is in the names of refs, unless the scan is narrowed. */
void weir__scan_refs_names(struct weir__scan_repo *repo);
/* Both accept NULL. */
void weir__scan_refs_free(struct weir__scan_refs *refs);
void weir__scan_wanted_free(struct weir__git_wanted *wanted);

/* --- scan_repo_state.c --- */
void weir__scan_state_load(struct weir__scan_repo *repo);
/* Whether refs, logs and index are those of what is remembered. */
bool weir__scan_state_is_of_now(const struct weir__scan_repo *repo);
/* Whether the object was looked at before, and is not looked at in this scan. type: 0 if it is not
 * known. */
bool weir__scan_state_spares(const struct weir__scan_repo *repo, const struct weir__git_id *id,
                             enum weir__git_type type);
/* Objects that were looked at to their end. */
void weir__scan_state_seen(struct weir__scan_repo *repo, const struct weir__git_id *ids,
                           size_t count);
/* An object that could not be read, which was told: it is not to be remembered as seen. */
void weir__scan_state_unread(struct weir__scan_repo *repo, const struct weir__git_id *id,
                             bool is_loose);
bool weir__scan_state_is_unread(struct weir__scan_repo *repo, const struct weir__git_id *id);
/* Whether something is remembered as missing, or as promised. */
bool weir__scan_state_has_missing(const struct weir__scan_repo *repo);
/* Adds the suspects that are remembered. TooLarge, NoMemory. */
WEIR_MUST_USE int weir__scan_state_recall(struct weir__scan_repo *repo);
/* All was done: remembers it. */
void weir__scan_state_keep(struct weir__scan_repo *repo);
void weir__scan_state_drop(struct weir__scan_repo *repo);

/* --- scan_repo_packs.c --- */

/* Beside the mark of a pack. */
struct weir__scan_mark {
    uint32_t row;       /* in the list of now; WEIR__GIT_NONE: it is not there */
    uint32_t is_listed; /* it is as it was when an earlier scan looked at it */
    uint32_t is_known;  /* and each of its objects was seen */
    uint32_t is_whole;  /* or by this one; guarded by the run's lock */
};

/* The list of who admits a repository goes with it, if it is long and lists that wait leave room.
 */
void weir__scan_packs_hand_on(struct weir__scan_repo *repo, struct weir__git_store *store);
/* And belongs to the store of its leader, if it still holds; else that one makes one. */
WEIR_MUST_USE int weir__scan_packs_take_over(struct weir__scan_repo *repo);
/* When packs were listed: makes their marks, and a hash of them and of loose objects. Without
 * memory there are none, and the hash fits nothing. */
void weir__scan_packs_listed(struct weir__scan_repo *repo, uint8_t held[WEIR__HASH_SIZE]);
/* Compares multi-pack-indexes with the packs, unless that was done before; tells if they differ. */
WEIR_MUST_USE int weir__scan_packs_check_midx(struct weir__scan_repo *repo);
/* Whether all are there that are remembered. */
bool weir__scan_packs_are_there(const struct weir__scan_repo *repo);
/* Whether one is gone of which not every object was seen. */
bool weir__scan_packs_lack_unread(const struct weir__scan_repo *repo);
/* What is remembered of them, of a scan that is not wary. */
void weir__scan_packs_recall(struct weir__scan_repo *repo);
/* Of that row of the list of now; it stays where it is. NULL: there is none. */
struct weir__scan_mark *weir__scan_packs_mark(const struct weir__scan_repo *repo, uint32_t row);
/* Each of its objects was seen to its end. Accepts NULL. */
void weir__scan_packs_note_whole(struct weir__scan *run, struct weir__scan_mark *mark);
/* What is to be remembered, to be freed by weir__scan_packs_forget(). False: no memory. */
WEIR_MUST_USE bool weir__scan_packs_keep(const struct weir__scan_repo *repo,
                                         struct weir__git_state_new *made);
void weir__scan_packs_forget(struct weir__git_state_new *made);
/* Whether it is more than what is remembered. */
bool weir__scan_packs_have_news(const struct weir__scan_repo *repo);
void weir__scan_packs_drop(struct weir__scan_repo *repo);

/* --- scan_repo_gone.c --- */
/* Before the first look: whether the scan is to be wary. Canceled. */
WEIR_MUST_USE int weir__scan_gone_find(struct weir__scan_repo *repo);
/* When packs were listed anew. */
void weir__scan_gone_relisted(struct weir__scan_repo *repo);
/* Whether a loose object that is remembered was written to since: it is read, and not scanned. */
bool weir__scan_gone_is_changed(const struct weir__scan_repo *repo, const struct weir__git_id *id);
/* Whether a remembered object is gone, and will not be kept. */
bool weir__scan_gone_is(struct weir__scan_repo *repo, const struct weir__git_id *id);
/* What is to be remembered of what the store holds: nothing that ever fits (false), if not all that
 * was seen is remembered or packs came or went. */
bool weir__scan_gone_held(const struct weir__scan_repo *repo, uint8_t ret_held[WEIR__HASH_SIZE]);
void weir__scan_gone_drop(struct weir__scan_repo *repo);

/* --- scan_repo_again.c --- */
/* Whether nothing of the pack of that row is to be looked at, since it is as it was when all of it
 * was seen. */
bool weir__scan_again_is_same(const struct weir__scan_repo *repo, uint32_t row);
/* The same, since all of its objects were, whatever it is. */
bool weir__scan_again_knows(struct weir__scan_repo *repo, const struct weir__scan_pack *pack);
/* Whether it came or was changed since what is remembered: then nobody has read its bytes. */
bool weir__scan_again_is_new(const struct weir__scan_repo *repo,
                             const struct weir__scan_pack *pack);
/* So many objects of the pack, whose shard is done, were looked at to their end. */
void weir__scan_again_note(struct weir__scan_repo *repo, struct weir__scan_pack *pack,
                           uint64_t count);
/* Whether suspects that were not looked at again are so few that each is better built by itself. */
bool weir__scan_again_has_few(const struct weir__scan_repo *repo);
/* In how many parts. */
uint32_t weir__scan_again_parts(const struct weir__scan_repo *repo);
/* Before they are handed out: versions of a file follow each other. Without memory they come in any
 * order. */
void weir__scan_again_order(struct weir__scan_repo *repo);
/* The second look at this part of so many of them, by a thread that scans. Those that cannot be had
 * this way are left to a pass over all objects. */
void weir__scan_again_few(struct weir__scan_worker *w, struct weir__scan_repo *repo, uint32_t part,
                          uint32_t parts);

/* --- scan_repo_shard.c --- */
/* When nobody has it any more. */
void weir__scan_pack_free(struct weir__scan_pack *pack);
/* Hands out all objects, and waits until they were looked at. */
WEIR_MUST_USE int weir__scan_repo_pass(struct weir__scan_repo *repo);
/* The first look once more, wary, if it has met damage, and what is remembered as missing may have
 * been named by that alone. */
WEIR_MUST_USE int weir__scan_repo_pass_wary(struct weir__scan_repo *repo);
/* The second look: at suspects one by one where they are few, and in a pass over all objects. */
WEIR_MUST_USE int weir__scan_repo_pass_again(struct weir__scan_repo *repo);
/* Hands out the history in that many slices, and waits for them. */
WEIR_MUST_USE int weir__scan_repo_slices(struct weir__scan_repo *repo, uint32_t commits,
                                         uint32_t count);
/* For a thread that scans. True: its turn was over, and it is to be done once more, for the rest.
 */
bool weir__scan_shard(struct weir__scan_worker *w, struct weir__scan_shard *shard);

/* --- scan_repo_line.c --- */
/* Repositories that are not small and may be scanned at once. */
uint32_t weir__scan_line_heavy(const struct weir__scan *run);
/* Threads that lead: as many as those that are not small may have, and some for small ones. */
uint32_t weir__scan_line_leaders(const struct weir__scan_repos *repos);
/* Shards of all repositories that can be somewhere at once: the queue has room for them, so that
 * each goes back into it when its turn is over. */
uint64_t weir__scan_line_shards(const struct weir__scan *run);
/* Admits the repository, in its turn; it may be over when this returns. True: one for its large
 * objects was refused, and weir__scan_large_next() is to be called. */
bool weir__scan_line_add(struct weir__scan_repo *repo);
/* Its job is over, and holds nothing any more: others may go. */
void weir__scan_line_leave(struct weir__scan_repo *repo);

/* --- scan_repo_large.c --- */
/* Whether a suspect that did not fit into the memory of a shard was not looked at again. */
bool weir__scan_large_is_left(const struct weir__scan_repo *repo);
/* With all the memory that the repository has, for one shard at a time: most of them fit. */
WEIR_MUST_USE int weir__scan_large_try(struct weir__scan_repo *repo);
/* For a repository whose job is over: another job for these, in its turn. */
void weir__scan_large_add(struct weir__scan_repo *repo);
/* Such a job is over. */
void weir__scan_large_done(struct weir__scan *run);
/* One of them will never be: under the run's lock. Then, without it, the next one may come. */
void weir__scan_large_refused(struct weir__scan *run);
void weir__scan_large_next(struct weir__scan *run);
/* The second look at them, by the thread that leads that job. */
WEIR_MUST_USE int weir__scan_large_pass(struct weir__scan_repo *repo);
/* What a walk may take for that. */
void weir__scan_large_options(const struct weir__scan_repo *repo,
                              struct weir__git_walk_options *options);
/* A tree that does not fit: it is noted for weir__scan_large_trees(), or told. */
void weir__scan_large_tree(struct weir__scan_worker *w, struct weir__scan_repo *repo,
                           const struct weir__git_id *id, uint64_t size);
/* After the first look: at those, with all the memory that the repository has. */
WEIR_MUST_USE int weir__scan_large_trees(struct weir__scan_repo *repo);
/* A message that does not fit is told: no file is made of it. */
void weir__scan_large_message(struct weir__scan_worker *w, struct weir__scan_repo *repo,
                              const struct weir__git_id *id, uint64_t size);
/* One that does not fit there either; size 0: not known. */
void weir__scan_large_refuse(struct weir__scan_worker *w, struct weir__scan_repo *repo,
                             const struct weir__git_id *id, uint64_t size);

/* --- scan_repo_staged.c --- */
/* Every entry of the indexes of all working trees. NoMemory; what else is wrong with one is told if
 * is_telling, and the others are read. */
WEIR_MUST_USE int weir__scan_staged_each(struct weir__scan_repo *repo, weir__git_index_fn *fn,
                                         void *arg, bool is_telling);
/* Which indexes there are, and of when. */
void weir__scan_staged_hash(const struct weir__scan_repo *repo, struct weir__hash *hash);

/* --- scan_repo_missing.c --- */

/* What the objects of a shard name, until it is looked for; of one thread. */
struct weir__scan_mentions;
/* Both accept NULL. store: of the shard, for what finds no room in the repository's set. */
void weir__scan_mentions_free(struct weir__scan_mentions *mentions);
WEIR_MUST_USE int weir__scan_mentions_begin(struct weir__scan_mentions **mentions,
                                            const struct weir__scan_repo *repo,
                                            const struct weir__scan_pack *pack,
                                            struct weir__git_store *(*store)(void *arg), void *arg);
/* marks: what it is, of enum weir__suspicion. */
void weir__scan_mention(struct weir__scan_worker *w, struct weir__scan_repo *repo,
                        struct weir__scan_mentions *mentions, const struct weir__git_id *id,
                        uint32_t marks);
/* What a commit or a tag names. False: not all of it, since a shallow clone ends there. */
bool weir__scan_mention_links(struct weir__scan_worker *w, struct weir__scan_repo *repo,
                              struct weir__scan_mentions *mentions,
                              const struct weir__git_object *object);
/* A loose object that was listed and is not there any more: it is in a pack by now, or is told. */
void weir__scan_mention_gone(struct weir__scan_worker *w, struct weir__scan_repo *repo,
                             const struct weir__git_id *id);
/* At the end of a shard. */
void weir__scan_mentions_flush(struct weir__scan_worker *w, struct weir__scan_repo *repo,
                               struct weir__scan_mentions *mentions);
/* After the first look, by the leader: what is named and not there becomes suspect. */
WEIR_MUST_USE int weir__scan_missing_find(struct weir__scan_repo *repo);
/* When origins are known: tells those that a ref leads to. */
void weir__scan_missing_tell(struct weir__scan_repo *repo);
/* After the first look: tells indexes without a pack, if something that they list is nowhere, also
 * what nothing leads to. May wait for a tenth of a second, since git is not done at once. */
void weir__scan_packless_tell(struct weir__scan_repo *repo);
/* Tells how many are promised. */
void weir__scan_promised_tell(struct weir__scan_repo *repo);

/* --- scan_repo_look.c --- */
/* Before a shard. */
WEIR_MUST_USE int weir__scan_hand_begin(struct weir__scan_worker *w,
                                        const struct weir__scan_repo *repo,
                                        const struct weir__scan_pack *pack,
                                        struct weir__git_store *(*store)(void *arg), void *arg);
/* At the end of a shard: what the thread has seen of it. Returns how many objects that were. */
uint64_t weir__scan_hand_flush(struct weir__scan_worker *w, struct weir__scan_repo *repo);
int weir__scan_look_first(struct weir__scan_worker *w, struct weir__scan_repo *repo,
                          const struct weir__git_object *object);
int weir__scan_look_second(struct weir__scan_worker *w, struct weir__scan_repo *repo,
                           const struct weir__git_object *object);

/* --- scan_repo_suspect.c --- */
/* Whether nobody has looked at it yet, in a pack or loose; from now on somebody has. */
bool weir__scan_look_is_first(struct weir__scan_repo *repo, const struct weir__git_id *id);
/* The mark of what a suspect is. */
uint32_t weir__scan_kind(enum weir__git_type type);
/* Notes it. */
void weir__scan_suspect(struct weir__scan_worker *w, struct weir__scan_repo *repo,
                        const struct weir__git_id *id, uint32_t flags);
/* Adds to the flags of one that is a suspect. */
void weir__scan_suspect_mark(struct weir__scan_repo *repo, const struct weir__git_id *id,
                             uint32_t flags);
/* The flags of a suspect that was not looked at again; 0: it is none. */
uint32_t weir__scan_suspect_flags(struct weir__scan_repo *repo, const struct weir__git_id *id);
/* The suspect, if nobody has looked at it again; from now on somebody has. */
bool weir__scan_suspect_take(struct weir__scan_repo *repo, const struct weir__git_id *id,
                             uint32_t *ret_number, struct weir__suspect *ret_suspect);

/* --- scan_repo_names.c --- */
/* What was found out about names, by one thread; made with the first. */
struct weir__scan_judged;
/* Accepts NULL. */
void weir__scan_judged_free(struct weir__scan_judged *judged);
/* At the end of a shard: what leads to what in trees is known to the repository. Accepts NULL. */
void weir__scan_judged_flush(struct weir__scan_judged *judged, struct weir__scan_repo *repo);
/* After the first look: what is staged under a name that may have something in it is suspect. */
WEIR_MUST_USE int weir__scan_staged_names(struct weir__scan_repo *repo);
/* Then: a file of each folder whose name may have something in it is suspect. */
WEIR_MUST_USE int weir__scan_folders_find(struct weir__scan_repo *repo);
/* edit: how the tree was made from one that was looked at; or NULL. */
WEIR_MUST_USE int weir__scan_look_at_tree(struct weir__scan_worker *w, struct weir__scan_repo *repo,
                                          const struct weir__git_object *object,
                                          struct weir__scan_judged **judged,
                                          struct weir__scan_mentions *mentions,
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
/* Some of the commits, by a thread that scans. store: of the thread; or NULL, and why it is. */
void weir__scan_origins_slice(struct weir__scan_worker *w, struct weir__scan_repo *repo,
                              struct weir__git_store *store, int unopened, uint32_t from,
                              uint32_t until);
/* Accepts NULL. */
void weir__scan_origins_free(struct weir__scan_origins *origins);
/* What was found out about a suspect that is a blob or a commit. suspect: a thread that scans has a
 * copy, since others mark it. */
void weir__scan_origin_where(const struct weir__scan_repo *repo, uint32_t number,
                             const struct weir__suspect *suspect,
                             struct weir__git_attribution *ret_where);
/* Of a commit that is missing: whether a graph that knows it has hidden that from the walk. */
bool weir__scan_origin_is_hidden(const struct weir__scan_repo *repo, uint32_t number);
/* Of the suspect of that number, by one of the looks that were found out; valid as long as the
 * repository. */
void weir__scan_origin_of_blob(const struct weir__scan_repo *repo, uint32_t number,
                               const struct weir__git_attribution *where, size_t look,
                               struct weir__scan_origin *ret_origin);
/* Of a commit or a tag. number: of the suspect; or WEIR__GIT_SET_NONE, and how the commit is
 * reached is not said. */
void weir__scan_origin_of_message(const struct weir__scan_repo *repo,
                                  const struct weir__git_object *object, uint32_t number,
                                  const struct weir__suspect *suspect,
                                  struct weir__scan_origin *ret_origin);

#endif
