/* change.c - PUT and DELETE of /names/NAME, PUT of /providers/ADDRESS.
 *
 * The loop takes the body, a resolver reads it and judges the record, and the writer of the records
 * makes it last together with what others bring. Nobody waits for the disk but that writer. It then
 * forgets what the cache has and finishes the job, so that a client who was told of its change, and
 * whoever asks after that, sees it.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <weir/error.h>

#include "alloc.h"
#include "index_part.h"

#include "banned.h"

/* --- the loop --- */

struct record_change {
    struct weir__index_change head;  /* first: jobs free it by that */
    char token[WEIR__TOKEN_ID_SIZE]; /* its id; "": none was shown */
    bool is_denied;                  /* by a quota, for this reason */
    char why[WEIR__QUOTA_WHY];
};

static struct record_change *record_change_of(const struct weir__index_job *job)
{
    return (struct record_change *)job->change;
}

void weir__change_begin_record(struct weir__exchange *exchange, struct weir__index_ask *ask,
                               const struct weir__daemon_rules *rules)
{
    enum weir__coding coding;
    (void)ask, (void)rules;
    if (weir__daemon_body_head(exchange, &coding))
        (void)weir__daemon_body_take(exchange, WEIR__GIVEN_BODY_MAX);
}

/* --- a resolver: reading --- */

int weir__change_read_body(struct weir__index_job *job, struct weir__worker *worker,
                           struct weir__exchange *exchange, struct weir__buffer *body,
                           const char **ret_message)
{
    struct weir__index_tools *tools = worker->tools;
    (void)job;
    return exchange ? weir__daemon_body_unpack(exchange, &tools->decoder, body, ret_message)
                    : -WEIR_E_CANCELED;
}

static int read_given(struct weir__index_job *job, struct weir__worker *worker,
                      struct weir__given *ret_given, const char **ret_message)
{
    WEIR_CLEANUP(weir__buffer_fini)
    struct weir__buffer body;
    weir__buffer_init(&body, WEIR__GIVEN_BODY_MAX);
    struct weir__exchange *exchange = weir__errand_begin_reading(&job->head);
    int error = weir__change_read_body(job, worker, exchange, &body, ret_message);
    weir__errand_end_reading(&job->head);
    if (error)
        return error;
    const char *text = weir__buffer_text(&body);
    size_t length = weir__buffer_length(&body);
    return job->question.kind == WEIR__ASK_NAME
               ? weir__given_name(ret_given, text, length, ret_message)
               : weir__given_provider(ret_given, text, length, ret_message);
}

/* --- a resolver: judging --- */

static int error_of(enum weir__record_verdict verdict, const struct weir__records_write *write,
                    const char **ret_message)
{
    switch (verdict) {
    case WEIR__RECORD_GOOD:
        return 0;
    case WEIR__RECORD_FORGED:
        *ret_message = "the signature of the record is wrong";
        return -WEIR_E_FORBIDDEN;
    case WEIR__RECORD_UNBOUND:
        *ret_message = "the key of the record may not speak for that name: it is not the one of "
                       "label@keyid, and not in names.prefixes";
        return -WEIR_E_FORBIDDEN;
    case WEIR__RECORD_EXPIRED:
        *ret_message = weir__record_time_problem(&write->record, write->now_s);
        return -WEIR_E_INVALID;
    default:
        *ret_message = "that is no record";
        return -WEIR_E_INVALID;
    }
}

/* Whether it is about what the path names, and does what the method says. */
static int check_fit(const struct weir__index_job *job, const struct weir__record *record,
                     int64_t life_max_s, const char **ret_message)
{
    if (!weir__question_fits(&job->question, record)) {
        *ret_message = "the record is about something else than the path";
        return -WEIR_E_INVALID;
    }
    if (record->kind == WEIR__RECORD_NAME &&
        record->is_removal != (job->method == WEIR__HTTP_DELETE)) {
        *ret_message = record->is_removal ? "a record that removes a name is brought by DELETE"
                                          : "DELETE wants a record that removes the name";
        return -WEIR_E_INVALID;
    }
    if (record->kind == WEIR__RECORD_PROVIDER &&
        record->expires_s - record->issued_s > life_max_s) {
        *ret_message = "the record lives for longer than providers.max_life allows";
        return -WEIR_E_INVALID;
    }
    return 0;
}

