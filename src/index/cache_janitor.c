/* cache_janitor.c - the one writer of the cache: takes in, takes out, makes room.
 *
 * It alone links and unlinks entries and changes their answers, so it reads chains without a lock
 * and takes a shard's lock only to write, or to look at the readers' marks. References are given
 * back after the lock, since the last one frees.
 *
 * Room is made before an answer is put in, so the limits hold at any moment. The hand goes around a
 * ring of all entries with an answer: who was used since it last came by is passed over once.
 */
#include "cache_part.h"

#include <string.h>

#include <weir/error.h>

#include "alloc.h"
#include "index_mutants.h"

#include "banned.h"

#define TURN_ITEMS 64u

/* --- the heap: the answer that is gone first is at 0 --- */

static uint64_t end_of(const struct weir__cache *cache, size_t at)
{
    return cache->heap[at]->answer->stale_until_ns;
}

static void heap_swap(struct weir__cache *cache, size_t a, size_t b)
{
    struct weir__cache_entry *entry = cache->heap[a];
    cache->heap[a] = cache->heap[b];
    cache->heap[b] = entry;
    cache->heap[a]->heap_at = a;
    cache->heap[b]->heap_at = b;
}

static void heap_settle(struct weir__cache *cache, size_t at)
{
    while (at > 0 && end_of(cache, at) < end_of(cache, (at - 1) / 2)) {
        heap_swap(cache, at, (at - 1) / 2);
        at = (at - 1) / 2;
    }
    for (;;) {
        size_t least = at;
        for (size_t child = 2 * at + 1; child <= 2 * at + 2 && child < cache->heap_count; child++)
            if (end_of(cache, child) < end_of(cache, least))
                least = child;
        if (least == at)
            return;
        heap_swap(cache, at, least);
        at = least;
    }
}

bool weir__cache_heap_reserve(struct weir__cache *cache)
{
    if (cache->heap_count < cache->heap_room)
        return true;
    size_t room = cache->heap_room ? cache->heap_room * 2 : 64;
    void *heap = weir__base_realloc(cache->heap, room, sizeof(cache->heap[0]));
    if (!heap)
        return false;
    cache->heap = heap;
    cache->heap_room = room;
    return true;
}

void weir__cache_heap_put(struct weir__cache *cache, struct weir__cache_entry *entry)
{
    entry->heap_at = cache->heap_count;
    cache->heap[cache->heap_count++] = entry;
    heap_settle(cache, entry->heap_at);
}

void weir__cache_heap_take(struct weir__cache *cache, struct weir__cache_entry *entry)
{
    size_t at = entry->heap_at, last = cache->heap_count - 1;
    heap_swap(cache, at, last);
    cache->heap_count--;
    entry->heap_at = WEIR__HEAP_NONE;
    if (at < cache->heap_count)
        heap_settle(cache, at);
}

/* --- the ring --- */

/* Behind the hand: it comes by last. */
static void ring_put(struct weir__cache *cache, struct weir__cache_entry *entry)
{
    if (!cache->hand) {
        cache->hand = entry->ring_prev = entry->ring_next = entry;
        return;
    }
    entry->ring_next = cache->hand;
    entry->ring_prev = cache->hand->ring_prev;
    entry->ring_prev->ring_next = entry->ring_next->ring_prev = entry;
}

static void ring_take(struct weir__cache *cache, struct weir__cache_entry *entry)
{
    if (cache->hand == entry)
        cache->hand = entry->ring_next == entry ? NULL : entry->ring_next;
    entry->ring_prev->ring_next = entry->ring_next;
    entry->ring_next->ring_prev = entry->ring_prev;
}

/* --- taking out --- */

static void count_bytes(struct weir__cache *cache, const struct weir__answer *answer, int sign)
{
    weir_gauge_add(&cache->entries, sign);
    weir_gauge_add(&cache->bytes, sign * (int64_t)answer->bytes);
}

/* The entry loses its answer, and goes, unless it stands for a pin. */
static void take_out(struct weir__cache *cache, struct weir__cache_entry *entry)
{
    struct weir__cache_shard *shard = weir__cache_shard_of(cache, &entry->key);
    struct weir__answer *answer = entry->answer;
    weir__cache_heap_take(cache, entry);
    ring_take(cache, entry);
    weir_lock_acquire(&shard->lock);
    entry->answer = NULL;
    if (!entry->is_pinned)
        *weir__cache_link(cache, &entry->key) = entry->next;
    weir_lock_release(&shard->lock);
    count_bytes(cache, answer, -1);
    weir__answer_unref(answer);
    if (!entry->is_pinned)
        weir__base_free(entry);
}

void weir__cache_remove_all(struct weir__cache *cache, struct weir_counter *count)
{
    while (cache->heap_count > 0) {
        take_out(cache, cache->heap[cache->heap_count - 1]);
        weir_counter_add(count, 1);
    }
}

