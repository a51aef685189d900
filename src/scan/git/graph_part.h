/* graph_part.h - what the files of the commit-graph share; nobody else includes this.
 *
 *   graph.c       commits, by position and by id
 *   graph_open.c  files and chains: read and checked
 *
 * Ownership: a file owns its bytes; everything else points into them.
 */
#ifndef WEIR_SCAN_GIT_GRAPH_PART_H
#define WEIR_SCAN_GIT_GRAPH_PART_H

#include "graph.h"

#define WEIR__GRAPH_PARENT_NONE  UINT32_C(0x70000000)
#define WEIR__GRAPH_EDGE_BIT     UINT32_C(0x80000000)
#define WEIR__GRAPH_LEVEL_MAX    UINT32_C(0x3fffffff)
#define WEIR__GRAPH_ID_SIZE_BASE 16u /* of a line in the chunk of commits, beside the tree's id */

struct weir__git_graph_file {
    struct weir__buffer bytes;
    const uint8_t *fanout, *ids, *commits;
    const uint8_t *edges, *dates, *far_dates; /* NULL: it has none */
    uint32_t edges_count, far_dates_count;
    uint32_t count;
    uint32_t first; /* the position of its first commit */
    size_t id_size;
    unsigned below; /* how many files it says are below it */
};

struct weir__git_graph {
    struct weir__git_graph_file files[WEIR__GIT_GRAPH_FILES_MAX];
    unsigned files_count;
    uint32_t count;
    size_t id_size;
    uint64_t bytes;
    bool has_dates; /* every file has corrected dates */
};

static inline uint32_t weir__graph_u32(const uint8_t *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static inline uint64_t weir__graph_u64(const uint8_t *p)
{
    return (uint64_t)weir__graph_u32(p) << 32 | weir__graph_u32(p + 4);
}

#endif
