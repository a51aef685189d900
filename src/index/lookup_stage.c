/* lookup_stage.c - one stage: a question to the sources, and what follows from their results.
 *
 * The hedge runs it; here is what it does not know: which error stands for all of them, who won,
 * and what the trace says.
 */
#include "lookup_part.h"

#include <string.h>

#include <weir/error.h>

#include "alloc.h"
#include "locks.h"

#include "banned.h"

const struct weir_lock_class weir__inquiry_class = {"inquiry", WEIR__RANK_INQUIRY};
static const struct weir_hedge_ops ops = {weir__ask_start, weir__part_free};

int weir__inquiry_new(struct weir__inquiry **ret_inquiry, struct weir__lookup *lookup,
                      struct weir__lookup_rules *rules, const struct weir__question *question)
{
    struct weir__inquiry *inquiry = weir__base_alloc(1, sizeof(*inquiry));
    if (!inquiry)
        return -WEIR_E_NO_MEMORY;
    weir_lock_init(&inquiry->lock, &weir__inquiry_class);
    inquiry->references = 1;
    inquiry->lookup = lookup;
    inquiry->rules = weir__rules_ref(rules);
    inquiry->question = *question;
    inquiry->began_ns = weir_now_ns();
    if (question->kind == WEIR__ASK_NAME)
        lookup->options.seen(lookup->options.arg, &question->name, &inquiry->seen);
    *ret_inquiry = inquiry;
    return 0;
}

void weir__inquiry_unref(struct weir__inquiry *inquiry)
{
    weir_lock_acquire(&inquiry->lock);
    bool is_last = --inquiry->references == 0;
    weir_lock_release(&inquiry->lock);
    if (!is_last)
        return;
    while (inquiry->dead) {
        struct weir__ask *ask = inquiry->dead;
        inquiry->dead = ask->next_dead;
        weir__base_free(ask);
    }
    weir_lock_fini(&inquiry->lock);
    weir__part_free(inquiry->kept);
    weir__rules_unref(inquiry->rules);
    weir__base_free(inquiry);
}

/* --- how it ended; with the inquiry's lock held --- */

/* What a source says to us (a token that it does not take, a disk that is full) would be taken for
 * what we say of the client's request. So of its errors only those go on that mean the same for
 * both; steps and counts keep the others. An attempt without a try failed by our own limits. */
static int error_for_caller(const struct weir__inquiry_step *step)
{
    switch (step->result) {
    case -WEIR_E_TIMEOUT:
    case -WEIR_E_NO_ROUTE:
    case -WEIR_E_DRAINING:
    case -WEIR_E_NO_MEMORY:
    case -WEIR_E_NO_DESCRIPTORS:
        return step->result;
    case -WEIR_E_BUSY:
        return step->tries == 0 ? -WEIR_E_BUSY : -WEIR_E_TRANSIENT;
    default:
        return -WEIR_E_TRANSIENT;
    }
}

/* What all results together mean, when nobody is left to ask and there is no answer. With a quorum
 * some may still be under way, or have just been canceled, if others failed: they could not make up
 * for those. */
static int error_of(const struct weir__inquiry *inquiry, size_t count)
{
    const struct weir__inquiry_step *last = NULL;
    bool was_open = false, has_answer = false;
    for (size_t i = 0; i < count; i++) {
        const struct weir__inquiry_step *step = &inquiry->steps[i];
        /* Of providers there is none: what was kept is an answer, and needs no other. */
        has_answer |= step->is_asked && step->ended_ns && step->result == 0 &&
                      inquiry->question.kind == WEIR__ASK_NAME;
        if (!step->is_asked || step->result == 0 || step->result == -WEIR_E_NOT_FOUND ||
            step->result == -WEIR_E_CANCELED)
            continue;
        if (step->result == -WEIR_E_BREAKER_OPEN)
            was_open = true;
        else if (!last || step->order > last->order)
            last = step;
    }
    if (last)
        return error_for_caller(last);
    if (was_open)
        return -WEIR_E_BREAKER_OPEN;
    /* That others still have it is no contradiction to a removal that was seen. But of a name that
     * means something nobody has said that it is gone, if all they have is older. */
    const struct weir__record_mark *seen = &inquiry->seen;
    bool is_removed = seen->has_record && seen->record.is_removal;
    has_answer |= inquiry->has_replay && seen->has_record && seen->record.expires_s > weir_wall_s();
    return has_answer && !is_removed ? -WEIR_E_NO_ROUTE : -WEIR_E_NOT_FOUND;
}

/* Who was at it when the time was up has failed by that, whether it noticed the time or the token
 * first. ended: how the stage was cut short; 0: it was not. */
static int result_of(const struct weir__inquiry_step *step, int ended)
{
    int result = step->ended_ns ? step->result : -WEIR_E_CANCELED;
    bool is_late = ended == -WEIR_E_TIMEOUT && step->tries > 0;
    return is_late && result == -WEIR_E_CANCELED ? ended : result;
}

