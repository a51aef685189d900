/* store.h - the objects of a git repository, read without git.
 *
 *     weir__git_store_open(&store, "path", NULL, problem)
 *     weir__git_loose_each(store, ...)                            loose.h; then
 *     weir__git_store_relist(store)                               and for each pack:
 *     weir__git_store_pack_open(store, i, &pack), a plan, a walk  pack_plan.h, walk.h
 *     weir__git_store_get(store, &id, &type, &bytes)              one object
 *     weir__git_store_close(store)
 *
 * Which paths: a working tree with a .git folder or file (a linked working tree, a submodule), such
 * a folder, a bare repository. Read are objects/, alternates (to 5 levels, cycles ignored, at most
 * WEIR__GIT_ALTERNATES_MAX), the multi-pack-index where there is one, SHA-1 and SHA-256. Refused in
 * one line: repository format versions above 1, extensions that are not known, refs in reftables.
 * A multi-pack-index that says something else than the index of a pack is not used any more.
 * Ignored: .keep, bitmaps, grafts and replacements.
 *
 * While others write: git moves objects from loose files into packs, and from packs into new
 * packs, and removes the old ones afterwards. So read loose objects first, then list the packs
 * anew, then read them; weir__git_store_is_stale() says at the end whether there are others by now.
 * weir__git_pack_open() answers NotFound when a pack was removed before it was opened: list anew
 * (numbers of packs change; names do not). weir__git_store_get() does all of this by itself.
 *
 * Limits: WEIR__GIT_PACKS_MAX packs; a path of WEIR__GIT_PATH_MAX bytes; config and alternates of
 * 1 MiB; options. At most open_max packs are open for lookups at once. Memory: about 100 bytes for
 * each pack, the cache, the table of lookups (weir__git_store_needs()); walks have their own.
 *
 * Threads: a store belongs to one at a time; open one for each.
 *
 * Ownership: a store owns its descriptors (one for each objects folder), its open packs and its
 * memory; the texts that it returns are valid until it is closed or, those about packs, listed
 * anew.
 */
#ifndef WEIR_SCAN_GIT_STORE_H
#define WEIR_SCAN_GIT_STORE_H

#include "commit_set.h"
#include "pack.h"

#define WEIR__GIT_PACKS_MAX       100000u
#define WEIR__GIT_ALTERNATES_MAX  64u
#define WEIR__GIT_ALTERNATES_DEEP 5u
#define WEIR__GIT_PATH_MAX        4096u
#define WEIR__GIT_PROBLEM_SIZE    512u

struct weir__git_store;

struct weir__git_store_options {
    uint64_t cache_bytes;  /* of bases, for get; 16 MiB */
    uint64_t lookup_bytes; /* of the table of ids, where there are more packs than open_max; 64 MiB;
                              when it does not fit, packs are asked one by one */
    unsigned open_max;     /* 32 */
    uint64_t object_max;   /* of what get builds, bases included; 1 GiB */
    uint64_t build_max;    /* of all that is there while one is built; 3 GiB */
    uint32_t chain_max;    /* 1,000,000 */
    uint32_t packs_max;    /* that one chain leads to, from pack to pack; git writes none; 64 */
    uint64_t work_max;     /* bytes made for one object; 4 GiB */
    bool has_no_midx;      /* multi-pack-indexes are known to be wrong: packs are asked
                              themselves */
    bool is_listed_late;   /* packs are listed when the first object is looked for */
};
void weir__git_store_options_init(struct weir__git_store_options *options);

/* options may be NULL. NotFound: no repository there. Unsupported: one that cannot be read. The
 * problem is a line that says what and why. */
WEIR_MUST_USE int weir__git_store_open(struct weir__git_store **ret_store, const char *path,
                                       const struct weir__git_store_options *options,
                                       char problem[WEIR__GIT_PROBLEM_SIZE]);
/* Accepts NULL. */
void weir__git_store_close(struct weir__git_store *store);

/* --- what it is --- */

/* WEIR__GIT_SHA1_SIZE or WEIR__GIT_SHA256_SIZE. */
size_t weir__git_store_id_size(const struct weir__git_store *store);
/* Where HEAD and the index are; and refs, config, shallow and objects. The same but for a linked
 * working tree. */
