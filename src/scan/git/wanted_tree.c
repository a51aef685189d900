/* wanted_tree.c - from commits to blobs.
 *
 * A tree that is wanted as it is goes into a set whose order is that of reading: what is behind the
 * last one that was read waits. So each is read once, and nothing recurs.
 *
 * Where only what a commit brought is wanted, its tree is compared with those of its parents, entry
 * by entry: what one of them has in the same place is not new. A subtree that differs from all is
 * compared with theirs; where no parent has one, it is taken as it is. The same comparison is made
 * once, whoever asks for it. All doubts (parents that cannot be read, entries out of order) end in
 * more that is wanted, never in less.
 */
#include "wanted_part.h"

#include <stdlib.h>

#include "hash.h"
#include "tree_entry.h"

#include "banned.h"

#define COMPARED_MAX (1u << 20) /* then they are forgotten */
#define LOOK_UP_MASK 255u

static bool is_stopped(const struct weir__git_wanted *wanted)
{
    return wanted->_options.stop && (wanted->trees & LOOK_UP_MASK) == 0 &&
           weir_cancel_is_fired(wanted->_options.stop);
}

/* Git knows the empty tree without having it. */
static bool is_empty_tree(const struct weir__git_id *id, size_t id_size)
{
    const char *hex = id_size == WEIR__GIT_SHA1_SIZE
                          ? "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
                          : "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321";
    struct weir__git_id empty;
    return weir__git_id_from_hex(&empty, hex, id_size) == 0 && weir__git_id_is_equal(id, &empty);
}

/* Invalid for what is no tree. */
static int read_tree(struct weir__git_wanted *wanted, const struct weir__git_id *id,
                     struct weir__buffer *bytes)
{
    const struct weir__git_names *names = wanted->_options.names;
    enum weir__git_type type;
    if (is_stopped(wanted))
        return -WEIR_E_CANCELED;
    wanted->trees++;
    int error = names->get(names->get_arg, id, &type, bytes);
    if (error == -WEIR_E_NOT_FOUND && is_empty_tree(id, names->id_size)) {
        weir__buffer_truncate(bytes, 0);
        return 0;
    }
    return error ? error : type == WEIR__GIT_TREE ? 0 : -WEIR_E_INVALID;
}

/* --- as they are --- */

int weir__git_wanted_take(struct weir__git_wanted *wanted, const struct weir__git_id *tree)
{
    uint32_t ignored;
    int result = weir__git_wanted_put(wanted, &wanted->_whole, tree, &ignored);
    return result < 0 ? result : 0;
}

static int take_entry(struct weir__git_wanted *wanted, const struct weir__git_tree_entry *entry)
{
    if (weir__git_mode_is_submodule(entry->mode))
        return 0;
    if (weir__git_mode_is_tree(entry->mode))
        return weir__git_wanted_take(wanted, &entry->id);
    return weir__git_wanted_add(wanted, &entry->id, WEIR__GIT_BLOB);
}

static int read_whole(struct weir__git_wanted *wanted, uint32_t number)
{
    struct weir__git_id id = weir__git_set_id(&wanted->_whole, number);
    size_t id_size = wanted->_options.names->id_size;
    char why[WEIR__GIT_FLAW_MAX], hex[WEIR__GIT_HEX_SIZE];
    struct weir__git_tree tree;
    struct weir__git_tree_entry entry;
    int error = read_tree(wanted, &id, &wanted->_bytes);
    if (weir__git_wanted_is_fatal(error))
        return error;
    if (error == -WEIR_E_NOT_FOUND && wanted->_options.is_partial) {
        wanted->promised++;
        return 0;
    }
    if (error) {
        wanted->missing++;
        weir__git_wanted_tell(wanted, "object %s: %s", weir__git_id_hex(&id, id_size, hex),
                              error == -WEIR_E_INVALID ? "it is not a tree"
                                                       : weir__git_get_problem(error));
        return 0;
    }
    weir__git_tree_init(&tree, weir__buffer_text(&wanted->_bytes),
                        weir__buffer_length(&wanted->_bytes), id_size);
    int result;
    while (!error && (result = weir__git_tree_next(&tree, &entry, why)) != 0) {
        if (result < 0) {
            wanted->missing++;
            weir__git_wanted_tell(wanted, "tree %s: %s", weir__git_id_hex(&id, id_size, hex), why);
            break;
        }
        error = take_entry(wanted, &entry);
    }
    return error;
}

/* --- compared --- */

/* The order of git's trees: folders as if their names ended with a slash. */
static int order(const struct weir__git_tree_entry *a, const struct weir__git_tree_entry *b)
{
    size_t least = a->name_length < b->name_length ? a->name_length : b->name_length;
    int result = memcmp(a->name, b->name, least);
    if (result != 0)
        return result;
    unsigned char end_a = weir__git_mode_is_tree(a->mode) ? '/' : 0;
    unsigned char end_b = weir__git_mode_is_tree(b->mode) ? '/' : 0;
    if (a->name_length > least)
        end_a = (unsigned char)a->name[least];
    if (b->name_length > least)
        end_b = (unsigned char)b->name[least];
    if (end_a != end_b)
        return end_a < end_b ? -1 : 1;
    return a->name_length < b->name_length ? -1 : a->name_length > b->name_length;
}

