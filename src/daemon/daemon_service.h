/* daemon_service.h - what a service says of itself: tables and functions, in one const description.
 *
 * Tables are arrays that end with a row without a name. What a service does not have it leaves out:
 * everything that may be NULL says so.
 *
 * Callbacks run with no lock of the daemon's held. Those that get an exchange run on its loop's
 * thread and must not wait; the others say who calls them.
 *
 * Ownership: descriptions and all that they point to are static.
 */
#ifndef WEIR_DAEMON_DAEMON_SERVICE_H
#define WEIR_DAEMON_DAEMON_SERVICE_H

#include <weir/crew.h>
#include <weir/lock.h>
#include <weir/watch.h>

#include "config.h"
#include "keyring.h"
#include "server.h"
#include "service_config.h"
#include "token.h"

#define WEIR__DAEMON_WHY_MAX       512u
#define WEIR__DAEMON_POSTS_MAX     16u
#define WEIR__DAEMON_LINES_MAX     8u
#define WEIR__DAEMON_CAPS_MAX      8u
#define WEIR__DAEMON_ENDPOINTS_MAX 16u
/* How often the clock looks at deadlines. */
#define WEIR__DAEMON_TICK_NS (20 * WEIR_NS_PER_MS)
/* When the requests have ended, within the time of a drain: for threads to end what they are at,
 * and from then on to be aborted. */
#define WEIR__DAEMON_THREADS_NS (1 * WEIR_NS_PER_S)
#define WEIR__DAEMON_GRACE_NS   (1 * WEIR_NS_PER_S)

/* For those whose jobs were canceled at the end of a drain: until they are told. */
#define WEIR__DAEMON_LAST_WORD_NS (250 * WEIR_NS_PER_MS)

struct weir__daemon;
struct weir__daemon_ask;
struct weir__daemon_parts;
struct weir__daemon_pass;
struct weir__errand;
struct weir__worker;

/* Outermost of the locks of services: all of them have it, in this rank. */
extern const struct weir_lock_class weir__daemon_config_class;

/* What follows the configuration, taken as a whole. */
struct weir__daemon_rules {
    struct weir_snapshot snapshot; /* first */
    struct weir__config *config;
    const struct weir__service_config *service;
    const void *own;            /* of the service's table */
    struct weir__keyring *ring; /* NULL: there are no keys */
};

/* --- requests --- */

#define WEIR__DAEMON_METHOD(name) (1u << WEIR__HTTP_##name)
#define WEIR__DAEMON_READS        (WEIR__DAEMON_METHOD(GET) | WEIR__DAEMON_METHOD(HEAD))

/* What a token must allow, by method. Reading and writing is for whoever can reach the service
 * where it asks for no tokens; anything else wants one in any case. */
struct weir__daemon_scopes {
    enum weir__scope reads;   /* GET, HEAD */
    enum weir__scope changes; /* PUT, POST */
    enum weir__scope removes; /* DELETE */
};
#define WEIR__DAEMON_SCOPES_USUAL                                                                  \
    {                                                                                              \
        WEIR__SCOPE_READ, WEIR__SCOPE_WRITE, WEIR__SCOPE_DELETE                                    \
    }
#define WEIR__DAEMON_SCOPES_ALL(scope)                                                             \
    {                                                                                              \
        scope, scope, scope                                                                        \
    }

/* Which checks a request passes before it comes to begin(). */
enum weir__daemon_manner {
    WEIR__DAEMON_ADMITTED, /* all, and 503 during a drain */
    WEIR__DAEMON_PUBLIC,   /* host and origin alone; also during a drain, as /metrics */
    WEIR__DAEMON_HEALTH,   /* none; as /healthz */
};

