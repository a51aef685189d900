/* daemon.h - what every service of the program is made of, but for what it is about: sockets,
 * threads, jobs with deadlines, admission, health, configuration, events, metrics, draining.
 *
 *     weir__daemon_new(&daemon, &weir__storage_service, &options, why)    opens it and its sockets
 *     weir__daemon_start(daemon, why)                 and it serves from here on
 *     weir__daemon_ask_to_reload(daemon)              has somebody read it anew, who calls
 *     weir__daemon_reload(daemon, config, why)        another snapshot of the configuration
 *     weir__daemon_drain(daemon, &end)                stops taking in, finishes, then aborts
 *     weir__daemon_free(daemon)
 *
 * How a service uses it: it is a struct that begins with a daemon, and one const description of
 * type weir__daemon_service that says with tables and a few functions what is its own.
 *
 *     struct weir__index {
 *         struct weir__daemon daemon;    first
 *         struct cache cache;
 *     };
 *     struct ask { struct weir__daemon_ask head; ... };    the block of each exchange
 *     struct job { struct weir__errand head; ... };        the block of each job
 *     struct tools { struct weir__decoder decoder; };      the block of each member of a pool
 *
 *     const struct weir__daemon_service weir__index_service = {
 *         .name = "index", .size = sizeof(struct weir__index), .schema = &weir__index_schema, ...
 *         .routes = routes, .lines = lines, .posts = posts, .conditions = conditions, ...
 *         .open = open_index, .begin = begin, .resume = resume, .close = close_index,
 *     };
 *
 * A request comes to begin() when its path and method are in the table of routes and it has been
 * let in. It is answered at once (weir__daemon_answer_begin() and the server's weir__reply_...), or
 * its body is taken and it comes to whole(), or it becomes a job:
 *
 *     struct weir__errand *job = weir__errand_new(exchange, work);
 *     if (job)
 *         weir__errand_send(job, weir__daemon_line(daemon, LINE));
 *
 * A member of the pool that works off this line calls work(job, worker), which calls
 * weir__errand_finish() at its end, itself or by any other thread later. The request then comes to
 * resume(), where ask->head.job has the result, or was answered by the clock before that.
 *
 * Promises
 * - A request is admitted, or refused with the reason and when to come back, before anything is
 * done for it: host and origin, capability, rate of the address, rate of all, requests at once,
 * requests of its route at once, place in line, in this order.
 * - /healthz, /readyz, /version and /metrics are there and wait for none of that. So is POST
 *   /admin/reload, for who has a token with the scope admin.
 * - Every request has a deadline and is answered by it, whatever its job does (504).
 * - A drain answers whoever comes (503), finishes what is there until its deadline, and counts what
 *   had to be aborted.
 * - Nothing is global: several daemons live in one process, each with its own registry of metrics.
 *   They share the class of the lock `config_snapshot`.
 *
 * Callbacks of the description run with no lock of the daemon's held. Those that get an exchange
 * run on its loop's thread and must not wait; the others say who calls them.
 *
 * Ownership: the daemon owns its threads, sockets and lines, and the memory of the service's
 * struct; the description is static; the configuration is borrowed by reference until the next one.
 * A job belongs to the thread that works on it, and to its request while that waits.
 */
#ifndef WEIR_DAEMON_DAEMON_H
#define WEIR_DAEMON_DAEMON_H

#include <weir/admit.h>
#include <weir/bus.h>
#include <weir/crew.h>
#include <weir/metrics.h>
#include <weir/queue.h>
#include <weir/rate.h>
#include <weir/watch.h>

#include "coding.h"
#include "daemon_service.h"
#include "errand.h"

#define WEIR__DAEMON_SCRAPES    8u
#define WEIR__DAEMON_RELOADS    16u /* that wait for one; all of them get the same */
#define WEIR__DAEMON_ABOUT_SIZE 160u

struct weir__daemon_numbers;

/* --- the daemon --- */

/* Of the descriptors that the process may have. */
struct weir__daemon_shares {
    uint64_t connections; /* as configured, or as many as there are descriptors for */
    uint64_t own;         /* for the service itself */
    uint64_t top;         /* those from this number on are not for the service beyond these */
};

