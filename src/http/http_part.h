/* http_part.h - what the files of the client share; nobody else includes this.
 *
 *   client.c    life cycle, the pool of lines
 *   hosts.c     a breaker for each host
 *   request.c   a call: its tries, its redirects, the waits between them
 *   exchange.c  one try: a request, an answer
 *
 * A line is a handle of libcurl with the one connection that it keeps. It is used by one thread at
 * a time; between calls it lies in the pool. So nothing of libcurl is shared by threads, but for
 * the wake that a cancel token gives.
 *
 * Ownership: a line belongs to the pool or to the call that took it; a host to the table, which
 * keeps it while it is in use.
 */
#ifndef WEIR_HTTP_HTTP_PART_H
#define WEIR_HTTP_HTTP_PART_H

#include <weir/breaker.h>
#include <weir/budget.h>
#include <weir/lock.h>

#include "client.h"
#include "curl_lib.h"
#include "url.h"

#define WEIR__HTTP_HEAD_BYTES (256u << 10)
#define WEIR__HTTP_DROP_BYTES (64u << 10) /* of a body that nobody wants, before it is cut off */

struct weir__http_line {
    struct weir__http_line *next;
    CURLM *multi;
    CURL *easy;
    char host[WEIR__URL_HOST_MAX]; /* that it spoke with last, and where */
    uint16_t port;
    bool is_https;
    char error[CURL_ERROR_SIZE];
};

struct weir__http_host {
    char name[WEIR__URL_HOST_MAX];
    uint16_t port;
    uint32_t users;
    uint64_t used; /* the larger, the later */
    struct weir_breaker breaker;
};

struct weir__http_client {
    const struct weir__curl *curl;
    struct weir__http_client_options options; /* with the defaults filled in */
    char *ca_file, *agent, *unix_path;
    struct weir__reach reach; /* options.reach points here */
    struct weir_budget connections;
    bool has_connections;
    struct weir_lock lock; /* guards what follows */
    struct weir__http_line *idle;
    struct weir__http_host **hosts;
    size_t hosts_count, hosts_max;
    uint64_t uses;
    uint64_t opened;
};

/* One call of weir__http_do(). */
struct weir__http_call {
    struct weir__http_client *client;
    const struct weir__http_request *request;
    const struct weir__http_hooks *hooks;
    struct weir__http_outcome *outcome;
    const struct weir_deadline *deadline;
    struct weir__buffer text; /* the URL that is asked now, with its user */
    struct weir__url url;     /* its parts */
    struct weir__url first;   /* those of the request's */
    bool has_begun;           /* the answer was handed out; there is no other try */
    bool may_retry;           /* another try is left */
    uint64_t retry_ns;        /* what the other side asks for; 0: nothing */
    struct weir__buffer next; /* where a redirect leads; empty: nowhere */
};

/* Writes the outcome's problem and returns the error. */
__attribute__((format(printf, 3, 4))) int weir__http_fail(struct weir__http_call *call, int error,
                                                          const char *format, ...);

/* --- client.c --- */
WEIR_MUST_USE int weir__http_line_take(struct weir__http_client *client,
                                       const struct weir__url *url,
                                       struct weir__http_line **ret_line);
/* is_sound: it may be used again. */
void weir__http_line_give(struct weir__http_client *client, struct weir__http_line *line,
                          bool is_sound);

/* --- hosts.c --- */
/* The host of the URL, kept until it is put back. NoMemory. */
WEIR_MUST_USE int weir__http_host_take(struct weir__http_client *client,
                                       const struct weir__url *url,
                                       struct weir__http_host **ret_host);
void weir__http_host_give(struct weir__http_client *client, struct weir__http_host *host);
void weir__http_hosts_free(struct weir__http_client *client);

/* --- request.c --- */
/* Whether another try may go better. */
bool weir__http_may_pass(int error);

/* --- exchange.c --- */
/* One try at the URL of the call. 0: an answer came, whose status is in the outcome; where a
 * redirect is to be followed, call->next says to where. */
WEIR_MUST_USE int weir__http_exchange(struct weir__http_call *call, struct weir__http_line *line);

#endif
