/* admin.c - POST /admin/reindex, /admin/pin, /admin/unpin.
 *
 * With an Idempotency-Key a request that comes again is answered as before, and nothing is done
 * (repeats.h). A pin is in the records, so that it outlives the process, and in the cache; a place
 * for it is claimed before it is written (pins.h).
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <weir/error.h>

#include "alloc.h"
#include "index_part.h"

#include "banned.h"

/* --- once --- */

/* True: it is to be done. Otherwise the job is finished. In a worker that reads. */
static bool is_first(struct weir__index *index, struct weir__index_job *job,
                     const struct weir__repeats_ask *ask)
{
    struct weir__index_change *change = job->change;
    if (!ask->key)
        return true;
    switch (
        weir__repeats_begin(index->repeats, ask, weir_now_ns(), &change->turn, &change->again)) {
    case WEIR__REPEATS_NEW:
        return true;
    case WEIR__REPEATS_DONE:
        job->head.result = 0;
        return false;
    case WEIR__REPEATS_RUNS:
        job->head.result = -WEIR_E_CONFLICT;
        job->head.message = "a request with this Idempotency-Key is being handled";
        return false;
    case WEIR__REPEATS_OTHER:
        job->head.result = -WEIR_E_INVALID;
        job->status = 422;
        job->head.message = "this Idempotency-Key was used for something else";
        return false;
    case WEIR__REPEATS_FULL:
        job->head.result = -WEIR_E_BUSY;
        job->head.message = "too many Idempotency-Keys are remembered";
        change->retry_ns = weir__repeats_left_ns(index->repeats, weir_now_ns());
        return false;
    }
    return false;
}

static void end(struct weir__index *index, struct weir__index_job *job, int error,
                const char *message)
{
    struct weir__index_change *change = job->change;
    weir__repeats_end(index->repeats, &change->turn, error ? NULL : &change->again);
    weir__errand_finish(&job->head, error, message);
}

__attribute__((format(printf, 3, 4))) static void say(struct weir__index_change *change,
                                                      unsigned status, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    change->again.status = status;
    vsnprintf(change->again.text, sizeof(change->again.text), format, args);
    va_end(args);
}

/* --- pins --- */

static void pinned(struct weir__records_write *write)
{
    struct weir__index_job *job = write->arg;
    struct weir__index *index = weir__index_of(job->head.daemon);
    bool is_pin = write->action == WEIR__RECORDS_PIN;
    int error = write->result;
    if (error == -WEIR_E_NOT_FOUND && !is_pin)
        error = 0; /* nothing was pinned, and nothing is */
    if (is_pin)
        weir__pins_settle(index->pins, &job->key, !error);
    else if (!error)
        weir__pins_remove(index->pins, &job->key);
    if (!error)
        error = weir__cache_pin(index->cache, &job->key, is_pin);
    end(index, job, error, NULL);
}

/* There may be too many, which is found before anything is written. */
static int submit_pin(struct weir__index *index, struct weir__index_job *job)
{
    struct weir__records_write *write = &job->change->write;
    bool is_pin = job->head.way->number == WEIR__INDEX_PIN;
    char address[WEIR__ADDRESS_TEXT] = "";
    if (job->question.kind == WEIR__ASK_PROVIDERS)
        weir__address_print(&job->question.address, address);
    say(job->change, 200, "{\"status\":\"%s\",\"key\":\"%s\"}\n", is_pin ? "pinned" : "unpinned",
        address[0] ? address : job->question.name.text);
    *write = (struct weir__records_write){
        .action = is_pin ? WEIR__RECORDS_PIN : WEIR__RECORDS_UNPIN,
        .question = job->question,
        .now_s = weir_wall_s(),
        .done = pinned,
        .arg = job,
    };
    int error = is_pin ? weir__pins_claim(index->pins, &job->key) : 0;
    if (error)
        return error;
    struct weir__question_key key = job->key;
    error = weir__records_submit(index->records, write);
    if (error && is_pin)
        weir__pins_settle(index->pins, &key, false);
    return error == -WEIR_E_CLOSED ? -WEIR_E_DRAINING : error;
}

static int reindex(struct weir__index *index, struct weir__index_job *job)
{
    say(job->change, 202, "{\"status\":\"accepted\"}\n");
    struct weir__daemon_rules *rules = weir__daemon_rules(&index->daemon);
    int error = weir__cache_clear(index->cache);
    if (!error)
        error = weir__gather_update(index, rules); /* which begins a round */
    weir__daemon_rules_give(rules);
    return error;
}

/* --- a resolver --- */

