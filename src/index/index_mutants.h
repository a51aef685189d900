/* index_mutants.h - deliberately broken variants of cache, flights and lookups, by name.
 *
 * As in core: a line that matters is guarded by WEIR__INDEX_MUTANT(NAME), which is the constant
 * false in every build but the explorer's. There each is switched on in turn, and the scenario
 * named here must catch it. The numbers begin where the other rooms have none.
 *
 * Ownership: nothing here owns anything.
 */
#ifndef WEIR_INDEX_INDEX_MUTANTS_H
#define WEIR_INDEX_INDEX_MUTANTS_H

/* X(NAME, scenario that must fail when it is on) */
#define WEIR__INDEX_MUTANTS(X)                                                                     \
    X(CACHE_REF_UNLOCKED, "index_cache_find_vs_replace")                                           \
    X(CACHE_FREES_FIRST, "index_cache_find_vs_replace")                                            \
    X(CACHE_DROP_LATER, "index_cache_drop_at_once")                                                \
    X(CACHE_TOUCH_UNNOTED, "index_cache_providers_dropped")                                        \
    X(FLIGHT_TWO_LEADERS, "index_flight_one_leader")                                               \
    X(FLIGHT_LEAVER_ENDS_IT, "index_flight_leader_leaves")                                         \
    X(FLIGHT_LAST_LEAVES_UNHEARD, "index_flight_last_leaves")                                      \
    X(FLIGHT_GONE_WHILE_FIRED, "index_flight_leave_vs_land")                                       \
    X(FLIGHT_TOLD_AFTER_LEAVE, "index_flight_leave_vs_land")                                       \
    X(LINE_CANCELED_STAYS, "index_line_canceled")                                                  \
    X(LINE_TAKEN_TWICE, "index_line_canceled")                                                     \
    X(LINE_STOP_UNHEARD, "index_line_shutdown")                                                    \
    X(LINE_LEFT_AT_STOP, "index_line_shutdown")                                                    \
    X(LIMITS_READ_TWICE, "index_limits_swap")                                                      \
    X(TURNS_ENTER_LETS_GO, "index_turns_of_one")                                                   \
    X(TURNS_NEXT_FORGOTTEN, "index_turns_of_one")                                                  \
    X(TURNS_UNUSED_IS_LOST, "index_turns_unused")

enum weir__index_mutant {
    WEIR__INDEX_NO_MUTANT = 5000,
#define WEIR__INDEX_MUTANT_ENUM(name, scenario) WEIR__MUTANT_##name,
    WEIR__INDEX_MUTANTS(WEIR__INDEX_MUTANT_ENUM)
#undef WEIR__INDEX_MUTANT_ENUM
};

#ifdef WEIR_EXPLORE
#define WEIR__INDEX_MUTANT(name) (xp_mutant() == WEIR__MUTANT_##name)
int xp_mutant(void);
#else
#define WEIR__INDEX_MUTANT(name) false
#endif

#endif
