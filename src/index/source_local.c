/* source_local.c - the records of this node, as a source: it answers without waiting.
 *
 * There may be four times as many providers of an address as a reply has room for. Which of them it
 * hands out is for the ranking to say, by region and latencies as they are now: they lie in the
 * order of their keys, and whoever is last by that may be the nearest.
 */
#include <stdio.h>
#include <string.h>

#include <weir/error.h>

#include "alloc.h"
#include "index_part.h"
#include "rank.h"

#include "banned.h"

struct local {
    struct weir__source head;
    struct weir__index *index;
};

/* --- which of many --- */

/* The best of all go to the reply, best first. */
static void choose(struct weir__index *index, const struct weir__record_bytes *all,
                   struct weir__provider *providers, size_t count, struct weir__reply *reply)
{
    struct weir__daemon_rules *rules = weir__daemon_rules(&index->daemon);
    struct weir__record record;
    size_t good = 0;
    for (size_t i = 0; i < count; i++) {
        if (weir__record_unpack(&record, all[i].bytes, all[i].length))
            continue;
        weir__rank_provider(&providers[good], &record,
                            weir__latency_get(index->latency, record.url));
        providers[good++].record = (uint32_t)i;
    }
    weir__rank(providers, good, weir__index_own(rules)->index.region);
    weir__daemon_rules_give(rules);
    reply->count = good < WEIR__REPLY_RECORDS_MAX ? good : WEIR__REPLY_RECORDS_MAX;
    reply->more = good - reply->count;
    for (size_t i = 0; i < reply->count; i++)
        reply->records[i] = all[providers[i].record];
}

static int ask_many(struct weir__index *index, const struct weir__address *address,
                    struct weir__reply *reply)
{
    struct weir__record_bytes *all = weir__base_alloc(WEIR__RECORDS_PROVIDERS_MAX, sizeof(*all));
    struct weir__provider *providers =
        weir__base_alloc(WEIR__RECORDS_PROVIDERS_MAX, sizeof(*providers));
    size_t count = 0;
    int error = all && providers ? weir__records_providers(index->records, address, weir_wall_s(),
                                                           all, WEIR__RECORDS_PROVIDERS_MAX, &count)
                                 : -WEIR_E_NO_MEMORY;
    if (!error)
        choose(index, all, providers, count, reply);
    weir__base_free(all);
    weir__base_free(providers);
    return error;
}

/* Few have more than there is room for: only of those all are looked at, and only then is memory
 * needed. */
static int ask_providers(struct weir__index *index, const struct weir__address *address,
                         struct weir__reply *reply)
{
    int error = weir__records_providers(index->records, address, weir_wall_s(), reply->records,
                                        WEIR__REPLY_RECORDS_MAX, &reply->count);
    if (error || reply->count < WEIR__REPLY_RECORDS_MAX)
        return error;
    reply->count = 0;
    return ask_many(index, address, reply);
}

/* --- the source --- */

static int ask(struct weir__source *source, const struct weir__question *question,
               struct weir__reply *reply, const struct weir_deadline *deadline)
{
    struct weir__index *index = ((struct local *)source)->index;
    struct weir__records_seen seen;
    (void)deadline;
    reply->count = 0;
    if (question->is_for_others)
        return -WEIR_E_NOT_FOUND;
    if (question->kind == WEIR__ASK_PROVIDERS)
        return ask_providers(index, &question->address, reply);
    int error = weir__records_name(index->records, &question->name, weir_wall_s(),
                                   &reply->records[0], &seen);
    /* That it was removed is something to tell, too. */
    if (error == -WEIR_E_NOT_FOUND && seen.is_removed)
        error = 0;
    reply->count = error ? 0 : 1;
    return error;
}

static void free_local(struct weir__source *source)
{
    weir__base_free(source);
}

int weir__source_local_new(struct weir__source **ret_source, struct weir__index *index)
{
    static const struct weir__source_ops ops = {.kind = "local", .ask = ask, .free = free_local};
    struct local *local = weir__base_alloc(1, sizeof(*local));
    if (!local)
        return -WEIR_E_NO_MEMORY;
    local->head.ops = &ops;
    snprintf(local->head.name, sizeof(local->head.name), "local");
    local->index = index;
    *ret_source = &local->head;
    return 0;
}
