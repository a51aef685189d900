/* walk_blocks.c - a handful of free blocks, best fit. */
#include "walk_blocks.h"

#include <weir/error.h>

#include "alloc.h"
#include "require.h"

#include "banned.h"

#define LEAST 4096u

void weir__git_blocks_init(struct weir__git_blocks *blocks, uint64_t limit)
{
    *blocks = (struct weir__git_blocks){.limit = limit};
}

static void free_kept(struct weir__git_blocks *blocks, unsigned at)
{
    blocks->held -= blocks->kept[at].capacity;
    weir__base_free(blocks->kept[at].bytes);
    blocks->kept[at] = blocks->kept[--blocks->kept_count];
}

void weir__git_blocks_fini(struct weir__git_blocks *blocks)
{
    while (blocks->kept_count > 0)
        free_kept(blocks, blocks->kept_count - 1);
    WEIR__REQUIRE(blocks->held == 0, "walk", "blocks", "a block was not given back");
}

/* Up to an eighth more, so that the next object, a little larger, fits as well. */
static size_t round_up(size_t length)
{
    if (length <= LEAST)
        return LEAST;
    size_t step = (size_t)1 << (60 - __builtin_clzll(length));
    return length > SIZE_MAX - step ? length : (length + step - 1) & ~(step - 1);
}

static bool take_kept(struct weir__git_blocks *blocks, size_t length,
                      struct weir__git_block *ret_block)
{
    unsigned best = WEIR__GIT_BLOCKS_KEPT;
    for (unsigned i = 0; i < blocks->kept_count; i++) {
        size_t capacity = blocks->kept[i].capacity;
        if (capacity >= length && capacity / 2 <= length + LEAST &&
            (best == WEIR__GIT_BLOCKS_KEPT || capacity < blocks->kept[best].capacity))
            best = i;
    }
    if (best == WEIR__GIT_BLOCKS_KEPT)
        return false;
    *ret_block = blocks->kept[best];
    blocks->kept[best] = blocks->kept[--blocks->kept_count];
    return true;
}

int weir__git_blocks_take(struct weir__git_blocks *blocks, size_t length,
                          struct weir__git_block *ret_block)
{
    if (length > blocks->limit)
        return -WEIR_E_TOO_LARGE;
    if (take_kept(blocks, length, ret_block))
        return 0;
    size_t capacity = round_up(length);
    while (blocks->kept_count > 0 && blocks->held + capacity > blocks->limit)
        free_kept(blocks, blocks->kept_count - 1);
    if (blocks->held + capacity > blocks->limit)
        capacity = length ? length : 1;
    if (blocks->held + capacity > blocks->limit)
        return -WEIR_E_TOO_LARGE;
    uint8_t *bytes = weir__base_realloc(NULL, capacity, 1);
    if (!bytes)
        return -WEIR_E_NO_MEMORY;
    blocks->held += capacity;
    if (blocks->held > blocks->held_max)
        blocks->held_max = blocks->held;
    *ret_block = (struct weir__git_block){bytes, capacity};
    return 0;
}

void weir__git_blocks_give(struct weir__git_blocks *blocks, struct weir__git_block *block)
{
    if (!block->bytes)
        return;
    if (blocks->kept_count == WEIR__GIT_BLOCKS_KEPT)
        free_kept(blocks, 0);
    blocks->kept[blocks->kept_count++] = *block;
    *block = (struct weir__git_block){0};
}
