/* scan_fetch.h - URLs and stored objects as sources of a scan.
 *
 *     https://host/path   GET, redirects followed, decoded, at most so many bytes in so much time
 *     b3:64 digits        the same of STORE/o/b3:..., and the bytes must have that BLAKE3
 *
 * What comes is streamed: a thread for each fetch that is under way drives the HTTP client and
 * writes into a pipe, which a thread of the scan reads. There are never more of them than threads
 * that scan; each is joined when its pipe is closed.
 *
 * Paths are shown without user, password and values of the query.
 *
 * Environment: WEIR_STORE stands for --store; SSL_CERT_FILE names the certificates that are trusted
 * instead of the system's; proxies as curl knows them.
 *
 * Ownership: paths and store are borrowed for the life of the web.
 */
#ifndef WEIR_CLI_SCAN_FETCH_H
#define WEIR_CLI_SCAN_FETCH_H

#include "source/scan.h"

#define WEIR__FETCH_BYTES   (UINT64_C(4) << 30)
#define WEIR__FETCH_TIME_NS (600 * WEIR_NS_PER_S)

struct weir__scan_web_options {
    const char *const *paths;
    size_t paths_count;
    const char *store;   /* or NULL: WEIR_STORE */
    uint64_t bytes_max;  /* of one fetch, decoded */
    uint64_t timeout_ns; /* of one fetch, in all */
    const char *version; /* what the client calls itself */
};

struct weir__scan_web;

/* NULL when no path is to be fetched: then nothing is loaded. 0, or what was logged: Usage for a
 * path that is none, NoMemory, Unsupported without libcurl. */
WEIR_MUST_USE int weir__scan_web_new(struct weir__scan_web **ret_web,
                                     const struct weir__scan_web_options *options);
/* Accepts NULL. What a thread that was left behind still uses is left to it. */
void weir__scan_web_free(struct weir__scan_web *web);
/* Accepts NULL, which has none. */
const struct weir__scan_fetcher *weir__scan_web_fetcher(const struct weir__scan_web *web);

#endif
