/* graph_open.c - header, chunks, and the files of a chain.
 *
 * A file: "CGPH", version, hash, number of chunks, number of files below it; a table of chunks (a
 * name of 4 bytes, an offset of 8), one more line than there are chunks; the chunks; a checksum.
 * The checksum is not computed: it would cost more than the file saves.
 */
#include "graph_part.h"

#include <stdio.h>

#include "alloc.h"
#include "refs_file.h"

#include "banned.h"

#define HEAD_SIZE 8u
#define LINE_SIZE 12u
#define CHAIN_MAX 65536u
#define CHUNK(a, b, c, d)                                                                          \
    ((uint32_t)(a) << 24 | (uint32_t)(b) << 16 | (uint32_t)(c) << 8 | (uint32_t)(d))

__attribute__((cold)) static int flaw(char why[WEIR__GIT_FLAW_MAX], int code, const char *text)
{
    snprintf(why, WEIR__GIT_FLAW_MAX, "commit-graph: %s", text);
    return -code;
}

/* --- one file --- */

struct chunks {
    const uint8_t *fanout, *ids, *commits, *edges, *dates, *far_dates;
    size_t fanout_size, ids_size, commits_size, edges_size, dates_size, far_dates_size;
};

static void take_chunk(struct chunks *chunks, uint32_t name, const uint8_t *at, size_t size)
{
    switch (name) {
    case CHUNK('O', 'I', 'D', 'F'):
        chunks->fanout = at, chunks->fanout_size = size;
        break;
    case CHUNK('O', 'I', 'D', 'L'):
        chunks->ids = at, chunks->ids_size = size;
        break;
    case CHUNK('C', 'D', 'A', 'T'):
        chunks->commits = at, chunks->commits_size = size;
        break;
    case CHUNK('E', 'D', 'G', 'E'):
        chunks->edges = at, chunks->edges_size = size;
        break;
    case CHUNK('G', 'D', 'A', '2'):
        chunks->dates = at, chunks->dates_size = size;
        break;
    case CHUNK('G', 'D', 'O', '2'):
        chunks->far_dates = at, chunks->far_dates_size = size;
        break;
    default: /* Bloom filters, and what later versions add */
        break;
    }
}

static int read_table(struct chunks *chunks, const uint8_t *bytes, size_t size, unsigned count,
                      char why[WEIR__GIT_FLAW_MAX])
{
    size_t table = HEAD_SIZE + (size_t)(count + 1) * LINE_SIZE;
    if (size < table)
        return flaw(why, WEIR_E_CORRUPT, "the table of chunks is cut short");
    for (unsigned i = 0; i < count; i++) {
        const uint8_t *line = bytes + HEAD_SIZE + (size_t)i * LINE_SIZE;
        uint64_t from = weir__graph_u64(line + 4), until = weir__graph_u64(line + LINE_SIZE + 4);
        if (from < table || until < from || until > size)
            return flaw(why, WEIR_E_CORRUPT, "a chunk lies outside of the file");
        take_chunk(chunks, weir__graph_u32(line), bytes + from, (size_t)(until - from));
    }
    return 0;
}

/* Numbers that do not fall, and ids in order, each where the table says that it is. */
static int check_ids(const struct weir__git_graph_file *file, char why[WEIR__GIT_FLAW_MAX])
{
    uint32_t at = 0;
    for (unsigned byte = 0; byte < 256; byte++) {
        uint32_t next = weir__graph_u32(file->fanout + 4 * (size_t)byte);
        if (next < at || next > file->count)
            return flaw(why, WEIR_E_CORRUPT, "the table of first bytes is not in order");
        for (; at < next; at++) {
            const uint8_t *id = file->ids + (size_t)at * file->id_size;
            if (id[0] != byte || (at > 0 && memcmp(id - file->id_size, id, file->id_size) >= 0))
                return flaw(why, WEIR_E_CORRUPT, "the ids are not in order");
        }
    }
    return 0;
}

