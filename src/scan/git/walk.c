/* walk.c - the loop over families, and what is told of each object. */
#include "walk.h"

#include "alloc.h"
#include "walk_part.h"

#include "banned.h"

#define NONE        WEIR__GIT_NONE
#define NODES_FIRST 64u
/* The deadline is asked after so many bytes; an object counts for something by itself. */
#define ASK_BYTES  (UINT64_C(4) << 20)
#define ASK_OBJECT 4096u

void weir__git_walk_options_init(struct weir__git_walk_options *options)
{
    *options = (struct weir__git_walk_options){
        .delta_bytes = UINT64_C(64) << 20,
        .object_max = UINT64_C(1) << 30,
        .chain_max = 1000000,
        .work_max = UINT64_C(4) << 30,
        .rebuilt_max = UINT64_C(64) << 30,
    };
}

/* --- telling --- */

static int tell(struct weir__git_walking *walk, uint32_t i, int code, const char *why)
{
    const struct weir__git_plan *plan = walk->plan;
    struct weir__git_trouble trouble = {
        .code = code,
        .offset = weir__git_plan_offset(plan, i),
        .pack = plan->pack->name,
        .why = why,
    };
    /* An id that cannot be read is shown as zeros. */
    if (weir__git_pack_id(plan->pack, plan->_idx_at[i], &trouble.id) < 0)
        trouble.id = (struct weir__git_id){{0}};
    walk->totals->troubles++;
    return walk->visitor->trouble(walk->visitor->arg, &trouble);
}

static int tell_too_large(struct weir__git_walking *walk, uint32_t i, uint64_t size,
                          const char *why)
{
    struct weir__git_id id;
    if (!walk->visitor->too_large ||
        weir__git_pack_id(walk->plan->pack, walk->plan->_idx_at[i], &id) < 0)
        return tell(walk, i, WEIR_E_TOO_LARGE, why);
    walk->totals->too_large++;
    return walk->visitor->too_large(walk->visitor->arg, &id, walk->type, size);
}

static bool is_wanted(const struct weir__git_walking *walk, uint32_t i)
{
    return weir__git_plan_is(walk->plan, i, WEIR__GIT_PLAN_WANTED) &&
           (!walk->type || walk->plan->types >> walk->type & 1);
}

static int ask(struct weir__git_walking *walk)
{
    const struct weir__git_visitor *visitor = walk->visitor;
    walk->unasked += ASK_OBJECT;
    if (walk->unasked < ASK_BYTES)
        return 0;
    int result = visitor->work ? visitor->work(visitor->arg, walk->unasked) : 0;
    walk->unasked = 0;
    return result || !walk->deadline ? result : weir_deadline_check(walk->deadline);
}

/* i could not be made, nor can be what is built from it. */
static int give_up(struct weir__git_walking *walk, uint32_t i, int code)
{
    const struct weir__git_plan *plan = walk->plan;
    const char *why = walk->why;
    uint64_t size = walk->size;
    bool is_too_large = code == WEIR_E_TOO_LARGE && walk->is_too_large;
    for (uint32_t at = i; at != NONE; at = weir__git_plan_next(plan, i, at)) {
        int result = ask(walk);
        if (result == 0 && is_wanted(walk, at)) {
            if (at != i)
                size = is_too_large ? weir__git_walk_result_size(walk, at) : 0;
            result = is_too_large ? tell_too_large(walk, at, size, why)
                     : at == i    ? tell(walk, at, code, why)
                                  : tell(walk, at, code, "what it is built from cannot be built");
        }
        if (result != 0)
            return result;
    }
    return 0;
}

static const char *why_broken(const struct weir__git_plan *plan, uint32_t i)
{
    struct weir__git_entry entry;
    const char *why = NULL;
    uint64_t at = weir__git_plan_offset(plan, i), end = weir__git_plan_end(plan, i);
    if (at > 0 && at == end)
        return "another object has the same place in the pack";
    return weir__git_pack_entry(plan->pack, at, end, NONE, &entry, &why) < 0
               ? why
               : "its base is not an object of the pack";
}

/* --- one object --- */

static uint32_t next_needed(const struct weir__git_plan *plan, uint32_t i)
{
    while (i != NONE && !weir__git_plan_is(plan, i, WEIR__GIT_PLAN_NEEDED))
        i = plan->_next[i];
    return i;
}

