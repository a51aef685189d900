/* client.h - the HTTP client: one request, streamed, inside limits.
 *
 *     weir__http_client_new(&client, NULL, &why)
 *     weir__http_do(client, &request, &hooks, &outcome, &deadline)      any thread, any number
 *     weir__http_client_free(client)
 *
 * Promises
 * - Every wait ends with the deadline or its token: for a connection, a resolver, an answer, the
 *   next byte, the next try. After the token has fired the call returns at once, but for a hook
 *   that is running. Besides, a connection must stand within connect_ns, and an answer must not
 *   pause for longer than stall_ns.
 * - A call that ends early, by its deadline, its token, a hook or a pause, closes its connection
 *   before it returns: the other side sees at once that nobody waits.
 * - At most connections_max connections are open, idle ones included: one for each call, kept for
 *   the next call to the same host. Who comes later waits in line.
 * - Only http and https. Certificates are verified, against the system's or ca_file. Proxies as the
 *   environment says (http_proxy, https_proxy, all_proxy, no_proxy), unless the client is told not
 *   to look there.
 * - With a reach, an address that is not within it is not connected to: Forbidden. It is judged
 * when it is connected to, whatever the name meant before, and no proxy is used.
 * - Redirects of GET and HEAD are followed, WEIR__HTTP_REDIRECTS of them, never from https to http.
 * The request's headers and the user of its URL go to its own origin alone.
 * - What the error table calls retryable is tried again, with growing delays or those that the
 *   other side asks for by Retry-After, while the deadline allows, and never after a byte of the
 *   body was handed out. POST is tried again only if the request says that it may be. A full disk
 *   (507) is not waited for.
 * - A host that fails too often is left alone for a while (one breaker for each host and port):
 *   BreakerOpen, at once. One whose disk is full has not failed. A client for somebody who has a
 *   breaker of their own has none.
 * - No more than body_max bytes of a body are handed out, after decoding: TooLarge for the rest,
 * and at once for an answer that says that it is larger. Heads are limited to 256 KiB.
 * - Messages have no user, password or value of a query in them (url.h).
 *
 * The call blocks its thread, and hooks run on that thread. A server that ends a body that has no
 * length by closing the connection cannot be told from one that was cut off: that is HTTP.
 *
 * Ownership: the request and the hooks are borrowed for the call, what a hook is given for the
 * time of the hook. The client outlives all calls.
 */
#ifndef WEIR_HTTP_CLIENT_H
#define WEIR_HTTP_CLIENT_H

#include <weir/deadline.h>

#include "reach.h"

#define WEIR__HTTP_CONNECTIONS_DEFAULT 16u
#define WEIR__HTTP_CONNECTIONS_MAX     256u
#define WEIR__HTTP_CONNECT_NS          (10 * WEIR_NS_PER_S)
#define WEIR__HTTP_STALL_NS            (30 * WEIR_NS_PER_S)
#define WEIR__HTTP_REDIRECTS           10u
#define WEIR__HTTP_TRIES               3u
#define WEIR__HTTP_BODY_DEFAULT        (UINT64_C(64) << 20)
#define WEIR__HTTP_SENT_MAX            (UINT64_C(16) << 20) /* body of a request */
#define WEIR__HTTP_HEADERS_MAX         32u                  /* of a request */
#define WEIR__HTTP_PROBLEM_MAX         256u

struct weir__http_client;

/* A zero stands for the default. */
struct weir__http_client_options {
    uint32_t connections_max;
    uint64_t connect_ns;
    uint64_t stall_ns;               /* WEIR_NEVER: an answer may pause for as long as it likes */
    const char *ca_file;             /* certificates that are trusted instead of the system's */
    const char *agent;               /* what the client calls itself */
    const char *unix_path;           /* all goes there, whatever the host; no proxy is used */
    const struct weir__reach *reach; /* copied; NULL: every address; not with unix_path */
    bool has_no_proxy;               /* whatever the environment says */
    bool has_no_breaker;             /* who calls has one */
};

/* Whether there is a certificate in ca_file, as a client would load it only when it first connects.
 * key: of the configuration, for the cure in ret_why, which lives until this thread's next call.
 * Invalid: there is no such file, or it cannot be used; Unsupported: OpenSSL is not there;
 * NoMemory. Not by two threads at once the first time (tls_lib.h). */