static int keep_sub(struct weir__git_wanted *wanted, uint32_t place, const struct weir__git_id *id)
{
    int error = weir__git_wanted_room(wanted, (void **)&wanted->_subs, &wanted->_subs_room,
                                      wanted->_subs_count, sizeof(*wanted->_subs));
    /* Without it more is wanted, and that is all. */
    if (error)
        return error == -WEIR_E_TOO_LARGE ? 0 : error;
    wanted->_subs[wanted->_subs_count++] = (struct weir__git_wanted_sub){place, *id};
    return 0;
}

static int compare_subs(const void *a, const void *b)
{
    const struct weir__git_wanted_sub *one = a, *other = b;
    if (one->place != other->place)
        return one->place < other->place ? -1 : 1;
    return weir__git_id_compare(&one->id, &other->id);
}

/* Marks the entries of the tree that the parent in _others has in the same place, and keeps the
 * subtrees that it has where the tree has others. */
static int compare_parent(struct weir__git_wanted *wanted)
{
    size_t id_size = wanted->_options.names->id_size;
    char why[WEIR__GIT_FLAW_MAX], *marks = wanted->_marks._data;
    struct weir__git_tree tree, other;
    struct weir__git_tree_entry entry, theirs;
    weir__git_tree_init(&tree, weir__buffer_text(&wanted->_bytes),
                        weir__buffer_length(&wanted->_bytes), id_size);
    weir__git_tree_init(&other, weir__buffer_text(&wanted->_others),
                        weir__buffer_length(&wanted->_others), id_size);
    int has_theirs = weir__git_tree_next(&other, &theirs, why), error = 0;
    for (uint32_t i = 0; !error && weir__git_tree_next(&tree, &entry, why) > 0; i++) {
        int compared = 1;
        while (has_theirs > 0 && (compared = order(&theirs, &entry)) < 0)
            has_theirs = weir__git_tree_next(&other, &theirs, why);
        if (has_theirs <= 0)
            break;
        if (compared > 0)
            continue;
        /* A submodule may have any id, that of a blob too. */
        if (weir__git_mode_is_submodule(entry.mode) != weir__git_mode_is_submodule(theirs.mode))
            continue;
        if (weir__git_id_is_equal(&entry.id, &theirs.id))
            marks[i] = 1;
        else if (!marks[i] && weir__git_mode_is_tree(entry.mode))
            error = keep_sub(wanted, i, &theirs.id);
    }
    return error;
}

static int push(struct weir__git_wanted *wanted, const struct weir__git_id *tree,
                const struct weir__git_id *parents, unsigned count)
{
    struct weir__git_wanted_pair pair = {wanted->_ids_count, count};
    int error = weir__git_wanted_room(wanted, (void **)&wanted->_pairs, &wanted->_pairs_room,
                                      wanted->_pairs_count, sizeof(*wanted->_pairs));
    for (unsigned i = 0; !error && i <= count; i++) {
        error = weir__git_wanted_room(wanted, (void **)&wanted->_ids, &wanted->_ids_room,
                                      wanted->_ids_count, sizeof(*wanted->_ids));
        if (!error)
            wanted->_ids[wanted->_ids_count++] = i == 0 ? *tree : parents[i - 1];
    }
    if (error)
        return error;
    wanted->_pairs[wanted->_pairs_count++] = pair;
    return 0;
}

/* What is left of the tree in _bytes is brought, or to be compared further. */
static int take_rest(struct weir__git_wanted *wanted)
{
    struct weir__git_id parents[WEIR__GIT_WANTED_PARENTS];
    char why[WEIR__GIT_FLAW_MAX];
    struct weir__git_tree tree;
    struct weir__git_tree_entry entry;
    size_t at = 0;
    int error = 0;
    weir__git_tree_init(&tree, weir__buffer_text(&wanted->_bytes),
                        weir__buffer_length(&wanted->_bytes), wanted->_options.names->id_size);
    if (wanted->_subs_count > 1)
        qsort(wanted->_subs, wanted->_subs_count, sizeof(*wanted->_subs), compare_subs);
    for (uint32_t i = 0; !error && weir__git_tree_next(&tree, &entry, why) > 0; i++) {
        unsigned count = 0;
        for (; at < wanted->_subs_count && wanted->_subs[at].place == i; at++)
            if (count < WEIR__GIT_WANTED_PARENTS)
                parents[count++] = wanted->_subs[at].id;
        if (wanted->_marks._data[i])
            continue;
        error = count > 0 ? push(wanted, &entry.id, parents, count) : take_entry(wanted, &entry);
    }
    return error;
}

