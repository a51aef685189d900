/* walk_part.h - what walk.c, walk_path.c and walk_file.c share: the path from the root to the
 * object at hand.
 *
 * Ownership: the walk owns its nodes, its blocks and its inflater.
 */
#ifndef WEIR_SCAN_GIT_WALK_PART_H
#define WEIR_SCAN_GIT_WALK_PART_H

#include "walk.h"
#include "walk_blocks.h"

enum weir__git_node_state {
    WEIR__GIT_NODE_EMPTY,    /* nothing was made of it */
    WEIR__GIT_NODE_ALIVE,    /* its bytes are in its block */
    WEIR__GIT_NODE_DROPPED,  /* let go for want of memory; built again when needed */
    WEIR__GIT_NODE_SPILLED,  /* its bytes are in its file */
    WEIR__GIT_NODE_RELEASED, /* nobody needs it any more */
};

struct weir__git_node {
    struct weir__git_block block;
    size_t length;
    int file;      /* if it is spilled */
    uint32_t i;    /* in the plan */
    uint32_t next; /* the next with the same base that is needed */
    uint8_t state; /* enum weir__git_node_state */
    bool is_entered;
};

struct weir__git_walking {
    const struct weir__git_plan *plan;
    const struct weir__git_visitor *visitor;
    const struct weir__git_walk_options *options;
    const struct weir_deadline *deadline;
    struct weir__git_walk_totals *totals;
    struct weir__git_inflater inflater;
    struct weir__git_blocks blocks;
    struct weir__git_block delta; /* of the object at hand, inflated */
    size_t delta_length;
    struct weir__buffer external; /* a base from elsewhere */
    struct weir__git_node *nodes; /* by depth */
    size_t nodes_room;
    uint32_t alive_from;             /* no node above it, nearer to the root, is alive */
    struct weir__git_filing *filing; /* walk_file.c; made with the first file */
    unsigned files;                  /* of nodes that are spilled */
    uint64_t files_bytes;            /* in them */
    uint64_t work;                   /* bytes made for the object at hand */
    uint64_t unasked;                /* bytes since the deadline was asked */
    uint64_t size;                   /* of what is too large; 0: not known */
    bool is_too_large;               /* for the memory; else TooLarge is a limit on work */
    int ended;                       /* what the deadline said in the middle of an object */
    enum weir__git_type type;        /* of the family */
    const char *why;                 /* of the last failure */
};

/* Makes the bytes of the node at that depth, whose base, the node before it, is alive. Corrupt, Io,
 * NotFound, NoMemory; TooLarge, see is_too_large. */
WEIR_MUST_USE int weir__git_walk_make(struct weir__git_walking *walk, uint32_t depth);

/* Sees to it that the node at that depth is alive, from its file or by building it again; in_file:
 * that it is alive or in a file. */
WEIR_MUST_USE int weir__git_walk_revive(struct weir__git_walking *walk, uint32_t depth,
                                        bool in_file);

/* Its bytes are not needed any more. */
void weir__git_walk_release(struct weir__git_walking *walk, uint32_t depth);

/* The same as a file, with next to no memory: its base is alive, or in a file. TooLarge also when
 * there may be no file of that size. */
WEIR_MUST_USE int weir__git_walk_make_file(struct weir__git_walking *walk, uint32_t depth);

/* Writes the bytes of a node that is alive to a file; false when there may be none, or it cannot.
 */
WEIR_MUST_USE bool weir__git_walk_spill(struct weir__git_walking *walk,
                                        struct weir__git_node *node);
void weir__git_walk_close_file(struct weir__git_walking *walk, struct weir__git_node *node);

/* Parts of making: the head of an object; what is made counts as work; its base, if that is not in
 * the pack, into walk->external. */
WEIR_MUST_USE int weir__git_walk_read_entry(struct weir__git_walking *walk, uint32_t i,
                                            struct weir__git_entry *ret_entry);
WEIR_MUST_USE int weir__git_walk_add_work(struct weir__git_walking *walk, uint64_t bytes);
WEIR_MUST_USE int weir__git_walk_get_external(struct weir__git_walking *walk,
                                              const struct weir__git_entry *entry);

/* Inflates a delta and reads how large its result is; 0 when that cannot be said. */
uint64_t weir__git_walk_result_size(struct weir__git_walking *walk, uint32_t i);

#endif
