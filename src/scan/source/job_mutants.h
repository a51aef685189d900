/* job_mutants.h - deliberately broken variants of what the threads of a scan share, by name.
 *
 * As in core: a line that matters is guarded by WEIR__JOB_MUTANT(NAME), which is the constant false
 * in every build but the explorer's. There each is switched on in turn, and the scenario named here
 * must catch it. The numbers begin where the other rooms have none.
 *
 * Ownership: nothing here owns anything.
 */
#ifndef WEIR_SCAN_SOURCE_JOB_MUTANTS_H
#define WEIR_SCAN_SOURCE_JOB_MUTANTS_H

/* X(NAME, scenario that must fail when it is on) */
#define WEIR__JOB_MUTANTS(X)                                                                       \
    X(JOB_LAST_DOES_NOT_CLOSE, "scan_one_thread")                                                  \
    X(JOB_SENT_COUNTS_LATE, "scan_all_paths")                                                      \
    X(JOB_DONE_BEFORE_WORK, "scan_offers")                                                         \
    X(JOB_OFFER_NOT_COUNTED, "scan_offer_wakes")                                                   \
    X(JOB_OFFER_WAITS, "scan_offers_never_wait")                                                   \
    X(JOB_UNSENT_STAYS_OPEN, "scan_stop")                                                          \
    X(JOB_TOKENS_KEPT, "scan_limit_of_one")                                                        \
    X(JOB_TOKENS_IN_ANY_ORDER, "scan_tokens_in_order")                                             \
    X(JOB_FIRST_TOKEN_KEPT, "scan_tokens_stop")                                                    \
    X(JOB_READS_WITHOUT_TOKEN, "scan_limit_of_reads")                                              \
    X(JOB_READS_WITHOUT_ROOM, "scan_limit_of_bytes")                                               \
    X(JOB_WITHOUT_MEMORY_IS_SILENT, "scan_no_memory")                                              \
    X(JOB_COUNTED_LATE, "scan_counted_at_end")                                                     \
    X(PAUSE_WITHOUT_TURN, "scan_pause")                                                            \
    X(MEMBER_NOT_COUNTED, "scan_members")                                                          \
    X(ARCHIVE_LEFT_TO_HELPERS, "scan_members_no_help")                                             \
    X(HELP_NOT_HELD, "scan_members_two_helpers")                                                   \
    X(MEMBER_WAITS_FOR_ROOM, "scan_members_frontier")                                              \
    X(ARCHIVE_POOL_WITH_LAST_USER, "scan_archives_in_turn")                                        \
    X(MEMBER_LOST_WHEN_STOPPED, "scan_archive_stop")                                               \
    X(ARCHIVE_REFUSED_KEEPS_MEMBER, "scan_archive_stop_waiting")                                   \
    X(MEMBER_WITHOUT_MEMORY_IS_LOST, "scan_archive_no_memory")                                     \
    X(ARCHIVE_BROKEN_IS_KEPT, "scan_archive_broken")                                               \
    X(SHARD_PERMIT_KEPT, "scan_shards")                                                            \
    X(SHARDS_HALF_WAITED, "scan_shards")                                                           \
    X(SHARD_HOLDS_NO_PACK, "scan_shards_stop")                                                     \
    X(SHARD_UNSENT_IS_LOST, "scan_shards_stop")                                                    \
    X(SHARD_IN_LINE_COUNTS_TWICE, "scan_shards_turns")                                             \
    X(SHARD_ALONE_HAS_ONE_PART, "scan_shards_alone")                                               \
    X(SUSPECT_ASKED_FIRST, "scan_suspects")                                                        \
    X(LARGE_TOO_MANY, "scan_large")                                                                \
    X(LARGE_NEXT_STAYS, "scan_large_line")                                                         \
    X(LARGE_LAST_STAYS, "scan_large_line")                                                         \
    X(LARGE_REFUSED_COUNTS, "scan_large_drain")                                                    \
    X(LINE_ALL_LEADERS, "scan_line_leaders")                                                       \
    X(LINE_ALL_BYTES, "scan_line_bytes")                                                           \
    X(LINE_NEXT_STAYS, "scan_line_bytes")                                                          \
    X(LINE_REFUSED_COUNTS, "scan_line_drain")

enum weir__job_mutant {
    WEIR__JOB_NO_MUTANT = 2000,
#define WEIR__JOB_MUTANT_ENUM(name, scenario) WEIR__MUTANT_##name,
    WEIR__JOB_MUTANTS(WEIR__JOB_MUTANT_ENUM)
#undef WEIR__JOB_MUTANT_ENUM
};

#ifdef WEIR_EXPLORE
#define WEIR__JOB_MUTANT(name) (xp_mutant() == WEIR__MUTANT_##name)
int xp_mutant(void);
#else
#define WEIR__JOB_MUTANT(name) false
#endif

#endif
