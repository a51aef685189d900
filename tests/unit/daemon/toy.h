/* toy.h - a service that does nothing but wait, on a daemon of its own: what a service may leave
 * out is left out.
 *
 *     GET /slow    waits until it is let go; one at once
 *     GET /fast    is answered at once
 *     GET /open    the same, for everybody
 *
 * Ownership: all of it belongs to the test.
 */
#ifndef WEIR_TESTS_TOY_H
#define WEIR_TESTS_TOY_H

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <weir/error.h>

#include "daemon_part.h"
#include "tap.h"

struct toy_config {
    uint64_t deadline_ns, drain_ns;
};

static const struct weir__config_key toy_keys[] = {
    {WEIR__CONFIG_DURATION(struct toy_config, deadline_ns), .name = "toy.deadline", .preset = "1m",
     .min = WEIR_NS_PER_MS, .max = 60 * WEIR_NS_PER_S, .help = "longest wait of a request"},
    {WEIR__CONFIG_DURATION(struct toy_config, drain_ns), .name = "toy.drain", .preset = "5s",
     .min = WEIR_NS_PER_MS, .max = 60 * WEIR_NS_PER_S, .help = "longest wait for requests"},
    WEIR__CONFIG_END,
};
static const struct weir__config_table toy_table = {
    .name = "toy", .keys = toy_keys, .values_size = sizeof(struct toy_config)};
static const struct weir__config_table *const toy_tables[] = {&weir__service_table, &toy_table,
                                                              NULL};
static const struct weir__config_schema toy_schema = {.tables = toy_tables,
                                                      .variables = weir__service_variables};

struct toy {
    struct weir__daemon daemon;
    struct weir_cancel let_go;
    struct weir_counter at_work;
    struct weir_counter faults, flaws; /* without them it is sound, and pretty */
    struct weir_counter starts;        /* of threads of its own */
    struct weir_counter softens;       /* it answers who is late */
};

struct toy_job {
    struct weir__errand head;
    struct weir_cancel *gone; /* the client */
};

enum { SLOW, FAST, OPEN };

static const struct weir_lock_class toy_class = {"toy", 320};
static const struct weir_lock_class *const toy_locks[] = {&weir__daemon_config_class, &toy_class};

static inline uint64_t toy_one(const struct weir__daemon_rules *rules)
{
    (void)rules;
    return 1;
}

static inline uint64_t toy_deadline(const struct weir__daemon_rules *rules)
{
    return ((const struct toy_config *)rules->own)->deadline_ns;
}

static inline uint64_t toy_drain(const struct weir__daemon_rules *rules)
{
    uint64_t own = ((const struct toy_config *)rules->own)->drain_ns;
    return own < rules->service->drain_ns ? own : rules->service->drain_ns;
}

static inline const char *toy_folder(const struct weir__daemon_rules *rules)
{
    (void)rules;
    return NULL;
}

#define TOY_GET .methods = WEIR__DAEMON_READS, .allow = "GET, HEAD, OPTIONS"

static const struct weir__daemon_route toy_routes[] = {
    {.path = "/slow", .number = SLOW, TOY_GET, .scopes = WEIR__DAEMON_SCOPES_USUAL, .cap = 1},
    {.path = "/fast", .number = FAST, TOY_GET, .scopes = WEIR__DAEMON_SCOPES_USUAL},
    {.path = "/open", .number = OPEN, TOY_GET, .manner = WEIR__DAEMON_PUBLIC},
    {.path = NULL},
};
static const struct weir__daemon_cap toy_caps[] = {{"slow", toy_one}, {NULL, NULL}};

static inline uint64_t toy_room(const struct weir__daemon_rules *rules)
{
    (void)rules;
    return 16;
}
static const struct weir__daemon_line toy_lines[] = {{"toil", toy_room}, {NULL, NULL}};
static const struct weir__daemon_post toy_posts[] = {
    {.kind = "toil", .line = 0},
    WEIR__DAEMON_POST_HEALTH,
    WEIR__DAEMON_POST_CLOCK,
    {.kind = NULL},
};

static const char *const toy_endpoints[] = {"slow", "fast", "other", NULL};

static inline unsigned toy_endpoint(const struct weir__exchange *exchange,
                                    const struct weir__daemon_ask *ask)
{
    (void)exchange;
    return ask->way && ask->way->number <= FAST ? ask->way->number : 2;
}

static const struct weir__daemon_condition toy_conditions[] = {
    {"sound", true}, {"pretty", false}, {NULL, false}};

static inline void toy_judge(struct weir__daemon *daemon, bool *ret_holds)
{
    ret_holds[0] = weir_counter_value(&((struct toy *)daemon)->faults) == 0;
    ret_holds[1] = weir_counter_value(&((struct toy *)daemon)->flaws) == 0;
}

static inline int toy_open(struct weir__daemon *daemon, const struct weir__daemon_rules *rules,
                           char why[WEIR__DAEMON_WHY_MAX])
{
    struct toy *toy = (struct toy *)daemon;
    (void)rules, (void)why;
    weir_cancel_init(&toy->let_go, NULL);
    return 0;
}

static inline int toy_close(struct weir__daemon *daemon)
{
    weir_cancel_fini(&((struct toy *)daemon)->let_go);
    return 0;
}

/* Until the client is gone, or all are let go, which is looked for now and then. */
static inline void toy_wait(struct weir__errand *job, struct weir__worker *worker)
{
    struct toy *toy = (struct toy *)job->daemon;
    struct weir_cancel *gone = ((struct toy_job *)job)->gone;
    (void)worker;
    weir_counter_add(&toy->at_work, 1);
    while (!weir_cancel_is_fired(gone)) {
        struct weir_deadline turn = weir_deadline_in(WEIR_NS_PER_MS, &toy->let_go);
        if (weir_deadline_sleep(&turn) == -WEIR_E_CANCELED)
            break;
    }
    weir__errand_finish(job, 0, NULL);
}

