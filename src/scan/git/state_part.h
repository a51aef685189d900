/* state_part.h - what the files of the state share: the layout of a file, and its parts.
 *
 *     head       280 bytes:
 *                  0  magic            8
 *                  8  version          4
 *                 12  id_size          4
 *                 16  key             32
 *                 48  repository      32   BLAKE3 of its text
 *                 80  digest          32
 *                112  held            32
 *                144  ids              8
 *                152  suspects         8
 *                160  their bytes      8
 *                168  packs            8
 *                176  places           8
 *                184  loose           40
 *                224  loose time       8
 *                232  midx            16
 *                248  check           32   BLAKE3 of all that follows the head, then of the above
 *     ids        id_size bytes each, rising
 *     suspects   one behind the other, their ids rising (state_suspect.c)
 *     packs      17 bytes each: a mark, and 1 if it is whole (state_packs.c)
 *     places     id_size bytes and the number of a pack, 4
 *
 * Numbers are little-endian. The check ends with the head because the head is written last, when
 * the numbers are known.
 *
 * Ownership: as state.h says; nothing else is owned here.
 */
#ifndef WEIR_SCAN_GIT_STATE_PART_H
#define WEIR_SCAN_GIT_STATE_PART_H

#include <sys/stat.h>
#include <time.h>

#include "mapped.h"
#include "state.h"

#define WEIR__STATE_MAGIC         "weirgits"
#define WEIR__STATE_VERSION       6u
#define WEIR__STATE_HEAD_SIZE     280u
#define WEIR__STATE_AT_VERSION    8u
#define WEIR__STATE_AT_ID_SIZE    12u
#define WEIR__STATE_AT_KEY        16u
#define WEIR__STATE_AT_REPOSITORY 48u
#define WEIR__STATE_AT_DIGEST     80u
#define WEIR__STATE_AT_HELD       112u
#define WEIR__STATE_AT_IDS        144u
#define WEIR__STATE_AT_SUSPECTS   152u
#define WEIR__STATE_AT_TEXTS      160u
#define WEIR__STATE_AT_PACKS      168u
#define WEIR__STATE_AT_PLACES     176u
#define WEIR__STATE_AT_LOOSE      184u
#define WEIR__STATE_AT_LOOSE_TIME 224u
#define WEIR__STATE_AT_MIDX       232u
#define WEIR__STATE_AT_CHECK      248u

#define WEIR__STATE_PACK_SIZE     (WEIR__GIT_STATE_MARK_SIZE + 1)

/* No file is larger. */
#define WEIR__STATE_BYTES_MAX                                                                      \
    (WEIR__STATE_HEAD_SIZE + (uint64_t)WEIR__GIT_STATE_IDS_MAX * WEIR__GIT_ID_SIZE_MAX +           \
     WEIR__GIT_STATE_TEXT_MAX + (uint64_t)WEIR__GIT_STATE_PACKS_MAX * WEIR__STATE_PACK_SIZE +      \
     (uint64_t)WEIR__GIT_STATE_PLACES_MAX * (WEIR__GIT_ID_SIZE_MAX + 4))

/* A name of a file: 40 digits and ".git". */
#define WEIR__STATE_NAME_BYTES 20u
#define WEIR__STATE_NAME_SIZE  (2 * WEIR__STATE_NAME_BYTES + sizeof(".git"))
/* How that of a file begins which is not yet what it shall be. */
#define WEIR__STATE_NEW ".new-"

struct weir__git_state {
    struct weir__mapped mapped; /* nothing, when the bytes are the caller's */
    const uint8_t *bytes;
    size_t length;
    size_t id_size;
    uint64_t count;
    uint8_t key[WEIR__GIT_STATE_KEY_SIZE];
    uint8_t repository[WEIR__HASH_SIZE];
    uint8_t digest[WEIR__HASH_SIZE];
    uint8_t held[WEIR__HASH_SIZE];
    uint8_t *texts; /* the suspects as they are in the file, to which they point */
    struct weir__git_suspect *suspects;
    size_t suspects_count;
    const char **paths;
    struct weir__git_look *looks;
    struct weir__git_state_pack *packs;
    size_t packs_count;
    struct weir__git_state_place *places;
    size_t places_count;
    uint8_t loose[WEIR__GIT_STATE_LOOSE_SIZE];
    uint64_t loose_time_ns;
    uint8_t midx[WEIR__GIT_STATE_MARK_SIZE];
};

