/* slots.c - a bounded table from device to budget.
 *
 * State: a chained hash table of entries under one lock. An entry is a budget, the device it is
 * for, and a count of pins. Whoever is about to touch an entry's budget pins it under the lock
 * first and unpins it afterwards: a permit and a waiter keep their pin as long as they exist. So an
 * entry without pins has every slot home and nobody in line, and may be taken out and freed; the
 * other direction never errs, since the pin is taken in the same critical section that found the
 * entry. The entry of the unknown pool is made with the object and never goes.
 *
 * Happy path: lock, find, pin, unlock; then the budget's own single compare-and-swap. Release: the
 * budget's compare-and-swap; then lock, unpin, unlock.
 *
 * First use: the entry is made outside of the lock, since making it allocates, and looked up once
 * more before it goes in: of two threads that meet, one throws its own away.
 *
 * Failure modes: no memory for a first use is an error and changes nothing. A full table first
 * forgets what is idle; if everything is in use, the request goes to the unknown pool, whose slots
 * bound it, and is counted. A release gives the slot back before it unpins, never the other way
 * round. Cancel of a callback waiter finds the entry by its key and not by the waiter's pointer,
 * which may be stale by then.
 */
#include <weir/slots.h>

#include <stdio.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "assert.h"
#include "error.h"
#include "lock.h"
#include "memory.h"
#include "mutants.h"

struct weir__slots_entry {
    struct weir_budget budget;
    struct weir_device device;
    struct weir__slots_entry *next;
    uint64_t pins;
    uint64_t used_ns; /* when the last pin went */
    bool was_used;
};

static const struct weir_lock_class slots_class = {"slots", WEIR__RANK_SLOTS};

/* ---- configuration ---- */

static int check_slots(uint64_t slots)
{
    if (slots >= 1 && slots <= WEIR_BUDGET_MAX)
        return 0;
    return weir__fail(WEIR_E_INVALID, NULL,
                      "$1 slots for a device were asked for, it may be 1 to $2", slots,
                      WEIR_BUDGET_MAX, 0);
}

int weir_slots_config_uniform(struct weir_slots_config *config, uint64_t slots)
{
    int error = check_slots(slots);
    if (!error)
        config->default_slots = slots;
    return error;
}

int weir_slots_config_device(struct weir_slots_config *config, struct weir_device device,
                             uint64_t slots)
{
    int error = check_slots(slots);
    if (error)
        return error;
    uint32_t at = 0;
    while (at < config->overrides_count && config->overrides[at].device._raw != device._raw)
        at++;
    if (at >= WEIR_SLOTS_OVERRIDES_MAX)
        return weir__fail(WEIR_E_OVERFLOW, NULL, "at most $1 devices can have slots of their own",
                          WEIR_SLOTS_OVERRIDES_MAX, 0, 0);
    config->overrides[at].device = device;
    config->overrides[at].slots = slots;
    if (at == config->overrides_count)
        config->overrides_count++;
    return 0;
}

int weir_slots_config_path(struct weir_slots_config *config, const char *path, uint64_t slots)
{
    struct weir_device device;
    int error = weir_device_try_from_path(path, &device);
    return error ? error : weir_slots_config_device(config, device, slots);
}

/* Configurations may also be filled in by hand. */
static int check_config(const char *name, const struct weir_slots_config *config)
{
    int error = config->default_slots ? check_slots(config->default_slots) : 0;
    if (config->overrides_count > WEIR_SLOTS_OVERRIDES_MAX)
        return weir__fail(WEIR_E_INVALID, name, "slots '$n': $1 overrides, at most $2 are possible",
                          config->overrides_count, WEIR_SLOTS_OVERRIDES_MAX, 0);
    for (uint32_t i = 0; i < config->overrides_count && !error; i++)
        error = check_slots(config->overrides[i].slots);
    if (!error && config->devices_max > WEIR_SLOTS_DEVICES_MAX)
        return weir__fail(
            WEIR_E_INVALID, name,
            "slots '$n': a table of $1 devices was asked for, at most $2 are possible",
            config->devices_max, WEIR_SLOTS_DEVICES_MAX, 0);
    return error;
}

/* ---- entries ---- */

static struct weir__slots_entry **bucket_of(struct weir_slots *slots, uint64_t raw)
{
    /* Numbers of devices differ in low bits of two fields: a multiplication spreads them. */
    uint64_t hash = raw * UINT64_C(0x9e3779b97f4a7c15);
    return &slots->_buckets[hash >> 58];
}

