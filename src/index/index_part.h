/* index_part.h - what the files of the service share; nobody else includes this.
 *
 *   index.c      life cycle, readiness, the description
 *   posts.c      threads and lines, janitors
 *   routes.c     what there is at which path
 *   in_turn.c    from a loop to a line, by turns for each address
 *   resolve.c    GET /resolve/, /providers/: cache, turn, flight, lookup
 *   tell.c       an answer on its way: heads, traces, what is stale
 *   routing.c    GET /routing/v1/
 *   change.c     PUT and DELETE /names/, PUT /providers/
 *   list.c       GET /names
 *   admin.c      POST /admin/
 *   prefetch.c   warm-up, and answers near their end
 *   probe.c      how fast providers answer
 *   gather.c     the sources that the configuration names
 *   numbers.c    metrics
 *   topology.c   what is said of its parts
 *
 * A job that waits for a flight belongs to that: it was finished, and may be gone, once the worker
 * has joined and does not lead. A job whose request was answered by the clock stays in its flight
 * until that lands, and is freed then; so nobody ever leaves one, and what was found fills the
 * cache for who asks next.
 *
 * Ownership: an ask owns what it points to until gone(), a job until it is freed.
 */
#ifndef WEIR_INDEX_INDEX_PART_H
#define WEIR_INDEX_INDEX_PART_H

#include <weir/histogram.h>
#include <weir/metrics.h>

#include "cache.h"
#include "coding.h"
#include "daemon.h"
#include "flight.h"
#include "given.h"
#include "index_config.h"
#include "index_service.h"
#include "latency.h"
#include "lookup.h"
#include "pins.h"
#include "publish.h"
#include "quota.h"
#include "records.h"
#include "repeats.h"
#include "seen.h"
#include "source_etcd.h"
#include "turns.h"

/* How long a change may take, unless its client says otherwise: it waits for a disk. */
#define WEIR__INDEX_CHANGE_NS (10 * WEIR_NS_PER_S)
/* X-Deadline-Ms, at most. */
#define WEIR__INDEX_DEADLINE_MOST_MS UINT64_C(60000)
/* Keys whose lookups are near their end, that wait for the prefetcher. */
#define WEIR__INDEX_PREFETCH 256u
/* Providers that wait to be measured. */
#define WEIR__INDEX_PROBES 256u
/* Lookups that go around the cache to be traced, at once. */
#define WEIR__INDEX_TRACES 2u
/* Of a key that was changed, a lookup that began before is not joined any more: keys share this
 * many counts of changes. */
#define WEIR__INDEX_EPOCHS 4096u
/* Lookups at once, whoever waits for them. */
#define WEIR__INDEX_FLIGHTS 4096u

/* Who asks others has a line and threads of his own: what this node does by itself waits for none
 * of them. */
enum weir__index_line { WEIR__INDEX_WORK, WEIR__INDEX_OWN, WEIR__INDEX_LINES };

/* Behind the line `own`: as many for one address as for all others. */
#define WEIR__INDEX_OWN_THREADS 2u

enum weir__index_route {
    WEIR__INDEX_RESOLVE,
    WEIR__INDEX_PROVIDERS,
    WEIR__INDEX_ROUTING,
    WEIR__INDEX_NAME,
    WEIR__INDEX_NAMES,
    WEIR__INDEX_REINDEX,
    WEIR__INDEX_PIN,
    WEIR__INDEX_UNPIN,
};

/* The caps of routes, from 1 on. */
enum weir__index_cap { WEIR__INDEX_CAP_RESOLVE = 1, WEIR__INDEX_CAP_PUBLISH, WEIR__INDEX_CAP_LIST };

enum weir__index_endpoint {
    WEIR__INDEX_END_RESOLVE,
    WEIR__INDEX_END_PROVIDERS,
    WEIR__INDEX_END_ROUTING,
    WEIR__INDEX_END_PUBLISH,
    WEIR__INDEX_END_LIST,
    WEIR__INDEX_END_ADMIN,
    WEIR__INDEX_END_OTHER,
    WEIR__INDEX_ENDS
};

/* The block of each exchange. */
struct weir__index_ask {
    struct weir__daemon_ask head;
    struct weir__question question; /* of the path, where it has one */
    struct weir__question_key key;
    bool is_foreign;  /* a CID of a hash that no address has */
    bool is_local;    /* a sibling asks: records and cache of this node are all that it wants */
    bool wants_trace; /* of /resolve/ and /providers/ */
    bool wants_lines; /* of /routing/v1/ */
    struct weir__answer *stale; /* that was in the cache, in case no source answers */
    struct weir__answer *lines; /* that is being sent a line at a time */
    size_t lines_sent;
};

