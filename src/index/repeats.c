/* repeats.c - see repeats.h.
 *
 * A place is empty, at work or done. It is found by a hash of who, path and key; the table is small
 * and only administrators come here, so it is walked.
 */
#include "repeats.h"

#include <string.h>

#include <weir/error.h>

#include "alloc.h"
#include "hash.h"
#include "locks.h"
#include "require.h"

#include "banned.h"

enum place_state { PLACE_EMPTY, PLACE_RUNS, PLACE_DONE };

struct place {
    enum place_state state;
    uint64_t until_ns; /* of DONE */
    unsigned char key[WEIR__HASH_SIZE], body[WEIR__HASH_SIZE];
    struct weir__repeats_answer answer;
};

struct weir__repeats {
    struct weir_lock lock; /* guards what follows */
    struct place places[WEIR__REPEATS_MAX];
};

const struct weir_lock_class weir__repeats_class = {"idempotency", 370};

int weir__repeats_new(struct weir__repeats **ret_repeats)
{
    struct weir__repeats *repeats = weir__base_alloc(1, sizeof(*repeats));
    if (!repeats)
        return -WEIR_E_NO_MEMORY;
    weir_lock_init(&repeats->lock, &weir__repeats_class);
    *ret_repeats = repeats;
    return 0;
}

void weir__repeats_free(struct weir__repeats *repeats)
{
    if (!repeats)
        return;
    weir_lock_fini(&repeats->lock);
    weir__base_free(repeats);
}

bool weir__repeats_is_key(const char *text)
{
    size_t length = strlen(text);
    for (size_t i = 0; i < length; i++)
        if (text[i] < ' ' || text[i] > '~')
            return false;
    return length > 0 && length <= WEIR__REPEATS_KEY;
}

/* Each text with its NUL, so that no two lists of them are one. */
static void hash_key(const struct weir__repeats_ask *ask, unsigned char digest[WEIR__HASH_SIZE])
{
    struct weir__hash hash;
    weir__hash_init(&hash);
    weir__hash_update(&hash, ask->who, strlen(ask->who) + 1);
    weir__hash_update(&hash, ask->path, strlen(ask->path) + 1);
    weir__hash_update(&hash, ask->key, strlen(ask->key) + 1);
    weir__hash_final(&hash, digest);
}

static void hash_body(const struct weir__repeats_ask *ask, unsigned char digest[WEIR__HASH_SIZE])
{
    struct weir__hash hash;
    weir__hash_init(&hash);
    if (ask->body_length > 0)
        weir__hash_update(&hash, ask->body, ask->body_length);
    weir__hash_final(&hash, digest);
}

/* Under the lock: the place of the key, or an empty one, or NULL. */
static struct place *find(struct weir__repeats *repeats, const unsigned char key[WEIR__HASH_SIZE],
                          uint64_t now_ns)
{
    struct place *free_place = NULL;
    for (size_t i = 0; i < WEIR__REPEATS_MAX; i++) {
        struct place *place = &repeats->places[i];
        if (place->state == PLACE_DONE && place->until_ns <= now_ns)
            place->state = PLACE_EMPTY;
        if (place->state == PLACE_EMPTY)
            free_place = free_place ? free_place : place;
        else if (memcmp(place->key, key, WEIR__HASH_SIZE) == 0)
            return place;
    }
    return free_place;
}

enum weir__repeats_state weir__repeats_begin(struct weir__repeats *repeats,
                                             const struct weir__repeats_ask *ask, uint64_t now_ns,
                                             struct weir__repeats_turn *ret_turn,
                                             struct weir__repeats_answer *ret_answer)
{
    unsigned char key[WEIR__HASH_SIZE], body[WEIR__HASH_SIZE];
    enum weir__repeats_state state = WEIR__REPEATS_FULL;
    hash_key(ask, key);
    hash_body(ask, body);
    weir_lock_acquire(&repeats->lock);
    struct place *place = find(repeats, key, now_ns);
    if (place && place->state == PLACE_EMPTY) {
        place->state = PLACE_RUNS;
        memcpy(place->key, key, sizeof(key));
        memcpy(place->body, body, sizeof(body));
        *ret_turn = (struct weir__repeats_turn){(uint32_t)(place - repeats->places) + 1};
        state = WEIR__REPEATS_NEW;
    } else if (place && memcmp(place->body, body, sizeof(body)) != 0)
        state = WEIR__REPEATS_OTHER;
    else if (place && place->state == PLACE_RUNS)
        state = WEIR__REPEATS_RUNS;
    else if (place) {
        *ret_answer = place->answer;
        state = WEIR__REPEATS_DONE;
    }
    weir_lock_release(&repeats->lock);
    return state;
}

void weir__repeats_end(struct weir__repeats *repeats, struct weir__repeats_turn *turn,
                       const struct weir__repeats_answer *answer)
{
    if (turn->_place == 0)
        return;
    uint64_t until_ns = weir_time_add(weir_now_ns(), WEIR__REPEATS_NS);
    weir_lock_acquire(&repeats->lock);
    struct place *place = &repeats->places[turn->_place - 1];
    WEIR__REQUIRE(place->state == PLACE_RUNS, "repeats", "turn", "was ended before");
    place->state = answer ? PLACE_DONE : PLACE_EMPTY;
    if (answer) {
        place->answer = *answer;
        place->until_ns = until_ns;
    }
    weir_lock_release(&repeats->lock);
    turn->_place = 0;
}

uint64_t weir__repeats_left_ns(struct weir__repeats *repeats, uint64_t now_ns)
{
    uint64_t first_ns = WEIR_NEVER;
    weir_lock_acquire(&repeats->lock);
    for (size_t i = 0; i < WEIR__REPEATS_MAX; i++) {
        const struct place *place = &repeats->places[i];
        if (place->state == PLACE_DONE && place->until_ns < first_ns)
            first_ns = place->until_ns;
    }
    weir_lock_release(&repeats->lock);
    return first_ns == WEIR_NEVER || first_ns <= now_ns ? 0 : first_ns - now_ns;
}

uint64_t weir__repeats_count(struct weir__repeats *repeats)
{
    uint64_t count = 0;
    weir_lock_acquire(&repeats->lock);
    for (size_t i = 0; i < WEIR__REPEATS_MAX; i++)
        count += repeats->places[i].state != PLACE_EMPTY;
    weir_lock_release(&repeats->lock);
    return count;
}
