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

bool weir__upload_head(struct weir__exchange *exchange, enum weir__coding *ret_coding)
{
    char room[WEIR__SERVER_LIST_SIZE];
    const char *text = weir__exchange_list(exchange, "Content-Encoding", room);
    if (!weir__exchange_has_length(exchange)) {
        weir__answer_begin(exchange, 411);
        weir__reply_close(exchange); /* what follows may be the body */
        weir__reply_error_as(exchange, 411, -WEIR_E_INVALID,
                             "send Content-Length, also of nothing, or Transfer-Encoding: chunked",
                             0);
        return false;
    }
    if (weir__coding_parse(ret_coding, text, text ? strlen(text) : 0) == 0)
        return true;
    weir__answer_begin(exchange, 415);
    weir__reply_header(exchange, "Accept-Encoding", "gzip, zstd");
    weir__reply_error_as(exchange, 415, -WEIR_E_UNSUPPORTED,
                         "bodies are sent as they are, in gzip or in zstd", 0);
    return false;
}

/* What may come, at most, is held before it comes. Who shows no token has no quota. */
static bool is_within_quota(struct weir__exchange *exchange, struct weir__ask *ask,
                            const struct weir__rules *rules, uint64_t bytes)
{
    struct weir__storage *storage = weir__exchange_arg(exchange);
    const struct weir__quota_limits limits = {rules->service->quotas.bytes_per_token,
                                              rules->service->quotas.objects_per_token};
    enum weir__quota_reason reason = WEIR__QUOTA_REASONS;
    char why[WEIR__QUOTA_WHY];
    if (!ask->grant.id[0] || (!limits.bytes && !limits.objects))
        return true;
    int error = weir__quota_reserve(storage->quota, ask->grant.id, &limits, bytes, &ask->hold,
                                    &reason, why);
    if (!error)
        return true;
    if (error == -WEIR_E_FORBIDDEN) {
        weir_counter_add(&storage->counts.quota_refused[reason], 1);
        weir__storage_event_of(exchange, WEIR__EVENT_DENIED, NULL, error, "quota");
    }
    weir__storage_refuse(exchange, error, error == -WEIR_E_FORBIDDEN ? why : NULL);
    return false;
}

void weir__upload_begin(struct weir__exchange *exchange, struct weir__ask *ask,
                        const struct weir__rules *rules)
{
    struct weir__storage *storage = weir__exchange_arg(exchange);
    uint64_t max = rules->service->server.body_max;
    enum weir__coding coding;
    if (!weir__upload_head(exchange, &coding))
        return;
    /* A part would be stored as if it were the whole. */
    if (weir__exchange_header(exchange, "Content-Range")) {
        weir__storage_refuse(exchange, -WEIR_E_INVALID, "chunks are sent whole, not in parts");
        return;
    }
    if (ask->grant.body_max < max)
        max = ask->grant.body_max;
    uint64_t length = weir__exchange_body_length(exchange);
    /* What is packed may become as large as a chunk can be. */
    uint64_t most = coding != WEIR__CODING_IDENTITY ? WEIR__CHUNK_MAX : length < max ? length : max;
    if (!is_within_quota(exchange, ask, rules, most))
        return;
    int error = weir__exchange_take_body(exchange, max);
    if (error == -WEIR_E_BUSY)
        weir_counter_add(&storage->counts.busy[WEIR__ENDPOINT_PUT], 1);
    if (!error)
        weir__access_leaves(exchange);
}

/* --- a writer --- */

static void put_done(struct weir__store_write *write)
{
    struct weir__errand *job = write->arg;
    int result = write->result;
    if (result == 0)
        weir__quota_keep(&job->hold, weir__buffer_length(&job->bytes));
    if (result >= 0)
        weir__repair_forget(job->storage, &job->address);
    weir__errand_finish(job, result, NULL);
}

int weir__upload_unpack(const struct weir__exchange *exchange, struct weir__worker *worker,
                        struct weir__buffer *bytes, const char **ret_message)
{
    size_t length;
    const void *body = weir__exchange_body(exchange, &length);
    const char *field = weir__exchange_header(exchange, "Content-Encoding");
    enum weir__coding coding;
    int error = weir__coding_parse(&coding, field, field ? strlen(field) : 0);
    if (!error && coding == WEIR__CODING_IDENTITY)
        error = weir__buffer_append(bytes, body, length);
    else if (!error)
        error = weir__unpack(&worker->decoder, coding, body, length, bytes);
    if (error == -WEIR_E_INVALID)
        *ret_message = "the body cannot be unpacked";
    if (error == -WEIR_E_TOO_LARGE)
        *ret_message = "the body unpacks to more than 1 MiB, or to more than ten times its size";
    return error;
}

