/* publish.h - tells others what this node knows: what is new at once, everything again and again.
 *
 *     weir__publisher_offer() --> line --+
 *                                        +--> one thread --> pace --> each target that is well
 *     walk over the local records -------+
 *
 * A target is a source that takes records: the DHT, which forgets them after ten minutes, or etcd,
 * which has to be told only what it lacks, and says so when it is told more.
 *
 * Promises
 * - One thread tells, one record at a time, at most per_s tells a second: what is new before what
 * is walked over. A round begins every_ns after the last one began, give or take a tenth; one that
 *   takes longer is followed by the next at once and counted as late. So a node keeps at most
 *   per_s * 600 records alive in one DHT.
 * - Offering never waits: when the line is full the record is refused and counted, and the next
 * round finds it.
 * - Each target has a breaker: one that fails is left alone, and what it missed comes with a later
 *   round. Conflict is no failure: the target knows better, and is asked by lookups.
 * - What has expired, or is known to be superseded, is told to nobody: a DHT keeps what it is told
 *   for as long as somebody tells it. At the end of a round targets that keep things have a while
 *   to forget some of what has expired there.
 * - Everything ends when the crew is told to stop: a tell under way is canceled.
 *
 * Limits: WEIR__PUBLISH_TARGETS targets, WEIR__PUBLISH_LINE records in line (600 KiB).
 *
 * Ownership: targets, bindings and the walk's argument are borrowed and outlive the publisher.
 */
#ifndef WEIR_INDEX_PUBLISH_H
#define WEIR_INDEX_PUBLISH_H

#include <weir/breaker.h>
#include <weir/crew.h>
#include <weir/queue.h>

#include "source.h"

#define WEIR__PUBLISH_TARGETS      16u
#define WEIR__PUBLISH_LINE         1024u
#define WEIR__PUBLISH_EVERY_NS     (300 * WEIR_NS_PER_S)
#define WEIR__PUBLISH_PER_S        50u
#define WEIR__PUBLISH_TELL_NS      (3 * WEIR_NS_PER_S)
#define WEIR__PUBLISH_PERIOD_MIN   WEIR_NS_PER_S
#define WEIR__PUBLISH_WALK_RECORDS 32u

struct weir__publisher;

/* A zero stands for the default. */
struct weir__publisher_options {
    struct weir__source *const *targets; /* all of them have tell() */
    size_t targets_count;
    const struct weir__bindings *bindings; /* may be NULL */
    /* The next records of the walk, some at a time, from the first one when is_first is set; 1:
     * there are more, 0: these were the last, or a negative error, which ends the round. */
    int (*walk)(void *arg, bool is_first, int64_t now_s, struct weir__record_bytes *room,
                size_t room_count, size_t *ret_count);
    /* Whether something newer is known of the name of such a record; NULL: nobody knows. */
    bool (*is_past)(void *arg, const struct weir__record *record,
                    const struct weir__record_bytes *bytes);
    void *arg; /* of both */
    uint64_t every_ns, tell_ns;
    uint32_t per_s;
    struct weir_breaker_options breaker;
};

/* Invalid: a number out of its bounds, too many targets, or one that takes none. NoMemory. */
WEIR_MUST_USE int weir__publisher_new(struct weir__publisher **ret_publisher,
                                      const struct weir__publisher_options *options);
/* Accepts NULL. Its thread has ended. */
void weir__publisher_free(struct weir__publisher *publisher);
/* A member of the crew; arg is the publisher. */
int weir__publisher_main(struct weir_crew_self *self, void *arg);

/* What is new. Busy: the line is full; Closed. Never waits. */
WEIR_MUST_USE int weir__publisher_offer(struct weir__publisher *publisher,
                                        const struct weir__record_bytes *bytes);
/* Other numbers, from the next record on; zeros for the defaults. A round begins at once. Invalid.
 */
WEIR_MUST_USE int weir__publisher_update(struct weir__publisher *publisher, uint64_t every_ns,
                                         uint32_t per_s);
/* No record is taken any more; what is in line is dropped when the thread ends. */
void weir__publisher_close(struct weir__publisher *publisher);

struct weir__publisher_target_stats {
    char name[32];
    uint64_t told, failed, conflicts, skipped; /* its breaker was open */
    uint64_t untended;                         /* its upkeep failed */
    enum weir_breaker_state state;
};
struct weir__publisher_stats {
    uint64_t offered, refused, fresh;               /* told of these, well or not */
    uint64_t walked, rounds, late, expired, broken; /* no good record */
    uint64_t walk_errors, superseded;
    size_t targets_count;
    struct weir__publisher_target_stats targets[WEIR__PUBLISH_TARGETS];
};
void weir__publisher_read(struct weir__publisher *publisher,
                          struct weir__publisher_stats *ret_stats);
struct weir_queue *weir__publisher_line(struct weir__publisher *publisher);

#endif