/* What there is at a path. The last two manners are let in on a connection too many, too. */
struct weir__daemon_route {
    const char *path;  /* NULL ends a table. The first that fits is taken */
    bool is_prefix;    /* something stands behind it, which parse() looks at */
    unsigned number;   /* the service's own; those of the daemon begin at WEIR__DAEMON_ROUTES */
    unsigned methods;  /* WEIR__DAEMON_METHOD(GET) | ... */
    const char *allow; /* the same in words, with OPTIONS */
    struct weir__daemon_scopes scopes;
    enum weir__daemon_manner manner;
    unsigned cap; /* the number of its cap in the table of these, from 1 on; 0: none */
};
#define WEIR__DAEMON_ROUTES 1000u

/* Requests of some routes at once. */
struct weir__daemon_cap {
    const char *name; /* of its budget; NULL ends a table */
    uint64_t (*count)(const struct weir__daemon_rules *rules);
};

/* --- threads and their lines --- */

/* A line of jobs. */
struct weir__daemon_line {
    const char *name; /* NULL ends a table */
    uint64_t (*capacity)(const struct weir__daemon_rules *rules);
};

/* Threads of one kind that are to be there: who ends is replaced. */
struct weir__daemon_post {
    const char *kind;                                          /* NULL ends a table */
    uint64_t (*count)(const struct weir__daemon_rules *rules); /* NULL: one */
    /* What each does; arg is the daemon. NULL: it works off the line of that number. */
    int (*main)(struct weir_crew_self *self, void *arg);
    unsigned line;
};
/* Those of the daemon itself, to be put where they are to stand in the order of starts. All are
 * needed but for the last two, where nobody reloads and there is no audit log. */
#define WEIR__DAEMON_POST_HEALTH                                                                   \
    {                                                                                              \
        .kind = "health", .main = weir__daemon_health_main                                         \
    }
#define WEIR__DAEMON_POST_CLOCK                                                                    \
    {                                                                                              \
        .kind = "clock", .main = weir__daemon_clock_main                                           \
    }
#define WEIR__DAEMON_POST_RELOAD                                                                   \
    {                                                                                              \
        .kind = "reload", .main = weir__daemon_reload_main                                         \
    }
#define WEIR__DAEMON_POST_AUDIT                                                                    \
    {                                                                                              \
        .kind = "audit", .count = weir__daemon_audit_count, .main = weir__daemon_audit_main        \
    }
int weir__daemon_health_main(struct weir_crew_self *self, void *arg);
int weir__daemon_clock_main(struct weir_crew_self *self, void *arg);
int weir__daemon_reload_main(struct weir_crew_self *self, void *arg);
int weir__daemon_audit_main(struct weir_crew_self *self, void *arg);
uint64_t weir__daemon_audit_count(const struct weir__daemon_rules *rules);

/* --- what it tells --- */

/* One of what /readyz tells, between "accepting" and "workers", which are the daemon's. */
struct weir__daemon_condition {
    const char *name; /* NULL ends a table */
    bool is_vital;    /* without it the service is not ready */
};

/* A row of the tables of its page of documentation: about the thing of that kind and name. Rows are
 * printed in this order. Where the texts are NULL they are the daemon's own, which has some for
 * what every service has. */
struct weir__daemon_said {
    const char *kind; /* "queue", "watch", "bus", "budget", "rate", "admit", "breaker", "hedge",
                         "lock", "key" of a duration; of threads the name of their crew */
    const char *name; /* NULL ends a table */
    const char *text[3];
    bool is_optional; /* it may be missing */
};

/* A time that no key changes. */
struct weir__daemon_time {
    const char *name; /* NULL ends a table */
    uint64_t ns;
    const char *text;
};
#define WEIR__DAEMON_TIMES                                                                         \
    {"the clock's look at deadlines", WEIR__DAEMON_TICK_NS, "how late a 504 may be"},              \
        {"grace of handlers", WEIR__SERVER_GRACE_NS,                                               \
         "after connections were cut: loops wait that long for jobs to come back"},                \
        {"the end of threads", WEIR__DAEMON_THREADS_NS,                                            \
         "when the requests have ended: who is still at something is aborted"},                    \
    {                                                                                              \
        "grace of threads", WEIR__DAEMON_GRACE_NS,                                                 \
            "from abort on: who has not ended then is left behind, and counted"                    \
    }

