/* commit_history.c - reading a commit once, from the graph or from its bytes.
 *
 * A commit gets its number when somebody first names it, as a start or as a parent. It is loaded
 * when it is put into the queue, since its time decides where.
 */
#include "commit_part.h"

#include <stdarg.h>
#include <stdio.h>

#include "alloc.h"

#include "banned.h"

#define EDGES_ROOM_FIRST 16u

int weir__git_history_init(struct weir__git_history *history,
                           const struct weir__git_history_options *options)
{
    size_t extra = sizeof(struct weir__git_node) + (options->has_trees ? options->id_size : 0);
    uint32_t ignored;
    *history = (struct weir__git_history){._options = *options, ._since = WEIR__GIT_SINCE_EVER};
    weir__git_set_init(&history->_set, options->id_size, extra, options->bytes_max);
    weir__git_set_init(&history->_shallow, options->id_size, 0, options->bytes_max);
    weir__buffer_init(&history->_bytes,
                      options->object_max ? options->object_max : WEIR__GIT_COMMIT_BYTES_MAX);
    for (size_t i = 0; i < options->shallow_count; i++) {
        int error = weir__git_set_add(&history->_shallow, &options->shallow[i], &ignored);
        if (error < 0)
            return error;
    }
    /* A graph knows parents that a shallow clone does not have. */
    history->_has_graph = options->graph && options->shallow_count == 0;
    return 0;
}

void weir__git_history_fini(struct weir__git_history *history)
{
    if (!history)
        return;
    for (size_t i = 0; i < history->_edges_room && history->_edges[i]; i++)
        weir__base_free(history->_edges[i]);
    weir__base_free(history->_edges);
    weir__base_free(history->_heap);
    weir__git_set_fini(&history->_set);
    weir__git_set_fini(&history->_shallow);
    weir__buffer_fini(&history->_bytes);
    *history = (struct weir__git_history){0};
}

uint64_t weir__git_history_needs(uint64_t commits, size_t id_size, bool has_trees)
{
    size_t extra = sizeof(struct weir__git_node) + (has_trees ? id_size : 0);
    uint64_t blocks = (commits + commits / 4) / WEIR__EDGES_BLOCK + 1;
    return weir__git_set_needs(commits, id_size, extra) +
           blocks * (WEIR__EDGES_BLOCK * sizeof(uint32_t) + 4 * sizeof(uint32_t *));
}

void weir__git_history_tell(struct weir__git_history *history, const char *format, ...)
{
    char text[WEIR__GIT_PROBLEM_MAX];
    va_list args;
    history->problems++;
    if (!history->_options.problem)
        return;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    history->_options.problem(history->_options.problem_arg, text);
}

/* --- what is kept --- */

struct weir__git_node *weir__git_history_node(const struct weir__git_history *history,
                                              uint32_t number)
{
    return weir__git_set_extra(&history->_set, number);
}

static int64_t node_time(const struct weir__git_node *node)
{
    return (int64_t)((uint64_t)node->_time[1] << 32 | node->_time[0]);
}

static void set_time(struct weir__git_node *node, int64_t time)
{
    node->_time[0] = (uint32_t)(uint64_t)time;
    node->_time[1] = (uint32_t)((uint64_t)time >> 32);
}

uint32_t weir__git_history_count(const struct weir__git_history *history)
{
    return weir__git_set_count(&history->_set);
}

bool weir__git_history_has(const struct weir__git_history *history, uint32_t number)
{
    const struct weir__git_node *node = weir__git_history_node(history, number);
    return (node->_flags & WEIR__NODE_STARTS) && !(node->_flags & WEIR__NODE_EXCLUDE) &&
           (node->_flags & WEIR__NODE_THERE) && node_time(node) >= history->_since;
}

uint32_t weir__git_history_find(const struct weir__git_history *history,
                                const struct weir__git_id *id)
{
    return weir__git_set_find(&history->_set, id);
}

struct weir__git_id weir__git_history_id(const struct weir__git_history *history, uint32_t number)
{
    return weir__git_set_id(&history->_set, number);
}

int64_t weir__git_history_time(const struct weir__git_history *history, uint32_t number)
{
    return node_time(weir__git_history_node(history, number));
}

enum weir__git_start weir__git_history_kind(const struct weir__git_history *history,
                                            uint32_t number)
{
    uint32_t kinds = weir__git_history_node(history, number)->_flags & WEIR__NODE_STARTS;
    return (enum weir__git_start)(kinds & -kinds);
}

