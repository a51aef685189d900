/* lookup_ask.c - one attempt: a source, its breaker, its tries, and the end of it.
 *
 * Happy path: an asker takes the attempt, the breaker allows it, the source answers, the records
 * are judged, the hedge is told. Failure modes: the breaker is open, and the attempt is over; the
 * try fails, the hedge is told to ask somebody else meanwhile, and after a while it is tried again;
 * the attempt has lost, and whatever the source does counts for nothing; the source ignores that,
 * and the janitor has reported in its place.
 *
 * One that probes a breaker which is half open goes on although it has lost, up to the time of its
 * lookup: nothing else tells whether the source is well again, and beside a faster one it would
 * never come to its end.
 *
 * The ticket of a try is in the attempt, under the line's lock, for the janitor's sake: who takes
 * it out reports it.
 */
#include "lookup_part.h"

#include <string.h>

#include <weir/backoff.h>
#include <weir/error.h>

#include "alloc.h"

#include "banned.h"

#define RETRY_MIN_NS (50 * WEIR_NS_PER_MS)
#define RETRY_MAX_NS (100 * WEIR_NS_PER_MS)

void weir__part_free(void *part)
{
    weir__base_free(part);
}

/* --- the end of an attempt --- */

/* will_report: an answer that goes to the hedge before those that are held. */
static void note_end(struct weir__inquiry *inquiry, unsigned source, int result, bool will_report)
{
    weir_lock_acquire(&inquiry->lock);
    inquiry->reporting_count += will_report;
    struct weir__inquiry_step *step = &inquiry->steps[source];
    step->ended_ns = weir_now_ns();
    step->result = result;
    step->order = ++inquiry->ends;
    weir_lock_release(&inquiry->lock);
}

static void note_reported(struct weir__inquiry *inquiry)
{
    weir_lock_acquire(&inquiry->lock);
    inquiry->reporting_count--;
    inquiry->is_current = true;
    weir_lock_release(&inquiry->lock);
}

/* Providers of the local records that are too few: kept for the end, and others are asked. */
static bool is_kept(struct weir__ask *ask, struct weir__part *part)
{
    struct weir__inquiry *inquiry = ask->inquiry;
    if (inquiry->question.kind != WEIR__ASK_PROVIDERS || part->count >= WEIR__LOCAL_PROVIDERS)
        return false;
    weir_lock_acquire(&inquiry->lock);
    bool is_first = inquiry->kept == NULL;
    if (is_first)
        inquiry->kept = part;
    weir_lock_release(&inquiry->lock);
    return is_first;
}

/* Of a quorum: the hedge would give up as soon as it cannot be reached, and cancel those who may
 * yet say that they know the name. So that a source knows nothing is reported when all have ended;
 * meanwhile it counts as one that falters, and another is asked in its place. One that is behind
 * what was seen counts for the quorum, and is reported when somebody is not, or all have ended:
 * otherwise those behind could end the lookup before the one is asked who knows better. */
static bool is_held(const struct weir__inquiry *inquiry, int result, const struct weir__part *part)
{
    return inquiry->question.kind == WEIR__ASK_NAME && inquiry->rules->limits.quorum > 1 &&
           (result == -WEIR_E_NOT_FOUND || (result == 0 && part->is_behind));
}

static void hold(struct weir__inquiry *inquiry, struct weir_hedge_attempt *attempt,
                 struct weir__part *part)
{
    weir_hedge_falter(attempt); /* first: who is held may be reported by another at any time */
    weir_lock_acquire(&inquiry->lock);
    inquiry->held[inquiry->held_count++] = (struct weir__held){attempt, part};
    weir_lock_release(&inquiry->lock);
}

static bool have_all_ended(const struct weir__inquiry *inquiry)
{
    for (size_t i = 0; i < inquiry->lookup->sources_count; i++)
        if (!inquiry->steps[i].is_asked || !inquiry->steps[i].ended_ns)
            return false;
    return true;
}