/* Everything that may be NULL says so; tables end with a row without a name. */
struct weir__daemon_service {
    const char *name; /* "storage": of its crew, its metrics, and in /version */
    size_t size;      /* of its struct, which begins with a struct weir__daemon */
    size_t ask_size;  /* of the block of each exchange */
    size_t job_size;
    size_t tools_size;

    /* Its configuration: all services' table and its own are in the schema. */
    const struct weir__config_schema *schema;
    const struct weir__config_table *table;
    /* The folder that it keeps things in; NULL: it keeps them in memory. */
    const char *(*folder)(const struct weir__daemon_rules *rules);

    /* Locks, outermost first: weir__daemon_config_class and jobs_class among them. */
    const struct weir_lock_class *const *locks;
    size_t locks_count;
    const struct weir_lock_class *jobs_class; /* of the list of jobs */

    const struct weir__daemon_route *routes;
    const struct weir__daemon_line *lines;
    const struct weir__daemon_post *posts;
    const struct weir__daemon_cap *caps; /* or NULL */

    /* How long a request may take unless X-Deadline-Ms says otherwise, and what that may say. */
    uint64_t (*deadline_ns)(const struct weir__daemon_rules *rules);
    uint64_t deadline_most_ms;
    /* Until when a drain waits for requests; NULL: drain_deadline. */
    uint64_t (*drain_ns)(const struct weir__daemon_rules *rules);

    /* File descriptors: how many it wants for itself when there are so many connections (NULL:
     * none), and how many more are open for a while, with those of the daemon. */
    uint64_t (*descriptors)(const struct weir__daemon_rules *rules, uint64_t connections);
    uint64_t descriptors_others;
    /* Other limits of the server than the configuration means for every service; or NULL. */
    void (*fill_limits)(const struct weir__daemon_rules *rules, struct weir__server_limits *limits);

    /* Classes of requests in busy_rejections_total and request_duration_seconds: the name of the
     * label, their names, ended by NULL, and the one of a request, whose path may be unknown. */
    const char *endpoint_label;
    const char *const *endpoints;
    unsigned (*endpoint_of)(const struct weir__exchange *exchange,
                            const struct weir__daemon_ask *ask);

    /* The key in the audit log of what an event is about: "address". */
    const char *about_key;
    /* In place of the text of the table of errors, or NULL: that one; or NULL. */
    const char *(*reason_of)(struct weir__daemon *daemon, int error);

    const struct weir__daemon_condition *conditions;
    /* By the thread of health: which of them hold. */
    void (*judge)(struct weir__daemon *daemon, bool *ret_holds);
    /* That it can be read and not written; or NULL: it never is. */
    bool (*is_read_only)(struct weir__daemon *daemon);

