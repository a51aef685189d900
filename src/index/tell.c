/* tell.c - an answer on its way to a client: its head, and what its text ends with.
 *
 * The text of an answer is sent from where it lies, by reference, to any number of clients at once.
 */
#include <stdio.h>
#include <string.h>

#include <weir/error.h>

#include "condition.h"
#include "index_part.h"
#include "json.h"

#include "banned.h"

static void release(void *arg)
{
    weir__answer_unref(arg);
}

static struct weir__field list_of(struct weir__exchange *exchange, const char *name,
                                  char room[WEIR__SERVER_LIST_SIZE])
{
    const char *text = weir__exchange_list(exchange, name, room);
    return (struct weir__field){text, text ? strlen(text) : 0};
}

void weir__tell_cached(struct weir__exchange *exchange, const struct weir__index_ask *ask,
                       uint64_t ns)
{
    char text[64];
    /* What a token was shown for is not for others who have the same cache. */
    snprintf(text, sizeof(text), "%s, max-age=%llu", ask->head.grant.id[0] ? "private" : "public",
             (unsigned long long)(ns / WEIR_NS_PER_S));
    weir__reply_header(exchange, "Cache-Control", text);
}

void weir__tell_json(struct weir__exchange *exchange, unsigned status, const char *text,
                     size_t length)
{
    weir__daemon_answer_begin(exchange, status);
    weir__reply_header(exchange, "Content-Type", "application/json");
    weir__reply_header(exchange, "Cache-Control", "no-store");
    weir__reply_copy(exchange, text, length);
    weir__reply_send(exchange);
}

static uint64_t since(uint64_t now_ns, uint64_t then_ns)
{
    return now_ns > then_ns ? now_ns - then_ns : 0;
}

/* True: the client has it already, and was told so. */
static bool has_it(struct weir__exchange *exchange, const struct weir__index_ask *ask,
                   const struct weir__answer *answer, uint64_t now_ns)
{
    char rooms[2][WEIR__SERVER_LIST_SIZE];
    struct weir__conditions conditions = {{NULL, 0}, list_of(exchange, "If-None-Match", rooms[0])};
    if (!conditions.if_none_match.text ||
        weir__condition_check(&conditions, true, answer->etag) != WEIR__CONDITION_NOT_MODIFIED)
        return false;
    weir__daemon_answer_begin(exchange, 304);
    weir__reply_header(exchange, "ETag", answer->etag);
    weir__tell_cached(exchange, ask, weir__answer_left_ns(answer, now_ns, weir_wall_s()));
    weir__reply_send(exchange);
    return true;
}

/* "110" is what says so in HTTP; "stale" in the text is for those who do not look at heads. */
static void add_head(struct weir__exchange *exchange, const struct weir__index_ask *ask,
                     const struct weir__answer *answer, bool is_stale, uint64_t now_ns)
{
    static const char json[] = "Content-Type: application/json\r\n"
                               "X-Content-Type-Options: nosniff\r\n";
    static const char stale[] = "Cache-Control: no-cache\r\n"
                                "Warning: 110 weir \"response is stale\"\r\n";
    weir__reply_lines(exchange, json, sizeof(json) - 1);
    weir__reply_header_u64(exchange, "Age", since(now_ns, answer->made_ns) / WEIR_NS_PER_S);
    if (is_stale) {
        weir__reply_lines(exchange, stale, sizeof(stale) - 1);
        return;
    }
    weir__tell_cached(exchange, ask, weir__answer_left_ns(answer, now_ns, weir_wall_s()));
    weir__reply_header(exchange, "ETag", answer->etag);
}

void weir__tell_answer(struct weir__exchange *exchange, const struct weir__index_ask *ask,
                       struct weir__answer *answer, bool is_stale, const struct weir__buffer *trace)
{
    uint64_t now_ns = weir_now_ns();
    const char *end = is_stale ? weir__answer_end_stale : weir__answer_end_fresh;
    if (!is_stale && !trace && has_it(exchange, ask, answer, now_ns)) {
        weir__answer_unref(answer);
        return;
    }
    if (is_stale)
        weir_counter_add(&weir__index_at(exchange)->counts.stale, 1);
    weir__daemon_answer_begin(exchange, 200);
    add_head(exchange, ask, answer, is_stale, now_ns);
    weir__reply_bytes(exchange, answer->body, answer->body_length, release, answer);
    if (trace)
        weir__reply_copy(exchange, weir__buffer_text(trace), weir__buffer_length(trace));
    weir__reply_bytes(exchange, end, strlen(end), NULL, NULL);
    weir__reply_send(exchange);
}

