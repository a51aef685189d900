/* state.h - what is remembered of a repository from one scan to the next.
 *
 *     weir__git_states_open(&states, getenv("XDG_STATE_HOME"), getenv("HOME"), 0, why)
 *     weir__git_state_load(&state, &states, &about, why)      NotFound and the like: begin anew
 *     ... weir__git_state_has(state, &id): nothing of this object need be looked at again ...
 *     ... weir__git_state_suspects(state, &count): what is to be looked at with its path ...
 *     weir__git_state_ids_add(&ids, batch, count)
 *     weir__git_state_save(&states, &about, &(struct weir__git_state_new){...}, why)
 *
 * One file for each repository in one folder of the user, "weir/scan" in $XDG_STATE_HOME or
 * ~/.local/state. It has the ids of all objects that were looked at and finished, in full and
 * sorted; and the suspects: objects that may hold a secret, or that must be looked at in another
 * way, with the commit and the paths that were found for them. No content is written, but paths
 * and refs are, whatever is in them; files are for the user alone (0600).
 *
 * Promises: A file appears whole or not at all, whatever ends the process or the machine, and
 * whoever saves at the same time: the last one wins. It is used only if it and its folder belong to
 * the user, nobody else may write to them, neither is a symlink, its BLAKE3 is right, and it was
 * made for the same repository, under the same key. If it is not used there is a reason for people,
 * and the next save replaces it. A lookup errs one way only: an id that was never given is never
 * answered with true; where the file cannot be read any more, ids are answered with false.
 *
 * When to save: after a run that has finished everything it set out to do. A partial, failed or
 * narrowed run must not save: what it would remember as seen would never be looked at again.
 * Whether it was partial only the caller knows. An object that could not be read, or could not be
 * scanned in full, is not to be given as seen.
 *
 * Limits: WEIR__GIT_STATE_IDS_MAX ids, WEIR__GIT_STATE_SUSPECTS_MAX suspects with
 * WEIR__GIT_STATE_TEXT_MAX bytes; memory_max for what is kept in memory of suspects; beyond any of
 * these it is TooLarge, and nothing is saved. New ids have memory_max too; those beyond it are left
 * out, and come with a later save. The folder holds folder_max
 * bytes and WEIR__GIT_STATE_FILES_MAX files; those that were not used for the longest time go. To
 * count them at every save would be too slow for many repositories, so one process counts every
 * WEIR__GIT_STATE_SAVES_COUNTED saves and whenever its own sum is at the limit: several processes
 * at once can exceed it until the next count.
 *
 * What is gone: an object that was seen once can be gone later, and only who asks for it finds
 * out. So a state has a hash of what the store held (the caller's), by which most know that nothing
 * can be gone; others note in a struct weir__git_there which of the ids are still there. Those that
 * are not are left out when it is saved: they are looked at again if they come back.
 *
 * Cost: ids are searched where they lie in the mapped file, in some ten looks for 10 million, which
 * take a tenth of a microsecond if the file is in the cache. Loading hashes the file once.
 *
 * Threads: a loaded state is only read, by any number of threads. Ids belong to one thread. Any
 * number of threads may load and save by the same states.
 *
 * Ownership: a state owns its mapping and its memory; suspects and all they point to are valid
 * until it is freed. What is saved is borrowed for the call, and may be parts of the old state.
 */
#ifndef WEIR_SCAN_GIT_STATE_H
#define WEIR_SCAN_GIT_STATE_H

#include <weir/lock.h>

#include "attribute.h"
#include "hash.h"

#define WEIR__GIT_STATE_IDS_MAX       64000000u
#define WEIR__GIT_STATE_SUSPECTS_MAX  1000000u
#define WEIR__GIT_STATE_TEXT_MAX      (256u << 20) /* bytes of all suspects */
#define WEIR__GIT_STATE_STRING_MAX    131072u      /* bytes of one path or name */
#define WEIR__GIT_STATE_PATHS_MAX     64u          /* of one suspect; has_more for the others */
#define WEIR__GIT_STATE_MEMORY        (256u << 20) /* memory_max by default */
#define WEIR__GIT_STATE_FOLDER        (UINT64_C(1) << 30) /* folder_max by default */
#define WEIR__GIT_STATE_FILES_MAX     65536u
#define WEIR__GIT_STATE_SAVES_COUNTED 256u
#define WEIR__GIT_STATE_KEY_SIZE      WEIR__HASH_SIZE
#define WEIR__GIT_STATE_PACKS_MAX     100000u
#define WEIR__GIT_STATE_PLACES_MAX    8192u
#define WEIR__GIT_STATE_MARK_SIZE     16u
#define WEIR__GIT_STATE_LOOSE_SIZE    40u