const char *weir__git_store_gitdir(const struct weir__git_store *store);
const char *weir__git_store_commondir(const struct weir__git_store *store);

struct weir__git_store_facts {
    bool is_shallow; /* there is a file 'shallow': parents of some commits are not there */
    bool is_partial; /* objects may be missing that a remote has promised */
    unsigned alternates;
    unsigned alternates_unusable; /* listed and not there, nested too deep, or too many */
    uint32_t packs;
    uint32_t packs_promisor;
    /* .pack files without an index, from which nothing can be read: those that had none whenever
     * they were listed, since git puts the index there a moment after the pack. */
    uint32_t packs_unindexed;
    uint32_t packs_unread; /* beyond WEIR__GIT_PACKS_MAX */
    bool has_midx;
    bool has_unknown;    /* by now: an index, a folder of packs or one that it borrows from could
                            not be read, so nobody knows what is missing */
    bool has_wrong_midx; /* by now: it was asked, and the index of a pack says something else */
};
void weir__git_store_facts(const struct weir__git_store *store,
                           struct weir__git_store_facts *ret_facts);

/* What cannot be read of its folders, a line each that says what and why: packs that cannot be
 * listed, what it borrows from and cannot be used. All else is there. */
void weir__git_store_each_flaw(const struct weir__git_store *store,
                               void (*fn)(void *arg, const char *text), void *arg);

/* Something of it is there that nobody can look into: what is found nowhere is not missing. */
void weir__git_store_doubt(struct weir__git_store *store);

/* Of the last call that failed: names the object and the pack, says why. */
const char *weir__git_store_problem(const struct weir__git_store *store);

/* Bytes of memory, before any of them are taken. */
struct weir__git_store_needs {
    uint64_t plan_bytes_max; /* of the plan of the pack with the most objects, at most */
    uint64_t plan_bytes_all;
    uint64_t lookup_bytes;   /* table and cache of get, at most */
    uint64_t pack_bytes_all; /* files to be mapped */
    uint64_t pack_bytes_max;
};
void weir__git_store_needs(const struct weir__git_store *store,
                           struct weir__git_store_needs *ret_needs);

/* --- packs --- */

struct weir__git_store_pack {
    const char *stem; /* "pack/pack-..." in its objects folder */
    uint64_t pack_bytes;
    uint64_t idx_bytes;
    uint64_t pack_time_ns, idx_time_ns; /* when they were changed */
    uint64_t pack_inode, idx_inode;
    uint64_t objects_max; /* by the size of its index; it may have fewer */
    unsigned folder;      /* 0: the repository's own, else that of an alternate */
    bool is_promisor;
    bool is_in_midx;
};

uint32_t weir__git_store_packs(const struct weir__git_store *store);
/* i < weir__git_store_packs(). */
void weir__git_store_pack(const struct weir__git_store *store, uint32_t i,
                          struct weir__git_store_pack *ret_pack);
/* For a walk; it belongs to the caller, who closes it. NotFound: it was removed; list anew. */
WEIR_MUST_USE int weir__git_store_pack_open(struct weir__git_store *store, uint32_t i,
                                            struct weir__git_pack *ret_pack);

/* Of the packs that have no index (packs_unindexed), those that are still there and have none now;
 * ret_stem: the first of them. */
uint32_t weir__git_store_unindexed(const struct weir__git_store *store, const char **ret_stem);

/* Indexes whose pack was not there whenever they were listed. Git puts a pack there before its
 * index, and removes one of the two a moment before the other. */
uint32_t weir__git_store_packless(const struct weir__git_store *store);
/* i < weir__git_store_packless(). The ids that one of them lists; it belongs to the caller, who
 * closes it. NotFound: it is gone by now, or has a pack. The stem is valid as those of packs are,
 * and whatever comes of it. */
WEIR_MUST_USE int weir__git_store_packless_open(const struct weir__git_store *store, uint32_t i,
                                                const char **ret_stem,
                                                struct weir__git_pack *ret_ids);