/* Behind the members of an error nothing follows, so without the comma; 0: there is none. */
static size_t members_length(const struct weir__buffer *trace)
{
    size_t length = trace ? weir__buffer_length(trace) : 0;
    return length > 0 ? length - 1 : 0;
}

/* Until the first of those that are left alone is asked again. */
static uint64_t cooldown_ns(struct weir__index *index)
{
    uint64_t least_ns = WEIR_NEVER;
    size_t count = weir__lookup_source_count(index->lookup);
    for (size_t i = 0; i < count; i++) {
        uint64_t ns = weir_breaker_delay_ns(weir__lookup_breaker(index->lookup, i));
        if (ns > 0 && ns < least_ns)
            least_ns = ns;
    }
    return least_ns == WEIR_NEVER ? 0 : least_ns;
}

void weir__tell_failure(struct weir__exchange *exchange, int error,
                        const struct weir__buffer *trace)
{
    static const char all_open[] = "every source fails too often and is left alone for now";
    struct weir__daemon_refusal refusal = {
        .members = trace ? weir__buffer_text(trace) : NULL,
        .members_length = members_length(trace),
    };
    if (error == -WEIR_E_BREAKER_OPEN) {
        refusal.message = all_open;
        refusal.retry_ns = cooldown_ns(weir__index_at(exchange));
    }
    weir__daemon_refuse_with(exchange, error, &refusal);
}

void weir__tell_nothing(struct weir__exchange *exchange, const struct weir__index_ask *ask,
                        const struct weir__answer *answer, const struct weir__buffer *trace)
{
    bool is_name = ask->question.kind == WEIR__ASK_NAME;
    uint64_t now_ns = weir_now_ns();
    weir_counter_add(&weir__index_at(exchange)->counts.negative, 1);
    weir__daemon_answer_begin(exchange, 404);
    weir__tell_cached(exchange, ask, answer ? since(answer->fresh_until_ns, now_ns) : 0);
    weir__reply_error_with(exchange, 404, -WEIR_E_NOT_FOUND,
                           !is_name                     ? "nobody is known to provide it"
                           : answer && answer->has_name ? "the name was removed"
                                                        : "there is no such name",
                           0, trace ? weir__buffer_text(trace) : NULL, members_length(trace));
}

/* --- traces --- */

static void put_time(struct weir__json *json, const char *key, uint64_t ns)
{
    weir__json_key(json, key);
    weir__json_real(json, (double)(ns / WEIR_NS_PER_US) / 1000);
}

static void put_text(struct weir__json *json, const char *key, const char *text)
{
    weir__json_key(json, key);
    weir__json_string(json, text);
}

static void put_bool(struct weir__json *json, const char *key, bool value)
{
    weir__json_key(json, key);
    weir__json_bool(json, value);
}

static void put_step(struct weir__json *json, const struct weir__trace_step *step)
{
    weir__json_object(json);
    put_text(json, "source", step->source);
    put_text(json, "stage", step->stage == WEIR__ASK_NAME ? "name" : "providers");
    put_bool(json, "hedge", step->is_hedge);
    weir__json_key(json, "tries");
    weir__json_u64(json, step->tries);
    put_time(json, "began_ms", step->began_ns);
    if (step->ended_ns)
        put_time(json, "ended_ms", step->ended_ns);
    put_text(json, "result", step->result ? weir_error_name(step->result) : "Ok");
    put_bool(json, "won", step->won);
    weir__json_end(json);
}

int weir__tell_put_trace(struct weir__buffer *buffer, const struct weir__trace *trace)
{
    struct weir__json json;
    int error = weir__buffer_puts(buffer, "\"trace\":");
    weir__json_init(&json, buffer);
    weir__json_array(&json);
    for (size_t i = 0; i < trace->count; i++)
        put_step(&json, &trace->steps[i]);
    weir__json_end(&json);
    if (!error)
        error = weir__json_finish(&json);
    if (!error) {
        weir__buffer_truncate(buffer, weir__buffer_length(buffer) - 1); /* its line end */
        error = weir__buffer_putc(buffer, ',');
    }
    if (error)
        weir__buffer_truncate(buffer, 0);
    return error;
}
