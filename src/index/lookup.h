/* lookup.h - asks the sources about a question, and makes one answer of what they say.
 *
 *     sources in order -> alpha at once -> after hedge_ns beta others -> judge -> rank -> answer
 *
 * A name is looked up in two stages under one deadline: what it means, then who provides that. If
 * the second one fails the answer has no providers, says that they are not complete, and is kept
 * only as long as a negative one.
 *
 * Promises
 * - One absolute deadline over everything: deadline_ns, or the caller's if that is earlier. The
 * call returns then, whatever the sources do. A source that ignores its token is left behind: it
 * keeps its thread, is counted, and after WEIR__LOOKUP_GRACE_NS counts as a failure for its
 * breaker, so that it gets no more threads.
 * - A source is asked at most once at a time in a stage; β are sources that were not asked yet.
 * - Satisfactory: records that are right, fresh and not older than what was seen, in the order of
 *   weir__record_compare(). For a name with quorum n, from n sources, and the one that counts for
 *   most of these wins. Providers need one
 *   source: that others know of none is no contradiction.
 * - A source that answers without waiting (kind "local") is asked by the caller's thread, before
 *   all others if it stands first. A name that it knows ends the lookup if the quorum is 1.
 *   Providers that it knows end it if there are at least WEIR__LOCAL_PROVIDERS; fewer are kept, the
 *   others are asked, and what they say is merged with it: of one key the higher sequence counts.
 *   The others have hedge_ns for that. If they fail, or have not answered by then, those few are
 *   the answer, marked as not complete.
 * - Losers are canceled before the call returns; those that are still in line are taken out of it.
 * - A failed try is repeated, `tries` in all, if its error is retryable, after 50 to 100 ms, not
 * past the deadline and not into an open breaker. Meanwhile another source is asked in its place,
 * at no cost.
 * - A breaker for each source. NotFound is a success; a source that had hedge_ns at least and has
 * not answered when the lookup's time is up has failed. What was canceled before, what had less
 * time, and our own lack of memory or descriptors, count for nothing; nor does one that was late
 * while the source has answered another: who asks for slow names would shut it off for all. An
 * attempt that probes a half
 * open one is not canceled when it has lost: it goes on up to the lookup's time.
 * - NotFound only when every source said so, with a quorum too, or
 * a removal is the newest record; when some failed, the error of the last of them, as Transient
 * unless it is Timeout, NoRoute, or a lack of our own (Busy, Draining, NoMemory, NoDescriptors):
 * what a source says to us is in the trace, and no word to the client. A source whose
 * breaker is open could not be asked: BreakerOpen, unless another failed. When all are open, or
 * have nothing, that is returned at once. Some know the name, none failed, and they are too few
 * for the quorum: NoRoute.
 * - A source that has an older record than was seen counts for the quorum, as one that answered. If
 *   nobody of it has what was seen: NoRoute, or NotFound where that was a removal. So it is when
 *   one source is enough, and all that there is is older.
 * - A source that hands out nothing but other bad records knows nothing: NotFound. Such records are
 *   counted by verdict and source.
 * - Hedges by delay: at most hedge_permille extra attempts for 1000 lookups, on average. The two
 *   stages of a name have one budget, and each of the β is paid from it.
 *
 * The seed has one writer for its table of breakers, a janitor, because a table that workers read
 * and several threads move could be seen between two moves. Here each breaker moves under its own
 * lock, by reports, along a table of allowed moves, and a result carries the generation that it
 * began in; no reader can see half a move, so one writer would add a queue and a delay. What is
 * left for the janitor is time: weir__lookup_tend() moves windows and cooldowns on, and reports for
 * those who were left behind.
 *
 * Limits: WEIR__SOURCES_MAX sources; `askers` attempts at once and WEIR__LOOKUP_LINE in line, Busy
 * beyond, which counts as a failed try.
 *
 * Ownership: limits are a snapshot (counted), so that a lookup goes on with those that it began
 * with while others are put in their place. The lookup owns its sources; it outlives its calls and
 * its askers.
 */
#ifndef WEIR_INDEX_LOOKUP_H
#define WEIR_INDEX_LOOKUP_H

#include <weir/breaker.h>
#include <weir/crew.h>
#include <weir/hedge.h>
#include <weir/metrics.h>

#include "answer.h"
#include "rank.h"
#include "source.h"

#define WEIR__SOURCES_MAX     WEIR_HEDGE_TARGETS_MAX
#define WEIR__TRACE_STEPS_MAX 64u
#define WEIR__LOOKUP_LINE     512u
#define WEIR__ASKERS_MAX      1024u
#define WEIR__LOCAL_PROVIDERS 3u
#define WEIR__LOOKUP_GRACE_NS WEIR_NS_PER_S

struct weir__lookup_limits {
    uint32_t alpha, beta, quorum, tries; /* beta 0: none; the others at least 1 */
    uint64_t hedge_ns, deadline_ns;
    uint32_t hedge_permille; /* 1 to 1000 */
    uint64_t ttl_ns, negative_ttl_ns, stale_ns;
    int64_t provider_life_s; /* of a record of a provider, at most; 0: as of every record */
    struct weir_breaker_options breaker; /* of new() alone: breakers go on through updates */
    char region[WEIR__REGION_MAX + 1];
};

