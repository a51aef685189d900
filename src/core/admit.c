/* admit.c - one decision per client: cap, rate, room.
 *
 * State: everything is under one lock. A key that is in the table has tickets out, or stands in the
 * heap with the time from which on it is idle: when its bucket will be full, which without a rate
 * is the time of its last release. As buckets fill at one pace for all, that time is known when the
 * last ticket comes home, and does not change until the next one goes out.
 *
 * Happy path: find the key or add it, fill its bucket, see that both cap and tokens allow one more,
 * count, all without letting go of the lock.
 *
 * Failure modes
 * - A refusal changes nothing: no count goes up first and down again, and no entry is made for a
 *   client that is turned away.
 * - The table is full: the first of the heap is forgotten if its time has come. If it has not, no
 *   other key's has, and the new client is refused.
 * - A ticket remembers the serial number of its key's stay in the table. An entry with tickets out
 *   is never forgotten, so a mismatch is a doubled release.
 */
#include <weir/admit.h>

#include "admit_table.h"
#include "assert.h"
#include "bucket.h"
#include "error.h"
#include "lock.h"
#include "memory.h"
#include "mutants.h"
#include "permit.h"

static const struct weir_lock_class admit_class = {"admit", WEIR__RANK_ADMIT};

/* How many keys that are due are forgotten on the way when a new one comes. Two, so that a table
 * that is used shrinks faster than it grows. */
#define EXPIRE_PER_KEY 2

/* ---- life cycle ---- */

static void set_limits(struct weir_admit_options *options, uint32_t cap, uint64_t per_s,
                       uint64_t burst)
{
    options->cap = cap ? cap : WEIR_ADMIT_CAP_DEFAULT;
    options->per_s = per_s;
    options->burst = burst ? burst : per_s < WEIR_RATE_BURST_MAX ? per_s : WEIR_RATE_BURST_MAX;
}

static int refuse_limits(const char *name, uint64_t per_s, uint64_t burst)
{
    if (burst > WEIR_RATE_BURST_MAX)
        return weir__fail(WEIR_E_INVALID, name,
                          "admit '$n': a burst of $1 was asked for, it may be 1 to $2", burst,
                          WEIR_RATE_BURST_MAX, 0);
    if (burst && !per_s)
        return weir__fail(WEIR_E_INVALID, name,
                          "admit '$n': a burst of $1 needs a rate, and none was given", burst, 0,
                          0);
    return 0;
}

int weir_admit_init(struct weir_admit *admit, const char *name,
                    const struct weir_admit_options *options)
{
    static const struct weir_admit_options defaults;
    if (!options)
        options = &defaults;
    struct weir_admit fresh = {0};
    int error = weir__name_set(fresh._name, name);
    if (!error)
        error = refuse_limits(name, options->per_s, options->burst);
    if (!error && options->keys_max > WEIR_ADMIT_KEYS_MAX)
        error = weir__fail(WEIR_E_INVALID, name,
                           "admit '$n': a table of $1 keys was asked for, it may have 1 to $2",
                           options->keys_max, WEIR_ADMIT_KEYS_MAX, 0);
    if (error)
        return error;
    fresh._options = *options;
    set_limits(&fresh._options, options->cap, options->per_s, options->burst);
    if (!options->keys_max)
        fresh._options.keys_max = WEIR_ADMIT_KEYS_DEFAULT;
    if (!options->keep_ns)
        fresh._options.keep_ns = WEIR_ADMIT_KEEP_DEFAULT_NS;
    error = weir__admit_table_init(&fresh);
    if (error)
        return error;
    weir_lock_init(&fresh._lock, &admit_class);
    *admit = fresh;
    return 0;
}

void weir_admit_fini(struct weir_admit *admit)
{
    if (!admit || !admit->_entries)
        return;
    weir_lock_acquire(&admit->_lock);
    WEIR__ASSERT(admit->_admitted == admit->_released, "admit", admit->_name,
                 "destroyed with tickets out");
    weir_lock_release(&admit->_lock);
    weir_lock_fini(&admit->_lock);
    weir__admit_table_fini(admit);
}

/* ---- under the lock ---- */

static void fill(struct weir_admit *admit, struct weir_admit_entry *entry, uint64_t now_ns)
{
    if (admit->_options.per_s)
        weir__bucket_fill(&entry->bucket, admit->_options.per_s, admit->_options.burst, now_ns);
}

/* When the key is idle if nothing more goes out. Its bucket has just been filled. */
static uint64_t idle_ns(struct weir_admit *admit, const struct weir_admit_entry *entry,
                        uint64_t now_ns)
{
    if (!admit->_options.per_s)
        return now_ns;
    return weir__bucket_due_ns(&entry->bucket, admit->_options.per_s, admit->_options.burst);
}

