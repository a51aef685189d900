/* source_http.h - one request of a source: one try, no redirects, no proxy, a whole body in a
 * buffer.
 *
 * The client of a source has no breaker and tries nothing twice, since who asks the source does. It
 * belongs to that source alone: one that hangs takes no connections from another.
 *
 * Ownership: a fetch borrows all that it names.
 */
#ifndef WEIR_INDEX_SOURCE_HTTP_H
#define WEIR_INDEX_SOURCE_HTTP_H

#include "buffer.h"
#include "client.h"

#define WEIR__SOURCE_URL 1024u /* with NUL */

/* ca_file may be NULL. Errors and why as weir__http_client_new() has them. */
WEIR_MUST_USE int weir__source_client_new(struct weir__http_client **ret_client,
                                          const char *ca_file, const char **ret_why);

/* The beginning of a URL, as the configuration has it, without a '/' at its end; with its NUL into
 * room bytes. Invalid: it is no URL of http or https, or has a query; TooLarge. */
WEIR_MUST_USE int weir__source_base(const char *url, char *room, size_t size);
/* The host and port in it, for the name of a source: "dht 127.0.0.1:8000". A host that is too long
 * is cut, and digits that only this host has stand behind it, as behind one with a path: "sibling
 * x-node-01~57b0c1d2:8471". kind: up to 8 bytes. */
void weir__source_name(char name[32], const char *kind, const char *base);
/* Whether two URLs lead to the same host, port and path, be it by http or https: there can be one
 * source there. */
bool weir__source_is_same(const char *a, const char *b);

struct weir__fetch {
    struct weir__http_client *client;
    enum weir__http_method method;
    const char *url;
    const struct weir__http_header *headers;
    size_t headers_count;
    const char *body;
    size_t body_length;
};

/* The body goes behind what is in the buffer, whose maximum is the limit: TooLarge beyond. 0: an
 * answer with a status of 2xx came. Otherwise what its status stands for, or what has failed.
 * Waits. */
WEIR_MUST_USE int weir__source_fetch(const struct weir__fetch *fetch, struct weir__buffer *body,
                                     const struct weir_deadline *deadline);

#endif
