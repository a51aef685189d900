/* pack.c - a pack's files and the heads of its entries. Every look at them is guarded. */
#include "pack.h"

#include <fcntl.h>
#include <stdio.h>

#include <libdeflate.h>

#include "idx_read.h"

#include "banned.h"

#define PACK_MAGIC  0x5041434bu /* "PACK" */
#define PACK_HEAD   12u
#define KIND_OFFSET 6u
#define KIND_REF    7u
#define SIZE_BITS   57u

/* --- opening --- */

struct check {
    struct weir__git_pack *pack;
    const uint8_t *idx;
    size_t idx_length;
    const uint8_t *rev;
    size_t rev_length;
    size_t id_size;
    const char *why;
};

static int check_idx(void *arg)
{
    struct check *check = arg;
    int result =
        weir__git_idx_init(&check->pack->idx, check->idx, check->idx_length, check->id_size);
    if (result < 0)
        check->why = result == -WEIR_E_UNSUPPORTED ? "its index has an unknown version"
                                                   : "its index is damaged";
    return result;
}

static int check_rev(void *arg)
{
    struct check *check = arg;
    check->pack->rev = weir__git_rev_table(check->rev, check->rev_length, &check->pack->idx);
    return 0;
}

static int check_rev_and_idx(void *arg)
{
    struct check *check = arg;
    return weir__mapped_read(&check->pack->_idx_map, check_rev, check);
}

/* The number of objects in its head or the sum at its end must be those of the index: else it is
 * another pack. */
static int check_pack(void *arg)
{
    struct check *check = arg;
    struct weir__git_pack *pack = check->pack;
    if (pack->length < PACK_HEAD + check->id_size) {
        check->why = "it is too short";
        return -WEIR_E_CORRUPT;
    }
    bool has_sum = memcmp(pack->bytes + pack->length - check->id_size,
                          weir__git_idx_pack_sum(&pack->idx), check->id_size) == 0;
    bool has_magic = weir__git_get32(pack->bytes) == PACK_MAGIC;
    uint32_t version = weir__git_get32(pack->bytes + 4);
    if (has_magic && version != 2 && version != 3 && !has_sum) {
        check->why = "it has an unknown version";
        return -WEIR_E_UNSUPPORTED;
    }
    bool has_count = weir__git_get32(pack->bytes + 8) == pack->idx.count;
    if (!has_sum && (!has_count || !has_magic)) {
        check->why = "it is not the pack that its index is of";
        return -WEIR_E_CORRUPT;
    }
    if (!has_sum)
        pack->has_doubt = "its end is not what its index says: it may be cut off";
    else if (!has_count || !has_magic || (version != 2 && version != 3))
        pack->has_doubt = "its head is damaged";
    if (has_sum)
        pack->length -= check->id_size;
    return 0;
}

/* It is compared with the index, which is looked at as well. */
static int check_pack_and_idx(void *arg)
{
    struct check *check = arg;
    return weir__mapped_read(&check->pack->_pack_map, check_pack, check);
}

/* Idx first: the rest is compared with it. */
static int check_all(struct check *check)
{
    struct weir__git_pack *pack = check->pack;
    check->why = "it cannot be read";
    int result = weir__mapped_read(&pack->_idx_map, check_idx, check);
    if (result == 0 && check->rev &&
        weir__mapped_read(&pack->_rev_map, check_rev_and_idx, check) < 0)
        pack->rev = NULL;
    return result < 0 ? result : weir__mapped_read(&pack->_idx_map, check_pack_and_idx, check);
}

static int map_one(struct weir__mapped *map, int folder, const char *stem, const char *suffix,
                   char name[WEIR__GIT_PACK_NAME_SIZE])
{
    int length = snprintf(name, WEIR__GIT_PACK_NAME_SIZE, "%s%s", stem, suffix);
    if (length < 0 || (size_t)length >= WEIR__GIT_PACK_NAME_SIZE)
        return -WEIR_E_INVALID;
    return weir__mapped_open(map, folder, name, SIZE_MAX);
}