/* The key that may be forgotten, when it has been idle for so long; NULL when there is none. */
static struct weir_admit_entry *find_idle(struct weir_admit *admit, uint64_t now_ns,
                                          uint64_t for_ns)
{
    struct weir_admit_entry *first = weir__admit_heap_first(admit);
    if (!first)
        return NULL;
    bool is_idle = weir_time_add(first->idle_ns, for_ns) <= now_ns;
    return is_idle || WEIR__MUTANT(ADMIT_EVICTS_NOT_IDLE) ? first : NULL;
}

static uint64_t expire(struct weir_admit *admit, uint64_t now_ns, uint64_t most)
{
    struct weir_admit_entry *entry;
    uint64_t count = 0;
    while (count < most && (entry = find_idle(admit, now_ns, admit->_options.keep_ns))) {
        weir__admit_remove(admit, entry);
        count++;
    }
    admit->_expired += count;
    return count;
}

static struct weir_admit_entry *add(struct weir_admit *admit, const void *key, size_t key_size,
                                    uint64_t now_ns)
{
    expire(admit, now_ns, EXPIRE_PER_KEY);
    struct weir_admit_entry *entry = weir__admit_add(admit, key, key_size);
    struct weir_admit_entry *idle = entry ? NULL : find_idle(admit, now_ns, 0);
    if (idle) {
        weir__admit_remove(admit, idle);
        admit->_evicted++;
        entry = weir__admit_add(admit, key, key_size);
    }
    if (entry)
        entry->bucket = weir__bucket_full(admit->_options.burst, now_ns);
    return entry;
}

static int refuse_key(const struct weir_admit *admit, const void *key, size_t key_size)
{
    if (key && key_size >= 1 && key_size <= WEIR_ADMIT_KEY_MAX)
        return 0;
    return weir__fail(WEIR_E_INVALID, admit->_name,
                      "admit '$n': a key of $1 bytes was given, it may have 1 to $2",
                      key ? key_size : 0, WEIR_ADMIT_KEY_MAX, 0);
}

static int refuse_full(struct weir_admit *admit)
{
    admit->_refused_full++;
    return weir__fail(WEIR_E_OVERFLOW, admit->_name,
                      "admit '$n': the table has $1 of $2 keys and none of them is idle; "
                      "try again later",
                      admit->_keys, admit->_options.keys_max, 0);
}

/* Whether the key may have one more, with its bucket filled. */
static int refuse_more(struct weir_admit *admit, struct weir_admit_entry *entry, uint64_t now_ns)
{
    if (entry->out >= admit->_options.cap) {
        admit->_refused_cap++;
        return weir__fail(WEIR_E_BUSY, admit->_name,
                          "admit '$n': this key has $1 of $2 places; try again later", entry->out,
                          admit->_options.cap, 0);
    }
    fill(admit, entry, now_ns);
    if (admit->_options.per_s && entry->bucket._tokens == 0) {
        admit->_refused_rate++;
        return weir__fail(WEIR_E_BUSY, admit->_name,
                          "admit '$n': this key goes faster than $1 per second, the next place is "
                          "due in $t2",
                          admit->_options.per_s,
                          weir__bucket_due_ns(&entry->bucket, admit->_options.per_s, 1) - now_ns,
                          0);
    }
    return 0;
}

/* ---- calls ---- */

int weir_admit_try(struct weir_admit *admit, const void *key, size_t key_size,
                   struct weir_admit_ticket *ret_ticket)
{
    int error = refuse_key(admit, key, key_size);
    if (error)
        return error;
    weir_lock_acquire(&admit->_lock);
    uint64_t now_ns = weir_now_ns();
    struct weir_admit_entry *entry = weir__admit_find(admit, key, key_size);
    if (!entry)
        entry = add(admit, key, key_size, now_ns);
    error = entry ? refuse_more(admit, entry, now_ns) : refuse_full(admit);
    if (WEIR__MUTANT(ADMIT_CHECK_THEN_COUNT)) {
        weir_lock_release(&admit->_lock);
        weir_lock_acquire(&admit->_lock);
    }
    if (!error) {
        if (entry->heap_at != WEIR__ADMIT_NO_HEAP)
            weir__admit_heap_remove(admit, entry);
        entry->out++;
        entry->bucket._tokens -= admit->_options.per_s != 0;
        admit->_admitted++;
        *ret_ticket = (struct weir_admit_ticket){
            admit, entry->serial, weir__admit_number(admit, entry), weir__tag_take(admit)};
    }
    weir_lock_release(&admit->_lock);
    return error;
}

