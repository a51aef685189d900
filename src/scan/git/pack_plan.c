/* pack_plan.c - from an index to families.
 *
 * Five tables of 8, 4, 4, 4 and 4 bytes for each object. While the offsets are sorted, the tables
 * of children serve as the other half of the sort.
 */
#include "pack_plan.h"

#include "alloc.h"
#include "idx_read.h"

#include "banned.h"

#define LEVELS_MAX  65536u /* of a chain, on which children are put in order */
#define NONE        WEIR__GIT_NONE
#define DIGIT_BITS  11u
#define DIGITS      (1u << DIGIT_BITS)
#define OFFSET_MASK ((UINT64_C(1) << 56) - 1)
/* An object costs something however few its bytes are. */
#define WORK_LEAST 64u

uint64_t weir__git_plan_needs(uint64_t count)
{
    return count * WEIR__GIT_PLAN_BYTES;
}

/* --- offsets in order --- */

/* By the reverse index; false when that is not a permutation in the order of offsets. */
static bool order_by_rev(struct weir__git_plan *plan)
{
    const struct weir__git_pack *pack = plan->pack;
    uint64_t before = 0;
    for (uint32_t i = 0; i < plan->count; i++) {
        uint32_t at = weir__git_get32(pack->rev + (uint64_t)i * 4);
        uint64_t offset;
        /* Rising offsets also say that no position stands twice. */
        if (at >= plan->count || weir__git_idx_offset(&pack->idx, at, &offset) < 0 ||
            offset <= before || offset > OFFSET_MASK)
            return false;
        before = offset;
        plan->_offsets[i] = offset;
        plan->_idx_at[i] = at;
    }
    return true;
}

struct pairs {
    uint64_t *offsets;
    uint32_t *positions;
};

static void sort_by_digit(const struct pairs *from, const struct pairs *to, uint32_t count,
                          unsigned shift)
{
    uint32_t begins[DIGITS] = {0};
    for (uint32_t i = 0; i < count; i++)
        begins[from->offsets[i] >> shift & (DIGITS - 1)]++;
    uint32_t sum = 0;
    for (unsigned digit = 0; digit < DIGITS; digit++) {
        uint32_t here = begins[digit];
        begins[digit] = sum;
        sum += here;
    }
    for (uint32_t i = 0; i < count; i++) {
        uint32_t at = begins[from->offsets[i] >> shift & (DIGITS - 1)]++;
        to->offsets[at] = from->offsets[i];
        to->positions[at] = from->positions[i];
    }
}

/* By counting digits, lowest first. */
static void sort(struct weir__git_plan *plan, uint64_t offset_max)
{
    struct pairs here = {plan->_offsets, plan->_idx_at};
    struct pairs there = {(uint64_t *)(void *)plan->_child, plan->_parent};
    for (unsigned shift = 0; shift < 56 && offset_max >> shift > 0; shift += DIGIT_BITS) {
        sort_by_digit(&here, &there, plan->count, shift);
        struct pairs swapped = here;
        here = there;
        there = swapped;
    }
    plan->_offsets = here.offsets;
    plan->_idx_at = here.positions;
    plan->_child = (uint32_t *)(void *)there.offsets;
    plan->_parent = there.positions;
}

static void order_by_sorting(struct weir__git_plan *plan, uint64_t *offset_max)
{
    for (uint32_t i = 0; i < plan->count; i++) {
        uint64_t offset;
        /* One that leads nowhere comes first and is broken. */
        if (weir__git_idx_offset(&plan->pack->idx, i, &offset) < 0 || offset > OFFSET_MASK)
            offset = 0;
        if (offset > *offset_max)
            *offset_max = offset;
        plan->_offsets[i] = offset;
        plan->_idx_at[i] = i;
    }
}

/* --- families --- */

/* The object that begins there, among those below `until`; NONE. Bases are near by most of the
 * time, so the steps backward begin small. */
