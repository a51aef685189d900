/* question.h - what somebody wants to know: what a name means, or who provides an address.
 *
 * Ownership: a question is a value.
 */
#ifndef WEIR_INDEX_QUESTION_H
#define WEIR_INDEX_QUESTION_H

#include "record.h"

enum weir__question_kind { WEIR__ASK_NAME = 1, WEIR__ASK_PROVIDERS = 2 };

struct weir__question {
    enum weir__question_kind kind;
    struct weir__name name;       /* of ASK_NAME */
    struct weir__address address; /* of ASK_PROVIDERS */
    bool is_for_others; /* of ASK_NAME: what others know of it, and no more than what it means */
};

/* 256 bits that stand for the question: the key of caches and flights; the first 160 of them are
 * the key in the DHT. */
struct weir__question_key {
    unsigned char bytes[32];
};
void weir__question_key_of(const struct weir__question *question,
                           struct weir__question_key *ret_key);

/* Whether a record is an answer to it. */
bool weir__question_fits(const struct weir__question *question, const struct weir__record *record);

#endif
