/* lookup_rig.h - sources that do what a test tells them, keys, records, and a lookup over them.
 *
 * Time is the fake clock's, which the sources themselves move on: so nothing here depends on how
 * fast the machine is. What a source does is told by its script, one step for each time it is
 * asked; the last step is repeated.
 *
 * Ownership: rig_end() gives everything back.
 */
#ifndef WEIR_TESTS_LOOKUP_RIG_H
#define WEIR_TESTS_LOOKUP_RIG_H

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <weir/clock.h>
#include <weir/error.h>

#include "alloc.h"
#include "clock.h"
#include "lookup.h"
#include "tap.h"

#define RIG_MS      WEIR_NS_PER_MS
#define RIG_SOURCES 6
#define RIG_STEPS   4
#define RIG_RECORDS 8

enum rig_does {
    RIG_KNOWS_NOTHING, /* NotFound */
    RIG_GIVES,         /* its records */
    RIG_GIVES_LATE,    /* the same, when the caller had a moment to see that time has passed */
    RIG_FAILS,         /* with .error */
    RIG_HANGS,         /* until its token fires or its time is up */
    RIG_DEAF,          /* until rig_wake(), whatever its token says */
    RIG_WAITS,         /* until rig_wake(), and gives its records, unless its token fires */
};

struct rig_step {
    enum rig_does does;
    int error;
    uint64_t takes_ns; /* the clock moves on by so much first */
};

struct rig_source {
    struct weir__source head;
    struct rig_step steps[RIG_STEPS];
    struct weir__record_bytes records[RIG_RECORDS];
    size_t records_count;
    uint64_t undecodable, oversized;
    struct weir_counter asked, saw_cancel, is_back;
    bool is_freed;
};

static struct {
    struct weir__lookup *lookup;
    struct weir_crew *crew;
    struct weir__lookup_options options;
    struct rig_source sources[RIG_SOURCES];
    struct weir_cancel wake;
    struct weir__key keys[8];
    struct weir__name name;
    struct weir__question ask_name, ask_providers;
    struct weir__record_mark mark;
    int saw_error;
    struct weir_counter seen;
} rig;

static inline void rig_deaf(void)
{
    struct weir_deadline until = weir_deadline_until(&rig.wake);
    (void)weir_deadline_sleep(&until);
}

static inline int rig_ask(struct weir__source *source, const struct weir__question *question,
                          struct weir__reply *reply, const struct weir_deadline *deadline)
{
    struct rig_source *self = (struct rig_source *)source;
    uint64_t turn = weir_counter_value(&self->asked);
    const struct rig_step *step = &self->steps[turn < RIG_STEPS ? turn : RIG_STEPS - 1];
    int error = 0;
    (void)question;
    weir_counter_add(&self->asked, 1);
    reply->dropped = self->undecodable + self->oversized;
    reply->oversized = self->oversized;
    if (step->takes_ns)
        weir__clock_advance(step->takes_ns);
    switch (step->does) {
    case RIG_KNOWS_NOTHING:
        return -WEIR_E_NOT_FOUND;
    case RIG_FAILS:
        return step->error;
    case RIG_HANGS:
        error = weir_deadline_sleep(deadline);
        weir_counter_add(&self->saw_cancel, weir_cancel_is_fired(deadline->cancel));
        return error;
    case RIG_DEAF:
        rig_deaf();
        weir_counter_add(&self->is_back, 1);
        break;
    case RIG_WAITS:
        while (!weir_cancel_is_fired(&rig.wake))
            if (weir_cancel_is_fired(deadline->cancel)) {
                weir_counter_add(&self->saw_cancel, 1);
                return -WEIR_E_CANCELED;
            }
        break;
    case RIG_GIVES_LATE:
        (void)nanosleep(&(struct timespec){.tv_nsec = RIG_MS}, NULL);
        break;
    case RIG_GIVES:
        break;
    }
    memcpy(reply->records, self->records, self->records_count * sizeof(self->records[0]));
    reply->count = self->records_count;
    return 0;
}

static inline void rig_source_free(struct weir__source *source)
{
    ((struct rig_source *)source)->is_freed = true;
}

static const struct weir__source_ops rig_remote = {
    .kind = "sibling", .ask = rig_ask, .free = rig_source_free};
static const struct weir__source_ops rig_local = {
    .kind = "local", .ask = rig_ask, .free = rig_source_free};

static inline void rig_mark(void *arg, const struct weir__name *name,
                            struct weir__record_mark *ret_mark)
{
    (void)arg, (void)name;
    *ret_mark = rig.mark;
}
static inline int rig_saw(void *arg, const struct weir__record *record,
                          const struct weir__record_bytes *bytes)
{
    (void)arg, (void)bytes;
    weir_counter_add(&rig.seen, record->sequence);
    return rig.saw_error;
}

/* --- records --- */

