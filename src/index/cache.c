/* cache.c - reading and handing in: what every thread may do.
 *
 * State: shards of chained entries, each with a lock of class cache_meta; a bounded line to the
 * janitor. Happy path of a reader: lock the shard, walk the chain, take a reference, unlock. Happy
 * path of who hands in: a reference and one try at the line. Failure modes: the line is full, and
 * the answer is not cached, which is counted.
 *
 * A reader never sees a half-written entry: the janitor changes an entry's answer under the shard's
 * lock, and the answer itself never changes.
 */
#include "cache_part.h"

#include <string.h>

#include <weir/error.h>

#include "alloc.h"
#include "index_mutants.h"
#include "locks.h"

#include "banned.h"

const struct weir_lock_class weir__cache_meta_class = {"cache_meta", WEIR__RANK_CACHE_META};
const struct weir_lock_class weir__cache_rules_class = {"cache_rules", WEIR__RANK_CACHE_RULES};

/* Keys are hashes already: parts of them are as good as a hash of them. */
static uint64_t word_of(const struct weir__question_key *key, size_t at)
{
    uint64_t word;
    memcpy(&word, &key->bytes[at], sizeof(word));
    return word;
}

struct weir__cache_shard *weir__cache_shard_of(struct weir__cache *cache,
                                               const struct weir__question_key *key)
{
    return &cache->shards[word_of(key, 8) % WEIR__CACHE_SHARDS];
}

struct weir__cache_entry **weir__cache_link(struct weir__cache *cache,
                                            const struct weir__question_key *key)
{
    struct weir__cache_shard *shard = weir__cache_shard_of(cache, key);
    struct weir__cache_entry **link = &shard->chains[word_of(key, 0) & cache->chains_mask];
    while (*link && memcmp(&(*link)->key, key, sizeof(*key)) != 0)
        link = &(*link)->next;
    return link;
}

/* --- life --- */

static uint32_t chains_for(uint64_t entries_max)
{
    uint64_t wanted = entries_max / WEIR__CACHE_SHARDS + 1;
    uint32_t chains = 1;
    while (chains < wanted && chains < (1u << 20))
        chains *= 2;
    return chains;
}

static int make_shards(struct weir__cache *cache, uint32_t chains)
{
    cache->shards = weir__base_alloc(WEIR__CACHE_SHARDS, sizeof(cache->shards[0]));
    if (!cache->shards)
        return -WEIR_E_NO_MEMORY;
    for (unsigned i = 0; i < WEIR__CACHE_SHARDS; i++) {
        weir_lock_init(&cache->shards[i].lock, &weir__cache_meta_class);
        cache->shards[i].chains = weir__base_alloc(chains, sizeof(struct weir__cache_entry *));
        if (!cache->shards[i].chains)
            return -WEIR_E_NO_MEMORY;
    }
    cache->chains_mask = chains - 1;
    return 0;
}

int weir__cache_new(struct weir__cache **ret_cache, const struct weir__cache_limits *limits)
{
    if (limits->entries_max == 0 || limits->bytes_max == 0)
        return -WEIR_E_INVALID;
    struct weir__cache *cache = weir__base_alloc(1, sizeof(*cache));
    if (!cache)
        return -WEIR_E_NO_MEMORY;
    cache->limits = cache->rules = *limits;
    cache->purged_ns = weir_now_ns();
    weir_lock_init(&cache->rules_lock, &weir__cache_rules_class);
    int error = make_shards(cache, chains_for(limits->entries_max));
    if (!error)
        error = weir_queue_init(&cache->line, "cache",
                                &(struct weir_queue_options){
                                    .item_size = sizeof(struct weir__cache_item),
                                    .capacity = WEIR__CACHE_LINE,
                                });
    if (error) {
        weir__cache_free(cache);
        return error;
    }
    *ret_cache = cache;
    return 0;
}

static void drop_item(void *arg, void *item)
{
    (void)arg;
    weir__answer_unref(((struct weir__cache_item *)item)->answer);
}

void weir__cache_free(struct weir__cache *cache)
{
    if (!cache)
        return;
    if (cache->line._capacity) {
        weir_queue_drain(&cache->line, drop_item, NULL);
        weir_queue_fini(&cache->line);
    }
    for (unsigned i = 0; cache->shards && i < WEIR__CACHE_SHARDS; i++) {
        struct weir__cache_shard *shard = &cache->shards[i];
        for (uint32_t j = 0; shard->chains && j <= cache->chains_mask; j++)
            while (shard->chains[j]) {
                struct weir__cache_entry *entry = shard->chains[j];
                shard->chains[j] = entry->next;
                weir__answer_unref(entry->answer);
                weir__base_free(entry);
            }
        weir__base_free(shard->chains);
        weir_lock_fini(&shard->lock);
    }
    weir_lock_fini(&cache->rules_lock);
    weir__base_free(cache->heap);
    weir__base_free(cache->shards);
    weir__base_free(cache);
}