void weir_admit_release(struct weir_admit_ticket *ticket)
{
    struct weir_admit *admit = ticket->_admit;
    if (!admit)
        return;
    weir__tag_return(ticket->_tag, admit, "admit", admit->_name);
    weir_lock_acquire(&admit->_lock);
    uint64_t now_ns = weir_now_ns();
    struct weir_admit_entry *entry = &admit->_entries[ticket->_entry];
    WEIR__ASSERT(entry->serial == ticket->_serial && entry->out > 0, "admit", admit->_name,
                 "a ticket was released twice");
    entry->out--;
    admit->_released++;
    if (entry->out == 0) {
        fill(admit, entry, now_ns);
        entry->idle_ns = idle_ns(admit, entry, now_ns);
        weir__admit_heap_push(admit, entry);
    }
    weir_lock_release(&admit->_lock);
    *ticket = (struct weir_admit_ticket)WEIR_ADMIT_TICKET_NONE;
}

/* One key under new limits. Its bucket has been filled at the old pace. */
static void change_entry(struct weir_admit *admit, struct weir_admit_entry *entry,
                         const struct weir_admit_options *limits, uint64_t now_ns)
{
    if (!admit->_options.per_s || entry->bucket._tokens >= limits->burst)
        entry->bucket = weir__bucket_full(limits->burst, now_ns);
    if (entry->heap_at == WEIR__ADMIT_NO_HEAP)
        return;
    weir__admit_heap_remove(admit, entry);
    entry->idle_ns = now_ns;
    if (limits->per_s)
        entry->idle_ns = weir__bucket_due_ns(&entry->bucket, limits->per_s, limits->burst);
    weir__admit_heap_push(admit, entry);
}

int weir_admit_set(struct weir_admit *admit, uint32_t cap, uint64_t per_s, uint64_t burst)
{
    int error = refuse_limits(admit->_name, per_s, burst);
    if (error)
        return error;
    weir_lock_acquire(&admit->_lock);
    uint64_t now_ns = weir_now_ns();
    struct weir_admit_options limits = admit->_options;
    set_limits(&limits, cap, per_s, burst);
    for (uint32_t i = 0; i < limits.keys_max; i++) {
        struct weir_admit_entry *entry = &admit->_entries[i];
        if (!entry->serial)
            continue;
        fill(admit, entry, now_ns);
        change_entry(admit, entry, &limits, now_ns);
    }
    admit->_options = limits;
    weir_lock_release(&admit->_lock);
    return 0;
}

uint64_t weir_admit_delay_ns(struct weir_admit *admit, const void *key, size_t key_size)
{
    if (!key || key_size < 1 || key_size > WEIR_ADMIT_KEY_MAX)
        return WEIR_NEVER;
    uint64_t wait_ns = 0;
    weir_lock_acquire(&admit->_lock);
    uint64_t now_ns = weir_now_ns();
    struct weir_admit_entry *entry = weir__admit_find(admit, key, key_size);
    if (!entry) {
        if (!admit->_free && !find_idle(admit, now_ns, 0))
            wait_ns = WEIR_ADMIT_RETRY_HINT_NS;
    } else if (entry->out >= admit->_options.cap) {
        wait_ns = WEIR_ADMIT_RETRY_HINT_NS;
    } else if (admit->_options.per_s) {
        fill(admit, entry, now_ns);
        wait_ns = weir__bucket_due_ns(&entry->bucket, admit->_options.per_s, 1) - now_ns;
    }
    weir_lock_release(&admit->_lock);
    return wait_ns;
}

uint64_t weir_admit_expire(struct weir_admit *admit)
{
    weir_lock_acquire(&admit->_lock);
    uint64_t count = expire(admit, weir_now_ns(), UINT64_MAX);
    weir_lock_release(&admit->_lock);
    return count;
}

void weir_admit_read(struct weir_admit *admit, struct weir_admit_stats *ret_stats)
{
    weir_lock_acquire(&admit->_lock);
    *ret_stats = (struct weir_admit_stats){
        .keys = admit->_keys,
        .keys_max = admit->_options.keys_max,
        .cap = admit->_options.cap,
        .admitted = admit->_admitted,
        .released = admit->_released,
        .refused_cap = admit->_refused_cap,
        .refused_rate = admit->_refused_rate,
        .refused_full = admit->_refused_full,
        .created = admit->_created,
        .evicted = admit->_evicted,
        .expired = admit->_expired,
    };
    weir_lock_release(&admit->_lock);
}

const char *weir_admit_name(const struct weir_admit *admit)
{
    return admit->_name;
}