bool weir__git_history_tree(const struct weir__git_history *history, uint32_t number,
                            struct weir__git_id *ret_tree)
{
    const struct weir__git_node *node = weir__git_history_node(history, number);
    if (!history->_options.has_trees || !(node->_flags & WEIR__NODE_THERE))
        return false;
    *ret_tree = weir__git_id_of(node + 1, history->_options.id_size);
    return true;
}

static uint32_t *edge(const struct weir__git_history *history, uint64_t at)
{
    return &history->_edges[at / WEIR__EDGES_BLOCK][at % WEIR__EDGES_BLOCK];
}

bool weir__git_history_parent(const struct weir__git_history *history, uint32_t number,
                              uint64_t *at, uint32_t *ret_parent)
{
    if (*at == WEIR__GIT_PARENTS) {
        uint32_t edges = weir__git_history_node(history, number)->_edges;
        if (edges == 0)
            return false;
        *at = edges - 1;
    } else if (*edge(history, *at - 1) & WEIR__EDGE_LAST) {
        return false;
    }
    *ret_parent = *edge(history, *at) & ~WEIR__EDGE_LAST;
    ++*at;
    return true;
}

/* --- parents --- */

static int grow_edges(struct weir__git_history *history)
{
    size_t at = (size_t)(history->_edges_count / WEIR__EDGES_BLOCK);
    uint64_t bytes = WEIR__EDGES_BLOCK * sizeof(uint32_t), most = history->_options.bytes_max;
    uint64_t queue = history->_heap_room * sizeof(*history->_heap);
    if (at < history->_edges_room && history->_edges[at])
        return 0;
    if (history->_edges_count + WEIR__EDGES_BLOCK >= UINT32_MAX ||
        (most &&
         weir__git_set_bytes(&history->_set) + history->_edges_bytes + queue + bytes > most))
        return -WEIR_E_TOO_LARGE;
    if (at >= history->_edges_room) {
        size_t room = history->_edges_room ? history->_edges_room * 2 : EDGES_ROOM_FIRST;
        uint32_t **edges = weir__base_realloc(history->_edges, room, sizeof(uint32_t *));
        if (!edges)
            return -WEIR_E_NO_MEMORY;
        memset(edges + history->_edges_room, 0, (room - history->_edges_room) * sizeof(uint32_t *));
        history->_edges = edges;
        history->_edges_room = room;
    }
    history->_edges[at] = weir__base_alloc(WEIR__EDGES_BLOCK, sizeof(uint32_t));
    if (!history->_edges[at])
        return -WEIR_E_NO_MEMORY;
    history->_edges_bytes += bytes;
    return 0;
}

/* The set, the edges and the queue share the limit. */
int weir__git_history_add(struct weir__git_history *history, const struct weir__git_id *id,
                          uint32_t *ret_number)
{
    uint64_t most = history->_options.bytes_max;
    uint64_t others = history->_edges_bytes + history->_heap_room * sizeof(*history->_heap);
    if (most)
        history->_set._bytes_max = most > others ? most - others : 1;
    return weir__git_set_add(&history->_set, id, ret_number);
}

static int add_parent(struct weir__git_history *history, const struct weir__git_id *id,
                      uint32_t position, uint32_t *ret_parent)
{
    int error = grow_edges(history);
    if (error)
        return error;
    error = weir__git_history_add(history, id, ret_parent);
    if (error < 0)
        return error;
    if (position != WEIR__GIT_GRAPH_NONE)
        weir__git_history_node(history, *ret_parent)->_position = position + 1;
    *edge(history, history->_edges_count++) = *ret_parent;
    return 0;
}

/* The parents that were added since make up the commit's. */
static void end_parents(struct weir__git_history *history, struct weir__git_node *node,
                        uint64_t from)
{
    if (history->_edges_count == from)
        return;
    *edge(history, history->_edges_count - 1) |= WEIR__EDGE_LAST;
    node->_edges = (uint32_t)from + 1;
}

/* --- loading --- */

static void keep_tree(const struct weir__git_history *history, struct weir__git_node *node,
                      const struct weir__git_id *tree)
{
    if (history->_options.has_trees)
        memcpy(node + 1, tree->bytes, history->_options.id_size);
}