/* Of a job that changes something. */
struct weir__index_change {
    struct weir__records_write write; /* its arg is the job */
    struct weir__quota_hold hold;
    struct weir__repeats_turn turn;
    struct weir__repeats_answer again; /* what is answered, and remembered for a repeat */
    uint64_t retry_ns;                 /* of a refusal, where that is known */
};

struct weir__index_job {
    struct weir__errand head;
    struct weir__question question;
    struct weir__question_key key;
    enum weir__http_method method;
    bool is_local;
    bool wants_trace;
    bool wants_object; /* of /routing/v1/: one object, written by who has the answer */
    bool leads;
    bool was_sent_again;
    unsigned status;          /* of an answer that the table of errors has none for; 0 */
    struct weir_permit trace; /* of those at once */
    enum weir__index_line line;
    void (*work)(struct weir__errand *job, struct weir__worker *worker);
    struct weir__lookup_turn turn; /* of its address, from before the line to a thread */
    struct weir__flight_waiter waiter;
    struct weir__answer *answer;
    struct weir__index_change *change; /* or NULL */
};

struct weir__index_tools {
    struct weir__decoder decoder;
};

struct weir__index_counts {
    struct weir_histogram resolve, lookup; /* resolve_latency_seconds, index_dht_lookup_seconds */
    struct weir_counter deadline_hit, answered_by_loop, stale, negative, sent_again;
    struct weir_counter quota_refused[WEIR__QUOTA_REASONS];
    struct weir_counter refused[WEIR__RECORD_VERDICTS]; /* records that clients brought */
    struct weir_counter conflicts, published, probes, probes_failed, prefetched, compared;
};

/* Writes that the keeper has under way; 0 or 1 each. */
struct weir__index_keeping {
    struct weir_gauge purges, forgets;
};

/* By the keeper alone: a purge, or everything is to be forgotten. True: it was handed in; false:
 * one is under way, the line is full, or there is no memory. */
bool weir__keeping_submit(struct weir__index_keeping *keeping, struct weir__records *records,
                          enum weir__records_action action);

struct weir__index {
    struct weir__daemon daemon; /* first */
    struct weir__bindings *bindings;
    struct weir__records *records;
    struct weir__cache *cache;
    struct weir__flights *flights;
    struct weir__turns *turns[WEIR__INDEX_LINES];
    struct weir__lookup *lookup;        /* all sources */
    struct weir__lookup *local;         /* the records of this node alone */
    struct weir__publisher *publisher;  /* NULL: nobody is told */
    struct weir__records_cursor cursor; /* of the publisher's thread */
    struct weir__etcd_watch *watch;     /* NULL: no etcd */
    struct weir__seen *seen;
    struct weir__latency *latency;
    struct weir__repeats *repeats;
    struct weir__pins *pins;
    struct weir__quota *quota;
    struct weir_gauge *epochs;  /* changes, by a part of the key */
    struct weir_queue prefetch; /* struct weir__question */
    struct weir_queue probes;   /* char[WEIR__PROVIDER_URL_MAX + 1] */
    struct weir_budget traces;
    struct weir__index_keeping keeping;
    struct weir__index_counts counts;
    uint32_t askers;
    struct weir_gauge *breakers; /* breaker_state: one for each source and state */
};

static inline struct weir__index *weir__index_of(struct weir__daemon *daemon)
{
    return (struct weir__index *)daemon;
}
static inline struct weir__index *weir__index_at(const struct weir__exchange *exchange)
{
    return weir__exchange_arg(exchange);
}
static inline const struct weir__index_config *
weir__index_own(const struct weir__daemon_rules *rules)
{
    return rules->own;
}
static inline struct weir__index_job *weir__index_job_of(struct weir__errand *job)
{
    return (struct weir__index_job *)job;
}

/* --- in_turn.c --- */
WEIR_MUST_USE int weir__in_turn_init(struct weir__index *index,
                                     const struct weir__daemon_rules *rules);
void weir__in_turn_fini(struct weir__index *index);
/* A job for this line, which has not entered it. NULL: there is no memory, which was answered. */
struct weir__errand *weir__in_turn_new(struct weir__exchange *exchange, enum weir__index_line line,
                                       void (*work)(struct weir__errand *job,
                                                    struct weir__worker *worker));
