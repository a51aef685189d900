/* storage_part.h - what the files of the service share; nobody else includes this.
 *
 *   storage.c    life cycle
 *   descriptors.c who may have how many of them
 *   finding.c    what is told of at the start
 *   reload.c     the configuration in force, its keys, and another one in its place
 *   drain.c      its end
 *   threads.c    the pools, and what their members do
 *   route.c      a request: who may, which way
 *   access.c     host, origin, capability, limits: whether it is let in
 *   object.c     GET and HEAD of /o/
 *   upload.c     PUT and POST
 *   file.c       GET and HEAD of /f/: manifests as the files that they stand for
 *   change.c     DELETE, /have, /inventory, /admin/
 *   health.c     /healthz, /readyz, /version, /metrics
 *   quota.c      how much was stored with each token
 *   errand.c     what is done for a request by other threads, and its deadline
 *   repair.c     what becomes of damaged chunks
 *   audit.c      events and who hears them
 *   log.c        a line for each request
 *   numbers.c    metrics
 *   topology.c   what it is made of, as tables
 *
 * A job outlives its request: when the deadline passes, or the client goes, the request is answered
 * and the job comes to its end by itself. What they share is guarded by the lock of jobs.
 *
 * Ownership: a job belongs to the thread that works on it, and to its request while that waits.
 */
#ifndef WEIR_STORAGE_STORAGE_PART_H
#define WEIR_STORAGE_STORAGE_PART_H

#include <weir/admit.h>
#include <weir/bus.h>
#include <weir/metrics.h>
#include <weir/queue.h>
#include <weir/rate.h>
#include <weir/watch.h>

#include "coding.h"
#include "condition.h"
#include "file_reader.h"
#include "keyring.h"
#include "quota.h"
#include "range.h"
#include "server.h"
#include "storage.h"
#include "storage_config.h"
#include "store.h"
#include "token.h"

#define WEIR__STORAGE_SCRAPES   8u
#define WEIR__STORAGE_TICK_NS   (20 * WEIR_NS_PER_MS)
#define WEIR__STORAGE_QUOTA_NS  (1 * WEIR_NS_PER_S)
#define WEIR__STORAGE_REPAIRERS 2u
/* How long a request may take unless it says otherwise, and what it may say at most. */
#define WEIR__STORAGE_DEADLINE_NS      (10 * WEIR_NS_PER_S)
#define WEIR__STORAGE_DEADLINE_MOST_MS UINT64_C(600000)
/* When the requests have ended, within drain_deadline: for threads to end what they are at, and
 * from then on to be aborted. Then for the store, to write what waits. */
#define WEIR__STORAGE_THREADS_NS (1 * WEIR_NS_PER_S)
#define WEIR__STORAGE_GRACE_NS   (1 * WEIR_NS_PER_S)
#define WEIR__STORAGE_CLOSE_NS   (10 * WEIR_NS_PER_S)
#define WEIR__STORAGE_DAMAGED    256u /* chunks without a good copy that are remembered */

struct weir__worker;
struct weir__errand;
struct weir__file_answer;

/* --- routes --- */

enum weir__route {
    WEIR__ROUTE_OBJECT, /* /o/ADDRESS */
    WEIR__ROUTE_OBJECTS,
    WEIR__ROUTE_FILE, /* /f/ADDRESS */
    WEIR__ROUTE_HAVE,
    WEIR__ROUTE_INVENTORY,
    WEIR__ROUTE_SCRUB,
    WEIR__ROUTE_REPAIR,
    WEIR__ROUTE_HEALTH,
    WEIR__ROUTE_READY,
    WEIR__ROUTE_VERSION,
    WEIR__ROUTE_METRICS,
    WEIR__ROUTE_COUNT
};

/* The block of each exchange. */
struct weir__ask {
    enum weir__route route;
    bool is_let_in;               /* the page that asks, if one does, may know the answer */
    bool is_admitted;             /* and it has passed all limits */
    struct weir__address address; /* of the path, where it has one */
    struct weir_permit inflight;
    struct weir_admit_ticket ticket;
    struct weir__token_grant grant; /* id "": none was shown that was made here */
    struct weir__quota_hold hold;   /* of an upload, until its job has it */
    struct weir__errand *job;
    struct weir__chunk chunk; /* that is being sent */
    struct weir__file_answer *file;
};

/* --- jobs --- */

enum weir__errand_state {
    WEIR__ERRAND_WAITS, /* in line */
    WEIR__ERRAND_READS, /* a worker looks at the request: it cannot be answered meanwhile */
    WEIR__ERRAND_WORKS, /* nothing of the request is needed any more */
    WEIR__ERRAND_DONE
};

