/* admit_table.c - keys by hash, and the heap that says which one may be forgotten.
 *
 * Entries stand in one array. Each is on a chain of the hash or on the free list, linked by number;
 * numbers are stored with 1 added, so that zeroed memory is an empty table. An entry without
 * tickets is in the heap as well and knows its place there, so it can leave from the middle.
 *
 * The hash is SipHash-1-3 with a key of the process: a client that can choose among 2^64 addresses
 * must not be able to choose a chain.
 *
 * Failure modes: memory is taken in three pieces at the start; if one is missing, the others are
 * given back. After that nothing here fails.
 */
#include "admit_table.h"

#include <string.h>
#include <sys/random.h>

#include "assert.h"
#include "error.h"
#include "memory.h"

/* ---- hash ---- */

static uint64_t rotate(uint64_t x, unsigned bits)
{
    return x << bits | x >> (64 - bits);
}

static void sip_round(uint64_t v[4])
{
    v[0] += v[1];
    v[2] += v[3];
    v[1] = rotate(v[1], 13) ^ v[0];
    v[3] = rotate(v[3], 16) ^ v[2];
    v[0] = rotate(v[0], 32);
    v[2] += v[1];
    v[0] += v[3];
    v[1] = rotate(v[1], 17) ^ v[2];
    v[3] = rotate(v[3], 21) ^ v[0];
    v[2] = rotate(v[2], 32);
}

static uint64_t hash(const uint64_t secret[2], const uint8_t *key, size_t size)
{
    uint64_t v[4] = {
        secret[0] ^ UINT64_C(0x736f6d6570736575), secret[1] ^ UINT64_C(0x646f72616e646f6d),
        secret[0] ^ UINT64_C(0x6c7967656e657261), secret[1] ^ UINT64_C(0x7465646279746573)};
    for (size_t at = 0; at <= size; at += 8) {
        /* The last word is what is left, with the size in its top byte. */
        size_t left = size - at;
        uint64_t word = left < 8 ? (uint64_t)size << 56 : 0;
        for (size_t i = 0; i < (left < 8 ? left : 8); i++)
            word |= (uint64_t)key[at + i] << (8 * i);
        v[3] ^= word;
        sip_round(v);
        v[0] ^= word;
    }
    v[2] ^= 0xff;
    for (int i = 0; i < 3; i++)
        sip_round(v);
    return v[0] ^ v[1] ^ v[2] ^ v[3];
}

static void make_secret(struct weir_admit *admit, uint64_t seed)
{
    uint64_t random[2] = {seed, ~seed};
    /* Early at boot there may be no randomness yet: time and address are better than waiting. */
    if (!seed && getrandom(random, sizeof(random), GRND_NONBLOCK) != (ssize_t)sizeof(random)) {
        random[0] = weir_now_ns();
        random[1] = (uint64_t)(uintptr_t)admit;
    }
    memcpy(admit->_secret, random, sizeof(random));
}

/* ---- life cycle ---- */

int weir__admit_table_init(struct weir_admit *admit)
{
    uint32_t count = admit->_options.keys_max;
    uint32_t chains = 1;
    while (chains < count)
        chains *= 2;
    admit->_entries = weir__alloc(count, sizeof(*admit->_entries));
    admit->_chains = weir__alloc(chains, sizeof(*admit->_chains));
    admit->_heap = weir__alloc(count, sizeof(*admit->_heap));
    if (!admit->_entries || !admit->_chains || !admit->_heap) {
        weir__admit_table_fini(admit);
        return weir__fail(WEIR_E_NO_MEMORY, admit->_name,
                          "admit '$n': no memory for a table of $1 keys", count, 0, 0);
    }
    admit->_chains_mask = chains - 1;
    for (uint32_t i = 0; i < count; i++)
        admit->_entries[i].next = i + 1 < count ? i + 2 : 0;
    admit->_free = 1;
    make_secret(admit, admit->_options.seed);
    return 0;
}

void weir__admit_table_fini(struct weir_admit *admit)
{
    weir__free(admit->_entries);
    weir__free(admit->_chains);
    weir__free(admit->_heap);
    admit->_entries = NULL;
    admit->_chains = NULL;
    admit->_heap = NULL;
}

/* ---- keys ---- */

