/* store_mutants.h - deliberately broken variants of what the threads of a store share, by name.
 *
 * As in core: a line that matters is guarded by WEIR__STORE_MUTANT(NAME), which is the constant
 * false in every build but the explorer's. There each is switched on in turn, and the scenario
 * named here must catch it. The numbers begin where others have none.
 *
 * Ownership: nothing here owns anything.
 */
#ifndef WEIR_STORE_STORE_MUTANTS_H
#define WEIR_STORE_STORE_MUTANTS_H

/* X(NAME, scenario that must fail when it is on) */
#define WEIR__STORE_MUTANTS(X)                                                                     \
    X(HOT_EPOCH_IGNORED, "store_hot_deleted")                                                      \
    X(HOT_EPOCH_STAYS, "store_hot_deleted")                                                        \
    X(INDEXER_FORGETS_FIRST, "store_lookup_misses_nothing")                                        \
    X(LOOKUP_INDEX_FIRST, "store_lookup_misses_nothing")                                           \
    X(LOOKUP_OLDEST_FIRST, "store_lookup_newest")                                                  \
    X(REPLACED_WHILE_IN_USE, "store_index_replaced")

enum weir__store_mutant {
    WEIR__STORE_NO_MUTANT = 3000,
#define WEIR__STORE_MUTANT_ENUM(name, scenario) WEIR__MUTANT_##name,
    WEIR__STORE_MUTANTS(WEIR__STORE_MUTANT_ENUM)
#undef WEIR__STORE_MUTANT_ENUM
};

#ifdef WEIR_EXPLORE
#define WEIR__STORE_MUTANT(name) (xp_mutant() == WEIR__MUTANT_##name)
int xp_mutant(void);
#else
#define WEIR__STORE_MUTANT(name) false
#endif

#endif
