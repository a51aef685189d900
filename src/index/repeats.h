/* repeats.h - what was asked for with an Idempotency-Key, so that asking twice does it once.
 *
 *     weir__repeats_begin(repeats, &ask, now_ns, &turn, &answer)    before it is done
 *     weir__repeats_end(repeats, &turn, status, text)               and behind it
 *
 * Promises
 * - A key is of one client (by the id of its token) and one path. Within WEIR__REPEATS_NS the same
 *   key with the same body gets the answer of the first time again, and nothing is done; with
 *   another body it is refused; while the first is being done it is refused, too.
 * - What has failed is forgotten, so that it can be tried again with the same key.
 * - At most WEIR__REPEATS_MAX keys are remembered. When all are younger than that, a new one is
 *   refused (Busy): to forget one would be to break its promise.
 * - Nothing outlives the process.
 *
 * Cost: a short lock; 64 bytes and the answer for each place, allocated at the start.
 *
 * Ownership: a turn is a value; who has one ends it, once.
 */
#ifndef WEIR_INDEX_REPEATS_H
#define WEIR_INDEX_REPEATS_H

#include <weir/clock.h>
#include <weir/lock.h>

#define WEIR__REPEATS_MAX    1024u
#define WEIR__REPEATS_NS     (600 * WEIR_NS_PER_S)
#define WEIR__REPEATS_KEY    255u /* bytes of a key, printable ASCII */
#define WEIR__REPEATS_ANSWER 256u

struct weir__repeats;

struct weir__repeats_ask {
    const char *who; /* id of the token */
    const char *path;
    const char *key;
    const void *body;
    size_t body_length;
};

struct weir__repeats_answer {
    unsigned status;
    char text[WEIR__REPEATS_ANSWER];
};

struct weir__repeats_turn {
    uint32_t _place; /* from 1 on; 0: none */
};

enum weir__repeats_state {
    WEIR__REPEATS_NEW,   /* do it, and end the turn */
    WEIR__REPEATS_DONE,  /* the answer of the first time */
    WEIR__REPEATS_RUNS,  /* the first time is not over */
    WEIR__REPEATS_OTHER, /* the key was used with another body */
    WEIR__REPEATS_FULL,
};

WEIR_MUST_USE int weir__repeats_new(struct weir__repeats **ret_repeats);
/* Accepts NULL. */
void weir__repeats_free(struct weir__repeats *repeats);

/* Whether a text may be a key. */
bool weir__repeats_is_key(const char *text);
enum weir__repeats_state weir__repeats_begin(struct weir__repeats *repeats,
                                             const struct weir__repeats_ask *ask, uint64_t now_ns,
                                             struct weir__repeats_turn *ret_turn,
                                             struct weir__repeats_answer *ret_answer);
/* answer NULL: it has failed, and is forgotten. An empty turn is left alone. */
void weir__repeats_end(struct weir__repeats *repeats, struct weir__repeats_turn *turn,
                       const struct weir__repeats_answer *answer);
/* Until the first of those that are remembered is forgotten; 0: none is. */
uint64_t weir__repeats_left_ns(struct weir__repeats *repeats, uint64_t now_ns);
uint64_t weir__repeats_count(struct weir__repeats *repeats);

#endif