static uint32_t find_offset(const struct weir__git_plan *plan, uint64_t offset, uint32_t until)
{
    uint32_t high = until, low = until;
    for (uint32_t step = 1; low > 0; step = step < UINT32_MAX / 2 ? step * 2 : step) {
        low = low > step ? low - step : 0;
        if (weir__git_plan_offset(plan, low) <= offset)
            break;
        high = low;
    }
    /* The last one that is not above it: of several at one offset, the others are broken. */
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (weir__git_plan_offset(plan, middle) <= offset)
            low = middle + 1;
        else
            high = middle;
    }
    return low > 0 && weir__git_plan_offset(plan, low - 1) == offset ? low - 1 : NONE;
}

static uint32_t find_base(struct weir__git_plan *plan, uint32_t i,
                          const struct weir__git_entry *entry)
{
    const struct weir__git_idx *idx = &plan->pack->idx;
    uint64_t offset;
    uint32_t at;
    if (entry->kind == WEIR__GIT_KIND_OFFSET) {
        uint32_t base = find_offset(plan, entry->base_offset, i);
        if (base == NONE)
            plan->_offsets[i] |= WEIR__GIT_PLAN_BROKEN;
        return base;
    }
    if (weir__git_idx_find(idx, &entry->base_id, &at) < 0) {
        plan->_offsets[i] |= WEIR__GIT_PLAN_EXTERNAL;
        return NONE;
    }
    uint32_t base =
        weir__git_idx_offset(idx, at, &offset) < 0 ? NONE : find_offset(plan, offset, plan->count);
    if (base == NONE)
        plan->_offsets[i] |= WEIR__GIT_PLAN_BROKEN;
    return base;
}

/* Reads the head of one and puts it among those that are built from its base, which it returns;
 * NONE of one that has none in this pack. */
static uint32_t link_one(struct weir__git_plan *plan, uint32_t i)
{
    struct weir__git_entry entry;
    uint64_t offset = weir__git_plan_offset(plan, i);
    bool is_double = i + 1 < plan->count && weir__git_plan_offset(plan, i + 1) == offset;
    if (is_double ||
        weir__git_pack_entry_inside(plan->pack, offset, weir__git_plan_end(plan, i), &entry) < 0) {
        plan->_offsets[i] |= WEIR__GIT_PLAN_BROKEN;
        return NONE;
    }
    if (entry.kind == WEIR__GIT_KIND_WHOLE) {
        plan->_offsets[i] |= (uint64_t)entry.type << WEIR__GIT_PLAN_TYPE_SHIFT;
        return NONE;
    }
    uint32_t base = find_base(plan, i, &entry);
    if (base == NONE)
        return NONE;
    plan->_parent[i] = base;
    plan->_next[i] = plan->_child[base];
    plan->_child[base] = i;
    return base;
}

/* From the last to the first, so that lists of children come in the order of offsets. */
static void link_families(struct weir__git_plan *plan)
{
    for (uint32_t i = plan->count; i-- > 0;)
        link_one(plan, i);
}

/* The object after i in its family, depth first; NONE behind the last one. Objects that are left
 * for good are given to `leave`, if there is one. */
static uint32_t next_in_family(const struct weir__git_plan *plan, uint32_t root, uint32_t i,
                               void (*leave)(struct weir__git_plan *plan, uint32_t i),
                               struct weir__git_plan *changed)
{
    if (plan->_child[i] != NONE)
        return plan->_child[i];
    for (;; i = plan->_parent[i]) {
        if (leave)
            leave(changed, i);
        if (i == root)
            return NONE;
        if (plan->_next[i] != NONE)
            return plan->_next[i];
    }
}

uint32_t weir__git_plan_next(const struct weir__git_plan *plan, uint32_t root, uint32_t i)
{
    return next_in_family(plan, root, i, NULL, NULL);
}

/* What is known of an object on the path while what is built from it is gone through. */
struct level {
    uint32_t height;  /* of what was, in steps */
    uint32_t deepest; /* who leads to that */
};