int weir__git_pack_open(struct weir__git_pack *ret_pack, int folder, const char *stem,
                        size_t id_size, const char **ret_why)
{
    struct weir__git_pack pack = {.length = 0};
    const char *why = "its index cannot be opened";
    int result = map_one(&pack._idx_map, folder, stem, ".idx", pack.name);
    if (result == 0) {
        if (map_one(&pack._rev_map, folder, stem, ".rev", pack.name) < 0)
            pack._rev_map = (struct weir__mapped){0};
        why = "it cannot be opened";
        result = map_one(&pack._pack_map, folder, stem, ".pack", pack.name);
    }
    if (result == 0) {
        struct check check = {&pack,
                              pack._idx_map.bytes,
                              pack._idx_map.length,
                              pack._rev_map.bytes,
                              pack._rev_map.length,
                              id_size,
                              NULL};
        pack.bytes = pack._pack_map.bytes;
        pack.length = pack._pack_map.length;
        result = check_all(&check);
        why = check.why;
    }
    if (result < 0) {
        weir__git_pack_close(&pack);
        *ret_why = why;
        return result;
    }
    *ret_pack = pack;
    return 0;
}

int weir__git_pack_open_ids(struct weir__git_pack *ret_pack, int folder, const char *stem,
                            size_t id_size, const char **ret_why)
{
    struct weir__git_pack pack = {.length = 0};
    struct check check = {.pack = &pack, .id_size = id_size, .why = "its index cannot be opened"};
    int result = map_one(&pack._idx_map, folder, stem, ".idx", pack.name);
    if (result == 0) {
        check.idx = pack._idx_map.bytes;
        check.idx_length = pack._idx_map.length;
        check.why = "it cannot be read";
        result = weir__mapped_read(&pack._idx_map, check_idx, &check);
    }
    if (result < 0) {
        weir__git_pack_close(&pack);
        *ret_why = check.why;
        return result;
    }
    *ret_pack = pack;
    return 0;
}

int weir__git_pack_of_bytes(struct weir__git_pack *ret_pack, const void *bytes, size_t length,
                            const void *idx, size_t idx_length, size_t id_size,
                            const char **ret_why)
{
    struct weir__git_pack pack = {.bytes = bytes, .length = length, .name = "pack"};
    struct check check = {&pack, idx, idx_length, NULL, 0, id_size, NULL};
    int result = check_all(&check);
    if (result < 0)
        *ret_why = check.why;
    else
        *ret_pack = pack;
    return result;
}

void weir__git_pack_close(struct weir__git_pack *pack)
{
    if (!pack)
        return;
    weir__mapped_close(&pack->_pack_map);
    weir__mapped_close(&pack->_idx_map);
    weir__mapped_close(&pack->_rev_map);
    *pack = (struct weir__git_pack){.length = 0};
}

/* --- entries --- */

/* What an offset delta is behind its base: 7 bits a byte, highest first, and one is added for each
 * byte that follows, so that no number can be written in two ways. NULL when it is not one. */
static const uint8_t *read_distance(const uint8_t *p, const uint8_t *end, uint64_t *ret_distance)
{
    uint64_t distance = 0;
    for (unsigned i = 0; p < end && i < 9; i++) {
        uint8_t byte = *p++;
        distance = (i > 0 ? (distance + 1) << 7 : 0) | (byte & 0x7f);
        if (!(byte & 0x80)) {
            *ret_distance = distance;
            return p;
        }
    }
    return NULL;
}

static const uint8_t *read_size(const uint8_t *p, const uint8_t *end, unsigned *ret_kind,
                                uint64_t *ret_size)
{
    if (p == end)
        return NULL;
    uint8_t byte = *p++;
    uint64_t size = byte & 0x0f;
    *ret_kind = byte >> 4 & 7;
    for (unsigned shift = 4; byte & 0x80; shift += 7) {
        if (p == end || shift > SIZE_BITS - 7)
            return NULL;
        byte = *p++;
        size |= (uint64_t)(byte & 0x7f) << shift;
    }
    *ret_size = size;
    return p;
}