void weir__ask_settle(struct weir__inquiry *inquiry)
{
    struct weir__held held[WEIR__SOURCES_MAX];
    unsigned count = 0, left = 0;
    weir_lock_acquire(&inquiry->lock);
    bool is_over = inquiry->ended_ns || (inquiry->reporting_count == 0 && have_all_ended(inquiry));
    for (unsigned i = 0; i < inquiry->held_count; i++)
        if (is_over || (inquiry->is_current && inquiry->held[i].part))
            held[count++] = inquiry->held[i];
        else
            inquiry->held[left++] = inquiry->held[i];
    inquiry->held_count = left;
    weir_lock_release(&inquiry->lock);
    /* Those with a record first: they may make up the quorum that the others would deny. */
    for (unsigned i = 0; i < count; i++)
        if (held[i].part)
            weir_hedge_report(held[i].attempt, 0, held[i].part);
    for (unsigned i = 0; i < count; i++)
        if (!held[i].part)
            weir_hedge_report(held[i].attempt, -WEIR_E_NOT_FOUND, NULL);
}

/* The ask is gone afterwards, and the attempt belongs to the hedge or the inquiry. */
static void conclude(struct weir__ask *ask, int result, struct weir__part *part)
{
    struct weir__inquiry *inquiry = ask->inquiry;
    struct weir_hedge_attempt *attempt = ask->attempt;
    bool will_hold = is_held(inquiry, result, part);
    note_end(inquiry, ask->source, result, result == 0 && !will_hold);
    weir__line_done(&ask->item);
    weir__base_free(ask);
    if (will_hold)
        hold(inquiry, attempt, part);
    else
        weir_hedge_report(attempt, result, part);
    if (result == 0 && !will_hold)
        note_reported(inquiry);
    weir__ask_settle(inquiry);
    weir__inquiry_unref(inquiry);
}

/* For the hedge, which is to ask others, it has nothing; the trace says what is true. The others
 * have the hedge delay to add to it: an answer is in hand, and does not wait for the slowest. */
static void conclude_kept(struct weir__ask *ask)
{
    struct weir__inquiry *inquiry = ask->inquiry;
    struct weir_hedge_attempt *attempt = ask->attempt;
    *inquiry->until = weir_deadline_min(
        inquiry->until, weir_time_add(weir_now_ns(), inquiry->rules->limits.hedge_ns));
    note_end(inquiry, ask->source, 0, false);
    weir__line_done(&ask->item);
    weir__base_free(ask);
    weir_hedge_report(attempt, -WEIR_E_NOT_FOUND, NULL);
    weir__ask_settle(inquiry);
    weir__inquiry_unref(inquiry);
}

/* The hook of the ask may be running, so its memory goes with the inquiry, which lives as long as
 * the caller who fires. */
void weir__ask_dropped(struct weir__line_item *item)
{
    struct weir__ask *ask = (struct weir__ask *)item;
    struct weir__inquiry *inquiry = ask->inquiry;
    struct weir_hedge_attempt *attempt = ask->attempt;
    weir_lock_acquire(&inquiry->lock);
    ask->next_dead = inquiry->dead;
    inquiry->dead = ask;
    weir_lock_release(&inquiry->lock);
    note_end(inquiry, ask->source, -WEIR_E_CANCELED, false);
    weir_hedge_report(attempt, -WEIR_E_CANCELED, NULL);
    weir__inquiry_unref(inquiry);
}

/* --- one try --- */

/* How long a try may take, and what ends it. */
static struct weir_deadline deadline_of(const struct weir__ask *ask)
{
    struct weir_deadline deadline = ask->attempt->deadline;
    if (ask->is_probe)
        deadline.cancel = &ask->inquiry->lookup->stop;
    return deadline;
}

/* Who had time enough, and did not answer until the lookup's time was up, has failed, whether it
 * noticed the time or the token first. */
