/* resolve.c - GET and HEAD of /resolve/ and /providers/.
 *
 *     loop:      fresh in the cache? --> answered at once, from where it lies
 *                otherwise a job, which waits for the turn of its address, then in the line of work
 *     resolver:  fresh by now? --> done
 *                joins the flight of the question; who leads looks it up and lands,
 *                who does not goes to the next job
 *     landing:   every job of the flight is finished, by the thread of the leader
 *     loop:      answers: what was found, or what is stale, or why there is nothing
 *
 * Failure modes: a line is full (429). The deadline of a request passes (504, or what is stale),
 * and its job stays in the flight until that lands. A flight has the whole budget of a lookup,
 * whatever its first client asks for, so that a hasty one spoils nothing for others; who joined it
 * near its end and has time left, or while somebody changed who provides what the name means, is
 * sent through the line once more.
 */
#include <string.h>

#include <weir/error.h>

#include "index_part.h"
#include "routing_text.h"

#include "banned.h"

/* What is left of a request's time must be worth another try. */
#define AGAIN_NS (100 * WEIR_NS_PER_MS)
/* More than two looks of the clock. */
#define TRACE_NS (50 * WEIR_NS_PER_MS)

/* --- flights --- */

static struct weir_gauge *epoch_of(struct weir__index *index, const struct weir__question_key *key)
{
    uint32_t word;
    memcpy(&word, key->bytes + 16, sizeof(word));
    return &index->epochs[word % WEIR__INDEX_EPOCHS];
}

void weir__resolve_flight_key(struct weir__index *index, const struct weir__question_key *key,
                              struct weir__question_key *ret_key)
{
    uint64_t word, epoch = (uint64_t)weir_gauge_value(epoch_of(index, key));
    *ret_key = *key;
    memcpy(&word, ret_key->bytes + 24, sizeof(word));
    word += epoch;
    memcpy(ret_key->bytes + 24, &word, sizeof(word));
}

/* In this order: who sees the cache empty finds the new flight. */
void weir__resolve_forget(struct weir__index *index, const struct weir__question_key *key)
{
    weir_gauge_add(epoch_of(index, key), 1);
    (void)!weir__cache_drop(index->cache, key);
}

void weir__resolve_lead(struct weir__index *index, const struct weir__question *question,
                        struct weir__flight *flight)
{
    struct weir_deadline deadline = weir__flight_deadline(flight);
    struct weir__answer *answer = NULL;
    uint64_t began_ns = weir_now_ns();
    int error = weir__lookup_run(index->lookup, question, NULL, &answer, &deadline);
    weir_histogram_observe(&index->counts.lookup, weir_now_ns() - began_ns);
    if (!error) {
        weir__cache_offer(index->cache, answer);
        weir__probe_ask(index, answer);
        weir__prefetch_compare(index, answer);
    }
    weir__flight_land(index->flights, flight, error, answer);
    weir__answer_unref(answer);
}

/* By the thread of the leader, or of whoever else knows. */
static void finish(struct weir__index_job *job, int result)
{
    const struct weir__answer *answer = job->answer;
    if (!result && job->wants_object)
        result = weir__routing_put_object(&job->head.bytes, answer->result ? NULL : answer);
    weir__errand_finish(&job->head, result, NULL);
}

/* Whether the flight had begun too early for who joined it: it was near its end, or who provides
 * what the name means has changed meanwhile, and the change may have been acknowledged before this
 * job came. One that is led, and one that is joined after this one has landed, has not. */
static bool was_too_early(struct weir__index *index, const struct weir__index_job *job, int result,
                          const struct weir__answer *answer)
{
    if (job->leads || job->was_sent_again)
        return false;
    if (result == -WEIR_E_TIMEOUT)
        return job->head.deadline_ns >= weir_time_add(weir_now_ns(), AGAIN_NS);
    return result == 0 && weir__cache_is_overtaken(index->cache, answer);
}

static void told(struct weir__flight_waiter *waiter, int result, struct weir__answer *answer)
{
    struct weir__index_job *job = waiter->arg;
    struct weir__index *index = weir__index_of(job->head.daemon);
    if (was_too_early(index, job, result, answer)) {
        job->was_sent_again = true;
        weir__answer_unref(answer);
        answer = NULL;
        if (weir__in_turn_enter(job) == 0) {
            weir_counter_add(&index->counts.sent_again, 1);
            return;
        }
        result = result ? result : -WEIR_E_BUSY;
    }
    job->answer = answer;
    finish(job, result);
}

