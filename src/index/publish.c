/* publish.c - one thread that tells records to the sources that take them.
 *
 *     wait for a new record, until the round is due
 *     round: some records of the walk; before each, whatever is in line
 *
 * What is shared: the line (a queue), the pace (a rate), the breakers, and under the lock (rank
 * 384) counts and the time between rounds. The thread holds nothing while it tells.
 */
#include "publish.h"

#include <stdio.h>
#include <string.h>

#include <weir/backoff.h>
#include <weir/error.h>
#include <weir/rate.h>

#include "alloc.h"
#include "locks.h"

#include "banned.h"

const struct weir_lock_class weir__publish_class = {"index-publish", 384};

struct target {
    struct weir__source *source;
    struct weir_breaker breaker;
    bool has_breaker;
};

struct weir__publisher {
    struct weir__publisher_options options; /* with the defaults filled in */
    struct target targets[WEIR__PUBLISH_TARGETS];
    struct weir_queue line;
    bool has_line;
    struct weir_rate rate;
    bool has_rate;
    struct weir_lock lock; /* guards what follows */
    uint64_t every_ns;
    bool is_hasty; /* the next round is due now */
    struct weir__publisher_stats stats;
};

/* What the thread carries with it. */
struct round {
    struct weir__publisher *publisher;
    struct weir_deadline until;
    struct weir__record_bytes room[WEIR__PUBLISH_WALK_RECORDS];
};

static void count(struct weir__publisher *publisher, uint64_t *counter)
{
    weir_lock_acquire(&publisher->lock);
    ++*counter;
    weir_lock_release(&publisher->lock);
}

/* --- telling --- */

static enum weir_breaker_outcome verdict(int result)
{
    return result == 0 || result == -WEIR_E_CONFLICT ? WEIR_BREAKER_SUCCESS
           : result == -WEIR_E_CANCELED || result == -WEIR_E_NO_MEMORY || result == -WEIR_E_PACED
               ? WEIR_BREAKER_CANCELED
               : WEIR_BREAKER_FAILURE;
}

static void tell_target(struct round *round, size_t number, const struct weir__record *record,
                        const struct weir__record_bytes *bytes)
{
    struct weir__publisher *publisher = round->publisher;
    struct target *target = &publisher->targets[number];
    struct weir__publisher_target_stats *stats = &publisher->stats.targets[number];
    struct weir_breaker_ticket ticket = WEIR_BREAKER_TICKET_NONE;
    if (weir_breaker_allow(&target->breaker, &ticket) < 0) {
        count(publisher, &stats->skipped);
        return;
    }
    struct weir_deadline deadline =
        weir_deadline_in(publisher->options.tell_ns, round->until.cancel);
    int result = target->source->ops->tell(target->source, record, bytes, &deadline);
    weir_breaker_report(&ticket, verdict(result));
    if (result != -WEIR_E_CANCELED)
        count(publisher, result == 0                  ? &stats->told
                         : result == -WEIR_E_CONFLICT ? &stats->conflicts
                                                      : &stats->failed);
}

/* Canceled, or 0 whatever came of it. */
static int tell_all(struct round *round, const struct weir__record_bytes *bytes)
{
    struct weir__publisher *publisher = round->publisher;
    struct weir__record record;
    enum weir__record_verdict judged = weir__record_judge(
        &record, bytes->bytes, bytes->length, publisher->options.bindings, weir_wall_s());
    if (judged != WEIR__RECORD_GOOD) {
        count(publisher, judged == WEIR__RECORD_EXPIRED ? &publisher->stats.expired
                                                        : &publisher->stats.broken);
        return 0;
    }
    if (record.kind == WEIR__RECORD_NAME && publisher->options.is_past &&
        publisher->options.is_past(publisher->options.arg, &record, bytes)) {
        count(publisher, &publisher->stats.superseded);
        return 0;
    }
    int result = weir_rate_acquire(&publisher->rate, 1, WEIR_RATE_HIGH, &round->until);
    if (result < 0)
        return result;
    for (size_t i = 0; i < publisher->options.targets_count; i++) {
        if (weir_cancel_is_fired(round->until.cancel))
            return -WEIR_E_CANCELED;
        tell_target(round, i, &record, bytes);
    }
    return 0;
}

/* All that is in line. */
static int tell_fresh(struct round *round)
{
    struct weir__publisher *publisher = round->publisher;
    struct weir__record_bytes bytes;
    int result = 0;
    while (result == 0 && weir_queue_try_recv(&publisher->line, &bytes) == 0) {
        result = tell_all(round, &bytes);
        count(publisher, &publisher->stats.fresh);
    }
    return result;
}

/* --- a round --- */

