/* fuzz_git_graph.c - any bytes, as a commit-graph, and a history that is walked by it.
 *
 * What must hold: parents exist and are of a smaller generation, ids are found where they are, and
 * a walk over all of it ends, with as many commits as there are at most and in an order that has
 * each once.
 */
#include <stdlib.h>

#include "alloc.h"
#include "commit_history.h"
#include "require.h"

#include "banned.h"

#define HOLDS(condition) WEIR__REQUIRE(condition, "fuzz", "git_graph", #condition)

static int get_none(void *arg, const struct weir__git_id *id, enum weir__git_type *ret_type,
                    struct weir__buffer *bytes)
{
    (void)arg, (void)id, (void)ret_type, (void)bytes;
    return -WEIR_E_NOT_FOUND;
}

static void check_commits(const struct weir__git_graph *graph)
{
    uint32_t count = weir__git_graph_count(graph);
    for (uint32_t i = 0; i < count; i++) {
        struct weir__git_id id = weir__git_graph_id(graph, i);
        struct weir__git_graph_commit commit, parent;
        HOLDS(weir__git_graph_find(graph, &id) == i);
        int error = weir__git_graph_commit(graph, i, &commit);
        HOLDS(error == 0 || error == -WEIR_E_CORRUPT);
        for (uint32_t k = 0; !error && k < commit.parents_count; k++) {
            uint32_t position = weir__git_graph_parent(&commit, k);
            HOLDS(position < count);
            if (commit.generation != WEIR__GIT_GENERATION_NONE &&
                weir__git_graph_commit(graph, position, &parent) == 0)
                HOLDS(parent.generation < commit.generation);
        }
    }
}

static void check_walk(const struct weir__git_graph *graph, size_t id_size, unsigned choices)
{
    struct weir__git_history_options options = {
        .id_size = id_size, .get = get_none, .graph = graph, .has_trees = true};
    struct weir__git_history history;
    uint32_t count = weir__git_graph_count(graph), *order, order_count, in_set = 0;
    HOLDS(weir__git_history_init(&history, &options) == 0);
    for (uint32_t i = 0; i < count; i++) {
        struct weir__git_id id = weir__git_graph_id(graph, i);
        unsigned kind = choices >> i % 7 & 1 ? WEIR__GIT_START_REF : WEIR__GIT_START_EXCLUDE;
        if (i % 3 == choices % 3)
            HOLDS(weir__git_history_start(&history, &id, kind) == 0);
        else if (i % 11 == 0)
            HOLDS(weir__git_history_exclude_common(&history, &id, &id) == 0);
    }
    HOLDS(weir__git_history_walk(&history, choices & 64 ? 1000000 : WEIR__GIT_SINCE_EVER) == 0);
    HOLDS(weir__git_history_count(&history) <= count);
    for (uint32_t i = 0; i < weir__git_history_count(&history); i++)
        in_set += weir__git_history_has(&history, i);
    HOLDS(weir__git_history_order(&history, &order, &order_count) == 0);
    HOLDS(order_count == in_set);
    weir__base_free(order);
    weir__git_history_fini(&history);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct weir__git_graph *graph;
    struct weir__buffer bytes;
    char why[WEIR__GIT_FLAW_MAX] = "";
    if (size < 1)
        return 0;
    size_t id_size = data[0] & 1 ? 32 : 20;
    weir__buffer_init(&bytes, size);
    HOLDS(weir__buffer_append(&bytes, data + 1, size - 1) == 0);
    int error = weir__git_graph_of_bytes(&graph, &bytes, id_size, why);
    HOLDS(error == 0 || error == -WEIR_E_CORRUPT || error == -WEIR_E_UNSUPPORTED);
    HOLDS(error == 0 || why[0]);
    if (!error) {
        check_commits(graph);
        if (weir__git_graph_count(graph) < 200)
            check_walk(graph, id_size, data[0]);
        weir__git_graph_free(graph);
    }
    weir__buffer_fini(&bytes);
    return 0;
}