/* 0: what the body says is in the job; 1: it was answered before. */
static int read_ask(struct weir__index *index, struct weir__index_job *job,
                    struct weir__worker *worker, const char **ret_message)
{
    WEIR_CLEANUP(weir__buffer_fini)
    struct weir__buffer body;
    weir__buffer_init(&body, WEIR__GIVEN_BODY_MAX);
    struct weir__exchange *exchange = weir__errand_begin_reading(&job->head);
    int error = 0;
    if (!exchange)
        error = -WEIR_E_CANCELED;
    else if (weir__exchange_has_length(exchange))
        error = weir__change_read_body(job, worker, exchange, &body, ret_message);
    size_t length = weir__buffer_length(&body);
    if (!error && job->head.way->number != WEIR__INDEX_REINDEX)
        error = weir__given_key(&job->question, weir__buffer_text(&body), length, ret_message);
    else if (!error && length > 0) {
        *ret_message = "this request has no body";
        error = -WEIR_E_INVALID;
    }
    if (!error) {
        const struct weir__daemon_ask *ask = weir__exchange_private(exchange);
        const struct weir__repeats_ask once = {
            .who = ask->grant.id,
            .path = ask->way->path,
            .key = weir__exchange_header(exchange, "Idempotency-Key"),
            .body = weir__buffer_text(&body),
            .body_length = length,
        };
        error = is_first(index, job, &once) ? 0 : 1;
    }
    weir__errand_end_reading(&job->head);
    return error;
}

static void work(struct weir__errand *errand, struct weir__worker *worker)
{
    struct weir__index *index = weir__index_of(worker->daemon);
    struct weir__index_job *job = weir__index_job_of(errand);
    const char *message = NULL;
    int error = read_ask(index, job, worker, &message);
    if (error > 0) {
        weir__errand_finish(errand, errand->result, errand->message);
        return;
    }
    if (error) {
        end(index, job, error, message);
        return;
    }
    if (job->head.way->number == WEIR__INDEX_REINDEX) {
        end(index, job, reindex(index, job), NULL);
        return;
    }
    weir__question_key_of(&job->question, &job->key);
    error = submit_pin(index, job);
    if (error)
        end(index, job, error,
            error == -WEIR_E_OVERFLOW ? "4096 keys are pinned: unpin another one first" : NULL);
}

/* --- the loop --- */

static void send_job(struct weir__exchange *exchange)
{
    struct weir__index_change *change = weir__base_alloc(1, sizeof(*change));
    struct weir__errand *errand =
        change ? weir__in_turn_new(exchange, WEIR__INDEX_OWN, work) : NULL;
    if (!errand) {
        if (!change)
            weir__daemon_refuse(exchange, -WEIR_E_NO_MEMORY, NULL);
        weir__base_free(change);
        return;
    }
    weir__index_job_of(errand)->change = change;
    weir__in_turn_send(exchange, errand);
}

void weir__admin_begin(struct weir__exchange *exchange, struct weir__index_ask *ask)
{
    const char *key = weir__exchange_header(exchange, "Idempotency-Key");
    enum weir__coding coding;
    if (key && !weir__repeats_is_key(key)) {
        weir__daemon_refuse(exchange, -WEIR_E_INVALID,
                            "an Idempotency-Key has 1 to 255 printable characters");
        return;
    }
    bool needs_body = ask->head.way->number != WEIR__INDEX_REINDEX;
    if (!needs_body && !weir__exchange_has_length(exchange)) {
        send_job(exchange);
        return;
    }
    if (weir__daemon_body_head(exchange, &coding))
        (void)weir__daemon_body_take(exchange, WEIR__GIVEN_BODY_MAX);
}

void weir__admin_whole(struct weir__exchange *exchange, struct weir__index_ask *ask)
{
    (void)ask;
    if (weir__exchange_end_ns(exchange) == WEIR_NEVER)
        weir__exchange_set_deadline(exchange, weir_time_add(weir_now_ns(), WEIR__INDEX_CHANGE_NS));
    send_job(exchange);
}

void weir__admin_resume(struct weir__exchange *exchange, struct weir__index_ask *ask)
{
    const struct weir__index_job *job = weir__index_job_of(ask->head.job);
    const struct weir__repeats_answer *again = &job->change->again;
    weir__daemon_event_of(exchange, "admin", NULL, job->head.result,
                          ask->head.way->path + strlen("/admin/"));
    if (job->status) {
        weir__daemon_answer_begin(exchange, job->status);
        weir__reply_error_as(exchange, job->status, job->head.result, job->head.message, 0);
    } else if (job->head.result)
        weir__daemon_refuse_with(exchange, job->head.result,
                                 &(struct weir__daemon_refusal){
                                     .message = job->head.message,
                                     .retry_ns = job->change->retry_ns,
                                 });
    else
        weir__tell_json(exchange, again->status, again->text, strlen(again->text));
}

/* --- at the start --- */

struct loading {
    struct weir__index *index;
    uint64_t beyond; /* pins that are one too many */
};

static int load_one(void *arg, const struct weir__question *question)
{
    struct loading *loading = arg;
    struct weir__question_key key;
    weir__question_key_of(question, &key);
    int error = weir__pins_load(loading->index->pins, &key);
    if (error == -WEIR_E_OVERFLOW) {
        loading->beyond++;
        return 0;
    }
    return error ? error : weir__cache_load_pin(loading->index->cache, &key);
}

int weir__admin_load_pins(struct weir__index *index)
{
    struct loading loading = {.index = index};
    int error = weir__records_list_pins(index->records, load_one, &loading);
    if (!error && loading.beyond > 0)
        weir__daemon_find(&index->daemon,
                          "%" PRIu64 " pinned keys beyond the first %u are not kept in the cache",
                          loading.beyond, WEIR__PINS_MAX);
    return error;
}