void weir__cache_expire(struct weir__cache *cache, uint64_t now_ns)
{
    while (cache->heap_count > 0 && end_of(cache, 0) <= now_ns) {
        take_out(cache, cache->heap[0]);
        weir_counter_add(&cache->expired, 1);
    }
}

/* Whether it was used since the hand came by; the mark is taken off. */
static bool had_use(struct weir__cache *cache, struct weir__cache_entry *entry)
{
    struct weir__cache_shard *shard = weir__cache_shard_of(cache, &entry->key);
    weir_lock_acquire(&shard->lock);
    bool was_used = entry->was_used;
    entry->was_used = false;
    weir_lock_release(&shard->lock);
    return was_used;
}

/* Takes one out that is neither `keep` nor pinned nor, the first time around, used lately. */
static bool evict_one(struct weir__cache *cache, const struct weir__cache_entry *keep)
{
    for (size_t left = 2 * cache->heap_count; left > 0; left--) {
        struct weir__cache_entry *entry = cache->hand;
        if (entry != keep && !entry->is_pinned && !had_use(cache, entry)) {
            take_out(cache, entry);
            weir_counter_add(&cache->evicted, 1);
            return true;
        }
        cache->hand = entry->ring_next;
    }
    return false;
}

/* So many more fit, with `keep` staying. */
static bool make_room(struct weir__cache *cache, const struct weir__cache_entry *keep,
                      uint64_t entries, uint64_t bytes, uint64_t bytes_less)
{
    for (;;) {
        uint64_t entries_then = (uint64_t)weir_gauge_value(&cache->entries) + entries;
        uint64_t bytes_then = (uint64_t)weir_gauge_value(&cache->bytes) + bytes - bytes_less;
        if (entries_then <= cache->limits.entries_max && bytes_then <= cache->limits.bytes_max)
            return true;
        if (!evict_one(cache, keep))
            return false;
    }
}

/* --- taking in --- */

/* Whether an answer that was handed in says less than what is known. */
static bool is_outdated(struct weir__cache *cache, const struct weir__cache_entry *entry,
                        const struct weir__answer *answer)
{
    struct weir__cache_shard *shard = weir__cache_shard_of(cache, &answer->key);
    weir_lock_acquire(&shard->lock);
    uint64_t dropped_ns = weir__cache_dropped_ns(shard, &answer->key);
    weir_lock_release(&shard->lock);
    if (answer->asked_ns <= cache->cleared_ns || answer->asked_ns <= dropped_ns)
        return true;
    const struct weir__answer *old = entry ? entry->answer : NULL;
    if (!old)
        return false;
    if (old->has_name && answer->has_name &&
        old->name_record.sequence != answer->name_record.sequence)
        return answer->name_record.sequence < old->name_record.sequence;
    return answer->asked_ns < old->asked_ns;
}

static void put_answer(struct weir__cache *cache, struct weir__cache_entry *entry,
                       struct weir__answer *answer)
{
    struct weir__cache_shard *shard = weir__cache_shard_of(cache, &entry->key);
    struct weir__answer *old = entry->answer;
    if (old) {
        weir__cache_heap_take(cache, entry);
        count_bytes(cache, old, -1);
    } else {
        ring_put(cache, entry);
    }
    count_bytes(cache, answer, 1);
    if (WEIR__INDEX_MUTANT(CACHE_FREES_FIRST))
        weir__answer_unref(old);
    weir_lock_acquire(&shard->lock);
    entry->answer = answer;
    entry->due_told_ns = 0;
    /* It may have been dropped since it was found to be up to date, with no entry to mark. */
    uint64_t dropped_ns = weir__cache_dropped_ns(shard, &entry->key);
    if (dropped_ns > entry->dropped_ns)
        entry->dropped_ns = dropped_ns;
    weir_lock_release(&shard->lock);
    weir__cache_heap_put(cache, entry);
    weir_counter_add(old ? &cache->replaced : &cache->inserted, 1);
    if (!WEIR__INDEX_MUTANT(CACHE_FREES_FIRST))
        weir__answer_unref(old);
}

static struct weir__cache_entry *add_entry(struct weir__cache *cache,
                                           const struct weir__question_key *key)
{
    struct weir__cache_entry *entry = weir__base_alloc(1, sizeof(*entry));
    if (!entry)
        return NULL;
    entry->key = *key;
    entry->heap_at = WEIR__HEAP_NONE;
    struct weir__cache_shard *shard = weir__cache_shard_of(cache, key);
    weir_lock_acquire(&shard->lock);
    *weir__cache_link(cache, key) = entry;
    weir_lock_release(&shard->lock);
    return entry;
}