/* Under the lock. */
static struct weir__slots_entry *find(struct weir_slots *slots, uint64_t raw)
{
    if (raw == WEIR_DEVICE_UNKNOWN_RAW)
        return slots->_unknown;
    struct weir__slots_entry *entry = *bucket_of(slots, raw);
    while (entry && entry->device._raw != raw)
        entry = entry->next;
    return entry;
}

/* "NAME/8:0", the name cut where it does not fit. */
static void name_entry(const struct weir_slots *slots, struct weir_device device,
                       char name[WEIR_NAME_MAX])
{
    char tail[24] = "/unknown";
    if (!weir_device_is_unknown(device))
        snprintf(tail, sizeof(tail), "/%u:%u", major(device._raw), minor(device._raw));
    size_t tail_length = strlen(tail);
    size_t length = strnlen(slots->_name, WEIR_NAME_MAX - 1 - tail_length);
    memcpy(name, slots->_name, length);
    memcpy(name + length, tail, tail_length + 1);
}

static int entry_new(struct weir_slots *slots, struct weir_device device,
                     struct weir__slots_entry **ret_entry)
{
    char name[WEIR_NAME_MAX];
    name_entry(slots, device, name);
    struct weir__slots_entry *entry = weir__alloc(1, sizeof(*entry));
    if (!entry)
        return weir__fail(WEIR_E_NO_MEMORY, name, "slots '$n': no memory for another device", 0, 0,
                          0);
    struct weir_budget_options options = {.capacity = weir_slots_total(slots, device),
                                          .waiters_max = slots->_config.waiters_max};
    int error = weir_budget_init_with(&entry->budget, name, &options);
    if (error) {
        weir__free(entry);
        return error;
    }
    entry->device = device;
    *ret_entry = entry;
    return 0;
}

/* With no lock held. Takes a list, of entries that nobody can reach any more. */
static void entries_free(struct weir__slots_entry *entry)
{
    while (entry) {
        struct weir__slots_entry *next = entry->next;
        weir_budget_fini(&entry->budget);
        weir__free(entry);
        entry = next;
    }
}

int weir_slots_init(struct weir_slots *slots, const char *name,
                    const struct weir_slots_config *config)
{
    struct weir_slots fresh = {0};
    int error = weir__name_set(fresh._name, name);
    if (!error && config)
        error = check_config(name, config);
    if (error)
        return error;
    if (config)
        fresh._config = *config;
    if (!fresh._config.devices_max)
        fresh._config.devices_max = WEIR_SLOTS_DEVICES_DEFAULT;
    if (!fresh._config.idle_ns)
        fresh._config.idle_ns = WEIR_SLOTS_IDLE_DEFAULT_NS;
    weir_lock_init(&fresh._lock, &slots_class);
    error = entry_new(&fresh, WEIR_DEVICE_UNKNOWN, &fresh._unknown);
    if (error)
        return error;
    *slots = fresh;
    return 0;
}

void weir_slots_fini(struct weir_slots *slots)
{
    if (!slots || !slots->_unknown)
        return;
    weir_lock_acquire(&slots->_lock);
    struct weir__slots_entry *gone = slots->_unknown;
    slots->_unknown = NULL;
    for (unsigned i = 0; i < WEIR__SLOTS_BUCKETS; i++) {
        struct weir__slots_entry *entry;
        while ((entry = slots->_buckets[i])) {
            slots->_buckets[i] = entry->next;
            entry->next = gone;
            gone = entry;
        }
    }
    for (struct weir__slots_entry *entry = gone; entry; entry = entry->next)
        WEIR__ASSERT(entry->pins == 0, "slots", weir_budget_name(&entry->budget),
                     "destroyed with permits out or while somebody waits");
    weir_lock_release(&slots->_lock);
    entries_free(gone);
    weir_lock_fini(&slots->_lock);
}

/* ---- pruning, under the lock ---- */

/* What the budget has counted is kept, so that the counts of the whole never go back. */
static void keep_counts(struct weir_slots *slots, struct weir_budget *budget)
{
    struct weir_budget_stats stats;
    weir_budget_read(budget, &stats);
    slots->_past.acquired += stats.acquired;
    slots->_past.released += stats.released;
    slots->_past.enqueued += stats.enqueued;
    slots->_past.granted += stats.granted;
    slots->_past.canceled += stats.canceled;
    slots->_past.timed_out += stats.timed_out;
    slots->_past.refused += stats.refused;
    slots->_past.busy += stats.busy;
}