static int judge(struct weir__index *index, struct weir__index_job *job,
                 struct weir__records_write *write, const char **ret_message)
{
    struct weir__daemon_rules *rules = weir__daemon_rules(&index->daemon);
    int64_t life_max_s = (int64_t)(weir__index_own(rules)->providers.max_life_ns / WEIR_NS_PER_S);
    weir__daemon_rules_give(rules);
    enum weir__record_verdict verdict = weir__record_judge(
        &write->record, write->bytes.bytes, write->bytes.length, index->bindings, write->now_s);
    weir_counter_add(&index->counts.refused[verdict], 1);
    int error = error_of(verdict, write, ret_message);
    return error ? error : check_fit(job, &write->record, life_max_s, ret_message);
}

/* --- a resolver: quotas --- */

static bool has_provider(const struct weir__record_bytes *found, size_t count,
                         const struct weir__record *record)
{
    struct weir__record one;
    for (size_t i = 0; i < count; i++)
        if (weir__record_unpack(&one, found[i].bytes, found[i].length) == 0 &&
            memcmp(one.public_key, record->public_key, sizeof(one.public_key)) == 0)
            return true;
    return false;
}

/* Whether a record that counts is there already: what takes its place needs no more room. */
static bool replaces(struct weir__index *index, const struct weir__records_write *write)
{
    const struct weir__record *record = &write->record;
    struct weir__records_seen seen;
    struct weir__record_bytes bytes;
    size_t count = 0;
    if (record->kind == WEIR__RECORD_NAME)
        return weir__records_name(index->records, &record->name, write->now_s, &bytes, &seen) == 0;
    struct weir__record_bytes *room = weir__base_alloc(WEIR__RECORDS_PROVIDERS_MAX, sizeof(*room));
    bool is_there = room &&
                    weir__records_providers(index->records, &record->address, write->now_s, room,
                                            WEIR__RECORDS_PROVIDERS_MAX, &count) == 0 &&
                    has_provider(room, count, record);
    weir__base_free(room);
    return is_there;
}

/* Who shows no token has no quota. A token that has used up what it may store can still bring what
 * takes the place of a record. */
static int reserve(struct weir__index *index, struct weir__index_job *job, const char **ret_message)
{
    struct record_change *change = record_change_of(job);
    struct weir__records_write *write = &change->head.write;
    struct weir__daemon_rules *rules = weir__daemon_rules(&index->daemon);
    const struct weir__quota_limits limits = {rules->service->quotas.bytes_per_token,
                                              rules->service->quotas.objects_per_token};
    enum weir__quota_reason reason = WEIR__QUOTA_REASONS;
    weir__daemon_rules_give(rules);
    if (!change->token[0] || (!limits.bytes && !limits.objects))
        return 0;
    int error = weir__quota_reserve(index->quota, change->token, &limits, write->bytes.length,
                                    &change->head.hold, &reason, change->why);
    if (error != -WEIR_E_FORBIDDEN)
        return error;
    if (replaces(index, write))
        return 0;
    weir_counter_add(&index->counts.quota_refused[reason], 1);
    change->is_denied = true;
    *ret_message = change->why; /* it lives for as long as the job */
    return error;
}

/* --- the writer --- */

static void put_conflict(struct weir__index_job *job, const struct weir__records_write *write)
{
    const struct weir__record *record = &write->record;
    if (write->has_previous && write->previous != write->current &&
        record->sequence > write->current)
        (void)!weir__buffer_printf(&job->head.bytes,
                                   "the sequence there is %" PRIu64 ", and 'previous' is %" PRIu64,
                                   write->current, write->previous);
    else
        (void)!weir__buffer_printf(&job->head.bytes,
                                   "the sequence there is %" PRIu64
                                   ", and that of the record is %" PRIu64 ": it must be higher",
                                   write->current, record->sequence);
}

static void put_done(struct weir__index_job *job, const struct weir__records_write *write)
{
    const struct weir__record *record = &write->record;
    char address[WEIR__ADDRESS_TEXT];
    weir__address_print(&record->address, address);
    const char *key = record->kind == WEIR__RECORD_NAME ? "name" : "address";
    (void)!weir__buffer_printf(
        &job->head.bytes, "{\"%s\":\"%s\",\"sequence\":%" PRIu64 ",\"expires\":%" PRId64 "%s}\n",
        key, record->kind == WEIR__RECORD_NAME ? record->name.text : address, record->sequence,
        record->expires_s, record->is_removal ? ",\"removed\":true" : "");
}

