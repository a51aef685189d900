/* fuzz_git_attribute.c - trees and commits of any shape, looked at in different ways.
 *
 * The input makes up a store: commit n has the tree and the parents, tree n the entries, that its
 * bytes say; what they name may not exist, may be of another kind or lie in itself. What must hold:
 * in one piece, in slices and with hardly any memory the same first commits come out, and the same
 * paths; and stopping early finds the same commits. Where places had to be passed over, each blob
 * still has a commit in all of these ways or in none.
 */
#include <stdio.h>
#include <stdlib.h>

#include "alloc.h"
#include "attribute.h"
#include "require.h"

#include "banned.h"

#define HOLDS(condition) WEIR__REQUIRE(condition, "fuzz", "git_attribute", #condition)
#define OBJECTS          16u
#define BLOBS            4u

/* Object n owns the bytes from n * size / OBJECTS on. The lower half are trees. */
struct store {
    const uint8_t *data;
    size_t size;
};

static struct weir__git_id id_of(uint32_t number)
{
    struct weir__git_id id = {{0}};
    id.bytes[0] = (uint8_t)number;
    id.bytes[19] = 1;
    return id;
}

static int put_tree(const uint8_t *data, size_t size, uint32_t number, struct weir__buffer *bytes)
{
    int error = 0;
    for (size_t i = 0; !error && i + 1 < size; i += 2) {
        /* Trees lead to later ones, else most of them would lie in themselves. */
        bool is_tree = data[i] & 1;
        uint32_t target = is_tree ? number + 1 + data[i + 1] % (data[i] & 2 ? 20 : 3)
                                  : 100 + data[i + 1] % (BLOBS + 1);
        struct weir__git_id id = id_of(target);
        error = weir__buffer_printf(bytes, "%s %c", is_tree ? "40000" : "100644",
                                    'a' + (data[i] >> 2) % 5);
        if (!error)
            error = weir__buffer_putc(bytes, '\0');
        if (!error)
            error = weir__buffer_append(bytes, id.bytes, 20);
    }
    return error;
}

static int get(void *arg, const struct weir__git_id *id, enum weir__git_type *ret_type,
               struct weir__buffer *bytes)
{
    const struct store *store = arg;
    uint32_t number = id->bytes[0];
    char hex[WEIR__GIT_HEX_SIZE];
    weir__buffer_truncate(bytes, 0);
    if (number >= OBJECTS)
        return -WEIR_E_NOT_FOUND;
    size_t from = store->size * number / OBJECTS, until = store->size * (number + 1) / OBJECTS;
    const uint8_t *data = store->data + from;
    *ret_type = number < OBJECTS / 2 ? WEIR__GIT_TREE : WEIR__GIT_COMMIT;
    if (number < OBJECTS / 2)
        return put_tree(data, until - from, number, bytes);
    struct weir__git_id tree = id_of(until > from ? data[0] % (OBJECTS / 2) : 0);
    int error = weir__buffer_printf(bytes, "tree %s\n", weir__git_id_hex(&tree, 20, hex));
    for (size_t i = 2; !error && from + i < until; i++) {
        struct weir__git_id parent = id_of(number + 1 + data[i] % 4);
        error = weir__buffer_printf(bytes, "parent %s\n", weir__git_id_hex(&parent, 20, hex));
    }
    if (!error)
        error = weir__buffer_printf(bytes, "author a\ncommitter b <c> %u +0000\n",
                                    until > from + 1 ? data[1] % 16u : 0);
    return error;
}

static bool had_too_little;

static void tell(void *arg, const char *text)
{
    (void)arg;
    had_too_little |= strstr(text, "they may take") != NULL;
}

static void look(struct weir__git_attribute *a, uint32_t slices, uint32_t count, void *arg)
{
    for (uint32_t i = 0; i < slices; i++) {
        struct weir__git_attribute *fork;
        HOLDS(weir__git_attribute_fork(&fork, a, arg, NULL) == 0);
        HOLDS(weir__git_attribute_run(fork, count * i / slices, count * (i + 1) / slices) == 0);
        HOLDS(weir__git_attribute_merge(a, fork) == 0);
        weir__git_attribute_free(fork);
    }
}

static void compare(const struct weir__git_attribute *a, const struct weir__git_attribute *b,
                    bool has_paths)
{
    for (uint32_t i = 0; i < BLOBS; i++) {
        struct weir__git_attribution left, right;
        weir__git_attribute_result(a, i, &left);
        weir__git_attribute_result(b, i, &right);
        HOLDS(left.has_commit == right.has_commit);
        /* Of places that were passed over, one may be that of an older commit. */
        HOLDS(!left.has_commit || left.is_cut || right.is_cut ||
              (weir__git_id_is_equal(&left.commit, &right.commit) && left.time == right.time));
        /* Of too many paths, which are found is not promised. */
        if (left.has_more || right.has_more)
            continue;
        HOLDS(!left.has_commit || strcmp(left.path, right.path) == 0);
        if (!has_paths)
            continue;
        HOLDS(left.paths_total == right.paths_total && left.paths_count == right.paths_count);
        for (size_t k = 0; k < left.paths_count; k++)
            HOLDS(strcmp(left.paths[k], right.paths[k]) == 0);
    }
}

static void check(struct store *store, const struct weir__git_history *history,
                  const uint32_t *order, uint32_t count)
{
    struct weir__git_attribute_options options = {.id_size = 20,
                                                  .get = get,
                                                  .get_arg = store,
                                                  .history = history,
                                                  .order = order,
                                                  .order_count = count,
                                                  .paths_max = 3,
                                                  .again_max = 200,
                                                  .problem = tell};
    struct weir__git_attribute *ways[4];
    uint32_t number;
    had_too_little = false;
    for (unsigned way = 0; way < 4; way++) {
        options.is_first_only = way == 3;
        options.bytes_max = way == 2 ? 60000 : 0;
        HOLDS(weir__git_attribute_new(&ways[way], &options) == 0);
        for (uint32_t i = 0; i < BLOBS; i++) {
            struct weir__git_id blob = id_of(100 + i);
            HOLDS(weir__git_attribute_want(ways[way], &blob, &number) == 0 && number == i);
        }
        if (way == 1)
            look(ways[way], 5, count, store);
        else
            HOLDS(weir__git_attribute_run(ways[way], 0, count) == 0);
    }
    compare(ways[0], ways[1], true);
    if (!had_too_little)
        compare(ways[0], ways[2], true);
    compare(ways[0], ways[3], false);
    for (unsigned way = 0; way < 4; way++)
        weir__git_attribute_free(ways[way]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct store store = {data, size < 512 ? size : 512};
    struct weir__git_history_options options = {
        .id_size = 20, .get = get, .get_arg = &store, .has_trees = true};
    struct weir__git_history history;
    uint32_t *order, count;
    HOLDS(weir__git_history_init(&history, &options) == 0);
    for (uint32_t i = OBJECTS / 2; i < OBJECTS; i += 3) {
        struct weir__git_id id = id_of(i);
        HOLDS(weir__git_history_start(&history, &id, WEIR__GIT_START_REF) == 0);
    }
    HOLDS(weir__git_history_walk(&history, WEIR__GIT_SINCE_EVER) == 0);
    HOLDS(weir__git_history_order(&history, &order, &count) == 0);
    check(&store, &history, order, count);
    weir__base_free(order);
    weir__git_history_fini(&history);
    return 0;
}