/* Moves the entry that *link points at to the list of those to be freed. */
static void take_out(struct weir_slots *slots, struct weir__slots_entry **link,
                     struct weir__slots_entry **gone)
{
    struct weir__slots_entry *entry = *link;
    keep_counts(slots, &entry->budget);
    *link = entry->next;
    entry->next = *gone;
    *gone = entry;
    slots->_count--;
    slots->_pruned++;
}

static bool is_idle(const struct weir__slots_entry *entry, uint64_t now_ns, uint64_t older_than_ns)
{
    return entry->pins == 0 && now_ns - entry->used_ns >= older_than_ns;
}

static uint64_t take_out_idle(struct weir_slots *slots, uint64_t older_than_ns,
                              struct weir__slots_entry **gone)
{
    uint64_t now_ns = weir_now_ns(), count = 0;
    for (unsigned i = 0; i < WEIR__SLOTS_BUCKETS; i++) {
        struct weir__slots_entry **link = &slots->_buckets[i];
        while (*link) {
            if (is_idle(*link, now_ns, older_than_ns)) {
                take_out(slots, link, gone);
                count++;
            } else {
                link = &(*link)->next;
            }
        }
    }
    return count;
}

/* The one that was unused longest makes room for another. */
static void take_out_oldest(struct weir_slots *slots, struct weir__slots_entry **gone)
{
    struct weir__slots_entry **oldest = NULL;
    for (unsigned i = 0; i < WEIR__SLOTS_BUCKETS; i++)
        for (struct weir__slots_entry **link = &slots->_buckets[i]; *link; link = &(*link)->next)
            if ((*link)->pins == 0 && (!oldest || (*link)->used_ns < (*oldest)->used_ns))
                oldest = link;
    if (oldest)
        take_out(slots, oldest, gone);
}

uint64_t weir_slots_prune(struct weir_slots *slots, uint64_t older_than_ns)
{
    struct weir__slots_entry *gone = NULL;
    weir_lock_acquire(&slots->_lock);
    uint64_t count = take_out_idle(slots, older_than_ns, &gone);
    weir_lock_release(&slots->_lock);
    entries_free(gone);
    return count;
}

/* ---- pins ---- */

static void insert(struct weir_slots *slots, struct weir__slots_entry *entry)
{
    struct weir__slots_entry **bucket = bucket_of(slots, entry->device._raw);
    entry->next = *bucket;
    *bucket = entry;
    slots->_count++;
    slots->_created++;
}

/* The first use of a device, or one after it was forgotten. */
static int pin_new(struct weir_slots *slots, struct weir_device device,
                   struct weir__slots_entry **ret_entry)
{
    struct weir__slots_entry *gone = NULL, *fresh, *entry;
    int error = entry_new(slots, device, &fresh);
    if (error)
        return error;
    weir_lock_acquire(&slots->_lock);
    entry = WEIR__MUTANT(SLOTS_NO_SECOND_LOOK) ? NULL : find(slots, device._raw);
    if (!entry) {
        take_out_idle(slots, slots->_config.idle_ns, &gone);
        if (slots->_count >= slots->_config.devices_max)
            take_out_oldest(slots, &gone);
        if (slots->_count < slots->_config.devices_max) {
            insert(slots, fresh);
            entry = fresh;
            fresh = NULL;
        } else {
            slots->_shared++;
            entry = slots->_unknown;
        }
    }
    entry->pins++;
    entry->was_used = true;
    weir_lock_release(&slots->_lock);
    entries_free(gone);
    entries_free(fresh);
    *ret_entry = entry;
    return 0;
}

static int pin(struct weir_slots *slots, struct weir_device device,
               struct weir__slots_entry **ret_entry)
{
    weir_lock_acquire(&slots->_lock);
    struct weir__slots_entry *entry = find(slots, device._raw);
    if (entry) {
        entry->pins++;
        entry->was_used = true;
    }
    weir_lock_release(&slots->_lock);
    if (!entry)
        return pin_new(slots, device, ret_entry);
    *ret_entry = entry;
    return 0;
}

static void unpin(struct weir_slots *slots, struct weir__slots_entry *entry)
{
    uint64_t now_ns = weir_now_ns();
    weir_lock_acquire(&slots->_lock);
    WEIR__ASSERT(entry->pins > 0, "slots", slots->_name, "more slots released than were acquired");
    entry->pins--;
    entry->used_ns = now_ns;
    weir_lock_release(&slots->_lock);
}

