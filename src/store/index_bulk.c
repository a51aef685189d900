/* index_bulk.c - gathers the records of all segments, and writes the index in its order.
 *
 *     add: record --by first byte--> block of its part --full--> memory, or the file
 *     end: blocks of a part --> those of some second bytes --sort--> what counts, what is dead
 *                                                                      --> append, in its order
 *
 * A block is of one part. Those of a part are read in the order in which they were filled, so that
 * records of one address keep theirs: of a touch it matters what it came after.
 */
#include "index_bulk.h"

#include <stdlib.h>
#include <string.h>

#include <weir/error.h>

#include "alloc.h"
#include "index_part.h"
#include "sys.h"
#include "temporary.h"

#include "banned.h"

#define PARTS       256u
#define ITEM        (WEIR__ENTRY_SIZE + 4u)      /* and its segment */
#define BLOCK_MAX   ((size_t)(32u << 10) / ITEM) /* items */
#define SUM         8u
#define BLOCKS_SOME 256u
#define SLICE       65536u /* that LMDB holds in memory until they are written */

struct block {
    unsigned char *bytes; /* NULL: in the file */
    uint64_t at;
    unsigned char sum[SUM];
    uint16_t count; /* items */
    uint8_t part;
};

/* A record in its turn. */
struct key {
    uint64_t prefix; /* of its address */
    struct weir__known *item;
};

struct weir__bulk {
    const char *folder;
    int fd; /* of the file; -1: there is none */
    uint64_t file_end;
    size_t block_items; /* of a block */
    size_t memory_left; /* for blocks */
    size_t sorted_max;  /* entries that are sorted at once */
    unsigned char *open[PARTS];
    uint16_t open_count[PARTS];
    struct block *blocks;
    size_t blocks_count, blocks_room;
    struct weir__segment_facts *facts; /* by id */
    size_t facts_count, facts_room;
    uint32_t counts[PARTS][256]; /* items, by the first two bytes */
    /* While the index is written: */
    unsigned char *piece; /* a block out of the file */
    struct weir__known *items;
    struct key *keys;
    size_t count;
};

/* --- life cycle --- */

int weir__bulk_new(struct weir__bulk **ret_bulk, const char *folder, size_t memory)
{
    struct weir__bulk *bulk = weir__base_alloc(1, sizeof(*bulk));
    if (!bulk)
        return -WEIR_E_NO_MEMORY;
    bulk->folder = folder;
    bulk->fd = -1;
    bulk->block_items = memory / 4 / PARTS / ITEM;
    if (bulk->block_items < 1)
        bulk->block_items = 1;
    if (bulk->block_items > BLOCK_MAX)
        bulk->block_items = BLOCK_MAX;
    /* One half for blocks, those that are being filled included. The other for what is sorted:
     * items, keys, and room for as many keys that qsort() takes. */
    size_t open_bytes = PARTS * bulk->block_items * ITEM;
    bulk->memory_left = memory / 2 > open_bytes ? memory / 2 - open_bytes : 0;
    bulk->sorted_max = memory / 2 / (sizeof(*bulk->items) + 2 * sizeof(*bulk->keys));
    *ret_bulk = bulk;
    return 0;
}

void weir__bulk_free(struct weir__bulk *bulk)
{
    if (!bulk)
        return;
    for (size_t i = 0; i < PARTS; i++)
        weir__base_free(bulk->open[i]);
    for (size_t i = 0; i < bulk->blocks_count; i++)
        weir__base_free(bulk->blocks[i].bytes);
    weir__base_free(bulk->blocks);
    weir__base_free(bulk->facts);
    weir__base_free(bulk->piece);
    weir__base_free(bulk->items);
    weir__base_free(bulk->keys);
    weir__sys_close(bulk->fd);
    weir__base_free(bulk);
}

/* Room for one more. */
static int grow(void **list, size_t *room, size_t count, size_t size)
{
    if (count < *room)
        return 0;
    size_t larger = *room ? 2 * *room : BLOCKS_SOME;
    void *fresh = weir__base_realloc(*list, larger, size);
    if (!fresh)
        return -WEIR_E_NO_MEMORY;
    *list = fresh;
    *room = larger;
    return 0;
}

/* --- gathering --- */

