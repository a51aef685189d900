/* attribute_walk.c - what a commit has that its parents have not.
 *
 * Two remains of the same number are the same, whatever trees they came from, so only where remains
 * differ is anything looked at. Names are compared once for each of the parents.
 */
#include "attribute_part.h"

#include "tag_object.h"

#include "banned.h"

typedef int each_fn(struct weir__git_attribute *a, uint32_t number, const char *path, size_t length,
                    uint32_t place);

/* --- comparing --- */

static const struct weir__remain_entry *entry_of(const struct weir__trees *trees, uint32_t remain,
                                                 uint32_t index)
{
    return &trees->entries[trees->remains[remain].entries_from + index];
}

/* One more to compare with, unless it is there or there are enough: a name that a tree has many
 * times would multiply them from level to level. */
static int add_parent(struct weir__compare *compare, size_t parents_from, uint32_t remain)
{
    if (compare->parents_count - parents_from >= WEIR__GIT_PARENTS_COMPARED)
        return 0;
    for (size_t i = parents_from; i < compare->parents_count; i++)
        if (compare->parents[i] == remain)
            return 0;
    int error = weir__attribute_room((void **)&compare->parents, &compare->parents_room,
                                     compare->parents_count, sizeof(uint32_t));
    if (!error)
        compare->parents[compare->parents_count++] = remain;
    return error;
}

/* The remains of that name in those that a frame is compared with. */
static int push_parents(struct weir__git_attribute *a, const struct weir__compare_frame *above,
                        const struct weir__remain_entry *wanted)
{
    const struct weir__trees *trees = &a->trees;
    struct weir__compare *compare = &a->compare;
    const char *name = weir__remain_name(trees, wanted);
    size_t parents_from = compare->parents_count;
    struct weir__remain_entry key = *wanted;
    key.target = 0;
    for (size_t i = 0; i < above->parents_count; i++) {
        uint32_t remain = compare->parents[above->parents_from + i];
        uint32_t at = weir__remain_find(trees, remain, &key);
        for (unsigned n = 0; n < WEIR__GIT_PARENTS_COMPARED; n++, at++) {
            const struct weir__remain_entry *entry;
            if (at >= trees->remains[remain].entries_count)
                break;
            entry = entry_of(trees, remain, at);
            if (!entry->is_tree || entry->name_length != wanted->name_length ||
                memcmp(weir__remain_name(trees, entry), name, wanted->name_length) != 0)
                break;
            int error = add_parent(compare, parents_from, entry->target);
            if (error)
                return error;
        }
    }
    return 0;
}

/* is_again: this commit has it at another place too, or what it lies in. */
static int push(struct weir__git_attribute *a, uint32_t remain, size_t parents_from, bool is_again)
{
    struct weir__compare *compare = &a->compare;
    int error = weir__attribute_room((void **)&compare->frames, &compare->frames_room,
                                     compare->frames_count, sizeof(*compare->frames));
    if (error)
        return error;
    a->trees.remains[remain].seen = compare->turn;
    compare->frames[compare->frames_count++] = (struct weir__compare_frame){
        .remain = remain,
        .parents_from = parents_from,
        .parents_count = compare->parents_count - parents_from,
        .path_length = weir__buffer_length(&compare->path),
        .is_again = is_again,
    };
    return 0;
}

/* A tree below: entered, unless a parent has the same. */
static int descend(struct weir__git_attribute *a, const struct weir__compare_frame *above,
                   const struct weir__remain_entry *entry)
{
    struct weir__compare *compare = &a->compare;
    size_t parents_from = compare->parents_count;
    bool is_again = above->is_again || a->trees.remains[entry->target].seen == compare->turn;
    int error = push_parents(a, above, entry);
    for (size_t i = parents_from; !error && i < compare->parents_count; i++)
        if (compare->parents[i] == entry->target) {
            compare->parents_count = parents_from;
            return 0;
        }
    if (!error)
        error = weir__buffer_append(&compare->path, weir__remain_name(&a->trees, entry),
                                    entry->name_length);
    if (!error)
        error = weir__buffer_putc(&compare->path, '/');
    if (error)
        return error == -WEIR_E_OVERFLOW ? -WEIR_E_TOO_LARGE : error;
    return push(a, entry->target, parents_from, is_again);
}