struct weir__errand {
    struct weir__storage *storage;
    void (*work)(struct weir__errand *job, struct weir__worker *worker);
    uint64_t deadline_ns;
    struct weir__errand *_prev, *_next; /* of those that have a request */
    struct weir__exchange *exchange;    /* NULL: nobody waits any more */
    enum weir__errand_state state;
    bool is_late; /* the clock has answered */

    struct weir__address address;
    enum weir__route route;
    int result;
    const char *message; /* static, of an error */
    struct weir__chunk chunk;
    struct weir__store_write write;
    struct weir__buffer bytes;      /* decoded upload, or text of the answer */
    bool is_step;                   /* of an answer: chunk and file are lent by the request */
    bool wants_bytes;               /* verified into memory, not by its place */
    bool is_checked;                /* the address was given and must be that of the bytes */
    bool was_damaged;               /* what is there under it is bad */
    bool fails_there, fails_absent; /* a condition of the request, if the chunk is there or not */
    bool is_unmet;                  /* and so it was */
    struct weir__quota_hold hold;   /* of an upload */
    struct weir_permit turn;        /* of the numbers, until they are written */
    struct weir__file_answer *file; /* while the job has it */
    int warm_fd;
    uint64_t warm_offset, warm_length;
};

/* A member of a pool. */
struct weir__worker {
    struct weir__storage *storage;
    struct weir__store_reader reader;
    struct weir__decoder decoder;
    struct weir_crew_self *self;
    bool must_end; /* it cannot go on; another one takes its place */
};

/* Asked by a worker in the middle of a job: it is to end. It returns then and leaves the job as it
 * is. */
bool weir__worker_must_end(struct weir__worker *worker);

/* Members of one kind that are to be there. */
struct weir__post {
    const char *kind;
    uint64_t count;
    int (*main)(struct weir_crew_self *self, void *arg);
};
#define WEIR__STORAGE_POSTS 9u

/* --- events --- */

enum weir__event_kind {
    WEIR__EVENT_START,
    WEIR__EVENT_STOP,
    WEIR__EVENT_RELOAD,
    WEIR__EVENT_PUT,
    WEIR__EVENT_DELETE,
    WEIR__EVENT_DENIED,
    WEIR__EVENT_DAMAGE,
    WEIR__EVENT_REPAIRED,
    WEIR__EVENT_ADMIN,
};

struct weir__event {
    enum weir__event_kind kind;
    int64_t time_s;
    struct weir__address address;
    bool has_address;
    int result;
    char who[48]; /* client */
    char token[WEIR__TOKEN_ID_SIZE];
    char corr_id[WEIR__SERVER_CORR_MAX + 1]; /* of the request; "" when it is of none */
    char what[96];
};

/* --- repairs --- */

struct weir__repair {
    struct weir__address address;
    bool is_suspect; /* it could not be sent: it is to be read first */
};

/* --- counts --- */

enum weir__endpoint { WEIR__ENDPOINT_GET, WEIR__ENDPOINT_PUT, WEIR__ENDPOINT_OTHER };
#define WEIR__ENDPOINTS 3

struct weir__storage_counts {
    struct weir_counter busy[WEIR__ENDPOINTS];
    struct weir_counter timeouts[WEIR__OP_COUNT + 1]; /* of the server's, and "work" */
    struct weir_counter unauthorized, forbidden, cross_site;
    struct weir_counter repairs, repairs_failed, skipped_full;
    struct weir_counter answered_by_loop, replaced, untold, audit_lost;
    struct weir_counter quota_refused[WEIR__QUOTA_REASONS];
    struct weir_histogram repair_wait, latency[WEIR__ENDPOINTS];
};

/* What follows the configuration, taken as a whole. */
struct weir__rules {
    struct weir_snapshot snapshot; /* first */
    struct weir__config *config;
    const struct weir__service_config *service;
    const struct weir__storage_config *own;
    struct weir__keyring *ring; /* NULL: there are no keys */
};

/* Of the descriptors that the process may have. */
struct weir__shares {
    uint64_t connections; /* as configured, or as many as there are descriptors for */
    uint32_t segments;
    uint64_t top; /* those from this number on are not for segments beyond these */
};