static int open_file(struct weir__bulk *bulk)
{
    if (bulk->fd >= 0)
        return 0;
    int fd = weir__temporary_open(bulk->folder);
    if (fd < 0)
        return fd;
    bulk->fd = fd;
    return 0;
}

static void sum_of(const unsigned char *bytes, size_t length, unsigned char sum[SUM])
{
    unsigned char digest[WEIR__HASH_SIZE];
    struct weir__hash hash;
    weir__hash_init(&hash);
    weir__hash_update(&hash, bytes, length);
    weir__hash_final(&hash, digest);
    memcpy(sum, digest, SUM);
}

static int write_block(struct weir__bulk *bulk, struct block *block, const unsigned char *bytes)
{
    size_t length = block->count * ITEM;
    int error = open_file(bulk);
    if (!error)
        error = weir__whole_pwrite(bulk->fd, bytes, length, bulk->file_end);
    if (error)
        return error;
    block->at = bulk->file_end;
    sum_of(bytes, length, block->sum);
    bulk->file_end += length;
    return 0;
}

/* The open block of the part is ended. In memory, as long as there is some, or if it has to be. */
static int end_block(struct weir__bulk *bulk, size_t part, bool in_memory)
{
    size_t size = bulk->block_items * ITEM;
    struct block block = {.count = bulk->open_count[part], .part = (uint8_t)part};
    void *blocks = bulk->blocks;
    int error = grow(&blocks, &bulk->blocks_room, bulk->blocks_count, sizeof(block));
    bulk->blocks = blocks;
    if (error)
        return error;
    if (in_memory || bulk->memory_left >= size) {
        bulk->memory_left -= in_memory ? 0 : size;
        block.bytes = bulk->open[part];
        bulk->open[part] = NULL;
    } else {
        error = write_block(bulk, &block, bulk->open[part]);
    }
    if (error)
        return error;
    bulk->open_count[part] = 0;
    bulk->blocks[bulk->blocks_count++] = block;
    return 0;
}

static int add_one(struct weir__bulk *bulk, const struct weir__entry *record)
{
    size_t part = record->address.bytes[0];
    int error = bulk->open_count[part] == bulk->block_items ? end_block(bulk, part, false) : 0;
    if (!error && !bulk->open[part] &&
        !(bulk->open[part] = weir__base_alloc(bulk->block_items, ITEM)))
        error = -WEIR_E_NO_MEMORY;
    if (error)
        return error;
    unsigned char *item = bulk->open[part] + bulk->open_count[part]++ * ITEM;
    weir__entry_encode(record, item);
    memcpy(item + WEIR__ENTRY_SIZE, &record->place.segment, sizeof(record->place.segment));
    bulk->counts[part][record->address.bytes[1]]++;
    return 0;
}

int weir__bulk_add(struct weir__bulk *bulk, const struct weir__segment_facts *facts,
                   const struct weir__entry *records, size_t count)
{
    if (bulk->facts_count > 0 && facts->id <= bulk->facts[bulk->facts_count - 1].id)
        return -WEIR_E_INVALID;
    void *list = bulk->facts;
    int error = grow(&list, &bulk->facts_room, bulk->facts_count, sizeof(*bulk->facts));
    bulk->facts = list;
    if (error)
        return error;
    struct weir__segment_facts *own = &bulk->facts[bulk->facts_count++];
    *own = (struct weir__segment_facts){.id = facts->id,
                                        .size = facts->size,
                                        .is_sealed = facts->is_sealed,
                                        .records = (uint32_t)count};
    for (size_t i = 0; !error && i < count; i++) {
        own->bytes += weir__record_span(records[i].size);
        if (records[i].sequence > own->sequence_max)
            own->sequence_max = records[i].sequence;
        error = add_one(bulk, &records[i]);
    }
    return error;
}

/* --- one part of it --- */

static int block_bytes(struct weir__bulk *bulk, const struct block *block,
                       const unsigned char **ret_bytes)
{
    unsigned char sum[SUM];
    *ret_bytes = block->bytes ? block->bytes : bulk->piece;
    if (block->bytes)
        return 0;
    int error = weir__whole_pread(bulk->fd, bulk->piece, block->count * ITEM, block->at);
    if (error)
        return error;
    sum_of(bulk->piece, block->count * ITEM, sum);
    return memcmp(sum, block->sum, SUM) == 0 ? 0 : -WEIR_E_IO;
}

