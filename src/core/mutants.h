/* mutants.h - deliberately broken variants of core, by name.
 *
 * A line of core that matters is guarded by WEIR__MUTANT(NAME), which is the constant false in
 * every build but the explorer's. There a mutant can be switched on, and a test shows that each one
 * is caught: what catches it is the scenario named here, and the reason why the line is there.
 *
 * Ownership: nothing here owns anything.
 */
#ifndef WEIR_CORE_MUTANTS_H
#define WEIR_CORE_MUTANTS_H

/* X(NAME, scenario that must fail when it is on) */
#define WEIR__MUTANTS(X)                                                                           \
    X(CANCEL_HOOK_AFTER_FIRE, "cancel_wait_vs_fire")                                               \
    X(CANCEL_OFF_DOES_NOT_WAIT, "cancel_off_vs_fire")                                              \
    X(BUDGET_CHECK_THEN_ADD, "budget_release_race")                                                \
    X(BUDGET_NO_RECHECK, "budget_enqueue_vs_release")                                              \
    X(BUDGET_CANCELED_STAYS_QUEUED, "budget_cancel_vs_grant")                                      \
    X(BUDGET_CANCELED_HEAD_WAKES_NOBODY, "budget_cancel_head")                                     \
    X(BUDGET_GRANT_LOST_ON_TIMEOUT, "budget_timeout_vs_grant")                                     \
    X(BUDGET_BARGING, "budget_no_overtaking")                                                      \
    X(BUDGET_WAKES_ONE, "budget_release_many")                                                     \
    X(BUDGET_DEBT_FORGOTTEN, "budget_shrink")

enum weir__mutant {
    WEIR__NO_MUTANT = 0,
#define WEIR__MUTANT_ENUM(name, scenario) WEIR__MUTANT_##name,
    WEIR__MUTANTS(WEIR__MUTANT_ENUM)
#undef WEIR__MUTANT_ENUM
};

#ifdef WEIR_EXPLORE
#define WEIR__MUTANT(name) (xp_mutant() == WEIR__MUTANT_##name)
int xp_mutant(void);
#else
#define WEIR__MUTANT(name) false
#endif

#endif
