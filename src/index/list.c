/* list.c - GET /names: the names that the records of this node have, in their order.
 *
 *     {"names":[{"name":..., "manifest":..., "sequence":..., "expires":...}, ...], "next":"..."}
 *
 * What is listed is what would be served, so nothing that is superseded, removed or of a key that
 * may not speak for it any more.
 *
 * next is what to give as `after` for those behind them; it is missing when there are no more.
 */
#include <string.h>

#include <weir/error.h>

#include "index_part.h"
#include "json.h"

#include "banned.h"

struct listing {
    struct weir__index *index;
    struct weir__json json;
    struct weir__name last;
    size_t count, limit;
};

static int put_one(void *arg, const struct weir__record *record,
                   const struct weir__record_bytes *bytes)
{
    struct listing *listing = arg;
    if (weir__seen_is_past(listing->index->seen, record, bytes))
        return 0;
    struct weir__json *json = &listing->json;
    char address[WEIR__ADDRESS_TEXT];
    if (listing->count == listing->limit) {
        listing->count++; /* there is one more */
        return 1;
    }
    weir__address_print(&record->address, address);
    weir__json_object(json);
    weir__json_key(json, "name");
    weir__json_string(json, record->name.text);
    weir__json_key(json, "manifest");
    weir__json_string(json, address);
    weir__json_key(json, "sequence");
    weir__json_u64(json, record->sequence);
    weir__json_key(json, "expires");
    weir__json_i64(json, record->expires_s);
    weir__json_end(json);
    listing->last = record->name;
    listing->count++;
    return 0;
}

static int list(struct weir__index *index, struct weir__index_job *job,
                const struct weir__given_list *given)
{
    struct listing listing = {.index = index, .limit = given->limit};
    weir__json_init(&listing.json, &job->head.bytes);
    weir__json_object(&listing.json);
    weir__json_key(&listing.json, "names");
    weir__json_array(&listing.json);
    int error = weir__records_list_names(index->records, given->prefix, given->after, SIZE_MAX,
                                         weir_wall_s(), put_one, &listing);
    weir__json_end(&listing.json);
    if (listing.count > listing.limit) {
        weir__json_key(&listing.json, "next");
        weir__json_string(&listing.json, listing.last.text);
    }
    weir__json_end(&listing.json);
    int finished = weir__json_finish(&listing.json);
    return error < 0 ? error : finished;
}

static void work(struct weir__errand *errand, struct weir__worker *worker)
{
    struct weir__index_job *job = weir__index_job_of(errand);
    struct weir__given_list given;
    const char *message = NULL;
    struct weir__exchange *exchange = weir__errand_begin_reading(errand);
    int error = exchange ? weir__given_list(&given, weir__exchange_query(exchange), &message)
                         : -WEIR_E_CANCELED;
    weir__errand_end_reading(errand);
    if (!error) {
        message = NULL;
        error = list(weir__index_of(worker->daemon), job, &given);
    }
    weir__errand_finish(errand, error, message);
}

void weir__list_begin(struct weir__exchange *exchange)
{
    weir__index_send(exchange, WEIR__INDEX_OWN, work);
}

void weir__list_resume(struct weir__exchange *exchange, struct weir__index_ask *ask)
{
    const struct weir__errand *job = ask->head.job;
    if (job->result) {
        weir__daemon_refuse(exchange, job->result, job->message);
        return;
    }
    weir__daemon_answer_begin(exchange, 200);
    weir__reply_header(exchange, "Content-Type", "application/json");
    weir__reply_header(exchange, "Cache-Control", "no-store");
    weir__reply_bytes(exchange, weir__buffer_text(&job->bytes), weir__buffer_length(&job->bytes),
                      NULL, NULL);
    weir__reply_send(exchange);
}