    /* --- life: by who calls new, reload, drain and free; in this order --- */
    /* Lines and limits of its own, and its locks, before anything is opened. Or NULL. */
    int (*make)(struct weir__daemon *daemon, const struct weir__daemon_rules *rules);
    /* Files that the configuration names, which are to be found wanting here and not when they are
     * first needed; also by who reloads. It changes nothing. Or NULL. */
    int (*check)(const struct weir__daemon_rules *rules, char why[WEIR__DAEMON_WHY_MAX]);
    /* Its folder and what is in there; daemon->shares is known. Tells what it finds
     * (weir__daemon_find), sets daemon->is_new. */
    int (*open)(struct weir__daemon *daemon, const struct weir__daemon_rules *rules,
                char why[WEIR__DAEMON_WHY_MAX]);
    /* Counters and histograms of its own (weir__daemon_add_counter ...); or NULL. */
    int (*add_metrics)(struct weir__daemon *daemon);
    /* Threads of its own in daemon->crew, before those of its posts; or NULL. */
    int (*start)(struct weir__daemon *daemon);
    /* Takes over what can change; also the old again, when the rest could not be had. Or NULL. */
    int (*update)(struct weir__daemon *daemon, const struct weir__daemon_rules *rules);
    /* The time of a drain is up: jobs that are under way are to end soon, with Canceled, so that
     * who waits is told. It does not wait. NULL: they are not to be ended, and who waits is cut. */
    void (*cancel)(struct weir__daemon *daemon);
    /* Requests have ended and the lines are closed: its own threads are to end. Or NULL. */
    void (*stop)(struct weir__daemon *daemon);
    /* All threads have ended, or were left behind. How much it leaves undone that the next start
     * does not know of. Or NULL. */
    uint64_t (*stopped)(struct weir__daemon *daemon);
    /* Frees all that make() and open() made, also half of it, and nothing, where all is zero.
     * Timeout: somebody is still at it, nothing was freed, and the process is to leave. Other
     * errors are told by free(). */
    int (*close)(struct weir__daemon *daemon);

    /* --- requests; ask is what weir__exchange_private() has --- */
    /* Zeroed before, of every request; or NULL. */
    void (*init_ask)(struct weir__daemon_ask *ask);
    /* What stands behind the path of a prefix; false: it has answered. Or NULL. */
    bool (*parse)(struct weir__exchange *exchange, struct weir__daemon_ask *ask, const char *rest);
    void (*begin)(struct weir__exchange *exchange, struct weir__daemon_ask *ask,
                  const struct weir__daemon_rules *rules);
    void (*whole)(struct weir__exchange *exchange, struct weir__daemon_ask *ask); /* or NULL */
    void (*resume)(struct weir__exchange *exchange, struct weir__daemon_ask *ask);
    /* Its deadline has passed and nothing was answered: true, and it has answered with something
     * else than 504. The job is on its own already. Or NULL. */
    bool (*late)(struct weir__exchange *exchange, struct weir__daemon_ask *ask);
    int (*more)(struct weir__exchange *exchange, struct weir__daemon_ask *ask); /* or NULL */
    /* As the server's; each may be NULL. */
    void (*warm)(struct weir__exchange *exchange, int fd, uint64_t offset, uint64_t length);
    void (*broke)(struct weir__exchange *exchange, int error, int fd, uint64_t offset);
    void (*gone)(struct weir__exchange *exchange, struct weir__daemon_ask *ask); /* or NULL */

    /* --- jobs; each may be NULL --- */
    /* On the loop's thread; zeroed before. */
    void (*init_job)(struct weir__errand *job, const struct weir__daemon_ask *ask);
    void (*fini_job)(struct weir__errand *job);
    /* A step: what is being sent goes from the request to the job, and back. */
    void (*lend)(struct weir__errand *job, struct weir__daemon_ask *ask);
    void (*take_back)(struct weir__errand *job, struct weir__daemon_ask *ask);
    /* In the thread of a member of a pool. */
    int (*init_tools)(struct weir__worker *worker);
    void (*fini_tools)(struct weir__worker *worker);

    /* --- what it tells --- */
    /* Brings what is sampled up to date (weir__daemon_counter, weir__daemon_gauge), always the same
     * in the same order; by the thread of health, and once before it. Or NULL. */
    void (*sample)(struct weir__daemon *daemon, struct weir__daemon_pass *pass);
    /* What it has besides what every service has (weir__daemon_part_queue ...); or NULL. */
    void (*list_parts)(struct weir__daemon *daemon, struct weir__daemon_parts *parts);
    const struct weir__daemon_said *thread_texts, *channel_texts, *limit_texts, *lock_texts,
        *key_texts;
    const struct weir__daemon_time *times;
};

#endif
