/* index_client.h - names and providers to and from an index service, for the commands that use one.
 *
 * Promises
 * - The service is not trusted: what is handed out of an answer was read from signed records, which
 *   were verified here. A name is verified by the key in it, or by keys that the caller trusts for
 *   its prefix; records that are wrong are left out and counted.
 * - What went wrong is told in one line. A service that has failed in its own time is not asked
 * again: requests are brief (service_client.h).
 *
 * Each call waits, and ends early when its token fires.
 *
 * Ownership: the client owns copies of all that it was given; an answer belongs to the caller.
 */
#ifndef WEIR_CLI_INDEX_CLIENT_H
#define WEIR_CLI_INDEX_CLIENT_H

#include <jansson.h>

#include "options.h"
#include "question.h"
#include "service_client.h"

#define WEIR__INDEX_SERVER    "http://127.0.0.1:8471"
#define WEIR__INDEX_ROOM      (2u << 20) /* bytes of an answer */
#define WEIR__INDEX_PROVIDERS 256u
#define WEIR__INDEX_BRING_MAX 4u /* times that a change is brought, each above what is there */

struct weir__index_client;

/* The head of the values of such a command, and its options. */
struct weir__index_values {
    const char *server;
    const char *token_file;
    uint64_t timeout;
    bool json;
};
#define WEIR__INDEX_OPTIONS                                                                        \
    {WEIR__OPTION_STRING(struct weir__index_values, server),                                       \
     .name = "server",                                                                             \
     .letter = 's',                                                                                \
     .value_name = "URL",                                                                          \
     .help = "the index service; " WEIR__INDEX_SERVER " without it",                               \
     .detail = "A URL of http or https, or 'unix:PATH'. WEIR_INDEX says the same."},               \
        {WEIR__OPTION_FILE(struct weir__index_values, token_file), .name = "token-file",           \
         .value_name = "FILE", .help = "the file with the token to show; see 'weir token'"},       \
        {WEIR__OPTION_DURATION(struct weir__index_values, timeout),                                \
         .name = "timeout",                                                                        \
         .min = 100 * WEIR_NS_PER_MS,                                                              \
         .max = 3600 * WEIR_NS_PER_S,                                                              \
         .preset = "10s",                                                                          \
         .help = "longest time for one request, with all its tries",                               \
         .detail = "A service that is busy or about to end, and one that does not answer, is "     \
                   "asked three times at most, within 2 seconds; one that says why it failed, "    \
                   "once."},                                                                       \
    {                                                                                              \
        WEIR__OPTION_FLAG(struct weir__index_values, json),                                        \
            .name = "json", .help = "print JSON",                                                  \
            .detail = "Also when it fails, unless the "                                            \
                      "command line is wrong: an object "                                          \
                      "with error and message."                                                    \
    }
extern const struct weir__example weir__index_client_variables[];

/* Has told what is wrong. */
WEIR_MUST_USE int weir__index_client_new(struct weir__index_client **ret_client,
                                         const struct weir__index_values *values,
                                         const char *version);
/* Accepts NULL. */
void weir__index_client_free(struct weir__index_client *client);

/* What was verified of an answer. */
struct weir__index_found {
    bool has_name;
    struct weir__record name;       /* of a name */
    struct weir__address address;   /* that it means, or that was asked for */
    struct weir__record *providers; /* in the order of the service */
    double *latencies_ms;           /* of each, as the service says; 0: not known */
    size_t providers_count;
    size_t dropped; /* records that were wrong */
    bool is_stale;
    char source[32];
    json_t *json; /* the answer as it came, for what is not signed */
};
void weir__index_found_fini(struct weir__index_found *found);

/* NotFound; Forbidden: the record is not signed by a key that may speak for the name; Corrupt: that
 * is no answer; and the rest. bindings: of names without a key; may be NULL. is_traced: it is
 * looked up anew, and the answer has a trace, also that of one which failed. */
WEIR_MUST_USE int weir__index_client_find(struct weir__index_client *client,
                                          const struct weir__question *question,
                                          const struct weir__bindings *bindings, bool is_traced,
                                          struct weir__index_found *ret_found,
                                          char problem[WEIR__SERVICE_PROBLEM_MAX]);
/* What the service has sent with its refusal of the last request: an object with the texts error
 * and message, and more. NULL: it has not refused it, or not so. The client's, until the next
 * request.
 */
const json_t *weir__index_client_refusal(const struct weir__index_client *client);

/* Brings a record. has_previous as of the service. Conflict: somebody was faster. */
WEIR_MUST_USE int weir__index_client_bring(struct weir__index_client *client,
                                           const struct weir__record *record,
                                           const struct weir__record_bytes *bytes,
                                           bool has_previous, uint64_t previous,
                                           char problem[WEIR__SERVICE_PROBLEM_MAX]);

/* After a Conflict: the sequence that is there, as the service says. False: it does not say. */
bool weir__index_client_there(const struct weir__index_client *client, uint64_t *ret_sequence);
/* After an error of find(): whether the service is well, and its sources are not, so that it cannot
 * say what is there. */
bool weir__index_client_cannot_know(const struct weir__index_client *client, int error);
/* What there is to say where the sequence is the highest one. Conflict. */
int weir__index_client_no_higher(struct weir__index_client *client,
                                 char problem[WEIR__SERVICE_PROBLEM_MAX]);

/* One page of names; *ret_json is the caller's. */
WEIR_MUST_USE int weir__index_client_list(struct weir__index_client *client, const char *prefix,
                                          const char *after, json_t **ret_json,
                                          char problem[WEIR__SERVICE_PROBLEM_MAX]);

/* The key of the file, or of the default one. problem: untouched where what is wrong was told. */
struct weir__key;
WEIR_MUST_USE int weir__index_read_key(struct weir__key *ret_key, const char *file,
                                       char problem[WEIR__SERVICE_PROBLEM_MAX]);

#endif