int weir__git_pack_entry_inside(const struct weir__git_pack *pack, uint64_t at, uint64_t end,
                                struct weir__git_entry *ret_entry)
{
    struct weir__git_entry entry = {.at = at, .idx_at = WEIR__GIT_NONE};
    if (end > pack->length)
        end = pack->length;
    if (at < PACK_HEAD || at >= end)
        return -WEIR_E_CORRUPT;
    const uint8_t *last = pack->bytes + end;
    unsigned kind = 0;
    const uint8_t *p = read_size(pack->bytes + at, last, &kind, &entry.size);
    if (!p)
        return -WEIR_E_CORRUPT;
    if (kind == KIND_OFFSET) {
        uint64_t distance = 0;
        p = read_distance(p, last, &distance);
        if (!p || distance == 0 || distance > at - PACK_HEAD)
            return -WEIR_E_CORRUPT;
        entry.kind = WEIR__GIT_KIND_OFFSET;
        entry.base_offset = at - distance;
    } else if (kind == KIND_REF) {
        if ((size_t)(last - p) < pack->idx.id_size)
            return -WEIR_E_CORRUPT;
        entry.kind = WEIR__GIT_KIND_REFERENCE;
        entry.base_id = weir__git_id_of(p, pack->idx.id_size);
        p += pack->idx.id_size;
    } else if (kind >= WEIR__GIT_COMMIT && kind <= WEIR__GIT_TAG) {
        entry.type = (enum weir__git_type)kind;
    } else {
        return -WEIR_E_CORRUPT;
    }
    entry.data_at = (uint64_t)(p - pack->bytes);
    entry.end = end;
    *ret_entry = entry;
    return 0;
}

struct head_look {
    const struct weir__git_pack *pack;
    uint64_t at, end;
    struct weir__git_entry entry;
};

static int look_at_head(void *arg)
{
    struct head_look *look = arg;
    return weir__git_pack_entry_inside(look->pack, look->at, look->end, &look->entry);
}

int weir__git_pack_entry(const struct weir__git_pack *pack, uint64_t at, uint64_t end,
                         uint32_t idx_at, struct weir__git_entry *ret_entry, const char **ret_why)
{
    struct head_look look = {.pack = pack, .at = at, .end = end};
    int result = weir__mapped_read(&pack->_pack_map, look_at_head, &look);
    if (result < 0) {
        *ret_why = result == -WEIR_E_IO ? "the file became shorter while it was read"
                   : at >= pack->length ? "it lies behind the end of the pack"
                                        : "its head is damaged";
        return result;
    }
    look.entry.idx_at = idx_at;
    *ret_entry = look.entry;
    return 0;
}

void weir__git_pack_fetch(const struct weir__git_pack *pack, uint64_t at, uint32_t idx_at)
{
    if (at >= pack->length || idx_at >= pack->idx.count)
        return;
    __builtin_prefetch(pack->bytes + at);
    weir__git_idx_fetch(&pack->idx, idx_at);
}

struct inflate_look {
    const struct weir__git_pack *pack;
    const struct weir__git_inflater *inflater;
    const struct weir__git_entry *entry;
    void *out;
    const char *why;
};

/* The head has no checksum of its own. */
static int look_at_crc(void *arg)
{
    struct inflate_look *look = arg;
    const struct weir__git_entry *entry = look->entry;
    uint32_t crc;
    if (entry->idx_at == WEIR__GIT_NONE ||
        !weir__git_idx_crc(&look->pack->idx, entry->idx_at, &crc) ||
        libdeflate_crc32(0, look->pack->bytes + entry->at, (size_t)(entry->end - entry->at)) == crc)
        return 0;
    look->why = "its bytes are not those that the index has the checksum of";
    return -WEIR_E_CORRUPT;
}

static int look_at_data(void *arg)
{
    struct inflate_look *look = arg;
    const struct weir__git_entry *entry = look->entry;
    const uint8_t *bytes = look->pack->bytes;
    look->why = "it cannot be unpacked, or not to the size that it claims";
    int result =
        weir__git_inflate(look->inflater, bytes + entry->data_at,
                          (size_t)(entry->end - entry->data_at), look->out, (size_t)entry->size);
    return result < 0 ? result : look_at_crc(look);
}

/* Both files are looked at. */
static int look_at_both(void *arg)
{
    struct inflate_look *look = arg;
    return weir__mapped_read(&look->pack->_pack_map, look->out ? look_at_data : look_at_crc, look);
}

