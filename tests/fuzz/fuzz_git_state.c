/* fuzz_git_state.c - any bytes, as the file of a state.
 *
 * The input is a byte of choices and the file. Its check and what it is about are put right unless
 * the choices say no, or hardly anything would be looked at; so are its lengths, if they say so.
 * What must hold: nothing outside of the bytes is read, an error has a reason, suspects are sorted
 * and their texts end where they should, each suspect is written as it was read, and no id is found
 * that is not there.
 */
#include <stdlib.h>

#include "require.h"
#include "state_part.h"

#include "banned.h"

#define HOLDS(condition) WEIR__REQUIRE(condition, "fuzz", "git_state", #condition)

#define CHOICE_SHA256    1u
#define CHOICE_AS_IS     2u
#define CHOICE_LENGTHS   4u

static void put_right(uint8_t *bytes, size_t length, const struct weir__git_state_about *about,
                      bool has_lengths)
{
    char name[WEIR__STATE_NAME_SIZE];
    struct weir__hash hash;
    if (length < WEIR__STATE_HEAD_SIZE)
        return;
    size_t rest = length - WEIR__STATE_HEAD_SIZE;
    memcpy(bytes, WEIR__STATE_MAGIC, WEIR__STATE_AT_VERSION);
    weir__state_put(bytes + WEIR__STATE_AT_VERSION, WEIR__STATE_VERSION, 4);
    weir__state_put(bytes + WEIR__STATE_AT_ID_SIZE, about->id_size, 4);
    memcpy(bytes + WEIR__STATE_AT_KEY, about->key, sizeof(about->key));
    weir__state_name(about, bytes + WEIR__STATE_AT_REPOSITORY, name);
    if (has_lengths) {
        size_t ids = bytes[WEIR__STATE_AT_IDS];
        ids = ids * about->id_size <= rest ? ids : rest / about->id_size;
        size_t left = rest - ids * about->id_size;
        size_t packs = bytes[WEIR__STATE_AT_PACKS] % 8, places = bytes[WEIR__STATE_AT_PLACES] % 8;
        if (weir__state_packs_size(packs, places, about->id_size) > left)
            packs = places = 0;
        left -= (size_t)weir__state_packs_size(packs, places, about->id_size);
        weir__state_put(bytes + WEIR__STATE_AT_IDS, ids, 8);
        weir__state_put(bytes + WEIR__STATE_AT_SUSPECTS, bytes[WEIR__STATE_AT_SUSPECTS], 8);
        weir__state_put(bytes + WEIR__STATE_AT_TEXTS, left, 8);
        weir__state_put(bytes + WEIR__STATE_AT_PACKS, packs, 8);
        weir__state_put(bytes + WEIR__STATE_AT_PLACES, places, 8);
    }
    weir__hash_init(&hash);
    weir__hash_update(&hash, bytes + WEIR__STATE_HEAD_SIZE, rest);
    weir__hash_update(&hash, bytes, WEIR__STATE_AT_CHECK);
    weir__hash_final(&hash, bytes + WEIR__STATE_AT_CHECK);
}

static void check_ids(const struct weir__git_state *state, const uint8_t *bytes, size_t id_size)
{
    uint64_t count = weir__git_state_count(state);
    bool is_sorted = true;
    for (uint64_t i = 1; i < count; i++)
        is_sorted =
            is_sorted && memcmp(bytes + (i - 1) * id_size, bytes + i * id_size, id_size) < 0;
    for (uint64_t i = 0; i < count; i++) {
        struct weir__git_id id = weir__git_id_of(bytes + i * id_size, id_size);
        HOLDS(weir__git_state_has(state, &id) || !is_sorted);
        id.bytes[i % id_size] ^= 1;
        bool is_there = false;
        for (uint64_t k = 0; !is_there && k < count; k++)
            is_there = memcmp(bytes + k * id_size, id.bytes, id_size) == 0;
        HOLDS(!weir__git_state_has(state, &id) || is_there);
    }
}

static void check_suspects(const struct weir__git_state *state, const uint8_t *bytes, size_t length,
                           size_t id_size)
{
    size_t count;
    const struct weir__git_suspect *list = weir__git_state_suspects(state, &count);
    struct weir__buffer again;
    weir__buffer_init(&again, length + 1);
    for (size_t i = 0; i < count; i++) {
        HOLDS(i == 0 || weir__git_id_compare(&list[i - 1].id, &list[i].id) < 0);
        HOLDS(weir__git_state_suspect(state, &list[i].id) == &list[i]);
        HOLDS(weir__state_suspect_put(&again, &list[i], id_size) == 0);
    }
    HOLDS(weir__buffer_length(&again) == length);
    HOLDS(length == 0 || memcmp(weir__buffer_text(&again), bytes, length) == 0);
    weir__buffer_fini(&again);
}

/* Returns how many bytes they are, at the end. */
static size_t check_packs(const struct weir__git_state *state, const uint8_t *end, size_t id_size)
{
    struct weir__git_state_new made = {.old = NULL};
    struct weir__buffer again;
    made.packs = weir__git_state_packs(state, &made.packs_count);
    made.places = weir__git_state_places(state, &made.places_count);
    size_t length = (size_t)weir__state_packs_size(made.packs_count, made.places_count, id_size);
    for (size_t i = 0; i < made.places_count; i++)
        HOLDS(made.places[i].pack < made.packs_count);
    weir__buffer_init(&again, length + 1);
    HOLDS(weir__state_packs_put(&again, &made, id_size) == 0);
    HOLDS(weir__buffer_length(&again) == length);
    HOLDS(length == 0 || memcmp(weir__buffer_text(&again), end - length, length) == 0);
    weir__buffer_fini(&again);
    return length;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 1)
        return 0;
    size_t length = size - 1;
    uint8_t *bytes = malloc(length ? length : 1);
    char why[WEIR__GIT_FLAW_MAX] = "";
    struct weir__git_state *state = NULL;
    struct weir__git_state_about about = {.id_size = data[0] & CHOICE_SHA256 ? 32 : 20,
                                          .repository = "fuzz",
                                          .memory_max = 16u << 20};
    HOLDS(bytes);
    memcpy(bytes, data + 1, length);
    if (!(data[0] & CHOICE_AS_IS))
        put_right(bytes, length, &about, data[0] & CHOICE_LENGTHS);
    int error = weir__git_state_of_bytes(&state, &about, bytes, length, why);
    HOLDS(error == 0 || error == -WEIR_E_CORRUPT || error == -WEIR_E_UNSUPPORTED ||
          error == -WEIR_E_MISMATCH || error == -WEIR_E_TOO_LARGE);
    HOLDS((error == 0) == (state != NULL) && (error == 0 || why[0]));
    if (state) {
        const uint8_t *ids = bytes + WEIR__STATE_HEAD_SIZE;
        size_t ids_length = (size_t)weir__git_state_count(state) * about.id_size;
        size_t packs_length = check_packs(state, bytes + length, about.id_size);
        check_ids(state, ids, about.id_size);
        check_suspects(state, ids + ids_length,
                       length - WEIR__STATE_HEAD_SIZE - ids_length - packs_length, about.id_size);
    }
    weir__git_state_free(state);
    free(bytes);
    return 0;
}
