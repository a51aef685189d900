/* source.h - somebody who may know records: the local ones, a sibling, the DHT, etcd.
 *
 * Promises of every source
 * - ask() waits within its deadline and returns at once when its token fires; a connection on which
 *   an answer was under way is closed then, not kept.
 * - What it hands out is bytes, unjudged: the caller verifies every record.
 * - NotFound is an answer of a source that works. Timeout, Transient, NoRoute, TimeoutRead and the
 *   like are failures. Canceled is neither.
 * - tell() publishes one record, and returns when the source has it.
 * - tell() of something older than what the source has is Conflict, where the source can tell: then
 *   it is the one who tells that has to learn. A record that is there already is 0.
 * - No try is repeated in here: who asks has the deadline, the breaker and the patience. Where a
 *   source has several ends (members of an etcd), each is asked once.
 *
 * Ownership: a reply belongs to the caller; a source outlives its calls.
 */
#ifndef WEIR_INDEX_SOURCE_H
#define WEIR_INDEX_SOURCE_H

#include <weir/deadline.h>

#include "question.h"

#define WEIR__REPLY_RECORDS_MAX 256u

struct weir__reply {
    struct weir__record_bytes *records; /* of the caller */
    size_t room;                        /* for so many; 0: for WEIR__REPLY_RECORDS_MAX */
    size_t count;
    size_t more;        /* that the source has beside these, and for which there was no room */
    uint64_t dropped;   /* that were no record at all: oversized, not decodable, too many */
    uint64_t oversized; /* of these */
};

/* Keeps a copy, once. False: it is empty, too long or one too many, which is counted as dropped. */
bool weir__reply_add(struct weir__reply *reply, const void *bytes, size_t length);

/* One that could not be decoded: TooLarge, or another error. */
void weir__reply_drop(struct weir__reply *reply, int error);
bool weir__reply_has(const struct weir__reply *reply, const void *bytes, size_t length);

/* The question that a record is an answer to. */
void weir__record_question(const struct weir__record *record, struct weir__question *ret_question);

struct weir__source;

struct weir__source_ops {
    const char *kind; /* "local", "sibling", "dht", "etcd" */
    WEIR_MUST_USE int (*ask)(struct weir__source *source, const struct weir__question *question,
                             struct weir__reply *reply, const struct weir_deadline *deadline);
    /* NULL: it takes none. */
    WEIR_MUST_USE int (*tell)(struct weir__source *source, const struct weir__record *record,
                              const struct weir__record_bytes *bytes,
                              const struct weir_deadline *deadline);
    /* Upkeep of what it keeps, some of it at a time, by the publisher in each of its rounds:
     * forgets what has expired. By one thread at a time. NULL: it needs
     * none. */
    WEIR_MUST_USE int (*tend)(struct weir__source *source, int64_t now_s,
                              const struct weir_deadline *deadline);
    /* Accepts half-built ones. Nobody is in a call. */
    void (*free)(struct weir__source *source);
};

/* The head of every source. */
struct weir__source {
    const struct weir__source_ops *ops;
    char name[32]; /* of its metrics and breaker: "dht 127.0.0.1:8000" */
};

static inline void weir__source_free(struct weir__source *source)
{
    if (source)
        (*source->ops->free)(source);
}

#endif