/* Those that keep things forget what has expired; what fails is tried in the next round. */
static void tend(struct round *round)
{
    struct weir__publisher *publisher = round->publisher;
    for (size_t i = 0; i < publisher->options.targets_count; i++) {
        struct target *target = &publisher->targets[i];
        struct weir_breaker_ticket ticket = WEIR_BREAKER_TICKET_NONE;
        if (!target->source->ops->tend || weir_breaker_allow(&target->breaker, &ticket) < 0)
            continue;
        struct weir_deadline deadline =
            weir_deadline_in(publisher->options.tell_ns, round->until.cancel);
        int result = target->source->ops->tend(target->source, weir_wall_s(), &deadline);
        weir_breaker_report(&ticket, verdict(result));
        if (result < 0 && result != -WEIR_E_CANCELED)
            count(publisher, &publisher->stats.targets[i].untended);
    }
}

static int walk(struct round *round)
{
    struct weir__publisher *publisher = round->publisher;
    const struct weir__publisher_options *o = &publisher->options;
    bool is_first = true;
    int more = 1, result = 0;
    while (more > 0 && result == 0) {
        size_t number = 0;
        more = o->walk(o->arg, is_first, weir_wall_s(), round->room, WEIR__PUBLISH_WALK_RECORDS,
                       &number);
        is_first = false;
        if (more < 0) {
            count(publisher, &publisher->stats.walk_errors);
            break;
        }
        for (size_t i = 0; i < number && result == 0; i++) {
            result = tell_fresh(round);
            if (result == 0)
                result = tell_all(round, &round->room[i]);
            count(publisher, &publisher->stats.walked);
        }
    }
    if (result == 0)
        tend(round);
    count(publisher, &publisher->stats.rounds);
    return result;
}

/* Tells what is new until the next round is due. */
static int wait_for_round(struct round *round, uint64_t at_ns)
{
    struct weir__publisher *publisher = round->publisher;
    for (;;) {
        struct weir__record_bytes bytes;
        /* Also when nothing comes it looks so often whether somebody is in haste. */
        uint64_t soon_ns = weir_time_add(weir_now_ns(), WEIR_NS_PER_S);
        struct weir_deadline until =
            weir_deadline_min(&round->until, at_ns < soon_ns ? at_ns : soon_ns);
        int result = weir_queue_recv(&publisher->line, &bytes, &until);
        if (result == 0) {
            result = tell_all(round, &bytes);
            count(publisher, &publisher->stats.fresh);
        } else if (result == -WEIR_E_TIMEOUT) {
            weir_lock_acquire(&publisher->lock);
            bool is_due = publisher->is_hasty || weir_now_ns() >= at_ns;
            publisher->is_hasty = publisher->is_hasty && !is_due;
            weir_lock_release(&publisher->lock);
            if (is_due)
                return 0;
            result = 0;
        }
        if (result < 0)
            return result;
    }
}

/* A tenth more or less than the time between rounds: nodes that began together drift apart. */
static uint64_t draw_ns(struct weir__publisher *publisher)
{
    weir_lock_acquire(&publisher->lock);
    uint64_t every_ns = publisher->every_ns;
    weir_lock_release(&publisher->lock);
    struct weir_backoff_options options = {.base_min_ns = every_ns - every_ns / 10,
                                           .base_max_ns = every_ns + every_ns / 10,
                                           .cap_ns = every_ns + every_ns / 10};
    struct weir_backoff backoff;
    uint64_t drawn_ns = every_ns;
    if (weir_backoff_init(&backoff, &options) < 0 || weir_backoff_next(&backoff, &drawn_ns) < 0)
        return every_ns;
    return drawn_ns;
}

int weir__publisher_main(struct weir_crew_self *self, void *arg)
{
    struct weir__publisher *publisher = arg;
    struct round *round = weir__base_alloc(1, sizeof(*round));
    if (!round)
        return -WEIR_E_NO_MEMORY;
    round->publisher = publisher;
    round->until = weir_deadline_until(self->stop);
    int result = 0;
    while (result == 0) {
        uint64_t next_ns = weir_time_add(weir_now_ns(), draw_ns(publisher));
        result = walk(round);
        if (result == 0 && weir_now_ns() > next_ns)
            count(publisher, &publisher->stats.late);
        if (result == 0)
            result = wait_for_round(round, next_ns);
    }
    weir__base_free(round);
    return result == -WEIR_E_CANCELED || result == -WEIR_E_CLOSED ? 0 : result;
}

/* --- what others do --- */

int weir__publisher_offer(struct weir__publisher *publisher, const struct weir__record_bytes *bytes)
{
    int result = weir_queue_try_send(&publisher->line, bytes);
    count(publisher, result == 0 ? &publisher->stats.offered : &publisher->stats.refused);
    return result;
}

void weir__publisher_close(struct weir__publisher *publisher)
{
    weir_queue_close(&publisher->line);
}

