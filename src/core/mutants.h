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
    X(LOCK_WAKES_NOBODY, "lock_no_lost_wake")                                                      \
    X(LOCK_FORGETS_SLEEPERS, "lock_no_lost_wake")                                                  \
    X(CANCEL_HOOK_AFTER_FIRE, "cancel_wait_vs_fire")                                               \
    X(CANCEL_OFF_DOES_NOT_WAIT, "cancel_off_vs_fire")                                              \
    X(BUDGET_CHECK_THEN_ADD, "budget_release_race")                                                \
    X(BUDGET_NO_RECHECK, "budget_enqueue_vs_release")                                              \
    X(TURN_LEAVER_STAYS_IN_LINE, "budget_cancel_vs_grant")                                         \
    X(BUDGET_CANCELED_HEAD_WAKES_NOBODY, "budget_cancel_head")                                     \
    X(BUDGET_GRANT_LOST_ON_TIMEOUT, "budget_timeout_vs_grant")                                     \
    X(BUDGET_BARGING, "budget_no_overtaking")                                                      \
    X(BUDGET_WAKES_ONE, "budget_release_many")                                                     \
    X(BUDGET_DEBT_FORGOTTEN, "budget_shrink")                                                      \
    X(VECTOR_FIRST_COMPONENT_ONLY, "vector_all_or_nothing")                                        \
    X(VECTOR_BARGING, "vector_no_overtaking")                                                      \
    X(VECTOR_WAKES_ONE, "vector_release_many")                                                     \
    X(VECTOR_GRANT_LOST_ON_TIMEOUT, "vector_timeout_vs_grant")                                     \
    X(VECTOR_LEAVER_WAKES_NOBODY, "vector_leave_head")                                             \
    X(POOL_SLOT_FORGOTTEN, "pool_spill_turns_unlimited")                                           \
    X(CREW_STARTS_WHILE_DRAINING, "crew_start_vs_drain")                                           \
    X(CREW_ABORT_FIRES_NOTHING, "crew_drain_aborts")                                               \
    X(HEDGE_LOSER_GOES_ON, "hedge_losers_are_canceled")                                            \
    X(HEDGE_LATE_ANSWER_KEPT, "hedge_late_answer")                                                 \
    X(HEDGE_FALTERS_UNHEARD, "hedge_falters")                                                      \
    X(SCHED_READY_WAKES_NOBODY, "sched_ready_wakes")                                               \
    X(SCHED_NOBODY_KEEPS_TIME, "sched_keeps_time")                                                 \
    X(SCHED_PIN_IGNORED, "sched_cancel_vs_finish")                                                 \
    X(SCHED_BUSY_KEEPS_PERMITS, "sched_backoff_gives_back")                                        \
    X(SCHED_MOVED_BY_TWO, "sched_submit_vs_grant")                                                 \
    X(QUEUE_CLOSE_WAKES_NOBODY, "queue_producer_consumer_shutdown_1")                              \
    X(QUEUE_ITEM_LOST_ON_TIMEOUT, "queue_timeout_vs_send")                                         \
    X(QUEUE_ABANDON_SERVES_NOBODY, "queue_reserve")                                                \
    X(QUEUE_BARGING, "queue_no_overtaking")                                                        \
    X(QUEUE_LEAVER_SERVES_NOBODY, "queue_leave_head")                                              \
    X(BUS_LAG_NOT_COUNTED, "bus_lag_is_exact")                                                     \
    X(BUS_READS_OVERWRITTEN, "bus_lag_is_exact")                                                   \
    X(BUS_WAKES_ONE, "bus_wakes_all")                                                              \
    X(WATCH_TORN, "watch_config_swap")                                                             \
    X(WATCH_WRITE_UNMARKED, "watch_config_swap")                                                   \
    X(WATCH_MISSED_CHANGE, "watch_wait_until")                                                     \
    X(WATCH_BORROW_UNLOCKED, "watch_snapshot_swap")                                                \
    X(SLOTS_NO_SECOND_LOOK, "slots_first_use")                                                     \
    X(SLOTS_UNPIN_FIRST, "slots_prune_vs_release")                                                 \
    X(RATE_CLOCK_BEFORE_LOCK, "rate_never_above_the_pace")                                         \
    X(RATE_NEXT_NOT_APPOINTED, "rate_next_keeper")                                                 \
    X(BREAKER_STALE_COUNTED, "breaker_stale_report")                                               \
    X(BREAKER_CANCELED_KEEPS_PERMIT, "breaker_canceled_probe")                                     \
    X(BREAKER_OVERDUE_KEEPS_PERMIT, "breaker_overdue_probe")                                       \
    X(ADAPT_EPOCH_IGNORED, "adapt_one_overload_one_cut")                                           \
    X(ADAPT_RESIZES_RACE, "adapt_last_resize_wins")                                                \
    X(ADMIT_CHECK_THEN_COUNT, "admit_last_place")                                                  \
    X(ADMIT_EVICTS_NOT_IDLE, "admit_evicts_idle_only")                                             \
    X(METRICS_REMOVE_DOES_NOT_WAIT, "metrics_remove_vs_read")                                      \
    X(METRICS_UNLINKS_UNDER_SCRAPE, "metrics_remove_vs_scrape")                                    \
    X(METRICS_READ_WAKES_NOBODY, "metrics_remove_vs_read")                                         \
    X(METRICS_ADDS_BEHIND, "metrics_remove_vs_scrape")                                             \
    X(METRICS_TURN_LOST_ON_TIMEOUT, "metrics_turns")

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