/* --- the folder --- */

struct weir__git_states {
    int _fd;
    uint64_t _max;
    struct weir_lock _lock; /* for what follows */
    bool _is_counted;
    unsigned _saves;
    uint64_t _total;
};

/* base and home are what the environment has under XDG_STATE_HOME and HOME, or NULL. The folder is
 * made if need be. folder_max: 0 for the default. NotFound when neither says where, Denied when
 * others may write to it, or what the system says. */
WEIR_MUST_USE int weir__git_states_open(struct weir__git_states *ret_states, const char *base,
                                        const char *home, uint64_t folder_max,
                                        char why[WEIR__GIT_FLAW_MAX]);
/* Accepts NULL and one that is all zero or was closed. */
void weir__git_states_close(struct weir__git_states *states);

/* --- what is remembered --- */

/* Why an object is a suspect, and what became of it: bits. */
enum weir__git_suspect_flag {
    WEIR__GIT_SUSPECT_TEXT = 1,      /* something may be found in it */
    WEIR__GIT_SUSPECT_ARCHIVE = 2,   /* it is to be unpacked */
    WEIR__GIT_SUSPECT_LARGE = 4,     /* too large for memory */
    WEIR__GIT_SUSPECT_FINDINGS = 8,  /* with its path and commit, something was found in it */
    WEIR__GIT_SUSPECT_MISSING = 16,  /* it is named, and was not there */
    WEIR__GIT_SUSPECT_PROMISED = 32, /* by the remote of a partial clone */
    WEIR__GIT_SUSPECT_NAMED = 64     /* its name is a finding, or has one in it */
};

struct weir__git_suspect {
    struct weir__git_id id;
    enum weir__git_type type;
    unsigned flags; /* of enum weir__git_suspect_flag */
    /* Without a commit, a ref and a place in the index it is unreachable. */
    struct weir__git_attribution where;
};

/* A pack that the store held. */
struct weir__git_state_pack {
    uint8_t mark[WEIR__GIT_STATE_MARK_SIZE]; /* a hash of what it is known by: the caller's */
    bool is_whole;                           /* each of its objects was seen to its end */
};

/* Where an object was that was looked up. */
struct weir__git_state_place {
    struct weir__git_id id;
    uint32_t pack; /* its number among the packs */
};

/* Whose state, and made under what. */
struct weir__git_state_about {
    size_t id_size;
    const char *repository;                /* any text that no other has: where it is */
    uint8_t key[WEIR__GIT_STATE_KEY_SIZE]; /* a hash of all that decides what is found */
    uint64_t memory_max;                   /* 0: WEIR__GIT_STATE_MEMORY */
};

struct weir__git_state;

/* NotFound: nothing is remembered yet. Mismatch: under another key, or of another repository.
 * Unsupported: of another version. Corrupt, Denied, TooLarge, Io, NoMemory. why says it in all
 * cases, with the name of the file. */
WEIR_MUST_USE int weir__git_state_load(struct weir__git_state **ret_state,
                                       const struct weir__git_states *states,
                                       const struct weir__git_state_about *about,
                                       char why[WEIR__GIT_FLAW_MAX]);
/* The same of a file's bytes, which must stay until it is freed. */
WEIR_MUST_USE int weir__git_state_of_bytes(struct weir__git_state **ret_state,
                                           const struct weir__git_state_about *about,
                                           const void *bytes, size_t length,
                                           char why[WEIR__GIT_FLAW_MAX]);
/* Accepts NULL. */
void weir__git_state_free(struct weir__git_state *state);

/* Whether this object has been looked at. Accepts NULL: nothing has. */
bool weir__git_state_has(const struct weir__git_state *state, const struct weir__git_id *id);
/* Whether all objects of the pack are, and its index is in order. False when state is NULL. */
struct weir__git_pack;
bool weir__git_state_has_pack(const struct weir__git_state *state,
                              const struct weir__git_pack *pack);

/* How many have. */
uint64_t weir__git_state_count(const struct weir__git_state *state);

/* All of them, by id. NULL when there are none. */
const struct weir__git_suspect *weir__git_state_suspects(const struct weir__git_state *state,
                                                         size_t *ret_count);
/* One of them, or NULL. Accepts NULL. */
const struct weir__git_suspect *weir__git_state_suspect(const struct weir__git_state *state,
                                                        const struct weir__git_id *id);
/* The refs, index and the like under which the suspects' attribution was made, as a hash of the
 * caller's: under any other it is to be made again. WEIR__HASH_SIZE bytes. */