void weir__cache_update(struct weir__cache *cache, const struct weir__cache_limits *limits)
{
    weir_lock_acquire(&cache->rules_lock);
    cache->rules = *limits;
    weir_lock_release(&cache->rules_lock);
}

/* --- reading --- */

/* Whether the caller is the one who is to ask again: in the last tenth of the time, one for each
 * WEIR__CACHE_DUE_NS. */
static bool tell_due(struct weir__cache_entry *entry, uint64_t now_ns)
{
    const struct weir__answer *answer = entry->answer;
    uint64_t lives_ns = answer->fresh_until_ns - answer->made_ns;
    if (answer->fresh_until_ns - now_ns > lives_ns / 10)
        return false;
    if (entry->due_told_ns != 0 && now_ns < entry->due_told_ns + WEIR__CACHE_DUE_NS)
        return false;
    entry->due_told_ns = now_ns;
    return true;
}

/* With the lock of that key's shard held. */
static uint64_t *touched_ns(struct weir__cache_shard *shard, const struct weir__question_key *key)
{
    return &shard->touched_ns[word_of(key, 16) % WEIR__CACHE_TOUCHES];
}

static bool tells_providers(const struct weir__answer *answer)
{
    return answer->has_name && answer->result == 0;
}

/* Of an answer that tells providers: the shard of those, locked, in which a drop of them is noted.
 */
static bool begin_overtaken(struct weir__cache *cache, const struct weir__answer *answer,
                            struct weir__cache_shard **ret_shard)
{
    struct weir__cache_shard *shard = weir__cache_shard_of(cache, &answer->providers_key);
    weir_lock_acquire(&shard->lock);
    *ret_shard = shard;
    return answer->asked_ns <= *touched_ns(shard, &answer->providers_key);
}

bool weir__cache_is_overtaken(struct weir__cache *cache, const struct weir__answer *answer)
{
    struct weir__cache_shard *shard;
    if (!tells_providers(answer))
        return false;
    bool is_overtaken = begin_overtaken(cache, answer, &shard);
    weir_lock_release(&shard->lock);
    return is_overtaken;
}

/* An answer of a name that is fresh by itself. It is counted in the shard of its providers, whose
 * lock is held anyway: the counts of all are added up. */
static enum weir__cache_state look_behind(struct weir__cache *cache,
                                          const struct weir__answer *answer)
{
    struct weir__cache_shard *shard;
    bool is_overtaken = begin_overtaken(cache, answer, &shard);
    shard->stale_hits += is_overtaken;
    shard->hits += !is_overtaken;
    weir_lock_release(&shard->lock);
    return is_overtaken ? WEIR__CACHE_STALE : WEIR__CACHE_FRESH;
}

/* With the shard's lock held. A fresh answer that tells providers is not counted yet. */
static enum weir__cache_state look(struct weir__cache_shard *shard, struct weir__cache_entry *entry,
                                   uint64_t now_ns, bool *ret_due)
{
    *ret_due = false;
    if (!entry || !entry->answer || entry->answer->stale_until_ns <= now_ns ||
        entry->answer->asked_ns <= entry->dropped_ns) {
        shard->misses++;
        return WEIR__CACHE_MISS;
    }
    entry->was_used = true;
    if (entry->answer->fresh_until_ns <= now_ns) {
        shard->stale_hits++;
        return WEIR__CACHE_STALE;
    }
    shard->hits += !tells_providers(entry->answer);
    shard->negative_hits += entry->answer->result != 0;
    *ret_due = tell_due(entry, now_ns);
    return WEIR__CACHE_FRESH;
}

enum weir__cache_state weir__cache_find(struct weir__cache *cache,
                                        const struct weir__question_key *key, uint64_t now_ns,
                                        struct weir__answer **ret_answer, bool *ret_is_due)
{
    struct weir__cache_shard *shard = weir__cache_shard_of(cache, key);
    bool is_due;
    weir_lock_acquire(&shard->lock);
    struct weir__cache_entry *entry = *weir__cache_link(cache, key);
    enum weir__cache_state state = look(shard, entry, now_ns, &is_due);
    struct weir__answer *answer = state == WEIR__CACHE_MISS ? NULL : entry->answer;
    if (WEIR__INDEX_MUTANT(CACHE_REF_UNLOCKED)) {
        weir_lock_release(&shard->lock);
        weir_lock_acquire(&shard->lock);
    }
    if (answer)
        weir__answer_ref(answer);
    weir_lock_release(&shard->lock);
    if (state == WEIR__CACHE_FRESH && tells_providers(answer))
        state = look_behind(cache, answer);
    if (answer)
        *ret_answer = answer;
    *ret_is_due = is_due && state == WEIR__CACHE_FRESH;
    return state;
}