static bool are_sound(uint64_t every_ns, uint32_t per_s)
{
    return every_ns >= WEIR__PUBLISH_PERIOD_MIN && every_ns <= WEIR_BACKOFF_CAP_MAX_NS / 2 &&
           per_s > 0;
}

int weir__publisher_update(struct weir__publisher *publisher, uint64_t every_ns, uint32_t per_s)
{
    every_ns = every_ns ? every_ns : WEIR__PUBLISH_EVERY_NS;
    per_s = per_s ? per_s : WEIR__PUBLISH_PER_S;
    if (!are_sound(every_ns, per_s))
        return -WEIR_E_INVALID;
    int result = weir_rate_set(&publisher->rate, per_s, 0);
    if (result < 0)
        return result;
    weir_lock_acquire(&publisher->lock);
    publisher->every_ns = every_ns;
    publisher->is_hasty = true;
    weir_lock_release(&publisher->lock);
    return 0;
}

void weir__publisher_read(struct weir__publisher *publisher,
                          struct weir__publisher_stats *ret_stats)
{
    weir_lock_acquire(&publisher->lock);
    *ret_stats = publisher->stats;
    weir_lock_release(&publisher->lock);
    ret_stats->targets_count = publisher->options.targets_count;
    for (size_t i = 0; i < ret_stats->targets_count; i++) {
        struct weir_breaker_stats breaker;
        weir_breaker_read(&publisher->targets[i].breaker, &breaker);
        ret_stats->targets[i].state = breaker.state;
        memcpy(ret_stats->targets[i].name, publisher->targets[i].source->name,
               sizeof(ret_stats->targets[i].name));
    }
}

struct weir_queue *weir__publisher_line(struct weir__publisher *publisher)
{
    return &publisher->line;
}

/* --- life cycle --- */

static int init_targets(struct weir__publisher *publisher)
{
    const struct weir__publisher_options *o = &publisher->options;
    for (size_t i = 0; i < o->targets_count; i++) {
        struct target *target = &publisher->targets[i];
        char name[WEIR_NAME_MAX];
        if (!o->targets[i]->ops->tell)
            return -WEIR_E_INVALID;
        target->source = o->targets[i];
        snprintf(name, sizeof(name), "%s", target->source->name);
        int result = weir_breaker_init(&target->breaker, name, &o->breaker);
        if (result < 0)
            return result;
        target->has_breaker = true;
    }
    return 0;
}

static int init(struct weir__publisher *publisher)
{
    struct weir__publisher_options *o = &publisher->options;
    struct weir_queue_options line = {.item_size = sizeof(struct weir__record_bytes),
                                      .capacity = WEIR__PUBLISH_LINE};
    o->every_ns = o->every_ns ? o->every_ns : WEIR__PUBLISH_EVERY_NS;
    o->tell_ns = o->tell_ns ? o->tell_ns : WEIR__PUBLISH_TELL_NS;
    o->per_s = o->per_s ? o->per_s : WEIR__PUBLISH_PER_S;
    if (o->targets_count > WEIR__PUBLISH_TARGETS || !o->walk || !are_sound(o->every_ns, o->per_s))
        return -WEIR_E_INVALID;
    publisher->every_ns = o->every_ns;
    struct weir_rate_options rate = {.per_s = o->per_s};
    int result = weir_rate_init(&publisher->rate, "index-publish", &rate);
    publisher->has_rate = result == 0;
    if (result == 0) {
        result = weir_queue_init(&publisher->line, "index-publish", &line);
        publisher->has_line = result == 0;
    }
    return result < 0 ? result : init_targets(publisher);
}

int weir__publisher_new(struct weir__publisher **ret_publisher,
                        const struct weir__publisher_options *options)
{
    struct weir__publisher *publisher = weir__base_alloc(1, sizeof(*publisher));
    if (!publisher)
        return -WEIR_E_NO_MEMORY;
    publisher->options = *options;
    weir_lock_init(&publisher->lock, &weir__publish_class);
    int result = init(publisher);
    if (result < 0) {
        weir__publisher_free(publisher);
        return result;
    }
    *ret_publisher = publisher;
    return 0;
}

static void drop(void *arg, void *item)
{
    (void)arg, (void)item;
}

void weir__publisher_free(struct weir__publisher *publisher)
{
    if (!publisher)
        return;
    if (publisher->has_line) {
        weir_queue_drain(&publisher->line, drop, NULL);
        weir_queue_fini(&publisher->line);
    }
    if (publisher->has_rate)
        weir_rate_fini(&publisher->rate);
    for (size_t i = 0; i < WEIR__PUBLISH_TARGETS; i++)
        if (publisher->targets[i].has_breaker)
            weir_breaker_fini(&publisher->targets[i].breaker);
    weir_lock_fini(&publisher->lock);
    weir__base_free(publisher);
}