static uint64_t prefix_of(const struct weir__address *address)
{
    uint64_t prefix = 0;
    for (size_t i = 0; i < sizeof(prefix); i++)
        prefix = prefix << 8 | address->bytes[i];
    return prefix;
}

/* The records of the part whose second byte is one of these. */
static int take_range(struct weir__bulk *bulk, size_t part, size_t from, size_t to)
{
    int error = 0;
    bulk->count = 0;
    for (size_t i = 0; !error && i < bulk->blocks_count; i++) {
        const struct block *block = &bulk->blocks[i];
        const unsigned char *bytes = NULL;
        if (block->part != part)
            continue;
        error = block_bytes(bulk, block, &bytes);
        for (size_t k = 0; !error && k < block->count; k++) {
            const unsigned char *item = bytes + k * ITEM;
            uint32_t segment;
            if (item[1] < from || item[1] >= to)
                continue;
            struct weir__known *known = &bulk->items[bulk->count];
            memcpy(&segment, item + WEIR__ENTRY_SIZE, sizeof(segment));
            error = weir__entry_decode(&known->entry, item, segment);
            bulk->keys[bulk->count++] = (struct key){prefix_of(&known->entry.address), known};
        }
    }
    return error;
}

/* By address, and those of one address as they came. */
static int by_address(const void *a, const void *b)
{
    const struct key *left = a, *right = b;
    if (left->prefix != right->prefix)
        return left->prefix < right->prefix ? -1 : 1;
    int order = weir__address_compare(&left->item->entry.address, &right->item->entry.address);
    return order ? order : left->item < right->item ? -1 : left->item > right->item;
}

static int by_place(const void *a, const void *b)
{
    const struct key *left = a, *right = b;
    const struct weir__place *one = &left->item->entry.place, *other = &right->item->entry.place;
    if (one->segment != other->segment)
        return one->segment < other->segment ? -1 : 1;
    return one->offset < other->offset ? -1 : one->offset > other->offset;
}

static struct weir__segment_facts *facts_of(struct weir__bulk *bulk, uint32_t id)
{
    size_t low = 0, high = bulk->facts_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (bulk->facts[middle].id < id)
            low = middle + 1;
        else
            high = middle;
    }
    return &bulk->facts[low];
}

/* Dead records from one place of the keys on to another, in the order of their places and each
 * once. Returns where they end. */
static size_t bury(struct weir__bulk *bulk, size_t from, size_t to)
{
    struct key *keys = bulk->keys;
    size_t end = from;
    if (to - from > 1)
        qsort(keys + from, to - from, sizeof(*keys), by_place);
    for (size_t i = from; i < to; i++) {
        const struct weir__entry *entry = &keys[i].item->entry;
        if (end > from && by_place(&keys[end - 1], &keys[i]) == 0)
            continue;
        facts_of(bulk, entry->place.segment)->dead += weir__record_span(entry->size);
        keys[end++] = keys[i];
    }
    return end;
}

/* What counts of all records of an address, after the last of them. NULL: nothing, they are touches
 * of what is not there. */
static struct weir__known *find_live(const struct key *keys, size_t from, size_t to)
{
    struct weir__known known, *live = NULL;
    for (size_t i = from; i < to; i++) {
        const struct weir__entry *record = &keys[i].item->entry;
        switch (weir__index_effect(record, live ? &known : NULL)) {
        case WEIR__INDEX_COUNTS: {
            struct weir__known fresh;
            (void)weir__index_replace(record, live ? &known : NULL, &fresh);
            known = fresh;
            live = keys[i].item;
            break;
        }
        case WEIR__INDEX_RENEWS:
            known.touch = record->place;
            known.touch_sequence = record->sequence;
            known.entry.time_s = record->time_s;
            break;
        case WEIR__INDEX_DEAD:
        case WEIR__INDEX_NOTHING:
            break;
        }
    }
    if (live)
        *live = known;
    return live;
}

/* Of all records of an address, what counts and what is dead, which is all but that and its touch:
 * as many as there are at most, so that they take the place of those. The first are dead; the last,
 * if there is one that counts, has a prefix of 0. A deletion without a dead chunk is spent. */
