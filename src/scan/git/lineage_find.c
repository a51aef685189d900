/* lineage_find.c - from blobs up to the trees of commits.
 *
 * In rounds: the first finds the entries of wanted blobs, each other one those of the trees that
 * the round before has reached. An entry is followed at once to all trees that inherit it: those
 * made from its tree that copy its bytes, those made from them, and so on. A place in a tree is
 * either new or copied from one place of its base, so nothing is met twice.
 */
#include "lineage_part.h"

#include "alloc.h"

#include "banned.h"

#define STOP_MASK 4095u
/* Most ids are not wanted: what two bytes of them say. */
#define FILTER_BITS 65536u

/* An entry in a tree, to be followed. */
struct place {
    uint32_t tree, at, entry;
};

struct finding {
    struct weir__git_lineage *lineage;
    const struct weir__git_set *wanted;
    struct weir_cancel *stop;
    uint32_t *first, *next; /* trees made from each: numbers + 1 */
    uint32_t *rounds;       /* in which a tree was reached; 0: not yet */
    uint32_t *children;     /* of each entry: the tree that it names */
    struct place *stack;
    size_t stack_count, stack_room;
    uint32_t round;
    uint64_t steps, reached;
    uint64_t filter[FILTER_BITS / 64];
};

static unsigned bit_of(const uint8_t *id)
{
    return (unsigned)id[0] << 8 | id[1];
}

static void set_filter(struct finding *f)
{
    for (uint32_t i = 0; i < weir__git_set_count(f->wanted); i++) {
        struct weir__git_id id = weir__git_set_id(f->wanted, i);
        f->filter[bit_of(id.bytes) / 64] |= UINT64_C(1) << bit_of(id.bytes) % 64;
    }
}

static bool is_wanted(const struct finding *f, size_t entry)
{
    unsigned bit = bit_of(f->lineage->_ids + entry * f->lineage->_id_size);
    struct weir__git_id id;
    if (!(f->filter[bit / 64] >> bit % 64 & 1))
        return false;
    id = weir__lineage_id(f->lineage, entry);
    return weir__git_set_find(f->wanted, &id) != WEIR__GIT_SET_NONE;
}

static bool push(struct finding *f, uint32_t tree, uint32_t at, uint32_t entry)
{
    if (!weir__lineage_room(f->lineage, (void **)&f->stack, &f->stack_room, f->stack_count, 1,
                            sizeof(*f->stack)))
        return false;
    f->stack[f->stack_count++] = (struct place){.tree = tree, .at = at, .entry = entry};
    return true;
}

/* The trees that are made from this one and have the place's bytes. */
static bool push_heirs(struct finding *f, const struct place *place)
{
    const struct weir__git_lineage *lineage = f->lineage;
    uint32_t end = place->at + lineage->_entries[place->entry].length;
    for (uint32_t heir = f->first[place->tree]; heir; heir = f->next[heir - 1]) {
        size_t until = weir__lineage_parts_end(lineage, heir - 1);
        for (size_t i = weir__lineage_tree(lineage, heir - 1)->parts; i < until; i++) {
            const struct weir__git_tree_part *part = &lineage->_parts[i];
            if (++f->steps > WEIR__GIT_LINEAGE_STEPS)
                return false;
            if (part->from <= place->at && end <= part->from + part->length &&
                !push(f, heir - 1, place->at - part->from + part->to, place->entry))
                return false;
        }
    }
    return true;
}

static bool follow(struct finding *f, uint32_t tree, uint32_t entry)
{
    struct weir__git_lineage *lineage = f->lineage;
    if (!push(f, tree, lineage->_entries[entry].at, entry))
        return false;
    while (f->stack_count > 0) {
        struct place place = f->stack[--f->stack_count];
        if (!weir__lineage_room(lineage, (void **)&lineage->_links, &lineage->_links_room,
                                lineage->_links_count, 1, sizeof(*lineage->_links)))
            return false;
        lineage->_links[lineage->_links_count] = (struct weir__git_lineage_link){
            .entry = place.entry, .next = lineage->_heads[place.tree]};
        lineage->_heads[place.tree] = (uint32_t)++lineage->_links_count;
        if (f->rounds[place.tree] == 0) {
            f->rounds[place.tree] = f->round;
            f->reached++;
        }
        if (!push_heirs(f, &place))
            return false;
    }
    return true;
}

