/* hot.h - chunks that were read not long ago, with their places, and whether they were verified.
 *
 * A set of eight for each group of addresses; a newcomer takes the place of one that was not asked
 * for since the last look for a place. So memory is fixed, and a lookup is one short lock.
 *
 * What is deleted or found damaged must be forgotten here before that is told to anybody. A thread
 * that verified it before and adds it after would bring it back: so it asks for the epoch of the
 * address before it looks the address up, and adds with it; an epoch that has passed adds nothing.
 *
 * Any number of threads.
 *
 * Ownership: entries are copied.
 */
#ifndef WEIR_STORE_HOT_H
#define WEIR_STORE_HOT_H

#include <weir/lock.h>

#include "record.h"

#define WEIR__HOT_STRIPES 64u

struct weir__hot_place {
    struct weir__entry entry; /* type 0: free */
    bool is_verified;         /* by its bytes; otherwise only its head was looked at */
    bool was_asked;
};

struct weir__hot_stripe {
    struct weir_lock lock;
    uint64_t epoch;
    uint64_t hits;
};

struct weir__hot {
    struct weir__hot_place *_places;
    size_t _sets; /* a power of two */
    uint64_t _secret;
    struct weir__hot_stripe _stripes[WEIR__HOT_STRIPES];
};

/* For about so many entries. NoMemory. */
WEIR_MUST_USE int weir__hot_init(struct weir__hot *hot, size_t entries);
void weir__hot_fini(struct weir__hot *hot);

bool weir__hot_get(struct weir__hot *hot, const struct weir__address *address,
                   struct weir__entry *ret_entry, bool *ret_is_verified);
uint64_t weir__hot_epoch(struct weir__hot *hot, const struct weir__address *address);
void weir__hot_add(struct weir__hot *hot, const struct weir__entry *entry, bool is_verified,
                   uint64_t epoch);
void weir__hot_forget(struct weir__hot *hot, const struct weir__address *address);
uint64_t weir__hot_hits(struct weir__hot *hot);

#endif