/* Members of one kind that are to be there. */
struct weir__daemon_staff {
    struct weir__daemon *daemon;
    const struct weir__daemon_post *post;
    uint64_t count;
};

struct weir__daemon_counts {
    struct weir_counter busy[WEIR__DAEMON_ENDPOINTS_MAX];
    struct weir_counter late; /* requests whose deadline has passed */
    struct weir_counter unauthorized, forbidden, cross_site;
    struct weir_counter replaced, untold, audit_lost;
    struct weir_histogram latency[WEIR__DAEMON_ENDPOINTS_MAX];
};

/* For a service to look at; what it changes is said. */
struct weir__daemon {
    const struct weir__daemon_service *service;
    const char *version;
    char findings[2048]; /* lines */
    bool is_new;         /* the folder had nothing; the service's open() sets it */
    int (*reload)(void *arg, char why[WEIR__DAEMON_WHY_MAX]);
    bool (*is_hurried)(void *arg);
    void *arg; /* of both */
    struct weir__daemon_shares shares;
    struct weir__server *server;
    struct weir_crew *crew;
    struct weir_cancel stop;       /* fired by who wants the service to end */
    struct weir_cancel clock_stop; /* fired when no job is left */
    struct weir__daemon_staff posts[WEIR__DAEMON_POSTS_MAX]; /* that were started */
    size_t posts_count;
    uint64_t tend_ns; /* when members may be replaced again; of the supervisor */
    bool is_started;
    bool is_stuck; /* somebody still has what would be freed */

    struct weir_watch config;   /* struct weir__daemon_rules */
    struct weir_watch shutdown; /* bool */

    struct weir_queue lines[WEIR__DAEMON_LINES_MAX]; /* struct weir__errand *, by its table */
    struct weir_queue health;                        /* struct weir__errand * */
    struct weir_queue reloads;                       /* struct weir__errand *; NULL: a signal */
    struct weir_bus events;
    struct weir_bus_subscriber audit; /* from before the first event on */
    struct weir_budget inflight;
    struct weir_budget caps[WEIR__DAEMON_CAPS_MAX]; /* by its table */
    struct weir_budget scrapes; /* requests for the numbers that are in line or at work */
    struct weir_rate rps;
    struct weir_rate complaints; /* lines of the log about answers that failed */
    struct weir_admit per_address;

    struct weir_metrics *metrics;
    struct weir__daemon_numbers *numbers;
    struct weir__daemon_counts counts;

    struct weir_lock reload_lock; /* guards what follows */
    uint64_t reload_began_ns;     /* 0: none is under way */

    struct weir_lock jobs_lock; /* guards what follows, and what jobs share with requests */
    struct weir__errand *jobs;
    uint64_t jobs_count;
    bool is_ending;        /* no job is begun any more */
    uint64_t jobs_dropped; /* since then */
};

/* --- life cycle --- */

struct weir__daemon_options {
    struct weir__config *config; /* of the service's schema */
    const char *version;         /* what /version says */
    const int *sockets;          /* that listen already, or NULL */
    size_t sockets_count;
    /* By a thread of the daemon, for weir__daemon_ask_to_reload() and POST /admin/reload: reads a
     * configuration and calls weir__daemon_reload(). 0, or why all stays as it was. NULL: nobody
     * asks. */
    int (*reload)(void *arg, char why[WEIR__DAEMON_WHY_MAX]);
    /* During a drain, now and then, by who has called it: whether its time is not to be waited for
     * any more. NULL: it is. */
    bool (*is_hurried)(void *arg);
    void *arg; /* of these */
};

/* Errors as of the service and the server; Invalid for what does not fit together. */
WEIR_MUST_USE int weir__daemon_new(struct weir__daemon **ret_daemon,
                                   const struct weir__daemon_service *service,
                                   const struct weir__daemon_options *options,
                                   char why[WEIR__DAEMON_WHY_MAX]);
/* Accepts NULL. After a drain, or before a start. Timeout: a thread is held up, nothing is freed,
 * and the process is to leave. Others are what the service's close() says, and all is freed. */
int weir__daemon_free(struct weir__daemon *daemon);

WEIR_MUST_USE int weir__daemon_start(struct weir__daemon *daemon, char why[WEIR__DAEMON_WHY_MAX]);
/* Takes over what can change, reads keys and certificates anew, and makes none. On failure all
 * stays as it was. */
