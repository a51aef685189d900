/* rank.c - an order over providers that does not depend on the order they came in.
 *
 * Latencies are compared by the power of two that they are below: differences of some percent are
 * noise, and would put everybody to the same provider. Who was never measured stands where half of
 * the measured ones stand, so that new providers are tried and silence is no merit.
 */
#include "rank.h"

#include <stdlib.h>
#include <string.h>

#include "banned.h"

#define STEPS 65u

struct order {
    const char *region;
    unsigned median; /* step of those that are not known */
};

/* 0 for not known, else the number of binary digits. */
static unsigned step_of(uint64_t latency_ns)
{
    return latency_ns == 0 ? 0 : 64u - (unsigned)__builtin_clzll(latency_ns);
}

/* The lower median of the steps that are known; 0 when none is. */
static unsigned median_step(const struct weir__provider *providers, size_t count)
{
    size_t in_step[STEPS] = {0};
    size_t known = 0, below = 0;
    for (size_t i = 0; i < count; i++) {
        unsigned step = step_of(providers[i].latency_ns);
        in_step[step]++;
        known += step != 0;
    }
    for (unsigned step = 1; step < STEPS && known > 0; step++) {
        below += in_step[step];
        if (below * 2 >= known)
            return step;
    }
    return 0;
}

static int by_number(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

static int compare(const void *left, const void *right, void *arg)
{
    const struct weir__provider *a = left, *b = right;
    const struct order *order = arg;
    bool has_region = order->region[0] != '\0';
    int far_a = has_region && strcmp(a->region, order->region) != 0;
    int far_b = has_region && strcmp(b->region, order->region) != 0;
    if (far_a != far_b)
        return far_a - far_b;
    unsigned step_a = step_of(a->latency_ns), step_b = step_of(b->latency_ns);
    int by_step = by_number(step_a ? step_a : order->median, step_b ? step_b : order->median);
    if (by_step)
        return by_step;
    if (a->issued_s != b->issued_s)
        return a->issued_s > b->issued_s ? -1 : 1;
    int by_url = strcmp(a->url, b->url);
    return by_url ? by_url : memcmp(a->key.bytes, b->key.bytes, sizeof(a->key.bytes));
}

void weir__rank_provider(struct weir__provider *provider, const struct weir__record *record,
                         uint64_t latency_ns)
{
    memcpy(provider->url, record->url, sizeof(provider->url));
    memcpy(provider->region, record->region, sizeof(provider->region));
    weir__key_id_of(record->public_key, &provider->key);
    provider->issued_s = record->issued_s;
    provider->expires_s = record->expires_s;
    provider->latency_ns = latency_ns;
}

void weir__rank(struct weir__provider *providers, size_t count, const char *region)
{
    struct order order = {region, median_step(providers, count)};
    if (count > 1)
        qsort_r(providers, count, sizeof(*providers), compare, &order);
}