struct weir__storage {
    const char *version;
    char findings[2048]; /* lines */
    bool is_new;         /* the folder had no store */
    void (*reload)(void *arg);
    bool (*is_hurried)(void *arg);
    void *arg; /* of both */
    struct weir__shares shares;
    struct weir__store *store;
    struct weir__quota *quota;
    struct weir__server *server;
    struct weir_crew *crew;
    struct weir_cancel stop;       /* fired by who wants the service to end */
    struct weir_cancel clock_stop; /* fired when no job is left */
    struct weir__post posts[WEIR__STORAGE_POSTS];
    size_t posts_count;
    uint64_t tend_ns; /* when members may be replaced again; of the supervisor */
    bool is_started;
    bool is_stuck; /* somebody still has what would be freed */

    struct weir_watch config;   /* struct weir__rules */
    struct weir_watch shutdown; /* bool */

    struct weir_queue reads, writes, streams, health; /* struct weir__exchange * or job * */
    struct weir_queue repairs;                        /* struct weir__repair */
    struct weir_queue reloads;                        /* bool */
    struct weir_bus events;
    struct weir_bus_subscriber audit; /* from before the first event on */
    struct weir_budget inflight;
    struct weir_budget scrapes; /* requests for the numbers that are in line or at work */
    struct weir_rate rps;
    struct weir_rate pacing;
    struct weir_rate complaints; /* lines of the log about answers that failed */
    struct weir_admit per_address;

    struct weir_metrics *metrics;
    struct weir__numbers *numbers;
    struct weir__storage_counts counts;

    struct weir_lock reload_lock; /* guards what follows */
    uint64_t reload_began_ns;     /* 0: none is under way */

    struct weir_lock damage_lock; /* guards what follows */
    struct weir__address damaged[WEIR__STORAGE_DAMAGED];
    size_t damaged_count;
    uint64_t repairs_left; /* that a drain has dropped or canceled */

    struct weir_lock jobs_lock; /* guards what follows, and what jobs share with requests */
    struct weir__errand *jobs;
    uint64_t jobs_count;
    bool is_ending;        /* no job is begun any more */
    uint64_t jobs_dropped; /* since then */
};

/* --- storage.c --- */
__attribute__((format(printf, 3, 4))) int weir__storage_fail(char why[WEIR__STORAGE_WHY_MAX],
                                                             int error, const char *format, ...);
/* What the configuration means for the parts. */
void weir__storage_fill_store(const struct weir__rules *rules, struct weir__store_options *options);
void weir__storage_fill_limits(const struct weir__storage *storage, const struct weir__rules *rules,
                               struct weir__server_limits *limits);

/* --- descriptors.c --- */
/* sockets: that were handed over, in place of those that the rules name. Invalid: there are too
 * few. */
WEIR_MUST_USE int weir__descriptors_share(struct weir__storage *storage,
                                          const struct weir__rules *rules, size_t sockets,
                                          char why[WEIR__STORAGE_WHY_MAX]);

/* --- finding.c --- */
__attribute__((format(printf, 2, 3))) void weir__finding_add(struct weir__storage *storage,
                                                             const char *format, ...);
void weir__finding_note(struct weir__storage *storage, const struct weir__store_report *report);
/* Files that others should not get at. */
void weir__finding_rights(struct weir__storage *storage, const struct weir__rules *rules);

/* --- reload.c --- */
WEIR_MUST_USE int weir__rules_new(struct weir__rules **ret_rules, struct weir__config *config,
                                  char why[WEIR__STORAGE_WHY_MAX]);
/* At the start: loads them, and makes the first where there never was one. */
WEIR_MUST_USE int weir__rules_find_keys(struct weir__storage *storage, struct weir__rules *rules,
                                        char why[WEIR__STORAGE_WHY_MAX]);
int weir__reload_main(struct weir_crew_self *self, void *arg);
/* The rules of now; to be given back. */
struct weir__rules *weir__storage_rules(struct weir__storage *storage);
void weir__storage_rules_give(struct weir__rules *rules);

/* --- route.c --- */
extern const struct weir__handler weir__storage_handler;
/* The answer of an error, with Retry-After where that helps. */
void weir__storage_refuse(struct weir__exchange *exchange, int error, const char *message);
/* A line of the log about what failed here, if it is no fault of the client's. chunk: of which,
 * where the path does not say it, and then whatever the error is; or NULL. False: too many were
 * told. */
bool weir__storage_tell_failure(const struct weir__exchange *exchange, int error,
                                const struct weir__address *chunk);
enum weir__endpoint weir__endpoint_of(const struct weir__exchange *exchange);

