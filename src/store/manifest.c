/* manifest.c - nodes of file manifests as CBOR.
 *
 * The reader takes the items in the order in which the writer puts them, and has the same limits
 * through weir__manifest_add(). As cbor_item.h allows but one form of each item, there is but one
 * form of the whole.
 */
#include "manifest.h"

#include <string.h>

#include <weir/error.h>

#include "cbor_item.h"
#include "chunker.h"
#include "require.h"

#include "banned.h"

#define MAGIC        "\xdaWeir"
#define MAGIC_LENGTH 5
#define ITEMS        5 /* version, kind, level, length, entries */
/* Tag, head of the items, version, kind, level, length, head of the entries. */
#define HEAD_MAX (MAGIC_LENGTH + 4 + 9 + 3)
/* Array of two, length, head of the address, address. */
#define ENTRY_MAX (1 + 9 + 2 + WEIR__ADDRESS_SIZE)

_Static_assert(HEAD_MAX + WEIR__MANIFEST_ENTRIES_MAX * ENTRY_MAX <= WEIR__MANIFEST_SIZE_MAX,
               "a full node fits");

uint64_t weir__manifest_length(const struct weir__manifest_node *node)
{
    return node->count > 0 ? node->entries[node->count - 1].end : 0;
}

int weir__manifest_add(struct weir__manifest_node *node, uint64_t length,
                       const struct weir__address *address)
{
    uint64_t before = weir__manifest_length(node);
    bool is_leaf = node->level == 0;
    if (node->count >= WEIR__MANIFEST_ENTRIES_MAX)
        return -WEIR_E_OVERFLOW;
    if (length == 0 || (is_leaf && address && length > WEIR__CHUNK_MAX) || (!is_leaf && !address))
        return -WEIR_E_INVALID;
    if (!address && node->count > 0 && node->entries[node->count - 1].is_hole)
        return -WEIR_E_INVALID;
    if (length > WEIR__FILE_LENGTH_MAX - before)
        return -WEIR_E_TOO_LARGE;
    struct weir__manifest_entry *entry = &node->entries[node->count++];
    entry->end = before + length;
    entry->is_hole = !address;
    if (address)
        entry->address = *address;
    else
        memset(&entry->address, 0, sizeof(entry->address));
    return 0;
}

size_t weir__manifest_encode(const struct weir__manifest_node *node,
                             unsigned char bytes[WEIR__MANIFEST_SIZE_MAX])
{
    struct weir__cbor_out out = {.bytes = bytes, .size = WEIR__MANIFEST_SIZE_MAX};
    weir__cbor_put(&out, WEIR__CBOR_TAG, WEIR__MANIFEST_TAG);
    weir__cbor_put(&out, WEIR__CBOR_ARRAY, ITEMS);
    weir__cbor_put(&out, WEIR__CBOR_UINT, WEIR__MANIFEST_VERSION);
    weir__cbor_put(&out, WEIR__CBOR_UINT, WEIR__MANIFEST_FILE);
    weir__cbor_put(&out, WEIR__CBOR_UINT, node->level);
    weir__cbor_put(&out, WEIR__CBOR_UINT, weir__manifest_length(node));
    weir__cbor_put(&out, WEIR__CBOR_ARRAY, node->count);
    uint64_t before = 0;
    for (size_t i = 0; i < node->count; i++) {
        const struct weir__manifest_entry *entry = &node->entries[i];
        if (!entry->is_hole)
            weir__cbor_put(&out, WEIR__CBOR_ARRAY, 2);
        weir__cbor_put(&out, WEIR__CBOR_UINT, entry->end - before);
        if (!entry->is_hole)
            weir__cbor_put_bytes(&out, entry->address.bytes, WEIR__ADDRESS_SIZE);
        before = entry->end;
    }
    WEIR__REQUIRE(!out.is_full, "manifest", "node", "does not fit");
    return out.at;
}

bool weir__manifest_is_one(const void *bytes, size_t length)
{
    return length >= MAGIC_LENGTH && memcmp(bytes, MAGIC, MAGIC_LENGTH) == 0;
}

int weir__manifest_take_head(struct weir__cbor_in *in, unsigned kind, unsigned items)
{
    if (!weir__manifest_is_one(in->bytes, in->length))
        return -WEIR_E_INVALID;
    in->at = MAGIC_LENGTH;
    uint64_t count = weir__cbor_take(in, WEIR__CBOR_ARRAY);
    uint64_t version = weir__cbor_take(in, WEIR__CBOR_UINT);
    if (in->is_bad || version == 0)
        return -WEIR_E_CORRUPT;
    if (version != WEIR__MANIFEST_VERSION)
        return -WEIR_E_UNSUPPORTED;
    uint64_t found = weir__cbor_take(in, WEIR__CBOR_UINT);
    if (in->is_bad)
        return -WEIR_E_CORRUPT;
    if (found != kind)
        return -WEIR_E_UNSUPPORTED;
    /* Asked last: another version or kind may have another number of items. */
    return count == items ? 0 : -WEIR_E_CORRUPT;
}

static int take_entry(struct weir__cbor_in *in, struct weir__manifest_node *node)
{
    struct weir__cbor_item item = weir__cbor_next(in);
    if (item.kind == WEIR__CBOR_UINT)
        return weir__manifest_add(node, item.value, NULL);
    if (item.kind != WEIR__CBOR_ARRAY || item.value != 2)
        return -WEIR_E_CORRUPT;
    struct weir__address address;
    size_t size;
    uint64_t length = weir__cbor_take(in, WEIR__CBOR_UINT);
    const unsigned char *bytes =
        weir__cbor_take_bytes(in, WEIR__ADDRESS_SIZE, WEIR__ADDRESS_SIZE, &size);
    if (!bytes)
        return -WEIR_E_CORRUPT;
    memcpy(address.bytes, bytes, WEIR__ADDRESS_SIZE);
    return weir__manifest_add(node, length, &address);
}

int weir__manifest_decode(const void *bytes, size_t length, struct weir__manifest_node *node)
{
    struct weir__cbor_in in = {.bytes = bytes, .length = length};
    int result = weir__manifest_take_head(&in, WEIR__MANIFEST_FILE, ITEMS);
    if (result != 0)
        return result;
    uint64_t level = weir__cbor_take(&in, WEIR__CBOR_UINT);
    uint64_t sum = weir__cbor_take(&in, WEIR__CBOR_UINT);
    uint64_t count = weir__cbor_take(&in, WEIR__CBOR_ARRAY);
    if (in.is_bad || level >= WEIR__MANIFEST_LEVELS || count > WEIR__MANIFEST_ENTRIES_MAX ||
        (level > 0 && count == 0))
        return -WEIR_E_CORRUPT;
    node->level = (unsigned)level;
    node->count = 0;
    while (node->count < count)
        if (take_entry(&in, node) != 0)
            return -WEIR_E_CORRUPT;
    bool is_right = weir__cbor_is_done(&in) && weir__manifest_length(node) == sum;
    return is_right ? 0 : -WEIR_E_CORRUPT;
}