static int inflate_and_check(struct inflate_look *look, const char **ret_why)
{
    int result = weir__mapped_read(&look->pack->_idx_map, look_at_both, look);
    if (result < 0)
        *ret_why = result == -WEIR_E_IO ? "the file became shorter while it was read" : look->why;
    return result;
}

int weir__git_pack_inflate(const struct weir__git_pack *pack,
                           const struct weir__git_inflater *inflater,
                           const struct weir__git_entry *entry, void *out, const char **ret_why)
{
    if (entry->size > weir__git_inflate_max(entry->end - entry->data_at)) {
        *ret_why = "it claims a size that so few bytes cannot unpack to";
        return -WEIR_E_CORRUPT;
    }
    struct inflate_look look = {pack, inflater, entry, out, NULL};
    return inflate_and_check(&look, ret_why);
}

int weir__git_pack_check(const struct weir__git_pack *pack, const struct weir__git_entry *entry,
                         const char **ret_why)
{
    struct inflate_look look = {.pack = pack, .entry = entry};
    return inflate_and_check(&look, ret_why);
}

/* --- the index --- */

struct find_look {
    const struct weir__git_pack *pack;
    const struct weir__git_id *id;
    struct weir__git_id found;
    uint32_t idx_at;
    uint64_t offset;
};

static int look_for(void *arg)
{
    struct find_look *look = arg;
    int result = weir__git_idx_find(&look->pack->idx, look->id, &look->idx_at);
    return result < 0 ? result
                      : weir__git_idx_offset(&look->pack->idx, look->idx_at, &look->offset);
}

int weir__git_pack_find(const struct weir__git_pack *pack, const struct weir__git_id *id,
                        uint32_t *ret_idx_at, uint64_t *ret_offset)
{
    struct find_look look = {.pack = pack, .id = id};
    int result = weir__mapped_read(&pack->_idx_map, look_for, &look);
    if (result == 0) {
        *ret_idx_at = look.idx_at;
        *ret_offset = look.offset;
    }
    return result;
}

struct lacks_look {
    const struct weir__git_pack *pack;
    const struct weir__git_id *ids;
    size_t count;
    bool *ret_lacks;
};

static int look_for_each(void *arg)
{
    struct lacks_look *look = arg;
    uint32_t at;
    for (size_t i = 0; i < look->count; i++)
        look->ret_lacks[i] = weir__git_idx_find(&look->pack->idx, &look->ids[i], &at) < 0;
    return 0;
}

void weir__git_pack_lacks(const struct weir__git_pack *pack, const struct weir__git_id *ids,
                          size_t count, bool *ret_lacks)
{
    struct lacks_look look = {pack, ids, count, ret_lacks};
    for (size_t i = 0; i < count; i++)
        ret_lacks[i] = true; /* also when the index cannot be read any more */
    (void)!weir__mapped_read(&pack->_idx_map, look_for_each, &look);
}

static int look_at_id(void *arg)
{
    struct find_look *look = arg;
    const struct weir__git_idx *idx = &look->pack->idx;
    look->found = weir__git_id_of(weir__git_idx_id(idx, look->idx_at), idx->id_size);
    return 0;
}

int weir__git_pack_id(const struct weir__git_pack *pack, uint32_t idx_at,
                      struct weir__git_id *ret_id)
{
    struct find_look look = {.pack = pack, .idx_at = idx_at};
    int result = weir__mapped_read(&pack->_idx_map, look_at_id, &look);
    if (result == 0)
        *ret_id = look.found;
    return result;
}

struct copy_look {
    const uint8_t *from;
    void *out;
    size_t count;
};

static int look_and_copy(void *arg)
{
    struct copy_look *look = arg;
    memcpy(look->out, look->from, look->count);
    return 0;
}

int weir__git_pack_copy(const struct weir__git_pack *pack, uint64_t at, void *out, size_t count,
                        size_t *ret_count)
{
    if (at >= pack->length)
        count = 0;
    else if (count > pack->length - at)
        count = (size_t)(pack->length - at);
    struct copy_look look = {pack->bytes + at, out, count};
    int result = count > 0 ? weir__mapped_read(&pack->_pack_map, look_and_copy, &look) : 0;
    if (result == 0)
        *ret_count = count;
    return result;
}
