/* tree_reader.c - the nodes of a directory from left to right, one of each level at a time. */
#include <string.h>

#include <weir/error.h>

#include "alloc.h"
#include "tree_manifest.h"

#include "banned.h"

#define ITEMS 5

/* Reads the head of a node that was got into a level. Its level in the tree comes back. */
static int begin_node(struct weir__tree_level *level, size_t length, uint64_t *ret_level)
{
    level->in = (struct weir__cbor_in){.bytes = level->bytes, .length = length};
    int result = weir__manifest_take_head(&level->in, WEIR__MANIFEST_TREE, ITEMS);
    if (result != 0)
        return result;
    *ret_level = weir__cbor_take(&level->in, WEIR__CBOR_UINT);
    level->count = weir__cbor_take(&level->in, WEIR__CBOR_UINT);
    uint64_t entries = weir__cbor_take(&level->in, WEIR__CBOR_ARRAY);
    if (level->in.is_bad || *ret_level >= WEIR__MANIFEST_LEVELS ||
        entries > WEIR__MANIFEST_ENTRIES_MAX || level->count < entries ||
        (*ret_level == 0 && level->count != entries) || (*ret_level > 0 && entries == 0))
        return -WEIR_E_CORRUPT;
    level->left = (size_t)entries;
    return 0;
}

static int load(struct weir__tree_reader *reader, unsigned at, const struct weir__address *address,
                uint64_t *ret_level)
{
    struct weir__tree_level *level = &reader->_levels[at];
    size_t length = 0;
    if (!level->bytes)
        level->bytes = weir__base_alloc(WEIR__MANIFEST_SIZE_MAX, 1);
    if (!level->bytes)
        return -WEIR_E_NO_MEMORY;
    int result =
        weir__chunk_get(&reader->_source, address, level->bytes, WEIR__MANIFEST_SIZE_MAX, &length);
    if (result == -WEIR_E_TOO_LARGE)
        result = -WEIR_E_INVALID; /* no manifest is so large */
    return result != 0 ? result : begin_node(level, length, ret_level);
}

/* Got into the lowest place, and moved to that of its level. */
static int load_root(struct weir__tree_reader *reader, const struct weir__address *root)
{
    uint64_t level = 0;
    reader->_scratch = weir__base_alloc(WEIR__TREE_ENTRY_MAX, 1);
    int result = reader->_scratch ? load(reader, 0, root, &level) : -WEIR_E_NO_MEMORY;
    if (result != 0)
        return result;
    struct weir__tree_level first = reader->_levels[0];
    if (level > 0 && first.left < 2)
        return -WEIR_E_CORRUPT;
    memset(&reader->_levels[0], 0, sizeof(reader->_levels[0]));
    reader->_levels[level] = first;
    reader->_root_level = (unsigned)level;
    reader->_count = first.count;
    return 0;
}

int weir__tree_reader_open(struct weir__tree_reader *reader,
                           const struct weir__chunk_source *source,
                           const struct weir__address *root)
{
    *reader = (struct weir__tree_reader){._source = *source};
    int result = load_root(reader, root);
    if (result != 0)
        weir__tree_reader_close(reader);
    return result;
}

void weir__tree_reader_close(struct weir__tree_reader *reader)
{
    if (!reader)
        return;
    for (unsigned i = 0; i < WEIR__MANIFEST_LEVELS; i++)
        weir__base_free(reader->_levels[i].bytes);
    weir__base_free(reader->_scratch);
    *reader = (struct weir__tree_reader){0};
}

uint64_t weir__tree_reader_count(const struct weir__tree_reader *reader)
{
    return reader->_count;
}

/* A node has been read to its end: nothing may be behind it, and no name be missing. */
static bool is_done(const struct weir__tree_level *level)
{
    return weir__cbor_is_done(&level->in) && level->count == 0;
}

/* Begins the node that the next entry of this level leads to. */
static int descend(struct weir__tree_reader *reader, unsigned at)
{
    struct weir__tree_level *level = &reader->_levels[at], *below = &reader->_levels[at - 1];
    struct weir__tree_bytes first = {.bytes = NULL};
    struct weir__address address;
    size_t length;
    uint64_t found = 0;
    uint64_t items = weir__cbor_take(&level->in, WEIR__CBOR_ARRAY);
    first.bytes = weir__cbor_take_bytes(&level->in, 1, WEIR__TREE_NAME_MAX, &first.length);
    uint64_t count = weir__cbor_take(&level->in, WEIR__CBOR_UINT);
    const unsigned char *bytes =
        weir__cbor_take_bytes(&level->in, WEIR__ADDRESS_SIZE, WEIR__ADDRESS_SIZE, &length);
    if (items != 3 || !bytes || count == 0 || count > level->count)
        return -WEIR_E_CORRUPT;
    memcpy(address.bytes, bytes, WEIR__ADDRESS_SIZE);
    level->left--;
    level->count -= count;
    int result = load(reader, at - 1, &address, &found);
    if (result == -WEIR_E_INVALID || result == -WEIR_E_UNSUPPORTED)
        result = -WEIR_E_CORRUPT;
    if (result != 0)
        return result;
    if (found != at - 1 || below->count != count)
        return -WEIR_E_CORRUPT;
    /* Its first name stands in its first entry: [ name, ... ] or { 0: name, ... }. */
    struct weir__cbor_in look = below->in;
    weir__cbor_next(&look);
    if (found == 0)
        weir__cbor_next(&look);
    struct weir__cbor_item name = weir__cbor_next(&look);
    bool is_same = name.kind == WEIR__CBOR_BYTES && name.value == first.length &&
                   memcmp(name.bytes, first.bytes, first.length) == 0;
    return is_same ? 0 : -WEIR_E_CORRUPT;
}

/* The lowest level that has something left, down to level 0; false at the end of all. */
static int find_next(struct weir__tree_reader *reader)
{
    unsigned at = 0;
    while (reader->_levels[at].left == 0) {
        if (reader->_levels[at].bytes && reader->_levels[at].in.length > 0 &&
            !is_done(&reader->_levels[at]))
            return -WEIR_E_CORRUPT;
        if (at++ == reader->_root_level)
            return 0;
    }
    int result = 0;
    for (; result == 0 && at > 0; at--)
        result = descend(reader, at);
    return result != 0 ? result : 1;
}

static int next(struct weir__tree_reader *reader, struct weir__tree_entry *ret_entry)
{
    struct weir__tree_bytes last = {reader->_last, reader->_last_length};
    int result = find_next(reader);
    if (result <= 0)
        return result;
    struct weir__tree_level *level = &reader->_levels[0];
    result = weir__tree_decode(&level->in, reader->_scratch, ret_entry);
    if (result != 0)
        return result;
    if (last.length > 0 && weir__tree_compare(&last, &ret_entry->name) >= 0)
        return -WEIR_E_CORRUPT;
    memcpy(reader->_last, ret_entry->name.bytes, ret_entry->name.length);
    reader->_last_length = ret_entry->name.length;
    level->left--;
    level->count--;
    return 1;
}

int weir__tree_reader_next(struct weir__tree_reader *reader, struct weir__tree_entry *ret_entry)
{
    if (reader->_error != 0)
        return reader->_error;
    int result = next(reader, ret_entry);
    if (result < 0)
        reader->_error = result;
    return result;
}