static enum weir_breaker_outcome outcome_of(const struct weir__ask *ask, int result,
                                            uint64_t took_ns)
{
    bool had_time = took_ns >= ask->inquiry->rules->limits.hedge_ns;
    uint64_t now_ns = weir_now_ns();
    bool is_late = now_ns >= ask->attempt->deadline.at_ns;
    /* It has answered somebody else meanwhile: this question is slow, and not the source. */
    bool is_well = (uint64_t)weir_gauge_value(&ask->inquiry->lookup->counts[ask->source].well_ns) >
                   now_ns - took_ns;
    if (result == 0 || result == -WEIR_E_NOT_FOUND)
        return WEIR_BREAKER_SUCCESS;
    if (result == -WEIR_E_NO_MEMORY || result == -WEIR_E_NO_DESCRIPTORS)
        return WEIR_BREAKER_CANCELED;
    if (is_late)
        return had_time && !is_well ? WEIR_BREAKER_FAILURE : WEIR_BREAKER_CANCELED;
    if (result == -WEIR_E_CANCELED || weir_cancel_is_fired(deadline_of(ask).cancel))
        return WEIR_BREAKER_CANCELED;
    return WEIR_BREAKER_FAILURE;
}

static int begin_try(struct weir__ask *ask)
{
    struct weir__lookup *lookup = ask->inquiry->lookup;
    struct weir_breaker_ticket ticket = WEIR_BREAKER_TICKET_NONE;
    struct weir_breaker_stats stats;
    int error = weir_breaker_allow(&lookup->breakers[ask->source], &ticket);
    if (error)
        return error;
    weir_breaker_read(&lookup->breakers[ask->source], &stats);
    ask->is_probe = stats.state == WEIR_BREAKER_HALF_OPEN;
    weir_lock_acquire(&lookup->line.lock);
    ask->ticket = ticket;
    weir_lock_release(&lookup->line.lock);
    weir_counter_add(&lookup->counts[ask->source].asked, 1);
    weir_lock_acquire(&ask->inquiry->lock);
    ask->inquiry->steps[ask->source].tries++;
    weir_lock_release(&ask->inquiry->lock);
    return 0;
}

static void end_try(struct weir__ask *ask, int result, uint64_t took_ns)
{
    struct weir__lookup *lookup = ask->inquiry->lookup;
    struct weir__source_counts *counts = &lookup->counts[ask->source];
    enum weir_breaker_outcome outcome = outcome_of(ask, result, took_ns);
    weir_lock_acquire(&lookup->line.lock);
    struct weir_breaker_ticket ticket = ask->ticket;
    ask->ticket = (struct weir_breaker_ticket)WEIR_BREAKER_TICKET_NONE;
    weir_lock_release(&lookup->line.lock);
    if (outcome == WEIR_BREAKER_SUCCESS)
        weir_gauge_set(&counts->well_ns, (int64_t)weir_now_ns());
    weir_breaker_report(&ticket, outcome); /* empty if the janitor was faster */
    if (outcome == WEIR_BREAKER_CANCELED)
        weir_counter_add(&counts->canceled, 1);
    else if (result == 0)
        weir_counter_add(&counts->answered, 1);
    else
        weir_counter_add(result == -WEIR_E_NOT_FOUND ? &counts->not_found : &counts->failed, 1);
    if (outcome != WEIR_BREAKER_CANCELED)
        weir_histogram_observe(&counts->took_ns, took_ns);
}

static int ask_source(struct weir__ask *ask, struct weir__part **ret_part)
{
    struct weir__inquiry *inquiry = ask->inquiry;
    struct weir__source *source = inquiry->lookup->sources[ask->source];
    struct weir__room *room = weir__room_take(inquiry->lookup);
    if (!room)
        return -WEIR_E_NO_MEMORY;
    struct weir__reply reply = {.records = room->records};
    struct weir_deadline deadline = deadline_of(ask);
    int error = source->ops->ask(source, &inquiry->question, &reply, &deadline);
    /* Whatever it returned: who had nothing but these says that there is nothing. */
    struct weir_counter *records = inquiry->lookup->counts[ask->source].records;
    weir_counter_add(&records[WEIR__RECORD_OVERSIZED], reply.oversized);
    weir_counter_add(&records[WEIR__RECORD_MALFORMED], reply.dropped - reply.oversized);
    if (!error)
        error = weir__lookup_judge(inquiry, ask->source, &reply, deadline.cancel, ret_part);
    weir__room_give(inquiry->lookup, room);
    return error;
}

static int try_once(struct weir__ask *ask, struct weir__part **ret_part)
{
    int error = begin_try(ask);
    if (error)
        return error;
    uint64_t began_ns = weir_now_ns();
    error = ask_source(ask, ret_part);
    end_try(ask, error, weir_now_ns() - began_ns);
    return error;
}