WEIR_MUST_USE int weir__daemon_reload(struct weir__daemon *daemon, struct weir__config *config,
                                      char why[WEIR__DAEMON_WHY_MAX]);
/* Has options.reload called soon. One at a time: what is asked for meanwhile, however often, is one
 * more behind it. Does not wait. By any thread: the event of the program that a signal, and POST
 * /admin/reload, are from outside. */
void weir__daemon_ask_to_reload(struct weir__daemon *daemon);
/* How long the one that is under way has taken by now; 0: none is. */
uint64_t weir__daemon_reloading_ns(struct weir__daemon *daemon);

/* What a drain did not bring to its end. A request may have been cut with its connection and be one
 * of the next two as well. */
struct weir__daemon_end {
    uint64_t cut;       /* connections with a request under way */
    uint64_t stopped;   /* requests that a worker was at when the time was up */
    uint64_t dropped;   /* requests that were in line and never begun */
    uint64_t aborted;   /* threads that were told to give up */
    uint64_t abandoned; /* of these: that did not, and are left behind */
    uint64_t left;      /* of the service: what stopped() says */
};
/* 0, or Timeout when something had to be aborted; what is left is no such thing. ret_end may be
 * NULL. Waits for the service's time and some seconds at most. */
int weir__daemon_drain(struct weir__daemon *daemon, struct weir__daemon_end *ret_end);
/* The same as a signal: the supervisor is told to drain. By any thread. */
void weir__daemon_ask_to_stop(struct weir__daemon *daemon);
/* Waits until somebody asks for that: Canceled then; or Timeout. */
int weir__daemon_wait(struct weir__daemon *daemon, uint64_t ns);
/* Replaces members that have ended before their time. To be called now and then by one thread. */
void weir__daemon_tend(struct weir__daemon *daemon);

/* Where it listens; NULL beyond the last. */
const char *weir__daemon_address(const struct weir__daemon *daemon, unsigned listener);
/* Lines about how the folder was found, and what others may get at; "" when there is nothing to
 * tell. */
const char *weir__daemon_findings(const struct weir__daemon *daemon);
/* Tables of threads, channels, limits, locks and times as Markdown, from what is registered in this
 * process and by a daemon that was started. Mismatch: something has no description, or a
 * description has nothing; the buffer then says which. */
WEIR_MUST_USE int weir__daemon_topology(struct weir__daemon *daemon, struct weir__buffer *buffer);

/* --- for the service --- */

/* Writes why and returns the error. */
__attribute__((format(printf, 3, 4))) int weir__daemon_fail(char why[WEIR__DAEMON_WHY_MAX],
                                                            int error, const char *format, ...);
/* One more line of the findings. */
__attribute__((format(printf, 2, 3))) void weir__daemon_find(struct weir__daemon *daemon,
                                                             const char *format, ...);
/* The rules of now; to be given back. By any thread. */
struct weir__daemon_rules *weir__daemon_rules(struct weir__daemon *daemon);
void weir__daemon_rules_give(struct weir__daemon_rules *rules);
struct weir_queue *weir__daemon_line(struct weir__daemon *daemon, unsigned number);

/* --- answers; on the loop's thread --- */

/* As weir__reply_begin(), with what tells a browser that the page which asked may read it. */
void weir__daemon_answer_begin(struct weir__exchange *exchange, unsigned status);
/* The answer of an error, with Retry-After where that helps. message NULL: the error's text. */
void weir__daemon_refuse(struct weir__exchange *exchange, int error, const char *message);
/* More of an answer of an error; all may be zero. */
struct weir__daemon_refusal {
    const char *message; /* NULL: the error's text */
    uint64_t retry_ns;   /* when it is worth another try, if that is known */
    const char *members; /* of JSON, behind those of the envelope (weir__reply_error_with) */
    size_t members_length;
};
/* The most that Retry-After says. */
#define WEIR__DAEMON_RETRY_MOST_S 600u
void weir__daemon_refuse_with(struct weir__exchange *exchange, int error,
                              const struct weir__daemon_refusal *refusal);
/* A line of the log about what failed here, if it is no fault of the client's. about: of what,
 * where the path does not say it, and then whatever the error is; or NULL. reason NULL: the text of
 * the error. False: too many were told. */