/* --- handing in --- */

static int send(struct weir__cache *cache, const struct weir__cache_item *item)
{
    int error = weir_queue_try_send(&cache->line, item);
    if (error)
        weir_counter_add(&cache->refused_in_line, 1);
    return error;
}

void weir__cache_offer(struct weir__cache *cache, struct weir__answer *answer)
{
    struct weir__cache_item item = {
        .order = WEIR__CACHE_TAKE, .answer = weir__answer_ref(answer), .key = answer->key};
    if (send(cache, &item))
        weir__answer_unref(answer);
}

/* With the shard's lock held. */
static void note_drop(struct weir__cache_shard *shard, const struct weir__question_key *key,
                      uint64_t at_ns)
{
    struct weir__cache_dropped *room = &shard->drops[shard->drops_next];
    if (room->at_ns > shard->forgotten_ns)
        shard->forgotten_ns = room->at_ns;
    *room = (struct weir__cache_dropped){*key, at_ns};
    shard->drops_next = (shard->drops_next + 1) % WEIR__CACHE_DROPS;
}

uint64_t weir__cache_dropped_ns(const struct weir__cache_shard *shard,
                                const struct weir__question_key *key)
{
    uint64_t at_ns = shard->forgotten_ns;
    for (size_t i = 0; i < WEIR__CACHE_DROPS; i++)
        if (shard->drops[i].at_ns > at_ns && memcmp(&shard->drops[i].key, key, sizeof(*key)) == 0)
            at_ns = shard->drops[i].at_ns;
    return at_ns;
}

/* It is noted in the shard, not by the janitor: it counts against what is in line before it, and
 * when the line is full. */
int weir__cache_drop(struct weir__cache *cache, const struct weir__question_key *key)
{
    struct weir__cache_item item = {.order = WEIR__CACHE_DROP, .at_ns = weir_now_ns(), .key = *key};
    struct weir__cache_shard *shard = weir__cache_shard_of(cache, key);
    weir_lock_acquire(&shard->lock);
    struct weir__cache_entry *entry = *weir__cache_link(cache, key);
    note_drop(shard, key, item.at_ns);
    /* Who looked at the clock first may come second. */
    if (item.at_ns > *touched_ns(shard, key) && !WEIR__INDEX_MUTANT(CACHE_TOUCH_UNNOTED))
        *touched_ns(shard, key) = item.at_ns;
    if (entry && !WEIR__INDEX_MUTANT(CACHE_DROP_LATER))
        entry->dropped_ns = item.at_ns;
    weir_lock_release(&shard->lock);
    return send(cache, &item);
}

int weir__cache_clear(struct weir__cache *cache)
{
    struct weir__cache_item item = {.order = WEIR__CACHE_CLEAR, .at_ns = weir_now_ns()};
    return send(cache, &item);
}

int weir__cache_pin(struct weir__cache *cache, const struct weir__question_key *key, bool is_pinned)
{
    struct weir__cache_item item = {.order = WEIR__CACHE_PIN, .is_pinned = is_pinned, .key = *key};
    return send(cache, &item);
}

void weir__cache_close(struct weir__cache *cache)
{
    weir_queue_close(&cache->line);
}

struct weir_queue *weir__cache_line(struct weir__cache *cache)
{
    return &cache->line;
}

void weir__cache_read(struct weir__cache *cache, struct weir__cache_stats *ret_stats)
{
    struct weir__cache_stats stats = {
        .entries = (uint64_t)weir_gauge_value(&cache->entries),
        .bytes = (uint64_t)weir_gauge_value(&cache->bytes),
        .pinned = (uint64_t)weir_gauge_value(&cache->pinned),
        .inserted = weir_counter_value(&cache->inserted),
        .replaced = weir_counter_value(&cache->replaced),
        .expired = weir_counter_value(&cache->expired),
        .evicted = weir_counter_value(&cache->evicted),
        .dropped = weir_counter_value(&cache->dropped),
        .refused =
            weir_counter_value(&cache->refused) + weir_counter_value(&cache->refused_in_line),
        .outdated = weir_counter_value(&cache->outdated),
        .purges = weir_counter_value(&cache->purges),
    };
    for (unsigned i = 0; i < WEIR__CACHE_SHARDS; i++) {
        struct weir__cache_shard *shard = &cache->shards[i];
        weir_lock_acquire(&shard->lock);
        stats.hits += shard->hits;
        stats.stale_hits += shard->stale_hits;
        stats.misses += shard->misses;
        stats.negative_hits += shard->negative_hits;
        weir_lock_release(&shard->lock);
    }
    *ret_stats = stats;
}
