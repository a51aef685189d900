/* walk_path.c - the objects on the path: made, let go, and made again.
 *
 * Memory is taken for the tip. When there is none left, nodes are let go from the root on, into
 * files if there may be any. A node that was let go is needed again when the walk comes back to it
 * and turns to its next child. Then everything from the nearest living node down to it is made
 * again, and as much of that as fits stays alive, since the walk is on its way up.
 */
#include "walk_part.h"

#include "pack_delta.h"
#include "temporary.h"

#include "banned.h"

static int fail(struct weir__git_walking *walk, int code, const char *why)
{
    walk->why = why;
    return -code;
}

/* --- letting go --- */

/* Lets go of the one that is farthest from the tip, but nobody from `keep` on. */
static bool drop_one(struct weir__git_walking *walk, uint32_t keep)
{
    for (; walk->alive_from < keep; walk->alive_from++) {
        struct weir__git_node *node = &walk->nodes[walk->alive_from];
        if (node->state != WEIR__GIT_NODE_ALIVE)
            continue;
        node->state =
            weir__git_walk_spill(walk, node) ? WEIR__GIT_NODE_SPILLED : WEIR__GIT_NODE_DROPPED;
        weir__git_blocks_give(&walk->blocks, &node->block);
        return true;
    }
    return false;
}

static int take(struct weir__git_walking *walk, uint64_t length, uint32_t keep,
                struct weir__git_block *ret_block)
{
    bool is_possible = true;
    int result = -WEIR_E_TOO_LARGE;
    while (is_possible && (result = weir__git_blocks_take(&walk->blocks, (size_t)length,
                                                          ret_block)) == -WEIR_E_TOO_LARGE) {
        is_possible = drop_one(walk, keep);
        /* The last delta's memory, if it is not at hand. */
        if (!is_possible && walk->delta.bytes && walk->delta_length == 0) {
            weir__git_blocks_give(&walk->blocks, &walk->delta);
            is_possible = true;
        }
    }
    if (!is_possible) {
        walk->size = length;
        walk->is_too_large = true;
        return fail(walk, WEIR_E_TOO_LARGE, "it is larger than the limits on objects and memory");
    }
    return result < 0 ? fail(walk, WEIR_E_NO_MEMORY, "there is no memory for it") : 0;
}

void weir__git_walk_release(struct weir__git_walking *walk, uint32_t depth)
{
    struct weir__git_node *node = &walk->nodes[depth];
    if (node->state == WEIR__GIT_NODE_SPILLED)
        weir__git_walk_close_file(walk, node);
    weir__git_blocks_give(&walk->blocks, &node->block);
    if (node->state != WEIR__GIT_NODE_EMPTY)
        node->state = WEIR__GIT_NODE_RELEASED;
}

/* --- making --- */

int weir__git_walk_add_work(struct weir__git_walking *walk, uint64_t bytes)
{
    walk->work += bytes;
    walk->unasked += bytes;
    return walk->work <= walk->options->work_max
               ? 0
               : fail(walk, WEIR_E_TOO_LARGE, "it takes more work than one object may");
}

int weir__git_walk_read_entry(struct weir__git_walking *walk, uint32_t i,
                              struct weir__git_entry *ret_entry)
{
    const struct weir__git_plan *plan = walk->plan;
    return weir__git_pack_entry(plan->pack, weir__git_plan_offset(plan, i),
                                weir__git_plan_end(plan, i), plan->_idx_at[i], ret_entry,
                                &walk->why);
}

/* Before any memory is taken for it. */
static int check_size(struct weir__git_walking *walk, uint64_t size)
{
    if (size <= walk->options->object_max && size <= walk->options->delta_bytes)
        return weir__git_walk_add_work(walk, size);
    walk->size = size;
    walk->is_too_large = true;
    return fail(walk, WEIR_E_TOO_LARGE, "it is larger than the limits on objects and memory");
}

