/* record.c - records to bytes and back. */
#include "record.h"

#include <string.h>

#include <weir/error.h>

#include "banned.h"

#define VERSION  1
#define BACK_MAX UINT16_MAX

/* The first byte is in no text of UTF-8. */
static const unsigned char magic[4] = {0xF5, 'w', 'R', '1'};
static const unsigned char identity_magic[8] = "weirseg1";

enum { AT_VERSION = 4, AT_TYPE = 5, AT_BACK = 6, AT_SEQUENCE = 8, AT_SIZE = 16, AT_TIME = 20 };
enum { AT_ADDRESS = 24, AT_CHECK = 56, CHECK_SIZE = 8 };

/* --- numbers --- */

static void put32(unsigned char *at, uint32_t value)
{
    for (int i = 0; i < 4; i++)
        at[i] = (unsigned char)(value >> (8 * i));
}

static void put64(unsigned char *at, uint64_t value)
{
    put32(at, (uint32_t)value);
    put32(at + 4, (uint32_t)(value >> 32));
}

static uint32_t get32(const unsigned char *at)
{
    return (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

static uint64_t get64(const unsigned char *at)
{
    return get32(at) | (uint64_t)get32(at + 4) << 32;
}

/* --- heads --- */

static void check_of(const unsigned char head[WEIR__RECORD_HEAD],
                     const struct weir__record_key *key, struct weir__place place,
                     unsigned char check[CHECK_SIZE])
{
    unsigned char input[AT_CHECK + 8], digest[WEIR__HASH_SIZE];
    struct weir__hash hash;
    memcpy(input, head, AT_CHECK);
    put32(input + AT_CHECK, place.segment);
    put32(input + AT_CHECK + 4, place.offset);
    weir__hash_init_keyed(&hash, key->bytes);
    weir__hash_update(&hash, input, sizeof(input));
    weir__hash_final(&hash, digest);
    memcpy(check, digest, CHECK_SIZE);
}

/* How far before the place that is, in steps of records, and one; 0: it is not told. */
static uint32_t back_of(uint32_t synced, struct weir__place place)
{
    uint32_t steps = (place.offset - synced) / WEIR__RECORD_ALIGN;
    return synced == 0 || synced > place.offset || steps >= BACK_MAX ? 0 : steps + 1;
}

/* False: no place is so far before this one. */
static bool synced_of(uint32_t back, struct weir__place place, uint32_t *ret_synced)
{
    uint32_t distance = back > 0 ? (back - 1) * WEIR__RECORD_ALIGN : 0;
    *ret_synced = back > 0 ? place.offset - distance : 0;
    return distance <= place.offset;
}

void weir__record_encode(const struct weir__record *record, const struct weir__record_key *key,
                         struct weir__place place, unsigned char head[WEIR__RECORD_HEAD])
{
    memcpy(head, magic, sizeof(magic));
    head[AT_VERSION] = VERSION;
    head[AT_TYPE] = (unsigned char)record->type;
    uint32_t back = back_of(record->synced, place);
    head[AT_BACK] = (unsigned char)back;
    head[AT_BACK + 1] = (unsigned char)(back >> 8);
    put64(head + AT_SEQUENCE, record->sequence);
    put32(head + AT_SIZE, record->size);
    put32(head + AT_TIME, record->time_s);
    memcpy(head + AT_ADDRESS, record->address.bytes, sizeof(record->address.bytes));
    check_of(head, key, place, head + AT_CHECK);
}

bool weir__record_is_begun(const unsigned char head[WEIR__RECORD_HEAD])
{
    return memcmp(head, magic, sizeof(magic)) == 0;
}

/* What has no bytes beyond its head. */
static bool is_head_alone(enum weir__record_type type)
{
    return type == WEIR__RECORD_DELETED || type == WEIR__RECORD_TOUCHED ||
           type == WEIR__RECORD_BAD || type == WEIR__RECORD_END;
}

static bool is_size_right(enum weir__record_type type, uint32_t size)
{
    if (size < WEIR__RECORD_HEAD || (is_head_alone(type) && size != WEIR__RECORD_HEAD))
        return false;
    uint32_t length = size - WEIR__RECORD_HEAD;
    if (type == WEIR__RECORD_BEGIN)
        return length == WEIR__IDENTITY_SIZE;
    if (type == WEIR__RECORD_FOOTER)
        return length % WEIR__ENTRY_SIZE == 0 && length / WEIR__ENTRY_SIZE <= WEIR__SEGMENT_COUNT;
    return length <= WEIR__CHUNK_MAX;
}

int weir__record_decode(struct weir__record *ret_record,
                        const unsigned char head[WEIR__RECORD_HEAD],
                        const struct weir__record_key *key, struct weir__place place)
{
    unsigned char check[CHECK_SIZE];
    struct weir__record record = {
        .type = (enum weir__record_type)head[AT_TYPE],
        .sequence = get64(head + AT_SEQUENCE),
        .size = get32(head + AT_SIZE),
        .time_s = get32(head + AT_TIME),
    };
    uint32_t back = head[AT_BACK] | (uint32_t)head[AT_BACK + 1] << 8;
    if (!weir__record_is_begun(head) || head[AT_VERSION] != VERSION ||
        head[AT_TYPE] < WEIR__RECORD_CHUNK || head[AT_TYPE] > WEIR__RECORD_END ||
        record.sequence == 0 || !is_size_right(record.type, record.size) ||
        !synced_of(back, place, &record.synced))
        return -WEIR_E_CORRUPT;
    check_of(head, key, place, check);
    if (memcmp(check, head + AT_CHECK, CHECK_SIZE) != 0)
        return -WEIR_E_CORRUPT;
    memcpy(record.address.bytes, head + AT_ADDRESS, sizeof(record.address.bytes));
    *ret_record = record;
    return 0;
}

/* --- entries --- */

enum { ENTRY_SEQUENCE = 32, ENTRY_OFFSET = 40, ENTRY_SIZE = 44, ENTRY_TIME = 48, ENTRY_TYPE = 52 };

bool weir__entry_is_newer(const struct weir__entry *a, const struct weir__entry *b)
{
    if (a->sequence != b->sequence)
        return a->sequence > b->sequence;
    if (a->place.segment != b->place.segment)
        return a->place.segment > b->place.segment;
    return a->place.offset > b->place.offset;
}

void weir__entry_encode(const struct weir__entry *entry, unsigned char bytes[WEIR__ENTRY_SIZE])
{
    memset(bytes, 0, WEIR__ENTRY_SIZE);
    memcpy(bytes, entry->address.bytes, sizeof(entry->address.bytes));
    put64(bytes + ENTRY_SEQUENCE, entry->sequence);
    put32(bytes + ENTRY_OFFSET, entry->place.offset);
    put32(bytes + ENTRY_SIZE, entry->size);
    put32(bytes + ENTRY_TIME, entry->time_s);
    bytes[ENTRY_TYPE] = (unsigned char)entry->type;
}

int weir__entry_decode(struct weir__entry *ret_entry, const unsigned char bytes[WEIR__ENTRY_SIZE],
                       uint32_t segment)
{
    struct weir__entry entry = {
        .sequence = get64(bytes + ENTRY_SEQUENCE),
        .place = {segment, get32(bytes + ENTRY_OFFSET)},
        .size = get32(bytes + ENTRY_SIZE),
        .time_s = get32(bytes + ENTRY_TIME),
        .type = (enum weir__record_type)bytes[ENTRY_TYPE],
    };
    if (entry.sequence == 0 || entry.place.offset == 0 ||
        entry.place.offset % WEIR__RECORD_ALIGN != 0 || bytes[ENTRY_TYPE] < WEIR__RECORD_CHUNK ||
        bytes[ENTRY_TYPE] > WEIR__RECORD_BAD || !is_size_right(entry.type, entry.size))
        return -WEIR_E_CORRUPT;
    memcpy(entry.address.bytes, bytes, sizeof(entry.address.bytes));
    *ret_entry = entry;
    return 0;
}

/* --- identity --- */

enum { IDENTITY_ID = 8, IDENTITY_KEY = 24, IDENTITY_CHECK = 56 };

/* Not a secret's check but a sum: it tells damage, no more. */
static void identity_sum(const unsigned char bytes[WEIR__IDENTITY_SIZE],
                         unsigned char sum[WEIR__HASH_SIZE])
{
    struct weir__hash hash;
    weir__hash_init(&hash);
    weir__hash_update(&hash, bytes, IDENTITY_CHECK);
    weir__hash_final(&hash, sum);
}

void weir__identity_encode(const struct weir__identity *identity,
                           unsigned char bytes[WEIR__IDENTITY_SIZE])
{
    unsigned char sum[WEIR__HASH_SIZE];
    memcpy(bytes, identity_magic, sizeof(identity_magic));
    memcpy(bytes + IDENTITY_ID, identity->id, sizeof(identity->id));
    memcpy(bytes + IDENTITY_KEY, identity->key.bytes, sizeof(identity->key.bytes));
    identity_sum(bytes, sum);
    memcpy(bytes + IDENTITY_CHECK, sum, WEIR__IDENTITY_SIZE - IDENTITY_CHECK);
}

int weir__identity_decode(struct weir__identity *ret_identity,
                          const unsigned char bytes[WEIR__IDENTITY_SIZE])
{
    unsigned char sum[WEIR__HASH_SIZE];
    identity_sum(bytes, sum);
    if (memcmp(bytes, identity_magic, sizeof(identity_magic)) != 0 ||
        memcmp(bytes + IDENTITY_CHECK, sum, WEIR__IDENTITY_SIZE - IDENTITY_CHECK) != 0)
        return -WEIR_E_CORRUPT;
    memcpy(ret_identity->id, bytes + IDENTITY_ID, sizeof(ret_identity->id));
    memcpy(ret_identity->key.bytes, bytes + IDENTITY_KEY, sizeof(ret_identity->key.bytes));
    return 0;
}
