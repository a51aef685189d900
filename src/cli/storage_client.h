/* storage_client.h - chunks to and from a storage service, for weir put and weir get.
 *
 * Promises
 * - A call is tried again as the HTTP client does it, and then, once this service has answered
 *   anything at all, again and again while it is busy, drains, restarts or cannot be reached: until
 *   timeout_ns have passed since the call began. A service that was never reached is not waited
 *   for. Retry-After is respected.
 * - What went wrong is told in one line, with the service's own words where it has sent any.
 * - The token is in no message.
 *
 * Any thread, any number at once; each call waits, and ends early when its token fires.
 *
 * Ownership: the client owns copies of all that it was given; bytes are the caller's.
 */
#ifndef WEIR_CLI_STORAGE_CLIENT_H
#define WEIR_CLI_STORAGE_CLIENT_H

#include <weir/cancel.h>
#include <weir/defs.h>

#include "address.h"
#include "options.h"

#define WEIR__STORAGE_PROBLEM_MAX 512u
#define WEIR__STORAGE_SERVER      "http://127.0.0.1:8470"
#define WEIR__STORAGE_HAVE_MAX    64u

struct weir__storage_client;

struct weir__storage_client_options {
    const char *server;     /* URL or unix:PATH; NULL: $WEIR_SERVER, or WEIR__STORAGE_SERVER */
    const char *token_file; /* NULL: $WEIR_TOKEN, or none */
    uint64_t timeout_ns;    /* of one call, with all its tries */
    uint32_t connections_max;
    const char *version;
};

/* Options of a command that has fields server, token_file and timeout, and what it reads of the
 * environment. */
#define WEIR__STORAGE_CLIENT_WHERE(values)                                                         \
    {WEIR__OPTION_STRING(values, server),                                                          \
     .name = "server",                                                                             \
     .letter = 's',                                                                                \
     .value_name = "URL",                                                                          \
     .help = "the storage service; " WEIR__STORAGE_SERVER " without it",                           \
     .detail = "A URL of http or https, or 'unix:PATH'. WEIR_SERVER says the same."},              \
    {                                                                                              \
        WEIR__OPTION_FILE(values, token_file),                                                     \
            .name = "token-file", .value_name = "FILE",                                            \
            .help = "the file with the token to show; see 'weir token'"                            \
    }
#define WEIR__STORAGE_CLIENT_TIMEOUT(values)                                                       \
    {                                                                                              \
        WEIR__OPTION_DURATION(values, timeout),                                                    \
            .name = "timeout", .min = 100 * WEIR_NS_PER_MS, .max = 3600 * WEIR_NS_PER_S,           \
            .preset = "60s", .help = "longest time for one chunk, with all its tries",             \
            .detail =                                                                              \
                "So long a service that is busy, drains or is started anew is waited for. One "    \
                "that was never reached is not."                                                   \
    }
extern const struct weir__example weir__storage_client_variables[];

/* Has told what is wrong: Usage, what the system said of the token's file, Unsupported, NoMemory.
 */
WEIR_MUST_USE int weir__storage_client_new(struct weir__storage_client **ret_client,
                                           const struct weir__storage_client_options *options);
/* Accepts NULL. After the last call. */
void weir__storage_client_free(struct weir__storage_client *client);

/* 1: the chunk was stored, 0: it was there already; or an error, and what to tell. */
WEIR_MUST_USE int weir__storage_client_put(struct weir__storage_client *client,
                                           const struct weir__address *address, const void *bytes,
                                           size_t length, struct weir_cancel *cancel,
                                           char problem[WEIR__STORAGE_PROBLEM_MAX]);

/* The bytes of a chunk, not compared with its address. TooLarge when they are more than size. */
WEIR_MUST_USE int weir__storage_client_get(struct weir__storage_client *client,
                                           const struct weir__address *address, void *bytes,
                                           size_t size, size_t *ret_length,
                                           struct weir_cancel *cancel,
                                           char problem[WEIR__STORAGE_PROBLEM_MAX]);

/* Which of at most WEIR__STORAGE_HAVE_MAX chunks are there. */
WEIR_MUST_USE int weir__storage_client_have(struct weir__storage_client *client,
                                            const struct weir__address *addresses, size_t count,
                                            bool *ret_have, struct weir_cancel *cancel,
                                            char problem[WEIR__STORAGE_PROBLEM_MAX]);

#endif
