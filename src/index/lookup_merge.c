/* lookup_merge.c - one answer of the parts that sources gave. Pure but for the clock.
 *
 * Of a name the record with the highest sequence counts. Of providers all count, one for each key:
 * of two the one that weir__record_compare() prefers, so that every node chooses alike. Then they
 * are ranked, and the best are in the answer.
 */
#include "lookup_part.h"

#include <string.h>

#include <weir/error.h>

#include "alloc.h"

#include "banned.h"

const struct weir__found *weir__merge_name(const struct weir__stage *stage, unsigned *ret_source)
{
    const struct weir__found *best = NULL;
    for (size_t i = 0; i < stage->parts_count; i++) {
        const struct weir__found *found = &stage->parts[i]->found[0];
        if (best &&
            weir__record_compare(&found->record, &found->bytes, &best->record, &best->bytes) <= 0)
            continue;
        best = found;
        *ret_source = stage->parts[i]->source;
    }
    return best;
}

/* --- providers --- */

struct merged {
    const struct weir__found **found; /* one for each key */
    const struct weir__record_bytes **bytes;
    struct weir__provider *providers;
    size_t count;
};

static void merged_fini(struct merged *merged)
{
    weir__base_free(merged->found);
    weir__base_free(merged->bytes);
    weir__base_free(merged->providers);
}

/* What has expired since it was judged is nobody's to tell any more. */
static void add_found(struct merged *merged, const struct weir__found *found, int64_t now_s)
{
    if (found->record.expires_s <= now_s)
        return;
    for (size_t i = 0; i < merged->count; i++) {
        const struct weir__found *old = merged->found[i];
        if (memcmp(old->record.public_key, found->record.public_key, WEIR__PUBLIC_KEY_SIZE) != 0)
            continue;
        if (weir__record_compare(&found->record, &found->bytes, &old->record, &old->bytes) > 0)
            merged->found[i] = found;
        return;
    }
    merged->found[merged->count++] = found;
}

static uint64_t latency_of(const struct weir__lookup *lookup, const char *url)
{
    return lookup->options.latency_ns ? lookup->options.latency_ns(lookup->options.arg, url) : 0;
}

static int merge_providers(const struct weir__lookup *lookup,
                           const struct weir__lookup_rules *rules, const struct weir__stage *stage,
                           int64_t now_s, struct merged *merged)
{
    size_t most = 0;
    for (size_t i = 0; i < stage->parts_count; i++)
        most += stage->parts[i]->count;
    *merged = (struct merged){0};
    if (most == 0)
        return 0;
    merged->found = weir__base_alloc(most, sizeof(merged->found[0]));
    merged->bytes = weir__base_alloc(most, sizeof(merged->bytes[0]));
    merged->providers = weir__base_alloc(most, sizeof(merged->providers[0]));
    if (!merged->found || !merged->bytes || !merged->providers)
        return -WEIR_E_NO_MEMORY;
    for (size_t i = 0; i < stage->parts_count; i++)
        for (size_t j = 0; j < stage->parts[i]->count; j++)
            add_found(merged, &stage->parts[i]->found[j], now_s);
    for (size_t i = 0; i < merged->count; i++) {
        const struct weir__record *record = &merged->found[i]->record;
        weir__rank_provider(&merged->providers[i], record, latency_of(lookup, record->url));
        merged->providers[i].record = (uint32_t)i;
        merged->bytes[i] = &merged->found[i]->bytes;
    }
    weir__rank(merged->providers, merged->count, rules->limits.region);
    return 0;
}

/* How many there are at least: of what one source has left out others may have said some. */
static size_t count_known(const struct weir__stage *stage, size_t merged)
{
    size_t known = merged;
    for (size_t i = 0; stage && i < stage->parts_count; i++) {
        const struct weir__part *part = stage->parts[i];
        if (part->more > 0 && part->count + part->more > known)
            known = part->count + part->more;
    }
    return known;
}

/* --- the answer --- */

static const char *source_of(const struct weir__lookup *lookup, const struct weir__stage *stage)
{
    return stage->parts_count ? lookup->sources[stage->parts[0]->source]->name : "";
}

int weir__merge_answer(struct weir__lookup *lookup, const struct weir__lookup_rules *rules,
                       const struct weir__question *question, uint64_t asked_ns,
                       const struct weir__stage *name, const struct weir__stage *providers,
                       struct weir__answer **ret_answer)
{
    const struct weir__lookup_limits *limits = &rules->limits;
    struct weir__answer_parts parts = {
        .question = question,
        .source = "",
        .asked_ns = asked_ns,
        .now_ns = weir_now_ns(),
        .now_s = weir_wall_s(),
        .stale_ns = limits->stale_ns,
    };
    unsigned source = 0;
    const struct weir__found *found =
        name && !name->result ? weir__merge_name(name, &source) : NULL;
    if (found) {
        parts.name = &found->record;
        parts.name_bytes = &found->bytes;
        parts.source = lookup->sources[source]->name;
        parts.result = found->record.is_removal ? -WEIR_E_NOT_FOUND : 0;
    } else {
        parts.result = name ? name->result : providers->result;
        if (providers)
            parts.source = source_of(lookup, providers);
    }
    struct merged merged = {0};
    int error = providers ? merge_providers(lookup, rules, providers, parts.now_s, &merged) : 0;
    if (!parts.result && !found && merged.count == 0)
        parts.result = -WEIR_E_NOT_FOUND;
    parts.providers = merged.providers;
    parts.provider_bytes = merged.bytes;
    parts.providers_count = merged.count;
    parts.providers_known = count_known(providers, merged.count);
    parts.providers_complete = providers && providers->is_complete;
    /* What is not complete is asked again as soon as what is not there, and never later than what
     * is. */
    parts.ttl_ns = parts.result ? limits->negative_ttl_ns : limits->ttl_ns;
    if (!parts.providers_complete && limits->negative_ttl_ns < parts.ttl_ns)
        parts.ttl_ns = limits->negative_ttl_ns;
    if (!error)
        error = weir__answer_new(ret_answer, &parts);
    merged_fini(&merged);
    return error;
}
