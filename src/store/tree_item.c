/* tree_item.c - entries of trees as CBOR maps.
 *
 * Reading is lenient about which keys come, and then strict: the entry is checked as one that is to
 * be written, written, and must give the bytes that were read.
 */
#include "tree_item.h"

#include <string.h>

#include <weir/error.h>

#include "cbor_item.h"
#include "chunker.h"
#include "manifest.h"

#include "banned.h"

enum key {
    KEY_NAME,
    KEY_KIND,
    KEY_MODE,
    KEY_UID,
    KEY_GID,
    KEY_MTIME,
    KEY_XATTRS,
    KEY_DEVICE,
    KEY_LINK_GROUP,
    KEY_TARGET,
    KEY_PARTS,
    KEY_MANIFEST,
};

/* Name to time are always there. */
#define KEYS_ALWAYS 6
#define NS_PER_S    1000000000u
#define MODE_MAX    07777u

int weir__tree_compare(const struct weir__tree_bytes *a, const struct weir__tree_bytes *b)
{
    size_t common = a->length < b->length ? a->length : b->length;
    int order = common > 0 ? memcmp(a->bytes, b->bytes, common) : 0;
    return order != 0 ? order : (a->length > b->length) - (a->length < b->length);
}

static bool is_device(const struct weir__tree_entry *entry)
{
    return entry->kind == WEIR__TREE_CHARACTER || entry->kind == WEIR__TREE_BLOCK;
}

static bool has_parts(const struct weir__tree_entry *entry)
{
    return entry->kind == WEIR__TREE_FILE && !entry->has_manifest;
}

/* A name that can be made in a directory, and leads nowhere else. */
static bool is_name(const struct weir__tree_bytes *name)
{
    const unsigned char *bytes = name->bytes;
    if (name->length == 0 || name->length > WEIR__TREE_NAME_MAX ||
        memchr(bytes, '/', name->length) || memchr(bytes, '\0', name->length))
        return false;
    return !(bytes[0] == '.' && (name->length == 1 || (name->length == 2 && bytes[1] == '.')));
}

/* In the order that RFC 8949 has for keys of maps, each but once. */
static bool are_xattrs(const struct weir__tree_entry *entry)
{
    if (entry->xattr_count > WEIR__TREE_XATTRS_MAX)
        return false;
    for (size_t i = 0; i < entry->xattr_count; i++) {
        const struct weir__tree_bytes *name = &entry->xattrs[i].name;
        if (name->length == 0 || name->length > WEIR__TREE_NAME_MAX ||
            memchr(name->bytes, '\0', name->length) ||
            entry->xattrs[i].value.length > WEIR__TREE_VALUE_MAX)
            return false;
        const struct weir__tree_bytes *before = i > 0 ? &entry->xattrs[i - 1].name : NULL;
        if (before && (before->length > name->length ||
                       (before->length == name->length && weir__tree_compare(before, name) >= 0)))
            return false;
    }
    return true;
}

static bool are_parts(const struct weir__tree_entry *entry)
{
    uint64_t sum = 0;
    if (entry->part_count > WEIR__TREE_PARTS_MAX || (entry->part_count > 0 && !has_parts(entry)))
        return false;
    for (size_t i = 0; i < entry->part_count; i++) {
        const struct weir__tree_part *part = &entry->parts[i];
        if (part->length == 0 || part->length > WEIR__FILE_LENGTH_MAX - sum ||
            (!part->is_hole && part->length > WEIR__CHUNK_MAX) ||
            (part->is_hole && i > 0 && entry->parts[i - 1].is_hole))
            return false;
        sum += part->length;
    }
    return true;
}

static bool is_entry(const struct weir__tree_entry *entry)
{
    bool is_link = entry->kind == WEIR__TREE_LINK,
         is_directory = entry->kind == WEIR__TREE_DIRECTORY;
    if (!is_name(&entry->name) || entry->kind > WEIR__TREE_BLOCK || entry->mode > MODE_MAX ||
        entry->mtime_ns >= NS_PER_S || !are_xattrs(entry) || !are_parts(entry))
        return false;
    if (!is_device(entry) && (entry->major != 0 || entry->minor != 0))
        return false;
    if (is_link ? entry->target.length == 0 || entry->target.length > WEIR__TREE_TARGET_MAX ||
                      memchr(entry->target.bytes, '\0', entry->target.length) != NULL
                : entry->target.length != 0)
        return false;
    if (is_directory ? entry->link_group != 0 || !entry->has_manifest
                     : entry->has_manifest && entry->kind != WEIR__TREE_FILE)
        return false;
    return true;
}

static void put_uint(struct weir__cbor_out *out, enum key key, uint64_t value)
{
    weir__cbor_put(out, WEIR__CBOR_UINT, key);
    weir__cbor_put(out, WEIR__CBOR_UINT, value);
}

static void put_bytes(struct weir__cbor_out *out, enum key key, const void *bytes, size_t length)
{
    weir__cbor_put(out, WEIR__CBOR_UINT, key);
    weir__cbor_put_bytes(out, bytes, length);
}