/* 1 when it was there, 0 when it was not, or the graph is not to be used. */
static int load_from_graph(struct weir__git_history *history, uint32_t number)
{
    struct weir__git_node *node = weir__git_history_node(history, number);
    const struct weir__git_graph *graph = history->_options.graph;
    struct weir__git_graph_commit commit;
    uint64_t from = history->_edges_count;
    uint32_t ignored;
    if (!history->_has_graph)
        return 0;
    if (node->_position == 0) {
        struct weir__git_id id = weir__git_history_id(history, number);
        node->_position = weir__git_graph_find(graph, &id) + 1;
        if (node->_position == 0)
            return 0;
    }
    if (weir__git_graph_commit(graph, node->_position - 1, &commit) < 0) {
        char hex[WEIR__GIT_HEX_SIZE];
        struct weir__git_id id = weir__git_history_id(history, number);
        history->_has_graph = false;
        weir__git_history_tell(history,
                               "commit-graph: broken at commit %s; the rest is read without it",
                               weir__git_id_hex(&id, history->_options.id_size, hex));
        return 0;
    }
    for (uint32_t i = 0; i < commit.parents_count; i++) {
        uint32_t position = weir__git_graph_parent(&commit, i);
        struct weir__git_id id = weir__git_graph_id(graph, position);
        int error = add_parent(history, &id, position, &ignored);
        if (error)
            return error;
    }
    end_parents(history, node, from);
    set_time(node, commit.time);
    keep_tree(history, node, &commit.tree);
    return 1;
}

static int load_from_bytes(struct weir__git_history *history, uint32_t number,
                           const struct weir__git_id *id)
{
    struct weir__git_node *node = weir__git_history_node(history, number);
    struct weir__git_commit commit;
    size_t id_size = history->_options.id_size;
    char why[WEIR__GIT_FLAW_MAX], hex[WEIR__GIT_HEX_SIZE];
    uint64_t from = history->_edges_count;
    uint32_t ignored;
    int error = weir__git_commit_parse_links(&commit, weir__buffer_text(&history->_bytes),
                                             weir__buffer_length(&history->_bytes), id_size, why);
    if (error) {
        weir__git_history_tell(history, "commit %s: %s", weir__git_id_hex(id, id_size, hex), why);
        return 0;
    }
    bool is_shallow = weir__git_set_find(&history->_shallow, id) != WEIR__GIT_SET_NONE;
    for (size_t i = 0; !is_shallow && i < commit.parents_count; i++) {
        struct weir__git_id parent = weir__git_commit_parent(&commit, i);
        error = add_parent(history, &parent, WEIR__GIT_GRAPH_NONE, &ignored);
        if (error)
            return error;
    }
    end_parents(history, node, from);
    set_time(node, commit.committer.time);
    keep_tree(history, node, &commit.tree);
    return 1;
}

/* 1, 0 for one that has been told, or an error that ends the walk. */
static int load_object(struct weir__git_history *history, uint32_t number, bool may_be_gone)
{
    struct weir__git_id id = weir__git_history_id(history, number);
    enum weir__git_type type;
    char hex[WEIR__GIT_HEX_SIZE];
    weir__git_id_hex(&id, history->_options.id_size, hex);
    int error = history->_options.get(history->_options.get_arg, &id, &type, &history->_bytes);
    if (error == -WEIR_E_NOT_FOUND && may_be_gone) {
        weir__git_history_node(history, number)->_flags |= WEIR__NODE_GONE;
        history->gone++;
        return 0;
    }
    if (error == -WEIR_E_NO_MEMORY || error == -WEIR_E_CANCELED)
        return error;
    if (error) {
        weir__git_history_tell(history, "object %s: %s", hex, weir__git_get_problem(error));
        return 0;
    }
    if (type != WEIR__GIT_COMMIT) {
        weir__git_history_tell(history, "commit %s: it is a %s", hex, weir__git_type_name(type));
        return 0;
    }
    return load_from_bytes(history, number, &id);
}

int weir__git_history_load(struct weir__git_history *history, uint32_t number, bool may_be_gone)
{
    struct weir__git_node *node = weir__git_history_node(history, number);
    /* What a log may have lost, somebody else may need. */
    if ((node->_flags & WEIR__NODE_GONE) && !may_be_gone)
        node->_flags &= ~(WEIR__NODE_GONE | WEIR__NODE_LOADED);
    if (node->_flags & WEIR__NODE_LOADED)
        return 0;
    int result = load_from_graph(history, number);
    if (result == 0)
        result = load_object(history, number, may_be_gone);
    if (result < 0)
        return result;
    node->_flags |= WEIR__NODE_LOADED | (result ? WEIR__NODE_THERE : 0);
    return 0;
}

uint64_t weir__git_history_generation(struct weir__git_history *history, uint32_t number)
{
    const struct weir__git_node *node = weir__git_history_node(history, number);
    struct weir__git_graph_commit commit;
    if (!history->_has_graph || node->_position == 0 ||
        weir__git_graph_commit(history->_options.graph, node->_position - 1, &commit) < 0)
        return WEIR__GIT_GENERATION_NONE;
    return commit.generation;
}