static inline struct weir__record rig_name_record(uint64_t sequence)
{
    struct weir__record record = {.kind = WEIR__RECORD_NAME,
                                  .sequence = sequence,
                                  .issued_s = weir_wall_s() - 10,
                                  .expires_s = weir_wall_s() + 3600,
                                  .name = rig.name};
    memset(record.address.bytes, 7, sizeof(record.address.bytes));
    return record;
}
static inline struct weir__record rig_provider_record(unsigned key, uint64_t sequence)
{
    struct weir__record record = {.kind = WEIR__RECORD_PROVIDER,
                                  .sequence = sequence,
                                  .issued_s = weir_wall_s() - 10,
                                  .expires_s = weir_wall_s() + 3600,
                                  .address = rig.ask_providers.address};
    snprintf(record.url, sizeof(record.url), "http://p%u-%u.example/", key, (unsigned)sequence);
    return record;
}
static inline void rig_give(struct rig_source *source, const struct weir__record *record,
                            unsigned key)
{
    CHECK(source->records_count < RIG_RECORDS);
    CHECK_EQ(weir__record_sign(&source->records[source->records_count++], record, &rig.keys[key]),
             0);
}
static inline void rig_give_name(unsigned source, uint64_t sequence)
{
    struct weir__record record = rig_name_record(sequence);
    rig.sources[source].steps[0].does = RIG_GIVES;
    rig_give(&rig.sources[source], &record, 0);
}
static inline void rig_give_provider(unsigned source, unsigned key, uint64_t sequence)
{
    struct weir__record record = rig_provider_record(key, sequence);
    rig.sources[source].steps[0].does = RIG_GIVES;
    rig_give(&rig.sources[source], &record, key);
}
/* From here on it does what its first step says, whenever it is asked. */
static inline void rig_always(unsigned source)
{
    for (int i = 1; i < RIG_STEPS; i++)
        rig.sources[source].steps[i] = rig.sources[source].steps[0];
}

/* --- life --- */

static inline void rig_begin(size_t sources)
{
    char keyid[WEIR__KEYID_TEXT], text[WEIR__NAME_MAX + 1];
    memset(&rig, 0, sizeof(rig));
    CHECK(weir__key_load_library() == NULL);
    weir__clock_fake(WEIR_NS_PER_S);
    weir_cancel_init(&rig.wake, NULL);
    for (unsigned i = 0; i < 8; i++) {
        unsigned char seed[32] = {(unsigned char)(i + 1)};
        weir__key_from_seed(&rig.keys[i], seed);
    }
    weir__key_id_print(&rig.keys[0].id, keyid);
    int length = snprintf(text, sizeof(text), "photos@%s", keyid);
    CHECK_EQ(weir__name_parse(text, (size_t)length, &rig.name), 0);
    rig.ask_name = (struct weir__question){.kind = WEIR__ASK_NAME, .name = rig.name};
    rig.ask_providers.kind = WEIR__ASK_PROVIDERS;
    memset(rig.ask_providers.address.bytes, 7, WEIR__ADDRESS_SIZE);
    for (size_t i = 0; i < sources; i++) {
        rig.sources[i].head.ops = &rig_remote;
        snprintf(rig.sources[i].head.name, sizeof(rig.sources[i].head.name), "source %zu", i);
        rig.options.sources[i] = &rig.sources[i].head;
    }
    rig.options.sources_count = sources;
    rig.options.seen = rig_mark;
    rig.options.saw = rig_saw;
    rig.options.askers = 6;
    rig.options.limits = (struct weir__lookup_limits){
        .alpha = 1,
        .beta = 2,
        .quorum = 1,
        .tries = 1,
        .hedge_ns = 150 * RIG_MS,
        .deadline_ns = 1200 * RIG_MS,
        .hedge_permille = 1000,
        .ttl_ns = 10 * WEIR_NS_PER_S,
        .negative_ttl_ns = 2 * WEIR_NS_PER_S,
        .stale_ns = 60 * WEIR_NS_PER_S,
        .breaker = {.calls_min = 4, .half_open_probes = 1},
    };
}

/* After this nothing of the options may change. */
static inline void rig_start(void)
{
    CHECK_EQ(weir__lookup_new(&rig.lookup, &rig.options), 0);
    CHECK_EQ(weir_crew_new(&rig.crew, "rig", NULL), 0);
    CHECK_EQ(weir__lookup_start(rig.lookup, rig.crew), 0);
}

static inline void rig_wake(void)
{
    weir_cancel_fire(&rig.wake);
}

static inline void rig_end(void)
{
    rig_wake();
    weir__lookup_stop(rig.lookup);
    CHECK_EQ(weir_crew_drain(rig.crew, NULL), 0);
    weir_crew_free(rig.crew);
    weir__lookup_free(rig.lookup);
    for (size_t i = 0; i < rig.options.sources_count; i++)
        CHECK(rig.sources[i].is_freed);
    weir_cancel_fini(&rig.wake);
    weir__clock_unfake();
}

static inline int rig_run(const struct weir__question *question, struct weir__trace *trace,
                          struct weir__answer **ret_answer)
{
    struct weir_deadline deadline = weir_deadline_in(100 * WEIR_NS_PER_S, NULL);
    return weir__lookup_run(rig.lookup, question, trace, ret_answer, &deadline);
}

static inline uint64_t rig_asked(unsigned source)
{
    return weir_counter_value(&rig.sources[source].asked);
}
static inline uint64_t rig_verdicts(unsigned source, enum weir__record_verdict verdict)
{
    return weir_counter_value(&weir__lookup_counts(rig.lookup, source)->records[verdict]);
}
/* Attempts end after their lookup: until this one's has. */
static inline void rig_await(const struct weir_counter *counter, uint64_t value)
{
    uint64_t until_ns = weir__clock_real_ns() + 20 * WEIR_NS_PER_S;
    while (weir_counter_value(counter) < value && weir__clock_real_ns() < until_ns)
        sched_yield();
    CHECK(weir_counter_value(counter) >= value);
}

#endif