/* Lists the packs anew. When that fails, the old list stays. A folder of packs that may not be
 * read, or is broken, is no failure but a flaw, and has none. */
WEIR_MUST_USE int weir__git_store_relist(struct weir__git_store *store);
/* Whether a folder of packs was written to since. */
bool weir__git_store_is_stale(const struct weir__git_store *store);
/* Whether the list is that of now, for certain: no pack came or went since, nor in the moment
 * before it was made, in which one change looks like another; and none waits for its index. */
bool weir__git_store_is_settled(const struct weir__git_store *store);

/* The list of a store, for one of the same repository that is opened later: with thousands of packs
 * looking at their files takes longer than a scan that has nothing to do. */
struct weir__git_packs;
/* The store has none then, and makes one when it is asked for an object. NULL: no memory. */
struct weir__git_packs *weir__git_packs_take(struct weir__git_store *store);
uint64_t weir__git_packs_bytes(const struct weir__git_packs *packs);
/* Accepts NULL. */
void weir__git_packs_free(struct weir__git_packs *packs);
/* Of a store that is listed late: it has that list from now on, which is freed. False: it is not
 * that of now for certain, and the store has none. Accepts NULL. */
bool weir__git_packs_give(struct weir__git_packs *packs, struct weir__git_store *store);

/* Compares multi-pack-indexes with the indexes of their packs; one that differs is not used any
 * more, and has_wrong_midx is set. NoMemory. */
WEIR_MUST_USE int weir__git_store_check_midx(struct weir__git_store *store);
/* By what that of a folder is known again; false: it has none, or none of use. */
#define WEIR__GIT_MIDX_FACTS 3
bool weir__git_store_midx_facts(const struct weir__git_store *store, unsigned folder,
                                uint64_t ret_facts[WEIR__GIT_MIDX_FACTS]);

/* --- objects --- */

/* A weir__git_get_fn, with the store as arg: from packs, loose files and alternates. NotFound: it
 * is in none of them; in a partial clone, the promisor is not asked. */
WEIR_MUST_USE int weir__git_store_get(void *store, const struct weir__git_id *id,
                                      enum weir__git_type *ret_type, struct weir__buffer *bytes);

/* 0, NotFound, or what kept it from being looked for. */
WEIR_MUST_USE int weir__git_store_has(struct weir__git_store *store, const struct weir__git_id *id);
/* In how many packs and loose files it is, at most `most`; as many if too many indexes have been
 * asked for such. */
uint32_t weir__git_store_copies(struct weir__git_store *store, const struct weir__git_id *id,
                                uint32_t most);

/* `begin_with` of struct weir__git_names, with the store as arg: the ids that begin with so many
 * digits, in packs, loose files and alternates, each once, at most max of them; returns how many
 * that were. An index or a folder that cannot be read has none. */
size_t weir__git_store_begin_with(void *store, const char *digits, size_t count,
                                  struct weir__git_id *ids, size_t max);

/* Where an object is, by one that knew it once: that pack is asked first. Forgotten when packs are
 * listed anew. Beyond WEIR__GIT_PLACES_MAX, without memory, or for few packs, nothing happens. */
#define WEIR__GIT_PLACES_MAX 8192u
void weir__git_store_place(struct weir__git_store *store, const struct weir__git_id *id,
                           uint32_t pack);
/* These, and where all others were found that were looked up since packs were listed; *ret_has_new:
 * there are such. With an uint32_t each, the number of the pack. Where there are few packs there
 * are none. */
const struct weir__git_set *weir__git_store_places(const struct weir__git_store *store,
                                                   bool *ret_has_new);

/* --- where a shallow clone ends --- */

#define WEIR__GIT_SHALLOW_BYTES_MAX ((size_t)64 << 20)

/* The commits whose parents are not there, sorted, each once; freed by weir__base_free(). NULL and
 * 0 when there are none. Lines that are no ids are told as one. TooLarge, Io, NoMemory. */
WEIR_MUST_USE int weir__git_store_shallow(struct weir__git_store *store,
                                          void (*problem)(void *arg, const char *text),
                                          void *problem_arg, struct weir__git_id **ret_ids,
                                          size_t *ret_count);

#endif