/* What so few bytes cannot be is a lie. */
static int check_claim(struct weir__git_walking *walk, const struct weir__git_entry *entry)
{
    if (entry->size <= weir__git_inflate_max(entry->end - entry->data_at))
        return check_size(walk, entry->size);
    return fail(walk, WEIR_E_CORRUPT, "it claims a size that so few bytes cannot unpack to");
}

static int make_whole(struct weir__git_walking *walk, struct weir__git_node *node,
                      const struct weir__git_entry *entry)
{
    int result = check_claim(walk, entry);
    if (result == 0)
        result = take(walk, entry->size, 0, &node->block);
    if (result == 0)
        result = weir__git_pack_inflate(walk->plan->pack, &walk->inflater, entry, node->block.bytes,
                                        &walk->why);
    node->length = (size_t)entry->size;
    return result;
}

/* The delta at hand goes into walk->delta. */
static int inflate_delta(struct weir__git_walking *walk, const struct weir__git_entry *entry,
                         uint32_t keep, struct weir__git_delta *ret_delta)
{
    int result = check_claim(walk, entry);
    if (result == 0 && (!walk->delta.bytes || walk->delta.capacity < entry->size)) {
        weir__git_blocks_give(&walk->blocks, &walk->delta);
        result = take(walk, entry->size, keep, &walk->delta);
    }
    walk->size = 0; /* that was the delta's */
    if (result == 0)
        result = weir__git_pack_inflate(walk->plan->pack, &walk->inflater, entry, walk->delta.bytes,
                                        &walk->why);
    if (result < 0)
        return result;
    walk->delta_length = (size_t)entry->size;
    if (weir__git_delta_init(ret_delta, walk->delta.bytes, walk->delta_length) < 0)
        return fail(walk, WEIR_E_CORRUPT, "its delta has no head");
    return 0;
}

static int make_delta(struct weir__git_walking *walk, struct weir__git_node *node,
                      const struct weir__git_entry *entry, const void *base, size_t base_length,
                      uint32_t keep)
{
    struct weir__git_delta delta;
    int result = inflate_delta(walk, entry, keep, &delta);
    if (result < 0)
        return result;
    if (delta.base_length != base_length)
        return fail(walk, WEIR_E_CORRUPT, "its delta is for a base of another size");
    result = check_size(walk, delta.result_length);
    if (result == 0)
        result = take(walk, delta.result_length, keep, &node->block);
    if (result < 0)
        return result;
    node->length = (size_t)delta.result_length;
    if (weir__git_delta_apply(&delta, base, node->block.bytes) < 0)
        return fail(walk, WEIR_E_CORRUPT, "its delta does not fit its base");
    return 0;
}

int weir__git_walk_get_external(struct weir__git_walking *walk, const struct weir__git_entry *entry)
{
    const struct weir__git_walk_options *options = walk->options;
    if (!options->get)
        return fail(walk, WEIR_E_NOT_FOUND, "its base is not in the pack");
    int result = options->get(options->get_arg, &entry->base_id, &walk->type, &walk->external);
    if (result < 0)
        return fail(walk, -result,
                    result == -WEIR_E_NOT_FOUND ? "its base is missing"
                    : result == -WEIR_E_TOO_LARGE
                        ? "its base, which is not in the pack, is large or leads through many "
                          "packs: git repack -ad makes one of them"
                        : "its base, which is not in the pack, cannot be read");
    return 0;
}

static int make_external(struct weir__git_walking *walk, struct weir__git_node *node,
                         const struct weir__git_entry *entry)
{
    int result = weir__git_walk_get_external(walk, entry);
    return result < 0 ? result
                      : make_delta(walk, node, entry, weir__buffer_text(&walk->external),
                                   weir__buffer_length(&walk->external), 0);
}