/* Whether exactly this was asked before. */
static int is_compared(struct weir__git_wanted *wanted, const struct weir__git_id *ids,
                       unsigned count)
{
    struct weir__hash hash;
    struct weir__git_id key;
    uint32_t ignored;
    if (weir__git_set_count(&wanted->_compared) >= COMPARED_MAX)
        weir__git_set_clear(&wanted->_compared);
    weir__hash_init(&hash);
    weir__hash_update(&hash, ids, count * sizeof(*ids));
    weir__hash_final(&hash, key.bytes);
    int result = weir__git_wanted_put(wanted, &wanted->_compared, &key, &ignored);
    return result < 0 ? result : result == 0;
}

/* One mark for each entry; how many there are, or that the tree is broken: then it is taken as it
 * is, and told there. */
static int make_marks(struct weir__git_wanted *wanted)
{
    char why[WEIR__GIT_FLAW_MAX];
    struct weir__git_tree tree;
    struct weir__git_tree_entry entry;
    int result, error = 0;
    weir__buffer_truncate(&wanted->_marks, 0);
    weir__git_tree_init(&tree, weir__buffer_text(&wanted->_bytes),
                        weir__buffer_length(&wanted->_bytes), wanted->_options.names->id_size);
    while (!error && (result = weir__git_tree_next(&tree, &entry, why)) != 0)
        error = result < 0 ? result : weir__buffer_putc(&wanted->_marks, 0);
    return error;
}

static int compare(struct weir__git_wanted *wanted, const struct weir__git_id *ids,
                   unsigned parents)
{
    int result = weir__git_set_find(&wanted->_whole, &ids[0]) != WEIR__GIT_SET_NONE;
    for (unsigned i = 1; i <= parents && result == 0; i++)
        result = weir__git_id_is_equal(&ids[0], &ids[i]);
    if (result == 0 && parents > 0)
        result = is_compared(wanted, ids, parents + 1);
    if (result != 0)
        return result < 0 ? result : 0;
    int error = parents > 0 ? read_tree(wanted, &ids[0], &wanted->_bytes) : -WEIR_E_NOT_FOUND;
    if (!error)
        error = make_marks(wanted);
    if (error)
        return weir__git_wanted_is_fatal(error) ? error : weir__git_wanted_take(wanted, &ids[0]);
    wanted->_subs_count = 0;
    for (unsigned i = 1; i <= parents && !error; i++) {
        error = read_tree(wanted, &ids[i], &wanted->_others);
        /* One that cannot be read has nothing: more is wanted then, and nothing is lost. */
        if (!error)
            error = compare_parent(wanted);
        error = weir__git_wanted_is_fatal(error) ? error : 0;
    }
    return error ? error : take_rest(wanted);
}

static int compare_all(struct weir__git_wanted *wanted)
{
    struct weir__git_id ids[1 + WEIR__GIT_WANTED_PARENTS];
    int error = 0;
    for (wanted->_steps = 0; !error && wanted->_pairs_count > 0; wanted->_steps++) {
        struct weir__git_wanted_pair pair = wanted->_pairs[--wanted->_pairs_count];
        memcpy(ids, wanted->_ids + pair.from, (pair.parents + 1) * sizeof(*ids));
        wanted->_ids_count = pair.from;
        if (wanted->_steps < WEIR__GIT_WANTED_STEPS) {
            error = compare(wanted, ids, pair.parents);
        } else {
            wanted->cut += wanted->_steps == WEIR__GIT_WANTED_STEPS;
            error = weir__git_wanted_take(wanted, &ids[0]);
        }
    }
    return error;
}

/* --- of commits --- */

static int take_commit(struct weir__git_wanted *wanted, uint32_t number)
{
    const struct weir__git_history *history = &wanted->history;
    struct weir__git_id parents[WEIR__GIT_WANTED_PARENTS];
    struct weir__git_id id = weir__git_history_id(history, number), tree;
    unsigned count = 0;
    uint32_t parent;
    int error = weir__git_wanted_add(wanted, &id, WEIR__GIT_COMMIT);
    if (error || !weir__git_history_tree(history, number, &tree))
        return error;
    if (!wanted->_is_narrow)
        return weir__git_wanted_take(wanted, &tree);
    for (uint64_t at = WEIR__GIT_PARENTS; count < WEIR__GIT_WANTED_PARENTS &&
                                          weir__git_history_parent(history, number, &at, &parent);)
        count += weir__git_history_tree(history, parent, &parents[count]);
    error = push(wanted, &tree, parents, count);
    return error ? error : compare_all(wanted);
}

int weir__git_wanted_trees(struct weir__git_wanted *wanted)
{
    uint32_t count = weir__git_history_count(&wanted->history);
    int error = 0;
    for (uint32_t i = 0; i < count && !error; i++)
        if (weir__git_history_has(&wanted->history, i))
            error = take_commit(wanted, i);
    for (uint32_t i = 0; !error && i < weir__git_set_count(&wanted->_whole); i++)
        error = read_whole(wanted, i);
    return error;
}