static inline void weir__state_put(uint8_t *to, uint64_t number, unsigned size)
{
    for (unsigned i = 0; i < size; i++)
        to[i] = (uint8_t)(number >> 8 * i);
}

static inline uint64_t weir__state_get(const uint8_t *from, unsigned size)
{
    uint64_t number = 0;
    for (unsigned i = 0; i < size; i++)
        number |= (uint64_t)from[i] << 8 * i;
    return number;
}

/* The name that has the first WEIR__STATE_NAME_BYTES of those. */
static inline void weir__state_name_of(const struct weir__git_id *id,
                                       char ret_name[WEIR__STATE_NAME_SIZE])
{
    char hex[WEIR__GIT_HEX_SIZE];
    weir__git_id_hex(id, WEIR__STATE_NAME_BYTES, hex);
    memcpy(ret_name, hex, 2 * (size_t)WEIR__STATE_NAME_BYTES);
    memcpy(ret_name + 2 * (size_t)WEIR__STATE_NAME_BYTES, ".git", sizeof(".git"));
}

/* --- state.c --- */

/* The hash of the repository's text, and the file's name, which has its first bytes. */
void weir__state_name(const struct weir__git_state_about *about,
                      uint8_t ret_repository[WEIR__HASH_SIZE],
                      char ret_name[WEIR__STATE_NAME_SIZE]);
/* Where the id is among the ids. */
bool weir__state_find(const struct weir__git_state *state, const struct weir__git_id *id,
                      uint64_t *ret_at);

/* --- state_there.c --- */

/* Bytes of one bit for each of so many ids. */
static inline uint64_t weir__state_bits_size(uint64_t count)
{
    return count / 8 + 1;
}

static inline bool weir__state_bit(const uint8_t *bits, uint64_t at)
{
    return bits[at / 8] >> at % 8 & 1;
}

/* --- state_suspect.c --- */

/* Appends a suspect. Invalid, TooLarge, NoMemory. */
WEIR_MUST_USE int weir__state_suspect_put(struct weir__buffer *to,
                                          const struct weir__git_suspect *suspect, size_t id_size);
/* state->texts, of length bytes, taken apart: count suspects, no more and no fewer. Memory of at
 * most room bytes. Corrupt, TooLarge, NoMemory. */
WEIR_MUST_USE int weir__state_suspects_get(struct weir__git_state *state, uint64_t count,
                                           size_t length, uint64_t room);

/* --- state_packs.c --- */

/* Bytes of so many packs and places in a file. */
static inline uint64_t weir__state_packs_size(uint64_t packs, uint64_t places, size_t id_size)
{
    return packs * WEIR__STATE_PACK_SIZE + places * (id_size + 4);
}
/* Takes so many of them from so far behind the head. Corrupt, NoMemory, Io. */
WEIR_MUST_USE int weir__state_packs_get(struct weir__git_state *state, size_t at, size_t packs,
                                        size_t places);
/* Appends them. TooLarge, Invalid, NoMemory. */
WEIR_MUST_USE int weir__state_packs_put(struct weir__buffer *to,
                                        const struct weir__git_state_new *made, size_t id_size);

/* --- state_ids.c --- */

void weir__state_ids_sort(struct weir__git_state_ids *ids);

/* --- state_folder.c --- */

bool weir__state_is_safe(const struct stat *st);
/* Before the file new_name (empty: it has none), of size bytes, gets the name: removes what was
 * left behind by writers that ended long before now, and the files that were used least recently if
 * it would be too much. TooLarge when it alone is; Io and the like when the folder cannot be read.
 */
WEIR_MUST_USE int weir__states_make_room(struct weir__git_states *states, const char *name,
                                         const char *new_name, uint64_t size,
                                         const struct timespec *now);

#endif
