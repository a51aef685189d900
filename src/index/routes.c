/* routes.c - what there is at which path, and what is done for its requests. */
#include <string.h>

#include <weir/error.h>

#include "alloc.h"
#include "cid.h"
#include "index_part.h"

#include "banned.h"

#define METHOD(name) WEIR__DAEMON_METHOD(name)
#define READS        WEIR__DAEMON_READS
#define READS_TEXT   "GET, HEAD, OPTIONS"
#define POST_TEXT    "POST, OPTIONS"
/* What removes a name is a record that its key has signed: who could publish it may bring it. */
#define SCOPES_SIGNED                                                                              \
    {                                                                                              \
        WEIR__SCOPE_READ, WEIR__SCOPE_WRITE, WEIR__SCOPE_WRITE                                     \
    }
#define SCOPES_ADMIN WEIR__DAEMON_SCOPES_ALL(WEIR__SCOPE_ADMIN)

#define CAP_RESOLVE  WEIR__INDEX_CAP_RESOLVE
#define CAP_PUBLISH  WEIR__INDEX_CAP_PUBLISH
#define CAP_LIST     WEIR__INDEX_CAP_LIST

const struct weir__daemon_route weir__index_routes[] = {
    {"/resolve/", true, WEIR__INDEX_RESOLVE, READS, READS_TEXT, SCOPES_SIGNED,
     WEIR__DAEMON_ADMITTED, CAP_RESOLVE},
    {"/providers/", true, WEIR__INDEX_PROVIDERS, READS | METHOD(PUT), "GET, HEAD, PUT, OPTIONS",
     SCOPES_SIGNED, WEIR__DAEMON_ADMITTED, CAP_RESOLVE},
    {"/routing/v1/providers/", true, WEIR__INDEX_ROUTING, READS, READS_TEXT, SCOPES_SIGNED,
     WEIR__DAEMON_ADMITTED, CAP_RESOLVE},
    {"/names/", true, WEIR__INDEX_NAME, METHOD(PUT) | METHOD(DELETE), "PUT, DELETE, OPTIONS",
     SCOPES_SIGNED, WEIR__DAEMON_ADMITTED, CAP_PUBLISH},
    {"/names", false, WEIR__INDEX_NAMES, READS, READS_TEXT, SCOPES_SIGNED, WEIR__DAEMON_ADMITTED,
     CAP_LIST},
    {"/admin/reindex", false, WEIR__INDEX_REINDEX, METHOD(POST), POST_TEXT, SCOPES_ADMIN,
     WEIR__DAEMON_ADMITTED, 0},
    {"/admin/pin", false, WEIR__INDEX_PIN, METHOD(POST), POST_TEXT, SCOPES_ADMIN,
     WEIR__DAEMON_ADMITTED, 0},
    {"/admin/unpin", false, WEIR__INDEX_UNPIN, METHOD(POST), POST_TEXT, SCOPES_ADMIN,
     WEIR__DAEMON_ADMITTED, 0},
    {.path = NULL},
};

/* --- requests at once --- */

static uint64_t count_resolve(const struct weir__daemon_rules *rules)
{
    return weir__index_own(rules)->index.resolve_max;
}

static uint64_t count_publish(const struct weir__daemon_rules *rules)
{
    return weir__index_own(rules)->index.publish_max;
}

static uint64_t count_list(const struct weir__daemon_rules *rules)
{
    return weir__index_own(rules)->index.list_max;
}

const struct weir__daemon_cap weir__index_caps[] = {
    {"resolve", count_resolve},
    {"publish", count_publish},
    {"list", count_list},
    {NULL, NULL},
};

