/* pins.c - see pins.h.
 *
 * State: chains of places under one lock. A place is there while the key is pinned on disk
 * (is_kept) or somebody writes (claims > 0). Failure modes: there are too many places, or no memory
 * for one, and the claim is refused before anything was written.
 */
#include "pins.h"

#include <string.h>

#include <weir/error.h>

#include "alloc.h"
#include "locks.h"
#include "require.h"

#include "banned.h"

#define CHAINS 1024u

struct place {
    struct place *next;
    struct weir__question_key key;
    uint32_t claims;
    bool is_kept;
};

struct weir__pins {
    struct weir_lock lock; /* guards what follows */
    struct place *chains[CHAINS];
    uint64_t count;
};

const struct weir_lock_class weir__pins_class = {"pins", WEIR__RANK_PINS};

int weir__pins_new(struct weir__pins **ret_pins)
{
    struct weir__pins *pins = weir__base_alloc(1, sizeof(*pins));
    if (!pins)
        return -WEIR_E_NO_MEMORY;
    weir_lock_init(&pins->lock, &weir__pins_class);
    *ret_pins = pins;
    return 0;
}

void weir__pins_free(struct weir__pins *pins)
{
    if (!pins)
        return;
    for (unsigned i = 0; i < CHAINS; i++)
        while (pins->chains[i]) {
            struct place *place = pins->chains[i];
            pins->chains[i] = place->next;
            weir__base_free(place);
        }
    weir_lock_fini(&pins->lock);
    weir__base_free(pins);
}

/* Under the lock. Keys are hashes already. */
static struct place **find(struct weir__pins *pins, const struct weir__question_key *key)
{
    uint32_t word;
    memcpy(&word, key->bytes, sizeof(word));
    struct place **link = &pins->chains[word % CHAINS];
    while (*link && memcmp(&(*link)->key, key, sizeof(*key)) != 0)
        link = &(*link)->next;
    return link;
}

/* Under the lock. `spare` is used, and NULL then, if the key has no place yet. */
static int take_place(struct weir__pins *pins, const struct weir__question_key *key,
                      struct place **spare, struct place **ret_place)
{
    struct place **link = find(pins, key);
    if (!*link) {
        if (pins->count >= WEIR__PINS_MAX)
            return -WEIR_E_OVERFLOW;
        if (!*spare)
            return -WEIR_E_NO_MEMORY;
        (*spare)->key = *key;
        *link = *spare;
        *spare = NULL;
        pins->count++;
    }
    *ret_place = *link;
    return 0;
}

/* The memory is had before the lock, and given back when the key had a place. */
static int add(struct weir__pins *pins, const struct weir__question_key *key, bool is_kept)
{
    struct place *spare = weir__base_alloc(1, sizeof(*spare)), *place;
    weir_lock_acquire(&pins->lock);
    int error = take_place(pins, key, &spare, &place);
    if (!error) {
        place->is_kept |= is_kept;
        place->claims += !is_kept;
    }
    weir_lock_release(&pins->lock);
    weir__base_free(spare);
    return error;
}

int weir__pins_load(struct weir__pins *pins, const struct weir__question_key *key)
{
    return add(pins, key, true);
}

int weir__pins_claim(struct weir__pins *pins, const struct weir__question_key *key)
{
    return add(pins, key, false);
}

/* Under the lock: the place, if nobody needs it any more. */
static struct place *take_out(struct weir__pins *pins, struct place **link)
{
    struct place *place = *link;
    if (place->is_kept || place->claims > 0)
        return NULL;
    *link = place->next;
    pins->count--;
    return place;
}

void weir__pins_settle(struct weir__pins *pins, const struct weir__question_key *key,
                       bool is_pinned)
{
    weir_lock_acquire(&pins->lock);
    struct place **link = find(pins, key);
    WEIR__REQUIRE(*link && (*link)->claims > 0, "pins", "key", "was not claimed");
    (*link)->claims--;
    (*link)->is_kept |= is_pinned;
    struct place *place = take_out(pins, link);
    weir_lock_release(&pins->lock);
    weir__base_free(place);
}

void weir__pins_remove(struct weir__pins *pins, const struct weir__question_key *key)
{
    struct place *place = NULL;
    weir_lock_acquire(&pins->lock);
    struct place **link = find(pins, key);
    if (*link) {
        (*link)->is_kept = false;
        place = take_out(pins, link);
    }
    weir_lock_release(&pins->lock);
    weir__base_free(place);
}

uint64_t weir__pins_count(struct weir__pins *pins)
{
    weir_lock_acquire(&pins->lock);
    uint64_t count = pins->count;
    weir_lock_release(&pins->lock);
    return count;
}
