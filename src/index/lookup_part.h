/* lookup_part.h - the inside of lookups: what one stage, one attempt and one reply are.
 *
 * An inquiry is one stage of a lookup, shared by the caller's thread and all of its attempts; the
 * last to go frees it, which may be long after the lookup when a source ignores its token. So
 * attempts touch the inquiry and the lookup alone, never the caller's memory.
 *
 * Ownership: an inquiry has counted references; an ask belongs to the line, then to its asker; a
 * part to whoever has the pointer.
 */
#ifndef WEIR_INDEX_LOOKUP_PART_H
#define WEIR_INDEX_LOOKUP_PART_H

#include "lookup.h"
#include "lookup_line.h"
#include "lookup_rules.h"

/* One good record. */
struct weir__found {
    struct weir__record record;
    struct weir__record_bytes bytes;
};

/* What one source knew: good records alone, or, for a quorum, one that is good and older than what
 * was seen. */
struct weir__part {
    unsigned source;
    size_t count;
    size_t more;    /* that it knows beside these */
    bool is_behind; /* its record of the name is older than what was seen */
    struct weir__found found[];
};

/* How an attempt went, by the number of its source. Guarded by the inquiry's lock. */
struct weir__inquiry_step {
    bool is_asked, is_hedge;
    unsigned tries;
    uint64_t began_ns, ended_ns; /* ended 0: under way */
    int result;
    uint64_t order; /* of its end among the others */
};

struct weir__inquiry {
    struct weir_lock lock;
    unsigned references; /* guarded by it, down to "fixed" */
    uint64_t ended_ns;   /* 0: the caller still waits */
    uint64_t ends;
    struct weir__inquiry_step steps[WEIR__SOURCES_MAX];
    struct weir__part *kept; /* local providers that are too few to end it */
    /* The caller's thread alone: how long it waits, which is shorter when some are kept. NULL: it
     * waits no more. */
    struct weir_deadline *until;
    struct weir__held {
        struct weir_hedge_attempt *attempt;
        struct weir__part *part; /* NULL: it knows nothing */
    } held[WEIR__SOURCES_MAX];   /* ended, and not reported yet */
    unsigned held_count;
    bool has_replay;          /* a source has what is older than was seen, and nothing else */
    unsigned reporting_count; /* answers that are not behind, on their way to the hedge */
    bool is_current;          /* one of these has got there */
    struct weir__ask *dead;   /* dropped; their hooks may still be run */
    /* fixed */
    struct weir__lookup *lookup;
    struct weir__lookup_rules *rules; /* a reference */
    struct weir__question question;
    uint64_t began_ns;
    struct weir__record_mark seen; /* of a name, when the inquiry began */
};

/* One attempt: one source in one inquiry, with all of its tries. */
struct weir__ask {
    struct weir__line_item item; /* first */
    struct weir__ask *next_dead;
    struct weir__inquiry *inquiry; /* a reference */
    struct weir_hedge_attempt *attempt;
    unsigned source;
    struct weir_breaker_ticket ticket; /* of the try under way; guarded by the line's lock */
    bool is_probe;                     /* the breaker was half open when that try began */
    bool is_left_behind;               /* the same */
};

struct weir__room {
    struct weir__room *next;
    struct weir__record_bytes records[WEIR__REPLY_RECORDS_MAX];
};

struct weir__lookup {
    struct weir__source *sources[WEIR__SOURCES_MAX];
    size_t sources_count;
    struct weir_breaker breakers[WEIR__SOURCES_MAX];
    struct weir__source_counts counts[WEIR__SOURCES_MAX];
    struct weir_watch rules; /* of weir__lookup_rules */
    struct weir__line line;
    struct weir_cancel stop; /* fires when lookups are to end */
    struct weir_lock rooms_lock;
    struct weir__room *rooms; /* that are not in use; guarded by it */
    uint32_t rooms_count;
    struct weir__lookup_options options; /* without the sources */
    struct weir_counter lookups, answered, not_found, failed, timed_out, canceled, breaker_open;
    struct weir_counter attempts, hedges, hedges_denied, wins_by_hedge;
};

/* lookup_ask.c */
void weir__ask_run(struct weir__line_item *item);
void weir__ask_dropped(struct weir__line_item *item);
/* For weir_hedge_ops; arg is the inquiry. */
int weir__ask_start(void *arg, struct weir_hedge_attempt *attempt);
void weir__part_free(void *part);
/* Reports the attempts that are held, if all sources have ended or the caller waits no more. */
void weir__ask_settle(struct weir__inquiry *inquiry);

/* lookup_judge.c */
struct weir__room *weir__room_take(struct weir__lookup *lookup);
void weir__room_give(struct weir__lookup *lookup, struct weir__room *room);
/* 0 and the good ones; NotFound: there is none; NoMemory. */
WEIR_MUST_USE int weir__lookup_judge(struct weir__inquiry *inquiry, unsigned source,
                                     const struct weir__reply *reply,
                                     const struct weir_cancel *token, struct weir__part **ret_part);

/* lookup_stage.c */
WEIR_MUST_USE int weir__inquiry_new(struct weir__inquiry **ret_inquiry, struct weir__lookup *lookup,
                                    struct weir__lookup_rules *rules,
                                    const struct weir__question *question);
void weir__inquiry_unref(struct weir__inquiry *inquiry);

/* What a stage has found: parts of several sources, the winners first. */
struct weir__stage {
    int result; /* 0, NotFound, or why there is none */
    bool is_complete;
    struct weir__part *parts[WEIR__SOURCES_MAX + 1];
    size_t parts_count;
};
/* hedge: of the rules, for this stage. */
void weir__stage_run(struct weir__lookup *lookup, struct weir__lookup_rules *rules,
                     struct weir_hedge *hedge, const struct weir__question *question,
                     uint64_t began_ns, const struct weir_deadline *deadline,
                     struct weir__trace *trace, struct weir__stage *ret_stage);
void weir__stage_fini(struct weir__stage *stage);

/* lookup_merge.c */
/* The record of the name that counts. There is one. */
const struct weir__found *weir__merge_name(const struct weir__stage *stage, unsigned *ret_source);
/* name: of a name's second stage, NULL otherwise. */
WEIR_MUST_USE int weir__merge_answer(struct weir__lookup *lookup,
                                     const struct weir__lookup_rules *rules,
                                     const struct weir__question *question, uint64_t asked_ns,
                                     const struct weir__stage *name,
                                     const struct weir__stage *providers,
                                     struct weir__answer **ret_answer);

#endif
