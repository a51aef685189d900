/* routing_text.h - providers as the delegated routing of the IPFS tells them.
 *
 *     {"Schema":"peer","ID":"12D3KooW...","Addrs":["/ip4/.../tcp/8470/http"],
 *      "Protocols":["transport-weir-http"],"transport-weir-http":{"url":"...","record":"..."}}
 *
 * As one object {"Providers": [...]}, of at most WEIR__ROUTING_JSON_MAX, or as one line each.
 *
 * Ownership: text is appended to the caller's buffer.
 */
#ifndef WEIR_INDEX_ROUTING_TEXT_H
#define WEIR_INDEX_ROUTING_TEXT_H

#include "answer.h"
#include "buffer.h"

#define WEIR__ROUTING_JSON_MAX 100u
#define WEIR__ROUTING_PROTOCOL "transport-weir-http"

/* Whether a field Accept asks for lines: one of its types is application/x-ndjson, with a weight
 * above 0, and no smaller one than that of JSON. NULL: there is none. */
bool weir__routing_wants_lines(const char *accept);

/* The n-th provider as one line; where its URL has no such form it has no Addrs. */
WEIR_MUST_USE int weir__routing_put_line(struct weir__buffer *buffer,
                                         const struct weir__answer *answer, size_t n);
/* All as one object; answer NULL: none are known. */
WEIR_MUST_USE int weir__routing_put_object(struct weir__buffer *buffer,
                                           const struct weir__answer *answer);

#endif
