/* commit_set.h - a compact set of ids, each with the number of its turn: 0, 1, 2, ...
 *
 * With each id goes a record of a few bytes of the caller's, zeroed at first. Both lie side by side
 * in blocks that never move, and are found through a table of 4-byte slots that is at most three
 * quarters full.
 *
 * Cost: constant time on average, whoever chose the ids: all of their bytes are mixed with a number
 * that outsiders do not know. Memory: weir__git_set_needs(); the peak while the table grows is in
 * it. The set never takes more than the bytes it was made with: TooLarge, and it is as it was.
 *
 * Ownership: the set owns its memory; init and fini on the caller's struct.
 */
#ifndef WEIR_SCAN_GIT_COMMIT_SET_H
#define WEIR_SCAN_GIT_COMMIT_SET_H

#include "object_id.h"

#define WEIR__GIT_SET_NONE UINT32_MAX
/* Ids in one block. */
#define WEIR__GIT_SET_BLOCK 1024u
/* Above this it is full, whatever memory there is. */
#define WEIR__GIT_SET_MAX UINT32_C(0x7fff0000)

struct weir__git_set {
    uint8_t **_blocks;
    size_t _blocks_room;
    uint32_t *_slots;
    uint32_t _slots_count, _count;
    size_t _id_size, _extra_size;
    uint64_t _seed;
    uint64_t _bytes, _bytes_max;
};

/* extra_size: of the record beside each id, a multiple of 4. bytes_max: 0 for no limit. Allocates
 * nothing. */
void weir__git_set_init(struct weir__git_set *set, size_t id_size, size_t extra_size,
                        uint64_t bytes_max);
void weir__git_set_fini(struct weir__git_set *set);

/* The most that a set of so many ids takes at any moment. */
uint64_t weir__git_set_needs(uint64_t count, size_t id_size, size_t extra_size);

/* The number of the id, WEIR__GIT_SET_NONE when it is not there. */
uint32_t weir__git_set_find(const struct weir__git_set *set, const struct weir__git_id *id);

/* Adds it unless it is there: 1 when it is new, 0 when it was there, TooLarge, NoMemory. */
WEIR_MUST_USE int weir__git_set_add(struct weir__git_set *set, const struct weir__git_id *id,
                                    uint32_t *ret_number);

/* number is below the count. */
struct weir__git_id weir__git_set_id(const struct weir__git_set *set, uint32_t number);

/* Its record, aligned to 4 bytes and not to 8; it stays where it is. */
void *weir__git_set_extra(const struct weir__git_set *set, uint32_t number);

/* Forgets all of them and keeps the blocks. */
void weir__git_set_clear(struct weir__git_set *set);

static inline uint32_t weir__git_set_count(const struct weir__git_set *set)
{
    return set->_count;
}

/* What it has taken. */
static inline uint64_t weir__git_set_bytes(const struct weir__git_set *set)
{
    return set->_bytes;
}

#endif