unsigned weir__index_endpoint_of(const struct weir__exchange *exchange,
                                 const struct weir__daemon_ask *ask)
{
    static const unsigned ends[] = {
        [WEIR__INDEX_RESOLVE] = WEIR__INDEX_END_RESOLVE,
        [WEIR__INDEX_PROVIDERS] = WEIR__INDEX_END_PROVIDERS,
        [WEIR__INDEX_ROUTING] = WEIR__INDEX_END_ROUTING,
        [WEIR__INDEX_NAME] = WEIR__INDEX_END_PUBLISH,
        [WEIR__INDEX_NAMES] = WEIR__INDEX_END_LIST,
    };
    if (ask->way && ask->way->scopes.changes == WEIR__SCOPE_ADMIN)
        return WEIR__INDEX_END_ADMIN; /* the daemon's own, too */
    if (!ask->way || ask->way->number >= sizeof(ends) / sizeof(ends[0]))
        return WEIR__INDEX_END_OTHER;
    if (ask->way->number == WEIR__INDEX_PROVIDERS && !weir__daemon_is_read(exchange))
        return WEIR__INDEX_END_PUBLISH;
    return ends[ask->way->number];
}

/* --- what stands behind a path --- */

static struct weir__index_ask *of(struct weir__daemon_ask *head)
{
    return (struct weir__index_ask *)head;
}

static bool parse_cid(struct weir__exchange *exchange, struct weir__index_ask *ask,
                      const char *rest)
{
    int error = weir__cid_parse(rest, strlen(rest), &ask->question.address);
    ask->question.kind = WEIR__ASK_PROVIDERS;
    ask->is_foreign = error == -WEIR_E_NOT_FOUND;
    if (!error || ask->is_foreign)
        return true;
    weir__daemon_answer_begin(exchange, 422);
    weir__reply_error_as(exchange, 422, -WEIR_E_INVALID, "what stands behind the path is no CID",
                         0);
    return false;
}

static bool refuse_rest(struct weir__exchange *exchange, unsigned number)
{
    static const char address[] = "an address is 'b3:' and 64 digits of 0-9a-f";
    static const char name[] = "a name is a label, or label@keyid: parts of a-z, 0-9, '.', '_' and "
                               "'-' with '/' between them";
    static const char either[] = "neither a name nor an address stands behind the path";
    weir__daemon_refuse(exchange, -WEIR_E_INVALID,
                        number == WEIR__INDEX_PROVIDERS ? address
                        : number == WEIR__INDEX_NAME    ? name
                                                        : either);
    return false;
}

bool weir__index_parse(struct weir__exchange *exchange, struct weir__daemon_ask *head,
                       const char *rest)
{
    struct weir__index_ask *ask = of(head);
    unsigned number = head->way->number;
    if (number == WEIR__INDEX_ROUTING) {
        if (!parse_cid(exchange, ask, rest))
            return false;
    } else {
        int error = weir__given_question(&ask->question, rest, strlen(rest));
        bool fits = (number != WEIR__INDEX_NAME || ask->question.kind == WEIR__ASK_NAME) &&
                    (number != WEIR__INDEX_PROVIDERS || ask->question.kind == WEIR__ASK_PROVIDERS);
        if (error || !fits)
            return refuse_rest(exchange, number);
    }
    weir__question_key_of(&ask->question, &ask->key);
    return true;
}

/* --- the daemon's calls --- */

static bool is_change(const struct weir__exchange *exchange)
{
    return !weir__daemon_is_read(exchange);
}

void weir__index_begin(struct weir__exchange *exchange, struct weir__daemon_ask *head,
                       const struct weir__daemon_rules *rules)
{
    struct weir__index_ask *ask = of(head);
    if (is_change(exchange) && weir__exchange_query(exchange)[0]) {
        weir__daemon_refuse(exchange, -WEIR_E_INVALID, "a change has no query");
        return;
    }
    switch ((enum weir__index_route)head->way->number) {
    case WEIR__INDEX_RESOLVE:
    case WEIR__INDEX_PROVIDERS:
    case WEIR__INDEX_NAME:
        if (is_change(exchange))
            weir__change_begin_record(exchange, ask, rules);
        else
            weir__resolve_begin(exchange, ask, rules);
        return;
    case WEIR__INDEX_ROUTING:
        weir__routing_begin(exchange, ask, rules);
        return;
    case WEIR__INDEX_NAMES:
        weir__list_begin(exchange);
        return;
    case WEIR__INDEX_REINDEX:
    case WEIR__INDEX_PIN:
    case WEIR__INDEX_UNPIN:
        weir__admin_begin(exchange, ask);
        return;
    }
}

