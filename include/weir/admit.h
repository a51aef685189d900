/* admit.h - how much one client may have: a concurrent cap and a rate for each key.
 *
 *     struct weir_admit_ticket ticket = WEIR_ADMIT_TICKET_NONE;
 *     int error = weir_admit_try(&admit, address, address_size, &ticket);
 *     if (error)
 *         refuse the connection; weir_admit_delay_ns() is its Retry-After
 *     ...
 *     weir_admit_release(&ticket);
 *
 * The key is whatever tells clients apart, usually an address without its port (for IPv6, rather
 * the network that a client can choose addresses from).
 *
 * Promises
 * - One decision: cap, rate and room in the table are looked at and counted in one step. A refused
 *   client has not been counted, and two that come together cannot both have the last place.
 * - Never more than cap tickets of one key are out, and over any time t never more than
 *   burst + per_s * t have been handed to it.
 * - The table holds at most keys_max keys and all of its memory is taken at the start. When it is
 *   full, the key that has been idle the longest makes room. Idle means no ticket out and a full
 *   bucket, which is just what an unknown key has: so forgetting one never grants anything. When no
 *   key is idle, the new one is refused with Overflow and counted.
 * - A key that was idle for keep_ns is forgotten, the next time that a new one comes or at
 *   weir_admit_expire().
 * - Keys are hashed with a secret of the process, so that clients who choose their addresses cannot
 *   make the table slow. Texts about refusals have numbers in them, never a key.
 *
 * Memory order: what a thread did before releasing a ticket happens before what the one that is
 * admitted in its place does next.
 *
 * Cost: a short lock, a hash, a look at the clock; when a key becomes idle or stops being so,
 * log(keys) steps. Never waits, never allocates after init.
 *
 * Ownership: the object lives in the caller's memory, owns its table until fini, copies keys, and
 * must outlive its tickets; a ticket belongs to whoever was admitted and is released there once.
 */
#ifndef WEIR_ADMIT_H
#define WEIR_ADMIT_H

#include <weir/clock.h>
#include <weir/error.h>
#include <weir/lock.h>

WEIR_BEGIN_DECLS

#define WEIR_ADMIT_KEY_MAX         32u
#define WEIR_ADMIT_CAP_DEFAULT     256u
#define WEIR_ADMIT_KEYS_DEFAULT    16384u
#define WEIR_ADMIT_KEYS_MAX        (1u << 20)
#define WEIR_ADMIT_KEEP_DEFAULT_NS (60 * WEIR_NS_PER_S)
#define WEIR_ADMIT_RETRY_HINT_NS   WEIR_NS_PER_S

/* A zero stands for the default. */
struct weir_admit_options {
    uint32_t cap;      /* tickets out for one key */
    uint64_t per_s;    /* tickets per second for one key; 0: no limit in rate */
    uint64_t burst;    /* 1 to WEIR_RATE_BURST_MAX; 0: one second's worth */
    uint32_t keys_max; /* at most WEIR_ADMIT_KEYS_MAX */
    uint64_t keep_ns;  /* how long an idle key is remembered */
    uint64_t seed;     /* of the hash; 0: random */
};

struct weir_admit_entry;

struct weir_admit {
    struct weir_lock _lock; /* guards all that follows */
    struct weir_admit_options _options;
    struct weir_admit_entry *_entries; /* keys_max of them; NULL when there is no table */
    uint32_t *_chains;                 /* of the hash: entry number + 1, 0 ends */
    uint32_t *_heap;                   /* entries without tickets out, soonest idle first */
    uint32_t _chains_mask;
    uint32_t _heap_size;
    uint32_t _free; /* entry number + 1 of the first unused one */
    uint32_t _keys;
    uint64_t _secret[2];
    uint64_t _admitted;
    uint64_t _released;
    uint64_t _refused_cap;
    uint64_t _refused_rate;
    uint64_t _refused_full;
    uint64_t _evicted;
    uint64_t _expired;
    uint64_t _created;
    char _name[WEIR_NAME_MAX];
};

/* What try fills in. All zero is an empty ticket. */
struct weir_admit_ticket {
    struct weir_admit *_admit;
    uint64_t _serial; /* of the key's stay in the table */
    uint32_t _entry;
    uint64_t _tag; /* finds doubled releases in builds with checks */
};

#define WEIR_ADMIT_TICKET_NONE                                                                     \
    {                                                                                              \
        NULL, 0, 0, 0                                                                              \
    }

/* Life cycle. options may be NULL. Invalid: a number out of its bounds, a bad name. NoMemory. */
WEIR_API WEIR_MUST_USE int weir_admit_init(struct weir_admit *admit, const char *name,
                                           const struct weir_admit_options *options);

/* Asserts that every ticket is home. */
WEIR_API void weir_admit_fini(struct weir_admit *admit);

/* Admits one more for this key, or refuses: Busy, the key is at its cap or goes too fast; Overflow,
 * it is new and the table is full of others that are not idle. Invalid: a key of 0 or more than
 * WEIR_ADMIT_KEY_MAX bytes. Never waits. */
WEIR_API WEIR_MUST_USE int weir_admit_try(struct weir_admit *admit, const void *key,
                                          size_t key_size, struct weir_admit_ticket *ret_ticket);

/* Gives the place back and empties the ticket. An empty ticket is left alone, so this may be the
 * WEIR_CLEANUP of a variable. */
WEIR_API void weir_admit_release(struct weir_admit_ticket *ticket);

/* Changes cap and rate for all keys (zeros as in the options). Tickets that are out stay out; what
 * has accrued until now accrued at the old pace. Walks the whole table. */
WEIR_API WEIR_MUST_USE int weir_admit_set(struct weir_admit *admit, uint32_t cap, uint64_t per_s,
                                          uint64_t burst);

/* When to come back after a refusal: 0 for now, the time until the next token for a key that goes
 * too fast, and WEIR_ADMIT_RETRY_HINT_NS for what ends when somebody else leaves. */
WEIR_API uint64_t weir_admit_delay_ns(struct weir_admit *admit, const void *key, size_t key_size);

/* Forgets the keys that were idle for keep_ns. Returns how many. */
WEIR_API uint64_t weir_admit_expire(struct weir_admit *admit);

/* A consistent picture. The counts only grow; admitted - released is the number of tickets out. */
struct weir_admit_stats {
    uint64_t keys;
    uint64_t keys_max;
    uint64_t cap;
    uint64_t admitted;
    uint64_t released;
    uint64_t refused_cap;
    uint64_t refused_rate;
    uint64_t refused_full; /* new keys while the table was full */
    uint64_t created;      /* keys = created - evicted - expired */
    uint64_t evicted;      /* idle keys that made room */
    uint64_t expired;
};

WEIR_API void weir_admit_read(struct weir_admit *admit, struct weir_admit_stats *ret_stats);
WEIR_API const char *weir_admit_name(const struct weir_admit *admit);

WEIR_END_DECLS

#endif