/* Takes the reference over. */
static void take_in(struct weir__cache *cache, struct weir__answer *answer)
{
    struct weir__cache_entry *entry = *weir__cache_link(cache, &answer->key);
    if (is_outdated(cache, entry, answer)) {
        weir_counter_add(&cache->outdated, 1);
        weir__answer_unref(answer);
        return;
    }
    const struct weir__answer *old = entry ? entry->answer : NULL;
    bool fits = answer->bytes <= cache->limits.bytes_max / 4 && weir__cache_heap_reserve(cache) &&
                make_room(cache, entry, old == NULL, answer->bytes, old ? old->bytes : 0);
    if (fits && !entry)
        entry = add_entry(cache, &answer->key);
    if (!fits || !entry) {
        weir_counter_add(&cache->refused, 1);
        weir__answer_unref(answer);
        return;
    }
    put_answer(cache, entry, answer);
}

static void drop(struct weir__cache *cache, const struct weir__question_key *key, uint64_t at_ns)
{
    struct weir__cache_entry *entry = *weir__cache_link(cache, key);
    if (!entry || !entry->answer || entry->answer->asked_ns > at_ns)
        return;
    take_out(cache, entry);
    weir_counter_add(&cache->dropped, 1);
}

static int pin(struct weir__cache *cache, const struct weir__question_key *key)
{
    struct weir__cache_entry *entry = *weir__cache_link(cache, key);
    if (entry && entry->is_pinned)
        return 0;
    if (!entry)
        entry = add_entry(cache, key);
    if (!entry) {
        weir_counter_add(&cache->refused, 1);
        return -WEIR_E_NO_MEMORY;
    }
    entry->is_pinned = true;
    weir_gauge_add(&cache->pinned, 1);
    return 0;
}

/* Nobody else is there yet, so it is as good as the janitor's own turn. */
int weir__cache_load_pin(struct weir__cache *cache, const struct weir__question_key *key)
{
    return pin(cache, key);
}

static void unpin(struct weir__cache *cache, const struct weir__question_key *key)
{
    struct weir__cache_entry *entry = *weir__cache_link(cache, key);
    if (!entry || !entry->is_pinned)
        return;
    entry->is_pinned = false;
    weir_gauge_add(&cache->pinned, -1);
    if (entry->answer)
        return;
    struct weir__cache_shard *shard = weir__cache_shard_of(cache, key);
    weir_lock_acquire(&shard->lock);
    *weir__cache_link(cache, key) = entry->next;
    weir_lock_release(&shard->lock);
    weir__base_free(entry);
}

void weir__cache_handle(struct weir__cache *cache, struct weir__cache_item *item)
{
    switch (item->order) {
    case WEIR__CACHE_TAKE:
        take_in(cache, item->answer);
        break;
    case WEIR__CACHE_DROP:
        drop(cache, &item->key, item->at_ns);
        break;
    case WEIR__CACHE_CLEAR:
        cache->cleared_ns = item->at_ns;
        weir__cache_remove_all(cache, &cache->dropped);
        break;
    case WEIR__CACHE_PIN:
        if (item->is_pinned)
            (void)pin(cache, &item->key); /* which has counted it */
        else
            unpin(cache, &item->key);
        break;
    }
}

/* --- turns --- */

/* Smaller limits hold as soon as they are taken over. */
static void take_rules(struct weir__cache *cache)
{
    weir_lock_acquire(&cache->rules_lock);
    cache->limits = cache->rules;
    weir_lock_release(&cache->rules_lock);
    (void)make_room(cache, NULL, 0, 0, 0);
}

static void purge(struct weir__cache *cache, uint64_t now_ns)
{
    if (cache->limits.purge_ns == 0 || now_ns - cache->purged_ns < cache->limits.purge_ns)
        return;
    cache->purged_ns = now_ns;
    weir__cache_remove_all(cache, &cache->dropped);
    weir_counter_add(&cache->purges, 1);
}

static void keep_house(struct weir__cache *cache, uint64_t now_ns)
{
    take_rules(cache);
    weir__cache_expire(cache, now_ns);
    purge(cache, now_ns);
}

void weir__cache_turn(struct weir__cache *cache, uint64_t now_ns)
{
    struct weir__cache_item items[TURN_ITEMS];
    size_t count;
    take_rules(cache);
    while (weir_queue_try_recv_many(&cache->line, items, TURN_ITEMS, &count) == 0)
        for (size_t i = 0; i < count; i++)
            weir__cache_handle(cache, &items[i]);
    keep_house(cache, now_ns);
}

/* Ends when the line is closed and empty; a stop alone ends it too, since nobody reads any more
 * then. */
int weir__cache_main(struct weir_crew_self *self, void *arg)
{
    struct weir__cache *cache = arg;
    struct weir__cache_item items[TURN_ITEMS];
    size_t count;
    for (;;) {
        struct weir_deadline turn = weir_deadline_in(WEIR__CACHE_TURN_NS, self->stop);
        int error = weir_queue_recv_many(&cache->line, items, TURN_ITEMS, &count, &turn);
        for (size_t i = 0; !error && i < count; i++)
            weir__cache_handle(cache, &items[i]);
        if (error && error != -WEIR_E_TIMEOUT)
            return error == -WEIR_E_CLOSED ? 0 : error;
        keep_house(cache, weir_now_ns());
    }
}
