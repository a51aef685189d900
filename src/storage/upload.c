/* upload.c - PUT and POST of a chunk.
 *
 * The loop takes the body, a writer unpacks it and hashes it, and the store makes it last together
 * with what others send. Nobody waits for the disk but the store's own thread, so a few writers
 * keep hundreds of uploads under way.
 *
 * A chunk that is there already is read and verified before that is said: an upload must be able to
 * heal what has rotted.
 */
#include <stdio.h>
#include <string.h>

#include <weir/error.h>

#include "storage_part.h"

#include "banned.h"

/* What may come, at most, is held before it comes. Who shows no token has no quota. */
static bool is_within_quota(struct weir__exchange *exchange, struct weir__ask *ask,
                            const struct weir__daemon_rules *rules, uint64_t bytes)
{
    struct weir__storage *storage = weir__exchange_arg(exchange);
    const struct weir__quota_limits limits = {rules->service->quotas.bytes_per_token,
                                              rules->service->quotas.objects_per_token};
    enum weir__quota_reason reason = WEIR__QUOTA_REASONS;
    char why[WEIR__QUOTA_WHY];
    if (!ask->head.grant.id[0] || (!limits.bytes && !limits.objects))
        return true;
    int error = weir__quota_reserve(storage->quota, ask->head.grant.id, &limits, bytes, &ask->hold,
                                    &reason, why);
    if (!error)
        return true;
    if (error == -WEIR_E_FORBIDDEN) {
        weir_counter_add(&storage->counts.quota_refused[reason], 1);
        weir__daemon_event_of(exchange, "denied", NULL, error, "quota");
    }
    weir__daemon_refuse(exchange, error, error == -WEIR_E_FORBIDDEN ? why : NULL);
    return false;
}

void weir__upload_begin(struct weir__exchange *exchange, struct weir__ask *ask,
                        const struct weir__daemon_rules *rules)
{
    uint64_t max = rules->service->server.body_max;
    enum weir__coding coding;
    if (!weir__daemon_body_head(exchange, &coding))
        return;
    /* A part would be stored as if it were the whole. */
    if (weir__exchange_header(exchange, "Content-Range")) {
        weir__daemon_refuse(exchange, -WEIR_E_INVALID, "chunks are sent whole, not in parts");
        return;
    }
    if (ask->head.grant.body_max < max)
        max = ask->head.grant.body_max;
    uint64_t length = weir__exchange_body_length(exchange);
    /* What is packed may become as large as a chunk can be. */
    uint64_t most = coding != WEIR__CODING_IDENTITY ? WEIR__CHUNK_MAX : length < max ? length : max;
    if (!is_within_quota(exchange, ask, rules, most))
        return;
    (void)weir__daemon_body_take(exchange, max);
}

/* --- a writer --- */

static void put_done(struct weir__store_write *write)
{
    struct weir__job *job = write->arg;
    int result = write->result;
    if (result == 0)
        weir__quota_keep(&job->hold, weir__buffer_length(&job->head.bytes));
    if (result >= 0)
        weir__repair_forget(weir__job_storage(job), &job->address);
    weir__errand_finish(&job->head, result, NULL);
}

/* The content into the job's own memory, its address checked. */
static int take_content(struct weir__job *job, struct weir__worker *worker,
                        struct weir__exchange *exchange, const char **ret_message)
{
    struct weir__address address;
    int error =
        weir__daemon_body_unpack(exchange, weir__decoder_of(worker), &job->head.bytes, ret_message);
    if (error)
        return error;
    weir__address_of(weir__buffer_text(&job->head.bytes), weir__buffer_length(&job->head.bytes),
                     &address);
    if (job->is_checked && !weir__address_is_equal(&address, &job->address))
        return -WEIR_E_MISMATCH;
    job->address = address;
    return 0;
}

/* Whether the chunk is there, and right: its bytes are read and verified, whatever the policy. One
 * that cannot be had is as good as none, and is put in place of what there is. One that is there
 * and may not last is put as well, behind a deletion that waits: the store knows then. */