/* Whether the entry is to be followed in this round. */
static bool is_next(struct finding *f, uint32_t entry)
{
    if (!f->lineage->_entries[entry].is_tree)
        return f->round == 1 && is_wanted(f, entry);
    if (f->round == 1) {
        struct weir__git_id id = weir__lineage_id(f->lineage, entry);
        f->children[entry] = weir__git_set_find(&f->lineage->_trees, &id);
        return f->children[entry] == WEIR__GIT_SET_NONE; /* nobody knows what it has */
    }
    return f->children[entry] != WEIR__GIT_SET_NONE &&
           f->rounds[f->children[entry]] == f->round - 1;
}

/* 0, Canceled; TooLarge: it is to be given up. */
static int run_round(struct finding *f)
{
    struct weir__git_lineage *lineage = f->lineage;
    uint32_t count = weir__git_set_count(&lineage->_trees);
    uint32_t entry = 0;
    for (uint32_t tree = 0; tree < count; tree++) {
        size_t until = weir__lineage_entries_end(lineage, tree);
        if (f->stop && (tree & STOP_MASK) == 0 && weir_cancel_is_fired(f->stop))
            return -WEIR_E_CANCELED;
        for (; entry < until; entry++)
            if (is_next(f, entry) && !follow(f, tree, entry))
                return -WEIR_E_TOO_LARGE;
    }
    return 0;
}

static int run(struct finding *f)
{
    uint64_t before;
    int result = 0;
    do {
        before = f->reached;
        if (++f->round > WEIR__GIT_LINEAGE_LEVELS)
            return -WEIR_E_TOO_LARGE;
        result = run_round(f);
    } while (result == 0 && f->reached != before);
    return result;
}

/* What is needed while it is found. */
static bool prepare(struct finding *f)
{
    struct weir__git_lineage *lineage = f->lineage;
    uint32_t count = weir__git_set_count(&lineage->_trees);
    uint64_t needs = (uint64_t)count * 4 * sizeof(uint32_t) +
                     (uint64_t)lineage->_entries_count * sizeof(uint32_t);
    if (weir__git_lineage_bytes(lineage) + needs > lineage->_bytes_max)
        return false;
    lineage->_heads = weir__base_alloc(count + 1u, sizeof(uint32_t));
    f->first = weir__base_alloc(count + 1u, sizeof(uint32_t));
    f->next = weir__base_alloc(count + 1u, sizeof(uint32_t));
    f->rounds = weir__base_alloc(count + 1u, sizeof(uint32_t));
    f->children = weir__base_alloc(lineage->_entries_count + 1, sizeof(uint32_t));
    if (!lineage->_heads || !f->first || !f->next || !f->rounds || !f->children)
        return false;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t base = weir__lineage_tree(lineage, i)->base;
        if (base != WEIR__GIT_SET_NONE) {
            f->next[i] = f->first[base];
            f->first[base] = i + 1;
        }
    }
    set_filter(f);
    return true;
}

int weir__git_lineage_find(struct weir__git_lineage *lineage, const struct weir__git_set *wanted,
                           struct weir_cancel *stop)
{
    struct finding *f;
    int result = -WEIR_E_TOO_LARGE;
    if (lineage->_has_given_up)
        return 0;
    f = weir__base_alloc(1, sizeof(*f));
    if (f) {
        f->lineage = lineage;
        f->wanted = wanted;
        f->stop = stop;
        result = prepare(f) ? run(f) : result;
        weir__base_free(f->first);
        weir__base_free(f->next);
        weir__base_free(f->rounds);
        weir__base_free(f->children);
        weir__base_free(f->stack);
        weir__base_free(f);
    }
    if (result == 0)
        return 0;
    weir__git_lineage_give_up(lineage);
    return result == -WEIR_E_CANCELED ? result : 0;
}
