/* attribute_tree.c - reading a tree with all below it, without recursion and each but once.
 *
 * A tree that is being read is a frame; what it has of interest are its drafts: wanted blobs,
 * remains that are known, trees that are not. When a tree below has been read, the draft that
 * stands for it becomes a remain, or is dropped. The bytes of a tree are needed only until its
 * drafts are made, so one buffer is enough for any depth.
 */
#include "attribute_part.h"

#include <weir/clock.h>

#include "alloc.h"

#include "banned.h"

#define LOOK_UP_MASK 255u

void weir__trees_init(struct weir__trees *trees, size_t id_size, uint64_t bytes_max)
{
    size_t most = bytes_max > SIZE_MAX / 4 ? SIZE_MAX / 4 : (size_t)bytes_max;
    uint64_t seed = trees->seed;
    *trees = (struct weir__trees){.seed = seed};
    if (!seed)
        trees->seed = weir_now_ns() * UINT64_C(0x9e3779b97f4a7c15) | 1;
    weir__git_set_init(&trees->known, id_size, sizeof(uint32_t), bytes_max);
    weir__buffer_init(&trees->names, most);
    weir__buffer_init(&trees->draft_names, most);
    weir__buffer_init(&trees->bytes, WEIR__GIT_TREE_BYTES_MAX);
}

void weir__trees_fini(struct weir__trees *trees)
{
    weir__git_set_fini(&trees->known);
    weir__base_free(trees->remains);
    weir__base_free(trees->slots);
    weir__base_free(trees->entries);
    weir__base_free(trees->drafts);
    weir__base_free(trees->frames);
    weir__buffer_fini(&trees->names);
    weir__buffer_fini(&trees->draft_names);
    weir__buffer_fini(&trees->bytes);
}

void weir__trees_forget(struct weir__git_attribute *a)
{
    weir__trees_fini(&a->trees);
    weir__trees_init(&a->trees, a->options.id_size, a->options.bytes_max);
    a->stats.forgotten++;
}

uint64_t weir__trees_bytes(const struct weir__trees *trees)
{
    return weir__git_set_bytes(&trees->known) + trees->remains_room * sizeof(*trees->remains) +
           trees->slots_count * sizeof(*trees->slots) +
           trees->entries_room * sizeof(*trees->entries) + trees->names._capacity +
           trees->drafts_room * sizeof(*trees->drafts) +
           trees->frames_room * sizeof(*trees->frames) + trees->draft_names._capacity;
}

static uint32_t *state_of(struct weir__trees *trees, uint32_t tree)
{
    return weir__git_set_extra(&trees->known, tree);
}

/* --- drafts --- */

static int add_draft(struct weir__git_attribute *a, const struct weir__git_tree_entry *from,
                     uint32_t target, bool is_tree, bool is_pending)
{
    struct weir__trees *trees = &a->trees;
    int error = weir__attribute_room((void **)&trees->drafts, &trees->drafts_room,
                                     trees->drafts_count, sizeof(*trees->drafts));
    if (error)
        return error;
    struct weir__draft *draft = &trees->drafts[trees->drafts_count];
    *draft = (struct weir__draft){.id = from->id, .is_pending = is_pending};
    draft->entry = (struct weir__remain_entry){.name = weir__buffer_length(&trees->draft_names),
                                               .name_length = (uint32_t)from->name_length,
                                               .target = target,
                                               .is_tree = is_tree};
    error = weir__buffer_append(&trees->draft_names, from->name, from->name_length);
    if (error)
        return error == -WEIR_E_OVERFLOW ? -WEIR_E_TOO_LARGE : error;
    trees->drafts_count++;
    return 0;
}

static int take_entry(struct weir__git_attribute *a, const struct weir__git_tree_entry *entry)
{
    if (weir__git_mode_is_submodule(entry->mode))
        return 0;
    if (!weir__git_mode_is_tree(entry->mode)) {
        uint32_t number = weir__git_set_find(a->wanted, &entry->id);
        return number == WEIR__GIT_SET_NONE ? 0 : add_draft(a, entry, number, false, false);
    }
    uint32_t tree = weir__git_set_find(&a->trees.known, &entry->id);
    uint32_t state = tree == WEIR__GIT_SET_NONE ? WEIR__TREE_OPEN : *state_of(&a->trees, tree);
    if (state == WEIR__TREE_CLEAN)
        return 0;
    if (state >= WEIR__TREE_NODES)
        return add_draft(a, entry, state - WEIR__TREE_NODES, true, false);
    return add_draft(a, entry, 0, true, true);
}

/* Of a tree that the lineage knows: what of it leads on. */
static int take_known(struct weir__git_attribute *a, uint32_t cursor)
{
    struct weir__git_tree_entry entry;
    int error = 0;
    while (!error && weir__git_lineage_next(a->options.lineage, &cursor, &entry))
        error = take_entry(a, &entry);
    return error;
}