static int push(struct weir__git_walking *walk, uint32_t i, uint32_t depth)
{
    if (depth >= walk->nodes_room) {
        size_t room = walk->nodes_room ? walk->nodes_room * 2 : NODES_FIRST;
        struct weir__git_node *nodes = weir__base_realloc(walk->nodes, room, sizeof(*nodes));
        if (!nodes)
            return -WEIR_E_NO_MEMORY;
        walk->nodes = nodes;
        walk->nodes_room = room;
    }
    walk->nodes[depth] =
        (struct weir__git_node){.i = i, .next = next_needed(walk->plan, walk->plan->_next[i])};
    return 0;
}

static int enter(struct weir__git_walking *walk, uint32_t depth)
{
    struct weir__git_node *node = &walk->nodes[depth];
    bool is_file = node->state == WEIR__GIT_NODE_SPILLED;
    struct weir__git_object object = {
        .type = walk->type,
        .is_file = is_file,
        .file = is_file ? node->file : -1,
        .bytes = is_file ? NULL : node->block.bytes,
        .length = node->length,
        .depth = depth,
        .offset = weir__git_plan_offset(walk->plan, node->i),
    };
    if (weir__git_pack_id(walk->plan->pack, walk->plan->_idx_at[node->i], &object.id) < 0)
        return tell(walk, node->i, WEIR_E_IO, "the index became shorter while it was read");
    if (!is_file && depth > 0 && node[-1].is_entered) {
        object.has_base = true;
        object.base = node[-1].block.bytes;
        object.base_length = node[-1].length;
        object.delta = walk->delta.bytes;
        object.delta_length = walk->delta_length;
    }
    node->is_entered = true;
    walk->totals->objects++;
    walk->totals->bytes += node->length;
    return walk->visitor->enter(walk->visitor->arg, &object);
}

static int build(struct weir__git_walking *walk, uint32_t depth, bool in_file)
{
    int result = depth > 0 ? weir__git_walk_revive(walk, depth - 1, in_file) : 0;
    if (result < 0)
        return result;
    return in_file ? weir__git_walk_make_file(walk, depth) : weir__git_walk_make(walk, depth);
}

/* In memory, or else in a file. With a base that takes half of the memory it is not tried. */
static int make(struct weir__git_walking *walk, uint32_t depth)
{
    const struct weir__git_node *base = depth > 0 ? &walk->nodes[depth - 1] : NULL;
    bool in_file = base && base->state == WEIR__GIT_NODE_SPILLED &&
                   base->length > walk->options->delta_bytes / 2;
    int result = build(walk, depth, in_file);
    if (result != -WEIR_E_TOO_LARGE || !walk->is_too_large || in_file || !walk->options->spill)
        return result;
    walk->work = walk->size = 0;
    walk->is_too_large = false;
    return build(walk, depth, true);
}

/* The object that comes after the one at that depth, if that is easy to say: the first that is
 * built from it, or the next that is built from what it was built from, or one of those. */
static uint32_t expect(const struct weir__git_walking *walk, uint32_t depth)
{
    const struct weir__git_node *node = &walk->nodes[depth];
    uint32_t i = walk->plan->_child[node->i];
    if (depth == 0 && i == NONE)
        return node->i + 1;
    for (; i == NONE && depth > 0; node--, depth--)
        i = node->next;
    return i;
}

/* Families are scattered over a pack, and objects lie in the index in the order of their ids, so
 * each look at the plan, the index and the pack is a miss of the cache, and some take as long as
 * inflating a small delta. They are seen to while the object before is at work: what the plan has
 * when that is begun, and what that leads to when it has been made. */
static void fetch_plan(const struct weir__git_plan *plan, uint32_t i)
{
    if (i >= plan->count)
        return;
    __builtin_prefetch(&plan->_offsets[i]);
    __builtin_prefetch(&plan->_idx_at[i]);
    __builtin_prefetch(&plan->_child[i]);
    __builtin_prefetch(&plan->_next[i]);
}

static void fetch(const struct weir__git_plan *plan, uint32_t i)
{
    if (i >= plan->count)
        return;
    weir__git_pack_fetch(plan->pack, weir__git_plan_offset(plan, i), plan->_idx_at[i]);
    if (plan->_next[i] != NONE)
        __builtin_prefetch(&plan->_offsets[plan->_next[i]]);
}