static int take_chunks(struct weir__git_graph_file *file, const struct chunks *chunks,
                       char why[WEIR__GIT_FLAW_MAX])
{
    if (!chunks->fanout || !chunks->ids || !chunks->commits || chunks->fanout_size != 1024)
        return flaw(why, WEIR_E_CORRUPT, "a chunk is missing");
    uint64_t count = weir__graph_u32(chunks->fanout + 1020);
    if (count >= WEIR__GRAPH_PARENT_NONE || chunks->ids_size != count * file->id_size ||
        chunks->commits_size != count * (file->id_size + WEIR__GRAPH_ID_SIZE_BASE))
        return flaw(why, WEIR_E_CORRUPT, "a chunk has the wrong size");
    file->count = (uint32_t)count;
    file->fanout = chunks->fanout;
    file->ids = chunks->ids;
    file->commits = chunks->commits;
    if (chunks->edges) {
        file->edges = chunks->edges;
        file->edges_count =
            (uint32_t)(chunks->edges_size / 4 < WEIR__GRAPH_EDGE_BIT ? chunks->edges_size / 4
                                                                     : WEIR__GRAPH_EDGE_BIT - 1);
    }
    if (chunks->dates && chunks->dates_size == count * 4)
        file->dates = chunks->dates;
    if (chunks->far_dates) {
        file->far_dates = chunks->far_dates;
        file->far_dates_count = (uint32_t)(chunks->far_dates_size / 8 < WEIR__GRAPH_EDGE_BIT
                                               ? chunks->far_dates_size / 8
                                               : WEIR__GRAPH_EDGE_BIT - 1);
    }
    return check_ids(file, why);
}

/* file->bytes and file->id_size are set. */
static int open_file(struct weir__git_graph_file *file, char why[WEIR__GIT_FLAW_MAX])
{
    const uint8_t *bytes = (const void *)weir__buffer_text(&file->bytes);
    size_t size = weir__buffer_length(&file->bytes);
    struct chunks chunks = {0};
    if (size < HEAD_SIZE + file->id_size || memcmp(bytes, "CGPH", 4) != 0)
        return flaw(why, WEIR_E_CORRUPT, "not such a file");
    if (bytes[4] != 1)
        return flaw(why, WEIR_E_UNSUPPORTED, "of a version that is not 1");
    if (bytes[5] != (file->id_size == WEIR__GIT_SHA1_SIZE ? 1 : 2))
        return flaw(why, WEIR_E_CORRUPT, "of another hash than the repository");
    file->below = bytes[7];
    int error = read_table(&chunks, bytes, size - file->id_size, bytes[6], why);
    return error ? error : take_chunks(file, &chunks, why);
}

/* --- all of them --- */

static int add_file(struct weir__git_graph *graph, struct weir__buffer *bytes,
                    char why[WEIR__GIT_FLAW_MAX])
{
    struct weir__git_graph_file *file = &graph->files[graph->files_count];
    *file = (struct weir__git_graph_file){.bytes = *bytes, .id_size = graph->id_size};
    int error = open_file(file, why);
    if (!error && file->below != graph->files_count)
        error = flaw(why, WEIR_E_CORRUPT, "the files of the chain do not fit together");
    if (!error && file->count > WEIR__GRAPH_PARENT_NONE - 1 - graph->count)
        error = flaw(why, WEIR_E_CORRUPT, "too many commits");
    if (error)
        return error; /* the bytes stay with the caller */
    file->first = graph->count;
    graph->has_dates = (graph->files_count == 0 || graph->has_dates) && file->dates;
    graph->count += file->count;
    graph->bytes += weir__buffer_length(bytes);
    graph->files_count++;
    return 0;
}