void weir__index_whole(struct weir__exchange *exchange, struct weir__daemon_ask *head)
{
    if (head->way->scopes.changes == WEIR__SCOPE_ADMIN)
        weir__admin_whole(exchange, of(head));
    else
        weir__change_whole_record(exchange, of(head));
}

void weir__index_resume(struct weir__exchange *exchange, struct weir__daemon_ask *head)
{
    struct weir__index_ask *ask = of(head);
    if (head->way->scopes.changes == WEIR__SCOPE_ADMIN)
        weir__admin_resume(exchange, ask);
    else if (is_change(exchange))
        weir__change_resume_record(exchange, ask);
    else if (head->way->number == WEIR__INDEX_NAMES)
        weir__list_resume(exchange, ask);
    else if (head->way->number == WEIR__INDEX_ROUTING)
        weir__routing_resume(exchange, ask);
    else
        weir__resolve_resume(exchange, ask);
}

int weir__index_more(struct weir__exchange *exchange, struct weir__daemon_ask *head)
{
    return weir__routing_more(exchange, of(head));
}

static bool is_lookup(const struct weir__exchange *exchange, const struct weir__daemon_ask *head)
{
    return head->way && weir__daemon_is_read(exchange) && head->way->number <= WEIR__INDEX_ROUTING;
}

bool weir__index_late(struct weir__exchange *exchange, struct weir__daemon_ask *head)
{
    if (!is_lookup(exchange, head))
        return false;
    weir_counter_add(&weir__index_at(exchange)->counts.deadline_hit, 1);
    return head->way->number == WEIR__INDEX_ROUTING ? weir__routing_late(exchange, of(head))
                                                    : weir__resolve_late(exchange, of(head));
}

void weir__index_gone(struct weir__exchange *exchange, struct weir__daemon_ask *head)
{
    struct weir__index *index = weir__index_at(exchange);
    struct weir__index_ask *ask = of(head);
    if (head->is_admitted && is_lookup(exchange, head))
        weir_histogram_observe(&index->counts.resolve,
                               weir_now_ns() - weir__exchange_arrived_ns(exchange));
    weir__answer_unref(ask->stale);
    weir__answer_unref(ask->lines);
}

/* --- jobs --- */

void weir__index_init_job(struct weir__errand *errand, const struct weir__daemon_ask *head)
{
    struct weir__index_job *job = weir__index_job_of(errand);
    const struct weir__index_ask *ask = (const struct weir__index_ask *)head;
    job->question = ask->question;
    job->key = ask->key;
    job->is_local = ask->is_local;
    job->wants_trace = ask->wants_trace;
}

void weir__index_fini_job(struct weir__errand *errand)
{
    struct weir__index_job *job = weir__index_job_of(errand);
    struct weir__index *index = weir__index_of(errand->daemon);
    weir__answer_unref(job->answer);
    weir_permit_release(&job->trace);
    weir__in_turn_give_up(job); /* if no thread has had it */
    if (!job->change)
        return;
    weir__quota_give(&job->change->hold);
    weir__repeats_end(index->repeats, &job->change->turn, NULL);
    weir__base_free(job->change);
}

void weir__index_send(struct weir__exchange *exchange, enum weir__index_line line,
                      void (*work)(struct weir__errand *job, struct weir__worker *worker))
{
    struct weir__errand *job = weir__in_turn_new(exchange, line, work);
    if (job)
        weir__in_turn_send(exchange, job);
}
