/* latency.c - a table of chains over one array, with a list from the newest to the oldest entry.
 *
 * Entries are numbers into the array, 0 for none, so that the whole table is one piece of memory
 * that is zero at birth. The lock guards all of it.
 */
#include "latency.h"

#include <string.h>

#include <weir/error.h>

#include "alloc.h"
#include "locks.h"

#include "banned.h"

#define CHAINS 8192u

struct entry {
    char url[WEIR__PROVIDER_URL_MAX + 1];
    uint64_t smoothed_ns;
    uint32_t chain, next_in_chain;
    uint32_t newer, older;
};

struct weir__latency {
    struct weir_lock lock;
    uint32_t chains[CHAINS];
    uint32_t newest, oldest, count;
    struct entry entries[WEIR__LATENCY_ENTRIES + 1]; /* [0] is none */
};

const struct weir_lock_class weir__latency_class = {"latency_table", WEIR__RANK_LATENCY};

int weir__latency_new(struct weir__latency **ret_latency)
{
    struct weir__latency *latency = weir__base_alloc(1, sizeof(*latency));
    if (!latency)
        return -WEIR_E_NO_MEMORY;
    weir_lock_init(&latency->lock, &weir__latency_class);
    *ret_latency = latency;
    return 0;
}

void weir__latency_free(struct weir__latency *latency)
{
    if (!latency)
        return;
    weir_lock_fini(&latency->lock);
    weir__base_free(latency);
}

/* FNV-1a: urls come from signed records, and the table is bounded, so long chains cost a little
 * time and nothing else. */
static uint32_t chain_of(const char *url)
{
    uint64_t hash = UINT64_C(14695981039346656037);
    for (; *url; url++)
        hash = (hash ^ (unsigned char)*url) * UINT64_C(1099511628211);
    return (uint32_t)((hash >> 32 ^ hash) % CHAINS);
}

static uint32_t find(const struct weir__latency *latency, const char *url)
{
    uint32_t at = latency->chains[chain_of(url)];
    while (at && strcmp(latency->entries[at].url, url) != 0)
        at = latency->entries[at].next_in_chain;
    return at;
}

static void unlink_age(struct weir__latency *latency, uint32_t at)
{
    struct entry *entry = &latency->entries[at];
    *(entry->newer ? &latency->entries[entry->newer].older : &latency->newest) = entry->older;
    *(entry->older ? &latency->entries[entry->older].newer : &latency->oldest) = entry->newer;
}

static void push_newest(struct weir__latency *latency, uint32_t at)
{
    struct entry *entry = &latency->entries[at];
    entry->newer = 0;
    entry->older = latency->newest;
    *(latency->newest ? &latency->entries[latency->newest].newer : &latency->oldest) = at;
    latency->newest = at;
}

static void unlink_chain(struct weir__latency *latency, uint32_t at)
{
    uint32_t *link = &latency->chains[latency->entries[at].chain];
    while (*link != at)
        link = &latency->entries[*link].next_in_chain;
    *link = latency->entries[at].next_in_chain;
}

/* A place for a url that is not there: a free one, or that of the oldest. */
static uint32_t take_place(struct weir__latency *latency, const char *url, size_t length)
{
    uint32_t at = latency->oldest;
    if (latency->count < WEIR__LATENCY_ENTRIES) {
        at = ++latency->count;
    } else {
        unlink_age(latency, at);
        unlink_chain(latency, at);
    }
    struct entry *entry = &latency->entries[at];
    memcpy(entry->url, url, length + 1);
    entry->smoothed_ns = 0;
    entry->chain = chain_of(url);
    entry->next_in_chain = latency->chains[entry->chain];
    latency->chains[entry->chain] = at;
    push_newest(latency, at);
    return at;
}

uint64_t weir__latency_get(struct weir__latency *latency, const char *url)
{
    weir_lock_acquire(&latency->lock);
    uint64_t smoothed_ns = latency->entries[find(latency, url)].smoothed_ns;
    weir_lock_release(&latency->lock);
    return smoothed_ns;
}

void weir__latency_note(struct weir__latency *latency, const char *url, uint64_t took_ns)
{
    size_t length = strnlen(url, WEIR__PROVIDER_URL_MAX + 1);
    if (length > WEIR__PROVIDER_URL_MAX)
        return;
    uint64_t seen_ns =
        took_ns == 0 || took_ns > WEIR__LATENCY_SILENT_NS ? WEIR__LATENCY_SILENT_NS : took_ns;
    weir_lock_acquire(&latency->lock);
    uint32_t at = find(latency, url);
    if (at) {
        unlink_age(latency, at);
        push_newest(latency, at);
    } else {
        at = take_place(latency, url, length);
    }
    uint64_t *smoothed_ns = &latency->entries[at].smoothed_ns;
    *smoothed_ns = *smoothed_ns ? (*smoothed_ns * 3 + seen_ns) / 4 : seen_ns;
    weir_lock_release(&latency->lock);
}

uint32_t weir__latency_count(struct weir__latency *latency)
{
    weir_lock_acquire(&latency->lock);
    uint32_t count = latency->count;
    weir_lock_release(&latency->lock);
    return count;
}
