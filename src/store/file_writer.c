/* file_writer.c - one open node for each level.
 *
 *     level 2    [ A B . . . ]
 *                    level 1   [ C D E . . ]
 *                                  level 0   [ chunk chunk hole chunk . . ]
 *
 * A full node is closed when one more entry comes for it, not before: then the level above is known
 * to have two entries at least, and a root is never a node with a single one below it.
 */
#include "file_writer.h"

#include <weir/error.h>

#include "alloc.h"
#include "chunker.h"
#include "require.h"

#include "banned.h"

void weir__file_writer_init(struct weir__file_writer *writer, const struct weir__chunk_sink *sink)
{
    *writer = (struct weir__file_writer){._sink = *sink};
}

void weir__file_writer_fini(struct weir__file_writer *writer)
{
    if (!writer)
        return;
    for (unsigned i = 0; i < WEIR__MANIFEST_LEVELS; i++)
        weir__base_free(writer->_nodes[i]);
    weir__base_free(writer->_bytes);
    *writer = (struct weir__file_writer){0};
}

void weir__file_writer_reset(struct weir__file_writer *writer)
{
    for (unsigned i = 0; i < WEIR__MANIFEST_LEVELS; i++)
        if (writer->_nodes[i])
            writer->_nodes[i]->count = 0;
    writer->_length = writer->_hole = 0;
    writer->_error = 0;
}

uint64_t weir__file_writer_length(const struct weir__file_writer *writer)
{
    return writer->_length;
}

/* The open node of a level, made when it is first needed. */
static int open_node(struct weir__file_writer *writer, unsigned level,
                     struct weir__manifest_node **ret_node)
{
    WEIR__REQUIRE(level < WEIR__MANIFEST_LEVELS, "manifest", "file", "has too many levels");
    struct weir__manifest_node *node = writer->_nodes[level];
    if (!node) {
        node = weir__base_alloc(1, sizeof(*node));
        if (!node)
            return -WEIR_E_NO_MEMORY;
        node->level = level;
        writer->_nodes[level] = node;
    }
    *ret_node = node;
    return 0;
}

/* Puts a node and empties it. */
static int put_node(struct weir__file_writer *writer, struct weir__manifest_node *node,
                    struct weir__address *ret_address)
{
    struct weir__address address;
    if (!writer->_bytes)
        writer->_bytes = weir__base_alloc(WEIR__MANIFEST_SIZE_MAX, 1);
    if (!writer->_bytes)
        return -WEIR_E_NO_MEMORY;
    size_t length = weir__manifest_encode(node, writer->_bytes);
    weir__address_of(writer->_bytes, length, &address);
    int result = writer->_sink.put(writer->_sink.arg, writer->_bytes, length, &address);
    if (result != 0)
        return result;
    node->count = 0;
    *ret_address = address;
    return 0;
}

static int add(struct weir__file_writer *writer, unsigned level, uint64_t length,
               const struct weir__address *address);

/* Puts the open node of a level and enters it above. */
static int close_node(struct weir__file_writer *writer, unsigned level)
{
    struct weir__address address;
    uint64_t length = weir__manifest_length(writer->_nodes[level]);
    int result = put_node(writer, writer->_nodes[level], &address);
    return result != 0 ? result : add(writer, level + 1, length, &address);
}

static int add(struct weir__file_writer *writer, unsigned level, uint64_t length,
               const struct weir__address *address)
{
    struct weir__manifest_node *node = NULL;
    int result = open_node(writer, level, &node);
    if (result == 0 && node->count == WEIR__MANIFEST_ENTRIES_MAX)
        result = close_node(writer, level);
    return result != 0 ? result : weir__manifest_add(node, length, address);
}

static int flush_hole(struct weir__file_writer *writer)
{
    uint64_t hole = writer->_hole;
    writer->_hole = 0;
    return hole > 0 ? add(writer, 0, hole, NULL) : 0;
}

int weir__file_writer_add_chunk(struct weir__file_writer *writer,
                                const struct weir__address *address, size_t length)
{
    if (writer->_error != 0)
        return writer->_error;
    if (length == 0 || length > WEIR__CHUNK_MAX)
        writer->_error = -WEIR_E_INVALID;
    else if (length > WEIR__FILE_LENGTH_MAX - writer->_length)
        writer->_error = -WEIR_E_TOO_LARGE;
    else
        writer->_error = flush_hole(writer);
    if (writer->_error == 0)
        writer->_error = add(writer, 0, length, address);
    if (writer->_error == 0)
        writer->_length += length;
    return writer->_error;
}

int weir__file_writer_add_hole(struct weir__file_writer *writer, uint64_t length)
{
    if (writer->_error != 0)
        return writer->_error;
    if (length > WEIR__FILE_LENGTH_MAX - writer->_length)
        return writer->_error = -WEIR_E_TOO_LARGE;
    writer->_hole += length;
    writer->_length += length;
    return 0;
}

/* The level whose open node is the root: the highest that has any entry. */
static unsigned root_level(const struct weir__file_writer *writer)
{
    unsigned level = WEIR__MANIFEST_LEVELS - 1;
    while (level > 0 && !(writer->_nodes[level] && writer->_nodes[level]->count > 0))
        level--;
    return level;
}

int weir__file_writer_finish(struct weir__file_writer *writer, struct weir__address *ret_root)
{
    struct weir__manifest_node *node = NULL;
    int result = writer->_error;
    if (result == 0)
        result = flush_hole(writer);
    /* Closing a level may close the one above, and so add a level. */
    for (unsigned level = 0; result == 0 && level < root_level(writer); level++)
        result = close_node(writer, level);
    if (result == 0)
        result = open_node(writer, root_level(writer), &node);
    if (result == 0)
        result = put_node(writer, node, ret_root);
    writer->_error = result;
    if (result == 0)
        weir__file_writer_reset(writer);
    return result;
}
