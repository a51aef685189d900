/* secrets.c - a table of digests, and one of how secrets begin.
 *
 * Nothing is computed for a place of a text at which no secret can begin: that is one hash of eight
 * bytes and a look into the second table. That has each beginning once for each length that there
 * is, so thousands of secrets that begin alike (eyJhbGci) have few entries.
 */
#include "secrets.h"

#include <string.h>

#include "alloc.h"
#include "redact.h"

#include "banned.h"

#define CAPACITY_FIRST 64u

void weir__secrets_fini(struct weir__secrets *secrets)
{
    weir__base_free(secrets->_slots);
    weir__base_free(secrets->_starts);
    *secrets = (struct weir__secrets){0};
}

void weir__secrets_blind(struct weir__secrets *secrets)
{
    weir__secrets_fini(secrets);
    secrets->_is_blind = true;
}

static bool is_full(const struct weir__secrets *secrets)
{
    return secrets->_count >= secrets->_capacity / 2;
}

static size_t next_capacity(const struct weir__secrets *secrets)
{
    return secrets->_capacity ? 2 * secrets->_capacity : CAPACITY_FIRST;
}

size_t weir__secrets_cost(const struct weir__secrets *secrets)
{
    return secrets->_is_blind || !is_full(secrets)
               ? 0
               : (next_capacity(secrets) - secrets->_capacity) *
                     (sizeof(secrets->_slots[0]) + sizeof(secrets->_starts[0]));
}

/* Half of it is thrown away: the bytes cannot be had back from it. */
static uint32_t start_of(const char *text)
{
    uint64_t bytes;
    memcpy(&bytes, text, sizeof(bytes));
    bytes ^= bytes >> 32;
    bytes *= UINT64_C(0x9e3779b97f4a7c15);
    bytes ^= bytes >> 29;
    bytes *= UINT64_C(0xbf58476d1ce4e5b9);
    return (uint32_t)(bytes >> 32);
}
_Static_assert(WEIR__SECRETS_SHORTEST == sizeof(uint64_t), "a start is as long");
_Static_assert(WEIR__SECRETS_LONGEST < UINT16_MAX, "a length fits");

static void describe(const char *secret, size_t length, struct weir__secret *ret_secret)
{
    const struct weir__known_part part = {secret, length};
    ret_secret->length = (uint16_t)length;
    weir__digest_parts('s', &part, 1, &ret_secret->digest);
}

static bool is_same(const struct weir__secret *a, const struct weir__secret *b)
{
    return a->length == b->length && memcmp(&a->digest, &b->digest, sizeof(a->digest)) == 0;
}

static size_t slot_of(const struct weir__secret *slots, size_t capacity,
                      const struct weir__secret *secret)
{
    uint64_t first;
    memcpy(&first, secret->digest.bytes, sizeof(first));
    size_t at = (size_t)first & (capacity - 1);
    while (slots[at].length > 0 && !is_same(&slots[at], secret))
        at = (at + 1) & (capacity - 1);
    return at;
}

/* Where a beginning may be, after the last place that was looked at. Each has steps of its own, so
 * that those of many lengths are in nobody's way. */
static size_t next_start(size_t capacity, uint32_t start, size_t at)
{
    return (at + ((start >> 16) | 1)) & (capacity - 1);
}

static void add_start(struct weir__secret_start *starts, size_t capacity,
                      struct weir__secret_start added)
{
    size_t at = added.start & (capacity - 1);
    while (starts[at].length > 0 &&
           (starts[at].start != added.start || starts[at].length != added.length))
        at = next_start(capacity, added.start, at);
    starts[at] = added;
}

static bool grow(struct weir__secrets *secrets)
{
    size_t capacity = next_capacity(secrets);
    if (secrets->_count == WEIR__SECRETS_MAX)
        return false;
    struct weir__secret *slots = weir__base_alloc(capacity, sizeof(*slots));
    struct weir__secret_start *starts = weir__base_alloc(capacity, sizeof(*starts));
    if (!slots || !starts) {
        weir__base_free(slots);
        weir__base_free(starts);
        return false;
    }
    for (size_t i = 0; i < secrets->_capacity; i++) {
        if (secrets->_slots[i].length > 0)
            slots[slot_of(slots, capacity, &secrets->_slots[i])] = secrets->_slots[i];
        if (secrets->_starts[i].length > 0)
            add_start(starts, capacity, secrets->_starts[i]);
    }
    weir__base_free(secrets->_slots);
    weir__base_free(secrets->_starts);
    secrets->_slots = slots;
    secrets->_starts = starts;
    secrets->_capacity = capacity;
    return true;
}

static uint8_t fewer(uint8_t a, uint8_t b)
{
    return a < b ? a : b;
}

void weir__secrets_add(struct weir__secrets *secrets, const char *secret, size_t length,
                       struct weir__ends ends)
{
    struct weir__secret added;
    if (secrets->_is_blind || length < WEIR__SECRETS_SHORTEST || length > WEIR__SECRETS_LONGEST)
        return;
    if (is_full(secrets) && !grow(secrets)) {
        weir__secrets_blind(secrets);
        return;
    }
    describe(secret, length, &added);
    struct weir__secret *slot =
        &secrets->_slots[slot_of(secrets->_slots, secrets->_capacity, &added)];
    added.ends = ends;
    if (slot->length > 0) {
        added.ends.first = fewer(ends.first, slot->ends.first);
        added.ends.last = fewer(ends.last, slot->ends.last);
    }
    if (slot->length == 0) {
        const struct weir__secret_start start = {start_of(secret), (uint16_t)length};
        add_start(secrets->_starts, secrets->_capacity, start);
        secrets->_count++;
    }
    *slot = added;
}

/* The longest secret that the text begins with, or NULL. Takes from *tries. */
static const struct weir__secret *begins_with(const struct weir__secrets *secrets, const char *text,
                                              size_t length, unsigned *tries)
{
    const struct weir__secret_start *starts = secrets->_starts;
    const struct weir__secret *longest = NULL;
    uint32_t start = start_of(text);
    size_t at = start & (secrets->_capacity - 1);
    for (; starts[at].length > 0 && *tries > 0; at = next_start(secrets->_capacity, start, at)) {
        struct weir__secret wanted;
        if (starts[at].start != start || starts[at].length > length ||
            (longest && starts[at].length < longest->length))
            continue;
        (*tries)--;
        describe(text, starts[at].length, &wanted);
        const struct weir__secret *found =
            &secrets->_slots[slot_of(secrets->_slots, secrets->_capacity, &wanted)];
        longest = found->length > 0 ? found : longest;
    }
    return longest;
}

bool weir__secrets_hide(const struct weir__secrets *secrets, char *text, size_t length)
{
    unsigned tries = WEIR__SECRETS_TRIES;
    uint64_t from, until;
    if (secrets->_is_blind)
        return false;
    if (secrets->_count == 0)
        return true;
    /* Secrets that begin in the middle of another are not looked for: that one is hidden. */
    for (size_t at = 0; at + WEIR__SECRETS_SHORTEST <= length;) {
        const struct weir__secret *found = begins_with(secrets, text + at, length - at, &tries);
        if (tries == 0) {
            weir__hide(text, at, length);
            break;
        }
        if (found) {
            weir__hidden_part(found->length, found->ends, &from, &until);
            weir__hide(text + at, (size_t)from, (size_t)until);
        }
        at += found ? found->length : 1;
    }
    return true;
}