static int meet(struct weir__git_attribute *a, const struct weir__compare_frame *frame,
                const struct weir__remain_entry *entry, uint32_t place, each_fn *each)
{
    struct weir__compare *compare = &a->compare;
    for (size_t i = 0; i < frame->parents_count; i++)
        if (weir__remain_has(&a->trees, compare->parents[frame->parents_from + i], entry))
            return 0;
    int error = weir__buffer_append(&compare->path, weir__remain_name(&a->trees, entry),
                                    entry->name_length);
    if (error)
        return error == -WEIR_E_OVERFLOW ? -WEIR_E_TOO_LARGE : error;
    return each(a, entry->target, weir__buffer_text(&compare->path),
                weir__buffer_length(&compare->path), place);
}

static int run(struct weir__git_attribute *a, uint32_t place, each_fn *each)
{
    struct weir__compare *compare = &a->compare;
    while (compare->frames_count > 0) {
        struct weir__compare_frame frame = compare->frames[compare->frames_count - 1];
        weir__buffer_truncate(&compare->path, frame.path_length);
        compare->parents_count = frame.parents_from + frame.parents_count;
        bool is_enough = frame.is_again && compare->again >= a->options.again_max;
        compare->is_cut |= is_enough;
        if (is_enough || frame.next == a->trees.remains[frame.remain].entries_count) {
            compare->parents_count = frame.parents_from;
            compare->frames_count--;
            continue;
        }
        compare->frames[compare->frames_count - 1].next++;
        compare->again += frame.is_again;
        struct weir__remain_entry entry = *entry_of(&a->trees, frame.remain, frame.next);
        int error =
            entry.is_tree ? descend(a, &frame, &entry) : meet(a, &frame, &entry, place, each);
        if (error)
            return error;
    }
    return 0;
}

/* Not all places were looked at: whatever lies in there may have more paths. */
static int mark_cut(struct weir__git_attribute *a, uint32_t remain)
{
    struct weir__compare *compare = &a->compare;
    compare->turn++;
    int error = push(a, remain, 0, false);
    while (!error && compare->frames_count > 0) {
        struct weir__compare_frame *frame = &compare->frames[compare->frames_count - 1];
        if (frame->next == a->trees.remains[frame->remain].entries_count) {
            compare->frames_count--;
            continue;
        }
        const struct weir__remain_entry *entry = entry_of(&a->trees, frame->remain, frame->next++);
        if (!entry->is_tree)
            a->found[entry->target].has_more = a->found[entry->target].is_cut = true;
        else if (a->trees.remains[entry->target].seen != compare->turn)
            error = push(a, entry->target, 0, false);
    }
    return error;
}

int weir__compare_run(struct weir__git_attribute *a, uint32_t remain, const uint32_t *others,
                      size_t count, const char *prefix, uint32_t place, each_fn *each)
{
    struct weir__compare *compare = &a->compare;
    compare->frames_count = compare->parents_count = 0;
    compare->is_cut = false;
    compare->turn++;
    weir__buffer_truncate(&compare->path, 0);
    int error = weir__buffer_puts(&compare->path, prefix);
    for (size_t i = 0; !error && i < count; i++) {
        if (others[i] == remain)
            return 0;
        error = add_parent(compare, 0, others[i]);
    }
    if (!error)
        error = push(a, remain, 0, false);
    if (!error)
        error = run(a, place, each);
    return error || !compare->is_cut ? error : mark_cut(a, remain);
}

/* --- commits --- */