int weir__git_walk_make(struct weir__git_walking *walk, uint32_t depth)
{
    struct weir__git_node *node = &walk->nodes[depth];
    struct weir__git_entry entry;
    walk->delta_length = 0;
    int result = weir__git_walk_read_entry(walk, node->i, &entry);
    if (result < 0)
        return result;
    if (depth > 0) {
        const struct weir__git_node *base = node - 1;
        /* It is a delta, or the plan would have it as a root; the file may have been written to. */
        result = entry.kind == WEIR__GIT_KIND_WHOLE
                     ? fail(walk, WEIR_E_CORRUPT, "the pack changed while it was read")
                     : make_delta(walk, node, &entry, base->block.bytes, base->length, depth - 1);
    } else if (entry.kind == WEIR__GIT_KIND_WHOLE) {
        result = make_whole(walk, node, &entry);
    } else if (entry.kind == WEIR__GIT_KIND_REFERENCE) {
        result = make_external(walk, node, &entry);
    } else {
        result = fail(walk, WEIR_E_CORRUPT, "the pack changed while it was read");
    }
    if (result < 0) {
        weir__git_blocks_give(&walk->blocks, &node->block);
        return result;
    }
    node->state = WEIR__GIT_NODE_ALIVE;
    if (walk->alive_from > depth)
        walk->alive_from = depth;
    walk->totals->made += node->length;
    return 0;
}

uint64_t weir__git_walk_result_size(struct weir__git_walking *walk, uint32_t i)
{
    struct weir__git_entry entry;
    struct weir__git_delta delta;
    walk->work = 0;
    walk->delta_length = 0;
    if (weir__git_walk_read_entry(walk, i, &entry) < 0)
        return 0;
    if (entry.kind == WEIR__GIT_KIND_WHOLE)
        return entry.size;
    return inflate_delta(walk, &entry, 0, &delta) < 0 ? 0 : delta.result_length;
}

/* --- making again --- */

static int read_back(struct weir__git_walking *walk, uint32_t depth)
{
    struct weir__git_node *node = &walk->nodes[depth];
    walk->delta_length = 0;
    int result = take(walk, node->length, depth, &node->block);
    if (result < 0)
        return result;
    result = weir__whole_pread(node->file, node->block.bytes, node->length, 0);
    if (result < 0) {
        weir__git_blocks_give(&walk->blocks, &node->block);
        return fail(walk, -result, "its base cannot be read back from its temporary file");
    }
    weir__git_walk_close_file(walk, node);
    node->state = WEIR__GIT_NODE_ALIVE;
    if (walk->alive_from > depth)
        walk->alive_from = depth;
    return 0;
}

static int make_again(struct weir__git_walking *walk, uint32_t depth, bool in_file)
{
    uint8_t before = walk->nodes[depth].state;
    size_t length = walk->nodes[depth].length;
    if (walk->totals->rebuilt_bytes > walk->options->rebuilt_max)
        return fail(walk, WEIR_E_TOO_LARGE,
                    "its base would have to be built again, and too much was already");
    int result = in_file ? weir__git_walk_make_file(walk, depth) : weir__git_walk_make(walk, depth);
    walk->nodes[depth].length = length;
    if (result < 0) {
        walk->nodes[depth].state = before;
        return result;
    }
    walk->totals->rebuilt++;
    walk->totals->rebuilt_bytes += length;
    return 0;
}

int weir__git_walk_revive(struct weir__git_walking *walk, uint32_t depth, bool in_file)
{
    struct weir__git_node *nodes = walk->nodes;
    uint32_t first = depth;
    while (first > 0 && nodes[first].state != WEIR__GIT_NODE_ALIVE &&
           nodes[first].state != WEIR__GIT_NODE_SPILLED)
        first--;
    bool was_released = false;
    for (uint32_t at = first; at <= depth; at++) {
        bool is_released = nodes[at].state == WEIR__GIT_NODE_RELEASED;
        bool is_spilled = nodes[at].state == WEIR__GIT_NODE_SPILLED;
        int result = nodes[at].state == WEIR__GIT_NODE_ALIVE || (is_spilled && in_file) ? 0
                     : is_spilled ? read_back(walk, at)
                                  : make_again(walk, at, in_file);
        if (was_released)
            weir__git_walk_release(walk, at - 1);
        if (result < 0)
            return result;
        was_released = is_released;
    }
    return 0;
}
