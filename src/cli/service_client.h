/* service_client.h - requests to a service, for the commands that use one.
 *
 * Promises
 * - A call is tried again as the HTTP client does it, and then, once this service has answered
 *   anything at all, again and again while it is busy, drains, restarts or cannot be reached: until
 *   timeout_ns have passed since the call began. A service that was never reached is not waited
 *   for. Retry-After is respected.
 * - A call that is brief is one to a service that has a time of its own for it, and has used that
 *   before it says that it failed: it is tried three times at most, the last within 2 s of the
 *   first, and only when nobody has answered, or the service says that it is Busy or Draining.
 * - What went wrong is told in one line, with the service's own words where it has sent any.
 * - The token is in no message.
 *
 * Any thread, any number at once; each call waits, and ends early when its token fires.
 *
 * Ownership: the client owns copies of all that it was given; bytes are the caller's.
 */
#ifndef WEIR_CLI_SERVICE_CLIENT_H
#define WEIR_CLI_SERVICE_CLIENT_H

#include <weir/cancel.h>
#include <weir/defs.h>

#include "client.h"

#define WEIR__SERVICE_PROBLEM_MAX 512u
#define WEIR__SERVICE_PATH_MAX    1024u /* with its query and NUL */

struct weir__service_client;

struct weir__service_client_options {
    const char *server;     /* URL or unix:PATH; NULL: what the variable has, or the default */
    const char *variable;   /* "WEIR_SERVER" */
    const char *preset;     /* "http://127.0.0.1:8470" */
    const char *token_file; /* NULL: $WEIR_TOKEN, or none */
    uint64_t timeout_ns;    /* of one call, with all its tries */
    uint32_t connections_max;
    const char *version;
};

/* Has told what is wrong: Usage, what the system said of the token's file, Unsupported, NoMemory.
 */
WEIR_MUST_USE int weir__service_client_new(struct weir__service_client **ret_client,
                                           const struct weir__service_client_options *options);
/* Accepts NULL. After the last call. */
void weir__service_client_free(struct weir__service_client *client);

struct weir__service_call {
    enum weir__http_method method;
    const char *path; /* from '/' on */
    const char *body;
    size_t body_length;
    bool is_repeatable; /* of POST */
    bool is_brief;
    void *bytes; /* room for the answer; NULL with room 0: nobody wants it */
    size_t room;
    bool keeps_error; /* what comes with a status from 400 on goes there as well, as much as fits */
    size_t length;    /* of it; is set */
    unsigned status;  /* is set */
};

/* 0: an answer below 400; otherwise an error, and what to tell. TooLarge: there is no room for it.
 */
WEIR_MUST_USE int weir__service_client_do(struct weir__service_client *client,
                                          struct weir__service_call *call,
                                          struct weir_cancel *cancel,
                                          char problem[WEIR__SERVICE_PROBLEM_MAX]);
/* Of an answer that is no error and not what was asked for: a redirect, the page of a gateway. */
int weir__service_client_refuse(const struct weir__service_call *call,
                                char problem[WEIR__SERVICE_PROBLEM_MAX]);

#endif
