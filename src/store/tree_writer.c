/* tree_writer.c - one open node for each level, as in file_writer.c.
 *
 * A node's entries are gathered as bytes behind room for the head, which is known at the end only
 * and then put in front of them.
 */
#include <string.h>

#include <weir/error.h>

#include "alloc.h"
#include "tree_manifest.h"

#include "banned.h"

/* Tag, head of the items, version, kind, level, count, head of the entries. */
#define HEAD_MAX (5 + 1 + 1 + 1 + 1 + 9 + 3)
#define ITEMS    5

struct weir__tree_node {
    size_t entries;
    uint64_t count; /* of names */
    unsigned char first[WEIR__TREE_NAME_MAX];
    size_t first_length;
    size_t used; /* of bytes, with the room for the head */
    unsigned char bytes[WEIR__MANIFEST_SIZE_MAX];
};

void weir__tree_writer_init(struct weir__tree_writer *writer, const struct weir__chunk_sink *sink)
{
    *writer = (struct weir__tree_writer){._sink = *sink};
}

void weir__tree_writer_fini(struct weir__tree_writer *writer)
{
    if (!writer)
        return;
    for (unsigned i = 0; i < WEIR__MANIFEST_LEVELS; i++)
        weir__base_free(writer->_nodes[i]);
    weir__base_free(writer->_scratch);
    *writer = (struct weir__tree_writer){0};
}

static void empty(struct weir__tree_node *node)
{
    node->entries = 0;
    node->count = 0;
    node->used = HEAD_MAX;
}

void weir__tree_writer_reset(struct weir__tree_writer *writer)
{
    for (unsigned i = 0; i < WEIR__MANIFEST_LEVELS; i++)
        if (writer->_nodes[i])
            empty(writer->_nodes[i]);
    writer->_last_length = 0;
    writer->_error = 0;
}

static int open_node(struct weir__tree_writer *writer, unsigned level,
                     struct weir__tree_node **ret_node)
{
    if (level >= WEIR__MANIFEST_LEVELS)
        return -WEIR_E_TOO_LARGE;
    if (!writer->_nodes[level]) {
        writer->_nodes[level] = weir__base_alloc(1, sizeof(struct weir__tree_node));
        if (!writer->_nodes[level])
            return -WEIR_E_NO_MEMORY;
        empty(writer->_nodes[level]);
    }
    *ret_node = writer->_nodes[level];
    return 0;
}

static int put_node(struct weir__tree_writer *writer, unsigned level,
                    struct weir__address *ret_address)
{
    struct weir__tree_node *node = writer->_nodes[level];
    struct weir__address address;
    unsigned char head[HEAD_MAX];
    struct weir__cbor_out out = {.bytes = head, .size = sizeof(head)};
    weir__cbor_put(&out, WEIR__CBOR_TAG, WEIR__MANIFEST_TAG);
    weir__cbor_put(&out, WEIR__CBOR_ARRAY, ITEMS);
    weir__cbor_put(&out, WEIR__CBOR_UINT, WEIR__MANIFEST_VERSION);
    weir__cbor_put(&out, WEIR__CBOR_UINT, WEIR__MANIFEST_TREE);
    weir__cbor_put(&out, WEIR__CBOR_UINT, level);
    weir__cbor_put(&out, WEIR__CBOR_UINT, node->count);
    weir__cbor_put(&out, WEIR__CBOR_ARRAY, node->entries);
    unsigned char *begin = node->bytes + HEAD_MAX - out.at;
    size_t length = node->used - HEAD_MAX + out.at;
    memcpy(begin, head, out.at);
    weir__address_of(begin, length, &address);
    int result = writer->_sink.put(writer->_sink.arg, begin, length, &address);
    if (result != 0)
        return result;
    empty(node);
    *ret_address = address;
    return 0;
}

static int add(struct weir__tree_writer *writer, unsigned level, const unsigned char *bytes,
               size_t length, const struct weir__tree_bytes *name, uint64_t count);

/* Puts the open node of a level and enters it above. */
static int close_node(struct weir__tree_writer *writer, unsigned level)
{
    struct weir__tree_node *node = writer->_nodes[level];
    struct weir__address address;
    struct weir__tree_bytes first = {node->first, node->first_length};
    unsigned char bytes[WEIR__TREE_NAME_MAX + 64];
    struct weir__cbor_out out = {.bytes = bytes, .size = sizeof(bytes)};
    uint64_t count = node->count;
    int result = put_node(writer, level, &address);
    if (result != 0)
        return result;
    weir__cbor_put(&out, WEIR__CBOR_ARRAY, 3);
    weir__cbor_put_bytes(&out, first.bytes, first.length);
    weir__cbor_put(&out, WEIR__CBOR_UINT, count);
    weir__cbor_put_bytes(&out, address.bytes, WEIR__ADDRESS_SIZE);
    return add(writer, level + 1, bytes, out.at, &first, count);
}

static int add(struct weir__tree_writer *writer, unsigned level, const unsigned char *bytes,
               size_t length, const struct weir__tree_bytes *name, uint64_t count)
{
    struct weir__tree_node *node = NULL;
    int result = open_node(writer, level, &node);
    if (result == 0 &&
        (node->entries == WEIR__MANIFEST_ENTRIES_MAX || length > sizeof(node->bytes) - node->used))
        result = close_node(writer, level);
    if (result != 0)
        return result;
    if (node->entries == 0) {
        memcpy(node->first, name->bytes, name->length);
        node->first_length = name->length;
    }
    memcpy(node->bytes + node->used, bytes, length);
    node->used += length;
    node->entries++;
    node->count += count;
    return 0;
}

static int add_entry(struct weir__tree_writer *writer, const struct weir__tree_entry *entry)
{
    struct weir__tree_bytes last = {writer->_last, writer->_last_length};
    size_t length;
    if (!writer->_scratch)
        writer->_scratch = weir__base_alloc(WEIR__TREE_ENTRY_MAX, 1);
    if (!writer->_scratch)
        return -WEIR_E_NO_MEMORY;
    int result = weir__tree_encode(entry, writer->_scratch, &length);
    if (result == 0 && last.length > 0 && weir__tree_compare(&last, &entry->name) >= 0)
        result = -WEIR_E_INVALID;
    if (result == 0)
        result = add(writer, 0, writer->_scratch, length, &entry->name, 1);
    if (result != 0)
        return result;
    memcpy(writer->_last, entry->name.bytes, entry->name.length);
    writer->_last_length = entry->name.length;
    return 0;
}

int weir__tree_writer_add(struct weir__tree_writer *writer, const struct weir__tree_entry *entry)
{
    if (writer->_error == 0)
        writer->_error = add_entry(writer, entry);
    return writer->_error;
}

/* The level whose open node is the root: the highest that has any entry. */
static unsigned root_level(const struct weir__tree_writer *writer)
{
    unsigned level = WEIR__MANIFEST_LEVELS - 1;
    while (level > 0 && !(writer->_nodes[level] && writer->_nodes[level]->entries > 0))
        level--;
    return level;
}

int weir__tree_writer_finish(struct weir__tree_writer *writer, struct weir__address *ret_root)
{
    struct weir__tree_node *node = NULL;
    int result = writer->_error;
    for (unsigned level = 0; result == 0 && level < root_level(writer); level++)
        result = close_node(writer, level);
    if (result == 0)
        result = open_node(writer, root_level(writer), &node);
    if (result == 0)
        result = put_node(writer, root_level(writer), ret_root);
    writer->_error = result;
    if (result == 0)
        weir__tree_writer_reset(writer);
    return result;
}
