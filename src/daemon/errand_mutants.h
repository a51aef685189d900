/* errand_mutants.h - deliberately broken variants of jobs and their deadlines, by name.
 *
 * As in core: a line that matters is guarded by WEIR__ERRAND_MUTANT(NAME), which is the constant
 * false in every build but the explorer's. There each is switched on in turn, and the scenario
 * named here must catch it. The numbers begin where the other rooms have none.
 *
 * Ownership: nothing here owns anything.
 */
#ifndef WEIR_DAEMON_ERRAND_MUTANTS_H
#define WEIR_DAEMON_ERRAND_MUTANTS_H

/* X(NAME, scenario that must fail when it is on) */
#define WEIR__ERRAND_MUTANTS(X)                                                                    \
    X(ERRAND_FINISH_LETS_GO, "storage_done_or_late")                                               \
    X(ERRAND_CLOCK_TAKES_READING, "storage_done_or_late")                                          \
    X(ERRAND_LATE_KEEPS_JOB, "storage_done_or_late")                                               \
    X(ERRAND_ALONE_IS_LEFT, "storage_done_or_late")                                                \
    X(ERRAND_STEP_SHARES, "storage_step_cut")                                                      \
    X(ERRAND_STEP_KEEPS, "storage_step_cut")                                                       \
    X(ERRAND_UNSENT_NOT_ASKED, "storage_line_full")                                                \
    X(ERRAND_UNSENT_STAYS, "storage_line_full")                                                    \
    X(ERRAND_UNSENT_LISTED, "storage_line_full")                                                   \
    X(ERRAND_CLOSED_IS_BUSY, "storage_shutdown")                                                   \
    X(ERRAND_GIVEN_UP_SHARED, "storage_worker_ends")                                               \
    X(ERRAND_LEFT_LETS_GO, "storage_client_leaves")

enum weir__errand_mutant {
    WEIR__ERRAND_NO_MUTANT = 4000,
#define WEIR__ERRAND_MUTANT_ENUM(name, scenario) WEIR__MUTANT_##name,
    WEIR__ERRAND_MUTANTS(WEIR__ERRAND_MUTANT_ENUM)
#undef WEIR__ERRAND_MUTANT_ENUM
};

#ifdef WEIR_EXPLORE
#define WEIR__ERRAND_MUTANT(name) (xp_mutant() == WEIR__MUTANT_##name)
int xp_mutant(void);
#else
#define WEIR__ERRAND_MUTANT(name) false
#endif

#endif
