/* lookup_rules.h - the limits of lookups with what was made for them: one snapshot, never changed.
 *
 * A hedge has its numbers from its birth, so other numbers are another hedge. A lookup borrows the
 * snapshot once and goes by it to its end; its attempts keep it, since a hedge outlives them.
 *
 * Promises: a reader has the limits and the hedges of one update, never of two.
 *
 * Ownership: counted references; the watch has one.
 */
#ifndef WEIR_INDEX_LOOKUP_RULES_H
#define WEIR_INDEX_LOOKUP_RULES_H

#include <weir/watch.h>

#include "lookup.h"

struct weir__lookup_rules {
    struct weir_snapshot snapshot; /* first */
    struct weir__lookup_limits limits;
    struct weir_hedge names;     /* the first stage of a name */
    struct weir_hedge seconds;   /* its second stage, where that cannot share the first one's */
    struct weir_hedge providers; /* lookups of providers, which have one stage */
};

/* Invalid: a limit out of its bounds. NoMemory. */
WEIR_MUST_USE int weir__rules_new(struct weir__lookup_rules **ret_rules,
                                  const struct weir__lookup_limits *limits, size_t sources_count);
/* The hedge of a name's second stage: that of the first if as many answers end both, so that what
 * one stage does not need of the budget is there for the other. */
struct weir_hedge *weir__rules_second(struct weir__lookup_rules *rules);
/* Those in force, with a reference for the caller. */
struct weir__lookup_rules *weir__rules_borrow(struct weir_watch *watch);
static inline struct weir__lookup_rules *weir__rules_ref(struct weir__lookup_rules *rules)
{
    return (struct weir__lookup_rules *)weir_snapshot_ref(&rules->snapshot);
}
static inline void weir__rules_unref(struct weir__lookup_rules *rules)
{
    if (rules)
        weir_snapshot_unref(&rules->snapshot);
}

#endif
