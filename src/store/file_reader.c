/* file_reader.c - from the root to the entry of an offset, for each span anew.
 *
 * No path is kept. A descent is one binary search for each level, as the nodes of the last one are
 * still there; and a place that was found in this way cannot be out of step with the range.
 */
#include "file_reader.h"

#include <weir/error.h>

#include "alloc.h"

#include "banned.h"

/* Gets a node of so many bytes covered into the place of its level. */
static int load(struct weir__file_reader *reader, unsigned level,
                const struct weir__address *address)
{
    struct weir__manifest_node *node = reader->_nodes[level];
    size_t length = 0;
    if (!node)
        node = reader->_nodes[level] = weir__base_alloc(1, sizeof(*node));
    if (!node)
        return -WEIR_E_NO_MEMORY;
    int result = weir__chunk_get(&reader->_source, address, reader->_bytes, WEIR__MANIFEST_SIZE_MAX,
                                 &length);
    if (result == -WEIR_E_TOO_LARGE)
        result = -WEIR_E_INVALID; /* no manifest is so large */
    if (result == 0)
        result = weir__manifest_decode(reader->_bytes, length, node);
    /* What was here is lost either way. */
    if (result != 0)
        node->count = 0;
    reader->_held[level] = *address;
    return result;
}

static bool is_held(const struct weir__file_reader *reader, unsigned level,
                    const struct weir__address *address)
{
    const struct weir__manifest_node *node = reader->_nodes[level];
    return node && node->count > 0 && weir__address_is_equal(&reader->_held[level], address);
}

/* The root tells its level only when it is there: it is got into the lowest place and moved. */
static int load_root(struct weir__file_reader *reader, const struct weir__address *root)
{
    int result = load(reader, 0, root);
    if (result != 0)
        return result;
    struct weir__manifest_node *node = reader->_nodes[0];
    unsigned level = node->level;
    /* A single node below it could be the root itself. */
    if (level > 0 && node->count < 2)
        return -WEIR_E_CORRUPT;
    reader->_nodes[0] = NULL;
    reader->_nodes[level] = node;
    reader->_root_level = level;
    reader->_length = weir__manifest_length(node);
    return 0;
}

int weir__file_reader_open(struct weir__file_reader *reader,
                           const struct weir__chunk_source *source,
                           const struct weir__address *root)
{
    *reader = (struct weir__file_reader){._source = *source};
    reader->_bytes = weir__base_alloc(WEIR__MANIFEST_SIZE_MAX, 1);
    int result = reader->_bytes ? load_root(reader, root) : -WEIR_E_NO_MEMORY;
    if (result != 0)
        weir__file_reader_close(reader);
    reader->_end = reader->_length;
    return result;
}

void weir__file_reader_close(struct weir__file_reader *reader)
{
    if (!reader)
        return;
    for (unsigned i = 0; i < WEIR__MANIFEST_LEVELS; i++)
        weir__base_free(reader->_nodes[i]);
    weir__base_free(reader->_bytes);
    *reader = (struct weir__file_reader){0};
}

uint64_t weir__file_reader_length(const struct weir__file_reader *reader)
{
    return reader->_length;
}

int weir__file_reader_seek(struct weir__file_reader *reader, uint64_t offset, uint64_t length)
{
    if (offset > reader->_length || length > reader->_length - offset)
        return -WEIR_E_RANGE;
    reader->_at = offset;
    reader->_end = offset + length;
    reader->_hole_end = 0;
    return 0;
}

/* The entry that covers a place, which is in the node. */
static size_t find(const struct weir__manifest_node *node, uint64_t place)
{
    size_t low = 0, high = node->count - 1;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (node->entries[middle].end <= place)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* The node below, which must be what the entry says. is_last: no other of its level follows. */
static int descend(struct weir__file_reader *reader, unsigned level,
                   const struct weir__address *address, uint64_t covered, bool is_last)
{
    if (!is_held(reader, level, address)) {
        int result = load(reader, level, address);
        /* A manifest leads to manifests, or it is damaged. */
        if (result == -WEIR_E_INVALID || result == -WEIR_E_UNSUPPORTED)
            result = -WEIR_E_CORRUPT;
        if (result != 0)
            return result;
    }
    const struct weir__manifest_node *node = reader->_nodes[level];
    bool is_right = node->level == level && weir__manifest_length(node) == covered &&
                    (is_last || node->count == WEIR__MANIFEST_ENTRIES_MAX);
    return is_right ? 0 : -WEIR_E_CORRUPT;
}

int weir__file_reader_next(struct weir__file_reader *reader, struct weir__file_span *ret_span)
{
    if (reader->_at >= reader->_end)
        return 0;
    uint64_t base = 0; /* where in the file the node begins */
    bool is_last = true;
    const struct weir__manifest_entry *entry;
    uint64_t begin, end; /* of the entry, in the file */
    for (unsigned level = reader->_root_level;; level--) {
        const struct weir__manifest_node *node = reader->_nodes[level];
        size_t i = find(node, reader->_at - base);
        entry = &node->entries[i];
        begin = base + (i > 0 ? node->entries[i - 1].end : 0);
        end = base + entry->end;
        is_last = is_last && i + 1 == node->count;
        if (level == 0)
            break;
        int result = descend(reader, level - 1, &entry->address, end - begin, is_last);
        if (result != 0)
            return result;
        base = begin;
    }
    /* Within a node it was seen to; here the two are of different nodes. */
    if (entry->is_hole && reader->_hole_end != 0 && begin == reader->_hole_end)
        return -WEIR_E_CORRUPT;
    reader->_hole_end = entry->is_hole ? end : 0;
    uint64_t until = end < reader->_end ? end : reader->_end;
    *ret_span = (struct weir__file_span){
        .offset = reader->_at,
        .length = until - reader->_at,
        .is_hole = entry->is_hole,
        .address = entry->address,
        .chunk_length = entry->is_hole ? 0 : (size_t)(end - begin),
        .skip = entry->is_hole ? 0 : (size_t)(reader->_at - begin),
    };
    reader->_at = until;
    return 1;
}