static bool is_there(struct weir__job *job, struct weir__worker *worker, bool *ret_lasts)
{
    const unsigned char *bytes;
    uint32_t length, time_s;
    int found = weir__store_vouch(weir__job_storage(job)->store, &job->address, &length, &time_s);
    if (found < 0)
        return false;
    *ret_lasts = found == 0;
    int error = weir__store_read_chunk(weir__job_storage(job)->store, weir__reader_of(worker),
                                       &job->address, &bytes, &length);
    job->was_damaged = error && error != -WEIR_E_NOT_FOUND;
    if (!error) /* it was taken for damaged, and is right */
        weir__repair_forget(weir__job_storage(job), &job->address);
    return error == 0;
}

static void work(struct weir__errand *errand, struct weir__worker *worker)
{
    struct weir__job *job = weir__job_of(errand);
    const char *message = NULL;
    struct weir__exchange *exchange = weir__errand_begin_reading(&job->head);
    int error = exchange ? take_content(job, worker, exchange, &message) : -WEIR_E_CANCELED;
    weir__errand_end_reading(&job->head);
    bool lasts = false, was_there = !error && is_there(job, worker, &lasts);
    job->is_unmet = !error && (was_there ? job->fails_there : job->fails_absent);
    if (was_there && !lasts && job->fails_there != job->fails_absent) {
        error = -WEIR_E_TRANSIENT;
        message = "whether it is there is not known before a deletion has ended";
    }
    if (error || (was_there && lasts) || job->is_unmet) {
        weir__errand_finish(&job->head, error ? error : WEIR__STORE_PRESENT, message);
        return;
    }
    job->write = (struct weir__store_write){
        .action = WEIR__STORE_PUT,
        .address = job->address,
        .bytes = weir__buffer_text(&job->head.bytes),
        .length = (uint32_t)weir__buffer_length(&job->head.bytes),
        .replaces = job->was_damaged,
        .done = put_done,
        .arg = job,
    };
    error = weir__store_submit(weir__job_storage(job)->store, &job->write);
    if (error)
        weir__errand_finish(&job->head, error == -WEIR_E_CLOSED ? -WEIR_E_DRAINING : error, NULL);
}

/* --- the loop --- */

void weir__upload_whole(struct weir__exchange *exchange, struct weir__ask *ask)
{
    struct weir__storage *storage = weir__exchange_arg(exchange);
    struct weir__job *job = weir__job_of(weir__errand_new(exchange, work));
    if (!job)
        return;
    weir__quota_move(&job->hold, &ask->hold);
    job->is_checked = ask->head.way->number == WEIR__ROUTE_OBJECT;
    if (job->is_checked)
        weir__conditions_note(exchange, &ask->address, job);
    weir__buffer_init(&job->head.bytes, WEIR__CHUNK_MAX); /* also what a packed one may become */
    weir__errand_send(&job->head, &storage->daemon.lines[WEIR__LINE_WRITES]);
}

void weir__upload_resume(struct weir__exchange *exchange, struct weir__ask *ask)
{
    const struct weir__job *job = weir__job_of(ask->head.job);
    char etag[WEIR__ETAG_SIZE], address[WEIR__ADDRESS_TEXT], text[WEIR__ADDRESS_TEXT + 64];
    if (job->head.result < 0) {
        weir__daemon_refuse(exchange, job->head.result, job->head.message);
        return;
    }
    if (weir__conditions_unmet(exchange, job))
        return;
    weir__address_print(&job->address, address);
    weir__daemon_event_of(exchange, "put", address, job->head.result, NULL);
    weir__etag_print(&job->address, etag);
    weir__daemon_answer_begin(exchange, job->head.result == WEIR__STORE_PRESENT ? 200 : 201);
    weir__reply_header(exchange, "ETag", etag);
    weir__reply_header(exchange, "Content-Type", "application/json");
    snprintf(text, sizeof(text), "/o/%s", address);
    weir__reply_header(exchange, "Location", text);
    int length = snprintf(text, sizeof(text), "{\"address\": \"%s\"}\n", address);
    weir__reply_copy(exchange, text, (size_t)length);
    weir__reply_send(exchange);
}