static void written(struct weir__records_write *write)
{
    struct weir__index_job *job = write->arg;
    struct weir__index *index = weir__index_of(job->head.daemon);
    int result = write->result;
    if (result == 0) {
        weir__resolve_forget(index, &job->key);
        if (write->was_there)
            weir__quota_give(&job->change->hold);
        else
            weir__quota_keep(&job->change->hold, write->bytes.length);
        weir_counter_add(&index->counts.published, 1);
        weir__gather_publish(index, &write->bytes);
        put_done(job, write);
    } else if (result == -WEIR_E_CONFLICT) {
        weir_counter_add(&index->counts.conflicts, 1);
        put_conflict(job, write);
    }
    weir__errand_finish(&job->head, result, NULL);
}

static int submit(struct weir__index *index, struct weir__index_job *job,
                  const struct weir__given *given, const char **ret_message)
{
    struct weir__records_write *write = &job->change->write;
    write->action = WEIR__RECORDS_PUT;
    write->bytes = given->record;
    write->has_previous = given->has_previous;
    write->previous = given->previous;
    write->now_s = weir_wall_s();
    write->done = written;
    write->arg = job;
    int error = judge(index, job, write, ret_message);
    if (!error)
        error = reserve(index, job, ret_message);
    if (error)
        return error;
    error = weir__records_submit(index->records, write);
    return error == -WEIR_E_CLOSED ? -WEIR_E_DRAINING : error;
}

static void work(struct weir__errand *errand, struct weir__worker *worker)
{
    struct weir__index_job *job = weir__index_job_of(errand);
    const char *message = NULL;
    struct weir__given given;
    int error = read_given(job, worker, &given, &message);
    if (!error)
        error = submit(weir__index_of(worker->daemon), job, &given, &message);
    if (error)
        weir__errand_finish(&job->head, error, message);
}

/* --- the loop again --- */

/* Of /providers/ the cap is that of reading: what is brought counts with what is published. */
static bool enters(struct weir__exchange *exchange, struct weir__index_ask *ask)
{
    struct weir__index *index = weir__index_at(exchange);
    if (ask->head.way->number == WEIR__INDEX_NAME)
        return true;
    weir_permit_release(&ask->head.cap);
    int error =
        weir_budget_try(&index->daemon.caps[WEIR__INDEX_CAP_PUBLISH - 1], 1, &ask->head.cap);
    if (error)
        weir__daemon_refuse(exchange, error, NULL);
    return !error;
}

void weir__change_whole_record(struct weir__exchange *exchange, struct weir__index_ask *ask)
{
    /* It waits for a disk, where a lookup would have given up. */
    if (weir__exchange_end_ns(exchange) == WEIR_NEVER)
        weir__exchange_set_deadline(exchange, weir_time_add(weir_now_ns(), WEIR__INDEX_CHANGE_NS));
    if (!enters(exchange, ask))
        return;
    struct record_change *change = weir__base_alloc(1, sizeof(*change));
    if (!change) {
        weir__daemon_refuse(exchange, -WEIR_E_NO_MEMORY, NULL);
        return;
    }
    snprintf(change->token, sizeof(change->token), "%s", ask->head.grant.id);
    struct weir__errand *errand = weir__in_turn_new(exchange, WEIR__INDEX_OWN, work);
    if (!errand) {
        weir__base_free(change);
        return;
    }
    struct weir__index_job *job = weir__index_job_of(errand);
    job->change = &change->head;
    weir__in_turn_send(exchange, errand);
}

void weir__change_resume_record(struct weir__exchange *exchange, struct weir__index_ask *ask)
{
    const struct weir__index_job *job = weir__index_job_of(ask->head.job);
    const struct weir__records_write *write = &job->change->write;
    char address[WEIR__ADDRESS_TEXT];
    const char *about = ask->question.name.text;
    bool is_delete = job->method == WEIR__HTTP_DELETE;
    if (ask->question.kind == WEIR__ASK_PROVIDERS) {
        weir__address_print(&ask->question.address, address);
        about = address;
    }
    if (record_change_of(job)->is_denied)
        weir__daemon_event_of(exchange, "denied", NULL, job->head.result, "quota");
    weir__daemon_event_of(exchange, is_delete ? "delete" : "put", about, job->head.result, NULL);
    if (job->head.result == -WEIR_E_CONFLICT) {
        weir__daemon_refuse(exchange, job->head.result, weir__buffer_text(&job->head.bytes));
        return;
    }
    if (job->head.result) {
        weir__daemon_refuse(exchange, job->head.result, job->head.message);
        return;
    }
    weir__tell_json(exchange, is_delete || write->was_there ? 200 : 201,
                    weir__buffer_text(&job->head.bytes), weir__buffer_length(&job->head.bytes));
}