/* A base is needed until the last that is built from it was entered. So the child that most steps
 * follow comes last: the others are done then, and nobody on a long chain waits for its end. */
static void put_last(struct weir__git_plan *plan, uint32_t base, uint32_t child)
{
    uint32_t *at = &plan->_child[base];
    while (*at != child)
        at = &plan->_next[*at];
    *at = plan->_next[child];
    while (*at != NONE)
        at = &plan->_next[*at];
    *at = child;
    plan->_next[child] = NONE;
}

static void leave_level(struct weir__git_plan *plan, uint32_t i, struct level *levels,
                        uint32_t depth)
{
    struct level *own = &levels[depth];
    if (own->height > 1)
        put_last(plan, i, own->deepest);
    if (depth > 0 && own->height + 1 > own[-1].height)
        own[-1] = (struct level){own->height + 1, i};
    *own = (struct level){0};
}

/* levels: room for so many, all zero. Children beyond them stay in their order. */
static void reach_family(struct weir__git_plan *plan, uint32_t root, struct level *levels,
                         uint32_t levels_count)
{
    uint64_t flags = WEIR__GIT_PLAN_REACHED | (plan->_offsets[root] & WEIR__GIT_PLAN_TYPE);
    uint32_t i = root, depth = 0;
    for (;;) {
        plan->_offsets[i] |= flags;
        if (plan->_child[i] != NONE) {
            i = plan->_child[i];
            depth++;
            continue;
        }
        for (uint32_t next = NONE; next == NONE; depth -= next == NONE) {
            uint32_t base = plan->_parent[i];
            next = i == root ? NONE : plan->_next[i];
            if (depth < levels_count)
                leave_level(plan, i, levels, depth);
            if (i == root)
                return;
            i = next == NONE ? base : next;
        }
    }
}

static void reach(struct weir__git_plan *plan)
{
    uint32_t count = plan->count < LEVELS_MAX ? plan->count : LEVELS_MAX;
    /* Without memory for it the order is that of offsets. */
    struct level *levels = count > 0 ? weir__base_alloc(count, sizeof(*levels)) : NULL;
    for (uint32_t root = 0; root < plan->count; root++)
        if (plan->_parent[root] == NONE)
            reach_family(plan, root, levels, levels ? count : 0);
    weir__base_free(levels);
}

/* --- making one --- */

static int look_at_idx(void *arg)
{
    struct weir__git_plan *plan = arg;
    uint64_t offset_max = 0;
    order_by_sorting(plan, &offset_max);
    sort(plan, offset_max);
    return 0;
}

/* Objects in a wrong place are not found by their ids; that may leave deltas without their base. */
static int look_at_order(void *arg)
{
    struct weir__git_plan *plan = arg;
    for (uint32_t i = 0; i < plan->count; i++)
        if (!weir__git_idx_is_sorted_at(&plan->pack->idx, i)) {
            plan->has_doubt = "the ids in its index are not sorted";
            break;
        }
    return 0;
}

static int look_at_rev(void *arg)
{
    return order_by_rev(arg) ? 0 : -WEIR_E_CORRUPT;
}

static int look_at_rev_and_idx(void *arg)
{
    struct weir__git_plan *plan = arg;
    return weir__mapped_read(&plan->pack->_idx_map, look_at_rev, plan);
}

static int look_at_pack(void *arg)
{
    link_families(arg);
    return 0;
}

static int look_at_pack_and_idx(void *arg)
{
    struct weir__git_plan *plan = arg;
    return weir__mapped_read(&plan->pack->_idx_map, look_at_pack, plan);
}