static void put_list(struct weir__cbor_out *out, enum key key, enum weir__cbor_kind kind,
                     size_t count)
{
    weir__cbor_put(out, WEIR__CBOR_UINT, key);
    weir__cbor_put(out, kind, count);
}

static void put_mtime(struct weir__cbor_out *out, const struct weir__tree_entry *entry)
{
    int64_t s = entry->mtime_s;
    put_list(out, KEY_MTIME, WEIR__CBOR_ARRAY, 2);
    weir__cbor_put(out, s < 0 ? WEIR__CBOR_NEGATIVE : WEIR__CBOR_UINT, (uint64_t)(s < 0 ? ~s : s));
    weir__cbor_put(out, WEIR__CBOR_UINT, entry->mtime_ns);
}

static void put_xattrs(struct weir__cbor_out *out, const struct weir__tree_entry *entry)
{
    put_list(out, KEY_XATTRS, WEIR__CBOR_MAP, entry->xattr_count);
    for (size_t i = 0; i < entry->xattr_count; i++) {
        const struct weir__tree_xattr *xattr = &entry->xattrs[i];
        weir__cbor_put_bytes(out, xattr->name.bytes, xattr->name.length);
        weir__cbor_put_bytes(out, xattr->value.bytes, xattr->value.length);
    }
}

static void put_parts(struct weir__cbor_out *out, const struct weir__tree_entry *entry)
{
    put_list(out, KEY_PARTS, WEIR__CBOR_ARRAY, entry->part_count);
    for (size_t i = 0; i < entry->part_count; i++) {
        const struct weir__tree_part *part = &entry->parts[i];
        if (!part->is_hole)
            weir__cbor_put(out, WEIR__CBOR_ARRAY, 2);
        weir__cbor_put(out, WEIR__CBOR_UINT, part->length);
        if (!part->is_hole)
            weir__cbor_put_bytes(out, part->address.bytes, WEIR__ADDRESS_SIZE);
    }
}

int weir__tree_encode(const struct weir__tree_entry *entry,
                      unsigned char bytes[WEIR__TREE_ENTRY_MAX], size_t *ret_length)
{
    struct weir__cbor_out out = {.bytes = bytes, .size = WEIR__TREE_ENTRY_MAX};
    if (!is_entry(entry))
        return -WEIR_E_INVALID;
    bool is_link = entry->kind == WEIR__TREE_LINK;
    size_t keys = KEYS_ALWAYS + (size_t)(entry->xattr_count > 0) + is_device(entry) +
                  (size_t)(entry->link_group > 0) + is_link + has_parts(entry) +
                  entry->has_manifest;
    weir__cbor_put(&out, WEIR__CBOR_MAP, keys);
    put_bytes(&out, KEY_NAME, entry->name.bytes, entry->name.length);
    put_uint(&out, KEY_KIND, entry->kind);
    put_uint(&out, KEY_MODE, entry->mode);
    put_uint(&out, KEY_UID, entry->uid);
    put_uint(&out, KEY_GID, entry->gid);
    put_mtime(&out, entry);
    if (entry->xattr_count > 0)
        put_xattrs(&out, entry);
    if (is_device(entry)) {
        put_list(&out, KEY_DEVICE, WEIR__CBOR_ARRAY, 2);
        weir__cbor_put(&out, WEIR__CBOR_UINT, entry->major);
        weir__cbor_put(&out, WEIR__CBOR_UINT, entry->minor);
    }
    if (entry->link_group > 0)
        put_uint(&out, KEY_LINK_GROUP, entry->link_group);
    if (is_link)
        put_bytes(&out, KEY_TARGET, entry->target.bytes, entry->target.length);
    if (has_parts(entry))
        put_parts(&out, entry);
    if (entry->has_manifest)
        put_bytes(&out, KEY_MANIFEST, entry->manifest.bytes, WEIR__ADDRESS_SIZE);
    if (out.is_full)
        return -WEIR_E_TOO_LARGE;
    *ret_length = out.at;
    return 0;
}

/* A number of at most 32 bits. */
static uint32_t take_uint32(struct weir__cbor_in *in)
{
    uint64_t value = weir__cbor_take(in, WEIR__CBOR_UINT);
    if (value > UINT32_MAX)
        in->is_bad = true;
    return (uint32_t)value;
}

static void take_bytes(struct weir__cbor_in *in, size_t max, struct weir__tree_bytes *ret_bytes)
{
    ret_bytes->length = 0;
    ret_bytes->bytes = weir__cbor_take_bytes(in, 0, max, &ret_bytes->length);
}

static void take_address(struct weir__cbor_in *in, struct weir__address *address)
{
    size_t length;
    const unsigned char *bytes =
        weir__cbor_take_bytes(in, WEIR__ADDRESS_SIZE, WEIR__ADDRESS_SIZE, &length);
    if (bytes)
        memcpy(address->bytes, bytes, WEIR__ADDRESS_SIZE);
}