static void join(struct weir__index *index, struct weir__index_job *job)
{
    struct weir__daemon_rules *rules = weir__daemon_rules(&index->daemon);
    uint64_t budget_ns = weir__index_own(rules)->dht.deadline_ms * WEIR_NS_PER_MS;
    weir__daemon_rules_give(rules);
    /* A job that does not lead may be finished, and gone, before join() returns. */
    struct weir__question question = job->question;
    struct weir__question_key key;
    struct weir__flight *flight = NULL;
    weir__resolve_flight_key(index, &job->key, &key);
    job->waiter = (struct weir__flight_waiter){.told = told, .arg = job};
    int error = weir__flight_join(index->flights, &key, weir_time_add(weir_now_ns(), budget_ns),
                                  &job->waiter, &flight);
    if (error)
        finish(job, error);
    else if (flight) {
        job->leads = true;
        weir__resolve_lead(index, &question, flight);
    }
}

/* --- resolvers --- */

/* Who finds an answer with a provider that has expired hands in what is left, for the next. */
enum weir__cache_state weir__resolve_find(struct weir__index *index,
                                          const struct weir__question_key *key,
                                          struct weir__answer **ret_answer, bool *ret_is_due)
{
    struct weir__answer *answer = NULL;
    int64_t now_s = weir_wall_s();
    enum weir__cache_state state =
        weir__cache_find(index->cache, key, weir_now_ns(), &answer, ret_is_due);
    if (state == WEIR__CACHE_MISS)
        return state;
    if (!weir__answer_is_whole(answer, now_s)) {
        if (weir__answer_trim(&answer, now_s))
            return WEIR__CACHE_MISS;
        weir__cache_offer(index->cache, answer);
    }
    *ret_answer = answer;
    return state;
}

static bool is_fresh_by_now(struct weir__index *index, struct weir__index_job *job)
{
    struct weir__answer *answer = NULL;
    bool is_due;
    enum weir__cache_state state = weir__resolve_find(index, &job->key, &answer, &is_due);
    if (state == WEIR__CACHE_FRESH) {
        job->answer = answer;
        finish(job, 0);
        return true;
    }
    if (state == WEIR__CACHE_STALE)
        weir__answer_unref(answer);
    return false;
}

/* What this node itself knows, without asking anybody. */
static void work_local(struct weir__index *index, struct weir__index_job *job)
{
    struct weir_deadline deadline = {.at_ns = job->head.deadline_ns};
    int error = weir__lookup_run(index->local, &job->question, NULL, &job->answer, &deadline);
    finish(job, error);
}

/* When the time of a request is up the clock answers it, who knows of no trace. So the lookup ends
 * a little before that. */
static struct weir_deadline before_the_clock(const struct weir__index_job *job)
{
    uint64_t now_ns = weir_now_ns(), end_ns = job->head.deadline_ns;
    uint64_t quarter_ns = end_ns > now_ns ? (end_ns - now_ns) / 4 : 0;
    return (struct weir_deadline){.at_ns =
                                      end_ns - (quarter_ns < TRACE_NS ? quarter_ns : TRACE_NS)};
}

/* Around the cache and the flights: the steps of this very lookup are asked for, of one that failed
 * more than of others. */
static void work_trace(struct weir__index *index, struct weir__index_job *job)
{
    struct weir_deadline deadline = before_the_clock(job);
    struct weir__trace trace = {.count = 0};
    int error = weir__lookup_run(index->lookup, &job->question, &trace, &job->answer, &deadline);
    if (!error)
        weir__cache_offer(index->cache, job->answer);
    int untold = weir__tell_put_trace(&job->head.bytes, &trace);
    weir_permit_release(&job->trace);
    finish(job, error ? error : untold);
}

void weir__resolve_work(struct weir__errand *errand, struct weir__worker *worker)
{
    struct weir__index *index = weir__index_of(worker->daemon);
    struct weir__index_job *job = weir__index_job_of(errand);
    if (job->is_local)
        work_local(index, job);
    else if (job->wants_trace)
        work_trace(index, job);
    else if (!is_fresh_by_now(index, job))
        join(index, job);
}

/* --- loops --- */

struct weir__answer *weir__resolve_stale(struct weir__index *index,
                                         const struct weir__index_ask *ask)
{
    if (!ask->stale)
        return NULL;
    struct weir__daemon_rules *rules = weir__daemon_rules(&index->daemon);
    struct weir__answer *answer =
        weir__index_own(rules)->cache.serves_stale ? weir__answer_ref(ask->stale) : NULL;
    weir__daemon_rules_give(rules);
    /* It was found when the request came, which may be long ago. */
    if (answer)
        (void)!weir__answer_trim(&answer, weir_wall_s());
    return answer;
}

/* "trace=1", or nothing. */
static bool parse_query(struct weir__exchange *exchange, struct weir__index_ask *ask)
{
    const char *query = weir__exchange_query(exchange);
    ask->wants_trace = strcmp(query, "trace=1") == 0;
    if (ask->wants_trace || query[0] == '\0')
        return true;
    weir__daemon_refuse(exchange, -WEIR_E_INVALID, "the query is trace=1, or nothing");
    return false;
}

