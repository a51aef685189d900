/* hot.c - a table of sets of eight, with a lock for each stripe of sets. */
#include "hot.h"

#include <string.h>
#include <sys/random.h>

#include <weir/error.h>

#include "alloc.h"
#include "store_locks.h"
#include "store_mutants.h"

#include "banned.h"

#define WAYS 8u

int weir__hot_init(struct weir__hot *hot, size_t entries)
{
    size_t sets = WEIR__HOT_STRIPES;
    while (sets * WAYS < entries)
        sets *= 2;
    *hot = (struct weir__hot){._sets = sets};
    if (getrandom(&hot->_secret, sizeof(hot->_secret), GRND_NONBLOCK) != sizeof(hot->_secret))
        hot->_secret = UINT64_C(0x9E3779B97F4A7C15) ^ (uint64_t)(uintptr_t)hot;
    hot->_secret |= 1;
    for (size_t i = 0; i < WEIR__HOT_STRIPES; i++)
        weir_lock_init(&hot->_stripes[i].lock, &weir__store_hot_class);
    hot->_places = weir__base_alloc(sets * WAYS, sizeof(*hot->_places));
    return hot->_places ? 0 : -WEIR_E_NO_MEMORY;
}

void weir__hot_fini(struct weir__hot *hot)
{
    weir__base_free(hot->_places);
    hot->_places = NULL;
    for (size_t i = 0; i < WEIR__HOT_STRIPES; i++)
        weir_lock_fini(&hot->_stripes[i].lock);
}

static size_t set_of(const struct weir__hot *hot, const struct weir__address *address)
{
    uint64_t bits;
    memcpy(&bits, address->bytes, sizeof(bits));
    return (size_t)(bits * hot->_secret >> 24) & (hot->_sets - 1);
}

static struct weir__hot_stripe *stripe_of(struct weir__hot *hot, size_t set)
{
    return &hot->_stripes[set % WEIR__HOT_STRIPES];
}

static struct weir__hot_place *find(struct weir__hot *hot, size_t set,
                                    const struct weir__address *address)
{
    struct weir__hot_place *places = hot->_places + set * WAYS;
    for (size_t i = 0; i < WAYS; i++)
        if (places[i].entry.type && weir__address_is_equal(&places[i].entry.address, address))
            return &places[i];
    return NULL;
}

bool weir__hot_get(struct weir__hot *hot, const struct weir__address *address,
                   struct weir__entry *ret_entry, bool *ret_is_verified)
{
    size_t set = set_of(hot, address);
    struct weir__hot_stripe *stripe = stripe_of(hot, set);
    weir_lock_acquire(&stripe->lock);
    struct weir__hot_place *place = find(hot, set, address);
    if (place) {
        place->was_asked = true;
        *ret_entry = place->entry;
        *ret_is_verified = place->is_verified;
        stripe->hits++;
    }
    weir_lock_release(&stripe->lock);
    return place != NULL;
}

uint64_t weir__hot_epoch(struct weir__hot *hot, const struct weir__address *address)
{
    struct weir__hot_stripe *stripe = stripe_of(hot, set_of(hot, address));
    weir_lock_acquire(&stripe->lock);
    uint64_t epoch = stripe->epoch;
    weir_lock_release(&stripe->lock);
    return epoch;
}

/* One that is free, or was not asked for; those that were get another turn. */
static struct weir__hot_place *make_place(struct weir__hot *hot, size_t set)
{
    struct weir__hot_place *places = hot->_places + set * WAYS, *found = NULL;
    for (size_t i = 0; i < WAYS && !found; i++)
        if (!places[i].entry.type)
            found = &places[i];
    for (size_t i = 0; i < WAYS && !found; i++)
        if (!places[i].was_asked)
            found = &places[i];
        else
            places[i].was_asked = false;
    return found ? found : places;
}

void weir__hot_add(struct weir__hot *hot, const struct weir__entry *entry, bool is_verified,
                   uint64_t epoch)
{
    size_t set = set_of(hot, &entry->address);
    struct weir__hot_stripe *stripe = stripe_of(hot, set);
    weir_lock_acquire(&stripe->lock);
    if (stripe->epoch == epoch || WEIR__STORE_MUTANT(HOT_EPOCH_IGNORED)) {
        struct weir__hot_place *place = find(hot, set, &entry->address);
        if (!place)
            place = make_place(hot, set);
        *place = (struct weir__hot_place){.entry = *entry, .is_verified = is_verified};
    }
    weir_lock_release(&stripe->lock);
}

void weir__hot_forget(struct weir__hot *hot, const struct weir__address *address)
{
    size_t set = set_of(hot, address);
    struct weir__hot_stripe *stripe = stripe_of(hot, set);
    weir_lock_acquire(&stripe->lock);
    stripe->epoch += !WEIR__STORE_MUTANT(HOT_EPOCH_STAYS);
    struct weir__hot_place *place = find(hot, set, address);
    if (place)
        place->entry.type = (enum weir__record_type)0;
    weir_lock_release(&stripe->lock);
}

uint64_t weir__hot_hits(struct weir__hot *hot)
{
    uint64_t hits = 0;
    for (size_t i = 0; i < WEIR__HOT_STRIPES; i++) {
        weir_lock_acquire(&hot->_stripes[i].lock);
        hits += hot->_stripes[i].hits;
        weir_lock_release(&hot->_stripes[i].lock);
    }
    return hits;
}
