/* attribute.c - the life of an attribution, what is not in commits, and results. */
#include "attribute_part.h"

#include <stdarg.h>
#include <stdio.h>

#include "alloc.h"

#include "banned.h"

#define ROOM_FIRST 16u

void weir__attribute_tell(struct weir__git_attribute *a, const char *format, ...)
{
    char text[WEIR__GIT_PROBLEM_MAX];
    va_list args;
    a->stats.problems++;
    if (!a->options.problem)
        return;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    a->options.problem(a->options.problem_arg, text);
}

int weir__attribute_room(void **array, size_t *room, size_t count, size_t size)
{
    if (count < *room)
        return 0;
    size_t more = *room ? *room * 2 : ROOM_FIRST;
    void *grown = weir__base_realloc(*array, more, size);
    if (!grown)
        return -WEIR_E_NO_MEMORY;
    *array = grown;
    *room = more;
    return 0;
}

/* --- life --- */

static struct weir__git_attribute *make(const struct weir__git_attribute_options *options)
{
    struct weir__git_attribute *a = weir__base_alloc(1, sizeof(*a));
    if (!a)
        return NULL;
    a->options = *options;
    if (a->options.paths_max == 0)
        a->options.paths_max = WEIR__GIT_PATHS_DEFAULT;
    if (a->options.bytes_max == 0)
        a->options.bytes_max = WEIR__GIT_TREE_MEMORY;
    if (a->options.again_max == 0)
        a->options.again_max = WEIR__GIT_AGAIN_DEFAULT;
    weir__git_set_init(&a->own_wanted, options->id_size, 0, 0);
    a->wanted = &a->own_wanted;
    weir__trees_init(&a->trees, options->id_size, a->options.bytes_max);
    size_t path_max =
        a->options.bytes_max > SIZE_MAX / 4 ? SIZE_MAX / 4 : (size_t)a->options.bytes_max;
    weir__buffer_init(&a->compare.path, path_max);
    return a;
}

int weir__git_attribute_new(struct weir__git_attribute **ret_attribute,
                            const struct weir__git_attribute_options *options)
{
    struct weir__git_attribute *a = make(options);
    if (!a)
        return -WEIR_E_NO_MEMORY;
    *ret_attribute = a;
    return 0;
}

int weir__git_attribute_fork(struct weir__git_attribute **ret_attribute,
                             const struct weir__git_attribute *from, void *get_arg,
                             void *problem_arg)
{
    struct weir__git_attribute *a = make(&from->options);
    uint32_t count = weir__git_set_count(from->wanted);
    if (!a)
        return -WEIR_E_NO_MEMORY;
    a->options.get_arg = get_arg;
    a->options.problem_arg = problem_arg;
    a->wanted = from->wanted;
    a->left = count;
    a->found = weir__base_alloc(count ? count : 1, sizeof(*a->found));
    if (!a->found) {
        a->wanted = &a->own_wanted;
        weir__git_attribute_free(a);
        return -WEIR_E_NO_MEMORY;
    }
    *ret_attribute = a;
    return 0;
}

void weir__git_attribute_free(struct weir__git_attribute *a)
{
    if (!a)
        return;
    for (uint32_t i = 0; a->found && i < weir__git_set_count(a->wanted); i++)
        weir__found_fini(&a->found[i]);
    weir__base_free(a->found);
    weir__git_set_fini(&a->own_wanted);
    weir__trees_fini(&a->trees);
    weir__base_free(a->compare.frames);
    weir__base_free(a->compare.parents);
    weir__buffer_fini(&a->compare.path);
    weir__base_free(a->counted.slots);
    weir__base_free(a);
}

int weir__git_attribute_want(struct weir__git_attribute *a, const struct weir__git_id *blob,
                             uint32_t *ret_number)
{
    int result = weir__attribute_room((void **)&a->found, &a->found_room,
                                      weir__git_set_count(&a->own_wanted), sizeof(*a->found));
    if (result < 0)
        return result;
    result = weir__git_set_add(&a->own_wanted, blob, ret_number);
    if (result > 0) {
        a->found[*ret_number] = (struct weir__found){.looks = NULL};
        a->left++;
    }
    return result < 0 ? result : 0;
}

void weir__git_attribute_extend(struct weir__git_attribute *a, const uint32_t *order,
                                uint32_t order_count)
{
    a->options.order = order;
    a->options.order_count = order_count;
}