/* What is read of a tree; nothing of one that is missing or is none. */
static int take_entries(struct weir__git_attribute *a, const struct weir__git_id *id)
{
    char hex[WEIR__GIT_HEX_SIZE], why[WEIR__GIT_FLAW_MAX];
    struct weir__git_tree_entry entry;
    struct weir__git_tree tree;
    enum weir__git_type type;
    size_t id_size = a->options.id_size;
    uint32_t cursor;
    if (a->options.lineage && weir__git_lineage_entries(a->options.lineage, id, &cursor))
        return take_known(a, cursor);
    int result = a->options.get(a->options.get_arg, id, &type, &a->trees.bytes);
    a->stats.trees++;
    if (result == -WEIR_E_NO_MEMORY || result == -WEIR_E_CANCELED)
        return result;
    if (result) {
        weir__attribute_tell(a, "object %s: %s", weir__git_id_hex(id, id_size, hex),
                             weir__git_get_problem(result));
        return 0;
    }
    if (type != WEIR__GIT_TREE) {
        weir__attribute_tell(a, "tree %s: it is a %s", weir__git_id_hex(id, id_size, hex),
                             weir__git_type_name(type));
        return 0;
    }
    weir__git_tree_init(&tree, weir__buffer_text(&a->trees.bytes),
                        weir__buffer_length(&a->trees.bytes), id_size);
    while ((result = weir__git_tree_next(&tree, &entry, why)) > 0) {
        int error = take_entry(a, &entry);
        if (error)
            return error;
    }
    if (result < 0)
        weir__attribute_tell(a, "tree %s: %s", weir__git_id_hex(id, id_size, hex), why);
    return 0;
}

/* --- frames --- */

/* Begins to read a tree that is not known. */
static int enter(struct weir__git_attribute *a, const struct weir__git_id *id)
{
    struct weir__trees *trees = &a->trees;
    uint32_t tree;
    if (weir__trees_bytes(trees) > a->options.bytes_max)
        return -WEIR_E_TOO_LARGE;
    if (a->options.stop && (a->stats.trees & LOOK_UP_MASK) == 0 &&
        weir_cancel_is_fired(a->options.stop))
        return -WEIR_E_CANCELED;
    int error = weir__attribute_room((void **)&trees->frames, &trees->frames_room,
                                     trees->frames_count, sizeof(*trees->frames));
    if (!error)
        error = weir__git_set_add(&trees->known, id, &tree);
    if (error < 0)
        return error;
    trees->frames[trees->frames_count++] =
        (struct weir__draft_frame){.tree = tree,
                                   .drafts_from = trees->drafts_count,
                                   .next = trees->drafts_count,
                                   .names_from = weir__buffer_length(&trees->draft_names)};
    return take_entries(a, id);
}

/* What has become of the tree that a draft stands for; false when it must be read first. */
static bool settle(struct weir__git_attribute *a, struct weir__draft *draft)
{
    uint32_t tree = weir__git_set_find(&a->trees.known, &draft->id);
    if (tree == WEIR__GIT_SET_NONE)
        return false;
    uint32_t state = *state_of(&a->trees, tree);
    if (state == WEIR__TREE_OPEN) {
        char hex[WEIR__GIT_HEX_SIZE];
        weir__attribute_tell(a, "tree %s: it lies in itself",
                             weir__git_id_hex(&draft->id, a->options.id_size, hex));
    }
    draft->is_pending = false;
    draft->is_dropped = state < WEIR__TREE_NODES;
    draft->entry.target = state - WEIR__TREE_NODES;
    return true;
}

/* The tree of the last frame is read, with all below it. */
static int leave(struct weir__git_attribute *a)
{
    struct weir__trees *trees = &a->trees;
    struct weir__draft_frame frame = trees->frames[trees->frames_count - 1];
    uint32_t remain = 0;
    bool is_clean = true;
    for (size_t i = frame.drafts_from; is_clean && i < trees->drafts_count; i++)
        is_clean = trees->drafts[i].is_dropped;
    int error = is_clean ? 0 : weir__remain_make(a, frame.drafts_from, &remain);
    if (error)
        return error;
    *state_of(trees, frame.tree) = is_clean ? WEIR__TREE_CLEAN : remain + WEIR__TREE_NODES;
    trees->drafts_count = frame.drafts_from;
    weir__buffer_truncate(&trees->draft_names, frame.names_from);
    trees->frames_count--;
    return 0;
}

static int run(struct weir__git_attribute *a)
{
    struct weir__trees *trees = &a->trees;
    while (trees->frames_count > 0) {
        struct weir__draft_frame *frame = &trees->frames[trees->frames_count - 1];
        int error = 0;
        while (frame->next < trees->drafts_count &&
               (!trees->drafts[frame->next].is_pending || settle(a, &trees->drafts[frame->next])))
            frame->next++;
        if (frame->next == trees->drafts_count) {
            error = leave(a);
        } else {
            struct weir__git_id id = trees->drafts[frame->next].id;
            error = enter(a, &id);
        }
        if (error)
            return error;
    }
    return 0;
}

int weir__trees_reduce(struct weir__git_attribute *a, const struct weir__git_id *tree,
                       uint32_t *ret_state)
{
    uint32_t number = weir__git_set_find(&a->trees.known, tree);
    if (number == WEIR__GIT_SET_NONE) {
        int error = enter(a, tree);
        if (!error)
            error = run(a);
        if (error)
            return error; /* trees that are open: only forgetting all of them will do */
        number = weir__git_set_find(&a->trees.known, tree);
    }
    *ret_state = *state_of(&a->trees, number);
    return 0;
}
