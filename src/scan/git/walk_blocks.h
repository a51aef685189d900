/* walk_blocks.h - memory for objects that come and go fast, within a limit.
 *
 * Blocks that were given back are kept for the next object of about that size: taking new memory
 * from the system for each would cost more than inflating it. What is kept counts as held and goes
 * first when something else does not fit.
 *
 * Ownership: the blocks struct owns what was given back; what was taken belongs to the taker.
 */
#ifndef WEIR_SCAN_GIT_WALK_BLOCKS_H
#define WEIR_SCAN_GIT_WALK_BLOCKS_H

#include <weir/defs.h>

#define WEIR__GIT_BLOCKS_KEPT 16u

struct weir__git_block {
    uint8_t *bytes; /* NULL: none */
    size_t capacity;
};

struct weir__git_blocks {
    uint64_t limit;
    uint64_t held;
    uint64_t held_max;
    unsigned kept_count;
    struct weir__git_block kept[WEIR__GIT_BLOCKS_KEPT];
};

void weir__git_blocks_init(struct weir__git_blocks *blocks, uint64_t limit);
/* What was taken must have been given back. */
void weir__git_blocks_fini(struct weir__git_blocks *blocks);

/* At least length bytes, not set. TooLarge when it does not fit beside what is taken, NoMemory. */
WEIR_MUST_USE int weir__git_blocks_take(struct weir__git_blocks *blocks, size_t length,
                                        struct weir__git_block *ret_block);
/* Accepts an empty one, and empties it. */
void weir__git_blocks_give(struct weir__git_blocks *blocks, struct weir__git_block *block);

#endif
