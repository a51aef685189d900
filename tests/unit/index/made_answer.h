/* made_answer.h - answers without a lookup, for tests of what keeps and hands them on.
 *
 * Ownership: an answer has one reference, the caller's; answers_out counts those that are not
 * freed.
 */
#ifndef WEIR_TESTS_MADE_ANSWER_H
#define WEIR_TESTS_MADE_ANSWER_H

#include <stdlib.h>
#include <string.h>

#include <weir/metrics.h>

#include "answer.h"

static struct weir_gauge answers_out;

static inline void made_answer_free(struct weir_snapshot *snapshot)
{
    weir_gauge_add(&answers_out, -1);
    free(snapshot);
}

static inline struct weir__question_key made_key(uint64_t number)
{
    struct weir__question_key key = {{0}};
    uint64_t mixed = (number + 1) * UINT64_C(0x9E3779B97F4A7C15);
    memcpy(&key.bytes[0], &mixed, sizeof(mixed));
    mixed ^= mixed >> 29;
    memcpy(&key.bytes[8], &mixed, sizeof(mixed));
    memcpy(&key.bytes[16], &number, sizeof(number));
    return key;
}

/* Fresh for 10 units from then on, stale for 10 more. */
static inline struct weir__answer *made_answer(uint64_t number, uint64_t at_ns, uint64_t sequence)
{
    struct weir__answer *answer = calloc(1, sizeof(*answer));
    weir_snapshot_init(&answer->snapshot, made_answer_free);
    weir_gauge_add(&answers_out, 1);
    answer->key = made_key(number);
    answer->has_name = true;
    answer->name_record.sequence = sequence;
    answer->asked_ns = answer->made_ns = at_ns;
    answer->fresh_until_ns = at_ns + 10 * WEIR_NS_PER_S;
    answer->stale_until_ns = at_ns + 20 * WEIR_NS_PER_S;
    answer->bytes = 1000;
    return answer;
}

#endif
