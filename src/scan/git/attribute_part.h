/* attribute_part.h - what the files of the attribution share; nobody else includes this.
 *
 *   attribute.c        life, results, merging
 *   attribute_tree.c   what is left of a tree: reading it, once
 *   attribute_node.c   the same remains once
 *   attribute_walk.c   comparing commits
 *   attribute_paths.c  paths of a blob
 *   attribute_looks.c  at which of them it is looked at
 *
 * A remain is a list of entries sorted by name: a wanted blob, or another remain. It has a number;
 * equal ones have the same.
 *
 * Ownership: everything belongs to the attribution; `wanted` is that of the first one.
 */
#ifndef WEIR_SCAN_GIT_ATTRIBUTE_PART_H
#define WEIR_SCAN_GIT_ATTRIBUTE_PART_H

#include "attribute.h"
#include "tree_entry.h"

/* What is known of a tree, beside its id: nothing yet, nothing in it, or a remain. */
#define WEIR__TREE_OPEN  0u
#define WEIR__TREE_CLEAN 1u
#define WEIR__TREE_NODES 2u /* and more: the number of the remain plus this */

/* An entry of a remain. */
struct weir__remain_entry {
    size_t name; /* where it begins among the names */
    uint32_t name_length;
    uint32_t target; /* a wanted blob, or a remain */
    bool is_tree;
};

struct weir__remain {
    size_t entries_from;
    uint32_t entries_count;
    uint32_t hash;
    uint64_t seen; /* by the commit at hand */
};

/* An entry of a tree that is being read. */
struct weir__draft {
    struct weir__remain_entry entry;
    struct weir__git_id id; /* of a tree that is not known yet */
    bool is_pending, is_dropped;
};

struct weir__draft_frame {
    uint32_t tree; /* among the trees */
    size_t drafts_from, next, names_from;
};

struct weir__trees {
    struct weir__git_set known; /* with what is known of each */
    struct weir__remain *remains;
    size_t remains_count, remains_room;
    uint32_t *slots; /* of remains, by hash; a number + 1 */
    size_t slots_count;
    struct weir__remain_entry *entries;
    size_t entries_count, entries_room;
    struct weir__buffer names;
    struct weir__draft *drafts;
    size_t drafts_count, drafts_room;
    struct weir__draft_frame *frames;
    size_t frames_count, frames_room;
    struct weir__buffer draft_names;
    struct weir__buffer bytes;
    uint64_t seed;
};

/* A remain that is being compared. */
struct weir__compare_frame {
    uint32_t remain, next;
    size_t parents_from, parents_count; /* among the parents */
    size_t path_length;
    bool is_again;
};

struct weir__compare {
    struct weir__compare_frame *frames;
    size_t frames_count, frames_room;
    uint32_t *parents;
    size_t parents_count, parents_room;
    struct weir__buffer path;
    uint64_t turn;
    uint64_t again; /* places in trees that a commit has more than once, of all commits so far */
    bool is_cut;    /* some places were passed over */
};

/* What was found about a wanted blob. */
struct weir__found {
    struct weir__git_look *looks; /* whose paths are its own */
    unsigned looks_count, looks_room;
    unsigned first; /* of them */
    bool is_staged, has_more, is_cut;
    char *ref;
    char **paths;
    unsigned paths_count;
    uint64_t paths_total;
};

/* Which paths were counted: a hash of blob and path, and of the mark of a commit that has one. */
struct weir__counted {
    struct weir__counted_path {
        uint64_t hash; /* 0: free */
        uint32_t number;
        uint16_t look; /* that it belongs to, or one of these: */
        bool is_marked;
    } * slots;
    size_t slots_count, count;
};
enum { WEIR__LOOK_BEYOND = 0xffff, WEIR__LOOK_UNKNOWN = 0xfffe };
_Static_assert(WEIR__GIT_LOOKS_MAX < WEIR__LOOK_UNKNOWN, "each has a number");

