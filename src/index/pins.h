/* pins.h - which keys are pinned, or about to be: what holds the bound.
 *
 * A pin is written to disk before it counts in the cache, and by then it is too late to find that
 * there are too many. So who wants to pin a key claims a place for it first.
 *
 * Promises
 * - Never more than WEIR__PINS_MAX keys have a place, those that are being written included, so
 *   never more are on disk than that, whoever asks at once.
 * - A key that has a place is claimed again without another one.
 * - A place is free again when a write failed and the key was not pinned before, and when it was
 *   unpinned. Ends are to be told in the order of the writes.
 * - Nothing waits; each call is one short lock and one look into a chain.
 *
 * Ownership: the table has its places; keys are copied.
 */
#ifndef WEIR_INDEX_PINS_H
#define WEIR_INDEX_PINS_H

#include <weir/lock.h>

#include "question.h"

#define WEIR__PINS_MAX 4096u

struct weir__pins;

WEIR_MUST_USE int weir__pins_new(struct weir__pins **ret_pins);
/* Accepts NULL. */
void weir__pins_free(struct weir__pins *pins);

/* It is on disk already. Overflow: there are too many; NoMemory. */
WEIR_MUST_USE int weir__pins_load(struct weir__pins *pins, const struct weir__question_key *key);
/* A write that pins it begins. Overflow: there are too many, and nothing is to be written;
 * NoMemory.
 */
WEIR_MUST_USE int weir__pins_claim(struct weir__pins *pins, const struct weir__question_key *key);
/* The write of who has claimed it has ended, or was never begun. */
void weir__pins_settle(struct weir__pins *pins, const struct weir__question_key *key,
                       bool is_pinned);
/* A write that unpins it has ended well. */
void weir__pins_remove(struct weir__pins *pins, const struct weir__question_key *key);

uint64_t weir__pins_count(struct weir__pins *pins);

#endif
