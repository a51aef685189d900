/* given.h - the bodies of requests that change something: JSON, read strictly.
 *
 *     PUT, DELETE /names/NAME   {"record": "BASE64URL", "previous": 7}    previous may be missing
 *     PUT /providers/ADDRESS    {"record": "BASE64URL"}
 *     POST /admin/pin, unpin    {"key": "NAME or ADDRESS"}
 *
 * Promises: a field that is not known, stands there twice or has another type is refused, and so is
 * anything behind the object; the message says which. What is read is bytes, judged by nobody yet.
 *
 * Ownership: all is values; messages are static.
 */
#ifndef WEIR_INDEX_GIVEN_H
#define WEIR_INDEX_GIVEN_H

#include "question.h"

#define WEIR__GIVEN_BODY_MAX (8u << 10)

struct weir__given {
    struct weir__record_bytes record;
    bool has_previous;
    uint64_t previous; /* the sequence that is believed to be there; 0: none */
};

/* Invalid or NoMemory, and a message. */
WEIR_MUST_USE int weir__given_name(struct weir__given *ret_given, const char *text, size_t length,
                                   const char **ret_message);
WEIR_MUST_USE int weir__given_provider(struct weir__given *ret_given, const char *text,
                                       size_t length, const char **ret_message);
WEIR_MUST_USE int weir__given_key(struct weir__question *ret_question, const char *text,
                                  size_t length, const char **ret_message);

/* A name or an address, as it stands behind /resolve/. */
WEIR_MUST_USE int weir__given_question(struct weir__question *ret_question, const char *text,
                                       size_t length);

/* The query of a list: "prefix=TEXT&after=NAME&limit=N", in any order, each once. */
#define WEIR__GIVEN_LIMIT      100u
#define WEIR__GIVEN_LIMIT_MOST 1000u
struct weir__given_list {
    char prefix[WEIR__NAME_MAX + 1], after[WEIR__NAME_MAX + 1];
    size_t limit;
};
WEIR_MUST_USE int weir__given_list(struct weir__given_list *ret_list, const char *query,
                                   const char **ret_message);

#endif
