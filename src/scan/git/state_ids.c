/* state_ids.c - ids as they come, and their order.
 *
 * They are sorted in place, byte by byte from the first one: as many as differ in a byte go to
 * their part of the range, and each part is sorted by the next byte. Ids are hashes, so that two or
 * three bytes do nearly everything. Ids that somebody made up need a round for each byte, which is
 * still linear; a part in which all have the same byte needs no level of its own.
 */
#include "state_part.h"

#include "alloc.h"
#include "require.h"

#include "banned.h"

#define FIRST_ROOM 1024u
#define FEW        24u /* so many are sorted by inserting */

void weir__git_state_ids_init(struct weir__git_state_ids *ids, size_t id_size, uint64_t memory_max)
{
    WEIR__REQUIRE(id_size == WEIR__GIT_SHA1_SIZE || id_size == WEIR__GIT_SHA256_SIZE, "state",
                  "ids", "no hash of git has that size");
    uint64_t max = (memory_max ? memory_max : WEIR__GIT_STATE_MEMORY) / id_size;
    *ids = (struct weir__git_state_ids){
        ._id_size = id_size,
        ._max = (size_t)(max < WEIR__GIT_STATE_IDS_MAX ? max : WEIR__GIT_STATE_IDS_MAX)};
}

void weir__git_state_ids_fini(struct weir__git_state_ids *ids)
{
    weir__base_free(ids->_bytes);
    ids->_bytes = NULL;
    ids->_count = ids->_room = 0;
}

static int grow(struct weir__git_state_ids *ids, size_t needed)
{
    if (needed <= ids->_room)
        return 0;
    size_t room = ids->_room ? 2 * ids->_room : FIRST_ROOM;
    room = room < needed ? needed : room;
    room = room > ids->_max ? ids->_max : room;
    uint8_t *bytes = weir__base_realloc(ids->_bytes, room, ids->_id_size);
    if (!bytes)
        return -WEIR_E_NO_MEMORY;
    ids->_bytes = bytes;
    ids->_room = room;
    return 0;
}

int weir__git_state_ids_add(struct weir__git_state_ids *ids, const struct weir__git_id *list,
                            size_t count)
{
    if (ids->_error)
        return ids->_error;
    if (count > ids->_max - ids->_count) {
        ids->_is_full = true;
        count = ids->_max - ids->_count;
    }
    ids->_error = grow(ids, ids->_count + count);
    if (ids->_error)
        return ids->_error;
    uint8_t *to = ids->_bytes + ids->_count * ids->_id_size;
    for (size_t i = 0; i < count; i++, to += ids->_id_size)
        memcpy(to, list[i].bytes, ids->_id_size);
    ids->_count += count;
    return ids->_is_full ? -WEIR_E_TOO_LARGE : 0;
}

bool weir__git_state_ids_is_full(const struct weir__git_state_ids *ids)
{
    return ids->_is_full;
}

/* --- sorting --- */

/* Of a size that the compiler knows: a call for 20 bytes would cost more than they do. */
static inline void move(uint8_t *to, const uint8_t *from, size_t size)
{
    if (size == WEIR__GIT_SHA1_SIZE)
        memcpy(to, from, WEIR__GIT_SHA1_SIZE);
    else
        memcpy(to, from, WEIR__GIT_SHA256_SIZE);
}

static void insert_each(uint8_t *ids, size_t count, size_t size)
{
    uint8_t moved[WEIR__GIT_ID_SIZE_MAX];
    for (size_t i = 1; i < count; i++) {
        size_t to = i;
        move(moved, ids + i * size, size);
        for (; to > 0 && memcmp(ids + (to - 1) * size, moved, size) > 0; to--)
            move(ids + to * size, ids + (to - 1) * size, size);
        move(ids + to * size, moved, size);
    }
}

/* Brings each id into the part of its byte. from: where each part begins, and at the end where it
 * ends, as until says. */
static void part(uint8_t *ids, size_t size, size_t digit, uint32_t from[256],
                 const uint32_t until[256])
{
    uint8_t moved[WEIR__GIT_ID_SIZE_MAX];
    for (unsigned i = 0; i < 256; i++)
        while (from[i] < until[i]) {
            uint8_t *here = ids + (size_t)from[i] * size;
            if (here[digit] == i) {
                from[i]++;
                continue;
            }
            uint8_t *there = ids + (size_t)from[here[digit]]++ * size;
            move(moved, there, size);
            move(there, here, size);
            move(here, moved, size);
        }
}

/* Calls itself once for each byte of an id at most, with 2 KiB each. */
static void sort_by(uint8_t *ids, size_t count, size_t size, size_t digit)
{
    for (; count > FEW && digit < size; digit++) {
        uint32_t from[256], until[256] = {0}, at = 0;
        for (size_t i = 0; i < count; i++)
            until[ids[i * size + digit]]++;
        if (until[ids[digit]] == count)
            continue;
        for (unsigned i = 0; i < 256; i++) {
            from[i] = at;
            until[i] = at += until[i];
        }
        part(ids, size, digit, from, until);
        at = 0;
        for (unsigned i = 0; i < 256; at = until[i++])
            sort_by(ids + (size_t)at * size, until[i] - at, size, digit + 1);
        return;
    }
    if (digit < size)
        insert_each(ids, count, size);
}

void weir__state_ids_sort(struct weir__git_state_ids *ids)
{
    if (ids->_count > 0)
        sort_by(ids->_bytes, ids->_count, ids->_id_size, 0);
}