static void add_step(struct weir__trace *trace, const struct weir__inquiry *inquiry,
                     unsigned source, uint64_t began_ns, int ended, bool won)
{
    const struct weir__inquiry_step *step = &inquiry->steps[source];
    if (!step->is_asked || trace->count == WEIR__TRACE_STEPS_MAX)
        return;
    struct weir__trace_step *told = &trace->steps[trace->count++];
    *told = (struct weir__trace_step){
        .stage = inquiry->question.kind,
        .is_hedge = step->is_hedge,
        .tries = step->tries,
        .began_ns = step->began_ns - began_ns,
        .ended_ns = step->ended_ns ? step->ended_ns - began_ns : 0,
        .result = result_of(step, ended),
        .won = won,
    };
    memcpy(told->source, inquiry->lookup->sources[source]->name, sizeof(told->source));
}

static bool has_won(const struct weir__stage *stage, unsigned source)
{
    for (size_t i = 0; i < stage->parts_count; i++)
        if (stage->parts[i]->source == source)
            return true;
    return false;
}

/* The budget has forbidden a hedge when the delay passed and there was somebody left to ask. */
static void count_hedges(const struct weir__inquiry *inquiry, const struct weir__stage *stage)
{
    struct weir__lookup *lookup = inquiry->lookup;
    const struct weir__lookup_limits *limits = &inquiry->rules->limits;
    bool has_hedge = false, has_won_by_it = false, has_left = false;
    for (unsigned i = 0; i < lookup->sources_count; i++) {
        const struct weir__inquiry_step *step = &inquiry->steps[i];
        has_hedge |= step->is_hedge;
        has_won_by_it |= step->is_hedge && has_won(stage, i);
        has_left |= !step->is_asked;
    }
    if (has_won_by_it)
        weir_counter_add(&lookup->wins_by_hedge, 1);
    if (has_left && !has_hedge && limits->beta > 0 &&
        inquiry->ended_ns - inquiry->began_ns >= limits->hedge_ns)
        weir_counter_add(&lookup->hedges_denied, 1);
}

/* The caller waits no more: results, what was kept, and the trace are taken out in one piece. Where
 * it had waited long enough for others, before its time was up, nobody has failed by that. */
static void close_inquiry(struct weir__inquiry *inquiry, int error, uint64_t began_ns,
                          const struct weir_deadline *deadline, struct weir__trace *trace,
                          struct weir__stage *stage)
{
    size_t count = inquiry->lookup->sources_count;
    int ended = error ? weir_deadline_check(deadline) : 0;
    bool is_hasty = !ended && error == -WEIR_E_TIMEOUT && inquiry->until->at_ns < deadline->at_ns;
    inquiry->until = NULL;
    weir_lock_acquire(&inquiry->lock);
    inquiry->ended_ns = weir_now_ns();
    count_hedges(inquiry, stage);
    if (inquiry->kept) {
        stage->parts[stage->parts_count++] = inquiry->kept;
        inquiry->kept = NULL;
    }
    if (error && error != -WEIR_E_NO_MEMORY && !is_hasty)
        error = ended ? ended : error_of(inquiry, count);
    for (unsigned i = 0; trace && i < count; i++)
        add_step(trace, inquiry, i, began_ns, ended, has_won(stage, i));
    weir_lock_release(&inquiry->lock);
    stage->is_complete = error == 0 || error == -WEIR_E_NOT_FOUND;
    stage->result = stage->parts_count > 0 && error != -WEIR_E_CANCELED ? 0 : error;
}

/* Whether nobody of a quorum has what was seen: then there is no answer that could be told as
 * fresh.
 */
static bool are_all_behind(const struct weir__stage *stage)
{
    for (size_t i = 0; i < stage->parts_count; i++)
        if (!stage->parts[i]->is_behind)
            return false;
    return stage->parts_count > 0;
}

void weir__stage_run(struct weir__lookup *lookup, struct weir__lookup_rules *rules,
                     struct weir_hedge *hedge, const struct weir__question *question,
                     uint64_t began_ns, const struct weir_deadline *deadline,
                     struct weir__trace *trace, struct weir__stage *ret_stage)
{
    struct weir__inquiry *inquiry;
    struct weir_hedge_answer answers[WEIR__SOURCES_MAX];
    uint32_t needed = question->kind == WEIR__ASK_NAME ? rules->limits.quorum : 1;
    struct weir__stage stage = {.result = weir__inquiry_new(&inquiry, lookup, rules, question)};
    if (!stage.result) {
        struct weir_deadline until = *deadline;
        inquiry->until = &until;
        int error =
            weir_hedge_run(hedge, &ops, inquiry, (unsigned)lookup->sources_count, answers, &until);
        for (uint32_t i = 0; !error && i < needed; i++)
            stage.parts[stage.parts_count++] = answers[i].answer;
        if (are_all_behind(&stage)) {
            weir__stage_fini(&stage);
            error = -WEIR_E_NO_ROUTE;
        }
        close_inquiry(inquiry, error, began_ns, deadline, trace, &stage);
        weir__ask_settle(inquiry);
        weir__inquiry_unref(inquiry);
    }
    *ret_stage = stage;
}

void weir__stage_fini(struct weir__stage *stage)
{
    for (size_t i = 0; i < stage->parts_count; i++)
        weir__part_free(stage->parts[i]);
    stage->parts_count = 0;
}