/* ---- taking and returning ---- */

/* Makes the permit of one that has been taken, or lets the pin go. Returns the error. */
static int settle(struct weir_slots *slots, struct weir__slots_entry *entry,
                  struct weir_device device, int error, struct weir_permit permit,
                  struct weir_slots_permit *ret_permit)
{
    if (error)
        unpin(slots, entry);
    else
        *ret_permit = (struct weir_slots_permit){permit, slots, entry, device};
    return error;
}

int weir_slots_try(struct weir_slots *slots, struct weir_device device,
                   struct weir_slots_permit *ret_permit)
{
    struct weir__slots_entry *entry;
    struct weir_permit permit = WEIR_PERMIT_NONE;
    int error = pin(slots, device, &entry);
    if (error)
        return error;
    error = weir_budget_try(&entry->budget, 1, &permit);
    return settle(slots, entry, device, error, permit, ret_permit);
}

int weir_slots_acquire(struct weir_slots *slots, struct weir_device device,
                       struct weir_slots_permit *ret_permit, const struct weir_deadline *deadline)
{
    struct weir__slots_entry *entry;
    struct weir_permit permit = WEIR_PERMIT_NONE;
    int error = pin(slots, device, &entry);
    if (error)
        return error;
    error = weir_budget_acquire(&entry->budget, 1, &permit, deadline);
    return settle(slots, entry, device, error, permit, ret_permit);
}

int weir_slots_try_for_path(struct weir_slots *slots, const char *path,
                            struct weir_slots_permit *ret_permit)
{
    return weir_slots_try(slots, weir_device_from_path(path), ret_permit);
}

void weir_slots_release(struct weir_slots_permit *permit)
{
    struct weir_slots *slots = permit->_slots;
    struct weir__slots_entry *entry = permit->_entry;
    if (!slots)
        return;
    permit->_slots = NULL;
    permit->_entry = NULL;
    if (WEIR__MUTANT(SLOTS_UNPIN_FIRST)) {
        unpin(slots, entry);
        weir_permit_release(&permit->_permit);
        return;
    }
    weir_permit_release(&permit->_permit);
    unpin(slots, entry);
}

void weir_slots_permit_move(struct weir_slots_permit *to, struct weir_slots_permit *from)
{
    WEIR__ASSERT(!to->_slots, "slots", to->_slots->_name,
                 "a permit was moved onto one that is still held");
    *to = *from;
    *from = (struct weir_slots_permit)WEIR_SLOTS_PERMIT_NONE;
}

/* ---- callbacks ---- */

static void on_grant(struct weir_budget_waiter *budget_waiter, int result,
                     struct weir_permit permit)
{
    struct weir_slots_waiter *waiter = (struct weir_slots_waiter *)budget_waiter;
    struct weir_slots_permit granted = WEIR_SLOTS_PERMIT_NONE;
    (void)settle(waiter->_slots, waiter->_entry, waiter->_device, result, permit, &granted);
    waiter->_fn(waiter, result, granted); /* may free the waiter */
}

int weir_slots_acquire_async(struct weir_slots *slots, struct weir_device device,
                             struct weir_slots_permit *ret_permit, struct weir_slots_waiter *waiter,
                             void (*fn)(struct weir_slots_waiter *waiter, int result,
                                        struct weir_slots_permit permit))
{
    struct weir__slots_entry *entry;
    struct weir_permit permit = WEIR_PERMIT_NONE;
    int result = pin(slots, device, &entry);
    if (result)
        return result;
    /* Before the budget has it: the callback may come before the next call returns. */
    waiter->_slots = slots;
    waiter->_entry = entry;
    waiter->_device = device;
    waiter->_key = entry->device._raw;
    waiter->_fn = fn;
    result = weir_budget_acquire_async(&entry->budget, 1, &permit, &waiter->_waiter, on_grant);
    if (result == WEIR_BUDGET_QUEUED)
        return result;
    return settle(slots, entry, device, result, permit, ret_permit);
}

