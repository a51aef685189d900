/* tree_mutants.h - deliberately broken variants of the tree's protocol, by name.
 *
 * As in core: a line that matters is guarded by WEIR__TREE_MUTANT(NAME), which is the constant
 * false in every build but the explorer's. There each is switched on in turn, and the scenario
 * named here must catch it. The numbers begin where core has none.
 *
 * Ownership: nothing here owns anything.
 */
#ifndef WEIR_COPY_TREE_MUTANTS_H
#define WEIR_COPY_TREE_MUTANTS_H

/* X(NAME, scenario that must fail when it is on) */
#define WEIR__TREE_MUTANTS(X)                                                                      \
    X(TREE_PERMIT_KEPT, "copy_limit_of_one")                                                       \
    X(TREE_IDLE_AFTER_LOOKING, "copy_push_wakes")                                                  \
    X(TREE_PUT_BACK_WAKES_NOBODY, "copy_push_wakes")                                               \
    X(TREE_DROP_CHECKS_FIRST, "copy_post_order")                                                   \
    X(TREE_PUSH_COUNTS_LATE, "copy_post_order")                                                    \
    X(TREE_LAST_DOES_NOT_CLOSE, "copy_post_order")                                                 \
    X(TREE_CLOSED_UNMARKED, "copy_post_order")                                                     \
    X(TREE_OFFER_NOT_COUNTED, "copy_offers")                                                       \
    X(TREE_OFFER_NOT_HELD, "copy_offers")                                                          \
    X(TREE_OFFER_WAKES_NOBODY, "copy_offer_wakes")

enum weir__tree_mutant {
    WEIR__TREE_NO_MUTANT = 1000,
#define WEIR__TREE_MUTANT_ENUM(name, scenario) WEIR__MUTANT_##name,
    WEIR__TREE_MUTANTS(WEIR__TREE_MUTANT_ENUM)
#undef WEIR__TREE_MUTANT_ENUM
};

#ifdef WEIR_EXPLORE
#define WEIR__TREE_MUTANT(name) (xp_mutant() == WEIR__MUTANT_##name)
int xp_mutant(void);
#else
#define WEIR__TREE_MUTANT(name) false
#endif

#endif
