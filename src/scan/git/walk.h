/* walk.h - every wanted object of a pack, once, each built from the one above it.
 *
 *     enter root                 depth 0: whole
 *         enter a                depth 1: built from root by a delta
 *             enter b            depth 2
 *             leave 2
 *         leave 1
 *     leave 0
 *
 * Families are walked depth first, in the order of offsets, by a loop and not by recursion: a chain
 * may have a million steps. Every object is inflated once.
 *
 * Memory: what is alive is at most the path from the root, since an object is let go as soon as the
 * last one that is built from it was entered. It is counted against delta_bytes, free blocks that
 * are kept for the next object included. When a path does not fit, the objects farthest from its
 * tip are let go: with a spill they are written to files and read back when they are needed, else
 * they are built again from the root; what that cost is in the totals. With a spill an object that
 * does not fit into memory with its base and its delta is built in a file, a piece at a time, and
 * handed out as that. Besides: 40 bytes for each step of the longest chain, and 200 KiB where files
 * are.
 *
 * What cannot be handed out is told: an object that is larger than object_max, or that fits neither
 * into delta_bytes nor into the spill, as too large, and what is built from it as well; one that is
 * damaged as a problem, with its id, and what is built from it as well. The rest goes on.
 *
 * Threads: a walk belongs to one; several may walk parts of one plan.
 *
 * Ownership: a walk owns its memory. What enter is given belongs to the walk and is valid until
 * enter returns. Plan and pack must outlive it.
 */
#ifndef WEIR_SCAN_GIT_WALK_H
#define WEIR_SCAN_GIT_WALK_H

#include <weir/deadline.h>

#include "pack_plan.h"
#include "spill.h"

struct weir__git_object {
    struct weir__git_id id;
    enum weir__git_type type;
    bool is_file; /* it was too large for memory: it is all of a file, and bytes is NULL */
    int file;
    const uint8_t *bytes;
    size_t length;
    uint32_t depth; /* on the path from its family's root */
    bool has_base;  /* the object entered at depth - 1 is its base, and delta is how it was made */
    const uint8_t *base;
    size_t base_length;
    const uint8_t *delta; /* pack_delta.h; has been checked. NULL: the base is like it, no more */
    size_t delta_length;
    uint64_t offset; /* in the pack */
};

/* An object that is not handed out, and why. */
struct weir__git_trouble {
    int code; /* Corrupt, NotFound (its base), Io, TooLarge (a limit on work), NoMemory */
    struct weir__git_id id;
    uint64_t offset;
    const char *pack;
    const char *why;
};

struct weir__git_visitor {
    /* Anything but 0 ends the walk with that answer. */
    int (*enter)(void *arg, const struct weir__git_object *object);
    /* Everything that is built from the object entered at that depth has been entered and left;
     * once for each enter, also when the walk ends early. May be NULL. */
    void (*leave)(void *arg, uint32_t depth);
    /* May be NULL: then it is told as trouble. size is 0 when it is not known, type likewise. */
    int (*too_large)(void *arg, const struct weir__git_id *id, enum weir__git_type type,
                     uint64_t size);
    int (*trouble)(void *arg, const struct weir__git_trouble *trouble);
    /* Asked between families, and between folders of loose objects, after the first of them: true
     * ends the walk there. May be NULL. */
    bool (*is_over)(void *arg);
    /* So many bytes were built since it was told last, all that was built again included, and those
     * that deltas made in files four times: anything but 0 ends the walk with that answer. May be
     * NULL. */
    int (*work)(void *arg, uint64_t bytes);
    void *arg;
};

/* Files that a walk has open at once, of those that spill.h is about. */
#define WEIR__GIT_SPILL_FILES_MAX 64u

struct weir__git_walk_options {
    uint64_t delta_bytes; /* 64 MiB */
    uint64_t object_max;  /* 1 GiB */
    uint32_t chain_max;   /* steps from a root; 1,000,000 */
    uint64_t work_max;    /* bytes made for one object, what is built again included; 4 GiB */
    uint64_t rebuilt_max; /* bytes built again by one walk; 64 GiB */
    const struct weir__git_spill *spill; /* or NULL */
    weir__git_get_fn *get; /* bases that are not in the pack; NULL: they are missing */
    void *get_arg;
};
void weir__git_walk_options_init(struct weir__git_walk_options *options);

struct weir__git_walk_totals {
    uint64_t objects; /* entered */
    uint64_t bytes;   /* of these */
    uint64_t made;    /* bytes of everything that was built, deltas not counted */
    uint64_t too_large;
    uint64_t troubles;
    uint64_t rebuilt; /* objects that were built again */
    uint64_t rebuilt_bytes;
    uint64_t spilled; /* objects that were written to files */
    uint64_t spilled_bytes;
    uint64_t alive_max; /* bytes that were held at once */
    bool is_left;       /* the visitor ended it, and there is more: */
    uint32_t next;      /* from there on */
};

/* Walks the families whose roots are in [from, until) of the plan, which has been marked. 0, also
 * when there was trouble; NoMemory when nothing could be begun; what the visitor or the deadline
 * said. A pack that becomes shorter while it is read is trouble (Io) of what was lost. The totals
 * are added to ret_totals in any case. deadline may be NULL. */
WEIR_MUST_USE int weir__git_walk(const struct weir__git_plan *plan, uint32_t from, uint32_t until,
                                 const struct weir__git_visitor *visitor,
                                 const struct weir__git_walk_options *options,
                                 struct weir__git_walk_totals *ret_totals,
                                 const struct weir_deadline *deadline);

#endif
