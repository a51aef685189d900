/* Tests of the publisher, with targets that are made up. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <weir/error.h>
#include <weir/lock.h>

#include "publish.h"
#include "tap.h"

#define RECORDS 40

static const struct weir_lock_class told_class = {"told", 900};

static struct weir__record_bytes records[RECORDS];
static size_t walk_at, walk_count;
static struct weir_lock walk_lock; /* guards the next one */
static int walk_error;

/* A target that notes what it was told. */
struct noter {
    struct weir__source source;
    struct weir_lock lock;
    unsigned calls, tended;
    int answer;
    bool hangs;
    char first[WEIR__PROVIDER_URL_MAX + 1], last[WEIR__PROVIDER_URL_MAX + 1];
};

static int note(struct weir__source *source, const struct weir__record *record,
                const struct weir__record_bytes *bytes, const struct weir_deadline *deadline)
{
    struct noter *noter = (struct noter *)source;
    CHECK(bytes->length > 0);
    weir_lock_acquire(&noter->lock);
    if (noter->calls++ == 0)
        snprintf(noter->first, sizeof(noter->first), "%s", record->url);
    snprintf(noter->last, sizeof(noter->last), "%s", record->url);
    bool hangs = noter->hangs;
    int answer = noter->answer;
    weir_lock_release(&noter->lock);
    return hangs ? weir_deadline_sleep(deadline) : answer;
}

static int tend(struct weir__source *source, int64_t now_s, const struct weir_deadline *deadline)
{
    struct noter *noter = (struct noter *)source;
    CHECK(now_s > 0 && weir_deadline_check(deadline) == 0);
    weir_lock_acquire(&noter->lock);
    noter->tended++;
    weir_lock_release(&noter->lock);
    return -WEIR_E_TRANSIENT;
}

static void forget(struct weir__source *source)
{
    (void)source;
}

static const struct weir__source_ops noter_ops = {.kind = "noter", .tell = note, .free = forget};
static const struct weir__source_ops keeper_ops = {
    .kind = "keeper", .tell = note, .tend = tend, .free = forget};
static const struct weir__source_ops deaf_ops = {.kind = "deaf", .free = forget};

static void noter_init(struct noter *noter, const char *name)
{
    memset(noter, 0, sizeof(*noter));
    noter->source.ops = &noter_ops;
    snprintf(noter->source.name, sizeof(noter->source.name), "%s", name);
    weir_lock_init(&noter->lock, &told_class);
}

static unsigned calls(struct noter *noter)
{
    weir_lock_acquire(&noter->lock);
    unsigned number = noter->calls;
    weir_lock_release(&noter->lock);
    return number;
}

static struct weir__record_bytes make(unsigned number, int64_t life_s)
{
    static const unsigned char seed[32] = {1};
    struct weir__key key;
    struct weir__record record = {.kind = WEIR__RECORD_PROVIDER,
                                  .sequence = 1,
                                  .issued_s = weir_wall_s() - 100,
                                  .expires_s = weir_wall_s() + life_s};
    struct weir__record_bytes bytes;
    record.address.bytes[0] = 1;
    CHECK(!weir__key_load_library());
    weir__key_from_seed(&key, seed);
    snprintf(record.url, sizeof(record.url), "http://host/%u", number);
    CHECK_EQ(weir__record_sign(&bytes, &record, &key), 0);
    return bytes;
}

static int walk(void *arg, bool is_first, int64_t now_s, struct weir__record_bytes *room,
                size_t room_count, size_t *ret_count)
{
    (void)arg;
    CHECK(now_s > 0);
    weir_lock_acquire(&walk_lock);
    int error = walk_error;
    weir_lock_release(&walk_lock);
    if (error)
        return error;
    walk_at = is_first ? 0 : walk_at;
    size_t left = walk_count - walk_at;
    *ret_count = left < room_count ? left : room_count;
    memcpy(room, records + walk_at, *ret_count * sizeof(*room));
    walk_at += *ret_count;
    return walk_at < walk_count;
}

static struct weir_crew *crew;
static struct weir__publisher *publisher;

static void start(struct weir__source *const *targets, size_t count,
                  struct weir__publisher_options options)
{
    struct weir_crew_options crew_options = {.drain_ns = 2 * WEIR_NS_PER_S};
    options.targets = targets;
    options.targets_count = count;
    options.walk = walk;
    weir_lock_init(&walk_lock, &told_class);
    CHECK_EQ(weir__publisher_new(&publisher, &options), 0);
    CHECK_EQ(weir_crew_new(&crew, "publish", &crew_options), 0);
    CHECK_EQ(weir_crew_start(crew, "publish", weir__publisher_main, publisher), 0);
}

static void stop(void)
{
    CHECK_EQ(weir_crew_drain(crew, NULL), 0);
    weir_crew_free(crew);
    weir__publisher_free(publisher);
    publisher = NULL;
}