static inline void toy_answer(struct weir__exchange *exchange)
{
    weir__daemon_answer_begin(exchange, 200);
    weir__reply_copy(exchange, "done\n", 5);
    weir__reply_send(exchange);
}

static inline void toy_begin(struct weir__exchange *exchange, struct weir__daemon_ask *ask,
                             const struct weir__daemon_rules *rules)
{
    (void)rules;
    if (ask->way->number != SLOW) {
        toy_answer(exchange);
        return;
    }
    struct toy_job *job = (struct toy_job *)weir__errand_new(exchange, toy_wait);
    if (!job)
        return;
    job->gone = weir__exchange_deadline(exchange).cancel;
    weir__errand_send(&job->head, weir__daemon_line(job->head.daemon, 0));
}

static inline void toy_resume(struct weir__exchange *exchange, struct weir__daemon_ask *ask)
{
    (void)ask;
    toy_answer(exchange);
}

static inline int toy_start_own(struct weir__daemon *daemon)
{
    weir_counter_add(&((struct toy *)daemon)->starts, 1);
    return daemon->posts_count == 0 ? 0 : -WEIR_E_INTERNAL; /* before those of its posts */
}

static inline bool toy_late(struct weir__exchange *exchange, struct weir__daemon_ask *ask)
{
    struct toy *toy = weir__exchange_arg(exchange);
    if (weir_counter_value(&toy->softens) == 0 || ask->job)
        return false;
    toy_answer(exchange);
    return true;
}

static const struct weir__daemon_service toy_service = {
    .name = "toy",
    .size = sizeof(struct toy),
    .ask_size = sizeof(struct weir__daemon_ask),
    .job_size = sizeof(struct toy_job),
    .schema = &toy_schema,
    .table = &toy_table,
    .folder = toy_folder,
    .locks = toy_locks,
    .locks_count = 2,
    .jobs_class = &toy_class,
    .routes = toy_routes,
    .lines = toy_lines,
    .posts = toy_posts,
    .caps = toy_caps,
    .deadline_ns = toy_deadline,
    .deadline_most_ms = 60000,
    .drain_ns = toy_drain,
    .descriptors_others = 16,
    .endpoint_label = "route",
    .endpoints = toy_endpoints,
    .endpoint_of = toy_endpoint,
    .about_key = "name",
    .conditions = toy_conditions,
    .judge = toy_judge,
    .open = toy_open,
    .start = toy_start_own,
    .close = toy_close,
    .begin = toy_begin,
    .resume = toy_resume,
    .late = toy_late,
};

/* --- what tests do with it --- */

static inline void toy_tell(void *arg, bool is_warning, const char *line)
{
    (void)arg;
    printf("# %s%s\n", is_warning ? "warning: " : "", line);
}

/* more: of its configuration. */
static inline struct toy *toy_start(const char *more)
{
    char text[512], why[WEIR__DAEMON_WHY_MAX] = "";
    int length = snprintf(text, sizeof(text),
                          "listen = [\"127.0.0.1:0\"]\n[server]\nmax_conns = 64\n%s", more);
    struct weir__config_sources sources = {
        .file = "test", .text = text, .text_length = (size_t)length};
    struct weir__config_sink sink = {.problem = toy_tell};
    struct weir__config *config;
    struct weir__daemon *daemon = NULL;
    CHECK_EQ(weir__config_load(&config, &toy_schema, &sources, &sink), 0);
    struct weir__daemon_options options = {.config = config, .version = "test"};
    int error = weir__daemon_new(&daemon, &toy_service, &options, why);
    if (!error)
        error = weir__daemon_start(daemon, why);
    if (error)
        tap_fail(__FILE__, __LINE__, "%s", why);
    weir__config_unref(config); /* the daemon has its own reference */
    return (struct toy *)daemon;
}

static inline void toy_end(struct toy *toy)
{
    CHECK_EQ(weir__daemon_drain(&toy->daemon, NULL), 0);
    CHECK_EQ(weir__daemon_free(&toy->daemon), 0);
}

/* A connection that has asked for this. */
static inline int toy_ask(struct toy *toy, const char *path)
{
    const char *text = weir__daemon_address(&toy->daemon, 0);
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)atoi(strrchr(text, ':') + 1)),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    char request[256];
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    CHECK(connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0);
    int size = snprintf(request, sizeof(request),
                        "GET %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", path);
    CHECK_EQ(write(fd, request, (size_t)size), size);
    return fd;
}

/* All of the answer; the status is its result. */
static inline int toy_hear(int fd, char *answer, size_t size)
{
    size_t have = 0;
    ssize_t count;
    while (have < size - 1 && (count = read(fd, answer + have, size - 1 - have)) > 0)
        have += (size_t)count;
    answer[have] = '\0';
    close(fd);
    return have > 12 ? atoi(answer + 9) : 0;
}

/* Waits for a state, a minute at most. */
#define AWAIT(condition)                                                                           \
    do {                                                                                           \
        struct weir_deadline _limit = weir_deadline_in(60 * WEIR_NS_PER_S, NULL);                  \
        while (!(condition) && weir_deadline_check(&_limit) == 0) {                                \
            struct weir_deadline _soon = weir_deadline_in(WEIR_NS_PER_MS, NULL);                   \
            weir_deadline_sleep(&_soon);                                                           \
        }                                                                                          \
        CHECK(condition);                                                                          \
    } while (0)

#endif
