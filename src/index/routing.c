/* routing.c - GET and HEAD of /routing/v1/providers/CID: the delegated routing of the IPFS.
 *
 * JSON is written as a whole by who has the answer, lines one by one as the client takes them: each
 * is sent on its own. That nobody provides it is an empty answer, not an error; so is a CID of
 * another hash, of which nothing can be known here.
 */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <weir/error.h>

#include "index_part.h"
#include "routing_text.h"

#include "banned.h"

#define LINE_MAX   4096u
#define EMPTY_TTL  (15 * WEIR_NS_PER_S)
#define FULL_TTL   (300 * WEIR_NS_PER_S)
#define EMPTY_JSON "{\"Providers\":[]}\n"

static uint64_t left_of(const struct weir__answer *answer)
{
    uint64_t ns = weir__answer_left_ns(answer, weir_now_ns(), weir_wall_s());
    return ns < FULL_TTL ? ns : FULL_TTL;
}

/* Last-Modified is when it was found out. */
static void add_head(struct weir__exchange *exchange, const struct weir__index_ask *ask,
                     const struct weir__answer *answer, bool is_stale)
{
    char text[64];
    struct tm parts;
    uint64_t now_ns = weir_now_ns();
    time_t then = (time_t)weir_wall_s();
    if (answer && now_ns > answer->made_ns)
        then -= (time_t)((now_ns - answer->made_ns) / WEIR_NS_PER_S);
    weir__daemon_answer_begin(exchange, 200);
    weir__reply_header(exchange, "Content-Type",
                       ask->wants_lines ? "application/x-ndjson" : "application/json");
    weir__reply_header(exchange, "Vary", "Accept");
    if (gmtime_r(&then, &parts) &&
        strftime(text, sizeof(text), "%a, %d %b %Y %H:%M:%S GMT", &parts) > 0)
        weir__reply_header(exchange, "Last-Modified", text);
    if (is_stale)
        weir__reply_header(exchange, "Warning", "110 weir \"response is stale\"");
    weir__tell_cached(exchange, ask,
                      is_stale                    ? 0
                      : answer && !answer->result ? left_of(answer)
                                                  : EMPTY_TTL);
}

static void answer_empty(struct weir__exchange *exchange, const struct weir__index_ask *ask,
                         const struct weir__answer *answer)
{
    add_head(exchange, ask, answer, false);
    if (!ask->wants_lines)
        weir__reply_bytes(exchange, EMPTY_JSON, sizeof(EMPTY_JSON) - 1, NULL, NULL);
    weir__reply_send(exchange);
}

/* Takes over the reference. */
static void answer_lines(struct weir__exchange *exchange, struct weir__index_ask *ask,
                         struct weir__answer *answer, bool is_stale)
{
    ask->lines = answer;
    add_head(exchange, ask, answer, is_stale);
    weir__reply_stream(exchange, UINT64_MAX);
    weir__reply_send(exchange);
}

int weir__routing_more(struct weir__exchange *exchange, struct weir__index_ask *ask)
{
    struct weir__buffer line;
    if (ask->lines_sent == ask->lines->providers_count)
        return WEIR__MORE_END;
    weir__buffer_init(&line, LINE_MAX);
    int error = weir__routing_put_line(&line, ask->lines, ask->lines_sent++);
    if (!error)
        weir__reply_copy(exchange, weir__buffer_text(&line), weir__buffer_length(&line));
    weir__buffer_fini(&line);
    return error ? error : WEIR__MORE_HERE;
}

void weir__routing_begin(struct weir__exchange *exchange, struct weir__index_ask *ask,
                         const struct weir__daemon_rules *rules)
{
    char room[WEIR__SERVER_LIST_SIZE];
    struct weir__index *index = weir__index_at(exchange);
    (void)rules;
    ask->wants_lines = weir__routing_wants_lines(weir__exchange_list(exchange, "Accept", room));
    if (ask->is_foreign) {
        answer_empty(exchange, ask, NULL);
        return;
    }
    struct weir__answer *answer = NULL;
    bool is_due;
    if (weir__resolve_find(index, &ask->key, &answer, &is_due) == WEIR__CACHE_STALE &&
        !answer->result)
        ask->stale = answer;
    else if (answer)
        weir__answer_unref(answer);
    struct weir__errand *job = weir__in_turn_new(exchange, WEIR__INDEX_WORK, weir__resolve_work);
    if (!job)
        return;
    weir__index_job_of(job)->wants_object = !ask->wants_lines;
    weir__in_turn_send(exchange, job);
}

static bool answer_stale(struct weir__exchange *exchange, struct weir__index_ask *ask)
{
    struct weir__answer *stale = weir__resolve_stale(weir__index_at(exchange), ask);
    if (!stale)
        return false;
    weir_counter_add(&weir__index_at(exchange)->counts.stale, 1);
    if (ask->wants_lines) {
        answer_lines(exchange, ask, stale, true);
        return true;
    }
    struct weir__buffer text;
    weir__buffer_init(&text, WEIR__ANSWER_BODY_MAX);
    int error = weir__routing_put_object(&text, stale);
    if (!error) {
        add_head(exchange, ask, stale, true);
        weir__reply_copy(exchange, weir__buffer_text(&text), weir__buffer_length(&text));
        weir__reply_send(exchange);
    }
    weir__buffer_fini(&text);
    weir__answer_unref(stale);
    return !error;
}

bool weir__routing_late(struct weir__exchange *exchange, struct weir__index_ask *ask)
{
    return answer_stale(exchange, ask);
}

void weir__routing_resume(struct weir__exchange *exchange, struct weir__index_ask *ask)
{
    const struct weir__index_job *job = weir__index_job_of(ask->head.job);
    if (job->head.result) {
        if (!answer_stale(exchange, ask))
            weir__daemon_refuse(exchange, job->head.result, NULL);
        return;
    }
    if (job->answer->result) {
        answer_empty(exchange, ask, job->answer);
        return;
    }
    if (ask->wants_lines) {
        answer_lines(exchange, ask, weir__answer_ref(job->answer), false);
        return;
    }
    add_head(exchange, ask, job->answer, false);
    weir__reply_bytes(exchange, weir__buffer_text(&job->head.bytes),
                      weir__buffer_length(&job->head.bytes), NULL, NULL);
    weir__reply_send(exchange);
}