/* --- all tries --- */

/* An open breaker ends it: the error is then that of the try before, if there was one. */
static int try_often(struct weir__ask *ask, struct weir__part **ret_part)
{
    struct weir__lookup *lookup = ask->inquiry->lookup;
    struct weir__source_counts *counts = &lookup->counts[ask->source];
    struct weir_backoff backoff;
    int last = 0;
    int error = weir_backoff_init(&backoff, &(struct weir_backoff_options){
                                                .base_min_ns = RETRY_MIN_NS,
                                                .base_max_ns = RETRY_MAX_NS,
                                                .cap_ns = RETRY_MAX_NS,
                                                .tries_max = ask->inquiry->rules->limits.tries,
                                            });
    while (!error) {
        error = try_once(ask, ret_part);
        if (error == -WEIR_E_BREAKER_OPEN) {
            weir_counter_add(&counts->refused, 1);
            return last ? last : error;
        }
        if (!error || !weir_error_is_retryable(error))
            return error;
        last = error;
        weir_hedge_falter(ask->attempt);
        error = weir_backoff_wait(&backoff, &ask->attempt->deadline);
        if (!error)
            weir_counter_add(&counts->retries, 1);
    }
    return error == -WEIR_E_CANCELED || !last ? error : last;
}

void weir__ask_run(struct weir__line_item *item)
{
    struct weir__ask *ask = (struct weir__ask *)item;
    struct weir__part *part = NULL;
    int result = -WEIR_E_CANCELED;
    if (!weir_cancel_is_fired(ask->attempt->deadline.cancel))
        result = try_often(ask, &part);
    conclude(ask, result, part);
}

/* --- the beginning --- */

static void begin_step(struct weir__inquiry *inquiry, const struct weir_hedge_attempt *attempt)
{
    weir_lock_acquire(&inquiry->lock);
    inquiry->references++;
    inquiry->steps[attempt->target] = (struct weir__inquiry_step){
        .is_asked = true, .is_hedge = attempt->is_hedge, .began_ns = weir_now_ns()};
    weir_lock_release(&inquiry->lock);
}

/* The source answers without waiting, so it is asked here and now, once. */
static int ask_local(struct weir__ask *ask)
{
    struct weir__part *part = NULL;
    weir__line_enter(&ask->inquiry->lookup->line, &ask->item);
    int result = try_once(ask, &part);
    if (result == -WEIR_E_BREAKER_OPEN)
        weir_counter_add(&ask->inquiry->lookup->counts[ask->source].refused, 1);
    if (result || !is_kept(ask, part)) {
        conclude(ask, result, part);
        return 0;
    }
    conclude_kept(ask);
    return 0;
}

/* Nobody waits in line for what is refused anyway. */
static int refuse_open(struct weir__lookup *lookup, unsigned source)
{
    if (weir_breaker_delay_ns(&lookup->breakers[source]) == 0)
        return 0;
    weir_counter_add(&lookup->counts[source].refused, 1);
    return -WEIR_E_BREAKER_OPEN;
}

int weir__ask_start(void *arg, struct weir_hedge_attempt *attempt)
{
    struct weir__inquiry *inquiry = arg;
    struct weir__lookup *lookup = inquiry->lookup;
    begin_step(inquiry, attempt);
    weir_counter_add(&lookup->attempts, 1);
    weir_counter_add(&lookup->hedges, attempt->is_hedge);
    struct weir__ask *ask = NULL;
    int error = refuse_open(lookup, attempt->target);
    if (!error) {
        ask = weir__base_alloc(1, sizeof(*ask));
        error = ask ? 0 : -WEIR_E_NO_MEMORY;
    }
    if (!error) {
        ask->inquiry = inquiry;
        ask->attempt = attempt;
        ask->source = attempt->target;
        if (strcmp(lookup->sources[ask->source]->ops->kind, "local") == 0)
            return ask_local(ask);
        error = weir__line_push(&lookup->line, &ask->item, attempt->deadline.cancel);
    }
    if (error) {
        weir__base_free(ask);
        note_end(inquiry, attempt->target, error, false);
        weir__ask_settle(inquiry);
        weir__inquiry_unref(inquiry);
    }
    return error;
}