static size_t resolve(struct weir__bulk *bulk, size_t from, size_t to, size_t out)
{
    struct key *keys = bulk->keys;
    struct weir__known *live = find_live(keys, from, to);
    size_t end = out;
    bool has_chunk = false;
    for (size_t i = from; i < to; i++) {
        const struct weir__entry *record = &keys[i].item->entry;
        if (live && (weir__is_at(record, live->entry.place) || weir__is_at(record, live->touch)))
            continue;
        has_chunk = has_chunk || record->type == WEIR__RECORD_CHUNK;
        keys[end++] = (struct key){1, keys[i].item};
    }
    end = bury(bulk, out, end);
    if (!live)
        return end;
    live->is_spent = weir__is_deletion(&live->entry) && !has_chunk;
    if (live->is_spent)
        facts_of(bulk, live->entry.place.segment)->spent += weir__record_span(live->entry.size);
    keys[end++] = (struct key){0, live};
    return end;
}

static void resolve_all(struct weir__bulk *bulk)
{
    const struct key *keys = bulk->keys;
    size_t out = 0, from = 0;
    while (from < bulk->count) {
        size_t to = from + 1;
        while (to < bulk->count && weir__address_is_equal(&keys[to].item->entry.address,
                                                          &keys[from].item->entry.address))
            to++;
        out = resolve(bulk, from, to, out);
        from = to;
    }
    bulk->count = out;
}

/* --- all of it --- */

static int next_item(void *arg, size_t at, struct weir__known *ret_known)
{
    const struct key *key = (const struct key *)arg + at;
    *ret_known = *key->item;
    return key->prefix == 0;
}

static int write_range(struct weir__bulk *bulk, struct weir__index *index, size_t part, size_t from,
                       size_t to)
{
    int error = take_range(bulk, part, from, to);
    if (error || bulk->count == 0)
        return error;
    qsort(bulk->keys, bulk->count, sizeof(*bulk->keys), by_address);
    resolve_all(bulk);
    for (size_t at = 0; !error && at < bulk->count; at += SLICE) {
        size_t some = bulk->count - at < SLICE ? bulk->count - at : SLICE;
        error = index->kind->append(index, next_item, bulk->keys + at, some, NULL, 0);
    }
    return error;
}

/* As many second bytes at once as there is memory for. */
static int write_part(struct weir__bulk *bulk, struct weir__index *index, size_t part)
{
    int error = 0;
    for (size_t from = 0, to; !error && from < 256; from = to) {
        size_t count = 0;
        for (to = from; to < 256 && count + bulk->counts[part][to] <= bulk->sorted_max; to++)
            count += bulk->counts[part][to];
        if (count > 0)
            error = write_range(bulk, index, part, from, to);
    }
    return error;
}

static int make_room(struct weir__bulk *bulk)
{
    size_t largest = 0;
    for (size_t part = 0; part < PARTS; part++) {
        size_t sum = 0;
        for (size_t second = 0; second < 256; second++) {
            if (bulk->counts[part][second] > bulk->sorted_max)
                return -WEIR_E_OVERFLOW;
            sum += bulk->counts[part][second];
        }
        largest = sum > largest ? sum : largest;
    }
    if (largest > bulk->sorted_max)
        largest = bulk->sorted_max;
    bulk->piece = weir__base_alloc(bulk->block_items, ITEM);
    bulk->items = weir__base_alloc(largest + 1, sizeof(*bulk->items));
    bulk->keys = weir__base_alloc(largest + 1, sizeof(*bulk->keys));
    return bulk->piece && bulk->items && bulk->keys ? 0 : -WEIR_E_NO_MEMORY;
}

int weir__bulk_end(struct weir__bulk *bulk, struct weir__index *index,
                   void (*changed)(void *arg, const struct weir__segment_facts *), void *arg)
{
    if (!index->kind->append)
        return -WEIR_E_UNSUPPORTED;
    int error = make_room(bulk);
    for (size_t part = 0; !error && part < PARTS; part++)
        if (bulk->open_count[part] > 0)
            error = end_block(bulk, part, true);
    for (size_t part = 0; !error && part < PARTS; part++)
        error = write_part(bulk, index, part);
    if (!error)
        error = index->kind->append(index, NULL, NULL, 0, bulk->facts, bulk->facts_count);
    for (size_t i = 0; !error && i < bulk->facts_count; i++)
        changed(arg, &bulk->facts[i]);
    return error;
}
