/* lookup_rules.c - see lookup_rules.h.
 *
 * How many answers end a call is fixed in a hedge, and the quorum is for names alone; so there are
 * hedges for names and for providers. A hedge earns its budget by calls, and a lookup of a name
 * makes two of them: each earns half, so that such a lookup earns no more than one of providers.
 */
#include "lookup_rules.h"

#include <string.h>

#include <weir/error.h>

#include "alloc.h"
#include "index_mutants.h"

#include "banned.h"

static void rules_free(struct weir_snapshot *snapshot)
{
    struct weir__lookup_rules *rules = (struct weir__lookup_rules *)snapshot;
    weir_hedge_fini(&rules->names);
    weir_hedge_fini(&rules->seconds);
    weir_hedge_fini(&rules->providers);
    weir__base_free(rules);
}

static bool are_valid(const struct weir__lookup_limits *limits, size_t sources_count)
{
    return limits->alpha >= 1 && limits->alpha <= WEIR__SOURCES_MAX &&
           limits->beta <= WEIR__SOURCES_MAX && limits->quorum >= 1 &&
           limits->quorum <= sources_count && limits->tries >= 1 && limits->tries <= 16 &&
           limits->hedge_ns > 0 && limits->deadline_ns > 0 && limits->hedge_permille >= 1 &&
           limits->hedge_permille <= 1000 &&
           memchr(limits->region, '\0', sizeof(limits->region)) != NULL;
}

static int make_hedge(struct weir_hedge *hedge, const char *name,
                      const struct weir__lookup_limits *limits, uint32_t needed, uint32_t permille)
{
    bool asks_further = limits->beta > 0 && permille > 0;
    return weir_hedge_init(hedge, name,
                           &(struct weir_hedge_options){
                               .alpha = limits->alpha,
                               .beta = asks_further ? limits->beta : WEIR_HEDGE_NO_BETA,
                               .delay_ns = limits->hedge_ns,
                               .needed = needed,
                               .per_mille = permille,
                           });
}

int weir__rules_new(struct weir__lookup_rules **ret_rules, const struct weir__lookup_limits *limits,
                    size_t sources_count)
{
    if (!are_valid(limits, sources_count))
        return -WEIR_E_INVALID;
    struct weir__lookup_rules *rules = weir__base_alloc(1, sizeof(*rules));
    if (!rules)
        return -WEIR_E_NO_MEMORY;
    weir_snapshot_init(&rules->snapshot, rules_free);
    rules->limits = *limits;
    /* A budget of one thousandth has no half: then the first stage has it all. */
    uint32_t half = limits->hedge_permille / 2;
    int error = make_hedge(&rules->names, "names", limits, limits->quorum, half ? half : 1);
    if (!error)
        error = make_hedge(&rules->seconds, "seconds", limits, 1, half);
    if (!error)
        error = make_hedge(&rules->providers, "providers", limits, 1, limits->hedge_permille);
    if (error) {
        weir__rules_unref(rules);
        return error;
    }
    *ret_rules = rules;
    return 0;
}

struct weir_hedge *weir__rules_second(struct weir__lookup_rules *rules)
{
    bool is_shared = rules->limits.quorum == 1 && rules->limits.hedge_permille > 1;
    return is_shared ? &rules->names : &rules->seconds;
}

struct weir__lookup_rules *weir__rules_borrow(struct weir_watch *watch)
{
    struct weir__lookup_rules *rules = (struct weir__lookup_rules *)weir_watch_borrow(watch, NULL);
    if (WEIR__INDEX_MUTANT(LIMITS_READ_TWICE)) {
        struct weir__lookup_rules *again =
            (struct weir__lookup_rules *)weir_watch_borrow(watch, NULL);
        rules->limits = again->limits;
        weir__rules_unref(again);
    }
    return rules;
}