bool weir_slots_cancel_async(struct weir_slots *slots, struct weir_slots_waiter *waiter)
{
    /* The waiter's own pin goes with its grant, so the entry may be gone, or a new one may stand
     * for the device: then the waiter is in no line, which is what the budget will say. */
    weir_lock_acquire(&slots->_lock);
    struct weir__slots_entry *entry = find(slots, waiter->_key);
    if (entry)
        entry->pins++;
    weir_lock_release(&slots->_lock);
    if (!entry)
        return false;
    bool left = weir_budget_cancel_async(&entry->budget, &waiter->_waiter);
    if (left)
        unpin(slots, entry); /* the waiter's */
    unpin(slots, entry);
    return left;
}

/* ---- looking ---- */

uint64_t weir_slots_total(const struct weir_slots *slots, struct weir_device device)
{
    const struct weir_slots_config *config = &slots->_config;
    for (uint32_t i = 0; i < config->overrides_count; i++)
        if (config->overrides[i].device._raw == device._raw)
            return config->overrides[i].slots;
    return config->default_slots ? config->default_slots : weir_disk_slots(device._kind);
}

int weir_slots_available(struct weir_slots *slots, struct weir_device device,
                         uint64_t *ret_available)
{
    weir_lock_acquire(&slots->_lock);
    struct weir__slots_entry *entry = find(slots, device._raw);
    bool is_known = entry && entry->was_used;
    uint64_t available = is_known ? weir_budget_available(&entry->budget) : 0;
    weir_lock_release(&slots->_lock);
    if (!is_known)
        return weir__fail(WEIR_E_NOT_FOUND, slots->_name,
                          "slots '$n': device $1 has not been used, or not for long", device._raw,
                          0, 0);
    *ret_available = available;
    return 0;
}

uint64_t weir_slots_active(struct weir_slots *slots)
{
    weir_lock_acquire(&slots->_lock);
    uint64_t active = slots->_count + (slots->_unknown->was_used ? 1 : 0);
    weir_lock_release(&slots->_lock);
    return active;
}

static void add_counts(struct weir_budget *budget, struct weir_slots_stats *stats)
{
    struct weir_budget_stats one;
    weir_budget_read(budget, &one);
    stats->in_use += one.in_use;
    stats->waiting += one.waiting;
    stats->acquired += one.acquired;
    stats->released += one.released;
    stats->enqueued += one.enqueued;
    stats->granted += one.granted;
    stats->canceled += one.canceled;
    stats->timed_out += one.timed_out;
    stats->refused += one.refused;
    stats->busy += one.busy;
}

void weir_slots_read(struct weir_slots *slots, struct weir_slots_stats *ret_stats)
{
    weir_lock_acquire(&slots->_lock);
    struct weir_slots_stats stats = {
        .devices = slots->_count + (slots->_unknown->was_used ? 1u : 0u),
        .devices_max = slots->_config.devices_max,
        .acquired = slots->_past.acquired,
        .released = slots->_past.released,
        .enqueued = slots->_past.enqueued,
        .granted = slots->_past.granted,
        .canceled = slots->_past.canceled,
        .timed_out = slots->_past.timed_out,
        .refused = slots->_past.refused,
        .busy = slots->_past.busy,
        .created = slots->_created,
        .pruned = slots->_pruned,
        .shared = slots->_shared,
    };
    add_counts(&slots->_unknown->budget, &stats);
    for (unsigned i = 0; i < WEIR__SLOTS_BUCKETS; i++)
        for (struct weir__slots_entry *entry = slots->_buckets[i]; entry; entry = entry->next)
            add_counts(&entry->budget, &stats);
    weir_lock_release(&slots->_lock);
    *ret_stats = stats;
}

static struct weir_slots_device describe(struct weir__slots_entry *entry)
{
    struct weir_budget_stats stats;
    weir_budget_read(&entry->budget, &stats);
    return (struct weir_slots_device){entry->device, stats.capacity, stats.in_use,
                                      stats.waiting, stats.enqueued, stats.busy};
}

size_t weir_slots_list(struct weir_slots *slots, struct weir_slots_device *ret_devices, size_t room)
{
    size_t count = 0;
    weir_lock_acquire(&slots->_lock);
    if (slots->_unknown->was_used) {
        if (count < room)
            ret_devices[count] = describe(slots->_unknown);
        count++;
    }
    for (unsigned i = 0; i < WEIR__SLOTS_BUCKETS; i++)
        for (struct weir__slots_entry *entry = slots->_buckets[i]; entry; entry = entry->next) {
            if (count < room)
                ret_devices[count] = describe(entry);
            count++;
        }
    weir_lock_release(&slots->_lock);
    return count;
}

const char *weir_slots_name(const struct weir_slots *slots)
{
    return slots->_name;
}