/* All objects in the order of offsets, none of them linked. */
static int order(struct weir__git_plan *plan)
{
    const struct weir__git_pack *pack = plan->pack;
    bool is_ordered =
        pack->rev && weir__mapped_read(&pack->_rev_map, look_at_rev_and_idx, plan) == 0;
    int result = is_ordered ? 0 : weir__mapped_read(&pack->_idx_map, look_at_idx, plan);
    if (result < 0)
        return result;
    plan->_next = plan->_child + plan->count;
    memset(plan->_parent, 0xff, (size_t)plan->count * sizeof(uint32_t));
    memset(plan->_child, 0xff, (size_t)plan->count * 2 * sizeof(uint32_t));
    return 0;
}

static int make(struct weir__git_plan *plan)
{
    const struct weir__git_pack *pack = plan->pack;
    int result = order(plan);
    plan->has_doubt = pack->has_doubt;
    if (result == 0 && !plan->has_doubt)
        result = weir__mapped_read(&pack->_idx_map, look_at_order, plan);
    if (result == 0)
        result = weir__mapped_read(&pack->_pack_map, look_at_pack_and_idx, plan);
    if (result == 0)
        reach(plan);
    return result;
}

static int init(struct weir__git_plan *plan, const struct weir__git_pack *pack,
                int (*fill)(struct weir__git_plan *plan))
{
    size_t count = pack->idx.count;
    *plan = (struct weir__git_plan){.pack = pack, .count = pack->idx.count};
    plan->_offsets = weir__base_realloc(NULL, count, sizeof(uint64_t));
    plan->_idx_at = weir__base_realloc(NULL, count, sizeof(uint32_t));
    plan->_parent = weir__base_realloc(NULL, count, sizeof(uint32_t));
    plan->_child = weir__base_realloc(NULL, count, 2 * sizeof(uint32_t));
    int result = -WEIR_E_NO_MEMORY;
    if (plan->_offsets && plan->_idx_at && plan->_parent && plan->_child)
        result = fill(plan);
    if (result < 0)
        weir__git_plan_fini(plan);
    return result;
}

int weir__git_plan_init(struct weir__git_plan *plan, const struct weir__git_pack *pack)
{
    return init(plan, pack, make);
}

void weir__git_plan_fini(struct weir__git_plan *plan)
{
    if (!plan)
        return;
    weir__base_free(plan->_offsets);
    weir__base_free(plan->_idx_at);
    weir__base_free(plan->_parent);
    weir__base_free(plan->_child);
    *plan = (struct weir__git_plan){0};
}

/* --- what is wanted --- */

static void pass_need_on(struct weir__git_plan *plan, uint32_t i)
{
    if (weir__git_plan_is(plan, i, WEIR__GIT_PLAN_NEEDED) && plan->_parent[i] != NONE)
        plan->_offsets[plan->_parent[i]] |= WEIR__GIT_PLAN_NEEDED;
}

static int mark_one(struct weir__git_plan *plan, uint32_t i, const struct weir__git_wish *wish)
{
    struct weir__git_id id;
    enum weir__git_type type = weir__git_plan_type(plan, i);
    if (type && wish->is_wanted) {
        int result = weir__git_pack_id(plan->pack, plan->_idx_at[i], &id);
        if (result < 0)
            return result;
        if (!wish->is_wanted(wish->arg, &id, type))
            return 0;
    }
    plan->_offsets[i] |= WEIR__GIT_PLAN_WANTED | WEIR__GIT_PLAN_NEEDED;
    return 0;
}

int weir__git_plan_mark(struct weir__git_plan *plan, const struct weir__git_wish *wish)
{
    plan->types = wish->types;
    for (uint32_t i = 0; i < plan->count; i++)
        plan->_offsets[i] &= ~(WEIR__GIT_PLAN_WANTED | WEIR__GIT_PLAN_NEEDED);
    for (uint32_t root = 0; root < plan->count; root++) {
        if (plan->_parent[root] != NONE)
            continue;
        /* Of what has no type yet, it is known when it is built, or told that it cannot be. */
        enum weir__git_type type = weir__git_plan_type(plan, root);
        if (type && !(wish->types >> type & 1))
            continue;
        for (uint32_t i = root; i != NONE; i = next_in_family(plan, root, i, pass_need_on, plan)) {
            int result = mark_one(plan, i, wish);
            if (result < 0)
                return result;
        }
    }
    return 0;
}