/* What came from a sibling is not handed on to siblings: nodes that ask each other would keep each
 * other's old answers alive, long after their source has a newer one. */
static bool is_second_hand(const struct weir__index_ask *ask, const struct weir__answer *answer)
{
    return ask->is_local && strncmp(answer->source, "sibling", strlen("sibling")) == 0;
}

/* True: it was answered. */
static bool answer_from_cache(struct weir__exchange *exchange, struct weir__index_ask *ask,
                              const struct weir__daemon_rules *rules)
{
    struct weir__index *index = weir__index_at(exchange);
    struct weir__answer *answer = NULL;
    bool is_due = false;
    enum weir__cache_state state = weir__resolve_find(index, &ask->key, &answer, &is_due);
    if (state != WEIR__CACHE_MISS && is_second_hand(ask, answer)) {
        weir__answer_unref(answer);
        return false;
    }
    if (state == WEIR__CACHE_STALE && !answer->result)
        ask->stale = answer;
    else if (state == WEIR__CACHE_STALE)
        weir__answer_unref(answer);
    if (state != WEIR__CACHE_FRESH)
        return false;
    if (is_due && weir__index_own(rules)->cache.prefetches)
        weir__prefetch_ask(index, &ask->question);
    weir_counter_add(&index->counts.answered_by_loop, 1);
    if (answer->result == 0) {
        weir__tell_answer(exchange, ask, answer, false, NULL);
        return true;
    }
    weir__tell_nothing(exchange, ask, answer, NULL);
    weir__answer_unref(answer);
    return true;
}

static void send_trace(struct weir__exchange *exchange)
{
    struct weir__index *index = weir__index_at(exchange);
    struct weir_permit permit = WEIR_PERMIT_NONE;
    int error = weir_budget_try(&index->traces, 1, &permit);
    if (error) {
        weir__daemon_refuse(exchange, error, "too many lookups are traced");
        return;
    }
    struct weir__errand *job = weir__in_turn_new(exchange, WEIR__INDEX_WORK, weir__resolve_work);
    if (!job) {
        weir_permit_release(&permit);
        return;
    }
    weir_permit_move(&weir__index_job_of(job)->trace, &permit);
    weir__in_turn_send(exchange, job);
}

static void send_lookup(struct weir__exchange *exchange, const struct weir__index_ask *ask)
{
    weir__index_send(exchange, ask->is_local ? WEIR__INDEX_OWN : WEIR__INDEX_WORK,
                     weir__resolve_work);
}

void weir__resolve_begin(struct weir__exchange *exchange, struct weir__index_ask *ask,
                         const struct weir__daemon_rules *rules)
{
    ask->is_local = weir__exchange_header(exchange, "X-Weir-Hops") != NULL;
    if (!parse_query(exchange, ask))
        return;
    /* Nobody can have a record of it that would be taken. */
    if (ask->question.kind == WEIR__ASK_NAME &&
        !weir__name_has_keys(&ask->question.name, weir__index_at(exchange)->bindings)) {
        weir__daemon_refuse(exchange, -WEIR_E_NOT_FOUND,
                            "no key may speak for this name: write NAME@KEYID, or have its prefix "
                            "in names.prefixes");
        return;
    }
    if (ask->wants_trace && !ask->is_local)
        send_trace(exchange);
    else if (!answer_from_cache(exchange, ask, rules))
        send_lookup(exchange, ask);
}

static bool answer_stale(struct weir__exchange *exchange, struct weir__index_ask *ask)
{
    struct weir__answer *stale = weir__resolve_stale(weir__index_at(exchange), ask);
    if (stale)
        weir__tell_answer(exchange, ask, stale, true, NULL);
    return stale != NULL;
}

bool weir__resolve_late(struct weir__exchange *exchange, struct weir__index_ask *ask)
{
    return answer_stale(exchange, ask);
}

void weir__resolve_resume(struct weir__exchange *exchange, struct weir__index_ask *ask)
{
    const struct weir__index_job *job = weir__index_job_of(ask->head.job);
    const struct weir__buffer *trace = job->wants_trace ? &job->head.bytes : NULL;
    int result = job->head.result;
    if (result == -WEIR_E_TIMEOUT)
        weir_counter_add(&weir__index_at(exchange)->counts.deadline_hit, 1);
    if (result) {
        if (!answer_stale(exchange, ask))
            weir__tell_failure(exchange, result, trace);
        return;
    }
    if (job->answer->result)
        weir__tell_nothing(exchange, ask, job->answer, trace);
    else
        weir__tell_answer(exchange, ask, weir__answer_ref(job->answer), false, trace);
}