/* What happened, for --trace: who was asked when, and how that ended. */
struct weir__trace_step {
    char source[32];
    enum weir__question_kind stage;
    bool is_hedge;
    unsigned tries;              /* 0: it was canceled before its turn came */
    uint64_t began_ns, ended_ns; /* since the lookup began; ended 0: not by its end */
    int result;                  /* Canceled: it lost, or never had its turn */
    bool won;
};
struct weir__trace {
    struct weir__trace_step steps[WEIR__TRACE_STEPS_MAX];
    size_t count;
};

struct weir__lookup;

/* Takes the sources over, also when it fails. bindings are borrowed and outlive it. seen() tells
 * the most that was seen of a name, and saw() is told of more; neither may wait. What saw() cannot
 * remember is no answer: its error is the lookup's. */
struct weir__lookup_options {
    struct weir__source *sources[WEIR__SOURCES_MAX]; /* best first */
    size_t sources_count;
    const struct weir__bindings *bindings;
    struct weir__lookup_limits limits;
    void (*seen)(void *arg, const struct weir__name *name, struct weir__record_mark *ret_mark);
    int (*saw)(void *arg, const struct weir__record *record,
               const struct weir__record_bytes *bytes);
    uint64_t (*latency_ns)(void *arg,
                           const char *url); /* of a provider; 0: not known; may be NULL */
    void *arg;
    uint32_t askers; /* threads that ask: attempts at once; 1 to WEIR__ASKERS_MAX */
};
/* Invalid: no sources, fewer of them than the quorum asks for, a limit out of its bounds, a name of
 * a source that is none for a breaker. NoMemory. */
WEIR_MUST_USE int weir__lookup_new(struct weir__lookup **ret_lookup,
                                   const struct weir__lookup_options *options);
/* Threads that ask, members of the crew of kind "ask". They go on while the crew drains, since
 * lookups under way need them, and end by stop() below, or by abort. */
WEIR_MUST_USE int weir__lookup_start(struct weir__lookup *lookup, struct weir_crew *crew);
/* Other limits, from the next lookup on. Invalid as above, and nothing changes; NoMemory. */
WEIR_MUST_USE int weir__lookup_update(struct weir__lookup *lookup,
                                      const struct weir__lookup_limits *limits);
/* No lookup is begun any more (Draining); those under way end with Canceled, and so do their
 * attempts. */
void weir__lookup_stop(struct weir__lookup *lookup);
/* Accepts NULL and half-built ones. The askers have ended; nobody is in a call. */
void weir__lookup_free(struct weir__lookup *lookup);

/* Waits. 0 and an answer, which may be one of result NotFound (for a negative cache); or Timeout,
 * Canceled, BreakerOpen, NoRoute, Transient, Busy, Draining, NoMemory, NoDescriptors, NoSpace (what
 * was found is new, and cannot be remembered). trace may be NULL; it is filled in whatever the
 * result. */
WEIR_MUST_USE int weir__lookup_run(struct weir__lookup *lookup,
                                   const struct weir__question *question, struct weir__trace *trace,
                                   struct weir__answer **ret_answer,
                                   const struct weir_deadline *deadline);

/* The breaker janitor's turn, once in a second or so: a breaker whose cooldown is over is half open
 * without a call, and attempts that were left behind are counted and reported. */
void weir__lookup_tend(struct weir__lookup *lookup);

/* --- what it has to tell; all of it may be read at any time --- */

struct weir__source_counts {
    struct weir_counter asked; /* tries; = answered + not_found + failed + canceled + under way */
    struct weir_counter answered;  /* with a good record at least */
    struct weir_counter not_found; /* or with nothing but bad ones */
    struct weir_counter failed, canceled;
    struct weir_counter refused;                        /* attempts that an open breaker stopped */
    struct weir_counter retries;                        /* of the tries */
    struct weir_counter left_behind;                    /* attempts that ignored their token */
    struct weir_gauge well_ns;                          /* when it last answered somebody */
    struct weir_counter records[WEIR__RECORD_VERDICTS]; /* by verdict, the good ones too */
    struct weir_histogram took_ns;                      /* of tries that were not canceled */
};

struct weir__lookup_stats {
    uint64_t lookups, answered, not_found, failed, timed_out, canceled, breaker_open;
    uint64_t attempts, hedges;
    uint64_t hedges_denied; /* stages in which the budget forbade one */
    uint64_t wins_by_hedge;
    uint64_t line_depth, line_high_water, line_refused, line_canceled;
    uint64_t under_way, left_behind_now;
};
void weir__lookup_read(struct weir__lookup *lookup, struct weir__lookup_stats *ret_stats);
size_t weir__lookup_source_count(const struct weir__lookup *lookup);
const struct weir__source *weir__lookup_source(const struct weir__lookup *lookup, size_t index);
/* These live as long as the lookup. */
const struct weir__source_counts *weir__lookup_counts(const struct weir__lookup *lookup,
                                                      size_t index);
struct weir_breaker *weir__lookup_breaker(struct weir__lookup *lookup, size_t index);
/* The limits in force, whole. */
void weir__lookup_limits(struct weir__lookup *lookup, struct weir__lookup_limits *ret_limits);

#endif