static struct weir__publisher_stats stats(void)
{
    struct weir__publisher_stats now;
    weir__publisher_read(publisher, &now);
    return now;
}

#define AWAIT(condition)                                                                           \
    do {                                                                                           \
        uint64_t end_ns = weir_now_ns() + 30 * WEIR_NS_PER_S;                                      \
        while (!(condition) && weir_now_ns() < end_ns) {                                           \
            struct weir_deadline soon = weir_deadline_in(5 * WEIR_NS_PER_MS, NULL);                \
            (void)weir_deadline_sleep(&soon);                                                      \
        }                                                                                          \
        CHECK(condition);                                                                          \
    } while (0)

TEST(rounds)
{
    struct noter one, two;
    noter_init(&one, "one");
    noter_init(&two, "two");
    struct weir__source *targets[] = {&one.source, &two.source};
    for (unsigned i = 0; i < RECORDS; i++)
        records[i] = make(i, 3600);
    records[3] = make(3, -5);  /* has expired */
    records[4].bytes[70] ^= 1; /* and one that has rotted */
    walk_count = RECORDS;
    two.answer = -WEIR_E_CONFLICT;
    two.source.ops = &keeper_ops;
    start(targets, 2, (struct weir__publisher_options){.per_s = 1000, .every_ns = WEIR_NS_PER_S});
    AWAIT(stats().rounds >= 2);
    CHECK(stats().walked >= 2 * RECORDS);
    CHECK(stats().expired >= 2 && stats().broken >= 2);
    CHECK(calls(&one) >= 2 * (RECORDS - 2));
    CHECK_STR(one.first, "http://host/0");
    CHECK(stats().targets[1].conflicts >= 2 * (RECORDS - 2));
    CHECK_EQ(stats().targets[1].failed, 0);
    CHECK_EQ(stats().targets[1].state, WEIR_BREAKER_CLOSED); /* it knows better, and works */
    CHECK_STR(stats().targets[0].name, "one");
    stop();
    CHECK_EQ(one.tended, 0);
    CHECK(two.tended >= 2); /* once in a round; that it fails stops nothing */
}

static bool is_below_ten(void *arg, const struct weir__record *record,
                         const struct weir__record_bytes *bytes)
{
    (void)arg;
    CHECK_EQ(record->kind, WEIR__RECORD_NAME);
    CHECK(bytes->length > 0);
    return record->sequence < 10;
}

static struct weir__record_bytes make_name(uint64_t sequence)
{
    static const unsigned char seed[32] = {1};
    char id[WEIR__KEYID_TEXT], text[WEIR__NAME_MAX + 1];
    struct weir__record record = {.kind = WEIR__RECORD_NAME,
                                  .sequence = sequence,
                                  .issued_s = weir_wall_s() - 10,
                                  .expires_s = weir_wall_s() + 3600,
                                  .address.bytes = {1}};
    struct weir__record_bytes bytes;
    struct weir__key key;
    CHECK(!weir__key_load_library());
    weir__key_from_seed(&key, seed);
    weir__key_id_print(&key.id, id);
    int length = snprintf(text, sizeof(text), "a@%s", id);
    CHECK_EQ(weir__name_parse(text, (size_t)length, &record.name), 0);
    CHECK_EQ(weir__record_sign(&bytes, &record, &key), 0);
    return bytes;
}

/* Who knows of a newer record would otherwise keep the older one alive where others look. */
TEST(what_is_superseded_is_told_to_nobody)
{
    struct noter one;
    noter_init(&one, "one");
    struct weir__source *targets[] = {&one.source};
    records[0] = make_name(9);
    records[1] = make_name(10);
    records[2] = make(2, 3600); /* a provider: nobody is asked about it */
    walk_count = 3;
    start(targets, 1, (struct weir__publisher_options){.per_s = 1000, .is_past = is_below_ten});
    AWAIT(stats().rounds == 1);
    CHECK_EQ(stats().superseded, 1);
    CHECK_EQ(calls(&one), 2);
    CHECK_EQ(weir__publisher_offer(publisher, &records[0]), 0);
    AWAIT(stats().fresh == 1);
    CHECK_EQ(stats().superseded, 2);
    CHECK_EQ(calls(&one), 2);
    stop();
}

TEST(what_is_new)
{
    struct noter one;
    noter_init(&one, "one");
    struct weir__source *targets[] = {&one.source};
    walk_count = 0;
    start(targets, 1, (struct weir__publisher_options){.per_s = 1000});
    AWAIT(stats().rounds == 1);
    struct weir__record_bytes fresh = make(77, 3600);
    CHECK_EQ(weir__publisher_offer(publisher, &fresh), 0);
    AWAIT(calls(&one) == 1);
    CHECK_STR(one.last, "http://host/77");
    AWAIT(stats().fresh == 1);
    CHECK_EQ(stats().offered, 1);
    weir__publisher_close(publisher);
    CHECK_EQ(weir__publisher_offer(publisher, &fresh), -WEIR_E_CLOSED);
    stop();
}