/* The head of a list of at most so many. */
static size_t take_count(struct weir__cbor_in *in, enum weir__cbor_kind kind, size_t min,
                         size_t max)
{
    uint64_t count = weir__cbor_take(in, kind);
    if (count < min || count > max)
        in->is_bad = true;
    return in->is_bad ? 0 : (size_t)count;
}

static void take_mtime(struct weir__cbor_in *in, struct weir__tree_entry *entry)
{
    take_count(in, WEIR__CBOR_ARRAY, 2, 2);
    struct weir__cbor_item item = weir__cbor_next(in);
    if ((item.kind != WEIR__CBOR_UINT && item.kind != WEIR__CBOR_NEGATIVE) ||
        item.value > INT64_MAX)
        in->is_bad = true;
    else
        entry->mtime_s = item.kind == WEIR__CBOR_UINT ? (int64_t)item.value : ~(int64_t)item.value;
    entry->mtime_ns = take_uint32(in);
}

static void take_xattrs(struct weir__cbor_in *in, struct weir__tree_entry *entry)
{
    entry->xattr_count = take_count(in, WEIR__CBOR_MAP, 1, WEIR__TREE_XATTRS_MAX);
    for (size_t i = 0; i < entry->xattr_count; i++) {
        take_bytes(in, WEIR__TREE_NAME_MAX, &entry->xattrs[i].name);
        take_bytes(in, WEIR__TREE_VALUE_MAX, &entry->xattrs[i].value);
    }
}

static void take_parts(struct weir__cbor_in *in, struct weir__tree_entry *entry)
{
    entry->part_count = take_count(in, WEIR__CBOR_ARRAY, 0, WEIR__TREE_PARTS_MAX);
    for (size_t i = 0; i < entry->part_count; i++) {
        struct weir__tree_part *part = &entry->parts[i];
        struct weir__cbor_item item = weir__cbor_next(in);
        part->is_hole = item.kind == WEIR__CBOR_UINT;
        part->length = item.value;
        if (part->is_hole)
            continue;
        if (item.kind != WEIR__CBOR_ARRAY || item.value != 2)
            in->is_bad = true;
        part->length = weir__cbor_take(in, WEIR__CBOR_UINT);
        take_address(in, &part->address);
    }
}

static void take_value(struct weir__cbor_in *in, uint64_t key, struct weir__tree_entry *entry)
{
    switch (key) {
    case KEY_XATTRS:
        take_xattrs(in, entry);
        break;
    case KEY_DEVICE:
        take_count(in, WEIR__CBOR_ARRAY, 2, 2);
        entry->major = take_uint32(in);
        entry->minor = take_uint32(in);
        break;
    case KEY_LINK_GROUP:
        entry->link_group = weir__cbor_take(in, WEIR__CBOR_UINT);
        break;
    case KEY_TARGET:
        take_bytes(in, WEIR__TREE_TARGET_MAX, &entry->target);
        break;
    case KEY_PARTS:
        take_parts(in, entry);
        break;
    case KEY_MANIFEST:
        entry->has_manifest = true;
        take_address(in, &entry->manifest);
        break;
    default:
        in->is_bad = true;
    }
}

/* The key that must come. */
static void take_key(struct weir__cbor_in *in, enum key key)
{
    if (weir__cbor_take(in, WEIR__CBOR_UINT) != key)
        in->is_bad = true;
}

int weir__tree_decode(struct weir__cbor_in *in, unsigned char scratch[WEIR__TREE_ENTRY_MAX],
                      struct weir__tree_entry *ret_entry)
{
    struct weir__tree_entry *entry = ret_entry;
    size_t begin = in->at, length = 0;
    memset(entry, 0, sizeof(*entry));
    size_t keys = take_count(in, WEIR__CBOR_MAP, KEYS_ALWAYS, KEY_MANIFEST + 1);
    take_key(in, KEY_NAME);
    take_bytes(in, WEIR__TREE_NAME_MAX, &entry->name);
    take_key(in, KEY_KIND);
    uint32_t kind = take_uint32(in);
    take_key(in, KEY_MODE);
    entry->mode = take_uint32(in);
    take_key(in, KEY_UID);
    entry->uid = take_uint32(in);
    take_key(in, KEY_GID);
    entry->gid = take_uint32(in);
    take_key(in, KEY_MTIME);
    take_mtime(in, entry);
    for (size_t i = KEYS_ALWAYS; i < keys && !in->is_bad; i++)
        take_value(in, weir__cbor_take(in, WEIR__CBOR_UINT), entry);
    if (in->is_bad || kind > WEIR__TREE_BLOCK)
        return -WEIR_E_CORRUPT;
    entry->kind = (enum weir__tree_kind)kind;
    bool is_same = weir__tree_encode(entry, scratch, &length) == 0 && length == in->at - begin &&
                   memcmp(scratch, in->bytes + begin, length) == 0;
    return is_same ? 0 : -WEIR_E_CORRUPT;
}