/* It waits for the turn of its address, then for a thread. An error is answered. */
void weir__in_turn_send(struct weir__exchange *exchange, struct weir__errand *job);
/* When this returns 0 the job may be gone; otherwise it is the caller's still: Busy, Closed. */
WEIR_MUST_USE int weir__in_turn_enter(struct weir__index_job *job);
/* Its turn, if no thread has taken it, is the next one's. */
void weir__in_turn_give_up(struct weir__index_job *job);

/* --- index.c --- */
void weir__index_fill_limits(const struct weir__daemon_rules *rules,
                             struct weir__lookup_limits *limits);

/* --- posts.c --- */
extern const struct weir__daemon_line weir__index_lines[];
extern const struct weir__daemon_post weir__index_posts[];
int weir__index_init_tools(struct weir__worker *worker);
void weir__index_fini_tools(struct weir__worker *worker);
/* How many an address may have at once, and how many there are. */
uint64_t weir__index_workers(const struct weir__daemon_rules *rules);
uint64_t weir__index_resolvers(const struct weir__daemon_rules *rules);

/* --- routes.c --- */
extern const struct weir__daemon_route weir__index_routes[];
extern const struct weir__daemon_cap weir__index_caps[];
unsigned weir__index_endpoint_of(const struct weir__exchange *exchange,
                                 const struct weir__daemon_ask *ask);
bool weir__index_parse(struct weir__exchange *exchange, struct weir__daemon_ask *ask,
                       const char *rest);
void weir__index_begin(struct weir__exchange *exchange, struct weir__daemon_ask *ask,
                       const struct weir__daemon_rules *rules);
void weir__index_whole(struct weir__exchange *exchange, struct weir__daemon_ask *ask);
void weir__index_resume(struct weir__exchange *exchange, struct weir__daemon_ask *ask);
int weir__index_more(struct weir__exchange *exchange, struct weir__daemon_ask *ask);
bool weir__index_late(struct weir__exchange *exchange, struct weir__daemon_ask *ask);
void weir__index_gone(struct weir__exchange *exchange, struct weir__daemon_ask *ask);
void weir__index_init_job(struct weir__errand *job, const struct weir__daemon_ask *ask);
void weir__index_fini_job(struct weir__errand *job);
/* Into a line. */
void weir__index_send(struct weir__exchange *exchange, enum weir__index_line line,
                      void (*work)(struct weir__errand *job, struct weir__worker *worker));

/* --- resolve.c --- */
void weir__resolve_begin(struct weir__exchange *exchange, struct weir__index_ask *ask,
                         const struct weir__daemon_rules *rules);
void weir__resolve_resume(struct weir__exchange *exchange, struct weir__index_ask *ask);
/* Its deadline has passed: true, and it was answered with what is stale. */
bool weir__resolve_late(struct weir__exchange *exchange, struct weir__index_ask *ask);
/* To a resolver, when it is the turn of its address; or refuses the request. By its loop. */
/* What a resolver does for these and for /routing/v1/. */
void weir__resolve_work(struct weir__errand *job, struct weir__worker *worker);
/* Looks it up and lets all who wait know. By any thread that may wait. */
void weir__resolve_lead(struct weir__index *index, const struct weir__question *question,
                        struct weir__flight *flight);
/* The key of the flight that may be joined now. */
void weir__resolve_flight_key(struct weir__index *index, const struct weir__question_key *key,
                              struct weir__question_key *ret_key);
/* A change of what the key means has been written: nothing older is answered from here on. */
void weir__resolve_forget(struct weir__index *index, const struct weir__question_key *key);
/* As weir__cache_find() with the clock of now, and without what has expired. */
enum weir__cache_state weir__resolve_find(struct weir__index *index,
                                          const struct weir__question_key *key,
                                          struct weir__answer **ret_answer, bool *ret_is_due);
/* What may be told although it is stale, with a reference; or NULL. */
struct weir__answer *weir__resolve_stale(struct weir__index *index,
                                         const struct weir__index_ask *ask);

/* --- tell.c --- */
/* Takes over the reference. trace: what goes before the end of its text, or NULL. */
void weir__tell_answer(struct weir__exchange *exchange, const struct weir__index_ask *ask,
                       struct weir__answer *answer, bool is_stale,
                       const struct weir__buffer *trace);
void weir__tell_nothing(struct weir__exchange *exchange, const struct weir__index_ask *ask,
                        const struct weir__answer *answer, const struct weir__buffer *trace);