/* The line is full: refused and counted. Nobody tells, since no thread was started. */
TEST(the_line_is_bounded)
{
    struct noter one;
    noter_init(&one, "one");
    struct weir__source *targets[] = {&one.source};
    struct weir__publisher_options options = {.targets = targets, .targets_count = 1, .walk = walk};
    struct weir__record_bytes fresh = make(1, 3600);
    CHECK_EQ(weir__publisher_new(&publisher, &options), 0);
    for (unsigned i = 0; i < WEIR__PUBLISH_LINE; i++)
        CHECK_EQ(weir__publisher_offer(publisher, &fresh), 0);
    CHECK_EQ(weir__publisher_offer(publisher, &fresh), -WEIR_E_BUSY);
    CHECK_EQ(stats().refused, 1);
    CHECK_EQ(stats().offered, WEIR__PUBLISH_LINE);
    weir__publisher_free(publisher);
    publisher = NULL;
}

TEST(its_pace)
{
    struct noter one;
    noter_init(&one, "one");
    struct weir__source *targets[] = {&one.source};
    for (unsigned i = 0; i < RECORDS; i++)
        records[i] = make(i, 3600);
    walk_count = RECORDS;
    uint64_t began_ns = weir_now_ns();
    start(targets, 1, (struct weir__publisher_options){.per_s = 20});
    AWAIT(stats().rounds == 1);
    CHECK(weir_now_ns() - began_ns >= 900 * WEIR_NS_PER_MS); /* 20 at once, 20 in a second */
    CHECK_EQ(weir__publisher_update(publisher, 10 * WEIR_NS_PER_S, 1000), 0);
    AWAIT(stats().rounds == 2); /* at once */
    CHECK(weir_now_ns() - began_ns < 9 * WEIR_NS_PER_S);
    CHECK_EQ(weir__publisher_update(publisher, 1, 1000), -WEIR_E_INVALID);
    stop();
}

TEST(a_target_that_fails)
{
    struct noter bad, good;
    noter_init(&bad, "bad");
    noter_init(&good, "good");
    struct weir__source *targets[] = {&bad.source, &good.source};
    for (unsigned i = 0; i < RECORDS; i++)
        records[i] = make(i, 3600);
    walk_count = RECORDS;
    bad.answer = -WEIR_E_TRANSIENT;
    start(targets, 2, (struct weir__publisher_options){.per_s = 1000});
    AWAIT(stats().rounds == 1);
    CHECK_EQ(calls(&good), RECORDS);
    CHECK_EQ(calls(&bad), WEIR_BREAKER_CALLS_MIN_DEFAULT);
    CHECK_EQ(stats().targets[0].failed, WEIR_BREAKER_CALLS_MIN_DEFAULT);
    CHECK_EQ(stats().targets[0].skipped, RECORDS - WEIR_BREAKER_CALLS_MIN_DEFAULT);
    CHECK_EQ(stats().targets[0].state, WEIR_BREAKER_OPEN);
    stop();
}

TEST(it_ends_at_once)
{
    struct noter slow;
    noter_init(&slow, "slow");
    struct weir__source *targets[] = {&slow.source};
    walk_count = RECORDS;
    slow.hangs = true;
    start(targets, 1, (struct weir__publisher_options){.tell_ns = 60 * WEIR_NS_PER_S});
    AWAIT(calls(&slow) == 1);
    uint64_t began_ns = weir_now_ns();
    stop();
    CHECK(weir_now_ns() - began_ns < WEIR_NS_PER_S);
}

TEST(a_walk_that_fails)
{
    struct noter one;
    noter_init(&one, "one");
    struct weir__source *targets[] = {&one.source};
    walk_error = -WEIR_E_IO;
    start(targets, 1, (struct weir__publisher_options){.every_ns = WEIR_NS_PER_S});
    AWAIT(stats().walk_errors >= 2);
    weir_lock_acquire(&walk_lock);
    walk_error = 0;
    weir_lock_release(&walk_lock);
    AWAIT(calls(&one) > 0);
    stop();
}

TEST(what_is_refused)
{
    struct weir__source deaf = {.ops = &deaf_ops, .name = "deaf"};
    struct weir__source *targets[] = {&deaf};
    struct weir__publisher_options options = {.targets = targets, .targets_count = 1, .walk = walk};
    CHECK_EQ(weir__publisher_new(&publisher, &options), -WEIR_E_INVALID);
    options.targets_count = 0;
    options.every_ns = 1;
    CHECK_EQ(weir__publisher_new(&publisher, &options), -WEIR_E_INVALID);
    options.every_ns = 0;
    options.targets_count = WEIR__PUBLISH_TARGETS + 1;
    CHECK_EQ(weir__publisher_new(&publisher, &options), -WEIR_E_INVALID);
    weir__publisher_free(NULL);
}

TAP_MAIN()
