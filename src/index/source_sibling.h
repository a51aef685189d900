/* source_sibling.h - another node of the index, over HTTP.
 *
 * It is asked as its users ask it, with "X-Weir-Hops: 1": it answers from what it has, its records
 * and its cache, and asks nobody in turn. So no question goes around, and none grows on its way.
 *
 *     GET /resolve/NAME          {"record": "BASE64URL", ..., "providers": [...]}
 *     GET /providers/ADDRESS     {"providers": [{"record": "BASE64URL", ...}, ...], ...}
 *     PUT, DELETE /names/NAME, PUT /providers/ADDRESS     {"record": "BASE64URL"}
 *
 * Of an answer the records are taken, and nothing else of it is believed. Certificates are
 * verified. An answer is at most WEIR__SIBLING_BODY_MAX long.
 *
 * Ownership: new and free; the source owns its connections and its copy of the token.
 */
#ifndef WEIR_INDEX_SOURCE_SIBLING_H
#define WEIR_INDEX_SOURCE_SIBLING_H

#include "source.h"

#define WEIR__SIBLING_BODY_MAX (1u << 20)
#define WEIR__SIBLING_HOPS     "X-Weir-Hops"

struct weir__source_sibling_options {
    const char *url;     /* "https://index.example.org" */
    const char *token;   /* capability that is shown; NULL: none */
    const char *ca_file; /* certificates that are trusted instead of the system's; may be NULL */
};

/* Invalid; Unsupported and why; NoMemory. */
WEIR_MUST_USE int weir__source_sibling_new(struct weir__source **ret_source,
                                           const struct weir__source_sibling_options *options,
                                           const char **ret_why);

/* The records in the body of an answer. Corrupt: it is no answer; NoMemory; NotFound: none is in
 * it.
 */
WEIR_MUST_USE int weir__sibling_reply(struct weir__reply *reply,
                                      const struct weir__question *question, const char *body,
                                      size_t length);

#endif
