/* admit_table.h - the keys that admission knows: a hash table of fixed size and a heap of those
 * without tickets, under the lock of admit.c.
 *
 * Ownership: the table belongs to the struct weir_admit that it is in.
 */
#ifndef WEIR_CORE_ADMIT_TABLE_H
#define WEIR_CORE_ADMIT_TABLE_H

#include <weir/admit.h>
#include <weir/rate.h>

/* Not in the heap: tickets are out. */
#define WEIR__ADMIT_NO_HEAP UINT32_MAX

struct weir_admit_entry {
    uint8_t key[WEIR_ADMIT_KEY_MAX];
    uint32_t key_size;
    uint32_t chain; /* which chain of the hash it is on */
    uint32_t next;  /* there or on the free list: entry number + 1 */
    uint32_t heap_at;
    uint32_t out; /* tickets */
    struct weir_rate_bucket bucket;
    uint64_t idle_ns; /* from then on it is idle; while it is in the heap */
    uint64_t serial;
};

/* Takes the memory for options.keys_max keys. NoMemory leaves nothing behind. */
WEIR_MUST_USE int weir__admit_table_init(struct weir_admit *admit);
void weir__admit_table_fini(struct weir_admit *admit);

/* NULL when the key is not there. */
struct weir_admit_entry *weir__admit_find(struct weir_admit *admit, const void *key,
                                          size_t key_size);

/* A new entry for a key that is not there, with nothing out, in no heap, its bucket all zero; NULL
 * when all are used. */
struct weir_admit_entry *weir__admit_add(struct weir_admit *admit, const void *key,
                                         size_t key_size);

/* Out of the table, and out of the heap if it is there. */
void weir__admit_remove(struct weir_admit *admit, struct weir_admit_entry *entry);

/* The heap is ordered by idle_ns, which must not change while an entry is in it. */
void weir__admit_heap_push(struct weir_admit *admit, struct weir_admit_entry *entry);
void weir__admit_heap_remove(struct weir_admit *admit, struct weir_admit_entry *entry);

/* The entry that is idle since the longest, or will be first; NULL when all have tickets out. */
struct weir_admit_entry *weir__admit_heap_first(struct weir_admit *admit);

static inline uint32_t weir__admit_number(const struct weir_admit *admit,
                                          const struct weir_admit_entry *entry)
{
    return (uint32_t)(entry - admit->_entries);
}

#endif