/* The content into the job's own memory, its address checked. */
static int take_content(struct weir__errand *job, struct weir__worker *worker,
                        struct weir__exchange *exchange, const char **ret_message)
{
    struct weir__address address;
    int error = weir__upload_unpack(exchange, worker, &job->bytes, ret_message);
    if (error)
        return error;
    weir__address_of(weir__buffer_text(&job->bytes), weir__buffer_length(&job->bytes), &address);
    if (job->is_checked && !weir__address_is_equal(&address, &job->address))
        return -WEIR_E_MISMATCH;
    job->address = address;
    return 0;
}

/* Whether the chunk is there, and right: its bytes are read and verified, whatever the policy. One
 * that cannot be had is as good as none, and is put in place of what there is. */
static bool is_there(struct weir__errand *job, struct weir__worker *worker)
{
    const unsigned char *bytes;
    uint32_t length, time_s;
    if (weir__store_vouch(job->storage->store, &job->address, &length, &time_s))
        return false;
    int error = weir__store_read_chunk(job->storage->store, &worker->reader, &job->address, &bytes,
                                       &length);
    job->was_damaged = error && error != -WEIR_E_NOT_FOUND;
    return error == 0;
}

static void work(struct weir__errand *job, struct weir__worker *worker)
{
    const char *message = NULL;
    struct weir__exchange *exchange = weir__errand_begin_reading(job);
    int error = exchange ? take_content(job, worker, exchange, &message) : -WEIR_E_CANCELED;
    weir__errand_end_reading(job);
    bool was_there = !error && is_there(job, worker);
    job->is_unmet = !error && (was_there ? job->fails_there : job->fails_absent);
    if (error || was_there || job->is_unmet) {
        weir__errand_finish(job, error ? error : WEIR__STORE_PRESENT, message);
        return;
    }
    job->write = (struct weir__store_write){
        .action = WEIR__STORE_PUT,
        .address = job->address,
        .bytes = weir__buffer_text(&job->bytes),
        .length = (uint32_t)weir__buffer_length(&job->bytes),
        .replaces = job->was_damaged,
        .done = put_done,
        .arg = job,
    };
    error = weir__store_submit(job->storage->store, &job->write);
    if (error)
        weir__errand_finish(job, error == -WEIR_E_CLOSED ? -WEIR_E_DRAINING : error, NULL);
}

/* --- the loop --- */

void weir__upload_whole(struct weir__exchange *exchange, struct weir__ask *ask)
{
    struct weir__storage *storage = weir__exchange_arg(exchange);
    struct weir__errand *job = weir__errand_new(storage, exchange, work);
    if (!job)
        return;
    weir__quota_move(&job->hold, &ask->hold);
    job->is_checked = ask->route == WEIR__ROUTE_OBJECT;
    if (job->is_checked)
        weir__conditions_note(exchange, &ask->address, job);
    weir__buffer_init(&job->bytes, WEIR__CHUNK_MAX); /* also what a packed one may become */
    weir__errand_send(job, &storage->writes);
}

void weir__upload_resume(struct weir__exchange *exchange, struct weir__ask *ask)
{
    const struct weir__errand *job = ask->job;
    char etag[WEIR__ETAG_SIZE], address[WEIR__ADDRESS_TEXT], text[WEIR__ADDRESS_TEXT + 64];
    if (job->result < 0) {
        weir__storage_refuse(exchange, job->result, job->message);
        return;
    }
    if (weir__conditions_unmet(exchange, job))
        return;
    weir__storage_event_of(exchange, WEIR__EVENT_PUT, &job->address, job->result, NULL);
    weir__address_print(&job->address, address);
    weir__etag_print(&job->address, etag);
    weir__answer_begin(exchange, job->result == WEIR__STORE_PRESENT ? 200 : 201);
    weir__reply_header(exchange, "ETag", etag);
    weir__reply_header(exchange, "Content-Type", "application/json");
    snprintf(text, sizeof(text), "/o/%s", address);
    weir__reply_header(exchange, "Location", text);
    int length = snprintf(text, sizeof(text), "{\"address\": \"%s\"}\n", address);
    weir__reply_copy(exchange, text, (size_t)length);
    weir__reply_send(exchange);
}
