/* graph.c - a commit's line: its tree, two parents or a place among the edges, level and time. */
#include "graph_part.h"

#include "banned.h"

uint32_t weir__git_graph_count(const struct weir__git_graph *graph)
{
    return graph->count;
}

uint64_t weir__git_graph_bytes(const struct weir__git_graph *graph)
{
    return graph->bytes;
}

static uint32_t find_in(const struct weir__git_graph_file *file, const struct weir__git_id *id)
{
    uint32_t low = id->bytes[0] ? weir__graph_u32(file->fanout + 4 * (id->bytes[0] - 1)) : 0;
    uint32_t high = weir__graph_u32(file->fanout + 4 * id->bytes[0]);
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        int order = memcmp(file->ids + (size_t)middle * file->id_size, id->bytes, file->id_size);
        if (order == 0)
            return middle;
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return WEIR__GIT_GRAPH_NONE;
}

uint32_t weir__git_graph_find(const struct weir__git_graph *graph, const struct weir__git_id *id)
{
    for (unsigned i = graph->files_count; i-- > 0;) {
        uint32_t found = find_in(&graph->files[i], id);
        if (found != WEIR__GIT_GRAPH_NONE)
            return graph->files[i].first + found;
    }
    return WEIR__GIT_GRAPH_NONE;
}

static const struct weir__git_graph_file *file_of(const struct weir__git_graph *graph,
                                                  uint32_t position)
{
    unsigned i = graph->files_count - 1;
    while (graph->files[i].first > position)
        i--;
    return &graph->files[i];
}

struct weir__git_id weir__git_graph_id(const struct weir__git_graph *graph, uint32_t position)
{
    const struct weir__git_graph_file *file = file_of(graph, position);
    return weir__git_id_of(file->ids + (size_t)(position - file->first) * file->id_size,
                           file->id_size);
}

static const uint8_t *line_of(const struct weir__git_graph_file *file, uint32_t position)
{
    return file->commits +
           (size_t)(position - file->first) * (file->id_size + WEIR__GRAPH_ID_SIZE_BASE);
}

static uint32_t level_of(const struct weir__git_graph *graph, uint32_t position)
{
    const struct weir__git_graph_file *file = file_of(graph, position);
    return weir__graph_u32(line_of(file, position) + file->id_size + 8) >> 2;
}

/* The latest date among a commit and its ancestors, or UINT64_MAX. */
static uint64_t newest_of(const struct weir__git_graph_file *file, uint32_t position, int64_t time)
{
    uint32_t offset = weir__graph_u32(file->dates + (size_t)(position - file->first) * 4);
    if (!(offset & WEIR__GRAPH_EDGE_BIT))
        return (uint64_t)time + offset;
    offset &= ~WEIR__GRAPH_EDGE_BIT;
    if (offset >= file->far_dates_count)
        return UINT64_MAX;
    uint64_t far = weir__graph_u64(file->far_dates + (size_t)offset * 8);
    return far > UINT64_MAX - (uint64_t)time ? UINT64_MAX : (uint64_t)time + far;
}

/* How many parents stand among the edges from there on; 0 when their end is missing. */
static uint32_t count_edges(const struct weir__git_graph_file *file, uint32_t from)
{
    for (uint32_t at = from; at < file->edges_count; at++)
        if (weir__graph_u32(file->edges + (size_t)at * 4) & WEIR__GRAPH_EDGE_BIT)
            return at - from + 1;
    return 0;
}

static int take_parents(struct weir__git_graph_commit *commit, const uint8_t *line)
{
    const struct weir__git_graph_file *file = commit->_file;
    commit->_first = weir__graph_u32(line);
    commit->_second = weir__graph_u32(line + 4);
    if (commit->_first == WEIR__GRAPH_PARENT_NONE)
        return commit->_second == WEIR__GRAPH_PARENT_NONE ? 0 : -WEIR_E_CORRUPT;
    commit->parents_count = 1;
    if (commit->_second == WEIR__GRAPH_PARENT_NONE)
        return 0;
    if (!(commit->_second & WEIR__GRAPH_EDGE_BIT)) {
        commit->parents_count = 2;
        return 0;
    }
    commit->_edges = commit->_second & ~WEIR__GRAPH_EDGE_BIT;
    uint32_t more = count_edges(file, commit->_edges);
    if (more == 0)
        return -WEIR_E_CORRUPT;
    commit->parents_count += more;
    return 0;
}

uint32_t weir__git_graph_parent(const struct weir__git_graph_commit *commit, uint32_t index)
{
    if (index == 0)
        return commit->_first;
    if (!(commit->_second & WEIR__GRAPH_EDGE_BIT))
        return commit->_second;
    const uint8_t *edge = commit->_file->edges + (size_t)(commit->_edges + index - 1) * 4;
    return weir__graph_u32(edge) & ~WEIR__GRAPH_EDGE_BIT;
}

int weir__git_graph_commit(const struct weir__git_graph *graph, uint32_t position,
                           struct weir__git_graph_commit *ret_commit)
{
    const struct weir__git_graph_file *file = file_of(graph, position);
    const uint8_t *line = line_of(file, position), *rest = line + file->id_size;
    struct weir__git_graph_commit commit = {._file = file};
    uint32_t level = weir__graph_u32(rest + 8) >> 2;
    commit.tree = weir__git_id_of(line, file->id_size);
    commit.time =
        (int64_t)((uint64_t)(weir__graph_u32(rest + 8) & 3) << 32 | weir__graph_u32(rest + 12));
    /* 0: whoever wrote the file did not know them; at the largest they stop to grow. */
    bool has_level = level > 0 && level < WEIR__GRAPH_LEVEL_MAX;
    commit.generation = has_level ? level : WEIR__GIT_GENERATION_NONE;
    commit.newest = graph->has_dates ? newest_of(file, position, commit.time) : UINT64_MAX;
    if (take_parents(&commit, rest) < 0)
        return -WEIR_E_CORRUPT;
    for (uint32_t i = 0; i < commit.parents_count; i++) {
        uint32_t parent = weir__git_graph_parent(&commit, i);
        /* A parent lies in the same file or in one below. */
        if (parent >= file->first + file->count)
            return -WEIR_E_CORRUPT;
        uint32_t below = level_of(graph, parent);
        if (has_level && (below == 0 || below >= level))
            return -WEIR_E_CORRUPT;
    }
    *ret_commit = commit;
    return 0;
}