static int read_file(struct weir__git_graph *graph, int objects_fd, const char *name,
                     uint64_t bytes_max, char why[WEIR__GIT_FLAW_MAX])
{
    struct weir__buffer bytes;
    uint64_t left = bytes_max > graph->bytes ? bytes_max - graph->bytes : 0;
    weir__buffer_init(&bytes, left > SIZE_MAX / 4 ? SIZE_MAX / 4 : left < 1 ? 1 : (size_t)left);
    int error = weir__git_file_read(objects_fd, name, &bytes);
    if (error == -WEIR_E_TOO_LARGE)
        flaw(why, WEIR_E_TOO_LARGE, "larger than the memory that it may take");
    else if (error)
        flaw(why, WEIR_E_IO, weir_error_text(error));
    else
        error = add_file(graph, &bytes, why);
    if (error)
        weir__buffer_fini(&bytes);
    return error;
}

static int read_chain(struct weir__git_graph *graph, int objects_fd, const char *chain,
                      uint64_t bytes_max, char why[WEIR__GIT_FLAW_MAX])
{
    char name[32 + 2 * WEIR__GIT_ID_SIZE_MAX + 16];
    size_t digits = 2 * graph->id_size;
    for (const char *line = chain; *line;) {
        size_t length = strcspn(line, "\n");
        struct weir__git_id id;
        if (length != digits || weir__git_id_from_hex(&id, line, graph->id_size) < 0)
            return flaw(why, WEIR_E_CORRUPT, "the list of the chain is not one of ids");
        if (graph->files_count == WEIR__GIT_GRAPH_FILES_MAX)
            return flaw(why, WEIR_E_TOO_LARGE, "the chain has too many files");
        snprintf(name, sizeof(name), "info/commit-graphs/graph-%.*s.graph", (int)digits, line);
        int error = read_file(graph, objects_fd, name, bytes_max, why);
        if (error)
            return error;
        line += length + (line[length] == '\n');
    }
    return 0;
}

static int open_all(struct weir__git_graph *graph, int objects_fd, uint64_t bytes_max,
                    char why[WEIR__GIT_FLAW_MAX])
{
    struct weir__buffer chain;
    int error = read_file(graph, objects_fd, "info/commit-graph", bytes_max, why);
    if (error != -WEIR_E_NOT_FOUND)
        return error;
    weir__buffer_init(&chain, CHAIN_MAX);
    error = weir__git_file_read(objects_fd, "info/commit-graphs/commit-graph-chain", &chain);
    if (error == -WEIR_E_NOT_FOUND)
        error = 0;
    else if (error)
        flaw(why, WEIR_E_IO, "the list of the chain cannot be read");
    else
        error = read_chain(graph, objects_fd, weir__buffer_text(&chain), bytes_max, why);
    weir__buffer_fini(&chain);
    /* A file of the chain that has gone is a chain that cannot be used. */
    return error == -WEIR_E_NOT_FOUND ? -WEIR_E_CORRUPT : error;
}

int weir__git_graph_open(struct weir__git_graph **ret_graph, int objects_fd, size_t id_size,
                         uint64_t bytes_max, char why[WEIR__GIT_FLAW_MAX])
{
    struct weir__git_graph *graph = weir__base_alloc(1, sizeof(*graph));
    if (!graph)
        return -WEIR_E_NO_MEMORY;
    graph->id_size = id_size;
    int error = open_all(graph, objects_fd, bytes_max, why);
    if (error || graph->files_count == 0) {
        weir__git_graph_free(graph);
        graph = NULL;
    }
    if (!error)
        *ret_graph = graph;
    return error;
}

int weir__git_graph_of_bytes(struct weir__git_graph **ret_graph, struct weir__buffer *bytes,
                             size_t id_size, char why[WEIR__GIT_FLAW_MAX])
{
    struct weir__git_graph *graph = weir__base_alloc(1, sizeof(*graph));
    if (!graph)
        return -WEIR_E_NO_MEMORY;
    graph->id_size = id_size;
    int error = add_file(graph, bytes, why);
    if (error) {
        weir__git_graph_free(graph);
        return error;
    }
    *bytes = (struct weir__buffer){0};
    *ret_graph = graph;
    return 0;
}

void weir__git_graph_free(struct weir__git_graph *graph)
{
    if (!graph)
        return;
    for (unsigned i = 0; i < graph->files_count; i++)
        weir__buffer_fini(&graph->files[i].bytes);
    weir__base_free(graph);
}