WEIR_MUST_USE int weir__http_check_trusted(const char *ca_file, const char *key,
                                           const char **ret_why);

enum weir__http_method {
    WEIR__HTTP_GET,
    WEIR__HTTP_HEAD,
    WEIR__HTTP_PUT,
    WEIR__HTTP_POST,
    WEIR__HTTP_DELETE,
    WEIR__HTTP_OPTIONS,
    WEIR__HTTP_METHODS
};
/* "GET", ... */
const char *weir__http_method_name(enum weir__http_method method);

struct weir__http_header {
    const char *name, *value;
};

struct weir__http_request {
    enum weir__http_method method;
    const char *url;
    const struct weir__http_header *headers; /* none with a control character in it */
    size_t headers_count;
    const char *body; /* of PUT and POST, and of DELETE where it has a length */
    size_t body_length;
    uint64_t body_max;    /* of the answer; 0: WEIR__HTTP_BODY_DEFAULT */
    uint32_t tries_max;   /* 0: WEIR__HTTP_TRIES; 1: no other try */
    uint64_t stall_ns;    /* 0: the client's; WEIR_NEVER: none */
    uint64_t quiet_ns;    /* a pause of so long behind the first byte of the body ends it: what came
                             is the answer, and the connection is closed; stall_ns holds until then;
                             0: a body ends by itself */
    bool follows;         /* redirects, of GET and HEAD */
    bool accepts_encoded; /* gzip, of answers with status 2xx; handed out unpacked */
    bool is_repeatable;   /* of POST: doing it twice does no harm */
};

/* The head of the answer. */
struct weir__http_head {
    unsigned status;
    uint64_t length; /* of the body as it is sent; UINT64_MAX: not said */
    void *_easy;
    const void *_curl;
};

/* The value of a header, in letters of any case, or NULL; valid during the hook. */
const char *weir__http_head_get(const struct weir__http_head *head, const char *name);

struct weir__http_hooks {
    /* Once, with the answer that is not a redirect to follow or a failure to try again after. 0: go
     * on; positive: without its body; negative: the call ends with that. May be NULL. */
    int (*head)(void *arg, const struct weir__http_head *head);
    /* A piece of the body. 0, or a negative error with which the call ends. NULL: no body. */
    int (*body)(void *arg, const char *bytes, size_t length);
    void *arg;
};

/* What became of a call, also of one that failed. */
struct weir__http_outcome {
    unsigned status; /* of the last answer; 0: none */
    uint64_t bytes;  /* of the body, that were handed out */
    unsigned tries, redirects;
    bool was_quiet;                       /* quiet_ns has ended it */
    char problem[WEIR__HTTP_PROBLEM_MAX]; /* for people, when the call failed */
};

/* Loads libcurl: the first one not by two threads at once. Unsupported and why, NoMemory, Invalid
 * for a number out of its bounds. */
WEIR_MUST_USE int weir__http_client_new(struct weir__http_client **ret_client,
                                        const struct weir__http_client_options *options,
                                        const char **ret_why);
/* Accepts NULL. Asserts that no call is under way. */
void weir__http_client_free(struct weir__http_client *client);

/* 0: a whole answer came, of any status. Otherwise a negative error:
 *   Invalid (URL, header, a deadline without an end), TooLarge, Timeout (the deadline),
 *   TimeoutRead (a pause), Canceled, BreakerOpen, NoRoute (name), Transient (connection), Denied
 *   (certificate), Forbidden (out of reach), Corrupt (not HTTP, or encoded badly), Unsupported
 * (redirects), NoMemory, or what a hook returned. Waits. */
WEIR_MUST_USE int weir__http_do(struct weir__http_client *client,
                                const struct weir__http_request *request,
                                const struct weir__http_hooks *hooks,
                                struct weir__http_outcome *outcome,
                                const struct weir_deadline *deadline);

/* The error that a status stands for; 0 below 400. */
int weir__http_status_error(unsigned status);

/* Opened since the client was made, for tests and metrics. */
uint64_t weir__http_client_connections(struct weir__http_client *client);

#endif