/* --- access.c --- */
/* Whether the request is let in; otherwise it has been answered. */
bool weir__access_allows(struct weir__storage *storage, struct weir__exchange *exchange,
                         const struct weir__rules *rules);

/* One of the requests at once, or it has been refused. While its body comes a request is none of
 * them: who sends slowly keeps nobody away. */
bool weir__access_enters(struct weir__storage *storage, struct weir__exchange *exchange);
void weir__access_leaves(struct weir__exchange *exchange);
/* The same of metrics, which everybody may read who has the right name, and no page of others. */
bool weir__access_allows_metrics(struct weir__storage *storage, struct weir__exchange *exchange);
/* The same of OPTIONS, which shows no capability. */
bool weir__access_allows_question(struct weir__storage *storage, struct weir__exchange *exchange,
                                  const struct weir__rules *rules);

/* As weir__reply_begin(), with what tells a browser that the page which asked may read the answer.
 */
void weir__answer_begin(struct weir__exchange *exchange, unsigned status);

/* --- errand.c --- */
/* A job for the exchange, on the loop's thread. NULL: there is no memory, and the request has been
 * refused. */
struct weir__errand *
weir__errand_new(struct weir__storage *storage, struct weir__exchange *exchange,
                 void (*work)(struct weir__errand *job, struct weir__worker *worker));
/* A step of an answer that has begun. It has WEIR__STORAGE_DEADLINE_NS, and not beyond the end that
 * the client has set; the answer is cut when that passes. What is being sent is the job's
 * meanwhile: it is used also when nobody waits any more. NULL: there is no memory. */
struct weir__errand *
weir__errand_new_step(struct weir__storage *storage, struct weir__exchange *exchange,
                      void (*work)(struct weir__errand *job, struct weir__worker *worker));
/* The step is done, and what is being sent is the request's again. */
void weir__errand_take_back(struct weir__ask *ask);
/* By a worker that has taken it out of its line: whether it is to be done. False: nobody waits any
 * more, or it is too late for all, and it is to be dropped. */
bool weir__errand_begin(struct weir__errand *job);
void weir__errand_drop(struct weir__errand *job);
/* The time of a drain is up: no job is begun any more. How many are under way. */
uint64_t weir__errands_end(struct weir__storage *storage);
/* Into the line. When that is full the job is freed and the request refused, or its answer cut. */
void weir__errand_send(struct weir__errand *job, struct weir_queue *line);
/* By a worker: the request is looked at from here on; NULL: nobody waits any more. */
struct weir__exchange *weir__errand_begin_reading(struct weir__errand *job);
void weir__errand_end_reading(struct weir__errand *job);
/* The work is done: the request is answered by its loop, or the job freed. */
void weir__errand_finish(struct weir__errand *job, int result, const char *message);
/* By a worker that ends in the middle of it: the request is answered, or its answer cut, and the
 * job freed with all that it has. */
void weir__errand_give_up(struct weir__errand *job);
/* The request has ended. */
void weir__errand_leave(struct weir__errand *job);
/* Answers what is too late. */
void weir__errands_tick(struct weir__storage *storage, uint64_t now_ns);

/* --- what routes do; on the loop's thread --- */
void weir__object_begin(struct weir__exchange *exchange, struct weir__ask *ask);
void weir__object_resume(struct weir__exchange *exchange, struct weir__ask *ask);
/* Whether the head has what a body needs, its length and a coding that is known; otherwise it was
 * answered. */
bool weir__upload_head(struct weir__exchange *exchange, enum weir__coding *ret_coding);
/* In a worker: the body as it was before it was packed. */
WEIR_MUST_USE int weir__upload_unpack(const struct weir__exchange *exchange,
                                      struct weir__worker *worker, struct weir__buffer *bytes,
                                      const char **ret_message);
void weir__upload_begin(struct weir__exchange *exchange, struct weir__ask *ask,
                        const struct weir__rules *rules);
void weir__upload_whole(struct weir__exchange *exchange, struct weir__ask *ask);
void weir__upload_resume(struct weir__exchange *exchange, struct weir__ask *ask);
void weir__file_begin(struct weir__exchange *exchange, struct weir__ask *ask);
void weir__file_resume(struct weir__exchange *exchange, struct weir__ask *ask);
int weir__file_more(struct weir__exchange *exchange, struct weir__ask *ask);
void weir__file_gone(struct weir__ask *ask);
/* The chunk that has this place of a file; NULL: none that is being sent. */
const struct weir__address *weir__file_chunk_at(const struct weir__file_answer *file, int fd,
                                                uint64_t offset);