struct weir__git_attribute {
    struct weir__git_attribute_options options;
    struct weir__git_set own_wanted;
    const struct weir__git_set *wanted;
    struct weir__found *found;
    size_t found_room;
    uint32_t left; /* blobs that no commit has brought yet */
    struct weir__trees trees;
    struct weir__compare compare;
    struct weir__counted counted;
    struct weir__git_attribute_stats stats;
    const char *ref; /* while its tree is gone through */
    uint64_t mark;   /* of the commit at hand */
};

/* Says it to whoever listens, and counts it. */
__attribute__((cold, format(printf, 2, 3))) void weir__attribute_tell(struct weir__git_attribute *a,
                                                                      const char *format, ...);

void weir__trees_init(struct weir__trees *trees, size_t id_size, uint64_t bytes_max);
void weir__trees_fini(struct weir__trees *trees);
/* As if nothing had been read; the memory goes back. */
void weir__trees_forget(struct weir__git_attribute *a);
/* What is kept in all. */
uint64_t weir__trees_bytes(const struct weir__trees *trees);

/* What is left of a tree: WEIR__TREE_CLEAN or a remain. TooLarge when more would have to be kept
 * than may be, NoMemory, Canceled. */
WEIR_MUST_USE int weir__trees_reduce(struct weir__git_attribute *a, const struct weir__git_id *tree,
                                     uint32_t *ret_state);

/* The remain of the drafts from there on, of which at least one is not dropped. */
WEIR_MUST_USE int weir__remain_make(struct weir__git_attribute *a, size_t drafts_from,
                                    uint32_t *ret_remain);

const char *weir__remain_name(const struct weir__trees *trees,
                              const struct weir__remain_entry *entry);

/* The first entry that does not come before the key, or the count; and whether the key is there. */
uint32_t weir__remain_find(const struct weir__trees *trees, uint32_t remain,
                           const struct weir__remain_entry *key);
bool weir__remain_has(const struct weir__trees *trees, uint32_t remain,
                      const struct weir__remain_entry *key);

/* --- attribute_looks.c --- */

/* Of the commit that brought it, or WEIR__GIT_SET_NONE: nobody did. */
uint32_t weir__found_place(const struct weir__found *found);
/* The look of that verdict, which is made if need be; WEIR__LOOK_BEYOND: there are too many. */
WEIR_MUST_USE int weir__look_of(struct weir__found *found, uint64_t verdict, uint16_t *ret_look);
/* What belongs to the look. */
WEIR_MUST_USE int weir__look_add(struct weir__git_attribute *a, struct weir__found *found,
                                 uint16_t look, const char *path, uint32_t place, bool is_staged);
WEIR_MUST_USE int weir__looks_merge(struct weir__git_attribute *a, struct weir__found *found,
                                    const struct weir__found *other);
void weir__looks_fini(struct weir__found *found);

/* --- attribute_paths.c --- */

/* A path as it is kept; NULL: no memory. */
char *weir__path_copy(const char *path, size_t length);
/* Whether a commit that was looked at has brought it there, or a ref or an index has it. */
bool weir__found_has(const struct weir__git_attribute *a, uint32_t number, const char *path,
                     size_t length);
/* A path of a blob. place: of the commit that brought it, or WEIR__GIT_SET_NONE. */
WEIR_MUST_USE int weir__found_add(struct weir__git_attribute *a, uint32_t number, const char *path,
                                  size_t length, uint32_t place);
WEIR_MUST_USE int weir__found_merge(struct weir__git_attribute *a,
                                    const struct weir__git_attribute *fork);
void weir__found_fini(struct weir__found *found);

/* Each place of a wanted blob in the remain at which none of the `count` others has it. prefix: of
 * the paths, with its slash. */
WEIR_MUST_USE int weir__compare_run(struct weir__git_attribute *a, uint32_t remain,
                                    const uint32_t *others, size_t count, const char *prefix,
                                    uint32_t place,
                                    int (*each)(struct weir__git_attribute *a, uint32_t number,
                                                const char *path, size_t length, uint32_t place));

/* Room for one more of size bytes; arrays double. */
WEIR_MUST_USE int weir__attribute_room(void **array, size_t *room, size_t count, size_t size);

#endif
