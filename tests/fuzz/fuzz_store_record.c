/* fuzz_store_record.c - any bytes as a line of a footer, as the identity of a store, and as the
 * mark of a clean end.
 *
 * The first byte chooses, and says whether the sum behind it is made right. What must hold: what is
 * taken for one is written again as the same bytes.
 */
#include <string.h>

#include "require.h"
#include "store_part.h"

#include "banned.h"

#define HOLDS(condition) WEIR__REQUIRE(condition, "fuzz", "record", #condition)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The last 8 bytes are a sum over the others. */
static void mend(unsigned char *bytes, size_t length)
{
    unsigned char digest[WEIR__HASH_SIZE];
    struct weir__hash hash;
    weir__hash_init(&hash);
    weir__hash_update(&hash, bytes, length - 8);
    weir__hash_final(&hash, digest);
    memcpy(bytes + length - 8, digest, 8);
}

static void try_entry(const unsigned char bytes[WEIR__ENTRY_SIZE])
{
    struct weir__entry entry;
    unsigned char again[WEIR__ENTRY_SIZE];
    if (weir__entry_decode(&entry, bytes, 5))
        return;
    HOLDS(entry.place.segment == 5 && entry.place.offset > 0 && entry.place.offset % 16 == 0);
    HOLDS(entry.sequence > 0 && entry.size >= WEIR__RECORD_HEAD);
    HOLDS(weir__entry_length(&entry) <= WEIR__CHUNK_MAX);
    HOLDS(entry.type >= WEIR__RECORD_CHUNK && entry.type <= WEIR__RECORD_BAD);
    weir__entry_encode(&entry, again);
    HOLDS(memcmp(again, bytes, 53) == 0);
}

static void try_identity(const unsigned char bytes[WEIR__IDENTITY_SIZE])
{
    struct weir__identity identity;
    unsigned char again[WEIR__IDENTITY_SIZE];
    if (weir__identity_decode(&identity, bytes))
        return;
    weir__identity_encode(&identity, again);
    HOLDS(memcmp(again, bytes, sizeof(again)) == 0);
}

static void try_mark(const unsigned char *bytes, size_t length)
{
    struct weir__store_mark mark, second;
    unsigned char again[WEIR__STORE_MARK_SIZE];
    if (!weir__store_mark_decode(&mark, bytes, length))
        return;
    HOLDS((length == WEIR__STORE_MARK_SIZE || length == 64) && mark.is_clean);
    HOLDS(length != 64 || (mark.segments == 0 && mark.newest_id == 0 && mark.newest_size == 0));
    weir__store_mark_encode(&mark, again);
    HOLDS(weir__store_mark_decode(&second, again, sizeof(again)));
    HOLDS(second.next_id == mark.next_id && second.next_sequence == mark.next_sequence);
    HOLDS(second.segments == mark.segments && second.newest_id == mark.newest_id &&
          second.newest_size == mark.newest_size);
    HOLDS(memcmp(second.index_digest, mark.index_digest, sizeof(mark.index_digest)) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    unsigned char bytes[96] = {0};
    if (size < 1 || size > sizeof(bytes))
        return 0;
    memcpy(bytes, data + 1, size - 1);
    if (data[0] & 4)
        mend(bytes, data[0] & 8 ? WEIR__STORE_MARK_SIZE : 64);
    switch (data[0] & 3) {
    case 0:
        try_entry(bytes);
        break;
    case 1:
        try_identity(bytes);
        break;
    default:
        try_mark(bytes, size - 1);
    }
    return 0;
}