/* Of a lookup that failed. */
void weir__tell_failure(struct weir__exchange *exchange, int error,
                        const struct weir__buffer *trace);
/* Appends the member "trace" and a comma; nothing is there when it fails. */
WEIR_MUST_USE int weir__tell_put_trace(struct weir__buffer *buffer,
                                       const struct weir__trace *trace);
/* Cache-Control: for so long, for everybody or, where a token was shown, for who has asked. */
void weir__tell_cached(struct weir__exchange *exchange, const struct weir__index_ask *ask,
                       uint64_t ns);
/* An object of JSON that is copied. */
void weir__tell_json(struct weir__exchange *exchange, unsigned status, const char *text,
                     size_t length);

/* --- routing.c --- */
void weir__routing_begin(struct weir__exchange *exchange, struct weir__index_ask *ask,
                         const struct weir__daemon_rules *rules);
void weir__routing_resume(struct weir__exchange *exchange, struct weir__index_ask *ask);
bool weir__routing_late(struct weir__exchange *exchange, struct weir__index_ask *ask);
int weir__routing_more(struct weir__exchange *exchange, struct weir__index_ask *ask);

/* --- change.c --- */
void weir__change_begin_record(struct weir__exchange *exchange, struct weir__index_ask *ask,
                               const struct weir__daemon_rules *rules);
void weir__change_whole_record(struct weir__exchange *exchange, struct weir__index_ask *ask);
void weir__change_resume_record(struct weir__exchange *exchange, struct weir__index_ask *ask);
/* The body as it was before it was packed, in a worker. */
WEIR_MUST_USE int weir__change_read_body(struct weir__index_job *job, struct weir__worker *worker,
                                         struct weir__exchange *exchange, struct weir__buffer *body,
                                         const char **ret_message);

/* --- list.c --- */
void weir__list_begin(struct weir__exchange *exchange);
void weir__list_resume(struct weir__exchange *exchange, struct weir__index_ask *ask);

/* --- admin.c --- */
void weir__admin_begin(struct weir__exchange *exchange, struct weir__index_ask *ask);
void weir__admin_whole(struct weir__exchange *exchange, struct weir__index_ask *ask);
void weir__admin_resume(struct weir__exchange *exchange, struct weir__index_ask *ask);
/* Brings the pins of the records into the cache, before its janitor has begun. Those that are too
 * many are told of and left out: they are no reason not to start. */
WEIR_MUST_USE int weir__admin_load_pins(struct weir__index *index);

/* --- prefetch.c, probe.c --- */
void weir__prefetch_compare(struct weir__index *index, const struct weir__answer *answer);
void weir__prefetch_ask(struct weir__index *index, const struct weir__question *question);
int weir__prefetch_main(struct weir_crew_self *self, void *arg);
void weir__probe_ask(struct weir__index *index, const struct weir__answer *answer);
int weir__probe_main(struct weir_crew_self *self, void *arg);

/* --- gather.c, source_local.c --- */
/* Whether the files that sources need are there. */
WEIR_MUST_USE int weir__gather_check(const struct weir__daemon_rules *rules,
                                     char why[WEIR__DAEMON_WHY_MAX]);
/* All sources, the lookups over them, the publisher and the watch. What was made before a failure
 * stays with the index. */
WEIR_MUST_USE int weir__gather(struct weir__index *index, const struct weir__daemon_rules *rules,
                               char why[WEIR__DAEMON_WHY_MAX]);
WEIR_MUST_USE int weir__gather_update(struct weir__index *index,
                                      const struct weir__daemon_rules *rules);
/* What is new is told to those who are told; never waits. */
void weir__gather_publish(struct weir__index *index, const struct weir__record_bytes *bytes);
/* The records of this node as a source; borrowed. */
WEIR_MUST_USE int weir__source_local_new(struct weir__source **ret_source,
                                         struct weir__index *index);

/* --- numbers.c, topology.c --- */
int weir__index_add_metrics(struct weir__daemon *daemon);
void weir__index_sample(struct weir__daemon *daemon, struct weir__daemon_pass *pass);
void weir__index_list_parts(struct weir__daemon *daemon, struct weir__daemon_parts *parts);
extern const struct weir__daemon_said weir__index_thread_texts[], weir__index_channel_texts[],
    weir__index_limit_texts[], weir__index_lock_texts[], weir__index_key_texts[];
extern const struct weir__daemon_time weir__index_times[];

#endif