/* Makes it and hands it out. ret_is_base: it is there for those that are built from it. */
static int visit(struct weir__git_walking *walk, uint32_t depth, bool *ret_is_base)
{
    struct weir__git_node *node = &walk->nodes[depth];
    *ret_is_base = false;
    int result = ask(walk);
    if (result < 0)
        return result;
    uint32_t after = expect(walk, depth);
    fetch_plan(walk->plan, after);
    walk->work = walk->size = 0;
    walk->is_too_large = false;
    if (weir__git_plan_is(walk->plan, node->i, WEIR__GIT_PLAN_BROKEN)) {
        walk->why = why_broken(walk->plan, node->i);
        return give_up(walk, node->i, WEIR_E_CORRUPT);
    }
    result = make(walk, depth);
    if (walk->ended < 0)
        return walk->ended;
    fetch(walk->plan, after);
    if (result == 0) {
        *ret_is_base = true;
        if (is_wanted(walk, node->i))
            result = enter(walk, depth);
    } else {
        result = give_up(walk, node->i, -result);
    }
    /* It was the last one for its base. */
    if (depth > 0 && node->next == NONE)
        weir__git_walk_release(walk, depth - 1);
    return result;
}

static void leave(struct weir__git_walking *walk, uint32_t depth)
{
    weir__git_walk_release(walk, depth);
    if (walk->nodes[depth].is_entered && walk->visitor->leave)
        walk->visitor->leave(walk->visitor->arg, depth);
}

/* --- families --- */

/* What lies deeper than a path may be is told, not walked. */
static int give_up_below(struct weir__git_walking *walk, uint32_t i)
{
    walk->why = "its chain of deltas is longer than the limit";
    walk->is_too_large = false;
    int result = 0;
    for (; i != NONE && result == 0; i = next_needed(walk->plan, walk->plan->_next[i]))
        result = give_up(walk, i, WEIR_E_TOO_LARGE);
    return result;
}

static int walk_family(struct weir__git_walking *walk, uint32_t root)
{
    const struct weir__git_plan *plan = walk->plan;
    uint32_t i = root, depth = 0;
    walk->type = weir__git_plan_type(plan, root);
    for (;;) {
        bool is_base;
        int result = push(walk, i, depth);
        if (result < 0) {
            if (depth > 0)
                depth--;
            else
                return result;
        } else {
            result = visit(walk, depth, &is_base);
            uint32_t child = is_base ? next_needed(plan, plan->_child[i]) : NONE;
            if (result == 0 && child != NONE) {
                if (depth + 1 < walk->options->chain_max) {
                    i = child;
                    depth++;
                    continue;
                }
                result = give_up_below(walk, child);
            }
        }
        for (;; depth--) {
            leave(walk, depth);
            if (result == 0 && walk->nodes[depth].next != NONE)
                break;
            if (depth == 0)
                return result;
        }
        i = walk->nodes[depth].next;
    }
}

static int walk_roots(struct weir__git_walking *walk, uint32_t from, uint32_t until)
{
    const struct weir__git_plan *plan = walk->plan;
    const struct weir__git_visitor *visitor = walk->visitor;
    bool is_begun = false;
    int result = 0;
    for (uint32_t i = from; i < until && i < plan->count && result == 0; i++) {
        if (is_begun && visitor->is_over && visitor->is_over(visitor->arg)) {
            walk->totals->is_left = true;
            walk->totals->next = i;
            break;
        }
        is_begun = false;
        if (!weir__git_plan_is(plan, i, WEIR__GIT_PLAN_REACHED)) {
            result = tell(walk, i, WEIR_E_CORRUPT, "its bases form a cycle");
            continue;
        }
        is_begun = plan->_parent[i] == NONE && weir__git_plan_is(plan, i, WEIR__GIT_PLAN_NEEDED);
        if (is_begun)
            result = walk_family(walk, i);
    }
    return result;
}

int weir__git_walk(const struct weir__git_plan *plan, uint32_t from, uint32_t until,
                   const struct weir__git_visitor *visitor,
                   const struct weir__git_walk_options *options,
                   struct weir__git_walk_totals *ret_totals, const struct weir_deadline *deadline)
{
    struct weir__git_walking walk = {
        .plan = plan,
        .visitor = visitor,
        .options = options,
        .deadline = deadline,
        .totals = ret_totals,
    };
    int result = weir__git_inflater_init(&walk.inflater);
    if (result < 0)
        return result;
    weir__git_blocks_init(&walk.blocks, options->delta_bytes);
    weir__buffer_init(&walk.external, options->delta_bytes < SIZE_MAX / 4 && options->delta_bytes
                                          ? (size_t)options->delta_bytes
                                          : SIZE_MAX / 4);
    result = walk_roots(&walk, from, until);
    weir__git_blocks_give(&walk.blocks, &walk.delta);
    if (walk.blocks.held_max > ret_totals->alive_max)
        ret_totals->alive_max = walk.blocks.held_max;
    weir__git_blocks_fini(&walk.blocks);
    weir__buffer_fini(&walk.external);
    weir__base_free(walk.nodes);
    weir__base_free(walk.filing);
    weir__git_inflater_fini(&walk.inflater);
    return result;
}