static uint32_t chain_of(const struct weir_admit *admit, const void *key, size_t key_size)
{
    return (uint32_t)hash(admit->_secret, key, key_size) & admit->_chains_mask;
}

struct weir_admit_entry *weir__admit_find(struct weir_admit *admit, const void *key,
                                          size_t key_size)
{
    uint32_t at = admit->_chains[chain_of(admit, key, key_size)];
    while (at) {
        struct weir_admit_entry *entry = &admit->_entries[at - 1];
        if (entry->key_size == key_size && memcmp(entry->key, key, key_size) == 0)
            return entry;
        at = entry->next;
    }
    return NULL;
}

struct weir_admit_entry *weir__admit_add(struct weir_admit *admit, const void *key, size_t key_size)
{
    if (!admit->_free)
        return NULL;
    uint32_t number = admit->_free - 1;
    struct weir_admit_entry *entry = &admit->_entries[number];
    uint32_t chain = chain_of(admit, key, key_size);
    admit->_free = entry->next;
    *entry = (struct weir_admit_entry){
        .key_size = (uint32_t)key_size,
        .chain = chain,
        .next = admit->_chains[chain],
        .heap_at = WEIR__ADMIT_NO_HEAP,
        .serial = ++admit->_created,
    };
    memcpy(entry->key, key, key_size);
    admit->_chains[chain] = number + 1;
    admit->_keys++;
    return entry;
}

void weir__admit_remove(struct weir_admit *admit, struct weir_admit_entry *entry)
{
    WEIR__ASSERT(entry->out == 0, "admit", admit->_name, "a key with tickets out is forgotten");
    uint32_t number = weir__admit_number(admit, entry);
    if (entry->heap_at != WEIR__ADMIT_NO_HEAP)
        weir__admit_heap_remove(admit, entry);
    uint32_t *link = &admit->_chains[entry->chain];
    while (*link != number + 1)
        link = &admit->_entries[*link - 1].next;
    *link = entry->next;
    /* The address of a client that has gone is not kept. */
    *entry = (struct weir_admit_entry){.next = admit->_free};
    admit->_free = number + 1;
    admit->_keys--;
}

/* ---- heap ---- */

static struct weir_admit_entry *heap_entry(struct weir_admit *admit, uint32_t at)
{
    return &admit->_entries[admit->_heap[at]];
}

static void heap_put(struct weir_admit *admit, uint32_t at, uint32_t number)
{
    admit->_heap[at] = number;
    admit->_entries[number].heap_at = at;
}

static bool is_before(struct weir_admit *admit, uint32_t a, uint32_t b)
{
    return heap_entry(admit, a)->idle_ns < heap_entry(admit, b)->idle_ns;
}

static void heap_swap(struct weir_admit *admit, uint32_t a, uint32_t b)
{
    uint32_t number = admit->_heap[a];
    heap_put(admit, a, admit->_heap[b]);
    heap_put(admit, b, number);
}

static void heap_up(struct weir_admit *admit, uint32_t at)
{
    while (at > 0 && is_before(admit, at, (at - 1) / 2)) {
        heap_swap(admit, at, (at - 1) / 2);
        at = (at - 1) / 2;
    }
}

static void heap_down(struct weir_admit *admit, uint32_t at)
{
    for (;;) {
        uint32_t least = at;
        for (uint32_t child = 2 * at + 1; child <= 2 * at + 2; child++)
            if (child < admit->_heap_size && is_before(admit, child, least))
                least = child;
        if (least == at)
            return;
        heap_swap(admit, at, least);
        at = least;
    }
}

void weir__admit_heap_push(struct weir_admit *admit, struct weir_admit_entry *entry)
{
    uint32_t at = admit->_heap_size++;
    heap_put(admit, at, weir__admit_number(admit, entry));
    heap_up(admit, at);
}

void weir__admit_heap_remove(struct weir_admit *admit, struct weir_admit_entry *entry)
{
    uint32_t at = entry->heap_at;
    uint32_t last = --admit->_heap_size;
    entry->heap_at = WEIR__ADMIT_NO_HEAP;
    if (at == last)
        return;
    heap_put(admit, at, admit->_heap[last]);
    heap_up(admit, at);
    heap_down(admit, at);
}

struct weir_admit_entry *weir__admit_heap_first(struct weir_admit *admit)
{
    return admit->_heap_size ? heap_entry(admit, 0) : NULL;
}