const uint8_t *weir__git_state_digest(const struct weir__git_state *state);
/* What the store held, likewise: while it is the same all ids are there. */
const uint8_t *weir__git_state_held(const struct weir__git_state *state);
/* The packs of that, in the order in which they were given: while all of them are there, and the
 * loose objects that there were, nothing is gone, whatever else has come. */
const struct weir__git_state_pack *weir__git_state_packs(const struct weir__git_state *state,
                                                         size_t *ret_count);
/* Where objects were that were looked up: they spare a search in the indexes of many packs. */
const struct weir__git_state_place *weir__git_state_places(const struct weir__git_state *state,
                                                           size_t *ret_count);
/* Of the loose objects, what the caller has given: WEIR__GIT_STATE_LOOSE_SIZE bytes. */
const uint8_t *weir__git_state_loose(const struct weir__git_state *state);
/* When the last of them was changed: files that were changed later are not those that were seen. */
uint64_t weir__git_state_loose_time(const struct weir__git_state *state);
/* Of multi-pack-indexes that say what the packs say, a mark of the caller's,
 * WEIR__GIT_STATE_MARK_SIZE bytes. */
const uint8_t *weir__git_state_midx(const struct weir__git_state *state);

/* --- what is still there --- */

/* Which of the ids of a state a store has; of one thread. What is not in the state is passed over.
 */
struct weir__git_there {
    const struct weir__git_state *_state; /* which must stay */
    uint8_t *_bits;                       /* one for each id, counted in memory_max of the state */
};

WEIR_MUST_USE int weir__git_there_init(struct weir__git_there *ret_there,
                                       const struct weir__git_state *state);
/* Accepts one that is all zero, or that failed to be made. */
void weir__git_there_fini(struct weir__git_there *there);
void weir__git_there_add(struct weir__git_there *there, const struct weir__git_id *id);
void weir__git_there_add_pack(struct weir__git_there *there, const struct weir__git_pack *pack);
/* How many were not added. */
uint64_t weir__git_there_gone(const struct weir__git_there *there);
/* Whether this one is an id of the state and was added. */
bool weir__git_there_has(const struct weir__git_there *there, const struct weir__git_id *id);

/* --- saving --- */

/* Ids in any order, any of them more than once. */
struct weir__git_state_ids {
    uint8_t *_bytes;
    size_t _count, _room, _max, _id_size;
    bool _is_full;
    int _error;
};

/* memory_max: 0 for WEIR__GIT_STATE_MEMORY. Allocates nothing. */
void weir__git_state_ids_init(struct weir__git_state_ids *ids, size_t id_size, uint64_t memory_max);
void weir__git_state_ids_fini(struct weir__git_state_ids *ids);
/* TooLarge: there is room for the first of them at most, which are saved. NoMemory: saving answers
 * the same. */
WEIR_MUST_USE int weir__git_state_ids_add(struct weir__git_state_ids *ids,
                                          const struct weir__git_id *list, size_t count);
/* Whether some were left out. */
bool weir__git_state_ids_is_full(const struct weir__git_state_ids *ids);

/* What the state is to be. */
struct weir__git_state_new {
    const struct weir__git_state *old;        /* whose ids are kept, of the same about; or NULL */
    const struct weir__git_there *there;      /* of these, only those; NULL: all */
    struct weir__git_state_ids *ids;          /* in addition; are sorted; or NULL */
    const struct weir__git_set *without;      /* of all these, none of them; or NULL */
    const struct weir__git_suspect *suspects; /* all there are, in any order, each once */
    size_t suspects_count;
    uint8_t digest[WEIR__HASH_SIZE];
    uint8_t held[WEIR__HASH_SIZE];
    const struct weir__git_state_pack *packs;   /* in any order */
    size_t packs_count;                         /* at most WEIR__GIT_STATE_PACKS_MAX */
    const struct weir__git_state_place *places; /* likewise */
    size_t places_count;                        /* at most WEIR__GIT_STATE_PLACES_MAX */
    uint8_t loose[WEIR__GIT_STATE_LOOSE_SIZE];
    uint64_t loose_time_ns;
    uint8_t midx[WEIR__GIT_STATE_MARK_SIZE];
};

/* Replaces what was there. Of a suspect's paths the first WEIR__GIT_STATE_PATHS_MAX are kept.
 * Invalid: a suspect that is given twice or is none. TooLarge, NoMemory, NoSpace, Denied, Io, and
 * why; then what was there before is still there, unless all that failed was syncing the folder. */
WEIR_MUST_USE int weir__git_state_save(struct weir__git_states *states,
                                       const struct weir__git_state_about *about,
                                       const struct weir__git_state_new *made,
                                       char why[WEIR__GIT_FLAW_MAX]);

#endif
