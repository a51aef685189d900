/* secrets.c - a table of digests, which in the end is a list that is searched by first bytes.
 *
 * Nothing is computed for a place of a text at which no secret can begin: that is one hash of eight
 * bytes and a look at a bit.
 */
#include "secrets.h"

#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "redact.h"
#include "sorted.h"

#include "banned.h"

#define CAPACITY_FIRST 64u
#define STARTS_BITS    (1u << 16) /* at least, and for each secret so many */
#define STARTS_EACH    16u

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
               : (next_capacity(secrets) - secrets->_capacity) * sizeof(secrets->_slots[0]);
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
    ret_secret->start = start_of(secret);
    ret_secret->length = (uint16_t)length;
    weir__digest_parts('s', &part, 1, &ret_secret->digest);
}

static int compare(const void *a, const void *b)
{
    const struct weir__secret *left = a, *right = b;
    if (left->start != right->start)
        return left->start < right->start ? -1 : 1;
    if (left->length != right->length)
        return left->length < right->length ? -1 : 1;
    return memcmp(&left->digest, &right->digest, sizeof(left->digest));
}

static size_t slot_of(const struct weir__secret *slots, size_t capacity,
                      const struct weir__secret *secret)
{
    uint64_t first;
    memcpy(&first, secret->digest.bytes, sizeof(first));
    size_t at = (size_t)first & (capacity - 1);
    while (slots[at].length > 0 && compare(&slots[at], secret) != 0)
        at = (at + 1) & (capacity - 1);
    return at;
}

static bool grow(struct weir__secrets *secrets)
{
    size_t capacity = next_capacity(secrets);
    if (secrets->_count == WEIR__SECRETS_MAX)
        return false;
    struct weir__secret *slots = weir__base_alloc(capacity, sizeof(*slots));
    if (!slots)
        return false;
    for (size_t i = 0; i < secrets->_capacity; i++)
        if (secrets->_slots[i].length > 0)
            slots[slot_of(slots, capacity, &secrets->_slots[i])] = secrets->_slots[i];
    weir__base_free(secrets->_slots);
    secrets->_slots = slots;
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
    secrets->_count += slot->length == 0;
    *slot = added;
}

void weir__secrets_sort(struct weir__secrets *secrets)
{
    size_t count = 0;
    if (secrets->_is_blind || secrets->_is_sorted || secrets->_count == 0)
        return;
    uint32_t bits = STARTS_BITS;
    while (bits / STARTS_EACH < secrets->_count)
        bits *= 2;
    uint64_t *starts = weir__base_alloc(bits / 64, sizeof(*starts));
    if (!starts) {
        weir__secrets_blind(secrets);
        return;
    }
    for (size_t i = 0; i < secrets->_capacity; i++)
        if (secrets->_slots[i].length > 0)
            secrets->_slots[count++] = secrets->_slots[i];
    qsort(secrets->_slots, count, sizeof(secrets->_slots[0]), compare);
    for (size_t i = 0; i < count; i++) {
        uint32_t bit = secrets->_slots[i].start % bits;
        starts[bit / 64] |= UINT64_C(1) << (bit % 64);
    }
    secrets->_starts = starts;
    secrets->_starts_bits = bits;
    secrets->_is_sorted = true;
}

/* The first one that is not before it. */
static size_t first_from(const struct weir__secrets *secrets, const struct weir__secret *wanted)
{
    return weir__sorted_from(secrets->_slots, secrets->_count, sizeof(secrets->_slots[0]), wanted,
                             compare);
}

/* The longest secret that the text begins with, or NULL. Takes from *tries. */
static const struct weir__secret *begins_with(const struct weir__secrets *secrets, const char *text,
                                              size_t length, unsigned *tries)
{
    struct weir__secret wanted = {.start = start_of(text)}, found;
    const struct weir__secret *longest = NULL;
    uint32_t bit = wanted.start % secrets->_starts_bits;
    if (!(secrets->_starts[bit / 64] >> (bit % 64) & 1))
        return NULL;
    for (size_t at; (at = first_from(secrets, &wanted)) < secrets->_count && *tries > 0;) {
        const struct weir__secret *next = &secrets->_slots[at];
        if (next->start != wanted.start || next->length > length)
            break;
        (*tries)--;
        describe(text, next->length, &found);
        at = first_from(secrets, &found);
        if (at < secrets->_count && compare(&secrets->_slots[at], &found) == 0)
            longest = &secrets->_slots[at];
        wanted.length = (uint16_t)(found.length + 1);
    }
    return longest;
}

bool weir__secrets_hide(const struct weir__secrets *secrets, char *text, size_t length)
{
    unsigned tries = WEIR__SECRETS_TRIES;
    uint64_t from, until;
    if (secrets->_is_blind)
        return false;
    if (!secrets->_is_sorted)
        return true; /* there are none */
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