/* --- a few objects --- */

struct few {
    struct weir__git_plan *plan;
    const struct weir__git_set *ids;
    const struct weir__git_wish *wish;
};

/* The object at that position of the index; NONE. Of several at one offset, that one. */
static uint32_t find_position(const struct weir__git_plan *plan, uint32_t idx_at)
{
    uint64_t offset;
    if (weir__git_idx_offset(&plan->pack->idx, idx_at, &offset) < 0)
        return NONE;
    uint32_t i = find_offset(plan, offset, plan->count);
    while (i != NONE && i > 0 && plan->_idx_at[i] != idx_at &&
           weir__git_plan_offset(plan, i - 1) == offset)
        i--;
    return i != NONE && plan->_idx_at[i] == idx_at ? i : NONE;
}

static int look_at_few(void *arg)
{
    const struct few *few = arg;
    struct weir__git_plan *plan = few->plan;
    for (uint32_t number = 0; number < weir__git_set_count(few->ids); number++) {
        struct weir__git_id id = weir__git_set_id(few->ids, number);
        uint32_t at;
        if (!few->wish->is_wanted(few->wish->arg, &id, (enum weir__git_type)0) ||
            weir__git_idx_find(&plan->pack->idx, &id, &at) < 0)
            continue;
        uint32_t i = find_position(plan, at);
        if (i != NONE)
            plan->_offsets[i] |= WEIR__GIT_PLAN_WANTED;
        /* What is needed was linked already, and so were its bases. */
        while (i != NONE && !weir__git_plan_is(plan, i, WEIR__GIT_PLAN_NEEDED)) {
            plan->_offsets[i] |= WEIR__GIT_PLAN_NEEDED;
            i = link_one(plan, i);
        }
    }
    return 0;
}

static int look_at_few_and_idx(void *arg)
{
    const struct few *few = arg;
    return weir__mapped_read(&few->plan->pack->_idx_map, look_at_few, arg);
}

int weir__git_plan_init_few(struct weir__git_plan *plan, const struct weir__git_pack *pack,
                            const struct weir__git_set *ids, const struct weir__git_wish *wish)
{
    struct few few = {plan, ids, wish};
    int result = init(plan, pack, order);
    if (result < 0)
        return result;
    plan->types = wish->types;
    plan->is_partial = true;
    result = weir__mapped_read(&pack->_pack_map, look_at_few_and_idx, &few);
    if (result == 0)
        reach(plan);
    else
        weir__git_plan_fini(plan);
    return result;
}

/* --- parts --- */

static uint64_t work_of(const struct weir__git_plan *plan, uint32_t i)
{
    if (!weir__git_plan_is(plan, i, WEIR__GIT_PLAN_NEEDED))
        return 0;
    uint64_t begin = weir__git_plan_offset(plan, i), end = weir__git_plan_end(plan, i);
    return WORK_LEAST + (end > begin ? end - begin : 0);
}

void weir__git_plan_cut(const struct weir__git_plan *plan, unsigned n, uint32_t *bounds)
{
    uint64_t all = 0, sum = 0;
    for (uint32_t i = 0; i < plan->count; i++)
        all += work_of(plan, i);
    unsigned part = 1;
    bounds[0] = 0;
    for (uint32_t root = 0; root < plan->count && part < n; root++) {
        if (plan->_parent[root] != NONE)
            continue;
        for (uint32_t i = root; i != NONE; i = weir__git_plan_next(plan, root, i))
            sum += work_of(plan, i);
        while (part < n && sum >= all / n * part && sum > 0)
            bounds[part++] = root + 1;
    }
    while (part <= n)
        bounds[part++] = plan->count;
}