bool weir__daemon_tell_failure(const struct weir__exchange *exchange, int error, const char *about,
                               const char *reason);
/* GET or HEAD. */
bool weir__daemon_is_read(const struct weir__exchange *exchange);

/* --- bodies --- */

/* In begin(): whether the head has what a body needs, its length and a coding that is known;
 * otherwise it was answered. */
bool weir__daemon_body_head(struct weir__exchange *exchange, enum weir__coding *ret_coding);
/* In begin(): takes it, up to max bytes, and what the capability allows. Until whole() the request
 * is none of those at once: who sends slowly keeps nobody away. 0, or it has been answered. */
int weir__daemon_body_take(struct weir__exchange *exchange, uint64_t max);
/* In a worker that reads: the body as it was before it was packed. TooLarge or Invalid, and why. */
WEIR_MUST_USE int weir__daemon_body_unpack(const struct weir__exchange *exchange,
                                           struct weir__decoder *decoder,
                                           struct weir__buffer *bytes, const char **ret_message);

/* --- events --- */

/* Those of the daemon are start, stop, reload and denied. */
struct weir__daemon_event {
    const char *name; /* static, what the audit log calls it */
    int64_t time_s;   /* is set when it is published */
    int result;
    char about[WEIR__DAEMON_ABOUT_SIZE]; /* as text; "": nothing */
    char who[48];                        /* client */
    char token[WEIR__TOKEN_ID_SIZE];
    char corr_id[WEIR__SERVER_CORR_MAX + 1]; /* of the request; "" when it is of none */
    char what[160];
};

/* By any thread; does not wait. A subscriber of daemon->events that is too slow loses the oldest.
 */
void weir__daemon_event(struct weir__daemon *daemon, const struct weir__daemon_event *event);
/* Of a request. about and what may be NULL. */
void weir__daemon_event_of(struct weir__exchange *exchange, const char *name, const char *about,
                           int result, const char *what);

/* --- metrics --- */

/* Of queue_dropped_total{queue}, to which a service adds its own lines. */
#define WEIR__DAEMON_DROPPED_HELP "Jobs refused since the line was full."
/* In sample(). label NULL: it has none. Texts are static. */
void weir__daemon_counter(struct weir__daemon_pass *pass, const char *name, const char *help,
                          const char *label, const char *value, uint64_t now);
void weir__daemon_gauge(struct weir__daemon_pass *pass, const char *name, const char *help,
                        const char *label, const char *value, uint64_t now);
/* The three families tasks_..._total of a crew of the service's, by these kinds, ended by NULL. */
void weir__daemon_sample_crew(struct weir__daemon_pass *pass, struct weir_crew *crew,
                              const char *const *kinds);
/* In add_metrics(): one that is kept by who counts. The histogram is initialised, with bounds of
 * time. */
WEIR_MUST_USE int weir__daemon_add_counter(struct weir__daemon *daemon,
                                           struct weir_counter *counter, const char *name,
                                           const char *help, const char *label, const char *value);
WEIR_MUST_USE int weir__daemon_add_histogram(struct weir__daemon *daemon,
                                             struct weir_histogram *histogram, const char *name,
                                             const char *help, const char *label,
                                             const char *value);

/* --- parts: what the service has, for its metrics and its page; in list_parts() --- */

void weir__daemon_part_queue(struct weir__daemon_parts *parts, struct weir_queue *queue);
void weir__daemon_part_bus(struct weir__daemon_parts *parts, struct weir_bus *bus);
void weir__daemon_part_watch(struct weir__daemon_parts *parts, struct weir_watch *watch);
void weir__daemon_part_budget(struct weir__daemon_parts *parts, struct weir_budget *budget);
void weir__daemon_part_rate(struct weir__daemon_parts *parts, struct weir_rate *rate);
void weir__daemon_part_admit(struct weir__daemon_parts *parts, struct weir_admit *admit);
void weir__daemon_part_breaker(struct weir__daemon_parts *parts, struct weir_breaker *breaker);
void weir__daemon_part_hedge(struct weir__daemon_parts *parts, struct weir_hedge *hedge);
void weir__daemon_part_crew(struct weir__daemon_parts *parts, struct weir_crew *crew);

#endif