int weir__git_attribute_merge(struct weir__git_attribute *a, const struct weir__git_attribute *fork)
{
    a->stats.trees += fork->stats.trees;
    a->stats.commits += fork->stats.commits;
    a->stats.problems += fork->stats.problems;
    a->stats.forgotten += fork->stats.forgotten;
    return weir__found_merge(a, fork);
}

/* --- what is not in commits --- */

static int mark_staged(struct weir__git_attribute *a, uint32_t number, const char *path,
                       size_t length, uint32_t place)
{
    a->found[number].is_staged = true;
    /* The index has nearly all that the last commit has: that is no look of its own, which what is
     * said about the commit would not be about. */
    return weir__found_has(a, number, path, length)
               ? 0
               : weir__found_add(a, number, path, length, place);
}

static int mark_ref(struct weir__git_attribute *a, uint32_t number, const char *ref)
{
    struct weir__found *found = &a->found[number];
    size_t size = strlen(ref) + 1;
    if (found->ref)
        return 0;
    found->ref = weir__base_alloc(size, 1);
    if (!found->ref)
        return -WEIR_E_NO_MEMORY;
    memcpy(found->ref, ref, size);
    return 0;
}

/* Every place in a tree. */
static int each_in_tree(struct weir__git_attribute *a, const struct weir__git_id *tree,
                        const char *prefix,
                        int (*each)(struct weir__git_attribute *a, uint32_t number,
                                    const char *path, size_t length, uint32_t place))
{
    uint32_t state;
    int error = weir__trees_reduce(a, tree, &state);
    if (error == -WEIR_E_TOO_LARGE) {
        weir__trees_forget(a);
        error = weir__trees_reduce(a, tree, &state);
    }
    if (error)
        weir__trees_forget(a);
    if (error || state < WEIR__TREE_NODES)
        return error;
    return weir__compare_run(a, state - WEIR__TREE_NODES, NULL, 0, prefix, WEIR__GIT_SET_NONE,
                             each);
}

static int mark_seen(struct weir__git_attribute *a, uint32_t number, const char *path,
                     size_t length, uint32_t place)
{
    int error = weir__found_add(a, number, path, length, place);
    return error ? error : mark_ref(a, number, a->ref);
}

int weir__git_attribute_ref(struct weir__git_attribute *a, const char *ref,
                            const struct weir__git_id *id, enum weir__git_type type)
{
    if (type == WEIR__GIT_TREE) {
        a->ref = ref;
        int error = each_in_tree(a, id, "", mark_seen);
        a->ref = NULL;
        return error;
    }
    uint32_t number =
        type == WEIR__GIT_BLOB ? weir__git_set_find(a->wanted, id) : WEIR__GIT_SET_NONE;
    return number == WEIR__GIT_SET_NONE ? 0 : mark_ref(a, number, ref);
}

int weir__git_attribute_staged(struct weir__git_attribute *a,
                               const struct weir__git_index_entry *entry)
{
    if (weir__git_mode_is_tree(entry->mode)) /* a sparse index; its path ends with a slash */
        return each_in_tree(a, &entry->id, entry->path, mark_staged);
    uint32_t number = weir__git_mode_is_submodule(entry->mode)
                          ? WEIR__GIT_SET_NONE
                          : weir__git_set_find(a->wanted, &entry->id);
    if (number == WEIR__GIT_SET_NONE)
        return 0;
    return mark_staged(a, number, entry->path, entry->path_length, WEIR__GIT_SET_NONE);
}

/* --- results --- */

void weir__git_attribute_result(const struct weir__git_attribute *a, uint32_t number,
                                struct weir__git_attribution *ret_result)
{
    const struct weir__found *found = &a->found[number];
    *ret_result = (struct weir__git_attribution){
        .ref = found->ref,
        .is_staged = found->is_staged,
        .paths = (const char *const *)found->paths,
        .paths_count = found->paths_count,
        .paths_total = found->paths_total,
        .has_more = found->has_more,
        .is_cut = found->is_cut,
    };
    if (found->looks_count == 0)
        return;
    const struct weir__git_look *first = &found->looks[found->first];
    ret_result->path = first->path;
    ret_result->has_commit = first->has_commit;
    ret_result->commit = first->commit;
    ret_result->time = first->time;
    ret_result->kind = first->kind;
    if (found->looks_count > 1) {
        ret_result->looks = found->looks;
        ret_result->looks_count = found->looks_count;
    }
}

void weir__git_attribute_read(const struct weir__git_attribute *a,
                              struct weir__git_attribute_stats *ret_stats)
{
    *ret_stats = a->stats;
}