/* The tree of a parent that the history did not have to read. 1, or 0 when there is none. */
static int read_parent(struct weir__git_attribute *a, uint32_t number,
                       struct weir__git_id *ret_tree)
{
    struct weir__git_id id = weir__git_history_id(a->options.history, number);
    struct weir__git_commit commit;
    enum weir__git_type type;
    char why[WEIR__GIT_FLAW_MAX];
    int error = a->options.get(a->options.get_arg, &id, &type, &a->trees.bytes);
    if (error == -WEIR_E_NO_MEMORY || error == -WEIR_E_CANCELED)
        return error;
    if (error || type != WEIR__GIT_COMMIT ||
        weir__git_commit_parse_links(&commit, weir__buffer_text(&a->trees.bytes),
                                     weir__buffer_length(&a->trees.bytes), a->options.id_size,
                                     why) < 0)
        return 0; /* the history has told it, or it lies outside of it */
    *ret_tree = commit.tree;
    return 1;
}

/* What is left of the parents' trees. */
static int reduce_parents(struct weir__git_attribute *a, uint32_t number, uint32_t *others,
                          size_t *ret_count)
{
    size_t count = 0;
    uint32_t parent;
    unsigned seen = 0;
    for (uint64_t at = WEIR__GIT_PARENTS;
         seen < WEIR__GIT_PARENTS_COMPARED &&
         weir__git_history_parent(a->options.history, number, &at, &parent);
         seen++) {
        struct weir__git_id tree;
        uint32_t state;
        int result = weir__git_history_tree(a->options.history, parent, &tree)
                         ? 1
                         : read_parent(a, parent, &tree);
        if (result > 0)
            result = weir__trees_reduce(a, &tree, &state);
        else if (result == 0)
            continue;
        if (result < 0)
            return result;
        if (state >= WEIR__TREE_NODES)
            others[count++] = state - WEIR__TREE_NODES;
    }
    *ret_count = count;
    return 0;
}

static int look_at(struct weir__git_attribute *a, uint32_t place)
{
    uint32_t number = a->options.order[place], others[WEIR__GIT_PARENTS_COMPARED], state;
    struct weir__git_id tree;
    size_t count;
    if (!weir__git_history_tree(a->options.history, number, &tree))
        return 0;
    int error = weir__trees_reduce(a, &tree, &state);
    if (error || state < WEIR__TREE_NODES)
        return error;
    error = reduce_parents(a, number, others, &count);
    if (error)
        return error;
    struct weir__git_id id = weir__git_history_id(a->options.history, number);
    a->mark = a->options.mark ? a->options.mark(a->options.get_arg, &id) : 0;
    return weir__compare_run(a, state - WEIR__TREE_NODES, others, count, "", place,
                             weir__found_add);
}

/* Once more with nothing in memory, when there was too much of it. */
static int look_at_again(struct weir__git_attribute *a, uint32_t place)
{
    char hex[WEIR__GIT_HEX_SIZE];
    int error = look_at(a, place);
    if (error != -WEIR_E_TOO_LARGE)
        return error;
    weir__trees_forget(a);
    error = look_at(a, place);
    if (error != -WEIR_E_TOO_LARGE)
        return error;
    weir__trees_forget(a);
    struct weir__git_id id = weir__git_history_id(a->options.history, a->options.order[place]);
    weir__git_id_hex(&id, a->options.id_size, hex);
    if (a->options.exceeded)
        weir__attribute_tell(a, "commit %s: %s", hex, a->options.exceeded);
    else
        weir__attribute_tell(a, "commit %s: its trees need more than the %llu bytes they may take",
                             hex, (unsigned long long)a->options.bytes_max);
    return 0;
}

int weir__git_attribute_run(struct weir__git_attribute *a, uint32_t from, uint32_t until)
{
    if (until > a->options.order_count)
        until = a->options.order_count;
    if (a->wanted->_count == 0)
        return 0;
    for (uint32_t i = from; i < until; i++) {
        /* Packs give new trees more cheaply than old ones, and neighbours most cheaply. */
        uint32_t place = a->options.is_first_only ? i : until - 1 - (i - from);
        if (a->options.is_first_only && a->left == 0)
            break;
        if (a->options.stop && weir_cancel_is_fired(a->options.stop))
            return -WEIR_E_CANCELED;
        int error = look_at_again(a, place);
        if (error) {
            weir__trees_forget(a);
            return error;
        }
        a->stats.commits++;
    }
    return 0;
}