void weir__file_answer_free(struct weir__file_answer *file);
void weir__change_begin(struct weir__exchange *exchange, struct weir__ask *ask);
void weir__change_whole(struct weir__exchange *exchange, struct weir__ask *ask);
void weir__change_resume(struct weir__exchange *exchange, struct weir__ask *ask);
void weir__health_begin(struct weir__exchange *exchange, struct weir__ask *ask);
void weir__health_resume(struct weir__exchange *exchange, struct weir__ask *ask);

/* The handler's call for what is not in memory. */
void weir__object_warm(struct weir__exchange *exchange, int fd, uint64_t offset, uint64_t length);

/* What the conditions and the range of a GET or HEAD say about content with that tag and size: 1
 * when that is an answer already (304, 412, 416), which was sent; else 0 and the ranges. */
int weir__conditions_answer(struct weir__exchange *exchange, const char *etag, uint64_t size,
                            struct weir__ranges *ret_ranges);
#define WEIR__CONTENT_TYPE "application/octet-stream"
#define WEIR__ETAG_SIZE    (WEIR__ADDRESS_TEXT + 2)
void weir__etag_print(const struct weir__address *address, char etag[WEIR__ETAG_SIZE]);
/* What its conditions say of a request that changes the chunk of that address, for its job. */
void weir__conditions_note(struct weir__exchange *exchange, const struct weir__address *address,
                           struct weir__errand *job);
/* Whether the job ended at a condition, which was answered then (412). */
bool weir__conditions_unmet(struct weir__exchange *exchange, const struct weir__errand *job);
/* The boundary of several ranges; false: an error was answered. */
bool weir__boundary_make(struct weir__exchange *exchange, char boundary[WEIR__RANGE_BOUNDARY_SIZE]);

/* Headers that an answer with content has. etag: with its quotes. */
void weir__content_headers(struct weir__exchange *exchange, const char *etag, bool is_file);

/* --- threads.c --- */
WEIR_MUST_USE int weir__storage_start_threads(struct weir__storage *storage,
                                              const struct weir__rules *rules);
/* Of the pools: how many members are missing, and whether one has nobody at all. */
struct weir__staff {
    uint64_t missing;
    bool has_all_kinds;
};
void weir__storage_staff(struct weir__storage *storage, struct weir__staff *ret_staff);

/* --- health.c --- */
/* Whether the disk takes writes, as far as is known. */
bool weir__health_of_disk(const struct weir__store_stats *stats);
/* By the thread of health: the text of the answer. */
void weir__health_work(struct weir__errand *job, struct weir__worker *worker);

/* --- repair.c --- */
void weir__repair_damage(void *arg, const struct weir__address *address, const char *what);
/* A chunk of which an answer could not be sent: somebody who may wait for the disk is to read it.
 */
void weir__repair_suspect(struct weir__storage *storage, const struct weir__address *address);
int weir__repair_main(struct weir_crew_self *self, void *arg);
/* Somebody has put it again: it is good. */
void weir__repair_forget(struct weir__storage *storage, const struct weir__address *address);
/* What could not be repaired is tried once more. */
void weir__repair_again(struct weir__storage *storage);
/* At the end: nothing waits in line from here on. */
void weir__repair_end(struct weir__storage *storage);
/* When the repairers have ended too: chunks that are damaged, and that nobody will think of. */
uint64_t weir__repair_left(struct weir__storage *storage);

/* --- audit.c --- */
void weir__storage_event(struct weir__storage *storage, const struct weir__event *event);
void weir__storage_event_of(struct weir__exchange *exchange, enum weir__event_kind kind,
                            const struct weir__address *address, int result, const char *what);
/* Whether the file of the audit log can be written. */
WEIR_MUST_USE int weir__audit_check(const struct weir__rules *rules,
                                    char why[WEIR__STORAGE_WHY_MAX]);
int weir__audit_main(struct weir_crew_self *self, void *arg);

/* --- log.c --- */
void weir__storage_log_request(struct weir__exchange *exchange, const struct weir__ask *ask,
                               const struct weir__exchange_end *end);
/* Of a request that the server has refused: it may have neither a method nor a path. */
void weir__storage_log_refused(struct weir__exchange *exchange,
                               const struct weir__exchange_end *end);

/* --- numbers.c --- */
WEIR_MUST_USE int weir__numbers_new(struct weir__storage *storage);
void weir__numbers_free(struct weir__storage *storage);
/* Brings what is sampled up to date. */
void weir__numbers_sample(struct weir__storage *storage);

#endif
