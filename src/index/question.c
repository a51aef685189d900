/* question.c - see question.h. */
#include "question.h"

#include <string.h>

#include "hash.h"

#include "banned.h"

_Static_assert(sizeof(struct weir__question_key) == WEIR__HASH_SIZE, "a key is a digest");

/* The text before it keeps it apart from every other use of the hash, and the kind a name from an
 * address. Names and addresses end with the input, so that no length is needed. */
void weir__question_key_of(const struct weir__question *question,
                           struct weir__question_key *ret_key)
{
    static const char domain[] = "weir-question-v1";
    const unsigned char kind = (unsigned char)question->kind;
    struct weir__hash hash;
    weir__hash_init(&hash);
    weir__hash_update(&hash, domain, sizeof(domain));
    weir__hash_update(&hash, &kind, 1);
    if (question->kind == WEIR__ASK_NAME)
        weir__hash_update(&hash, question->name.text, question->name.length);
    else
        weir__hash_update(&hash, question->address.bytes, WEIR__ADDRESS_SIZE);
    weir__hash_final(&hash, ret_key->bytes);
}

bool weir__question_fits(const struct weir__question *question, const struct weir__record *record)
{
    if (question->kind == WEIR__ASK_NAME)
        return record->kind == WEIR__RECORD_NAME && record->name.length == question->name.length &&
               memcmp(record->name.text, question->name.text, record->name.length) == 0;
    return record->kind == WEIR__RECORD_PROVIDER &&
           weir__address_is_equal(&record->address, &question->address);
}
